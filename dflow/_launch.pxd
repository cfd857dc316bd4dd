"""launch(), through which every kernel runs: in the caller or as a task."""

from dflow._graph cimport Storage, Region, Kernel, intp

cdef enum:
    MAXDIMS = 64

cdef struct Operand:        # of a launch: a view broadcast to the iteration space
    Storage* s              # borrowed; NULL: a constant of at most 64 bytes
    intp offset
    char* constant
    int itemsize
    int flags               # WRITE, FULL as in _engine.pxd; UNTRACKED_READ
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
cdef int launch(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core) except -1
cdef int fp_event(int flags, Kernel* k) except -1           # flags that a kernel raised in the caller: warn, raise, call
cdef int read_fp_policy() except -1                         # np.errstate, into:
cdef int fp_warn                                            # flags to warn of
cdef int fp_strict                                          # flags that raise or call: their operations run at once
