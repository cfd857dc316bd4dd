"""Kernels whose loop calls another kernel's: see _kernels/wrapped.pxd."""

import numpy as np
from libc.string cimport memcpy
from dflow._kernels.kernel cimport COPIES, DATA_FOLD, ELEMENTWISE, intp, Kernel, loop_t, PARTIAL, REDUCES, ROWS
from dflow._kernels.dtypes cimport CDOUBLE, CFLOAT, DOUBLE, DTYPES, FLOAT, is_integer, itemsizes
from dflow._base.allocator cimport memory_zeros
from dflow._kernels.casts cimport cast_kernel
from dflow._kernels.reduce cimport (
    down_t, extreme_t, Fold, reduce_cast_initial_loop, reduce_cast_loop, reduce_initial_loop, reduce_loop, total_t,
    totals_t)
from dflow._kernels.registry cimport Wrapped, bools_loop, kernel_new, recall, remember, ufunc_kernel, wrap

cdef extern from "_kernels/c/extreme.h" nogil:
    extreme_t best_extreme(int which, int wide)
    int all_true(void* out, const void* p, intp n, int fresh)
    int any_true(void* out, const void* p, intp n, int fresh)

cdef extern from "_kernels/c/at.h" nogil:
    int AT_ADD, AT_SUBTRACT, AT_MULTIPLY, AT_MAXIMUM, AT_MINIMUM
    char* at_place(char* target, char* place, intp stride, intp length)
    void* at_loop_of(int op, char kind, int size)

cdef extern from "_kernels/c/rows.h" nogil:
    void down_float(void*, const char*, intp, intp, intp)
    void down_double(void*, const char*, intp, intp, intp)
    void down_integer(void*, const char*, intp, intp, intp)

cdef extern from "_kernels/c/sum.h" nogil:
    total_t best_total(int wide, int pairs)
    totals_t best_totals(int wide, int pairs)
    void totals_integer(char*, intp, const char*, intp, intp, intp, int)

# ---- where a mask is true --------------------------------------------------------------------------------------

cdef void masked_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """Inputs, mask, outputs: call the loop for each run of True."""
    cdef Wrapped* w = <Wrapped*>data
    cdef char* inner[64]
    cdef intp inner_steps[64]
    cdef char* mask = args[w.nin]
    cdef intp step = steps[w.nin]
    cdef intp i = 0, n = dims[0], count
    cdef int j, k, nops = w.nin + w.nout
    for j in range(nops):
        inner_steps[j] = steps[j if j < w.nin else j + 1]
    while i < n:
        while i < n and not mask[i * step]:
            i += 1
        count = 0
        while i + count < n and mask[(i + count) * step]:
            count += 1
        if count:
            for j in range(nops):
                k = j if j < w.nin else j + 1
                inner[j] = args[k] + i * steps[k]
            w.loop(inner, &count, inner_steps, w.data)
            i += count

cdef Kernel* masked_kernel(Kernel* k) except NULL:
    key = ("masked", <size_t>k)
    cdef Kernel* m = recall(key)
    if m == NULL:
        m = remember(key, kernel_new(k.name, k.nin + 1, k.nops + 1, masked_loop, wrap(k, 0),
                                      k.flags & ~COPIES | PARTIAL, k.cost + 1))
    return m

# ---- along an axis ---------------------------------------------------------------------------------------------

cdef set IDEMPOTENT = {
    b"maximum", b"minimum", b"fmax", b"fmin", b"logical_and", b"logical_or", b"bitwise_and", b"bitwise_or"}

cdef int fill_fold(Fold* w, Kernel* k, int code, bint blocked) except -1:
    w.loop = k.loop
    w.data = k.data
    w.itemsize = itemsizes[code]
    w.blocked = blocked
    w.idempotent = <bytes>k.name in IDEMPOTENT
    w.exact = is_integer(code)
    if code in (CFLOAT, CDOUBLE) and k == ufunc_kernel(np.add, (code, code, code)):
        w.total = best_total(code == CDOUBLE, True)
        w.totals = best_totals(code == CDOUBLE, True)
    elif (code == FLOAT or code == DOUBLE) and k == ufunc_kernel(np.add, (code, code, code)):
        w.total = best_total(code == DOUBLE, False)
        w.totals = best_totals(code == DOUBLE, False)
        w.down = <down_t>down_double if code == DOUBLE else <down_t>down_float
    elif w.exact and w.itemsize == 8 and k == ufunc_kernel(np.add, (code, code, code)):
        w.totals = <totals_t>totals_integer
        w.down = <down_t>down_integer
    elif k.loop == bools_loop:
        w.extreme = <extreme_t>any_true if (<Wrapped*>k.data).itemsize else <extreme_t>all_true
    elif code == FLOAT or code == DOUBLE:
        for i, extreme in enumerate((np.maximum, np.minimum, np.fmax, np.fmin)):
            if k == ufunc_kernel(extreme, (code, code, code)):
                w.extreme = best_extreme(i, code == DOUBLE)
    return 0

cdef struct Recent:             # GIL
    Kernel* k
    int source
    int naxes
    bint initial
    Kernel* made

cdef Recent recent[64]

cdef Kernel* reduce_kernel(Kernel* k, int code, int source, int naxes, bint initial, bint blocked) except NULL:
    cdef Recent* last = &recent[(<size_t>k // sizeof(Kernel) + 2 * naxes + initial) % 64]
    cdef Kernel* r
    cdef Kernel* cast = NULL if source == code else cast_kernel(source, code)
    cdef loop_t loop
    cdef Fold* w
    if last.k == k and last.source == source and last.naxes == naxes and last.initial == initial:
        return last.made
    key = ("reduce", <size_t>k, naxes, initial) if cast == NULL else ("reduce cast", <size_t>k, source, naxes, initial)
    r = recall(key)
    if r == NULL:
        w = <Fold*>memory_zeros(sizeof(Fold))
        if w == NULL:
            raise MemoryError("no memory for a kernel")
        fill_fold(w, k, code, blocked)
        w.naxes = naxes
        w.initial = initial
        if cast == NULL:
            loop = <loop_t>reduce_initial_loop if initial else <loop_t>reduce_loop
        else:
            loop = <loop_t>reduce_cast_initial_loop if initial else <loop_t>reduce_cast_loop
            w.cast, w.cast_data = cast.loop, cast.data
        r = remember(key, kernel_new(b"reduce", 2 if initial else 1, 3 if initial else 2, loop, w,
                                     k.flags & ~ELEMENTWISE | ROWS | (REDUCES if cast == NULL else 0),
                                     k.cost if cast == NULL else k.cost + cast.cost, DATA_FOLD))
    last.k, last.source, last.naxes, last.initial, last.made = k, source, naxes, initial, r
    return r

cdef void accumulate_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """in (r), out (r)."""
    cdef Wrapped* w = <Wrapped*>data
    cdef intp i, r = dims[1], n
    cdef char* inner[3]
    cdef intp inner_steps[3]
    if r == 0:
        return
    inner_steps[0] = inner_steps[2] = steps[3]
    inner_steps[1] = steps[2]
    for i in range(dims[0]):
        inner[0] = args[1] + i * steps[1]
        inner[1] = args[0] + i * steps[0]
        memcpy(inner[0], inner[1], w.itemsize)
        inner[1] += steps[2]
        inner[2] = inner[0] + steps[3]
        n = r - 1
        if n:
            w.loop(inner, &n, inner_steps, w.data)

cdef Kernel* accumulate_kernel(Kernel* k, int code) except NULL:
    key = ("accumulate", <size_t>k)
    cdef Kernel* r = recall(key)
    if r == NULL:
        r = remember(key, kernel_new(b"accumulate", 1, 2, accumulate_loop, wrap(k, itemsizes[code]),
                                     k.flags & ~ELEMENTWISE | ROWS, k.cost + 1))
    return r

cdef inline void call_binary(Wrapped* w, char* out, char* p, intp n, intp out_step, intp step) noexcept nogil:
    """out = out op p, n times."""
    cdef char* args[3]
    cdef intp steps[3]
    args[0] = args[2] = out
    args[1] = p
    steps[0] = steps[2] = out_step
    steps[1] = step
    w.loop(args, &n, steps, w.data)

cdef void reduceat_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """in (r), indices (k), out (k). Indices are checked."""
    cdef Wrapped* w = <Wrapped*>data
    cdef intp i, j, r = dims[1], k = dims[2], start, stop
    cdef char* p
    cdef char* out
    for i in range(dims[0]):
        for j in range(k):
            start = (<intp*>(args[1] + i * steps[1] + j * steps[4]))[0]
            stop = (<intp*>(args[1] + i * steps[1] + (j + 1) * steps[4]))[0] if j + 1 < k else r
            p = args[0] + i * steps[0] + start * steps[3]
            out = args[2] + i * steps[2] + j * steps[5]
            memcpy(out, p, w.itemsize)
            if stop > start + 1:
                call_binary(w, out, p + steps[3], stop - start - 1, 0, steps[3])

cdef Kernel* reduceat_kernel(Kernel* k, int code) except NULL:
    key = ("reduceat", <size_t>k)
    cdef Kernel* r = recall(key)
    if r == NULL:
        r = remember(key, kernel_new(b"reduceat", 2, 3, reduceat_loop, wrap(k, itemsizes[code]),
                                     k.flags & ~ELEMENTWISE | ROWS, k.cost))
    return r

# ---- at places -------------------------------------------------------------------------------------------------

cdef void at_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """Places in the target, then the other operand if there is one, then the target: one element at a time."""
    cdef Wrapped* w = <Wrapped*>data
    cdef char* inner[3]
    cdef intp inner_steps[3]
    cdef intp i, one = 1
    inner_steps[0] = inner_steps[1] = inner_steps[2] = w.itemsize
    for i in range(dims[0]):
        inner[0] = at_place(args[w.nin], args[0] + i * steps[0], steps[w.nin + 1], steps[w.nin + 2])
        if w.nin == 2:
            inner[1] = args[1] + i * steps[1]
            inner[2] = inner[0]
        else:
            inner[1] = inner[0]
        w.loop(inner, &one, inner_steps, w.data)

cdef dict AT_OPS = {b"add": AT_ADD, b"subtract": AT_SUBTRACT, b"multiply": AT_MULTIPLY, b"maximum": AT_MAXIMUM,
                    b"minimum": AT_MINIMUM}     # without a call for each element

cdef Kernel* at_kernel(Kernel* k, int nin, int code) except NULL:
    key = ("at", <size_t>k)
    cdef Kernel* r = recall(key)
    cdef loop_t loop = NULL
    cdef intp op = AT_OPS.get(k.name, -1)
    if r == NULL and nin == 2 and op >= 0:
        dtype = DTYPES[code]
        loop = <loop_t>at_loop_of(op, ord(dtype.kind), dtype.itemsize)
        if loop != NULL and k == ufunc_kernel(getattr(np, k.name.decode()), (code, code, code)):
            r = remember(key, kernel_new(k.name, nin, nin + 1, loop, <void*>op, k.flags & ~ELEMENTWISE, 1))
    if r == NULL:
        r = remember(key, kernel_new(k.name, nin, nin + 1, at_loop, wrap(k, itemsizes[code]), k.flags & ~ELEMENTWISE,
                                     k.cost + 5))
    return r
