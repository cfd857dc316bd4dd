"""The gradients of functions for neural networks: of those of dflow.npx that are recorded as one.

A convolution, its transpose and the gradient of its weights are the derivatives of one form, linear in each of three
arrays; so each one's gradients are the other two.
"""

import importlib
import math

import numpy

from dflow import numpy as np
from dflow._tracing.tape import Rule, add_rule, is_recording
from dflow.gradients import added_inside, bare, has_gradient
from dflow.ops import alignment, convolution, gathering, nn, special
from dflow.ops.fallback import task


def gradients_of(function, *gradients, joint=None):
    """The gradients of a function that the table's op(gradient=True) or recorded() has wrapped."""
    has_gradient(*gradients, joint=joint)(function.__wrapped__)


# -- elementwise -----------------------------------------------------------------------------------

gradients_of(nn.relu, lambda g, ans: g * np.sign(ans))         # nan at nan
gradients_of(nn.sigmoid, lambda g, ans: g * (ans * (1 - ans)))
gradients_of(nn.softrelu, lambda g, x: g * nn.sigmoid(x))
gradients_of(special.erf, lambda g, data: g * (2 / math.sqrt(math.pi)) * np.exp(-data * data))
gradients_of(special.erfinv, lambda g, ans: g * (math.sqrt(math.pi) / 2) * np.exp(ans * ans))
gradients_of(special.gamma, lambda g, data, ans: g * ans * special.digamma(data))
gradients_of(special.gammaln, lambda g, data: g * special.digamma(data))
gradients_of(special.digamma, lambda g, data: g * polygamma(1, data))


@has_gradient(None, lambda g, n, x: g * polygamma(n + 1, x))
def polygamma(n, x):
    """The n-th derivative of digamma, n > 0, by Hurwitz's zeta function."""
    zeta = importlib.import_module("scipy.special").zeta
    return (-1) ** (n + 1) * math.factorial(n) * task(zeta, n + 1, x, shape=x.shape, dtype=x.dtype)


# -- softmax ---------------------------------------------------------------------------------------


def _of_softmax(g, axis, ans):
    g = g * ans
    return g - ans * np.sum(g, axis=axis, keepdims=True)


def _of_log_softmax(g, axis, mask, ans):
    g = g if mask is None else np.where(mask, g, 0)
    return g - np.exp(ans) * np.sum(g, axis=axis, keepdims=True)


gradients_of(nn.softmax_along, _of_softmax)
gradients_of(nn.log_softmax_along, _of_log_softmax)

# -- products --------------------------------------------------------------------------------------


def _rows(x):
    return x.reshape(-1, x.shape[-1])


def _of_dense_weight(g, x, weight_shape):
    return np.matmul(_rows(g).T, x.reshape(-1, weight_shape[1]))


gradients_of(nn.fully_connected, lambda g, weight, x_shape: np.matmul(g, weight).reshape(x_shape), _of_dense_weight,
             lambda g: np.sum(_rows(g), axis=0))

# -- normalization ---------------------------------------------------------------------------------


def _of_by_channel(g, x, gamma, eps, axis, ans):
    """Of the result, the mean and the variance: g * a + x * b + c, of vectors a, b, c."""
    g, g_mean, g_var = g
    mean, var = nn.moments(x, axis)[:2] if is_recording() else ans[1:]
    n, inverse = x.size // x.shape[axis], 1 / np.sqrt(var + eps)
    b = c = gx = of_gamma = of_beta = 0
    if g is not None:
        a = inverse if gamma is None else inverse * gamma
        sums = nn.mean_over_all_but(g, axis)
        products = nn.mean_over_all_but(g * (x - nn.lying_along(mean, axis, x.ndim)), axis)
        b = -a * inverse * inverse * products
        c = -a * sums - b * mean
        of_gamma, of_beta = n * inverse * products, n * sums
        gx = g * nn.lying_along(a, axis, x.ndim)
    if g_mean is not None:
        c = c + g_mean / n
    if g_var is not None:
        b, c = b + 2 / n * g_var, c - 2 / n * g_var * mean
    gx = gx + (x * nn.lying_along(b, axis, x.ndim) + nn.lying_along(c, axis, x.ndim))
    return gx, of_gamma, of_beta


gradients_of(nn.by_channel, joint=_of_by_channel)

# -- alignment -------------------------------------------------------------------------------------


def _of_aligned(g, ans):
    if g[1] is not None:
        raise NotImplementedError("there is no gradient of the gradient of ctc_loss()")
    return g[0][:, None] * ans[1]


gradients_of(alignment.aligned, _of_aligned)

# -- choice ----------------------------------------------------------------------------------------


def _of_pick(g, data_shape, index, axis, mode, keepdims):
    n = math.prod(data_shape) if axis is None else data_shape[axis]
    index = np.asarray(index).astype(numpy.intp, copy=False)
    index = index % n if mode == "wrap" else np.clip(index, 0, n - 1)
    if axis is None:
        return added_inside(g, (n,), index, 0).reshape(data_shape)
    axis %= len(data_shape)
    if index.ndim < len(data_shape):
        index = np.expand_dims(index, axis)
    here = nn.lying_along(np.arange(n), axis, len(data_shape)) == index
    return np.where(here, g if keepdims else np.expand_dims(g, axis), 0)


gradients_of(gathering.pick, _of_pick)


def _at_indices(g, indices):
    return gathering.gather_nd(g, indices)


gradients_of(gathering.gather_nd, lambda g, data_shape, indices: gathering.index_add(
    np.zeros(data_shape, g.dtype), indices, g))
gradients_of(gathering.scatter_nd, _at_indices)
gradients_of(gathering.index_update, lambda g, indices: gathering.index_update(g, indices, 0), None, _at_indices)
gradients_of(gathering.index_add, lambda g: g, None, _at_indices)

# -- convolution -----------------------------------------------------------------------------------


def _of_convolved_data(g, weight, x_shape, stride, dilate, pad, num_group):
    return convolution.transposed(g, weight, stride, dilate, pad, x_shape[2:], num_group)


def _of_convolved_weight(g, x, weight_shape, stride, dilate, pad, num_group):
    return convolution.of_weight(g, x, weight_shape[2:], stride, dilate, pad, num_group)


def _of_channels(g):
    return np.sum(np.sum(g, axis=tuple(range(2, g.ndim))), axis=0)


def _of_transposed_data(g, weight, x_shape, stride, dilate, pad, num_group):
    windows = convolution.convolved(g, weight, None, stride, dilate, pad, num_group)
    return windows[(slice(None),) * 2 + tuple(map(slice, x_shape[2:]))]


def _of_transposed_weight(g, x, weight_shape, stride, dilate, pad, num_group):
    return convolution.of_weight(x, g, weight_shape[2:], stride, dilate, pad, num_group)


def _of_weight_result(v, x, g_shape, stride, dilate, pad, num_group):
    windows = convolution.convolved(x, v, None, stride, dilate, pad, num_group)
    return windows[(slice(None),) * 2 + tuple(map(slice, g_shape[2:]))]


def _of_weight_data(v, g, x_shape, stride, dilate, pad, num_group):
    return convolution.transposed(g, v, stride, dilate, pad, x_shape[2:], num_group)


gradients_of(convolution.convolved, _of_convolved_data, _of_convolved_weight, _of_channels)
gradients_of(convolution.transposed, _of_transposed_data, _of_transposed_weight)
gradients_of(convolution.of_weight, _of_weight_result, _of_weight_data)

# -- pooling ---------------------------------------------------------------------------------------


def _of_largest_along(g, x, axis, kernel, stride, ans):
    """For the first of those that are the largest together."""
    parts, taken = [], False
    for place in convolution.places(x, axis, kernel, stride):
        here = np.equal(place, ans)
        parts.append(np.where(np.greater(here, taken), g, 0))
        taken = np.logical_or(here, taken)
    return convolution.from_places(parts, x.shape[axis], axis, stride)


def _of_sum_along(g, x_shape, axis, kernel, stride):
    return convolution.from_places([g] * kernel, x_shape[axis], axis, stride)


def _of_places(g, parts_shape, axis, stride):
    return (convolution.places(g, axis, len(parts_shape), stride),)


gradients_of(convolution.largest_along, _of_largest_along)
gradients_of(convolution.sum_along, _of_sum_along)
gradients_of(convolution.from_places, joint=_of_places)

add_rule(bare(gathering.one_hot), Rule("one_hot", (), over_complex="own"))           # it has jumps alone
