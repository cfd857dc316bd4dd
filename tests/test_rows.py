"""Rows of few numbers: arithmetic in two dimensions and more, and what is added up along other axes than the last.

Lengths are drawn evenly in their logarithms, on both sides of those at which another loop takes over; steps, broadcast
operands, results in place and what is still pending at random. Bits and warnings are NumPy's.
"""

import numpy
import pytest
from compare import assert_as_given, assert_same, given
from engines import configured

import dflow.numpy as np

pytestmark = pytest.mark.core

OPERATIONS = ("add", "subtract", "multiply", "divide")


def numbers(random, shape, dtype):
    x = (random.standard_normal(shape) * 10 ** random.uniform(-2, 2)).astype(dtype)
    if random.random() < 0.15 and x.size:
        x.flat[:: random.integers(2, 9)] = random.choice([numpy.nan, numpy.inf, 0, -0.0, 1e38])
    return x


def shapes(random):
    """A shape whose last axis is short, and one that is broadcast to it."""
    ndim = random.integers(2, 5)
    shape = [int(10 ** random.uniform(0, limit)) for limit in [2.5 / (ndim - 1)] * (ndim - 1) + [2.2]]
    return shape, [n if random.random() < 0.6 else 1 for n in shape]


ENGINES = {"default": {}, "queued": {"limit": 0}, "queued, one by one": {"limit": 0, "bulk": 0}}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(4))
def test_arithmetic_of_short_rows(seed, engine):
    random = numpy.random.default_rng([2, seed])
    with configured(**ENGINES[engine]):
        for _ in range(100):
            shape, other = shapes(random)
            dtype, second = random.choice(["f4", "f8"], 2)
            x, y = numbers(random, shape, dtype), numbers(random, other, dtype if random.random() < 0.7 else second)
            axes, step, name = random.permutation(len(shape)), random.choice([1, 1, 2, -1]), random.choice(OPERATIONS)
            swapped, inplace = random.random(2) < 0.3
            assert_as_given(given(work, np, x, y, axes, step, name, swapped, inplace),
                            given(work, numpy, x, y, axes, step, name, swapped, inplace),
                            (name, x.dtype, shape, y.dtype, other, axes, step, swapped, inplace))


def work(np, x, y, axes, step, name, swapped, inplace):
    a, b = (np.array(z).transpose(axes) for z in (x, y))
    a, b = a[::step], b[::step] if b.shape[0] == a.shape[0] else b
    if inplace and a.dtype == b.dtype:
        getattr(np, name)(a, b, out=a)
        return a
    return getattr(np, name)(*((b, a) if swapped else (a, b)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_sums_down_short_rows(seed, engine):
    """Row after row, as NumPy adds them."""
    random = numpy.random.default_rng([3, seed])
    with configured(**ENGINES[engine]):
        for _ in range(100):
            n, rows = int(10 ** random.uniform(0, 2.2)), int(10 ** random.uniform(0, 2.5))
            x = numbers(random, (rows, n), random.choice(["f4", "f8"]))
            step, first, name = random.choice([1, 2, -1]), int(random.integers(0, n)), random.choice(["sum", "mean"])
            assert_as_given(given(down, np.array(x), step, first, name), given(down, x, step, first, name),
                            (x.dtype, x.shape, step, first, name))


def down(x, step, first, name):
    return getattr(x[::step, first:], name)(axis=0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_over_several_axes_before_the_last(dtype):
    random = numpy.random.default_rng(4)
    for _ in range(100):
        shape = [int(10 ** random.uniform(0, 0.9)) for _ in range(3)] + [int(10 ** random.uniform(0.4, 2.2))]
        x = random.standard_normal(shape).astype(dtype)
        for axes in ((0, 1, 2), (1, 2), (0, 1), (0, 2)):
            got, want = np.array(x).sum(axis=axes).asnumpy(), x.astype("f16" if dtype == "f8" else "f8").sum(axis=axes)
            bound = numpy.finfo(dtype).eps * abs(x).sum(axis=axes) * numpy.prod([shape[axis] for axis in axes])
            assert (abs(got - want) <= bound).all()
            rows = x.transpose(*axes, *(axis for axis in range(4) if axis not in axes))
            start = np.array(rows[(0,) * len(axes)])
            for place in list(numpy.ndindex(rows.shape[:len(axes)]))[1:]:
                start = start + np.array(rows[place])
            if axes == (0, 1, 2):
                assert_same(got, start.asnumpy())
