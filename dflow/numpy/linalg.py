"""numpy.linalg over dflow arrays: see dflow/ops/linalg.py."""

from numpy.linalg import LinAlgError

from dflow.ops import linalg as _linalg
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy.linalg"))
