"""Running tasks: see _runtime/executor.pxd."""

from cpython.ref cimport Py_DECREF, Py_XDECREF
from libc.stdlib cimport labs
from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport (
    BLAS, DATA_FOLD, ELEMENTWISE, FENCE, HAS_EFFECTS, HOST, INVALID_FAILS, intp, Kernel, MAY_RAISE, ON_DISK, PRODUCT,
    REDUCES, ROWS, VALUES_FAIL)
from dflow._base.atomics cimport (
    DFLOW_DEBUG, DFLOW_TSAN, add_i64, add_int, cas_int, glance_int, invariant, load_double, load_i64,
    load_int, load_ptr, publish_i64, store_double, store_i64, store_int, store_ptr)
from dflow._base.thread_state cimport loop_raised, must_hold_none
from dflow._base.fpflags cimport fp_clear, fp_collect, FP_INVALID
from dflow._base.threads cimport (
    bell_init, bell_lock, bell_ring_all, bell_unlock, cores_release, now_ns, sleep_ns)
from dflow._kernels.outer_loop cimport run_kernel
from dflow._kernels.reduce cimport BandPlan, fold_of, plan_bands, run_bands, end_bands
from dflow._runtime.fp_errors cimport warn_later
from dflow._kernels.lu cimport ColumnPlan, end_columns, run_columns
from dflow._kernels.matmul cimport ALONE, DotPlan, end_dot, parts_of, plan_dot, plan_parts, run_dot, UNUSED
from dflow._runtime.gate cimport enter_gate, hold_back, leave_gate, release_held_back, take_held_back, use_of
from dflow._runtime.errors cimport Poison, poison_new, poison_raised, poison_unref, Site, take_raised
from dflow._runtime.graph cimport *
from dflow._runtime.fusion_native cimport end_native, find_native, gains_natively
from dflow._runtime.fusion_plan cimport GroupPlan, pieces_of, plan_blocks, plan_group
from dflow._runtime.fusion_rules cimport may_tail
from dflow._runtime.fusion_run cimport end_blocks, run_blocks
from dflow._runtime.open_group cimport group_waits, open_group_after_fork
from dflow._runtime.parking cimport (
    begin_host, begin_long, end_host, end_long, note_split, parking_after_fork, share_next, somebody_looks,
    wake_for_pieces, wake_worker)
from dflow._runtime.queues cimport *
from dflow._runtime.runners cimport *
from dflow._runtime.splits cimport (
    Split, claim_split, end_split, join_split, leave_split, open_split, pieces_t, range_of, shares_left,
    splits_after_fork, work, work_once)
from dflow._base.allocator cimport *
from dflow._runtime.cancel cimport all_cancelled, any_cancelled, cancelled_poison, cancels, is_cancelled
from dflow._runtime.events cimport note_natives, note_never_run, note_part, note_ran, reserve_events, watched
from dflow._runtime.tuning cimport GRAIN_NS, LONG_NS, SHARE_NS, SHARES, SPLIT_NS

cdef extern from "Python.h" nogil:
    PyObject* PyObject_CallOneArg(PyObject*, PyObject*)

cdef extern from "<unistd.h>" nogil:
    int getpid()

cdef extern from *:
    """
    static __thread int tls_host;            /* inside a host task */
    static __thread int tls_cut;             /* what this thread runs was cancelled, and not all of it has run */
    """
    int tls_host
    int tls_cut

# The fuzzer sets these, while nothing is pending: see _runtime/tuning.pxd.
cdef double split_ns = SPLIT_NS, grain_ns = GRAIN_NS

cdef int passes_over = 1            # what is unseen and pure; the benchmarks have all computed that they time

def pass_over_unseen(bint on):
    """Whether results that nobody can see any more are left uncomputed. Returns whether they were."""
    before = bool(passes_over)
    store_int(&passes_over, on)
    return before

def set_split(double least, double grain):
    """Cost from which a kernel is split, and of a piece, in nanoseconds. Returns what they were."""
    before = split_ns, grain_ns
    store_double(&split_ns, least)          # idle threads read them
    store_double(&grain_ns, grain)
    return before

cdef bint inside_host_task() noexcept nogil:
    return tls_host != 0

# ---- queues ----------------------------------------------------------------------------------------------------------

cdef void purge() noexcept nogil:
    """Drop the stale entries of tasks that waiting threads claimed. For when nothing is pending."""
    cdef Task* t = take_any()
    if t == NULL:
        t = take_held_back()
    if t != NULL:
        give_back(t)                        # submitted by another thread just now

# ---- running ---------------------------------------------------------------------------------------------------------

cdef Storage* find_operands(Task* t, char** args, intp* steps) noexcept nogil:
    """Where the operands lie, and the steps of a FLAT task. The storage for which there is no memory, or NULL."""
    cdef Access* a = accesses(t)
    cdef int i
    for i in range(t.nops):
        if t.flags & FLAT:
            steps[i] = 0 if a[i].storage == NULL else itemsize_of(a + i)
        if a[i].storage == NULL:
            args[i] = constant_of(t, i)
        elif storage_allocate(a[i].storage):
            args[i] = a[i].storage.data + offset_of(a + i)
        else:
            return a[i].storage
    return NULL

cdef bint run_alone(Task* t) noexcept nogil:
    """Run an elementwise task, not its group, whose kernel cannot raise. False: an operand is poisoned, or there is no
    memory."""
    cdef Access* a = accesses(t)
    cdef char* args[256]
    cdef intp steps[8]
    cdef int i, flags
    for i in range(t.nops):
        if a[i].storage != NULL and load_ptr(&a[i].storage.poison) != NULL:
            return False
    if find_operands(t, args, steps) != NULL:
        return False
    flags = run_kernel(t.kernel, args, t.nops, t.ndim, task_dims(t), &steps[0] if t.flags & FLAT else task_strides(t))
    if flags & t.fp_warn:
        warn_later(flags & t.fp_warn, t.site, t.kernel)
    return True

cdef inline double least_split(Kernel* k) noexcept nogil:
    """Estimates of others are rougher, and columns, that others have had before, slower."""
    return min(load_double(&split_ns), SHARE_NS) if k.flags & PRODUCT else load_double(&split_ns)

cdef Poison* run_loop(Task* t) noexcept nogil:
    """Run the kernel of t; the error, if any, as a new reference."""
    cdef Kernel* k = t.kernel
    cdef char* args[256]
    cdef intp steps[8]
    cdef int flags
    cdef Poison* p = NULL
    cdef Storage* missing = find_operands(t, args, steps)
    if missing != NULL:
        return memory_poison(t, missing.nbytes)
    if k.flags & ROWS and t.nops <= 64 and cost_of(t) > least_split(k):
        flags = spread_rows(t, args, &p)
    else:
        flags = run_kernel(k, args, t.nops, t.ndim, task_dims(t), &steps[0] if t.flags & FLAT else task_strides(t))
    if p == NULL and k.flags & MAY_RAISE and loop_raised():
        p = poison_raised(t.site, k.name)
    if p != NULL:
        return p
    if flags & FP_INVALID and k.flags & INVALID_FAILS:
        return invalid_poison(t)
    if flags & t.fp_warn:
        warn_later(flags & t.fp_warn, t.site, k)
    return NULL

cdef struct RowsPlan:           # a kernel whose loop dimension is cut into pieces
    Kernel* kernel
    int nops, ndim
    int ndims                   # with core dimensions
    intp* dims
    intp* strides
    char* args[64]
    ColumnPlan* columns         # cut instead, of one matrix; NULL: they are not
    int flags                   # atomic
    Site* site
    Poison* raised              # atomic; owned: the error of a piece, from its runner's indicator. NULL: none

cdef void note_raised(RowsPlan* r) noexcept with gil:
    """Where several pieces fail, the error of the first is the task's, and the errors of others are none."""
    if load_ptr(&r.raised) == NULL:                 # all who write it have the GIL
        store_ptr(&r.raised, poison_raised(r.site, r.kernel.name))
    else:
        take_raised()

cdef void run_rows(void* plan, intp start, intp stop) noexcept nogil:
    cdef RowsPlan* r = <RowsPlan*>plan
    cdef char* args[64]
    cdef intp dims[64 + 70]
    cdef int i
    cdef Kernel* k = r.kernel
    if r.columns != NULL:
        run_columns(r.columns, start, stop)
        if loop_raised():
            note_raised(r)
        return
    for i in range(r.nops):
        args[i] = r.args[i] + (start * r.strides[i] if k.pieces == NULL or r.ndim > 1 else 0)
    memcpy(dims, r.dims, sizeof(intp) * r.ndims)
    fp_clear()
    if k.pieces != NULL and r.ndim == 1:
        k.piece(args, dims, r.strides, k.data, start, stop)
    else:
        dims[0] = stop - start
        run_kernel(k, args, r.nops, r.ndim, dims, r.strides)
    fp_collect(&r.flags)
    if k.flags & MAY_RAISE and loop_raised():
        note_raised(r)

cdef enum:
    LEAST_ACROSS = 64       # of rows of which the elements lie farther apart than the rows do

cdef int spread_rows(Task* t, char** args, Poison** raised) noexcept nogil:
    """Run t in pieces: its own, or of the outermost loop dimension. The floating point flags, and a piece's error."""
    cdef RowsPlan r
    cdef BandPlan a
    cdef ColumnPlan c
    cdef DotPlan d
    cdef intp rows = task_dims(t)[0], pieces = 4 * load_int(&lanes[t.lane].nworkers)
    cdef intp least = (rows + pieces - 1) // pieces
    cdef intp* steps = task_strides(t)
    if t.kernel.pieces != NULL and t.ndim == 1:
        rows = t.kernel.pieces(task_dims(t))
        least = 1
    elif t.ndim == 1 and t.ncore and 0 < labs(steps[0]) < labs(steps[t.nops]):
        least = max(least, LEAST_ACROSS)        # several threads would read the same lines
    if use_of(t) >= ALONE:
        least = rows
    if t.kernel.tag == DATA_FOLD and t.ndim == 1 and (
            plan_bands(fold_of(t.kernel), args, task_dims(t), task_strides(t), &a)):
        spread(t, run_bands, &a, a.bands, 1, cost_of(t))
        end_bands(&a)
        return a.flags
    if t.ndim == 1 and plan_dot(t.kernel, args, task_dims(t), task_strides(t), &d):
        spread(t, run_dot, &d, d.parts, 1, cost_of(t))
        end_dot(&d)
        return d.flags
    r.kernel = t.kernel
    r.nops = t.nops
    r.ndim = t.ndim
    r.ndims = t.ndim + t.ncore
    r.dims = task_dims(t)
    r.strides = task_strides(t)
    r.flags = 0
    r.site = t.site
    r.raised = NULL
    r.columns = NULL
    if t.ndim == 1 and parts_of(t.kernel, task_dims(t)) > 1:
        r.columns = &c
        return spread_columns(t, args, &r, raised)
    memcpy(r.args, args, t.nops * sizeof(args[0]))
    spread(t, run_rows, &r, rows, least, cost_of(t))
    raised[0] = r.raised
    return r.flags

cdef int spread_columns(Task* t, char** args, RowsPlan* r, Poison** raised) noexcept nogil:
    """The factors, and meanwhile the others come who are to solve for parts of the columns."""
    cdef ColumnPlan* c = r.columns
    cdef Lane* lane = &lanes[t.lane]
    cdef bint shares = to_share(lane, cost_of(t))
    if shares:
        add_int(&shared.opening, 1)
        wake_for_pieces(lane, 0, parts_of(t.kernel, task_dims(t)), cost_of(t))
    if plan_parts(t.kernel, args, task_dims(t), task_strides(t), c):
        spread(t, run_rows, r, c.parts, 1, cost_of(t))
        end_columns(c)
        raised[0] = r.raised
    if shares:
        add_int(&shared.opening, -1)
    return FP_INVALID if c.singular else 0

cdef Poison* memory_poison(Task* t, size_t nbytes) noexcept with gil:
    try:
        error = MemoryError(f"Unable to allocate {nbytes} bytes for the result of {t.kernel.name.decode()}")
    except MemoryError as e:
        error = e
    return poison_new(error, t.site, t.kernel.name)

cdef Poison* invalid_poison(Task* t) noexcept with gil:
    try:
        error = invalid_error(t.kernel)
    except Exception as e:          # no memory for that
        error = e
    return poison_new(error, t.site, t.kernel.name)

cdef object invalid_error(Kernel* k):
    """What it means that a kernel with INVALID_FAILS has raised the invalid flag."""
    from numpy.linalg import LinAlgError
    return LinAlgError(k.failure.decode())

cdef Poison* run_host(Task* t, Poison* reason) noexcept with gil:
    """Call the payload with the error that its inputs carry, or None."""
    global tls_host
    cdef PyObject** slot = <PyObject**>task_constants(t)
    cdef PyObject* done
    cdef int process = getpid()
    raised = None
    error = None if reason == NULL else <object>reason.error
    payload = <object>slot[0]
    Py_DECREF(payload)              # the task's own reference; the local one lives on
    slot[0] = NULL
    tls_host += 1
    done = PyObject_CallOneArg(<PyObject*>payload, <PyObject*>error)
    if done == NULL:
        raised = take_raised()
    Py_XDECREF(done)
    tls_host -= 1
    if getpid() != process:
        end_child(raised)
    return NULL if raised is None else poison_new(raised, t.site, t.kernel.name)

cdef void end_child(raised):
    """A function forked, and has returned in the child, too, whose only thread is a worker's, say: the process ends.

    So does a child that a threading.Thread has forked, without what is to be done at exit.
    """
    import os
    import sys
    status = 0
    try:
        if isinstance(raised, SystemExit) and (raised.code is None or isinstance(raised.code, int)):
            status = raised.code or 0
        elif raised is not None:
            status = 1
            sys.excepthook(type(raised), raised, raised.__traceback__)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)

cdef Task* execute(Runner* me, Task* t) noexcept nogil:
    """Run and finish t, me.current; a task to run next, or NULL. Enters with me outside, leaves it inside."""
    cdef bint long = cost_of_all(t) > LONG_NS, lasting = me.index > 0 and long
    cdef Lane* lane = &lanes[t.lane]
    cdef long long start = 0
    cdef int use = use_of(t) if t.kernel.resources & BLAS and not t.flags & ABROAD else UNUSED
    cdef int delay = glance_int(&shared.delay_us)
    invariant(me.lane == NULL or me.lane == lane, b"a worker runs the tasks of its lane")
    if DFLOW_DEBUG:
        must_hold_none(b"no kernel runs under a spin lock")
    if long and unseen(t):
        if load_int(&passes_over) and is_pure(t):
            return pass_over(me, t)
        if t.priority > LAST:
            return put_last(me, t)
    if not enter_gate(use, True):
        return step_aside(me, t, use)
    if delay:
        let_gil_go(me)
        random_delay(me, delay)
    if load_int(&watched):
        reserve_events()
        start = now_ns()
    if lasting:
        begin_long(lane)
    run_task(me, t)
    if load_int(&cancels.any):
        end_cut(t)
    leave_gate(use)
    if lasting:
        end_long(lane)
    if start:
        note_ran(t.order, members_of(t), t.kernel, t.lane, me.index, start, bytes_live())
    enter(me)
    if use != UNUSED:
        resume_held_back(me)
    me.current = NULL
    me.current = retire(me.index, t, &me.done)
    return me.current

cdef inline void run_task(Runner* me, Task* t) noexcept nogil:
    """Run t and its group, in the way that suits them."""
    if DFLOW_TSAN:
        tell_operands(t)
    if load_int(&cancels.any) and (all_cancelled(t) if t.flags & ABROAD else any_cancelled(t)):
        run_each(me, t)
    elif t.flags & ABROAD:
        running_hooks.run_abroad(me, t)
    elif t.group != NULL or (t.kernel.flags & (ELEMENTWISE | REDUCES) and (
            t.kernel.flags & ELEMENTWISE or may_tail(t)) and (
            gains_natively(t) or to_share(&lanes[t.lane], cost_of(t)))):
        run_group(me, t)
    else:
        run_one(me, t)
    if DFLOW_TSAN:
        tell_operands(t)

cdef void end_cut(Task* t) noexcept nogil:
    global tls_cut
    if not tls_cut:
        return
    tls_cut = 0
    while t != NULL:
        mark(t, &cancelled_poison)
        t = next_member(t)

cdef enum:
    MOST_COMPARED = 32      # members of a group of which each is compared with each: 5 us, of 363 members 700

cdef bint unseen(Task* t) noexcept nogil:
    """Whether nothing but t and its group refers to what they write: no array, no other task. Then none ever will."""
    cdef Task* m = t
    cdef Task* last = t
    if load_ptr(<void**>&t.waiters) != NULL or load_int(&t.state) != TAKEN:
        return False
    if t.flags & ABROAD or t.kernel.flags & (HOST | FENCE) or members_of(t) > MOST_COMPARED:
        return False
    while next_member(last) != NULL:
        last = next_member(last)
    if not writes_unseen(t, last):          # as nearly always
        return False
    while m != last:
        if not writes_unseen(t, m):
            return False
        m = next_member(m)
    return True

cdef bint writes_unseen(Task* leader, Task* m) noexcept nogil:
    """The same of what a member of a group writes."""
    cdef Access* a = accesses(m)
    cdef Access* b
    cdef Task* other
    cdef int i, k, own
    for i in range(m.nops):
        if not a[i].key & WRITE:
            continue
        own = 0
        other = leader
        while other != NULL:
            b = accesses(other)
            for k in range(other.nops):
                own += b[k].storage == a[i].storage
            other = next_member(other)
        if load_int(&a[i].storage.refs) != own:
            return False
    return True

cdef bint is_pure(Task* t) noexcept nogil:
    """Whether t and its group do nothing but write what they write, to memory that nobody else has."""
    cdef Access* a
    cdef int i
    while t != NULL:
        if t.kernel.flags & (VALUES_FAIL | INVALID_FAILS | HAS_EFFECTS) or t.flags & TELLS:
            return False
        a = accesses(t)
        for i in range(t.nops):
            if a[i].key & WRITE and a[i].storage.foreign:
                return False
        t = next_member(t)
    return True

cdef Task* pass_over(Runner* me, Task* t) noexcept nogil:
    """t, which is unseen and pure, ends without having run. What execute() returns; me is inside."""
    cdef int members = members_of(t)
    add_i64(&shared.never_run, members)
    if load_int(&watched):
        note_never_run()
        note_ran(t.order, members, t.kernel, t.lane, me.index, now_ns(), bytes_live())
    enter(me)
    me.current = NULL
    me.current = retire(me.index, t, &me.done)
    return me.current

cdef Task* put_last(Runner* me, Task* t) noexcept nogil:
    """Nobody sees what t is for, but who waits for everything: so it comes after all else. NULL; me is inside."""
    enter(me)
    me.current = NULL
    t.priority = LAST
    store_int(&prioritized, 1)
    give_back(t)
    return NULL

cdef Task* step_aside(Runner* me, Task* t, int use) noexcept nogil:
    """Others are in NumPy's BLAS: t waits at the gate, the runner goes on with something else. NULL; me is inside."""
    enter(me)
    me.current = NULL
    if not cas_int(&t.state, CLAIMED, IDLE) and not hold_back(t, use):     # claimed: an entry in a queue stands for it
        give_back(t)
    return NULL

cdef void resume_held_back(Runner* me) noexcept nogil:
    cdef Task* t = release_held_back()
    cdef Task* following
    cdef Lane* lane
    cdef bint any = t != NULL
    while t != NULL:
        following = t.next
        lane = &lanes[t.lane]
        store_int(&t.state, IDLE)
        if me != NULL and me.lane == lane:
            enqueue(&lane.queues[me.index], t)      # the next thing that this worker does
        else:
            push(t)
        wake_worker(lane, True)
        t = following
    if any:
        ring_done()                     # a thread that waits may claim what it needs

cdef void run_at_gate(Runner* me, Task* t) noexcept nogil:
    """run_one() for who cannot step aside."""
    cdef int use = use_of(t)
    while not enter_gate(use, False):
        sleep_ns(50000)
    run_one(me, t)
    leave_gate(use)
    enter(me)
    resume_held_back(NULL)
    leave(me)

cdef void run_one(Runner* me, Task* t) noexcept nogil:
    """Run t, not its group, unless what it reads is poisoned."""
    cdef Poison* error = NULL
    cdef Poison* reason = NULL
    if not t.kernel.flags & FENCE:
        reason = find_poison(t)
        if reason == NULL and is_cancelled(t):
            reason = &cancelled_poison
            add_int(&reason.refs, 1)
        if t.kernel.flags & HOST and (reason == NULL or t.flags & ALWAYS):
            begin_host(&lanes[t.lane])
            if me.placed:
                me.placed = False
                cores_release(me.number)
            take_gil(me)
            error = run_host(t, reason)
            drop_gil(me)
            end_host(&lanes[t.lane])
        elif reason == NULL:
            error = run_loop(t)
    elif t.kernel.flags & ON_DISK:
        error = run_loop(t)
    mark(t, error if error != NULL else reason)
    if error != NULL:
        poison_unref(error)
    if reason != NULL:
        poison_unref(reason)

cdef void run_group(Runner* me, Task* leader) noexcept nogil:
    if not run_together(leader):
        run_each(me, leader)            # some are poisoned, or there is no memory for all

cdef void run_each(Runner* me, Task* m) noexcept nogil:
    """Run the members of a group, each on its own."""
    while m != NULL:
        run_one(me, m)
        m = next_member(m)

# Plans are large: for the stack, which may be another library's thread's, and for malloc, which would give pages back
# to the system each time.
cdef enum:
    PLANS = 8
cdef GroupPlan plans[PLANS]
cdef int plans_taken[PLANS]     # atomic

cdef GroupPlan* take_plan() noexcept nogil:
    """NULL: there is no memory."""
    cdef int i
    for i in range(PLANS):
        if load_int(&plans_taken[i]) == 0 and cas_int(&plans_taken[i], 0, 1):
            return &plans[i]
    return <GroupPlan*>memory_new(sizeof(GroupPlan))

cdef void give_plan(GroupPlan* g) noexcept nogil:
    if g >= &plans[0] and g < &plans[0] + PLANS:
        store_int(&plans_taken[g - &plans[0]], 0)
    else:
        memory_free(g)

cdef bint run_together(Task* leader) noexcept nogil:
    cdef GroupPlan* g = take_plan()
    cdef bint able = g != NULL and plan_group(leader, g)
    if able:
        find_native(g)
        able = plan_blocks(g)
        if able:
            spread(leader, run_blocks, g, pieces_of(g), 1, g.cost)
            end_blocks(g)
            tell(leader, g)
        end_native(g)
    give_plan(g)
    return able

cdef void tell(Task* leader, GroupPlan* g) noexcept nogil:
    """Warn of what its members raised, and count."""
    cdef Task* m = leader
    cdef int j = 0, natives = 0
    while m != NULL:
        if g.flags[j] & m.fp_warn:
            warn_later(g.flags[j] & m.fp_warn, m.site, m.kernel)
        j += 1
        m = next_member(m)
    if g.members > 1:
        add_i64(&shared.groups, 1)
        add_i64(&shared.grouped, g.members)
        add_i64(&shared.bytes_never_stored, g.saved)
    if g.natives:
        add_i64(&shared.native, g.natives)
        if load_int(&watched):
            for j in range(g.natives):
                natives += g.native[j].end - g.native[j].first
            note_natives(natives)

# ---- split kernels ---------------------------------------------------------------------------------------------------

cdef bint to_share(Lane* lane, double cost) noexcept nogil:
    """Whether others are to run parts of what takes so long. Who is no runner may have the GIL: it waits for others
    only with what these are woken for."""
    cdef Runner* me = this_runner()
    if load_int(&lane.nworkers) < 2 or cost < min(load_double(&split_ns), SHARE_NS):
        return False
    if cost >= load_double(&split_ns) or me != NULL and somebody_looks(lane, me):
        return True
    share_next(lane, cost)
    return False

cdef void spread(Task* t, pieces_t run, void* plan, intp total, intp least, double cost) noexcept nogil:
    """run(plan, start, stop) for pieces that make up [0, total), by all runners of t's lane that have nothing else to
    do. least: of a share, about. cost: of all of it, in nanoseconds.
    """
    global tls_cut
    cdef Split* s = NULL
    cdef Lane* lane = &lanes[t.lane]
    cdef double grain = min(load_double(&grain_ns), max(cost / SHARES, SHARE_NS / 2))
    cdef intp pieces = <intp>(cost / grain) + 1
    if total > least and to_share(lane, cost):
        s = claim_split(lane, t.order, run, plan, cost > LONG_NS)
    if s == NULL:
        run(plan, 0, total)
        return
    open_split(s, this_runner(), total, max(least, (total + pieces - 1) // pieces), run == run_blocks and not s.lasting)
    if cost * s.grain < 2 * load_double(&grain_ns) * total:
        work_once(s, s.owner)           # meanwhile those who look around, and who waits for this, come by themselves
    wake_for_pieces(lane, load_int(&s.helpers), shares_left(s), cost)
    work(s, s.owner)
    note_split(lane, load_int(&s.joined) > 0, cost)
    if not end_split(s):
        tls_cut = 1

cdef bint join_splits(Runner* me) noexcept nogil:
    """Enters and leaves with me inside."""
    cdef Split* s
    cdef Lane* lane
    cdef bint lasting, any = False
    cdef long long start
    cdef int place = 0
    while True:
        s = join_split(me, &place)
        if s == NULL:
            return any
        any = True
        leave(me)
        lane = &lanes[glance_int(&s.lane)]
        lasting = glance_int(&s.lasting) and me.index > 0
        if lasting:
            begin_long(lane)
        start = now_ns() if load_int(&watched) else 0
        work(s, range_of(s, me))
        if start:
            note_part(s.task, lane.number, me.index, start)
        if lasting:
            end_long(lane)
        leave_split(s)
        enter(me)

cdef Task* retire(int index, Task* t, long long* done) noexcept nogil:
    """Finish t; queue what became ready but for one task, which the caller takes (or NULL)."""
    cdef bint ring = False, host = (t.kernel.flags & HOST) != 0
    cdef Lane* lane = &lanes[t.lane]
    cdef Lane* other
    cdef long long members = members_of(t)
    cdef unsigned int order = t.order
    cdef Task* ready = finish(t, &ring)
    if load_int(&shared.closing):
        if <int>(order - shared.last) <= 0:
            add_i64(&shared.early, members)
            add_i64(&shared.host_tasks, -host)
    elif host:
        add_i64(&shared.host_tasks, -1)
    ready = queue_ready(index, lane, ready)
    if load_int(&shared.nlanes) > 1:    # before these count as done: then another lane may begin
        add_i64(&lane.ended, members)
    publish_i64(done, done[0] + members)
    if ring or load_int(&shared.waiting_room):
        ring_done()
    other = group_waits()
    if other != NULL:
        wake_worker(other, False)       # t may have been what it waited for
    return ready

cdef inline Task* queue_ready(int index, Lane* lane, Task* ready) noexcept nogil:
    """Queue what became ready, a list, but for a task of this lane, which is taken and returned, or NULL."""
    cdef Lane* other
    cdef Task* following
    cdef Task* chosen = NULL
    cdef bint surely
    while ready != NULL:
        following = ready.next
        other = &lanes[ready.lane]
        if chosen == NULL and other == lane:
            if take(ready):
                chosen = ready
        else:
            surely = cost_of(ready) > LONG_NS or ready.kernel.flags & HOST
            if index and other == lane:
                enqueue(&lane.queues[index], ready)
            else:
                push(ready)
            wake_worker(other, surely)
        ready = following
    return chosen

cdef void ring_done() noexcept nogil:
    bell_lock(&shared.done_bell)
    store_int(&shared.rings, shared.rings + 1)
    add_int(&shared.rung, shared.asleep)
    shared.asleep = 0
    bell_ring_all(&shared.done_bell)
    bell_unlock(&shared.done_bell)

# ---- workers ---------------------------------------------------------------------------------------------------------

cdef void give_back(Task* t) noexcept nogil:
    """Queue a task that was taken, or claimed, and not run."""
    cdef Lane* lane = &lanes[t.lane]
    if not cas_int(&t.state, CLAIMED, IDLE):        # else its entry in a queue stands for it again
        store_int(&t.state, IDLE)
        push(t)
    wake_worker(lane, True)

cdef void random_delay(Runner* me, int most) noexcept nogil:
    me.random = me.random * 6364136223846793005ULL + 1442695040888963407ULL
    if (me.random >> 62) == 0:
        sleep_ns(1000 * <long long>((me.random >> 33) % <unsigned long long>most))

cdef void reset_workers() noexcept:
    """No worker has survived the fork, and no lock is held."""
    cdef int i, k
    cdef Lane* lane
    shared.runners = NULL
    shared.runners_lock = shared.forking = shared.waiting_all = shared.waiting_room = 0
    shared.helping = shared.asleep = shared.rung = shared.opening = 0
    bell_init(&shared.idle_bell)
    bell_init(&shared.done_bell)
    splits_after_fork()
    memset(plans_taken, 0, sizeof(plans_taken))
    open_group_after_fork()
    for k in range(shared.nlanes):
        lane = used[k]
        lane.started = 0
        parking_after_fork(lane)
        for i in range(MAX_WORKERS + 1):
            lane.inboxes[i].lock = lane.queues[i].lock = 0
            lane.workers[i] = NULL
    if tls_host:
        lanes[this_runner().current.lane].parking.hosting = 1
