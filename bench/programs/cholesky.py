"""Cholesky factorization, element by element as in the textbook, of a covariance matrix; its log-determinant."""
import numpy as np

SMALL, BENCH = 10, 500


def cholesky(a):
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i):
            low[i, j] = (a[i, j] - low[i, :j] @ low[j, :j]) / low[j, j]
        low[i, i] = np.sqrt(a[i, i] - low[i, :i] @ low[i, :i])
    return low


def main(size):
    x = np.linspace(0, 10, size)
    covariance = np.exp(-0.5 * (x[:, None] - x) ** 2) + 0.1 * np.eye(size)
    low = cholesky(covariance)
    return low, 2 * np.log(np.diag(low)).sum()
