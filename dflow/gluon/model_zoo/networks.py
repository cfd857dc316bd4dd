"""The networks of vision.py as classes, and the blocks that they are built of."""

import itertools

from dflow import init, npx
from dflow import numpy as np
from dflow.gluon import nn
from dflow.gluon.block import HybridBlock

__all__ = ["AlexNet", "BasicBlockV1", "BasicBlockV2", "BottleneckV1", "BottleneckV2", "DenseNet", "Inception3",
           "LinearBottleneck", "MobileNet", "MobileNetV2", "RELU6", "ResNetV1", "ResNetV2", "SqueezeNet", "VGG"]


def __dir__():
    return sorted(__all__)


# ---- layers


def one_of(table, number, what):
    """What a table has for a number; ValueError, which names them, for another."""
    if number not in table:
        raise ValueError(f"{what} must be one of {', '.join(map(str, table))}, not {number!r}")
    return table[number]


class RELU6(HybridBlock):
    """min(max(x, 0), 6), of each element.

    Parameters
    ----------
    prefix, params
        Of Block, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of any shape and dtype.

    Outputs
    -------
    ndarray
        Of x's shape and dtype.

    Examples
    --------
    >>> print(gluon.model_zoo.vision.RELU6()(np.array([-1.0, 3.0, 9.0])))
    [0. 3. 6.]
    """

    def forward(self, x):
        return np.clip(x, 0, 6)


def _relu():
    return nn.Activation("relu")


def _conv(channels, kernel, strides=1, padding=0, **kwargs):
    """A convolution that a normalization follows, whose beta is the bias."""
    return nn.Conv2D(channels, kernel, strides, padding, use_bias=False, **kwargs)


def _normalized(channels, kernel=1, strides=1, padding=0, groups=1, activation=_relu):
    """A convolution, its normalization and activation."""
    layers = [_conv(channels, kernel, strides, padding, groups=groups), nn.BatchNorm()]
    return layers if activation is None else [*layers, activation()]


def _beside(*blocks):
    """Blocks with the same input, their channels side by side."""
    found = nn.HybridConcatenate(axis=1)
    found.add(*blocks)
    return found


class _Network(HybridBlock):
    """`features`, of layers; then `output`."""

    def __init__(self, features, output, **kwargs):
        super().__init__(**kwargs)
        self.features = nn.HybridSequential(*features)
        self.output = output

    def forward(self, x):
        return self.output(self.features(x))


# ---- ResNet


class BasicBlockV1(HybridBlock):
    """Two convolutions of 3 by 3, to whose result the input is added, as in ResNets of version 1.

    Each is followed by a normalization, the last activation comes after the sum.

    Parameters
    ----------
    channels : int
        Channels of the result.
    stride : int
        Of the first convolution: height and width are divided by it.
    downsample : bool
        The input is projected to the result's size and channels, by a convolution of single pixels, before it
        is added. It must be where they differ.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, h, w).

    Outputs
    -------
    ndarray
        Of shape (batch, channels, ceil(h / stride), ceil(w / stride)).

    Examples
    --------
    >>> block = gluon.model_zoo.vision.BasicBlockV1(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(*self._layers(channels, stride, in_channels))
        self.downsample = nn.HybridSequential(
            _conv(channels, 1, stride, in_channels=in_channels), nn.BatchNorm()) if downsample else None

    def _layers(self, channels, stride, in_channels):
        return [_conv(channels, 3, stride, 1, in_channels=in_channels), nn.BatchNorm(), _relu(),
                _conv(channels, 3, 1, 1, in_channels=channels), nn.BatchNorm()]

    def forward(self, x):
        residual = x if self.downsample is None else self.downsample(x)
        return npx.relu(self.body(x) + residual)


class BottleneckV1(BasicBlockV1):
    """Convolutions of 1 by 1, 3 by 3 and 1 by 1, to whose result the input is added, as in ResNets of version 1.

    The one in the middle has a quarter of the channels; the others have a bias, as in MXNet.

    Parameters
    ----------
    channels : int
        Channels of the result.
    stride : int
        Of the first convolution: height and width are divided by it.
    downsample : bool
        The input is projected to the result's size and channels, by a convolution of single pixels, before it
        is added. It must be where they differ.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, h, w).

    Outputs
    -------
    ndarray
        Of shape (batch, channels, ceil(h / stride), ceil(w / stride)).

    Examples
    --------
    >>> block = gluon.model_zoo.vision.BottleneckV1(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def _layers(self, channels, stride, in_channels):
        inner = channels // 4
        return [nn.Conv2D(inner, 1, stride), nn.BatchNorm(), _relu(),
                _conv(inner, 3, 1, 1, in_channels=inner), nn.BatchNorm(), _relu(),
                nn.Conv2D(channels, 1), nn.BatchNorm()]


class BasicBlockV2(HybridBlock):
    """Two convolutions of 3 by 3, to whose result the input is added, as in ResNets of version 2.

    A normalization and an activation come before each.

    Parameters
    ----------
    channels : int
        Channels of the result.
    stride : int
        Of the first convolution: height and width are divided by it.
    downsample : bool
        The input is projected to the result's size and channels, by a convolution of single pixels, before it
        is added. It must be where they differ.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, h, w).

    Outputs
    -------
    ndarray
        Of shape (batch, channels, ceil(h / stride), ceil(w / stride)).

    Examples
    --------
    >>> block = gluon.model_zoo.vision.BasicBlockV2(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        convolutions = self._convolutions(channels, stride, in_channels)
        for number, convolution in enumerate(convolutions, 1):
            setattr(self, f"bn{number}", nn.BatchNorm())
            setattr(self, f"conv{number}", convolution)
        self._depth = len(convolutions)
        self.downsample = _conv(channels, 1, stride, in_channels=in_channels) if downsample else None

    def _convolutions(self, channels, stride, in_channels):
        return [_conv(channels, 3, stride, 1, in_channels=in_channels), _conv(channels, 3, 1, 1, in_channels=channels)]

    def forward(self, x):
        y = npx.relu(self.bn1(x))
        residual = x if self.downsample is None else self.downsample(y)
        y = self.conv1(y)
        for number in range(2, self._depth + 1):
            y = getattr(self, f"conv{number}")(npx.relu(getattr(self, f"bn{number}")(y)))
        return y + residual


class BottleneckV2(BasicBlockV2):
    """Convolutions of 1 by 1, 3 by 3 and 1 by 1, to whose result the input is added, as in ResNets of version 2.

    The one in the middle has a quarter of the channels. A normalization and an activation come before each.

    Parameters
    ----------
    channels : int
        Channels of the result.
    stride : int
        Of the second convolution: height and width are divided by it.
    downsample : bool
        The input is projected to the result's size and channels, by a convolution of single pixels, before it
        is added. It must be where they differ.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, h, w).

    Outputs
    -------
    ndarray
        Of shape (batch, channels, ceil(h / stride), ceil(w / stride)).

    Examples
    --------
    >>> block = gluon.model_zoo.vision.BottleneckV2(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def _convolutions(self, channels, stride, in_channels):
        inner = channels // 4
        return [_conv(inner, 1), _conv(inner, 3, stride, 1, in_channels=inner), _conv(channels, 1)]


def _residual(block, layers, channels, thumbnail):
    """The first layers, and a stage for each number of blocks; all but the first stage halve height and width."""
    yield _conv(channels[0], 3, 1, 1) if thumbnail else _conv(channels[0], 7, 2, 3)
    if not thumbnail:
        yield from (nn.BatchNorm(), _relu(), nn.MaxPool2D(3, 2, 1))
    for i, (count, (before, after)) in enumerate(zip(layers, itertools.pairwise(channels), strict=True)):
        first = block(after, 1 if i == 0 else 2, before != after, before)
        yield nn.HybridSequential(first, *(block(after, 1, False, after) for _ in range(count - 1)))


class ResNetV1(_Network):
    """A ResNet of version 1 (He et al., 2015): stages of blocks, each of which adds to its input.

    All stages but the first halve height and width. get_resnet() makes those of the paper.

    Parameters
    ----------
    block : type
        BasicBlockV1 or BottleneckV1.
    layers : list of int
        How many blocks each stage has.
    channels : list of int
        Channels before the stages, then of each stage.
    classes : int
        How many classes there are.
    thumbnail : bool
        It is for small images, whose size the first layers leave as it is. False: they quarter it.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Images, of shape (batch, 3, 224, 224). Another number of channels will do, and any size from 32 on.

    Outputs
    -------
    ndarray
        Of shape (batch, classes): numbers of any size, before a softmax.

    Raises
    ------
    ValueError
        For a list of channels that is not one longer than that of layers.

    Examples
    --------
    >>> vision = gluon.model_zoo.vision
    >>> net = vision.ResNetV1(vision.BasicBlockV1, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(np.ones((2, 3, 8, 8))).shape
    (2, 10)
    """

    def __init__(self, block, layers, channels, classes=1000, thumbnail=False, **kwargs):
        features = *_residual(block, layers, channels, thumbnail), nn.GlobalAvgPool2D()
        super().__init__(features, nn.Dense(classes, in_units=channels[-1]), **kwargs)


class ResNetV2(_Network):
    """A ResNet of version 2 (He et al., 2016): stages of blocks, each of which adds to its input.

    All stages but the first halve height and width. get_resnet() makes those of the paper.

    Parameters
    ----------
    block : type
        BasicBlockV2 or BottleneckV2.
    layers : list of int
        How many blocks each stage has.
    channels : list of int
        Channels before the stages, then of each stage.
    classes : int
        How many classes there are.
    thumbnail : bool
        It is for small images, whose size the first layers leave as it is. False: they quarter it.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Images, of shape (batch, 3, 224, 224). Another number of channels will do, and any size from 32 on.

    Outputs
    -------
    ndarray
        Of shape (batch, classes): numbers of any size, before a softmax.

    Raises
    ------
    ValueError
        For a list of channels that is not one longer than that of layers.

    Examples
    --------
    >>> vision = gluon.model_zoo.vision
    >>> net = vision.ResNetV2(vision.BasicBlockV2, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(np.ones((2, 3, 8, 8))).shape
    (2, 10)
    """

    def __init__(self, block, layers, channels, classes=1000, thumbnail=False, **kwargs):
        features = (nn.BatchNorm(scale=False, center=False), *_residual(block, layers, channels, thumbnail),
                    nn.BatchNorm(), _relu(), nn.GlobalAvgPool2D(), nn.Flatten())
        super().__init__(features, nn.Dense(classes, in_units=channels[-1]), **kwargs)


# ---- VGG, AlexNet


class VGG(_Network):
    """A VGG (Simonyan and Zisserman, 2014): stages of convolutions of 3 by 3, and three dense layers.

    There is a pool behind each stage. get_vgg() makes those of the paper.

    Parameters
    ----------
    layers : list of int
        How many convolutions each stage has.
    filters : list of int
        Channels of each stage.
    classes : int
        How many classes there are.
    batch_norm : bool
        A normalization follows each convolution.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Images, of shape (batch, 3, 224, 224). The first ones decide about channels and size: height and width
        are at least 2 ** len(layers).

    Outputs
    -------
    ndarray
        Of shape (batch, classes): numbers of any size, before a softmax.

    Raises
    ------
    ValueError
        For layers and filters of different lengths.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.VGG([1, 2], [8, 16], classes=10)
    >>> [type(layer).__name__ for layer in net.features[:5]]
    ['Conv2D', 'Activation', 'MaxPool2D', 'Conv2D', 'Activation']
    >>> net.output
    Dense(-1 -> 10, linear)
    """

    def __init__(self, layers, filters, classes=1000, batch_norm=False, **kwargs):
        features = []
        for count, channels in zip(layers, filters, strict=True):
            for _ in range(count):
                features.append(nn.Conv2D(channels, 3, padding=1, weight_initializer=init.Xavier(
                    rnd_type="gaussian", factor_type="out", magnitude=2)))
                features += [nn.BatchNorm(), _relu()] if batch_norm else [_relu()]
            features.append(nn.MaxPool2D(strides=2))
        for _ in range(2):
            features += [nn.Dense(4096, activation="relu", weight_initializer="normal"), nn.Dropout(0.5)]
        super().__init__(features, nn.Dense(classes, weight_initializer="normal"), **kwargs)


class AlexNet(_Network):
    """An AlexNet (Krizhevsky, 2014): five convolutions and three dense layers.

    Parameters
    ----------
    classes : int
        How many classes there are.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Images, of shape (batch, 3, 224, 224). The first ones decide about channels and size: height and width
        are at least 63.

    Outputs
    -------
    ndarray
        Of shape (batch, classes): numbers of any size, before a softmax.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.AlexNet(classes=10)
    >>> len(net.features), net.output
    (13, Dense(-1 -> 10, linear))
    """

    def __init__(self, classes=1000, **kwargs):
        features = []
        for channels, kernel, strides, padding, pool in (
                (64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False), (256, 3, 1, 1, False),
                (256, 3, 1, 1, True)):
            features.append(nn.Conv2D(channels, kernel, strides, padding, activation="relu"))
            features += [nn.MaxPool2D(3, 2)] if pool else []
        features.append(nn.Flatten())
        for _ in range(2):
            features += [nn.Dense(4096, activation="relu"), nn.Dropout(0.5)]
        super().__init__(features, nn.Dense(classes), **kwargs)


# ---- MobileNet


class MobileNet(_Network):
    """A MobileNet (Howard et al., 2017): convolutions of each channel alone, and of each pixel alone, in turn.

    Parameters
    ----------
    multiplier : float
        Of the numbers of channels: 1.0, 0.75, 0.5 and 0.25 are MXNet's.
    classes : int
        How many classes there are.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Images, of shape (batch, 3, 224, 224). Another number of channels will do, and any size from 32 on.

    Outputs
    -------
    ndarray
        Of shape (batch, classes): numbers of any size, before a softmax.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.MobileNet(0.25, classes=10)
    >>> net.features[0]
    Conv2D(-1 -> 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
    """

    def __init__(self, multiplier=1.0, classes=1000, **kwargs):
        channels = [int(n * multiplier) for n in [32, 64] + [128] * 2 + [256] * 2 + [512] * 6 + [1024] * 2]
        features = _normalized(channels[0], 3, 2, 1)
        strides = [1, 2] * 3 + [1] * 5 + [2, 1]
        for (before, after), stride in zip(itertools.pairwise(channels), strides, strict=True):
            features += _normalized(before, 3, stride, 1, before) + _normalized(after)
        super().__init__([*features, nn.GlobalAvgPool2D(), nn.Flatten()], nn.Dense(classes), **kwargs)


class LinearBottleneck(HybridBlock):
    """A block of MobileNetV2: channels become more, each is convolved alone, and they become fewer.

    No activation is behind the last. The input is added to the result where both have the same shape.

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    channels : int
        Channels of the result.
    t : int
        How many times as many channels there are in between.
    stride : int
        Of the convolution of each channel: height and width are divided by it.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, h, w).

    Outputs
    -------
    ndarray
        Of shape (batch, channels, ceil(h / stride), ceil(w / stride)).

    Examples
    --------
    >>> block = gluon.model_zoo.vision.LinearBottleneck(4, 8, 6, 2)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape, block.use_shortcut
    ((1, 8, 3, 3), False)
    """

    def __init__(self, in_channels, channels, t, stride, **kwargs):
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        inner = in_channels * t
        self.out = nn.HybridSequential(*_normalized(inner, activation=RELU6),
                                       *_normalized(inner, 3, stride, 1, inner, RELU6),
                                       *_normalized(channels, activation=None))

    def forward(self, x):
        y = self.out(x)
        return y + x if self.use_shortcut else y


class MobileNetV2(_Network):
    """A MobileNet of version 2 (Sandler et al., 2018): 17 linear bottlenecks.

    Parameters
    ----------
    multiplier : float
        Of the numbers of channels: 1.0, 0.75, 0.5 and 0.25 are MXNet's.
    classes : int
        How many classes there are.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Images, of shape (batch, 3, 224, 224). Another number of channels will do, and any size from 32 on.

    Outputs
    -------
    ndarray
        Of shape (batch, classes): numbers of any size, before a softmax.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.MobileNetV2(0.25, classes=10)
    >>> sum(isinstance(layer, gluon.model_zoo.vision.LinearBottleneck) for layer in net.features)
    17
    """

    def __init__(self, multiplier=1.0, classes=1000, **kwargs):
        numbers = [32, 16] + [24] * 2 + [32] * 3 + [64] * 4 + [96] * 3 + [160] * 3 + [320]
        channels = [int(n * multiplier) for n in numbers]
        strides = [1, 2, 1, 2, 1, 1, 2] + [1] * 6 + [2] + [1] * 3
        features = _normalized(channels[0], 3, 2, 1, activation=RELU6)
        for i, ((before, after), stride) in enumerate(zip(itertools.pairwise(channels), strides, strict=True)):
            features.append(LinearBottleneck(before, after, 6 if i else 1, stride))
        features += _normalized(int(1280 * max(multiplier, 1)), activation=RELU6)
        super().__init__([*features, nn.GlobalAvgPool2D()],
                         nn.HybridSequential(_conv(classes, 1), nn.Flatten()), **kwargs)


# ---- SqueezeNet, DenseNet

SQUEEZENETS = {"1.0": ((96, 7), [[16, 16, 32], [32, 48, 48, 64], [64]]),   # the first convolution; fires, by stage
               "1.1": ((64, 3), [[16, 16], [32, 32], [48, 48, 64, 64]])}


def _fire(squeeze, expand):
    """A convolution to few channels; then two to many, of single pixels and of 3 by 3."""
    def part(channels, kernel=1, padding=0):
        return nn.HybridSequential(nn.Conv2D(channels, kernel, padding=padding), _relu())

    return nn.HybridSequential(part(squeeze), _beside(part(expand), part(expand, 3, 1)))


class SqueezeNet(_Network):
    """A SqueezeNet (Iandola et al., 2016): convolutions to few channels, then two to many, side by side.

    Parameters
    ----------
    version : str
        "1.0", or "1.1", which has its pools earlier.
    classes : int
        How many classes there are.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Images, of shape (batch, 3, 224, 224). Another number of channels will do.

    Outputs
    -------
    ndarray
        Of shape (batch, classes): numbers of any size, before a softmax.

    Raises
    ------
    ValueError
        For another version.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.SqueezeNet("1.1", classes=10)
    >>> net.output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1))
    """

    def __init__(self, version, classes=1000, **kwargs):
        (channels, kernel), stages = one_of(SQUEEZENETS, version, "version")
        features = [nn.Conv2D(channels, kernel, 2), _relu()]
        for stage in stages:
            features.append(nn.MaxPool2D(3, 2, ceil_mode=True))
            features += [_fire(squeeze, 4 * squeeze) for squeeze in stage]
        output = nn.HybridSequential(nn.Conv2D(classes, 1), _relu(), nn.AvgPool2D(13), nn.Flatten())
        super().__init__([*features, nn.Dropout(0.5)], output, **kwargs)


def _dense_layer(growth_rate, bn_size, dropout):
    """What comes in, and as many new channels beside it."""
    new = nn.HybridSequential(nn.BatchNorm(), _relu(), _conv(bn_size * growth_rate, 1),
                              nn.BatchNorm(), _relu(), _conv(growth_rate, 3, 1, 1))
    if dropout:
        new.add(nn.Dropout(dropout))
    return _beside(nn.Identity(), new)


class DenseNet(_Network):
    """A DenseNet (Huang et al., 2016): blocks of layers, each with all those before it in its block as its input.

    Half of a block's channels, and of height and width, go on to the next. get_densenet() makes those of the
    paper.

    Parameters
    ----------
    num_init_features : int
        Channels before the blocks.
    growth_rate : int
        How many channels each layer adds.
    block_config : list of int
        How many layers each block has.
    bn_size : int
        The channels inside of a layer are so many times growth_rate.
    dropout : float
        The probability of dropout after each layer, in training.
    classes : int
        How many classes there are.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Images, of shape (batch, 3, 224, 224). The first ones decide about channels and size.

    Outputs
    -------
    ndarray
        Of shape (batch, classes): numbers of any size, before a softmax.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.DenseNet(8, 4, [2, 2], classes=10)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 64, 64))).shape
    (1, 10)
    """

    def __init__(self, num_init_features, growth_rate, block_config, bn_size=4, dropout=0, classes=1000, **kwargs):
        features = [*_normalized(num_init_features, 7, 2, 3), nn.MaxPool2D(3, 2, 1)]
        channels = num_init_features
        for i, count in enumerate(block_config):
            if i:
                channels //= 2
                features.append(nn.HybridSequential(nn.BatchNorm(), _relu(), _conv(channels, 1), nn.AvgPool2D(2, 2)))
            features.append(nn.HybridSequential(*(_dense_layer(growth_rate, bn_size, dropout) for _ in range(count))))
            channels += count * growth_rate
        features += [nn.BatchNorm(), _relu(), nn.AvgPool2D(7), nn.Flatten()]
        super().__init__(features, nn.Dense(classes), **kwargs)


# ---- Inception


def _branch(*layers):
    """Layers in a row; numbers stand for a convolution, which keeps the size, or with strides does not pad."""
    def layer(channels, kernel=(1, 1), strides=1, padding=None):
        if padding is None:
            padding = [k // 2 if strides == 1 else 0 for k in kernel]
        return nn.HybridSequential(_conv(channels, kernel, strides, padding), nn.BatchNorm(epsilon=0.001), _relu())

    return nn.HybridSequential(*(layer(*x) if isinstance(x, tuple) else x for x in layers))


def _mean_branch(channels):
    return _branch(nn.AvgPool2D(3, 1, 1), (channels,))


def _small(pooled):
    return _beside(_branch((64,)), _branch((48,), (64, (5, 5))), _branch((64,), (96, (3, 3)), (96, (3, 3))),
                   _mean_branch(pooled))


def _long(channels):
    """Of rows and columns of seven."""
    across, down = (channels, (1, 7)), (channels, (7, 1))
    return _beside(_branch((192,)), _branch((channels,), across, (192, (7, 1))),
                   _branch((channels,), down, across, down, (192, (1, 7))), _mean_branch(192))


def _wide():
    def split():
        return _beside(_branch((384, (1, 3))), _branch((384, (3, 1))))

    return _beside(_branch((320,)), _branch(_branch((384,)), split()),
                   _branch(_branch((448,), (384, (3, 3))), split()), _mean_branch(192))


class Inception3(_Network):
    """An Inception network of version 3 (Szegedy et al., 2015): branches of several sizes, side by side.

    Parameters
    ----------
    classes : int
        How many classes there are.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Images, of shape (batch, 3, 299, 299). The first ones decide about channels and size: height and width
        are at least 299.

    Outputs
    -------
    ndarray
        Of shape (batch, classes): numbers of any size, before a softmax.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.Inception3(classes=10)
    >>> len(net.features), net.output
    (20, Dense(-1 -> 10, linear))
    """

    def __init__(self, classes=1000, **kwargs):
        halved = _beside(_branch((384, (3, 3), 2)), _branch((64,), (96, (3, 3)), (96, (3, 3), 2)),
                         _branch(nn.MaxPool2D(3, 2)))
        halved_again = _beside(_branch((192,), (320, (3, 3), 2)),
                               _branch((192,), (192, (1, 7)), (192, (7, 1)), (192, (3, 3), 2)),
                               _branch(nn.MaxPool2D(3, 2)))
        features = _branch((32, (3, 3), 2), (32, (3, 3), 1, 0), (64, (3, 3)), nn.MaxPool2D(3, 2),
                           (80,), (192, (3, 3), 1, 0), nn.MaxPool2D(3, 2), *map(_small, (32, 64, 64)), halved,
                           *map(_long, (128, 160, 160, 192)), halved_again, _wide(), _wide(),
                           nn.AvgPool2D(8), nn.Dropout(0.5))
        super().__init__(features, nn.Dense(classes), **kwargs)
