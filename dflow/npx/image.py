"""MXNet's npx.image: images resized, cut, flipped and coloured, as gluon.data.vision.transforms and dflow.image do it.

An image is an array of shape (height, width, channels), of any numeric dtype, which the result keeps; several, of one
size, may be stacked along a first axis. Sizes are (width, height), as OpenCV has them. `interp` is a number of
OpenCV's: 0 nearest, 1 bilinear, 2 area, 3 cubic, 4 Lanczos. What is random draws from np.random, in a DataLoader from
its batch's stream; of several images it is the same for all.
"""

import functools
import math
import operator

import numpy

import dflow.numpy as np
from dflow.npx import _draws

__all__ = ["adjust_lighting", "crop", "flip_left_right", "flip_top_bottom", "normalize", "random_brightness",
           "random_color_jitter", "random_contrast", "random_crop", "random_flip_left_right", "random_flip_top_bottom",
           "random_hue", "random_lighting", "random_resized_crop", "random_saturation", "resize", "to_tensor"]


def __dir__():
    return sorted(__all__)


GREY = numpy.array([0.299, 0.587, 0.114], numpy.float32)    # what red, green and blue weigh

# Principal components of the colours of ImageNet's images, by columns, scaled by their deviations (AlexNet).
COLOURS = numpy.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
COLOURS = (COLOURS * [55.46, 4.794, 1.148]).astype(numpy.float32)


def as_image(data):
    """An array of one image, or of several."""
    data = np.asarray(data)
    if data.ndim not in (3, 4):
        raise ValueError(f"an image has 3 axes, several have 4; the shape is {data.shape}")
    return data


def like(x, image):
    """Values as the image's dtype; of integers, the nearest that there is."""
    if image.dtype.kind in "iu":
        limits = numpy.iinfo(image.dtype)
        x = np.clip(np.rint(x), limits.min, limits.max)
    return x.astype(image.dtype)


def pair(size):
    """(width, height) of what may be one number for both."""
    width, height = (size, size) if numpy.ndim(size) == 0 else size
    if width < 1 or height < 1:
        raise ValueError(f"width and height must be positive, not {size}")
    return width, height


# ---- tensors


def to_tensor(data):
    """Makes tensors of images: floats between 0 and 1, the channels first.

    Parameters
    ----------
    data : array_like
        An image of numbers in [0, 255], of shape (height, width, channels), or several, (n, height, width, channels).

    Returns
    -------
    ndarray
        Of float32, of shape (channels, height, width), or (n, channels, height, width).

    Raises
    ------
    ValueError
        For another number of axes.

    Examples
    --------
    >>> x = npx.image.to_tensor(np.full((4, 6, 3), 51, np.uint8))
    >>> print(x.shape, x[0, 0, 0])
    (3, 4, 6) 0.2
    """
    return np.moveaxis(as_image(data), -1, -3).astype(np.float32, order="C") / 255


def normalize(data, mean=0.0, std=1.0):
    """(data - mean) / std, of tensors: the channels are before height and width.

    Parameters
    ----------
    data : array_like
        Of shape (channels, height, width), or (n, channels, height, width).
    mean : float or sequence of float
        A number, or one for each channel.
    std : float or sequence of float
        The same.

    Returns
    -------
    ndarray
        Of the same shape, of a floating point type.

    Raises
    ------
    ValueError
        For another number of axes.

    Examples
    --------
    >>> x = np.ones((2, 1, 2), np.float32)
    >>> print(npx.image.normalize(x, mean=[0.5, 1.0], std=0.25))
    [[[2. 2.]]
    <BLANKLINE>
     [[0. 0.]]]
    """
    data = as_image(data)
    mean, std = (numpy.asarray(x, numpy.float32).reshape(-1, 1, 1) for x in (mean, std))
    return (data - mean) / std


# ---- sizes


def _cubic(d):
    """Keys' kernel, with the slope of -0.75 at 1 that OpenCV has."""
    return numpy.where(d < 1, (1.25 * d - 2.25) * d * d + 1, -0.75 * (((d - 5) * d + 8) * d - 4))


# What a pixel weighs at a distance, and how far: by OpenCV's number of the interpolation.
KERNELS = {1: (lambda d: numpy.maximum(1 - d, 0), 1), 3: (_cubic, 2),
           4: (lambda d: numpy.sinc(d) * numpy.sinc(d / 4), 4)}


@functools.lru_cache(256)      # data sets have few sizes, and small images less work than this
def _taps(length, size, interp):
    """A row of `length` as `size` pixels: pairs of which pixel each takes, and what that one weighs in it."""
    scale = length / size
    if interp == 2:
        begin = numpy.arange(size) * scale
        pixels = begin.astype(numpy.intp) + numpy.arange(math.ceil(scale) + 1)[:, None]
        weights = numpy.maximum(numpy.minimum(begin + scale, pixels + 1) - numpy.maximum(begin, pixels), 0)
    else:
        kernel, reach = KERNELS[interp]
        place = (numpy.arange(size) + 0.5) * scale - 0.5
        pixels = numpy.floor(place).astype(numpy.intp) + numpy.arange(1 - reach, 1 + reach)[:, None]
        weights = kernel(abs(place - pixels))
    weights = (weights / weights.sum(axis=0)).astype(numpy.float32)
    return [(p, w) for p, w in zip(pixels.clip(0, length - 1), weights) if w.any()]


def resize(data, size, keep_ratio=False, interp=1):
    """Images of another size.

    Parameters
    ----------
    data : array_like
        An image, (height, width, channels), or several, (n, height, width, channels).
    size : int or (int, int)
        (width, height), or one number for both.
    keep_ratio : bool
        A single number is that of the shorter edge; the other one becomes what proportions make it.
    interp : int
        0 takes the nearest pixel, 1 the bilinear mean of four, 2 the mean of the area that a pixel covers, 3 the cubic
        interpolation of sixteen, 4 Lanczos' of 64.

    Returns
    -------
    ndarray
        Of the same dtype; of integers, the nearest that there are.

    Raises
    ------
    ValueError
        For another number of axes, another interp, and sizes that are not positive.

    Examples
    --------
    >>> image = np.array([[[0], [100]]], np.uint8)          # a row of two pixels
    >>> print(npx.image.resize(image, (4, 1))[0, :, 0])
    [  0  25  75 100]
    >>> npx.image.resize(np.ones((20, 30, 3)), 10, keep_ratio=True).shape
    (10, 15, 3)
    """
    x = image = as_image(data)
    width, height = pair(size)
    if interp not in (0, 1, 2, 3, 4):
        raise ValueError("interpolation must be 0 (nearest), 1 (bilinear), 2 (area), 3 (cubic) or 4 (Lanczos), "
                         f"not {interp}")
    if keep_ratio and numpy.ndim(size) == 0:
        h, w = image.shape[-3:-1]
        width, height = width * w // min(h, w), height * h // min(h, w)
    for axis, new in ((-2, width), (-3, height)):
        old = image.shape[axis]
        if new == old:
            continue
        if interp == 0:
            x = np.take(x, numpy.arange(new) * old // new, axis)
        else:
            x = x.astype(np.float32, copy=False)
            rest = (1,) * (-axis - 1)
            parts = (np.take(x, pixels, axis) * weights.reshape(-1, *rest)
                     for pixels, weights in _taps(old, new, interp))
            x = functools.reduce(operator.add, parts)
    return x if x.dtype == image.dtype else like(x, image)


# ---- parts


def crop(data, x, y, width, height):
    """The part of images that begins at (x, y): a view.

    Parameters
    ----------
    data : array_like
        An image, (height, width, channels), or several, (n, height, width, channels).
    x : int
        The first column.
    y : int
        The first row.
    width : int
        How many columns.
    height : int
        How many rows.

    Returns
    -------
    ndarray
        A view of an array, where MXNet copies.

    Raises
    ------
    ValueError
        Unless all of it is inside, and something; and for another number of axes.

    Examples
    --------
    >>> image = np.arange(12).reshape(3, 4, 1)
    >>> print(npx.image.crop(image, x=1, y=0, width=2, height=2)[..., 0])
    [[1 2]
     [5 6]]
    """
    data = as_image(data)
    h, w = data.shape[-3:-1]
    if not (0 <= x <= x + width <= w and 0 <= y <= y + height <= h and width > 0 < height):
        raise ValueError(f"no part of {width} by {height} at ({x}, {y}) in an image of {w} by {h}")
    return data[..., y:y + height, x:x + width, :]


def scale_down(src_size, size):
    """The largest width and height in the proportions of a size that an image has, but no larger.

    Parameters
    ----------
    src_size : (int, int)
        The image's (width, height).
    size : (int, int)
        What is wanted, (width, height).

    Returns
    -------
    (int, int)
        (width, height), each 1 at least, but for what is 0 in `size`.

    Examples
    --------
    >>> dflow.image.scale_down((640, 480), (720, 120))
    (640, 106)
    >>> dflow.image.scale_down((640, 480), (100, 120))
    (100, 120)
    """
    (w, h), (width, height) = src_size, size
    scale = min(1, w / max(width, 1), h / max(height, 1))
    return tuple(min(n, max(int(n * scale + 1e-9), 1)) for n in (width, height))


MIDDLE, ANYWHERE = (0.5, 0.5), (0.0, 1.0)       # where a part may begin, as shares of the room that it leaves


def _place(room, low, high):
    first, last = int(room * low), int(room * high)
    return first if first == last else first + int(_draws.uniform(0, last - first + 1))


def part(data, size, xrange, yrange):
    """(left, top, width, height) of a part of that size; of its proportions in a smaller image."""
    h, w = data.shape[-3:-1]
    width, height = scale_down((w, h), size)
    return _place(w - width, *xrange), _place(h - height, *yrange), width, height


def random_part(data, size, area, ratio, max_trial=10):
    """The same of a part of random area and proportions; of `size`, the middle, where none of the trials fits."""
    h, w = data.shape[-3:-1]
    for _ in range(max_trial):
        pixels = _draws.uniform(*area) * w * h
        proportion = math.exp(_draws.uniform(*map(math.log, ratio)))
        width, height = round(math.sqrt(pixels * proportion)), round(math.sqrt(pixels / proportion))
        if 0 < width <= w and 0 < height <= h:
            return _place(w - width, *ANYWHERE), _place(h - height, *ANYWHERE), width, height
    return part(data, size, MIDDLE, MIDDLE)


def random_crop(data, xrange=ANYWHERE, yrange=ANYWHERE, width=0, height=0, interp=1):
    """A part of that size, anywhere; a smaller image is enlarged.

    Parameters
    ----------
    data : array_like
        An image, (height, width, channels), or several, (n, height, width, channels), of which the same part is taken.
    xrange : (float, float)
        Where the part may begin, as shares of the room that it leaves: (0, 1) is anywhere, (0.5, 0.5) the middle.
    yrange : (float, float)
        The same, from top to bottom.
    width : int
        Of the part: it must be given.
    height : int
        Of the part: it must be given.
    interp : int
        How it is enlarged: see resize().

    Returns
    -------
    ndarray
        Of that width and height, and the same dtype; where nothing is enlarged, a view.

    Raises
    ------
    ValueError
        For a width or height that is not positive, and another number of axes.

    Examples
    --------
    >>> image = np.arange(12).reshape(3, 4, 1)
    >>> print(npx.image.random_crop(image, (0.5, 0.5), (1, 1), width=2, height=1)[..., 0])
    [[ 9 10]]
    """
    data, size = as_image(data), pair((width, height))
    return resize(crop(data, *part(data, size, xrange, yrange)), size, interp=interp)


def random_resized_crop(data, width=0, height=0, area=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interp=1, max_trial=10):
    """A part of random area and proportions, anywhere, resized; the middle, where none of `max_trial` fits.

    Parameters
    ----------
    data : array_like
        An image, (height, width, channels), or several, (n, height, width, channels), of which the same part is taken.
    width : int
        Of the result: it must be given.
    height : int
        Of the result: it must be given.
    area : (float, float)
        The least and the greatest, as shares of the image's.
    ratio : (float, float)
        The least and the greatest of the part's width to its height.
    interp : int
        How it is resized: see resize().
    max_trial : int
        How often it draws a part.

    Returns
    -------
    ndarray
        Of that width and height, and the same dtype.

    Raises
    ------
    ValueError
        For a width or height that is not positive, and another number of axes.

    Examples
    --------
    >>> image = np.arange(4)[:, None, None] * np.ones((4, 4, 1))
    >>> x = npx.image.random_resized_crop(image, 2, 2, area=(0.25, 0.25), ratio=(1, 1))
    >>> print(x.shape, x[1, 0, 0] - x[0, 0, 0])         # a quarter of the image, of 2 by 2 pixels
    (2, 2, 1) 1.0
    """
    data, size = as_image(data), pair((width, height))
    return resize(crop(data, *random_part(data, size, area, ratio, max_trial)), size, interp=interp)


def flip_left_right(data):
    """Left and right exchanged: a view.

    Parameters
    ----------
    data : array_like
        An image, (height, width, channels), or several, (n, height, width, channels).

    Returns
    -------
    ndarray
        A view of an array, where MXNet copies.

    Raises
    ------
    ValueError
        For another number of axes.

    Examples
    --------
    >>> image = np.arange(6).reshape(2, 3, 1)
    >>> print(npx.image.flip_left_right(image)[..., 0])
    [[2 1 0]
     [5 4 3]]
    """
    return as_image(data)[..., ::-1, :]


def flip_top_bottom(data):
    """Top and bottom exchanged: a view.

    Parameters
    ----------
    data : array_like
        An image, (height, width, channels), or several, (n, height, width, channels).

    Returns
    -------
    ndarray
        A view of an array, where MXNet copies.

    Raises
    ------
    ValueError
        For another number of axes.

    Examples
    --------
    >>> image = np.arange(6).reshape(2, 3, 1)
    >>> print(npx.image.flip_top_bottom(image)[..., 0])
    [[3 4 5]
     [0 1 2]]
    """
    return as_image(data)[..., ::-1, :, :]


def random_flip_left_right(data, p=0.5):
    """Left and right exchanged, or not, by chance; all of several images, or none.

    Parameters
    ----------
    data : array_like
        An image, (height, width, channels), or several, (n, height, width, channels).
    p : float
        The probability that they are.

    Returns
    -------
    ndarray
        A view, or the array itself.

    Raises
    ------
    ValueError
        For another number of axes.

    Examples
    --------
    >>> image = np.arange(3).reshape(1, 3, 1)
    >>> print(npx.image.random_flip_left_right(image, p=1)[0, :, 0])
    [2 1 0]
    """
    data = as_image(data)
    return flip_left_right(data) if _draws.uniform() < p else data


def random_flip_top_bottom(data, p=0.5):
    """Top and bottom exchanged, or not, by chance; all of several images, or none.

    Parameters
    ----------
    data : array_like
        An image, (height, width, channels), or several, (n, height, width, channels).
    p : float
        The probability that they are.

    Returns
    -------
    ndarray
        A view, or the array itself.

    Raises
    ------
    ValueError
        For another number of axes.

    Examples
    --------
    >>> image = np.arange(3).reshape(3, 1, 1)
    >>> print(npx.image.random_flip_top_bottom(image, p=1)[:, 0, 0])
    [2 1 0]
    """
    data = as_image(data)
    return flip_top_bottom(data) if _draws.uniform() < p else data


# ---- colours


def grey(x):
    """Each pixel's brightness, with a last axis of length 1."""
    return x if x.shape[-1] == 1 else (x @ GREY)[..., None]


def _coloured(data):
    data = as_image(data)
    if data.shape[-1] not in (1, 3):
        raise ValueError(f"the last axis is that of 1 or 3 channels, not {data.shape[-1]}")
    return data


_COLOUR_DOC = """{what} by a random factor: the same for all of several images.

Parameters
----------
data : array_like
    An image, (height, width, channels), or several, (n, height, width, channels), of 1 channel or 3.
min_factor : float
    The least factor{neutral}.
max_factor : float
    The greatest; it is less than that, unless both are the same.

Returns
-------
ndarray
    Of the same shape and dtype; integers are the nearest that there are, no less and no more than the type has.

Raises
------
ValueError
    For another number of axes, and of channels, but 1 or 3.

Examples
--------
>>> image = np.array({image}, np.uint8)
>>> print(npx.image.{name}(image, {factor}, {factor}))
{result}
"""


def _random_colour(change, what, neutral, image, factor, result):
    def function(data, min_factor, max_factor):
        data = _coloured(data)
        return like(change(data.astype(np.float32), _draws.uniform(min_factor, max_factor)), data)

    function.__name__ = function.__qualname__ = name = f"random{change.__name__}"
    function.__doc__ = _COLOUR_DOC.format(what=what, neutral=neutral, image=image, name=name, factor=factor,
                                          result=result)
    return function


def _brightness(x, factor):
    return x * factor


def _contrast(x, factor):
    return x * factor + grey(x).mean(axis=(-3, -2), keepdims=True) * (1 - factor)


def _saturation(x, factor):
    return x if x.shape[-1] == 1 else x * factor + grey(x) * (1 - factor)


def _hue(x, factor):
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


random_brightness = _random_colour(_brightness, "Makes images brighter or darker,", "; 1 changes nothing",
                                   "[[[100, 200, 0]]]", "0.5", "[[[ 50 100   0]]]")
random_contrast = _random_colour(_contrast, "Moves pixels away from the mean brightness of the image, or towards it,",
                                 "; 1 changes nothing, 0 leaves the mean", "[[[0, 0, 0], [200, 200, 200]]]", "0.5",
                                 "[[[ 50  50  50]\n  [150 150 150]]]")
random_saturation = _random_colour(_saturation, "Moves colours away from grey, or towards it,",
                                   "; 1 changes nothing, 0 leaves brightness", "[[[255, 0, 0]]]", "0",
                                   "[[[76 76 76]]]")
random_hue = _random_colour(_hue, "Turns hues round the circle, lightness and saturation (HLS) kept,",
                            ": 1, as 0, turns by all of it and changes nothing", "[[[200, 100, 100]]]", "1 / 3",
                            "[[[100 200 100]]]")


def factors(strength):
    """The least and the greatest factor of a change of that strength."""
    return max(0, 1 - strength), 1 + strength


def random_color_jitter(data, brightness, contrast, saturation, hue):
    """Brightness, contrast, saturation and hue changed by random factors, in random order.

    Each factor is from [max(0, 1 - strength), 1 + strength): see random_brightness() and so on. A strength of 0 does
    not change it.

    Parameters
    ----------
    data : array_like
        An image, (height, width, channels), or several, (n, height, width, channels), which change alike.
    brightness : float
        The strength of random_brightness().
    contrast : float
        The strength of random_contrast().
    saturation : float
        The strength of random_saturation().
    hue : float
        The strength of random_hue(); as it is a circle, 0.5 has all hues.

    Returns
    -------
    ndarray
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        For another number of axes, and of channels, but 1 or 3.

    Examples
    --------
    >>> image = np.full((1, 1, 3), 100, np.uint8)
    >>> x = npx.image.random_color_jitter(image, brightness=0.5, contrast=0, saturation=0, hue=0)
    >>> print(50 <= x.min(), x.max() <= 150)
    True True
    """
    data = as_image(data)
    changes = [(change, strength) for change, strength in ((random_brightness, brightness), (random_contrast, contrast),
                                                           (random_saturation, saturation), (random_hue, hue))
               if strength > 0]
    for i in _draws.stream().permutation(len(changes)).tolist():
        change, strength = changes[i]
        data = change(data, *factors(strength))
    return data


def adjust_lighting(data, alpha):
    """Colours moved along the principal components of those of ImageNet's images (AlexNet's change).

    Parameters
    ----------
    data : array_like
        An image, (height, width, 3), or several, (n, height, width, 3), of numbers in [0, 255]. Those of one channel
        stay.
    alpha : sequence of float
        How far along each of the three components, as a share of its deviation.

    Returns
    -------
    ndarray
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        For another number of axes, and of channels, but 1 or 3.

    Examples
    --------
    >>> image = np.full((1, 1, 3), 100, np.uint8)
    >>> print(npx.image.adjust_lighting(image, [-1, 0, 0]))
    [[[131 132 132]]]
    """
    data = _coloured(data)
    if data.shape[-1] == 1:
        return data
    return like(data.astype(np.float32) + COLOURS @ np.asarray(alpha, np.float32), data)


def random_lighting(data, alpha_std=0.05):
    """adjust_lighting() by normal numbers: the same for all of several images.

    Parameters
    ----------
    data : array_like
        An image, (height, width, 3), or several, (n, height, width, 3), of numbers in [0, 255]. Those of one channel
        stay.
    alpha_std : float
        The standard deviation of how far, along each of the three components.

    Returns
    -------
    ndarray
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        For another number of axes, and of channels, but 1 or 3.

    Examples
    --------
    >>> image = np.full((1, 1, 3), 100, np.uint8)
    >>> x = npx.image.random_lighting(image, 0.1)
    >>> print(x.shape, x.dtype)
    (1, 1, 3) uint8
    """
    return adjust_lighting(data, _draws.stream().normal(0, alpha_std, 3))
