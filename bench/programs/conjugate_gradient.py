"""Conjugate gradients, preconditioned by the diagonal, on a Laplacian that is applied and never stored."""
import numpy as np

SMALL, BENCH = 10, 200


def apply(u, conductivity):
    """-div(c grad u) + 0.01 u on a grid, zero outside."""
    p = np.pad(u, 1)
    flow = 4 * u - p[2:, 1:-1] - p[:-2, 1:-1] - p[1:-1, 2:] - p[1:-1, :-2]
    return conductivity * flow + 0.01 * u


def main(size):
    x = np.linspace(0, 1, size)
    b = np.sin(3 * x)[:, None] * np.exp(-x)
    conductivity = 2.0
    u = np.zeros((size, size))
    r = b - apply(u, conductivity)
    diagonal = 4 * conductivity + 0.01
    z = r / diagonal
    p = z.copy()
    rz = np.vdot(r, z)
    norms = []
    while np.linalg.norm(r) > 1e-10 * np.linalg.norm(b):
        q = apply(p, conductivity)
        alpha = rz / np.vdot(p, q)
        u += alpha * p
        r -= alpha * q
        z = r / diagonal
        rz, old = np.vdot(r, z), rz
        p = z + (rz / old) * p
        norms.append(np.abs(r).max())
    return u, np.abs(apply(u, conductivity) - b).max() < 1e-8, len(norms) > 1
