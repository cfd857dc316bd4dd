"""gluon.rnn: layers and cells against plain NumPy, step by step; gradients against differences, and against cells'."""

import numpy
import pytest
from test_gluon import check_gradients, numbers
from test_npx import Reference

from dflow import autograd, gluon, init, npx
from dflow import numpy as np
from dflow.gluon import nn, rnn

pytestmark = pytest.mark.once

LAYERS = {"rnn_relu": rnn.RNN, "rnn_tanh": lambda *args, **keywords: rnn.RNN(*args, activation="tanh", **keywords),
          "lstm": rnn.LSTM, "gru": rnn.GRU}
CELLS = {"rnn_relu": lambda *args, **keywords: rnn.RNNCell(*args, activation="relu", **keywords),
         "rnn_tanh": rnn.RNNCell, "lstm": rnn.LSTMCell, "gru": rnn.GRUCell}
modes = pytest.mark.parametrize("mode", LAYERS)


def filled(block, dtype="float64"):
    """A block with parameters that are numbers()."""
    block.initialize()
    block.cast(dtype)
    for k, p in enumerate(block.collect_params().values()):
        p.set_data(np.array(numbers(k + p.data().size)[k:].reshape(p.shape) / 6, dtype))
    return block


def flat(block):
    """The parameters of a layer as npx.rnn() takes them."""
    named = block.collect_params().items()
    return np.concatenate([p.data().reshape(-1) for kind in ("weight", "bias") for name, p in named if kind in name])


def states_of(block, batch):
    """What to begin with."""
    return [np.array(numbers(*info["shape"]) / (k + 5)) for k, info in enumerate(block.state_info(batch))]


def reference(mode, block, x, states, num_layers, bidirectional, length=None, **keywords):
    plain = [array.asnumpy() for array in (x, flat(block), *states)]
    cells = plain[3:] or [None]
    return Reference.rnn(*plain[:3], *cells, length, mode, states[-1].shape[2], num_layers, bidirectional, True,
                         **keywords)


def assert_close(actual, expected, tolerance=1e-12):
    for x, y in zip(actual, expected, strict=True):
        numpy.testing.assert_allclose(numpy.asarray(x), numpy.asarray(y), tolerance, tolerance)


@modes
@pytest.mark.parametrize("bidirectional", [False, True])
def test_layers(mode, bidirectional):
    """Both layouts, one and two layers, sequences of one length and of several."""
    x = np.array(numbers(4, 3, 2))
    for num_layers, length in ((1, None), (2, None), (2, [4, 0, 2])):
        layers = [filled(LAYERS[mode](5, num_layers, layout=layout, bidirectional=bidirectional, input_size=2,
                                      use_sequence_length=length is not None)) for layout in ("TNC", "NTC")]
        states = states_of(layers[0], 3)
        expected = reference(mode, layers[0], x, states, num_layers, bidirectional, length)
        lengths = () if length is None else (np.array(length),)
        for layer, turn in zip(layers, (lambda y: y, lambda y: y.swapaxes(0, 1))):
            y, after = layer(turn(x), states, *lengths)
            assert_close([turn(y), *after], expected)
        zeros = [s * 0 for s in states]
        expected = reference(mode, layers[0], x, zeros, num_layers, bidirectional, length)
        assert_close([layers[0](x, None, *lengths)], expected[:1])
        y, after = layers[0](x, zeros[0] if len(zeros) == 1 else zeros, *lengths)
        assert_close([y, *after], expected)


def test_projection():
    layer, x = filled(rnn.LSTM(5, 2, bidirectional=True, input_size=2, projection_size=3)), np.array(numbers(4, 3, 2))
    states = states_of(layer, 3)
    names = [f"{side}{k}_{name}" for name in ("i2h_weight", "h2h_weight", "h2r_weight", "i2h_bias", "h2h_bias")
             for k in range(2) for side in "lr"]
    assert layer.collect_params().keys() == set(names) and layer.l1_h2r_weight.shape == (3, 5)
    expected = reference("lstm", layer, x, states, 2, True, projection_size=3)
    y, after = layer(x, states)
    assert_close([y, *after], expected)


@modes
def test_the_function_takes_the_parameters_of_the_layer(mode):
    layer, x = filled(LAYERS[mode](3, 2, bidirectional=True, input_size=2)), np.array(numbers(4, 3, 2))
    states = states_of(layer, 3)
    y, after = layer(x, states)
    given = npx.rnn(x, flat(layer), *states, mode=mode, state_size=3, num_layers=2, bidirectional=True,
                    state_outputs=True)
    assert_close([y, *after], given)
    assert_close([y], [npx.rnn(x, flat(layer), *states, mode=mode, state_size=3, num_layers=2, bidirectional=True)])


# ---- gradients


GRADIENTS = {
    "one": {"num_layers": 1}, "two": {"num_layers": 2, "bidirectional": True},
    "lengths": {"num_layers": 1, "bidirectional": True, "use_sequence_length": True, "sequence_length": [3, 1]},
    "projected": {"num_layers": 1, "projection_size": 1}}


@pytest.mark.parametrize("mode, kind, second", [
    (mode, kind, second) for mode in LAYERS for kind in GRADIENTS for second in (False, True)
    if (mode == "lstm" or kind != "projected") and not (second and kind in ("two", "lengths"))])
def test_gradients(mode, kind, second):
    """Of the output and the last states, by everything; of second order by those of one layer."""
    arguments = {"mode": mode, "state_size": 2, "state_outputs": True, **GRADIENTS[kind]}
    layer = LAYERS[mode](2, arguments["num_layers"], bidirectional=arguments.get("bidirectional", False), input_size=1,
                         **{name: arguments[name] for name in ("projection_size",) if name in arguments})
    values = [numbers(3, 2, 1) / 3, flat(filled(layer)).asnumpy(), *(s.asnumpy() for s in states_of(layer, 2))]
    check_gradients(lambda *arrays: npx.rnn(*arrays, **arguments), *values, second=second)


def passed_back(function, x, states, parameters):
    """The gradients of a function of x and states, by these and by parameters."""
    for array in (x, *states):
        array.attach_grad()
    with autograd.record():
        y, after = function(x, states)
        loss = sum((part * np.array(numbers(*part.shape))).sum() for part in (y, *after))
    loss.backward()
    return [array.grad for array in (x, *states)] + [p.grad() for p in parameters]


@modes
def test_gradients_as_the_cells(mode):
    """The layer's are of one piece, the cell's of its operations'."""
    layer, cell = filled(LAYERS[mode](4, input_size=3)), filled(CELLS[mode](4, input_size=3))
    x, states = np.array(numbers(5, 2, 3)), [s[0] for s in states_of(layer, 2)]
    found = passed_back(lambda x, states: layer(x, [s[None] for s in states]), x, states,
                        layer.collect_params().values())
    unrolled = passed_back(lambda x, states: cell.unroll(5, x, states, "TNC", True), x, states,
                           cell.collect_params().values())
    assert_close([g.reshape(like.shape) for g, like in zip(found, unrolled)], unrolled)


# ---- layers as blocks


@modes
def test_the_input_size_follows_from_the_first_input(mode):
    layer = LAYERS[mode](4, 2, bidirectional=True)
    layer.initialize()
    assert layer.l0_i2h_weight.shape[1] == layer.r0_i2h_weight.shape[1] == -1
    assert layer(np.zeros((5, 2, 3), "float32")).shape == (5, 2, 8)
    assert layer.l0_i2h_weight.shape[1] == layer.r0_i2h_weight.shape[1] == 3
    assert layer.l1_i2h_weight.shape[1] == 8
    assert list(layer.collect_params())[:4] == ["l0_i2h_weight", "l0_h2h_weight", "l0_i2h_bias", "l0_h2h_bias"]


def test_files(tmp_path):
    file, x = str(tmp_path / "p"), np.array(numbers(4, 3, 2), "float32")
    net, other = nn.Sequential(), nn.Sequential()
    for block in (net, other):
        block.add(rnn.LSTM(4, 2, bidirectional=True), nn.Dense(2, flatten=False))
    net.initialize()
    expected = net(x)
    net.save_parameters(file)
    other.load_parameters(file)
    assert_close([other(x)], [expected], 0)


@pytest.mark.parametrize("size", [0, 3])
def test_files_of_mxnet_2(tmp_path, size):
    """Which has the parameters of a recurrent layer in one vector: weights of all layers, then biases."""
    file, x = str(tmp_path / "p"), np.array(numbers(4, 3, 3), "float32")
    net, other = nn.Sequential(), nn.Sequential()
    for block, inputs in ((net, 3), (other, size)):
        block.add(rnn.LSTM(4, 2, bidirectional=True, input_size=inputs, projection_size=2), nn.Dense(2, flatten=False))
    net.initialize()
    expected, known = net(x), net[0].collect_params()
    vector = [known[f"{side}{layer}_{name}_{kind}"].data().reshape(-1)
              for kind, names in (("weight", ("i2h", "h2h", "h2r")), ("bias", ("i2h", "h2h")))
              for layer in range(2) for side in "lr" for name in names]
    vector = np.concatenate(vector)
    npx.save(file, {"0.rnn_param": vector, "1.weight": net[1].weight.data(), "1.bias": net[1].bias.data()})
    other.load_parameters(file)
    assert_close([other(x)], [expected], 0)
    packed = net.collect_params()["0.rnn_param"]
    with autograd.record():
        net(x).sum().backward()
    assert packed.shape == net[0].rnn_param.shape == vector.shape and (packed.data() == vector).all()
    whole = packed.data().grad
    assert whole.shape == vector.shape and (whole[-16:] == net[0].r1_h2h_bias.grad()).all() and (whole != 0).any()
    assert "0.rnn_param" not in net.collect_params() and "0.l0_i2h_weight" in net.collect_params()
    net[0].rnn_param.set_data(vector * 0)
    assert (net[0](x) == 0).all() and (other[0](x) != 0).any()
    other[0].load_dict({"rnn_param": vector * 0})
    assert (other[0](x) == 0).all()
    with pytest.raises(KeyError):
        net.collect_params()["1.rnn_param"]
    with pytest.raises(ValueError, match="parameters must have the shape"):
        other[0].load_dict({"rnn_param": np.zeros(7)})


def test_dropout_between_layers_in_training():
    layer, x = filled(rnn.GRU(64, 2, dropout=0.5, input_size=2)), np.array(numbers(4, 3, 2))
    assert_close([layer(x)], [layer(x)], 0)
    with autograd.record():
        y, again = layer(x), layer(x)
    assert (y != again).any()
    one = filled(rnn.GRU(64, dropout=0.5, input_size=2))
    with autograd.record():
        assert_close([one(x)], [one(x)], 0)


def test_types_and_states():
    layer = rnn.LSTM(4, 2, input_size=3)
    layer.initialize()
    states = layer.begin_state(5)
    assert [s.shape for s in states] == [(2, 5, 4)] * 2 and {s.dtype for s in states} == {numpy.dtype("float32")}
    y, after = layer(np.ones((6, 5, 3), "float32"), states)
    assert {s.dtype for s in (y, *after)} == {numpy.dtype("float32")}
    ones = layer.begin_state(batch_size=5, func=np.ones, ctx=npx.cpu())
    assert [float(s.mean()) for s in ones] == [1, 1]
    assert layer.state_info(7)[0] == {"shape": (2, 7, 4), "__layout__": "LNC", "dtype": numpy.dtype("float32")}
    layer.cast("float64")
    assert layer.begin_state(5)[0].dtype == layer(np.ones((6, 5, 3))).dtype == numpy.float64


def test_initializers():
    layer = rnn.LSTM(2, input_size=3, i2h_weight_initializer="ones", h2h_weight_initializer=init.Constant(2),
                     i2h_bias_initializer=init.LSTMBias(3), h2h_bias_initializer="zeros")
    layer.initialize()
    assert_close([p.data() for p in layer.collect_params().values()],
                 [numpy.ones((8, 3)), numpy.full((8, 2), 2), [0, 0, 3, 3, 0, 0, 0, 0], numpy.zeros(8)])


def test_repr():
    assert repr(rnn.RNN(4)) == "RNN(-1 -> 4, TNC)"
    assert repr(rnn.GRU(4, 2, "NTC", 0.5, True, 3)) == "GRU(3 -> 4, NTC, num_layers=2, dropout=0.5, bidirectional)"
    assert repr(rnn.LSTMCell(4, input_size=3)) == "LSTMCell(3 -> 16)"
    assert repr(rnn.DropoutCell(0.5)) == "DropoutCell(rate=0.5, axes=())"


@pytest.mark.parametrize("function, text", [
    (lambda: rnn.RNN(4, activation="softsign"), "activation must be one of 'relu', 'tanh', not 'softsign'"),
    (lambda: rnn.GRU(4, layout="NCT"), "layout must be one of 'TNC', 'NTC', not 'NCT'"),
    (lambda: filled(rnn.GRU(4, input_size=3))(np.ones((5, 3))), "data must have three axes"),
    (lambda: filled(rnn.GRU(4, input_size=3))(np.ones((5, 2, 4))), r"weight must have the shape \(12, 4\)"),
    (lambda: filled(rnn.GRU(4, input_size=3))(np.ones((5, 2, 3)), np.ones((1, 3, 4))), "states must have the shapes"),
    (lambda: filled(rnn.LSTM(4, input_size=3))(np.ones((5, 2, 3)), np.ones((1, 2, 4))), "states must have the shapes"),
    (lambda: filled(rnn.GRU(4, input_size=3))(np.ones((5, 2, 3)), None, np.ones(2)), "sequence_length is given"),
    (lambda: filled(rnn.GRU(4, input_size=3, use_sequence_length=True))(np.ones((5, 2, 3))), "length is missing"),
    (lambda: filled(rnn.GRUCell(4, input_size=3)).unroll(4, np.ones((2, 5, 3))), "5 steps, where length is 4"),
    (lambda: filled(rnn.GRUCell(4, input_size=3)).unroll(5, np.ones((2, 5, 3)), layout="NC"), "layout must be one of"),
    (lambda: rnn.ZoneoutCell(rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))), "modify its cells"),
])
def test_refused(function, text):
    with pytest.raises(ValueError, match=text):
        function()


def test_a_cell_of_both_directions_has_no_step():
    with pytest.raises(NotImplementedError, match="unroll"):
        rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))(np.ones((2, 3)), [])


# ---- cells


@modes
def test_cells(mode):
    """One step, and many, in each layout, as lists and as arrays."""
    layer, cell = filled(LAYERS[mode](5, input_size=2)), CELLS[mode](5)
    x, first = np.array(numbers(4, 3, 2)), states_of(layer, 3)
    cell.initialize()
    cell(x[0], cell.begin_state(3))             # tells the input's size
    for p, like in zip(cell.collect_params().values(), layer.collect_params().values(), strict=True):
        p.load(like.data(), cast_dtype=True, dtype_source="saved")
    y, *after = reference(mode, layer, x, first, 1, False)
    begin = [s[0] for s in first]
    parts, states = cell.unroll(4, x.swapaxes(0, 1), begin)
    assert isinstance(parts, list)
    assert_close([*parts, *states], [*y, *(s[0] for s in after)])
    assert_close([cell.unroll(4, x.swapaxes(0, 1), begin, merge_outputs=True)[0]], [y.swapaxes(0, 1)])
    assert_close([cell.unroll(4, list(x), begin, "TNC", True)[0]], [y])
    assert_close(cell(x[0], begin)[1], [s[0] for s in reference(mode, layer, x[:1], first, 1, False)[1:]])
    assert [s.shape for s in cell.begin_state(3)] == [(3, 5)] * len(begin)
    assert_close(cell.unroll(4, x, layout="TNC")[0], cell.unroll(4, x, [s * 0 for s in begin], "TNC")[0], 0)


@modes
def test_cells_of_sequences_with_lengths(mode):
    """Bidirectional ones too, on top of each other."""
    length = [4, 0, 2]
    layer, stack = filled(LAYERS[mode](5, 2, bidirectional=True, input_size=2)), rnn.SequentialRNNCell()
    for size in (2, 10):
        stack.add(rnn.BidirectionalCell(*(CELLS[mode](5, input_size=size) for _ in range(2))))
    filled(stack)
    x, first = np.array(numbers(4, 3, 2)), states_of(layer, 3)
    begin = [s[k] for k in range(4) for s in first]
    for lengths in (None, length):
        y, *after = reference(mode, layer, x, first, 2, True, lengths)
        found, states = stack.unroll(4, x, begin, "TNC", True, None if lengths is None else np.array(lengths))
        assert_close([found, *states], [y, *(s[k] for k in range(4) for s in after)])
    assert len(stack.begin_state(3)) == len(begin) and len(stack) == 2 and isinstance(stack[1], rnn.BidirectionalCell)


def test_cells_on_top_of_each_other():
    stack = rnn.SequentialRNNCell()
    for cell in (rnn.LSTMCell(4), rnn.DropoutCell(0.5), rnn.GRUCell(3)):
        stack.add(cell)
    stack.initialize()
    x = np.array(numbers(5, 2, 3), "float32")
    y, states = stack.unroll(5, x, layout="TNC", merge_outputs=True)
    by_steps, now = [], stack.begin_state(2)
    for part in x:
        out, now = stack(part, now)
        by_steps.append(out)
    assert_close([*y, *states], [*by_steps, *now], 1e-6)
    assert [s.shape for s in states] == [(2, 4), (2, 4), (2, 3)]
    assert list(stack.collect_params())[4:] == [f"2.{name}" for name in stack[2].params]


def test_dropout_and_zoneout_in_training():
    x = np.array(numbers(5, 2, 3) + 5, "float32")
    cell = rnn.DropoutCell(0.5)
    assert cell.begin_state(2) == []
    assert_close([cell.unroll(5, x, layout="TNC", merge_outputs=True)[0]], [x])
    with autograd.record():
        y = cell.unroll(5, x, layout="TNC", merge_outputs=True)[0].asnumpy()
    assert_close([y], [numpy.where(y == 0, 0, 2 * x.asnumpy())])
    assert 0 in y

    base = rnn.GRUCell(64)
    cell = rnn.ZoneoutCell(base, 0.5, 0.25)
    cell.initialize()
    begin = [np.ones((2, 64), "float32")]
    plain, last = base.unroll(5, x, begin, "TNC")
    assert_close([*cell.unroll(5, x, begin, "TNC")[0], *cell.unroll(5, x, begin, "TNC")[1]], [*plain, *last])
    with autograd.record():
        for _ in range(2):                      # the second time nothing is left of the first
            outputs, states = cell.unroll(1, x[:1], begin, "TNC")
            for found, other, share in ((outputs[0], 0, 0.5), (states[0], 1, 0.75)):
                kept = (found == plain[0]).asnumpy()
                assert abs(kept.mean() - share) < 0.25 and numpy.all(kept | (found == other).asnumpy())


def test_residual():
    base = rnn.RNNCell(3)
    cell = rnn.ResidualCell(base)
    cell.initialize()
    x, length = np.array(numbers(4, 2, 3), "float32"), np.array([4, 1])
    y, states = cell.unroll(4, x, layout="TNC", merge_outputs=True, valid_length=length)
    plain, last = base.unroll(4, x, layout="TNC", merge_outputs=True, valid_length=length)
    assert_close([y, *states], [plain + npx.sequence_mask(x, length, True), *last], 1e-6)
    assert list(cell.collect_params()) == [f"base_cell.{name}" for name in base.params]


def test_it_learns():
    """To tell at the end of a sequence how it began."""
    np.random.seed(1)
    x = np.array(numpy.random.default_rng(0).choice([-1, 1], (8, 64, 1)), "float32")
    net, loss = nn.Sequential(), gluon.loss.L2Loss()
    net.add(rnn.GRU(16), nn.Lambda(lambda y: y[-1]), nn.Dense(1))
    net.initialize(init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    for _ in range(150):
        with autograd.record():
            now = loss(net(x), x[0])
        now.backward()
        trainer.step(64)
    assert now.mean() < 0.01


def test_a_hybridized_cell_that_keeps_its_output_runs_as_written():
    def outputs(hybrid):
        np.random.seed(1)
        cell = rnn.ZoneoutCell(rnn.RNNCell(3, input_size=2), 0.5)
        cell.initialize()
        if hybrid:
            cell.hybridize()
        states, found = cell.begin_state(4), []
        with autograd.train_mode():
            for k in range(5):
                y, states = cell(np.full((4, 2), float(k)), states)
                found.append(y)
        return found

    expected = outputs(False)
    with pytest.warns(RuntimeWarning, match="keeps its output"):
        got = outputs(True)
    assert all((a == b).all() for a, b in zip(got, expected, strict=True))


@pytest.mark.parametrize("kind", [rnn.RNN, rnn.LSTM, rnn.GRU])
def test_hybridized_layers_give_the_same_bits(kind):
    def train(hybrid):
        np.random.seed(2)
        net = kind(4, num_layers=2, dropout=0.3, bidirectional=True)
        net.initialize()
        if hybrid:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for _ in range(4):
            with autograd.record():
                out, states = net(np.random.normal(size=(3, 2, 5)), net.begin_state(2))
                loss = (out * out).sum() + sum((s * s).sum() for s in states)
            loss.backward()
            trainer.step(1)
        assert not hybrid or "noted" in repr(net._run)
        return [out, *states, *(p.data() for p in net.collect_params().values())]

    assert all((a == b).all() for a, b in zip(train(False), train(True), strict=True))


# ---- cells that convolve, project, and drop


@pytest.mark.parametrize("kind, step", [("RNN", rnn.RNNCell), ("LSTM", rnn.LSTMCell), ("GRU", rnn.GRUCell)])
@pytest.mark.parametrize("last", [False, True])
def test_convolving_cells(kind, step, last):
    """With kernels of one element each place is a cell of its own."""
    cell = getattr(rnn, f"Conv2D{kind}Cell")((4, 3, 0) if last else (0, 4, 3), 2, 1, 1,
                                             conv_layout="NHWC" if last else None)
    plain = step(2, input_size=5)
    cell.infer_shape(0, np.zeros((2, 4, 3, 5) if last else (2, 5, 4, 3)), False)
    filled(cell), filled(plain)
    for p, q in zip(cell.collect_params().values(), plain.collect_params().values()):
        p.set_data(q.data().reshape(p.shape))
    x = np.array(numbers(6, 2, 4, 3, 5))
    y, states = cell.unroll(6, x if last else x.transpose(0, 1, 4, 2, 3), layout="TNC", merge_outputs=True)
    expected, after = plain.unroll(6, x.reshape(6, -1, 5), layout="TNC", merge_outputs=True)
    found = [part if last else np.moveaxis(part, -3, -1) for part in (y, *states)]
    assert_close([part.reshape(like.shape) for part, like in zip(found, (expected, *after))], [expected, *after])


def test_shapes_of_convolving_cells():
    cell = rnn.Conv1DLSTMCell((-1, 7), 10, (3,), (3,), i2h_pad=1, i2h_dilate=2)
    cell.initialize()
    y, states = cell(np.ones((8, 5, 7), "float32"), cell.begin_state(8))
    assert cell.i2h_weight.shape == (40, 5, 3) and y.shape == states[1].shape == (8, 10, 5)
    assert rnn.Conv3DGRUCell((2, 5, 6, 7), 3, 3, 5).h2h_weight.shape == (9, 3, 5, 5, 5)
    for bad in ({"h2h_kernel": 2}, {"i2h_kernel": (3, 3)}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            rnn.Conv1DRNNCell(**{"input_shape": (2, 7), "hidden_channels": 1, "i2h_kernel": 3, "h2h_kernel": 3, **bad})


def test_a_projected_cell_is_a_projected_layer():
    cell, layer = filled(rnn.LSTMPCell(4, 2, input_size=3)), filled(rnn.LSTM(4, input_size=3, projection_size=2))
    for name, p in layer.collect_params().items():
        p.set_data(cell.collect_params()[name.removeprefix("l0_")].data())
    x = np.array(numbers(5, 2, 3))
    y, states = cell.unroll(5, x, layout="TNC", merge_outputs=True)
    expected, after = layer(x, layer.begin_state(2, dtype=float))
    assert_close([y, *states], [expected, *(s[0] for s in after)])


def test_variational_dropout():
    cell = filled(rnn.VariationalDropoutCell(rnn.RNNCell(50, input_size=50, activation=lambda x: x), 0.4, 0.5, 0.3))
    x = np.ones((6, 2, 50))
    assert_close([cell.unroll(6, x, layout="TNC", merge_outputs=True)[0]],
                 [cell.base_cell.unroll(6, x, layout="TNC", merge_outputs=True)[0]], 0)
    with autograd.train_mode():
        y, again = (cell.unroll(6, x, layout="TNC", merge_outputs=True)[0].asnumpy() for _ in range(2))
    assert ((y == 0) == (y[0] == 0)).all() and 0 < (y == 0).mean() < 0.6 and (y != again).any()


def test_what_a_first_input_tells():
    net = rnn.SequentialRNNCell()
    for cell in (rnn.LSTMCell(4), rnn.ResidualCell(rnn.GRUCell(4)), rnn.ZoneoutCell(rnn.RNNCell(2))):
        net.add(cell)
    net.infer_shape(0, np.ones((2, 7, 3)), False)
    assert [p.shape[1] for name, p in net.collect_params().items() if "i2h_weight" in name] == [3, -1, -1]
    net.initialize()
    assert net.unroll(7, np.ones((2, 7, 3), "float32"), merge_outputs=True)[0].shape == (2, 7, 2)
    both = rnn.BidirectionalCell(rnn.LSTMCell(4), rnn.GRUCell(3))
    both.infer_shape(0, np.ones((2, 7, 3)), False)
    assert [p.shape[1] for name, p in both.collect_params().items() if "i2h_weight" in name] == [3, 3]


def test_a_residual_cell_of_both_directions():
    cell = filled(rnn.ResidualCell(rnn.BidirectionalCell(rnn.GRUCell(2, input_size=4), rnn.GRUCell(2, input_size=4))))
    x, lengths = np.array(numbers(3, 5, 4)), np.array([5, 2, 3])
    y, states = cell.unroll(5, x, merge_outputs=True, valid_length=lengths)
    inner, after = cell.base_cell.unroll(5, x, merge_outputs=True, valid_length=lengths)
    assert_close([y, *states], [npx.sequence_mask(inner + x, lengths, True, axis=1), *after])


def test_dynamic_unroll():
    cell, x = filled(rnn.GRUCell(40, input_size=40)), np.ones((2, 5, 40))
    states = cell.begin_state(2, dtype=float)
    y, after = rnn.dynamic_unroll(cell, x, states, 0.5, 0.5, "NTC", np.array([5, 2]))
    expected = cell.unroll(5, x, states, merge_outputs=True, valid_length=np.array([5, 2]))
    assert_close([y, *after], [expected[0], *expected[1]])
    with autograd.train_mode():
        y, _ = rnn.dynamic_unroll(cell, x, states, 0, 0.5, "NTC")
    assert ((y == 0) == (y[:, :1] == 0)).all() and 0.3 < (y == 0).mean() < 0.7
