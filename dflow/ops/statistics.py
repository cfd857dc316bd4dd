"""Order statistics, histograms and correlations."""

import numpy
from numpy.lib.array_utils import normalize_axis_tuple

from dflow._array import array as as_array
from dflow._array import empty
from dflow._small import SMALL
from dflow.ops.fallback import plain, task, window_of
from dflow.ops.linear import dot
from dflow.ops.reductions import average
from dflow.ops.table import op

METHODS = ("a", "v", "a, axis=0", "f, axis=(0, 2)", "a, axis=1, keepdims=True", "i", "h, 0", "n", "b[0] * 1.0",
           "a, axis=3", "e, axis=1")


def _kept(a, axis, keepdims):
    """The shape after a reduction along axes."""
    axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
    return tuple(1 if k in axes else n for k, n in enumerate(a.shape) if keepdims or k not in axes)


def _tiny(a):
    """Something of the same type and number of axes, to ask NumPy for the result's type, and for its errors."""
    return numpy.zeros((1,) * a.ndim, a.dtype)


def _reduced(function, a, axis, keepdims, out, lead=(), **keywords):
    """function(a, axis=...) as a task; `lead` is what its shape begins with."""
    a = as_array(a)
    result = task(function, a, axis=axis, keepdims=keepdims, shape=lambda: lead + _kept(a, axis, keepdims),
                  dtype=lambda: numpy.asarray(function(_tiny(a), axis=axis, **keywords)).dtype, **keywords)
    if out is None:
        return result
    out[...] = result
    return out


@op(*METHODS, "a, 0, np.zeros(4)", kind="host", close=True, small=SMALL)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle element along axes, or the mean of the middle two."""
    return _reduced(numpy.median, a, axis, keepdims, out)


@op("n", "n, axis=0", "n, 1, keepdims=True", kind="host", close=True, small=SMALL)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median along axes of what is not NaN."""
    return _reduced(numpy.nanmedian, a, axis, bool(keepdims), out)


def _quantile(function, a, q, axis, out, method, keepdims, weights):
    q = q if type(q) in (int, float) else numpy.asarray(plain(q))       # numbers leave the type to the array
    keywords = {} if weights is None else {"weights": plain(weights)}
    if weights is not None:
        result = as_array(function(plain(as_array(a)), q, axis, method=method, keepdims=keepdims, **keywords))
        if out is None:
            return result
        out[...] = result
        return out
    return _reduced(function, a, axis, bool(keepdims), out, numpy.shape(q), q=q, method=method)


QUANTILES = ("a, 0.5", "f, 0.3", "h, 0.5, 0", "f, [0.2, 0.4]", "f, np.float64(0.3)", "h, 1", "f, np.array(0.3)",
             "a, 0.25, axis=0", "a, [0.1, 0.9], 1", "v, 0.3, keepdims=True", "a, 1.5, 0",
             "i, 0.5, method='lower'", "a, 0.5, method='x'")


@op("a, 50", "a, 25, axis=0", "a, [10, 90], 1", "v, 30, keepdims=True", "a, 150, 0", "i, 50, method='lower'",
    "a, 50, 0, np.zeros(4), method='inverted_cdf', weights=[1, 2, 3]", kind="host", close=True, small=SMALL)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The q-th percentile along axes; several when q is an array. Waits for q; with weights, for all."""
    return _quantile(numpy.percentile, a, q, axis, out, method, keepdims, weights)


@op(*QUANTILES, kind="host", close=True, small=SMALL)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The q-th quantile along axes; several when q is an array. Waits for q; with weights, for all."""
    return _quantile(numpy.quantile, a, q, axis, out, method, keepdims, weights)


@op("n, 50", "n, [10, 90], axis=0", kind="host", close=True, small=SMALL)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The q-th percentile along axes of what is not NaN. Waits for q; with weights, for all."""
    return _quantile(numpy.nanpercentile, a, q, axis, out, method, keepdims, weights)


@op("n, 0.5", "n, [0.1, 0.9], axis=0", kind="host", close=True, small=SMALL)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The q-th quantile along axes of what is not NaN. Waits for q; with weights, for all."""
    return _quantile(numpy.nanquantile, a, q, axis, out, method, keepdims, weights)


@op("a", "a, a", "a.T, rowvar=False", "v[None], rowvar=False", "a[:1], v[None], rowvar=False", "v, v, bias=True",
    "a, dtype='f2'", "a.astype('f4'), dtype='f4'", "a, ddof=0", "c", "i", "a, fweights=j", close=True)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariance of variables, one a row. With weights, waits."""
    if fweights is not None or aweights is not None:
        weights = plain(fweights), plain(aweights)
        return as_array(numpy.cov(plain(m), plain(y), rowvar, bias, ddof, *weights, dtype=dtype))
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = _variables(m, rowvar, dtype)
    if y is not None:
        from dflow._order import concatenate
        x = concatenate([x, _variables(y, rowvar, dtype, False)], 0)
        x = x.astype(numpy.result_type(x.dtype, float), copy=False) if dtype is None else x
    if x.shape[0] == 0:
        return as_array(numpy.empty((0, 0)))
    divisor = x.shape[1] - (ddof if ddof is not None else 0 if bias else 1)
    if divisor <= 0:
        import warnings
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        divisor = 0.0
    x = x - average(x, axis=1).reshape(-1, 1)
    result = dot(x, x.T.conj())
    result *= numpy.float64(1) / divisor if divisor else numpy.inf
    return result.squeeze()


def _variables(m, rowvar, dtype, first=True):
    m = as_array(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    m = m.astype(numpy.result_type(m.dtype, float) if dtype is None else dtype, copy=False)
    turned = m.ndim == 2 and (first or m.shape[0] != 1)         # as NumPy has it
    m = m.reshape(1, -1) if m.ndim < 2 else m
    return m.T if not rowvar and turned else m


@op("a", "a, a", "a.T, rowvar=False", "v", close=True)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """The correlation coefficients of variables, one a row."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = _sqrt(c.diagonal().real)
    c = c / deviation[:, None] / deviation[None, :]
    from dflow.ops.elementwise import clip
    if c.dtype.kind == "c":
        c.real[...], c.imag[...] = clip(c.real, -1, 1), clip(c.imag, -1, 1)
        return c
    return clip(c, -1, 1)


def _sqrt(x):
    return x ** 0.5


@op("v, v[:2]", "v, v, 'same'", "[1, 2, 3], [0, 1, 0.5], 'valid'", "v, []", "a, v", kind="host", close=True,
    small=SMALL)
def convolve(a, v, mode="full"):
    """The discrete convolution of two 1-d arrays."""
    return _sliding(numpy.convolve, a, v, mode)


@op("v, v[:2]", "v, v, 'same'", "v, v, 'full'", kind="host", close=True, small=SMALL)
def correlate(a, v, mode="valid"):
    """The cross-correlation of two 1-d arrays."""
    return _sliding(numpy.correlate, a, v, mode)


def _sliding(function, a, v, mode):
    a, v = as_array(a), as_array(v)
    if a.ndim > 1 or v.ndim > 1 or not a.size or not v.size or mode not in ("full", "same", "valid"):
        return as_array(function(a.asnumpy(), v.asnumpy(), mode))
    n, m = max(a.size, v.size), min(a.size, v.size)
    length = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    dtype = numpy.result_type(a.dtype, v.dtype)
    return task(function, a.reshape(-1), v.reshape(-1), mode=mode, shape=(length,), dtype=dtype)


@op("v, [0.0, 1, 2], [0.0, 10, 20]", "0.5, [0, 1], [0, 5]", "a, [0, 1], [1, 2], left=-1", "v, [0, 1], [1]",
    "v, [0, 1, 2], [1j, 2, 3]", "0, [0], [1, 2], period=360", "0, [], [], period=360", "0, [0, 1], [1, 2], period=0",
    kind="host", small=SMALL)
def interp(x, xp, fp, left=None, right=None, period=None):
    """Linear interpolation between the points (xp, fp), at x."""
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    if xp.shape != fp.shape or xp.ndim != 1 or not xp.size or period == 0:
        return as_array(numpy.interp(x.asnumpy(), xp.asnumpy(), fp.asnumpy(), left, right, period))
    dtype = complex if fp.dtype.kind == "c" else float
    return task(numpy.interp, x, xp, fp, left=left, right=right, period=period, shape=x.shape, dtype=dtype)


@op("v", "a, 3", "a, 4, (0, 1)", "v, [0, 0.5, 1]", "v, 2, weights=v", kind="blocking", small=SMALL)
def histogram(a, bins=10, range=None, density=None, weights=None):
    """Counts in bins, and the edges of the bins. Waits."""
    result = numpy.histogram(window_of(a), plain(bins), range, density, window_of(weights))
    return tuple(map(as_array, result))


@op("j", "[0, 1, 1, 3]", "[0, 1, 1], [0.5, 1, 2]", "[0], minlength=4", "[-1]", "[0.5]", "[]", kind="blocking",
    small=SMALL)
def bincount(x, /, weights=None, minlength=0):
    """How often each small non-negative integer occurs, or the sum of its weights. Waits."""
    return as_array(numpy.bincount(window_of(x), window_of(weights), minlength))


@op("v", "a", "a, axis=0", "v, 0.5", "a, 2.0, 3.0", "v, edge_order=2", "[1]", "i", "a, axis=(0, 1)",
    "f, 0.5, axis=(0, 2)", "f, axis=-1", "i, 2, 3", "h", "c, 2", "v, v", "a, 1, 2, 3", "a, axis=2", "b",
    "v, np.float64(2)", "a, axis=(1, 1)")
def gradient(f, *varargs, axis=None, edge_order=1):
    """The gradient by central differences, a tuple with an array for each axis. Coordinates are waited for."""
    f = as_array(f)
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if (edge_order != 1 or f.dtype.kind not in "fciu" or len(steps) != len(axes) or any(f.shape[k] < 2 for k in axes)
            or any(type(step) not in (int, float) for step in steps)):
        result = numpy.gradient(window_of(f), *map(plain, varargs), axis=axis, edge_order=edge_order)
        return type(result)(map(as_array, result)) if isinstance(result, (tuple, list)) else as_array(result)
    f = f.astype(float) if f.dtype.kind in "iu" else f
    parts = tuple(_slope(f, step, k) for step, k in zip(steps, axes))
    return parts[0] if len(parts) == 1 else parts


def _slope(f, step, axis):
    """Half the difference of both neighbours; at the ends, the difference from the only one."""
    lead = (slice(None),) * axis
    result = empty(f.shape, f.dtype)
    for to, left, right, width in ((slice(1, -1), slice(None, -2), slice(2, None), 2.0 * step),
                                   (0, 0, 1, step), (-1, -2, -1, step)):
        result[(*lead, to)] = (f[(*lead, right)] - f[(*lead, left)]) / width
    return result


def _horner(p, x):
    result = as_array(numpy.zeros((), numpy.result_type(p.dtype, x.dtype))) * x
    for k in range(p.size):
        result = result * x + p[k]
    return result


@op("[1, 2, 3], v", "v, 2.0", "[1.5], a", "[1, 2], i")
def polyval(p, x):
    """The polynomial with coefficients p, highest power first, at x."""
    return numpy.polyval(plain(p), x) if isinstance(x, numpy.poly1d) else _horner(as_array(p), as_array(x))
