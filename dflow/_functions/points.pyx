"""Few elements at places that several indices name: see _functions/points.pxd."""

import numpy as np
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.slice cimport PySlice_Check
from libc.stdint cimport int64_t
from libc.string cimport memcmp, memcpy, memset
from dflow._kernels.dtypes cimport (
    BOOL, code_of_num, Scalar, integer_at, is_complex, is_integer, itemsizes, LONG, write_scalar)
from dflow._kernels.kernel cimport INVALID_FAILS, intp, Kernel, MAXDIMS, MAY_RAISE
from dflow._engine cimport settings
from dflow._runtime.graph cimport Storage
from dflow._runtime.tuning cimport MIDDLING
from dflow._array.core cimport *, is_ours
from dflow._base.thread_state cimport many_devices
from dflow._array.dispatch cimport Core, launch, Operand
from dflow._array.in_caller cimport run_now
from dflow._functions.fastpath cimport allocated, count_bytes, count_true, same_shape
from dflow._functions.sequences cimport as_ours, from_sequence, is_sequence
from dflow._functions.views cimport broadcast_view

cnp.import_array()

cdef object float64 = np.float64, int64 = np.int64

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef extern from "_kernels/c/copy.h" nogil:
    void move_items(char* to, intp to_step, const char* source, intp from_step, intp n, int itemsize)

cdef extern from "_kernels/c/gather.h" nogil:
    ctypedef void (*index_loop)(char**, intp*, intp*, void*) noexcept
    int I8
    index_loop gather_loops[8]
    index_loop scatter_loops[8]
    int (*inside_loops[8])(char*, intp, intp) noexcept
    void select_loop(char**, intp*, intp*, void*) noexcept
    void put_loop(char**, intp*, intp*, void*) noexcept

cdef enum:
    MOST = 1024                 # places

cdef struct Points:
    intp n                      # how many
    int ndim                    # the shape of what names them: that of all arrays among the indices, broadcast
    intp shape[MAXDIMS]
    intp block                  # elements at each,
    intp size                   # and their bytes
    intp places[1024]           # in bytes

cdef inline bint add_place(Points* p, intp i, intp at, intp length, intp step) noexcept:
    """False: it is out of bounds."""
    if at < -length or at >= length:
        return False
    p.places[i] += (at + length if at < 0 else at) * step
    return True

cdef bint add_everywhere(Points* p, intp at, intp length, intp step) noexcept:
    cdef intp i
    for i in range(max(p.n, 1)):
        if not add_place(p, i, at, length, step):
            return False
    return True

cdef bint add_shape(Points* p, ndarray index) noexcept:
    """Broadcast the shape with that of one more array. False: it does not fit, or they are too many."""
    cdef int i, lead = max(p.ndim - index.ndim, 0), more = max(index.ndim - p.ndim, 0)
    cdef intp n = 1
    for i in range(p.ndim - 1, -1, -1):
        p.shape[i + more] = p.shape[i]
    for i in range(more):
        p.shape[i] = 1
    p.ndim += more
    for i in range(index.ndim):
        if p.shape[lead + i] == 1:
            p.shape[lead + i] = index.shape[i]
        elif index.shape[i] != 1 and index.shape[i] != p.shape[lead + i]:
            return False
    for i in range(p.ndim):
        n *= p.shape[i]
        if n > MOST:
            return False
    p.n = n
    return True

cdef bint add_indices(Points* p, ndarray index, intp length, intp step) noexcept:
    """Add an array of indices of an axis to all places."""
    cdef intp steps[MAXDIMS]
    cdef intp counter[MAXDIMS]
    cdef char* at = data_of(index)
    cdef int code = index.code, lead = p.ndim - index.ndim, d
    cdef intp i, by
    if p.ndim == 1:
        by = strides_of(index)[0] if index.shape[0] != 1 else 0
        for i in range(p.n):
            if not add_place(p, i, (<int64_t*>at)[0] if code == LONG else <intp>integer_at(code, at), length, step):
                return False
            at += by
        return True
    for d in range(p.ndim):
        steps[d] = strides_of(index)[d - lead] if d >= lead and index.shape[d - lead] != 1 else 0
        counter[d] = p.shape[d]
    for i in range(p.n):
        if not add_place(p, i, (<int64_t*>at)[0] if code == LONG else <intp>integer_at(code, at), length, step):
            return False
        d = p.ndim - 1
        while d >= 0:
            at += steps[d]
            counter[d] -= 1
            if counter[d]:
                break
            at -= steps[d] * p.shape[d]
            counter[d] = p.shape[d]
            d -= 1
    return True

cdef ndarray places_under(ndarray mask):
    """What a mask in order stands for among several indices: where it is true."""
    cdef intp i, n = count_true(mask)
    cdef ndarray out = allocated(LONG, 1, &n)
    cdef int64_t* at = <int64_t*>data_of(out)
    cdef char* truth = data_of(mask)
    for i in range(mask.size):
        if truth[i]:
            at[0] = i
            at += 1
    return out

cdef object as_index(ndarray a, object item, intp length):
    """An array of integers that are here, or a number of Python's, for an axis of that length; else None. An array
    without axes is an index of its own kind, an element a number."""
    cdef ndarray index
    if type(item) is int:
        return item
    if is_sequence(item):
        item = from_sequence(item)
    elif type(item) is cnp.ndarray and 0 < cnp.PyArray_SIZE(item) <= MOST:
        item = as_ours(item)
    if not is_ours(item):
        return None
    index = <ndarray>item
    if index.code == BOOL and index.ndim == 1 and index.size == length and length <= MOST and (
            index.st != a.st and in_order_here(index)):
        return places_under(index)
    if (not is_integer(index.code) or index.code == BOOL or index.st == a.st or not is_here(index)
            or index.ndim == 0 and not index.flags & SCALAR):
        return None
    return index

cdef bint find_points(Points* p, ndarray a, object key) except -1:
    cdef int axes = <int>len(<tuple>key) if type(key) is tuple else 1, d, overflow = 0
    cdef PyObject* found[MAXDIMS]           # borrowed: of the key, or of `made`
    cdef list made = None
    cdef ndarray index
    cdef intp place
    p.n = p.places[0] = 0
    p.ndim = 0
    if axes > a.ndim or axes == MAXDIMS or a.size == 0:         # of so many NumPy wants none
        return False
    p.block, p.size = 1, a.itemsize
    for d in reversed(range(axes, a.ndim)):
        if a.shape[d] != 1 and strides_of(a)[d] != p.size:
            return False
        p.block *= a.shape[d]
        p.size *= a.shape[d]
    for d in range(axes):
        item = (<tuple>key)[d] if type(key) is tuple else key
        index_or_number = as_index(a, item, a.shape[d])
        if index_or_number is None:
            return False
        if index_or_number is not item:
            made = [] if made is None else made
            made.append(index_or_number)
        found[d] = <PyObject*>index_or_number
        if is_ours(index_or_number) and (<ndarray>index_or_number).ndim and not (
                add_shape(p, <ndarray>index_or_number)):
            return False
    if p.ndim == 0 or p.n + (p.n * p.size >> 5) > MIDDLING // 2 * settings.inline_cost:   # of 32 bytes a nanosecond
        return False
    for place in range(1, p.n):
        p.places[place] = 0
    for d in range(axes):
        item = <object>found[d]
        if not is_ours(item):
            place = PyLong_AsLongLongAndOverflow(item, &overflow)
            if overflow or not add_everywhere(p, place, a.shape[d], strides_of(a)[d]):
                return False
            continue
        index = <ndarray>item
        if not is_here(index):              # any more: what is made of others may wait for room
            return False
        if not (add_indices(p, index, a.shape[d], strides_of(a)[d]) if index.ndim else add_everywhere(
                p, <intp>integer_at(index.code, data_of(index)), a.shape[d], strides_of(a)[d])):
            return False
    return True

cdef inline void move(char* to, char* from_, intp size) noexcept nogil:
    if size == 8:
        memcpy(to, from_, 8)
    elif size == 4:
        memcpy(to, from_, 4)
    else:
        memcpy(to, from_, size)

cdef bint find_columns(Points* p, ndarray a, object key) except -1:
    """The places in the first row that [:, indices] of a matrix names."""
    cdef int axes = 2
    if type(key) is not tuple or len(<tuple>key) != axes or a.ndim != axes or a.size == 0:
        return False
    every = (<tuple>key)[0]
    if not PySlice_Check(every) or every.start is not None or every.stop is not None or every.step is not None:
        return False
    index = as_index(a, (<tuple>key)[1], a.shape[1])
    p.n = p.ndim = 0
    if not is_ours(index) or (<ndarray>index).ndim != 1 or not add_shape(p, <ndarray>index) or (
            p.n * a.shape[0] > MIDDLING * settings.inline_cost):
        return False
    memset(p.places, 0, p.n * sizeof(intp))
    return add_indices(p, <ndarray>index, a.shape[1], strides_of(a)[1])

cdef ndarray take_columns(ndarray a, object key):
    cdef Points p
    cdef intp shape[2]
    cdef int swapped[2]
    cdef intp i, size = a.itemsize
    cdef ndarray out
    cdef Storage* st = a.st
    if not find_columns(&p, a, key):
        return None
    shape[0], shape[1] = p.n, a.shape[0]
    out = allocated(a.code, 2, shape)       # as NumPy has it: a column after the other
    if a.st != st or not is_here(a):
        return None
    for i in range(p.n):
        move_items(data_of(out) + i * size * shape[1], size, data_of(a) + p.places[i], strides_of(a)[0], shape[1],
                   <int>size)
    settings.inlined += 1
    swapped[0], swapped[1] = 1, 0
    return transposed(out, swapped)

cdef ndarray take_points(ndarray a, object key):
    cdef Points p
    cdef intp shape[MAXDIMS]
    cdef int axes = <int>len(<tuple>key) if type(key) is tuple else 1
    cdef intp i
    cdef ndarray out
    cdef Storage* st = a.st
    cdef char* to
    if not is_here(a):
        return None
    if not find_points(&p, a, key):
        return take_columns(a, key)
    if p.ndim + a.ndim - axes > MAXDIMS:
        return None
    memcpy(shape, p.shape, p.ndim * sizeof(intp))
    memcpy(shape + p.ndim, a.shape + axes, (a.ndim - axes) * sizeof(intp))
    out = allocated(a.code, p.ndim + a.ndim - axes, shape)
    if a.st != st or not is_here(a):        # others may have gone on while there was no room for `out`
        return None
    to = data_of(out)
    for i in range(p.n):
        move(to, data_of(a) + p.places[i], p.size)
        to += p.size
    settings.inlined += 1
    return out

cdef inline void repeat_number(char* to, char* number, intp n, intp size) noexcept nogil:
    cdef intp done = size, end = n * size
    move(to, number, size)
    while done < end:
        memcpy(to + done, to, min(done, end - done))
        done += min(done, end - done)

cdef bint put_points(ndarray a, object key, object value) except -1:
    cdef Points p
    cdef Scalar room
    cdef ndarray v
    cdef char* source = <char*>&room
    cdef intp i, k, by = 0                  # of the source, from one place to the next
    cdef int axes = <int>len(<tuple>key) if type(key) is tuple else 1
    cdef bint whole = False                 # a block of the source is one of a
    cdef bint columns = False
    cdef Storage* st = a.st
    if not is_idle(st, direct):
        return False
    if not find_points(&p, a, key):
        columns = find_columns(&p, a, key)
        if not columns:
            return False
    if is_sequence(value):
        value = from_sequence(value, a.code)
    if is_ours(value):
        v = <ndarray>value
        if columns and v.ndim or v.st == a.st or not in_order_here(v) or is_complex(v.code) and not is_complex(a.code):
            return False
        if v.ndim:
            k = v.ndim - (a.ndim - axes)
            whole = True
            if k == p.ndim and memcmp(v.shape, p.shape, p.ndim * sizeof(intp)) == 0:
                by = p.size
            elif k != 0:
                return False
            if memcmp(v.shape + k, a.shape + axes, (a.ndim - axes) * sizeof(intp)):
                return False
        v = cast(v, a.code)                 # which may warn: not before it is sure that they are stored
        if not in_order_here(v):
            return False
        source = data_of(v)
    elif type(value) is int or type(value) is float or type(value) is bool:
        write_scalar(value, a.code, source)
    else:
        return False
    if a.st != st or not is_idle(st, direct):       # what is allocated above may wait for room: others go on meanwhile
        return False
    if columns:
        for i in range(p.n):
            move_items(data_of(a) + p.places[i], strides_of(a)[0], source, 0, a.shape[0], a.itemsize)
    elif p.n:
        if not whole:
            repeat_number(data_of(a) + p.places[0], source, p.block, a.itemsize)
            source = data_of(a) + p.places[0]
        for i in range(0 if whole else 1, p.n):
            move(data_of(a) + p.places[i], source, p.size)
            source += by
    settings.inlined += 1
    return True

# ---- ufunc.at --------------------------------------------------------------------------------------------------

cdef bint run_at(Kernel* k, ndarray a, object key, ndarray values) except -1:
    cdef Points p
    cdef char* args[3]
    cdef intp steps[5]
    cdef intp n
    cdef Storage* st = a.st
    if (k.flags & (MAY_RAISE | INVALID_FAILS) or a.ndim == 0 or values.st == a.st or not in_order_here(values)
            or not is_idle(st, direct)):
        return False
    if names_all(a, key) and (values.ndim == 0 or same_shape(values, <ndarray>key)):
        args[0], n = data_of(<ndarray>key), (<ndarray>key).size
        steps[3], steps[4] = strides_of(a)[0], a.shape[0]
    elif find_points(&p, a, key) and p.block == 1 and (
            values.ndim == 0 or values.ndim == p.ndim and memcmp(values.shape, p.shape, p.ndim * sizeof(intp)) == 0):
        args[0], n = <char*>p.places, p.n
        steps[3], steps[4] = 1, 0
    else:
        return False
    if a.st != st or not is_idle(st, direct) or not in_order_here(values):          # as find_points() may wait for room
        return False
    steps[0] = sizeof(intp)
    args[1], steps[1] = data_of(values), values.itemsize if values.ndim else 0
    args[2], steps[2] = data_of(a), 0
    run_now(k, args, &n, steps)
    return True

cdef inline bint names_all(ndarray a, object key) noexcept:
    """Whether key is an array of indices of a's only axis, which are here, right, and not too many."""
    cdef ndarray index
    if a.ndim != 1 or not is_ours(key):
        return False
    index = <ndarray>key
    return (index.code == LONG and index.st != a.st and index.size <= 2 * settings.inline_cost and in_order_here(index)
            and inside_loops[I8](data_of(index), index.size, a.shape[0]))

cdef int launch_at(Kernel* k, ndarray a, tuple places, ndarray values, int code) except -1:
    cdef Operand ops[3]
    cdef Core core
    cdef ndarray index = places[0]
    cdef int n = 1
    cdef intp shape[MAXDIMS]
    memcpy(shape, index.shape, index.ndim * sizeof(intp))
    fill_operand(&ops[0], index, index.ndim, shape, False)
    if values is not None:
        values = broadcast_view(cast(values, code), index.ndim, index.shape)
        if values.st == a.st:
            values = copy_of(values)
        fill_operand(&ops[1], values, index.ndim, shape, False)
        n = 2
    fill_operand(&ops[n], a, a.ndim, a.shape, True)
    memset(ops[n].strides, 0, sizeof(ops[n].strides))
    ops[n].offset += <intp>places[1]
    not_full(&ops[n], a)                    # it is also read
    core.ndim = 1
    core.dims[0] = 1
    core.nsteps = 2
    core.steps[0], core.steps[1] = places[2], places[3]
    launch(k, ops, n + 1, index.ndim, shape, &core)
    return 0

# ---- places that an array of NumPy's names --------------------------------------------------------------------------
# Its memory is looked at, not copied: one of as many places as a has elements, or so, would take as long to copy.

cdef struct Named:
    intp n                      # elements that are named
    intp* at                    # by their indices in a, which is in C order; or NULL:
    char* mask                  # by what is true in here, of `length` bools
    intp length

cdef bint find_named(Named* p, ndarray a, object key) noexcept:
    """False: the long way must be gone."""
    cdef int code = cnp.PyArray_TYPE(key)
    p.length = cnp.PyArray_SIZE(key)
    if not 0 < p.length <= 4 * settings.inline_cost or a.ndim == 0 or not a.flags & C_CONTIGUOUS or (
            not cnp.PyArray_ISCARRAY_RO(key)):
        return False
    if code == cnp.NPY_BOOL:
        if cnp.PyArray_NDIM(key) != a.ndim or (
                memcmp(cnp.PyArray_DIMS(key), a.shape, a.ndim * sizeof(intp))):
            return False
        p.at, p.mask = NULL, <char*>cnp.PyArray_DATA(key)
        p.n = count_bytes(p.mask, p.length)
        return True
    if code != cnp.NPY_INTP or a.ndim != 1:
        return False
    p.n, p.at, p.mask = p.length, <intp*>cnp.PyArray_DATA(key), NULL
    return inside_loops[I8](<char*>p.at, p.n, a.shape[0])

cdef void take_each(Named* p, char* source, char* out, intp length, intp items, intp itemsize) noexcept nogil:
    """To out, what is named among `length` rows of so many items."""
    cdef char* args[3]
    cdef intp dims[2]
    cdef intp steps[5]
    args[0], args[1], args[2] = source, <char*>p.at, out
    dims[0], dims[1] = p.n, items
    steps[0], steps[1], steps[2], steps[3], steps[4] = 0, sizeof(intp), items * itemsize, items * itemsize, length
    if p.at == NULL:
        args[1], dims[1], steps[3], steps[4] = p.mask, p.length, p.n, itemsize
        select_loop(args, dims, steps, NULL)
    else:
        gather_loops[I8](args, dims, steps, <void*>itemsize)

cdef void put_each(Named* p, char* source, intp step, char* target, intp length, intp itemsize) noexcept nogil:
    """The same of elements, to the target, from where they lie a step apart."""
    cdef char* args[3]
    cdef intp dims[2]
    cdef intp steps[6]
    if p.at == NULL:
        args[0], args[1], args[2] = source, p.mask, target
        dims[1], steps[4], steps[5] = p.length, itemsize, step
        put_loop(args, dims, steps, NULL)
    else:
        args[0], args[1], args[2] = target, source, <char*>p.at
        dims[0], dims[1] = p.n, 1
        steps[0], steps[1], steps[2], steps[3], steps[4] = 0, step, sizeof(intp), itemsize, length
        scatter_loops[I8](args, dims, steps, <void*>itemsize)

cdef ndarray take_named(ndarray a, object key):
    cdef Named p
    cdef ndarray out
    if not a.flags & C_CONTIGUOUS and a.size <= settings.inline_cost and is_here(a):
        a = contiguous(a)
    if cnp.PyArray_TYPE(key) == cnp.NPY_INTP and a.ndim == 1 and cnp.PyArray_SIZE(key) <= 4 * settings.inline_cost:
        out = allocated(a.code, cnp.PyArray_NDIM(key), <intp*>cnp.PyArray_DIMS(key))
    elif is_here(a) and find_named(&p, a, key):
        out = allocated(a.code, 1, &p.n)
    else:
        return None
    # Only now: what is allocated may wait for room, and others may write meanwhile, also to the key.
    if not is_here(a) or not find_named(&p, a, key) or out.size != p.n:
        return None
    take_each(&p, data_of(a), data_of(out), a.shape[0], 1, a.itemsize)
    settings.inlined += 1
    return out

cdef bint put_named(ndarray a, object key, object value) except -1:
    cdef Named p
    cdef Scalar room
    cdef char* source = <char*>&room
    cdef char* first = a.st.data
    cdef intp step = 0
    if not is_idle(a.st, direct) or not find_named(&p, a, key):
        return False
    if type(value) is cnp.ndarray:
        step = a.itemsize
        source = <char*>cnp.PyArray_DATA(value)
        if code_of_num(cnp.PyArray_TYPE(value)) != a.code or not cnp.PyArray_ISCARRAY_RO(value) or (
                cnp.PyArray_NDIM(value) != (cnp.PyArray_NDIM(key) if p.at != NULL else 1)
                or cnp.PyArray_SIZE(value) != p.n or p.at != NULL and memcmp(
                    cnp.PyArray_DIMS(value), cnp.PyArray_DIMS(key), cnp.PyArray_NDIM(key) * sizeof(intp))
                or source < first + a.st.nbytes and first < source + cnp.PyArray_NBYTES(value)):
            return False
    elif type(value) is int or type(value) is float or type(value) is bool:
        write_scalar(value, a.code, source)
    elif is_ours(value) and (<ndarray>value).ndim == 0 and (<ndarray>value).code == a.code and is_here(<ndarray>value):
        memcpy(source, data_of(<ndarray>value), a.itemsize)
    else:
        return False
    if <char*>cnp.PyArray_DATA(key) < first + a.st.nbytes and (
            first < <char*>cnp.PyArray_DATA(key) + cnp.PyArray_NBYTES(key)):
        return False
    put_each(&p, source, step, data_of(a), a.shape[0], a.itemsize)
    settings.inlined += 1
    return True

cdef PyObject* taken_of_numpys(PyObject* theirs, PyObject* key) except? NULL:
    cdef ndarray k = <ndarray>key
    cdef object a = <object>theirs, out
    cdef intp shape[MAXDIMS]
    cdef int ndim = cnp.PyArray_NDIM(a)
    cdef intp* lengths = <intp*>cnp.PyArray_DIMS(a)
    cdef Named p
    if type(<object>key) is tuple or k.code == BOOL:
        return points_of_numpys(a, <object>key)
    if k.code != LONG or k.ndim == 0 or ndim == 0 or k.ndim + ndim - 1 > MAXDIMS or k.size == 0 or (
            cnp.PyArray_SIZE(a) == 0 or not cnp.PyArray_ISCARRAY_RO(a) or code_of_num(cnp.PyArray_TYPE(a)) < 0):
        return NULL
    if not in_order_here(k) or k.size * (cnp.PyArray_SIZE(a) // lengths[0]) > 4 * settings.inline_cost:
        out = a.take(np.asarray(k), 0)      # which moves rows, where a subscript moves their elements
    else:
        memcpy(shape, k.shape, k.ndim * sizeof(intp))
        memcpy(shape + k.ndim, lengths + 1, (ndim - 1) * sizeof(intp))
        out = cnp.PyArray_EMPTY(k.ndim + ndim - 1, <cnp.npy_intp*>shape, cnp.PyArray_TYPE(a), False)
        p.n, p.at, p.mask, p.length = k.size, <intp*>data_of(k), NULL, 0
        if not inside_loops[I8](<char*>p.at, p.n, lengths[0]):
            return NULL
        take_each(&p, <char*>cnp.PyArray_DATA(a), <char*>cnp.PyArray_DATA(out), lengths[0],
                  cnp.PyArray_SIZE(a) // lengths[0], cnp.PyArray_ITEMSIZE(a))
    Py_INCREF(out)
    return <PyObject*>out

cdef inline ndarray borrowed(object theirs):
    """NumPy's array, as its memory is, for what is done at once; None where it cannot be ours."""
    if recorders or many_devices or cnp.PyArray_SIZE(theirs) == 0 or not cnp.PyArray_ISALIGNED(theirs) or not (
            cnp.PyArray_ISNOTSWAPPED(theirs)):
        return None
    made = array_hooks.memory_borrow(theirs)
    return <ndarray>made if is_ours(made) and is_here(<ndarray>made) else None

cdef PyObject* points_of_numpys(object theirs, object key) except? NULL:
    """By several indices, a mask of rows, or [:, indices]."""
    cdef Points p
    cdef intp shape[MAXDIMS]
    cdef intp i
    cdef int axes = <int>len(<tuple>key) if type(key) is tuple else 1
    cdef ndarray a = borrowed(theirs)
    cdef bint rows, columns
    cdef char* to
    cdef object out
    if a is None:
        return NULL
    rows = find_points(&p, a, key)
    columns = not rows and find_columns(&p, a, key)
    if not is_here(a):                      # any more: what is made of lists may wait for room
        return NULL
    if rows:
        if p.ndim + a.ndim - axes > MAXDIMS:
            return NULL
        memcpy(shape, p.shape, p.ndim * sizeof(intp))
        memcpy(shape + p.ndim, a.shape + axes, (a.ndim - axes) * sizeof(intp))
        out = cnp.PyArray_EMPTY(p.ndim + a.ndim - axes, <cnp.npy_intp*>shape, cnp.PyArray_TYPE(theirs), False)
        to = <char*>cnp.PyArray_DATA(out)
        for i in range(p.n):
            move(to, data_of(a) + p.places[i], p.size)
            to += p.size
    elif columns:
        shape[0], shape[1] = p.n, a.shape[0]
        out = cnp.PyArray_EMPTY(2, <cnp.npy_intp*>shape, cnp.PyArray_TYPE(theirs), False)
        to = <char*>cnp.PyArray_DATA(out)
        for i in range(p.n):
            move_items(to, a.itemsize, data_of(a) + p.places[i], strides_of(a)[0], shape[1], a.itemsize)
            to += shape[1] * a.itemsize
        out = cnp.PyArray_Transpose(out, NULL)
    else:
        return NULL
    Py_INCREF(out)
    return <PyObject*>out

cdef int put_into_numpys(PyObject* theirs, PyObject* key, PyObject* value) except -1:
    cdef object a = <object>theirs, x = <object>value
    cdef ndarray target
    if type(x) is float64 and cnp.PyArray_TYPE(a) == cnp.NPY_DOUBLE or (
            type(x) is int64 and cnp.PyArray_TYPE(a) == cnp.NPY_LONG):
        x = x.item()
    if not cnp.PyArray_ISWRITEABLE(a) or not (is_ours(x) or type(x) is int or type(x) is float or type(x) is bool):
        return False
    target = borrowed(a)
    if target is None or target.flags & READONLY:
        return False
    try:
        return put_points(target, <object>key, x)
    except (IndexError, TypeError, ValueError, OverflowError):      # NumPy is to say it
        return False
