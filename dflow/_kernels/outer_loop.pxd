"""The loop of a kernel over more dimensions than one."""

from dflow._kernels.kernel cimport ELEMENTWISE, intp, Kernel

# Calls the loop over the innermost of ndim dimensions, with the core dimensions after it, as often as there are others.
# Returns the floating point flags that it raises, where they mean something; else 0. Spoils args.
cdef intp NARROW                # elements; shorter rows are run down their columns

cdef enum:
    ROW_NS = 8                  # that a loop takes besides its elements
    SHORT = 64                  # elements of a row that Kernel.rows is for

cdef inline bint down_columns(Kernel* k, int ndim, intp* dims) noexcept nogil:
    """Whether the loop goes along the last axis but one: where that makes it longer."""
    return ndim > 1 and dims[ndim - 1] < NARROW and dims[ndim - 2] > dims[ndim - 1] and k.flags & ELEMENTWISE

cdef inline double rows_cost(Kernel* k, int ndim, intp* dims) noexcept nogil:
    """Nanoseconds that the loops of an elementwise kernel take besides their elements."""
    cdef double rows = ROW_NS
    cdef int i
    if ndim < 2 or not k.flags & ELEMENTWISE:
        return 0
    for i in range(ndim - 2):
        rows *= dims[i]
    return rows * dims[ndim - 1 if down_columns(k, ndim, dims) else ndim - 2]

cdef inline bint short_rows(Kernel* k, intp rows, intp* dims, intp* steps) noexcept nogil:
    return (k.rows != NULL and dims[0] <= SHORT and rows > 1 and steps[2] == k.width
            and (steps[0] == k.width and (steps[1] == k.width or steps[1] == 0)
                 or steps[0] == 0 and steps[1] == k.width))

cdef inline bint turned(intp leap, intp step, int width) noexcept nogil:
    """Whether an operand lies beside its neighbours in the rows before and after it, not in its own."""
    return leap == width and step != width and step != 0

cdef inline bint turned_rows(Kernel* k, intp* leaps, intp rows, intp n, intp* steps) noexcept nogil:
    """Whether run_turned() is for these."""
    return (k.rows != NULL and rows >= 8 and n >= 8 and steps[2] == k.width
            and (turned(leaps[0], steps[0], k.width) and (steps[1] == k.width or steps[1] == 0
                                                          or turned(leaps[1], steps[1], k.width))
                 or turned(leaps[1], steps[1], k.width) and (steps[0] == k.width or steps[0] == 0)))

# run_rows() of a transposed operand, which is brought into order, some rows at a time.
cdef void run_turned(Kernel* k, char** row, intp* leaps, intp rows, intp n, intp* steps) noexcept nogil

cdef inline void run_rows(Kernel* k, char** row, intp* leaps, int nops, intp rows, intp* dims, intp* steps,
                          char** room) noexcept nogil:
    """The loop over one row after the other, each of which begins `leaps` after the last; `row` is moved past them.
    room: for nops pointers, as a loop may move those it is given."""
    cdef int i
    if short_rows(k, rows, dims, steps):
        k.rows(row, leaps, rows, dims[0], steps)
        return
    if turned_rows(k, leaps, rows, dims[0], steps):
        run_turned(k, row, leaps, rows, dims[0], steps)
        return
    while rows > 0:
        if nops <= 3:                       # so few are not worth the compiler's vectors
            room[0] = row[0]
            row[0] += leaps[0]
            if nops > 1:
                room[1] = row[1]
                row[1] += leaps[1]
            if nops > 2:
                room[2] = row[2]
                row[2] += leaps[2]
        else:
            for i in range(nops):
                room[i] = row[i]
                row[i] += leaps[i]
        k.loop(room, dims, steps, k.data)
        rows -= 1

cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil
