"""Matrix products in tiles, through SciPy's BLAS, on dflow's own workers; NumPy's linear algebra, guarded."""

from dflow._kernels.kernel cimport intp, Kernel
from dflow._kernels.lu cimport ColumnPlan

cdef bint worth_blas(intp m, intp n, intp p) noexcept nogil             # of (m, n) @ (n, p)
cdef int use_tiles(Kernel* k, int code) except -1                       # in NumPy's product, of this type
cdef int guard_blas(Kernel* k, object ufunc, int code) except -1        # if it is of NumPy's linear algebra
cdef int parts_of(Kernel* k, intp* dims) noexcept nogil                 # of a call for one matrix, by columns; or 1
# False, and a MemoryError: there is no memory.
cdef bint plan_parts(Kernel* k, char** args, intp* dims, intp* steps, ColumnPlan* p) noexcept nogil

cdef enum:
    DOT = 9_984                 # elements of two vectors that are multiplied in one call, at most
    DOT_PARTS = 64

cdef inline bint long_vectors(intp m, intp n, intp p) noexcept nogil:
    return m == p == 1 and n > DOT

cdef struct DotPlan:            # the product of two long vectors, in parts
    void* w                     # the kernel's data
    char* a
    char* b
    char* out
    intp n, a_step, b_step
    intp blocks, length         # of a block, in elements
    intp parts                  # of blocks
    double complex sums[DOT_PARTS]      # one of each part; their type is the kernel's
    int flags                   # atomic: floating point flags

cdef bint plan_dot(Kernel* k, char** args, intp* dims, intp* steps, DotPlan* d) noexcept nogil      # False: it is none
cdef void run_dot(void* plan, intp start, intp stop) noexcept nogil         # some of the parts
cdef void end_dot(DotPlan* d) noexcept nogil

cdef enum BlasUse:              # how a loop uses NumPy's BLAS: see _runtime/gate.pxd
    UNUSED
    SHARED                      # with one thread, beside others
    ALONE                       # with all threads
    BY_TURNS                    # with one, and does little but take its locks: one is as fast as two beside each other

cdef int blas_use(Kernel* k, intp* dims, intp* steps) noexcept nogil    # of a call of a kernel with BLAS
