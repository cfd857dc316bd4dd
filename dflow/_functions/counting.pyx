"""Counting, the places of what is true, and the bits of bytes."""

import numpy as np
from libc.stdint cimport uint64_t
from libc.string cimport memset
from dflow._kernels.kernel cimport intp, Kernel, ROWS
from dflow._engine cimport settings
from dflow._kernels.dtypes cimport BOOL, DOUBLE, INTP, code_of
from dflow._kernels.registry cimport kernel_new
from dflow._functions.placement import follow
from dflow._array.core cimport *, be_element
from dflow._functions.fastpath cimport allocated, count_bytes, count_true
from dflow._functions.gufunc cimport along_axis
from dflow._functions.ufunc cimport reduce, wrap
from dflow._functions.out import NO_VALUE

cdef extern from "_kernels/c/masks.h":
    void true_places(intp*, char*, intp, intp)
    void unpack_bits(unsigned char* to, const unsigned char* p, intp n, int big)

cdef int code_of_index = code_of(INTP), BYTE = code_of(np.dtype(np.uint8))
cdef object add = wrap(np.add), numpys_count = np._core.multiarray.count_nonzero

cdef enum:
    COUNT_ROW = 1 << 16         # elements of a long mask that are counted together
    FEW = 1 << 15               # elements of eight bytes and more that NumPy counts at once

cdef void count_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """mask (n), out (): how many are true."""
    cdef intp i
    for i in range(dims[0]):
        (<intp*>(args[1] + i * steps[1]))[0] = count_bytes(args[0] + i * steps[0], dims[1])

cdef Kernel* count_kernel = kernel_new(b"count_nonzero", 1, 2, count_loop, NULL, ROWS, 0.04)

cdef object count_in_rows(ndarray mask):
    """What is true in a long mask, by all workers."""
    cdef intp rows = mask.size // COUNT_ROW, counted = rows * COUNT_ROW
    cdef intp all_rows = rows + (counted < mask.size)
    cdef ndarray counts = new_array(code_of_index, 1, &all_rows, True), flat = mask.reshape(-1)
    along_axis(count_kernel, flat[:counted].reshape(rows, COUNT_ROW), None, counts[:rows], 1)
    if rows < all_rows:
        along_axis(count_kernel, flat[counted:].reshape(1, -1), None, counts[rows:], 1)
    return counts.sum()

def count_nonzero(a, axis=None, *, keepdims=False):
    """How many elements along axes are not zero."""
    cdef ndarray x = as_array(a), out
    cdef intp at_once = 2 * COUNT_ROW if settings.inline_cost > 0 else 0
    cdef bint whole = axis is None and not keepdims
    if whole and x.size < at_once and (
            in_order_here(x) if x.code == BOOL else (x.itemsize < 8 or x.size <= FEW) and is_here(x)):
        out = new_scalar(code_of_index)
        (<intp*>data_of(out))[0] = count_true(x) if x.code == BOOL else numpys_count(numpy_window(x))
        settings.inlined += 1
        return out
    if whole and x.size >= 2 * COUNT_ROW and (in_order_here(x) if x.code == BOOL else
                                              x.itemsize < 8 and x.flags & C_CONTIGUOUS):
        return count_in_rows(x if x.code == BOOL else x != 0)
    return reduce(add, x if x.code == BOOL else x != 0, axis, INTP, None, keepdims, NO_VALUE, True)

def nonzero(a):
    """The indices of what is not zero: an array for each axis. Waits, as their number depends on the values."""
    return places(a)

def nonzero_method(self, /):
    """The indices of what is not zero: an array for each axis. Waits, as their number depends on the values."""
    return places(self)

cdef object places(a):
    cdef ndarray x = as_array(a)
    if x.ndim == 0:
        return np.nonzero(numpy_window(x))      # its error
    if x.size == 0:
        x = wait_read(x)                        # for its error: a mask of nothing depends on nothing
    return follow(x, places_of(wait_read(contiguous(cast(x, BOOL)))))

cdef tuple places_of(ndarray mask):
    """The indices of what is true in a mask in C order, which is here."""
    cdef intp n = count_true(mask)
    cdef ndarray last = allocated(code_of_index, 1, &n), out
    cdef list found = [last]
    cdef intp* flat = <intp*>data_of(last)
    cdef int axis
    true_places(flat, data_of(mask), mask.size, n)
    for axis in range(mask.ndim - 1, 0, -1):        # what is left in `flat` counts along it and those before it
        out = allocated(code_of_index, 1, &n)
        split_places(flat, <intp*>data_of(out), n, mask.shape[axis])
        flat = <intp*>data_of(out)
        found.append(out)
    return tuple(found[::-1])

cdef void split_places(intp* places, intp* rows, intp n, intp length) noexcept nogil:
    """Ascending places in rows of that length, into their rows and the places there."""
    cdef intp i, row = 0, start = 0
    for i in range(n):
        if places[i] - start >= length:
            row = places[i] // length
            start = row * length
        rows[i] = row
        places[i] -= start

cdef enum:
    HUGE = 1 << 30              # a number that bincount() leaves to NumPy, and to its error

def count_each(ndarray x, weights, intp least):
    """bincount() of integers of 64 bits, with weights of float64, or None; None where NumPy must say what is wrong.

    Waits.
    """
    cdef ndarray numbers, w = None, out
    cdef uint64_t largest
    cdef intp n, length
    cdef intp* p
    if x.ndim != 1 or x.size == 0 or x.code != code_of_index or not x.flags & C_CONTIGUOUS or least < 0:
        return None
    if weights is not None:
        w = as_array(weights)
        if w.ndim != 1 or w.size != x.size or w.code != DOUBLE or not w.flags & C_CONTIGUOUS:
            return None
        w = wait_read(w)
    numbers = wait_read(x)
    if w is not None and not is_here(w):
        return None                         # submitted to by another thread, while this one waited
    p = <intp*>data_of(numbers)
    n = numbers.size
    largest = largest_of(p, n)
    if largest >= HUGE:
        return None
    length = max(least, <intp>largest + 1)
    out = allocated(code_of_index if w is None else DOUBLE, 1, &length)
    memset(data_of(out), 0, length * sizeof(intp))
    if w is None:
        add_each(p, n, <intp*>data_of(out), length)
    else:
        add_weights(p, n, <double*>data_of(w), <double*>data_of(out))
    return out

cdef uint64_t largest_of(intp* p, intp n) noexcept:
    """A negative number is larger than all others. Four at a time: a comparison waits for the one before it."""
    cdef uint64_t a = 0, b = 0, c = 0, d = 0
    cdef intp i, even = n & ~3
    for i in range(0, even, 4):
        a = max(a, <uint64_t>p[i])
        b = max(b, <uint64_t>p[i + 1])
        c = max(c, <uint64_t>p[i + 2])
        d = max(d, <uint64_t>p[i + 3])
    for i in range(even, n):
        a = max(a, <uint64_t>p[i])
    return max(max(a, b), max(c, d))

cdef void add_each(intp* p, intp n, intp* counts, intp length) noexcept:
    """Every other number has counts of its own, if these are few: one met twice in a row would wait for its count."""
    cdef intp others[1024]
    cdef intp* second = counts
    cdef intp i, even = n & ~1
    if length <= 1024:
        second = others
        memset(others, 0, length * sizeof(intp))
    for i in range(0, even, 2):
        counts[p[i]] += 1
        second[p[i + 1]] += 1
    if even < n:
        counts[p[even]] += 1
    if second != counts:
        for i in range(length):
            counts[i] += others[i]

cdef void add_weights(intp* p, intp n, double* weights, double* sums) noexcept:
    cdef intp i
    for i in range(n):
        sums[p[i]] += weights[i]

cdef double BITS_COST = 0.1             # ns a byte

def quick_bits(object a, object axis, object order):
    """unpackbits() of all of a few bytes, here; None when the long way must be gone."""
    cdef ndarray x, out
    cdef intp n
    if not is_ours(a) or order != "big" and order != "little":
        return None
    x = <ndarray>a
    n = 8 * x.size
    if x.code != BYTE or x.size * BITS_COST > settings.inline_cost or not in_order_here(x) or tracked(x) or (
            axis is not None and (x.ndim != 1 or type(axis) is not int or not -1 <= axis <= 0)):
        return None
    out = allocated(BYTE, 1, &n)
    unpack_bits(<unsigned char*>data_of(out), <unsigned char*>data_of(x), x.size, order == "big")
    settings.inlined += 1
    return out
