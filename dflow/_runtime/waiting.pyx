"""Waiting: see _runtime/waiting.pxd."""

import sys

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memset
from dflow._kernels.kernel cimport ELEMENTWISE, HOST, ON_DISK, REDUCES
from dflow._base.atomics cimport (
    DFLOW_TSAN, add_i64, add_int, cas_int, cpu_pause, glance_int, load_i64, load_int, load_ptr, store_int)
from dflow._base.locks cimport lock, STORAGE_LOCK, try_lock, unlock
from dflow._base.thread_state cimport CPUS, captures, noting_hooks
from dflow._base.threads cimport bell_lock, bell_unlock, bell_wait_ns, now_ns, sched_yield, sleep_ns
from dflow._runtime.disk cimport evict, failures, fetch, others_go_on, spilling
from dflow._runtime.executor cimport (
    end_cut, execute, give_back, inside_host_task, join_splits, retire, ring_done, run_alone, run_together)
from dflow._runtime.fp_errors cimport give_warnings, warnings_wait
from dflow._runtime.fusion_native cimport gains_natively
from dflow._runtime.fusion_rules cimport may_tail
from dflow._runtime.gate cimport gate_closed, use_of
from dflow._runtime.errors cimport here, Poison, raise_poison, Site
from dflow._runtime.graph cimport *
from dflow._runtime.open_group cimport close_group, Closed, small_group
from dflow._runtime.parking cimport (
    announce, announced, any_ready, note_claimed, queue, somebody_looks, start_group, unannounced, wake_worker)
from dflow._runtime.queues cimport *
from dflow._runtime.runners cimport *
from dflow._runtime.story cimport tell_late
from dflow._runtime.threads cimport may_send, release_deputy, send_deputy
from dflow._runtime.cancel cimport any_cancelled, cancels
from dflow._runtime.cancelling cimport cancel_everything
from dflow._runtime.events cimport note_ran, note_waited, watched
from dflow._runtime.tuning cimport (
    CALL_NS, INLINE_NS, LOOK_AFTER, MAX_FUTILE, MIDDLING, PATIENCE_NS, SHARE_NS, SLICE_NS, SPIN_NS, WATCH_NS, WORTH_NS)

memory_budget = 1 << 62

cdef enum:
    ANY = 0                 # for claim_needed()
    LOOPS = -1
    TWICE_NS = 1000000000

# ---- kinds -----------------------------------------------------------------------------------------------------------

cdef Wait wait_for(WaitKind kind, long long limit=0) noexcept:
    cdef Wait w
    memset(&w, 0, sizeof(w))
    w.kind = kind
    w.limit = limit
    return w

cdef bint finished(Wait* w) noexcept nogil:
    if w.kind == FOR_STORAGE:
        return region_ready(w.s, w.r, w.write) or (w.once and overtaken(w))
    if w.kind == FOR_LANE:
        return load_i64(&w.lane.submitted) == load_i64(&w.lane.ended)
    if w.kind == FOR_ENDED:
        return load_i64(&shared.submitted) - pending() >= w.limit
    if w.kind == FOR_ROOM:
        return pending() == 0 or enough(w)
    return pending() <= w.limit             # FOR_ALL: none

cdef int* told_by(Wait* w) noexcept:
    """Who is to hear of each task that ends is counted here; NULL: nobody need tell it.

    Who waits for a storage is told by the storage, and who waits for some tasks of many does not want to hear of each.
    """
    if w.kind == FOR_ROOM:
        return &shared.waiting_room
    return &shared.waiting_all if w.kind in (FOR_ALL, FOR_LANE) else NULL

cdef inline long long longest_sleep(Wait* w) noexcept nogil:
    return PATIENCE_NS if w.kind in (FOR_ROOM, FOR_FEWER, FOR_ENDED) else SLICE_NS

cdef bint region_ready(Storage* s, Region* r, bint write) noexcept nogil:
    cdef Access* e
    cdef bint ready = True
    if load_ptr(&s.writes) == NULL and (not write or load_ptr(&s.reads) == NULL):
        return True
    if r == NULL:
        return False
    lock(&s.lock, STORAGE_LOCK)
    e = s.writes
    while e != NULL and ready:
        ready = not overlap(e, r)
        e = e.next
    e = s.reads if write else NULL
    while e != NULL and ready:
        ready = not overlap(e, r)
        e = e.next
    unlock(&s.lock)
    return ready

cdef bint overtaken(Wait* w) noexcept nogil:
    """A thread that never stops writing to what another one reads would keep it waiting for ever. To the disk and back
    it goes for the sake of room, which a copy would take."""
    cdef Access* e
    cdef bint found = False
    lock(&w.s.lock, STORAGE_LOCK)
    e = w.s.writes
    while e != NULL and not found:
        found = (<int>(task_of(e).order - w.order) > 0 and not task_of(e).kernel.flags & ON_DISK
                 and (w.r == NULL or overlap(e, w.r)))
        e = e.next
    unlock(&w.s.lock)
    return found

cdef bint enough(Wait* w) noexcept nogil:
    """Room to spare, not a wake-up for every block that is freed; but what is pending may need this very thread."""
    cdef long long budget = load_i64(&memory_budget), spare = budget - bytes_live() - w.limit
    return spare >= budget // 8 or (spare >= 0 or spilling) and now_ns() > w.patience     # or more may leave memory now

# ---- what a waiting thread may run -----------------------------------------------------------------------------------

cdef bint may_help(Task* t) noexcept nogil:
    """Whether a waiting thread may run t, which could leave a lane more threads than it has workers; or, if it is a
    Python function, have it run, as no worker comes for it."""
    cdef Lane* lane = &lanes[t.lane]
    if gate_closed(use_of(t)) or t.kernel.flags & HOST and looked_at(lane):
        return False
    return core_free(lane) or t.lane < CPUS and load_int(&shared.apart) == 0 or is_small(t, CALL_NS)

cdef bint any_core_free() noexcept nogil:
    """Whether a thread that waits may run tasks of some lane."""
    cdef int i
    for i in range(load_int(&shared.nlanes)):
        if core_free(used[i]):
            return True
    return False

cdef bint core_to_spare() noexcept nogil:
    """Whether no worker wants for the core of a thread that waits awake."""
    cdef int i, idle
    for i in range(load_int(&shared.nlanes)):
        idle = load_int(&used[i].parking.sleeping) + load_int(&used[i].parking.searching)
        if used[i].number < CPUS and idle >= load_int(&shared.helping):
            return load_int(&shared.apart) == 0
    return False

cdef bint is_small(Task* t, double most) noexcept nogil:
    """Whether t and its group run in a moment, of less than so many nanoseconds, without Python."""
    cdef Task* m = t
    while m != NULL:
        if m.flags & ABROAD or not m.kernel.flags & ELEMENTWISE and not (m.kernel.flags & REDUCES and may_tail(m)):
            return False
        m = next_member(m)
    return cost_of_all(t) < most

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

cdef Task* claim_needed(Storage* s, int* visits, double most) noexcept nogil:
    """A ready task that s waits for, taken out of turn, or NULL.
    most: its cost at most, of one that is_small(); or ANY; or LOOPS: no Python function.

    The path of locks is held by trylock, so it cannot deadlock, and a storage already on it is skipped. It is a search
    that may miss: then the queues' own order serves.
    """
    cdef Access* e
    cdef Access* a
    cdef Task* t
    cdef Task* found = NULL
    cdef bint suits
    cdef int i
    if visits[0] <= 0 or not try_lock(&s.lock, STORAGE_LOCK):
        return NULL
    visits[0] -= 1
    e = s.writes
    while e != NULL and found == NULL and visits[0] > 0:
        t = head_of(task_of(e))             # lives while the lock is held: it has yet to leave this frontier
        if load_int(&t.npending) == 0:
            suits = is_small(t, most) if most > 0 else may_help(t) and (most == ANY or not t.kernel.flags & HOST)
            if suits and cas_int(&t.state, IDLE, CLAIMED):
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
    unlock(&s.lock)
    return found

cdef Task* take_group(Storage* s) noexcept:
    """Close the open group for a thread that waits for s (NULL: for everything), and take it if it can run. GIL."""
    cdef Closed closed = close_group()
    cdef Task* t = closed.leader
    if t == NULL or not take(t):        # a thread that helps may have claimed it
        return NULL
    if s != NULL and not writes(t, s) or not may_help(t):
        store_int(&t.state, IDLE)
        queue(t, closed.cost)           # others may run it
        return NULL
    return t

# ---- helping ---------------------------------------------------------------------------------------------------------

cdef Task* help(Runner* me, Wait* w) noexcept nogil:
    """A task for a waiting thread: one that it needs; else any."""
    cdef int visits = 128
    cdef bint all = w.kind != FOR_STORAGE and w.kind != FOR_ROOM
    cdef Task* t = me.current       # the group that it has taken
    cdef Task* left = NULL          # in the order in which they were found, linked through next
    cdef Task** end = &left
    cdef Task* following
    enter(me)
    if t == NULL and w.s != NULL and (w.late or any_core_free()):
        t = claim_needed(w.s, &visits, ANY if may_send(me) else LOOPS)
    if t == NULL:
        start_group()               # it may be needed, or nobody else may come for it
        w.joined = join_splits(me)   # where a core is free: else a part of a kernel would share that of a worker's part
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

cdef bint help_until(Runner* me, Wait* w) noexcept nogil:
    """Help, or sleep, until what is waited for is ready (True) or it is time to look at signals (False).

    Called with the GIL, which it gives up in between.
    """
    cdef long long start = now_ns(), helped = start, now
    cdef int seen
    cdef bint ready
    cdef Task* t
    drop_gil(me)
    while True:
        seen = load_int(&shared.rings)
        enter(me)
        ready = finished(w)
        leave(me)
        now = now_ns()
        if ready or (now - start > SLICE_NS and me.current == NULL):
            break
        w.joined = False
        t = help(me, w)
        if t != NULL:
            run_chain(me, t, w, start)
        elif w.joined:
            helped = now_ns()           # there may be more of it
        elif (now - helped < SPIN_NS or now - helped < WATCH_NS and core_to_spare()
              or load_int(&shared.opening) and any_core_free()):
            sched_yield()
        else:
            add_int(&shared.helping, -1)
            bell_lock(&shared.done_bell)
            if shared.rings == seen:
                shared.asleep += 1
                bell_wait_ns(&shared.done_bell, longest_sleep(w))
                if shared.rings == seen:        # else who rang has counted it
                    shared.asleep -= 1
                else:
                    add_int(&shared.rung, -1)
            bell_unlock(&shared.done_bell)
            add_int(&shared.helping, 1)
    take_gil(me)
    return ready

cdef void run_chain(Runner* me, Task* t, Wait* w, long long start) noexcept nogil:
    """Run what this thread has taken, and what that makes ready, as long as w is not over, and may take: if it takes
    long, only what w waits for. NULL: t alone. Without the GIL."""
    while t != NULL:
        t = execute(me, t)
        if t != NULL and (w == NULL or now_ns() - start > SLICE_NS or finished(w) or t.kernel.flags & HOST
                          or not may_help(t) or w.s != NULL and not writes(t, w.s) and not is_small(t, CALL_NS)):
            give_back(t)
            t = me.current = NULL
        leave(me)
    if load_int(&shared.waiting_all):
        ring_done()

cdef void become_runner(Runner* me, Task* t) noexcept:
    """This thread runs tasks from here on, and has taken t, or NULL."""
    memset(me, 0, sizeof(me[0]))
    me.random = shared.delay_seed + 1
    me.turn = <unsigned int>shared.submitted
    me.current = t
    me.outer = this_runner()
    set_runner(me)
    register(me)

cdef void end_runner(Runner* me) noexcept:
    unregister(me)
    set_runner(me.outer)

# ---- blocking --------------------------------------------------------------------------------------------------------

cdef int block(Wait* w, bint once=False) except -1:
    cdef long long start
    cdef unsigned int task
    if not load_int(&watched):
        return sleep_or_help(w, once)
    start, task = now_ns(), awaited(w)
    try:
        return sleep_or_help(w, once)
    finally:
        note_waited(task, here(), start, bytes_live())

cdef unsigned int awaited(Wait* w) noexcept:
    """The task that stands in the way, or its group; 0: there is none, or more is waited for."""
    cdef Access* e
    cdef unsigned int task = 0
    if w.s == NULL:
        return 0
    lock(&w.s.lock, STORAGE_LOCK)
    e = w.s.writes
    while e != NULL and not overlap(e, w.r):
        e = e.next
    if e != NULL:
        task = head_of(task_of(e)).order
    unlock(&w.s.lock)
    return task

cdef int sleep_or_help(Wait* w, bint once) except -1:
    cdef Runner me
    cdef long long start = now_ns()
    cdef bint told = False
    cdef Task* t
    if inside_host_task():
        raise RuntimeError("a task would wait for another one: pass the array as an argument of dflow.submit")
    if w.s != NULL and run_needed(w):
        return 0
    t = take_group(w.s)
    announce(False)
    count_wait(here())
    become_runner(&me, t)
    begin_helping(&me, w)
    try:
        while not help_until(&me, w):
            w.late = True
            look_at_signals()
            if once:
                break
            told = told or tell_late(w.s, w.r, start)
    finally:
        end_helping(&me, w)
    return 0

cdef bint run_needed(Wait* w) except -1:
    """Run what is needed here, while a core is free for it: no worker need be woken. Whether the wait is over."""
    cdef Task* t
    cdef int visits
    cdef bint done
    catch_up(w.s, CALL_NS)
    while True:
        done = finished(w)
        visits = 64
        t = claim_needed(w.s, &visits, LOOPS) if not done and any_core_free() else NULL
        if t == NULL:
            none_to_wake_for()
            return done
        note_claimed(t)
        run_without_gil(t, w)
        look_at_signals()

cdef long long interrupted = 0      # GIL; when Ctrl-C ended a wait

cdef int look_at_signals() except -1:
    """Ctrl-C ends a wait; the second within a second cancels what is pending, and says so."""
    global interrupted
    cdef long long now, n
    try:
        PyErr_CheckSignals()
    except KeyboardInterrupt:
        now = now_ns()
        if now - interrupted < TWICE_NS:
            n = cancel_everything()
            if sys.stderr is not None:
                print(f"dflow: interrupted twice within a second: {n} pending tasks are cancelled", file=sys.stderr,
                      flush=True)
        interrupted = now
        raise
    return 0

cdef void count_wait(Site* site) noexcept:
    global waits
    waits += 1
    if site != NULL:
        site.waits += 1

cdef void be_told(Storage* s, int by) noexcept:
    """A thread is to hear of what is done with s; by: 1. Or no longer: -1."""
    if by > 0:
        add_int(&s.refs, 1)
    lock(&s.lock, STORAGE_LOCK)
    s.waited += by
    unlock(&s.lock)
    if by < 0:
        storage_unref(s)

cdef void begin_helping(Runner* me, Wait* w) noexcept:
    if w.s != NULL:
        be_told(w.s, 1)
    me.waiting = told_by(w)
    if me.waiting != NULL:
        add_int(me.waiting, 1)
    me.helping = True
    add_int(&shared.helping, 1)

cdef void end_helping(Runner* me, Wait* w) noexcept:
    add_int(&shared.helping, -1)
    if me.current != NULL:
        give_back(me.current)
    release_deputy(me)
    end_runner(me)
    if me.waiting != NULL:
        add_int(me.waiting, -1)
    if w.s != NULL:
        be_told(w.s, -1)

# ---- waits with a deadline -------------------------------------------------------------------------------------------

cdef long long deadline_of(object timeout) except -1:
    cdef double seconds
    try:
        seconds = timeout
    except TypeError:
        raise TypeError(f"timeout must be a number of seconds or None, not {timeout!r}") from None
    if not seconds >= 0:
        raise ValueError(f"timeout must be at least 0 seconds, not {timeout!r}")
    return now_ns() + <long long>(min(seconds, 1e9) * 1e9)      # thirty years

cdef bint wait_until(Storage* s, Region* r, long long deadline) except -1:
    """This thread runs nothing meanwhile, as that might take longer: workers do."""
    cdef Wait w = wait_for(FOR_ALL if s == NULL else FOR_STORAGE)
    cdef long long start = now_ns()
    cdef unsigned int task
    w.s = s
    w.r = r
    if inside_host_task():
        raise RuntimeError("a task would wait for another one: pass the array as an argument of dflow.submit")
    start_group()
    announce(True)
    if finished(&w):
        return True
    count_wait(here())
    task = awaited(&w) if load_int(&watched) else 0
    if s != NULL:
        be_told(s, 1)
    else:
        add_int(&shared.waiting_all, 1)
    try:
        return sleep_until(&w, deadline)
    finally:
        if s != NULL:
            be_told(s, -1)
        else:
            add_int(&shared.waiting_all, -1)
        if load_int(&watched):
            note_waited(task, here(), start, bytes_live())

cdef bint sleep_until(Wait* w, long long deadline) except -1:
    cdef int seen
    cdef long long left
    while True:
        seen = load_int(&shared.rings)
        if finished(w):
            return True
        left = deadline - now_ns()
        if left <= 0:
            return False
        with nogil:
            bell_lock(&shared.done_bell)
            if shared.rings == seen:
                bell_wait_ns(&shared.done_bell, min(left, <long long>SLICE_NS))
            bell_unlock(&shared.done_bell)
        look_at_signals()
        start_group()                   # what others have submitted meanwhile

# ---- catching up -----------------------------------------------------------------------------------------------------

cdef double catch_up(Storage* s, double most) noexcept:
    """Something small is to be done with s, which is pending: what it waits for may be as small, and only be queued.

    Without this, all that follows from one pending element would be queued for ever: the queue is as fast as Python is.
    What was done, in estimated nanoseconds.
    """
    cdef Task* t = NULL
    cdef int visits, turns = 64
    cdef double done = 0
    while turns and load_ptr(&s.writes) != NULL:
        turns -= 1
        if small_group(most):
            t = take_group(NULL)
            if t != NULL and cost_of_all(t) <= INLINE_NS:
                handed.brief = LOOK_AFTER
        if t == NULL:
            visits = 16
            t = claim_needed(s, &visits, most)
        if t == NULL:
            break
        done += cost_of_all(t)
        if not run_with_gil(t):
            run_without_gil(t, NULL)
        t = NULL
    none_to_wake_for()
    return done

cdef bint in_work(Storage* s, double most) noexcept nogil:
    """Whether a thread has taken what s waits for, which takes no longer than that."""
    cdef bint found = False
    cdef Task* t
    if try_lock(&s.lock, STORAGE_LOCK):
        if s.writes != NULL:
            t = head_of(task_of(s.writes))
            found = load_int(&t.state) != IDLE and cost_of_all(t) < most
        unlock(&s.lock)
    return found

cdef void stand_by(Storage* s, double most) noexcept:
    """Without the GIL s is looked at, not locked: it stays for as long as the caller's array, whose storage is one."""
    cdef long long until = now_ns() + <long long>most
    if in_work(s, most):
        with nogil:
            while load_ptr(&s.writes) != NULL and now_ns() < until:
                cpu_pause()

cdef inline void none_to_wake_for() noexcept:
    """What was queued in silence has been run here, perhaps: to wake a worker takes up to 20 us.

    queue() has put that into inboxes, with the GIL, which this thread has. Where they are empty, somebody has taken it:
    he runs it, or gives it back, and give_back() wakes a worker.
    """
    if unannounced() and sweep():
        announced()

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
    if load_int(&lane.parking.searching):
        alone = 0
        catch_up(s, WORTH_NS * MIDDLING if handed.needed > 0 else WORTH_NS)
    else:
        alone += catch_up(s, CALL_NS)
        if alone > 2 * CALL_NS:         # this goes on: share it
            alone = 0
            wake_worker(lane, False)
    passed = 0
    futile = 0 if load_ptr(&s.writes) == NULL else min(futile + 1, MAX_FUTILE + 1)

cdef inline bint to_share_without_gil(Task* t) noexcept nogil:
    """Whether somebody would come for parts of it: to wait for him with the GIL would stop all other threads."""
    return cost_of_all(t) >= SHARE_NS and somebody_looks(&lanes[t.lane], NULL)

cdef bint run_small(Task* t) noexcept:
    """Run what is small and elementwise, and its group, without a Runner. False when that cannot be."""
    cdef long long start = now_ns() if load_int(&watched) else 0
    if not is_small(t, CALL_NS) or to_share_without_gil(t) or load_int(&cancels.any) and any_cancelled(t):
        return False
    if DFLOW_TSAN:
        tell_operands(t)
    if t.group == NULL and t.kernel.flags & ELEMENTWISE and not gains_natively(t):
        if not run_alone(t):
            return False
    elif not run_together(t):
        return False
    if load_int(&cancels.any):
        end_cut(t)
    if DFLOW_TSAN:
        tell_operands(t)
    if start:
        note_ran(t.order, members_of(t), t.kernel, t.lane, 0, start, bytes_live())
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

cdef void run_or_queue(Task* t, double cost) noexcept:
    """A group that nobody joins any more, ready and small, which the newest task waits for. While nothing else is
    pending, to hand it over takes longer than to run it here, and who follows would be behind a worker for good."""
    if not take(t):                     # a thread that helps has claimed it, and may be through with it
        return
    if pending() > members_of(t) + 1 or not run_with_gil(t):
        store_int(&t.state, IDLE)
        queue(t, cost)

cdef void run_without_gil(Task* t, Wait* w) noexcept:
    """run_chain() for who has the GIL, and is no Runner yet."""
    cdef Runner me
    become_runner(&me, t)
    me.helping = True
    add_int(&shared.helping, 1)
    drop_gil(&me)
    run_chain(&me, t, w, now_ns())
    take_gil(&me)
    add_int(&shared.helping, -1)
    end_runner(&me)

# ---- what others wait for --------------------------------------------------------------------------------------------

cdef void nudge() noexcept:
    start_group()
    announce(False)

cdef int settle(bint once=False) except -1:
    cdef Wait w = wait_for(FOR_ALL)
    while pending():
        block(&w, once)
        if once:
            break
    return 0

cdef bint make_room(size_t nbytes, bint back) except -1:
    global memory_waits
    cdef long long failed
    cdef bint quiet
    cdef Wait w = wait_for(FOR_ROOM, <long long>nbytes)
    if w.limit > memory_budget:
        if not back:
            return False
        w.limit = memory_budget
    if bytes_live() + w.limit <= memory_budget:
        return True
    if inside_host_task():
        return True
    memory_waits += 1
    failed = load_i64(&failures)
    while True:
        if graves():
            drain()                     # runs Python code: others may take what room there is
        if bytes_live() + w.limit <= memory_budget:
            return True
        quiet = not pending() and (back or not others_go_on())  # before it looks: it might find what ends meanwhile
        if spilling and load_i64(&failures) == failed:
            if evict(bytes_live() + w.limit - memory_budget + memory_budget // 8):
                quiet = False           # it may be written already, and its room somebody else's
        if quiet and not pending():
            return bytes_live() + w.limit <= memory_budget
        w.patience = now_ns() + PATIENCE_NS
        if pending():
            block(&w)
        else:
            with nogil:
                sleep_ns(SPIN_NS)

cdef bint wait_storage(Storage* s, Region* r, bint write, bint once) except -1:
    cdef Wait w = wait_for(FOR_STORAGE)
    cdef Poison* poison
    cdef bint held = s.spilled
    if held:
        add_int(&s.refs, 1)         # another thread may give the array another storage meanwhile
    w.s = s
    w.r = r
    w.write = write
    w.once = once
    try:
        if held:
            fetch(s)                # a write, but not another thread's
        w.order = <unsigned int>shared.submitted
        if captures:
            noting_hooks.value_read(s, here())
        while True:
            while not region_ready(s, r, write):
                if not held:
                    add_int(&s.refs, 1)
                    held = True
                if once and overtaken(&w):
                    return False
                note_need(s)
                if small_group(INLINE_NS):
                    handed.brief = LOOK_AFTER
                block(&w)
            if not warnings_wait() and not graves():
                break
            give_warnings()             # these run Python code: others may submit something meanwhile
            drain()
        if DFLOW_TSAN:
            tell_region(s, r, write)
        poison = <Poison*>load_ptr(&s.poison)
        if poison != NULL and not write:
            raise_poison(poison)
        return True
    finally:
        if held:
            storage_unref(s)
