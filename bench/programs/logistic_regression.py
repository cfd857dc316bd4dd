"""Logistic regression by Newton's method and by gradient descent with momentum on minibatches."""
import numpy as np

SMALL, BENCH = 100, 30000


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def newton(x, y):
    w = np.zeros(x.shape[1])
    for _ in range(8):
        p = sigmoid(x @ w)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(len(w))
        w += np.linalg.solve(hessian, x.T @ (y - p) - 1e-3 * w)
    return w


def descent(x, y, batch, epochs):
    w = np.zeros(x.shape[1])
    momentum = np.zeros_like(w)
    for _ in range(epochs):
        for start in range(0, len(x), batch):
            xs, ys = x[start:start + batch], y[start:start + batch]
            gradient = xs.T @ (sigmoid(xs @ w) - ys) / len(xs)
            momentum = 0.9 * momentum - 0.1 * gradient
            w = w + momentum
    return w


def main(size):
    i = np.arange(size)[:, None]
    x = np.hstack([np.ones((size, 1)), np.sin(12.9898 * (i + 1) * np.arange(1, 20)) * 1.5])
    truth = np.cos(np.arange(20))
    y = (sigmoid(x @ truth) > np.sin(78.233 * (i[:, 0] + 1)) * 43758.5453 % 1.0).astype(float)
    w1, w2 = newton(x, y), descent(x, y, 50, 20)
    accuracy = [np.mean((x @ w > 0) == (y == 1)) for w in (w1, w2)]
    return w1, w2, np.array(accuracy)
