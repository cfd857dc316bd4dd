"""Functions of MXNet 1 that give elements another shape, join arrays and take parts of them."""

import itertools
import math

from dflow import npx
from dflow import numpy as np
from dflow._array.core import array as as_array
from dflow.nd._table import given_to

__all__ = ["Concat", "Pad", "Reshape", "SliceChannel", "broadcast_axes", "broadcast_axis", "broadcast_to", "concat",
           "concatenate", "crop", "pad", "reshape", "size_array", "slice", "slice_axis", "split", "split_v2", "stack"]

CODES = (0, -2, -3, -4)
_Slice = slice          # below, the name is MXNet's


def _decoded(shape, codes):
    """The lengths that the codes of nd.reshape() stand for."""
    lengths, rest, codes = [], list(shape), iter(codes)
    for code in codes:
        if code in CODES and not (rest or code == -2):
            raise ValueError(f"shape has more codes than {tuple(shape)} has axes")
        if code == 0:
            lengths.append(rest.pop(0))
        elif code == -2:
            lengths.extend(rest)
            rest = []
        elif code == -3:
            lengths.append(math.prod(rest[:2]))
            rest = rest[2:]
        elif code == -4:
            n, parts = rest.pop(0), list(itertools.islice(codes, 2))
            if len(parts) != 2:
                raise ValueError("shape must have two lengths after -4")
            if -1 in parts:
                parts[parts.index(-1)] = n // -math.prod(parts)
            if math.prod(parts) != n:
                raise ValueError(f"shape splits an axis of length {n} into {tuple(parts)}")
            lengths.extend(parts)
        elif code < -4:
            raise ValueError(f"shape must not have {code}")
        else:
            lengths.append(code)
            rest = rest[1:]
    return tuple(lengths)


def reshape(data, shape, reverse=False, out=None):
    """The same elements in another shape, which may have codes.

    0: the length of this axis; -1: what is left; -2: all axes that are left; -3: two axes as one; -4: an axis as two,
    whose lengths follow, one of which may be -1.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    shape : int or tuple of int
        Lengths, or codes.
    reverse : bool
        Read both shapes from the last axis on. Default False.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        A view, where NumPy's reshape() gives one.

    Raises
    ------
    ValueError
        For codes that do not fit the shape, and other lengths than its elements fill.

    Examples
    --------
    >>> x = nd.ones((2, 3, 4))
    >>> nd.reshape(x, (0, -1)).shape, nd.reshape(x, (-3, 0)).shape, nd.reshape(x, (0, -2)).shape
    ((2, 12), (6, 4), (2, 3, 4))
    >>> nd.reshape(x, (-4, 1, 2, -2)).shape, nd.reshape(x, (-1, 0), reverse=True).shape
    ((1, 2, 3, 4), (6, 4))
    """
    x = as_array(data)
    codes = (shape,) if isinstance(shape, int) else tuple(shape)
    lengths = _decoded(x.shape[::-1], codes[::-1])[::-1] if reverse else _decoded(x.shape, codes)
    return given_to(np.reshape(x, lengths), out)


Reshape = reshape


def broadcast_to(data, shape, out=None):
    """A copy in a shape that axes of length 1 are repeated to.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    shape : tuple of int
        Of the copy; 0: the length that this axis of data has.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of that shape, and data's dtype.

    Raises
    ------
    ValueError
        For a shape that data does not broadcast to.

    Examples
    --------
    >>> print(nd.broadcast_to(nd.array([[1], [2]]), (2, 3)))
    [[1. 1. 1.]
     [2. 2. 2.]]
    >>> nd.broadcast_to(nd.ones((2, 1)), (0, 4)).shape
    (2, 4)
    """
    x = as_array(data)
    wanted = [n or m for n, m in zip(shape, x.shape)] if len(shape) == x.ndim else shape
    return given_to(np.broadcast_to(x, tuple(wanted)).copy(), out)


def broadcast_axis(data, axis=(), size=()):
    """A copy with axes of length 1 repeated.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    axis : int or tuple of int
        Which axes.
    size : int or tuple of int
        Their new lengths, as many as axes.

    Returns
    -------
    ndarray
        Of data's dtype.

    Raises
    ------
    ValueError
        For axes of another length than 1, and for more sizes than axes, or fewer.

    Examples
    --------
    >>> print(nd.broadcast_axis(nd.array([[1], [2]]), axis=1, size=3))
    [[1. 1. 1.]
     [2. 2. 2.]]
    >>> nd.broadcast_axis(nd.ones((1, 2, 1)), axis=(0, 2), size=(2, 3)).shape
    (2, 2, 3)
    """
    x = as_array(data)
    shape = list(x.shape)
    for k, n in zip(np.atleast_1d(axis).tolist(), np.atleast_1d(size).tolist(), strict=True):
        shape[k] = n
    return broadcast_to(x, shape)


broadcast_axes = broadcast_axis


def concat(*data, dim=1, num_args=None, out=None):
    """Arrays joined along an axis.

    Parameters
    ----------
    *data : ndarray, or one list of ndarray
        Of the same shape, but for that axis; one without axes counts as of length 1.
    dim : int
        Which axis. Default 1, unlike nd.concatenate().
    num_args : int, optional
        MXNet's; it changes nothing.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For shapes that do not go together.

    Examples
    --------
    >>> x, y = nd.array([[1, 2]]), nd.array([[3, 4]])
    >>> print(nd.concat(x, y))
    [[1. 2. 3. 4.]]
    >>> print(nd.concat(x, y, dim=0))
    [[1. 2.]
     [3. 4.]]
    """
    parts = data[0] if len(data) == 1 and isinstance(data[0], (list, tuple)) else data
    return given_to(np.concatenate([x if x.ndim else x.reshape(1) for x in map(as_array, parts)], dim), out)


Concat = concat


def concatenate(arrays, axis=0, always_copy=True):
    """Arrays of a list joined along an axis: concat() of another default.

    Parameters
    ----------
    arrays : list of ndarray
        Of the same shape, but for that axis.
    axis : int
        Which axis. Default 0.
    always_copy : bool
        MXNet's; the result is always a copy.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For shapes that do not go together.

    Examples
    --------
    >>> print(nd.concatenate([nd.array([[1, 2]]), nd.array([[3, 4]])]))
    [[1. 2.]
     [3. 4.]]
    """
    return concat(*arrays, dim=axis)


def stack(*data, axis=0, num_args=None, out=None):
    """Arrays joined along a new axis.

    Parameters
    ----------
    *data : ndarray, or one list of ndarray
        Of one shape.
    axis : int
        Where the new axis is. Default 0.
    num_args : int, optional
        MXNet's; it changes nothing.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of one axis more.

    Raises
    ------
    ValueError
        For different shapes.

    Examples
    --------
    >>> x, y = nd.array([1, 2]), nd.array([3, 4])
    >>> print(nd.stack(x, y))
    [[1. 2.]
     [3. 4.]]
    >>> print(nd.stack(x, y, axis=1))
    [[1. 3.]
     [2. 4.]]
    """
    parts = data[0] if len(data) == 1 and isinstance(data[0], (list, tuple)) else data
    return given_to(np.stack(parts, axis), out)


def split(data, num_outputs, axis=1, squeeze_axis=False):
    """Equal parts along an axis.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    num_outputs : int
        How many.
    axis : int
        Along which. Default 1.
    squeeze_axis : bool
        Leave the axis out of parts that are 1 long along it. Default False.

    Returns
    -------
    list of ndarray, or ndarray
        Views; the part itself where it is one.

    Raises
    ------
    ValueError
        If the axis cannot be split in so many equal parts.

    Examples
    --------
    >>> x, y = nd.split(nd.array([[1, 2, 3, 4]]), 2)
    >>> print(x, y)
    [[1. 2.]] [[3. 4.]]
    >>> [part.shape for part in nd.split(nd.ones((2, 3)), 2, axis=0, squeeze_axis=True)]
    [(3,), (3,)]
    """
    return split_v2(data, num_outputs, axis, squeeze_axis)


SliceChannel = split


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Parts along an axis: so many equal ones, or those between indices.

    Parameters
    ----------
    ary : ndarray
        Of any shape and dtype.
    indices_or_sections : int or tuple of int
        How many, or the indices where a new part begins.
    axis : int
        Along which. Default 0.
    squeeze_axis : bool
        Leave the axis out of parts that are 1 long along it. Default False.

    Returns
    -------
    list of ndarray, or ndarray
        Views; the part itself where it is one.

    Raises
    ------
    ValueError
        If the axis cannot be split in so many equal parts.

    Examples
    --------
    >>> print(*nd.split_v2(nd.arange(6), (1, 3)))
    [0.] [1. 2.] [3. 4. 5.]
    >>> print(*nd.split_v2(nd.arange(6), 2))
    [0. 1. 2.] [3. 4. 5.]
    """
    parts = np.split(as_array(ary), indices_or_sections, axis)
    parts = [x.squeeze(axis) for x in parts] if squeeze_axis else parts
    return parts if len(parts) > 1 else parts[0]


def slice(data, begin, end, step=(), out=None):             # as MXNet calls it
    """A copy of a part: from begin to end in steps, for each of the first axes.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    begin : int or tuple
        Where the part begins, along each axis; None: at the first element.
    end : int or tuple
        Where it ends, before this element; None: after the last.
    step : int or tuple
        From one to the next. Default 1 each.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        A copy, of data's dtype.

    Examples
    --------
    >>> x = nd.arange(12).reshape(3, 4)
    >>> print(nd.slice(x, begin=(0, 1), end=(2, None)))
    [[1. 2. 3.]
     [5. 6. 7.]]
    >>> print(nd.slice(x, begin=(None, None), end=(None, None), step=(2, 3)))
    [[ 0.  3.]
     [ 8. 11.]]
    """
    return given_to(npx.slice(data, begin, end, () if step is None else step), out)


crop = slice


def slice_axis(data, axis, begin, end, out=None):
    """A copy of a part along one axis.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    axis : int
        Along which.
    begin : int
        Where the part begins; from the end if negative.
    end : int or None
        Where it ends, before this element; None: after the last.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        A copy, of data's dtype.

    Raises
    ------
    IndexError
        For an axis that data has not.

    Examples
    --------
    >>> x = nd.arange(6).reshape(2, 3)
    >>> print(nd.slice_axis(x, axis=1, begin=1, end=None))
    [[1. 2.]
     [4. 5.]]
    """
    x = as_array(data)
    axis = range(x.ndim)[axis]
    return given_to(x[(_Slice(None),) * axis + (_Slice(begin, end),)].copy(), out)


def pad(data, mode="constant", pad_width=(), constant_value=0, out=None):
    """Elements added at both ends of each axis.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    mode : str
        "constant", "edge": the last element again, or "reflect": what is before it.
    pad_width : tuple of int
        Two numbers for each axis: how many elements before it, and behind.
    constant_value : number
        What is added with "constant". Default 0.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of data's dtype.

    Raises
    ------
    ValueError
        For an odd number of widths.

    Examples
    --------
    >>> x = nd.array([[1, 2]])
    >>> print(nd.pad(x, "constant", (0, 1, 1, 1), constant_value=9))
    [[9. 1. 2. 9.]
     [9. 9. 9. 9.]]
    >>> print(nd.pad(x, "edge", (0, 0, 2, 0)))
    [[1. 1. 1. 2.]]
    """
    width = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    values = {"constant_values": constant_value} if mode == "constant" else {}
    return given_to(np.pad(as_array(data), width, mode, **values), out)


Pad = pad


def size_array(data):
    """The number of elements, as an array.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.

    Returns
    -------
    ndarray
        Of shape (1,), int64.

    Examples
    --------
    >>> print(nd.size_array(nd.ones((2, 3))))
    [6]
    """
    return np.array([data.size], np.int64)
