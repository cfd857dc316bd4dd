"""The type of ndarray itself, and the types of elements."""

from cpython.object cimport PyObject, PyTypeObject
from dflow._kernels.dtypes cimport NCODES

cdef PyTypeObject* element_types[NCODES]        # by code; each a subtype of ndarray, with the same struct
ctypedef PyObject* (*seeing)(PyObject*) except? NULL
ctypedef PyObject* (*taking)(PyObject*, PyObject*) except? NULL
ctypedef int (*putting)(PyObject*, PyObject*, PyObject*) except -1
ctypedef int (*bringing)(int, PyObject*, PyObject*) except -1
# seen(x): x for NumPy to look at, or NULL; into(op, theirs, x): whether theirs op= x is done; taken(theirs, x):
# theirs[x], or NULL.
cdef void numpy_sees(seeing seen, bringing into, taking taken, putting put) noexcept
ctypedef PyObject* (*comparing)(PyObject*, PyObject*, int) except? NULL
ctypedef int (*asking)(PyObject*) except -1
# How elements compare, and whether a bool is true: without ndarray's own methods, the latter's of which is returned.
cdef asking elements_compare_by(comparing compare, asking truth) noexcept
cdef void make_types(type cls) except *         # once, of ndarray, which has its tp_dealloc by then
cdef void elements_are_arrays(bint on) noexcept # whether isinstance(element, ndarray): so in MXNet
