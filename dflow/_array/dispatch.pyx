"""launch(): how a kernel runs over its operands, in the caller or as a task."""

import numpy as np
from libc.stdint cimport uint8_t
from libc.stdlib cimport labs
from libc.string cimport memcpy, memset
from dflow._runtime.runners cimport pending
from dflow._runtime.waiting cimport region_ready, try_to_catch_up, wait_storage
from dflow._kernels.kernel cimport (
    BLAS, core_cost, ELEMENTWISE, INVALID_FAILS, MAXDIMS, MAY_RAISE, PRODUCT, raise_current, REPORTS_FP, TELLS_FP)
from dflow._base.atomics cimport add_int, load_int, load_ptr
from dflow._base.fpflags cimport FP_INVALID
from dflow._base.threads cimport sleep_ns, this_thread_raised
from dflow._kernels.blas_library cimport blas_loaded, load_blas
from dflow._kernels.matmul cimport UNUSED, blas_use, long_vectors, worth_blas
from dflow._engine cimport saves_little, settings, submit
from dflow._runtime.fp_errors cimport finite_checked, fp_event, fp_warn, is_strict, read_fp_policy
from dflow._runtime.open_group cimport would_join
from dflow._runtime.tuning cimport MIDDLING, SPLIT_NS
from dflow._runtime.gate cimport enter_gate, leave_gate
from dflow._runtime.errors cimport Site
from dflow._runtime.events cimport shape_next, watched
from dflow._runtime.graph cimport (
    abroad, FULL, handed, HAS_REGIONS, product_cost, Storage, storage_allocate, storage_unref, Task, task_constant,
    task_dims, task_index, task_new, task_strides, TRACKED, WRITE)
from dflow._kernels.outer_loop cimport rows_cost, run_kernel
from dflow._base.thread_state cimport CPUS, FIXED, NEAR, captures, capturing, crossing, current_device, many_devices
from dflow._gpu.mirror cimport bring_here, gpus, wait_there
from dflow._runtime.executor cimport inside_host_task, invalid_error, resume_held_back

cdef enum:
    LARGE = 1 << 18         # bytes of which it matters whether they are fresh memory

# ---- launching kernels -----------------------------------------------------------------------------------------

cdef int fill_constant(Operand* o, char* constant, int itemsize) noexcept:
    o.s = NULL
    o.constant = constant
    o.itemsize = itemsize
    o.flags = 0
    o.offset = 0
    memset(o.strides, 0, sizeof(o.strides))
    return 0

cdef int fill_index(Operand* o, int ndim, intp* shape) noexcept:
    cdef intp stride = 1
    cdef int i
    fill_constant(o, NULL, 0)
    for i in range(ndim - 1, -1, -1):
        o.strides[i] = stride
        stride *= shape[i]
    return 0

cdef inline intp* strides_at(char* first, size_t pitch, int k) noexcept:
    return <intp*>(first + k * pitch)

cdef inline int coalesce(intp* shape, int ndim, char* first, size_t pitch, int n) noexcept:
    """Fewer, longer axes for n operands. The new number of axes; 0 if all had length 1.

    The strides of the first operand lie at `first`, those of the next one `pitch` bytes further.

    1. Axes of length 1 are dropped.
    2. Long strides of the last operand, an output as a rule, go outside.
    3. An axis that continues the one before it, for all operands, is joined with that.
    """
    cdef intp* lead = strides_at(first, pitch, n - 1)
    cdef int i, j, k, kept = 0
    for i in range(ndim):
        if shape[i] == 1:
            continue
        j = kept                                # insertion sort
        while j > 0 and labs(lead[j - 1]) < labs(lead[i]):
            j -= 1
        if j < i:
            move_axis(shape, first, pitch, n, i, j, kept)
        kept += 1
    if kept == 0:
        return 0
    j = 0
    for i in range(1, kept):
        if continues(first, pitch, n, j, i, shape[i]):
            shape[j] *= shape[i]
        else:
            j += 1
            if j == i:
                continue
            shape[j] = shape[i]
        for k in range(n):
            strides_at(first, pitch, k)[j] = strides_at(first, pitch, k)[i]
    return j + 1

cdef inline void move_axis(intp* shape, char* first, size_t pitch, int n, int source, int target, int end) noexcept:
    """Axis `source` goes to `target`; axes target .. end - 1 move up by one."""
    cdef intp kept = shape[source]
    cdef intp* strides
    cdef int i, k
    for i in range(end, target, -1):
        shape[i] = shape[i - 1]
    shape[target] = kept
    for k in range(n):
        strides = strides_at(first, pitch, k)
        kept = strides[source]
        for i in range(end, target, -1):
            strides[i] = strides[i - 1]
        strides[target] = kept

cdef inline bint continues(char* first, size_t pitch, int n, int outer, int inner, intp length) noexcept:
    """Whether a step along `outer` is for all operands one past the end of `inner`, of that length."""
    cdef intp* strides
    cdef int k
    for k in range(n):
        strides = strides_at(first, pitch, k)
        if strides[outer] != strides[inner] * length:
            return False
    return True

cdef int simplify(Operand* ops, int nops, int ndim, intp* shape) noexcept:
    """Fewer, longer loops. Changes shape and strides; the new number of axes, at least 1."""
    cdef int i, n = coalesce(shape, ndim, <char*>ops[0].strides, sizeof(Operand), nops)
    if n:
        return n
    shape[0] = 1
    for i in range(nops):
        ops[i].strides[0] = 0
    return 1

cdef inline void face_forward(Operand* ops, int nops, int ndim, intp* shape) noexcept:
    """Have axes that all operands go through backwards gone through forwards, as NumPy does."""
    cdef int i, j
    for i in range(ndim):
        if ops[nops - 1].strides[i] >= 0:
            continue
        j = 0
        while j < nops and ops[j].strides[i] <= 0:
            j += 1
        if j < nops:
            continue
        for j in range(nops):
            ops[j].offset += ops[j].strides[i] * (shape[i] - 1)
            ops[j].strides[i] = -ops[j].strides[i]

cdef int merge_axes(Core* core, int m) noexcept:
    """The same of m reduced axes, the core dimensions of one operand."""
    cdef int n = coalesce(core.dims, m, <char*>core.steps, 0, 1)
    if n:
        return n
    core.steps[0] = core.steps[m - 1]           # dims[0] is 1
    return 1

cdef bint operands_ready(Operand* ops, int nops) noexcept:
    """Whether no pending task stands in the way; a poisoned operand goes the way of a task, which knows what to do."""
    cdef int i
    cdef Region* r
    for i in range(nops):
        if ops[i].s == NULL:
            continue
        r = NULL if ops[i].flags & FULL else &ops[i].region
        if not region_ready(ops[i].s, r, ops[i].flags & WRITE) or load_ptr(&ops[i].s.poison) != NULL:
            return False
    return True

cdef bint any_abroad(Operand* ops, int nops) noexcept:
    cdef int i
    for i in range(nops):
        if ops[i].s != NULL and abroad(ops[i].s):
            return True
    return False

cdef inline bint ahead_of_workers(Operand* ops, int nops) noexcept:
    """Whether an output, of which it writes a part, would get its memory long before its other tasks run, which shall
    take what earlier ones let go. Reads `data` without the lock: either way, the write is right, here or as a task."""
    cdef int i
    for i in range(nops):
        if (ops[i].flags & (WRITE | FULL) == WRITE and load_ptr(&ops[i].s.data) == NULL and ops[i].s.nbytes > LARGE
                and pending() > 0):
            return True
    return False

cdef bint caught_up(Operand* ops, int nops) noexcept:
    cdef int i
    for i in range(nops):
        if ops[i].s != NULL:
            try_to_catch_up(ops[i].s)
    return operands_ready(ops, nops)

cdef int place_outputs(Kernel* k, Operand* ops, int nops) except -1:
    """Outputs are where an array was put, else, if they are nowhere yet, where this thread is.
    ValueError for several such devices."""
    cdef Storage* s
    cdef int i, fixed = -1, loose = -1
    for i in range(nops):
        s = ops[i].s
        if s == NULL or (not ops[i].flags & WRITE and crossing()):
            continue
        if s.device & FIXED:
            if fixed >= 0 and s.device != fixed:
                raise several(k.name.decode(), fixed, s.device)
            fixed = s.device
        elif loose <= 0 and not ops[i].flags & WRITE:
            loose = s.device
    if fixed < 0:
        fixed = loose if loose > 0 else 2 * current_device()
    for i in range(nops):
        s = ops[i].s
        if (s != NULL and ops[i].flags & WRITE and (fixed & FIXED or s.device == 0) and not abroad(s)
                and not (s.pins and fixed > NEAR)):
            s.device = <uint8_t>fixed
    return 0

cdef str device_name(int device):
    return f"cpu({device >> 1})" if device <= NEAR else f"gpu({(device >> 1) - CPUS})"

cdef object several(name, int device, int other):
    return ValueError(f"{name}: its arrays are on {device_name(device)} and {device_name(other)}; as_in_ctx() brings "
                      "an array to another device")

cdef int launch(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core) except -1:
    """Run k over a space of ndim axes: now, when its operands are ready and it is cheap, or else as a task.

    ops and shape are changed. core: its core dimensions, or NULL. Callers hold the operands' arrays, and so, while they
    keep the GIL, their storages.
    """
    cdef double cost
    cdef intp elements = 1
    cdef int i
    if many_devices:
        place_outputs(k, ops, nops)
    for i in range(ndim):
        elements *= shape[i]
    if elements == 0:
        return 0
    cost = k.cost * elements
    if core != NULL:
        cost *= core_cost(k, core.dims, core.ndim)
    if k.flags & PRODUCT and long_vectors(core.dims[0], core.dims[1], core.dims[2]):
        cost = product_cost(cost, k, 2)
    if k.flags & PRODUCT and not blas_loaded() and worth_blas(core.dims[0], core.dims[1], core.dims[2]):
        with_references(LOAD, k, ops, nops, ndim, shape, core, NULL)
    if k.flags & ELEMENTWISE:
        face_forward(ops, nops, ndim, shape)
    if load_int(&watched):
        shape_next(ndim, shape)
    ndim = simplify(ops, nops, ndim, shape)
    if core == NULL:
        cost += rows_cost(k, ndim, shape)
    if core == NULL and shape[0] == 1 and ndim == 1:
        # the steps choose NumPy's loop, and so the last bit: as in fastpath.pyx and in FLAT tasks
        for i in range(nops):
            ops[i].strides[0] = ops[i].itemsize if ops[i].s != NULL else 0
    if captures and capturing():
        launch_hooks.observe(k, ops, nops, ndim, shape, core, cost, elements)
    return dispatch(k, ops, nops, ndim, shape, core, cost, elements, NULL)

cdef int dispatch(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, double cost, intp elements,
                  Site* site) except -1:
    """launch() once cost and loops are known. Changes nothing of what it is given. site: where it was submitted;
    NULL: here."""
    cdef bint strict, small, ready, catches_up, elementwise = (k.flags & ELEMENTWISE) != 0
    cdef double most = settings.tiny_cost if elementwise else settings.inline_cost
    read_fp_policy()
    strict = is_strict(k)
    if gpus and any_abroad(ops, nops) and not inside_host_task() and not (strict and finite_checked):
        if settings.naive:
            return with_references(FINISH, k, ops, nops, ndim, shape, core, site)
        return run_later(k, ops, nops, ndim, shape, core, site)
    small = not elementwise and cost <= MIDDLING * most
    if any_pinned(ops, nops):                   # it is waited for, and joins no group
        most = MIDDLING * settings.inline_cost
        if k.flags & PRODUCT:
            most = min(most, SPLIT_NS)
    if elementwise and cost > most and (ndim == 1 or k.operation == 0) and operands_ready(ops, nops) and (
            not would_join(elements, True) and saves_little(k, cost)):
        most = cost                             # of rows a group's code makes more than a call of a loop each
    ready = (small or cost <= most) and operands_ready(ops, nops)
    catches_up = not ready and cost <= most and not (elementwise and would_join(elements, False))
    if small and handed.needed > 0 and not (ready and cost <= most):
        handed.needed -= 1
        catches_up, most = not ready, cost
    if not strict and cost <= most and (ready or catches_up) and not ahead_of_workers(ops, nops):
        if catches_up:
            return with_references(CATCH_UP, k, ops, nops, ndim, shape, core, site)
        if run_here(k, ops, nops, ndim, shape, core):
            return 0
    if strict or settings.naive or inside_host_task():
        return with_references(WAIT if strict else TRY, k, ops, nops, ndim, shape, core, site)
    if small:
        return hand_over(k, ops, nops, ndim, shape, core, site)
    return run_later(k, ops, nops, ndim, shape, core, site)

cdef inline bint any_pinned(Operand* ops, int nops) noexcept:
    cdef int i
    for i in range(nops):
        if ops[i].s != NULL and ops[i].s.pins:
            return True
    return False

cdef int hand_over(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, Site* site) except -1:
    """What is small, as a task."""
    run_later(k, ops, nops, ndim, shape, core, site)
    if not k.flags & ELEMENTWISE and k.nin < nops:
        handed.over = ops[k.nin].s
    return 0

cdef enum Purpose:
    LOAD                # SciPy's BLAS
    CATCH_UP            # with what is small, and then to run it at once
    TRY                 # the same of what is ready
    WAIT                # until it is: what np.errstate raises is raised at the call
    FINISH              # to let a GPU do it, and wait for that

cdef int with_references(Purpose purpose, Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core,
                         Site* site) except -1:
    """What gives up the GIL before a task has the storages: another thread may resize an array of theirs (become())."""
    cdef int i
    for i in range(nops):
        if ops[i].s != NULL:
            add_int(&ops[i].s.refs, 1)
    try:
        if purpose == LOAD:
            return load_blas()
        if purpose == WAIT:
            for i in range(nops):
                if ops[i].s != NULL:
                    wait_storage(ops[i].s, NULL if ops[i].flags & FULL else &ops[i].region, ops[i].flags & WRITE, False)
        if purpose == FINISH:
            run_later(k, ops, nops, ndim, shape, core, site)
            for i in range(k.nin, nops):
                wait_storage(ops[i].s, NULL, False, False)
                wait_there(ops[i].s)
            return 0
        if purpose == CATCH_UP:
            if caught_up(ops, nops) and not ahead_of_workers(ops, nops) and (
                    run_here(k, ops, nops, ndim, shape, core)):
                return 0
            if not settings.naive and not inside_host_task():
                return hand_over(k, ops, nops, ndim, shape, core, site)
        while operands_ready(ops, nops):
            if run_here(k, ops, nops, ndim, shape, core):
                return 0
            with nogil:                     # until NumPy's BLAS is free
                sleep_ns(50000)
        return run_later(k, ops, nops, ndim, shape, core, site)
    finally:
        for i in range(nops):
            if ops[i].s != NULL:
                storage_unref(ops[i].s)

cdef int copy_out(Kernel* k, Operand* source, int ndim, intp* shape, char* to) except -1:
    """Run k from source, which is ready, to memory outside the engine, in C order.
    Keeps the GIL: nobody submits a write."""
    cdef Operand ops[2]
    cdef intp dims[MAXDIMS]
    cdef intp size = 1
    cdef int i
    ops[0] = source[0]
    fill_constant(&ops[1], to, source.itemsize)
    for i in range(ndim - 1, -1, -1):
        dims[i] = shape[i]
        ops[1].strides[i] = size * source.itemsize
        size *= shape[i]
    if size:
        ndim = simplify(ops, 2, ndim, dims)
        run_here(k, ops, 2, ndim, dims, NULL)
    return 0

cdef inline char* memory_of(Kernel* k, Operand* o) except NULL:
    """Where the operand, which is no constant, begins in memory here; a result is given some."""
    if abroad(o.s):
        bring_here(o.s, o.flags & (WRITE | FULL) != WRITE | FULL, o.flags & WRITE)
    elif not storage_allocate(o.s):
        raise MemoryError(f"Unable to allocate {o.s.nbytes} bytes for the result of {k.name.decode()}")
    return o.s.data + o.offset

cdef bint run_here(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core) except -1:
    """Run k with the GIL held. False: it would have had to wait for others in NumPy's BLAS, and is to be run again."""
    cdef char* args[256]
    cdef intp dims[MAXDIMS + 70]
    cdef intp steps[1600]
    cdef int i, flags, use = UNUSED
    if ndim * nops > 1400 or nops > 255:
        run_later(k, ops, nops, ndim, shape, core, NULL)
        return True
    for i in range(nops):
        args[i] = ops[i].constant if ops[i].s == NULL else memory_of(k, &ops[i])
    fill_loops(dims, steps, ops, nops, ndim, shape, core)
    settings.inlined += 1
    if k.resources & BLAS:
        use = blas_use(k, dims + ndim - 1, steps + (ndim - 1) * nops)
        if not enter_gate(use, False):
            return False
    flags = run_kernel(k, args, nops, ndim, dims, steps)
    if use != UNUSED:
        leave_gate(use)
        resume_held_back(NULL)
    if k.flags & MAY_RAISE and this_thread_raised():
        raise_current()
    if flags & FP_INVALID and k.flags & INVALID_FAILS:
        raise invalid_error(k)
    if k.flags & REPORTS_FP or finite_checked and k.flags & TELLS_FP:
        fp_event(flags, k)
    return True

cdef int run_later(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, Site* site) except -1:
    return submit(make_task(k, ops, nops, ndim, shape, core, site))

cdef Task* make_task(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, Site* site) except NULL:
    """What dispatch() submits."""
    cdef int i, flags = 0, access
    cdef size_t constants = 0
    cdef Operand* o
    cdef Task* t
    for i in range(nops):
        if ops[i].s == NULL:
            if ops[i].itemsize > 8:
                constants += ops[i].itemsize
        elif not ops[i].flags & FULL:
            flags = HAS_REGIONS
    t = task_new(k, nops, ndim, core.ndim if core != NULL else 0, core.nsteps if core != NULL else 0, constants, flags)
    t.site = site
    t.fp_warn = <uint8_t>(fp_warn if k.flags & REPORTS_FP else 0)
    fill_loops(task_dims(t), task_strides(t), ops, nops, ndim, shape, core)
    constants = 0
    for i in range(nops):
        o = &ops[i]
        if o.s != NULL:
            access = (o.flags & (WRITE | FULL)) | (0 if o.flags & UNTRACKED_READ else TRACKED)
            fill_access(t, i, o.s, o.offset, o.itemsize, access, &o.region if flags else NULL)
        elif o.constant == NULL:
            task_index(t, i)
        else:
            memcpy(task_constant(t, i, o.itemsize, constants), o.constant, o.itemsize)
            if o.itemsize > 8:
                constants += o.itemsize
    return t

cdef inline void fill_loops(intp* dims, intp* steps, Operand* ops, int nops, int ndim, intp* shape,
                            Core* core) noexcept:
    """The lengths and strides of a kernel's loops, then of its core, as a loop takes them."""
    cdef int i, j
    for i in range(ndim):
        dims[i] = shape[i]
        for j in range(nops):
            steps[0] = ops[j].strides[i]
            steps += 1
    if core != NULL:
        memcpy(dims + ndim, core.dims, core.ndim * sizeof(intp))
        memcpy(steps, core.steps, core.nsteps * sizeof(intp))
