"""numpy.random over dflow arrays. The streams are dflow's own (dflow/ops/random.py), but RandomState's: NumPy's."""

import functools
import importlib
import sys

from numpy.random import __all__  # noqa: F401

import dflow.ops.legacy  # noqa: F401  (makes the rows, as the next)
import dflow.ops.random  # noqa: F401
from dflow.ops.defaults import follow as _follow
from dflow.ops.fallback import unwrap as _unwrap
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy.random"))
_rand = globals()["rand"].__self__              # whose methods are this module's functions
_follow(globals())

__path__ = []                                   # a package, as NumPy's; which has most of this module in another:
mtrand = sys.modules[f"{__name__}.mtrand"] = sys.modules[__name__]
_SEEDS = ("SeedSequence", "BitGenerator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


class _Kind(type):
    def __subclasscheck__(cls, kind):
        return super().__subclasscheck__(kind) or issubclass(kind, vars(cls).get("_theirs", ()))

    def __instancecheck__(cls, x):
        return issubclass(type(x), cls)


@functools.cache
def _seeded(kind):
    """One of NumPy's classes, which our arrays may seed. It makes NumPy's objects."""
    def new(cls, *args, **keywords):
        return kind(*_unwrap(args), **_unwrap(keywords)) if cls is ours else kind.__new__(cls)

    names = {"__new__": new, "__doc__": kind.__doc__, "__module__": __name__, "_theirs": kind}
    ours = _Kind(kind.__name__, (kind,), names)
    return ours


def __getattr__(name):
    """What seeds a generator: NumPy's own, looked up when it is used. Bit generators count for their seed or state."""
    if name not in (*_SEEDS, "bit_generator"):
        raise AttributeError(f"module 'dflow.numpy.random' has no attribute {name!r}")
    found = getattr(importlib.import_module("numpy.random"), name)
    return _seeded(found) if isinstance(found, type) else found
