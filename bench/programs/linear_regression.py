"""Ridge regression on polynomial features: the penalty by cross-validation, then errors of the coefficients."""
import numpy as np

SMALL, BENCH = 60, 30000


def features(x, degree):
    return np.column_stack([x ** k for k in range(degree + 1)] + [np.sin(3 * k * x) for k in range(1, degree)])


def fit(a, b, penalty):
    return np.linalg.solve(a.T @ a + penalty * np.eye(a.shape[1]), a.T @ b)


def main(size):
    x = np.linspace(-1, 1, size)
    y = np.tanh(3 * x) + 0.2 * np.sin(3 * x) + 0.1 * (np.sin(12.9898 * np.arange(size)) * 43758.5453 % 1.0 - 0.5)
    a = features(x, 12)
    fold = np.arange(size) % 5
    penalties = np.logspace(-3, 2, 8)
    errors = np.zeros((8, 5))
    for i, penalty in enumerate(penalties):
        for k in range(5):
            train, test = fold != k, fold == k
            weights = fit(a[train], y[train], penalty)
            errors[i, k] = np.mean((a[test] @ weights - y[test]) ** 2)
    best = penalties[errors.mean(axis=1).argmin()]
    weights = fit(a, y, best)
    residual = y - a @ weights
    variance = residual @ residual / (size - len(weights))
    spread = np.sqrt(variance * np.diag(np.linalg.inv(a.T @ a + best * np.eye(a.shape[1]))))
    return a @ weights, errors, best, 1 - residual.var() / y.var(), spread
