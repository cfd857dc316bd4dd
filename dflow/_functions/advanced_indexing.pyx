"""Advanced indexing and selection: what takes elements from where indices or conditions say.

One array of indices is used as it is; several become an array of byte offsets. A gather or scatter kernel then runs
like any other. The call waits for arrays among the indices (their values decide about errors, and a mask's about the
shape), not for the array that is indexed.
"""

import numpy as np
cimport numpy as cnp
from cpython.slice cimport PySlice_Check
from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport BY_BYTES, DATA_BYTES, ELEMENTWISE, intp, Kernel, loop_t, MAXDIMS, ROWS
from dflow._engine cimport settings
from dflow._runtime.fp_errors cimport warn_user
from dflow._runtime.waiting cimport try_to_catch_up
from dflow._runtime.graph cimport WRITE
from dflow._array.dispatch cimport Operand, Core, fill_constant, launch
from dflow._kernels.dtypes cimport (
    Scalar, BOOL, DTYPES, HALF, INTP, NCODES, code_of, integer_at, numpy_array, write_scalar, is_complex)
from dflow._kernels.native cimport note_where
from dflow._kernels.registry cimport kernel_new, name_kernel
from dflow._array.core cimport *, is_ours
from dflow._tracing.tape cimport record
from dflow._functions.basic_indexing cimport base_index, refuse_index, refuse_store, stored
from dflow._functions.numbers cimport write_wrapped
from dflow._functions.views cimport *
from dflow._functions.out import give
from dflow._functions.numpy_inline import LATER, as_scalar, at_once, bare
from dflow._functions.fastpath cimport allocated, count_true, quick_kind, same_shape, NKINDS
from dflow._functions.gufunc cimport access_whole
from dflow._functions.masks cimport masked_fill, put_under_mask, quick_select, under_mask
from dflow._functions.points cimport put_points, take_points
from dflow._functions.sequences cimport as_operand, is_sequence
from dflow._functions.ufunc cimport broadcast_shape

from numpy.exceptions import ComplexWarning

cnp.import_array()

cdef extern from "_kernels/c/masks.h" nogil:
    void true_places(intp*, char*, intp, intp)

cdef extern from "_kernels/c/gather.h" nogil:
    ctypedef void (*index_loop)(char**, intp*, intp*, void*) noexcept
    ctypedef int (*inside_loop)(char*, intp, intp) noexcept
    ctypedef void (*add_loop)(intp*, char*, intp, intp, intp, intp) noexcept
    int INDEX_KINDS
    index_loop gather_loops[8]
    index_loop scatter_loops[8]
    inside_loop inside_loops[8]
    add_loop add_loops[8]
    void where_loop(char**, intp*, intp*, void*) noexcept

# ---- kernels ---------------------------------------------------------------------------------------------------

cdef int index_kinds[18]            # by type code: which of the loops over indices; -1: no integers
cdef Kernel* gathers[33][8]         # by item size and kind of index
cdef Kernel* scatters[33][8]
cdef Kernel* wheres[33]
cdef Kernel* half_where             # of floats of 2 bytes
cdef int code_of_index = code_of(INTP)

def _make_kernels():
    global half_where
    cdef int size, kind, code
    half_where = kernel_new(b"where", 3, 4, <loop_t>where_loop, <void*><size_t>2, ELEMENTWISE, 0.5, DATA_BYTES)
    note_where(half_where, 2, True)
    name_kernel(("where", 2, True), <size_t>half_where)
    for size in (1, 2, 4, 8, 16, 32):
        wheres[size] = kernel_new(b"where", 3, 4, <loop_t>where_loop, <void*><size_t>size, ELEMENTWISE, 0.5, DATA_BYTES)
        note_where(wheres[size], size, False)
        name_kernel(("where", size), <size_t>wheres[size])
        for kind in range(INDEX_KINDS):
            gathers[size][kind] = kernel_new(b"take", 2, 3, <loop_t>gather_loops[kind], <void*><size_t>size, ROWS, 0.5,
                                             DATA_BYTES)
            name_kernel(("take", size, kind), <size_t>gathers[size][kind])
            scatters[size][kind] = kernel_new(b"put", 2, 3, <loop_t>scatter_loops[kind], <void*><size_t>size, 0,
                                               1, DATA_BYTES)
            gathers[size][kind].cost_model = scatters[size][kind].cost_model = BY_BYTES
    for code in range(NCODES):
        dtype = DTYPES[code]
        index_kinds[code] = dtype.itemsize.bit_length() - 1 + 4 * (dtype.kind == "u") if dtype.kind in "iu" else -1

_make_kernels()

# ---- parsing ---------------------------------------------------------------------------------------------------

cdef class Selection:
    """An advanced index, taken apart.

    `base` is the indexed array with the basic part of the index applied and the axes of index arrays removed; `index`
    a C-contiguous array of integers: what all index arrays come to. They count elements `stride` bytes apart, the
    negative ones from `length` backwards; single numbers beside one array are in base's offset. The result has base's
    axes before `position`, those of index, and the rest of base's.
    """
    cdef ndarray base
    cdef ndarray index
    cdef intp stride
    cdef intp length
    cdef intp offset            # of single numbers, in bytes
    cdef int position

cdef class Part:
    """One of the index arrays. axis: whose bounds it must keep; -1 when it does."""
    cdef ndarray index
    cdef intp stride
    cdef intp length
    cdef int axis
    cdef int ndim               # axes that it stands for

cdef Part part_of(ndarray index, intp stride, intp length, int axis, int ndim):
    cdef Part part = Part.__new__(Part)
    part.index = index
    part.stride = stride
    part.length = length
    part.axis = axis
    part.ndim = ndim
    return part

cdef ndarray index_array(object item):
    """An index item as an array of integers or booleans, in C order, that is there."""
    cdef ndarray x
    values = item if isinstance(item, ndarray) else numpy_array(item, None)
    if not isinstance(values, ndarray) and not isinstance(item, np.ndarray):
        if values.size == 0:
            values = values.astype(np.intp)
        if values.dtype.kind not in "iub":
            raise IndexError("only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
                             "boolean arrays are valid indices")
    x = as_array(values)
    if x.code != BOOL and index_kinds[x.code] < 0:
        if x.dtype.kind == "f" and mxnet_rules:
            return whole_numbers(x)
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return wait_read(contiguous(x))

cdef ndarray whole_numbers(ndarray x):
    """Integers of floating point numbers that are whole: MXNet's labels, which are float32, choose so."""
    values = numpy_window(wait_read(contiguous(x)))
    with np.errstate(invalid="ignore"):
        index = values.astype(np.intp)
    if (index != values).any():
        raise IndexError("arrays used as indices must be of integer (or boolean) type: these numbers are not whole")
    return as_array(index)

cdef list expand(ndarray a, tuple items):
    """The index items with arrays as index_array gives them, and the ellipsis filled."""
    cdef list out = []
    cdef ndarray values
    cdef int axes = 0, ellipsis = -1
    for item in items:
        if item is None:
            out.append(None)
        elif item is Ellipsis:
            if ellipsis >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis = <int>len(out)
        elif PySlice_Check(item):
            out.append(item)
            axes += 1
        else:
            values = index_array(item)
            out.append(values)
            axes += values.ndim if values.code == BOOL else 1
    if axes > a.ndim:
        raise IndexError(f"too many indices for array: array is {a.ndim}-dimensional, but {axes} were indexed")
    fill = [slice(None)] * (a.ndim - axes)
    if ellipsis < 0:
        out.extend(fill)
    else:
        out[ellipsis:ellipsis] = fill
    return out

cdef Selection select(ndarray a, object key):
    cdef Selection s = Selection()
    cdef Part part
    cdef ndarray index
    cdef int axis = 0, first = -1, last = -1, n = 0
    cdef tuple items = <tuple>key if isinstance(key, tuple) else (key,)
    cdef list basic = [], parts = []
    cdef bint apart = False
    for item in expand(a, items):
        if item is None or isinstance(item, slice):
            if first >= 0 and last == n - 1:
                last = -2                   # an array after this one is apart from those before
            basic.append(item)
            if item is not None:
                axis += 1
            n += 1
            continue
        if first < 0:
            first = n
        elif last == -2:
            apart = True
        index = <ndarray>item
        if index.code == BOOL:
            part = masked_part(a, index, axis)
        else:
            part = part_of(index, strides_of(a)[axis], a.shape[axis], axis, 1)
        parts.append(part)
        basic.extend([0] * part.ndim)
        axis += part.ndim
        n += 1
        last = n - 1
    join_parts(s, parts or [part_of(as_array(np.zeros((), INTP)), 0, 1, -1, 0)])
    s.position = 0 if apart or not parts else made_before(basic, items, first)
    s.base = base_view(a, basic)
    s.base.offset += s.offset
    check_number(parts, s.base)
    return s

cdef int check_number(list parts, ndarray base) except -1:
    if len(parts) > MAXDIMS:
        raise IndexError("too many advanced (array) indices. This probably means you are indexing with too many "
                         f"booleans. (more than {MAXDIMS} found)")
    if len(parts) == MAXDIMS and base.size == 1:
        raise IndexError(f"when no subspace is given, the number of index arrays cannot be above {MAXDIMS - 1}, "
                         f"but {MAXDIMS} index arrays found")
    return 0

cdef Part masked_part(ndarray a, ndarray mask, int axis):
    """The places in some axes of a where a mask is true."""
    cdef intp* strides = strides_of(a) + axis
    cdef intp count = count_true(mask), stride, i, j, at
    cdef int k
    cdef ndarray index
    cdef intp* p
    for k in range(mask.ndim):
        if mask.shape[k] and mask.shape[k] != a.shape[axis + k]:  # one of length 0 names nothing, in an axis of any
            raise IndexError(f"boolean index did not match indexed array along axis {axis + k}; size of axis is "
                             f"{a.shape[axis + k]} but size of corresponding boolean axis is {mask.shape[k]}")
    index = allocated(code_of_index, 1, &count)
    p = <intp*>data_of(index)
    true_places(p, data_of(mask), mask.size, count)
    if mask.ndim == 0:
        return part_of(index, 0, 1, -1, 0)
    stride = strides[mask.ndim - 1]
    for k in range(mask.ndim - 1, 0, -1):
        if strides[k - 1] != strides[k] * mask.shape[k]:
            break
    else:
        return part_of(index, stride, mask.size, -1, mask.ndim)
    for i in range(count):                  # axes that do not follow each other: bytes, from each axis
        at = p[i]
        j = 0
        for k in range(mask.ndim - 1, -1, -1):
            j += at % mask.shape[k] * strides[k]
            at //= mask.shape[k]
        p[i] = j
    return part_of(index, 1, 0, -1, mask.ndim)

cdef int join_parts(Selection s, list parts) except -1:
    """Check the index arrays, and make one of them."""
    cdef intp shape[MAXDIMS]
    cdef intp* total
    cdef Part part = <Part>parts[0], array = part
    cdef ndarray index
    cdef intp place
    cdef int ndim, arrays = 0
    for part in parts:
        if part.index.ndim:
            array = part
            arrays += 1
        elif len(parts) > 1:                # NumPy's order: errors of single numbers come first
            check_bounds(part)
    if len(parts) == 1 or arrays == 1:
        check_bounds(array)
        s.index = array.index
        s.stride = array.stride
        s.length = array.length
        for part in parts:
            if part is not array:
                place = <intp>integer_at(part.index.code, data_of(part.index))
                s.offset += (place + part.length if place < 0 else place) * part.stride
        return 0
    ndim = shape_of_parts(parts, shape)
    s.index = allocated(code_of_index, ndim, shape)
    s.stride = 1
    s.length = 0
    total = <intp*>data_of(s.index)
    memset(total, 0, s.index.size * sizeof(intp))
    for single in range(1, -1, -1):
        for part in parts:
            index = part.index
            if (index.ndim == 0) != single:
                continue
            if single or s.index.size:      # what is broadcast away is not looked at
                check_bounds(part)
            if index.size != 1 and not same_shape(index, s.index):
                index = wait_read(copy_of(broadcast_view(index, ndim, shape)))
            add_loops[index_kinds[index.code]](total, data_of(index), index.itemsize if index.size != 1 else 0,
                                               s.index.size, part.length, part.stride)
    return 0

cdef int shape_of_parts(list parts, intp* shape) except -1:
    """The shape that the index arrays are broadcast to; the number of its axes."""
    cdef Part part, most = <Part>parts[0]
    cdef tuple wanted
    cdef int i
    for part in parts:
        if part.index.ndim > most.index.ndim:
            most = part
    for part in parts:
        if part.index.ndim and not same_shape(part.index, most.index):
            break
    else:
        memcpy(shape, most.index.shape, most.index.ndim * sizeof(intp))
        return most.index.ndim
    try:
        wanted = np.broadcast_shapes(*[shape_tuple(part.index) for part in parts])
    except ValueError as error:
        if "too large" in str(error):
            raise ValueError("iterator is too large") from None
        shapes = " ".join([" ".join([str(shape_tuple(part.index)).replace(" ", "")] * max(part.ndim, 1))
                           for part in parts if part.index.ndim])
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes} "
                         "") from None
    for i in range(<int>len(wanted)):
        shape[i] = wanted[i]
    return <int>len(wanted)

cdef int check_bounds(Part part) except -1:
    cdef ndarray x = part.index
    if part.axis < 0 or inside_loops[index_kinds[x.code]](data_of(x), x.size, part.length):
        return 0
    values = x.asnumpy()
    bad = values[(values >= part.length) | (values < -part.length)].flat[0]
    raise IndexError(f"index {bad} is out of bounds for axis {part.axis} with size {part.length}")

cdef int made_before(list basic, tuple items, int first) except -1:
    """How many axes of the result come before those of the index arrays: all basic items before the first array."""
    cdef int count = 0
    for item in basic:
        if item is not None and not isinstance(item, slice):
            break
        count += 1
    if count == len(basic):                 # only boolean scalars: they stand at `first`
        count = first
    return count

cdef ndarray base_view(ndarray a, list basic):
    """a[basic], where 0 takes an axis away, also one of length 0."""
    cdef ndarray v, w
    cdef int axis = 0, k = 0, i
    if 0 in shape_tuple(a):
        # Index 0 of an empty axis would be an error: take those axes away by hand.
        kept = [i for i, item in enumerate([x for x in basic if x is not None]) if isinstance(item, slice)]
        v = new_view(a, <int>len(kept))
        for i in kept:
            v.shape[k] = a.shape[i]
            v.shape[v.ndim + k] = strides_of(a)[i]
            k += 1
        close_view(v)
        return base_index(v, tuple([x for x in basic if x is None or isinstance(x, slice)]) + (Ellipsis,))
    return base_index(a, tuple(basic) + (Ellipsis,))

# ---- what is small and ready: here and now -----------------------------------------------------------------------

cdef ndarray quick_take(ndarray a, ndarray index, int axis):
    """a's subarrays along an axis; None when the long way must be gone."""
    cdef intp shape[MAXDIMS]
    cdef intp dims[2]
    cdef intp steps[5]
    cdef char* args[3]
    cdef intp i, outer = 1
    cdef int kind = index_kinds[index.code]
    cdef float each
    cdef ndarray out
    if (kind < 0 or a.size == 0 or a.ndim + index.ndim > MAXDIMS or not in_order_here(index)
            or not (in_order_here(a) or a.ndim == 1 and is_here(a))):
        return None
    for i in range(axis):
        outer *= a.shape[i]
    dims[0] = index.size
    dims[1] = a.size // (outer * a.shape[axis])
    each = gathers[a.itemsize][kind].cost + (dims[1] * a.itemsize >> 5)         # copies of 32 bytes a nanosecond
    if (outer * dims[0] * min(each, dims[1] * gathers[a.itemsize][kind].cost) > settings.inline_cost
            or not inside_loops[kind](data_of(index), index.size, a.shape[axis])):
        return None
    memcpy(shape, a.shape, axis * sizeof(intp))
    memcpy(shape + axis, index.shape, index.ndim * sizeof(intp))
    memcpy(shape + axis + index.ndim, a.shape + axis + 1, (a.ndim - axis - 1) * sizeof(intp))
    out = allocated(a.code, a.ndim + index.ndim - 1, shape)
    steps[0] = 0
    steps[1] = index.itemsize
    steps[2] = dims[1] * a.itemsize
    steps[3] = strides_of(a)[axis]
    steps[4] = a.shape[axis]
    for i in range(outer):
        args[0] = data_of(a) + i * steps[2] * steps[4]
        args[1] = data_of(index)
        args[2] = data_of(out) + i * steps[2] * dims[0]
        gather_loops[kind](args, dims, steps, <void*><size_t>a.itemsize)
    settings.inlined += 1
    return out

cdef bint quick_put(ndarray a, ndarray index, object value) except -1:
    """a[index] = number, or an element for each index; whether it was done."""
    cdef Scalar room
    cdef char* args[3]
    cdef intp dims[2]
    cdef intp steps[5]
    cdef int kind = index_kinds[index.code]
    cdef ndarray v
    if is_ours(value) and index.size <= settings.inline_cost:
        try_to_catch_up((<ndarray>value).st)        # a cast, say; it may give up the GIL
    if (kind < 0 or index.size > settings.inline_cost or not in_order_here(index) or not is_idle(a.st, direct)
            or index.st == a.st or not inside_loops[kind](data_of(index), index.size, a.shape[0])):
        return False
    if is_ours(value):
        v = <ndarray>value
        if v.code != a.code or not is_here(v) or v.ndim and not same_shape(v, index):
            return False
        v = copy_of(v) if v.st == a.st else contiguous(v)
        if not in_order_here(v):
            return False
        args[1] = data_of(v)
        steps[1] = v.itemsize if v.ndim else 0
    else:
        args[1] = <char*>&room
        write_scalar(value, a.code, args[1])
        steps[1] = 0
    args[0] = data_of(a)
    args[2] = data_of(index)
    dims[0] = index.size
    dims[1] = 1
    steps[0] = 0
    steps[2] = index.itemsize
    steps[3] = strides_of(a)[0]
    steps[4] = a.shape[0]
    scatter_loops[kind](args, dims, steps, <void*><size_t>a.itemsize)
    settings.inlined += 1
    return True

# ---- reading and writing ---------------------------------------------------------------------------------------

cdef int fill_selection(Selection s, ndarray index, Operand* source, Operand* indices, intp* shape) except -1:
    """Operands over the space (axes of index, axes of base); the number of its axes."""
    cdef int i, m = index.ndim, n = s.base.ndim
    if m + n > MAXDIMS:
        raise IndexError(f"number of dimensions must be within [0, {MAXDIMS}], indexing result would have {m + n}")
    memcpy(shape, index.shape, m * sizeof(intp))
    memcpy(shape + m, s.base.shape, n * sizeof(intp))
    fill_operand(source, s.base, m + n, shape, False)
    fill_operand(indices, index, m, shape, False)
    for i in range(m):
        source.strides[i] = 0
    for i in range(n):
        source.strides[m + i] = strides_of(s.base)[i]
        indices.strides[m + i] = 0
    return m + n

cdef int fill_core(Core* core, Selection s, Operand* x, Operand* y, int first, int ndim, intp* shape) noexcept:
    """The core dimension: axes from `first` on whose items lie together in both operands. How many axes are left."""
    cdef intp run = 1
    while ndim > first and x.strides[ndim - 1] == run * x.itemsize and y.strides[ndim - 1] == run * x.itemsize:
        ndim -= 1
        run *= shape[ndim]
    core.ndim = 1
    core.dims[0] = run
    core.nsteps = 2
    core.steps[0] = s.stride
    core.steps[1] = s.length
    return ndim

cdef ndarray arranged(Selection s, ndarray out, int m):
    """The view of a result whose axes are (those of index, those of base)."""
    cdef ndarray v = new_view(out, out.ndim)
    cdef int i, k = 0
    for i in list(range(s.position, s.position + m)) + list(range(s.position)) + list(range(s.position + m, out.ndim)):
        v.shape[k] = out.shape[<int>i]
        v.shape[out.ndim + k] = strides_of(out)[<int>i]
        k += 1
    return close_view(v)

cdef int result_shape(Selection s, intp* shape) except -1:
    cdef int m = s.index.ndim, n = s.base.ndim, i
    for i in range(s.position):
        shape[i] = s.base.shape[i]
    for i in range(m):
        shape[s.position + i] = s.index.shape[i]
    for i in range(s.position, n):
        shape[m + i] = s.base.shape[i]
    return m + n

cdef inline object sole(object key):
    """x[array,] is x[array]."""
    if type(key) is tuple and len(<tuple>key) == 1 and isinstance((<tuple>key)[0], (ndarray, np.ndarray)):
        return (<tuple>key)[0]
    return key

cdef object get_selected(ndarray a, object key):
    """a[key] with arrays or booleans in key: a copy."""
    try:
        return chosen(a, sole(key))
    except (IndexError, TypeError, ValueError):
        refuse_index(a, key)
        raise

cdef inline bint ends_in_slice(ndarray a, object key) noexcept:
    """Whether key is indices of the first axes, and then a slice."""
    cdef Py_ssize_t n
    if type(key) is not tuple:
        return False
    n = len(<tuple>key)
    return 1 < n <= a.ndim and PySlice_Check((<tuple>key)[n - 1]) and not PySlice_Check((<tuple>key)[0])

cdef inline ndarray sliced(ndarray a, tuple key):
    """The part of a that the slice at key's end leaves."""
    cdef Py_ssize_t n = len(key) - 1
    return base_index(a, (slice(None),) * n + key[n:])

cdef inline tuple without_slice(tuple key):
    return key[:len(key) - 1]

cdef object chosen(ndarray a, object key):
    cdef ndarray out
    if is_sequence(key):
        if ends_in_slice(a, key):
            out = take_points(sliced(a, <tuple>key), without_slice(<tuple>key))
        else:
            out = take_points(a, key)
        if out is not None:
            return out
        if type(key) is list and len(<list>key) and type((<list>key)[0]) is int:
            key = as_operand(key)
    if is_ours(key) and a.ndim:
        if (<ndarray>key).code != BOOL:
            out = quick_take(a, <ndarray>key, 0)
        else:
            out = quick_select(a, <ndarray>key)
            if out is None:
                out = under_mask(a, <ndarray>key)
        if out is not None:
            return out
    return gather(a, select(a, key))

cdef ndarray gather(ndarray a, Selection s, bint in_order=False):
    """a[key]; s: the key taken apart. in_order: in C order, else as the axes of a lie, behind those of indices."""
    cdef ndarray out, whole = None
    cdef Operand ops[3]
    cdef Core core
    cdef intp shape[2 * MAXDIMS]
    cdef intp dims[MAXDIMS]
    cdef int ndim = fill_selection(s, s.index, &ops[0], &ops[1], shape)
    access_whole(&ops[0], a)
    if in_order and s.position:
        whole = new_array(a.code, result_shape(s, dims), dims)
        out = arranged(s, whole, s.index.ndim)
    elif in_order:
        out = new_array(a.code, ndim, shape)
    else:
        out = new_like([base_over_space(s, s.index)], a.code, ndim, shape, False, True)
    fill_operand(&ops[2], out, ndim, shape, True)
    if out.size:
        ndim = fill_core(&core, s, &ops[0], &ops[2], s.index.ndim, ndim, shape)
    launch(gathers[a.itemsize][index_kinds[s.index.code]], ops, 3, ndim, shape, &core)
    return placed(s, out, s.index.ndim) if whole is None else whole

def of_bytes(ndarray table, ndarray a):
    """table[a], for bytes and a table of 256: waits for nothing, as none of them is out of bounds."""
    cdef Selection s = Selection()
    s.base = base_index(table, 0)
    s.index = contiguous(a)
    s.stride = table.itemsize
    s.length = 256
    return gather(table, s)

cdef ndarray base_over_space(Selection s, ndarray index):
    """The base over the space of fill_selection, for the memory order of its axes."""
    cdef int i, m = index.ndim, n = s.base.ndim
    cdef ndarray v = new_view(s.base, m + n)
    memcpy(v.shape, index.shape, m * sizeof(intp))
    memcpy(v.shape + m, s.base.shape, n * sizeof(intp))
    for i in range(m):
        strides_of(v)[i] = (<intp>1 << 62) - i              # outermost
    memcpy(strides_of(v) + m, strides_of(s.base), n * sizeof(intp))
    return close_view(v)

cdef ndarray placed(Selection s, ndarray out, int m):
    """A result whose axes are (those of index, those of base) with the axes where they belong."""
    cdef int order[MAXDIMS]
    cdef int i
    if s.position == 0:
        return out
    for i in range(out.ndim):
        order[i] = m + i if i < s.position else i - s.position if i < s.position + m else i
    return transposed(out, order)

cdef int set_selected(ndarray a, object key, object value) except -1:
    """a[key] = value with arrays or booleans in key."""
    try:
        return store_selected(a, sole(key), value)
    except (IndexError, TypeError, ValueError, OverflowError):
        refuse_store(a, key, value)
        raise

cdef enum:
    FEW = 4096                  # elements that are cast before anything is known of where they go

cdef int store_selected(ndarray a, object key, object value) except -1:
    cdef ndarray values
    if is_ours(value) and (<ndarray>value).size <= FEW:
        value = cast_value(a, <ndarray>value)
    if is_ours(key) and (<ndarray>key).ndim == a.ndim and masked_fill(a, <ndarray>key, value):
        return 0
    if (is_ours(key) and a.ndim == 1 and (is_ours(value) or type(value) is int or type(value) is float)
            and quick_put(a, <ndarray>key, value)) or (
            put_points(sliced(a, <tuple>key), without_slice(<tuple>key), value) if ends_in_slice(a, key)
            else put_points(a, key, value)):
        return 0
    if is_ours(key) and masked_fill(a, <ndarray>key, value):
        return 0
    if type(key) is tuple and is_mask_beside_numbers(a, <tuple>key) and masked_fill(
            base_index(a, (slice(None), *(<tuple>key)[1:])), (<tuple>key)[0], value):
        return 0
    values = stored(value, a.code) if not isinstance(value, ndarray) else cast_value(a, <ndarray>value)
    if values.ndim > 1 and is_mask(key) and index_array(key).ndim == a.ndim:
        raise TypeError("NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has "
                        f"{values.ndim} dimensions")
    if values.st == a.st:
        values = copy_of(values)
    if is_ours(key) and put_under_mask(a, <ndarray>key, values):
        return 0
    return scatter(a, select(a, key), key, values)

cdef bint is_mask_beside_numbers(ndarray a, tuple key):
    """Whether it is a[mask, number, ...], which is a[:, number, ...][mask]."""
    mask = key[0]
    return is_ours(mask) and (<ndarray>mask).code == BOOL and (<ndarray>mask).ndim == 1 and len(key) > 1 and (
        len(key) <= a.ndim and (<ndarray>mask).size == a.shape[0]) and all([type(item) is int for item in key[1:]])

cdef int scatter(ndarray a, Selection s, object key, ndarray values) except -1:
    """a[key] = values, of a's type and in other memory; s: the key taken apart."""
    cdef ndarray index = s.index, view
    cdef Operand ops[3]
    cdef Core core
    cdef intp shape[2 * MAXDIMS]
    cdef int ndim = result_shape(s, shape)
    if index.st == a.st:  # or what is written would be taken for indices, whose bounds nobody has checked
        index = copy_of(index)
    while values.ndim > ndim and values.shape[0] == 1:
        values = reshaped(values, values.ndim - 1, values.shape + 1)
    view = arranged(s, broadcast_values(values, ndim, shape, key), index.ndim)
    # One axis of indices, outermost by its stride (the last operand's decide): repeated ones in their order.
    if index.ndim > 1:
        view = reshape_front(contiguous(view), index.ndim)
        shape[0] = index.size
        index = reshaped(index, 1, shape)
    ndim = fill_selection(s, index, &ops[0], &ops[2], shape)
    fill_operand(&ops[1], view, ndim, shape, False)
    access_whole(&ops[0], a)
    ops[0].flags |= WRITE                   # but not all of it
    not_full(&ops[0], a)
    if view.size:
        ndim = fill_core(&core, s, &ops[0], &ops[1], index.ndim, ndim, shape)
        launch(scatters[a.itemsize][index_kinds[index.code]], ops, 3, ndim, shape, &core)
    return 0

cdef ndarray broadcast_values(ndarray values, int ndim, intp* shape, object key):
    """The values in the shape of a[key]; ValueError in NumPy's words."""
    while values.ndim > ndim and values.shape[0] == 1:
        values = reshaped(values, values.ndim - 1, values.shape + 1)
    try:
        return broadcast_view(values, ndim, shape)
    except ValueError:
        if is_mask(key):
            raise ValueError(f"NumPy boolean array indexing assignment cannot assign {values.size} input values to the "
                             f"{shape[0]} output values where the mask is true") from None
        wanted = str(tuple([shape[i] for i in range(ndim)])).replace(" ", "")
        raise ValueError(f"shape mismatch: value array of shape {shape_text(values)} could not be broadcast to "
                         f"indexing result of shape {wanted}") from None

cdef bint is_mask(object key):
    return isinstance(key, (ndarray, np.ndarray, list)) and index_array(key).code == BOOL

cdef ndarray cast_value(ndarray a, ndarray value):
    if is_complex(value.code) and not is_complex(a.code) and a.code != BOOL and value.size:
        warn_user("Casting complex values to real discards the imaginary part", ComplexWarning)
    return cast(value, a.code)

cdef ndarray reshape_front(ndarray a, int m):
    """The first m axes as one; a is contiguous."""
    cdef intp shape[MAXDIMS]
    cdef int i
    shape[0] = 1
    for i in range(m):
        shape[0] *= a.shape[i]
    for i in range(m, a.ndim):
        shape[i - m + 1] = a.shape[i]
    return reshaped(a, a.ndim - m + 1, shape)

def places(ndarray a, key):
    """For ufunc.at, where in a each index points: an array of places, the first one of all, in bytes from a's first
    element, the bytes from one to the next, and how many there are. Slices are spelled out."""
    cdef Selection s = select(a, key)
    cdef ndarray out
    cdef intp* p
    cdef intp i, start = s.base.offset - a.offset
    if s.base.ndim == 0 and s.index.code == code_of_index:
        return s.index if s.index.st != a.st else copy_of(s.index), start, s.stride, s.length
    out = allocated(code_of_index, s.index.ndim, s.index.shape)
    p = <intp*>data_of(out)
    memset(p, 0, out.size * sizeof(intp))
    add_loops[index_kinds[s.index.code]](p, data_of(s.index), s.index.itemsize, out.size, s.length, s.stride)
    if s.base.ndim:
        total = out.asnumpy()
        for i in range(s.base.ndim):
            total = np.add.outer(total, np.arange(s.base.shape[i]) * strides_of(s.base)[i])
        out = placed(s, as_array(total), s.index.ndim)
    return out, start, 1, 0

def where(condition, x, y):
    """Elements of x where condition is true, else of y; asynchronous. Python scalars are weak (NEP 50)."""
    if records(x, y):
        return record("where", (condition, x, y), where, (condition, x, y), {})
    cdef ndarray c = as_array_code(condition, BOOL), out
    cdef tuple operands
    cdef Operand ops[4]
    cdef Scalar constants[2]
    cdef intp shape[MAXDIMS]
    cdef intp space[MAXDIMS]
    cdef int i, code, ndim
    if quick_kind(x) < 0:
        x = as_array(x)
    if quick_kind(y) < 0:
        y = as_array(y)
    code = common_code(x, y)
    if isinstance(x, ndarray):
        x = cast(<ndarray>x, code)
    if isinstance(y, ndarray):
        y = cast(<ndarray>y, code)
    out = quick_where(c, x, y, code)
    if out is not None:
        return out
    operands = (c, x, y)
    ndim = broadcast_shape(operands, shape, 0)
    out = new_like([v for v in operands if isinstance(v, ndarray)], code, ndim, shape)
    memcpy(space, shape, ndim * sizeof(intp))
    for i in range(3):
        if isinstance(operands[i], ndarray):
            fill_operand(&ops[i], <ndarray>operands[i], ndim, shape, False)
        else:
            write_wrapped(operands[i], code, <char*>&constants[i - 1])
            fill_constant(&ops[i], <char*>&constants[i - 1], out.itemsize)
    fill_operand(&ops[3], out, ndim, shape, True)
    launch(half_where if code == HALF else wheres[out.itemsize], ops, 4, ndim, space, NULL)
    return out

cdef ndarray quick_where(ndarray c, object x, object y, int code):
    """For operands of the condition's shape, and numbers; None when the long way must be gone."""
    cdef Scalar constants[2]
    cdef char* args[4]
    cdef intp steps[4]
    cdef intp n = c.size
    cdef int i
    cdef ndarray out
    if not in_order_here(c) or n > settings.inline_cost:
        return None
    args[0] = data_of(c)
    steps[0] = 1
    for i in range(2):
        v = y if i else x
        if not isinstance(v, ndarray):
            write_wrapped(v, code, <char*>&constants[i])
            args[1 + i] = <char*>&constants[i]
            steps[1 + i] = 0
        elif in_order_here(<ndarray>v) and same_shape(c, <ndarray>v):
            args[1 + i] = data_of(<ndarray>v)
            steps[1 + i] = (<ndarray>v).itemsize
        else:
            return None
    out = allocated(code, c.ndim, c.shape)
    args[3] = data_of(out)
    steps[3] = out.itemsize
    where_loop(args, &n, steps, <void*><size_t>out.itemsize)
    settings.inlined += 1
    return out

cdef dict common_codes = {}         # kind * NKINDS + kind: the code of the two promoted

cdef int common_code(object x, object y) except -1:
    cdef int i = quick_kind(x), j = quick_kind(y)
    if i == j and i < NCODES:
        return i
    code = common_codes.get(i * NKINDS + j)
    if code is None:
        code = common_codes[i * NKINDS + j] = code_of(np.result_type(*[v.dtype if isinstance(v, ndarray) else v
                                                                       for v in (x, y)]))
    return code

_result_type = bare(np.result_type)

def result_type(*arrays_and_dtypes):
    """The type that NumPy's promotion gives."""
    cdef tuple given = arrays_and_dtypes
    if len(given) == 2 and is_ours(given[0]) and is_ours(given[1]):
        return DTYPES[common_code(given[0], given[1])]
    return _result_type(*[(<ndarray>x).dtype if isinstance(x, ndarray) else x for x in given])

cdef bint takes_to_few = np.lib.NumpyVersion(np.__version__) < "2.5.0"      # types of `out`; later ones cast

MODES = "raise", "wrap", "clip"

def index_mode(mode):
    """What is done with indices out of bounds, by any name that NumPy has for it: one of MODES, or its error."""
    if type(mode) is str and mode in MODES:
        return mode
    try:
        return MODES[np.take([0, 1, 2], 4, mode=mode)]
    except IndexError:
        return MODES[0]

TAKE_OUT = "output array does not match result of ndarray.take"

def take(a, indices, axis=None, out=None, mode="raise"):
    """Elements, or subarrays along an axis, at the given indices.
    Waits for the indices only, and for none in other modes."""
    return taken_by_mxnets_rules(a, indices, axis, out, mode)

def take_method(self, /, indices, axis=None, out=None, mode="raise"):
    """Elements, or subarrays along an axis, at the given indices.
    Waits for the indices only, and for none in other modes."""
    return taken_by_mxnets_rules(self, indices, axis, out, mode)

cdef object taken_by_mxnets_rules(a, indices, axis, out, mode):
    if mxnet_rules and isinstance(indices, ndarray) and (<ndarray>indices).dtype.kind == "f":
        indices = whole_numbers(<ndarray>indices)
    return taken(a, indices, axis, out, mode)

def take_as_numpy(self, /, indices, axis=None, out=None, mode="raise"):
    """take(), with a TypeError for indices of a floating point type, also where labels are indices.
    Waits for the indices only, and for none in other modes."""
    return taken(self, indices, axis, out, mode)

cdef object taken(a, indices, axis, out, mode):
    if records(a, None):
        return record("take", (a, indices, axis, mode), take, (a, indices, axis, out, mode), {})
    if out is None and mode != "raise":
        quick = at_once(np.take, (a, indices, axis, None, mode))
        if quick is not LATER:
            return quick
    cdef ndarray source = as_array(a), result
    cdef int k = 0
    if axis is None:
        if source.ndim != 1:
            source = source.ravel()
    else:
        if source.ndim == 0:
            source = source.reshape(1)
        k = c_axis(axis, source.ndim)
    if not isinstance(indices, (ndarray, np.ndarray)):
        indices = as_array_code(indices, code_of_index)         # of any numbers
    if out is None and mode == "raise" and is_ours(indices):
        result = quick_take(source, <ndarray>indices, k)
        if result is not None:
            return as_scalar(result)
    mode = index_mode(mode)
    values = whole(indices, mode != "raise")
    n = source.shape[k]
    if out is not None and isinstance(out, (ndarray, np.ndarray)) and out.shape != (
            shape_tuple(source)[:k] + values.shape + shape_tuple(source)[k + 1:]):
        raise ValueError(TAKE_OUT)
    if n == 0 and values.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if mode == "raise":
        result = take_checked(source, k, values)
    else:
        result = take_inside(source, k, as_array(values % max(n, 1) if mode == "wrap" else values.clip(0, n - 1)))
    return give(as_scalar(result), out, TAKE_OUT, exchange=takes_to_few)

cdef object whole(object indices, bint signed):
    """take()'s indices as integers, if need be as signed ones;
    TypeError for an array of other numbers than these and booleans."""
    if indices.dtype.kind not in "iub" and not (isinstance(indices, ndarray) and (<ndarray>indices).flags & SCALAR):
        what = "array data" if indices.ndim else "scalar"
        raise TypeError(f"Cannot cast {what} from {indices.dtype!r} to {INTP!r} according to the rule 'same_kind'")
    return indices.astype(np.intp, copy=False) if signed or indices.dtype.kind not in "iu" else indices

cdef ndarray take_checked(ndarray a, int axis, object indices):
    """a's subarrays along an axis; NumPy's error for indices out of bounds."""
    key = (slice(None),) * axis + (indices,)
    try:
        return gather(a, select(a, key), True)
    except (IndexError, TypeError, ValueError):
        refuse_index(a, key)
        raise

cdef ndarray take_inside(ndarray a, int axis, ndarray index):
    """a's subarrays along an axis at indices that are right, whether they are there or not; nobody else sees them."""
    cdef Selection s
    cdef ndarray out = quick_take(a, index, axis)
    if out is None:
        s = Selection()
        s.base = base_view(a, [0 if i == axis else slice(None) for i in range(a.ndim)])
        s.index = index
        s.stride = strides_of(a)[axis]
        s.length = a.shape[axis]
        s.position = axis
        out = gather(a, s, True)
    return out
