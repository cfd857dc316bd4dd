"""Making arrays. Sources are always copied: an array's memory belongs to the engine."""

import itertools
import math
import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from dflow._array.core import array as as_array
from dflow._array.core import is_array, ndarray
from dflow._functions import constructors
from dflow._functions.advanced_indexing import take
from dflow._functions.constructors import empty, empty_like, full, zeros
from dflow._functions.elements import is_number
from dflow._functions.joining import small_repeat
from dflow._functions.numpy_inline import LATER, SMALL, as_scalar, at_once, small_first
from dflow._functions.placement import device_number, put_on
from dflow._functions.ufunc import wrap_ufunc
from dflow._functions.views import broadcast_to, diagonal_of, spread
from dflow._kernels.dtypes import NotHeld, native
from dflow.ops.fallback import any_of_ours, call, items, plain, stand_in, task, tasks, unwrap
from dflow.ops.table import op

# -- from what there is ----------------------------------------------------------------------------

op("[1, 2, 3]", "[[1.5, 2], [3, 4]]", "a", "a, 'f4'", "a.T", "a, copy=False", "3", "2.5j", "True",
    "[1, 2], dtype=float", "[]", "a, ndmin=3", "[[1, 2], [3]]", "[300], 'u1'", "a, order='F'", "range(4)", "[a, a]",
    "[[a[0], a[1]], [v, v]]", "[i[0], v]", "[v, 2]", "[1, 1 << 63]", "[1, True]", "[0.5, 3]", "[3, 0.5]", "[0.5, 2j]",
    "[1, [2]]", "[[a[0, 0], 1], [2.5, a[1, 1]]]", "[i[0, 0], 1]", "[a[0, 0], [1]]",
    "[[a[0, 0]], [1, 2]]", "(a[0, 0], i[0, 0])", "[1, a[0, 0]]", "[a[0, 0].astype('f4'), 1.5]", "[a[:1], [1.0]]",
    "[a[0, 0], True]", "[[a[0, 0], a[0, 1]], a[1, :2]]", "([i[0, 0]], [i[0, 1]])", "[[a[0, 0]], []]",
    "[c[0], c[1]]")(constructors.array)
op("[1, 2]", "a", "a, int", "i, 'f4'", "a.T, order='C'", "a, device='cpu'", "a, device='gpu'",
    "[a, a], 'f4'")(constructors.asarray)
op("[1, 2]", "a", "a, int", "a.T, order='C'", "a, device='gpu'", "[a, a], 'f4'")(constructors.asanyarray)
op("a.T", "2.5", "a, 'f4'")(constructors.ascontiguousarray)
op("a", "2.5", "a, 'f4'")(constructors.asfortranarray)


@op("a", "[1, 2]", "a.T", "a, 'F'")
def copy(a, order="K", subok=False):
    """A copy."""
    return constructors.array(a, order=order)


@op("a, 'f4'", "i, bool", "np.int64(3), float", "[1], float", "a, int, device='gpu'")
def astype(x, dtype, /, *, copy=True, device=None):
    """A copy of another type. TypeError for what is neither an array nor a scalar of NumPy's."""
    device_number(device)
    if not isinstance(x, (ndarray, numpy.ndarray, numpy.generic)):
        raise TypeError(f"Input should be a NumPy array or scalar. It is a {type(x)} instead.")
    result = (as_scalar(as_array(x)) if isinstance(x, numpy.generic) else as_array(x)).astype(dtype, copy=copy)
    return result if device is None else result.to_device(device)


# -- filled ----------------------------------------------------------------------------------------

op("(0, 3), int", "-1", "(2, -3)", "3, device='gpu'", "3, device=1", "?2.5", "?'a'")(constructors.empty)
op("(2, 3)", "3", "()", "(0, 2)", "2, int", "2, 'c8'", "(2, 3), order='F'", "-1", "(2, -3)", "'a'", "?2.5", "(2, 'a')",
    "(2, 3), bool", "i[0, :2]", "1 << 62", "2, device='cpu'", "2, device='gpu'")(constructors.zeros)
op("(2, 3)", "3", "()", "(0, 2)", "2, int", "2, 'c8'", "(2, 3), order='F'", "-1", "(2, 3), bool",
    "2, device='gpu'")(constructors.ones)
op("(2, 3), 7", "3, 1.5", "3, True", "3, 2j", "(2, 2), [1, 2]", "2, 300, 'u1'", "2, 1.5, int", "(2, 4), v",
    "(2, 3), v",
    "3, np.float32(2)", "-1, 0", "2, 1, device='gpu'")(constructors.full)
op("a, device='gpu'", kind="kernel")(constructors.empty_like)
op("a", "i.T", "a, 'f4'", "a, shape=(2,)", "[1, 2]", "b", "a, device='gpu'")(constructors.zeros_like)
op("a", "i.T", "a, 'f4'", "a, shape=(2,)", "[1, 2]", "b", "a, device='gpu'")(constructors.ones_like)
op("a, 2", "i, 2.5", "a, 1, int", "a, v", "[1, 2], 0.5", "i, 1, shape=(2,)", "a, 1, device='gpu'")(
    constructors.full_like)


# -- ranges ----------------------------------------------------------------------------------------

FEW = 256                   # elements


@op("5", "2, 7", "1, 10, 3", "5.0", "0, 1, 0.1", "10, 0, -3", "5, 2", "5, dtype='f4'", "0, 5000", "0.5, 7000.0, 0.7",
    "3, 20000, 3",
    "9000, dtype='f4'", "0, 3000, 0.3, 'f4'", "5, 5000, 1, 'i2'", "1, 2, 0", "", "5, dtype=bool", "'a'", "4j",
    "stop=4", "3, step=2",
    "-7, 8, 5", "0, 1, 0.3", "2.5, -1, -0.5", "0.5, 0.5", "-5", "3, 0", "1e308, -1e308, -1e308", "0.0, 1e-320, 1e-321",
    "np.int8(5)", "np.float32(5)", "0, 1 << 62, 1 << 50", "10000, 0, -2", "6000, dtype='c16'", "np.nan", "1, None",
    "3, device='cpu'", "3, device='gpu'")
def arange(start_or_stop=None, /, stop=None, step=None, dtype=None, *, device=None, like=None, start=None):
    """start, start + step, ... below stop."""
    if device is not None:
        return put_on(arange(start_or_stop, stop, step, dtype, like=like, start=start), device)
    if start is None:
        start = start_or_stop
    elif stop is None or start_or_stop is not None:
        numpy.arange(*(() if start_or_stop is None else (0,)), start=0)         # raises
    if dtype is None:
        result = constructors.number_range(start, stop, step)
        if result is not None:
            return result
    elif type(start) is int and -SMALL < start < SMALL and step is None and (
            stop is None or type(stop) is int and -SMALL < stop < SMALL):
        return as_array(numpy.arange(start, stop, dtype=native(dtype)))
    if start is None and stop is None:
        numpy.arange()                  # NumPy's own words
    native(dtype)
    numbers = [_number(x) for x in (start, stop, step)]
    if all(x is None or type(x) in (int, float) and abs(x) < 1 << 53 for x in numbers):
        first, last, by = _limits(*numbers)
        if by and 16 * SMALL < (last - first) / by < 1 << 53:
            result = _long_range(first, last, by, dtype)
            if result is not None:
                return result
    return as_array(numpy.arange(*numbers, dtype=dtype) if start is not None else
                    numpy.arange(stop=numbers[1], step=numbers[2] or 1, dtype=dtype))


def _number(x):
    """Arrays of ours as Python numbers, but of a type that counts: their values decide about the length."""
    if not is_array(x):
        return x
    number = x.item()
    return number if numpy.promote_types(x.dtype, int).num == numpy.dtype(type(number)).num else x.asnumpy()[()]


def _limits(start, stop, step):
    if stop is None:
        start, stop = 0, start
    return 0 if start is None else start, stop, 1 if step is None else step


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
    result = arange(n).astype(dtype if dtype.kind == "f" else "i8", copy=False)
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


@op("0, 1", "0, 10, 5", "0, 1, 7, False", "0, 1, retstep=True", "2, 2, 4", "0, 1, 0", "0, 1, 1", "0, 1, -1",
    "0, 9, 4, dtype=int",
    "1j, 2, 5", "[0, 1], 2, 3", "0, 1, 5000", "v, 2, 3, axis=1", "0, 1, 2.5", "-3, 7, 10000, False",
    "0, 1, 5, dtype='f4'", "0, 1, 3, device='gpu'", "a, v, 4", "v, s, 3, False, True", "s, 9, 5",
    "0, s, 1, retstep=True", "v, 2, 0",
    "f, v, 5, axis=-1", "v, v, 3, axis=2", "a, [1, 2], 3", "i, 7, 5, dtype=int", "c, 1, 3", "f[0], 2, 3", "v, 1, -1",
    kind="host")
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """`num` numbers from start to stop, evenly spaced. Bounds that are arrays are those of as many ranges."""
    if device is not None:
        return put_on(linspace(start, stop, num, endpoint, retstep, dtype, axis), device)
    native(dtype)
    number = operator.index(num)
    scalars = is_number(start) and is_number(stop)
    if number < 0 or not scalars or dtype is not None or axis not in (0, -1) or not (
            abs(start) < 1e300 and abs(stop) < 1e300):
        return _spaced(numpy.linspace, start, stop, number, axis, endpoint=endpoint, retstep=retstep, dtype=dtype)
    start, stop = float(start), float(stop)
    delta = stop - start
    steps = number - 1 if endpoint else number
    step = delta / steps if steps > 0 else math.nan
    result = arange(float(number))
    if step == 0:
        result /= steps
    result *= step if step and steps > 0 else delta
    result += start
    if endpoint and number > 1:
        result[-1] = stop
    return (result, as_scalar(as_array(step))) if retstep else result


def _spaced(function, start, stop, num, axis, **keywords):
    """function(start, stop, num, ...) of bounds that may be arrays: a task then, of the types of three numbers."""
    if not any_of_ours(start, stop, keywords.get("base")):
        result = function(start, stop, num, axis=axis, **keywords)
        if type(result) is not tuple:
            return put_on(as_array(result), None)
        return put_on(tuple(x if type(x) is float else as_array(x) for x in result), None)
    result = at_once(function, (start, stop, num), {"axis": axis, **keywords}) if num <= SMALL else LATER
    if result is not LATER:
        return result
    start, stop = (as_array(x) if type(x) in (list, tuple) else x for x in (start, stop))
    few = min(num, 3)
    with numpy.errstate(all="ignore"):
        like = function(*stand_in([start, stop]), few, axis=axis, **{key: stand_in(x) for key, x in keywords.items()})
    result, *step = like if type(like) is tuple else (like,)
    shape = list(result.shape)
    shape[normalize_axis_index(axis, len(shape))] = num
    known = [x for x in step if type(x) is float]               # nan, of one number
    parts = [numpy.broadcast_to(result.dtype.type(0), shape), *(() if known else step)]
    parts = tasks(function, start, stop, num, axis=axis, like=parts, **keywords,
                  flat=lambda found: found[:len(parts)] if step else (found,))
    return (*parts, *known) if step else parts[0]


@op("0, 2", "0, 2, 5", "v, 2, 5, axis=1", "0, 3, 4, base=v", "0, v, 4, base=s", "v, 2, 3, dtype=int",
    "0, 3, 4, base=2.0", "0, 3, 4, dtype=int", "0, 1, 3, False", kind="host")
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """base ** linspace(start, stop, num)."""
    return _spaced(numpy.logspace, start, stop, num, axis, endpoint=endpoint, base=base, dtype=native(dtype))


@op("1, 1000, 4", "1, 256, 9, dtype=int", "-1, -1000, 4", "1j, 1000j, 4", "0, 1, 3", "v + 2, 9, 3", "v * 0, 9, 3",
    "1, v + 2, 4, axis=-1", "1, c, 3", kind="host")
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """`num` numbers from start to stop, each the same multiple of the one before."""
    return _spaced(numpy.geomspace, start, stop, num, axis, endpoint=endpoint, dtype=native(dtype))


# -- matrices and grids ----------------------------------------------------------------------------

@op("3", "2, 3", "3, 2, 1", "3, k=-1", "3, dtype=int", "3, k=5", "3, 3, -2", "0", "-1", "2, order='F'",
    "2, device='gpu'", "2, 3, 1 << 63", "2, 3, -1 << 63", "0, 0, 1", "3, k=-3", "2, 2, 0.5")
def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):
    """Ones on the k-th diagonal of an N x M matrix, zeros elsewhere."""
    n = operator.index(N)
    m = n if M is None else operator.index(M)
    result = zeros((n, m), dtype, order, device=device)
    diagonal_of(result, max(min(operator.index(k), m), -n))[...] = 1
    return result


@op("3", "2, int", "-1")
def identity(n, dtype=None, *, like=None):
    """The n x n identity matrix."""
    return eye(n, dtype=float if dtype is None else dtype)


@op("3", "3, 4", "3, 4, 1", "3, k=-1, dtype=int", "'a'", "2, k='a'")
def tri(N, M=None, k=0, dtype=float, *, like=None):
    """Ones at and below the k-th diagonal."""
    m = N if M is None else M
    try:
        rows, columns = as_array(numpy.arange(N)), as_array(numpy.arange(-k, m - k))
    except TypeError:
        numpy.tri(N, M, k, dtype)               # in its words
        raise
    return wrap_ufunc(numpy.greater_equal).outer(rows, columns).astype(dtype, copy=False)


@op("3", "3, 4", "0", "-1", "2.5")
def diag_indices(n, ndim=2):
    """The indices of the main diagonal of an array with `ndim` axes of length n: the same for each axis."""
    return (arange(n),) * ndim


@op("(2, 3)", "(2, 3), float", "(2, 3), sparse=True", "(0, 3)", "5", "(70, 80)", "(20, 20, 20), 'f4'")
def indices(dimensions, dtype=int, sparse=False):
    """The index of each element of a grid along each axis: one array, or with sparse=True a tuple that broadcasts."""
    dimensions = tuple(dimensions)
    try:
        dtype = native(dtype)
    except NotHeld:
        return numpy.indices(unwrap(dimensions), dtype, sparse)
    ndim = len(dimensions)
    if sparse or math.prod(dimensions) * ndim <= SMALL:
        result = numpy.indices(dimensions, dtype, sparse)
        return tuple(map(as_array, result)) if sparse else as_array(result)
    result = empty((ndim, *dimensions), dtype)
    for axis, n in enumerate(dimensions):
        result[axis] = arange(n, dtype=dtype).reshape((-1,) + (1,) * (ndim - 1 - axis))
    return result


@op("lambda i, j: i * 10 + j, (2, 3)", "lambda i, j: i == j, (3, 3), dtype=int")
def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    """function(indices of the first axis, of the second, ...): called once, with arrays."""
    return function(*indices(shape, dtype), **kwargs)


@op("v, [1, 2]", "[1, 2], [3, 4, 5], indexing='ij'", "v, v, sparse=True", "[1, 2], [3, 4], indexing='x'", "v")
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinate matrices of coordinate vectors; views with copy=False, read-only where they repeat an element."""
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
    if not sparse:
        out = tuple(x if x.shape == tuple(shape) else spread(x, tuple(shape)) for x in out)
    return tuple(x.copy() for x in out) if copy else out if type(out) is tuple else _SPARSE(out)


_SPARSE = type(numpy.meshgrid(0, sparse=True, copy=False))      # before NumPy 2.5 a list
op("b'\\x00\\x01\\x02\\x03', 'u1'", "bytes(16)", "bytes(15)", "bytes(16), 'i4', 2, 4",
   "v", "a[1:], 'i2', 5, 16", "a.T", "a[:, 1:]", "a, 'f4', 99", "a, 'f4', -1, 3", "s", "b, 'u1'",
    "a, offset=8")(constructors.frombuffer)
op("(k * k for k in range(5)), int", "range(3), 'f4', 2")(constructors.fromiter)


# -- repeated and moved ----------------------------------------------------------------------------

@op("a, 2", "v, (2, 3)", "a, (2, 1, 2)", "2.5, 3", "a, 0", "a, -1", "[1, 2], 2", "s, (2, 2)")
def tile(A, reps):
    """A repeated along each axis."""
    a, reps = as_array(A), items(reps)
    k, m = reps if len(reps) == 2 else (1, *reps) if len(reps) == 1 else (0, 0)
    if not (type(k) is type(m) is int and k > 0 < m and 0 < a.ndim <= 2):
        return _tile(a, reps)
    rows, columns = a.shape if a.ndim == 2 else (1, a.size)
    whole = broadcast_to(a.reshape(rows, 1, columns), (k, rows, m, columns)).copy()
    return whole.reshape(m * columns if a.ndim == len(reps) == 1 else (k * rows, m * columns))


def _tile(a, reps):
    """The same of any number of axes."""
    n = max(a.ndim, len(reps))
    reps = (1,) * (n - len(reps)) + reps
    shape = (1,) * (n - a.ndim) + a.shape
    if all(r == 1 for r in reps):
        return a.reshape(shape).copy()
    if any(r < 0 for r in reps):
        raise ValueError("negative dimensions are not allowed")
    if all(r == 1 for r in reps[n - a.ndim:]):                      # the whole of it, several times
        return broadcast_to(a, (*reps[:n - a.ndim], *a.shape)).copy()
    spread = a.reshape(tuple(x for d in shape for x in (1, d)))
    spread = broadcast_to(spread, tuple(x for r, d in zip(reps, shape) for x in (r, d)))
    # A copy first: a broadcast view is read-only, and of a single element reshape would not copy it.
    return spread.copy().reshape(tuple(r * d for r, d in zip(reps, shape)))


_tile = small_first(_tile, numpy.tile, FEW)


@op("a, 2", "a, 3, axis=1", "a, [1, 2, 0], axis=0", "v, [1, 2]", "v, 0", "v, -1", "3, 4", "i, 2, 5",
    "v, [1, 0, 2, 1]", "v, 1.5",
    method=True)
def repeat(a, repeats, axis=None):
    """Each element repeated, so many times or as many times as an array says; that one's values are waited for."""
    a = as_array(a)
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis")
    a, axis = a if axis is not None and a.ndim else a.ravel(), axis or 0
    axis = normalize_axis_index(axis, a.ndim)
    if type(repeats) is int:
        result = small_repeat(a, repeats, axis)
        if result is not None:
            return result
    elif type(repeats) is list and len(repeats) <= SMALL:
        result = at_once(numpy.repeat, (a, numpy.asarray(repeats), axis))
        if result is not LATER:
            return result
    counts = numpy.asarray(plain(repeats))
    if counts.ndim or counts.dtype.kind not in "iu" or counts < 0:
        return take(a, numpy.repeat(numpy.arange(a.shape[axis]), plain(repeats)), axis)
    before, n, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1:]
    r = int(counts)
    result = empty((*before, n * r, *after), a.dtype)
    result.reshape((*before, n, r, *after))[...] = a.reshape((*before, n, 1, *after))
    return result


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
        axes = normalize_axis_tuple(axis, a.ndim, allow_duplicate=True)
        for s, k in numpy.broadcast(numpy.asarray(plain(shift)), numpy.asarray(axes)):
            shifts[int(k)] = shifts.get(int(k), 0) + int(s)
    if not a.ndim:
        raise ValueError("not enough values to unpack (expected 2, got 0)")         # NumPy's, of what has no axes
    result = empty_like(a)
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
    "v, 1, 'edge', x=1", "a, (1, 2), 'maximum', stat_length=2", "a, 1, 'median'",
    "v, 3, 'linear_ramp', end_values=(1, 9)", "a, 1, s",
    "a, 1, constant_values=s", "a, {0: 1}, 'mean'", "v, 1, 'x'", "i, 2, 'mean'", "e, 1, 'mean'", "a, -1, 'mean'",
    "v, 1.5, 'mean'",
    "a, 1, lambda row, *rest: None", kind="host")
def pad(array, pad_width, mode="constant", **kwargs):
    """Elements added before and after along each axis. Waits where `mode` is a function, and for options."""
    a = as_array(array)
    value = kwargs.get("constant_values", 0)
    number = is_number(value) and not set(kwargs) - {"constant_values"}
    if mode in _BORDERS and not kwargs or mode == "constant" and number:
        width = _pad_width(pad_width, a.ndim)
        if width is not None and (mode == "constant" or _fits(a.shape, width, mode)):
            return _padded(a, width, mode, value)
    result = at_once(numpy.pad, (a, pad_width, mode), kwargs, 4 * SMALL)
    if result is not LATER:
        return result
    width = _pad_width(pad_width, a.ndim)
    if width is None or not isinstance(mode, str):
        return call(numpy.pad, (a, pad_width, mode), kwargs)
    kwargs = unwrap(kwargs)
    like = numpy.pad(stand_in(a, tuple(min(n, 1) for n in a.shape)), 0, mode, **kwargs)     # or its errors
    if not a.size:
        numpy.pad(stand_in(a), width, mode, **kwargs)           # an axis that cannot be extended
    shape = tuple(n + before + after for n, (before, after) in zip(a.shape, width))
    result = task(numpy.pad, a, pad_width=width or 0, mode=mode, shape=shape, dtype=like.dtype, **kwargs)
    return result.copy("F") if a.flags.fnc else result


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
    order = "F" if a.flags.fnc else "C"
    result = full(shape, value, a.dtype, order) if mode == "constant" else constructors.empty(shape, a.dtype, order)
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


@op("a, (2, 2)", "a, 30", "v, (3, 4)", "a, 0", "e, (2, 2)", "s, 3", "a, -1", "v, (2, -1)", "a, ()", "3, (2,)",
    "a.T, (5, 5)", "a, np.uint8(7)", "v, (np.uint8(2), np.uint8(3))", foreign=True, small=FEW)
def resize(a, new_shape):
    """The elements, again and again, in another shape: a copy."""
    shape = tuple(map(operator.index, items(new_shape)))         # unsigned ones have no negatives
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    a, size = as_array(a).ravel(), math.prod(shape)
    if not a.size or not size:
        return constructors.zeros_like(a, order="C", shape=shape)
    times = -(-size // a.size)
    return broadcast_to(a, (times, a.size)).copy().reshape(-1)[:size].reshape(shape)


@op("a", "a.T", "a, 'f4'", "a, None, 'F'", "a, None, ['C', 'O', 'W']", "a[:, ::2], requirements='C'", "[1, 2], float",
    "a, int, 'CF'",
    "a, None, 'X'", "a.T, requirements=['A', 'E']", "np.broadcast_to(v, (3, 4)), None, 'W'")
def require(a, dtype=None, requirements=None, *, like=None):
    """An array of a type with flags: 'C' or 'F' order, 'O' memory of its own, 'W' writeable."""
    numpy.require(0, None, requirements)            # its errors
    flags = {x.upper()[0] for x in requirements or ()}
    order = "F" if "F" in flags else "C" if "C" in flags else "A"
    result = (constructors.asarray if "E" in flags else constructors.asanyarray)(a, dtype, order=order)
    lacking = "O" in flags and not result.flags.owndata or "W" in flags and not result.flags.writeable
    return result.copy(order) if lacking else result
