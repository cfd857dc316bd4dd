"""Edit distances of texts by dynamic programming, a row at a time: insertions by a running minimum."""
import numpy as np

SMALL, BENCH = 20, 2500


def distance(a, b):
    place = np.arange(len(b) + 1)
    row = place.copy()
    for symbol in a:
        best = row + 1
        best[1:] = np.minimum(best[1:], row[:-1] + (b != symbol))
        row = np.minimum.accumulate(best - place) + place
    return row[-1]


def main(size):
    i = np.arange(size)
    texts = [(i * i * 7 + k * i) % 11 % 4 for k in range(4)]
    table = np.zeros((4, 4), dtype=int)
    for i in range(4):
        for j in range(i):
            table[i, j] = table[j, i] = distance(texts[i], texts[j])
    return table
