"""dflow.ops.mxnet_forms: what NumPy's functions take and give after npx.set_np() alone."""

import numpy
import pytest

import dflow.numpy as np
from dflow import autograd, npx


@pytest.fixture
def switched():
    npx.set_np()
    yield
    npx.reset_np()


M = numpy.random.default_rng(3).normal(size=(4, 4))
STACK = numpy.random.default_rng(4).normal(size=(2, 3, 4))

# What MXNet's programs write, and what it is in NumPy.
FORMS = {
    "np.linalg.eigh(m, upper=True)[0]": "np.linalg.eigh(m, 'U')[0]",
    "np.linalg.eigh(m, False)[0]": "np.linalg.eigh(m)[0]",
    "np.linalg.eigvalsh(m, True)": "np.linalg.eigvalsh(m, 'U')",
    "np.linalg.matrix_norm(s, 'fro', (0, 2))": "np.linalg.norm(s, 'fro', (0, 2))",
    "np.linalg.matrix_norm(s, axis=(2, 1), ord=1, keepdims=True)": "np.linalg.norm(s, 1, (2, 1), True)",
    "np.linalg.lstsq(m, s[0].T, rcond='warn')[0]": "np.linalg.lstsq(m, s[0].T, -1)[0]",
    "np.sort(s, 1, True)": "-np.sort(-s, 1)",
    "np.argsort(s, -1, True, True)": "np.argsort(-s, -1)",
    "np.argsort(s, 0, False)": "np.argsort(s, 0)",
    "np.quantile(s, 0.3, interpolation='lower')": "np.quantile(s, 0.3, method='lower')",
    "np.quantile(s, q=[0.3, 0.9], axis=1, interpolation='midpoint')":
        "np.quantile(s, [0.3, 0.9], 1, method='midpoint')",
    "np.percentile(s, 30, axis=0, interpolation='nearest')": "np.percentile(s, 30, axis=0, method='nearest')",
    "np.nanpercentile(s, 30, interpolation='higher')": "np.nanpercentile(s, 30, method='higher')",
    "np.nonzero(s[0, 0, 0])[0]": "np.array([0])",
    "np.bool(np.array([]))": "np.False_",
    "np.round_(s, 1)": "np.round(s, 1)",
    "np.sometrue(s > 0, axis=1)": "np.any(s > 0, axis=1)",
    "np.alltrue(s > 0, axis=1)": "np.all(s > 0, axis=1)",
    "np.product(s, axis=1)": "np.prod(s, axis=1)",
    "np.in1d(s, s[0, 0], invert=True)": "np.isin(s.ravel(), s[0, 0], invert=True)",
    "np.msort(s)": "np.sort(s, axis=0)",
    "np.trapz(s, dx=2)": "np.trapezoid(s, dx=2)"}


def outcome(text, module, **arrays):
    """What an expression gives, or the name of its error."""
    try:
        return numpy.asarray(eval(text, {"np": module, **arrays}))
    except (TypeError, ValueError, AttributeError) as error:
        return type(error).__name__


@pytest.mark.parametrize("text", FORMS)
def test_forms(text):
    """As NumPy before and afterwards, which refuses most."""
    m, s = np.array(M), np.array(STACK)
    before, expected = (outcome(text, numpy, m=M, s=STACK) for text in (text, FORMS[text]))
    for _ in range(2):
        numpy.testing.assert_array_equal(outcome(text, np, m=m, s=s), before)
        npx.set_np()
        try:
            numpy.testing.assert_allclose(outcome(text, np, m=m, s=s), expected, rtol=1e-12)
        finally:
            npx.reset_np()


@pytest.mark.parametrize("text, error, match", [
    ("np.linalg.eigh(m, 'x')", ValueError, "UPLO"), ("np.linalg.eigh(m, lower=True)", TypeError, "lower"),
    ("np.linalg.eigh(m[0])", np.linalg.LinAlgError, "at least two-dimensional"),
    ("np.linalg.matrix_norm(m, axis=1)", ValueError, "axis"), ("np.linalg.lstsq(m, m, 'x')", TypeError, "cast"),
    ("np.sort(m, -1, 3)", TypeError, "sort kind must be str"), ("np.sort(m, 5)", ValueError, "out of bounds"),
    ("np.quantile(m, 2.0)", ValueError, "range"), ("np.quantile(m, 0.5, interpolation='x')", ValueError, "'x'"),
    ("np.nonzero(m, 1)", TypeError, "argument"), ("np.cumproduct(m)", AttributeError, "cumproduct")])
def test_what_is_still_an_error(switched, text, error, match):
    with pytest.raises(error, match=match):
        numpy.asarray(eval(text, {"np": np, "m": np.array(M)}))


def test_thin_decompositions(switched):
    x = np.array(STACK)
    x.attach_grad()
    with autograd.record():
        u, s, v = np.linalg.svd(x)
        total = (np.matmul(u * s[..., None, :], v) * x).sum()
    total.backward()
    assert (u.shape, s.shape, v.shape) == ((2, 3, 3), (2, 3), (2, 3, 4))
    numpy.testing.assert_allclose(x.grad.asnumpy(), 2 * STACK, rtol=1e-4)
    assert np.linalg.svd(x, True)[2].shape == np.linalg.svd(x, full_matrices=True).Vh.shape == (2, 4, 4)
    npx.reset_np()
    assert np.linalg.svd(x)[2].shape == (2, 4, 4)


def test_results_that_are_arrays_or_sorted(switched):
    x = np.array([3.0, 1, 3, 2])
    assert np.unique_values(x).tolist() == [1, 2, 3]
    assert np.linalg.matrix_rank(x).shape == () and np.linalg.matrix_rank(x).item() == 1
    npx.reset_np()
    assert type(np.linalg.matrix_rank(x)) is int and sorted(np.unique_values(x).tolist()) == [1, 2, 3]


def test_gradients_of_forms(switched):
    x = np.array(M)
    x.attach_grad()
    with autograd.record():
        y = np.quantile(x, 0.0, interpolation="linear") + np.linalg.matrix_norm(x, "fro", (0, 1)) ** 2
    y.backward()
    numpy.testing.assert_allclose(x.grad.asnumpy(), 2 * M + (M.min() == M))


def test_conditions_of_an_array(switched):
    """Whose elements are arrays after set_np()."""
    assert np.piecewise(np.array([0, 5]), np.array([1, 0]), [7]).tolist() == [7, 0]


def test_versions_of_the_standard(switched):
    x = np.ones(2)
    assert x.__array_namespace__("2021.10") is x.__array_namespace__(api_version="2021.10") is np
    assert x.__array_namespace__(None) is x.__array_namespace__("2024.12") is np
    with pytest.raises(ValueError, match="2021.24"):
        x.__array_namespace__("2021.24")
    npx.reset_np()
    for give in (lambda: x.__array_namespace__("2024.12"), lambda: x.__array_namespace__(version="2024.12")):
        with pytest.raises(TypeError):
            give()
    with pytest.raises(ValueError, match="2021.10"):
        x.__array_namespace__(api_version="2021.10")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("text", ["i * x", "x / i", "np.arctan2(b, x)", "np.divmod(x, i)[1]", "(i + x) * 2"])
def test_whole_numbers_do_not_widen(text, dtype):
    """As MXNet's; NumPy has a wider type for int64 beside float32."""
    given = {"i": numpy.array([1, 5, 7]), "b": numpy.array([True, False, True]),
             "x": numpy.array([0.5, 1.5, 2.5], dtype)}
    expected = eval(text, {"np": numpy, **given})
    ours = {name: np.array(x) for name, x in given.items()}
    for switch, wanted in ((npx.reset_np, expected.dtype), (npx.set_np, dtype), (npx.reset_np, expected.dtype)):
        switch()
        result = eval(text, {"np": np, **ours})
        assert result.dtype == wanted
        numpy.testing.assert_allclose(result.asnumpy(), expected, rtol=2e-3)


def test_numbers_and_wider_arrays(switched):
    i, x = np.array([1, 2], "i8"), np.array([1, 2], "f4")
    assert (i * 2.5).dtype == float and (i * x.astype("f8")).dtype == float and (x * 2).dtype == "f4"
    assert (i > x).dtype == bool and (i * 1j).dtype == complex and np.ldexp(x, i).dtype == "f4"
