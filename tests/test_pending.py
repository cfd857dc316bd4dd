"""Names whose result's shape is known return while their arrays are pending, and give what NumPy gives."""

import re
import warnings

import numpy
import pytest
from compare import assert_same_outcome, outcome
from engines import Gate, configured
from test_namespace import CASES, SOURCES, assert_same, call_of, evaluate, plain

import dflow
import dflow.numpy as np

# Of tests/test_namespace.py are the arrays. One call a line.
CALLS = """
    np.average(a, 1, v)
    np.average(a, weights=a, returned=True)
    np.cov(a, fweights=j)
    np.cov(a, a, aweights=v * v, rowvar=True)
    np.percentile(a, v[:1])
    np.quantile(a, abs(v) / 4, axis=1)
    np.nanquantile(n, s - 2)
    np.percentile(a, 50, 1, weights=v * v, method='inverted_cdf')
    np.histogram(v)
    np.histogram(a, 3, weights=a)
    np.histogram(a, np.sort(v), density=True)
    np.histogram(a, 5, (a.min(), a.max()))
    np.histogram_bin_edges(v, 4)
    np.histogram2d(v, j, [2, 3])
    np.histogramdd(a, 2)
    np.digitize(a, np.sort(v))
    np.gradient(v, v)
    np.gradient(a, v[:3], 2.0, edge_order=2)
    np.unwrap(a * 3)
    np.interp(a, np.sort(v), v)
    np.vander(v)
    np.poly(v)
    np.polyadd(v, a[0, :2])
    np.polysub(v[:1], v)
    np.polyder(v)
    np.polyint(v, 2, v[:2])
    np.polyfit(v, a.T, 2)
    np.polyfit(v, a[0], 1, w=j + 1, cov=True)
    np.i0(a)
    np.kaiser(5, s)
    np.linspace(v, 2, 3, axis=1)
    np.linspace(s, v, 3, retstep=True)
    np.logspace(v, s, 3)
    np.geomspace(v + 2, s, 3)
    np.pad(a, 1, 'mean')
    np.block([[a], [v]])
    np.r_[v, 1.0]
    np.c_[v, j]
    np.resize(a, (2, 9))
    np.require(a, 'f4', 'F')
    np.insert(v, 1, s)
    np.insert(a, [0, 2], v, axis=0)
    np.isin(i, j)
    np.ix_(j, [0, 1])
    np.take(a, i * 9 - 20, mode='wrap')
    np.take(f, i * 9 - 20, 1, mode='clip')
    np.take(a.T, b, 0, mode='wrap')
    np.take(f, i.T.astype('u1'), -1, mode='wrap')
    np.take(s, i, mode='clip')
    np.take(np.arange(3), i, mode='wrap')
    [x := a.copy(), np.place(x, b, v)][0]
    [x := a.copy(), np.place(x.T, i.T, j)][0]
    [x := a.copy(), np.place(x, b, 2.5)][0]
    [x := np.zeros(3000, 'c16'), np.place(x, np.arange(3000) % (j[1] + 4) > 2, np.arange(7) + j[0])][0]
    [x := a.copy(), np.place(x, x, x)][0]
    np.unravel_index(j, (2, 3))
    np.ravel_multi_index((j % 2, j), (2, 4))
    np.packbits(b, 1)
    np.unpackbits(i.astype('u1'), 0)
    np.piecewise(a, [a > 0], [1.0])
    np.nanargmax(n, 1)
    np.nanargmin(a)
    np.apply_over_axes(np.sum, f, [0, 2])
    np.common_type(a, f)
    np.triu_indices_from(m)
    np.linalg.cond(m)
    np.linalg.cond(m, 1)
    np.linalg.svd(m, hermitian=True)
    np.linalg.pinv(m, hermitian=True)
    np.linalg.matrix_rank(m, hermitian=True)
    np.random.RandomState(3).poisson(abs(a))
    np.random.RandomState(3).beta(v * v, 2.0, (2, 4))
    np.random.RandomState(3).normal(a, 1.0)
    np.random.RandomState(3).permutation(a)
    np.random.RandomState(3).choice(v, 5, p=v / v / 4)
    np.random.RandomState(3).dirichlet(v * v, 2)
    np.random.RandomState(3).multinomial(9, v / v / 4)
    np.random.RandomState(3).multivariate_normal(v[:3], m)"""
CALLS = [line.strip() for line in CALLS.strip().split("\n")]


def used_in(text):
    return [name for name in SOURCES if re.search(rf"\b{name}\b", text)]


def flat(x):
    return [part for item in x for part in flat(item)] if isinstance(x, (list, tuple)) else [x]


def behind(start, x):
    return dflow.submit(lambda _, x: x, start, x, shape=x.shape, dtype=x.dtype)


@pytest.mark.parametrize("text", CALLS)
def test_returns_while_its_arrays_are_pending(text):
    """In a task, where a wait would be an error."""
    kind, expected, _ = evaluate(text, numpy)
    assert kind == "value"
    with configured(workers=3), Gate() as gate:
        start = gate.hold()
        arrays = {name: behind(start, np.array(SOURCES[name])) for name in used_in(text)}
        task = dflow.submit(lambda: eval(text, {"np": np, **arrays}))
        found = task.result()
        assert not gate.opened.is_set() and all(not x.is_ready() for x in arrays.values())
        gate.open()
        assert_same(plain(found), expected, "largest")


HOST = [(row, sample) for row, sample in CASES if row.kind == "host" and used_in(call_of(row, sample))]


@pytest.mark.parametrize("row, sample", HOST, ids=str)
@pytest.mark.slow
def test_as_numpy_whether_its_arrays_are_there_or_not(row, sample):
    """What small arrays that are there do not show: the task, and the shapes and types that it is known by before."""
    text = call_of(row, sample)
    arrays = {name: dflow.engine.sleep(np.array(SOURCES[name]), 1e-3) for name in used_in(text)}
    kind, *expected = evaluate(text, numpy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "value":
            assert_same(plain(eval(text, {"np": np, **arrays})), expected[0], row.close)
        else:
            with pytest.raises(expected[0]) as caught:
                plain(eval(text, {"np": np, **arrays}))
            assert sample.startswith("?") or str(caught.value) == expected[1]


DRAWS = """poisson(x) | beta(x, 2.0) | normal(1.0, x) | gamma(x) | binomial(9, x / 9) | zipf(x + 1) | poisson(x[0]) |
    poisson(x, (20, 3)) | poisson(x, (2000, 3)) | poisson(x[0], 100000) | integers(x) | choice(3, 4, p=x / x.sum()) |
    choice(x, 5000, p=x / x.sum()) | dirichlet(x, 4) | multinomial(9, x / x.sum()) | multivariate_normal(x, np.eye(3)) |
    standard_gamma(x, dtype='f4') | multivariate_hypergeometric(x.astype(int), 2) |
    hypergeometric(x.astype(int), 4, 3) | poisson(x[:0])"""


@pytest.mark.parametrize("call", [call.strip() for call in DRAWS.split("|")])
def test_draws_do_not_depend_on_what_is_ready(call):
    """Nor what is drawn after them; nor on the number of workers."""
    results = []
    for workers, pending in ((1, False), (2, True), (3, False)):
        with configured(workers=workers), Gate() as gate:
            generator, x = np.random.default_rng(5), np.array([1.0, 2.0, 5.0])
            x = gate.hold(x) if pending else x
            arrays = eval(f"generator.{call}", {"generator": generator, "x": x, "np": np}), generator.zipf(2.0, 5), \
                generator.random(3), generator.permutation(5000)
            assert not pending or not arrays[0].is_ready()
            gate.open()
            results.append([numpy.asarray(a) for a in arrays])
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert one.dtype == two.dtype and numpy.array_equal(one, two)


WRONG = """average(a, weights=a - a) | digitize(a, v) | percentile(a, v) | nanargmax(n * np.nan, 1) | histogram(a, v) |
    histogram(n) | unravel_index(i, (2, 2)) | ravel_multi_index((j, j), (2, 2)) | cov(a, fweights=j - 1) |
    cov(a, fweights=v) | geomspace(v * 0, 9, 3) | linalg.svd(m * np.nan, hermitian=True)[0] |
    random.poisson(v) | random.choice(4, 3, p=v) | random.RandomState(0).poisson(v) |
    random.RandomState(0).choice(4, 3, p=v)"""


@pytest.mark.parametrize("call", [f"np.{call.strip()}" for call in WRONG.split("|")])
def test_errors_of_values_come_on_reading(call):
    """With NumPy's words, and the line of the call."""
    expected = outcome(lambda: eval(call, {"np": numpy, **SOURCES}))
    assert expected[0] == "error"
    with configured(workers=3), Gate() as gate:
        start = gate.hold()
        arrays = {name: behind(start, np.array(SOURCES[name])) for name in used_in(call)}
        result = flat(eval(call, {"np": np, **arrays}))[0]
        assert not result.is_ready()
        gate.open()
        assert_same_outcome(outcome(result.asnumpy), expected)


def test_indices_of_slices_have_one_axis():
    a = dflow.engine.sleep(np.arange(3.0), 0.05)
    for indices, text in ([[0]], "too deep"), (0, "of too small depth"):
        with pytest.raises(ValueError, match=f"object {text} for desired array"):
            np.add.reduceat(a, np.array(indices))


@pytest.mark.skipif(numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0", reason="NumPy has no such rule")
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("text, dtype", [("f.T", "f4"), ("a[:, ::2]", "c8"), ("c", float), ("c.real.round() + 0j", int),
                                         ("i * 99", "i1"), ("v", int)])
def test_casts_to_the_same_value(text, dtype):
    def cast(names):
        return eval(text, names).astype(dtype, casting="same_value")

    (name,), expected = used_in(text), outcome(lambda: cast({**SOURCES}))
    with configured(workers=3), Gate() as gate:
        result = cast({name: behind(gate.hold(), np.array(SOURCES[name]))})
        assert not result.is_ready() and result.strides == eval(text, {**SOURCES}).astype(dtype).strides
        gate.open()
        assert_same_outcome(outcome(result.asnumpy), expected)
        assert_same_outcome(outcome(lambda: cast({name: np.array(SOURCES[name])}).asnumpy()), expected)


def test_an_error_of_a_draw_is_not_that_of_the_next():
    ours, theirs = np.random.RandomState(4), numpy.random.RandomState(4)
    wrong = ours.poisson(dflow.engine.sleep(np.array([-1.0]), 0.02))
    with pytest.raises(ValueError, match="lam < 0"):
        theirs.poisson([-1.0])
    assert ours.normal(size=3).tolist() == theirs.normal(size=3).tolist()
    assert ours.poisson(dflow.engine.sleep(np.array([9.0, 4.0]), 0.02)).tolist() == theirs.poisson([9.0, 4.0]).tolist()
    with pytest.raises(ValueError, match="lam < 0"):
        wrong.tolist()


PARTS = numpy.array([0, -0.0, 1.26, -1.25, 0.05, -0.04, 2.5, 1e22, 1e300, 5e-324, numpy.inf, -numpy.inf, numpy.nan])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", "FDG")
@pytest.mark.parametrize("decimals", [0, 1, 2, 17, 400, -1, -3, -400])
def test_rounding_of_complex_numbers(dtype, decimals):
    """Each part by itself, with the sign of its zero and no nan of the other's infinity."""
    each = numpy.empty((len(PARTS), len(PARTS)), complex)
    each.real, each.imag = PARTS[:, None], PARTS
    many = numpy.random.default_rng(0).normal(size=(70, 300)) * (100 + 3j)
    calls = (lambda m, x: m.round(x, decimals), lambda m, x: x.round(decimals),
             lambda m, x: m.around(x * 2 - 1, decimals) + 1, lambda m, x: m.round(x, decimals, m.zeros(x.shape, "D")),
             lambda m, x: m.round(x, decimals, x), lambda m, x: m.round(x, decimals, m.zeros(x.shape)))
    for source in (each, many, each.T[::2], numpy.zeros((0, 3)), numpy.array(1.26 + 2.5j)):
        source = source.astype(dtype)
        for limit, bulk in ((None, None), (0, None), (0, 0)):
            with configured(limit=limit, bulk=bulk, workers=2):
                for call in calls:
                    assert_same_outcome(*(outcome(lambda: call(m, m.array(source))) for m in (np, numpy)))  # noqa: B023
