"""The gradients of operations: of each, how the gradient g of its result becomes those of its arguments.

A function of g and of those arguments that it names; "ans" is the result, "x_shape" the shape of an argument x. What it
returns may still have the wider shape that the argument was broadcast to. All is written with functions that have
gradients themselves, so there are gradients of any order. At jumps and kinks the gradient is that of one side.

Rules follow HIPS autograd (numpy_vjps.py) and JAX (lax.py) where those are definite; elements that are largest together
share the gradient evenly, as in both.
"""

import importlib
import inspect
import math

import numpy

from dflow import numpy as np
from dflow._array.core import is_array
from dflow._functions.elements import is_number
from dflow._functions.numpy_inline import small_first
from dflow._functions.views import strided
from dflow._tracing import tape
from dflow._tracing.tape import Rule, add_form, add_rule


def has_gradient(*gradients, joint=None):
    """Decorates a function whose gradients these are, by argument, also over complex numbers: it is recorded as one."""

    def add(function):
        parameters = inspect.signature(function).parameters.values()
        names, defaults = [p.name for p in parameters], [p.default for p in parameters]
        add_rule(function, Rule(function.__name__, names, gradients, joint, defaults, "own"))
        return small_first(function, None, 0)

    return add


@has_gradient(lambda g, key: g[key])
def added(g, shape, key):
    """Zeros of a shape, with g added at an index, which may have MXNet's labels: whole numbers of a floating type."""
    z = np.zeros(shape, g.dtype)
    np.add.at(z, tuple(map(_whole, key)) if type(key) is tuple else _whole(key), g)
    return z


def _whole(index):
    return index.astype(numpy.intp) if is_array(index) and index.dtype.kind == "f" else index


@has_gradient(lambda g, index, axis: np.take(g, index, axis, mode="clip"))
def added_inside(g, shape, index, axis):
    """Zeros of a shape, with g added at indices along an axis that are all within it: nobody waits for them."""
    z = np.zeros(shape, g.dtype)
    offsets = np.asarray(index).astype(numpy.intp, copy=False) * z.strides[axis]
    offsets = offsets.reshape((1,) * axis + offsets.shape + (1,) * (z.ndim - axis - 1))
    for k, (n, stride) in enumerate(zip(shape, z.strides)):
        if k != axis:
            behind = g.ndim - 1 - k if k < axis else z.ndim - 1 - k         # axes of g
            offsets = offsets + (np.arange(n, dtype=numpy.intp) * stride).reshape((n,) + (1,) * behind)
    np.add.at_bytes(z, offsets, g)
    return z


def bare(function):
    """What is recorded of a function in a namespace: the function of its row."""
    return getattr(function, "__wrapped__", function)


def recorded_as(function):
    """Decorates what is called for a function while it is recorded: the same, made of what has gradients."""

    def add(form):
        add_form(bare(function), form)
        return form

    return add


def given(out, result):
    """A result, in `out` if there is one."""
    if out is None:
        return result
    out[...] = result
    return out


# -- views -----------------------------------------------------------------------------------------
#
# A geometry is (shape, strides, offset), the last two in bytes. `own` is that of a view, `whole` that of its array.


def _layout(own, whole, dtype):
    """New zeros that lie in memory as an array does, as that and as a view of it."""
    (shape, strides, offset), (whole_shape, whole_strides, whole_offset) = own, whole
    spans = [(n - 1) * step for n, step in zip(whole_shape, whole_strides)]
    low = sum(span for span in spans if span < 0)
    flat = np.zeros((sum(map(abs, spans)) // dtype.itemsize) + 1, dtype)
    start = offset - whole_offset - low
    return flat, strided(flat[-low // dtype.itemsize:], whole_shape, whole_strides), strided(
        flat[start // dtype.itemsize:], shape, strides)


def _scattered_gradient(g, own, whole):
    return _gathered(g, own, whole)


def _gathered_gradient(g, own, whole):
    return _scattered(g, own, whole)


@has_gradient(_scattered_gradient)
def _scattered(g, own, whole):
    """Zeros like an array, but for g where the view has its elements; added where it has one twice."""
    flat, array, view = _layout(own, whole, g.dtype)
    if view.flags.writeable:
        view[...] = g
    else:
        low = sum((n - 1) * step for n, step in zip(*whole[:2]) if step < 0)
        np.add.at(flat, (_places(own) - whole[2] - low) // g.itemsize, g.ravel())
    return array


def _places(geometry):
    """The byte that each element begins at."""
    shape, strides, offset = geometry
    places = numpy.full(shape, offset)
    for axis, (n, stride) in enumerate(zip(shape, strides)):
        places += (numpy.arange(n) * stride).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    return places.ravel()


def _repeats(shape, strides):
    """Whether elements may lie in one place."""
    reach = 0
    for step, n in sorted((abs(step), n) for step, n in zip(strides, shape) if n > 1):
        if step <= reach:
            return True
        reach += step * (n - 1)
    return False


@has_gradient(_gathered_gradient)
def _gathered(a, own, whole):
    """Of an array, the elements of the view."""
    _, array, view = _layout(own, whole, a.dtype)
    array[...] = a
    return view.copy()


def _dense(shape, strides, itemsize):
    """The axes from the outermost in memory to the innermost, where these leave no gap; else None."""
    order = sorted(range(len(shape)), key=lambda i: (-strides[i], i))
    for i in reversed(order):
        if shape[i] != 1 and strides[i] != itemsize:
            return None
        itemsize *= shape[i]
    return order


def _permuted(x, order):
    return x if order == sorted(order) else x.transpose(order)


def _spread(g, own, whole):
    """The gradient of an array; g is that of a view of it."""
    (shape, strides, offset), (whole_shape, whole_strides, whole_offset) = own, whole
    if 0 in shape:
        return np.zeros(whole_shape, g.dtype)
    repeated = tuple(i for i, step in enumerate(strides) if step == 0 and shape[i] > 1)
    if repeated:
        g = np.sum(g, axis=repeated, keepdims=True, dtype=g.dtype)
        shape = g.shape
    if offset == whole_offset and g.size == math.prod(whole_shape):
        order, back = _dense(shape, strides, g.itemsize), _dense(whole_shape, whole_strides, g.itemsize)
        if order is not None and back is not None:
            g = _permuted(g, order).reshape([whole_shape[i] for i in back])
            return _permuted(g, sorted(range(len(back)), key=back.__getitem__))
    if _repeats(*whole[:2]):                # a view of such a one: g goes to one of the elements in a place
        places = _places(whole)
        order = numpy.argsort(places, kind="stable")
        index = order[numpy.searchsorted(places, _places((shape, strides, offset)), sorter=order)]
        return added(g.ravel(), (places.size,), index).reshape(whole_shape)
    return _scattered(g, (shape, strides, offset), whole)


def _spread_part(g, own, whole, dtype):
    """The same of an array of complex numbers; the view is of parts of them."""
    if dtype.kind != "c" or 2 * g.itemsize != dtype.itemsize:
        raise NotImplementedError(f"a view of an array of {dtype} as {g.dtype} has no gradient")
    shape, strides, offset = whole
    parts = _spread(g, own, ((*shape, 2), (*strides, g.itemsize), offset))
    return parts[..., 0] + 1j * parts[..., 1]


def _sum_to(g, shape):
    """The gradient of what had this shape before it was broadcast."""
    if g.ndim < len(shape):             # a store drops axes of length 1 in front
        g = g.reshape((1,) * (len(shape) - g.ndim) + g.shape)
    extra = g.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(extra + i for i, n in enumerate(shape) if n == 1 and g.shape[extra + i] != 1)
    if axes:
        g = np.sum(g, axis=axes, keepdims=True)
    if extra > 0:
        g = g.reshape(g.shape[extra:])
    return g if g.shape == shape else np.broadcast_to(g, shape)


def _kept(g, own, whole):
    return g - _scattered(_gathered(g, own, whole), own, whole)


add_rule("write through", Rule("write through", ("a", "view", "own", "whole"), (
    _kept, lambda g, own, whole: _gathered(g, own, whole)), over_complex="own"))
gradient_hooks = tape.table()
gradient_hooks.conjugate = np.conjugate
gradient_hooks.ones_like = np.ones_like
gradient_hooks.spread = _spread
gradient_hooks.spread_part = _spread_part
gradient_hooks.sum_to = _sum_to
gradient_hooks.zeros = np.zeros
tape.check_table()

# -- elementwise -----------------------------------------------------------------------------------

LN2, LN10 = math.log(2), math.log(10)
DEGREES = math.pi / 180


# What these say of real numbers holds for complex ones: as it is, or between conjugates.
OWN = "positive negative conjugate add subtract absolute maximum minimum fmax fmin rint vecdot vecmat".split()
HOLOMORPHIC = """multiply divide power float_power exp exp2 expm1 log log2 log10 log1p sqrt square reciprocal sin cos
    tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh matmul matvec""".split()


def of_ufunc(name, *gradients, joint=None):
    ufunc = numpy._core.umath.clip if name == "clip" else getattr(numpy, name, None)
    over_complex = "own" if name in OWN else "conjugate" if name in HOLOMORPHIC else None
    if ufunc is not None:
        add_rule(ufunc, Rule(name, ("x", "y", "z")[:ufunc.nin], gradients, joint, (), over_complex))


def conjugate(x):
    """The conjugate; of real numbers no copy is made."""
    return np.conjugate(x) if np.iscomplexobj(x) else x


def _of_absolute(g, x, ans):
    if x.dtype.kind != "c":
        return g * np.sign(x)
    return g * x / np.where(np.equal(ans, 0), 1, ans)


def _power_base(g, x, y):
    if is_number(y):
        return g * (y * x ** (y - 1)) if y != 2 else g * (2 * x)
    return g * np.where(np.equal(y, 0), 0, y * np.power(x, np.where(np.equal(y, 0), 1, y - 1)))


def _power_exponent(g, x, y, ans):
    return g * ans * np.log(np.where(np.equal(x, 0), 1, x))


def _magnitude(x):
    return np.where(np.signbit(x), -1.0, 1.0)


ELEMENTWISE = {
    "positive": (lambda g: g,),
    "negative": (lambda g: -g,),
    "conjugate": (conjugate,),
    "add": (lambda g: g, lambda g: g),
    "subtract": (lambda g: g, lambda g: -g),
    "multiply": (lambda g, y: g * y, lambda g, x: g * x),
    "divide": (lambda g, y: g / y, lambda g, y, ans: -g * ans / y),
    "remainder": (lambda g: g, lambda g, x, y: -g * np.floor(x / y)),
    "fmod": (lambda g: g, lambda g, x, y: -g * np.trunc(x / y)),
    "power": (_power_base, _power_exponent),
    "float_power": (_power_base, _power_exponent),
    "maximum": (lambda g, x, y: g * np.greater_equal(x, y), lambda g, x, y: g * np.less(x, y)),
    "minimum": (lambda g, x, y: g * np.less_equal(x, y), lambda g, x, y: g * np.greater(x, y)),
    "fmax": (lambda g, x, ans: g * np.equal(x, ans), lambda g, x, ans: g * np.not_equal(x, ans)),
    "fmin": (lambda g, x, ans: g * np.equal(x, ans), lambda g, x, ans: g * np.not_equal(x, ans)),
    "absolute": (_of_absolute,),
    "fabs": (lambda g, x: g * np.sign(x),),
    "exp": (lambda g, ans: g * ans,),
    "exp2": (lambda g, ans: g * ans * LN2,),
    "expm1": (lambda g, ans: g * (ans + 1),),
    "log": (lambda g, x: g / x,),
    "log2": (lambda g, x: g / (x * LN2),),
    "log10": (lambda g, x: g / (x * LN10),),
    "log1p": (lambda g, x: g / (x + 1),),
    "sqrt": (lambda g, ans: g * 0.5 / ans,),
    "cbrt": (lambda g, ans: g / (3 * ans * ans),),
    "square": (lambda g, x: g * (2 * x),),
    "reciprocal": (lambda g, ans: -g * ans * ans,),
    "sin": (lambda g, x: g * np.cos(x),),
    "cos": (lambda g, x: -g * np.sin(x),),
    "tan": (lambda g, ans: g * (1 + ans * ans),),
    "arcsin": (lambda g, x: g / np.sqrt(1 - x * x),),
    "arccos": (lambda g, x: -g / np.sqrt(1 - x * x),),
    "arctan": (lambda g, x: g / (1 + x * x),),
    "sinh": (lambda g, x: g * np.cosh(x),),
    "cosh": (lambda g, x: g * np.sinh(x),),
    "tanh": (lambda g, ans: g * (1 - ans * ans),),
    "arcsinh": (lambda g, x: g / np.sqrt(x * x + 1),),
    "arccosh": (lambda g, x: g / (np.sqrt(x - 1) * np.sqrt(x + 1)),),
    "arctanh": (lambda g, x: g / (1 - x * x),),
    "arctan2": (lambda g, x, y: g * y / (x * x + y * y), lambda g, x, y: -g * x / (x * x + y * y)),
    "hypot": (lambda g, x, ans: g * x / ans, lambda g, y, ans: g * y / ans),
    "logaddexp": (lambda g, x, ans: g * np.exp(x - ans), lambda g, y, ans: g * np.exp(y - ans)),
    "logaddexp2": (lambda g, x, ans: g * np.exp2(x - ans), lambda g, y, ans: g * np.exp2(y - ans)),
    "deg2rad": (lambda g: g * DEGREES,),
    "radians": (lambda g: g * DEGREES,),
    "rad2deg": (lambda g: g / DEGREES,),
    "degrees": (lambda g: g / DEGREES,),
    "ldexp": (lambda g, y: np.ldexp(g, y),),
    "clip": (lambda g, x, y, z: g * np.logical_and(np.greater_equal(x, y), np.less_equal(x, z)),
             lambda g, x, y, z: g * np.logical_and(np.less(x, y), np.less_equal(y, z)),
             lambda g, x, y, z: g * np.greater(np.maximum(x, y), z)),
    "nextafter": (lambda g: g,),
    "copysign": (lambda g, x, y: g * (_magnitude(x) * _magnitude(y)),),
}
# Constant but for jumps.
STEPS = "floor ceil trunc rint sign floor_divide heaviside spacing"

for _name, _gradients in ELEMENTWISE.items():
    of_ufunc(_name, *_gradients)
for _name in STEPS.split():
    of_ufunc(_name)
of_ufunc("modf", joint=lambda g: (np.zeros_like(g[1]) if g[0] is None else g[0],))
of_ufunc("divmod", joint=lambda g, x, y: (
    2 * (np.zeros_like(g[0]),) if g[1] is None else (g[1], -g[1] * np.floor(x / y))))
of_ufunc("frexp", joint=lambda g, x: (None if g[0] is None else np.ldexp(g[0], -np.frexp(x)[1]),))

# -- reductions and running ones -------------------------------------------------------------------

REDUCE = ("array", "axis", "dtype", "out", "keepdims", "initial", "where")


def _widened(g, shape, axis, keepdims):
    """What a reduction of that shape along axes gave, with an axis of length 1 in place of each of those."""
    if keepdims or not shape:
        return g
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = {k % len(shape) for k in axes}
    return g.reshape([1 if k in axes else n for k, n in enumerate(shape)])


def _of_sum(g, array_shape, axis, keepdims, where):
    g = np.broadcast_to(_widened(g, array_shape, axis, keepdims), array_shape)
    return g if where is True else np.where(where, g, 0)


def _of_extreme(g, array, axis, keepdims, where, ans):
    """Shared by those that are the largest, or smallest, together."""
    shape = array.shape
    found = np.equal(array, _widened(ans, shape, axis, keepdims))
    if where is not True:
        found = np.logical_and(found, where)
    count = np.sum(found, axis=axis, keepdims=True) if shape else 1
    return np.where(found, _widened(g, shape, axis, keepdims) / count, 0)


def _of_log_sum(exp):
    def gradient(g, array, axis, keepdims, where, ans):
        g, ans = (_widened(x, array.shape, axis, keepdims) for x in (g, ans))
        g = g * exp(array - ans)
        return g if where is True else np.where(where, g, 0)

    return gradient


def _others(x, axis):
    """Of each element along an axis, the product of the others."""
    ones = np.ones_like(x[(slice(None),) * axis + (slice(0, 1),)])
    before = np.cumprod(np.concatenate([ones, x], axis), axis)[(slice(None),) * axis + (slice(0, -1),)]
    turned = np.flip(x, axis)
    after = np.cumprod(np.concatenate([ones, turned], axis), axis)[(slice(None),) * axis + (slice(0, -1),)]
    return before * np.flip(after, axis)


def _of_product(g, array, axis, keepdims, initial, where):
    x = array if where is True else np.where(where, array, 1)
    g = _widened(g, x.shape, axis, keepdims)
    if x.ndim == 0 or x.size == 0:
        return g
    axes = [k % x.ndim for k in (range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,))]
    rest = [k for k in range(x.ndim) if k not in axes]
    moved = x.transpose(rest + axes)
    others = _others(moved.reshape([x.shape[k] for k in rest] + [-1]), len(rest)).reshape(moved.shape)
    g = g * others.transpose(sorted(range(x.ndim), key=(rest + axes).__getitem__))
    if initial is not numpy._NoValue and initial is not None:
        g = g * initial
    return g if where is True else np.where(where, g, 0)


def _backwards(x, axis):
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis)


def _of_running_product(g, array, axis):
    """r[i] = g[i] + x[i + 1] * r[i + 1], by steps that double; times the product of the elements before i."""
    axis = (axis or 0) % array.ndim
    lead, n = (slice(None),) * axis, array.shape[axis]
    ones = np.ones_like(array[(*lead, slice(1))])
    before = np.cumprod(np.concatenate([ones, array[(*lead, slice(-1))]], axis), axis)
    factor, step = np.concatenate([array[(*lead, slice(1, None))], 0 * ones], axis), 1
    while step < n:
        near, far = (*lead, slice(n - step)), (*lead, slice(step, None))
        g = np.concatenate([g[near] + factor[near] * g[far], g[(*lead, slice(n - step, None))]], axis)
        factor = np.concatenate([factor[near] * factor[far], factor[(*lead, slice(n - step, None))] * 0], axis)
        step *= 2
    return g * before


def _of_running_extreme(g, array, axis, ans):
    """For the last of those that are the largest, or smallest, so far."""
    axis = (axis or 0) % array.ndim
    places = list(np.ogrid[tuple(map(slice, array.shape))])
    places[axis] = np.maximum.accumulate(np.where(np.equal(array, ans), places[axis], 0), axis)
    return added(g, array.shape, tuple(places))


def _of_sums_between(g, array_shape, indices, axis):
    starts, axis = numpy.asarray(indices), (axis or 0) % len(array_shape)
    ends = numpy.maximum(numpy.append(starts[1:], array_shape[axis]), starts + 1)
    which = numpy.repeat(numpy.arange(len(starts)), ends - starts)
    places = numpy.concatenate([numpy.arange(*span) for span in zip(starts, ends)])
    return added_inside(np.take(g, which, axis), array_shape, places, axis)


for _name, _gradient in {"add": _of_sum, "multiply": _of_product, "maximum": _of_extreme, "minimum": _of_extreme,
                         "fmax": _of_extreme, "fmin": _of_extreme, "logaddexp": _of_log_sum(np.exp),
                         "logaddexp2": _of_log_sum(np.exp2)}.items():
    _complex = "conjugate" if _name == "multiply" else "own"
    add_rule((getattr(numpy, _name), "reduce"), Rule(_name + ".reduce", REDUCE, (_gradient,), over_complex=_complex))
add_rule((numpy.add, "accumulate"), Rule("add.accumulate", REDUCE[:4], (
    lambda g, axis: _backwards(g, axis or 0),), over_complex="own"))
add_rule((numpy.add, "reduceat"), Rule("add.reduceat", ("array", "indices", "axis", "dtype"), (
    _of_sums_between,), over_complex="own"))
add_rule((numpy.multiply, "accumulate"), Rule("multiply.accumulate", REDUCE[:4], (
    _of_running_product,), over_complex="conjugate"))
for _name in ("maximum", "minimum", "fmax", "fmin"):
    add_rule((getattr(numpy, _name), "accumulate"), Rule(_name + ".accumulate", REDUCE[:4], (
        _of_running_extreme,), over_complex="own"))

# -- selection -------------------------------------------------------------------------------------

def _of_index(g, a_shape, key):
    return added(g, a_shape, key)


def _without(g, key):
    g = g.copy()
    g[key] = 0
    return g


def _of_take(g, a_shape, indices, axis, mode):
    shape, k = ((math.prod(a_shape),), 0) if axis is None else (a_shape, axis % len(a_shape))
    if mode == "raise":
        return added(g, shape, (slice(None),) * k + (indices,)).reshape(a_shape)
    indices = np.asarray(indices)
    indices = indices % max(shape[k], 1) if mode == "wrap" else np.clip(indices, 0, shape[k] - 1)
    return added_inside(g, shape, indices, k).reshape(a_shape)


def _of_concatenate(g, parts_shape, axis):
    axis %= g.ndim
    found, start = [], 0
    for shape in parts_shape:
        found.append(g[(slice(None),) * axis + (slice(start, start + shape[axis]),)])
        start += shape[axis]
    return (found,)


def of_order(g, a, axis, ans):
    """ans: the elements of a along an axis in another order; of equal ones it does not matter which is which."""
    if axis is None:
        return of_order(g, a.ravel(), 0, ans).reshape(a.shape)
    if not a.ndim:
        return g
    z = np.zeros(a.shape, g.dtype)
    g = np.take_along_axis(g, np.argsort(ans, axis, kind="stable"), axis)
    np.put_along_axis(z, np.argsort(a, axis, kind="stable"), g, axis)
    return z


def _of_moving(name, slots, *gradients, joint=None):
    add_rule(name, Rule(name, slots, gradients, joint, over_complex="own"))


_of_moving("getitem", ("a", "key"), _of_index)
_of_moving("setitem", ("a", "key", "value"), _without, None, lambda g, key: g[key])
_of_moving("where", ("condition", "x", "y"), None, lambda g, condition: np.where(condition, g, 0),
           lambda g, condition: np.where(condition, 0, g))
_of_moving("take", ("a", "indices", "axis", "mode"), _of_take)
_of_moving("concatenate", ("parts", "axis"), joint=_of_concatenate)
_of_moving("sort", ("a", "axis"), of_order)

# -- products --------------------------------------------------------------------------------------


def _of_left(g, x, y):
    """x @ y, of one or two or more dimensions."""
    if np.ndim(y) == 1:
        return g * y if np.ndim(x) == 1 else np.expand_dims(g, -1) * y
    if np.ndim(x) == 1:
        return np.matmul(y, np.expand_dims(g, -1))[..., 0] if np.ndim(y) > 1 else g * y
    return np.matmul(g, np.swapaxes(y, -1, -2))


def _of_right(g, x, y):
    if np.ndim(x) == 1:
        return g * x if np.ndim(y) == 1 else np.expand_dims(g, -2) * np.expand_dims(x, -1)
    if np.ndim(y) == 1:
        return np.matmul(np.swapaxes(x, -1, -2), np.expand_dims(g, -1))[..., 0]
    return np.matmul(np.swapaxes(x, -1, -2), g)


of_ufunc("matmul", _of_left, _of_right)
of_ufunc("vecdot", lambda g, y: np.expand_dims(conjugate(g), -1) * y, lambda g, x: np.expand_dims(g, -1) * x)
of_ufunc("matvec", lambda g, y: np.expand_dims(g, -1) * np.expand_dims(y, -2),
         lambda g, x: np.matvec(np.swapaxes(x, -1, -2), g))
of_ufunc("vecmat", lambda g, y: np.matvec(y, conjugate(g)), lambda g, x: np.expand_dims(x, -1) * np.expand_dims(g, -2))

# -- what has a constant for a gradient -----------------------------------------------------------

CONSTANT = "all any around digitize empty_like fix ones_like round zeros_like"


for _name in CONSTANT.split():
    add_rule(bare(getattr(np, _name)), Rule(_name, (), over_complex="own"))

for _name in ("numeric", "linalg", "fft", "networks", "recurrent", "draws"):
    importlib.import_module(f"dflow.gradients.{_name}")
