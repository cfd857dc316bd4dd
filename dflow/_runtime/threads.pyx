"""Workers and deputies: see _runtime/threads.pxd."""

from _thread import start_new_thread

from libc.string cimport memset
from dflow._kernels.kernel cimport HOST
from dflow._base.atomics cimport (
    add_int, cas_int, full_fence, hint_int, invariant, load_int, load_int_after, store_int, swap_int)
from dflow._base.threads cimport (
    begin_thread_state, bell_init, bell_lock, bell_unlock, cores_keep, sched_yield, cores_release, end_thread_state,
    name_thread, now_ns, sleep_ns, this_core, this_thread)
from dflow._runtime.executor cimport execute, give_back, join_splits, ring_done
from dflow._runtime.graph cimport *
from dflow._runtime.open_group cimport group_waits
from dflow._runtime.parking cimport (
    begin_search, begin_work, end_search, look_around, park_worker, search_ends, wake_all, wake_worker, work_for)
from dflow._runtime.queues cimport *
from dflow._runtime.runners cimport *
from dflow._runtime.tuning cimport LONG_NS, TURN_NS
from dflow._base cimport thread_state
from dflow._base.thread_state cimport PyThread_get_thread_ident
from dflow._base.allocator cimport *

cdef extern from "<pthread.h>" nogil:
    int pthread_create(pthread_t*, void*, void* (*)(void*) noexcept nogil, void*)
    int pthread_detach(pthread_t)

cdef enum:
    STAYS = 0               # Runner.dismissed
    ASKED = 1
    GONE = 2
    GIVE_WAY = 1000         # looks at whether a worker has begun, before others get the GIL


# ---- workers ---------------------------------------------------------------------------------------------------------

cdef struct Chain:          # tasks that a worker has run one after the other, each made ready by the one before
    int turns
    long long since         # when a look at the time knew of it; 0: none has
    long long behind        # since when it has kept the worker from others that are queued; 0: it has not

cdef void* worker_main(void* arg) noexcept nogil:
    cdef Runner* me = <Runner*>arg
    cdef Task* t
    cdef Chain chain
    set_runner(me)
    me.tstate = begin_thread_state()
    me.number = this_thread()
    name_worker(me)
    store_int(&me.begun, 1 if me.tstate != NULL else -1)
    if me.tstate == NULL:
        return NULL
    bell_lock(&shared.idle_bell)
    bind(me)                            # where who starts it may run is no matter
    bell_unlock(&shared.idle_bell)
    while not cas_int(&me.dismissed, ASKED, GONE):
        hint_int(&me.core, this_core())
        enter(me)
        t = seek(me)
        if t == NULL and join_splits(me):
            t = seek(me)
        me.current = t
        leave(me)
        if t == NULL:
            if load_int(&shared.waiting_all):
                ring_done()
            t = idle(me)
        memset(&chain, 0, sizeof(chain))
        while t != NULL:
            t = go_on(me, execute(me, t), &chain)
    depart(me)
    return NULL

cdef void name_worker(Runner* me) noexcept nogil:
    """By its device, and its number: "dflow cpu0.1"; who copies to a device: "dflow to cpu1"."""
    cdef int device = me.lane.number % COPIES_TO
    cdef bint copies = me.lane.number >= COPIES_TO
    if me.lane.number == DISK_LANE:
        name_thread(b"disk", me.index, 0)
    elif device < CPUS:
        name_thread(b"to cpu" if copies else b"cpu", device, 0 if copies else me.index)
    else:
        name_thread(b"to gpu" if copies else b"gpu", device - CPUS, 0 if copies else me.index)

cdef Task* go_on(Runner* me, Task* t, Chain* chain) noexcept nogil:
    """What the worker runs next: t, which its last task has made ready, or NULL; else something older, or urgent.
    Enters with me inside, leaves it outside."""
    cdef Lane* lane = me.lane
    chain.turns += 1
    if t != NULL and (
            load_int(&me.dismissed) or load_int(&prioritized) and outranked(lane, t.priority)
            or (chain.turns % 16 == 0 or cost_of(t) > LONG_NS) and overlong(&chain.since) and any_queued(lane)):
        give_back(t)                    # older tasks go first
        t = me.current = NULL
    if t == NULL and not load_int(&me.dismissed):
        t = me.current = seek(me)
        memset(chain, 0, sizeof(chain[0]))
    if t == NULL or not t.flags & ABROAD:
        let_gil_go(me)
    if load_int(&lane.parking.sleeping) and any_queued(lane):
        if chain.behind == 0:
            chain.behind = now_ns()
        wake_worker(lane, now_ns() - chain.behind > LONG_NS)    # who submitted those may be gone from its core
    leave(me)
    if t != NULL and load_int(&shared.rung):        # who waited for what is done has more to submit, and may wait for
        sched_yield()                               # this core: the system would let it, after some milliseconds
    return t

cdef bint overlong(long long* since) noexcept nogil:
    """Whether a chain of tasks has kept a worker for longer than its turn."""
    cdef long long now = now_ns()
    if since[0] == 0:
        since[0] = now
    return now - since[0] > TURN_NS

cdef Task* seek(Runner* me) noexcept nogil:
    """find() for a worker. One that is to leave begins nothing that was submitted since it was asked to."""
    cdef Task* t = find(me)
    if t != NULL and load_int(&me.dismissed):
        give_back(t)
        t = NULL
    return t

cdef void bind(Runner* me) noexcept nogil:
    """Let a worker run where its lane may. Needs idle_bell."""
    if me.lane.bound:
        cores_keep(&me.lane.cores, me.number)
    else:
        cores_release(me.number)

cdef void depart(Runner* me) noexcept nogil:
    """A worker that is gone gives back its place, last of all."""
    cdef Lane* lane = me.lane
    invariant(me.current == NULL, b"a worker that leaves has no task")
    invariant(not me.asleep and not me.called, b"nobody relies on a worker that leaves")
    take_gil(me)
    unregister(me)
    bell_lock(&shared.idle_bell)        # place() looks at all workers
    lane.workers[me.index] = NULL
    add_int(&lane.started, -1)
    bell_unlock(&shared.idle_bell)
    if swap_int(&me.released, 1):       # else who started it has yet to see that it began
        memory_free(me)
    full_fence()                        # pairs with wake_worker(): who pushed while it was awake relied on it
    if work_for(lane):
        wake_worker(lane, True)
    end_thread_state()

cdef Task* idle(Runner* me) noexcept nogil:
    """Look around for a while, one worker at a time, then sleep. A task; NULL: it helped with a split kernel, or is to
    leave."""
    cdef Task* t = NULL
    cdef bint helped = False
    cdef bint searches = begin_search(me.lane)
    cdef long long until = search_ends(me.lane)
    cdef bint seen = searches and look_around(me, until)
    while t == NULL and not helped and not load_int(&me.dismissed):
        if not searches:
            searches = park_worker(me)
            until = search_ends(me.lane)
            seen = (searches or group_waits() == me.lane) and look_around(me, until)
        enter(me)
        t = seek(me)
        if searches:
            end_search(me.lane)
            searches = False
            if t == NULL:
                t = seek(me)
        if t == NULL:
            helped = not load_int(&me.dismissed) and join_splits(me)
        me.current = t
        leave(me)
        if seen and t == NULL and not helped:       # another thread was faster: the time is not over
            searches = begin_search(me.lane)
            seen = searches and look_around(me, until)
    if searches:
        end_search(me.lane)             # it is time to leave
    if t != NULL:
        begin_work(me.lane)
    return t

cdef int hire(Lane* lane) except -1:
    cdef int i = 1
    cdef Runner* r
    while i <= lane.nworkers and not over():
        r = lane.workers[i]
        if r == NULL:
            start(lane, i)
        elif load_int(&r.dismissed) and not cas_int(&r.dismissed, ASKED, STAYS):
            with nogil:                 # it is about to give its place back
                sleep_ns(10000)
            continue
        i += 1
    return 0

cdef int start(Lane* lane, int i) except -1:
    cdef Runner* r = <Runner*>memory_zeros(sizeof(Runner))
    if r == NULL:
        raise MemoryError("no memory for a worker")
    r.lane = lane
    r.index = r.turn = i
    r.random = shared.delay_seed + 77 * i + 1
    bell_init(&r.bell)
    bell_lock(&shared.idle_bell)
    lane.workers[i] = r
    add_int(&lane.started, 1)
    bell_unlock(&shared.idle_bell)
    register(r)
    if not begin(r):
        unregister(r)
        bell_lock(&shared.idle_bell)
        lane.workers[i] = NULL
        add_int(&lane.started, -1)
        bell_unlock(&shared.idle_bell)
        memory_free(r)
        if load_int(&lane.started) == 0:
            raise MemoryError("no memory for a worker thread")
    elif swap_int(&r.released, 1):      # dismissed already, while others had the GIL
        memory_free(r)
    return 0                            # fewer workers than wanted: queues of the others stay empty

cdef bint begin(Runner* r) noexcept:
    """Waits until the worker has a thread state, which it makes without the GIL; but not under tracemalloc, whose
    allocators ask for it."""
    cdef int begun = 0, turns = 0
    if pthread_create(&r.thread, NULL, worker_main, r):
        return False
    pthread_detach(r.thread)
    while begun == 0:
        turns += 1
        if turns < GIVE_WAY:
            sched_yield()
        else:
            with nogil:
                sleep_ns(10000)
        begun = load_int_after(&r.begun)
    return begun > 0

cdef void dismiss(Lane* lane, int but) noexcept:
    cdef int i
    for i in range(but + 1, MAX_WORKERS + 1):
        if lane.workers[i] != NULL:
            cas_int(&lane.workers[i].dismissed, STAYS, ASKED)
    wake_all(lane)

cdef void bind_workers(Lane* lane) noexcept:
    cdef int i
    for i in range(1, MAX_WORKERS + 1):
        if lane.workers[i] != NULL and lane.workers[i].number:
            bind(lane.workers[i])

cdef bint over() noexcept:
    return load_int(&thread_state.process_ends) != 0

cdef void leave_process() noexcept:
    cdef long long until = now_ns() + 1000000000
    cdef int i
    thread_state.last_thread = PyThread_get_thread_ident()
    store_int(&thread_state.process_ends, 1)
    for i in range(shared.nlanes):
        dismiss(used[i], 0)
    for i in range(shared.nlanes):
        while load_int(&used[i].started) and now_ns() < until:
            with nogil:
                sleep_ns(50000)

cdef void threads_after_fork() noexcept:
    store_int(&thread_state.process_ends, 0)

# ---- deputies --------------------------------------------------------------------------------------------------------

cdef bint may_send(Runner* me) noexcept nogil:
    if me.deputy != NULL and load_int(&me.deputy.released):
        memory_free(me.deputy)
        me.deputy = NULL
    return me.deputy == NULL

cdef bint send_deputy(Runner* me, Task* t, bint stays) noexcept with gil:
    """Have t, a Python function, run by another thread. stays: which then goes on with others, while `me` waits."""
    cdef Runner* r = <Runner*>memory_zeros(sizeof(Runner))
    if r == NULL:
        return False
    r.stays = stays
    r.random = shared.delay_seed + 1
    r.turn = me.turn
    r.current = t
    register(r)
    try:
        start_new_thread(serve, (<size_t>r,))
    except BaseException:           # no memory, or as many threads as there may be
        unregister(r)
        memory_free(r)
        return False
    me.deputy = r
    me.current = NULL
    return True

cdef void release_deputy(Runner* me) noexcept nogil:
    if me.deputy != NULL and swap_int(&me.deputy.released, 1):
        memory_free(me.deputy)

def serve(size_t address):
    """The life of a deputy."""
    cdef Runner* me = <Runner*>address
    cdef Task* t = me.current
    invariant((t.kernel.flags & HOST) != 0 and me.lane == NULL, b"a deputy begins with a Python function")
    set_runner(me)
    drop_gil(me)
    while t != NULL:
        t = execute(me, t)
        if t == NULL and me.stays and not load_int(&me.released):
            t = find(me)
        if t != NULL and not (t.kernel.flags & HOST and me.stays):
            give_back(t)
            t = NULL
        me.current = t
        leave(me)
    if load_int(&shared.waiting_all):
        ring_done()
    take_gil(me)
    unregister(me)
    set_runner(NULL)
    if swap_int(&me.released, 1):
        memory_free(me)
