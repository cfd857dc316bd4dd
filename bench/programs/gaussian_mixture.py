"""Expectation maximization for a mixture of Gaussians with full covariances, in the log domain."""
import numpy as np

SMALL, BENCH = 90, 20000


def log_density(x, mean, covariance):
    low = np.linalg.cholesky(covariance)
    y = np.linalg.solve(low, (x - mean).T)
    return -0.5 * (y ** 2).sum(axis=0) - np.log(np.diag(low)).sum() - 0.5 * x.shape[1] * np.log(2 * np.pi)


def main(size):
    i = np.arange(size)
    u = np.sin(12.9898 * (i + 1)) * 43758.5453 % 1.0
    v = np.sin(78.233 * (i + 1)) * 43758.5453 % 1.0
    radius = np.sqrt(-2 * np.log(1 - u))
    normal = np.stack((radius * np.cos(2 * np.pi * v), radius * np.sin(2 * np.pi * v)), axis=1)
    group = i % 3
    x = normal * np.array([[1.0, 0.5], [0.4, 1.2], [0.7, 0.7]])[group] + np.array([[0, 0], [3, 2], [-2, 3]])[group]

    means = x[[0, 1, 2]]
    covariances = np.array([np.eye(2)] * 3)
    weights = np.full(3, 1 / 3)
    history = []
    for _ in range(40):
        logs = np.stack([np.log(weights[k]) + log_density(x, means[k], covariances[k]) for k in range(3)], axis=1)
        top = logs.max(axis=1, keepdims=True)
        total = top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
        history.append(total.mean())
        share = np.exp(logs - total)
        count = share.sum(axis=0)
        weights = count / size
        means = share.T @ x / count[:, None]
        for k in range(3):
            d = x - means[k]
            covariances[k] = (share[:, k, None] * d).T @ d / count[k] + 1e-6 * np.eye(2)
    return weights, means, covariances, np.array(history)
