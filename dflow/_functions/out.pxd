"""`out=` and `where=`: see _functions/out.pyx."""

from dflow._array.core cimport ndarray

cdef int check_mask(ndarray mask, ndarray a) except -1                  # a reduction's `where`
cdef int check_reduced(str name, Py_ssize_t* shape, int ndim, ndarray out, list kept) except -1
cdef int assign_where(ndarray target, ndarray source, object where) except -1
cdef object in_memory_order(object result, object order)
cdef ndarray as_mask(object where)
cdef ndarray clear_of(list results, ndarray a)
cpdef bint fill_alike(object out, object result, int flags=*) except -1
cdef object cast_error(object u, int source, int target, casting, index=*)       # u: NumPy's ufunc

cdef class Request:             # a call of a ufunc, by the names of its arguments
    cdef object ufunc           # NumPy's
    cdef int nin, nout
    cdef tuple inputs
    cdef object out             # once find_outputs() has been there a tuple, or None
    cdef object where, dtype, casting, order, signature, axes, axis, keepdims

cdef dict wishes(Request r)     # what is asked for otherwise than usual, as a ufunc takes it
cdef int check_request(Request r, bint bare, dict unknown) except -1    # bare: no `out` is named
cdef int find_outputs(Request r, bint bare) except -1
