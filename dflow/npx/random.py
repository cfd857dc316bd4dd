"""MXNet's npx.random: draws that NumPy has not."""

from dflow.ops.mxnet import bernoulli, categorical, multinomial, normal_n, seed, uniform_n

__all__ = ["bernoulli", "categorical", "multinomial", "normal_n", "seed", "uniform_n"]


def __dir__():
    return sorted(__all__)
