"""Choosing elements: by condition, by index, by position in a matrix."""

import functools
import itertools
import math
import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow._array.core import array as as_array
from dflow._array.core import is_array, ndarray
from dflow._functions import advanced_indexing, counting, joining, masks
from dflow._functions.constructors import converted, empty, zeros_like
from dflow._functions.numbers import cast_into, numbers_for
from dflow._functions.numpy_inline import LATER, SMALL, as_scalar, at_once, few
from dflow._functions.out import give
from dflow._functions.placement import follow
from dflow._functions.ufunc import wrap_ufunc
from dflow._functions.views import broadcast_to, diagonal, diagonal_method, diagonal_of, is_scalar
from dflow.ops.creation import arange, tri
from dflow.ops.fallback import call, plain, stand_in, task, tasks, window_of
from dflow.ops.reductions import add_reduce, any_reduce
from dflow.ops.shape import moveaxis
from dflow.ops.table import add_row, method, op

_SCALARS = (int, float, complex)
_NOTHING = numpy._NoValue
_INTP = numpy.dtype(numpy.intp)


# -- by condition ----------------------------------------------------------------------------------

@op("a > 0, a, 0", "b, a, i", "b, 1, 2", "v > 0, a, -a", "i, a, v", "b, 1, 2.5", "True, a, 0", "b, a, m", "b", "b, a",
    "[True, False], 1, 0",
    "f > 1, f, 2.5", "b, i, 2.5", "a, c, h")
def where(condition, x=_NOTHING, y=_NOTHING, /):
    """Elements of x where the condition is true, else of y. With the condition alone, nonzero() of it, which waits."""
    if y is not _NOTHING:
        return advanced_indexing.where(condition, x, y)
    if x is not _NOTHING:
        raise ValueError("either both or neither of x and y should be given")
    return counting.nonzero(condition)


op("b", "a > 0", "v", "e", "s", "[0, 3]", "f > 1", kind="blocking", method=counting.nonzero_method)(counting.nonzero)


@op("b", "a > 0", "v", "e", "s", "f > 1", kind="blocking")
def argwhere(a):
    """The indices of what is not zero, one a row. Waits."""
    a = as_array(a)
    if a.ndim == 0:
        return follow(a, as_array(numpy.argwhere(window_of(a))))
    places = counting.nonzero(a)
    return places[0].reshape(-1, 1) if a.ndim == 1 else joining.stack(places).T


@op("b", "a > 0", "v", kind="blocking")
def flatnonzero(a):
    """The indices in the flattened array of what is not zero. Waits."""
    return counting.nonzero(as_array(a).ravel())[0]


@op("b, a", "a > 0, i", "[0, 1], [3, 4]", kind="blocking", small=SMALL)
def extract(condition, arr):
    """The elements where the condition is true. Waits for the condition."""
    condition, arr = as_array(condition).ravel(), as_array(arr).ravel()
    if condition.size == arr.size:
        return arr[condition.astype(bool, copy=False)]
    return advanced_indexing.take(arr, flatnonzero(condition))


@op("[True, False, True], a, 0", "[0, 1], v", "[1, 1, 0, 1], a, axis=1", "[True] * 5, v", "a, a", "v > 0, v, 1",
    "v[:3], a, 0", "v[:3] > 0, a", "[], []", "[1], 2, 0", kind="blocking", small=SMALL)
def compress(condition, a, axis=None, out=None):
    """The subarrays along an axis where a 1-d condition is true. Waits for the condition."""
    condition = as_array(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    a = as_array(a)
    if out is None and a.flags.c_contiguous and a.ndim and (axis == 0 or a.ndim == 1 and axis is None) and (
            len(condition) == len(a)):
        return a[condition.astype(bool, copy=False)]
    return advanced_indexing.take(a, counting.nonzero(condition)[0], axis, out)


@method("compress", small=SMALL)
def _compress_method(self, /, condition, axis=None, out=None):
    """compress(condition, self), which waits for the condition."""
    return compress(condition, self, axis, out)


@op("[a > 1, a > 0], [a, -a]", "[a > 1, a > 0], [a, 2 * a], 5", "[b], [i, i]", "[], []", "[b, i], [a, a]",
    "[v > 0], [a], 1.5",
    "b, i", "[np.array(True), v > 0], [1, a]", "[b[0], np.array(False)], [a[:, :1], np.ones(4)]",
    "[np.array(True)], [3.0]", "[True], [0], [0]")
def select(condlist, choicelist, default=0):
    """For each place the element of the first array whose condition is true there, else the default."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [as_array(c) for c in condlist]
    for i, condition in enumerate(conditions):
        if condition.dtype.kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    choices = [x if type(x) in _SCALARS else as_array(x) for x in choicelist]
    default = default if type(default) in _SCALARS else as_array(default)
    dtype = numpy.result_type(*[x if type(x) in _SCALARS else x.dtype for x in [*choices, default]])
    arrays = [as_array(numpy.asarray(x).astype(dtype)) if type(x) in _SCALARS else x.astype(dtype, copy=False)
              for x in [*choices, default]]
    shape = numpy.broadcast_shapes(*[x.shape for x in conditions + arrays])
    result = broadcast_to(arrays[-1], shape).copy()
    for condition, choice in zip(reversed(conditions), reversed(arrays[:-1])):
        result = advanced_indexing.where(condition, choice, result)
    return result


@op("j % 3, [v, v + 1, v + 2]", "[0, 1, 0], [[1, 2, 3], [4, 5, 6]]", "[0, 5], [[1, 2], [3, 4]]",
    "[0, 5], [[1, 2], [3, 4]], mode='clip'",
    "[0, -1], [[1, 2], [3, 4]], mode='wrap'", "v, [v]", "[0], []", "1, [np.float32(1), 1.0]", small=SMALL)
def choose(a, choices, out=None, mode="raise"):
    """From each place the element of the array that `a` numbers there. Waits for `a` when mode is 'raise'."""
    index = as_array(a)
    arrays = [as_array(x) for x in choices]
    if not arrays:
        raise ValueError("0-length sequence.")
    if len(arrays) > 63:
        raise ValueError("Need at least 0 and at most 64 array objects.")
    dtype = joining.common_type(choices, arrays)
    if not numpy.can_cast(index.dtype, _INTP):
        raise TypeError(f"Cannot cast array data from {index.dtype!r} to {_INTP!r} according to the rule 'safe'")
    n, mode = len(arrays), advanced_indexing.index_mode(mode)
    shape = numpy.broadcast_shapes(index.shape, *[x.shape for x in arrays])
    if isinstance(out, (ndarray, numpy.ndarray)) and out.shape != shape:
        raise TypeError("choose: invalid shape for output array.")
    if mode == "raise":
        values = window_of(index)
        if math.prod(shape) and not (0 <= values.min() and values.max() < n):
            raise ValueError("invalid entry in choice array")
    elif mode == "clip":
        index = wrap_ufunc(numpy.minimum)(wrap_ufunc(numpy.maximum)(index, 0), n - 1)
    else:
        index = index % n
    result = broadcast_to(arrays[-1].astype(dtype, copy=False), shape).copy()
    for k in range(n - 1):
        result = advanced_indexing.where(index == k, arrays[k].astype(dtype, copy=False), result)
    return give(as_scalar(result), out, "choose: invalid shape for output array.", TypeError)


@method("choose", small=SMALL)
def _choose_method(self, /, *choices, out=None, mode="raise"):
    """choose(self, choices), which waits for self when mode is 'raise'. The choices may be arguments of their own."""
    return choose(self, choices[0] if len(choices) == 1 else choices, out, mode)


# -- by index --------------------------------------------------------------------------------------

op("v, [0, 2]", "a, 1", "a, [0, 2], 0", "a, [[0, 1], [2, 3]], axis=1", "a, 5, axis=0", "a, [-1, 7], 1, mode='wrap'",
    "a, [-1, 7], 1, mode='clip'",
    "a, [0, 12]", "?a, v", "a, j, 1", "v, []", "a, [0, 1], 1, np.zeros((3, 2))", "a, 0, 2", "[1, 2, 3], 1", "s, 0",
    "a, 1, mode='x'",
    "e, [0], 0, mode='wrap'", "e, [0], 0, mode='clip'", "e, [], 0, mode='wrap'", "e, [5], 1, mode='clip'",
    method=advanced_indexing.take_method)(advanced_indexing.take)


@op("a, np.argsort(a, 1), 1", "a, np.array([[0], [1], [2]]), axis=1", "a, j, axis=None", "a, v, 1", "a, j, 0",
    "a, np.array([[5]]), 1", "a, j[None] - 3, 0")
def take_along_axis(arr, indices, axis=-1):
    """Elements matched along an axis: result[i, j] = arr[i, indices[i, j]]. Waits for the indices only."""
    arr, indices = as_array(arr), as_array(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        arr, axis = arr.ravel(), 0
    return arr[_along(arr, indices, normalize_axis_index(axis, arr.ndim))]


def put_along_axis(arr, indices, values, axis):
    """Set elements matched along an axis. Waits for the indices only."""
    indices = as_array(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        put(arr, indices, values)
        return
    arr[_along(arr, indices, normalize_axis_index(axis, arr.ndim))] = values


op(name="put_along_axis", writes=True)(put_along_axis)


def _along(arr, indices, axis):
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if indices.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return tuple(indices if k == axis else as_array(numpy.arange(n).reshape((-1,) + (1,) * (arr.ndim - 1 - k)))
                 for k, n in enumerate(arr.shape))


@op("a, [0, 5], [1, 2, 3]", "e, [0], 1", "e, [], 1", "a, [50], 1", "a, [-50, 50], 1, mode='wrap'",
    "a, [-50, 50], v, 'clip'", "i, 2, 2.5", small=SMALL, writes=True)
def put(a, ind, v, mode="raise"):
    """Set elements of the flattened array, in place; values are repeated as needed. Waits for the indices only."""
    if not is_array(a):
        raise TypeError(f"argument 1 must be numpy.ndarray, not {type(a).__name__}")
    mode = advanced_indexing.index_mode(mode)
    _check_writeable(a)
    index = _safe_values(ind, _INTP).ravel()
    if index.size and not a.size:
        raise IndexError("cannot replace elements of an empty array")
    values = as_array(v if is_array(v) or isinstance(v, numpy.ndarray) else converted(v, a.dtype)).ravel()
    if not index.size or not values.size:
        return
    if mode == "wrap":
        index = index % a.size
    elif mode == "clip":
        index = index.clip(0, a.size - 1)
    flat = a.reshape(-1)                # a view, or a copy
    flat[index] = _repeated(values, index.size)
    if not a.flags.c_contiguous:
        a[...] = flat.reshape(a.shape)


def _repeated(values, n):
    """n values for as many places: one for all, or from the beginning again after the last."""
    if values.size == 1:
        return values.reshape(())
    return values[:n] if n <= values.size else advanced_indexing.take(values, numpy.arange(n) % values.size)


@method("put", small=SMALL, writes=True)
def _put_method(self, /, indices, values, mode="raise"):
    """Set elements of the flattened array, in place; values are repeated as needed. Waits for the indices only."""
    put(self, indices, values, mode)


def _what(array):
    return "array data" if array.ndim else "scalar"


def _check_target(x, words):
    """TypeError for what is no array to write to, as a scalar, whose type follows the words."""
    if not is_array(x) or is_scalar(x):
        kind = f"numpy.{x.dtype.type.__name__}" if is_array(x) else type(x).__name__
        raise TypeError(f"{words}, not {kind}")


def _check_writeable(a, words="output array is read-only"):
    """Before its values are looked at; a scalar's are written to a copy."""
    if not a.flags.writeable and not is_scalar(a):
        raise ValueError(words)


def _safe_values(values, dtype):
    """An array of values for one of this type. TypeError where arrays could not be cast to it safely."""
    if not is_array(values) and not isinstance(values, numpy.ndarray):
        return converted(values, dtype)                 # lists and numbers, in any way
    array = as_array(values)
    if not is_scalar(array) and not numpy.can_cast(array.dtype, dtype):
        raise TypeError(f"Cannot cast {_what(array)} from {array.dtype!r} to {dtype!r} according to the rule 'safe'")
    return array


@op("a, b, [1, 2]", "a, [1, 0], 1", "[1], [True], [1]", "v, [1, 0, 1, 1], []", "v, [0, 0, 0, 0], []", "s, True, [3]",
    "a, b, []", "a, a > 99, []", "[1], [1], 2", "a, b[0], 1", "i, b, v", small=SMALL, writes=True)
def place(arr, mask, vals):
    """Set the elements under a mask to successive values, repeated as needed. Waits for the mask without values."""
    _check_target(arr, "place() argument 1 must be numpy.ndarray")
    _check_writeable(arr)
    mask, values = as_array(mask), _safe_values(vals, arr.dtype).ravel()
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    if not values.size and mask.any():
        raise ValueError("Cannot insert from an empty array!")
    masks.place(arr, mask, values)


@op("a, b, [1, 2]", "a, b, []", "a, b, a + 1", "[1], [1], 2", "a, b[0], 1", "a, b.ravel(), v",
    "i, i, 2.5", "a, i, v[:3]", small=few(6), writes=True)
def putmask(a, /, mask, values):
    """Set a where the mask is true to the values at the same places of the flattened array, repeated as needed."""
    if not is_array(a) or is_scalar(a):
        raise TypeError("putmask: first argument must be an array")
    _check_writeable(a)
    mask = as_array(mask)
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    values = _safe_values(values, a.dtype)
    mask = mask.reshape(a.shape)
    if not values.size:
        return
    if values.size > 1 and values.shape != a.shape:
        values = _repeated(values.ravel(), a.size).reshape(a.shape)
    copyto(a, values.reshape(()) if values.size == 1 else values, "unsafe", mask.astype(bool, copy=False))


@op("a, v", "a, 1, where=b", "i, 1.5", "i, 2.5, 'unsafe'", "[1], 2", "a, v[:3]", "a, 2, 'no'", small=few(6),
    writes=True)
def copyto(dst, src, casting="same_kind", where=True):
    """Copy src, broadcast, into dst; where a mask is true."""
    _check_target(dst, "copyto() argument 1 must be a numpy.ndarray")
    _check_writeable(dst, "assignment destination is read-only")
    src = numbers_for(src, dst.dtype, casting)
    if src.dtype != dst.dtype and not numpy.can_cast(src.dtype, dst.dtype, casting):
        raise TypeError(f"Cannot cast {_what(src)} from {src.dtype!r} to {dst.dtype!r} "
                        f"according to the rule '{casting}'")
    if where is True:
        cast_into(dst, src)
        return
    mask = _safe_values(where, numpy.dtype(bool))
    if mask.ndim > dst.ndim or any(m not in (1, n) for m, n in zip(mask.shape[::-1], dst.shape[::-1])):
        shapes = " into shape ".join(str(x.shape).replace(" ", "") for x in (mask, dst))
        raise ValueError(f"could not broadcast where mask from shape {shapes}")
    dst[...] = advanced_indexing.where(broadcast_to(mask, dst.shape), src.astype(dst.dtype, copy=False), dst)


@op("a, 1", "a, [0, 2], 0", "v, slice(1, 3)", "a, 5, 0", "a, -1, axis=1", "v, [True, False, True, False]", "a, 1, 3",
    "v, slice(None, None, -2)", "a, slice(3, 0, -1), 1", "v, [0, 0, -1]", "a, [0, 2], 1", "v, slice(3, 1)", "v, []",
    "v, j > 9", "v, [True]", "v, [0.5]", "a, np.array([1]), 1", "a, [7, 0], 1", "v, -5", small=SMALL)
def delete(arr, obj, axis=None):
    """Without the subarrays at indices along an axis (of the flattened array). Waits for the indices only."""
    arr, obj = as_array(arr), plain(obj)
    arr, axis = _along_one(arr, axis)
    n = arr.shape[axis]
    gone = _named(obj, n, n - 1, axis)
    if type(gone) is range:
        gone = gone[::-1] if gone.step < 0 else gone
        if gone.step == 1 or len(gone) < 2:
            ends = slice(gone.start), slice(gone.start + len(gone), None)
            kept = joining.concatenate([arr[_after(axis, end)] for end in ends], axis)
            in_order = arr.ndim == 1 or arr.flags.c_contiguous or arr.flags.f_contiguous
            return kept if in_order else kept.copy()                # in C order, as NumPy's
        gone = slice(gone.start, gone.stop, gone.step)
    elif gone.dtype == bool and gone.shape != (n,):
        raise ValueError("boolean array argument obj to delete must be one dimensional and match the axis length of "
                         f"{n}")
    keep = numpy.ones(n, bool)
    keep[gone,] = False
    return arr[_after(axis, as_array(keep))]


def _along_one(arr, axis):
    return (arr.ravel(), 0) if axis is None else (arr, normalize_axis_index(axis, arr.ndim))


def _after(axis, index):
    """The index for `axis`, as an index of the array."""
    return (*(slice(None),) * axis, index) if axis else index


def _index_like(x):
    """As NumPy's array; an empty list is one of indices."""
    index = numpy.asarray(x)
    return index if index.size or isinstance(x, numpy.ndarray) else index.astype(_INTP)


def _named(obj, n, last, axis):
    """What an index names along an axis of length n: a range, or an array if it is no slice and not one index."""
    if isinstance(obj, slice):
        return range(n)[obj]
    i = obj
    if type(obj) is not int:
        index = _index_like(obj)
        if index.size != 1 or index.dtype.kind not in "iu":
            return index
        i = index.item()
    if not -n <= i <= last:
        raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {n}")
    i += n if i < 0 else 0
    return range(i, i + 1)


@op("v, 1, 9", "a, 1, 5, axis=0", "a, [0, 2], v, axis=0", "v, [0, 4], [7, 8]", "v, 9, 1", "a, 0, [1, 2, 3], axis=1",
    "v, j, v", "v, slice(1, 3), 7", "v, [True, False, True, False], 7", "a, 1, v, 0", "a, 1, a, 1", "i, 1, 2.5",
    "a, j[:1], v, 0",
    "a, 1, 2, 5", "s, 0, 1", "v, [1, 2], [1, 2, 3]", "a, 1, v", "v, [2, 0, 2], [7, 8, 9]",
    "a, slice(2, 0, -1), [7, 8], 1", "v, [1], [7, 8]", "v, 1.5, 7", "i, -1, 7, 1",
    "v, slice(1, 2), [7, 8]", "a, [1, 0], v, 0", "v, [0, 9], 7",
    "i.astype('u1'), 0, 300", small=SMALL)
def insert(arr, obj, values, axis=None):
    """With values inserted before indices along an axis (of the flattened array). Waits for the indices only."""
    arr, obj = as_array(arr), plain(obj)
    values = as_array(values) if is_array(values) or isinstance(values, numpy.ndarray) else converted(values, arr.dtype)
    arr, axis = _along_one(arr, axis)
    n, shape = arr.shape[axis], list(arr.shape)
    places = _named(obj, n, n, axis)
    if type(places) is range and len(places) == 1:
        values = values.reshape((1,) * (arr.ndim - values.ndim) + values.shape)
        if axis and not isinstance(obj, slice) and numpy.ndim(obj) == 0:
            values = moveaxis(values, 0, axis)
        at, m = places.start, values.shape[axis]
        parts = ((slice(at), arr[_after(axis, slice(at))]), (slice(at, at + m), values),
                 (slice(at + m, None), arr[_after(axis, slice(at, None))]))
    else:
        if type(places) is not range and (places.ndim != 1 or places.dtype.kind not in "iu"):
            numpy.insert(numpy.zeros(n), obj, 0)                    # its errors
            places = numpy.flatnonzero(places)
        places = numpy.array(places, _INTP)
        places[places < 0] += n
        m = places.size
        places[places.argsort(kind="stable")] += numpy.arange(m)
        keep = numpy.ones(n + m, bool)
        keep[places] = False
        parts = (places, values), (as_array(keep), arr)
    shape[axis] += m
    result = empty(shape, arr.dtype, "F" if arr.flags.fnc else "C")
    for part, x in parts:
        result[_after(axis, part)] = x
    return result


@op("a, [a > 0, a < -1], [1, 2]", "a, [a > 0], [lambda x: x * 2]", "v, [v > 1, v < 0], [np.sqrt, np.negative, 7]",
    "s, [s > 2], [1]",
    "v, v > 1, [5]", "v, [v > 1], [1, 2, 3]", "a, [b, ~b], [lambda x, k: x + k, lambda x, k: k], 5",
    "i, [i > 3], [2.5]",
    "v, [[1, 0, 1, 0]], [lambda x: x + 1, -1]", "3, [True], [9]", "v, [v > 99], [np.sqrt]", foreign=True)
def piecewise(x, condlist, funclist, *args, **kw):
    """Where a condition is true, what its function makes of those elements of x, or a number. Else 0, or the last one.

    Waits for the conditions of functions, which get the elements as an array.
    """
    x, count = as_array(x), len(funclist)
    alone = numpy.isscalar(condlist)
    first = condlist if alone else condlist[0]
    listed = isinstance(first, (list, numpy.ndarray, ndarray)) and not (is_array(first) and is_scalar(first))
    if alone or x.ndim and not listed:
        condlist = [condlist]
    conditions = list(as_array(condlist).astype(bool, copy=False))
    if len(conditions) == count - 1:
        conditions.append(~any_reduce(joining.stack(conditions), 0))
    elif len(conditions) != count:
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result = zeros_like(x)
    for condition, function in zip(conditions, funclist):
        if not callable(function):
            result[condition] = function
            continue
        values = x[condition]
        if values.size:
            result[condition] = function(values, *args, **kw)
    return result


# -- indices ---------------------------------------------------------------------------------------

@op("5, (3, 4)", "j, (3, 4)", "i, (3, 4), order='F'", "[0, 11], (3, 4)", "12, (3, 4)", "-1, (3, 4)", "v, (3, 4)",
    "j, 4",
    "j * 9, (3, 4)", "i[0, 0], (3, 4)", "j, ()", "j, (0, 4)", "j, (2, 2), 'x'", kind="host", small=few(3.5))
def unravel_index(indices, shape, order="C"):
    """The indices, one array an axis, of elements numbered in an order. ValueError on reading for one out of bounds."""
    given, indices = indices, as_array(indices)
    if not shape and type(shape) is tuple:
        return call(numpy.unravel_index, (indices, shape, order), {})
    empty = type(given) in (list, tuple) and not indices.size       # of which NumPy has words of its own
    like = numpy.unravel_index([] if empty else numpy.zeros(0, indices.dtype), shape, order)        # or its errors
    return tuple(tasks(numpy.unravel_index, indices, shape, order,
                       like=[numpy.broadcast_to(x.dtype.type(0), indices.shape) for x in like]))


@op("(1, 2), (3, 4)", "(j % 3, j), (3, 4)", "i[:2] % 3, (3, 4)", "(j, 1), (4, 4), order='F'", "(j, j), (2, 9)",
    "(j, j), (2, 2), 'wrap'",
    "(j, j), (2, 3), ('clip', 'wrap')", "(v, v), (3, 4)", "(j, j, j), (3, 4)", "(i, j), (12, 4)",
    "(i, j[:2]), (12, 4)", "j, (4, 4, 4, 4)",
    "(j, j), (4, 4), 'x'", kind="host", small=few(1))
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The numbers, in an order, of elements with these indices. ValueError on reading for one out of bounds."""
    parts = [as_array(x) for x in multi_index]
    like = numpy.ravel_multi_index(tuple(x if type(x) is list and not x else numpy.zeros(0, part.dtype)
                                         for x, part in zip(multi_index, parts)), dims, mode, order)    # or its errors
    try:
        shape = numpy.broadcast_shapes(*(x.shape for x in parts))
    except ValueError:
        numpy.ravel_multi_index(tuple(stand_in(parts)), dims, mode, order)          # in its words
        raise
    return task(lambda *parts: numpy.ravel_multi_index(parts, dims, mode, order), *parts, shape=shape, dtype=like.dtype)


@op("[0, 2], [1, 3]", "j, [True, False]", "j", "v", "b, j", "[], j", "j[:0]", "b[0], j, [1]", "i[0], np.array([1])")
def ix_(*args):
    """Index arrays for the elements of a grid, each along an axis of its own. Waits for those of booleans."""
    parts = []
    for k, x in enumerate(args):
        x = x if is_array(x) else as_array(_index_like(x))
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            x = flatnonzero(x)
        parts.append(x.reshape((1,) * k + x.shape + (1,) * (len(args) - 1 - k)))
    return tuple(parts)


# -- bits ------------------------------------------------------------------------------------------

def _bits(function, a, axis, bitorder, length, **options):
    """packbits() or unpackbits() as a task; `length` says how long an axis becomes."""
    a, options["bitorder"] = as_array(a), bitorder
    a = a.reshape(1) if axis is not None and a.ndim == 0 else a
    like = function(stand_in(a, (1,) * a.ndim), axis, bitorder=bitorder)            # or its errors
    shape = [length(a.size)] if axis is None else list(a.shape)
    if axis is not None:
        shape[axis] = length(shape[axis])
    return task(function, a, shape=shape, dtype=like.dtype, axis=axis, **options)


@op("b", "b, 0", "b, axis=-1", "b, 1, 'little'", "i", "a", "b, 5", "b, bitorder='x'", "b[0, 0]",
    "np.ones(17, 'u1')", kind="host",
    small=1 << 20)
def packbits(a, /, axis=None, bitorder="big"):
    """Bits, of integers or booleans, packed into bytes along an axis (of the flattened array), the last filled up."""
    return _bits(numpy.packbits, a, axis, bitorder, lambda n: -(-n // 8))


_BYTE = numpy.dtype("u1")


@functools.cache
def _bits_of_bytes(order):
    """Of each byte its eight bits, as one number of 64."""
    return numpy.unpackbits(numpy.arange(256, dtype="u1"), bitorder=order).view("u8")


@op("i.astype('u1')", "i.astype('u1'), 0", "i.astype('u1'), 1, 5", "i.astype('u1'), count=-3", "i",
    "i.astype('u1'), 1, -99",
    "i.astype('u1'), bitorder='little'", "i.astype('u1'), 2", "i.astype('u1'), count=200",
    "i.astype('u1')[0, 0]", kind="host")
def unpackbits(a, /, axis=None, count=None, bitorder="big"):
    """The bits of bytes along an axis (of the flattened array): the first `count`, or all but the last -count."""
    bits = counting.quick_bits(a, axis, bitorder) if count is None else None
    if bits is None:
        bits = at_once(numpy.unpackbits, (a, axis, count, bitorder), small=4 * SMALL)
    if bits is not LATER:
        return bits

    def length(n):
        n = 8 * n if count is None else count if count >= 0 else 8 * n + count
        if n < 0:
            numpy.unpackbits(numpy.zeros(0, "u1"), count=count)                     # its error
        return n

    a = as_array(a)
    flat = axis is None and a.ndim or a.ndim == 1 and axis in (0, -1)
    if flat and a.dtype == _BYTE and bitorder in ("big", "little"):
        n = length(a.size)
        if n <= 8 * a.size:
            a = a.ravel()[:-(-n // 8)]
            return advanced_indexing.of_bytes(as_array(_bits_of_bytes(bitorder)), a).view(_BYTE)[:n]
    return _bits(numpy.unpackbits, a, axis, bitorder, length, count=count)


# -- by position in a matrix -----------------------------------------------------------------------

add_row("diagonal", diagonal, (
    "a", "a, 1", "a, -1", "f, 0, 0, 2", "f", "a, 10", "v", "a, 0, 0, 0", "a, -5", "a.T, 1", "a[:, ::2]", "f, 1, -1, 0",
    "a[::-1, ::-2], 1", "e", "e, 0, 5, 0"), "view", method=diagonal_method)


@op("v", "v, 1", "v, -2", "a", "a, 1", "f", "[[1, 2], [3, 4]]", "s", "v[:0]", "v[:0], -2")
def diag(v, k=0):
    """A matrix with the 1-d array v on its k-th diagonal; the k-th diagonal of a matrix."""
    v = as_array(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = v.size + abs(k)
    result = zeros_like(v, order="C", shape=(n, n))
    diagonal_of(result, k)[...] = v
    return result


@op("a", "v, 1", "2")
def diagflat(v, k=0):
    """A matrix with the flattened array on its k-th diagonal."""
    return diag(as_array(v).ravel(), k)


def _triangle(m, k, upper):
    m = as_array(m)
    if m.ndim < 2:
        m = broadcast_to(m, (m.size, m.size)) if m.ndim else m
    mask = tri(*m.shape[-2:], k=k - upper, dtype=bool)
    zero = numpy.zeros((), m.dtype)
    return advanced_indexing.where(mask, zero, m) if upper else advanced_indexing.where(mask, m, zero)


@op("a", "a, 1", "f, -1", "v", "i", "b")
def tril(m, k=0):
    """Zeros above the k-th diagonal."""
    return _triangle(m, k, False)


@op("a", "a, 1", "f, -1", "v", "i", "b")
def triu(m, k=0):
    """Zeros below the k-th diagonal."""
    return _triangle(m, k, True)


def _places(mask):
    """The indices of what is true in a matrix, an array for each axis."""
    n, m = mask.shape
    return tuple(broadcast_to(x, mask.shape)[mask] for x in (arange(n).reshape(n, 1), arange(m)))


@op("3", "3, 1", "4, -1, 6", "5, 2, 3", "0", "2, 0, 0", "-1", "2.5", "3, 9", "3, -9", "'a'", "90, 0, 70")
def tril_indices(n, k=0, m=None):
    """The indices of what lies at and below the k-th diagonal of an n x m matrix, row by row."""
    return _places(tri(n, m, k, bool))


@op("3", "3, 1", "4, -1, 6", "5, 2, 3", "0", "2, 0, 0", "-1", "2.5", "3, 9", "3, -9", "'a'", "90, 0, 70")
def triu_indices(n, k=0, m=None):
    """The indices of what lies at and above the k-th diagonal of an n x m matrix, row by row."""
    return _places(~tri(n, m, k - 1, bool))


@op("a, 5", "i, 2.5", "a, v", "a, [1, 2]", "a.T, 1", "a.T, 1, True", "a[:, ::2], 7", "a, s", "f, 1", "v, 1", "i, True",
    "np.zeros((3, 3, 3)), 1", "np.zeros((7, 2)), 1, True", "np.zeros((7, 2)), 1", "np.zeros((2, 7)), 1", "e, 1",
    small=SMALL, writes=True)
def fill_diagonal(a, val, wrap=False):
    """Set the main diagonal, in place."""
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    step = a.shape[1] + 1 if a.ndim == 2 else 1 + sum(itertools.accumulate(a.shape[:-1], operator.mul))
    end = a.size if wrap or a.ndim > 2 else min(a.size, a.shape[1] ** 2)
    if type(val) in _SCALARS and a.flags.c_contiguous:
        a.reshape(-1)[:end:step] = val
    else:
        put(a, numpy.arange(0, end, step), val)


# -- runs of neighbours ----------------------------------------------------------------------------

@op("v", "a", "a, 2", "a, 1, 0", "a, 0", "b", "v, prepend=0", "a, axis=0, append=a[:1]", "s", "v, -1", "c", "v, 10")
def diff(a, n=1, axis=-1, prepend=numpy._NoValue, append=numpy._NoValue):
    """The n-th difference of neighbours along an axis."""
    if n == 0:
        return as_array(a) if isinstance(a, numpy.ndarray) else a
    if n < 0:
        raise ValueError("order must be non-negative but got " + repr(n))
    a = as_array(a)
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, a.ndim)
    parts = [x if x is a else as_array(x) for x in (prepend, a, append) if x is not numpy._NoValue]
    if len(parts) > 1:
        shape = tuple(1 if k == axis else d for k, d in enumerate(a.shape))
        a = joining.concatenate([x if x.ndim else broadcast_to(x, shape) for x in parts], axis)
    minus = wrap_ufunc(numpy.not_equal if a.dtype.kind == "b" else numpy.subtract)
    lead = (slice(None),) * axis
    for _ in range(n):
        a = minus(a[(*lead, slice(1, None))], a[(*lead, slice(None, -1))])
    return a


@op("v", "a", "v, 5, [1, 2]")
def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of the flattened array."""
    ary = as_array(ary).ravel()
    parts = [ary[1:] - ary[:-1]]
    for name, x in (("to_begin", to_begin), ("to_end", to_end)):
        if x is None:
            continue
        x = as_array(x).ravel()
        if not numpy.can_cast(x.dtype, ary.dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        parts.insert(0 if name == "to_begin" else len(parts), x.astype(ary.dtype, copy=False))
    return joining.concatenate(parts) if len(parts) > 1 else parts[0]


@op("v", "a", "a, v, 0", "v, dx=0.5", "v, [0, 1, 3, 4]", "i", close=True)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis by the trapezoidal rule."""
    y = as_array(y)
    if x is not None:
        x = as_array(x)
        dx = diff(x)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = dx.size
            dx = dx.reshape(shape)
        else:
            dx = diff(x, axis=axis)
    lead = (slice(None),) * normalize_axis_index(axis, y.ndim)
    return add_reduce(dx * (y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]) / 2.0, axis)
