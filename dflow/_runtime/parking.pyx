"""Parking: see _runtime/parking.pxd."""

from dflow._base.atomics cimport (
    add_i64, add_int, cas_int, cpu_pause, full_fence, glance_int, hint_int, invariant, load_i64, load_int, store_i64)
from dflow._base.threads cimport (
    Cores, bell_lock, bell_ring_one, bell_unlock, bell_wait_on, cores_all, cores_place, cores_without, now_ns,
    sched_yield, this_core)
from dflow._runtime.events cimport note_woke, watched
from dflow._base.thread_state cimport CPUS
from dflow._runtime.graph cimport Task
from dflow._runtime.open_group cimport Closed, Ripeness, close_group, group_waits, ripe
from dflow._runtime.queues cimport COPIES_TO, Lane, Runner, any_queued, lanes, push, shared, used
from dflow._runtime.runners cimport enter, leave, this_runner
from dflow._runtime.splits cimport any_split
from dflow._runtime.tuning cimport CALL_NS, HABIT_NS, LONG_NS, LOOK_AFTER, LULL_NS, WATCH_NS

cdef enum:
    GLANCES = 16            # at queues, for one at the open group and at the time

# ---- who has work ----------------------------------------------------------------------------------------------------

cdef void wake_worker(Lane* lane, bint surely) noexcept nogil:
    cdef long long since, now
    full_fence()                    # the push, before the look at `sleeping` and `searching`
    if load_int(&lane.parking.sleeping) == 0:
        return
    if load_int(&lane.parking.coming) or load_int(&lane.parking.searching):     # in the order of P3
        since = load_i64(&lane.parking.relied)
        now = now_ns()
        if since == 0 or now - since > WATCH_NS:
            store_i64(&lane.parking.relied, now)
        if since == 0 or now - since <= WATCH_NS:
            return
    elif not surely and crowded(lane):
        return
    wake_one(lane)

cdef void wake_for_pieces(Lane* lane, int there, long long pieces, double cost) noexcept nogil:
    """As many as there are pieces left, but for those who are there, or will see the split kernel by themselves: a
    thread that waits, too."""
    cdef int i, workers = load_int(&lane.nworkers)
    cdef double together = cost + load_i64(&lane.parking.unshared)
    if lane.number < CPUS and load_int(&shared.apart) == 0:
        there = max(there, waiting_beside(this_runner()))
    full_fence()                    # the kernel's opening, before the look at `sleeping`
    for i in range(there + load_int(&lane.parking.searching) + load_int(&lane.parking.coming), workers - 1):
        if i + 1 >= there + pieces or together < CALL_NS or load_int(&lane.parking.sleeping) == 0 or (
                cost < LONG_NS and crowded(lane)):
            break
        store_i64(&lane.parking.unshared, 0)
        wake_one(lane)
        if cost < CALL_NS:          # it is worth one, and no more, together with others
            break

cdef void note_split(Lane* lane, bint helped, double cost) noexcept nogil:
    """Kernels that follow each other closely are worth a worker together, where none of them is."""
    cdef long long now = now_ns()
    if helped or now - load_i64(&lane.parking.unshared_at) > LULL_NS + <long long>cost:
        store_i64(&lane.parking.unshared, 0)
    if not helped:
        add_i64(&lane.parking.unshared, <long long>cost)
        store_i64(&lane.parking.unshared_at, now)

cdef void share_next(Lane* lane, double cost) noexcept nogil:
    note_split(lane, False, cost)
    wake_for_pieces(lane, 0, 2, 0)

cdef bint crowded(Lane* lane) noexcept nogil:
    """Whether as many threads are at work as there are workers: one more would share the core of one of them. But
    there must be a worker that will soon look at the queues: one that begins something long, or Python code, has done
    so for the last time.
    """
    cdef int awake = load_int(&lane.started) - load_int(&lane.parking.sleeping)
    awake -= load_int(&lane.parking.hosting) + load_int(&lane.parking.engaged)
    return awake > 0 and awake + load_int(&shared.helping) + submitting() >= load_int(&lane.nworkers)

cdef inline int waiting_beside(Runner* me) noexcept nogil:
    """Threads that wait, and are awake, but for `me`."""
    return load_int(&shared.helping) - (me != NULL and me.helping)

cdef inline bint cores_taken(Lane* lane) noexcept nogil:
    """Whether, besides the worker that asks, as many threads run tasks, or wait awake, as there are workers."""
    cdef int awake = load_int(&lane.started) - load_int(&lane.parking.sleeping) - load_int(&lane.parking.coming) - 1
    return (lane.number < CPUS and load_int(&shared.apart) == 0
            and awake - load_int(&lane.parking.hosting) + load_int(&shared.helping) >= load_int(&lane.nworkers))

cdef bint somebody_looks(Lane* lane, Runner* me) noexcept nogil:
    """Whether another thread looks for work, and has a core for it."""
    cdef int waiting = waiting_beside(me)
    cdef int workers = load_int(&lane.started) - load_int(&lane.parking.hosting)
    workers -= load_int(&lane.parking.sleeping) + load_int(&lane.parking.coming)
    if me == NULL or me.lane == NULL:
        workers += 1                # who submits is this one
    else:
        waiting = max(waiting, <int>submitting())       # and is likely to wait in a moment
    if waiting <= 0 and load_int(&lane.parking.searching) == 0:
        return False
    return workers + waiting <= load_int(&lane.nworkers)

cdef bint submitting() noexcept nogil:
    """Whether a thread has submitted something in the last moments: it has a core, and is likely to go on."""
    cdef long long now = now_ns(), seen = load_i64(&shared.seen), submitted = load_i64(&shared.submitted)
    if seen != submitted:
        store_i64(&shared.seen, submitted)
        store_i64(&shared.seen_at, now)
    return now - load_i64(&shared.seen_at) < LULL_NS

cdef void wake_one(Lane* lane) noexcept nogil:
    """A sleeper, on a core where no worker runs if there is one."""
    cdef Runner* r
    bell_lock(&shared.idle_bell)
    r = lane.parking.sleepers
    if r != NULL:
        if not lane.bound:
            place(r)
        r.called = True
        add_int(&lane.parking.coming, 1)
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
    """Take the first sleeper from the list and let it go on. Needs idle_bell."""
    cdef Runner* r = lane.parking.sleepers
    invariant(r.asleep, b"P2: who is in the list is asleep")
    lane.parking.sleepers = r.below
    r.asleep = False
    if load_int(&watched):
        note_woke(lane.number, r.index)
    add_int(&lane.parking.sleeping, -1)
    invariant(lane.parking.sleeping >= 0, b"P1: nobody wakes who did not sleep")
    bell_ring_one(&r.bell)

# ---- who has work, and the GIL: a worker is woken when it is worth it ------------------------------------------------

cdef double silent_cost = -1        # GIL; of ready tasks for which no worker was woken, in ns; below 0: there are none
cdef Lane* silent_lane = &lanes[0]  # GIL; whose they are
# Who waits at once for what a worker was woken for runs it before that comes. So no worker is woken for the next one
# while that is how it goes, but for one in 32: queue() looks again.
cdef struct Futile:                 # GIL
    unsigned int last               # the last one that was worth a worker,
    bint called                     # and whether one was woken for it,
    long long at                    # and when who waited for it has begun it
    int left                        # for how many more none is woken
cdef Futile futile

cdef void queue(Task* t, double cost) noexcept:
    """Before it is worth waking a worker, who waits for t runs it as fast."""
    global silent_cost, silent_lane
    cdef Lane* lane = &lanes[t.lane]
    cdef unsigned int order = t.order
    cdef bint first
    if lane != silent_lane:
        announce(False)
        silent_lane = lane
    push(t)                                 # from here on it may be done, and its memory another's
    first = silent_cost <= 0
    silent_cost = cost if first else cost + silent_cost
    if silent_cost <= CALL_NS:
        return
    futile.last = order
    futile.called = not first or cost > LONG_NS or futile.left == 0 or now_ns() - futile.at > HABIT_NS
    if futile.called:
        futile.left = 0
        announce(cost > LONG_NS)
    else:
        futile.left -= 1

cdef void note_claimed(Task* t) noexcept:
    if t.order == futile.last:
        futile.at = now_ns()
        if futile.called:
            futile.left = LOOK_AFTER

cdef void announce(bint surely) noexcept:
    if silent_cost >= 0:
        announced()
        wake_worker(silent_lane, surely)

cdef void announced() noexcept:
    global silent_cost
    silent_cost = -1

cdef bint unannounced() noexcept:
    return silent_cost > 0

cdef void start_group() noexcept nogil:
    cdef Closed closed = close_group()
    cdef Lane* lane
    if closed.leader != NULL:
        lane = &lanes[closed.leader.lane]       # from the next line on the leader may be gone
        push(closed.leader)
        wake_worker(lane, False)

# ---- workers ---------------------------------------------------------------------------------------------------------

cdef bint any_ready(Lane* lane) noexcept nogil:
    return any_queued(lane) or any_split(lane)

cdef bint work_for(Lane* lane) noexcept nogil:
    return any_ready(lane) or group_waits() == lane

cdef bint begin_search(Lane* lane) noexcept nogil:
    return cas_int(&lane.parking.searching, 0, 1)

cdef void end_search(Lane* lane) noexcept nogil:
    add_int(&lane.parking.searching, -1)
    store_i64(&lane.parking.relied, 0)
    full_fence()                    # pairs with wake_worker(): who pushed before relied on it

cdef long long search_ends(Lane* lane) noexcept nogil:
    """Copies leave the cores to others."""
    return now_ns() + (WATCH_NS if lane.number < COPIES_TO else 0)

cdef bint look_around(Runner* me, long long until) noexcept nogil:
    """An open group is watched until it fills, or is taken when nobody joins it any more; so is a kernel that is to be
    split. Where others need all cores, there is nothing to be seen: who is done looks around in its turn."""
    cdef long long now = now_ns()
    cdef unsigned int turn = 0
    cdef Ripeness seen
    seen.leader = NULL
    seen.members = 0
    seen.since = now
    while not any_ready(me.lane) and not load_int(&me.dismissed):
        cpu_pause()
        turn += 1
        if turn % GLANCES:              # who adds to the group needs its memory, too
            continue
        if load_int(&shared.rung):      # perhaps for this core
            sched_yield()
        if group_waits() != me.lane and cores_taken(me.lane):
            return False
        now = now_ns()
        if group_waits() == me.lane:
            if ripe(&seen, now):
                enter(me)
                start_group()
                leave(me)
        elif now > until and (load_int(&shared.opening) == 0 or me.lane.number >= COPIES_TO):
            return False
    return now < until

cdef bint park_worker(Runner* me) noexcept nogil:
    cdef Lane* lane = me.lane
    cdef bint woken = False
    bell_lock(&shared.idle_bell)
    add_int(&lane.parking.sleeping, 1)
    full_fence()                    # the announcement, before the last look; pairs with wake_worker()
    if work_for(lane) or load_int(&me.dismissed):
        add_int(&lane.parking.sleeping, -1)
    else:
        me.asleep = True
        me.below = lane.parking.sleepers
        lane.parking.sleepers = me
        while me.asleep:
            bell_wait_on(&shared.idle_bell, &me.bell)
        hint_int(&me.core, this_core())
        woken = not load_int(&me.dismissed)
        if woken:
            add_int(&lane.parking.searching, 1)         # before it is no longer coming: P3
        if me.called:
            me.called = False
            add_int(&lane.parking.coming, -1)
    bell_unlock(&shared.idle_bell)
    return woken

cdef void wake_all(Lane* lane) noexcept nogil:
    bell_lock(&shared.idle_bell)
    while lane.parking.sleepers != NULL:
        rouse(lane)
    bell_unlock(&shared.idle_bell)

cdef void begin_work(Lane* lane) noexcept nogil:
    store_i64(&lane.parking.relied, 0)
    look_back(lane)

cdef void look_back(Lane* lane) noexcept nogil:
    """Others may have relied on who turns to what it has found to find more."""
    full_fence()                    # after what says so, before the look; pairs with wake_worker()
    if work_for(lane):
        wake_worker(lane, False)

# ---- what others cannot rely on --------------------------------------------------------------------------------------

cdef void begin_long(Lane* lane) noexcept nogil:
    add_int(&lane.parking.engaged, 1)
    look_back(lane)

cdef void end_long(Lane* lane) noexcept nogil:
    add_int(&lane.parking.engaged, -1)

cdef void begin_host(Lane* lane) noexcept nogil:
    add_int(&lane.parking.hosting, 1)
    look_back(lane)

cdef void end_host(Lane* lane) noexcept nogil:
    add_int(&lane.parking.hosting, -1)

cdef void parking_after_fork(Lane* lane) noexcept:
    lane.parking.sleepers = NULL
    lane.parking.sleeping = lane.parking.searching = lane.parking.coming = 0
    lane.parking.engaged = lane.parking.hosting = 0
