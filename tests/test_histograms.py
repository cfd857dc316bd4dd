"""Counts in bins of one width: of numbers of every type, in spans, with weights; few, which NumPy counts, and many."""

import warnings

import numpy
import pytest
from compare import assert_as_given, assert_same, given
from engines import configured

import dflow.numpy as np

TYPES = ("f8", "f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
WEIGHTS = (None, None, "f8", "f4", "f2", "i4", "i8", "?", "c16", "u1")


def draw(random):
    dtype = random.choice(TYPES)
    size = int(10 ** random.uniform(0, 5))
    x = random.standard_normal(size) * 10 ** random.uniform(-3, 3)
    if random.random() < 0.3:                                       # on the edges
        x = numpy.round(x * random.choice([1, 2, 8])) / random.choice([1, 2, 10])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)             # floats as integers that do not hold them
        x = x > 0 if dtype == "?" else (x if dtype[0] == "f" else x * 10).astype(dtype)
    if dtype in ("i8", "u8") and random.random() < 0.3:
        x = x * numpy.array(10 ** 15, dtype)
    span = None
    if random.random() < 0.5:
        low, high = numpy.sort(random.uniform(-3, 3, 2))
        kind = random.integers(4)
        span = [(float(low), float(high)), (int(low * 5), int(high * 5)), (numpy.float32(low), numpy.float32(high)),
                (low, float(high))][kind]
        if dtype[0] == "f" and random.random() < 0.3:
            x[::7], x[::11] = numpy.nan, numpy.inf
    kind = WEIGHTS[random.integers(len(WEIGHTS))]
    weights = None if kind is None else (random.standard_normal(size) * 3).astype(kind)
    if kind in ("f8", "f4") and random.random() < 0.1:
        weights[::5] = numpy.nan
    bins = int(random.choice([1, 2, 3, 10, 100, 1000, 2048, 2049, random.integers(1, 5000)]))
    return x, bins, span, weights, bool(random.random() < 0.3)


def part(np, i, x, bins, span, weights, density):
    weights = None if weights is None else np.array(weights)
    found = np.histogram(np.array(x), bins, span, density=density, weights=weights)
    numpy.asarray(found[1 - i])             # a warning comes with the first that is read, or before
    return found[i]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize("seed", range(5))
def test_as_numpys(seed, limit):
    random = numpy.random.default_rng([11, seed])
    with configured(limit=limit):
        for _ in range(60):
            x, bins, span, weights, density = case = draw(random)
            text = (x.dtype, x.shape, bins, span, getattr(weights, "dtype", None), density)
            for i in (0, 1):
                assert_as_given(given(part, np, i, *case), given(part, numpy, i, *case), text)


def test_edges_belong_to_the_bin_on_their_right_and_the_last_to_both():
    edges = numpy.linspace(0.1, 0.7, 1201)
    for x in (edges, numpy.nextafter(edges, 0), numpy.nextafter(edges, 1)):
        counts, found = np.histogram(np.array(x), 1200, (0.1, 0.7))
        assert_same(counts, numpy.histogram(x, 1200, (0.1, 0.7))[0])
        assert_same(found, edges)


def test_any_shape_and_steps():
    x = numpy.random.default_rng(3).random((60, 70, 3))
    y = np.array(x)
    for view in (lambda a: a, lambda a: a.T, lambda a: a[::-2, 1:], lambda a: a[..., 0]):
        for weights in (False, True):
            mine = np.histogram(view(y), 30, weights=view(y) if weights else None)
            theirs = numpy.histogram(view(x), 30, weights=view(x) if weights else None)
            assert_same(mine[0], theirs[0])
            assert_same(mine[1], theirs[1])
