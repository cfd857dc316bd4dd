"""The Mandelbrot set: how many steps each point takes to escape; only points still inside go on."""
import numpy as np

SMALL, BENCH = 24, 800


def main(size):
    x = np.linspace(-2.2, 0.8, size)
    y = np.linspace(-1.3, 1.3, size)
    c = x + 1j * y[:, None]
    z = np.zeros_like(c)
    steps = np.zeros(c.shape, dtype=int)
    inside = np.ones(c.shape, dtype=bool)
    for _ in range(60):
        z[inside] = z[inside] ** 2 + c[inside]
        inside[np.abs(z) > 2] = False
        steps[inside] += 1
    return steps, inside.mean()
