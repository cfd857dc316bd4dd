"""A Julia set in real arithmetic on the whole grid: smooth escape times by masks and np.where."""
import numpy as np

SMALL, BENCH = 24, 700


def main(size):
    span = np.linspace(-1.6, 1.6, size)
    x, y = np.meshgrid(span, span)
    a, b = -0.8, 0.156
    escape = np.zeros((size, size))
    alive = np.ones((size, size), dtype=bool)
    for step in range(50):
        x, y = np.where(alive, x * x - y * y + a, x), np.where(alive, 2 * x * y + b, y)
        radius2 = x * x + y * y
        out = alive & (radius2 > 16)
        smooth = step + 1 - np.log2(0.5 * np.log(np.maximum(radius2, 1.1)))
        escape = np.where(out, smooth, escape)
        alive &= ~out
    return escape, alive.sum()
