"""Elements under masks: see _functions/masks.pxd."""

from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport DATA_BYTES, ELEMENTWISE, intp, Kernel, loop_t, MAXDIMS, PARTIAL
from dflow._engine cimport settings
from dflow._runtime.graph cimport FULL, WRITE
from dflow._array.dispatch cimport Operand, Core, fill_constant, launch, region_of_run
from dflow._kernels.dtypes cimport BOOL, Scalar, write_scalar
from dflow._kernels.registry cimport kernel_new, name_kernel
from dflow._array.core cimport *, is_ours
from dflow._base.thread_state cimport many_devices
from dflow._functions.fastpath cimport allocated, count_bytes, count_true, same_shape
from dflow._functions.views cimport *

import numpy as np

cdef extern from "_kernels/c/gather.h" nogil:
    void select_loop(char**, intp*, intp*, void*) noexcept
    void put_loop(char**, intp*, intp*, void*) noexcept
    void place_loop(char**, intp*, intp*, void*) noexcept
    void assign_loop(char**, intp*, intp*, void*) noexcept

cdef Kernel* assigns[33]            # by item size
cdef Kernel* select_kernel = kernel_new(b"take", 2, 3, <loop_t>select_loop, NULL, 0, 0.5)
cdef Kernel* put_kernel = kernel_new(b"put", 2, 3, <loop_t>put_loop, NULL, 0, 0.5)
cdef Kernel* place_kernel = kernel_new(b"place", 2, 3, <loop_t>place_loop, NULL, 0, 1)

def _make_kernels():
    for size in (1, 2, 4, 8, 16, 32):
        assigns[size] = kernel_new(b"copy", 2, 3, <loop_t>assign_loop, <void*><size_t>size, ELEMENTWISE | PARTIAL,
                                   0.1 if size <= 8 else 0.5, DATA_BYTES)
        name_kernel(("assign", size), <size_t>assigns[size])

_make_kernels()

cdef bint covered_by(ndarray a, ndarray mask) noexcept:
    """Whether mask is one of bools for each element of a, and both are here, small and in order."""
    return (mask.code == BOOL and mask.size <= settings.inline_cost and in_order_here(mask) and in_order_here(a)
            and same_shape(a, mask))

cdef ndarray quick_select(ndarray a, ndarray mask):
    """The elements of a under a mask; None when the long way must be gone."""
    cdef char* args[3]
    cdef intp dims[2]
    cdef intp steps[5]
    cdef ndarray out
    if a.size <= settings.inline_cost and is_here(a) and is_here(mask):
        a, mask = contiguous(a), contiguous(mask)
    if a.ndim == 0 or not covered_by(a, mask):
        return None
    steps[3] = count_true(mask)
    steps[4] = a.itemsize
    out = allocated(a.code, 1, &steps[3])
    if not covered_by(a, mask) or count_true(mask) != out.size:     # others may have gone on while there was no room
        return None
    dims[1] = mask.size
    args[0] = data_of(a)
    args[1] = data_of(mask)
    args[2] = data_of(out)
    select_loop(args, dims, steps, NULL)
    settings.inlined += 1
    return out

cdef enum:
    PART = 1 << 16              # elements of a mask for each task
    EASY = 32                   # bytes to copy for each that take less than to look at it; a dimension is how much more

cdef bint leads(ndarray mask, ndarray a) noexcept:
    """Whether a mask has the first axes of a, all of them in C order."""
    cdef int i
    if mask.code != BOOL or mask.ndim == 0 or mask.ndim > a.ndim:
        return False
    for i in range(mask.ndim):
        if mask.shape[i] != a.shape[i]:
            return False
    return True

cdef ndarray under_mask(ndarray a, ndarray mask):
    """a[mask]; None when the long way must be gone."""
    cdef intp shape[MAXDIMS]
    cdef ndarray out
    cdef int ndim = a.ndim - mask.ndim + 1
    if not leads(mask, a) or ndim > 1 and not a.flags & C_CONTIGUOUS:
        return None
    mask = wait_read(contiguous(mask))
    memcpy(shape, a.shape + mask.ndim - 1, ndim * sizeof(intp))
    shape[0] = count_true(mask)
    out = new_array(a.code, ndim, shape)
    if out.size == 0:                       # there is nothing to launch, and launch() sees where a result is
        return None if many_devices else out
    move_masked(select_kernel, contiguous(a), mask, out, out.itemsize * (out.size // shape[0]))
    return out

cdef bint put_under_mask(ndarray a, ndarray mask, ndarray values) except -1:
    """a[mask] = values, one for each True or one for all; whether it was done."""
    cdef intp row = a.itemsize
    cdef int i
    if not leads(mask, a) or not a.flags & C_CONTIGUOUS:
        return False
    for i in range(mask.ndim, a.ndim):
        row *= a.shape[i]
        if values.ndim != a.ndim - mask.ndim + 1 or values.shape[i - mask.ndim + 1] != a.shape[i]:
            return False
    mask = wait_read(contiguous(mask))
    if mask.st == a.st:
        mask = wait_read(copy_of(mask))
    if values.ndim and (values.ndim != a.ndim - mask.ndim + 1 or values.shape[0] != count_true(mask)):
        return False
    if a.size:
        move_masked(put_kernel, contiguous(values), mask, a, row)
    return True

cdef int move_masked(Kernel* k, ndarray source, ndarray mask, ndarray target, intp size) except -1:
    """Rows of `size` bytes from under the mask, or to there: part by part, as their numbers are known."""
    cdef Operand ops[3]
    cdef Core core
    cdef intp shape[1]
    cdef bint put = k == put_kernel
    cdef intp start, n, count, done = 0
    core.ndim = 2
    core.nsteps = 6
    memset(core.steps, 0, 6 * sizeof(intp))
    for start in range(0, mask.size, PART):
        n = min(mask.size - start, PART)
        count = count_bytes(data_of(mask) + start, n)
        if count == 0:
            continue
        core.dims[0] = n
        core.dims[1] = 1 + count * size // (n * EASY)
        core.steps[0] = count
        core.steps[1] = size
        core.steps[2] = size if source.ndim else 0
        fill_run(&ops[1], mask, start, n, 0)
        if put:
            fill_run(&ops[0], source, done * core.steps[2], max(count * core.steps[2], source.itemsize), 0)
            fill_run(&ops[2], target, start * size, n * size, WRITE)
        else:
            fill_run(&ops[0], source, start * size, n * size, 0)
            fill_run(&ops[2], target, done * size, count * size, WRITE | FULL)
        launch(k, ops, 3, 0, shape, &core)
        done += count
    return 0

def place(ndarray a, ndarray mask, ndarray values):
    """The elements of a under a mask of its size become the values, one after the other, again and again."""
    cdef Operand ops[3]
    cdef Core core
    cdef intp shape[1]
    cdef ndarray target = a if a.flags & C_CONTIGUOUS else copy_of(a)
    check_writable(a)
    mask, values = contiguous(cast(mask, BOOL)), contiguous(cast(values, a.code))
    if a.size == 0 or values.size == 0:
        return
    fill_run(&ops[0], values if values.st != a.st else copy_of(values), 0, values.size * a.itemsize, 0)
    fill_run(&ops[1], mask if mask.st != a.st else copy_of(mask), 0, mask.size, 0)
    fill_run(&ops[2], target, 0, a.size * a.itemsize, WRITE)
    core.ndim = 1
    core.dims[0] = a.size
    core.nsteps = 6
    memset(core.steps, 0, 6 * sizeof(intp))
    core.steps[0] = values.size
    core.steps[1] = a.itemsize
    launch(place_kernel, ops, 3, 0, shape, &core)
    if target is not a:
        assign(a, target)

cdef int fill_run(Operand* o, ndarray a, intp start, intp nbytes, int flags) noexcept:
    """A run of bytes of an array in C order. flags: FULL when all of them are written, or it does not matter."""
    fill_constant(o, NULL, a.itemsize)
    o.s = a.st
    o.offset = a.offset + start
    o.flags = flags
    if nbytes != <intp>a.st.nbytes:
        o.flags &= ~FULL
    region_of_run(&o.region, o.offset, nbytes)
    return 0

cdef bint masked_fill(ndarray a, ndarray mask, object value) except -1:
    """a[mask] = number without waiting for the mask, if it has a's first axes; whether it was done."""
    cdef Operand ops[3]
    cdef intp shape[MAXDIMS]
    cdef Scalar room
    cdef char* buffer = <char*>&room
    cdef char* args[3]
    cdef intp dims[2]
    cdef intp steps[6]
    cdef int axis
    if not leads(mask, a):
        return False
    if is_ours(value) and (<ndarray>value).ndim == 0 and (<ndarray>value).code == a.code and is_here(<ndarray>value):
        memcpy(buffer, data_of(<ndarray>value), a.itemsize)
    elif isinstance(value, (int, float, complex)) and not isinstance(value, np.generic):
        write_scalar(value, a.code, buffer)
    else:
        return False
    if mask.st == a.st and may_overlap(mask, a):
        mask = copy_of(mask)
    if is_free(a.st, direct) and covered_by(a, mask):
        args[0], args[1], args[2] = buffer, data_of(mask), data_of(a)
        dims[1] = mask.size
        steps[4] = a.itemsize
        steps[5] = 0
        put_loop(args, dims, steps, NULL)
        settings.inlined += 1
        return True
    memcpy(shape, a.shape, a.ndim * sizeof(intp))
    fill_constant(&ops[0], buffer, a.itemsize)
    fill_operand(&ops[1], mask, mask.ndim, shape, False)
    for axis in range(mask.ndim, a.ndim):
        ops[1].strides[axis] = 0
    fill_operand(&ops[2], a, a.ndim, shape, True)
    not_full(&ops[2], a)
    launch(assigns[a.itemsize], ops, 3, a.ndim, shape, NULL)
    return True
