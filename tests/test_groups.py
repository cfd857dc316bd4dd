"""Groups: what runs fused gives the same bits as what runs one by one, and holds up nothing that it does not need."""

import contextlib
import functools
import os
import re
import time
import warnings

import hypothesis.strategies as st
import numpy
import pytest
from compare import assert_same, same_bits
from engines import HANG, Gate, clean_environment, configured, in_threads, poll
from hypothesis import HealthCheck, given, settings

import dflow
import dflow.numpy as np

pytestmark = [pytest.mark.core, pytest.mark.filterwarnings("ignore::RuntimeWarning"),
              pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")]

ENGINES = {
    "naive": {"naive": True},
    "default": {},
    "inline": {"limit": 10 ** 12},
    "unfused": {"limit": 0, "bulk": 0},
    "pairs": {"limit": 0, "bulk": 2, "workers": 2},
    "threes, one worker": {"limit": 0, "bulk": 3, "workers": 1},
    "groups": {"limit": 0},
    "groups, one worker": {"limit": 0, "workers": 1},
    "longest groups, three workers": {"limit": 0, "bulk": 64, "workers": 3},
    "groups, sixteen workers": {"limit": 0, "workers": 16},
}
SIZES = (1, 7, 1000, 70_001)


def sources(n):
    """Arrays of n elements, or rows of them, by name; the same in every call."""
    random = numpy.random.default_rng(n)
    x = random.normal(size=n)
    return {
        "n": n, "x": x, "y": random.normal(size=n), "f": x.astype("float32"), "i": (x * 100).astype("int64"),
        "s": (x * 30).astype("int16"), "u": abs(x * 50).astype("uint8"), "b": x > 0,
        "c": x + 1j * random.normal(size=n),
        "z": numpy.zeros(n), "zero": numpy.array(0.25), "none": numpy.zeros((0, 3)),
        "m": random.normal(size=(max(n // 50, 1), 50)), "p": random.normal(size=(max(n // 3, 1), 3)),
        "pair": random.normal(size=(max(n // 2, 1), 2)), "one": random.normal(size=(n, 1)),
        "F": numpy.asfortranarray(random.normal(size=(50, max(n // 50, 1)))),
        "cube": random.normal(size=(5, max(n // 40, 1), 8)), "row": random.normal(size=50),
        "three": random.normal(size=3),
    }


def both(source, n):
    """Variables for NumPy, and for dflow the same."""
    theirs = sources(n)
    ours = {name: np.array(value) if isinstance(value, numpy.ndarray) else value for name, value in theirs.items()}
    ours["F"] = np.array(theirs["F"].T).T
    return theirs | {"np": numpy}, ours | {"np": np}


def results_of(source, variables, keep=True):
    """The values of r, a list, after the program has run; `keep`: read only at the end, when other handles are gone."""
    exec(compile(source, f"<{source}>", "exec"), variables)
    results = variables.pop("r")
    if keep:
        variables.clear()
    return [result.asnumpy() if hasattr(result, "asnumpy") else numpy.asarray(result) for result in results]


def identical(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and same_bits(a, b)


# -- values ----------------------------------------------------------------------------------------

ELEMENTWISE = {
    "chain": "r = [x * y + 2 * x - y / 3]",
    "kept temporaries": "a = x * y; b = a + 1; c = b * a; r = [a, b, c, a + b + c]",
    "casts": "r = [(x.astype('float32') + f).astype('float64') * i, (i + x).astype('float32') + u, s + u + b, "
             "f + i + c]",
    "mixed types": "r = [(i * 2 + s) % 7, (u + s) * f, (x > 0) & b | (i < 3), ~b ^ (f >= y), -s + abs(i)]",
    "where=": "a = np.zeros(n); np.add(x, y, out=a, where=b); np.multiply(a, 2, out=a, where=~b); r = [a, a + 1]",
    "clip": "r = [np.clip(x * 2, -1, 1) + np.clip(i, -3, 50), np.clip(x, -abs(y), abs(y)) * 2]",
    "np.where": "r = [np.where(x > y, x * 2, y - 1) + np.where(b, i, 0), np.where(np.where(b, x, y) > 0, 1, f)]",
    "fills": "a = np.full(n, 3.0); a += x; c = np.zeros(n); c[...] = 2; c *= a; a.fill(7); r = [a, c, a + c]",
    "broadcasts": "r = [m * row + 1, (m + row) * (m[:, :1] - row), m + zero * 2, (one + three) * 2 - three]",
    "outer": "r = [(x[:40, None] + y[None, :30]) * 2 - y[:30], x[:40, None] * 0 + 1]",
    "copies into views": "a = np.zeros((2, n)); a[0] = x * 2; a[1] = y + a[0]; a[:, ::2] += 1; r = [a, a[0] + a[1], "
                         "a[::-1] * 2]",
    "in place": "x += y; x *= 2; y -= x; x /= 3; i //= 3; i += 1; r = [x, y, i, x + i]",
    "negative steps": "a = x[::-1] * 2 + y; a[::-1] += x; c = a[::-2] - x[::-2]; r = [a, c, c[::-1] * 2]",
    "columns": "m[:, 0] = m[:, 1] * 2; m[:, 3:7] += m[:, 3:7] * 2; m[:, ::3] -= 1; r = [m, m[:, 1] + m[:, 0]]",
    "Fortran's order": "r = [F * 2 + 1, (F + F.T.copy().T) * F, F.T - 1, F + F[:, :1], (F * 2).T + 1]",
    "transposes": "a = m * 2; r = [a.T + 1, (a.T * m.T).T, a.T[::-1] + m.T[::-1]]",
    "transposed target": "a = np.zeros((50, len(m))); a[...] = m.T; a.T[...] += m; a += 1; r = [a, a * 2]",
    "cube": "r = [cube.transpose(2, 0, 1) * 2 + 1, np.swapaxes(cube, 0, 1) + np.swapaxes(cube, 0, 1) * 3, cube[:, "
            "::-1] - cube[::-1]]",
    "reshaped": "a = (cube + 1).reshape(5, -1) * 2; a += 1; r = [a, a.reshape(-1) - 3, (cube * 2).reshape(-1, "
                "4) + cube.reshape(-1, 4)]",
    "no axes": "a = zero * 2; a = a + 1; c = np.zeros(()); c += a; c *= a; r = [a, c, c + x, x * c]",
    "no elements": "a = none + 1; a *= 2; a[...] = a + none; x[:0] += y[:0]; r = [a, a + a, x, x[:0] * 2, m[:, "
                   ":0] + 1, m[:0] + row]",
    "axes of length 1": "r = [one * 2 + 1, (one + x[:, None]) * one, one.T * 2 + x, one[:, 0] + one[:, -1] * 2]",
    "rows of 2 and 3": "p *= 2; p[:, 0] += p[:, 1]; r = [p, p + three, p[:, ::-1] * 2 - p, pair * 2 + pair[:, :1], "
                       "pair.T + 1, p[::2] * three]",
    "several outputs": "q, a = np.divmod(x * 3, y); d, e = np.modf(x * 2); g, h = np.frexp(y); r = [q + a, d, e * 2, "
                       "g - 1, h, q]",
    "one of several outputs": "r = [np.divmod(x * 3, y)[1] + 1, np.modf(x)[0] * 2, np.frexp(y)[1] + 1]",
    "complex parts": "a = c * 2; r = [a.real + a.imag, a.conj() + a, abs(a), a.imag * 2]",
    "real part of a temporary": "r = [(c * 2).real + 1, (c + x).imag - (c * 1j).real]",
    "parts written": "c.real += x; d = c * 2; c.imag *= 3; c.real[...] = c.imag; r = [c, d, c + d]",
    "other types of a temporary": "r = [(x + 1).view('int64') + 1, (x * 2).view('int32')[::2] + 1, "
                                  "(x + y).view('int32')[1::2] * 2]",
    "slices of temporaries": "a = x * 2; r = [a[1:] - a[:-1], (y + 1)[::-1] * 2, (y * 2)[3:5] + 1]",
    "functions": "r = [np.sin(x) ** 2 + np.cos(x) ** 2, np.exp(-x * x), np.sqrt(abs(y)) + np.log(abs(x) + 1), "
                 "np.arctan2(x, y), np.hypot(f, f)]",
    "long doubles and halves": "a = x.astype('longdouble') / 3; h = f.astype('float16') * 2; r = [a * a + 1, h + 1, "
                               "(a + h).astype('float32')]",
    "self": "a = x + x; a += a; a *= a; r = [a - a, a]",
    "dropped later": "a = x + 1; c = a * 2; d = c - y; a = None; r = [d * 2]; c = None",
    "logic": "r = [np.isfinite(x / z) | np.isnan(x / z), np.signbit(x) & ~b, np.logical_xor(b, x), "
             "np.maximum(np.minimum(x, y), zero)]",
    "copies": "a = x.copy(); a += 1; d = a.copy(); a *= 2; e = np.array(a)[::2] + 1; r = [x, a, d, e, "
              "a.astype('int64').astype('float32')]",
    "ravel, zeros_like, copyto": "a = np.zeros_like(m); np.copyto(a, m * 2); np.copyto(a, row, where=m > 0); r = [a, "
                                 "a.ravel() + 1]",
    "bytes": "r = [u + u, u * 3, u >> 1, u & 7, (u << 1) ^ u, s % 5, s // 3, -s]",
}


def long_chain():
    """More members than any group takes, of one and of two streams, with handles kept now and then."""
    lines = ["kept = []", "a = x; c = y"]
    for k in range(150):
        lines.append((f"a = a * {1 + k % 3} - c", "c = c / 2 + x", "a += 1", "c = c - a / 4")[k % 4])
        if k % 37 == 0:
            lines.append("kept.append(a * 2)")
    return "\n".join([*lines, "r = [a, c, *kept]"])


ELEMENTWISE["longer than a group"] = long_chain()
ELEMENTWISE["many operands"] = ("a = [x * k for k in range(60)]; d = a[0]\n"
                               "for e in a: d = np.where(e > d, e + d, d - e)\nr = [d, *a[::13]]")

REDUCTIONS = {
    "sum": "r = [(x * y).sum(), (x * y + 1).sum(), (i * 2).sum(), (u + 1).sum(), (b ^ True).sum(), (c * 2).sum(), "
           "(f * f).sum()]",
    "kept input": "a = x * y; d = a.sum(); r = [a, d, a + d]",
    "max, min": "r = [(x * 2).max(), (y - x).min(), (i + 1).max(), (u * 2).min(), abs(c).max(), (f + 1).min()]",
    "any, all": "r = [(x > 5).any(), (x > -9).all(), (b & (y > 0)).any(), (i == 0).all()]",
    "mean, var, std": "r = [(x * 2).mean(), (x + y).var(), (f * 2).std(), (m * 2).mean(0), (m * 2).var(axis=1), "
                      "(m + 1).std(axis=0)]",
    "rows": "r = [(m * 2).sum(axis=1), (m + row).max(axis=-1), (m > 0).any(axis=1), (m - 1).mean(axis=1), "
            "((m * 2) ** 2).sum(-1)]",
    "columns": "r = [(m * 2).sum(axis=0), (m + row).min(axis=0), (m > 0).all(axis=0), (F * 2).sum(axis=0), "
               "(F * 2).sum(axis=1)]",
    "keepdims": "a = m * 2; r = [a - a.max(axis=1, keepdims=True), a / a.sum(axis=0, keepdims=True), "
                "a.sum(keepdims=True) + a]",
    "tuples": "r = [(cube * 2).sum(axis=(1, 2)), (cube + 1).sum(axis=(0, 2)), (cube - 1).max(axis=(0, 1)), "
              "(cube * 3).sum(axis=(2, 0), keepdims=True), (cube * 2).sum(axis=())]",
    "masked": "r = [(x * 2).sum(where=b), (m * 2).sum(axis=1, where=m > 0), (x + 1).max(where=b, initial=-5), "
              "(x * 2).mean(where=x < 9)]",
    "initial": "r = [(x * 2).sum(initial=5), (m + 1).max(axis=1, initial=0), (m * 2).sum(axis=0, initial=-1), "
               "(cube + 1).sum(axis=(1, 2), initial=3), (i * 2).min(initial=3)]",
    "strided": "r = [(x[::2] * 2).sum(), (m[:, ::3] + 1).sum(axis=1), (m[::-1, ::-1] * 2).sum(), m[:, "
               "::3].sum(axis=1), x[::-3].sum(), m[::2, 1::4].sum()]",
    "permuted": "r = [(cube.transpose(2, 0, 1) * 2).sum(), cube.transpose(1, 2, 0).sum(axis=(0, 2)), "
                "(cube.T + 1).sum(axis=0), (cube.T + 1).sum(axis=-1), F.sum(), (F * 2).sum(), F.T.sum(1)]",
    "strided, several axes": "r = [cube[:, ::2, ::3].sum(axis=(1, 2)), cube[::2, :, ::2].sum(axis=(0, 2)), m[:, "
                             "::2].sum(), cube[::2, ::2, ::2].sum(initial=1), cube[:, :, ::2].sum(axis=(1, 2), "
                             "initial=0.3)]",
    "several axes, initial": "a = cube[:, ::2, ::3]; r = [a.sum(axis=(1, 2), initial=0.1), (a + 0).sum(axis=(1, 2), "
                             "initial=0.1), a[:, :3].sum(axis=(1, 2)), (cube[:, :3] * 1).sum(axis=(0, 2))]",
    "short rows": "r = [(p * 2).sum(axis=1), (p + three).max(axis=1), (pair * 2).sum(axis=-1), (one + 1).sum(axis=1), "
                  "(one + 1).sum(axis=0), (p * 2).sum(axis=0)]",
    "long rows": "a = np.stack([x, y, x * y]); r = [(a * 2).sum(axis=1), a.max(axis=1), (a + x).sum(axis=1, "
                 "initial=2), (a > 0).sum(axis=1), a.sum(axis=0)]",
    "after rows": "e = np.exp(m - m.max(axis=1, keepdims=True)); "
                  "r = [e / e.sum(axis=1, keepdims=True), np.log(e.sum(axis=1)) + m.max(axis=1)]",
    "rows normalized": "a = m - m.mean(axis=1)[:, None]; r = [a / np.sqrt((a * a).mean(axis=1, keepdims=True) + 1e-5)]",
    "rows in place": "a = m * 2; a -= a.max(axis=1, keepdims=True); a *= 0.5; d = p + 0; "
                     "d /= d.sum(axis=1, keepdims=True); r = [a, d]",
    "rows into themselves": "a = m * 2; a[:, :1] = a.sum(axis=1, keepdims=True); a[:, 1] += a.max(axis=1); r = [a + 1]",
    "rows read as columns": "q = np.outer(row, row + 1); a = q * 2; t = a.max(axis=1); "
                            "r = [a - t, a - t[:, None], a.T - t, (a + 1) - t[::-1, None], q - q.sum(axis=1)]",
    "rows of several axes": "a = cube * 2; r = [a - a.max(axis=2, keepdims=True), "
                            "a - a.sum(axis=(1, 2), keepdims=True), "
                            "cube - cube.max(axis=(0, 1, 2), keepdims=True), "
                            "(a.max(axis=2, keepdims=True) - a).sum(axis=(1, 2))]",
    "rows of two lengths": "a = cube - cube.max(axis=2, keepdims=True); r = [a.sum(axis=(1, 2)), a.sum(axis=2), a]",
    "scattered rows": "d = m[::2, ::-3]; e = cube.transpose(2, 0, 1); r = [F - F.sum(axis=1, keepdims=True), "
                      "d - d.min(axis=1, keepdims=True), e - e.max(axis=-1, keepdims=True), "
                      "e.sum(axis=-1, initial=3)[..., None] * e]",
    "two of the same rows": "r = [m.max(axis=1, keepdims=True) - m.min(axis=1, keepdims=True) + m, "
                            "m / m.sum(axis=1, keepdims=True, initial=2), np.hypot(m, (m * m).sum(axis=1)[:, None])]",
    "rows of other types": "r = [(m > 0).sum(axis=1, keepdims=True) + m, (i[:len(m)] * 2)[:, None] + (m > 1), "
                           "m.astype('float32').sum(axis=1, dtype='float64', keepdims=True) * m, "
                           "(m > 0).any(axis=1, keepdims=True) ^ (m < 1)]",
    "after long rows": "a = np.stack([x, y, x * y]); e = np.exp(a - a.max(axis=1, keepdims=True)); "
                       "r = [e, e / e.sum(axis=1, keepdims=True)]",
    "many long rows": "a = x[:2000] + np.zeros((40, 1)); r = [(a * 2).sum(axis=1), (a - 1).min(axis=1), "
                      "(a * a).sum(axis=1, initial=0.5), (a.astype('float32') * 2).sum(axis=-1)]",
    "dtype": "r = [(x * 2).sum(dtype='float32'), (i + 1).sum(dtype='float64'), (f * 2).sum(dtype='float64'), "
             "(s * 2).sum(), (b | b).sum(axis=0)]",
    "out": "a = np.zeros(len(m)); np.sum(m * 2, axis=1, out=a); a += 1; d = np.ones((2, len(m))); np.max(m + 1, "
           "axis=1, out=d[1]); r = [a, d]",
    "complex products": "a = c * 2; r = [a.conj() * a, a * c, (a + 1) * (c - 1j), (a / c).sum(), "
                        "c[::2] * (a[::2] + 1), np.square(a) * c]",
    "dot-like": "r = [(x * y).sum() / (x * x).sum(), ((x - x.mean()) ** 2).sum(), np.sqrt((m ** 2).sum(axis=1)), "
                "x / np.sqrt((x * x).sum())]",
    "nan": "a = np.where(b, x, np.nan); r = [(a * 2).max(), (a + 1).sum(), np.nansum(a * 1), (m / 0).min(axis=1), "
           "np.fmax.reduce(a * 2)]",
    "no elements": "r = [(none * 2).sum(), (none + 1).sum(axis=0), (none + 1).sum(axis=1), (x[:0] * 2).sum(), "
                   "(none > 0).any(axis=1), (none + 1).max(axis=1)]",
    "products": "r = [(x[:20] * 2).prod(), (i % 3 + 1)[:30].prod(), (pair[:20] + 1).prod(axis=1)]",
    "no axes": "r = [(zero * 2).sum(), (zero + 1).max(), ((zero + 1) * 2).sum(axis=())]",
}
PROGRAMS = {f"{kind}: {name}": source for kind, programs in (("elementwise", ELEMENTWISE), ("reduction", REDUCTIONS))
            for name, source in programs.items()}


@functools.cache
def reference(name, n):
    """What the naive engine computes, after a comparison with NumPy."""
    source = PROGRAMS[name]
    theirs, ours = both(source, n)
    expected = results_of(source, theirs)
    with configured(naive=True):
        actual = results_of(source, ours)
    assert len(actual) == len(expected)
    for k, (a, e) in enumerate(zip(actual, expected)):
        assert (a.dtype, a.shape) == (e.dtype, e.shape), (k, a, e)
        if name.startswith("reduction") and a.dtype.kind in "fc":
            tolerance = 1e-12 if a.dtype.itemsize // (1 + (a.dtype.kind == "c")) >= 8 else 2e-4
            assert numpy.allclose(a, e, rtol=tolerance, atol=tolerance * max(n, 1), equal_nan=True), (k, a, e)
        else:
            assert same_bits(a, e), (k, a, e)
    return actual


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_are_the_same_however_it_runs(name):
    """For every other engine, both with all handles kept to the end and with a worker that may start at any time."""
    for turn, n in enumerate(SIZES):
        expected = reference(name, n)
        for engine, setup in list(ENGINES.items())[(turn + len(name)) % 2::2]:
            with configured(**setup):
                actual = results_of(PROGRAMS[name], both(PROGRAMS[name], n)[1])
            for k, (a, e) in enumerate(zip(actual, expected)):
                assert identical(a, e), f"{engine}, n = {n}, result {k}: {a!r}\nnaive: {e!r}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_are_the_same_when_everything_piles_up(name):
    """The inputs stay pending until all is submitted: groups are as long as they can be."""
    n = 1000
    expected = reference(name, n)
    for setup in ({}, {"bulk": 64}, {"bulk": 2}):
        with configured(limit=0, workers=2, **setup), Gate() as gate:
            ours = both(PROGRAMS[name], n)[1]
            held = gate.hold()
            for k in ("x", "y", "m", "p", "cube", "pair", "one"):
                ours[k] = ours[k] + held[0] * 0
            exec(compile(PROGRAMS[name], f"<{name}>", "exec"), ours)
            results = ours.pop("r")
            ours.clear()
            gate.open()
            for k, (a, e) in enumerate(zip([result.asnumpy() for result in results], expected)):
                assert identical(a, e), f"{setup}, result {k}: {a!r}\nnaive: {e!r}"
            del results, held


# -- overlap ---------------------------------------------------------------------------------------

def heat(np, x, steps):
    new = x.copy()
    for _ in range(steps):
        new[1:-1] = x[1:-1] + 0.1 * (x[:-2] - 2 * x[1:-1] + x[2:])
        x, new = new, x
    return x, new


def waves(np, x, steps):
    """Five points, with buffers that change places and a source in the middle."""
    u, before = x, x * 0.5
    for k in range(steps):
        inner = u[1:-1, 1:-1]
        before[1:-1, 1:-1] = 2 * inner - before[1:-1, 1:-1] + 0.2 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)
        before[len(x) // 2, 2] += k
        u, before = before, u
    return u, before


def smooth_in_place(np, x, steps):
    for _ in range(steps):
        x[1:-1] = (x[:-2] + x[2:]) * 0.5
    return (x,)


def red_and_black(np, x, steps):
    for _ in range(steps):
        x[1:-1:2] = (x[:-2:2] + x[2::2][:len(x[1:-1:2])]) * 0.5
        x[2:-1:2] += (x[1:-2:2] - x[3::2][:len(x[2:-1:2])]) * 0.25
    return (x,)


def leapfrog(np, x, steps):
    y = x * 0.5
    for _ in range(steps):
        x += y
        y += x
        y *= 0.5
        x -= y * 0.25
    return x, y


def rotate_parts(np, x, steps):
    z = x + 1j
    for _ in range(steps):
        z.real += z.imag
        z *= 0.5
        z.imag -= z.real
        w = z * 2
        z.imag[...] = w.real
    return z, w


SHIFTS = ("a[1:] += a[:-1]", "a[:-1] += a[1:]", "a[::2] = a[1::2]", "a[1::2] = a[::2]", "a[::2] += a[1::2]",
          "a[::-1] += a",
          "a[...] = a[::-1]", "a[2:] = a[:-2] * 2 + a[2:]", "a += a[0]", "a *= a[-1]", "a[1:] = a[:-1]",
          "a[:-3] -= a[3:]",
          "a += b; b += a", "a[1:] += b[:-1]; b[1:] -= a[:-1]", "b[...] = a; a[1:] = b[:-1]",
          "a[::2] += b[::2]; a[1::2] = a[::2]",
          "np.add(a[:-1], a[1:], out=a[1:])", "np.subtract(a, a[::-1], out=b); a[...] = b",
          "a[1:] += a[:-1] * a[:-1]; b += a",
          "np.add(a, b, out=a, where=a[::-1] > 0)", "a[a.shape[0] // 2:] = a[:a.shape[0] - a.shape[0] // 2]",
          "t = a + 1; a[1:] = t[:-1]; t[::2] = a[::2]; b += t", "np.modf(a, out=(b, a))", "np.divmod(a, 3, out=(a, b))")


@pytest.mark.parametrize("engine", ENGINES)
def test_shifted_updates(engine):
    for shape in ((2,), (1000,), (50_000,), (40, 2), (60, 50)):
        for transposed in (False, True)[:len(shape)]:
            start = numpy.arange(float(numpy.prod(shape))).reshape(shape) % 11 - 4
            for statement in SHIFTS:
                expected = {"a": start.copy(), "b": start * 2, "np": numpy}
                if transposed:
                    expected["a"], expected["b"] = expected["a"].T.copy(), expected["b"].T.copy()
                with configured(**ENGINES[engine]):
                    ours = {k: np.array(v) for k, v in expected.items() if k != "np"} | {"np": np}
                    for variables in (expected, ours):
                        if transposed:
                            variables |= {"a": variables["a"].T, "b": variables["b"].T}
                        for _ in range(2):
                            exec(statement, variables)
                    for name in ("a", "b"):
                        assert identical(ours[name].asnumpy(), expected[name]), (statement, shape, transposed)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("stepper, shapes", [(heat, ((3,), (501,), (30_000,), (200, 30))), (waves, ((5, 6), (90, 70))),
                                             (smooth_in_place, ((5,), (3000,), (50, 60))),
                                             (red_and_black, ((9,), (2001,), (41, 30))),
                                             (leapfrog, ((1,), (4000,), (30, 3))),
                                             (rotate_parts, ((1,), (3000,), (40, 2)))])
def test_steps_of_a_simulation(engine, stepper, shapes):
    for shape in shapes:
        x = numpy.random.default_rng(0).normal(size=shape)
        expected = stepper(numpy, x.copy(), 30)
        with configured(**ENGINES[engine]):
            for a, e in zip(stepper(np, np.array(x), 30), expected):
                assert identical(a.asnumpy(), e), shape


def test_a_read_of_whole_elements_holds_up_a_write_of_the_other_part():
    """z * 2 reads both parts, its group wrote the real ones: a write of the imaginary ones must wait for z * 2."""
    for n in (1, 3000):
        for write in ("z.imag[...] = 7", "z.imag *= 3", "z.imag[...] = np.sort(z.imag)", "z.view('float64')[1::2] = 5"):
            z = numpy.random.default_rng(n).normal(size=n) + 1j
            expected = {"z": z.copy(), "h": numpy.ones(n), "np": numpy}
            exec(f"z.real += h; w = z * 2; {write}", expected)
            with configured(limit=0, workers=2, bulk=2), Gate() as gate:
                ours = {"z": np.array(z), "np": np, "h": gate.hold(np.ones(n))}
                exec(f"z.real += h; w = z * 2; {write}", ours)
                time.sleep(0.005)
                gate.open()
                assert identical(ours["w"].asnumpy(), expected["w"]), write
                assert identical(ours["z"].asnumpy(), expected["z"]), write


# -- what is stored, and what is counted -----------------------------------------------------------

@pytest.fixture
def held_group():
    """A worker for the gate and one for groups, which begin when the gate opens."""
    with configured(limit=0, workers=2), Gate() as gate:
        yield gate


COUNTERS = ("groups", "fused", "bytes_never_stored", "queued")


class Counted:
    """How the engine's counters move, from here to `moved()`."""

    def __init__(self):
        self.before = dflow.engine.statistics()

    def moved(self):
        dflow.waitall()
        after = dflow.engine.statistics()
        return {name: after[name] - self.before[name] for name in COUNTERS}


def test_what_nobody_holds_is_not_stored(held_group):
    h = held_group.hold(np.ones(5000))
    counted = Counted()
    z = (h * 2 + 1) * 3 - h
    held_group.open()
    assert (z.asnumpy() == 8).all()
    assert counted.moved() == {"groups": 1, "fused": 4, "bytes_never_stored": 3 * 40_000, "queued": 4}


def test_what_somebody_holds_is_stored(held_group):
    h = held_group.hold(np.ones(5000))
    counted = Counted()
    a = h * 2
    b = a + 1
    z = b * 3 - h
    del b
    held_group.open()
    assert (z.asnumpy() == 8).all() and (a.asnumpy() == 2).all()
    assert counted.moved() == {"groups": 1, "fused": 4, "bytes_never_stored": 2 * 40_000, "queued": 4}


def test_a_softmax_is_one_group(held_group):
    """Both reductions are members: x is read once, and neither x - max nor its exponential is stored."""
    x = numpy.random.default_rng(5).random((50, 100))
    h = held_group.hold(np.array(x))
    counted = Counted()

    def softmax(np, x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    z = softmax(np, h)
    held_group.open()
    assert_same(z, softmax(numpy, x))
    assert counted.moved() == {"groups": 1, "fused": 5, "bytes_never_stored": 2 * 40_000, "queued": 5}


@pytest.mark.parametrize("end", ["all", "any", "sum"])
def test_a_comparison_and_what_is_asked_of_it_are_one_group(held_group, end):
    """Blocks of bools, a byte each, hold so few of them that the floats behind them have room in registers."""
    x, y = numpy.random.default_rng(6).random((2, 5000))
    h = held_group.hold(np.array(x))
    w = np.array(y)
    counted = Counted()
    z = getattr(abs(h - w) <= 0.5 + 1e-5 * abs(h), end)()
    held_group.open()
    assert_same(z, getattr(abs(x - y) <= 0.5 + 1e-5 * abs(x), end)())
    moved = counted.moved()
    assert moved["groups"] == 1 and moved["bytes_never_stored"] >= 5 * 40_000


def test_small_operations_join_a_large_group_and_no_other():
    with configured(workers=1):
        x, y = np.arange(2000.0), np.ones(2000)
        counted = Counted()
        z = np.sin(x) * y + 2 * x                       # sin is large; alone, the others would run at once
        assert (z.asnumpy() == numpy.sin(x.asnumpy()) + 2 * x.asnumpy()).all()
        assert counted.moved()["queued"] == 4
        counted = Counted()
        z = x * y + 2 * x
        assert counted.moved()["queued"] == 0


def test_a_handle_dropped_after_the_group_has_run(held_group):
    h = held_group.hold(np.ones(5000))
    counted = Counted()
    a = h * 2
    z = a + 1
    held_group.open()
    z.wait_to_read()
    assert (a.asnumpy() == 2).all()
    bytes_before = dflow.engine.statistics()["bytes"]
    del a
    assert dflow.engine.statistics()["bytes"] == bytes_before - 40_000
    assert (z.asnumpy() == 3).all() and counted.moved()["bytes_never_stored"] == 0


def test_a_view_of_a_temporary_keeps_it(held_group):
    h = held_group.hold(np.arange(5000.0))
    a = h * 2
    row, z = a[10:13], a + 1
    del a
    held_group.open()
    assert row.tolist() == [20, 22, 24] and z[:2].tolist() == [1, 3]


def test_a_later_reader_keeps_a_temporary(held_group):
    """A task outside the group holds what it reads, though no handle does."""
    h = held_group.hold(np.arange(5000.0))
    counted = Counted()
    a = h * 2
    z, middle = a + 1, np.sort(a[::-1])
    del a
    held_group.open()
    assert middle[:3].tolist() == [0, 2, 4] and z[:2].tolist() == [1, 3]
    assert counted.moved()["bytes_never_stored"] == 0


def test_a_reduction_ends_a_group(held_group):
    h = held_group.hold(np.ones(5000))
    counted = Counted()
    total = (h * 2 + 1).sum()
    held_group.open()
    assert total.item() == 15_000
    assert counted.moved() == {"groups": 1, "fused": 3, "bytes_never_stored": 2 * 40_000, "queued": 3}


def test_no_fusion_means_none(held_group):
    for n in (0, 1):
        dflow.engine.bulk(n)
        counted = Counted()
        z = (np.ones(5000) * 2 + 1) * 3
        assert (z.asnumpy() == 9).all()
        moved = counted.moved()
        assert moved["groups"] == moved["fused"] == moved["bytes_never_stored"] == 0 and moved["queued"] >= 3


@pytest.mark.parametrize("n", [2, 5, 64])
def test_no_group_is_longer_than_the_limit(held_group, n):
    dflow.engine.bulk(n)
    y = held_group.hold(np.ones(500))
    counted = Counted()
    for _ in range(200):
        y = y + 1
    held_group.open()
    assert (y.asnumpy() == 201).all()
    moved = counted.moved()
    assert moved["queued"] == 200 and moved["fused"] <= 200
    assert moved["groups"] >= -(-200 // n) - 1 and moved["fused"] <= n * moved["groups"]


def test_more_axes_than_a_group_has(two_workers):
    """Where none can be joined with the next, and it is worth more than one worker."""
    values = numpy.random.default_rng(1).random((3,) * 13)
    order = numpy.random.default_rng(1).permutation(13)
    parts = (slice(None, None, 2), slice(None)) * 6 + (slice(None, None, 2),)
    expected = values.transpose(order)[parts]
    x = np.asarray(values).transpose(order)[parts]
    assert_same(np.sin(x) + x, numpy.sin(expected) + expected)


def test_different_shapes_do_not_share_a_group(held_group):
    h = held_group.hold(np.ones(6))
    counted = Counted()
    a, b = h[:4] * 2, h[:5] * 2
    held_group.open()
    assert a.tolist() == [2] * 4 and b.tolist() == [2] * 5
    assert counted.moved()["groups"] == 0


def test_naive_mode_makes_no_groups():
    with configured(naive=True):
        counted = Counted()
        assert (((np.ones(50_000) * 2 + 1) * 3).asnumpy() == 9).all()
        assert counted.moved() == dict.fromkeys(COUNTERS, 0)


# -- a group holds up nothing that it does not need ------------------------------------------------

@pytest.fixture
def two_workers():
    with configured(limit=0, workers=2):
        yield


@pytest.mark.parametrize("n", [2, 100_000])
def test_ready_work_beside_pending_work_finishes(two_workers, n):
    with Gate() as gate:
        h = gate.hold(np.ones(n))
        x = np.ones(n)
        pending, ready = [h + 1], [x + 1]
        for k in range(10):                             # of one iteration space, in turn
            pending.append(pending[-1] * 2 + k)
            ready.append(ready[-1] + k)
        assert (ready[-1].asnumpy() == 47).all()        # hangs if it lies in a group with what waits
        assert all(r.is_ready() for r in ready) and not any(p.is_ready() for p in pending)
        gate.open()
        assert (pending[-1].asnumpy() == 2 * 1024 + sum(k * 2 ** (9 - k) for k in range(10))).all()


def test_who_waits_for_python_code_does_not_join(two_workers):
    with Gate() as gate:
        h, x = gate.hold(np.ones(10 ** 6)), np.ones(10 ** 6)
        y = x * 2 + 1
        both = y + h
        assert poll(y.is_ready) and not both.is_ready()
        gate.open()
        assert (both.asnumpy() == 4).all()


def test_what_becomes_ready_first_is_not_held_up_by_the_rest(two_workers):
    with configured(workers=3), Gate() as first, Gate() as second:
        a, b = first.hold(np.ones(50)), second.hold(np.ones(50))
        x, y = a + 1, b + 1
        z = x + 1
        both = x + y
        w = z * 2
        first.open()
        assert w.tolist() == [6] * 50 and x.tolist() == [2] * 50
        assert not y.is_ready() and not both.is_ready()
        second.open()
        assert both.tolist() == [4] * 50


def test_a_member_of_two_groups_that_wait(two_workers):
    """x of the one, y of the other, and back: nothing waits in a ring."""
    with configured(workers=3), Gate() as first, Gate() as second:
        a, b = first.hold(np.ones(50)), second.hold(np.ones(50))
        x, y = a + 1, b + 1
        for _ in range(20):
            x += y
            y += x
        second.open()
        first.open()
        e = [numpy.full(50, 2.0), numpy.full(50, 2.0)]
        for _ in range(20):
            e[0] += e[1]
            e[1] += e[0]
        assert_same(x, e[0])
        assert_same(y, e[1])


@pytest.mark.parametrize("n", [1, 10, 200_000])
@pytest.mark.parametrize("workers", [1, 2])
def test_is_ready_becomes_true_by_itself(n, workers):
    with configured(limit=0, workers=workers):
        x = np.ones(n)
        for _ in range(30):
            y = x + 1
            assert poll(y.is_ready)
            y = (x * 2 + 1) * x
            z = y.sum()
            assert poll(z.is_ready) and y.is_ready()


@pytest.mark.parametrize("n", [1, 10, 200_000])
def test_pending_becomes_0_by_itself(two_workers, n):
    x = np.ones(n)
    for _ in range(30):
        y = x + 1
        y = y * 2
        assert poll(lambda: dflow.engine.statistics()["pending"] == 0)
        assert y.is_ready()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_large_open_group_starts_though_nobody_asks(workers):
    """live() only counts: no call of ours closes the group."""
    with configured(limit=0, workers=workers):
        x = np.ones(2_000_000)
        x.wait_to_read()
        y = x + 1
        assert poll(lambda: dflow._engine.live()["tasks"] == 0)
        assert y.is_ready()


def test_a_small_operation_is_done_when_it_is_asked_for(two_workers):
    x = np.ones(3)
    for read in (lambda y: y.tolist(), lambda y: y.asnumpy().tolist(), lambda y: list(map(float, y)),
                 lambda y: (y + 0).tolist(),
                 lambda y: dflow.submit(lambda a: a.tolist(), y).result(), lambda y: numpy.asarray(y).tolist()):
        assert read(x + 1) == [2, 2, 2]


def test_a_host_task_closes_the_group_that_it_reads(two_workers):
    x = np.ones(4)
    for _ in range(100):
        future = dflow.submit(lambda a: a.sum(), (x + 1) * 2)
        assert poll(future.done)
        assert future.result() == 16


def test_threads_that_submit_into_one_group(two_workers):
    """Each with arrays of its own and of one shape, so that members of all threads meet in a group."""
    wrong = []

    def work(k):
        x = np.full(300, float(k))
        expected = numpy.full(300, float(k))
        for step in range(200):
            x = x * 0.5 + k
            expected = expected * 0.5 + k
            x += 1
            expected += 1
            if step % 20 == k:
                if not identical(x.asnumpy(), expected):
                    wrong.append((k, step))

    in_threads(*(lambda k=k: work(k) for k in range(6)))
    assert wrong == []


# -- errors ----------------------------------------------------------------------------------------

def failing(n):
    return dflow.engine.sleep(np.full(n, 2), 0.02) ** np.full(n, -1)


def test_poison_reaches_what_depends_on_it_and_nothing_else(two_workers):
    for n in (2, 50_000):
        bad, good = failing(n), dflow.engine.sleep(np.full(n, 2), 0.02)
        target = np.zeros(n)
        with Gate() as gate:                    # both are pending and wait for the same, as far as groups can tell
            h = gate.hold(np.zeros(n, dtype="int64"))
            members = [h + good, h + bad, h * 2, (h + bad) * 2, (h + good) * 2]
            members.append(members[1] + members[0])
            members.append(members[0] * 3)
            target += members[6]
            total, lost = (members[0] + 1).sum(), (members[1] + 1).sum()
            gate.open()
        poisoned = [1, 3, 5]
        for k, member in enumerate(members):
            if k in poisoned:
                with pytest.raises(ValueError, match="negative integer powers"):
                    member.asnumpy()
            else:
                assert (member.asnumpy() == {0: 2, 2: 0, 4: 4, 6: 6}[k]).all()
        assert (target.asnumpy() == 6).all() and total.item() == 3 * n
        with pytest.raises(ValueError, match="negative integer powers"):
            lost.item()


def test_a_full_overwrite_inside_a_group_clears(two_workers, monkeypatch):
    reported = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: reported.append(str(unraisable.exc_value)))
    bad = failing(1000)
    with Gate() as gate:
        h = gate.hold(np.ones(1000, dtype="int64"))
        bad[...] = h
        bad += 1
        after = bad * 2
        gate.open()
        assert (after.asnumpy() == 4).all() and (bad.asnumpy() == 2).all()
    dflow.waitall()
    assert len(reported) == 1 and "negative integer powers" in reported[0]


def recorded(function):
    with contextlib.ExitStack() as stack:           # in a `with` of the recorder's, operations would wait to warn
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        function()
    return [(os.path.basename(w.filename), w.lineno - function.__code__.co_firstlineno, str(w.message)) for w in caught
            if w.category is RuntimeWarning]


@pytest.mark.parametrize("n", [10, 300_000])
@pytest.mark.parametrize("setup", [{"limit": 0}, {"limit": 0, "bulk": 0}, {"limit": 0, "workers": 4},
                                   {"limit": 10 ** 12}, {"limit": 0, "bulk": 2}])
def test_warnings_name_each_members_own_line_once(setup, n):
    def program():
        z = np.zeros(n)
        a = 1 / (z + 0)
        b = a * 2
        c = np.sqrt(b * 0 - 1)
        d = np.log(z) + c
        e = (np.exp(z + 800) + 1).sum()
        np.stack([d.sum(), e]).wait_to_read()

    with configured(**setup):
        dflow.waitall()
        seen = sorted(recorded(program))
    file = os.path.basename(__file__)
    assert seen == sorted([(file, 2, "divide by zero encountered in divide"),
                           (file, 4, "invalid value encountered in multiply"),
                           (file, 5, "divide by zero encountered in log"),
                           (file, 6, "overflow encountered in exp")])


def test_a_reduction_at_the_end_of_a_group_warns(two_workers):
    def program():
        x = np.full(1000, 1e308)
        y = (x * 1).sum()
        y.wait_to_read()

    expected = recorded(lambda: numpy.full(1000, 1e308).sum())
    seen = recorded(program)
    assert [text for *_, text in seen] == [text for *_, text in expected] == ["overflow encountered in reduce"]
    assert seen[0][:2] == (os.path.basename(__file__), 2)


def test_errstate_raise_raises_at_the_line_though_a_group_is_open(two_workers):
    x = np.ones(100)
    a = (x + 1) * 2
    with numpy.errstate(divide="raise"):
        b = a - 4
        with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
            x / b
        c = a / 2
    assert c.tolist() == [2] * 100 and a.tolist() == [4] * 100


def test_errstate_counts_as_it_was_for_each_member(two_workers):
    def program():
        with Gate() as gate:
            z = gate.hold(np.zeros(50))
            with numpy.errstate(all="ignore"):
                a = 1 / z
            b = 2 / z
            with numpy.errstate(divide="ignore"):
                c = np.log(z) + np.sqrt(z - 1)
            d = a + b + c
            gate.open()
            d.wait_to_read()

    assert sorted(recorded(program)) == sorted([
        (os.path.basename(__file__), 5, "divide by zero encountered in divide"),
        (os.path.basename(__file__), 7, "invalid value encountered in sqrt")])


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's resource limits")
def test_no_memory_for_one_member(tmp_path):
    """A result that the system refuses poisons itself and what depends on it; the other members are computed."""
    import subprocess
    import sys
    program = tmp_path / "program.py"
    program.write_text("""
import resource, dflow, threading
import dflow.numpy as np
dflow.engine.set_num_workers(2)
dflow.engine.inline_limit(0)
dflow.engine.set_memory_budget(1 << 40)
opened = threading.Event()
n = 50_000_000
x = np.ones(n, dtype="uint8")
x.wait_to_read()
def wait(a):
    opened.wait(60)
    return a
h = dflow.submit(wait, np.zeros(1, dtype="uint8"), shape=(1,), dtype="uint8")
small = x + h                                               # 50 MB
large = (x + h).astype("complex128")                        # 800 MB
dependent = large + 1
other = x * 2 + h
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 400_000_000, -1))
opened.set()
for bad in (large, dependent):
    try:
        bad.wait_to_read()
        print("computed")
    except MemoryError as error:
        print("MemoryError", any("program.py" in note for note in error.__notes__))
assert int(small[n - 1].item()) == 1 and int(other[5].item()) == 2 and int(x.max().item()) == 1
print("good")
""")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=HANG,
                          env=clean_environment())
    assert (done.returncode, done.stdout.split("\n")[:3], done.stderr) == (0, ["MemoryError True"] * 2 + ["good"], "")


# -- random expressions ----------------------------------------------------------------------------

check = functools.partial(settings, deadline=None, derandomize=True, database=None,
                          suppress_health_check=list(HealthCheck))
UNARY = ("0 - {}", "abs({})", "{} * 2", "{} + 1", "{} / 4", "np.square({})", "{} - 3", "np.sign({} + 0)", "{} ** 2",
         "np.floor({} / 2)",
         "{}.astype('float32')", "{}.astype('int64')", "{}[::-1]", "{}[::-1] * 1", "({} + 0).T.copy().T", "{}.copy()",
         "np.clip({}, -2, 5)", "{}.reshape(-1).reshape({}.shape)", "({} + 1j).real", "({} * 1j).imag", "{} == 1",
         "np.modf({} / 2)[0]")
BINARY = ("{} + {}", "{} - {}", "{} * {}", "np.maximum({}, {})", "np.where({} > 0, {}, 2)", "{} < {}",
          "np.add({}, {}, dtype='float64')",
          "{} + {}[:1]", "{} - {}[..., -1:]", "np.divmod({}, abs({}) + 1)[1]")
REDUCED = ("{}.sum()", "{}.sum(axis=0)", "{}.sum(axis=-1)", "{}.max(axis=-1)", "{}.min()", "({} > 0).any(axis=0)",
           "{}.mean(axis=-1)",
           "{}.sum(axis=-1, keepdims=True)", "({} == 0).all(axis=-1)", "{}.sum(initial=2)", "{}.max(axis=0)")
WRITES = ("{0} += {1}", "{0} *= 2", "{0}[1:] += {0}[:-1]", "{0}[::2] = {1}[::2]", "{0}[..., 0] -= {1}[..., -1]",
          "{0}[::-1] -= {1}",
          "{0}[...] = {1}", "{0}.T[...] += {1}.T", "np.add({0}, {1}, out={0}, where={1} > 0)", "{0} %= 7",
          "{0}.fill(3)")


@st.composite
def scripts(draw):
    """Statements over v0, v1, ..; all of one shape and float64 but for reductions and what is cast."""
    lines, count = [], 3
    for _ in range(draw(st.integers(3, 14))):
        kind = draw(st.integers(0, 9))
        a, b, c = (f"v{draw(st.integers(0, count - 1))}" for _ in range(3))
        if kind < 6:                                    # an expression of some depth, whose parts have no names
            text = a
            for _ in range(draw(st.integers(1, 4))):
                if draw(st.booleans()):
                    form = draw(st.sampled_from(UNARY))
                    text = form.replace("{}", f"({text})")
                else:
                    text = draw(st.sampled_from(BINARY)).format(f"({text})", b)
            if kind == 5:
                lines.append("r.append({})".format(draw(st.sampled_from(REDUCED)).format(f"({text})")))
            else:
                lines.append(f"v{count} = ({text}) * 1.0")
                count += 1
        elif kind < 8:
            lines.append(draw(st.sampled_from(WRITES)).format(a, b))
        elif kind == 8:
            lines.append(f"r.append({draw(st.sampled_from(REDUCED)).format(a)})")
        else:
            lines.append(f"{a} = {b} - {c}")
    return "\n".join([*lines, *(f"r.append(v{k})" for k in range(count))])


def run_script(script, np, starts):
    variables = {"np": np, "r": []} | {f"v{k}": np.array(start) for k, start in enumerate(starts)}
    with numpy.errstate(all="ignore"):
        exec(script, variables)
    return variables["r"]


@pytest.mark.slow
@check(max_examples=100)
@given(scripts(), st.sampled_from(((1,), (6,), (3, 2), (2, 3, 4), (40, 50), (7, 1), (5000,), (1, 3000))),
       st.sampled_from((0, 2, 3, 32, 64)), st.sampled_from((0, None)), st.integers(0, 100))
def test_random_expressions(script, shape, bulk, limit, seed):
    """Quarters of small integers: sums and products are exact, so that any order of a sum gives the same bits."""
    random = numpy.random.default_rng(seed)
    starts = [random.integers(-8, 9, size=shape) / 4 for _ in range(3)]
    expected = run_script(script, numpy, starts)
    with configured(limit=limit, bulk=bulk):
        actual = [result.asnumpy() for result in run_script(script, np, starts)]
    for k, (a, e) in enumerate(zip(actual, expected)):
        e = numpy.asarray(e)
        assert (a.dtype, a.shape) == (e.dtype, e.shape), k
        if not same_bits(a, e):                         # values have grown, and sums are rounded
            assert numpy.allclose(a, e, rtol=1e-6 if a.dtype == "float32" else 1e-12, equal_nan=True), (k, a, e)


@pytest.mark.slow
@check(max_examples=75)
@given(scripts(), st.sampled_from(((6,), (3, 2), (40, 50), (5000,), (30, 3))), st.integers(0, 100))
def test_random_expressions_have_the_same_bits_everywhere(script, shape, seed):
    random = numpy.random.default_rng(seed)
    starts = [random.normal(size=shape) for _ in range(3)]
    expected = None
    for engine in ("naive", "unfused", "groups", "longest groups, three workers"):
        with configured(**ENGINES[engine]):
            actual = [result.asnumpy() for result in run_script(script, np, starts)]
        expected = expected or actual
        for k, (a, e) in enumerate(zip(actual, expected)):
            assert identical(a, e), (engine, k)


def test_a_note_names_the_failing_members_line(two_workers):
    bad = failing(4)
    later = (bad + 1) * 2
    with pytest.raises(ValueError) as caught:
        later.tolist()
    assert re.search(r"test_groups\.py:\d+ in failing", "\n".join(caught.value.__notes__))
