from numpy.lib.mixins import *  # noqa: F403
