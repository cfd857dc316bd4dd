from numpy.polynomial import *  # noqa: F403
from numpy.polynomial import __all__ as __all__
from numpy.polynomial import polyutils as polyutils
from numpy.polynomial import set_default_printstyle as set_default_printstyle
