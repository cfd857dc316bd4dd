"""Sine and cosine of float64: loops of ours in NumPy's place, where they give the same bits."""

import numpy as np
cimport numpy as cnp
from dflow._kernels.kernel cimport intp, Kernel, loop_t

cnp.import_array()

cdef extern from "_kernels/c/sincos.h" nogil:
    enum: SINCOS_ROWS
    ctypedef struct Theirs:
        loop_t loop
        void* data
    double sincos_table[256][4]
    void sin_loop(char**, intp*, intp*, void*)
    void cos_loop(char**, intp*, intp*, void*)
    int sincos_ways()
    void sincos_use(int)

cdef int fill_sincos_table() except -1:
    """Of the multiples of 1/128: from sine and cosine of 1/128, in integers of 200 bits."""
    cdef int row, column
    cdef double high, low
    one = term = 1 << 200
    parts = [0, 0]
    for n in range(21):
        parts[n % 2] += -term if n & 2 else term
        term //= 128 * (n + 1)
    cosine, sine = one, 0
    for row in range(SINCOS_ROWS):
        for column, value in ((0, sine), (2, cosine)):
            high = value / one
            low = (value - (int(high * 2.0 ** 100) << 100)) / one
            sincos_table[row][column] = high
            sincos_table[row][column + 1] = low
            sincos_table[128 + row][2 - column] = high if column else -high
            sincos_table[128 + row][3 - column] = low if column else -low
        cosine, sine = (cosine * parts[0] - sine * parts[1]) >> 200, (sine * parts[0] + cosine * parts[1]) >> 200
    return 0

cdef object sincos_points():
    """Numbers that try every branch and every row of the table, in many quadrants."""
    rows = (np.arange(SINCOS_ROWS)[:, None] + np.arange(-0.48, 0.5, 0.04)).ravel() / 128
    spread = np.arange(2000) * 0.6180339887498949 % 1
    turns = np.rint(2 ** (26 * spread)) * (np.pi / 2)
    limits = np.array([2.0 ** -300, 0.126, 0.85546875, 2.4262638092041016, 105414336])[:, None]
    limits = limits * (1 + np.arange(-20, 20) * 2.0 ** -52)
    turned = rows + np.resize(turns, rows.size)
    points = np.concatenate([[0], rows, turned, turns, 2 ** (56 * spread - 30), limits.ravel()])
    return np.concatenate([points, -points])

cdef bint same_results(loop_t ours, Theirs* theirs) except -1:
    """Whether our loop gives the bits of NumPy's."""
    cdef char* args[2]
    cdef intp[2] steps = [8, 8]
    points = sincos_points()
    results = np.empty((2, points.size))
    cdef intp n = points.size
    args[0] = <char*>cnp.PyArray_DATA(points)
    args[1] = <char*>cnp.PyArray_DATA(results)
    ours(args, &n, steps, theirs)
    args[1] += n * 8
    theirs.loop(args, &n, steps, theirs.data)
    return results[0].tobytes() == results[1].tobytes()

cdef Theirs numpys_sin, numpys_cos     # behind our loops; no loop: ours is not used, or not yet

cdef int use_sincos(Kernel* k) except -1:
    """Our loop for sin or cos, if it gives the bits of this machine's C library."""
    cdef bint sine = k.name == b"sin"
    cdef loop_t ours = <loop_t>sin_loop if sine else <loop_t>cos_loop
    cdef Theirs* kept = &numpys_sin if sine else &numpys_cos
    cdef Theirs theirs
    if sincos_ways() == 1:
        return 0
    if sincos_table[0][2] == 0:
        fill_sincos_table()
        sincos_use(sincos_ways() - 1)
    theirs.loop = k.loop
    theirs.data = k.data
    if same_results(ours, &theirs):
        kept[0] = theirs
        k.loop, k.data = ours, kept
        k.cost = 3                  # nanoseconds an element, measured like the registry's
    return 0

# ---- for tests, once sin and cos have been used ----------------------------------------------------------------

def sincos_way(int way):
    """Compute in one of the ways that this machine has; 0 is NumPy's loop, -1 the usual one. Gives their number."""
    sincos_use(way if way >= 0 else sincos_ways() - 1)
    return sincos_ways()

def sincos_agrees(ufunc):
    """Whether our loop gives NumPy's bits for sin or cos; None when NumPy's is used."""
    cdef loop_t ours = <loop_t>sin_loop if ufunc is np.sin else <loop_t>cos_loop
    cdef Theirs* theirs = &numpys_sin if ufunc is np.sin else &numpys_cos
    return same_results(ours, theirs) if theirs.loop != NULL else None

def sincos_rows():
    """The table, as a NumPy array."""
    cdef cnp.npy_intp[2] dims = [256, 4]
    return cnp.PyArray_SimpleNewFromData(2, dims, cnp.NPY_DOUBLE, &sincos_table[0][0])
