"""The type of ndarray itself: for a program, what NumPy holds is an array too. dflow itself asks is_array()."""

cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject

cdef object array_class = None

cdef class ArrayType(type):
    """isinstance(x, np.ndarray) holds for arrays of ours, and for NumPy's; issubclass() likewise."""

    def __instancecheck__(cls, x):
        return cls is array_class and isinstance(x, cnp.ndarray) or type.__instancecheck__(cls, x)

    def __subclasscheck__(cls, kind):
        return type.__subclasscheck__(cls, kind) or cls is array_class and issubclass(kind, cnp.ndarray)

cdef void be_type_of(type cls) noexcept:
    global array_class
    array_class = cls
    (<PyObject*>cls).ob_type = <PyTypeObject*>ArrayType
