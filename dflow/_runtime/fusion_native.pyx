"""Native loops of groups: see _runtime/fusion_native.pxd."""

from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy, memset
from dflow._base.allocator cimport memory_free, memory_new
from dflow._base.fpflags cimport FP_UNDER
from dflow._base.atomics cimport cas_int, cpu_pause_or_yield, load_int, store_int
from dflow._kernels.kernel cimport Kernel, PARTIAL
from dflow._kernels.native cimport *
from dflow._runtime.fusion_plan cimport (
    GroupPlan, MAX_GATHERED, MAX_NATIVE, MAX_SLOTS, NativeRun, PART, Parts, register_of, rooms_of, runs_of)
from dflow._runtime.fusion_rules cimport MAX_OPERANDS

cdef enum:
    FEWEST = 2                  # members: one alone has NumPy's loop, as a rule
    AT_ONCE = 2048              # from which on a loop is worth its writing by one run of it
    MAX_VALUES = 960
    MAX_STORES = 255
    # in instructions, roughly
    ROW_COST = 12               # of the loop's next row,
    GATHER_COST = 40            # and of a row that is brought together
    NOTHING = -1
    BUCKETS = 32                # of constants, by their values
    EQUALS = 512                # places of steps, by what they compute
    LONG = 48                   # steps of arithmetic: of a loop of more the processor sees few turns at a time
    COPIES = 2                  # vectors a turn: where memory has to be waited for, more take longer;
    MOST_COPIES = 4             # and of a long loop, which waits for its own steps
    FAR = 1 << 30               # a moment that does not come

cdef double HALF_COST = 0.15    # nanoseconds for one element, in a loop

cdef struct Cell:               # a step of values: `a` and `b` are their numbers; as in Step, if it is none of these
    int op, a, b

cdef struct Value:              # of the steps before they have registers: each is written once
    Cell step
    short operand               # of the group, of what is loaded or spread
    short slot                  # of the loop, which that has become
    short vector                # where it is in the processor; NOTHING: nowhere
    short room                  # where on the stack; NOTHING
    bint mask                   # of bools
    bint pinned                 # has its vector throughout
    bint kept                   # what it is loaded from is overwritten: it cannot be loaded later, or once more
    bint gathered               # what it is loaded from is brought together
    int uses
    int next                    # the moment when it is read next: by value i at 2 i, by the stores after it at 2 i + 1
    int after_a, after_b        # when what this one reads is read once more

cdef struct Store:
    short value
    short operand
    unsigned char narrow        # as b of STEP_STORE_NARROW; 0: as wide as the value
    short old                   # the value that this overwrites, if the run has read it; NOTHING
    short saves                 # which of what is saved this does; NOTHING: it stores a result
    bint gathered               # it is given out afterwards
    int place                   # after which value
    int after                   # when its value is read once more

cdef struct Seen:               # an operand in memory, or a constant, that the run has met
    short operand               # of the group
    short value
    short next                  # of the same storage, or another constant of the bucket; NOTHING: the last
    bint written
    unsigned char narrow        # what lies there is narrower than the value: as in Store

cdef struct Sketch:             # a run as it grows
    GroupPlan* g
    int set                     # of instructions
    bint at_once                # its loop is written at its first sight
    int first
    int itemsize                # of its numbers, or of the parts of these; 0: not known yet
    bint paired                 # they are complex
    int nvalues
    int nstores
    int nseen
    int nslots                  # no more than that, as loads are
    int ngathered
    int nsaved
    short saved[MAX_GATHERED]
    unsigned char saved_bytes[MAX_GATHERED]
    Value values[MAX_VALUES]
    Store stores[MAX_STORES]
    Seen seen[MAX_OPERANDS]
    short of_storage[MAX_OPERANDS]  # the first in `seen` of each
    short of_constants[BUCKETS]
    short register[MAX_OPERANDS]    # the value that each register of the group has: NOTHING yet
    unsigned char narrow[MAX_OPERANDS]  # of each register that has a value: as in Store
    char loaded[MAX_OPERANDS]       # of each register: the run reads what was in it before
    short literal[16]               # of LITERALS
    short equal[EQUALS]             # the last value of each place

cdef void find_native(GroupPlan* g) noexcept nogil:
    cdef int set = native_set, i, j
    if set == NO_VECTORS or too_few(g, 0, g.members) or g.total < LEAST:
        return
    g.gathers = gathers(g, set)
    g.natives = find_runs(g, 0, g.runs, set, g.total >= AT_ONCE, g.native, MAX_NATIVE, MAX_GATHERED)
    for i in range(g.natives):
        g.nrooms = max(g.nrooms, rooms_of(&g.native[i]))
        for j in range(g.native[i].first, g.native[i].end):
            if is_of_halves(g.kernels[j]):          # NumPy's loops take ten times as long, which is what it says
                g.cost -= (g.kernels[j].cost - HALF_COST) * g.total

cdef inline bint too_few(GroupPlan* g, int first, int end) noexcept nogil:
    return end == first or end - first < FEWEST and not gains_alone(g.kernels[first])

cdef int find_runs(GroupPlan* g, int j, int most, int set, bint at_once, NativeRun* runs, int nruns,
                   int nrooms) noexcept nogil:
    """Note the runs of members from j on, but for those that need more rooms. How many there are."""
    cdef int n = 0, end
    while j < most and n < nruns:
        end = run_from(g, j, most, set, at_once, &runs[n])
        while end < 0:
            end = run_from(g, j, j + (-end - j) // 2, set, at_once, &runs[n])
        if end > j and runs[n].loop != NULL and rooms_of(&runs[n]) <= nrooms:
            n += 1
        j = max(end, j + 1)
    return n

cdef void find_parts(GroupPlan* g) noexcept nogil:
    cdef int most = g.members, set = native_set, j, k, turn = 0
    cdef Parts* parts
    if load_int(&g.parts_state) or not cas_int(&g.parts_state, 0, 1):
        while load_int(&g.parts_state) == 1:        # some microseconds: members one by one take longer
            turn += 1
            cpu_pause_or_yield(turn)
        return
    parts = <Parts*>memory_new(sizeof(Parts) + most * sizeof(NativeRun)) if set != NO_VECTORS else NULL
    if parts == NULL:
        store_int(&g.parts_state, 3)
        return
    parts.n = 0
    for j in range(g.natives):
        k = g.native[j].first
        while k < g.native[j].end:
            parts.n += find_runs(g, k, min(k + PART, g.native[j].end), set, True, runs_of(parts) + parts.n,
                                 most - parts.n, g.nrooms)
            k += PART
    g.parts = parts
    store_int(&g.parts_state, 2)

cdef void end_native(GroupPlan* g) noexcept nogil:
    if g.natives:
        let_loops_go(g.held)
    memory_free(g.parts)

cdef bint gathers(GroupPlan* g, int set) noexcept nogil:
    """Whether what lies scattered is brought together block by block, so that a loop goes through whole blocks rather
    than over rows: where there is little of it, and the last vectors of rows, which are not full, cost more."""
    cdef intp inner = g.dims[g.ndim - 1], lanes = bytes_of_vector(set) // max(<intp>g.register_bytes, 4)
    cdef intp rest = inner % lanes, lost = 0
    cdef int i, scattered = 0
    if g.ndim == 1:
        return False
    for i in range(g.nops):
        scattered += not g.flat[i] and not g.register[i]
    if rest:
        lost = lanes - rest if set == AVX512 else (lanes - 1) * rest        # lanes; the rest goes one by one
    return g.members * lost // lanes + ROW_COST > scattered * (GATHER_COST + 2 * inner // lanes)

cdef int run_from(GroupPlan* g, int first, int most, int set, bint at_once, NativeRun* r) noexcept nogil:
    """Note the run that begins with a member, if it can, and has others before `most`. Where it ends; `first`: there is
    none; negative: it has too many values up to there."""
    cdef Sketch s
    cdef int j = first
    r.loop = NULL
    if g.kernels[first].operation == NO_OPERATION:
        return first
    s.g = g
    s.set = set
    s.at_once = at_once
    s.first = first
    s.itemsize = s.nvalues = s.nstores = s.nseen = s.nslots = s.ngathered = s.nsaved = 0
    s.paired = False
    memset(s.register, NOTHING, (g.nregisters + g.ninner) * sizeof(short))
    memset(s.loaded, 0, g.nregisters + g.ninner)
    memset(s.of_storage, NOTHING, g.nstorages * sizeof(short))
    memset(s.of_constants, NOTHING, sizeof(s.of_constants))
    memset(s.literal, NOTHING, sizeof(s.literal))
    memset(s.equal, NOTHING, sizeof(s.equal))
    while j < most and add_member(&s, j):
        j += 1
    if too_few(g, first, j):
        return first
    store_results(&s, j)
    return j if write_steps(&s, r, j) else -j

# ---- values --------------------------------------------------------------------------------------------------------

cdef int new_value(Sketch* s, int op, int a, int b) noexcept nogil:
    """The value of a step; if it was computed before, that. A mask, if it is made by a comparison or of masks."""
    cdef Value* v = &s.values[s.nvalues]
    cdef short* equal = NULL
    if op >= STEP_ADD:
        equal = &s.equal[(op + 37 * a + 61 * b * b) & (EQUALS - 1)]
        if equal[0] != NOTHING and same_step(&s.values[equal[0]], op, a, b):
            return equal[0]
        equal[0] = <short>s.nvalues
    v.operand = v.slot = v.vector = v.room = NOTHING
    v.pinned = v.kept = v.gathered = False
    v.uses = 0
    v.mask = op >= STEP_LESS or STEP_AND <= op <= STEP_BUT and s.values[a].mask and s.values[b].mask
    v.step.op, v.step.a, v.step.b = op, a, b
    s.nvalues += 1
    return s.nvalues - 1

cdef inline bint same_step(Value* v, int op, int a, int b) noexcept nogil:
    return v.step.op == op and v.step.a == a and v.step.b == b

cdef inline int element_bytes(Sketch* s) noexcept nogil:
    return 2 * s.itemsize if s.paired else s.itemsize

cdef inline bint is_scattered(GroupPlan* g, int o, int size, bint moves) noexcept nogil:
    """Whether an operand's elements, of so many bytes, are to be brought together: they do not follow each other, at
    least not for as many as are worth a loop. moves: nor can one stand for all."""
    if g.register[o] or g.storage[o] < 0:
        return False
    return g.gathers and not g.flat[o] or g.steps[o] != size and (moves or g.steps[o] != 0)

cdef int read_value(Sketch* s, int operand, bint mask, bint half, bint moves) noexcept nogil:
    """What is loaded, or the same for all elements."""
    cdef int v = new_value(s, STEP_LOAD_MASK if mask else STEP_SPREAD if not moves else
                           STEP_LOAD_NARROW if half else STEP_LOAD, 0, LOAD_HALVES if half else 0)
    s.values[v].operand = <short>operand
    s.values[v].mask = mask
    s.nslots += 1
    return v

cdef inline void gather(Sketch* s, int v) noexcept nogil:
    s.values[v].gathered = True
    s.ngathered += 1

cdef int read_narrow(Sketch* s, Kernel* k, int o) noexcept nogil:
    """The value that a cast reads as one of more bytes. It is nobody else's."""
    cdef GroupPlan* g = s.g
    cdef bint direct = k.operation == WIDEN_TO_FLOATS and k.numbers == SIGNED and k.narrow == 4 and s.itemsize == 8
    cdef int how = NARROW_TO_PAIRS if s.paired else NARROW_TO_FLOATS if direct else (
        NARROW_FLOATS if k.numbers == FLOATS else NARROW_SIGNED if k.numbers == SIGNED else NARROW_UNSIGNED)
    cdef int v = new_value(s, STEP_LOAD_NARROW, 0, k.narrow + 16 * how)
    s.values[v].operand = <short>o
    s.nslots += 1
    if g.register[o]:
        s.loaded[register_of(g, o)] = 1
    else:
        if is_scattered(g, o, k.narrow, True):
            gather(s, v)
        see(s, o, v, False, <unsigned char>k.narrow)
    return v if direct or k.operation != WIDEN_TO_FLOATS else to_floats(s, v)

cdef int literal(Sketch* s, int which) noexcept nogil:
    if s.literal[which] == NOTHING:
        s.literal[which] = <short>new_value(s, STEP_LITERAL, which, 0)
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

cdef bint add_member(Sketch* s, int j) noexcept nogil:
    """Take a member into the run. False, and nothing is changed, where it cannot be."""
    cdef GroupPlan* g = s.g
    cdef Kernel* k = g.kernels[j]
    cdef int first = g.first[j], out = g.first[j + 1] - 1, narrow = 0, i, v
    cdef int found[3]
    found[0] = found[1] = found[2] = NOTHING
    if k.operation == NO_OPERATION or k.flags & PARTIAL or s.nvalues + 24 > MAX_VALUES or s.nstores + 2 > MAX_STORES:
        return False
    if s.nslots + s.nstores + 5 > MAX_SLOTS // 2 or s.ngathered + s.nsaved + k.nin + 1 >= MAX_GATHERED:
        return False
    if not fits(s, k, first, out):
        return False
    if k.width:
        s.itemsize = k.width
        s.paired = k.numbers == COMPLEX
    if k.narrow and not shortens(k.operation):
        v = read_narrow(s, k, first)
    else:
        for i in range(k.nin):
            found[i] = value_of(s, first + i, reads_mask(k.operation, i), is_half(k, i))
        v = compute(s, k, found)
    if shortens(k.operation):
        narrow = k.narrow | (HALVED if STEP_HALVE_FLOATS <= s.values[v].step.op <= STEP_HALVE_UNSIGNED_TO_FLOATS else 0)
    elif is_half(k, k.nin):
        narrow = STORE_HALVES
    if g.register[out]:
        s.register[register_of(g, out)] = <short>v
        s.narrow[register_of(g, out)] = <unsigned char>narrow
    else:
        store(s, v, out, s.nvalues - 1, narrow)
        if is_scattered(g, out, bytes_stored(s, &s.stores[s.nstores - 1]), True):
            s.stores[s.nstores - 1].gathered = True
            s.ngathered += 1
        overwrite(s, out, v, <unsigned char>narrow)
    return True

cdef bint fits(Sketch* s, Kernel* kernel, int first, int out) noexcept nogil:
    """Whether a member's operands lie as a loop needs them, and it writes no register that the run reads from
    outside."""
    cdef GroupPlan* g = s.g
    cdef int size = kernel.width if kernel.width else s.itemsize, same = 0, bytes, i, k
    cdef bint mask, narrow, scattered
    cdef int lies
    if not size or s.itemsize and (size != s.itemsize or s.paired != (kernel.numbers == COMPLEX)):
        return False
    if not is_known(s, kernel, size):
        return False
    if g.register[out] and s.loaded[register_of(g, out)]:
        return False
    if kernel.numbers == COMPLEX:
        size *= 2
    for i in range(first, out + 1):
        lies = STORE_HALVES if is_half(kernel, i - first) else 0
        if i < out and g.register[i] and s.register[register_of(g, i)] != NOTHING and (
                s.narrow[register_of(g, i)] != lies):
            return False
        if i < out and g.register[i] and g.register[out] and register_of(g, i) == register_of(g, out) and (
                s.register[register_of(g, i)] == NOTHING):
            return False
        narrow = kernel.narrow and shortens(kernel.operation) == (i == out)
        if narrow and i < out and (s.register[register_of(g, i)] != NOTHING if g.register[i] else g.storage[i] < 0):
            return False
        if g.register[i] or g.storage[i] < 0:
            continue
        mask = gives_mask(kernel.operation) if i == out else reads_mask(kernel.operation, i - first)
        if kernel.operation == CLIP_KEEPS and kernel.numbers == FLOATS and first < i < out and not g.flat[i]:
            return False                    # by columns, it is not one number
        if size > 8 and i < out and not g.register[out] and g.storage[i] == g.storage[out]:
            return False
        bytes = 1 if mask else 2 if lies else kernel.narrow if narrow else size
        scattered = is_scattered(g, i, bytes, i == out or mask or narrow)
        # NumPy's products and exponentials of what does not lie one after the other may be rounded otherwise
        if scattered and (size > 8 or g.steps[i] != bytes and (s.paired or kernel.numbers == COMPLEX
                                                                or kernel.operation == EXP)):
            return False
        k = s.of_storage[g.storage[i]]
        while k != NOTHING:
            if s.seen[k].written and (narrow or s.seen[k].narrow != lies or not same_place(g, i, s.seen[k].operand)):
                return False
            if i == out and same_place(g, i, s.seen[k].operand):
                same += 1
            if i == out and not s.seen[k].written and (size > 8 or same > 1):   # rooms are of 8; one value is kept
                return False
            k = s.seen[k].next
    return True

cdef inline bint is_known(Sketch* s, Kernel* k, int size) noexcept nogil:
    """Whether there are instructions for it. In NEON others than ours are NumPy's way: its exp() is another one; to
    unsigned integers there are instructions that saturate; from doubles to shorter integers compilers have two ways."""
    if is_of_halves(k):                                     # NumPy tells of more that becomes too small
        return s.set != NEON and not s.g.wanted & FP_UNDER
    if s.set == NEON:
        return k.operation != EXP and k.operation != TO_UNSIGNED and (k.operation != SHORTEN_TO_INTEGERS or size == 4)
    if k.operation == TO_INTEGERS or k.operation == TO_UNSIGNED:
        return size == 4 or s.set == AVX512
    return k.operation != SHORTEN_FROM_INTEGERS or s.set == AVX512

cdef inline int bucket_of(char* p, int itemsize) noexcept nogil:
    cdef uint64_t word = 0
    memcpy(&word, p, min(itemsize, 8))
    return <int>(word * <uint64_t>0x9E3779B97F4A7C15 >> 59)

cdef int value_of(Sketch* s, int o, bint mask, bint half) noexcept nogil:
    """The value that operand o of the group reads."""
    cdef GroupPlan* g = s.g
    cdef bint constant = g.storage[o] < 0
    cdef int bytes = 1 if mask else 2 if half else element_bytes(s), k, v
    cdef unsigned char lies = STORE_HALVES if half else 0
    if g.register[o]:
        k = register_of(g, o)
        if s.register[k] == NOTHING:
            s.register[k] = <short>read_value(s, o, mask, half, True)
            s.narrow[k] = lies
            s.loaded[k] = 1
        return s.register[k]
    if constant and mask:
        return literal(s, LITERAL_ALL if g.base[o][0] else LITERAL_ZERO)
    k = s.of_constants[bucket_of(g.base[o], bytes)] if constant else s.of_storage[g.storage[o]]
    while k != NOTHING:
        v = s.seen[k].value
        if s.values[v].mask == mask and s.seen[k].narrow == lies and (
                memcmp(g.base[o], g.base[s.seen[k].operand], bytes) == 0 if constant else
                same_place(g, o, s.seen[k].operand)):
            return v
        k = s.seen[k].next
    if is_scattered(g, o, bytes, mask):
        v = read_value(s, o, mask, half, True)
        gather(s, v)
    else:
        v = read_value(s, o, mask, half, g.steps[o] != 0)
    see(s, o, v, False, lies)
    return v

cdef inline short* first_seen(Sketch* s, int operand, bint half) noexcept nogil:
    cdef GroupPlan* g = s.g
    return &s.of_storage[g.storage[operand]] if g.storage[operand] >= 0 else (
        &s.of_constants[bucket_of(g.base[operand], 2 if half else element_bytes(s))])

cdef void see(Sketch* s, int operand, int value, bint written, unsigned char narrow) noexcept nogil:
    """Note an operand in memory that the run has not met before."""
    cdef short* first = first_seen(s, operand, narrow == STORE_HALVES)
    cdef Seen* e = &s.seen[s.nseen]
    e.operand, e.value, e.written, e.next = <short>operand, <short>value, written, first[0]
    e.narrow = narrow
    first[0] = <short>s.nseen
    s.nseen += 1

cdef void overwrite(Sketch* s, int operand, int value, unsigned char narrow) noexcept nogil:
    """Note what the last store puts into an operand. Where flags may be told of, what the run had read from there is
    saved first, by the loop itself if it can: members that run again read it."""
    cdef int k = first_seen(s, operand, False)[0], old
    while k != NOTHING and not same_place(s.g, operand, s.seen[k].operand):
        k = s.seen[k].next
    if k == NOTHING:
        see(s, operand, value, True, narrow)
        return
    if not s.seen[k].written:
        old = s.seen[k].value
        s.values[old].kept = True
        s.stores[s.nstores - 1].old = <short>old
        if s.g.wanted:
            s.saved[s.nsaved] = <short>operand
            s.saved_bytes[s.nsaved] = <unsigned char>bytes_of(s, &s.values[old])
            if s.values[old].step.op == STEP_LOAD:          # what is narrower has been widened
                store(s, old, operand, old, 0)
                s.stores[s.nstores - 1].saves = <short>s.nsaved
            s.nsaved += 1
    s.seen[k].value, s.seen[k].written, s.seen[k].narrow = <short>value, True, narrow

cdef int compute(Sketch* s, Kernel* k, int* x) noexcept nogil:
    """The value of an operation of others."""
    cdef int a = x[0], b = x[1], operation = k.operation
    if operation == COPY or operation == FROM_HALVES:
        return a
    if operation == TO_HALVES:
        return new_value(s, STEP_ROUND, a, a)
    if operation >= LESS:
        return compute_mask(s, k, x)
    if shortens(operation):
        return compute_narrow(s, k, a)
    if operation == TO_FLOATS:
        return to_floats(s, a) if k.numbers == SIGNED else from_unsigned(s, a)
    if operation == TO_UNSIGNED:
        return to_unsigned(s, a)
    if operation == TRUE_DIVIDE:
        if k.numbers == SIGNED:
            return new_value(s, STEP_DIVIDE, to_floats(s, a), to_floats(s, b))
        return new_value(s, STEP_DIVIDE, from_unsigned(s, a), from_unsigned(s, b))
    if operation == CLIP or operation == CLIP_KEEPS:
        return clip(s, k, a, b, x[2])
    a = compute_one(s, k, operation, a, b)
    if k.numbers == HALVES and (ADD <= operation <= DIVIDE or SQUARE <= operation <= RECIPROCAL):   # others are exact
        return new_value(s, STEP_ROUND, a, a)
    return a

cdef int compute_one(Sketch* s, Kernel* k, int operation, int a, int b) noexcept nogil:
    """Of numbers of one type."""
    if operation == TO_INTEGERS:
        return new_value(s, STEP_TO_INTEGERS, a, a)
    if k.numbers == SIGNED or k.numbers == UNSIGNED:
        return compute_integers(s, k, operation, a, b)
    if k.numbers == HALVES and MAXIMUM <= operation <= FMIN:
        return half_extreme(s, operation, a, b)
    if operation == SQUARE:
        operation, b = MULTIPLY, a
    if operation == MULTIPLY and s.paired:
        if s.values[a].step.op == STEP_LOAD_NARROW:     # real: the same bits, and its zeros are not waited for
            a, b = b, a
        return new_value(s, STEP_PAIR_MULTIPLY, a, b)
    if operation == CONJUGATE:
        return new_value(s, STEP_XOR, a, literal(s, LITERAL_CONJUGATE))
    if operation == SIGN:
        return sign(s, a)
    if operation == NEGATIVE:
        return new_value(s, STEP_XOR, a, literal(s, LITERAL_SIGN))
    if operation == ABSOLUTE:
        return new_value(s, STEP_AND, a, literal(s, LITERAL_ALL_BUT_SIGN))
    if operation == RECIPROCAL:
        return new_value(s, STEP_DIVIDE, literal(s, LITERAL_ONE), a)
    if operation == SQRT or operation == EXP:
        return new_value(s, STEP_SQRT if operation == SQRT else STEP_EXP, a, a)
    if RINT <= operation <= TRUNC:
        return new_value(s, STEP_RINT + operation - RINT, a, a)
    if operation == COPYSIGN:
        a = new_value(s, STEP_AND, a, literal(s, LITERAL_ALL_BUT_SIGN))
        b = new_value(s, STEP_AND, b, literal(s, LITERAL_SIGN))
        return new_value(s, STEP_OR, a, b)
    return new_value(s, STEP_ADD if operation == ADD else STEP_SUBTRACT if operation == SUBTRACT else
                     STEP_MULTIPLY if operation == MULTIPLY else STEP_DIVIDE if operation == DIVIDE else
                     STEP_MAXIMUM if operation == MAXIMUM else STEP_MINIMUM if operation == MINIMUM else
                     STEP_FMAX if operation == FMAX else STEP_FMIN, a, b)

cdef int clip(Sketch* s, Kernel* k, int a, int low, int high) noexcept nogil:
    """Of zeros the extremes are the second one."""
    if k.operation == CLIP_KEEPS and k.numbers == HALVES:
        return half_extreme(s, MINIMUM, half_extreme(s, MAXIMUM, a, low), high)
    if k.operation == CLIP_KEEPS and s.values[low].step.op == s.values[high].step.op == STEP_SPREAD:
        return limit(s, k, MINIMUM, high, limit(s, k, MAXIMUM, low, a))
    return limit(s, k, MINIMUM, limit(s, k, MAXIMUM, a, low), high)

cdef int limit(Sketch* s, Kernel* k, int operation, int a, int b) noexcept nogil:
    """The extreme for clip(). NEON's is another one of zeros: so a where it is a NaN or goes beyond b, or else b."""
    cdef int chosen
    if k.numbers != HALVES and (s.set != NEON or k.numbers != FLOATS):
        return compute_one(s, k, operation, a, b)
    chosen = new_value(s, STEP_LESS, b, a) if operation == MAXIMUM else new_value(s, STEP_LESS, a, b)
    return choose(s, either(s, chosen, is_nan(s, a)), a, b)

cdef int half_extreme(Sketch* s, int operation, int a, int b) noexcept nogil:
    """Of zeros, and of NaNs, NumPy's of halves is the first one."""
    cdef int nan = a if operation == MAXIMUM or operation == MINIMUM else b
    cdef int chosen = new_value(s, STEP_LESS_EQUAL, b, a) if operation == MAXIMUM or operation == FMAX else (
        new_value(s, STEP_LESS_EQUAL, a, b))
    return choose(s, either(s, chosen, is_nan(s, nan)), a, b)

cdef inline int is_nan(Sketch* s, int a) noexcept nogil:
    return new_value(s, STEP_NOT_EQUAL, a, a)

cdef inline int either(Sketch* s, int a, int b) noexcept nogil:
    return new_value(s, STEP_OR, a, b)

cdef inline int choose(Sketch* s, int mask, int a, int b) noexcept nogil:
    a = new_value(s, STEP_AND, mask, a)
    return new_value(s, STEP_OR, a, new_value(s, STEP_BUT, mask, b))

cdef int sign(Sketch* s, int a) noexcept nogil:
    """1 with the sign of a, and nothing where that is 0; with a NaN's bits, which have those of 1."""
    cdef int one = new_value(s, STEP_AND, a, literal(s, LITERAL_SIGN)), nan
    one = new_value(s, STEP_OR, one, literal(s, LITERAL_ONE))
    one = new_value(s, STEP_AND, new_value(s, STEP_NOT_EQUAL, a, literal(s, LITERAL_ZERO)), one)
    nan = new_value(s, STEP_AND, new_value(s, STEP_NOT_EQUAL, a, a), a)
    return new_value(s, STEP_OR, one, nan)

cdef int compute_narrow(Sketch* s, Kernel* k, int a) noexcept nogil:
    """What the first bytes of are stored."""
    if k.operation == SHORTEN_FROM_INTEGERS:
        return new_value(s, STEP_HALVE_TO_FLOATS if k.numbers == SIGNED else STEP_HALVE_UNSIGNED_TO_FLOATS, a, a)
    if k.numbers != FLOATS:
        return a
    if k.operation == SHORTEN:
        return new_value(s, STEP_HALVE_FLOATS, a, a)
    return new_value(s, STEP_TO_INTEGERS if s.itemsize == 4 else STEP_HALVE_TO_INTEGERS, a, a)

cdef int to_unsigned(Sketch* s, int a) noexcept nogil:
    """As compilers do it: what is 2**63 or more without that, which is put back afterwards."""
    cdef int large = new_value(s, STEP_LESS_EQUAL, literal(s, LITERAL_2_63), a)
    a = new_value(s, STEP_SUBTRACT, a, new_value(s, STEP_AND, large, literal(s, LITERAL_2_63)))
    a = new_value(s, STEP_TO_INTEGERS, a, a)
    return new_value(s, STEP_XOR, a, new_value(s, STEP_AND, large, literal(s, LITERAL_SIGN)))

cdef int to_floats(Sketch* s, int a) noexcept nogil:
    return to_doubles(s, a) if s.set == AVX2 and s.itemsize == 8 else new_value(s, STEP_TO_FLOATS, a, a)

cdef int to_doubles(Sketch* s, int a) noexcept nogil:
    """Without an instruction for it: the halves of a as the last bits of doubles, 2**52 + low and 2**84 + 2**63 +
    2**32 high. Of what follows the last step alone rounds."""
    cdef int low = new_value(s, STEP_AND, a, literal(s, LITERAL_LOW)), high
    low = new_value(s, STEP_OR, low, literal(s, LITERAL_2_52))
    high = new_value(s, STEP_SHIFT_RIGHT, a, literal(s, LITERAL_HALF))
    high = new_value(s, STEP_XOR, high, literal(s, LITERAL_2_84_63))
    high = new_value(s, STEP_SUBTRACT, high, literal(s, LITERAL_ALL_THREE))
    return new_value(s, STEP_ADD, high, low)

cdef int from_unsigned(Sketch* s, int a) noexcept nogil:
    """The same of unsigned ones, of 4 bytes, too: 2**23 + low and 2**39 + 2**16 high."""
    cdef int low, high
    if s.set != AVX2:
        return new_value(s, STEP_UNSIGNED_TO_FLOATS, a, a)
    low = new_value(s, STEP_AND, a, literal(s, LITERAL_LOW))
    low = new_value(s, STEP_OR, low, literal(s, LITERAL_2_52))
    high = new_value(s, STEP_SHIFT_RIGHT, a, literal(s, LITERAL_HALF))
    high = new_value(s, STEP_OR, high, literal(s, LITERAL_2_84))
    high = new_value(s, STEP_SUBTRACT, high, literal(s, LITERAL_2_84_52))
    return new_value(s, STEP_ADD, high, low)

cdef int compute_integers(Sketch* s, Kernel* k, int operation, int a, int b) noexcept nogil:
    """The same of integers. The steps are for signed ones, in whose order others are with the first bit turned."""
    cdef int v
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
    if operation == SIGN and k.numbers == UNSIGNED:
        return new_value(s, STEP_AND, new_value(s, STEP_INT_NOT_EQUAL, a, literal(s, LITERAL_ZERO)),
                         literal(s, LITERAL_INT_ONE))
    if operation == SIGN:                       # what is true is -1
        v = new_value(s, STEP_INT_LESS, literal(s, LITERAL_ZERO), a)
        return new_value(s, STEP_INT_SUBTRACT, new_value(s, STEP_INT_LESS, a, literal(s, LITERAL_ZERO)), v)
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
    cdef bint floats = k.numbers == FLOATS or k.numbers == HALVES
    cdef int less = STEP_LESS if floats else STEP_INT_LESS
    if operation == EQUAL or operation == NOT_EQUAL:
        return new_value(s, less + operation - LESS, a, b)
    if operation == NOT_ZERO or operation == IS_ZERO:
        less += (NOT_EQUAL if operation == NOT_ZERO else EQUAL) - LESS
        return new_value(s, less, a, literal(s, LITERAL_ZERO))
    if operation == BOTH or operation == EITHER or operation == ONE_OF:
        a = new_value(s, less + NOT_EQUAL - LESS, a, literal(s, LITERAL_ZERO))
        b = new_value(s, less + NOT_EQUAL - LESS, b, literal(s, LITERAL_ZERO))
        return new_value(s, STEP_AND if operation == BOTH else STEP_OR if operation == EITHER else STEP_XOR, a, b)
    if operation == SIGNBIT:
        return new_value(s, STEP_INT_LESS, a, literal(s, LITERAL_ZERO))
    if operation == BYTE_IF:
        return a
    if operation == LESS or operation == LESS_EQUAL:
        return new_value(s, less + operation - LESS, ordered(s, k, a), ordered(s, k, b))
    if operation == GREATER or operation == GREATER_EQUAL:
        return new_value(s, less + operation - GREATER, ordered(s, k, b), ordered(s, k, a))
    if operation == ISNAN:
        return is_nan(s, a)
    if operation == ISINF or operation == ISFINITE:
        a = new_value(s, STEP_AND, a, literal(s, LITERAL_ALL_BUT_SIGN))
        return new_value(s, STEP_EQUAL if operation == ISINF else STEP_LESS, a, literal(s, LITERAL_INFINITY))
    if operation == NOT:
        return new_value(s, STEP_XOR, a, literal(s, LITERAL_ALL))
    if operation == ONE_IF:
        return new_value(s, STEP_AND, a, literal(s, LITERAL_ONE if floats else LITERAL_INT_ONE))
    if operation == WHERE:
        return choose(s, a, b, x[2])
    return new_value(s, STEP_AND if operation == AND else STEP_OR if operation == OR else STEP_XOR, a, b)

cdef void store(Sketch* s, int value, int operand, int place, int narrow) noexcept nogil:
    cdef Store* t = &s.stores[s.nstores]
    t.value, t.operand, t.place = <short>value, <short>operand, place
    t.old = t.saves = NOTHING
    t.gathered = False
    t.narrow = <unsigned char>narrow
    s.nstores += 1

cdef inline int bytes_stored(Sketch* s, Store* t) noexcept nogil:
    return 1 if s.values[t.value].mask else t.narrow & 15 if t.narrow else element_bytes(s)

cdef void store_results(Sketch* s, int end) noexcept nogil:
    """Store what members from `end` on read of the run's results in registers: the last that each register has."""
    cdef GroupPlan* g = s.g
    cdef char wanted[MAX_OPERANDS]
    cdef int j, out, number
    find_reads(g, end, wanted)
    for j in range(end - 1, s.first - 1, -1):
        out = g.first[j + 1] - 1
        number = register_of(g, out)
        if g.register[out] and s.register[number] != NOTHING:
            if wanted[number]:
                store(s, s.register[number], out, s.register[number], s.narrow[number])
            s.register[number] = NOTHING

cdef void find_reads(GroupPlan* g, int j, char* wanted) noexcept nogil:
    """Which registers a member from j on, or the tail, reads before one writes them."""
    cdef char known[MAX_OPERANDS]
    cdef int i, first_output
    memset(known, 0, g.nregisters + g.ninner)
    memset(wanted, 0, g.nregisters + g.ninner)
    while j < g.members:
        first_output = g.first[j] + g.kernels[j].nin
        for i in range(g.first[j], g.first[j + 1]):
            if g.register[i] and not known[register_of(g, i)]:
                known[register_of(g, i)] = 1
                wanted[register_of(g, i)] = i < first_output or (
                    g.kernels[j].flags & PARTIAL != 0)          # what a mask leaves as it was is read, too
        j += 1

# ---- registers -----------------------------------------------------------------------------------------------------

cdef struct Writing:            # of steps
    Sketch* s
    NativeRun* r
    Step steps[MAX_STEPS]
    int n
    short holds[MAX_VECTORS]    # the value in each vector, or NOTHING
    char rooms[MAX_ROOMS]       # 1: taken
    int nvectors
    int nrooms                  # that there may be

cdef bint write_steps(Sketch* s, NativeRun* r, int end) noexcept nogil:
    """Give values vectors of the processor, and look the loop up. Where they are too few, that which is read last goes
    to the stack. False: it is too long."""
    cdef Writing w
    cdef Value* v
    cdef int i, op, k = 0
    w.s, w.r, w.n, w.nvectors, w.nrooms = s, r, 0, vectors_of(s.set, s.paired), MAX_ROOMS
    for i in range(s.nvalues):
        if s.values[i].step.op == STEP_EXP:
            w.nvectors = vectors_of(s.set, s.paired) - OF_EXP
            break
    for i in range(w.nvectors):
        w.holds[i] = NOTHING
    memset(w.rooms, 0, sizeof(w.rooms))
    r.first, r.end, r.slots, r.segmented, r.ngathered, r.nsaved = s.first, end, 0, False, 0, s.nsaved
    r.raised = False
    memcpy(r.saved, s.saved, s.nsaved * sizeof(short))
    memcpy(r.saved_bytes, s.saved_bytes, s.nsaved)
    memset(r.saved_slot, NOTHING, s.nsaved * sizeof(short))
    sort_stores(s)
    if not pin(&w, note_uses(s)):
        return False
    for i in range(s.nvalues):
        if w.n + 16 > MAX_STEPS or not define(&w, i):
            return False
        while k < s.nstores and s.stores[k].place == i:
            if w.n + 4 > MAX_STEPS or not bring(&w, s.stores[k].value, NOTHING) or not rescue(&w, &s.stores[k]):
                return False
            v = &s.values[s.stores[k].value]
            if r.slots == MAX_SLOTS:
                return False
            op = STEP_STORE_MASK if v.mask else STEP_STORE_NARROW if s.stores[k].narrow else STEP_STORE
            if s.stores[k].saves != NOTHING:
                r.saved_slot[s.stores[k].saves] = <short>r.slots
            put(&w, op, v.vector, slot_for(r, s.stores[k].operand), s.stores[k].narrow)
            if s.stores[k].gathered:
                note_gathered(r, r.slots - 1, bytes_stored(s, &s.stores[k]), True)
            v.next = s.stores[k].after
            release(&w, v)
            k += 1
    r.segmented = walks(s.g, r)
    r.loop = find_loop(w.steps, w.n, s.itemsize | (PAIRED if s.paired else 0), s.set, s.at_once, s.g.held)
    return True

cdef bint walks(GroupPlan* g, NativeRun* r) noexcept nogil:
    """Whether the loop goes over rows, for an operand in memory that is not brought together."""
    cdef bint together[MAX_SLOTS]
    cdef int i
    memset(together, 0, r.slots * sizeof(bint))
    for i in range(r.ngathered):
        together[r.gathered[i]] = True
    for i in range(r.slots):
        if not together[i] and not g.register[r.slot[i]] and not g.flat[r.slot[i]]:
            return True
    return False

cdef inline void note_gathered(NativeRun* r, int slot, int bytes, bint gives) noexcept nogil:
    r.gathered[r.ngathered] = <unsigned char>slot
    r.gathered_bytes[r.ngathered] = <unsigned char>bytes
    r.gives[r.ngathered] = gives
    r.ngathered += 1

cdef inline void put(Writing* w, int op, int to, int a, int b) noexcept nogil:
    cdef Step* step = &w.steps[w.n]
    step.op, step.to, step.a, step.b = <unsigned char>op, <unsigned char>to, <unsigned char>a, <unsigned char>b
    w.n += 1

cdef inline bint is_fixed(Value* v) noexcept nogil:
    """Whether it is the same for all elements."""
    return v.step.op == STEP_SPREAD or v.step.op == STEP_LITERAL

cdef void sort_stores(Sketch* s) noexcept nogil:
    """By their places; those of one place stay in their order."""
    cdef Store t
    cdef int i, k
    for i in range(1, s.nstores):               # those that save come early, all others nearly in order
        t = s.stores[i]
        k = i
        while k > 0 and s.stores[k - 1].place > t.place:
            s.stores[k] = s.stores[k - 1]
            k -= 1
        s.stores[k] = t

cdef int note_uses(Sketch* s) noexcept nogil:
    """When each value is read, backwards. The most values, but the fixed ones, that are needed at a time."""
    cdef Value* v
    cdef int i, k = s.nstores - 1, live = 0, most = 0
    for i in range(s.nvalues):
        s.values[i].next = FAR
    for i in range(s.nvalues - 1, -1, -1):
        while k >= 0 and s.stores[k].place == i:
            v = &s.values[s.stores[k].value]
            live += v.next == FAR and not is_fixed(v)
            s.stores[k].after = v.next
            v.next = 2 * i + 1
            v.uses += 1
            k -= 1
        most = max(most, live)
        v = &s.values[i]
        live -= v.next != FAR and not is_fixed(v)
        if v.step.op >= STEP_ADD:
            v.after_a, v.after_b = s.values[v.step.a].next, s.values[v.step.b].next
            live += v.after_a == FAR and not is_fixed(&s.values[v.step.a])
            s.values[v.step.a].next = 2 * i
            live += s.values[v.step.b].next == FAR and not is_fixed(&s.values[v.step.b])
            s.values[v.step.b].next = 2 * i
            s.values[v.step.a].uses += 1
            s.values[v.step.b].uses += 1
    return most

cdef int plan_copies(Writing* w, int most) noexcept nogil:
    """Choose how many vectors a turn of the loop computes: several, if the processor has vectors for that, with all of
    the fixed values besides, or two, with some of them. How many of these are to have vectors throughout."""
    cdef Sketch* s = w.s
    cdef int i, literals = 0, fixed = 0, arithmetic = 0, many, own
    for i in range(s.nvalues):
        arithmetic += s.values[i].step.op >= STEP_ADD
        fixed += is_fixed(&s.values[i])
        literals += s.values[i].step.op == STEP_LITERAL
    own = max(most, 3)
    many = min(MOST_COPIES if arithmetic > LONG else COPIES, (w.nvectors - fixed) // own)
    if many < 2:                                    # what has no vector throughout needs one when it is read
        many, own = 2, own + 1
        fixed = min(fixed, w.nvectors - many * own)
    if s.set == NEON or fixed < literals:
        return max(w.nvectors - most, w.nvectors // 4)
    own = (w.nvectors - fixed) // many
    put(w, STEP_COPIES, many, fixed, own)
    w.nrooms = MAX_ROOMS // many
    w.nvectors = fixed + own
    return fixed

cdef bint pin(Writing* w, int most) noexcept nogil:
    """Give fixed values vectors throughout: literals, and of the others, while there are enough besides, those that are
    read most. False: literals alone are too many."""
    cdef Sketch* s = w.s
    cdef Value* v
    cdef Value* best
    cdef int i, n = 0, places = plan_copies(w, most)
    for i in range(s.nvalues):
        if s.values[i].step.op == STEP_LITERAL:
            if n + 3 >= w.nvectors:             # a step has two operands and a result
                return False
            v = &s.values[i]
            v.vector, v.pinned = <short>n, True
            w.holds[n] = <short>i
            put(w, STEP_LITERAL, n, v.step.a, 0)
            n += 1
    while n < places:
        best = NULL
        for i in range(s.nvalues):
            v = &s.values[i]
            if v.step.op == STEP_SPREAD and not v.pinned and (best == NULL or v.uses > best.uses):
                best = v
        if best == NULL:
            break
        best.vector, best.pinned = <short>n, True
        w.holds[n] = <short>(best - s.values)
        put(w, STEP_SPREAD, n, slot_of(w, best), best.step.b)
        n += 1
    return True

cdef bint define(Writing* w, int i) noexcept nogil:
    """Compute value i. False: there is no room."""
    cdef Value* v = &w.s.values[i]
    cdef Value* a
    cdef Value* b
    cdef int first, second
    if v.pinned or v.step.op < STEP_ADD:            # loaded where it is read first
        return True
    a, b = &w.s.values[v.step.a], &w.s.values[v.step.b]
    if not bring(w, v.step.a, v.step.b) or not bring(w, v.step.b, v.step.a):
        return False
    first, second = a.vector, b.vector
    a.next = v.after_a
    b.next = v.after_b
    release(w, a)
    release(w, b)
    if not take(w, i, v.step.a, v.step.b):
        return False
    put(w, v.step.op, v.vector, first, second)
    release(w, v)                                   # nobody may read it: it is there for its flags
    return True

cdef bint bring(Writing* w, int i, int beside) noexcept nogil:
    """See that value i has a vector, and does not take that of another one. False: there is no room."""
    cdef Value* v = &w.s.values[i]
    cdef int op = v.step.op
    if v.vector != NOTHING:
        return True
    if w.r.slots == MAX_SLOTS or not take(w, i, beside, NOTHING):
        return False
    if v.room != NOTHING:
        put(w, STEP_TAKE_BACK, v.vector, v.room, 0)
    else:
        put(w, STEP_LOAD_ONE if op == STEP_SPREAD else op, v.vector, slot_of(w, v), v.step.b)
    return True

cdef bint rescue(Writing* w, Store* t) noexcept nogil:
    """Load what a store overwrites, if it is read only later. False: there is no room."""
    cdef Value* v
    if t.old == NOTHING:
        return True
    v = &w.s.values[t.old]
    return v.room != NOTHING or v.next == FAR or bring(w, t.old, t.value)

cdef bint take(Writing* w, int i, int beside, int another) noexcept nogil:
    """Give value i a vector: that of what is read last, if none is free. False: there is no room to put that off."""
    cdef Value* v
    cdef Value* last = NULL
    cdef int k, room = 0
    for k in range(w.nvectors):
        if w.holds[k] == NOTHING:
            break
        v = &w.s.values[w.holds[k]]
        if not v.pinned and w.holds[k] != beside and w.holds[k] != another and (last == NULL or v.next > last.next):
            last = v
    else:
        if last == NULL:
            return False
        k = last.vector
        if (last.step.op >= STEP_ADD or last.kept) and last.room == NOTHING:
            while room < w.nrooms and w.rooms[room]:
                room += 1
            if room == w.nrooms:
                return False
            w.rooms[room] = 1
            last.room = <short>room
            put(w, STEP_PUT_OFF, k, room, 0)
        last.vector = NOTHING
    w.holds[k] = <short>i
    w.s.values[i].vector = <short>k
    return True

cdef inline void release(Writing* w, Value* v) noexcept nogil:
    """The vector and the room of what is read no more."""
    if v.next != FAR or v.pinned or v.vector == NOTHING:
        return
    w.holds[v.vector] = v.vector = NOTHING
    if v.room != NOTHING:
        w.rooms[v.room] = 0

cdef inline unsigned char slot_for(NativeRun* r, int operand) noexcept nogil:
    """The number of another operand of the group among those of the loop."""
    r.slot[r.slots] = <short>operand
    r.slots += 1
    return <unsigned char>(r.slots - 1)

cdef inline int bytes_of(Sketch* s, Value* v) noexcept nogil:
    return 1 if v.mask else v.step.b & 15 if v.step.op == STEP_LOAD_NARROW else element_bytes(s)

cdef int slot_of(Writing* w, Value* v) noexcept nogil:
    """The same of what is loaded."""
    cdef NativeRun* r = w.r
    if v.slot == NOTHING:
        v.slot = slot_for(r, v.operand)
        if v.gathered:
            note_gathered(r, v.slot, bytes_of(w.s, v), False)
    return v.slot
