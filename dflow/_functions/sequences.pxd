"""Lists and tuples of Python's numbers as arrays, without NumPy; and NumPy's arrays, copied."""

cimport numpy as cnp
from dflow._array.core cimport ndarray

# Of nothing but bools, integers and floats, in lists and tuples of one length at each depth, as the type that NumPy
# gives them, or as `code`; None for any other, and what does not fit.
cdef ndarray from_sequence(object x, int code=*)
cdef ndarray from_numpys(object x)                      # a NumPy array; None, if it is not of numbers
cdef object of_theirs(object x)
cdef inline object as_ours(object x):                   # the same, if it has axes; anything else as it is
    return of_theirs(x) if type(x) is cnp.ndarray else x
cdef ndarray numbers_of(object x)                       # either of these, or a sequence with elements of ours; None
cdef inline bint is_sequence(object x) noexcept:
    return type(x) is list or type(x) is tuple
cdef ndarray as_operand(object x)                       # as_array, by the above where that can be
cdef tuple with_arrays(tuple inputs)                    # made of sequences and NumPy's; itself, where there are none
