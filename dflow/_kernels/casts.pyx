"""Casts and copies, as kernels: see _kernels/casts.pxd."""

import numpy as np
from libc.string cimport memset
from dflow._kernels.kernel cimport (
    COPIES, DATA_BYTES, DATA_OPAQUE, ELEMENTWISE, intp, Kernel, loop_t, MAY_RAISE, REPORTS_FP)
from dflow._kernels.dtypes cimport BOOL, HALF, Scalar, is_complex, is_integer, itemsizes, write_number
from dflow._kernels.native cimport note_cast
from dflow._kernels.registry cimport kernel_new, recall, remember, ufunc_kernel

cdef extern from "_kernels/c/casts.h":
    ctypedef void (*cast_loop)(char**, intp*, intp*, void*) noexcept nogil
    cast_loop cast_loops[18][18]
    void copy_loop(char**, intp*, intp*, void*) noexcept nogil

cdef extern from "Python.h":
    void PyErr_SetObject(object, object)

cdef Kernel casts[18][18]

cdef void nonzero_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """A cast to bool: NumPy's not_equal, which has vector code, to nothing but zeros."""
    cdef Kernel* k = <Kernel*>data
    cdef Scalar zero
    cdef char* inner[3]
    cdef intp inner_steps[3]
    memset(&zero, 0, sizeof(zero))
    inner[0] = args[0]
    inner[1] = <char*>&zero
    inner[2] = args[1]
    inner_steps[0] = steps[0]
    inner_steps[1] = 0
    inner_steps[2] = steps[1]
    k.loop(inner, dims, inner_steps, k.data)

def _fill_casts():
    cdef int i, j
    cdef Kernel* k
    for i in range(18):
        for j in range(18):
            k = &casts[i][j]
            k.name = b"cast" if i != j else b"copy"
            k.nin = 1
            k.nops = 2
            k.loop = <loop_t>copy_loop if i == j else <loop_t>cast_loops[i][j]
            k.data, k.tag = <void*><size_t>itemsizes[i], DATA_BYTES
            k.cost = 3 if (i == HALF) != (j == HALF) else 0.02 * max(itemsizes[i], itemsizes[j])
            k.flags = ELEMENTWISE if i != j else ELEMENTWISE | COPIES
            note_cast(k, i, j)
            if j == BOOL != i and not is_complex(i):
                k.loop, k.data, k.tag = nonzero_loop, ufunc_kernel(np.not_equal, (i, i, BOOL)), DATA_OPAQUE
            if i != j and j != BOOL and (not is_integer(i) or j == HALF and i > 3):     # beyond int16 halfs overflow
                k.flags |= REPORTS_FP
            remember(("cast", (i, j)), k)

_fill_casts()

cdef Kernel* cast_kernel(int source, int target) noexcept:
    return &casts[source][target]

cdef Kernel* move_kernel(int code) except NULL:
    """Of elements that lie one behind the other, to where they may overlap themselves: in one go."""
    cdef Kernel* k = recall(("move", code))
    if k != NULL:
        return k
    k = kernel_new(b"copy", 1, 2, <loop_t>copy_loop, <void*><size_t>itemsizes[code], 0,
                   0.02 * itemsizes[code], DATA_BYTES)
    return remember(("move", code), k)

cdef void number_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    with gil:
        try:
            write_number(<int>(<size_t>data >> 8), args[0], <int>(<size_t>data & 255), args[1])
        except Exception as error:
            PyErr_SetObject(type(error), error)

cdef Kernel* number_kernel(int source, int target) except NULL:
    """write_number() of one element."""
    cdef Kernel* k = recall(("number", source, target))
    if k != NULL:
        return k
    k = kernel_new(b"copy", 1, 2, number_loop, <void*><size_t>(source << 8 | target), MAY_RAISE, 100)
    return remember(("number", source, target), k)
