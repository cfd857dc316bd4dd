from numpy.lib.format import *  # noqa: F403
from numpy.lib.format import __all__ as __all__
