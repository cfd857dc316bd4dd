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

    >>> Stack()([(numpy.zeros(2), 0), (numpy.ones(2), 1)])
    [array([[0., 0.],
           [1., 1.]]), array([0, 1])]
    """

    def __init__(self, use_shared_mem=False):
        pass        # MXNet's, for workers that are processes

    def __call__(self, data):
        if isinstance(data[0], (tuple, list)):
            return [self(column) for column in zip(*data)]
        return stacked(data)


class Pad:
    """Pads arrays, or lists of numbers, to their greatest length along each axis, with `val`, and stacks them.

    round_to: lengths are rounded up to its multiples. Waits for pending arrays.
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
    """A list of the samples as arrays, of any shapes; with a new axis `batch_axis` of length 1 if `expand`."""

    def __init__(self, expand=True, batch_axis=0, use_shared_mem=False):
        self._expand = expand
        self._batch_axis = batch_axis

    def __call__(self, data):
        arrays = [as_array(x) for x in data]
        return [np.expand_dims(x, self._batch_axis) for x in arrays] if self._expand else arrays


class Group:
    """One function for each element of the samples: Group(Pad(), Stack()) for pairs. A tuple of what they make."""

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
        return tuple(function(column) for function, column in zip(self._functions, zip(*data)))


class AsList:
    """The samples as they are, in a list: for texts, in a Group."""

    def __call__(self, data):
        return list(data)
