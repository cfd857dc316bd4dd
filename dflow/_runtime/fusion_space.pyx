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

cdef inline bint in_line(Task* t, int i, intp n, intp step) noexcept nogil:
    """Whether an operand sees n elements, one step apart."""
    cdef intp length = 1
    cdef int d
    for d in range(axes_of(t) - 1, -1, -1):
        if task_dims(t)[d] != 1 and step_of(t, d, i) != step * length:
            return False
        length *= task_dims(t)[d]
    return length == n

cdef bint same_map(Task* t, int i, Task* u, int j) noexcept nogil:
    """Whether two operands see each point of the iteration space at the same place; the axes may be split differently.

    And as much of it: an element and its real part begin at one place, but a write of the part does not stand for a
    read of the element, nor is its step in a register that of the element.
    """
    cdef Cursor a, b
    cdef intp n
    cdef int d
    if accesses(t)[i].key >> SIZE_SHIFT != accesses(u)[j].key >> SIZE_SHIFT:      # offset and size
        return False
    if axes_of(t) == axes_of(u) and same_lengths(task_dims(t), task_dims(u), axes_of(t)):      # most do
        for d in range(axes_of(t)):
            if task_dims(t)[d] != 1 and step_of(t, d, i) != step_of(u, d, j):
                return False
        return True
    if axes_of(t) == 1:
        return in_line(u, j, task_dims(t)[0], step_of(t, 0, i))
    if axes_of(u) == 1:
        return in_line(t, i, task_dims(u)[0], step_of(u, 0, j))
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
    if axes_of(t) == x and same_lengths(task_dims(t), space.dims, x):
        return True
    if axes_of(t) == 1 and task_dims(t)[0] == elements_of(space):
        return True
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
