"""Images, as mxnet.image: files, sizes, parts, augmenters. Pillow reads the files: `pip install dflow[image]`.

An image is an array of shape (height, width, channels), as of npx.image; it is read as uint8, red
before green before blue. What is random draws from np.random, in a DataLoader from its batch's stream. `interp` is a
number of OpenCV's: 0 nearest, 1 bilinear, 2 area, 3 cubic, 4 Lanczos; 9 is cubic where an image becomes larger and area
where it becomes smaller, 10 any of them.
"""

import io
import json
import math
import sys

import numpy

import dflow.numpy as np
from dflow._base.missing import missing
from dflow.gluon.data.vision import _pillow
from dflow.gluon.data.vision.transforms import random_rotate, rotate
from dflow.npx import _draws
from dflow.npx import image as npx_image
from dflow.npx.image import ANYWHERE, MIDDLE, as_image, crop, factors, part, random_part, resize, scale_down

__all__ = ["Augmenter", "BrightnessJitterAug", "CastAug", "CenterCropAug", "ColorJitterAug", "ColorNormalizeAug",
           "ContrastJitterAug", "CreateAugmenter", "ForceResizeAug", "HorizontalFlipAug", "HueJitterAug", "LightingAug",
           "RandomCropAug", "RandomGrayAug", "RandomOrderAug", "RandomSizedCropAug", "ResizeAug", "SaturationJitterAug",
           "SequentialAug", "center_crop", "color_normalize", "fixed_crop", "imdecode", "imread", "imresize",
           "imrotate", "random_crop", "random_rotate", "random_size_crop", "resize_short", "scale_down"]

__getattr__ = missing(__name__, """CreateDetAugmenter CreateMultiRandCropAugmenter DetAugmenter DetBorrowAug
    DetHorizontalFlipAug DetRandomCropAug DetRandomPadAug DetRandomSelectAug ImageDetIter ImageIter copyMakeBorder""")


def __dir__():
    return sorted(__all__)


image = sys.modules[__name__]               # MXNet's package has a module of this name


# ---- files


def imread(filename, flag=1, to_rgb=True, out=None):
    """The image in a file; flag=0: grey, of one channel. to_rgb=False: blue before green before red."""
    return _stored(_pillow.read(filename, flag), to_rgb, out)


def imdecode(buf, flag=1, to_rgb=True, out=None):
    """The image in a file's bytes, or in an array of them: see imread()."""
    return _stored(_pillow.read(io.BytesIO(buf), flag), to_rgb, out)


def _stored(x, to_rgb, out):
    x = x if to_rgb else x[..., ::-1]
    if out is None:
        return x
    out[...] = x
    return out


# ---- sizes


def _method(interp, old, new):
    """The number from 0 to 4 that stands for `interp`, from one (width, height) to another."""
    if interp == 9:
        (w, h), (width, height) = old, new
        return 3 if width > w and height > h else 2 if width < w and height < h else 1
    return int(_draws.uniform(0, 5)) if interp == 10 else interp


def imresize(src, w, h, interp=1):
    """The image as one of width w and height h."""
    src = np.asarray(src)
    return resize(src, (w, h), interp=_method(interp, src.shape[-2:-4:-1], (w, h)))


def resize_short(src, size, interp=2):
    """The image with a shorter edge of `size`, in its proportions."""
    h, w = src.shape[-3:-1]
    return imresize(src, size * w // min(w, h), size * h // min(w, h), interp)


# ---- parts


def fixed_crop(src, x0, y0, w, h, size=None, interp=2):
    """The part from (x0, y0) on, of width w and height h, a copy; resized, if size, (width, height), is given."""
    found = crop(np.asarray(src), x0, y0, w, h)
    return found.copy() if size is None or tuple(size) == (w, h) else imresize(found, *size, interp)


def _cropped(src, box, size, interp):
    return fixed_crop(src, *box, size, interp), box


def center_crop(src, size, interp=2):
    """The middle, of size (width, height), and where it is: (x0, y0, width, height). A smaller image is enlarged."""
    return _cropped(src, part(as_image(src), size, MIDDLE, MIDDLE), size, interp)


def random_crop(src, size, interp=2):
    """A part of that size, anywhere, and where it is: see center_crop()."""
    return _cropped(src, part(as_image(src), size, ANYWHERE, ANYWHERE), size, interp)


def random_size_crop(src, size, area, ratio, interp=2):
    """A part of random area and proportions, resized, and where it is; the middle, where ten of them do not fit.

    area: its share of the image's, the least (up to all of it) or (least, greatest). ratio: of its width to its
    height, (least, greatest).
    """
    area = (area, 1.0) if isinstance(area, (int, float)) else area
    return _cropped(src, random_part(as_image(src), size, area, ratio), size, interp)


imrotate = rotate           # of tensors, whose channels are before height and width


def color_normalize(src, mean, std=None):
    """(src - mean) / std, each a number, one for each channel, or None; a new array, of floats."""
    if mean is not None:
        src = src - np.asarray(mean, np.float32)
    return src if std is None else src / np.asarray(std, np.float32)


# ---- augmenters


class Augmenter:
    """Base class: aug(image) is another image. What __init__() is given by name are attributes, which dumps() tells."""

    def __init__(self, **kwargs):
        self._kwargs = {name: np.asarray(x).tolist() if hasattr(x, "tolist") else x
                        for name, x in kwargs.items()}
        vars(self).update(kwargs)

    def dumps(self):
        """Name and arguments, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src):
        raise NotImplementedError(f"{type(self).__name__} needs a __call__()")


class SequentialAug(Augmenter):
    """Augmenters, one after the other."""

    def __init__(self, ts):
        super().__init__()
        self.ts = ts

    def dumps(self):
        """The name, and a list of what the augmenters tell."""
        return [type(self).__name__.lower(), [t.dumps() for t in self.ts]]

    def _order(self):
        return self.ts

    def __call__(self, src):
        for t in self._order():
            src = t(src)
        return src


class RandomOrderAug(SequentialAug):
    """Augmenters, one after the other, in random order."""

    def _order(self):
        return [self.ts[i] for i in _draws.stream().permutation(len(self.ts)).tolist()]


class _Sized(Augmenter):
    def __init__(self, size, interp=2):
        super().__init__(size=size, interp=interp)


class ResizeAug(_Sized):
    """resize_short(): the shorter edge becomes `size`."""

    def __call__(self, src):
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(_Sized):
    """imresize(): the size becomes (width, height), whatever the proportions were."""

    def __call__(self, src):
        return imresize(src, *self.size, self.interp)


class CenterCropAug(_Sized):
    """center_crop(), of size (width, height)."""

    def __call__(self, src):
        return center_crop(src, self.size, self.interp)[0]


class RandomCropAug(_Sized):
    """random_crop(), of size (width, height)."""

    def __call__(self, src):
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """random_size_crop(), of size (width, height)."""

    def __init__(self, size, area, ratio, interp=2):
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)

    def __call__(self, src):
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """Left and right exchanged, with probability p."""

    def __init__(self, p):
        super().__init__(p=p)

    def __call__(self, src):
        return npx_image.random_flip_left_right(src, self.p)


class CastAug(Augmenter):
    """Another type."""

    def __init__(self, typ="float32"):
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src):
        return src.astype(self.typ)


class BrightnessJitterAug(Augmenter):
    """npx.image.random_brightness(): a factor from [1 - brightness, 1 + brightness]."""

    def __init__(self, brightness):
        super().__init__(brightness=brightness)

    def __call__(self, src):
        return npx_image.random_brightness(src, *factors(self.brightness))


class ContrastJitterAug(Augmenter):
    """npx.image.random_contrast(): a factor from [1 - contrast, 1 + contrast]."""

    def __init__(self, contrast):
        super().__init__(contrast=contrast)

    def __call__(self, src):
        return npx_image.random_contrast(src, *factors(self.contrast))


class SaturationJitterAug(Augmenter):
    """npx.image.random_saturation(): a factor from [1 - saturation, 1 + saturation]."""

    def __init__(self, saturation):
        super().__init__(saturation=saturation)

    def __call__(self, src):
        return npx_image.random_saturation(src, *factors(self.saturation))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation changed as by their augmenters, in random order; 0: not at all."""

    def __init__(self, brightness, contrast, saturation):
        kinds = {BrightnessJitterAug: brightness, ContrastJitterAug: contrast, SaturationJitterAug: saturation}
        super().__init__([kind(strength) for kind, strength in kinds.items() if strength > 0])


def _times(src, matrix):
    """Each pixel's colour times a matrix, of floats."""
    return np.asarray(src) @ numpy.asarray(matrix, numpy.float32)


# Colours as brightness and a plane of hues (NTSC), by rows; and back.
YIQ = numpy.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
RGB = numpy.array([[1, 0.956, 0.621], [1, -0.272, -0.647], [1, -1.107, 1.705]])


class HueJitterAug(Augmenter):
    """Hues turned by up to `hue` of half the circle, either way, in the plane of the NTSC's colours."""

    def __init__(self, hue):
        super().__init__(hue=hue)

    def __call__(self, src):
        angle = math.pi * _draws.uniform(-self.hue, self.hue)
        cos, sin = math.cos(angle), math.sin(angle)
        return _times(src, (RGB @ [[1, 0, 0], [0, cos, -sin], [0, sin, cos]] @ YIQ).T)


class LightingAug(Augmenter):
    """Noise along principal components of colours (eigvec, by columns), eigval large, of deviation alphastd."""

    def __init__(self, alphastd, eigval, eigvec):
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)

    def __call__(self, src):
        noise = _draws.stream().normal(0, self.alphastd, 3) * np.asarray(self.eigval)
        return src + (np.asarray(self.eigvec) @ noise).astype(np.float32)


class ColorNormalizeAug(Augmenter):
    """color_normalize(): (src - mean) / std."""

    def __init__(self, mean, std):
        super().__init__(mean=mean, std=std)

    def __call__(self, src):
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """All channels as their brightness, with probability p."""

    def __init__(self, p):
        super().__init__(p=p)

    def __call__(self, src):
        return _times(src, numpy.repeat([[0.21], [0.72], [0.07]], 3, axis=1)) if _draws.uniform() < self.p else src


def CreateAugmenter(data_shape, resize=0, rand_crop=False, rand_resize=False, rand_mirror=False, mean=None, std=None,
                    brightness=0, contrast=0, saturation=0, hue=0, pca_noise=0, rand_gray=0, inter_method=2):
    """A list of augmenters, for images of data_shape, (channels, height, width); what is 0, False or None has none.

    resize: the shorter edge, at first. rand_crop: a part anywhere, not the middle; rand_resize: of random area and
    proportions. mean, std: of each channel, or True for ImageNet's.
    """
    size = data_shape[2], data_shape[1]
    if rand_resize and not rand_crop:
        raise ValueError("rand_resize needs rand_crop")
    found = [ResizeAug(resize, inter_method)] if resize > 0 else []
    found.append(RandomSizedCropAug(size, 0.08, (3 / 4, 4 / 3), inter_method) if rand_resize
                 else (RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        found.append(HorizontalFlipAug(0.5))
    found.append(CastAug())
    if brightness or contrast or saturation:
        found.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        found.append(HueJitterAug(hue))
    if pca_noise > 0:
        found.append(LightingAug(pca_noise, numpy.ones(3), npx_image.COLOURS))
    if rand_gray > 0:
        found.append(RandomGrayAug(rand_gray))
    mean = numpy.array([123.68, 116.28, 103.53]) if mean is True else mean
    std = numpy.array([58.395, 57.12, 57.375]) if std is True else std
    return found if mean is None and std is None else [*found, ColorNormalizeAug(mean, std)]
