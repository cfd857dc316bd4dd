"""Views and basic indexing: ndarray's methods that look at the same memory in another way, or read it."""

import operator

import numpy as np
from cpython.slice cimport PySlice_Check
from cpython.type cimport PyType_Check
from libc.string cimport memcmp, memcpy, memset
from libc.stdint cimport int64_t, uint8_t
from dflow._memory cimport block_zeros
from dflow._engine cimport settings, wait_storage
from dflow._fp cimport warn_user
from dflow._graph cimport Kernel, intp, storage_allocate, writable
from dflow._launch cimport Operand, MAXDIMS, fill_constant, launch
from dflow._kernels cimport (
    Scalar, BOOL, DOUBLE, DTYPES, itemsizes, code_of, is_complex, is_integer, cast_kernel, number_kernel, write_number,
    write_scalar, read_scalar)
from dflow._array cimport *
from dflow._shape cimport parse_shape, check_dimensions, normalize_axis
from dflow._array import array, attach, set_hook
from dflow._share import share
from numpy.exceptions import ComplexWarning

cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object, object) except? -1
    int PySlice_Unpack(object, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t*, Py_ssize_t*, Py_ssize_t)
    bint PyLong_CheckExact(object)
    bint PyTuple_CheckExact(object)
    bint PyIndex_Check(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    Py_ssize_t PyTuple_GET_SIZE(tuple)
    list PyList_New(Py_ssize_t)
    void PyList_SET_ITEM(list, Py_ssize_t, PyObject*)
    PyObject* PyFloat_FromDouble(double)
    PyObject* PyTuple_GET_ITEM(tuple, Py_ssize_t)
    bytes PyBytes_FromStringAndSize(char*, Py_ssize_t)

# ---- views -----------------------------------------------------------------------------------------------------

cdef ndarray broadcast_view(ndarray a, int ndim, intp* shape):
    cdef int i, skip = ndim - a.ndim
    cdef double elements = 1
    cdef ndarray v
    if skip < 0:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    v = new_view(a, ndim)
    for i in range(ndim):
        v.shape[i] = shape[i]
        v.shape[ndim + i] = 0
        if i >= skip:
            if a.shape[i - skip] == shape[i]:
                v.shape[ndim + i] = strides_of(a)[i - skip]
            elif a.shape[i - skip] != 1:
                target = tuple([shape[j] for j in range(ndim)])
                raise ValueError("operands could not be broadcast together with remapped shapes [original->remapped]: "
                                 f"{shape_text(a)}  and requested shape {str(target).replace(' ', '')}")
        elements *= shape[i]
    if elements > LARGE:
        raise ValueError("iterator is too large")
    v.flags |= READONLY
    return close_view(v)

cdef ndarray reshape_view(ndarray a, int ndim, intp* shape, char order):
    """A view of a with another shape of the same size, or None where only a copy will do. order: b'C' or b'F'."""
    cdef ndarray v = new_view(a, ndim)
    cdef intp stride = a.itemsize
    cdef int i, k
    cdef bint fortran = order == c"F"
    memcpy(v.shape, shape, ndim * sizeof(intp))
    if a.flags & (F_CONTIGUOUS if fortran else C_CONTIGUOUS) or a.size == 0:
        for i in range(ndim):
            k = i if fortran else ndim - 1 - i
            v.shape[ndim + k] = stride
            if shape[k] > 0:
                stride *= shape[k]
    elif not split_strides(a, v, fortran):
        return None
    return close_view(v)

cdef bint split_strides(ndarray a, ndarray v, bint fortran) noexcept:
    """Strides for v's shape, of the size of a's, over the same elements; False where there are none.

    Axes start .. i of the old shape are taken together with axes first .. j of the new one that have the same size: the old
    ones must follow each other in memory.
    """
    cdef intp lengths[MAXDIMS]
    cdef intp strides[MAXDIMS]
    cdef intp* shape = v.shape
    cdef intp* out = strides_of(v)
    cdef intp have, want
    cdef int i, j = 0, k, n = 0, start, first
    for i in range(a.ndim):
        if a.shape[i] != 1:
            lengths[n] = a.shape[i]
            strides[n] = strides_of(a)[i]
            n += 1
    i = 0
    while i < n and j < v.ndim:
        start = i
        first = j
        have = lengths[i]
        want = shape[j]
        i += 1
        j += 1
        while have != want:
            if have < want:
                have *= lengths[i]
                i += 1
            else:
                want *= shape[j]
                j += 1
        for k in range(start, i - 1):
            if (strides[k + 1] != lengths[k] * strides[k]) if fortran else (strides[k] != lengths[k + 1] * strides[k + 1]):
                return False
        if fortran:
            out[first] = strides[start]
            for k in range(first + 1, j):
                out[k] = out[k - 1] * shape[k - 1]
        else:
            out[j - 1] = strides[i - 1]
            for k in range(j - 1, first, -1):
                out[k - 1] = out[k] * shape[k]
    for k in range(j, v.ndim):              # trailing axes of length 1
        out[k] = a.itemsize if j == 0 else out[j - 1] * shape[j - 1] if fortran else out[j - 1]
    return True

cdef ndarray reshaped(ndarray a, int ndim, intp* shape):
    cdef ndarray v = reshape_view(a, ndim, shape, c"C")
    return v if v is not None else reshape_view(copy_of(a), ndim, shape, c"C")

cdef intp LARGE = <intp>1 << 62      # elements: no array has so many

cdef ndarray reshape_to(ndarray a, object shape, object order="C", object copy=None):
    cdef intp dims[MAXDIMS]
    cdef int ndim = parse_shape(shape, dims)
    cdef int i, unknown = -1
    cdef intp known = 1
    cdef ndarray v
    cdef bint fortran = order == "F" or (order == "A" and a.flags & F_CONTIGUOUS and not a.flags & C_CONTIGUOUS)
    for i in range(ndim):
        if dims[i] < 0:
            if unknown >= 0:
                raise ValueError("can only specify one unknown dimension")
            unknown = i
        elif known > LARGE // max(dims[i], 1):
            known = LARGE                   # and not the product, which could be a small number again
        else:
            known *= dims[i]
    if unknown >= 0 and known > 0 and a.size % known == 0:
        dims[unknown] = a.size // known
        known = a.size
    elif unknown >= 0:
        known = -1
    if known != a.size:
        if unknown >= 0:
            dims[unknown] = -1
        raise ValueError(f"cannot reshape array of size {a.size} into shape {wanted_text(ndim, dims)}")
    v = None if copy is True else reshape_view(a, ndim, dims, c"F" if fortran else c"C")
    if v is not None:
        return v
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    if fortran:
        return reshape_view(copy_of(a.T), ndim, dims, c"C") if ndim == 1 else reshape_view(fortran_copy(a), ndim, dims, c"F")
    return reshape_view(copy_of(a), ndim, dims, c"C")

cdef str wanted_text(int ndim, intp* dims):
    """A shape with an unknown axis as NumPy writes it: left out in front, else "newaxis"."""
    cdef int first = 0
    while first < ndim and dims[first] < 0:
        first += 1
    text = ",".join([str(dims[i]) if dims[i] >= 0 else "newaxis" for i in range(first, ndim)])
    return f"({text},)" if ndim == 1 and first == 0 else f"({text})"

cdef ndarray fortran_copy(ndarray a):
    """A copy whose first axis is the fastest."""
    return owned(copy_of(a.T).T)

def broadcast_to(a, shape):
    """A read-only view of a in a shape that it broadcasts to; ValueError when it does not."""
    cdef intp dims[MAXDIMS]
    cdef int ndim = parse_shape(shape, dims)
    check_dimensions(ndim, dims)
    return broadcast_view(as_array(a), ndim, dims)

# ---- indexing --------------------------------------------------------------------------------------------------

cdef ndarray element(ndarray a, intp offset):
    """The value at a byte offset of the storage, as a 0-d array of its own: like NumPy's scalars, not a view."""
    cdef ndarray out = new_scalar(a.code)
    cdef ndarray v
    if is_here(a):
        if a.itemsize == 8:
            (<int64_t*>out.st.data)[0] = (<int64_t*>(a.st.data + offset))[0]
        else:
            memcpy(out.st.data, a.st.data + offset, a.itemsize)
    else:
        v = new_view(a, 0)
        v.offset = offset
        copy_elements(out, close_view(v))
    return out

cdef inline intp check_index(intp i, intp n, int axis) except -1:
    if i < 0:
        i += n
        if i < 0:
            raise IndexError(f"index {i - n} is out of bounds for axis {axis} with size {n}")
    elif i >= n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return i

cdef inline intp int_index(object key) except? -1:
    """The value of an exact int."""
    cdef int overflow
    cdef long long i = PyLong_AsLongLongAndOverflow(key, &overflow)
    return PyNumber_AsSsize_t(key, IndexError) if overflow else i       # which raises

cdef int too_many(ndarray a, int n) except -1:
    raise IndexError(f"too many indices for array: array is {a.ndim}-dimensional, but {n} were indexed")

cdef object index_first(ndarray a, intp i):
    cdef ndarray v
    cdef intp* strides = strides_of(a)
    cdef int k, ndim = a.ndim - 1
    if ndim < 0:
        too_many(a, 1)
    i = check_index(i, a.shape[0], 0)
    if ndim == 0:
        return element(a, a.offset + i * strides[0])
    v = new_view(a, ndim)
    v.offset = a.offset + i * strides[0]
    for k in range(ndim):
        v.shape[k] = a.shape[k + 1]
        v.shape[ndim + k] = strides[k + 1]
    return close_view(v)

cdef inline bint is_basic(object item):
    """Whether an index item asks for a view."""
    if PyLong_CheckExact(item) or PySlice_Check(item) or item is None or item is Ellipsis:
        return True
    if isinstance(item, (bool, np.bool, list, np.ndarray)):
        return False
    if isinstance(item, ndarray):
        return (<ndarray>item).ndim == 0 and is_integer((<ndarray>item).code) and (<ndarray>item).code != BOOL
    return PyIndex_Check(item) and not getattr(item, "ndim", 0)

cdef object base_index(ndarray a, object key):
    """a[key] as a view (an ndarray), or NotImplemented when arrays or booleans are among the indices."""
    cdef tuple items = <tuple>key if isinstance(key, tuple) else (key,)
    cdef int n = <int>len(items), used = 0, made = 0, axis = 0, i, k
    cdef bint ellipsis = False
    cdef ndarray v
    cdef intp shape[2 * MAXDIMS]
    cdef intp strides[2 * MAXDIMS]
    cdef intp* s = strides_of(a)
    cdef intp offset = a.offset
    cdef Py_ssize_t start, stop, step, length
    for item in items:
        if item is Ellipsis:
            if ellipsis:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis = True
        elif item is not None:
            if not is_basic(item):
                return NotImplemented
            used += 1
    if used > a.ndim:
        too_many(a, used)
    if n - used > MAXDIMS:
        made = a.ndim + sum([1 if item is None else 0 if item is Ellipsis or PySlice_Check(item) else -1 for item in items])
        raise IndexError(f"number of dimensions must be within [0, {MAXDIMS}], indexing result would have {made}")
    for item in items:
        if PySlice_Check(item):
            PySlice_Unpack(item, &start, &stop, &step)
            length = PySlice_AdjustIndices(a.shape[axis], &start, &stop, step)
            if length > 0:
                offset += start * s[axis]
            shape[made] = length
            strides[made] = s[axis] * step
            made += 1
            axis += 1
        elif item is None:
            shape[made] = 1
            strides[made] = 0
            made += 1
        elif item is Ellipsis:
            for k in range(a.ndim - used):
                shape[made] = a.shape[axis]
                strides[made] = s[axis]
                made += 1
                axis += 1
        else:
            offset += check_index(PyNumber_AsSsize_t(item, IndexError), a.shape[axis], axis) * s[axis]
            axis += 1
    while axis < a.ndim:
        shape[made] = a.shape[axis]
        strides[made] = s[axis]
        made += 1
        axis += 1
    if made > MAXDIMS:
        raise IndexError(f"number of dimensions must be within [0, {MAXDIMS}], indexing result would have {made}")
    v = new_view(a, made)
    v.offset = offset
    memcpy(v.shape, shape, made * sizeof(intp))
    memcpy(v.shape + made, strides, made * sizeof(intp))
    return close_view(v)

cdef inline intp integers_offset(ndarray a, tuple key) except -1:
    """Where the element of a lies that a key of one exact int an axis names; -2 for any other key."""
    cdef intp* strides = strides_of(a)
    cdef intp offset = a.offset, i
    cdef int axis
    if PyTuple_GET_SIZE(key) != a.ndim or a.ndim == 0:
        return -2
    for axis in range(a.ndim):
        item = <object>PyTuple_GET_ITEM(key, axis)
        if not PyLong_CheckExact(item):
            return -2
        i = int_index(item)
        if i < 0 or i >= a.shape[axis]:
            i = check_index(i, a.shape[axis], axis)
        offset += i * strides[axis]
    return offset

cdef inline intp element_offset(ndarray a, tuple key) except -1:
    cdef intp offset = a.offset
    cdef int i
    for i in range(a.ndim):
        offset += check_index(PyNumber_AsSsize_t(key[i], IndexError), a.shape[i], i) * strides_of(a)[i]
    return offset

cdef object get_index(ndarray a, object key):
    cdef intp offset
    if PyLong_CheckExact(key):
        return index_first(a, int_index(key))
    if type(key) is ndarray and (<ndarray>key).ndim:
        return advanced_get(a, key)
    if PyTuple_CheckExact(key):
        offset = integers_offset(a, <tuple>key)
        if offset >= 0:
            return element(a, offset)
    view = base_index(a, key)
    if view is NotImplemented:
        return advanced_get(a, key)
    if (<ndarray>view).ndim == 0 and not has_ellipsis(key):
        return element(a, (<ndarray>view).offset)
    return view

cdef bint has_ellipsis(object key):
    """a[..., i] of a vector is a view in NumPy, a[i] a scalar."""
    if not isinstance(key, tuple):
        return key is Ellipsis
    for item in <tuple>key:
        if item is Ellipsis:
            return True
    return False

cdef int set_element(ndarray a, intp offset, object value) except -1:
    """One Python number into one place: at once when nobody is using the storage."""
    cdef Scalar room
    cdef char* buffer = <char*>&room
    if writable(a.st) and is_here(a):
        write_scalar(value, a.code, a.st.data + offset)
        return 0
    cdef Operand ops[2]
    cdef intp shape[1]
    cdef ndarray v = new_view(a, 0)
    v.offset = offset
    close_view(v)
    write_scalar(value, a.code, buffer)
    fill_constant(&ops[0], buffer, a.itemsize)
    fill_operand(&ops[1], v, 0, shape, True)
    return launch(cast_kernel(a.code, a.code), ops, 2, 0, shape, NULL)

cdef bint copy_element(ndarray a, intp offset, ndarray value) noexcept:
    """One element into one place, if it is there and of a's type, and nobody is using a; whether it was done."""
    if value.ndim or value.code != a.code or not is_here(value) or not writable(a.st) or not is_here(a):
        return False
    memcpy(a.st.data + offset, data_of(value), a.itemsize)
    return True

cdef int set_index(ndarray a, object key, object value) except -1:
    cdef intp offset
    cdef bint number = type(value) is float or type(value) is int or isinstance(value, (int, float, complex))
    if a.flags & (READONLY | SCALAR):
        if a.flags & SCALAR:
            raise TypeError(f"'numpy.{DTYPES[a.code].type.__name__}' object does not support item assignment")
        check_writable(a)
    if number and PyTuple_CheckExact(key):
        offset = integers_offset(a, <tuple>key)
        if offset >= 0:
            return set_element(a, offset, value)
    if number and PyLong_CheckExact(key) and a.ndim == 1:
        return set_element(a, a.offset + check_index(int_index(key), a.shape[0], 0) * strides_of(a)[0], value)
    if type(value) is ndarray and PyLong_CheckExact(key) and a.ndim == 1 and copy_element(
            a, a.offset + check_index(int_index(key), a.shape[0], 0) * strides_of(a)[0], <ndarray>value):
        return 0
    if type(key) is ndarray and (<ndarray>key).ndim:
        return advanced_set(a, key, value)
    view = base_index(a, key)
    if view is NotImplemented:
        return advanced_set(a, key, value)
    return fill_with(<ndarray>view, value) if number else store(<ndarray>view, key, value)

cdef int store(ndarray v, object key, object value) except -1:
    """What is no Python number into the view that a key names."""
    if v.ndim == 0 and not (isinstance(value, ndarray) and ((<ndarray>value).ndim == 0 or has_ellipsis(key))):
        value = one_element(v.code, Ellipsis if has_ellipsis(key) else (), value)
    if not isinstance(value, ndarray):
        value = as_array_code(value, v.code)
    elif may_not_fit(<ndarray>value, v.code):
        if is_here(<ndarray>value):
            return fill_with(v, int(read_scalar((<ndarray>value).code, data_of(<ndarray>value))))
        value = number_of(<ndarray>value, v.code)
    return assign(v, <ndarray>value)

cdef bint may_not_fit(ndarray x, int code) noexcept:
    """Whether NumPy stores int(x), or refuses to: what is a scalar, and need not fit the type, one of signed integers."""
    if not x.flags & SCALAR or not is_integer(code) or not code & 1 or x.code == BOOL or is_complex(x.code):
        return False
    return not is_integer(x.code) or x.itemsize > itemsizes[code] or x.itemsize == itemsizes[code] and not x.code & 1

cdef ndarray number_of(ndarray x, int code):
    """int(x) as that type: OverflowError for one that it cannot hold, ValueError for NaN; later, if x is pending."""
    cdef Operand ops[2]
    cdef ndarray out = new_array(code, 0, NULL)
    if is_here(x):
        write_number(x.code, data_of(x), code, data_of(out))
        return out
    fill_operand(&ops[0], x, 0, x.shape, False)
    fill_operand(&ops[1], out, 0, x.shape, True)
    launch(number_kernel(x.code, code), ops, 2, 0, x.shape, NULL)
    return out

cdef ndarray one_element(int code, object key, object value):
    """What NumPy stores as one element: it takes texts and None for numbers, and its errors tell of sequences."""
    place = np.empty((), DTYPES[code])
    place[key] = value.asnumpy() if isinstance(value, ndarray) else value
    return as_array(place)

cdef bint all_zeros(ndarray v, char* number) noexcept:
    """Give a large array that nobody has used its memory, if that number is what it has in it anyway; whether it was done."""
    cdef Scalar zero
    memset(&zero, 0, sizeof(zero))
    if v.size * v.itemsize != <intp>v.st.nbytes or not writable(v.st) or v.st.poison != NULL or memcmp(number, &zero, v.itemsize):
        return False
    v.st.data = block_zeros(v.st.nbytes)
    return v.st.data != NULL

cdef int fill_with(ndarray v, object value) except -1:
    cdef Kernel* k = cast_kernel(v.code, v.code)
    cdef Operand ops[2]
    cdef intp shape[MAXDIMS]
    cdef intp steps[2]
    cdef char* args[2]
    cdef Scalar room
    args[0] = <char*>&room
    write_scalar(value, v.code, args[0])
    if v.st.data == NULL and all_zeros(v, args[0]):
        return 0
    if (v.flags & C_CONTIGUOUS and v.size * k.cost <= settings.inline_cost and v.st.poison == NULL and writable(v.st)
            and storage_allocate(v.st)):
        args[1] = data_of(v)
        steps[0] = 0
        steps[1] = v.itemsize
        k.loop(args, &v.size, steps, k.data)
        settings.inlined += 1
        return 0
    memcpy(shape, v.shape, v.ndim * sizeof(intp))
    fill_constant(&ops[0], args[0], v.itemsize)
    fill_operand(&ops[1], v, v.ndim, shape, True)
    return launch(k, ops, 2, v.ndim, shape, NULL)

cdef int c_axis(object axis, int ndim, str text="an integer is required for the axis") except -1:
    """normalize_axis() where NumPy's C code does it, which takes no booleans: TypeError(text)."""
    if isinstance(axis, (bool, np.bool)):
        raise TypeError(text)
    return normalize_axis(axis, ndim)

# ---- methods ----------------------------------------------------------------------------------------------------------

cdef ndarray still_scalar(ndarray self, ndarray result):
    """What a method gives: without axes, a value if that was one whose method it is."""
    if result.ndim == 0:
        result.flags |= self.flags & SCALAR
    return result

def reshape(ndarray self, *shape, order="C", copy=None):
    """The same elements in another shape: a view where NumPy gives one, else a copy."""
    if order != "C":
        order = known_order(order)
        if order == "K":
            raise ValueError("order 'K' is not permitted for reshaping")
    if len(shape) == 1:
        shape = shape_tuple(self) if shape[0] is None else shape[0]
    return still_scalar(self, reshape_to(self, shape, order, copy))

def transpose(ndarray self, *axes):
    """A view with the axes in another order: reversed, or as given (a sequence, or one argument each)."""
    cdef int order[MAXDIMS]
    cdef int i
    if len(axes) == 1 and (axes[0] is None or hasattr(axes[0], "__len__") and getattr(axes[0], "ndim", 1)):
        axes = None if axes[0] is None else tuple(axes[0])
    if not axes and (axes is None or self.ndim != 0):
        return self.T
    if len(axes) != self.ndim:
        raise ValueError("axes don't match array")
    for i in range(self.ndim):
        order[i] = c_axis(axes[i], self.ndim, "an integer is required")
        for k in range(i):
            if order[k] == order[i]:
                raise ValueError("repeated axis in transpose")
    return still_scalar(self, transposed(self, order))

def swapaxes(ndarray self, axis1, axis2):
    """A view with two axes exchanged."""
    cdef int order[MAXDIMS]
    cdef int i = normalize_axis(axis1, self.ndim, "axis1"), j = normalize_axis(axis2, self.ndim, "axis2"), k
    for k in range(self.ndim):
        order[k] = k
    order[i] = j
    order[j] = i
    return transposed(self, order)

def diagonal(a, offset=0, axis1=0, axis2=1):
    """A diagonal of two axes, as the last axis: a read-only view."""
    cdef ndarray x = as_array(a), v
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    cdef int i = normalize_axis(axis1, x.ndim, "axis1"), j = normalize_axis(axis2, x.ndim, "axis2")
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    v = diagonal_view(x, operator.index(offset), i, j)
    v.flags |= READONLY
    return v

cdef ndarray diagonal_view(ndarray a, intp offset, int axis1, int axis2):
    cdef ndarray v = new_view(a, a.ndim - 1)
    cdef intp* strides = strides_of(a)
    cdef intp row = -offset if offset < 0 else 0, column = offset if offset > 0 else 0
    cdef int i, k = 0
    for i in range(a.ndim):
        if i != axis1 and i != axis2:
            v.shape[k] = a.shape[i]
            v.shape[v.ndim + k] = strides[i]
            k += 1
    v.shape[k] = max(min(a.shape[axis1] - row, a.shape[axis2] - column), 0)
    v.shape[v.ndim + k] = strides[axis1] + strides[axis2]
    if v.shape[k]:
        v.offset += row * strides[axis1] + column * strides[axis2]
    return close_view(v)

def diagonal_of(ndarray a, intp offset=0, int axis1=0, int axis2=1):
    """diagonal() of two axes of a, to be written to."""
    return diagonal_view(a, offset, axis1, axis2)

def squeeze(ndarray self, axis=None):
    """Without axes of length 1: all of them, or those named."""
    cdef ndarray v
    cdef int i, k = 0, ndim = self.ndim
    cdef bint drop[MAXDIMS]
    for i in range(self.ndim):
        drop[i] = axis is None and self.shape[i] == 1
    if axis is not None:
        several = isinstance(axis, tuple)
        text = "integers are required for the axis tuple elements" if several else "an integer is required for the axis"
        for one in (axis if several else (axis,)):
            if self.ndim == 0 and not several and one in (0, -1):
                continue                    # as NumPy has it
            i = c_axis(one, self.ndim, text)
            if drop[i]:
                raise ValueError("duplicate value in 'axis'")
            drop[i] = True
    for i in range(self.ndim):
        if drop[i] and self.shape[i] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        ndim -= drop[i]
    if ndim == self.ndim:
        return self
    v = new_view(self, ndim)
    for i in range(self.ndim):
        if not drop[i]:
            v.shape[k] = self.shape[i]
            v.shape[ndim + k] = strides_of(self)[i]
            k += 1
    return close_view(v)

cdef ndarray without_axis(ndarray a, int axis):
    """The view of a at index 0 of an axis, whatever its length."""
    cdef ndarray v = new_view(a, a.ndim - 1)
    cdef int i, k = 0
    for i in range(a.ndim):
        if i != axis:
            v.shape[k] = a.shape[i]
            v.shape[a.ndim - 1 + k] = strides_of(a)[i]
            k += 1
    return close_view(v)

cdef ndarray outer_part(ndarray a, int ncore):
    """The view of a without its last ncore axes."""
    cdef ndarray v
    if ncore == 0:
        return a
    v = new_view(a, a.ndim - ncore)
    memcpy(v.shape, a.shape, v.ndim * sizeof(intp))
    memcpy(v.shape + v.ndim, strides_of(a), v.ndim * sizeof(intp))
    return close_view(v)

cdef ndarray with_ones(ndarray a, list axes, int ndim):
    """The view of a with axes of length 1 put in at these places."""
    cdef ndarray v = new_view(a, ndim)
    cdef int i, k = 0
    for i in range(ndim):
        if i in axes:
            v.shape[i] = 1
            v.shape[ndim + i] = a.itemsize
        else:
            v.shape[i] = a.shape[k]
            v.shape[ndim + i] = strides_of(a)[k]
            k += 1
    return close_view(v)

cpdef str known_order(object order):
    """C, F, A or K; ValueError for anything else."""
    if order is None or order is "C":
        return "C"
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if order not in ("C", "F", "A", "K", "c", "f", "a", "k"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return order.upper()

cdef ndarray by_strides(ndarray a):
    """The view of a with its axes as they lie in memory, the longest strides first."""
    cdef int order[MAXDIMS]
    axes = sorted(range(a.ndim), key=[-abs(strides_of(a)[i]) for i in range(a.ndim)].__getitem__)
    for i in range(a.ndim):
        order[i] = axes[i]
    return transposed(a, order)

def ravel(ndarray self, order="C"):
    """One axis: a view when the memory is in order, else a copy."""
    cdef ndarray ordered
    if order is "C" and self.ndim == 1 and self.flags & C_CONTIGUOUS:
        return broadcast_same(self)
    order = known_order(order)
    if order == "K" and not self.flags & (C_CONTIGUOUS | F_CONTIGUOUS):
        ordered = by_strides(self)
        if not ordered.flags & C_CONTIGUOUS:
            ordered = by_strides(hooks["copy_order"](self, "K"))
        return reshape_to(ordered, -1)
    if order == "C" or order == "A" and not self.flags & F_CONTIGUOUS or self.flags & C_CONTIGUOUS and order != "F":
        return reshape_to(self, -1) if self.flags & C_CONTIGUOUS else owned(reshape_to(copy_of(self), -1))
    return reshape_to(self, -1, "F") if self.flags & F_CONTIGUOUS else owned(reshape_to(copy_of(self.T), -1))

def flatten(ndarray self, order="C"):
    """One axis: always a copy."""
    view = ravel(self, order)
    return copy_of(<ndarray>view) if (<ndarray>view).st == self.st else view

def view(ndarray self, dtype=None, type=None):
    """The same bytes, as another type; of the same size, unless the last axis is contiguous. `type`: ndarray, if any."""
    cdef ndarray v
    cdef int code, last
    if PyType_Check(dtype) and issubclass(dtype, ndarray):
        type, dtype = dtype, None
    if type is not None and type is not ndarray:
        if not (PyType_Check(type) and issubclass(type, ndarray)):
            np.empty(0).view(type=type)         # its error
        raise TypeError(f"dflow arrays are of one class: {type.__name__} is not supported")
    if dtype is None:
        return still_scalar(self, broadcast_same(self))
    code = code_of(dtype)
    v = broadcast_same(self)
    last = self.ndim - 1
    if itemsizes[code] != self.itemsize:
        if self.ndim == 0 or (strides_of(self)[last] != self.itemsize and self.shape[last] != 1 and self.size):
            raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
        if (self.shape[last] * self.itemsize) % itemsizes[code]:
            raise ValueError("When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis of the array.")
        v.shape[last] = self.shape[last] * self.itemsize // itemsizes[code]
        strides_of(v)[last] = itemsizes[code]
    v.code = <uint8_t>code
    v.itemsize = <uint8_t>itemsizes[code]
    return still_scalar(self, aligned(v))

cdef ndarray aligned(ndarray v):
    """A view as another type. ValueError unless each element lies where its type may: kernels rely on that."""
    cdef intp places = v.offset
    cdef int i
    for i in range(v.ndim):
        if v.shape[i] > 1:
            places |= strides_of(v)[i]
    if places & (DTYPES[v.code].alignment - 1) and v.size:
        raise ValueError(f"dflow arrays are aligned: these bytes cannot be seen as {DTYPES[v.code]}")
    return close_view(v)

def getfield(ndarray self, dtype, offset=0):
    """The view of a part of each element as another type, from that byte on.

    ValueError where it does not lie within the element, or not at a multiple of the size that its type is aligned to.
    """
    cdef ndarray v = broadcast_same(self)
    cdef int code = code_of(dtype)
    cdef intp start = operator.index(offset)
    if start < 0:
        raise ValueError("offset is negative")
    if itemsizes[code] > self.itemsize:
        raise ValueError("new type is larger than original type")
    if start + itemsizes[code] > self.itemsize:
        raise ValueError("new type plus offset is larger than original type")
    v.offset += start
    v.code = <uint8_t>code
    v.itemsize = <uint8_t>itemsizes[code]
    return aligned(v)

def setfield(ndarray self, val, dtype, offset=0):
    """Store into a part of each element, as another type: see getfield()."""
    if self.flags & SCALAR:
        raise TypeError("Can't set fields in a non-void array scalar.")
    check_writable(self)
    index_set(getfield(self, dtype, offset), Ellipsis, val)

def copy(ndarray self, order="C"):
    """A copy; order "K": in the memory order of the array."""
    if order != "C" and order != "K":
        order = known_order(order)
    if order == "C" or (order != "F" and self.flags & C_CONTIGUOUS):
        return still_scalar(self, copy_of(self))
    return hooks["copy_order"](self, order)

def astype(ndarray self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """The elements as another type: a copy, unless copy is False and the type is the same already.

    TypeError for a cast that the rule `casting` forbids; by "same_value", ValueError where a value would be another one, on
    reading where it is not there yet.
    """
    cdef int code = code_of(dtype)
    cdef ndarray out
    if isinstance(copy, np._CopyMode):
        raise ValueError("_CopyMode enum is not allowed for astype function. Use true/false instead.")
    if order != "K":
        order = known_order(order)
    if casting != "unsafe":
        np.zeros((1,) * self.ndim, DTYPES[self.code]).astype(DTYPES[code], casting=casting)     # its errors
        if casting == "same_value":
            out = astype(self, dtype, order, "unsafe", subok, copy)
            return hooks["same_value"](self, out) if code != self.code else out
    if is_complex(self.code) and not is_complex(code) and code != BOOL:
        warn_user("Casting complex values to real discards the imaginary part", ComplexWarning)
    if order == "A":
        order = "F" if self.flags & F_CONTIGUOUS and not self.flags & C_CONTIGUOUS else "C"
    if code == self.code and not copy and (order == "K" or self.flags & (C_CONTIGUOUS if order == "C" else F_CONTIGUOUS)):
        return self
    if order == "F":
        return owned(astype(self.T, dtype, "C").T)
    if code != self.code and order == "K":
        return still_scalar(self, cast(self, code))
    out = new_like([self], code, self.ndim, self.shape) if order == "K" else new_array(code, self.ndim, self.shape)
    copy_elements(out, self)
    return still_scalar(self, out)

def fill(ndarray self, value):
    """Set every element to one number."""
    if not isinstance(value, (int, float, complex)) and not (isinstance(value, ndarray) and (<ndarray>value).ndim == 0):
        value = one_element(self.code, (), value)
    set_index(self, Ellipsis, value)

def resize(ndarray self, *new_shape, refcheck=True):
    """Another shape and size in place: the elements as they lie in memory, then zeros. Views keep what they see."""
    cdef intp dims[MAXDIMS]
    cdef int ndim
    cdef intp n
    cdef ndarray flat, made
    if not new_shape or new_shape[0] is None and len(new_shape) == 1:
        return
    ndim = parse_shape(new_shape[0] if len(new_shape) == 1 else new_shape, dims)
    if not self.flags & (C_CONTIGUOUS | F_CONTIGUOUS):
        raise ValueError("resize only works on single-segment arrays")
    for n in dims[:ndim]:
        if n < 0:
            raise ValueError("negative dimensions not allowed")
    order = "C" if self.flags & C_CONTIGUOUS else "F"
    flat = ravel(self, order)
    made = reshape_to(new_array(self.code, ndim, dims), -1)
    if made.size == self.size:
        made = flat
    elif self.base != NULL:
        raise ValueError("cannot resize this array: it does not own its data")
    else:
        n = min(self.size, made.size)
        set_index(made, slice(n, None), 0)
        set_index(made, slice(n), get_index(flat, slice(n)))
    become(self, reshape_view(made, ndim, dims, c"C" if order == "C" else c"F"))

def setflags(ndarray self, write=None, align=None, uic=None):
    """Make the array read-only, or writeable where what it is a view of is. The other flags never change."""
    if align is not None and not align or uic:
        raise ValueError("cannot change the flags ALIGNED and WRITEBACKIFCOPY of a dflow array")
    if write is None:
        return
    if not write:
        self.flags |= READONLY
    elif self.base != NULL and (<ndarray><object>self.base).flags & READONLY:
        raise ValueError("cannot set WRITEABLE flag to True of this array")
    else:
        self.flags &= ~READONLY

def flag_bits(ndarray a):
    """1: C order, 2: Fortran order, 4: read-only."""
    return a.flags & (C_CONTIGUOUS | F_CONTIGUOUS | READONLY)

def is_scalar(ndarray a):
    """Whether NumPy would have a scalar here."""
    return a.flags & SCALAR != 0

def __copy__(ndarray self):
    return hooks["copy_order"](self, "K")

def __deepcopy__(ndarray self, memo):
    return hooks["copy_order"](self, "K")

def __reduce__(ndarray self):
    return array, (self.asnumpy(),)         # array() keeps the order

def item(ndarray self, *args):
    """One element as a Python scalar. Waits for it."""
    cdef ndarray a = self
    cdef intp offset, i
    if len(args) == 1 and type(args[0]) is int and self.flags & C_CONTIGUOUS and is_here(self):
        i = small_index(args[0])
        if 0 <= i < self.size:
            wait_storage(self.st, NULL, False, False)       # to give warnings that are due
            return read_scalar(self.code, data_of(self) + i * self.itemsize)
    if args:
        offset = item_offset(self, args)
        if is_here(self):
            wait_storage(self.st, NULL, False, False)
            return read_scalar(self.code, self.st.data + offset)
        a = element(self, offset)
    elif self.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return first_element(a)

def tolist(ndarray self):
    """Nested lists of Python scalars; one scalar for a 0-d array. Waits."""
    cdef intp i
    cdef ndarray a = wait_read(self)
    cdef char* p = data_of(a)
    cdef list out
    if a.ndim == 1 and a.code == DOUBLE:
        out = PyList_New(a.size)
        for i in range(a.size):
            PyList_SET_ITEM(out, i, PyFloat_FromDouble((<double*>(p + i * strides_of(a)[0]))[0]))
        return out
    if a.ndim == 1:
        return [read_scalar(a.code, p + i * strides_of(a)[0]) for i in range(a.size)]
    return numpy_window(a).tolist()

def tobytes(ndarray self, order="C"):
    """The bytes of the elements in C order, or "F". Waits."""
    cdef ndarray a = wait_read(self)
    if a.flags & C_CONTIGUOUS and known_order(order) != "F":
        return PyBytes_FromStringAndSize(data_of(a), a.size * a.itemsize)
    return a.asnumpy().tobytes(order)           # see asnumpy

def open_window(ndarray a):
    """A NumPy array over the memory of a, to read and write, when nobody else does."""
    wait_read(a)
    wait_write(a)
    return numpy_window(a, not a.flags & READONLY)

def sliding_windows(ndarray a, tuple shape, tuple axes):
    """The read-only view of a with new axes at its end, along windows of that shape over the axes."""
    cdef int i, ndim = a.ndim + <int>len(axes)
    cdef ndarray v = new_view(a, ndim)
    memcpy(v.shape, a.shape, a.ndim * sizeof(intp))
    memcpy(v.shape + ndim, strides_of(a), a.ndim * sizeof(intp))
    for i in range(len(axes)):
        v.shape[a.ndim + i] = shape[i]
        v.shape[ndim + a.ndim + i] = strides_of(a)[<int>axes[i]]
        v.shape[<int>axes[i]] -= <intp>shape[i] - 1
    v.flags |= READONLY
    return close_view(v)

def strided(ndarray a, tuple shape, tuple strides, str beyond="a view of bytes {} to {} would leave the memory of the array, of {} bytes"):
    """The view of a's memory, from its first element on, with that shape and those strides: read-only, where it may see a byte twice.

    ValueError, with the text `beyond`, where it would leave the memory.
    """
    cdef int i, ndim = <int>len(shape)
    cdef ndarray v = new_view(a, ndim)
    for i in range(ndim):
        v.shape[i] = shape[i]
        v.shape[ndim + i] = strides[i]
    aligned(close_view(v))
    if v.size == 0:
        return v
    steps = [(n - 1) * step for n, step in zip(shape, strides)]         # of Python: they do not overflow
    low = a.offset + sum([step for step in steps if step < 0])
    high = a.offset + a.itemsize + sum([step for step in steps if step > 0])
    if low < 0 or high > v.st.nbytes:
        raise ValueError(beyond.format(low, high, v.st.nbytes))
    if sees_twice(v):
        v.flags |= READONLY
    return v

cdef bint sees_twice(ndarray v):
    """Whether some bytes may have several places in v. They have not where each axis steps over all that shorter steps reach."""
    cdef intp reach = v.itemsize, step
    for step, length in sorted([(abs(strides_of(v)[i]), v.shape[i]) for i in range(v.ndim)]):
        if length > 1:
            if step < reach:
                return True
            reach += step * (length - 1)
    return False

cdef intp item_offset(ndarray a, tuple args) except -1:
    """The byte offset of what item() names: item(i) counts through the array, item(i, j, ...) indexes it."""
    cdef intp i
    if len(args) == 1 and isinstance(args[0], tuple):
        args = args[0]
    if bool in map(type, args):
        raise TypeError("an integer is required")
    if len(args) == a.ndim:
        return element_offset(a, args)
    if len(args) != 1:
        raise ValueError("incorrect number of indices for array")
    i = PyNumber_AsSsize_t(args[0], IndexError)
    if i < -a.size or i >= a.size:
        raise IndexError(f"index {i} is out of bounds for size {a.size}")
    return flat_offset(a, i + a.size if i < 0 else i)

cdef inline intp small_index(object i) except? -2:
    """A Python integer, -1 if it is too large."""
    cdef int overflow = 0
    cdef long long n = PyLong_AsLongLongAndOverflow(i, &overflow)
    return -1 if overflow else n

cdef inline intp flat_offset(ndarray a, intp i) noexcept:
    """The byte offset of the i-th element in C order."""
    cdef intp offset = a.offset
    cdef int k
    if a.flags & C_CONTIGUOUS:
        return offset + i * a.itemsize
    for k in range(a.ndim - 1, -1, -1):
        offset += i % a.shape[k] * strides_of(a)[k]
        i //= a.shape[k]
    return offset

cdef class Iterator:
    """Over the first axis; what is assigned on the way is seen, as in NumPy."""
    cdef ndarray a
    cdef intp i

    def __init__(self, ndarray a):
        self.a = a

    def __iter__(self):
        return self

    def __next__(self):
        if self.i >= self.a.shape[0]:
            raise StopIteration
        self.i += 1
        return index_item(self.a, self.i - 1)

cdef class FlatIterator:
    """The elements in C order, each as it is when its turn comes; index: whose turn is next."""
    cdef readonly ndarray base
    cdef readonly intp index

    def __init__(self, ndarray base):
        self.base = base

    def __iter__(self):
        return self

    def __next__(self):
        cdef ndarray a = self.base
        cdef intp i = self.index
        if i >= a.size:
            raise StopIteration
        self.index = i + 1
        return element(a, flat_offset(a, i))

    def __getitem__(self, key):
        cdef intp i
        if type(key) is int:
            i = small_index(key)
            if 0 <= i < self.base.size:
                return element(self.base, flat_offset(self.base, i))
        return self.chosen(key)

for _method in (reshape, transpose, swapaxes, squeeze, ravel, flatten, view, copy, astype, fill, resize, setflags, __copy__, __deepcopy__, __reduce__, item, tolist, tobytes, getfield, setfield):
    attach(_method.__name__, _method)
set_hook("reshape", reshape)
set_hook("view", view)
set_hook("strided", strided)
set_hook("iterator", Iterator)

def connect_indexing():
    """Give ndarray its subscripts."""
    global index_get, index_item, index_set
    index_get = get_index
    index_item = index_first
    index_set = set_index
