"""Reductions of rows of every length, whatever a block, a group or a worker takes of them.

Lengths and counts of rows are drawn evenly in their logarithms, so each threshold has tests on both of its sides. Float
sums, whose order is not NumPy's, are compared among the engine's ways, and with the error that any order may have.
"""

import functools

import numpy
import pytest
from compare import assert_same, assert_same_outcome, outcome
from engines import Gate, configured

import dflow.numpy as np

pytestmark = [pytest.mark.core, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

EXACT = ("max", "min", "any", "all", "bitwise_or", "bitwise_xor", "logical_xor", "sum", "prod")
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64")
FUNCTIONS = {
    "bitwise_or": lambda np, a, **how: np.bitwise_or.reduce(a, **how),
    "bitwise_xor": lambda np, a, **how: np.bitwise_xor.reduce(a, **how),
    "logical_xor": lambda np, a, **how: np.logical_xor.reduce(a, **how),
}


def reduce(np, name, a, **how):
    return FUNCTIONS[name](np, a, **how) if name in FUNCTIONS else getattr(np, name)(a, **how)


def exact(name, dtype):
    """Whether no order of the elements changes the result, which NumPy has, too."""
    kind = numpy.dtype(dtype).kind
    if name.startswith("bitwise"):
        return kind in "biu"
    return kind in "biu" or name not in ("sum", "prod")


def rows(random, dtype):
    """Some rows of some length, few of them alike: at most one in eight has an element that decides any() or all()."""
    length = int(2 ** random.uniform(0, 15))
    count = int(2 ** random.uniform(0, max(0.1, 18 - numpy.log2(length))))
    a = random.integers(0, 2, (count, length)) if dtype == "bool" else random.integers(1, 120, (count, length))
    for value in (0, 1):
        chosen = random.random(count) < 0.4
        a[chosen] = value
        a[chosen, random.integers(0, length, chosen.sum())] = 1 - value
    return a.astype(dtype)


WAYS = {
    "the last axis": (lambda a: a, -1),
    "several axes": (lambda a: a.reshape(len(a), *(
        (2, -1) if a.shape[1] % 2 == 0 else (3, -1) if a.shape[1] % 3 == 0 else (1, -1))), (1, 2)),
    "an axis from behind": (lambda a: a[:, ::-1], 1),
    "every other element": (lambda a: a[:, ::2], 1),
    "parts of rows": (lambda a: a[:, : a.shape[1] * 3 // 4 + 1], 1),
    "columns": (lambda a: a.T, 0),
    "all": (lambda a: a, None),
}


def chains(dtype):
    """What may come before a reduction, and be one group with it."""
    one = numpy.dtype(dtype).type(1)
    yield "nothing", lambda np, a: a
    yield "a copy", lambda np, a: np.positive(a) if dtype != "bool" else np.logical_not(np.logical_not(a))
    if dtype != "bool":
        yield "a sum", lambda np, a: a + one - one
        yield "a comparison", lambda np, a: a > 60
    yield "a cast", lambda np, a: a.astype("float64" if dtype != "complex64" else "complex128")
    yield "a cast down", lambda np, a: (a != 0).astype("int16")


ENGINES = {
    "default": {},
    "queued": {"limit": 0},
    "one worker": {"limit": 0, "workers": 1},
    "unfused": {"limit": 0, "bulk": 0},
    "naive": {"naive": True},
    "sixteen workers": {"workers": 16},
}


@pytest.mark.once
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_length(dtype, engine):
    random = numpy.random.default_rng([len(dtype), *map(ord, dtype)])
    with configured(**ENGINES[engine]):
        for _ in range(6):
            a = rows(random, dtype)
            for label, before in chains(dtype):
                way = list(WAYS)[random.integers(len(WAYS))]
                view, axis = WAYS[way]
                theirs = view(before(numpy, a))
                for name in random.choice(EXACT, 4, replace=False):
                    if not exact(name, theirs.dtype):
                        continue
                    with Gate() as gate:
                        pending = engine != "naive" and random.random() < 0.5
                        x = gate.hold(np.array(a)) if pending else np.array(a)
                        got = reduce(np, name, view(before(np, x)), axis=axis)
                        gate.open()
                        try:
                            assert_same(got, reduce(numpy, name, theirs, axis=axis))
                        except AssertionError as error:
                            case = f"{name} of {a.shape} after {label}, {way}, pending {pending}"
                            raise AssertionError(case) from error


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_float_sums_are_the_same_in_every_way(dtype):
    random = numpy.random.default_rng(17)
    for _ in range(25):
        a = (rows(random, dtype) * random.uniform(0.5, 2)).astype(dtype)
        way = list(WAYS)[random.integers(len(WAYS))]
        view, axis = WAYS[way]
        seen = None
        for engine in ENGINES.values():
            with configured(**engine):
                got = view(np.array(a) + 0).sum(axis=axis).asnumpy()
            if seen is None:
                seen = got
                wide = view(a).astype("complex256" if dtype == "complex64" else "longdouble")
                bound = wide.size / got.size * numpy.finfo(dtype).eps * abs(wide).sum(axis=axis)
                fits = numpy.isfinite(got)          # half precision ends at 65,504
                assert (abs(got - wide.sum(axis=axis)) <= bound)[fits].all() and (dtype == "float16" or fits.all())
            assert_same(got, seen)


THRESHOLDS = sorted({2 ** k + d for k in range(14) for d in (-1, 0, 1)} - {0})


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32"])
def test_rows_around_thresholds(dtype):
    random = numpy.random.default_rng(5)
    with configured(limit=0):
        for length in THRESHOLDS:
            for count in (1, 2, 3, 31, 32, 33):
                a = random.integers(0, 2, (count, length)).astype(dtype)
                a[:: 2] = 0
                for name in ("any", "all", "max", "min"):
                    assert_same(reduce(np, name, np.array(a) != 0, axis=1), reduce(numpy, name, a != 0, axis=1))
                    assert_same(reduce(np, name, np.logical_or(np.array(a), False).astype(dtype), axis=1),
                                reduce(numpy, name, a, axis=1))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_last_block_of_one_element(engine):
    """Of an array with gaps, over two axes; that element decides."""
    for dtype in DTYPES:
        block = 4096 // numpy.dtype(dtype).itemsize
        for n in range(block + 1, 6 * block, block):
            width = next((k for k in range(3, n // 2) if n % k == 0), None)
            if width is not None:
                a = numpy.zeros((n // width, 2 * width + 2), dtype)
                a[-1, 2 * width - 2] = 1
                with configured(**ENGINES[engine]):
                    assert np.array(a)[:, :2 * width:2].max() == 1 == np.array(a)[:, :2 * width:2].sum()


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "fmin", "logical_and", "logical_xor", "bitwise_or",
                                  "logaddexp", "logaddexp2", "gcd", "hypot", "subtract"])
def test_what_a_mask_leaves_out_changes_nothing(name):
    """Not the sign of a number that a reduction starts from, nor of a zero."""
    for code in "bBifdgF?":
        for initial in (-4, 0, -0.0, 7.5, numpy.nan, -numpy.inf):
            for mask in ([False], [False, False, False], [True, False, False], [False, True, True]):
                x = numpy.array([3 if code == "B" else -3, 2, 0][:len(mask)], code)
                with numpy.errstate(all="ignore"):
                    def reduce(module, x=x, initial=initial, mask=mask):
                        return getattr(module, name).reduce(module.array(x), initial=initial, where=mask)

                    assert_same_outcome(*(outcome(functools.partial(reduce, module)) for module in (np, numpy)))


VIEWS = (lambda a: a, lambda a: a.T, lambda a: a[::-1, 1:], lambda a: a[:, ::2, ::-1], lambda a: a.transpose(1, 0, 2),
         lambda a: a[:1], lambda a: a[:, :0], lambda a: a[..., 0])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float16", "float32", "complex128"])
def test_what_is_cast_along_other_axes_than_the_last(dtype, engine):
    """Narrow numbers are summed in wider ones, what is asked for in another type in that: cast as they are read."""
    random = numpy.random.default_rng(12)
    kind = numpy.dtype(dtype).kind
    with configured(**ENGINES[engine]):
        for _ in range(3):
            shape = [int(10 ** random.uniform(0, limit)) for limit in random.permutation([1.2, 1.7, 3])]
            source = random.integers(-3 if dtype[0] != "u" else 0, 9, shape).astype(dtype)
            for view in VIEWS:
                a, x = view(source), view(np.array(source))
                for axis in (0, 1, (0, 1), -2, *(((0, 2), (0, 1, 2), None) if a.ndim == 3 else ())):
                    how = {"keepdims": True} if random.random() < 0.3 else {}
                    for name in ("sum", "prod", "any", "all", "logical_xor"):
                        if exact(name, dtype):
                            assert_same(reduce(np, name, x, axis=axis, **how), reduce(numpy, name, a, axis=axis, **how))
                    if kind in "biu" and a.size:        # sums of whole numbers, which floats hold, too
                        for wanted in ("float64", "float32", "int16", "complex64"):
                            assert_same(np.sum(x, axis, wanted, **how), numpy.sum(a, axis, wanted, **how))
                        assert_same(np.sum(x, axis, initial=5, **how), numpy.sum(a, axis, initial=5, **how))
                        assert_same(np.mean(x, axis, **how), numpy.mean(a, axis, **how))
                        assert_same(np.sum(x, axis, where=x > 1), numpy.sum(a, axis, where=a > 1))
                        outs = [module.zeros(numpy.sum(a, axis).shape, "f4") for module in (np, numpy)]
                        assert_same(np.add.reduce(x, axis, out=outs[0]), numpy.add.reduce(a, axis, out=outs[1]))


@pytest.mark.parametrize("shape", [(300, 70_000), (70_000, 300), (40, 3, 90_000)])
def test_what_is_cast_and_large(shape):
    """By several workers: the same bits for any number of them, ready and pending, counts that no byte holds."""
    source = numpy.random.default_rng(13).integers(0, 256, shape).astype("u1")
    for workers in (1, 3):
        with configured(workers=workers), Gate() as gate:
            x = np.array(source)
            held = gate.hold(x)
            found = [(axis, dtype, np.sum(a, axis, dtype)) for a in (x, held) for axis in (0, 1)
                     for dtype in (None, "f8")]
            rare = [(axis, name, reduce(np, name, a < 1 if name == "any" else a, axis=axis)) for a in (x, held)
                    for axis in (0, 1) for name in ("any", "all", "logical_xor")]
            gate.open()
            for axis, dtype, total in found:
                assert_same(total, numpy.sum(source, axis, dtype))
            for axis, name, result in rare:
                assert_same(result, reduce(numpy, name, source < 1 if name == "any" else source, axis=axis))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_of_anything(dtype):
    """Among NaNs, infinities and zeros of both signs: NumPy's numbers, the same zero in whatever way, no warning."""
    random = numpy.random.default_rng(14)
    pools = ([0.0, -0.0], [-1, 0.0, -0.0], [0.0, -0.0, numpy.nan], [numpy.inf, -numpy.inf, numpy.nan], [-numpy.inf],
             [numpy.nan, -numpy.nan], [numpy.nan, 3, -2], [1, 2, 3])
    with numpy.errstate(all="raise"):
        for _ in range(150):
            a = random.choice(pools[random.integers(len(pools))], int(10 ** random.uniform(0, 5.5))).astype(dtype)
            if random.random() < 0.5:
                a[random.integers(a.size)] = random.choice([0.0, -0.0, 7, numpy.nan])
            step = random.choice([1, 1, 3, -1])
            for name in ("maximum", "minimum", "fmax", "fmin"):
                theirs = getattr(numpy, name).reduce(a[::step])
                with Gate() as gate:
                    x = np.array(a)
                    ways = x, gate.hold(x), np.negative(np.negative(gate.hold(x)))
                    found = [getattr(np, name).reduce(y[::step]) for y in ways]
                    gate.open()
                found = [result.asnumpy() for result in found]
                assert numpy.array_equal(found, [theirs] * 3, equal_nan=True)
                assert len(set(numpy.signbit(found).tolist())) == 1 or numpy.isnan(theirs)


@pytest.mark.once
@pytest.mark.parametrize("dtype", DTYPES + ("uint32", "complex128"))
def test_results_in_the_type_of_the_array(dtype):
    """With `out` of that type sums of small integers are taken in it, and what does not fit goes round."""
    random = numpy.random.default_rng(17)
    for _ in range(12):
        limits = random.permutation([1.3, 3.3])[:random.integers(1, 3)]
        shape = [int(10 ** random.uniform(0, limit)) for limit in limits]
        a = random.integers(0, 2 if dtype == "bool" else 120, shape).astype(dtype)
        for name in ("sum", "prod", "max", "all", "any", "logical_xor", "cumsum", "cumprod"):
            axis = int(random.integers(len(shape)))
            if a.dtype.kind in "fc" and name in ("sum", "prod") and axis == len(shape) - 1:
                continue                                # another order
            result = a.shape if name[:3] == "cum" else numpy.sum(a, axis).shape
            outs = [module.zeros(result, dtype) for module in (np, numpy)]
            given = (np, np.array(a), outs[0]), (numpy, a, outs[1])
            results = [reduce(module, name, x, axis=axis, out=out) for module, x, out in given]
            assert results[0] is outs[0]
            assert_same(*outs)
