"""Kernels of a row: sorting, places of extremes, products of two vectors. kind: NumPy's number of a way to sort."""

from dflow._kernels.kernel cimport intp, Kernel

cdef list long_sort_kernels(int code, int kind, intp n)                 # addresses, in their order; None: sort_kernel()
cdef Kernel* sort_kernel(int code, int kind, bint indices) except NULL      # indices: argsort
cdef Kernel* argextreme_kernel(int code, bint largest) except NULL
cdef Kernel* dot_kernel(int code) except NULL
