"""Storages, tasks and the dependencies between them. The contract and the invariants are in _runtime/graph.pxd."""

from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.string cimport memset
from dflow._base.atomics cimport (
    DFLOW_DEBUG, DFLOW_PLAIN_MALLOC, add_i64, add_int, cas_int, cas_ptr, glance_int, hint_int, invariant, load_i64,
    load_int, store_i64, store_ptr, swap_ptr, told)
from dflow._base.locks cimport lock, RECENCY_LOCK, STORAGE_LOCK, unlock
from dflow._base.thread_state cimport holds
from dflow._kernels.kernel cimport ELEMENTWISE, ON_DISK, PRODUCT, core_cost
from dflow._kernels.outer_loop cimport rows_cost
from dflow._runtime.events cimport (
    FREED, MADE, NOTED_BYTES, PROMISED, note_after, note_failed, note_memory, note_submitted, reserve_events,
    watched)
from dflow._runtime.errors cimport dead_poisons, end_poisons, here, Poison, poison_unref
from dflow._base.allocator cimport *
from dflow._runtime.region cimport region_covers, regions_overlap

cdef extern from "Python.h" nogil:
    int Py_AddPendingCall(int (*func)(void*) noexcept, void* arg)
    int PyTraceMalloc_Track(unsigned int domain, uintptr_t address, size_t nbytes) nogil
    int PyTraceMalloc_Untrack(unsigned int domain, uintptr_t address) nogil

cdef struct Grave:          # something whose end needs the GIL
    Grave* next
    PyObject* object

cdef long long storages_made = 0, storages_ended = 0                                         # GIL
cdef long long bytes_made = 0, bytes_ended = 0               # changed with the GIL, read without
cdef long long storages_ended_nogil = 0, bytes_ended_nogil = 0                               # atomic
cdef long long spilled_bytes = 0                             # atomic
cdef Grave* graveyard = NULL        # atomic stack

# ---- storages --------------------------------------------------------------------------------------------------------

cdef enum:
    TINY = 1024             # data up to here lies in the storage's own cell

cdef inline size_t header() noexcept nogil:
    """Where a storage's data begins in its cell: aligned for every type."""
    return (sizeof(Storage) + 15) & ~<size_t>15

cdef inline bint data_inside(Storage* s) noexcept nogil:
    return s.data == <char*>s + header()

cdef inline size_t cell_size(Storage* s) noexcept nogil:
    return header() + s.nbytes if data_inside(s) else sizeof(Large) if is_large(s) else sizeof(Storage)

# tracemalloc knows storages by their headers' addresses, and those of small data not at all, like the events: each
# costs a call. What it is told in workers takes a lock of its own, which none holds who waits for the GIL; or the GIL
# (CPython 3.12.9, 3.13.2 and later), for which a worker may wait inside: who forks gives it away meanwhile.

cdef enum:
    TRACED = 0x64666c6f     # "dflo"

TRACEMALLOC_DOMAIN = TRACED

cdef inline void trace_memory(Storage* s) noexcept:
    if s.nbytes > TINY:
        PyTraceMalloc_Track(TRACED, <uintptr_t>s, s.nbytes)

cdef inline void untrace_memory(Storage* s) noexcept nogil:
    if s.nbytes > TINY:
        PyTraceMalloc_Untrack(TRACED, <uintptr_t>s)

cdef struct Foreign:
    Storage storage
    PyObject* owner         # owned

cdef Storage* storage_new(size_t nbytes, bint pending) noexcept:
    global storages_made
    cdef bint tiny = nbytes <= TINY and not pending
    cdef bint large = nbytes >= <size_t>LARGE
    cdef Storage* s = <Storage*>cell_alloc(
        STORAGES, header() + nbytes if tiny else sizeof(Large) if large else sizeof(Storage))
    if s == NULL:
        return NULL
    memset(s, 0, sizeof(Large) if large else sizeof(Storage))
    s.refs = 1
    s.era = era
    s.nbytes = nbytes
    if tiny:
        s.data = <char*>s + header()
    storages_made += 1
    store_i64(&bytes_made, bytes_made + nbytes)
    trace_memory(s)
    if large:
        lock(&recency.lock, RECENCY_LOCK)
        enter_recency(<Large*>s)
        unlock(&recency.lock)
    if nbytes >= NOTED_BYTES and not pending and load_int(&watched):
        reserve_events()
        note_memory(PROMISED, s, nbytes, here())
    return s

cdef void enter_recency(Large* s) noexcept nogil:
    """As the newest. Needs its lock, as do the others."""
    s.newer = NULL
    s.older = recency.newest
    if s.older != NULL:
        s.older.newer = s
    else:
        recency.oldest = s
    recency.newest = s

cdef void leave_recency(Large* s) noexcept nogil:
    if s.older != NULL:
        s.older.newer = s.newer
    else:
        recency.oldest = s.newer
    if s.newer != NULL:
        s.newer.older = s.older
    else:
        recency.newest = s.older

cdef void touch(Large* s) noexcept nogil:
    lock(&recency.lock, RECENCY_LOCK)
    if recency.newest != s:
        leave_recency(s)
        enter_recency(s)
    unlock(&recency.lock)

cdef void count_spilled(long long nbytes) noexcept nogil:
    add_i64(&spilled_bytes, nbytes)

cdef long long bytes_spilled() noexcept nogil:
    return load_i64(&spilled_bytes)

cdef Storage* storage_foreign(char* data, size_t nbytes, PyObject* owner) noexcept:
    global storages_made
    cdef Foreign* f = <Foreign*>cell_alloc(STORAGES, sizeof(Foreign))
    if f == NULL:
        return NULL
    memset(f, 0, sizeof(Foreign))
    f.storage.refs = 1
    f.storage.era = era
    f.storage.nbytes = nbytes
    f.storage.data = data
    f.storage.foreign = OTHERS
    f.owner = owner
    Py_XINCREF(owner)
    storages_made += 1
    return &f.storage

cdef bint storage_revive(Storage* s) noexcept nogil:
    cdef int n = load_int(&s.refs)
    while n > 0 and not cas_int(&s.refs, n, n + 1):
        n = load_int(&s.refs)
    return n > 0

cdef void storage_end_foreign(Storage* s) noexcept:
    cell_free(STORAGES, s, sizeof(Foreign))

cdef PyObject* end_foreign(Storage* s) noexcept nogil:
    """Its last reference is gone: what is not freed here ends with the owner, a reference to give away with the GIL."""
    cdef PyObject* owner = (<Foreign*>s).owner
    if s.poison != NULL:
        poison_unref(s.poison)
    if s.twin != NULL:
        bury(s.twin)
    if s.foreign == BORROWED:
        cell_free_nogil(STORAGES, s, sizeof(Foreign))
    return owner

cdef long long bytes_live() noexcept nogil:
    return load_i64(&bytes_made) - load_i64(&bytes_ended) - load_i64(&bytes_ended_nogil) - load_i64(&spilled_bytes)

cdef bint storage_allocate(Storage* s) noexcept nogil:
    """Give s its memory if it has none. Two writers of disjoint views may come at once."""
    cdef char* p
    if load_ptr(&s.data) != NULL:
        return True
    p = block_alloc(s.nbytes)
    if p == NULL:
        return False
    lock(&s.lock, STORAGE_LOCK)
    if s.data == NULL:
        store_ptr(&s.data, p)
        p = NULL
    unlock(&s.lock)
    if p != NULL:
        block_free(p, s.nbytes)
    elif s.nbytes >= NOTED_BYTES and load_int(&watched):
        note_memory(MADE, s, s.nbytes, NULL)
    return True

cdef inline void storage_free_data(Storage* s) noexcept nogil:
    if is_large(s):
        lock(&recency.lock, RECENCY_LOCK)
        leave_recency(<Large*>s)
        unlock(&recency.lock)
        if load_int(&(<Large*>s).away):
            storage_hooks.forget_spilled(<Large*>s)
        elif s.spilled and (<Large*>s).unused:
            count_spilled(-<long long>s.nbytes)
    if s.data != NULL and not data_inside(s):
        block_free(s.data, s.nbytes)

cdef inline bint may_revive(Storage* s) noexcept nogil:
    """Whether somebody without a reference may find it: atomics alone count these: I5."""
    return s.foreign or s.nbytes >= <size_t>LARGE

cdef void storage_unref(Storage* s) noexcept:
    """With the GIL held."""
    global storages_ended
    # A last reference needs no atomic, as none can be added, but to what may be revived.
    if (load_int(&s.refs) != 1 or may_revive(s)) and add_int(&s.refs, -1):
        return
    invariant(s.writes == NULL and s.reads == NULL, b"a storage with pending accesses lost its last reference")
    storages_ended += 1
    if s.foreign:
        Py_XDECREF(end_foreign(s))
        return
    untrace_memory(s)
    if s.nbytes >= NOTED_BYTES and s.data != NULL and load_int(&watched):
        note_memory(FREED, s, s.nbytes, NULL)
    storage_free_data(s)
    store_i64(&bytes_ended, bytes_ended + s.nbytes)     # after it has left the disk, which counts it as live again:
    if s.poison != NULL:
        poison_unref(s.poison)
    if s.twin != NULL:
        bury(s.twin)
    cell_free(STORAGES, s, cell_size(s))

cdef bint storage_rest(Storage* s) noexcept:
    """Whether the last reference was to a small storage in good order, which then waits for storage_resume."""
    global storages_ended
    if load_int(&s.refs) != 1 or s.poison != NULL or abroad(s) or not data_inside(s) or DFLOW_PLAIN_MALLOC:
        return False
    invariant(s.writes == NULL and s.reads == NULL and s.waited == 0, b"a storage in use was laid to rest")
    storages_ended += 1
    store_i64(&bytes_ended, bytes_ended + s.nbytes)
    return True

cdef void storage_resume(Storage* s) noexcept:
    global storages_made
    storages_made += 1
    store_i64(&bytes_made, bytes_made + s.nbytes)
    s.era = era
    s.device = 0

cdef void storage_unref_nogil(Storage* s) noexcept nogil:
    if (load_int(&s.refs) != 1 or may_revive(s)) and add_int(&s.refs, -1):
        return
    add_i64(&storages_ended_nogil, 1)
    if s.foreign:
        bury(end_foreign(s))
        return
    untrace_memory(s)
    if s.nbytes >= NOTED_BYTES and s.data != NULL and load_int(&watched):
        note_memory(FREED, s, s.nbytes, NULL)
    storage_free_data(s)
    add_i64(&bytes_ended_nogil, s.nbytes)               # who looks meanwhile finds less room than there is, not more
    if s.poison != NULL:
        poison_unref(s.poison)
    if s.twin != NULL:
        bury(s.twin)
    cell_free_nogil(STORAGES, s, cell_size(s))

cdef void bury(PyObject* obj) noexcept nogil:
    """Leave obj to the next thread that holds the GIL."""
    cdef Grave* g = <Grave*>memory_new(sizeof(Grave))
    cdef Grave* before
    if g == NULL:
        return                      # a leak, in a process without memory
    g.object = obj
    while True:
        before = g.next = <Grave*>load_ptr(&graveyard)
        if cas_ptr(&graveyard, before, g):
            break                   # from here on g may be gone
    if before == NULL:
        Py_AddPendingCall(drain_later, NULL)

cdef int drain_later(void* arg) noexcept with gil:
    drain()
    return 0

cdef void drain() noexcept:
    """End what was buried. Needs the GIL."""
    cdef Grave* g = <Grave*>swap_ptr(&graveyard, NULL)
    cdef Grave* following
    while g != NULL:
        following = g.next
        Py_XDECREF(g.object)
        memory_free(g)
        g = following
    end_poisons()

cdef bint graves() noexcept nogil:
    return load_ptr(&graveyard) != NULL or dead_poisons()

cdef void set_poison(Storage* s, Poison* p) noexcept nogil:
    """Replace the poison of s by p, which may be NULL."""
    cdef Poison* old
    if p != NULL:
        add_int(&p.refs, 1)
    lock(&s.lock, STORAGE_LOCK)
    old = s.poison
    store_ptr(&s.poison, p)
    unlock(&s.lock)
    if old != NULL:
        poison_unref(old)           # which may be its end, and calls the interpreter: not under the lock

# ---- tasks -----------------------------------------------------------------------------------------------------------

cdef Task* task_new(Kernel* kernel, int nops, int ndim, int ncore, int nsteps, size_t constants, int flags) except NULL:
    """A task to fill. nsteps: strides of core dimensions; constants: bytes of scalars, at most 2040."""
    cdef size_t size = sizeof(Task) + nops * sizeof(Access) + (ndim + ncore + nsteps) * sizeof(intp)
    cdef Task* t
    if not flags & FLAT:
        size += ndim * nops * sizeof(intp)
    if flags & HAS_REGIONS:
        size += nops * sizeof(Region)
    constants = (constants + 7) & ~<size_t>7
    if constants > 8:
        size = (size + 15) & ~<size_t>15        # long doubles
        constants = (constants + 15) & ~<size_t>15
    size += constants
    if nops > 255 or ndim > 64 or size > 65535 or constants > 2040:
        raise ValueError(f"too many operands for one operation: {nops}")
    t = <Task*>cell_alloc(TASKS, size)
    if t == NULL:
        raise MemoryError("no memory for a pending operation")
    memset(t, 0, sizeof(Task) + nops * sizeof(Access))
    t.kernel = kernel
    t.size = <uint16_t>size
    t.constants = <uint8_t>(constants >> 3)
    t.nops = <uint8_t>nops
    t.ndim = <uint8_t>ndim
    t.ncore = <uint8_t>ncore
    t.flags = <uint8_t>flags
    return t

cdef void task_operand(Task* t, int i, Storage* s, intp offset, int flags) noexcept:
    cdef Access* a = accesses(t) + i
    add_int(&s.refs, 1)
    a.storage = s
    a.prev = a
    a.key = (<int64_t>offset << ACCESS_BITS) | (i << INDEX_SHIFT) | flags

cdef char* task_constant(Task* t, int i, int itemsize, intp tail) noexcept:
    """Make operand i a constant; where to store it: in its links, which are free, or, over 8 bytes, in the tail."""
    accesses(t)[i].key = (i << INDEX_SHIFT) | (tail << ACCESS_BITS | IN_TAIL if itemsize > 8 else 0)
    return constant_of(t, i)

cdef void task_index(Task* t, int i) noexcept:
    accesses(t)[i].key = (i << INDEX_SHIFT) | INDEX

cdef char* constant_of(Task* t, int i) noexcept nogil:
    cdef Access* a = accesses(t) + i
    if a.key & INDEX:
        return NULL
    return task_constants(t) + offset_of(a) if a.key & IN_TAIL else <char*>&a.next

cdef Storage* first_written(Task* t) noexcept:
    """A storage of its operands that has had no memory, nor is another task to write to; or NULL."""
    cdef Access* a = accesses(t)
    cdef int i
    for i in range(t.kernel.nin, t.nops):
        if a[i].storage != NULL and a[i].storage.data == NULL and load_ptr(&a[i].storage.writes) == NULL:
            return a[i].storage
    return NULL

cdef long long bytes_written(Task* t) noexcept:
    """That its outputs span, at most."""
    cdef Access* a = accesses(t)
    cdef Region* r
    cdef long long n = 0
    cdef int i
    for i in range(t.nops):
        if a[i].storage != NULL and a[i].key & WRITE:
            r = region_of(a + i)
            n += a[i].storage.nbytes if r == NULL else r.hi - r.lo
    return n

cdef void note_task(Task* t, unsigned int leader) noexcept:
    note_submitted(t.order, leader, t.kernel, t.site, t.lane, first_written(t), bytes_written(t), bytes_live(),
                   t.ndim, t.ncore, task_dims(t))

# ---- regions ---------------------------------------------------------------------------------------------------------

cdef Region* region_of(Access* a) noexcept nogil:
    """NULL when all of the storage is accessed."""
    cdef Task* t
    if a.key & FULL:
        return NULL
    t = task_of(a)
    return task_region(t, index_of(a)) if t.flags & HAS_REGIONS else NULL

cdef bint overlap(Access* e, Region* r) noexcept nogil:
    cdef Region* q = region_of(e)
    return q == NULL or r == NULL or regions_overlap(q, r)

cdef inline bint covered(Access* e, Region* r) noexcept nogil:
    cdef Region* q
    if r == NULL:
        return True
    q = region_of(e)
    return q != NULL and region_covers(r, q)

# ---- dependencies ----------------------------------------------------------------------------------------------------

cdef inline void link_access(Access** head, Access* a, Storage* s) noexcept nogil:
    a.prev = NULL
    a.next = head[0]
    if a.next != NULL:
        a.next.prev = a
    hint_int(&s.nfront, s.nfront + 1)
    store_ptr(head, a)

cdef inline void unlink_access(Access* a, Storage* s) noexcept nogil:
    cdef Access** head = &s.writes if a.key & WRITE else &s.reads
    if a.next != NULL:
        a.next.prev = a.prev
    if a.prev != NULL:
        a.prev.next = a.next
    else:
        store_ptr(head, a.next)
    a.prev = a
    hint_int(&s.nfront, s.nfront - 1)

cdef Edge* spares = NULL            # GIL: edges for the task about to be connected,
cdef int nspares = 0                # and how many

cdef int most_conflicts(Access* a) noexcept:
    """How many tasks a has to wait for, at most: meanwhile workers take accesses out of the frontier; none is added."""
    cdef Storage* s = a.storage
    cdef Access* e
    cdef int n = glance_int(&s.nfront)
    if n > 1 and not a.key & WRITE:             # a read waits for writes only; beside it there may be a million reads
        n = 0
        lock(&s.lock, STORAGE_LOCK)
        e = s.writes
        while e != NULL:
            n += 1
            e = e.next
        unlock(&s.lock)
    return n

cdef int reserve_edges(Task* t) except -1:
    """So that connect() cannot fail half way."""
    global spares, nspares
    cdef Access* a = accesses(t)
    cdef Edge* edge
    cdef int i, n = 0
    for i in range(t.nops):
        if a[i].key & TRACKED:
            n += max(most_conflicts(a + i) - 1, 0)         # the first needs no edge
    while nspares < n:
        edge = <Edge*>cell_alloc(TASKS, sizeof(Edge))
        if edge == NULL:
            raise MemoryError("no memory for a dependency")
        edge.next = <uintptr_t>spares
        spares = edge
        nspares += 1
    return 0

cdef void release_edges() noexcept:
    global spares, nspares
    while spares != NULL:
        edge = spares
        spares = <Edge*>edge.next
        cell_free(TASKS, edge, sizeof(Edge))
    nspares = 0

cdef void add_edge(Task* before, Access* a, bint* inline_used) noexcept:
    """The head of a's task waits for the head `before`. Needs the lock of a storage whose frontier holds it: I3."""
    global spares, nspares
    cdef Edge* edge
    cdef Task* t = head_of(task_of(a))
    if load_int(&watched):
        note_after(t.order, before.order)
    if not inline_used[0]:
        inline_used[0] = True
        a.waiter = before.waiters
        store_ptr(<void**>&before.waiters, <void*>a)            # unseen() glances at it
    else:
        edge = spares
        spares = <Edge*>edge.next
        nspares -= 1
        edge.task = t
        edge.next = before.waiters
        store_ptr(<void**>&before.waiters, <void*>(<uintptr_t>edge | 1))
    add_int(&t.npending, 1)

cdef bint connect(Task* t, Access* a, Task* watched) noexcept:
    """Wait for the accesses before a that conflict with it, and enter the frontier. Whether `watched` is among them."""
    cdef Storage* s = a.storage
    cdef Region* r = region_of(a)
    cdef Access* e
    cdef Access* following
    cdef Task* before
    cdef bint write = (a.key & WRITE) != 0
    cdef bint used = False, met = False
    cdef int i
    if s == handed.over and load_ptr(&s.writes) != NULL:
        if task_of(a).kernel.flags & ELEMENTWISE and not write:     # handed over, too: who needs that?
            handed.over = accesses(task_of(a))[task_of(a).kernel.nin].storage
        else:
            note_need(s)
    lock(&s.lock, STORAGE_LOCK)
    for i in range(2 if write else 1):
        e = s.writes if i == 0 else s.reads
        while e != NULL:
            following = e.next
            if task_of(e) != t and overlap(e, r):
                before = head_of(task_of(e))
                if before != head_of(t):
                    add_edge(before, a, &used)
                    head_of(t).behind |= <uint8_t>behind(before)
                    met = met or before == watched
                if write and covered(e, r):
                    unlink_access(e, s)
            e = following
    link_access(&s.writes if write else &s.reads, a, s)
    if DFLOW_DEBUG:
        check_storage(s)
    unlock(&s.lock)
    return met

cdef void check_storage(Storage* s) noexcept nogil:
    """I1, and the shape of the lists; the first hundred entries."""
    cdef Access* e
    cdef Access* before
    cdef int i, n, total = 0
    invariant(holds(&s.lock), b"who changes a frontier has the storage's lock")
    for i in range(2):
        e = s.writes if i == 0 else s.reads
        before = NULL
        n = 0
        while e != NULL and n < 100:
            invariant(e.storage == s and e.prev == before, b"the frontier is a list")
            invariant(e.key & TRACKED, b"who is in the frontier is tracked")
            invariant(((e.key & WRITE) != 0) == (i == 0), b"reads and writes are apart")
            before = e
            e = e.next
            n += 1
        total += n
    invariant(s.nfront >= total, b"nfront counts the frontier")
    invariant(load_int(&s.refs) > 0, b"a storage in use has references")

# ---- what ThreadSanitizer is told ------------------------------------------------------------------------------------
#
# It does not see what NumPy's loops do. So a runner declares the operands of a task before and after running it; then
# any two tasks that meet in memory must be ordered by what the engine did, or that is a report, whenever they ran: a
# lost dependency shows at once.

cdef void tell_region(Storage* s, Region* r, bint write) noexcept nogil:
    cdef char* data = <char*>load_ptr(&s.data)
    cdef intp at
    if data == NULL:
        return
    if r == NULL:
        told(data, s.nbytes, write)
    elif r.pitch == 0:
        told(data + r.lo, r.hi - r.lo, write)
    else:
        at = r.start % r.pitch
        while at < r.hi:
            if at + r.length > r.lo:
                told(data + max(at, r.lo), min(at + r.length, r.hi) - max(at, r.lo), write)
            at += r.pitch

cdef void tell_operands(Task* t) noexcept nogil:
    cdef Access* a
    cdef int i
    while t != NULL:
        a = accesses(t)
        for i in range(t.nops):
            if a[i].key & TRACKED:
                # What goes to the disk, or comes back, stays what it is: who looks at it meanwhile sees the same.
                tell_region(a[i].storage, region_of(a + i), a[i].key & WRITE and not t.kernel.flags & ON_DISK)
        t = next_member(t)

# ---- the end of a task -----------------------------------------------------------------------------------------------

cdef Poison* find_poison(Task* t) noexcept nogil:
    """A reference to the error that keeps t from running: of an operand that it does not overwrite in full."""
    cdef Access* a = accesses(t)
    cdef Storage* s
    cdef Poison* p = NULL
    cdef int i
    for i in range(t.nops):
        s = a[i].storage
        if s == NULL or load_ptr(&s.poison) == NULL or (a[i].key & (WRITE | FULL)) == (WRITE | FULL):
            continue
        lock(&s.lock, STORAGE_LOCK)          # another part of s may be failing just now
        p = s.poison
        if p != NULL:
            add_int(&p.refs, 1)
        unlock(&s.lock)
        if p != NULL:
            break
    return p

cdef void mark(Task* t, Poison* p) noexcept nogil:
    """Poison what t, not its group, writes; p NULL: clear what it has overwritten in full. Before finish(): I4."""
    cdef Access* a = accesses(t)
    cdef Storage* s
    cdef int i
    if t.kernel.flags & FENCE and p == NULL:        # it changes nothing, unless what is on the disk cannot be read
        return
    if p != NULL and load_int(&watched):
        note_failed()
    for i in range(t.nops):
        s = a[i].storage
        if s == NULL or not a[i].key & WRITE or (p == NULL and not (a[i].key & FULL and load_ptr(&s.poison) != NULL)):
            continue
        set_poison(s, p)

cdef Task* finish(Task* t, bint* ring) noexcept nogil:
    """Leave the frontiers, release waiters and storages, free t and its group; its outputs are marked.

    Returns the tasks that became ready, linked through `next`; sets `ring` when a thread waits for an output.
    """
    cdef Task* m = t
    cdef Task* ready
    while m != NULL:
        leave_frontiers(m, ring)
        m = next_member(m)
    ready = release_waiters(t)
    end_tasks(t)
    return ready

cdef inline Task* release_waiters(Task* t) noexcept nogil:
    """Take t from those that wait for it. Those that wait for nothing more are linked through `next`."""
    cdef Task* ready
    cdef Task* first = NULL
    cdef Task* last = NULL
    cdef uintptr_t w = t.waiters            # I3: none is added now
    cdef Edge* edge
    while w:
        if w & 1:
            edge = <Edge*>(w & ~<uintptr_t>1)
            ready = edge.task
            w = edge.next
            cell_free_nogil(TASKS, edge, sizeof(Edge))
        else:
            ready = head_of(task_of(<Access*>w))
            w = (<Access*>w).waiter
        if add_int(&ready.npending, -1) == 0:
            ready.next = NULL
            if first == NULL:
                first = ready
            else:
                last.next = ready
            last = ready
    return first

cdef inline void end_tasks(Task* t) noexcept nogil:
    """Free t, unless a queue still refers to it, and its members."""
    cdef Task* m = t.group
    release(t)
    if load_int(&t.state) == TAKEN or add_int(&t.state, FINISHED) & POPPED:
        cell_free_nogil(TASKS, t, t.size)
    while m != NULL:
        t = m
        m = m.next
        release(t)
        cell_free_nogil(TASKS, t, t.size)

cdef void leave_frontiers(Task* t, bint* ring) noexcept nogil:
    cdef Access* a = accesses(t)
    cdef Storage* s
    cdef int i
    for i in range(t.nops):
        s = a[i].storage
        if s == NULL or not a[i].key & TRACKED:
            continue
        lock(&s.lock, STORAGE_LOCK)
        if a[i].prev != a + i:
            unlink_access(a + i, s)
        if s.waited:
            ring[0] = True
        if DFLOW_DEBUG:
            check_storage(s)
        unlock(&s.lock)

cdef void release(Task* t) noexcept nogil:
    """Give back what t refers to."""
    cdef Access* a = accesses(t)
    cdef int i
    if t.kernel.flags & HOST and (<PyObject**>task_constants(t))[0] != NULL:
        bury((<PyObject**>task_constants(t))[0])    # it never ran
    for i in range(t.nops):
        if a[i].storage != NULL:
            storage_unref_nogil(a[i].storage)

cdef void discard(Task* t) noexcept:
    """End a task that is not submitted after all. Needs the GIL."""
    release(t)
    cell_free(TASKS, t, t.size)
    drain()

# ---- estimates -------------------------------------------------------------------------------------------------------

cdef double cost_of(Task* t) noexcept nogil:
    """From its kernel's, for each element of its dimensions."""
    cdef double cost = t.kernel.cost
    cdef intp* dims = task_dims(t)
    cdef int i
    for i in range(t.ndim):
        cost *= dims[i]
    cost *= core_cost(t.kernel, dims + t.ndim, t.ncore)
    cost += rows_cost(t.kernel, t.ndim, dims)
    if t.kernel.flags & PRODUCT:
        cost = product_cost(cost, t.kernel, (dims[t.ndim] == 1) + (dims[t.ndim + 2] == 1))
    return cost

cdef double cost_of_all(Task* t) noexcept nogil:
    """Of t and its group."""
    cdef double cost = 0
    while t != NULL:
        cost += cost_of(t)
        t = next_member(t)
    return cost

cdef int members_of(Task* t) noexcept nogil:
    cdef int n = 0
    while t != NULL:
        n += 1
        t = next_member(t)
    return n

# ---- what Python sees ------------------------------------------------------------------------------------------------

def live():
    """Storages and bytes of array data that exist now."""
    drain()
    return {"storages": storages_made - storages_ended - load_i64(&storages_ended_nogil),
            "bytes": bytes_made - bytes_ended - load_i64(&bytes_ended_nogil)}

def storage_header_bytes():
    return sizeof(Storage)
