"""Views and joins: what changes shape and leaves the elements alone."""

import operator
import warnings

import numpy
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from dflow._array.core import array as as_array
from dflow._array.core import empty, is_array
from dflow._functions.joining import concatenate as _concatenate
from dflow._functions.joining import part_of as _part_of
from dflow._functions.joining import stack
from dflow._functions.views import broadcast_to as _broadcast_to
from dflow._functions.views import flag_bits, is_scalar, sliding_windows, spread, strided
from dflow.ops.defaults import is_np_array
from dflow.ops.fallback import call, items, stand_in
from dflow.ops.table import add_row, op


@op("a", "2.5", "[[1, 2]]")
def shape(a):
    """The lengths of the axes."""
    return a.shape if hasattr(a, "shape") else numpy.shape(a)


@op("a", "2.5", "[[1, 2]]")
def ndim(a):
    """How many axes."""
    return a.ndim if hasattr(a, "ndim") else numpy.ndim(a)


@op("a", "2.5", "a, 1", "a, axis=0", "a, 2", "f, (0, 2)")
def size(a, axis=None):
    """How many elements, of the array or along axes."""
    if not hasattr(a, "size" if axis is None else "shape"):
        a = numpy.asarray(a)
    return a.size if axis is None else numpy.size(numpy.broadcast_to(0, a.shape), axis)


@op("a", "a.T", "a[0]", "np.asfortranarray(a)", "f.T[0]")
def isfortran(a):
    """Whether the memory is in Fortran's order, and not in C's."""
    return flag_bits(a) & 3 == 2 if is_array(a) else a.flags.fnc


@op("a, (4, 3)", "a, -1", "a, (2, -1)", "a.T, (3, 4)", "a, (5, 5)", "a, (-1, -1)", "a, (2, 6), 'F'", "a, 12",
    "e, (0, 7)", "?a, (0, -1)",
    "a.T, (2, 6), order='A'", "[1, 2, 3, 4], (2, 2)", "a, shape=(12,)", "a[:, ::2], (2, 3)", kind="view")
def reshape(a, /, shape, order="C", *, copy=None):
    """The same elements in another shape, one length of which may be -1: a view where NumPy gives one."""
    return as_array(a).reshape(shape, order=order, copy=copy)


@op("a", "a.T", "a, 'F'", "s", "a.T, 'A'", "a[:, ::2]", "a.T, 'K'", kind="view")
def ravel(a, order="C"):
    """One axis: a view when the memory is in order."""
    return as_array(a).ravel(order)


@op("a", "f, (2, 0, 1)", "f, (0, 1)", "f, (0, 0, 1)", "f, (0, 1, 3)", "v", "f, (-1, 0, 1)", kind="view",
    aliases=("permute_dims",))
def transpose(a, axes=None):
    """Axes in reverse, or in the order given."""
    return as_array(a).transpose(axes)


@op("a", "f", "v", kind="view")
def matrix_transpose(x, /):
    """The last two axes swapped."""
    x = as_array(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.swapaxes(-1, -2)


@op("f, 0, 2", "a, -1, 0", "?a, 0, 2", kind="view")
def swapaxes(a, axis1, axis2):
    """Two axes swapped."""
    return as_array(a).swapaxes(axis1, axis2)


@op("f, 0, 2", "f, (0, 1), (2, 0)", "f, -1, 0", "f, 3, 0", "f, (0, 1), 2", "f, (0, 0), (1, 2)", kind="view")
def moveaxis(a, source, destination):
    """Axes moved to new places, the others in their order."""
    a = as_array(a)
    source = normalize_axis_tuple(source, a.ndim, "source")
    destination = normalize_axis_tuple(destination, a.ndim, "destination")
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [k for k in range(a.ndim) if k not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return a.transpose(order)


@op("f, 2", "f, 1, 3", "f, 3", "f, 0, 4", kind="view")
def rollaxis(a, axis, start=0):
    """An axis moved back to just before `start`."""
    a = as_array(a)
    axis = normalize_axis_index(axis, a.ndim)
    if start < 0:
        start += a.ndim
    if not 0 <= start < a.ndim + 1:
        limits = f"{-a.ndim} <= start < {a.ndim + 1}"
        raise numpy.exceptions.AxisError(f"'start' arg requires {limits}, but {start} was passed in")
    order = [k for k in range(a.ndim) if k != axis]
    order.insert(start - (axis < start), axis)
    return a.transpose(order)


@op("v, 0", "a, -1", "a, (0, 2)", "a, 5", "a, (0, 0)", kind="view")
def expand_dims(a, axis):
    """New axes of length 1."""
    a = as_array(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    n = a.ndim + len(axes)
    axes = normalize_axis_tuple(axes, n)
    lengths = iter(a.shape)
    return a[tuple(None if k in axes else slice(None) for k in range(n))] if n else a.reshape(tuple(lengths))


@op("a.reshape(1, 3, 1, 4)", "a.reshape(1, 3, 4), 0", "a, 0", "a.reshape(1, 3, 1, 4), (0, 2)", "s", "a, 4",
    "a[None], (0, 0)", "a, (0, 5)", "s, -1", kind="view")
def squeeze(a, axis=None):
    """Without axes of length 1: all of them, or those named."""
    return as_array(a).squeeze(axis)


@op("v, (3, 4)", "3, (2, 2)", "?v, (4, 3)", "a, (2, 3, 4)", "a, (4,)", "a, (-1, 4)", kind="view")
def broadcast_to(array, shape, subok=False):
    """A read-only view of another shape, axes of length 1 repeated. After npx.set_np(), -2 is the length there."""
    lengths = shape if type(shape) is tuple else items(shape)
    if any(n < 0 for n in lengths):
        shape = _with_lengths_of(as_array(array), lengths) if is_np_array() else lengths
        if min(shape) < 0:
            raise ValueError("all elements of broadcast shape must be non-negative")
    return _broadcast_to(array, shape)


def _with_lengths_of(array, shape):
    """A shape where MXNet's -2 is the length that an array has at this place, counted from the last."""
    known = (-2,) * (len(shape) - array.ndim) + array.shape[max(array.ndim - len(shape), 0):]
    return tuple(own if n == -2 else n for n, own in zip(shape, known))


@op("(3, 1), (1, 4)", "(2,), (3,)", "5, (2, 5)")
def broadcast_shapes(*args):
    """The shape that shapes broadcast to."""
    return numpy.broadcast_shapes(*args)


@op("a, v", "a, 3", "a, [1, 2]", kind="view")
def broadcast_arrays(*args, subok=False):
    """All arrays broadcast to one shape: a tuple of views."""
    arrays = [as_array(x) for x in args]
    common = _common_shape(arrays)
    return tuple(x if x.shape == common else spread(x, common) for x in arrays)


def _common_shape(arrays):
    """numpy.broadcast gives the error that NumPy gives."""
    return numpy.broadcast(*[numpy.empty(x.shape, _NOTHING) for x in arrays]).shape if arrays else ()


_NOTHING = numpy.dtype([])      # elements without bytes


# -- at least so many axes -------------------------------------------------------------------------

def _at_least(name, function):
    def at_least(*arys):
        if len(arys) == 1:
            return function(as_array(arys[0]))
        return tuple([function(as_array(x)) for x in arys])

    at_least.__name__ = at_least.__qualname__ = name
    at_least.__doc__ = f"Views of at least {name[-2]} axes: one array, or a tuple of them."
    add_row(name, at_least, ("a", "v", "s", "2.5", "v, a"), kind="view")
    return at_least


atleast_1d = _at_least("atleast_1d", lambda x: x if x.ndim else x.reshape(1))
atleast_2d = _at_least("atleast_2d", lambda x: x if x.ndim > 1 else x.reshape((1, -1)) if x.ndim else x.reshape(1, 1))
atleast_3d = _at_least("atleast_3d", lambda x: (
    x if x.ndim > 2 else x[:, :, None] if x.ndim == 2 else x[None, :, None] if x.ndim else x.reshape(1, 1, 1)))


# -- joins -----------------------------------------------------------------------------------------

@op("[a, a]", "[a, a], 1", "(a, i), axis=None", "[a, v]", "[]", "[a, a], 2", "[s, s]", "[i, a], dtype='f4'",
    "[a, a], dtype=int",
    "[a, a.T]", "[[1, 2], [3]]", "[a, a], out=np.zeros((6, 4))", "[a, a], 0, np.zeros((3, 4))", "[v, np.zeros(0)]",
    "[b, i[:2]]",
    "[v, v], dtype=int, casting='unsafe'", "?3", aliases=("concat",))
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Arrays joined along an existing axis; flattened first when axis is None."""
    return _concatenate(arrays, axis, out, dtype, casting)


op("[v, v]", "[v, v], 1", "[a, i], axis=-1", "[v, a]", "[]", "[v, v], 5", "[s, 2]", "[v, v], out=np.zeros((2, 4))",
    "[v, i[0]], dtype='f4'")(stack)


def _sequence(arrays):
    """The arrays to stack; TypeError for a generator, as in NumPy."""
    if not hasattr(arrays, "__getitem__"):
        raise TypeError('arrays to stack must be passed as a "sequence" type such as list or tuple.')
    return arrays


@op("[v, v]", "[a, v]", "[a, m]", "[1, 2]", "[]", aliases=())
def vstack(tup, *, dtype=None, casting="same_kind"):
    """Joined along the first axis, 1-d arrays as rows."""
    parts = [_part_of(x) for x in _sequence(tup)]
    return _concatenate([x if x.ndim > 1 else x.reshape(1, -1) for x in parts], 0, None, dtype, casting)


if hasattr(numpy, "row_stack"):
    @op("[v, v]", "[a, v]", foreign=True)
    def row_stack(tup, *, dtype=None, casting="same_kind"):
        """vstack(). Deprecated, as in NumPy."""
        warnings.warn("`row_stack` alias is deprecated. Use `np.vstack` directly.", DeprecationWarning, stacklevel=2)
        return vstack(tup, dtype=dtype, casting=casting)


@op("[v, v]", "[a, a]", "[a, m]", "[1, 2]", "[]", "iter([v])")
def hstack(tup, *, dtype=None, casting="same_kind"):
    """Joined along the second axis, 1-d arrays along their only one."""
    parts = [x if x.ndim else x.reshape(1) for x in map(_part_of, _sequence(tup))]
    return _concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, None, dtype, casting)


@op("[v, v]", "[a, a]", "[1, 2]", "[]", "(x for x in a)")
def dstack(tup):
    """Joined along the third axis."""
    return _concatenate([atleast_3d(x) for x in _sequence(tup)], 2)


@op("[v, v]", "[a, v[:3]]", "[1, 2]", "[]")
def column_stack(tup):
    """1-d arrays as the columns of a matrix."""
    parts = [_part_of(x) for x in _sequence(tup)]
    return _concatenate([x if x.ndim > 1 else x.reshape(-1, 1) for x in parts], 1)


@op("[v, v]", "[[a, a], [a, a]]", "[[m, np.ones((3, 1))], [v]]", "[a, [a]]", "[]", "a", "[1, [2]]",
    "[[1, 2], [3, 4]]", "[[a], [v]]",
    "(v, v)", "[[v, 1], [2, v]]", "[v, i[0]]", "s", "[[[1]], [[2]]]", "[a, a.T]", "[[], []]", foreign=True, small=256)
def block(arrays):
    """Arrays joined as nested lists say: the innermost ones along the last axis, and so on outwards."""
    try:
        depth, ndim = _depth(arrays, 0)
        result = _joined(arrays, depth, max(depth, ndim))
    except (TypeError, ValueError):
        numpy.block(stand_in(arrays))                   # in its words
        raise
    return result if depth else result.copy()


def _depth(x, depth):
    """How deep lists are nested, the same everywhere, and the most axes of what is in them."""
    if type(x) is tuple:
        raise TypeError("a tuple")
    if type(x) is not list:
        return depth, as_array(x).ndim
    found = [_depth(item, depth + 1) for item in x]
    if len({d for d, _ in found}) != 1:
        raise ValueError("depths of lists differ")
    return found[0][0], max(n for _, n in found)


def _joined(x, axes, ndim):
    """One level of nested lists, along the last but `axes` - 1 of ndim axes."""
    if type(x) is list:
        return _concatenate([_joined(item, axes - 1, ndim) for item in x], -axes)
    x = as_array(x)
    return x.reshape((1,) * (ndim - x.ndim) + x.shape)


@op("v, v", "v, 5", "a, a, axis=0", "v, a", "[1, 2], [3]", "a, v, axis=0")
def append(arr, values, axis=None):
    """Values joined to the end of an axis; both flattened when axis is None."""
    arr, values = _part_of(arr), _part_of(values)
    if axis is None:
        return _concatenate([arr.ravel(), values.ravel()], 0)
    return _concatenate([arr, values], axis)


# -- splits ----------------------------------------------------------------------------------------

@op("v, 3", "a, 3", "a, 2, axis=1", "v, [1, 3]", "v, 0", "v, 6", "a, [1, 10], 1", "a, [2], 5", kind="view")
def array_split(ary, indices_or_sections, axis=0):
    """Views of consecutive parts: of nearly equal length, or between given indices."""
    ary = as_array(ary)
    total = ary.shape[axis]
    axis = operator.index(axis) % ary.ndim
    try:
        n = len(indices_or_sections) + 1
        ends = [0, *(operator.index(k) for k in indices_or_sections), total]
    except TypeError:
        n = int(indices_or_sections)
        if n <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        each, extra = divmod(total, n)
        ends = [k * each + min(k, extra) for k in range(n + 1)]
    lead = (slice(None),) * axis
    return [ary[(*lead, slice(start, stop))] for start, stop in zip(ends, ends[1:])]


@op("v, 2", "a, 3", "a, 2, axis=1", "v, 3", "v, [1, 3]", "a, [1], 5", kind="view")
def split(ary, indices_or_sections, axis=0):
    """Views of consecutive parts of equal length, or between given indices."""
    ary = as_array(ary)
    if not hasattr(indices_or_sections, "__len__"):
        if ary.shape[axis] % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@op("v, 2", "a, 2", "a, 3", "s, 1", kind="view")
def hsplit(ary, indices_or_sections):
    """Split along the second axis; the first of 1-d arrays."""
    ary = as_array(ary)
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@op("v, 2", "a, 3", "a, 2", kind="view")
def vsplit(ary, indices_or_sections):
    """Split along the first axis of at least two."""
    ary = as_array(ary)
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@op("a, 2", "f, 2", kind="view")
def dsplit(ary, indices_or_sections):
    """Split along the third axis."""
    ary = as_array(ary)
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@op("a", "f, axis=2", "s", kind="view")
def unstack(x, /, *, axis=0):
    """The subarrays along an axis, as a tuple of views."""
    x = as_array(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(moveaxis(x, axis, 0))


# -- turned round ----------------------------------------------------------------------------------

@op("a", "a, 0", "a, (0, 1)", "v, -1", "a, 2", kind="view")
def flip(m, axis=None):
    """Axes in reverse: all of them, or those named."""
    m = as_array(m)
    if axis is None:
        return m[(slice(None, None, -1),) * m.ndim]
    axes = normalize_axis_tuple(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(m.ndim))]


@op("a", "v", "s", kind="view")
def flipud(m):
    """The first axis in reverse."""
    m = as_array(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1]


@op("a", "v", kind="view")
def fliplr(m):
    """The second axis in reverse."""
    m = as_array(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


@op("a", "a, 2", "a, -1", "f, 1, (1, 2)", "a, 4", "v", "a, 1, (0, 0)", kind="view")
def rot90(m, k=1, axes=(0, 1)):
    """Turned by k quarter turns, from the first axis of `axes` towards the second."""
    axes = tuple(axes)
    m = as_array(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    if any(not -m.ndim <= k < m.ndim for k in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    k %= 4
    if k == 0:
        return m[:]
    if k == 2:
        return flip(flip(m, axes[0]), axes[1])
    if k == 1:
        return flip(m, axes[1]).swapaxes(*axes)
    return flip(m.swapaxes(*axes), axes[1])


@op("v, 2", "a, (2, 3)", "a.T, 2, 0", "a, (2, 2), (0, 0)", "f[:, ::-1], 2, -1", "v, 5", "a, 2", "v, -1", "a, (2, 2), 1",
    kind="view", module="numpy.lib.stride_tricks")
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """A read-only view with new axes at its end, along windows that slide over some axes, or all."""
    x = as_array(x)
    spans = tuple(window_shape) if numpy.iterable(window_shape) else (window_shape,)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    left, fits = list(x.shape), len(spans) == len(axes)
    for k, span in zip(axes, spans):
        fits = fits and type(span) is int and 0 <= span <= left[k]
        left[k] -= span - 1 if fits else 0
    if not fits:
        numpy.lib.stride_tricks.sliding_window_view(numpy.broadcast_to(0, x.shape), window_shape, axis)     # its errors
        spans = tuple(map(operator.index, spans))
    if writeable:
        raise ValueError("sliding windows over a dflow array are read-only: elements would have several places")
    return sliding_windows(x, spans, axes)


@op("np.sum, 1, a", "np.sort, 0, f", "lambda x: x[::-1] * 2, -1, a", "lambda x, k: np.outer(x, x) + k, 1, f, 5",
    "np.max, 0, v", "lambda x: x > 0, 1, f", "np.sum, 2, a", "np.sum, 0, s", "np.sum, 1, np.zeros((0, 3))",
    "np.sum, 1, np.zeros((3, 0))", "lambda x: 1, 0, a", "sum, 0, a", "len, 1, i",
    "lambda x: np.full((2, int(x[0]) % 2), 1.5), 1, i[:1]", "lambda x: str(len(x)), 0, a", foreign=True)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """What func1d makes of each 1-d array along an axis, in that axis' place. Waits where func1d does."""
    given, arr = arr, as_array(arr)
    axis = normalize_axis_index(axis, arr.ndim)
    rows = moveaxis(arr, axis, -1)
    places = numpy.ndindex(rows.shape[:-1])
    place = next(places, None)
    if place is None:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    found = func1d(rows[place], *args, **kwargs)
    if not is_array(found) and numpy.asarray(found).dtype.kind not in "biufc":
        return call(numpy.apply_along_axis, (func1d, axis, given, *args), kwargs)
    found = as_array(found)
    result = empty(rows.shape[:-1] + found.shape, found.dtype)
    result[place] = found
    for place in places:
        result[place] = func1d(rows[place], *args, **kwargs)
    return moveaxis(result, range(-found.ndim, 0), range(axis, axis + found.ndim))


@op("np.sum, f, [0, 2]", "np.sum, a, 1", "np.cumsum, a, [0]", "np.max, f, (-1, 0)",
    "lambda x, k: x[0, 0], a, 0", foreign=True)
def apply_over_axes(func, a, axes):
    """func(array, axis) for one axis after the other, the axes kept, as of length 1."""
    result = as_array(a)
    for axis in numpy.atleast_1d(axes).tolist():
        axis = axis + result.ndim if axis < 0 else axis
        found = as_array(func(result, axis))
        if found.ndim != result.ndim:
            found = expand_dims(found, axis)
            if found.ndim != result.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        result = found
    return result


@op("v", "v, (2,)", "v, None, (0,)", "v, (2, 2), (8, 16)", "v, (3, 2), (8, 8)",
    "a[1], (2, 2), (-32, 8)", "a, (3,), (40,)",
    "a.T, (2, 3)", "s, (3, 1), (0, 8)", "e, (0, 7), (800, 8)", "[1.5, 2], (2,), (8,)", "v, (2, 2), (8,)", "v, 2, 8",
    "v, (2, -2), (8, 8)", "v[1:], (2,), (-8,), writeable=False", "v, (2, 'a'), (8, 8)",
    kind="view", module="numpy.lib.stride_tricks")
def as_strided(x, shape=None, strides=None, subok=False, writeable=True):
    """The memory of x with another shape and other strides, in bytes; what may see an element twice is read-only.

    ValueError where the view would leave the memory of the array that x views, or its elements would not be aligned.
    """
    if isinstance(x, numpy.ndarray):        # a copy of what it sees
        x, shape, strides = as_array(numpy.lib.stride_tricks.as_strided(x, shape, strides)), None, None
    x = as_array(x)
    numpy.lib.stride_tricks.as_strided(numpy.empty(x.shape, x.dtype), shape, strides)         # its errors
    shape = x.shape if shape is None else tuple(map(operator.index, shape))
    if strides is None:                     # in C order, as x
        strides = numpy.empty(shape, x.dtype).strides if x.flags.c_contiguous else x.strides
    strides = tuple(map(operator.index, strides))
    if len(strides) != len(shape):
        raise ValueError("mismatch in length of strides and shape")
    view = strided(x.copy() if is_scalar(x) else x, shape, strides)
    if not writeable:
        view.flags.writeable = False
    return view
