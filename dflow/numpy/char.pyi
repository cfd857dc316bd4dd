from numpy.char import *  # noqa: F403
from numpy.char import __all__ as __all__
