"""numpy.testing over dflow arrays."""

import numpy.testing as _testing

from dflow.ops import fallback as _fallback
from dflow.ops.assertions import ASKING, comparing

__path__ = []                           # a package, as NumPy's

for _name in ASKING:
    globals()[_name] = comparing(getattr(_testing, _name))
for _name in ("assert_array_equal", "assert_array_almost_equal", "assert_allclose"):
    globals()[_name] = comparing(getattr(_testing, _name), _fallback.given)


def __getattr__(name):
    """The others take anything that NumPy can make an array of."""
    return getattr(_testing, name)


def __dir__():
    return sorted(_testing.__all__)
