"""What numpy.random takes and refuses: types, shapes and errors of calls with good and bad arguments are NumPy's."""

import warnings

import numpy
import pytest

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.once

# Values to try for one parameter, the others being good: first a good one.
NUMBERS = """0.5 | 1 | 2 | 3.0 | 0 | -1 | -0.5 | np.nan | True | None | 'a' | 1j | np.float32(0.5) | np.int8(3) | []
    [0.5, 2.0] | [[0.5, 0.5]] | ['a'] | [None] | {} | np.array([0.5, 0.25]) | np.array([-1.0, 2.0]) | np.array([1, 2])
    np.array([1j]) | np.array([np.nan, 1.0]) | np.zeros((0, 2)) | [[1], [2, 3]]"""
SIZES = """None | 3 | () | (2,) | [2, 2] | 0 | -1 | 2.0 | (2.0,) | 'a' | True | (True,) | np.int64(2) | np.array(2)
    np.array(2.0) | np.array([2, 2]) | (-1, 2) | (None,) | 1j | np.float64(2) | range(2) | {} | 2**70
    1 << 62 | [[2]]"""
DTYPES = "float | 'f4' | np.float64 | int | 'i4' | complex | None | object | 'S3' | '>f8' | np.dtype('f4')"
OUTPUTS = """np.zeros(3) | np.zeros((2, 2)) | np.zeros(3, 'f4') | np.zeros(3, int) | np.zeros(6)[::2]
    np.zeros((2, 3)).T
    np.zeros((4, 4))[:2, :2] | np.zeros(()) | np.zeros(0) | np.broadcast_to(np.zeros(1), (3,))
    np.zeros((2, 2))[::-1]"""
SOURCES = """5 | 0 | -1 | 3.0 | 'abc' | None | [1, 2, 3] | [] | [[1, 2], [3, 4]] | np.arange(4)
    np.ones((2, 3)) | 2**70
    np.zeros((0, 3)) | np.array(3) | np.array(3.0) | np.int64(4) | True | (1, 2) | range(3) | {} | 2.5 | 1j"""
CHANCES = """None | [0.1, 0.2, 0.3, 0.4, 0] | [0.5, 0.5] | [0.2] * 4 + [0.3] | [-1, 1, 1, 0, 0]
    [np.nan] * 5 | 0.5 | 'a'
    np.array([0.2] * 5) | np.array([0.3] * 5) | np.array([0.25] * 4) | [[0.5, 0.5]] | []"""
FLAGS = "True | False | None | 1 | 'a' | 2.5 | []"
AXES = "0 | 1 | -1 | 2 | -3 | None | True | 1.0 | 'a' | (0,) | np.int64(1)"
ARRAYS = """[1, 2, 3] | np.arange(5) | np.ones((2, 3)) | np.array(3) | 3 | 3.0 | 'abc' | None | (1, 2)
    np.zeros((0, 2))
    np.arange(6.0)[::2] | {} | {1, 2} | -3 | np.int64(4) | np.broadcast_to(np.zeros(1), (3,))
    bytearray(b'abc') | 1j"""
VECTORS = """[0.5, 0.5] | [[0.5, 0.5]] | [0, 1] | [-1, 1] | [np.nan, 1] | [] | [[]] | 0.5 | 1 | None | 'a'
    ['a', 'b'] | [1j, 1]
    np.array([0.5, 0.5]) | np.array([[0.5, 0.5], [0.2, 0.8]]) | np.array([0.0, 1.0]) | np.ones(0)
    [0.9, 0.9] | np.array(1.0)
    np.array([0.9, 0.9]) | np.ones((2, 2, 2)) / 2 | [0.0, 0.0]"""
TRIALS = """3 | 0 | -1 | 2.5 | [1, 2] | np.array([1, 2]) | np.array([1.5, 2]) | None | 'a' | [[1], [2]]
    np.array(3) | 2**70"""
MEANS = "[0, 1] | [0.0] | 0 | [[0, 1]] | np.zeros(2) | [] | None | 'a' | [1j, 0]"
COVARIANCES = """[[1, 0], [0, 1]] | [[1, 0], [0, -1]] | np.eye(2) | np.eye(3) | [[1]] | 1 | [1, 0]
    np.ones((2, 3)) | None
    [[1j, 0], [0, 1]]"""
BOUNDS = """5 | 0 | -3 | 2.5 | True | None | 'a' | 2**64 | np.nan | [5, 6] | np.array([5, 6])
    np.array([5.5, 6]) | [[1], [2]] | []
    np.int8(3) | np.uint64(9) | np.array([5]) | 1j | 300 | [2.5] | np.array([5, -6])"""
TYPES = "int | bool | 'i1' | 'u1' | np.uint64 | 'f4' | float | None | object | complex | 3 | 'S1' | np.dtype('i2')"
SEEDS = """5 | 0 | -1 | 1 << 32 | (1 << 32) - 1 | None | 2.5 | 'a' | [1, 2] | [] | [-1] | [1 << 32]
    np.array([1, 2]) | np.array(3)
    np.array([1.5]) | True | {} | [[1, 2], [3, 4]] | np.float64(3) | np.random.SeedSequence(3)"""
STATES = "3 | None | () | ('a',) | {} | ('MT19937',) | {'bit_generator': 'x'} | ['a'] | 'MT19937' | {'state': 1}"
COLOURS = "[3, 4] | [-1, 9] | [] | np.array([3, 4]) | 2 | [[1, 2]] | [1.5, 2] | None | 'a' | np.array([-1, 9])"

# Methods: their parameters, in order; those with a * are given by name.
OLDER = {
    "random": {"size": SIZES}, "random_sample": {"size": SIZES}, "standard_normal": {"size": SIZES},
    "standard_exponential": {"size": SIZES}, "standard_gamma": {"shape": NUMBERS, "size": SIZES},
    "choice": {"a": SOURCES, "size": SIZES, "replace": FLAGS, "p": CHANCES}, "bytes": {"length": SIZES},
    "randint": {"low": BOUNDS, "high": f"9 | {BOUNDS}", "size": SIZES, "dtype": TYPES},
    "shuffle": {"x": ARRAYS}, "permutation": {"x": ARRAYS}, "seed": {"seed": SEEDS}, "set_state": {"state": STATES},
    "dirichlet": {"alpha": VECTORS, "size": SIZES}, "multinomial": {"n": TRIALS, "pvals": VECTORS, "size": SIZES},
    "multivariate_normal": {"mean": MEANS, "cov": COVARIANCES, "size": SIZES,
                            "*check_valid": "'warn' | 'raise' | 'a'"},
    "rand": {"d0": f"3 | {SIZES}", "d1": f"2 | {SIZES}"}, "randn": {"d0": f"3 | {SIZES}", "d1": f"2 | {SIZES}"},
}
NEWER = {
    "random": {"size": SIZES, "dtype": DTYPES, "*out": f"None | {OUTPUTS}"},
    "standard_normal": {"size": SIZES, "dtype": DTYPES, "*out": f"None | {OUTPUTS}"},
    "standard_exponential": {"size": SIZES, "dtype": DTYPES, "method": "'zig' | 'inv' | 'a' | 3",
                             "*out": f"None | {OUTPUTS}"},
    "standard_gamma": {"shape": NUMBERS, "size": SIZES, "dtype": DTYPES, "*out": f"None | {OUTPUTS}"},
    "choice": {"a": SOURCES, "size": SIZES, "replace": FLAGS, "p": CHANCES, "axis": AXES, "shuffle": FLAGS},
    "integers": {"low": BOUNDS, "high": f"9 | {BOUNDS}", "size": SIZES, "dtype": TYPES, "endpoint": FLAGS},
    "shuffle": {"x": ARRAYS, "axis": AXES}, "permutation": {"x": ARRAYS, "axis": AXES}, "bytes": {"length": SIZES},
    "permuted": {"x": ARRAYS, "*axis": AXES, "*out": f"None | {OUTPUTS}"},
    "dirichlet": {"alpha": VECTORS, "size": SIZES}, "multinomial": {"n": TRIALS, "pvals": VECTORS, "size": SIZES},
    "multivariate_normal": {"mean": MEANS, "cov": COVARIANCES, "size": SIZES,
                            "*method": "'svd' | 'cholesky' | 'a' | None"},
    "multivariate_hypergeometric": {"colors": COLOURS, "nsample": f"2 | {TRIALS}", "size": SIZES},
    "spawn": {"n_children": "2 | 0 | -1 | None | 'a' | 2.0 | () | 1j"},
}
DISTRIBUTIONS = """beta(a, b) binomial(n, p) chisquare(df) exponential(scale) f(dfnum, dfden) gamma(shape, scale)
    geometric(p)
    gumbel(loc, scale) hypergeometric(ngood, nbad, nsample) laplace(loc, scale) logistic(loc, scale)
    lognormal(mean, sigma) logseries(p) negative_binomial(n, p) noncentral_chisquare(df, nonc)
    noncentral_f(dfnum, dfden, nonc) normal(loc, scale) pareto(a) poisson(lam) power(a) rayleigh(scale)
    standard_cauchy()
    standard_t(df) triangular(left, mode, right) uniform(low, high) vonmises(mu, kappa) wald(mean, scale)
    weibull(a) zipf(a)"""
for text in DISTRIBUTIONS.replace("\n", "").split(")")[:-1]:
    name, _, names = text.strip().partition("(")
    NEWER[name] = OLDER[name] = {key: NUMBERS for key in names.split(", ") if key} | {"size": SIZES}

STREAMS = {"module": (OLDER, lambda module: module.random),
           "RandomState": (OLDER, lambda module: module.random.RandomState(5)),
           "Generator": (NEWER, lambda module: module.random.default_rng(5))}


def calls(parameters):
    """Arguments as texts: each value of each parameter, beside the first ones of those before it."""
    lists = {key: [text.strip() for line in values.splitlines() for text in line.split("|")]
             for key, values in parameters.items()}
    for varied, values in lists.items():
        for value in values:
            given = {key: value if key == varied else others[0] for key, others in lists.items()}
            yield ", ".join(f"{key[1:]}={x}" if key[0] == "*" else x for key, x in given.items())
    yield "unknown=3"
    yield ", ".join("1" * 9)


def outcome(stream, name, text, module, values):
    """The error, or the shape and the type, and maybe the values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(f"g.{name}({text})", {"g": stream(module), "np": module})
            if hasattr(result, "asnumpy"):
                result = result.asnumpy()
        except Exception as error:
            return type(error).__name__, str(error)
    if not isinstance(result, (int, float, numpy.ndarray, numpy.generic)):
        return type(result).__name__
    result = numpy.asarray(result)
    return result.shape, result.dtype, result.tobytes() if values else None


@pytest.mark.parametrize("kind, name", [(kind, name) for kind, (table, _) in STREAMS.items() for name in table])
def test_calls(kind, name):
    table, stream = STREAMS[kind]
    wrong = []
    for text in calls(table[name]):
        expected, found = (outcome(stream, name, text, module, kind == "RandomState") for module in (numpy, np))
        if found != expected:
            wrong.append(f"{name}({text})\n  NumPy: {expected}\n  dflow: {found}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            dflow.waitall()             # what was drawn, but not read
        except Exception:
            pass
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("out", [3, [1.0, 2.0], "a"])
def test_outputs_that_are_no_arrays(out):
    """NumPy takes them for one, and may crash."""
    for draw in (np.random.default_rng(5).random, np.random.default_rng(5).standard_normal):
        with pytest.raises(TypeError, match="^out must be an array, not "):
            draw(None, float, out)
        with pytest.raises(TypeError, match="^out must be an array, not "):
            draw(out=out)
    with pytest.raises(TypeError, match="^out must be an array, not "):
        np.random.default_rng(5).standard_gamma(1.0, out=out)
    with pytest.raises(TypeError, match="^out must be an array, not "):
        np.random.default_rng(5).standard_exponential(3, out=out)


@pytest.mark.parametrize("kind", [TypeError, ValueError, IndexError, AttributeError, OverflowError])
def test_no_error_of_our_own_is_lost(kind, monkeypatch):
    """Where NumPy would draw, ours is raised; where NumPy refuses, it is the cause of NumPy's."""
    def fail(*_args, **_keywords):
        raise kind("our own")

    monkeypatch.setattr("dflow.ops.random.drawn_shape", fail)
    monkeypatch.setattr("dflow.ops.legacy.drawn_shape", fail)
    for stream in (np.random, np.random.default_rng(5), np.random.RandomState(5)):
        with pytest.raises(kind, match="^our own$"):
            stream.poisson(np.ones(3))
        with pytest.raises(ValueError, match="lam < 0") as caught:
            stream.poisson(-np.ones(3))
        assert type(caught.value.__cause__) is kind


def test_an_error_that_is_numpy_s_too_is_raised_once():
    with pytest.raises(ValueError, match="scale < 0") as caught:
        np.random.default_rng(5).normal(0, -1)
    assert caught.value.__cause__ is None
