"""Random numbers, as mxnet.nd.random and mxnet.random: float32, of a `shape`, of one or more streams of parameters.

Parameters may be arrays: then each of their elements has numbers of that shape.
"""

import functools

from dflow import numpy as np
from dflow._array.core import array as as_array
from dflow._array.core import is_array
from dflow._base.missing import missing
from dflow._functions.placement import put_on
from dflow.numpy import random as draws
from dflow.ops.mxnet import categorical

__all__ = ["binomial", "categorical", "exponential", "exponential_like", "gamma", "gamma_like", "multinomial",
           "negative_binomial", "negative_binomial_like", "normal", "normal_like", "poisson", "poisson_like", "randint",
           "randn", "shuffle", "uniform", "uniform_like"]

__getattr__ = missing(__name__, "generalized_negative_binomial generalized_negative_binomial_like")


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


_LIKE = (uniform, normal, exponential, gamma, poisson, negative_binomial)
uniform_like, normal_like, exponential_like, gamma_like, poisson_like, negative_binomial_like = map(_like, _LIKE)


multinomial = categorical               # MXNet 1's name


def shuffle(data, out=None):
    """A copy whose parts along the first axis are in random order."""
    result = draws.permutation(as_array(data))
    if out is None:
        return result
    out[...] = result
    return out
