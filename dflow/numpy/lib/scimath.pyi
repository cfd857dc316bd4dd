from numpy.lib.scimath import *  # noqa: F403
