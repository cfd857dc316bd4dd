"""gluon: layers, losses and initializers against plain NumPy, gradients against differences, training."""

import copy
import math
import pickle
import re

import numpy
import pytest

from dflow import autograd, gluon, init, npx, optimizer
from dflow import numpy as np
from dflow.gluon import nn
from dflow.ops.regions import sampled


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
    ("gamma", npx.gamma, x34 / 9 + 2), ("digamma", npx.digamma, x34 / 9 - 0.5),
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
    ("gather_nd", lambda x: npx.gather_nd(x, labels[None, [0, 2, 0]] - 1), x34),
    ("scatter_nd", lambda x: npx.scatter_nd(x, [[0, 1, 1], [1, 2, 0]], (3, 4)), v3),
    ("index_update", lambda x, v: npx.index_update(x, [[0, 2]], v), x34, v4),
    ("index_add", lambda x, v: npx.index_add(x, [[0, 2, 0]], v), x34, v4),
    ("batch_norm", lambda x, g, b: npx.batch_norm(x, g, b, np.zeros(2), np.ones(2), fix_gamma=False, training=True),
     numbers(3, 2, 2), numbers(2), numbers(2)),
    ("batch_norm fixed", lambda x, g, b: npx.batch_norm(
        x, g, b, np.zeros(3), np.ones(3), training=True, output_mean_var=True, axis=-1),
     numbers(3, 2, 3), numbers(3), numbers(3)),
    ("batch_norm global", lambda x, g, b: npx.batch_norm(
        x, g, b, np.ones(2), np.ones(2), fix_gamma=False, use_global_stats=True),
     numbers(3, 2, 2), numbers(2), numbers(2)),
    ("layer_norm", npx.layer_norm, x34, v4, v4),
    ("layer_norm axis", lambda *a: npx.layer_norm(*a, axis=0), x34, v3, v3),
    ("group_norm", lambda *a: npx.group_norm(*a, num_groups=2), numbers(2, 4, 2), v4, v4),
    ("instance_norm", npx.instance_norm, numbers(2, 3, 4), v3, v3),
    ("l2_normalization", npx.l2_normalization, x34),
    ("ctc_loss", lambda x: npx.ctc_loss(x, [[1, 2, 2], [3, 1, 0], [0, 0, 0]]), numbers(5, 3, 4)),
    ("ctc_loss lengths", lambda x: npx.ctc_loss(
        x, [[0, 1, 1], [2, 0, 9], [1, 1, 1]], [5, 3, 2], [3, 1, 3], True, True, "last"), numbers(5, 3, 4)),
    ("sampled", sampled, numbers(2, 2, 3, 4), numbers(6, 5)[4:] / 2 + 1.8, numbers(2, 5) / 2 + 1.3),
    ("roi_pooling", lambda x: npx.roi_pooling(x, [[1, 0, 0, 2, 3], [0, 1, 1, 9, 2]], (2, 2), 1.0), numbers(2, 2, 4, 3)),
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


def test_the_ctc_loss_does_not_see_what_is_behind_the_end():
    x, y = np.array(numbers(5, 3, 4)), np.array([[1, 2, 0], [3, 1, 0], [2, 0, 0]])
    lengths, found = np.array([3, 5, 4]), []
    for value in (1.0, np.nan, -np.inf):
        z = npx.sequence_mask(x, lengths, True, value)
        z.attach_grad()
        with autograd.record():
            loss = npx.ctc_loss(z, y, lengths, use_data_lengths=True)
        loss.backward()
        assert (z.grad[3:, 0] == 0).all()
        found.append([loss.tolist(), z.grad.tolist()])
    assert found[0] == found[1] == found[2]


def test_a_gradient_of_the_gradient_of_ctc_loss():
    x = np.array(numbers(5, 3, 4))
    x.attach_grad()
    with autograd.record():
        g = autograd.grad(npx.ctc_loss(x, np.ones((3, 1))), x, create_graph=True)[0]
    with pytest.raises(NotImplementedError, match=r"no gradient of the gradient of ctc_loss\(\)"):
        g.backward()


def test_the_first_of_equal_ones_has_the_gradient_of_a_pool():
    x = np.zeros((1, 1, 4, 4))
    x.attach_grad()
    with autograd.record():
        y = npx.pooling(x, 2, 2)
    y.backward()
    assert x.grad.tolist() == [[[[1, 0, 1, 0], [0] * 4] * 2]]


def test_the_gradient_of_a_convolution_in_parts(monkeypatch):
    values = numbers(3, 2, 6, 4), numbers(2, 2, 2, 2)

    def function(x, w):
        return weighed(npx.convolution(x, w, None, 2, num_filter=2, no_bias=True))

    whole = gradients(function, values)
    for nbytes in (100, 700):
        monkeypatch.setattr("dflow.ops.convolution.COLUMNS", nbytes)
        parts = gradients(function, values)
        for ours, theirs in zip(parts, whole, strict=True):
            numpy.testing.assert_allclose(ours, theirs, 1e-10)


# ---- parameters and blocks


def close(ours, theirs, rtol=1e-5, atol=1e-6):
    numpy.testing.assert_allclose(ours.asnumpy() if hasattr(ours, "asnumpy") else ours, theirs, rtol, atol)


def made(block, *inputs, dtype="float64"):
    """A block with parameters of random numbers that are not small."""
    block.initialize(init.Uniform(0.9))
    block.cast(dtype)
    block(*inputs)
    return block


def network():
    net = nn.HybridSequential()
    net.add(nn.Dense(5, activation="tanh"), nn.BatchNorm(), nn.Dense(2, use_bias=False))
    return net


def test_shapes_from_the_first_input():
    net = network()
    assert [p.shape for p in net.collect_params().values()] == [(5, -1), (5,), (-1,), (-1,), (-1,), (-1,), (2, -1)]
    with pytest.raises(RuntimeError, match="weight has not been initialized: call initialize"):
        net(np.ones((3, 4)))
    net.initialize()
    with pytest.raises(gluon.parameter.DeferredInitializationError, match=r"\(5, -1\) follows from the first input"):
        net[0].weight.data()
    assert net(np.ones((3, 4, 2))).shape == (3, 2)
    assert {name: p.shape for name, p in net.collect_params(".*weight|2").items()} == {
        "0.weight": (5, 8), "2.weight": (2, 5)}
    assert net[0].weight.data().dtype == numpy.float32 and net[0].weight.grad().shape == (5, 8)
    assert net[1].running_mean.grad_req == "null" and "running_mean" in net[1].params
    with pytest.raises(ValueError, match="weight must have the shape"):
        net(np.ones((3, 4)))


def test_an_error_of_a_block_names_it_and_its_shapes():
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.HybridSequential(), nn.Dropout(0.5))
    net[1].add(nn.Dense(4, in_units=9, prefix="mine_"))
    net.initialize()
    for hybrid in (False, True):
        net.hybridize(hybrid)
        for _ in range(2):                              # the first input gives the first layer its shape
            with pytest.raises(ValueError, match=r"^weight must have the shape \(4, 3\), not") as caught:
                net(np.ones((2, 5)))
            assert caught.value.__notes__ == [
                "in mine, Dense(9 -> 4, linear): input (2, 3), weight (4, 9), bias (4,)"]
    with pytest.raises(ValueError) as caught:
        gluon.loss.L2Loss(prefix="far_")(np.ones((2, 3)), np.ones((2, 4)))
    assert caught.value.__notes__[0].endswith(": input (2, 3) and (2, 4)")


def test_attributes_of_parameters():
    p = gluon.Parameter("w", shape=(2, 0))
    with pytest.raises(ValueError, match=r"w cannot be initialized: its shape \(2, -1\) is not known"):
        p.initialize()
    p.shape = (2, 3)
    with pytest.raises(ValueError, match=r"the shape of w is \(2, 3\), and cannot become \(3, 3\)"):
        p.shape = (3, 3)
    p.initialize(init.Constant(2), ctx=npx.cpu())
    assert p.data().tolist() == [[2] * 3] * 2 and p.list_ctx() == [npx.cpu()] and len(p.list_data()) == 1
    with pytest.warns(UserWarning, match="initialized already"):
        p.initialize()
    p.initialize("ones", force_reinit=True)
    p.set_data(p.data() * 3)
    assert p.data().tolist() == [[3] * 3] * 2
    p.grad_req = "null"
    with pytest.raises(RuntimeError, match="w has no gradient"):
        p.grad()
    for wrong in ("wrong", None):
        with pytest.raises(ValueError, match="grad_req must be one of"):
            p.grad_req = wrong
    with pytest.raises(ValueError):
        gluon.Parameter("w", stype="row_sparse")
    c = gluon.Constant([[1.0, 2]])
    c.initialize()
    assert c.data().tolist() == [[1, 2]] and c.grad_req == "null"
    c.grad_req = "write"
    assert c.grad_req == "null"


class Scaled(nn.Block):
    """A layer as programs write them, with params.get()."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=(units, 0), allow_deferred_init=True)
        self.scale = self.params.get_constant("scale", np.array([2.0]))
        self.inner = nn.Dense(units)

    def infer_shape(self, x):
        self.weight.shape = (self.weight.shape[0], x.shape[1])

    def forward(self, x):
        return self.inner(np.dot(x, self.weight.data().T) * self.scale.data())


def test_blocks_of_ones_own():
    net = Scaled(3)
    assert list(net.collect_params()) == ["weight", "scale", "inner.weight", "inner.bias"]
    net.initialize(init.One())
    assert net(np.ones((2, 4))).tolist() == [[24.0] * 3] * 2
    assert net.name == f"scaled{int(net.name[6:])}" and Scaled(1).name != net.name
    seen = []
    assert net.apply(lambda block: seen.append(type(block).__name__)) is net and seen == ["Dense", "Scaled"]
    del net.inner
    assert list(net.collect_params()) == ["weight", "scale"]

    class Wrong(nn.Block):
        def __init__(self):
            super().__init__()
            self.weight = gluon.Parameter(shape=(0, 1), allow_deferred_init=True)

        def forward(self, x):
            return x @ self.weight.data()

    wrong = Wrong()
    wrong.initialize()
    with pytest.raises(gluon.parameter.DeferredInitializationError, match="it needs an infer_shape"):
        wrong(np.ones((1, 1)))
    with pytest.raises(NotImplementedError, match=r"Block needs a forward\(\)"):
        nn.Block()(1)
    with pytest.raises(TypeError, match="children are blocks, not int"):
        nn.Sequential().add(1)


def test_sharing_of_parameters():
    one = nn.Dense(3, in_units=3)
    net = nn.Sequential(one, nn.Dense(3, in_units=3, params=one.params), one)
    other = nn.Dense(3, in_units=3).share_parameters(one.collect_params())
    assert one.weight is net[1].weight is other.weight and len(net.collect_params()) == 6
    net.initialize(init.One())
    x = np.ones((1, 3))
    with autograd.record():
        y = net(x).sum()
    y.backward()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    trainer.step(1)
    assert other.weight.data().tolist() == [[1 - 27.0] * 3] * 3


def test_copies():
    net = nn.Dense(2, in_units=3)
    net.initialize()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.weight is not net.weight and other.weight.grad().shape == (2, 3)
        close(other.weight.data(), net.weight.data().asnumpy())


def test_hooks():
    net, calls = nn.Dense(2), []
    net.initialize(init.One())
    before = net.register_forward_pre_hook(lambda block, inputs: calls.append((block is net, inputs[0].shape)))
    with net.register_forward_hook(lambda block, inputs, out: calls.append(out.tolist())):
        net(np.ones((1, 3)))
    before.detach()
    net(np.ones((1, 3)))
    assert calls == [(True, (1, 3)), [[3, 3]]]


def test_summary_and_text(capsys):
    net = network()
    net.initialize()
    net.summary(np.ones((3, 4)))
    text = capsys.readouterr().out
    assert re.search(r"BatchNorm-3 +\(3, 5\) +20\n", text)
    assert "Total params: 55\nTrainable params: 45\nNon-trainable params: 10\n" in text
    assert repr(net) == ("HybridSequential(\n  (0): Dense(4 -> 5, Activation(tanh))\n"
                         "  (1): BatchNorm(axis=1, eps=1e-05, in_channels=5)\n  (2): Dense(5 -> 2, linear)\n)")
    assert repr(nn.Conv2D(3, 2, padding=1)) == "Conv2D(-1 -> 3, kernel_size=(2, 2), stride=(1, 1), padding=(1, 1))"
    assert repr(net[0].weight) == "Parameter weight (shape=(5, 4), dtype=float32)"
    assert repr(net[0].collect_params()) == ("{'weight': Parameter weight (shape=(5, 4), dtype=float32),\n"
                                             " 'bias': Parameter bias (shape=(5,), dtype=float32)}")
    for block in (nn.MaxPool2D(), nn.GlobalAvgPool1D(), nn.Dropout(0.5), nn.Embedding(2, 3), nn.Flatten(),
                  nn.Lambda("tanh"), nn.LeakyReLU(0.1), gluon.loss.L2Loss(), net.collect_params()):
        assert repr(block)


def test_files(tmp_path):
    x, file = np.array(numbers(3, 4)), tmp_path / "net.params"
    net, other = network(), network()
    net.initialize()
    y = net(x)
    net.save_parameters(file)
    other.load_parameters(file)
    close(other(x), y.asnumpy())
    other.hybridize()
    with autograd.record():
        weighed(other(x)).backward()
    assert other[0].weight.grad().any()

    smaller = nn.Sequential(nn.Dense(5))
    with pytest.raises(ValueError, match="1.gamma.* is no parameter here"):
        smaller.load_parameters(file)
    smaller.load_parameters(file, ignore_extra=True)
    close(smaller[0].weight.data(), net[0].weight.data().asnumpy())
    smaller.save_parameters(file)
    with pytest.raises(ValueError, match="has no parameter 1.gamma"):
        other.load_parameters(file)
    other.load_parameters(file, allow_missing=True)
    with pytest.raises(ValueError, match=r"weight cannot be loaded: the shape of weight is \(4, -1\), and cannot"):
        nn.Sequential(nn.Dense(4)).load_parameters(file)
    double = nn.Sequential(nn.Dense(5, dtype="float64"))
    with pytest.raises(TypeError, match="weight is float64, in the file float32"):
        double.load_parameters(file)
    double.load_parameters(file, cast_dtype=True, dtype_source="saved")
    assert double[0].weight.data().dtype == numpy.float32

    shared = nn.Sequential(nn.Dense(2, in_units=2))
    shared.add(shared[0])
    shared.initialize()
    shared.save_parameters(file, deduplicate=True)
    assert len(npx.load(file)) == 2
    shared.load_parameters(file)
    shared.load_dict(npx.load(file))


@pytest.mark.parametrize("change", [
    lambda arrays, name: arrays | {name: np.zeros((7, 7))},
    lambda arrays, name: arrays | {name: arrays[name].astype("int32")},
    lambda arrays, name: {key: x for key, x in arrays.items() if key != name},
], ids=["shape", "type", "missing"])
def test_a_file_that_does_not_fit_changes_nothing(tmp_path, change):
    """Whichever of its arrays does not: all are held against the parameters before one is taken."""
    net, file = network(), tmp_path / "net.params"
    net.initialize()
    net(np.array(numbers(3, 4)))
    before = {name: p.data().asnumpy() for name, p in net.collect_params().items()}
    others = {name: np.array(x) + 1 for name, x in before.items()}
    for name in before:
        npx.save(str(file), change(others, name))
        with pytest.raises((ValueError, TypeError), match=name.split(".")[-1]):
            net.load_parameters(file)
        for kept, p in net.collect_params().items():
            assert (p.data().asnumpy() == before[kept]).all(), kept


def test_save_and_load(tmp_path):
    """Parameters, by blocks, and which of these are hybridized; what does not fit changes nothing."""
    prefix, x = tmp_path / "net", np.array(numbers(3, 4))

    def outer(*blocks):
        net = nn.Sequential()
        net.add(*blocks, nn.Dense(2))
        return net

    net = outer(network())
    net.initialize()
    expected = net(x).asnumpy()
    net.save(prefix)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net-model.json", "net-model.params"]
    other = outer(network())
    other.load(str(prefix))
    close(other(x), expected)
    assert "_run" not in other[0].__dict__

    net[1].hybridize()
    net.save(prefix)
    other = outer(network())
    other.load(prefix)
    close(other(x), expected)
    assert "_run" in other[1].__dict__ and "_run" not in other[0].__dict__

    before = other[1].weight.data().asnumpy()
    for wrong, text in ((outer(), "the block 0 is HybridSequential .*, and here Dense with the parameters"),
                        (outer(network(), nn.Dense(2)), r"the block 2 is missing, and here Dense with the parameters"),
                        (nn.HybridSequential(), "the block itself is Sequential")):
        with pytest.raises(ValueError, match=f"net-model.json: {text}"):
            wrong.load(prefix)
    file = tmp_path / "net-model.json"
    content = file.read_text()
    for damaged in ("", content[:-5], "[]", "{}", "3", '{"": 3}', '{"": {}}', "[" * 100_000, "\xff"):
        file.write_bytes(damaged.encode("latin-1"))
        with pytest.raises(ValueError, match="net-model.json"):
            other.load(prefix)
    assert (other[1].weight.data().asnumpy() == before).all()
    with pytest.raises(FileNotFoundError):
        other.load(tmp_path / "none")


# ---- layers


def test_dense_and_embedding():
    x = np.array(numbers(2, 3, 4))
    dense = made(nn.Dense(5, activation="relu", flatten=False), x)
    w, b = dense.weight.data().asnumpy(), dense.bias.data().asnumpy()
    close(dense(x), numpy.maximum(x.asnumpy() @ w.T + b, 0))
    flat = made(nn.Dense(5, use_bias=False), x)
    close(flat(x), x.asnumpy().reshape(2, 12) @ flat.weight.data().asnumpy().T)
    table = made(nn.Embedding(6, 3), np.array([1]))
    close(table(np.array([[1, 5], [0, 0]])), table.weight.data().asnumpy()[[[1, 5], [0, 0]]])
    close(made(nn.Dense(5), x)(x).sum(), made(nn.Dense(5), x)(x).sum().asnumpy(), 10, 1000)
    with autograd.record():
        y = flat(nn.Flatten()(x[:0]))           # a batch of none
    y.backward()
    assert y.shape == (0, 5) and not flat.weight.grad().any()


def test_containers():
    x = np.array(numbers(2, 3))
    net = nn.Sequential()
    net.add(nn.Lambda(np.exp), nn.HybridLambda("relu"), nn.Identity(), nn.Flatten())
    close(net(x), numpy.exp(x.asnumpy()))
    assert len(net) == 4 and type(net[-1]) is nn.Flatten and len(net[1:3]) == 2 and [*net][2] is net[2]
    both = nn.HybridConcatenate(axis=0)
    both.add(nn.Identity(), nn.Lambda("square"))
    close(both(x), numpy.concatenate([x.asnumpy(), x.asnumpy() ** 2]))
    for wrong in ("no_function", 3):
        with pytest.raises(ValueError, match="function must be a function"):
            nn.Lambda(wrong)


@pytest.mark.parametrize("make, function", [
    (lambda: nn.LeakyReLU(0.1), lambda x: numpy.where(x > 0, x, 0.1 * x)),
    (nn.PReLU, lambda x: numpy.where(x > 0, x, x / 4)),
    (lambda: nn.ELU(0.5), lambda x: numpy.where(x > 0, x, 0.5 * numpy.expm1(x))),
    (nn.SELU, lambda x: 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * numpy.expm1(x))),
    (nn.GELU, lambda x: x * numpy.vectorize(lambda t: 0.5 * (1 + math.erf(t / math.sqrt(2))))(x)),
    (lambda: nn.Swish(2.0), lambda x: x / (1 + numpy.exp(-2 * x))),
    (nn.SiLU, lambda x: x / (1 + numpy.exp(-x))),
    (lambda: nn.Activation("softsign"), lambda x: x / (1 + abs(x)))])
def test_activations(make, function):
    block = make()
    block.initialize()
    close(block(np.array(x34)), function(x34))


@pytest.mark.parametrize("make, shape, function, weight_shape", [
    (lambda: nn.Conv1D(4, 3, 2, padding=1), (2, 3, 7), npx.convolution, (4, 3, 3)),
    (lambda: nn.Conv2D(4, (2, 3), groups=2, dilation=2), (2, 2, 7, 8), npx.convolution, (4, 1, 2, 3)),
    (lambda: nn.Conv2D(4, 2, layout="NHWC", activation="relu"), (2, 5, 5, 3), npx.convolution, (4, 2, 2, 3)),
    (lambda: nn.Conv3D(2, 2, use_bias=False), (1, 3, 4, 3, 3), npx.convolution, (2, 3, 2, 2, 2)),
    (lambda: nn.Conv1DTranspose(4, 3, 2), (2, 3, 5), npx.deconvolution, (3, 4, 3)),
    (lambda: nn.Conv2DTranspose(4, 4, 2, 1, output_padding=1, groups=2), (2, 2, 5, 4), npx.deconvolution, (2, 2, 4, 4)),
    (lambda: nn.Conv3DTranspose(2, 2), (1, 3, 2, 3, 3), npx.deconvolution, (3, 2, 2, 2, 2))])
def test_convolutions(make, shape, function, weight_shape):
    x = np.array(numbers(*shape))
    block = made(make(), x)
    assert block.weight.shape == weight_shape
    bias = None if block.bias is None else block.bias.data()
    y = function(x, block.weight.data(), bias, **block._arguments)
    close(block(x), npx.relu(y).asnumpy() if block.act else y.asnumpy())


def test_pools():
    x = numbers(2, 3, 4, 6)
    cut = x.reshape(2, 3, 2, 2, 3, 2)
    close(nn.MaxPool2D()(np.array(x)), cut.max((3, 5)))
    close(nn.AvgPool2D(2)(np.array(x)), cut.mean((3, 5)))
    close(nn.AvgPool1D(3, 1)(np.array(x[0])), (x[0, ..., :-2] + x[0, ..., 1:-1] + x[0, ..., 2:]) / 3)
    close(nn.MaxPool3D(2)(np.array(x[None])), x.reshape(1, 2, 3, 4, 6)[:, :, :2].reshape(
        1, 2, 1, 2, 2, 2, 3, 2).max((3, 5, 7)))
    close(nn.MaxPool1D(2, layout="NWC")(np.array(x[0])), x[0].reshape(3, 2, 2, 6).max(2))
    assert nn.MaxPool2D(3, 2, 1, ceil_mode=True)(np.array(x)).shape == (2, 3, 3, 4)
    close(nn.GlobalAvgPool2D()(np.array(x)), x.mean((2, 3), keepdims=True))
    close(nn.GlobalMaxPool1D()(np.array(x[0])), x[0].max(2, keepdims=True))
    close(nn.GlobalMaxPool3D()(np.array(x[None])), x[None].max((2, 3, 4), keepdims=True))
    volumes = numbers(2, 24, 1, 2, 3)
    for block, inputs, factors in ((nn.PixelShuffle1D(3), volumes[:, :, 0, 0], (3,)),
                                   (nn.PixelShuffle2D((2, 3)), volumes[:, :, 0], (2, 3)),
                                   (nn.PixelShuffle3D(2), volumes, (2, 2, 2))):
        y = block(np.array(inputs)).asnumpy()
        assert y.shape == (2, 24 // math.prod(factors), *(k * n for k, n in zip(factors, inputs.shape[2:])))
        for k, place in enumerate(numpy.ndindex(*factors)):
            parts = tuple(slice(start, None, step) for start, step in zip(place, factors))
            close(y[(..., *parts)], inputs[:, k::math.prod(factors)])
    with pytest.raises(ValueError, match="factor must be 2 numbers"):
        nn.PixelShuffle2D((2, 2, 2))
    close(nn.ReflectionPad2D(1)(np.array(x)), numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), "reflect"))


def normal(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + eps)


def test_normalizations():
    x = numbers(4, 6, 5)
    a = np.array(x)
    for block, theirs in ((nn.LayerNorm(), normal(x, 2)), (nn.LayerNorm(axis=1), normal(x, 1)),
                          (nn.InstanceNorm(), normal(x, 2)), (nn.InstanceNorm(axis=2), normal(x, 1)),
                          (nn.GroupNorm(3), normal(x.reshape(4, 3, 2, 5), (2, 3)).reshape(x.shape))):
        block.initialize()
        close(block(a), theirs)
    assert nn.InstanceNorm().gamma.grad_req == "null" and nn.BatchNorm(center=False).beta.grad_req == "null"
    norm = nn.BatchNorm(momentum=0.8)
    norm.initialize()
    mean, var = numpy.zeros(6), numpy.ones(6)
    for scale in (1, 2, 3):
        with autograd.record():
            y = norm(a * scale)
        close(y, normal(x * scale, (0, 2)))
        mean = 0.8 * mean + 0.2 * (x * scale).mean((0, 2))
        var = 0.8 * var + 0.2 * (x * scale).var((0, 2))
    with pytest.raises(ValueError, match="not computed from arrays with gradients"):
        norm.running_mean.data().backward()
    close(norm.running_mean.data(), mean, 1e-4)
    close(norm.running_var.data(), var, 1e-4)
    column = (slice(None), None)
    close(norm(a), (x - mean[column]) / numpy.sqrt(var[column] + 1e-5), 1e-4)
    norm.cast("float16")
    assert norm.gamma.dtype == numpy.float32
    half = np.ones((2, 6, 4), "float16")
    with autograd.record():
        assert norm(half).dtype == numpy.float16
    assert norm(half).dtype == numpy.float16


def test_dropout():
    x = np.ones((100, 100))
    block = nn.Dropout(0.25)
    assert block(x).min() == 1
    with autograd.record():
        y = block(x).asnumpy()
    assert set(numpy.unique(y).round(6)) == {0, round(4 / 3, 6)} and 0.2 < (y == 0).mean() < 0.3


# ---- losses

P, L = numbers(4, 3), numbers(8, 3)[4:] + 0.02
SHARES = numpy.abs(L) / numpy.abs(L).sum(1, keepdims=True)
SIGNS, BITS = numpy.sign(L), (L > 0) * 1.0
CLASSES = numpy.array([0, 2, 1, 1])
LOGITS = P - numpy.log(numpy.exp(P).sum(1, keepdims=True))
SIGMOID = 1 / (1 + numpy.exp(-P))
FAR = abs(P - L)
WORDS = numpy.array([[0, 1, 1], [2, 0, -1], [-1, -1, -1]])          # and MXNet's numbers for them
LOSSES = [
    (gluon.loss.L2Loss(), (P, L), (FAR**2 / 2).mean(1)), (gluon.loss.L2Loss(3, 1), (P, L), (FAR**2 * 1.5).mean(0)),
    (gluon.loss.L1Loss(), (P, L), FAR.mean(1)), (gluon.loss.L1Loss(), (P[:, 0], L[:, 0]), FAR[:, 0]),
    (gluon.loss.L1Loss(), (P, L, numbers(4, 1)), (FAR * numbers(4, 1)).mean(1)),
    (gluon.loss.SoftmaxCrossEntropyLoss(), (P, CLASSES), -LOGITS[range(4), CLASSES]),
    (gluon.loss.SoftmaxCELoss(axis=0), (P.T, CLASSES), numpy.array(-LOGITS[range(4), CLASSES]).mean(keepdims=True)),
    (gluon.loss.SoftmaxCELoss(sparse_label=False), (P, SHARES), -(LOGITS * SHARES).sum(1)),
    (gluon.loss.SoftmaxCELoss(from_logits=True), (LOGITS, CLASSES), -LOGITS[range(4), CLASSES]),
    (gluon.loss.SigmoidBCELoss(), (P, BITS),
     -(BITS * numpy.log(SIGMOID) + (1 - BITS) * numpy.log(1 - SIGMOID)).mean(1)),
    (gluon.loss.SigmoidBCELoss(), (P, BITS, None, 3.0),
     -(3 * BITS * numpy.log(SIGMOID) + (1 - BITS) * numpy.log(1 - SIGMOID)).mean(1)),
    (gluon.loss.SigmoidBinaryCrossEntropyLoss(True), (SIGMOID, BITS, None, 3.0),
     -(3 * BITS * numpy.log(SIGMOID) + (1 - BITS) * numpy.log(1 - SIGMOID)).mean(1)),
    (gluon.loss.KLDivLoss(), (LOGITS, SHARES), (SHARES * (numpy.log(SHARES) - LOGITS)).sum(1)),
    (gluon.loss.KLDivLoss(False), (P, SHARES), (SHARES * (numpy.log(SHARES) - LOGITS)).sum(1)),
    (gluon.loss.SDMLLoss(), (numbers(3, 4) / 5, numbers(4, 4)[1:] / 5), [0.3917058, 2.372022, 2.2793238]),
    (gluon.loss.HuberLoss(2), (P, L), numpy.where(FAR > 2, FAR - 1, FAR**2 / 4).mean(1)),
    (gluon.loss.HingeLoss(2), (P, SIGNS), numpy.maximum(2 - P * SIGNS, 0).mean(1)),
    (gluon.loss.SquaredHingeLoss(), (P, SIGNS), (numpy.maximum(1 - P * SIGNS, 0) ** 2).mean(1)),
    (gluon.loss.LogisticLoss(), (P, SIGNS), numpy.log1p(numpy.exp(-P * SIGNS)).mean(1)),
    (gluon.loss.LogisticLoss(label_format="binary"), (P, BITS), numpy.log1p(numpy.exp(-P * SIGNS)).mean(1)),
    (gluon.loss.TripletLoss(2), (P, L, L[::-1]), numpy.maximum((FAR**2 - (P - L[::-1]) ** 2).sum(1) + 2, 0)),
    (gluon.loss.PoissonNLLLoss(), (P, CLASSES.repeat(3)), (numpy.exp(P) - CLASSES[:, None] * P).mean(1)),
    (gluon.loss.CosineEmbeddingLoss(), (P, L, numpy.array([1, -1, 1, -1])), None),
    (gluon.loss.CTCLoss(), (numbers(3, 5, 4), WORDS), [16.10301, 9.407072, 17.6488]),
    (gluon.loss.CTCLoss(), (numbers(3, 5, 4), WORDS, numpy.array([5, 4, 2])), [16.10301, 4.2767153, 6.3700595]),
    (gluon.loss.CTCLoss(), (numbers(3, 5, 4), abs(WORDS), numpy.array([5, 4, 2]), numpy.array([3, 1, 2])),
     [16.10301, 3.3113945, 0]),
    (gluon.loss.CTCLoss("TNC", "TN", 2.0), (numbers(5, 3, 4), WORDS.T), [21.728918, 18.814144, 40.434822]),
    (gluon.loss.CTCLoss(), (numbers(3, 5, 4), WORDS, None, None, numpy.array([0.5, 0, 1])), [8.051505, 0, 17.6488]),
]


@pytest.mark.parametrize("loss, inputs, expected", LOSSES)
def test_losses(loss, inputs, expected):
    arrays = [np.array(x) if isinstance(x, numpy.ndarray) else x for x in inputs]
    if expected is None:
        cosine = (P * L).sum(1) / numpy.sqrt((P**2).sum(1) * (L**2).sum(1))
        expected = numpy.where(inputs[2] == 1, 1 - cosine, numpy.maximum(cosine, 0))
    close(loss(*arrays), expected)
    check_gradients(lambda pred: loss(pred, *arrays[1:]), inputs[0])


def test_the_gradient_of_a_cross_entropy_at_zero():
    pred = np.zeros(3)
    pred.attach_grad()
    with autograd.record():
        y = gluon.loss.SigmoidBCELoss()(pred, np.array([0, 1, 0.5]))
    y.backward()
    assert pred.grad.tolist() == [0.5, -0.5, 0]


def test_arguments_of_losses():
    for make in (lambda: gluon.loss.LogisticLoss(label_format="ternary"), lambda: gluon.loss.L2Loss("heavy")(P, L),
                 lambda: gluon.loss.CTCLoss("CTN"), lambda: gluon.loss.CTCLoss(label_layout="TC")):
        with pytest.raises((ValueError, TypeError), match="ternary|heavy|'CTN'|'TC'"):
            make()


# ---- initializers


@pytest.mark.parametrize("initializer, mean, deviation, bound", [
    (init.Zero(), 0, 0, 0), ("ones", 1, 0, 1), (init.Constant(3), 3, 0, 3), (0.5, 0.5, 0, 0.5),
    (init.Uniform(2), 0, 2 / math.sqrt(3), 2), (init.Normal(2), 0, 2, 20), (init.TruncNorm(1, 0.1), 1, 0.088, 1.2),
    (init.Xavier(), 0, 1 / 800**0.5, (3 / 800)**0.5), ("xavier", 0, 1 / 800**0.5, (3 / 800)**0.5),
    (init.Xavier("gaussian", "in", 2), 0, math.sqrt(2 / 400), 1), (init.Xavier(factor_type="out"), 0, 1 / 1200**0.5, 1),
    (init.MSRAPrelu("in", 0), 0, math.sqrt(2 / 400), 1), (init.Orthogonal(1), 0, 1 / 20, 1)])
def test_initializers(initializer, mean, deviation, bound):
    np.random.seed(1)
    p = gluon.Parameter(shape=(300, 100, 2, 2))
    p.initialize(initializer)
    x = p.data().asnumpy()
    assert abs(x.mean() - mean) < deviation / 50 + 1e-6 and abs(x.std() - deviation) <= 0.02 * deviation
    assert abs(x).max() <= bound + 1e-6


def test_equal_initializers():
    assert init.Normal(0.5) == init.Normal(0.5) != init.Normal(1) and init.Zero() != init.One() != "one"
    assert init.Constant(numpy.ones(2)) == init.Constant(numpy.ones(2)) != init.Constant(np.zeros(2))
    assert len({init.Xavier(), init.Xavier(), init.Xavier(magnitude=2)}) == 2


def test_particular_initializers():
    w = np.zeros((4, 6))
    init.Orthogonal(2, "normal")._init_weight("weight", w)
    close(w @ w.T, 4 * numpy.eye(4))
    init.LSTMBias(3)._init_weight("bias", bias := np.zeros(8))
    assert bias.tolist() == [0, 0, 3, 3, 0, 0, 0, 0]
    init.Bilinear()._init_weight("weight", w := np.zeros((1, 1, 4, 4)))
    close(w[0, 0, 1], numpy.array([0.25, 0.75, 0.75, 0.25]) * 0.75)
    init.Mixed(["bias", ".*"], [init.One(), init.Zero()])._init_weight("bias", bias)
    assert bias.tolist() == [1] * 8
    init.Uniform()("0.bias", bias)
    assert bias.tolist() == [0] * 8
    init.Uniform()("gamma", bias)
    assert bias.tolist() == [1] * 8

    class Mine(init.Initializer):
        def _init_weight(self, name, data):
            data[:] = 7

    net = nn.Dense(2, in_units=2)
    net.initialize(Mine())
    assert net.weight.data().tolist() == [[7, 7]] * 2 and net.bias.data().tolist() == [0, 0]
    for wrong in ("no such", 1j):
        with pytest.raises((ValueError, TypeError), match="no such|1j"):
            net.initialize(wrong, force_reinit=True)
    with pytest.raises(ValueError, match="Xavier cannot initialize b of shape .*2"):
        gluon.Parameter("b", shape=(2,)).initialize(init.Xavier())


def test_what_mxnet_has_besides():
    for module, name in ((nn, "DeformableConvolution"), (gluon.metric, "Torch"),
                         (gluon.utils, "HookHandle"), (optimizer, "LBSGD"), (nn.Dense(1), "register_op_hook")):
        with pytest.raises(AttributeError, match="MXNet has it"):
            getattr(module, name)


def test_attributes_keep_their_kind():
    block = nn.HybridSequential()
    block.layer, block.scale = nn.Dense(1), gluon.Parameter("scale", shape=(1,))
    block.layer, block.scale = nn.Dense(2), gluon.Parameter("scale", shape=(2,))
    for name in ("layer", "scale"):
        with pytest.raises(TypeError, match=f"{name} is a"):
            setattr(block, name, None)
    assert block.collect_params()["scale"].shape == (2,) and block._children["layer"] is block.layer
    del block.layer
    block.layer = None
    assert list(block.collect_params()) == ["scale"]


def test_blocks_in_lists_are_told_of():
    block = nn.Sequential()
    block.layers = {"a": [nn.Dense(1)], "b": 3}
    with pytest.warns(UserWarning, match="Sequential.layers has blocks that are not registered"):
        assert not block.collect_params()
    for layer in block.layers["a"]:
        block.register_child(layer)
    assert len(block.collect_params()) == 2


def test_devices_are_given_by_either_name():
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.reset_device(device=npx.cpu(1))
    assert net.weight.list_ctx() == [npx.cpu(1)]
    net.weight.reset_device(device=[npx.cpu(0), npx.cpu(2)])
    assert net.weight.list_ctx() == [npx.cpu(0), npx.cpu(2)]


def test_optimize_for():
    net, x = nn.Dense(2), np.ones((3, 4), "float32")
    net.initialize()
    net.optimize_for(x, backend="ONEDNN", static_alloc=True)
    assert "_run" in vars(net) and net(x).shape == (3, 2)
    with pytest.raises(ValueError, match="backend must be"):
        net.optimize_for(x, backend="mine")


# ---- programs


def test_a_linear_regression():
    np.random.seed(0)
    w, b = np.array([2, -3.4]), 4.2
    x = np.random.normal(size=(1000, 2))
    y = np.dot(x, w) + b + np.random.normal(size=1000) * 0.01
    batches = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), 10, shuffle=True)
    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Normal(sigma=0.01))
    loss = gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.03})
    for _ in range(3):
        for part, label in batches:
            with autograd.record():
                error = loss(net(part), label)
            error.backward()
            trainer.step(10)
    assert loss(net(x), y).mean() < 1e-4
    close(net[0].weight.data(), w.reshape(1, 2).asnumpy(), 0.01)
    close(net[0].bias.data(), [b], 0.01)


def test_a_network_of_convolutions():
    """It learns which half of an image is brighter; without tape or arrays left over."""
    np.random.seed(0)
    rng = numpy.random.default_rng(0)
    labels = rng.integers(0, 2, 64)
    images = rng.normal(size=(64, 1, 8, 8)).astype("float32")
    images[range(64), 0, 4 * labels] += 3
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Dropout(0.1),
            nn.Conv2D(4, 3, activation="relu"), nn.AvgPool2D(2, 1), nn.Dense(2))
    net.initialize(init.Xavier())
    net.hybridize()
    x, y = np.array(images), np.array(labels)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    for _ in range(30):
        with autograd.record():
            error = loss(net(x), y)
        error.backward()
        trainer.step(64)
    metric = gluon.metric.Accuracy()
    metric.update([y], [net(x)])
    assert metric.get()[1] > 0.9


def test_hybrid_forward():
    """A block as MXNet 1 had them: the functions by F, its parameters by name."""

    class Scaled(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Dense(3)
            self.scale = gluon.Parameter("scale", shape=(3,), init=init.Constant(2))

        def hybrid_forward(self, F, x, scale):
            return F.broadcast_mul(F.npx.relu(self.hidden(x)), F.reshape(scale, (1, -1)))

    net = Scaled()
    net.initialize()
    x = np.ones((2, 4), dtype="float32")
    with autograd.record():
        y = net(x)
    y.backward()
    assert (y == 2 * npx.relu(net.hidden(x))).all()
    assert (net.scale.grad() == npx.relu(net.hidden(x)).sum(0)).all()


def test_batches_for_no_device():
    for devices in ([], None):
        with pytest.raises(ValueError, match="ctx_list must name at least one device"):
            gluon.utils.split_and_load(np.ones((4, 2)), devices)
    with pytest.raises(ValueError, match="num_slice must be at least 1, not 0"):
        gluon.utils.split_data(np.ones((4, 2)), 0)
