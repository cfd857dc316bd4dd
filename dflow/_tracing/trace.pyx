"""Programs: what a function of arrays launched, noted once, and launched again without its Python code.

While a thread notes, each operation goes the long way through launch(), which tells observe(): kernel, loops, and
operands by the storage that they are in. Storages are slots: of an argument, from outside, or made on the way
(Storage.era tells). A replay makes the last kind anew and dispatches the steps, which run at once, join groups or
become tasks as if they had been called; a storage that no later step needs is let go, so that groups need not store it.

What has not gone through launch() is not repeated: a value that Python read, a Python function that ran on a worker.
Then `obstacle` says so, and there is no program. The same for memory: what was put into a fresh storage past launch()
depends on no array, as that would have been a read, and is kept as it was before its first use.

All of this needs the GIL. A replay that gives it up (a submission may wait) leaves the program `busy`: its operands are
the ones being filled.
"""

from types import MethodType

import numpy as np

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.string cimport memcmp, memcpy, memset
from dflow._runtime.waiting cimport make_room, memory_budget, nudge
from dflow._base.atomics cimport add_int, cpu_pause, load_int
from dflow._base.threads cimport now_ns, sleep_ns
from dflow._base cimport thread_state
from dflow._runtime cimport graph as _graph
from dflow._array.core cimport (
    ndarray, ALIAS, READONLY, SCALAR, broadcast_same, copy_of, covers_storage, mxnet_rules, owned, is_ours, be_like)
from dflow._engine cimport settings
from dflow._runtime.fp_errors cimport fp_strict, read_fp_policy, warn_user
from dflow._runtime.errors cimport describe, here, Site
from dflow._runtime.graph cimport (
    abroad, bytes_live, FULL, readable, Storage, storage_allocate, storage_new, storage_unref, writable, WRITE)
from dflow._kernels.dtypes cimport code_of
from dflow._kernels.casts cimport cast_kernel
from dflow._array.dispatch cimport Core, LaunchHooks, Operand, dispatch, launch_hooks, place_outputs
from dflow._base.allocator cimport memory_free, memory_grow, memory_new, memory_zeros
from dflow._base.hooks cimport check_callables, check_hooks
from dflow._base.thread_state cimport (
    NotingHooks, cannot_replay, captures, capturing, draw_hooks, many_devices, noting_hooks, recording, set_capturing,
    set_recording, training)
from dflow._gpu.mirror cimport bring_here, gpus
from dflow._runtime.tuning cimport GRACE_NS, MOST_BEHIND, REPLAY_NS
from dflow._tracing.tape cimport (
    Rule, back_to, is_constant, is_leaf, leaves_replaced, newest_node, node_at, record_heads, return_to,
    set_noted_leaves, stand_in)

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident()

cdef enum:
    MIN_ROOM = 4096             # bytes up to which a storage need not ask for room

cdef int UBYTE = code_of("u1")


cdef void* room_for(void* items, int n, int* room, size_t size) except NULL:
    """An array with room for one more item than n, which is cleared."""
    if n == room[0]:
        grown = <size_t>memory_grow(items, max(16, 2 * n) * size)
        if grown == 0:
            raise MemoryError("no memory for a graph")
        room[0] = max(16, 2 * n)
        items = <void*><size_t>grown
    memset(<char*>items + n * size, 0, size)
    return items

cdef void* memory(size_t size) except NULL:
    cdef void* p = memory_zeros(size)
    if p == NULL:
        raise MemoryError("no memory for a graph")
    return p

# ---- arguments and results -----------------------------------------------------------------------------------------

cdef Storage nothing            # never ends
nothing.refs = 1 << 30

cdef ndarray like(ndarray a):
    """An array of a's geometry, without its storage."""
    cdef bint before = set_recording(False)
    cdef ndarray v = owned(broadcast_same(a))
    set_recording(before)
    storage_unref(v.st)
    add_int(&nothing.refs, 1)
    v.st = &nothing
    v.flags = a.flags & ~ALIAS
    be_like(v, a)
    return v

cdef ndarray over(ndarray template, Storage* s, intp shift):
    """An array over a storage, of a geometry."""
    cdef ndarray v = owned(broadcast_same(template))
    storage_unref(v.st)
    add_int(&s.refs, 1)
    v.st = s
    v.offset += shift
    v.flags = template.flags
    be_like(v, template)
    return v

cdef bint same_geometry(ndarray a, ndarray b, int flags) noexcept:
    return (a.code == b.code and a.ndim == b.ndim and (a.flags ^ b.flags) & flags == 0
            and memcmp(a.shape, b.shape, 2 * a.ndim * sizeof(intp)) == 0 and (a.offset - b.offset) % a.itemsize == 0)

cdef int first_of(Input* arguments, int i) noexcept:
    cdef int k
    for k in range(i):
        if arguments[k].s == arguments[i].s:
            return k
    return i

cdef int same_in(list arrays, ndarray a) except 1:
    """-1 - the number of the argument that a result is, or 0."""
    cdef int i
    for i in range(len(arrays)):
        if arrays[i] is a:
            return -1 - i
    return 0

# ---- noting --------------------------------------------------------------------------------------------------------

cdef class Run:
    """The storages of a replay, for the way back."""

    def __dealloc__(self):
        cdef int i
        for i in range(self.n):
            if self.held[i].s != NULL:
                storage_unref(self.held[i].s)
        memory_free(self.held)

    cdef bint pending(self) noexcept:
        cdef int i
        for i in range(self.n):
            if not writable(self.held[i].s):
                return True
        return False

    cdef bint kept_elsewhere(self, int known) noexcept:
        """Whether others have one of them than `known` references are of; a task that has just ended may, for a
        moment, or for as long as the system keeps its worker from a core."""
        cdef int i, tries = 0
        for i in range(self.n):
            while load_int(&self.held[i].s.refs) > known:
                if tries == 3000:
                    return True
                with nogil:
                    sleep_ns(10000)
                tries += 1
        return False

cdef class Program:
    """Steps and slots. begin() ... end(), then finish() or nothing; after that replay(), often."""

    def __cinit__(self):
        self.by_storage = {}

    def __dealloc__(self):
        cdef int i
        for i in range(self.nsteps):
            self.end_step(&self.steps[i])
        for i in range(self.nslots):
            if self.slots[i].s != NULL:
                storage_unref(self.slots[i].s)
            if self.slots[i].before != NULL:
                storage_unref(self.slots[i].before)
        memory_free(self.steps)
        memory_free(self.slots)
        memory_free(self.held)
        memory_free(self.arguments)
        memory_free(self.outer)

    cdef void end_step(self, Step* step) noexcept:
        cdef int i
        for i in range(step.nops):
            if step.places[i].slot < 0:
                memory_free(step.ops[i].constant)
        memory_free(step.places)
        memory_free(step.ops)
        memory_free(step.shape)
        memory_free(step.core)
        Py_XDECREF(<PyObject*>step.source)

    cdef int slot_of(self, Storage* s, int access) except -1:
        """Its number; access: of the operand that is noted, 0 for what no step uses."""
        cdef Slot* slot
        cdef int earlier
        found = self.by_storage.get(<size_t>s)
        if found is not None:
            return found
        self.slots = <Slot*>room_for(self.slots, self.nslots, &self.room_slots, sizeof(Slot))
        slot = &self.slots[self.nslots]
        slot.s = s
        slot.nbytes = s.nbytes
        slot.last = slot.next = -1
        add_int(&s.refs, 1)
        self.nslots += 1
        slot.kind = FRESH if s.era == _graph.era else OUTER
        slot.depends = slot.kind == OUTER
        if self.earlier is not None:
            earlier = self.earlier.by_storage.get(<size_t>s, -1)
            if earlier >= 0:
                slot.kind = GIVEN
                slot.which = earlier
                slot.depends = self.earlier.slots[earlier].depends
                self.earlier.slots[earlier].kept = True
        if slot.kind == FRESH and s.data != NULL and access & (WRITE | FULL) != WRITE | FULL:
            if abroad(s):
                bring_here(s, True, False)
            slot.before = storage_new(s.nbytes, False)
            if slot.before == NULL or not storage_allocate(slot.before):
                raise MemoryError(f"Unable to allocate {s.nbytes} bytes")
            memcpy(slot.before.data, s.data, s.nbytes)
            slot.before.device = s.device
        self.by_storage[<size_t>s] = self.nslots - 1
        return self.nslots - 1

    cdef bint knows(self, Storage* s):
        """Whether what is in a storage that no step has used depends on nothing."""
        if s.era == _graph.era or self.earlier is None:
            return s.era == _graph.era
        slot = self.earlier.by_storage.get(<size_t>s)
        return slot is not None and not self.earlier.slots[<int>slot].depends

    cdef Step* new_step(self, Kernel* k, int nops, int ndim) except NULL:
        cdef Step* step
        self.steps = <Step*>room_for(self.steps, self.nsteps, &self.room_steps, sizeof(Step))
        step = &self.steps[self.nsteps]
        self.nsteps += 1                # it ends with the others, whatever it has by then
        step.places = <Place*>memory(nops * sizeof(Place))
        step.ops = <Operand*>memory(nops * sizeof(Operand))
        step.shape = <intp*>memory(ndim * sizeof(intp))
        step.k = k
        step.nops = nops
        step.ndim = ndim
        step.ends = -1
        return step

    cdef int note(self, Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, double cost,
                  intp elements) except -1:
        cdef Step* step = self.new_step(k, nops, ndim)
        cdef int i, slot
        cdef bint depends = thread_state.source != NULL
        self.cost += cost
        step.cost = cost
        step.elements = elements
        step.site = here()
        memcpy(step.shape, shape, ndim * sizeof(intp))
        for i in range(nops):
            step.ops[i] = ops[i]
            step.ops[i].constant = NULL
            step.places[i].slot = -1
            step.places[i].offset = ops[i].offset
            step.places[i].region = ops[i].region
        if core != NULL:
            step.core = <Core*>memory(sizeof(Core))
            step.core[0] = core[0]
        if thread_state.source != NULL:
            step.source = thread_state.source
            step.drawn = 1
            Py_INCREF(<object>step.source)
            thread_state.source = NULL
            self.draws = True
        for i in range(nops):
            if ops[i].s != NULL:
                slot = self.slot_of(ops[i].s, ops[i].flags)
                step = &self.steps[self.nsteps - 1]
                step.places[i].slot = slot
                self.slots[slot].written |= ops[i].flags & WRITE
                depends |= self.slots[slot].depends
            elif ops[i].constant != NULL:
                step.ops[i].constant = <char*>memory(ops[i].itemsize)
                memcpy(step.ops[i].constant, ops[i].constant, ops[i].itemsize)
        for i in range(nops):
            if ops[i].flags & WRITE:
                self.slots[step.places[i].slot].depends |= depends
        return 0

    cdef int begin(self, list arrays, Program earlier) except -1:
        """From here on, until end(), this thread's operations on these arguments are noted.
        No other thread may note."""
        global current
        cdef ndarray a
        cdef int i, slot
        current = self
        set_capturing(True)
        _graph.era += 1
        self.by_storage = {}
        self.earlier = earlier
        self.inputs = [like(a) for a in arrays]
        self.arguments = <Input*>memory(len(arrays) * sizeof(Input))
        for i, a in enumerate(arrays):
            self.arguments[i].s = a.st
            self.arguments[i].first = first_of(self.arguments, i)
            self.arguments[i].whole = covers_storage(a)
            slot = self.slot_of(a.st, FULL | WRITE)
            if self.arguments[i].first == i:
                self.slots[slot].kind = INPUT
                self.slots[slot].which = i
        self.leaves = []
        set_noted_leaves(self.leaves)
        return 0

    cdef bint end(self) noexcept:
        """Whether what was noted can be replayed."""
        global current
        current = None
        thread_state.source = NULL
        set_capturing(False)
        set_noted_leaves(None)
        return thread_state.obstacle == NULL

    cdef Run suspects(self, list outputs):
        """Storages that the function made and did not return, but somebody has: a pending task, or who keeps arrays."""
        cdef ndarray a
        cdef Slot* slot
        cdef int i
        cdef Run run = Run.__new__(Run)
        for a in outputs:
            self.slots[self.slot_of(a.st, 0)].kept = True
        run.held = <Held*>memory(self.nslots * sizeof(Held))
        for i in range(self.nslots):
            slot = &self.slots[i]
            if (slot.kind == FRESH and not slot.kept and (slot.written or slot.before == NULL)
                    and load_int(&slot.s.refs) > 1):
                run.held[run.n].s = slot.s
                add_int(&slot.s.refs, 1)
                run.n += 1
        return run

    cdef int finish(self, list outputs, list arrays) except -1:
        """The function has returned these: what each slot is, is known now."""
        cdef ndarray a
        cdef Slot* slot
        cdef Step* step
        cdef int i, k
        self.outputs = [None if a is None else like(a) for a in outputs]
        self.places = []
        for a in outputs:
            k = -1 if a is None else same_in(arrays, a)
            if k == 0:
                k = self.slot_of(a.st, 0)
                self.slots[k].kept = True
            self.places.append(k)
        self.set_beginnings()
        for i in range(self.nsteps):
            for k in range(self.steps[i].nops):
                if self.steps[i].places[k].slot >= 0:
                    self.slots[self.steps[i].places[k].slot].last = i
        for i in range(self.nslots):
            slot = &self.slots[i]
            if slot.kind == FRESH and not slot.kept and slot.last >= 0:
                step = &self.steps[slot.last]
                slot.next = step.ends
                step.ends = i
        self.by_storage = None
        self.earlier = None
        for i in range(self.nslots):        # other storages may get these addresses
            if self.slots[i].kind != OUTER:
                self.slots[i].device = self.slots[i].s.device
                storage_unref(self.slots[i].s)
                self.slots[i].s = NULL
        self.held = <Held*>memory(self.nslots * sizeof(Held))
        self.outer = <Storage**>memory(self.nslots * sizeof(Storage*))
        for i in range(self.nslots):
            if self.slots[i].kind == OUTER and self.slots[i].written:
                self.outer[self.nouter] = self.slots[i].s
                self.nouter += 1
        return 0

    cdef int set_beginnings(self) except -1:
        """What a fresh storage held before its first step is copied there first;
        if nothing writes to it, it is from outside."""
        cdef list copied = []
        cdef Slot* slot
        cdef int i
        for i in range(self.nslots):
            slot = &self.slots[i]
            if slot.before == NULL:
                continue
            if slot.written or slot.kept:
                copied.append(i)
            else:
                slot.kind = OUTER
                storage_unref(slot.before)
                slot.before = NULL
        for i in copied:
            self.copy_before(i)
        return self.move_to_front(<int>len(copied)) if copied else 0

    cdef int copy_before(self, int i) except -1:
        """A step that copies what the storage of a slot held, which gets a slot of its own."""
        cdef int k
        cdef Slot* slot = &self.slots[i]
        cdef Step* step = self.new_step(cast_kernel(UBYTE, UBYTE), 2, 1)
        step.cost = step.k.cost * slot.nbytes
        step.elements = step.shape[0] = slot.nbytes
        self.slots = <Slot*>room_for(self.slots, self.nslots, &self.room_slots, sizeof(Slot))
        slot = &self.slots[self.nslots]
        slot.kind = OUTER
        slot.s = self.slots[i].before
        slot.last = slot.next = -1
        self.slots[i].before = NULL
        step.places[0].slot = self.nslots
        step.places[1].slot = i
        self.nslots += 1
        for k in range(2):
            step.ops[k].itemsize = 1
            step.ops[k].flags = FULL | (WRITE if k else 0)
            step.ops[k].strides[0] = 1
        return 0

    cdef int move_to_front(self, int n) except -1:
        """The last n steps become the first."""
        cdef Step* moved = <Step*>memory_new(self.nsteps * sizeof(Step))
        if moved == NULL:
            raise MemoryError("no memory for a graph")
        memcpy(moved, self.steps + self.nsteps - n, n * sizeof(Step))
        memcpy(moved + n, self.steps, (self.nsteps - n) * sizeof(Step))
        memory_free(self.steps)
        self.steps = moved
        self.room_steps = self.nsteps
        return 0

    # ---- replaying -------------------------------------------------------------------------------------------------

    cdef bint fits(self, list arrays, int flags):
        """Whether the steps are right for these arguments: flags, those of arrays that count."""
        cdef ndarray a, template, other
        cdef Input* input
        cdef int i, k, n = <int>len(self.inputs)
        if len(arrays) != n:
            return False
        for i in range(n):
            a = <ndarray>arrays[i]
            template = <ndarray>self.inputs[i]
            input = &self.arguments[i]
            input.s = a.st
            if (not same_geometry(a, template, flags) or covers_storage(a) != input.whole
                    or first_of(self.arguments, i) != input.first):
                return False
            if input.first != i:
                other = <ndarray>arrays[input.first]
                if a.offset - other.offset != template.offset - (<ndarray>self.inputs[input.first]).offset:
                    return False
            for k in range(self.nouter):
                if self.outer[k] == a.st:
                    return False
        return True

    cdef list replay(self, list arrays, Run given, Run kept):
        """Launch the steps; the results, or None while another replay is at it. The arguments fit.

        given: of the program that this is the way back of. kept: to be filled.
        """
        cdef int i
        if self.busy:  # asked here, as callers allocate, and so may have run other threads, since they looked
            return None
        self.busy = True
        self.thread = PyThread_get_thread_ident()
        try:
            self.hold(arrays, given)
            if gpus and given is None and kept is None:
                made = capture_hooks.replay_captured(self, arrays)
                if made is not None:
                    return made
            if self.cost < REPLAY_NS:
                self.let_workers_catch_up()
            for i in range(self.nsteps):
                self.dispatch_step(&self.steps[i])
            for i in range(self.nslots):
                if self.slots[i].written and self.held[i].s != NULL:
                    self.held[i].s.version += 1
            for leaf in self.leaves:
                leaf.fresh = True
            results = self.results(arrays)
            if kept is not None:
                self.keep(kept)
            return results
        finally:
            self.drop()
            self.busy = False

    cdef int hold(self, list arrays, Run given) except -1:
        """The storages that are there before the first step."""
        cdef ndarray a, template
        cdef Slot* slot
        cdef Held* held = self.held
        cdef int i
        memset(held, 0, self.nslots * sizeof(Held))
        for i in range(self.nslots):
            slot = &self.slots[i]
            if slot.kind == INPUT:
                a = arrays[slot.which]
                template = self.inputs[slot.which]
                if not same_geometry(a, template, 0):
                    raise RuntimeError("an argument of a graph was given another shape by another thread, meanwhile")
                held[i].s = a.st            # which another thread may give another storage
                add_int(&a.st.refs, 1)
                held[i].shift = a.offset - template.offset
            elif slot.kind == OUTER:
                held[i].s = slot.s
            elif slot.kind == GIVEN:
                held[i] = given.held[slot.which]
        return 0

    cdef list results(self, list arrays):
        cdef list results = []
        cdef int i
        for template, i in zip(self.outputs, self.places):
            if i < 0:
                results.append(None if template is None else arrays[-1 - i])
            else:
                if self.held[i].s == NULL:
                    self.make(i)
                results.append(over(template, self.held[i].s, self.held[i].shift))
        return results

    cdef void drop(self) noexcept:
        """Let go of what a replay owns."""
        cdef int i
        for i in range(self.nslots):
            if (self.slots[i].kind == FRESH or self.slots[i].kind == INPUT) and self.held[i].s != NULL:
                storage_unref(self.held[i].s)
                self.held[i].s = NULL

    cdef int keep(self, Run run) except -1:
        cdef int i
        run.held = <Held*>memory(self.nslots * sizeof(Held))
        run.n = self.nslots
        for i in range(self.nslots):
            if self.slots[i].kept and self.held[i].s != NULL:
                run.held[i] = self.held[i]
                run.held[i].version = self.held[i].s.version
                add_int(&run.held[i].s.refs, 1)
        return 0

    cdef int make(self, int i) except -1:
        cdef intp n = <intp>self.slots[i].nbytes
        if n > MIN_ROOM and bytes_live() + n > memory_budget and not make_room(n, False):
            raise MemoryError(f"Unable to allocate {n} bytes for a value of a graph: {bytes_live()} bytes are in use, "
                              f"of a budget of {memory_budget} (dflow.engine.set_memory_budget)")
        self.held[i].s = storage_new(n, False)
        if self.held[i].s == NULL:
            raise MemoryError(f"Unable to allocate {n} bytes for a value of a graph")
        self.held[i].s.device = self.slots[i].device
        return 0

    cdef bint late(self) noexcept nogil:
        """Whether something that the steps use is pending."""
        cdef int i
        for i in range(self.nslots):
            if self.held[i].s != NULL and not readable(self.held[i].s):
                return True
        return False

    cdef int let_workers_catch_up(self) except -1:
        """Steps that run here at once are several times as fast as tasks, whose submitter could stay ahead for ever."""
        cdef long long until
        if not self.late():
            self.behind = 0
            return 0
        self.behind = min(self.behind + 1, MOST_BEHIND)
        nudge()
        with nogil:
            until = now_ns() + self.behind * GRACE_NS
            while now_ns() < until and self.late():
                cpu_pause()
        return 0

    cdef int fill_operands(self, Step* step) except -1:
        """Where they are in this replay."""
        cdef Place* place
        cdef Held* held
        cdef int i
        for i in range(step.nops):
            place = &step.places[i]
            if place.slot < 0:
                continue
            held = &self.held[place.slot]
            if held.s == NULL:
                self.make(place.slot)
            step.ops[i].s = held.s
            if held.shift or step.ops[i].offset != place.offset:
                step.ops[i].offset = place.offset + held.shift
                step.ops[i].region = place.region
                step.ops[i].region.lo += held.shift
                step.ops[i].region.hi += held.shift
                step.ops[i].region.start += held.shift
        if many_devices:
            place_outputs(step.k, step.ops, step.nops)
        return 0

    cdef int end_slots(self, Step* step) noexcept:
        """Let go of what this step uses last."""
        cdef int i = step.ends
        while i >= 0:
            storage_unref(self.held[i].s)
            self.held[i].s = NULL
            i = self.slots[i].next
        return 0

    cdef int dispatch_step(self, Step* step) except -1:
        if step.source != NULL:
            draw_hooks.redraw(step.source, step.ops[step.drawn].constant)
        self.fill_operands(step)
        dispatch(step.k, step.ops, step.nops, step.ndim, step.shape, step.core, step.cost, step.elements, step.site)
        return self.end_slots(step)

cdef Program current = None          # which notes now

cdef int observe(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, double cost,
                 intp elements) except -1:
    return current.note(k, ops, nops, ndim, shape, core, cost, elements)

cdef void value_read(void* storage, void* site) noexcept:
    """Python sees values, which the steps that follow may depend on."""
    cdef Storage* s = <Storage*>storage
    if capturing():
        slot = current.by_storage.get(<size_t>s)
        if current.slots[<int>slot].depends if slot is not None else not current.knows(s):
            cannot_replay(b"a value is read", site)

launch_hooks.observe = observe
noting_hooks.value_read = value_read

def check():
    check_hooks("_array.dispatch", &launch_hooks, sizeof(LaunchHooks), "observe")
    check_hooks("_base.thread_state", &noting_hooks, sizeof(NotingHooks), "value_read")

check()

# ---- functions as programs -----------------------------------------------------------------------------------------

cdef class Entry:
    """A function's program for arguments of one kind, and the way back."""
    cdef object key
    cdef list kept_alive            # what the key knows by its address
    cdef int mode
    cdef list tracked               # of each argument, whether it is recorded
    cdef Program forward, back      # back: None if nothing was recorded
    cdef bint single                # what was returned is one array; else
    cdef object result              # it has this structure
    cdef list heads                 # of the results, which are recorded
    cdef list wanted                # where the gradients go: numbers of arguments, or leaves
    cdef Run suspects               # storages of the call that was noted, which nobody may keep; None: nobody does

cdef class Back:
    """The way back from one replay."""
    cdef Graph graph
    cdef Entry entry
    cdef Run run
    cdef list arguments

    def gradients(self, g):
        """Of what the program was computed from, given that of its result, or a list of those of several."""
        cdef Program back = self.entry.back
        cdef list heads = g if type(g) is list else [g]
        cdef Slot* slot
        cdef int i
        cdef ndarray a
        if recording():
            return self.graph.recorded_gradients(self.entry, self.arguments, heads)
        for i in range(len(heads)):
            if heads[i] is None:
                heads[i] = replay_hooks.zeros(back.inputs[i])
            a = heads[i]
            if not same_geometry(a, back.inputs[i], 0) or not covers_storage(a):
                heads[i] = copy_of(a)
        for i in range(back.nslots):
            slot = &back.slots[i]
            if slot.kind == GIVEN and self.run.held[slot.which].version != self.run.held[slot.which].s.version:
                raise ValueError(f"an array that the gradient of {self.graph.name()} needs was written to since")
        while True:
            found = back.replay(heads, self.run, None)
            if found is not None:
                return found
            if back.thread == PyThread_get_thread_ident():      # a signal's handler, within the replay
                raise RuntimeError(f"the way back through {self.graph.name()} was interrupted to go there again")
            with nogil:
                sleep_ns(50000)

cdef class Unfit(Exception):
    pass

cdef dict texts = {}

def refuse_to_replay(str why):
    """What calls this cannot be replayed."""
    if captures:
        cannot_replay(texts.setdefault(why, why.encode()), here())

cdef object describe_argument(object x, list arrays, list others):
    """What of an argument decides what a function does; arrays are collected."""
    if is_ours(x):
        arrays.append(x)
        return (ndarray, (<ndarray>x).st.device) if many_devices else ndarray
    if x is None or type(x) is bool or type(x) is int or type(x) is str:
        return type(x), x
    if type(x) is float:
        return float, x or str(x)           # 0.0 is not -0.0
    if type(x) is tuple or type(x) is list:
        return type(x), tuple([describe_argument(item, arrays, others) for item in x])
    if type(x) is dict:
        return dict, tuple([(name, describe_argument(item, arrays, others)) for name, item in (<dict>x).items()])
    if isinstance(x, np.ndarray):
        raise Unfit("an argument is a NumPy array, whose values may change")
    if isinstance(x, (np.generic, np.dtype, complex)):
        return type(x), x
    others.append(x)
    return id(x)

cdef object with_arrays(object x, object arrays):
    """A structure as x, with these arrays in the places of its own."""
    if is_ours(x):
        return next(arrays)
    if type(x) is tuple or type(x) is list:
        return type(x)([with_arrays(item, arrays) for item in x])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[with_arrays(item, arrays) for item in x])
    if type(x) is dict:
        return {name: with_arrays(item, arrays) for name, item in (<dict>x).items()}
    return x

cdef int collect(object x, list arrays) except -1:
    if is_ours(x):
        arrays.append(x)
    elif isinstance(x, (tuple, list)):
        for item in x:
            collect(item, arrays)
    elif type(x) is dict:
        for item in (<dict>x).values():
            collect(item, arrays)
    return 0

cdef class ReplayHooks:             # filled by _graph_decorator.py, which makes the first Graph
    cdef public object ones         # (a): a new array like it
    cdef public object zeros        # (a): the same
cdef ReplayHooks replay_hooks = ReplayHooks()

MOST = 32                           # programs of one function; then the oldest goes

def table():
    """The hooks that are Python callables, to be set."""
    return replay_hooks

def check_table():
    check_callables("_tracing.trace", replay_hooks)

def _gradients(g, held):
    return None, held.gradients(g)

cdef Rule graph_rule = Rule("graph", ("held", "arguments"), joint=_gradients, over_complex="own")

cdef class Graph:
    """A function, noted once for each kind of arguments and replayed from then on: see dflow.graph()."""
    cdef readonly object function
    cdef str label
    cdef bint trusted               # it keeps no array that it makes
    cdef object surroundings        # a function: what it returns decides, too, what `function` does; or None
    cdef object around              # what it returned last, and how many leaves have been replaced
    cdef list entries
    cdef int refusals
    cdef readonly bint eager        # the function cannot be replayed
    cdef dict __dict__

    def __init__(self, function, surroundings=None, name=None, bint trusted=False):
        self.function = function
        self.trusted = trusted
        self.label = getattr(function, "__qualname__", repr(function)) if name is None else name
        self.surroundings = surroundings
        self.entries = []

    def __get__(self, instance, owner):
        return self if instance is None else MethodType(self, instance)

    def name(self):
        return f"the graph of {self.label}"

    def __repr__(self):
        return f"<{self.name()}, {'not replayed' if self.eager else f'{len(self.entries)} noted'}>"

    def __call__(self, *args, **keywords):
        cdef list arrays = [], others = [], tracked = None
        cdef Entry entry
        cdef int mode
        read_fp_policy()
        if self.eager or captures or settings.naive or fp_strict:
            return self.function(*args, **keywords)
        try:
            key = (describe_argument(args, arrays, others), describe_argument(keywords, arrays, others) if keywords
                   else None)
        except Unfit as unfit:
            self.refuse(str(unfit), True)
            return self.function(*args, **keywords)
        mode = recording() | <int>training() << 1 | <int>mxnet_rules << 2
        if recording():
            tracked = [(<ndarray>a).node != NULL for a in arrays]
        around = leaves_replaced()
        if self.surroundings is not None:
            own = self.surroundings()
            if own is None:                 # not yet
                return self.function(*args, **keywords)
            around = around, own
        if around != self.around:
            self.entries = []
            self.around = around
        for entry in self.entries:
            if (entry.mode == mode and entry.key == key and entry.tracked == tracked
                    and entry.forward.fits(arrays, READONLY | SCALAR)):
                if entry.suspects is not None and not self.cleared(entry):
                    return self.function(*args, **keywords)
                return self.replay(entry, args, keywords, arrays)
        return self.note(args, keywords, arrays, key, others, mode, tracked)

    cdef object replay(self, Entry entry, args, keywords, list arrays):
        cdef Back held
        cdef Run run = None
        cdef list outs, parents = []
        cdef int i
        if entry.back is not None:
            for i, node in enumerate(entry.wanted):
                parents.append((node_at(arrays[node]) if type(node) is int else node, 1, i))
            run = Run.__new__(Run)
        outs = entry.forward.replay(arrays, None, run)
        if outs is None:
            return self.function(*args, **keywords)
        if entry.back is not None:
            held = Back.__new__(Back)
            held.graph = self
            held.entry = entry
            held.run = run
            held.arguments = [args, keywords, arrays]
            record_heads(graph_rule, held, tuple(parents), [outs[i] for i in entry.heads])
        return outs[0] if entry.single else with_arrays(entry.result, iter(outs))

    cdef object note(self, args, keywords, list arrays, key, list others, int mode, list tracked):
        """Call the function, and keep what it launches if that can be replayed."""
        cdef Program forward = Program.__new__(Program)
        cdef Entry entry = Entry.__new__(Entry)
        cdef bint record = recording(), usable
        cdef long long floor = newest_node()
        cdef list given = [stand_in(a) for a in arrays] if record else arrays
        cdef list outs = []
        cdef int i
        it = iter(given)
        inner = with_arrays(args, it), with_arrays(keywords, it)
        if captures:                        # another thread began to, meanwhile
            return self.function(*args, **keywords)
        usable = False
        try:
            forward.begin(given, None)
            result = self.function(*inner[0], **inner[1])
        finally:
            usable = forward.end()
        if record:
            for i in range(len(arrays)):
                if tracked[i]:
                    return_to(arrays[i], given[i])
        collect(result, outs)
        entry.key = key
        entry.kept_alive = others
        entry.mode = mode
        entry.tracked = tracked
        entry.forward = forward
        if not usable:
            self.refuse(obstacle_text(), True)
        elif self.repeatable(entry, arrays, outs, record, floor):
            self.keep(entry, result, outs, given)
        if record:
            outs = [arrays[-1 - i] if i < 0 else a for i, a in [(same_in(given, a), a) for a in outs]]
            return outs[0] if is_ours(result) else with_arrays(result, iter(outs))
        return result

    cdef bint repeatable(self, Entry entry, list arrays, list outs, bint record, long long floor) except -1:
        """Whether a replay would do the same for who uses what was returned."""
        if record:
            return self.note_back(entry, arrays, outs, floor)
        if self.trusted:
            return True
        entry.suspects = entry.forward.suspects(outs)
        return entry.suspects.pending() or self.cleared(entry, 2)   # the slot's, too, which finish() lets go

    cdef int keep(self, Entry entry, result, list outs, list given) except -1:
        entry.forward.finish(outs, given)
        entry.single = is_ours(result)
        entry.result = with_arrays(result, iter(entry.forward.outputs))
        self.entries.insert(0, entry)
        del self.entries[MOST:]
        return 0

    cdef bint cleared(self, Entry entry, int known=1) except -1:
        """Whether nobody keeps an array that the function made (but for `known` references): a replay makes others.
        False while that cannot be told."""
        cdef Run suspects = entry.suspects  # which another thread may drop, as the next line but one gives up the GIL
        if suspects.pending():
            return False
        if suspects.kept_elsewhere(known):
            self.entries = [other for other in self.entries if other is not entry]
            self.refuse("an array that it makes is kept elsewhere than in what it returns", False)
            return False
        entry.suspects = None
        self.refusals = 0
        return True

    cdef bint note_back(self, Entry entry, list arrays, list outs, long long floor) except -1:
        """The way back from what was returned, whose gradients are ones here; whether it can be replayed."""
        cdef Program back = Program.__new__(Program)
        cdef list ones
        cdef dict found = {}
        cdef ndarray a
        cdef int i
        cdef bint usable
        entry.heads = [i for i, a in enumerate(outs) if a.node != NULL and not is_leaf(<object>a.node)
                       and not is_constant(node_at(a))]
        if not entry.heads:
            return True
        before = set_recording(False)
        ones = [replay_hooks.ones(outs[i]) for i in entry.heads]
        set_recording(before)
        error = None
        try:
            back.begin(ones, entry.forward)
            found = back_to([outs[i] for i in entry.heads], ones, floor, False)
        except (NotImplementedError, ValueError) as e:
            error = str(e)
        finally:
            usable = back.end()
        if error is not None or not usable:
            self.refuse(error if error is not None else obstacle_text() + " on the way back", True)
            return False
        entry.wanted = []
        for node in found:
            for i, a in enumerate(arrays):
                if a.node != NULL and <object>a.node is node:
                    entry.wanted.append(i)
                    break
            else:
                if not is_leaf(node):
                    self.refuse("it uses what was recorded outside of it, and is no argument", True)
                    return False
                entry.wanted.append(node)
        back.finish(list(found.values()), ones)
        entry.back = back
        return True

    cdef list recorded_gradients(self, Entry entry, list arguments, list heads):
        """Gradients that are recorded themselves: by calling the function again, as the program has no record."""
        cdef list outs = []
        cdef dict found
        cdef long long floor = newest_node()
        cdef int i
        if entry.forward.draws:
            raise NotImplementedError(f"{self.name()} draws random numbers: there is no gradient of its gradient")
        collect(self.function(*arguments[0], **arguments[1]), outs)
        heads = [replay_hooks.zeros(outs[i]) if g is None else g for i, g in zip(entry.heads, heads)]
        found = back_to([outs[i] for i in entry.heads], heads, floor, True)
        return [found.get(node_at((<list>arguments[2])[node]) if type(node) is int else node) for node in entry.wanted]

    cdef int refuse(self, str why, bint forever) except -1:
        """This call could not be noted. Once, or twice for what may be different the next time."""
        self.refusals += 1
        if forever or self.refusals > 1:
            self.eager = True
            self.entries = []
            warn_user(f"{self.name()} is not replayed, it runs as written each time: {why}", RuntimeWarning)
        return 0

cdef str obstacle_text():
    return f"{thread_state.obstacle.decode()}, at {describe(<Site*>thread_state.obstacle_site)}"
