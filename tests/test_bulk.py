"""Work on many bytes, which goes other ways than on few: masks, copies, ranges."""

import numpy
import pytest
from compare import assert_same, assert_same_outcome, outcome
from engines import configured

import dflow.numpy as np

WAYS = [{}, {"workers": 3, "limit": 0}, {"naive": True}]


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.99, 1])
@pytest.mark.parametrize("n", [4095, 4096, 65_536, 131_071, 131_072, 500_001])
def test_masks(n, share):
    mask = numpy.random.default_rng(n).random(n) < share
    for way in WAYS:
        with configured(**way):
            x = np.array(mask)
            for function in ("count_nonzero", "all", "any", "flatnonzero", "sum"):
                assert_same(getattr(np, function)(x), getattr(numpy, function)(mask))
            assert_same(np.nonzero(x)[0], numpy.nonzero(mask)[0])
            assert_same(np.where(x, np.arange(n), 0), numpy.where(mask, numpy.arange(n), 0))
            assert_same(np.count_nonzero(x[::2]), numpy.count_nonzero(mask[::2]))


@pytest.mark.parametrize("dtype", list("?bBhHiIlLefdgFDG"))
@pytest.mark.parametrize("seed", range(12))
def test_places_of_what_is_not_zero(dtype, seed):
    random = numpy.random.default_rng(seed)
    for _ in range(8):
        ndim = random.integers(1, 5)
        shape = tuple(int(2 ** random.uniform(0, 17 / ndim)) for _ in range(ndim))
        x = random.choice([0, -0.0, 1, numpy.nan, numpy.inf, 3, 1j], shape).astype(complex)
        x[random.random(shape) < random.random() ** 2] = 0
        with numpy.errstate(invalid="ignore"):
            x = (x if dtype in "FDG" else x.real).astype(dtype)
        order = random.permutation(x.ndim)
        steps = tuple(slice(None, None, int(step)) for step in random.choice([1, 1, -1, 2], x.ndim))
        ours, theirs = (a.transpose(order)[steps] for a in (np.array(x), x))
        for function in ("nonzero", "argwhere", "flatnonzero", "where"):
            found, expected = getattr(np, function)(ours), getattr(numpy, function)(theirs)
            assert type(found) is tuple or type(expected) is not tuple
            for one, other in zip(found, expected) if type(found) is tuple else [(found, expected)]:
                assert_same(one, other)
    assert [len(found) for found in np.zeros((3, 0, 2), dtype).nonzero()] == [0, 0, 0]


def test_what_decides_may_come_late():
    for n in (4096, 5000, 300_000):
        for place in (0, 4095, n - 1):
            x = np.zeros(n, bool)
            x[place] = True
            assert x.any() and not (~x).all()
            assert not x[:place].any() and (~x)[:place].all()
    assert np.full(5000, 2, "u1").view(bool).any()      # true, though not 1


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8", "c16"])
@pytest.mark.parametrize("ahead", [0, 1, 2, 7, 8, 15, 16, 63, 64, 65])
def test_copies_within_the_page_where_they_begin(ahead, dtype):
    """From one array into another, and within one, to either side."""
    for n in (100, 1100, 5000, 70_000):
        x = numpy.arange(n + ahead).astype(dtype)
        for target, source in ((slice(ahead, None), slice(n)), (slice(n), slice(ahead, None))):
            y, z = numpy.zeros_like(x), x.copy()
            y[target] = x[source]
            z[target] = z[source]
            for way in WAYS:
                with configured(**way):
                    ours, same = np.zeros(n + ahead, dtype), np.array(x)
                    ours[target] = same[source]
                    assert_same(ours, y)
                    same[target] = same[source]
                    assert_same(same, z)
    joined = [x[:5], x, x[:3], x]
    assert_same(np.concatenate(list(map(np.array, joined))), numpy.concatenate(joined))


@pytest.mark.parametrize("arguments", [(4097,), (100_000,), (7, 500_000, 3), (10, -400_000, -7), (5000.0,),
                                       (0.5, 90_000, 0.7), (1e17, 1e17 + 1e6, 16.0), (0, 1, 1e-5), (3, -9000.5, -0.1),
                                       (-0.0, 5000), (2**53, 2**53 + 9999), (2**60, 2**60 + 5000),
                                       (-2**63, -2**63 + 5000), (0.1, 700, 0.1)])
def test_long_ranges(arguments):
    for way in WAYS:
        with configured(**way):
            assert_same(np.arange(*arguments), numpy.arange(*arguments))
            for dtype in ("f4", "f8", "i8", "u8", "i2"):
                if abs(arguments[0]) < 1e6:
                    assert_same(np.arange(*arguments, dtype=dtype), numpy.arange(*arguments, dtype=dtype))
    assert_same(np.linspace(*arguments[:1], 3.3, 9999), numpy.linspace(*arguments[:1], 3.3, 9999))


def test_few_needles_in_a_long_haystack():
    x = numpy.sort(numpy.random.default_rng(0).random(20_000))
    y = np.array(x)
    for v in (0.5, -1, 2.0, x[77], x[:5], numpy.nan, [0.1, 0.9], numpy.array([[0.3]])):
        for side in ("left", "right"):
            needles = np.array(v) if isinstance(v, numpy.ndarray) else v
            assert_same(np.searchsorted(y, needles, side), numpy.searchsorted(x, v, side))
            assert_same(y.searchsorted(v, side), x.searchsorted(v, side))
    with pytest.raises(ValueError):
        np.searchsorted(y, 0.5, "middle")


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_interpolation(n):
    """The bits of NumPy's, between points that are equal, infinite or NaN too, for x that rise or do not."""
    random = numpy.random.default_rng(n)
    for k in range(60):
        xp = numpy.sort(random.integers(0, 30, n) / 7 if k % 2 else random.normal(size=n))
        fp = random.normal(size=n)
        x = numpy.concatenate([random.normal(size=4200) * 4, xp, [numpy.nan, numpy.inf, -numpy.inf]])
        if k % 5 == 0:
            fp[random.integers(n)] = [numpy.inf, -numpy.inf, numpy.nan][k // 5 % 3]
        if k % 7 == 0:
            xp[-1] = numpy.inf
        if k % 3 == 0:
            x.sort()
        bounds = (None, None) if k % 4 else (-1, 2.5)
        expected = numpy.interp(x, xp, fp, *bounds)
        for way in WAYS:
            with configured(**way):
                pending = np.array(x) + 0
                assert_same(np.interp(pending, np.array(xp), np.array(fp), *bounds), expected)
    assert_same(np.interp(np.arange(5000), np.arange(3), np.array([1, 5, 2], "f4")),
                numpy.interp(numpy.arange(5000), numpy.arange(3), numpy.array([1, 5, 2], "f4")))


@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
@pytest.mark.parametrize("obj", [0, -1, 70_000, slice(3, 70_000), slice(None, None, -7), [5, -3, 5, 69_999]])
def test_elements_in_and_out(obj, share):
    random = numpy.random.default_rng(0)
    x, mask, places = random.random(70_000), random.random(70_000) < share, random.integers(-70_000, 70_000, 70_000)

    def put(np, x, mask, places):
        np.put(x, places, 2.5)
        np.place(x, mask, [1, 2, 3])
        np.add.at(x, places, 0.5)
        np.add.at(x.reshape(7, -1), (slice(2, 5), places % 100), 1.0)
        return x

    calls = [lambda np, x, mask, places: np.insert(x, obj, 7.0), lambda np, x, mask, places: np.delete(x, obj),
             lambda np, x, mask, places: np.delete(x.reshape(-1, 70), mask[:70], 1), put,
             lambda np, x, mask, places: np.extract(mask, x), lambda np, x, mask, places: np.packbits(mask),
             lambda np, x, mask, places: np.unpackbits(mask.view("u1") + places.astype("u1"), count=-9)]
    for call in calls:
        expected = outcome(lambda call=call: call(numpy, x.copy(), mask, places))
        for way in WAYS:
            with configured(**way):
                assert_same_outcome(outcome(lambda call=call: call(np, *map(np.array, (x, mask, places)))), expected)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
@pytest.mark.parametrize("m", [1, 2, 31, 100])
def test_sliding_products(m, dtype):
    random = numpy.random.default_rng(m)
    x, v = ((random.random(n) * 99 + (1j if dtype == "c16" else 0)).astype(dtype) for n in (140_000, m))
    v[0] = 0 if dtype == "i8" else numpy.nan if m == 31 else v[0]           # which the edges do not all meet
    for function in ("correlate", "convolve"):
        for mode in ("full", "same", "valid"):
            for a, b in ((x, v), (v, x)):
                expected = getattr(numpy, function)(a, b, mode)
                for way in WAYS:
                    with configured(**way):
                        result = getattr(np, function)(np.array(a), np.array(b), mode)
                    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
                    numpy.testing.assert_allclose(result.asnumpy(), expected, 1e-4 if dtype == "f4" else 1e-12)
