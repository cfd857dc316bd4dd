"""Layers, as mxnet.gluon.nn."""

from dflow.gluon._missing import missing
from dflow.gluon.block import Block, HybridBlock
from dflow.gluon.nn.activations import (
    ELU,
    GELU,
    SELU,
    Activation,
    LeakyReLU,
    PReLU,
    SiLU,
    Swish,
)
from dflow.gluon.nn.basic_layers import (
    Concatenate,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    HybridConcatenate,
    HybridLambda,
    HybridSequential,
    Identity,
    Lambda,
    Sequential,
)
from dflow.gluon.nn.conv_layers import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    PixelShuffle1D,
    PixelShuffle2D,
    PixelShuffle3D,
    ReflectionPad2D,
)
from dflow.gluon.nn.normalization import (
    BatchNorm,
    BatchNormReLU,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    SyncBatchNorm,
)

__all__ = ["Activation", "AvgPool1D", "AvgPool2D", "AvgPool3D", "BatchNorm", "BatchNormReLU", "Block", "Concatenate",
           "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Dense", "Dropout",
           "ELU", "Embedding", "Flatten", "GELU", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D",
           "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D", "GroupNorm", "HybridBlock", "HybridConcatenate",
           "HybridLambda", "HybridSequential", "Identity", "InstanceNorm", "Lambda", "LayerNorm", "LeakyReLU",
           "MaxPool1D", "MaxPool2D", "MaxPool3D", "PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D", "PReLU",
           "ReflectionPad2D", "SELU", "Sequential", "SiLU", "Swish", "SyncBatchNorm"]

__getattr__ = missing(__name__, """DeformableConvolution ModulatedDeformableConvolution SymbolBlock""")


def __dir__():
    return sorted(__all__)
