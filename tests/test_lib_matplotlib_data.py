"""matplotlib's statistics of arrays with two axes: by column, as of NumPy's arrays."""

import numpy
import pytest

import dflow.numpy as np

matplotlib = pytest.importorskip("matplotlib")

pytestmark = pytest.mark.once            # see pyproject.toml
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")
cbook = pytest.importorskip("matplotlib.cbook")

VALUES = numpy.random.default_rng(3).normal(size=(60, 4)) + numpy.arange(4)


def drawn(draw, module):
    """Where everything is that the call draws."""
    figure, axes = plt.subplots()
    try:
        draw(axes, module.array(VALUES))
        figure.canvas.draw()
        lines = [line.get_xydata().tolist() for line in axes.lines]
        patches = [patch.get_path().vertices.tolist() + [patch.get_window_extent().bounds] for patch in axes.patches]
        paths = [path.vertices.tolist() for many in axes.collections for path in many.get_paths()]
        images = [image.get_array().tolist() for image in axes.images]
        return lines, patches, paths, images, axes.dataLim.bounds
    finally:
        plt.close(figure)


@pytest.mark.parametrize("draw", [
    lambda axes, x: axes.boxplot(x), lambda axes, x: axes.boxplot(x[:, 0]), lambda axes, x: axes.boxplot(x.T),
    lambda axes, x: axes.boxplot([x[:, 0], x[:30, 1]]), lambda axes, x: axes.violinplot(x),
    lambda axes, x: axes.violinplot(x[:, :2].T[:, :5], showmedians=True), lambda axes, x: axes.hist(x, bins=7),
    lambda axes, x: axes.hist(x[:, 1]), lambda axes, x: axes.hist(x, stacked=True, bins=5),
    lambda axes, x: axes.hist([x[:, 0], x[:, 1]]), lambda axes, x: axes.hist(x, weights=abs(x)),
    lambda axes, x: axes.eventplot(x), lambda axes, x: axes.plot(x), lambda axes, x: axes.plot(x[:, 0], x),
    lambda axes, x: axes.scatter(x[:, 0], x[:, 1], c=x[:, 2], s=abs(x[:, 3])), lambda axes, x: axes.imshow(x),
    lambda axes, x: axes.stackplot(x[:, 0], abs(x.T)), lambda axes, x: axes.bar(x[:5, 0], x[:5, 1]),
    lambda axes, x: axes.errorbar(x[:, 0], x[:, 1], yerr=abs(x[:, 2])), lambda axes, x: axes.axhline(x[0, 0]),
    lambda axes, x: axes.hist2d(x[:, 0], x[:, 1]), lambda axes, x: axes.fill_between(x[:, 0], x[:, 1], x[:, 2]),
    lambda axes, x: axes.pcolormesh(x), lambda axes, x: axes.contour(x),
    lambda axes, x: axes.set_xlim(x[0, 0], x[0, 3])])
def test_draws_what_numpys_arrays_draw(draw):
    assert drawn(draw, np) == drawn(draw, numpy)


def test_columns_are_taken_at_once():
    """Not element by element."""
    columns = cbook._reshape_2D(np.array(VALUES), "x")
    assert all(type(column) is numpy.ndarray for column in columns)
    assert numpy.array_equal(columns, VALUES.T)


def test_what_is_drawn_is_no_copy():
    """As of NumPy's: lines keep a copy, images and boxes what they made."""
    for module in (np, numpy):
        x = module.arange(3.0)
        figure, axes = plt.subplots()
        line, = axes.plot(x)
        x += 5
        assert line.get_ydata().tolist() == [0, 1, 2]
        plt.close(figure)
