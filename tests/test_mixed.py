"""Few elements of different types, whose casts go by the way; results that lie where operands do; reductions that cast
what they read. Drawn at random: values, types, warnings and errors are NumPy's."""

import numpy
import pytest
from compare import assert_as_given, given
from engines import configured

import dflow.numpy as np

pytestmark = pytest.mark.core

DTYPES = "?bBhHiIlLqQefdgFDG"
BINARY = ("add subtract multiply true_divide floor_divide remainder maximum minimum fmax fmin less equal greater_equal "
          "bitwise_and bitwise_xor left_shift logical_or hypot arctan2 copysign").split()
UNARY = "negative absolute square sqrt exp sign logical_not conjugate floor sin".split()
OPERATORS = "+ - * / // % & | ^".split()
REDUCTIONS = "sum mean prod any all max min argmax argmin std".split()


def length(random, most=4):
    return int(10 ** random.uniform(0, most)) - (random.random() < 0.05)


def array(random, n, shape, dtype=None):
    """Small numbers of some type, laid out in some way."""
    dtype = dtype or DTYPES[random.integers(len(DTYPES))]
    values = random.integers(0 if dtype in "?BHILQ" else -9, 10, shape)
    values = values + (random.random(shape) if dtype in "efdg" else 1j * random.random(shape) if dtype in "FDG" else 0)
    way = random.integers(6) if values.ndim == 1 else 0
    if way == 1:
        return n.array(numpy.repeat(values, 2).astype(dtype))[::2]
    if way == 2:
        return n.array(values[::-1].astype(dtype))[::-1]
    return n.array(values.astype(dtype))


def number(random, x):
    """What stands beside an array: a number of Python's or NumPy's, or an element."""
    return [3, 0.5, True, 2j, -1, 300, numpy.float32(1.5), numpy.int8(3), x[(0,) * x.ndim] if x.size else 2,
            numpy.uint64(7)][random.integers(10)]


def operands(random, n):
    shape = tuple(length(random, 3.3 / (1 + i)) for i in range(random.integers(3))) or (length(random, 3.3),)
    x = array(random, n, shape)
    kind = random.integers(8)
    y = (number(random, x) if kind == 0 else array(random, n, shape[-1:]) if kind == 1 else array(random, n, ())
         if kind == 2 else array(random, n, shape))
    return (y, x) if random.random() < 0.3 else (x, y)


def binary(random, n):
    a, b = operands(random, n)
    return getattr(n, BINARY[random.integers(len(BINARY))])(a, b)


def unary(random, n):
    return getattr(n, UNARY[random.integers(len(UNARY))])(operands(random, n)[0])


def operator(random, n):
    a, b = operands(random, n)
    return eval(f"a {OPERATORS[random.integers(len(OPERATORS))]} b")


def in_place(random, n):
    names = dict(zip("ab", operands(random, n)))
    exec(f"a {OPERATORS[random.integers(len(OPERATORS))]}= b", names)
    return names["a"]


def into(random, n):
    a, b = operands(random, n)
    out = array(random, n, numpy.broadcast_shapes(n.shape(a), n.shape(b)))
    getattr(n, BINARY[random.integers(len(BINARY))])(a, b, out=out)
    return out


def overlapping(random, n):
    """What is read lies where the result does, some elements further on."""
    size = length(random) + 3
    x = array(random, n, (size, int(random.integers(1, 4))) if random.random() < 0.3 else (size,))
    i, j = (int(k) for k in random.integers(0, 4, 2))
    m = len(x) - max(i, j)
    way = random.integers(4)
    if way == 0:
        x[i:i + m] = x[j:j + m]
    elif way == 1:
        x[i:i + m] += x[j:j + m]
    elif way == 2:
        n.subtract(x[i:i + m], x[j:j + m], out=x[:m])
    else:
        n.multiply(x[j:j + m], 2, out=x[i:i + m])
    return x


def products(random, n):
    k = length(random)
    x, y = array(random, n, (k,)), array(random, n, (k,))
    way = random.integers(4)
    if way == 0:
        return n.vdot(x, x if random.random() < 0.3 else y)
    if way == 1:
        return n.vecdot(x, y)
    if way == 2:
        return x @ y
    rows = length(random, 1)
    return array(random, n, (rows, min(k, 50))) @ array(random, n, (min(k, 50), 3))


def reduction(random, n):
    """Of integers and bools: sums of floats have their own order here."""
    ndim = random.integers(1, 4)
    shape = tuple(length(random, 4.6 / ndim) for _ in range(ndim))
    name = REDUCTIONS[random.integers(len(REDUCTIONS))]
    whole = "?bBhHiIlL"[random.integers(9)]
    x = array(random, n, shape, None if name in ("any", "all", "max", "argmin") else whole)
    x = x.T if random.random() < 0.3 else x
    axis = None if random.random() < 0.2 else int(random.integers(x.ndim))
    if name in ("mean", "std"):             # whole numbers in floats: no order changes their sums
        return numpy.float32(numpy.asarray(getattr(x, name)(axis)))
    return getattr(x, name)(axis)


def stores(random, n):
    """Of other types, at places and one by one."""
    x = array(random, n, (length(random, 3) + 1,))
    at = random.integers(0, len(x), length(random, 2.5))
    way = random.integers(4)
    if way == 0:
        x[n.array(at)] = array(random, n, at.shape)
    elif way == 1:
        x[int(at[0]) if at.size else 0] = number(random, array(random, n, (1,)))
    elif way == 2:
        x[:3] = [1, 0, 2.5][:len(x)]
    else:
        x[...] = number(random, array(random, n, (1,)))
    return x


def of_elements(random, n):
    x = array(random, n, (3,))
    return [complex(x[0]), x[1] ** 2, x[2] & x[0] if x.dtype.kind in "biu" else x[2] * x[0], n.tile(x, (2, 1)),
            n.tile(x, 3)][random.integers(5)]


WAYS = [binary, unary, operator, in_place, into, overlapping, products, reduction, stores, of_elements]


def outcome(way, seed, n):
    """What a program gives and warns of: it is waited for, as warnings of tasks come then."""
    random = numpy.random.default_rng([seed, WAYS.index(way)])
    return given(lambda: numpy.asarray(way(random, n)))


def check(way, seed):
    ours, theirs = outcome(way, seed, np), outcome(way, seed, numpy)
    if way is products and not isinstance(theirs[0], type) and theirs[0].dtype.kind in "fc":
        # BLAS adds in an order of its own, by where its operands lie
        numpy.testing.assert_allclose(ours[0], theirs[0], 1e-2 if theirs[0].dtype == "e" else 1e-4, 1e-2, str(seed))
        ours = theirs[0], ours[1]
    assert_as_given(ours, theirs, (way.__name__, seed))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_as_numpy(way):
    for seed in range(200):
        check(way, seed)


@pytest.mark.parametrize("way", [way for way in WAYS if way not in (products, of_elements)],
                         ids=lambda way: way.__name__)
def test_the_same_as_tasks(way):
    """Results and errors: warnings of tasks come later. (Of what is computed of an element that is pending, the bits
    are those of arrays.)"""
    with configured(limit=0):
        for seed in range(10_000, 10_050):
            ours, theirs = ((outcome(way, seed, n)[0], None) for n in (np, numpy))
            assert_as_given(ours, theirs, (way.__name__, seed))


@pytest.mark.parametrize("dtype", "?bBhHiIlLe")
def test_rows_that_are_cast_as_they_are_read_have_the_bits_of_those_that_were_cast(dtype):
    """Ready, or pending: then a cast of its own comes first."""
    random = numpy.random.default_rng(ord(dtype))
    for _ in range(60):
        shape = length(random, 2) + 1, length(random, 3.5) + 1
        x = np.array((random.random(shape) * 100).astype(dtype))
        x = x.T if random.random() < 0.3 else x[:, ::2] if random.random() < 0.3 else x
        axis, initial = int(random.integers(2)), float(random.integers(3))
        kind = numpy.float32 if dtype == "e" else None if random.random() < 0.5 else float
        ready = np.add.reduce(x, axis, dtype=kind, initial=initial).asnumpy()
        with configured(limit=0):
            later = np.add.reduce(x.copy() if x.flags.c_contiguous else x, axis, dtype=kind, initial=initial).asnumpy()
            apart = np.add.reduce(x.astype(ready.dtype), axis, initial=initial).asnumpy()
        assert ready.tobytes() == later.tobytes() == apart.tobytes(), (shape, axis, kind)


@pytest.mark.parametrize("dtype", "gG")
def test_long_doubles_become_halfs_by_floats(dtype):
    """Rounded twice, as NumPy has it."""
    random = numpy.random.default_rng(0)
    x = ((random.random(200_000) * 20).astype("f4") + 1e-9 * random.random(200_000)).astype(dtype)
    x[:20_000] = (2049 + numpy.arange(20_000) % 100 * 2) / 256.0 + random.random(20_000) * 1e-11     # halfway, nearly
    with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        expected = x.real.astype("e")
        assert np.array(x).real.astype("e").asnumpy().tobytes() == expected.tobytes()
    assert (expected != x.real.astype("d").astype("e")).any()
