"""dflow.nd, MXNet 1's namespace, and what programs reach by `import dflow as mx`."""

import subprocess
import sys

import numpy
import pytest
from engines import Gate, clean_environment

import dflow
import dflow as mx
from dflow import autograd, d2l, gluon, kv, nd, np, npx
from dflow._array import core

pytestmark = pytest.mark.once

X = numpy.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "f4")
Y = numpy.array([[1.0, 2.0, 3.0], [0.5, 5.0, 7.0]], "f4")
B = numpy.arange(24, dtype="f4").reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def as_loaded():
    """What loading nd switches on, and conftest.py off."""
    core.set_mxnet_rules(True)
    yield
    core.set_mxnet_rules(False)


def numbers(*shape):
    """Numbers from -4.6 to 4.7 without an order."""
    return nd.array((numpy.arange(numpy.prod(shape)) * 37 % 101 - 50).reshape(shape) / 10.7)


# Each call with its value as NumPy has it.
CALLS = {
    "nd.array([1, 2])": [1, 2], "nd.array(numpy.arange(3))": [0, 1, 2], "nd.from_numpy(X.copy())": X,
    "nd.zeros((2, 2), mx.cpu())": [[0, 0], [0, 0]],
    "nd.ones(2, dtype='float32')": [1, 1], "nd.full((2,), 7)": [7, 7], "nd.arange(3)": [0, 1, 2],
    "nd.arange(1, 4, repeat=2)": [1, 1, 2, 2, 3, 3], "nd.eye(2, 3, 1)": numpy.eye(2, 3, 1), "nd.eye(2)": numpy.eye(2),
    "nd.linspace(0, 1, 3)": [0, 0.5, 1], "nd.zeros_like(x)": X * 0, "nd.ones_like(data=x)": X * 0 + 1,
    "nd.empty((2, 3)) * 0 + 1 > 0": X * 0 == 0,
    "nd.exp(data=x)": numpy.exp(X), "x.exp()": numpy.exp(X), "nd.abs(x)": abs(X), "nd.relu(x)": numpy.maximum(X, 0),
    "x.abs().sqrt()": abs(X) ** 0.5, "nd.rsqrt(y)": Y ** -0.5, "nd.rcbrt(y)": 1 / numpy.cbrt(Y),
    "nd.softsign(x)": X / (1 + abs(X)), "nd.sigmoid(x)": 1 / (1 + numpy.exp(-X)), "nd.clip(x, -1, 2)": X.clip(-1, 2),
    "nd.clip(x, a_min=0, a_max=2)": X.clip(0, 2),
    "nd.broadcast_add(x, y)": X + Y, "nd.elemwise_sub(lhs=x, rhs=y)": X - Y, "nd.broadcast_mul(x, y)": X * Y,
    "nd.broadcast_div(x, y)": X / Y, "nd.maximum(x, 0)": numpy.maximum(X, 0), "nd.broadcast_minimum(x, y)":
    numpy.minimum(X, Y), "nd.broadcast_power(y, nd.array([2]))": Y ** 2, "nd.modulo(x, y)": X % Y,
    "nd.add_n(x, y, x)": X + Y + X, "nd.add(x, y, out=nd.zeros((2, 3)))": X + Y,
    "nd.equal(x, y)": (X == Y).astype("f4"), "nd.broadcast_greater(x, y)": (X > Y).astype("f4"),
    "nd.lesser_equal(x, 3)": (X <= 3).astype("f4"), "nd.logical_not(x)": X * 0,
    "nd.sum(x)": X.sum(), "nd.sum(x, axis=1)": X.sum(1), "nd.sum(x, 0, True)": X.sum(0, keepdims=True),
    "nd.mean(b, axis=(0, 2))": B.mean((0, 2)), "nd.max(b, axis=1, exclude=True)": B.max((0, 2)),
    "nd.sum(b, axis=-1, exclude=True)": B.sum((0, 1)), "nd.min(x, axis=())": X.min(), "nd.prod(x, axis=[0])": X.prod(0),
    "nd.norm(x)": numpy.linalg.norm(X), "x.norm()": numpy.linalg.norm(X), "nd.norm(x, 1, 1)": abs(X).sum(1),
    "nd.norm(x, axis=0, keepdims=True)": numpy.linalg.norm(X, axis=0, keepdims=True),
    "nd.argmax(x, axis=1)": numpy.array([2, 1], "f4"), "nd.argmin(x, axis=0)": numpy.array([0, 0, 1], "f4"),
    "nd.argmax_channel(x)": numpy.array([2, 1], "f4"),
    "nd.dot(x, y, transpose_b=True)": X @ Y.T, "nd.dot(x, y, transpose_a=True)": X.T @ Y, "nd.dot(x[0], y[0])":
    X[0] @ Y[0], "nd.dot(x, b.transpose((1, 0, 2)))": numpy.tensordot(X, B.transpose(1, 0, 2), 1),
    "nd.batch_dot(b, b, transpose_b=True)": B @ B.swapaxes(1, 2),
    "nd.linalg.gemm2(x, y, transpose_b=True, alpha=2)": 2 * X @ Y.T,
    "nd.linalg.gemm(x, y, nd.ones((2, 2)), transpose_b=True, beta=3)": X @ Y.T + 3, "nd.linalg.syrk(x)": X @ X.T,
    "nd.linalg.extractdiag(x)": [1, 5], "nd.linalg.makediag(x[0], -1)": numpy.diag(X[0], -1),
    "nd.linalg.sumlogdiag(y)": numpy.log(5), "nd.linalg.det(y[:, :2])": 4.0,
    "nd.linalg.trsm(y[:, :2], y)": numpy.linalg.solve(numpy.tril(Y[:, :2]), Y),
    "nd.linalg.trmm(y[:, :2], y, lower=False)": numpy.triu(Y[:, :2]) @ Y,
    "nd.linalg.potri(nd.linalg.potrf(nd.array([[4, 2], [2, 3]])))": numpy.linalg.inv([[4, 2], [2, 3]]),
    "nd.concat(x, y)": numpy.concatenate([X, Y], 1), "nd.concat(x, y, dim=0)": numpy.concatenate([X, Y]),
    "nd.concat(nd.sum(x), nd.sum(y), dim=0)": [X.sum(), Y.sum()], "nd.stack(x, y, axis=1)": numpy.stack([X, Y], 1),
    "nd.concatenate([x, y], axis=1)": numpy.concatenate([X, Y], 1), "nd.split(b, 2, axis=2)[1]": B[:, :, 2:],
    "nd.split(b, 3, squeeze_axis=True)[2]": B[:, 2], "nd.split(x, 1, axis=0)": X, "nd.split_v2(b, (1,), axis=1)[1]":
    B[:, 1:], "nd.expand_dims(x, axis=1)": X[:, None], "nd.transpose(b, axes=(2, 0, 1))": B.transpose(2, 0, 1),
    "nd.transpose(x)": X.T, "nd.swapaxes(b, 0, 2)": B.swapaxes(0, 2), "nd.SwapAxis(b, dim1=1, dim2=2)":
    B.swapaxes(1, 2), "nd.flip(x, axis=1)": X[:, ::-1], "nd.tile(x, reps=(2, 1))": numpy.tile(X, (2, 1)),
    "nd.repeat(x, repeats=2, axis=0)": X.repeat(2, 0), "nd.squeeze(x[:1])": X[0], "nd.Flatten(b)": B.reshape(2, 12),
    "nd.broadcast_to(x[:1], (2, 0))": X[[0, 0]], "nd.broadcast_axis(x[:1], axis=0, size=2)": X[[0, 0]],
    "x.expand_dims(0).broadcast_to((2, 2, 3))": numpy.stack([X, X]),
    "nd.slice(x, begin=(0, 1), end=(2, 3))": X[:, 1:],
    "nd.slice(x, (None, None), (None, 0), step=(1, -1))": X[:, :0:-1],
    "nd.slice_axis(b, axis=-1, begin=1, end=None)": B[:, :, 1:], "nd.slice_like(b, b[:, :2])": B[:, :2],
    "nd.slice_like(b, x[:1], axes=(0,))": B[:1], "nd.where(x > 0, x, y)": numpy.where(X > 0, X, Y),
    "nd.pad(x, 'constant', (1, 0, 0, 2), 9)": numpy.pad(X, ((1, 0), (0, 2)), constant_values=9),
    "nd.diag(x[0])": numpy.diag(X[0]), "nd.take(x, nd.array([0, 2, 9]), axis=1)": X[:, [0, 2, 2]],
    "nd.take(x, nd.array([1]))": X[[1]], "nd.pick(x, nd.array([0, 2]))": X[[0, 1], [0, 2]],
    "nd.choose_element_0index(x, nd.array([0, 2]))": X[[0, 1], [0, 2]],
    "nd.fill_element_0index(x, nd.array([7, 8]), nd.array([0, 2]))": numpy.where(
        [[1, 0, 0], [0, 0, 1]], [[7], [8]], X),
    "nd.onehot_encode(nd.array([2, 0]), out=x * 1)": [[0, 0, 1], [1, 0, 0]],
    "nd.topk(x, axis=None, ret_typ='mask', k=2)": X >= numpy.sort(X.ravel())[-2],
    "nd.one_hot(nd.array([1, 0]), 3)": numpy.eye(3)[[1, 0]], "nd.topk(x, k=1)": numpy.array([[2], [1]], "f4"),
    "nd.topk(x, k=2, ret_typ='value')": [[3, 1], [5, 4]], "nd.sort(x, is_ascend=False)": -numpy.sort(-X),
    "nd.argsort(x)": X.argsort().astype("f4"), "nd.cast(x, 'int32')": X.astype("i4"), "nd.shape_array(x)": [2, 3],
    "nd.size_array(x)": [6], "nd.identity(x)": X, "nd.stop_gradient(x)": X, "nd.reshape_like(x, y.T)": X.reshape(3, 2),
    "nd.softmin(x).sum(1)": [1, 1], "nd.softmin(x, temperature=2, dtype='float32')": numpy.exp(-X.astype(float) / 2)
    / numpy.exp(-X.astype(float) / 2).sum(1, keepdims=True),
    "nd.log_softmax(x, axis=0)": X - numpy.log(numpy.exp(X).sum(0)),
    "nd.softmax_cross_entropy(x, nd.array([2, 1]))": (numpy.log(numpy.exp(X).sum(1)) - [3, 5]).sum(),
    "nd.Activation(x, act_type='relu')": numpy.maximum(X, 0),
    "nd.LeakyReLU(x, slope=0.5)": numpy.where(X > 0, X, X / 2),
    "nd.FullyConnected(x, y, nd.ones(2), num_hidden=2)": X @ Y.T + 1,
    "nd.FullyConnected(x, y, num_hidden=2, no_bias=True)": X @ Y.T, "nd.Dropout(x, p=0.5)": X,
    "nd.Embedding(nd.array([1, 0]), x, input_dim=2, output_dim=3)": X[[1, 0]],
    "nd.Convolution(b.reshape((2, 3, 2, 2)), nd.ones((1, 3, 2, 2)), nd.zeros(1), kernel=(2, 2), num_filter=1)":
    B.sum((1, 2)).reshape(2, 1, 1, 1),
    "nd.Pooling(b.reshape((2, 3, 2, 2)), kernel=(2, 2), pool_type='max', stride=(2, 2))": B.max(2).reshape(2, 3, 1, 1),
    "nd.Pooling(b.reshape((2, 3, 2, 2)), global_pool=True, pool_type='avg')": B.mean(2).reshape(2, 3, 1, 1),
    "nd.BatchNorm(x, nd.ones(3), nd.zeros(3), nd.zeros(3), nd.ones(3), eps=0)": X,
    "nd.LayerNorm(x, nd.ones(3), nd.zeros(3), eps=0)": (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True),
    "nd.SequenceMask(b, nd.array([1, 2, 0]), True, -1)[:, :, 0]": [[0, 4, -1], [-1, 16, -1]],
    "nd.CTCLoss(numbers(5, 3, 4), nd.array([[1, 2, 2], [3, 1, 0], [0, 0, 0]]))": [14.391532, 11.821768, 15.451055],
    "nd.ctc_loss(numbers(5, 3, 4), nd.array([[0, 1, 1], [2, 0, -1], [-1, -1, -1]]), blank_label='last')":
    [10.864459, 9.407072, 20.217411],
    "nd.RNN(numbers(3, 2, 3), numbers(84) / 5, numbers(2, 2, 2) / 5, mode='gru', state_size=2, num_layers=1, "
    "bidirectional=True)[1]": [[-0.93450594, -0.93731856, 0.86710334, -0.7953909],
                               [0.88932484, -0.9391989, 0.9974979, 0.16697541]],
    "nd.RNN(numbers(3, 2, 3), numbers(112) / 5, *[numbers(2, 2, 2) / 5] * 2, state_size=2, num_layers=1, mode='lstm', "
    "bidirectional=True, state_outputs=True)[0][1]": [[-0.20268422, -0.24494486, 0.00174237, 0.02188845],
                                                      [0.2504554, -0.38233554, -0.00242423, -0.12114047]],
    "nd.SequenceLast(b, nd.array([1, 2, 2]), True)": B[[0, 1, 1], range(3)], "nd.SequenceLast(x)": X[-1],
    "nd.SequenceLast(x, nd.array([3, 1]), True, axis=1)": [3, 4],
    "nd.SequenceReverse(x.T, nd.array([2, 3]), use_sequence_length=True)": [[-2, -6], [1, 5], [3, 4]],
    "nd.SequenceReverse(b)": B[::-1],
    "nd.UpSampling(b.reshape((1, 2, 3, 4)), scale=2, sample_type='nearest')":
    B.reshape(1, 2, 3, 4).repeat(2, 2).repeat(2, 3),
    "nd.LRN(x.reshape((2, 3, 1, 1)), alpha=0.6, beta=0.5, knorm=1, nsize=3)":
    (X / (1 + 0.2 * (X**2 @ [[1, 1, 0], [1, 1, 1], [0, 1, 1]])) ** 0.5).reshape(2, 3, 1, 1),
    "nd.hard_sigmoid(x, alpha=0.1)": (X / 10 + 0.5).clip(0, 1), "nd.batch_take(x, nd.array([2, 0]))": [3, 4],
    "nd.depth_to_space(b.reshape((1, 24, 1, 1)), 2)": B.reshape(2, 2, 6).transpose(2, 0, 1)[None],
    "nd.space_to_depth(nd.depth_to_space(b.reshape((1, 8, 1, 3)), 2), 2)": B.reshape(1, 8, 1, 3),
    "nd.space_to_depth(b.reshape((1, 1, 4, 6)), 2)[0, :, 0, 0]": [0, 1, 6, 7],
    "nd.moments(b, axes=(0, 2))[1]": B.var((0, 2)), "nd.moments(x, 1, True)[0]": X.mean(1, keepdims=True),
    "nd.SoftmaxActivation(b).sum()": 2, "nd.SoftmaxActivation(b, mode='channel').sum(1)": numpy.ones((2, 4)),
    "nd.unravel_index(nd.array([5, 11, 0]), shape=(3, 4))": [[1, 2, 0], [1, 3, 0]],
    "nd.BilinearSampler(b[None], nd.array([[[[-1, 0.5]], [[0, -1.5]]]]))":
    numpy.stack([B[:, 1, 0], (B[:, 0, 2] * 0.75 + B[:, 0, 3] * 0.25) / 2], 1)[None, :, None],
    "nd.GridGenerator(nd.array([[1, 0, 0.5, 0, 2, 0]]), transform_type='affine', target_shape=(2, 3))":
    [[[[-0.5, 0.5, 1.5]] * 2, [[-2] * 3, [2] * 3]]],
    "nd.GridGenerator(nd.ones((1, 2, 3, 2)), 'warp')": [[[[1, 3]] * 3, [[0] * 2, [1] * 2, [2] * 2]]],
    "nd.SpatialTransformer(b[None], nd.array([[1, 0, 0, 0, -1, 0]]))": B[None, :, ::-1],
    "nd.ravel_multi_index(nd.array([[1, 2], [3, 0]]), shape=(3, 4))": [7, 8],
    "nd.histogram(x, bins=4, range=(-6, 6))[1]": [-6, -3, 0, 3, 6],
    "nd.ElementWiseSum(x, y) + nd.make_loss(x)": X + Y + X, "nd.linalg_gemm2(x, y, transpose_b=True)": X @ Y.T,
    "nd.ROIPooling(b[None], nd.array([[0, 1, 0, 2, 1]]), pooled_size=(1, 2), spatial_scale=1)": B[:, 1:2, 1:3][None],
    "nd.contrib.AdaptiveAvgPooling2D(b[None], (2, 4))": numpy.stack([B[:, :2].mean(1), B[:, 1:].mean(1)], 1)[None],
    "nd.contrib.AdaptiveAvgPooling2D(b[None])": B.mean((1, 2), keepdims=True)[None],
    "nd.contrib.AdaptiveAvgPooling2D(b[None], 2)[0, :, 0, 1]": B[:, :2, 2:].mean((1, 2)),
    "nd.contrib.box_iou(nd.array([[0, 0, 2, 2], [1, 1, 3, 3]]), nd.array([[1, 1, 2, 3], [9, 9, 9, 9]]))":
    [[0.2, 0], [0.5, 0]],
    "nd.contrib.box_iou(nd.array([1, 1, 2, 2]), nd.array([[2, 2, 2, 2]]), format='center')": [1 / 7],
    "nd.contrib.div_sqrt_dim(b)": B / 2, "nd.contrib.isnan(x)": X * 0, "nd.contrib.isfinite(x)": X * 0 + 1,
    "nd.contrib.index_copy(x, nd.array([1]), y[:1])": [X[0], Y[0]],
    "nd.contrib.boolean_mask(x, nd.array([0, 1]))": X[1:],
    "nd.contrib.MultiBoxPrior(b[None], sizes=[0.5])[0, 0]": [-1 / 16, -1 / 12, 5 / 16, 5 / 12],
    "nd.contrib.foreach(lambda x, s: (x + s, x + s), x, y[0])[0]": [X[0] + Y[0], X.sum(0) + Y[0]],
    "x.as_nd_ndarray().as_np_ndarray()": X, "x.as_in_context(x.context)": X, "x.slice_axis(1, 0, 2)": X[:, :2],
    "nd.reshape(b, (0, -1))": B.reshape(2, 12), "nd.reshape(b, shape=(-3, 0))": B.reshape(6, 4),
    "nd.reshape(b, (-2,))": B, "nd.reshape(b, (0, 0, -4, 2, -1))": B.reshape(2, 3, 2, 2),
    "nd.reshape(b, -1)": B.ravel(),
    "nd.reshape(b, (-4, 1, 2, -2))": B[None], "nd.reshape(b, (-1, 0), reverse=True)": B.reshape(6, 4),
    "x.take(nd.array([1, 0]))": X[[1, 0]], "x.take(indices=nd.array([2]), axis=1)": X[:, [2]],
    "x.take(nd.cast(x[0], int))": X.take([1, -2, 3]), "x[nd.array([1])]": X[[1]], "x.sum(axis=[0, 1])": X.sum(),
    "b.reshape((0, -1))": B.reshape(2, 12), "b.reshape(0, -3)": B.reshape(2, 12), "b.reshape(shape=(6, 4))":
    B.reshape(6, 4), "b.reshape((-1, 0), reverse=True)": B.reshape(6, 4),
    "nd.reshape(b, (6, -1))": B.reshape(6, 4), "nd.reshape(b, (0, -3))": B.reshape(2, 12),
}


def evaluate(call):
    return eval(call, globals() | {"x": nd.array(X), "y": nd.array(Y), "b": nd.array(B)})


@pytest.mark.parametrize("call", CALLS)
def test_values(call):
    """float32, but where NumPy's value says otherwise."""
    actual, expected = evaluate(call), numpy.asarray(CALLS[call])
    kept = actual.dtype.kind if "cast" in call or "_array(" in call or ">" in call else "f"
    assert actual.dtype.kind == kept and (kept != "f" or actual.dtype == numpy.float32)
    assert actual.shape == expected.shape
    numpy.testing.assert_allclose(actual.asnumpy(), expected, 1e-5, 1e-5)


REFUSED = {
    "nd.exp(x, y)": (TypeError, r"nd.exp\(\) takes at most 1 arguments, not 2"),
    "nd.softmax(x, dim=1)": (TypeError, r"nd.softmax\(\): the argument dim is none of data, axis"),
    "nd.softmax(x, data=x)": (TypeError, r"the argument data is given twice"),
    "nd.zeros(2, mx.gpu())": (ValueError, r"gpu\(0\) does not exist"),
    "nd.norm(x, ord=3)": (ValueError, "ord must be 1 or 2, not 3"),
    "nd.reshape(b, (0, 0, 0, 0))": (ValueError, "shape has more codes than"),
    "nd.reshape(b, (0, -4, 2, -1))": (ValueError, "shape splits an axis of length 3"),
    "nd.reshape(b, (-4, 2))": (ValueError, "two lengths after -4"),
    "nd.reshape(b, (-5,))": (ValueError, "shape must not have -5"),
    "x.take('a')": (ValueError, "invalid literal for int"),
    "b.reshape(5, 5)": (ValueError, r"cannot reshape array of size 24 into shape \(5,5\)"),
    "b.reshape('a')": (TypeError, "'str' object cannot be"),
    "b.reshape(2, 12, order='x')": (ValueError, "order must be"),
    "x.asscalar()": (ValueError, "The current array is not a scalar"),
    "nd.SequenceLast(x, axis=2)": (ValueError, "axis must be one of 0, 1, not 2"),
    "nd.SequenceReverse(x, nd.ones(3))": (ValueError, "sequence_length is given, and not used"),
    "nd.UpSampling(b, 2, 'bilinear')": (ValueError, "sample_type must be one of 'nearest', not 'bilinear'"),
    "nd.contrib.ROIAlign": (AttributeError, "module 'dflow.nd.contrib' has no attribute 'ROIAlign': MXNet has it"),
    "nd.Custom": (AttributeError, "no attribute 'Custom': MXNet has it, dflow not yet"),
    "nd.nothing": (AttributeError, "module 'dflow.nd' has no attribute 'nothing'$"),
    "mx.sym": (AttributeError, "no attribute 'sym': MXNet has it"),
    "kv.create('dist_sync')": (ValueError, "no key-value store is called 'dist_sync'; there are 'local', 'device'"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call):
    kind, text = REFUSED[call]
    with pytest.raises(kind, match=text):
        evaluate(call)


def test_asscalar():
    for x in (nd.array([2.5]), nd.sum(nd.array([2.5])), nd.array([[2.5]])):
        assert x.asscalar() == 2.5 and type(x.asscalar()) is numpy.float32


def test_random_numbers():
    """float32, of shape (1,) unless asked for; of each element of parameters that are arrays, so many."""
    for draw in (nd.random.uniform, nd.random.normal, nd.random.exponential, nd.random.gamma, nd.random.poisson):
        assert draw().shape == (1,)
        x = draw(shape=(3, 2), ctx=mx.cpu())
        assert (x.shape, x.dtype) == ((3, 2), numpy.float32)
    low = nd.array([0, 100])
    x = nd.random.uniform(low, low + 1, shape=1000)
    assert x.shape == (2, 1000) and ((x >= low[:, None]) & (x < low[:, None] + 1)).all()
    assert nd.random.normal(low, nd.array([0, 0])).tolist() == [0, 100]
    x = nd.zeros((2, 50))
    assert nd.random.normal(10, 1, out=x) is x and (x > 0).all()
    assert nd.random.randn(2, 3, loc=100).shape == (2, 3) and nd.random.randint(3, 5, (9,)).dtype == numpy.int32
    mx.random.seed(3)
    first = mx.random.uniform(shape=4)
    mx.random.seed(3)
    assert (first == nd.random.uniform(shape=4)).all()
    x = nd.arange(100)
    assert sorted(nd.random.shuffle(x).tolist()) == x.tolist() != nd.random.shuffle(x).tolist()
    index, chances = nd.random.multinomial(nd.array([[0, 1, 0], [0, 0, 1]]), 4, get_prob=True)
    assert index.tolist() == [[1] * 4, [2] * 4] and chances.tolist() == [[0] * 4] * 2


def test_gradients():
    """Of what the table and the functions beside it make; SoftmaxOutput has that of the cross entropy."""
    x, y = nd.array(X), nd.array([2, 0])
    x.attach_grad()
    with autograd.record():
        z = nd.broadcast_mul(nd.concat(x, x, dim=0), nd.ones((4, 3))).square().sum() + nd.slice_axis(x, 1, 0, 1).sum()
    z.backward()
    assert (x.grad == 4 * x + nd.array([1, 0, 0])).all()
    with autograd.record():
        p = nd.SoftmaxOutput(x, y)
    p.backward()
    numpy.testing.assert_allclose(p.asnumpy(), nd.softmax(x).asnumpy())
    numpy.testing.assert_allclose(x.grad.asnumpy(), (p - nd.one_hot(y, 3)).asnumpy(), 1e-6)


def test_files(tmp_path):
    nd.save(str(tmp_path / "x"), {"a": nd.ones(2)})
    assert nd.load(str(tmp_path / "x"))["a"].tolist() == [1, 1]
    assert nd.load_frombuffer((tmp_path / "x").read_bytes())["a"].tolist() == [1, 1]
    for given in (nd.ones(2), [nd.ones(2)]):                # a list of one, of either
        nd.save(str(tmp_path / "x"), given)
        content = (tmp_path / "x").read_bytes()
        for found in (nd.load(str(tmp_path / "x")), *map(nd.load_frombuffer, (content, bytearray(content)))):
            assert [x.tolist() for x in found] == [[1, 1]]
        with pytest.raises(ValueError, match="the file"):
            nd.load_frombuffer(content[:-10])
    npx.save(tmp_path / "x", nd.arange(2))
    found, = nd.load(tmp_path / "x")
    assert found.tolist() == [0, 1]
    with pytest.raises(TypeError, match="bytes"):
        nd.load_frombuffer("text")


def test_reset_arrays():
    arrays = [nd.ones(3), nd.array([[1, 2]], dtype="int32"), nd.ones((2, 2))[0]]
    assert nd.reset_arrays(*arrays, num_arrays=3) is None and not any(x.any() for x in arrays)
    with pytest.raises(ValueError, match="num_arrays is 2, and there are 3"):
        nd.reset_arrays(*arrays, num_arrays=2)


def test_as_mx():
    """What `import mxnet as mx` reaches; import dflow alone loads none of it."""
    from dflow import context
    assert (mx.cpu(), mx.gpu(1).device_id, mx.num_gpus()) == (context.cpu(), 1, 0)
    assert isinstance(mx.cpu(), mx.Context) and mx.current_context() == context.current_context()
    assert mx.kv is mx.kvstore is kv and mx.metric.RMSE is gluon.metric.RMSE
    likelihood = mx.metric.NegativeLogLikelihood()
    likelihood.update(nd.array([0]), nd.array([[0.5, 0.5]]))
    assert likelihood.get() == ("nll-loss", pytest.approx(numpy.log(2)))
    assert mx.init is mx.initializer and mx.rnd is mx.random
    assert mx.np is mx.numpy and mx.waitall is nd.waitall is mx.npx.waitall and isinstance(nd.ones(1), nd.NDArray)


def test_the_class_of_arrays():
    """NumPy's arrays are none of it, as in MXNet, where they are np.ndarray to dflow."""
    assert not isinstance(numpy.ones(1), nd.NDArray) and isinstance(numpy.ones(1), np.ndarray)
    assert not issubclass(numpy.ndarray, nd.NDArray) and issubclass(np.ndarray, nd.NDArray)
    x = np.array([[1, 2]])
    assert all(isinstance(a, nd.NDArray) for a in (x, x[0], x[0, 0], np.float64(1) * x))
    assert not isinstance(1.0, nd.NDArray) and not isinstance([x], nd.NDArray)
    assert nd.NDArray.reshape is np.ndarray.reshape and nd.NDArray.__name__ == "NDArray"

    class Mine(nd.NDArray):
        pass

    assert issubclass(Mine, numpy.ndarray)
    code = "from dflow import nd; print(float(nd.ones((1, 1))))"
    done = subprocess.run([sys.executable, "-c", code], env=clean_environment(), capture_output=True, text=True)
    assert done.stdout == "1.0\n", done.stderr
    assert all(hasattr(mx, name) for name in "lr_scheduler optimizer autograd gluon numpy_extension".split())
    code = "import sys, dflow; print([x for x in sys.modules if x in {'dflow.nd', 'dflow.gluon', 'dflow.npx'}])"
    done = subprocess.run([sys.executable, "-c", code], env=clean_environment(), capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_names():
    assert all(hasattr(nd, name) for name in nd.__all__) and len(set(nd.__all__)) == len(nd.__all__)
    for module in (nd, nd.random, nd.linalg):
        assert all(getattr(module, name).__doc__ for name in module.__all__)


def test_what_mxnets_2_has_besides():
    with mx.cpu(1):
        assert nd.ones(1).ctx.device_typeid == 1 and mx.Device.devtype2str[2] == "gpu"
    assert mx.Device.devstr2type["cpu_pinned"] == 3 and mx.gpu(0).device_typeid == 2
    for x in (nd.from_dlpack(nd.ones(3).to_dlpack_for_read()), nd.from_dlpack(nd.to_dlpack_for_write(nd.ones(3)))):
        assert x.tolist() == [1, 1, 1]
    x = nd.zeros(2)
    x[0] = numpy.array([3], "float32")
    assert x.tolist() == [3, 0]
    drawn = []
    for seed in (-5, -5, 2**32 - 5, 7):
        mx.random.seed(seed)
        drawn.append(nd.random.uniform(shape=3).tolist())
    assert drawn[0] == drawn[1] == drawn[2] != drawn[3]


def test_other_draws():
    counts = nd.random.multinomial(n=nd.array([1000]), p=nd.array([[0.25, 0.75]]))
    assert counts.dtype == "float32" and counts.sum() == 1000 and abs(counts[0, 0] - 250) < 100
    assert nd.random.multinomial(nd.array([0, 1])) == 1
    found = nd.random.categorical(nd.array([[0, 1]]), shape=3, get_prob=True)
    assert type(found) is list and [x.tolist() for x in found] == [[[1, 1, 1]], [[0, 0, 0]]]
    x = nd.random.generalized_negative_binomial(5, 0.2, shape=50000)
    assert x.dtype == "float32" and abs(x.mean() - 5) < 0.1 and abs(x.var() - (5 + 0.2 * 25)) < 0.4
    x = nd.random.generalized_negative_binomial(nd.array([5, 3]), nd.array([0, 1]), shape=50000)
    assert x.shape == (2, 50000)
    numpy.testing.assert_allclose(x.mean(axis=1), [5, 3], atol=0.1)
    numpy.testing.assert_allclose(x.asnumpy().var(axis=1), [5, 12], atol=0.6)
    assert nd.random_generalized_negative_binomial(shape=2).shape == (2,)


def test_draws_by_mxnets_older_names():
    """Of each element of parameters that are arrays; exponential ones have a rate there, no mean."""
    first, second = nd.array([2, 80]), nd.array([0.5, 0.25])
    means = {"uniform": (second, first, [1.25, 40.125]), "normal": (first, second, [2, 80]),
             "gamma": (first, second, [1, 20]), "exponential": (first, None, [0.5, 0.0125]),
             "poisson": (first, None, [2, 80]), "negative_binomial": (first, second, [2, 240]),
             "generalized_negative_binomial": (first, second, [2, 80])}
    for name, (*parameters, mean) in means.items():
        parameters = [x for x in parameters if x is not None]
        x = getattr(nd, f"sample_{name}")(*parameters, shape=(2, 5000))
        assert x.shape == (2, 2, 5000) and x.dtype == "float32"
        numpy.testing.assert_allclose(x.mean((1, 2)).asnumpy(), mean, rtol=0.1)
        x = getattr(nd, f"random_{name}")(*(float(x[0]) for x in parameters), shape=20000)
        numpy.testing.assert_allclose(x.mean().item(), mean[0], rtol=0.1)
    assert nd.sample_exponential(lam=first, shape=3, dtype="float64").dtype == "float64"
    assert nd.sample_normal(mu=first, sigma=second).shape == (2,)


def test_operators_by_another_module():
    from dflow.nd.op import broadcast_add

    assert nd.op.relu is nd.relu and broadcast_add is nd.broadcast_add and dir(nd.op) == sorted(nd.__all__)
    with pytest.raises(AttributeError, match="MXNet has it, dflow not yet"):
        nd.op.sgd_update  # noqa: B018


def test_methods_in_place():
    """`inplace` says whether the result shares memory with the array."""
    x = nd.array(numpy.arange(30).reshape(2, 3, 5))
    flat, copied = x.flatten(inplace=True), x.flatten(inplace=False)
    squeezed, apart = x[:1].squeeze(0, inplace=True), x[:1].squeeze(axis=0, inplace=False)
    longer, new = x.expand_dims(axis=-1, inplace=True), x.expand_dims(1)
    x[0] = -1
    assert flat.shape == copied.shape == (2, 15) and (flat[0] == -1).all() and copied[0].tolist() == list(range(15))
    assert squeezed.shape == apart.shape == (3, 5) and (squeezed == -1).all() and apart[0].tolist() == list(range(5))
    assert longer.shape == (2, 3, 5, 1) and (longer[0] == -1).all() and new.shape == (2, 1, 3, 5)
    assert new[0, 0, 0].tolist() == list(range(5)) and x.flatten().shape == (30,)
    for call in (lambda: x.flatten(order="F", inplace=True), lambda: x.squeeze(keep=True)):
        with pytest.raises(TypeError):
            call()


# -- the store -------------------------------------------------------------------------------------

def test_store():
    store, out = kv.create("device"), nd.zeros(2)
    assert (store.type, store.rank, store.num_workers) == ("device", 0, 1)
    store.init(3, nd.ones(2))
    store.pull(3, out=out)
    assert out.tolist() == [1, 1]
    parts = [nd.ones(2), nd.full(2, 4)]
    store.push(3, parts)
    store.pull(3, out=[out, parts[0]])
    assert out.tolist() == parts[0].tolist() == [5, 5] and parts[1].tolist() == [4, 4]
    store.init(["a", "b"], [nd.zeros(2), nd.ones(2)])
    store.push(["a", "b"], [[nd.ones(2)] * 3, nd.ones(2)])
    outs = [nd.zeros(2), [nd.zeros(2), nd.zeros(2)]]
    store.pull(["a", "b"], out=outs)
    assert outs[0].tolist() == [3, 3] and outs[1][1].tolist() == [1, 1]
    pushed = [nd.ones(2), nd.ones(2)]
    store.pushpull("a", pushed)
    assert [x.tolist() for x in pushed] == [[2, 2], [2, 2]]
    store.broadcast("c", nd.full(2, 7), out=out)
    assert out.tolist() == [7, 7] and store.is_capable("optimizer")
    for act, error in ((lambda: store.push("d", out), KeyError), (lambda: store.init("c", out), ValueError),
                       (lambda: store.pull("c"), ValueError), (lambda: store.push(["a", "b"], [out]), ValueError)):
        with pytest.raises(error):
            act()


def test_store_with_an_updater():
    store, out = kv.create(), nd.zeros(2)

    def update(key, pushed, stored):
        assert key == "w"
        stored += 10 * pushed

    store.init("w", nd.ones(2))
    store._set_updater(update)
    store.push("w", [nd.ones(2), nd.ones(2)])
    store.pull("w", out)
    assert out.tolist() == [21, 21]
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
    for expected in (20.5, 19.55):
        store.pushpull("w", nd.ones(2), out=out)
        numpy.testing.assert_allclose(out.asnumpy(), expected)


def test_store_does_not_wait():
    store, out = kv.create(), nd.zeros(2)
    store.init(0, out)
    with Gate() as gate:
        store.pushpull(0, [gate.hold(nd.ones(2)), nd.ones(2)], out=out)
        assert not out.is_ready()
        gate.open()
        assert out.tolist() == [2, 2]


# -- what the book's programs take from its package ------------------------------------------------

def test_book(capsys):
    timer = d2l.Timer()
    assert timer.stop() >= 0 and timer.start() is None and timer.stop() >= 0 and len(timer.times) == 2
    assert timer.sum() == timer.cumsum()[1] == 2 * timer.avg() and timer.cumsum()[0] == timer.times[0]
    with Gate() as gate:
        held = gate.hold()
        with d2l.Benchmark():                   # which waits for nothing
            held + 1
        with pytest.raises(ZeroDivisionError), d2l.Benchmark("CPU & GPU"):
            raise ZeroDivisionError
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("Done: 0.") and second.startswith("CPU & GPU: 0.") and first.endswith(" sec")
    assert len(first) == len("Done: 0.7144 sec")
    assert d2l.try_gpu() == dflow.cpu() and d2l.try_all_gpus() == [dflow.cpu()]


def test_new_numbers_go_into_out():
    x = nd.zeros((2, 2))
    for function, value in ((nd.ones, 1), (nd.zeros, 0)):
        assert function((2, 2), out=x) is x and (x == value).all()
    for given in ({"stype": "csr"}, {"shap": 2}):
        with pytest.raises((ValueError, TypeError)):
            nd.ones((2, 2), **given)


def test_draws_like_an_array():
    x = nd.zeros((2000, 2), dtype="float64")
    for name, parameters, mean in (("uniform", {"low": 1, "high": 3}, 2), ("normal", {"loc": 5}, 5),
                                   ("poisson", {"lam": 3}, 3), ("exponential", {"scale": 2}, 2),
                                   ("gamma", {"alpha": 4}, 4), ("negative_binomial", {"k": 2, "p": 0.5}, 2)):
        y = getattr(nd.random, f"{name}_like")(x, **parameters)
        assert (y.shape, y.dtype) == (x.shape, x.dtype) and abs(y.mean().item() - mean) < 0.2
    assert nd.random.normal_like(x, 7, 0.1, out=x) is x and abs(x.mean().item() - 7) < 0.1
    assert abs(nd.random.binomial(10, 0.3, shape=(4000,)).mean().item() - 3) < 0.2
    assert nd.random.categorical(nd.array([0, 0, 1]), shape=5).tolist() == [2] * 5


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_round_goes_away_from_zero(dtype):
    given = numpy.array([0.5, 1.5, 2.5, -0.5, -2.5, 0.25, -1.75, 1e3], "f8").astype(dtype)
    below = numpy.nextafter(given.dtype.type(0.5), given.dtype.type(0)) if dtype != "i4" else 0
    found = nd.round(nd.array([*given, below], dtype=dtype))
    halves = numpy.sign(given) * numpy.floor(abs(given.astype("f8")) + 0.5)
    assert found.dtype == given.dtype and found.asnumpy().tolist() == [*halves, 0]


@pytest.mark.parametrize("dtype", ["u1", "u4", "i1", "i8", "f4", "?"])
def test_orders_from_the_greatest_down(dtype):
    given = numpy.array([0, 1, 2, 255, 128, 127], "i8").astype(dtype)
    found = nd.argsort(nd.array(given, dtype=dtype), is_ascend=False).asnumpy().astype(int)
    assert given[found].tolist() == sorted(given.tolist(), reverse=True)


def test_reshape_of_nothing_fails_as_numpys_does():
    with pytest.raises(ValueError, match="cannot reshape array of size 0"):
        np.empty(0).reshape(0, -1)
    with pytest.raises(ValueError, match="cannot reshape array of size 0"):
        nd.reshape(nd.ones((0,)), (0, -1))
