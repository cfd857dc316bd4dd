"""Arithmetic of single numbers."""

from cpython.object cimport PyObject
from dflow._array.core cimport ndarray
from dflow._functions.fastpath cimport Plan

# None: ufuncs have it; quietly: also where there is to be a warning
cdef object scalar_arithmetic(int op, object a, object b, bint quietly=*)
cdef ndarray scalar_unary(int op, ndarray a)
cdef int number_kind(object x, char** p) noexcept       # as quick_kind(), of a number that is there, and where; else -1
cdef ndarray function_of_numbers(Plan* p, PyObject** args, int* kinds, char** at)   # None: ufuncs have it
