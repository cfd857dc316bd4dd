"""The fast paths: what is small, ready and simple, without arrangement or detour."""

from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcpy, memset
from dflow._runtime.waiting cimport try_to_catch_up
from dflow._kernels.kernel cimport BLAS, call_loop, INVALID_FAILS, MAY_RAISE, raise_current, REPORTS_FP
from dflow._base.atomics cimport load_ptr
from dflow._base.fpflags cimport fp_clear, fp_flags
from dflow._base.threads cimport this_thread_raised
from dflow._kernels.matmul cimport UNUSED, blas_use
from dflow._engine cimport settings
from dflow._kernels.reduce cimport fold
from dflow._runtime.fp_errors cimport fp_event
from dflow._runtime.gate cimport enter_gate, leave_gate
from dflow._runtime.graph cimport readable, storage_allocate, writable
from dflow._array.dispatch cimport Operand, Core, fill_constant, joins, launch, run_now, run_unary
from dflow._runtime.executor cimport resume_parked
from dflow._kernels.registry cimport BOOL, DOUBLE, FLOAT, Scalar, itemsizes, write_scalar
from dflow._kernels.sorting cimport dot_kernel
from dflow._array.core cimport (
    ndarray, C_CONTIGUOUS, READONLY, SCALAR, new_array, new_view, close_view, strides_of, data_of, is_here, is_near, same_elements,
    together, fill_operand, launch_flat)

cdef int quick_kind(object x) noexcept:
    """As kind_of, for exact types; -1 for anything else."""
    if type(x) is ndarray:
        return (<ndarray>x).code
    if type(x) is int:
        return WEAK_INT
    if type(x) is float:
        return WEAK_FLOAT
    if type(x) is complex:
        return WEAK_COMPLEX
    if type(x) is bool:
        return BOOL
    return -1

cdef bint quick_ready(ndarray a) noexcept:
    return a.flags & C_CONTIGUOUS and is_here(a)

cdef inline bint ready_near(ndarray a) noexcept:
    return a.flags & C_CONTIGUOUS and is_near(a)

cdef bint same_shape(ndarray a, ndarray b) noexcept:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.shape[i] != b.shape[i]:
            return False
    return True

cdef inline bint give_memory(ndarray out, ndarray x, ndarray y) noexcept:
    """Memory for a fresh result, where x is; a SCALAR when it has no axes. False when there is none.

    False too when x or y is no longer here: room for a large result may have been waited for, while others submitted.
    """
    if out.st.data == NULL and not (storage_allocate(out.st) and is_near(x) and (y is None or is_near(y))):
        return False
    out.st.device = x.st.device
    if out.ndim == 0:
        out.flags |= SCALAR
    return True

cdef ndarray quick_binary(Plan* p, object a, object b, ndarray out):
    """a op b, when it can run here and now without any arrangement; else None. out: where to, or None for a new array."""
    cdef Kernel* k = p.kernel
    cdef char* args[3]
    cdef intp steps[3]
    cdef intp n
    cdef Scalar room
    cdef char* number = <char*>&room
    cdef ndarray x, y = None
    if k.flags & (MAY_RAISE | INVALID_FAILS) or not p.direct:
        return None
    if type(a) is ndarray:
        x = <ndarray>a
        if not ready_near(x):
            return None
        args[0] = x.st.data + x.offset
        steps[0] = x.itemsize
        if type(b) is ndarray:
            y = <ndarray>b
            if not ready_near(y) or not together(x, y) or not same_shape(x, y):
                return None
            args[1] = y.st.data + y.offset
            steps[1] = y.itemsize
        else:
            write_scalar(b, p.codes[1], number)
            args[1] = number
            steps[1] = 0
    else:
        x = <ndarray>b
        if not ready_near(x):
            return None
        write_scalar(a, p.codes[0], number)
        args[0] = number
        steps[0] = 0
        args[1] = x.st.data + x.offset
        steps[1] = x.itemsize
    n = x.size
    if joins(n, k, True):
        return None
    if out is None:
        out = new_array(p.codes[2], x.ndim, x.shape)
        if not give_memory(out, x, y):
            return None
    args[2] = out.st.data + out.offset
    steps[2] = out.itemsize
    run_now(k, args, &n, steps)
    return out

cdef bint quick_out(Plan* p, tuple inputs, ndarray out):
    """Whether quick_binary may write to out: of the result's type and shape, free, and none of the inputs but for all of it."""
    cdef ndarray a
    if out.code != p.codes[2] or out.flags & (READONLY | SCALAR) or not out.flags & C_CONTIGUOUS or (
            not is_near(out) or not writable(out.st)):
        return False
    for x in inputs:
        if isinstance(x, ndarray):
            a = <ndarray>x
            if not together(a, out) or not same_shape(a, out) or a.st == out.st and not same_elements(a, out):
                return False
    out.st.version += 1
    return True

cdef ndarray queue_binary(Plan* p, object a, object b, ndarray out):
    """a op b as a task, when both are contiguous and of one shape or one is a number; else None."""
    cdef Scalar room
    cdef char* constant = <char*>&room
    cdef ndarray x = None, y = None
    cdef ndarray like
    cdef bint fresh = out is None, ready
    cdef int where = 0
    if not p.direct or p.nargs != 3 or itemsizes[p.codes[0]] > 8 or itemsizes[p.codes[1]] > 8:
        return None
    if type(a) is ndarray:
        x = <ndarray>a
    if type(b) is ndarray:
        y = <ndarray>b
    like = x if x is not None else y
    if not like.flags & C_CONTIGUOUS or like.size == 0:
        return None
    ready = (x is None or is_near(x)) and (y is None or is_near(y))
    if not joins(like.size, p.kernel, ready):
        if ready:
            return None                         # quick_binary had its reasons
        if fresh or load_ptr(&out.st.reads) == NULL:
            if x is not None:
                try_to_catch_up(x.st)
            if y is not None:
                try_to_catch_up(y.st)
            if (x is None or readable(x.st)) and (y is None or readable(y.st)) and (fresh or load_ptr(&out.st.reads) == NULL):
                return quick_binary(p, a, b, out)
    if x is None:
        write_scalar(a, p.codes[0], constant)
    elif y is None:
        where = 1
        write_scalar(b, p.codes[1], constant)
    elif not y.flags & C_CONTIGUOUS or not same_shape(x, y):
        return None
    if fresh:
        out = new_array(p.codes[2], like.ndim, like.shape, True)
        out.st.device = like.st.device
        if like.ndim == 0:
            out.flags |= SCALAR
    if launch_flat(p.kernel, x if x is not None else like, y, constant if x is None or y is None else NULL, where, out):
        return out
    return None

cdef ndarray quick_unary(Plan* p, ndarray x):
    """As quick_binary."""
    cdef Kernel* k = p.kernel
    cdef ndarray out
    if k.flags & (MAY_RAISE | INVALID_FAILS) or not p.direct or not ready_near(x) or joins(x.size, k, True):
        return None
    out = new_array(p.codes[1], x.ndim, x.shape)
    if not give_memory(out, x, None):
        return None
    run_unary(k, data_of(x), x.itemsize, out.st.data, out.itemsize, x.size)
    return out

cdef ndarray queue_unary(Plan* p, ndarray x):
    """As queue_binary."""
    cdef ndarray out
    if not p.direct or p.nargs != 2 or not x.flags & C_CONTIGUOUS or not joins(x.size, p.kernel, is_near(x)):
        return None
    out = new_array(p.codes[1], x.ndim, x.shape, True)
    out.st.device = x.st.device
    if x.ndim == 0:
        out.flags |= SCALAR
    return out if launch_flat(p.kernel, x, None, NULL, 0, out) else None

cdef inline bint multiplies(Plan* p, ndarray x, ndarray y) noexcept:
    """Whether they are vectors or matrices, not empty, of types and inner lengths that fit."""
    return (p.direct and p.nargs == 3 and 0 < x.ndim <= 2 and 0 < y.ndim <= 2 and x.size != 0 and y.size != 0
            and x.shape[x.ndim - 1] == y.shape[0])

cdef ndarray quick_matmul(Plan* p, ndarray x, ndarray y):
    """Products of vectors and matrices that are small and ready, here and now; else None."""
    cdef Kernel* k = p.kernel
    cdef char* args[3]
    cdef intp dims[4]
    cdef intp steps[9]
    cdef intp shape[2]
    cdef int ndim = 0, flags, use
    cdef ndarray out
    if not multiplies(p, x, y) or not is_near(x) or not is_near(y) or not together(x, y):
        return None
    dims[0] = 1
    memset(steps, 0, sizeof(steps))
    dims[1] = x.shape[0] if x.ndim == 2 else 1
    dims[2] = x.shape[x.ndim - 1]
    dims[3] = y.shape[1] if y.ndim == 2 else 1
    if dims[1] * dims[2] * dims[3] * k.cost > settings.inline_cost:
        return None
    if x.ndim == 2:
        shape[0] = dims[1]
        ndim = 1
        steps[3] = strides_of(x)[0]
    steps[4] = strides_of(x)[x.ndim - 1]
    steps[5] = strides_of(y)[0]
    if y.ndim == 2:
        shape[ndim] = dims[3]
        ndim += 1
        steps[6] = strides_of(y)[1]
    out = new_array(p.codes[2], ndim, shape)
    if not give_memory(out, x, y):
        return None
    if x.ndim == 2:
        steps[7] = strides_of(out)[0]
    if y.ndim == 2:
        steps[8] = out.itemsize
    args[0] = x.st.data + x.offset
    args[1] = y.st.data + y.offset
    args[2] = out.st.data
    settings.inlined += 1
    if ndim == 0:
        k = dot_kernel(x.code)
        dims[1] = dims[2]
        steps[3] = steps[4]
        steps[4] = steps[5]
    use = blas_use(k, dims, steps) if k.resources & BLAS else UNUSED
    if not enter_gate(use, False):
        return None
    flags = call_loop(k, args, dims, steps)
    if use != UNUSED:
        leave_gate(use)
        resume_parked(NULL)
    if k.flags & MAY_RAISE and this_thread_raised():
        raise_current()
    fp_event(flags, p.kernel)
    return out

cdef ndarray product(Plan* p, ndarray x, ndarray y):
    """Of vectors and matrices, now or as a task; None when the long way must be gone."""
    cdef ndarray out = quick_matmul(p, x, y)
    return out if out is not None else queue_matmul(p, x, y)

cdef ndarray queue_matmul(Plan* p, ndarray x, ndarray y):
    """The product of vectors and matrices as a task, or wherever launch() puts it; None when the long way must be gone."""
    cdef Core core
    cdef Operand ops[3]
    cdef intp shape[2]
    cdef int i, ndim = 0
    cdef ndarray out
    if not multiplies(p, x, y):
        return None
    if x.ndim == y.ndim == 1 and x.shape[0] >= 4 * BLOCK and x.code == y.code and (x.code == FLOAT or x.code == DOUBLE):
        return dot_in_blocks(p, x, y)
    if x.ndim == 2:
        shape[ndim] = x.shape[0]
        ndim += 1
    if y.ndim == 2:
        shape[ndim] = y.shape[1]
        ndim += 1
    out = new_array(p.codes[2], ndim, shape, True)
    if ndim == 0:
        out.flags |= SCALAR
    core.ndim = 3
    core.nsteps = 6
    memset(core.steps, 0, 6 * sizeof(intp))     # of axes that a vector does not have
    core.dims[0] = x.shape[0] if x.ndim == 2 else 1
    core.dims[1] = y.shape[0]
    core.dims[2] = y.shape[1] if y.ndim == 2 else 1
    core.steps[0] = strides_of(x)[0] if x.ndim == 2 else 0
    core.steps[1] = strides_of(x)[x.ndim - 1]
    core.steps[2] = strides_of(y)[0]
    core.steps[3] = strides_of(y)[1] if y.ndim == 2 else 0
    core.steps[4] = strides_of(out)[0] if x.ndim == 2 else 0
    core.steps[5] = out.itemsize if y.ndim == 2 else 0
    fill_operand(&ops[0], x, x.ndim, x.shape, False)
    fill_operand(&ops[1], y, y.ndim, y.shape, False)
    fill_operand(&ops[2], out, ndim, shape, True)
    launch(p.kernel, ops, 3, 0, shape, &core)
    return out

cdef enum:
    BLOCK = 1 << 16             # elements of long vectors that are multiplied at a time

cdef ndarray dot_in_blocks(Plan* p, ndarray x, ndarray y):
    """The product of long vectors, of floats: of blocks of them, of the few elements left over, and the sum of all."""
    cdef intp blocks = x.shape[0] // BLOCK, length = x.shape[0] // blocks & ~63
    cdef intp rest = x.shape[0] - blocks * length, n = blocks + (rest > 0)
    cdef ndarray sums = new_array(x.code, 1, &n, True), out = new_array(x.code, 0, NULL, True)
    dot_rows(p, rows_of(x, 0, blocks, length), rows_of(y, 0, blocks, length), rows_of(sums, 0, blocks, 1))
    if rest:
        dot_rows(p, rows_of(x, x.shape[0] - rest, 1, rest), rows_of(y, x.shape[0] - rest, 1, rest), rows_of(sums, blocks, 1, 1))
    out.flags |= SCALAR
    dot_rows(p, rows_of(sums, 0, 1, n), None, out)
    return out

cdef ndarray rows_of(ndarray x, intp start, intp rows, intp n):
    """A part of a vector as a matrix."""
    cdef ndarray v = new_view(x, 2)
    cdef intp step = strides_of(x)[0]
    v.offset += start * step
    v.shape[0] = rows
    v.shape[1] = n
    strides_of(v)[0] = n * step
    strides_of(v)[1] = step
    return close_view(v)

cdef int dot_rows(Plan* p, ndarray x, ndarray y, ndarray out) except -1:
    """out[i] = x[i] @ y[i]; y None: ones."""
    cdef Core core
    cdef Operand ops[3]
    cdef intp rows = x.shape[0]
    cdef double one = 1
    cdef float short_one = 1
    core.ndim = 3
    core.nsteps = 6
    memset(core.steps, 0, 6 * sizeof(intp))
    core.dims[0] = core.dims[2] = 1
    core.dims[1] = x.shape[1]
    core.steps[1] = strides_of(x)[1]
    fill_operand(&ops[0], x, 2, x.shape, False)
    if y is None:
        fill_constant(&ops[1], <char*>&one if x.code == DOUBLE else <char*>&short_one, x.itemsize)
    else:
        core.steps[2] = strides_of(y)[1]
        fill_operand(&ops[1], y, 2, y.shape, False)
    fill_operand(&ops[2], out, out.ndim, out.shape, True)
    return launch(p.kernel, ops, 3, 1, &rows, &core)

cdef Kernel REDUCE                  # its name, in warnings, as NumPy gives it
REDUCE.name = b"reduce"

cdef enum:
    FIRST = 4096                # elements that may decide at once, however many there are

cdef ndarray quick_reduce(Reduction* r, ndarray a):
    """The reduction of all elements of a, when that is cheap and can be done now; else None."""
    cdef Kernel* k
    cdef ndarray out
    if a.size == 0 or not ready_near(a):
        return None
    k = r.plan.kernel
    if r.deciding >= 0 and memchr(a.st.data + a.offset, r.deciding, min(a.size, FIRST)) != NULL:
        out = new_array(BOOL, 0, NULL)
        out.st.device = a.st.device
        out.flags |= SCALAR
        out.st.data[0] = <char>r.deciding
        settings.inlined += 1
        return out
    if r.plan.codes[0] != a.code or a.size * k.cost > settings.inline_cost or k.flags & (MAY_RAISE | INVALID_FAILS):
        return None
    out = new_array(r.plan.codes[2], 0, NULL)
    out.st.device = a.st.device
    out.flags |= SCALAR
    if r.has_initial:
        memcpy(out.st.data, &r.initial, out.itemsize)
    settings.inlined += 1
    fp_clear()
    fold(&r.fold, out.st.data, a.st.data + a.offset, a.size, a.itemsize, not r.has_initial)
    if k.flags & REPORTS_FP:
        fp_event(fp_flags(), &REDUCE)
    return out

cdef Kernel ACCUMULATE
ACCUMULATE.name = b"accumulate"

cdef ndarray quick_accumulate(Reduction* r, ndarray a):
    """The same up to each element of a, which has one axis."""
    cdef Kernel* k = r.plan.kernel
    cdef ndarray out
    cdef char* args[3]
    cdef intp steps[3]
    cdef intp n = a.size - 1
    if n < 0 or not ready_near(a) or r.plan.codes[0] != a.code or k.flags & (MAY_RAISE | INVALID_FAILS) or (
            a.size * (k.cost + 1) > settings.inline_cost):
        return None
    out = allocated(a.code, 1, a.shape)
    out.st.device = a.st.device
    args[0] = data_of(out)
    args[1] = data_of(a) + a.itemsize
    args[2] = args[0] + a.itemsize
    steps[0] = steps[1] = steps[2] = a.itemsize
    memcpy(args[0], data_of(a), a.itemsize)
    settings.inlined += 1
    if n:
        fp_event(call_loop(k, args, &n, steps), &ACCUMULATE)
    return out

cdef ndarray allocated(int code, int ndim, intp* shape):
    cdef ndarray out = new_array(code, ndim, shape)
    if out.st.data == NULL and not storage_allocate(out.st):
        raise MemoryError(f"Unable to allocate {out.st.nbytes} bytes")
    return out

cdef intp count_bytes(char* p, intp n) noexcept nogil:
    cdef intp i, total = 0
    cdef uint8_t some                       # of few enough not to overflow: sixteen are counted at a time
    while n > 0:
        some = 0
        for i in range(min(n, 240)):
            some += p[i] != 0
        total += some
        p += 240
        n -= 240
    return total

cdef intp count_true(ndarray mask) noexcept:
    return count_bytes(data_of(mask), mask.size)
