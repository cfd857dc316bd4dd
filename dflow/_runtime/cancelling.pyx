"""Cancelling: see _runtime/cancelling.pxd."""

from libc.stdlib cimport qsort
from dflow._base.atomics cimport load_int
from dflow._kernels.kernel cimport FENCE, HOST
from dflow._runtime.cancel cimport all_cancelled, cancel_all_pending, is_cancelled, note_cancel
from dflow._runtime.graph cimport (
    Access, accesses, CANCELLED, head_of, next_member, overlap, Storage, Task, task_of, WRITE)
from dflow._runtime.parking cimport announce, start_group
from dflow._runtime.region cimport Region
from dflow._runtime.runners cimport hold_runners, let_runners_go, pending
from dflow._runtime.survey cimport end_survey, look, make_room, node_of, Pair, RUNNING, Survey

cdef long long cancel_everything() noexcept:
    cdef long long n
    start_group()                       # what is submitted from now on shall not run member by member
    hold_runners()                      # C1
    n = pending()
    if n:
        cancel_all_pending()
    let_runners_go()
    announce(True)
    return n

cdef long cancel_needed(Storage* s, Region* r) except -1:
    cdef Survey v
    cdef long n
    start_group()                       # what is submitted from now on shall not run member by member
    try:
        if not make_room(&v):
            raise MemoryError("no memory to look at what is pending")
        hold_runners()
        look(&v)
        n = cancel_writers(&v, s, r)
        if n:
            note_cancel()
            n += cancel_before(&v)
        let_runners_go()
    finally:
        end_survey(&v)
    return n

cdef inline bint begun(Survey* v, Task* head) noexcept:
    cdef int i = node_of(v, head)
    return i < 0 or v.nodes[i].state == RUNNING         # not seen: it may be

cdef inline long cancel_one(Task* t) noexcept:
    if is_cancelled(t) or t.kernel.flags & FENCE:
        return 0
    t.flags |= CANCELLED                # C1
    return 1

cdef long cancel_writers(Survey* v, Storage* s, Region* r) noexcept:
    cdef Access* e = s.writes
    cdef long n = 0
    while e != NULL:
        if overlap(e, r) and not begun(v, head_of(task_of(e))):
            n += cancel_one(task_of(e))
        e = e.next
    return n

cdef long cancel_before(Survey* v) noexcept:
    """And what only cancelled ones wait for. Nodes were found forwards, so one turn backwards sees nearly all."""
    cdef long n = 0, found = 1, end
    cdef int i
    if v.cut:
        return 0                        # others might wait, too
    qsort(v.pairs, v.npairs, sizeof(Pair), by_before)
    while found:
        found = 0
        end = v.npairs
        for i in range(v.n - 1, -1, -1):
            while end and v.pairs[end - 1].before > i:
                end -= 1
            found += cancel_unneeded(v, i, end)
        n += found
    return n

cdef int by_before(const void* a, const void* b) noexcept nogil:
    cdef const Pair* p = <const Pair*>a
    cdef const Pair* q = <const Pair*>b
    return p.before - q.before if p.before != q.before else p.after - q.after

cdef long cancel_unneeded(Survey* v, int i, long end) noexcept:
    """Node i, whose pairs are the last before `end`, if its waiters are cancelled, and nobody else uses what it writes.
    How many tasks it has."""
    cdef Task* m = v.nodes[i].task
    cdef long n = 0
    if v.nodes[i].state == RUNNING or end == 0 or v.pairs[end - 1].before != i or all_cancelled(m):
        return 0
    while m != NULL:
        if m.kernel.flags & HOST or not used_by_cancelled(v, i, end, m):
            return 0
        m = next_member(m)
    m = v.nodes[i].task
    while m != NULL:
        n += cancel_one(m)
        m = next_member(m)
    return n

cdef bint used_by_cancelled(Survey* v, int i, long end, Task* m) noexcept:
    """Whether all that refers to what m writes is its own group, and tasks that wait for that and are cancelled."""
    cdef Access* a = accesses(m)
    cdef Task* t
    cdef long k
    cdef int j, uses
    for j in range(m.nops):
        if not a[j].key & WRITE:
            continue
        uses = uses_of(v.nodes[i].task, a[j].storage)
        k = end - 1
        while k >= 0 and v.pairs[k].before == i:
            t = v.nodes[v.pairs[k].after].task
            if not all_cancelled(t):
                return False
            if k == 0 or v.pairs[k - 1].before != i or v.pairs[k - 1].after != v.pairs[k].after:
                uses += uses_of(t, a[j].storage)        # once, though it may wait by several operands
            k -= 1
        if load_int(&a[j].storage.refs) != uses:
            return False
    return True

cdef int uses_of(Task* t, Storage* s) noexcept:
    """How many references to s a group has."""
    cdef Access* a
    cdef int i, n = 0
    while t != NULL:
        a = accesses(t)
        for i in range(t.nops):
            n += a[i].storage == s
        t = next_member(t)
    return n
