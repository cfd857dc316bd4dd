"""Sums, products, extremes: reductions along axes, and accumulations."""

import numpy
from numpy.exceptions import AxisError
from numpy.lib.array_utils import normalize_axis_tuple

from dflow._array.core import array as as_array
from dflow._array.core import ndarray
from dflow._functions import advanced_indexing, joining, sorting
from dflow._functions import counting as _counting
from dflow._functions.numpy_inline import SMALL, as_scalar
from dflow._functions.out import check_out, give_reduced
from dflow._functions.sequences import to_read
from dflow._functions.ufunc import wrap_ufunc
from dflow._functions.views import broadcast_to
from dflow.ops.fallback import checked
from dflow.ops.table import add_row, op
from dflow.ops.warn import raise_where, warn_where

NO_VALUE = numpy._NoValue

_add = wrap_ufunc(numpy.add)
_multiply = wrap_ufunc(numpy.multiply)
_isnan = wrap_ufunc(numpy.isnan)
_divide = wrap_ufunc(numpy.true_divide)
add_reduce = _add.reduce
multiply_reduce = _multiply.reduce
maximum_reduce = wrap_ufunc(numpy.maximum).reduce
minimum_reduce = wrap_ufunc(numpy.minimum).reduce
any_reduce = wrap_ufunc(numpy.logical_or).reduce
all_reduce = wrap_ufunc(numpy.logical_and).reduce

AXES = ("a", "i", "b", "a, 0", "a, axis=-1", "f, axis=(0, 2)", "f, axis=1, keepdims=True", "f, axis=()", "s",
    "a, axis=2",
        "f, axis=(0, 0)", "h, axis=0", "f, axis=(0, 1), out=np.zeros(4, 'f4')", "a, out=np.zeros(3)")
SUMS = AXES + ("a, dtype='f4'", "i, dtype='i2', axis=0", "c", "e", "e, axis=0", "a, initial=3", "a, axis=0, where=b",
               "a, where=b, initial=5.0", "a.T, axis=0", "i.astype('i1'), axis=0", "[[1, 2], [3, 4]], 0",
               "a[::2, ::-1], axis=1")
EXTREMES = AXES + ("e", "e, axis=0", "e, axis=1", "n", "n, axis=0", "a, initial=0.5", "a, axis=1, where=b, initial=-1",
                   "a, where=b", "[3, 1, 2]")


@op(*SUMS, method=True, close=True)
def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=NO_VALUE, where=True):
    """The sum along axes. Small integers are added in the platform's integer."""
    return add_reduce(a, axis, dtype, out, keepdims, initial, where)


@op(*SUMS, method=True, close=True)
def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=NO_VALUE, where=True):
    """The product along axes."""
    return multiply_reduce(a, axis, dtype, out, keepdims, initial, where)


@op(*EXTREMES, aliases=("amax",), method=True)
def max(a, axis=None, out=None, keepdims=False, initial=NO_VALUE, where=True):
    """The largest element along axes; NaN when there is one. ValueError for none at all without `initial`."""
    return maximum_reduce(a, axis, None, out, keepdims, initial, where)


@op(*EXTREMES, aliases=("amin",), method=True)
def min(a, axis=None, out=None, keepdims=False, initial=NO_VALUE, where=True):
    """The smallest element along axes; NaN when there is one. ValueError for none at all without `initial`."""
    return minimum_reduce(a, axis, None, out, keepdims, initial, where)


@op(*AXES, "e", "a, axis=0, where=b", "n", method=True)
def any(a, axis=None, out=None, keepdims=False, *, where=True):
    """Whether some element along axes is true."""
    return any_reduce(a if type(a) is ndarray else to_read(a), axis, None, out, keepdims, NO_VALUE, where)


@op(*AXES, "e", "a, axis=0, where=b", "n", method=True)
def all(a, axis=None, out=None, keepdims=False, *, where=True):
    """Whether all elements along axes are true."""
    return all_reduce(a if type(a) is ndarray else to_read(a), axis, None, out, keepdims, NO_VALUE, where)


# -- means -----------------------------------------------------------------------------------------

# By the character of a type.
_SUM_TYPE = dict.fromkeys("?bBhHiIlLqQ", numpy.dtype("f8")) | {"e": numpy.dtype("f4")}
_EXACT_COUNT = dict.fromkeys("dDgG", 1 << 53) | {"f": 1 << 24}          # the type counts exactly up to here


def _count(a, total, axis, keepdims, where):
    """How many elements each element of `total` is made of: an int, or an array under a mask."""
    if where is not True:
        where = as_array(where).astype(bool, copy=False)
        return add_reduce(broadcast_to(where, a.shape), axis, numpy.intp, None, keepdims)
    if axis is None:
        return a.size
    n, shape = 1, a.shape
    for k in axis if isinstance(axis, (tuple, list)) else (axis,):          # it was reduced along these
        if not shape:
            raise AxisError(k, 0)
        n *= shape[k]
    return n


def _divided(total, count):
    """total / count, in place and in total's type."""
    if type(count) is int:
        if count < _EXACT_COUNT.get(total.dtype.char, 0):
            if total.size < SMALL:              # to record a division in place takes longer than a new array
                return total / count
            total /= count
            return total
        if total.dtype.char == "F" and total.size < SMALL:      # as a complex128, as NumPy divides by an integer
            return (total.astype("D") / count).astype("F")
        count = as_array(count)
    if total.ndim:
        return _divide(total, count, out=total, casting="unsafe")
    quotient = _divide(total, count)
    return quotient if quotient.dtype == total.dtype else quotient.astype(total.dtype)


MEANS = AXES + ("e", "c", "n, axis=0", "a, dtype='f4'", "i, dtype='f4'", "a, axis=0, where=b", "c64, axis=0",
    "i, dtype=int",
                "[1, 2, 4]", "h, axis=1, keepdims=True", "h, dtype='f8'")


@op(*MEANS, method=True, close=True)
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """The arithmetic mean along axes. Integers are added in float64, float16 in float32."""
    if type(a) is not ndarray:
        a = to_read(a)
    half = False
    if dtype is None:
        code = a.dtype.char
        dtype = _SUM_TYPE.get(code)
        half = code == "e"
    if where is True and out is None and dtype is None:
        total = add_reduce(a, axis, keepdims=True) if keepdims else add_reduce(a, axis)
    else:
        total = add_reduce(a, axis, dtype, out, keepdims, NO_VALUE, where)
    count = _count(a, total, axis, keepdims, where)
    if type(count) is not int or count == 0:
        warn_where(count == 0, "Mean of empty slice", total)
    if out is not None:
        return _divide(total, as_array(count), out=out, casting="unsafe")
    total = _divided(total, count)
    return total.astype(a.dtype) if half else total


@op(*MEANS, "a, ddof=1", "a, axis=0, ddof=5", "a, correction=1", "a, ddof=1, correction=1", "c, axis=1", method=True,
    close=True)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NO_VALUE, correction=NO_VALUE):
    """The variance along axes: the mean square of what is left after the mean, over n - ddof."""
    return _variance(to_read(a), axis, dtype, out, ddof, keepdims, where, mean, correction)


@op(*MEANS, "a, ddof=1", "a, axis=0, ddof=5", "a, correction=1", "a, ddof=1, correction=1", "c, axis=1", method=True,
    close=True)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NO_VALUE, correction=NO_VALUE):
    """The standard deviation along axes: the square root of the variance."""
    result = _variance(to_read(a), axis, dtype, out, ddof, keepdims, where, mean, correction)
    root = wrap_ufunc(numpy.sqrt)
    if out is not None or result.ndim:
        return root(result, out=result)
    return root(result).astype(result.dtype, copy=False)


def _variance(a, axis, dtype, out, ddof, keepdims, where, mean, correction):
    if correction is not NO_VALUE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if dtype is None and a.dtype.kind in "iub":
        dtype = numpy.dtype("f8")
    if mean is NO_VALUE or mean is None:
        mean = add_reduce(a, axis, dtype, None, True, NO_VALUE, where)
        mean = _divided(mean, _count(a, mean, axis, True, where))
    deviation = _squared(a, mean)
    total = add_reduce(deviation, axis, dtype, out, keepdims, NO_VALUE, where)
    count = _count(a, total, axis, keepdims, where)
    if type(count) is not int or ddof >= count:
        warn_where(count <= ddof, "Degrees of freedom <= 0 for slice", total)
    if type(count) is int:
        count = count - ddof if count > ddof else 0
    else:
        count = wrap_ufunc(numpy.maximum)(count - ddof, 0)
    if out is not None:
        return _divide(total, as_array(count), out=out, casting="unsafe")
    return _divided(total, count if type(count) is int else as_array(count))


def _squared(a, mean):
    """|a - mean| ** 2."""
    x = a - mean
    square = wrap_ufunc(numpy.square)
    if x.dtype.kind != "c":
        return square(x, out=x) if x.ndim else square(x)
    return square(x.real) + square(x.imag)


@op("a", "a, axis=0", "a, 1, v", "f, axis=(0, 1)", "a, 1, v, returned=True", "a, weights=b", "a, weights=v", "i, 0",
    "a, 1, keepdims=True",
    "a, 1, [1, 2]", "a, 1, v * 0", "a, weights=a - a", "i, 1, j, returned=True", close=True)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """The mean along axes, weighted when `weights` are given (of a's shape, or 1-d along one axis).

    ZeroDivisionError, when the result is read at the latest, for weights whose sum is zero.
    """
    a = to_read(a)
    if axis is not None:
        axis = normalize_axis_tuple(axis, a.ndim, argname="axis")
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        if not result.size and axis is not None:
            raise ZeroDivisionError("division by zero")         # of how many elements each is made
        total = as_array(numpy.asarray(a.size / result.size if result.size else 0, result.dtype)) if returned else None
    else:
        weights = along_axes(a, as_array(weights), axis)
        dtype = numpy.result_type(a.dtype, weights.dtype, *(["f8"] if a.dtype.kind in "iub" else []))
        total = weights.sum(axis, dtype, None, keepdims)
        total = checked(_check_total, total)
        result = _multiply(a, weights, dtype=dtype).sum(axis, None, None, keepdims) / total
    if not returned:
        return result
    return result, total if total.shape == result.shape else broadcast_to(total, result.shape).copy()


def _check_total(total):
    if numpy.count_nonzero(total) < total.size:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return total


def along_axes(a, weights, axis):
    """Weights in the shape of a, or one that broadcasts to it."""
    if weights.shape == a.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalize_axis_tuple(axis, a.ndim, argname="axis")
    if weights.shape != tuple(a.shape[k] for k in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return weights.transpose(order).reshape(tuple(n if k in axes else 1 for k, n in enumerate(a.shape)))


@op("a", "a, axis=0", "f, (0, 1)", "f, axis=1, keepdims=True", "i, 1", "a, 0, np.zeros(4)", "e", "b")
def ptp(a, axis=None, out=None, keepdims=False):
    """The largest minus the smallest element along axes."""
    return wrap_ufunc(numpy.subtract)(max(a, axis, out, keepdims), min(a, axis, None, keepdims), out=out)


op("a", "i", "b", "a, axis=0", "f, axis=(0, 1)", "f, axis=1, keepdims=True", "e", "c", "n",
    "a > 0, 1")(_counting.count_nonzero)


# -- where the extremes are --------------------------------------------------------------------------

op("a", "a, 0", "a, axis=-1, keepdims=True", "i, 1", "b, 0", "c", "e", "n", "n, 0", "a, keepdims=True", "s", "h, 1",
    "a, 5",
    "a, 0, np.zeros(4, int)", method=sorting.argmax_method)(sorting.argmax)


op("a", "a, 0", "a, axis=-1, keepdims=True", "i, 1", "b, 0", "c", "e", "n", "n, 0", "a, keepdims=True", "s", "h, 1",
    "a, 5",
    "a, 0, np.zeros(4, int)", method=sorting.argmin_method)(sorting.argmin)


# -- running totals ----------------------------------------------------------------------------------

RUNS = ("a", "a, 0", "i, axis=1", "i.astype('i1'), 0", "f, axis=2", "b, 0", "a, dtype='f4'", "c, 1", "h, 0", "s",
    "e, 0", "a, 3",
        "a, 0, None, np.zeros((3, 4))")


def _running(accumulate, a, axis, dtype, out):
    a = as_array(a)
    if out is not None:
        check_out(out, "output must be an array")
    if axis is None:
        a, axis = a if a.ndim == 1 else a.ravel(), 0
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis")
    if not a.ndim:
        a = a.reshape(1)
    return accumulate(a, axis, machine_order(dtype), out)


def machine_order(dtype):
    """The type, as what is no ufunc in NumPy takes it: in another byte order, it means the machine's."""
    return None if dtype is None else numpy.dtype(dtype).newbyteorder("=")


@op(*RUNS, method=True, close=True)
def cumsum(a, axis=None, dtype=None, out=None):
    """Running sums along an axis; of the flattened array without."""
    return _running(_add.accumulate, a, axis, dtype, out)


@op(*RUNS, method=True, close=True)
def cumprod(a, axis=None, dtype=None, out=None):
    """Running products along an axis; of the flattened array without."""
    return _running(_multiply.accumulate, a, axis, dtype, out)


def _cumulative(accumulate, x, axis, dtype, out, include_initial, first):
    x = as_array(x)
    if not x.ndim:
        x = x.reshape(1)
    if axis is None:
        if x.ndim != 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    result = accumulate(x, axis, dtype, None if include_initial else out)
    if not include_initial:
        return result
    shape = tuple(1 if k == axis % x.ndim else n for k, n in enumerate(x.shape))
    start = as_array(numpy.full(shape, first, result.dtype))
    return joining.concatenate([start, result], axis, out)


@op("v", "a, axis=1", "a", "v, include_initial=True", "a, axis=0, include_initial=True", close=True)
def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running sums along an axis, starting with 0 on request."""
    return _cumulative(_add.accumulate, x, axis, dtype, out, include_initial, 0)


@op("v", "a, axis=1", "a", "v, include_initial=True", close=True)
def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running products along an axis, starting with 1 on request."""
    return _cumulative(_multiply.accumulate, x, axis, dtype, out, include_initial, 1)


# -- without NaN -------------------------------------------------------------------------------------

NANS = ("n", "a", "i", "n, axis=0", "n, axis=1, keepdims=True", "n.T, axis=(0, 1)", "b", "h, 0")


def _without_nan(a, replacement):
    """a with its NaNs replaced, and where they were (None for types that have none)."""
    a = as_array(a)
    if a.dtype.kind not in "fc":
        return a, None
    mask = _isnan(a)
    return advanced_indexing.where(mask, numpy.asarray(replacement, a.dtype), a), mask


def _nan_reduction(name, reduction, replacement, text):
    def function(a, axis=None, dtype=None, out=None, keepdims=False, initial=NO_VALUE, where=True):
        return reduction(_without_nan(a, replacement)[0], axis, dtype, out, keepdims, initial, where)

    function.__doc__ = text
    function.__name__ = function.__qualname__ = name
    add_row(name, function, NANS + ("n, 0, 'f4'",), close=True)


_nan_reduction("nansum", add_reduce, 0, "The sum along axes, NaN counting as 0.")
_nan_reduction("nanprod", multiply_reduce, 1, "The product along axes, NaN counting as 1.")


def _nan_extreme(name, ufunc, text):
    reduction = wrap_ufunc(ufunc).reduce

    def function(a, axis=None, out=None, keepdims=False, initial=NO_VALUE, where=True):
        result = reduction(as_array(a), axis, None, out, keepdims, initial, where)
        if result.dtype.kind == "c" and type(a) not in (numpy.ndarray, ndarray):
            result = as_scalar(advanced_indexing.where(_isnan(result), numpy.asarray(numpy.nan, result.dtype), result))
        if result.dtype.kind in "fc":
            warn_where(_isnan(result), "All-NaN slice encountered", result)
        return result

    function.__doc__ = text
    function.__name__ = function.__qualname__ = name
    add_row(name, function, NANS)


_nan_extreme("nanmax", numpy.fmax, "The largest element along axes but for NaN; NaN, and a warning, if all are.")
_nan_extreme("nanmin", numpy.fmin, "The smallest element along axes but for NaN; NaN, and a warning, if all are.")


def _nan_place(name, place, least, text):
    def function(a, axis=None, out=None, *, keepdims=False):
        a, mask = _without_nan(a, least)
        result = place(a, axis, out, keepdims=keepdims)
        if mask is not None and mask.size:
            raise_where(all_reduce(mask, axis), ValueError("All-NaN slice encountered"), result)
        return result

    function.__doc__ = f"{text} ValueError, on reading at the latest, where all are."
    function.__name__ = function.__qualname__ = name
    add_row(name, function, (
        *NANS[:5], "n * np.nan", "n[:, :1], 1", "c", "e", "e, 0", "n, 1, np.zeros(3, int)", "n, 5", "h"))


_nan_place("nanargmax", sorting.argmax, -numpy.inf, "The index of the largest element along an axis but for NaN.")
_nan_place("nanargmin", sorting.argmin, numpy.inf, "The index of the smallest element along an axis but for NaN.")


@op("n", "n, 0", "a, 1", close=True)
def nancumsum(a, axis=None, dtype=None, out=None):
    """Running sums, NaN counting as 0."""
    return cumsum(_without_nan(a, 0)[0], axis, dtype, out)


@op("n", "n, 0", "a, 1", close=True)
def nancumprod(a, axis=None, dtype=None, out=None):
    """Running products, NaN counting as 1."""
    return cumprod(_without_nan(a, 1)[0], axis, dtype, out)


def _check_inexact(dtype, out):
    """What may hold the mean of floating point numbers."""
    for name, wanted in ("dtype", dtype), ("out", getattr(out, "dtype", None)):
        if wanted is not None and numpy.dtype(wanted).kind not in "fc":
            raise TypeError(f"If a is inexact, then {name} must be inexact")


def _and(mask, where):
    return mask if where is True else mask & as_array(where).astype(bool, copy=False)


@op(*NANS, "n, 0, where=b", "n, dtype=int", "n, 0, out=i[0]", close=True, small=256)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """The mean along axes of what is not NaN; NaN, and a warning, where nothing is left."""
    a, mask = _without_nan(a, 0)        # few are one block, in which sums are NumPy's
    if mask is None:
        return mean(a, axis, dtype, out, keepdims, where=where)
    _check_inexact(dtype, out)
    count = add_reduce(~mask, axis, numpy.intp, None, keepdims, NO_VALUE, where)
    total = add_reduce(a, axis, dtype, out, keepdims, NO_VALUE, where)
    with numpy.errstate(invalid="ignore", divide="ignore"):
        result = _divide(total, count, out=out, casting="unsafe") if out is not None else _divided(total, count)
    warn_where(count == 0, "Mean of empty slice", result)
    return result


@op(*NANS, "n, 0, ddof=1", "n, ddof=1, correction=1", "n, 0, int", close=True)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NO_VALUE,
           correction=NO_VALUE):
    """The variance along axes of what is not NaN; NaN, and a warning, where fewer than ddof + 1 are left."""
    a, mask = _without_nan(a, 0)
    if mask is None:
        return var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    if correction is not NO_VALUE:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    _check_inexact(dtype, out)
    valid = _and(~mask, where)
    with numpy.errstate(invalid="ignore", divide="ignore"):
        if mean is NO_VALUE:
            total = add_reduce(a, axis, dtype, None, True, NO_VALUE, where)
            mean = _divided(total, add_reduce(valid, axis, numpy.intp, None, True))
        deviation = _squared(a, mean)
        deviation = advanced_indexing.where(valid, deviation, numpy.zeros((), deviation.dtype))
        count = add_reduce(valid, axis, numpy.intp, None, keepdims) - ddof
        result = _divided(add_reduce(deviation, axis, dtype, None, keepdims), count)
        result = advanced_indexing.where(count <= 0, numpy.nan, result)
    warn_where(count <= 0, "Degrees of freedom <= 0 for slice.", result)
    return give_reduced("add", as_scalar(result), out)


@op(*NANS, "n, 0, ddof=1", close=True)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NO_VALUE,
           correction=NO_VALUE):
    """The standard deviation along axes of what is not NaN."""
    result = nanvar(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    return wrap_ufunc(numpy.sqrt)(result, out=out)
