"""Transforms of images, as mxnet.gluon.data.vision.transforms: what dflow/npx/image.py computes, its arguments kept.

One number as a size stands for width and height.

A transform takes further arguments, labels mostly, and returns them as they are: it can be given to
`Dataset.transform` as well as to `transform_first`.
"""

import math

import numpy

import dflow.numpy as np
from dflow.gluon.data.dataset import takes_batches
from dflow.npx import _draws, image
from dflow.ops.regions import sampled

__all__ = ["Cast", "CenterCrop", "Compose", "CropResize", "HybridCompose", "HybridRandomApply", "Normalize",
           "RandomBrightness", "RandomColorJitter", "RandomContrast", "RandomCrop", "RandomFlipLeftRight",
           "RandomFlipTopBottom", "RandomGray", "RandomHue", "RandomLighting",
           "RandomResizedCrop", "RandomRotation", "RandomSaturation", "RandomApply", "Resize", "Rotate", "ToTensor"]


def __dir__():
    return sorted(__all__)


GREY = numpy.array([0.2989, 0.5870, 0.1140], numpy.float32)         # RandomGray's: a white pixel becomes 0.9999


class Transform:
    """Base class: forward(image) gives the image transformed."""

    def __call__(self, x, *args):
        x = self.forward(np.asarray(x))
        return (x, *args) if args else x

    def forward(self, x):
        raise NotImplementedError

    def hybridize(self, active=True, **options):
        """Nothing, as in MXNet's programs, whose transforms are blocks: random ones are not to be noted."""


class Compose(Transform):
    """Transforms, or other functions, one after the other; what one returns, a tuple or not, goes to the next."""

    def __init__(self, transforms):
        self._transforms = list(transforms)

    def __len__(self):
        return len(self._transforms)

    def __getitem__(self, key):
        return self._transforms[key]

    def __call__(self, *sample):
        for transform in self._transforms:
            result = transform(*sample)
            sample = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        return sample if len(sample) > 1 else sample[0]

    def of_batches(self):
        return all(map(takes_batches, self._transforms))


class RandomApply(Transform):
    """A transform, or a list of them, with probability p."""

    def __init__(self, transforms, p=0.5):
        self._transform = Compose(transforms) if isinstance(transforms, (list, tuple)) else transforms
        self.p = p

    def forward(self, x):
        return self._transform(x) if _draws.uniform() < self.p else x


HybridCompose, HybridRandomApply = Compose, RandomApply


class Cast(Transform):
    """All arguments as another dtype."""

    def __init__(self, dtype="float32"):
        self._dtype = dtype

    def __call__(self, *args):
        cast = tuple(np.asarray(x).astype(self._dtype) for x in args)
        return cast if len(cast) > 1 else cast[0]

    def of_batches(self):
        return True


class ToTensor(Transform):
    """From (height, width, channels) in [0, 255] to float32 of shape (channels, height, width) in [0, 1]."""

    def forward(self, x):
        return image.to_tensor(x)

    def of_batches(self):
        return True


class Normalize(Transform):
    """(x - mean) / std, numbers or one for each channel; of tensors: the channels are before height and width."""

    def __init__(self, mean=0.0, std=1.0):
        self._arguments = mean, std

    def forward(self, x):
        return image.normalize(x, *self._arguments)

    def of_batches(self):
        return True


# ---- sizes and places


def rotate(src, rotation_degrees, zoom_in=False, zoom_out=False):
    """Tensors (channels, height, width), of floats, or several of them, turned to the left; 0 is around them.

    rotation_degrees: a number, or of several tensors one for each. zoom_in: nothing of what is around is seen;
    zoom_out: all of the tensor is.
    """
    x, angles = np.asarray(src), np.asarray(rotation_degrees)
    if zoom_in and zoom_out:
        raise ValueError("`zoom_in` and `zoom_out` cannot be both True")
    if x.dtype.kind != "f":
        raise TypeError(f"tensors must be of a floating point type, not {x.dtype}: ToTensor() makes them so")
    if image.as_image(x).ndim == 3:
        if angles.ndim:
            raise TypeError("rotation_degrees must be a number for one tensor")
        return rotate(x[None], angles, zoom_in, zoom_out)[0]
    angles = angles.astype(x.dtype) * (math.pi / 180)
    if angles.shape not in ((), (len(x),)):
        raise ValueError(f"rotation_degrees must be a number, or {len(x)}, not of shape {angles.shape}")
    angles = np.broadcast_to(angles, (len(x),)).reshape(-1, 1, 1)
    cos, sin, (height, width) = np.cos(angles), np.sin(angles), x.shape[2:]
    if zoom_in or zoom_out:
        c, s = np.abs(cos), np.abs(sin)
        scale = np.maximum(c + s * (height / width), c + s * (width / height))
        cos, sin = (cos * scale, sin * scale) if zoom_out else (cos / scale, sin / scale)
    middle = (height - 1) / 2, (width - 1) / 2
    down, across = np.arange(height, dtype=x.dtype)[:, None] - middle[0], np.arange(width, dtype=x.dtype) - middle[1]
    return sampled(x, across * cos - down * sin + middle[1], across * sin + down * cos + middle[0])


class Rotate(Transform):
    """Tensors turned to the left by an angle, in degrees: see rotate()."""

    def __init__(self, rotation_degrees, zoom_in=False, zoom_out=False):
        self._arguments = rotation_degrees, zoom_in, zoom_out

    def forward(self, x):
        return rotate(x, *self._arguments)


class RandomRotation(Transform):
    """Tensors turned by an angle from angle_limits, in degrees, with probability rotate_with_proba: see rotate()."""

    def __init__(self, angle_limits, zoom_in=False, zoom_out=False, rotate_with_proba=1.0):
        lower, upper = angle_limits
        if lower >= upper:
            raise ValueError("`angle_limits` must be an ordered tuple")
        if not 0 <= rotate_with_proba <= 1:
            raise ValueError("Probability of rotating the image should be between 0 and 1")
        self._arguments = angle_limits, zoom_in, zoom_out
        self._p = rotate_with_proba

    def forward(self, x):
        return random_rotate(x, *self._arguments) if _draws.uniform() < self._p else x


def random_rotate(src, angle_limits, zoom_in=False, zoom_out=False):
    """rotate() by an angle from angle_limits, another one for each of several tensors."""
    x = np.asarray(src)
    count = None if x.ndim == 3 else len(x)
    return rotate(x, _draws.stream().uniform(*angle_limits, count), zoom_in, zoom_out)


class Resize(Transform):
    """Of another size; with keep_ratio, a single number is that of the shorter edge."""

    def __init__(self, size, keep_ratio=False, interpolation=1):
        self._arguments = size, keep_ratio, interpolation

    def forward(self, x):
        return image.resize(x, *self._arguments)


class CropResize(Transform):
    """The part from (x, y) on, of that width and height; resized, if `size` is given."""

    def __init__(self, x, y, width, height, size=None, interpolation=None):
        self._part = x, y, width, height
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def forward(self, x):
        found = image.crop(x, *self._part)
        return image.resize(found, self._size, interp=self._interpolation) if self._size else found


class CenterCrop(Transform):
    """The middle, of that size; a smaller image is enlarged."""

    def __init__(self, size, interpolation=1):
        self._arguments = image.MIDDLE, image.MIDDLE, *image.pair(size), interpolation

    def forward(self, x):
        return image.random_crop(x, *self._arguments)


class RandomCrop(Transform):
    """A part of that size, anywhere, after padding with `pad_value`; a smaller image is enlarged.

    pad: pixels at each edge, or (top, bottom, left, right).
    """

    def __init__(self, size, pad=None, pad_value=0, interpolation=1):
        self._arguments = image.ANYWHERE, image.ANYWHERE, *image.pair(size), interpolation
        top, bottom, left, right = (pad or 0,) * 4 if numpy.ndim(pad or 0) == 0 else pad
        self._pad = (top, bottom), (left, right), (0, 0)
        self._value = pad_value

    def forward(self, x):
        x = image.as_image(x)
        if any(map(any, self._pad)):
            x = np.pad(x, ((0, 0),) * (x.ndim - 3) + self._pad, constant_values=self._value)
        return image.random_crop(x, *self._arguments)


class RandomResizedCrop(Transform):
    """A part of random area and proportions, anywhere, resized.

    scale: the least and the greatest area, as shares of the image's. ratio: of the part's width to its height. Where
    ten of them do not fit into the image, its middle is taken.
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation=1):
        scale = (scale, 1.0) if numpy.ndim(scale) == 0 else scale
        self._arguments = *image.pair(size), scale, ratio, interpolation

    def forward(self, x):
        return image.random_resized_crop(x, *self._arguments)


class RandomFlipLeftRight(Transform):
    """Left and right exchanged, with probability p."""

    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        return image.random_flip_left_right(x, self.p)


class RandomFlipTopBottom(Transform):
    """Top and bottom exchanged, with probability p."""

    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        return image.random_flip_top_bottom(x, self.p)


# ---- colours


class RandomBrightness(Transform):
    """Brighter or darker, by a factor from [max(0, 1 - brightness), 1 + brightness]."""

    def __init__(self, brightness):
        self._factors = image.factors(brightness)

    def forward(self, x):
        return image.random_brightness(x, *self._factors)


class RandomContrast(Transform):
    """Further from, or nearer to, the mean brightness, by a factor from [max(0, 1 - contrast), 1 + contrast]."""

    def __init__(self, contrast):
        self._factors = image.factors(contrast)

    def forward(self, x):
        return image.random_contrast(x, *self._factors)


class RandomSaturation(Transform):
    """Further from, or nearer to, grey, by a factor from [max(0, 1 - saturation), 1 + saturation]."""

    def __init__(self, saturation):
        self._factors = image.factors(saturation)

    def forward(self, x):
        return image.random_saturation(x, *self._factors)


class RandomHue(Transform):
    """Hues turned by up to `hue` of the full circle, either way; lightness and saturation (HLS) stay."""

    def __init__(self, hue):
        self._factors = image.factors(hue)

    def forward(self, x):
        return image.random_hue(x, *self._factors)


class RandomColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed as by their transforms, in random order; 0: not at all."""

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        self._strengths = brightness, contrast, saturation, hue

    def forward(self, x):
        return image.random_color_jitter(x, *self._strengths)


class RandomLighting(Transform):
    """Adds noise along the principal components of ImageNet's colours, with deviation `alpha` (AlexNet's)."""

    def __init__(self, alpha):
        self._alpha = alpha

    def forward(self, x):
        return image.random_lighting(x, self._alpha)


class RandomGray(Transform):
    """An image of floats, grey with probability p: its channels are the same then, by MXNet's weights."""

    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        x = np.asarray(x).astype("float32")
        return np.broadcast_to((x @ GREY)[..., None], x.shape) if _draws.uniform() < self.p else x
