"""The open group: see _runtime/open_group.pxd."""

from dflow._kernels.kernel cimport REDUCES
from dflow._base.atomics cimport (
    DFLOW_DEBUG, add_int, hint_int, invariant, load_double, load_int, load_ptr, store_double, store_ptr)
from dflow._base.thread_state cimport holds
from dflow._base.locks cimport GROUP_LOCK, lock, unlock
from dflow._runtime.events cimport watched
from dflow._runtime.fusion_rules cimport MAX_MEMBERS, MAX_OPERANDS, may_join, row_of, Waits, waits_of
from dflow._runtime.fusion_space cimport Space, space_of
from dflow._runtime.graph cimport ABROAD, Access, accesses, connect, cost_of, MEMBER, note_task, TRACKED
from dflow._runtime.queues cimport Lane, lanes
from dflow._runtime.tuning cimport CALL_NS, JOIN_NS, MAX_LOOSE, RIPE_NS, RIPE_PART

cdef enum:
    FEW = 32                # members of a group on a device, whose kernels have few arguments, or with a reduction, for
                            # whose rows blocks are large

cdef struct Opening:        # changed under the lock; what is added, under the GIL, too
    int lock
    Task* leader            # atomic; NULL: none is open
    Task* last
    int members             # glanced at without the lock, as is `cost`
    int operands
    int loose               # results that no member has read yet, roughly
    bint called             # a worker was woken for it
    double cost             # nanoseconds
    intp elements           # of the iteration space
    intp row                # that a reduction among them brings to one; 0: there is none
    Space space
    Waits waits

cdef Opening opening

longest_group = MAX_MEMBERS

# ---- offers ----------------------------------------------------------------------------------------------------------

cdef bint offer(Task* t, Closed* closed) noexcept:
    cdef double cost = cost_of(t)
    cdef intp row = row_of(t) if t.kernel.flags & REDUCES else 0
    cdef bint calls = False
    cdef int inputs = -1, most
    closed.leader = NULL
    lock(&opening.lock, GROUP_LOCK)
    if opening.leader != NULL:
        most = min(longest_group, FEW) if t.flags & ABROAD or row or opening.row else longest_group
        if opening.members < most and (row == 0 or opening.row == 0 or row == opening.row):
            inputs = joins(t, cost)
        if inputs < 0 or (inputs == 0 and opening.loose >= MAX_LOOSE):
            closed[0] = close()
    if opening.leader == NULL:
        begin(t)
        closed.needed = load_int(&t.npending) > 1
    else:
        append(t)
    if row:
        opening.row = row
    hint_int(&opening.members, opening.members + 1)
    opening.operands += t.nops
    opening.loose += 1 - inputs if inputs > 0 else 1
    store_double(&opening.cost, opening.cost + cost)
    if opening.cost > CALL_NS and not opening.called:
        calls = opening.called = True
    unlock(&opening.lock)
    return calls

cdef bint offer_last(Task* t, Closed* closed) noexcept:
    cdef double cost = cost_of(t)
    cdef bint joined
    lock(&opening.lock, GROUP_LOCK)
    joined = opening.leader != NULL and opening.row == 0 and opening.members < FEW and joins(t, cost) >= 0
    if joined:
        append(t)
        store_double(&opening.cost, opening.cost + cost)
        closed[0] = close()
    unlock(&opening.lock)
    return joined

cdef int joins(Task* t, double cost) noexcept:
    """-1 if t may not join, else how many results of members it reads: then it has to. Needs the lock and an open
    group."""
    cdef Task* leader = opening.leader
    if (t.lane != leader.lane or t.priority != leader.priority or (t.flags ^ leader.flags) & ABROAD
            or opening.operands + t.nops > MAX_OPERANDS):
        return -1                       # they could not be one entry of a queue, or one group
    return may_join(leader, &opening.space, &opening.waits, opening.cost + cost > JOIN_NS, t)

cdef void begin(Task* t) noexcept:
    """Open a group that t leads. Needs the lock."""
    t.npending = 2                      # one is given back below, one when the group is closed
    opening.operands = opening.loose = 0
    hint_int(&opening.members, 0)
    store_double(&opening.cost, 0)
    opening.called = False
    opening.elements = space_of(t, &opening.space)
    opening.row = 0
    waits_of(t, &opening.waits)
    if load_int(&watched):
        note_task(t, 0)
    connect_all(t)
    opening.last = t
    store_ptr(&opening.leader, t)
    add_int(&t.npending, -1)

cdef void append(Task* t) noexcept:
    """Make t the last member. Needs the lock, and an open group."""
    t.group = opening.leader
    t.flags |= MEMBER
    if load_int(&watched):
        note_task(t, opening.leader.order)
    connect_all(t)
    if opening.last == opening.leader:
        store_ptr(&opening.leader.group, t)
    else:
        store_ptr(&opening.last.next, t)
    opening.last = t

cdef void connect_all(Task* t) noexcept:
    cdef Access* a = accesses(t)
    cdef int i
    if DFLOW_DEBUG:
        invariant(holds(&opening.lock), b"who adds to the open group has its lock")
    for i in range(t.nops):
        if a[i].key & TRACKED:
            connect(t, a + i, NULL)

# ---- closing ---------------------------------------------------------------------------------------------------------

cdef Closed close() noexcept nogil:
    """Nobody joins any more. Needs the lock."""
    cdef Closed closed
    closed.leader = opening.leader
    closed.cost = opening.cost
    closed.needed = False
    store_ptr(&opening.leader, NULL)
    if closed.leader != NULL and add_int(&closed.leader.npending, -1):
        closed.leader = NULL            # what it waits for will queue it
    return closed

cdef Closed close_group() noexcept nogil:
    cdef Closed closed
    if load_ptr(&opening.leader) == NULL:
        closed.leader = NULL
        closed.cost = 0
        closed.needed = False
        return closed
    lock(&opening.lock, GROUP_LOCK)
    closed = close()
    unlock(&opening.lock)
    return closed

cdef void open_group_after_fork() noexcept:
    opening.lock = 0

# ---- glances ---------------------------------------------------------------------------------------------------------

cdef Task* open_leader() noexcept nogil:
    return <Task*>load_ptr(&opening.leader)

cdef bint would_join(intp elements, bint ready) noexcept:
    """Only if the group is large: then a value less in memory, and no wait for it, are worth more than to run at once.

    A glance without the lock, at what only a thread with the GIL begins.
    """
    return load_ptr(&opening.leader) != NULL and opening.elements == elements and opening.cost > JOIN_NS and (
        not ready or opening.loose < MAX_LOOSE)

cdef bint small_group(double most) noexcept:
    cdef bint small
    if load_ptr(&opening.leader) == NULL:
        return False
    lock(&opening.lock, GROUP_LOCK)
    small = opening.leader != NULL and opening.cost < most and load_int(&opening.leader.npending) == 1
    unlock(&opening.lock)
    return small

cdef Lane* group_waits() noexcept nogil:
    """NULL, too, where it is not worth a worker's time."""
    cdef Task* leader
    cdef Lane* lane = NULL
    if load_ptr(&opening.leader) == NULL:
        return NULL
    lock(&opening.lock, GROUP_LOCK)
    leader = opening.leader
    if leader != NULL and opening.cost > CALL_NS and load_int(&leader.npending) == 1:
        lane = &lanes[leader.lane]
    unlock(&opening.lock)
    return lane

cdef bint ripe(Ripeness* seen, long long now) noexcept nogil:
    """To wait a little longer with a large group: to be joined may save more."""
    cdef Task* leader = open_leader()
    cdef int members = load_int(&opening.members)
    if seen.leader != leader or seen.members != members:
        seen.leader = leader
        seen.members = members
        seen.since = now
    return now > seen.since + RIPE_NS + <long long>(load_double(&opening.cost) / RIPE_PART)
