"""Memory that other libraries see, and what they give. The buffer of ndarray is in _functions/buffers.pyx."""

import numpy

from dflow._array.core import array as as_array
from dflow._array.core import attach, is_array, ndarray
from dflow._functions.buffers import adopt, share, share_for_good
from dflow._functions.placement import device_number
from dflow._functions.views import is_scalar
from dflow.ops.fallback import wrap
from dflow.ops.table import method, op


@method("__array__")
def _array(self, /, dtype=None, *, copy=None):
    """The memory of the array, or, where the type differs or `copy` is True, a copy. Waits.

    ValueError where copy=False forbids the copy that it takes.
    """
    return numpy.array(share(self), dtype, copy=copy)


@method("to_numpy")
def _to_numpy(self, /, dtype=None, copy=False, **keywords):
    """A NumPy array over the same memory, or, with `copy` or for another type, a copy; as pandas has it. Waits.

    TypeError for na_value and other keywords: no element is missing.
    """
    for name, value in keywords.items():
        raise TypeError(f"to_numpy() takes dtype and copy alone: {name}={value!r} is for what may be missing")
    return numpy.array(share(self), dtype, copy=True if copy else None)


@method("__conform__")
def _conform(self, protocol, /):
    """What sqlite3 binds: the number of an element. An array is bound as NumPy's are, by its bytes."""
    return self.item() if is_scalar(self) and getattr(protocol, "__name__", None) == "PrepareProtocol" else None


@method("__dlpack__")
def _dlpack(self, /, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule of the memory of the array, or of a copy. Waits.

    BufferError for another device than the CPU's, types that DLPack does not know (long double), and arrays that are
    read-only, if the version cannot say so.
    """
    return share(self).__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


@method("__arrow_c_schema__")
def _arrow_c_schema(self, /):
    """A capsule of the type in Arrow's C data interface; lists of fixed size for further axes.

    TypeError for what Arrow has no type for: complex numbers, long double, and no axes.
    """
    from dflow._functions.arrow import arrow_type  # for few programs

    return arrow_type(self)


@method("__arrow_c_array__")
def _arrow_c_array(self, /, requested_schema=None):
    """Capsules of the type and of the memory for Arrow's C data interface, or of a copy's: of booleans, and of elements
    that do not lie side by side. `requested_schema` is not followed, as the interface allows. Waits.
    """
    from dflow._functions.arrow import arrow_array

    return arrow_array(self)


@method("__dlpack_device__")
def _dlpack_device(self, /):
    """DLPack's type and number of the device: the CPU."""
    return 1, 0


@op("a", "a.T", "b", "s", "e", "a[:, ::2]", "c64, copy=True", "a, device='cpu'", "a, device='gpu'", "a, copy=False",
    "3", kind="view")
def from_dlpack(x, /, *, device=None, copy=None):
    """An array of ours as a view, or, through DLPack, over another library's memory: what one writes, the other sees.
    With copy=True a copy.

    BufferError for what DLPack or NumPy cannot hold, and for copy=False where memory cannot be shared (see
    _functions/buffers.pyx); ValueError for any device but "cpu".
    """
    device_number(device)
    if is_array(x):
        result = x.copy("K") if copy else x.view()
        return result if device is None else result.to_device(device)
    theirs = numpy.from_dlpack(x, device=device, copy=copy)
    result = as_array(theirs) if copy else adopt(theirs)
    if copy is False and not is_array(result):
        raise BufferError("Unable to avoid copy: this memory cannot be a dflow array's")
    return as_array(result)


@method("__array_wrap__")
def _array_wrap(self, array, context=None, return_scalar=False, /):
    """What a function made of the array as NumPy's, as ours; with `return_scalar`, one without axes as a scalar."""
    if not isinstance(array, (numpy.ndarray, ndarray)):
        raise TypeError(f"__array_wrap__() argument 1 must be numpy.ndarray, not {type(array).__name__}")
    array = wrap(array.view(numpy.ndarray) if isinstance(array, numpy.ndarray) else array)
    return array[()] if return_scalar and array.ndim == 0 else array


def _interface(self):
    window = share_for_good(self)
    kept = {"__ref": window} if is_scalar(self) else {}         # a copy, as in that of NumPy's scalars
    return window.__array_interface__ | kept


class _Seen(numpy.ndarray):
    """NumPy's array over the memory of one of ours, which it keeps."""


def _ctypes(self):
    seen = share_for_good(self).view(_Seen)
    seen.array = self
    return seen.ctypes


for _name, _give, _doc in (
        ("data", memoryview, "A memoryview. Waits."),
        ("ctypes", _ctypes, "The address and more, for ctypes. Waits."),
        ("__array_interface__", _interface, "The address and more. Waits."),
        ("__array_struct__", lambda self: share(self).__array_struct__, "The address and more, in a capsule. Waits.")):
    attach(_name, property(_give, doc=_doc))
