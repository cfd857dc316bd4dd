"""Long rows are sorted in runs that are merged: the same numbers as NumPy's, on any number of workers."""

import numpy
import pytest
from engines import Gate, configured

import dflow
import dflow.numpy as np
from dflow._kernels import sorting

pytestmark = pytest.mark.core

RUN = 1 << 16                   # elements of a run, at least
LENGTHS = (2 * RUN - 1, 2 * RUN, 2 * RUN + 1, 5 * RUN + 3, 9 * RUN + 77)
TYPES = "?bBhHiIlLqQefdgFD"


@pytest.fixture(autouse=True, params=["this machine", "many cores"])
def machine(request):
    """With many cores there are more runs, merged two at a time."""
    before = sorting.set_cores(64)
    if request.param == "this machine":
        sorting.set_cores(before)
    yield
    sorting.set_cores(before)


def numbers(n, dtype):
    rng = numpy.random.default_rng(n)
    if dtype == "?":
        return rng.random(n) < 0.3
    if dtype in "BHILQ":
        return rng.integers(0, numpy.iinfo(dtype).max, n, dtype, endpoint=True)
    if dtype in "bhilq":
        return rng.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max, n, dtype, endpoint=True)
    x = (rng.standard_normal(n) * 1000).astype(dtype)
    x[::1713] = numpy.nan
    x[5], x[7 * n // 8], x[n // 2] = numpy.inf, -numpy.inf, 0
    return x


@pytest.mark.once
@pytest.mark.parametrize("kind", [None, "stable", "heapsort"])
@pytest.mark.parametrize("dtype", TYPES)
def test_numbers(dtype, kind):
    for n in LENGTHS if dtype in "dlB" else LENGTHS[3:4]:
        x = numbers(n, dtype)
        expected = numpy.sort(x, kind=kind)
        numpy.testing.assert_array_equal(np.sort(np.array(x), kind=kind), expected)
        y = np.array(x)
        assert y.sort(kind=kind) is None
        numpy.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("order", ["sorted", "reversed", "equal", "one at the end", "one at the start", "saw"])
def test_patterns(order):
    n = 8 * RUN + 5
    x = numpy.arange(n)
    x = {"sorted": x, "reversed": x[::-1], "equal": x * 0, "one at the end": numpy.append(x[1:], 0),
         "one at the start": numpy.append(n, x[:-1]), "saw": x % 1000}[order]
    numpy.testing.assert_array_equal(np.sort(np.array(x)), numpy.sort(x))


def test_equal_elements_keep_their_order():
    x = numpy.zeros(2 * RUN + 9)
    x[numpy.random.default_rng(2).random(len(x)) < 0.5] = -0.0
    assert np.sort(np.array(x), kind="stable").asnumpy().tobytes() == numpy.sort(x, kind="stable").tobytes()
    nans = numpy.where(numpy.arange(len(x)) % 3, x, numpy.nan)
    numpy.testing.assert_array_equal(np.sort(np.array(nans), kind="stable"), numpy.sort(nans, kind="stable"))


def test_shapes_and_strides():
    x = numbers(3 * RUN, "d")
    for view in (lambda a: a[::-1], lambda a: a[1::2][:2 * RUN], lambda a: a.reshape(1, -1), lambda a: a.reshape(-1, 1),
                 lambda a: a.reshape(1, -1, 1)):
        axis = int(numpy.argmax(view(x).shape))
        expected = numpy.sort(view(x), axis)
        numpy.testing.assert_array_equal(np.sort(view(np.array(x)), axis), expected)
        y = np.array(x)
        view(y).sort(axis)
        z = x.copy()
        view(z).sort(axis)
        numpy.testing.assert_array_equal(y, z)
    numpy.testing.assert_array_equal(np.sort(np.array(x.reshape(3, -1)), None), numpy.sort(x))


def test_part_of_an_array_in_place():
    x = numbers(5 * RUN, "f")
    y = np.array(x)
    y[RUN:4 * RUN].sort()
    x[RUN:4 * RUN].sort()
    numpy.testing.assert_array_equal(y, x)


def test_the_same_bits_on_any_number_of_workers():
    x = numpy.round(numbers(6 * RUN, "d") / 100)                # many equal ones, some of them -0.0
    results = set()
    for workers in (1, 2, 5):
        with configured(workers=workers):
            results.add(np.sort(np.array(x)).asnumpy().tobytes())
    with configured(naive=True):
        results.add(np.sort(np.array(x)).asnumpy().tobytes())
    assert len(results) == 1


def test_pending_and_poisoned_input():
    x = numbers(3 * RUN, "l")
    with Gate() as gate:
        y = gate.hold(np.array(x))
        z = np.sort(y)
        z[::2] = 0
        assert not z.is_ready()
    expected = numpy.sort(x)
    expected[::2] = 0
    numpy.testing.assert_array_equal(z, expected)

    def fail(a):
        raise ZeroDivisionError("not today")

    failed = dflow.submit(fail, np.array(x), shape=x.shape, dtype=x.dtype)
    with pytest.raises(ZeroDivisionError, match="not today"):
        np.sort(failed).asnumpy()


@pytest.mark.parametrize("dtype", ["?", "b", "B"])
def test_numbers_of_one_byte(dtype):
    """Counted, not compared."""
    rng = numpy.random.default_rng(3)
    for _ in range(150):
        shape = [int(10 ** rng.uniform(0, limit)) for limit in rng.permutation([4.5, 1])[:rng.integers(1, 3)]]
        low, high = (0, 2) if dtype == "?" else sorted(rng.integers(*((-128, 128) if dtype == "b" else (0, 256)), 2))
        x = rng.integers(low, high + 1, shape).astype(dtype)[::rng.choice([1, 1, -1, 2])]
        axis = int(rng.integers(x.ndim))
        kind = rng.choice(["quicksort", "stable", "heapsort"])
        numpy.testing.assert_array_equal(np.sort(np.array(x), axis, kind), numpy.sort(x, axis))
        y = np.array(x)
        y.T.sort(x.ndim - 1 - axis)
        numpy.testing.assert_array_equal(y, numpy.sort(x, axis))
