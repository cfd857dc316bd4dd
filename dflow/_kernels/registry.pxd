"""Kernels by their keys; NumPy's own loops looked up, and a few of ours with the same signature."""

from dflow._kernels.kernel cimport DataTag, intp, Kernel, loop_t

cdef Kernel* kernel_new(const char* name, int nin, int nops, loop_t loop, void* data, int flags, float cost,
                        DataTag tag=*) except NULL
cdef Kernel* recall(object key) except? NULL                 # what remember() was given; NULL: nothing yet
cdef Kernel* remember(object key, Kernel* k) except NULL     # k
cpdef int name_kernel(object key, size_t k) except -1
cdef object key_of(Kernel* k)
cdef object loop_types(object u, int nin, tuple arguments, object casting, dict keywords)     # resolve_dtypes()
cdef Kernel* ufunc_kernel(object ufunc, tuple codes) except? NULL           # NULL: no such loop
cdef Kernel* failing_kernel(Kernel* k, bytes failure) except NULL           # an invalid result is a LinAlgError
cdef Kernel* sleep_kernel

cdef struct Wrapped:            # the data of a loop that calls another kernel's
    loop_t loop
    void* data
    int nin
    int nout
    int itemsize

cdef Wrapped* wrap(Kernel* k, int itemsize) except NULL
cdef void bools_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil      # itemsize: what decides
