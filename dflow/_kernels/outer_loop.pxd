"""The loop of a kernel over more dimensions than one."""

from dflow._kernels.kernel cimport ELEMENTWISE, intp, Kernel

# Calls the loop over the innermost of ndim dimensions, with the core dimensions after it, as often as there are others.
# Returns the floating point flags that it raises, where they mean something; else 0. Spoils args.
cdef intp NARROW                # elements; shorter rows are run down their columns

cdef enum:
    ROW_NS = 8                  # that a loop takes besides its elements

cdef inline bint down_columns(Kernel* k, int ndim, intp* dims) noexcept nogil:
    """Whether the loop goes along the last axis but one: where that makes it longer."""
    return ndim > 1 and dims[ndim - 1] < NARROW and dims[ndim - 2] > dims[ndim - 1] and k.flags & ELEMENTWISE

cdef inline double rows_cost(Kernel* k, int ndim, intp* dims) noexcept nogil:
    """Nanoseconds that the loops of an elementwise kernel take besides their elements."""
    cdef double rows = ROW_NS
    cdef int i
    if ndim < 2 or not k.flags & ELEMENTWISE:
        return 0
    for i in range(ndim - 2):
        rows *= dims[i]
    return rows * dims[ndim - 1 if down_columns(k, ndim, dims) else ndim - 2]

cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil
