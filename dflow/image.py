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
from dflow.gluon.data.vision import _pillow, transforms
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
    """Reads the image in a file, by Pillow: `pip install dflow[image]`.

    It stands upright, as the camera's mark says.

    Parameters
    ----------
    filename : path or file
        A path, or a file that is open for reading bytes.
    flag : int
        1: three channels; 0: one, grey.
    to_rgb : bool
        Red before green before blue; False: blue before green before red.
    out : ndarray, optional
        What it is written to.

    Returns
    -------
    ndarray
        Of uint8, of shape (height, width, channels); or `out`.

    Raises
    ------
    ImportError
        Without Pillow.
    OSError
        For a file that is not there, or no image that Pillow knows.
    ValueError
        For a file that says it has far more pixels than it has bytes.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "two.ppm"), "wb") as file:
    ...         size = file.write(b"P6 2 1 255 " + bytes([255, 0, 0, 0, 0, 255]))       # a red pixel, a blue one
    ...     x = dflow.image.imread(file.name)
    >>> print(x)
    [[[255   0   0]
      [  0   0 255]]]
    """
    return _stored(_pillow.read(filename, flag), to_rgb, out)


def imdecode(buf, flag=1, to_rgb=True, out=None):
    """Reads the image in the bytes of a file, by Pillow: `pip install dflow[image]`.

    Parameters
    ----------
    buf : bytes or array_like
        The bytes, or an array of uint8, for which it waits.
    flag : int
        1: three channels; 0: one, grey.
    to_rgb : bool
        Red before green before blue; False: blue before green before red.
    out : ndarray, optional
        What it is written to.

    Returns
    -------
    ndarray
        Of uint8, of shape (height, width, channels); or `out`.

    Raises
    ------
    ImportError
        Without Pillow.
    OSError
        For bytes that are no image that Pillow knows.
    ValueError
        For bytes that say they have far more pixels than they are many.

    Examples
    --------
    >>> print(dflow.image.imdecode(b"P6 2 1 255 " + bytes([255, 0, 0, 0, 0, 255]), to_rgb=False))
    [[[  0   0 255]
      [255   0   0]]]
    """
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
    """The image as one of another size.

    Parameters
    ----------
    src : array_like
        An image, (height, width, channels), or several of one size.
    w : int
        The new width.
    h : int
        The new height.
    interp : int
        0 nearest, 1 bilinear, 2 area, 3 cubic, 4 Lanczos; 9: cubic where both edges become longer, area where both
        become shorter, else bilinear; 10: any of them, by chance.

    Returns
    -------
    ndarray
        Of the same dtype.

    Raises
    ------
    ValueError
        For another interp, a size that is not positive, and what is no image.

    Examples
    --------
    >>> image = np.array([[[0], [100]]], np.uint8)          # a row of two pixels
    >>> print(dflow.image.imresize(image, 4, 1)[0, :, 0])
    [  0  25  75 100]
    """
    src = np.asarray(src)
    return resize(src, (w, h), interp=_method(interp, src.shape[-2:-4:-1], (w, h)))


def resize_short(src, size, interp=2):
    """The image with a shorter edge of some length, in its proportions.

    Parameters
    ----------
    src : ndarray
        An image, (height, width, channels), or several of one size.
    size : int
        The length of the shorter edge.
    interp : int
        How: see imresize().

    Returns
    -------
    ndarray
        Of the same dtype.

    Examples
    --------
    >>> dflow.image.resize_short(np.ones((20, 30, 3)), 10).shape
    (10, 15, 3)
    """
    h, w = src.shape[-3:-1]
    return imresize(src, size * w // min(w, h), size * h // min(w, h), interp)


# ---- parts


def fixed_crop(src, x0, y0, w, h, size=None, interp=2):
    """The part that begins at a pixel, a copy; or resized.

    Parameters
    ----------
    src : array_like
        An image, (height, width, channels), or several of one size.
    x0 : int
        The first column.
    y0 : int
        The first row.
    w : int
        How many columns.
    h : int
        How many rows.
    size : (int, int), optional
        The (width, height) to resize it to.
    interp : int
        How: see imresize().

    Returns
    -------
    ndarray
        Of the same dtype.

    Raises
    ------
    ValueError
        Unless all of the part is inside.

    Examples
    --------
    >>> image = np.arange(12).reshape(3, 4, 1)
    >>> print(dflow.image.fixed_crop(image, 1, 0, 2, 2)[..., 0])
    [[1 2]
     [5 6]]
    """
    found = crop(np.asarray(src), x0, y0, w, h)
    return found.copy() if size is None or tuple(size) == (w, h) else imresize(found, *size, interp)


def _cropped(src, box, size, interp):
    return fixed_crop(src, *box, size, interp), box


def center_crop(src, size, interp=2):
    """The middle of an image, and where it is.

    Parameters
    ----------
    src : array_like
        An image, (height, width, channels), or several of one size.
    size : (int, int)
        (width, height). A smaller image gives a part of these proportions, which is enlarged.
    interp : int
        How: see imresize().

    Returns
    -------
    ndarray
        The part, of that size and of the same dtype.
    tuple of int
        (x0, y0, width, height): where it was.

    Examples
    --------
    >>> image = np.arange(12).reshape(3, 4, 1)
    >>> x, box = dflow.image.center_crop(image, (2, 1))
    >>> print(x[..., 0], box)
    [[5 6]] (1, 1, 2, 1)
    """
    return _cropped(src, part(as_image(src), size, MIDDLE, MIDDLE), size, interp)


def random_crop(src, size, interp=2):
    """A part of an image, anywhere, and where it is.

    Parameters
    ----------
    src : array_like
        An image, (height, width, channels), or several of one size.
    size : (int, int)
        (width, height). A smaller image gives a part of these proportions, which is enlarged.
    interp : int
        How: see imresize().

    Returns
    -------
    ndarray
        The part, of that size and of the same dtype.
    tuple of int
        (x0, y0, width, height): where it was.

    Examples
    --------
    >>> image = np.arange(12).reshape(3, 4, 1)
    >>> x, (x0, y0, width, height) = dflow.image.random_crop(image, (2, 1))
    >>> (x == image[y0:y0 + height, x0:x0 + width]).all().item()
    True
    """
    return _cropped(src, part(as_image(src), size, ANYWHERE, ANYWHERE), size, interp)


def random_size_crop(src, size, area, ratio, interp=2):
    """A part of random area and proportions, resized, and where it is; the middle, where ten of them do not fit.

    Parameters
    ----------
    src : array_like
        An image, (height, width, channels), or several of one size.
    size : (int, int)
        The (width, height) that it is resized to.
    area : float or (float, float)
        Its share of the image's: the least, up to all of it, or the least and the greatest.
    ratio : (float, float)
        The least and the greatest of its width to its height.
    interp : int
        How: see imresize().

    Returns
    -------
    ndarray
        The part, of that size and of the same dtype.
    tuple of int
        (x0, y0, width, height): where it was.

    Examples
    --------
    >>> x, box = dflow.image.random_size_crop(np.ones((4, 4, 3)), (8, 8), (0.25, 0.25), (1, 1))
    >>> print(x.shape, box[2:])
    (8, 8, 3) (2, 2)
    """
    area = (area, 1.0) if isinstance(area, (int, float)) else area
    return _cropped(src, random_part(as_image(src), size, area, ratio), size, interp)


def imrotate(src, rotation_degrees, zoom_in=False, zoom_out=False):
    """Tensors turned to the left; 0 is around them. The channels are before height and width.

    Parameters
    ----------
    src : array_like
        Of shape (channels, height, width), of a floating point type, or several, (n, channels, height, width).
    rotation_degrees : float or sequence of float
        The angle, or of several tensors one for each.
    zoom_in : bool
        The result is enlarged until nothing of what is around is seen.
    zoom_out : bool
        It is made smaller until all of the tensor is seen.

    Returns
    -------
    ndarray
        Of the same shape and dtype.

    Raises
    ------
    TypeError
        For other types, and for more than one angle for one tensor.
    ValueError
        For both zooms at once, and for another number of angles, or of axes.

    Examples
    --------
    >>> x = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> print(dflow.image.imrotate(x, 90).round(6))
    [[[2. 4.]
      [1. 3.]]]
    """
    return transforms.rotate(src, rotation_degrees, zoom_in, zoom_out)


def random_rotate(src, angle_limits, zoom_in=False, zoom_out=False):
    """Tensors turned to the left by a random angle, another one for each of several: see imrotate().

    Parameters
    ----------
    src : array_like
        Of shape (channels, height, width), of a floating point type, or several, (n, channels, height, width).
    angle_limits : (float, float)
        The least and the greatest angle, in degrees.
    zoom_in : bool
        The result is enlarged until nothing of what is around is seen.
    zoom_out : bool
        It is made smaller until all of the tensor is seen.

    Returns
    -------
    ndarray
        Of the same shape and dtype.

    Raises
    ------
    TypeError
        For other types.
    ValueError
        For both zooms at once, and for another number of axes.

    Examples
    --------
    >>> dflow.image.random_rotate(np.ones((3, 4, 4)), (-10, 10), zoom_in=True).shape
    (3, 4, 4)
    """
    return transforms.random_rotate(src, angle_limits, zoom_in, zoom_out)


def color_normalize(src, mean, std=None):
    """(src - mean) / std: the image by its channels.

    Parameters
    ----------
    src : ndarray
        An image, (height, width, channels), or several of one size.
    mean : float, sequence of float or None
        A number, or one for each channel; None: nothing is taken away.
    std : float or sequence of float, optional
        The same; None: it is not divided.

    Returns
    -------
    ndarray
        A new array, of floats; with neither mean nor std, `src` itself.

    Examples
    --------
    >>> print(dflow.image.color_normalize(np.full((1, 1, 3), 100, np.uint8), [90, 100, 110], 10))
    [[[ 1.  0. -1.]]]
    """
    if mean is not None:
        src = src - np.asarray(mean, np.float32)
    return src if std is None else src / np.asarray(std, np.float32)


# ---- augmenters


class Augmenter:
    """Base class: aug(image) is another image.

    Parameters
    ----------
    **kwargs
        What they are called, and what they are: they become attributes, which dumps() tells.

    Raises
    ------
    NotImplementedError
        When it is called, of a class without __call__().

    Examples
    --------
    >>> class Inverse(dflow.image.Augmenter):
    ...     def __call__(self, src):
    ...         return self.white - src
    >>> aug = Inverse(white=255)
    >>> print(aug(np.full((1, 1, 1), 55)), aug.dumps())
    [[[200]]] ["inverse", {"white": 255}]
    """

    def __init__(self, **kwargs):
        self._kwargs = {name: np.asarray(x).tolist() if hasattr(x, "tolist") else x
                        for name, x in kwargs.items()}
        vars(self).update(kwargs)

    def dumps(self):
        """Name and arguments, as JSON.

        Returns
        -------
        str
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src):
        raise NotImplementedError(f"{type(self).__name__} needs a __call__()")


class SequentialAug(Augmenter):
    """Augmenters, one after the other.

    Parameters
    ----------
    ts : list of Augmenter
        They, in this order.

    Examples
    --------
    >>> aug = dflow.image.SequentialAug([dflow.image.ResizeAug(10), dflow.image.CenterCropAug((8, 6))])
    >>> aug(np.ones((20, 30, 3))).shape
    (6, 8, 3)
    """

    def __init__(self, ts):
        super().__init__()
        self.ts = ts

    def dumps(self):
        """The name, and a list of what the augmenters tell.

        Returns
        -------
        list
        """
        return [type(self).__name__.lower(), [t.dumps() for t in self.ts]]

    def _order(self):
        return self.ts

    def __call__(self, src):
        for t in self._order():
            src = t(src)
        return src


class RandomOrderAug(SequentialAug):
    """Augmenters, one after the other, in another random order each time.

    Parameters
    ----------
    ts : list of Augmenter
        They, in any order.

    Examples
    --------
    >>> aug = dflow.image.RandomOrderAug([dflow.image.CastAug(), dflow.image.HorizontalFlipAug(p=1)])
    >>> print(aug(np.array([[[1], [2]]], np.uint8))[0, :, 0])
    [2. 1.]
    """

    def _order(self):
        return [self.ts[i] for i in _draws.stream().permutation(len(self.ts)).tolist()]


class _Sized(Augmenter):
    def __init__(self, size, interp=2):
        super().__init__(size=size, interp=interp)


class ResizeAug(_Sized):
    """Resizes images to a shorter edge of some length, as resize_short().

    Parameters
    ----------
    size : int
        The length of the shorter edge.
    interp : int
        How: see imresize().

    Examples
    --------
    >>> dflow.image.ResizeAug(10)(np.ones((20, 30, 3))).shape
    (10, 15, 3)
    """

    def __call__(self, src):
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(_Sized):
    """Resizes images whatever the proportions were, as imresize().

    Parameters
    ----------
    size : (int, int)
        (width, height).
    interp : int
        How: see imresize().

    Examples
    --------
    >>> dflow.image.ForceResizeAug((10, 8))(np.ones((20, 30, 3))).shape
    (8, 10, 3)
    """

    def __call__(self, src):
        return imresize(src, *self.size, self.interp)


class CenterCropAug(_Sized):
    """Takes the middle of images, as center_crop().

    Parameters
    ----------
    size : (int, int)
        (width, height).
    interp : int
        How smaller images are enlarged: see imresize().

    Examples
    --------
    >>> dflow.image.CenterCropAug((10, 8))(np.ones((20, 30, 3))).shape
    (8, 10, 3)
    """

    def __call__(self, src):
        return center_crop(src, self.size, self.interp)[0]


class RandomCropAug(_Sized):
    """Takes a part of images, anywhere, as random_crop().

    Parameters
    ----------
    size : (int, int)
        (width, height).
    interp : int
        How smaller images are enlarged: see imresize().

    Examples
    --------
    >>> dflow.image.RandomCropAug((10, 8))(np.ones((20, 30, 3))).shape
    (8, 10, 3)
    """

    def __call__(self, src):
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """Takes a part of random area and proportions, resized, as random_size_crop().

    Parameters
    ----------
    size : (int, int)
        The (width, height) that it is resized to.
    area : float or (float, float)
        Its share of the image's: the least, up to all of it, or the least and the greatest.
    ratio : (float, float)
        The least and the greatest of its width to its height.
    interp : int
        How: see imresize().

    Examples
    --------
    >>> aug = dflow.image.RandomSizedCropAug((10, 8), area=0.5, ratio=(0.75, 1.5))
    >>> aug(np.ones((20, 30, 3))).shape
    (8, 10, 3)
    """

    def __init__(self, size, area, ratio, interp=2):
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)

    def __call__(self, src):
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """Exchanges left and right, by chance.

    Parameters
    ----------
    p : float
        The probability that it does.

    Examples
    --------
    >>> print(dflow.image.HorizontalFlipAug(p=1)(np.array([[[1], [2]]]))[0, :, 0])
    [2 1]
    """

    def __init__(self, p):
        super().__init__(p=p)

    def __call__(self, src):
        return npx_image.random_flip_left_right(src, self.p)


class CastAug(Augmenter):
    """Makes images of another type.

    Parameters
    ----------
    typ : dtype
        Which one.

    Examples
    --------
    >>> dflow.image.CastAug()(np.ones((20, 30, 3), np.uint8)).dtype
    dtype('float32')
    """

    def __init__(self, typ="float32"):
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src):
        return src.astype(self.typ)


class BrightnessJitterAug(Augmenter):
    """Makes images brighter or darker, as npx.image.random_brightness().

    Parameters
    ----------
    brightness : float
        The factor is from [max(0, 1 - brightness), 1 + brightness).

    Examples
    --------
    >>> x = dflow.image.BrightnessJitterAug(0.5)(np.full((1, 1, 3), 100.0))
    >>> print((x >= 50).all(), (x < 150).all())
    True True
    """

    def __init__(self, brightness):
        super().__init__(brightness=brightness)

    def __call__(self, src):
        return npx_image.random_brightness(src, *factors(self.brightness))


class ContrastJitterAug(Augmenter):
    """Moves pixels away from the mean brightness, or towards it, as npx.image.random_contrast().

    Parameters
    ----------
    contrast : float
        The factor is from [max(0, 1 - contrast), 1 + contrast).

    Examples
    --------
    >>> x = dflow.image.ContrastJitterAug(0.5)(np.array([[[0.0] * 3, [200.0] * 3]]))
    >>> print(x.mean().round(3), 50 <= x.max() - x.min() < 300)
    100.0 True
    """

    def __init__(self, contrast):
        super().__init__(contrast=contrast)

    def __call__(self, src):
        return npx_image.random_contrast(src, *factors(self.contrast))


class SaturationJitterAug(Augmenter):
    """Moves colours away from grey, or towards it, as npx.image.random_saturation().

    Parameters
    ----------
    saturation : float
        The factor is from [max(0, 1 - saturation), 1 + saturation).

    Examples
    --------
    >>> print(dflow.image.SaturationJitterAug(0.5)(np.full((1, 1, 3), 100, np.uint8)))      # it is grey
    [[[100 100 100]]]
    """

    def __init__(self, saturation):
        super().__init__(saturation=saturation)

    def __call__(self, src):
        return npx_image.random_saturation(src, *factors(self.saturation))


class ColorJitterAug(RandomOrderAug):
    """Changes brightness, contrast and saturation as their augmenters do, in random order.

    Parameters
    ----------
    brightness : float
        That of BrightnessJitterAug; 0: not at all.
    contrast : float
        That of ContrastJitterAug; 0: not at all.
    saturation : float
        That of SaturationJitterAug; 0: not at all.

    Examples
    --------
    >>> aug = dflow.image.ColorJitterAug(brightness=0.5, contrast=0.5, saturation=0)
    >>> [type(t).__name__ for t in aug.ts]
    ['BrightnessJitterAug', 'ContrastJitterAug']
    """

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
    """Turns hues by up to `hue` times half the circle, either way, in the plane of the NTSC's colours.

    The result has floats, which are not kept within [0, 255].

    Parameters
    ----------
    hue : float
        How much of half the circle, at most: 1 has all hues.

    Examples
    --------
    >>> print(dflow.image.HueJitterAug(1)(np.full((1, 1, 3), 100.0)).round(0))      # grey has no hue
    [[[100. 100. 100.]]]
    """

    def __init__(self, hue):
        super().__init__(hue=hue)

    def __call__(self, src):
        angle = math.pi * _draws.uniform(-self.hue, self.hue)
        cos, sin = math.cos(angle), math.sin(angle)
        return _times(src, (RGB @ [[1, 0, 0], [0, cos, -sin], [0, sin, cos]] @ YIQ).T)


class LightingAug(Augmenter):
    """Adds noise along principal components of colours; the result has floats.

    Parameters
    ----------
    alphastd : float
        The standard deviation of three numbers, one for each component.
    eigval : sequence of float
        What they are multiplied by.
    eigvec : array_like
        The components, by columns, of shape (3, 3).

    Examples
    --------
    >>> aug = dflow.image.LightingAug(0.1, [1, 0, 0], np.ones((3, 3)))      # along grey alone
    >>> x = aug(np.full((1, 1, 3), 100.0))
    >>> print(x.shape, x.max() - x.min())
    (1, 1, 3) 0.0
    """

    def __init__(self, alphastd, eigval, eigvec):
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)

    def __call__(self, src):
        noise = _draws.stream().normal(0, self.alphastd, 3) * np.asarray(self.eigval)
        return src + (np.asarray(self.eigvec) @ noise).astype(np.float32)


class ColorNormalizeAug(Augmenter):
    """Normalizes channels, as color_normalize(): (src - mean) / std.

    Parameters
    ----------
    mean : float, sequence of float or None
        A number, or one for each channel; None: nothing is taken away.
    std : float, sequence of float or None
        The same; None: it is not divided.

    Examples
    --------
    >>> print(dflow.image.ColorNormalizeAug([90, 100, 110], 10)(np.full((1, 1, 3), 100, np.uint8)))
    [[[ 1.  0. -1.]]]
    """

    def __init__(self, mean, std):
        super().__init__(mean=mean, std=std)

    def __call__(self, src):
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Makes all channels their brightness, by chance; the result has floats then.

    Parameters
    ----------
    p : float
        The probability that it does.

    Examples
    --------
    >>> print(dflow.image.RandomGrayAug(p=1)(np.array([[[100.0, 200.0, 0.0]]])).round(1))
    [[[165. 165. 165.]]]
    """

    def __init__(self, p):
        super().__init__(p=p)

    def __call__(self, src):
        return _times(src, numpy.repeat([[0.21], [0.72], [0.07]], 3, axis=1)) if _draws.uniform() < self.p else src


def CreateAugmenter(data_shape, resize=0, rand_crop=False, rand_resize=False, rand_mirror=False, mean=None, std=None,
                    brightness=0, contrast=0, saturation=0, hue=0, pca_noise=0, rand_gray=0, inter_method=2):
    """Makes a list of augmenters, for images of one size; what is 0, False or None has none.

    In this order: sizes, parts, flips, CastAug() to float32, colours, normalization.

    Parameters
    ----------
    data_shape : (int, int, int)
        (channels, height, width) of the results.
    resize : int
        The shorter edge, at first.
    rand_crop : bool
        A part anywhere, not the middle.
    rand_resize : bool
        A part of random area, 0.08 at least, and of proportions from 3 / 4 to 4 / 3, resized. It needs rand_crop.
    rand_mirror : bool
        Left and right are exchanged, half of the time.
    mean : sequence of float, optional
        Of each channel, or True for ImageNet's.
    std : sequence of float, optional
        The same.
    brightness : float
        That of ColorJitterAug.
    contrast : float
        That of ColorJitterAug.
    saturation : float
        That of ColorJitterAug.
    hue : float
        That of HueJitterAug.
    pca_noise : float
        The alphastd of LightingAug, along the components of ImageNet's colours.
    rand_gray : float
        The probability of RandomGrayAug.
    inter_method : int
        The `interp` of what resizes: see imresize().

    Returns
    -------
    list of Augmenter

    Raises
    ------
    ValueError
        For rand_resize without rand_crop.

    Examples
    --------
    >>> augs = dflow.image.CreateAugmenter((3, 8, 10), resize=12, rand_mirror=True, mean=True)
    >>> [type(aug).__name__ for aug in augs]
    ['ResizeAug', 'CenterCropAug', 'HorizontalFlipAug', 'CastAug', 'ColorNormalizeAug']
    >>> dflow.image.SequentialAug(augs)(np.ones((20, 30, 3), np.uint8)).shape
    (8, 10, 3)
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
