"""What programs of MXNet's call beside mathematics: control flow, draws of its own, the seed."""

import contextlib
import importlib

import numpy
from numpy import broadcast_shapes, float32

from dflow._array.core import array as as_array
from dflow._array.core import attach
from dflow._functions import joining
from dflow._functions.advanced_indexing import where
from dflow._functions.buffers import adopt
from dflow._functions.constructors import zeros
from dflow._functions.placement import put_on
from dflow._functions.ufunc import wrap_ufunc
from dflow._functions.views import broadcast_to
from dflow.ops.elementwise import minimum
from dflow.ops.fallback import checked
from dflow.ops.selection import take_along_axis
from dflow.ops.table import TABLE

exp, log = wrap_ufunc(numpy.exp), wrap_ufunc(numpy.log)

# -- control flow ----------------------------------------------------------------------------------

def _listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _stacked(steps):
    """The outputs of steps, each one array or a list of them, joined along a new first axis; none, if they are None."""
    if steps[0] is None:
        return []
    if isinstance(steps[0], (list, tuple)):
        return [joining.stack(parts) for parts in zip(*steps, strict=True)]
    return joining.stack(steps)


def foreach(body, data, init_states):
    """body(part, states) -> (output, states) for each part along the first axis of one or more arrays.

    Returns the outputs, stacked, and the last states.

    Parameters
    ----------
    body : callable
        (part, states) -> (output, states).
    data : ndarray or list of ndarray
        What is gone through.
    init_states : ndarray or list of ndarray
        The first states.

    Returns
    -------
    tuple
        The outputs, stacked, and the last states.

    Examples
    --------
    >>> total, last = npx.foreach(lambda x, s: (x + s, x + s), np.arange(4.0), np.zeros(()))
    >>> print(total, last)
    [0. 1. 3. 6.] 6.0
    """
    arrays = [as_array(x) for x in _listed(data)]
    lengths = {len(x) for x in arrays}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"data must have one length along the first axis, at least 1, not {sorted(lengths)}")
    states, outputs = init_states, []
    for parts in zip(*arrays):
        output, states = body(list(parts) if isinstance(data, (list, tuple)) else parts[0], states)
        outputs.append(output)
    return _stacked(outputs), states


def while_loop(cond, func, loop_vars, max_iterations=None):
    """func(*loop_vars) -> (output, loop_vars) while cond(*loop_vars), which is waited for, at most so many times.

    Returns the outputs, stacked and with zeros up to max_iterations, and the last variables.

    Parameters
    ----------
    cond : callable
        Of the variables.
    func : callable
        Of the variables: (output, variables).
    loop_vars : list of ndarray
        The first variables.
    max_iterations : int
        At most so many rounds.

    Returns
    -------
    tuple
        The outputs, stacked, and the last variables.

    Examples
    --------
    >>> outputs, last = npx.while_loop(lambda x: x < 3, lambda x: (x, x + 1), [np.zeros(1)], max_iterations=4)
    >>> print(last[0])
    [3.]
    """
    if max_iterations is None or max_iterations < 0:
        raise ValueError(f"max_iterations must be a number of at least 0, not {max_iterations}")
    variables, outputs = _listed(loop_vars), []
    while len(outputs) < max_iterations and bool(cond(*variables)):
        output, variables = func(*variables)
        variables = _listed(variables)
        outputs.append(output)
    if not outputs:
        return [], variables
    stacked, missing = _stacked(outputs), max_iterations - len(outputs)
    if isinstance(stacked, list):
        return [_lengthened(x, missing) for x in stacked], variables
    return _lengthened(stacked, missing), variables


def _lengthened(x, missing):
    return joining.concatenate([x, zeros((missing, *x.shape[1:]), x.dtype)]) if missing else x


def cond(pred, then_func, else_func, inputs=()):
    """then_func(*inputs) if pred, or what pred(*inputs) returns, is true, else else_func(*inputs). Waits for it.

    Parameters
    ----------
    pred : ndarray, bool or callable
        The condition, or a function of inputs.
    then_func : callable
        Called if it is true.
    else_func : callable
        Called if it is not.
    inputs : list of ndarray
        What the functions are called with.

    Returns
    -------
    ndarray or list of ndarray
        What the function returns.

    Examples
    --------
    >>> print(npx.cond(np.array(1), lambda x: x + 1, lambda x: x, [np.ones(2)]))
    [2. 2.]
    """
    inputs = _listed(inputs)
    return (then_func if bool(pred(*inputs) if callable(pred) else pred) else else_func)(*inputs)


# -- one class of arrays ---------------------------------------------------------------------------

def _itself(self):
    """The array itself: there is one class of arrays."""
    return self


attach("as_nd_ndarray", _itself)
attach("as_np_ndarray", _itself)


def _tostype(self, stype):
    """The array itself for "default": there are no sparse ones."""
    if stype != "default":
        raise ValueError(f"stype must be 'default', not {stype!r}: dflow has no sparse arrays")
    return self


attach("tostype", _tostype)
attach("stype", property(lambda self: "default", doc="How it is kept: MXNet's word for what is not sparse."))

# -- other libraries' memory -----------------------------------------------------------------------

def from_numpy(ndarray, zero_copy=True):
    """An array over the memory of NumPy's, which is read-only from now on, as in MXNet; without zero_copy a copy.
    Ours can be written to wherever NumPy lets its own be made so.

    ValueError with zero_copy for an array that is not C-contiguous. Operations on memory of others are complete when
    their calls return: where that matters more than a copy, zero_copy=False.

    Parameters
    ----------
    ndarray : numpy.ndarray
        Of any shape, and a numeric dtype.
    zero_copy : bool
        Over the same memory.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy
    >>> print(npx.from_numpy(numpy.arange(3)))
    [0 1 2]
    """
    if not isinstance(ndarray, numpy.ndarray):
        raise TypeError(f"a NumPy array is expected, not {type(ndarray).__name__}")
    if zero_copy and not ndarray.flags.c_contiguous:
        raise ValueError("an array that is not C-contiguous needs zero_copy=False")
    if not zero_copy:
        return as_array(ndarray)
    with contextlib.suppress(ValueError):
        ndarray.flags.writeable = True                      # it may have been here before
    shared = as_array(adopt(ndarray))
    ndarray.flags.writeable = False
    return shared


class _Exporter:
    """A DLPack capsule as the object that from_dlpack() asks."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **_keywords):
        return self._capsule

    def __dlpack_device__(self):
        return 1, 0


def from_dlpack(dlpack):
    """An array with the numbers of a capsule, or of an object that gives one: see np.from_dlpack().

    Parameters
    ----------
    dlpack : capsule or object
        With __dlpack__(), as torch.Tensor.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> print(npx.from_dlpack(np.arange(3)))
    [0 1 2]
    """
    return TABLE["numpy", "from_dlpack"].function(dlpack if hasattr(dlpack, "__dlpack__") else _Exporter(dlpack))


def to_dlpack_for_read(data):
    """A capsule of an array's memory: waits for it.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.

    Returns
    -------
    capsule

    Examples
    --------
    >>> print(npx.from_dlpack(npx.to_dlpack_for_read(np.arange(3))))
    [0 1 2]
    """
    return data.__dlpack__(max_version=(1, 0))


to_dlpack_for_write = to_dlpack_for_read
attach("to_dlpack_for_read", to_dlpack_for_read)
attach("to_dlpack_for_write", to_dlpack_for_write)

# -- draws ----------------------------------------------------------------------------------------

def _draw(name):
    importlib.import_module("dflow.ops.random")                 # makes its rows, when first used
    return TABLE["numpy.random", name].function


def _check_probability(x):
    if not ((x >= 0) & (x <= 1)).all():
        raise ValueError("prob must be between 0 and 1")
    return x


def bernoulli(prob=None, logit=None, size=None, dtype=None, ctx=None, device=None, out=None):
    """Ones with a probability `prob`, or one whose log-odds are `logit`, else zeros: float32 unless asked for.

    Either may be an array, which the result, of shape `size`, broadcasts with.

    Parameters
    ----------
    prob : float or ndarray, optional
        Probabilities.
    logit : float or ndarray, optional
        Log-odds.
    size : int or tuple of int, optional
        The shape. None: that of the parameters.
    dtype : dtype, optional
        float32 unless given.
    ctx : Device, optional
        Where the result is; MXNet's older word.
    device : Device, optional
        Where the result is. None: the current one.
    out : ndarray, optional
        Where the result goes.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For both of prob and logit, or none.

    Examples
    --------
    >>> print(npx.bernoulli(1.0, size=3))
    [1. 1. 1.]
    """
    if (prob is None) == (logit is None):
        raise ValueError("either prob or logit must be given, and not both")
    odds = checked(_check_probability, as_array(prob)) if prob is not None else 1 / (1 + exp(-as_array(logit)))
    size = size if size is not None else numpy.shape(odds) if out is None else out.shape
    drawn = _draw("uniform")(0.0, 1.0, size, dtype=float32)
    result = put_on((drawn < odds).astype(float32 if dtype is None else dtype), ctx if device is None else device)
    if out is None:
        return result
    out[...] = result
    return out


def _of_batches(name):
    def draw(first, second, batch_shape, dtype, place):
        lead = () if batch_shape is None else (batch_shape,) if isinstance(batch_shape, int) else tuple(batch_shape)
        shape = (*lead, *broadcast_shapes(numpy.shape(first), numpy.shape(second)))
        return put_on(as_array(_draw(name)(first, second, shape, dtype=float32 if dtype is None else dtype)), place)

    return draw


def uniform_n(low=0.0, high=1.0, batch_shape=None, dtype=None, ctx=None, device=None):
    """Uniform in [low, high), float32 unless asked for; the shape is batch_shape and that of the parameters behind.

    Parameters
    ----------
    low : float or ndarray
        The least number.
    high : float or ndarray
        What all are below.
    batch_shape : int or tuple of int, optional
        In front of the parameters' shape.
    dtype : dtype, optional
        float32 unless given.
    ctx : Device, optional
        Where the result is; MXNet's older word.
    device : Device, optional
        Where the result is. None: the current one.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> npx.uniform_n(0.0, np.ones(2), batch_shape=3).shape
    (3, 2)
    """
    return _of_batches("uniform")(low, high, batch_shape, dtype, ctx if device is None else device)


def normal_n(loc=0.0, scale=1.0, batch_shape=None, dtype=None, ctx=None, device=None):
    """Normal, of mean `loc` and deviation `scale`; the rest as of uniform_n().

    Parameters
    ----------
    loc : float or ndarray
        The mean.
    scale : float or ndarray
        The deviation.
    batch_shape : int or tuple of int, optional
        In front of the parameters' shape.
    dtype : dtype, optional
        float32 unless given.
    ctx : Device, optional
        Where the result is; MXNet's older word.
    device : Device, optional
        Where the result is. None: the current one.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> npx.normal_n(np.zeros(2), batch_shape=3).shape
    (3, 2)
    """
    return _of_batches("normal")(loc, scale, batch_shape, dtype, ctx if device is None else device)


def _drawn_shape(shape):
    return () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)


def categorical(data, shape=None, get_prob=False, dtype="int32"):
    """Indices drawn with given probabilities, which lie along the last axis; numbers of classes, that is.

    Parameters
    ----------
    data : ndarray
        Probabilities, of shape (..., classes). Unlike in MXNet they need not sum to 1: each row is taken in
        proportion.
    shape : int or tuple of int, optional
        How many are drawn for each row. None: one, and no axis for it.
    get_prob : bool
        Return the logarithms of the probabilities that were met, too: gradients go through them to data.
    dtype : dtype
        Of the indices.

    Returns
    -------
    ndarray or list of ndarray
        Of the shape of data without its last axis, then `shape`. With get_prob a list of these and the
        logarithms of data's numbers at them.

    Examples
    --------
    >>> print(npx.random.categorical(np.array([[0.0, 1.0], [1.0, 0.0]])))
    [1 0]
    >>> npx.random.categorical(np.array([0.5, 0.5]), shape=(2, 3)).shape
    (2, 3)
    >>> index, logs = npx.random.categorical(np.array([0.0, 1.0]), get_prob=True)
    >>> print(index, logs)
    1 0.0
    """
    data, size = as_array(data), _drawn_shape(shape)
    lead, count = data.shape[:-1], data.shape[-1]
    bounds = data.astype(float).cumsum(-1).reshape(lead + (1,) * len(size) + (count,))
    drawn = _draw("uniform")(0.0, 1.0, (*lead, *size, 1)) * bounds[..., -1:]        # not 1: what sums round to
    index = minimum((drawn >= bounds).sum(-1), count - 1)
    if not get_prob:
        return index.astype(dtype)
    met = take_along_axis(data, index.reshape((*lead, -1)), -1)
    return [index.astype(dtype), log(met).reshape(index.shape)]


def multinomial(n, p, shape=None, dtype=float32, ctx=None, device=None, out=None):
    """How often each of some outcomes, of given probabilities, is met in `n` trials.

    Parameters
    ----------
    n : int or ndarray
        How many trials. An array broadcasts with the rows of p.
    p : ndarray
        Probabilities, of shape (..., outcomes), which sum to 1 along the last axis.
    shape : int or tuple of int, optional
        How many such draws for each row. None: one, and no axis for it.
    dtype : dtype
        Of the counts: float32 unless given.
    ctx : Device, optional
        Where the result is; MXNet's older word.
    device : Device, optional
        Where the result is. None: the current one.
    out : ndarray, optional
        Where the result goes.

    Returns
    -------
    ndarray
        Of the shape of n and the rows of p, then `shape`, then (outcomes,).

    Examples
    --------
    >>> counts = npx.random.multinomial(10, np.array([0.25, 0.75]), shape=3)
    >>> counts.shape, counts.dtype
    ((3, 2), dtype('float32'))
    >>> print(counts.sum(axis=1))
    [10. 10. 10.]
    """
    p, size = as_array(p).astype(float), _drawn_shape(shape)
    lead = broadcast_shapes(numpy.shape(n), p.shape[:-1])
    left = broadcast_to(as_array(n).astype(int), lead).reshape(lead + (1,) * len(size))
    p = broadcast_to(p, lead + p.shape[-1:]).reshape(left.shape + p.shape[-1:])
    counts, others = [], p[..., ::-1].cumsum(-1)[..., ::-1]             # this outcome or one of those behind it
    for i in range(p.shape[-1]):
        counts.append(_draw("binomial")(left, p[..., i] / where(others[..., i] > 0, others[..., i], 1), lead + size))
        left = left - counts[-1]
    result = put_on(joining.stack(counts, -1).astype(dtype), ctx if device is None else device)
    if out is None:
        return result
    out[...] = result
    return out


# -- the seed -------------------------------------------------------------------------------------

def seed(seed, ctx="all"):
    """Start the numbers of dflow.numpy.random from a seed; there is one stream for all devices.

    Parameters
    ----------
    seed : int
        Where the numbers start.
    ctx : str or Device
        MXNet's; it changes nothing.

    Examples
    --------
    >>> npx.seed(3)
    """
    _draw("rand").__self__.start(seed % 2**32 if isinstance(seed, int) else seed)       # MXNet's may be negative
