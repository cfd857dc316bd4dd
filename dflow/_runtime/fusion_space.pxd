"""Iteration spaces of elementwise tasks and reductions: whether two have the same elements, in the same order."""

from libc.stdint cimport int64_t
from dflow._kernels.kernel cimport intp, REDUCES
from dflow._runtime.graph cimport Access, accesses, FLAT, itemsize_of, Task, task_dims, task_strides

cdef enum:
    MAX_AXES = 8                    # of an iteration space that is shared

cdef struct Space:              # an iteration space, outermost axis first
    int ndim
    intp dims[8]

cdef intp space_of(Task* t, Space* space) noexcept nogil                       # how many elements it has
cdef bint same_map(Task* t, int i, Task* u, int j) noexcept nogil
cdef bint refine(Space* space, Task* t) noexcept nogil

# ---- the axes of an operand ------------------------------------------------------------------------------------------

cdef inline int axes_of(Task* t) noexcept nogil:
    """Of the space that t runs over: a reduction reads its loop dimensions, and inside them those that it reduces."""
    return t.ndim + t.ncore if t.kernel.flags & REDUCES else t.ndim

cdef inline bint same_lengths(const intp* a, const intp* b, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True

cdef inline intp elements_of(Space* space) noexcept nogil:
    cdef intp n = 1
    cdef int d
    for d in range(space.ndim):
        n *= space.dims[d]
    return n

cdef inline intp step_of(Task* t, int axis, int i) noexcept nogil:
    """Of operand i along an axis, in bytes."""
    cdef Access* a = accesses(t) + i
    if t.flags & FLAT:
        return 0 if a.storage == NULL else itemsize_of(a)
    if axis < t.ndim:
        return task_strides(t)[axis * t.nops + i]
    return task_strides(t)[t.ndim * t.nops + axis - t.ndim] if i == 0 else 0

cdef struct Cursor:                 # goes through the axes of an operand, innermost first, by as much as asked for
    Task* task
    int operand
    int axis
    intp left                       # of this axis; 1: all was taken
    intp step

cdef inline void next_axis(Cursor* c) noexcept nogil:
    while c.left == 1 and c.axis > 0:
        c.axis -= 1
        c.left = task_dims(c.task)[c.axis]
        c.step = step_of(c.task, c.axis, c.operand)

cdef inline void begin_axes(Cursor* c, Task* t, int i) noexcept nogil:
    c.task = t
    c.operand = i
    c.axis = axes_of(t)
    c.left = 1
    c.step = 0
    next_axis(c)

cdef inline void advance_axes(Cursor* c, intp n) noexcept nogil:
    c.left //= n
    c.step *= n
    next_axis(c)
