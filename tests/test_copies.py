"""Joins, repeats and fills of what is small, which have ways of their own: NumPy's results, types and warnings."""

import time
import warnings

import numpy
import pytest
from compare import assert_as_given, assert_same, given
from engines import Gate, configured

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.core

TYPES = "? i1 u1 i2 u4 i8 u8 f2 f4 f8 F D".split()
LISTS = ([1], [True, False], [1.5, 2], (3,), [], [2 ** 40], [-1], 7)


def joined(function, parts, keywords):
    return numpy.asarray(function(parts, **keywords))


def filled(module, dtype, value):
    return numpy.asarray(module.full_like(module.ones(3, dtype), value))


def drawn(random, dtype, shape):
    return (random.normal(size=shape) * 100).astype("f8").astype(dtype)


@pytest.mark.parametrize("seed", range(60))
def test_joins_of_mixed_types_and_lists(seed):
    random = numpy.random.default_rng(seed)
    for _ in range(20):
        n = int(10 ** random.uniform(0, 3.8))
        with numpy.errstate(all="ignore"):
            parts = [drawn(random, random.choice(TYPES), n)[::random.choice([1, 1, 1, 2, -1])] if random.random() < 0.7
                     else LISTS[random.integers(len(LISTS) - 1)] for _ in range(random.integers(1, 5))]
        keywords = [{}, {"axis": None}, {"dtype": "f8"}, {"casting": "no"}, {"casting": "unsafe", "dtype": "i2"}][
            random.integers(5)]
        theirs, ours = (given(joined, module.concatenate, [module.array(x) if isinstance(x, numpy.ndarray) else x
                                                           for x in parts], keywords) for module in (numpy, np))
        assert_as_given(ours, theirs, (parts, keywords))


@pytest.mark.parametrize("seed", range(20))
def test_joins_along_axes_with_casts(seed):
    """Rows of parts of other types are cast into their places: NumPy's results, and what it is told of."""
    random = numpy.random.default_rng(100 + seed)
    for _ in range(20):
        rows, axis = int(10 ** random.uniform(0, 2)), int(random.integers(2))
        with numpy.errstate(all="ignore"):
            parts = [drawn(random, random.choice(TYPES), (rows, int(10 ** random.uniform(0, 2)) - 1)[::1 - 2 * axis])
                     for _ in range(random.integers(1, 5))]
            parts = [x if axis else x.T for x in parts] if random.random() < 0.5 else [
                numpy.ascontiguousarray(x if axis else x.T) for x in parts]
        keywords = [{}, {"dtype": "f4", "casting": "unsafe"}, {"dtype": "i1", "casting": "unsafe"}][random.integers(3)]
        theirs, ours = (given(joined, lambda x, axis=axis, m=module, **k: m.concatenate(x, axis=axis, **k),
                              [module.array(x) for x in parts], keywords) for module in (numpy, np))
        assert_as_given(ours, theirs, (axis, [(x.dtype, x.shape) for x in parts], keywords))


@pytest.mark.parametrize("order", ["big", "little"])
def test_bits_of_bytes(order):
    random = numpy.random.default_rng(3)
    for n in [0, 1, 7, 8, *(int(10 ** x) for x in random.uniform(1, 5, 12))]:
        x = random.integers(0, 256, (n, 2), "u1")[:, 0] if n % 2 else random.integers(0, 256, n, "u1")
        assert_same(np.unpackbits(np.array(x), bitorder=order), numpy.unpackbits(x, bitorder=order))
        for count in (0, 3, -3, 8 * n + 5):
            assert_as_given(given(lambda x=x, c=count: np.asarray(np.unpackbits(np.array(x), count=c, bitorder=order))),
                            given(lambda x=x, c=count: numpy.unpackbits(x, count=c, bitorder=order)), (n, count))


@pytest.mark.parametrize("dtype", TYPES)
def test_products_of_nothing(dtype):
    nothing = numpy.zeros(0, dtype)
    for function in ("dot", "matmul", "inner", "vdot"):
        ours = getattr(np, function)(np.array(nothing), np.array(nothing))
        assert_same(ours, getattr(numpy, function)(nothing, nothing))
    assert_same(np.array(nothing) @ np.zeros(0, "f8"), nothing @ numpy.zeros(0, "f8"))
    assert_same(np.array(nothing) @ np.zeros((0, 3), dtype), nothing @ numpy.zeros((0, 3), dtype))


def test_errors_and_devices_of_products_of_nothing():
    nothing = np.zeros(0)
    def fails(x):
        raise KeyError("on purpose")
    for pause in (0, 0.02):
        failed = dflow.submit(fails, np.ones(2), shape=(0,))
        time.sleep(pause)
        for left, right in ((nothing, failed), (failed, nothing)):
            with pytest.raises(KeyError):
                (left @ right).item()
    there, elsewhere = (np.zeros(0).as_in_ctx(dflow.cpu(n)) for n in (1, 2))
    assert (nothing @ there).ctx == (there @ nothing).ctx == (np.zeros(3) @ np.zeros(3).as_in_ctx(dflow.cpu(1))).ctx
    with pytest.raises(ValueError, match="cpu"):
        there @ elsewhere


def test_each_part_of_a_join_is_told_of():
    for dtype, casting in (("f4", "same_kind"), ("i4", "unsafe")):
        def told(module, dtype=dtype, casting=casting):
            calls = []
            with numpy.errstate(all="call", call=lambda *told: calls.append(told)):
                module.concatenate([module.array([1e300, 1]), module.array([2.0]), module.array([1e300])], dtype=dtype,
                                   casting=casting)
            return calls
        assert told(np) == told(numpy) and len(told(np)) == 2


def test_tiles():
    random = numpy.random.default_rng(4)
    for _ in range(100):
        shape = tuple(random.integers(0, 5, random.integers(0, 4)))
        reps = tuple(int(n) for n in random.integers(0, 4, random.integers(1, 5)) * (random.random() < 0.8) + (
            random.random() < 0.5))
        x = random.normal(size=shape)
        ours = np.tile(np.array(x), reps)
        assert_same(ours, numpy.tile(x, reps))
        if ours.size:
            ours += 1                           # a copy, and nobody's view


@pytest.mark.parametrize("function", ["stack", "vstack", "hstack", "array"])
def test_stacks_of_mixed_types(function):
    random = numpy.random.default_rng(2)
    for _ in range(200):
        n = int(10 ** random.uniform(0, 3.8))
        with numpy.errstate(all="ignore"):
            parts = [drawn(random, random.choice(TYPES), n) for _ in range(random.integers(1, 5))]
        theirs, ours = (given(joined, getattr(module, function), [module.array(x) for x in parts], {})
                        for module in (numpy, np))
        assert_as_given(ours, theirs, parts)


@pytest.mark.parametrize("value", [0, 1, 2, -1, 2 ** 63, True, 0.5, 1j, numpy.float32(2)])
def test_full_arrays(value):
    for dtype in TYPES:
        assert_as_given(given(filled, np, dtype, value), given(filled, numpy, dtype, value), dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_repeats(dtype):
    random = numpy.random.default_rng(1)
    for shape in ((7,), (465,), (3, 5), (2, 3, 4)):
        with numpy.errstate(all="ignore"):
            x = drawn(random, dtype, shape)
        for times in (0, 1, 2, 5):
            for axis in (None, *range(len(shape))):
                assert_same(np.repeat(np.array(x), times, axis), numpy.repeat(x, times, axis))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("view", ["[::-1]", "[::-3]", "[:, ::-1]", "[::-1, ::-2]", "[2:9:-1]", "[::-1, 3]",
                                  "[1:-1][::-1]"])
def test_fills_of_reversed_views(dtype, view):
    for shape in ((4, 5), (60, 70)):
        found = {}
        for module in numpy, np:
            x = module.zeros(shape, dtype)
            exec(f"x{view}[...] = 1\nx{view}.fill(1)\ny = x.copy()\ny{view} = 3\n"
                 f"x{view} {'|=' if dtype == '?' else '+='} y{view}", scope := {"x": x})
            found[module] = numpy.asarray(x), numpy.asarray(scope["y"])
        for ours, theirs in zip(found[np], found[numpy]):
            assert_same(ours, theirs)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_other_element(dtype):
    """What lies as far apart as it is long, parts of complex numbers too, wherever it begins: copied, cast, added."""
    random = numpy.random.default_rng(9)
    for _ in range(30):
        n, start = int(10 ** random.uniform(0, 4)), int(random.integers(4))
        step = int(random.choice([2, 2, 2, 3, -2]))
        x = drawn(random, "f8", (3, n)).astype(dtype)
        views, ours = ([a[0, start::step], a[:, start::step], a.T[start::step], a[:, ::step].T, a.real, a.imag,
                        a[1:].imag] for a in (x, np.array(x)))
        for view, own in zip(views, ours):
            assert_same(own.copy(), view.copy())
            assert_same(own.astype("f4" if dtype not in "FD" else "F"), view.astype("f4" if dtype not in "FD" else "F"))
            with numpy.errstate(all="ignore"):
                assert_same((own == view) | (own != 0), (view == view) | (view != 0))
                if dtype != "?":
                    assert_same(own + own - view, view + view - view)


BACKWARDS = ("x[::-1] += 2", "x[::-1] *= y[::-1]", "x[::-1] -= y", "x[::-1][...] = y[::-1]", "x[::-1][...] = 3",
             "np.negative(y[::-1], out=x[::-1])", "x[::-2] += y[::-2]", "x[::-1][1:] = y[::-1][:-1]",
             "x[::-1][1:] = x[::-1][:-1]", "x[k[::-1]] = y[::-1]", "np.add.at(x, k[::-1], y[::-1])",
             "np.copyto(x[::-1], y[::-1], where=x[::-1] > y[::-1])", "x[...] = np.where(x > y, x, y)[::-1]",
             "a[::-1, ::-1] += b[::-1, ::-1]", "a[:, ::-1] -= b[:1, ::-1]", "a[::-1].T[...] = b[::-1].T",
             "a[::-1, ::-1].T[::-1] += 1", "x[::-1] = np.add.accumulate(y[::-1])", "x[::-1] = x[::-1] + x[0]")


@pytest.mark.parametrize("queued", [False, True])
@pytest.mark.parametrize("statement", BACKWARDS)
def test_backwards(statement, queued):
    """What all operands go through backwards is gone through forwards: nothing else changes."""
    random = numpy.random.default_rng(5)
    with configured(limit=0 if queued else None):
        for _ in range(12):
            n, dtype = int(10 ** random.uniform(0, 4.3)), random.choice(["f8", "f4", "i8", "u1", "c16", "c8"])
            arrays = {name: drawn(random, dtype, n).astype(dtype) for name in "xy"}
            arrays |= {"k": random.integers(0, n, n), "a": drawn(random, dtype, (n // 7 + 1, 7)),
                       "b": drawn(random, dtype, (n // 7 + 1, 7))}
            if dtype[0] == "c" and ">" in statement:
                continue
            names = [{name: module.array(x) for name, x in arrays.items()} | {"np": module} for module in (numpy, np)]
            for its in names:
                with numpy.errstate(all="ignore"):
                    exec(statement, its)
            for name in "xa":
                assert_same(names[1][name], names[0][name])


STORES = ("x[...] = y", "x[a:b] = y[a:b]", "x[a:b][...] = x[c:c + b - a]", "x[:b] = x[a:a + b]", "m[...] = m[::-1]",
          "m[i] = m[j]", "m[i][...] = x[:7]", "m[i:] = m[:len(m) - i]", "x[...] = y[:1]", "m[...] = x[:7]",
          "x[...] = x", "z[...] = y[0]", "z[...] = x[a:a + 1][0]", "x[...] = k",
          "x.reshape(-1, 1)[...] = y.reshape(-1, 1)")


@pytest.mark.parametrize("how", ["here", "queued", "pending"])
@pytest.mark.parametrize("statement", STORES)
def test_stores_of_what_overlaps(statement, how):
    """As if the right side was copied first, whoever copies, and whatever is being done with either side."""
    random = numpy.random.default_rng(11)
    with configured(limit=0 if how == "queued" else None):
        for _ in range(25):
            n, dtype = int(10 ** random.uniform(1, 3.5)) + 7, random.choice(["f8", "i4", "u1", "c16", "f2"])
            a, c = (int(i) for i in random.integers(0, n // 2, 2))
            numbers = {"a": a, "c": c, "b": a + int(random.integers(0, n // 2 - a + 1)), "i": int(random.integers(5)),
                       "j": int(random.integers(5))}
            arrays = {name: drawn(random, dtype, n).astype(dtype) for name in "xy"}
            arrays |= {"m": drawn(random, dtype, (5, 7)).astype(dtype), "z": numpy.zeros((), dtype),
                       "k": drawn(random, "f8", n).astype("f4")}
            names = [{name: module.array(x) for name, x in arrays.items()} | numbers for module in (numpy, np)]
            with Gate() as gate, numpy.errstate(all="ignore"):
                if how == "pending":
                    chosen = "xym"[random.integers(3)]
                    names[1][chosen] = gate.hold(names[1][chosen])
                for its in names:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        exec(statement, its)
                gate.open()
                for name in "xymz":
                    assert_same(names[1][name], names[0][name])
