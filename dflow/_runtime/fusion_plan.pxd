"""How a group runs: the axes that its members share, which results are registers, how large a block is."""

from dflow._kernels.kernel cimport intp, Kernel
from dflow._kernels.native cimport ARENAS, Loop
from dflow._kernels.reduce cimport Fold
from dflow._runtime.fusion_rules cimport MAX_MEMBERS, MAX_OPERANDS
from dflow._runtime.graph cimport Task

cdef enum:
    STACK_BYTES = 65536             # for registers,
    INNER_BYTES = 32768             # and for those of kind INNER
    MAX_NATIVE = 32                 # native loops of a group
    MAX_SLOTS = 255                 # operands of one
    MAX_GATHERED = 32               # rooms for a block each: of operands brought together, or saved
    PART = 8                        # members of one that run again together, where flags are to be told of

cdef struct NativeRun:          # members that one native loop computes: see _runtime/fusion_native.pxd
    int first, end
    Loop* loop                  # NULL: it has none
    int raised                  # atomic: the block before raised flags that are told of; a hint
    bint segmented              # one of them is
    int slots                   # operands of the loop,
    short slot[MAX_SLOTS]       # and which of the group's each is
    int ngathered               # those that are scattered: a block of each is brought together first, or, of results,
    unsigned char gathered[MAX_GATHERED]        # given out afterwards; their slots,
    unsigned char gathered_bytes[MAX_GATHERED]  # of an element,
    bint gives[MAX_GATHERED]    # and whether it is a result
    int nsaved                  # operands that it overwrites: they are saved, for members that run again
    short saved[MAX_GATHERED]
    unsigned char saved_bytes[MAX_GATHERED]     # of an element
    short saved_slot[MAX_GATHERED]              # of a loop that saves one itself, where it puts that; -1

cdef struct Parts:              # of native loops, loops of few members each; before an array of them
    int n

cdef inline NativeRun* runs_of(Parts* parts) noexcept nogil:
    return <NativeRun*>(parts + 2)

cdef enum Place:                    # where operands lie: in memory, or in a register, a block of which
    IN_MEMORY                       # (a constant, too)
    BLOCK                           # every member sees
    INNER                           # is seen by no more than a native loop, which keeps it in the processor: there is
                                    # memory for it where its members must run one by one

cdef struct GroupPlan:          # how a group runs; on the stack of its runner
    int members                 # all of them
    int runs                    # but the tail
    int nops, ndim
    int nregisters, ninner      # of kind BLOCK, and INNER
    intp inner_block            # elements of one of those
    int nrooms                  # for blocks that a native loop brings together, or saves
    bint gathers                # whether they do so with rows, as these are short
    Kernel* kernels[MAX_MEMBERS]
    int first[MAX_MEMBERS + 1]  # where each member's operands begin
    bint segmented[MAX_MEMBERS] # has an operand in memory that does not lie in the order of iteration
    int flags[MAX_MEMBERS]      # floating point flags that each member raised; atomic
    intp dims[8]                # axes joined where all of memory allows it
    char* base[MAX_OPERANDS]    # of each operand; of registers: the number
    char register[MAX_OPERANDS] # of Place
    short storage[MAX_OPERANDS] # the number of its storage among the group's; -1: a constant
    char flat[MAX_OPERANDS]     # element f of the space lies at base + f * step
    intp steps[MAX_OPERANDS]    # along the last axis
    int nmoving                 # operands whose addresses each block needs, which are flat,
    short moving[MAX_OPERANDS]  # and which
    intp strides[8][MAX_OPERANDS] # along all of them
    intp total                  # elements
    intp block                  # elements that run at once
    intp length                 # blocks end where rows of so many elements do,
    intp per_row                # and so many make up a row; 1 where rows are shorter than blocks
    intp blocks
    bint by_rows                # whole rows are the pieces that runners take
    size_t register_bytes       # of an element, at most
    intp memory_bytes           # of an element in storages: at most at a time, roughly
    size_t saved                # bytes never stored
    double cost                 # nanoseconds, roughly
    intp row                    # elements of one result of a reduction, where blocks are whole rows; 0: there is none
    Fold* tail                  # a reduction of longer rows, of `length`; NULL: none
    int tail_input, tail_output # operands
    int outer                   # axes of its output
    char* initial
    char* partials              # results of blocks, where rows are longer than blocks; owned
    int nstorages
    int natives
    NativeRun native[MAX_NATIVE] # in their order
    int wanted                  # floating point flags that some member is to tell of
    Parts* parts                # owned; there once the state is 2
    int parts_state             # atomic; 0: nobody has begun to find them; 1: somebody has; 2: found; 3: there are none
    int held[ARENAS]            # loops

cdef inline int register_of(GroupPlan* g, int i) noexcept nogil:
    """Of an operand in one: its number among those of both kinds."""
    return <int><size_t>g.base[i] + (g.nregisters if g.register[i] == INNER else 0)

cdef inline int rooms_of(NativeRun* r) noexcept nogil:
    return r.ngathered + r.nsaved

# In this order; False: its members must run one by one. In between its native loops are found.
cdef bint plan_group(Task* leader, GroupPlan* g) noexcept nogil
cdef bint plan_blocks(GroupPlan* g) noexcept nogil
cdef bint lay_out_group(Task* leader, GroupPlan* g) noexcept nogil             # axes and strides alone, for a device
cdef intp pieces_of(GroupPlan* g) noexcept nogil
