"""numpy.linalg over dflow arrays: see dflow/ops/linalg.py."""

from numpy.linalg import LinAlgError, __all__, _linalg  # noqa: F401  (the types of results are in the last)

import dflow.ops.linalg  # noqa: F401  (makes the rows)
from dflow.ops.mxnet_forms import install as _install
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy.linalg"))
_install(globals(), "numpy.linalg")
__path__ = []                           # a package, as NumPy's


def __dir__():
    return sorted(__all__)
