"""What moves the stock market: principal components of monthly returns, over all years and in windows of five."""

import numpy as np
from matplotlib import cbook

SMALL, FULL = 30, 1         # of so many windows, one

NAMES = ["IBM", "AAPL", "MSFT", "XRX", "ADBE", "^GSPC", "^IXIC"]      # what was listed all the time, and two indices


def components(returns):
    """The variances along the principal axes, descending, and the axes, one a row. Takes (..., months, stocks)."""
    centred = returns - returns.mean(axis=-2, keepdims=True)
    scaled = centred / centred.std(axis=-2, keepdims=True)
    variances, axes = np.linalg.eigh(np.swapaxes(scaled, -1, -2) @ scaled / returns.shape[-2])
    variances, axes = variances[..., ::-1], np.swapaxes(axes, -1, -2)[..., ::-1, :]
    return variances, axes * np.sign(axes.sum(axis=-1, keepdims=True))


def main(step):
    columns = [1, 2, 3, 4, 8, 9, 10]
    prices = np.genfromtxt(cbook.get_sample_data("Stocks.csv", asfileobj=False), delimiter=",", skip_header=2,
                           usecols=columns)
    prices = prices[~np.isnan(prices).any(axis=1)]
    returns = np.diff(np.log(prices), axis=0)
    variances, axes = components(returns)
    months = 60
    windows = np.lib.stride_tricks.sliding_window_view(returns, months, axis=0)[::step]
    later, _ = components(np.swapaxes(windows, 1, 2))
    return {"variances": variances / variances.sum(), "market": axes[0], "scores": returns @ axes[:2].T,
            "share of the first": later[:, 0] / later.sum(axis=1)}


if __name__ == "__main__":
    results = main(FULL)
    print("share of the variance:", results["variances"].round(3))
    for name, weight in zip(NAMES, results["market"]):
        print(f"{name:6} {weight:.3f}")
    share = results["share of the first"]
    print(f"in windows of five years, the first component has {share.min():.2f} to {share.max():.2f} of the variance")
