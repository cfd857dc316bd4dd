from numpy.lib.introspect import *  # noqa: F403
from numpy.lib.introspect import __all__ as __all__
