"""Which members of a group one native loop computes, and the steps of it.

Members that follow each other, of numbers of as many bytes, whose operands lie element after element, or are one
element, along the last axis. Narrower numbers are read, by casts, from outside the loop alone, and what is cast to
narrower ones is for outside alone. A result that no member after them reads is never stored, not even in a block.

Were flags raised, its members run once more, from the same values (run_native in _runtime/fusion_run.pyx). So what a
run overwrites of what it has read from memory is saved first, block by block, where flags may be told of; and it ends
before a member that overwrites a register that it has read from outside. What a value was loaded from is not there any
more once the run has overwritten it: from then on the value lies in a vector, or on the stack.
"""

from dflow._runtime.fusion_plan cimport GroupPlan

cdef void find_native(GroupPlan* g) noexcept nogil
cdef void end_native(GroupPlan* g) noexcept nogil           # nobody runs its loops any more
cdef void find_parts(GroupPlan* g) noexcept nogil           # any runner: one does it
