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

from dflow import npx  # noqa: F401  # F.npx.relu, in hybrid_forward()
from dflow import numpy as np
from dflow._array.core import attach, is_array, ndarray, set_mxnet_rules
from dflow._base.missing import missing
from dflow._engine import waitall
from dflow._functions.advanced_indexing import take_as_numpy
from dflow._functions.numpy_inline import or_else
from dflow.nd import _table, contrib, linalg, op, random
from dflow.nd._making import *  # noqa: F403
from dflow.nd._networks import *  # noqa: F403
from dflow.nd._shapes import *  # noqa: F403
from dflow.nd._shapes import CODES, reshape
from dflow.nd._values import *  # noqa: F403
from dflow.nd._values import take
from dflow.npx import from_dlpack, from_numpy, image, to_dlpack_for_read, to_dlpack_for_write  # noqa: F401

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
    """The class of arrays, as MXNet 1 calls it, for isinstance(): their type is np.ndarray.

    Calling it makes an array, as np.ndarray() does; a class derived from it is one of np.ndarray.

    Examples
    --------
    >>> isinstance(nd.zeros(2), nd.NDArray), isinstance(numpy.zeros(2), nd.NDArray)
    (True, False)
    >>> nd.NDArray((2, 3)).shape
    (2, 3)
    """


# -- the table: a name, what it calls, parameters ----------------------------------------------------

_functions = _table.read("""
abs/arccos/arccosh/arcsin/arcsinh/arctan/arctanh/cbrt/ceil/cos/cosh np.{} data |
degrees/exp/expm1/fix/floor/log/log10/log1p/log2/negative/radians np.{} data |
reciprocal/rint/sign/sin/sinh/sqrt/square/tan/tanh/trunc np.{} data |
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


# -- older names of what is in linalg and random ---------------------------------------------------

globals().update({f"linalg_{_name}": getattr(linalg, _name) for _name in linalg.__all__})
random_randint = random.randint
for _name in ("gamma", "generalized_negative_binomial", "negative_binomial", "normal", "poisson", "uniform"):
    for _kind in ("random", "sample"):
        globals().setdefault(f"{_kind}_{_name}", getattr(random, _name))        # sample_normal() is there already
normal, uniform, shuffle, sample_multinomial = random.normal, random.uniform, random.shuffle, random.multinomial

# -- methods of MXNet 1 ----------------------------------------------------------------------------

def asscalar(self):
    """The number that an array of one element holds. Waits for it.

    Parameters
    ----------
    self : ndarray
        Of one element, in any shape.

    Returns
    -------
    scalar of NumPy's
        Of the array's dtype.

    Raises
    ------
    ValueError
        For an array of more elements, or none.

    Examples
    --------
    >>> nd.array([[3]]).asscalar()
    np.float32(3.0)
    """
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
