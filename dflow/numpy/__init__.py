"""NumPy's namespace over dflow arrays: `import dflow.numpy as np`."""

from dflow import ops
from dflow._array import ndarray
from dflow.ops.table import namespace

globals().update(namespace("numpy"))
