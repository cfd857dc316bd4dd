"""What an element says of itself to code that knows NumPy's scalars. It is an array without axes, whose type is ndarray."""

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

    So an element is an np.floating, a numbers.Real, a float where NumPy's is; json, which writes floats by their memory,
    asks for what it cannot write.
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
