"""How samples become a batch, as mxnet.gluon.data.batchify."""

import math

import numpy

import dflow.numpy as np
from dflow._array.core import is_array

__all__ = ["Append", "AsList", "Group", "Pad", "Stack"]


def __dir__():
    return sorted(__all__)


def as_array(x):
    """An array of ours, of the dtype that NumPy gives to x, whatever npx.set_np says."""
    if is_array(x):
        return x
    x = numpy.asarray(x)
    return np.array(x, dtype=x.dtype)


def stacked(data):
    """Samples of one shape along a new first axis."""
    return np.stack(data) if is_array(data[0]) else as_array(data)


class Stack:
    """Stacks samples of one shape along a new first axis, with their dtype; tuples and lists element by element.

    It is called with a list of samples, and returns an array, or a list of one array for each element of the samples.
    It does not wait for arrays of dflow.

    Parameters
    ----------
    use_shared_mem : bool
        MXNet's, for workers that are processes: without effect.

    Raises
    ------
    ValueError
        When it is called, for samples of different shapes.

    Examples
    --------
    >>> gluon.data.batchify.Stack()([(numpy.zeros(2), 0), (numpy.ones(2), 1)])
    [array([[0., 0.],
           [1., 1.]]), array([0, 1])]
    """

    def __init__(self, use_shared_mem=False):
        pass        # MXNet's, for workers that are processes

    def __call__(self, data):
        if isinstance(data[0], (tuple, list)):
            return [self(column) for column in zip(*data, strict=True)]
        return stacked(data)


class Pad:
    """Pads samples to their greatest length along each axis, and stacks them.

    It is called with a list of arrays, or of lists of numbers, of as many axes each, and returns an array. It waits for
    pending arrays.

    Parameters
    ----------
    val : scalar, optional
        What is put behind shorter ones: 0 by default.
    dtype : dtype, optional
        Of the result: that of the first sample by default.
    round_to : int, optional
        Lengths are rounded up to its multiples.
    use_shared_mem : bool
        MXNet's, for workers that are processes: without effect.

    Raises
    ------
    TypeError
        When it is called, for samples that are tuples or numbers: Group() has a Pad() for each element.

    Examples
    --------
    >>> print(gluon.data.batchify.Pad(val=-1)([[1, 2, 3], [4]]))
    [[ 1  2  3]
     [ 4 -1 -1]]
    >>> gluon.data.batchify.Pad(round_to=8)([numpy.zeros((3, 5)), numpy.zeros((9, 2))]).shape
    (2, 16, 8)
    """

    def __init__(self, val=None, dtype=None, round_to=None, use_shared_mem=False):
        self._val = 0 if val is None else val
        self._dtype = dtype
        self._round_to = 1 if round_to is None else round_to

    def __call__(self, data):
        if not (is_array(data[0]) or isinstance(data[0], (numpy.ndarray, list))):
            raise TypeError("Pad() does not support multiple items, use Group(Pad(), Pad(), ...) instead")
        arrays = [numpy.asarray(x) for x in data]
        lengths = [math.ceil(max(axis) / self._round_to) * self._round_to for axis in zip(*(x.shape for x in arrays))]
        dtype = arrays[0].dtype if self._dtype is None else self._dtype
        padded = numpy.full((len(arrays), *lengths), self._val, dtype)
        for row, array in zip(padded, arrays):
            row[tuple(map(slice, array.shape))] = array
        return as_array(padded)


class Append:
    """Makes a list of the samples as arrays, of any shapes.

    It is called with a list of samples, and returns a list of as many arrays.

    Parameters
    ----------
    expand : bool
        Give each array a new axis, of length 1: a batch of one sample.
    batch_axis : int
        Where the new axis is.
    use_shared_mem : bool
        MXNet's, for workers that are processes: without effect.

    Examples
    --------
    >>> [x.shape for x in gluon.data.batchify.Append()([[1, 2, 3], [4]])]
    [(1, 3), (1, 1)]
    >>> gluon.data.batchify.Append(expand=False)([[1, 2, 3], [4]])
    [array([1, 2, 3]), array([4])]
    """

    def __init__(self, expand=True, batch_axis=0, use_shared_mem=False):
        self._expand = expand
        self._batch_axis = batch_axis

    def __call__(self, data):
        arrays = [as_array(x) for x in data]
        return [np.expand_dims(x, self._batch_axis) for x in arrays] if self._expand else arrays


class Group:
    """Makes each element of the samples a batch by a function of its own.

    It is called with a list of samples, tuples or lists, and returns a tuple of what the functions make.

    Parameters
    ----------
    fn : callable or list of callable
        The function for the first elements, or a list of all functions.
    *args : callable
        Those for the other elements.

    Raises
    ------
    TypeError
        For what cannot be called, or for a list with more arguments behind it.
    ValueError
        When it is called, for samples of another number of elements than there are functions.

    Examples
    --------
    >>> from dflow.gluon.data.batchify import Group, Pad, Stack
    >>> data, label = Group(Pad(), Stack())([([1, 2, 3], 0), ([4], 1)])
    >>> print(data)
    [[1 2 3]
     [4 0 0]]
    >>> print(label)
    [0 1]
    """

    def __init__(self, fn, *args):
        if isinstance(fn, (list, tuple)) and args:
            raise TypeError("Group takes functions, or one list of functions")
        self._functions = tuple(fn) if isinstance(fn, (list, tuple)) else (fn, *args)
        for function in self._functions:
            if not callable(function):
                raise TypeError(f"batchify functions must be callable, not {function!r}")

    def __call__(self, data):
        if len(data[0]) != len(self._functions):
            raise ValueError(f"samples have {len(data[0])} elements, not {len(self._functions)}")
        return tuple(function(column) for function, column in zip(self._functions, zip(*data, strict=True)))


class AsList:
    """Leaves the samples as they are, in a list: for texts, in a Group.

    It is called with a list or a tuple of samples, and returns a list. It has no parameters.

    Examples
    --------
    >>> from dflow.gluon.data.batchify import AsList, Group, Stack
    >>> Group(Stack(), AsList())([(1, "one"), (2, "two")])
    (array([1, 2]), ['one', 'two'])
    """

    def __call__(self, data):
        return list(data)
