"""dflow.npx: each row's samples against plain NumPy; what is refused; control flow, files and devices."""

import base64
import io
import itertools
import math
import re
import zlib

import hostile
import numpy
import pytest
import scipy.special
from engines import Gate, configured

import dflow
import dflow.numpy as np
from dflow import autograd, gluon, npx
from dflow.ops.table import TABLE

ROWS = [row for row in TABLE.values() if row.module == "npx"]
CASES = [(row, sample) for row in ROWS for sample in row.samples]


def numbers(*shape):
    """Numbers from -4.6 to 4.7 without an order, and without equal ones near each other."""
    return (numpy.arange(math.prod(shape)) * 37 % 101 - 50).reshape(shape) / 10.7


FLOATS = {
    "x": numbers(3, 4), "v": numbers(3), "w": numbers(9)[5:], "u": numbers(7)[3:], "p": numbers(3) ** 2 + 0.1,
    "m": numbers(4, 3).T, "r": numbers(3, 60), "d": numbers(2, 3, 5, 4), "g": numbers(2, 4, 5, 4),
    "t": numbers(2, 2, 7), "c3": numbers(1, 2, 4, 5, 4), "t1": numbers(3, 2, 3), "d1": numbers(2, 3, 2, 3),
    "g1": numbers(4, 2, 2, 2), "g4": numbers(4, 1, 3, 3), "c31": numbers(2, 2, 2, 2, 2), "t2": numbers(2, 2, 3),
    "d2": numbers(3, 2, 2, 3), "g2": numbers(4, 2, 2, 2), "c32": numbers(2, 3, 2, 2, 2),
    "q": numbers(180) / 5, "a": numbers(5, 3, 4), "s": numbers(4, 2, 2) / 5,
    "b": numpy.array([[0, 0, 0, 3, 4], [1, 1, 2, 2, 2], [1, 2, 1, 9, 7], [0, 3, 3, 1, 1], [1, 7, 0, 8, 3.0]])}
INTEGERS = {"i": (numpy.arange(12) * 5 % 12).reshape(3, 4), "j": numpy.array([0, 2, 1, 3]),
            "k": numpy.array([1, 0, 2, 2]), "l": numpy.array([3, 0, 2]),
            "y": numpy.array([[1, 2, 2], [3, 1, 0], [2, 3, 1]])}


def arrays_of(text, dtype):
    """The NumPy arrays that a call names."""
    words = set(re.findall(r"(?<!['\w])[a-z]\d*(?![\w'=])", text))
    return {name: x if name in INTEGERS else x.astype(dtype)
            for name, x in (FLOATS | INTEGERS).items() if name in words}


# -- references ------------------------------------------------------------------------------------

def window_at(start, kernel, dilate):
    return tuple(slice(first, first + d * (k - 1) + 1, d) for first, k, d in zip(start, kernel, dilate))


class Reference:
    """MXNet's functions, of float64 numbers, one element or window after the other where that is plainer."""

    relu = staticmethod(lambda x: numpy.maximum(x, 0))
    sigmoid = staticmethod(scipy.special.expit)
    erf, erfinv = scipy.special.erf, scipy.special.erfinv
    gamma, gammaln, digamma = scipy.special.gamma, scipy.special.gammaln, scipy.special.digamma

    @staticmethod
    def activation(x, act_type="relu"):
        soft = numpy.logaddexp(x, 0)
        return {"relu": numpy.maximum(x, 0), "sigmoid": scipy.special.expit(x), "tanh": numpy.tanh(x),
                "softrelu": soft, "softsign": x / (1 + abs(x)), "log_sigmoid": -numpy.logaddexp(-x, 0),
                "mish": x * numpy.tanh(soft)}[act_type]

    @staticmethod
    def gelu(x, approximation="erf"):
        power = 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)
        return x * (scipy.special.ndtr(x) if approximation == "erf" else scipy.special.expit(power))

    @staticmethod
    def leaky_relu(x, gamma=None, act_type="leaky", slope=0.25):
        power = numpy.expm1(numpy.minimum(x, 0))
        negative = {"leaky": slope * x, "elu": slope * power, "rrelu": (0.125 + 0.334) / 2 * x,
                    "gelu": 0, "gelu_tanh": 0,
                    "prelu": 0 if gamma is None else gamma * x, "selu": 1.6732632423543772 * power}[act_type]
        y = numpy.where(x > 0, x, negative)
        if act_type.startswith("gelu"):
            return Reference.gelu(x, act_type.replace("gelu", "").strip("_") or "erf")
        return y * 1.0507009873554805 if act_type == "selu" else y

    @staticmethod
    def smooth_l1(x, scalar=1.0):
        return numpy.where(abs(x) < 1 / scalar ** 2, (scalar * x) ** 2 / 2, abs(x) - 0.5 / scalar ** 2)

    @staticmethod
    def dropout(x, p=0.5, mode="training"):
        return x

    stop_gradient = staticmethod(lambda x: x)

    @staticmethod
    def softmax(x, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
        x = numpy.moveaxis(x / (temperature or 1), axis, -1)
        result = numpy.zeros(x.shape)
        for place in numpy.ndindex(x.shape[:-1]):
            n = x.shape[-1] if length is None else length[place]
            result[place][:n] = scipy.special.softmax(x[place][:n]) if n else 0
        return numpy.moveaxis(result, -1, axis)

    @staticmethod
    def log_softmax(x, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
        z = x / (temperature or 1)
        if length is None:
            return scipy.special.log_softmax(z, axis)
        with numpy.errstate(divide="ignore"):
            y = numpy.log(Reference.softmax(x, axis, length, temperature))
        return numpy.where(numpy.isinf(y), 0, y)

    @staticmethod
    def masked_softmax(x, mask, axis=-1, temperature=1.0):
        mask = numpy.broadcast_to(True if mask is None else mask, x.shape) != 0
        e = numpy.where(mask, numpy.exp(x / temperature), 0)
        total = e.sum(axis, keepdims=True)
        return e / numpy.where(total, total, 1)

    @staticmethod
    def masked_log_softmax(x, mask, axis=-1):
        with numpy.errstate(divide="ignore"):
            return numpy.log(Reference.masked_softmax(x, mask, axis))

    @staticmethod
    def batch_norm(x, gamma, beta, running_mean, running_var, eps=1e-3, fix_gamma=True, use_global_stats=False,
                   output_mean_var=False, axis=1, training=False):
        rows = numpy.moveaxis(x, axis, -1).reshape(-1, len(gamma))
        mean, var = rows.mean(0), rows.var(0)
        if use_global_stats or not training:
            mean, var = running_mean, running_var
        y = (numpy.moveaxis(x, axis, -1) - mean) / numpy.sqrt(var + eps) * (1 if fix_gamma else gamma) + beta
        y = numpy.moveaxis(y, -1, axis)
        if training and not use_global_stats:
            running_mean[...] = 0.9 * running_mean + 0.1 * mean
            running_var[...] = 0.9 * running_var + 0.1 * var
        return [y, mean, 1 / numpy.sqrt(var + eps)] if output_mean_var else y

    @staticmethod
    def sync_batch_norm(data, gamma, beta, moving_mean, moving_var, output_mean_var=False, fix_gamma=True):
        y, *_ = Reference.batch_norm(data, gamma, beta, moving_mean, moving_var, fix_gamma=fix_gamma,
                                     output_mean_var=True)
        return [y, moving_mean, moving_var] if output_mean_var else y

    @staticmethod
    def layer_norm(x, gamma, beta, axis=-1, eps=1e-5, output_mean_var=False):
        x = numpy.moveaxis(x, axis, -1)
        mean, std = x.mean(-1), numpy.sqrt(x.var(-1) + eps)
        y = numpy.moveaxis((x - mean[..., None]) / std[..., None] * gamma + beta, -1, axis)
        return [y, mean, std] if output_mean_var else y

    @staticmethod
    def group_norm(x, gamma, beta, num_groups=1, eps=1e-3, output_mean_var=False):
        rows = x.reshape(x.shape[0], num_groups, -1)
        mean, std = rows.mean(2), numpy.sqrt(rows.var(2) + eps)
        y = numpy.moveaxis(((rows - mean[..., None]) / std[..., None]).reshape(x.shape), 1, -1) * gamma + beta
        y = numpy.moveaxis(y, -1, 1)
        return [y, mean, std] if output_mean_var else y

    @staticmethod
    def instance_norm(x, gamma, beta, eps=1e-3):
        return Reference.group_norm(x, gamma, beta, x.shape[1], eps)

    @staticmethod
    def l2_normalization(x, eps=1e-10, mode="instance"):
        axes = {"instance": range(1, x.ndim), "channel": [1], "spatial": range(2, x.ndim)}[mode]
        return x / numpy.sqrt((x * x).sum(tuple(axes), keepdims=True) + eps)

    @staticmethod
    def batch_dot(a, b, transpose_a=False, transpose_b=False):
        return numpy.einsum("...ij,...jk->...ik", *(numpy.swapaxes(x, -1, -2) if turned else x
                                                   for x, turned in ((a, transpose_a), (b, transpose_b))))

    @staticmethod
    def fully_connected(x, weight, bias=0, num_hidden=None, no_bias=True, flatten=True):
        return (x.reshape(len(x), -1) if flatten else x) @ weight.T + bias

    @staticmethod
    def convolution(x, weight, bias=0, kernel=None, stride=1, dilate=1, pad=0, num_filter=1, num_group=1, no_bias=False,
                    layout=""):
        if layout.endswith("C"):
            y = Reference.convolution(numpy.moveaxis(x, -1, 1), numpy.moveaxis(weight, -1, 1), bias, kernel, stride,
                                      dilate, pad, num_filter, num_group)
            return numpy.moveaxis(y, 1, -1)
        n = x.ndim - 2
        kernel, stride, dilate, pad = (numpy.broadcast_to(value, n) for value in (kernel, stride, dilate, pad))
        x = numpy.pad(x, [(0, 0), (0, 0), *zip(pad, pad)])
        out = (numpy.array(x.shape[2:]) - dilate * (kernel - 1) - 1) // stride + 1
        y = numpy.zeros((len(x), num_filter, *out))
        each, made = x.shape[1] // num_group, num_filter // num_group
        for f, place in itertools.product(range(num_filter), numpy.ndindex(*out)):
            window = window_at(place * stride, kernel, dilate)
            channels = slice(f // made * each, (f // made + 1) * each)
            y[(slice(None), f, *place)] = (x[(slice(None), channels, *window)] * weight[f]).sum(tuple(range(1, n + 2)))
        return y + numpy.reshape(bias, (-1,) + (1,) * n)

    @staticmethod
    def deconvolution(x, weight, bias=0, kernel=None, stride=1, dilate=1, pad=0, adj=0, target_shape=None, num_filter=1,
                      num_group=1, no_bias=False, layout=""):
        if layout.endswith("C"):
            y = Reference.deconvolution(numpy.moveaxis(x, -1, 1), numpy.moveaxis(weight, -1, 1), bias, kernel, stride,
                                        dilate, pad, adj, target_shape, num_filter, num_group)
            return numpy.moveaxis(y, 1, -1)
        n = x.ndim - 2
        kernel, stride, dilate, pad, adj = (numpy.broadcast_to(v, n) for v in (kernel, stride, dilate, pad, adj))
        whole = (numpy.array(x.shape[2:]) - 1) * stride + dilate * (kernel - 1) + 1
        if target_shape is not None:
            pad, adj = (whole - target_shape + 1) // 2, (whole - target_shape) % 2
        y = numpy.zeros((len(x), num_filter, *(whole + adj)))
        each, made = x.shape[1] // num_group, num_filter // num_group
        for c, f, place in itertools.product(range(x.shape[1]), range(made), numpy.ndindex(*x.shape[2:])):
            window = window_at(place * stride, kernel, dilate)
            value = x[(slice(None), c, *place)].reshape((-1,) + (1,) * n)
            y[(slice(None), c // each * made + f, *window)] += value * weight[c, f]
        y = y[(..., *(slice(p, size + a - p) for p, size, a in zip(pad, whole, adj)))]
        return y + numpy.reshape(bias, (-1,) + (1,) * n)

    @staticmethod
    def pooling(x, kernel=None, stride=1, pad=0, pool_type="max", pooling_convention="valid", global_pool=False,
                p_value=None, count_include_pad=True, layout=""):
        if layout.endswith("C"):
            return numpy.moveaxis(Reference.pooling(numpy.moveaxis(x, -1, 1), kernel, stride), 1, -1)
        n, sizes = x.ndim - 2, numpy.array(x.shape[2:])
        kernel = sizes if global_pool else kernel
        kernel, stride, pad = (numpy.broadcast_to(value, n) for value in (kernel, stride, pad))
        free = sizes + 2 * pad - kernel
        out = (free if pooling_convention == "valid" else free + stride - 1) // stride + 1
        y = numpy.zeros((*x.shape[:2], *out), x.dtype)
        for place in numpy.ndindex(*out):
            first = numpy.array(place) * stride - pad
            last = numpy.minimum(first + kernel, sizes + pad)
            padded = math.prod(last - first)
            first, last = numpy.maximum(first, 0), numpy.minimum(last, sizes)
            window = x[(..., *map(slice, first, last))].reshape(*x.shape[:2], -1)
            count = padded if count_include_pad else window.shape[-1]
            if pool_type == "max":
                y[(..., *place)] = window.max(-1)
            elif pool_type == "lp":
                y[(..., *place)] = (window ** p_value).sum(-1) ** (1 / p_value)
            else:
                y[(..., *place)] = window.sum(-1) / (count if pool_type == "avg" else 1)
        return y

    @staticmethod
    def one_hot(x, depth, on_value=1.0, off_value=0.0, dtype="float32"):
        result = numpy.full((*x.shape, depth), off_value, dtype)
        for place in numpy.ndindex(x.shape):
            if 0 <= x[place] < depth:
                result[(*place, int(x[place]))] = on_value
        return result

    @staticmethod
    def pick(x, index, axis=-1, mode="clip", keepdims=False):
        if axis is None:
            return x.ravel()[index]
        n = x.shape[axis]
        index = index.astype(int) if index.ndim == x.ndim else numpy.expand_dims(index.astype(int), axis)
        index = index % n if mode == "wrap" else numpy.clip(index, 0, n - 1)
        result = numpy.take_along_axis(x, index, axis)
        return result if keepdims else result.squeeze(axis)

    @staticmethod
    def topk(x, axis=-1, k=1, ret_typ="indices", is_ascend=False, dtype="float32"):
        x, axis = (x.ravel(), 0) if axis is None else (x, axis)
        order = numpy.argsort(x if is_ascend else -x, axis, kind="stable")
        order = numpy.take(order, range(k or x.shape[axis]), axis)
        value, mask = numpy.take_along_axis(x, order, axis), numpy.zeros_like(x)
        numpy.put_along_axis(mask, order, 1, axis)
        index = order.astype(dtype)
        return {"indices": index, "value": value, "both": [value, index], "mask": mask}[ret_typ]

    @staticmethod
    def sequence_mask(x, length=None, use_sequence_length=False, value=0.0, axis=0):
        result = numpy.moveaxis(x, axis, 0).copy()
        for sequence, n in enumerate(length if use_sequence_length else ()):
            result[int(n):, sequence] = value
        return numpy.moveaxis(result, 0, axis)

    @staticmethod
    def embedding(x, weight, input_dim=None, output_dim=None):
        return weight[numpy.clip(x.astype(int), 0, len(weight) - 1)]

    @staticmethod
    def gather_nd(x, index):
        return x[tuple(numpy.array(index))]

    @staticmethod
    def scatter_nd(x, index, shape):
        result = numpy.zeros(shape)
        result[tuple(numpy.array(index))] = x
        return result

    @staticmethod
    def index_update(x, index, val):
        x[tuple(numpy.array(index))] = val
        return x.copy()

    @staticmethod
    def index_add(x, index, val):
        x = x.copy()
        for n, place in enumerate(zip(*index)):
            x[place] += numpy.broadcast_to(val, len(index[0]))[n]
        return x

    nonzero = staticmethod(lambda a: numpy.argwhere(numpy.atleast_1d(a)))
    boolean_mask = staticmethod(lambda x, index, axis=0: numpy.compress(index != 0, x, axis))
    constraint_check = staticmethod(lambda x: numpy.array(True))
    batch_flatten = staticmethod(lambda x: x.reshape(len(x), -1))
    shape_array = staticmethod(lambda x: numpy.array(x.shape))

    @staticmethod
    def reshape_like(x, y, lhs_begin=None, lhs_end=None, rhs_begin=None, rhs_end=None):
        shape = list(x.shape)
        shape[lhs_begin:lhs_end] = y.shape[rhs_begin:rhs_end]
        return x.reshape(shape)

    add_n = staticmethod(lambda *args: sum(args))

    @staticmethod
    def slice_like(x, like, axes=()):
        for axis in numpy.atleast_1d(axes).tolist() or range(x.ndim):
            x = x.take(range(like.shape[axis]), axis)
        return x

    @staticmethod
    def slice(x, begin, end, step=()):
        begin, end, step = (numpy.atleast_1d(numpy.array(part, object)) for part in (begin, end, step))
        for axis, (first, last) in enumerate(zip(begin, end)):
            places = range(x.shape[axis])[slice(first, last, step[axis] if axis < len(step) else None)]
            x = x.take(places, axis)
        return x

    @staticmethod
    def reshape(x, newshape, reverse=False):
        shape = {(-2, -2, -1): (2, 3, 20), -1: 120, (-5, -4): (6, 5, 4), (-4,): (2, 3, 5, 4),
                 (-6, 1, -1, -4): (1, 2, 3, 5, 4), (-2, -2, -5): (2, 3, 20), (-3, -4): (3, 5, 4), (-5, -1): (6, 20),
                 (-1, -1, 2, -6): (30, 2, 2), (-4, -5): (2, 3, 20)}[newshape]
        return x.reshape(shape)

    @staticmethod
    def arange_like(x, start=0.0, step=1.0, repeat=1, axis=None):
        n = x.size if axis is None else x.shape[axis]
        result = (start + step * (numpy.arange(n) // repeat)).astype(x.dtype)
        return result.reshape(x.shape) if axis is None else result

    @staticmethod
    def broadcast_like(x, y, lhs_axes=None, rhs_axes=None):
        if lhs_axes is None:
            return numpy.broadcast_to(x, y.shape)
        shape = list(x.shape)
        shape[numpy.atleast_1d(lhs_axes)[0]] = y.shape[numpy.atleast_1d(rhs_axes)[0]]
        return numpy.broadcast_to(x, shape)

    @staticmethod
    def rnn(data, parameters, state, state_cell=None, sequence_length=None, mode=None, state_size=None, num_layers=None,
            bidirectional=False, state_outputs=False, p=0.0, use_sequence_length=False, projection_size=None):
        """Each sequence for itself, step by step."""
        rows, ways = {"lstm": 4, "gru": 3}.get(mode, 1) * state_size, 2 if bidirectional else 1
        places, shown = range(num_layers * ways), projection_size or state_size
        sizes = [data.shape[2] if k < ways else shown * ways for k in places]
        taken = iter(parameters)

        def take(*shape):
            return numpy.array([next(taken) for _ in range(math.prod(shape))]).reshape(shape)

        weights = [(take(rows, sizes[k]), take(rows, shown), take(shown, state_size) if projection_size else None)
                   for k in places]
        biases = [(take(rows), take(rows)) for _ in places]
        assert not list(taken)
        state, cell = state.copy(), numpy.zeros_like(state) if state_cell is None else state_cell.copy()
        y = data
        for k in places:
            if k % ways == 0:
                x, y = y, numpy.zeros((*data.shape[:2], shown * ways), data.dtype)
            for n in range(data.shape[1]):
                steps = range(len(data) if sequence_length is None else sequence_length[n])
                for t in steps if k % ways == 0 else reversed(steps):
                    state[k, n], cell[k, n] = Reference.rnn_step(
                        mode, x[t, n], state[k, n], cell[k, n], *weights[k], *biases[k])
                    y[t, n, k % ways * shown:][:shown] = state[k, n]
        return [y, state, *([] if state_cell is None else [cell])] if state_outputs else y

    @staticmethod
    def multibox_prior(data, sizes=(1,), ratios=(1,), clip=False, steps=(-1, -1), offsets=(0.5, 0.5)):
        height, width = data.shape[2:]
        sizes, ratios = numpy.atleast_1d(sizes), numpy.atleast_1d(ratios)
        down, across = (step if step > 0 else 1 / n for step, n in zip(steps, (height, width)))
        boxes = []
        for i, j in itertools.product(range(height), range(width)):
            y, x = (i + offsets[0]) * down, (j + offsets[1]) * across
            for size, ratio in [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]:
                w, h = size * height / width * ratio ** 0.5 / 2, size / ratio ** 0.5 / 2
                boxes.append([x - w, y - h, x + w, y + h])
        return numpy.clip([boxes], 0, 1) if clip else numpy.array([boxes])

    @staticmethod
    def roi_pooling(data, rois, pooled_size, spatial_scale):
        result = numpy.zeros((len(rois), data.shape[1], *pooled_size))
        for n, (sample, *corners) in enumerate(rois):
            left, top, right, bottom = (math.floor(c * spatial_scale + 0.5) for c in corners)
            for i, j in numpy.ndindex(*pooled_size):
                rows, columns = (
                    [begin + k for k in range(length) if begin + k < size and (k + 1) * bins > which * length
                     and k * bins < (which + 1) * length]
                    for begin, length, bins, which, size in (
                        (top, max(bottom - top + 1, 1), pooled_size[0], i, data.shape[2]),
                        (left, max(right - left + 1, 1), pooled_size[1], j, data.shape[3])))
                if rows and columns:
                    result[n, :, i, j] = data[int(sample)][:, rows][:, :, columns].max(axis=(1, 2))
        return result

    @staticmethod
    def ctc_loss(data, label, data_lengths=None, label_lengths=None, use_data_lengths=False, use_label_lengths=False,
                 blank_label="first"):
        """Path by path."""
        blank, result = 0 if blank_label == "first" else data.shape[2] - 1, numpy.zeros(data.shape[1])
        for n, p in enumerate(scipy.special.softmax(data, 2).swapaxes(0, 1)):
            p, ends = p[:data_lengths[n]] if use_data_lengths else p, label[n] == (-1 if blank else 0)
            wanted = label[n][:label_lengths[n] if use_label_lengths else [*ends, True].index(True)].tolist()
            for path in itertools.product(range(data.shape[2]), repeat=len(p)):
                if [c for c, _ in itertools.groupby(path) if c != blank] == wanted:
                    result[n] += numpy.prod(p[range(len(p)), path])
        return numpy.where(result == 0, 0, -numpy.log(numpy.where(result == 0, 1, result)))

    @staticmethod
    def rnn_step(mode, x, h, c, w, v, projection, b, d):
        x, hidden = w @ x + b, v @ h + d
        if mode == "gru":
            (x_r, x_z, x_n), (h_r, h_z, h_n) = numpy.split(x, 3), numpy.split(hidden, 3)
            r, z = scipy.special.expit(x_r + h_r), scipy.special.expit(x_z + h_z)
            return (1 - z) * numpy.tanh(x_n + r * h_n) + z * h, 0
        if mode == "lstm":
            i, f, g, o = numpy.split(x + hidden, 4)
            c = scipy.special.expit(f) * c + scipy.special.expit(i) * numpy.tanh(g)
            h = scipy.special.expit(o) * numpy.tanh(c)
            return h if projection is None else projection @ h, c
        return numpy.maximum(x + hidden, 0) if mode == "rnn_relu" else numpy.tanh(x + hidden), 0


def call_of(row, sample):
    return f"{row.name}({sample})"


def evaluate(call, arrays, module=npx, numpys=np):
    names = {"np": numpys, "abs": abs, **{row.name: getattr(module, row.name) for row in ROWS}}
    return eval(call, {**names, **arrays})


def assert_like(actual, expected, dtype):
    """Values near, of one type: float64 in the reference is `dtype` here."""
    if isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected)
        for x, y in zip(actual, expected):
            assert_like(x, y, dtype)
        return
    expected = numpy.asarray(expected)
    assert actual.dtype == (dtype if expected.dtype == float else expected.dtype), actual.dtype
    assert actual.shape == expected.shape
    tolerance = 2e-5 if dtype == numpy.float32 else 1e-12
    numpy.testing.assert_allclose(actual.asnumpy(), expected, tolerance, tolerance)


def expected_of(call, sources):
    """The reference's result, and the arrays afterwards, of NumPy's arrays in float64."""
    arrays = {name: x.astype(float) if x.dtype.kind == "f" else x.copy() for name, x in sources.items()}
    return evaluate(call, arrays, Reference, numpy), arrays


def result_dtype(call, sources, dtype):
    """The type of floating point results: that of the arrays with such numbers, or what is asked for."""
    return dtype if FLOATS.keys() & sources.keys() and "dtype='float64'" not in call else numpy.float64


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("row, sample", CASES, ids=[call_of(*case) for case in CASES])
def test_as_the_reference(row, sample, dtype):
    call = call_of(row, sample)
    sources = arrays_of(sample, dtype)
    expected, afterwards = expected_of(call, sources)
    arrays = {name: np.array(x) for name, x in sources.items()}
    assert_like(evaluate(call, arrays), expected, result_dtype(call, sources, dtype))
    if row.name == "batch_norm":                # which writes to the running ones
        for name, x in afterwards.items():
            assert_like(arrays[name], x, dtype)


@pytest.mark.parametrize("row, sample", CASES, ids=[call_of(*case) for case in CASES])
def test_nothing_waits(row, sample):
    """In a task a wait is an error. Those that are said to wait do."""
    call = call_of(row, sample)
    sources = arrays_of(sample, numpy.float32)
    with configured(limit=0, workers=2), Gate() as gate:
        zero = gate.hold()[0]
        arrays = {name: np.array(x) + zero.astype(x.dtype) for name, x in sources.items()}
        future = dflow.submit(lambda: evaluate(call, arrays))
        if row.kind == "blocking":
            with pytest.raises(RuntimeError):
                future.result()
            gate.open()
            return
        result = future.result()
        assert not gate.opened.is_set()
        gate.open()
        assert_like(result, expected_of(call, sources)[0], result_dtype(call, sources, numpy.float32))



# -- what is refused -------------------------------------------------------------------------------

REFUSED = """
activation(x, 'no')                                 ValueError  act_type must be one of 'relu', ..., not 'no'
leaky_relu(x, act_type='no')                        ValueError  act_type must be one of 'leaky', ..., not 'no'
leaky_relu(x, act_type='prelu')                     ValueError  gamma, the slopes of act_type 'prelu', is missing
leaky_relu(x, v, 'prelu')                           ValueError  could not be broadcast
multibox_prior(x)                                   ValueError  data must have 4 axes, not 2
roi_pooling(d, x, (2, 2), 1.0)                      ValueError  rois must have the shape (3, 5), not (3, 4)
roi_pooling(d, b, (2, 0), 1.0)                      ValueError  pooled_size must be 2 numbers of at least 1, not (2, 0)
dropout(x, 1.5)                                     ValueError  p must be in [0, 1), not 1.5
dropout(x, 0.5, 'no')                               ValueError  mode must be one of 'training', 'always', not 'no'
softmax(x, length=l)                                ValueError  length is given, but use_length is False
softmax(x, use_length=True)                         ValueError  length is missing
softmax(x, 0, l, use_length=True)                   ValueError  length must have the shape (4,), not (3,)
softmax(x, 3)                                       AxisError  axis 3 is out of bounds
batch_norm(d, w, v, v, v)                           ValueError  gamma must have the shape (3,), not (4,)
batch_norm(d, v, v, w, v)                           ValueError  running_mean must have the shape
sync_batch_norm(d, v, v, v, v, ndev=2)              ValueError  over 2 devices are not in dflow
layer_norm(x, u, v)                                 ValueError  beta must have the shape (4,), not (3,)
group_norm(g, w, w, 3)                              ValueError  num_groups must divide the 4 channels, and 3 does not
group_norm(v, v, v)                                 ValueError  data must have at least 2 axes, not the shape (3,)
instance_norm(x, v, v)                              ValueError  data must have at least 3 axes
l2_normalization(x, mode='no')                      ValueError  mode must be one of ..., not 'no'
batch_dot(x, x)                                     ValueError  as many matrices
batch_dot(d, d[0])                                  ValueError  as many matrices
batch_dot(d, d)                                     ValueError  matrices that fit, not (5, 4) and (5, 4)
fully_connected(x, m, num_hidden=4)                 ValueError  weight must have the shape (4, 4), not (3, 4)
fully_connected(x, m, no_bias=False)                ValueError  bias is missing, and no_bias is False
fully_connected(x, m, v[:2], no_bias=False)         ValueError  bias must have the shape (3,), not (2,)
fully_connected(x, m, v)                            ValueError  bias is given, and no_bias is True
fully_connected(x, w)                               ValueError  weight must have the shape
convolution(d, d1, kernel=(2, 3), num_filter=2)     ValueError  bias is missing, and no_bias is False
convolution(d, g4, w, 9, num_filter=4)              ValueError  weight must have the shape
convolution(t, t2, kernel=3, num_filter=2, dilate=4, no_bias=True)  ValueError  does not fit into data
convolution(d, d1, v, (2,))                         ValueError  kernel must be 2 numbers of at least 1, not (2,)
convolution(d, d1, v, None)                         ValueError  kernel must be 2 numbers of at least 1
convolution(d, d1, v, (2, 3), 0)                    ValueError  stride must be 2 numbers of at least 1, not (0, 0)
convolution(x, d1, v, (2, 3))                       ValueError  data must have 3, 4 or 5 axes, not the shape (3, 4)
convolution(d, d1, v, (2, 3), layout='NWC')         ValueError  layout must be one of None, 'NCHW', 'NHWC', not 'NWC'
convolution(g, g1, w, 2, num_filter=4, num_group=3) ValueError  num_group must divide the channels 4, and 3 does not
deconvolution(d, d2, kernel=(2, 3), num_filter=3)   ValueError  weight must have the shape (3, 3, 2, 3)
deconvolution(d, d2, v[:2], (2, 3), num_filter=2, adj=1)  ValueError  adj must be below stride
deconvolution(d, d2, v[:2], (2, 3), num_filter=2, target_shape=99)  ValueError  target_shape must be at most
pooling(d, 9)                                       ValueError  kernel (9, 9) does not fit into data of the shape
pooling(d, 2, 1, 2)                                 ValueError  pad must be below kernel (2, 2), not (2, 2)
pooling(d)                                          ValueError  kernel must be 2 numbers
pooling(d, 2, pool_type='no')                       ValueError  pool_type must be one of ..., not 'no'
pooling(d, 2, pool_type='lp')                       ValueError  p_value must be a positive number
pooling(d, 2, pooling_convention='same')            ValueError  pooling_convention must be one of ..., not 'same'
one_hot(j, -1)                                      ValueError  depth must not be negative: -1
pick(x, k)                                          ValueError  index must have the shape (3,), not (4,)
pick(x, l, 5)                                       AxisError  axis 5 is out of bounds
pick(x, l, mode='no')                               ValueError  mode must be one of 'clip', 'wrap', not 'no'
topk(x, k=9)                                        ValueError  k must be at most 4, the length of axis 1, not 9
topk(x, ret_typ='no')                               ValueError  ret_typ must be one of ..., not 'no'
topk(np.ones(300), dtype='uint8')                   ValueError  dtype uint8 cannot hold all indices below 300
sequence_mask(x, l, True)                           ValueError  sequence_length must have the shape (4,)
sequence_mask(x, k, True, axis=2)                   ValueError  axis must be 0 or 1, ..., not 2
sequence_mask(x, use_sequence_length=True)          ValueError  sequence_length is missing
embedding(j, m, 4, 5)                               ValueError  weight must have the shape (4, 5), not (3, 4)
embedding(j, v)                                     ValueError  weight must have two axes, not the shape (3,)
rnn(t2, q, s, mode='no')                            ValueError  mode must be one of 'rnn_relu', ..., not 'no'
rnn(x, q, s, mode='gru', state_size=2, num_layers=2)  ValueError  data must have three axes, ..., not (3, 4)
rnn(t2, q, s, mode='gru', state_size=2, num_layers=4)  ValueError  parameters must have the shape (150,), not (180,)
rnn(t2, q, s[1:], mode='gru', state_size=2, num_layers=4)  ValueError  state must have the shape (4, 2, 2)
rnn(t2, q, s, mode='lstm')                          ValueError  state_cell is missing, and mode is 'lstm'
rnn(t2, q, s, s, mode='gru')                        ValueError  state_cell is given, and mode is 'gru'
rnn(t2, q, s, mode='gru', projection_size=2)        ValueError  projection_size is for mode 'lstm', not 'gru'
rnn(t2, q, s, None, j, 'gru')                       ValueError  sequence_length is given, and not used
rnn(t2, q, s, mode='gru', use_sequence_length=True) ValueError  sequence_length is missing
rnn(t2, q, s, None, j, 'gru', 2, 2, True, True, 0, True)  ValueError  sequence_length must have the shape (2,)
gather_nd(x, [[0], [1], [2]])                       ValueError  indices must have at most 2 rows
gather_nd(x, [[5], [0]])                            IndexError  index 5 is out of bounds for axis 0
scatter_nd(w, [[0, 1, 2, 9]], (5,))                 IndexError  index 9 is out of bounds for axis 0
scatter_nd(w, [[0], [1]], (2, 2))                   ValueError  data must have the shape (1,), not (4,)
index_update(x, [[7]], 1)                           IndexError  index 7 is out of bounds for axis 0
index_add(x, [[0, 0]], v[:2])                       ValueError  val must broadcast to the shape (2, 4), not (2,)
boolean_mask(x, k)                                  ValueError  index must have the shape (3,), not (4,)
ctc_loss(a, y[:2])                                  ValueError  label must have the shape (3, labels), ..., not (2, 3)
ctc_loss(a[:2], y)                                  ValueError  with at most 2 labels, not (3, 3)
ctc_loss(x, y)                                      ValueError  data must have three axes
ctc_loss(a, y, blank_label='no')                    ValueError  blank_label must be one of 'first', 'last', not 'no'
ctc_loss(a, y, k[1:])                               ValueError  data_lengths is given, but use_data_lengths is False
ctc_loss(a, y, None, k, False, True)                ValueError  label_lengths must have the shape (3,), not (4,)
ctc_loss(a, y, use_label_lengths=True)              ValueError  label_lengths is missing
ctc_loss(a, y + 2)                                  IndexError  label 4 is out of bounds for 4 classes
constraint_check(x < 0, 'too large')                ValueError  too large
reshape(d, (-3, -4))                                ValueError  newshape skips an axis of length 2 with -3
reshape(d, (-6, 7, -1, -4))                         ValueError  newshape splits an axis of length 2 into (7, 0)
reshape(d, (-6, 2))                                 ValueError  newshape must have two lengths after -6
reshape(d, (-7,))                                   ValueError  newshape must not have -7
reshape(x, (-2, -5))                                ValueError  newshape has more codes than (3, 4) has axes
reshape(x, (5, 5))                                  ValueError  cannot reshape array of size 12 into shape (5,5)
arange_like(x, repeat=0)                            ValueError  repeat must be at least 1, not 0
broadcast_like(x, d, (0,), (1, 2))                  ValueError  lhs_axes and rhs_axes must be as many
broadcast_like(x, d)                                ValueError  broadcast
reshape_like(x, d)                                  ValueError  reshape
reshape_like(x, d, 1, 1)                            ValueError  of 2 axes these are none
slice_like(x, x, 2)                                 AxisError   out of bounds
slice_like(x[:2], x)                                ValueError  shape_like has 3 elements, and data 2
slice(x, (0, 1), 2)                                 ValueError  must be as many numbers
gelu(x, "none")                                     ValueError  approximation must be one of
""".strip().split("\n")


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line.strip().split("  ")[0])
def test_refused(line):
    """At the call, with the argument's name and value; what depends on values when they are read."""
    call, kind, text = re.fullmatch(r"(.*\)) +(\w+Error) +(.*)", line).groups()
    text = re.escape(text).replace(r"\.\.\.", ".*")
    arrays = {name: np.array(x) for name, x in arrays_of(call, float).items()}
    with pytest.raises({"AxisError": numpy.exceptions.AxisError}.get(kind) or eval(kind), match=text):
        evaluate(call, arrays).wait_to_read()


# -- what the samples do not show ------------------------------------------------------------------

def test_a_convolution_in_parts(monkeypatch):
    """Few samples at a time, and bands of rows of one, give what one product gives."""
    from dflow.ops import convolution
    x, w, b = np.array(numbers(5, 3, 9, 7)), np.array(numbers(4, 3, 3, 2)), np.array(numbers(4))
    back = np.array(numbers(3, 4, 3, 2))
    calls = (lambda: npx.convolution(x, w, b, (3, 2), (2, 1), num_filter=4),
             lambda: npx.deconvolution(x, back, b, (3, 2), (2, 1), num_filter=4))
    whole = [call() for call in calls]
    for limit in (9000, 1):
        monkeypatch.setattr(convolution, "COLUMNS", limit)
        for call, expected in zip(calls, whole):
            numpy.testing.assert_allclose(call().asnumpy(), expected.asnumpy(), 1e-12)


@pytest.mark.parametrize("change, before", [(npx.index_add, 2), (npx.index_update, 0)])
def test_one_place_and_values_with_more_axes(change, before):
    """A number is a place along the first axis; leading axes of length 1 are none, as in stores."""
    x, v = np.arange(4.0), np.array([[5.0]])
    v.attach_grad()
    with autograd.record():
        y = change(x, 2, v) * 3
    y.backward()
    assert y.tolist() == [0, 3, 3 * (before + 5), 9] and v.grad.tolist() == [[3]]


def test_dropout():
    npx.seed(7)
    x = np.ones((1000, 40), "f4")
    same = npx.dropout(x)
    same += 1
    assert (x == 1).all()
    y = npx.dropout(x, 0.25, "always")
    assert y.dtype == numpy.float32 and sorted(set(y.ravel().tolist())) == [0, numpy.float32(1 / 0.75)]
    assert abs((y == 0).mean() - 0.25) < 0.02
    rows = npx.dropout(x, 0.5, "always", axes=(1,))
    assert (rows == rows[:, :1]).all() and 300 < (rows[:, 0] > 0).sum() < 700
    npx.seed(7)
    assert (npx.dropout(x, 0.25, "always") == y).all()


def test_training(monkeypatch):
    """What autograd says decides about dropout, rrelu and batch_norm."""
    from dflow.ops import nn
    monkeypatch.setattr(nn, "is_training", lambda: True)
    x = np.array(numbers(50, 40))
    assert (npx.dropout(x, 0.5) == 0).sum() > 500
    slopes = (npx.leaky_relu(-abs(x) - 1, act_type="rrelu") / (-abs(x) - 1)).asnumpy()
    assert 0.125 <= slopes.min() < 0.15 and 0.31 < slopes.max() < 0.334
    ones, mean = np.ones(40), np.zeros(40)
    npx.batch_norm(x, ones, ones, mean, ones.copy(), momentum=0.5)
    numpy.testing.assert_allclose(mean.asnumpy(), x.asnumpy().mean(0) / 2)


def test_foreach():
    data, start = np.array(numbers(4, 3)), np.zeros(3)
    outputs, state = npx.foreach(lambda x, total: (x + total, x + total), data, start)
    numpy.testing.assert_allclose(outputs.asnumpy(), data.asnumpy().cumsum(0))
    assert (state == outputs[-1]).all()
    outputs, states = npx.foreach(lambda x, s: ([x[0] * x[1], x[0]], [s[0] + 1]), [data, data], [np.zeros(1)])
    assert (outputs[0] == data * data).all() and (outputs[1] == data).all() and states[0].item() == 4
    with pytest.raises(ValueError, match="data must have one length"):
        npx.foreach(lambda x, s: (x, s), [data, data[:2]], start)


def test_while_loop():
    outputs, (i, total) = npx.while_loop(
        lambda i, s: i <= 5, lambda i, s: ([i + s], [i + 1, s + i]), (np.array([0]), np.array([1])), max_iterations=10)
    assert outputs[0].ravel().tolist() == [1, 2, 4, 7, 11, 16, 0, 0, 0, 0] and (i.item(), total.item()) == (6, 16)
    outputs, (i,) = npx.while_loop(lambda i: i < 5, lambda i: (i * i, i + 1), [np.array(0)], max_iterations=3)
    assert outputs.tolist() == [0, 1, 4] and i.item() == 3
    assert npx.while_loop(lambda i: i < 0, lambda i: (i, i), [np.array(0)], max_iterations=3)[0] == []
    with pytest.raises(ValueError, match="max_iterations must be a number of at least 0, not None"):
        npx.while_loop(lambda i: i < 5, lambda i: (i, i), [np.array(0)])


def test_a_loop_without_outputs():
    outputs, (i, total) = npx.while_loop(lambda i, total: i < 4, lambda i, total: (None, [i + 1, total + i]),
                                         [np.array(0), np.array(0)], max_iterations=9)
    assert outputs == [] and (i, total) == (4, 6)
    assert npx.foreach(lambda x, s: (None, s + x), np.arange(4), np.array(0)) == ([], 6)


def test_cond():
    a, b = np.array([1.0]), np.array([2.0])
    assert npx.cond(a < b, lambda: a * 3, lambda: b).item() == 3
    assert npx.cond(lambda x, y: x > y, lambda x, y: x, lambda x, y: y + 1, [a, b]).item() == 3


@pytest.mark.parametrize("kind", [list, dict])
def test_files(tmp_path, kind):
    arrays = [np.array(numbers(2, 3)).astype("f4"), np.arange(4), np.array(2.5)]
    given = dict(zip(("file", "a/b", "0"), arrays)) if kind is dict else arrays
    npx.save(str(tmp_path / "arrays"), given)
    found = npx.load(str(tmp_path / "arrays"))
    assert type(found) is kind and (kind is list or list(found) == list(given))
    for x, y in zip(found.values() if kind is dict else found, arrays, strict=True):
        assert type(x) is np.ndarray and x.dtype == y.dtype and x.shape == y.shape and (x == y).all()


def test_files_of_one_array_and_of_numpys(tmp_path):
    for x in (np.arange(3), np.array(2.5), np.ones((2, 3), "f4").T, np.zeros((0, 2))):
        npx.save(tmp_path / "one", x)
        for found in (npx.load(str(tmp_path / "one")), numpy.load(tmp_path / "one")):
            assert found.dtype == x.dtype and found.shape == x.shape and (found == x).all()
    npx.save(tmp_path / "one", [np.arange(3)])
    found, = npx.load(tmp_path / "one")
    assert found.tolist() == numpy.load(tmp_path / "one")["0"].tolist() == [0, 1, 2]
    numpy.save(tmp_path / "x.npy", numpy.arange(3, dtype=">i4"))
    assert npx.load(tmp_path / "x.npy").tolist() == [0, 1, 2]
    file = io.BytesIO()
    npx.save(file, np.arange(2))
    assert not file.closed and npx.load(io.BytesIO(file.getvalue())).tolist() == [0, 1]
    with pytest.raises(TypeError, match="arr must be arrays"):
        npx.save(tmp_path / "none", 3)
    numpy.savez(tmp_path / "numpys.npz", x=numpy.ones(2))
    assert npx.load(tmp_path / "numpys.npz")["x"].tolist() == [1, 1]
    with pytest.raises(TypeError, match="arr must be arrays, with names that are texts, not 'x': int"):
        npx.save(tmp_path / "none", {"x": 3})
    assert not (tmp_path / "none").exists()


# What MXNet 1.9.1's nd.save() and npx.save() wrote, compressed.
MXNETS = {
    "nd": (
        'c-j+UWIzGTQ2OMr$v;6f6A;6cFhOZlEeGsD1WY|6l02$92M1&|=w`73@lQ^e?Ho|rK(9PCGd-'
        'h(3(8L{O1Co5OUg_vhN;ZVD**u2Hx&^'),
    "list": (
        'c-j+UWIzEh?#W-1f5P}oXmSwHU=Ji5U_1b<n*?V'),
    "np": (
        'c-j+UWIzE-Q2Nxb$v<IYs7e$ZU~)`IqRd#-GNFl8!59?)GE4{)'),
}


def test_savez(tmp_path):
    file, x, y = tmp_path / "arrays.npz", np.arange(3), np.ones((2, 2))
    npx.savez(file, x, x[1:], named=y)
    loaded = npx.load(file)
    assert list(loaded) == ["arr_0", "arr_1", "named"] and loaded["arr_1"].tolist() == [1, 2]
    with numpy.load(file) as theirs:
        assert theirs["named"].tolist() == y.tolist()
    with pytest.raises(ValueError, match="arr_0: names of arrays that are given by place, too"):
        npx.savez(file, x, arr_0=y)
    with pytest.raises(TypeError, match="arr must be arrays, with names that are texts, not 'arr_0': list"):
        npx.savez(file, [1])


def test_from_numpy():
    theirs = numpy.arange(6.0).reshape(2, 3)
    apart = npx.from_numpy(theirs.T, zero_copy=False)
    theirs[0, 0] = 7
    assert apart.tolist() == [[0, 3], [1, 4], [2, 5]]
    x = npx.from_numpy(theirs)
    x[1] += 1
    assert theirs.tolist() == [[7, 1, 2], [4, 5, 6]] and numpy.shares_memory(theirs, x)
    with pytest.raises(ValueError, match="read-only"):
        theirs[0, 0] = 8
    y = npx.from_numpy(theirs)
    y[0, 0] = 8
    assert x[0, 0] == theirs[0, 0] == 8
    fixed = npx.from_numpy(numpy.frombuffer(b"1234", "u1"))
    with pytest.raises(ValueError, match="read-only"):
        fixed[0] = 1
    for a in (numpy.ones((1, 0, 2)), numpy.array(3), numpy.arange(3, dtype=">i4")):
        assert npx.from_numpy(a).tolist() == a.tolist() and npx.from_numpy(a).shape == a.shape
    with pytest.raises(ValueError, match="not C-contiguous needs zero_copy=False"):
        npx.from_numpy(theirs.T)
    with pytest.raises(TypeError, match="a NumPy array is expected, not list"):
        npx.from_numpy([1])


def test_capsules():
    x = np.arange(3.0)
    y = npx.from_dlpack(npx.to_dlpack_for_write(x))         # the same memory, as in MXNet
    y += 1
    assert x.tolist() == [1, 2, 3]
    z = npx.from_dlpack(npx.to_dlpack_for_read(x + 1))
    del x
    assert y.tolist() == [1, 2, 3] and z.tolist() == [2, 3, 4] and npx.from_dlpack(y).tolist() == [1, 2, 3]


# -- draws -----------------------------------------------------------------------------------------

def test_bernoulli():
    prob = np.array([0.0, 0.25, 1.0])
    ones = npx.random.bernoulli(prob, size=(20000, 3))
    assert ones.dtype == "float32" and set(ones.ravel().tolist()) == {0, 1}
    assert ones.mean(0)[[0, 2]].tolist() == [0, 1] and abs(ones.mean(0)[1].item() - 0.25) < 0.02
    logit = npx.bernoulli(logit=math.log(3.0), size=20000, dtype="int32", ctx=npx.cpu(1))
    assert logit.dtype == "int32" and logit.ctx == npx.cpu(1) and abs(logit.mean().item() - 0.75) < 0.02
    assert npx.bernoulli(prob).shape == (3,) and npx.bernoulli(0.5).shape == ()
    assert npx.bernoulli(1.0, out=np.zeros(4)).tolist() == [1] * 4
    for both in ({}, {"prob": 0.5, "logit": 0.0}):
        with pytest.raises(ValueError, match="either prob or logit must be given, and not both"):
            npx.bernoulli(**both)


def test_probabilities_are_checked():
    for wrong in (1.5, -0.1, np.array([0.5, 2]), np.array([0.5, numpy.nan])):
        with pytest.raises(ValueError, match="prob must be between 0 and 1"):
            npx.bernoulli(wrong).wait_to_read()
    assert npx.bernoulli(np.array([0.0, 1])).tolist() == [0, 1]


def test_sums_into_an_array():
    x = np.ones(2)
    assert npx.add_n(x, x * 2, x, out=x) is x and x.tolist() == [4, 4]


def test_draws_of_batches():
    loc = np.array([[0.0], [100.0]])
    x = npx.random.normal_n(loc, np.array([1.0, 2.0, 3.0]), batch_shape=(500, 4))
    assert x.shape == (500, 4, 2, 3) and x.dtype == "float32"
    numpy.testing.assert_allclose(x.std((0, 1)).asnumpy(), [[1, 2, 3]] * 2, rtol=0.1)
    numpy.testing.assert_allclose(x.mean((0, 1)).asnumpy(), [[0] * 3, [100] * 3], atol=0.5)
    y = npx.uniform_n(loc, loc + 1, 500, dtype="float16", device=npx.cpu(1))
    assert y.shape == (500, 2, 1) and y.dtype == "float16" and y.ctx == npx.cpu(1)
    assert (loc <= y.as_in_ctx(npx.cpu())).all() and npx.normal_n().shape == ()


def test_categorical():
    p = np.array([[0.0, 1.0, 0.0], [0.25, 0.0, 0.75]], dtype="float32")
    index = npx.random.categorical(p, shape=(4, 5000))
    assert index.shape == (2, 4, 5000) and index.dtype == "int32" and (index[0] == 1).all()
    assert set(index[1].ravel().tolist()) == {0, 2} and abs((index[1] == 2).mean().item() - 0.75) < 0.02
    assert npx.random.categorical(p).shape == (2,) and npx.random.categorical(p[0]).shape == ()
    short = np.array([0.3, 0.2, 0.0])                   # which sums to less than one: nothing goes to the last
    assert set(npx.random.categorical(short, 2000).tolist()) == {0, 1}
    p.attach_grad()
    with autograd.record():
        index, chances = npx.random.categorical(p, 50, get_prob=True, dtype="int64")
        (-chances).sum().backward()
    picked = p.asnumpy()[numpy.arange(2)[:, None], index.asnumpy()]
    assert index.dtype == "int64" and numpy.allclose(chances, numpy.log(picked))
    counts = (index.asnumpy()[:, :, None] == numpy.arange(3)).sum(1)
    expected = -counts / numpy.where(counts, p.asnumpy(), 1)
    numpy.testing.assert_allclose(p.grad.asnumpy(), expected, rtol=1e-5)


def test_multinomial():
    n = np.array([10, 0, 1000])
    p = np.array([[0.5, 0.0, 0.5], [1.0, 0.0, 0.0], [0.1, 0.7, 0.2]])
    drawn = npx.random.multinomial(n, p, shape=(2, 3000))
    assert drawn.shape == (3, 2, 3000, 3) and drawn.dtype == "float32"
    assert (drawn.sum(-1) == n[:, None, None]).all() and (drawn >= 0).all() and (drawn[0, ..., 1] == 0).all()
    numpy.testing.assert_allclose(drawn.mean((1, 2)).asnumpy(), n.asnumpy()[:, None] * p.asnumpy(), rtol=0.05)
    covariance = numpy.cov(drawn[2].asnumpy().reshape(-1, 3).T)
    chance = p[2].asnumpy()
    numpy.testing.assert_allclose(covariance, 1000 * (numpy.diag(chance) - numpy.outer(chance, chance)), rtol=0.15)
    assert npx.random.multinomial(5, [0.5, 0.5]).shape == (2,)
    assert npx.random.multinomial(np.ones((2, 3)), np.ones(4) / 4, 5).shape == (2, 3, 5, 4)
    y = npx.random.multinomial([4], [[0.0, 0.0, 1.0]], dtype="int64", device=npx.cpu(1))
    assert y.tolist() == [[0, 0, 4]] and y.dtype == "int64" and y.ctx == npx.cpu(1)
    out = np.zeros(2)
    assert npx.random.multinomial(3, [1.0, 0.0], out=out) is out and out.tolist() == [3, 0]
    npx.random.seed(3)
    first = npx.random.multinomial(n, p)
    npx.random.seed(3)
    assert (npx.random.multinomial(n, p) == first).all()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_softmax_of_nothing(shape):
    x = np.zeros(shape)
    x.attach_grad()
    for function in (npx.softmax, npx.log_softmax, lambda x: npx.masked_log_softmax(x, x > 0)):
        with autograd.record():
            y = function(x)
        y.backward()
        assert y.shape == x.grad.shape == shape


def test_gradients_stop():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = npx.stop_gradient(x * x) * x
    y.backward()
    assert x.grad.tolist() == [1, 4]


def test_loaded_arrays_lie_row_after_row(tmp_path):
    x = numpy.arange(6.0).reshape(2, 3).T
    numpy.save(tmp_path / "x.npy", x)
    numpy.savez(tmp_path / "x.npz", x=x, zero=numpy.array(1.0))
    found = npx.load(tmp_path / "x.npz")
    assert found["zero"].shape == ()
    for y in (npx.load(tmp_path / "x.npy"), found["x"]):
        assert y.flags.c_contiguous and (y == x).all()


def test_files_of_mxnets(tmp_path):
    found = {}
    for name, content in MXNETS.items():
        content = zlib.decompress(base64.b85decode(content))
        (tmp_path / name).write_bytes(content)
        found[name] = npx.load(tmp_path / name)
        with pytest.raises(ValueError, match="the file ends too early"):
            npx.load(io.BytesIO(content[:-1]))
    assert {name: (str(x.dtype), x.tolist()) for name, x in found["nd"].items()} == {
        "0.weight": ("float32", [[1.5, -2]]), "arg:0.bias": ("float32", [3]), "int": ("int8", [-7, 9])}
    x, = found["list"]
    assert x.tolist() == [1, 2] and found["np"]["z"].tolist() == 2.5 and found["np"]["x"].shape == (0, 3)
    x += 1
    sparse = (tmp_path / "list").read_bytes()
    with pytest.raises(ValueError, match="arrays that are sparse"):
        npx.load(io.BytesIO(sparse[:28] + bytes([2]) + sparse[29:]))
    oldest = hostile.oldest_mxnets(numpy.arange(6, dtype="f4").reshape(2, 3))
    (x,) = npx.load(io.BytesIO(oldest))
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and x.dtype == "float32"
    with pytest.raises(ValueError, match="the file ends too early"):
        npx.load(io.BytesIO(oldest[:60]))
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(1))
    net.load_parameters(tmp_path / "nd", ignore_extra=True)
    assert net(np.array([[1, 1]], np.float32)).tolist() == [[2.5]]


# -- devices ---------------------------------------------------------------------------------------

def test_a_device_is_what_numpy_calls_it():
    x, y = np.zeros(2), np.zeros(2, device=npx.cpu(1))
    assert x.device == "cpu" == x.device == npx.cpu(0) == x.ctx and hash(x.device) == hash("cpu") == hash(npx.cpu(0))
    assert y.device == npx.cpu(1) != "cpu" and y.device != "cpu(1)" and "cpu" in {x.device} and not x.device != "cpu"
    assert np.ones(2, device=x.device).device == "cpu" and x.to_device(x.device) is x


def test_devices():
    x = np.ones(3)
    assert npx.cpu() == npx.Device("cpu", 0) == npx.current_device() == x.ctx and npx.cpu(1) != npx.cpu()
    assert repr(npx.gpu(2)) == "gpu(2)" and len({npx.cpu(), npx.cpu(0), npx.gpu()}) == 2
    assert npx.num_gpus() == 0 and npx.cpu_pinned() == npx.cpu() == npx.Device("cpu_shared", 0)
    assert x.as_in_ctx(npx.cpu()) is x is x.as_in_context(x.context)
    y = x.copyto(npx.cpu())
    y[0] = 7
    assert x.tolist() == [1, 1, 1] and y.copyto(x) is x and x.tolist() == [7, 1, 1]
    assert np.ones(2, device=npx.cpu()).tolist() == [1, 1]
    with npx.cpu():
        assert npx.current_context() == npx.cpu()


@pytest.mark.parametrize("text", ["np.ones(2, device=npx.gpu())", "np.ones(2).as_in_ctx(npx.gpu())",
                                  "np.ones(2).copyto(npx.gpu(1))", "np.array([1]).to_device(npx.gpu())"])
def test_no_gpu(text):
    with pytest.raises(ValueError, match=r"gpu\([01]\)"):
        eval(text)


# -- names -----------------------------------------------------------------------------------------

def test_names():
    from dflow import np as numpys
    assert numpys is np and npx.waitall is dflow.waitall
    assert {row.name for row in ROWS} <= set(npx.__all__) and all(hasattr(npx, name) for name in npx.__all__)
    for module, name, text in ((npx, "box_nms", "MXNet's npx.box_nms is not in dflow"),
                               (npx, "nothing", "module 'dflow.npx' has no attribute 'nothing'"),
                               (dflow, "nothing", "module 'dflow' has no attribute 'nothing'")):
        with pytest.raises(AttributeError, match=text):
            getattr(module, name)
    assert not [name for name in npx._MISSING if name in npx.__all__]
