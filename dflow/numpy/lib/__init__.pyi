from numpy.lib import *  # noqa: F403
from numpy.lib import __all__ as __all__

from dflow.numpy.lib import stride_tricks as stride_tricks
