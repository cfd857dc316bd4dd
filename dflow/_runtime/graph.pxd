"""Storages, tasks, and the dependencies between them.

Submission is one total order: only a thread that holds the GIL submits. Workers finish tasks without it.

    storage   reference-counted memory. `writes` and `reads` are its frontier: the accesses of unfinished tasks that no
              later write covers. A storage is readable when `writes` is NULL, writable when both are.
    access    one operand of a task: which storage, from where, and its links in that storage's frontier.
    task      a kernel, its accesses, its iteration space. Runs once `npending` falls to 0.
    group     elementwise tasks that run together, block by block: a leader and its members. The leader waits for what a
              member waits for; a waiter of a member waits for the leader. See _runtime/fusion_rules.pxd.

A new access waits for the overlapping accesses before it in the frontier: a read for writes, a write for both. An
access covered by a later write leaves the frontier: whatever must wait for it also must wait for that write.

Invariants, checked in the debug build:
    I1  a tracked access of an unfinished task is in its storage's frontier, or a later write covers it;
    I2  `npending` of a task counts its unfinished predecessors, plus one while it is being submitted;
    I3  waiters are added to a task only under the lock of a storage whose frontier holds the task, and taken only after
        it left all frontiers: so no task waits for a finished one;
    I4  poison is set before the failing write leaves the frontier: who finds a storage readable finds its poison.
    I5  references that have come to 0 stay at 0. Of a foreign or a large storage, which may be found without one,
        atomics alone count them, down to 0 and up from no less than 1: either a reference is revived, or it was the
        last.
"""

from libc.stdint cimport int16_t, int32_t, uint16_t, uint8_t, int64_t, uintptr_t
from libc.stddef cimport size_t
from cpython.object cimport PyObject
from dflow._kernels.kernel cimport ELEMENTWISE, FENCE, HOST, intp, Kernel, REDUCES
from dflow._base.atomics cimport load_ptr
from dflow._runtime.errors cimport Poison, Site
from dflow._runtime.region cimport Region
from dflow._runtime.tuning cimport FAR, FAR_PRODUCT, LOOK_AFTER, VECTOR_PRODUCT
from dflow._base.thread_state cimport NEAR

cdef enum AccessFlag:
    WRITE = 1
    FULL = 2                # covers the whole storage
    TRACKED = 4             # takes part in dependencies; fixed at submission
    IN_TAIL = 16            # a constant of more than 8 bytes, at this offset of the task's constants
    INDEX = 32              # no memory: the pointer itself is the index of an element
    INDEX_SHIFT = 6         # ten bits: which operand of its task it is
    SIZE_SHIFT = 16         # four bits: the binary logarithm of the item size, which is the step in a FLAT task
    ACCESS_BITS = 20        # flags, the operand's index and that lie below the offset

cdef struct Access:
    Storage* storage        # owned reference; NULL for a constant
    int64_t key             # packed, see AccessFlag, and read by index_of() and its kin; fixed before others see it
    Access* next            # frontier links: storage lock. A constant's value is stored here
    Access* prev            # this very access: it is not in the frontier
    uintptr_t waiter        # next in the predecessor's waiters: I3

cdef enum Foreignness:      # of a storage's data: they are
    OTHERS = 1              # somebody else's, who may look at them, or a file's
    OURS_ALONE = 2          # of a kind of memory that does not come from the allocator
    BORROWED = OTHERS | 4   # for one operation: nobody finds it, and it ends with its last reference

cdef struct Storage:
    int refs                # atomic: handles and unfinished tasks
    int lock                # spin lock over the frontier, poison and allocation
    Access* writes          # changed under lock; NULL test without
    Access* reads
    int nfront              # length of both lists; changed under lock, glanced at without
    int waited              # threads blocked on it; lock
    unsigned int era        # GIL; of its making: see there
    int pins                # GIL; users of its memory from outside: while it has any, operations on it are synchronous
    char* data              # NULL until allocated; then constant
    size_t nbytes
    Poison* poison          # changed under lock
    unsigned int version    # GIL; changes when a program writes what a node of _tracing/tape.pyx may stand for
    uint8_t device          # GIL; where it is: see _base/thread_state.pxd
    uint8_t stale           # GIL; of one on a GPU: see _gpu/mirror.pxd
    uint8_t foreign         # fixed; its data are an owner's: see storage_foreign, and Foreignness
    uint8_t spilled         # GIL; it is on the disk, or will be: see _runtime/disk.pxd
    PyObject* twin          # GIL; owned: its memory on a GPU; NULL: it has none

cdef struct Large:          # a storage of LARGE bytes or more that is not foreign
    Storage storage
    Large* older            # neighbours in the order of their last use: recency.lock
    Large* newer
    int away                # atomic; whether its pages are those of a file: see _runtime/disk.pxd
    long long place         # and where in it
    int unused              # GIL; may leave while it has no memory: an empty array, see _runtime/disk.pxd

cdef struct Recency:
    int lock
    Large* oldest
    Large* newest

cdef struct Edge:           # one more predecessor of an operand that already waits for another
    Task* task
    uintptr_t next

cdef enum TaskFlag:
    HAS_REGIONS = 1
    ALWAYS = 2              # a host task that runs though an input is poisoned
    FLAT = 4                # one loop over contiguous operands and constants: steps are in the accesses, not listed
    MEMBER = 8              # of another task's group
    ABROAD = 16             # an operand is on a GPU. A group has such members only, or none
    CANCELLED = 32          # see _runtime/cancel.pxd: the one that is set later
    TELLS = 64              # a filter makes errors of the warnings that it may give

cdef enum Behind:           # what a task waits for, or did, maybe by way of others:
    BEHIND_HOST = 1         # a host task;
    BEHIND_SLOW = 2         # what is neither elementwise nor a reduction

cdef enum TaskState:
    IDLE = 0                # not yet taken
    TAKEN = 1               # by the thread that popped it
    CLAIMED = 2             # by a waiting thread, out of turn: its queue entry is stale
    POPPED = 4              # added when the stale entry leaves the queue
    FINISHED = 8            # added when a claimed task is done; the second of the two to be added frees the cell

cdef struct Task:
    Task* next              # ready queue: its lock. Of a member: the next member, atomic
    uintptr_t waiters       # tagged list of Access* (bit 0 clear) and Edge* (bit 0 set): I3
    Kernel* kernel
    Site* site              # where it was submitted; may be NULL
    Task* group             # of a leader: its first member, atomic; of a member: its leader. Fixed once it is closed
    int npending            # atomic
    int state               # atomic: see TaskState
    unsigned int order      # of submission; wraps around
    uint16_t size           # bytes of this cell
    uint8_t fp_warn         # floating point flags to warn of
    uint8_t flags           # fixed before others see it
    uint8_t nops
    uint8_t ndim            # loop dimensions, at least 1
    uint8_t ncore           # core dimensions after them
    uint8_t constants       # their size, in units of 8 bytes
    uint8_t lane            # whose workers run it
    uint8_t behind          # GIL; see Behind. Of a leader: what its group is behind
    int16_t priority        # of those that are ready in a queue, the highest runs first
    # Access[nops], Region[nops] if HAS_REGIONS, intp dims[ndim + ncore],
    # intp strides[ndim][nops] unless FLAT, core strides, constants

# ---- storages
cdef unsigned int era                                                # GIL; raised as a thread begins to note launches
cdef Storage* storage_new(size_t nbytes, bint pending) noexcept      # GIL; NULL: no memory. pending: allocate later
# GIL; over memory that `owner` keeps alive, of OTHERS. Its last reference gives `owner` (a reference, too) away, whose
# end is to call storage_end_foreign(): until then somebody who finds it may storage_revive() it. (BORROWED: that is set
# by who made it, and none of this need be.)
cdef Storage* storage_foreign(char* data, size_t nbytes, PyObject* owner) noexcept
cdef bint storage_revive(Storage* s) noexcept nogil                  # a reference; False: it had its last one
cdef void storage_end_foreign(Storage* s) noexcept                   # GIL
cdef void storage_unref(Storage* s) noexcept                         # GIL
cdef bint storage_rest(Storage* s) noexcept                          # GIL; ended but its cell; False: use storage_unref
cdef void storage_resume(Storage* s) noexcept                        # GIL; new again
cdef long long bytes_live() noexcept nogil                           # allocated or promised
cdef bint storage_allocate(Storage* s) noexcept nogil                # False: no memory
cdef enum:
    LARGE = 1 << 16
cdef inline bint is_large(Storage* s) noexcept nogil:
    return s.nbytes >= <size_t>LARGE and not s.foreign
cdef Recency recency
cdef void touch(Large* s) noexcept nogil                             # it is in use now
ctypedef void (*forgetter)(Large* s) noexcept nogil
cdef struct StorageHooks:           # filled by _runtime/disk.pyx
    forgetter forget_spilled        # at the end of one that is on the disk
cdef StorageHooks storage_hooks
cdef void count_spilled(long long nbytes) noexcept nogil             # that are in memory no more; or, below 0, again
cdef long long bytes_spilled() noexcept nogil
cdef inline bint abroad(Storage* s) noexcept:                        # GIL; on a GPU, where it stays
    return s.device > NEAR
cdef inline bint readable(Storage* s) noexcept nogil:
    return load_ptr(&s.writes) == NULL
cdef inline bint writable(Storage* s) noexcept nogil:
    return load_ptr(&s.writes) == NULL and load_ptr(&s.reads) == NULL

# Whether an operation of a few microseconds is worth its hand-over to a worker: not where the next one, or a wait,
# needs it at once; an elementwise one, which is handed over as well, only if its own result is needed. So such ones
# run in their callers while that is how it goes: dispatch() looks again every now and then.
cdef struct Handed:                 # GIL
    Storage* over           # what the last one that was handed over writes; compared, never followed. NULL: none
    int needed              # how many more run in their callers, since that was needed
    int brief               # the same of elementwise ones, since a group was waited for that was as small as one
cdef Handed handed
cdef inline void note_need(Storage* s) noexcept:                     # GIL; somebody waits for s, which is pending
    if s == handed.over:
        handed.over = NULL
        handed.needed = LOOK_AFTER

# ---- tasks: make, fill, submit. All need the GIL.
cdef Task* task_new(Kernel* kernel, int nops, int ndim, int ncore, int nsteps, size_t constants, int flags) except NULL
cdef void note_task(Task* t, unsigned int leader) noexcept   # before it is connected: it is submitted; leader: or 0
cdef void discard(Task* t) noexcept                                  # one that is not submitted after all
cdef void task_operand(Task* t, int i, Storage* s, intp offset, int flags) noexcept
cdef char* task_constant(Task* t, int i, int itemsize, intp tail) noexcept
cdef void task_index(Task* t, int i) noexcept
cdef char* constant_of(Task* t, int i) noexcept nogil      # NULL for an index
cdef void drain() noexcept                                              # end what workers could not: needs the GIL
cdef bint graves() noexcept nogil                                       # whether there is any such thing

# ---- dependencies
cdef bint overlap(Access* e, Region* r) noexcept nogil                  # r NULL: everything
cdef Region* region_of(Access* a) noexcept nogil                        # NULL: everything
cdef int reserve_edges(Task* t) except -1                              # GIL; before connect(), which cannot fail
cdef void release_edges() noexcept                                     # GIL; those that no task needs
cdef bint connect(Task* t, Access* a, Task* watched) noexcept          # GIL; whether it waits for `watched`
cdef Poison* find_poison(Task* t) noexcept nogil                        # a reference
cdef void mark(Task* t, Poison* p) noexcept nogil                       # poison the outputs; p NULL: clear them
cdef Task* finish(Task* t, bint* ring) noexcept nogil
# To ThreadSanitizer, if DFLOW_TSAN: it is read or written now; so are those of a task and its group.
cdef void tell_region(Storage* s, Region* r, bint write) noexcept nogil
cdef void tell_operands(Task* t) noexcept nogil

# ---- estimates
cdef inline double product_cost(double cost, Kernel* k, int vectors) noexcept nogil:
    """Of a product of so many vectors: 0, one and a matrix, or two."""
    if vectors:
        cost *= VECTOR_PRODUCT if vectors * cost < FAR * k.cost else vectors * FAR_PRODUCT
    return cost

cdef double cost_of(Task* t) noexcept nogil                             # in nanoseconds, roughly
cdef double cost_of_all(Task* t) noexcept nogil                         # of t and its group
cdef int members_of(Task* t) noexcept nogil

# ---- small change
cdef inline Access* accesses(Task* t) noexcept nogil:
    return <Access*>(t + 1)
cdef inline Region* task_region(Task* t, int i) noexcept nogil:
    return <Region*>(accesses(t) + t.nops) + i
cdef inline intp* task_dims(Task* t) noexcept nogil:
    return <intp*>(task_region(t, t.nops if t.flags & HAS_REGIONS else 0))
cdef inline intp* task_strides(Task* t) noexcept nogil:
    return task_dims(t) + t.ndim + t.ncore
cdef inline char* task_constants(Task* t) noexcept nogil:               # the last bytes of the task
    return <char*>t + t.size - (<int>t.constants << 3)
cdef inline int index_of(Access* a) noexcept nogil:
    return (a.key >> INDEX_SHIFT) & 0x3ff
cdef inline intp itemsize_of(Access* a) noexcept nogil:
    return <intp>1 << ((a.key >> SIZE_SHIFT) & 15)
cdef inline intp offset_of(Access* a) noexcept nogil:                   # bytes
    return <intp>(a.key >> ACCESS_BITS)
cdef inline Task* task_of(Access* a) noexcept nogil:
    return <Task*>(a - index_of(a)) - 1
cdef inline Task* head_of(Task* t) noexcept nogil:                      # what is queued and waited for in its place
    return t.group if t.flags & MEMBER else t
cdef inline Task* next_member(Task* t) noexcept nogil:                  # from the leader on; NULL after the last
    return <Task*>load_ptr(&t.next if t.flags & MEMBER else &t.group)
cdef inline int behind(Task* head) noexcept nogil:                      # GIL; what its waiters are behind
    cdef int kind = head.kernel.flags
    if kind & HOST:
        return BEHIND_HOST | BEHIND_SLOW
    return head.behind | (0 if kind & (ELEMENTWISE | REDUCES | FENCE) else BEHIND_SLOW)
