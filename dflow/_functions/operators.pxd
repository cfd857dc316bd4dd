"""The operators of ndarray."""

from cpython.object cimport PyObject

cdef object binary_operator(int op, object a, object b)
cdef object inplace_operator(int op, object a, object b)
cdef object unary_operator(int op, object a)
cdef int brought_into(int op, PyObject* theirs, PyObject* x) except -1
cdef PyObject* seen_at_once(PyObject* x) except? NULL
cdef PyObject* compare_elements(PyObject* a, PyObject* b, int how) except? NULL
cdef int truth_of(PyObject* x) except -1
