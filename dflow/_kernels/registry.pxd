"""Kernels: NumPy's own loops looked up, and a few of ours with the same signature."""

from dflow._kernels.kernel cimport DataTag, intp, Kernel, loop_t
from dflow._kernels.reduce cimport Fold

cdef Kernel* kernel_new(const char* name, int nin, int nops, loop_t loop, void* data, int flags, float cost,
                        DataTag tag=*) except NULL
cdef Kernel* recall(object key) except? NULL                 # what remember() was given; NULL: nothing yet
cdef Kernel* remember(object key, Kernel* k) except NULL     # k
cpdef int name_kernel(object key, size_t k) except -1
cdef object key_of(Kernel* k)
cdef Kernel* cast_kernel(int source, int target) noexcept
cdef Kernel* number_kernel(int source, int target) except NULL
cdef object loop_types(object u, int nin, tuple arguments, object casting, dict keywords)     # resolve_dtypes()
cdef Kernel* ufunc_kernel(object ufunc, tuple codes) except? NULL           # NULL: no such loop
cdef Kernel* failing_kernel(Kernel* k, bytes failure) except NULL           # an invalid result is a LinAlgError
cdef Kernel* masked_kernel(Kernel* k) except NULL                           # one more input after its inputs: the mask
cdef int fill_fold(Fold* w, Kernel* k, int code, bint blocked) except -1     # all but its axes, of a zeroed one
cdef Kernel* reduce_kernel(Kernel* k, int code, int naxes, bint initial, bint blocked) except NULL
cdef Kernel* accumulate_kernel(Kernel* k, int code) except NULL
cdef Kernel* reduceat_kernel(Kernel* k, int code) except NULL
cdef Kernel* at_kernel(Kernel* k, int nin, int code) except NULL
cdef Kernel* sleep_kernel
