"""What GPUs compute is what NumPy computes: every function that they have, and what falls back to the CPU."""

import numpy
import pytest
from engines import Gate

import dflow
import dflow.numpy as np
from dflow import autograd, gpu, npx
from dflow._gpu import codegen

GPU = gpu(0)
random = numpy.random.default_rng(5)
ARRAYS = {
    "x": random.random((6, 8)) + 0.1, "y": random.random((6, 8)) + 0.2, "v": random.random(8) + 0.1,
    "f": random.random((6, 8), "f4"), "i": random.integers(1, 9, (6, 8)), "k": numpy.array([3, 0, 5, 3]),
    "z": random.random((6, 8)) + 1j * random.random((6, 8)), "h": random.random((6, 8)).astype("f2"),
    "b": random.random((6, 8)) > 0.5, "s": random.random((8, 8)) + 4 * numpy.eye(8), "w": random.random((3, 2, 3, 3)),
    "d": random.random((2, 2, 7, 7)), "c": numpy.arange(6),
}


def on(device, names):
    return {name: np.asarray(ARRAYS[name], device=device) for name in names}


def used(text):
    return [name for name in ARRAYS if name in compile(text, "", "eval").co_names]


def texts(rows):
    return [text.strip() for line in rows.strip().splitlines() for text in line.split(" | ")]


def close(got, expected, tolerance=1e-12):
    got = got.asnumpy()
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.char in "efF":
        tolerance = 1e-2 if expected.dtype.char == "e" else 1e-5
    assert numpy.allclose(got, expected, tolerance, tolerance, equal_nan=True)


@pytest.mark.parametrize("name", sorted(set().union(*codegen.KNOWN.values())))
def test_functions(name):
    """As on the CPU, for each kind of elements that they take."""
    function = getattr(np, name, None) or getattr(npx, {"expit": "sigmoid"}.get(name, name), None)
    if function is None:
        assert name == "erfc"                           # of scipy.special alone
        return
    for kind in "xfihzb":
        operands = [ARRAYS[kind], ARRAYS["v"].astype(ARRAYS[kind].dtype)][:getattr(function, "nin", 1)]
        try:
            expected = function(*map(np.asarray, operands)).asnumpy()
        except TypeError:
            continue                                    # no function of such elements
        got = function(*(np.asarray(x, device=GPU) for x in operands))
        assert got.ctx == GPU
        close(got, expected)


EXPRESSIONS = """
    x.sum(axis=0) | x.sum() | i.sum(axis=1) | x.prod(axis=1)
    x.max(axis=0) | f.min() | b.any(axis=0) | b.all() | x.mean(axis=1)
    np.sum(x, axis=(0, 1), keepdims=True) | x.T.sum(axis=0) | x[::2, ::-1].sum(axis=1) | np.sum(f, initial=3)
    x.std(axis=0) | x.argmax(axis=1) | f.argmin() | np.cumsum(x, axis=0) | np.cumprod(i, axis=1) | np.sort(x, axis=0)
    x @ s | s @ x.T | f @ f.T | x @ v | v @ v
    z @ z.T | i @ i.T | np.einsum('ij,kj->ik', x, y) | np.matmul(d, d) | h @ h.T
    np.where(b, x, y) | np.where(x > 0.5, x, 0) | np.where(b, f, 1) | x.astype('f4') | i.astype(float) | x.astype(int)
    z.real | z.imag | abs(z) | z.conj() | x.astype(bool) | b.astype('f4') | h.astype(float) | f.astype('f2')
    x[k] | np.take(x, k, axis=1) | x[:, k] | x[k, k]
    x[x > 0.5] | x[1:4, ::2] | x.T.reshape(4, 12) | x.T.copy() | x[::-1]
    np.concatenate([x, y]) | np.stack([x, y], axis=1) | np.pad(x, 1) | np.tile(v, 3) | np.roll(x, 2) | np.flip(x)
    np.exp(x) * 2 + y / (x - 3) | (x - x.mean(axis=0)) / x.std(axis=0) | np.maximum(x, v).sum()
    x // 0.3 | -x % 0.7 | x ** 2
    np.sqrt(x * x + y * y) | np.clip(x, 0.3, 0.6) | np.logical_and(b, x > 0.5) | ~b
    i << 2 | i & 3 | 1 / x | 2 - i | x < y
    np.linalg.inv(s) | np.linalg.solve(s, v) | np.fft.rfft(x) | np.median(x, axis=0) | np.unique(i) | np.histogram(x)[0]
    np.arange(6) + c | x + np.ones(8) | np.interp(v, np.sort(v), v) | np.outer(v, v) | np.diff(x) | np.var(x, axis=1)
    np.full_like(x, 7) | np.zeros_like(i) | np.add.outer(v, v) | np.subtract(x, v, where=b, out=y * 1) | x.T @ y
"""


@pytest.mark.parametrize("text", texts(EXPRESSIONS))
def test_expressions(text):
    arrays = on(GPU, used(text))
    got = eval(text, {"np": np}, arrays)
    expected = eval(text, {"np": numpy}, {name: ARRAYS[name].copy() for name in arrays})
    assert got.ctx == GPU
    close(got, numpy.asarray(expected), 1e-10)


WRITES = """
    x[2] = 7 | x[1:3, ::2] = y[:2, :4] | x[:] = v | x[b] = 0 | x[k] = 1
    x += y | x *= 2 | x[0, 0] = 5 | x.fill(3) | x.sort(axis=0)
    x[...] = f | np.add.at(x, k, y[:4]) | np.add(x, y, out=x, where=b)
    np.copyto(x, y, where=b) | x[k, k] += 1 | x.T[1] -= v[:6]
    x[1:] += x[:-1] | x[:, 0] = c | np.put(x, k, 9) | x[:2], x[2:4] = y[:2] + 1, y[2:4] - 1 | np.random.shuffle(c[:0])
"""


@pytest.mark.parametrize("text", texts(WRITES))
def test_writes(text):
    arrays = on(GPU, ARRAYS)
    expected = {name: x.copy() for name, x in ARRAYS.items()}
    exec(text, {"np": np}, arrays)
    exec(text, {"np": numpy}, expected)
    close(arrays["x"], expected["x"])
    close(arrays["x"] * 2, expected["x"] * 2)           # here, and there


def test_groups_are_one_kernel(standin):
    """A chain is one launch, and what nobody sees in it is never stored."""
    y = np.asarray(ARRAYS["y"], device=GPU)
    before = standin.launches["dflow_group"]
    for _ in range(3):
        with Gate() as gate:                            # nothing runs before all is submitted
            x = gate.hold(np.asarray(ARRAYS["x"])).as_in_ctx(GPU)
            result = np.where(x > 0.5, np.exp(x * 2 + y) - 1, x / 3)
            result += 1
        result.wait_to_read()
    assert standin.launches["dflow_group"] - before == 3
    close(result, numpy.where(ARRAYS["x"] > 0.5, numpy.exp(ARRAYS["x"] * 2 + ARRAYS["y"]) - 1, ARRAYS["x"] / 3) + 1)


LARGE = 1 << 20
PACKS = """
    x * 2 + y | x + s | (x + y) * (s - y) | x[1:] - y[1:] | x[::2] + y[::2] | np.where(x > y, x, s)
    x.reshape(16, -1) + y.reshape(16, -1) | x[16:] - y[16:] | x[:-3] * y[3:] | x + k.astype(x.dtype)
"""


@pytest.mark.parametrize("text, dtype", [*((text, "f4") for text in texts(PACKS)),
                                         *(("x * 2 + y * s", kind) for kind in ("f8", "f2", "i1", "i8", "c8", "?"))])
def test_large_arrays(text, dtype):
    """Those that lie in one piece are read and written 16 bytes at a time."""
    arrays = {"x": numpy.arange(LARGE) % 11, "y": numpy.arange(LARGE) * 3 % 7, "s": numpy.array([2])}
    arrays = {**{name: x.astype(dtype) for name, x in arrays.items()}, "k": numpy.arange(LARGE) % 100}
    expected = eval(text, {"np": numpy}, arrays)
    there = {name: np.asarray(x, device=GPU) for name, x in arrays.items()}
    got = eval(text, {"np": np}, there).asnumpy()
    assert got.dtype == expected.dtype and (got == expected).all()


def test_large_arrays_in_packs(standin):
    """Which are: those whose beginning and number of elements allow it."""
    x, y = (np.asarray(numpy.arange(LARGE, dtype="f4"), device=GPU) for _ in range(2))
    names = {"x": x, "y": y, "s": x[2]}
    for text, packs in {"x + y": 1, "x * s": 1, "x[4:] + y[:-4]": 0, "x[16:] + y[:-16]": 0, "x[1:] + y[1:]": 0,
                        "x[::2] + 1": 0, "x[:1000] + 1": 0}.items():
        before = standin.launches["compiled"]
        eval(text, names).wait_to_read()
        assert standin.launches["compiled"] - before == packs, text
    x += y
    x *= 2
    assert (x.asnumpy() == numpy.arange(LARGE) * 4).all()


def test_products_of_halves_add_up_floats():
    """Of one row and one column, too, and in graphs."""
    for columns in (1, 3):
        x = np.asarray(numpy.full((1, 2), 256, "f2"), device=GPU)
        y = np.asarray(numpy.array([[300] * columns, [-300] * columns], "f2"), device=GPU)
        graph = dflow.graph(lambda x, y: x @ y + 1)
        for _ in range(5):
            assert (x @ y).tolist() == [[0] * columns] and graph(x, y).tolist() == [[1] * columns]


def test_what_stays_on_the_device_is_not_moved(standin):
    """Training moves nothing but what is read."""
    x, w = np.asarray(random.random((64, 16)), device=GPU), np.asarray(random.random((16, 4)), device=GPU)
    w.attach_grad()

    def step():
        with autograd.record():
            loss = (npx.relu(x @ w) ** 2).mean()
        loss.backward()
        w[...] -= 0.1 * w.grad
        return loss

    step().item()
    before = standin.launches["memcpy"]
    losses = [step() for _ in range(5)]
    dflow.waitall()
    assert standin.launches["memcpy"] == before
    assert losses[0] > losses[-1]


def test_more_arrays_than_a_kernel_takes():
    arrays = [np.asarray(numpy.full((40, 3), i + 0.5), device=GPU)[:, ::2] for i in range(150)]
    total = arrays[0] * 1
    for x in arrays[1:]:
        total += x
    assert total.tolist() == [[sum(i + 0.5 for i in range(150))] * 2] * 40


def test_gradients_are_the_cpus():
    def loss_of(x, w):
        hidden = npx.softmax(np.tanh(x @ w))
        return (hidden * np.log(hidden + 0.1)).sum() + np.take(w, np.array([0, 1, 0]), axis=0).sum()

    grads = []
    for device in (dflow.cpu(), GPU):
        w = np.asarray(ARRAYS["s"], device=device)
        w.attach_grad()
        with autograd.record():
            loss = loss_of(np.asarray(ARRAYS["x"], device=device), w)
        loss.backward()
        assert w.grad.ctx == device
        grads.append(w.grad.asnumpy())
    assert numpy.allclose(*grads)


DRAWS = """
    np.random.uniform(2, 5, size=(37, 29))
    np.random.normal(1, 2, size=(300, 40)) | np.random.exponential(2, size=5000)
    np.random.laplace(0, 1, size=777) | np.random.randint(0, 10, size=1000) | np.random.randint(-9, 2**40, size=1000)
    np.random.randint(0, 200, size=1000, dtype='uint8') | np.random.default_rng(3).random(1000, dtype='f4')
    np.random.default_rng(3).standard_normal(9000, dtype='f4')
    np.random.default_rng(3).standard_exponential(9000, dtype='f4')
    np.random.gamma(2, size=100) | np.random.uniform(size=(3, 4)).T + 1 | npx.dropout(np.ones((20, 30)), p=0.3)
"""


@pytest.mark.parametrize("text", texts(DRAWS))
def test_draws_are_the_cpus(text):
    """Bit for bit: an element's random bits depend on the seed and its place alone."""
    drawn = []
    for device in (dflow.cpu(), GPU):
        np.random.seed(5)
        with device, autograd.record():
            drawn.append(eval(text, {"np": np, "npx": npx}))
        assert drawn[-1].ctx == device
    one, other = (x.asnumpy() for x in drawn)
    assert one.dtype == other.dtype and one.tobytes() == other.tobytes()


def test_convolutions():
    for stride in (1, 2):
        arguments = {"kernel": (3, 3), "num_filter": 3, "stride": (stride, stride), "no_bias": True}
        results = [npx.convolution(*on(device, "dw").values(), **arguments) for device in (dflow.cpu(), GPU)]
        assert results[1].ctx == GPU
        assert numpy.allclose(*(x.asnumpy() for x in results))


def test_a_training_step_is_one_cuda_graph(standin):
    """From its third replay on: arguments are copied in, results out; the device is told at once what lies between."""
    data = numpy.random.default_rng(2)
    start, batches = data.random((8, 3)), [(data.random((16, 8)), data.random((16, 3))) for _ in range(9)]

    def trained(device, graphed):
        w = np.asarray(start, device=device)
        w.attach_grad()

        def step(x, y):
            with autograd.record():
                loss = ((np.tanh(x @ w) - y) ** 2).mean()
            loss.backward()
            w[...] -= 0.5 * w.grad
            return loss, w * 1

        run = dflow.graph(step) if graphed else step
        results = []
        for batch in batches:
            results.append(run(*(np.asarray(a, device=device) for a in batch)))
            if len(results) < 4:
                dflow.waitall()                         # then what was noted can be replayed
        return [x.asnumpy() for pair in results for x in pair] + [w.asnumpy()]

    got = trained(GPU, True)
    assert standin.launches["graph"] >= 3
    for one, other in zip(got, trained(dflow.cpu(), False), strict=True):
        assert numpy.allclose(one, other, 1e-12, 1e-15)


def test_graphs_that_cannot_be_one(standin):
    """Random numbers, and what the device has no kernel for: step by step."""
    def noisy(x):
        with GPU:
            return x + np.random.uniform(size=(6, 8))

    noise = dflow.graph(noisy)
    inverse = dflow.graph(lambda s: np.linalg.inv(s) + 1)
    x, s = on(GPU, "xs").values()
    seen = [noise(x).sum().item() for _ in range(5)]
    assert len(set(seen)) == 5
    for _ in range(5):
        close(inverse(s), numpy.linalg.inv(ARRAYS["s"]) + 1)
    assert standin.launches["graph"] == 0


def test_graphs():
    graph = dflow.graph(lambda x, y: (np.exp(x) @ y.T).sum(axis=0) + np.arange(6.0))
    for _ in range(6):
        x, y = on(GPU, "xy").values()
        got = graph(x, y)
        assert got.ctx == GPU
        close(got, (numpy.exp(ARRAYS["x"]) @ ARRAYS["y"].T).sum(axis=0) + numpy.arange(6.0))
        x += 1
