"""Lists and tuples of Python's numbers, and NumPy's arrays, as arrays: see _functions/sequences.pxd."""

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.string cimport memcmp, memcpy
from dflow._kernels.dtypes cimport BOOL, code_of_num, DOUBLE, EXACT, in_range, is_integer, itemsizes, LONG, write_parts
from dflow._kernels.kernel cimport intp
from dflow._base.thread_state cimport many_devices, near, recorders
from dflow._engine cimport settings
from dflow._runtime.graph cimport storage_allocate
from dflow._array.core cimport (
    array_hooks, SCALAR, as_array, data_of, from_numpy, is_near, is_ours, ndarray, new_array)

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object)
    Py_ssize_t PySequence_Fast_GET_SIZE(object)
    double PyFloat_AS_DOUBLE(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef enum:
    DEPTH = 8
    DEAR = 1                    # nanoseconds an element takes at most for which it is worth to wait

cdef inline int natural(object item) noexcept:
    """The type that a Python number is given; -1: it is none of these."""
    kind = type(item)
    return LONG if kind is int else DOUBLE if kind is float else BOOL if kind is bool else -1

cdef bint put_number(object item, int code, char* at) except -1:
    """False: NumPy knows what to do, with integers of more than 64 bits, say, which are objects to it."""
    cdef long long value
    cdef int overflow = 0
    if type(item) is float:
        return write_parts(PyFloat_AS_DOUBLE(item), 0, code, at)        # of no integers
    value = PyLong_AsLongLongAndOverflow(item, &overflow)
    if overflow:
        return False
    if not is_integer(code):
        return (code == DOUBLE or -EXACT <= value <= EXACT) and write_parts(<double>value, 0, code, at)
    if code == BOOL:
        at[0] = value != 0
        return True
    if itemsizes[code] < 8 and not in_range(value, code) or value < 0 and not code % 2:
        return False
    memcpy(at, &value, itemsizes[code])
    return True

cdef struct Filling:
    int ndim
    intp shape[8]
    int code
    bint as_found           # the type is to be that of the numbers: those of another are not put
    int met                 # one that is wider; -1: something else
    int lists               # axes that lists are for; the others are those of NumPy's arrays in them
    intp nbytes             # of one of these
    char* at

cdef bint fill(object x, int depth, Filling* f) except -1:
    """Nothing here calls Python code, so no list changes meanwhile."""
    cdef PyObject** items = PySequence_Fast_ITEMS(x)
    cdef intp i, n = PySequence_Fast_GET_SIZE(x)
    cdef int kind
    f.met = -1
    if n != f.shape[depth]:
        return False
    for i in range(n):
        item = <object>items[i]
        if depth + 1 == f.lists and f.nbytes:
            if not is_alike(item, f):
                return False
            memcpy(f.at, cnp.PyArray_DATA(item), f.nbytes)
            f.at += f.nbytes
            continue
        if depth + 1 < f.ndim:
            if not is_sequence(item) or not fill(item, depth + 1, f):
                return False
            continue
        kind = natural(item)
        if kind < 0:
            return False
        if f.as_found and kind > f.code:
            f.met = kind
            return False
        if not put_number(item, f.code, f.at):
            return False
        f.at += itemsizes[f.code]
    return True

cdef bint is_alike(object x, Filling* f) noexcept:
    """Whether x is an array of NumPy's as the first one is."""
    cdef int ndim = f.ndim - f.lists
    return type(x) is cnp.ndarray and cnp.PyArray_NDIM(x) == ndim and cnp.PyArray_ISCARRAY_RO(x) and (
        code_of_num(cnp.PyArray_TYPE(x)) == f.code) and not (
        memcmp(cnp.PyArray_DIMS(x), f.shape + f.lists, ndim * sizeof(intp)))

cdef bint begin_arrays(object x, Filling* f) noexcept:
    """Take x as the first of NumPy's arrays in lists; False: it has no axes, or too many, or is empty."""
    cdef int i, ndim = cnp.PyArray_NDIM(x)
    if ndim == 0 or f.ndim + ndim > DEPTH:
        return False
    for i in range(ndim):
        f.shape[f.ndim + i] = cnp.PyArray_DIMS(x)[i]
    f.ndim += ndim
    f.nbytes = cnp.PyArray_NBYTES(x)
    f.met = code_of_num(cnp.PyArray_TYPE(x))
    return f.nbytes > 0

cdef ndarray from_sequence(object x, int code=-1):
    cdef ndarray out
    cdef Filling f
    f.ndim = 0
    first = x
    while is_sequence(first):
        if f.ndim == DEPTH or PySequence_Fast_GET_SIZE(first) == 0:
            return None
        f.shape[f.ndim] = PySequence_Fast_GET_SIZE(first)
        f.ndim += 1
        first = <object>PySequence_Fast_ITEMS(first)[0]
    f.lists = f.ndim
    f.nbytes = 0
    f.met = natural(first)
    f.as_found = code < 0
    if type(first) is cnp.ndarray and f.ndim and not (begin_arrays(first, &f) and (code < 0 or code == f.met)):
        return None
    if f.ndim == 0 or f.met < 0 or sizeof(long) != 8:
        return None
    while True:
        f.code = f.met if f.as_found else code
        out = new_array(f.code, f.ndim, f.shape)
        if not storage_allocate(out.st):
            raise MemoryError(f"Unable to allocate {out.st.nbytes} bytes")
        f.at = data_of(out)
        if fill(x, 0, &f):
            return out
        if f.met < 0:
            return None

cdef ndarray as_operand(object x):
    cdef ndarray found = from_sequence(x) if is_sequence(x) else None
    return as_array(x) if found is None else found

cdef ndarray from_numpys(object x):
    cdef int code = code_of_num(cnp.PyArray_TYPE(x))
    return None if code < 0 else from_numpy(x, code)

COPYING = 0.16

cdef ndarray lent(object x, float cost):
    if cost > DEAR or (cnp.PyArray_SIZE(x) * max(cost, COPYING) <= settings.tiny_cost
                       and cnp.PyArray_IS_C_CONTIGUOUS(x)) or (      # what lies in another order stays so
            recorders or near < 0 or many_devices):         # a record, or a graph, keeps it
        return None
    made = array_hooks.memory_borrow(x)
    return made if is_ours(made) else None

cpdef ndarray to_read(object x):
    cdef ndarray found = lent(x, COPYING) if type(x) is cnp.ndarray else None
    return as_array(x) if found is None else found

cdef object of_theirs(object x):
    cdef ndarray made = from_numpys(x) if cnp.PyArray_NDIM(x) else None
    return x if made is None else made

cdef ndarray numbers_of(object x):
    cdef ndarray found
    cdef int overflow = 0
    if type(x) is cnp.ndarray:
        return from_numpys(x)
    found = from_sequence(x)
    if found is not None or not x:
        return found
    for item in x:
        if not (is_ours(item) and (<ndarray>item).flags & SCALAR or natural(item) >= 0):
            return None
        if type(item) is int:
            PyLong_AsLongLongAndOverflow(item, &overflow)
            if overflow:
                return None
    return as_array(x)

cdef tuple with_arrays(PyObject** inputs, Py_ssize_t n, float cost, bint sequences):
    cdef list found
    cdef Py_ssize_t i
    cdef bint any_made = False, there = True
    for i in range(n):
        x = <object>inputs[i]
        if is_ours(x):
            there &= is_near(<ndarray>x)
        elif type(x) is cnp.ndarray or sequences and is_sequence(x):
            any_made = True
        elif not sequences and type(x) is not float and type(x) is not int:
            return None
    if not any_made:
        return None
    found = []
    for i in range(n):
        x = <object>inputs[i]
        made = None
        if type(x) is cnp.ndarray:
            made = lent(x, cost) if there else None
            made = from_numpys(x) if made is None else made
        elif is_sequence(x):
            made = from_sequence(x)
        found.append(x if made is None else made)
    return tuple(found)
