"""Random numbers, as mxnet.nd.random and mxnet.random: float32, of a `shape`, of one or more streams of parameters.

Parameters may be arrays: then each of their elements has numbers of that shape.
"""

import functools

from dflow import numpy as np
from dflow._array.core import array as as_array
from dflow._array.core import is_array
from dflow._functions.placement import put_on
from dflow.numpy import random as draws
from dflow.ops.mxnet import categorical
from dflow.ops.mxnet import multinomial as counts

__all__ = ["binomial", "categorical", "exponential", "exponential_like", "gamma", "gamma_like",
           "generalized_negative_binomial", "generalized_negative_binomial_like", "multinomial",
           "negative_binomial", "negative_binomial_like", "normal", "normal_like", "poisson", "poisson_like", "randint",
           "randn", "shuffle", "uniform", "uniform_like"]


def __dir__():
    return sorted(__all__)


def _single(draw):
    """A draw of NumPy's that makes float32 itself."""
    return functools.partial(draw, dtype=np.float32)


def _drawn(draw, parameters, shape, dtype, ctx, out):
    """draw(*parameters, size) of a type, into `out` if that is given."""
    if out is not None:
        shape = out.shape
    arrays = [x for x in parameters if is_array(x)]
    shape = (() if arrays else (1,)) if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    if arrays:
        lead = np.broadcast_shapes(*(x.shape for x in arrays))
        parameters = [x.reshape(x.shape + (1,) * len(shape)) if is_array(x) else x for x in parameters]
        shape = shape if out is not None else lead + shape
    result = as_array(draw(*parameters, shape)).astype(dtype or np.float32, copy=False)
    if out is None:
        return put_on(result, ctx)
    out[...] = result
    return out


def uniform(low=0, high=1, shape=None, dtype=None, ctx=None, out=None):
    """Uniform in [low, high)."""
    return _drawn(_single(draws.uniform), (low, high), shape, dtype, ctx, out)


def normal(loc=0, scale=1, shape=None, dtype=None, ctx=None, out=None):
    """Normal, of mean `loc` and deviation `scale`."""
    return _drawn(_single(draws.normal), (loc, scale), shape, dtype, ctx, out)


def randn(*shape, loc=0, scale=1, dtype=None, ctx=None, out=None):
    """Normal, of a shape given as arguments."""
    return normal(loc, scale, shape or None, dtype, ctx, out)


def exponential(scale=1, shape=None, dtype=None, ctx=None, out=None):
    """Exponential, of mean `scale`."""
    return _drawn(_single(draws.exponential), (scale,), shape, dtype, ctx, out)


def gamma(alpha=1, beta=1, shape=None, dtype=None, ctx=None, out=None):
    """Gamma, of shape `alpha` and scale `beta`."""
    return _drawn(draws.gamma, (alpha, beta), shape, dtype, ctx, out)


def poisson(lam=1, shape=None, dtype=None, ctx=None, out=None):
    """How many events there are where `lam` are expected."""
    return _drawn(draws.poisson, (lam,), shape, dtype, ctx, out)


def negative_binomial(k=1, p=1, shape=None, dtype=None, ctx=None, out=None):
    """How many failures there are before k successes of probability p."""
    return _drawn(draws.negative_binomial, (k, p), shape, dtype, ctx, out)


def _negative_binomial(mu, alpha, size):
    alpha = as_array(alpha).astype(float)
    mean = draws.gamma(1 / np.where(alpha > 0, alpha, 1), mu * alpha, size)
    return draws.poisson(np.where(alpha > 0, mean, mu), size)


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, ctx=None, out=None):
    """How many events there are where a number is expected that varies, of mean mu and variance alpha * mu**2."""
    return _drawn(_negative_binomial, (mu, alpha), shape, dtype, ctx, out)


def binomial(n=1, p=0.5, shape=None, dtype=None, ctx=None, out=None):
    """How many of n trials of probability p succeed."""
    return _drawn(draws.binomial, (n, p), shape, dtype, ctx, out)


def randint(low, high, shape=None, dtype=None, ctx=None, out=None):
    """Integers in [low, high), int32 unless asked for."""
    return _drawn(draws.randint, (low, high), shape, dtype or np.int32, ctx, out)


def _like(draw):
    def of(data, *parameters, out=None, **named):
        return draw(*parameters, shape=data.shape, dtype=data.dtype, ctx=data.ctx, out=out, **named)

    of.__name__ = of.__qualname__ = f"{draw.__name__}_like"
    of.__doc__ = f"{draw.__name__}() of the shape and type of an array, which comes first."
    return of


uniform_like, normal_like, exponential_like = map(_like, (uniform, normal, exponential))
gamma_like, poisson_like, negative_binomial_like = map(_like, (gamma, poisson, negative_binomial))
generalized_negative_binomial_like = _like(generalized_negative_binomial)


def multinomial(data=None, shape=None, get_prob=False, dtype=None, *, n=None, p=None, ctx=None, out=None):
    """categorical() of data, as in MXNet 1; or with n and p, as in MXNet 2, npx.random.multinomial()."""
    if p is None:
        return categorical(data, shape, get_prob, dtype or "int32")
    return counts(1 if n is None else n, p, shape, dtype or np.float32, ctx, out=out)


def shuffle(data, out=None):
    """A copy whose parts along the first axis are in random order."""
    result = draws.permutation(as_array(data))
    if out is None:
        return result
    out[...] = result
    return out
