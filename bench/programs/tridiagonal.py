"""A stationary boundary value problem: the Thomas algorithm, element by element, for several Newton steps."""
import numpy as np

SMALL, BENCH = 20, 40000


def thomas(a, b, c, d):
    """The solution of a tridiagonal system: a below, b on, c above the diagonal."""
    n = len(d)
    c = c.copy()
    d = d.copy()
    c[0] /= b[0]
    d[0] /= b[0]
    for i in range(1, n):
        m = b[i] - a[i] * c[i - 1]
        c[i] = c[i] / m
        d[i] = (d[i] - a[i] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def main(size):
    h = 1 / (size + 1)
    side = np.full(size, 1 / h ** 2)
    u = np.zeros(size)
    for _ in range(4):
        wide = np.concatenate(([0.0], u, [0.0]))
        residual = (wide[2:] - 2 * u + wide[:-2]) / h ** 2 + np.exp(u)
        u = u - thomas(side, -2 * side + np.exp(u), side, residual)
    return u
