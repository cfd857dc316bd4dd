"""Shortest paths between all pairs of a graph's nodes, with the next node on each path."""
import numpy as np

SMALL, BENCH = 12, 400


def main(size):
    i = np.arange(size)
    distance = 1.0 + (i[:, None] * 31 + i * 17 + i[:, None] * i) % 101
    distance[(i[:, None] + 2 * i) % 5 > 1] = np.inf
    np.fill_diagonal(distance, 0)
    step = np.where(np.isfinite(distance), i, -1)
    for k in range(size):
        through = distance[:, k, None] + distance[k]
        shorter = through < distance
        distance[shorter] = through[shorter]
        step = np.where(shorter, step[:, k, None], step)
    finite = distance[np.isfinite(distance)]
    return distance, step, finite.max(), finite.mean()
