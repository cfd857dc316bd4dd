"""sin and cos of float64 have vector loops of their own: the bits must be those of the C library, which NumPy calls."""

import platform
import warnings

import numpy
import pytest

import dflow.numpy as np
from dflow._kernels import trig

FUNCTIONS = ("sin", "cos")
COUNT = 1_000_000
LIMITS = numpy.array([2.0**-1022, 2.0**-300, 2.0**-27, 2.0**-26, 0.126, 0.85546875, 2.4262638092041016, 105414336])


@pytest.fixture(scope="module", autouse=True)
def used():
    """With their first use the loops are chosen, and their table is made."""
    for name in FUNCTIONS:
        getattr(np, name)(np.zeros(2)).asnumpy()


@pytest.fixture(params=["NumPy's loop", "AVX2", "AVX-512"])
def way(request):
    """Every way that this machine has to compute them."""
    number = ["NumPy's loop", "AVX2", "AVX-512"].index(request.param)
    if number >= trig.sincos_way(-1):
        pytest.skip("this machine has no such instructions")
    trig.sincos_way(number)
    yield number
    trig.sincos_way(-1)


def neighbours(values, random, ulps=40):
    """The numbers some units in the last place around some of these."""
    picked = numpy.ascontiguousarray(random.choice(values, COUNT))
    return (picked.view(numpy.int64) + random.integers(-ulps, ulps + 1, COUNT)).view(numpy.float64)


def any_bits(random):
    return random.integers(0, 2**64, COUNT, dtype=numpy.uint64).view(numpy.float64)


DISTRIBUTIONS = {
    "one turn": lambda random: random.uniform(-numpy.pi, numpy.pi, COUNT),
    "some turns": lambda random: random.uniform(-1000, 1000, COUNT),
    "all turns": lambda random: random.uniform(-1.1e8, 1.1e8, COUNT),
    "exponents": lambda random: numpy.copysign(2.0 ** random.uniform(-1074, 1024, COUNT), random.random(COUNT) - 0.5),
    "usual exponents": lambda random: numpy.copysign(2.0 ** random.uniform(-40, 28, COUNT), random.random(COUNT) - 0.5),
    "bits": any_bits,
    "quarters": lambda random: neighbours(numpy.rint(2.0 ** random.uniform(0, 26, COUNT)) * (numpy.pi / 2), random),
    "rows": lambda random: neighbours(numpy.arange(-400, 401) / 128, random),
    "between rows": lambda random: neighbours(numpy.arange(-799, 801, 2) / 256, random),
    "limits": lambda random: neighbours(LIMITS, random),
}


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_bits_are_numpys(way, name, distribution):
    values = DISTRIBUTIONS[distribution](numpy.random.default_rng(FUNCTIONS.index(name)))
    actual = getattr(np, name)(np.array(values)).asnumpy()
    expected = getattr(numpy, name)(values)
    differ = actual.view(numpy.int64) != expected.view(numpy.int64)
    assert not differ[~numpy.isnan(values)].any(), values[differ][:5]
    assert numpy.isnan(actual[numpy.isnan(values)]).all()


def special(random, n):
    """Numbers, of which some are left to NumPy's loop."""
    values = random.uniform(-20, 20, n)
    values[random.random(n) < 0.1] = -0.0
    values[random.random(n) < 0.05] = 1e200
    values[random.random(n) < 0.05] = 5e-324
    return values


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_length_stride_and_place(way, name):
    random = numpy.random.default_rng(3)
    theirs, ours = getattr(numpy, name), getattr(np, name)
    for n in [*range(40), 255, 256, 257, 600]:
        values = special(random, 3 * n + 1)
        array = np.array(values)
        for part in (slice(n), slice(1, n + 1), slice(0, 3 * n, 3), slice(n, 0, -1), slice(None, None, -2)):
            assert ours(array[part]).asnumpy().tobytes() == theirs(values[part]).tobytes(), (n, part)
        spaced = np.zeros(2 * n)
        ours(array[:n], out=spaced[::2])
        assert spaced[::2].asnumpy().tobytes() == theirs(values[:n]).tobytes()
        expected = values.copy()
        expected[1:] = theirs(values[:-1])                  # over its own input, shifted
        ours(array[:-1], out=array[1:])
        assert array.asnumpy().tobytes() == expected.tobytes()
        expected = theirs(expected)
        ours(array, out=array)
        assert array.asnumpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (5, 7)])
def test_shapes(way, name, shape):
    values = numpy.random.default_rng(4).uniform(-9, 9, shape)
    actual = getattr(np, name)(np.array(values))
    assert actual.shape == shape
    assert actual.asnumpy().tobytes() == numpy.asarray(getattr(numpy, name)(values)).tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_mask_and_what_is_built_on_it(way, name):
    values = special(numpy.random.default_rng(5), 1001)
    mask = values > 0
    expected = getattr(numpy, name)(values, where=mask, out=values.copy())
    actual = getattr(np, name)(np.array(values), where=np.array(mask), out=np.array(values))
    assert actual.asnumpy().tobytes() == expected.tobytes()
    expected = getattr(numpy, name)(numpy.arange(50)) * 2
    assert (getattr(np, name)(np.arange(50)) * 2).asnumpy().tobytes() == expected.tobytes()


def test_zeros_keep_their_sign(way):
    zeros = numpy.array([0.0, -0.0] * 9)
    assert np.sin(np.array(zeros)).asnumpy().tobytes() == zeros.tobytes()
    assert np.cos(np.array(zeros)).asnumpy().tobytes() == numpy.ones(18).tobytes()


def messages(module, array, name, **state):
    """The warnings of a call."""
    with warnings.catch_warnings(record=True) as caught, numpy.errstate(**state):
        warnings.simplefilter("always")
        numpy.asarray(getattr(module, name)(array))
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("odd", [
    0.0, -0.0, 5e-324, 1e-310, 2.3e-308, 1e-150, 1e-20, 105414335.0, 1e9, 1e308, numpy.nan, numpy.inf])
def test_floating_point_flags_are_numpys(way, name, odd):
    """An odd one among others warns as in NumPy, and does not where NumPy does not."""
    for n, place in [(1, 0), (5, 2), (8, 7), (21, 20), (21, 3), (1000, 500)]:
        values = numpy.linspace(-5, 5, n)
        values[place] = odd
        assert messages(np, np.array(values), name, all="warn") == messages(numpy, values, name, all="warn"), n


def test_infinity_raises_where_it_is_asked_to(way):
    values = np.array([1.0] * 20 + [numpy.inf])
    with numpy.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid value encountered in sin"):
        np.sin(values).asnumpy()
    assert not np.isnan(np.cos(values[:20])).any()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc" or platform.machine() != "x86_64",
                    reason="other C libraries have other algorithms: NumPy's loop is used")
def test_the_vector_loops_are_used_with_glibc():
    if trig.sincos_way(-1) == 1:
        pytest.skip("no FMA")
    assert [trig.sincos_agrees(getattr(numpy, name)) for name in FUNCTIONS] == [True, True]


@pytest.mark.parametrize("column, error", list(enumerate([2.0**-52, 2.0**-54, 2.0**-44, 2.0**-44])))
@pytest.mark.parametrize("way", range(1, trig.sincos_way(-1)))
def test_the_comparison_with_numpys_loop_tries_every_entry(way, column, error):
    """It finds whatever is wrong by so much that results change. The series does without sines up to row 15."""
    if trig.sincos_agrees(numpy.sin) is None:
        pytest.skip("another C library: NumPy's loop is used")
    trig.sincos_way(way)
    rows = trig.sincos_rows()
    try:
        for row in [*range(16, 110), *range(128, 128 + 110)]:
            right = rows[row, column]
            rows[row, column] += error
            agree = trig.sincos_agrees(numpy.sin) and trig.sincos_agrees(numpy.cos)
            rows[row, column] = right
            assert not agree, row
        assert trig.sincos_agrees(numpy.sin) and trig.sincos_agrees(numpy.cos)
    finally:
        trig.sincos_way(-1)
