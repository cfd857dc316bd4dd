"""Few elements, or small blocks, at places that several indices name: `A[rows, columns]`, `x[[0, 1]] = 3`.

At once and without Python objects, where all of it is here and small. The first axes have an index each: a Python
integer, an element, an array or a list of integers, of one axis and one length; what lies behind them is in C order.
"""

from cpython.object cimport PyObject
from dflow._kernels.kernel cimport Kernel
from dflow._array.core cimport ndarray

cdef ndarray take_points(ndarray a, object key)                         # a[key]; None: the long way must be gone
cdef bint put_points(ndarray a, object key, object value) except -1     # a[key] = value; whether it was done

# ufunc.at by a kernel of at_kernel(): few of one type at once (whether it was done); any, at places (an array of
# them, the bytes from a's first element to the first, from one to the next, and how many there are, from where negative
# ones count), by values of the type `code`, or by none.
cdef bint run_at(Kernel* k, ndarray a, object key, ndarray values) except -1
cdef int launch_at(Kernel* k, ndarray a, tuple places, ndarray values, int code) except -1

# The same of places, or a mask, in an array of NumPy's.
cdef ndarray take_named(ndarray a, object key)
cdef bint put_named(ndarray a, object key, object value) except -1
# theirs[ours], or of a tuple with such in it, as NumPy's array (a new reference), and theirs[ours] = value. NULL, or
# False: NumPy is to do that, or to say why not.
cdef PyObject* taken_of_numpys(PyObject* theirs, PyObject* key) except? NULL
cdef int put_into_numpys(PyObject* theirs, PyObject* key, PyObject* value) except -1
