"""Networks for images of 224 by 224, as mxnet.gluon.model_zoo.vision: the same layers, names and shapes of parameters.

Inception3's images are of 299 by 299. Each network has `features` and `output`: net.features[:-1] are its layers
without the last, net.output = nn.Dense(2) makes another classifier of it. Its parameters have no values before
net.initialize() or net.load_parameters().

    net = vision.resnet18_v2(classes=10)        # or vision.get_model("resnet18_v2", classes=10)
"""

import functools
import itertools

from dflow import init, npx
from dflow import numpy as np
from dflow.gluon import nn
from dflow.gluon.block import HybridBlock

__all__ = ["AlexNet", "BasicBlockV1", "BasicBlockV2", "BottleneckV1", "BottleneckV2", "DenseNet", "Inception3",
           "LinearBottleneck", "MobileNet", "MobileNetV2", "RELU6", "ResNetV1", "ResNetV2", "SqueezeNet", "VGG",
           "alexnet", "get_densenet", "get_mobilenet", "get_mobilenet_v2", "get_model", "get_resnet", "get_squeezenet",
           "get_vgg", "inception_v3"]


def __dir__():
    return sorted(__all__)


# ---- layers


class RELU6(HybridBlock):
    """min(max(x, 0), 6)."""

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
    """Two convolutions, to whose result its input is added, or, to `downsample`, a projection of that."""

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
    """The same of three convolutions, the one in the middle of a quarter of the channels; the others have a bias."""

    def _layers(self, channels, stride, in_channels):
        inner = channels // 4
        return [nn.Conv2D(inner, 1, stride), nn.BatchNorm(), _relu(),
                _conv(inner, 3, 1, 1, in_channels=inner), nn.BatchNorm(), _relu(),
                nn.Conv2D(channels, 1), nn.BatchNorm()]


class BasicBlockV2(HybridBlock):
    """Two convolutions, with normalization and activation before each, to whose result its input is added."""

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
    """The same of three convolutions, the one in the middle of a quarter of the channels."""

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
    """Stages of so many `layers` blocks, of so many channels, the first number of which is that before the stages.

    thumbnail: for small images, which the first layers leave their size.
    """

    def __init__(self, block, layers, channels, classes=1000, thumbnail=False, **kwargs):
        features = *_residual(block, layers, channels, thumbnail), nn.GlobalAvgPool2D()
        super().__init__(features, nn.Dense(classes, in_units=channels[-1]), **kwargs)


class ResNetV2(_Network):
    """The same for blocks that normalize first."""

    def __init__(self, block, layers, channels, classes=1000, thumbnail=False, **kwargs):
        features = (nn.BatchNorm(scale=False, center=False), *_residual(block, layers, channels, thumbnail),
                    nn.BatchNorm(), _relu(), nn.GlobalAvgPool2D(), nn.Flatten())
        super().__init__(features, nn.Dense(classes, in_units=channels[-1]), **kwargs)


# ---- VGG, AlexNet


class VGG(_Network):
    """Stages of so many `layers` convolutions of 3 by 3, of so many filters, each with a pool behind."""

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
    """The network of Krizhevsky et al., as one of 2014."""

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
    """Convolutions of each channel alone, and of each pixel; `multiplier`: of the numbers of channels."""

    def __init__(self, multiplier=1.0, classes=1000, **kwargs):
        channels = [int(n * multiplier) for n in [32, 64] + [128] * 2 + [256] * 2 + [512] * 6 + [1024] * 2]
        features = _normalized(channels[0], 3, 2, 1)
        strides = [1, 2] * 3 + [1] * 5 + [2, 1]
        for (before, after), stride in zip(itertools.pairwise(channels), strides, strict=True):
            features += _normalized(before, 3, stride, 1, before) + _normalized(after)
        super().__init__([*features, nn.GlobalAvgPool2D(), nn.Flatten()], nn.Dense(classes), **kwargs)


class LinearBottleneck(HybridBlock):
    """More channels, t times as many; each convolved alone; fewer, without activation, and what came in added."""

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
    """Linear bottlenecks; `multiplier`: of the numbers of channels."""

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


def _fire(squeeze, expand):
    """A convolution to few channels; then two to many, of single pixels and of 3 by 3."""
    def part(channels, kernel=1, padding=0):
        return nn.HybridSequential(nn.Conv2D(channels, kernel, padding=padding), _relu())

    return nn.HybridSequential(part(squeeze), _beside(part(expand), part(expand, 3, 1)))


class SqueezeNet(_Network):
    """The network of Iandola et al., version "1.0" or "1.1", which has its pools earlier."""

    def __init__(self, version, classes=1000, **kwargs):
        (channels, kernel), stages = _of(_SQUEEZENETS, version, "version")
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
    """Blocks of so many layers, each with all those before it as its input; half of their channels go on."""

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
    """Branches of several sizes, side by side (Szegedy et al., version 3)."""

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


# ---- by number, and by name

_RESNETS = {18: (False, [2, 2, 2, 2]), 34: (False, [3, 4, 6, 3]),           # with bottlenecks?, blocks
            50: (True, [3, 4, 6, 3]), 101: (True, [3, 4, 23, 3]), 152: (True, [3, 8, 36, 3])}
_RESNET_KINDS = {1: (ResNetV1, BasicBlockV1, BottleneckV1), 2: (ResNetV2, BasicBlockV2, BottleneckV2)}
_VGGS = {11: [1, 1, 2, 2, 2], 13: [2, 2, 2, 2, 2], 16: [2, 2, 3, 3, 3], 19: [2, 2, 4, 4, 4]}
_SQUEEZENETS = {"1.0": ((96, 7), [[16, 16, 32], [32, 48, 48, 64], [64]]),   # the first convolution; fires, by stage
                "1.1": ((64, 3), [[16, 16], [32, 32], [48, 48, 64, 64]])}
_DENSENETS = {121: (64, 32, [6, 12, 24, 16]), 161: (96, 48, [6, 12, 36, 24]),
              169: (64, 32, [6, 12, 32, 32]), 201: (64, 32, [6, 12, 48, 32])}


def _zoo(make):
    """With MXNet's arguments for weights: `pretrained`, where they go (ctx, device), where they are kept (root)."""
    @functools.wraps(make)
    def model(*args, pretrained=False, ctx=None, device=None, root=None, **kwargs):
        if pretrained:
            raise NotImplementedError("dflow ships no weights: leave out pretrained=True, and give the network those "
                                      "of a file by load_parameters()")
        return make(*args, **kwargs)

    return model


def _of(table, number, what):
    if number not in table:
        raise ValueError(f"{what} must be one of {', '.join(map(str, table))}, not {number!r}")
    return table[number]


@_zoo
def get_resnet(version, num_layers, **kwargs):
    """A ResNet of version 1 or 2, of 18, 34, 50, 101 or 152 layers; classes=1000, thumbnail=False."""
    network, basic, bottleneck = _of(_RESNET_KINDS, version, "version")
    wide, layers = _of(_RESNETS, num_layers, "num_layers")
    channels = [64, *(n * (4 if wide else 1) for n in (64, 128, 256, 512))]
    return network(bottleneck if wide else basic, layers, channels, **kwargs)


@_zoo
def get_vgg(num_layers, **kwargs):
    """A VGG of 11, 13, 16 or 19 layers; classes=1000, batch_norm=False."""
    return VGG(_of(_VGGS, num_layers, "num_layers"), [64, 128, 256, 512, 512], **kwargs)


@_zoo
def get_mobilenet(multiplier, **kwargs):
    """A MobileNet with so many times the channels; classes=1000."""
    return MobileNet(multiplier, **kwargs)


@_zoo
def get_mobilenet_v2(multiplier, **kwargs):
    """A MobileNetV2 with so many times the channels; classes=1000."""
    return MobileNetV2(multiplier, **kwargs)


@_zoo
def get_squeezenet(version, **kwargs):
    """A SqueezeNet, "1.0" or "1.1"; classes=1000."""
    return SqueezeNet(version, **kwargs)


@_zoo
def get_densenet(num_layers, **kwargs):
    """A DenseNet of 121, 161, 169 or 201 layers; classes=1000, bn_size=4, dropout=0."""
    return DenseNet(*_of(_DENSENETS, num_layers, "num_layers"), **kwargs)


@_zoo
def alexnet(**kwargs):
    """An AlexNet; classes=1000."""
    return AlexNet(**kwargs)


@_zoo
def inception_v3(**kwargs):
    """An Inception3; classes=1000."""
    return Inception3(**kwargs)


_MODELS = {"alexnet": alexnet, "inceptionv3": inception_v3}      # by the names that get_model() takes


def _name(name, function, make, *numbers, **options):
    """Make the function of a network, under a name of Python's."""
    def model(**kwargs):
        return make(*numbers, **options, **kwargs)

    model.__name__ = model.__qualname__ = function
    model.__doc__ = f"{name}: {make.__name__}() of it; classes=1000."
    _MODELS[name] = globals()[function] = model
    __all__.append(function)


for _number in _RESNETS:
    for _version in _RESNET_KINDS:
        _name(f"resnet{_number}_v{_version}", f"resnet{_number}_v{_version}", get_resnet, _version, _number)
for _number in _VGGS:
    _name(f"vgg{_number}", f"vgg{_number}", get_vgg, _number)
    _name(f"vgg{_number}_bn", f"vgg{_number}_bn", get_vgg, _number, batch_norm=True)
for _number in (1.0, 0.75, 0.5, 0.25):
    _text = str(_number).replace(".", "_")
    _name(f"mobilenet{_number}", f"mobilenet{_text}", get_mobilenet, _number)
    _name(f"mobilenetv2_{_number}", f"mobilenet_v2_{_text}", get_mobilenet_v2, _number)
for _number in _SQUEEZENETS:
    _name(f"squeezenet{_number}", f"squeezenet{_number}".replace(".", "_"), get_squeezenet, _number)
for _number in _DENSENETS:
    _name(f"densenet{_number}", f"densenet{_number}", get_densenet, _number)


def get_model(name, **kwargs):
    """The network of that name: "resnet18_v1", "vgg16_bn", "mobilenet1.0", ...; ValueError lists them all."""
    if name.lower() not in _MODELS:
        raise ValueError(f"there is no model {name}; there are {', '.join(sorted(_MODELS))}")
    return _MODELS[name.lower()](**kwargs)
