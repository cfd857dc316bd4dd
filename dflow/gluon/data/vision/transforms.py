"""Transforms of images, as mxnet.gluon.data.vision.transforms.

An image is an array of shape (height, width, channels), of any numeric dtype, which the result keeps; several, of one
size, may be stacked along a first axis. Sizes are (width, height), as OpenCV has them; one number stands for both.
What is random draws from np.random, in a DataLoader from its batch's stream.

A transform takes further arguments, labels mostly, and returns them as they are: it can be given to
`Dataset.transform` as well as to `transform_first`.
"""

import functools
import math
import operator

import numpy

import dflow.numpy as np
from dflow.gluon.data import _draws
from dflow.gluon.data.dataset import takes_batches
from dflow.ops.regions import sampled

__all__ = ["Cast", "CenterCrop", "Compose", "CropResize", "HybridCompose", "HybridRandomApply", "Normalize",
           "RandomBrightness", "RandomColorJitter", "RandomContrast", "RandomCrop", "RandomFlipLeftRight",
           "RandomFlipTopBottom", "RandomGray", "RandomHue", "RandomLighting",
           "RandomResizedCrop", "RandomRotation", "RandomSaturation", "RandomApply", "Resize", "Rotate", "ToTensor"]

GREY = numpy.array([0.299, 0.587, 0.114], numpy.float32)    # what red, green and blue weigh

# Principal components of the colours of ImageNet's images, by columns, scaled by their deviations (AlexNet).
COLOURS = numpy.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
COLOURS = (COLOURS * [55.46, 4.794, 1.148]).astype(numpy.float32)


class Transform:
    """Base class: forward(image) gives the image transformed."""

    def __call__(self, x, *args):
        x = self.forward(np.asarray(x))
        return (x, *args) if args else x

    def forward(self, x):
        raise NotImplementedError


class Compose:
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
        _check_image(x)
        x = x.transpose(2, 0, 1) if x.ndim == 3 else x.transpose(0, 3, 1, 2)
        return x.astype(np.float32, order="C") / 255

    def of_batches(self):
        return True


class Normalize(Transform):
    """(x - mean) / std, numbers or one for each channel; of tensors: the channels are before height and width."""

    def __init__(self, mean=0.0, std=1.0):
        self._mean, self._std = (numpy.asarray(x, numpy.float32).reshape(-1, 1, 1) for x in (mean, std))

    def forward(self, x):
        _check_image(x)
        return (x - self._mean) / self._std

    def of_batches(self):
        return True


def _check_image(x):
    if x.ndim not in (3, 4):
        raise ValueError(f"an image has 3 axes, several have 4; the shape is {x.shape}")


def _like(x, image):
    """Values as the image's dtype; of integers, the nearest that there is."""
    if image.dtype.kind in "iu":
        limits = numpy.iinfo(image.dtype)
        x = np.clip(np.rint(x), limits.min, limits.max)
    return x.astype(image.dtype)


def _pair(size):
    width, height = (size, size) if numpy.ndim(size) == 0 else size
    if width < 1 or height < 1:
        raise ValueError(f"width and height must be positive, not {size}")
    return width, height


# ---- sizes and places


def _cubic(d):
    """Keys' kernel, with the slope of -0.75 at 1 that OpenCV has."""
    return numpy.where(d < 1, (1.25 * d - 2.25) * d * d + 1, -0.75 * (((d - 5) * d + 8) * d - 4))


# What a pixel weighs at a distance, and how far: by OpenCV's number of the interpolation.
KERNELS = {1: (lambda d: numpy.maximum(1 - d, 0), 1), 3: (_cubic, 2),
           4: (lambda d: numpy.sinc(d) * numpy.sinc(d / 4), 4)}


@functools.lru_cache(256)      # data sets have few sizes, and small images less work than this
def _taps(length, size, interpolation):
    """A row of `length` as `size` pixels: pairs of which pixel each takes, and what that one weighs in it."""
    scale = length / size
    if interpolation == 2:
        begin = numpy.arange(size) * scale
        pixels = begin.astype(numpy.intp) + numpy.arange(math.ceil(scale) + 1)[:, None]
        weights = numpy.maximum(numpy.minimum(begin + scale, pixels + 1) - numpy.maximum(begin, pixels), 0)
    else:
        kernel, reach = KERNELS[interpolation]
        place = (numpy.arange(size) + 0.5) * scale - 0.5
        pixels = numpy.floor(place).astype(numpy.intp) + numpy.arange(1 - reach, 1 + reach)[:, None]
        weights = kernel(abs(place - pixels))
    weights = (weights / weights.sum(axis=0)).astype(numpy.float32)
    return [(p, w) for p, w in zip(pixels.clip(0, length - 1), weights) if w.any()]


def resize(x, size, interpolation=1):
    """Images of another size (width, height): 0 takes the nearest pixel, 1 the bilinear mean of four.

    2 takes the mean of the area that a pixel covers, 3 the cubic interpolation of sixteen, 4 Lanczos' of 64.
    """
    _check_image(x)
    if interpolation not in (0, 1, 2, 3, 4):
        raise ValueError("interpolation must be 0 (nearest), 1 (bilinear), 2 (area), 3 (cubic) or 4 (Lanczos), "
                         f"not {interpolation}")
    image = x
    for axis, new in zip((-2, -3), size):
        old = x.shape[axis]
        if new == old:
            continue
        if interpolation == 0:
            x = np.take(x, numpy.arange(new) * old // new, axis)
        else:
            x = x.astype(np.float32, copy=False)
            rest = (1,) * (-axis - 1)
            parts = (np.take(x, pixels, axis) * weights.reshape(-1, *rest)
                     for pixels, weights in _taps(old, new, interpolation))
            x = functools.reduce(operator.add, parts)
    return x if x.dtype == image.dtype else _like(x, image)


def crop(x, left, top, width, height):
    """The part of images that begins there; ValueError unless all of it is inside."""
    _check_image(x)
    h, w = x.shape[-3:-1]
    if not (0 <= left <= left + width <= w and 0 <= top <= top + height <= h and width > 0 < height):
        raise ValueError(f"no part of {width} by {height} at ({left}, {top}) in an image of {w} by {h}")
    return x[..., top:top + height, left:left + width, :]


def scale_down(src_size, size):
    """The largest width and height in the proportions of `size` that an image of src_size has, but no larger."""
    (w, h), (width, height) = src_size, size
    scale = min(1, w / width, h / height)
    return max(int(width * scale + 1e-9), 1), max(int(height * scale + 1e-9), 1)


def middle(room):
    """Where the middle of a row begins that leaves so much room."""
    return room // 2


def anywhere(room):
    """Any of the places where what leaves so much room may begin."""
    return int(_draws.uniform(0, room + 1))


def part(x, size, at):
    """(left, top, width, height) of a part of that size, `at` a place; of its proportions in a smaller image."""
    _check_image(x)
    h, w = x.shape[-3:-1]
    width, height = scale_down((w, h), size)
    return at(w - width), at(h - height), width, height


def random_part(x, size, scale, ratio):
    """The same of a part of random area and proportions; of `size`, the middle, where ten of them do not fit."""
    _check_image(x)
    h, w = x.shape[-3:-1]
    for _ in range(10):
        area = _draws.uniform(*scale) * w * h
        proportion = math.exp(_draws.uniform(*map(math.log, ratio)))
        width, height = round(math.sqrt(area * proportion)), round(math.sqrt(area / proportion))
        if 0 < width <= w and 0 < height <= h:
            return anywhere(w - width), anywhere(h - height), width, height
    return part(x, size, middle)


def rotate(x, degrees, zoom_in=False, zoom_out=False):
    """Tensors (channels, height, width), of floats, or several of them, turned to the left; 0 is around them.

    degrees: a number, or of several tensors one for each. zoom_in: nothing of what is around is seen; zoom_out: all of
    the tensor is.
    """
    x = np.asarray(x)
    if zoom_in and zoom_out:
        raise ValueError("`zoom_in` and `zoom_out` cannot be both True")
    if x.dtype.kind != "f":
        raise TypeError(f"tensors must be of a floating point type, not {x.dtype}: ToTensor() makes them so")
    _check_image(x)
    if x.ndim == 3:
        return rotate(x[None], degrees, zoom_in, zoom_out)[0]
    angles = np.asarray(degrees, x.dtype) * (math.pi / 180)
    if angles.shape not in ((), (len(x),)):
        raise ValueError(f"degrees must be a number, or {len(x)}, not of shape {angles.shape}")
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


def random_rotate(x, angle_limits, zoom_in=False, zoom_out=False):
    """rotate() by an angle from angle_limits, another one for each of several tensors."""
    x = np.asarray(x)
    count = None if x.ndim == 3 else len(x)
    return rotate(x, _draws.stream().uniform(*angle_limits, count), zoom_in, zoom_out)


class Resize(Transform):
    """Of another size; with keep_ratio, a single number is that of the shorter edge."""

    def __init__(self, size, keep_ratio=False, interpolation=1):
        self._size = size
        self._keep_ratio = keep_ratio
        self._interpolation = interpolation

    def forward(self, x):
        _check_image(x)
        width, height = _pair(self._size)
        if self._keep_ratio and numpy.ndim(self._size) == 0:
            h, w = x.shape[-3:-1]
            width, height = width * w // min(h, w), height * h // min(h, w)
        return resize(x, (width, height), self._interpolation)


class CropResize(Transform):
    """The part from (x, y) on, of that width and height; resized, if `size` is given."""

    def __init__(self, x, y, width, height, size=None, interpolation=None):
        self._part = x, y, width, height
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def forward(self, x):
        found = crop(x, *self._part)
        return resize(found, _pair(self._size), self._interpolation) if self._size else found


class CenterCrop(Transform):
    """The middle, of that size; a smaller image is enlarged."""

    def __init__(self, size, interpolation=1):
        self._size = _pair(size)
        self._interpolation = interpolation

    def forward(self, x):
        return resize(crop(x, *part(x, self._size, middle)), self._size, self._interpolation)


class RandomCrop(Transform):
    """A part of that size, anywhere, after padding with `pad_value`; a smaller image is enlarged.

    pad: pixels at each edge, or (top, bottom, left, right).
    """

    def __init__(self, size, pad=None, pad_value=0, interpolation=1):
        self._size = _pair(size)
        top, bottom, left, right = (pad or 0,) * 4 if numpy.ndim(pad or 0) == 0 else pad
        self._pad = (top, bottom), (left, right), (0, 0)
        self._value = pad_value
        self._interpolation = interpolation

    def forward(self, x):
        _check_image(x)
        if any(map(any, self._pad)):
            x = np.pad(x, ((0, 0),) * (x.ndim - 3) + self._pad, constant_values=self._value)
        return resize(crop(x, *part(x, self._size, anywhere)), self._size, self._interpolation)


class RandomResizedCrop(Transform):
    """A part of random area and proportions, anywhere, resized.

    scale: the least and the greatest area, as shares of the image's. ratio: of the part's width to its height. Where
    ten of them do not fit into the image, its middle is taken.
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation=1):
        self._size = _pair(size)
        self._scale = (scale, 1.0) if numpy.ndim(scale) == 0 else scale
        self._ratio = ratio
        self._interpolation = interpolation

    def forward(self, x):
        box = random_part(x, self._size, self._scale, self._ratio)
        return resize(crop(x, *box), self._size, self._interpolation)


class _RandomFlip(Transform):
    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        _check_image(x)
        return x[self._flipped] if _draws.uniform() < self.p else x


class RandomFlipLeftRight(_RandomFlip):
    """Left and right exchanged, with probability p."""

    _flipped = ..., slice(None, None, -1), slice(None)


class RandomFlipTopBottom(_RandomFlip):
    """Top and bottom exchanged, with probability p."""

    _flipped = ..., slice(None, None, -1), slice(None), slice(None)


# ---- colours


def _grey(x):
    """Each pixel's brightness, with a last axis of length 1."""
    return x if x.shape[-1] == 1 else (x @ GREY)[..., None]


class _RandomColour(Transform):
    """Changes float32 pixels by a factor from [max(0, 1 - strength), 1 + strength]."""

    def __init__(self, strength):
        self._range = max(0, 1 - strength), 1 + strength

    def forward(self, x):
        _check_image(x)
        if x.shape[-1] not in (1, 3):
            raise ValueError(f"the last axis is that of 1 or 3 channels, not {x.shape[-1]}")
        return _like(self._change(x.astype(np.float32), _draws.uniform(*self._range)), x)


class RandomBrightness(_RandomColour):
    """Brighter or darker, by a factor from [max(0, 1 - brightness), 1 + brightness]."""

    def __init__(self, brightness):
        super().__init__(brightness)

    def _change(self, x, factor):
        return x * factor


class RandomContrast(_RandomColour):
    """Further from, or nearer to, the mean brightness, by a factor from [max(0, 1 - contrast), 1 + contrast]."""

    def __init__(self, contrast):
        super().__init__(contrast)

    def _change(self, x, factor):
        return x * factor + _grey(x).mean(axis=(-3, -2), keepdims=True) * (1 - factor)


class RandomSaturation(_RandomColour):
    """Further from, or nearer to, grey, by a factor from [max(0, 1 - saturation), 1 + saturation]."""

    def __init__(self, saturation):
        super().__init__(saturation)

    def _change(self, x, factor):
        return x if x.shape[-1] == 1 else x * factor + _grey(x) * (1 - factor)


class RandomGray(Transform):
    """An image of floats, grey with probability p: its channels are the same then."""

    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        x = np.asarray(x).astype("float32")
        return np.broadcast_to(_grey(x), x.shape) if _draws.uniform() < self.p else x


class RandomHue(_RandomColour):
    """Hues turned by up to `hue` of the full circle, either way; lightness and saturation (HLS) stay."""

    def __init__(self, hue):
        super().__init__(hue)

    def _change(self, x, factor):
        if x.shape[-1] == 1:
            return x
        red, green, blue = (np.ascontiguousarray(x[..., i]) for i in range(3))     # rows of three are slow
        high, low = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
        spread = high - low
        hue = np.where(high == red, green - blue,                           # in sixths of the circle, less a multiple
                       np.where(high == green, blue - red + 2 * spread, red - green + 4 * spread))
        hue = hue / np.where(spread > 0, spread, 1) + 6 * factor
        # Each channel goes from high to low and back over the circle, with its own beginning.
        turns = (hue + begin - 6 * np.floor((hue + begin) / 6) for begin in (0, 4, 2))      # % is slow
        return np.stack([low + spread * np.clip(np.abs(turn - 3) - 1, 0, 1) for turn in turns], axis=-1)


class RandomColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed as by their transforms, in random order; 0: not at all."""

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        kinds = {RandomBrightness: brightness, RandomContrast: contrast, RandomSaturation: saturation, RandomHue: hue}
        self._changes = [kind(strength) for kind, strength in kinds.items() if strength > 0]

    def forward(self, x):
        for i in _draws.stream().permutation(len(self._changes)).tolist():
            x = self._changes[i](x)
        return x


class RandomLighting(Transform):
    """Adds noise along the principal components of ImageNet's colours, with deviation `alpha` (AlexNet's)."""

    def __init__(self, alpha):
        self._alpha = alpha

    def forward(self, x):
        _check_image(x)
        if x.shape[-1] == 1:
            return x
        return _like(x.astype(np.float32) + COLOURS @ _draws.stream().normal(0, self._alpha, 3).astype(np.float32), x)
