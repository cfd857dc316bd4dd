"""Running tasks: see _runtime/executor.pxd."""

from cpython.ref cimport Py_DECREF, Py_XDECREF
from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport (
    BLAS, core_cost, ELEMENTWISE, FENCE, HOST, INVALID_FAILS, LOCKS, MAY_RAISE, PRODUCT, REDUCES, REPORTS_FP, ROWS)
from dflow._base.atomics cimport DFLOW_TSAN, add_i64, add_int, cas_int, collect_i64, cpu_pause, full_fence, \
    glance_int, hint_int, invariant, load_i64, load_int, load_int_after, load_ptr, publish_i64, spin_lock, \
    spin_unlock, store_i64, store_int, store_ptr, swap_int
from dflow._base.fpflags cimport FP_INVALID, fp_clear, fp_flags
from dflow._base.threads cimport Cores, bell_init, bell_lock, bell_ring_all, bell_ring_one, bell_unlock, cores_all, \
    cores_place, cores_release, cores_without, now_ns, sleep_ns, this_core, this_thread_raised
from dflow._kernels.reduce cimport Across, Fold, plan_across, run_across, end_across
from dflow._runtime.fp_errors cimport warn_later
from dflow._kernels.matmul cimport ALONE, UNUSED
from dflow._runtime.gate cimport enter_gate, leave_gate, park, release_parked, take_parked, use_of
from dflow._runtime.graph cimport *
from dflow._runtime.fusion cimport *
from dflow._runtime.queues cimport *
from dflow._base.allocator cimport *
from dflow._runtime.timeline cimport note, watched

cdef extern from "Python.h" nogil:
    PyThreadState* PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState*)
    PyObject* PyObject_CallOneArg(PyObject*, PyObject*)

cdef extern from "<unistd.h>" nogil:
    int getpid()

cdef extern from *:
    """
    static __thread void *tls_runner;        /* the Runner this thread is, if any */
    static __thread int tls_host;            /* inside a host task */
    """
    void* tls_runner
    int tls_host

# ---- state ------------------------------------------------------------------------------------------------------------

cdef struct Wide:           # a kernel that several runners run, piece by piece
    int lock
    int taken               # atomic: by an owner, who alone writes the rest, before others may join
    int open                # atomic: they may; taken back under the lock, by which who joins has it that all of this stays
    int lasting             # it takes long: who joins will not look at the queues soon
    int helpers             # atomic: runners in it besides its owner; up only under the lock, while it is open
    int lane                # whose workers, and who helps them, may join; glanced at without the lock, as is `total`
    const char* name
    void (*run)(void*, intp, intp) noexcept nogil
    void* plan
    long long next          # atomic: first piece that nobody took
    long long total
    long long grain         # pieces taken at once

cdef enum:
    NWIDES = 8              # kernels that are split at a time
    LEAST_BESIDE = 5        # rows of matrices that gain by two threads although each takes a lock
    VECTOR_PRODUCT = 3      # a matrix times a vector: each multiplication reads an element

# Results do not depend on these: the fuzzer sets them, while nothing is pending.
cdef double SPLIT_NS = 40000        # estimated cost from which a kernel is split for those who are awake,
cdef double GRAIN_NS = 20000        # into pieces of about so much

def set_split(double least, double grain):
    """Set both. Returns what they were."""
    global SPLIT_NS, GRAIN_NS
    before = SPLIT_NS, GRAIN_NS
    SPLIT_NS, GRAIN_NS = least, grain
    return before

cdef Wide wides[NWIDES]

cdef bint inside_host_task() noexcept nogil:
    return tls_host != 0

cdef Runner* this_runner() noexcept nogil:
    return <Runner*>tls_runner

cdef void set_runner(Runner* me) noexcept nogil:
    global tls_runner
    tls_runner = me

# ---- queues -----------------------------------------------------------------------------------------------------------

cdef void purge() noexcept nogil:
    """Drop the stale entries of tasks that waiting threads claimed. For when nothing is pending."""
    cdef Task* t = take_any()
    if t == NULL:
        t = take_parked()
    if t != NULL:
        give_back(t)                        # submitted by another thread just now

cdef bint any_ready(Lane* lane) noexcept nogil:
    return any_queued(lane) or any_wide(lane)

cdef bint submitting() noexcept nogil:
    """Whether a thread has submitted something in the last moments: it has a core, and is likely to go on."""
    cdef long long now = now_ns(), seen = load_i64(&shared.seen), submitted = load_i64(&shared.submitted)
    if seen != submitted:
        store_i64(&shared.seen, submitted)
        store_i64(&shared.seen_at, now)
    return now - load_i64(&shared.seen_at) < LULL_NS

cdef bint crowded(Lane* lane) noexcept nogil:
    """Whether as many threads are at work as there are workers: one more would share the core of one of them. But there must
    be a worker that will soon look at the queues: one that begins something long, or Python code, has done so for the last time.
    """
    cdef int awake = load_int(&lane.started) - load_int(&lane.sleeping) - load_int(&lane.hosting) - load_int(&lane.engaged)
    return awake > 0 and awake + load_int(&shared.helping) + submitting() >= load_int(&lane.nworkers)

cdef void wake_worker(Lane* lane, bint surely) noexcept nogil:
    """After a push: make sure that somebody looks. One worker that searches, or was woken to, is enough: it wakes the next.
    But the system may keep it waiting for a core for milliseconds, behind the very thread that relies on it.
    surely: the work is long, or Python code that may block; else it may wait for those who are at work.
    """
    cdef long long since, now
    full_fence()                    # the push above, before the look at `searching`; pairs with idle()
    if load_int(&lane.sleeping) == 0:
        return
    if load_int(&lane.coming) or load_int(&lane.searching):     # as who comes goes from the one to the other
        since = load_i64(&lane.relied)
        now = now_ns()
        if since == 0 or now - since > WATCH_NS:
            store_i64(&lane.relied, now)
        if since == 0 or now - since <= WATCH_NS:
            return
    elif not surely and crowded(lane):
        return
    wake_one(lane)

cdef void wake_one(Lane* lane) noexcept nogil:
    """Wake a worker of the lane, on a core where no worker runs if there is one."""
    cdef Runner* r
    bell_lock(&shared.idle_bell)
    r = lane.sleepers
    if r != NULL:
        if not lane.bound:
            place(r)
        r.called = True
        add_int(&lane.coming, 1)
        rouse(lane)
    bell_unlock(&shared.idle_bell)

cdef void place(Runner* r) noexcept nogil:
    """Let a sleeper run where no other worker does. Needs idle_bell."""
    cdef Cores cores
    cdef Runner* other
    cdef int i, k
    cores_all(&cores)
    for k in range(load_int(&shared.nlanes)):
        for i in range(1, load_int(&used[k].started) + 1):
            other = used[k].workers[i]
            if other != NULL and not other.asleep:
                cores_without(&cores, glance_int(&other.core))
    hint_int(&r.core, cores_place(&cores, r.number, this_core(), r.core))
    r.placed = True

cdef void rouse(Lane* lane) noexcept nogil:
    """Take a sleeper from the list and let it go on. Needs idle_bell."""
    cdef Runner* me = lane.sleepers
    lane.sleepers = me.below
    me.asleep = False
    add_int(&lane.sleeping, -1)
    bell_ring_one(&me.bell)

# ---- the open group ---------------------------------------------------------------------------------------------------

cdef double cost_of(Task* t) noexcept nogil:
    """In nanoseconds, roughly."""
    cdef double cost = t.kernel.cost
    cdef intp* dims = task_dims(t)
    cdef int i
    for i in range(t.ndim):
        cost *= dims[i]
    cost *= core_cost(t.kernel, dims + t.ndim, t.ncore)
    if t.kernel.flags & PRODUCT and (dims[t.ndim] == 1 or dims[t.ndim + 2] == 1):
        cost *= VECTOR_PRODUCT
    return cost

cdef double cost_of_all(Task* t) noexcept nogil:
    """Of t and its group."""
    cdef double cost = 0
    while t != NULL:
        cost += cost_of(t)
        t = next_member(t)
    return cost

cdef Task* close_group() noexcept nogil:
    """Nobody joins the open group any more. Its leader, if it can run, for the caller to queue. Needs the lock."""
    cdef Task* leader = opening.leader
    store_ptr(&opening.leader, NULL)
    if leader != NULL and add_int(&leader.npending, -1) == 0:
        return leader
    return NULL

cdef void start_group() noexcept nogil:
    """Close the open group, if there is one, and queue it."""
    cdef Task* t
    cdef Lane* lane
    if load_ptr(&opening.leader) == NULL:
        return
    spin_lock(&opening.lock)
    t = close_group()
    spin_unlock(&opening.lock)
    if t != NULL:
        lane = &lanes[t.lane]       # from the next line on t may be gone
        push(t)
        wake_worker(lane, False)

cdef Lane* group_waits() noexcept nogil:
    """Whose workers an open group waits for, if for nothing but to be closed, and it is worth their time; NULL: there is none."""
    cdef Task* leader
    cdef Lane* lane = NULL
    if load_ptr(&opening.leader) == NULL:
        return NULL
    spin_lock(&opening.lock)
    leader = opening.leader
    if leader != NULL and opening.cost > CALL_NS and load_int(&leader.npending) == 1:
        lane = &lanes[leader.lane]
    spin_unlock(&opening.lock)
    return lane

# ---- running ----------------------------------------------------------------------------------------------------------

cdef void enter(Runner* me) noexcept nogil:
    swap_int(&me.inside, 1)         # a full barrier: before the look at `forking`
    while load_int_after(&shared.forking):
        store_int(&me.inside, 0)
        let_gil_go(me)              # who forks needs it
        sleep_ns(50000)
        swap_int(&me.inside, 1)

cdef void leave(Runner* me) noexcept nogil:
    store_int(&me.inside, 0)

cdef void take_gil(Runner* me) noexcept nogil:
    if me.holds:
        me.holds = False
    else:
        PyEval_RestoreThread(me.tstate)

cdef void drop_gil(Runner* me) noexcept nogil:
    me.tstate = PyEval_SaveThread()

cdef void keep_gil(Runner* me) noexcept nogil:
    """A worker goes on with the GIL, which its next task needs, too: to ask for it again, while others run Python code, takes as
    long as they may keep it."""
    if me.index:
        me.holds = True
    else:
        drop_gil(me)

cdef void let_gil_go(Runner* me) noexcept nogil:
    if me.holds:
        me.holds = False
        drop_gil(me)

cdef Storage* find_operands(Task* t, char** args, intp* steps) noexcept nogil:
    """Where the operands lie, and the steps of a FLAT task. The storage for which there is no memory, or NULL."""
    cdef Access* a = accesses(t)
    cdef int i
    for i in range(t.nops):
        if t.flags & FLAT:
            steps[i] = 0 if a[i].storage == NULL else 1 << ((a[i].key >> SIZE_SHIFT) & 15)
        if a[i].storage == NULL:
            args[i] = constant_of(t, i)
        elif storage_allocate(a[i].storage):
            args[i] = a[i].storage.data + (a[i].key >> ACCESS_BITS)
        else:
            return a[i].storage
    return NULL

cdef bint run_alone(Task* t) noexcept nogil:
    """Run an elementwise task, not its group, whose kernel cannot raise. False: an operand is poisoned, or there is no memory."""
    cdef Access* a = accesses(t)
    cdef char* args[256]
    cdef intp steps[8]
    cdef int i, flags
    for i in range(t.nops):
        if a[i].storage != NULL and load_ptr(&a[i].storage.poison) != NULL:
            return False
    if find_operands(t, args, steps) != NULL:
        return False
    fp_clear()
    run_kernel(t.kernel, args, t.nops, t.ndim, task_dims(t), &steps[0] if t.flags & FLAT else task_strides(t))
    flags = fp_flags() & t.fp_warn
    if flags:
        warn_later(flags, t.site, t.kernel)
    return True

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
    if k.flags & (REPORTS_FP | INVALID_FAILS):
        fp_clear()
    if k.flags & ROWS and t.nops <= 64 and cost_of(t) > SPLIT_NS:
        flags = spread_rows(t, args, &p)
    else:
        run_kernel(k, args, t.nops, t.ndim, task_dims(t), &steps[0] if t.flags & FLAT else task_strides(t))
        flags = fp_flags()
    if p == NULL and k.flags & MAY_RAISE and this_thread_raised():
        p = poison_raised(t.site, k.name)
    if p != NULL:
        return p
    if k.flags & (REPORTS_FP | INVALID_FAILS):
        if flags & FP_INVALID and k.flags & INVALID_FAILS:
            return invalid_poison(t)
        if flags & t.fp_warn:
            warn_later(flags & t.fp_warn, t.site, k)
    return NULL

cdef int spread_rows(Task* t, char** args, Poison** raised) noexcept nogil:
    """Run t in pieces: its own, or of the outermost loop dimension. The floating point flags, and the error of a piece."""
    cdef RowsPlan r
    cdef Across a
    cdef intp rows = task_dims(t)[0], workers = 4 * load_int(&lanes[t.lane].nworkers), least = (rows + workers - 1) // workers
    if t.kernel.pieces != NULL and t.ndim == 1:
        rows = t.kernel.pieces(task_dims(t))
        least = 1
    if use_of(t) == ALONE or t.kernel.flags & LOCKS and task_dims(t)[t.ndim] < LEAST_BESIDE:
        least = rows
    if t.kernel.flags & REDUCES and t.ndim == 1 and (
            plan_across(<Fold*>t.kernel.data, args, task_dims(t), task_strides(t), &a)):
        spread(t, run_across, &a, a.bands, 1, cost_of(t))
        end_across(&a)
        return a.flags
    r.kernel = t.kernel
    r.nops = t.nops
    r.ndim = t.ndim
    r.ndims = t.ndim + t.ncore
    r.dims = task_dims(t)
    r.strides = task_strides(t)
    r.flags = 0
    r.site = t.site
    r.raised = NULL
    memcpy(r.args, args, t.nops * sizeof(args[0]))
    spread(t, run_rows, &r, rows, least, cost_of(t))
    raised[0] = r.raised
    return r.flags

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

cdef void look_back(Lane* lane) noexcept nogil:
    """Before a runner turns to what it has found: others may have relied on it to find more."""
    full_fence()                    # after `hosting` or `engaged`, before the look; pairs with wake_worker()
    if any_ready(lane) or group_waits() == lane:
        wake_worker(lane, False)

cdef Task* execute(Runner* me, Task* t) noexcept nogil:
    """Run and finish t, me.current; a task to run next, or NULL. Enters with me outside, leaves it inside."""
    cdef bint long = cost_of_all(t) > LONG_NS, lasting = me.index > 0 and long
    cdef Lane* lane = &lanes[t.lane]
    cdef long long start = 0
    cdef int use = use_of(t) if t.kernel.flags & BLAS and not t.flags & ABROAD else UNUSED
    cdef int delay = glance_int(&shared.delay_us)
    invariant(me.lane == NULL or me.lane == lane, b"a worker runs the tasks of its lane")
    if long and t.priority > LAST and unseen(t):
        return put_last(me, t)
    if not enter_gate(use, True):
        return step_aside(me, t, use)
    if delay:
        let_gil_go(me)
        random_delay(me, delay)
    if load_int(&watched):
        start = now_ns()
    if lasting:
        add_int(&lane.engaged, 1)
        look_back(lane)
    if DFLOW_TSAN:
        tell_operands(t)
    if t.flags & ABROAD:
        running_hooks.run_abroad(me, t)
    elif t.group != NULL or (t.kernel.flags & (ELEMENTWISE | REDUCES) and cost_of(t) > SPLIT_NS and (
            t.kernel.flags & ELEMENTWISE or may_tail(t))):
        run_group(me, t)
    else:
        run_one(me, t)
    leave_gate(use)
    if DFLOW_TSAN:
        tell_operands(t)
    if lasting:
        add_int(&lane.engaged, -1)
    if start:
        note(t.kernel.name, members_of(t), t.lane, me.index, start)
    enter(me)
    if use != UNUSED:
        resume_parked(me)
    me.current = NULL
    me.current = retire(me.index, t, &me.done)
    return me.current

cdef bint unseen(Task* t) noexcept nogil:
    """Whether nothing but t and its group refers to what they write: no array, no other task. Then none ever will."""
    cdef Task* m = t
    cdef Task* other
    cdef Access* a
    cdef Access* b
    cdef int i, k, own
    if load_ptr(<void**>&t.waiters) != NULL or load_int(&t.state) != TAKEN or t.flags & ABROAD or t.kernel.flags & (HOST | FENCE):
        return False
    while m != NULL:
        a = accesses(m)
        for i in range(m.nops):
            if not a[i].key & WRITE:
                continue
            own = 0
            other = t
            while other != NULL:
                b = accesses(other)
                for k in range(other.nops):
                    own += b[k].storage == a[i].storage
                other = next_member(other)
            if load_int(&a[i].storage.refs) != own:
                return False
        m = next_member(m)
    return True

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
    if not cas_int(&t.state, CLAIMED, IDLE) and not park(t, use):      # claimed: an entry in a queue stands for it
        give_back(t)
    return NULL

cdef void resume_parked(Runner* me) noexcept nogil:
    cdef Task* t = release_parked()
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
    resume_parked(NULL)
    leave(me)

cdef int members_of(Task* t) noexcept nogil:
    cdef int n = 0
    while t != NULL:
        n += 1
        t = next_member(t)
    return n

cdef void run_one(Runner* me, Task* t) noexcept nogil:
    """Run t, not its group, unless what it reads is poisoned."""
    cdef Poison* error = NULL
    cdef Poison* reason = NULL
    if not t.kernel.flags & FENCE:
        reason = find_poison(t)
        if t.kernel.flags & HOST and (reason == NULL or t.flags & ALWAYS):
            add_int(&lanes[t.lane].hosting, 1)
            look_back(&lanes[t.lane])
            if me.placed:
                me.placed = False
                cores_release(me.number)
            take_gil(me)
            error = run_host(t, reason)
            drop_gil(me)
            add_int(&lanes[t.lane].hosting, -1)
        elif reason == NULL:
            error = run_loop(t)
    mark(t, error if error != NULL else reason)
    if error != NULL:
        poison_unref(error)
    if reason != NULL:
        poison_unref(reason)

cdef void run_group(Runner* me, Task* leader) noexcept nogil:
    cdef GroupPlan g
    cdef Task* m = leader
    if plan_group(leader, &g):
        run_plan(leader, &g)
        return
    while m != NULL:                    # each on its own: some are poisoned, or there is no memory for all
        run_one(me, m)
        m = next_member(m)

cdef void run_plan(Task* leader, void* plan) noexcept nogil:
    cdef GroupPlan* g = <GroupPlan*>plan
    cdef Task* m = leader
    cdef int j = 0
    spread(leader, run_blocks, g, pieces_of(g), 1, g.cost)
    end_blocks(g)
    while m != NULL:
        if g.flags[j] & m.fp_warn:
            warn_later(g.flags[j] & m.fp_warn, m.site, m.kernel)
        j += 1
        m = next_member(m)
    if g.members > 1:
        add_i64(&shared.groups, 1)
        add_i64(&shared.grouped, g.members)
        add_i64(&shared.bytes_never_stored, g.saved)

# ---- wide kernels -----------------------------------------------------------------------------------------------------

cdef void spread(Task* t, void (*run)(void*, intp, intp) noexcept nogil, void* plan, intp total, intp least,
                 double cost) noexcept nogil:
    """run(plan, start, stop) for pieces that make up [0, total), by all runners of t's lane that have nothing else to do.
    least: of a piece. cost: of all of it, in nanoseconds.
    """
    cdef Wide* w
    cdef Lane* lane = &lanes[t.lane]
    cdef intp pieces = <intp>(cost / GRAIN_NS) + 1
    cdef int i, workers = load_int(&lane.nworkers)
    if cost >= SPLIT_NS and total > least and workers > 1:
        for i in range(NWIDES):
            if cas_int(&wides[i].taken, 0, 1):
                break
        else:
            i = NWIDES                  # enough is going on
    else:
        i = NWIDES
    if i == NWIDES:
        run(plan, 0, total)
        return
    w = &wides[i]
    w.run = run
    w.plan = plan
    hint_int(&w.lane, lane.number)
    w.name = t.kernel.name
    store_i64(&w.next, 0)
    w.lasting = cost > LONG_NS
    store_i64(&w.total, total)
    w.grain = (total + pieces - 1) // pieces
    if w.grain < least:
        w.grain = least
    store_int(&w.open, 1)
    full_fence()                        # before the look at `sleeping`; pairs with idle()
    if cost * w.grain < 2 * GRAIN_NS * total:
        work_once(w)                    # meanwhile those who look around, and who waits for this, come by themselves
    pieces = (total - load_i64(&w.next) + w.grain - 1) // w.grain + load_int(&w.helpers)
    for i in range(load_int(&w.helpers) + load_int(&lane.searching) + load_int(&lane.coming), workers - 1):
        if i + 1 >= pieces or cost < CALL_NS or load_int(&lane.sleeping) == 0 or (cost < LONG_NS and crowded(lane)):
            break
        wake_one(lane)
    work(w)
    spin_lock(&w.lock)
    store_int(&w.open, 0)
    spin_unlock(&w.lock)
    while load_int(&w.helpers):         # the rest of a piece
        cpu_pause()
    store_int(&w.taken, 0)

cdef inline bint work_once(Wide* w) noexcept nogil:
    """Take and run a piece. False: there was none."""
    cdef long long stop = add_i64(&w.next, w.grain), start = stop - w.grain
    if start >= w.total:
        return False
    w.run(w.plan, start, stop if stop < w.total else w.total)
    return True

cdef void work(Wide* w) noexcept nogil:
    while work_once(w):
        pass

cdef inline bint joinable(Wide* w) noexcept nogil:
    return load_int(&w.open) and load_i64(&w.next) < load_i64(&w.total) and (
        load_int(&w.helpers) < load_int(&lanes[glance_int(&w.lane)].nworkers) - 1)

cdef bint any_wide(Lane* lane) noexcept nogil:
    cdef int i
    for i in range(NWIDES):
        if joinable(&wides[i]) and glance_int(&wides[i].lane) == lane.number:
            return True
    return False

cdef bint join_wide(Runner* me) noexcept nogil:
    """Take part in kernels that are being split. Whether there was one. Enters and leaves with me inside."""
    cdef Wide* w
    cdef Lane* lane
    cdef bint joined, lasting, any = False
    cdef long long start
    cdef int i
    for i in range(NWIDES):
        w = &wides[i]
        if not joinable(w):
            continue
        spin_lock(&w.lock)
        joined = joinable(w)
        lane = &lanes[glance_int(&w.lane)]              # if joinable, from here on that of who opened it
        joined = joined and (me.lane == lane if me.lane != NULL else core_free(lane))
        if joined:
            add_int(&w.helpers, 1)
        spin_unlock(&w.lock)
        if joined:
            leave(me)
            lasting = w.lasting and me.index > 0
            if lasting:
                add_int(&lane.engaged, 1)
                look_back(lane)
            start = now_ns() if load_int(&watched) else 0
            work(w)
            if start:
                note(w.name, 1, lane.number, me.index, start)
            if lasting:
                add_int(&lane.engaged, -1)
            add_int(&w.helpers, -1)
            enter(me)
            any = True
    return any

cdef Task* retire(int index, Task* t, long long* done) noexcept nogil:
    """Finish t; queue what became ready but for one task, which the caller takes (or NULL)."""
    cdef bint ring = False
    cdef bint host = (t.kernel.flags & HOST) != 0, surely
    cdef Lane* lane = &lanes[t.lane]
    cdef Lane* other
    cdef long long members = members_of(t)
    cdef unsigned int order = t.order
    cdef Task* following
    cdef Task* ready
    cdef Task* chosen = NULL
    ready = finish(t, &ring)
    if load_int(&shared.closing):
        if <int>(order - shared.last) <= 0:
            add_i64(&shared.early, members)
            add_i64(&shared.host_tasks, -host)
    elif host:
        add_i64(&shared.host_tasks, -1)
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
    if load_int(&shared.nlanes) > 1:    # before these count as done: then another lane may begin
        add_i64(&lane.ended, members)
    publish_i64(done, done[0] + members)
    if ring or load_int(&shared.waiting_room):
        ring_done()
    other = group_waits()
    if other != NULL:
        wake_worker(other, False)       # t may have been what it waited for
    return chosen

cdef void ring_done() noexcept nogil:
    bell_lock(&shared.done_bell)
    store_int(&shared.rings, shared.rings + 1)
    bell_ring_all(&shared.done_bell)
    bell_unlock(&shared.done_bell)

# ---- workers ----------------------------------------------------------------------------------------------------------

cdef void register(Runner* me) noexcept nogil:
    spin_lock(&shared.runners_lock)
    me.next = shared.runners
    shared.runners = me
    spin_unlock(&shared.runners_lock)

cdef void unregister(Runner* me) noexcept nogil:
    cdef Runner** p = &shared.runners
    spin_lock(&shared.runners_lock)
    while p[0] != me:
        p = &p[0].next
    p[0] = me.next
    add_i64(&shared.retired, me.done)
    spin_unlock(&shared.runners_lock)

cdef long long pending() noexcept nogil:
    cdef long long n = load_i64(&shared.submitted)
    cdef Runner* r
    spin_lock(&shared.runners_lock)
    n -= collect_i64(&shared.retired)
    r = shared.runners
    while r != NULL:
        n -= collect_i64(&r.done)
        r = r.next
    spin_unlock(&shared.runners_lock)
    return n

cdef void give_back(Task* t) noexcept nogil:
    """Queue a task that was taken, or claimed, and not run."""
    cdef Lane* lane = &lanes[t.lane]
    if not cas_int(&t.state, CLAIMED, IDLE):        # else its entry in a queue stands for it again
        store_int(&t.state, IDLE)
        push(t)
    wake_worker(lane, True)

cdef void hold_runners() noexcept:
    """Bring every runner to a point where it holds no lock, and keep it there. Kernels run on. Needs the GIL."""
    cdef Runner* r
    add_int(&shared.forking, 1)
    full_fence()                    # pairs with enter()
    while True:
        r = shared.runners
        while r != NULL and not load_int(&r.inside):
            r = r.next
        if r == NULL:
            return
        with nogil:                 # who is inside may want the GIL
            sleep_ns(1000)

cdef void let_runners_go() noexcept nogil:
    add_int(&shared.forking, -1)

cdef void random_delay(Runner* me, int most) noexcept nogil:
    me.random = me.random * 6364136223846793005ULL + 1442695040888963407ULL
    if (me.random >> 62) == 0:
        sleep_ns(1000 * <long long>((me.random >> 33) % <unsigned long long>most))

cdef void reset_workers() noexcept:
    """No worker has survived the fork, and no lock is held."""
    cdef int i, k
    cdef Lane* lane
    shared.runners = NULL
    shared.runners_lock = shared.forking = shared.waiting_all = shared.waiting_room = shared.helping = 0
    bell_init(&shared.idle_bell)
    bell_init(&shared.done_bell)
    for i in range(NWIDES):
        memset(&wides[i], 0, sizeof(Wide))
    for k in range(shared.nlanes):
        lane = used[k]
        lane.sleepers = NULL
        lane.sleeping = lane.searching = lane.coming = lane.started = lane.engaged = lane.hosting = 0
        for i in range(MAX_WORKERS + 1):
            lane.inboxes[i].lock = lane.queues[i].lock = 0
            lane.workers[i] = NULL
    if tls_host:
        lanes[this_runner().current.lane].hosting = 1
    opening.lock = 0
