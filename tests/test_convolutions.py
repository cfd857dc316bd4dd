"""Convolutions that take their windows from where they lie: all sets of instructions, and shapes that divide them."""

import numpy
import pytest

from dflow import autograd, np, npx
from dflow._functions import convolve
from dflow.ops import convolution

# data, weight, and what convolution() is told besides
SHAPES = {
    "rows as runs": ((3, 2, 14, 14), (7, 2, 5, 5), {}),
    "rows of less than a vector": ((5, 3, 9, 7), (4, 3, 3, 3), {"pad": (1, 1)}),
    "planes of less than a vector": ((18, 3, 3, 3), (5, 3, 2, 2), {}),
    "one row": ((2, 3, 40), (2, 3, 4), {"pad": (2,)}),
    "a row of several runs": ((2, 2, 2500), (3, 2, 3), {}),
    "planes of several runs": ((2, 1, 70, 33), (6, 1, 3, 2), {"pad": (1, 0)}),
    "space": ((2, 2, 5, 6, 9), (3, 2, 2, 3, 2), {"pad": (0, 1, 1)}),
    "rows that are passed over": ((2, 2, 20, 19), (3, 2, 3, 3), {"stride": (2, 1)}),
    "dilated": ((17, 2, 20, 19), (3, 2, 3, 3), {"dilate": (3, 2), "pad": (3, 2)}),
    "groups": ((3, 6, 9, 9), (9, 2, 3, 3), {"num_group": 3}),
    "a group each": ((2, 5, 12, 8), (5, 1, 3, 3), {"num_group": 5, "pad": (1, 1)}),
    "points": ((2, 5, 8, 8), (13, 5, 1, 1), {}),
    "one window": ((33, 5, 3, 4), (6, 5, 3, 4), {}),
    "one large window": ((2, 3, 9, 7), (4, 3, 5, 4), {"dilate": (2, 2)}),
    "few large windows": ((2, 3, 9, 9), (4, 3, 8, 8), {}),
    "a sample": ((1, 3, 10, 11), (32, 3, 3, 3), {"pad": (1, 1)}),
    "no channel": ((2, 0, 9, 9), (3, 0, 2, 2), {}),
    "no sample": ((0, 2, 9, 9), (3, 2, 2, 2), {}),
}


def reference(x, w, b, stride=None, dilate=None, pad=None, num_group=1):
    n = x.ndim - 2
    stride, dilate, pad = (numpy.broadcast_to(given if given else default, n) for given, default in (
        (stride, 1), (dilate, 1), (pad, 0)))
    x = numpy.pad(x, [(0, 0), (0, 0), *zip(pad, pad)])
    spans = [d * (k - 1) + 1 for d, k in zip(dilate, w.shape[2:])]
    windows = numpy.lib.stride_tricks.sliding_window_view(x, spans, tuple(range(2, 2 + n)))
    windows = windows[(..., *(slice(None, None, s) for s in (*stride, *dilate)))]
    each, made = x.shape[1] // num_group, len(w) // num_group
    parts = [numpy.tensordot(windows[:, g * each:(g + 1) * each], w[g * made:(g + 1) * made],
                             ([1, *range(2 + n, 2 + 2 * n)], range(1, 2 + n))) for g in range(num_group)]
    return numpy.moveaxis(numpy.concatenate(parts, -1) + b, -1, 1)


@pytest.fixture
def in_place(monkeypatch):
    """No convolution copies its windows, however few there are."""
    monkeypatch.setattr(convolution, "WINDOWS", 1)
    monkeypatch.setattr(convolution, "_worth_summing", lambda samples, *_: samples > 0)
    yield
    convolve.use(convolve.WAYS - 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("way", range(convolve.WAYS))
@pytest.mark.parametrize("name", SHAPES)
def test_values_and_gradients(name, way, dtype, in_place, monkeypatch):
    shape, weight_shape, options = SHAPES[name]
    convolve.use(way)
    rng = numpy.random.default_rng(5)
    x, w, b = (rng.integers(-9, 9, s).astype(dtype) for s in (shape, weight_shape, weight_shape[:1]))
    monkeypatch.setattr(convolution, "_columns", None)
    arrays = [np.array(a) for a in (x, w, b)]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = npx.convolution(*arrays, kernel=weight_shape[2:], num_filter=weight_shape[0], **options)
    expected = reference(x, w, b, **options)
    assert y.dtype == dtype and y.shape == expected.shape
    numpy.testing.assert_array_equal(y.asnumpy(), expected)  # of whole numbers, which are exact
    g = rng.integers(-9, 9, expected.shape).astype(dtype)
    if "stride" in options:  # the data's gradient has gaps then, and is a product
        arrays = arrays[1:]
    slopes = autograd.grad(y, arrays, head_grads=np.array(g))
    for slope, variable in zip(slopes, (x, w, b)[-len(slopes):], strict=True):
        change = rng.integers(-9, 9, variable.shape).astype(dtype)
        given = (0 * x, w, change) if variable is b else (change, w, 0 * b) if variable is x else (x, change, 0 * b)
        moved = reference(*given, **options)
        assert (slope.asnumpy() * change).sum(dtype=float) == (g * moved).sum(dtype=float)


@pytest.mark.parametrize("way", range(convolve.WAYS))
def test_what_windows_do_not_reach_does_not_count(way, in_place):
    """Between two rows' windows vectors see what none of those has: infinity there must not make a sum nan."""
    convolve.use(way)
    x, w = numpy.ones((2, 1, 6, 10), "f"), numpy.ones((1, 1, 3, 3), "f")
    x[:, :, :, -1] = numpy.inf
    a, weight = np.array(x), np.array(w)
    weight.attach_grad()
    with autograd.record():
        y = npx.convolution(a, weight, kernel=(3, 3), num_filter=1, no_bias=True)
    y.backward()
    numpy.testing.assert_array_equal(y.asnumpy(), reference(x, w, 0))
    assert weight.grad.tolist() == [[[[2 * 4 * 8, 2 * 4 * 8, numpy.inf]] * 3]]


def test_both_ways_to_add_a_gradient(monkeypatch):
    rng = numpy.random.default_rng(3)
    x, w = rng.normal(size=(37, 3, 12, 12)).astype("f"), rng.normal(size=(8, 3, 3, 3)).astype("f")
    found = []
    for worth in (lambda *_: True), (lambda *_: False):
        monkeypatch.setattr(convolution, "_worth_summing", worth)
        a, weight = np.array(x), np.array(w)
        weight.attach_grad()
        with autograd.record():
            y = npx.convolution(a, weight, kernel=(3, 3), num_filter=8, no_bias=True)
            y = y * y
        y.backward()
        found.append(weight.grad.asnumpy())
    numpy.testing.assert_allclose(*found, 2e-5, 1e-2)
