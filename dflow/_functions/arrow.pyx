"""Arrays as Arrow's, by its C data interface: two capsules, of a type and of the memory, not copied where that can be.

The memory is pinned until the one who took it lets go (_functions/buffers.pyx). Further axes are lists of fixed size.
"""

import numpy as np
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport strncpy

from dflow._functions.buffers import share

# As Arrow's specification has them: of both, `release` is NULL for what nobody owns any more.
cdef struct ArrowSchema:
    const char* format
    const char* name
    const char* metadata
    int64_t flags
    int64_t n_children
    ArrowSchema** children
    ArrowSchema* dictionary
    void (*release)(ArrowSchema*) noexcept nogil
    void* private_data

cdef struct ArrowArray:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void** buffers
    ArrowArray** children
    ArrowArray* dictionary
    void (*release)(ArrowArray*) noexcept nogil
    void* private_data

cdef enum:
    NULLABLE = 2

cdef struct TypeNode:               # what a type owns
    char format[32]
    ArrowSchema child
    ArrowSchema* children[1]

cdef struct DataNode:               # what an array owns
    const void* buffers[2]          # which elements there are (all), and where they are
    PyObject* window                # owned: NumPy's array over the memory
    ArrowArray child
    ArrowArray* children[1]

cdef dict FORMATS = {"b1": "b", "i1": "c", "u1": "C", "i2": "s", "u2": "S", "i4": "i", "u4": "I", "i8": "l", "u8": "L",
                     "f2": "e", "f4": "f", "f8": "g"}

cdef void release_type(ArrowSchema* s) noexcept nogil:
    cdef TypeNode* node = <TypeNode*>s.private_data
    if s.n_children and node.child.release != NULL:
        node.child.release(&node.child)
    free(node)
    s.release = NULL

cdef void release_data(ArrowArray* a) noexcept nogil:
    cdef DataNode* node = <DataNode*>a.private_data
    if a.n_children and node.child.release != NULL:
        node.child.release(&node.child)
    if node.window != NULL:
        with gil:
            Py_XDECREF(node.window)
    free(node)
    a.release = NULL

cdef void end_type(object capsule) noexcept:
    cdef ArrowSchema* s = <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")
    if s.release != NULL:           # nobody took it
        s.release(s)
    free(s)

cdef void end_data(object capsule) noexcept:
    cdef ArrowArray* a = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
    if a.release != NULL:
        a.release(a)
    free(a)

cdef int fill_type(ArrowSchema* s, str letter, tuple lengths, const char* name) except -1:
    """A type of Arrow's: of numbers, or, with lengths of further axes, of lists of these."""
    cdef TypeNode* node = <TypeNode*>calloc(1, sizeof(TypeNode))
    if node == NULL:
        raise MemoryError()
    text = (f"+w:{lengths[0]}" if lengths else letter).encode()
    strncpy(node.format, text, sizeof(node.format) - 1)
    s.format, s.name, s.private_data, s.release = node.format, name, node, release_type
    s.flags = NULLABLE
    if lengths:
        node.children[0] = &node.child
        s.children = node.children
        fill_type(&node.child, letter, lengths[1:], "item")
        s.n_children = 1
    return 0

cdef int fill_data(ArrowArray* a, object window, int64_t length, tuple lengths) except -1:
    """An array of Arrow's over NumPy's: its own elements, or, with lengths of further axes, lists of them."""
    cdef DataNode* node = <DataNode*>calloc(1, sizeof(DataNode))
    if node == NULL:
        raise MemoryError()
    a.length, a.n_buffers, a.buffers, a.private_data, a.release = length, 1, node.buffers, node, release_data
    if lengths:
        node.children[0] = &node.child
        a.children = node.children
        fill_data(&node.child, window, length * lengths[0], lengths[1:])
        a.n_children = 1
    else:
        a.n_buffers = 2
        node.buffers[1] = <const void*><size_t>window.ctypes.data
        Py_INCREF(window)
        node.window = <PyObject*>window
    return 0

def arrow_type(x):
    """A capsule of x's type in Arrow's interface. TypeError for complex numbers and long double, and without axes."""
    letter = FORMATS.get(f"{x.dtype.kind}{x.dtype.itemsize}")
    if letter is None or x.ndim == 0:
        what = f"type for {x.dtype}" if letter is None else "array without axes: x.item() is the number"
        raise TypeError(f"Arrow has no {what}")
    cdef ArrowSchema* s = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
    if s == NULL:
        raise MemoryError()
    capsule = PyCapsule_New(s, "arrow_schema", end_type)
    fill_type(s, letter, x.shape[1:], "")
    return capsule

def arrow_array(x):
    """Capsules of x's type and memory: its own, where elements lie side by side; else, and of booleans, a copy's."""
    cdef object kind = arrow_type(x)
    window = np.ascontiguousarray(share(x))
    if window.dtype == bool:
        window = np.packbits(window, axis=None, bitorder="little")
    cdef ArrowArray* a = <ArrowArray*>calloc(1, sizeof(ArrowArray))
    if a == NULL:
        raise MemoryError()
    capsule = PyCapsule_New(a, "arrow_array", end_data)
    fill_data(a, window, len(x), x.shape[1:])
    return kind, capsule
