"""Tasks whose operands are on a GPU: what becomes of them, and where.

A GPU's worker launches the kernels that its device has (_gpu/codegen.py), one after the other into one stream, and ends
a task at its launch: what comes after it in the stream finds it done, others wait for the event that a twin keeps. A
group is one kernel, made for it. What has no translation runs here, between two transfers. Copies between devices are
the work of other threads (_runtime/queues.pxd), which have a stream for each way.
"""

import functools

import numpy as np
cimport numpy as cnp
from libc.string cimport memcpy
from dflow._runtime.runners cimport drop_gil, keep_gil, take_gil
from dflow._kernels.kernel cimport COPIES, FENCE, HOST, intp, item_bytes, PARTIAL
from dflow._base.atomics cimport add_i64, load_int, load_ptr
from dflow._runtime.errors cimport Poison, poison_new, poison_unref
from dflow._runtime.graph cimport *
from dflow._runtime.fusion_plan cimport GroupPlan, lay_out_group
from dflow._runtime.fusion_rules cimport MAX_OPERANDS
from dflow._runtime.fusion_space cimport MAX_AXES
from dflow._kernels.dtypes cimport DTYPES, itemsizes
from dflow._kernels.registry cimport key_of
from dflow._runtime.queues cimport Lane, Runner, lanes, of_gpu, shared
from dflow._base.hooks cimport check_hooks
from dflow._base.thread_state cimport CPUS, DEVICES
from dflow._runtime.events cimport watched
from dflow._gpu.mirror cimport HOST_STALE, bring_here, bring_there, make_twin
from dflow._runtime.executor cimport run_at_gate, run_one, running_hooks, RunningHooks
from dflow._gpu import codegen, mirror

cnp.import_array()

cdef enum:
    DRAW_BYTES = 40             # of a Draw (_kernels/c/distributions.h): the stream, and three numbers
    ARGUMENT_BYTES = 4000       # of a kernel; an array takes 16, and 16 for each axis
    PACK_BYTES = 16             # that a thread moves at once
    PACKED_FROM = 1 << 20       # elements: below, the launch takes longer than they do

class Uncaptured(Exception):
    """The device cannot run all of what it is to keep as one."""

# ---- views -----------------------------------------------------------------------------------------------------------

cdef object view(object twin, intp offset, int ndim, intp* dims, intp* strides, int step, int code):
    """A CuPy array over the memory of a twin; its strides are so many numbers apart."""
    cdef int i
    cdef object gpu = twin.gpu
    return gpu.cupy.ndarray(tuple([dims[i] for i in range(ndim)]), DTYPES[code], twin.memory + offset,
                            tuple([strides[i * step] for i in range(ndim)]))

cdef object number(Task* t, int i, int code):
    """A constant operand."""
    cdef object x = np.empty((), DTYPES[code])
    memcpy(cnp.PyArray_DATA(x), constant_of(t, i), itemsizes[code])
    return x[()]

cdef object guest(Storage* s, object gpu):
    """The memory of an array that is not on a GPU, there for the while."""
    if gpu.capturing:
        raise Uncaptured("an array is not on the GPU")
    twin = gpu.twin(s.nbytes, True, mirror.drain_all)
    with gpu.upward:
        twin.upload(<size_t>s.data)
    return twin

cdef object operand_twin(Task* t, int i, object gpu, list used):
    """Where operand i is on the device, current if it is read."""
    cdef Access* a = accesses(t) + i
    cdef bint full = (a.key & (WRITE | FULL)) == (WRITE | FULL)
    if not abroad(a.storage):
        twin = guest(a.storage, gpu)
    else:
        twin = there(a.storage, not full or t.kernel.flags & PARTIAL, gpu)
    return told_of(twin, gpu, (a.key & WRITE) != 0, used)

cdef object there(Storage* s, bint read, object gpu):
    """Its twin, current if it is read. What is captured brings nothing: it does not run now."""
    if not gpu.capturing:
        return bring_there(s, read, False)
    if s.twin == NULL:
        make_twin(s, False)
    return <object>s.twin

cdef inline object told_of(object twin, object gpu, bint write, list used):
    """A twin that what the device is told next will use."""
    if not gpu.capturing:
        twin.ready(gpu.compute, write)
    used.append((twin, write))
    return twin

# ---- what a kernel is there ------------------------------------------------------------------------------------------

cdef dict recipes = {}                  # by the address of a kernel

cdef object recipe_of(Kernel* k):
    cdef object found = recipes.get(<size_t>k, recipes)
    if found is recipes:
        key = key_of(k)
        found = codegen.recipe(key) if key is not None else None
        recipes[<size_t>k] = found
    return found

cdef bint translates(Task* t):
    """Whether the device can run t, not its group: it has the kernel, and the memory is there or may be brought."""
    cdef Access* a = accesses(t)
    cdef int i
    recipe = recipe_of(t.kernel)
    if recipe is None or t.ndim + t.ncore > MAX_AXES:
        return False
    for i in range(t.ndim + t.ncore):
        if task_dims(t)[i] == 0:
            return False
    for i in range(t.nops):
        if a[i].storage == NULL:
            if a[i].key & INDEX and recipe.call != "draw":
                return False
        elif not abroad(a[i].storage) and (a[i].key & WRITE or a[i].storage.data == NULL):
            return False
        elif abroad(a[i].storage) and a[i].storage.device >> 1 != t.lane:
            return False
    return True

cdef bint call(Task* t, object recipe, object gpu, list used) except -1:
    """Run t by a function of CuPy's: its operands have the axes of the loop, but those of length 1, then the core's."""
    cdef Access* a = accesses(t)
    cdef intp dims[MAX_AXES]
    cdef intp strides[MAX_AXES]
    cdef intp* core = task_strides(t) + t.ndim * t.nops
    cdef int i, d, n
    cdef list arrays = []
    for i in range(t.nops):
        code = recipe.codes[i]
        signature = recipe.signature[i]
        if a[i].storage == NULL:
            arrays.append(number(t, i, code))
            core += len(signature)
            continue
        n = 0
        for d in range(t.ndim):
            if task_dims(t)[d] != 1:
                dims[n] = task_dims(t)[d]
                strides[n] = task_strides(t)[d * t.nops + i]
                n += 1
        for axis in signature:
            dims[n] = task_dims(t)[t.ndim + <int>axis]
            strides[n] = core[0]
            core += 1
            n += 1
        arrays.append(view(operand_twin(t, i, gpu, used), offset_of(a + i), n, dims, strides, 1, code))
    gpu.with_room(functools.partial(recipe.call, gpu.cupy, *arrays), mirror.drain_all)
    return True

cdef bint take(Task* t, object recipe, object gpu, list used) except -1:
    """Run t, which takes items by an index of one axis (by_index() in _kernels/c/gather.h). False: its loops do not."""
    cdef Access* a = accesses(t)
    cdef intp* strides = task_strides(t)
    cdef intp* core = strides + 3 * t.ndim              # between the elements of that axis, and its length
    cdef intp size = item_bytes(t.kernel), items = task_dims(t)[t.ndim]
    cdef int code = codegen.PLAIN[size], d, i
    cdef list outer = [d for d in range(t.ndim) if strides[3 * d] != 0]
    cdef list inner = [d for d in range(t.ndim) if strides[3 * d] == 0]
    if a[0].storage == NULL or a[1].storage == NULL or core[1] == 0 or (
            any([strides[3 * <int>d + 1] != 0 for d in outer])):
        return False
    axes = ([(task_dims(t)[<int>d], strides[3 * <int>d]) for d in outer] + [(core[1], core[0]), (items, size)],
            [(task_dims(t)[<int>d], strides[3 * <int>d + 1]) for d in inner],
            [(task_dims(t)[<int>d], strides[3 * <int>d + 2]) for d in outer + inner] + [(items, size)])
    arrays = []
    for i in range(3):
        dtype = DTYPES[recipe.codes[i] if i == 1 else code]
        arrays.append(gpu.view(operand_twin(t, i, gpu, used), offset_of(a + i), axes[i], dtype))
    gpu.cupy.take(arrays[0], arrays[1], axis=len(outer), out=arrays[2])
    return True

cdef bint add_at(Task* t, object recipe, object gpu, list used) except -1:
    """Run t, which adds each value where a byte offset says."""
    cdef Access* a = accesses(t)
    cdef intp size = itemsizes[recipe.codes[1]], start = offset_of(a + 2)
    cdef int d, i
    if start % size or a[0].storage == NULL:
        return False
    arrays = []
    for i in range(2):
        if a[i].storage == NULL:
            arrays.append(number(t, i, recipe.codes[i]))
            continue
        axes = [(task_dims(t)[d], task_strides(t)[3 * d + i]) for d in range(t.ndim)]
        arrays.append(gpu.view(operand_twin(t, i, gpu, used), offset_of(a + i), axes, DTYPES[recipe.codes[i]]))
    target = gpu.view(operand_twin(t, 2, gpu, used), 0, [(a[2].storage.nbytes // size, size)], DTYPES[recipe.codes[2]])
    gpu.cupy.add.at(target, (arrays[0] + start) // size, arrays[1])     # in no order, where an index is repeated
    return True

cdef bint draw(Task* t, object recipe, object gpu, list used) except -1:
    """Run t, which fills with random numbers. False when the elements do not lie in some order of their numbers."""
    cdef intp* strides = task_strides(t)
    cdef intp size = 1
    cdef int d
    cdef list order = sorted(range(t.ndim), key=[strides[3 * d] for d in range(t.ndim)].__getitem__)
    for d in order:
        if strides[3 * d] != size and task_dims(t)[d] != 1:
            return False
        size *= task_dims(t)[d]
    axes = [(task_dims(t)[<int>k], strides[3 * <int>k + 2]) for k in reversed(order)]
    out = gpu.view(operand_twin(t, 2, gpu, used), offset_of(accesses(t) + 2), axes, recipe.codes[2])
    gpu.draw(recipe, constant_of(t, 1)[:DRAW_BYTES], out)
    return True

# ---- groups ----------------------------------------------------------------------------------------------------------

cdef class Value:               # of a storage, as a group uses it
    cdef Storage* s
    cdef int uses               # accesses
    cdef bint fresh             # the first one writes all of it
    cdef object result          # number of the one that it is, once the group has written to it
    cdef Task* task             # its writer,
    cdef int operand            # of all of the group's

cdef class Fusion:
    """A group as one kernel: what it reads, computes and stores."""
    cdef dict values            # by address of the storage
    cdef dict numbers           # of the inputs, by what they are
    cdef list inputs            # CuPy arrays and numbers
    cdef list codes             # their types
    cdef list places            # offset, stride and size of an element of the arrays; None: a number
    cdef list members           # recipe and arguments of each result
    cdef list key               # what the code depends on

    def __cinit__(self):
        self.values, self.numbers, self.inputs, self.codes, self.members, self.key = {}, {}, [], [], [], []
        self.places = []

    cdef int survey(self, Task* m, Task* end):
        """Count the uses of each value."""
        cdef Access* a
        cdef Value v
        cdef int i
        while m != end:
            a = accesses(m)
            for i in range(m.nops):
                if a[i].storage == NULL:
                    continue
                v = self.values.get(<size_t>a[i].storage)
                if v is None:
                    v = Value()
                    v.s = a[i].storage
                    v.fresh = (a[i].key & (WRITE | FULL)) == (WRITE | FULL) and not m.kernel.flags & PARTIAL
                    self.values[<size_t>v.s] = v
                v.uses += 1
            m = next_member(m)
        return 0

    cdef int argument(self, Task* m, int i, int n, int code, GroupPlan* g, object gpu, list used) except? -1:
        """Operand i of m, which is n of the group's, as it is read: the number of an input, or ~ that of a result."""
        cdef Access* a = accesses(m) + i
        cdef Value v
        cdef int d
        if a.storage == NULL:
            self.inputs.append(number(m, i, code))
            self.codes.append(code)
            self.places.append(None)
            return <int>len(self.inputs) - 1
        v = self.values[<size_t>a.storage]
        if v.result is not None:
            return ~<int>v.result
        offset = offset_of(a)
        what = (<size_t>a.storage, offset, code, *[g.strides[d][n] for d in range(g.ndim)])
        if what not in self.numbers:
            self.numbers[what] = len(self.inputs)
            twin = operand_twin(m, i, gpu, used)
            self.inputs.append(view(twin, offset, g.ndim, g.dims, &g.strides[0][n], MAX_OPERANDS, code))
            self.codes.append(code)
            self.places.append((offset, g.strides[0][n], itemsizes[code]))
        return self.numbers[what]

    cdef int member(self, Task* m, object recipe, int first, GroupPlan* g, object gpu, list used) except -1:
        cdef list arguments = []
        cdef Access* a = accesses(m)
        cdef Value v
        cdef int i, out = m.nops - 1
        for i in range(m.nops if recipe.partial else out):
            code = recipe.codes[i]
            if code is None:
                code = codegen.PLAIN[itemsize_of(a + i)] if a[i].storage != NULL else recipe_size(m)
            arguments.append(self.argument(m, i, first + i, code, g, gpu, used))
        v = self.values[<size_t>a[out].storage]
        v.result = len(self.members)
        v.task = m
        v.operand = first + out
        self.members.append((recipe, arguments))
        self.key.append(<size_t>m.kernel)
        self.key.extend(arguments)
        return 0

    cdef object packs(self, list stored, GroupPlan* g):
        """How it may be done in packs: elements of each, and what each input is. None: it may not."""
        cdef Value v
        cdef list hows = [], places = []
        if g.ndim != 1 or g.dims[0] < PACKED_FROM:
            return None
        for v in stored:
            out = accesses(v.task) + v.task.nops - 1
            places.append((offset_of(out), g.strides[0][v.operand], itemsize_of(out)))
        for place in self.places:
            how = codegen.NUMBER if place is None else codegen.SINGLE if place[1] == 0 else codegen.PACKED
            hows.append(how)
            if how == codegen.PACKED:
                places.append(place)
        each = PACK_BYTES // max([size for _, _, size in places])
        if each < 2 or g.dims[0] % each or any([stride != size or offset % (each * size)
                                                for offset, stride, size in places]):
            return None
        return each, tuple(hows)

cdef int recipe_size(Task* m) except -1:
    """The type of a constant that only its output tells the size of."""
    return codegen.PLAIN[itemsize_of(accesses(m) + m.nops - 1)]

cdef bint fuses(Task* m):
    """Whether m can be part of an elementwise kernel."""
    recipe = recipe_of(m.kernel)
    return recipe is not None and recipe.function is not None and translates(m)

cdef bint fuse(Task* leader, Task* begin, Task* end, object gpu, list used):
    """Run members of a group, from one up to another, as one elementwise kernel. False: they must run one by one."""
    cdef GroupPlan g
    cdef Task* m = leader
    cdef Fusion f = Fusion()
    cdef Value v
    cdef int first = 0
    if not lay_out_group(leader, &g):
        return False
    while m != begin:
        first += m.nops
        m = next_member(m)
    f.survey(begin, end)
    while m != end:
        f.member(m, recipe_of(m.kernel), first, &g, gpu, used)
        first += m.nops
        m = next_member(m)
    stored = [v for v in f.values.values() if v.result is not None and not (v.fresh and load_int(&v.s.refs) == v.uses)]
    if len(f.inputs) + len(stored) > ARGUMENT_BYTES // (16 + 16 * g.ndim):
        return False
    add_i64(&shared.bytes_never_stored,
            sum([(<Value>v).s.nbytes for v in f.values.values() if v.result is not None and v not in stored]))
    if not stored:
        return True
    results = [(<Value>v).result for v in stored]
    packs = f.packs(stored, &g)
    key = (*f.key, -1, *f.codes, -1, *results, packs)
    kernel = gpu.kernels.get(key)
    if kernel is None:
        kernel = gpu.kernels[key] = gpu.elementwise(*codegen.code(f.members, f.codes, results, packs))
    outputs = []
    for v, code in zip(stored, kernel[1]):
        twin = told_of(there(v.s, not v.fresh, gpu), gpu, True, used)
        offset = offset_of(accesses(v.task) + v.task.nops - 1)
        outputs.append(view(twin, offset, g.ndim, g.dims, &g.strides[0][v.operand], MAX_OPERANDS, code))
    sized = {} if packs is None else {"size": g.dims[0] // packs[0]}
    gpu.with_room(functools.partial(kernel[0], *f.inputs, *outputs, **sized), mirror.drain_all)
    return True

# ---- running ---------------------------------------------------------------------------------------------------------

cdef int fail(Task* t, object error) noexcept:
    cdef Poison* p = poison_new(error, t.site, t.kernel.name)
    mark(t, p)
    poison_unref(p)
    return 0

cdef int told(Task* m, Task* end, object gpu, list used) except -1:
    """The device has been told to run members of a group, from one up to another."""
    cdef Access* a
    cdef int i
    if gpu.capturing:                   # it has not
        return 0
    event = gpu.event(gpu.compute)
    for twin, write in used:
        twin.used(gpu.compute, event, write)
    while m != end:
        a = accesses(m)
        for i in range(m.nops):
            if a[i].storage != NULL and a[i].key & WRITE and a[i].storage.twin != NULL:
                a[i].storage.stale = HOST_STALE
        mark(m, NULL)
        m = next_member(m)
    if load_int(&watched):              # a timeline shows what the device does, not what it was told
        event.synchronize()
    return 0

cdef int tell(Runner* me, Task* t, object gpu) except -1:
    """Have the device run t and its group, or what it can of it."""
    cdef Task* m = t
    cdef Task* end
    cdef int n
    while m != NULL:
        n = 0
        end = m
        while end != NULL and fuses(end) and not poisoned(end):
            end = next_member(end)
            n += 1
        if n > 1 and run_fused(t, m, end, gpu):
            add_i64(&shared.groups, 1)
            add_i64(&shared.grouped, n)
            m = end
            continue
        if n == 0:
            end = next_member(m)
        while m != end:
            try:
                one(me, t, m, gpu)
            except BaseException as error:
                if gpu.capturing:
                    raise
                fail(m, error)
            m = next_member(m)
    return 0

cdef bint run_fused(Task* leader, Task* begin, Task* end, object gpu):
    """Whether that could be."""
    cdef list used = []
    try:
        if not fuse(leader, begin, end, gpu, used):
            return False
    except MemoryError:                 # there may be enough for some of them
        return False
    told(begin, end, gpu, used)
    return True

cdef bint poisoned(Task* t) noexcept:
    """Whether something that it uses is."""
    cdef Poison* p = find_poison(t)
    if p != NULL:
        poison_unref(p)
    return p != NULL

cdef int one(Runner* me, Task* leader, Task* t, object gpu) except -1:
    """Run t, one of a group, maybe alone: there, if it has a kernel there and no operand is poisoned, else here."""
    cdef list used = []
    cdef bint done = False
    if not poisoned(t) and translates(t):
        recipe = recipe_of(t.kernel)
        if recipe.function is not None:
            done = fuse(leader, t, next_member(t), gpu, used)
        elif recipe.call == "take":
            done = take(t, recipe, gpu, used)
        elif recipe.call == "add_at":
            done = add_at(t, recipe, gpu, used)
        elif recipe.call == "draw":
            done = draw(t, recipe, gpu, used)
        else:
            done = call(t, recipe, gpu, used)
    if done:
        told(t, next_member(t), gpu, used)
    elif gpu.capturing:
        raise Uncaptured(t.kernel.name.decode())
    else:
        run_home(me, t)
    return 0

cdef int run_home(Runner* me, Task* t) except -1:
    """Run t, not its group, on the host."""
    cdef Access* a = accesses(t)
    cdef int i
    cdef bint full
    if not t.kernel.flags & (HOST | FENCE):         # Python functions bring what they look at
        for i in range(t.nops):
            if a[i].storage != NULL and abroad(a[i].storage):
                full = (a[i].key & (WRITE | FULL)) == (WRITE | FULL) and not t.kernel.flags & PARTIAL
                bring_here(a[i].storage, not full, (a[i].key & WRITE) != 0)
    drop_gil(me)
    run_at_gate(me, t)
    take_gil(me)
    return 0

# ---- copies between devices ------------------------------------------------------------------------------------------

cdef bint plain_copy(Task* t) noexcept:
    """Whether t copies all of a storage to all of another, as it is."""
    cdef Access* a = accesses(t)
    return (t.kernel.flags & COPIES and t.nops == 2 and t.flags & FLAT == 0
            and a[0].storage != NULL and a[0].storage != a[1].storage
            and a[0].key & FULL and a[1].key & FULL and a[0].storage.nbytes == a[1].storage.nbytes
            and t.ndim == 1 and task_strides(t)[0] == task_strides(t)[1] == item_bytes(t.kernel))

cdef bint carry(Storage* source, Storage* target) except -1:
    """Bring all of a storage to another, if one transfer can: False."""
    if abroad(target):
        if source.stale & HOST_STALE == 0 and source.data == NULL:
            return False
        if target.twin == NULL:
            make_twin(target, True)
        twin = <object>target.twin
        twin.gpu.check()
        with twin.gpu.upward:
            twin.receive(<object>source.twin) if source.stale & HOST_STALE else twin.upload(<size_t>source.data)
        target.stale = HOST_STALE
        return True
    if not source.stale & HOST_STALE:
        return False
    if not storage_allocate(target):
        raise MemoryError(f"Unable to allocate {target.nbytes} bytes")
    twin = <object>source.twin
    twin.wait()
    with twin.gpu.downward:
        twin.download(<size_t>target.data)
    return True

cdef int move(Runner* me, Task* t) except -1:
    """A copy to or from a GPU, by the thread that does such copies."""
    cdef Access* a = accesses(t)
    cdef int i
    if not poisoned(t) and plain_copy(t) and carry(a[0].storage, a[1].storage):
        mark(t, NULL)
        return 0
    run_home(me, t)
    for i in range(t.nops):
        if (a[i].storage != NULL and a[i].key & WRITE and abroad(a[i].storage)
                and load_ptr(&a[i].storage.poison) == NULL):
            bring_there(a[i].storage, True, False)
    return 0

cdef void run(Runner* me, Task* t) noexcept nogil:
    take_gil(me)
    run_with_gil(me, t)
    keep_gil(me)

cdef void run_with_gil(Runner* me, Task* t) noexcept with gil:
    cdef Task* m = t
    cdef Lane* lane = &lanes[t.lane]
    if graves():
        drain()
    try:
        if of_gpu(lane):
            gpu = mirror.open_gpus[lane.number - CPUS]
            with gpu.device, gpu.compute:
                tell(me, t, gpu)
            return
    except BaseException as error:
        while m != NULL:
            fail(m, error)
            m = next_member(m)
        return
    while m != NULL:
        try:
            if lane.number >= DEVICES:
                move(me, m)
            else:
                run_home(me, m)
        except BaseException as error:
            fail(m, error)
        m = next_member(m)

running_hooks.run_abroad = run

def check():
    check_hooks("_runtime.executor", &running_hooks, sizeof(RunningHooks), "run_abroad")

check()

def open_gpu(int index):
    """Have gpu(index) ready. ValueError if there is none."""
    mirror.open_gpu(index)
