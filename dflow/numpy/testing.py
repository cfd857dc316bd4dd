"""numpy.testing over dflow arrays."""

from functools import wraps

import numpy.testing as _testing

from dflow._array import ndarray
from dflow.ops import fallback as _fallback


def _plain(x):
    """As NumPy has it: a scalar for an array without axes, which some assertions tell from one."""
    return x.asnumpy()[()] if isinstance(x, ndarray) else _fallback.unwrap(x)


def _comparing(function):
    @wraps(function)
    def wrapper(actual, desired, *args, **keywords):
        return function(_plain(actual), _plain(desired), *args, **keywords)

    return wrapper


assert_equal = _comparing(_testing.assert_equal)
assert_almost_equal = _comparing(_testing.assert_almost_equal)


def __getattr__(name):
    """The others take anything that NumPy can make an array of."""
    return getattr(_testing, name)


def __dir__():
    return sorted({*globals(), *dir(_testing)})
