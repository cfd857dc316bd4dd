"""Convolution and pooling of one to three spatial axes, as MXNet's `npx` names them.

A convolution whose windows lie side by side takes them from where they are, if there are enough of
them for each weight. Any other is one matrix product for each batch of samples: the weights times the windows, copied
into columns. As many samples make a batch as keep the columns below a limit; of a sample with more, bands of rows do.
"""

import itertools
import math

import numpy

from dflow._array.core import array as as_array
from dflow._array.core import empty
from dflow._functions.constructors import full, zeros
from dflow._functions.convolve import convolve, correlate
from dflow._functions.placement import on_gpu
from dflow._functions.views import sliding_windows
from dflow.ops.elementwise import absolute, add, maximum
from dflow.ops.linear import matmul
from dflow.ops.nn import bias_of, check_choice, check_shape, floating
from dflow.ops.reductions import max as largest
from dflow.ops.reductions import sum as sum_of
from dflow.ops.shape import moveaxis
from dflow.ops.table import op, recorded

COLUMNS = 1 << 22           # bytes of windows in one product: they stay in a cache, and make it large enough
FEW = 16                    # elements of a window along an axis, up to which pooling goes through them one by one
WINDOWS = 32                # in the result of a filter, from which they are not copied into columns
SPARSE = 16                 # elements for each that is not padding, beyond which products of those alone are quicker
PARTS = 16                  # of work on samples, for any number of cores: the last bits must not depend on it
LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _numbers(name, value, n, default, least):
    """One number for each spatial axis; one alone is for all of them."""
    value = default if value is None or value == () else value
    value = (value,) * n if isinstance(value, int) else tuple(value)
    if len(value) != n or any(x < least for x in value):
        raise ValueError(f"{name} must be {n} numbers of at least {least}, not {value}")
    return value


def _channels_first(x, layout):
    """(array with its channels on axis 1, whether they were last)."""
    n = x.ndim - 2
    if n not in LAYOUTS:
        raise ValueError(f"data must have 3, 4 or 5 axes, not the shape {x.shape}")
    check_choice("layout", layout, (None, *LAYOUTS[n]))
    last = layout is not None and layout[-1] == "C"
    return (moveaxis(x, -1, 1) if last else x), last


def _in_layout(x, last):
    return moveaxis(x, 1, -1) if last else x


def _padded(x, pad, value=0, extra=None):
    """x between `pad` elements of a value, on each side of each spatial axis, and `extra` more behind."""
    extra = extra or (0,) * len(pad)
    if not any(pad) and not any(extra):
        return x
    shape = [n + 2 * p + more for n, p, more in zip(x.shape[2:], pad, extra)]
    result = full((*x.shape[:2], *shape), value, x.dtype)
    result[(..., *(slice(p, p + n) for n, p in zip(x.shape[2:], pad)))] = x
    return result


def _windows(x, kernel, stride, dilate):
    """A view of x with axes for what is inside of each window, at its end."""
    n = len(kernel)
    spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilate))
    view = sliding_windows(x, spans, tuple(range(2, 2 + n)))
    steps = (slice(None, None, s) for s in (*stride, *dilate))
    return view[(slice(None), slice(None), *steps)]


def _columns(windows):
    """Windows as columns: of shape (channel, place in the window..., sample, window...), copied."""
    n = (windows.ndim - 2) // 2
    order = (1, *range(2 + n, 2 + 2 * n), 0, *range(2, 2 + n))
    view = windows.transpose(order)
    columns = empty(view.shape, view.dtype)
    columns[...] = view
    return columns


def _batches(samples, rows, nbytes):
    """Slices of samples, and of rows, whose columns have at most COLUMNS bytes if all of them have `nbytes`."""
    each = max(nbytes // max(samples, 1), 1)
    count = max(COLUMNS // each, 1)
    band = rows if each <= COLUMNS else max(COLUMNS * rows // each, 1)
    for first in range(0, samples, count):
        for top in range(0, rows, band):
            yield slice(first, min(first + count, samples)), slice(top, min(top + band, rows))


def _check_groups(num_group, **counts):
    for name, count in counts.items():
        if num_group < 1 or count % num_group:
            raise ValueError(f"num_group must divide the {name} {count}, and {num_group} does not")


def _out_length(n, kernel, stride, dilate, pad):
    return (n + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1


def _check_out(shape, kernel, out):
    if any(n < 1 for n in out):
        raise ValueError(f"kernel {kernel} does not fit into data of the shape {shape}")


@op("t, t1, v, 3, num_filter=3", "t, t1, kernel=(3,), stride=(2,), pad=(1,), num_filter=3, no_bias=True",
    "d, d1, v[:2], (2, 3), num_filter=2", "d, d1, v[:2], (2, 3), (2, 1), (1, 2), (1, 2), num_filter=2",
    "g, g1, w, (2, 2), num_filter=4, num_group=2", "g, g4, w, 3, pad=1, num_filter=4, num_group=4",
    "c3, c31, v[:2], (2, 2, 2), (1, 2, 1), num_filter=2, pad=(0, 1, 1)",
    "d.transpose(0, 2, 3, 1), d1.transpose(0, 2, 3, 1), v[:2], (2, 3), num_filter=2, layout='NHWC'",
    "d, d1, kernel=(2, 3), num_filter=2, no_bias=True", module="npx", close=True)
def convolution(data, weight, bias=None, kernel=None, stride=None, dilate=None, pad=None, num_filter=1, num_group=1,
                workspace=None, no_bias=False, cudnn_tune=None, cudnn_off=False, layout=None):
    """The cross-correlation of data (sample, channel, space...) with weights (filter, channel / num_group, kernel...).

    kernel, stride, dilate and pad have a number for each of one to three spatial axes. In a layout with C last, so has
    the weight. `workspace` is MXNet's: there is a limit of this module's.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    weight : ndarray
        Of data's dtype; its shape is said above, or (outputs, inputs).
    bias : ndarray, optional
        Of shape (filter,).
    kernel : tuple of int
        The lengths of a window.
    stride : tuple of int, optional
        Steps between windows. None: 1 each.
    dilate : tuple of int, optional
        Steps between elements of a window. None: 1 each.
    pad : tuple of int, optional
        Zeros at both ends of each axis. None: none.
    num_filter : int
        How many filters.
    num_group : int
        How many groups of channels are apart.
    workspace : int, optional
        MXNet's; it changes nothing.
    no_bias : bool
        `bias` is not added.
    cudnn_tune : str, optional
        MXNet's; it changes nothing.
    cudnn_off : bool
        MXNet's; it changes nothing.
    layout : str, optional
        As "NCHW", the default for images, or "NHWC".

    Returns
    -------
    ndarray
        Of shape (sample, filter, space...), and data's dtype.

    Raises
    ------
    ValueError
        For shapes that do not go together.

    Examples
    --------
    >>> print(npx.convolution(np.ones((1, 1, 1, 4)), np.ones((1, 1, 1, 3)), kernel=(1, 3), num_filter=1, no_bias=True))
    [[[[3. 3.]]]]
    """
    x, last = _channels_first(floating(data), layout)
    n = x.ndim - 2
    kernel = _numbers("kernel", kernel, n, 0, 1)
    stride, dilate = _numbers("stride", stride, n, 1, 1), _numbers("dilate", dilate, n, 1, 1)
    pad = _numbers("pad", pad, n, 0, 0)
    channels = x.shape[1]
    _check_groups(num_group, channels=channels, num_filter=num_filter)
    weight = as_array(weight)
    weight = moveaxis(weight, -1, 1) if last else weight
    check_shape("weight", weight, (num_filter, channels // num_group, *kernel))
    bias = bias_of(bias, num_filter, no_bias)
    out = tuple(map(_out_length, x.shape[2:], kernel, stride, dilate, pad))
    _check_out(x.shape, kernel, out)
    return _in_layout(convolved(x, weight, bias, stride, dilate, pad, num_group), last)


def _lie_side_by_side(x, other, stride):
    """Whether the CPU can take windows from where they lie. A GPU makes products of copies."""
    return not on_gpu(x) and stride[-1] == 1 and x.dtype == other.dtype and x.dtype.char in "fd"


def _many_windows(out, weight):
    """Whether they fill vectors, and outweigh that each sample reads all of the weights."""
    windows = math.prod(out)
    return windows >= WINDOWS and (weight.nbytes <= COLUMNS or windows >= 4 * WINDOWS)


def _worth_summing(samples, filters, shape, out):
    """Whether _correlate() beats products, by what was measured of both, in cycles for each weight and vector lane.

    Sums go over rows of x in full, and each part of the samples ends in one of a vector's elements; products are those
    of columns, whose copies all filters share.
    """
    windows = math.prod(out)
    run = windows * shape[-1] // out[-1]
    ends = max(min(samples, PARTS), samples * run // 1024)
    return samples * 1.25 * run + 400 * ends < samples * windows * (1.5 + 40 / filters)


def _three(numbers):
    """Of numbers or lengths for each axis of space, those for three."""
    return (1,) * (3 - len(numbers)) + tuple(numbers)


def _by_group(x, num_group):
    """x with an axis for the groups before that of the channels, and three axes of space, contiguous along the last."""
    x = x if x.strides[-1] == x.itemsize else x.copy()
    return x.reshape(len(x), num_group, x.shape[1] // num_group, *_three(x.shape[2:]))


def _in_groups(weight, num_group):
    """The same of weights, whose first axis has the groups."""
    return weight.reshape(num_group, len(weight) // num_group, weight.shape[1], *_three(weight.shape[2:]))


def _correlate(x, g, kernel, stride, dilate, num_group):
    """The gradient of _convolve()'s weights, of parts of the samples that are added."""
    each = -(-len(x) // PARTS)
    parts = -(-len(x) // each)
    x, g = _by_group(x, num_group), _by_group(g, num_group)
    sums = empty((parts, num_group, g.shape[2], x.shape[2], *_three(kernel)), x.dtype)
    whole = len(x) // each
    for some, samples in (slice(0, whole), slice(0, whole * each)), (slice(whole, parts), slice(whole * each, None)):
        count = some.stop - some.start
        if count:
            data, slopes = (a[samples].reshape(count, -1, *a.shape[1:]) for a in (x, g))
            correlate(data, slopes, _three(stride), _three(dilate), sums[some])
    return sum_of(sums, 0).reshape(num_group * g.shape[2], x.shape[2], *kernel)


def _convolve(x, weight, bias, stride, dilate, out):
    """The convolution of x, padded, with weights (group, filter, channel, kernel...); out is of so many windows."""
    num_group, filters = weight.shape[:2]
    result = empty((len(x), num_group * filters, *out), x.dtype)
    x = _by_group(x, num_group)
    if num_group == 1:          # of few samples, several workers may have a part of the filters each
        num_group = math.gcd(filters, max(PARTS // max(len(x), 1), 1))
        weight = weight.reshape(num_group, filters // num_group, *weight.shape[2:])
    bias = None if bias is None else bias.astype(x.dtype, copy=False).reshape(num_group, -1)
    convolve(x, weight, bias, _three(stride), _three(dilate), _by_group(result, num_group))
    return result


@recorded
def convolved(x, weight, bias, stride, dilate, pad, num_group):
    """convolution(), channels first, of arguments that have been checked."""
    n, filters = x.ndim - 2, len(weight)
    out = tuple(map(_out_length, x.shape[2:], weight.shape[2:], stride, dilate, pad))
    if _lie_side_by_side(x, weight, stride) and _many_windows(out, weight):
        return _convolve(_padded(x, pad), _in_groups(weight, num_group), bias, stride, dilate, out)
    windows = _windows(_padded(x, pad), weight.shape[2:], stride, dilate)
    samples = len(x)
    rows = weight.reshape(num_group, filters // num_group, -1)
    result = empty((samples, filters, *out), numpy.result_type(x.dtype, weight.dtype))
    for some, band in _batches(samples, out[0], windows.size * windows.itemsize):
        product = _product(rows, _columns(windows[some, :, band]), num_group)
        shape = (filters, some.stop - some.start, band.stop - band.start, *out[1:])
        product = product.reshape(shape).swapaxes(0, 1)
        result[some, :, band] = product if bias is None else product + bias.reshape((-1,) + (1,) * n)
    return result


@recorded
def transposed(x, weight, stride, dilate, pad, out, num_group):
    """The transposed convolution: what lies in `out` elements after `pad`, along each axis of space."""
    samples, channels = x.shape[:2]
    kernel, filters = weight.shape[2:], weight.shape[1] * num_group
    before = [d * (k - 1) - p for d, k, p in zip(dilate, kernel, pad)]
    behind = [o - size + p for o, size, p in zip(out, x.shape[2:], pad)]
    dense = math.prod(out) <= SPARSE * math.prod(x.shape[2:])
    if dense and max(stride) == 1 and min(before + behind) >= 0 and _lie_side_by_side(
            x, weight, stride) and _many_windows(out, weight):
        turned = _in_groups(weight, num_group)[(..., *(slice(None, None, -1),) * 3)].swapaxes(1, 2)
        x = _padded(x, before, 0, [b - a for a, b in zip(before, behind)])
        return _convolve(x, turned, None, stride, dilate, out)
    whole = (max(s * (size - 1) + d * (k - 1) + 1, p + length) for size, k, s, d, p, length in zip(
        x.shape[2:], kernel, stride, dilate, pad, out))
    rows = weight.reshape(num_group, channels // num_group, -1).swapaxes(1, 2)
    dtype = numpy.result_type(x.dtype, weight.dtype)
    result = zeros((samples, filters, *whole), dtype)
    nbytes = samples * filters * math.prod(kernel) * math.prod(x.shape[2:]) * dtype.itemsize
    for some, _ in _batches(samples, 1, nbytes):
        part = x[some]
        product = _product(rows, part.swapaxes(0, 1).reshape(channels, -1), num_group)
        _spread(result[some], product.reshape(filters, *kernel, len(part), *x.shape[2:]), stride, dilate)
    return result[(..., *(slice(p, p + size) for p, size in zip(pad, out)))]


@recorded
def of_weight(g, x, kernel, stride, dilate, pad, num_group):
    """The gradient of convolved()'s weight; g is that of its result."""
    n, filters = x.ndim - 2, g.shape[1]
    x = _padded(x, pad)
    if _lie_side_by_side(x, g, stride) and _worth_summing(len(x), filters // num_group, x.shape, g.shape[2:]):
        return _correlate(x, g, kernel, stride, dilate, num_group)
    windows = _windows(x, kernel, stride, dilate)[(slice(None),) * 2 + tuple(map(slice, g.shape[2:]))]
    result = None
    for some, band in _batches(len(x), g.shape[2], windows.size * windows.itemsize):
        columns = _columns(windows[some, :, band])
        columns = columns.reshape(num_group, math.prod(columns.shape[:1 + n]) // num_group, -1).swapaxes(1, 2)
        rows = g[some, :, band].swapaxes(0, 1).reshape(num_group, filters // num_group, -1)
        part = matmul(rows[0], columns[0]) if num_group == 1 else matmul(rows, columns)
        result = part if result is None else result + part
    shape = (filters, x.shape[1] // num_group, *kernel)
    return zeros(shape, x.dtype) if result is None else result.reshape(shape)


def _product(rows, columns, num_group):
    """The product of each group's rows with its columns."""
    columns = columns.reshape(num_group, rows.shape[2], -1)
    return matmul(rows[0], columns[0]) if num_group == 1 else matmul(rows, columns)


@op("t, t2, v[:2], 3, num_filter=2", "d, d2, kernel=(2, 3), num_filter=2, no_bias=True",
    "d, d2, v[:2], (2, 3), (2, 3), (1, 2), (1, 0), (1, 2), num_filter=2",
    "g, g2, kernel=(2, 2), stride=2, num_filter=4, num_group=2, no_bias=True",
    "c3, c32, kernel=2, num_filter=3, stride=(1, 2, 2), no_bias=True",
    "d, d2, kernel=(2, 3), num_filter=2, stride=2, target_shape=(9, 8), no_bias=True",
    "d.transpose(0, 2, 3, 1), d2.transpose(0, 2, 3, 1), kernel=(2, 3), num_filter=2, layout='NHWC', no_bias=True",
    "d, d2, kernel=(2, 3), num_filter=2, stride=2, adj=(1, 0), no_bias=True", module="npx", close=True)
def deconvolution(data, weight, bias=None, kernel=None, stride=None, dilate=None, pad=None, adj=None, target_shape=None,
                  num_filter=1, num_group=1, workspace=None, no_bias=False, cudnn_tune=None, cudnn_off=False,
                  layout=None):
    """The transposed convolution of data (sample, channel, space...) with weights (channel, filter / num_group, ...).

    Each element adds its multiple of the kernel to the result, of which `pad` elements are cut off on each side, `adj`
    less behind; target_shape, of the spatial axes, says both. In a layout with C last, so has the weight.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    weight : ndarray
        Of data's dtype; its shape is said above, or (outputs, inputs).
    bias : ndarray, optional
        Of shape (filter,).
    kernel : tuple of int
        The lengths of a window.
    stride : tuple of int, optional
        Steps between windows. None: 1 each.
    dilate : tuple of int, optional
        Steps between elements of a window. None: 1 each.
    pad : tuple of int, optional
        Zeros at both ends of each axis. None: none.
    adj : tuple of int, optional
        Elements more at the end of each axis.
    target_shape : tuple of int, optional
        Of the result's spatial axes.
    num_filter : int
        How many filters.
    num_group : int
        How many groups of channels are apart.
    workspace : int, optional
        MXNet's; it changes nothing.
    no_bias : bool
        `bias` is not added.
    cudnn_tune : str, optional
        MXNet's; it changes nothing.
    cudnn_off : bool
        MXNet's; it changes nothing.
    layout : str, optional
        As "NCHW", the default for images, or "NHWC".

    Returns
    -------
    ndarray
        Of shape (sample, filter, space...), and data's dtype.

    Raises
    ------
    ValueError
        For shapes that do not go together.

    Examples
    --------
    >>> x, weight = np.ones((1, 1, 1, 2)), np.ones((1, 1, 1, 3))
    >>> print(npx.deconvolution(x, weight, kernel=(1, 3), num_filter=1, no_bias=True))
    [[[[1. 2. 2. 1.]]]]
    """
    x, last = _channels_first(floating(data), layout)
    n = x.ndim - 2
    kernel = _numbers("kernel", kernel, n, 0, 1)
    stride, dilate = _numbers("stride", stride, n, 1, 1), _numbers("dilate", dilate, n, 1, 1)
    channels = x.shape[1]
    _check_groups(num_group, channels=channels, num_filter=num_filter)
    weight = as_array(weight)
    weight = moveaxis(weight, -1, 1) if last else weight
    check_shape("weight", weight, (channels, num_filter // num_group, *kernel))
    bias = bias_of(bias, num_filter, no_bias)
    whole = tuple(s * (size - 1) + d * (k - 1) + 1 for size, k, s, d in zip(x.shape[2:], kernel, stride, dilate))
    pad, adj = _cut(whole, stride, dilate, pad, adj, target_shape)
    out = tuple(size - 2 * p + a for size, p, a in zip(whole, pad, adj))
    _check_out(x.shape, kernel, out)
    result = transposed(x, weight, stride, dilate, pad, out, num_group)
    return _in_layout(result if bias is None else result + bias.reshape((-1,) + (1,) * n), last)


def _cut(whole, stride, dilate, pad, adj, target_shape):
    """pad and adj of a transposed convolution, given or as the target's shape asks for."""
    n = len(whole)
    if target_shape is None or target_shape == ():
        pad, adj = _numbers("pad", pad, n, 0, 0), _numbers("adj", adj, n, 0, 0)
        if any(a >= max(s, d) for a, s, d in zip(adj, stride, dilate)):
            raise ValueError(f"adj must be below stride {stride} or dilate {dilate}, and {adj} is not")
        return pad, adj
    target = _numbers("target_shape", target_shape, n, 0, 1)
    cut = [size - wanted for size, wanted in zip(whole, target)]
    if min(cut) < 0:
        raise ValueError(f"target_shape must be at most {whole}, not {target}")
    return [(c + 1) // 2 for c in cut], [c % 2 for c in cut]


def _spread(result, columns, stride, dilate):
    """Add columns, of shape (channel, place in the window..., sample, window...), to where their windows lie."""
    n = len(stride)
    kernel, sizes = columns.shape[1:1 + n], columns.shape[2 + n:]
    if math.prod(sizes) == 1:
        where = (slice(0, d * (k - 1) + 1, d) for k, d in zip(kernel, dilate))
        result[(..., *where)] += moveaxis(columns.reshape(columns.shape[:2 + n]), -1, 0)
        return
    for place in itertools.product(*map(range, kernel)):
        where = (slice(k * d, k * d + s * (size - 1) + 1, s) for k, d, s, size in zip(place, dilate, stride, sizes))
        target = result[(..., *where)]
        add(target, columns[(slice(None), *place)].swapaxes(0, 1), out=target)


# -- pooling ---------------------------------------------------------------------------------------

@op("d, (2, 2)", "d, (2, 3), (2, 1), (1, 1)", "t, 3, 2", "c3, (2, 2, 2), 2", "d, (2, 2), 2, 1, 'avg'",
    "d, (2, 3), 2, 1, 'avg', count_include_pad=False", "d, (2, 2), 2, pool_type='sum'",
    "abs(d), (2, 2), pool_type='lp', p_value=2", "d, (3, 3), 2, pooling_convention='full'",
    "d, (3, 3), 2, 1, 'avg', 'full'", "d, (3, 3), 2, 1, 'avg', 'full', count_include_pad=False",
    "d, global_pool=True", "d, pool_type='avg', global_pool=True", "d, (5, 4), 1, 2, 'avg'", "i.reshape(1, 3, 4), 2",
    "d.transpose(0, 2, 3, 1), (2, 2), 2, layout='NHWC'", "r.reshape(1, 3, 2, 30), (1, 20), 3", "d, 1",
    module="npx", close=True)
def pooling(data, kernel=None, stride=None, pad=None, pool_type="max", pooling_convention="valid", global_pool=False,
            cudnn_off=False, p_value=None, count_include_pad=True, layout=None):
    """The largest, mean ("avg"), sum or norm ("lp", of order p_value) of the elements in each window of data.

    kernel, stride and pad have a number for each of one to three spatial axes; a global pool has one window. With the
    convention "full" a last window may reach beyond the padding. count_include_pad: padding counts for the mean.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    kernel : tuple of int, optional
        The lengths of a window.
    stride : tuple of int, optional
        Steps between windows. None: 1 each.
    pad : tuple of int, optional
        Zeros at both ends of each axis. None: none.
    pool_type : str
        "max", "avg", "sum" or "lp".
    pooling_convention : str
        "valid", "same" or "full".
    global_pool : bool
        One window over all.
    cudnn_off : bool
        MXNet's; it changes nothing.
    p_value : int, optional
        The order of "lp".
    count_include_pad : bool
        Padding counts for the mean.
    layout : str, optional
        As "NCHW", the default for images, or "NHWC".

    Returns
    -------
    ndarray
        Of shape (sample, channel, space...), and data's dtype.

    Examples
    --------
    >>> print(npx.pooling(np.arange(4.0).reshape(1, 1, 2, 2), kernel=(2, 2)))
    [[[[3.]]]]
    """
    check_choice("pool_type", pool_type, ("max", "avg", "sum", "lp"))
    check_choice("pooling_convention", pooling_convention, ("valid", "full"))
    if pool_type == "lp" and not p_value:
        raise ValueError(f"p_value must be a positive number for pool_type 'lp', not {p_value!r}")
    x = as_array(data)
    integers = pool_type == "max" and x.dtype.kind in "iu"
    x, last = _channels_first(x if integers else floating(x), layout)
    n = x.ndim - 2
    if global_pool:
        kernel, stride, pad = x.shape[2:], (1,) * n, (0,) * n
    kernel = _numbers("kernel", kernel, n, 0, 1)
    stride, pad = _numbers("stride", stride, n, 1, 1), _numbers("pad", pad, n, 0, 0)
    if any(p >= k for p, k in zip(pad, kernel)):
        raise ValueError(f"pad must be below kernel {kernel}, not {pad}")
    free = [size + 2 * p - k for size, p, k in zip(x.shape[2:], pad, kernel)]
    _check_out(x.shape, kernel, [f + 1 for f in free])
    out = [(f + (s - 1 if pooling_convention == "full" else 0)) // s + 1 for f, s in zip(free, stride)]
    extra = [max((o - 1) * s - f, 0) for o, s, f in zip(out, stride, free)]
    if pool_type == "lp":
        x = absolute(x) ** p_value
    least = 0 if pool_type != "max" else numpy.iinfo(x.dtype).min if integers else -math.inf
    if global_pool:
        result = (largest if pool_type == "max" else sum_of)(x, tuple(range(2, 2 + n)), keepdims=True)
    else:
        result = _padded(x, pad, least, extra)
        for k in range(n):
            result = (largest_along if pool_type == "max" else sum_along)(result, 2 + k, kernel[k], stride[k])
        result = result.copy() if math.prod(kernel) == 1 else result
    if pool_type == "avg":
        result = result / _counts(x.shape[2:], out, kernel, stride, pad, count_include_pad, x.dtype)
    elif pool_type == "lp":
        result = result ** (1 / p_value)
    return _in_layout(result, last)


@recorded
def largest_along(x, axis, kernel, stride):
    """The largest of the elements in each window along one axis."""
    return _pooled(x, axis, kernel, stride, maximum, largest)


@recorded
def sum_along(x, axis, kernel, stride):
    """Their sum."""
    return _pooled(x, axis, kernel, stride, add, sum_of)


def _pooled(x, axis, kernel, stride, function, reduction):
    """A reduction of windows along one axis: place by place, which fuses, if there are few."""
    if kernel > FEW:
        windows = sliding_windows(x, (kernel,), (axis,))
        return reduction(windows[(slice(None),) * axis + (slice(None, None, stride),)], -1)
    first, *others = places(x, axis, kernel, stride)
    for other in others:
        first = function(first, other)
    return first


def places(x, axis, kernel, stride):
    """Of windows along an axis all first elements, all second ones, and so on."""
    span = stride * ((x.shape[axis] - kernel) // stride) + 1
    return [x[(slice(None),) * axis + (slice(k, k + span, stride),)] for k in range(kernel)]


@recorded
def from_places(parts, n, axis, stride):
    """An array of length n along an axis in which places() are these, added where windows overlap; elsewhere zeros."""
    shape = parts[0].shape
    result = zeros((*shape[:axis], n, *shape[axis + 1:]), parts[0].dtype)
    for place, part in zip(places(result, axis, len(parts), stride), parts):
        if len(parts) > stride:
            add(place, part, out=place)
        else:
            place[...] = part
    return result


def _counts(shape, out, kernel, stride, pad, include_pad, dtype):
    """How many elements count for the mean of each window: a number, or an array that broadcasts."""
    counts = numpy.ones((), dtype)
    for size, o, k, s, p in zip(shape, out, kernel, stride, pad):
        first = numpy.arange(o) * s - p
        last = numpy.minimum(first + k, size + p)
        if not include_pad:
            first, last = numpy.maximum(first, 0), numpy.minimum(last, size)
        counts = counts[..., None] * (last - first).astype(dtype)
    return float(counts.flat[0]) if (counts == counts.flat[0]).all() else as_array(counts)
