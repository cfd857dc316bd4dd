from numpy.lib.format import *  # noqa: F403
