"""The loop of a kernel over more dimensions than one: see _kernels/outer_loop.pxd."""

from dflow._base.fpflags cimport fp_clear, fp_flags
from dflow._kernels.kernel cimport call_loop, COPIES, intp, item_bytes, Kernel, READS_FP

cdef extern from "_kernels/c/copy.h" nogil:
    void move_rows(char* to, intp to_step, const char* source, intp from_step, intp rows, size_t n)
    void move_spread(char* to, intp to_row, const char* source, intp from_row, intp rows, intp columns, int itemsize)
    void move_turned(char* to, intp to_row, const char* source, intp from_column, intp rows, intp columns, int itemsize)

cdef intp NARROW = 16               # the fuzzer sets it: see _runtime/fusion_plan

cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil:
    if ndim == 1:
        return call_loop(k, args, dims, strides)
    if k.flags & READS_FP:
        fp_clear()
    run_axes(k, args, nops, ndim, dims, strides)
    return fp_flags() if k.flags & READS_FP else 0

cdef void run_axes(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil:
    """Of two dimensions and more: the last two by rows, or columns, the others around them."""
    cdef intp counter[64]
    cdef char* row[256]
    cdef char* room[256]
    cdef int d, i, along = ndim - 1, down = ndim - 2
    cdef intp* step = strides + down * nops
    cdef bint copies = k.flags & COPIES and step[2] == step[3] == item_bytes(k)
    cdef bint spread = k.flags & COPIES and step[2] == 0 and step[3] == item_bytes(k)
    cdef bint turned = k.flags & COPIES and step[0] == step[3] == item_bytes(k) and dims[along] > 1
    if not copies and not turned and not spread and down_columns(k, ndim, dims):
        along, down = down, along
    for d in range(ndim):
        if dims[d] == 0:
            return
        counter[d] = dims[d]
    while True:
        if copies:
            step = strides + down * 2
            move_rows(args[1], step[1], args[0], step[0], dims[down], dims[along] * item_bytes(k))
        elif spread:
            step = strides + down * 2
            move_spread(args[1], step[1], args[0], step[0], dims[down], dims[along], item_bytes(k))
        elif turned:
            step = strides + down * 2
            move_turned(args[1], step[1], args[0], step[2], dims[down], dims[along], item_bytes(k))
        else:
            for i in range(nops):
                row[i] = args[i]
            run_rows(k, row, strides + down * nops, nops, dims[down], dims + along, strides + along * nops, room)
        d = ndim - 3
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
        if d < 0:
            return

cdef enum:
    TURNED = 256            # elements of a row that are brought into order together

cdef void run_turned(Kernel* k, char** row, intp* leaps, intp rows, intp n, intp* steps) noexcept nogil:
    cdef char room[2][64 * TURNED]
    cdef char* at[3]
    cdef intp leap[3]
    cdef intp step[3]
    cdef intp top, left = 0, high, wide, most = 64 // k.width
    cdef int i
    while left < n:
        wide = min(<intp>TURNED, n - left)
        top = 0
        while top < rows:
            high = min(most, rows - top)
            for i in range(3):
                at[i], leap[i], step[i] = row[i] + top * leaps[i] + left * steps[i], leaps[i], steps[i]
                if i < 2 and turned(leaps[i], steps[i], k.width):
                    step[i], leap[i] = k.width, TURNED * k.width
                    move_turned(room[i], leap[i], at[i], steps[i], high, wide, k.width)
                    at[i] = room[i]
            k.rows(at, leap, high, wide, step)
            top += high
        left += wide
    for i in range(3):
        row[i] += rows * leaps[i]
