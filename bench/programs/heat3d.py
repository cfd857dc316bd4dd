"""The heat equation in a block with a hot core: explicit steps in three dimensions."""
import numpy as np

SMALL, BENCH = 10, 100


def step(u, r):
    new = u.copy()
    new[1:-1, 1:-1, 1:-1] += r * (
        u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1]
        + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]
        - 6 * u[1:-1, 1:-1, 1:-1])
    return new


def main(size):
    u = np.zeros((size, size, size))
    core = slice(size // 4, size // 2)
    u[core, core, core] = 100.0
    means = []
    for _ in range(40):
        u = step(u, 0.15)
        means.append(u.mean())
    return u, np.array(means), np.unravel_index(u.argmax(), u.shape)
