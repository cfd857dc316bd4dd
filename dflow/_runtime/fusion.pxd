"""Groups: elementwise tasks over one iteration space, which run together, block by block.

While a group is open, tasks join it as they are submitted. Python runs ahead of the workers: by the time a group runs,
the engine knows what comes after each operation, and which results have already lost their last reference. Such a
result is never stored: it lives in a register, a block of memory that stays in the first-level cache.

A reduction may join when what it reduces lies innermost: blocks then end where its rows do. Rows that fit a block are
reduced within it, and what comes after may read the result in the same block (a softmax is one group); longer ones end
the group.

A task may join when
    - its iteration space has as many elements, and the axes of both have a common refinement;
    - it waits for what the group waits for, and for nothing else but the group itself. Large tasks (a waiter runs small
      ones itself, one step after the other) have more freedom, if neither the task nor the group waits for a host task,
      which may take for ever: a large one may join what it has to wait for anyway; and, if the others wait for nothing
      slow, what reads the same storage, though alone it could have run earlier. (No task outside can wait for an open
      group: so there are no cycles.);
    - where it meets a write of the group, or writes what the group reads, both see each element at the same place: then
      blocks do not depend on each other, and any runner may take any of them.
"""

from dflow._kernels.kernel cimport intp, Kernel
from dflow._kernels.reduce cimport Fold
from dflow._runtime.graph cimport Poison, Site, Task

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
    int behind                  # BEHIND_HOST, BEHIND_SLOW: among it is a host task, or something slow
    bint inside                 # among it, or among what must not run after it, is the group that it may join

cdef struct GroupPlan:          # how a group runs; on the stack of its runner
    int members                 # all of them
    int runs                    # but the tail
    int nops, ndim, nregisters
    Kernel* kernels[64]
    int first[65]               # where each member's operands begin
    bint segmented[64]          # has an operand in memory that does not lie in the order of iteration
    int flags[64]               # floating point flags that each member raised; atomic
    intp dims[8]                # axes joined where all of memory allows it
    char* base[160]             # of each operand; of registers: the number
    bint register[160]
    bint flat[160]              # element f of the space lies at base + f * step
    intp steps[160]             # along the last axis
    intp strides[8][160]        # along all of them
    intp total                  # elements
    intp block                  # elements that run at once
    intp length                 # blocks end where rows of so many elements do,
    intp per_row                # and so many make up a row; 1 where rows are shorter than blocks
    intp blocks
    bint by_rows                # whole rows are the pieces that runners take
    size_t register_bytes       # of an element, at most
    size_t saved                # bytes never stored
    double cost                 # nanoseconds, roughly
    intp row                    # elements of one result of a reduction, where blocks are whole rows; 0: there is none
    Fold* tail                  # a reduction of longer rows, of `length`; NULL: none
    int tail_input, tail_output # operands
    int outer                   # axes of its output
    char* initial
    char* partials              # results of blocks, where rows are longer than blocks; owned

cdef struct RowsPlan:           # a kernel whose loop dimension is cut into pieces
    Kernel* kernel
    int nops, ndim
    int ndims                   # with core dimensions
    intp* dims
    intp* strides
    char* args[64]
    int flags                   # atomic
    Site* site
    Poison* raised              # atomic; owned: the error of a piece, from its runner's indicator. NULL: none

cdef bint may_tail(Task* t) noexcept nogil                                     # a reduction that may join at all
cdef intp row_of(Task* t) noexcept nogil                                       # elements of an output; 0: too many
cdef intp space_of(Task* t, Space* space) noexcept nogil
cdef int waits_of(Task* t, Waits* waits) noexcept nogil                        # of one that is not submitted yet
cdef int may_join(Task* leader, Space* space, Waits* waits, bint large, Task* t) noexcept nogil # GIL; refines the space
cdef bint may_follow(Task* leader, Space* space, Task* t) noexcept nogil
cdef bint plan_group(Task* leader, GroupPlan* g) noexcept nogil                # False: its members must run one by one
cdef bint lay_out_group(Task* leader, GroupPlan* g) noexcept nogil             # axes and strides alone, for a device
cdef intp pieces_of(GroupPlan* g) noexcept nogil
cdef void run_blocks(void* plan, intp start, intp stop) noexcept nogil         # some of the pieces
cdef void end_blocks(GroupPlan* g) noexcept nogil                              # when all have run, or none will
cdef void run_rows(void* plan, intp start, intp stop) noexcept nogil
# Calls the loop over the innermost of ndim dimensions, with the core dimensions after it, as often as there are others.
# Returns the floating point flags that it raises, where they mean something; else 0. Spoils args.
cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil
