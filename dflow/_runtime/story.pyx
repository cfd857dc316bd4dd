"""Why something is not there yet: see _runtime/story.pxd.

A task knows its waiters, not its predecessors. So all that is pending is visited forwards, from what could run
now: what runs, what is queued or held back, and the open group. Meanwhile this thread holds the GIL, and all runners
(hold_runners), so nothing changes. Nothing is allocated then, as that could run Python code: what is seen is noted
in memory that was there before, and put into words when the runners may go on. Kernels and sites are immortal.
"""

from libc.stdint cimport uintptr_t
from libc.string cimport memset
from dflow._runtime.runners cimport hold_runners, let_runners_go, pending
from dflow._base.allocator cimport memory_free, memory_zeros
from dflow._base.atomics cimport load_int
from dflow._base.threads cimport now_ns
from dflow._runtime.open_group cimport open_leader
from dflow._runtime.fp_errors cimport warn_user
from dflow._runtime.gate cimport gate
from dflow._runtime.errors cimport describe, Site
from dflow._runtime.graph cimport (
    Access, CLAIMED, Edge, FINISHED, head_of, members_of, next_member, overlap, Storage, Task, task_of)
from dflow._runtime.queues cimport Lane, Queue, Runner, lane_name, shared, used
from dflow._runtime.region cimport Region

cdef enum:
    LINES = 20                  # of a story
    SPARE = 64                  # tasks that others may submit before the runners are held
    PAIRS = 4                   # predecessors for each task, on average
    NAMES = 3                   # of a group's members
    TARGETS = 16                # tasks that write to the array

cdef enum State:
    WAITING                     # for its predecessors
    OPEN                        # more may join it
    QUEUED
    HELD_BACK                   # at the gate of NumPy's BLAS
    RUNNING

cdef struct Node:
    Task* task                  # an address: the task may have ended when this is read
    State state
    int lane
    int worker                  # RUNNING: 0 for a thread that waits
    int members
    Site* site
    const char* names[NAMES]

cdef struct Pair:
    int before
    int after

cdef struct Target:             # a task that writes to the array
    int node                    # of its group; -1: there was no room for that
    const char* name
    Site* site

cdef struct View:
    Node* nodes
    int n, most
    int* table                  # by hash of the task: 1 + its node; 0: free
    unsigned int mask
    Pair* pairs
    long npairs, most_pairs
    Target targets[TARGETS]
    int ntargets
    bint cut                    # not everything found room

# ---- looking: runners are held --------------------------------------------------------------------------------------

cdef int* place_of(View* v, Task* t) noexcept:
    cdef unsigned int i = <unsigned int>(<uintptr_t>t >> 4) * 2654435761u & v.mask
    while v.table[i] and v.nodes[v.table[i] - 1].task != t:
        i = (i + 1) & v.mask
    return &v.table[i]

cdef int add(View* v, Task* t, State state, int worker=0) noexcept:
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

cdef void add_queue(View* v, Queue* q, State state) noexcept:
    cdef Task* t = q.head
    while t != NULL:
        if not load_int(&t.state) & (CLAIMED | FINISHED):   # else its entry is stale
            add(v, t, state)
        t = t.next

cdef void look(View* v) noexcept:
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

cdef void aim(View* v, Storage* s, Region* r) noexcept:
    """Note the writers of s."""
    cdef Access* e = s.writes
    cdef Target* target
    while e != NULL:
        if overlap(e, r):
            if v.ntargets == TARGETS:
                v.cut = True
                return
            target = &v.targets[v.ntargets]
            target.node = place_of(v, head_of(task_of(e)))[0] - 1
            target.name = task_of(e).kernel.name
            target.site = task_of(e).site
            v.ntargets += 1
        e = e.next

cdef bint make_room(View* v) noexcept:
    cdef unsigned int size = 256
    v.most = <int>min(pending() + SPARE, 1 << 20)
    while size < 2 * <unsigned int>v.most:
        size *= 2
    v.mask = size - 1
    v.most_pairs = PAIRS * v.most
    v.nodes = <Node*>memory_zeros(v.most * sizeof(Node))
    v.table = <int*>memory_zeros(size * sizeof(int))
    v.pairs = <Pair*>memory_zeros(v.most_pairs * sizeof(Pair))
    return v.nodes != NULL and v.table != NULL and v.pairs != NULL

# ---- telling --------------------------------------------------------------------------------------------------------

cdef str state_text(Node* node):
    if node.state == RUNNING:
        runner = f"worker {node.worker}" if node.worker else "a thread that waits"
        return f"running on {runner} of {lane_name(node.lane)}"
    if node.state == QUEUED:
        return f"queued for {lane_name(node.lane)}"
    if node.state == HELD_BACK:
        return "waits for others to leave NumPy's BLAS"
    if node.state == OPEN:
        return "in the open group, which others may join"
    return "waits for"

cdef str place_text(Site* site):
    return "" if site == NULL else f", submitted at {describe(site)}"

cdef str names_text(Node* node):
    names = [node.names[i].decode() for i in range(min(node.members, NAMES))]
    if node.members > NAMES:
        names.append(f"{node.members - NAMES} more")
    return ", ".join(names)

cdef class Teller:
    """Puts a view into words: a line for each task, indented below the one that waits for it."""
    cdef View* view
    cdef list lines
    cdef dict told                  # by node: whether it has its own line
    cdef int left_out

    def __init__(self):
        self.lines = []
        self.told = {}

    cdef tell(self, int i, int depth, str what):
        cdef Node* node = &self.view.nodes[i]
        cdef list before
        if len(self.lines) >= LINES:
            self.left_out += 1
            return
        again = i in self.told
        self.told[i] = True
        self.lines.append(f"{'    ' * depth}{what}{place_text(node.site)}: {'as above' if again else state_text(node)}")
        if again or node.state not in (WAITING, OPEN):
            return
        before = sorted({self.view.pairs[k].before for k in range(self.view.npairs) if self.view.pairs[k].after == i})
        if not before and node.state == WAITING:
            self.lines.append(f"{'    ' * (depth + 1)}what was not looked at")
        for k in before:
            self.tell(k, depth + 1, names_text(&self.view.nodes[k]))

    cdef str text(self, str heading):
        self.lines.insert(0, heading)
        if self.left_out:
            self.lines.append(f"... and {self.left_out} more")
        if self.view.cut:
            self.lines.append(f"(Of the {pending()} tasks that are pending, not all were looked at.)")
        return "\n".join(self.lines)

cdef str tell_targets(View* v):
    cdef Teller teller = Teller()
    cdef Target* target
    cdef int i
    teller.view = v
    for i in range(v.ntargets):
        target = &v.targets[i]
        if target.node < 0:
            teller.lines.append(f"{target.name.decode()}{place_text(target.site)}: waits for what was not looked at")
            continue
        name = target.name.decode()
        others = v.nodes[target.node].members - 1
        if others:
            name += f", with {others} other{'s' if others > 1 else ''} in a group"
        if v.nodes[target.node].site == NULL:
            v.nodes[target.node].site = target.site
        teller.tell(target.node, 0, name)
    return teller.text(f"pending: {v.ntargets} task{'s' if v.ntargets > 1 else ''} will write to it")

cdef str tell_all(View* v):
    cdef Teller teller = Teller()
    cdef int i
    teller.view = v
    waiting = {v.pairs[k].after for k in range(v.npairs)}
    for i in range(v.n):
        if i not in waiting:
            teller.tell(i, 0, names_text(&v.nodes[i]))
    return teller.text(f"{pending()} tasks are pending; those that wait for no other:")

cdef str story_of(Storage* s, Region* r):
    cdef View v
    memset(&v, 0, sizeof(v))
    try:
        if not make_room(&v):
            raise MemoryError("no memory to look at what is pending")
        hold_runners()
        look(&v)
        if s != NULL:
            aim(&v, s, r)
        let_runners_go()
        if s != NULL:
            return tell_targets(&v) if v.ntargets else "ready"
        return tell_all(&v) if v.n else "nothing is pending"
    finally:
        memory_free(v.nodes)
        memory_free(v.table)
        memory_free(v.pairs)

# ---- waits that are long --------------------------------------------------------------------------------------------

cdef long long patience = 60000000000           # nanoseconds; GIL

def set_patience(double seconds):
    """How long a wait lasts before it tells what it waits for; returns what was set. Tests wait no minute."""
    global patience
    before = patience / 1e9
    patience = <long long>(seconds * 1e9)
    return before

cdef bint tell_late(Storage* s, Region* r, long long start) except -1:
    if now_ns() - start < patience:
        return False
    warn_user(f"a wait has lasted {patience / 1e9:g} seconds; {story_of(s, r)}", RuntimeWarning)
    return True
