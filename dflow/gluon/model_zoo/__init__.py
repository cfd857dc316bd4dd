"""Well-known networks, as mxnet.gluon.model_zoo."""

from dflow.gluon.model_zoo import vision

__all__ = ["vision"]


def __dir__():
    return sorted(__all__)
