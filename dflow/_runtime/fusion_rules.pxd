"""Groups: elementwise tasks over one iteration space, which run together, block by block.

While a group is open, tasks join it as they are submitted. Python runs ahead of the workers: by the time a group runs,
the engine knows what comes after each operation, and which results have already lost their last reference. Such a
result is never stored: it lives in a register, a block of memory that stays in the first-level cache.

A reduction may join when what it reduces lies innermost: blocks then end where its rows do. Rows that fit a block are
reduced within it, and what comes after may read the result in the same block (a softmax is one group); longer ones end
the group.

A task may join when
    - its iteration space has as many elements, and the axes of both have a common refinement;
    - it waits for what the group waits for, and for nothing else but the group itself. There is more freedom, if
      neither the task nor the group waits for a host task, which may take for ever: a task may join what it has to wait
      for anyway, a small one (a waiter runs such itself, one step after the other) if both wait for nothing slow; then
      a large one may, too, if it waits, or reads the same storage, though alone it could have run earlier. (No task
      outside can wait for an open group: so there are no cycles.);
    - where it meets a write of the group, or writes what the group reads, both see each element at the same place: then
      blocks do not depend on each other, and any runner may take any of them.
"""

from dflow._kernels.kernel cimport intp
from dflow._runtime.fusion_space cimport Space
from dflow._runtime.graph cimport Task

cdef enum:
    MAX_MEMBERS = 512
    MAX_OPERANDS = 1536         # of a group
    MAX_ARGUMENTS = 16          # of a member

    MAX_WAITS = 8

cdef struct Waits:              # what a task waits for
    int n                       # MAX_WAITS + 1: for more than fit here
    unsigned int orders[8]      # of submission
    int behind                  # BEHIND_HOST, BEHIND_SLOW: among it is a host task, or something slow
    bint inside                 # among it, or among what must not run after it, is the group that it may join

cdef bint may_tail(Task* t) noexcept nogil                                     # a reduction that may join at all
cdef intp row_of(Task* t) noexcept nogil                                       # elements of an output; 0: too many
cdef int waits_of(Task* t, Waits* waits) noexcept nogil                        # of one that is not submitted yet
cdef int may_join(Task* leader, Space* space, Waits* waits, bint large, Task* t) noexcept nogil # GIL; refines the space
cdef bint may_follow(Task* leader, Space* space, Task* t) noexcept nogil
