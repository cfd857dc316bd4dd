"""Programs as CUDA graphs: all steps of a replay as one thing that a GPU runs.

A graph's kernels have the addresses of their arrays in them. So the program gets storages of its own, for arguments,
results and what is between; its steps become tasks over these, grouped, which are told to a stream that keeps them, and
never submitted. A replay then copies the arguments into those storages, runs the graph as one task, and copies the
results out.

What cannot be kept so is replayed step by step: random numbers, the way back of a recording, arguments that are written
to or are parts of larger ones, and whatever the GPU has no kernel for.
"""

cimport cython
from dflow._kernels.kernel cimport ELEMENTWISE, intp
from dflow._base.atomics cimport add_int
from dflow._gpu import mirror
from dflow._array.core cimport hooks, ndarray, new_array
from dflow._engine cimport settings
from dflow._gpu.executor cimport recipe_of, tell
from dflow._runtime.graph cimport abroad, discard, FULL, MEMBER, Storage, storage_unref, Task, WRITE
from dflow._runtime.fusion_rules cimport MAX_ARGUMENTS, may_follow
from dflow._runtime.fusion_space cimport Space, space_of
from dflow._kernels.dtypes cimport CDOUBLE, DOUBLE, FLOAT, code_of, itemsizes
from dflow._kernels.casts cimport cast_kernel
from dflow._array.dispatch cimport Operand, dispatch, make_task
from dflow._tracing.trace cimport FRESH, GIVEN, INPUT, OUTER, CaptureHooks, Program, Step, capture_hooks, over
from dflow._base.hooks cimport check_hooks
from dflow._base.thread_state cimport CPUS
from dflow._gpu.mirror cimport HOST_STALE, bring_there

cdef enum:
    MOST_MEMBERS = 64               # of a step
    TRIES = 2                       # replays step by step before: kernels are made meanwhile

cdef int UBYTE = code_of("u1")

cdef ndarray bytes_of(Storage* s):
    """All of a storage, as bytes."""
    cdef intp n = <intp>s.nbytes
    cdef ndarray a = new_array(UBYTE, 1, &n, True)
    storage_unref(a.st)
    add_int(&s.refs, 1)
    a.st = s
    return a

cdef int copy_bytes(ndarray source, ndarray target) except -1:
    """As a task of the GPU's, in the largest pieces that there are types for."""
    cdef Operand ops[2]
    cdef int i, code = UBYTE
    cdef intp n
    for code in (CDOUBLE, DOUBLE, FLOAT, UBYTE):
        if source.size % itemsizes[code] == 0:
            break
    n = source.size // itemsizes[code]
    for i in range(2):
        ops[i].s = source.st if i == 0 else target.st
        ops[i].offset = 0
        ops[i].constant = NULL
        ops[i].itemsize = itemsizes[code]
        ops[i].flags = FULL | (WRITE if i else 0)
        ops[i].strides[0] = itemsizes[code]
    dispatch(cast_kernel(code, code), ops, 2, 1, &n, NULL, 0, n, NULL)
    return 0

cdef int device_for(Program p):
    """The number of the GPU that has all that the program, which is in a replay, begins with;
    -1 if it cannot be a graph's."""
    cdef int i, device = -1
    if p.draws:
        return -1
    for i in range(p.nslots):
        if p.slots[i].kind == GIVEN or p.slots[i].kind == INPUT and (
                p.slots[i].written or not p.arguments[p.slots[i].which].whole):
            return -1
        if p.slots[i].kind == INPUT or p.slots[i].kind == OUTER:
            if not abroad(p.held[i].s) or device >= 0 and p.held[i].s.device >> 1 != device:
                return -1
            device = p.held[i].s.device >> 1
    for i in range(p.nsteps):
        recipe = recipe_of(p.steps[i].k)
        if recipe is None or recipe.call == "draw":
            return -1
    return device

@cython.no_gc_clear                  # it gives back what it owns as it ends
cdef class Captured:
    """A program's graph, and what it works on."""
    cdef list tasks                 # addresses, of leaders and those alone; owned
    cdef dict inputs                # by slot: where an argument is copied to
    cdef dict results               # by slot: where a result is copied from
    cdef list outer                 # arrays from outside, and whether they are written to
    cdef object gpu, graph, pool

    def __cinit__(self):
        self.tasks, self.inputs, self.results, self.outer = [], {}, {}, []

    def __dealloc__(self):
        cdef Task* t
        cdef Task* following
        for address in self.tasks:
            t = <Task*><size_t>address
            while t != NULL:
                following = t.next if t.flags & MEMBER else t.group
                t.group = t.next = NULL
                discard(t)
                t = following

    cdef int add(self, Task* t) except -1:
        """Another step: a member of the last group, if it may."""
        cdef Task* leader
        cdef Task* last
        cdef Space space
        cdef int members = 1
        if self.tasks and t.kernel.flags & ELEMENTWISE and t.nops <= MAX_ARGUMENTS:
            leader = last = <Task*><size_t>self.tasks[len(self.tasks) - 1]
            space_of(leader, &space)
            if leader.kernel.flags & ELEMENTWISE and leader.nops <= MAX_ARGUMENTS:
                while (last.next if last.flags & MEMBER else last.group) != NULL:
                    last = last.next if last.flags & MEMBER else last.group
                    members += 1
                if members < MOST_MEMBERS and may_follow(leader, &space, t):
                    t.group = leader
                    t.flags |= MEMBER
                    if last == leader:
                        leader.group = t
                    else:
                        last.next = t
                    return 0
        self.tasks.append(<size_t>t)
        return 0

    cdef bint make(self, Program p) except -1:
        """Whether there is a graph of it. The program is in a replay, whose storages are set aside."""
        cdef Step* step
        cdef Storage* s
        cdef Task* t
        cdef int i, device = device_for(p)
        if device < 0:
            return False
        self.gpu = mirror.open_gpus[device - CPUS]
        for i in range(p.nslots):
            s = p.held[i].s
            if p.slots[i].kind == OUTER:
                self.outer.append((bytes_of(s), bool(p.slots[i].written)))
            elif p.slots[i].kind == INPUT:
                p.make(i)                           # in place of the argument's
                storage_unref(s)
                p.held[i].shift = 0
                self.inputs[i] = bytes_of(p.held[i].s)
        for i in range(p.nsteps):
            step = &p.steps[i]
            p.fill_operands(step)
            t = make_task(step.k, step.ops, step.nops, step.ndim, step.shape, step.core, step.site)
            t.lane = <unsigned char>device
            self.add(t)
            p.end_slots(step)
        for i in p.places:
            if i >= 0 and p.slots[i].kind == FRESH:
                if p.held[i].s == NULL or not abroad(p.held[i].s):
                    return False
                self.results[i] = bytes_of(p.held[i].s)
        try:
            self.graph, self.pool = self.gpu.capture(self.tell)
        except Exception:                           # of CuPy's, too, which keeps cuBLAS out of graphs
            return False
        return True

    def tell(self, gpu):
        """Tell a stream that keeps it all of the steps."""
        for address in self.tasks:
            tell(NULL, <Task*><size_t>address, gpu)

    def run(self, error):
        """On the GPU's worker: let it run the graph."""
        cdef ndarray a
        gpu = self.gpu
        used = [(bring_there(a.st, True, False), writes)
                for a, writes in [*[(a, False) for a in self.inputs.values()], *self.outer]]
        used += [(bring_there(a.st, False, False), True) for a in self.results.values()]
        with gpu.device, gpu.compute:
            for twin, write in used:
                twin.ready(gpu.compute, write)
            self.graph.launch(gpu.compute)
            event = gpu.event(gpu.compute)
        for twin, write in used:
            twin.used(gpu.compute, event, write)
        for a in [*self.written(), *self.results.values()]:
            a.st.stale = HOST_STALE

    cdef list written(self):
        """Arrays from outside that it writes to."""
        return [a for a, writes in self.outer if writes]

cdef list replay(Program p, list arrays):
    """A replay by the program's graph, if it has one. Its storages are those of the arguments."""
    cdef Captured captured
    cdef ndarray a, made
    cdef list results = []
    cdef intp n
    cdef int i
    if p.captured is None:
        p.replays += 1
        if p.replays <= TRIES or settings.naive:
            return None
        captured = Captured()
        p.captured = False
        if captured.make(p):
            p.captured = captured
        set_aside(p, arrays)
    if p.captured is False or settings.naive:
        return None
    captured = p.captured
    for i, a in captured.inputs.items():
        copy_bytes(bytes_of(p.held[i].s), a)
    hooks.host(captured.run, [*captured.inputs.values(), *[a for a, _ in captured.outer]],
                  [*captured.written(), *captured.results.values()])
    for leaf in p.leaves:
        leaf.fresh = True
    for template, i in zip(p.outputs, p.places):
        if i < 0:
            results.append(None if template is None else arrays[-1 - i])
        elif p.slots[i].kind != FRESH:
            results.append(over(template, p.held[i].s, p.held[i].shift))
        else:
            if p.held[i].s == NULL:
                p.make(i)
                copy_bytes(captured.results[i], bytes_of(p.held[i].s))
            results.append(over(template, p.held[i].s, p.held[i].shift))
    return results

cdef int set_aside(Program p, list arrays) except -1:
    """Put the arguments' storages back where they are for a replay."""
    cdef ndarray a
    cdef int i
    for i in range(p.nslots):
        if p.slots[i].kind == INPUT:
            a = arrays[p.slots[i].which]
            add_int(&a.st.refs, 1)
            if p.held[i].s != NULL:
                storage_unref(p.held[i].s)
            p.held[i].s = a.st
            p.held[i].shift = a.offset - (<ndarray>p.inputs[p.slots[i].which]).offset
        elif p.slots[i].kind == FRESH and p.held[i].s != NULL:
            storage_unref(p.held[i].s)
            p.held[i].s = NULL
    return 0

capture_hooks.replay_captured = replay

def check():
    check_hooks("_tracing.trace", &capture_hooks, sizeof(CaptureHooks), "replay_captured")

check()
