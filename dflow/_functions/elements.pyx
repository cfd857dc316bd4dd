"""What an element says of itself to code that knows NumPy's scalars. It is an array without axes, of type ndarray."""

cimport numpy as cnp
from cpython.object cimport PyObject
from dflow._array.core cimport SCALAR, ndarray
from dflow._array.core import attach
from dflow._kernels.dtypes cimport DTYPES

cdef extern from "Python.h":
    PyObject* PyEval_GetGlobals()
    bint PyFloat_Check(object)
    bint PyLong_Check(object)

cdef str JSON = "json.encoder"
cdef type Unnamed = type("element of a dflow array, whose number is its .item(),", (), {})      # for json's own error
cdef list TYPES = [dtype.type for dtype in DTYPES]
cdef object of_objects = object.__dict__["__class__"]

cdef bint in_json():
    cdef PyObject* names = PyEval_GetGlobals()          # of the innermost function in Python
    return names != NULL and (<dict>names).get("__name__") == JSON

cdef class Class:
    """x.__class__, which isinstance() asks after type(x): of an element NumPy's float64 and the like.

    So an element is an np.floating, a numbers.Real, a float where NumPy's is. But not for json, which would write it by
    a method of float, and has an error for what it does not know.
    """

    def __get__(self, x, owner):
        if type(x) is not ndarray or not (<ndarray>x).flags & SCALAR:
            return type(x)
        return Unnamed if in_json() else TYPES[(<ndarray>x).code]

    def __set__(self, x, kind):
        of_objects.__set__(x, kind)

cdef class OfArrays:
    """A method that arrays have, and elements lack, as NumPy's scalars do."""
    cdef object method

    def __init__(self, method):
        self.method = method

    def __get__(self, x, owner):
        if x is None:
            return self.method
        if (<ndarray?>x).flags & SCALAR:
            raise AttributeError(f"'numpy.{TYPES[(<ndarray>x).code].__name__}' object has no attribute "
                                 f"'{self.method.__name__}'")
        return self.method.__get__(x, owner)

attach("__class__", Class())
for _name in ("__len__", "__iter__"):
    attach(_name, OfArrays(ndarray.__dict__[_name]))

cpdef bint is_number(object x):
    """Whether x is a float or an int: of Python, or NumPy's float64. No element of ours, whose value may be pending."""
    return PyFloat_Check(x) or PyLong_Check(x)

cpdef object as_number(object x):
    """An element as NumPy's number, which waits; anything else as it is."""
    return x.asnumpy()[()] if type(x) is ndarray and (<ndarray>x).flags & SCALAR else x

def with_numbers(objects):
    """An array of objects, with NumPy's numbers for the elements of ours in it: itself, if there are none. Waits."""
    cdef object flat = objects.reshape(-1)
    cdef char* items = <char*>cnp.PyArray_DATA(flat)
    cdef Py_ssize_t i, step = flat.strides[0]
    cdef PyObject* item
    for i in range(cnp.PyArray_SIZE(flat)):
        item = (<PyObject**>(items + i * step))[0]
        if item != NULL and type(<object>item) is ndarray:
            break
    else:
        return objects
    flat = flat.copy()
    for i in range(i, len(flat)):
        flat[i] = as_number(flat[i])
    return flat.reshape(objects.shape)
