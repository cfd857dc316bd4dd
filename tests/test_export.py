"""HybridBlock.export() and SymbolBlock.imports(): the same numbers without the class, and what is refused."""

import json
import re
import subprocess
import sys
import threading

import numpy
import pytest
from engines import clean_environment
from exported import Function, Unrolled, numbers

import dflow.numpy as np
from dflow import autograd, gluon, init, npx
from dflow.gluon import nn, rnn
from dflow.gluon.program import METHODS, from_json, function_of

pytestmark = pytest.mark.once            # see pyproject.toml


def network():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2), nn.Dropout(0.5),
            nn.Flatten(), nn.Dense(6), nn.LeakyReLU(0.1), nn.LayerNorm())
    net.initialize(init.Xavier())
    return net


def through_files(block, path, *inputs):
    """The block that its export gives."""
    symbol, params = block.export(str(path / "net"), inputs=inputs)
    names = ["data"] if len(inputs) == 1 else [f"data{i}" for i in range(len(inputs))]
    return gluon.SymbolBlock.imports(symbol, names, params)


def test_the_files_and_the_same_numbers(tmp_path):
    net, x = network(), numbers(2, 3, 8, 8)
    net.hybridize()
    expected = net(x)
    files = net.export(str(tmp_path / "net"), 7)
    assert files == (str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0007.params"))
    block = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    assert re.fullmatch(r"SymbolBlock\(\n  \d+ operations on data\n\)", repr(block))
    assert (block(x) == expected).all() and list(block.collect_params()) == list(net.collect_params())
    block.hybridize()
    assert (block(x) == expected).all() and (block(x) == expected).all()
    more = numbers(5, 3, 8, 8)
    assert (block(more) == net(more)).all()                     # which another batch size does not change
    assert (net(x) == expected).all() and net._children["0"]._run.__class__.__name__ == "Graph"


def test_without_the_class(tmp_path):
    """Another process that knows nothing of it; the arrays are NumPy's, too."""
    block, x = Function(lambda x: np.split(np.exp(x * 2) @ np.arange(6.0).reshape(3, 2), 2)[0]), numbers(4, 3)
    files = block.export(str(tmp_path / "net"), inputs=x)
    npx.save(str(tmp_path / "x"), {"x": x, "y": block(x)})
    program = """if True:
        import sys
        from dflow import gluon, npx
        there = npx.load(sys.argv[1])
        block = gluon.SymbolBlock.imports(sys.argv[2], "data", sys.argv[3])
        assert (block(there["x"]) == there["y"]).all()
        print("the same")"""
    ran = subprocess.run([sys.executable, "-c", program, str(tmp_path / "x"), *files], capture_output=True, text=True,
                         env=clean_environment(), timeout=60)
    assert ran.stdout == "the same\n", ran.stderr
    with numpy.load(files[1]) as arrays:
        assert arrays["constant:0"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert json.load(open(files[0]))["inputs"] == [{"name": "data", "shape": [4, 3], "dtype": "float32"}]


FUNCTIONS = {
    "operators": lambda x: -x ** 2 / 3 + abs(x) * (x > 0) - 1 // (x + 9) % 2,
    "in place": lambda x: added_in_place(x),
    "methods": lambda x: x.reshape(2, -1).T.sum(axis=1, keepdims=True).astype("float64").clip(-1, 1),
    "indices": lambda x: x[..., None][:, ::-1, 0][1:, np.array([0, 2, 1])],
    "selection": lambda x: np.where(x > 0, x, np.float32(0.5)).max(-1),
    "lists": lambda x: np.concatenate([x, np.stack([x, x])[0]], axis=1),
    "several results": lambda x: (np.split(x, 2), {"mean": x.mean(), "parts": [x[0], x.T]}),
    "named results": lambda x: np.linalg.svd(x, full_matrices=False).S,
    "numbers that are none": lambda x: np.maximum(x, -numpy.inf) + np.clip(x, None, numpy.inf),
    "constants": lambda x: x @ np.eye(3, dtype="float32") + np.array(7),
    "networks": lambda x: npx.softmax(npx.topk(x, k=2, ret_typ="value"), axis=0),
    "transforms": lambda x: np.fft.rfft(x).real,
    "shapes": lambda x: x.reshape(x.shape[1], x.size // x.shape[1]) + len(x) + x.ndim,
    "rows": lambda x: sum(row * k for k, row in enumerate(x)),
    "stopped": lambda x: x.detach() * x,
    "types": lambda x: x.astype(np.int32) + np.ones_like(x, dtype=int),
}


def added_in_place(x):
    y = x * 2
    z = y
    y += 1
    return z


def flattened(x):
    if isinstance(x, dict):
        return [part for item in x.values() for part in flattened(item)]
    return [part for item in x for part in flattened(item)] if isinstance(x, (list, tuple)) else [x]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_can_be_exported(tmp_path, name):
    block, x = Function(FUNCTIONS[name]), numbers(4, 3)
    other = through_files(block, tmp_path, np.ones_like(x))
    expected, result = block(x), other(x)
    if name not in ("named results",):
        assert type(result) is type(expected)
    for ours, theirs in zip(flattened(result), flattened(expected), strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and (ours == theirs).all()


RECURRENT = {
    "rnn": lambda: rnn.RNN(4, activation="relu"),
    "lstm": lambda: rnn.LSTM(4, 2, bidirectional=True),
    "gru": lambda: rnn.GRU(4, 2, layout="NTC", dropout=0.5),
    "projected": lambda: rnn.LSTM(4, projection_size=2),
    "cells": lambda: Unrolled(rnn.LSTMCell(4), 2),
    "cells of both directions": lambda: Unrolled(rnn.BidirectionalCell(rnn.GRUCell(4), rnn.RNNCell(2)), 2),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_layers(tmp_path, name):
    net = RECURRENT[name]()
    net.initialize(init.Xavier())
    block = through_files(net, tmp_path, numbers(2, 2, 3))
    shapes = [(2, 2, 3)] if "Cell" in repr(net) else [(2, 2, 3), (4, 5, 3)]     # cells begin with states of one batch
    for shape in shapes:
        x = numbers(*shape) + 1
        numpy.testing.assert_array_equal(block(x).asnumpy(), net(x).asnumpy())


def test_recurrent_layers_with_states_and_lengths(tmp_path):
    net, x, lengths = rnn.LSTM(4, use_sequence_length=True), numbers(5, 2, 3), np.array([5, 2])
    net.initialize()
    states = [numbers(1, 2, 4), numbers(1, 2, 4) + 1]
    block = through_files(Function(lambda *given: [given[0], *net(given[0], list(given[1:3]), given[3])[1]]), tmp_path,
                          x, *states, lengths)
    _, h, c = block(x, *states, lengths)
    _, expected = net(x, states, lengths)
    assert (h == expected[0]).all() and (c == expected[1]).all()


def test_inputs_have_names_and_an_order(tmp_path):
    block, x, y = Function(lambda x, y: x - y), numbers(3), numbers(3) * 2
    symbol, params = block.export(str(tmp_path / "net"), inputs=[x, y])
    assert (gluon.SymbolBlock.imports(symbol, ["data0", "data1"], params)(x, y) == x - y).all()
    turned = gluon.SymbolBlock.imports(symbol, ["data1", "data0"], params)
    assert (turned(x, y) == y - x).all()
    with pytest.raises(ValueError, match="input_names must be data0, data1 in some order, not data"):
        gluon.SymbolBlock.imports(symbol, ["data"])
    with pytest.raises(TypeError, match="2 arrays are expected, not ndarray"):
        turned(x)


def test_training_what_was_imported(tmp_path):
    """Parameters are trained, running means follow, dropout drops: as those of the class."""
    net, x = network(), numbers(4, 3, 8, 8)
    block = through_files(net, tmp_path, x)
    for each in (net, block):
        np.random.seed(7)
        trainer = gluon.Trainer(each.collect_params(), "sgd", {"learning_rate": 0.1})
        for _ in range(3):
            with autograd.record():
                loss = (each(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
    for (name, ours), (_, theirs) in zip(block.collect_params().items(), net.collect_params().items(), strict=True):
        assert (ours.data() == theirs.data()).all(), name
        assert ours.grad_req == theirs.grad_req


def test_random_numbers_are_drawn_anew(tmp_path):
    block = through_files(Function(lambda x: x + np.random.normal(size=3)), tmp_path, numbers(3))
    assert (block(numbers(3)) != block(numbers(3))).all()


def test_constants_are_not_trained(tmp_path):
    block = through_files(Function(lambda x: x * np.array([1.0, 2, 3])), tmp_path, numbers(3))
    block.setattr("grad_req", "write")
    assert block.collect_params()["constant:0"].grad_req == "null"


def test_other_threads_go_on_while_one_exports(tmp_path):
    done, wrong = threading.Event(), []

    def compute():
        p = gluon.Parameter("p", shape=(3,))
        p.initialize()
        while not done.is_set():
            if type(npx.relu(p.data())) is not np.ndarray or type(np.random.rand(2)) is not np.ndarray:
                wrong.append(1)

    thread = threading.Thread(target=compute)
    thread.start()
    for _ in range(5):
        network().export(str(tmp_path / "net"), inputs=numbers(1, 3, 4, 4))
    done.set()
    thread.join()
    assert not wrong and npx.relu.__module__ == "dflow.ops.nn"


REFUSED = {
    "looks at the values": lambda x: x if x.sum() > 0 else -x,
    "looks at the values of an array": lambda x: x * float(x[0]),
    r"x\[...\] = y cannot be exported": lambda x: x.__setitem__(0, 1),
    "with out= cannot be exported": lambda x: np.add(x, 1, out=np.zeros(3)),
    "'np.apply_along_axis' is no function that a program may call": lambda x: np.apply_along_axis(sum, 0, x),
    "np.add.outer cannot be exported": lambda x: np.add.outer(x, x),
    "'tobytes' of an array cannot be exported": lambda x: x.tobytes(),
    "returns nothing that was computed from its arguments": lambda x: np.ones(3),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_exported(tmp_path, text):
    x = np.ones(3)
    with pytest.raises((TypeError, ValueError, AttributeError), match=text):
        Function(REFUSED[text]).export(str(tmp_path / "net"), inputs=x)
    assert not list(tmp_path.iterdir()) and npx.relu(x).tolist() == [1] * 3


def test_export_needs_to_know_the_arguments(tmp_path):
    net = network()
    with pytest.raises(RuntimeError, match="hybridize.. it and call it once before export.., or give inputs"):
        net.export(str(tmp_path / "net"))
    states = Function(lambda x, n: x * n)
    states.hybridize()
    states(np.ones(3), 2)
    with pytest.raises(TypeError, match="takes other arguments than arrays, and cannot be exported: int"):
        states.export(str(tmp_path / "net"))


# -- files -----------------------------------------------------------------------------------------

GOOD = {"format": "dflow program", "version": 1, "inputs": [{"name": "data", "shape": [3], "dtype": "float32"}],
        "arrays": {"w": {"shape": [3], "dtype": "float32", "grad_req": "write"}},
        "calls": [{"call": "np.add", "args": [{"input": 0}, {"array": "w"}]}, {"call": ".sum", "args": [{"call": 0}]}],
        "result": {"call": 1}}


def with_call(name, *args, **keywords):
    return {"calls": [{"call": name, "args": list(args), "keywords": keywords}], "result": {"call": 0}}


HOSTILE = [
    ({"format": "onnx"}, "this is no program of dflow's"), ({"version": 2}, "has the version 2, and 1 is known"),
    ({"inputs": None}, "inputs must be a list"), ({"inputs": [{"name": 3, "shape": [], "dtype": "f4"}]}, "have names"),
    ({"inputs": [{"name": "x", "shape": [-1], "dtype": "f4"}]}, "a length of an input must be a number"),
    ({"arrays": {"w": {"shape": [3], "dtype": "O"}}}, "there is no dtype 'O'"),
    ({"arrays": {"w": {"shape": [3], "dtype": "f4", "grad_req": "x"}}}, "w has the grad_req 'x'"),
    ({"arrays": []}, "arrays must be a dictionary"),
    ({"calls": {}}, "calls must be a list"), ({"calls": ["np.add"]}, "a call must be a dictionary"),
    ({"result": {"call": 2}}, "an earlier call must be a number below 2"), ({"result": {"call": -1}}, "below 2"),
    ({"result": {"file": "x"}}, "there is no argument of the kind 'file'"),
    ({"result": {"decoded": "x"}}, "there is no argument of the kind 'decoded'"),
    ({"result": {"call": 0, "input": 0}}, "must be a dictionary of one key"),
    ({"result": {"float": "1"}}, "there is no number '1'"), ({"result": {"number": ["1", "f4"]}}, "there is no number"),
    (with_call("np.add", {"input": 1}, 1), "an input must be a number below 1"),
    (with_call("np.add", {"call": 0}, 1), "an earlier call must be a number below 0"),
    (with_call("np.add", {"array": "v"}, 1), "there is no array 'v'"),
    (with_call("np.add", {"input": 0}, 1, out={"input": 0}), "keywords but for out"),
    (with_call("np.zeros", {"slice": [1]}), "slice must be a list of 3"),
    (with_call(".sum", "text"), "'.sum' is called of no array"),
] + [(with_call(name, {"input": 0}), "is no function that a program may call") for name in (
    "np.load", "np.fromfile", "np.save", "np.savez", "np.genfromtxt", "np.frompyfunc", "np.random.seed", "np.ctypeslib",
    "np.lib.stride_tricks.as_strided", "np.linalg", "os.system", "builtins.eval", "eval", ".tofile", ".__class__",
    ".dump", ".setflags", "npx.save", "npx.load", "npx.set_np", "npx.waitall", "np.random.Generator", "", ".", "np.")]


@pytest.mark.parametrize("change, text", HOSTILE, ids=lambda x: x if isinstance(x, str) else json.dumps(x)[:60])
def test_hostile_programs(tmp_path, change, text):
    from_json(json.dumps(GOOD))
    file = tmp_path / "net-symbol.json"
    file.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(ValueError, match=text) as error:
        gluon.SymbolBlock.imports(str(file), "data")
    assert str(file) in str(error.value)


@pytest.mark.parametrize("content", [
    b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"null", b"1e999",
    json.dumps({**GOOD, "result": eval("[" * 40 + "1" + "]" * 40)}).encode()])
def test_what_is_no_program(tmp_path, content):
    file = tmp_path / "net-symbol.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match="net-symbol.json"):
        gluon.SymbolBlock.imports(str(file), "data")


def test_arrays_that_do_not_fit(tmp_path):
    symbol, params = network().export(str(tmp_path / "net"), inputs=numbers(1, 3, 4, 4))
    npx.save(params, {"0.weight": np.zeros(3)})
    with pytest.raises(ValueError, match="has no parameter"):
        gluon.SymbolBlock.imports(symbol, "data", params)
    with pytest.raises(FileNotFoundError):
        gluon.SymbolBlock.imports(symbol, "data", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError):
        gluon.SymbolBlock.imports(str(tmp_path / "none"), "data")


def test_methods_are_there():
    assert all(hasattr(np.ndarray, name) for name in METHODS)
    assert function_of("np.linalg.norm") is np.linalg.norm
