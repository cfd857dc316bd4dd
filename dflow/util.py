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
    """Bytes of a GPU's memory.

    Parameters
    ----------
    gpu_dev_id : int
        Its number.

    Returns
    -------
    tuple of int
        What is free, also in the pool that arrays come from, and all.

    Raises
    ------
    ValueError
        For one that is not there.

    Examples
    --------
    >>> try:
    ...     free, total = dflow.util.get_gpu_memory(99)
    ... except ValueError:
    ...     print("there is no such GPU")
    there is no such GPU
    """
    return npx.gpu_memory_info(gpu_dev_id)


def default_array(source_array, device=None, dtype=None):
    """An array of numbers: what np.array() makes after set_np(), else nd.array(); float32 either way.

    Parameters
    ----------
    source_array : array_like
        The numbers.
    device : Device, optional
        Where the array is. None: the current one.
    dtype : dtype, optional
        Of the array. None: as np.array() or nd.array() have it.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> print(dflow.util.default_array([1, 2], dtype="float64"))
    [1. 2.]
    >>> dflow.util.default_array([1, 2], device=dflow.cpu(1)).device
    cpu(1)
    """
    made = (np if is_np_array() else nd).array(source_array, dtype=dtype)
    return made if device is None else made.as_in_ctx(device)


def set_module(module):
    """Decorates what is to tell another module's name as its own, in __module__.

    Parameters
    ----------
    module : str, optional
        The name. None: it stays as it is.

    Returns
    -------
    callable
        The decorator, which returns what it is given.

    Examples
    --------
    >>> @dflow.util.set_module("mine")
    ... def double(x):
    ...     return 2 * x
    >>> double.__module__
    'mine'
    """

    def decorate(func):
        if module is not None:
            func.__module__ = module
        return func

    return decorate


def getenv(name):
    """A variable of the environment, as os.environ has it.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    str or None
        None where there is none.

    Examples
    --------
    >>> dflow.util.getenv("DFLOW_THERE_IS_NONE") is None
    True
    """
    return os.environ.get(name)


def setenv(name, value):
    """Set a variable of the environment, or take it away, in os.environ.

    Parameters
    ----------
    name : str
        Its name.
    value : str, optional
        Its value. None: it is taken away.

    Examples
    --------
    >>> dflow.util.setenv("DFLOW_AN_EXAMPLE", "1")
    >>> dflow.util.getenv("DFLOW_AN_EXAMPLE")
    '1'
    >>> dflow.util.setenv("DFLOW_AN_EXAMPLE", None)
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
