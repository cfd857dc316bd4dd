"""Subscripts with arrays or booleans among them."""

from dflow._array.core cimport ndarray

cdef object get_selected(ndarray a, object key)
cdef int set_selected(ndarray a, object key, object value) except -1
