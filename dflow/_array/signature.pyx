"""Signatures of generalized ufuncs: the core dimensions of their operands, and lengths that only the ufunc knows."""

import sys
import numpy as np
from numpy.linalg import _umath_linalg
from dflow._kernels.qr import qr

cdef extern from "_base/cython.h":       # all others have it by the headers of _base
    pass

cdef object parse_signature(str text):
    """"(n?,k),(k,m?)->(n?,m?)" as (inputs, outputs, all): lists of lists of names; each name once, in their order."""
    if text is None:
        return None
    sides = []
    for side in text.replace(" ", "").split("->"):
        groups = side[1:len(side) - 1].split("),(") if side else []
        sides.append([[name for name in group.split(",") if name] for group in groups])
    return (*sides, list(dict.fromkeys([name for names in sides[0] + sides[1] for name in names])))

NUMPYS = frozenset([x for module in (vars(_umath_linalg), qr) for x in module.values() if isinstance(x, np.ufunc)])

cdef bint is_numpys(function):
    """Whether it is one of NumPy's. Of all others, a function of their own may compute or check lengths."""
    transforms = sys.modules.get("numpy.fft._pocketfft_umath")      # loaded before anybody has a function of it
    return function in NUMPYS or getattr(transforms, function.__name__, None) is function

def samples(list groups, kinds, dict sizes):
    """Zeros for operands with these core dimensions, None for one of unknown length."""
    lengths = [[int(n) if n.isdigit() else sizes.get(n) for n in names] for names in groups]
    return [None if None in shape else np.zeros(shape, kind) for shape, kind in zip(lengths, kinds)]

def try_sizes(function, tuple core, dict sizes):
    """Whether a generalized ufunc takes outputs of these core dimensions, where no input has them: else its error.

    core: see parse_signature.
    """
    given = {name for names in core[0] for name in names}
    if (not is_numpys(function)
            and any([not name.isdigit() and name not in given for names in core[1] for name in names])):
        results = samples(core[1], function.types[0].split("->")[1], sizes)
        function(*samples(core[0], function.types[0], sizes), out=tuple(results))

def computed_size(function, tuple core, str name, dict sizes):
    """The length of such a dimension without an output: NumPy asks the function behind the ufunc, for a call on zeros.

    Those of numpy.linalg's loops (qr, svd and lstsq) are min(m, n).
    """
    if is_numpys(function) and "m" in sizes and "n" in sizes:
        return min(sizes["m"], sizes["n"])
    results = function(*samples(core[0], function.types[0], sizes))
    for names, result in zip(core[1], results if isinstance(results, tuple) else (results,)):
        if name in names:
            return result.shape[list(names).index(name)]
