"""A box filter from cumulative sums (an integral image), three times, and the local variance of a picture."""
import numpy as np

SMALL, BENCH = 24, 1400


def box(image, radius):
    """The mean over squares of side 2 * radius + 1."""
    side = 2 * radius + 1
    padded = np.pad(image, radius, mode="edge")
    table = np.zeros((padded.shape[0] + 1, padded.shape[1] + 1))
    table[1:, 1:] = padded.cumsum(axis=0).cumsum(axis=1)
    return (table[side:, side:] - table[:-side, side:] - table[side:, :-side] + table[:-side, :-side]) / side ** 2


def main(size):
    y, x = np.indices((size, size))
    image = (np.sin(0.1 * x) + np.cos(0.07 * y) > 0.3) * 1.0
    smooth = image
    for _ in range(3):
        smooth = box(smooth, 4)
    mean = box(image, 3)
    variance = np.maximum(box(image ** 2, 3) - mean ** 2, 0)
    return smooth, variance, np.sqrt(variance).max()
