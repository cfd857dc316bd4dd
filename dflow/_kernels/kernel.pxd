"""What a kernel is: a loop with NumPy's signature, and what the engine may do with it. It knows nothing of tasks."""

ctypedef Py_ssize_t intp
ctypedef void (*loop_t)(char** args, intp* dims, intp* steps, void* data) noexcept nogil
ctypedef void (*piece_t)(char** args, intp* dims, intp* steps, void* data, intp start, intp stop) noexcept nogil

cdef enum:
    MAXDIMS = 64            # axes that an array may have, as NumPy's

cdef enum KernelFlag:
    REPORTS_FP = 1          # floating point flags after it mean something
    MAY_RAISE = 2           # may take the GIL and set a Python error: MemoryError, as a rule
    HOST = 4                # no loop: calls the Python object in its constants
    FENCE = 8               # runs nothing, orders everything
    INVALID_FAILS = 16      # the invalid flag is an error: LinAlgError(failure)
    ELEMENTWISE = 32        # may be called for any part of its iteration space
    PARTIAL = 64            # leaves some of its output as it was (a mask)
    REDUCES = 128           # its data is a Fold; see _kernels/reduce.pxd
    ROWS = 256              # may be called for any part of its loop dimension, in any order
    PRODUCT = 512           # of matrices: its core dimensions are (m, n) and (n, p)
    BLAS = 1024             # may enter NumPy's BLAS, which others may be using: see _kernels/matmul.pxd
    COPIES = 2048           # moves elements of `data` bytes as they are
    CUBIC = 4096            # takes time by the third power of its core dimensions, even where it has fewer
    LOCKS = 8192            # takes a lock of OpenBLAS for each matrix, which small ones do nothing but wait for

cdef enum:
    FIRST_STEPS = 6         # of an algorithm of LAPACK: a small matrix takes the time of one with so many rows more

cdef struct Kernel:         # immortal
    loop_t loop
    void* data
    const char* name
    const char* failure     # text of the error, with INVALID_FAILS
    int flags
    int nin                 # operands nin.. are written
    int nops
    float cost              # nanoseconds for one innermost element, roughly
    intp (*pieces)(intp* dims) noexcept nogil   # into how many parts the loop may be cut; NULL: see ROWS
    piece_t piece           # runs some of them

cdef inline double core_cost(Kernel* k, intp* dims, int ncore) noexcept nogil:
    """What its cost for an element is to be multiplied by, of core dimensions `dims`."""
    cdef double cost = 1
    cdef int i
    for i in range(ncore):
        cost *= (dims[i] + FIRST_STEPS if k.flags & CUBIC else dims[i] if dims[i] else 1)
    if k.flags & CUBIC:
        for i in range(ncore, 3):
            cost *= dims[0] + FIRST_STEPS
    return cost

cdef inline int raise_current() except -1:
    """The error that the indicator has: a loop that MAY_RAISE has set it."""
    return -1
