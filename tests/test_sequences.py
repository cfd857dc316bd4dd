"""Lists and tuples of Python's numbers: as arrays, as operands, and stored; with NumPy's types, bits and errors."""

import numpy
import pytest
from compare import assert_as_given, given, same_bits

import dflow.numpy as np

pytestmark = pytest.mark.core

DTYPES = [None, "?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", "g", "F", "D"]
FLOATS = [0.0, -0.0, 1.5, -2.25, 1e-320, 1e39, -1e300, 65519.0, 65520.0, 3.4028235e38, 3.4028236e38, float("inf"),
          float("-inf"), float("nan"), 2.0 ** 53 + 2]
INTEGERS = [0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 65535, 65536, 2 ** 24 + 1, 2 ** 31 - 1, 2 ** 31, -2 ** 31 - 1,
            2 ** 53, 2 ** 53 + 1, -2 ** 53 - 1, 2 ** 63 - 1, -2 ** 63, 2 ** 63, 2 ** 64 - 1, 2 ** 64, -2 ** 63 - 1,
            10 ** 400]
OTHERS = [None, "1", 1j, numpy.float32(3), numpy.int8(3), numpy.True_, b"1", [], [1], (2.5, 3)]


def numbers(random):
    """Of one kind, as a rule small: NumPy refuses much of what is not."""
    kinds = [[True, False], list(range(-3, 100)), [0.5, 1.0, -3.75], INTEGERS, FLOATS, INTEGERS + FLOATS + [True],
             OTHERS]
    few = random.choice(len(kinds), random.integers(1, 3), p=[0.1, 0.3, 0.3, 0.1, 0.1, 0.06, 0.04])
    return [x for i in few for x in kinds[i]]


def drawn(random, shape, pool, ragged=0.0):
    kind = [list, tuple][random.integers(2)]
    n = shape[0] + (random.random() < ragged)
    return kind([drawn(random, shape[1:], pool, ragged) for _ in range(n)] if len(shape) > 1
                else [pool[random.integers(len(pool))] for _ in range(n)])


@pytest.mark.parametrize("seed", range(30))
def test_as_arrays(seed):
    random = numpy.random.default_rng(seed)
    for _ in range(100):
        shape = tuple(int(2.0 ** random.uniform(0, 3)) - (random.random() < 0.05)
                      for _ in range(random.choice([1, 1, 1, 2, 2, 3])))
        x = drawn(random, shape, numbers(random), random.choice([0, 0, 0.02]))
        dtype = DTYPES[random.integers(len(DTYPES))] if random.random() < 0.6 else None
        assert_as_given(given(np.array, x, dtype), given(numpy.array, x, dtype), (x, dtype))


PROGRAMS = [
    "a + {}", "{} * a", "a < {}", "{} - a", "a ** {}", "np.maximum(a, {})", "np.add({}, {})", "e + {}", "{} * f",
    "a @ {}", "np.where(a > 1, a, {})", "a += {}", "a *= {}", "a[:] = {}", "a[::-1] = {}", "a[list(range(n))] = {}",
    "B[0] = {}", "B[:, 0] = {}", "B[...] = {}", "a == {}", "np.hypot({}, a)", "divmod(a, {})",
    "np.array_equal(a, {})", "np.concatenate([a, {}])", "np.stack([a, {}])"]


def ran(np, text, start, lists):
    """What a program gives, or the array that it changed."""
    n, dtype = start.size, start.dtype
    a = np.array(start)
    names = dict(np=np, a=a, n=n, u=lists[0], v=lists[1], B=np.array(numpy.ones((n, n), dtype)), e=a[0],
                 f=np.array([2.5])[0])
    if "=" in text and "==" not in text:
        exec(text, names)
        return names["B" if "B" in text else "a"]
    result = eval(text, names)
    return numpy.asarray(result[1]) if isinstance(result, tuple) else result


@pytest.mark.parametrize("seed", range(30))
def test_as_operands(seed):
    """Beside arrays and elements, on both sides; in place; stored in rows, columns and by lists of indices."""
    random = numpy.random.default_rng(1000 + seed)
    for _ in range(100):
        n = int(2.0 ** random.uniform(0, 5))
        dtype = DTYPES[random.integers(1, len(DTYPES))]
        pool = numbers(random)
        code = PROGRAMS[random.integers(len(PROGRAMS))]
        if "**" in code:                                # with objects it would never end
            pool = [0, 1, 2, 3, 0.5, -1.5, True]
        lists = [drawn(random, (n,), pool, 0.02) for _ in range(2)]
        text = code.format("u", "v") if code.count("{}") == 2 else code.format("u")
        start = random.integers(0, 5, n).astype(dtype)
        with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
            ours, theirs = given(ran, np, text, start, lists), given(ran, numpy, text, start, lists)
        assert_as_given(ours, theirs, (text, dtype, lists))


def test_a_list_that_is_long():
    for n in (1000, 100_003):
        x = [float(i) / 3 for i in range(n)]
        for items in (x, [*x, 1], [int(i) for i in x], [*map(int, x), 0.5], [i > 5 for i in x]):
            assert same_bits(np.array(items).asnumpy(), numpy.array(items))
            assert same_bits(np.array(items, "f4").asnumpy(), numpy.array(items, "f4"))
