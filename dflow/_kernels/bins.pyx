"""Counting in bins of one width: one pass over the data, without the GIL."""

import numpy as np
cimport numpy as cnp
from libc.string cimport memset
from dflow._kernels.kernel cimport intp

cnp.import_array()

ctypedef fused real:
    float
    double

cdef enum:
    BLOCK = 65536               # numpy.histogram() adds the weights of so many elements up at a time
    ROW = 1024                  # elements whose bins are known before they are counted: these wait for memory
    FEW = 2048                  # bins that two counters each are kept of: that of the last element is still on its way

cdef void find_bins(const real* x, intp n, const real* edges, intp bins, double scale, intp* found) noexcept nogil:
    """The bin of each element, `bins` for what lies in none. The last bin has its right edge, too.

    The quotient is right but for one bin, and the edges say which.
    """
    cdef real first = edges[0], last = edges[bins], value
    cdef intp i, k
    cdef bint inside
    for i in range(n):
        value = x[i]
        inside = (value >= first) & (value <= last)         # not so of a NaN
        k = <intp>((<double>value - <double>first) * scale if inside else 0.0)
        k -= k >= bins
        k += (value >= edges[k + 1]) & (k != bins - 1)
        k -= value < edges[k]
        found[i] = k if inside else bins

cdef void add_up(const real* x, intp n, const double* weights, const real* edges, intp bins, double scale,
                 intp* counts, double* sums) noexcept nogil:
    """Into sums, where there are weights; else into counts, of which there are two rows."""
    cdef intp found[ROW]
    cdef intp i, start, length
    cdef intp* second = counts + (bins + 1 if bins <= FEW else 0)
    for start from 0 <= start < n by ROW:
        length = min(n - start, <intp>ROW)
        find_bins(x + start, length, edges, bins, scale, found)
        if weights != NULL:
            for i in range(length):
                sums[found[i]] += weights[start + i]
            continue
        for i in range(0, length - 1, 2):
            counts[found[i]] += 1
            second[found[i + 1]] += 1
        if length & 1:
            counts[found[length - 1]] += 1

def count_in_bins(x, edges, weights):
    """How many elements of x (n) lie in each of the bins between edges (bins + 1), equally far apart, or the sums of
    their weights (n), or None: NumPy arrays. None where that is not for one pass: float32 and float64 edges that are.

    Bits of numpy.histogram(), which adds weights up block by block. x is cast to the type of the edges.
    """
    cdef intp n = x.size, bins = edges.size - 1, start, length
    cdef int code = cnp.PyArray_TYPE(edges)
    cdef double width = float(edges[bins]) - float(edges[0])
    cdef double scale = bins / width if width > 0 else 0
    cdef char* p
    cdef char* e
    cdef intp* counts
    cdef double* w = NULL
    cdef double* sums = NULL
    if code != cnp.NPY_FLOAT and code != cnp.NPY_DOUBLE or not 0 < scale < 1e300 or not width < 1e300:
        return None
    if bins > (1 << 16 if code == cnp.NPY_FLOAT else 1 << 30):
        return None                             # the quotient's error would be more than a bin
    edges = np.ascontiguousarray(edges)
    e = <char*>cnp.PyArray_DATA(edges)
    counted = np.zeros((2, bins + 1), np.intp if weights is None else np.double)
    total = np.zeros(bins, np.intp if weights is None else weights.dtype)
    counts, sums = <intp*>cnp.PyArray_DATA(counted), <double*>cnp.PyArray_DATA(counted)
    for start in range(0, n, BLOCK):
        block = np.ascontiguousarray(x[start:start + BLOCK], edges.dtype)
        length = block.size
        p = <char*>cnp.PyArray_DATA(block)
        if weights is not None:
            weighed = np.ascontiguousarray(weights[start:start + BLOCK], np.double)
            w = <double*>cnp.PyArray_DATA(weighed)
            memset(sums, 0, bins * sizeof(double))
        with nogil:
            if code == cnp.NPY_FLOAT:
                add_up(<float*>p, length, w, <float*>e, bins, scale, counts, sums)
            else:
                add_up(<double*>p, length, w, <double*>e, bins, scale, counts, sums)
        if weights is not None:
            total += counted[0, :bins].astype(weights.dtype)
    if weights is None:
        np.add(counted[0, :bins], counted[1, :bins], out=total)
    return total
