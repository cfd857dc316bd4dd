"""Other libraries' arrays, recognized."""

from cpython.object cimport PyObject

cpdef bint foreign(object x)                                                    # has its own way with NumPy's functions
cdef bint any_foreign(PyObject** args, Py_ssize_t n)                            # or what is in a list or tuple
cdef bint foreign_like(object like)                                             # names a library in like=
cdef bint elsewhere(object device)                                              # makes arrays in another process
cdef bint any_like(PyObject** args, PyObject* names)                        # that argument, or such a device
cdef object ask(function, tuple args, dict keywords)                             # a function of NumPy's, called
cdef object ask_by_vector(function, PyObject** args, Py_ssize_t nargs, PyObject* names)  # the same
cdef object override(function, tuple inputs, dict usual, list values)           # a method of a NumPy ufunc, called
cdef bint overridden(tuple inputs, object out, object where)
