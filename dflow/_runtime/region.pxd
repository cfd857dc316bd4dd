"""Regions: which bytes of a storage a view touches. Views that have none in common do not wait for each other."""

from libc.stdlib cimport labs
from dflow._kernels.kernel cimport intp, MAXDIMS

cdef struct Region:         # a superset of the bytes a view touches: those
    intp lo                 # within [lo, hi) with (byte - start) mod pitch < length.
    intp hi
    intp pitch              # 0: all of them; then start is lo, and length hi - lo
    intp start
    intp length

cdef inline int by_stride(int ndim, intp* shape, intp* strides, int* order) noexcept:
    """The axes of more than one element, shortest stride first; how many they are."""
    cdef int i, j, n = 0
    for i in range(ndim):
        if shape[i] <= 1:
            continue
        j = n
        while j > 0 and labs(strides[order[j - 1]]) > labs(strides[i]):
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
        n += 1
    return n

cdef inline void fill_region(Region* r, intp offset, int itemsize, intp size, int ndim, intp* shape,
                             intp* strides) noexcept:
    """The region of a view: a contiguous run, repeated with a pitch that all longer strides are multiples of."""
    cdef int order[MAXDIMS]
    cdef int i
    cdef intp s, extent
    cdef intp run = itemsize
    r.lo = offset
    r.hi = offset + itemsize
    r.pitch = 0
    if size == 0:
        r.hi = r.start = r.lo
        r.length = 0
        return
    for i in range(ndim):
        extent = strides[i] * (shape[i] - 1)
        if extent < 0:
            r.lo += extent
        else:
            r.hi += extent
    for i in range(by_stride(ndim, shape, strides, order)):
        s = labs(strides[order[i]])
        if r.pitch == 0:
            if s <= run:
                run += s * (shape[order[i]] - 1)
            else:
                r.pitch = s
        elif s % r.pitch:
            r.pitch = 0
            break
    r.start = r.lo
    r.length = run if r.pitch else r.hi - r.lo

cdef inline intp gcd(intp a, intp b) noexcept nogil:
    while b:
        a, b = b, a % b
    return a

cdef inline bint regions_overlap(Region* a, Region* b) noexcept nogil:
    cdef intp g, d
    if a.hi <= b.lo or b.hi <= a.lo:
        return False
    g = gcd(a.pitch, b.pitch)
    if g == 0 or a.length >= g or b.length >= g:
        return True
    d = (b.start - a.start) % g             # where b starts on a circle of g bytes on which a starts at 0
    if d < 0:
        d += g
    return d < a.length or d + b.length > g

cdef inline bint region_covers(Region* a, Region* b) noexcept nogil:
    """Whatever overlaps b also overlaps a."""
    if a.pitch == 0:
        return a.lo <= b.lo and b.hi <= a.hi
    return (a.lo == b.lo and a.hi == b.hi and a.pitch == b.pitch and a.start == b.start and a.length == b.length)
