"""Memory that leaves: what ndarray gives to other libraries, and what they give. `exported` decides about all of it."""

import numpy

from dflow._array import array as as_array
from dflow._array import attach, ndarray
from dflow._make import check_device
from dflow.ops.fallback import wrap
from dflow.ops.table import method, op

# Left out: a buffer of the array itself, `ctypes`, `__array_interface__` and `__array_struct__`. Who uses them keeps an
# address for as long as the array lives, or writes to it: neither can be said of a copy. NumPy would ask for them
# before it asks for __array__, too, which can refuse to copy.


def exported(x, copy=None, refusal=BufferError):
    """The elements of an array of ours as a NumPy array that others may keep. Waits for them.

    A copy, in C order or, if the array is, in Fortran's: the memory itself belongs to the engine, whose workers write
    to it. Who asked for a copy (`copy` is true) may write to it; for all others it is read-only, as what they would
    write would be lost. Where a copy is forbidden (`copy` is false, not None) the error `refusal` is raised.
    """
    if not (copy is None or copy):
        raise refusal("Unable to avoid copy: the memory of a dflow array is written to by worker threads")
    fortran = x.flags.fnc
    values = x.T.asnumpy().T if fortran else x.asnumpy()
    values.flags.writeable = copy is not None
    return values


@method("__array__")
def _array(self, dtype=None, *, copy=None):
    """A NumPy array: a copy, to be written to. ValueError for copy=False. Waits."""
    values = exported(self, True if copy is None else copy, ValueError)
    return values if dtype is None else values.astype(dtype, copy=False)


@method("__bytes__")
def _bytes(self):
    """The bytes of the elements in C order. Waits."""
    return self.tobytes()


@method("__dlpack__")
def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule of a copy, which is read-only where its version can say so, unless `copy` is True. Waits.

    BufferError for copy=False, another device than the CPU's, and types that DLPack does not know (long double).
    """
    if copy is None and not (isinstance(max_version, tuple) and max_version >= (1,)):
        copy = True                     # an older capsule cannot say that it is read-only, and NumPy makes none
    return exported(self, copy).__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)


@method("__dlpack_device__")
def _dlpack_device(self):
    """DLPack's type and number of the device: the CPU."""
    return 1, 0


@op("a", "a.T", "b", "s", "e", "a[:, ::2]", "c64, copy=True", "a, device='cpu'", "a, device='gpu'", "a, copy=False",
    "3", kind="view")
def from_dlpack(x, /, *, device=None, copy=None):
    """An array of ours, as a view or, with copy=True, a copy; or the copy of another library's, through DLPack.

    BufferError for copy=False, unless the array is ours, and for what DLPack or NumPy cannot hold; ValueError for any
    device but "cpu".
    """
    check_device(device)
    if isinstance(x, ndarray):
        return x.copy("K") if copy else x.view()
    if not (copy is None or copy):
        raise BufferError("Unable to avoid copy: a dflow array has memory of its own, which belongs to the engine")
    return as_array(numpy.from_dlpack(x, device=device))


@method("__array_wrap__")
def _array_wrap(self, array, context=None, return_scalar=False, /):
    """What a function made of the array as NumPy's, as ours; with `return_scalar`, one without axes as a scalar."""
    if not isinstance(array, (numpy.ndarray, ndarray)):
        raise TypeError(f"__array_wrap__() argument 1 must be numpy.ndarray, not {type(array).__name__}")
    array = wrap(array)
    return array[()] if return_scalar and array.ndim == 0 else array


attach("data", property(lambda self: memoryview(exported(self)), doc="A read-only memoryview of a copy. Waits."))
