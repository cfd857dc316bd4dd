"""dflow.onnx: models of exported programs, run by onnxruntime, give the numbers that the blocks give."""

import importlib
import sys

import numpy
import pytest
from exported import Function, Unrolled, numbers

import dflow.numpy as np
from dflow import gluon, init, npx
from dflow.gluon import nn, rnn

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from dflow.onnx import FORMS, export_model  # noqa: E402

pytestmark = pytest.mark.once            # see pyproject.toml


def compare(block, path, *inputs, tolerance=1e-5):
    """What onnxruntime computes with the block's model, and what the block does."""
    expected = block(*inputs)
    files = block.export(str(path / "net"), inputs=[np.ones_like(x) for x in inputs])
    file = export_model(*files, onnx_file_path=str(path / "net.onnx"))
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    found = session.run(None, {name: x.asnumpy() for name, x in zip(names, inputs, strict=True)})
    for theirs, ours in zip(found, expected if isinstance(expected, (list, tuple)) else [expected], strict=True):
        assert (theirs.dtype, theirs.shape) == (ours.dtype, ours.shape)
        numpy.testing.assert_allclose(theirs, ours.asnumpy(), rtol=tolerance, atol=tolerance)


FUNCTIONS = {
    "operators": lambda x: -x ** 2 / 3 + abs(x) - 1 + 2 * (x - 0.5) / (x * x + 1),
    "functions": lambda x: [np.exp(x), np.sqrt(np.absolute(x)), np.tanh(x), np.sin(x) + np.cos(x), np.floor(x),
                            np.square(x), np.sign(x), np.arctan(x), np.rint(x), np.log(np.exp(x)), np.reciprocal(x)],
    "comparisons": lambda x: [x > 0, x <= 0.5, np.not_equal(x, 0), np.logical_and(x > 0, x < 1),
                              np.logical_not(x > 0), np.isnan(x), x == x],
    "comparisons of types": lambda x: x > np.arange(3),
    "selection": lambda x: [np.where(x > 0, x, 0), np.maximum(x, 0.5), np.clip(x, -1, 1), x.clip(-1, 1),
                            np.clip(x, None, 0.5)],
    "shapes": lambda x: [x.reshape(2, -1), x.T, x.transpose(1, 0), np.expand_dims(x, 1), x.swapaxes(0, 1),
                         np.squeeze(x[:1]), x.flatten(), np.broadcast_to(x, (2, 4, 3)), np.ravel(x), x.ravel(),
                         np.transpose(x, (1, 0)), x.transpose((1, 0)), np.swapaxes(x, 0, -1)],
    "joins": lambda x: [np.concatenate([x, x * 2], axis=1), np.stack([x, x], axis=-1), *np.split(x, 2)],
    "reductions": lambda x: [x.sum(), x.sum(axis=1), np.mean(x, axis=0, keepdims=True), x.max(-1), np.min(x), x.prod(0),
                             np.argmax(x, axis=1), x.argmin(0), x.mean()],
    "indices": lambda x: [x[1], x[:, 1], x[..., ::-1], x[1:3, None, ::2], x[-1, -2], x[::-2], x[np.array([2, 0])],
                          np.take(x, np.array([1, 0]), axis=1)],
    "products": lambda x: [x @ x.T, np.dot(x, x[0]), np.matmul(x, np.ones((3, 2), dtype="float32")),
                           npx.batch_dot(x[None], x[None], transpose_b=True)],
    "types": lambda x: [x.astype("int32"), x.astype("float64") * 2.5, (x > 0) * x, x + np.arange(3), x.copy()],
    "paddings": lambda x: [np.pad(x, 1), np.pad(x, ((0, 1), (2, 0)), mode="reflect"), np.pad(x, 1, mode="edge"),
                           np.pad(x, 1, constant_values=3)],
    "constants": lambda x: [x + np.ones_like(x), np.zeros_like(x) * x, npx.stop_gradient(x)],
    "activations": lambda x: [npx.relu(x), npx.sigmoid(x), npx.gelu(x), npx.erf(x), npx.softmax(x),
                              npx.log_softmax(x, 0), npx.softmax(x, temperature=2.0)]
    + [npx.activation(x, kind) for kind in ("softrelu", "softsign", "tanh", "log_sigmoid", "mish")]
    + [npx.leaky_relu(x, act_type=kind, slope=0.3) for kind in ("leaky", "elu", "selu", "gelu", "gelu_tanh", "rrelu")]
    + [npx.gelu(x, "tanh")],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(tmp_path, name):
    compare(Function(FUNCTIONS[name]), tmp_path, numbers(4, 3))


LAYERS = {
    "dense": (lambda: nn.Dense(5, activation="relu"), (2, 3, 4)),
    "dense, not flattened": (lambda: nn.Dense(5, flatten=False, use_bias=False), (2, 3, 4)),
    "convolution": (lambda: nn.Conv2D(4, (3, 2), strides=2, padding=(1, 0), dilation=1), (2, 3, 9, 8)),
    "convolution in groups": (lambda: nn.Conv1D(4, 3, groups=2, dilation=2, use_bias=False), (2, 2, 9)),
    "transposed convolution": (lambda: nn.Conv2DTranspose(3, 3, strides=2, padding=1, output_padding=1), (2, 4, 5, 5)),
    "largest": (lambda: nn.MaxPool2D(3, 2, 1), (2, 3, 8, 8)),
    "largest, all": (lambda: nn.MaxPool2D(3, 2, ceil_mode=True), (2, 3, 8, 8)),
    "mean": (lambda: nn.AvgPool2D(3, 2, 1), (2, 3, 8, 8)),
    "mean without padding": (lambda: nn.AvgPool2D(3, 2, 1, count_include_pad=False), (2, 3, 8, 8)),
    "means": (lambda: nn.GlobalAvgPool2D(), (2, 3, 8, 8)),
    "maxima": (lambda: nn.GlobalMaxPool1D(), (2, 3, 8)),
    "batch": (lambda: nn.BatchNorm(), (2, 3, 4, 4)),
    "batch, last axis": (lambda: nn.BatchNorm(axis=-1, scale=False), (2, 3, 4)),
    "layer": (lambda: nn.LayerNorm(), (2, 3, 4)),
    "group": (lambda: nn.GroupNorm(2), (2, 4, 3, 3)),
    "instance": (lambda: nn.InstanceNorm(), (2, 4, 3, 3)),
    "prelu": (lambda: nn.PReLU(), (2, 3, 4)),
    "swish": (lambda: nn.Swish(), (2, 3)),
    "gelu": (lambda: nn.GELU("tanh"), (2, 3)),
    "cells": (lambda: Unrolled(rnn.LSTMCell(4), 3), (2, 3, 5)),
    "more cells": (lambda: Unrolled(rnn.GRUCell(4), 3), (2, 3, 5)),
    "lstm": (lambda: rnn.LSTM(4), (5, 3, 6)),
    "lstm, both ways": (lambda: rnn.LSTM(4, 2, bidirectional=True, dropout=0.5), (5, 3, 6)),
    "gru": (lambda: rnn.GRU(4, 2, layout="NTC"), (3, 5, 6)),
    "gru, both ways": (lambda: rnn.GRU(4, bidirectional=True), (5, 3, 6)),
    "rnn": (lambda: rnn.RNN(4, 3), (5, 3, 6)),
    "rnn, both ways": (lambda: rnn.RNN(4, activation="relu", bidirectional=True), (5, 3, 6)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(tmp_path, name):
    make, shape = LAYERS[name]
    block = make()
    block.initialize(init.Normal(0.5))
    block(numbers(*shape))
    for p in block.collect_params().values():
        p.set_data(np.abs(numbers(*p.shape)) + 0.1)
    compare(block, tmp_path, numbers(*shape))


@pytest.mark.parametrize("mode, gates", [("lstm", 4), ("gru", 3), ("rnn_tanh", 1)])
@pytest.mark.parametrize("outputs", [False, True])
def test_recurrent_layers(tmp_path, mode, gates, outputs):
    """Two layers both ways, of given states and lengths, and weights that are an input."""
    def function(x, w, length, h, *c):
        return npx.rnn(x, w, h, *c or [None], length, mode, 4, 2, True, outputs, use_sequence_length=True)

    cells = [numbers(4, 2, 4)] if mode == "lstm" else []
    weights = numbers(gates * 4 * 2 * (5 + 4 + 2 + 8 + 4 + 2)) / 2      # rows, directions, and two layers' columns
    compare(Function(function), tmp_path, numbers(3, 2, 5), weights, np.array([3, 2]), numbers(4, 2, 4), *cells)


def test_tiles(tmp_path):
    compare(Function(lambda x: [np.tile(x, 2), np.tile(x, (3, 1)), np.tile(x, (2, 1, 2))]), tmp_path, numbers(4, 3))


def test_embedding(tmp_path):
    block = nn.Embedding(5, 3)
    block.initialize()
    compare(block, tmp_path, np.array([[0, 4], [9, 2]]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18_v2", "mobilenet1_0", "squeezenet1_0"])
def test_known_networks(tmp_path, name):
    net = getattr(gluon.model_zoo.vision, name)(classes=10)
    net.initialize(init.Xavier())
    compare(net, tmp_path, numbers(1, 3, 224, 224), tolerance=1e-3)


def test_what_has_no_form(tmp_path):
    for function, text in ((lambda x: np.fft.rfft(x), "np.fft.rfft has no form in ONNX here"),
                           (lambda x: {"a": x * 2}, "returns an array, or a list of them"),
                           (lambda x: x[x > 0], "not made of numbers and slices"),
                           (lambda x: np.add(x, 1, dtype="float64"), "np.add with dtype has no form"),
                           (lambda x: npx.rnn(x[None], np.ones(50), np.ones((1, 4, 1)), np.ones((1, 4, 2)), mode="lstm",
                                              state_size=2, num_layers=1, projection_size=1), "LSTM has no projection"),
                           (lambda x: x.sum(dtype="float64"), "ReduceSum with dtype='float64' has no form")):
        files = Function(function).export(str(tmp_path / "net"), inputs=numbers(4, 3))
        with pytest.raises(ValueError, match=text):
            export_model(*files, onnx_file_path=str(tmp_path / "net.onnx"))
        assert not (tmp_path / "net.onnx").exists()


def test_arguments(tmp_path):
    files = Function(lambda x, y: x + y).export(str(tmp_path / "net"), inputs=[numbers(3), numbers(3)])
    file = export_model(*files, [(2, 3), (3,)], [numpy.float64, "float32"], str(tmp_path / "net.onnx"))
    (found,) = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(
        None, {"data0": numpy.ones((2, 3)), "data1": numpy.ones(3, "f4")})
    assert found.dtype == float and found.tolist() == [[2] * 3] * 2
    with pytest.raises(ValueError, match="must be of 2 inputs, not 1 and 1"):
        export_model(*files, [(2, 3)], "float32")
    npx.save(files[1], {"other": np.ones(3)})
    dense = nn.Dense(2)
    dense.initialize()
    symbol, _ = dense.export(str(tmp_path / "dense"), inputs=numbers(1, 3))
    with pytest.raises(ValueError, match="net-0000.params has no array weight, bias"):
        export_model(symbol, files[1])


def test_without_the_package(tmp_path, monkeypatch):
    files = Function(lambda x: x * 2).export(str(tmp_path / "net"), inputs=numbers(3))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match="onnx"):
        export_model(*files, onnx_file_path=str(tmp_path / "net.onnx"))


def test_forms_are_of_functions_that_programs_call():
    function_of = importlib.import_module("dflow.gluon.program").function_of
    assert FORMS and all(callable(function_of(name)) for name in FORMS)
