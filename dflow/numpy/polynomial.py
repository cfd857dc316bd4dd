"""numpy.polynomial over dflow arrays: evaluation does not wait, every other function runs NumPy's on copies.

The classes are made from NumPy's, and keep their coefficients in NumPy's arrays: they are few, and looked at singly.
"""

import re as _re
import sys as _sys
from inspect import unwrap as _unwrap
from types import FunctionType as _FunctionType
from types import ModuleType as _ModuleType

import numpy.polynomial as _theirs
from numpy.polynomial import *  # noqa: F403
from numpy.polynomial import __all__, polyutils, set_default_printstyle  # noqa: F401

import dflow.numpy as _np
from dflow.ops import fallback as _fallback

_EVALUATION = _re.compile(r"\w+val([23]d|fromroots)?|\w+grid[23]d|mapdomain|_valnd|_gridnd")


def _evaluation(theirs, namespace):
    """NumPy's Python function with our namespace in the place of NumPy's, where an argument is an array of ours.

    It asks whether `isinstance(x, np.ndarray)`: of NumPy's, arrays of ours are none.
    """
    source = _unwrap(theirs)            # some versions dispatch by __array_function__
    function = _FunctionType(source.__code__, namespace, source.__name__, source.__defaults__, source.__closure__)
    function.__kwdefaults__, function.__doc__ = source.__kwdefaults__, source.__doc__
    return _fallback.or_numpys(function, theirs)


def _class(theirs, evaluate):
    """NumPy's class; but what it gives at points is of ours."""

    def __call__(self, arg):
        return evaluate(globals()["polyutils"].mapdomain(arg, self.domain, self.window), self.coef)

    def roots(self):
        return _fallback.wrap(theirs.roots(self))

    def linspace(self, n=100, domain=None):
        return _fallback.wrap(theirs.linspace(self, n, domain))

    __call__.__doc__ = "The values at arg; does not wait for it."
    roots.__doc__, linspace.__doc__ = theirs.roots.__doc__, theirs.linspace.__doc__
    members = {f.__name__: f for f in (__call__, roots, linspace)}
    module = theirs.__module__.replace(_theirs.__name__, __name__)
    return type(theirs)(theirs.__name__, (theirs,), members | {"__module__": module, "__doc__": theirs.__doc__})


def _over_ours(name):
    """The module of that name."""
    theirs = getattr(_theirs, name)
    module = _sys.modules[f"{__name__}.{name}"] = _ModuleType(f"{__name__}.{name}", theirs.__doc__)
    namespace = vars(module)
    namespace.update({key: x for key, x in vars(theirs).items() if key[:2] != "__" or key == "__all__"}, np=_np)
    namespace["pu"] = globals()["polyutils"]
    for key, x in vars(theirs).items():
        if not callable(x) or getattr(x, "__module__", None) != theirs.__name__:
            continue
        if isinstance(x, type):
            namespace[key] = globals()[key] = _class(x, namespace[x._val.__name__])
        elif _EVALUATION.fullmatch(key):
            namespace[key] = _evaluation(x, namespace)
        else:
            namespace[key] = _fallback.blocking(x)
    return module


__path__ = []                           # a package, as NumPy's
for _name in ("polyutils", "polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre"):
    globals()[_name] = _over_ours(_name)


def __dir__():
    return sorted(__all__)
