"""What MXNet 1 has as mxnet.nd.contrib: loops, boxes, pools of any size."""

import math

import numpy

from dflow import numpy as np
from dflow._array.core import array as as_array
from dflow._base.missing import missing
from dflow.nd import _table
from dflow.npx import cond, foreach, while_loop
from dflow.ops.nn import check_choice

_functions = _table.read("""
CTCLoss/ctc_loss npx.ctc_loss data label data_lengths label_lengths | use_data_lengths use_label_lengths blank_label
MultiBoxPrior    npx.multibox_prior data | sizes ratios clip steps offsets
arange_like      npx.arange_like    data | start step repeat axis
boolean_mask     npx.boolean_mask   data index | axis
SyncBatchNorm    npx.sync_batch_norm data gamma beta moving_mean moving_var | eps momentum fix_gamma use_global_stats output_mean_var ndev -key
""", home="nd.contrib"  # noqa: E501
) | _table.read("isfinite/isinf/isnan np.{} data |", np.float32, "nd.contrib")
globals().update(_functions)

__all__ = list(_functions) + ["AdaptiveAvgPooling2D", "box_iou", "cond", "div_sqrt_dim", "foreach", "index_copy",
           "while_loop"]

__getattr__ = missing(__name__, """BatchNormWithReLU BilinearResize2D DeformableConvolution DeformablePSROIPooling
    MultiBoxDetection MultiBoxTarget MultiProposal PSROIPooling Proposal ROIAlign RROIAlign SparseEmbedding
    allclose bipartite_matching box_decode box_encode box_nms box_non_maximum_suppression count_sketch dequantize
    dgl_adjacency dgl_subgraph edge_id fft getnnz gradientmultiplier hawkesll ifft index_array
    interleaved_matmul_encdec_qk interleaved_matmul_encdec_valatt interleaved_matmul_selfatt_qk
    interleaved_matmul_selfatt_valatt mrcnn_mask_target quadratic quantize rand_zipfian requantize
    round_ste sign_ste""")


def __dir__():
    return sorted(__all__)


def _means(length, size):
    """A matrix whose product with a column of `length` is `size` means of parts, which overlap where they must."""
    i, k = numpy.arange(size)[:, None], numpy.arange(length)
    taken = (k >= i * length // size) & (k < -(-(i + 1) * length // size))
    return taken / taken.sum(axis=1, keepdims=True)


def AdaptiveAvgPooling2D(data, output_size=1):
    """Images of another size, whose pixels are the means of parts as equal as can be.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, height, width), and a floating point dtype.
    output_size : int or tuple of int
        (height, width) of the result, or one number for both. Default 1.

    Returns
    -------
    ndarray
        Of shape (batch, channels, *output_size), and data's dtype.

    Examples
    --------
    >>> x = nd.arange(16).reshape(1, 1, 4, 4)
    >>> print(nd.contrib.AdaptiveAvgPooling2D(x, output_size=2))
    [[[[ 2.5  4.5]
       [10.5 12.5]]]]
    """
    x = as_array(data)
    height, width = (output_size,) * 2 if isinstance(output_size, int) else tuple(output_size) * (3 - len(output_size))
    rows, columns = (np.array(_means(*n), x.dtype) for n in ((x.shape[2], height), (x.shape[3], width)))
    return np.matmul(np.matmul(rows, x), columns.T)


def box_iou(lhs, rhs, format="corner"):
    """The area that each two boxes share, as a part of the area that they cover together.

    Parameters
    ----------
    lhs : ndarray
        Boxes, of shape (..., 4), and a floating point dtype.
    rhs : ndarray
        Boxes, as these.
    format : str
        "corner": left, top, right, bottom; or "center": its two numbers, then width and height.

    Returns
    -------
    ndarray
        Of the shapes of both without their last axes, one behind the other.

    Raises
    ------
    ValueError
        For another format.

    Examples
    --------
    >>> boxes = nd.array([[0, 0, 2, 2], [1, 0, 3, 2]])
    >>> print(nd.contrib.box_iou(boxes, nd.array([[0, 0, 2, 2]])).round(4))
    [[1.    ]
     [0.3333]]
    """
    check_choice("format", format, ("corner", "center"))
    (low, high), (others_low, others_high) = (_corners(as_array(x), format) for x in (lhs, rhs))
    sizes, others = (np.prod(np.maximum(b - a, 0), axis=-1) for a, b in ((low, high), (others_low, others_high)))
    pairs = (slice(None),) * (low.ndim - 1) + (None,) * (others_low.ndim - 1)
    low, high, sizes = low[pairs], high[pairs], sizes[pairs]
    shared = np.prod(np.maximum(np.minimum(high, others_high) - np.maximum(low, others_low), 0), axis=-1)
    return shared / np.maximum(sizes + others - shared, 1e-12)


def _corners(x, format):
    a, b = x[..., :2], x[..., 2:]
    return (a, b) if format == "corner" else (a - b / 2, a + b / 2)


def div_sqrt_dim(data):
    """Elements divided by the square root of the last axis' length, as attention needs it.

    Parameters
    ----------
    data : ndarray
        Of any shape with an axis, and a floating point dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(nd.contrib.div_sqrt_dim(nd.ones((2, 4))))
    [[0.5 0.5 0.5 0.5]
     [0.5 0.5 0.5 0.5]]
    """
    return as_array(data) / math.sqrt(data.shape[-1])


def index_copy(old_tensor, index_vector, new_tensor):
    """A copy of an array with other parts along the first axis.

    Parameters
    ----------
    old_tensor : ndarray
        Of any shape and dtype; it stays as it is.
    index_vector : ndarray
        Of shape (k,): which parts are replaced. Indices may be of a floating point dtype.
    new_tensor : ndarray
        Their new values, of shape (k, ...).

    Returns
    -------
    ndarray
        Of old_tensor's shape and dtype.

    Examples
    --------
    >>> x = nd.zeros((3, 2))
    >>> print(nd.contrib.index_copy(x, nd.array([2, 0]), nd.array([[1, 2], [3, 4]])))
    [[3. 4.]
     [0. 0.]
     [1. 2.]]
    """
    result = as_array(old_tensor).copy()
    result[as_array(index_vector).astype(np.int64, copy=False)] = new_tensor
    return result
