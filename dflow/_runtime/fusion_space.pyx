"""Iteration spaces: see _runtime/fusion_space.pxd."""

from dflow._kernels.kernel cimport intp
from dflow._runtime.graph cimport accesses, SIZE_SHIFT, Task, task_dims

cdef intp space_of(Task* t, Space* space) noexcept nogil:
    """Without axes of length 1. How many elements it has."""
    cdef int i, n = 0
    cdef intp total = 1
    for i in range(axes_of(t)):
        total *= task_dims(t)[i]
        if task_dims(t)[i] != 1:
            if n < MAX_AXES:
                space.dims[n] = task_dims(t)[i]
            n += 1                      # beyond MAX_AXES, no task will fit
    space.ndim = n
    return total

cdef bint same_map(Task* t, int i, Task* u, int j) noexcept nogil:
    """Whether two operands see each point of the iteration space at the same place; the axes may be split differently.

    And as much of it: an element and its real part begin at one place, but a write of the part does not stand for a
    read of the element, nor is its step in a register that of the element.
    """
    cdef Cursor a, b
    cdef intp n
    if accesses(t)[i].key >> SIZE_SHIFT != accesses(u)[j].key >> SIZE_SHIFT:      # offset and size
        return False
    begin_axes(&a, t, i)
    begin_axes(&b, u, j)
    while a.left != 1 and b.left != 1:
        n = a.left if a.left < b.left else b.left
        if a.step != b.step or a.left % n or b.left % n:
            return False
        advance_axes(&a, n)
        advance_axes(&b, n)
    return a.left == b.left == 1

cdef bint refine(Space* space, Task* t) noexcept nogil:
    """Split the axes of space so that those of t are products of them. False, space unchanged, when that cannot be."""
    cdef intp dims[8]
    cdef Cursor c
    cdef int x = space.ndim, n = 0, i
    cdef intp left = 1, k
    if x > MAX_AXES:
        return False
    begin_axes(&c, t, 0)
    while True:
        if left == 1 and x > 0:
            x -= 1
            left = space.dims[x]
        if left == 1 or c.left == 1:
            break
        k = left if left < c.left else c.left
        if left % k or c.left % k or n == MAX_AXES:
            return False
        dims[n] = k
        n += 1
        left //= k
        advance_axes(&c, k)
    if left != 1 or c.left != 1:
        return False
    space.ndim = n
    for i in range(n):
        space.dims[i] = dims[n - 1 - i]
    return True
