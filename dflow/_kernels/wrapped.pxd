"""Kernels whose loop calls another kernel's: under a mask, along an axis, at chosen places."""

from dflow._kernels.kernel cimport Kernel
from dflow._kernels.reduce cimport Fold

cdef Kernel* masked_kernel(Kernel* k) except NULL                           # one more input after its inputs: the mask
cdef int fill_fold(Fold* w, Kernel* k, int code, bint blocked) except -1     # all but its axes, of a zeroed one
# Of elements of type `source`, which it casts to `code` if that is another one.
cdef Kernel* reduce_kernel(Kernel* k, int code, int source, int naxes, bint initial, bint blocked) except NULL
cdef Kernel* accumulate_kernel(Kernel* k, int code) except NULL
cdef Kernel* reduceat_kernel(Kernel* k, int code) except NULL
cdef Kernel* at_kernel(Kernel* k, int nin, int code) except NULL
