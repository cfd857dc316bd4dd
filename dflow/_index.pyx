"""Advanced indexing and selection: what takes elements from where indices or conditions say.

An advanced index becomes an array of byte offsets; a gather or scatter kernel then runs like any other. The call waits
for arrays among the indices (their values decide about errors, and a mask's about the shape), not for the array that is
indexed.
"""

import numpy as np
cimport numpy as cnp
from cpython.slice cimport PySlice_Check
from libc.string cimport memcpy, memset
from libc.stdint cimport int64_t, uint64_t
from dflow._engine cimport settings
from dflow._fp cimport fp_event
from dflow._graph cimport Kernel, intp, FULL, ELEMENTWISE, ROWS, writable
from dflow._launch cimport Operand, Core, MAXDIMS, UNTRACKED_READ, fill_constant, launch
from dflow._kernels cimport (
    Scalar, BOOL, LONG, DTYPES, INTP, NCODES, itemsizes, code_of, kernel_new, cast_kernel, masked_kernel,
    write_scalar, is_complex)
from dflow._array cimport *
from dflow._views cimport *
from dflow._array import set_hook
from dflow._quick cimport allocated, count_true, quick_kind, quick_ready, same_shape, small_ready, NKINDS
from dflow._ufunc cimport broadcast_shape, take_whole_region

cnp.import_array()

# ---- kernels ---------------------------------------------------------------------------------------------------

cdef inline void move(char* to, char* source, int size) noexcept nogil:
    if size == 8:
        (<int64_t*>to)[0] = (<int64_t*>source)[0]
    elif size == 4:
        (<int*>to)[0] = (<int*>source)[0]
    elif size == 1:
        to[0] = source[0]
    else:
        memcpy(to, source, size)

cdef void gather_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """source, byte offsets, out."""
    cdef int size = <int><size_t>data
    cdef intp i
    if steps[1] == 0 and steps[0] == size and steps[2] == size:
        memcpy(args[2], args[0] + (<intp*>args[1])[0], dims[0] * size)
        return
    for i in range(dims[0]):
        move(args[2] + i * steps[2], args[0] + i * steps[0] + (<intp*>(args[1] + i * steps[1]))[0], size)

cdef void scatter_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """target, values, byte offsets: in order, so that the last of repeated indices wins."""
    cdef int size = <int><size_t>data
    cdef intp i
    for i in range(dims[0]):
        move(args[0] + i * steps[0] + (<intp*>(args[2] + i * steps[2]))[0], args[1] + i * steps[1], size)

cdef void where_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """condition, x, y, out."""
    cdef int size = <int><size_t>data
    cdef intp i
    cdef int k
    if size == 8:
        for i in range(dims[0]):
            k = 1 if args[0][i * steps[0]] else 2
            (<int64_t*>(args[3] + i * steps[3]))[0] = (<int64_t*>(args[k] + i * steps[k]))[0]
    elif size == 4:
        for i in range(dims[0]):
            k = 1 if args[0][i * steps[0]] else 2
            (<int*>(args[3] + i * steps[3]))[0] = (<int*>(args[k] + i * steps[k]))[0]
    else:
        for i in range(dims[0]):
            k = 1 if args[0][i * steps[0]] else 2
            memcpy(args[3] + i * steps[3], args[k] + i * steps[k], size)

cdef Kernel* gathers[33]            # by item size
cdef Kernel* scatters[33]
cdef Kernel* wheres[33]

def _make_kernels():
    for size in (1, 2, 4, 8, 16, 32):
        gathers[<int>size] = kernel_new(b"take", 2, 3, gather_loop, <void*><size_t>size, ROWS, 1)
        scatters[<int>size] = kernel_new(b"put", 2, 3, scatter_loop, <void*><size_t>size, 0, 1)
        wheres[<int>size] = kernel_new(b"where", 3, 4, where_loop, <void*><size_t>size, ELEMENTWISE, 0.5)

_make_kernels()

# ---- parsing ---------------------------------------------------------------------------------------------------

cdef class Selection:
    """An advanced index, taken apart.

    `base` is the indexed array with the basic part of the index applied and the axes of index arrays removed;
    `offsets` a C-contiguous intp array: what the index arrays, broadcast together, add to its address. The result has
    base's axes before `position`, those of offsets, and the rest of base's.
    """
    cdef ndarray base
    cdef object offsets
    cdef int position

cdef object index_array(object item):
    """The values of an index item as a NumPy array of integers or booleans."""
    if isinstance(item, ndarray):
        values = item.asnumpy()
    else:
        values = np.asarray(item)
        if values.size == 0 and not isinstance(item, np.ndarray):
            values = values.astype(np.intp)
    if values.dtype.kind not in "iub":
        if isinstance(item, (ndarray, np.ndarray)):
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
                         "arrays are valid indices")
    return values

cdef list expand(ndarray a, tuple items):
    """The index items with arrays in NumPy's form, masks as the arrays of their True positions, and the ellipsis filled."""
    cdef list out = []
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
            if values.dtype.kind == "b":
                out.append(values)
                axes += values.ndim
            else:
                out.append(values)
                axes += 1
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
    cdef int axis = 0, first = -1, last = -1, n = 0
    cdef intp size
    cdef tuple items = <tuple>key if isinstance(key, tuple) else (key,)
    cdef list basic = [], parts = [], strides = [], lengths = []
    cdef bint apart = False
    shape = shape_tuple(a)
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
        if item.dtype.kind == "b":
            for k in range(item.ndim):
                if item.shape[k] != shape[axis + k]:
                    raise IndexError(f"boolean index did not match indexed array along axis {axis + k}; size of axis is "
                                     f"{shape[axis + k]} but size of corresponding boolean axis is {item.shape[k]}")
            found = item.nonzero() if item.ndim else (np.zeros(int(item), np.intp),)
            for values in found:
                parts.append(values)
                strides.append(strides_of(a)[axis] if item.ndim else 0)
                lengths.append((axis, shape[axis]) if item.ndim else None)
                if item.ndim:
                    basic.append(0)
                    axis += 1
        else:
            parts.append(item)
            strides.append(strides_of(a)[axis])
            lengths.append((axis, shape[axis]))
            basic.append(0)
            axis += 1
        n += 1
        last = n - 1
    s.offsets = byte_offsets(parts, strides, lengths)
    s.position = 0 if apart else made_before(basic, items, first)
    s.base = base_view(a, basic)
    return s

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

cdef object byte_offsets(list parts, list strides, list lengths):
    """Broadcast, check, scale and add the index arrays."""
    try:
        shape = np.broadcast_shapes(*[part.shape for part in parts])
    except ValueError:
        shapes = " ".join([str(part.shape).replace(" ", "") for part in parts])
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes} ") from None
    total = np.zeros(shape, np.intp)
    for part, stride, length in sorted(zip(parts, strides, lengths), key=lambda entry: entry[0].ndim > 0):     # NumPy's order
        if length is not None and part.size:
            axis, n = length
            low, high = part.min(), part.max()
            if high >= n or low < -n:
                bad = high if high >= n else low
                first = part[(part >= n) | (part < -n)].flat[0]
                raise IndexError(f"index {first} is out of bounds for axis {axis} with size {n}")
            if low < 0:
                part = np.where(part < 0, part + n, part)
        total += part.astype(np.intp, copy=False) * stride
    return total

# ---- what is small and ready: here and now -----------------------------------------------------------------------

cdef bint in_bounds(ndarray index, intp n) noexcept:
    """Whether all indices, 64-bit integers in C order, are those of an axis of length n."""
    cdef int64_t* p = <int64_t*>data_of(index)
    cdef intp i
    cdef int bad = 0
    for i in range(index.size):                 # no branch: the compiler may look at several at once
        bad |= <uint64_t>(p[i] + n) >= <uint64_t>(2 * n)
    return not bad

cdef ndarray quick_take(ndarray a, ndarray index, int axis):
    """a's subarrays along an axis; None when the long way must be gone."""
    cdef intp shape[MAXDIMS]
    cdef intp i, j, k, n, size, step, outer = 1
    cdef int64_t* p
    cdef char* source
    cdef char* target
    cdef ndarray out
    if (index.code != LONG or sizeof(long) != 8 or a.size == 0 or a.ndim + index.ndim > MAXDIMS or not quick_ready(index)
            or not (quick_ready(a) or a.ndim == 1 and small_ready(a))):
        return None
    n = a.shape[axis]
    for i in range(axis):
        outer *= a.shape[i]
    size = a.size // (outer * n)
    if outer * index.size * size > settings.inline_cost:
        return None
    memcpy(shape, a.shape, axis * sizeof(intp))
    memcpy(shape + axis, index.shape, index.ndim * sizeof(intp))
    memcpy(shape + axis + index.ndim, a.shape + axis + 1, (a.ndim - axis - 1) * sizeof(intp))
    out = allocated(a.code, a.ndim + index.ndim - 1, shape)
    p = <int64_t*>data_of(index)
    source = data_of(a)
    target = data_of(out)
    size *= a.itemsize
    step = strides_of(a)[0] if a.ndim == 1 else size
    for k in range(outer):
        for i in range(index.size):
            j = p[i] + (n if p[i] < 0 else 0)
            if <uint64_t>j >= <uint64_t>n:
                return None                 # an error, which the long way words
            if size == 8:
                (<int64_t*>target)[i] = (<int64_t*>(source + j * step))[0]
            else:
                move(target + i * size, source + j * step, <int>size)
        target += index.size * size
        source += n * size
    settings.inlined += 1
    return out

cdef bint covered_by(ndarray a, ndarray mask) noexcept:
    """Whether mask is one of bools for each element of a, and both are here, small and in order."""
    cdef int i
    if mask.code != BOOL or mask.ndim != a.ndim or mask.size > settings.inline_cost or not quick_ready(mask) or not quick_ready(a):
        return False
    for i in range(a.ndim):
        if mask.shape[i] != a.shape[i]:
            return False
    return True

cdef ndarray quick_select(ndarray a, ndarray mask):
    """The elements of a under a mask; None when the long way must be gone."""
    cdef intp i, n
    cdef int size = a.itemsize
    cdef char* m
    cdef char* source
    cdef char* target
    cdef ndarray out
    if a.ndim == 0 or not covered_by(a, mask):
        return None
    n = count_true(mask)
    out = allocated(a.code, 1, &n)
    m = data_of(mask)
    source = data_of(a)
    target = data_of(out)
    for i in range(mask.size):
        if m[i]:
            move(target, source + i * size, size)
            target += size
    settings.inlined += 1
    return out

cdef bint quick_put(ndarray a, ndarray index, object value) except -1:
    """a[index] = number, or an element for each index; whether it was done."""
    cdef Scalar room
    cdef char* source = <char*>&room
    cdef intp i, j, step = 0, stride = strides_of(a)[0]
    cdef int64_t* p
    cdef char* target
    cdef ndarray v
    if (index.code != LONG or sizeof(long) != 8 or index.size > settings.inline_cost or not quick_ready(index)
            or not small_ready(a) or not writable(a.st) or index.st == a.st or not in_bounds(index, a.shape[0])):
        return False
    if type(value) is ndarray:
        v = <ndarray>value
        if v.code != a.code or v.st == a.st or not quick_ready(v) or v.ndim and (v.ndim != index.ndim or not same_shape(v, index)):
            return False
        source = data_of(v)
        step = v.itemsize if v.ndim else 0
    else:
        write_scalar(value, a.code, source)
    p = <int64_t*>data_of(index)
    target = data_of(a)
    for i in range(index.size):
        j = p[i] + (a.shape[0] if p[i] < 0 else 0)
        if a.itemsize == 8:
            (<int64_t*>(target + j * stride))[0] = (<int64_t*>(source + i * step))[0]
        else:
            move(target + j * stride, source + i * step, a.itemsize)
    settings.inlined += 1
    return True

# ---- reading and writing ---------------------------------------------------------------------------------------

cdef int fill_selection(Selection s, ndarray offsets, Operand* source, Operand* shifts, intp* shape) except -1:
    """Operands over the space (axes of offsets, axes of base); the number of its axes."""
    cdef int i, m = offsets.ndim, n = s.base.ndim
    if m + n > MAXDIMS:
        raise IndexError(f"number of dimensions must be within [0, {MAXDIMS}], indexing result would have {m + n}")
    memcpy(shape, offsets.shape, m * sizeof(intp))
    memcpy(shape + m, s.base.shape, n * sizeof(intp))
    fill_operand(source, s.base, m + n, shape, False)
    fill_operand(shifts, offsets, m, shape, False)
    for i in range(m):
        source.strides[i] = 0
    for i in range(n):
        source.strides[m + i] = strides_of(s.base)[i]
        shifts.strides[m + i] = 0
    return m + n

cdef ndarray arranged(Selection s, ndarray out, int m):
    """The view of a result whose axes are (those of offsets, those of base)."""
    cdef ndarray v = new_view(out, out.ndim)
    cdef int i, k = 0
    for i in list(range(s.position, s.position + m)) + list(range(s.position)) + list(range(s.position + m, out.ndim)):
        v.shape[k] = out.shape[<int>i]
        v.shape[out.ndim + k] = strides_of(out)[<int>i]
        k += 1
    return close_view(v)

cdef int result_shape(Selection s, intp* shape) except -1:
    cdef int m = s.offsets.ndim, n = s.base.ndim, i
    for i in range(s.position):
        shape[i] = s.base.shape[i]
    for i in range(m):
        shape[s.position + i] = s.offsets.shape[i]
    for i in range(s.position, n):
        shape[m + i] = s.base.shape[i]
    return m + n

cdef object get_selected(ndarray a, object key):
    """a[key] with arrays or booleans in key: a copy."""
    cdef Selection s
    cdef ndarray offsets, out
    if type(key) is list and len(<list>key) and type((<list>key)[0]) is int:
        key = as_array(key)
    if type(key) is ndarray and a.ndim:
        out = quick_select(a, <ndarray>key) if (<ndarray>key).code == BOOL else quick_take(a, <ndarray>key, 0)
        if out is not None:
            return out
    s = select(a, key)
    offsets = as_array(s.offsets)
    cdef Operand ops[3]
    cdef intp shape[2 * MAXDIMS]
    cdef int ndim = result_shape(s, shape)
    if ndim > MAXDIMS:
        raise IndexError(f"number of dimensions must be within [0, {MAXDIMS}], indexing result would have {ndim}")
    fill_selection(s, offsets, &ops[0], &ops[1], shape)
    take_whole_region(&ops[0], a)
    out = new_like([spread(s, offsets)], a.code, ndim, shape)
    fill_operand(&ops[2], out, ndim, shape, True)
    launch(gathers[a.itemsize], ops, 3, ndim, shape, NULL)
    return placed(s, out, offsets.ndim)

cdef ndarray spread(Selection s, ndarray offsets):
    """The base over the space of fill_selection, for the memory order of its axes."""
    cdef int m = offsets.ndim, n = s.base.ndim
    cdef ndarray v = new_view(s.base, m + n)
    memcpy(v.shape, offsets.shape, m * sizeof(intp))
    memcpy(v.shape + m, s.base.shape, n * sizeof(intp))
    memset(strides_of(v), 0, m * sizeof(intp))
    memcpy(strides_of(v) + m, strides_of(s.base), n * sizeof(intp))
    return close_view(v)

cdef ndarray placed(Selection s, ndarray out, int m):
    """A result whose axes are (those of offsets, those of base) with the axes where they belong."""
    cdef int order[MAXDIMS]
    cdef int i
    if s.position == 0:
        return out
    for i in range(out.ndim):
        order[i] = m + i if i < s.position else i - s.position if i < s.position + m else i
    return transposed(out, order)

cdef int set_selected(ndarray a, object key, object value) except -1:
    """a[key] = value with arrays or booleans in key."""
    cdef Selection s
    cdef ndarray offsets, values, view
    cdef Operand ops[3]
    cdef intp shape[2 * MAXDIMS]
    cdef int ndim, i
    if type(key) is ndarray and a.ndim == 1 and type(value) in (int, float, ndarray) and quick_put(a, <ndarray>key, value):
        return 0
    if isinstance(key, ndarray) and (<ndarray>key).code == BOOL and masked_fill(a, <ndarray>key, value):
        return 0
    s = select(a, key)
    offsets = as_array(s.offsets)
    ndim = result_shape(s, shape)
    values = as_array_code(value, a.code) if not isinstance(value, ndarray) else cast_value(a, <ndarray>value)
    while values.ndim > ndim and values.shape[0] == 1:
        values = reshaped(values, values.ndim - 1, values.shape + 1)
    try:
        values = broadcast_view(values, ndim, shape)
    except ValueError:
        wanted = str(tuple([shape[i] for i in range(ndim)])).replace(" ", "")
        if is_mask(key):
            raise ValueError(f"NumPy boolean array indexing assignment cannot assign {values.size} input values to the "
                             f"{shape[0]} output values where the mask is true") from None
        raise ValueError(f"shape mismatch: value array of shape {shape_text(values)} could not be broadcast to indexing "
                         f"result of shape {wanted}") from None
    if values.st == a.st:
        values = copy_of(values)
    view = arranged(s, values, offsets.ndim)
    # One axis of offsets, outermost by its stride (the last operand's decide): repeated indices in their order.
    if offsets.ndim > 1:
        view = contiguous(view)
        view = reshape_front(view, offsets.ndim)
        shape[0] = offsets.size
        offsets = reshaped(offsets, 1, shape)
    ndim = fill_selection(s, offsets, &ops[0], &ops[2], shape)
    fill_operand(&ops[1], view, ndim, shape, False)
    take_whole_region(&ops[0], a)
    ops[0].flags |= 1                       # written, but not all of it
    not_full(&ops[0], a)
    launch(scatters[a.itemsize], ops, 3, ndim, shape, NULL)
    return 0

cdef bint is_mask(object key):
    return isinstance(key, (ndarray, np.ndarray, list)) and index_array(key).dtype.kind == "b"

cdef ndarray cast_value(ndarray a, ndarray value):
    if is_complex(value.code) and not is_complex(a.code) and a.code != BOOL:
        import warnings
        from numpy.exceptions import ComplexWarning
        warnings.warn("Casting complex values to real discards the imaginary part", ComplexWarning, stacklevel=1)
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

cdef bint masked_fill(ndarray a, ndarray mask, object value):
    """a[mask] = number without waiting for the mask, when their shapes agree; whether it was done."""
    cdef Operand ops[3]
    cdef intp shape[MAXDIMS]
    cdef Scalar room
    cdef char* buffer = <char*>&room
    cdef intp i
    if not isinstance(value, (int, float, complex)) or a.ndim != mask.ndim or not same_shape(a, mask):
        return False
    if mask.st == a.st and may_overlap(mask, a):
        mask = copy_of(mask)
    write_scalar(value, a.code, buffer)
    if writable(a.st) and covered_by(a, mask):
        for i in range(mask.size):
            if data_of(mask)[i]:
                move(data_of(a) + i * a.itemsize, buffer, a.itemsize)
        settings.inlined += 1
        return True
    memcpy(shape, a.shape, a.ndim * sizeof(intp))
    fill_constant(&ops[0], buffer, a.itemsize)
    fill_operand(&ops[1], mask, a.ndim, shape, False)
    fill_operand(&ops[2], a, a.ndim, shape, True)
    not_full(&ops[2], a)
    launch(masked_kernel(cast_kernel(a.code, a.code)), ops, 3, a.ndim, shape, NULL)
    return True

def offsets(ndarray a, key):
    """For ufunc.at: where in a each index points, as bytes from its first element. Slices are spelled out."""
    cdef tuple items = <tuple>key if isinstance(key, tuple) else (key,)
    places = np.arange(a.size, dtype=np.intp).reshape(shape_tuple(a))
    plain = tuple([item.asnumpy() if isinstance(item, ndarray) else item for item in items])
    chosen = np.asarray(places[plain])
    coordinates = np.unravel_index(chosen, shape_tuple(a)) if a.ndim else ()
    total = np.zeros(chosen.shape, np.intp)
    for i in range(a.ndim):
        total += coordinates[i].astype(np.intp) * strides_of(a)[i]
    return as_array(total)

def where(condition, x, y):
    """Elements of x where condition is true, else of y; asynchronous. Python scalars are weak (NEP 50)."""
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
    operands = (c, *[cast(<ndarray>v, code) if isinstance(v, ndarray) else v for v in (x, y)])
    out = quick_where(c, operands[1], operands[2], code)
    if out is not None:
        return out
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
    launch(wheres[out.itemsize], ops, 4, ndim, space, NULL)
    return out

cdef ndarray quick_where(ndarray c, object x, object y, int code):
    """For operands of the condition's shape, and numbers; None when the long way must be gone."""
    cdef Scalar constants[2]
    cdef char* args[4]
    cdef intp steps[4]
    cdef intp n = c.size
    cdef int i
    cdef ndarray out
    if not quick_ready(c) or n > settings.inline_cost:
        return None
    args[0] = data_of(c)
    steps[0] = 1
    for i in range(2):
        v = y if i else x
        if not isinstance(v, ndarray):
            write_wrapped(v, code, <char*>&constants[i])
            args[1 + i] = <char*>&constants[i]
            steps[1 + i] = 0
        elif quick_ready(<ndarray>v) and (<ndarray>v).ndim == c.ndim and same_shape(c, <ndarray>v):
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
        code = common_codes[i * NKINDS + j] = code_of(np.result_type(*[v.dtype if isinstance(v, ndarray) else v for v in (x, y)]))
    return code

cdef int write_wrapped(object number, int code, char* p) except -1:
    """A Python number beyond the range of an integer type wraps round, as NumPy's where has it."""
    try:
        write_scalar(number, code, p)
    except OverflowError:
        wrapped = np.asarray(number).astype(DTYPES[code])
        memcpy(p, cnp.PyArray_DATA(wrapped), itemsizes[code])
    return 0

def take(a, indices, axis=None, out=None, mode="raise"):
    """Elements, or subarrays along an axis, at the given indices. Waits for the indices only."""
    cdef ndarray source = as_array(a), result
    cdef int k
    if axis is None:
        if source.ndim != 1:
            source = source.ravel()
        k = 0
    else:
        k = normalize_axis(axis, source.ndim) if source.ndim else 0
    if out is None and mode == "raise" and type(indices) in (ndarray, list, int):
        result = quick_take(source, as_array(indices), k)
        if result is not None:
            if result.ndim == 0:
                result.flags |= SCALAR
            return result
    values = indices.asnumpy() if isinstance(indices, ndarray) else np.asarray(indices)
    if values.dtype.kind not in "iub":
        if values.size:
            raise TypeError(f"Cannot cast array data from {values.dtype!r} to {INTP!r} according to the rule 'same_kind'")
        values = values.astype(np.intp)
    if values.dtype.kind == "b":
        values = values.astype(np.intp)
    n = source.shape[k] if source.ndim else 1
    if mode == "wrap":
        values = values % n
    elif mode == "clip":
        values = values.clip(0, n - 1)
    elif mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if n == 0 and values.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    result = get_selected(source if source.ndim else source.reshape(1), (slice(None),) * k + (values,))
    if out is None:
        return result
    out[...] = result
    return out

cdef void connect_selection():
    """Give ndarray its subscripts with arrays."""
    global advanced_get, advanced_set
    advanced_get = get_selected
    advanced_set = set_selected

connect_selection()
set_hook("offsets", offsets)
set_hook("where", where)
