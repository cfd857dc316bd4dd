"""Basic subscripts, made by C code."""

from dflow._array.core cimport ndarray, index_hook, store_hook
from dflow._kernels.kernel cimport intp

cdef object base_index(ndarray a, object key)                           # basic indexing, or NotImplemented
cdef int refuse_index(ndarray a, object key) except -1                  # NumPy's error for a key, if it has one
cdef int refuse_store(ndarray a, object key, object value) except -1    # for a[key] = value
cdef int fill_with(ndarray v, object value) except -1                   # v[...] = number
cdef ndarray stored(object x, int code)  # what is no array, as it is stored in one of that type

cdef object get_index(ndarray a, object key)                            # a[key]
cdef object index_first(ndarray a, intp i)                              # a[i], within the length
cdef int set_index(ndarray a, object key, object value) except -1       # a[key] = value

cdef struct SelectionHooks:     # filled by wiring.pyx: subscripts with arrays or booleans among them
    index_hook advanced_get     # a[key]
    store_hook advanced_set     # a[key] = value
cdef SelectionHooks selection_hooks
