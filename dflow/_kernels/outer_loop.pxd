"""The loop of a kernel over more dimensions than one."""

from dflow._kernels.kernel cimport intp, Kernel

# Calls the loop over the innermost of ndim dimensions, with the core dimensions after it, as often as there are others.
# Returns the floating point flags that it raises, where they mean something; else 0. Spoils args.
cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil
