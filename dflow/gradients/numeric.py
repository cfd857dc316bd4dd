"""What is recorded of functions that NumPy computes, or that work in place: the same, made of what has gradients."""

import functools
import operator

import numpy
from numpy.lib.array_utils import normalize_axis_tuple

from dflow import numpy as np
from dflow._array.core import is_array
from dflow._tracing.tape import Rule, add_form, add_rule, detach
from dflow.gradients import added, bare, given, of_order, recorded_as
from dflow.ops import curves, statistics
from dflow.ops.fallback import checked, plain

# Constant for some arguments, or in some results.
for _function in (np.imag, np.piecewise, np.resize, np.where,
                  np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays, np.meshgrid):
    add_form(bare(_function), bare(_function))
add_rule(bare(np.partition), Rule("partition", ("a", "kth", "axis"), (of_order,), None, (None, None, -1), "own"))
add_rule(bare(checked), Rule("checked", ("check", "x"), (None, lambda g: g), over_complex="own"))


def _at(axis, index):
    """The index of an axis, as one of the array."""
    return (*(slice(None),) * axis, index)


# -- ranges ----------------------------------------------------------------------------------------

@recorded_as(np.full_like)
def _full_like(a, fill_value, *args, **keywords):
    result = np.empty_like(a, *args, **keywords)
    result[...] = fill_value
    return result


@recorded_as(np.linspace)
def _linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    num = operator.index(num)
    start, stop = np.asarray(start) * 1.0, np.asarray(stop) * 1.0
    delta, steps = stop - start, num - 1 if endpoint else num
    step = delta / steps if steps > 0 else numpy.nan
    places = np.arange(num, dtype=delta.real.dtype).reshape((-1,) + (1,) * delta.ndim)
    result = places * (step if steps > 0 else delta) + start
    if endpoint and num > 1:
        result = np.concatenate([result[:-1], np.broadcast_to(stop, delta.shape)[None]])
    result = np.moveaxis(result, 0, axis)
    result = result if dtype is None else result.astype(dtype)
    return (result, step) if retstep else result


@recorded_as(np.logspace)
def _logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    start, stop, base = (np.asarray(x) for x in (start, stop, base))
    if base.ndim:
        n = max(start.ndim, stop.ndim, base.ndim)
        start, stop, base = (x.reshape((1,) * (n - x.ndim) + x.shape) for x in (start, stop, base))
        base = np.expand_dims(base, axis)
    result = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else result.astype(dtype)


@recorded_as(np.geomspace)
def _geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop = np.broadcast_arrays(np.asarray(start) * 1.0, np.asarray(stop) * 1.0)
    sign = np.sign(start)
    middle = np.logspace(np.log10(start / sign), np.log10(stop / sign), num, endpoint) * sign
    if num > 0:
        middle[0] = start
    if num > 1 and endpoint:
        middle[-1] = stop
    result = np.moveaxis(middle, 0, axis)
    return result if dtype is None else result.astype(dtype)


@recorded_as(np.vander)
def _vander(x, N=None, increasing=False):
    x = np.asarray(x)
    n = len(x) if N is None else operator.index(N)
    columns = [np.ones(x.shape, numpy.promote_types(x.dtype, int))]
    while len(columns) < n:
        columns.append(columns[-1] * x)
    return np.stack(columns[:n] if increasing else columns[:n][::-1], 1) if n > 0 else np.zeros((len(x), 0), x.dtype)


@recorded_as(np.nan_to_num)
def _nan_to_num(x, *options, **named):
    x = np.asarray(x)
    if x.dtype.kind != "c":
        return bare(np.nan_to_num)(x, *options, **named)
    return np.nan_to_num(x.real, *options, **named) + 1j * np.nan_to_num(x.imag, *options, **named)


# -- borders ---------------------------------------------------------------------------------------

GATHERED = ("edge", "wrap", "reflect", "symmetric")
STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


@recorded_as(np.pad)
def _pad(array, pad_width, mode="constant", **keywords):
    """Along one axis after the other: the corners come with the last."""
    if callable(mode):
        raise NotImplementedError("pad() with a function has no gradient")
    x = np.asarray(array)
    numpy.pad(numpy.ones(x.shape), pad_width, mode, **{key: plain(value) for key, value in keywords.items()})
    width = _pairs(pad_width, x.ndim)
    if keywords.pop("reflect_type", "even") == "odd":
        for axis, (before, after) in enumerate(width):
            each = numpy.eye(x.shape[axis], dtype=x.dtype)
            each = numpy.pad(each, ((before, after), (0, 0)), mode, reflect_type="odd")
            x = np.moveaxis(np.tensordot(np.array(each), x, (1, axis)), 0, axis)
        return x
    options = [_pairs(value, x.ndim) for value in keywords.values()]
    for axis, (before, after) in enumerate(width):
        x = _padded(x, axis, before, after, mode, *[value[axis] for value in options])
    return x


def _pairs(value, ndim):
    """(before, after) for each axis."""
    if isinstance(value, dict):
        pairs = dict.fromkeys(range(ndim), (0, 0)) | {k % ndim: pair for k, pair in value.items()}
        return [pair if isinstance(pair, tuple) else (pair, pair) for _, pair in sorted(pairs.items())]
    if value is None:
        return [(None, None)] * ndim
    if not is_array(value):
        return numpy.broadcast_to(value, (ndim, 2)).tolist()
    value = np.broadcast_to(value, (ndim, 2))
    return [(value[k, 0], value[k, 1]) for k in range(ndim)]


def _padded(x, axis, before, after, mode, option=(None, None)):
    n = x.shape[axis]
    if mode in GATHERED:
        return np.take(x, numpy.pad(numpy.arange(n), (before, after), mode), axis)
    sides = []
    for count, value, near in ((before, option[0], slice(None)), (after, option[1], slice(None, None, -1))):
        shape = [count if k == axis else m for k, m in enumerate(x.shape)]
        inner = x[_at(axis, near)]              # from this side's end
        if mode in ("constant", "empty"):
            side = np.broadcast_to(np.asarray(0 if value is None else value).astype(x.dtype), shape)
        elif mode == "linear_ramp":
            side = np.linspace(0 if value is None else value, inner[_at(axis, 0)], count, False, axis=axis)
            side = side[_at(axis, near)]
        else:
            side = STATISTICS[mode](inner[_at(axis, slice(value))], axis, keepdims=True)
            side = np.broadcast_to(side.astype(x.dtype), shape)
        sides.append(side)
    return np.concatenate([sides[0], x, sides[1]], axis)


# -- one variable ----------------------------------------------------------------------------------

@recorded_as(np.interp)
def _interp(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = np.asarray(x), np.asarray(xp), np.asarray(fp)
    if period is not None:
        period = abs(period)
        x, xp = x % period, xp % period
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
        left = right = None
    low = fp[0] if left is None else left
    high = fp[-1] if right is None else right
    if len(xp) == 1:
        inside = fp[0]
    else:
        k = np.clip(np.searchsorted(xp, x, "right") - 1, 0, len(xp) - 2)
        inside = (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]) * (x - xp[k]) + fp[k]
    return np.where(x < xp[0], low, np.where(x > xp[-1], high, inside))


def _uneven(f, step, axis, edge_order):
    """The slope along an axis, of a step or of coordinates: of the parabola through a place and its neighbours."""
    numpy.gradient(numpy.ones(f.shape), plain(step), axis=axis, edge_order=edge_order)          # its errors
    step, n = np.asarray(step), f.shape[axis]
    steps = np.diff(step) if step.ndim else np.broadcast_to(step, (n - 1,))
    steps = steps.reshape((-1,) + (1,) * (f.ndim - axis - 1))
    f, lead = f * 1.0, (slice(None),) * axis

    def slope(place, a, b):
        """At the place'th of elements a, b and c, steps h and k apart."""
        h, k = steps[a], steps[b]
        x, y, z = (f[(*lead, s)] for s in (a, b, slice(a.start + 2, (b.stop or n) + 1 if b.stop != n - 1 else None)))
        if place == 0:
            return -(2 * h + k) / (h * (h + k)) * x + (h + k) / (h * k) * y - h / (k * (h + k)) * z
        if place == 1:
            return -k / (h * (h + k)) * x + (k - h) / (h * k) * y + h / (k * (h + k)) * z
        return k / (h * (h + k)) * x - (h + k) / (h * k) * y + (2 * k + h) / (k * (h + k)) * z

    if edge_order == 1:
        first = (f[(*lead, slice(1, 2))] - f[(*lead, slice(0, 1))]) / steps[:1]
        last = (f[(*lead, slice(n - 1, n))] - f[(*lead, slice(n - 2, n - 1))]) / steps[-1:]
    else:
        first = slope(0, slice(0, 1), slice(1, 2))
        last = slope(2, slice(n - 3, n - 2), slice(n - 2, n - 1))
    return np.concatenate([first, slope(1, slice(0, n - 2), slice(1, n - 1)), last], axis)


add_form(bare(curves._uneven), _uneven)


@recorded_as(np.poly)
def _poly(seq_of_zeros):
    given_ = np.asarray(seq_of_zeros)
    roots = np.linalg.eigvals(given_) if given_.ndim > 1 else given_
    result = np.ones(1, numpy.result_type(roots.dtype, float))
    for k in range(roots.size):
        zero = np.zeros(1, result.dtype)
        result = np.concatenate([result, zero]) - roots[k] * np.concatenate([zero, result])
    return result.real if given_.dtype.kind != "c" else result


@recorded_as(np.polyfit)
def _polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    numpy.polyfit(*(numpy.asarray(plain(v)) for v in (x, y)), deg, rcond, full, plain(w), cov)      # its errors
    x, y = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    order = int(deg) + 1
    left, right = np.vander(x, order), y
    if w is not None:
        w = np.asarray(w) + 0.0
        left, right = left * w[:, None], right * (w if y.ndim == 1 else w[:, None])
    scale = np.sqrt(np.sum(left * left, 0))
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    found, residuals, rank, s = np.linalg.lstsq(left / scale, right, rcond)
    found = (found.T / scale).T
    if full:
        return found, residuals, rank, s, rcond
    if not cov:
        return found
    base = np.linalg.inv(np.matmul(left.T, left))
    factor = 1 if cov == "unscaled" else residuals / (len(x) - order)
    if y.ndim == 1:
        return found, base * factor
    return found, base[:, :, None] * factor


@recorded_as(np.sinc)
def _sinc(x):
    """At 0 by its series, as what is computed elsewhere divides by x."""
    y = np.asarray(x) * np.pi
    zero = np.equal(y, 0)
    z = np.where(zero, 1, y)
    return np.where(zero, 1 - y * y / 6, np.sin(z) / z)


def _series(x, coefficients):
    """A Chebyshev series, the highest coefficient first and half of the last one's, by Clenshaw's recurrence."""
    before = last = None
    value = 0.0
    for c in coefficients:
        last, before, value = before, value, x * value - (0.0 if before is None else before) + c
    return 0.5 * (value - last)


@recorded_as(np.i0)
def _i0(x):
    a, b = (numpy.lib._function_base_impl._i0A, numpy.lib._function_base_impl._i0B)
    x = np.abs(np.asarray(x))
    large = np.maximum(x, 8.0)
    near = np.minimum(x, 8.0)
    return np.where(x <= 8.0, np.exp(near) * _series(near / 2.0 - 2.0, a),
                    np.exp(large) * _series(32.0 / large - 2.0, b) / np.sqrt(large))


@recorded_as(np.kaiser)
def _kaiser(M, beta):
    M = plain(M)
    places = numpy.arange(0, M)
    if M <= 1:
        return np.ones(places.shape) if M == 1 else np.zeros(0)
    half = (M - 1) / 2.0
    return np.i0(beta * np.array(numpy.sqrt(1 - ((places - half) / half) ** 2.0))) / np.i0(beta)


@recorded_as(np.bincount)
def _bincount(x, /, weights=None, minlength=0):
    counts = numpy.bincount(plain(x), minlength=minlength)
    return added(np.asarray(weights).astype(float), counts.shape, np.asarray(x))


# -- statistics ------------------------------------------------------------------------------------

def _ordered(a, axis):
    """a sorted along axes, as its last one; nan in all places where there is one."""
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    rest = [k for k in range(a.ndim) if k not in axes]
    a = np.sort(a.transpose([*rest, *axes]).reshape([a.shape[k] for k in rest] + [-1]), -1)
    last = a[..., -1:]
    return np.where(np.isnan(last), last, a), [1 if k in axes else n for k, n in enumerate(a.shape)], axes


def _kept(result, shape, axes, lead=()):
    return result.reshape([*lead, *(1 if k in axes else n for k, n in enumerate(shape))])


@recorded_as(np.median)
def _median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    a = np.asarray(a)
    ordered, _, axes = _ordered(a, axis)
    n = ordered.shape[-1]
    result = ordered[..., n // 2] if n % 2 else (ordered[..., n // 2 - 1] + ordered[..., n // 2]) / 2
    return given(out, _kept(result, a.shape, axes) if keepdims else result)


@recorded_as(np.quantile)
def _quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
              function=numpy.quantile):
    a = np.asarray(a)
    part = 100 if function is numpy.percentile else 1
    if weights is not None:
        weights = np.asarray(weights)
        result = function(plain(a), plain(q), axis, method=method, keepdims=True, weights=plain(weights))
        return given(out, _chosen(a, np.asarray(result), axis, keepdims))
    ordered, _, axes = _ordered(a, axis)
    n = ordered.shape[-1]
    known = numpy.asarray(plain(q))
    place = function(numpy.arange(float(n)), known, method=method)
    low = numpy.minimum(numpy.floor(place).astype(int), max(n - 2, 0))
    rest = np.asarray(place - low)
    if is_array(q) and method == "linear":           # q may have a gradient, too
        rest = q * ((n - 1) / part) - low
    result = ordered[..., low] + (ordered[..., np.minimum(low + 1, n - 1)] - ordered[..., low]) * rest.astype(a.dtype)
    result = np.moveaxis(result, range(result.ndim - known.ndim, result.ndim), range(known.ndim))
    return given(out, _kept(result, a.shape, axes, known.shape) if keepdims else result)


def _chosen(a, values, axis, keepdims):
    """For each value, which is an element of a along axes, that element; of several, their mean."""
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    lead = values.shape[:values.ndim - a.ndim]
    along = tuple(k + len(lead) for k in axes)
    same = np.equal(a, values)
    return np.sum(np.where(same, a, 0), along, keepdims=keepdims) / np.sum(same, along, keepdims=keepdims)


recorded_as(np.percentile)(functools.partial(_quantile, function=numpy.percentile))


def _checked_cov(*arguments):
    """Its errors."""
    arguments = [detach(x) if is_array(x) else x for x in arguments]
    names = ("bias", "ddof", "fweights", "aweights")
    bare(statistics._weighted_cov)(*arguments[:5], **dict(zip(names, arguments[5:])))


def _weighted_cov(m, y, x, rowvar, dtype, bias, ddof, fweights, aweights):
    _checked_cov(m, y, x, rowvar, dtype, bias, ddof, fweights, aweights)
    if y is not None:
        x = np.concatenate([x, statistics._variables(y, rowvar, dtype, False)], 0)
    weights = 1.0
    for one in (fweights, aweights):
        weights = weights if one is None else weights * np.asarray(one)
    total = np.sum(weights)
    ddof = ddof if ddof is not None else 0 if bias else 1
    lost = ddof if aweights is None or not ddof else ddof * np.sum(weights * aweights) / total
    x = x - (np.sum(x * weights, 1) / total)[:, None]
    return (np.matmul(x * weights, np.conjugate(x.T)) / (total - lost)).squeeze()


add_form(bare(statistics._weighted_cov), _weighted_cov)


# -- convolution -----------------------------------------------------------------------------------

def _sliding(function, a, v, mode):
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    if a.ndim > 1 or v.ndim > 1 or not a.size or not v.size or mode not in ("full", "same", "valid"):
        return bare(statistics._sliding)(function, a, v, mode)
    turned = function is numpy.correlate and a.size < v.size
    if function is numpy.correlate:
        v = np.conjugate(v)
        a, v = (v, a) if turned else (a, v)
        v = v[::-1]
    n, m = max(a.size, v.size), min(a.size, v.size)
    first, length = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    result = _convolved(a, v)[first:first + length]
    return result[::-1] if turned else result


def _of_convolved(g, v):
    return np.convolve(g, v[::-1], "valid")


@statistics.recorded
def _convolved(a, v):
    """All of a convolution."""
    return bare(statistics._sliding)(numpy.convolve, a, v, "full")


add_form(bare(statistics._sliding), _sliding)
add_rule(bare(_convolved), Rule("convolve", ("a", "v"), (_of_convolved, lambda g, a: _of_convolved(g, a)), None, (),
                                "conjugate"))
