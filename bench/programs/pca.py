"""Principal components of correlated measurements: covariance, eigenvectors, scores, reconstruction."""
import numpy as np

SMALL, BENCH = 40, 25000


def main(samples):
    features, kept = 60, 8
    t = np.arange(samples)[:, None]
    hidden = np.sin(t * (0.01 + 0.37 * np.arange(1, kept + 1))) * np.arange(kept, 0, -1)
    mixing = np.cos(np.outer(np.arange(kept) + 1.0, np.arange(features)) * 0.7)
    noise = np.sin(78.233 * t + 12.9898 * np.arange(features) * t) * 0.05
    data = hidden @ mixing + noise
    mean = data.mean(axis=0)
    deviation = data.std(axis=0)
    z = (data - mean) / deviation
    values, vectors = np.linalg.eigh(z.T @ z / (samples - 1))
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order[:kept]]
    largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(kept)]
    vectors = vectors * np.sign(largest)
    scores = z @ vectors
    back = scores @ vectors.T * deviation + mean
    return values[:kept], scores, np.cumsum(values) / values.sum(), np.sqrt(((back - data) ** 2).mean())
