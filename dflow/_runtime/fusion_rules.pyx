"""Which tasks may join a group. The rules are in _runtime/fusion_rules.pxd."""

from libc.stdint cimport int64_t
from libc.stdlib cimport labs
from dflow._base.atomics cimport load_int, load_ptr
from dflow._base.locks cimport lock, STORAGE_LOCK, unlock
from dflow._kernels.kernel cimport intp, MAY_RAISE
from dflow._kernels.reduce cimport fold_of, group_block
from dflow._runtime.fusion_space cimport refine, same_map, Space
from dflow._runtime.graph cimport *
from dflow._runtime.region cimport Region

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
        if (own.behind | waits.behind) & BEHIND_HOST or not (large or own.inside):
            return -1
        if not (large and own.inside) and (own.behind | waits.behind) & BEHIND_SLOW:
            return -1
        if not own.inside and own.n == 0 and not shares_input(leader, t):
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
