"""gluon: layers, losses, initializers and optimizers against plain NumPy, gradients against differences, training."""

import itertools
import math
import re
import warnings

import numpy
import pytest

import dflow
from dflow import autograd, gluon, init, npx, optimizer
from dflow import numpy as np
from dflow.gluon import nn

RNG = numpy.random.default_rng(0)


def numbers(*shape):
    """Numbers from -4.6 to 4.7 without an order, and without equal ones near each other."""
    return (numpy.arange(math.prod(shape)) * 37 % 101 - 50).reshape(shape) / 10.7


# ---- gradients, by central differences


def weighed(y):
    """A number that depends on each element of one or more arrays, differently and not linearly."""
    parts = y if isinstance(y, (list, tuple)) else [y]
    return sum((np.sin(part) * np.array(numbers(*part.shape) + 0.3)).sum() for part in parts)


def differences(function, values, eps=1e-6):
    """The gradients of a number by each of some NumPy arrays, element by element."""
    found = []
    for x in values:
        g = numpy.zeros_like(x)
        for k in numpy.ndindex(x.shape):
            before = x[k]
            ends = []
            for step in (eps, -eps):
                x[k] = before + step
                ends.append(float(function(*map(np.array, values))))
            x[k] = before
            g[k] = (ends[0] - ends[1]) / (2 * eps)
        found.append(g)
    return found


def gradients(function, values):
    """The same by autograd."""
    arrays = [np.array(x) for x in values]
    for x in arrays:
        x.attach_grad()
    with autograd.record():
        y = function(*arrays)
    y.backward()
    return [x.grad.asnumpy() for x in arrays]


def check_gradients(function, *values, second=False):
    """Of a function of arrays of float64, or with `second` of its gradients."""

    def number(*arrays):
        return weighed(function(*arrays))

    def slope(*arrays):
        for x in arrays:
            x.attach_grad()
        with autograd.record():
            return weighed(autograd.grad(number(*arrays), list(arrays), create_graph=True))

    def plain_slope(*arrays):
        return slope(*arrays).detach()

    values = [numpy.array(x, float) for x in values]
    found = gradients(slope if second else number, values)
    for ours, theirs in zip(found, differences(plain_slope if second else number, values), strict=True):
        numpy.testing.assert_allclose(ours, theirs, 2e-4 if second else 1e-5, 2e-4 if second else 1e-6)


x34, v3, v4 = numbers(3, 4), numbers(3), numbers(5)[1:]
labels = np.array([2, 0, 3])
FUNCTIONS = [
    *((f"activation {kind}", lambda x, kind=kind: npx.activation(x, kind), x34)
      for kind in "relu sigmoid log_sigmoid mish tanh softrelu softsign".split()),
    *((f"leaky_relu {kind}", lambda x, kind=kind: npx.leaky_relu(x, act_type=kind), x34)
      for kind in "leaky elu selu gelu".split()),
    ("prelu", lambda x, a: npx.leaky_relu(x, a, "prelu"), x34, numbers(9)[5:]),
    ("smooth_l1", npx.smooth_l1, x34),
    ("erf", npx.erf, x34), ("erfinv", npx.erfinv, x34 / 9), ("gammaln", npx.gammaln, x34 + 5.5),
    ("gamma", npx.gamma, x34 / 9 + 2),
    ("softmax", npx.softmax, x34), ("softmax axis", lambda x: npx.softmax(x, 0, temperature=2.0), x34),
    ("softmax length", lambda x: npx.softmax(x, length=np.array([3, 0, 2]), use_length=True), x34),
    ("log_softmax", npx.log_softmax, x34), ("log_softmax axis", lambda x: npx.log_softmax(x, 0), x34),
    ("masked_softmax", lambda x: npx.masked_softmax(x, np.array(x34 > 0)), x34),
    ("fully_connected", lambda x, w, b: npx.fully_connected(x, w, b, no_bias=False), x34, numbers(2, 4), numbers(2)),
    ("fully_connected flat", npx.fully_connected, numbers(2, 3, 2), numbers(2, 6)),
    ("fully_connected last", lambda x, w, b: npx.fully_connected(x, w, b, no_bias=False, flatten=False),
     numbers(2, 3, 2), numbers(4, 2), numbers(4)),
    ("batch_dot", npx.batch_dot, numbers(2, 2, 3), numbers(2, 3, 2)),
    ("embedding", lambda w: npx.embedding(np.array([[1, 2], [1, 9]]), w), x34),
    ("pick", lambda x: npx.pick(x, labels), x34), ("pick axis", lambda x: npx.pick(x, labels, 0, keepdims=True), x34.T),
    ("pick wrap", lambda x: npx.pick(x, labels * 7 - 9, mode="wrap"), x34),
    ("pick flat", lambda x: npx.pick(x, labels, None), x34),
    ("batch_norm", lambda x, g, b: npx.batch_norm(x, g, b, np.zeros(2), np.ones(2), fix_gamma=False, training=True),
     numbers(3, 2, 2), numbers(2), numbers(2)),
    ("batch_norm global", lambda x, g, b: npx.batch_norm(
        x, g, b, np.ones(2), np.ones(2), fix_gamma=False, use_global_stats=True),
     numbers(3, 2, 2), numbers(2), numbers(2)),
    ("layer_norm", npx.layer_norm, x34, v4, v4), ("layer_norm axis", lambda *a: npx.layer_norm(*a, axis=0), x34, v3, v3),
    ("group_norm", lambda *a: npx.group_norm(*a, num_groups=2), numbers(2, 4, 2), v4, v4),
    ("instance_norm", npx.instance_norm, numbers(2, 3, 4), v3, v3),
    ("l2_normalization", npx.l2_normalization, x34),
    ("convolution", lambda x, w, b: npx.convolution(x, w, b, (2, 3), num_filter=2),
     numbers(2, 3, 4, 4), numbers(2, 3, 2, 3), numbers(2)),
    ("convolution strides", lambda x, w: npx.convolution(
        x, w, None, (2, 2), (2, 3), (1, 2), (1, 0), num_filter=4, num_group=2, no_bias=True),
     numbers(2, 4, 5, 5), numbers(4, 2, 2, 2)),
    ("convolution 1", lambda x, w: npx.convolution(x, w, None, 3, 2, pad=1, num_filter=2, no_bias=True),
     numbers(2, 2, 6), numbers(2, 2, 3)),
    ("convolution last", lambda x, w: npx.convolution(x, w, None, 2, num_filter=2, no_bias=True, layout="NHWC"),
     numbers(2, 3, 3, 2), numbers(2, 2, 2, 2)),
    ("convolution 3", lambda x, w: npx.convolution(x, w, None, 2, num_filter=2, no_bias=True),
     numbers(1, 2, 3, 3, 2), numbers(2, 2, 2, 2, 2)),
    ("deconvolution", lambda x, w, b: npx.deconvolution(x, w, b, (2, 3), num_filter=2),
     numbers(2, 3, 3, 2), numbers(3, 2, 2, 3), numbers(2)),
    ("deconvolution strides", lambda x, w: npx.deconvolution(
        x, w, None, (2, 2), (2, 3), (1, 2), (1, 1), (1, 2), num_filter=4, num_group=2, no_bias=True),
     numbers(2, 4, 3, 3), numbers(4, 2, 2, 2)),
    ("deconvolution adj", lambda x, w: npx.deconvolution(
        x, w, None, 2, 1, 3, 0, 2, num_filter=1, no_bias=True), numbers(1, 2, 4), numbers(2, 1, 2)),
    *((f"pooling {kind} {arguments}", lambda x, kind=kind, arguments=arguments: npx.pooling(
        x, **arguments, pool_type=kind, p_value=2), numbers(2, 2, 5, 5))
      for kind in ("max", "avg", "sum") for arguments in (
          {"kernel": 2, "stride": 2}, {"kernel": (2, 3), "stride": (1, 2), "pad": 1},
          {"kernel": 3, "stride": 2, "pad": 1, "pooling_convention": "full", "count_include_pad": False},
          {"global_pool": True})),
    ("pooling lp", lambda x: npx.pooling(x, 2, pool_type="lp", p_value=2), numbers(1, 1, 3, 3)),
    ("pooling long", lambda x: npx.pooling(x, 20, 3), numbers(1, 2, 30)),
]


@pytest.mark.parametrize("function, values", [pytest.param(f, values, id=name) for name, f, *values in FUNCTIONS])
def test_gradients_of_npx(function, values):
    check_gradients(function, *values)


SECOND = "softmax log_softmax fully_connected erf sigmoid convolution deconvolution pooling_max pooling_avg batch_norm"


@pytest.mark.parametrize("function, values", [
    pytest.param(f, values, id=name) for name, f, *values in FUNCTIONS
    if name in SECOND.split() or name in ("activation sigmoid", "convolution strides", "deconvolution strides")
    or name.startswith("pooling") and ("full" in name or "'kernel': (2" in name)])
def test_gradients_of_gradients(function, values):
    check_gradients(function, *[x[:1, ..., :3] if x.ndim > 3 and "pool" in function.__qualname__ else x
                                for x in values], second=True)


def test_the_first_of_equal_ones_has_the_gradient_of_a_pool():
    x = np.zeros((1, 1, 4, 4))
    x.attach_grad()
    with autograd.record():
        y = npx.pooling(x, 2, 2)
    y.backward()
    assert x.grad.tolist() == [[[[1, 0, 1, 0], [0] * 4] * 2]]


def test_the_gradient_of_a_convolution_in_parts(monkeypatch):
    values = numbers(3, 2, 6, 4), numbers(2, 2, 2, 2)
    function = dict((name, f) for name, f, *_ in FUNCTIONS)["convolution last"]
    whole = gradients(lambda *a: weighed(function(*a)), [numbers(3, 6, 4, 2), values[1]])
    for nbytes in (100, 700):
        monkeypatch.setattr("dflow.ops.convolution.COLUMNS", nbytes)
        parts = gradients(lambda *a: weighed(function(*a)), [numbers(3, 6, 4, 2), values[1]])
        for ours, theirs in zip(parts, whole, strict=True):
            numpy.testing.assert_allclose(ours, theirs, 1e-10)
