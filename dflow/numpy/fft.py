"""numpy.fft over dflow arrays: see dflow/ops/fft.py."""

from dflow.ops import fft as _fft
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy.fft"))
