"""Runs a group that is planned, block by block."""

from dflow._kernels.kernel cimport intp
from dflow._runtime.fusion_plan cimport GroupPlan

cdef void run_blocks(void* plan, intp start, intp stop) noexcept nogil         # some of the pieces
cdef void end_blocks(GroupPlan* g) noexcept nogil                              # when all have run, or none will
