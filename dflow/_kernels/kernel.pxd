"""A kernel: a loop with NumPy's signature, and what the engine may do with it. It knows nothing of tasks."""

from dflow._base.atomics cimport invariant
from dflow._base.fpflags cimport fp_clear, fp_flags

ctypedef Py_ssize_t intp
ctypedef void (*loop_t)(char** args, intp* dims, intp* steps, void* data) noexcept nogil
ctypedef void (*piece_t)(char** args, intp* dims, intp* steps, void* data, intp start, intp stop) noexcept nogil

# A loop over rows of two dimensions, out = a op b; it moves the three pointers past them. Steps are of numbers side by
# side, but of one input 0.
ctypedef void (*rows_t)(char** row, const intp* leaps, intp rows, intp n, const intp* steps) noexcept nogil

cdef enum:
    MAXDIMS = 64            # axes that an array may have, as NumPy's

cdef enum KernelFlag:       # the contract: effects of a call, and which parts of it may be calls of their own
    REPORTS_FP = 1          # floating point flags after it mean something
    MAY_RAISE = 2           # may take the GIL and set a Python error: MemoryError, as a rule
    HOST = 4                # no loop: calls the Python object in its constants
    FENCE = 8               # runs nothing, orders everything
    INVALID_FAILS = 16      # the invalid flag is an error: LinAlgError(failure)
    ELEMENTWISE = 32        # may be called for any part of its iteration space
    PARTIAL = 64            # leaves some of its output as it was (a mask)
    REDUCES = 128           # its core dimensions become one element; see fold_of in _kernels/reduce.pxd
    ROWS = 256              # may be called for any part of its loop dimension, in any order
    PRODUCT = 512           # of matrices: its core dimensions are (m, n) and (n, p)
    COPIES = 1024           # moves elements of item_bytes() as they are
    VALUES_FAIL = 2048      # whether it fails depends on the values of its inputs: so it is with INVALID_FAILS
    TELLS_FP = 4096         # flags after it mean something, of which NumPy's function does not tell: check_finite()
    HAS_EFFECTS = 8192      # called though nobody looks at its result
    ON_DISK = 16384         # a FENCE with a loop, in the disk's lane: see _runtime/disk.pxd

cdef enum:
    READS_FP = REPORTS_FP | INVALID_FAILS | TELLS_FP

cdef enum CostModel:        # growth of its time with its core dimensions
    BY_SIZE                 # by their product
    CUBIC                   # by their third power, even where there are fewer
    BY_BYTES                # one is copied in a moment, and then by the bytes of a run: DATA_BYTES

cdef enum Resource:         # of a library, besides a core
    BLAS = 1                # may enter NumPy's BLAS, which others may be using: see _kernels/blas_library.pxd

cdef enum DataTag:          # type of `data`, with the function by which code outside the loop gets it
    DATA_OPAQUE             # any: the loop alone reads it
    DATA_BYTES              # the number of bytes of an element: item_bytes()
    DATA_FOLD               # fold_of() of _kernels/reduce.pxd
    DATA_PRODUCT            # product_of() of _kernels/matmul.pyx
    DATA_GUARDED            # guarded_of(), there too
    DATA_SORTING            # sorting_of() of _kernels/sorting.pyx

cdef enum:
    COPIED = 32             # bytes in a nanosecond, where they are in a core's cache
    FIRST_STEPS = 6         # of an algorithm of LAPACK: a small matrix takes the time of one with so many rows more

cdef struct Kernel:         # immortal
    loop_t loop
    void* data              # argument of the loop
    DataTag tag             # of data
    int flags               # KernelFlag
    int resources           # Resource
    CostModel cost_model
    const char* name
    const char* failure     # text of the error, with INVALID_FAILS
    int nin                 # operands nin.. are written
    int nops
    int operation           # what it computes, if that is known: of _kernels/native.pxd, as is the rest
    int width               # of how many bytes its numbers are; 0: it has but bools
    int narrow              # where it makes those of narrower ones: of how many bytes these are
    int numbers             # what it takes: Numbers
    float cost              # nanoseconds for one innermost element, roughly
    intp (*pieces)(intp* dims) noexcept nogil   # into how many parts the loop may be cut; NULL: see ROWS
    piece_t piece           # runs some of them
    rows_t rows             # for rows of few numbers, which are not worth a call of the loop each; NULL: it has none

cdef inline intp item_bytes(Kernel* k) noexcept nogil:
    invariant(k.tag == DATA_BYTES, b"the data of a kernel is a number of bytes")
    return <intp>k.data

cdef inline int call_loop(Kernel* k, char** args, intp* dims, intp* steps) noexcept nogil:
    """The floating point flags that the loop raises, where they mean something; else 0."""
    if not k.flags & READS_FP:
        k.loop(args, dims, steps, k.data)
        return 0
    fp_clear()
    k.loop(args, dims, steps, k.data)
    return fp_flags()

cdef inline double core_cost(Kernel* k, intp* dims, int ncore) noexcept nogil:
    """A factor for its cost of an element: of core dimensions `dims`."""
    cdef double cost = 1
    cdef int i
    if k.cost_model == BY_BYTES:
        return 1 + (dims[0] - 1) * item_bytes(k) / (COPIED * k.cost)
    for i in range(ncore):
        cost *= (dims[i] + FIRST_STEPS if k.cost_model == CUBIC else dims[i] if dims[i] else 1)
    if k.cost_model == CUBIC:
        for i in range(ncore, 3):
            cost *= dims[0] + FIRST_STEPS
    return cost

cdef inline int raise_current() except -1:
    """The error that the indicator has: a loop that MAY_RAISE has set it."""
    return -1
