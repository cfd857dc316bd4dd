"""What stands beside arrays in a call: Python's numbers, and things that hold none."""

from dflow._array.core cimport ndarray

cdef bint compares_by_range(str name, tuple inputs)
cdef ndarray compared_by_range(str name, tuple inputs, int ndim, Py_ssize_t* shape)
cpdef ndarray numbers_for(object x, object dtype, object casting=*)
cpdef int cast_into(ndarray a, ndarray numbers) except -1
cdef object identity_of(object function, int code)
cdef object neutral_of(object function, int code)                       # which changes nothing, not the sign of a zero
cdef object start_of(object function, object initial, int code, Py_ssize_t total, bint masked)
cdef bint holds_no_numbers(object x)
cdef object numpys_answer(object function, tuple args, dict keywords, object error)
cdef int write_wrapped(object number, int code, char* p) except -1     # as NumPy's where takes it
