"""dflow.graph() and hybridize(): replays give the numbers of the function; what cannot be replayed runs as written."""

import copy
import gc
import os
import signal
import threading
import warnings

import numpy
import pytest
from engines import HANG, Gate, configured, in_threads

import dflow
from dflow import autograd, gluon, npx
from dflow import numpy as np
from dflow.gluon import nn

pytestmark = pytest.mark.core

ENGINES = {"default": {}, "queued": {"limit": 0}, "one worker": {"workers": 1, "limit": 0},
           "no groups": {"limit": 0, "bulk": 0}, "naive": {"naive": True}}


@pytest.fixture(params=ENGINES)
def any_engine(request):
    with configured(**ENGINES[request.param]):
        yield


def flat(x):
    if hasattr(x, "dtype"):
        return [x]
    return [part for item in (x.values() if isinstance(x, dict) else x) for part in flat(item)]


def equal(x, y, rtol=0):
    x, y = flat(x), flat(y)
    assert len(x) == len(y)
    for a, b in zip(x, y):
        assert a.dtype == b.dtype and a.shape == b.shape
        numpy.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol)


def replays(graph, times=1):
    """It has noted so often, and given up never."""
    return not graph.eager and repr(graph).endswith(f"{times} noted>")


def ones_and_zeros(x):
    z = np.zeros(3)
    z[1] = x[0, 0]
    parts = np.empty((4, 2))
    parts[:3] = x[:3, :2]
    parts[3] = 7
    return z + np.array([1.0, 2, 3]), parts, np.arange(4.0), np.zeros((2, 500))


def in_place(x):
    y = x * 2
    y[1:] += y[:-1]
    y[::2] = 0
    y[0, 1] = 5.5
    return y


FUNCTIONS = {
    "elementwise": lambda x: x * x + 2 * x - np.sin(x) / 3,
    "reductions": lambda x: (x.sum(axis=0), x.mean(), abs(x).max(axis=1), np.cumsum(x), (x * x).sum()),
    "products": lambda x: (x @ x.T, x @ x[0], np.dot(x[0], x[0])),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "shapes": lambda x: (x.T, x[1:, ::-1], x.reshape(-1), np.concatenate([x, x + 1]), np.stack([x, x]), np.roll(x, 1)),
    "indices": lambda x: (x[np.array([2, 0, 1])], np.take(x, np.array([1, 1]), axis=1), np.where(x > 0, x, 0), x[0, 1]),
    "sorts": lambda x: (np.sort(x, axis=0), np.argsort(x), x.argmax(axis=0)),
    "types": lambda x: (x.astype("float32"), (x * 3).astype(int), x > 0.5, x.astype(complex) * 1j),
    "linalg": lambda x: np.linalg.solve(x[:3, :3] + 4 * np.eye(3), x[:3, 0]),
    "new arrays": ones_and_zeros,
    "in place": in_place,
    "a dictionary": lambda x: {"a": x + 1, "b": [x * 2, (x, x - 1)]},
    "itself": lambda x: x,
    "a view": lambda x: x[1:],
    "wide": lambda x: np.exp(np.tile(x, (40, 30))).sum(axis=1),
    "network": lambda x: npx.softmax(npx.fully_connected(npx.relu(x), np.ones((3, x.shape[1])), np.arange(3.0),
                                                         num_hidden=3, no_bias=False)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_replay_gives_the_same(any_engine, name):
    function, rng = FUNCTIONS[name], numpy.random.default_rng(0)
    graph = dflow.graph(function)
    for shape in [(4, 5), (6, 5), (4, 5)]:
        for _ in range(3):
            x = np.array(rng.normal(size=shape))
            equal(graph(x), function(x), 1e-13 if name == "einsum" else 0)      # NumPy's, where that is small
    assert dflow.engine.naive() or replays(graph, 2)


def test_tasks_that_end_while_they_are_noted():
    """What a task held until now is kept by nobody: the note of it is good, and comes at once."""
    x, y = np.ones((4, 5)), np.ones((6, 5))
    with configured(limit=0, bulk=0):
        for _ in range(300):
            graph = dflow.graph(FUNCTIONS["elementwise"])
            for given in (x, x, y, y):
                graph(given).wait_to_read()
            assert replays(graph, 2)


def test_arguments_of_any_kind():
    @dflow.graph
    def mixed(a, pair, *, options, factor=2):
        return {"sum": a + pair[0] * factor, "other": pair[1], "plain": options["name"], "number": factor}

    a, b = np.arange(3.0), np.ones(3)
    for factor in (2, 2, 3, 2.0):
        got = mixed(a, (b, [a, None]), options={"name": "x"}, factor=factor)
        assert (got["sum"] == a + b * factor).all() and got["other"][0] is a
        assert got["plain"] == "x" and got["number"] == factor
        assert type(got["number"]) is type(factor)
    assert replays(mixed, 3)


def test_numbers_that_are_equal_and_not_the_same():
    graph = dflow.graph(lambda x, y: x * y)
    assert [str(graph(np.ones(1), y)[0]) for y in (0.0, -0.0, 1, 1.0, True)] == ["0.0", "-0.0", "1.0", "1.0", "1.0"]
    assert replays(graph, 5)


def test_what_makes_it_be_noted_anew():
    graph = dflow.graph(lambda x, y: x * 2 + y)
    x = np.arange(12.0).reshape(3, 4)
    y = np.ones((3, 4))
    kinds = [(x, y), (x.astype("float32"), y), (x[:2], y[:2]), (x.T, y.T), (x[:, ::2], y[:, ::2]), (x, x), (x[:1], y),
             (x, y[0])]
    for number, (a, b) in enumerate(kinds, 1):
        for _ in range(2):
            equal(graph(a, b), a * 2 + b)
        assert replays(graph, number)


def test_parts_of_larger_arrays():
    graph = dflow.graph(lambda x, y: (x + 1, x.sum(axis=0) + y))
    data, labels = np.arange(80.0).reshape(20, 4), np.ones(4)
    for k in range(0, 20, 4):
        equal(graph(data[k:k + 4], labels), (data[k:k + 4] + 1, data[k:k + 4].sum(axis=0) + labels))
    assert replays(graph)


def test_arguments_that_share_memory():
    def shift(x, y):
        x += y
        return x

    graph, data = dflow.graph(shift), numpy.arange(10.0)
    behind, ahead = slice(0, 8), slice(1, 9)
    for cut in [(ahead, behind), (behind, ahead), (slice(0, 4), slice(5, 9)), (ahead, behind)]:
        ours, theirs = np.array(data), data.copy()
        theirs[cut[0]] += theirs[cut[1]]
        graph(ours[cut[0]], ours[cut[1]])
        assert ours.tolist() == theirs.tolist()


def test_an_argument_that_is_written_outside_too():
    state = np.zeros(4)

    @dflow.graph
    def accumulate(x):
        state[1:] += x[:-1]
        return state * 1

    for _ in range(2):
        accumulate(np.ones(4))
    state[...] = numpy.arange(4)
    assert accumulate(state).tolist() == [0, 1, 3, 5]           # of x as it was
    assert accumulate(state).tolist() == [0, 1, 4, 8]


def test_arrays_from_outside_are_where_they_are(any_engine):
    w, state = np.ones(3), np.zeros(3)

    @dflow.graph
    def step(x):
        state.__iadd__(x * w)
        return state + 1

    for k in range(5):
        w[...] = k
        step(np.ones(3))
    assert state.tolist() == [10, 10, 10]


def test_results_are_new_each_time():
    graph = dflow.graph(lambda x: (x + 1, np.zeros(2)))
    kept = [graph(np.full(3, float(k))) for k in range(4)]
    for k, (a, zeros) in enumerate(kept):
        assert a.tolist() == [k + 1] * 3 and zeros.tolist() == [0, 0]
        a += 100
        zeros += 1
    assert graph(np.zeros(3))[1].tolist() == [0, 0]


def test_random_numbers_are_those_that_would_have_been_drawn():
    def noisy(x):
        return x + np.random.normal(size=x.shape), np.random.uniform(size=3), x

    graph = dflow.graph(noisy)
    np.random.seed(7)
    expected = [noisy(np.zeros(4)) for _ in range(4)]
    np.random.seed(7)
    for each in expected:
        equal(graph(np.zeros(4)), each)
    assert replays(graph)


# -- what cannot be replayed -----------------------------------------------------------------------

kept = {}


def keeps(x):
    kept["x"] = x + 1
    return x * 2


REFUSED = {
    "a value that decides": (lambda x: x + 1 if x.sum() > 0 else x, "a value is read"),
    "a mask": (lambda x: x[x > 1], "a value is read"),
    "a printed array": (lambda x: str(x) and x, "a value is read"),
    "a host task": (lambda x: dflow.submit(numpy.sort, x, shape=x.shape), "a Python function runs"),
    "a random number": (lambda x: x * np.random.normal(), "random number"),
    "an array kept elsewhere": (keeps, "kept elsewhere"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_replayed_runs_as_written(name):
    function, why = REFUSED[name]
    graph = dflow.graph(function)
    with pytest.warns(RuntimeWarning, match=why) as caught:
        for k in range(4):
            x = np.arange(3.0) + k
            np.random.seed(k)
            got = graph(x)
            np.random.seed(k)
            equal(got, function(x))
    kept.clear()
    assert graph.eager and len(caught) == 1
    assert "test_graphs.py" in str(caught[0].message) or name.endswith("elsewhere")


def test_the_warning_points_at_the_program():
    class Reads(nn.HybridBlock):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    net = nn.HybridSequential()
    net.add(Reads())
    net.hybridize()
    with pytest.warns(RuntimeWarning, match="is not replayed") as caught:
        for _ in range(3):
            net(np.ones(2))
    assert caught[0].filename == __file__


def test_numpy_arrays_as_arguments_are_not_taken_for_constants():
    graph = dflow.graph(lambda x, y: x + y)
    with pytest.warns(RuntimeWarning, match="NumPy array"):
        assert graph(np.ones(2), numpy.ones(2)).tolist() == [2, 2]
    assert graph(np.ones(2), numpy.zeros(2)).tolist() == [1, 1]


def test_an_error_in_the_function_is_its_error():
    graph = dflow.graph(lambda x: x + np.ones(3))
    for _ in range(2):
        with pytest.raises(ValueError, match="could not be broadcast"):
            graph(np.ones(2))
    assert graph(np.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="must be callable, not 3"):
        dflow.graph(3)


def test_errors_of_a_replay_name_the_line_in_the_function():
    @dflow.graph
    def inverse(x):
        return np.linalg.inv(x)                                 # this one

    line = inverse.function.__code__.co_firstlineno + 2
    inverse(np.eye(60))
    with configured(limit=0):
        bad = inverse(np.zeros((60, 60)))
        with pytest.raises(numpy.linalg.LinAlgError) as caught:
            bad.asnumpy()
    assert any(f"test_graphs.py:{line} in inverse" in note for note in caught.value.__notes__)


def test_errstate_counts_as_it_is_at_the_replay():
    graph = dflow.graph(lambda x: np.log(x))
    graph(np.ones(3))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        graph(np.zeros(3))
    with np.errstate(all="ignore"):
        assert graph(np.zeros(3)).tolist() == [-numpy.inf] * 3


def test_a_graph_in_a_graph_and_as_a_method():
    inner = dflow.graph(lambda x: x * 2)

    class Layer:
        def __init__(self, w):
            self.w = w

        @dflow.graph
        def __call__(self, x):
            return inner(x) + self.w

    layers = Layer(np.ones(2)), Layer(np.zeros(2))
    for _ in range(3):
        assert layers[0](np.ones(2)).tolist() == [3, 3] and layers[1](np.ones(2)).tolist() == [2, 2]
    assert replays(Layer.__call__, 2) and replays(inner, 0)


def test_memory_of_replays_is_given_back():
    graph = dflow.graph(lambda x: np.tanh(x * 2).sum(axis=0) + 1)
    x = np.ones((500, 500))
    graph(x)
    dflow.waitall()
    graph(x)
    dflow.waitall()
    start = dflow.engine.statistics()["bytes"]
    for _ in range(50):
        graph(x)
    dflow.waitall()
    assert dflow.engine.statistics()["bytes"] == start
    del graph
    gc.collect()
    assert dflow.engine.statistics()["bytes"] <= start


def test_threads_share_a_graph(any_engine):
    w = np.arange(6.0)
    graph = dflow.graph(lambda x: (x * w + 1, (x * w).sum()))

    def use(k):
        x = np.full(6, float(k))
        for _ in range(200):
            equal(graph(x), (x * w + 1, (x * w).sum()))

    in_threads(*(lambda k=k: use(k) for k in range(6)))


def test_threads_go_back_through_one_graph():
    w = np.arange(1.0, 5)
    w.attach_grad()
    graph = dflow.graph(lambda x: np.exp(x * w).sum())

    def use(k):
        x = np.full(4, k / 10)
        x.attach_grad()
        for _ in range(100):
            with autograd.record():
                out = graph(x)
            out.backward()
            numpy.testing.assert_allclose(x.grad.asnumpy(), (w * np.exp(x * w)).asnumpy(), 1e-14)

    in_threads(*(lambda k=k: use(k) for k in range(4)))


def test_another_thread_changes_the_shape_of_an_argument(any_engine):
    """The function sees the one shape or the other: never the program of one and the array of the other."""
    x, stop = np.arange(12.0), threading.Event()
    graph = dflow.graph(lambda x: x + x.sum(axis=0))
    expected = [(v + v.sum(axis=0)).reshape(-1).tolist() for v in (x.copy(), x.reshape(3, 4))]

    def turn():
        while not stop.is_set():
            x.shape = (3, 4)
            x.shape = (12,)

    def use():
        try:
            for _ in range(1000):
                try:
                    y = graph(x)
                except RuntimeError as error:  # if a collection of garbage lets the other one run within the call
                    assert "another shape by another thread" in str(error)
                    continue
                assert y.reshape(-1).tolist() == expected[y.ndim - 1]
        finally:
            stop.set()

    in_threads(turn, use)


def test_a_signal_handler_replays_what_it_interrupts():
    w = np.arange(1.0, 5)
    w.attach_grad()
    graph = dflow.graph(lambda x: np.exp(x * w).sum())
    calls = []

    def step(k):
        x = np.full(4, k / 100)
        x.attach_grad()
        with autograd.record():
            out = graph(x)
        out.backward()
        numpy.testing.assert_allclose(x.grad.asnumpy(), (w * np.exp(x * w)).asnumpy(), 1e-14)

    def handler(number, frame):
        calls.append(number)
        step(len(calls) % 50)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for k in range(1500):
            signal.setitimer(signal.ITIMER_REAL, 1e-5 + k % 30 * 1e-5)
            step(k % 70)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(calls) > 10


def test_a_fork_while_another_thread_notes():
    """In the child nobody notes, nor records: it takes the short ways, and its own functions are replayed."""
    inside, go_on = threading.Event(), threading.Event()

    def note():
        @dflow.graph
        def slow(x):
            inside.set()
            assert go_on.wait(HANG)
            return x + 1

        with autograd.record():
            slow(np.ones(3))

    def fork():
        assert inside.wait(HANG)
        child = os.fork()
        if child == 0:
            graph = dflow.graph(lambda x: x * 2)
            before = dflow.engine.statistics()["inline"]
            good = graph(np.ones(2)).tolist() == graph(np.ones(2)).tolist() == [2, 2] and replays(graph)
            os._exit(0 if good and dflow.engine.statistics()["inline"] > before else 1)
        go_on.set()
        assert os.waitpid(child, 0)[1] == 0

    in_threads(note, fork)


def test_other_threads_work_while_one_notes():
    """They take the long way meanwhile, and what they launch is not noted."""
    stop = threading.Event()

    def others():
        x = np.zeros(4)
        while not stop.is_set():
            x += 1
            y = x * 2
            assert (y == x * 2).all()

    def note():
        for k in range(200):
            graph = dflow.graph(lambda x: x * 3 - 1)
            for _ in range(2):
                assert graph(np.full(3, float(k))).tolist() == [3 * k - 1] * 3
            assert replays(graph)
        stop.set()

    in_threads(note, others, others)


def test_a_pending_argument_stays_pending():
    graph = dflow.graph(lambda x: (x + 1) * 2)
    graph(np.zeros(2))
    with configured(workers=2), Gate() as gate:
        held = gate.hold(np.ones(2))
        result = graph(held)
        assert not result.is_ready()
        gate.open()
        assert result.tolist() == [4, 4]


# -- gradients -------------------------------------------------------------------------------------

def gradients(function, arrays, leaves):
    for x in leaves:
        x.zero_grad()
    with autograd.record():
        out = flat(function(*arrays))
        loss = sum((x * x).sum() for x in out if x.dtype.kind == "f")
    loss.backward()
    return [x.grad.copy() for x in leaves]


@pytest.mark.parametrize("name", ["elementwise", "reductions", "products", "shapes", "indices", "types", "linalg",
                                  "wide", "network"])
@pytest.mark.parametrize("of", ["argument", "computed", "constant"])
def test_gradients_of_replays(any_engine, name, of):
    function, w = FUNCTIONS[name], np.array(numpy.random.default_rng(1).normal(size=(4, 5)))
    x = np.array(numpy.random.default_rng(2).normal(size=(4, 5)))
    x.attach_grad()
    w.attach_grad()

    def plain(x):
        with np.errstate(all="ignore"):
            return function(np.tanh(x) * w)

    graph = dflow.graph(plain)
    given = {"argument": lambda f: f(x), "computed": lambda f: f(x * 2 + 1), "constant": lambda f: f(x.detach())}[of]
    leaves = [w] if of == "constant" else [x, w]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numpy.exceptions.ComplexWarning)
        expected = gradients(lambda: given(plain), (), leaves)
        for _ in range(3):
            equal(gradients(lambda: given(graph), (), leaves), expected)
    assert dflow.engine.naive() or replays(graph)


def test_what_is_noted_does_not_wait_to_warn():
    graph = dflow.graph(lambda x: (1 / x).sum())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert graph(np.zeros(1000)).item() == numpy.inf
    assert {str(w.message) for w in caught} == {"divide by zero encountered in divide"} and replays(graph)


def test_gradients_that_are_added_and_ways_back_in_any_order():
    w = np.ones(3)
    w.attach_grad("add")
    graph = dflow.graph(lambda x: x * w)
    for _ in range(2):
        with autograd.record():
            a, b = graph(np.full(3, 2.0)).sum(), graph(np.full(3, 5.0)).sum()
        a.backward()
        b.backward()
    assert w.grad.tolist() == [14, 14, 14]
    with autograd.record():
        a, b = graph(np.full(3, 2.0)).sum(), graph(np.full(3, 5.0)).sum()
    w.zero_grad()
    b.backward()
    assert w.grad.tolist() == [5, 5, 5]
    a.backward()
    assert w.grad.tolist() == [7, 7, 7]


def test_a_gradient_that_is_attached_again():
    w = np.ones(2)
    graph = dflow.graph(lambda x: x * w)
    for _ in range(3):
        w.attach_grad()
        for k in (1.0, 2.0):
            with autograd.record():
                out = graph(np.full(2, k))
            out.backward()
            assert w.grad.tolist() == [k, k]


def test_some_of_several_results_have_gradients():
    w = np.arange(1.0, 4)
    w.attach_grad()
    graph = dflow.graph(lambda x: (x * w, x + 1, w * w, (x > 0)))
    for _ in range(3):
        with autograd.record():
            a, _, c, _ = graph(np.ones(3))
        a.backward()
        assert w.grad.tolist() == [1, 1, 1]
        with autograd.record():
            a, _, c, _ = graph(np.ones(3))
            loss = (c * 2).sum() + a.sum()
        loss.backward()
        assert w.grad.tolist() == [5, 9, 13]


def test_gradients_of_gradients():
    x = np.array([0.3, 0.5])
    x.attach_grad()
    graph = dflow.graph(lambda x: np.sin(x) * x)
    for _ in range(3):
        with autograd.record():
            first = autograd.grad(graph(x), x, create_graph=True)[0]
            total = first.sum()
        total.backward()
        v = x.asnumpy()
        numpy.testing.assert_allclose(x.grad.asnumpy(), 2 * numpy.cos(v) - v * numpy.sin(v))


@pytest.mark.parametrize("function", [
    lambda x: x.__imul__(2), lambda x: x[1:].__iadd__(1), lambda x: x.__setitem__(0, 7) or x * 1])
def test_an_argument_with_a_gradient_is_not_written_to(function):
    graph, x = dflow.graph(function), np.ones(3)
    graph(x)
    before = x.tolist()
    x.attach_grad()
    for _ in range(3):
        with autograd.record(), pytest.raises(ValueError, match="an array with a gradient cannot be written to"):
            graph(x)
    assert x.tolist() == before and x.grad.tolist() == [0, 0, 0]


def test_what_was_written_to_since_is_an_error():
    w = np.ones(3)
    w.attach_grad()
    graph = dflow.graph(lambda x: np.exp(x * w))
    for _ in range(3):
        x = np.ones(3)
        with autograd.record():
            out = graph(x)
        x += 1
        with pytest.raises(ValueError, match="written to since"):
            out.backward()
    with autograd.record():
        out = graph(np.ones(3))
    out.backward(retain_graph=True)
    out.backward()
    with pytest.raises(ValueError, match="freed"):
        out.backward()


def test_a_whole_training_step(any_engine):
    """With the record, the way back and the update inside."""
    def make():
        w = np.array([0.5, -0.5, 1.0])
        w.attach_grad()

        def step(x, y):
            with autograd.record():
                loss = ((x @ w - y) ** 2).mean()
            loss.backward()
            w[...] = w - 0.1 * w.grad
            return loss
        return w, step

    rng = numpy.random.default_rng(0)
    (v, plain), (w, step) = make(), make()
    graph = dflow.graph(step)
    for _ in range(5):
        x, y = np.array(rng.normal(size=(8, 3))), np.array(rng.normal(size=8))
        equal(graph(x, y), plain(x, y))
        equal([w, w.grad], [v, v.grad])
    assert dflow.engine.naive() or replays(graph)


def test_recorded_arrays_from_outside_are_to_be_arguments():
    x = np.ones(2)
    x.attach_grad()
    graph = None
    with autograd.record():
        y = x * 2
        graph = dflow.graph(lambda z: z * y)
        with pytest.warns(RuntimeWarning, match="is no argument"):
            out = graph(x)
    out.backward()
    assert x.grad.tolist() == [4, 4]


# -- hybridize() -----------------------------------------------------------------------------------

@pytest.fixture
def mxnet():
    npx.set_np()
    yield
    npx.reset_np()


def convolutions():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2), nn.Flatten(), nn.Dropout(0.3),
            nn.Dense(3))
    return net


def train(hybrid, steps=4, make=convolutions, optimizer="adam"):
    np.random.seed(3)
    net = make()
    net.initialize(dflow.init.Xavier())
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    if hybrid:
        net.hybridize(static_alloc=True)
        loss.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer)
    data = numpy.random.default_rng(0)
    losses = []
    for _ in range(steps):
        x, y = np.array(data.normal(size=(6, 1, 8, 8))), np.array(data.integers(0, 3, 6))
        with autograd.record():
            out = loss(net(x), y)
        out.backward()
        trainer.step(6)
        losses.append(out)
    return net, losses + [net(x)] + [p.data() for p in net.collect_params().values()]


def test_a_hybridized_network_trains_to_the_same_bits(mxnet):
    (_, plain), (net, replayed) = train(False), train(True)
    equal(plain, replayed)
    assert "2 noted" in repr(net._run)                        # training, and not


def test_parameters_that_change_are_noted_anew(mxnet):
    net, x = nn.HybridSequential(), np.ones((2, 3))
    net.add(nn.Dense(2, use_bias=False))
    net.initialize(dflow.init.One())
    net.hybridize()
    for _ in range(3):
        assert net(x).tolist() == [[3, 3], [3, 3]]
    net[0].weight.set_data(np.full((2, 3), 2.0))
    assert net(x).tolist() == [[6, 6], [6, 6]]
    net.initialize(dflow.init.Constant(3), force_reinit=True)
    assert net(x).tolist() == net(x).tolist() == [[9, 9], [9, 9]]
    net.cast("float64")
    assert net(x.astype("float64")).dtype == "float64"
    net.add(nn.Dense(1, use_bias=False))
    net[1].initialize(dflow.init.One())
    assert net(x.astype("float64")).shape == net(x.astype("float64")).shape == (2, 1)
    other = copy.deepcopy(net)
    equal(other(x.astype("float64")), net(x.astype("float64")))
    net.hybridize(False)
    assert net(x.astype("float64")).shape == (2, 1) and "_run" not in vars(net)


def test_hooks_of_a_hybridized_block_are_called(mxnet):
    net, seen = nn.HybridSequential(), []
    net.add(nn.Dense(2))
    net.initialize()
    net.hybridize()
    with net.register_forward_hook(lambda block, inputs, out: seen.append(out.shape)):
        for _ in range(3):
            net(np.ones((4, 3)))
    assert seen == [(4, 2)] * 3


def test_a_step_of_the_trainer_is_not_for_replay(mxnet):
    net, x = nn.Dense(1), np.ones((2, 3))
    net.initialize(dflow.init.Zero())
    trainer = gluon.Trainer(net.collect_params(), "adam")

    @dflow.graph
    def step(x):
        with autograd.record():
            loss = (net(x) - 1) ** 2
        loss.backward()
        trainer.step(2)
        return loss

    net(x)
    with pytest.warns(RuntimeWarning, match=r"Trainer.step\(\) counts"):
        losses = [step(x).mean().item() for _ in range(4)]
    assert losses == sorted(losses, reverse=True) and trainer.optimizer.num_update == 4


@pytest.mark.parametrize("kind", ["int64", "int32", "float32"])
def test_networks_with_embeddings_are_replayed(mxnet, kind):
    """Nobody looks at the indices: those out of bounds are the nearest."""
    net = nn.HybridSequential()
    net.add(nn.Embedding(7, 3), nn.Dense(2, flatten=False))
    net.initialize()
    indices = np.array([[1, 2, 6], [2, 2, 9]], kind)
    net(indices)
    found = []
    for hybrid in (False, True, True):
        net.hybridize(hybrid)
        with autograd.record():
            net(indices)
            loss = (net(indices) ** 2).sum()
        loss.backward()
        found.append([p.grad().copy() for p in net.collect_params().values()])
    equal(found[1], found[0])
    equal(found[2], found[0])
    assert replays(net._run)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_gradients_of_take_without_a_look_at_the_indices(mode, axis):
    x = np.array(numpy.random.default_rng(0).normal(size=(3, 4, 2)))
    x.attach_grad()
    with configured(workers=2), Gate() as gate:
        indices = gate.hold(np.array([[0, 5], [-3, 1]]))
        with autograd.record():
            out = np.take(x, indices, axis, mode=mode)
        out.backward(out.detach())
        assert not x.grad.is_ready()
        gate.open()
        inside = numpy.array([[0, 5], [-3, 1]])
        n = x.size if axis is None else x.shape[axis]
        inside = inside % n if mode == "wrap" else inside.clip(0, n - 1)
        expected = numpy.zeros(x.size if axis is None else x.shape)
        where = (slice(None),) * (0 if axis is None else axis % 3) + (inside,)
        numpy.add.at(expected, where, out.asnumpy())
        numpy.testing.assert_allclose(x.grad.asnumpy(), expected.reshape(x.shape))


def test_a_replay_waits_for_the_columns_that_it_reads():
    """And for no others: what was noted was over columns elsewhere."""
    with configured(workers=2, limit=0), Gate() as gate:
        double = dflow.graph(lambda x: x * 2)
        x = np.zeros((5, 4))
        for k in (0, 1):
            assert double(x[:, k]).tolist() == [0] * 5
        assert replays(double)
        x[:, 2] = gate.hold(np.ones(5))
        other, held = double(x[:, 1]), double(x[:, 2])
        assert other.tolist() == [0] * 5 and not held.is_ready()
        gate.open()
        assert held.tolist() == [2] * 5 and replays(double)
