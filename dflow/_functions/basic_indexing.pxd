"""Basic subscripts, made by C code."""

from dflow._array.core cimport ndarray, index_hook, store_hook

cdef object base_index(ndarray a, object key)                           # basic indexing, or NotImplemented
cdef int refuse_index(ndarray a, object key) except -1                  # NumPy's error for a key, if it has one
cdef int refuse_store(ndarray a, object key, object value) except -1    # for a[key] = value
cdef int fill_with(ndarray v, object value) except -1                   # v[...] = number
cdef ndarray stored(object x, int code)  # what is no array, as it is stored in one of that type

# ---- what advanced_indexing.pyx gives: subscripts with arrays or booleans among them
cdef index_hook advanced_get
cdef store_hook advanced_set
