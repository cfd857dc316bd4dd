"""MXNet's npx.random: draws that NumPy has not."""

from dflow.ops.mxnet import bernoulli, normal_n, seed, uniform_n

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]
