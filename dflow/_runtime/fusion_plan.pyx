"""How a group runs: see _runtime/fusion_plan.pxd."""

from libc.string cimport memset
from dflow._base.allocator cimport memory_new
from dflow._base.atomics cimport load_int, load_ptr
from dflow._kernels.kernel cimport intp, PARTIAL, REDUCES
from dflow._kernels.outer_loop cimport NARROW
from dflow._kernels.reduce cimport fold_block, fold_of, group_block
from dflow._runtime.fusion_rules cimport row_of
from dflow._runtime.fusion_space cimport (
    advance_axes, axes_of, begin_axes, Cursor, MAX_AXES, refine, same_lengths, same_map, Space, space_of, step_of)
from dflow._runtime.graph cimport *
from dflow._runtime.tuning cimport SHARES

cdef struct Used:                   # a storage as the group uses it
    Storage* storage
    Task* task                      # of its first access,
    int operand                     # and which
    int uses                        # accesses,
    int left                        # and those that are still to come
    int number                      # its register; or one of:

cdef enum:
    MEMORY = -2
    PERHAPS = -1                    # a register, if the group alone refers to the storage

cdef enum:
    LEAST_BYTES = 64                # of an element in memory, up to which all of it counts as in use at a time
    LEAST_ALONE = 1024              # elements of a block of one task, or loop, where blocks are to be shared out
    SLOTS = 2048                    # of the hash table; a power of two over MAX_OPERANDS

# Results do not depend on these: the fuzzer sets them, while nothing is pending.
cdef intp L1_BYTES = 24576          # of the first-level cache that a block may take
cdef intp MIN_BLOCK = 128
cdef intp STREAMED = 4096           # of one native loop
cdef intp ALONE = 1 << 15           # elements of a block of one task: nothing is used twice
cdef intp MANY_ROWS = 32

def set_threshold(str name, intp value):
    """Set one of these. Returns what it was."""
    cdef intp* place = NULL
    if name == "L1_BYTES":
        place = &L1_BYTES
    elif name == "MIN_BLOCK":
        place = &MIN_BLOCK
    elif name == "STREAMED":
        place = &STREAMED
    elif name == "ALONE":
        place = &ALONE
    elif name == "MANY_ROWS":
        place = &MANY_ROWS
    elif name == "NARROW":
        place = &NARROW
    if place == NULL or value < 1:
        raise ValueError(f"{name} = {value}")
    before, place[0] = place[0], value
    return before

cdef struct Table:                  # of storages, hashed by their addresses
    short slots[SLOTS]              # number in `used`, plus 1; 0: free
    int n
    Used used[MAX_OPERANDS]

cdef inline short enter(Table* table, Storage* s) noexcept nogil:
    """The number of s; a new one has no uses yet."""
    cdef size_t h = (<size_t>s >> 4) * <size_t>0x9E3779B97F4A7C15
    cdef int k = <int>(h >> 53)
    while table.slots[k] and table.used[table.slots[k] - 1].storage != s:
        k = (k + 1) & (SLOTS - 1)
    if not table.slots[k]:
        table.used[table.n].storage = s
        table.used[table.n].uses = 0
        table.n += 1
        table.slots[k] = <short>table.n
    return table.slots[k] - 1

cdef bint plan_group(Task* leader, GroupPlan* g) noexcept nogil:
    cdef Table table
    cdef Space space
    cdef bint flat = True
    cdef int i
    memset(table.slots, 0, sizeof(table.slots))
    table.n = 0
    g.partials = NULL
    g.natives = g.nrooms = g.ninner = g.parts_state = 0
    g.parts = NULL
    memset(g.held, 0, sizeof(g.held))
    g.gathers = False
    space_of(leader, &space)
    if space.ndim > MAX_AXES or not survey(leader, g, &table, &flat) or not place_storages(g, leader, &table):
        return False
    if flat:
        g.ndim = 1
        g.dims[0] = g.total = task_dims(leader)[0]
        for i in range(g.nops):
            g.flat[i] = not g.register[i]
        for i in range(g.runs):
            g.segmented[i] = False
    else:
        lay_out(leader, g, &space)
    g.cost *= g.total
    return True

cdef bint plan_blocks(GroupPlan* g) noexcept nogil:
    place_registers(g)
    choose_block(g)
    return (g.tail == NULL and g.row == 0) or plan_rows(g)

cdef bint lay_out_group(Task* leader, GroupPlan* g) noexcept nogil:
    """The dims and strides of a group that runs elsewhere. False when an operand is poisoned."""
    cdef Table table
    cdef Space space
    cdef bint flat = True
    memset(table.slots, 0, sizeof(table.slots))
    table.n = 0
    g.partials = NULL
    space_of(leader, &space)
    if space.ndim > MAX_AXES or not survey(leader, g, &table, &flat):
        return False
    lay_out(leader, g, &space)
    return True

cdef bint survey(Task* leader, GroupPlan* g, Table* table, bint* flat) noexcept nogil:
    """List members and the storages they use. False when one is poisoned."""
    cdef Task* m = leader
    cdef Access* a
    cdef Used* u
    cdef int i, n = 0, j = 0
    g.tail = NULL
    g.row = 0
    g.cost = 0
    g.wanted = 0
    while m != NULL:
        g.kernels[j] = m.kernel
        g.first[j] = n
        g.flags[j] = 0
        g.cost += m.kernel.cost
        g.wanted |= m.fp_warn
        flat[0] = flat[0] and m.flags & FLAT
        a = accesses(m)
        for i in range(m.nops):
            g.register[n] = IN_MEMORY
            g.steps[n] = step_of(m, m.ndim - 1, i)
            if a[i].storage == NULL:
                g.base[n] = constant_of(m, i)
                g.storage[n] = -1
            else:
                if load_ptr(&a[i].storage.poison) != NULL:
                    return False
                g.storage[n] = enter(table, a[i].storage)
                count_use(&table.used[g.storage[n]], m, i)
            n += 1
        if m.kernel.flags & REDUCES:
            note_reduction(m, g, g.first[j], n)
        j += 1
        m = next_member(m)
    g.members = j
    g.nstorages = table.n
    g.runs = j if g.tail == NULL else j - 1
    g.nops = g.first[j] = n
    return True

cdef inline void count_use(Used* u, Task* m, int i) noexcept nogil:
    """Operand i of m uses a storage."""
    if u.uses == 0:
        u.task = m
        u.operand = i
        # A register begins with a write of everything, and no part of it is seen in another way.
        u.number = PERHAPS if (accesses(m)[i].key & (WRITE | FULL)) == (WRITE | FULL) and (
            not m.kernel.flags & (PARTIAL | REDUCES)) else MEMORY
    elif u.number == PERHAPS and not same_map(m, i, u.task, u.operand):
        u.number = MEMORY
    u.uses += 1
    u.left = u.uses

cdef void note_reduction(Task* m, GroupPlan* g, int first, int end) noexcept nogil:
    """Rows of m, a reduction with operands [first, end): each within a block, or else m is the tail."""
    cdef int i
    cdef intp row = row_of(m)
    if row:
        g.row = row
        return
    g.tail = fold_of(m.kernel)
    g.tail_input = first
    g.tail_output = end - 1
    g.initial = g.base[end - 2] if g.tail.initial else NULL
    g.length = 1
    for i in range(m.ncore):
        g.length *= task_dims(m)[m.ndim + i]

cdef bint place_storages(GroupPlan* g, Task* leader, Table* table) noexcept nogil:
    """Give registers to results that the group alone refers to, memory to the rest. False when there is none."""
    cdef Task* m = leader
    cdef Used* u
    cdef int i, size, n = 0, all = 0, live = 0, most = 0, ended
    g.nregisters = 0
    g.register_bytes = 1
    g.saved = 0
    while m != NULL:
        ended = 0
        for i in range(m.nops):
            if accesses(m)[i].storage != NULL:
                u = &table.used[g.storage[n]]
                if u.number == PERHAPS:
                    u.number = pick_register(g, u)
                if u.number == MEMORY:
                    size = itemsize_of(accesses(m) + i)
                    if u.left == u.uses:
                        all += size
                        live += size
                    u.left -= 1
                    if u.left == 0:
                        ended += size
                if not place_operand(g, n, accesses(m) + i, u):
                    return False
            n += 1
        most = max(most, live)
        live -= ended
        m = next_member(m)
    g.memory_bytes = min(all, max(most, LEAST_BYTES))
    return True

cdef inline int pick_register(GroupPlan* g, Used* u) noexcept nogil:
    """A register for a result, or MEMORY if it is referred to from outside the group."""
    # more than this group's accesses (if not, no more can come), or others see the memory
    if load_int(&u.storage.refs) != u.uses or u.storage.foreign & OTHERS:
        return MEMORY
    g.saved += u.storage.nbytes
    g.nregisters += 1
    return g.nregisters - 1

cdef inline bint place_operand(GroupPlan* g, int n, Access* a, Used* u) noexcept nogil:
    """Where operand n of the group lies. False: no memory."""
    if u.number >= 0:
        g.register[n] = BLOCK
        g.base[n] = <char*><size_t>u.number
        g.steps[n] = itemsize_of(a)
        if <size_t>g.steps[n] > g.register_bytes:
            g.register_bytes = <size_t>g.steps[n]
    else:
        if not storage_allocate(u.storage):
            return False
        g.base[n] = u.storage.data + offset_of(a)
    return True

cdef void lay_out(Task* leader, GroupPlan* g, Space* space) noexcept nogil:
    """Strides of all operands along the axes that all members share; axes are joined where all of memory allows it."""
    share_axes(leader, space)
    set_strides(leader, g, space)
    join_axes(g, space)
    note_order(g)

cdef void share_axes(Task* leader, Space* space) noexcept nogil:
    """Refine the space until the axes of all members are products of its own. It has one at least."""
    cdef Task* m = leader
    while m != NULL:
        refine(space, m)
        m = next_member(m)
    if space.ndim == 0:
        space.ndim = 1
        space.dims[0] = 1

cdef void set_strides(Task* leader, GroupPlan* g, Space* space) noexcept nogil:
    """Of all operands along the axes of the space."""
    cdef Task* m = leader
    cdef Cursor c
    cdef intp length
    cdef int i, d, n = 0
    while m != NULL:
        if axes_of(m) == space.ndim and same_lengths(task_dims(m), space.dims, space.ndim):
            for d in range(space.ndim):
                for i in range(m.nops):
                    g.strides[d][n + i] = step_of(m, d, i)
        elif axes_of(m) == 1:
            length = 1
            for d in range(space.ndim - 1, -1, -1):
                for i in range(m.nops):
                    g.strides[d][n + i] = step_of(m, 0, i) * length
                length *= space.dims[d]
        else:
            for i in range(m.nops):
                begin_axes(&c, m, i)
                for d in range(space.ndim - 1, -1, -1):
                    g.strides[d][n + i] = c.step
                    advance_axes(&c, space.dims[d])
        n += m.nops
        m = next_member(m)

cdef void join_axes(GroupPlan* g, Space* space) noexcept nogil:
    """Join an axis to the one outside it where no operand in memory has a gap between them."""
    cdef int i, d, x = 0
    cdef bint joined
    g.total = g.dims[0] = space.dims[0]
    for d in range(1, space.ndim):
        joined = True
        for i in range(g.nops):
            if not g.register[i] and g.strides[x][i] != g.strides[d][i] * space.dims[d]:
                joined = False
                break
        g.total *= space.dims[d]
        if joined:
            g.dims[x] *= space.dims[d]
        else:
            x += 1
            g.dims[x] = space.dims[d]
        for i in range(g.nops):
            g.strides[x][i] = g.strides[d][i]
    g.ndim = x + 1

cdef void note_order(GroupPlan* g) noexcept nogil:
    """Which operands lie in the order of iteration, and which members have others."""
    cdef int i, d, x = g.ndim - 1
    for i in range(g.nops):
        if not g.register[i]:
            g.steps[i] = g.strides[x][i]
        g.flat[i] = not g.register[i]
        for d in range(x):
            if g.strides[d][i] != g.strides[d + 1][i] * g.dims[d + 1]:
                g.flat[i] = False
    for d in range(g.runs):
        g.segmented[d] = False
        for i in range(g.first[d], g.first[d + 1]):
            if not g.flat[i] and not g.register[i]:
                g.segmented[d] = True

cdef void choose_block(GroupPlan* g) noexcept nogil:
    """How many elements run at once: what is in use of them fits the first-level cache."""
    cdef intp inner = g.dims[g.ndim - 1], block, most
    cdef int d
    if g.tail != NULL:                  # a fixed number, on which the result depends, unless it is exact
        block = fold_block(g.tail)
        while block > group_block(g.tail) and room_of(g) * block > L1_BYTES:
            block //= 2
        block = min(block, g.length)    # and of one row: it becomes one partial result
    else:
        if one_loop(g):
            block = min(STREAMED, max(LEAST_ALONE, g.total // (2 * SHARES)))
        elif g.members == 1:
            block = min(ALONE, max(LEAST_ALONE, g.total // SHARES))
        else:
            block = L1_BYTES // bytes_in_use(g)
            if block < MIN_BLOCK:
                block = MIN_BLOCK
        most = STACK_BYTES // 2 // max(room_of(g), 1)
        if block > most:
            block = most
        if block > 64:
            block = block // 64 * 64
        g.length = g.total
        if g.row:
            g.length = g.row
            if block < g.row:
                block = g.row
        elif g.ndim > 1:                # whole rows of memory, or equal parts of them
            if inner <= block:
                for d in range(g.ndim - 2, 0, -1):      # whole planes of them, too
                    if inner * g.dims[d] > block:
                        break
                    inner *= g.dims[d]
                block = block // inner * inner
            else:
                most = (inner + block - 1) // block
                block = (inner + most - 1) // most
                if g.members == 1:          # of whole vectors: loops differ, by where these begin, in signs of zeros
                    block = (block + 63) // 64 * 64
                g.length = inner
    count_blocks(g, block)

cdef inline bint one_loop(GroupPlan* g) noexcept nogil:
    """Whether a native loop computes all of it: nothing but what flags are told of depends on where blocks end."""
    return g.natives == 1 and g.native[0].end - g.native[0].first == g.members and g.nregisters == 0

cdef inline intp room_of(GroupPlan* g) noexcept nogil:
    """Bytes of an element in all registers, and in the rooms of native loops."""
    return g.nregisters * <intp>g.register_bytes + g.nrooms * 8

cdef inline intp bytes_in_use(GroupPlan* g) noexcept nogil:
    """The same with what is in memory."""
    return max(room_of(g) + g.memory_bytes, 1)

cdef struct Pool:                   # of registers of a kind
    int n
    char taken[MAX_OPERANDS]

cdef void place_registers(GroupPlan* g) noexcept nogil:
    """Which registers need a block each, and which operands each block needs: those of members that run one by one,
    and of native loops. Inside these are others. One that is read no more gives its place to the next."""
    cdef Pool blocks, inners
    cdef Pool* pool
    cdef char kind[MAX_OPERANDS]        # of each register
    cdef short number[MAX_OPERANDS]     # its place
    cdef short last[MAX_OPERANDS]       # the member after which it is read no more
    cdef short next[MAX_OPERANDS]       # another with the same last member,
    cdef short ends[MAX_MEMBERS]        # and the first of each
    cdef int i, j, k
    blocks.n = inners.n = g.nmoving = 0
    memset(kind, INNER, g.nregisters)
    memset(number, -1, g.nregisters * sizeof(short))
    memset(ends, -1, g.members * sizeof(short))
    note_needs(g, kind)
    note_last(g, kind, last)
    for k in range(g.nregisters):
        next[k] = ends[last[k]]
        ends[last[k]] = <short>k
    for j in range(g.members):
        for i in range(g.first[j], g.first[j + 1]):
            if g.register[i]:
                k = <int><size_t>g.base[i]
                if number[k] < 0:
                    number[k] = take_place(&blocks if kind[k] == BLOCK else &inners)
                g.register[i] = kind[k]
                g.base[i] = <char*><size_t>number[k]
        k = ends[j]
        while k >= 0:
            pool = &blocks if kind[k] == BLOCK else &inners
            pool.taken[number[k]] = 0
            k = next[k]
    g.nregisters = blocks.n
    g.ninner = inners.n
    g.inner_block = INNER_BYTES // max(g.ninner * <intp>g.register_bytes, 1)
    if g.inner_block > 8:
        g.inner_block &= ~<intp>7

cdef void note_needs(GroupPlan* g, char* kind) noexcept nogil:
    cdef NativeRun* r
    cdef int i, run = 0, j = 0
    while j < g.members:
        if run < g.natives and g.native[run].first == j:
            r = &g.native[run]
            for i in range(r.slots):
                needs(g, kind, r.slot[i])
            j = r.end
            run += 1
        else:
            for i in range(g.first[j], g.first[j + 1]):
                needs(g, kind, i)
            j += 1

cdef void note_last(GroupPlan* g, char* kind, short* last) noexcept nogil:
    """A native loop, and a part of one, reads and writes until its end."""
    cdef NativeRun* r
    cdef int i, j, end, part, run = 0
    for j in range(g.members):
        while run < g.natives and g.native[run].end <= j:
            run += 1
        end = part = j
        if run < g.natives and g.native[run].first <= j:
            r = &g.native[run]
            end = r.end - 1
            part = min(end, j + PART - 1 - (j - r.first) % PART)
        for i in range(g.first[j], g.first[j + 1]):
            if g.register[i]:
                last[<size_t>g.base[i]] = <short>(end if kind[<size_t>g.base[i]] == BLOCK else part)

cdef inline short take_place(Pool* pool) noexcept nogil:
    cdef int i = 0
    while i < pool.n and pool.taken[i]:
        i += 1
    if i == pool.n:
        pool.n += 1
    pool.taken[i] = 1
    return <short>i

cdef inline void needs(GroupPlan* g, char* kind, int operand) noexcept nogil:
    if g.register[operand]:
        kind[<size_t>g.base[operand]] = BLOCK
    elif g.flat[operand] and g.steps[operand] != 0:
        g.moving[g.nmoving] = <short>operand
        g.nmoving += 1

cdef void count_blocks(GroupPlan* g, intp block) noexcept nogil:
    """Cut the elements into blocks of at most so many, which end where rows of g.length do."""
    g.by_rows = False
    g.block = block
    if g.length <= block:
        g.per_row = 1
        g.block = block // g.length * g.length
        g.blocks = (g.total + g.block - 1) // g.block
    elif g.tail == NULL and g.length == g.total:
        g.per_row = 1
        g.blocks = (g.total + block - 1) // block
    else:
        g.per_row = (g.length + block - 1) // block
        g.blocks = g.total // g.length * g.per_row

cdef bint plan_rows(GroupPlan* g) noexcept nogil:
    """What a group with reductions needs besides. False: no memory."""
    cdef intp n = 1
    g.outer = g.ndim
    while n < g.length:
        g.outer -= 1
        n *= g.dims[g.outer]
    # Registers hold a block each, of a size that is fixed.
    if room_of(g) * g.block > STACK_BYTES:
        return False
    if g.tail != NULL:
        g.partials = <char*>memory_new(g.blocks * g.tail.itemsize)
        if g.partials == NULL:
            return False
        g.by_rows = g.total // g.length >= MANY_ROWS
    return True

cdef intp pieces_of(GroupPlan* g) noexcept nogil:
    return g.total // g.length if g.by_rows else g.blocks
