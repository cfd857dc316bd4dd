"""Random numbers as mxnet.random: the functions of nd.random, and the seed."""

from dflow.nd.random import *  # noqa: F403
from dflow.nd.random import __all__ as _drawing
from dflow.ops.mxnet import seed

__all__ = [*_drawing, "seed"]  # noqa: PLE0604
