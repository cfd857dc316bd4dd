"""Elements under masks: `x[mask]`, `A[mask] = value`, a mask of all axes or of the first ones.

A mask takes one pass that counts, so that the shape is known, and one that moves. The call waits for the mask where its
values decide about the shape, or about errors; not for the array.
"""

from dflow._array.core cimport ndarray

# Whether mask is one of bools for each element of a, and both are here, small and in order.
cdef bint covered_by(ndarray a, ndarray mask) noexcept
# a[mask]; None where the long way must be gone. The first is for what is small and here.
cdef ndarray quick_select(ndarray a, ndarray mask)
cdef ndarray under_mask(ndarray a, ndarray mask)
# a[mask] = a number, or values of a's type and in other memory; whether it was done.
cdef bint masked_fill(ndarray a, ndarray mask, object value) except -1
cdef bint put_under_mask(ndarray a, ndarray mask, ndarray values) except -1
