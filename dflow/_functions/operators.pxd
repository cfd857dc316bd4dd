"""The operators of ndarray."""

cdef object binary_operator(int op, object a, object b)
cdef object inplace_operator(int op, object a, object b)
cdef object unary_operator(int op, object a)
