"""Boxes in images, as MXNet's `npx` names them, for the detection of objects."""

import math

import numpy

from dflow._array.core import array as as_array
from dflow._functions.advanced_indexing import take, where
from dflow._functions.ufunc import wrap_ufunc
from dflow._tracing.tape import detach
from dflow.ops.creation import arange
from dflow.ops.elementwise import absolute, maximum
from dflow.ops.nn import check_shape, floating
from dflow.ops.reductions import any as any_of
from dflow.ops.reductions import max as largest
from dflow.ops.shape import moveaxis
from dflow.ops.table import op

floor = wrap_ufunc(numpy.floor)


def _images(data):
    x = floating(data)
    if x.ndim != 4:
        raise ValueError(f"data must have 4 axes, not {x.ndim}")
    return x


@op("d, [0.75, 0.5]", "d, (0.5, 0.25), (1, 2, 0.5)", "d, 0.5, 2.0, True", "d, [0.5], [4, 1], steps=(0.25, 0.5)",
    "d, offsets=(0.25, 1)", module="npx")
def multibox_prior(data, sizes=(1.0,), ratios=(1.0,), clip=False, steps=(-1.0, -1.0), offsets=(0.5, 0.5)):
    """Boxes around each pixel of data, of shape (1, height * width * boxes, 4): left, top, right, bottom, as shares.

    A pixel's have each size with the first ratio, of width to height, then the first size with each other ratio. steps
    between pixels and offsets of centres, in steps, are down and across; clip: boxes end where the image does.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, height, width).
    sizes : tuple of float
        Of boxes, as shares.
    ratios : tuple of float
        Of width to height.
    clip : bool
        Boxes end where the image does.
    steps : tuple of float
        Down and across; -1: one box a pixel.
    offsets : tuple of float
        Of centres, in steps.

    Returns
    -------
    ndarray
        Of data's dtype.

    Examples
    --------
    >>> npx.multibox_prior(np.ones((1, 3, 2, 2)), sizes=(0.5, 0.25)).shape
    (1, 8, 4)
    """
    x = _images(data)
    sizes, ratios = (numpy.atleast_1d(numpy.asarray(v, float)).tolist() for v in (sizes, ratios))
    shapes = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    height, width = x.shape[2:]
    half = numpy.array([(s * height / width * math.sqrt(r), s / math.sqrt(r)) for s, r in shapes]) / 2
    down, across = ((numpy.arange(n) + offset) * (step if step > 0 else 1 / n)
                    for n, step, offset in zip((height, width), steps, offsets))
    centres = numpy.stack(numpy.meshgrid(across, down), axis=-1).reshape(-1, 1, 2)
    boxes = numpy.concatenate([centres - half, centres + half], axis=-1).reshape(1, -1, 4)
    return as_array((boxes.clip(0, 1) if clip else boxes).astype(x.dtype))


def sampled(data, across, down):
    """Images (n, channels, height, width) at places (n, ...), in pixels: bilinear means of four; 0 is around them."""
    n, channels, height, width = data.shape
    pixels = data.transpose(0, 2, 3, 1).reshape(-1, channels)
    sample = arange(n).reshape(-1, *[1] * (across.ndim - 1))
    result, left, top = 0, floor(detach(across)), floor(detach(down))
    for column, row in ((left, top), (left + 1, top), (left, top + 1), (left + 1, top + 1)):
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        weight = where(inside, (1 - absolute(across - column)) * (1 - absolute(down - row)), 0)
        index = sample * (height * width) + where(inside, row * width + column, 0).astype(numpy.intp)
        result = result + take(pixels, index, 0, mode="clip") * weight[..., None]
    return moveaxis(result, -1, 1)


def _inside(begin, end, bins, length):
    """Which of `length` pixels in a row are in each of so many bins from begin to end: (regions, bins, length)."""
    begin, i = begin[:, None], arange(bins)
    pixels = maximum(end[:, None] - begin + 1, 1)
    first, last = begin + i * pixels // bins, begin - -(i + 1) * pixels // bins
    place = arange(length)
    return (first[..., None] <= place) & (place < last[..., None])


@op("d, b, (2, 2), 1.0", "d, b, (3, 2), 0.5", "d, b[2:], pooled_size=(1, 7), spatial_scale=0.75", module="npx")
def roi_pooling(data, rois, pooled_size, spatial_scale):
    """The largest elements in each bin of regions of data: (regions, channels, *pooled_size); 0 of a bin without any.

    A region is (number of the sample, left, top, right, bottom), which are scaled and rounded; right and bottom are in.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, height, width).
    rois : ndarray
        Of shape (regions, 5).
    pooled_size : tuple of int
        (height, width) of the result.
    spatial_scale : float
        Of the regions' numbers to data's pixels.

    Returns
    -------
    ndarray
        Of data's dtype.

    Examples
    --------
    >>> x, region = np.arange(16.0).reshape(1, 1, 4, 4), np.array([[0, 0, 0, 3, 3]])
    >>> print(npx.roi_pooling(x, region, (2, 2), 1.0))
    [[[[ 5.  7.]
       [13. 15.]]]]
    """
    x, rois = _images(data), floating(rois)
    check_shape("rois", rois, (*rois.shape[:1], 5))
    height, width = pooled_size
    if height < 1 or width < 1:
        raise ValueError(f"pooled_size must be 2 numbers of at least 1, not {pooled_size}")
    left, top, right, bottom = (floor(rois[:, k] * spatial_scale + 0.5).astype(numpy.int64) for k in range(1, 5))
    rows, columns = _inside(top, bottom, height, x.shape[2]), _inside(left, right, width, x.shape[3])
    x = take(x, rois[:, 0].astype(numpy.int64), 0, mode="clip")
    x = largest(where(columns[:, None, None], x[:, :, :, None], -math.inf), axis=-1)
    x = largest(where(rows[:, None, :, :, None], x[:, :, None], -math.inf), axis=3)
    return where(any_of(rows, -1)[:, None, :, None] & any_of(columns, -1)[:, None, None], x, 0)
