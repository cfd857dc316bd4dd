"""launch(), through which every kernel runs: in the caller or as a task."""

from dflow._graph cimport Storage, Region, Kernel, Site, SIZE_SHIFT, intp

cdef enum:
    MAXDIMS = 64

cdef struct Operand:        # of a launch: a view broadcast to the iteration space
    Storage* s              # borrowed; NULL: a constant of at most 64 bytes, or, when that is NULL too, an index:
                            # the kernel's argument is a number, 0 and what the strides add, and points to nothing
    intp offset
    char* constant
    int itemsize
    int flags               # WRITE, FULL as in _graph.pxd; UNTRACKED_READ
    Region region           # unused when FULL
    intp strides[64]

cdef enum OperandFlag:
    UNTRACKED_READ = 256    # the same bytes as an output: its access stands for both

cdef struct Core:           # core dimensions of a gufunc kernel
    int ndim
    int nsteps
    intp dims[70]
    intp steps[200]

cdef int fill_constant(Operand* o, char* constant, int itemsize) noexcept
cdef int fill_index(Operand* o, int ndim, intp* shape) noexcept     # of the elements in C order
cdef int launch(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core) except -1
cdef int dispatch(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, double cost, intp elements,
                  Site* site) except -1
ctypedef int (*observer)(Kernel*, Operand*, int, int, intp*, Core*, double, intp) except -1
cdef observer observe       # what a thread that notes its operations launches (_program.pyx)
cdef int copy_out(Kernel* k, Operand* source, int ndim, intp* shape, char* to) except -1
cdef int merge_axes(Core* core, int m) noexcept
cdef inline int size_bits(int itemsize) noexcept:           # the item size as an access keeps it
    cdef int log = 0
    while 1 << log < itemsize:
        log += 1
    return log << SIZE_SHIFT
