"""Laplace's equation on a plate by Jacobi's iteration until nothing changes by more than a tolerance."""
import numpy as np

SMALL, BENCH = 12, 120


def main(size):
    u = np.zeros((size, size))
    u[0] = np.sin(np.pi * np.linspace(0, 1, size))
    u[:, -1] = np.linspace(0, 1, size) ** 2
    iterations = 0
    while True:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(new - u).max()
        u = new
        iterations += 1
        if change < 1e-5 or iterations == 4000:
            break
    gy, gx = np.gradient(u)
    return u, iterations, np.hypot(gx, gy).mean()
