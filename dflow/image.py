"""Images, as mxnet.image: files, sizes, parts. Pillow reads the files: `pip install dflow[image]`.

An image is an array of shape (height, width, channels), as of gluon.data.vision.transforms, which has the augmenters;
it is read as uint8, red before green before blue. What is random draws from np.random, in a DataLoader from its
batch's stream. `interp` is a number of OpenCV's: 0 nearest, 1 bilinear, 2 area, 3 cubic, 4 Lanczos; 9 is cubic where
an image becomes larger and area where it becomes smaller, 10 any of them.
"""

import io

import dflow.numpy as np
from dflow._missing import missing
from dflow.gluon.data import _draws
from dflow.gluon.data.vision import _pillow
from dflow.gluon.data.vision.transforms import anywhere, crop, middle, part, random_part, resize, scale_down

__all__ = ["center_crop", "color_normalize", "fixed_crop", "imdecode", "imread", "imresize", "random_crop",
           "random_size_crop", "resize_short", "scale_down"]

__getattr__ = missing(__name__, """Augmenter BrightnessJitterAug CastAug CenterCropAug ColorJitterAug ColorNormalizeAug
    ContrastJitterAug CreateAugmenter CreateDetAugmenter CreateMultiRandCropAugmenter DetAugmenter DetBorrowAug
    DetHorizontalFlipAug DetRandomCropAug DetRandomPadAug DetRandomSelectAug ForceResizeAug HorizontalFlipAug
    HueJitterAug ImageDetIter ImageIter LightingAug RandomCropAug RandomGrayAug RandomOrderAug RandomSizedCropAug
    ResizeAug SaturationJitterAug SequentialAug copyMakeBorder imrotate random_rotate""")


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
    return resize(src, (w, h), _method(interp, src.shape[-2:-4:-1], (w, h)))


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
    return _cropped(src, part(src, size, middle), size, interp)


def random_crop(src, size, interp=2):
    """A part of that size, anywhere, and where it is: see center_crop()."""
    return _cropped(src, part(src, size, anywhere), size, interp)


def random_size_crop(src, size, area, ratio, interp=2):
    """A part of random area and proportions, resized, and where it is; the middle, where ten of them do not fit.

    area: its share of the image's, the least (up to all of it) or (least, greatest). ratio: of its width to its
    height, (least, greatest).
    """
    area = (area, 1.0) if isinstance(area, (int, float)) else area
    return _cropped(src, random_part(src, size, area, ratio), size, interp)


def color_normalize(src, mean, std=None):
    """(src - mean) / std, each a number, one for each channel, or None; a new array, of floats."""
    if mean is not None:
        src = src - np.asarray(mean, np.float32)
    return src if std is None else src / np.asarray(std, np.float32)
