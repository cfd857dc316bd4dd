"""The heat equation on a rod: explicit steps in place, the temperature of the middle recorded."""
import numpy as np

SMALL, BENCH = 50, 50000


def main(steps):
    n = 400
    x = np.linspace(0, 1, n)
    u = np.sin(np.pi * x) + 0.5 * np.sin(3 * np.pi * x)
    dx = x[1] - x[0]
    r = 0.4
    middle = np.zeros(steps)
    for t in range(steps):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[1]
        u[-1] = 0.0
        middle[t] = u[n // 2]
    return u, middle, u.sum() * dx
