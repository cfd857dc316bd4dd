"""Sorting, searching and partitioning."""

import functools
import inspect
import sys

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow._array.core import array as as_array
from dflow._array.core import attach, is_array, window
from dflow._functions import sorting
from dflow._functions.host_task import host
from dflow._functions.numpy_inline import LATER, SMALL, at_once, few, small_first
from dflow._functions.out import no_scalars
from dflow.ops.defaults import is_np_array
from dflow.ops.fallback import call, plain, stand_in, task
from dflow.ops.table import method, op

SORTS = ("a", "a, 0", "a, axis=None", "n", "i, kind='stable'", "c", "b, 0", "h", "s", "e", "a, 2", "a, kind='bubble'",
         "[3, 1, 2]", "v, kind='m'", "v, kind='Quick'", "v, kind=3", "v, kind=''", "a[:, ::-1]", "i, stable=True",
         "i, kind='heapsort', stable=True", "n, descending=True", "n, 0, descending=True",
         "i, None, descending=True, stable=True", "b, descending=True", "a, 2, descending=True",
         "c.T, descending=True", "s, descending=True", "i, kind='heapsort', stable=True, descending=True")


def _flattened(a, axis):
    a = as_array(a)
    return (a.ravel(), 0) if axis is None else (a, axis)


DESCENDS = "descending" in inspect.signature(numpy.sort).parameters


def _argsort_down(a, axis, order, **_how):
    """What numpy.argsort does with descending=True: equal elements keep their order, NaN comes last."""
    found = numpy.argsort(numpy.flip(a, axis), axis, order=order, kind="stable")
    found = a.shape[axis] - 1 - numpy.flip(found, axis)
    if a.dtype.kind in "fc":
        last = numpy.isnan(numpy.take_along_axis(a, found, axis))
        found = numpy.take_along_axis(found, numpy.argsort(last, axis, kind="stable"), axis)
    return found


def _sort_down(a, axis, order, **_how):
    """The same of numpy.sort."""
    return numpy.take_along_axis(a, _argsort_down(a, axis, order), axis)


def descending(function, a, axis, kind, order, stable):
    """sort or argsort with descending=True, as a task: NumPy has that from 2.5 on, MXNet's programs (npx.set_np()) with
    any, where equal elements keep their order unless they are told not to. A TypeError otherwise.
    """
    a, axis = _flattened(a, axis)
    if kind is None and stable is None and is_np_array():
        stable = True
    options = {"axis": axis, "kind": kind, "order": order, "stable": stable}
    if DESCENDS or not is_np_array():
        options["descending"] = True
    dtype = function(numpy.empty((1,) * a.ndim, a.dtype), **options).dtype      # or its errors
    if function is numpy.argsort and not a.ndim:
        a = a.reshape(1)
    if "descending" not in options:
        function = _argsort_down if function is numpy.argsort else _sort_down
    return task(function, a, shape=a.shape, dtype=dtype, **options)


op(*SORTS)(sorting.sort)
op(*SORTS, method=sorting.argsort_method)(sorting.argsort)
attach("sort", sorting.sort_in_place)


@op("c", "a", "i")
def sort_complex(a):
    """Sorted by real part, then imaginary part; always complex."""
    result = sorting.sort(a)
    char = result.dtype.char
    return result if char in "FDG" else result.astype("F" if char in "bhBH" else "G" if char == "g" else "D")


@op("(v, j)", "[[3, 1, 2], [1, 1, 0]]", "(a, i), 0", "[]", "([1, 2], [1])", kind="host", small=SMALL)
def lexsort(keys, axis=-1):
    """The indices that sort by several keys, the last one first."""
    keys = [as_array(k) for k in keys]
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(k.shape != keys[0].shape for k in keys):
        raise ValueError("all keys need to be the same shape")
    if keys[0].ndim or axis not in (-1, 0):
        normalize_axis_index(axis, keys[0].ndim)
    return task(lambda *keys: numpy.lexsort(keys, axis), *keys, shape=keys[0].shape, dtype=numpy.intp)


@op("v, 1", "a, 2", "a, (0, 2), axis=0", "a, 1, axis=None", "v, 4", "v, -1", "a, 1, 3", "v, 1.5", "v, [0, 9]", "v, []",
    "e, 0", "a.T, 1, 0", "v, 1, kind='x'", "v, True", "s, 0", kind="host", small=few(0.8))
def partition(a, kth, axis=-1, kind="introselect", order=None):
    """A copy whose element `kth` along an axis is where sorting would put it, smaller ones before it."""
    a, axis = _flattened(a, axis)
    result = a.copy("K")
    result.partition(kth, axis, kind)
    return result


@method("partition", small=few(0.8), writes=True)
def _partition_in_place(self, /, kth, axis=-1, kind="introselect", order=None):
    """partition(), in place."""
    kth = _checked_kth(self, kth, axis, kind)
    host(lambda _error: window(self, write=True).partition(kth, axis), [self], [self])


@op("v, 1", "a, 2", "a, (0, 2), axis=0", "a, 1, axis=None", "v, 4", "v, -1", kind="host", method=True, small=few(1.7))
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    """The indices that partition() would move the elements by."""
    a, axis = _flattened(a, axis)
    a = a if a.ndim else a.reshape(1)
    kth = _checked_kth(a, kth, axis, kind)
    return task(numpy.argpartition, a, shape=a.shape, dtype=numpy.intp, kth=kth, axis=axis)


def _checked_kth(a, kth, axis, kind):
    """kth, unless NumPy has an error for it: that depends on one row only, and on the values of none."""
    kth, n = plain(kth), a.shape[normalize_axis_index(axis, a.ndim)]
    index = numpy.asarray(kth)
    inside = index.size and index.dtype.kind == "i" and (not a.size or -n <= index.min() and index.max() < n)
    numpy.partition(numpy.zeros(1 if inside else n, a.dtype), index * 0 if inside else kth, kind=kind)
    return kth


FEW_NEEDLES = 64
FEW_STEPS = few(3)              # of bisections


@op("np.sort(v), v", "np.sort(v), 0.5", "[1, 2, 3], [0, 2, 5], 'right'", "v, v, sorter=np.argsort(v)",
    "v, v, sorter=[1.0, 0, 2, 3]", "v, v, sorter=[0, 1]", "v, 1, sorter=[[0]]",
    "v, v, 'middle'", "a, 1",
    "np.sort(v), a", "np.sort(i[0]), 2.5", kind="host", method=True)
@functools.partial(small_first, theirs=numpy.ndarray.searchsorted)
def searchsorted(a, v, side="left", sorter=None):
    """Where to insert elements v into a sorted 1-d array to keep it sorted."""
    if sorter is None and (type(v) is float or type(v) is int):
        result = _now(a, v, side)
        if result is not LATER:
            return result
    a, wanted = as_array(a), as_array(v)
    if a.ndim != 1 or side not in ("left", "right"):
        numpy.searchsorted(numpy.zeros((0,) * a.ndim), 0, side)             # its errors
    keywords = {}
    if sorter is not None:
        keywords["sorter"] = order = as_array(sorter)
        shape = (0,) if order.shape == a.shape else (1,) * order.ndim
        numpy.searchsorted(numpy.zeros(0), 0, sorter=numpy.zeros(shape, order.dtype))       # its errors
    elif wanted.size <= FEW_NEEDLES or wanted.size * a.size.bit_length() <= FEW_STEPS:
        result = _now(a, wanted, side)
        if result is not LATER:
            return result
    return task(numpy.ndarray.searchsorted, a, wanted, shape=wanted.shape, dtype=numpy.intp, side=side, **keywords)


def _now(a, v, side):
    """However long the haystack is; LATER where it is not there, or what is given is wrong."""
    return at_once(numpy.ndarray.searchsorted, (a, v, side), small=sys.maxsize)


@op("v, [-1, 0, 1]", "a, [0.0, 1.0], True", "v, [1, 0, -1]", "v, [1, 3, 2]", "a, np.cumsum(j)", "a, j",
    "s, np.cumsum(j), True",
    "c, v", "a, np.sort(v)[::-1]", "a, m", "a, s", "i, np.sort(v)", "i, v[:0]", kind="host")
def digitize(x, bins, right=False):
    """Which bin each element falls into. ValueError, on reading at the latest, for bins that rise and fall."""
    x = as_array(x)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if is_array(bins) and not bins.is_ready():
        numpy.digitize(numpy.ones(0), stand_in(bins))               # its errors
        return task(numpy.digitize, x, bins, right=right, shape=x.shape, dtype=numpy.intp)
    bins = numpy.asarray(plain(bins))
    step = numpy.lib._function_base_impl._monotonicity(bins)
    if step == 0:
        raise ValueError("bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    if step == -1:
        return len(bins) - searchsorted(bins[::-1], x, side)
    return searchsorted(bins, x, side)


@op("a, v", "i, [1, 5]", "i, j, invert=True", "i, j, kind='table'", "a, v, kind='table'", "i, j, kind='x'", "2, j",
    "s, [2.5]",
    "v, v, True", "i, {1, 2}", "a, n", "b, [True]", "i, j, kind='sort'", "e, v", "a, []",
    "i, [1 << 62, 0], kind='table'",
    kind="host", small=few(3), foreign=True)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Which elements are among the others. Waits if these are no array, nor a list: a set is one object."""
    if not is_array(test_elements) and not isinstance(test_elements, (list, tuple, numpy.ndarray)):
        return call(numpy.isin, (element, test_elements, assume_unique, invert), {"kind": kind})
    element, others = as_array(element), as_array(test_elements)
    nothing = [numpy.zeros(0, x.dtype) for x in (element, others)]
    numpy.isin(*nothing, kind=kind)                                 # its errors
    return no_scalars(task(numpy.isin, element, others, assume_unique=assume_unique, invert=invert, kind=kind,
                           shape=element.shape, dtype=bool))
