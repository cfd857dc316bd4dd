"""The type of ndarray itself, and the types of elements.

For a program, what NumPy holds is an array too, and an element is none: it has a type of its own for each dtype, which
stands for NumPy's float64 and the like. All have ndarray's struct, and in C they are subtypes of it: dflow itself asks
is_array(), or is_ours().
"""

import copyreg
import numbers
from operator import itemgetter

import numpy as np
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from dflow._kernels.dtypes cimport BOOL, DTYPES, is_complex

cdef extern from "Python.h":
    ctypedef object (*newfunc)(type, PyObject*, PyObject*)
    ctypedef struct SequenceSlots "PySequenceMethods":
        void* sq_length
        void* sq_item
        void* sq_contains
    ctypedef struct MappingSlots "PyMappingMethods":
        void* mp_length
    ctypedef struct NumberSlots "PyNumberMethods":
        asking nb_bool
    ctypedef struct Slots "PyTypeObject":
        const char* tp_name
        unsigned long tp_flags
        PyTypeObject* tp_base
        SequenceSlots* tp_as_sequence
        MappingSlots* tp_as_mapping
        NumberSlots* tp_as_number
        comparing tp_richcompare
        PyObject* tp_dict
        void* tp_iter
        newfunc tp_new
    unsigned long Py_TPFLAGS_DEFAULT
    int PyType_Ready(type) except -1
    void PyType_Modified(type)
    PyObject* PyEval_GetGlobals()

cdef extern from "_array/deferring.h":
    int NUMPYS_ARRAY
    PyTypeObject* types_of_ours[2]
    seeing seen_by_numpy
    bringing into_numpys
    taking taken_of_numpys
    putting put_into_numpys
    void let_defer(int code, PyTypeObject* numpys)
    int let_dot_defer(object function) except -1

cdef object array_class = None
cdef object map_class = None            # of arrays over files
cdef bint arrays_too = False            # elements are

class Base(np.ndarray):
    """What subclasses of ours are made of: NumPy's array, to which our class means its own."""

    __slots__ = ()

    def view(self, *args, **keywords):
        args = [np.ndarray if x is array_class else x for x in args]
        return super().view(*args, **{name: np.ndarray if x is array_class else x for name, x in keywords.items()})

cdef class ArrayType(type):
    """isinstance(x, np.ndarray) holds for arrays of ours, and for NumPy's; issubclass() likewise."""

    def __instancecheck__(cls, x):
        if cls is not array_class:
            return type.__instancecheck__(cls, x) or cls is map_class and isinstance(x, np.memmap)
        return isinstance(x, cnp.ndarray) or type.__instancecheck__(cls, x) and not stands_for_number(type(x))

    def __subclasscheck__(cls, kind):
        if cls is not array_class:
            return type.__subclasscheck__(cls, kind) or cls is map_class and issubclass(kind, np.memmap)
        return issubclass(kind, cnp.ndarray) or type.__subclasscheck__(cls, kind) and not stands_for_number(kind)

def set_map_class(cls):
    """The class of arrays over files: those that NumPy holds are instances, too, and it is subclassed likewise."""
    global map_class
    map_class = cls

cdef inline bint stands_for_number(object kind):
    return not arrays_too and isinstance(kind, ElementType)

cdef void elements_are_arrays(bint on) noexcept:
    global arrays_too
    arrays_too = on

cdef object new_subclass(type meta, PyObject* args, PyObject* keywords):
    """tp_new of both metaclasses: a subclass of ours is one of NumPy's type, which keeps its class in views."""
    name, bases, members = <tuple>args
    bases = tuple([Base if base is array_class else np.memmap if base is map_class else
                   numpys(base) if isinstance(base, ElementType) else base for base in bases])
    return type(name, bases, members) if keywords == NULL else type(name, bases, members, **<dict>keywords)

# ---- the types of elements -------------------------------------------------------------------------------------

cdef Slots memory[NCODES]
cdef SequenceSlots sequence[NCODES]
cdef MappingSlots mapping[NCODES]
cdef NumberSlots of_bools

cdef tuple LONG = (np.longdouble, np.clongdouble)

cdef object numpys(object cls):
    """The type of NumPy's scalars that one of elements stands for."""
    cdef int code
    for code in range(NCODES):
        if element_types[code] == <PyTypeObject*>cls:
            return DTYPES[code].type
    raise TypeError(f"{cls!r} is no type of elements")

cdef class ElementType(type):
    """The type of elements of one dtype, as type(a[0]): whatever a program asks of it, it answers as NumPy's type.

    It equals that, and hashes alike; it is the same object in no case, nor in C a subtype of float. Those of long
    double equal nothing: NumPy, which has a table by types, would take the element's float() for its value.
    """

    @property
    def __mro__(cls):                   # of which singledispatch and the classes of collections.abc go by
        return (cls, *numpys(cls).__mro__)

    @property
    def __dict__(cls):
        return numpys(cls).__dict__

    @property
    def dtype(cls):                     # as np.dtype() asks for
        return np.dtype(numpys(cls))

    def __eq__(cls, other):
        return (cls is other or numpys(cls) is other and numpys(cls) not in LONG
                or arrays_too and other is array_class)             # as programs for MXNet ask

    def __ne__(cls, other):
        return not cls == other

    def __hash__(cls):
        return hash(numpys(cls))

    def __instancecheck__(cls, x):
        return isinstance(x, numpys(cls))

    def __subclasscheck__(cls, kind):
        return cls is kind or issubclass(kind, numpys(cls))

    def __getattribute__(cls, name):    # fromhex() and the like (by __getattr__, Cython would pass type's own way by)
        try:
            return type.__getattribute__(cls, name)
        except AttributeError:
            return getattr(numpys(cls), name)

    def __call__(cls, *args, **keywords):
        if len(args) == 1 and type(args[0]).__name__ == "Fraction":     # the mean of [1, 2] in `statistics`, not cut
            return np.float64(args[0])
        return numpys(cls)(*args, **keywords)

cdef object new_number(type cls, PyObject* args, PyObject* keywords):
    """tp_new of elements: a program that makes one has NumPy's."""
    return numpys(cls)(*<tuple>args) if keywords == NULL else numpys(cls)(*<tuple>args, **<dict>keywords)

def in_pickles(cls):
    return itemgetter(0), ((numpys(cls),),)             # by its name

copyreg.pickle(ElementType, in_pickles)

cdef str JSON = "json.encoder"
cdef type Unnamed = type("element of a dflow array, whose number is its .item(),", (), {})      # for json's own error
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
        return owner if x is None else Unnamed if in_json() else numpys(owner)

    def __set__(self, x, kind):
        of_objects.__set__(x, kind)

cdef class OfArrays:
    """A method that arrays have, and elements lack, as NumPy's scalars do."""
    cdef str name

    def __init__(self, name):
        self.name = name

    def __get__(self, x, owner):
        raise AttributeError(f"'numpy.{owner.__name__}' object has no attribute '{self.name}'")

LACKING = "__len__", "__iter__", "__contains__", "__setitem__", "__delitem__"

cdef list names = []                    # which the types keep

cdef void make_type(int code, type base) except *:
    """A static type, whose instances hold no reference to it: an array can become an element, and again an array."""
    cdef Slots* t = &memory[code]
    cdef type cls = <type><object>t
    name = f"numpy.{DTYPES[code].type.__name__}".encode()
    names.append(name)
    t.tp_name = name
    t.tp_base = <PyTypeObject*>base
    t.tp_flags = Py_TPFLAGS_DEFAULT
    t.tp_as_sequence = &sequence[code]
    t.tp_as_mapping = &mapping[code]
    (<PyObject*>t).ob_type = <PyTypeObject*>ElementType
    Py_INCREF(cls)
    PyType_Ready(cls)
    t.tp_iter = t.tp_as_sequence.sq_length = t.tp_as_sequence.sq_item = t.tp_as_sequence.sq_contains = NULL
    t.tp_as_mapping.mp_length = NULL
    t.tp_new = <newfunc>new_number
    members = <dict><object>t.tp_dict
    members["__class__"] = Class()
    for name in LACKING:
        members[name] = OfArrays(name)
    PyType_Modified(cls)
    element_types[code] = <PyTypeObject*>t

cdef void make_types(type cls) except *:
    global array_class
    cdef int code
    array_class = cls
    for kind in (ArrayType, ElementType):
        (<Slots*>kind).tp_new = <newfunc>new_subclass
    types_of_ours[0], types_of_ours[1] = <PyTypeObject*>ArrayType, <PyTypeObject*>ElementType
    let_defer(NUMPYS_ARRAY, <PyTypeObject*>np.ndarray)
    for code in range(NCODES):
        make_type(code, cls)
        let_defer(code, <PyTypeObject*>DTYPES[code].type)
        if DTYPES[code].type in LONG:               # the others equal what is registered
            (numbers.Complex if is_complex(code) else numbers.Real).register(<type><object>element_types[code])
    (<PyObject*>cls).ob_type = <PyTypeObject*>ArrayType

cdef asking elements_compare_by(comparing compare, asking truth) noexcept:
    global of_bools
    cdef asking before = memory[<int>BOOL].tp_as_number.nb_bool
    cdef int code
    for code in range(NCODES):
        memory[code].tp_richcompare = compare
    of_bools = memory[<int>BOOL].tp_as_number[0]
    of_bools.nb_bool = truth
    memory[<int>BOOL].tp_as_number = &of_bools
    return before

def numpys_dot(function):
    """Let function(theirs, ours) be called for theirs.dot(ours)."""
    let_dot_defer(function)

cdef void numpy_sees(seeing seen, bringing into, taking taken, putting put) noexcept:
    global seen_by_numpy, into_numpys, taken_of_numpys, put_into_numpys
    seen_by_numpy = seen
    into_numpys = into
    taken_of_numpys = taken
    put_into_numpys = put
