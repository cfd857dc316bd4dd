"""numpy.fft: the loops of NumPy's transforms, at once when small, else as tasks on the workers.

SciPy keeps what it has prepared for a length, which for one short transform is half of NumPy's work. So its loops are
taken where they can be: up to SciPy 1.17 Pocketfft, as NumPy's, with the same bits; since then its successor DUCC, with
the same functions, and last bits of its own for some lengths.
"""

import functools
import operator

import numpy
from numpy.fft import _pocketfft_umath as loops
from numpy.fft._pocketfft import _cook_nd_args
from numpy.lib.array_utils import normalize_axis_index

from dflow._array.core import array as as_array
from dflow._array.core import is_array, window
from dflow._functions.constructors import empty_like
from dflow._functions.host_task import host
from dflow._functions.numpy_inline import LATER, at_once, few
from dflow._functions.out import check_out
from dflow._functions.placement import put_on
from dflow._kernels.scipy_loader import extension, find
from dflow.ops.creation import roll
from dflow.ops.elementwise import conjugate
from dflow.ops.fallback import items, unwrap
from dflow.ops.table import add_row, op, recorded
from dflow.ops.warn import call_reporting, reporting

FEW = few(6)                # elements that are transformed at once
PART = 1 << 18              # elements that one task transforms: some milliseconds
SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}

FORWARD = ("fft", "rfft")
PLAIN = {"fft": "dgDG", "ifft": "dgDG", "rfft": "dg", "irfft": "DG"}    # types that SciPy treats as NumPy does
LOOPS = {(name, odd): getattr(loops, f"rfft_n_{'odd' if odd else 'even'}" if name == "rfft" else name)
         for name in ("fft", "ifft", "rfft", "irfft") for odd in (0, 1)}


def _factor(dtype, points, norm, inverse):
    """What the transform is multiplied by, as NumPy computes it, and SciPy's number for that (None: it has another)."""
    if norm not in SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    norm = SWAPPED[norm] if inverse else norm
    if norm in (None, "backward"):
        return 1, 0
    dtype = numpy.result_type(numpy.zeros(0, dtype).real.dtype, 1.0)
    factor = numpy.reciprocal(numpy.sqrt(points, dtype=dtype) if norm == "ortho" else points, dtype=dtype)
    exact = 1 / (numpy.sqrt(numpy.longdouble(points)) if norm == "ortho" else numpy.longdouble(points))
    return factor, (1 if norm == "ortho" else 2) if factor == dtype.type(exact) else None


@functools.cache
def _scipy_loops():
    """SciPy's loops, or None where they are not as they were: it does not publish them."""
    for module in ("fft._duccfft.pyduccfft", "fft._pocketfft.pypocketfft"):
        if find(module) is None:        # to look for it in Python's way would import all of scipy.fft
            continue
        try:
            theirs = extension(module)
            x = numpy.arange(6.0)
            y = theirs.r2c(x, (0,), True, 0, numpy.empty(4, complex), 1)
            theirs.c2r(y, (0,), 6, False, 2, x, 1)
            theirs.c2c(y, (0,), True, 0, y, 1)
            return theirs
        except (ImportError, AttributeError, TypeError):
            pass
    return None


class Plan:
    """How arrays of a type and shape are transformed along an axis, to n points or as many as there are."""

    def __init__(self, name, dtype, shape, n, axis, norm):
        if n is None:
            points = 2 * (shape[axis] - 1) if name == "irfft" else shape[axis]
        else:
            points = operator.index(n)
        if points < 1:
            raise ValueError(f"Invalid number of FFT data points ({points}) specified.")
        k = normalize_axis_index(axis, len(shape))
        loop = self.loop = LOOPS[name, points % 2]
        self.name = loop.__name__
        self.source = dtype
        self.axis = k
        self.shape = (*shape[:k], points // 2 + 1 if name == "rfft" else points, *shape[k + 1:])
        self.dtype = getattr(numpy.fft, name)(numpy.ones(2 + points % 2, dtype)).dtype
        factor, number = _factor(dtype, points, norm, name not in FORWARD)
        length = points // 2 + 1 if name == "irfft" else points
        theirs = _scipy_loops()
        if theirs is None or number is None or shape[k] != length or 0 in shape or dtype.char not in PLAIN[name]:
            # Naming the last axis costs the loop more than it needs for a few elements.
            axes = {} if k == len(shape) - 1 else {"axes": [(k - len(shape),), (), (k - len(shape),)]}

            def fill(x, out):
                with numpy.errstate(all="ignore"):          # call_reporting() tells
                    return loop(x, factor, out, **axes)

            self.fill = fill
        elif name == "rfft":
            self.fill = lambda x, out: theirs.r2c(x, (k,), True, number, out, 1)
        elif name == "irfft":
            self.fill = lambda x, out: theirs.c2r(x, (k,), points, False, number, out, 1)
        elif dtype.kind == "c":
            self.fill = lambda x, out: theirs.c2c(x, (k,), name == "fft", number, out, 1)
        else:
            def fill(x, out):
                numpy.copyto(out, x)
                return theirs.c2c(out, (k,), name == "fft", number, out, 1)

            self.fill = fill

    def check(self, out):
        """NumPy's errors of an output."""
        shape = getattr(out, "shape", None)
        if shape is None:
            raise TypeError("return arrays must be of ArrayType")
        if len(shape) != len(self.shape) or shape[self.axis] != self.shape[self.axis]:
            raise ValueError("output array has wrong shape.")
        if not numpy.can_cast(self.dtype, out.dtype, "same_kind"):
            self.loop(numpy.empty(1, self.source), 1, numpy.empty(1, out.dtype))

    def make(self, x):
        """The transform of a NumPy array."""
        return call_reporting(self.name, self.fill, x, numpy.empty_like(x, self.dtype, shape=self.shape))


_plan = functools.lru_cache(1000)(Plan)


@recorded
def _transformed(name, a, n, axis, norm, out=None):
    """The transform along one axis; the caller copies it to `out`, which is looked at here."""
    if is_array(n) or is_array(axis):           # which no plan is kept by
        n, axis = unwrap(n), unwrap(axis)
    plan = _plan(name, a.dtype, a.shape, n, axis, norm)
    if out is not None:
        plan.check(out)
    result = at_once(plan.make, (a,), small=FEW)
    if result is LATER:
        result = empty_like(a, plan.dtype, shape=plan.shape)
        for part in _parts(a.size, plan.shape, plan.axis):
            _submit(reporting(plan.name, plan.fill), a[part], result[part])
    return result


def _parts(size, shape, along):
    """Indices that take apart another axis than the one that is transformed."""
    rows = next((k for k, n in enumerate(shape) if k != along and n > 1), None)
    if rows is None or size <= PART:
        return [...]
    each = max(1, PART * shape[rows] // size)
    return [(slice(None),) * rows + (slice(start, start + each),) for start in range(0, shape[rows], each)]


def _submit(fill, a, result):
    def run(_error):
        fill(window(a), window(result, write=True))

    host(run, [a], [result])


def _give(out, result):
    if out is None:
        return result
    check_out(out)
    out[...] = result
    return out


def _one(name):
    """A transform along one axis."""

    def transform(a, n=None, axis=-1, norm=None, out=None):
        return _give(out, _transformed(name, as_array(a), n, axis, norm, out))

    _add(name, transform, ONE)


def _hermitian():
    """hfft and ihfft: what irfft and rfft are with the directions exchanged."""

    def hfft(a, n=None, axis=-1, norm=None, out=None):
        a = as_array(a)
        n = 2 * (a.shape[axis] - 1) if n is None else n
        return _give(out, _transformed("irfft", conjugate(a), n, axis, SWAPPED.get(norm, norm), out))

    def ihfft(a, n=None, axis=-1, norm=None, out=None):
        a = as_array(a)
        n = a.shape[axis] if n is None else n
        return _give(out, conjugate(_transformed("rfft", a, n, axis, SWAPPED.get(norm, norm), out)))

    _add("hfft", hfft, ONE)
    _add("ihfft", ihfft, ONE)


def _several(name):
    """A transform along several axes: one after the other, in NumPy's order."""
    default = (-2, -1) if name.endswith("2") else None
    last = name.rstrip("2n")                # the transform of the last axis; the real side is there
    others = last.replace("r", "")

    def transform(a, s=None, axes=default, norm=None, out=None):
        a = as_array(a)
        points, axes = _cook_nd_args(a, s, axes, last == "irfft")
        if not axes and last != others:
            raise IndexError("list index out of range")
        steps = list(zip([others] * (len(axes) - 1) + [last], points, axes))
        for one, n, k in steps if last == "irfft" else reversed(steps):
            a = _transformed(one, a, n, k, norm, None if last == "irfft" != one else out)
        return _give(out, a)

    _add(name, transform, SEVERAL)


def _add(name, transform, samples):
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"numpy.fft.{name}: at once when small, else as tasks."
    add_row(name, transform, samples, "host", module="numpy.fft", close="largest")


ONE = ("v", "a", "a, 3", "a, 6, 0", "a, axis=0", "v, norm='ortho'", "v, norm='forward'", "?v, norm='x'", "v, 0",
       "c, 4", "i", "a.astype('f4')", "a.astype('f4'), norm='ortho'", "a, None, 2", "a, 2, 2", "h",
       "np.ones((40, 30, 20)), axis=1", "np.arange(9000.0)", "np.zeros((0, 3))", "np.zeros((0, 3)), 2, 0",
       "np.arange(600000.0).reshape(300, 2000)", "np.arange(600000.0).reshape(3, 2000, 100), axis=0")
SEVERAL = ("a", "f", "f, (4, 4), (0, 1)", "a, norm='forward'", "c", "f, axes=(0, 2)", "a.astype('f4')",
           "a, (3, -1), (0, 1)", "a, axes=(0, 0)", "np.arange(9000.0).reshape(90, 100)",
           "np.arange(9000.0).reshape(90, 100), (70, 120)")

for _name in ("fft", "ifft", "rfft", "irfft"):
    _one(_name)
_hermitian()
for _name in "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split():
    _several(_name)


@op("5", "6, 0.5", "2.5", "5, device='gpu'", module="numpy.fft")
def fftfreq(n, d=1.0, device=None):
    """The frequencies of a transform's points."""
    return put_on(as_array(numpy.fft.fftfreq(unwrap(n), unwrap(d))), device)


@op("5", "6, 0.5", "5, device='gpu'", module="numpy.fft")
def rfftfreq(n, d=1.0, device=None):
    """The frequencies of a real transform's points."""
    return put_on(as_array(numpy.fft.rfftfreq(unwrap(n), unwrap(d))), device)


def _shift(x, axes, sign):
    x = as_array(x)
    axes = tuple(range(x.ndim)) if axes is None else items(axes)
    return roll(x, [sign * (x.shape[k] // 2) for k in axes], axes)


@op("v", "a", "a, 1", "f, (0, 2)", "np.arange(5)", module="numpy.fft")
def fftshift(x, axes=None):
    """Frequency zero moved to the middle."""
    return _shift(x, axes, 1)


@op("v", "a", "a, 1", "np.arange(5)", module="numpy.fft")
def ifftshift(x, axes=None):
    """Frequency zero moved back from the middle."""
    return _shift(x, axes, -1)
