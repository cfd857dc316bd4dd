"""image: files, sizes and parts of images, against arrays made here; Pillow writes the files."""

import io
import math
import subprocess
import sys

import numpy
import pytest

import dflow
from dflow import autograd, image, nd, npx
from dflow import numpy as np
from dflow.gluon.data import vision
from dflow.gluon.data.vision import transforms

pytestmark = pytest.mark.once

RNG = numpy.random.default_rng(11)
IMAGE = RNG.integers(0, 256, (20, 30, 3), numpy.uint8)
GREY = RNG.integers(0, 256, (4, 6), numpy.uint8)


@pytest.fixture
def pillow():
    return pytest.importorskip("PIL.Image", reason="image files are read by Pillow: pip install dflow[image]")


def png(pillow, pixels, **kwargs):
    file = io.BytesIO()
    pillow.fromarray(pixels).save(file, "PNG", **kwargs)
    return file.getvalue()


# ---- files


def test_files(pillow, tmp_path):
    path = tmp_path / "some.png"
    path.write_bytes(png(pillow, IMAGE))
    for name in (path, str(path)):
        found = image.imread(name)
        assert type(found) is dflow.ndarray and found.dtype == numpy.uint8
        numpy.testing.assert_array_equal(found, IMAGE)
    numpy.testing.assert_array_equal(image.imread(path, to_rgb=False), IMAGE[..., ::-1])
    grey = image.imread(path, flag=0)
    assert grey.shape == (20, 30, 1)
    numpy.testing.assert_allclose(grey[..., 0], IMAGE @ [0.299, 0.587, 0.114], atol=1)
    out = np.zeros(IMAGE.shape)
    assert image.imread(path, out=out) is out
    numpy.testing.assert_array_equal(out, IMAGE)
    with pytest.raises(FileNotFoundError):
        image.imread(tmp_path / "other.png")


def test_bytes(pillow):
    data = png(pillow, IMAGE)
    pixels = numpy.frombuffer(data, numpy.uint8)
    for buffer in (data, bytearray(data), memoryview(data), pixels, np.array(pixels)):
        numpy.testing.assert_array_equal(image.imdecode(buffer), IMAGE)
    numpy.testing.assert_array_equal(image.imdecode(png(pillow, GREY)), numpy.repeat(GREY[..., None], 3, axis=2))
    numpy.testing.assert_array_equal(image.imdecode(png(pillow, GREY), flag=0), GREY[..., None])
    with pytest.raises(OSError, match="cannot identify image file"):
        image.imdecode(b"no image")
    with pytest.raises(TypeError, match="bytes-like"):
        image.imdecode("some.png")


def test_photographs_stand_upright(pillow, tmp_path):
    """As the camera's mark says, a quarter turn to the right here; data sets of folders read them so, too."""
    marks = pillow.Exif()
    marks[0x0112] = 6
    data = png(pillow, IMAGE, exif=marks)
    upright = numpy.rot90(IMAGE, -1)
    numpy.testing.assert_array_equal(image.imdecode(data), upright)
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.png").write_bytes(data)
    numpy.testing.assert_array_equal(vision.ImageFolderDataset(tmp_path)[0][0], upright)


def test_without_pillow():
    code = "import sys; sys.modules['PIL'] = None\nfrom dflow import image; image.imread('some.png')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: images are read with Pillow, which is not installed: pip install dflow[image]" in result.stderr


def test_names():
    assert dflow.image is image and dflow.img is image
    with pytest.raises(AttributeError, match="'dflow.image' has no attribute 'ImageIter': MXNet has it"):
        image.ImageIter  # noqa: B018


# ---- sizes


def test_areas():
    x = IMAGE.astype("float32")
    blocks = x.reshape(5, 4, 10, 3, 3).mean(axis=(1, 3))
    numpy.testing.assert_allclose(image.imresize(x, 10, 5, 2), blocks, rtol=1e-5)
    numpy.testing.assert_array_equal(image.imresize(IMAGE, 60, 40, 2), IMAGE.repeat(2, axis=0).repeat(2, axis=1))
    row = numpy.array([3.0, 6, 12, 24, 0], numpy.float32).reshape(1, 5, 1)
    found = image.imresize(row, 2, 1, 2)            # each of two and a half
    numpy.testing.assert_allclose(found.ravel(), [(3 + 6 + 12 / 2) / 2.5, (12 / 2 + 24) / 2.5], rtol=1e-6)


def lanczos(place):
    """The weights of the eight pixels around a place in the first after the fourth, by the formula."""
    window = [16 * math.sin(math.pi * d) * math.sin(math.pi * d / 4) / (2 * math.pi * d) ** 2
              for d in (place + 3 - i for i in range(8))]
    return [w / sum(window) for w in window]


@pytest.mark.parametrize("interp, weights", [
    (1, [0.75, 0.25]), (3, [-0.10546875, 0.87890625, 0.26171875, -0.03515625]), (4, lanczos(0.25))])
def test_what_pixels_weigh(interp, weights):
    """In one of twice as many, a quarter behind the centre of another: as OpenCV has it."""
    row = numpy.zeros((1, 21, 1), numpy.float32)
    row[0, 10] = 1
    first = 10 - len(weights) // 2                  # where the weights' row ends with the pixel that is 1
    found = image.imresize(row, 42, 1, interp).asnumpy()[0, :, 0]
    places = [2 * (first + i) + 1 for i in range(len(weights))]
    numpy.testing.assert_allclose(found[places], weights[::-1], atol=1e-6)
    flat = numpy.full((7, 9, 3), 77, numpy.uint8)
    assert (image.imresize(flat, 5, 13, interp).asnumpy() == 77).all()


def test_interpolations():
    larger, smaller, mixed = (60, 40), (15, 10), (60, 10)
    for size, same in ((larger, 3), (smaller, 2), (mixed, 1)):
        numpy.testing.assert_array_equal(image.imresize(IMAGE, *size, 9), image.imresize(IMAGE, *size, same))
    np.random.seed(1)
    some = {image.imresize(IMAGE, 50, 50, 10).asnumpy().tobytes() for _ in range(60)}
    assert some == {image.imresize(IMAGE, 50, 50, i).asnumpy().tobytes() for i in range(5)}
    with pytest.raises(ValueError, match="interpolation must be 0"):
        image.imresize(IMAGE, 10, 10, interp=7)


def test_short_edges():
    assert image.resize_short(IMAGE, 10).shape == (10, 15, 3)
    assert image.resize_short(np.array(IMAGE).swapaxes(0, 1), 10).shape == (15, 10, 3)
    numpy.testing.assert_array_equal(image.resize_short(IMAGE, 10), image.imresize(IMAGE, 15, 10, 2))


# ---- parts


def test_fixed_parts():
    whole = np.array(IMAGE)
    part = image.fixed_crop(whole, 3, 5, 10, 7)
    numpy.testing.assert_array_equal(part, IMAGE[5:12, 3:13])
    part[...] = 0                                   # a copy
    numpy.testing.assert_array_equal(whole, IMAGE)
    resized = image.fixed_crop(whole, 3, 5, 10, 8, (5, 4))
    numpy.testing.assert_array_equal(resized, image.imresize(IMAGE[5:13, 3:13], 5, 4, 2))
    with pytest.raises(ValueError, match="no part of 10 by 7 at"):
        image.fixed_crop(whole, 25, 5, 10, 7)


def test_the_middle():
    part, box = image.center_crop(IMAGE, (10, 8))
    assert box == (10, 6, 10, 8)
    numpy.testing.assert_array_equal(part, IMAGE[6:14, 10:20])
    part, box = image.center_crop(IMAGE, (40, 40))
    assert part.shape == (40, 40, 3) and box == (5, 0, 20, 20)
    assert image.image.scale_down is image.scale_down
    assert image.scale_down((640, 480), (720, 120)) == (640, 106) and image.scale_down((300, 400), (0, 0)) == (0, 0)


def test_random_parts():
    np.random.seed(5)
    found = [image.random_crop(IMAGE, (27, 18)) for _ in range(100)]
    for part, (x, y, w, h) in found:
        numpy.testing.assert_array_equal(part, IMAGE[y:y + h, x:x + w])
    assert {box for _, box in found} == {(x, y, 27, 18) for x in range(4) for y in range(3)}
    for _ in range(20):
        part, (x, y, w, h) = image.random_size_crop(IMAGE, (8, 8), (0.2, 0.5), (0.5, 2))
        assert part.shape == (8, 8, 3) and 0 <= x <= x + w <= 30 and 0 <= y <= y + h <= 20
        assert 0.15 * 600 < w * h < 0.55 * 600 and 0.4 < w / h < 2.5
    part, box = image.random_size_crop(IMAGE, (20, 20), 1.0, (9, 9))
    assert box == (5, 0, 20, 20)


def test_colours():
    mean, std = numpy.array([1, 2, 3]), numpy.array([2.0, 4, 8])
    x = np.array(IMAGE)
    found = image.color_normalize(x, np.array(mean), np.array(std))
    assert found.dtype == numpy.float32
    numpy.testing.assert_allclose(found, (IMAGE - mean) / std, rtol=1e-6)
    numpy.testing.assert_array_equal(image.color_normalize(x, None, [1, 2, 4]), IMAGE / numpy.array([1, 2, 4]))
    numpy.testing.assert_array_equal(x, IMAGE)


# ---- augmenters


def test_augmenters_of_sizes_and_places():
    np.random.seed(3)
    x = np.array(IMAGE)
    for augmenter, expected in (
            (image.ResizeAug(10), image.resize_short(x, 10)),
            (image.ForceResizeAug((7, 5), 1), image.imresize(x, 7, 5)),
            (image.CenterCropAug((8, 6)), IMAGE[7:13, 11:19]), (image.RandomCropAug((30, 20)), IMAGE),
            (image.RandomSizedCropAug((20, 20), 1.0, (9, 9)), IMAGE[:, 5:25]),
            (image.HorizontalFlipAug(1), IMAGE[:, ::-1]), (image.HorizontalFlipAug(0), IMAGE)):
        numpy.testing.assert_array_equal(augmenter(x), expected)
    assert {image.HorizontalFlipAug(0.5)(x)[0, 0, 0].item() for _ in range(20)} == {IMAGE[0, 0, 0], IMAGE[0, -1, 0]}
    assert image.CastAug()(x).dtype == numpy.float32


def drawn(draw, augmenter, x):
    """What an augmenter makes of an image, and what it has drawn."""
    np.random.seed(3)
    found = augmenter(x).asnumpy()
    np.random.seed(3)
    return found, draw()


def test_augmenters_of_colours():
    x = np.array(IMAGE, np.float32)
    grey = IMAGE @ [0.299, 0.587, 0.114]
    for kind, expected in (
            (image.BrightnessJitterAug, lambda a: a * IMAGE),
            (image.ContrastJitterAug, lambda a: a * IMAGE + (1 - a) * grey.mean()),
            (image.SaturationJitterAug, lambda a: a * IMAGE + (1 - a) * grey[..., None])):
        found, a = drawn(lambda: 1 + float(np.random.uniform(-0.4, 0.4)), kind(0.4), x)
        numpy.testing.assert_allclose(found, expected(a), 1e-4, 1e-3)
    found, a = drawn(lambda: math.pi * float(np.random.uniform(-0.4, 0.4)), image.HueJitterAug(0.4), x)
    y, i, q = image.YIQ @ IMAGE.reshape(-1, 3).T
    turned = (i + 1j * q) * numpy.exp(1j * a)
    numpy.testing.assert_allclose(found.reshape(-1, 3).T, image.RGB @ [y, turned.real, turned.imag], 1e-4, 1e-3)
    numpy.testing.assert_array_equal(image.RandomGrayAug(0)(x), IMAGE)
    numpy.testing.assert_allclose(image.RandomGrayAug(1)(x), (IMAGE @ [0.21, 0.72, 0.07])[..., None].repeat(3, 2), 1e-5)
    values, vectors = numpy.array([3.0, 2, 1]), numpy.array([[1, 0, 0], [0, 0, 1], [0, 1, 1]])
    found, a = drawn(lambda: np.random.normal(0, 0.5, 3).asnumpy(), image.LightingAug(0.5, values, vectors), x)
    numpy.testing.assert_allclose(found, IMAGE + vectors @ (a * values), 1e-4)


def test_lists_of_augmenters():
    def kinds(**kwargs):
        return [type(a).__name__.removesuffix("Aug") for a in image.CreateAugmenter((3, 8, 6), **kwargs)]

    assert kinds() == ["CenterCrop", "Cast"]
    assert kinds(resize=9, rand_crop=True, rand_mirror=True, std=True) == [
        "Resize", "RandomCrop", "HorizontalFlip", "Cast", "ColorNormalize"]
    assert kinds(rand_crop=True, rand_resize=True, contrast=1, hue=0.1, pca_noise=0.1, rand_gray=0.5, mean=True) == [
        "RandomSizedCrop", "Cast", "ColorJitter", "HueJitter", "Lighting", "RandomGray", "ColorNormalize"]
    with pytest.raises(ValueError, match="rand_resize needs rand_crop"):
        kinds(rand_resize=True)
    augment = image.SequentialAug(image.CreateAugmenter((3, 8, 6), 10, mean=numpy.array([1.0, 2, 3]), std=True))
    middle = image.center_crop(image.resize_short(IMAGE, 10), (6, 8))[0].asnumpy()
    numpy.testing.assert_allclose(augment(np.array(IMAGE)), (middle - [1.0, 2, 3]) / [58.395, 57.12, 57.375], 1e-5)
    name, parts = augment.dumps()
    assert name == "sequentialaug" and parts[0] == '["resizeaug", {"size": 10, "interp": 2}]'
    assert parts[3].startswith('["colornormalizeaug", {"mean": [1.0, 2.0, 3.0]')
    assert [a.dumps() for a in image.ColorJitterAug(0.1, 0, 0.2).ts] == [
        '["brightnessjitteraug", {"brightness": 0.1}]', '["saturationjitteraug", {"saturation": 0.2}]']
    marks = [image.CastAug(kind) for kind in ("float16", "float32", "float64")]
    assert len({image.RandomOrderAug(marks)(np.array(IMAGE)).dtype for _ in range(40)}) == 3
    with pytest.raises(NotImplementedError, match="Augmenter needs"):
        image.Augmenter()(IMAGE)


# ---- npx.image


@pytest.mark.parametrize("call, transform", [
    ("random_brightness(x, 0.6, 1.4)", "RandomBrightness(0.4)"),
    ("random_color_jitter(x, 0.1, 0.2, 0.3, 0.4)", "RandomColorJitter(0.1, 0.2, 0.3, 0.4)"),
    ("random_contrast(x, 0, 3)", "RandomContrast(2)"),
    ("random_crop(x, width=7, height=9)", "RandomCrop((7, 9))"),
    ("random_crop(x, (0.5, 0.5), (0.5, 0.5), 7, 9)", "CenterCrop((7, 9))"),
    ("random_crop(x, (0, 1), (0, 1), 50, 10, 3)", "RandomCrop((50, 10), interpolation=3)"),
    ("random_flip_left_right(x, p=0.3)", "RandomFlipLeftRight(0.3)"),
    ("random_flip_top_bottom(x)", "RandomFlipTopBottom()"),
    ("random_hue(x, 0.9, 1.1)", "RandomHue(0.1)"),
    ("random_lighting(x, 0.2)", "RandomLighting(0.2)"),
    ("random_resized_crop(x, 7, 9, area=(0.2, 0.5), ratio=(1, 2))", "RandomResizedCrop((7, 9), (0.2, 0.5), (1, 2))"),
    ("random_saturation(x, 0.5, 1.5)", "RandomSaturation(0.5)"),
    ("resize(x, 10, True, 2)", "Resize(10, True, 2)"),
    ("resize(x, (10, 25))", "Resize((10, 25))"),
    ("to_tensor(x)", "ToTensor()"),
])
def test_functions_are_what_transforms_do(call, transform):
    found = []
    for text in (f"npx.image.{call}", f"nd.image.{call}", f"transforms.{transform}(x)"):
        np.random.seed(3)
        found.append(eval(text, {"npx": npx, "nd": nd, "transforms": transforms, "x": np.array(IMAGE)}))
    assert found[0].dtype == (numpy.float32 if call.startswith("to") else numpy.uint8)
    assert all(x.dtype == found[0].dtype and (x == found[0]).all() for x in found[1:])


def test_functions_without_chance():
    x = np.array(IMAGE)
    for axis, flip in enumerate((npx.image.flip_top_bottom, npx.image.flip_left_right)):
        numpy.testing.assert_array_equal(flip(x), numpy.flip(IMAGE, axis))
        numpy.testing.assert_array_equal(flip(np.stack([x, x]))[1], numpy.flip(IMAGE, axis))
    numpy.testing.assert_array_equal(npx.image.crop(x, 3, 5, 10, 7), IMAGE[5:12, 3:13])
    tensor = npx.image.to_tensor(x)
    expected = (tensor.asnumpy() - numpy.float32(0.5)) / numpy.float32([1, 2, 3])[:, None, None]
    numpy.testing.assert_array_equal(npx.image.normalize(tensor, 0.5, (1, 2, 3)), expected)
    components = numpy.array([55.46, 4.794, 1.148]) * [0.1, -0.2, 0.3]
    directions = numpy.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
    found = npx.image.adjust_lighting(x.astype("float32"), (0.1, -0.2, 0.3))
    numpy.testing.assert_allclose(found, IMAGE + directions @ components, rtol=1e-5, atol=1e-4)
    numpy.testing.assert_array_equal(npx.image.adjust_lighting(x[..., :1], (1, 2, 3)), IMAGE[..., :1])


def test_where_a_part_may_begin():
    """Within the shares that are given of the room that it leaves, both ends of it."""
    row = np.arange(21, dtype=numpy.uint8).reshape(1, 21, 1)
    places = {npx.image.random_crop(row, (0.25, 0.5), (0, 1), 9, 1)[0, 0, 0].item() for _ in range(100)}
    assert places == set(range(3, 7))


@pytest.mark.parametrize("call, message", [
    ("to_tensor(x[0])", "3 axes"),
    ("flip_left_right(x[0])", "3 axes"),
    ("random_hue(x[..., :2], 1, 1)", "channels"),
    ("adjust_lighting(x[..., :2], (1, 1, 1))", "channels"),
    ("random_crop(x)", "positive"),
    ("crop(x, 25, 5, 10, 7)", "no part"),
    ("resize(x, 10, interp=7)", "nearest"),
])
def test_bad_arguments_of_functions(call, message):
    with pytest.raises(ValueError, match=message):
        eval(f"npx.image.{call}", {"npx": npx, "x": np.array(IMAGE)})


def test_gradients_of_images():
    x = np.array(IMAGE, dtype="float32")
    x.attach_grad()
    with autograd.record():
        y = (npx.image.crop(npx.image.flip_left_right(x), 2, 3, 4, 5) * 2).sum()
    y.backward()
    expected = numpy.zeros(IMAGE.shape)
    expected[3:8, 24:28] = 2
    numpy.testing.assert_array_equal(x.grad, expected)
