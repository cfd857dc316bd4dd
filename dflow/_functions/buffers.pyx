"""Sharing the memory of arrays with code that knows nothing of the engine: buffers, NumPy arrays, DLPack.

What is shared is pinned: from then on until the last of those who see it lets go, each operation on that memory is done
when its call returns, as in NumPy. So both sides see what the other has written, in the order of the program.
"""

from dflow._runtime.waiting cimport wait_storage
from dflow._base.atomics cimport add_int, load_ptr
from cpython.object cimport PyObject
from dflow._array.core cimport READONLY, SCALAR, copy_of, ndarray, numpy_window, shape_tuple, wait_read
from dflow._runtime.graph cimport abroad, Storage, storage_unref

import numpy as np

cdef extern from "Python.h":
    PyObject* PyEval_GetGlobals()

cdef enum:
    NOWHERE = 1 << 12           # an address

# Where pandas makes series and indices of arrays. NumPy's it copies; of others it asks for NumPy's, and keeps these.
cdef frozenset KEEPERS = frozenset({"pandas.core.construction", "pandas.core.indexes.base"})

cdef class Pin:
    """While it lives, somebody outside sees the memory of an array."""
    cdef Storage* st            # owned reference

    def __cinit__(self, ndarray a):
        self.st = a.st
        add_int(&a.st.refs, 1)
        a.st.pins += 1

    def __dealloc__(self):
        self.st.pins -= 1
        storage_unref(self.st)

def share(ndarray a):
    """A NumPy array over the memory of a. Waits for all that is pending on it; raises its error.

    What NumPy has as a scalar is a value: then it is a copy, and so is what is on a GPU.
    """
    if abroad(a.st):
        return a.asnumpy()
    if a.flags & SCALAR:
        a = copy_of(a)
    wait_storage(a.st, NULL, True, False)       # those who read it, too: the other side may write
    return numpy_window(wait_read(a), not a.flags & READONLY, Pin(a))

def lend(ndarray a):
    """The same for a buffer; a copy for one who keeps it as his own."""
    cdef PyObject* names = PyEval_GetGlobals()          # of the function in Python that asked NumPy
    if names != NULL and (<dict>names).get("__name__") in KEEPERS:
        return a.asnumpy()
    return share(a)

def share_for_good(ndarray a):
    """The same, when nobody will say that he no longer looks: for addresses. ValueError for what is on a GPU."""
    if abroad(a.st):
        raise ValueError("an array on a GPU has no address here: as_in_ctx(cpu()) brings it")
    window = share(a)
    if not a.flags & SCALAR:                    # whose copy the window keeps
        a.st.pins += 1
    return window

def apart(ndarray a, ndarray b):
    """Whether two arrays are views of different memory; what NumPy has as a scalar is a value, nobody's view."""
    return a.st != b.st or (a.flags | b.flags) & SCALAR != 0

cdef class Place:
    """What NumPy takes for an array at an address."""
    cdef readonly dict __array_interface__

cdef object at_nowhere(ndarray a):
    cdef Place p = Place()
    p.__array_interface__ = {"version": 3, "shape": shape_tuple(a), "strides": a.strides, "typestr": a.dtype.str,
                             "data": (NOWHERE + a.offset, True)}
    return np.asarray(p)

def placed(ndarray a, ndarray b):
    """NumPy arrays that lie to each other as these views of one memory do; nobody may look into them.

    The memory may not be there yet, and come at any time: then both lie where nothing is.
    """
    if load_ptr(&a.st.data) == NULL:
        return at_nowhere(a), at_nowhere(b)
    return numpy_window(a, False), numpy_window(b, False)

