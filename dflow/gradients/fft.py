"""Gradients of Fourier transforms: of the transform along one axis, which all others are made of."""

from dflow import numpy as np
from dflow._tracing.tape import Rule, add_rule
from dflow.gradients import bare
from dflow.ops.fft import SWAPPED, _transformed


def _of_length(x, n, axis):
    """The first n elements along an axis, with zeros behind where there are not as many."""
    lead = (slice(None),) * (axis % x.ndim)
    if x.shape[axis] > n:
        return x[(*lead, slice(n))]
    if x.shape[axis] == n:
        return x
    zeros = np.zeros([n - x.shape[axis] if k == axis % x.ndim else m for k, m in enumerate(x.shape)], x.dtype)
    return np.concatenate([x, zeros], axis)


def _of_transform(g, name, a_shape, n, axis, norm):
    """The adjoint: the transform the other way, with the other side's factor."""
    points = a_shape[axis] if n is None else n
    norm = SWAPPED.get(norm, norm)
    if name == "irfft":                     # elements but the first, and of an even number the last, stand for two
        g = np.fft.rfft(g, None, axis, norm)
        shape = [1] * g.ndim
        shape[axis] = m = g.shape[axis]
        even = n is None or n % 2 == 0
        twice = [2 if 0 < k < m - even else 1 for k in range(m)]
        g = g * np.array(twice, g.real.dtype).reshape(shape)
    elif name == "rfft":
        g = np.fft.ifft(g, points, axis, norm).real
    else:
        g = getattr(np.fft, "ifft" if name == "fft" else "fft")(g, None, axis, norm)
    return _of_length(g, a_shape[axis], axis)


add_rule(bare(_transformed), Rule("fft", ("name", "a", "n", "axis", "norm"), (None, _of_transform), over_complex="own"))
