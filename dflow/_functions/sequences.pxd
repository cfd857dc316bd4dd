"""Lists and tuples of Python's numbers as arrays, without NumPy; and NumPy's arrays, copied.

Large ones that are only read need not be: lent() looks at NumPy's memory, and what is launched on that is done when it
returns, by all workers. That takes no longer than the copy, where the operation is cheap and what is beside it there.
It pays where a copy would not be used at once, but by a task.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from dflow._array.core cimport ndarray

# Of nothing but bools, integers and floats, in lists and tuples of one length at each depth, as the type that NumPy
# gives them, or as `code`; None for any other, and what does not fit.
cdef ndarray from_sequence(object x, int code=*)
cdef ndarray from_numpys(object x)                      # a NumPy array; None, if it is not of numbers
cdef float COPYING                                      # nanoseconds an element: of an operation that does little more
# A NumPy array for an operation that takes so many nanoseconds an element; None: it is small, or dear, or cannot be.
cdef ndarray lent(object x, float cost)
cpdef ndarray to_read(object x)                         # as_array, lent where that can be: for cheap operations alone
cdef object of_theirs(object x)
cdef inline object as_ours(object x):                   # the same, if it has axes; anything else as it is
    return of_theirs(x) if type(x) is cnp.ndarray else x
cdef ndarray numbers_of(object x)                       # either of these, or a sequence with elements of ours; None
cdef inline bint is_sequence(object x) noexcept:
    return type(x) is list or type(x) is tuple
cdef ndarray as_operand(object x)                       # as_array, by the above where that can be
# With arrays in place of NumPy's, and of sequences; None, where there are none, or without `sequences` something that
# is no array or Python's number.
cdef tuple with_arrays(PyObject** inputs, Py_ssize_t n, float cost, bint sequences)
