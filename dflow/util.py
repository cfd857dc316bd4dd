"""What programs of MXNet's take from mxnet.util: decorators and `with` blocks for what npx.set_np() does."""

import os

from dflow import devices, nd, npx
from dflow import numpy as np
from dflow._base.missing import missing
from dflow.ops.defaults import (
    is_np_array,
    is_np_default_dtype,
    is_np_shape,
    np_array,
    np_default_dtype,
    np_shape,
    reset_np,
    set_np,
    set_np_default_dtype,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_default_dtype,
    use_np_shape,
)

__all__ = ["default_array", "get_gpu_count", "get_gpu_memory", "getenv", "is_np_array", "is_np_default_dtype",
           "is_np_shape", "np_array", "np_default_dtype", "np_shape", "reset_np", "set_module", "set_np",
           "set_np_default_dtype", "set_np_shape", "setenv", "use_np", "use_np_array", "use_np_default_dtype",
           "use_np_shape"]

__getattr__ = missing(__name__, """get_cuda_compute_capability get_max_supported_compute_capability get_rtc_compile_opts
    numpy_fallback set_flush_denorms""")


def __dir__():
    return sorted(__all__)


get_gpu_count = devices.num_gpus


def get_gpu_memory(gpu_dev_id):
    """Bytes of a GPU's memory: what is free, and all."""
    return npx.gpu_memory_info(gpu_dev_id)


def default_array(source_array, device=None, dtype=None):
    """np.array() after set_np(), else nd.array()."""
    made = (np if is_np_array() else nd).array(source_array, dtype=dtype)
    return made if device is None else made.as_in_ctx(device)


def set_module(module):
    """Decorates what is to tell another module's name as its own."""

    def decorate(func):
        if module is not None:
            func.__module__ = module
        return func

    return decorate


def getenv(name):
    """A variable of the environment, or None."""
    return os.environ.get(name)


def setenv(name, value):
    """Set a variable of the environment; None: take it away."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
