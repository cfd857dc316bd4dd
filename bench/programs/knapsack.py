"""The knapsack problem by dynamic programming over capacities, and the items of the best packing."""
import numpy as np

SMALL, BENCH = 10, 2000


def main(items):
    capacity = 25 * items
    i = np.arange(items)
    weights = 10 + (37 * i * i + 11 * i) % 91
    values = weights + (53 * i) % 47
    best = np.zeros(capacity + 1, dtype=np.int64)
    taken = np.zeros((items, capacity + 1), dtype=bool)
    for k in range(items):
        w, v = int(weights[k]), int(values[k])
        with_item = best[:-w] + v
        taken[k, w:] = with_item > best[w:]
        best[w:] = np.maximum(best[w:], with_item)
    chosen = np.zeros(items, dtype=bool)
    room = capacity
    for k in range(items - 1, -1, -1):
        if taken[k, room]:
            chosen[k] = True
            room -= int(weights[k])
    return best, chosen, values[chosen].sum()
