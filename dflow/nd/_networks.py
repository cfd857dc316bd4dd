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
    """The last element of each sequence.

    Parameters
    ----------
    data : ndarray
        Of shape (time, batch, ...), or with axis=1 (batch, time, ...).
    sequence_length : ndarray, optional
        Of shape (batch,): how many elements each sequence has.
    use_sequence_length : bool
        Whether sequence_length counts; it must be given then, and not else. Default False.
    axis : int
        That of time, 0 or 1. Default 0.

    Returns
    -------
    ndarray
        Of shape (batch, ...), and data's dtype.

    Raises
    ------
    ValueError
        For another axis, and where sequence_length is missing, or given and not used.

    Examples
    --------
    >>> x = nd.arange(6).reshape(3, 2)
    >>> print(nd.SequenceLast(x))
    [4. 5.]
    >>> print(nd.SequenceLast(x, nd.array([1, 2]), use_sequence_length=True))
    [0. 3.]
    """
    x, length, rest = _steps(data, sequence_length, use_sequence_length, axis)
    return (x[-1].copy() if length is None else at(x, length - 1)).reshape(x.shape[1:2] + rest)


def SequenceReverse(data, sequence_length=None, use_sequence_length=False, axis=0):
    """Sequences from their ends to their beginnings; what lies beyond their lengths stays.

    Parameters
    ----------
    data : ndarray
        Of shape (time, batch, ...).
    sequence_length : ndarray, optional
        Of shape (batch,): how many elements each sequence has.
    use_sequence_length : bool
        Whether sequence_length counts; it must be given then, and not else. Default False.
    axis : int
        That of time, which must be 0.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Raises
    ------
    ValueError
        For another axis, and where sequence_length is missing, or given and not used.

    Examples
    --------
    >>> x = nd.arange(6).reshape(3, 2)
    >>> print(nd.SequenceReverse(x, nd.array([3, 2]), use_sequence_length=True))
    [[4. 3.]
     [2. 1.]
     [0. 5.]]
    """
    check_choice("axis", axis, (0,))
    x, length, rest = _steps(data, sequence_length, use_sequence_length, axis)
    return turned(x, length).reshape(x.shape[:2] + rest).copy()


# ---- elements and channels


def hard_sigmoid(data, alpha=0.2, beta=0.5):
    """alpha * x + beta, but at least 0 and at most 1.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    alpha : float
        The slope. Default 0.2.
    beta : float
        The value at 0. Default 0.5.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(nd.hard_sigmoid(nd.array([-5, 0, 1, 5])))
    [0.  0.5 0.7 1. ]
    """
    return np.clip(alpha * as_array(data) + beta, 0, 1)


def SoftmaxActivation(data, mode="instance"):
    """The softmax of each sample, or of the channels at each place.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, ...), for channels (batch, channels, ...), and a floating point dtype.
    mode : str
        "instance": over all elements of a sample; "channel": along axis 1.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Raises
    ------
    ValueError
        For another mode.

    Examples
    --------
    >>> x = nd.zeros((1, 2, 2))
    >>> print(nd.SoftmaxActivation(x))
    [[[0.25 0.25]
      [0.25 0.25]]]
    >>> print(nd.SoftmaxActivation(x, mode="channel"))
    [[[0.5 0.5]
      [0.5 0.5]]]
    """
    check_choice("mode", mode, ("instance", "channel"))
    x = as_array(data)
    return npx.softmax(x, 1) if mode == "channel" else npx.softmax(x.reshape(len(x), -1)).reshape(x.shape)


def LRN(data, alpha=1e-4, beta=0.75, knorm=2, nsize=5):
    """Elements divided by a power of a sum of squares over the channels that are near: local response normalization.

    x / (knorm + alpha / nsize * sum(x**2))**beta, where the sum is over nsize channels.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, ...), and a floating point dtype.
    alpha : float
        The weight of the mean of squares. Default 1e-4.
    beta : float
        The power. Default 0.75.
    knorm : float
        What is added to it first. Default 2.
    nsize : int
        How many channels, odd; x is in their middle. Default 5.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x = nd.ones((1, 3, 1, 1))
    >>> print(nd.LRN(x, alpha=3, beta=1, knorm=1, nsize=3).reshape(3).round(4))
    [0.3333 0.25   0.3333]
    """
    x, channels = as_array(data), data.shape[1]
    near = np.arange(channels)
    near = (np.abs(near - near[:, None]) <= nsize // 2).astype(x.dtype)
    total = np.matmul(near, np.square(x).reshape(len(x), channels, -1)).reshape(x.shape)
    return x * (knorm + alpha / nsize * total) ** -beta


def moments(data, axes=None, keepdims=False):
    """Mean and variance along axes.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    axes : int or tuple of int, optional
        Along which. None: all.
    keepdims : bool
        Keep the axes, with length 1. Default False.

    Returns
    -------
    list of ndarray
        Mean and variance.

    Examples
    --------
    >>> mean, variance = nd.moments(nd.array([[1, 3], [2, 6]]), axes=1)
    >>> print(mean, variance)
    [2. 4.] [1. 4.]
    """
    x = as_array(data)
    return [np.mean(x, axis=axes, keepdims=keepdims), np.var(x, axis=axes, keepdims=keepdims)]


# ---- images


def GridGenerator(data, transform_type, target_shape=(0, 0)):
    """Where each pixel of a new image is found in an old one, for BilinearSampler().

    Parameters
    ----------
    data : ndarray
        For "affine" matrices of 2 by 3 in rows, of shape (batch, 6); for "warp" of shape (batch, 2, height, width):
        by how many pixels places differ from the pixel's own.
    transform_type : str
        "affine" or "warp".
    target_shape : tuple of int
        (height, width) of the new image; that of data for "warp".

    Returns
    -------
    ndarray
        Of shape (batch, 2, height, width): across and down, where -1 is the first pixel and 1 the last.

    Raises
    ------
    ValueError
        For another transform_type.

    Examples
    --------
    >>> same = nd.array([[1, 0, 0, 0, 1, 0]])
    >>> print(nd.GridGenerator(same, "affine", target_shape=(2, 2)))
    [[[[-1.  1.]
       [-1.  1.]]
    <BLANKLINE>
      [[-1. -1.]
       [ 1.  1.]]]]
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
    """Images at the places that a grid tells: bilinear means of four pixels, and 0 around the image.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, height, width), and a floating point dtype.
    grid : ndarray
        Of shape (batch, 2, new height, new width), as GridGenerator() gives it.
    cudnn_off : bool, optional
        MXNet's; it changes nothing.

    Returns
    -------
    ndarray
        Of shape (batch, channels, new height, new width), and data's dtype.

    Examples
    --------
    >>> x = nd.arange(4).reshape(1, 1, 2, 2)
    >>> print(nd.BilinearSampler(x, nd.zeros((1, 2, 1, 1))))
    [[[[1.5]]]]
    """
    x, grid = as_array(data), as_array(grid)
    across, down = ((grid[:, k] + 1) * ((n - 1) / 2) for k, n in ((0, x.shape[3]), (1, x.shape[2])))
    return sampled(x, across, down)


def SpatialTransformer(data, loc, target_shape=(0, 0), transform_type="affine", sampler_type="bilinear",
                       cudnn_off=None):
    """Images turned, moved and scaled by matrices.

    It is BilinearSampler() at the places of GridGenerator().

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, height, width), and a floating point dtype.
    loc : ndarray
        Matrices of 2 by 3 in rows, of shape (batch, 6), which say of each new pixel where it is in data.
    target_shape : tuple of int
        (height, width) of the result; 0: that of data. Default (0, 0).
    transform_type : str
        "affine", as in MXNet.
    sampler_type : str
        "bilinear", as in MXNet.
    cudnn_off : bool, optional
        MXNet's; it changes nothing.

    Returns
    -------
    ndarray
        Of shape (batch, channels, *target_shape), and data's dtype.

    Raises
    ------
    ValueError
        For another sampler_type or transform_type.

    Examples
    --------
    >>> x = nd.arange(4).reshape(1, 1, 2, 2)
    >>> print(nd.SpatialTransformer(x, nd.array([[-1, 0, 0, 0, 1, 0]])))
    [[[[1. 0.]
       [3. 2.]]]]
    """
    check_choice("sampler_type", sampler_type, ("bilinear",))
    target_shape = tuple(n or m for n, m in zip(target_shape, data.shape[2:]))
    return BilinearSampler(data, GridGenerator(loc, transform_type, target_shape))


def UpSampling(data, scale, sample_type="nearest", num_args=1):
    """Images with each pixel repeated along both axes.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, height, width).
    scale : int
        How often.
    sample_type : str
        "nearest"; MXNet's "bilinear" is not here.
    num_args : int
        MXNet's; it changes nothing.

    Returns
    -------
    ndarray
        Of shape (batch, channels, scale * height, scale * width), and data's dtype.

    Raises
    ------
    ValueError
        For another sample_type.

    Examples
    --------
    >>> print(nd.UpSampling(nd.array([[[[1, 2]]]]), scale=2))
    [[[[1. 1. 2. 2.]
       [1. 1. 2. 2.]]]]
    """
    check_choice("sample_type", sample_type, ("nearest",))
    return np.repeat(np.repeat(as_array(data), scale, axis=2), scale, axis=3)


def depth_to_space(data, block_size):
    """Images of fewer channels and more pixels: a pixel's channels become a block of pixels.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, block_size**2 * c, height, width).
    block_size : int
        The height and the width of a block.

    Returns
    -------
    ndarray
        Of shape (batch, c, block_size * height, block_size * width), and data's dtype.

    Examples
    --------
    >>> print(nd.depth_to_space(nd.arange(4).reshape(1, 4, 1, 1), block_size=2))
    [[[[0. 1.]
       [2. 3.]]]]
    """
    n, c, h, w = data.shape
    x = as_array(data).reshape(n, block_size, block_size, c // block_size**2, h, w)
    return x.transpose(0, 3, 4, 1, 5, 2).reshape(n, -1, h * block_size, w * block_size)


def space_to_depth(data, block_size):
    """Images of more channels and fewer pixels, as depth_to_space() would have them back.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, c, block_size * height, block_size * width).
    block_size : int
        The height and the width of a block, which becomes the channels of a pixel.

    Returns
    -------
    ndarray
        Of shape (batch, block_size**2 * c, height, width), and data's dtype.

    Examples
    --------
    >>> x = nd.space_to_depth(nd.arange(4).reshape(1, 1, 2, 2), block_size=2)
    >>> print(x.shape, x.reshape(4))
    (1, 4, 1, 1) [0. 1. 2. 3.]
    """
    n, c, h, w = data.shape
    x = as_array(data).reshape(n, c, h // block_size, block_size, w // block_size, block_size)
    return x.transpose(0, 3, 5, 1, 2, 4).reshape(n, -1, h // block_size, w // block_size)


# ---- indices


def unravel_index(data, shape):
    """Indices into a flattened array as indices along each of its axes.

    Parameters
    ----------
    data : ndarray
        Indices, of any shape; they may be of a floating point dtype.
    shape : tuple of int
        That of the array.

    Returns
    -------
    ndarray
        Of shape (axes, *data.shape), and data's dtype.

    Examples
    --------
    >>> print(nd.unravel_index(nd.array([0, 5]), shape=(2, 3)))
    [[0. 1.]
     [0. 2.]]
    """
    x = as_array(data)
    return np.stack(np.unravel_index(x.astype(np.int64, copy=False), tuple(shape))).astype(x.dtype, copy=False)


def ravel_multi_index(data, shape):
    """Indices along each axis of an array as indices into the flattened one.

    Parameters
    ----------
    data : ndarray
        Of shape (axes, ...): a row for each axis.
    shape : tuple of int
        That of the array.

    Returns
    -------
    ndarray
        Of data's shape without the first axis, and data's dtype.

    Examples
    --------
    >>> print(nd.ravel_multi_index(nd.array([[0, 1], [0, 2]]), shape=(2, 3)))
    [0. 5.]
    """
    x = as_array(data)
    strides = [math.prod(shape[k + 1:]) for k in range(len(shape))]
    return np.sum(x * lying_along(np.array(strides, x.dtype), 0, x.ndim), axis=0)
