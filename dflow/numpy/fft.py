"""numpy.fft over dflow arrays: see dflow/ops/fft.py."""

from numpy.fft import __all__  # noqa: F401

import dflow.ops.fft  # noqa: F401  (makes the rows)
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy.fft"))
__path__ = []                           # a package, as NumPy's


def __dir__():
    return sorted(__all__)
