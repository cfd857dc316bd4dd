"""Basic subscripts: reading and writing elements and parts, and going through the elements one by one."""

import sys
from opcode import opmap
from threading import local

import numpy as np
cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from cpython.slice cimport PySlice_Check
from libc.float cimport FLT_MIN
from libc.math cimport fabs
from libc.string cimport memcmp, memcpy, memmove, memset
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from dflow._runtime.waiting cimport wait_storage
from dflow._kernels.kernel cimport intp, Kernel, MAXDIMS
from dflow._base.atomics cimport load_ptr
from dflow._runtime.fp_errors cimport warn_user
from dflow._base.allocator cimport block_zeros
from dflow._engine cimport settings
from dflow._runtime.graph cimport storage_allocate
from dflow._array.dispatch cimport Operand, fill_constant, launch
from dflow._kernels.dtypes cimport (
    EXACT, Scalar, BOOL, CDOUBLE, code_of_num, DOUBLE, DTYPES, FLOAT, HALF, LONG, MOST_INTEGER, NCODES, in_range,
    int128, integer_at, itemsizes, is_complex, is_integer, read_scalar, scalar_code, scalar_data, write_number,
    write_parts, write_scalar)
from dflow._kernels.casts cimport cast_kernel, number_kernel
from dflow._array.core cimport *, is_ours, be_element, be_array
from dflow._array.in_caller cimport run_unary
from dflow._base.thread_state cimport direct, near, set_recording
from dflow._functions.elements cimport new_bool
from dflow._functions.sequences cimport as_ours, COPYING, from_sequence, is_sequence, lent, of_theirs
from dflow._functions.points cimport put_named, take_named
from dflow._tracing.tape cimport after_write, before_write, recorded, confirm_inplace
from dflow._array.core import attach

from numpy.exceptions import ComplexWarning

cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object, object) except? -1
    Py_ssize_t clipped "PyNumber_AsSsize_t"(object, PyObject*) except? -1      # with NULL: to what an index can be
    int PySlice_Unpack(object, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t*, Py_ssize_t*, Py_ssize_t)
    ctypedef struct SliceFields "PySliceObject":
        PyObject* start
        PyObject* stop
        PyObject* step
    bint PyLong_CheckExact(object)
    bint PyTuple_CheckExact(object)
    bint PyIndex_Check(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    Py_ssize_t PyTuple_GET_SIZE(tuple)
    list PyList_New(Py_ssize_t)
    void PyList_SET_ITEM(list, Py_ssize_t, PyObject*)
    PyObject* PyFloat_FromDouble(double) except NULL
    PyObject* PyLong_FromLongLong(long long) except NULL
    PyObject* PyTuple_GET_ITEM(tuple, Py_ssize_t)

cdef extern from *:
    """
    #define items_of(key) (((PyTupleObject *)(key))->ob_item)
    """
    PyObject** items_of(tuple)

# ---- indexing --------------------------------------------------------------------------------------------------

cdef ndarray element(ndarray a, intp offset):
    """The value at a byte offset of the storage, as a 0-d array of its own: like NumPy's scalars, not a view."""
    cdef ndarray out, v
    if a.code == BOOL and is_near(a) and a.st.device == 0 and not records(a, None):
        return new_bool(a.st.data[offset] != 0)
    out = new_scalar(a.code)
    if records(a, None):
        v = new_view(a, 0)
        v.offset = offset
        out = copy_of(close_view(v))
        be_element(out)
        return out
    if is_near(a):
        out.st.device = a.st.device
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

cdef int refuse_index(ndarray a, object key) except -1:
    """NumPy's error for a key, if it has one: of several the one that it finds first."""
    if not mxnet_rules:
        np.broadcast_to(np.zeros((), DTYPES[a.code]), shape_tuple(a))[hooks.unwrap(key)]
    return 0

cdef int refuse_store(ndarray a, object key, object value) except -1:
    """The same of a[key] = value."""
    if mxnet_rules:
        return 0
    if isinstance(value, ndarray):
        number = np.zeros((), DTYPES[(<ndarray>value).code])
        value = number[()] if (<ndarray>value).flags & SCALAR else np.broadcast_to(number, shape_tuple(<ndarray>value))
    stand_in = np.lib.stride_tricks.as_strided(np.zeros((), DTYPES[a.code]), shape_tuple(a), (0,) * a.ndim)
    stand_in[hooks.unwrap(key)] = hooks.unwrap(value)
    return 0

cdef inline intp int_index(ndarray a, object key) except? -1:
    """The value of an exact int, which may be a key of a."""
    cdef int overflow
    cdef long long i = PyLong_AsLongLongAndOverflow(key, &overflow)
    if overflow:
        refuse_index(a, key)
        raise IndexError("cannot fit 'int' into an index-sized integer")
    return i

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
    """Whether an index item is a number, a slice or the like. An array without axes is a number; see gives_copy()."""
    if PyLong_CheckExact(item) or PySlice_Check(item) or item is None or item is Ellipsis:
        return True
    if isinstance(item, (bool, np.bool, list)):
        return False
    if isinstance(item, ndarray):
        return (<ndarray>item).ndim == 0 and is_integer((<ndarray>item).code) and (<ndarray>item).code != BOOL
    if isinstance(item, cnp.ndarray):
        return item.ndim == 0 and item.dtype.kind in "iu"
    return PyIndex_Check(item) and not getattr(item, "ndim", 0)

cdef struct Geometry:           # of the view that the items of a key make, so far
    intp shape[2 * MAXDIMS]
    intp strides[2 * MAXDIMS]
    intp offset
    int made                    # axes of the view
    int axis                    # of the array: the next one

cdef inline void add_axis(Geometry* g, intp length, intp stride) noexcept:
    g.shape[g.made] = length
    g.strides[g.made] = stride
    g.made += 1

cdef inline void keep_axis(Geometry* g, ndarray a) noexcept:
    add_axis(g, a.shape[g.axis], strides_of(a)[g.axis])
    g.axis += 1

cdef struct Bounds:             # of a slice; of an index `start` alone
    Py_ssize_t start
    Py_ssize_t stop
    Py_ssize_t step

cdef inline int unpack(ndarray a, object key, object item, Bounds* b) except -1:
    try:
        PySlice_Unpack(item, &b.start, &b.stop, &b.step)
    except ValueError:
        refuse_index(a, key)                # what is wrong before it comes first
        raise
    return 0

cdef inline void slice_axis(Geometry* g, ndarray a, Bounds* b) noexcept:
    cdef intp stride = strides_of(a)[g.axis]
    cdef Py_ssize_t length = PySlice_AdjustIndices(a.shape[g.axis], &b.start, &b.stop, b.step)
    if length > 0:
        g.offset += b.start * stride
    add_axis(g, length, stride * b.step)
    g.axis += 1

cdef inline int choose_on_axis(Geometry* g, ndarray a, intp at, object key) except -1:
    cdef intp n = a.shape[g.axis]
    if at < -n or at >= n:
        refuse_index(a, key)
        check_index(at, n, g.axis)
    g.offset += (at + n if at < 0 else at) * strides_of(a)[g.axis]
    g.axis += 1
    return 0

cdef int too_many_made(int made) except -1:
    raise IndexError(f"number of dimensions must be within [0, {MAXDIMS}], indexing result would have {made}")

cdef inline int axes_used(ndarray a, object key, tuple items) except -2:
    """How many axes of a the items of a basic key stand for, without an ellipsis; -1 for a key that is not basic."""
    cdef int used = 0
    cdef bint ellipsis = False
    for item in items:
        if item is Ellipsis:
            if ellipsis:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis = True
        elif item is not None:
            if not is_basic(item):
                return -1
            used += 1
    if used > a.ndim:
        refuse_index(a, key)
        too_many(a, used)
    if <int>len(items) - used > MAXDIMS:
        too_many_made(a.ndim + sum([1 if item is None else 0 if item is Ellipsis or PySlice_Check(item) else -1
                                    for item in items]))
    return used

cdef object base_index(ndarray a, object key):
    """a[key] as a view (an ndarray), or NotImplemented when arrays or booleans are among the indices."""
    cdef tuple items = <tuple>key if isinstance(key, tuple) else (key,)
    cdef int used = axes_used(a, key, items), k, i = 0
    cdef Bounds bounds[2 * MAXDIMS]
    cdef Geometry g
    cdef ndarray v
    if used < 0:
        return NotImplemented
    for item in items:          # all that runs Python, or waits: meanwhile a may be resized
        if PySlice_Check(item):
            unpack(a, key, item, &bounds[i])
        elif item is not None and item is not Ellipsis:
            bounds[i].start = clipped(item, NULL)
        i += 1
    if used > a.ndim:
        too_many(a, used)
    i = 0
    g.offset = a.offset
    g.made = g.axis = 0
    for item in items:
        if PySlice_Check(item):
            slice_axis(&g, a, &bounds[i])
        elif item is None:
            add_axis(&g, 1, 0)
        elif item is Ellipsis:
            for k in range(a.ndim - used):
                keep_axis(&g, a)
        else:
            choose_on_axis(&g, a, bounds[i].start, key)
        i += 1
    while g.axis < a.ndim:
        keep_axis(&g, a)
    if g.made > MAXDIMS:
        too_many_made(g.made)
    v = new_view(a, g.made)
    v.offset = g.offset
    memcpy(v.shape, g.shape, g.made * sizeof(intp))
    memcpy(v.shape + g.made, g.strides, g.made * sizeof(intp))
    return close_view(v)

cdef inline bint is_index(object item, intp* i):
    """Whether it is an integer, Python's, NumPy's, or an element that is there, and its value."""
    cdef int overflow, code
    cdef int128 value
    if PyLong_CheckExact(item):
        i[0] = PyLong_AsLongLongAndOverflow(item, &overflow)
        return overflow == 0
    if not is_ours(item):
        code = -1 if PySlice_Check(item) else scalar_code(item)
        if code < 0 or not BOOL < code <= MOST_INTEGER:
            return False
        value = integer_at(code, scalar_data(item))
    elif not (<ndarray>item).flags & SCALAR or not BOOL < (<ndarray>item).code <= MOST_INTEGER or (
            not is_here(<ndarray>item)):
        return False
    else:
        value = integer_at((<ndarray>item).code, data_of(<ndarray>item))
    i[0] = <intp>value
    return i[0] == value

cdef inline intp integers_offset(ndarray a, tuple key) except -1:
    """Where the element of a lies that a key of one integer an axis names;
    -2 for any other key, and where there is none."""
    cdef intp* strides = strides_of(a)
    cdef intp offset = a.offset, i = 0
    cdef int axis
    if PyTuple_GET_SIZE(key) != a.ndim or a.ndim == 0:
        return -2
    for axis in range(a.ndim):
        if not is_index(<object>PyTuple_GET_ITEM(key, axis), &i):
            return -2
        if i < 0:
            i += a.shape[axis]
        if i < 0 or i >= a.shape[axis]:
            return -2
        offset += i * strides[axis]
    return offset

cdef PyObject* NEW_AXIS = <PyObject*>None
cdef PyObject* ALL_OTHERS = <PyObject*>Ellipsis

cdef inline bint is_plain(PyObject* x):
    return x == <PyObject*>None or PyLong_CheckExact(<object>x)

cdef ndarray plain_view(ndarray a, PyObject** items, int n):
    """The view that Python's integers, slices of these, None and one Ellipsis name. None for other keys, which may run
    code that changes a, for an integer an axis, and where there is nothing: base_index() knows more."""
    cdef intp* strides = strides_of(a)
    cdef intp offset = a.offset, i = 0
    cdef Py_ssize_t start, stop, step
    cdef int k, axis = 0, rest = a.ndim - n, made = 0, ellipses = 0
    cdef bint views = False
    cdef SliceFields* item
    cdef ndarray v
    for k in range(n):
        rest += items[k] == NEW_AXIS or items[k] == ALL_OTHERS
        ellipses += items[k] == ALL_OTHERS
    if rest < 0 or ellipses > 1:
        return None
    for k in range(n):
        if items[k] == NEW_AXIS or items[k] == ALL_OTHERS:
            made += items[k] == NEW_AXIS
            axis += rest if items[k] == ALL_OTHERS else 0
            views = True
            continue
        if PySlice_Check(<object>items[k]):
            item = <SliceFields*>items[k]
            if not is_plain(item.start) or not is_plain(item.stop) or not is_plain(item.step):
                return None
            views = True
            made += 1
            axis += 1
            continue
        if not is_index(<object>items[k], &i):
            return None
        if i < 0:
            i += a.shape[axis]
        if i < 0 or i >= a.shape[axis]:
            return None
        offset += i * strides[axis]
        axis += 1
    if not (views or rest) or made + rest > MAXDIMS:
        return None
    v = new_view(a, made + rest)
    made = axis = 0
    for k in range(n + 1):
        if k == n or items[k] == ALL_OTHERS:
            for _ in range(rest if k < n else a.ndim - axis):
                v.shape[made], v.shape[v.ndim + made] = a.shape[axis], strides[axis]
                made += 1
                axis += 1
        elif items[k] == NEW_AXIS:
            v.shape[made], v.shape[v.ndim + made] = 1, 0
            made += 1
        elif PySlice_Check(<object>items[k]):
            PySlice_Unpack(<object>items[k], &start, &stop, &step)
            v.shape[made] = PySlice_AdjustIndices(a.shape[axis], &start, &stop, step)
            if v.shape[made] > 0:
                offset += start * strides[axis]
            v.shape[v.ndim + made] = strides[axis] * step
            made += 1
            axis += 1
        else:
            axis += 1
    v.offset = offset
    return close_view(v)

cdef inline ndarray simple_view(ndarray a, object key):
    """The same of a key, a slice alone, too."""
    cdef PyObject* alone = <PyObject*>key
    if PySlice_Check(key) or alone == NEW_AXIS or alone == ALL_OTHERS:
        return plain_view(a, &alone, 1)
    return plain_view(a, items_of(<tuple>key), <int>PyTuple_GET_SIZE(<tuple>key)) if PyTuple_CheckExact(key) else None

cdef inline intp element_offset(ndarray a, tuple key) except -1:
    cdef intp offset = a.offset
    cdef int i
    for i in range(a.ndim):
        offset += check_index(PyNumber_AsSsize_t(key[i], OverflowError), a.shape[i], i) * strides_of(a)[i]
    return offset

cdef object get_index(ndarray a, object key):
    cdef intp offset = 0
    if PyLong_CheckExact(key):
        return index_first(a, int_index(a, key))
    if is_ours(key) and (<ndarray>key).ndim:
        return selected(a, key)
    if PyTuple_CheckExact(key):
        offset = integers_offset(a, <tuple>key)
        if offset >= 0:
            return element(a, offset)
    elif type(key) is cnp.ndarray and cnp.PyArray_NDIM(key):
        found = None if records(a, None) else take_named(a, key)
        return selected(a, as_ours(key)) if found is None else found
    elif is_index(key, &offset):
        return index_first(a, offset)
    a = variable(a)
    view = simple_view(a, key)
    if view is not None:
        return view
    view = base_index(a, key)
    if view is NotImplemented:
        return selected(a, key)
    if (<ndarray>view).ndim == 0 and not has_ellipsis(key):
        return element(a, (<ndarray>view).offset)
    return hooks.copy_order(view, "K") if gives_copy(key) else view

cdef inline bint is_array(object item):
    return isinstance(item, cnp.ndarray) or isinstance(item, ndarray) and not (<ndarray>item).flags & SCALAR

cdef bint gives_copy(object key):
    """Whether an array is among the indices: what it chooses is a copy in NumPy, also if it counts as a number."""
    if not isinstance(key, tuple):
        return is_array(key)
    for item in <tuple>key:
        if is_array(item):
            return True
    return False

cdef object selected(ndarray a, object key):
    """a[key] with arrays or booleans in key."""
    if not records(a, None):
        return selection_hooks.advanced_get(a, key)
    cdef bint before = set_recording(False)
    try:
        result = selection_hooks.advanced_get(a, key)
    finally:
        set_recording(before)
    return recorded("getitem", (a, key), result)

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
    if is_idle(a.st, near):
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

cdef double LEAST_HALF = 2. ** -14      # of which no bits are lost for want of range

cdef bint number_at(object value, int code, char* place) except -1:
    """An element that is there, or a number of NumPy's, as that type has it; False for what it may not hold, and for
    all else."""
    cdef int its
    cdef char* source
    cdef double x
    if is_ours(value):
        if (<ndarray>value).ndim or not is_here(<ndarray>value):
            return False
        its = (<ndarray>value).code
        source = data_of(<ndarray>value)
        if is_complex(its) and not is_complex(code):
            return False
        if may_not_fit(<ndarray>value, code):
            write_number(its, source, code, place)
            return True
    else:
        its = scalar_code(value)
        if its < 0:
            return False
        source = scalar_data(value)
        if not holds[code][its]:
            if is_integer(its):
                return whole_number(integer_at(its, source), code, place)
            if its != FLOAT and its != DOUBLE or is_integer(code):
                return False
            x = (<float*>source)[0] if its == FLOAT else (<double*>source)[0]
            return (x == 0 or fabs(x) >= (LEAST_HALF if code == HALF else FLT_MIN)) and write_parts(x, 0, code, place)
    if its == code:
        memcpy(place, source, itemsizes[code])
    else:
        run_unary(cast_kernel(its, code), source, itemsizes[its], place, itemsizes[code], 1)
    return True

cdef bint whole_number(int128 n, int code, char* place) noexcept:
    """Into a type that need not hold it; whether it does."""
    if code == BOOL or not -EXACT <= n <= EXACT:
        return False
    if is_integer(code):
        if in_range(n, code):
            memcpy(place, &n, itemsizes[code])
            return True
        return False
    return write_parts(<double>n, 0, code, place)

cdef object one_for_all(ndarray a, object value):
    """A number of NumPy's, to be stored at several places of a, as an element of its type, if that holds it."""
    cdef ndarray element
    if is_ours(value) or scalar_code(value) < 0:
        return value
    element = new_scalar(a.code)
    return element if number_at(value, a.code, element.st.data) else value

cdef inline bint copy_element(ndarray a, intp offset, object value) except -1:
    """The same into one place of a, if nobody is using it; whether it was done."""
    return is_idle(a.st, direct) and number_at(value, a.code, a.st.data + offset)

cdef bint holds[NCODES][NCODES]         # whether a type holds all numbers of another one

def _fill_holds():
    cdef int code, other
    for code in range(NCODES):
        for other in range(NCODES):
            holds[code][other] = np.can_cast(DTYPES[other], DTYPES[code])

_fill_holds()

cdef inline intp place_of(ndarray a, object key) except -1:
    """Where the one element lies that a key names; -2 for other keys."""
    cdef intp i
    if PyTuple_CheckExact(key):
        return integers_offset(a, <tuple>key)
    if a.ndim != 1:
        return -2
    if PyLong_CheckExact(key):
        i = int_index(a, key)
    elif not is_index(key, &i):
        return -2
    return a.offset + check_index(i, a.shape[0], 0) * strides_of(a)[0]

cdef inline bint is_number(object x):
    """Of Python's; of NumPy's those that are."""
    cdef int code
    if type(x) is float or type(x) is int:
        return True
    if is_ours(x):
        return False
    code = scalar_code(x)
    return isinstance(x, (int, float, complex)) if code < 0 else code == DOUBLE or code == CDOUBLE

cdef int set_index(ndarray a, object key, object value) except -1:
    if records(a, value):
        return record_store(a, key, value)
    cdef intp offset
    cdef Scalar room
    cdef bint number = is_number(value)
    if a.flags & (READONLY | SCALAR):
        if a.flags & SCALAR:
            raise TypeError(f"'numpy.{DTYPES[a.code].type.__name__}' object does not support item assignment")
        check_writable(a)
    a.st.version += 1
    if type(key) is cnp.ndarray and cnp.PyArray_NDIM(key):
        value = one_for_all(a, value)
        if put_named(a, key, value):
            return 0
        key = of_theirs(key)
    if type(value) is cnp.ndarray:
        if copied_from_numpys(a, key, value):
            return 0
        value = operand_from_numpys(a, value)
    offset = place_of(a, key)
    if offset >= 0:
        if number:
            return set_element(a, offset, value)
        if copy_element(a, offset, value):
            return 0
    if is_ours(key) and (<ndarray>key).ndim:
        return selection_hooks.advanced_set(a, key, one_for_all(a, value))
    view = a if key is Ellipsis else simple_view(a, key)
    if view is None:
        view = base_index(a, key)
    if view is NotImplemented:
        return selection_hooks.advanced_set(a, key, one_for_all(a, value))
    if is_ours(value) and (<ndarray>value).st == a.st and PyLong_CheckExact(key):
        value = as_swapped(<ndarray>view, <ndarray>value)
    if number:
        return fill_with(<ndarray>view, value)
    if number_at(value, a.code, <char*>&room):
        return fill_from(<ndarray>view, <char*>&room)
    return store(<ndarray>view, key, value)

# x[i], x[j] = x[j], x[i] of rows loses one, ours as NumPy's: what is on the right are views. NumPy's own shuffle() does
# so with all that is no array of NumPy's, and there means values.
cdef object swaps = local()         # a thread's `begun`: the two places, the storage, its version, the first row's copy
cdef int STORE_SUBSCR = opmap["STORE_SUBSCR"]

cdef ndarray as_swapped(ndarray v, ndarray value):
    """What a row of the same array gets: `value`, or, for the second store of a swap by compiled code, its copy."""
    cdef tuple begun = getattr(swaps, "begun", None)
    swaps.begun = None
    frame = sys._getframe()
    if same_elements(v, value) or frame.f_code.co_code[frame.f_lasti] == STORE_SUBSCR:
        return value
    if begun is not None and begun[:3] == (value.offset, v.offset, <size_t>v.st):
        if v.st.version - <unsigned int>begun[3] <= 2:      # the first store alone, which may count twice
            return begun[4]
    swaps.begun = v.offset, value.offset, <size_t>v.st, v.st.version, copy_of(v)
    return value

cdef enum:
    FEW_BYTES = 4096            # that are copied at once,
    COPIED = 1 << 17            # and of NumPy's arrays, which would be waited for

cdef inline bint copied_here(ndarray v, ndarray a) noexcept:
    """Whether a few elements of the same type and shape have been copied, as nobody was using them."""
    cdef intp n = v.size * v.itemsize
    if v.code != a.code or not v.flags & a.flags & C_CONTIGUOUS or n > FEW_BYTES or v.ndim != a.ndim or (
            memcmp(v.shape, a.shape, v.ndim * sizeof(intp)) or settings.inline_cost <= 0
            or not is_idle(v.st, direct) or not is_here(a)):
        return False
    memmove(data_of(v), data_of(a), n)          # they may overlap
    settings.inlined += 1
    return True

cdef bint copied_from_numpys(ndarray a, object key, object value) except -1:
    """The same, of NumPy's array, to what an index or a slice names."""
    cdef ndarray v = a
    cdef intp n = cnp.PyArray_NBYTES(value)
    cdef char* to = NULL
    cdef bint row = PyLong_CheckExact(key)
    if n > COPIED or not cnp.PyArray_NDIM(value) or code_of_num(cnp.PyArray_TYPE(value)) != a.code or not (
            cnp.PyArray_ISCARRAY_RO(value)) or settings.inline_cost <= 0 or not is_idle(a.st, direct):
        return False
    if not row and key is not Ellipsis:
        v = simple_view(a, key)
    if v is None or not v.flags & C_CONTIGUOUS or v.ndim - row != cnp.PyArray_NDIM(value) or (
            memcmp(v.shape + row, cnp.PyArray_DIMS(value), (v.ndim - row) * sizeof(intp))):
        return False
    to = data_of(v)
    if row:
        to += check_index(int_index(a, key), a.shape[0], 0) * strides_of(a)[0]
    memmove(to, cnp.PyArray_DATA(value), n)
    settings.inlined += 1
    return True

cdef inline object operand_from_numpys(ndarray a, object value):
    """NumPy's array, to be stored in a: itself, if it has no axes."""
    found = lent(value, COPYING) if is_near(a) else None
    return of_theirs(value) if found is None else found

cdef int store(ndarray v, object key, object value) except -1:
    """What is no Python number into the view that a key names."""
    if is_ours(value) and copied_here(v, <ndarray>value):
        return 0
    if v.ndim == 0 and mxnet_rules and isinstance(value, (ndarray, cnp.ndarray)) and value.size == 1:
        value = value.reshape(())
    if v.ndim == 0 and not (isinstance(value, ndarray) and ((<ndarray>value).ndim == 0 or has_ellipsis(key))):
        value = one_element(v.code, Ellipsis if has_ellipsis(key) else (), value)
    elif isinstance(value, cnp.generic):
        value = one_element(v.code, (), value)
    if not isinstance(value, ndarray):
        deep = isinstance(value, (list, tuple))
        if deep and depth_of(value) > v.ndim:       # before what is in it can fail to fit the type
            raise_too_deep(v)
        value = stored(value, v.code)
        if deep and (<ndarray>value).ndim > v.ndim:
            raise_too_deep(v)
        if copied_here(v, <ndarray>value):
            return 0
    elif may_not_fit(<ndarray>value, v.code):
        if is_complex((<ndarray>value).code):
            warn_user("Casting complex values to real discards the imaginary part", ComplexWarning)
        value = number_of(<ndarray>value, v.code)
    return assign(v, <ndarray>value)

cdef int raise_too_deep(ndarray v) except -1:
    raise ValueError("setting an array element with a sequence. The requested array would exceed the maximum number of "
                     f"dimension of {v.ndim}.")

cdef int depth_of(object x) except -1:
    """How many lists its first element is in."""
    cdef int depth = 0
    while isinstance(x, (list, tuple)):
        depth += 1
        x = x[0] if x else None
    return depth

cdef bint may_not_fit(ndarray x, int code) noexcept:
    """Whether NumPy stores int(x), or refuses to: of a scalar that need not fit the type, one of signed integers."""
    if not x.flags & SCALAR or not is_integer(code) or not code & 1 or x.code == BOOL:
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

cdef object fitting(object x, int code):
    """A list, what NumPy stores for each number in it as that number alone; see may_not_fit()."""
    if isinstance(x, (list, tuple)):
        return [fitting(item, code) for item in x]
    if type(x) is int:
        return as_array_code(x, code)
    return number_of(<ndarray>x, code) if isinstance(x, ndarray) and may_not_fit(<ndarray>x, code) else x

cdef ndarray stored(object x, int code):
    """What is no array, as NumPy stores it in one of that type."""
    made = from_sequence(x, code) if is_sequence(x) else None
    if made is not None:
        return <ndarray>made
    return as_array_code(fitting(x, code) if isinstance(x, (list, tuple)) and contains_arrays(x) else x, code)

cdef ndarray one_element(int code, object key, object value):
    """What NumPy stores as one element: it takes texts and None for numbers, and its errors tell of sequences."""
    place = np.empty((), DTYPES[code])
    place[key] = value.asnumpy() if isinstance(value, ndarray) else value
    return as_array(place)

cdef bint all_zeros(ndarray v, char* number) noexcept:
    """Give a large array that nobody has used its memory, if that number is what it has in it anyway;
    whether it was done."""
    cdef Scalar zero
    memset(&zero, 0, sizeof(zero))
    if v.size * v.itemsize != <intp>v.st.nbytes or not is_free(v.st, direct) or memcmp(number, &zero, v.itemsize):
        return False
    v.st.data = block_zeros(v.st.nbytes)
    return v.st.data != NULL

cdef int fill_with(ndarray v, object value) except -1:
    cdef Scalar room
    write_scalar(value, v.code, <char*>&room)
    return fill_from(v, <char*>&room)

cdef int fill_from(ndarray v, char* number) except -1:
    """The number of its type into every place of v."""
    cdef Kernel* k = cast_kernel(v.code, v.code)
    cdef Operand ops[2]
    cdef intp shape[MAXDIMS]
    cdef intp steps[2]
    cdef char* args[2]
    args[0] = number
    if load_ptr(&v.st.data) == NULL and all_zeros(v, number):
        return 0
    if (v.flags & C_CONTIGUOUS and v.size * k.cost <= settings.inline_cost and is_free(v.st, near)
            and storage_allocate(v.st)):
        args[1] = data_of(v)
        steps[0] = 0
        steps[1] = v.itemsize
        k.loop(args, &v.size, steps, k.data)
        settings.inlined += 1
        return 0
    memcpy(shape, v.shape, v.ndim * sizeof(intp))
    fill_constant(&ops[0], number, v.itemsize)
    fill_operand(&ops[1], v, v.ndim, shape, True)
    return launch(k, ops, 2, v.ndim, shape, NULL)

# ---- one by one ------------------------------------------------------------------------------------------------------

def fill(ndarray self, /, value):
    """Set every element to one number."""
    if not self.flags & SCALAR:
        check_writable(self)                # before the value is looked at
    if not isinstance(value, (int, float, complex)) and not (isinstance(value, ndarray) and (<ndarray>value).ndim == 0):
        value = one_element(self.code, (), value)
    if self.flags & SCALAR:                 # as NumPy's scalars, which fill an array made of them
        self = copy_of(self)
        be_array(self)
    set_index(self, Ellipsis, value)

def item(ndarray self, index=(), /, *more):             # not *args: a tuple takes a third of the time
    """One element as a Python scalar. Waits for it."""
    cdef ndarray a = self
    cdef intp offset
    if (type(index) is int or type(index) is tuple and index) and is_near(self):
        wait_storage(self.st, NULL, False, False)           # to give warnings that are due
        offset = offset_of_ints(self, index, more)
        if offset >= 0 and is_near(self):
            return read_scalar(self.code, self.st.data + offset)
    if type(index) is not tuple or index or more:
        offset = item_offset(self, (index, *more))
        if is_near(self):
            wait_storage(self.st, NULL, False, False)
            return read_scalar(self.code, self.st.data + offset)
        a = new_view(self, 0)
        a.offset = offset
        close_view(a)
    elif self.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return first_element(a)

cdef enum:
    MADE_HERE = 128             # numbers of lists, of types that are not read at once: NumPy's window takes a while

def tolist(ndarray self, /):
    """Nested lists of Python scalars; one scalar for a 0-d array. Waits."""
    cdef ndarray a = wait_read(self)
    if a.ndim == 0 or a.size > MADE_HERE and (a.ndim > 1 or a.code != DOUBLE and a.code != LONG):
        return numpy_window(a).tolist()
    return list_along(a, 0, data_of(a))

cdef list list_along(ndarray a, int axis, char* p):
    """What lies along an axis, and those behind it, from p on."""
    cdef intp i, n = a.shape[axis], step = strides_of(a)[axis]
    cdef list out = PyList_New(n)
    if axis + 1 < a.ndim:
        for i in range(n):
            PyList_SET_ITEM(out, i, given_away(list_along(a, axis + 1, p + i * step)))
    elif a.code == DOUBLE:
        for i in range(n):
            PyList_SET_ITEM(out, i, PyFloat_FromDouble((<double*>(p + i * step))[0]))
    elif a.code == LONG:
        for i in range(n):
            PyList_SET_ITEM(out, i, PyLong_FromLongLong((<int64_t*>(p + i * step))[0]))
    elif a.code == FLOAT:
        for i in range(n):
            PyList_SET_ITEM(out, i, PyFloat_FromDouble((<float*>(p + i * step))[0]))
    elif BOOL < a.code <= MOST_INTEGER and a.itemsize <= 4:
        for i in range(n):
            PyList_SET_ITEM(out, i, PyLong_FromLongLong(narrow(a.code % 2, a.itemsize, p + i * step)))
    else:
        for i in range(n):
            PyList_SET_ITEM(out, i, given_away(read_scalar(a.code, p + i * step)))
    return out

cdef inline long long narrow(bint signed, int itemsize, char* p) noexcept:
    """An integer of up to four bytes."""
    if itemsize == 4:
        return <long long>(<int32_t*>p)[0] if signed else <long long>(<uint32_t*>p)[0]
    if itemsize == 2:
        return <long long>(<int16_t*>p)[0] if signed else <long long>(<uint16_t*>p)[0]
    return <long long>(<int8_t*>p)[0] if signed else <long long>(<uint8_t*>p)[0]

cdef inline PyObject* given_away(object x) noexcept:
    Py_INCREF(x)
    return <PyObject*>x

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
    i = PyNumber_AsSsize_t(args[0], OverflowError)
    if i < -a.size or i >= a.size:
        raise IndexError(f"index {i} is out of bounds for size {a.size}")
    return flat_offset(a, i + a.size if i < 0 else i)

cdef intp offset_of_ints(ndarray a, object first, tuple more) except -2:
    """The same of Python's integers, or a tuple of them, where they are right; else -1."""
    cdef intp offset = a.offset, place
    cdef int k, before = type(first) is int
    if before and not more:
        place = place_of_int(first, a.size)
        return flat_offset(a, place) if place >= 0 else -1
    if not before and more or before + len(more if before else <tuple>first) != a.ndim:
        return -1
    for k in range(a.ndim):
        i = first if k < before else (more if before else <tuple>first)[k - before]
        place = place_of_int(i, a.shape[k]) if type(i) is int else -1
        if place < 0:
            return -1
        offset += place * strides_of(a)[k]
    return offset

cdef inline intp place_of_int(object i, intp length) except -2:
    """Of an index counted from either end; -1: there is none."""
    cdef int overflow = 0
    cdef intp n = PyLong_AsLongLongAndOverflow(i, &overflow)
    if n < 0:
        n += length
    return n if not overflow and 0 <= n < length else -1

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
        return array_hooks.index_item(self.a, self.i - 1)

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

for _method in (fill, item, tolist):
    attach(_method.__name__, _method)

cdef int record_store(ndarray a, object key, object value) except -1:
    """a[key] = value, whose result has the gradients of both: what a stands for from now on."""
    cdef bint before = set_recording(False)
    cdef tuple slots = (a, key, value), parents
    try:
        if tracked(a) and tracked(value):
            confirm_inplace(a, base_index(a, key), <ndarray>value)
        parents = before_write(a, slots)
        set_index(a, key, value)
    finally:
        set_recording(before)
    after_write("setitem", slots, parents, a)
    return 0
