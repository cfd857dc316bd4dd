"""Lanes and their queues: see _runtime/queues.pxd."""

from operator import index

from libc.stdint cimport int16_t, uint8_t
from dflow._base.atomics cimport DFLOW_DEBUG, add_int, cas_int, invariant, load_int, load_ptr, \
    store_i64, store_int, store_ptr
from dflow._base.locks cimport lock, QUEUE_LOCK, unlock
from dflow._base.threads cimport bell_init
from dflow._runtime.events cimport note_stolen, watched
from dflow._runtime.graph cimport *
from dflow._base.allocator cimport *
from dflow._base.thread_state cimport crossing, holds
from dflow._kernels.kernel cimport ON_DISK

cdef extern from *:
    """
    static _Thread_local int thread_priority;
    """
    int thread_priority

# ---- which lane ------------------------------------------------------------------------------------------------------

cdef Lane* own[COPIES_TO]               # GIL; of each device: its lane, or that of cpu(0)

cdef void use_lane(Lane* lane) noexcept:
    """Let it be searched from now on."""
    cdef int i
    for i in range(shared.nlanes):
        if used[i] == lane:
            return
    lane.number = <int>(lane - lanes)
    store_int(&lane.widest, 1)
    store_int(&lane.nworkers, 1)
    used[shared.nlanes] = lane
    store_int(&shared.nlanes, shared.nlanes + 1)

cdef Lane* lane_of(int device) noexcept:
    return own[device]

cdef Lane* lane_to(int device) noexcept:
    cdef Lane* lane = &lanes[COPIES_TO + device]
    return lane if lane.nworkers else NULL

cpdef str lane_name(int number):
    if number == DISK_LANE:
        return "disk"
    cdef int device = number % DEVICES
    name = f"cpu({device})" if device < CPUS else f"gpu({device - CPUS})"
    return name if number == device else f"to {name}"

cdef void give_lane(int device, bint own_one) noexcept:
    global choices
    cdef int i
    if own_one:
        use_lane(&lanes[device])
        choices = choices or device > 0
    own[device] = &lanes[device if own_one else 0]
    store_int(&shared.apart, sum([own[i] != &lanes[0] for i in range(CPUS)]))

cdef void use_disk_lane() noexcept:
    global choices
    use_lane(&lanes[DISK_LANE])
    choices = True

cdef void choose_lane(Task* t) noexcept:
    """The lane of the device to which it writes; that of copies, if it copies from a device with other workers."""
    cdef Access* a = accesses(t)
    cdef int i, source = -1, target = -1
    if t.kernel.flags & ON_DISK:
        t.lane = <uint8_t>DISK_LANE
        return
    for i in range(t.nops):
        if a[i].storage != NULL:
            if a[i].key & WRITE:
                target = a[i].storage.device >> 1
            else:
                source = a[i].storage.device >> 1
    if target < 0:
        target = max(source, 0)
    if source >= 0 and own[source] != own[target] and crossing():
        use_lane(&lanes[COPIES_TO + target])
        t.lane = <uint8_t>(COPIES_TO + target)
    else:
        t.lane = <uint8_t>own[target].number
    t.priority = <int16_t>thread_priority

def priority(level):
    """Let what this thread submits from now on go before what is queued with a lower level; the level before."""
    global thread_priority, choices
    before = thread_priority
    if not LAST < level <= 32767:
        raise ValueError(f"level must be between -32767 and 32767, not {level}")
    thread_priority = index(level)
    if thread_priority:
        choices = True
        store_int(&prioritized, 1)
    return before

# ---- queues ----------------------------------------------------------------------------------------------------------

cdef void enqueue(Queue* q, Task* t) noexcept nogil:
    cdef Task* before
    t.next = NULL
    lock(&q.lock, QUEUE_LOCK)
    if q.head == NULL or t.priority > q.rank:
        t.next = q.head
        if q.head == NULL:
            q.tail = t
        store_int(<int*>&q.first, <int>t.order)
        store_int(&q.rank, t.priority)
        store_ptr(&q.head, t)
    else:
        before = q.tail
        if before.priority < t.priority:
            before = q.last if q.last != NULL and q.last.priority >= t.priority else q.head
            while before.next.priority >= t.priority:
                before = before.next
            t.next = before.next
            q.last = t
        else:
            q.tail = t
        before.next = t
        invariant(before.priority >= t.priority and (t.next == NULL or t.next.priority < t.priority),
                  b"a queue is sorted by priority")
    unlock(&q.lock)

cdef Task* pop(Queue* q) noexcept nogil:
    cdef Task* t
    if load_ptr(&q.head) == NULL:
        return NULL
    lock(&q.lock, QUEUE_LOCK)
    t = q.head
    if t != NULL:
        behead(q)
    unlock(&q.lock)
    return t

cdef inline void behead(Queue* q) noexcept nogil:
    """Drop the first entry."""
    if DFLOW_DEBUG:
        invariant(holds(&q.lock), b"who changes a queue has its lock")
    if q.head == q.last:
        q.last = NULL
    if q.head.next != NULL:
        store_int(<int*>&q.first, <int>q.head.next.order)
        store_int(&q.rank, q.head.next.priority)
    store_ptr(&q.head, q.head.next)

cdef void push(Task* t) noexcept nogil:
    """Queue what no worker made ready."""
    cdef Lane* lane = &lanes[t.lane]
    enqueue(&lane.inboxes[1 + t.order % <unsigned int>load_int(&lane.nworkers)], t)

cdef bint take(Task* t) noexcept nogil:
    """Whether the caller, who holds t's queue entry, is to run t."""
    if cas_int(&t.state, IDLE, TAKEN):
        return True
    if add_int(&t.state, POPPED) & FINISHED:
        cell_free_nogil(TASKS, t, t.size)
    return False

cdef Task* pop_taken(Queue* q) noexcept nogil:
    """The first one that is not claimed, for the caller to run."""
    cdef Task* t = pop(q)
    while t != NULL and not take(t):
        t = pop(q)
    return t

cdef Queue* older(Queue* a, Queue* b) noexcept nogil:
    """The one whose first task has the higher priority, or was submitted earlier, at a glance; NULL: both are empty."""
    if load_ptr(&a.head) == NULL:
        return b if load_ptr(&b.head) != NULL else NULL
    if load_ptr(&b.head) == NULL:
        return a
    if load_int(&a.rank) != load_int(&b.rank):
        return a if load_int(&a.rank) > load_int(&b.rank) else b
    return a if <int>(<unsigned int>load_int(<int*>&a.first) - <unsigned int>load_int(<int*>&b.first)) <= 0 else b

cdef Task* find(Runner* me) noexcept nogil:
    """A ready task of the runner's lane, or of those that may be helped."""
    cdef Task* t = NULL
    cdef int i
    if me.lane != NULL:
        return find_in(me, me.lane)
    for i in range(load_int(&shared.nlanes)):
        if core_free(used[i]):
            t = find_in(me, used[i])
            if t != NULL:
                break
    return t

cdef Task* find_in(Runner* me, Lane* lane) noexcept nogil:
    """A ready task: of its own queue, of the inboxes, of another worker's queue.

    Of two inboxes it takes the older task, and looks at another pair the next time. With two workers that is the oldest
    of all; with many it is an old one, as in a MultiQueue (Rihani, Sanders, Dementiev 2015), for two glances.
    """
    cdef unsigned int n = load_int(&lane.nworkers), all = load_int(&lane.widest), turn = me.turn, i
    cdef Queue* q = &lane.queues[me.index]
    cdef Task* t = NULL
    if load_int(&prioritized) == 0 or load_ptr(&q.head) == NULL or not outranked(lane, load_int(&q.rank)):
        t = pop_taken(q)
    if t != NULL:
        return t
    me.turn = turn + 1
    q = older(&lane.inboxes[1 + turn % n], &lane.inboxes[1 + (turn + 1 + turn // n % max(n - 1, 1)) % n])
    if q != NULL:
        t = pop_taken(q)
    i = 0
    while t == NULL and i < all:
        t = pop_taken(&lane.inboxes[1 + (turn + i) % all])
        i += 1
    i = 0
    while t == NULL and i < all:
        t = pop_taken(&lane.queues[1 + (me.index + i) % all])
        if t != NULL:
            store_i64(&me.stolen, me.stolen + 1)
            if load_int(&watched):
                note_stolen(t.order, lane.number, me.index, 1 + (me.index + i) % all)
        i += 1
    return t

cdef Task* take_any() noexcept nogil:
    """Something that is queued, in no order."""
    cdef int i, k
    cdef Task* t = NULL
    for k in range(load_int(&shared.nlanes)):
        for i in range(1, load_int(&used[k].widest) + 1):
            t = pop_taken(&used[k].queues[i])
            if t == NULL:
                t = pop_taken(&used[k].inboxes[i])
            if t != NULL:
                return t
    return NULL

cdef bint sweep() noexcept nogil:
    """Drop stale entries from the front of the inboxes. Whether they are empty then."""
    cdef int i, k
    cdef Queue* q
    cdef Task* t
    for k in range(load_int(&shared.nlanes)):
        for i in range(1, load_int(&used[k].widest) + 1):
            q = &used[k].inboxes[i]
            while load_ptr(&q.head) != NULL:
                lock(&q.lock, QUEUE_LOCK)
                t = q.head
                if t != NULL and load_int(&t.state) & CLAIMED:
                    behead(q)
                else:
                    t = NULL
                unlock(&q.lock)
                if t == NULL:
                    break
                if take(t):                 # else it is claimed still, or its cell is freed, as it is done
                    store_int(&t.state, IDLE)       # whoever had claimed it has given it back meanwhile
                    push(t)
                    return False
            if load_ptr(&q.head) != NULL:
                return False
    return True

cdef bint any_queued(Lane* lane) noexcept nogil:
    cdef int i
    for i in range(1, load_int(&lane.widest) + 1):
        if load_ptr(&lane.inboxes[i].head) != NULL or load_ptr(&lane.queues[i].head) != NULL:
            return True
    return False

cdef bint outranked(Lane* lane, int rank) noexcept nogil:
    cdef int i
    for i in range(1, load_int(&lane.widest) + 1):
        if load_ptr(&lane.inboxes[i].head) != NULL and load_int(&lane.inboxes[i].rank) > rank:
            return True
    return False

cdef bint core_free(Lane* lane) noexcept nogil:
    """With all of its workers at work, one more thread would only share their cores; and where there are several lanes,
    it would be one more than the lane was given. A GPU computes by itself, and copies have threads of their own."""
    return (load_int(&lane.parking.hosting) > 0 or load_int(&lane.started) == 0
            or lane.number < CPUS and load_int(&shared.apart) == 0
            and (load_int(&lane.parking.sleeping) > 0 or load_int(&lane.parking.coming) > 0))

cdef bint looked_at(Lane* lane) noexcept nogil:
    return (load_int(&lane.parking.sleeping) > 0 or load_int(&lane.parking.coming) > 0
            or load_int(&lane.parking.searching) > 0)

cdef bint any_engaged() noexcept nogil:
    cdef int i
    for i in range(load_int(&shared.nlanes)):
        if load_int(&used[i].parking.engaged):
            return True
    return False

cdef void begin() noexcept:
    cdef int i
    use_lane(&lanes[0])
    for i in range(COPIES_TO):
        own[i] = &lanes[0]
    bell_init(&shared.idle_bell)
    bell_init(&shared.done_bell)

begin()
