"""launch(), through which every kernel runs: in the caller or as a task."""

from dflow._runtime.region cimport Region
from dflow._kernels.kernel cimport intp, Kernel
from dflow._runtime.errors cimport Site
from dflow._runtime.graph cimport SIZE_SHIFT, Storage, Task, task_operand, task_region

cdef struct Operand:        # of a launch: a view broadcast to the iteration space
    Storage* s              # borrowed; NULL: a constant of at most 64 bytes, or, when that is NULL too, an index:
                            # the kernel's argument is a number, 0 and what the strides add, and points to nothing
    intp offset
    char* constant
    int itemsize
    int flags               # WRITE, FULL as in _runtime/graph.pxd; UNTRACKED_READ
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
cdef int place_outputs(Kernel* k, Operand* ops, int nops) except -1  # to be called before dispatch(), if many_devices
cdef str device_name(int device)
cdef object several(name, int device, int other)        # the error that arrays are on both
cdef int dispatch(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, double cost, intp elements,
                  Site* site) except -1
cdef Task* make_task(Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, Site* site) except NULL
ctypedef int (*observer)(Kernel*, Operand*, int, int, intp*, Core*, double, intp) except -1
cdef struct LaunchHooks:    # filled by _tracing/trace.pyx, without which nobody captures
    observer observe        # sees what a thread that notes its operations launches
cdef LaunchHooks launch_hooks
cdef int copy_out(Kernel* k, Operand* source, int ndim, intp* shape, char* to) except -1
cdef int merge_axes(Core* core, int m) noexcept
cdef inline void region_of_run(Region* r, intp start, intp nbytes) noexcept:    # of bytes that follow each other
    r.lo = r.start = start
    r.hi = start + nbytes
    r.pitch = 0
    r.length = nbytes
cdef inline void fill_access(Task* t, int i, Storage* s, intp offset, int itemsize, int flags, Region* r) noexcept:
    """Operand i of a task, with its item size as an access keeps it. r: which bytes;
    NULL: all, or the task has no regions."""
    cdef int log = 0
    while 1 << log < itemsize:
        log += 1
    task_operand(t, i, s, offset, flags | log << SIZE_SHIFT)
    if r != NULL:
        task_region(t, i)[0] = r[0]
