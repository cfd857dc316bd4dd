"""Every ufunc of NumPy, and the functions that are a few of them put together."""

import cmath
import math
import operator
import sys

import numpy

from dflow._array.core import array as as_array
from dflow._array.core import empty, is_array
from dflow._functions.advanced_indexing import result_type, where
from dflow._functions.constructors import array, empty_like, zeros_like
from dflow._functions.numbers import numbers_for
from dflow._functions.numpy_inline import as_scalar, bare
from dflow._functions.out import check_out
from dflow._functions.ufunc import wrap_ufunc
from dflow._functions.views import broadcast_to
from dflow._runtime import fp_errors
from dflow.ops.table import add_row, method, op
from dflow.ops.warn import warn_where

UNARY = ("a", "i", "b", "c", "h", "f", "s", "e", "[1.0, 0.5]", "2.0", "3", "1 << 63",
         "a, where=b, out=np.zeros((3, 4))", "a, a, a", "a, out=np.zeros((3, 3))", "i, dtype='f4'")
BINARY = ("a, v", "i, 3", "i, i.T.reshape(3, 4)", "b, b", "c, 2.5", "h, a", "f, f", "f, 3", "s, a", "e, 1.5", "a, m",
    "3, i",
          "[1, 2, 3, 4], a", "a, v, out=np.zeros((3, 4), 'f4')", "i, i, dtype='f8'",
          "a, a, where=b, out=np.ones((3, 4))")


def _rows_of_ufuncs():
    """NumPy's ufuncs, each with the samples of its arity."""
    for name, function in vars(numpy).items():
        if isinstance(function, numpy.ufunc):
            samples = BINARY if function.nin == 2 else UNARY if function.nin == 1 else ()
            add_row(name, wrap_ufunc(function), samples if not function.signature else ())


_rows_of_ufuncs()

add = wrap_ufunc(numpy.add)
subtract = wrap_ufunc(numpy.subtract)
multiply = wrap_ufunc(numpy.multiply)
true_divide = wrap_ufunc(numpy.true_divide)
maximum = wrap_ufunc(numpy.maximum)
minimum = wrap_ufunc(numpy.minimum)
absolute = wrap_ufunc(numpy.absolute)
isfinite = wrap_ufunc(numpy.isfinite)
isnan = wrap_ufunc(numpy.isnan)
conjugate = wrap_ufunc(numpy.conjugate)
rint = wrap_ufunc(numpy.rint)
_clip = wrap_ufunc(numpy._core.umath.clip)


@op("a, -1, 1", "i, 2, 5", "i, 1.5, None", "a, None, v", "f, 0.25, 0.5", "h, -0.5, 0.5", "i, a_min=2, a_max=None",
    "a, v, 0.5",
    "a, max=0", "a, min=0, max=1, out=np.zeros((3, 4))", "i, -1000000000000000000000, 5", "a", "a, 1", "a, 1, 2, min=1")
def clip(a, a_min=numpy._NoValue, a_max=numpy._NoValue, out=None, *, min=numpy._NoValue, max=numpy._NoValue, **kwargs):
    """Each element of `a` brought into [a_min, a_max]; None means no limit. Shapes broadcast."""
    given = numpy._NoValue
    if a_min is given and a_max is given:
        a_min = None if min is given else min
        a_max = None if max is given else max
    elif a_min is given:
        raise TypeError("clip() missing 1 required positional argument: 'a_min'")
    elif a_max is given:
        raise TypeError("clip() missing 1 required positional argument: 'a_max'")
    elif min is not given or max is not given:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    return _limit(as_array(a), a_min, a_max, out, kwargs)


def _limit(a, low, high, out, keywords):
    if a.dtype.kind in "iu":            # Python integers beyond the type's range limit nothing
        if type(low) is int and low <= numpy.iinfo(a.dtype).min:
            low = None
        if type(high) is int and high >= numpy.iinfo(a.dtype).max:
            high = None
    if low is None and high is None:
        return wrap_ufunc(numpy.positive)(a, out=out, **keywords)
    if low is None:
        return minimum(a, high, out=out, **keywords)
    if high is None:
        return maximum(a, low, out=out, **keywords)
    if out is None and not keywords:
        return _clip(a, low, high)
    return _clip(a, low, high, out=out, **keywords)


@method("clip")
def _clip_method(self, /, min=None, max=None, out=None, **kwargs):
    """clip(self, min, max)."""
    return _limit(self, min, max, out, kwargs)


@op("a", "a, 1", "a * 100, -1", "i, -1", "i, 2", "c, 1", "c64 / 3, 2", "c * 10, -1", "c / 3, 1, np.zeros((3, 4), 'c8')",
    "c[0, 0], 1",
    "c, 1, np.zeros((3, 4))", "h", "b", "a, 2, out=np.zeros((3, 4))", "i.T, 1",
    aliases=("around",),
    method=True)
def round(a, decimals=0, out=None):
    """Rounded to so many decimals; to even when halfway. Integers and bools keep their type."""
    a = as_array(a)
    decimals = operator.index(decimals)
    if out is not None:
        check_out(out, "output must be an array")
        if out.size != a.size:
            raise ValueError("invalid output shape")
    kind = a.dtype.kind
    if kind == "c":                 # each part by itself: a complex division would mix them
        result = empty_like(a) if a.ndim else empty((), a.dtype)        # no scalar, as it is written to
        result = result if out is None else out
        result.real, result.imag = round(a.real, decimals), round(a.imag, decimals)
        return as_scalar(result) if out is None else out
    if kind in "iu":
        return _round_integers(a, decimals, out)
    if kind == "b" and decimals and out is None:
        out = empty_like(a)             # which does not take the product: NumPy's error
    if decimals == 0:
        return rint(a, out=out)
    if out is None and not (a.flags.c_contiguous or a.flags.f_contiguous):
        out = empty(a.shape, a.dtype)   # in C order, as NumPy's
    scale = _power_of_ten(abs(decimals))
    first, last = (multiply, true_divide) if decimals > 0 else (true_divide, multiply)
    return last(rint(first(a, scale, out=out), out=out), scale, out=out)


def _power_of_ten(n):
    return 10.0 ** n if n <= sys.float_info.max_10_exp else math.inf


def _round_integers(a, decimals, out):
    """Nothing to do for decimals; tens and hundreds are rounded in float64."""
    if decimals >= 0:
        result = a.copy("K")
    else:
        scale = _power_of_ten(-decimals)
        result = (rint(a / scale) * scale).astype(a.dtype)
    if out is None:
        return as_scalar(result)
    out[...] = result
    return out


_NUMBERS = (int, float, complex)


@op("a", "c", "i", "b", "2.5", "3j", "[1j, 2]")
def real(val):
    """The real part, as a view; a number's as a number."""
    return val.real if isinstance(val, _NUMBERS) else as_array(val).real


@op("a", "c", "i", "2.5", "3j", "True")
def imag(val):
    """The imaginary part: a view, or zeros for real types; a number's as a number."""
    return val.imag if isinstance(val, _NUMBERS) else as_array(val).imag


@op("c", "c, True", "a", "i")
def angle(z, deg=False):
    """The argument of complex numbers, in radians or degrees."""
    z = as_array(z)
    result = wrap_ufunc(numpy.arctan2)(z.imag, z.real) if z.dtype.kind == "c" else wrap_ufunc(numpy.arctan2)(0, z)
    if deg:
        result *= 180 / numpy.pi
    return result


@op("a", "c", "i")
def isreal(x):
    """Where the imaginary part is zero."""
    return as_array(x).imag == 0


@op("a", "c", "i")
def iscomplex(x):
    """Where the imaginary part is not zero."""
    x = as_array(x)
    return x.imag != 0 if x.dtype.kind == "c" else x != x if x.dtype.kind != "f" else zeros_like(x, bool)[()]


@op("a", "c", "[1]")
def iscomplexobj(x):
    """Whether the type is complex."""
    return issubclass(_type(x), numpy.complexfloating)


@op("a", "c", "[1]")
def isrealobj(x):
    """Whether the type is not complex."""
    return not iscomplexobj(x)


def _type(x):
    try:
        return x.dtype.type
    except AttributeError:
        return numpy.asarray(x).dtype.type


op("a, i", "f, 1.5", "i, 'f2', True", "")(result_type)
_can_cast = bare(numpy.can_cast)


@op("a, 'f4'", "i, float", "'i2', int, 'equiv'", "3, int", "a, int, 'any'")
def can_cast(from_, to, casting="safe"):
    """Whether a cast is allowed by a casting rule."""
    return _can_cast(from_.dtype if is_array(from_) else from_, to, casting)


@op("a, a + 1e-9", "a, v", "n, n, equal_nan=True", "n, n", "i, i + 1, 0.5", "a, a * 1.1, 1e-1")
def isclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    """Where |a - b| <= atol + rtol * |b|; infinities of one sign are close to each other."""
    x, y, atol, rtol = (as_array(value) if is_array(value) or not isinstance(value, (int, float, complex)) else value
                        for value in (a, b, atol, rtol))
    y = _inexact(y) if is_array(y) else float(y) if isinstance(y, int) else y
    with numpy.errstate(invalid="ignore"):
        close = abs(x - y) <= atol + rtol * abs(y)          # not absolute(), which makes arrays of numbers
        result = (close & isfinite(y)) | (x == y)
        if equal_nan:
            result = result | (isnan(x) & isnan(y))
    _check_tolerances(atol, rtol, result)
    return result


def _inexact(x):
    return x.astype(numpy.result_type(x.dtype, 1.0), copy=False)


def _check_tolerances(atol, rtol, result):
    """What NumPy says of tolerances that are no finite numbers: errstate(invalid=...) decides if it warns or raises."""
    if is_array(atol) or is_array(rtol):
        atol, rtol = array(atol), array(rtol)           # copies, which stay as they are until a warning names them
        wrong = ~(isfinite(atol).all() & isfinite(rtol).all())
    else:
        wrong = not (cmath.isfinite(atol) and cmath.isfinite(rtol))

    def text():
        return f"One of rtol or atol is not valid, atol: {atol}, rtol: {rtol}"

    mode = fp_errors.modes()["invalid"]
    if mode == "raise" and wrong:
        raise FloatingPointError(text())
    if mode == "warn":
        warn_where(wrong, text, result)


@op("a, a", "a, v", "n, n", "n, n, equal_nan=True", kind="blocking")
def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    """Whether all elements are close: a Python bool, so the call waits."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


@op("a, a", "a, v", "n, n", "n, n, equal_nan=True", "a, a.T", kind="blocking")
def array_equal(a1, a2, equal_nan=False):
    """Whether shapes and all elements are equal: a Python bool, so the call waits."""
    try:
        a1, a2 = as_array(a1), as_array(a2)
    except ValueError:                                  # no array, as rows of several lengths
        return False
    if a1.shape != a2.shape:
        return False
    equal = a1 == a2
    if equal_nan and a1.dtype.kind in "fc" and a2.dtype.kind in "fc":
        equal = equal | (isnan(a1) & isnan(a2))
    return bool(equal.all())


@op("a, a", "a, v", "a, m", kind="blocking")
def array_equiv(a1, a2):
    """Whether the two broadcast to equal arrays: a Python bool, so the call waits."""
    try:
        a1, a2 = as_array(a1), as_array(a2)
        shape = a1.shape if a1.shape == a2.shape else numpy.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return False
    return bool((broadcast_to(a1, shape) == broadcast_to(a2, shape)).all())


@op("n", "n, nan=5.0", "n, posinf=1.0, neginf=-1.0", "i", "c", "f")
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """NaN, inf and -inf replaced by numbers: 0 and the largest of the type, unless given."""
    x = array(x, copy=copy)                             # not a scalar, which stays as it is
    if x.dtype.kind not in "fc":
        return x if x.ndim else x[()]
    for part in (x.real, x.imag) if x.dtype.kind == "c" else (x,):
        limits = numpy.finfo(part.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        infinite = wrap_ufunc(numpy.isinf)(part)
        fixed = where(isnan(part), numbers_for(nan, part.dtype, "same_kind"), part)
        fixed = where(infinite & (part > 0), numbers_for(high, part.dtype, "same_kind"), fixed)
        part[...] = where(infinite & (part < 0), numbers_for(low, part.dtype, "same_kind"), fixed)
    return x if x.ndim else x[()]


@op("a", "s", "f", "h * 0", "h / 1000", "i", "b", "c", "2")
def sinc(x):
    """sin(pi x) / (pi x), 1 at 0."""
    x = as_array(x) * numpy.pi
    eps = numpy.finfo(x.dtype).eps if x.dtype.kind == "f" else 1.0e-20
    y = where(x != 0, x, numpy.asarray(eps, x.dtype))
    return wrap_ufunc(numpy.sin)(y) / y


@op("a", "i", "s")
def fix(x, out=None):
    """Rounded towards zero."""
    return wrap_ufunc(numpy.trunc)(x, out=out)


@op("n", "a", "n, np.zeros((3, 4), bool)")
def isposinf(x, out=None):
    """Where x is +inf."""
    x = as_array(x)
    return wrap_ufunc(numpy.logical_and)(wrap_ufunc(numpy.isinf)(x), ~wrap_ufunc(numpy.signbit)(x), out=out)


@op("n", "a")
def isneginf(x, out=None):
    """Where x is -inf."""
    x = as_array(x)
    return wrap_ufunc(numpy.logical_and)(wrap_ufunc(numpy.isinf)(x), wrap_ufunc(numpy.signbit)(x), out=out)
