from numpy.exceptions import *  # noqa: F403
from numpy.exceptions import __all__ as __all__
