"""Sine and cosine of float64: loops of ours in NumPy's place, where they give the same bits."""

from dflow._kernels.kernel cimport Kernel

cdef int use_sincos(Kernel* k) except -1        # for NumPy's sin or cos; k as it was, if a bit differs
