"""numpy.fft: NumPy's transforms as tasks on the workers."""

import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow._array import array as as_array
from dflow._array import empty, host, window
from dflow.ops.creation import roll
from dflow.ops.fallback import SMALL, task
from dflow.ops.table import add_row, op

PART = 1 << 18              # elements that one task transforms: some milliseconds
NORMS = (None, "backward", "ortho", "forward")


def _dtype(function, a):
    """What type the transform of an array of a's has."""
    return function(numpy.ones(2, a.dtype)).dtype if function not in ND else function(numpy.ones((2, 2), a.dtype)).dtype


def _length(name, n):
    """How many points come out of n."""
    return n // 2 + 1 if name.startswith(("rfft", "ihfft")) else n


def _points(name, n, given):
    """The transform's length: as given, or from the axis's."""
    if given is None:
        return 2 * (n - 1) if name.startswith(("irfft", "hfft")) else n
    return operator.index(given)


def _check(points, norm):
    if points < 1:
        raise ValueError(f"Invalid number of FFT data points ({points}) specified.")
    if norm not in NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')


def _give(out, result):
    if out is None:
        return result
    out[...] = result
    return out


def _transformed(function, a, shape, along, **keywords):
    """function(a): at once when small; else as tasks, `along` one axis in parts that write where they belong."""
    if a.size <= SMALL:
        return task(function, a, shape=shape, dtype=lambda: _dtype(function, a), **keywords)
    result = empty(shape, _dtype(function, a))
    rows = next((k for k, n in enumerate(shape) if k != along and n > 1), None) if along is not None else None
    if rows is None:
        _submit(function, a, result, keywords)
        return result
    each = max(1, PART * shape[rows] // a.size)
    for start in range(0, shape[rows], each):
        part = (slice(None),) * rows + (slice(start, start + each),)
        _submit(function, a[part], result[part], keywords)
    return result


def _submit(function, a, result, keywords):
    def run(_error):
        out = window(result, write=True)
        # NumPy uses `out` after each axis, so it must not be there when `s` changes the shape on the way.
        made = function(window(a), out=out if keywords.get("s") is None else None, **keywords)
        if made is not out:         # NumPy 2.4's hfft, ihfft, ifft2 and irfft2 ignore `out`
            out[...] = made

    host(run, [a], [result])


def _one(name):
    """A transform along one axis."""
    function = getattr(numpy.fft, name)

    def transform(a, n=None, axis=-1, norm=None, out=None):
        a = as_array(a)
        points = _points(name, a.shape[axis], n) if n is None else _points(name, 0, n)
        _check(points, norm)
        k = normalize_axis_index(axis, a.ndim)
        shape = (*a.shape[:k], _length(name, points), *a.shape[k + 1:])
        return _give(out, _transformed(function, a, shape, k, n=points, axis=k, norm=norm))

    samples = ("v", "a", "a, 3", "a, 6, 0", "a, axis=0", "v, norm='ortho'", "?v, norm='x'", "v, 0", "c, 4", "i",
               "a.astype('f4')", "a, None, 2", "a, 2, 2", "h", "np.ones((40, 30, 20)), axis=1", "np.arange(9000.0)")
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"numpy.fft.{name}, as a task."
    add_row(name, transform, samples, "host", module="numpy.fft", close=True)


ND = {getattr(numpy.fft, name) for name in "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()}


def _several(name):
    """A transform along several axes."""
    function = getattr(numpy.fft, name)
    default = (-2, -1) if name.endswith("2") else None

    def transform(a, s=None, axes=default, norm=None, out=None):
        a = as_array(a)
        places = list(axes if axes is not None else range(a.ndim) if s is None else range(a.ndim - len(s), a.ndim))
        places = [normalize_axis_index(k, a.ndim) for k in places]
        if s is not None and len(s) != len(places):
            raise ValueError("Shape and axes have different lengths.")
        if not places:
            raise IndexError("list index out of range")
        shape = list(a.shape)
        for i, k in enumerate(places):
            last = i == len(places) - 1
            given = None if s is None else a.shape[k] if s[i] == -1 else s[i]
            points = _points(name if last else "fft", a.shape[k], given)
            _check(points, norm)
            shape[k] = _length(name if last else "fft", points)
        return _give(out, _transformed(function, a, tuple(shape), None, s=s, axes=places, norm=norm))

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"numpy.fft.{name}, as a task."
    samples = ("a", "f", "f, (4, 4), (0, 1)", "a, norm='forward'", "c", "f, axes=(0, 2)", "a.astype('f4')",
               "np.arange(9000.0).reshape(90, 100)", "np.arange(9000.0).reshape(90, 100), (70, 120)")
    add_row(name, transform, samples, "host", module="numpy.fft", close=True)


for _name in "fft ifft rfft irfft hfft ihfft".split():
    _one(_name)
for _name in "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split():
    _several(_name)


@op("5", "6, 0.5", "2.5", module="numpy.fft")
def fftfreq(n, d=1.0, device=None):
    """The frequencies of a transform's points."""
    return as_array(numpy.fft.fftfreq(n, d))


@op("5", "6, 0.5", module="numpy.fft")
def rfftfreq(n, d=1.0, device=None):
    """The frequencies of a real transform's points."""
    return as_array(numpy.fft.rfftfreq(n, d))


def _shift(x, axes, sign):
    x = as_array(x)
    axes = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    return roll(x, [sign * (x.shape[k] // 2) for k in axes], axes)


@op("v", "a", "a, 1", "f, (0, 2)", "np.arange(5)", module="numpy.fft")
def fftshift(x, axes=None):
    """Frequency zero moved to the middle."""
    return _shift(x, axes, 1)


@op("v", "a", "a, 1", "np.arange(5)", module="numpy.fft")
def ifftshift(x, axes=None):
    """Frequency zero moved back from the middle."""
    return _shift(x, axes, -1)
