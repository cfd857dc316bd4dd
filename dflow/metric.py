"""gluon.metric under MXNet 1's name."""

from dflow.gluon.metric import *  # noqa: F403
from dflow.gluon.metric import __all__  # noqa: F401
