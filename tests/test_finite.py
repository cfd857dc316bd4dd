"""engine.check_finite(): the first operation that makes a nan or an infinity raises; and nothing else does."""

import warnings

import numpy
import pytest
from engines import configured, in_threads
from programs import execute, generate
from scipy import special
from test_process import run  # noqa: F401  # the fixture

import dflow
import dflow.numpy as np
from dflow import autograd, engine, gluon, npx

pytestmark = pytest.mark.core

LARGE = 400_000                 # elements: a task, not a call


@pytest.fixture
def checked():
    before = engine.check_finite(True)
    yield
    engine.check_finite(before)


MAKES = {
    "divide": lambda n: np.ones(n) / np.zeros(n),
    "by a number": lambda n: np.ones(n) / 0,
    "in place": lambda n: np.ones(n).__itruediv__(np.zeros(n)),
    "log": lambda n: np.log(np.zeros(n)),
    "sqrt": lambda n: np.sqrt(-np.ones(n)),
    "exp": lambda n: np.exp(np.full(n, 1000.0)),
    "power": lambda n: np.full(n, 1e300) ** 2,
    "sum": lambda n: np.full(n + 1, 1e308).sum(),
    "row sums": lambda n: np.full((2, n + 1), 1e308).sum(axis=1),
    "cumsum": lambda n: np.full(n + 1, 1e308).cumsum(),
    "product": lambda n: np.full((3, n), 1e200) @ np.full((n, 2), 1e200),
    "vectors": lambda n: np.full(n, 1e200) @ np.full(n, 1e200),
    "cast": lambda n: np.full(n, 1e300).astype("f4"),
    "convolve": lambda n: np.convolve(np.full(n + 5, 1e200), np.full(4, 1e200)),
    "out": lambda n: np.log(np.zeros(n), out=np.zeros(n)),
    "where": lambda n: np.log(np.zeros(n), out=np.zeros(n), where=np.ones(n, bool)),
    "fused": lambda n: np.log(np.ones(n) * 2 - 2) + 1,
    "mean of none": lambda n: np.ones((n, 0)).mean(axis=1),
    "softmax's parts": lambda n: npx.softmax(np.ones(n)) / (np.ones(n) - 1),
    "numpy's function": lambda n: np.corrcoef(np.ones((2, n + 2))),
    "a host task": lambda n: dflow.submit(special.gammaln, np.zeros(n), shape=(n,)),
    "numpy in a host task": lambda n: dflow.submit(lambda x: numpy.log(x), np.zeros(n), shape=(n,)),
    "a function of rows": lambda n: np.apply_along_axis(lambda row: row / (row - row), 0, np.ones((3, min(n, 50)))),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n", [1, 300, LARGE])
@pytest.mark.parametrize("name", MAKES)
def test_what_makes_one_raises(name, n, checked):
    with pytest.raises(FloatingPointError, match=r"encountered in|a nan or an infinity, of finite values"):
        MAKES[name](n).wait_to_read()
    dflow.waitall()


@pytest.mark.parametrize("name", ["divide", "exp", "sum", "product", "a host task"])
def test_off_it_only_warns(name):
    assert engine.check_finite() is False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = MAKES[name](1000).asnumpy()
    assert not numpy.isfinite(found).any()


def test_elements(checked):
    x = np.array([1.0, 0.0])
    for f in (lambda: x[0] / x[1], lambda: x[0] / 0, lambda: 1 / x[1], lambda: x[1] % x[1],
              lambda: np.float32(3e38) * np.array([3e38], "f4")[0]):
        with pytest.raises(FloatingPointError):
            f()


def test_it_names_the_line_and_nothing_else_is_told(checked):
    x = np.zeros(LARGE)
    y = x + 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FloatingPointError, match="^divide by zero encountered in log$") as raised:
            y = np.log(x)
            raise AssertionError("too late")
        dflow.waitall()
    assert raised.traceback[0].lineno + 1 == raised.tb.tb_lineno and y.sum().item() == LARGE


@pytest.mark.parametrize("n", [3, LARGE])
def test_what_is_given_may_be_anything(n, checked):
    nan, inf = np.full(n, np.nan), np.full(n, np.inf)
    for y in (nan + 1, inf * 2, np.maximum(inf, 1), np.sqrt(inf), nan @ np.ones(n), np.where(nan > 0, inf, nan),
              -inf, inf.sum(), np.isnan(nan), nan.astype("f4"), np.sort(nan), np.exp(-inf), 1 / inf,
              dflow.submit(numpy.cumsum, inf, shape=(n,))):
        y.wait_to_read()
    assert np.nan_to_num(inf).max().item() == numpy.finfo(float).max
    assert np.exp(np.full(n, -1000.0)).sum().item() == 0        # an underflow


def test_errstate_does_not_count(checked):
    for mode in ("ignore", "warn", "print"):
        with np.errstate(all=mode), pytest.raises(FloatingPointError):
            np.log(np.zeros(3))
    with numpy.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        np.full(3, 1e-200) * 1e-200


def test_all_threads(checked):
    def work():
        for n in (1, LARGE):
            with pytest.raises(FloatingPointError):
                np.log(np.zeros(n)).wait_to_read()

    in_threads(work, work)


def test_a_training_step(checked):
    np.random.seed(0)
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.Dense(3))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    x, y = np.random.normal(size=(8, 1, 9, 9)), np.arange(8) % 3

    def step(x):
        with autograd.record():
            found = loss(net(x), y)
        found.backward()
        trainer.step(8)
        return found.mean().item()

    first = step(x)
    assert [step(x) for _ in range(5)][-1] < first
    net[0].weight.set_data(np.full((4, 1, 3, 3), 10, "f4"))
    with pytest.raises(FloatingPointError, match="overflow encountered in convolution"):
        net[0](np.full((8, 1, 9, 9), 3e38, "f4"))


def test_graphs_and_switching():
    f = dflow.graph(lambda x: np.log(x) * 2)
    x = np.ones(LARGE)
    for _ in range(3):
        assert f(x).sum().item() == 0
    assert engine.check_finite(True) is False and engine.check_finite() is True
    try:
        assert f(x).sum().item() == 0
        with pytest.raises(FloatingPointError):
            f(x - 1).wait_to_read()
    finally:
        assert engine.check_finite(False) is True
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        assert f(x - 1)[0].item() == -numpy.inf


def arrays(variables):
    return {name: numpy.asarray(x) for name, x in variables.items() if isinstance(x, dflow.ndarray | numpy.ndarray)}


@pytest.mark.parametrize("limit", [0, 2000])
def test_the_same_results(limit):
    """Random programs, which make none, give what they give without it."""
    for seed in range(150):
        program = generate(seed)
        with configured(limit=limit):
            before = engine.check_finite(True)
            try:
                found = arrays(execute(program, np))
            finally:
                engine.check_finite(before)
        for name, value in arrays(execute(program, numpy)).items():
            numpy.testing.assert_array_equal(found[name], value, err_msg=f"{name} of program {seed}")


FUNCTIONS = """add subtract multiply divide floor_divide remainder power hypot arctan2 logaddexp fmod exp exp2 expm1
    log log2 log10 log1p sqrt cbrt sin tan arcsin arccosh arctanh sinh cosh square reciprocal""".split()


@pytest.mark.parametrize("limit", [0, 2000])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_it_raises_where_numpy_told_to_raises(dtype, limit, checked):
    rng = numpy.random.default_rng(5)
    raised = ran = 0
    with configured(limit=limit):
        engine.check_finite(True)
        for _ in range(400):
            name = rng.choice(FUNCTIONS)
            n = int(10 ** rng.uniform(0, 4.5))
            large = 10 ** rng.uniform(0, 40 if dtype == "f4" else 300)
            given = [(rng.uniform(-0.1 if rng.random() < 0.3 else 0.1, 1, n) * min(large, 1e38)).astype(dtype)
                     for _ in range(getattr(numpy, name).nin)]
            if rng.random() < 0.2:
                given[-1][rng.integers(n)] = 0
            try:
                with numpy.errstate(divide="raise", over="raise", invalid="raise"):
                    expected = getattr(numpy, name)(*given)
            except FloatingPointError:
                with pytest.raises(FloatingPointError):
                    getattr(np, name)(*map(np.array, given)).wait_to_read()
                raised += 1
            except TypeError:                   # not of complex numbers
                continue
            else:
                assert numpy.array_equal(getattr(np, name)(*map(np.array, given)).asnumpy(), expected, equal_nan=True)
                ran += 1
    assert raised > 30 and ran > 30


def test_the_environment(run):                              # noqa: F811
    code, out, errors = run("import dflow.numpy as np, dflow; print(dflow.engine.check_finite()); np.log(np.zeros(3))",
                            before="", DFLOW_CHECK_FINITE="1")
    assert (code, out) == (1, "True\n") and "FloatingPointError: divide by zero encountered in log" in errors
    assert "must be unset, 0 or 1, not 'on'" in run("import dflow", before="", DFLOW_CHECK_FINITE="on")[2]
