"""npx.set_np(): MXNet's default type, and what else is as in MXNet after it."""

import subprocess
import sys
import textwrap

import numpy
import pytest

import dflow
import dflow.numpy as np
from dflow import autograd, gluon, npx
from dflow.ops import defaults, sorting


@pytest.fixture
def single():
    npx.set_np()
    yield
    npx.reset_np()


SINGLE = ["np.array([1, 2])", "np.array(1)", "np.array([True])", "np.array(numpy.ones(2))", "np.asarray([0.5])",
          "np.array([np.arange(2)[0], 1])", "np.zeros(2)", "np.ones((2, 3))", "np.empty(2)", "np.full(2, 7)",
          "np.eye(3)", "np.identity(2)", "np.tri(2)", "np.arange(3)", "np.arange(0, 1, 0.1)", "np.linspace(0, 1, 3)",
          "np.linspace(0, 1, 3, retstep=True)[0]", "np.random.normal(size=3)", "np.random.normal(0, 1, (2, 2))",
          "np.random.uniform(size=3, ctx=npx.cpu())", "np.random.rand(2)", "np.random.randn(2, 3)",
          "np.random.gamma(2.0, size=3)", "np.ones(2, ctx=npx.cpu())", "np.arange(2, device=npx.cpu(0))",
          "np.array([1.5], ctx=npx.cpu())", "np.ones(2) * 2 + 1", "np.zeros(2, dtype=None)"]
KEPT = {"np.array([1, 2], int)": int, "np.array([1], dtype='f8')": float, "np.zeros(2, float)": float,
        "np.array(numpy.arange(2))": int, "np.array(numpy.ones(2, 'f2'))": "f2", "np.ones(2, dtype=int)": int,
        "np.arange(3, dtype='i4')": "i4", "np.array(np.ones(2, 'f8'))": float, "np.array([1j])": complex,
        "np.random.randint(0, 5, 3)": int, "np.random.normal(size=2, dtype='f8')": float, "np.full(2, 1, int)": int,
        "np.full(2, numpy.int16(3))": "i2", "np.ones_like(np.ones(2, int))": int}


@pytest.mark.parametrize("text", SINGLE)
def test_set_np_makes_float32(single, text):
    assert eval(text).dtype == numpy.float32


@pytest.mark.parametrize("text, dtype", KEPT.items())
def test_set_np_keeps_what_is_asked_for(single, text, dtype):
    assert eval(text).dtype == dtype


def test_the_switch():
    """It holds for functions that were imported before, too."""
    ones, normal, uniform, rand = np.ones, np.random.normal, np.random.uniform, np.random.ranf
    assert (npx.is_np_shape(), npx.is_np_array(), npx.is_np_default_dtype()) == (False, False, True)
    npx.set_np()
    assert (npx.is_np_shape(), npx.is_np_array(), npx.is_np_default_dtype()) == (True, True, False)
    made = [ones(2, ctx=npx.cpu()), normal(size=2, device=npx.cpu()), uniform(), rand(3), np.random.ranf()]
    assert all(x.dtype == numpy.float32 for x in made) and np.ones is ones
    assert np.ones_like(made[0], ctx=npx.cpu()).dtype == numpy.float32
    assert np.random.randint(0, 5, 3, ctx=npx.cpu()).dtype == int
    assert np.random.RandomState(0).normal(size=2).dtype == np.random.default_rng(0).normal(size=2).dtype == float
    npx.set_np(dtype=True)
    assert npx.is_np_array() and npx.is_np_default_dtype() and ones(2).dtype == normal(size=2).dtype == float
    npx.set_np()
    npx.reset_np()
    assert np.ones is ones and np.array([1]).dtype == int and not npx.is_np_array() and ones(2).dtype == float
    with pytest.raises(TypeError, match="ctx"):
        ones(2, ctx=npx.cpu())
    with pytest.raises(ValueError, match="shape must be True"):
        npx.set_np(shape=False)


def test_a_module_loaded_later_leaves_what_a_program_put_into_others(monkeypatch):
    monkeypatch.setattr(np, "asarray", len)
    defaults.follow({}, defaults.MADE)
    assert np.asarray is len


def test_float32_from_the_same_stream(single):
    npx.seed(3)
    x = np.random.normal(size=5)
    npx.reset_np()
    npx.seed(3)
    assert (np.random.normal(size=5).astype("f4") == x).all()


def test_set_np_takes_what_mxnet_does(single):
    x = np.array([[1, 2, 3], [4, 5, 6]])
    assert x.sum(axis=[0, 1]).item() == 21
    assert x.mean(axis=[0]).tolist() == [2.5, 3.5, 4.5]
    assert (float(x[:1, :1]), int(x[1:, 2:])) == (1.0, 6)
    y = np.ones((1, 1))
    y.attach_grad()
    with autograd.record():
        x[0, 1] = y
        x[1][0] = y * 3
        z = (x * x).sum()
    z.backward()
    assert x.tolist() == [[1, 1, 3], [3, 5, 6]] and y.grad.tolist() == [[2 * 1 + 2 * 9]]
    for draw, dtype in ((np.random.normal(), "f4"), (np.random.uniform(dtype="f8"), "f8"), (np.random.randint(5), int),
                        (np.random.choice(3), int), (np.random.gamma(2.0, dtype="f2"), "f2")):
        assert isinstance(draw, np.ndarray) and draw.shape == () and draw.dtype == dtype
    found, step = np.linspace(0, 1, 4, retstep=True)
    assert found.dtype == numpy.float32 and step == 1 / 3
    whole, x = np.array([4, 2], "i4"), np.array([4, 2], "f8")
    assert np.power(whole, 2).dtype == "i4" and np.power(x, whole).dtype == float and np.power(whole, x).dtype == float


def test_chances_of_single_precision(single):
    """Whose sum is 1 but for rounding. NumPy takes them for float64, and the sum to be above 1."""
    p = np.array([[0.4, 0.3, 0.2, 0.1, 0.0], [0.1, 0.2, 0.3, 0.4, 0.0]])
    assert float(p[0].astype("f8").sum()) > 1
    counts = np.random.multinomial(10000, p[0], size=3)
    assert counts.shape == (3, 5) and (counts.sum(1) == 10000).all() and (abs(counts / 10000 - p[0]) < 0.1).all()
    with pytest.raises(ValueError, match="pvals"):
        np.random.multinomial(10, p[0] * 1.01).wait_to_read()
    with dflow.np_array(False), pytest.raises(ValueError, match="pvals"):
        np.random.multinomial(10, p[0]).wait_to_read()


def test_lengths_that_stay():
    """-2 in a shape that is broadcast to: the length of this axis; NumPy's shapes have no negative numbers."""
    x = np.arange(12).reshape(3, 4)
    npx.set_np()
    try:
        assert np.broadcast_to(x, (2, -2, 4)).tolist() == [x.tolist()] * 2 and np.broadcast_to(x[0], -2).shape == (4,)
        assert np.broadcast_to(x[:, None], (1, 0, -2, 2, -2)).shape == (1, 0, 3, 2, 4)
        for shape in ((-2, 3, 4), (-1, 4), (-2, 5)):
            with pytest.raises(ValueError, match="broadcast"):
                np.broadcast_to(x, shape)
        with pytest.raises(ValueError):
            np.broadcast_to(x, -2)
    finally:
        npx.reset_np()
    with pytest.raises(ValueError, match="must be non-negative"):
        np.broadcast_to(x, (-2, 4))


def test_orders_of_norms_by_name():
    x = np.array([[[1.0, -2.0], [3.0, 4.0], [0.0, 5.0]]])
    for axis in (1, (0, 2), (-1, 1)):
        for name, order in (("inf", np.inf), ("-inf", -np.inf)):
            expected = np.linalg.norm(x, order, axis, True).tolist()
            npx.set_np()
            try:
                assert np.linalg.norm(x, name, axis, True).tolist() == expected
            finally:
                npx.reset_np()
            with pytest.raises(ValueError, match="(?i)invalid norm order"):
                np.linalg.norm(x, name, axis)


def test_float32_is_not_mentioned(single):
    shown = {"np.ones((1, 2)) * 3": "array([[3., 3.]])", "np.ones(3).sum()": "array(3.)", "np.zeros((0, 2))":
             "array([], shape=(0, 2))", "np.ones(2, 'f8')": "array([1., 1.], dtype=float64)",
             "np.arange(2, dtype=int)": "array([0, 1])", "np.ones(2, 'f2')": "array([1., 1.], dtype=float16)",
             "np.zeros(0, 'f8')": "array([], dtype=float64)", "np.ones(2) > 0": "array([ True,  True])"}
    assert {text: repr(eval(text)) for text in shown} == shown
    npx.reset_np()
    assert repr(np.ones(1, "f4")) == "array([1.], dtype=float32)" and repr(np.ones(1).sum()) == "np.float64(1.0)"


@pytest.mark.parametrize("text", [
    "i / 2", "2 / i", "i / j", "j[:1] / i", "np.sqrt(i)", "np.exp(i[:2])", "np.true_divide(i, i)", "np.arctan2(i, j)",
    "i / numpy.int32(3)", "(i > 1) / 2", "i[1] / 2", "j[1] / i[2]", "3 / i[3]", "i[3] / numpy.int64(2)"])
def test_functions_of_whole_numbers(text):
    """Float32 after set_np(), NumPy's float64 before and afterwards; with dtype= what is asked for."""
    i, j = numpy.arange(1, 7), numpy.arange(1, 7, dtype="i4")
    expected = eval(text, {"np": numpy, "numpy": numpy, "i": i, "j": j})
    ours = {"np": np, "numpy": numpy, "i": np.array(i), "j": np.array(j)}
    for switch, dtype in [(npx.reset_np, float), (npx.set_np, numpy.float32), (npx.reset_np, float)]:
        switch()
        for _ in range(2):
            result = eval(text, ours)
            assert result.dtype == dtype
            numpy.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6 if dtype == numpy.float32 else 1e-15)


def test_functions_of_whole_numbers_that_are_asked_for_a_type(single):
    i = np.arange(3, dtype=int)
    assert (i / np.array(2.0, dtype=float)).dtype == np.true_divide(i, 2, dtype=float).dtype == float
    assert (i // 2).dtype == int and (i > 1).dtype == bool and np.float_power(i, 2).dtype == float


def test_numbers_in_an_array_of_objects(single):
    x = np.array(numpy.array([1, 2.5, True], dtype=object))
    assert x.dtype == "float32" and x.tolist() == [1, 2.5, 1]
    assert np.array(numpy.array([1, 2], dtype=object), dtype=int).dtype == int


def test_labels_are_indices_after_set_np(single):
    x, y = np.array([[1, 2, 3], [4, 5, 6]]), np.array([0, 2])
    assert y.dtype == numpy.float32
    assert x[[0, 1], y].tolist() == [1, 6] and x[:, y].tolist() == [[1, 3], [4, 6]]
    x[[0, 1], y] = 0
    assert x.tolist() == [[0, 2, 3], [4, 5, 0]] and x[y[:1]].tolist() == [[0, 2, 3]]
    with pytest.raises(IndexError, match="index 2 is out of bounds"):
        x[y].wait_to_read()
    for bad in (y + 0.5, np.full(2, numpy.nan), np.full(2, numpy.inf)):
        with pytest.raises(IndexError, match="must be of integer"):
            x[[0, 1], bad]


def test_gradients_at_labels(single):
    x, y = np.array([[1, 2, 3], [4, 5, 6]]), np.array([0, 2])
    x.attach_grad()
    for key, expected in ((([0, 1], y), [[1, 0, 0], [0, 0, 1]]), (y[:1], [[1] * 3, [0] * 3])):
        with autograd.record():
            z = x[key]
        z.backward()
        assert x.grad.tolist() == expected


def test_take_by_labels(single):
    x, y = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[2, 0]])
    x.attach_grad()
    with autograd.record():
        z = np.take(x, y, axis=1)
    z.backward()
    assert z.tolist() == [[[3, 1]], [[6, 4]]] and x.grad.tolist() == [[1, 0, 1]] * 2
    assert np.take(x, y + 5, mode="clip").tolist() == [[6, 6]]
    for mode in ("raise", "wrap"):
        with pytest.raises(IndexError, match="must be of integer"):
            np.take(x, y + 0.5, mode=mode)


def test_numpy_does_not():
    x = np.ones((2, 3))
    with pytest.raises(IndexError, match="arrays used as indices must be of integer"):
        x[[0, 1], np.zeros(2)]
    with pytest.raises((TypeError, ValueError), match="array"):
        x[0, 0] = np.ones((1, 1))
    with pytest.raises(TypeError, match="'list' object cannot be interpreted as an integer"):
        x.sum(axis=[0, 1])
    assert type(np.random.normal()) is float


def test_no_gpu_after_set_np(single):
    for make in (np.ones, np.array, np.random.normal):
        with pytest.raises(ValueError, match=r"gpu\(0\) does not exist: there are cpu\(0\) to cpu\(15\), and no GPU"):
            make(2, ctx=npx.gpu())
    with pytest.raises(ValueError, match="device_type must be one of 'cpu', .*, not 'tpu'"):
        npx.Device("tpu")


def from_largest(a, axis):
    """The indices that sort numbers from the largest on, NaN last."""
    return numpy.argsort(-a.astype(float), axis, kind="stable")


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u1", "?"])
@pytest.mark.parametrize("axis", [0, -1, None])
def test_sort_from_the_largest_on(single, dtype, axis):
    a = numpy.random.default_rng(0).integers(0, 6, (40, 30)).astype(dtype)      # many are equal
    if dtype[0] == "f":
        a[::5, ::3] = numpy.nan
    x, order = np.array(a, dtype), from_largest(a, axis)
    assert numpy.array_equal(np.argsort(x, axis, descending=True), order)
    assert numpy.array_equal(x.argsort(axis=axis, descending=True, stable=True), order)
    a = a.ravel() if axis is None else a
    expected = numpy.take_along_axis(a, order, axis or 0)
    result = np.sort(x, axis, descending=True)
    assert result.dtype == a.dtype and numpy.array_equal(result, expected, equal_nan=dtype[0] == "f")
    assert numpy.array_equal(np.sort(x, axis, descending=False), numpy.sort(a, axis or 0), equal_nan=dtype[0] == "f")


def test_sort_from_the_largest_on_what_is_small_or_wrong(single):
    assert np.argsort(np.array(3.0), descending=True).tolist() == [0]
    assert np.sort(np.zeros((2, 0, 3)), 1, descending=True).shape == (2, 0, 3)
    with pytest.raises(numpy.exceptions.AxisError):
        np.sort(np.ones(3), 1, descending=True)
    x = np.array([2.0, 3.0, 1.0])
    with autograd.record():
        x.attach_grad()
        y = (np.sort(x, descending=True) * np.array([1.0, 10.0, 100.0])).sum()
    y.backward()
    assert x.grad.tolist() == [10, 1, 100]


@pytest.mark.skipif(sorting.DESCENDS, reason="NumPy 2.5 has it")
def test_sort_from_the_largest_on_is_mxnets():
    for function in (np.sort, np.argsort):
        with pytest.raises(TypeError, match="descending"):
            function(np.ones(3), descending=True)


WHOLE = {
    "x.T": [[1] * 3] * 2, "np.concatenate([x, x * 3])": [[4] * 3] * 2, "x[0, ::-1]": [[1] * 3, [0] * 3],
    "np.split(x, 3, axis=1)[1]": [[0, 1, 0]] * 2, "x * x": [[2, 4, 6], [8, 10, 12]], "x.sum()": [[1] * 3] * 2,
    "np.where(x > 2, x, 0)": [[0, 0, 1], [1] * 3], "x * 2.5": [[2] * 3] * 2,
    "np.broadcast_to(x[0], (4, 3))": [[4] * 3, [0] * 3],
    "x.astype('float32')": [[1] * 3] * 2, "np.roll(x, 1)": [[1] * 3] * 2, "np.diagonal(x)": [[1, 0, 0], [0, 1, 0]]}


@pytest.mark.parametrize("text", WHOLE)
@pytest.mark.parametrize("dtype", ["int32", "int8"])
def test_gradients_of_whole_numbers(single, text, dtype):
    """Through what moves them, and what they are computed from, as in MXNet; in their own type."""
    x = np.array([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    x.attach_grad()
    with autograd.record():
        y = eval(text, {"np": np, "x": x})
    y.backward()
    assert x.grad.dtype == dtype and x.grad.tolist() == WHOLE[text]


@pytest.mark.parametrize("function", [lambda i, x: i > 1, lambda i, x: np.argmax(x), lambda i, x: x.astype("int32"),
                                      lambda i, x: np.argsort(i), lambda i, x: np.floor(x), lambda i, x: i // 2])
def test_what_still_has_zero_gradients(single, function):
    i, x = np.array([1, 2, 3], dtype="int32"), np.array([1.0, 2, 3])
    for a in (i, x):
        a.attach_grad()
        a.grad[...] = 7
    with autograd.record():
        y, z = function(i * 1, x * 1), (x * 0).sum() + (i * 0).sum()
    autograd.backward([y, z])
    assert i.grad.tolist() == [0] * 3 and x.grad.tolist() == [0] * 3


@pytest.mark.parametrize("text, expected", [
    ("np.concatenate([b, c])", [1, 1, 1]), ("b[::2]", [1, 0, 1]), ("np.expand_dims(b, 1)", [1, 1, 1]),
    ("b & c", [0, 0, 0]), ("b == c", [0, 0, 0]), ("~b", [0, 0, 0]), ("b.astype(int) > 0", [0, 0, 0])])
def test_gradients_of_booleans(single, text, expected):
    """Through what moves them, as in MXNet."""
    b, c = np.array([True, False, True], dtype=bool), np.array([True, True, False], dtype=bool)
    b.attach_grad()
    with autograd.record():
        y = eval(text, {"np": np, "b": b, "c": c})
    y.backward()
    assert b.grad.dtype == bool and b.grad.tolist() == expected
    npx.reset_np()
    b.attach_grad()
    with autograd.record():
        y = eval(text, {"np": np, "b": b, "c": c})
    y.backward()
    assert b.grad.tolist() == [0, 0, 0]


def test_whole_numbers_beside_others(single):
    i, x = np.array([1, 2, 3], dtype="int32"), np.array([0.5, 2, 3])
    for a in (i, x):
        a.attach_grad()
    with autograd.record():
        y = (i * x).sum()
    y.backward()
    assert x.grad.tolist() == [1, 2, 3] and i.grad.tolist() == [0, 2, 3]


# -- for a while -----------------------------------------------------------------------------------


def made():
    return np.ones(1).dtype.name, (np.arange(2) / np.arange(1, 3)).dtype.name, npx.is_np_array(), npx.is_np_shape()


OUTSIDE, INSIDE = ("float64", "float64", False, False), ("float32", "float32", True, True)


def test_a_while_of_mxnets_arrays():
    assert made() == OUTSIDE
    with dflow.np_array():
        assert made() == INSIDE and np.ones((2, 3, 4)).sum(axis=[0, 1]).shape == (4,)
        with dflow.util.np_array(False):
            assert made() == ("float64", "float64", False, True)
            with dflow.np_shape(False):
                assert made() == OUTSIDE
        with dflow.np_array(), dflow.np_default_dtype():
            assert made() == ("float64", "float64", True, True) and dflow.is_np_default_dtype()
        assert made() == INSIDE
        with pytest.raises(ValueError, match="reset_np"), dflow.np_shape(False):
            pass
    with pytest.raises(ZeroDivisionError), dflow.np_array():
        raise ZeroDivisionError
    assert made() == OUTSIDE
    with pytest.raises(TypeError):
        np.ones((2, 3)).sum(axis=[0, 1])
    with dflow.np_shape():
        assert made() == (*OUTSIDE[:3], True)
    assert dflow.set_np_shape(True) is False and dflow.set_np_shape(False) is True and not dflow.is_np_shape()


def test_a_while_leaves_the_rules_of_nd():
    """They hold since nd was loaded."""
    code = """
        from dflow import nd, np, np_array
        with np_array():
            pass
        assert np.ones((2, 3)).sum(axis=[0, 1]) == 6 and np.ones(1).dtype == float
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_switched_on_a_while_does_nothing(single, monkeypatch):
    monkeypatch.setattr(defaults, "_switch", lambda: pytest.fail("it is on"))
    with dflow.np_array(), dflow.np_shape():
        assert made() == INSIDE


@pytest.mark.parametrize("use", [dflow.use_np, dflow.util.use_np_array])
def test_decorated(use):
    @use
    def function(x, *, y):
        """What it does."""
        return x, y, made()

    assert function(1, y=2) == (1, 2, INSIDE) and function.__name__ == "function" and function.__doc__

    class Base:
        def inherited(self):
            return made()

    @use
    class Some(Base):
        number = 3

        def __init__(self):
            self.first = made()

        @property
        def part(self):
            """Which it is."""
            return made()

        @part.setter
        def part(self, x):
            self.set = x, made()

        @staticmethod
        def alone(x):
            return x, made()

        @classmethod
        def whole(cls, x):
            return cls, x, made()

    some = Some()
    some.part = 5
    assert some.first == some.part == INSIDE and some.set == (5, INSIDE) and Some.part.__doc__
    assert Some.alone(1) == some.alone(1) == (1, INSIDE) and some.whole(2) == (Some, 2, INSIDE)
    assert some.inherited() == OUTSIDE == made() and Some.number == 3
    with pytest.raises(TypeError, match="classes and functions, not int"):
        use(3)


def test_decorated_for_shapes_and_types():
    assert dflow.use_np_shape(made)() == (*OUTSIDE[:3], True)
    assert dflow.use_np(dflow.use_np_default_dtype(made))() == ("float64", "float64", True, True)
    assert dflow.use_np_default_dtype(npx.is_np_default_dtype)()
    npx.set_np()
    try:
        assert npx.set_np_default_dtype() is False and made()[0] == "float64"
        assert npx.set_np_default_dtype(False) is True and made() == INSIDE
    finally:
        npx.reset_np()


def test_networks_that_are_decorated():
    @dflow.use_np
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = gluon.nn.Dense(2)

        def forward(self, x):
            return self.dense(x) + np.ones(2)

    net = Net()
    net.initialize()
    x = np.ones((1, 3), "float32")
    first = net(x)
    net.hybridize()
    assert first.dtype == net(x).dtype == net(x).dtype == numpy.float32
    assert first.tolist() == net(x).tolist()


def test_what_else_util_has(monkeypatch):
    util = dflow.util
    assert util.get_gpu_count() == dflow.num_gpus()
    assert util.default_array([1], dtype="int8").dtype == "int8" and util.default_array([1.0]).dtype == "float32"
    assert util.default_array([1], device=dflow.cpu(1)).ctx == dflow.cpu(1)
    monkeypatch.setenv("DFLOW_TEST_SOMETHING", "1")
    assert util.getenv("DFLOW_TEST_SOMETHING") == "1"
    util.setenv("DFLOW_TEST_SOMETHING", "2")
    assert util.getenv("DFLOW_TEST_SOMETHING") == "2"
    util.setenv("DFLOW_TEST_SOMETHING", None)
    assert util.getenv("DFLOW_TEST_SOMETHING") is None
    assert util.set_module("elsewhere")(lambda: 0).__module__ == "elsewhere"
