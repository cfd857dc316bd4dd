"""Joining and repeating."""

import numpy as np
cimport numpy as cnp
from libc.string cimport memcpy
from dflow._kernels.kernel cimport call_loop, intp, Kernel, MAXDIMS
from dflow._engine cimport settings
from dflow._runtime.fp_errors cimport fp_event
from dflow._runtime.graph cimport storage_allocate
from dflow._runtime.tuning cimport MIDDLING
from dflow._kernels.casts cimport cast_kernel
from dflow._kernels.dtypes cimport DOUBLE, DTYPES, code_of, code_of_num, is_complex, itemsizes, write_scalar
from dflow._array.core cimport *, is_ours
from dflow._base.thread_state cimport many_devices, near, recorders
from dflow._tracing.tape cimport any_records, record
from dflow._array.shape cimport normalize_axis
from dflow._functions.fastpath cimport allocated, same_shape
from dflow._functions.basic_indexing cimport base_index
from dflow._functions.sequences cimport as_operand, to_read
from dflow._functions.views cimport c_axis
from dflow._functions.out import fill_numpy

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object)

cdef extern from "_kernels/c/copy.h":
    void repeat_items(char* to, const char* source, intp n, intp times, intp size)
    void move_items(char* to, intp to_step, const char* source, intp from_step, intp n, int itemsize)

cdef double BYTE_COST = 0.025       # nanoseconds to copy one: a task for each part takes longer than many,
cdef double REPEAT_COST = 0.4       # and for an element of what is repeated

# ---- parts: arrays, and NumPy's in C order, whose memory is looked at: a copy would take as long as all the rest

cpdef object part_of(object x):
    """What concatenate() takes: an array, or one of NumPy's as it is."""
    if type(x) is cnp.ndarray and cnp.PyArray_NDIM(x) and cnp.PyArray_ISCARRAY_RO(x) and (
            code_of_num(cnp.PyArray_TYPE(x)) >= 0 and not (recorders or near < 0 or many_devices)):
        return x
    return as_operand(x)

cdef inline int axes_of(object part) noexcept:
    return (<ndarray>part).ndim if is_ours(part) else cnp.PyArray_NDIM(part)

cdef inline intp* shape_of(object part) noexcept:
    return (<ndarray>part).shape if is_ours(part) else <intp*>cnp.PyArray_DIMS(part)

cdef inline int type_of(object part) noexcept:
    return (<ndarray>part).code if is_ours(part) else code_of_num(cnp.PyArray_TYPE(part))

cdef inline intp size_of(object part) noexcept:
    return (<ndarray>part).size if is_ours(part) else cnp.PyArray_SIZE(part)

cdef inline char* memory_of(object part) noexcept:
    return data_of(<ndarray>part) if is_ours(part) else <char*>cnp.PyArray_DATA(part)

cdef inline bint is_there(object part) noexcept:
    return in_order_here(<ndarray>part) if is_ours(part) else cnp.PyArray_ISCARRAY_RO(part)

cdef intp elements_there(list parts, int code) noexcept:
    """How many elements they have; -1 where not all are there, in order, or NumPy's warning is due."""
    cdef intp total = 0
    for part in parts:
        if not is_there(part) or is_complex(type_of(part)) and not is_complex(code):
            return -1
        total += size_of(part)
    return total

cdef ndarray quick_join(list parts, int k, int code, int ndim, intp* shape):
    """The parts side by side along axis k of a new array of that shape; None when the long way must be gone."""
    cdef ndarray out
    cdef intp total = 1, pitch, outer = 1, size, n, i, step
    cdef intp steps[2]
    cdef char* args[2]
    cdef char* target
    cdef Kernel* k_cast
    cdef int axis, flags = 0
    for axis in range(ndim):
        total *= shape[axis]
    if (total == 0 or total * itemsizes[code] * BYTE_COST > MIDDLING * settings.inline_cost
            or elements_there(parts, code) != total):
        return None
    for axis in range(k):
        outer *= shape[axis]
    out = allocated(code, ndim, shape)
    if elements_there(parts, code) != total:        # others may have gone on while there was no room for `out`
        return None
    pitch = total // outer * out.itemsize
    target = data_of(out)
    for part in parts:
        n = size_of(part) // outer
        size = n * out.itemsize
        if type_of(part) == code:
            move_items(target, pitch, memory_of(part), size, outer, <int>size)
        else:
            k_cast = cast_kernel(type_of(part), code)
            step = itemsizes[type_of(part)]
            steps[0], steps[1] = step, out.itemsize
            for i in range(outer if n else 0):
                args[0], args[1] = memory_of(part) + i * n * step, target + i * pitch
                flags |= call_loop(k_cast, args, &n, steps)
            if flags:                       # told of each part
                fp_event(flags, k_cast)
                flags = 0
        target += size
    settings.inlined += 1
    return out

cdef enum:
    MOST = 0x7fffffff       # arrays to join

def concatenate(arrays, axis=0, out=None, dtype=None, casting="same_kind"):
    """Arrays joined along an existing axis; axis None: flattened first. Each part is copied by a task of its own.

    ValueError for shapes that do not fit, TypeError where `casting` forbids the cast to the result's type.
    """
    if isinstance(out, np.ndarray):
        return fill_numpy(concatenate, out, arrays, axis, dtype=dtype, casting=casting)
    arrays = arrays_to_join(arrays, out)
    cdef list parts = [as_operand(x) if out is not None or axis is None else part_of(x) for x in arrays]
    cdef ndarray result
    cdef intp shape[MAXDIMS]
    cdef int k, code, ndim
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    if axis is None:
        if dtype is None and out is None:
            dtype = common_type(arrays, parts)
        parts = [adapted(x, part, dtype if out is None else out.dtype).ravel() for x, part in zip(arrays, parts)]
        axis = 0
    if any_records(PySequence_Fast_ITEMS(parts), len(parts)):
        return record("concatenate", (parts, axis), concatenate, (parts, axis, out, dtype, casting), {})
    ndim = axes_of(parts[0])
    if ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    k = c_axis(axis, ndim)
    joined_shape(parts, k, shape)
    if out is not None:
        check_joined(<ndarray>out, ndim, shape)
    code = joined_code(parts, out, dtype, casting)
    if out is None:
        result = quick_join(parts, k, code, ndim, shape)
        if result is not None:
            return result
        parts = [to_read(x) for x in parts]
        result = new_like(parts, code, ndim, shape, False, True)
    else:
        result = <ndarray>out
    return join(parts, k, result)

cdef list arrays_to_join(object arrays, object out):
    """The arrays as a list; NumPy's errors for too many of them, and for an `out` that is no array."""
    if out is not None and not isinstance(out, ndarray):
        raise TypeError("'out' must be an array")
    if (type(arrays) is list or hasattr(type(arrays), "__len__")) and len(arrays) > MOST:
        raise ValueError(f"concatenate() only supports up to {MOST} arrays but got {len(arrays)}.")
    return arrays if type(arrays) is list else list(arrays)

cdef int check_joined(ndarray out, int ndim, intp* shape) except -1:
    if out.ndim != ndim:
        raise ValueError("Output array has wrong dimensionality")
    if shape_tuple(out) != tuple([shape[i] for i in range(ndim)]):
        raise ValueError("Output array is the wrong shape")
    return 0

cdef ndarray join(list parts, int k, ndarray result):
    """The parts side by side along axis k, each copied by a task of its own."""
    cdef ndarray part
    cdef intp start = 0
    for part in parts:
        assign(base_index(result, (slice(None),) * k + (slice(start, start + part.shape[k]),)), part)
        start += part.shape[k]
    return result

def common_type(arrays, parts):
    """The type that arrays promote to, of which `parts` are the arrays; Python numbers among them are weak."""
    if len({x.dtype.num for x in parts}) == 1:
        return parts[0].dtype
    return np.result_type(*[x if type(x) in (int, float, complex) else part.dtype for x, part in zip(arrays, parts)])

cdef ndarray adapted(object x, ndarray part, object dtype):
    """A part that a Python number is takes on a type that holds such, whatever its value."""
    if type(x) in (int, float, complex) and np.result_type(x, dtype) == dtype:
        return cast(part, code_of(dtype))
    return part

cdef int joined_shape(list parts, int k, intp* shape) except -1:
    """The shape of the parts side by side along axis k; ValueError when the other axes differ."""
    cdef int i, d, ndim = axes_of(parts[0])
    cdef intp* dims
    memcpy(shape, shape_of(parts[0]), ndim * sizeof(intp))
    for i in range(1, len(parts)):
        part = parts[i]
        dims = shape_of(part)
        if axes_of(part) != ndim:
            raise ValueError("all the input arrays must have same number of dimensions, but the array at index 0 has "
                             f"{ndim} dimension(s) and the array at index {i} has {axes_of(part)} dimension(s)")
        for d in range(ndim):
            if d != k and dims[d] != shape[d]:
                raise ValueError("all the input array dimensions except for the concatenation axis must match exactly, "
                                 f"but along dimension {d}, the array at index 0 has size {shape[d]} and the "
                                 f"array at index {i} has size {dims[d]}")
        shape[k] += dims[k]
    return 0

cdef dict promotions = {}            # by the types, a bit each

cdef int joined_code(list parts, object out, object dtype, object casting) except -1:
    """The type of out, or the one asked for, or what the parts promote to;
    TypeError where a part must not be cast to it."""
    cdef int code = type_of(parts[0]), types = 0
    for part in parts:
        types |= 1 << type_of(part)
    if types != 1 << code:
        if types not in promotions:
            promotions[types] = code_of(np.result_type(*[x.dtype for x in parts]))
        code = promotions[types]
    if dtype is None and out is None and casting == "same_kind":
        return code                         # to what they promote to, that allows all
    if dtype is not None:
        code = code_of(dtype)
    if out is not None:
        code = (<ndarray>out).code
    for part in parts:
        if type_of(part) != code and not np.can_cast(DTYPES[type_of(part)], DTYPES[code], casting):
            raise TypeError(f"Cannot cast array data from {DTYPES[type_of(part)]!r} to {DTYPES[code]!r} according to "
                            f"the rule {casting!r}")
    return code

def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays of one shape joined along a new axis."""
    cdef list parts = [as_array(x) for x in arrays]
    cdef intp shape[MAXDIMS]
    cdef ndarray first, part, result
    cdef int k
    if not parts:
        raise ValueError("need at least one array to stack")
    first = parts[0]
    for part in parts:
        if not same_shape(part, first):
            raise ValueError("all input arrays must have the same shape")
    k = normalize_axis(axis, first.ndim + 1)
    if (out is None and dtype is None and first.ndim < MAXDIMS
            and not any_records(PySequence_Fast_ITEMS(parts), len(parts))):
        memcpy(shape, first.shape, k * sizeof(intp))
        shape[k] = len(parts)
        memcpy(shape + k + 1, first.shape + k, (first.ndim - k) * sizeof(intp))
        result = quick_join(parts, k, joined_code(parts, None, None, casting), first.ndim + 1, shape)
        if result is not None:
            return result
    index = (slice(None),) * k + (None,)
    return concatenate([x[index] for x in parts], axis, out, dtype, casting)

# ---- lists of arrays: stacked without waiting for them

cdef ndarray small_nested(object x):
    """From lists of elements that are there, of one type, and of Python numbers;
    None when the long way must be gone."""
    cdef intp shape[MAXDIMS]
    cdef int ndim = 0
    cdef char* target
    cdef ndarray out
    item = x
    if recorders:
        return None
    while isinstance(item, (list, tuple)):
        if ndim == MAXDIMS or len(item) == 0:
            return None
        shape[ndim] = len(item)
        ndim += 1
        item = item[0]
    if is_ours(item) and (<ndarray>item).ndim:
        return None
    out = new_array((<ndarray>item).code if isinstance(item, ndarray) else DOUBLE, ndim, shape)
    if out.size > settings.inline_cost or not storage_allocate(out.st):
        return None
    target = data_of(out)
    if not write_nested(x, out, 0, &target):
        return None
    settings.inlined += 1
    return out

cdef bint write_nested(object x, ndarray out, int axis, char** target) except -1:
    """The elements of a list, in order; False when they are not all of out's type and shape."""
    cdef ndarray element
    if axis < out.ndim:
        if not isinstance(x, (list, tuple)) or <intp>len(x) != out.shape[axis]:
            return False
        for item in x:
            if not write_nested(item, out, axis + 1, target):
                return False
        return True
    if is_ours(x):
        element = <ndarray>x
        if element.ndim or element.code != out.code or not in_order_here(element):
            return False
        memcpy(target[0], data_of(element), out.itemsize)
    elif out.code == DOUBLE and (type(x) is float or type(x) is int and -(1 << 53) < x < 1 << 53):
        write_scalar(x, DOUBLE, target[0])
    else:
        return False
    target[0] += out.itemsize
    return True

def stack_nested(x):
    """The array that a list or tuple of arrays, or of such lists, is for NumPy."""
    cdef ndarray out = small_nested(x), first, part
    if out is not None:
        return out
    cdef list parts = [as_array(item) for item in x]
    first = parts[0]
    if first.ndim == MAXDIMS:
        raise ValueError("setting an array element with a sequence. The requested array would exceed the maximum "
                         f"number of dimension of {MAXDIMS}.")
    for part in parts:
        if not same_shape(part, first):
            np.array([np.empty(one.shape) for one in parts])    # its error, of an inhomogeneous shape
    return stack(parts)


def small_repeat(ndarray a, intp repeats, int axis):
    """repeat() with one number of times; None when the long way must be gone."""
    cdef intp shape[MAXDIMS]
    cdef intp i, size = a.itemsize, outer = 1
    cdef ndarray out
    if (not 0 <= repeats <= settings.inline_cost or not in_order_here(a) or records(a, None)
            or a.size * repeats * REPEAT_COST > MIDDLING * settings.inline_cost):
        return None
    memcpy(shape, a.shape, a.ndim * sizeof(intp))
    shape[axis] *= repeats
    for i in range(axis + 1, a.ndim):
        size *= a.shape[i]
    for i in range(axis + 1):
        outer *= a.shape[i]
    out = allocated(a.code, a.ndim, shape)
    repeat_items(data_of(out), data_of(a), outer, repeats, size)
    settings.inlined += 1
    return out
