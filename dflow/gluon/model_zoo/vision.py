"""Networks for images of 224 by 224, as mxnet.gluon.model_zoo.vision: the same layers, names and shapes of parameters.

Inception3's images are of 299 by 299. Each network has `features` and `output`: net.features[:-1] are its layers
without the last, net.output = nn.Dense(2) makes another classifier of it. Its parameters have no values before
net.initialize() or net.load_parameters().

    net = vision.resnet18_v2(classes=10)        # or vision.get_model("resnet18_v2", classes=10)
"""

import functools

from dflow.gluon.model_zoo.networks import (
    RELU6,
    SQUEEZENETS,
    VGG,
    AlexNet,
    BasicBlockV1,
    BasicBlockV2,
    BottleneckV1,
    BottleneckV2,
    DenseNet,
    Inception3,
    LinearBottleneck,
    MobileNet,
    MobileNetV2,
    ResNetV1,
    ResNetV2,
    SqueezeNet,
    one_of,
)

__all__ = ["AlexNet", "BasicBlockV1", "BasicBlockV2", "BottleneckV1", "BottleneckV2", "DenseNet", "Inception3",
           "LinearBottleneck", "MobileNet", "MobileNetV2", "RELU6", "ResNetV1", "ResNetV2", "SqueezeNet", "VGG",
           "alexnet", "get_densenet", "get_mobilenet", "get_mobilenet_v2", "get_model", "get_resnet", "get_squeezenet",
           "get_vgg", "inception_v3"]


def __dir__():
    return sorted(__all__)


# ---- by number, and by name

_RESNETS = {18: (False, [2, 2, 2, 2]), 34: (False, [3, 4, 6, 3]),           # with bottlenecks?, blocks
            50: (True, [3, 4, 6, 3]), 101: (True, [3, 4, 23, 3]), 152: (True, [3, 8, 36, 3])}
_RESNET_KINDS = {1: (ResNetV1, BasicBlockV1, BottleneckV1), 2: (ResNetV2, BasicBlockV2, BottleneckV2)}
_VGGS = {11: [1, 1, 2, 2, 2], 13: [2, 2, 2, 2, 2], 16: [2, 2, 3, 3, 3], 19: [2, 2, 4, 4, 4]}
_DENSENETS = {121: (64, 32, [6, 12, 24, 16]), 161: (96, 48, [6, 12, 36, 24]),
              169: (64, 32, [6, 12, 32, 32]), 201: (64, 32, [6, 12, 48, 32])}


WEIGHTS = """\
    pretrained : bool
        MXNet's; it must be False: dflow ships no weights.
    ctx, device : Device, optional
        MXNet's, where these would go; they change nothing. initialize() and load_parameters() have such arguments.
    root : str, optional
        MXNet's, where these would be kept; it changes nothing.
    **kwargs
"""


def _zoo(make):
    """With MXNet's arguments for weights: `pretrained`, where they go (ctx, device), where they are kept (root)."""
    @functools.wraps(make)
    def model(*args, pretrained=False, ctx=None, device=None, root=None, **kwargs):
        if pretrained:
            raise NotImplementedError("dflow ships no weights: leave out pretrained=True, and give the network those "
                                      "of a file by load_parameters()")
        return make(*args, **kwargs)

    model.__doc__ = (make.__doc__ or "").replace("    **kwargs\n", WEIGHTS)
    return model


@_zoo
def get_resnet(version, num_layers, **kwargs):
    """A ResNet by its version and number of layers.

    Parameters
    ----------
    version : int
        1 or 2.
    num_layers : int
        18, 34, 50, 101 or 152; from 50 on its blocks are bottlenecks.
    **kwargs
        `classes`, 1000 unless given, and `thumbnail`, for small images, as of ResNetV1.

    Returns
    -------
    ResNetV1 or ResNetV2
        Its parameters have no values before initialize() or load_parameters().

    Raises
    ------
    ValueError
        For another version or number.
    NotImplementedError
        For pretrained=True.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_resnet(2, 18, classes=10)
    >>> type(net).__name__, net.output
    ('ResNetV2', Dense(512 -> 10, linear))
    """
    network, basic, bottleneck = one_of(_RESNET_KINDS, version, "version")
    wide, layers = one_of(_RESNETS, num_layers, "num_layers")
    channels = [64, *(n * (4 if wide else 1) for n in (64, 128, 256, 512))]
    return network(bottleneck if wide else basic, layers, channels, **kwargs)


@_zoo
def get_vgg(num_layers, **kwargs):
    """A VGG by its number of layers.

    Parameters
    ----------
    num_layers : int
        11, 13, 16 or 19.
    **kwargs
        `classes`, 1000 unless given, and `batch_norm`, as of VGG.

    Returns
    -------
    VGG
        Its parameters have no values before initialize() or load_parameters().

    Raises
    ------
    ValueError
        For another number.
    NotImplementedError
        For pretrained=True.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_vgg(11, classes=10, batch_norm=True)
    >>> [type(layer).__name__ for layer in net.features[:3]]
    ['Conv2D', 'BatchNorm', 'Activation']
    """
    return VGG(one_of(_VGGS, num_layers, "num_layers"), [64, 128, 256, 512, 512], **kwargs)


@_zoo
def get_mobilenet(multiplier, **kwargs):
    """A MobileNet by the multiplier of its numbers of channels.

    Parameters
    ----------
    multiplier : float
        Of the numbers of channels: 1.0, 0.75, 0.5 and 0.25 are MXNet's.
    **kwargs
        `classes`, 1000 unless given.

    Returns
    -------
    MobileNet
        Its parameters have no values before initialize() or load_parameters().

    Raises
    ------
    NotImplementedError
        For pretrained=True.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_mobilenet(0.5, classes=10)
    >>> net.features[0]
    Conv2D(-1 -> 16, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
    """
    return MobileNet(multiplier, **kwargs)


@_zoo
def get_mobilenet_v2(multiplier, **kwargs):
    """A MobileNet of version 2 by the multiplier of its numbers of channels.

    Parameters
    ----------
    multiplier : float
        Of the numbers of channels: 1.0, 0.75, 0.5 and 0.25 are MXNet's.
    **kwargs
        `classes`, 1000 unless given.

    Returns
    -------
    MobileNetV2
        Its parameters have no values before initialize() or load_parameters().

    Raises
    ------
    NotImplementedError
        For pretrained=True.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_mobilenet_v2(0.5, classes=10)
    >>> net.features[0]
    Conv2D(-1 -> 16, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
    """
    return MobileNetV2(multiplier, **kwargs)


@_zoo
def get_squeezenet(version, **kwargs):
    """A SqueezeNet by its version.

    Parameters
    ----------
    version : str
        "1.0" or "1.1".
    **kwargs
        `classes`, 1000 unless given.

    Returns
    -------
    SqueezeNet
        Its parameters have no values before initialize() or load_parameters().

    Raises
    ------
    ValueError
        For another version.
    NotImplementedError
        For pretrained=True.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_squeezenet("1.0", classes=10)
    >>> net.features[0]
    Conv2D(-1 -> 96, kernel_size=(7, 7), stride=(2, 2))
    """
    return SqueezeNet(version, **kwargs)


@_zoo
def get_densenet(num_layers, **kwargs):
    """A DenseNet by its number of layers.

    Parameters
    ----------
    num_layers : int
        121, 161, 169 or 201.
    **kwargs
        `classes`, 1000 unless given, `bn_size` and `dropout`, as of DenseNet.

    Returns
    -------
    DenseNet
        Its parameters have no values before initialize() or load_parameters().

    Raises
    ------
    ValueError
        For another number.
    NotImplementedError
        For pretrained=True.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_densenet(121, classes=10)
    >>> net.features[0]
    Conv2D(-1 -> 64, kernel_size=(7, 7), stride=(2, 2), padding=(3, 3), bias=False)
    """
    return DenseNet(*one_of(_DENSENETS, num_layers, "num_layers"), **kwargs)


@_zoo
def alexnet(**kwargs):
    """An AlexNet.

    Parameters
    ----------
    **kwargs
        `classes`, 1000 unless given.

    Returns
    -------
    AlexNet
        Its parameters have no values before initialize() or load_parameters().

    Raises
    ------
    NotImplementedError
        For pretrained=True.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.alexnet(classes=10)
    >>> net.output
    Dense(-1 -> 10, linear)
    """
    return AlexNet(**kwargs)


@_zoo
def inception_v3(**kwargs):
    """An Inception network of version 3, for images of 299 by 299.

    Parameters
    ----------
    **kwargs
        `classes`, 1000 unless given.

    Returns
    -------
    Inception3
        Its parameters have no values before initialize() or load_parameters().

    Raises
    ------
    NotImplementedError
        For pretrained=True.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.inception_v3(classes=10)
    >>> net.output
    Dense(-1 -> 10, linear)
    """
    return Inception3(**kwargs)


_MODELS = {"alexnet": alexnet, "inceptionv3": inception_v3}      # by the names that get_model() takes


NAMED = """{name}: {make}({numbers}), the network for images of 224 by 224.

Parameters
----------
**kwargs
    Of {make}(): `classes`, 1000 unless given, and others.

Returns
-------
{kind}
    Its parameters have no values before initialize() or load_parameters().

Raises
------
NotImplementedError
    For pretrained=True: dflow ships no weights.

Examples
--------
>>> net = gluon.model_zoo.vision.{function}(classes=10)
>>> type(net).__name__, net.output{at}
({kind!r}, {shown})
"""


def _name(name, function, make, kind, *numbers, at="", shown="Dense(-1 -> 10, linear)", **options):
    """Make the function of a network, under a name of Python's; its class, and what an example shows."""
    def model(**kwargs):
        return make(*numbers, **options, **kwargs)

    model.__name__ = model.__qualname__ = function
    told = ", ".join([*map(repr, numbers), *(f"{key}={value}" for key, value in options.items())])
    model.__doc__ = NAMED.format(name=name, make=make.__name__, numbers=told, kind=kind, function=function, at=at,
                                 shown=shown)
    _MODELS[name] = globals()[function] = model
    __all__.append(function)


for _number, (_wide, _) in _RESNETS.items():
    for _version in _RESNET_KINDS:
        _name(f"resnet{_number}_v{_version}", f"resnet{_number}_v{_version}", get_resnet, f"ResNetV{_version}",
              _version, _number, shown=f"Dense({2048 if _wide else 512} -> 10, linear)")
for _number in _VGGS:
    _name(f"vgg{_number}", f"vgg{_number}", get_vgg, "VGG", _number)
    _name(f"vgg{_number}_bn", f"vgg{_number}_bn", get_vgg, "VGG", _number, batch_norm=True)
for _number in (1.0, 0.75, 0.5, 0.25):
    _text = str(_number).replace(".", "_")
    _name(f"mobilenet{_number}", f"mobilenet{_text}", get_mobilenet, "MobileNet", _number)
    _name(f"mobilenetv2_{_number}", f"mobilenet_v2_{_text}", get_mobilenet_v2, "MobileNetV2", _number, at="[0]",
          shown="Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1), bias=False)")
for _number in SQUEEZENETS:
    _name(f"squeezenet{_number}", f"squeezenet{_number}".replace(".", "_"), get_squeezenet, "SqueezeNet", _number,
          at="[0]", shown="Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1))")
for _number in _DENSENETS:
    _name(f"densenet{_number}", f"densenet{_number}", get_densenet, "DenseNet", _number)


def get_model(name, **kwargs):
    """A network by its name.

    Parameters
    ----------
    name : str
        As "resnet18_v1", "vgg16_bn" or "mobilenet1.0", in small letters or not: MXNet's names.
    **kwargs
        Of the function of that network: `classes`, 1000 unless given, and others.

    Returns
    -------
    HybridBlock
        Its parameters have no values before initialize() or load_parameters().

    Raises
    ------
    ValueError
        For another name; it lists them all.
    NotImplementedError
        For pretrained=True: dflow ships no weights.

    Examples
    --------
    >>> net = gluon.model_zoo.vision.get_model("resnet18_v1", classes=10)
    >>> net.output
    Dense(512 -> 10, linear)
    """
    if name.lower() not in _MODELS:
        raise ValueError(f"there is no model {name}; there are {', '.join(sorted(_MODELS))}")
    return _MODELS[name.lower()](**kwargs)
