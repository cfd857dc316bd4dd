"""numpy.random over dflow arrays. The streams are dflow's own (dflow/ops/random.py), but RandomState's: NumPy's."""

import functools
import importlib
import sys

import numpy.random as _numpys
from numpy.random import __all__  # noqa: F401

import dflow.ops.legacy  # noqa: F401  (makes the rows, as the next)
import dflow.ops.random  # noqa: F401
from dflow._base.documents import STREAM as _STREAM
from dflow._base.documents import composed as _composed
from dflow.ops.defaults import RANDOM as _RANDOM
from dflow.ops.defaults import follow as _follow
from dflow.ops.fallback import unwrap as _unwrap
from dflow.ops.random import Bits as _Bits
from dflow.ops.random import Kind as _Kind
from dflow.ops.table import TABLE as _TABLE
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy.random"))
_rand = globals()["rand"].__self__              # whose methods are this module's functions
_follow(globals(), _RANDOM)


def _describe(streams, theirs, path, *notes):
    """Let the methods of streams have the docstrings of NumPy's of these names (see dflow/_base/documents.py)."""
    for name, method in vars(streams).items():
        numpys = getattr(theirs, name, None)
        if name[0] != "_" and callable(numpys) and callable(method):
            row = _TABLE.get(("numpy.random", name))
            method.__doc__ = _composed("", row.kind if row else "kernel", numpys.__doc__, f"{path}.{name}", *notes)


_describe(type(_rand), _numpys, "numpy.random", _STREAM)
_describe(globals()["Generator"], _numpys.Generator, "numpy.random.Generator", _STREAM)
_describe(globals()["Generator"].__base__, _numpys.Generator, "numpy.random.Generator", _STREAM)
_describe(globals()["RandomState"], _numpys.RandomState, "numpy.random.RandomState")
__path__ = []                                   # a package, as NumPy's; which has most of this module in another:
mtrand = sys.modules[f"{__name__}.mtrand"] = sys.modules[__name__]
_SEEDS = ("SeedSequence", "BitGenerator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


@functools.cache
def _seeded(kind):
    """One of NumPy's classes, which our arrays may seed. It makes NumPy's objects."""
    def new(cls, *args, **keywords):
        if cls is not ours:
            return kind.__new__(cls)
        seeds = [getattr(getattr(x, "bit_generator", x), "seed_seq", x) for x in _unwrap(args)]     # of a generator
        return kind(*seeds, **_unwrap(keywords))

    theirs = (kind, _Bits) if kind.__name__ == "BitGenerator" else kind
    text = _composed("", "caller", kind.__doc__, f"numpy.random.{kind.__name__}")
    names = {"__new__": new, "__doc__": text, "__module__": __name__, "_theirs": theirs}
    ours = _Kind(kind.__name__, (kind,), names)
    return ours


def __getattr__(name):
    """What seeds a generator: NumPy's own, looked up when it is used. Bit generators count for their seed or state."""
    if name not in (*_SEEDS, "bit_generator"):
        raise AttributeError(f"module 'dflow.numpy.random' has no attribute {name!r}")
    found = getattr(importlib.import_module("numpy.random"), name)
    return _seeded(found) if isinstance(found, type) else found


def __dir__():
    return sorted(__all__)
