"""Groups of elementwise tasks: which may join, and how a group runs. The rules are in _runtime/fusion.pxd."""

from libc.stdlib cimport labs
from libc.string cimport memcpy, memset
from dflow._runtime.region cimport Region
from dflow._kernels.kernel cimport call_loop, COPIES, item_bytes, MAY_RAISE, PARTIAL, READS_FP, REDUCES
from dflow._base.atomics cimport load_int, load_ptr, store_ptr
from dflow._base.locks cimport lock, STORAGE_LOCK, unlock
from dflow._base.fpflags cimport fp_clear, fp_collect, fp_flags
from dflow._base.threads cimport this_thread_raised
from dflow._kernels.reduce cimport Fold, FOLD_BYTES, fold, fold_block, fold_of, fold_one, group_block
from dflow._runtime.graph cimport *
from dflow._base.allocator cimport memory_free, memory_new

cdef extern from "_kernels/c/copy.h" nogil:
    void move_rows(char* to, intp to_step, const char* source, intp from_step, intp rows, size_t n)

# ---- iteration spaces ------------------------------------------------------------------------------------------------

cdef inline int axes_of(Task* t) noexcept nogil:
    """Of the space that t runs over: a reduction reads its loop dimensions, and inside them those that it reduces."""
    return t.ndim + t.ncore if t.kernel.flags & REDUCES else t.ndim

cdef inline intp step_of(Task* t, int axis, int i) noexcept nogil:
    """Of operand i along an axis, in bytes."""
    cdef Access* a = accesses(t) + i
    if t.flags & FLAT:
        return 0 if a.storage == NULL else itemsize_of(a)
    if axis < t.ndim:
        return task_strides(t)[axis * t.nops + i]
    return task_strides(t)[t.ndim * t.nops + axis - t.ndim] if i == 0 else 0

cdef struct Cursor:                 # goes through the axes of an operand, innermost first, by as much as asked for
    Task* task
    int operand
    int axis
    intp left                       # of this axis; 1: all was taken
    intp step

cdef inline void next_axis(Cursor* c) noexcept nogil:
    while c.left == 1 and c.axis > 0:
        c.axis -= 1
        c.left = task_dims(c.task)[c.axis]
        c.step = step_of(c.task, c.axis, c.operand)

cdef inline void begin(Cursor* c, Task* t, int i) noexcept nogil:
    c.task = t
    c.operand = i
    c.axis = axes_of(t)
    c.left = 1
    c.step = 0
    next_axis(c)

cdef inline void advance(Cursor* c, intp n) noexcept nogil:
    c.left //= n
    c.step *= n
    next_axis(c)

cdef intp space_of(Task* t, Space* space) noexcept nogil:
    """Without axes of length 1. How many elements it has."""
    cdef int i, n = 0
    cdef intp total = 1
    for i in range(axes_of(t)):
        total *= task_dims(t)[i]
        if task_dims(t)[i] != 1:
            if n < MAX_AXES:
                space.dims[n] = task_dims(t)[i]
            n += 1                      # beyond MAX_AXES, no task will fit
    space.ndim = n
    return total

cdef bint same_map(Task* t, int i, Task* u, int j) noexcept nogil:
    """Whether two operands see each point of the iteration space at the same place; the axes may be split differently.

    And as much of it: an element and its real part begin at one place, but a write of the part does not stand for a
    read of the element, nor is its step in a register that of the element.
    """
    cdef Cursor a, b
    cdef intp n
    if accesses(t)[i].key >> SIZE_SHIFT != accesses(u)[j].key >> SIZE_SHIFT:      # offset and size
        return False
    begin(&a, t, i)
    begin(&b, u, j)
    while a.left != 1 and b.left != 1:
        n = a.left if a.left < b.left else b.left
        if a.step != b.step or a.left % n or b.left % n:
            return False
        advance(&a, n)
        advance(&b, n)
    return a.left == b.left == 1

cdef bint refine(Space* space, Task* t) noexcept nogil:
    """Split the axes of space so that those of t are products of them. False, space unchanged, when that cannot be."""
    cdef intp dims[8]
    cdef Cursor c
    cdef int x = space.ndim, n = 0, i
    cdef intp left = 1, k
    if x > MAX_AXES:
        return False
    begin(&c, t, 0)
    while True:
        if left == 1 and x > 0:
            x -= 1
            left = space.dims[x]
        if left == 1 or c.left == 1:
            break
        k = left if left < c.left else c.left
        if left % k or c.left % k or n == MAX_AXES:
            return False
        dims[n] = k
        n += 1
        left //= k
        advance(&c, k)
    if left != 1 or c.left != 1:
        return False
    space.ndim = n
    for i in range(n):
        space.dims[i] = dims[n - 1 - i]
    return True

# ---- joining ---------------------------------------------------------------------------------------------------------

cdef bint may_tail(Task* t) noexcept nogil:
    cdef intp* steps
    cdef intp across, along
    cdef int i
    if not fold_of(t.kernel).blocked or t.nops > MAX_ARGUMENTS or t.kernel.flags & MAY_RAISE:
        return False
    for i in range(t.ncore):
        if task_dims(t)[t.ndim + i] == 0:
            return False
    steps = task_strides(t)
    across = steps[(t.ndim - 1) * t.nops]
    along = steps[t.ndim * t.nops + t.ncore - 1]
    return across == 0 or labs(across) >= labs(along)     # as in _kernels/reduce

cdef intp row_of(Task* t) noexcept nogil:
    cdef intp n = 1
    cdef int i
    for i in range(t.ncore):
        n *= task_dims(t)[t.ndim + i]
    return n if n <= group_block(fold_of(t.kernel)) else 0

cdef int waits_of(Task* t, Waits* waits) noexcept nogil:
    cdef int i
    waits.n = waits.behind = 0
    for i in range(t.nops):
        if accesses(t)[i].key & TRACKED:
            meet(NULL, t, i, waits)
    return 0

cdef inline bint includes(Waits* waits, Waits* own) noexcept nogil:
    """Whether all that is in own is in waits; False too where that cannot be known."""
    cdef int i, k
    if own.n > waits.n or waits.n > MAX_WAITS:
        return own.n == 0
    for i in range(own.n):
        for k in range(waits.n):
            if own.orders[i] == waits.orders[k]:
                break
        else:
            return False
    return True

cdef inline bint waits_alike(Task* leader, Waits* waits, Waits* own) noexcept nogil:
    """Whether a task waits for what the group waits for, or for that and the group itself."""
    if load_int(&leader.npending) == 1:     # the group waits for nothing any more
        return own.n == 0
    return waits.n <= MAX_WAITS and (own.n == waits.n or own.inside) and includes(waits, own)

cdef bint shares_input(Task* leader, Task* t) noexcept nogil:
    """Whether a member of the group reads a storage that t reads, and both are about to be."""
    cdef Access* a = accesses(t)
    cdef Access* e
    cdef int i, n
    cdef bint found = False
    for i in range(t.kernel.nin):
        if a[i].storage == NULL or load_ptr(&a[i].storage.reads) == NULL:
            continue
        lock(&a[i].storage.lock, STORAGE_LOCK)
        e = a[i].storage.reads              # the latest first
        n = 0
        while e != NULL and n < 8 and not found:
            found = head_of(task_of(e)) == leader
            e = e.next
            n += 1
        unlock(&a[i].storage.lock)
        if found:
            break
    return found

cdef int may_join(Task* leader, Space* space, Waits* waits, bint large, Task* t) noexcept nogil:
    """-1 if t may not join, else how many results of members it reads.

    Then the space is refined, `waits` has what t waits for too, and reads of the group's own results are no longer
    tracked.
    """
    cdef Access* a = accesses(t)
    cdef Waits own
    cdef int i, inputs = 0
    cdef int met[MAX_ARGUMENTS]
    own.n = own.behind = 0
    own.inside = False
    for i in range(t.nops):
        met[i] = meet(leader, t, i, &own) if a[i].key & TRACKED else 0
        if met[i] < 0:
            return -1
    if not waits_alike(leader, waits, &own):
        if not large or (own.behind | waits.behind) & BEHIND_HOST:
            return -1
        if not own.inside and (waits.behind & BEHIND_SLOW or not includes(waits, &own) or not shares_input(leader, t)):
            return -1
    if not refine(space, t):
        return -1
    for i in range(own.n):
        note_wait(waits, own.orders[i] if i < MAX_WAITS else 0, own.behind)
    for i in range(t.nops):
        if met[i]:
            inputs += 1
            if not a[i].key & WRITE:
                a[i].key &= ~<int64_t>TRACKED   # the group's own write stands for both
    return inputs

cdef int meet(Task* leader, Task* t, int i, Waits* waits) noexcept nogil:
    """Compare operand i of t with the frontier: -1: t may not join; 1: it reads what a member writes; else 0."""
    cdef Access* a = accesses(t) + i
    cdef Storage* s = a.storage
    cdef Region* r
    cdef Access* e
    cdef Task* u
    cdef bint write = (a.key & WRITE) != 0
    cdef int k, found = 0
    if load_ptr(&s.writes) == NULL and (not write or load_ptr(&s.reads) == NULL):
        return 0
    r = region_of(a)
    lock(&s.lock, STORAGE_LOCK)
    for k in range(2 if write else 1):
        e = s.writes if k == 0 else s.reads
        while e != NULL and found >= 0:
            if overlap(e, r):
                u = task_of(e)
                if head_of(u) != leader:
                    note_wait(waits, head_of(u).order, behind(head_of(u)))
                elif not same_map(t, i, u, index_of(e)):
                    found = -1
                else:
                    waits.inside = True
                    if k == 0:
                        found = 1
            e = e.next
    unlock(&s.lock)
    return found

cdef bint may_follow(Task* leader, Space* space, Task* t) noexcept nogil:
    """Whether t could be the next member of a group that is in no frontier. Then the space is refined.

    It sees each element of what they share at the same place.
    """
    cdef Task* m = leader
    cdef Access* a
    cdef Access* b
    cdef int i, k, n = t.nops
    while m != NULL:
        a = accesses(m)
        n += m.nops
        for i in range(m.nops):
            for k in range(t.nops):
                b = accesses(t) + k
                if a[i].storage == NULL or a[i].storage != b.storage or not (a[i].key | b.key) & WRITE:
                    continue
                if not same_map(t, k, m, i):
                    return False
        m = next_member(m)
    return n <= MAX_OPERANDS and refine(space, t)

cdef inline void note_wait(Waits* waits, unsigned int order, int behind) noexcept nogil:
    cdef int i
    waits.behind |= behind
    for i in range(waits.n):
        if i == MAX_WAITS or waits.orders[i] == order:
            return
    if waits.n < MAX_WAITS:
        waits.orders[waits.n] = order
    waits.n += 1

# ---- planning --------------------------------------------------------------------------------------------------------

cdef struct Used:                   # a storage as the group uses it
    Storage* storage
    Task* task                      # of its first access,
    int operand                     # and which
    int uses                        # accesses
    int last                        # member that uses it last
    int number                      # its register; or one of:

cdef enum:
    MEMORY = -2
    PERHAPS = -1                    # a register, if the group alone refers to the storage

cdef enum:
    SLOTS = 256                     # of the hash table; a power of two over MAX_OPERANDS
    STACK_BYTES = 65536             # for registers

# Results do not depend on these: the fuzzer sets them, while nothing is pending.
cdef intp L1_BYTES = 24576          # of the first-level cache that a block may take
cdef intp MIN_BLOCK = 128
cdef intp ALONE = 1 << 15           # elements of a block of one task: nothing is used twice
cdef intp MANY_ROWS = 32
cdef intp NARROW = 16               # rows shorter than this are run down their columns

def set_threshold(str name, intp value):
    """Set one of these. Returns what it was."""
    cdef intp* place = NULL
    if name == "L1_BYTES":
        place = &L1_BYTES
    elif name == "MIN_BLOCK":
        place = &MIN_BLOCK
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
    unsigned char slots[256]        # number in `used`, plus 1; 0: free
    int n
    Used used[160]
    unsigned char of[160]           # each operand's

cdef inline Used* enter(Table* table, Storage* s, int operand) noexcept nogil:
    """The entry of s; a new one has no uses yet."""
    cdef size_t h = (<size_t>s >> 4) * <size_t>0x9E3779B97F4A7C15
    cdef int k = <int>(h >> 56)
    while table.slots[k] and table.used[table.slots[k] - 1].storage != s:
        k = (k + 1) & (SLOTS - 1)
    if not table.slots[k]:
        table.used[table.n].storage = s
        table.used[table.n].uses = 0
        table.n += 1
        table.slots[k] = <unsigned char>table.n
    table.of[operand] = table.slots[k] - 1
    return &table.used[table.of[operand]]

cdef bint plan_group(Task* leader, GroupPlan* g) noexcept nogil:
    cdef Table table
    cdef Space space
    cdef bint flat = True
    cdef int i
    memset(table.slots, 0, sizeof(table.slots))
    table.n = 0
    g.partials = NULL
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
    choose_block(g, &table)
    g.cost *= g.total
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
    while m != NULL:
        g.kernels[j] = m.kernel
        g.first[j] = n
        g.flags[j] = 0
        g.cost += m.kernel.cost
        flat[0] = flat[0] and m.flags & FLAT
        a = accesses(m)
        for i in range(m.nops):
            g.register[n] = False
            g.steps[n] = step_of(m, m.ndim - 1, i)
            if a[i].storage == NULL:
                g.base[n] = constant_of(m, i)
            else:
                if load_ptr(&a[i].storage.poison) != NULL:
                    return False
                u = enter(table, a[i].storage, n)
                count_use(u, m, i, j)
            n += 1
        if m.kernel.flags & REDUCES:
            note_reduction(m, g, g.first[j], n)
        j += 1
        m = next_member(m)
    g.members = j
    g.runs = j if g.tail == NULL else j - 1
    g.nops = g.first[j] = n
    return True

cdef inline void count_use(Used* u, Task* m, int i, int j) noexcept nogil:
    """Operand i of m, which is member j, uses a storage."""
    if u.uses == 0:
        u.task = m
        u.operand = i
        # A register begins with a write of everything, and no part of it is seen in another way.
        u.number = PERHAPS if (accesses(m)[i].key & (WRITE | FULL)) == (WRITE | FULL) and (
            not m.kernel.flags & (PARTIAL | REDUCES)) else MEMORY
    elif u.number == PERHAPS and not same_map(m, i, u.task, u.operand):
        u.number = MEMORY
    u.uses += 1
    u.last = j

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
    cdef char free[160]             # 1: a register that can be used again
    cdef int i, j = 0, n = 0
    g.nregisters = 0
    g.register_bytes = 1
    g.saved = 0
    while m != NULL:
        for i in range(m.nops):
            if accesses(m)[i].storage != NULL:
                u = &table.used[table.of[n]]
                if u.number == PERHAPS:
                    u.number = pick_register(g, u, free)
                if not place_operand(g, n, accesses(m) + i, u):
                    return False
            n += 1
        for i in range(m.nops):
            if accesses(m)[i].storage != NULL:
                u = &table.used[table.of[g.first[j] + i]]
                if u.last == j and u.number >= 0:
                    free[u.number] = 1
        j += 1
        m = next_member(m)
    return True

cdef inline int pick_register(GroupPlan* g, Used* u, char* free) noexcept nogil:
    """A register for a result, or MEMORY if it is referred to from outside the group."""
    cdef int k = 0
    if load_int(&u.storage.refs) != u.uses:     # more than this group's accesses; if not, no more can come
        return MEMORY
    while k < g.nregisters and not free[k]:
        k += 1
    if k == g.nregisters:
        g.nregisters += 1
    free[k] = 0
    g.saved += u.storage.nbytes
    return k

cdef inline bint place_operand(GroupPlan* g, int n, Access* a, Used* u) noexcept nogil:
    """Where operand n of the group lies. False: no memory."""
    if u.number >= 0:
        g.register[n] = True
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
    cdef int i, d, n = 0
    while m != NULL:
        for i in range(m.nops):
            begin(&c, m, i)
            for d in range(space.ndim - 1, -1, -1):
                g.strides[d][n] = c.step
                advance(&c, space.dims[d])
            n += 1
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

cdef void choose_block(GroupPlan* g, Table* table) noexcept nogil:
    """How many elements run at once: what is in use of them fits the first-level cache."""
    cdef intp inner = g.dims[g.ndim - 1], block = ALONE, most
    if g.tail != NULL:                  # a fixed number, on which the result depends, unless it is exact
        block = fold_block(g.tail)
        while block > group_block(g.tail) and g.nregisters * <intp>g.register_bytes * block > L1_BYTES:
            block //= 2
        block = min(block, g.length)    # and of one row: it becomes one partial result
    else:
        if g.members > 1:
            block = L1_BYTES // bytes_in_use(g, table)
            if block < MIN_BLOCK:
                block = MIN_BLOCK
        if g.nregisters:
            most = STACK_BYTES // 2 // (g.nregisters * <intp>g.register_bytes)
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
                block = block // inner * inner
            else:
                most = (inner + block - 1) // block
                block = (inner + most - 1) // most
                g.length = inner
    count_blocks(g, block)

cdef inline intp bytes_in_use(GroupPlan* g, Table* table) noexcept nogil:
    """Of an element: all storages in memory, and the registers."""
    cdef intp width = g.nregisters * <intp>g.register_bytes
    cdef int i
    for i in range(table.n):
        if table.used[i].number < 0:
            width += itemsize_of(accesses(table.used[i].task) + table.used[i].operand)
    return width

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
    if g.nregisters * g.block * <intp>g.register_bytes > STACK_BYTES:
        return False
    if g.tail != NULL:
        g.partials = <char*>memory_new(g.blocks * g.tail.itemsize)
        if g.partials == NULL:
            return False
        g.by_rows = g.total // g.length >= MANY_ROWS
    return True

cdef intp pieces_of(GroupPlan* g) noexcept nogil:
    return g.total // g.length if g.by_rows else g.blocks

# ---- running ---------------------------------------------------------------------------------------------------------

cdef void run_blocks(void* plan, intp start, intp stop) noexcept nogil:
    """Run all members over one block after the other."""
    cdef GroupPlan* g = <GroupPlan*>plan
    cdef char registers[65536 + 64]
    cdef char* room = <char*>((<size_t>registers + 63) & ~<size_t>63)
    cdef char* at[160]
    cdef intp n, f
    cdef int i, j
    if g.by_rows:
        start *= g.per_row
        stop *= g.per_row
    for i in range(g.nops):
        if g.register[i]:
            at[i] = room + <size_t>g.base[i] * (<size_t>g.block * g.register_bytes)
    fp_clear()
    while start < stop:
        n = block_bounds(g, start, &f)
        for i in range(g.nops):
            if g.flat[i]:
                at[i] = g.base[i] + f * g.steps[i]
        for j in range(g.runs):
            run_member(g, j, at, f, n)
            fp_collect(&g.flags[j])
        if g.tail != NULL:
            run_tail(g, at[g.tail_input], f, n, start)
        start += 1

cdef inline intp block_bounds(GroupPlan* g, intp block, intp* first) noexcept nogil:
    """Its first element, and how many it has."""
    cdef intp n, within
    if g.per_row > 1:
        within = block % g.per_row * g.block
        first[0] = block // g.per_row * g.length + within
        n = g.length - within
    else:
        first[0] = block * g.block
        n = g.total - first[0]
    return n if n < g.block else g.block

cdef inline void run_member(GroupPlan* g, int j, char** at, intp f, intp n) noexcept nogil:
    """Over the elements [f, f + n)."""
    cdef Kernel* k = g.kernels[j]
    cdef char* args[MAX_ARGUMENTS]
    cdef int i, first = g.first[j]
    if k.flags & REDUCES:
        reduce_rows(g, j, at, f, n)
    elif g.segmented[j]:
        run_segments(g, j, at, f, n)
    else:
        for i in range(g.first[j + 1] - first):
            args[i] = at[first + i]
        k.loop(args, &n, g.steps + first, k.data)

cdef struct Walk:                   # over the rows of memory that a block touches
    intp column                     # where in a row it is
    intp counter[8]

cdef inline void start_walk(GroupPlan* g, Walk* w, intp f) noexcept nogil:
    cdef int d
    w.column = f % g.dims[g.ndim - 1]
    f //= g.dims[g.ndim - 1]
    for d in range(g.ndim - 2, -1, -1):
        w.counter[d] = f % g.dims[d]
        f //= g.dims[d]

cdef inline char* row_start(GroupPlan* g, Walk* w, int i) noexcept nogil:
    cdef char* p = g.base[i]
    cdef int d
    for d in range(g.ndim - 1):
        p += w.counter[d] * g.strides[d][i]
    return p

cdef inline void next_row(GroupPlan* g, Walk* w, char** row, int first, int nops) noexcept nogil:
    """Advance to the next row: `row` are the starts of operands first.. ; those of registers do not count."""
    cdef int d = g.ndim - 2, i
    cdef intp shift
    w.column = 0
    while d >= 0:
        w.counter[d] += 1
        shift = 1
        if w.counter[d] == g.dims[d]:
            w.counter[d] = 0
            shift = 1 - g.dims[d]
        for i in range(nops):
            row[i] += shift * g.strides[d][first + i]
        if shift == 1:
            return
        d -= 1

cdef void run_segments(GroupPlan* g, int j, char** at, intp f, intp n) noexcept nogil:
    """Run member j over [f, f + n), one row of memory after the other."""
    cdef Kernel* k = g.kernels[j]
    cdef int first = g.first[j], nops = g.first[j + 1] - first, i
    cdef char* row[MAX_ARGUMENTS]
    cdef char* args[MAX_ARGUMENTS]
    cdef intp inner = g.dims[g.ndim - 1], m, done = 0
    cdef Walk w
    start_walk(g, &w, f)
    for i in range(nops):
        row[i] = row_start(g, &w, first + i) if not g.register[first + i] else at[first + i]
    if k.flags & COPIES and g.steps[first] == g.steps[first + 1] == item_bytes(k) and w.column == 0 and n % inner == 0:
        run_copies(g, j, at, n // inner, &w, row)
        return
    if inner < NARROW and g.dims[g.ndim - 2] > inner and w.column == 0 and n % inner == 0:
        run_columns(g, j, at, n // inner, &w, row)
        return
    while True:
        m = inner - w.column
        if m > n - done:
            m = n - done
        for i in range(nops):
            if g.register[first + i]:
                args[i] = at[first + i] + done * g.steps[first + i]
            else:
                args[i] = row[i] + w.column * g.steps[first + i]
        k.loop(args, &m, g.steps + first, k.data)
        done += m
        if done == n:
            return
        next_row(g, &w, row, first, nops)

cdef void run_copies(GroupPlan* g, int j, char** at, intp rows, Walk* w, char** row) noexcept nogil:
    """The same for a copy of whole rows without gaps: as many at once as follow each other."""
    cdef int first = g.first[j], down = g.ndim - 2, i
    cdef intp steps[2]
    cdef intp inner = g.dims[g.ndim - 1], size = inner * <intp>g.kernels[j].data, m, done = 0
    for i in range(2):
        steps[i] = size if g.register[first + i] else g.strides[down][first + i]
    while True:
        m = g.dims[down] - w.counter[down]
        if m > rows - done:
            m = rows - done
        for i in range(2):
            if g.register[first + i]:
                row[i] = at[first + i] + done * size
        move_rows(row[1], steps[1], row[0], steps[0], m, size)
        done += m
        if done == rows:
            return
        w.counter[down] += m - 1
        for i in range(2):
            row[i] += (m - 1) * g.strides[down][first + i]
        next_row(g, w, row, first, 2)

cdef void run_columns(GroupPlan* g, int j, char** at, intp rows, Walk* w, char** row) noexcept nogil:
    """The same where rows are short: down their columns, in longer loops."""
    cdef Kernel* k = g.kernels[j]
    cdef int first = g.first[j], nops = g.first[j + 1] - first, i, down = g.ndim - 2
    cdef char* args[MAX_ARGUMENTS]
    cdef intp steps[MAX_ARGUMENTS]
    cdef intp inner = g.dims[g.ndim - 1], c, m, done = 0
    for i in range(nops):
        steps[i] = inner * g.steps[first + i] if g.register[first + i] else g.strides[down][first + i]
    while True:
        m = g.dims[down] - w.counter[down]
        if m > rows - done:
            m = rows - done
        for c in range(inner):
            for i in range(nops):
                if g.register[first + i]:
                    args[i] = at[first + i] + (done * inner + c) * g.steps[first + i]
                else:
                    args[i] = row[i] + c * g.steps[first + i]
            k.loop(args, &m, steps, k.data)
        done += m
        if done == rows:
            return
        w.counter[down] += m - 1
        for i in range(nops):
            row[i] += (m - 1) * g.strides[down][first + i]
        next_row(g, w, row, first, nops)

cdef char* gather_block(GroupPlan* g, char* room, int operand, int size, intp f, intp n) noexcept nogil:
    """Bring what a reduction reads together, in the order of iteration."""
    cdef intp inner = g.dims[g.ndim - 1], step = g.steps[operand], m, i, done = 0
    cdef char* row
    cdef char* p
    cdef Walk w
    start_walk(g, &w, f)
    row = row_start(g, &w, operand)
    while True:
        m = inner - w.column
        if m > n - done:
            m = n - done
        p = row + w.column * step
        if step == size:
            memcpy(room + done * size, p, m * size)
        else:
            for i in range(m):
                memcpy(room + (done + i) * size, p + i * step, size)
        done += m
        if done == n:
            return room
        next_row(g, &w, &row, operand, 1)

cdef inline char* begin_output(GroupPlan* g, int operand, intp row, char* initial, int size) noexcept nogil:
    """Where the reduction of a row goes, with what it starts from."""
    cdef char* p = g.base[operand]
    cdef int d
    for d in range(g.outer - 1, 0, -1):
        p += row % g.dims[d] * g.strides[d][operand]
        row //= g.dims[d]
    if g.outer:
        p += row * g.strides[0][operand]
    if initial != NULL:
        memcpy(p, initial, size)
    return p

cdef void reduce_rows(GroupPlan* g, int j, char** at, intp f, intp n) noexcept nogil:
    """Run member j, a reduction, over the rows that make up [f, f + n)."""
    cdef char room[FOLD_BYTES]
    cdef Fold* w = fold_of(g.kernels[j])
    cdef int operand = g.first[j], output = g.first[j + 1] - 1
    cdef char* initial = g.base[output - 1] if w.initial else NULL
    cdef char* p = at[operand]
    cdef char* out
    cdef intp step = g.steps[operand], row = f // g.row, i
    cdef bint scattered = not g.flat[operand] and not g.register[operand]
    for i in range(n // g.row):
        out = begin_output(g, output, row + i, initial, w.itemsize)
        if scattered:
            gather_block(g, room, operand, w.itemsize, f + i * g.row, g.row)
            fold_one(w, out, room, g.row, w.itemsize, initial == NULL)
        else:
            fold_one(w, out, p + i * g.row * step, g.row, step, initial == NULL)

cdef void run_tail(GroupPlan* g, char* p, intp f, intp n, intp block) noexcept nogil:
    """Reduce [f, f + n), a part of a row, which lies at p unless it is scattered in memory."""
    cdef char room[FOLD_BYTES]
    cdef Fold* w = g.tail
    cdef intp step = g.steps[g.tail_input]
    if not g.flat[g.tail_input] and not g.register[g.tail_input]:
        p = gather_block(g, room, g.tail_input, w.itemsize, f, n)
        step = w.itemsize
    fold_one(w, g.partials + block * w.itemsize, p, n, step, True)
    if g.by_rows and (block + 1) % g.per_row == 0:
        end_row(g, f // g.length)
    fp_collect(&g.flags[g.runs])

cdef void end_row(GroupPlan* g, intp row) noexcept nogil:
    cdef Fold* w = g.tail
    cdef char* out = begin_output(g, g.tail_output, row, g.initial, w.itemsize)
    fold(w, out, g.partials + row * g.per_row * w.itemsize, g.per_row, w.itemsize, g.initial == NULL)

cdef void end_blocks(GroupPlan* g) noexcept nogil:
    cdef intp row
    if g.partials == NULL:
        return
    if not g.by_rows:
        fp_clear()
        for row in range(g.total // g.length):
            end_row(g, row)
        fp_collect(&g.flags[g.runs])
    memory_free(g.partials)
    g.partials = NULL

cdef void note_raised(RowsPlan* r) noexcept with gil:
    """Where several pieces fail, the error of the first is the task's, and the errors of others are none."""
    if load_ptr(&r.raised) == NULL:                 # all who write it have the GIL
        store_ptr(&r.raised, poison_raised(r.site, r.kernel.name))
    else:
        take_raised()

cdef void run_rows(void* plan, intp start, intp stop) noexcept nogil:
    cdef RowsPlan* r = <RowsPlan*>plan
    cdef char* args[64]
    cdef intp dims[64 + 70]
    cdef int i
    cdef Kernel* k = r.kernel
    for i in range(r.nops):
        args[i] = r.args[i] + (start * r.strides[i] if k.pieces == NULL or r.ndim > 1 else 0)
    memcpy(dims, r.dims, sizeof(intp) * r.ndims)
    fp_clear()
    if k.pieces != NULL and r.ndim == 1:
        k.piece(args, dims, r.strides, k.data, start, stop)
    else:
        dims[0] = stop - start
        run_kernel(k, args, r.nops, r.ndim, dims, r.strides)
    fp_collect(&r.flags)
    if k.flags & MAY_RAISE and this_thread_raised():
        note_raised(r)

cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil:
    if ndim == 1:
        return call_loop(k, args, dims, strides)
    if k.flags & READS_FP:
        fp_clear()
    run_axes(k, args, nops, ndim, dims, strides)
    return fp_flags() if k.flags & READS_FP else 0

cdef void run_axes(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil:
    """Of two dimensions and more."""
    cdef intp counter[64]
    cdef char* copy[256]            # a loop may move its argument pointers
    cdef int d, i, last = ndim - 2
    cdef intp* step
    cdef bint rows
    step = strides + last * 2
    rows = k.flags & COPIES and step[2] == step[3] == item_bytes(k)
    if rows:
        last -= 1
    for d in range(ndim):
        if dims[d] == 0:
            return
        counter[d] = dims[d]
    while True:
        for i in range(nops):
            copy[i] = args[i]
        if rows:
            step = strides + (ndim - 2) * 2
            move_rows(copy[1], step[1], copy[0], step[0], dims[ndim - 2], dims[ndim - 1] * item_bytes(k))
        else:
            k.loop(copy, dims + ndim - 1, strides + (ndim - 1) * nops, k.data)
        d = last
        while d >= 0:
            step = strides + d * nops
            counter[d] -= 1
            if counter[d]:
                for i in range(nops):
                    args[i] += step[i]
                break
            counter[d] = dims[d]
            for i in range(nops):
                args[i] -= step[i] * (dims[d] - 1)
            d -= 1
        if d < 0:
            return
