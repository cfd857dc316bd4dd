"""Well-known networks, as mxnet.gluon.model_zoo."""

from dflow.gluon.model_zoo import vision

__all__ = ["vision"]
