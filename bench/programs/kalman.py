"""A Kalman filter and smoother: a point in the plane tracked from noisy positions."""
import numpy as np

SMALL, BENCH = 20, 6000


def main(steps):
    dt = 0.1
    F = np.eye(4) + dt * np.eye(4, k=2)
    H = np.eye(2, 4)
    Q = 0.01 * np.diag([dt ** 2, dt ** 2, 1, 1])
    R = 0.25 * np.eye(2)
    t = dt * np.arange(steps)
    truth = np.stack([5 * np.cos(0.2 * t), 3 * np.sin(0.3 * t)], axis=1)
    measured = truth + 0.5 * np.sin(np.stack([12.9898 * np.arange(steps) ** 2, 78.233 * np.arange(steps)], axis=1))

    x, P = np.zeros(4), np.eye(4) * 10
    means, covariances, predictions = np.zeros((steps, 4)), np.zeros((steps, 4, 4)), np.zeros((steps, 4, 4))
    for k in range(steps):
        x = F @ x
        P = F @ P @ F.T + Q
        predictions[k] = P
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ (measured[k] - H @ x)
        P = (np.eye(4) - K @ H) @ P
        means[k], covariances[k] = x, P

    smooth = means.copy()
    for k in range(steps - 2, -1, -1):
        gain = covariances[k] @ F.T @ np.linalg.inv(predictions[k + 1])
        smooth[k] = means[k] + gain @ (smooth[k + 1] - F @ means[k])
    errors = [np.sqrt(((guess - truth) ** 2).mean()) for guess in (measured, means[:, :2], smooth[:, :2])]
    return means, smooth, np.array(errors)
