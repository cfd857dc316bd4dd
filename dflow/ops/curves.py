"""Functions of one variable: interpolation, slopes, phases, polynomials, windows."""

import functools
import operator

import numpy
from numpy.lib.array_utils import normalize_axis_tuple

from dflow._array.core import array as as_array
from dflow._array.core import empty, is_array
from dflow._functions.constructors import empty_like, zeros_like
from dflow._functions.elements import is_number
from dflow._functions.interp import interpolate
from dflow._functions.joining import concatenate
from dflow._functions.numpy_inline import LATER, SMALL, at_once, bare
from dflow._functions.ufunc import wrap_ufunc
from dflow._functions.views import is_scalar
from dflow.ops.creation import zeros
from dflow.ops.fallback import call, plain, stand_in, task, tasks
from dflow.ops.reductions import cumsum
from dflow.ops.selection import copyto, diff
from dflow.ops.shape import atleast_1d
from dflow.ops.table import op, recorded

multiply = wrap_ufunc(numpy.multiply)
remainder = wrap_ufunc(numpy.remainder)


FEW = 256               # elements: of so many NumPy's function is quicker than one in steps
BOUNDS = (int, float, type(None))
_interp = bare(numpy.interp).__globals__["compiled_interp"]         # of real numbers


@op("v, [0.0, 1, 2], [0.0, 10, 20]", "0.5, [0, 1], [0, 5]", "a, [0, 1], [1, 2], left=-1", "v, [0, 1], [1]",
    "v, [0, 1, 2], [1j, 2, 3]", "0, [0], [1, 2], period=360", "0, [], [], period=360", "0, [0, 1], [1, 2], period=0",
    kind="host")
def interp(x, xp, fp, left=None, right=None, period=None):
    """Linear interpolation between the points (xp, fp), at x."""
    if is_array(x) and is_scalar(x) and x.dtype.char in "gFDG":
        x = x.astype(float)             # of NumPy's scalars it takes what float() gives: of complex ones the real part
    if period is None:
        result = at_once(_interp, (x, xp, fp, left, right))
        if result is not LATER:
            return result
    result = at_once(numpy.interp, (x, xp, fp, left, right, period))
    if result is not LATER:
        return result
    given = x, xp, fp
    x, xp, fp = map(as_array, given)
    if period is None and any(a.dtype.char in "gFDG" for a in (x, xp, fp)):
        numpy.interp(*map(stand_in, given), left, right)        # its errors
    if xp.shape != fp.shape or xp.ndim != 1 or not xp.size or period == 0:
        return as_array(numpy.interp(x.asnumpy(), xp.asnumpy(), fp.asnumpy(), left, right, period))
    if period is None and all(array.dtype.kind in "biuf" for array in (x, xp, fp)) and (
            type(left) in BOUNDS and type(right) in BOUNDS):
        return interpolate(x, xp, fp, left, right)
    dtype = complex if fp.dtype.kind == "c" else float
    return task(numpy.interp, x, xp, fp, left=left, right=right, period=period, shape=x.shape, dtype=dtype)


# -- slopes and phases -----------------------------------------------------------------------------

@op("v", "a", "a, axis=0", "v, 0.5", "a, 2.0, 3.0", "v, edge_order=2", "[1]", "i", "a, axis=(0, 1)",
    "f, 0.5, axis=(0, 2)", "f, axis=-1", "i, 2, 3", "h", "c, 2", "v, v", "a, 1, 2, 3", "a, axis=2", "b",
    "v, np.float64(2)", "a, axis=(1, 1)", "v, s", "f, 2, v[:3], [1, 2, 4, 8]", "a, v, axis=1", "a, v, 1",
    "i, j, axis=1",
    "v, [1, 2]", "v, a", "v, edge_order=3", "v, v[2], edge_order=2", "f, f[0, 0, 0]", "s", "a, v", kind="host")
def gradient(f, *varargs, axis=None, edge_order=1):
    """The gradient by central differences, a tuple with an array for each axis.

    Each of varargs is the distance of neighbours, or the coordinates of an axis; one distance serves all axes.
    """
    f = as_array(f)
    if edge_order != 1 or any(map(is_array, varargs)):
        result = at_once(numpy.gradient, (f, *varargs), {"axis": axis, "edge_order": edge_order}, 4 * SMALL)
        if result is not LATER:
            return result
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    steps = [x if is_number(x) else as_array(x) for x in varargs or (1.0,)]
    if len(steps) == 1 and (not is_array(steps[0]) or not steps[0].ndim):
        steps *= len(axes)
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    parts = tuple(_slope(f, step, k, edge_order) for step, k in zip(steps, axes))
    return parts[0] if len(parts) == 1 else parts


def _slope(f, step, axis, edge_order):
    """Half the difference of both neighbours; at the ends, the difference from the only one."""
    number = not is_array(step) or not step.ndim and step.dtype.kind in "fiu"
    if edge_order != 1 or f.dtype.kind not in "fciu" or f.shape[axis] < 2 or not number:
        return _uneven(f, step, axis, edge_order)
    f = f.astype(float) if f.dtype.kind in "iu" else f
    lead = (slice(None),) * axis
    result = empty_like(f)
    for to, left, right, width in ((slice(1, -1), slice(None, -2), slice(2, None), 2.0 * step),
                                   (0, 0, 1, step), (-1, -2, -1, step)):
        result[(*lead, to)] = (f[(*lead, right)] - f[(*lead, left)]) / width
    return result


@recorded
def _uneven(f, step, axis, edge_order):
    steps = [step] if is_array(step) else []

    def along(f, *steps):
        return numpy.gradient(f, *(steps or [step]), axis=axis, edge_order=edge_order)

    with numpy.errstate(all="ignore"):
        like = along(stand_in(f, tuple(n if k == axis else 1 for k, n in enumerate(f.shape))), *stand_in(steps))
    return task(along, f, *steps, shape=f.shape, dtype=like.dtype)


@op("v", "a", "a, axis=0", "a * 3, 1.5", "i", "i * 5, period=7", "i * 5, period=8", "i * 4, 3, period=6",
    "f * 9, None, 0",
    "h * 9", "s", "e", "b", "c", "a * 3, period=4.0", "[0, 10, 3]", "v, period=v", close=True, foreign=True, small=FEW)
def unwrap(p, discont=None, axis=-1, *, period=2 * numpy.pi):
    """Jumps along an axis that are larger than `discont` (half a period) made smaller, by adding periods."""
    p = as_array(p)
    step = diff(p, axis=axis)
    dtype = numpy.result_type(step.dtype, period.dtype if is_array(period) else period)
    discont = period / 2 if discont is None else discont
    if numpy.issubdtype(dtype, numpy.integer):
        high, odd = divmod(period, 2)
    else:
        high, odd = period / 2, False
    wrapped = remainder(step + high, period) - high
    if not odd:                                         # then both ends of the interval are as good
        copyto(wrapped, high, where=(wrapped == -high) & (step > 0))
    change = wrapped - step
    copyto(change, 0, where=abs(step) < discont)
    result = p.astype(dtype)
    rest = (slice(None),) * (axis % p.ndim) + (slice(1, None),)
    result[rest] = p[rest] + cumsum(change, axis)
    return result


# -- polynomials -----------------------------------------------------------------------------------

def _horner(p, x):
    result = zeros_like(x)
    for k in range(len(p)):
        result = result * x + p[k]
    return result


@op("[1, 2, 3], v", "v, 2.0", "[1.5], a", "[1, 2], i")
def polyval(p, x):
    """The polynomial with coefficients p, highest power first, at x."""
    return numpy.polyval(plain(p), x) if isinstance(x, numpy.poly1d) else _horner(as_array(p), as_array(x))


def _sum(function, a, b):
    """function(a, b), the shorter one with zeros before it."""
    theirs = getattr(numpy, "poly" + function.__name__[:3])
    if isinstance(a, numpy.poly1d) or isinstance(b, numpy.poly1d):
        return call(theirs, (a, b), {})
    a, b = atleast_1d(a, b)
    more = len(b) - len(a)
    if more > 0:
        a = concatenate((zeros(more, a.dtype), a))
    elif more < 0:
        b = concatenate((zeros(-more, b.dtype), b))
    return function(a, b)


@op("v, v", "v, [1, 2]", "[1, 2], v", "i[0], [0.5]", "2, v", "[True], [1]", "a, v", "c[0], v", foreign=True,
    small=SMALL)
def polyadd(a1, a2):
    """The sum of polynomials, of coefficients, highest power first."""
    return _sum(wrap_ufunc(numpy.add), a1, a2)


@op("v, v", "v, [1, 2]", "[1, 2], v", "i[0], [0.5]", "2, v", "[True], [1]", "a, v", "c[0], v", foreign=True,
    small=SMALL)
def polysub(a1, a2):
    """The difference of polynomials, of coefficients, highest power first."""
    return _sum(wrap_ufunc(numpy.subtract), a1, a2)


@op("v", "v, 2", "i[0]", "[1, 2]", "v, 0", "v, 9", "v, -1", "c[0]", foreign=True)
def polyder(p, m=1):
    """The m-th derivative of a polynomial, of coefficients, highest power first."""
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    if isinstance(p, numpy.poly1d):
        return numpy.polyder(p, m)
    p = as_array(p)
    for _ in range(m):
        p = p[:-1] * as_array(numpy.arange(len(p) - 1, 0, -1))
    return p


@op("v", "v, 2", "i[0]", "[1, 2], 1, 5", "v, 0", "v, -1", "v, 2, [1, 2]", "v, 3, [1, 2]", "v, 3, s", "c[0]",
    "v, 2, v", foreign=True)
def polyint(p, m=1, k=None):
    """The m-th integral of a polynomial, of coefficients, highest power first; `k`: the constants, last one first."""
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    if isinstance(p, numpy.poly1d):
        return call(numpy.polyint, (p, m, k), {})
    k = zeros(m) if k is None else atleast_1d(as_array(k))
    if len(k) == 1 and m > 1:
        k = k[0] * as_array(numpy.ones(m))
    if len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = as_array(p)
    for i in range(m):
        p = concatenate((p / as_array(numpy.arange(len(p), 0, -1)), k[i:i + 1]))
    return p


@op("v", "[1, 2, 3]", "i[0]", "[]", "2.5", "m", "c[0]", "a", "f[0, 0]", "b[0]", kind="host", small=SMALL, foreign=True)
def poly(seq_of_zeros):
    """The coefficients, highest power first, of the polynomial with these roots.

    Waits for a matrix, whose eigenvalues are the roots, and for complex ones, as the values decide about the type.
    """
    roots = as_array(seq_of_zeros)
    if roots.ndim > 1 or not roots.size or roots.dtype.kind == "c":
        return call(numpy.poly, (seq_of_zeros,), {})
    return task(numpy.poly, roots, shape=(roots.size + 1,), dtype=numpy.poly(numpy.ones(1, roots.dtype)).dtype)


@op("v, v, 1", "v, a.T, 2", "v, v, 1, full=True", "v, v, 1, cov=True", "v, a.T, 1, cov=True", "v, v, 1, w=j + 1",
    "v, v, 2",
    "v, c[0], 1", "v, v, -1", "a, v, 1", "v, f, 1", "v, v[:2], 1", "v, v, 1, w=v[:2]", "v, v, 1, w=a",
    "v, v, 3, cov=True",
    "[], [], 1", "v, v, 1, cov='unscaled'", "v, a.T, 1, cov='unscaled'", "f[0, 0], f[0, 1], 1", "v, h[0], 1",
    "i[0], j, 1",
    "v, v, 1.5", kind="host", close="largest", small=SMALL, foreign=True)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The coefficients (deg + 1,) or (deg + 1, k), highest power first, of polynomials that fit y, (n,) or (n, k).

    With `cov`, their covariance too. Waits with `full`, as the rank decides about shapes.
    """
    given = x, y, deg, rcond, full, w, cov
    x, y, w = as_array(x), as_array(y), None if w is None else as_array(w)
    order = int(deg) + 1
    fit = x.ndim == 1 and 0 < x.size and y.ndim in (1, 2) and len(x) == len(y) and order > 0 and (
        w is None or w.shape == x.shape) and not (cov and str(cov) != "unscaled" and len(x) <= order)
    if full or not fit:
        return call(numpy.polyfit, given, {})
    ones = [None if v is None else numpy.arange(1, 5).astype(v.dtype) for v in (x, y, w)]
    if y.ndim == 2:
        ones[1] = ones[1][:, None]
    like = numpy.polyfit(*ones[:2], 0, w=ones[2], cov=cov)      # for the types, and their errors
    like = like if cov else (like,)
    shapes = (order, *y.shape[1:]), (order, order, *(y.shape[1:] if str(cov) != "unscaled" else (1,) * (y.ndim - 1)))

    results = tasks(numpy.polyfit, x, y, deg, rcond, False, w, cov, flat=tuple if cov else lambda result: (result,),
                    like=[numpy.broadcast_to(one.dtype.type(0), shape) for one, shape in zip(like, shapes)])
    return tuple(results) if cov else results[0]


@op("v", "v, 2", "v, increasing=True", "i[0], 3, True", "v, 0", "v, 1", "a", "c[0]", "b[0]", "f[0, 0]", "[1, 2, 3]",
    "h[0]",
    close=True, foreign=True, small=FEW)
def vander(x, N=None, increasing=False):
    """The matrix of the powers of a 1-d array, N of them (as many as it has elements), falling unless `increasing`."""
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    result = empty((len(x), len(x) if N is None else operator.index(N)), numpy.promote_types(x.dtype, int))
    columns = result if increasing else result[:, ::-1]
    columns[:, :1] = 1
    columns[:, 1:] = x[:, None]
    multiply.accumulate(columns[:, 1:], 1, None, columns[:, 1:])
    return result


# -- special functions -----------------------------------------------------------------------------

@op("v", "a * 5", "f", "s", "i", "c", "h", "e", "[0, 9.0]", "b", kind="host", small=SMALL)
def i0(x):
    """The modified Bessel function of the first kind and order 0."""
    x = as_array(x)
    result = task(numpy.i0, x, shape=x.shape, dtype=lambda: _type_of_i0(x.dtype))
    return result if x.ndim else result[...]        # an array, in NumPy, too


@functools.cache
def _type_of_i0(dtype):
    return numpy.i0(numpy.ones((), dtype)).dtype


@op("5, 14.0", "1, s", "0, s", "4.5, s", "6, i[0, 2]", "5, v", "np.float64(3), 2", "s, 2", kind="host", small=SMALL)
def kaiser(M, beta):
    """The Kaiser window of M points. Waits for M, if that is an array."""
    M = plain(M)
    if not is_array(beta):
        return as_array(numpy.kaiser(M, beta))
    like = numpy.kaiser(1, stand_in(beta))
    shape = numpy.arange(0, M).shape if M >= 1 else (0,)
    return task(lambda beta: numpy.kaiser(M, beta), beta, shape=shape, dtype=like.dtype)
