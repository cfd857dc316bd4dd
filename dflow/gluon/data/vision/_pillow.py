"""Files of images: Pillow reads them, where it is installed."""

import io
import math

import numpy

from dflow.gluon.data.batchify import as_array
from dflow.ops.files import opened, reading

# Pillow reads other things, too, some by running other programs.
FORMATS = "AVIF BMP GIF JPEG JPEG2000 PNG PPM SUN TIFF WEBP".split()
ANY = 2 ** 24           # pixels that each file may say it has: 64 MB
RATIO = 4096            # and for each of its bytes: more than any format gains on what is no single colour


def read(file, flag=1):
    """The image of a path or an open file, upright: uint8, of three channels, or of one, grey, with flag=0.

    ValueError, or Pillow's OSError, for a file that is no image, or of more pixels than its size or Pillow allows.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ImportError("images are read with Pillow, which is not installed: pip install dflow[image]") from error
    with reading(file, lambda: OSError), opened(file) as stream:
        data = stream.read()                # for a stream in memory never makes room for more than it has
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if math.prod(image.size) > max(ANY, len(data) * RATIO):
                raise ValueError(f"an image of {image.size} pixels is not in a file of {len(data)} bytes")
            pixels = numpy.asarray(ImageOps.exif_transpose(image).convert("RGB" if flag else "L"))
    return as_array(pixels.reshape(*pixels.shape[:2], -1))
