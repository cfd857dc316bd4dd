"""Eigenvalues of a symmetric tridiagonal matrix by shifted QR steps made of Givens rotations of two rows."""
import numpy as np

SMALL, BENCH = 6, 120


def rotation(a, b):
    r = np.hypot(a, b)
    return (1.0, 0.0) if r == 0 else (a / r, b / r)


def qr_step(a, shift):
    """RQ + shift of A - shift = QR."""
    n = len(a)
    a = a - shift * np.eye(n)
    turns = []
    for k in range(n - 1):
        c, s = rotation(a[k, k], a[k + 1, k])
        g = np.array([[c, s], [-s, c]])
        a[k:k + 2, k:] = g @ a[k:k + 2, k:]
        turns.append(g)
    for k, g in enumerate(turns):
        a[:k + 2, k:k + 2] = a[:k + 2, k:k + 2] @ g.T
    return a + shift * np.eye(n)


def main(size):
    i = np.arange(size)
    a = np.diag(np.sqrt(i + 1.0)) + np.diag(np.full(size - 1, 0.5), 1) + np.diag(np.full(size - 1, 0.5), -1)
    values = np.zeros(size)
    for last in range(size - 1, 0, -1):
        while abs(a[last, last - 1]) > 1e-12:
            d = (a[last - 1, last - 1] - a[last, last]) / 2
            b = a[last, last - 1]
            sign = 1.0 if d >= 0 else -1.0
            a = qr_step(a, a[last, last] - sign * b ** 2 / (abs(d) + np.sqrt(d ** 2 + b ** 2)))
        values[last] = a[last, last]
        a = a[:last, :last]
    values[0] = a[0, 0]
    return np.sort(values)
