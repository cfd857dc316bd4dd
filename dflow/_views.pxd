"""Views of arrays, made by C code."""

from dflow._array cimport ndarray, index_hook, store_hook
from dflow._graph cimport intp

cdef ndarray broadcast_view(ndarray a, int ndim, intp* shape)           # ValueError
cdef ndarray reshape_view(ndarray a, int ndim, intp* shape, char order) # None: needs a copy
cdef ndarray reshaped(ndarray a, int ndim, intp* shape)                 # view or copy, sizes agree
cdef ndarray without_axis(ndarray a, int axis)                          # at index 0 of it, whatever its length
cdef ndarray outer_part(ndarray a, int ncore)                           # without the last ncore axes
cdef ndarray with_ones(ndarray a, list axes, int ndim)                  # axes of length 1 put in
cdef object base_index(ndarray a, object key)                           # basic indexing, or NotImplemented
cdef int c_axis(object axis, int ndim, str text=*) except -1            # normalize_axis, which takes no booleans
cdef int fill_with(ndarray v, object value) except -1                   # v[...] = number
cdef bint may_not_fit(ndarray x, int code) noexcept                     # a scalar that NumPy stores as int(x), or refuses to
cdef ndarray number_of(ndarray x, int code)                             # int(x) as that type

# ---- what _index gives: subscripts with arrays or booleans among them
cdef index_hook advanced_get
cdef store_hook advanced_set
