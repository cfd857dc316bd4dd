"""Random numbers as mxnet.random: the functions of nd.random, and the seed."""

from dflow.nd.random import (
    exponential,
    gamma,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)
from dflow.ops.mxnet import seed
from dflow.ops.random import default_rng  # noqa: F401  # Dask asks for it where a library has its random numbers

__all__ = ["exponential", "gamma", "multinomial", "negative_binomial", "normal", "poisson", "randint", "randn", "seed",
           "shuffle", "uniform"]


def __dir__():
    return sorted(__all__)
