"""Interpolation between points."""

from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport intp, Kernel, loop_t, MAXDIMS, ROWS, TELLS_FP
from dflow._array.dispatch cimport Core, Operand, fill_constant, launch
from dflow._kernels.dtypes cimport DOUBLE
from dflow._kernels.registry cimport kernel_new
from dflow._array.core cimport *, be_element

cdef extern from "_kernels/c/interp.h":
    ctypedef struct Bounds:
        double left, right
        intp has_left, has_right
    void interp_loop(char**, intp*, intp*, void*) noexcept nogil

cdef Kernel* interp_kernel = kernel_new(b"interp", 4, 5, <loop_t>interp_loop, NULL, ROWS | TELLS_FP, 4)

def interpolate(ndarray x, ndarray xp, ndarray fp, left, right):
    """numpy.interp of real numbers: at x, between the points (xp, fp), of which there is one at least."""
    cdef Bounds bounds
    cdef Core core
    cdef intp shape[MAXDIMS]
    cdef Operand ops[5]
    cdef ndarray out
    cdef int i
    bounds.has_left = left is not None
    bounds.has_right = right is not None
    bounds.left = left if bounds.has_left else 0
    bounds.right = right if bounds.has_right else 0
    x = cast(x, DOUBLE)
    out = new_array(DOUBLE, x.ndim, x.shape, True)
    core.ndim = 1
    core.dims[0] = xp.size
    core.nsteps = 2
    core.steps[0] = core.steps[1] = sizeof(double)
    xp, fp = contiguous(cast(xp, DOUBLE)), contiguous(cast(fp, DOUBLE))
    memcpy(shape, x.shape, x.ndim * sizeof(intp))           # launch() changes it
    fill_operand(&ops[0], x, x.ndim, shape, False)
    fill_points(&ops[1], xp)
    fill_points(&ops[2], fp)
    fill_constant(&ops[3], <char*>&bounds, sizeof(bounds))
    fill_operand(&ops[4], out, x.ndim, shape, True)
    launch(interp_kernel, ops, 5, x.ndim, shape, &core)
    if x.ndim == 0:
        be_element(out)
    return out

cdef void fill_points(Operand* o, ndarray points) noexcept:
    """All of them for each element."""
    fill_operand(o, points, 1, points.shape, False)
    memset(o.strides, 0, sizeof(o.strides))
