"""MXNet 1's `nd` over dflow arrays: `from dflow import nd`. What makes arrays makes float32.

There is one class of arrays, whose operators and methods are NumPy's; loading this module gives it the methods of
MXNet 1 that NumPy has not (`x.asscalar()`, `x.norm()`, `x.exp()`, ...).

Kept of MXNet 1, where NumPy differs: names, order and defaults of arguments (`dim`, `exclude`, `out`; `concat` along
axis 1); the codes 0 and -2 to -4 in the shapes of nd.reshape(); `dot` over the first axis of its second argument;
copies where NumPy gives views; float32 as what comparisons by name, `argmax` and `argsort` give.

Not kept: a full reduction has no axes, where MXNet's has one of length 1 (`asscalar()` and `float()` take either, and
nd.concat() takes it for that); `x == y` is boolean; x.flatten() is NumPy's, and so is x.reshape(), but for shapes that
NumPy refuses: there the codes count. x.take() of floating point indices is along axis 0, of integers as in NumPy.

Loading it also lets arrays take what npx.set_np() does (see there): lists of axes, whole numbers as indices.
"""

import io
import itertools
import math

from dflow import npx
from dflow import numpy as np
from dflow._array.core import array as as_array
from dflow._array.core import attach, is_array, ndarray, set_mxnet_rules
from dflow._base.missing import missing
from dflow._engine import waitall
from dflow._functions.advanced_indexing import take_as_numpy
from dflow._functions.numpy_inline import or_else
from dflow._functions.placement import put_on
from dflow._tracing.tape import detach
from dflow.nd import _table, contrib, linalg, op, random
from dflow.nd._networks import (  # noqa: F401
    LRN,
    BilinearSampler,
    GridGenerator,
    SequenceLast,
    SequenceReverse,
    SoftmaxActivation,
    SpatialTransformer,
    UpSampling,
    depth_to_space,
    hard_sigmoid,
    moments,
    ravel_multi_index,
    space_to_depth,
    unravel_index,
)
from dflow.npx import from_dlpack, from_numpy, image, to_dlpack_for_read, to_dlpack_for_write  # noqa: F401
from dflow.ops import files

__getattr__ = missing(__name__, """BatchNorm_v1 Convolution_v1 Correlation Crop Custom IdentityAttachKLSparseReg
    LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput Pooling_v1 SVMOutput adam_update all_finite
    amp_cast amp_multicast cast_storage col2im ftml_update ftrl_update
    im2col imdecode khatri_rao lamb_update_phase1 lamb_update_phase2 linalg_extracttrian linalg_gelqf
    linalg_maketrian linalg_syevd mp_lamb_update_phase1 mp_lamb_update_phase2 mp_nag_mom_update
    mp_sgd_mom_update mp_sgd_update multi_all_finite multi_lars multi_mp_sgd_mom_update multi_mp_sgd_update
    multi_sgd_mom_update multi_sgd_update multi_sum_sq nag_mom_update random_pdf_dirichlet random_pdf_exponential
    random_pdf_gamma random_pdf_generalized_negative_binomial random_pdf_negative_binomial random_pdf_normal
    random_pdf_poisson random_pdf_uniform rmsprop_update rmspropalex_update
    sgd_mom_update sgd_update signsgd_update signum_update sparse""")


class _ArraysAlone(type):
    """isinstance(x, nd.NDArray) is true of our arrays, not of NumPy's, as isinstance(x, np.ndarray) is."""

    def __new__(meta, name, bases, members, **keywords):
        if not bases:
            return super().__new__(meta, name, bases, members)
        bases = tuple(ndarray if isinstance(base, meta) else base for base in bases)
        return type(ndarray)(name, bases, members, **keywords)              # a subclass is one of np.ndarray

    def __instancecheck__(cls, x):
        return is_array(x)

    def __subclasscheck__(cls, kind):
        return type.__subclasscheck__(ndarray, kind)

    def __getattr__(cls, name):
        return getattr(ndarray, name)

    def __call__(cls, *args, **keywords):
        return ndarray(*args, **keywords)


class NDArray(metaclass=_ArraysAlone):
    """The class of arrays, as MXNet 1 calls it, for isinstance(): their type is np.ndarray."""


# -- the table: a name, what it calls, parameters ----------------------------------------------------

_functions = _table.read("""
abs/arccos/arccosh/arcsin/arcsinh/arctan/arctanh/cbrt/ceil/cos/cosh np.{} data |
degrees/exp/expm1/fix/floor/log/log10/log1p/log2/negative/radians np.{} data |
reciprocal/rint/round/sign/sin/sinh/sqrt/square/tan/tanh/trunc np.{} data |
relu/sigmoid/erf/erfinv/gammaln/gamma/digamma npx.{} data |
cumsum                              np.cumsum            a | axis dtype
clip                                np.clip              data a_min a_max |
squeeze                             np.squeeze           data | axis
expand_dims                         np.expand_dims       data axis |
swapaxes/SwapAxis                   np.swapaxes          data | dim1:axis1=0 dim2:axis2=0
transpose                           np.transpose         data | axes
tile                                np.tile              data reps |
repeat                              np.repeat            data repeats | axis
flip/reverse                        np.flip              data axis |
diag                                np.diag              data | k=0
moveaxis                            np.moveaxis          tensor source destination |
where                               np.where             condition x y |
broadcast_like                      npx.broadcast_like   lhs rhs | lhs_axes rhs_axes
slice_like                          npx.slice_like       data shape_like | axes
reshape_like                        npx.reshape_like     lhs rhs | lhs_begin lhs_end rhs_begin rhs_end
shape_array                         npx.shape_array      data |
one_hot                             npx.one_hot          indices depth | on_value off_value dtype
pick                                npx.pick             data index | axis keepdims mode
batch_take                          npx.pick             a indices |
choose_element_0index               npx.pick             lhs rhs |
ROIPooling                          npx.roi_pooling      data rois | pooled_size spatial_scale
topk                                npx.topk             data | axis k ret_typ is_ascend dtype
gather_nd                           npx.gather_nd        data indices |
scatter_nd                          npx.scatter_nd       data indices shape |
batch_dot                           npx.batch_dot        lhs rhs | transpose_a transpose_b -forward_stype
smooth_l1                           npx.smooth_l1        data | scalar
softmax                             npx.softmax          data | axis temperature dtype length use_length
log_softmax                         npx.log_softmax      data | axis temperature dtype length use_length
Activation                          npx.activation       data | act_type
LeakyReLU                           npx.leaky_relu       data gamma | act_type slope lower_bound upper_bound
Dropout                             npx.dropout          data | p mode axes -cudnn_off
Embedding                           npx.embedding        data weight | input_dim output_dim dtype -sparse_grad
Flatten/flatten                     npx.batch_flatten    data |
FullyConnected                      npx.fully_connected  data weight bias | num_hidden no_bias=False flatten
L2Normalization                     npx.l2_normalization data | eps mode
BatchNorm   npx.batch_norm   data gamma beta moving_mean moving_var | eps momentum fix_gamma use_global_stats output_mean_var axis -cudnn_off
LayerNorm   npx.layer_norm   data gamma beta | axis eps output_mean_var
GroupNorm   npx.group_norm   data gamma beta | num_groups eps output_mean_var
InstanceNorm npx.instance_norm data gamma beta | eps
CTCLoss/ctc_loss npx.ctc_loss data label data_lengths label_lengths | use_data_lengths use_label_lengths blank_label
RNN         npx.rnn          data parameters state state_cell sequence_length | state_size num_layers bidirectional mode p state_outputs projection_size use_sequence_length
SequenceMask npx.sequence_mask data sequence_length | use_sequence_length value axis
Pooling     npx.pooling      data | kernel pool_type global_pool -cudnn_off pooling_convention stride pad p_value count_include_pad layout
Convolution npx.convolution  data weight bias | kernel stride dilate pad num_filter num_group -workspace no_bias -cudnn_tune -cudnn_off layout
Deconvolution npx.deconvolution data weight bias | kernel stride dilate pad adj target_shape num_filter num_group -workspace no_bias=True -cudnn_tune -cudnn_off layout
""")  # noqa: E501

_functions |= _table.read("""
add/broadcast_add/broadcast_plus/elemwise_add                    np.add        lhs rhs |
subtract/broadcast_sub/broadcast_minus/elemwise_sub              np.subtract   lhs rhs |
multiply/broadcast_mul/elemwise_mul                              np.multiply   lhs rhs |
divide/true_divide/broadcast_div/elemwise_div                    np.divide     lhs rhs |
modulo/broadcast_mod                                             np.mod        lhs rhs |
power/broadcast_power                                            np.power      lhs rhs |
maximum/broadcast_maximum                                        np.maximum    lhs rhs |
minimum/broadcast_minimum                                        np.minimum    lhs rhs |
hypot/broadcast_hypot                                            np.hypot      lhs rhs |
""")
_functions |= _table.read("""
argmax/argmin                                                    np.{}            data | axis keepdims
equal/broadcast_equal                                            np.equal         lhs rhs |
not_equal/broadcast_not_equal                                    np.not_equal     lhs rhs |
greater/broadcast_greater                                        np.greater       lhs rhs |
greater_equal/broadcast_greater_equal                            np.greater_equal lhs rhs |
lesser/broadcast_lesser                                          np.less          lhs rhs |
lesser_equal/broadcast_lesser_equal                              np.less_equal    lhs rhs |
logical_and/broadcast_logical_and                                np.logical_and   lhs rhs |
logical_or/broadcast_logical_or                                  np.logical_or    lhs rhs |
logical_xor/broadcast_logical_xor                                np.logical_xor   lhs rhs |
logical_not                                                      np.logical_not   data |
""", np.float32)
globals().update(_functions)


# -- making arrays ---------------------------------------------------------------------------------

def array(source_array, ctx=None, dtype=None):
    """A new array: float32, but of the type of another array of ours."""
    if dtype is None:
        dtype = source_array.dtype if is_array(source_array) else np.float32
    return put_on(np.array(source_array, dtype), ctx)


def _filled(name, function):
    def make(shape, ctx=None, dtype=None, stype=None, out=None, name=None):
        if stype not in (None, "default"):
            raise ValueError(f"stype must be 'default', not {stype!r}: dflow has no sparse arrays")
        return _given(put_on(function(shape, dtype=dtype or np.float32), ctx), out)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"np.{name}(), float32 unless asked for."
    return make


empty, zeros, ones = (_filled(_name, getattr(np, _name)) for _name in ("empty", "zeros", "ones"))


def full(shape, val, ctx=None, dtype=np.float32, out=None):
    """One value everywhere."""
    return _given(put_on(np.full(shape, val, dtype), ctx), out)


def _given(result, out):
    if out is None:
        return result
    out[...] = result
    return out


def zeros_like(data, out=None):
    """Zeros of the same shape and type."""
    return _given(np.zeros_like(data), out)


def ones_like(data, out=None):
    """Ones of the same shape and type."""
    return _given(np.ones_like(data), out)


def arange(start, stop=None, step=1.0, repeat=1, infer_range=None, ctx=None, dtype=np.float32):
    """start, start + step, ... below stop, each number `repeat` times."""
    result = np.arange(*((0, start) if stop is None else (start, stop)), step, dtype=dtype)
    return put_on(result if repeat == 1 else np.repeat(result, repeat), ctx)


def linspace(start, stop, num, endpoint=True, ctx=None, dtype=np.float32):
    """So many numbers at equal distances."""
    return put_on(np.linspace(start, stop, num, endpoint, dtype=dtype), ctx)


def eye(N, M=0, k=0, ctx=None, dtype=np.float32):
    """Ones on a diagonal, of N rows and M columns, which are as many for 0."""
    return put_on(np.eye(N, M or None, k, dtype=dtype or np.float32), ctx)


# -- reductions ------------------------------------------------------------------------------------

def _axes(x, axis, exclude):
    """Axes as NumPy reads them: None for all; with `exclude` all but those."""
    if axis is None or isinstance(axis, (list, tuple)) and not axis:
        return () if exclude else None
    axes = {k % x.ndim if -x.ndim <= k < x.ndim else k for k in (axis if isinstance(axis, (list, tuple)) else (axis,))}
    return tuple(k for k in range(x.ndim) if k not in axes) if exclude else tuple(axes)


def _reduction(name):
    function = getattr(np, name)

    def reduce(data, axis=None, keepdims=False, exclude=False, out=None):
        x = as_array(data)
        return _given(function(x, axis=_axes(x, axis, exclude), keepdims=bool(keepdims)), out)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"np.{name}() along one or more axes, or with `exclude` along all others."
    return reduce


globals().update({_name: _reduction(_name) for _name in "sum mean max min prod nansum nanprod".split()})
sum_axis, max_axis, min_axis = (globals()[_name] for _name in ("sum", "max", "min"))


def fill_element_0index(lhs, mhs, rhs):
    """A copy of rows, each with another number, of `mhs`, in the column that rhs tells."""
    result = as_array(lhs).copy()
    result[np.arange(len(result)), as_array(rhs).astype(np.int64)] = mhs
    return result


def onehot_encode(indices, out):
    """one_hot() of as many columns as `out` has, into it."""
    out[...] = npx.one_hot(indices, out.shape[1])
    return out


def norm(data, ord=2, axis=None, keepdims=False, out=None):
    """The sum of absolute values (ord=1), or the root of the sum of squares (ord=2), along one or two axes or all."""
    x = as_array(data)
    axis = tuple(axis) if isinstance(axis, list) else axis
    if ord not in (1, 2):
        raise ValueError(f"ord must be 1 or 2, not {ord!r}")
    parts = np.abs(x) if ord == 1 else np.square(x)
    total = np.sum(parts, axis=axis, keepdims=keepdims)
    return _given(total if ord == 1 else np.sqrt(total), out)


def argmax_channel(data):
    """The index of the largest element of each row, float32."""
    return _functions["argmax"](data, axis=1)


# -- products --------------------------------------------------------------------------------------

def dot(lhs, rhs, transpose_a=False, transpose_b=False, forward_stype=None, out=None):
    """The sum of products over the last axis of lhs and the first of rhs; either is transposed first if asked for."""
    a, b = as_array(lhs), as_array(rhs)
    a, b = (a.T if transpose_a else a), (b.T if transpose_b else b)
    return _given(np.dot(a, b) if b.ndim < 3 else np.tensordot(a, b, 1), out)


def add_n(*args, out=None):
    """The sum of arrays."""
    return _given(npx.add_n(*args), out)


ElementWiseSum = add_n


# -- shapes ----------------------------------------------------------------------------------------

CODES = (0, -2, -3, -4)


def _decoded(shape, codes):
    """The lengths that the codes of nd.reshape() stand for."""
    lengths, rest, codes = [], list(shape), iter(codes)
    for code in codes:
        if code in CODES and not (rest or code == -2):
            raise ValueError(f"shape has more codes than {tuple(shape)} has axes")
        if code == 0:
            lengths.append(rest.pop(0))
        elif code == -2:
            lengths.extend(rest)
            rest = []
        elif code == -3:
            lengths.append(math.prod(rest[:2]))
            rest = rest[2:]
        elif code == -4:
            n, parts = rest.pop(0), list(itertools.islice(codes, 2))
            if len(parts) != 2:
                raise ValueError("shape must have two lengths after -4")
            if -1 in parts:
                parts[parts.index(-1)] = n // -math.prod(parts)
            if math.prod(parts) != n:
                raise ValueError(f"shape splits an axis of length {n} into {tuple(parts)}")
            lengths.extend(parts)
        elif code < -4:
            raise ValueError(f"shape must not have {code}")
        else:
            lengths.append(code)
            rest = rest[1:]
    return tuple(lengths)


def reshape(data, shape, reverse=False, out=None):
    """The same elements in another shape. 0: the length of this axis; -1: what is left; -2: all axes that are left;
    -3: two axes as one; -4: an axis as two, whose lengths follow. reverse: read from the last axis on.
    """
    x = as_array(data)
    codes = (shape,) if isinstance(shape, int) else tuple(shape)
    lengths = _decoded(x.shape[::-1], codes[::-1])[::-1] if reverse else _decoded(x.shape, codes)
    return _given(x.reshape(lengths), out)


Reshape = reshape


def broadcast_to(data, shape, out=None):
    """A copy in a shape that axes of length 1 are repeated to; 0: the length that it has."""
    x = as_array(data)
    wanted = [n or m for n, m in zip(shape, x.shape)] if len(shape) == x.ndim else shape
    return _given(np.broadcast_to(x, tuple(wanted)).copy(), out)


def broadcast_axis(data, axis=(), size=()):
    """A copy with axes of length 1 repeated."""
    x = as_array(data)
    shape = list(x.shape)
    for k, n in zip(np.atleast_1d(axis).tolist(), np.atleast_1d(size).tolist(), strict=True):
        shape[k] = n
    return broadcast_to(x, shape)


broadcast_axes = broadcast_axis


def concat(*data, dim=1, num_args=None, out=None):
    """Arrays joined along an axis; one without axes counts as of length 1."""
    parts = data[0] if len(data) == 1 and isinstance(data[0], (list, tuple)) else data
    return _given(np.concatenate([x if x.ndim else x.reshape(1) for x in map(as_array, parts)], dim), out)


Concat = concat


def concatenate(arrays, axis=0, always_copy=True):
    """concat() of a list."""
    return concat(*arrays, dim=axis)


def stack(*data, axis=0, num_args=None, out=None):
    """Arrays joined along a new axis."""
    parts = data[0] if len(data) == 1 and isinstance(data[0], (list, tuple)) else data
    return _given(np.stack(parts, axis), out)


def split(data, num_outputs, axis=1, squeeze_axis=False):
    """A list of equal parts along an axis, without it if squeeze_axis; the part itself if it is one."""
    return split_v2(data, num_outputs, axis, squeeze_axis)


SliceChannel = split


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """A list of parts along an axis: so many, or between indices; the part itself if it is one."""
    parts = np.split(as_array(ary), indices_or_sections, axis)
    parts = [x.squeeze(axis) for x in parts] if squeeze_axis else parts
    return parts if len(parts) > 1 else parts[0]


def slice(data, begin, end, step=(), out=None):             # as MXNet calls it
    """npx.slice()."""
    return _given(npx.slice(data, begin, end, () if step is None else step), out)


_Slice = type(np.s_[:])


def _listed(x):
    return x if isinstance(x, (list, tuple)) else (x,)


crop = slice


def slice_axis(data, axis, begin, end, out=None):
    """A part along one axis."""
    x = as_array(data)
    axis = range(x.ndim)[axis]
    return _given(x[(_Slice(None),) * axis + (_Slice(begin, end),)].copy(), out)


def pad(data, mode="constant", pad_width=(), constant_value=0, out=None):
    """Elements added at both ends of each axis: two numbers an axis. mode: "constant", "edge" or "reflect"."""
    width = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    values = {"constant_values": constant_value} if mode == "constant" else {}
    return _given(np.pad(as_array(data), width, mode, **values), out)


Pad = pad


def size_array(data):
    """The number of elements, as an array."""
    return np.array([data.size], np.int64)


# -- older names of what is in linalg and random ---------------------------------------------------

globals().update({f"linalg_{_name}": getattr(linalg, _name) for _name in linalg.__all__})
random_randint = random.randint
for _name in ("gamma", "generalized_negative_binomial", "negative_binomial", "normal", "poisson", "uniform"):
    globals().update(dict.fromkeys((f"random_{_name}", f"sample_{_name}"), getattr(random, _name)))


def random_exponential(lam=1, shape=None, dtype=None, ctx=None, out=None):
    """Exponential, of mean 1 / lam."""
    return random.exponential(1 / lam, shape, dtype, ctx, out)


def sample_normal(mu, sigma, shape=None, dtype=None, ctx=None, out=None):
    """Normal, of mean mu and deviation sigma."""
    return random.normal(mu, sigma, shape, dtype, ctx, out)


sample_exponential = random_exponential
normal, uniform, shuffle, sample_multinomial = random.normal, random.uniform, random.shuffle, random.multinomial

# -- the others ------------------------------------------------------------------------------------

def take(a, indices, axis=0, mode="clip", out=None):
    """Parts along an axis, which an array of indices, of any type, chooses."""
    return _given(np.take(as_array(a), as_array(indices).astype(np.int64, copy=False), axis, mode=mode), out)


def sort(data, axis=-1, is_ascend=True, out=None):
    """Sorted along an axis, or all elements for None."""
    result = np.sort(as_array(data), axis)
    return _given(result if is_ascend else np.flip(result, -1 if axis is None else axis), out)


def argsort(data, axis=-1, is_ascend=True, dtype="float32", out=None):
    """The indices that sort an array along an axis."""
    x = as_array(data)
    return _given(np.argsort(x if is_ascend else -x, axis, kind="stable").astype(dtype), out)


def histogram(a, bins=10, range=None):
    """Counts in bins, and their edges. Waits where `bins` is an array."""
    return list(np.histogram(as_array(a), bins, range))


def cast(data, dtype, out=None):
    """A copy of another type."""
    return _given(as_array(data).astype(dtype), out)


def reset_arrays(*data, num_arrays):
    """Fill arrays, which are `num_arrays`, with zeros."""
    if num_arrays != len(data):
        raise ValueError(f"num_arrays is {num_arrays}, and there are {len(data)}")
    for x in data:
        x[...] = 0


def save(fname, data):
    """Write arrays to a file: a list, a dictionary, or one, which is a list then. Waits for them."""
    files.save(fname, data if isinstance(data, (list, tuple, dict)) else [data])


def load(fname):
    """What save() wrote, a list or a dictionary: see npx.load()."""
    found = files.load(fname)
    return [found] if is_array(found) else found


def load_frombuffer(buf):
    """The same, from the bytes of a file."""
    return load(io.BytesIO(buf))


Cast = cast


def identity(data, out=None):
    """A copy."""
    return _given(as_array(data).copy(), out)


make_loss = MakeLoss = identity


def BlockGrad(data):
    """The same values, through which no gradient passes."""
    return detach(as_array(data))


stop_gradient = BlockGrad


def rsqrt(data):
    """1 / sqrt(x)."""
    return 1 / np.sqrt(data)


def rcbrt(data):
    """1 / cbrt(x)."""
    return 1 / np.cbrt(data)


def softsign(data):
    """x / (1 + |x|)."""
    return npx.activation(data, "softsign")


def softmin(data, axis=-1, temperature=None, dtype=None):
    """softmax() of -x."""
    return npx.softmax(-as_array(data), axis, temperature=temperature, dtype=dtype)


def softmax_cross_entropy(data, label):
    """The sum over all rows of -log(softmax(data)), at the label of the row."""
    return -npx.pick(npx.log_softmax(data), label).sum()


def SoftmaxOutput(data, label, multi_output=False, **ignored):
    """softmax() of each row, whose backward() gives data the gradient of the cross entropy with labels.

    multi_output: of axis 1 instead of the last one.
    """
    x, axis = as_array(data), 1 if multi_output else -1
    p = detach(npx.softmax(x, axis))
    target = np.moveaxis(npx.one_hot(as_array(label), x.shape[axis], dtype=x.dtype), -1, axis)
    zero = x * (p - target)
    return p + (zero - detach(zero))


Softmax = SoftmaxOutput


# -- methods of MXNet 1 ----------------------------------------------------------------------------

def asscalar(self):
    """The number that an array of one element holds, as a scalar of NumPy's. Waits."""
    if self.size != 1:
        raise ValueError("The current array is not a scalar")
    return self.asnumpy().reshape(-1)[0]


def _by_codes(error, x, args, keywords):
    """x.reshape() where NumPy's fails: by codes, or with MXNet's arguments; else its error."""
    shape = keywords.get("shape", args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)
    if keywords.keys() - {"shape", "reverse"} or args and not any(type(n) is int and n in CODES for n in shape):
        raise error
    return reshape(x, shape, keywords.get("reverse", False))


def _by_numbers(error, x, args, keywords):
    """x.take() where NumPy's fails: with indices of a floating point type; else its error."""
    indices = args[0] if args else keywords.get("indices")
    if not is_array(indices) or indices.dtype.kind != "f":
        raise error
    return take(x, *args, **keywords)


def _copied_unless(inplace, view):
    return view if inplace else view.copy()


def _in_place(function):
    """A method where NumPy's refuses `inplace`, which MXNet's has: whether the result shares memory with the array."""
    def method(error, x, args, keywords):
        if "inplace" not in keywords:
            raise error
        inplace = keywords.pop("inplace")
        return _copied_unless(inplace, function(x, *args, **keywords))

    return method


def _expand_dims(self, axis, inplace=False):
    """A copy, or with `inplace` a view, with an axis of length 1 more."""
    return _copied_unless(inplace, np.expand_dims(self, axis))


METHODS = """abs arccos arccosh arcsin arcsinh arctan arctanh argmax_channel broadcast_axes broadcast_like broadcast_to
    cbrt ceil cos cosh degrees diag exp expand_dims expm1 fix flip floor log log10 log1p log2 log_softmax nanprod nansum
    norm one_hot ones_like pad pick radians rcbrt reciprocal relu reshape_like rint rsqrt shape_array sigmoid sign sin
    sinh size_array slice slice_axis slice_like softmax softmin split split_v2 sqrt square tan tanh tile topk trunc
    zeros_like""".split()
for _name in METHODS:
    attach(_name, _expand_dims if _name == "expand_dims" else globals()[_name])
attach("asscalar", asscalar)
attach("reshape", or_else(ndarray, "reshape", ndarray.reshape, _by_codes, (TypeError, ValueError)))
for _name in ("flatten", "squeeze"):
    attach(_name, or_else(ndarray, _name, getattr(ndarray, _name), _in_place(_functions[_name]), (TypeError,)))
_take = or_else(ndarray, "take", take_as_numpy, _by_numbers, (TypeError,))
_take.__doc__ = ndarray.take.__doc__
attach("take", _take)
set_mxnet_rules(True)

__all__ = [_name for _name, _value in globals().items() if _name[0] != "_" and (
    _name in _functions or getattr(_value, "__module__", "").startswith("dflow.nd"))]
__all__ += ["contrib", "from_dlpack", "from_numpy", "image", "linalg", "op", "random", "to_dlpack_for_read",
            "to_dlpack_for_write", "waitall"]


def __dir__():
    return sorted(__all__)
