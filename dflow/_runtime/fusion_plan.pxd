"""How a group runs: the axes that its members share, which results are registers, how large a block is."""

from dflow._kernels.kernel cimport intp, Kernel
from dflow._kernels.native cimport native_t
from dflow._kernels.reduce cimport Fold
from dflow._runtime.graph cimport Task

cdef enum:
    STACK_BYTES = 65536             # for registers
    MAX_NATIVE = 16                 # native loops of a group

cdef intp NARROW                    # rows shorter than this are run down their columns

cdef struct NativeRun:          # members that one native loop computes: see _runtime/fusion_native.pxd
    int first, end
    native_t code
    bint segmented              # one of them is
    int slots                   # operands of the loop,
    unsigned char slot[160]     # and which of the group's each is

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
    int natives
    NativeRun native[16]        # in their order
    int wanted                  # floating point flags that some member is to tell of

cdef bint plan_group(Task* leader, GroupPlan* g) noexcept nogil                # False: its members must run one by one
cdef bint lay_out_group(Task* leader, GroupPlan* g) noexcept nogil             # axes and strides alone, for a device
cdef intp pieces_of(GroupPlan* g) noexcept nogil
