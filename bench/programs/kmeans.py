"""k-means by Lloyd's algorithm, from several starts; the best clustering."""
import numpy as np

SMALL, BENCH = 60, 16000


def kmeans(points, centres, rounds):
    for _ in range(rounds):
        distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = distance.argmin(axis=1)
        new = np.array([points[labels == k].mean(axis=0) if np.any(labels == k) else centres[k]
                        for k in range(len(centres))])
        if np.allclose(new, centres):
            break
        centres = new
    return labels, centres, distance.min(axis=1).sum()


def main(size):
    i = np.arange(size)
    middle = np.array([[0, 0], [5, 1], [1, 6], [-4, 3], [4, 5.0]])[i % 5]
    radius = 2 * np.sqrt(np.sin(12.9898 * i) * 43758.5453 % 1.0)[:, None]
    points = middle + radius * np.column_stack((np.cos(2.4 * i), np.sin(2.4 * i)))
    best = None
    for start in range(6):
        result = kmeans(points, points[start * 7 + np.arange(5) * (size // 11)], 25)
        if best is None or result[2] < best[2]:
            best = result
    labels, centres, inertia = best
    return labels, centres, inertia, np.bincount(labels)
