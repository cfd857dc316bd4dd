"""gluon.model_zoo.vision: the networks' parameters as MXNet documents them, their outputs, other classifiers."""

import pickle

import numpy
import pytest

from dflow import autograd, gluon, npx
from dflow import numpy as np
from dflow.gluon import nn
from dflow.gluon.model_zoo import vision

pytestmark = pytest.mark.once

# Of 1,000 classes, running means and variances included; and the size of images that tells all shapes here.
COUNTS = {
    "resnet18_v1": (11_699_112, 32), "resnet34_v1": (21_814_696, 32), "resnet50_v1": (25_629_032, 32),
    "resnet101_v1": (44_695_144, 32), "resnet152_v1": (60_404_072, 32), "resnet18_v2": (11_695_796, 32),
    "resnet34_v2": (21_811_380, 32), "resnet50_v2": (25_595_060, 32), "resnet101_v2": (44_639_412, 32),
    "resnet152_v2": (60_329_140, 32), "mobilenet1.0": (4_253_864, 32), "mobilenet0.75": (2_601_976, 32),
    "mobilenet0.5": (1_342_536, 32), "mobilenet0.25": (475_544, 32), "mobilenetv2_1.0": (3_539_136, 32),
    "mobilenetv2_0.75": (2_653_864, 32), "mobilenetv2_0.5": (1_983_104, 32), "mobilenetv2_0.25": (1_526_856, 32),
    "squeezenet1.0": (1_248_424, 224), "squeezenet1.1": (1_235_496, 224), "alexnet": (61_100_840, 64),
    "vgg11": (132_863_336, 32), "vgg13": (133_047_848, 32), "vgg16": (138_357_544, 32), "vgg19": (143_667_240, 32),
    "vgg11_bn": (132_874_344, 32), "vgg13_bn": (133_059_624, 32), "vgg16_bn": (138_374_440, 32),
    "vgg19_bn": (143_689_256, 32), "densenet121": (8_062_504, 32), "densenet161": (28_900_936, 32),
    "densenet169": (14_307_880, 32), "densenet201": (20_242_984, 32),
    "inceptionv3": (23_869_000, 75)}


def made(name, size=32, initializer=None, **kwargs):
    """A network with values, and two images for it."""
    net = vision.get_model(name, **kwargs)
    net.initialize(initializer or "xavier")
    return net, np.array(numpy.random.default_rng(3).normal(size=(2, 3, size, size)).astype("float32"))


def count(net):
    return sum(p.data().size for p in net.collect_params().values())


@pytest.fixture(autouse=True)
def mxnet_types():
    npx.set_np()
    yield
    npx.reset_np()


def test_each_model_is_listed_here():
    assert set(COUNTS) == set(vision._MODELS)
    names = {name.replace("netv2", "net_v2").replace("nv3", "n_v3").replace(".", "_") for name in COUNTS}
    assert names <= set(vision.__all__) and all(getattr(vision, name).__name__ == name for name in names)


@pytest.mark.parametrize("name", [name for name in COUNTS if not name.startswith(("vgg", "alexnet", "dense", "incep"))])
def test_parameters(name):
    net, x = made(name, COUNTS[name][1], "zeros")
    assert net(x[:1]).shape == (1, 1000)
    assert count(net) == COUNTS[name][0]


@pytest.mark.parametrize("name", ["alexnet", *(name for name in COUNTS if name.startswith("vgg"))])
def test_parameters_of_wide_networks(name):
    """Without their dense layers, which hold nearly all: those are counted here."""
    net, x = made(name, COUNTS[name][1], "zeros")
    dense = [i for i, layer in enumerate(net.features) if isinstance(layer, nn.Dense)]
    convolved = net.features[:dense[0]]
    pixels = convolved(x[:1]).size * (36 if name == "alexnet" else 49)      # of 224 by 224
    assert [net.features[i].weight.shape[0] for i in dense] == [4096, 4096] and net.output.weight.shape[0] == 1000
    assert count(convolved) + (pixels + 1) * 4096 + 4097 * 4096 + 4097 * 1000 == COUNTS[name][0]


@pytest.mark.parametrize("name", [name for name in COUNTS if name.startswith(("dense", "incep"))])
def test_parameters_before_large_pools(name):
    net, x = made(name, COUNTS[name][1], "zeros")
    layers = net.features[:-2]                                              # a pool of 7 by 7, or 8 by 8, is the next
    channels = layers(x[:1]).shape[1]
    assert count(layers) + (channels + 1) * 1000 == COUNTS[name][0]


def test_documented_names_of_parameters():
    """Those of MXNet 2's files."""
    names = set(vision.resnet18_v1().collect_params())
    assert {"features.0.weight", "features.1.running_var", "features.4.0.body.0.weight", "features.4.1.body.4.gamma",
            "features.5.0.downsample.1.beta", "output.weight", "output.bias"} <= names
    names = set(vision.resnet50_v2().collect_params())
    assert {"features.0.gamma", "features.5.0.bn3.gamma", "features.5.0.conv3.weight", "features.6.0.downsample.weight",
            "features.9.beta"} <= names
    assert not any(name.startswith("features.5.0.conv") and name.endswith("bias") for name in names)
    assert "features.4.0.body.0.bias" in vision.resnet50_v1().collect_params()
    assert {"features.3.out.0.weight", "features.4.out.7.gamma"} < set(vision.mobilenet_v2_1_0().collect_params())
    names = set(vision.inception_v3().collect_params())
    assert {"features.0.0.weight", "features.7.1.1.0.weight", "features.16.1.0.0.0.weight",
            "features.16.2.1.1.0.1.gamma"} <= names


@pytest.mark.parametrize("name, kwargs", [
    ("resnet18_v1", {}), ("resnet18_v2", {}), ("resnet50_v1", {"thumbnail": True}), ("resnet50_v2", {}),
    ("mobilenet0.25", {}), ("mobilenetv2_0.25", {})])
def test_hybridized_networks_give_the_same(name, kwargs):
    net, x = made(name, classes=10, **kwargs)
    expected = net(x)
    net.hybridize()
    for _ in range(3):
        numpy.testing.assert_array_equal(net(x), expected)
    assert expected.shape == (2, 10) and expected.dtype == numpy.float32 and numpy.ptp(expected.asnumpy()) > 0


def test_blocks_add_their_input():
    x = np.array(numpy.random.default_rng(5).normal(size=(2, 4, 6, 6)).astype("float32"))
    for kind in (vision.BasicBlockV1, vision.BottleneckV1, vision.BasicBlockV2, vision.BottleneckV2):
        block = kind(4, 1, in_channels=4)
        block.initialize("zeros")
        plain = kind in (vision.BasicBlockV2, vision.BottleneckV2)
        numpy.testing.assert_array_equal(block(x), x if plain else np.maximum(x, 0))
        smaller = kind(8, 2, True, in_channels=4)
        smaller.initialize()
        assert smaller(x).shape == (2, 8, 3, 3)
    for stride, expected in ((1, x), (2, np.zeros((2, 4, 3, 3)))):
        bottleneck = vision.LinearBottleneck(4, 4, 6, stride)
        bottleneck.initialize("zeros")
        numpy.testing.assert_array_equal(bottleneck(x), expected)
    numpy.testing.assert_array_equal(vision.RELU6()(np.array([-1, 2, 7])), [0, 2, 6])


def test_another_classifier():
    """As fine tuning does: new layers behind the features; they train, before and after hybridize()."""
    net, x = made("resnet18_v2", classes=10)
    net(x)
    tail = nn.HybridSequential()
    tail.add(net.features[:-2], nn.Conv2D(5, 1))
    tail[1].initialize()
    assert tail(x).shape == (2, 5, 1, 1)
    net.hybridize()
    net(x)
    net.output = nn.Dense(2)
    net.output.initialize()
    assert net(x).shape == (2, 2) and net.collect_params()["output.weight"].shape == (2, 512)
    trainer = gluon.Trainer(net.output.collect_params(), "sgd", {"learning_rate": 0.1})
    losses = []
    for _ in range(4):
        with autograd.record():
            loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), np.array([0, 1]))
        loss.backward()
        trainer.step(2)
        losses.append(float(loss.sum()))
    assert losses[-1] < losses[0]


def test_files_and_pickles(tmp_path):
    net, x = made("mobilenetv2_0.25", classes=10)
    expected = net(x)
    net.save_parameters(str(tmp_path / "weights"))
    other = vision.mobilenet_v2_0_25(classes=10)
    other.load_parameters(str(tmp_path / "weights"))
    numpy.testing.assert_array_equal(other(x), expected)
    numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(net))(x), expected)


def test_refusals():
    for make in (vision.resnet18_v2, vision.alexnet, lambda **kwargs: vision.get_model("VGG11", **kwargs)):
        with pytest.raises(NotImplementedError, match=r"ships no weights.*load_parameters\(\)"):
            make(pretrained=True)
    assert isinstance(vision.get_resnet(2, 18, pretrained=False, ctx=npx.cpu(), root="here"), vision.ResNetV2)
    with pytest.raises(ValueError, match="no model resnet19.*resnet18_v1"):
        vision.get_model("resnet19")
    with pytest.raises(ValueError, match="num_layers must be one of 18, 34, 50, 101, 152, not 19"):
        vision.get_resnet(1, 19)
    with pytest.raises(ValueError, match="version must be one of 1, 2, not 3"):
        vision.get_resnet(3, 18)
    with pytest.raises(ValueError, match="version must be one of 1.0, 1.1"):
        vision.SqueezeNet("1.2")
