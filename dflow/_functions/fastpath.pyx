"""The fast paths: what is small, ready and simple, without arrangement or detour.

What was found ready is so in the loop, too: a write begins as it is submitted, for which a thread needs the GIL, and
that is kept from the look to the end of the loop. Where something may give it up between (Python code, memory that is
waited for), who goes on looks again.
"""

import numpy as np
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport labs
from libc.string cimport memchr, memcmp, memcpy, memset
from dflow._runtime.waiting cimport try_to_catch_up
from dflow._kernels.kernel cimport BLAS, call_loop, INVALID_FAILS, Kernel, MAXDIMS, MAY_RAISE, raise_current, REPORTS_FP
from dflow._base.atomics cimport load_int, load_ptr
from dflow._base.fpflags cimport fp_clear, fp_flags
from dflow._base.threads cimport this_thread_raised
from dflow._kernels.matmul cimport DOT, UNUSED, blas_use, long_vectors
from dflow._engine cimport settings, submit
from dflow._kernels.reduce cimport Fold, FOLD_BYTES, fold, fold_block, fold_one
from dflow._runtime.events cimport shape_next, watched
from dflow._runtime.fp_errors cimport fp_event, fp_warn, is_strict, read_fp_policy
from dflow._runtime.gate cimport enter_gate, leave_gate
from dflow._runtime.graph cimport (
    FLAT, FULL, handed, HAS_REGIONS, readable, storage_allocate, Task, task_constant, task_dims, task_new, TRACKED,
    WRITE)
from dflow._runtime.region cimport Region
from dflow._array.dispatch cimport (
    Operand, Core, UNTRACKED_READ, fill_access, fill_constant, launch, merge_axes,
    region_of_run)
from dflow._array.in_caller cimport joins, run_now
from dflow._runtime.executor cimport inside_host_task, resume_held_back
from dflow._kernels.casts cimport cast_kernel
from dflow._kernels.dtypes cimport (
    BOOL, DTYPES, NCODES, Scalar, is_integer, itemsizes, write_scalar)
from dflow._kernels.sorting cimport dot_kernel
from dflow._kernels.wrapped cimport reduce_kernel
from dflow._runtime.tuning cimport MIDDLING
from dflow._array.core cimport (
    ndarray, C_CONTIGUOUS, F_CONTIGUOUS, READONLY, SCALAR, new_array, new_like, strides_of,
    assign, cast, data_of, in_order_near, is_idle, is_near, same_elements, together, fill_operand, covers_storage,
    is_ours, be_element)
from dflow._base.thread_state cimport near

cdef int quick_kind(object x) noexcept:
    """As kind_of, for exact types; -1 for anything else."""
    if is_ours(x):
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
        be_element(out)
    return True

cdef bint launch_flat(Kernel* k, ndarray a, ndarray b, char* constant, int where, ndarray out) except -1:
    """Queue an elementwise kernel over C-contiguous arrays of one shape: run_later without its generality.
    a, b: inputs, of which one may be None: then `constant` is its value, and `where` its place. out: new, or a itself.
    False when launch() must decide.
    """
    cdef Task* t
    cdef ndarray x
    cdef Region run
    cdef int i, nops = k.nops, flags = FLAT, access
    read_fp_policy()
    if (a.st.device > near or not together(a, out) or b is not None and not together(a, b)
            or settings.naive or inside_host_task() or is_strict(k)
            or a.size == 0 or k.nin > 2 or nops != k.nin + 1):
        return False
    for i in range(nops):
        x = out if i == k.nin else a if i == 0 else b
        if not (constant != NULL and i == where) and not covers_storage(x):
            flags |= HAS_REGIONS
    t = task_new(k, nops, 1, 0, 0, 0, flags)
    t.fp_warn = <uint8_t>(fp_warn if k.flags & REPORTS_FP else 0)
    task_dims(t)[0] = out.size
    for i in range(nops):
        x = out if i == k.nin else a if i == 0 else b
        if constant != NULL and i == where:
            memcpy(task_constant(t, i, 8, 0), constant, 8)
            continue
        access = WRITE | TRACKED if i == k.nin else 0 if x.st == out.st else TRACKED
        if covers_storage(x):
            fill_access(t, i, x.st, x.offset, x.itemsize, access | FULL, NULL)
        else:
            region_of_run(&run, x.offset, x.size * x.itemsize)
            fill_access(t, i, x.st, x.offset, x.itemsize, access, &run)
    if load_int(&watched):
        shape_next(out.ndim, out.shape)
    submit(t)
    return True

cdef inline void point_at(char** args, intp* steps, int i, ndarray x) noexcept:
    """Argument i of a loop over all elements of an array in C order."""
    args[i] = x.st.data + x.offset
    steps[i] = x.itemsize

cdef inline int point_at_number(char** args, intp* steps, int i, object x, int code, char* room) except -1:
    write_scalar(x, code, room)
    args[i] = room
    steps[i] = 0
    return 0

cdef inline bint is_for_later(intp n, Kernel* k, ndarray x, ndarray y) noexcept:
    """Whether an operation on n elements is rather a task. What is pinned is waited for: a cheap one is run at once."""
    return joins(n, k, True) and not (
        (x.st.pins or y is not None and y.st.pins) and n * k.cost <= MIDDLING * settings.inline_cost)

cdef ndarray quick_binary(Plan* p, object a, object b, ndarray out):
    """a op b, when it can run here and now without any arrangement; else None.
    out: where to, or None for a new array."""
    cdef Kernel* k = p.kernel
    cdef char* args[3]
    cdef intp steps[3]
    cdef intp n
    cdef Scalar room
    cdef char* number = <char*>&room
    cdef ndarray x, y = None
    if k.flags & (MAY_RAISE | INVALID_FAILS):
        return None
    if not p.direct:
        return mixed_binary(p, a, b, out)
    if is_ours(a):
        x = <ndarray>a
        if not in_order_near(x):
            return line_binary(p, a, b, out)
        point_at(args, steps, 0, x)
        if is_ours(b):
            y = <ndarray>b
            if not in_order_near(y) or not together(x, y) or not same_shape(x, y):
                return line_binary(p, a, b, out)
            point_at(args, steps, 1, y)
        else:
            point_at_number(args, steps, 1, b, p.codes[1], number)
    else:
        x = <ndarray>b
        if not in_order_near(x):
            return line_binary(p, a, b, out)
        point_at_number(args, steps, 0, a, p.codes[0], number)
        point_at(args, steps, 1, x)
    n = x.size
    if is_for_later(n, k, x, y):
        return None
    if out is None:
        out = new_array(p.codes[2], x.ndim, x.shape)
        if not give_memory(out, x, y):
            return None
    point_at(args, steps, 2, out)
    run_now(k, args, &n, steps)
    return out

cdef ndarray point_at_lines(Plan* p, object a, object b, char** args, intp* steps, char* room):
    """Point at two operands, whose elements lie at any equal distance, or one of which is there for all of the other's.
    The array of the result's shape; None where they lie otherwise, or are not here."""
    cdef ndarray x = None, y
    cdef int i, orders = C_CONTIGUOUS | F_CONTIGUOUS
    for i in range(2):
        z = b if i else a
        if not is_ours(z):
            point_at_number(args, steps, i, z, p.codes[i], room)
            continue
        y = <ndarray>z
        if y.ndim > 1:
            orders &= y.flags
        if orders == 0 or not is_near(y):
            return None
        args[i] = data_of(y)
        steps[i] = 0 if y.ndim == 0 else step_of_line(y)
        if x is None:
            x = y
        elif not together(x, y) or x.ndim and y.ndim and not same_shape(x, y):
            return None
        elif x.ndim == 0:
            x = y
    return x

cdef ndarray line_binary(Plan* p, object a, object b, ndarray out):
    """The same where elements lie at any equal distance, or one is there for all of the other operand's."""
    cdef char* args[3]
    cdef intp steps[3]
    cdef intp n
    cdef Scalar room
    cdef ndarray x = point_at_lines(p, a, b, args, steps, <char*>&room)
    cdef int i
    if x is None:
        return None
    n = x.size
    if joins(n, p.kernel, True):
        return None
    if out is None:
        out = new_line(p.codes[2], x)
        if not give_memory(out, x, a if is_ours(a) and a is not x else b if is_ours(b) and b is not x else None):
            return None
    elif not same_shape(x, out) or not same_order(x, out):
        return None
    args[2] = out.st.data + out.offset
    steps[2] = step_of_line(out)
    if steps[2] < 0 and steps[0] <= 0 and steps[1] <= 0:    # forwards, as in launch()
        for i in range(3):
            args[i] += steps[i] * (n - 1)
            steps[i] = -steps[i]
    run_now(p.kernel, args, &n, steps)
    return out

cdef enum:
    MIXED_BYTES = 1 << 15       # of an operand that is cast by the way

cdef bint cast_line(char** args, intp* steps, ndarray x, int code, char* room) except -1:
    """Point at the elements of x in another type, in `room`. False when there are too many, or it may be to tell of."""
    cdef Kernel* cast = cast_kernel(x.code, code)
    cdef char* ends[2]
    cdef intp inner[2]
    cdef intp n = x.size
    if n * itemsizes[code] > MIXED_BYTES or cast.flags & REPORTS_FP and is_integer(x.code):
        return False
    ends[0], ends[1] = args[0], room
    inner[0], inner[1] = steps[0], itemsizes[code]
    cast.loop(ends, &n, inner, cast.data)
    args[0] = room
    if steps[0]:
        steps[0] = itemsizes[code]
    return True

cdef ndarray mixed_binary(Plan* p, object a, object b, ndarray out):
    """The same of few elements, of which some are of other types than the loop's, or lie where out does."""
    cdef char rooms[3][MIXED_BYTES]
    cdef char* args[3]
    cdef intp steps[3]
    cdef intp n
    cdef Scalar room
    cdef ndarray x
    cdef int i
    if p.nargs != 3 or p.kernel.flags & (MAY_RAISE | INVALID_FAILS):
        return None
    for i in range(2):
        z = b if i else a
        if not is_ours(z) and (type(z) is complex or p.codes[i] == BOOL):
            return None
    x = point_at_lines(p, a, b, args, steps, <char*>&room)
    if x is None:
        return None
    n = x.size
    if joins(n, p.kernel, True) or out is not None and not (
            out.flags & C_CONTIGUOUS and same_shape(x, out) and same_order(x, out)
            and (out.code == p.codes[2] or n * itemsizes[p.codes[2]] <= MIXED_BYTES and fits[out.code][p.codes[2]])):
        return None
    for i in range(2):
        z = b if i else a
        if is_ours(z) and ((<ndarray>z).code != p.codes[i] or out is not None and shares(z, out)) and not (
                cast_line(args + i, steps + i, <ndarray>z, p.codes[i], rooms[i])):
            return None
    if out is None:
        out = new_line(p.codes[2], x)
        if not give_memory(out, x, a if is_ours(a) and a is not x else b if is_ours(b) and b is not x else None):
            return None
    run_into(p.kernel, p.codes[2], args, steps, 2, &n, out, rooms[2])
    return out

cdef int run_into(Kernel* k, int code, char** args, intp* steps, int nin, intp* n, ndarray out, char* room) except -1:
    """Run a kernel whose results have that type, and store them in out, by way of `room` if that has another one. What
    is told of, the cast's flags too, is told of the operation."""
    cdef char* ends[2]
    cdef intp inner[2]
    cdef int flags
    point_at(args, steps, nin, out)
    if out.code == code:
        return run_now(k, args, n, steps)
    ends[0], ends[1] = room, args[nin]
    inner[0], inner[1] = itemsizes[code], out.itemsize
    args[nin], steps[nin] = room, itemsizes[code]
    flags = call_loop(k, args, n, steps)
    settings.inlined += 1
    return fp_event(flags | call_loop(cast_kernel(code, out.code), ends, n, inner), k)

cdef ndarray mixed_unary(Plan* p, ndarray x, ndarray out):
    """The same of one operand."""
    cdef char rooms[2][MIXED_BYTES]
    cdef char* args[2]
    cdef intp steps[2]
    cdef intp n = x.size
    if (p.kernel.flags & (MAY_RAISE | INVALID_FAILS) or joins(n, p.kernel, True) or not is_near(x)
            or not is_idle(out.st, near) or not goes_with(x, out) or not is_line(x) or not out.flags & C_CONTIGUOUS
            or n * itemsizes[p.codes[1]] > MIXED_BYTES or not fits[out.code][p.codes[1]]):
        return None
    args[0], steps[0] = data_of(x), step_of_line(x)
    if (x.code != p.codes[0] or shares(x, out)) and not cast_line(args, steps, x, p.codes[0], rooms[0]):
        return None
    run_into(p.kernel, p.codes[1], args, steps, 1, &n, out, rooms[1])
    return out

cdef bint fits[NCODES][NCODES]          # whether the results of a type may be stored as another

def _fill_fits():
    cdef int code, other
    for code in range(NCODES):
        for other in range(NCODES):
            fits[code][other] = np.can_cast(DTYPES[other], DTYPES[code], "same_kind")

_fill_fits()

cdef inline intp step_of_line(ndarray x) noexcept:
    return x.itemsize if x.flags & (C_CONTIGUOUS | F_CONTIGUOUS) else strides_of(x)[0]

cdef inline bint same_order(ndarray x, ndarray y) noexcept:
    """Whether the elements of lines of one shape follow each other alike."""
    return x.ndim < 2 or x.flags & y.flags & (C_CONTIGUOUS | F_CONTIGUOUS)

cdef inline ndarray new_line(int code, ndarray x):
    """A new array that lies as a line does."""
    return (new_array(code, x.ndim, x.shape) if x.flags & C_CONTIGUOUS or x.ndim < 2 else
            new_like([x], code, x.ndim, x.shape))

cdef ndarray binary_into(Plan* p, object a, object b, ndarray out):
    """a op b, written to out; None when call() must decide."""
    cdef ndarray done = None
    cdef bint apart = out.code != p.codes[2] or shares(a, out) or shares(b, out)
    if out.flags & (READONLY | SCALAR):
        return None
    out.st.version += 1
    if out.flags & C_CONTIGUOUS and is_idle(out.st, near) and goes_with(a, out) and goes_with(b, out):
        done = mixed_binary(p, a, b, out) if apart else quick_binary(p, a, b, out)
    if done is not None:
        return done
    if not apart:
        if (p.direct and out.ndim == 1 and not p.kernel.flags & (MAY_RAISE | INVALID_FAILS) and is_idle(out.st, near)
                and goes_with(a, out) and goes_with(b, out)):
            done = line_binary(p, a, b, out)
        return launch_direct(p, a, b, out) if done is None else done
    return stored_result(p, a, b, out) if may_be_stored(p.codes[2], out, shares(a, out) or shares(b, out)) else None

cdef ndarray stored_result(Plan* p, object a, object b, ndarray out):
    """The result, made apart, copied to out; None when call() must decide."""
    cdef ndarray made
    if is_ours(a) and not spreads(<ndarray>a, out) or is_ours(b) and not spreads(<ndarray>b, out):
        return None
    made = direct_unary(p, <ndarray>a) if p.nargs == 2 else direct_binary(p, a, b)
    if made is None:
        return None
    assign(out, made)
    return out

cdef ndarray unary_into(Plan* p, ndarray x, ndarray out):
    """p of x, written to out; None when call() must decide."""
    cdef char* args[2]
    cdef intp steps[2]
    cdef intp n = x.size
    if p.nargs != 2 or out.flags & (READONLY | SCALAR):
        return None
    out.st.version += 1
    if not p.direct or out.code != p.codes[1] or shares(x, out):
        done = mixed_unary(p, x, out)
        if done is not None:
            return done
        return stored_result(p, x, None, out) if may_be_stored(p.codes[1], out, shares(x, out)) else None
    if (p.kernel.flags & (MAY_RAISE | INVALID_FAILS) or joins(n, p.kernel, True) or not is_near(x)
            or not is_idle(out.st, near) or not goes_with(x, out) or not is_line(x) or not is_line(out)):
        return launch_direct(p, x, None, out)
    args[0], steps[0] = data_of(x), step_of_line(x)
    args[1], steps[1] = data_of(out), step_of_line(out)
    run_now(p.kernel, args, &n, steps)
    return out

cdef inline bint is_line(ndarray x) noexcept:
    return x.flags & C_CONTIGUOUS or x.ndim == 1

cdef inline bint may_be_stored(int code, ndarray out, bint overlap) noexcept:
    """Whether results of that type may be stored in out, by a cast of which there is nothing to tell: few, or where all
    would be copied because of an operand."""
    return (fits[out.code][code] and (overlap or out.itemsize * out.size <= MIXED_BYTES)
            and (out.code == code or not cast_kernel(code, out.code).flags & REPORTS_FP))

cdef inline bint spreads(ndarray x, ndarray over) noexcept:
    """Whether x can be broadcast to the shape of another."""
    cdef int i, skip = over.ndim - x.ndim
    if skip < 0:
        return False
    for i in range(x.ndim):
        if x.shape[i] != 1 and x.shape[i] != over.shape[skip + i]:
            return False
    return True

cdef inline bint shares(object x, ndarray out):
    """Whether x is of the same storage, and not the same elements of it."""
    return is_ours(x) and (<ndarray>x).st == out.st and not same_elements(<ndarray>x, out)

cdef inline bint goes_with(object x, ndarray out):
    return not is_ours(x) or together(<ndarray>x, out) and same_shape(<ndarray>x, out)

cdef inline bint unread(ndarray out) noexcept:
    return out is None or load_ptr(&out.st.reads) == NULL

cdef bint caught_up(ndarray x, ndarray y, ndarray out):
    """Whether nobody writes the inputs any more, or reads `out`; what writes them is run here, if it can be."""
    if not unread(out):
        return False
    if x is not None:
        try_to_catch_up(x.st)
    if y is not None:
        try_to_catch_up(y.st)
    return (x is None or readable(x.st)) and (y is None or readable(y.st)) and unread(out)

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
    if is_ours(a):
        x = <ndarray>a
    if is_ours(b):
        y = <ndarray>b
    like = x if x is not None else y
    if not like.flags & C_CONTIGUOUS or like.size == 0:
        return None
    ready = (x is None or is_near(x)) and (y is None or is_near(y))
    if ready and (x is not None and x.st.pins or y is not None and y.st.pins):
        return None                             # it is waited for
    if not joins(like.size, p.kernel, ready):
        if ready:
            return None                         # quick_binary had its reasons
        if caught_up(x, y, out):
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
            be_element(out)
    if launch_flat(p.kernel, x if x is not None else like, y, constant if x is None or y is None else NULL, where, out):
        return out
    return None

cdef ndarray quick_unary(Plan* p, ndarray x):
    """As quick_binary."""
    cdef Kernel* k = p.kernel
    cdef char room[MIXED_BYTES]
    cdef char* args[2]
    cdef intp steps[2]
    cdef intp n = x.size
    cdef ndarray out
    if k.flags & (MAY_RAISE | INVALID_FAILS) or p.nargs != 2 or is_for_later(n, k, x, None) or not is_near(x) or not (
            x.flags & C_CONTIGUOUS or x.ndim == 1):
        return None
    args[0], steps[0] = data_of(x), step_of_line(x)
    if not p.direct and not cast_line(args, steps, x, p.codes[0], room):
        return None
    out = new_array(p.codes[1], x.ndim, x.shape)
    if not give_memory(out, x, None):
        return None
    point_at(args, steps, 1, out)
    run_now(k, args, &n, steps)
    return out

cdef ndarray queue_unary(Plan* p, ndarray x):
    """As queue_binary."""
    cdef ndarray out
    if not p.direct or p.nargs != 2 or not x.flags & C_CONTIGUOUS or x.st.pins or not (
            joins(x.size, p.kernel, is_near(x))):
        return None
    out = new_array(p.codes[1], x.ndim, x.shape, True)
    out.st.device = x.st.device
    if x.ndim == 0:
        be_element(out)
    return out if launch_flat(p.kernel, x, None, NULL, 0, out) else None

cdef ndarray launch_direct(Plan* p, object a, object b, ndarray out):
    """A call whose operands, one or two (then b is not None), arrays or a number, need no casts, through launch(). None
    when call() must decide, or say what is wrong. out: where to, of the result's type; operands in its storage have the
    same elements. Or None, for a new array."""
    cdef Operand ops[3]
    cdef Scalar room
    cdef intp shape[MAXDIMS]
    cdef ndarray x, like = None, least = None       # the one of most axes, and the other one
    cdef int i, ndim, nin = p.nargs - 1
    cdef bint pending = False
    if not p.direct:
        return None
    for i in range(nin):
        z = b if i else a
        if not is_ours(z):
            continue
        x = <ndarray>z
        pending = pending or not readable(x.st)
        if like is None:
            like = x
        elif x.ndim > like.ndim:
            like, least = x, like
        else:
            least = x
    ndim = like.ndim
    memcpy(shape, like.shape, ndim * sizeof(intp))
    if least is not None and not broadcast_to(shape + ndim - least.ndim, least):
        return None
    if out is None:
        if lies_in_order(like) or least is None and like.flags & C_CONTIGUOUS:
            out = new_array(p.codes[nin], ndim, shape, pending)
        else:
            out = new_like([like] if least is None else [like, least], p.codes[nin], ndim, shape, pending)
        if ndim == 0:
            be_element(out)
    elif out.ndim != ndim or memcmp(out.shape, shape, ndim * sizeof(intp)) != 0:
        return None
    for i in range(nin):
        z = b if i else a
        if is_ours(z):
            fill_operand(&ops[i], <ndarray>z, ndim, shape, False)
            if (<ndarray>z).st == out.st:
                ops[i].flags |= UNTRACKED_READ
        else:
            write_scalar(z, p.codes[i], <char*>&room)
            fill_constant(&ops[i], <char*>&room, itemsizes[p.codes[i]])
    fill_operand(&ops[nin], out, ndim, shape, True)
    launch(p.kernel, ops, nin + 1, ndim, shape, NULL)
    return out

cdef ndarray direct_unary(Plan* p, ndarray x):
    """p of x: at once, as a task, or wherever launch() puts it; None when call() must decide."""
    cdef ndarray out = quick_unary(p, x)
    if out is None:
        out = queue_unary(p, x)
    return launch_direct(p, x, None, None) if out is None else out

cdef ndarray direct_binary(Plan* p, object a, object b):
    """The same of two operands."""
    cdef Plan same
    cdef ndarray out = quick_binary(p, a, b, None)
    if out is None and not p.direct and (is_ours(a) or p.codes[0] != BOOL) and (is_ours(b) or p.codes[1] != BOOL):
        same = p[0]
        same.direct = True
        p = &same
        if is_ours(a):
            a = cast(<ndarray>a, p.codes[0])
        if is_ours(b):
            b = cast(<ndarray>b, p.codes[1])
    if out is None:
        out = queue_binary(p, a, b, None)
    return launch_direct(p, a, b, None) if out is None else out

cdef inline bint broadcast_to(intp* shape, ndarray x) noexcept:
    """The shape of x and one of as many axes; False where they do not fit."""
    cdef int i
    for i in range(x.ndim):
        if shape[i] == 1:
            shape[i] = x.shape[i]
        elif x.shape[i] != shape[i] and x.shape[i] != 1:
            return False
    return True

cdef inline bint lies_in_order(ndarray x) noexcept:
    """Whether no axis has a longer stride than the one before it, and none is broadcast: then new_like() follows it."""
    cdef intp* strides = strides_of(x)
    cdef int i
    for i in range(x.ndim):
        if x.shape[i] == 1 or strides[i] == 0 or i and labs(strides[i]) > labs(strides[i - 1]):
            return False
    return True

cdef inline bint multiplies(Plan* p, ndarray x, ndarray y) noexcept:
    """Whether they are vectors or matrices, not empty, of types and inner lengths that fit."""
    return (p.direct and p.nargs == 3 and 0 < x.ndim <= 2 and 0 < y.ndim <= 2 and x.size != 0 and y.size != 0
            and x.shape[x.ndim - 1] == y.shape[0])

cdef inline int fill_product(ndarray x, ndarray y, intp* dims, intp* steps, intp* shape) noexcept:
    """The three lengths of x @ y, and the steps of x and y along them;
    the result's shape, and the number of its axes."""
    cdef int ndim = 0
    memset(steps, 0, 6 * sizeof(intp))          # of axes that a vector does not have
    dims[0] = x.shape[0] if x.ndim == 2 else 1
    dims[1] = y.shape[0]
    dims[2] = y.shape[1] if y.ndim == 2 else 1
    if x.ndim == 2:
        shape[0] = dims[0]
        ndim = 1
        steps[0] = strides_of(x)[0]
    steps[1] = strides_of(x)[x.ndim - 1]
    steps[2] = strides_of(y)[0]
    if y.ndim == 2:
        shape[ndim] = dims[2]
        ndim += 1
        steps[3] = strides_of(y)[1]
    return ndim

cdef inline void fill_result(ndarray x, ndarray y, ndarray out, intp* steps) noexcept:
    """The result's steps."""
    if x.ndim == 2:
        steps[4] = strides_of(out)[0]
    if y.ndim == 2:
        steps[5] = out.itemsize

cdef ndarray quick_matmul(Plan* p, ndarray x, ndarray y):
    """Products of vectors and matrices that are small and ready, here and now; else None."""
    cdef Kernel* k = p.kernel
    cdef intp dims[4]
    cdef intp steps[9]
    cdef intp shape[2]
    cdef int ndim
    cdef ndarray out
    if (x.ndim == y.ndim == 1 and x.size == 0 and y.size == 0 and p.direct and p.nargs == 3
            and is_near(x) and is_near(y) and together(x, y)):
        out = new_array(p.codes[2], 0, NULL)
        out.st.device = x.st.device
        be_element(out)
        memset(out.st.data, 0, out.itemsize)
        return out
    if x.ndim == y.ndim == 1 and x.size <= DOT and not (is_near(x) and is_near(y)):
        if not (comes_near(x) and comes_near(y)):   # before anything is read of them: it may give up the GIL
            return None
        handed.needed = max(handed.needed - 1, 0)
    if not multiplies(p, x, y) or not is_near(x) or not is_near(y) or not together(x, y):
        return None
    dims[0] = 1
    steps[0] = steps[1] = steps[2] = 0
    ndim = fill_product(x, y, dims + 1, steps + 3, shape)
    if dims[1] * dims[2] * dims[3] * k.cost > settings.inline_cost or long_vectors(dims[1], dims[2], dims[3]):
        return None
    out = new_array(p.codes[2], ndim, shape)
    if not give_memory(out, x, y):
        return None
    fill_result(x, y, out, steps + 3)
    if ndim == 0:
        k = dot_kernel(x.code)
        dims[1] = dims[2]
        steps[3] = steps[4]
        steps[4] = steps[5]
    return multiplied(k, p.kernel, x, y, out, dims, steps)

cdef ndarray quick_vecdot(Plan* p, ndarray x, ndarray y):
    """Of vectors of one type, or the rows of two matrices, the first one conjugated, that are small and ready, here and
    now; else None."""
    cdef intp dims[2]
    cdef intp steps[5]
    cdef ndarray out
    cdef int axis = x.ndim - 1
    if x.size * p.kernel.cost > settings.inline_cost or not (comes_near(x) and comes_near(y)):
        return None
    if (not is_near(x)                  # still: y may have given up the GIL
            or not p.direct or not 0 < x.ndim <= 2 or not same_shape(x, y) or x.size == 0 or not together(x, y)):
        return None
    dims[0] = x.shape[0] if axis else 1
    dims[1] = x.shape[axis]
    steps[0], steps[1] = strides_of(x)[0], strides_of(y)[0]
    steps[3], steps[4] = strides_of(x)[axis], strides_of(y)[axis]
    out = new_array(p.codes[2], axis, x.shape)
    steps[2] = out.itemsize
    return multiplied(p.kernel, p.kernel, x, y, out, dims, steps) if give_memory(out, x, y) else None

cdef ndarray multiplied(Kernel* k, Kernel* named, ndarray x, ndarray y, ndarray out, intp* dims, intp* steps):
    """out, by k's loop. named: what warnings are of. None when NumPy's BLAS is another's."""
    cdef char* args[3]
    cdef int flags, use
    args[0] = x.st.data + x.offset
    args[1] = y.st.data + y.offset
    args[2] = out.st.data
    settings.inlined += 1
    use = blas_use(k, dims, steps) if k.resources & BLAS else UNUSED
    if not enter_gate(use, False):
        return None
    flags = call_loop(k, args, dims, steps)
    if use != UNUSED:
        leave_gate(use)
        resume_held_back(NULL)
    if k.flags & MAY_RAISE and this_thread_raised():
        raise_current()
    fp_event(flags, named)
    return out

cdef ndarray queue_matmul(Plan* p, ndarray x, ndarray y):
    """The product of vectors and matrices as a task, or wherever launch() puts it;
    None when the long way must be gone."""
    cdef Core core
    cdef Operand ops[3]
    cdef intp shape[2]
    cdef int ndim
    cdef ndarray out
    if not multiplies(p, x, y):
        return None
    core.ndim = 3
    core.nsteps = 6
    ndim = fill_product(x, y, core.dims, core.steps, shape)
    out = new_array(p.codes[2], ndim, shape, True)
    if ndim == 0:
        be_element(out)
    fill_result(x, y, out, core.steps)
    fill_operand(&ops[0], x, x.ndim, x.shape, False)
    fill_operand(&ops[1], y, y.ndim, y.shape, False)
    fill_operand(&ops[2], out, ndim, shape, True)
    launch(p.kernel, ops, 3, 0, shape, &core)
    return out

cdef Kernel REDUCE                  # its name, in warnings, as NumPy gives it
REDUCE.name = b"reduce"

cdef enum:
    FIRST = 4096                # bools that may decide at once, however many there are,
    FEW = 32                    # and numbers

cdef inline bint is_decided(Reduction* r, ndarray a) noexcept:
    """Whether one of the first elements of a, or of its first row, is such that the others do not matter."""
    cdef char truths[FEW]
    cdef char* args[2]
    cdef intp steps[2]
    cdef Kernel* k
    cdef bint whole = a.flags & (C_CONTIGUOUS | F_CONTIGUOUS)
    cdef intp n = a.size if whole else a.shape[a.ndim - 1], step = a.itemsize if whole else strides_of(a)[a.ndim - 1]
    if a.code == BOOL and step == 1:
        return memchr(data_of(a), r.deciding, min(n, FIRST)) != NULL
    k = cast_kernel(a.code, BOOL)
    n = min(n, <intp>FEW)
    args[0], args[1] = data_of(a), truths
    steps[0], steps[1] = step, 1
    k.loop(args, &n, steps, k.data)
    return memchr(truths, r.deciding, n) != NULL

cdef inline double work_of(Reduction* r, ndarray a, uint64_t axes) noexcept:
    """Nanoseconds. Where three rows of bools decide at once, it is taken that most do."""
    cdef double cost = a.size * r.plan.kernel.cost
    cdef int last = 0 if a.shape[a.ndim - 1] == 1 else 1        # of two axes, that of a row
    cdef intp i, n, rows
    cdef intp* strides = strides_of(a)
    if cost <= settings.inline_cost or r.deciding < 0 or a.code != BOOL or a.ndim != 2 or (
            axes != <uint64_t>1 << last or strides[last] != 1 or not is_near(a)):
        return cost
    n, rows = a.shape[last], a.size // a.shape[last]
    for i in range(3):
        if memchr(data_of(a) + i * (rows - 1) // 2 * strides[0], r.deciding, min(n, FIRST)) == NULL:
            return cost
    return 16 * rows

cdef bint comes_near(ndarray a):
    """Whether what a waits for was small, and has been run here: one number of it is likely to be read at once."""
    try_to_catch_up(a.st)
    return is_near(a)

cdef ndarray quick_reduce(Reduction* r, ndarray a):
    """The reduction of all elements of a, when that is cheap and can be done now; else None."""
    cdef Kernel* k
    cdef Kernel* cast
    cdef ndarray out
    cdef intp step = strides_of(a)[0] if a.ndim == 1 else a.itemsize
    k = r.plan.kernel
    if a.size == 0:
        return None
    if not is_near(a):
        if a.size * k.cost > settings.inline_cost or not comes_near(a):
            return None
        handed.needed = max(handed.needed - 1, 0)
    if r.deciding >= 0 and is_decided(r, a):
        out = new_array(BOOL, 0, NULL)
        out.st.device = a.st.device
        be_element(out)
        out.st.data[0] = <char>r.deciding
        settings.inlined += 1
        return out
    if a.ndim != 1 and not a.flags & (C_CONTIGUOUS | F_CONTIGUOUS if r.fold.exact else C_CONTIGUOUS) or (
            k.flags & (MAY_RAISE | INVALID_FAILS)):
        return None
    if r.plan.codes[0] == a.code:
        cast = NULL
    elif r.fold.exact and r.has_initial:
        cast = cast_kernel(a.code, r.plan.codes[0])
    else:
        return None
    if cast == NULL and a.size * k.cost > MIDDLING * settings.inline_cost:
        return None
    if cast != NULL and a.size * (k.cost + cast.cost) > MIDDLING * settings.inline_cost * (1 + (handed.needed > 0)):
        return None                     # what is needed at once would be cast first, and stored: as much again
    out = new_array(r.plan.codes[2], 0, NULL)
    out.st.device = a.st.device
    be_element(out)
    if r.has_initial:
        memcpy(out.st.data, &r.initial, out.itemsize)
    settings.inlined += 1
    fp_clear()
    if cast == NULL:
        fold(&r.fold, out.st.data, a.st.data + a.offset, a.size, step, not r.has_initial, True)
    else:
        fold_casts(&r.fold, cast, out.st.data, a, step)
    if k.flags & REPORTS_FP:
        fp_event(fp_flags(), &REDUCE)
    return out

cdef uint64_t axes_named(object axis, int ndim) noexcept:
    """The bits of axes; 0 for none, and for what is to be looked at closely."""
    cdef uint64_t axes = 0, bit
    cdef long i
    if axis is None:
        return (<uint64_t>1 << ndim) - 1 if ndim < 64 else 0
    for one in axis if type(axis) is tuple else (axis,):
        if type(one) is not int or not -64 < one < 64:
            return 0
        i = one + ndim if one < 0 else one
        bit = <uint64_t>1 << i if 0 <= i < ndim else 0
        if bit == 0 or axes & bit:
            return 0
        axes |= bit
    return axes

cdef ndarray quick_reduce_axes(Reduction* r, ndarray a, uint64_t axes, bint keepdims):
    """The same along some axes, of which the bits are set; those that are left must be as one."""
    cdef Kernel* k = r.plan.kernel
    cdef Core reduced
    cdef ndarray out
    cdef intp shape[MAXDIMS]
    cdef intp dims[MAXDIMS + 1]
    cdef intp steps[MAXDIMS + 3]
    cdef char* args[3]
    cdef intp n, step, last = 0         # of the axis that those that are left are
    cdef int i, ndim = 0, end = 2 if r.has_initial else 1
    if a.size == 0 or axes == 0 or r.plan.codes[0] != r.plan.codes[1] or (
            a.code != r.plan.codes[0] and not (r.fold.exact and (is_integer(a.code) or r.plan.codes[0] == BOOL))):
        return None
    if k.flags & (MAY_RAISE | INVALID_FAILS) or work_of(r, a, axes) > settings.inline_cost or not comes_near(a):
        return None
    reduced.ndim, dims[0] = 0, 1
    for i in range(a.ndim):
        n, step = a.shape[i], strides_of(a)[i]
        if axes >> i & 1:
            reduced.dims[reduced.ndim], reduced.steps[reduced.ndim] = n, step
            reduced.ndim += 1
            n = 1
        elif n > 1:
            if dims[0] > 1 and last != n * step:
                return None
            dims[0] *= n
            last = step
        if keepdims or not axes >> i & 1:
            shape[ndim] = n
            ndim += 1
    reduced.ndim = merge_axes(&reduced, reduced.ndim)
    if reduced.dims[0] == 1:
        return None
    out = allocated(r.plan.codes[2], ndim, shape)
    out.st.device = a.st.device
    if ndim == 0:
        be_element(out)
    steps[0] = last                     # 0 for one output, which has no others beside it
    args[0], args[end] = data_of(a), data_of(out)
    steps[end] = out.itemsize
    if r.has_initial:
        args[1] = <char*>&r.initial
        steps[1] = 0
    memcpy(dims + 1, reduced.dims, reduced.ndim * sizeof(intp))
    memcpy(steps + end + 1, reduced.steps, reduced.ndim * sizeof(intp))
    settings.inlined += 1
    fp_clear()
    k = reduce_kernel(k, r.plan.codes[0], a.code, reduced.ndim, r.has_initial, r.fold.blocked)
    k.loop(args, dims, steps, k.data)
    if k.flags & REPORTS_FP:
        fp_event(fp_flags(), &REDUCE)
    return out

cdef void fold_casts(Fold* w, Kernel* cast, char* out, ndarray a, intp step) noexcept:
    """out = out op a[0] op a[1] .. in another type, a block after the other."""
    cdef char block[FOLD_BYTES]
    cdef char* args[2]
    cdef intp steps[2]
    cdef intp n, left = a.size
    args[0], args[1] = data_of(a), block
    steps[0], steps[1] = step, w.itemsize
    while left:
        n = min(left, fold_block(w))
        cast.loop(args, &n, steps, cast.data)
        fold_one(w, out, block, n, w.itemsize, False, True)
        args[0] += n * step
        left -= n

cdef Kernel ACCUMULATE
ACCUMULATE.name = b"accumulate"

cdef ndarray quick_accumulate(Reduction* r, ndarray a):
    """The same up to each element of a, which has one axis."""
    cdef Kernel* k = r.plan.kernel
    cdef ndarray out
    cdef char* args[3]
    cdef intp steps[3]
    cdef intp n = a.size - 1
    if n < 0 or not is_near(a) or r.plan.codes[0] != a.code or k.flags & (MAY_RAISE | INVALID_FAILS) or (
            a.size * (k.cost + 1) > settings.inline_cost):
        return None
    out = allocated(a.code, 1, a.shape)
    out.st.device = a.st.device
    steps[0] = steps[2] = a.itemsize
    steps[1] = strides_of(a)[0]
    args[0] = data_of(out)
    args[1] = data_of(a) + steps[1]
    args[2] = args[0] + a.itemsize
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
