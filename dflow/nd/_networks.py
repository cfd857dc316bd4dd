"""Functions of MXNet 1's networks that have no other name: of sequences, of channels, of places in images."""

import math

from dflow import npx
from dflow import numpy as np
from dflow._array.core import array as as_array
from dflow.ops.nn import check_choice, lying_along
from dflow.ops.recurrent import at, lengths_of, turned
from dflow.ops.regions import sampled

__all__ = ["LRN", "BilinearSampler", "GridGenerator", "SequenceLast", "SequenceReverse", "SoftmaxActivation",
           "SpatialTransformer", "UpSampling", "depth_to_space", "hard_sigmoid", "moments", "ravel_multi_index",
           "space_to_depth", "unravel_index"]


# ---- sequences


def _steps(data, sequence_length, use_sequence_length, axis):
    """Sequences as (time, batch, size), what their lengths are, and the shape behind these axes."""
    x = as_array(data)
    check_choice("axis", axis, (0, 1))
    if use_sequence_length != (sequence_length is not None):
        raise ValueError("sequence_length is " + ("missing" if use_sequence_length else "given, and not used"))
    x = x.swapaxes(0, 1) if axis else x
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:])), lengths_of(sequence_length, x.shape[1]), x.shape[2:]


def SequenceLast(data, sequence_length=None, use_sequence_length=False, axis=0):
    """The last element of each sequence. axis: that of time, 0 or 1; the other one is that of the batch."""
    x, length, rest = _steps(data, sequence_length, use_sequence_length, axis)
    return (x[-1].copy() if length is None else at(x, length - 1)).reshape(x.shape[1:2] + rest)


def SequenceReverse(data, sequence_length=None, use_sequence_length=False, axis=0):
    """Sequences from their ends to their beginnings; what lies beyond their lengths stays. Time is axis 0."""
    check_choice("axis", axis, (0,))
    x, length, rest = _steps(data, sequence_length, use_sequence_length, axis)
    return turned(x, length).reshape(x.shape[:2] + rest).copy()


# ---- elements and channels


def hard_sigmoid(data, alpha=0.2, beta=0.5):
    """alpha * x + beta, from 0 to 1."""
    return np.clip(alpha * as_array(data) + beta, 0, 1)


def SoftmaxActivation(data, mode="instance"):
    """softmax() of each sample, or of the channels (axis 1) at each place."""
    check_choice("mode", mode, ("instance", "channel"))
    x = as_array(data)
    return npx.softmax(x, 1) if mode == "channel" else npx.softmax(x.reshape(len(x), -1)).reshape(x.shape)


def LRN(data, alpha=1e-4, beta=0.75, knorm=2, nsize=5):
    """x / (knorm + alpha / nsize * sum(x^2))^beta, summed over nsize channels (axis 1), in whose middle x is."""
    x, channels = as_array(data), data.shape[1]
    near = np.arange(channels)
    near = (np.abs(near - near[:, None]) <= nsize // 2).astype(x.dtype)
    total = np.matmul(near, np.square(x).reshape(len(x), channels, -1)).reshape(x.shape)
    return x * (knorm + alpha / nsize * total) ** -beta


def moments(data, axes=None, keepdims=False):
    """A list of mean and variance along axes."""
    x = as_array(data)
    return [np.mean(x, axis=axes, keepdims=keepdims), np.var(x, axis=axes, keepdims=keepdims)]


# ---- images


def GridGenerator(data, transform_type, target_shape=(0, 0)):
    """Where an image of target_shape, (height, width), finds its pixels: (n, 2, height, width), across and down.

    From -1 to 1 are the first and last pixel. "affine": data are matrices of 2 by 3 in rows, (n, 6); "warp": data are
    (n, 2, height, width), by how many pixels places differ.
    """
    check_choice("transform_type", transform_type, ("affine", "warp"))
    x = as_array(data)
    height, width = x.shape[2:] if transform_type == "warp" else target_shape
    down, across = (np.linspace(-1, 1, n, dtype=x.dtype) for n in (height, width))
    places = np.stack(np.broadcast_arrays(across, down[:, None]))
    if transform_type == "warp":
        return places + x / np.array([(width - 1) / 2, (height - 1) / 2], x.dtype).reshape(2, 1, 1)
    places = np.concatenate([places.reshape(2, -1), np.ones((1, height * width), x.dtype)])
    return np.matmul(x.reshape(-1, 2, 3), places).reshape(-1, 2, height, width)


def BilinearSampler(data, grid, cudnn_off=None):
    """Images (n, channels, height, width) at the places of a GridGenerator(): bilinear means, 0 is around them."""
    x, grid = as_array(data), as_array(grid)
    across, down = ((grid[:, k] + 1) * ((n - 1) / 2) for k, n in ((0, x.shape[3]), (1, x.shape[2])))
    return sampled(x, across, down)


def SpatialTransformer(data, loc, target_shape=(0, 0), transform_type="affine", sampler_type="bilinear",
                       cudnn_off=None):
    """Images transformed by matrices of 2 by 3, loc, in rows: BilinearSampler() at the places of a GridGenerator()."""
    check_choice("sampler_type", sampler_type, ("bilinear",))
    target_shape = tuple(n or m for n, m in zip(target_shape, data.shape[2:]))
    return BilinearSampler(data, GridGenerator(loc, transform_type, target_shape))


def UpSampling(data, scale, sample_type="nearest", num_args=1):
    """Images with each pixel repeated, `scale` times along both axes."""
    check_choice("sample_type", sample_type, ("nearest",))
    return np.repeat(np.repeat(as_array(data), scale, axis=2), scale, axis=3)


def depth_to_space(data, block_size):
    """(n, block_size^2 * c, h, w) as (n, c, block_size * h, block_size * w)."""
    n, c, h, w = data.shape
    x = as_array(data).reshape(n, block_size, block_size, c // block_size**2, h, w)
    return x.transpose(0, 3, 4, 1, 5, 2).reshape(n, -1, h * block_size, w * block_size)


def space_to_depth(data, block_size):
    """(n, c, block_size * h, block_size * w) as (n, block_size^2 * c, h, w)."""
    n, c, h, w = data.shape
    x = as_array(data).reshape(n, c, h // block_size, block_size, w // block_size, block_size)
    return x.transpose(0, 3, 5, 1, 2, 4).reshape(n, -1, h // block_size, w // block_size)


# ---- indices


def unravel_index(data, shape):
    """Flat indices as rows of indices along each axis of a shape."""
    x = as_array(data)
    return np.stack(np.unravel_index(x.astype(np.int64, copy=False), tuple(shape))).astype(x.dtype, copy=False)


def ravel_multi_index(data, shape):
    """Rows of indices along each axis of a shape as flat ones."""
    x = as_array(data)
    strides = [math.prod(shape[k + 1:]) for k in range(len(shape))]
    return np.sum(x * lying_along(np.array(strides, x.dtype), 0, x.ndim), axis=0)
