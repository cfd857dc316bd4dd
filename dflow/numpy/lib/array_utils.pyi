from numpy.lib.array_utils import *  # noqa: F403
