"""`out=` and `where=`: see _functions/out.pyx."""

from dflow._array.core cimport ndarray

cdef int check_mask(ndarray mask, ndarray a) except -1                  # a reduction's `where`
cdef int check_reduced(str name, Py_ssize_t* shape, int ndim, ndarray out, list kept) except -1
cdef int assign_where(ndarray target, ndarray source, object where) except -1
cdef object in_memory_order(object result, object order)
cdef ndarray as_mask(object where)
