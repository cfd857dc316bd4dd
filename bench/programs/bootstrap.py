"""Bootstrap confidence intervals of the mean, the median and a correlation."""
import numpy as np

SMALL, BENCH = 50, 8000


def uniform(n, seed):
    """Numbers in [0, 1) without a visible pattern."""
    return np.sin(12.9898 * np.arange(1, n + 1) + seed) * 43758.5453 % 1.0


def correlation(x, y):
    dx = x - x.mean(axis=-1, keepdims=True)
    dy = y - y.mean(axis=-1, keepdims=True)
    return (dx * dy).sum(axis=-1) / np.sqrt((dx ** 2).sum(axis=-1) * (dy ** 2).sum(axis=-1))


def main(replicates):
    n = 400
    x = -np.log(1 - uniform(n, 0.1))
    y = 0.6 * x + uniform(n, 0.2)
    picks = np.floor(n * uniform(replicates * n, 0.3)).astype(int).reshape(replicates, n)
    resampled = x[picks]
    statistics = {
        "mean": resampled.mean(axis=1),
        "median": np.median(resampled, axis=1),
        "correlation": correlation(resampled, y[picks]),
    }
    intervals = [np.percentile(values, [2.5, 50, 97.5]) for values in statistics.values()]
    errors = [values.std(ddof=1) for values in statistics.values()]
    return np.array(intervals), np.array(errors)
