"""Casts and copies, as kernels: of any type, by code, to any other."""

from dflow._kernels.kernel cimport Kernel

cdef Kernel* cast_kernel(int source, int target) noexcept       # the same type: a copy
cdef Kernel* move_kernel(int code) except NULL                  # a copy that may overlap what it copies
cdef Kernel* number_kernel(int source, int target) except NULL  # write_number() of one element
