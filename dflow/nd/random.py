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


COMMON = """shape : int or tuple of int, optional
        How many numbers, for each element of the parameters where they are arrays. None: one, in an array of shape
        (1,), or of the parameters' shape.
    dtype : dtype, optional
        Of the result. None: float32.
    ctx : Device, optional
        Where the result is. None: the current one.
    out : ndarray, optional
        Where the numbers go, as many as it has; it is what the call returns then.

    Returns
    -------
    ndarray
        Of the parameters' shape, if they are arrays, and then of `shape`."""


def _told(draw):
    """A draw whose docstring has what all of them have, too."""
    draw.__doc__ = draw.__doc__ and draw.__doc__.replace("{common}", COMMON)
    return draw


@_told
def uniform(low=0, high=1, shape=None, dtype=None, ctx=None, out=None):
    """Numbers of equal probability between two bounds.

    Parameters
    ----------
    low : float or ndarray
        The least. Default 0.
    high : float or ndarray
        What all are below. Default 1.
    {common}

    Examples
    --------
    >>> x = nd.random.uniform(2, 3, shape=(2, 4))
    >>> x.shape, x.dtype
    ((2, 4), dtype('float32'))
    >>> print((x >= 2).all(), (x < 3).all())
    True True
    >>> nd.random.uniform(nd.array([0, 10]), nd.array([1, 20]), shape=3).shape
    (2, 3)
    """
    return _drawn(_single(draws.uniform), (low, high), shape, dtype, ctx, out)


@_told
def normal(loc=0, scale=1, shape=None, dtype=None, ctx=None, out=None):
    """Numbers of the normal distribution.

    Parameters
    ----------
    loc : float or ndarray
        The mean. Default 0.
    scale : float or ndarray
        The standard deviation. Default 1.
    {common}

    Examples
    --------
    >>> x = nd.random.normal(5, 0.1, shape=1000)
    >>> 4.95 < float(x.mean()) < 5.05
    True
    >>> nd.random.normal(nd.zeros((2, 1)), nd.ones((2, 1))).shape
    (2, 1)
    """
    return _drawn(_single(draws.normal), (loc, scale), shape, dtype, ctx, out)


def randn(*shape, loc=0, scale=1, dtype=None, ctx=None, out=None):
    """Numbers of the normal distribution, of a shape given as arguments.

    Parameters
    ----------
    *shape : int
        The lengths of the axes. None of them: (1,).
    loc : float or ndarray
        The mean. Default 0.
    scale : float or ndarray
        The standard deviation. Default 1.
    dtype : dtype, optional
        Of the result. None: float32.
    ctx : Device, optional
        Where the result is. None: the current one.
    out : ndarray, optional
        Where the numbers go, as many as it has.

    Returns
    -------
    ndarray
        Of that shape.

    Examples
    --------
    >>> nd.random.randn(2, 3).shape, nd.random.randn().shape
    ((2, 3), (1,))
    """
    return normal(loc, scale, shape or None, dtype, ctx, out)


@_told
def exponential(scale=1, shape=None, dtype=None, ctx=None, out=None):
    """Numbers of the exponential distribution, as times between events.

    Parameters
    ----------
    scale : float or ndarray
        The mean; MXNet 1's nd.random_exponential() has its inverse. Default 1.
    {common}

    Examples
    --------
    >>> x = nd.random.exponential(0.5, shape=(2, 2))
    >>> x.shape, bool((x >= 0).all())
    ((2, 2), True)
    """
    return _drawn(_single(draws.exponential), (scale,), shape, dtype, ctx, out)


@_told
def gamma(alpha=1, beta=1, shape=None, dtype=None, ctx=None, out=None):
    """Numbers of the gamma distribution.

    Parameters
    ----------
    alpha : float or ndarray
        The shape of the distribution. Default 1.
    beta : float or ndarray
        The scale: the mean is alpha * beta. Default 1.
    {common}

    Examples
    --------
    >>> x = nd.random.gamma(2, 3, shape=4)
    >>> x.shape, bool((x > 0).all())
    ((4,), True)
    """
    return _drawn(draws.gamma, (alpha, beta), shape, dtype, ctx, out)


@_told
def poisson(lam=1, shape=None, dtype=None, ctx=None, out=None):
    """How many events there are where a number of them is expected.

    Parameters
    ----------
    lam : float or ndarray
        How many are expected. Default 1.
    {common}

    Examples
    --------
    >>> print(nd.random.poisson(0, shape=3))
    [0. 0. 0.]
    >>> nd.random.poisson(nd.array([1, 100]), shape=2, dtype="int32").dtype
    dtype('int32')
    """
    return _drawn(draws.poisson, (lam,), shape, dtype, ctx, out)


@_told
def negative_binomial(k=1, p=1, shape=None, dtype=None, ctx=None, out=None):
    """How many failures there are before so many successes.

    Parameters
    ----------
    k : float or ndarray
        How many successes. Default 1.
    p : float or ndarray
        The probability of a success. Default 1.
    {common}

    Examples
    --------
    >>> print(nd.random.negative_binomial(3, 1, shape=2))
    [0. 0.]
    >>> nd.random.negative_binomial(3, nd.array([0.2, 0.8]), shape=4).shape
    (2, 4)
    """
    return _drawn(draws.negative_binomial, (k, p), shape, dtype, ctx, out)


def _negative_binomial(mu, alpha, size):
    alpha = as_array(alpha).astype(float)
    mean = draws.gamma(1 / np.where(alpha > 0, alpha, 1), mu * alpha, size)
    return draws.poisson(np.where(alpha > 0, mean, mu), size)


@_told
def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, ctx=None, out=None):
    """How many events there are where the number that is expected varies itself.

    Parameters
    ----------
    mu : float or ndarray
        The mean of the number expected. Default 1.
    alpha : float or ndarray
        Its variance as a part of mu**2; with 0 it is poisson(). Default 1.
    {common}

    Examples
    --------
    >>> x = nd.random.generalized_negative_binomial(2, 0.5, shape=(2, 3))
    >>> x.shape, x.dtype
    ((2, 3), dtype('float32'))
    """
    return _drawn(_negative_binomial, (mu, alpha), shape, dtype, ctx, out)


@_told
def binomial(n=1, p=0.5, shape=None, dtype=None, ctx=None, out=None):
    """How many of some trials succeed.

    Parameters
    ----------
    n : int or ndarray
        How many trials. Default 1.
    p : float or ndarray
        The probability of a success. Default 0.5.
    {common}

    Examples
    --------
    >>> print(nd.random.binomial(10, 1, shape=3))
    [10. 10. 10.]
    >>> nd.random.binomial(10, nd.array([0.2, 0.8])).shape
    (2,)
    """
    return _drawn(draws.binomial, (n, p), shape, dtype, ctx, out)


@_told
def randint(low, high, shape=None, dtype=None, ctx=None, out=None):
    """Whole numbers of equal probability between two bounds.

    They are int32, not float32, unless dtype says another type.

    Parameters
    ----------
    low : int or ndarray
        The least.
    high : int or ndarray
        What all are below.
    {common}

    Examples
    --------
    >>> print(nd.random.randint(5, 6, shape=3))
    [5 5 5]
    >>> nd.random.randint(0, 10, shape=(2, 2)).dtype
    dtype('int32')
    """
    return _drawn(draws.randint, (low, high), shape, dtype or np.int32, ctx, out)


LIKE = """{name}() of the shape, dtype and device of an array.

    Parameters
    ----------
    data : ndarray
        Whose shape, dtype and device count.
    *parameters : float
        Those of {name}(), in its order: {given}.
    out : ndarray, optional
        Where the numbers go.
    **named
        The same parameters, by name.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x = nd.random.{name}_like(nd.zeros((2, 3)), {example})
    >>> x.shape, x.dtype
    ((2, 3), dtype('float32'))
    """


def _like(draw, given, example):
    def of(data, *parameters, out=None, **named):
        return draw(*parameters, shape=data.shape, dtype=data.dtype, ctx=data.ctx, out=out, **named)

    of.__name__ = of.__qualname__ = f"{draw.__name__}_like"
    of.__doc__ = LIKE.format(name=draw.__name__, given=given, example=example)
    return of


uniform_like = _like(uniform, "low, high", "0, 10")
normal_like = _like(normal, "loc, scale", "5, scale=2")
exponential_like = _like(exponential, "scale", "scale=2")
gamma_like = _like(gamma, "alpha, beta", "2, 3")
poisson_like = _like(poisson, "lam", "lam=4")
negative_binomial_like = _like(negative_binomial, "k, p", "3, p=0.5")
generalized_negative_binomial_like = _like(generalized_negative_binomial, "mu, alpha", "2, alpha=0.5")


def multinomial(data=None, shape=None, get_prob=False, dtype=None, *, n=None, p=None, ctx=None, out=None):
    """Outcomes drawn by probabilities, as in MXNet 1; or how often each is met, as in MXNet 2.

    Parameters
    ----------
    data : ndarray, optional
        Probabilities, of shape (..., outcomes): draws numbers of outcomes, as categorical() does.
    shape : int or tuple of int, optional
        How many draws for each row. None: one, and no axis for it.
    get_prob : bool
        With data: return the logarithms of the probabilities of what was drawn, too. Default False.
    dtype : dtype, optional
        Of the result. None: int32 with data, float32 with p.
    n : int or ndarray, optional
        With p: how many trials. None: 1.
    p : ndarray, optional
        Probabilities, as data: counts outcomes, as npx.random.multinomial() does.
    ctx : Device, optional
        With p: where the result is. None: the current one.
    out : ndarray, optional
        With p: where the result goes.

    Returns
    -------
    ndarray or list of ndarray
        With data of shape (..., *shape); with p of shape (..., *shape, outcomes).

    Examples
    --------
    >>> print(nd.random.multinomial(nd.array([0, 1, 0]), shape=4))
    [1 1 1 1]
    >>> print(nd.random.multinomial(n=5, p=nd.array([0, 1, 0])))
    [0. 5. 0.]
    """
    if p is None:
        return categorical(data, shape, get_prob, dtype or "int32")
    return counts(1 if n is None else n, p, shape, dtype or np.float32, ctx, out=out)


def shuffle(data, out=None):
    """A copy whose parts along the first axis are in random order.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype; unlike np.random.shuffle(), it stays as it is.
    out : ndarray, optional
        Where the result goes, which may be data.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x = nd.arange(5)
    >>> print(nd.sort(nd.random.shuffle(x)))
    [0. 1. 2. 3. 4.]
    >>> print(x)
    [0. 1. 2. 3. 4.]
    """
    result = draws.permutation(as_array(data))
    if out is None:
        return result
    out[...] = result
    return out
