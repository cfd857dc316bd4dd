"""Devices: arrays are where they were put, results where their arguments are, and arrays on several do not mix."""

import os
import sys
import threading

import numpy
import pytest
from compare import assert_same
from engines import configured, in_threads

import dflow
from dflow import autograd, cpu, gluon, gpu, init, kvstore, np, npx
from dflow.gluon import nn

HERE, THERE = cpu(1), cpu(2)

# Of every way that results are made: x is of floats, 4 x 4, v of 4, i of integers.
WORKS = {
    "elementwise": "x * 2 + v",
    "comparison": "x > v",
    "one element": "x[0, 0] + 1",
    "out": "np.add(x, x, out=np.empty((4, 4)))",
    "where": "np.where(x > 0, x, 0)",
    "reduction": "x.sum(axis=0)",
    "mean": "x.mean()",
    "arg": "x.argmax(axis=1)",
    "accumulation": "np.cumsum(x, axis=1)",
    "matmul": "x @ x.T",
    "einsum": "np.einsum('ij,j->i', x, v)",
    "view": "x.T[1:]",
    "copy": "x.copy()",
    "cast": "x.astype('float32')",
    "reshape of a transpose": "x.T.reshape(2, 8)",
    "concatenate": "np.concatenate([x, x[:1]])",
    "stack": "np.stack([v, v])",
    "array of arrays": "np.array([x[0], v])",
    "imaginary part": "x.imag",
    "counts": "np.bincount(i)",
    "pad": "np.pad(x, 1)",
    "take": "x[i]",
    "mask": "x[x > 0.5]",
    "mask of nothing": "x[x > 9]",
    "no indices": "np.take(x, i[:0], axis=1)",
    "reduction of nothing": "x[:0].sum(axis=1)",
    "selection": "np.take(x, i, axis=1)",
    "sort": "np.sort(x, axis=0)",
    "argsort": "v.argsort()",
    "unique": "np.unique(i)",
    "nonzero": "np.nonzero(x)[0]",
    "median": "np.median(x, axis=1)",
    "histogram": "np.histogram(v)[0]",
    "interp": "np.interp(v, v, v)",
    "fft": "np.fft.rfft(x)",
    "inv": "np.linalg.inv(x)",
    "lstsq": "np.linalg.lstsq(x, v, rcond=None)[0]",
    "qr": "np.linalg.qr(x)[0]",
    "pinv": "np.linalg.pinv(x)",
    "host task": "dflow.submit(numpy.cbrt, v, shape=(4,))",
    "like": "np.ones_like(x)",
    "identity": "np.linalg.matrix_power(x, 0)",
    "resized to nothing": "np.resize(x, (0,))",
    "iscomplex": "np.iscomplex(x)",
    "piecewise": "np.piecewise(x, [x > 99], [1.0])",
    "edges": "np.histogram_bin_edges(v, 3, (0, 1))",
    "softmax": "npx.softmax(x)",
    "network": "npx.fully_connected(x, x, v, num_hidden=4, no_bias=False)",
    "with an array from nowhere": "x + np.arange(4)",
    "with NumPy's": "x + numpy.ones(4)",
    "graph": "graph(x, v)",
}


def sources(device=None):
    random = numpy.random.default_rng(3)
    given = random.random((4, 4)) + 4 * numpy.eye(4), random.random(4), numpy.array([3, 0, 2])
    return dict(zip("xvi", (np.asarray(x, device=device) for x in given)))


def result(text, device, graph):
    return eval(text, {"np": np, "npx": npx, "numpy": numpy, "dflow": dflow, "graph": graph}, sources(device))


@pytest.mark.parametrize("text", WORKS.values(), ids=list(WORKS))
def test_results_are_where_their_arguments_are(text):
    graph = dflow.graph(lambda x, v: np.exp(x @ v) + np.arange(4.0))
    for _ in range(2):                  # noted, and replayed
        here = result(text, HERE, graph)
        assert here.ctx == HERE == here.device
    nowhere = result(text, None, graph)
    assert_same(here, nowhere.asnumpy())
    assert (nowhere.ctx, nowhere.device) == (cpu(0), "cpu")


MIXES = {
    "add": "x + y",
    "multiply": "np.multiply(x, 2, out=y)",
    "where": "np.where(x > 0, x, y)",
    "matmul": "x @ y",
    "copy": "np.concatenate([x, y])",
    "subtract": "x.__isub__(y)",
    "maximum": "np.maximum(y[0], x[:, 1])",
    "interp": "np.interp(x[0], x[0], y[0])",
    "lstsq": "np.linalg.lstsq(x, y, rcond=None)",
    "setdiff1d": "np.setdiff1d(x, y)",
    "equal": "np.array_equal(x, y)",
}


@pytest.mark.parametrize("name", MIXES)
def test_devices_do_not_mix(name):
    x, y = sources(HERE)["x"], sources(THERE)["x"]
    before = y.copy()
    with pytest.raises(ValueError, match=rf"{name}: .* on cpu\([12]\) and cpu\([12]\); as_in_ctx\(\) brings an array"):
        eval(MIXES[name], {"np": np}, {"x": x, "y": y})
    assert_same(y, before.asnumpy())
    assert_same(x + y.as_in_ctx(HERE), (2 * before).asnumpy())


def test_assignments_do_not_mix():
    x, y = np.zeros(3, device=HERE), np.ones(3, device=THERE)
    for write in (lambda: x.__setitem__(slice(None), y), lambda: np.copyto(x, y), lambda: np.put(x, [0], y)):
        with pytest.raises(ValueError, match=r"cpu\([12]\) and cpu\([12]\)"):
            write()
    assert x.tolist() == [0, 0, 0]
    x[...] = 2                          # numbers and arrays from nowhere do
    x[:1] = np.arange(1)
    assert x.tolist() == [0, 2, 2]


def test_coming_to_another_device():
    x = np.asarray([1.0, 2.0, 3.0], device=HERE)
    assert x.as_in_ctx(HERE) is x is x.as_in_context(HERE) is x.to_device(HERE)
    y = x.as_in_ctx(THERE)
    z = x[::-1].to_device(THERE)
    x += 1
    assert y.ctx == z.ctx == (y + z).ctx == THERE and y.tolist() == [1, 2, 3] and z.tolist() == [3, 2, 1]
    assert x.copyto(THERE).ctx == THERE and x.copyto(y) is y and y.tolist() == [2, 3, 4] and y.ctx == THERE
    assert x.copyto(HERE) is not x and x.copyto(HERE).ctx == HERE
    assert x.to_device("cpu").device == "cpu" and np.asarray(x, device="cpu").device == "cpu"
    assert np.asarray(x, device=HERE) is x and np.from_dlpack(x, device=THERE).ctx == THERE
    with pytest.raises(ValueError, match="could not broadcast"):
        x.copyto(np.zeros(2, device=THERE))
    assert numpy.asarray(y).tolist() == [2, 3, 4]
    before = total = x.sum().as_in_ctx(THERE)           # a number, not an array, as in NumPy
    total += 1
    assert (before, total) == (9, 10) and total.ctx == THERE
    for move in (x.as_in_ctx, x.copyto):
        for device in (None, 1, numpy.ones(3)):
            with pytest.raises(TypeError, match=f"must be a device, not {type(device).__name__}"):
                move(device)


def test_what_is_written_to_stays_where_that_is():
    x, y = np.zeros(3), np.ones(3, device=HERE)
    x += y
    assert x.ctx == HERE and x.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"add: its arrays are on cpu\(1\) and cpu\(2\)"):
        x + np.ones(3, device=THERE)


@pytest.mark.parametrize("text", ["np.zeros(2, device={})", "np.ones(2).as_in_ctx({})", "np.ones(2).copyto({})",
                                  "np.arange(3, device={})", "{}.__enter__()", "dflow.synchronize({})",
                                  "nn.Dense(2).initialize(ctx={})", "dflow.nd.ones((2,), ctx={})"])
def test_devices_that_do_not_exist(text):
    for device in (gpu(0), cpu(16)):    # but nobody minds their names
        with pytest.raises(ValueError, match=r"does not exist: there are cpu\(0\) to cpu\(15\), and no GPU"):
            eval(text.format("device"), globals(), {"device": device})
    assert npx.current_device() == cpu(0)


def test_where_arrays_are_made():
    def made():
        rng = np.random.default_rng(0)
        return np.ones(2), np.array([1, 2]), np.arange(3), np.eye(2), rng.random(3), np.random.rand(2), np.zeros(())

    with HERE as entered:
        assert entered is HERE and npx.current_device() == HERE
        assert {x.ctx for x in made()} == {HERE}
        with THERE, cpu(0):
            assert {x.ctx for x in made()} == {cpu(0)}
        assert np.ones(2, device=THERE).ctx == THERE
        x = np.asarray([1.0], device=THERE) + np.ones(1)
        assert x.ctx == THERE
        other = []
        thread = threading.Thread(target=lambda: other.append(npx.current_device()))
        thread.start()
        thread.join()
        assert other == [cpu(0)]        # each thread has its own
    with pytest.raises(KeyError), HERE:
        raise KeyError
    assert npx.current_device() == cpu(0) and {x.ctx for x in made()} == {cpu(0)}


def test_threads_on_devices_of_their_own():
    """All at once, with one that is nowhere: what a thread makes, and moves, never takes another one's device."""
    def run(device, other):
        for _ in range(150):
            with device:
                x = np.arange(6.0) + 1
                assert x.ctx == np.ones(2).ctx == (x[:3] * 2).sum().ctx == device
            y = x.as_in_ctx(other) if other != device else np.asarray(x, device=device)
            z = np.zeros(6, device=device)
            y.copyto(z)
            assert (z.ctx, z.tolist()) == (device, [1, 2, 3, 4, 5, 6])
            with pytest.raises(ValueError, match="its arrays are on"):
                z + np.ones(6, device=cpu(9))
            assert np.ones(2).ctx == cpu(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        in_threads(*(lambda device=device: run(device, HERE) for device in (cpu(0), HERE, THERE, cpu(3))))
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_is_where_its_thread_was():
    inside, done = threading.Event(), threading.Event()

    def elsewhere():
        with THERE:
            inside.set()
            done.wait(60)

    def child():
        with HERE:
            pid = os.fork()
            if pid == 0:
                os._exit(not np.ones(2).ctx == npx.current_device() == HERE)
            assert os.waitpid(pid, 0)[1] == 0
        assert np.ones(2).ctx == cpu(0)
        done.set()

    in_threads(elsewhere, lambda: inside.wait(60) and child())


def test_with_mxnets_types():
    npx.set_np()
    try:
        for x in (np.ones((2,), ctx=HERE), np.array([1, 2], ctx=HERE), np.asarray([1], device=HERE),
                  np.random.uniform(size=3, ctx=HERE), np.random.randint(0, 5, size=3, ctx=HERE),
                  np.full(2, 3, ctx=HERE), np.linspace(0, 1, 3, ctx=HERE), np.zeros_like(np.ones(2, ctx=HERE))):
            assert x.ctx == HERE
    finally:
        npx.reset_np()
    nd = dflow.nd
    for x in (nd.array([1, 2], ctx=HERE), nd.zeros((2,), HERE), nd.full((2,), 1, HERE), nd.arange(3, ctx=HERE),
              nd.random.normal(shape=(2,), ctx=HERE), nd.eye(2, ctx=HERE), nd.linspace(0, 1, 3, ctx=HERE)):
        assert x.context == HERE


def test_gradients_come_back():
    x = np.asarray([1.0, 2.0], device=HERE)
    x.attach_grad()
    with autograd.record():
        y = (x ** 3).as_in_ctx(THERE)
        z = (y * np.asarray([2.0, 3.0], device=THERE)).sum()
        (first,) = autograd.grad(z, [x], create_graph=True, retain_graph=True)
        total = first.sum()
    total.backward()
    assert z.ctx == THERE and first.ctx == HERE and first.tolist() == [6, 36]
    assert x.grad.ctx == HERE and x.grad.tolist() == [12, 36]


# -- networks on several devices -------------------------------------------------------------------

def trained(devices, optimizer, hybridize, n=12):
    random = numpy.random.default_rng(1)
    x, y = np.array(random.random((n, 3), "float32")), np.array(random.random((n, 1), "float32"))
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh"), nn.Dense(1))
    net.initialize(init.Constant(0.3), ctx=devices)
    if hybridize:
        net.hybridize()
    loss = gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
    metric = gluon.metric.MSE()
    for _ in range(4):
        xs, ys = gluon.utils.split_and_load(x, devices), gluon.utils.split_and_load(y, devices)
        assert [part.ctx for part in xs] == devices
        with autograd.record():
            predictions = [net(a) for a in xs]
            losses = [loss(a, b) for a, b in zip(predictions, ys)]
        assert [each.ctx for each in losses] == devices
        metric.update(ys, predictions)
        autograd.backward(losses)
        trainer.step(len(x))
    return net, metric.get()[1]


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("n, pools", [(12, ()), (6000, ()), (6000, (1, 1))], ids=["few", "many", "own workers"])
def test_training_on_several_devices(optimizer, hybridize, n, pools):
    alone, score = trained([cpu(0)], optimizer, hybridize, n)
    for devices in ([HERE], [HERE, THERE], [cpu(0), HERE, THERE]):
        with configured(pools=pools):
            net, same = trained(devices, optimizer, hybridize, n)
        assert same == pytest.approx(score, rel=1e-5)
        for p, q in zip(net.collect_params().values(), alone.collect_params().values(), strict=True):
            assert p.list_ctx() == devices == [x.ctx for x in p.list_data()] == [g.ctx for g in p.list_grad()]
            for x, g in zip(p.list_data(), p.list_grad()):
                numpy.testing.assert_allclose(x.asnumpy(), q.data().asnumpy(), 1e-5, 1e-6)
                numpy.testing.assert_allclose(g.asnumpy(), q.grad().asnumpy(), 1e-4, 1e-6)


def test_data_of_parameters_on_several_devices(tmp_path):
    p = gluon.Parameter("weight", shape=(2,))
    p.initialize(init.One(), ctx=[HERE, THERE])
    assert p.data(THERE).ctx == THERE and p.grad(HERE).ctx == HERE
    with THERE:
        assert p.data() is p.data(THERE)
    for ctx in (cpu(3), None):
        with pytest.raises(RuntimeError, match=r"initialized on cpu\([03]\): it is on cpu\(1\), cpu\(2\)"):
            p.data(ctx)
    p.set_data(np.asarray([3.0, 4.0], device=THERE))
    assert [x.tolist() for x in p.list_data()] == [[3, 4]] * 2
    p.data(HERE)[...] = 5               # as running means may differ
    assert p.mean().tolist() == [4, 4.5] and p.mean().ctx == HERE
    everything = gluon.ParameterDict({"weight": p})
    everything.save(tmp_path / "p")
    p.reset_ctx(cpu(3))
    assert p.list_ctx() == [cpu(3)] and p.data().ctx == cpu(3) == p.grad().ctx and p.data().tolist() == [4, 4.5]
    everything.load(tmp_path / "p", ctx=[HERE, cpu(3)])
    assert [(x.ctx, x.tolist()) for x in p.list_data()] == [(HERE, [4, 4.5]), (cpu(3), [4, 4.5])]
    with pytest.raises(ValueError, match=r"gpu\(0\) does not exist"):
        p.reset_ctx(gpu(0))
    assert p.list_ctx() == [HERE, cpu(3)] == everything.list_ctx()


def test_batch_norm_on_several_devices():
    net = nn.BatchNorm()
    net.initialize(ctx=[HERE, THERE])
    parts = [np.asarray(numpy.full((4, 2), k, "float32"), device=device) for k, device in enumerate((HERE, THERE))]
    with autograd.record():
        outs = [net(part) for part in parts]
    assert [x.ctx for x in outs] == [HERE, THERE]
    means = [x.tolist() for x in net.running_mean.list_data()]
    assert means[0] == [0, 0] and means[1] == pytest.approx([0.1, 0.1])
    assert net.running_mean.mean().tolist() == pytest.approx([0.05, 0.05])


def test_batch_norm_synchronized():
    """Of one device it is the other one; more are refused, as soon as they are known."""
    x = np.asarray(numpy.random.default_rng(3).normal(size=(4, 3, 5)).astype("float32"), device=THERE)
    found = []
    for norm in (nn.BatchNorm(), nn.SyncBatchNorm(num_devices=1), gluon.contrib.nn.SyncBatchNorm()):
        norm.initialize(ctx=THERE)
        x.attach_grad()
        with autograd.record():
            y = (norm(x) * x).sum()
        y.backward()
        found.append([a.asnumpy().tobytes() for a in (y, x.grad, norm.running_mean.data(), norm.running_var.data())])
    assert found[0] == found[1] == found[2]
    norm.initialize(ctx=[HERE, THERE], force_reinit=True)
    for wrong in (lambda: nn.SyncBatchNorm(num_devices=2), lambda: norm(x)):
        with pytest.raises(ValueError, match="over 2 devices"):
            wrong()


def test_what_exchanges_between_devices():
    parts = [np.asarray([3.0, 0.0], device=HERE), np.asarray([0.0, 4.0], device=THERE)]
    store = kvstore.create("device")
    store.init("w", parts[0])
    store.push("w", parts)
    outs = [np.zeros(2, device=THERE), np.zeros(2, device=HERE)]
    store.pull("w", outs)
    assert [x.tolist() for x in outs] == [[3, 4]] * 2 and [x.ctx for x in outs] == [THERE, HERE]
    assert gluon.utils.clip_global_norm(parts, 1.0) == 5
    assert parts[0].tolist() == pytest.approx([0.6, 0]) and parts[1].tolist() == pytest.approx([0, 0.8])
    dflow.synchronize(HERE)
    dflow.synchronize()


@pytest.mark.parametrize("name", ["device", "ctx", "context"])
def test_an_array_is_not_moved_by_assignment(name):
    with pytest.raises(AttributeError, match=f"attribute '{name}' of .*ndarray' objects is not writable"):
        setattr(np.arange(3), name, dflow.cpu(1))
