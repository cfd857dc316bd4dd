"""Native loops of groups: see _runtime/fusion_native.pxd."""

from libc.string cimport memcmp, memset
from dflow._kernels.kernel cimport Kernel, PARTIAL
from dflow._kernels.native cimport *
from dflow._runtime.fusion_plan cimport GroupPlan, MAX_NATIVE, NativeRun, NARROW
from dflow._runtime.fusion_rules cimport MAX_MEMBERS
from dflow._runtime.graph cimport Access, accesses, next_member, Storage, Task

cdef enum:
    FEWEST = 2                  # members: one alone has NumPy's loop
    LEAST = 256                 # elements of the group: listing the steps takes a while, too
    MAX_VALUES = 250
    NOTHING = 255

cdef struct Value:              # of the steps before they have registers: each is written once
    Step step                   # to: unused; a, b of arithmetic: values
    unsigned char operand       # of the group, of what is loaded or spread
    bint mask                   # of bools
    int last                    # the last moment when it is read: see moment_of()

cdef struct Store:
    unsigned char value
    unsigned char operand
    int place                   # before so many values

cdef struct Seen:               # an operand in memory, or a constant, that the run has met
    Storage* storage            # NULL: a constant
    unsigned char operand       # of the group
    unsigned char value
    bint written

cdef struct Sketch:             # a run as it grows
    GroupPlan* g
    int set                     # of instructions
    int first
    int itemsize                # of its numbers; 0: not known yet
    int nvalues
    int nstores
    int nseen
    Value values[255]
    Store stores[64]
    Seen seen[160]
    unsigned char register[160] # the value that each register of the group has: NOTHING yet
    char loaded[160]            # of each register: the run reads what was in it before
    unsigned char literal[16]

cdef void find_native(Task* leader, GroupPlan* g) noexcept nogil:
    cdef Task* members[MAX_MEMBERS]
    cdef Task* m = leader
    cdef int j = 0, end, set = native_set
    if set == NO_VECTORS or g.members < FEWEST or g.total < LEAST:
        return
    if g.ndim > 1 and g.dims[g.ndim - 1] < NARROW:
        return
    while m != NULL:
        members[j] = m
        m = next_member(m)
        j += 1
    j = 0
    while j < g.runs and g.natives < MAX_NATIVE:
        end = run_from(g, members, j, set)
        j = end if end > j else j + 1

cdef int run_from(GroupPlan* g, Task** members, int first, int set) noexcept nogil:
    """Note the run that begins with a member, if it can. Where it ends; `first`: there is none."""
    cdef Sketch s
    cdef int j, most = g.runs
    s.g = g
    s.set = set
    while True:
        s.first = first
        s.itemsize = s.nvalues = s.nstores = s.nseen = 0
        memset(s.register, NOTHING, g.nregisters)
        memset(s.loaded, 0, g.nregisters)
        memset(s.literal, NOTHING, sizeof(s.literal))
        j = first
        while j < most and add_member(&s, members[j], j):
            j += 1
        if j - first < FEWEST:
            return first
        store_results(&s, j)
        if write_steps(&s, &g.native[g.natives], j):
            if g.native[g.natives].code != NULL:
                g.natives += 1
            return j
        most = first + (j - first) // 2         # it needs more registers than there are

# ---- values --------------------------------------------------------------------------------------------------------

cdef int new_value(Sketch* s, int op, int a, int b) noexcept nogil:
    """The value of a step. A mask, if it is made by a comparison or of masks."""
    cdef Value* v = &s.values[s.nvalues]
    v.operand = 0
    v.mask = op >= STEP_LESS or STEP_AND <= op <= STEP_BUT and s.values[a].mask and s.values[b].mask
    v.step.op = <unsigned char>op
    v.step.to = 0
    v.step.a = <unsigned char>a
    v.step.b = <unsigned char>b
    s.nvalues += 1
    return s.nvalues - 1

cdef int read_narrow(Sketch* s, Kernel* k, Storage* storage, int o) noexcept nogil:
    """The value that a cast reads as one of more bytes. It is nobody else's."""
    cdef bint direct = k.operation == WIDEN_TO_FLOATS and k.numbers == SIGNED and k.narrow == 4 and s.itemsize == 8
    cdef int how = NARROW_TO_FLOATS if direct else NARROW_FLOATS if k.numbers == FLOATS else (
        NARROW_SIGNED if k.numbers == SIGNED else NARROW_UNSIGNED)
    cdef int v = new_value(s, STEP_LOAD_NARROW, 0, k.narrow + 16 * how)
    s.values[v].operand = <unsigned char>o
    if s.g.register[o]:
        s.loaded[<size_t>s.g.base[o]] = 1
    else:
        see(s, storage, o, v, False)
    return v if direct or k.operation == WIDEN else to_floats(s, v)

cdef int read_value(Sketch* s, int operand, bint mask, bint moves) noexcept nogil:
    """What is loaded, or the same for all elements."""
    cdef int v = new_value(s, STEP_LOAD_MASK if mask else STEP_LOAD if moves else STEP_SPREAD, 0, 0)
    s.values[v].operand = <unsigned char>operand
    s.values[v].mask = mask
    return v

cdef int literal(Sketch* s, int which) noexcept nogil:
    if s.literal[which] == NOTHING:
        s.literal[which] = <unsigned char>new_value(s, STEP_LITERAL, which, 0)
        s.values[s.literal[which]].mask = which == LITERAL_ALL or which == LITERAL_ZERO
    return s.literal[which]

cdef inline bint same_place(GroupPlan* g, int i, int k) noexcept nogil:
    """Whether two operands in memory are the same one, element by element."""
    cdef int d
    if g.base[i] != g.base[k] or g.steps[i] != g.steps[k]:
        return False
    for d in range(g.ndim - 1):
        if g.strides[d][i] != g.strides[d][k]:
            return False
    return True

cdef bint add_member(Sketch* s, Task* m, int j) noexcept nogil:
    """Take a member into the run. False, and nothing is changed, where it cannot be."""
    cdef GroupPlan* g = s.g
    cdef Kernel* k = m.kernel
    cdef Access* a = accesses(m)
    cdef int first = g.first[j], out = g.first[j + 1] - 1, i, v
    cdef int found[3]
    if k.operation == NO_OPERATION or k.flags & PARTIAL or s.nvalues + 16 > MAX_VALUES:
        return False
    if not fits(s, k, a, first, out):
        return False
    if k.width:
        s.itemsize = k.width
    if k.narrow:
        v = read_narrow(s, k, a[0].storage, first)
    else:
        for i in range(k.nin):
            found[i] = value_of(s, a[i].storage, first + i, reads_mask(k.operation, i))
        v = compute(s, k, found)
    if g.register[out]:
        s.register[<size_t>g.base[out]] = <unsigned char>v
    else:
        see(s, a[k.nin].storage, out, v, True)
        store(s, v, out)
    return True

cdef bint fits(Sketch* s, Kernel* kernel, Access* a, int first, int out) noexcept nogil:
    """Whether a member's operands lie as a loop needs them, and it writes nothing that the run reads from outside."""
    cdef GroupPlan* g = s.g
    cdef Seen* e
    cdef int size = kernel.width if kernel.width else s.itemsize, i, k
    cdef bint mask, narrow
    if not size or s.itemsize and size != s.itemsize or not is_known(s, kernel, size):
        return False
    if g.register[out] and s.loaded[<size_t>g.base[out]]:
        return False
    for i in range(first, out + 1):
        if i < out and g.register[i] and g.register[out] and g.base[i] == g.base[out] and (
                s.register[<size_t>g.base[i]] == NOTHING):
            return False
        narrow = kernel.narrow and i < out
        if narrow and g.register[i] and s.register[<size_t>g.base[i]] != NOTHING:
            return False
        if g.register[i] or a[i - first].storage == NULL and not narrow:
            continue
        mask = gives_mask(kernel.operation) if i == out else reads_mask(kernel.operation, i - first)
        if g.steps[i] != (1 if mask else kernel.narrow if narrow else size) and (mask or narrow or g.steps[i] != 0):
            return False
        if i < out and not g.register[out] and a[i - first].storage == a[out - first].storage:
            return False
        for k in range(s.nseen):
            e = &s.seen[k]
            if e.storage == a[i - first].storage and (not e.written if i == out else False):
                return False
            if e.storage == a[i - first].storage and e.written and (narrow or not same_place(g, i, e.operand)):
                return False
    return True

cdef inline bint is_known(Sketch* s, Kernel* k, int size) noexcept nogil:
    """Whether there are instructions for it."""
    return k.operation != TO_INTEGERS or size == 4 or s.set == AVX512

cdef int value_of(Sketch* s, Storage* storage, int o, bint mask) noexcept nogil:
    """The value that operand o of the group reads."""
    cdef GroupPlan* g = s.g
    cdef Seen* e
    cdef int k, v
    if g.register[o]:
        k = <int><size_t>g.base[o]
        if s.register[k] == NOTHING:
            s.register[k] = <unsigned char>read_value(s, o, mask, True)
            s.loaded[k] = 1
        return s.register[k]
    if mask and storage == NULL:
        return literal(s, LITERAL_ALL if g.base[o][0] else LITERAL_ZERO)
    for k in range(s.nseen):
        e = &s.seen[k]
        if s.values[e.value].step.op != STEP_LOAD_NARROW and e.storage == storage and (
                memcmp(g.base[o], g.base[e.operand], s.itemsize) == 0 if storage == NULL
                else same_place(g, o, e.operand)):
            return e.value
    v = read_value(s, o, mask, g.steps[o] != 0)
    see(s, storage, o, v, False)
    return v

cdef void see(Sketch* s, Storage* storage, int operand, int value, bint written) noexcept nogil:
    """Note an operand in memory, or the new value of one that the run has written before."""
    cdef Seen* e
    cdef int k
    for k in range(s.nseen):
        e = &s.seen[k]
        if written and e.storage == storage:
            e.value = <unsigned char>value
            return
    e = &s.seen[s.nseen]
    e.storage, e.operand, e.value, e.written = storage, <unsigned char>operand, <unsigned char>value, written
    s.nseen += 1

cdef int compute(Sketch* s, Kernel* k, int* x) noexcept nogil:
    """The value of an operation of others."""
    cdef int a = x[0], b = x[1], operation = k.operation
    if operation == COPY:
        return a
    if operation >= LESS:
        return compute_mask(s, k, x)
    if operation == TO_FLOATS:
        return to_floats(s, a)
    if operation == TO_INTEGERS:
        return new_value(s, STEP_TO_INTEGERS, a, a)
    if k.numbers != FLOATS:
        return compute_integers(s, k, a, b)
    if operation == SQUARE:
        return new_value(s, STEP_MULTIPLY, a, a)
    if operation == NEGATIVE:
        return new_value(s, STEP_XOR, a, literal(s, LITERAL_SIGN))
    if operation == ABSOLUTE:
        return new_value(s, STEP_AND, a, literal(s, LITERAL_ALL_BUT_SIGN))
    if operation == RECIPROCAL:
        return new_value(s, STEP_DIVIDE, literal(s, LITERAL_ONE), a)
    if operation == SQRT:
        return new_value(s, STEP_SQRT, a, a)
    if RINT <= operation <= TRUNC:
        return new_value(s, STEP_RINT + operation - RINT, a, a)
    if operation == COPYSIGN:
        a = new_value(s, STEP_AND, a, literal(s, LITERAL_ALL_BUT_SIGN))
        b = new_value(s, STEP_AND, b, literal(s, LITERAL_SIGN))
        return new_value(s, STEP_OR, a, b)
    return new_value(s, STEP_ADD if operation == ADD else STEP_SUBTRACT if operation == SUBTRACT else
                     STEP_MULTIPLY if operation == MULTIPLY else STEP_DIVIDE if operation == DIVIDE else
                     STEP_MAXIMUM if operation == MAXIMUM else STEP_MINIMUM, a, b)

cdef int to_floats(Sketch* s, int a) noexcept nogil:
    return to_doubles(s, a) if s.set == AVX2 and s.itemsize == 8 else new_value(s, STEP_TO_FLOATS, a, a)

cdef int to_doubles(Sketch* s, int a) noexcept nogil:
    """Without an instruction for it: the halves of a as the last bits of doubles, 2**52 + low and 2**84 + 2**63 +
    2**32 high. Of what follows the last step alone rounds."""
    cdef int low = new_value(s, STEP_AND, a, literal(s, LITERAL_LOW)), high
    low = new_value(s, STEP_OR, low, literal(s, LITERAL_2_52))
    high = new_value(s, STEP_SHIFT_RIGHT, a, literal(s, LITERAL_32))
    high = new_value(s, STEP_XOR, high, literal(s, LITERAL_2_84_63))
    high = new_value(s, STEP_SUBTRACT, high, literal(s, LITERAL_ALL_THREE))
    return new_value(s, STEP_ADD, high, low)

cdef int compute_integers(Sketch* s, Kernel* k, int a, int b) noexcept nogil:
    """The same of integers. The steps are for signed ones, in whose order others are with the first bit turned."""
    cdef int operation = k.operation, v
    if operation == MAXIMUM or operation == MINIMUM:
        v = STEP_INT_MAXIMUM if operation == MAXIMUM else STEP_INT_MINIMUM
        return ordered(s, k, new_value(s, v, ordered(s, k, a), ordered(s, k, b)))
    if operation == NEGATIVE:
        return new_value(s, STEP_INT_SUBTRACT, literal(s, LITERAL_ZERO), a)
    if operation == ABSOLUTE:
        if k.numbers == UNSIGNED:
            return a
        return new_value(s, STEP_INT_MAXIMUM, a, new_value(s, STEP_INT_SUBTRACT, literal(s, LITERAL_ZERO), a))
    if operation == SQUARE:
        return new_value(s, STEP_INT_MULTIPLY, a, a)
    if operation == BITS_NOT:
        return new_value(s, STEP_XOR, a, literal(s, LITERAL_ALL))
    if operation == RIGHT_SHIFT:
        return new_value(s, STEP_SHIFT_SIGNED if k.numbers == SIGNED else STEP_SHIFT_RIGHT, a, b)
    return new_value(s, STEP_INT_ADD if operation == ADD else STEP_INT_SUBTRACT if operation == SUBTRACT else
                     STEP_INT_MULTIPLY if operation == MULTIPLY else STEP_AND if operation == BITS_AND else
                     STEP_OR if operation == BITS_OR else STEP_XOR if operation == BITS_XOR else STEP_SHIFT_LEFT, a, b)

cdef inline int ordered(Sketch* s, Kernel* k, int a) noexcept nogil:
    return new_value(s, STEP_XOR, a, literal(s, LITERAL_SIGN)) if k.numbers == UNSIGNED else a

cdef int compute_mask(Sketch* s, Kernel* k, int* x) noexcept nogil:
    """The same of operations that give masks, or take them."""
    cdef int a = x[0], b = x[1], operation = k.operation
    cdef int less = STEP_LESS if k.numbers == FLOATS else STEP_INT_LESS
    if operation == EQUAL or operation == NOT_EQUAL:
        return new_value(s, less + operation - LESS, a, b)
    if operation == NOT_ZERO:
        return new_value(s, less + NOT_EQUAL - LESS, a, literal(s, LITERAL_ZERO))
    if operation == LESS or operation == LESS_EQUAL:
        return new_value(s, less + operation - LESS, ordered(s, k, a), ordered(s, k, b))
    if operation == GREATER or operation == GREATER_EQUAL:
        return new_value(s, less + operation - GREATER, ordered(s, k, b), ordered(s, k, a))
    if operation == ISNAN:
        return new_value(s, STEP_NOT_EQUAL, a, a)
    if operation == ISINF or operation == ISFINITE:
        a = new_value(s, STEP_AND, a, literal(s, LITERAL_ALL_BUT_SIGN))
        return new_value(s, STEP_EQUAL if operation == ISINF else STEP_LESS, a, literal(s, LITERAL_INFINITY))
    if operation == NOT:
        return new_value(s, STEP_XOR, a, literal(s, LITERAL_ALL))
    if operation == ONE_IF:
        return new_value(s, STEP_AND, a, literal(s, LITERAL_ONE if k.numbers == FLOATS else LITERAL_INT_ONE))
    if operation == WHERE:
        b = new_value(s, STEP_AND, a, b)
        a = new_value(s, STEP_BUT, a, x[2])
        return new_value(s, STEP_OR, b, a)
    return new_value(s, STEP_AND if operation == AND else STEP_OR if operation == OR else STEP_XOR, a, b)

cdef void store(Sketch* s, int value, int operand) noexcept nogil:
    s.stores[s.nstores].value = <unsigned char>value
    s.stores[s.nstores].operand = <unsigned char>operand
    s.stores[s.nstores].place = s.nvalues
    s.nstores += 1

cdef void store_results(Sketch* s, int end) noexcept nogil:
    """Store what members from `end` on read of the run's results in registers: the last that each register has."""
    cdef GroupPlan* g = s.g
    cdef int j, out, number
    for j in range(end - 1, s.first - 1, -1):
        out = g.first[j + 1] - 1
        number = <int><size_t>g.base[out]
        if g.register[out] and s.register[number] != NOTHING:
            if is_read(g, out, end):
                store(s, s.register[number], out)
            s.register[number] = NOTHING

cdef bint is_read(GroupPlan* g, int register, int j) noexcept nogil:
    """Whether a member from j on reads a register, before one writes it; or the tail does."""
    cdef int i
    while j < g.members:
        for i in range(g.first[j], g.first[j] + g.kernels[j].nin):
            if g.register[i] and g.base[i] == g.base[register]:
                return True
        for i in range(g.first[j] + g.kernels[j].nin, g.first[j + 1]):
            if g.register[i] and g.base[i] == g.base[register]:
                return g.kernels[j].flags & PARTIAL != 0        # what a mask leaves as it was is read, too
        j += 1
    return False

# ---- registers -----------------------------------------------------------------------------------------------------

cdef bint write_steps(Sketch* s, NativeRun* r, int end) noexcept nogil:
    """Give values registers of the processor, and look the loop up. False: they need more than there are."""
    cdef Step steps[MAX_STEPS]
    cdef unsigned char vector[255]
    cdef char free[MAX_VECTORS]
    cdef Value* v
    cdef int i, k = 0, n = 0
    memset(free, 0, sizeof(free))
    memset(free, 1, vectors_of(s.set))
    note_last_uses(s)
    r.first, r.end, r.slots, r.segmented = s.first, end, 0, False
    for i in range(s.first, end):
        r.segmented = r.segmented or s.g.segmented[i]
    for i in range(s.nvalues):                  # what is the same for all elements has a register throughout
        v = &s.values[i]
        if is_fixed(v):
            if not take(free, &vector[i]):
                return False
            steps[n] = v.step
            steps[n].to = vector[i]
            if v.step.op == STEP_SPREAD:
                steps[n].a = slot_for(r, v.operand)
            n += 1
    for i in range(s.nvalues + 1):
        while k < s.nstores and s.stores[k].place == i:
            if n == MAX_STEPS:
                return False
            steps[n].op = STEP_STORE_MASK if s.values[s.stores[k].value].mask else STEP_STORE
            steps[n].to = vector[s.stores[k].value]
            steps[n].a = slot_for(r, s.stores[k].operand)
            steps[n].b = 0
            give_back(s, s.stores[k].value, 2 * i, vector, free)
            n += 1
            k += 1
        if i == s.nvalues:
            break
        v = &s.values[i]
        if is_fixed(v):
            continue
        if n == MAX_STEPS:
            return False
        steps[n] = v.step
        if v.step.op < STEP_ADD:
            steps[n].a = slot_for(r, v.operand)
        else:
            steps[n].a, steps[n].b = vector[v.step.a], vector[v.step.b]
            give_back(s, v.step.a, 2 * i + 1, vector, free)
            give_back(s, v.step.b, 2 * i + 1, vector, free)
        if not take(free, &vector[i]):
            return False
        steps[n].to = vector[i]
        n += 1
    r.code = find_loop(steps, n, s.itemsize, s.set)
    return True

cdef inline bint is_fixed(Value* v) noexcept nogil:
    """Whether it is the same for all elements: it has a register throughout."""
    return v.step.op == STEP_SPREAD or v.step.op == STEP_LITERAL

cdef void note_last_uses(Sketch* s) noexcept nogil:
    """The last moment at which each value is read: by value i at 2 i + 1, by a store before it at 2 i."""
    cdef Value* v
    cdef int i
    for i in range(s.nvalues):
        v = &s.values[i]
        v.last = 2 * i + 1
        if v.step.op >= STEP_ADD:
            s.values[v.step.a].last = s.values[v.step.b].last = v.last
    for i in range(s.nstores):
        v = &s.values[s.stores[i].value]
        if v.last < 2 * s.stores[i].place:
            v.last = 2 * s.stores[i].place

cdef inline bint take(char* free, unsigned char* vector) noexcept nogil:
    cdef int i
    for i in range(MAX_VECTORS):
        if free[i]:
            free[i] = 0
            vector[0] = <unsigned char>i
            return True
    return False

cdef inline void give_back(Sketch* s, int value, int moment, unsigned char* vector, char* free) noexcept nogil:
    """The register of a value, at the last moment when it is read."""
    if s.values[value].last == moment and not is_fixed(&s.values[value]):
        free[vector[value]] = 1

cdef unsigned char slot_for(NativeRun* r, int operand) noexcept nogil:
    """The number of an operand of the group among those of the loop."""
    cdef int i
    for i in range(r.slots):
        if r.slot[i] == operand:
            return <unsigned char>i
    r.slot[r.slots] = <unsigned char>operand
    r.slots += 1
    return <unsigned char>(r.slots - 1)
