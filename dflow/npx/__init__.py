"""MXNet's `npx` over dflow arrays: what neural networks need beside NumPy. `from dflow import np, npx; npx.set_np()`

The functions are rows of the table (dflow/ops/nn.py, alignment.py, convolution.py, gathering.py, recurrent.py,
regions.py, special.py) and those of dflow/ops/defaults.py and mxnet.py.
"""

import dflow.ops.alignment  # noqa: F401  (makes the rows, as the next)
import dflow.ops.convolution
import dflow.ops.gathering
import dflow.ops.nn
import dflow.ops.recurrent
import dflow.ops.regions  # noqa: F401
from dflow import context
from dflow._engine import waitall
from dflow.context import *  # noqa: F403
from dflow.npx import image, random
from dflow.ops.defaults import is_np_array, is_np_default_dtype, is_np_shape, reset_np, set_np, set_np_default_dtype
from dflow.ops.files import load, save, savez
from dflow.ops.mxnet import (
    bernoulli,
    cond,
    foreach,
    from_dlpack,
    from_numpy,
    normal_n,
    seed,
    to_dlpack_for_read,
    to_dlpack_for_write,
    uniform_n,
    while_loop,
)
from dflow.ops.table import namespace as _namespace

_rows = _namespace("npx")
globals().update(_rows)

__all__ = ["bernoulli", "cond", "foreach", "from_dlpack", "from_numpy", "image", "is_np_array",
           "is_np_default_dtype", "is_np_shape", "load", "normal_n", "random", "reset_np", "save", "savez", "seed",
           "set_np", "set_np_default_dtype", "to_dlpack_for_read", "to_dlpack_for_write", "uniform_n", "waitall",
           "while_loop"]
__all__ += context.__all__ + list(_rows)

# MXNet's names that are not here.
_MISSING = frozenset("""box_decode box_encode box_iou box_nms cast deformable_convolution get_cuda_compute_capability
    modulated_deformable_convolution multibox_detection multibox_target""".split())


def __getattr__(name):
    """AttributeError, which says of MXNet's names that dflow has them not."""
    if name in _MISSING:
        raise AttributeError(f"MXNet's npx.{name} is not in dflow")
    raise AttributeError(f"module 'dflow.npx' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
