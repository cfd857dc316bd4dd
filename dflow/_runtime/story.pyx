"""Why something is not there yet: see _runtime/story.pxd. What is seen is put into words when the runners may go on,
or given as it is to who draws it."""

from libc.string cimport memset
from dflow._base.allocator cimport memory_free, memory_zeros
from dflow._kernels.kernel cimport intp, Kernel
from dflow._runtime.runners cimport hold_runners, let_runners_go, pending
from dflow._base.threads cimport now_ns, this_thread
from dflow._runtime.fp_errors cimport warn_user
from dflow._runtime.errors cimport describe, Site
from dflow._runtime.events cimport EVENT_DIMS
from dflow._runtime.graph cimport (
    Access, accesses, head_of, INDEX, next_member, overlap, Storage, Task, task_dims, task_of, WRITE)
from dflow._runtime.queues cimport lane_name
from dflow._runtime.region cimport Region
from dflow._runtime.survey cimport (
    end_survey, HELD_BACK, look, make_room, NAMES, Node, node_of, OPEN, Pair, QUEUED, RUNNING, Survey, WAITING)

cdef enum:
    LINES = 20                  # of a story
    TARGETS = 16                # tasks that write to the array

cdef struct Target:             # a task that writes to the array
    int node                    # of its group; -1: there was no room for that
    const char* name
    Site* site

cdef struct View:
    Survey all
    Target targets[TARGETS]
    int ntargets

cdef void aim(View* v, Storage* s, Region* r) noexcept:
    """Note the writers of s."""
    cdef Access* e = s.writes
    cdef Target* target
    while e != NULL:
        if overlap(e, r):
            if v.ntargets == TARGETS:
                v.all.cut = True
                return
            target = &v.targets[v.ntargets]
            target.node = node_of(&v.all, head_of(task_of(e)))
            target.name = task_of(e).kernel.name
            target.site = task_of(e).site
            v.ntargets += 1
        e = e.next

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
    cdef Survey* view
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
    teller.view = &v.all
    for i in range(v.ntargets):
        target = &v.targets[i]
        if target.node < 0:
            teller.lines.append(f"{target.name.decode()}{place_text(target.site)}: waits for what was not looked at")
            continue
        name = target.name.decode()
        others = v.all.nodes[target.node].members - 1
        if others:
            name += f", with {others} other{'s' if others > 1 else ''} in a group"
        if v.all.nodes[target.node].site == NULL:
            v.all.nodes[target.node].site = target.site
        teller.tell(target.node, 0, name)
    return teller.text(f"pending: {v.ntargets} task{'s' if v.ntargets > 1 else ''} will write to it")

cdef str tell_all(View* v):
    cdef Teller teller = Teller()
    cdef int i
    teller.view = &v.all
    waiting = {v.all.pairs[k].after for k in range(v.all.npairs)}
    for i in range(v.all.n):
        if i not in waiting:
            teller.tell(i, 0, names_text(&v.all.nodes[i]))
    return teller.text(f"{pending()} tasks are pending; those that wait for no other:")

# ---- showing --------------------------------------------------------------------------------------------------------

cdef enum:
    OPERANDS = 6                # that are told, of a task

cdef struct Seen:               # a task, as dflow/_profile/graph.py reads it
    unsigned int number         # its order of submission
    int node                    # of its group
    short state                 # as enum State
    short lane
    short worker
    short ndim
    short ncore
    short nops                  # of those that are told
    int writes                  # bits: which of them it writes
    Kernel* kernel
    Site* site
    intp dims[EVENT_DIMS]       # of more axes, the first ones
    void* operands[OPERANDS]    # storages of those that it may wait for: addresses

cdef struct Show:               # room for what is seen
    Seen* tasks
    unsigned int* writers       # of what it is about: their numbers
    long ntasks, nwriters
    long most                   # of either

cdef dict asked = {}            # GIL; by thread: what story_of() has seen for seen_by()

def seen_by(explain, x):
    """What explain(x) looks at, instead of its words: tasks, pairs of groups and writers of x, as bytes, and whether
    they are not all. None: it need not look."""
    thread = this_thread()
    asked[thread] = None
    try:
        explain(x)
    finally:
        seen = asked.pop(thread)
    return seen

cdef void show_task(Seen* seen, Task* t, int i, Node* node) noexcept:
    cdef Access* a = accesses(t)
    cdef int k
    seen.number = t.order
    seen.node = i
    seen.state = node.state
    seen.lane = <short>node.lane
    seen.worker = <short>node.worker
    seen.ndim = t.ndim
    seen.ncore = t.ncore
    seen.kernel = t.kernel
    seen.site = t.site
    for k in range(min(<int>t.ndim + t.ncore, <int>EVENT_DIMS)):
        seen.dims[k] = task_dims(t)[k]
    for k in range(t.nops):
        if a[k].storage != NULL and not a[k].key & INDEX and seen.nops < OPERANDS:
            seen.operands[seen.nops] = a[k].storage
            seen.writes |= (1 if a[k].key & WRITE else 0) << seen.nops
            seen.nops += 1

cdef void show(View* v, Show* into, Storage* s, Region* r) noexcept:
    """Note all tasks that the survey found, and which of them write to s. Runners are held: nothing is allocated."""
    cdef Task* t
    cdef Access* e = s.writes if s != NULL else NULL
    cdef int i
    for i in range(v.all.n):
        t = v.all.nodes[i].task
        while t != NULL:
            if into.ntasks == into.most:
                v.all.cut = True
                return
            show_task(&into.tasks[into.ntasks], t, i, &v.all.nodes[i])
            into.ntasks += 1
            t = next_member(t)
    while e != NULL:
        if overlap(e, r):
            if into.nwriters == into.most:
                v.all.cut = True
                return
            into.writers[into.nwriters] = task_of(e).order
            into.nwriters += 1
        e = e.next

cdef tuple shown(View* v, Show* into):
    return ((<char*>into.tasks)[:into.ntasks * sizeof(Seen)], (<char*>v.all.pairs)[:v.all.npairs * sizeof(Pair)],
            (<char*>into.writers)[:into.nwriters * sizeof(unsigned int)], bool(v.all.cut))

cdef str story_of(Storage* s, Region* r):
    cdef View v
    cdef Show into
    cdef bint shows = this_thread() in asked
    v.ntargets = 0
    memset(&into, 0, sizeof(into))
    try:
        if not make_room(&v.all):
            raise MemoryError("no memory to look at what is pending")
        if shows:
            into.most = v.all.most
            into.tasks = <Seen*>memory_zeros(into.most * sizeof(Seen))
            into.writers = <unsigned int*>memory_zeros(into.most * sizeof(unsigned int))
            if into.tasks == NULL or into.writers == NULL:
                raise MemoryError("no memory to look at what is pending")
        hold_runners()
        look(&v.all)
        if shows:
            show(&v, &into, s, r)
        elif s != NULL:
            aim(&v, s, r)
        let_runners_go()
        if shows:
            asked[this_thread()] = shown(&v, &into)
            return "shown"
        if s != NULL:
            return tell_targets(&v) if v.ntargets else "ready"
        return tell_all(&v) if v.all.n else "nothing is pending"
    finally:
        end_survey(&v.all)
        memory_free(into.tasks)
        memory_free(into.writers)

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
