from numpy.lib.scimath import *  # noqa: F403
from numpy.lib.scimath import __all__ as __all__
