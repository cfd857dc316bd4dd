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
"""  # noqa: E501
) | _table.read("isfinite/isinf/isnan np.{} data |", np.float32)
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
    """Images (n, c, h, w) as such of output_size, (h, w) or a number, of means of parts as equal as can be."""
    x = as_array(data)
    height, width = (output_size,) * 2 if isinstance(output_size, int) else tuple(output_size) * (3 - len(output_size))
    rows, columns = (np.array(_means(*n), x.dtype) for n in ((x.shape[2], height), (x.shape[3], width)))
    return np.matmul(np.matmul(rows, x), columns.T)


def box_iou(lhs, rhs, format="corner"):
    """Of each pair of boxes, along the last axes, the area they share as a part of the area that both cover.

    format: "corner", left, top, right, bottom; or "center", that, width and height.
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
    """x divided by the square root of its last axis' length."""
    return as_array(data) / math.sqrt(data.shape[-1])


def index_copy(old_tensor, index_vector, new_tensor):
    """A copy with other parts along the first axis, at indices."""
    result = as_array(old_tensor).copy()
    result[as_array(index_vector).astype(np.int64, copy=False)] = new_tensor
    return result
