"""QR factorization by Householder reflections, and least squares with it."""
import numpy as np

SMALL, BENCH = 8, 500


def qr(a):
    """R in the upper triangle and the vectors of the reflections."""
    r = a.copy()
    vectors = []
    for k in range(r.shape[1]):
        v = r[k:, k].copy()
        norm = np.linalg.norm(v)
        v[0] += norm if v[0] >= 0 else -norm
        v /= np.linalg.norm(v)
        r[k:, k:] -= 2 * np.outer(v, v @ r[k:, k:])
        vectors.append(v)
    return r, vectors


def main(size):
    t = np.cos(np.pi * (np.arange(2 * size) + 0.5) / (2 * size))        # where Chebyshev's polynomials are orthogonal
    a = np.cos(np.arange(size) * np.arccos(t)[:, None])
    b = np.exp(t) * np.abs(t)
    r, vectors = qr(a)
    y = b.copy()
    for k, v in enumerate(vectors):
        y[k:] -= 2 * v * (v @ y[k:])
    x = np.zeros(size)
    for i in range(size - 1, -1, -1):
        x[i] = (y[i] - r[i, i + 1:] @ x[i + 1:]) / r[i, i]
    return np.triu(r[:size]), x, np.linalg.norm(a @ x - b)
