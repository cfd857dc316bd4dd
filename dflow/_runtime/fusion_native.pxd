"""Which members of a group one native loop computes, and the steps of it.

Members that follow each other, of numbers of as many bytes, whose operands lie element after element, or are one
element, along the last axis. Narrower numbers are read, by casts, from outside the loop alone, and what is cast to
narrower ones is for outside alone; but floats of 2 bytes are computed as such of 4, rounded after each operation, and
go to and fro. A result that no member after them reads is never stored, not even in a block.

Were flags raised, its members run once more, from the same values (run_native in _runtime/fusion_run.pyx). So what a
run overwrites of what it has read from memory is saved first, block by block, where flags may be told of; and it ends
before a member that overwrites a register that it has read from outside. What a value was loaded from is not there any
more once the run has overwritten it: from then on the value lies in a vector, or on the stack.
"""

from dflow._kernels.native cimport gains_alone, native_set, NO_VECTORS
from dflow._runtime.fusion_plan cimport GroupPlan
from dflow._runtime.graph cimport cost_of, Task

cdef enum:
    LEAST = 256                 # elements of a group that is to have native loops: listing their steps takes a while

cdef inline bint gains_natively(Task* t) noexcept nogil:
    """Whether t, in no group, is to run as one of its own."""
    return gains_alone(t.kernel) and native_set != NO_VECTORS and cost_of(t) >= LEAST * t.kernel.cost

cdef void find_native(GroupPlan* g) noexcept nogil
cdef void end_native(GroupPlan* g) noexcept nogil           # nobody runs its loops any more
cdef void find_parts(GroupPlan* g) noexcept nogil           # any runner: one does it
