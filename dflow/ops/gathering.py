"""Choosing by indices, masks and shapes, as MXNet's `npx` names it. Indices may be floating point numbers."""

import math
from functools import partial

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow._array.core import array as as_array
from dflow._functions import counting, joining, sorting
from dflow._functions.advanced_indexing import take, where
from dflow._functions.views import broadcast_to
from dflow.ops.creation import arange
from dflow.ops.elementwise import clip
from dflow.ops.fallback import task
from dflow.ops.nn import check_choice, check_shape
from dflow.ops.shape import expand_dims, moveaxis
from dflow.ops.table import op


def _integers(x):
    x = as_array(x)
    return x if x.dtype.kind in "iu" else x.astype(numpy.int64)


def _along_last(x, index, mode="clip"):
    """x[..., index[..., j]]: one take from the flattened array, which waits for nothing."""
    n = x.shape[-1]
    index = index % n if mode == "wrap" else clip(index, 0, n - 1)
    rows = math.prod(x.shape[:-1])
    start = (arange(rows) * n).reshape(*x.shape[:-1], 1)
    return take(x.reshape(-1), index + start, mode="clip")


@op("j, 5", "j, 3, 8, 1, 'int32'", "i % 4, 4, dtype='float64'", "j * 1.0, 4", "j, 0", "j - 1, 4", module="npx",
    gradient=True)
def one_hot(data, depth, on_value=1.0, off_value=0.0, dtype="float32"):
    """on_value at each index along a new last axis of length `depth`, off_value elsewhere.

    Parameters
    ----------
    data : ndarray of int
        Of any shape.
    depth : int
        The length of the new axis.
    on_value : float
        At the index.
    off_value : float
        Elsewhere.
    dtype : dtype
        Of the result.

    Returns
    -------
    ndarray
        Of data's shape and one axis more.

    Examples
    --------
    >>> print(npx.one_hot(np.array([0, 2]), 3))
    [[1. 0. 0.]
     [0. 0. 1.]]
    """
    if depth < 0:
        raise ValueError(f"depth must not be negative: {depth}")
    on, off = (numpy.asarray(value, dtype) for value in (on_value, off_value))
    return where(expand_dims(_integers(data), -1) == arange(depth), on, off)


@op("x, l", "x, l, 1", "x, k, 0", "x, k * 1.0, axis=0", "x, l, keepdims=True", "x, l[:, None], 1, keepdims=True",
    "x, l * 7 - 9", "x, l * 7 - 9, mode='wrap'", "x, k, axis=None", "d, d[:, 0] > 0, 1", module="npx",
    gradient=True)
def pick(data, index, axis=-1, mode="clip", keepdims=False):
    """The element along an axis that an index, of data's shape without that axis, says; of the flattened for None.

    An index out of bounds is the nearest that is in ("clip"), or counted on from the other end ("wrap").

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    index : ndarray
        Of integers, also ones of a floating point dtype.
    axis : int, optional
        None: of the flattened array.
    mode : str
        "clip" or "wrap".
    keepdims : bool
        Keep the axis, with length 1.

    Returns
    -------
    ndarray
        Of the shape of index.

    Examples
    --------
    >>> print(npx.pick(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])))
    [2. 3.]
    """
    check_choice("mode", mode, ("clip", "wrap"))
    x, index = as_array(data), _integers(index)
    if axis is None:
        return take(x.reshape(-1), index, mode=mode)
    axis = normalize_axis_index(axis, x.ndim)
    if index.ndim == x.ndim and index.shape[axis] == 1:
        index = index.squeeze(axis)
    check_shape("index", index, x.shape[:axis] + x.shape[axis + 1:])
    result = _along_last(moveaxis(x, axis, -1), expand_dims(index, -1), mode)
    return moveaxis(result, -1, axis) if keepdims else result.squeeze(-1)


@op("x", "x, k=3", "x, 0, 2", "x, None, 4", "x, k=2, ret_typ='value'", "x, k=2, ret_typ='both', dtype='int32'",
    "x, 0, 2, 'mask'", "x, k=0, is_ascend=True", "x, k=2, ret_typ='both', is_ascend=True", "i % 3, k=4",
    "i % 3, k=4, is_ascend=True, dtype='int64'", module="npx")
def topk(data, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"):
    """The k largest elements along an axis, or the smallest; all of them, sorted, for k < 1. Of equal ones the first.

    ret_typ: their "indices" (of type dtype), the "value"s, a list of "both" (values first), or a "mask" of ones.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    axis : int, optional
        None: of the flattened array.
    k : int
        How many.
    ret_typ : str
        "indices", "value", "both" or "mask".
    is_ascend : bool
        The smallest, not the largest.
    dtype : dtype
        Of indices.

    Returns
    -------
    ndarray or list of ndarray
        k long along the axis, or with a mask of data's shape.

    Examples
    --------
    >>> print(npx.topk(np.array([3.0, 1.0, 2.0]), k=2, ret_typ="value"))
    [3. 2.]
    """
    check_choice("ret_typ", ret_typ, ("indices", "value", "both", "mask"))
    x = whole = as_array(data)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, normalize_axis_index(axis, x.ndim))
    n = x.shape[axis]
    if k > n:
        raise ValueError(f"k must be at most {n}, the length of axis {axis}, not {k}")
    if n > _exact_integers(dtype):
        raise ValueError(f"dtype {dtype} cannot hold all indices below {n}")
    k = k if k >= 1 else n
    rows = moveaxis(x, axis, -1)
    if is_ascend:
        order = sorting.argsort(rows, -1, kind="stable")
    else:
        order = n - 1 - sorting.argsort(rows[..., ::-1], -1, kind="stable")[..., ::-1]
    if ret_typ == "mask":
        return moveaxis((sorting.argsort(order, -1) < k).astype(x.dtype), -1, axis).reshape(whole.shape)
    index = order[..., :k]
    parts = []
    if ret_typ != "indices":
        parts.append(moveaxis(_along_last(rows, index), -1, axis))
    if ret_typ != "value":
        parts.append(moveaxis(index, -1, axis).astype(dtype))
    return parts if ret_typ == "both" else parts[0]


def _exact_integers(dtype):
    """How many integers, from 0 on, a type holds exactly."""
    dtype = numpy.dtype(dtype)
    return 2 << numpy.finfo(dtype).nmant if dtype.kind == "f" else int(numpy.iinfo(dtype).max) + 1


@op("x", "x, k, True", "x, k * 1.0, True, -1.5", "x, l, True, axis=1", "d, l[:2], True, 9, axis=1", "i, k, True, 7",
    module="npx")
def sequence_mask(data, sequence_length=None, use_sequence_length=False, value=0.0, axis=0):
    """data, with a value where the step along `axis`, 0 or 1, is not below the sequence's length.

    The other of the two axes counts the sequences.

    Parameters
    ----------
    data : ndarray
        Of shape (time, batch, ...), or (batch, time, ...).
    sequence_length : ndarray, optional
        Of shape (batch,).
    use_sequence_length : bool
        Whether `sequence_length` counts.
    value : float
        What is put there.
    axis : int
        Along which.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.sequence_mask(np.ones((3, 2)), np.array([1, 2]), True))
    [[1. 1.]
     [0. 1.]
     [0. 0.]]
    """
    x = as_array(data)
    if not use_sequence_length:
        return x.copy()
    if sequence_length is None:
        raise ValueError("sequence_length is missing, and use_sequence_length is True")
    if axis not in (0, 1) or x.ndim < 2:
        raise ValueError(f"axis must be 0 or 1, of two axes or more, not {axis} of {x.ndim}")
    length = as_array(sequence_length)
    check_shape("sequence_length", length, (x.shape[1 - axis],))
    inside = expand_dims(arange(x.shape[axis]), 1 - axis) < expand_dims(length, axis)
    return where(inside.reshape(inside.shape + (1,) * (x.ndim - 2)), x, numpy.asarray(value, x.dtype))


@op("j, m", "i % 6 - 1, m", "j * 1.0, m, 3, 4", module="npx")
def embedding(data, weight, input_dim=None, output_dim=None, dtype=None, sparse_grad=False):
    """Rows of a weight matrix; an index out of bounds is the nearest that is in.

    input_dim and output_dim are the weight's shape. The result has its type; `sparse_grad` is MXNet's.

    Parameters
    ----------
    data : ndarray
        Indices, of any shape.
    weight : ndarray
        Of shape (rows, columns).
    input_dim : int, optional
        Rows of the weight.
    output_dim : int, optional
        Columns of the weight.
    dtype : dtype, optional
        MXNet's; it changes nothing.
    sparse_grad : bool
        MXNet's; it changes nothing.

    Returns
    -------
    ndarray
        Of shape (..., columns), and the weight's dtype.

    Examples
    --------
    >>> print(npx.embedding(np.array([1, 0]), np.array([[1.0, 2.0], [3.0, 4.0]])))
    [[3. 4.]
     [1. 2.]]
    """
    weight = as_array(weight)
    if weight.ndim != 2:
        raise ValueError(f"weight must have two axes, not the shape {weight.shape}")
    given = zip((input_dim, output_dim), weight.shape)
    check_shape("weight", weight, tuple(n if dim is None else dim for dim, n in given))
    rows = take(weight, _integers(data), 0, mode="clip")
    return rows if dtype is None else rows.astype(dtype, copy=False)


# -- places in several axes ------------------------------------------------------------------------

def _check_places(name, index, ndim):
    """Indices of shape (axes, ...): integers."""
    index = _integers(index)
    index = index if index.ndim else index.reshape(1)
    if index.shape[0] > ndim:
        raise ValueError(f"{name} must have at most {ndim} rows, one for each axis, not the shape {index.shape}")
    return index


def _gather(x, index):
    return x[tuple(index)]


@op("x, [[0, 1, 2], [2, 0, 3]]", "d, [[0, 1]]", "x, j[None, :3]", "x, [[0, -1], [1, -2]]", kind="host", module="npx",
    gradient=True)
def gather_nd(data, indices):
    """Elements, or parts: indices[k] are those of axis k. IndexError on reading for what is out of bounds.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    indices : ndarray of int
        Of shape (axes, ...): a row for each of the first axes.

    Returns
    -------
    ndarray

    Raises
    ------
    IndexError
        On reading, for an index that is out of bounds.

    Examples
    --------
    >>> print(npx.gather_nd(np.array([[1, 2], [3, 4]]), np.array([[0, 1], [1, 0]])))
    [2 3]
    """
    x = as_array(data)
    index = _check_places("indices", indices, x.ndim)
    return task(_gather, x, index, shape=index.shape[1:] + x.shape[index.shape[0]:], dtype=x.dtype)


def _scatter(shape, x, index):
    result = numpy.zeros(shape, x.dtype)
    result[tuple(index)] = x
    return result


@op("w, [[0, 1, 2, 2], [2, 0, 3, 1]], (3, 4)", "x, j[None, :3], shape=(4, 4)", kind="host", module="npx",
    gradient=True)
def scatter_nd(data, indices, shape):
    """Zeros of a shape with data at places: see gather_nd. Of data for one place the last stays.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    indices : ndarray of int
        Of shape (axes, ...): a row for each of the first axes.
    shape : tuple of int
        Of the result.

    Returns
    -------
    ndarray
        Of that shape, and data's dtype.

    Raises
    ------
    IndexError
        On reading, for an index that is out of bounds.

    Examples
    --------
    >>> print(npx.scatter_nd(np.array([5, 6]), np.array([[0, 2]]), (4,)))
    [5 0 6 0]
    """
    x, shape = as_array(data), tuple(shape)
    index = _check_places("indices", indices, len(shape))
    check_shape("data", x, index.shape[1:] + shape[index.shape[0]:])
    return task(partial(_scatter, shape), x, index, shape=shape, dtype=x.dtype)


def _update(x, index, val):
    result = x.copy()
    result[tuple(index)] = val
    return result


def _add(x, index, val):
    result = x.copy()
    numpy.add.at(result, tuple(index), val)
    return result


def _without_leading_ones(shape, ndim):
    """A shape of at most so many axes, where what is more has length 1, as stores broadcast."""
    extra = max(len(shape) - ndim, 0)
    return shape[extra:] if shape[:extra] == (1,) * extra else shape


def _changed(change, data, indices, val):
    x, val = as_array(data), as_array(val)
    index = _check_places("indices", indices, x.ndim)
    place = index.shape[1:] + x.shape[index.shape[0]:]
    val = val.reshape(_without_leading_ones(val.shape, len(place)))
    try:
        broadcast_to(val, place)
    except ValueError:
        raise ValueError(f"val must broadcast to the shape {place}, not {val.shape}") from None
    return task(change, x, index, val, shape=x.shape, dtype=x.dtype)


@op("x, [[0, 1, 2], [2, 0, 3]], v", "d, [[0, 1]], 2.5", kind="host", module="npx", gradient=True)
def index_update(data, indices, val):
    """A copy of data with values at places: see gather_nd. Of values for one place the last stays.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    indices : ndarray of int
        Of shape (axes, ...): a row for each of the first axes.
    val : ndarray
        Of the shape of the places.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Raises
    ------
    IndexError
        On reading, for an index that is out of bounds.

    Examples
    --------
    >>> print(npx.index_update(np.zeros(4), np.array([[0, 2]]), np.array([5.0, 6.0])))
    [5. 0. 6. 0.]
    """
    return _changed(_update, data, indices, val)


@op("x, [[0, 1, 0], [2, 0, 2]], v", "d, [[0, 0]], 2.5", "i, [[0, 1], [1, 1]], j[:2]", kind="host", module="npx",
    gradient=True)
def index_add(data, indices, val):
    """A copy of data with values added at places: see gather_nd. Values for one place are all added.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    indices : ndarray of int
        Of shape (axes, ...): a row for each of the first axes.
    val : ndarray
        Of the shape of the places.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Raises
    ------
    IndexError
        On reading, for an index that is out of bounds.

    Examples
    --------
    >>> print(npx.index_add(np.ones(4), np.array([[0, 0]]), np.array([5.0, 6.0])))
    [12.  1.  1.  1.]
    """
    return _changed(_add, data, indices, val)


@op("x", "i % 3", "x[:0]", "x[0, 0]", kind="blocking", module="npx")
def nonzero(a):
    """The indices of what is not zero, a row for each: waits.

    Parameters
    ----------
    a : ndarray
        Of any shape and dtype.

    Returns
    -------
    ndarray of int
        Of shape (found, axes).

    Examples
    --------
    >>> print(npx.nonzero(np.array([0, 3, 0, 4])))
    [[1]
     [3]]
    """
    x = as_array(a)
    return joining.stack(counting.nonzero(x if x.ndim else x.reshape(1)), 1).astype(numpy.int64, copy=False)


@op("x, l[:3]", "x, k > 1, axis=1", kind="blocking", module="npx")
def boolean_mask(data, index, axis=0):
    """The parts of data along an axis where a mask is true: waits for the mask.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    index : ndarray
        Of one axis: what is not zero is true.
    axis : int
        Along which.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> print(npx.boolean_mask(np.array([1, 2, 3]), np.array([1, 0, 1])))
    [1 3]
    """
    x, mask = as_array(data), as_array(index) != 0
    axis = normalize_axis_index(axis, x.ndim)
    check_shape("index", mask, (x.shape[axis],))
    return x[(slice(None),) * axis + (mask,)]


def _all_true(x, msg):
    if not x.all():
        raise ValueError(msg)
    return numpy.True_


@op("x < 99", kind="host", module="npx")
def constraint_check(x, msg="Constraint violated."):
    """True if all elements are; else a ValueError for whoever reads it.

    Parameters
    ----------
    x : ndarray of bool
        Of any shape.
    msg : str
        Of the error.

    Returns
    -------
    ndarray of bool
        Without axes.

    Raises
    ------
    ValueError
        On reading, where some element is false.

    Examples
    --------
    >>> print(npx.constraint_check(np.array([True, True])))
    True
    """
    return task(_all_true, as_array(x), msg=msg, shape=(), dtype=bool)


# -- shapes ----------------------------------------------------------------------------------------

@op("d", "x", "v", module="npx", kind="view")
def batch_flatten(data):
    """All axes but the first as one.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.

    Returns
    -------
    ndarray
        Of shape (batch, n).

    Examples
    --------
    >>> npx.batch_flatten(np.ones((2, 3, 4))).shape
    (2, 12)
    """
    x = as_array(data)
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


def _groups(codes):
    """A new shape's numbers, each with those that belong to it: -6 takes the next two."""
    codes = iter(codes)
    for code in codes:
        try:
            yield (code, next(codes), next(codes)) if code == -6 else (code,)
        except StopIteration:
            raise ValueError("newshape must have two lengths after -6") from None


def _decoded(shape, groups):
    """The shape that MXNet's codes, in groups, make of one."""
    result, at = [], 0
    for code, *parts in groups:
        if code < -6:
            raise ValueError(f"newshape must not have {code}")
        if code <= -2 and code != -4 and at + (code == -5) >= len(shape):
            raise ValueError(f"newshape has more codes than {shape} has axes")
        if code >= -1:
            result.append(code)
        elif code == -2:
            result.append(shape[at])
        elif code == -3 and shape[at] != 1:
            raise ValueError(f"newshape skips an axis of length {shape[at]} with -3; it must be 1")
        elif code == -4:
            result.extend(shape[at:])
            at = len(shape)
        elif code == -5:
            result.append(shape[at] * shape[at + 1])
            at += 1
        elif code == -6:
            result.extend(_split(shape[at], parts))
        at += 1
    return result


def _split(n, parts):
    known = [part for part in parts if part != -1]
    if len(known) == 1 and known[0] > 0:
        parts = [n // known[0] if part == -1 else part for part in parts]
    if min(parts) < 0 or math.prod(parts) != n:
        raise ValueError(f"newshape splits an axis of length {n} into {tuple(parts)}")
    return parts


@op("d, (-2, -2, -1)", "d, -1", "d, (-5, -4)", "d, (-4,)", "d, (-6, 1, -1, -4)", "d, (-2, -2, -5)",
    "d[:1], (-3, -4)", "d, (-5, -1)", "d, (-1, -1, 2, -6), reverse=True", "d, (-4, -5), True",
    module="npx", kind="view")
def reshape(a, newshape, reverse=False, order="C"):
    """Another shape, whose numbers may be codes, read along the axes, from the end with `reverse`.

    -1: what is left; -2: the same length; -3: no such axis, of length 1; -4: all axes that follow; -5: two axes as one;
    -6: an axis as two, whose lengths, one of them perhaps -1, follow: with `reverse` they are before it.

    Parameters
    ----------
    a : ndarray
        Of any shape and dtype.
    newshape : int or tuple of int
        Lengths and codes.
    reverse : bool
        Read the codes from the end.
    order : str
        How the elements follow each other: C or F.

    Returns
    -------
    ndarray
        A view where NumPy gives one.

    Raises
    ------
    ValueError
        Where the elements do not fit.

    Examples
    --------
    >>> npx.reshape(np.ones((2, 3, 4)), (-2, -5)).shape
    (2, 12)
    """
    x = as_array(a)
    codes = (newshape,) if isinstance(newshape, int) else tuple(newshape)
    step = -1 if reverse else 1
    shape = _decoded(x.shape[::step], _groups(codes[::step]))[::step]
    return x.reshape(tuple(shape), order=order)


def _between(ndim, begin, end, name):
    """The axes from begin up to end, as numbers from 0."""
    first = begin + ndim if begin is not None and begin < 0 else begin or 0
    last = ndim if end is None else end + ndim if end < 0 else end
    if not 0 <= first < last <= ndim:
        raise ValueError(f"{name}_begin={begin}, {name}_end={end}: of {ndim} axes these are none")
    return first, last


@op("x, s[:3]", "d, s, 3, 4, 1", "d, r[:, :20], -2, None, 1, None", "d, x, lhs_begin=1, lhs_end=2, rhs_end=-1",
    module="npx", kind="view")
def reshape_like(lhs, rhs, lhs_begin=None, lhs_end=None, rhs_begin=None, rhs_end=None):
    """A view of lhs with the shape of rhs, or with some axes of rhs, from begin to end, in place of some of its own.

    Parameters
    ----------
    lhs : ndarray
        Of any shape and dtype.
    rhs : ndarray
        Whose shape counts.
    lhs_begin : int, optional
        The first axis of lhs that is replaced.
    lhs_end : int, optional
        The axis of lhs after the last.
    rhs_begin : int, optional
        The first axis of rhs that is taken.
    rhs_end : int, optional
        The axis of rhs after the last.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        Where the elements do not fit.

    Examples
    --------
    >>> npx.reshape_like(np.ones(6), np.ones((2, 3))).shape
    (2, 3)
    """
    x, shape = as_array(lhs), as_array(rhs).shape
    first, last = _between(x.ndim, lhs_begin, lhs_end, "lhs")
    start, stop = _between(len(shape), rhs_begin, rhs_end, "rhs")
    return x.reshape(x.shape[:first] + shape[start:stop] + x.shape[last:])


@op("x, 1, 3", "d, (0, 1), (2, 3)", "d, (None, 2, 4), (None, 0, 0), (1, -1, -2)", "x, (-2, None), (None, -1)",
    "x, (0,), (3,), (2,)", name="slice", module="npx")
def sliced(data, begin, end, step=()):
    """A copy of a part: from `begin` to `end` in steps of `step`, a number for each of the first axes, or one alone.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    begin : int or tuple
        Where the part begins; None: at the first.
    end : int or tuple
        Where it ends; None: after the last.
    step : int, float or tuple
        From one to the next.

    Returns
    -------
    ndarray
        A copy, of data's dtype.

    Examples
    --------
    >>> print(npx.slice(np.arange(6), 1, 4))
    [1 2 3]
    """
    step = () if step is None else step
    begin, end, step = ((x,) if x is None or isinstance(x, int) else tuple(x) for x in (begin, end, step))
    if len(begin) != len(end) or len(step) > len(begin):
        raise ValueError(f"begin, end and step must be as many numbers, not {len(begin)}, {len(end)} and {len(step)}")
    return as_array(data)[tuple(map(slice, begin, end, step + (None,) * (len(begin) - len(step))))].copy()


sliced.__name__ = sliced.__qualname__ = "slice"         # a builtin's name, which this module uses
sliced.__module__ = "dflow.npx"


@op("d, d[:1, :2, 3:]", "d, x[:2], 0", "d, d[:, :, 3:, 1:], (2, -1)", module="npx")
def slice_like(data, shape_like, axes=()):
    """A copy of the first elements, as many as another array has along these axes, or along all.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    shape_like : ndarray
        Whose shape counts.
    axes : tuple of int
        Which; empty: all.

    Returns
    -------
    ndarray
        A copy, of data's dtype.

    Examples
    --------
    >>> print(npx.slice_like(np.arange(6), np.ones(2)))
    [0 1]
    """
    x, shape = as_array(data), as_array(shape_like).shape
    axes = (axes,) if isinstance(axes, int) else tuple(axes) or tuple(range(x.ndim))
    key = [slice(None)] * x.ndim
    for axis in axes:
        axis = normalize_axis_index(axis, x.ndim)
        if shape[axis] > x.shape[axis]:
            raise ValueError(f"along axis {axis}, shape_like has {shape[axis]} elements, and data {x.shape[axis]}")
        key[axis] = slice(shape[axis])
    return x[tuple(key)].copy()


@op("d", "v", module="npx")
def shape_array(data):
    """The shape, as an array.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.

    Returns
    -------
    ndarray of int
        Of shape (axes,).

    Examples
    --------
    >>> print(npx.shape_array(np.ones((2, 3))))
    [2 3]
    """
    return as_array(numpy.array(as_array(data).shape, numpy.int64))


@op("x", "x, 1.5, 2.0", "x, axis=-1", "x, 0, 1, 2, axis=0", "d, 3, axis=2", "i", module="npx")
def arange_like(data, start=0.0, step=1.0, repeat=1, axis=None):
    """start, start + step, ..., each `repeat` times: of data's type, and of its shape, or along an axis of it.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    start : float
        The first number.
    step : float
        From one to the next.
    repeat : int
        How often each is there.
    axis : int, optional
        None: of data's shape.

    Returns
    -------
    ndarray
        Of data's dtype.

    Examples
    --------
    >>> print(npx.arange_like(np.ones((2, 3)), axis=1))
    [0. 1. 2.]
    """
    x = as_array(data)
    if repeat < 1:
        raise ValueError(f"repeat must be at least 1, not {repeat}")
    shape = x.shape if axis is None else (x.shape[normalize_axis_index(axis, x.ndim)],)
    steps = arange(math.prod(shape))
    steps = steps if repeat == 1 else steps // repeat
    return (start + step * steps).astype(x.dtype, copy=False).reshape(shape)


@op("v[:1], x", "x[:, :1], x", "v[:1], x, (0,), (-1,)", "d[:, :1], x, 1, 0",
    module="npx", kind="view")
def broadcast_like(lhs, rhs, lhs_axes=None, rhs_axes=None):
    """A view of lhs with the shape of rhs, or with the lengths of some axes of rhs at some of its own.

    Parameters
    ----------
    lhs : ndarray
        Of any shape and dtype.
    rhs : ndarray
        Whose shape counts.
    lhs_axes : tuple of int, optional
        Of lhs. None: all.
    rhs_axes : tuple of int, optional
        Of rhs. None: all.

    Returns
    -------
    ndarray
        A view.

    Examples
    --------
    >>> npx.broadcast_like(np.ones((1, 3)), np.ones((2, 3))).shape
    (2, 3)
    """
    x, y = as_array(lhs), as_array(rhs)
    if lhs_axes is None and rhs_axes is None:
        return broadcast_to(x, y.shape)
    mine, theirs = ((axes,) if isinstance(axes, int) else tuple(axes or ()) for axes in (lhs_axes, rhs_axes))
    if len(mine) != len(theirs):
        raise ValueError(f"lhs_axes and rhs_axes must be as many, not {mine} and {theirs}")
    shape = list(x.shape)
    for i, j in zip(mine, theirs):
        shape[normalize_axis_index(i, x.ndim)] = y.shape[normalize_axis_index(j, y.ndim)]
    return broadcast_to(x, tuple(shape))
