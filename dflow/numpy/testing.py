"""numpy.testing over dflow arrays."""

from functools import wraps

import numpy.testing as _testing

from dflow._array.core import is_array
from dflow.ops import fallback as _fallback

__path__ = []                           # a package, as NumPy's


def _plain(x):
    """As NumPy has it: a scalar for an array without axes, which some assertions tell from one."""
    return x.asnumpy()[()] if is_array(x) else _fallback.unwrap(x)


def _comparing(name, seen):
    function = getattr(_testing, name)

    @wraps(function)
    def wrapper(actual, desired, *args, **keywords):
        return function(seen(actual), seen(desired), *args, **keywords)

    globals()[name] = wrapper


for _name in ("assert_equal", "assert_almost_equal"):
    _comparing(_name, _plain)
for _name in ("assert_array_equal", "assert_array_almost_equal", "assert_allclose"):
    _comparing(_name, _fallback.given)


def __getattr__(name):
    """The others take anything that NumPy can make an array of."""
    return getattr(_testing, name)


def __dir__():
    return sorted({*globals(), *dir(_testing)})
