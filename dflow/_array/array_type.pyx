"""The type of ndarray itself: for a program, what NumPy holds is an array too. dflow itself asks is_array()."""

import numpy as np
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject

cdef extern from "Python.h":
    ctypedef object (*newfunc)(type, PyObject*, PyObject*)
    ctypedef struct Slots "PyTypeObject":
        newfunc tp_new

cdef object array_class = None

class Base(np.ndarray):
    """What subclasses of ours are made of: NumPy's array, to which our class means its own."""

    __slots__ = ()

    def view(self, *args, **keywords):
        args = [np.ndarray if x is array_class else x for x in args]
        return super().view(*args, **{name: np.ndarray if x is array_class else x for name, x in keywords.items()})

cdef class ArrayType(type):
    """isinstance(x, np.ndarray) holds for arrays of ours, and for NumPy's; issubclass() likewise."""

    def __instancecheck__(cls, x):
        return cls is array_class and isinstance(x, cnp.ndarray) or type.__instancecheck__(cls, x)

    def __subclasscheck__(cls, kind):
        return type.__subclasscheck__(cls, kind) or cls is array_class and issubclass(kind, cnp.ndarray)

cdef object new_subclass(type meta, PyObject* args, PyObject* keywords):
    """tp_new of the type: a subclass of ours is one of NumPy's array, which keeps its class in views and results."""
    name, bases, members = <tuple>args
    bases = tuple([Base if base is array_class else base for base in bases])
    return type(name, bases, members) if keywords == NULL else type(name, bases, members, **<dict>keywords)

cdef void be_type_of(type cls) noexcept:
    global array_class
    array_class = cls
    (<Slots*>ArrayType).tp_new = <newfunc>new_subclass
    (<PyObject*>cls).ob_type = <PyTypeObject*>ArrayType
