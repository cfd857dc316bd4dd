"""What a caller says of a shape or an axis, checked."""

from dflow._kernels.kernel cimport intp


cdef int parse_shape(object shape, intp* out) except -1                 # returns ndim
cdef int check_dimensions(int ndim, intp* shape) except -1              # ValueError where one is negative
cdef int normalize_axis(object axis, int ndim, str prefix=*) except -1  # AxisError
cdef bint sees_twice(int ndim, intp* shape, intp* strides, intp itemsize) noexcept
