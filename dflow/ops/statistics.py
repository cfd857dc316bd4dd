"""Order statistics, histograms and correlations."""

import sys
from functools import lru_cache, partial

import numpy
from numpy.lib.array_utils import normalize_axis_tuple

from dflow._array.core import array as as_array
from dflow._array.core import empty, is_array
from dflow._functions import convolve as _convolve
from dflow._functions.numpy_inline import LATER, SMALL, at_once, few
from dflow._functions.out import give_reduced, no_scalars
from dflow._functions.ufunc import wrap_ufunc
from dflow.ops.fallback import plain, stand_in, task
from dflow.ops.linear import dot, vecdot
from dflow.ops.reductions import along_axes, average
from dflow.ops.shape import sliding_window_view
from dflow.ops.table import op, recorded

METHODS = ("a", "v", "a, axis=0", "f, axis=(0, 2)", "a, axis=1, keepdims=True", "i", "h, 0", "n", "b[0] * 1.0",
           "a, axis=3", "e, axis=1")


def _kept(a, axis, keepdims):
    """The shape after a reduction along axes."""
    axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
    return tuple(1 if k in axes else n for k, n in enumerate(a.shape) if keepdims or k not in axes)


def _reduced(function, a, axis, keepdims, lead=(), **keywords):
    """function(a, axis=...) as a task; `lead` is what its shape begins with.

    Its type, and its errors, are those of NumPy's answer to something of the same type and number of axes.
    """
    a = as_array(a)

    def dtype():
        if all(type(x) in PLAIN for x in keywords.values()) and type(axis) in PLAIN:
            return _type_of(function, a.dtype, a.ndim, axis, tuple(keywords.items()))
        tiny = stand_in(a, (1,) * a.ndim)
        options = {key: stand_in(x, (1,) * x.ndim if key == "weights" else None) for key, x in keywords.items()}
        return numpy.asarray(function(tiny, axis=axis, **options)).dtype

    result = task(function, a, axis=axis, keepdims=keepdims, shape=lambda: lead + _kept(a, axis, keepdims), dtype=dtype,
                  **keywords)
    return no_scalars(result) if keepdims else result


FAST = few(5)               # elements of a selection
PLAIN = (int, float, str, type(None))


@lru_cache(typed=True)        # as int64 and longlong are equal
def _type_of(function, dtype, ndim, axis, keywords):
    return numpy.asarray(function(numpy.ones((1,) * ndim, dtype), axis=axis, **dict(keywords))).dtype


def _stored(result, out):
    """result, or `out`, into whose shape it is broadcast, with a copy of it."""
    if out is None:
        return result
    out[...] = result
    return out


@op(*METHODS, "a, 0, np.zeros(4)", kind="host", close=True, small=FAST)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle element along axes, or the mean of the middle two."""
    return give_reduced("add", _reduced(numpy.median, a, axis, keepdims), out)


@op("n", "n, axis=0", "n, 1, keepdims=True", kind="host", close=True, small=few(3.3))
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median along axes of what is not NaN."""
    return _stored(_reduced(numpy.nanmedian, a, axis, bool(keepdims)), out)


def _quantile(function, a, q, axis, out, method, keepdims, weights):
    a, keywords = as_array(a), {}
    if weights is not None:
        weights = as_array(weights)
        along_axes(a, weights, axis)                    # its errors
        keywords["weights"] = weights
    if type(q) not in (int, float):                     # numbers leave the type to the array
        q = q if is_array(q) and not q.is_ready() else numpy.asarray(plain(q))
    result = _reduced(function, a, axis, bool(keepdims), numpy.shape(q), q=q, method=method, **keywords)
    if out is None or function in (numpy.nanpercentile, numpy.nanquantile) or result.dtype.kind != "f":
        return _stored(result, out)
    return wrap_ufunc(numpy.add)(result, -0.0, out=out)         # NumPy's last step, too, is an addition


QUANTILES = ("a, 0.5", "f, 0.3", "h, 0.5, 0", "f, [0.2, 0.4]", "f, np.float64(0.3)", "h, 1", "f, np.array(0.3)",
             "a, 0.25, axis=0", "a, [0.1, 0.9], 1", "v, 0.3, keepdims=True", "a, 1.5, 0",
             "i, 0.5, method='lower'", "a, 0.5, method='x'")


@op("a, 50", "a, 25, axis=0", "a, [10, 90], 1", "v, 30, keepdims=True", "a, 150, 0", "i, 50, method='lower'",
    "a, v * 10 + 20", "a, v", "f, v[:1]", "a, s, 0", "f, s, 1", "c, 50", "a, v.reshape(2, 2) + 9",
    "a, 50, 1, weights=abs(v), method='inverted_cdf'", "a, 50, weights=v, method='inverted_cdf'",
    "a, 50, weights=a * 0 + 1",
    "a, v[:1], 0, weights=a * a, method='inverted_cdf', keepdims=True", "a, 50, 1, weights=v, method='inverted_cdf'",
    "a, 50, 1, weights=v[:2], method='inverted_cdf'",
    "a, 50, 0, np.zeros(4), method='inverted_cdf', weights=[1, 2, 3]", kind="host", close=True, small=FAST)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The q-th percentile along axes; several when q is an array."""
    return _quantile(numpy.percentile, a, q, axis, out, method, keepdims, weights)


@op(*QUANTILES, kind="host", close=True, small=FAST)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The q-th quantile along axes; several when q is an array."""
    return _quantile(numpy.quantile, a, q, axis, out, method, keepdims, weights)


@op("n, 50", "n, [10, 90], axis=0", "n, v * 10 + 20, 0",
    "n, 50, 1, weights=abs(v), method='inverted_cdf'", kind="host", close=True, small=few(3.5))
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The q-th percentile along axes of what is not NaN."""
    return _quantile(numpy.nanpercentile, a, q, axis, out, method, keepdims, weights)


@op("n, 0.5", "n, [0.1, 0.9], axis=0", kind="host", close=True, small=few(3.5))
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The q-th quantile along axes of what is not NaN."""
    return _quantile(numpy.nanquantile, a, q, axis, out, method, keepdims, weights)


@op("a", "a, a", "a.T, rowvar=False", "v[None], rowvar=False", "a[:1], v[None], rowvar=False", "v, v, bias=True",
    "a, dtype='f2'", "a.astype('f4'), dtype='f4'", "a, ddof=0", "c", "i", "a, fweights=j", "a, aweights=abs(v)",
    "a, a, fweights=j, aweights=v * v", "v, fweights=j", "a, fweights=v",
    "a, fweights=j - 1", "a, aweights=v", "a, fweights=j[:2]", "a, fweights=i", "a, aweights=a", "a, aweights=v[:3]",
    "a.T, rowvar=False, fweights=j, bias=True", "c, aweights=v * v", "a, fweights=j * 0 + 1, ddof=9",
    "f[0], fweights=j",
    "f[0], dtype='f4', fweights=j", "a, v[None], aweights=v * v", "e.T, fweights=j[:0]", "a, fweights=j, ddof=1.5",
    kind="host", close=True)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariance of variables, one a row."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    if fweights is not None or aweights is not None:
        result = at_once(numpy.cov, (m, y, rowvar, bias, ddof, fweights, aweights), {"dtype": dtype})
        if result is not LATER:
            return no_scalars(result)
    x = _variables(m, rowvar, dtype)
    if fweights is not None or aweights is not None:
        return _weighted_cov(m, y, x, rowvar, dtype, bias=bias, ddof=ddof, fweights=fweights, aweights=aweights)
    if y is not None:
        from dflow._functions.joining import concatenate
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


@recorded
def _weighted_cov(m, y, x, rowvar, dtype, **options):
    """NumPy's, as a task."""
    arrays = {"m": as_array(m), "y": None if y is None else as_array(y)}
    for name in ("fweights", "aweights"):
        if options[name] is not None:
            arrays[name] = options[name] = as_array(options[name])
            if options[name].ndim != 1 or len(options[name]) != x.shape[1]:
                options = {key: stand_in(value) for key, value in options.items()}
                numpy.cov(stand_in(arrays["m"]), rowvar=rowvar, **options)          # its errors
    n = x.shape[0] + (0 if y is None else _variables(y, rowvar, dtype, False).shape[0])
    kind = dtype or numpy.result_type(float, *[arrays[name].dtype for name in ("m", "y") if arrays[name] is not None])
    ones = {key: numpy.ones(3, x.dtype) for key, x in arrays.items() if "weights" in key}
    like = numpy.cov(numpy.ones((1, 3), kind), dtype=dtype, **ones)
    return no_scalars(task(partial(numpy.cov, dtype=dtype), arrays["m"], y=arrays["y"], rowvar=rowvar, **options,
                           shape=(n, n) if n > 1 else (), dtype=like.dtype))


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
        return clip(c.real, -1, 1) + 1j * clip(c.imag, -1, 1)
    return clip(c, -1, 1)


def _sqrt(x):
    return x ** 0.5


AT_ONCE = 1 << 17                   # products


@op("v, v[:2]", "v, v, 'same'", "v[:3], v, 'same'", "v[:2], v", "[1, 2, 3], [0, 1, 0.5], 'valid'", "v, []", "a, v",
    "c[0], v[:2]", "v[:2], c[0], 'same'", kind="host", close=True, small=SMALL)
def convolve(a, v, mode="full"):
    """The discrete convolution of two 1-d arrays."""
    return _sliding(numpy.convolve, a, v, mode)


@op("v, v[:2]", "v, v, 'same'", "v, v, 'full'", "v[:2], v, 'full'", "v, v[:3], 'same'", "c[0], v[:2], 'full'",
    "v, c[0][:2], 'same'", "v[:2], c[0], 'full'", kind="host", close=True, small=SMALL)
def correlate(a, v, mode="valid"):
    """The cross-correlation of two 1-d arrays."""
    return _sliding(numpy.correlate, a, v, mode)


@recorded
def _sliding(function, a, v, mode):
    a, v = as_array(a), as_array(v)
    scalar = function is numpy.correlate and not (a.ndim and v.ndim)
    if scalar or a.ndim > 1 or v.ndim > 1 or not a.size or not v.size or mode not in ("full", "same", "valid"):
        return as_array(function(a.asnumpy(), v.asnumpy(), mode))
    if a.size * v.size <= AT_ONCE:
        result = at_once(function, (a, v, mode), small=sys.maxsize)
        if result is not LATER:
            return result
    a, v = (x.reshape(-1).astype(numpy.result_type(a.dtype, v.dtype), copy=False) for x in (a, v))
    if function is numpy.convolve:
        a, v = (a, v[::-1]) if a.size >= v.size else (v, a[::-1])
    elif v.dtype.kind == "c":
        v = v.conj()
    n, m = max(a.size, v.size), min(a.size, v.size)
    before, length = {"full": (m - 1, n + m - 1), "same": (m // 2, n), "valid": (0, n - m + 1)}[mode]
    result = out = empty((length,), a.dtype)
    if a.size < v.size:
        a, v, out = v, a, result[::-1]
    end = before + n - m + 1
    for edge, part, cut in ((out[:before], a[:m], slice(m - 1 - before, m - 1)),
                            (out[end:], a[n - m:], slice(m, m + length - end))):
        if edge.size:
            edge[...] = task(lambda a, v, cut=cut: numpy.convolve(a, v[::-1])[cut], part, v,
                             shape=edge.shape, dtype=a.dtype)
    _slide(a, v, out[before:end])           # last, for until then nothing that is written to is pending
    return result


def _slide(a, v, out):
    """out[i] = the sum of a[i + k] * v[k]."""
    if v.dtype in (numpy.float32, numpy.float64):
        _convolve.slide(a, v, out)
    else:
        with numpy.errstate(all="ignore"):          # as NumPy's loop, which tells of nothing
            vecdot(v.conj() if v.dtype.kind == "c" else v, sliding_window_view(a, v.size), out=out)
