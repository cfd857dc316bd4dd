"""Workers, waits, fork and exit. The contract is in _engine.pxd.

The life of a task: task_new and task_operand fill it, submit() connects it to its predecessors; who brings `npending` to
0 queues it; a runner (a worker, or a thread that waits) takes it, runs its kernel, finishes it, and queues what became
ready.
"""

from dflow import _graph

from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.pystate cimport PyThreadState
from cpython.ref cimport Py_DECREF
from libc.stdlib cimport malloc, calloc, free
from libc.string cimport memcpy, memset
from dflow._blas cimport blas_after_fork
from dflow._fp cimport fp_flags, fp_clear, FP_INVALID, warn_later, warnings_wait, give_warnings
from dflow._graph cimport *
from dflow._group cimport *
from dflow._memory cimport *

cdef extern from "Python.h" nogil:
    PyThreadState* PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState*)
    void PyErr_SetInterrupt()
    int PyGILState_Ensure()

cdef extern from "_sync.h" nogil:
    ctypedef struct Bell:
        pass
    void bell_init(Bell*)
    void bell_lock(Bell*)
    void bell_unlock(Bell*)
    void bell_wait(Bell*)
    void bell_wait_ns(Bell*, long long)
    void bell_ring_one(Bell*)
    void bell_ring_all(Bell*)
    void sleep_ns(long long)
    long long now_ns()
    bint thread_state_has_error(PyThreadState*)

cdef extern from "<pthread.h>" nogil:
    ctypedef unsigned long pthread_t
    int pthread_create(pthread_t*, void*, void* (*)(void*) noexcept nogil, void*)
    int pthread_join(pthread_t, void**)
    bint join_within(pthread_t, long long)      # this and the next come through _sync.h
    int sched_yield()

cdef extern from *:
    """
    static __thread void *tls_runner;        /* the Runner this thread is, if any */
    static __thread int tls_host;            /* inside a host task */
    """
    void* tls_runner
    int tls_host

# ---- state ------------------------------------------------------------------------------------------------------------

cdef struct Queue:          # first in, first out; linked through Task.next
    int lock
    Task* head              # NULL test without the lock
    Task* tail
    char pad[40]            # a cache line each

cdef struct Runner:         # a worker, or a thread that helps while it waits
    int inside              # 1 while it touches shared structures: fork() waits for 0
    int index               # of its queue: 1.. for workers, 0 (the submitters' queue) for others
    Task* current           # what it runs, or is about to
    PyThreadState* tstate   # its saved thread state, when it has one
    Runner* next            # list of all: runners_lock
    long long done          # written by its owner
    long long stolen
    unsigned long long random
    pthread_t thread

cdef struct Opening:        # the group that tasks may join; see _group.pxd
    int lock                # over all of this. Members are added under it and the GIL; anyone may close
    Task* leader            # NULL: none is open. While it is, the leader counts it as one more predecessor
    Task* last
    int members
    int operands
    bint called             # a worker was woken for it
    double cost             # nanoseconds
    Space space
    Waits waits

cdef struct Wide:           # a kernel that several runners run, piece by piece
    int lock
    int taken               # atomic: by an owner, who alone writes the rest
    int open                # others may join; lock
    int helpers             # runners in it besides its owner; up under the lock, down atomically
    void (*run)(void*, intp, intp) noexcept nogil
    void* plan
    long long next          # atomic: first piece that nobody took
    long long total
    long long grain         # pieces taken at once
    char pad[8]             # a cache line

cdef enum:
    MAX_WORKERS = 256
    FENCE_AFTER = 64        # frontier length at which a partial write inserts a fence
    SPIN_NS = 20000         # how long an idle worker or a waiting thread looks around before it sleeps
    STUCK = 60              # slices without progress after which the exit waits no longer for host tasks
    SLICE_NS = 50000000     # longest sleep of a waiting thread between looks at signals
    NWIDES = 8              # kernels that are split at a time
    RIPE_NS = 8000          # an idle worker takes an open group that nobody has joined for so long
    CALL_NS = 60000         # estimated cost from which a worker is woken for an open group, or for a piece of a kernel
    SPLIT_NS = 40000        # and from which a kernel is split for those who are awake,
    GRAIN_NS = 20000        # into pieces of about so much

settings.inline_cost = 2000

cdef Queue queues[MAX_WORKERS + 1]
cdef Runner* workers[MAX_WORKERS + 1]
cdef int nworkers = 1               # wanted
cdef int started = 0                # running; GIL
cdef int stopping = 0               # atomic
cdef int forking = 0                # atomic
cdef Runner* runners = NULL
cdef int runners_lock = 0
cdef Bell idle_bell, done_bell
cdef int sleeping = 0               # workers asleep that nobody has woken; idle_bell
cdef int tokens = 0                 # workers woken that have not noticed; idle_bell
cdef int searching = 0              # atomic: workers awake that look for work
cdef int hosting = 0                # atomic: runners inside host tasks
cdef int rings = 0                  # of done_bell, under it: who saw an older count must look again
cdef int waiting_all = 0            # atomic: threads in wait_all
cdef int waiting_room = 0           # atomic: threads in make_room
cdef long long memory_waits = 0     # GIL
memory_budget = 1 << 62
cdef long long submitted = 0        # GIL
cdef long long retired = 0          # atomic: tasks finished by runners that are gone
cdef long long host_tasks = 0       # atomic: host tasks not yet finished
cdef long long waits = 0            # GIL
cdef Opening opening
cdef Wide wides[NWIDES]
cdef int longest_group = 32         # GIL
cdef long long groups = 0, grouped = 0, bytes_never_stored = 0      # atomic
cdef unsigned long long delay_seed = 0
cdef int delay_us = 0

cdef Kernel FENCE_KERNEL
FENCE_KERNEL.name = b"fence"
FENCE_KERNEL.flags = FENCE
FENCE_KERNEL.nops = 1

bell_init(&idle_bell)
bell_init(&done_bell)

cdef bint in_host_task() noexcept nogil:
    return tls_host != 0

# ---- queues -----------------------------------------------------------------------------------------------------------

cdef void push(int index, Task* t) noexcept nogil:
    cdef Queue* q = &queues[index]
    t.next = NULL
    spin_lock(&q.lock)
    if q.head == NULL:
        store_ptr(&q.head, t)
    else:
        q.tail.next = t
    q.tail = t
    spin_unlock(&q.lock)

cdef Task* pop(int index) noexcept nogil:
    cdef Queue* q = &queues[index]
    cdef Task* t
    if load_ptr(&q.head) == NULL:
        return NULL
    spin_lock(&q.lock)
    t = q.head
    if t != NULL:
        store_ptr(&q.head, t.next)
    spin_unlock(&q.lock)
    return t

cdef inline bint take(Task* t) noexcept nogil:
    """Whether the caller, who holds t's queue entry, is to run t."""
    if cas_int(&t.state, IDLE, TAKEN):
        return True
    if add_int(&t.state, POPPED) & FINISHED:
        cell_free_nogil(TASKS, t, t.size)
    return False

cdef Task* find(Runner* me) noexcept nogil:
    """The oldest ready task: of its own queue, of the submitters', of another worker's."""
    cdef int i, k
    cdef Task* t
    for i in range(nworkers + 1):
        k = me.index if i == 0 else 0 if i == 1 else (me.index + i - 2) % nworkers + 1
        while True:
            t = pop(k)
            if t == NULL:
                break
            if take(t):
                if k != me.index and k != 0:
                    me.stolen += 1
                return t
    return NULL

cdef void purge() noexcept nogil:
    """Drop the stale entries of tasks that waiting threads claimed. For when nothing is pending."""
    cdef int i
    cdef Task* t
    for i in range(nworkers + 1):
        while True:
            t = pop(i)
            if t == NULL:
                break
            if take(t):
                give_back(t)            # submitted by another thread just now
                return

cdef bint any_ready() noexcept nogil:
    cdef int i
    for i in range(nworkers + 1):
        if load_ptr(&queues[i].head) != NULL:
            return True
    return any_wide()

cdef void wake_worker() noexcept nogil:
    """After a push: make sure that somebody looks. One searching worker is enough, it wakes the next."""
    full_fence()                    # the push above, before the look at `searching`; pairs with idle()
    if load_int(&searching) == 0 and load_int(&sleeping):
        wake_one()

cdef void wake_one() noexcept nogil:
    global sleeping, tokens
    bell_lock(&idle_bell)
    if sleeping:
        sleeping -= 1
        tokens += 1
        add_int(&searching, 1)
        bell_ring_one(&idle_bell)
    bell_unlock(&idle_bell)

# ---- submitting -------------------------------------------------------------------------------------------------------

cdef int fence(Storage* s) except -1:
    """A task that waits for all pending accesses of s, so that later ones compare themselves with it alone.

    Without it, n pending writes to disjoint parts would cost n * n comparisons.
    """
    cdef Task* t = task_new(&FENCE_KERNEL, 1, 1, 0, 0, 0, 0)
    task_operand(t, 0, s, 0, WRITE | FULL | TRACKED)
    return submit(t)

cdef int submit(Task* t) except -1:
    """Hand t to the engine, which frees it when it is done. Needs the GIL."""
    global submitted
    cdef Access* a = accesses(t)
    cdef Task* open = opening.leader    # another thread may close it at any time: then it is but an address
    cdef bint met = False
    cdef int i
    if not started:
        start_workers()
    for i in range(t.nops):
        if a[i].storage != NULL and (a[i].key & (WRITE | FULL)) == WRITE and a[i].storage.nfront >= FENCE_AFTER:
            fence(a[i].storage)
    t.site = here()
    submitted += 1
    t.order = <unsigned int>submitted
    if t.kernel.flags & ELEMENTWISE and longest_group > 1 and t.nops <= MAX_ARGUMENTS:
        group(t)
    elif not (t.kernel.flags & REDUCES and open != NULL and may_tail(t) and end_group(t)):
        t.npending = 1
        for i in range(t.nops):
            if a[i].key & TRACKED and connect(t, a + i, open):
                met = True
        if t.kernel.flags & HOST:
            add_i64(&host_tasks, 1)
        if met:
            start_group()               # for what is not elementwise, it is complete
        if add_int(&t.npending, -1) == 0:
            push(0, t)
            wake_worker()
    if graves():
        drain()
    return 0

# ---- the open group ---------------------------------------------------------------------------------------------------

cdef int group(Task* t) except -1:
    """Let t join the open group, or open another with it."""
    cdef Access* a = accesses(t)
    cdef Task* closed = NULL
    cdef bint call = False
    cdef int i
    spin_lock(&opening.lock)
    try:
        if opening.leader != NULL and (opening.members >= longest_group or opening.operands + t.nops > MAX_OPERANDS
                                       or not may_join(opening.leader, &opening.space, &opening.waits, t)):
            closed = close_group()
        if opening.leader == NULL:
            t.npending = 2              # one is given back below, one when the group is closed
            opening.operands = opening.members = 0
            opening.cost = 0
            opening.called = False
            space_of(t, &opening.space)
            waits_of(t, &opening.waits)
        if opening.leader == NULL:
            connect_all(t)
            opening.leader = opening.last = t
            add_int(&t.npending, -1)
        else:
            append(t)
        opening.members += 1
        opening.operands += t.nops
        opening.cost += cost_of(t)
        if opening.cost > CALL_NS and not opening.called and load_int(&opening.leader.npending) == 1:
            call = opening.called = True
    finally:
        spin_unlock(&opening.lock)
        if closed != NULL:
            push(0, closed)
            call = True
    if call:
        wake_worker()
    return 0

cdef int connect_all(Task* t) except -1:
    cdef Access* a = accesses(t)
    cdef int i
    for i in range(t.nops):
        if a[i].key & TRACKED:
            connect(t, a + i, NULL)
    return 0

cdef int append(Task* t) except -1:
    """Make t the last member of the open group. Needs the lock."""
    t.group = opening.leader
    t.flags |= MEMBER
    connect_all(t)
    if opening.last == opening.leader:
        store_ptr(&opening.leader.group, t)
    else:
        store_ptr(&opening.last.next, t)
    opening.last = t
    return 0

cdef bint end_group(Task* t) except -1:
    """Let the reduction t be the end of the open group, if it may."""
    cdef Task* closed = NULL
    cdef bint joined = False
    spin_lock(&opening.lock)
    try:
        if opening.leader != NULL and opening.operands + t.nops <= MAX_OPERANDS and (
                may_join(opening.leader, &opening.space, &opening.waits, t)):
            append(t)
            joined = True
            closed = close_group()
    finally:
        spin_unlock(&opening.lock)
        if closed != NULL:
            push(0, closed)
    if closed != NULL:
        wake_worker()
    return joined

cdef double cost_of(Task* t) noexcept nogil:
    """In nanoseconds, roughly."""
    cdef double cost = t.kernel.cost
    cdef int i
    for i in range(t.ndim + t.ncore):
        cost *= task_dims(t)[i]
    return cost

cdef Task* close_group() noexcept nogil:
    """Nobody joins the open group any more. Its leader, if it can run, for the caller to queue. Needs the lock."""
    cdef Task* leader = opening.leader
    opening.leader = NULL
    if leader != NULL and add_int(&leader.npending, -1) == 0:
        return leader
    return NULL

cdef void start_group() noexcept nogil:
    """Close the open group, if there is one, and queue it."""
    cdef Task* t
    if load_ptr(&opening.leader) == NULL:
        return
    spin_lock(&opening.lock)
    t = close_group()
    spin_unlock(&opening.lock)
    if t != NULL:
        push(0, t)
        wake_worker()

cdef void nudge() noexcept:
    """Somebody asks whether something is ready: let it become so."""
    start_group()

cdef inline bint group_waits() noexcept nogil:
    """Whether an open group waits for nothing but to be closed, and is worth a worker's time."""
    cdef Task* leader
    cdef bint waits = False
    if load_ptr(&opening.leader) == NULL:
        return False
    spin_lock(&opening.lock)
    leader = opening.leader
    waits = leader != NULL and opening.cost > CALL_NS and load_int(&leader.npending) == 1
    spin_unlock(&opening.lock)
    return waits

# ---- running ----------------------------------------------------------------------------------------------------------

cdef inline void enter(Runner* me) noexcept nogil:
    swap_int(&me.inside, 1)         # a full barrier: before the look at `forking`
    while load_int(&forking):
        store_int(&me.inside, 0)
        sleep_ns(50000)
        swap_int(&me.inside, 1)

cdef inline void leave(Runner* me) noexcept nogil:
    store_int(&me.inside, 0)

cdef void take_gil(Runner* me) noexcept nogil:
    """The thread state is kept between calls, so that an error that a loop set under the GIL is still there."""
    if me.tstate == NULL:
        enter(me)                   # making one takes a lock of the interpreter's that a forked child would need
        PyGILState_Ensure()
        leave(me)
    else:
        PyEval_RestoreThread(me.tstate)

cdef void drop_gil(Runner* me) noexcept nogil:
    me.tstate = PyEval_SaveThread()

cdef Poison* run_loop(Runner* me, Task* t) noexcept nogil:
    """Run the kernel of t; the error, if any, as a new reference."""
    cdef Kernel* k = t.kernel
    cdef Access* a = accesses(t)
    cdef char* args[256]
    cdef intp steps[8]              # of a FLAT task
    cdef int i, flags
    for i in range(t.nops):
        if t.flags & FLAT:
            steps[i] = 0 if a[i].storage == NULL else 1 << ((a[i].key >> SIZE_SHIFT) & 15)
        if a[i].storage == NULL:
            args[i] = constant_of(t, i)
        else:
            if not storage_allocate(a[i].storage):
                take_gil(me)
                p = memory_poison(t, a[i].storage.nbytes)
                drop_gil(me)
                return p
            args[i] = a[i].storage.data + (a[i].key >> ACCESS_BITS)
    if k.flags & MAY_RAISE and me.tstate == NULL:
        take_gil(me)
        drop_gil(me)
    if k.flags & (REPORTS_FP | INVALID_FAILS):
        fp_clear()
    if k.flags & ROWS and not k.flags & MAY_RAISE and t.nops <= 64 and cost_of(t) > SPLIT_NS:
        flags = spread_rows(t, args)
    else:
        run_kernel(k, args, t.nops, t.ndim, task_dims(t), &steps[0] if t.flags & FLAT else task_strides(t))
        flags = fp_flags()
    if k.flags & (REPORTS_FP | INVALID_FAILS):
        if flags & FP_INVALID and k.flags & INVALID_FAILS:
            take_gil(me)
            p = invalid_poison(t)
            drop_gil(me)
            return p
        if flags & t.fp_warn:
            warn_later(flags & t.fp_warn, t.site, k)
    if k.flags & MAY_RAISE and thread_state_has_error(me.tstate):
        take_gil(me)
        p = raised_poison(t)
        drop_gil(me)
        return p
    return NULL

cdef int spread_rows(Task* t, char** args) noexcept nogil:
    """Run t in pieces: its own, or of the outermost loop dimension. The floating point flags."""
    cdef RowsPlan r
    cdef intp rows = task_dims(t)[0], least = (rows + 4 * nworkers - 1) // (4 * nworkers)
    if t.kernel.pieces != NULL and t.ndim == 1:
        rows = t.kernel.pieces(task_dims(t))
        least = 1
    r.kernel = t.kernel
    r.nops = t.nops
    r.ndim = t.ndim
    r.ndims = t.ndim + t.ncore
    r.dims = task_dims(t)
    r.strides = task_strides(t)
    r.flags = 0
    memcpy(r.args, args, t.nops * sizeof(args[0]))
    spread(run_rows, &r, rows, least, cost_of(t))
    return r.flags

cdef Poison* memory_poison(Task* t, size_t nbytes) noexcept with gil:
    return poison_new(MemoryError(f"Unable to allocate {nbytes} bytes for the result of {t.kernel.name.decode()}"),
                      t.site, t.kernel.name)

cdef Poison* invalid_poison(Task* t) noexcept with gil:
    from numpy.linalg import LinAlgError
    return poison_new(LinAlgError(t.kernel.failure.decode()), t.site, t.kernel.name)

cdef Poison* raised_poison(Task* t) noexcept with gil:
    try:
        if PyErr_Occurred():
            raise_current()
    except BaseException as error:
        return poison_new(error.with_traceback(None), t.site, t.kernel.name)
    return NULL

cdef int raise_current() except -1:
    return -1                       # the error indicator is set: let it propagate

cdef Poison* run_host(Task* t, Poison* reason) noexcept with gil:
    """Call the payload with the error that its inputs carry, or None."""
    cdef PyObject** slot = <PyObject**>task_constants(t)
    global tls_host
    cdef Poison* failure
    payload = <object>slot[0]
    Py_DECREF(payload)              # the task's own reference; the local one lives on
    slot[0] = NULL
    tls_host += 1
    try:
        payload(None if reason == NULL else <object>reason.error)
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        failure = poison_new(error, t.site, t.kernel.name)
        if interrupted:
            PyErr_SetInterrupt()    # a waiting thread ran this task, and the user wants that thread
        return failure
    finally:
        tls_host -= 1
    return NULL

cdef Task* execute(Runner* me, Task* t) noexcept nogil:
    """Run and finish t, which me has taken; a task to run next, or NULL. Enters with me outside, leaves it inside."""
    me.current = t
    if delay_us:
        random_delay(me)
    if t.group != NULL or (t.kernel.flags & (ELEMENTWISE | REDUCES) and cost_of(t) > SPLIT_NS and (
            t.kernel.flags & ELEMENTWISE or may_tail(t))):
        run_group(me, t)
    else:
        run_one(me, t)
    enter(me)
    me.current = NULL
    return retire(me.index, t, &me.done)

cdef void run_one(Runner* me, Task* t) noexcept nogil:
    """Run t, not its group, unless what it reads is poisoned."""
    cdef Poison* error = NULL
    cdef Poison* reason = NULL
    if not t.kernel.flags & FENCE:
        reason = find_poison(t)
        if t.kernel.flags & HOST and (reason == NULL or t.flags & ALWAYS):
            add_int(&hosting, 1)
            take_gil(me)
            error = run_host(t, reason)
            drop_gil(me)
            add_int(&hosting, -1)
        elif reason == NULL:
            error = run_loop(me, t)
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

cdef Task* take_group(Storage* s) noexcept:
    """Close the open group for a thread that waits for s (NULL: for everything), and take it if it can run. Needs the GIL."""
    cdef Task* t
    if opening.leader == NULL:
        return NULL
    spin_lock(&opening.lock)
    t = close_group()
    spin_unlock(&opening.lock)
    if t != NULL and s != NULL and not writes(t, s):
        push(0, t)                      # others may run it
        wake_worker()
        return NULL
    if t != NULL:
        store_int(&t.state, TAKEN)
    return t

cdef bint writes(Task* t, Storage* s) noexcept nogil:
    """Whether t or a member of its group does."""
    cdef Access* a
    cdef int i
    while t != NULL:
        a = accesses(t)
        for i in range(t.nops):
            if a[i].storage == s and a[i].key & WRITE:
                return True
        t = next_member(t)
    return False

cdef bint run_here(Task* t) noexcept:
    """Run a group that was taken and is small, with the GIL. False when that cannot be."""
    cdef GroupPlan g
    cdef long long done = 0
    cdef double cost = 0
    cdef Task* m = t
    while m != NULL:
        cost += cost_of(m)
        m = next_member(m)
    if delay_us or cost > CALL_NS or not plan_group(t, &g):
        return False
    run_plan(t, &g)
    t = retire(0, t, &done)
    if t != NULL:
        give_back(t)
    add_i64(&retired, done)
    return True

cdef void run_plan(Task* leader, GroupPlan* g) noexcept nogil:
    cdef Task* m = leader
    cdef int j = 0
    spread(run_blocks, g, pieces_of(g), 1, g.cost)
    end_blocks(g)
    while m != NULL:
        if g.flags[j] & m.fp_warn:
            warn_later(g.flags[j] & m.fp_warn, m.site, m.kernel)
        j += 1
        m = next_member(m)
    if g.members > 1:
        add_i64(&groups, 1)
        add_i64(&grouped, g.members)
        add_i64(&bytes_never_stored, g.saved)

# ---- wide kernels -----------------------------------------------------------------------------------------------------

cdef void spread(void (*run)(void*, intp, intp) noexcept nogil, void* plan, intp total, intp least, double cost) noexcept nogil:
    """run(plan, start, stop) for pieces that make up [0, total), by all runners that have nothing else to do.

    least: of a piece. cost: of all of it, in nanoseconds.
    """
    cdef Wide* w
    cdef intp pieces = <intp>(cost / GRAIN_NS) + 1
    cdef int i
    if cost >= SPLIT_NS and total > least and nworkers > 1:
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
    w.next = 0
    w.total = total
    w.grain = (total + pieces - 1) // pieces
    if w.grain < least:
        w.grain = least
    store_int(&w.open, 1)
    pieces = (total + w.grain - 1) // w.grain
    full_fence()                        # before the look at `sleeping`; pairs with idle()
    for i in range(1, nworkers):
        if i >= pieces or cost < CALL_NS or load_int(&sleeping) == 0:
            break
        wake_one()
    work(w)
    spin_lock(&w.lock)
    w.open = 0
    spin_unlock(&w.lock)
    while load_int(&w.helpers):         # the rest of a piece
        cpu_pause()
    store_int(&w.taken, 0)

cdef void work(Wide* w) noexcept nogil:
    cdef long long start, stop
    while True:
        stop = add_i64(&w.next, w.grain)
        start = stop - w.grain
        if start >= w.total:
            return
        w.run(w.plan, start, stop if stop < w.total else w.total)

cdef inline bint joinable(Wide* w) noexcept nogil:
    return load_int(&w.open) and load_i64(&w.next) < w.total and load_int(&w.helpers) < nworkers - 1

cdef bint any_wide() noexcept nogil:
    cdef int i
    for i in range(NWIDES):
        if joinable(&wides[i]):
            return True
    return False

cdef bint join_wide(Runner* me) noexcept nogil:
    """Take part in kernels that are being split. Whether there was one. Enters and leaves with me inside."""
    cdef Wide* w
    cdef bint joined, any = False
    cdef int i
    for i in range(NWIDES):
        w = &wides[i]
        if not joinable(w):
            continue
        spin_lock(&w.lock)
        joined = joinable(w)
        if joined:
            w.helpers += 1
        spin_unlock(&w.lock)
        if joined:
            leave(me)
            work(w)
            add_int(&w.helpers, -1)
            enter(me)
            any = True
    return any

cdef Task* retire(int index, Task* t, long long* done) noexcept nogil:
    """Finish t; queue what became ready but for one task, which the caller takes (or NULL)."""
    cdef bint ring = False
    cdef bint host = (t.kernel.flags & HOST) != 0
    cdef long long members = 0
    cdef Task* following = t
    cdef Task* ready
    cdef Task* chosen = NULL
    while following != NULL:
        members += 1
        following = next_member(following)
    ready = finish(t, &ring)
    if host:
        add_i64(&host_tasks, -1)
    while ready != NULL:
        following = ready.next
        if chosen == NULL:
            if take(ready):
                chosen = ready
        else:
            push(index, ready)
            wake_worker()
        ready = following
    done[0] += members
    if ring or load_int(&waiting_room):
        ring_done()
    if group_waits():
        wake_worker()                   # t may have been what it waited for
    return chosen

cdef void ring_done() noexcept nogil:
    global rings
    bell_lock(&done_bell)
    rings += 1
    bell_ring_all(&done_bell)
    bell_unlock(&done_bell)

# ---- workers ----------------------------------------------------------------------------------------------------------

cdef void register(Runner* me) noexcept nogil:
    global runners
    spin_lock(&runners_lock)
    me.next = runners
    runners = me
    spin_unlock(&runners_lock)

cdef void unregister(Runner* me) noexcept nogil:
    cdef Runner** p = &runners
    spin_lock(&runners_lock)
    while p[0] != me:
        p = &p[0].next
    p[0] = me.next
    add_i64(&retired, me.done)
    spin_unlock(&runners_lock)

cdef long long pending() noexcept nogil:
    cdef long long n = submitted
    cdef Runner* r
    spin_lock(&runners_lock)
    n -= retired
    r = runners
    while r != NULL:
        n -= load_i64(&r.done)
        r = r.next
    spin_unlock(&runners_lock)
    return n

cdef void* worker_main(void* arg) noexcept nogil:
    global tls_runner
    cdef Runner* me = <Runner*>arg
    cdef Task* t
    tls_runner = me
    while not load_int(&stopping):
        enter(me)
        t = find(me)
        if t == NULL and join_wide(me):
            t = find(me)
        leave(me)
        if t == NULL:
            if load_int(&waiting_all):
                ring_done()
            t = idle(me)
        while t != NULL:
            t = execute(me, t)
            if t == NULL and not load_int(&stopping):
                t = find(me)
            elif t != NULL and load_int(&stopping):
                give_back(t)
                t = NULL
            leave(me)
    if me.tstate != NULL:
        end_thread_state(me)
    return NULL

cdef void give_back(Task* t) noexcept nogil:
    """Queue a task that was taken and not run."""
    store_int(&t.state, IDLE)
    push(0, t)
    wake_worker()

cdef extern from *:
    """
    static void end_thread_state(void *runner_tstate) {
        PyEval_RestoreThread((PyThreadState *)runner_tstate);
        PyGILState_Release(PyGILState_UNLOCKED);     /* undoes the PyGILState_Ensure that made it */
    }
    """
    void end_thread_state_c "end_thread_state"(void*) nogil

cdef void end_thread_state(Runner* me) noexcept nogil:
    end_thread_state_c(me.tstate)
    me.tstate = NULL

cdef void look_around(Runner* me) noexcept nogil:
    """Until there is work, for a while. An open group is watched until it fills, or is taken when nobody joins it any more."""
    cdef long long now = now_ns(), until = now + SPIN_NS, ripe = now + RIPE_NS
    cdef Task* seen = NULL
    cdef int members = 0
    while not any_ready() and not load_int(&stopping):
        cpu_pause()
        now = now_ns()
        if group_waits():
            if seen != load_ptr(&opening.leader) or members != load_int(&opening.members):
                seen = <Task*>load_ptr(&opening.leader)
                members = load_int(&opening.members)
                ripe = now + RIPE_NS
            elif now > ripe:
                enter(me)
                start_group()
                leave(me)
        elif now > until:
            return

cdef Task* idle(Runner* me) noexcept nogil:
    """Look around for a while, one worker at a time, then sleep. A task that was found, or NULL."""
    global sleeping, tokens
    cdef Task* t = NULL
    cdef bint counted = False
    if cas_int(&searching, 0, 1):
        counted = True
        look_around(me)
    while t == NULL and not load_int(&stopping):
        if not counted:
            # Asleep is announced before the last look around; a push is made before its look for sleepers. One of
            # both sees the other: `sleeping` changes under the bell, a full barrier, and wake_worker() has a fence.
            bell_lock(&idle_bell)
            sleeping += 1
            full_fence()
            if not any_ready() and not group_waits() and not load_int(&stopping):
                while tokens == 0 and not load_int(&stopping):
                    bell_wait(&idle_bell)
            if tokens:
                tokens -= 1         # wake_worker took us off `sleeping` and counted us as searching
                counted = True
            else:
                sleeping -= 1
            bell_unlock(&idle_bell)
            if counted or group_waits():
                look_around(me)
        enter(me)
        t = find(me)
        if t == NULL and join_wide(me):
            t = find(me)
        leave(me)
        if counted:
            add_int(&searching, -1)
            counted = False
            full_fence()            # pairs with wake_worker: who pushed while we were searching relied on us
    if counted:
        add_int(&searching, -1)     # it is time to stop
    if t != NULL and any_ready():
        wake_worker()
    return t

cdef int start_workers() except -1:
    global started, sleeping, tokens, searching
    cdef int i
    cdef Runner* r
    store_int(&stopping, 0)
    sleeping = tokens = searching = 0       # no worker is there
    for i in range(1, nworkers + 1):
        r = <Runner*>calloc(1, sizeof(Runner))
        if r == NULL:
            raise MemoryError("no memory for a worker")
        r.index = i
        r.random = delay_seed + 77 * i + 1
        workers[i] = r
        register(r)
        if pthread_create(&r.thread, NULL, worker_main, r):
            unregister(r)
            free(r)
            if i == 1:
                raise RuntimeError("cannot start a worker thread")
            break                   # fewer workers than wanted: queues of the others stay empty
        started = i
    return 0

cdef void stop_workers(bint leaving) noexcept nogil:
    """Let each finish what it runs, and join it; when leaving the process, wait a second for it at most. Without the GIL."""
    global started
    cdef int i
    store_int(&stopping, 1)
    bell_lock(&idle_bell)
    bell_ring_all(&idle_bell)
    bell_unlock(&idle_bell)
    for i in range(1, started + 1):
        if leaving and join_within(workers[i].thread, 1000000000):
            continue
        if not leaving:
            pthread_join(workers[i].thread, NULL)
        unregister(workers[i])
        free(workers[i])
        workers[i] = NULL
    started = 0

cdef void random_delay(Runner* me) noexcept nogil:
    me.random = me.random * 6364136223846793005ULL + 1442695040888963407ULL
    if (me.random >> 62) == 0:
        sleep_ns(1000 * <long long>((me.random >> 33) % <unsigned long long>delay_us))

# ---- waiting ----------------------------------------------------------------------------------------------------------

cdef bint region_ready(Storage* s, Region* r, bint write) noexcept nogil:
    """Whether no pending access stands in the way of reading (or writing) a region."""
    cdef Access* e
    cdef bint ready = True
    if load_ptr(&s.writes) == NULL and (not write or load_ptr(&s.reads) == NULL):
        return True
    if r == NULL:
        return False
    spin_lock(&s.lock)
    e = s.writes
    while e != NULL and ready:
        ready = not overlap(e, r)
        e = e.next
    e = s.reads if write else NULL
    while e != NULL and ready:
        ready = not overlap(e, r)
        e = e.next
    spin_unlock(&s.lock)
    return ready

cdef Task* claim_needed(Storage* s, int* visits) noexcept nogil:
    """A ready task that s waits for, taken out of turn, or NULL.

    The path of locks is held by trylock, so it cannot deadlock, and a storage already on it is skipped. It is a search
    that may miss: then the queues' own order serves.
    """
    cdef Access* e
    cdef Access* a
    cdef Task* t
    cdef Task* found = NULL
    cdef int i
    if visits[0] <= 0 or not spin_trylock(&s.lock):
        return NULL
    visits[0] -= 1
    e = s.writes
    while e != NULL and found == NULL and visits[0] > 0:
        t = head_of(task_of(e))             # lives while the lock is held: it has yet to leave this frontier
        if load_int(&t.npending) == 0:
            if cas_int(&t.state, IDLE, CLAIMED):
                found = t
            t = NULL
        while t != NULL and found == NULL and visits[0] > 0:
            a = accesses(t)
            for i in range(t.nops):
                if a[i].storage != NULL and load_ptr(&a[i].storage.writes) != NULL:
                    found = claim_needed(a[i].storage, visits)
                    if found != NULL:
                        break
            visits[0] -= 1
            t = next_member(t)
        visits[0] -= 1
        e = e.next
    spin_unlock(&s.lock)
    return found

cdef Task* help(Runner* me, Storage* s) noexcept nogil:
    """A task for a waiting thread: one that s needs; else any, when workers sleep or are held up by Python code."""
    cdef int visits = 128
    cdef Task* t = me.current       # the group that it has taken
    enter(me)
    if t == NULL and s != NULL:
        t = claim_needed(s, &visits)
    if t == NULL:
        start_group()               # it may be needed, or nobody else may come for it
        join_wide(me)
    if t == NULL and (load_int(&sleeping) or load_int(&hosting) or not started):
        t = find(me)
        if t != NULL and t.kernel.flags & HOST and s != NULL and started:
            give_back(t)            # somebody's Python code may block: that is for workers
            t = NULL
    leave(me)
    return t

cdef struct Wait:           # what a thread waits for
    Storage* s              # that it can be read or written; NULL: that nothing is pending,
    Region* r
    bint write
    long long room          # or, when this is not 0, that so many bytes fit into the budget

cdef bint finished(Wait* w) noexcept nogil:
    if w.s != NULL:
        return region_ready(w.s, w.r, w.write)
    return pending() == 0 or (w.room and bytes_live() + w.room <= memory_budget - memory_budget // 8)

cdef bint help_until(Runner* me, Wait* w) noexcept nogil:
    """Help, or sleep, until what is waited for is ready (True) or it is time to look at signals (False).

    Called with the GIL, which it gives up in between.
    """
    cdef long long start = now_ns()
    cdef int seen
    cdef bint ready
    cdef Task* t
    drop_gil(me)
    while True:
        seen = load_int(&rings)
        enter(me)
        ready = finished(w)
        leave(me)
        if ready or now_ns() - start > SLICE_NS:
            break
        t = help(me, w.s)
        if t != NULL:
            while t != NULL:
                t = execute(me, t)
                if t != NULL and (now_ns() - start > SLICE_NS or finished(w)):
                    give_back(t)
                    t = NULL
                leave(me)
            if load_int(&waiting_all):
                ring_done()
        elif now_ns() - start < SPIN_NS:
            sched_yield()
        else:
            bell_lock(&done_bell)
            if rings == seen:
                bell_wait_ns(&done_bell, SLICE_NS)
            bell_unlock(&done_bell)
    take_gil(me)
    return ready

cdef int block(Wait* w, bint once=False) except -1:
    """Wait with help; `once`: for one slice of time at most. Ctrl-C interrupts."""
    global waits
    cdef Runner me
    cdef Site* site
    cdef Storage* s = w.s
    cdef Task* t
    if tls_host:
        raise RuntimeError("a task would wait for another one: pass the array as an argument of dflow.submit")
    t = take_group(s)
    if t != NULL and run_here(t):
        return 0
    site = here()
    waits += 1
    if site != NULL:
        site.waits += 1
    memset(&me, 0, sizeof(me))
    me.random = delay_seed + 1
    me.current = t
    register(&me)
    if s != NULL:
        add_int(&s.refs, 1)
        spin_lock(&s.lock)
        s.waited += 1
        spin_unlock(&s.lock)
    else:
        add_int(&waiting_room if w.room else &waiting_all, 1)
    try:
        while not help_until(&me, w):
            PyErr_CheckSignals()
            if once:
                break
    finally:
        if me.current != NULL:
            give_back(me.current)
        unregister(&me)
        if s != NULL:
            spin_lock(&s.lock)
            s.waited -= 1
            spin_unlock(&s.lock)
            storage_unref(s)
        else:
            add_int(&waiting_room if w.room else &waiting_all, -1)
    return 0

cdef int settle(bint once=False) except -1:
    """Until nothing is pending."""
    cdef Wait w
    w.s = NULL
    w.room = 0
    while pending():
        block(&w, once)
        if once:
            break
    return 0

cdef bint make_room(size_t nbytes) except -1:
    """Wait until so many bytes more fit into the memory budget. False when they never will. In a host task: True."""
    global memory_waits
    cdef Wait w
    w.s = NULL
    w.room = <long long>nbytes
    if <long long>nbytes > memory_budget:
        return False
    if tls_host:
        return True
    memory_waits += 1
    while pending() and bytes_live() + w.room > memory_budget:
        block(&w)
    if graves():
        drain()
    return bytes_live() + w.room <= memory_budget

cdef int wait_storage(Storage* s, Region* r, bint write) except -1:
    """Until no pending access stands in the way of reading (or writing) a region of s. Raises its poison, if reading."""
    cdef Wait w
    w.s = s
    w.r = r
    w.write = write
    w.room = 0
    while not region_ready(s, r, write):
        block(&w)
    if warnings_wait():
        give_warnings()
    if graves():
        drain()
    if s.poison != NULL and not write:
        raise_poison(s.poison)
    return 0

cdef int wait_all() except -1:
    """Until nothing is pending. Raises the errors that nobody has seen."""
    settle()
    purge()
    drain()
    trim_cells()
    if warnings_wait():
        give_warnings()
    errors = unseen_errors()
    if len(errors) == 1:
        raise errors[0]
    if errors:
        if all(isinstance(error, Exception) for error in errors):
            raise ExceptionGroup("several operations failed", errors)
        raise BaseExceptionGroup("several operations failed", errors)
    return 0

# ---- fork and exit ----------------------------------------------------------------------------------------------------

def before_fork():
    """Bring every runner to a point where it holds no lock. Kernels run on."""
    cdef Runner* r
    global forking
    start_group()                   # the child finds it in a queue
    swap_int(&forking, 1)
    while True:
        spin_lock(&runners_lock)
        r = runners
        while r != NULL and not load_int(&r.inside):
            r = r.next
        if r == NULL:
            return                  # holding the GIL and runners_lock over the fork: the child finds all lists whole
        spin_unlock(&runners_lock)
        with nogil:                 # who is inside may want the GIL, to make its thread state
            sleep_ns(1000)

def after_fork_in_parent():
    spin_unlock(&runners_lock)
    store_int(&forking, 0)

def after_fork_in_child():
    """No worker has survived. What was pending is poisoned, what was ready stays."""
    global runners, started, sleeping, tokens, searching, hosting, waiting_all, waiting_room, runners_lock, forking
    cdef Runner* me = <Runner*>tls_runner
    cdef Runner* r
    cdef Task* t
    cdef Poison* p = NULL
    cdef int i
    r = runners
    runners = NULL
    runners_lock = forking = sleeping = tokens = searching = waiting_all = waiting_room = started = 0
    hosting = 1 if tls_host else 0
    bell_init(&idle_bell)
    bell_init(&done_bell)
    memory_after_fork()
    if pending_after_fork(r):
        p = poison_new(RuntimeError("this array was pending when the process forked: only the parent computes it"),
                       NULL, b"fork")
        p.seen = 1
    while r != NULL:
        if r != me and r.current != NULL:
            end_task(r.current, p)
        r = r.next
    for i in range(NWIDES):
        memset(&wides[i], 0, sizeof(Wide))
    opening.lock = 0
    blas_after_fork()
    for i in range(MAX_WORKERS + 1):
        queues[i].lock = 0
        while True:
            t = pop(i)
            if t == NULL:
                break
            if take(t):
                end_task(t, p)
    if p != NULL:
        poison_unref(p)
    settle_after_fork(me)
    drain()

cdef bint pending_after_fork(Runner* r) noexcept:
    cdef long long n = submitted - retired
    while r != NULL:
        n -= r.done
        r = r.next
    return n != 0

cdef void settle_after_fork(Runner* me) noexcept:
    """Count nothing as pending, but the task that forked, if one did."""
    global retired, runners
    retired = submitted
    if me != NULL:
        me.next = NULL
        me.done = 0
        runners = me
        retired -= 1

cdef void end_task(Task* t, Poison* p) noexcept nogil:
    """Finish t without running it, and all that depends on it."""
    cdef long long done = 0
    cdef Task* m
    while t != NULL:
        m = t
        while m != NULL:
            mark(m, p)
            m = next_member(m)
        t = retire(0, t, &done)

def shutdown():
    """At exit: run the host tasks, for their effects; drop the rest; report errors that nobody saw."""
    cdef long long before = -1, left = pending()
    cdef int slices = 0
    try:
        while load_i64(&host_tasks) and left and slices < STUCK:
            slices = slices + 1 if left == before else 0
            before = left
            settle(True)
            left = pending()
    except BaseException:           # Ctrl-C again
        pass
    if started:
        with nogil:
            stop_workers(True)
    drain()
    for error in unseen_errors():
        report_unseen(error)

# ---- what Python sees -------------------------------------------------------------------------------------------------

def waitall():
    """Wait until nothing is pending. Raises the errors nobody has read; an ExceptionGroup when they are several."""
    if tls_host:
        raise RuntimeError("a task would wait for all others, itself among them")
    wait_all()

def set_num_workers(int n):
    """Use n worker threads from now on; waits for pending work first."""
    global nworkers
    if not 1 <= n <= MAX_WORKERS:
        raise ValueError(f"n must be between 1 and {MAX_WORKERS}, not {n}")
    settle()
    if started:
        with nogil:
            stop_workers(False)
    nworkers = n

def num_workers():
    """How many worker threads the engine uses."""
    return nworkers

def naive(on=None):
    """Run every operation at its call (True) or asynchronously (False). Returns the previous setting."""
    before = bool(settings.naive)
    if on is not None:
        waitall()
        settings.naive = bool(on)
    return before

def inline_limit(ns=None):
    """The estimated cost, in nanoseconds, up to which an operation on ready data runs in its caller.

    0 queues every operation. Returns the previous limit.
    """
    before = settings.inline_cost
    if ns is not None:
        settings.inline_cost = <float>(ns if ns > 0 else -1)
    return max(before, 0)

def bulk(n=None):
    """At most n elementwise operations run as one group from now on; 0 or 1: none do. Returns the previous limit."""
    global longest_group
    before = longest_group
    if n is not None:
        if not 0 <= n <= MAX_MEMBERS:
            raise ValueError(f"n must be between 0 and {MAX_MEMBERS}, not {n}")
        start_group()
        longest_group = n
    return before

def set_memory_budget(nbytes):
    """Bytes of array data that may be allocated or promised at a time. Returns the previous budget.

    An operation whose result does not fit waits until pending work has given memory back, and raises MemoryError when
    nothing pending can.
    """
    global memory_budget
    before = memory_budget
    if not isinstance(nbytes, int) or nbytes <= 0:
        raise ValueError(f"nbytes must be a positive int, not {nbytes!r}")
    memory_budget = min(nbytes, 1 << 62)
    set_block_limit(memory_budget)
    return before

def memory_stats():
    """Bytes: the budget; live (array data allocated or promised); held (blocks taken from the system), cached (of these,
    kept for arrays to come), peak (most ever held). waits: submissions that waited for room."""
    drain()
    held = block_bytes()
    return {"budget": memory_budget, "live": bytes_live(), "held": held.held, "cached": held.cached, "peak": held.peak,
            "waits": memory_waits}

def set_delays(unsigned long long seed, int max_us):
    """For tests: sleep up to max_us microseconds before about every fourth task. seed 0 turns it off."""
    global delay_seed, delay_us
    delay_seed = seed
    delay_us = max_us if seed else 0

def statistics():
    """Counters since the process started, and what is pending now.

    pending, inline (operations run in their caller), queued (tasks), groups (that ran), fused (their members),
    bytes_never_stored (of results that groups kept in registers), stolen (tasks run by another worker than the one
    that made them ready), waits (that blocked), waits_at ({"file:line in function": count}), storages, bytes (of
    array data that is allocated or promised), workers.
    """
    cdef Runner* r
    cdef long long stolen = 0
    drain()
    nudge()
    r = runners
    while r != NULL:
        stolen += r.stolen
        r = r.next
    counts = live()
    return {"pending": pending(), "inline": settings.inlined, "queued": submitted, "fused": grouped, "groups": groups,
            "bytes_never_stored": bytes_never_stored, "stolen": stolen,
            "waits": waits, "waits_at": _graph.waits_by_site(), "storages": counts["storages"], "bytes": counts["bytes"],
            "workers": nworkers}

def live():
    """Storages, unfinished tasks and bytes of array data that exist now."""
    return {**_graph.live(), "tasks": pending()}

def check_idle():
    """Assert that nothing is pending, queued or running."""
    cdef Runner* r = runners
    assert opening.leader == NULL, "a group is open"
    assert pending() == 0, f"{pending()} tasks are pending"
    assert not any_ready(), "a queue is not empty"
    assert load_i64(&host_tasks) == 0, "a host task is pending"
    while r != NULL:
        assert r.current == NULL, "a worker is running"
        r = r.next
