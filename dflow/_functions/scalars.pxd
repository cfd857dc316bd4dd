"""Arithmetic of single numbers."""

from dflow._array.core cimport ndarray

# None: ufuncs have it; quietly: also where there is to be a warning
cdef object scalar_arithmetic(int op, object a, object b, bint quietly=*)
cdef ndarray scalar_unary(int op, ndarray a)
