"""The Gray-Scott reaction and diffusion of two substances on a torus."""
import numpy as np

SMALL, BENCH = 16, 240


def laplacian(z):
    return np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1) - 4 * z


def main(size):
    feed, kill = 0.035, 0.065
    u = np.ones((size, size))
    v = np.zeros((size, size))
    middle = slice(size // 2 - size // 8, size // 2 + size // 8)
    u[middle, middle] = 0.5
    v[middle, middle] = 0.25
    v += 0.01 * np.sin(np.arange(size)) ** 2
    for _ in range(400):
        reaction = u * v ** 2
        u += 0.16 * laplacian(u) - reaction + feed * (1 - u)
        v += 0.08 * laplacian(v) + reaction - (feed + kill) * v
    return u, v
