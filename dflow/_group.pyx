"""Groups of elementwise tasks: who may join, and how a group runs. The rules are in _group.pxd."""

from libc.string cimport memset
from dflow._fp cimport fp_flags, fp_clear
from dflow._graph cimport *
from dflow._memory cimport load_ptr, load_int, spin_lock, spin_unlock

cdef extern from "_sync.h" nogil:
    void or_int(int*, int)

# ---- joining ----------------------------------------------------------------------------------------------------------

cdef int space_of(Task* t, Space* space) noexcept nogil:
    cdef int i
    space.ndim = t.ndim
    if t.ndim > MAX_AXES:
        return 0                        # nobody will fit
    for i in range(t.ndim):
        space.dims[i] = task_dims(t)[i]
    return 0

cdef inline intp itemsize_of(Access* a) noexcept nogil:
    return <intp>1 << ((a.key >> SIZE_SHIFT) & 15)

cdef inline intp step_of(Task* t, int axis, int i) noexcept nogil:
    """Of operand i along an axis, in bytes."""
    cdef Access* a = accesses(t) + i
    if t.flags & FLAT:
        return 0 if a.storage == NULL else itemsize_of(a)
    return task_strides(t)[axis * t.nops + i]

cdef bint same_map(Task* t, int i, Task* u, int j) noexcept nogil:
    """Whether two operands see each point of the iteration space at the same place; the axes may be split differently."""
    cdef Access* a = accesses(t) + i
    cdef Access* b = accesses(u) + j
    cdef int x = t.ndim - 1, y = u.ndim - 1
    cdef intp n, m, k, s, r
    if a.key >> ACCESS_BITS != b.key >> ACCESS_BITS:
        return False
    n = task_dims(t)[x]
    m = task_dims(u)[y]
    s = step_of(t, x, i)
    r = step_of(u, y, j)
    while True:
        if s != r:
            return False
        k = n if n < m else m
        if n % k or m % k:
            return False
        n //= k
        m //= k
        s *= k
        r *= k
        if n == 1:
            x -= 1
            if x >= 0:
                n = task_dims(t)[x]
                s = step_of(t, x, i)
        if m == 1:
            y -= 1
            if y >= 0:
                m = task_dims(u)[y]
                r = step_of(u, y, j)
        if x < 0 or y < 0:
            return x < 0 and y < 0

cdef bint refine(Space* space, Task* t) noexcept nogil:
    """Split the axes of space so that those of t are products of them. False, space unchanged, when that cannot be."""
    cdef intp dims[16]
    cdef intp* other = task_dims(t)
    cdef int x = space.ndim - 1, y = t.ndim - 1, n = 0
    cdef intp a, b, k
    if space.ndim == t.ndim == 1:
        return space.dims[0] == other[0]
    if space.ndim > MAX_AXES or t.ndim > MAX_AXES:
        return False
    a = space.dims[x]
    b = other[y]
    while True:
        k = a if a < b else b
        if a % k or b % k or n == MAX_AXES:
            return False
        dims[n] = k
        n += 1
        a //= k
        b //= k
        if a == 1:
            x -= 1
            if x >= 0:
                a = space.dims[x]
        if b == 1:
            y -= 1
            if y >= 0:
                b = other[y]
        if x < 0 or y < 0:
            break
    if x >= 0 or y >= 0:
        return False
    space.ndim = n
    for x in range(n):
        space.dims[x] = dims[n - 1 - x]
    return True

cdef int waits_of(Task* t, Waits* waits) noexcept nogil:
    cdef int i
    waits.n = 0
    for i in range(t.nops):
        if accesses(t)[i].key & TRACKED:
            meet(NULL, t, i, waits)
    return 0

cdef bint may_join(Task* leader, Space* space, Waits* waits, Task* t) noexcept nogil:
    """Whether t may join; then the space is refined, and reads of what the group itself wrote are no longer tracked."""
    cdef Access* a = accesses(t)
    cdef Waits own
    cdef int i, k
    cdef int met[MAX_ARGUMENTS]
    own.n = 0
    own.inside = False
    for i in range(t.nops):
        met[i] = meet(leader, t, i, &own) if a[i].key & TRACKED else 0
        if met[i] < 0:
            return False
    if load_int(&leader.npending) == 1:
        if own.n:
            return False
    elif own.n > waits.n or waits.n > MAX_WAITS or (own.n < waits.n and not own.inside):
        return False
    for i in range(own.n):
        for k in range(waits.n):
            if own.orders[i] == waits.orders[k]:
                break
        else:
            return False
    if not refine(space, t):
        return False
    for i in range(t.nops):
        if met[i] and not a[i].key & WRITE:
            a[i].key &= ~<int64_t>TRACKED       # the group's own write stands for both
    return True

cdef int meet(Task* leader, Task* t, int i, Waits* waits) noexcept nogil:
    """Compare operand i of t with the frontier: -1 when t may not join; 1 when it reads what a member writes, else 0."""
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
    spin_lock(&s.lock)
    for k in range(2 if write else 1):
        e = s.writes if k == 0 else s.reads
        while e != NULL and found >= 0:
            if overlap(e, r):
                u = task_of(e)
                if head_of(u) != leader:
                    note_wait(waits, head_of(u).order)
                elif not same_map(t, i, u, <int>((e.key >> 6) & 0x3ff)):
                    found = -1
                else:
                    waits.inside = True
                    if k == 0:
                        found = 1
            e = e.next
    spin_unlock(&s.lock)
    return found

cdef inline void note_wait(Waits* waits, unsigned int order) noexcept nogil:
    cdef int i
    for i in range(waits.n):
        if i == MAX_WAITS or waits.orders[i] == order:
            return
    if waits.n < MAX_WAITS:
        waits.orders[waits.n] = order
    waits.n += 1

# ---- planning ---------------------------------------------------------------------------------------------------------

cdef struct Used:                   # a storage as the group uses it
    Storage* storage
    Task* task                      # of its first access,
    int operand                     # and which
    int uses                        # accesses
    int last                        # member that uses it last
    int number                      # its register; -1: it has none yet, -2: it is memory

cdef enum:
    SLOTS = 256                     # of the hash table; a power of two over MAX_OPERANDS
    L1_BYTES = 24576                # of the first-level cache that a block may take
    STACK_BYTES = 32768             # for registers
    MIN_BLOCK = 128

cdef inline Used* lookup(Used* table, Storage* s) noexcept nogil:
    cdef size_t h = (<size_t>s >> 4) * <size_t>0x9E3779B97F4A7C15
    cdef int k = <int>(h >> 56)
    while table[k].storage != NULL and table[k].storage != s:
        k = (k + 1) & (SLOTS - 1)
    return &table[k]

cdef bint plan_group(Task* leader, GroupPlan* g) noexcept nogil:
    cdef Used table[256]
    cdef Space space
    cdef bint flat = True
    memset(table, 0, sizeof(table))
    if not survey(leader, g, table, &flat):
        return False
    if not settle_storages(g, leader, table):
        return False
    space_of(leader, &space)
    if flat:
        g.ndim = 1
        g.dims[0] = space.dims[0]
    else:
        fill_strides(leader, g, &space)
    choose_block(g, table)
    return True

cdef bint survey(Task* leader, GroupPlan* g, Used* table, bint* flat) noexcept nogil:
    """List members and the storages they use. False when one is poisoned."""
    cdef Task* m = leader
    cdef Access* a
    cdef Used* u
    cdef int i, n = 0, j = 0
    cdef double cost = 0
    while m != NULL:
        g.kernels[j] = m.kernel
        g.first[j] = n
        g.flags[j] = 0
        cost += m.kernel.cost
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
                u = lookup(table, a[i].storage)
                if u.storage == NULL:
                    u.storage = a[i].storage
                    u.task = m
                    u.operand = i
                    # A register begins with a write of everything, and no part of it is seen in another way.
                    u.number = -1 if a[i].key & WRITE and a[i].key & FULL and not m.kernel.flags & PARTIAL else -2
                elif u.number == -1 and not same_map(m, i, u.task, u.operand):
                    u.number = -2
                u.uses += 1
                u.last = j
            n += 1
        j += 1
        m = next_member(m)
    g.members = j
    g.nops = g.first[j] = n
    g.cost = cost
    return True

cdef bint settle_storages(GroupPlan* g, Task* leader, Used* table) noexcept nogil:
    """Give registers to results that nobody else will see, memory to the rest. False when there is none."""
    cdef Task* m = leader
    cdef Access* a
    cdef Used* u
    cdef char free[160]             # 1: a register that can be used again
    cdef int i, k, j = 0, n = 0
    g.nregisters = 0
    g.register_bytes = 1
    g.saved = 0
    while m != NULL:
        a = accesses(m)
        for i in range(m.nops):
            if a[i].storage != NULL:
                u = lookup(table, a[i].storage)
                if u.number == -1:
                    if load_int(&u.storage.refs) == u.uses:     # this group's accesses alone: no more can come
                        k = 0
                        while k < g.nregisters and not free[k]:
                            k += 1
                        if k == g.nregisters:
                            g.nregisters += 1
                        free[k] = 0
                        u.number = k
                        g.saved += u.storage.nbytes
                    else:
                        u.number = -2
                if u.number >= 0:
                    g.register[n] = True
                    g.base[n] = <char*><size_t>u.number
                    g.steps[n] = itemsize_of(a + i)
                    if <size_t>g.steps[n] > g.register_bytes:
                        g.register_bytes = <size_t>g.steps[n]
                else:
                    if not storage_allocate(u.storage):
                        return False
                    g.base[n] = u.storage.data + (a[i].key >> ACCESS_BITS)
            n += 1
        for i in range(m.nops):
            if a[i].storage != NULL:
                u = lookup(table, a[i].storage)
                if u.last == j and u.number >= 0:
                    free[u.number] = 1
        j += 1
        m = next_member(m)
    return True

cdef void fill_strides(Task* leader, GroupPlan* g, Space* space) noexcept nogil:
    """Strides of all operands in memory along the axes that all members share; axes are joined where all allow it."""
    cdef Task* m = leader
    cdef int i, d, n, x
    cdef intp left, step
    cdef intp strides[8][160]
    cdef bint joined
    while m != NULL:
        refine(space, m)
        m = next_member(m)
    m = leader
    n = 0
    while m != NULL:
        for i in range(m.nops):
            x = m.ndim - 1
            left = task_dims(m)[x]
            step = step_of(m, x, i)
            for d in range(space.ndim - 1, -1, -1):
                strides[d][n] = step
                left //= space.dims[d]
                step *= space.dims[d]
                if left == 1 and x > 0:
                    x -= 1
                    left = task_dims(m)[x]
                    step = step_of(m, x, i)
            n += 1
        m = next_member(m)
    g.ndim = 1
    g.dims[0] = space.dims[0]
    x = 0                               # the axis of g that is being built
    for i in range(n):
        g.strides[0][i] = strides[0][i]
    for d in range(1, space.ndim):
        joined = True
        for i in range(n):
            if not g.register[i] and g.strides[x][i] != strides[d][i] * space.dims[d]:
                joined = False
                break
        if joined:
            g.dims[x] *= space.dims[d]
        else:
            x += 1
            g.dims[x] = space.dims[d]
        if x < 7:
            for i in range(n):
                g.strides[x][i] = strides[d][i]
    g.ndim = x + 1
    for i in range(n):
        if not g.register[i]:
            g.steps[i] = strides[space.ndim - 1][i]

cdef void choose_block(GroupPlan* g, Used* table) noexcept nogil:
    """How many elements run at once: what is in use of them fits the first-level cache."""
    cdef int i
    cdef intp inner = g.dims[g.ndim - 1], block, most, width = 0
    cdef intp total = 1
    for i in range(SLOTS):
        if table[i].storage != NULL and table[i].number < 0:
            width += itemsize_of(accesses(table[i].task) + table[i].operand)
    width += g.nregisters * <intp>g.register_bytes
    for i in range(g.ndim):
        total *= g.dims[i]
    g.cost *= total
    if g.members == 1:
        block = 1 << 15                 # nothing is used twice
    else:
        block = L1_BYTES // width
        if block < MIN_BLOCK:
            block = MIN_BLOCK
    if g.nregisters:
        most = STACK_BYTES // (g.nregisters * <intp>g.register_bytes)
        if block > most:
            block = most
    block = (block + 63) // 64 * 64 if block < 64 else block // 64 * 64
    if inner <= block:
        block = inner
    g.block = block
    g.per_row = (inner + block - 1) // block
    g.blocks = total // inner * g.per_row

# ---- running ----------------------------------------------------------------------------------------------------------

cdef void run_blocks(void* plan, intp start, intp stop) noexcept nogil:
    """Run all members over each of the blocks [start, stop)."""
    cdef GroupPlan* g = <GroupPlan*>plan
    cdef char registers[32768 + 64]
    cdef char* room = <char*>((<size_t>registers + 63) & ~<size_t>63)
    cdef char* row[160]             # where each operand's row begins
    cdef char* at[160]
    cdef char* args[MAX_ARGUMENTS]
    cdef intp counter[8]
    cdef intp n, part, left, inner = g.dims[g.ndim - 1], shift
    cdef int i, j, d, flags
    cdef Kernel* k
    part = start % g.per_row
    left = start // g.per_row
    for d in range(g.ndim - 2, -1, -1):
        counter[d] = left % g.dims[d]
        left //= g.dims[d]
    for i in range(g.nops):
        if g.register[i]:
            row[i] = room + <size_t>g.base[i] * (<size_t>g.block * g.register_bytes)
        else:
            row[i] = g.base[i]
            for d in range(g.ndim - 1):
                row[i] += counter[d] * g.strides[d][i]
        at[i] = row[i] if g.register[i] else row[i] + part * g.block * g.steps[i]
    fp_clear()
    while start < stop:
        n = inner - part * g.block
        if n > g.block:
            n = g.block
        for j in range(g.members):
            k = g.kernels[j]
            d = g.first[j]
            for i in range(g.first[j + 1] - d):
                args[i] = at[d + i]
            k.loop(args, &n, g.steps + d, k.data)
            flags = fp_flags()
            if flags:
                if k.flags & REPORTS_FP:
                    or_int(&g.flags[j], flags)
                fp_clear()
        start += 1
        part += 1
        if part < g.per_row:
            for i in range(g.nops):
                if not g.register[i]:
                    at[i] += g.block * g.steps[i]
            continue
        part = 0
        d = g.ndim - 2
        while d >= 0:
            counter[d] += 1
            shift = 1
            if counter[d] == g.dims[d]:
                counter[d] = 0
                shift = 1 - g.dims[d]
            for i in range(g.nops):
                if not g.register[i]:
                    row[i] += shift * g.strides[d][i]
            if shift == 1:
                break
            d -= 1
        for i in range(g.nops):
            at[i] = row[i]

cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil:
    """Call the loop over the innermost of ndim dimensions, with the core dimensions after it. Spoils args."""
    cdef intp counter[64]
    cdef char* copy[256]            # a loop may move its argument pointers
    cdef int d, i
    cdef intp* step
    if ndim == 1:
        k.loop(args, dims, strides, k.data)
        return 0
    for d in range(ndim):
        if dims[d] == 0:
            return 0
        counter[d] = dims[d]
    while True:
        for i in range(nops):
            copy[i] = args[i]
        k.loop(copy, dims + ndim - 1, strides + (ndim - 1) * nops, k.data)
        d = ndim - 2
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
            return 0
