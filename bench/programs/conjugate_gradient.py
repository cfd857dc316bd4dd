"""Conjugate gradients, preconditioned by the diagonal, on a Laplacian that is applied and never stored."""
import numpy as np

SMALL, BENCH = 10, 96


def apply(u, conductivity):
    """-div(c grad u) + 0.01 u on a grid, zero outside."""
    p = np.pad(u, 1)
    flow = 4 * u - p[2:, 1:-1] - p[:-2, 1:-1] - p[1:-1, 2:] - p[1:-1, :-2]
    return conductivity * flow + 0.01 * u


def solve(b, u, conductivity):
    """Improves u until it solves apply(u) = b; how many steps that took."""
    r = b - apply(u, conductivity)
    diagonal = 4 * conductivity + 0.01
    z = r / diagonal
    p = z.copy()
    rz = np.vdot(r, z)
    steps = 0
    while np.linalg.norm(r) > 1e-11 * np.linalg.norm(b):
        q = apply(p, conductivity)
        alpha = rz / np.vdot(p, q)
        u = u + alpha * p
        r = r - alpha * q
        z = r / diagonal
        rz, old = np.vdot(r, z), rz
        p = z + (rz / old) * p
        steps += 1
    return u, steps


def main(size):
    x = np.linspace(0, 1, size)
    b = np.sin(3 * x)[:, None] * np.exp(-x)
    u = np.zeros((size, size))
    for conductivity in (2.0, 1.0, 0.5, 0.25):
        u, steps = solve(b, u, conductivity)
    return u, np.abs(apply(u, conductivity) - b).max() < 1e-8, steps > 1
