"""All that is pending, looked at: see _runtime/survey.pxd."""

from libc.stdint cimport uintptr_t
from libc.string cimport memset
from dflow._base.allocator cimport memory_free, memory_zeros
from dflow._base.atomics cimport load_int
from dflow._runtime.gate cimport gate
from dflow._runtime.graph cimport Access, CLAIMED, Edge, FINISHED, head_of, members_of, next_member, task_of
from dflow._runtime.open_group cimport open_leader
from dflow._runtime.queues cimport Lane, Queue, Runner, shared, used
from dflow._runtime.runners cimport pending

cdef enum:
    SPARE = 64                  # tasks that others may submit before the runners are held
    PAIRS = 4                   # predecessors for each task, on average

cdef int* place_of(Survey* v, Task* t) noexcept:
    cdef unsigned int i = <unsigned int>(<uintptr_t>t >> 4) * 2654435761u & v.mask
    while v.table[i] and v.nodes[v.table[i] - 1].task != t:
        i = (i + 1) & v.mask
    return &v.table[i]

cdef int add(Survey* v, Task* t, State state, int worker=0) noexcept:
    """The node of a head; -1: no room. The first state that it is found in stays."""
    cdef int* place = place_of(v, t)
    cdef Node* node
    cdef Task* m = t
    cdef int i = 0
    if place[0]:
        return place[0] - 1
    if v.n == v.most:
        v.cut = True
        return -1
    node = &v.nodes[v.n]
    node.task = t
    node.state = state
    node.lane = t.lane
    node.worker = worker
    node.members = members_of(t)
    node.site = t.site
    while m != NULL and i < NAMES:
        node.names[i] = m.kernel.name
        m = next_member(m)
        i += 1
    v.n += 1
    place[0] = v.n
    return v.n - 1

cdef void add_queue(Survey* v, Queue* q, State state) noexcept:
    cdef Task* t = q.head
    while t != NULL:
        if not load_int(&t.state) & (CLAIMED | FINISHED):   # else its entry is stale
            add(v, t, state)
        t = t.next

cdef void look(Survey* v) noexcept:
    cdef Runner* r = shared.runners
    cdef Lane* lane
    cdef Task* t
    cdef uintptr_t w
    cdef int i, k, after
    while r != NULL:
        if r.current != NULL:
            add(v, head_of(r.current), RUNNING, r.index)
        r = r.next
    for k in range(shared.nlanes):
        lane = used[k]
        for i in range(lane.widest + 1):
            add_queue(v, &lane.inboxes[i], QUEUED)
            add_queue(v, &lane.queues[i], QUEUED)
    add_queue(v, &gate.sharing, HELD_BACK)
    add_queue(v, &gate.lonely, HELD_BACK)
    add_queue(v, &gate.turns, HELD_BACK)
    if open_leader() != NULL:
        add(v, open_leader(), OPEN)
    i = 0
    while i < v.n:
        w = v.nodes[i].task.waiters
        while w:
            if w & 1:
                t = (<Edge*>(w & ~<uintptr_t>1)).task
                w = (<Edge*>(w & ~<uintptr_t>1)).next
            else:
                t = head_of(task_of(<Access*>w))
                w = (<Access*>w).waiter
            after = add(v, t, WAITING)
            if after >= 0 and v.npairs < v.most_pairs:
                v.pairs[v.npairs].before = i
                v.pairs[v.npairs].after = after
                v.npairs += 1
            else:
                v.cut = True
        i += 1

cdef bint make_room(Survey* v) noexcept:
    cdef unsigned int size = 256
    memset(v, 0, sizeof(v[0]))
    v.most = <int>min(pending() + SPARE, 1 << 20)
    while size < 2 * <unsigned int>v.most:
        size *= 2
    v.mask = size - 1
    v.most_pairs = PAIRS * v.most
    v.nodes = <Node*>memory_zeros(v.most * sizeof(Node))
    v.table = <int*>memory_zeros(size * sizeof(int))
    v.pairs = <Pair*>memory_zeros(v.most_pairs * sizeof(Pair))
    return v.nodes != NULL and v.table != NULL and v.pairs != NULL

cdef int node_of(Survey* v, Task* head) noexcept:
    return place_of(v, head)[0] - 1

cdef void end_survey(Survey* v) noexcept:
    memory_free(v.nodes)
    memory_free(v.table)
    memory_free(v.pairs)
