"""Making arrays. Sources are always copied: an array's memory belongs to the engine."""

import itertools
import math
import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow._array import array as as_array
from dflow._array import empty as new
from dflow._array import ndarray, set_hook
from dflow._index import take
from dflow._ufunc import wrap_ufunc
from dflow._views import broadcast_to
from dflow.ops.table import op

NO_COPY = (
    "Unable to avoid copy while creating an array as requested.\n"
    "If using `np.array(obj, copy=False)` replace it with `np.asarray(obj)` to allow a copy when needed "
    "(no behavior change in NumPy 1.x).\nFor more details, see https://numpy.org/devdocs/numpy_2_0_migration_guide.html"
    "#adapting-to-changes-in-the-copy-keyword.")


def holds_arrays(x):
    """Whether a list or tuple, or a list in it, holds our arrays: those are stacked without waiting for them."""
    return isinstance(x, (list, tuple)) and any(isinstance(item, ndarray) or holds_arrays(item) for item in x)


def converted(x, dtype=None):
    """An ndarray: x itself if it is one of that type, else a copy."""
    if dtype is None:
        return as_array(x)
    if isinstance(x, ndarray):
        return x.astype(dtype, copy=False)
    if holds_arrays(x):
        return as_array(x).astype(dtype, copy=False)
    return as_array(numpy.asarray(x, dtype))


def in_order(x, order):
    """x itself if its memory is in the order, else a copy that is."""
    if order in ("C", "F"):
        wanted = x if order == "C" else x.T
        return x if is_dense(wanted) else x.copy(order)
    if order not in ("K", "A", None):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return x


def is_dense(x):
    """Whether the elements follow each other in C order."""
    expected = x.itemsize
    for n, stride in zip(reversed(x.shape), reversed(x.strides)):
        if n != 1 and stride != expected:
            return not x.size
        expected *= n
    return True


def copy_order(x, order):
    """A copy in memory order F, A (F if x is), or K (as x)."""
    if order == "K":
        return x.astype(x.dtype)
    if order == "F" or (order == "A" and is_dense(x.T) and not is_dense(x)):
        return x.T.copy().T
    if order not in ("C", "A"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return x.copy()


set_hook("copy_order", copy_order)


# -- from what there is ----------------------------------------------------------------------------

@op("[1, 2, 3]", "[[1.5, 2], [3, 4]]", "a", "a, 'f4'", "a.T", "a, copy=False", "3", "2.5j", "True",
    "[1, 2], dtype=float", "[]",
    "a, ndmin=3", "[[1, 2], [3]]", "[300], 'u1'", "a, order='F'", "range(4)", "[a, a]",
    "[[a[0], a[1]], [v, v]]", "[i[0], v]", "[v, 2]")
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    """A new array with the numbers of anything array-like. TypeError for what holds no numbers."""
    if type(object) is ndarray and dtype is None and copy and not ndmin and order == "K":
        return object.copy("K")
    result = converted(object, dtype)
    if result is object:
        if copy:
            result = result.copy(order)
    elif copy is False:
        raise ValueError(NO_COPY)
    result = in_order(result, order)
    if ndmin > result.ndim:
        result = result.reshape((1,) * (ndmin - result.ndim) + result.shape)
    return result


@op("[1, 2]", "a", "a, int", "i, 'f4'", "a.T, order='C'", "[a, a], 'f4'", aliases=("asanyarray",))
def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """An array of anything array-like: `a` itself if it already is one of that type and order, else a copy."""
    if type(a) is ndarray and dtype is order is copy is None:
        return a
    if copy:
        return array(a, dtype, order=order or "K")
    result = converted(a, dtype)
    if copy is False and result is not a:
        raise ValueError(NO_COPY)
    return in_order(result, order)


@op("a.T", "2.5", "a, 'f4'")
def ascontiguousarray(a, dtype=None, *, like=None):
    """In C order, of at least one axis."""
    result = in_order(converted(a, dtype), "C")
    return result if result.ndim else result.reshape(1)


@op("a", "2.5", "a, 'f4'")
def asfortranarray(a, dtype=None, *, like=None):
    """In Fortran order, of at least one axis."""
    result = in_order(converted(a, dtype), "F")
    return result if result.ndim else result.reshape(1)


@op("a", "[1, 2]", "a.T", "a, 'F'")
def copy(a, order="K", subok=False):
    """A copy."""
    return array(a, order=order)


@op("a, 'f4'", "i, bool")
def astype(x, dtype, /, *, copy=True, device=None):
    """A copy of another type."""
    if not isinstance(x, ndarray):
        raise TypeError(f"Input should be a NumPy array. It is of type {type(x)}.")
    return x.astype(dtype, copy=copy)


# -- filled ----------------------------------------------------------------------------------------

def uninitialized(shape, dtype, order):
    """A new array; ValueError for a negative dimension, TypeError for a type that is no number."""
    if order == "C":
        return new(shape, dtype)
    if order != "F":
        raise ValueError(f"only 'C' or 'F' order is permitted (got {order!r})")
    return new(tuple(reversed(as_shape(shape))), dtype).T


def as_shape(shape):
    """A shape as a tuple of ints."""
    return tuple(map(operator.index, shape)) if hasattr(shape, "__iter__") else (operator.index(shape),)


@op("(0, 3), int", "-1", "(2, -3)", "?2.5", "?'a'")
def empty(shape, dtype=float, order="C", *, device=None, like=None):
    """An array with no particular values."""
    return uninitialized(shape, dtype, order)


@op("(2, 3)", "3", "()", "(0, 2)", "2, int", "2, 'c8'", "(2, 3), order='F'", "-1", "(2, -3)", "'a'", "?2.5", "(2, 'a')",
    "(2, 3), bool", "i[0, :2]", "1 << 62")
def zeros(shape, dtype=float, order="C", *, device=None, like=None):
    """Zeros."""
    result = new(shape, dtype) if order == "C" else uninitialized(shape, dtype, order)
    result[...] = 0
    return result


@op("(2, 3)", "3", "()", "(0, 2)", "2, int", "2, 'c8'", "(2, 3), order='F'", "-1", "(2, 3), bool")
def ones(shape, dtype=None, order="C", *, device=None, like=None):
    """Ones."""
    result = new(shape, dtype) if order == "C" else uninitialized(shape, dtype, order)
    result[...] = 1
    return result


@op("(2, 3), 7", "3, 1.5", "3, True", "3, 2j", "(2, 2), [1, 2]", "2, 300, 'u1'", "2, 1.5, int", "(2, 4), v",
    "(2, 3), v",
    "3, np.float32(2)", "-1, 0")
def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    """One value everywhere, or an array that broadcasts to the shape."""
    if dtype is None:
        dtype = fill_value.dtype if isinstance(fill_value, ndarray) else numpy.asarray(fill_value).dtype
    result = uninitialized(shape, dtype, order)
    result[...] = fill_value
    return result


def _like(a, dtype, order, shape):
    """An array of the same shape, type and memory order, but for what is given."""
    if isinstance(a, ndarray):
        dtype = dtype or a.dtype
    else:
        a = numpy.asarray(a)
        dtype = dtype or a.dtype
    if shape is not None:
        return uninitialized(shape, dtype, "F" if order == "F" else "C")
    if not isinstance(a, ndarray) or order == "C" or a.ndim < 2 or (order == "K" and is_dense(a)):
        return new(a.shape, dtype)
    if order == "F" or (order == "A" and is_dense(a.T) and not is_dense(a)):
        return new(a.shape[::-1], dtype).T
    if order == "A":
        return new(a.shape, dtype)
    axes = sorted(range(a.ndim), key=lambda k: -abs(a.strides[k]))
    return new([a.shape[k] for k in axes], dtype).transpose(tuple(sorted(range(a.ndim), key=axes.__getitem__)))


@op(kind="kernel")
def empty_like(prototype, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """An array of the same shape and type, with no particular values."""
    return _like(prototype, dtype, order, shape)


@op("a", "i.T", "a, 'f4'", "a, shape=(2,)", "[1, 2]", "b")
def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Zeros of the same shape and type."""
    result = _like(a, dtype, order, shape)
    result[...] = 0
    return result


@op("a", "i.T", "a, 'f4'", "a, shape=(2,)", "[1, 2]", "b")
def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Ones of the same shape and type."""
    result = _like(a, dtype, order, shape)
    result[...] = 1
    return result


@op("a, 2", "i, 2.5", "a, 1, int", "a, v", "[1, 2], 0.5", "i, 1, shape=(2,)")
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """One value everywhere, in the same shape and type."""
    result = _like(a, dtype, order, shape)
    result[...] = fill_value
    return result


# -- ranges ----------------------------------------------------------------------------------------

SMALL = 4096                # up to so many elements NumPy makes the range at once


@op("5", "2, 7", "1, 10, 3", "5.0", "0, 1, 0.1", "10, 0, -3", "5, 2", "5, dtype='f4'", "0, 5000", "0.5, 7000.0, 0.7",
    "3, 20000, 3",
    "9000, dtype='f4'", "0, 3000, 0.3, 'f4'", "5, 5000, 1, 'i2'", "1, 2, 0", "", "5, dtype=bool", "'a'", "4j",
    "stop=4", "3, step=2",
    "np.int8(5)", "np.float32(5)", "0, 1 << 62, 1 << 50", "10000, 0, -2", "6000, dtype='c16'", "np.nan", "1, None")
def arange(start=None, stop=None, step=None, dtype=None, *, device=None, like=None):
    """start, start + step, ... below stop."""
    if type(start) is int and stop is step is dtype is None and start <= SMALL:
        return as_array(numpy.arange(start))
    if start is None and stop is None:
        numpy.arange()                  # NumPy's own words
    numbers = [_number(x) for x in (start, stop, step)]
    if all(x is None or type(x) in (int, float) and abs(x) < 1 << 53 for x in numbers):
        first, last, by = _limits(*numbers)
        if by and SMALL < (last - first) / by < 1 << 53:
            result = _long_range(first, last, by, dtype)
            if result is not None:
                return result
    return as_array(numpy.arange(*numbers, dtype=dtype) if start is not None else
                    numpy.arange(stop=numbers[1], step=numbers[2] or 1, dtype=dtype))


def _number(x):
    """Arrays of ours as Python numbers: their values decide about the length."""
    return x.item() if isinstance(x, ndarray) else x


def _limits(start, stop, step):
    if stop is None:
        start, stop = 0, start
    return start or 0, stop, 1 if step is None else step


def _long_range(start, stop, step, dtype):
    """Row by row start + i * step, as NumPy computes it; None for types where it is done otherwise."""
    integers = type(start) is type(stop) is type(step) is int
    dtype = numpy.dtype(dtype) if dtype is not None else numpy.dtype(int if integers else float)
    if dtype.char not in ("dflq" if integers else "df"):
        return None
    n = math.ceil((stop - start) / step)
    if integers:
        n = -(-(stop - start) // step)
    second = numpy.asarray(start + step, dtype)[()]
    first = numpy.asarray(start, dtype)[()]
    result = _count_up(n, dtype if dtype.kind == "f" else numpy.dtype("i8"))
    if dtype.kind == "f":
        result *= (second - first).item()
        if first:
            result += first.item()
        result[:2] = [first, second]
    else:
        if step != 1:
            result *= step
        if start:
            result += start
    return result if result.dtype == dtype else result.astype(dtype)


def _count_up(n, dtype):
    """0 .. n-1: rows of a table of sums."""
    exact = numpy.dtype("i8") if dtype.char == "f" else dtype
    column = numpy.arange(SMALL, dtype=exact)
    rows = n // SMALL
    result = new(n, exact)
    starts = as_array(numpy.arange(rows, dtype=exact) * SMALL).reshape(rows, 1)
    wrap_ufunc(numpy.add)(starts, as_array(column), out=result[:rows * SMALL].reshape(rows, SMALL))
    result[rows * SMALL:] = column[:n - rows * SMALL] + exact.type(rows * SMALL)
    return result if exact == dtype else result.astype(dtype)


@op("0, 1", "0, 10, 5", "0, 1, 7, False", "0, 1, retstep=True", "2, 2, 4", "0, 1, 0", "0, 1, 1", "0, 1, -1",
    "0, 9, 4, dtype=int",
    "1j, 2, 5", "[0, 1], 2, 3", "0, 1, 5000", "v, 2, 3, axis=1", "0, 1, 2.5", "-3, 7, 10000, False",
    "0, 1, 5, dtype='f4'")
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """`num` numbers from start to stop, evenly spaced."""
    number = operator.index(num)
    scalars = isinstance(start, (int, float)) and isinstance(stop, (int, float))
    if number <= SMALL or not scalars or dtype is not None:
        result = numpy.linspace(_plain(start), _plain(stop), num, endpoint, retstep, dtype, axis)
        return (as_array(result[0]), as_array(result[1])) if retstep else as_array(result)
    delta = stop - start
    step = delta / (number - 1 if endpoint else number)
    result = _count_up(number, numpy.dtype(float))
    if step == 0:
        result /= number - 1 if endpoint else number
        result *= delta
    else:
        result *= step
    result += start
    if endpoint:
        result[-1] = stop
    return (result, as_array(step)) if retstep else result


def _plain(x):
    return x.asnumpy() if isinstance(x, ndarray) else x


@op("0, 2", "0, 2, 5", "0, 3, 4, base=2.0", "0, 3, 4, dtype=int", "0, 1, 3, False")
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """base ** linspace(start, stop, num)."""
    return as_array(numpy.logspace(_plain(start), _plain(stop), num, endpoint, _plain(base), dtype, axis))


@op("1, 1000, 4", "1, 256, 9, dtype=int", "-1, -1000, 4", "1j, 1000j, 4", "0, 1, 3")
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """`num` numbers from start to stop, each the same multiple of the one before."""
    return as_array(numpy.geomspace(_plain(start), _plain(stop), num, endpoint, dtype, axis))


# -- matrices and grids ----------------------------------------------------------------------------

@op("3", "2, 3", "3, 2, 1", "3, k=-1", "3, dtype=int", "3, k=5", "3, 3, -2", "0", "-1", "2, order='F'")
def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):
    """Ones on the k-th diagonal of an N x M matrix, zeros elsewhere."""
    n = operator.index(N)
    m = n if M is None else operator.index(M)
    k = operator.index(k)
    result = zeros((n, m), dtype)
    length = min(n + min(k, 0), m - max(k, 0))
    if length > 0:
        start = k if k > 0 else -k * m
        result.reshape(-1)[start:start + (length - 1) * (m + 1) + 1:m + 1] = 1
    return result if order == "C" else result.copy(order)


@op("3", "2, int", "-1")
def identity(n, dtype=None, *, like=None):
    """The n x n identity matrix."""
    return eye(n, dtype=float if dtype is None else dtype)


@op("3", "3, 4", "3, 4, 1", "3, k=-1, dtype=int")
def tri(N, M=None, k=0, dtype=float, *, like=None):
    """Ones at and below the k-th diagonal."""
    m = N if M is None else M
    rows, columns = as_array(numpy.arange(N)), as_array(numpy.arange(-k, m - k))
    return wrap_ufunc(numpy.greater_equal).outer(rows, columns).astype(dtype, copy=False)


@op("(2, 3)", "(2, 3), float", "(2, 3), sparse=True", "(0, 3)", "5")
def indices(dimensions, dtype=int, sparse=False):
    """The index of each element of a grid along each axis: one array, or with sparse=True a tuple that broadcasts."""
    result = numpy.indices(dimensions, dtype, sparse)
    return tuple(map(as_array, result)) if sparse else as_array(result)


@op("lambda i, j: i * 10 + j, (2, 3)", "lambda i, j: i == j, (3, 3), dtype=int")
def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    """function(indices of the first axis, of the second, ...): called once, with arrays."""
    return function(*indices(shape, dtype), **kwargs)


@op("v, [1, 2]", "[1, 2], [3, 4, 5], indexing='ij'", "v, v, sparse=True", "[1, 2], [3, 4], indexing='x'", "v")
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinate matrices of coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    order = (1, 0, *range(2, n)) if indexing == "xy" and n > 1 else tuple(range(n))
    shape = [1] * n
    out = []
    for axis, x in zip(order, xi):
        x = as_array(x)
        out.append(x.reshape((1,) * axis + (-1,) + (1,) * (n - 1 - axis)))
        shape[axis] = x.size
    if sparse:
        return tuple(x.copy() for x in out) if copy else tuple(out)
    grids = (broadcast_to(x, shape) for x in out)
    return tuple(x.copy() for x in grids) if copy else tuple(grids)


@op("b'\\x00\\x01\\x02\\x03', 'u1'", "bytes(16)", "bytes(15)", "bytes(16), 'i4', 2, 4")
def frombuffer(buffer, dtype=float, count=-1, offset=0, *, like=None):
    """The numbers in a buffer, copied."""
    return as_array(numpy.frombuffer(buffer, dtype, count, offset))


@op("(k * k for k in range(5)), int", "range(3), 'f4', 2")
def fromiter(iter, dtype, count=-1, *, like=None):
    """The numbers that an iterable gives."""
    return as_array(numpy.fromiter(iter, dtype, count))


# -- repeated and moved ----------------------------------------------------------------------------

@op("a, 2", "v, (2, 3)", "a, (2, 1, 2)", "2.5, 3", "a, 0", "a, -1", "[1, 2], 2", "s, (2, 2)")
def tile(A, reps):
    """A repeated along each axis."""
    a = as_array(A)
    reps = tuple(reps) if hasattr(reps, "__iter__") else (reps,)
    n = max(a.ndim, len(reps))
    reps = (1,) * (n - len(reps)) + reps
    shape = (1,) * (n - a.ndim) + a.shape
    if all(r == 1 for r in reps):
        return a.reshape(shape).copy()
    if any(r < 0 for r in reps):
        raise ValueError("negative dimensions are not allowed")
    spread = a.reshape(tuple(x for d in shape for x in (1, d)))
    spread = broadcast_to(spread, tuple(x for r, d in zip(reps, shape) for x in (r, d)))
    # A copy first: a broadcast view is read-only, and of a single element reshape would not copy it.
    return spread.copy().reshape(tuple(r * d for r, d in zip(reps, shape)))


@op("a, 2", "a, 3, axis=1", "a, [1, 2, 0], axis=0", "v, [1, 2]", "v, 0", "v, -1", "3, 4", "i, 2, 5",
    "v, [1, 0, 2, 1]", "v, 1.5",
    method=True)
def repeat(a, repeats, axis=None):
    """Each element repeated, so many times or as many times as an array says; that one's values are waited for."""
    a = as_array(a)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = numpy.lib.array_utils.normalize_axis_index(axis, a.ndim)
    counts = numpy.asarray(_plain(repeats))
    if counts.ndim or counts.dtype.kind not in "iu" or counts < 0:
        return take(a, numpy.repeat(numpy.arange(a.shape[axis]), _plain(repeats)), axis)
    before, n, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1:]
    r = int(counts)
    spread = broadcast_to(a.reshape((*before, n, 1, *after)), (*before, n, r, *after))
    return spread.reshape((*before, n * r, *after)).copy()


@op("v, 1", "a, -1", "a, 2, axis=1", "a, (1, 2), axis=(0, 1)", "a, 1, axis=(0, 1)", "a, 100, 0", "a, 1, 2", "e, 1")
def roll(a, shift, axis=None):
    """Elements moved along axes; what falls out at one end comes in at the other."""
    a = as_array(a)
    if axis is None:
        return roll(a.ravel(), shift, 0).reshape(a.shape)
    if type(shift) is int and type(axis) is int:
        shifts = {normalize_axis_index(axis, a.ndim): shift}
    else:
        shifts = {}
        axes = numpy.lib.array_utils.normalize_axis_tuple(axis, a.ndim, allow_duplicate=True)
        for s, k in numpy.broadcast(numpy.asarray(_plain(shift)), numpy.asarray(axes)):
            shifts[int(k)] = shifts.get(int(k), 0) + int(s)
    result = _like(a, None, "K", None)
    for places in itertools.product(*(_rolled(a.shape[k], shifts.get(k, 0)) for k in range(a.ndim))):
        result[tuple(to for to, _ in places)] = a[tuple(source for _, source in places)]
    return result


def _rolled(n, shift):
    """Where the parts of an axis go and come from."""
    shift = shift % n if n else 0
    if not shift:
        return ((slice(None), slice(None)),)
    return (slice(shift, None), slice(None, n - shift)), (slice(None, shift), slice(n - shift, None))


@op("v, 2", "a, 1", "a, ((1, 0), (0, 2))", "a, 1, constant_values=5", "a, 2, 'edge'", "a, 1, 'reflect'",
    "a, (1, 2), mode='wrap'", "a, -1",
    "a, 1, 'mean'", "v, (1, 2), constant_values=(3, 4)", "f, ((1, 0), (2, 2), (0, 3)), 'reflect'", "f, 2, 'symmetric'",
    "f, ((1, 2), (3, 0), (0, 4)), 'wrap'", "v, 7, 'reflect'", "v, 7, 'wrap'", "e, 1, 'edge'", "v, -1, 'edge'",
    "s, 1, 'edge'", "i.T, ((0, 5), (3, 0)), 'edge'", "a, 1, 'reflect', reflect_type='odd'", "a, 1.5, 'edge'",
    "v, 1, 'edge', x=1")
def pad(array, pad_width, mode="constant", **kwargs):
    """Elements added before and after along each axis. Modes that compute something wait for the array."""
    a = as_array(array)
    value = kwargs.get("constant_values", 0)
    number = isinstance(value, (int, float)) and not set(kwargs) - {"constant_values"}
    if mode in _BORDERS and not kwargs or mode == "constant" and number:
        width = _pad_width(pad_width, a.ndim)
        if width is not None and (mode == "constant" or _fits(a.shape, width, mode)):
            return _padded(a, width, mode, value)
    return as_array(numpy.pad(a.asnumpy(), pad_width, mode, **kwargs))


def _pad_width(pad_width, ndim):
    """So many (before, after) for each axis; None for what NumPy shall look at."""
    if type(pad_width) is int:
        return [(pad_width, pad_width)] * ndim if pad_width >= 0 else None
    width = numpy.asarray(pad_width) if not isinstance(pad_width, dict) else None
    if width is None or width.dtype.kind != "i" or (width < 0).any():
        return None
    return numpy.broadcast_to(width, (ndim, 2)).tolist()


# Each mode's source, as start, stop and step, of what goes before and after the n elements that begin at `b`.
_BORDERS = {
    "edge": lambda b, n, after: ((b, b + 1, 1), (b + n - 1, b + n, 1)),
    "wrap": lambda b, n, after: ((n, n + b, 1), (b, b + after, 1)),
    "reflect": lambda b, n, after: ((2 * b, b, -1), (b + n - 2, b + n - 2 - after, -1)),
    "symmetric": lambda b, n, after: ((2 * b - 1, b - 1, -1), (b + n - 1, b + n - 1 - after, -1)),
}


def _fits(shape, width, mode):
    """Whether the elements that are there are enough."""
    if mode == "edge":
        return 0 not in shape
    return all(max(pair) <= n - (mode == "reflect") and n for n, pair in zip(shape, width))


def _padded(a, width, mode, value):
    shape = tuple(n + before + after for n, (before, after) in zip(a.shape, width))
    result = full(shape, value, a.dtype) if mode == "constant" else new(shape, a.dtype)
    result[tuple(slice(before, before + n) for n, (before, _) in zip(a.shape, width))] = a
    if mode == "constant":
        return result
    for k, (n, (before, after)) in enumerate(zip(a.shape, width)):
        # The corners come with the last axis: axes before this one are taken whole, those after it as they were.
        lead = (slice(None),) * k
        rest = tuple(slice(b, b + m) for m, (b, _) in zip(a.shape[k + 1:], width[k + 1:]))
        first, last = _BORDERS[mode](before, n, after)
        for count, target, source in ((before, slice(before), first), (after, slice(before + n, None), last)):
            if count:
                source = slice(source[0], source[1] if source[1] >= 0 else None, source[2])
                result[(*lead, target, *rest)] = result[(*lead, source, *rest)]
    return result


