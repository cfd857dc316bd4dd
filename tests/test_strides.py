"""Every loop of every ufunc, its operands at any steps: what NumPy gives where all of them lie side by side.

What NumPy itself gives at those steps is no reference: with AVX-512, its isnan, isinf, isfinite and signbit of floats
leave out results that do not lie side by side, and its negative() into such takes elements 16 or 64 bytes apart for
neighbours (NumPy 2.4).
"""

import functools
import math
import random

import numpy
import pytest
from compare import same_bits
from engines import Gate, configured

import dflow
import dflow.numpy as np
from tests.fuzz.rules import EXTREMES, OF_COMPLEX, STRIDED

ELEMENTWISE = {f.__name__ for f in vars(numpy).values() if isinstance(f, numpy.ufunc) and not f.signature}
UFUNCS = sorted(ELEMENTWISE & set(dir(np)))

LAYOUTS = [
    numpy.s_[:, :],
    numpy.s_[::-1],
    numpy.s_[::-1, ::-1],
    numpy.s_[1::2],
    numpy.s_[:, ::3],
    numpy.s_[-1:0:-2, 1:],
]


def strided(draw, x):
    """A dflow array like x, a view of a larger one in one of the layouts."""
    columns_first = draw.random() < 0.3
    rows, columns = x.shape[::-1] if columns_first else x.shape
    if draw.random() < 0.5:
        view = np.ones((3 * rows + 3, 3 * columns + 3), x.dtype)[draw.choice(LAYOUTS)][:rows, :columns]
    else:           # rows, or the elements of short ones, so many elements apart
        step = draw.choice([1, 2, 4, 5, 8, 16, draw.randrange(1, 50)])
        view = np.ones((rows, max(columns, step)), x.dtype)[:, :columns]
        view = np.ones((rows, columns, step), x.dtype)[..., 0] if columns < 4 and draw.random() < 0.5 else view
    view = view.T if columns_first else view
    view[...] = x
    dflow.waitall()
    return view


def numbers(draw, code, shape, zeros):
    """Small numbers, which every function takes; of floats, some that are special."""
    random = numpy.random.default_rng(draw.getrandbits(32))
    if code == "?":
        return random.integers(0, 2, shape).astype(bool)
    if code in "bhilqBHILQ":
        return random.integers(1 - zeros, 5, shape).astype(code)
    x = random.normal(size=shape)
    for special in (numpy.nan, numpy.inf, -numpy.inf, *[-0.0] * zeros):
        x[random.random(shape) < 0.03] = special
    return (x + 1j * random.normal(size=shape) if code in "FDG" else x).astype(code)


def agrees(actual, expected, close):
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    if not close or actual.dtype.kind not in "fc":
        return same_bits(actual, expected)
    return numpy.allclose(actual, expected, rtol=8 * numpy.finfo(actual.dtype).eps, atol=0, equal_nan=True)


@pytest.mark.once
@pytest.mark.parametrize("held", [False, True], ids=["ready", "in a group"])
@pytest.mark.parametrize("name", UFUNCS)
def test_any_steps(name, held):
    """Of each type, some draws."""
    ours, theirs = getattr(np, name), getattr(numpy, name)
    for types in dict.fromkeys(theirs.types):
        if set(types) & set("OMm"):
            continue
        for number in range(3 if theirs.nin == 1 else 1):
            any_steps(ours, theirs, types, held, random.Random(f"{name} {types} {held} {number}"))


def any_steps(ours, theirs, types, held, draw):
    """As a new array, and stored in a view; at once, or as members of a group."""
    name = theirs.__name__
    inputs = types.partition("->")[0]
    shape = round(math.exp(draw.uniform(0, 7))), draw.choice([1, 2, 3, 7, 15, 16, 17, 40])
    whole = [numbers(draw, code, shape, name not in EXTREMES and "div" not in name) for code in inputs]
    with numpy.errstate(all="ignore"):
        want = theirs(*whole)
    want = want if isinstance(want, tuple) else (want,)
    views = [strided(draw, x) for x in whole]
    stores = tuple(strided(draw, numpy.full_like(x, draw.random() < 0.5)) for x in want)
    with numpy.errstate(all="ignore"), configured(workers=1, limit=0 if held else None), Gate() as gate:
        if held:
            gate.hold()
        fresh = ours(*views)
        ours(*views, out=stores)
        again = ours(*views)
    close = name in STRIDED or (name in OF_COMPLEX and set(inputs) & set("FDG"))
    for got in (fresh, again, stores):
        for actual, expected in zip(got if isinstance(got, tuple) else (got,), want):
            assert agrees(actual.asnumpy(), expected, close), (types, shape)


@pytest.mark.parametrize("name", [name for name in UFUNCS if "dd->d" in getattr(numpy, name).types])
def test_folds_at_any_steps(name):
    """reduce(), accumulate(), reduceat() give what calls for one element after the other do, as NumPy's need not."""
    ours, theirs = getattr(np, name), getattr(numpy, name)
    draw = random.Random(name)
    for code in "fd" if "ff->f" in theirs.types else "d":
        for step in (1, -1, 2):
            numbers = numpy.random.default_rng(draw.getrandbits(32))
            x = numbers.uniform(0.5, 1.5, 2 * draw.choice([2, 3, 8, 17, 40, 99])).astype(code)
            with numpy.errstate(all="ignore"):
                want = functools.reduce(lambda a, b: theirs([a], [b], dtype=code)[0], x[::step])
                for view in (np.array(x)[::step], (np.array(x) * 1)[::step]):
                    got = [ours.reduce(view), ours.reduceat(view, [0])[0], ours.accumulate(view)[-1]]
                    assert numpy.allclose([float(y) for y in got], want, rtol=1e-4, equal_nan=True), (code, step)


@pytest.mark.parametrize("code", ["?", "h", "e", "f", "d", "F", "D"])
def test_transposed(code):
    """Copies of what is transposed, and what is computed of it beside what is not, alone and in groups: rectangles of
    both are in a cache together."""
    draw = numpy.random.default_rng(ord(code))
    for _ in range(80):
        axes = draw.integers(2, 4)
        shape = [int(10 ** draw.uniform(0, limit)) for limit in draw.permutation([1, 2.6, 2.6])[:axes]]
        order = draw.permutation(axes).tolist()
        steps = tuple(slice(None, None, int(draw.choice([1, 1, 1, 2, -1]))) for _ in shape)
        a = (draw.random(shape) * 9 - 4).astype(code)
        x = np.array(a)
        b, y = (v.transpose(order)[steps] for v in (a, x))
        c, z = b[::-1].copy(), np.array(b[::-1])
        assert same_bits(y.copy().asnumpy(), b.copy())
        with Gate() as gate:
            held = gate.hold(x)
            results = [y + z, z * y, y.astype("D"), np.add(y, y[::-1]), (y + z) * (y if code == "?" else y - 1) + z,
                       np.maximum(y, z), held.transpose(order)[steps] + z]
            gate.open()
        into = np.zeros(b.shape, code)
        into[...] = y
        expected = [b + c, c * b, b.astype("D"), numpy.add(b, b[::-1]), (b + c) * (b if code == "?" else b - 1) + c,
                    numpy.maximum(b, c), b + c, b]
        for got, wanted in zip([*results, into], expected, strict=True):
            assert same_bits(got.asnumpy(), wanted), (code, shape, order, steps)
