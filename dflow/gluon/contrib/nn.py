"""Layers that MXNet 1 has as mxnet.gluon.contrib.nn, some by other names: those of gluon.nn."""

from dflow.gluon._missing import missing
from dflow.gluon.nn import Concatenate as Concurrent
from dflow.gluon.nn import HybridConcatenate as HybridConcurrent
from dflow.gluon.nn import Identity, PixelShuffle1D, PixelShuffle2D, PixelShuffle3D, SyncBatchNorm

__all__ = ["Concurrent", "HybridConcurrent", "Identity", "PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D",
           "SyncBatchNorm"]

__getattr__ = missing(__name__, "SparseEmbedding")


def __dir__():
    return sorted(__all__)
