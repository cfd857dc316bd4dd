from numpy.lib.npyio import *  # noqa: F403
