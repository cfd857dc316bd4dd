"""numpy.random over dflow arrays. The streams are dflow's own (dflow/ops/random.py), but RandomState's: NumPy's."""

import importlib

from numpy.random import __all__  # noqa: F401

import dflow.ops.legacy  # noqa: F401  (makes the rows, as the next)
import dflow.ops.random  # noqa: F401
from dflow.ops.defaults import follow as _follow
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy.random"))
_follow(globals())

_SEEDS = ("SeedSequence", "BitGenerator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def __getattr__(name):
    """What seeds a generator: NumPy's own, looked up when it is used. Bit generators count for their seed or state."""
    if name not in _SEEDS:
        raise AttributeError(f"module 'dflow.numpy.random' has no attribute {name!r}")
    return getattr(importlib.import_module("numpy.random"), name)
