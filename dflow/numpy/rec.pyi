from numpy.rec import *  # noqa: F403
from numpy.rec import __all__ as __all__
