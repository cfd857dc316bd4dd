"""The distributions of dflow.numpy.random: their parameters, for which of these a kernel is, and what is computed."""

import math

import numpy

from dflow._array.core import is_array
from dflow._functions.advanced_indexing import where
from dflow._functions.ufunc import wrap_ufunc
from dflow.ops.defaults import is_np_array
from dflow.ops.table import recorded

exp, expm1 = map(wrap_ufunc, (numpy.exp, numpy.expm1))

def _moved(x, loc, scale):
    return x * scale + loc



@recorded
def by_shape(shape, draw):
    """draw(shape), standard gamma draws of a shape, an array by which they have a gradient (dflow/gradients)."""
    return draw(shape)


# Draws that are a function of standard ones and of their parameters: whose draws; the last parameter, and whether it
# must be positive, or may be 0; the function.
STANDARD = {
    **{name: (name, "scale", False, _moved) for name in ("gumbel", "laplace", "logistic")},
    "lognormal": ("standard_normal", "sigma", False, lambda x, mean, sigma: exp(x * sigma + mean)),
    "pareto": ("standard_exponential", "a", True, lambda x, a: expm1(x / a)),
    "power": ("standard_exponential", "a", True, lambda x, a: exp(-x / a)),
    "rayleigh": ("rayleigh", "scale", False, lambda x, scale: x * scale),
    "weibull": ("standard_exponential", "a", False, lambda x, a: where(a == 0, 0, x ** (1 / where(a == 0, 1, a)))),
}

# The same of standard gamma draws, which depend on a parameter themselves: draw(shape) makes them.
OF_GAMMA = {
    "chisquare": ("df", True, lambda draw, df: draw(df / 2) * 2),
    "gamma": ("scale", False, lambda draw, shape, scale: draw(shape) * scale),
}


def _positive(a):
    return 0 < a < math.inf


def _both_positive(a, b):
    return 0 < a < math.inf and 0 < b < math.inf


def _finite(loc, scale):
    return -math.inf < loc < math.inf and 0 < scale < math.inf


def _is_count(n, p):
    return 0 <= n <= 1 << 53 and n == int(n) and 0 <= p <= 1


# name: parameters with their defaults, and whether the kernel is for these numbers. NumPy has the last word on others.
DISTRIBUTIONS = {
    "beta": ("a b", lambda a, b: 1e-300 < a < math.inf and 1e-300 < b < math.inf),     # whose logarithms are finite
    "binomial": ("n p", _is_count),
    "chisquare": ("df", _positive),
    "f": ("dfnum dfden", _both_positive),
    "gamma": ("shape scale=1", _both_positive),
    "geometric": ("p", lambda p: 0 < p <= 1),
    "gumbel": ("loc=0 scale=1", _finite),
    "laplace": ("loc=0 scale=1", _finite),
    "logistic": ("loc=0 scale=1", _finite),
    "lognormal": ("mean=0 sigma=1", _finite),
    "pareto": ("a", _positive),
    "poisson": ("lam=1", lambda lam: 0 <= lam < 1 << 53),
    "power": ("a", _positive),
    "rayleigh": ("scale=1", _positive),
    "standard_cauchy": ("", lambda: True),
    "standard_t": ("df", _positive),
    "triangular": ("left mode right", lambda a, b, c: -math.inf < a <= b <= c < math.inf and a < c),
    "weibull": ("a", _positive),
}
PARAMETERS = {"dirichlet": ("alpha",), "multinomial": ("n", "pvals"), "multivariate_normal": ("mean", "cov")}
COUNTS = frozenset("multinomial binomial geometric hypergeometric logseries negative_binomial poisson zipf".split())
VECTORS = {"dirichlet": 1, "multinomial": 2, "multivariate_normal": 2}          # of numbers always at once
OTHERS = {      # name: number of parameters before `size`
    "hypergeometric": 3, "logseries": 1, "negative_binomial": 2, "noncentral_chisquare": 2, "noncentral_f": 3,
    "vonmises": 2, "wald": 2, "zipf": 1, **VECTORS}


def shares(parameters):
    """Parameters; after npx.set_np() probabilities of float32 are float64, and of the sum 1 if that was rounded."""
    return [_shares(x) if is_array(x) and x.dtype == numpy.float32 and is_np_array() else x for x in parameters]


def _shares(p):
    p = p.astype(float)
    total = p.sum(-1, keepdims=True)
    return where((total > 1) & (total < 1 + 1e-6), p / total, p)
