"""Whole programs: each file here is a NumPy program, run once as it is and once with dflow.numpy in NumPy's place.

A program has exactly one line `import numpy as np`, the two sizes `SMALL` (for the tests) and `BENCH`, and
`main(size)`, which returns a number or an array, or a sequence of them. It makes its own input, without a random
generator: the streams of the two libraries differ.
"""
from pathlib import Path
from types import ModuleType

import numpy

IMPORT = "import numpy as np\n"
RTOL = {"f": 1e-9, "c": 1e-9}           # of the largest magnitude in a result; integers and booleans are exactly equal
RTOL_SINGLE = 1e-4

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def load(name, library="numpy", folder=Path(__file__).parent):
    """The program as a new module, its import line naming `library`."""
    path = folder / f"{name}.py"
    source = path.read_text()
    if source.count(IMPORT) != 1:
        raise ValueError(f"{path.name} must have exactly one line {IMPORT.strip()!r}")
    module = ModuleType(f"{name} ({library})", source)
    exec(compile(source.replace(IMPORT, f"import {library} as np\n"), str(path), "exec"), vars(module))
    return module


def collect(results):
    """What main() returned, as a list of NumPy arrays: waits for all of it."""
    return [numpy.asarray(x) for x in (results if isinstance(results, (tuple, list)) else (results,))]


def difference(ours, theirs):
    """Where two collected results differ, in words; empty when they are equal as far as they must be.

    Floating point: no element differs by more than RTOL of the largest magnitude in its array, as sums may be added
    in another order; NaNs and infinities are in the same places.
    """
    if len(ours) != len(theirs):
        return f"{len(ours)} results, NumPy gives {len(theirs)}"
    for k, (mine, other) in enumerate(zip(ours, theirs)):
        if (mine.shape, mine.dtype) != (other.shape, other.dtype):
            return f"result {k} is {mine.dtype}{mine.shape}, NumPy's {other.dtype}{other.shape}"
        if other.dtype.kind not in RTOL:
            if not numpy.array_equal(mine, other):
                return f"result {k} differs in {(mine != other).sum()} of {mine.size} elements"
            continue
        rtol = RTOL_SINGLE if other.dtype.char in "efF" else RTOL[other.dtype.kind]
        largest = numpy.abs(other[numpy.isfinite(other)]).max(initial=0)
        if not numpy.allclose(mine, other, rtol, rtol * largest, equal_nan=True):
            off = numpy.nanmax(numpy.abs(numpy.where(mine == other, 0, mine - other)))
            return f"result {k} is off by {off:.2g}, of magnitudes up to {largest:.2g}"
    return ""
