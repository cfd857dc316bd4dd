"""Submitting, waiting and exit. The contract is in _engine.pxd.

The life of a task: task_new and task_operand fill it, submit() connects it to its predecessors; who brings `npending` to
0 queues it; a runner (a worker, or a thread that waits) takes it, runs its kernel, finishes it, and queues what became
ready.
"""

from operator import index

from dflow._kernels.kernel cimport ELEMENTWISE, FENCE, HOST, Kernel, REDUCES
from dflow._base.atomics cimport DFLOW_TSAN, add_i64, add_int, cas_int, glance_int, hint_int, load_i64, load_int, \
    load_ptr, spin_lock, spin_trylock, spin_unlock, store_double, store_i64, store_int, store_ptr
from dflow._base.threads cimport Cores, bell_lock, bell_unlock, bell_wait_ns, cores_none, cores_with, now_ns, sched_yield
from dflow._runtime import graph

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memset
from dflow._runtime.fp_errors cimport warnings_wait, give_warnings
from dflow._runtime.gate cimport gate_closed, use_of
from dflow._runtime.graph cimport *
from dflow._runtime.fusion cimport *
from dflow._runtime.queues cimport *
from dflow._base.allocator cimport *
from dflow._base.thread_state cimport CPUS, captures, noting_hooks
from dflow._runtime.story cimport tell_late
from dflow._runtime.timeline cimport note, watched
from dflow._gpu.mirror cimport finish_gpus, gpus
from dflow._runtime.threads cimport *
from dflow._runtime.executor cimport *

cdef enum:
    FENCE_AFTER = 64        # frontier length at which a partial write inserts a fence
    MAX_LOOSE = 4           # results of a group that nothing in it has read; more would only be in each other's way
    JOIN_NS = 4000          # cost of an open group that an operation joins, however small, rather than catch up with it
    WORTH_NS = 4000         # cost of what is left to a worker that looks for work, though something small waits for it
    MAX_FUTILE = 32         # attempts in a row to catch up that may find nothing; then as many are passed over between two
    STUCK = 60              # slices without progress after which the exit waits no longer for host tasks
    ANY = 0                 # for claim_needed()
    LOOPS = -1
    SLICE_NS = 50000000     # longest sleep of a waiting thread between looks at signals
    TASK_BYTES = 200        # of memory that a pending task takes, about
    COUNT_AFTER = 4096      # submissions between looks at how many are pending
    PATIENCE_NS = 1000000   # for which who waits for room waits for more of it than he needs

settings.inline_cost = 2000
settings.tiny_cost = 500
memory_budget = 1 << 62

cdef int longest_group = 32         # GIL
cdef long long waits = 0            # GIL
cdef double unannounced = -1        # GIL; the cost of ready tasks for which no worker was woken; below 0: there are none
cdef Lane* quiet = &lanes[0]        # GIL; whose they are
cdef long long memory_waits = 0     # GIL
cdef long long next_look = 0        # GIL; after how many submissions to look at how many of them are pending

cdef Kernel FENCE_KERNEL
FENCE_KERNEL.name = b"fence"
FENCE_KERNEL.flags = FENCE
FENCE_KERNEL.nops = 1

cdef void nudge() noexcept:
    """Somebody asks whether something is ready: let it become so."""
    start_group()
    announce(False)

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
    cdef Access* a = accesses(t)
    cdef Storage* pinned = NULL
    cdef Task* open = <Task*>load_ptr(&opening.leader)      # another thread may close it at any time: then it is but an address
    cdef bint met = False, quiet, host = (t.kernel.flags & HOST) != 0, fences = (t.kernel.flags & FENCE) != 0
    cdef int i
    prepare(t)
    for i in range(t.nops):
        if a[i].storage == NULL:
            continue
        if a[i].storage.pins and not fences:
            pinned = a[i].storage
        if abroad(a[i].storage):
            go_abroad(t, i)
    if pinned != NULL:
        add_int(&pinned.refs, 1)
    if t.site == NULL:
        t.site = here()
    store_i64(&shared.submitted, shared.submitted + 1)
    if shared.nlanes > 1:
        store_i64(&lanes[t.lane].submitted, lanes[t.lane].submitted + 1)
    t.order = <unsigned int>shared.submitted
    if longest_group > 1 and t.nops <= MAX_ARGUMENTS and (
            t.kernel.flags & ELEMENTWISE or (t.kernel.flags & REDUCES and not t.flags & ABROAD and may_tail(t) and row_of(t))):
        group(t)
    elif not (t.kernel.flags & REDUCES and open != NULL and not t.flags & ABROAD and may_tail(t) and end_group(t)):
        t.npending = 1
        for i in range(t.nops):
            if a[i].key & TRACKED and connect(t, a + i, open):
                met = True
        if host and not load_int(&shared.closing):
            add_i64(&shared.host_tasks, 1)
        if met:
            start_group()               # for what is not elementwise, it is complete
        quiet = not host
        if add_int(&t.npending, -1) == 0:
            queue(t, cost_of(t))        # from here on t may be gone
        else:
            quiet = False
        if not quiet:
            announce(host)
    if graves():
        drain()
    if pinned != NULL:
        complete(pinned)
    return 0

cdef int prepare(Task* t) except -1:
    """All that can fail, for want of memory or by a signal: then t, yet to be submitted, is freed."""
    cdef Access* a = accesses(t)
    cdef int i
    try:
        if shared.submitted > next_look and not t.kernel.flags & FENCE:
            bound_tasks()
        for i in range(t.nops):
            if a[i].storage != NULL and (a[i].key & (WRITE | FULL)) == WRITE and glance_int(&a[i].storage.nfront) >= FENCE_AFTER:
                fence(a[i].storage)
        if choices:                         # what is above may give the GIL away, and others change the workers
            choose_lane(t)
        while not load_int(&lanes[t.lane].started) and not over():
            hire(&lanes[t.lane])
            if choices:                     # this, too
                choose_lane(t)
        reserve_edges(t)
    except BaseException:
        discard(t)
        raise
    return 0

cdef void go_abroad(Task* t, int i) noexcept:
    """Operand i is on a GPU: see _gpu/mirror.pxd."""
    cdef Region* r
    t.flags |= ABROAD
    if t.flags & HAS_REGIONS:
        r = task_region(t, i)
        r.lo = r.start = r.pitch = 0
        r.hi = r.length = accesses(t)[i].storage.nbytes

cdef int bound_tasks() except -1:
    """Tasks take memory, too, though who only writes in place never asks for room: they may take half of the budget."""
    global next_look, memory_waits
    cdef Wait w
    memset(&w, 0, sizeof(w))
    next_look = shared.submitted + COUNT_AFTER
    if inside_host_task() or TASK_BYTES * pending() <= memory_budget // 2:
        return 0
    memory_waits += 1
    w.tasks = memory_budget // 2 // TASK_BYTES
    w.tasks -= w.tasks // 8
    while pending() > w.tasks:
        block(&w)
    return 0

cdef int complete(Storage* s) except -1:
    """Let all that is submitted on s be done. Takes over a reference. In a host task, which cannot wait, do nothing."""
    try:
        if not inside_host_task():
            wait_storage(s, NULL, True, False)
    finally:
        storage_unref(s)
    return 0

cdef void queue(Task* t, double cost) noexcept:
    """Queue what is ready. A worker is woken once the work is worth it: before, who waits for it does it as fast."""
    global unannounced, quiet
    cdef Lane* lane = &lanes[t.lane]
    if lane != quiet:
        announce(False)
        quiet = lane
    push(t)
    unannounced = cost + (unannounced if unannounced > 0 else 0)
    if unannounced > CALL_NS:
        announce(cost > LONG_NS)

cdef void announce(bint surely) noexcept:
    """Wake a worker for what was queued in silence: it is worth it now, or others than its reader may need it."""
    global unannounced
    if unannounced >= 0:
        unannounced = -1
        wake_worker(quiet, surely)

# ---- the open group ---------------------------------------------------------------------------------------------------

cdef int group(Task* t) except -1:
    """Let t join the open group, or open another with it."""
    cdef Task* closed = NULL
    cdef double cost = 0
    cdef bint call = False
    cdef int inputs = -1
    cdef intp row = row_of(t) if t.kernel.flags & REDUCES else 0
    cdef Lane* lane = &lanes[t.lane]
    spin_lock(&opening.lock)
    try:
        if opening.leader != NULL:
            if alike(opening.leader, t) and opening.members < longest_group and opening.operands + t.nops <= MAX_OPERANDS and (
                    row == 0 or opening.row == 0 or row == opening.row):
                inputs = may_join(opening.leader, &opening.space, &opening.waits, opening.cost + cost_of(t) > CALL_NS, t)
            if inputs < 0 or (inputs == 0 and opening.loose >= MAX_LOOSE):
                cost = opening.cost
                closed = close_group()
        if opening.leader == NULL:
            t.npending = 2              # one is given back below, one when the group is closed
            opening.operands = opening.loose = 0
            hint_int(&opening.members, 0)
            store_double(&opening.cost, 0)
            opening.called = False
            opening.elements = space_of(t, &opening.space)
            opening.row = 0
            waits_of(t, &opening.waits)
            connect_all(t)
            opening.last = t
            store_ptr(&opening.leader, t)
            add_int(&t.npending, -1)
        else:
            append(t)
        if row:
            opening.row = row
        hint_int(&opening.members, opening.members + 1)
        opening.operands += t.nops
        opening.loose += 1 - inputs if inputs > 0 else 1
        store_double(&opening.cost, opening.cost + cost_of(t))
        if opening.cost > CALL_NS and not opening.called:
            call = opening.called = True
    finally:
        spin_unlock(&opening.lock)
        if closed != NULL:
            queue(closed, cost)
    if call:
        wake_worker(lane, False)
    return 0

cdef inline bint alike(Task* t, Task* u) noexcept nogil:
    """Whether they could be one entry of a queue."""
    return t.lane == u.lane and t.priority == u.priority and (t.flags ^ u.flags) & ABROAD == 0

cdef void connect_all(Task* t) noexcept:
    cdef Access* a = accesses(t)
    cdef int i
    for i in range(t.nops):
        if a[i].key & TRACKED:
            connect(t, a + i, NULL)

cdef void append(Task* t) noexcept:
    """Make t the last member of the open group. Needs the lock."""
    t.group = opening.leader
    t.flags |= MEMBER
    connect_all(t)
    if opening.last == opening.leader:
        store_ptr(&opening.leader.group, t)
    else:
        store_ptr(&opening.last.next, t)
    opening.last = t

cdef bint end_group(Task* t) except -1:
    """Let t, a reduction of long rows, be the end of the open group, if it may."""
    cdef Task* closed = NULL
    cdef double cost = 0
    cdef bint joined = False
    spin_lock(&opening.lock)
    try:
        if opening.leader != NULL and alike(opening.leader, t) and opening.row == 0 and opening.operands + t.nops <= MAX_OPERANDS and (
                may_join(opening.leader, &opening.space, &opening.waits, opening.cost + cost_of(t) > CALL_NS, t) >= 0):
            append(t)
            joined = True
            cost = opening.cost + cost_of(t)
            closed = close_group()
    finally:
        spin_unlock(&opening.lock)
        if closed != NULL:
            queue(closed, cost)
    return joined

cdef Task* take_group(Storage* s) noexcept:
    """Close the open group for a thread that waits for s (NULL: for everything), and take it if it can run. Needs the GIL."""
    cdef Task* t
    if load_ptr(&opening.leader) == NULL:
        return NULL
    spin_lock(&opening.lock)
    t = close_group()
    spin_unlock(&opening.lock)
    if t == NULL or not take(t):        # a thread that helps may have claimed it
        return NULL
    if s != NULL and not writes(t, s) or not may_help(t):
        store_int(&t.state, IDLE)
        queue(t, opening.cost)          # others may run it
        return NULL
    return t

cdef bint may_help(Task* t) noexcept nogil:
    """Whether a waiting thread may run t, which could leave a lane more threads than it has workers; or, if it is a Python
    function, have it run, as no worker comes for it."""
    cdef Lane* lane = &lanes[t.lane]
    if gate_closed(use_of(t)) or t.kernel.flags & HOST and looked_at(lane):
        return False
    return core_free(lane) or t.lane < CPUS and load_int(&shared.apart) == 0 or is_small(t, CALL_NS)

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

cdef bint is_small(Task* t, double most) noexcept nogil:
    """Whether t and its group run in a moment, of less than so many nanoseconds, without Python."""
    cdef Task* m = t
    while m != NULL:
        if m.flags & ABROAD or not m.kernel.flags & ELEMENTWISE and not (m.kernel.flags & REDUCES and may_tail(m)):
            return False
        m = next_member(m)
    return cost_of_all(t) < most

cdef bint run_small(Task* t) noexcept:
    """Run what is small and elementwise, and its group, without a Runner. False when that cannot be."""
    cdef GroupPlan g
    cdef long long start = now_ns() if load_int(&watched) else 0
    if not is_small(t, CALL_NS):
        return False
    if DFLOW_TSAN:
        tell_operands(t)
    if t.group == NULL and t.kernel.flags & ELEMENTWISE:
        if not run_alone(t):
            return False
    elif plan_group(t, &g):
        run_plan(t, &g)
    else:
        return False
    if DFLOW_TSAN:
        tell_operands(t)
    if start:
        note(t.kernel.name, members_of(t), t.lane, 0, start)
    return True

cdef bint run_with_gil(Task* t) noexcept:
    """Run what is small and was taken, with the GIL, and what follows from it. False when that cannot be."""
    cdef long long done = 0
    cdef int turns = 64
    if glance_int(&shared.delay_us) or not run_small(t):
        return False
    while True:
        t = retire(0, t, &done)
        turns -= 1
        if t == NULL or turns == 0 or not run_small(t):
            break
    if t != NULL:
        give_back(t)
    add_i64(&shared.retired, done)
    if load_int(&shared.waiting_all):
        ring_done()
    return True

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

cdef Task* claim_needed(Storage* s, int* visits, double most) noexcept nogil:
    """A ready task that s waits for, taken out of turn, or NULL. most: one that is_small(), or ANY, or LOOPS: no Python function.

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
            if (is_small(t, most) if most > 0 else may_help(t) and (most == ANY or not t.kernel.flags & HOST)) and cas_int(&t.state, IDLE, CLAIMED):
                found = t
            t = NULL
        while t != NULL and found == NULL and visits[0] > 0:
            a = accesses(t)
            for i in range(t.nops):
                if a[i].storage != NULL and load_ptr(&a[i].storage.writes) != NULL:
                    found = claim_needed(a[i].storage, visits, most)
                    if found != NULL:
                        break
            visits[0] -= 1
            t = next_member(t)
        visits[0] -= 1
        e = e.next
    spin_unlock(&s.lock)
    return found

cdef bint any_core_free() noexcept nogil:
    """Whether a thread that waits may run tasks of some lane."""
    cdef int i
    for i in range(load_int(&shared.nlanes)):
        if core_free(used[i]):
            return True
    return False

cdef struct Wait:           # what a thread waits for
    Storage* s              # that it can be read or written; NULL: that nothing is pending
    Lane* lane              # in this lane, or, if this is NULL too, anywhere,
    Region* r
    bint write
    bint once               # or that others have submitted writes to it
    unsigned int order      # since this task
    bint late               # it has waited long enough to share a core with a worker
    long long tasks         # but so many tasks,
    long long ended         # or, when this is not 0, that so many tasks have ended since the start of the process,
    long long room          # or, when this is not 0, that so many bytes fit into the budget, with room to spare
    long long patience      # until this time

cdef Task* help(Runner* me, Wait* w) noexcept nogil:
    """A task for a waiting thread: one that it needs; else any."""
    cdef int visits = 128
    cdef bint all = w.s == NULL and not w.room
    cdef Task* t = me.current       # the group that it has taken
    cdef Task* left = NULL          # in the order in which they were found, linked through next
    cdef Task** end = &left
    cdef Task* following
    enter(me)
    if t == NULL and w.s != NULL and (w.late or any_core_free()):
        t = claim_needed(w.s, &visits, ANY if may_send(me) else LOOPS)
    if t == NULL:
        start_group()               # it may be needed, or nobody else may come for it
        join_wide(me)               # where a core is free: else a part of a kernel would share that of a worker's part
    if t == NULL:
        t = find(me)
        while t != NULL and t.kernel.flags & HOST and not (all and may_help(t) and may_send(me)):
            end[0] = t                  # kept meanwhile: given back, it might be the first again
            end = &t.next
            t = find(me)
        end[0] = NULL
        while left != NULL:
            following = left.next
            give_back(left)
            left = following
    if t != NULL and any_ready(&lanes[t.lane]):
        wake_worker(&lanes[t.lane], False)
    me.current = t
    leave(me)
    if t != NULL and t.kernel.flags & HOST:
        if not send_deputy(me, t, all):     # a worker will come for it, some time
            enter(me)
            give_back(t)
            me.current = NULL
            leave(me)
        return NULL
    return t

cdef bint finished(Wait* w) noexcept nogil:
    if w.s != NULL:
        return region_ready(w.s, w.r, w.write) or (w.once and overtaken(w))
    if w.lane != NULL:
        return load_i64(&w.lane.submitted) == load_i64(&w.lane.ended)
    if w.ended:
        return load_i64(&shared.submitted) - pending() >= w.ended
    return pending() <= w.tasks or (w.room and enough(w))

cdef bint overtaken(Wait* w) noexcept nogil:
    """A thread that never stops writing to what another one reads would keep it waiting for ever."""
    cdef Access* e
    cdef bint found = False
    spin_lock(&w.s.lock)
    e = w.s.writes
    while e != NULL and not found:
        found = <int>(task_of(e).order - w.order) > 0 and (w.r == NULL or overlap(e, w.r))
        e = e.next
    spin_unlock(&w.s.lock)
    return found

cdef bint enough(Wait* w) noexcept nogil:
    """Not for every block that is freed a wake-up; but what is pending may be long, and need this very thread to end."""
    cdef long long budget = load_i64(&memory_budget), spare = budget - bytes_live() - w.room
    return spare >= budget // 8 or (spare >= 0 and now_ns() > w.patience)

cdef bint help_until(Runner* me, Wait* w) noexcept nogil:
    """Help, or sleep, until what is waited for is ready (True) or it is time to look at signals (False).

    Called with the GIL, which it gives up in between.
    """
    cdef long long start = now_ns(), waited
    cdef int seen
    cdef bint ready
    cdef Task* t
    drop_gil(me)
    while True:
        seen = load_int(&shared.rings)
        enter(me)
        ready = finished(w)
        leave(me)
        waited = now_ns() - start
        if ready or (waited > SLICE_NS and me.current == NULL):
            break
        t = help(me, w)
        if t != NULL:
            while t != NULL:
                t = execute(me, t)
                if t != NULL and (now_ns() - start > SLICE_NS or finished(w) or t.kernel.flags & HOST or not may_help(t)):
                    give_back(t)
                    t = me.current = NULL
                leave(me)
            if load_int(&shared.waiting_all):
                ring_done()
        elif waited < SPIN_NS:
            sched_yield()
        else:
            add_int(&shared.helping, -1)
            bell_lock(&shared.done_bell)
            if shared.rings == seen:
                bell_wait_ns(&shared.done_bell, PATIENCE_NS if w.room or w.tasks or w.ended else SLICE_NS)
            bell_unlock(&shared.done_bell)
            add_int(&shared.helping, 1)
    take_gil(me)
    return ready

cdef void become_runner(Runner* me, Task* t) noexcept:
    """This thread runs tasks from here on, and has taken t, or NULL."""
    memset(me, 0, sizeof(me[0]))
    me.random = shared.delay_seed + 1
    me.turn = <unsigned int>shared.submitted
    me.current = t
    me.outer = this_runner()
    set_runner(me)
    register(me)

cdef int block(Wait* w, bint once=False) except -1:
    """Wait with help; `once`: for one slice of time at most. Ctrl-C interrupts."""
    global waits
    cdef Runner me
    cdef long long start = now_ns()
    cdef bint told = False
    cdef Site* site
    cdef Storage* s = w.s
    cdef Task* t
    cdef int visits
    if inside_host_task():
        raise RuntimeError("a task would wait for another one: pass the array as an argument of dflow.submit")
    if s != NULL:
        catch_up(s, CALL_NS)
        while not finished(w):
            visits = 64
            t = claim_needed(s, &visits, LOOPS) if any_core_free() else NULL
            if t == NULL:
                break
            run_without_gil(t)                # nobody need be woken for it
            PyErr_CheckSignals()
        else:
            return 0
    t = take_group(s)
    announce(False)
    site = here()
    waits += 1
    if site != NULL:
        site.waits += 1
    become_runner(&me, t)
    if s != NULL:
        add_int(&s.refs, 1)
        spin_lock(&s.lock)
        s.waited += 1
        spin_unlock(&s.lock)
    elif w.tasks == w.ended == 0:   # who waits for some of them to end does not want to hear of each
        me.waiting = &shared.waiting_room if w.room else &shared.waiting_all
        add_int(me.waiting, 1)
    me.helping = True
    add_int(&shared.helping, 1)
    try:
        while not help_until(&me, w):
            w.late = True
            PyErr_CheckSignals()
            if once:
                break
            told = told or tell_late(s, w.r, start)
    finally:
        add_int(&shared.helping, -1)
        if me.current != NULL:
            give_back(me.current)
        release_deputy(&me)
        unregister(&me)
        set_runner(me.outer)
        if s != NULL:
            spin_lock(&s.lock)
            s.waited -= 1
            spin_unlock(&s.lock)
            storage_unref(s)
        elif me.waiting != NULL:
            add_int(me.waiting, -1)
    return 0

cdef bint would_join(intp elements, bint ready) noexcept:
    """Whether an operation on so many elements, whose operands may be ready, is one for the open group.

    Only if that is large: then a value less in memory, and no wait for it, are worth more than to run at once.
    A glance without the lock, at what only a thread with the GIL begins.
    """
    return load_ptr(&opening.leader) != NULL and opening.elements == elements and opening.cost > JOIN_NS and (
        not ready or opening.loose < MAX_LOOSE)

cdef bint small_group(double most) noexcept:
    """Whether the open group waits for nothing, and is no work for another thread."""
    cdef bint small
    if load_ptr(&opening.leader) == NULL:
        return False
    spin_lock(&opening.lock)
    small = opening.leader != NULL and opening.cost < most and load_int(&opening.leader.npending) == 1
    spin_unlock(&opening.lock)
    return small

cdef double catch_up(Storage* s, double most) noexcept:
    """Something small is to be done with s, which is pending: what it waits for may be as small, and only be queued.

    Without this, all that follows from one pending element would be queued for ever: the queue is as fast as Python is.
    What was done, in estimated nanoseconds.
    """
    global unannounced
    cdef Task* t = NULL
    cdef int visits, turns = 64
    cdef double done = 0
    while turns and load_ptr(&s.writes) != NULL:
        turns -= 1
        if small_group(most):
            t = take_group(NULL)
        if t == NULL:
            visits = 16
            t = claim_needed(s, &visits, most)
        if t == NULL:
            break
        done += cost_of_all(t)
        if not run_with_gil(t):
            run_without_gil(t)
        t = NULL
    if unannounced > 0 and sweep():
        unannounced = -1
    return done

cdef double alone = 0               # GIL; nanoseconds of what this has done while no worker was looking for work
cdef int futile = 0                 # GIL; attempts in a row that found nothing to run,
cdef int passed = 0                 # and how many were passed over since the last

cdef void try_to_catch_up(Storage* s) noexcept:
    """The same before something small is submitted: rarely, while what it waits for cannot be run for long."""
    global futile, passed, alone
    cdef Lane* lane = lane_of(s.device >> 1)
    if load_ptr(&s.writes) == NULL:
        return
    if futile > MAX_FUTILE and passed < MAX_FUTILE:
        passed += 1
        return
    if load_int(&lane.searching):
        alone = 0
        catch_up(s, WORTH_NS)
    else:
        alone += catch_up(s, CALL_NS)
        if alone > 2 * CALL_NS:         # this goes on: share it
            alone = 0
            wake_worker(lane, False)
    passed = 0
    futile = 0 if load_ptr(&s.writes) == NULL else min(futile + 1, MAX_FUTILE + 1)

cdef void run_without_gil(Task* t) noexcept:
    """Run what this thread has taken, without the GIL."""
    cdef Runner me
    become_runner(&me, t)
    drop_gil(&me)
    t = execute(&me, t)
    if t != NULL:
        give_back(t)
        me.current = NULL
    leave(&me)
    take_gil(&me)
    unregister(&me)
    set_runner(me.outer)
    if load_int(&shared.waiting_all):
        ring_done()

cdef int settle(bint once=False) except -1:
    """Until nothing is pending."""
    cdef Wait w
    memset(&w, 0, sizeof(w))
    while pending():
        block(&w, once)
        if once:
            break
    return 0

cdef bint make_room(size_t nbytes) except -1:
    """Wait until so many bytes more fit into the memory budget. False when they never will. In a host task: True."""
    global memory_waits
    cdef Wait w
    memset(&w, 0, sizeof(w))
    w.room = <long long>nbytes
    if <long long>nbytes > memory_budget:
        return False
    if inside_host_task():
        return True
    memory_waits += 1
    while pending() and bytes_live() + w.room > memory_budget:
        w.patience = now_ns() + PATIENCE_NS
        block(&w)
    if graves():
        drain()
    return bytes_live() + w.room <= memory_budget

cdef bint wait_storage(Storage* s, Region* r, bint write, bint once) except -1:
    """Until no pending access stands in the way of reading (or writing) a region of s. Raises its poison, if reading."""
    cdef Wait w
    cdef Poison* poison
    memset(&w, 0, sizeof(w))
    w.s = s
    w.r = r
    w.write = write
    w.once = once
    w.order = <unsigned int>shared.submitted
    if captures:
        noting_hooks.value_read(s, here())
    while True:
        while not region_ready(s, r, write):
            if once and overtaken(&w):
                return False
            block(&w)
        if not warnings_wait() and not graves():
            break
        give_warnings()                 # these run Python code: others may submit something meanwhile
        drain()
    if DFLOW_TSAN:
        tell_region(s, r, write)
    poison = <Poison*>load_ptr(&s.poison)
    if poison != NULL and not write:
        raise_poison(poison)
    return True

cdef int wait_all() except -1:
    """Until nothing is pending. Raises the errors that nobody has seen."""
    settle()
    if gpus:
        finish_gpus()
    purge()
    release_edges()
    trim_cells()
    return tell_errors()

cdef int tell_errors() except -1:
    """Give warnings, and raise the errors that nobody has seen."""
    drain()
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

# ---- exit -------------------------------------------------------------------------------------------------------------

def shutdown():
    """At exit: run the host tasks, for their effects; drop the rest; report errors that nobody saw.

    Daemon threads may go on submitting: what they do from now on is not waited for.
    """
    cdef int slices = 0
    cdef long long left, early
    shared.last = <unsigned int>shared.submitted
    store_int(&shared.closing, 1)
    try:
        while load_i64(&shared.host_tasks) and slices < STUCK:
            left, early = load_i64(&shared.host_tasks), load_i64(&shared.early)
            settle(True)
            slices = 0 if early != load_i64(&shared.early) or left != load_i64(&shared.host_tasks) or any_engaged() else slices + 1
    except BaseException:           # Ctrl-C again
        pass
    leave_process()
    drain()
    for error in unseen_errors():
        report_unseen(error)

# ---- what Python sees -------------------------------------------------------------------------------------------------

def waitall():
    """Wait until nothing is pending. Raises the errors nobody has read; an ExceptionGroup when they are several."""
    if inside_host_task():
        raise RuntimeError("a task would wait for all others, itself among them")
    wait_all()

def synchronize(int device):
    """Wait until nothing is pending for the workers of a device. Raises the errors nobody has read, of whatever device."""
    cdef Wait w
    if inside_host_task():
        raise RuntimeError("a task would wait for all others, itself among them")
    if shared.nlanes == 1:
        wait_all()
        return
    memset(&w, 0, sizeof(w))
    start_group()
    w.lane = lane_to(device)
    while w.lane != NULL and not finished(&w):
        block(&w)
    w.lane = lane_of(device)
    while not finished(&w):
        block(&w)
    if device >= CPUS:
        finish_gpus(device)
    tell_errors()

def set_num_workers(int n, int device=0, cores=None):
    """Use n worker threads for a device from now on; 0: those of cpu(0).

    Waits for pending work first: until as many tasks have ended as were submitted before, whatever other threads submit.
    """
    cdef Lane* lane = &lanes[device]
    cdef Cores chosen
    cdef Wait w
    if not (device == 0) <= n <= MAX_WORKERS:
        raise ValueError(f"n must be between {0 if device else 1} and {MAX_WORKERS}, not {n}")
    if device >= CPUS and n != 1:
        raise ValueError(f"n must be 1 for a GPU, not {n}: its worker tells the device what to do")
    cores_none(&chosen)
    for core in cores or ():
        cores_with(&chosen, core)
    memset(&w, 0, sizeof(w))
    w.ended = shared.submitted
    while not finished(&w):
        block(&w)
    hold_runners()
    if shared.nlanes == 1:          # with one lane nobody has counted: what is pending will end as of that one
        store_i64(&lanes[0].submitted, shared.submitted)
        store_i64(&lanes[0].ended, shared.submitted - pending())
    give_lane(device, n > 0)
    let_runners_go()
    if n == 0:
        memset(&w, 0, sizeof(w))
        w.lane = lane               # what comes from now on goes to cpu(0)
        while not finished(&w):
            block(&w)
        if lane_of(device) == lane: # another thread has given it workers again
            return
    bell_lock(&shared.idle_bell)
    if n:
        store_int(&lane.widest, max(n, lane.widest))
        store_int(&lane.nworkers, n)
        lane.bound = cores is not None
        lane.cores = chosen
        bind_workers(lane)
    bell_unlock(&shared.idle_bell)
    dismiss(lane, n)
    if n and load_int(&lane.started):
        hire(lane)

def num_workers(int device=0):
    """How many worker threads a device uses: its own, or cpu(0)'s."""
    return lane_of(device).nworkers

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
        settings.tiny_cost = min(settings.inline_cost, 500)
    return max(before, 0)

def bulk(n=None):
    """At most n elementwise operations run as one group from now on; 0 or 1: none do. Returns the previous limit."""
    global longest_group
    before = longest_group
    if n is not None:
        n = index(n)
        if not 0 <= n <= MAX_MEMBERS:
            raise ValueError(f"n must be between 0 and {MAX_MEMBERS}, not {n}")
        start_group()
        longest_group = n
    return before

def set_memory_budget(nbytes):
    """Bytes of array data that may be allocated or promised at a time. Returns the previous budget.

    An operation whose result does not fit waits until pending work has given memory back, and raises MemoryError when
    nothing pending can. So does one that finds as many pending tasks as take half as much. Work that waits for something
    that the very thread is yet to do would then keep it for ever.
    """
    before = memory_budget
    if not isinstance(nbytes, int) or isinstance(nbytes, bool) or nbytes <= 0:
        raise ValueError(f"nbytes must be a positive int, not {nbytes!r}")
    store_i64(&memory_budget, min(nbytes, 1 << 62))
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
    shared.delay_seed = seed
    store_int(&shared.delay_us, max_us if seed else 0)

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
    r = shared.runners
    while r != NULL:
        stolen += load_i64(&r.stolen)
        r = r.next
    counts = live()
    return {"pending": pending(), "inline": settings.inlined, "queued": shared.submitted, "fused": load_i64(&shared.grouped),
            "groups": load_i64(&shared.groups), "bytes_never_stored": load_i64(&shared.bytes_never_stored), "stolen": stolen,
            "waits": waits, "waits_at": graph.waits_by_site(), "storages": counts["storages"], "bytes": counts["bytes"],
            "workers": lanes[0].nworkers}

def live():
    """Storages, unfinished tasks and bytes of array data that exist now."""
    return {**graph.live(), "tasks": pending()}

def check_idle():
    """Assert that nothing is pending, queued or running."""
    cdef int i
    assert load_ptr(&opening.leader) == NULL, "a group is open"
    assert pending() == 0, f"{pending()} tasks are pending"
    for i in range(shared.nlanes):
        assert not any_ready(used[i]), f"a queue of lane {used[i].number} is not empty"
    assert load_i64(&shared.host_tasks) == 0, "a host task is pending"
    assert load_int(&shared.helping) == shared.waiting_all == shared.waiting_room == 0, "a thread waits"
    assert all_at_rest(), "a worker is running"

cdef bint all_at_rest() noexcept:
    """Whether no runner has a task. As for a fork, each is kept outside meanwhile: inside it may change what it has."""
    cdef Runner* r
    cdef bint rest = True
    hold_runners()
    r = shared.runners
    while r != NULL:
        rest = rest and r.current == NULL
        r = r.next
    let_runners_go()
    return rest
