"""The loop of a kernel over more dimensions than one: see _kernels/outer_loop.pxd."""

from dflow._base.fpflags cimport fp_clear, fp_flags
from dflow._kernels.kernel cimport call_loop, COPIES, intp, item_bytes, Kernel, READS_FP

cdef extern from "_kernels/c/copy.h" nogil:
    void move_rows(char* to, intp to_step, const char* source, intp from_step, intp rows, size_t n)

cdef intp NARROW = 16               # the fuzzer sets it: see _runtime/fusion_plan

cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil:
    if ndim == 1:
        return call_loop(k, args, dims, strides)
    if k.flags & READS_FP:
        fp_clear()
    run_axes(k, args, nops, ndim, dims, strides)
    return fp_flags() if k.flags & READS_FP else 0

cdef void run_axes(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil:
    """Of two dimensions and more."""
    cdef intp counter[64]
    cdef char* copy[256]            # a loop may move its argument pointers
    cdef int d, i, along = ndim - 1, last = ndim - 2
    cdef intp* step
    cdef bint rows
    step = strides + last * 2
    rows = k.flags & COPIES and step[2] == step[3] == item_bytes(k)
    if rows:
        last -= 1
    elif down_columns(k, ndim, dims):
        along, last = last, along
    for d in range(ndim):
        if dims[d] == 0:
            return
        counter[d] = dims[d]
    while True:
        for i in range(nops):
            copy[i] = args[i]
        if rows:
            step = strides + (ndim - 2) * 2
            move_rows(copy[1], step[1], copy[0], step[0], dims[ndim - 2], dims[ndim - 1] * item_bytes(k))
        else:
            k.loop(copy, dims + along, strides + along * nops, k.data)
        d = last
        while d >= 0:
            step = strides + d * nops
            counter[d] -= 1
            if counter[d]:
                for i in range(nops):
                    args[i] += step[i]
                break
            counter[d] = dims[d]
            for i in range(nops):
                args[i] -= step[i] * (dims[d] - 1)
            d -= 1
            d -= d == along
        if d < 0:
            return
