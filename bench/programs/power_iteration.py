"""PageRank by power iteration, and the leading eigenvalues of a symmetric matrix by deflation."""
import numpy as np

SMALL, BENCH = 20, 800


def pagerank(links, damping=0.85):
    n = len(links)
    out = links.sum(axis=0)
    transition = np.where(out > 0, links / np.maximum(out, 1), 1 / n)
    rank = np.full(n, 1 / n)
    for _ in range(200):
        new = damping * (transition @ rank) + (1 - damping) / n
        if np.abs(new - rank).sum() < 1e-12:
            break
        rank = new
    return rank


def eigenvalues(a, count):
    a = a.copy()
    values = np.zeros(count)
    for k in range(count):
        v = np.ones(len(a)) + 0.01 * np.arange(len(a))
        for _ in range(300):
            w = a @ v
            v = w / np.linalg.norm(w)
        values[k] = v @ a @ v
        a -= values[k] * np.outer(v, v)
    return values


def main(size):
    i = np.arange(size)
    links = ((i[:, None] * 7 + i * i * 3) % 13 == 0).astype(float)
    rank = pagerank(links)
    distance = np.abs(i[:, None] - i) / size
    return rank, np.argsort(-rank, kind="stable")[:1], eigenvalues(np.exp(-3 * distance), 3)
