"""An Asian option by Monte Carlo: antithetic paths, their normals from a linear congruential generator."""
import numpy as np

SMALL, BENCH = 100, 120000
MASK = np.uint64(0xffffffff)


class Generator:
    """A stream of uniform numbers for each path."""

    def __init__(self, paths):
        self.state = (np.arange(1, paths + 1, dtype=np.uint64) * np.uint64(2654435761)) & MASK

    def uniform(self):
        self.state = (self.state * np.uint64(1664525) + np.uint64(1013904223)) & MASK
        return (self.state + 0.5) / 2.0 ** 32

    def normal(self):
        return np.sqrt(-2 * np.log(self.uniform())) * np.cos(2 * np.pi * self.uniform())


def main(paths):
    spot, strike, rate, volatility, years, steps = 100.0, 105.0, 0.03, 0.25, 1.0, 50
    dt = years / steps
    generator = Generator(paths)
    drift = (rate - 0.5 * volatility ** 2) * dt
    logs = np.zeros((2, paths))
    total = np.zeros((2, paths))
    for _ in range(steps):
        shock = volatility * np.sqrt(dt) * generator.normal()
        logs[0] += drift + shock
        logs[1] += drift - shock
        total += spot * np.exp(logs)
    payoff = np.exp(-rate * years) * np.maximum(total / steps - strike, 0).mean(axis=0)
    return payoff.mean(), payoff.std(ddof=1) / np.sqrt(paths), np.percentile(payoff, [50, 90, 99])
