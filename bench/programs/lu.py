"""LU factorization with partial pivoting, column by column, and the solution of a system with it."""
import numpy as np

SMALL, BENCH = 12, 600


def factorize(a):
    """L and U packed in one matrix, and the order of the rows."""
    a = a.copy()
    n = len(a)
    order = np.arange(n)
    for k in range(n - 1):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            order[[k, pivot]] = order[[pivot, k]]
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a, order


def solve(lu, order, b):
    """Forward, then backward substitution."""
    x = b[order]
    n = len(x)
    for i in range(1, n):
        x[i] -= lu[i, :i] @ x[:i]
    for i in reversed(range(n)):
        x[i] = (x[i] - lu[i, i + 1:] @ x[i + 1:]) / lu[i, i]
    return x


def main(size):
    i = np.arange(size)
    a = np.sin(1.0 + i[:, None] * 3.7 + i * 1.3 * i[:, None]) + 2 * np.eye(size)
    b = np.cos(i)
    lu, order = factorize(a)
    x = solve(lu, order, b)
    return lu, order, x, np.abs(a @ x - b).max() < 1e-8
