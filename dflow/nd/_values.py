"""Functions of MXNet 1 that compute: reductions, orders, products, losses."""

import numpy

from dflow import npx
from dflow import numpy as np
from dflow._array.core import array as as_array
from dflow._tracing.tape import detach
from dflow.nd import random
from dflow.nd._table import given_to

__all__ = ["BlockGrad", "ElementWiseSum", "Softmax", "SoftmaxOutput", "add_n", "argmax_channel", "argsort", "dot",
           "histogram", "max", "max_axis", "mean", "min", "min_axis", "nanprod", "nansum", "norm", "prod",
           "random_exponential", "rcbrt", "round", "rsqrt", "sample_exponential", "sample_normal",
           "softmax_cross_entropy", "softmin", "softsign", "sort", "stop_gradient", "sum", "sum_axis", "take"]


def _axes(x, axis, exclude):
    """Axes as NumPy reads them: None for all; with `exclude` all but those."""
    if axis is None or isinstance(axis, (list, tuple)) and not axis:
        return () if exclude else None
    axes = {k % x.ndim if -x.ndim <= k < x.ndim else k for k in (axis if isinstance(axis, (list, tuple)) else (axis,))}
    return tuple(k for k in range(x.ndim) if k not in axes) if exclude else tuple(axes)


REDUCTION = """{what} along one or more axes, or with `exclude` along all others.

    Parameters
    ----------
    data : ndarray
        Of any shape.
    axis : int or tuple of int, optional
        Along which. None or (): all.
    keepdims : bool
        Keep the axes, with length 1. Default False.
    exclude : bool
        Along all axes but these. Default False.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of data's shape without the axes: of all, without axes, where MXNet's result has one of length 1.

    Raises
    ------
    AxisError
        For an axis that data has not.

    Examples
    --------
    >>> x = nd.array([[1, 2], [3, {last}]])
    >>> print(nd.{name}(x, axis=1), nd.{name}(x, axis=1, exclude=True))
    {results}
    """


def _reduction(name, what, last, results):
    function = getattr(np, name)

    def reduce(data, axis=None, keepdims=False, exclude=False, out=None):
        x = as_array(data)
        return given_to(function(x, axis=_axes(x, axis, exclude), keepdims=bool(keepdims)), out)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = REDUCTION.format(name=name, what=what, last=last, results=results)
    return reduce


sum = _reduction("sum", "The sum", 4, "[3. 7.] [4. 6.]")
mean = _reduction("mean", "The mean", 4, "[1.5 3.5] [2. 3.]")
max = _reduction("max", "The largest element", 4, "[2. 4.] [3. 4.]")
min = _reduction("min", "The smallest element", 4, "[1. 3.] [1. 2.]")
prod = _reduction("prod", "The product", 4, "[ 2. 12.] [3. 8.]")
nansum = _reduction("nansum", "The sum, in which nan counts as 0,", 'float("nan")', "[3. 3.] [4. 2.]")
nanprod = _reduction("nanprod", "The product, in which nan counts as 1,", 'float("nan")', "[2. 3.] [3. 2.]")
sum_axis, max_axis, min_axis = sum, max, min


def norm(data, ord=2, axis=None, keepdims=False, out=None):
    """The sum of absolute values, or the root of the sum of squares.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    ord : int
        1: the sum of absolute values; 2, the default: the root of the sum of squares, also over two axes.
    axis : int or tuple of int, optional
        Along which. None: all.
    keepdims : bool
        Keep the axes, with length 1. Default False.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of data's shape without the axes.

    Raises
    ------
    ValueError
        For another ord.

    Examples
    --------
    >>> x = nd.array([[3, 4], [-6, 8]])
    >>> print(nd.norm(x, axis=1), nd.norm(x, ord=1))
    [ 5. 10.] 21.0
    """
    x = as_array(data)
    axis = tuple(axis) if isinstance(axis, list) else axis
    if ord not in (1, 2):
        raise ValueError(f"ord must be 1 or 2, not {ord!r}")
    parts = np.abs(x) if ord == 1 else np.square(x)
    total = np.sum(parts, axis=axis, keepdims=keepdims)
    return given_to(total if ord == 1 else np.sqrt(total), out)


def argmax_channel(data):
    """The index of the largest element of each row.

    Parameters
    ----------
    data : ndarray
        Of shape (rows, columns).

    Returns
    -------
    ndarray
        Of shape (rows,), float32.

    Examples
    --------
    >>> print(nd.argmax_channel(nd.array([[1, 3, 2], [6, 5, 4]])))
    [1. 0.]
    """
    return np.argmax(as_array(data), axis=1).astype(np.float32)


def dot(lhs, rhs, transpose_a=False, transpose_b=False, forward_stype=None, out=None):
    """The sum of products over the last axis of lhs and the first of rhs.

    Parameters
    ----------
    lhs : ndarray
        Of shape (..., k).
    rhs : ndarray
        Of shape (k, ...): unlike np.dot(), its first axis counts also where it has three or more.
    transpose_a, transpose_b : bool
        Reverse the axes of lhs, or of rhs, first. Default False.
    forward_stype : optional
        MXNet's; it changes nothing.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of the other axes of lhs, then those of rhs.

    Raises
    ------
    ValueError
        If the two axes differ in length.

    Examples
    --------
    >>> x = nd.array([[1, 2], [3, 4]])
    >>> print(nd.dot(x, x))
    [[ 7. 10.]
     [15. 22.]]
    >>> nd.dot(nd.ones((2, 3)), nd.ones((3, 4, 5))).shape
    (2, 4, 5)
    """
    a, b = as_array(lhs), as_array(rhs)
    a, b = (a.T if transpose_a else a), (b.T if transpose_b else b)
    return given_to(np.dot(a, b) if b.ndim < 3 else np.tensordot(a, b, 1), out)


def add_n(*args, out=None):
    """The sum of arrays.

    Parameters
    ----------
    *args : ndarray
        One or more.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of the arrays' shape.

    Examples
    --------
    >>> x = nd.array([1, 2])
    >>> print(nd.add_n(x, x, x))
    [3. 6.]
    """
    return given_to(npx.add_n(*args), out)


ElementWiseSum = add_n


def take(a, indices, axis=0, mode="clip", out=None):
    """Parts of an array along an axis, chosen by indices.

    Parameters
    ----------
    a : ndarray
        Of any shape and dtype.
    indices : ndarray
        Of any shape, and any dtype: a fraction does not count.
    axis : int
        Along which. Default 0.
    mode : str
        For an index that is out of bounds: "clip", the nearest that is in, also for negative ones; "wrap", counted on
        from the other end; or "raise".
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of a's shape with that of the indices in place of the axis.

    Raises
    ------
    IndexError
        With "raise", on reading, for an index that is out of bounds.

    Examples
    --------
    >>> x = nd.array([[1, 2], [3, 4], [5, 6]])
    >>> print(nd.take(x, nd.array([0, 2])))
    [[1. 2.]
     [5. 6.]]
    >>> print(nd.take(x, nd.array([[1]]), axis=1).shape, nd.take(nd.array([1, 2, 3]), nd.array([-1, 5])))
    (3, 1, 1) [1. 3.]
    """
    return given_to(np.take(as_array(a), as_array(indices).astype(np.int64, copy=False), axis, mode=mode), out)


def sort(data, axis=-1, is_ascend=True, out=None):
    """The elements in order along an axis.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    axis : int, optional
        Along which. Default: the last one. None: all elements of the flattened array.
    is_ascend : bool
        From the least to the greatest; else from the greatest on. Default True.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of data's shape, or of one axis, and data's dtype.

    Examples
    --------
    >>> x = nd.array([[3, 1], [2, 5]])
    >>> print(nd.sort(x))
    [[1. 3.]
     [2. 5.]]
    >>> print(nd.sort(x, axis=None, is_ascend=False))
    [5. 3. 2. 1.]
    """
    result = np.sort(as_array(data), axis)
    return given_to(result if is_ascend else np.flip(result, -1 if axis is None else axis), out)


def argsort(data, axis=-1, is_ascend=True, dtype="float32", out=None):
    """The indices that sort an array along an axis; of equal elements the first comes first.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    axis : int, optional
        Along which. Default: the last one. None: of the flattened array.
    is_ascend : bool
        From the least to the greatest; else from the greatest on. Default True.
    dtype : dtype
        Of the indices. Default float32, as in MXNet.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of data's shape, or of one axis.

    Examples
    --------
    >>> print(nd.argsort(nd.array([3, 1, 2])))
    [1. 2. 0.]
    >>> print(nd.argsort(nd.array([3, 1, 2]), is_ascend=False, dtype="int32"))
    [0 2 1]
    """
    x = as_array(data)
    if not is_ascend:
        x = ~x if x.dtype.kind in "iub" else -x         # -x of unsigned numbers wraps
    return given_to(np.argsort(x, axis, kind="stable").astype(dtype), out)


def histogram(a, bins=10, range=None):
    """How many elements are in each of some bins, and where these end. Waits where `bins` is an array.

    Parameters
    ----------
    a : ndarray
        Of any shape.
    bins : int or ndarray
        How many bins of equal width, or their edges. Default 10.
    range : tuple of float, optional
        The least and the greatest edge. None: the least and the greatest element.

    Returns
    -------
    list of ndarray
        Counts, and edges, one more.

    Examples
    --------
    >>> counts, edges = nd.histogram(nd.array([1, 2, 2, 5]), bins=2, range=(1, 5))
    >>> print(counts, edges)
    [3 1] [1. 3. 5.]
    """
    return list(np.histogram(as_array(a), bins, range))


def rsqrt(data):
    """1 / sqrt(x).

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
    >>> print(nd.rsqrt(nd.array([1, 4])))
    [1.  0.5]
    """
    return 1 / np.sqrt(data)


def rcbrt(data):
    """1 / cbrt(x).

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
    >>> print(nd.rcbrt(nd.array([1, 8])).round(4))
    [1.  0.5]
    """
    return 1 / np.cbrt(data)


def round(data):
    """The nearest whole number; of two the one away from zero, where rint() takes the even one.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype but complex ones.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(nd.round(nd.array([1.5, 2.5, -0.5, 0.4])))
    [ 2.  3. -1.  0.]
    """
    if data.dtype.kind != "f":
        return data.copy()
    half = numpy.nextafter(data.dtype.type(0.5), data.dtype.type(0))    # 0.5 more than 0.49999999999999994 is 1
    return np.trunc(data + np.copysign(half, data))


def softsign(data):
    """x / (1 + |x|), between -1 and 1.

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
    >>> print(nd.softsign(nd.array([-1, 0, 3])))
    [-0.5   0.    0.75]
    """
    return npx.activation(data, "softsign")


def softmin(data, axis=-1, temperature=None, dtype=None):
    """The softmax of -x: exp(-x / temperature), divided by its sum along an axis.

    Parameters
    ----------
    data : ndarray
        Of any shape, and a floating point dtype.
    axis : int
        Along which. Default: the last one.
    temperature : float, optional
        What x is divided by. None: 1.
    dtype : dtype, optional
        Of the result. None: that of data.

    Returns
    -------
    ndarray
        Of data's shape.

    Examples
    --------
    >>> print(nd.softmin(nd.array([0, 0, 100])).round(4))
    [0.5 0.5 0. ]
    """
    return npx.softmax(-as_array(data), axis, temperature=temperature, dtype=dtype)


def softmax_cross_entropy(data, label):
    """The cross entropy of rows with labels: the sum of -log(softmax(row)[label]).

    Parameters
    ----------
    data : ndarray
        Of shape (rows, classes), and a floating point dtype.
    label : ndarray
        Of shape (rows,): the class of each.

    Returns
    -------
    ndarray
        One number, without axes.

    Examples
    --------
    >>> loss = nd.softmax_cross_entropy(nd.zeros((2, 4)), nd.array([0, 3]))
    >>> print(loss.round(4), loss.shape)
    2.7726 ()
    """
    return -npx.pick(npx.log_softmax(data), label).sum()


def SoftmaxOutput(data, label, multi_output=False, **ignored):
    """The softmax of rows, whose gradient is that of the cross entropy with labels.

    backward() gives data softmax(data) - one_hot(label), if the result's own gradient is ones.

    Parameters
    ----------
    data : ndarray
        Of shape (..., classes), or with multi_output (batch, classes, ...), and a floating point dtype.
    label : ndarray
        Of data's shape without the axis of classes: the class of each.
    multi_output : bool
        The classes are axis 1. Default False: the last one.
    **ignored
        MXNet's other arguments; they change nothing.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x = nd.zeros((1, 2))
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.SoftmaxOutput(x, nd.array([0]))
    >>> y.backward()
    >>> print(y, x.grad)
    [[0.5 0.5]] [[-0.5  0.5]]
    """
    x, axis = as_array(data), 1 if multi_output else -1
    p = detach(npx.softmax(x, axis))
    target = np.moveaxis(npx.one_hot(as_array(label), x.shape[axis], dtype=x.dtype), -1, axis)
    zero = x * (p - target)
    return p + (zero - detach(zero))


Softmax = SoftmaxOutput


def BlockGrad(data):
    """The same values, through which no gradient passes.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x = nd.array([1, 2])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x * nd.BlockGrad(x)
    >>> y.backward()
    >>> print(x.grad)
    [1. 2.]
    """
    return detach(as_array(data))


stop_gradient = BlockGrad


def random_exponential(lam=1, shape=None, dtype=None, ctx=None, out=None):
    """Numbers of the exponential distribution, of mean 1 / lam.

    Parameters
    ----------
    lam : float or ndarray
        How many events there are in a unit of time. Default 1.
    shape : int or tuple of int, optional
        How many numbers, for each element of lam where it is an array. None: one.
    dtype : dtype, optional
        Of the result. None: float32.
    ctx : Device, optional
        Where the result is. None: the current one.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of lam's shape, if it is an array, and then of `shape`.

    Examples
    --------
    >>> x = nd.random_exponential(4, shape=1000)
    >>> x.shape, 0.2 < float(x.mean()) < 0.3
    ((1000,), True)
    """
    return random.exponential(1 / lam, shape, dtype, ctx, out)


sample_exponential = random_exponential


def sample_normal(mu, sigma, shape=None, dtype=None, ctx=None, out=None):
    """Numbers of the normal distribution.

    Parameters
    ----------
    mu : float or ndarray
        The mean.
    sigma : float or ndarray
        The standard deviation.
    shape : int or tuple of int, optional
        How many numbers, for each element of mu and sigma where these are arrays. None: one.
    dtype : dtype, optional
        Of the result. None: float32.
    ctx : Device, optional
        Where the result is. None: the current one.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of the shape of mu and sigma, if they are arrays, and then of `shape`.

    Examples
    --------
    >>> nd.sample_normal(nd.array([0, 100]), nd.array([1, 1]), shape=3).shape
    (2, 3)
    """
    return random.normal(mu, sigma, shape, dtype, ctx, out)
