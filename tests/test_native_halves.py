"""Native loops over floats of 2 bytes: with the bits, and the warnings, of NumPy's, which compute by floats of 4."""

import numpy
import pytest
from compare import same_bits
from engines import configured, ran_native, written_for

import dflow
import dflow.numpy as np
from dflow import engine
from tests.native_programs import SETS, check, half_program, settings, told

OURS = [name for name in SETS if name != "NEON"]
pytestmark = [pytest.mark.core,
              pytest.mark.skipif(not (OURS and engine.native()), reason="this processor has no loops over halves")]
ALL = numpy.arange(1 << 16, dtype="u2").view("f2")
UNARY = {"negative": lambda np, x: -x, "absolute": lambda np, x: abs(x), "square": lambda np, x: np.square(x),
         "sqrt": lambda np, x: np.sqrt(x), "reciprocal": lambda np, x: np.reciprocal(x),
         "sign": lambda np, x: np.sign(x), "rint": lambda np, x: np.rint(x), "floor": lambda np, x: np.floor(x),
         "ceil": lambda np, x: np.ceil(x), "trunc": lambda np, x: np.trunc(x), "isnan": lambda np, x: np.isnan(x),
         "isinf": lambda np, x: np.isinf(x), "isfinite": lambda np, x: np.isfinite(x),
         "signbit": lambda np, x: np.signbit(x), "not": lambda np, x: np.logical_not(x),
         "f4": lambda np, x: x.astype("f4"),
         "bool": lambda np, x: x.astype(bool), "where": lambda np, x: np.where(x < 2, x, np.float16(3)),
         "clip": lambda np, x: np.clip(x, -1, 2), "f4 and back": lambda np, x: (x.astype("f4") * 1.0625).astype("f2"),
         "times a bool": lambda np, x: x * (x > 1)}
BINARY = {"add": lambda np, x, y: x + y, "subtract": lambda np, x, y: x - y, "multiply": lambda np, x, y: x * y,
          "divide": lambda np, x, y: x / y, "maximum": lambda np, x, y: np.maximum(x, y),
          "minimum": lambda np, x, y: np.minimum(x, y), "fmax": lambda np, x, y: np.fmax(x, y),
          "fmin": lambda np, x, y: np.fmin(x, y), "copysign": lambda np, x, y: np.copysign(x, y),
          "less": lambda np, x, y: x < y, "equal": lambda np, x, y: x == y,
          "both": lambda np, x, y: np.logical_and(x, y),
          "clip": lambda np, x, y: np.clip(x, y, y + 1)}


def same(a, b):
    """NaNs too, but for whether they signal."""
    if a.dtype.kind != "f":
        return same_bits(a, b)
    bits = f"u{a.itemsize}"
    quiet = {2: 0x200, 4: 0x400000}[a.itemsize]
    x, y = a.view(bits), b.view(bits)
    return bool(((x == y) | (numpy.isnan(a) & (x | quiet == y | quiet))).all())


def compare(name, function, *theirs):
    """The texts of warnings; with NumPy's loops first."""
    with numpy.errstate(all="ignore"):
        expected = function(numpy, *theirs)
    ours = [np.array(x) for x in theirs]
    with configured(limit=0):
        try:
            engine.native(False)
            _, plain = told(lambda: function(np, *ours).wait_to_read())
        finally:
            engine.native(True)
        with written_for(name):
            for _ in range(3):
                before = engine.statistics()["native"]
                result, heard = told(lambda: numpy.asarray(function(np, *ours)))
                dflow.waitall()
                assert same(result, expected)
                assert {text for text, _ in heard} == {text for text, _ in plain}
            assert engine.statistics()["native"] > before
    return {text for text, _ in plain}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("operation", UNARY)
def test_each_half(name, operation):
    compare(name, UNARY[operation], ALL)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("operation", BINARY)
def test_pairs_of_halves(name, operation):
    random = numpy.random.default_rng(1)
    special = numpy.array([0, -0.0, 1, -1, 6e-8, -6e-8, 6.1e-5, 65504, -65504, numpy.inf, -numpy.inf, numpy.nan], "f2")
    x, y = (a.ravel() for a in numpy.meshgrid(special, special))
    compare(name, BINARY[operation], numpy.append(random.permutation(ALL), x), numpy.append(ALL, y))


@pytest.mark.parametrize("name", OURS)
def test_floats_are_rounded_to_the_nearest_half(name):
    """Each half, the middle between it and the next, and the floats beside these."""
    bits = ALL.astype("f4").view("u4")[numpy.isfinite(ALL)]
    beside = numpy.array([0, 1, 2 ** 32 - 1, 0x1000, 0xfff, 0x1001, 0x800], "u4")
    near = numpy.add.outer(bits, beside).ravel().view("f4")
    tiny = numpy.ldexp(numpy.arange(1, 4097, dtype="f4"), -36)
    assert compare(name, lambda np, x: x.astype("f2"), near[numpy.isfinite(near)]) == {"overflow encountered in cast"}
    assert not compare(name, lambda np, x: x.astype("f2"), numpy.append(tiny, -tiny))


@pytest.mark.parametrize("text, function", [
    ("overflow encountered in multiply", lambda x: x * 300), ("invalid value encountered in subtract", lambda x: x - x),
    ("divide by zero encountered in divide", lambda x: x / (x - x)), ("overflow encountered in cast", lambda x: (
        x.astype("f4") * 1000).astype("f2"))])
def test_warnings(text, function):
    x = np.full(5000, 1000, "f2")
    if "invalid" in text:
        x[500] = numpy.inf
    with configured(limit=0):
        for _ in range(3):
            before = engine.statistics()["native"]
            _, heard = told(lambda: function(x).wait_to_read())
            assert {line for line, _ in heard} == {text}
        assert engine.statistics()["native"] > before


def test_what_becomes_too_small_is_told_of_as_by_numpy():
    """Of what is rounded up to the least normal half, too, of which no processor tells."""
    x = np.array(numpy.full(1000, 2.0 ** -14 * (1 - 2.0 ** -13), "f4"))
    with configured(limit=0):
        for policy in "ignore", "warn":
            for _ in range(3):
                with numpy.errstate(under=policy):
                    result, heard = told(lambda: numpy.asarray(x.astype("f2")))
                assert {text for text, _ in heard} == ({"underflow encountered in cast"} if policy == "warn" else set())
                assert (result == numpy.float16(2.0 ** -14)).all()


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("layout", ["[::2]", "[:, 1:-1]", ".T", "[:, 0, None]", "[0]", "[3, 5]", "[::-1]"])
def test_layouts_and_lengths(name, layout):
    random = numpy.random.default_rng(2)
    with written_for(name), configured(limit=0):
        for rows in range(20, 40):
            x, y = (random.normal(size=(2 * rows, 2 * rows)).astype("f2") for _ in range(2))
            def chain(np, x, y):
                part = eval(f"x{layout}")
                whole = y[:part.shape[0], :part.shape[1]] if part.ndim == 2 else y
                z = (whole * part + part - whole * 0.3) / 1.7
                z[...] = np.where(z > part, z - 2, part * z)
                return z
            expected = chain(numpy, x, y)
            for _ in range(3):
                assert same(numpy.asarray(chain(np, np.array(x), np.array(y))), expected)


@pytest.mark.parametrize("name", OURS)
def test_in_place_and_views_of_other_types(name):
    def chain(np, x):
        x += 1
        whole = x.view("i2")
        y = x * 2
        x[::2] *= 0.5
        x[1::2] = whole[1::2].astype("f4") * 1e-3
        return np.stack([x, y, x - y, whole.astype("f4").astype("f2")])
    x = numpy.random.default_rng(3).normal(size=5000).astype("f2")
    with written_for(name), configured(limit=0):
        expected = chain(numpy, x.copy())
        for _ in range(3):
            assert same(numpy.asarray(chain(np, np.array(x))), expected)


def test_alone_and_few():
    """One operation is worth a loop; of few elements it is not."""
    assert ran_native(lambda: np.ones(3000, "f2") * 3)[0]
    assert not ran_native(lambda: np.ones(100, "f2") * 3)[0]


@pytest.mark.parametrize("seed", range(100))
def test_random_programs(seed):
    random = numpy.random.default_rng(seed)
    with written_for(OURS[seed % len(OURS)]), configured(**settings(random)):
        check(random, half_program)
