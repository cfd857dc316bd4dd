"""Types whose calls make no tuple and no dictionary (PEP 590): Cython has no word for that."""

from cpython.object cimport PyObject

cdef extern from "Python.h":
    ctypedef PyObject* (*vectorcallfunc)(PyObject*, PyObject**, size_t, PyObject*)
    object PyObject_Vectorcall(object, PyObject**, size_t, PyObject*)
    Py_ssize_t PyVectorcall_NARGS(size_t)
    PyObject** PySequence_Fast_ITEMS(object)
    void PyType_Modified(type)
    ctypedef struct Type "PyTypeObject":
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags
        object (*tp_call)(object, object, PyObject*)
    unsigned long Py_TPFLAGS_HAVE_VECTORCALL
    unsigned long Py_TPFLAGS_METHOD_DESCRIPTOR

cdef inline void called_by_vector(type kind, Py_ssize_t offset, bint binds) noexcept:
    """offset: of a vectorcallfunc, in each of these. binds: it is a method in a class."""
    cdef Type* type_ = <Type*>kind
    type_.tp_vectorcall_offset = offset
    type_.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL
    if binds:
        type_.tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR
    PyType_Modified(kind)
