"""Few elements at places that several indices name: taken and stored, as NumPy does."""

import numpy
import pytest
from compare import same_bits
from engines import configured

import dflow.numpy as np

pytestmark = pytest.mark.core

DTYPES = "?bBhHiIlLqQefdgFDG"


def index(random, n, count, length):
    """An index of an axis, of one kind or another; most are of `count` places, some out of bounds."""
    low, high = (-length, length) if random.random() < 0.95 else (-length - 1, length + 1)
    at = random.integers(low, max(high, low + 1), count if random.random() < 0.95 else count + 1)
    kind = random.integers(16)
    if kind == 14:                          # a mask, mostly of the axis
        return n.array(random.random(length + (random.random() < 0.05)) < random.choice([0, 0.3, 0.7, 1]))
    if kind == 15:
        return slice(None)
    if kind > 9:                            # several axes, which are broadcast
        at = at.reshape([(-1, 1), (1, -1), (2, -1) if at.size % 2 == 0 else (1, -1), (-1, 1, 1)][kind - 10])
        way = random.integers(4)
        return at.tolist() if way == 0 else n.array(at).T if way == 1 else n.array(at.astype("bhil"[way]))
    if kind < 3:
        return n.array(at.astype("bhilBHIL"[random.integers(4)]))
    if kind < 5:
        return [int(i) for i in at]
    if kind == 5:
        return tuple(int(i) for i in at)
    if kind < 8:
        return int(at[0]) if at.size else 0
    if kind == 8:
        return n.array(at)[0] if at.size else n.array(at)
    return n.array(numpy.repeat(at, 2))[::2]


def drawn(seed, n):
    """An array, a key and a value: the same for each n, NumPy or ours."""
    random = numpy.random.default_rng(seed)
    ndim = int(random.integers(1, 4))
    shape = [int(2.0 ** random.uniform(0, 4)) for _ in range(ndim)]
    dtype = DTYPES[random.integers(len(DTYPES))]
    a = n.array((random.random(shape) * 100).astype(dtype))
    way = random.integers(6)
    if way == 1:
        a = a.T
    elif way == 2:
        a = a[::-1]
    elif way == 3:
        a = a[..., ::2]
    count = int(2.0 ** random.uniform(0, 6 if random.random() < 0.9 else 9)) - (random.random() < 0.05)
    axes = int(random.integers(1, ndim + 1))
    key = tuple(index(random, n, count, a.shape[d]) for d in range(axes))
    if axes == 1 and random.random() < 0.5 and type(key[0]) is not tuple:
        key = key[0]
    kind = random.integers(7)
    block = tuple(a.shape[axes:])
    if kind < 2:
        value = [3, 2.5, True][random.integers(3)]
    elif kind == 2:
        value = n.array((random.random(block) * 50).astype(dtype))
    elif kind == 3:
        places = (count, count) if count and random.random() < 0.4 else (count,)      # NumPy takes (0, 0) for (0,)
        value = n.array((random.random((*places, *block)) * 50).astype(dtype))
    elif kind == 4:
        value = [int(i) for i in random.integers(0, 2, count)]
    elif kind == 5:
        value = n.array((random.random((count, *block)) * 50).astype(DTYPES[random.integers(len(DTYPES))]))
    else:
        value = a[(0,) * ndim] if 0 not in a.shape else 1
    return a, key, value


def done(f, n):
    try:
        return f(n)
    except (IndexError, TypeError, ValueError, OverflowError) as error:
        return type(error)


def check(seed):
    def taken(n):
        a, key, _ = drawn(seed, n)
        return numpy.asarray(a[key])

    def stored(n):
        a, key, value = drawn(seed, n)
        a[key] = value
        return numpy.asarray(a)

    for f in (taken, stored):
        with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
            theirs, ours = done(f, numpy), done(f, np)
        if isinstance(theirs, type) or isinstance(ours, type):
            assert theirs is ours, (seed, f.__name__, theirs, ours)
        else:
            assert theirs.shape == ours.shape and theirs.dtype == ours.dtype and same_bits(ours, theirs), (
                seed, f.__name__, drawn(seed, numpy))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 6000, 200))
def test_random_places(first):
    for seed in range(first, first + 200):
        check(seed)


@pytest.mark.filterwarnings("ignore")
def test_the_same_while_work_is_pending():
    with configured(limit=0):
        for seed in range(10_000, 10_400):
            check(seed)


def test_what_is_read_as_it_is_written():
    """Indices, and values, from the memory of the very array."""
    for n in (numpy, np):
        x = n.array([3, 0, 1, 2])
        x[x] = 7
        assert list(x) == [7, 7, 7, 7]
        x = n.array([3, 0, 1, 2])
        x[[0, 1, 2, 3]] = x[::-1]
        assert list(x) == [2, 1, 0, 3]
        x = n.arange(16).reshape(4, 4)
        x[x[0], [0, 1, 2, 3]] = x[1]
        assert x.tolist() == [[4, 1, 2, 3], [4, 5, 6, 7], [8, 9, 6, 11], [12, 13, 14, 7]]
        x = n.zeros(3)
        x[[0, 0, 1, 0]] = [1, 2, 3, 4]              # the last one stays
        assert list(x) == [4, 3, 0]


def test_nothing_is_written_where_an_index_is_out_of_bounds():
    x = np.zeros((3, 3))
    for key in (([0, 3], [0, 0]), ([0, 1], [0, -4]), [0, 3], ([0, 1], 3)):
        with pytest.raises(IndexError, match="out of bounds"):
            x[key] = 1
    assert not x.any()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[[0], [0]] = 1
