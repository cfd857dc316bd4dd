"""Convolutions that take their windows from where they lie, by the kernels of _kernels/c/conv.h; sliding products."""

from dflow._kernels.kernel cimport intp, Kernel, loop_t, MAXDIMS, ROWS, TELLS_FP
from dflow._array.core cimport contiguous, fill_operand, ndarray, shape_tuple, strides_of
from dflow._kernels.dtypes cimport DOUBLE
from dflow._kernels.registry cimport kernel_new
from dflow._array.dispatch cimport Core, Operand, fill_constant, launch

from dflow._functions.views import sliding_windows
from dflow._functions.gufunc cimport along_axis
cdef extern from "_kernels/c/correlate.h":
    void slide_float(char**, intp*, intp*, void*) noexcept nogil
    void slide_double(char**, intp*, intp*, void*) noexcept nogil

cdef extern from "_kernels/c/conv.h":
    int conv_sets()
    void conv_use(int)
    void convolve_float(char**, intp*, intp*, void*) noexcept nogil
    void convolve_double(char**, intp*, intp*, void*) noexcept nogil
    void correlate_float(char**, intp*, intp*, void*) noexcept nogil
    void correlate_double(char**, intp*, intp*, void*) noexcept nogil

cdef Kernel* convolve_kernels[2]
cdef Kernel* correlate_kernels[2]
convolve_kernels[0] = kernel_new(b"convolution", 3, 4, <loop_t>convolve_float, NULL, ROWS | TELLS_FP, 0.01)
convolve_kernels[1] = kernel_new(b"convolution", 3, 4, <loop_t>convolve_double, NULL, ROWS | TELLS_FP, 0.02)
correlate_kernels[0] = kernel_new(b"convolution", 2, 3, <loop_t>correlate_float, NULL, ROWS | TELLS_FP, 0.01)
correlate_kernels[1] = kernel_new(b"convolution", 2, 3, <loop_t>correlate_double, NULL, ROWS | TELLS_FP, 0.02)

WAYS = conv_sets()
conv_use(WAYS - 1)
cdef double zero = 0

def use(int way):
    """One of WAYS sets of instructions, of which the last one is the fastest and the first one any CPU's."""
    conv_use(way)

cdef void add_dims(Core* core, ndarray a, int first, int last) noexcept:
    for i in range(first, last):
        core.dims[core.ndim] = a.shape[i]
        core.ndim += 1

cdef void add_steps(Core* core, ndarray a, int first, int last, tuple factors=None) noexcept:
    for i in range(first, last):
        core.steps[core.nsteps] = strides_of(a)[i] * (1 if factors is None else <intp>factors[i - first])
        core.nsteps += 1

cdef void looped(Operand* o, ndarray a, int samples, int groups, bint write=False) noexcept:
    """An operand looped over by two axes: of samples, -1 where all have the same, and of groups, or one for all."""
    cdef intp* strides = strides_of(a)
    fill_operand(o, a, a.ndim, a.shape, write)
    o.strides[0] = strides[samples] if samples >= 0 else 0
    o.strides[1] = strides[groups] if a.shape[groups] > 1 else 0

def convolve(ndarray x, ndarray w, ndarray bias, tuple stride, tuple dilate, ndarray out):
    """out[n, g, o, z, y, x] = bias[g, o] + the sum of x[n, g, c, ...] * w[g, o, c, ...] over its window.

    All are of one type, float32 or float64. x, which may have one group for all, and out are contiguous along their
    last axis, whose stride is 1. bias may be None.
    """
    cdef Operand ops[4]
    cdef Core core
    cdef intp shape[MAXDIMS]
    core.ndim = core.nsteps = 0
    shape[0] = x.shape[0]
    shape[1] = out.shape[1]
    add_dims(&core, out, 2, 3)
    add_dims(&core, x, 2, 3)
    add_dims(&core, out, 3, 6)
    add_dims(&core, w, 3, 6)
    add_steps(&core, x, 2, 3)
    add_steps(&core, x, 3, 6, stride)
    add_steps(&core, x, 3, 6, dilate)
    add_steps(&core, w, 1, 6)
    looped(&ops[0], x, 0, 1)
    looped(&ops[1], w, -1, 0)
    if bias is None:
        fill_constant(&ops[2], <char*>&zero, x.itemsize)
        core.steps[core.nsteps] = 0
        core.nsteps += 1
    else:
        looped(&ops[2], bias, -1, 0)
        add_steps(&core, bias, 1, 2)
    looped(&ops[3], out, 0, 1, True)
    add_steps(&core, out, 2, 6)
    launch(convolve_kernels[x.code == DOUBLE], ops, 4, 2, shape, &core)

def correlate(ndarray x, ndarray g, tuple stride, tuple dilate, ndarray out):
    """out[p, h, o, c, ...], in C order: the gradient of convolve()'s weights from part p of the samples.

    x (p, s, h, c, ...) and g (p, s, h, o, ...), both contiguous along their last axis; h are the groups.
    """
    cdef Operand ops[3]
    cdef Core core
    cdef intp shape[MAXDIMS]
    core.ndim = core.nsteps = 0
    shape[0] = x.shape[0]
    shape[1] = x.shape[2]
    add_dims(&core, x, 1, 2)
    add_dims(&core, out, 2, 4)
    add_dims(&core, g, 4, 7)
    add_dims(&core, out, 4, 7)
    add_steps(&core, x, 1, 2)
    add_steps(&core, x, 3, 4)
    add_steps(&core, x, 4, 7, stride)
    add_steps(&core, x, 4, 7, dilate)
    add_steps(&core, g, 1, 2)
    add_steps(&core, g, 3, 7)
    add_steps(&core, out, 2, 3)
    looped(&ops[0], x, 0, 2)
    looped(&ops[1], g, 0, 2)
    looped(&ops[2], out, 0, 1, True)
    launch(correlate_kernels[x.code == DOUBLE], ops, 3, 2, shape, &core)

cdef Kernel* slide_floats = kernel_new(b"correlate", 2, 3, <loop_t>slide_float, NULL, ROWS | TELLS_FP, 0.025)
cdef Kernel* slide_doubles = kernel_new(b"correlate", 2, 3, <loop_t>slide_double, NULL, ROWS | TELLS_FP, 0.05)

def slide(ndarray a, ndarray v, ndarray out):
    """out[i] = the sum of a[i + k] * v[k], for 1-d arrays of one type, float32 or float64."""
    windows = sliding_windows(contiguous(a), shape_tuple(v), (0,))
    along_axis(slide_doubles if a.code == DOUBLE else slide_floats, windows, v, out, 1)
