from numpy.strings import *  # noqa: F403
from numpy.strings import __all__ as __all__
