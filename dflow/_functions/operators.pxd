"""The operators of ndarray."""

from cpython.object cimport PyObject

cdef object binary_operator(int op, object a, object b)
cdef object inplace_operator(int op, object a, object b)
cdef object unary_operator(int op, object a)
cdef PyObject* seen_at_once(PyObject* x) except? NULL
