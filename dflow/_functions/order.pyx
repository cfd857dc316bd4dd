"""Joining, repeating, sorting, counting and searching."""

import numpy as np
cimport numpy as cnp
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport intp, Kernel, loop_t, ROWS
from dflow._engine cimport settings
from dflow._runtime.graph cimport storage_allocate, writable
from dflow._array.dispatch cimport MAXDIMS, Core, Operand, fill_constant, launch
from dflow._kernels.registry cimport (
    BOOL, DOUBLE, DTYPES, INTP, code_of, kernel_new, write_scalar, sort_kernel, long_sort_kernels, argextreme_kernel)
from dflow._functions.placement import follow
from dflow._array.core cimport *
from dflow._base.thread_state cimport recorders
from dflow._tracing.tape cimport any_records, record
from dflow._array.shape cimport normalize_axis
from dflow._functions.fastpath cimport allocated, count_bytes, count_true, quick_ready, same_shape
from dflow._functions.basic_indexing cimport base_index
from dflow._functions.views cimport c_axis, own
from dflow._functions.views import sliding_windows
from dflow._array.core import set_hook
from dflow._functions.out import fill_numpy, give
from dflow._functions.ufunc cimport along_axis, reduce, wrap
from dflow._functions.ufunc import NO_VALUE

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object)

cdef extern from "_kernels/c/interp.h":
    ctypedef struct Bounds:
        double left, right
        intp has_left, has_right
    void interp_loop(char**, intp*, intp*, void*) noexcept nogil

cdef extern from "_kernels/c/correlate.h":
    void slide_float(char**, intp*, intp*, void*) noexcept nogil
    void slide_double(char**, intp*, intp*, void*) noexcept nogil

cdef extern from "_kernels/c/masks.h":
    void true_places(intp*, char*, intp, intp)

cdef extern from "_kernels/c/copy.h":
    void move_bytes(char* to, const char* source, size_t n)
    void move_items(char* to, intp to_step, const char* source, intp from_step, intp n, int itemsize)

cnp.import_array()

# ---- joining ---------------------------------------------------------------------------------------------------

cdef ndarray quick_join(list parts, int k, int code, int ndim, intp* shape):
    """The parts side by side along axis k of a new array of that shape; None when the long way must be gone."""
    cdef ndarray part, out
    cdef intp total = 1, pitch = 0, outer = 1, size, i
    cdef char* target
    cdef int axis
    for axis in range(ndim):
        total *= shape[axis]
    if total == 0 or total * 0.3 > settings.inline_cost:
        return None
    for part in parts:
        if part.code != code or not quick_ready(part):
            return None
    for axis in range(k):
        outer *= shape[axis]
    out = allocated(code, ndim, shape)
    pitch = total // outer * out.itemsize
    target = data_of(out)
    for part in parts:
        size = part.size // outer * part.itemsize
        move_items(target, pitch, data_of(part), size, outer, <int>size)
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
    if out is not None and not isinstance(out, ndarray):
        raise TypeError("'out' must be an array")
    if hasattr(type(arrays), "__len__") and len(arrays) > MOST:
        raise ValueError(f"concatenate() only supports up to {MOST} arrays but got {len(arrays)}.")
    arrays = list(arrays)
    cdef list parts = [as_array(x) for x in arrays]
    cdef ndarray first, part, result
    cdef intp shape[MAXDIMS]
    cdef int k, code
    cdef intp start = 0
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    if axis is None:
        if dtype is None and out is None:
            dtype = common_type(arrays, parts)
        parts = [x.ravel() for x in parts]
        axis = 0
    if any_records(PySequence_Fast_ITEMS(parts), len(parts)):
        return record("concatenate", (parts, axis), concatenate, (parts, axis, out, dtype, casting), {})
    first = parts[0]
    if first.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    k = c_axis(axis, first.ndim)
    joined_shape(parts, k, shape)
    if out is not None and (<ndarray>out).ndim != first.ndim:
        raise ValueError("Output array has wrong dimensionality")
    if out is not None and shape_tuple(out) != tuple([shape[i] for i in range(first.ndim)]):
        raise ValueError("Output array is the wrong shape")
    code = joined_code(parts, out, dtype, casting)
    if out is None:
        result = quick_join(parts, k, code, first.ndim, shape)
        if result is not None:
            return result
        result = new_like(parts, code, first.ndim, shape, False, True)
    else:
        result = <ndarray>out
    for part in parts:
        assign(base_index(result, (slice(None),) * k + (slice(start, start + part.shape[k]),)), part)
        start += part.shape[k]
    return result

def common_type(arrays, parts):
    """The type that arrays promote to, of which `parts` are the arrays; Python numbers among them are weak."""
    if len({x.dtype for x in parts}) == 1:
        return parts[0].dtype
    return np.result_type(*[x if type(x) in (int, float, complex) else part.dtype for x, part in zip(arrays, parts)])

cdef int joined_shape(list parts, int k, intp* shape) except -1:
    """The shape of the parts side by side along axis k; ValueError when the other axes differ."""
    cdef ndarray first = parts[0], part
    cdef int i, d
    memcpy(shape, first.shape, first.ndim * sizeof(intp))
    for i in range(1, len(parts)):
        part = parts[i]
        if part.ndim != first.ndim:
            raise ValueError("all the input arrays must have same number of dimensions, but the array at index 0 has "
                             f"{first.ndim} dimension(s) and the array at index {i} has {part.ndim} dimension(s)")
        for d in range(first.ndim):
            if d != k and part.shape[d] != first.shape[d]:
                raise ValueError("all the input array dimensions except for the concatenation axis must match exactly, but along "
                                 f"dimension {d}, the array at index 0 has size {first.shape[d]} and the array at index {i} "
                                 f"has size {part.shape[d]}")
        shape[k] += part.shape[k]
    return 0

cdef int joined_code(list parts, object out, object dtype, object casting) except -1:
    """The type of out, or the one asked for, or what the parts promote to; TypeError where a part must not be cast to it."""
    cdef ndarray part
    cdef int code = (<ndarray>parts[0]).code
    for part in parts:
        if part.code != code:
            code = code_of(np.result_type(*{x.dtype for x in parts}))
            break
    if dtype is not None:
        code = code_of(dtype)
    if out is not None:
        code = (<ndarray>out).code
    for part in parts:
        if part.code != code and not np.can_cast(DTYPES[part.code], DTYPES[code], casting):
            raise TypeError(f"Cannot cast array data from {DTYPES[part.code]!r} to {DTYPES[code]!r} according to the rule {casting!r}")
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
    if out is None and dtype is None and first.ndim < MAXDIMS and not any_records(PySequence_Fast_ITEMS(parts), len(parts)):
        memcpy(shape, first.shape, k * sizeof(intp))
        shape[k] = len(parts)
        memcpy(shape + k + 1, first.shape + k, (first.ndim - k) * sizeof(intp))
        result = quick_join(parts, k, first.code, first.ndim + 1, shape)
        if result is not None:
            return result
    index = (slice(None),) * k + (None,)
    return concatenate([x[index] for x in parts], axis, out, dtype, casting)

# ---- lists of arrays: stacked without waiting for them

cdef ndarray small_nested(object x):
    """From lists of elements that are there, of one type, and of Python numbers; None when the long way must be gone."""
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
    if type(x) is ndarray:
        element = <ndarray>x
        if element.ndim or element.code != out.code or not quick_ready(element):
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
    cdef ndarray out = small_nested(x)
    if out is not None:
        return out
    parts = [as_array(item) for item in x]
    if parts[0].ndim == MAXDIMS:
        raise ValueError("setting an array element with a sequence. The requested array would exceed the maximum number of "
                         f"dimension of {MAXDIMS}.")
    if any([part.shape != parts[0].shape for part in parts]):
        np.array([np.empty(part.shape) for part in parts])      # its error, of an inhomogeneous shape
    return stack(parts)

set_hook("stack", stack_nested)

def small_repeat(ndarray a, intp repeats, int axis):
    """repeat() with one number of times; None when the long way must be gone."""
    cdef intp shape[MAXDIMS]
    cdef intp i, j, size = a.itemsize, outer = 1
    cdef char* source
    cdef char* target
    cdef ndarray out
    if not 0 <= repeats <= settings.inline_cost or not quick_ready(a) or records(a, None) or a.size * repeats > settings.inline_cost:
        return None
    memcpy(shape, a.shape, a.ndim * sizeof(intp))
    shape[axis] *= repeats
    for i in range(axis + 1, a.ndim):
        size *= a.shape[i]
    for i in range(axis + 1):
        outer *= a.shape[i]
    out = allocated(a.code, a.ndim, shape)
    source = data_of(a)
    target = data_of(out)
    for i in range(outer):
        for j in range(repeats):
            if size == 8:
                (<int64_t*>target)[0] = (<int64_t*>source)[0]
            else:
                move_bytes(target, source, size)
            target += size
        source += size
    settings.inlined += 1
    return out

# ---- sorting and extremes ----------------------------------------------------------------------------------------

cdef object LAST = -1               # the axis, when it is not given

KINDS = {"q": 0, "h": 1, "m": 2, "s": 2}
cdef Kernel* sorts[2][3][18]        # by: for the indices; kind; type code
cdef Kernel* extremes[2][18]        # by: the largest; type code

cdef int kind_of_sort(object kind, object stable) except -1:
    """0: quick, 1: heap, 2: stable. NumPy reads the first letter."""
    cdef int k
    if kind is not None and not isinstance(kind, str):
        raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
    k = 2 if stable else 0 if kind is None else KINDS.get(kind[:1].lower(), 3)
    if k == 3:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return k

cdef Kernel* sorter(int code, object kind, object stable, object order, bint indices) except NULL:
    """The kernel for sort's options, or their errors."""
    cdef int k
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if stable is not None and kind is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    k = kind_of_sort(kind, stable)
    if sorts[indices][k][code] == NULL:
        sorts[indices][k][code] = sort_kernel(code, k, indices)
    return sorts[indices][k][code]

cdef bint quick_rows(Kernel* k, ndarray a, ndarray out) noexcept:
    """Run a kernel over the last axis of a, for an element or a row of out each; whether it was done."""
    cdef char* args[2]
    cdef intp dims[2]
    cdef intp steps[4]
    cdef intp n = a.shape[a.ndim - 1]
    if (a.size == 0 or a.size * k.cost > settings.inline_cost or not quick_ready(a) or not out.flags & C_CONTIGUOUS
            or out.st.device > near or not writable(out.st) or out.st.poison != NULL or not storage_allocate(out.st)):
        return False
    args[0] = data_of(a)
    args[1] = data_of(out)
    dims[0] = a.size // n
    dims[1] = n
    steps[0] = n * a.itemsize
    steps[1] = out.size // dims[0] * out.itemsize
    steps[2] = a.itemsize
    steps[3] = out.itemsize
    k.loop(args, dims, steps, k.data)
    settings.inlined += 1
    return True

cdef int sort_rows(Kernel* k, ndarray a, ndarray out, int axis) except -1:
    if axis == a.ndim - 1 and quick_rows(k, a, out):
        return 0
    return along_axis(k, a, None, out, axis)

cdef int sort_into(Kernel* k, int kind, ndarray a, ndarray out, int axis) except -1:
    """Sort a into out, which may be a itself: a long row in runs, which are merged through another buffer, each step on all
    workers."""
    cdef ndarray source = a, target, other
    cdef list kernels = None
    cdef intp n = a.shape[axis]
    if a.size == n and out.flags & C_CONTIGUOUS:
        kernels = long_sort_kernels(a.code, kind, n)
    if kernels is None:
        return sort_rows(k, a, out, axis)
    other = new_array(a.code, a.ndim, a.shape)
    target = out if len(kernels) & 1 else other
    for address in kernels:
        along_axis(<Kernel*><size_t>address, source, None, target, axis)
        source, target = target, other if target is out else out
    return 0

def sort(a, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """A sorted copy along an axis; flattened when it is None. NaN comes last."""
    cdef ndarray source = as_array(a), out
    cdef int k
    if records(source, None):
        return record("sort", (source, axis, kind, order, stable, descending), sort, (source, axis, kind, order),
                      {"stable": stable, "descending": descending})
    if descending:
        return hooks["descending"](np.sort, source, axis, kind, order, stable)
    if axis is None:
        source = source.ravel()
        axis = 0
    kernel = sorter(source.code, kind, stable, order, False)
    k = normalize_axis(axis, source.ndim)
    out = new_like([source], source.code, source.ndim, source.shape, False, True)
    sort_into(kernel, kind_of_sort(kind, stable), source, out, k)
    return out

def sort_in_place(ndarray self, /, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """Sort along an axis, in place."""
    cdef int k
    cdef Kernel* usual = sorts[False][0][self.code]
    if kind is not None:
        kind_of_sort(kind, stable)          # its error comes first
    k = self.ndim - 1 if axis is LAST and self.ndim else normalize_axis(axis, self.ndim)
    check_writable(self)
    if kind is None and stable is None and order is None and k == self.ndim - 1 and not descending and (
            self.size < 2 or usual != NULL and quick_rows(usual, self, self)):
        return
    if descending:
        assign(self, hooks["descending"](np.sort, self, axis, kind, order, stable))
        return
    sort_into(sorter(self.code, kind, stable, order, False), kind_of_sort(kind, stable), self, self, k)

def argsort(a, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """The indices that would sort along an axis; of the flattened array when it is None."""
    cdef ndarray source = as_array(a), out
    cdef int k
    if descending:
        return hooks["descending"](np.argsort, source, axis, kind, order, stable)
    if axis is None:
        source = source.ravel()
        axis = 0
    if source.ndim == 0:
        c_axis(axis, 1)
        source = source.reshape(1)
    k = c_axis(axis, source.ndim)
    out = new_array(code_of_index, source.ndim, source.shape)
    sort_rows(sorter(source.code, kind, stable, order, True), source, out, k)
    return out

def argmax(a, axis=None, out=None, *, keepdims=False):
    """The index of the largest element along an axis, the first if there are more; of the flattened array without."""
    return argextreme(a, axis, True, keepdims, out)

def argmin(a, axis=None, out=None, *, keepdims=False):
    """The index of the smallest element along an axis, the first if there are more; of the flattened array without."""
    return argextreme(a, axis, False, keepdims, out)

cdef object argextreme(object a, object axis, bint largest, bint keepdims, object out):
    cdef ndarray source = as_array(a), result
    cdef intp shape[MAXDIMS]
    cdef int i, k = 0, n = 0, ndim = source.ndim
    cdef Kernel* kernel = extremes[largest][source.code]
    if kernel == NULL:
        kernel = extremes[largest][source.code] = argextreme_kernel(source.code, largest)
    if axis is not None:
        k = c_axis(axis, max(ndim, 1))
    if ndim == 0 or axis is None and ndim > 1:
        source = source.reshape(-1)
    if source.shape[k] == 0:
        raise ValueError(f"attempt to get {'argmax' if largest else 'argmin'} of an empty sequence")
    for i in range(source.ndim):
        if i != k:
            shape[n] = source.shape[i]
            n += 1
    result = new_array(code_of_index, n, shape)
    if n == 0:
        result.flags |= SCALAR
    if k != source.ndim - 1 or not quick_rows(kernel, source, result):
        along_axis(kernel, source, None, result, k)
    if keepdims and ndim:
        result = own(result.reshape((1,) * ndim if axis is None else shape_tuple(source)[:k] + (1,) + shape_tuple(source)[k + 1:]))
    return give(result, out, f"output array does not match result of np.{'argmax' if largest else 'argmin'}.", exchange=True)

cdef int code_of_index = code_of(INTP)
cdef object add = wrap(np.add)

cdef enum:
    COUNT_ROW = 1 << 16         # elements of a long mask that are counted together

cdef void count_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """mask (n), out (): how many are true."""
    cdef intp i
    for i in range(dims[0]):
        (<intp*>(args[1] + i * steps[1]))[0] = count_bytes(args[0] + i * steps[0], dims[1])

cdef Kernel* count_kernel = kernel_new(b"count_nonzero", 1, 2, count_loop, NULL, ROWS, 0.04)

cdef object count_in_rows(ndarray mask):
    """What is true in a mask that is ready, by all workers."""
    cdef intp rows = mask.size // COUNT_ROW, counted = rows * COUNT_ROW
    cdef ndarray counts = new_array(code_of_index, 1, &rows, True), flat = mask.reshape(-1)
    along_axis(count_kernel, flat[:counted].reshape(rows, COUNT_ROW), None, counts, 1)
    return counts.sum() + count_bytes(data_of(flat) + counted, mask.size - counted)

def count_nonzero(a, axis=None, *, keepdims=False):
    """How many elements along axes are not zero."""
    cdef ndarray x = as_array(a), out
    cdef intp at_once = 2 * COUNT_ROW if settings.inline_cost > 0 else 0
    if x.code == BOOL and axis is None and not keepdims and x.size < at_once and quick_ready(x):
        out = new_array(code_of_index, 0, NULL)
        out.flags |= SCALAR
        (<intp*>data_of(out))[0] = count_true(x)
        settings.inlined += 1
        return out
    if x.code == BOOL and axis is None and not keepdims and x.size >= 2 * COUNT_ROW and quick_ready(x):
        return count_in_rows(x)
    return reduce(add, x if x.code == BOOL else x != 0, axis, INTP, None, keepdims, NO_VALUE, True)

def nonzero(a):
    """The indices of what is not zero: an array for each axis. Waits, as their number depends on the values."""
    cdef ndarray x = as_array(a)
    if x.ndim == 0:
        return np.nonzero(numpy_window(x))      # its error
    if x.ndim == 1 and x.code == BOOL and x.flags & C_CONTIGUOUS:
        return follow(x, (places_of(wait_read(x)),))
    return follow(x, tuple([as_array(found) for found in <tuple>cnp.PyArray_Nonzero(numpy_window(wait_read(x), False))]))

cdef ndarray places_of(ndarray mask):
    """The indices of what is true in a mask of one axis, which is here."""
    cdef intp n = count_true(mask)
    cdef ndarray out = allocated(code_of_index, 1, &n)
    true_places(<intp*>data_of(out), data_of(mask), mask.size, n)
    return out

cdef enum:
    HUGE = 1 << 30              # a number that bincount() leaves to NumPy, and to its error

def count_each(ndarray x, weights, intp least):
    """bincount() of integers of 64 bits, and of weights that are float64 or None; None where NumPy must say what is wrong.

    Waits.
    """
    cdef ndarray numbers, w = None, out
    cdef uint64_t largest
    cdef intp n, length
    cdef intp* p
    if x.ndim != 1 or x.size == 0 or x.code != code_of_index or not x.flags & C_CONTIGUOUS or least < 0:
        return None
    if weights is not None:
        w = as_array(weights)
        if w.ndim != 1 or w.size != x.size or w.code != DOUBLE or not w.flags & C_CONTIGUOUS:
            return None
        w = wait_read(w)
    numbers = wait_read(x)
    if w is not None and not is_here(w):
        return None                         # submitted to by another thread, while this one waited
    p = <intp*>data_of(numbers)
    n = numbers.size
    largest = largest_of(p, n)
    if largest >= HUGE:
        return None
    length = max(least, <intp>largest + 1)
    out = allocated(code_of_index if w is None else DOUBLE, 1, &length)
    memset(data_of(out), 0, length * sizeof(intp))
    if w is None:
        add_each(p, n, <intp*>data_of(out), length)
    else:
        add_weights(p, n, <double*>data_of(w), <double*>data_of(out))
    return out

cdef uint64_t largest_of(intp* p, intp n) noexcept:
    """A negative number is larger than all others. Four at a time: a comparison waits for the one before it."""
    cdef uint64_t a = 0, b = 0, c = 0, d = 0
    cdef intp i, even = n & ~3
    for i in range(0, even, 4):
        a = max(a, <uint64_t>p[i])
        b = max(b, <uint64_t>p[i + 1])
        c = max(c, <uint64_t>p[i + 2])
        d = max(d, <uint64_t>p[i + 3])
    for i in range(even, n):
        a = max(a, <uint64_t>p[i])
    return max(max(a, b), max(c, d))

cdef void add_each(intp* p, intp n, intp* counts, intp length) noexcept:
    """The second of two has counts of its own, if these are few: a number met twice in a row would wait for its count."""
    cdef intp others[1024]
    cdef intp* second = counts
    cdef intp i, even = n & ~1
    if length <= 1024:
        second = others
        memset(others, 0, length * sizeof(intp))
    for i in range(0, even, 2):
        counts[p[i]] += 1
        second[p[i + 1]] += 1
    if even < n:
        counts[p[even]] += 1
    if second != counts:
        for i in range(length):
            counts[i] += others[i]

cdef void add_weights(intp* p, intp n, double* weights, double* sums) noexcept:
    cdef intp i
    for i in range(n):
        sums[p[i]] += weights[i]

# ---- interpolation ---------------------------------------------------------------------------------------------------

cdef Kernel* interp_kernel = kernel_new(b"interp", 4, 5, <loop_t>interp_loop, NULL, ROWS, 8)

def interpolate(ndarray x, ndarray xp, ndarray fp, left, right):
    """numpy.interp of real numbers: at x, between the points (xp, fp), of which there is one at least."""
    cdef Bounds bounds
    cdef Core core
    cdef intp shape[MAXDIMS]
    cdef Operand ops[5]
    cdef ndarray out
    cdef int i
    bounds.has_left = left is not None
    bounds.has_right = right is not None
    bounds.left = left if bounds.has_left else 0
    bounds.right = right if bounds.has_right else 0
    x = cast(x, DOUBLE)
    out = new_array(DOUBLE, x.ndim, x.shape, True)
    core.ndim = 1
    core.dims[0] = xp.size
    core.nsteps = 2
    core.steps[0] = core.steps[1] = sizeof(double)
    xp, fp = contiguous(cast(xp, DOUBLE)), contiguous(cast(fp, DOUBLE))
    memcpy(shape, x.shape, x.ndim * sizeof(intp))           # launch() changes it
    fill_operand(&ops[0], x, x.ndim, shape, False)
    fill_points(&ops[1], xp)
    fill_points(&ops[2], fp)
    fill_constant(&ops[3], <char*>&bounds, sizeof(bounds))
    fill_operand(&ops[4], out, x.ndim, shape, True)
    launch(interp_kernel, ops, 5, x.ndim, shape, &core)
    if x.ndim == 0:
        out.flags |= SCALAR
    return out

cdef void fill_points(Operand* o, ndarray points) noexcept:
    """All of them for each element."""
    fill_operand(o, points, 1, points.shape, False)
    memset(o.strides, 0, sizeof(o.strides))

# ---- sliding products ------------------------------------------------------------------------------------------------

cdef Kernel* slide_floats = kernel_new(b"correlate", 2, 3, <loop_t>slide_float, NULL, ROWS, 0.05)
cdef Kernel* slide_doubles = kernel_new(b"correlate", 2, 3, <loop_t>slide_double, NULL, ROWS, 0.1)

def slide(ndarray a, ndarray v, ndarray out):
    """out[i] = the sum of a[i + k] * v[k], for 1-d arrays of one type, float32 or float64."""
    windows = sliding_windows(contiguous(a), shape_tuple(v), (0,))
    along_axis(slide_doubles if a.code == DOUBLE else slide_floats, windows, v, out, 1)
