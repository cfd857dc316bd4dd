"""`out=`: what is stored in it, and what is said of one that does not do, as NumPy does."""

import numpy
import pytest
from compare import assert_same, assert_same_outcome, outcome

from dflow import numpy as np

CALLS = """np.choose(np.array([0, 1, 2]), [v, v, v], out=out)
np.take(v, [0, 1, 2], out=out)
np.take(v, [0, 1, 5], out=out, mode='clip')
v.compress([1, 1, 1], out=out)
np.sum(a, 0, out=out)
a.mean(0, out=out)
np.std(a, 0, out=out)
np.var(a, axis=0, out=out)
np.max(a, 0, out=out)
np.ptp(a, 0, out=out)
np.all(a, 0, out=out)
np.argmax(a, 0, out=out)
a.argmin(0, out=out)
np.cumsum(v, out=out)
np.multiply.accumulate(v, out=out)
np.add.reduceat(v, [0, 1, 2], out=out)
np.maximum.reduce(a, out=out)
np.clip(v, 0, 1, out=out)
np.round(v, 1, out=out)
np.dot(v, a, out=out)
np.matmul(v, a, out=out)
np.vecdot(a, a, out=out)
np.trace(t, out=out)
np.einsum('i,ij', v, a, out=out)
np.median(a, 0, out=out)
np.percentile(a, 50, axis=0, out=out)
np.nanmedian(n, axis=0, out=out)
np.nanquantile(n, 0.5, axis=0, out=out)
np.nansum(n, 0, out=out)
np.concatenate([v[:1], v[:2]], out=out)
np.add(v, v, out=out)
np.frexp(v, out=(out, None))
np.fft.irfft(v, 3, out=out)""".split("\n")

OUTPUTS = {
    "fits": "np.zeros(3)", "none": "None", "list": "[0.0, 0.0, 0.0]", "number": "1.0",
    "read-only": "fixed(np.zeros(3, index))", "longer": "np.zeros(4)", "another axis": "np.zeros((1, 3))",
    "broadcast": "np.zeros((2, 3))", "int": "np.zeros(3, int)",
    "float32": "np.zeros(3, 'f4')", "complex": "np.zeros(3, complex)", "bool": "np.zeros(3, bool)"}

# What NumPy has its iterator check, in words that tell of how that works.
ITERATORS = ("remapped", "non-broadcastable", "operands could not be broadcast", "WRITEBACKIFCOPY", "Output operand 0",
             "core dimension")


def tried(np, call, output):
    """What the call gives, or its error; and what is in `out` afterwards."""
    def fixed(x):
        x.setflags(write=False)
        return x

    names = {"np": np, "fixed": fixed, "a": np.array([[1.0, 2, 3], [4, 5, 7], [7, 8, 9.5]]),
             "v": np.array([0.5, 1.25, 2]), "t": np.ones((2, 2, 3))}
    names["index"] = int if "arg" in call else float
    names["n"] = np.where(names["a"] == 5, np.nan, names["a"])
    names["out"] = eval(output, names)
    try:
        result = eval(call, names)
        result = result[0] if isinstance(result, tuple) else result
        assert result is names["out"] or names["out"] is None
    except Exception as error:
        result = error.with_traceback(None)         # its frame, which has the arrays
    return result, names["out"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("call", CALLS)
def test_out(call, output):
    expected, there = tried(numpy, call, OUTPUTS[output])
    actual, here = tried(np, call, OUTPUTS[output])
    if isinstance(expected, Exception):
        assert type(actual) is type(expected), actual
        assert str(actual) == str(expected) or any(word in str(expected) for word in ITERATORS)
    else:
        assert not isinstance(actual, Exception), actual
        numpy.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-6)
    if isinstance(there, numpy.ndarray):
        numpy.testing.assert_allclose(here.asnumpy(), there, rtol=1e-6)
    elif there is not None:
        assert here == there


@pytest.mark.parametrize("call", ["np.add.reduce(np.ones(3), out=(np.zeros(()), np.zeros(())))",
                                  "np.add.accumulate(np.ones(3), out=())"])
def test_a_tuple_of_outputs(call):
    for module in numpy, np:
        with pytest.raises(ValueError, match="The 'out' tuple must have exactly one entry per ufunc output"):
            eval(call, {"np": module})


@pytest.mark.parametrize("order", "CFAK")
@pytest.mark.parametrize("shape", [(5,), (5, 6), (5, 6, 7), ()])
@pytest.mark.parametrize("prototype", [
    "np.arange(24).reshape(2, 3, 4)", "np.arange(24).reshape(2, 3, 4).swapaxes(0, 1)",
    "np.arange(6).reshape((2, 3), order='F')", "np.array(3)", "[[1, 2], [3, 4]]"])
def test_memory_order_of_another_shape(prototype, shape, order):
    """zeros_like() with a shape keeps the prototype's order of axes where it has as many."""
    ours, theirs = (module.zeros_like(eval(prototype, {"np": module}), shape=shape, order=order)
                    for module in (np, numpy))
    assert_same(ours, theirs)
    assert ours.strides == theirs.strides


def test_a_class_whose_array_method_gives_none():
    class Nothing:
        def __array__(self, dtype=None, copy=None):
            return None

    for module in numpy, np:
        with pytest.raises(ValueError, match="__array__ method not producing an array"):
            module.array(Nothing())


def test_isclose_takes_python_numbers_for_weak():
    """A tolerance that is a Python number, next to a Python number, must not make the comparison one of float64."""
    below_one = float(1 - numpy.finfo("f8").eps)
    for module in numpy, np:
        one = module.array(below_one, "f4")
        assert module.isclose(one, 2, atol=0, rtol=below_one / 2)
        assert not module.isclose(one, 2, atol=0, rtol=numpy.float64(below_one / 2))


GENERALIZED = """np.vecdot(a, b, axis=0, keepdims=True)
np.vecdot(a, b, axes=[0, 0, 0], keepdims=True)
np.vecdot(a, b, axes=[0, 2], keepdims=True)
np.vecdot(a, b, axes=[0, 2, 1], keepdims=True)
np.vecdot(a, b, axes=[(0,), (2,), ()])
np.vecdot(a, b, axis=1, keepdims=True, out=np.zeros((3, 1, 3)))
np.matmul(a, a, axes=[(0, 1), (1, 2), (2, 0)])
np.matmul(a, a, axes=[(0, 1), (1, 2), (2, 0)], out=np.zeros((3, 3, 3)))
np.matmul(a, v, axes=[(0, 2), (0,), (0,)])
np.matmul(v, a, out=np.zeros((1, 3, 3)))
np.vecdot(a, b, out=np.zeros((2, 3, 3)))
np.vecdot(v, v, out=np.zeros((5, 4)))
np.vecdot(a, b, axes=[0])
np.vecdot(a, b, axes=(0, 0))
np.vecdot(a, b, axes=[(0, 1), 0])
np.vecdot(a, b, axes=[5, 0])
np.vecdot(a, b, axis=[0])
np.vecdot(a, b, axis=0, axes=[0, 0])
np.matmul(a, a, axis=0)
np.matmul(a, a, axes=[0, 0, 0])
np.matmul(a, a, keepdims=True)
np.add.reduce([], initial=None)
np.add.reduce([1.5, 2], initial=None)
np.multiply.reduce([1.5, 2], initial=None, where=[True, False])
np.minimum.reduce([1.5, 2], initial=None)
np.minimum.reduce([], initial=None)
np.add(v, v, out=...)
np.add.reduce(v, out=...)
np.divmod(v, 2, out=...)[1]""".split("\n")


@pytest.mark.parametrize("call", GENERALIZED)
def test_axes_and_starts(call):
    def of(module):
        names = {"np": module, "a": module.arange(27.0).reshape(3, 3, 3), "v": module.arange(3.0),
                 "b": module.arange(10.0, 19).reshape(3, 1, 3)}
        return outcome(lambda: eval(call, names))

    assert_same_outcome(of(np), of(numpy))


def test_out_ellipsis_gives_arrays():
    """With out=..., what would be a scalar is an array that can be written to."""
    for x in (np.add(np.ones(()), 1, out=...), np.add.reduce(np.ones(2), out=...), *np.divmod(5, np.array(3), out=...)):
        x[...] = 7
        assert x == 7


def test_at_on_a_numpy_array():
    x = numpy.zeros(4)
    assert np.add.at(x, [1, 1, 2], np.ones(3)) is None
    assert x.tolist() == [0, 2, 1, 0]


def test_concatenate_counts_before_it_copies():
    class Many(list):
        def __len__(self):
            return 1 << 31

    with pytest.raises(ValueError, match=r"concatenate\(\) only supports up to 2147483647 arrays but got 2147483648."):
        np.concatenate(Many())


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(3, 2, 1, 1), (1, 3, 2), (6, 1), (1, 6, 1, 1)])
def test_strides_of_axes_of_length_1(shape, order):
    for start in ("np.zeros(12)[::2]", "np.zeros((4, 6))[::2, ::2]", "np.zeros((3, 4))[:, ::2].T"):
        ours, theirs = (eval(start, {"np": module}).reshape(shape, order=order) for module in (np, numpy))
        assert ours.strides == theirs.strides


def test_a_seed_may_be_an_element():
    np.random.seed(np.arange(4)[3])
    first = np.random.rand(3).tolist()
    np.random.seed(3)
    assert np.random.rand(3).tolist() == first


@pytest.mark.parametrize("axis", [-2, -1, 0, 1, 10])
def test_lexsort_of_scalars(axis):
    assert_same_outcome(*(outcome(lambda module=module: module.lexsort((module.array(1),), axis=axis))
                          for module in (np, numpy)))


def test_outer_of_many_axes():
    for ndim in 32, 33:
        shape = (1,) * ndim
        assert_same_outcome(*(outcome(lambda module=module, shape=shape: module.add.outer(*[module.ones(shape)] * 2))
                              for module in (np, numpy)))
    assert_same(np.subtract.outer(np.arange(6).reshape(2, 3).T, np.arange(2)),
                numpy.subtract.outer(numpy.arange(6).reshape(2, 3).T, numpy.arange(2)))


def test_lengths_that_a_ufunc_computes_itself():
    """It wrote past the end of what was taken for its output."""
    convolve = getattr(pytest.importorskip("numpy._core._umath_tests"), "conv1d_full", None)        # since NumPy 2.1
    if convolve is None:
        pytest.skip("this NumPy has no such ufunc")
    x, y, out = np.arange(5.0), np.arange(13.0).reshape(1, 13).repeat(2, 0), np.zeros((2, 17))
    expected = convolve(x.asnumpy(), y.asnumpy())
    assert_same(convolve(x, y), expected)
    assert convolve(x, y, out=out) is out
    assert_same(out, expected)
    for wrong in ({"out": np.zeros((2, 16))}, {"out": np.zeros((2, 18))}):
        with pytest.raises(ValueError, match="does not equal m . n - 1"):
            convolve(x, y, **wrong)


REDUCTIONS = {
    "reduce": lambda u, a, out: u.reduce(a, axis=1, out=out[:, 0]),
    "reduce from 0.5": lambda u, a, out: u.reduce(a, axis=1, out=out[:, 0], initial=0.5),
    "accumulate": lambda u, a, out: u.accumulate(a, axis=1, out=out),
    "reduceat": lambda u, a, out: u.reduceat(a, [0, 11], axis=1, out=out[:, :2]),
}


@pytest.mark.parametrize("way", REDUCTIONS)
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "hypot", "logical_or"])
def test_reductions_compute_in_what_holds_the_array_and_out(name, way):
    """A sum of integers into floats starts from 0.5, a product of small ones into floats does not wrap."""
    values = numpy.random.default_rng(1).integers(1, 9, (3, 40))
    for kinds in ("?bhilefdgFD", "?BHILefdgFD"):        # not mixed: NumPy steps by way of out, where a sign is lost
        for source in kinds:
            for target in kinds:
                if numpy.can_cast(source, target, "same_kind"):
                    def reduced(np, source=source, target=target):
                        out = np.zeros((3, 40), target)
                        REDUCTIONS[way](getattr(np, name), np.array(values.astype(source)), out)
                        return out
                    actual, expected = (outcome(lambda m=m: reduced(m)) for m in (np, numpy))
                    assert actual[0] == expected[0], (source, target, actual, expected)
                    if expected[0] == "value":
                        close = numpy.isclose(actual[1], expected[1], rtol=1e-3 if "e" in source + target else 1e-6)
                        assert close.all(), (source, target, actual, expected)
