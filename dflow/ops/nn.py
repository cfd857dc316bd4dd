"""What neural networks are made of, as MXNet's `npx` names it: activations, softmax, normalizations, products.

Elementwise functions are put together from NumPy's, so that they fuse; results have the type of their input, where
that is a floating point type.
"""

import importlib
import math

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow._array.core import array as as_array
from dflow._functions.advanced_indexing import where
from dflow._functions.ufunc import wrap_ufunc
from dflow._tracing.tape import detach, is_training
from dflow.ops.creation import arange
from dflow.ops.elementwise import absolute, maximum, minimum
from dflow.ops.linear import matmul
from dflow.ops.reductions import max as largest
from dflow.ops.reductions import mean as mean_of
from dflow.ops.reductions import sum as sum_of
from dflow.ops.shape import expand_dims
from dflow.ops.special import erf
from dflow.ops.table import TABLE, op, recorded

exp, expm1, log, log1p, sqrt, tanh = (
    wrap_ufunc(getattr(numpy, name)) for name in "exp expm1 log log1p sqrt tanh".split())


def check_choice(name, value, choices):
    """ValueError for an argument that is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_shape(name, x, shape):
    """ValueError for an array of another shape."""
    if x.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, not {x.shape}")


def floating(data, dtype=None):
    """An array of floating point numbers: of a type, or its own, or float64."""
    x = as_array(data)
    if dtype is None and x.dtype.kind == "f":
        return x
    return x.astype(float if dtype is None else dtype, copy=False)


def lying_along(p, axis, ndim):
    """A vector that lies along one of so many axes."""
    return p.reshape((1,) * axis + (-1,) + (1,) * (ndim - 1 - axis))


# -- activations -----------------------------------------------------------------------------------

@op("x", "i", "3.0", module="npx", gradient=True)
def relu(data):
    """max(x, 0).

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.relu(np.array([-1.0, 2.0])))
    [0. 2.]
    """
    return maximum(data, 0)


@op("x", "x * 1000", "i", module="npx", gradient=True)
def sigmoid(data):
    """1 / (1 + exp(-x)); no intermediate result overflows.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.sigmoid(np.array([0.0, 2.0])))
    [0.5        0.88079708]
    """
    x = floating(data)
    e = exp(-absolute(x))
    return where(x < 0, e, 1) / (1 + e)


@recorded
def softrelu(x):
    """log(1 + exp(x))."""
    return maximum(x, 0) + log1p(exp(-absolute(x)))


ACTIVATIONS = {
    "relu": relu,
    "sigmoid": sigmoid,
    "log_sigmoid": lambda x: -softrelu(-x),
    "mish": lambda x: x * tanh(softrelu(x)),
    "tanh": tanh,
    "softrelu": softrelu,
    "softsign": lambda x: x / (1 + absolute(x)),
}


@op("x", "x, 'sigmoid'", "x, 'tanh'", "x, 'softrelu'", "x * 1000, 'softrelu'", "x, act_type='softsign'",
    "x, 'log_sigmoid'", "x, 'mish'", module="npx")
def activation(data, act_type="relu"):
    """A function of each element: relu, sigmoid, log_sigmoid, mish, tanh, softrelu or softsign.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    act_type : str
        Which function.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Raises
    ------
    ValueError
        For another act_type.

    Examples
    --------
    >>> print(npx.activation(np.array([0.0, -1.0]), "tanh"))
    [ 0.         -0.76159416]
    """
    check_choice("act_type", act_type, ACTIVATIONS)
    return ACTIVATIONS[act_type](floating(data))


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@op("x", "x, 'tanh'", "x * 99, 'tanh'", module="npx")
def gelu(data, approximation="erf"):
    """x times the probability that a standard normal number is below it; "tanh": nearly so, without erf.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    approximation : str
        "erf" or "tanh".

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Raises
    ------
    ValueError
        For another approximation.

    Examples
    --------
    >>> print(npx.gelu(np.array([0.0, 1.0])))
    [0.         0.84134475]
    """
    check_choice("approximation", approximation, ("erf", "tanh"))
    x = floating(data)
    if approximation == "tanh":
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


@op("x", "x, slope=0.1", "x, act_type='elu'", "x * 1000, act_type='elu', slope=1.5", "x, act_type='selu'",
    "x, act_type='gelu'", "x, act_type='gelu_tanh'", "x, v[:1], 'prelu'", "x, w, 'prelu'", "x, act_type='rrelu'",
    module="npx")
def leaky_relu(data, gamma=None, act_type="leaky", slope=0.25, lower_bound=0.125, upper_bound=0.334):
    """x where it is positive; what else, act_type says: leaky, prelu, elu, selu, gelu, gelu_tanh or rrelu.

    `gamma`: the slopes of prelu, one, one a channel (axis 1), or an array that broadcasts. Slopes of rrelu are drawn
    between the bounds in training, else their mean.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    gamma : ndarray, optional
        Slopes, see above.
    act_type : str
        Which function.
    slope : float
        Of what is negative.
    lower_bound : float
        Of drawn slopes.
    upper_bound : float
        Of drawn slopes.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Raises
    ------
    ValueError
        For another act_type.

    Examples
    --------
    >>> print(npx.leaky_relu(np.array([1.0, -1.0])))
    [ 1.   -0.25]
    """
    check_choice("act_type", act_type, ("leaky", "prelu", "elu", "selu", "gelu", "gelu_erf", "gelu_tanh", "rrelu"))
    x = floating(data)
    if act_type.startswith("gelu"):
        return gelu(x, "tanh" if act_type == "gelu_tanh" else "erf")
    if act_type == "selu":
        return SELU_SCALE * where(x > 0, x, SELU_ALPHA * expm1(minimum(x, 0)))
    if act_type == "elu":
        return where(x > 0, x, slope * expm1(minimum(x, 0)))
    if act_type == "prelu":
        if gamma is None:
            raise ValueError("gamma, the slopes of act_type 'prelu', is missing")
        slope = as_array(gamma)
        slope = lying_along(slope, 1, x.ndim) if slope.ndim == 1 and slope.size > 1 and x.ndim > 1 else slope
    elif act_type == "rrelu":
        slope = (lower_bound + upper_bound) / 2
        if is_training():
            slope = lower_bound + (upper_bound - lower_bound) * uniform(x.shape, x.dtype)
    return where(x > 0, x, slope * x)


@op("x", "x, 2.0", "x, scalar=0.5", module="npx")
def smooth_l1(data, scalar=1.0):
    """Half of (scalar * x)^2 where |x| < 1 / scalar^2, else |x| - 0.5 / scalar^2.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    scalar : float
        How soon it is linear.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.smooth_l1(np.array([0.5, 3.0])))
    [0.125 2.5  ]
    """
    x, square = floating(data), scalar * scalar
    size = absolute(x)
    return where(size < 1 / square, 0.5 * square * x * x, size - 0.5 / square)


def uniform(shape, dtype):
    """Uniform numbers from the stream of dflow.numpy.random."""
    importlib.import_module("dflow.ops.random")                 # makes its rows, when first used
    draw = TABLE["numpy.random", "rand"].function
    return draw(*shape, dtype=numpy.float32).astype(dtype, copy=False)


@op("x", "i", module="npx")
def stop_gradient(data):
    """The same memory, without what was recorded of it: gradients do not go on from here.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.stop_gradient(np.array([1.0, 2.0])))
    [1. 2.]
    """
    return detach(as_array(data))


@op("x", "x, 0.3", "x, p=0, mode='always'", module="npx")
def dropout(data, p=0.5, mode="training", axes=None, cudnn_off=False):
    """Elements set to zero with probability p, the others divided by 1 - p; a copy of x outside training.

    mode "always": in training or not. Along `axes` all elements share one fate.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    p : float
        A probability, from 0 to 1.
    mode : str
        "training" or "always".
    axes : tuple of int, optional
        Along which one draw counts for all.
    cudnn_off : bool
        MXNet's; it changes nothing.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Raises
    ------
    ValueError
        For a p that is no probability.

    Examples
    --------
    >>> print(npx.dropout(np.array([1.0, 2.0])))
    [1. 2.]
    """
    check_choice("mode", mode, ("training", "always"))
    if not 0 <= p < 1:
        raise ValueError(f"p must be in [0, 1), not {p!r}")
    x = floating(data)
    if p == 0 or mode == "training" and not is_training():
        return x.copy()
    shared = {normalize_axis_index(axis, x.ndim) for axis in axes or ()}
    kept = uniform([1 if k in shared else n for k, n in enumerate(x.shape)], numpy.float32) >= p
    return where(kept, x * (1 / (1 - p)), 0)


# -- softmax ---------------------------------------------------------------------------------------

def _masked(x, axis, mask):
    """x less its largest element along an axis, -inf where a mask is false; the exponentials; their sum.

    Where the mask keeps nothing, the sum counts as 1, so that nothing is nan.
    """
    if mask is not None:
        x = where(mask, x, -math.inf)
    if not x.size:
        return x, x, sum_of(x, axis, keepdims=True) + 1
    if mask is None:
        z = x - largest(x, axis, keepdims=True)
        e = exp(z)
        return z, e, sum_of(e, axis, keepdims=True)
    z = x - maximum(largest(x, axis, keepdims=True), float(numpy.finfo(x.dtype).min))
    e = exp(z)
    return z, e, maximum(sum_of(e, axis, keepdims=True), 1)


@recorded
def softmax_along(x, axis, mask=None):
    _, e, total = _masked(x, axis, mask)
    return e / total


@recorded
def log_softmax_along(x, axis, mask=None):
    z, _, total = _masked(x, axis, mask)
    return z - log(total)


def _of_length(function, data, axis, length, temperature, use_length, dtype):
    """One of the two above, of the first elements along the axis, where `length` says how many; the others are 0."""
    if use_length != (length is not None):
        raise ValueError("length is missing" if use_length else "length is given, but use_length is False")
    x = _tempered(floating(data, dtype), temperature)
    if length is None:
        return function(x, axis)
    axis, length = normalize_axis_index(axis, x.ndim), as_array(length)
    check_shape("length", length, x.shape[:axis] + x.shape[axis + 1:])
    mask = lying_along(arange(x.shape[axis]), axis, x.ndim) < expand_dims(length, axis)
    return where(mask, function(x, axis, mask), 0)


def _tempered(x, temperature):
    return x if temperature in (None, 1) else x / temperature


@op("x", "x, 0", "x * 1000", "i", "x, temperature=2.5", "x, -1, l, use_length=True", "x, 0, k, None, True",
    "x[:0]", "x[:, :0]", "x[:, :0], 0", "x, dtype='float64'", module="npx")
def softmax(data, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
    """exp(x / temperature), divided by its sum along an axis; of the first `length` elements, the others are 0.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    axis : int
        Along which.
    length : ndarray of int, optional
        How many elements count, of data's shape without the axis.
    temperature : float, optional
        What data is divided by. None: 1.
    use_length : bool
        Whether `length` counts.
    dtype : dtype, optional
        Of the result. None: that of the data.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.softmax(np.array([0.0, 0.0])))
    [0.5 0.5]
    """
    return _of_length(softmax_along, data, axis, length, temperature, use_length, dtype)


@op("x", "x, 0", "x * 1000", "x, temperature=2.5", "x, -1, l, use_length=True", "x, dtype='float64'",
    module="npx")
def log_softmax(data, axis=-1, length=None, temperature=None, use_length=False, dtype=None):
    """The logarithm of softmax().

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    axis : int
        Along which.
    length : ndarray of int, optional
        How many elements count, of data's shape without the axis.
    temperature : float, optional
        What data is divided by. None: 1.
    use_length : bool
        Whether `length` counts.
    dtype : dtype, optional
        Of the result. None: that of the data.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.log_softmax(np.array([0.0, 0.0])))
    [-0.69314718 -0.69314718]
    """
    return _of_length(log_softmax_along, data, axis, length, temperature, use_length, dtype)


@op("x, x > 0", "x, x > 9", "x, i % 3, 0", "x, w > 0", "x, None", "x, x > 0, temperature=2.0", "x[:, :0], None",
    module="npx")
def masked_softmax(data, mask, axis=-1, temperature=1.0, normalize=True, dtype=None):
    """softmax() of the elements where a mask, which broadcasts, is true; 0 for the others.

    `normalize` is MXNet's: whether it keeps exp() from overflowing; here that is always so.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    mask : ndarray of bool
        Of a shape that broadcasts with that of data.
    axis : int
        Along which.
    temperature : float
        What data is divided by.
    normalize : bool
        MXNet's, see above.
    dtype : dtype, optional
        Of the result. None: that of the data.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.masked_softmax(np.zeros(3), np.array([True, False, True])))
    [0.5 0.  0.5]
    """
    mask = None if mask is None else as_array(mask) != 0
    return softmax_along(_tempered(floating(data, dtype), temperature), axis, mask)


@op("x, x > 0", "x, x > 9", "x, i % 3, 0", "x, None", module="npx")
def masked_log_softmax(data, mask, axis=-1, temperature=1.0, normalize=True, dtype=None):
    """The logarithm of masked_softmax(): -inf where the mask is false.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    mask : ndarray of bool
        Of a shape that broadcasts with that of data.
    axis : int
        Along which.
    temperature : float
        What data is divided by.
    normalize : bool
        MXNet's, see above.
    dtype : dtype, optional
        Of the result. None: that of the data.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.masked_log_softmax(np.zeros(3), np.array([True, False, True])))
    [-0.69314718        -inf -0.69314718]
    """
    mask = None if mask is None else as_array(mask) != 0
    return log_softmax_along(_tempered(floating(data, dtype), temperature), axis, mask)


# -- normalization ---------------------------------------------------------------------------------

def _normalized(x, axes, eps):
    """x less its mean along axes, divided by its deviation; the mean; the variance."""
    mean = mean_of(x, axes, keepdims=True)
    centred = x - mean
    var = mean_of(centred * centred, axes, keepdims=True)
    return centred / sqrt(var + eps), mean, var


def mean_over_all_but(x, axis):
    """The mean of each channel. The axes behind it first, whose elements lie beside each other: that is quicker."""
    behind, before = tuple(range(axis + 1, x.ndim)), tuple(range(axis))
    x = mean_of(x, behind) if behind else x
    return mean_of(x, before) if before else x


def _affine(x, gamma, beta, axis):
    """x * gamma + beta, vectors along an axis."""
    gamma, beta = as_array(gamma), as_array(beta)
    for name, p in (("gamma", gamma), ("beta", beta)):
        check_shape(name, p, (x.shape[axis],))
    return x * lying_along(gamma, axis, x.ndim) + lying_along(beta, axis, x.ndim)


def _at_least(x, ndim, name):
    if x.ndim < ndim:
        raise ValueError(f"{name} must have at least {ndim} axes, not the shape {x.shape}")
    return x


@op("d, v, v, v, p", "d, v, v, v, p, fix_gamma=False, eps=1e-5", "d, v, v, v, p, fix_gamma=False, training=True",
    "d, v, v, v, p, use_global_stats=True, training=True", "d.swapaxes(1, 3), v, v, v, p, axis=-1",
    "d, v, v, v, p, training=True, output_mean_var=True, fix_gamma=False", "x, w, w, w, w * w, training=True",
    module="npx")
def batch_norm(x, gamma, beta, running_mean, running_var, eps=1e-3, momentum=0.9, fix_gamma=True,
               use_global_stats=False, output_mean_var=False, axis=1, cudnn_off=False, *, training=None):
    """(x - mean) / sqrt(var + eps) * gamma + beta, for each channel along an axis.

    In training (None: as autograd says) mean and variance are those of x over all other axes, and the running ones
    become momentum times themselves plus 1 - momentum times these; else, and with use_global_stats, they are the
    running ones. fix_gamma: gamma counts as 1. The result has the type of x. output_mean_var: a list of it, mean, and
    1 / sqrt(var + eps).

    Parameters
    ----------
    x : ndarray
        Of shape (batch, channels, ...), and a floating point dtype.
    gamma : ndarray
        Of shape (channels,).
    beta : ndarray
        Of shape (channels,).
    running_mean : ndarray
        Of shape (channels,); written to in training.
    running_var : ndarray
        Of shape (channels,); written to in training.
    eps : float
        What keeps the divisor from zero.
    momentum : float
        The weight of the running values.
    fix_gamma : bool
        gamma counts as 1.
    use_global_stats : bool
        Use the running values in training, too.
    output_mean_var : bool
        Return a list, see above.
    axis : int
        Which axis counts the channels.
    cudnn_off : bool
        MXNet's; it changes nothing.
    training : bool, optional
        None: as autograd says.

    Returns
    -------
    ndarray or list of ndarray
        Of x's shape and dtype.

    Examples
    --------
    >>> x, one, zero = np.array([[1.0, 2.0], [3.0, 6.0]]), np.ones(2), np.zeros(2)
    >>> print(npx.batch_norm(x, one, zero, zero, one, eps=0, training=True))
    [[-1. -1.]
     [ 1.  1.]]
    """
    training = not use_global_stats and (is_training() if training is None else training)
    y, mean, var = _batch_norm(x, gamma, beta, running_mean, running_var, eps, momentum, fix_gamma, axis, training)
    return [y, mean, 1 / sqrt(var + eps)] if output_mean_var else y


@op("d, v, v, v, p", "d, v, v, v, p, output_mean_var=True, fix_gamma=False", module="npx")
def sync_batch_norm(data, gamma, beta, moving_mean, moving_var, eps=1e-3, momentum=0.9, fix_gamma=True,
                    use_global_stats=False, output_mean_var=False, ndev=1, key=""):
    """batch_norm() along axis 1, for a batch on one device. output_mean_var: a list of the result, mean and var.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, ...), and a floating point dtype.
    gamma : ndarray
        Of shape (channels,).
    beta : ndarray
        Of shape (channels,).
    moving_mean : ndarray
        Of shape (channels,); written to in training.
    moving_var : ndarray
        Of shape (channels,); written to in training.
    eps : float
        What keeps the divisor from zero.
    momentum : float
        The weight of the running values.
    fix_gamma : bool
        gamma counts as 1.
    use_global_stats : bool
        Use the running values in training, too.
    output_mean_var : bool
        Return a list, see above.
    ndev : int
        MXNet's; it changes nothing.
    key : str
        MXNet's; it changes nothing.

    Returns
    -------
    ndarray or list of ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x, one, zero = np.array([[1.0, 2.0], [3.0, 6.0]]), np.ones(2), np.zeros(2)
    >>> print(npx.sync_batch_norm(x, one, zero, zero, one, eps=0))
    [[1. 2.]
     [3. 6.]]
    """
    check_one_device(ndev)
    training = not use_global_stats and is_training()
    y, mean, var = _batch_norm(data, gamma, beta, moving_mean, moving_var, eps, momentum, fix_gamma, 1, training)
    return [y, mean, var] if output_mean_var else y


def check_one_device(count):
    """ValueError for more: on each, a call would have to wait for those that come after it, on the others."""
    if count != 1:
        raise ValueError(f"statistics over {count} devices are not in dflow: SyncBatchNorm is for batches on one")


def _batch_norm(x, gamma, beta, running_mean, running_var, eps, momentum, fix_gamma, axis, training):
    """The result, mean and variance."""
    x = floating(x)
    axis = normalize_axis_index(axis, x.ndim)
    for name, p in (("gamma", gamma), ("running_mean", running_mean), ("running_var", running_var)):
        check_shape(name, as_array(p), (x.shape[axis],))
    if training:
        y, mean, var = by_channel(x, None if fix_gamma else gamma, beta, eps, axis)
        for running, now in ((running_mean, mean), (running_var, var)):
            running *= momentum
            running += (1 - momentum) * detach(now)
    else:
        mean, var = as_array(running_mean), as_array(running_var)
        y = _scaled(x - lying_along(mean, axis, x.ndim), var, None if fix_gamma else gamma, beta, eps, axis)
    return y.astype(x.dtype, copy=False), mean, var


@recorded
def by_channel(x, gamma, beta, eps, axis):
    """(x - mean) / sqrt(var + eps) * gamma + beta, for each channel; mean; var."""
    mean, var, centred = moments(x, axis)
    return _scaled(centred, var, gamma, beta, eps, axis), mean, var


def moments(x, axis):
    """Mean and variance of each channel, and x less the mean."""
    mean = mean_over_all_but(x, axis)
    centred = x - lying_along(mean, axis, x.ndim)
    return mean, mean_over_all_but(centred * centred, axis), centred


def _scaled(centred, var, gamma, beta, eps, axis):
    inverse = 1 / sqrt(var + eps)
    return _affine(centred, inverse if gamma is None else inverse * gamma, beta, axis)


@op("x, u, u", "d, v, v, axis=1", "x, u, u, -1, 1e-3", "x, u, u, output_mean_var=True", module="npx")
def layer_norm(data, gamma, beta, axis=-1, eps=1e-5, output_mean_var=False):
    """(x - mean) / sqrt(var + eps) * gamma + beta, with mean and variance along an axis.

    output_mean_var: a list of the result, mean and deviation, which have no such axis.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    gamma : ndarray
        Of one axis, as long as the axis.
    beta : ndarray
        Of one axis, as long as the axis.
    axis : int
        Along which.
    eps : float
        What keeps the divisor from zero.
    output_mean_var : bool
        Return a list, see above.

    Returns
    -------
    ndarray or list of ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x, one, zero = np.array([[1.0, 2.0], [3.0, 6.0]]), np.ones(2), np.zeros(2)
    >>> print(npx.layer_norm(x, one, zero, eps=0))
    [[-1.  1.]
     [-1.  1.]]
    """
    x = floating(data)
    axis = normalize_axis_index(axis, x.ndim)
    y, mean, var = _normalized(x, axis, eps)
    y = _affine(y, gamma, beta, axis)
    return [y, mean.squeeze(axis), sqrt(var + eps).squeeze(axis)] if output_mean_var else y


@op("d, v, v", "g, w, w, 2", "g, w, w, num_groups=4, eps=1e-5", "g, w, w, 2, output_mean_var=True",
    module="npx")
def group_norm(data, gamma, beta, num_groups=1, eps=1e-3, output_mean_var=False):
    """(x - mean) / sqrt(var + eps) * gamma + beta, with mean and variance over each group of channels (axis 1).

    output_mean_var: a list of the result, mean and deviation, of shape (batch, groups).

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, ...), and a floating point dtype.
    gamma : ndarray
        Of shape (channels,).
    beta : ndarray
        Of shape (channels,).
    num_groups : int
        How many groups the channels are in.
    eps : float
        What keeps the divisor from zero.
    output_mean_var : bool
        Return a list, see above.

    Returns
    -------
    ndarray or list of ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x, one, zero = np.array([[1.0, 2.0], [3.0, 6.0]]), np.ones(2), np.zeros(2)
    >>> print(npx.group_norm(x, one, zero, eps=0))
    [[-1.  1.]
     [-1.  1.]]
    """
    x = _at_least(floating(data), 2, "data")
    n, channels = x.shape[:2]
    if num_groups < 1 or channels % num_groups:
        raise ValueError(f"num_groups must divide the {channels} channels, and {num_groups} does not")
    y, mean, var = _normalized(x.reshape(n, num_groups, -1), 2, eps)
    y = _affine(y.reshape(x.shape), gamma, beta, 1)
    return [y, mean.squeeze(2), sqrt(var + eps).squeeze(2)] if output_mean_var else y


@op("d, v, v", "d, v, v, eps=1e-5", module="npx")
def instance_norm(data, gamma, beta, eps=1e-3):
    """(x - mean) / sqrt(var + eps) * gamma + beta, with mean and variance of each channel (axis 1) of each sample.

    Parameters
    ----------
    data : ndarray
        Of shape (batch, channels, ...), and a floating point dtype.
    gamma : ndarray
        Of shape (channels,).
    beta : ndarray
        Of shape (channels,).
    eps : float
        What keeps the divisor from zero.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x, one, zero = np.array([[1.0, 2.0], [3.0, 6.0]]), np.ones(2), np.zeros(2)
    >>> print(npx.instance_norm(x[:, None], one[:1], zero[:1], eps=0).ravel())
    [-1.  1. -1.  1.]
    """
    x = _at_least(floating(data), 3, "data")
    return _affine(_normalized(x, tuple(range(2, x.ndim)), eps)[0], gamma, beta, 1)


@op("d", "d, mode='channel'", "d, 1e-3, 'spatial'", "x", module="npx")
def l2_normalization(data, eps=1e-10, mode="instance"):
    """x / sqrt(sum(x^2) + eps), summed over each sample, its channels (axis 1) or its space (axes 2, ...).

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    eps : float
        What keeps the divisor from zero.
    mode : str
        "instance", "channel" or "spatial".

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(npx.l2_normalization(np.array([[3.0, 4.0]])))
    [[0.6 0.8]]
    """
    check_choice("mode", mode, ("instance", "channel", "spatial"))
    x = _at_least(floating(data), 2, "data")
    axes = 1 if mode == "channel" else tuple(range(1 if mode == "instance" else 2, x.ndim))
    return x / sqrt(sum_of(x * x, axes, keepdims=True) + eps)


@op("x, x, w", "i, j", "x", module="npx")
def add_n(*args, out=None):
    """The sum of arrays, into `out` if that is given.

    Parameters
    ----------
    *args
        Arrays of one shape.
    out : ndarray, optional
        Where the result goes.

    Returns
    -------
    ndarray
        Of their shape.

    Examples
    --------
    >>> print(npx.add_n(np.ones(2), np.ones(2), np.ones(2)))
    [3. 3.]
    """
    total, *others = map(as_array, args)
    for x in others:
        total = total + x
    if out is None:
        return total
    out[...] = total
    return out


# -- products --------------------------------------------------------------------------------------

@op("d, d.swapaxes(2, 3)", "d[0], d[0], True", "d, d, transpose_b=True", module="npx")
def batch_dot(a, b, transpose_a=False, transpose_b=False, forward_stype="default"):
    """The matrix product of each pair of matrices, along the last two axes; either may be transposed first.

    Parameters
    ----------
    a : ndarray
        Of shape (batch, rows, n).
    b : ndarray
        Of shape (batch, n, columns).
    transpose_a : bool
        Transpose each matrix of a first.
    transpose_b : bool
        Transpose each matrix of b first.
    forward_stype : str
        MXNet's; it changes nothing.

    Returns
    -------
    ndarray
        Of shape (batch, rows, columns).

    Examples
    --------
    >>> print(npx.batch_dot(np.ones((1, 2, 3)), np.ones((1, 2, 3)), transpose_b=True))
    [[[3. 3.]
      [3. 3.]]]
    """
    a, b = as_array(a), as_array(b)
    if a.ndim < 3 or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"a and b must be as many matrices, along three axes or more, not {a.shape} and {b.shape}")
    a, b = a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"a and b must have matrices that fit, not {a.shape[-2:]} and {b.shape[-2:]}")
    return matmul(a, b)


@op("x, m", "x, m, v, no_bias=False", "d, r, v, 3, no_bias=False", "d, m, flatten=False",
    "d, m, v, num_hidden=3, no_bias=False, flatten=False", module="npx", gradient=True)
def fully_connected(x, weight, bias=None, num_hidden=None, no_bias=True, flatten=True):
    """x @ weight.T + bias, along the last axis, or with `flatten` over all axes but the first.

    Parameters
    ----------
    x : ndarray
        Of shape (batch, ...), and a floating point dtype.
    weight : ndarray
        Of shape (outputs, inputs).
    bias : ndarray, optional
        Of shape (outputs,), and data's dtype.
    num_hidden : int, optional
        How many outputs; what the weight says.
    no_bias : bool
        `bias` is not added.
    flatten : bool
        All axes of data but the first are one.

    Returns
    -------
    ndarray
        Of shape (batch, outputs), or (..., outputs).

    Examples
    --------
    >>> print(npx.fully_connected(np.array([[1.0, 2.0]]), np.ones((3, 2)), np.zeros(3), no_bias=False))
    [[3. 3. 3.]]
    """
    x, weight = as_array(x), as_array(weight)
    x = x.reshape(x.shape[0] if x.ndim else 1, math.prod(x.shape[1:])) if flatten else x
    hidden = weight.shape[0] if num_hidden is None and weight.ndim else num_hidden
    check_shape("weight", weight, (hidden, x.shape[-1]))
    y = matmul(x, weight.T)
    bias = bias_of(bias, hidden, no_bias)
    return y if bias is None else y + bias


def bias_of(bias, n, no_bias):
    """A bias, of a length, or None; ValueError when it is missing, or given all the same, or has another shape."""
    if (bias is None) != no_bias:
        raise ValueError(f"bias is {'missing' if bias is None else 'given'}, and no_bias is {no_bias}")
    if no_bias:
        return None
    bias = as_array(bias)
    check_shape("bias", bias, (n,))
    return bias
