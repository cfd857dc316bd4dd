"""Histogram equalization of 8-bit pictures by a lookup table, and Otsu's threshold of each."""
import numpy as np

SMALL, BENCH = 32, 900


def equalize(image):
    histogram = np.bincount(image.ravel(), minlength=256)
    cumulative = histogram.cumsum()
    lowest = cumulative[cumulative > 0][0]
    table = np.round(255 * (cumulative - lowest) / (image.size - lowest)).clip(0, 255).astype(np.uint8)
    return table[image]


def otsu(image):
    """The threshold with the largest variance between what is below and above."""
    histogram, _ = np.histogram(image, bins=256, range=(0, 256))
    p = histogram / image.size
    below = np.cumsum(p)
    mean = np.cumsum(p * np.arange(256))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mean[-1] * below - mean) ** 2 / (below * (1 - below))
    return int(np.nanargmax(between))


def main(size):
    y, x = np.mgrid[:size, :size] / size
    results = []
    for k in range(6):
        wave = np.sin(7 * x + k) * np.cos(5 * y * (1 + x)) + 0.3 * (x > 0.1 * k)
        image = (80 + 40 * wave).astype(np.uint8)
        flat = equalize(image)
        results += [flat, otsu(image), otsu(flat)]
    return results
