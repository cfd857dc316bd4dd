"""What a caller says of a shape or an axis, checked: NumPy's errors."""

from libc.stdlib cimport labs
from numpy.exceptions import AxisError
from dflow._kernels.kernel cimport MAXDIMS
from dflow._runtime.region cimport by_stride

cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object, object) except? -1
    bint PyLong_CheckExact(object)
    bint PyIndex_Check(object)
    bint PySequence_Check(object)

cdef inline intp length(object item) except? -1:
    try:
        return PyNumber_AsSsize_t(item, OverflowError)
    except OverflowError:
        raise ValueError("Maximum allowed dimension exceeded") from None

cdef int parse_shape(object shape, intp* out) except -1:
    cdef int ndim = 0
    if PyLong_CheckExact(shape):
        out[0] = length(shape)
        return 1
    elif isinstance(shape, (tuple, list)):
        items = shape
    elif shape is None:
        raise TypeError("Use () not None as shape arguments")
    elif not PySequence_Check(shape) and not PyIndex_Check(shape):
        raise TypeError(f"expected a sequence of integers or a single integer, got '{repr(shape)[:100]}'")
    elif not PySequence_Check(shape) or getattr(shape, "ndim", 1) == 0:
        items = (shape,)
    else:
        items = tuple(shape)
    if len(items) > MAXDIMS:
        raise ValueError(f"maximum supported dimension for an ndarray is currently {MAXDIMS}, found {len(items)}")
    for item in items:
        if not PyIndex_Check(item):
            raise TypeError(f"'{type(item).__name__}' object cannot be interpreted as an integer")
        if isinstance(item, bool):
            raise TypeError("an integer is required")
        out[ndim] = length(item)
        ndim += 1
    return ndim

cdef int check_dimensions(int ndim, intp* shape) except -1:
    cdef int i
    for i in range(ndim):
        if shape[i] < 0:
            raise ValueError("negative dimensions are not allowed")
    return 0

cdef int normalize_axis(object axis, int ndim, str prefix=None) except -1:
    cdef Py_ssize_t i = PyNumber_AsSsize_t(axis, OverflowError)
    if i < -ndim or i >= ndim:
        raise AxisError(i, ndim, prefix)
    return <int>(i + ndim if i < 0 else i)

cdef bint sees_twice(int ndim, intp* shape, intp* strides, intp itemsize) noexcept:
    """Whether bytes may have several places in a view: not if each axis steps over all that shorter steps reach."""
    cdef intp s, reach = itemsize
    cdef int order[MAXDIMS]
    cdef int i
    for i in range(by_stride(ndim, shape, strides, order)):
        s = labs(strides[order[i]])
        if s < reach:
            return True
        reach += s * (shape[order[i]] - 1)
    return False
