"""The type of ndarray itself: for a program, what NumPy holds is an array too. dflow itself asks is_array()."""

import sys

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

    def __call__(cls, *args, **keywords):
        if cls is array_class and len(args) == 1 and not keywords and is_number(args[0]):
            if not names_array(sys._getframe()):
                raise TypeError(f"type(x)({args[0]!r}): the type of an element is ndarray. A number of its type is "
                                f"x.dtype.type({args[0]!r}), an array of that shape np.ndarray(({args[0]!r},))")
        if cls is array_class and len(args) == 1 and type(args[0]).__name__ == "Fraction":  # statistics: no shape
            return cnp.PyArray_TypeObjectFromType(cnp.NPY_DOUBLE)(args[0])
        return type.__call__(cls, *args, **keywords)

cdef object new_subclass(type meta, PyObject* args, PyObject* keywords):
    """tp_new of the type: a subclass of ours is one of NumPy's array, which keeps its class in views and results."""
    name, bases, members = <tuple>args
    bases = tuple([Base if base is array_class else base for base in bases])
    return type(name, bases, members) if keywords == NULL else type(name, bases, members, **<dict>keywords)

cdef bint is_number(object x):
    return isinstance(x, (int, float, complex)) or getattr(x, "ndim", 1) == 0

cdef bint names_array(object frame):
    """Whether the call where a frame stands has the name `ndarray` in it: who writes it means an array, as with NumPy.

    type(a[0])(3) means a number, and would be an array of three, with whatever is in memory.
    """
    from dis import get_instructions
    code = frame.f_code
    positions = None
    for step in get_instructions(code):
        if step.offset == frame.f_lasti:
            positions = step.positions
    if positions is None or positions.col_offset is None:
        return "ndarray" in code.co_names
    start, end = positions[0:3:2], positions[1:4:2]
    for step in get_instructions(code):
        if step.argval == "ndarray" and start <= step.positions[0:3:2] and step.positions[1:4:2] <= end:
            return True
    return False

cdef void be_type_of(type cls) noexcept:
    global array_class
    array_class = cls
    (<Slots*>ArrayType).tp_new = <newfunc>new_subclass
    (<PyObject*>cls).ob_type = <PyTypeObject*>ArrayType
