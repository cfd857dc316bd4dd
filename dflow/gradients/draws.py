"""The gradient of gamma draws by their shape: how x changes with it, where the probability below x stays the same.

That is D = -(dP(a, x) / da) / (dP(a, x) / dx), of P, the incomplete gamma function, of which neither NumPy nor SciPy
has the derivative by a. Of the forms of P two have one in which all terms are positive, so nothing is lost:

    below about x = a   dP/dx = p,  P = p x / a * sum of c(n) = x^n / ((a + 1) ... (a + n)), n >= 0, so
                        D = x / a * sum of c(n) * (digamma(a + 1) - log(x) + 1 / (a + 1) + ... + 1 / (a + n))
    above               1 - P = p x * integral of e(v) = exp(a v - x (exp(v) - 1)), v from 0 to infinity, so
                        D = x * integral of e(v) * (log(x) - digamma(a) + v)

and P itself, where a is large, p x times the integral from minus infinity to 0, in place of the sum. The integrand is
entire, and falls faster than an exponential function: Gauss's rule has 14 digits.
"""

import decimal
import functools
import importlib

import numpy

from dflow.gradients.networks import gradients_of
from dflow.ops.distributions import by_shape
from dflow.ops.fallback import task

SUMMED = 10                 # up to which `a` the sum is taken
TERMS = 64                  # of it: then c(n) is below 1e-20, also where a = x = SUMMED
NODES = 56
FALL = 40                   # the integrand ends where it has fallen by exp(-FALL)


def _of_shape(g, shape, ans):
    return g * task(slope, shape, ans, shape=ans.shape, dtype=float)


def slope(a, x):
    """D, of NumPy's arrays."""
    a, x = numpy.broadcast_arrays(numpy.asarray(a, float), numpy.asarray(x, float))
    summed = (x <= a) & (a < SUMMED) | (x < 1)
    result = numpy.empty_like(x)
    result[summed] = _by_sum(a[summed], x[summed])
    result[~summed] = _by_integral(a[~summed], x[~summed])
    return result


def _digamma(a):
    return importlib.import_module("scipy.special").digamma(a)


def _by_sum(a, x):
    term = total = numpy.ones_like(x)
    harmonic = moment = numpy.zeros_like(x)
    for n in range(1, TERMS):
        term = term * (x / (a + n))
        harmonic = harmonic + 1 / (a + n)
        total = total + term
        moment = moment + term * harmonic
    there = numpy.where(x > 0, x, 1)                # where a is tiny, x may be 0, and is so for its neighbours
    return x / a * (total * (_digamma(a + 1) - numpy.log(there)) + moment)


def _excess(v):
    """exp(v) - 1 - v."""
    near = numpy.where(numpy.abs(v) < 0.3, v, 0)
    series = 1
    for k in range(12, 2, -1):
        series = 1 + near / k * series
    return numpy.where(near == v, near * near / 2 * series, numpy.expm1(v) - v)


@functools.cache
def _nodes():
    """Places in 0 .. 1 and weights of Gauss's rule. NumPy's weights have lost three digits or four at the ends, by the
    LAPACK of the machine: so from its places on with 30 digits."""
    nodes = []
    with decimal.localcontext(decimal.Context(prec=30)):
        for place in numpy.polynomial.legendre.leggauss(NODES)[0].tolist():
            x = decimal.Decimal(place)
            for _ in range(2):                  # Newton's step to where Legendre's polynomial is 0; one without effect
                before, value = 1, x
                for n in range(2, NODES + 1):
                    before, value = value, ((2 * n - 1) * x * value - (n - 1) * before) / n
                derivative = NODES * (x * value - before) / (x * x - 1)
                x -= value / derivative
            nodes.append((float((x + 1) / 2), float(1 / ((1 - x * x) * derivative ** 2))))
    return nodes


def _by_integral(a, x):
    side = numpy.where(x > a, 1, -1)
    apart = numpy.abs(x - a)
    # e(v) = exp(-apart |v| - x (exp(v) - 1 - v)). Newton's steps to the end come from beyond it, or go there first.
    end = 2 * FALL / (apart + numpy.sqrt(apart * apart + 2 * FALL * x))
    for _ in range(3):
        v = side * end
        end = end - (apart * end + x * _excess(v) - FALL) / (apart + side * x * numpy.expm1(v))
    total = moment = 0
    for place, weight in _nodes():
        v = side * end * place
        e = weight * numpy.exp(-apart * numpy.abs(v) - x * _excess(v))
        total = total + e
        moment = moment + e * v
    return x * end * side * (total * _log_less_digamma(x, a) + moment)


def _log_less_digamma(x, a):
    """log(x) - digamma(a), also of large numbers that are nearly the same."""
    large = numpy.maximum(a, SUMMED)
    i = 1 / (large * large)                         # log(a) - digamma(a), by Stirling's series
    rest = 1 / 12 - i * (1 / 120 - i * (1 / 252 - i * (1 / 240 - i * (1 / 132 - i * (691 / 32760 - i / 12)))))
    near = numpy.log1p((x - large) / large) + 1 / (2 * large) + i * rest
    return numpy.where(a == large, near, numpy.log(x) - _digamma(a))


gradients_of(by_shape, _of_shape)
