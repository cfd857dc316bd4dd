"""Files of images: Pillow reads them, where it is installed."""

import numpy

from dflow.gluon.data.batchify import as_array


def read(file, flag=1):
    """The image of a path or an open file, upright: uint8, of three channels, or of one, grey, with flag=0."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ImportError("images are read with Pillow, which is not installed: pip install dflow[image]") from error
    with Image.open(file) as image:
        pixels = numpy.asarray(ImageOps.exif_transpose(image).convert("RGB" if flag else "L"))
    return as_array(pixels.reshape(*pixels.shape[:2], -1))
