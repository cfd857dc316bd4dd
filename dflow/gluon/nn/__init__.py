"""Layers, as mxnet.gluon.nn."""

from dflow.gluon._missing import missing
from dflow.gluon.block import Block, HybridBlock
from dflow.gluon.nn import activations, basic_layers, conv_layers, normalization
from dflow.gluon.nn.activations import *  # noqa: F403
from dflow.gluon.nn.basic_layers import *  # noqa: F403
from dflow.gluon.nn.conv_layers import *  # noqa: F403
from dflow.gluon.nn.normalization import *  # noqa: F403

__all__ = ["Block", "HybridBlock"]
__all__ += activations.__all__
__all__ += basic_layers.__all__
__all__ += conv_layers.__all__
__all__ += normalization.__all__

__getattr__ = missing(__name__, """DeformableConvolution ModulatedDeformableConvolution PixelShuffle1D PixelShuffle2D
    PixelShuffle3D SymbolBlock SyncBatchNorm""")
