"""American and European puts on a binomial tree: vectors that shrink by one each step back."""
import numpy as np

SMALL, BENCH = 20, 4000


def price(strikes, steps, american):
    spot, rate, volatility, years = 100.0, 0.05, 0.3, 1.0
    dt = years / steps
    up = np.exp(volatility * np.sqrt(dt))
    discount = np.exp(-rate * dt)
    p = (1 / discount - 1 / up) / (up - 1 / up)
    prices = spot * up ** (2 * np.arange(steps + 1) - steps)
    values = np.maximum(strikes[:, None] - prices, 0)
    for _ in range(steps):
        values = discount * (p * values[:, 1:] + (1 - p) * values[:, :-1])
        if american:
            prices = prices[1:] / up
            values = np.maximum(values, strikes[:, None] - prices)
    return values[:, 0]


def main(steps):
    strikes = np.linspace(80, 120, 9)
    american = price(strikes, steps, True)
    european = price(strikes, steps, False)
    return american, european, american - european
