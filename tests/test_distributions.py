"""The kernels behind random numbers: Philox as published, any way of cutting, any instructions, distributions."""

import hashlib
import math
import threading
import warnings

import numpy
import pytest
from engines import configured
from scipy import special, stats

import dflow
import dflow.numpy as np
from dflow import autograd, gluon
from dflow._functions import random as _random
from dflow.engine import sleep
from dflow.gradients import draws
from dflow.ops import random as streams

N = 100_000
FEW = 1e-6                  # a test with fixed seeds: either always below this, or never

# parameters in the order of the kernel's; the distribution, of SciPy's
CONTINUOUS = {
    "random": ((-1.0, 3.0), stats.uniform(-1, 3)),
    "standard_normal": ((2.0, 3.0), stats.norm(2, 3)),
    "standard_exponential": ((1.0, 2.0), stats.expon(1, 2)),
    "laplace": ((1.0, 2.0), stats.laplace(1, 2)),
    "lognormal": ((0.5, 0.7), stats.lognorm(0.7, scale=math.exp(0.5))),
    "logistic": ((1.0, 2.0), stats.logistic(1, 2)),
    "gumbel": ((1.0, 2.0), stats.gumbel_r(1, 2)),
    "rayleigh": ((2.0,), stats.rayleigh(scale=2)),
    "weibull": ((1.7,), stats.weibull_min(1.7)),
    "pareto": ((2.5,), stats.lomax(2.5)),
    "power": ((2.5,), stats.powerlaw(2.5)),
    "triangular": ((1.0, 2.0, 5.0), stats.triang(0.25, 1, 4)),
    "gamma": ((2.5, 3.0), stats.gamma(2.5, scale=3)),
    "chisquare": ((3.0,), stats.chi2(3)),
    "standard_t": ((4.0,), stats.t(4)),
    "beta": ((2.0, 3.5), stats.beta(2, 3.5)),
    "f": ((5.0, 7.0), stats.f(5, 7)),
    "standard_cauchy": ((), stats.cauchy()),
}
MORE = [
    ("gamma", (0.3, 1.0), stats.gamma(0.3)), ("gamma", (50.0, 1.0), stats.gamma(50)),
    ("beta", (0.3, 0.2), stats.beta(0.3, 0.2)), ("beta", (0.5, 3.0), stats.beta(0.5, 3)),
    ("chisquare", (1.0,), stats.chi2(1)), ("standard_t", (1.5,), stats.t(1.5))]
DISCRETE = [
    ("poisson", (lam,), stats.poisson(lam)) for lam in (0.01, 0.7, 5.0, 12.0, 100.0, 300.0, 2000.0, 1e6)] + [
    ("binomial", (n, p), stats.binom(n, p)) for n, p in
    ((1, 0.3), (10, 0.5), (100, 0.03), (100, 0.9), (1000, 0.5), (10000, 0.3), (10**6, 0.7), (10**9, 1e-6))] + [
    ("geometric", (p,), stats.geom(p)) for p in (0.9, 0.3, 0.001)]

KINDS = sorted(_random.KERNELS.items())
PARAMETERS = {**{name: p for name, (p, _) in CONTINUOUS.items()}, "poisson": (700.0,), "binomial": (3000.0, 0.4),
              "geometric": (0.2,)}
for _name, _range in (("integers8", 10), ("integers16", 10), ("integers32", 3 * 2**30), ("integers64", 3 * 2**30),
                      ("integers", 3 * 2**62)):         # low, range, threshold, as the bits of doubles
    _all = 2**64 if _name == "integers" else 2**32
    PARAMETERS[_name] = tuple(numpy.array([5, _range, _all % _range], "u8").view("f8").tolist())


def code_of(name, itemsize):
    """The type code of a kernel's output."""
    if name.startswith("integers"):
        return {1: 1, 2: 3, 4: 5, 8: 7}[itemsize]
    return 7 if name in streams.COUNTS else 11 if itemsize == 4 else 12


def bits(x):
    """An array's bytes, comparable when some are not numbers."""
    return x.asnumpy().tobytes()


def cut(name, itemsize, pieces, n=5000):
    """The elements of a draw, computed in pieces, in a random order."""
    counter = _random.Counter(5, 6, 7)
    out = np.zeros(n, dtype=_random_dtype(name, itemsize))
    edges = sorted({0, n, *pieces})
    parts = list(zip(edges, edges[1:]))
    numpy.random.default_rng(len(parts)).shuffle(parts)
    p = PARAMETERS.get(name, (0.0, 1.0))
    for start, stop in parts:
        _random.piece(counter, _random.KERNELS[name, itemsize], 0, p, start, out[start:stop])
    return bits(out)


def _random_dtype(name, itemsize):
    from dflow._kernels.dtypes import dtypes
    return dtypes[code_of(name, itemsize)]


# ---- the generator


@pytest.mark.parametrize("counter, key, output", [      # Random123's kat_vectors
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1")])
def test_philox_as_published(counter, key, output):
    counter, key, output = ([int(word, 16) for word in text.split()] for text in (counter, key, output))
    assert _random.philox(counter, key) == output


def test_elements_are_philox_of_their_position():
    key0, key1, draw = 0xA4093822, 0x299F31D0, 0x0370734413198A2E
    x = _random.Counter(key0, key1, draw).integers(0, 2**32 - 1, 6, 200).asnumpy()
    for i in range(200):
        word, position = i % 64 // 16, 16 * (i // 64) + i % 16
        assert x[i] == _random.philox([position, 0, draw & 0xFFFFFFFF, draw >> 32], [key0, key1])[word]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0][0]}-{kind[0][1]}")
def test_same_bits_however_cut_and_computed(kind):
    (name, itemsize), _ = kind
    rng = numpy.random.default_rng(3)
    whole = cut(name, itemsize, [])
    for pieces in ([1], [2500], range(0, 5000, 64), range(7, 5000, 100), rng.integers(0, 5000, 50), range(300)):
        assert cut(name, itemsize, [int(i) for i in pieces]) == whole
    try:
        for i in range(_random.instruction_sets()):
            _random.use(i)
            assert cut(name, itemsize, [777]) == whole
    finally:
        _random.use(_random.instruction_sets() - 1)


INTEGERS = [(0, 9), (-100, 100), (0, 255), (-2**31, 2**31 - 1), (0, 3 * 2**30), (0, 2**33), (0, 3 * 2**61),
            (-2**63, 2**63 - 1), (5, 5)]


@pytest.mark.parametrize("low, high", INTEGERS)
def test_integers_of_any_shape(low, high):
    whole = bits(_random.Counter(5, 6, 7).integers(low, high, 7, 5000))
    for shape in ((50, 100), (5, 10, 100)):
        assert bits(_random.Counter(5, 6, 7).integers(low, high, 7, shape)) == whole
    for n in (1, 63, 64, 65, 1000):
        assert whole.startswith(bits(_random.Counter(5, 6, 7).integers(low, high, 7, n)))


TEXTS = ["random(S)", "standard_normal(S, dtype='f4')", "normal(2, 3, S)", "integers(-5, 3 * 2**30, S)",
         "gamma(0.7, size=S)", "poisson(1000, S)", "exponential(size=S, dtype='f4')",
         "random(S) + g.standard_normal(S)"]


@pytest.mark.parametrize("text", TEXTS)
def test_same_for_any_number_of_workers(text):
    def draw(shape):
        return eval(text, {"S": shape}, _Methods(np.random.default_rng(5)))

    whole = bits(draw(200_000))
    for workers in (1, 2, 3, 16):
        for limit in (None, 0):
            with configured(workers=workers, **({} if limit is None else {"limit": limit})):
                assert bits(draw(200_000)) == whole
                assert bits(draw((400, 500))) == whole
    if "+" not in text:
        assert whole.startswith(bits(draw(10)))


class _Methods(dict):
    """A generator's methods as names."""

    def __init__(self, generator):
        super().__init__(g=generator)

    def __missing__(self, name):
        try:
            return getattr(self["g"], name)
        except AttributeError:
            raise KeyError(name) from None


def test_outputs_of_both_orders():
    for make in (lambda: np.empty((60, 50)), lambda: np.empty((50, 60)).T):
        expected = np.random.default_rng(1).standard_normal((60, 50)).asnumpy()
        for limit in (0, 1e9):
            with configured(limit=limit):
                out = make()
                result = np.random.default_rng(1).standard_normal(out=out)
                assert result is out and (out.asnumpy() == expected).all()


def test_threads_share_a_generator():
    g = np.random.default_rng(1)
    found = []

    def work():
        found.extend(g.random(3).tolist() for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    g = np.random.default_rng(1)
    assert sorted(found) == sorted(g.random(3).tolist() for _ in range(1600))


def test_the_stream_of_a_seed():
    """It is the same on every machine, and stays: programs keep their results."""
    g = np.random.default_rng(2026)
    assert g.integers(0, 1000, 5).tolist() == [985, 956, 868, 252, 801]
    assert g.random(2).tolist() == [0.9189020345210259, 0.9856942286597145]
    g = np.random.default_rng(2026)
    draws = g.standard_normal(N), g.standard_normal(N, dtype="f4"), g.standard_exponential(N)
    hashes = [hashlib.sha256(bits(x)).hexdigest()[:16] for x in draws]
    assert hashes == ["1881a3086a66724c", "7340aa4fbd37409c", "34b1b4e22020404c"]


def test_streams_differ():
    a, b = np.random.default_rng(1).spawn(2)
    make = np.random.default_rng
    draws = [g.random(1000) for g in (a, b, make(1), make(2), streams.Shared(3))]
    assert len(numpy.unique(np.concatenate(draws).asnumpy())) == 5000
    assert (make(1).random(1000) == draws[2]).all()


# ---- distributions


def check_continuous(x, distribution, coarse=False):
    assert stats.kstest(x, distribution.cdf).pvalue > (1e-9 if coarse else FEW)
    mean, variance = distribution.stats("mv")
    kurtosis = distribution.stats("k")
    if numpy.isfinite(kurtosis):
        n = len(x)
        assert abs(x.mean() - mean) < 5 * math.sqrt(variance / n)
        assert abs(x.var() / variance - 1) < 6 * math.sqrt((kurtosis + 2) / n)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    p, distribution = CONTINUOUS[name]
    x = _random.Counter(1, 2, 3).draw(_random.KERNELS[name, 8], 12, N, *p).asnumpy()
    check_continuous(x, distribution)
    if (name, 4) in _random.KERNELS:
        y = _random.Counter(1, 2, 3).draw(_random.KERNELS[name, 4], 11, N, *p).asnumpy()
        assert y.dtype == "f4"
        check_continuous(y.astype(float), distribution)


@pytest.mark.parametrize("name, p, distribution", MORE)
def test_continuous_of_other_shapes(name, p, distribution):
    check_continuous(_random.Counter(1, 2, 3).draw(_random.KERNELS[name, 8], 12, N, *p).asnumpy(), distribution)


def check_discrete(x, distribution):
    values, counts = numpy.unique(x, return_counts=True)
    mean, variance, kurtosis = distribution.stats("mvk")
    assert abs(x.mean() - mean) < 5 * math.sqrt(variance / N)
    assert abs(x.var() / variance - 1) < 6 * math.sqrt((kurtosis + 2) / N)
    assert abs(numpy.cumsum(counts) / N - distribution.cdf(values)).max() < 2.5 / math.sqrt(N)
    p = distribution.pmf(values)
    common = p * N > 20
    if 1 < common.sum() < len(p):
        z = (counts - p * N)[common] / numpy.sqrt((p * (1 - p) * N)[common])
        assert abs(z).max() < 5.5


@pytest.mark.parametrize("name, p, distribution", DISCRETE)
def test_discrete(name, p, distribution):
    check_discrete(_random.Counter(1, 2, 3).draw(_random.KERNELS[name, 8], 7, N, *p).asnumpy(), distribution)


# Those without a kernel, by NumPy's generators: in blocks.
OTHERS = [
    ("vonmises(0, 2.0, N)", stats.vonmises(2.0)), ("wald(2.0, 3.0, N)", stats.invgauss(2 / 3, scale=3)),
    ("noncentral_chisquare(3.0, 2.0, N)", stats.ncx2(3, 2)), ("noncentral_f(5.0, 20.0, 2.0, N)", stats.ncf(5, 20, 2)),
    ("zipf(6.0, N)", stats.zipf(6)), ("logseries(0.6, N)", stats.logser(0.6)),
    ("hypergeometric(30, 50, 20, N)", stats.hypergeom(80, 30, 20)),
    ("negative_binomial(5, 0.3, N)", stats.nbinom(5, 0.3)),
    ("dirichlet([2.0, 3.0, 4.0], N)[:, 1]", stats.beta(3, 6)),
    ("multinomial(20, [0.2, 0.5, 0.3], N)[:, 1]", stats.binom(20, 0.5)),
    ("multivariate_normal([1.0, 2.0], [[2.0, 0.5], [0.5, 3.0]], N) @ np.array([1.0, -1.0])", stats.norm(-1, 2)),
    ("multivariate_hypergeometric([30, 50], 20, N)[:, 0]", stats.hypergeom(80, 30, 20)),
    ("choice(4, N, p=[0.125, 0.375, 0.375, 0.125])", stats.binom(3, 0.5)),
    ("permutation(N) % 5", stats.randint(0, 5))]


@pytest.mark.parametrize("make, text, distribution", [
    (make, *case) for make in (np.random.default_rng, streams.Shared) for case in OTHERS
    if hasattr(make(1), case[0].partition("(")[0])])
def test_distributions_without_kernels(make, text, distribution):
    g = make(2)
    x = eval(f"g.{text}", {"g": g, "np": np, "N": N}).asnumpy()
    if isinstance(distribution.dist, stats.rv_continuous):
        assert stats.kstest(x, distribution.cdf).pvalue > FEW
    else:
        check_discrete(x, distribution)


@pytest.mark.parametrize("low, high, dtype", [
    (0, 6, "i8"), (-3, 4, "i1"), (0, 255, "u1"), (0, 1, "?"), (-40000 + 10000, 30000, "i2"), (-2**31, 2**31 - 1, "i4"),
    (0, 2**32 - 1, "u4"), (0, 3 * 2**30, "i8"), (0, 3 * 2**61, "u8"), (-2**63, 2**63 - 1, "i8"), (0, 2**64 - 1, "u8")])
def test_integers(low, high, dtype):
    x = np.random.default_rng(3).integers(low, high, N, dtype, endpoint=True)
    assert x.dtype == dtype and x.min() >= low and x.max() <= high
    x = x.asnumpy()
    if high - low < 1000:
        values, counts = numpy.unique(x, return_counts=True)
        assert len(values) == high - low + 1
        assert stats.chisquare(counts).pvalue > FEW
    else:
        scaled = (x.astype(float) - low) / (high - low)
        assert stats.kstest(scaled, "uniform").pvalue > FEW


def test_tails_and_extremes():
    n = 10_000_000
    g = np.random.default_rng(11)
    for dtype, beyond in (("f8", 4.0388), ("f4", 3.6542)):
        x = abs(g.standard_normal(n, dtype=dtype))
        for limit in (3.0, beyond, 4.5, 5.0):
            expected = 2 * stats.norm.sf(limit) * n
            assert abs((x > limit).sum().item() - expected) < 5 * math.sqrt(expected) + 1
        y = g.standard_exponential(n, dtype=dtype)
        for limit in (7.0, 7.6971, 9.2562, 11.0, 14.0):
            expected = stats.expon.sf(limit) * n
            assert abs((y > limit).sum().item() - expected) < 5 * math.sqrt(expected) + 1
    u = g.random(n, dtype="f4").asnumpy()
    assert 0 <= u.min() and u.max() < 1 and (u * 2**24 == numpy.floor(u * 2**24)).all()
    u = g.random(n // 4).asnumpy()
    assert 0 <= u.min() and u.max() < 1 and (u * 2**53 == numpy.floor(u * 2**53)).all()
    assert (u * 2**52 != numpy.floor(u * 2**52)).mean() > 0.49
    dflow.waitall()


def test_neighbours_are_independent():
    x = np.random.default_rng(12).standard_normal(10**6).asnumpy()
    for lag in (1, 2, 8, 16, 32, 64, 512):
        assert abs((x[lag:] * x[:-lag]).mean()) < 5e-3
        assert abs(((x[lag:] ** 2 - 1) * (x[:-lag] ** 2 - 1)).mean()) < 1e-2


# ---- the face: what NumPy says


@pytest.mark.parametrize("text", [
    "random(3, dtype='i4')", "random(-1)", "random(2.5)", "random(out=n.zeros(3, 'f4'))", "random(4, out=n.zeros(3))",
    "standard_normal(3, dtype='f4', out=n.zeros(3))", "standard_normal(dtype=complex)", "uniform(0, n.inf)",
    "uniform(1, 0)", "exponential(-1, 3)",
    "standard_gamma(-1, 3)", "standard_gamma(2, 3, 'i4')", "gamma(2, -1, 3)", "gamma()", "laplace(0, -1, 3)",
    "laplace(0, 1, 2, 3)", "lognormal(0, -1)", "rayleigh(-1)", "weibull(-1)", "pareto(0)", "power(0)", "beta(0, 1)",
    "chisquare(0)", "f(1, 0)", "standard_t(0)", "geometric(0)", "geometric(1.5, 3)", "poisson(-1)", "poisson(n.nan, 3)",
    "binomial(-1, 0.5)", "binomial(3, 1.5, 3)", "binomial(3, n.nan)", "triangular(1, 0, 2)", "triangular(0, 0, 0, 5)",
    "logistic(0, -1, 5)", "gumbel(scale=-1)",
    "integers(5, 5)", "integers(0, 300, 3, 'u1')", "integers(-1, 3, 3, 'u4')", "integers(3, dtype=float)",
    "integers(2**63, 2**64)", "gamma(n.array([1.0, -1.0]))", "poisson(n.array([1.0, -1.0]))"])
def test_errors_of_numpy(text):
    with pytest.raises(Exception) as expected:
        eval(f"n.random.default_rng(1).{text}", {"n": numpy})
    with pytest.raises(type(expected.value)) as found:
        eval(f"n.random.default_rng(1).{text}", {"n": np})
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("text", [
    "random()", "random(dtype='f4')", "standard_normal((2, 3), 'f4')", "normal(1, 2, [2, 3])", "uniform(size=())",
    "integers(5)", "integers(0, 2, dtype=bool)", "integers(0, 2, 5, bool)", "integers(n.int8(3), n.uint64(9), 4, "
    "n.int16)",
    "poisson(3)", "poisson(3, 4)", "binomial(5, 0.5, (2, 2))", "geometric(0.5, 0)", "gamma(2.0)",
    "gamma(shape=2.0, scale=1, size=3)", "gamma(2.0, size=(1, 2))", "standard_gamma(2.0, 3, 'f4')", "laplace(size=3)",
    "triangular(0, 1, 2, 3)", "beta(n.ones(3), 2)", "gamma(n.ones((2, 1)), n.ones(3))", "poisson(n.ones(3), (2, 3))",
    "normal(n.zeros(3), 1)", "exponential(n.ones(3))", "standard_exponential(3, method='inv')"])
def test_shapes_and_types_of_numpy(text):
    expected = eval(f"n.random.default_rng(1).{text}", {"n": numpy})
    found = eval(f"n.random.default_rng(1).{text}", {"n": np})
    assert numpy.shape(found) == numpy.shape(expected)
    if isinstance(expected, numpy.ndarray):
        assert type(found) is np.ndarray and found.dtype == expected.dtype
    else:
        assert type(found) is type(expected)


@pytest.mark.parametrize("text, value", [
    ("exponential(0.0, 3)", 0), ("gamma(0.0, 1.0, 3)", 0), ("binomial(0, 0.5, 3)", 0), ("binomial(5, 0, 3)", 0),
    ("binomial(5, 1.0, 3)", 5), ("poisson(0, 3)", 0), ("geometric(1.0, 3)", 1), ("weibull(0.0, 3)", 0),
    ("normal(2.0, 0.0, 3)", 2), ("uniform(3.0, 3.0, 3)", 3), ("integers(4, 5, 3)", 4)])
def test_constants(text, value):
    assert eval(f"g.{text}", {"g": np.random.default_rng(1)}).tolist() == [value] * 3


def test_counters_and_generators_copy():
    import copy
    import pickle
    g = np.random.default_rng(4)
    g.random(3)
    for again in (copy.deepcopy(g._counter), pickle.loads(pickle.dumps(g._counter))):
        assert again.state() == g._counter.state()


def test_extreme_parameters():
    g = np.random.default_rng(6)
    assert (g.poisson(1e15, 100) > 9.9e14).all() and (g.geometric(1e-300, 10) == 2**63 - 1).all()
    assert abs(g.binomial(2**53, 0.25, 1000).mean().item() / 2**51 - 1) < 1e-8
    for x in (g.beta(1e-3, 1e-3, 1000), g.beta(1e-300, 1e-300, 1000)):
        assert ((x >= 0) & (x <= 1)).all()
    assert np.isfinite(g.gamma(1e-5, size=1000)).all() and np.isfinite(g.gamma(1e200, size=1000)).all()
    assert (g.gamma(np.array(1e300), size=5) > 0).all()


# -- by their parameters -------------------------------------------------------------------------------

BY_PARAMETERS = {
    "normal": ("loc", "scale"), "uniform": ("low", "high"), "exponential": ("scale",), "gumbel": ("loc", "scale"),
    "laplace": ("loc", "scale"), "logistic": ("loc", "scale"), "lognormal": ("mean", "sigma"), "pareto": ("a",),
    "power": ("a",), "rayleigh": ("scale",), "weibull": ("a",)}


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("name", BY_PARAMETERS)
def test_gradients_by_parameters(name, pending):
    """As differences of draws from one seed; the parameters keep their own gradients, also where they are pending."""
    def drawn(values):
        np.random.seed(3)
        return getattr(np.random, name)(**values)

    starts = dict(zip(BY_PARAMETERS[name], ([0.5, 1.25], [2.0, 3.0])[-len(BY_PARAMETERS[name]):]))
    values = {key: sleep(np.array(x), 0.02) if pending else np.array(x) for key, x in starts.items()}
    for x in values.values():
        x.attach_grad()
    with autograd.record():
        drawn(values).sum().backward()
    for key in starts:
        up, down = ({k: np.array(x) + (step if k == key else 0) for k, x in starts.items()} for step in (1e-6, -1e-6))
        slope = (drawn(up) - drawn(down)).asnumpy() / 2e-6
        numpy.testing.assert_allclose(values[key].grad.asnumpy(), slope, rtol=1e-6, atol=1e-6)


# a, x and -(dP(a, x) / da) / (dP(a, x) / dx) of P(a, x), the regularized incomplete gamma function: by mpmath, with 400
# digits, as x / a * (S * (digamma(a + 1) - log(x)) + T), where S is the sum of c(n) = x**n / ((a + 1) ... (a + n)), T
# that of c(n) * (1 / (a + 1) + ... + 1 / (a + n)), n = 0, 1, ...
SLOPES = [
    (0.001, 1e-300, 6.9019995596640341e-295), (0.001, 1e-08, 0.00017845109000394911),
    (0.001, 0.5, 461.99216718924001), (0.001, 3.0, 787.91488588308652), (0.02, 1e-40, 4.577930720465282e-37),
    (0.02, 0.9999, 30.681936178253218), (0.02, 1.0001, 30.683977671361394), (0.3, 0.01, 0.14920695356145887),
    (0.3, 0.7, 2.3386501048061252), (0.3, 9.0, 5.4108463609075541), (0.9, 0.95, 1.2257967785923493),
    (1.0, 1e-05, 0.00011935771978830515), (1.0, 1.0, 1.1735630272247269), (1.0, 14.0, 3.2832055127002311),
    (2.5, 0.3, 0.30557287974671364), (2.5, 2.4, 1.0469446812443708), (2.5, 2.6, 1.0898232391819159),
    (2.5, 12.0, 2.1104815201820002), (9.99, 3.0, 0.52453459083641245), (9.99, 9.98, 1.0163312911345066),
    (9.99, 10.5, 1.0423680947598847), (10.0, 1.0001, 0.2594761443600475), (10.0, 10.0, 1.0168234904310751),
    (10.0, 35.0, 1.7820529358718324), (40.0, 15.0, 0.590876132828656), (40.0, 39.0, 0.99151857201599115),
    (40.0, 41.0, 1.0166258763799657), (40.0, 90.0, 1.4656459620068916), (1000.0, 820.0, 0.90420476809456749),
    (1000.0, 999.0, 0.99966643319040235), (1000.0, 1000.0, 1.000166683323806), (1000.0, 1001.0, 1.0006666000571),
    (1000.0, 1220.0, 1.1029019631023215), (100000.0, 98500.0, 0.99246387028590406),
    (100000.0, 99999.0, 0.99999666664333319), (100000.0, 100001.0, 1.0000066666600001),
    (100000.0, 101500.0, 1.0074644578377103)]


def test_the_slope_of_gamma_draws_by_their_shape():
    a, x, expected = numpy.array(SLOPES).T
    numpy.testing.assert_allclose(draws.slope(a, x), expected, rtol=1e-14)
    assert draws.slope(1e-3, 0.0) == 0                          # where it is too small for a number
    numpy.testing.assert_allclose(draws.slope([1e8, 1e12], [1e8, 1e12]), [1, 1], rtol=1e-8)     # 1 + 1 / (6 a) and on


def of_gammas(draw, parameters, pending):
    """A draw, and the gradients of its sum by the parameters."""
    arrays = [sleep(np.array(x), 0.02) if pending else np.array(x) for x in parameters]
    for x in arrays:
        x.attach_grad()
    np.random.seed(3)
    with autograd.record():
        y = draw(*arrays)
    y.backward()
    return y.asnumpy(), [x.grad.asnumpy() for x in arrays]


def by_differences(a, x, step=1e-5):
    """As MXNet's own test has it: what keeps P(a, x)."""
    change = (special.gammainc(a + step, x) - special.gammainc(a - step, x)) / (2 * step)
    return -change / numpy.exp((a - 1) * numpy.log(x) - x - special.gammaln(a))


@pytest.mark.parametrize("pending", [False, True])
def test_gradients_of_gamma_draws(pending):
    shape, scale, size = numpy.array([0.5, 2, 30]), numpy.array([[1.5], [4]]), (5, 2, 3)
    y, found = of_gammas(lambda a, b: np.random.gamma(a, b, size), (shape, scale), pending)
    numpy.testing.assert_allclose(found[0], (by_differences(shape, y / scale) * scale).sum((0, 1)), rtol=1e-5)
    numpy.testing.assert_allclose(found[1], (y / scale).sum((0, 2))[:, None], rtol=1e-12)
    y, found = of_gammas(lambda a: np.random.standard_gamma(a, (4, 3)), (shape,), pending)
    numpy.testing.assert_allclose(found[0], by_differences(shape, y).sum(0), rtol=1e-5)
    y, found = of_gammas(lambda df: np.random.chisquare(df), (shape,), pending)
    numpy.testing.assert_allclose(found[0], by_differences(shape / 2, y / 2), rtol=1e-5)
    y, found = of_gammas(lambda a: np.random.gamma(a, size=3000), (numpy.float32(4),), pending)     # in tasks
    assert found[0].dtype == numpy.float32
    numpy.testing.assert_allclose(found[0], by_differences(4, y).sum(), rtol=1e-5)
    y, found = of_gammas(lambda scale: np.random.gamma(2.0, scale, 4), (numpy.array(3.0),), pending)
    numpy.testing.assert_allclose(found[0], (y / 3).sum(), rtol=1e-12)


def test_gradients_of_gamma_draws_in_blocks():
    class Net(gluon.HybridBlock):
        def forward(self, a):
            return np.random.gamma(a, 0.5, size=(2, 2))

    net, a = Net(), np.full((2, 2), 5.0)
    with warnings.catch_warnings(action="ignore"):         # it is not replayed
        net.hybridize()
        net(a)
    a.attach_grad()
    seen = []
    for _ in range(3):
        with autograd.record():
            y = net(a)
        y.backward()
        numpy.testing.assert_allclose(a.grad, 0.5 * by_differences(5, y.asnumpy() / 0.5), rtol=1e-5)
        seen.append(y.asnumpy().tobytes())
    assert len(set(seen)) == 3


def test_gradients_of_gradients_of_gamma_draws():
    a = np.array([2.0])
    a.attach_grad()
    with autograd.record():
        y = np.random.gamma(a)
        g = autograd.grad(y, a, create_graph=True)[0]
        with pytest.raises(NotImplementedError, match="no gradient"):
            g.backward()


@pytest.mark.parametrize("name, wrong, text", [
    ("gamma", (-1,), "shape < 0"), ("gamma", (1, -1), "scale < 0"), ("chisquare", (0,), "df <= 0"),
    ("gumbel", (0, -1), "scale < 0"), ("lognormal", (0, -1), "sigma < 0"), ("pareto", (0,), "a <= 0"),
    ("power", (-1,), "a <= 0"), ("weibull", (-1,), "a < 0"), ("rayleigh", (-1,), "scale < 0")])
def test_parameters_out_of_range(name, wrong, text):
    arrays = [np.array([1.0, x]) for x in wrong]
    for draw in (getattr(np.random, name), getattr(np.random.default_rng(0), name)):
        with pytest.raises(ValueError, match=text):
            draw(*arrays).wait_to_read()
    with pytest.raises(ValueError, match=text):
        getattr(numpy.random, name)(*(x.asnumpy() for x in arrays))


@pytest.mark.parametrize("draw", [
    lambda dtype: np.random.normal(1, 2, 20000, dtype=dtype), lambda dtype: np.random.uniform(2, 3, 20000, dtype=dtype),
    lambda dtype: np.random.rand(20000, dtype=dtype), lambda dtype: np.random.randn(20000, dtype=dtype),
    lambda dtype: np.random.exponential(2, 20000, dtype=dtype),
    lambda dtype: np.random.uniform(np.array([2.0]), np.array([3.0]), 20000, dtype=dtype)])
def test_float16(draw):
    """The numbers of float32, rounded; and below a bound still."""
    np.random.seed(5)
    single = draw("float32").asnumpy()
    np.random.seed(5)
    half = draw("float16").asnumpy()
    assert half.dtype == numpy.float16 and single.dtype == numpy.float32
    numpy.testing.assert_allclose(half, single, rtol=2 ** -10, atol=2 ** -13)
    if 2 <= single.min() and single.max() < 3:
        assert 2 <= half.min() and half.max() < 3
