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
    """Transforms, or other functions, one after the other; what one returns, a tuple or not, goes to the next.

    It is called with an image, and perhaps labels, which the transforms here leave as they are. len() and indexing are
    those of the list. HybridCompose is the same: there is nothing to hybridize.

    Parameters
    ----------
    transforms : sequence of callable
        The transforms.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> both = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])
    >>> x, label = both(np.full((4, 4, 1), 255, np.uint8), 7)
    >>> print(x.shape, x[0, 0, 0], label, len(both))
    (1, 4, 4) 2.0 7 2
    """

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
    """Applies a transform, or a list of them, or leaves the image as it is, by chance.

    HybridRandomApply is the same: there is nothing to hybridize.

    Parameters
    ----------
    transforms : callable or list of callable
        The transform; of a list, all or none.
    p : float
        The probability that it is applied.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> sometimes = transforms.RandomApply(transforms.Cast("float32"), p=0.3)
    >>> kinds = {str(sometimes(np.zeros((2, 2, 1), np.uint8)).dtype) for _ in range(40)}
    >>> sorted(kinds)
    ['float32', 'uint8']
    """

    def __init__(self, transforms, p=0.5):
        self._transform = Compose(transforms) if isinstance(transforms, (list, tuple)) else transforms
        self.p = p

    def forward(self, x):
        return self._transform(x) if _draws.uniform() < self.p else x


HybridCompose, HybridRandomApply = Compose, RandomApply


class Cast(Transform):
    """Makes another dtype of all its arguments, labels too.

    Parameters
    ----------
    dtype : dtype
        Which.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> x, label = transforms.Cast("float16")(np.array([1, 2], np.uint8), 3)
    >>> print(x, x.dtype, label.dtype)
    [1. 2.] float16 float16
    """

    def __init__(self, dtype="float32"):
        self._dtype = dtype

    def __call__(self, *args):
        cast = tuple(np.asarray(x).astype(self._dtype) for x in args)
        return cast if len(cast) > 1 else cast[0]

    def of_batches(self):
        return True


class ToTensor(Transform):
    """Makes tensors of images: float32 in [0, 1], the channels first.

    It is called with an image of numbers in [0, 255], of shape (height, width, channels), or several, (n, height,
    width, channels). It has no parameters.

    Raises
    ------
    ValueError
        When it is called, for another number of axes.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> x = transforms.ToTensor()(np.full((4, 6, 3), 51, np.uint8))
    >>> print(x.shape, x.dtype, x[0, 0, 0])
    (3, 4, 6) float32 0.2
    """

    def forward(self, x):
        return image.to_tensor(x)

    def of_batches(self):
        return True


class Normalize(Transform):
    """(x - mean) / std, of tensors: the channels are before height and width.

    It is called with a tensor of shape (channels, height, width), or several, (n, channels, height, width), as ToTensor
    makes them.

    Parameters
    ----------
    mean : float or sequence of float
        A number, or one for each channel.
    std : float or sequence of float
        The same.

    Raises
    ------
    ValueError
        When it is called, for another number of axes.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> x = transforms.Normalize(mean=(0.5, 1.0), std=0.25)(np.ones((2, 1, 1), np.float32))
    >>> print(x.reshape(-1))
    [2. 0.]
    """

    def __init__(self, mean=0.0, std=1.0):
        self._arguments = mean, std

    def forward(self, x):
        return image.normalize(x, *self._arguments)

    def of_batches(self):
        return True


# ---- sizes and places


def rotate(src, rotation_degrees, zoom_in=False, zoom_out=False):
    """Turns tensors to the left; what comes in from around them is 0.

    Parameters
    ----------
    src : array_like
        A tensor of floats, of shape (channels, height, width), or several, (n, channels, height, width).
    rotation_degrees : float or array_like
        The angle, in degrees; of several tensors perhaps one for each, of shape (n,).
    zoom_in : bool
        Enlarge it, so that nothing of what is around is seen.
    zoom_out : bool
        Make it smaller, so that all of it is seen.

    Returns
    -------
    ndarray
        Of the same shape and dtype: pixels are bilinear means.

    Raises
    ------
    ValueError
        For zoom_in with zoom_out, another number of axes or of angles.
    TypeError
        For another dtype, or several angles for one tensor.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> x = np.arange(9, dtype=np.float32).reshape(1, 3, 3)
    >>> print(transforms.rotate(x, 90)[0].round(3))
    [[2. 5. 8.]
     [1. 4. 7.]
     [0. 3. 6.]]
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
    """Turns tensors to the left by an angle; what comes in from around them is 0.

    It is called with a tensor of floats, of shape (channels, height, width), or several, (n, channels, height, width),
    as ToTensor makes them.

    Parameters
    ----------
    rotation_degrees : float
        The angle, in degrees; for several tensors perhaps one for each.
    zoom_in : bool
        Enlarge it, so that nothing of what is around is seen.
    zoom_out : bool
        Make it smaller, so that all of it is seen.

    Raises
    ------
    ValueError
        When it is called, for zoom_in with zoom_out, another number of axes or of angles.
    TypeError
        When it is called, for another dtype, or several angles for one tensor.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> x = np.arange(9, dtype=np.float32).reshape(1, 3, 3)
    >>> print(transforms.Rotate(90)(x)[0].round(3))
    [[2. 5. 8.]
     [1. 4. 7.]
     [0. 3. 6.]]
    """

    def __init__(self, rotation_degrees, zoom_in=False, zoom_out=False):
        self._arguments = rotation_degrees, zoom_in, zoom_out

    def forward(self, x):
        return rotate(x, *self._arguments)


class RandomRotation(Transform):
    """Turns tensors by a random angle, another one for each of several; or leaves all of them, by chance.

    It is called with tensors of floats: see Rotate.

    Parameters
    ----------
    angle_limits : (float, float)
        The least and the greatest angle, in degrees: positive ones turn to the left.
    zoom_in : bool
        Enlarge it, so that nothing of what is around is seen.
    zoom_out : bool
        Make it smaller, so that all of it is seen.
    rotate_with_proba : float
        The probability that tensors are turned.

    Raises
    ------
    ValueError
        Unless the limits are in order, and the probability is between 0 and 1. When it is called, for zoom_in with
        zoom_out, or another number of axes.
    TypeError
        When it is called, for another dtype.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> x = np.ones((1, 5, 5), np.float32)
    >>> turned = transforms.RandomRotation((-30, 30), zoom_in=True)(x)
    >>> print(turned.shape, np.allclose(turned, 1))
    (1, 5, 5) True
    """

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
    """Makes images of another size.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels); the dtype stays.

    Parameters
    ----------
    size : int or (int, int)
        (width, height), or one number for both.
    keep_ratio : bool
        A single number is that of the shorter edge; the other one becomes what proportions make it.
    interpolation : int
        0 nearest, 1 bilinear, 2 area, 3 cubic, 4 Lanczos: see npx.image.resize().

    Raises
    ------
    ValueError
        When it is called, for another number of axes, another interpolation, and sizes that are not positive.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> image = np.zeros((20, 30, 3), np.uint8)
    >>> transforms.Resize((8, 6))(image).shape, transforms.Resize(10, keep_ratio=True)(image).shape
    ((6, 8, 3), (10, 15, 3))
    """

    def __init__(self, size, keep_ratio=False, interpolation=1):
        self._arguments = size, keep_ratio, interpolation

    def forward(self, x):
        return image.resize(x, *self._arguments)


class CropResize(Transform):
    """Takes a part of images, and perhaps resizes it.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels); the dtype stays.

    Parameters
    ----------
    x : int
        The first column.
    y : int
        The first row.
    width : int
        How many columns.
    height : int
        How many rows.
    size : int or (int, int), optional
        (width, height) of the result, or one number for both; as the part is by default.
    interpolation : int, optional
        How it is resized, as by Resize: 1, bilinear, by default.

    Raises
    ------
    ValueError
        When it is called, unless all of the part is inside; and as Resize.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> image = np.arange(12).reshape(3, 4, 1)
    >>> print(transforms.CropResize(1, 0, width=2, height=2)(image)[..., 0])
    [[1 2]
     [5 6]]
    >>> transforms.CropResize(1, 0, 2, 2, size=(5, 4))(image).shape
    (4, 5, 1)
    """

    def __init__(self, x, y, width, height, size=None, interpolation=None):
        self._part = x, y, width, height
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def forward(self, x):
        found = image.crop(x, *self._part)
        return image.resize(found, self._size, interp=self._interpolation) if self._size else found


class CenterCrop(Transform):
    """Takes the middle of images; a smaller image is enlarged.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels); the dtype stays.

    Parameters
    ----------
    size : int or (int, int)
        (width, height) of the result, or one number for both.
    interpolation : int
        How a smaller image is enlarged, as by Resize.

    Raises
    ------
    ValueError
        For sizes that are not positive. When it is called, for another number of axes, or another interpolation.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> image = np.arange(16).reshape(4, 4, 1)
    >>> print(transforms.CenterCrop(2)(image)[..., 0])
    [[ 5  6]
     [ 9 10]]
    """

    def __init__(self, size, interpolation=1):
        self._arguments = image.MIDDLE, image.MIDDLE, *image.pair(size), interpolation

    def forward(self, x):
        return image.random_crop(x, *self._arguments)


class RandomCrop(Transform):
    """Takes a part of that size, anywhere, after padding; a smaller image is enlarged.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels), of which the same
    part is taken; the dtype stays.

    Parameters
    ----------
    size : int or (int, int)
        (width, height) of the result, or one number for both.
    pad : int or (int, int, int, int), optional
        Pixels that are put at each edge, or at (top, bottom, left, right).
    pad_value : scalar
        What these are.
    interpolation : int
        How a smaller image is enlarged, as by Resize.

    Raises
    ------
    ValueError
        For sizes that are not positive. When it is called, for another number of axes, or another interpolation.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> image = np.ones((4, 4, 1), np.uint8)
    >>> x = transforms.RandomCrop(4, pad=2, pad_value=9)(image)
    >>> print(x.shape, set(x.reshape(-1).tolist()) <= {1, 9})
    (4, 4, 1) True
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
    """Takes a part of random area and proportions, anywhere, and resizes it.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels), of which the same
    part is taken; the dtype stays. Where ten parts, drawn at random, do not fit into the image, its middle is taken.

    Parameters
    ----------
    size : int or (int, int)
        (width, height) of the result, or one number for both.
    scale : float or (float, float)
        The least and the greatest area, as shares of the image's; or the least, with 1 as the greatest.
    ratio : (float, float)
        The least and the greatest of the part's width to its height.
    interpolation : int
        How it is resized, as by Resize.

    Raises
    ------
    ValueError
        For sizes that are not positive. When it is called, for another number of axes, or another interpolation.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> image = np.full((40, 60, 3), 7, np.uint8)
    >>> x = transforms.RandomResizedCrop((16, 8), scale=(0.5, 1.0))(image)
    >>> print(x.shape, x.dtype, x.max())
    (8, 16, 3) uint8 7
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation=1):
        scale = (scale, 1.0) if numpy.ndim(scale) == 0 else scale
        self._arguments = *image.pair(size), scale, ratio, interpolation

    def forward(self, x):
        return image.random_resized_crop(x, *self._arguments)


class RandomFlipLeftRight(Transform):
    """Exchanges left and right of images, or not, by chance; of several at once, of all or none.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels).

    Parameters
    ----------
    p : float
        The probability that they are exchanged.

    Raises
    ------
    ValueError
        When it is called, for another number of axes.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> image = np.arange(6).reshape(2, 3, 1)
    >>> print(transforms.RandomFlipLeftRight(p=1)(image)[..., 0])
    [[2 1 0]
     [5 4 3]]
    """

    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        return image.random_flip_left_right(x, self.p)


class RandomFlipTopBottom(Transform):
    """Exchanges top and bottom of images, or not, by chance; of several at once, of all or none.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels).

    Parameters
    ----------
    p : float
        The probability that they are exchanged.

    Raises
    ------
    ValueError
        When it is called, for another number of axes.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> image = np.arange(6).reshape(2, 3, 1)
    >>> print(transforms.RandomFlipTopBottom(p=1)(image)[..., 0])
    [[3 4 5]
     [0 1 2]]
    """

    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        return image.random_flip_top_bottom(x, self.p)


# ---- colours


class RandomBrightness(Transform):
    """Makes images brighter or darker, by a random factor.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels), of 1 channel or 3;
    the dtype stays. See npx.image.random_brightness().

    Parameters
    ----------
    brightness : float
        The factor is from [max(0, 1 - brightness), 1 + brightness].

    Raises
    ------
    ValueError
        When it is called, for another number of axes, and of channels, but 1 or 3.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> x = transforms.RandomBrightness(0.5)(np.full((2, 2, 3), 100, np.uint8))
    >>> print(x.dtype, 50 <= x.min() == x.max() <= 150)
    uint8 True
    """

    def __init__(self, brightness):
        self._factors = image.factors(brightness)

    def forward(self, x):
        return image.random_brightness(x, *self._factors)


class RandomContrast(Transform):
    """Moves pixels away from the mean brightness of the image, or towards it, by a random factor.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels), of 1 channel or 3;
    the dtype stays. See npx.image.random_contrast().

    Parameters
    ----------
    contrast : float
        The factor is from [max(0, 1 - contrast), 1 + contrast].

    Raises
    ------
    ValueError
        When it is called, for another number of axes, and of channels, but 1 or 3.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> x = transforms.RandomContrast(0.9)(np.array([[[80.0], [120.0]]], np.float32))
    >>> print(x.shape, round(float(x.mean()), 3))
    (1, 2, 1) 100.0
    """

    def __init__(self, contrast):
        self._factors = image.factors(contrast)

    def forward(self, x):
        return image.random_contrast(x, *self._factors)


class RandomSaturation(Transform):
    """Moves colours away from grey, or towards it, by a random factor.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels), of 1 channel or 3;
    the dtype stays. See npx.image.random_saturation().

    Parameters
    ----------
    saturation : float
        The factor is from [max(0, 1 - saturation), 1 + saturation].

    Raises
    ------
    ValueError
        When it is called, for another number of axes, and of channels, but 1 or 3.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> grey = np.full((1, 1, 3), 100, np.uint8)
    >>> print(transforms.RandomSaturation(0.9)(grey))
    [[[100 100 100]]]
    """

    def __init__(self, saturation):
        self._factors = image.factors(saturation)

    def forward(self, x):
        return image.random_saturation(x, *self._factors)


class RandomHue(Transform):
    """Turns hues round the circle by a random part of it, either way; lightness and saturation (HLS) stay.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels), of 1 channel or 3;
    the dtype stays. See npx.image.random_hue().

    Parameters
    ----------
    hue : float
        How much of the full circle, at most: with 0.5 there are all hues.

    Raises
    ------
    ValueError
        When it is called, for another number of axes, and of channels, but 1 or 3.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> x = transforms.RandomHue(0.5)(np.array([[[200, 100, 100]]], np.uint8))
    >>> print(x.shape, x.min(), x.max())
    (1, 1, 3) 100 200
    """

    def __init__(self, hue):
        self._factors = image.factors(hue)

    def forward(self, x):
        return image.random_hue(x, *self._factors)


class RandomColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue by random factors, in random order.

    It is called with an image, (height, width, channels), or several, (n, height, width, channels), of 1 channel or 3;
    the dtype stays. See npx.image.random_color_jitter().

    Parameters
    ----------
    brightness : float
        As of RandomBrightness; 0 does not change it.
    contrast : float
        As of RandomContrast; 0 does not change it.
    saturation : float
        As of RandomSaturation; 0 does not change it.
    hue : float
        As of RandomHue; 0 does not change it.

    Raises
    ------
    ValueError
        When it is called with what it changes, for another number of axes, and of channels, but 1 or 3.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> image = np.full((2, 2, 3), 100, np.uint8)
    >>> x = transforms.RandomColorJitter(brightness=0.2, hue=0.1)(image)
    >>> print(x.shape, 80 <= x.min() <= x.max() <= 120)
    (2, 2, 3) True
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        self._strengths = brightness, contrast, saturation, hue

    def forward(self, x):
        return image.random_color_jitter(x, *self._strengths)


class RandomLighting(Transform):
    """Adds noise along the principal components of the colours of ImageNet's images (AlexNet's).

    It is called with an image, (height, width, channels), or several, (n, height, width, channels), of numbers in
    [0, 255]; those of one channel stay, and so does the dtype.

    Parameters
    ----------
    alpha : float
        The standard deviation of how far, along each of the three components.

    Raises
    ------
    ValueError
        When it is called, for another number of axes, and of channels, but 1 or 3.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> image = np.full((1, 2, 3), 100, np.float32)
    >>> x = transforms.RandomLighting(0.1)(image) - image
    >>> print(x.shape, np.array_equal(x[0, 0], x[0, 1]))
    (1, 2, 3) True
    """

    def __init__(self, alpha):
        self._alpha = alpha

    def forward(self, x):
        return image.random_lighting(x, self._alpha)


class RandomGray(Transform):
    """Makes images grey, or not, by chance: the channels are the same then, by MXNet's weights.

    It is called with an image, (height, width, 3), or several, (n, height, width, 3), and gives float32. A white pixel
    becomes 0.9999 of it, as MXNet's.

    Parameters
    ----------
    p : float
        The probability that they are made grey.

    Examples
    --------
    >>> from dflow.gluon.data.vision import transforms
    >>> print(transforms.RandomGray(p=1)(np.array([[[100, 0, 0]]], np.uint8)).round(2))
    [[[29.89 29.89 29.89]]]
    """

    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        x = np.asarray(x).astype("float32")
        if x.shape[-1:] != (3,):
            raise ValueError(f"RandomGray: the last axis is that of 3 channels, x has the shape {x.shape}")
        return np.broadcast_to((x @ GREY)[..., None], x.shape) if _draws.uniform() < self.p else x
