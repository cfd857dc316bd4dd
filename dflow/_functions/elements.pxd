"""Elements as numbers: for code that is to see NumPy's; the bools that there are."""

from dflow._array.core cimport ndarray

cpdef bint is_number(object x)
cpdef object as_number(object x)
# Elements are values: all that gives a bool gives the same two, as with NumPy, until an array has a gradient: what is
# recorded keeps something of its own. They are read-only, for what forgets that elements are no arrays.
cdef ndarray new_bool(bint value)
