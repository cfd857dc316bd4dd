"""Groups: elementwise tasks over one iteration space, which run together, block by block.

While a group is open, tasks join it as they are submitted. Python runs ahead of the workers: by the time a group runs, the
engine knows what comes after each operation, and which results have already lost their last reference. Such a result is
never stored: it lives in a register, a block of memory that stays in the first-level cache.

A task may join when
    - its iteration space has as many elements, and the axes of both have a common refinement;
    - it waits for what the group waits for, and for the group itself: so nothing is held up by what it does not need, and
      groups and tasks cannot wait for each other in a ring;
    - where it meets a write of the group, or writes what the group reads, both see each element at the same place: then
      blocks do not depend on each other, and any runner may take any of them.
"""

from dflow._graph cimport Task, Kernel, intp

cdef enum:
    MAX_MEMBERS = 64
    MAX_OPERANDS = 160          # of a group
    MAX_ARGUMENTS = 16          # of a member
    MAX_AXES = 8                # of an iteration space that is shared

    MAX_WAITS = 8

cdef struct Space:              # an iteration space, outermost axis first
    int ndim
    intp dims[8]

cdef struct Waits:              # what a task waits for
    int n                       # MAX_WAITS + 1: for more than fit here
    unsigned int orders[8]      # of submission
    bint inside                 # among it, or among what must not run after it, is the group that it may join

cdef struct GroupPlan:          # how a group runs; on the stack of who runs it
    int members, nops, ndim, nregisters
    Kernel* kernels[64]
    int first[65]               # where each member's operands begin
    int flags[64]               # floating point flags that each member raised; atomic
    intp dims[8]                # axes joined where all of memory allows it
    char* base[160]             # of each operand; of registers: the number
    bint register[160]
    intp steps[160]             # along the last axis
    intp strides[7][160]        # along the others
    intp block                  # elements of the last axis that run at once
    intp per_row                # blocks to a row
    intp blocks
    size_t register_bytes
    size_t saved                # bytes never stored
    double cost                 # nanoseconds, roughly

cdef int space_of(Task* t, Space* space) noexcept nogil
cdef int waits_of(Task* t, Waits* waits) noexcept nogil                        # of one that is not submitted yet
cdef bint may_join(Task* leader, Space* space, Waits* waits, Task* t) noexcept nogil    # GIL; refines the space
cdef bint plan_group(Task* leader, GroupPlan* g) noexcept nogil                # False: its members must run one by one
cdef void run_blocks(void* plan, intp start, intp stop) noexcept nogil
cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil
