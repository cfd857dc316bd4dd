from numpy.lib.introspect import *  # noqa: F403
