"""Plans, and the fast paths of operators and ufuncs: each returns None when the long way must be gone."""

from libc.stdint cimport uint64_t
from dflow._kernels.kernel cimport intp, Kernel
from dflow._array.core cimport ndarray
from dflow._kernels.reduce cimport Fold
from dflow._kernels.dtypes cimport Scalar

cdef enum Weak:                 # a Python scalar takes its type from the arrays beside it (NEP 50)
    WEAK_INT = 18
    WEAK_FLOAT = 19
    WEAK_COMPLEX = 20
    NKINDS = 21

cdef struct Plan:               # what to do for given operand types; immortal
    Kernel* kernel
    int nargs
    int codes[32]               # of the loop: inputs, then outputs
    bint direct                 # no input of an array type needs a cast

cdef struct Reduction:          # of all elements of a ready contiguous array; immortal
    Plan* plan
    Fold fold
    bint has_initial
    Scalar initial
    int deciding                # the truth value that one element decides all with; -1: there is none

cdef int quick_kind(object x) noexcept  # as kind_of() in plans.pyx, for exact types; else -1
cdef bint same_shape(ndarray a, ndarray b) noexcept
cdef ndarray allocated(int code, int ndim, intp* shape)                 # new_array, with its memory
cdef intp count_bytes(char* p, intp n) noexcept nogil                   # that are not zero
cdef intp count_true(ndarray mask) noexcept                             # of one in C order
cdef ndarray quick_binary(Plan* p, object a, object b, ndarray out)
cdef ndarray binary_into(Plan* p, object a, object b, ndarray out)
cdef ndarray unary_into(Plan* p, ndarray x, ndarray out)
cdef ndarray queue_binary(Plan* p, object a, object b, ndarray out)
cdef ndarray direct_unary(Plan* p, ndarray x)
cdef ndarray direct_binary(Plan* p, object a, object b)
cdef ndarray launch_direct(Plan* p, object a, object b, ndarray out)
cdef ndarray quick_matmul(Plan* p, ndarray x, ndarray y)
cdef ndarray queue_matmul(Plan* p, ndarray x, ndarray y)
cdef ndarray quick_vecdot(Plan* p, ndarray x, ndarray y)
cdef ndarray quick_reduce(Reduction* r, ndarray a)
cdef uint64_t axes_named(object axis, int ndim) noexcept     # as bits; 0: none, or not quickly said
cdef ndarray quick_reduce_axes(Reduction* r, ndarray a, uint64_t axes, bint keepdims)
cdef ndarray quick_accumulate(Reduction* r, ndarray a)
