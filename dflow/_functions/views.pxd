"""Views of arrays, made by C code."""

from dflow._kernels.kernel cimport intp
from dflow._array.core cimport ndarray
from dflow._array.dispatch cimport Core

cdef ndarray broadcast_view(ndarray a, int ndim, intp* shape)           # ValueError
cdef ndarray reshape_view(ndarray a, int ndim, intp* shape, char order) # None: needs a copy
cdef ndarray reshaped(ndarray a, int ndim, intp* shape)                 # view or copy, sizes agree
cdef ndarray without_axis(ndarray a, int axis)                          # at index 0 of it, whatever its length
cdef ndarray own(ndarray v)  # a view of what nobody else holds, as an array of its own
cdef ndarray with_ones(ndarray a, list axes, int ndim)                  # axes of length 1 put in
cdef int c_axis(object axis, int ndim, str text=*) except -1            # normalize_axis, which takes no booleans
cdef int one_axis(ndarray a, object axis, str how) except -1
cdef object axis_set(object axis, int ndim)                              # sorted; all for None
cdef ndarray split_core(ndarray a, list axes, Core* core)                # without these, which become the core
# Whether the reduction of numbers, cast to that type, along these axes casts them itself: where no cast before it would
# be part of its group, nor tell of something, and no array may be on a GPU, which has no such loop.
cdef bint casts_itself(ndarray a, int code, list axes)
