"""Special functions of npx: SciPy's, as ufuncs."""

import importlib
from functools import cache

from dflow._functions.ufunc import wrap_ufunc
from dflow.ops.table import op


@cache
def _special(name):
    return wrap_ufunc(getattr(importlib.import_module("scipy.special"), name))      # slow to import


@op("x", module="npx", gradient=True)
def erf(data):
    """The error function.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.erf(np.array([0.0, 1.0])))
    [0.         0.84270079]
    """
    return _special("erf")(data)


@op("x / 9", module="npx", gradient=True)
def erfinv(data):
    """The inverse of the error function.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.erfinv(np.array([0.0, 0.5])))
    [0.         0.47693628]
    """
    return _special("erfinv")(data)


@op("x + 5.5", module="npx", gradient=True)
def gamma(data):
    """The gamma function.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.gamma(np.array([1.0, 5.0])))
    [ 1. 24.]
    """
    return _special("gamma")(data)


@op("x + 5.5", module="npx", gradient=True)
def gammaln(data):
    """The logarithm of the absolute value of the gamma function.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.gammaln(np.array([1.0, 5.0])))
    [0.         3.17805383]
    """
    return _special("gammaln")(data)


@op("x + 5.5", module="npx", gradient=True)
def digamma(data):
    """The derivative of gammaln.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.digamma(np.array([1.0, 5.0])))
    [-0.57721566  1.50611767]
    """
    return _special("psi")(data)
