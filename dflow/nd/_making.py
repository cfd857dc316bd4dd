"""Functions of MXNet 1 that make arrays, copy them, write them to files and read them."""

import io

from dflow import npx
from dflow import numpy as np
from dflow._array.core import array as as_array
from dflow._array.core import is_array
from dflow._functions.placement import put_on
from dflow.nd._table import given_to
from dflow.ops import files

__all__ = ["Cast", "MakeLoss", "arange", "array", "cast", "empty", "eye", "fill_element_0index", "full", "identity",
           "linspace", "load", "load_frombuffer", "make_loss", "onehot_encode", "ones", "ones_like", "reset_arrays",
           "save", "zeros", "zeros_like"]


def array(source_array, ctx=None, dtype=None):
    """A new array of what is given: float32, or of the dtype of another array.

    Parameters
    ----------
    source_array : array_like
        Numbers, lists of them, or arrays; NumPy's arrays also become float32 unless dtype is given.
    ctx : Device, optional
        Where the array is. None: the current one.
    dtype : dtype, optional
        None: that of an array of dflow's, else float32.

    Returns
    -------
    ndarray
        A copy.

    Examples
    --------
    >>> x = nd.array([[1, 2], [3, 4]])
    >>> x.shape, x.dtype
    ((2, 2), dtype('float32'))
    >>> nd.array(nd.array([1], dtype="int8")).dtype, nd.array(numpy.arange(3)).dtype
    (dtype('int8'), dtype('float32'))
    """
    if dtype is None:
        dtype = source_array.dtype if is_array(source_array) else np.float32
    return put_on(np.array(source_array, dtype), ctx)


FILLED = """A new array of a shape{what}.

    Parameters
    ----------
    shape : int or tuple of int
        Of the array.
    ctx : Device, optional
        Where the array is. None: the current one.
    dtype : dtype, optional
        None: float32.
    stype : str, optional
        "default" or None: there are no sparse arrays.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.
    name : str, optional
        MXNet's; it changes nothing.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For another stype.

    Examples
    --------
    {example}
    """


def _filled(name, what, example):
    function = getattr(np, name)

    def make(shape, ctx=None, dtype=None, stype=None, out=None, name=None):
        if stype not in (None, "default"):
            raise ValueError(f"stype must be 'default', not {stype!r}: dflow has no sparse arrays")
        return given_to(put_on(function(shape, dtype=dtype or np.float32), ctx), out)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = FILLED.format(what=what, example=example)
    return make


empty = _filled("empty", ", whose elements are whatever is in the memory",
                ">>> x = nd.empty((2, 3))\n    >>> x.shape, x.dtype\n    ((2, 3), dtype('float32'))")
zeros = _filled("zeros", " of zeros", ">>> print(nd.zeros((2, 2)))\n    [[0. 0.]\n     [0. 0.]]")
ones = _filled("ones", " of ones", ">>> x = nd.ones(2, dtype=\"int32\")\n    >>> print(x, x.dtype)\n    [1 1] int32")


def full(shape, val, ctx=None, dtype=np.float32, out=None):
    """An array of one value everywhere.

    Parameters
    ----------
    shape : int or tuple of int
        Of the array.
    val : number
        Its elements.
    ctx : Device, optional
        Where the array is. None: the current one.
    dtype : dtype
        Default float32.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> print(nd.full((2, 2), 7))
    [[7. 7.]
     [7. 7.]]
    """
    return given_to(put_on(np.full(shape, val, dtype), ctx), out)


def zeros_like(data, out=None):
    """Zeros of the shape and dtype of another array.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x = nd.zeros_like(nd.array([[1, 2]], dtype="int32"))
    >>> print(x, x.dtype)
    [[0 0]] int32
    """
    return given_to(np.zeros_like(data), out)


def ones_like(data, out=None):
    """Ones of the shape and dtype of another array.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> print(nd.ones_like(nd.array([[1, 2]])))
    [[1. 1.]]
    """
    return given_to(np.ones_like(data), out)


def arange(start, stop=None, step=1.0, repeat=1, infer_range=None, ctx=None, dtype=np.float32):
    """Numbers from start on in equal steps, below stop.

    Parameters
    ----------
    start : number
        The first; if it is the only number, stop, and the first is 0.
    stop : number, optional
        What all are below, or above for a negative step.
    step : number
        From one to the next. Default 1.
    repeat : int
        How often each number comes. Default 1.
    infer_range : optional
        MXNet's; it changes nothing.
    ctx : Device, optional
        Where the array is. None: the current one.
    dtype : dtype
        Default float32.

    Returns
    -------
    ndarray
        Of one axis.

    Examples
    --------
    >>> print(nd.arange(3), nd.arange(2, 6, 2))
    [0. 1. 2.] [2. 4.]
    >>> print(nd.arange(2, repeat=3))
    [0. 0. 0. 1. 1. 1.]
    """
    result = np.arange(*((0, start) if stop is None else (start, stop)), step, dtype=dtype)
    return put_on(result if repeat == 1 else np.repeat(result, repeat), ctx)


def linspace(start, stop, num, endpoint=True, ctx=None, dtype=np.float32):
    """So many numbers at equal distances.

    Parameters
    ----------
    start, stop : number
        The first and the last.
    num : int
        How many.
    endpoint : bool
        `stop` is the last; else the first that is not there any more. Default True.
    ctx : Device, optional
        Where the array is. None: the current one.
    dtype : dtype
        Default float32.

    Returns
    -------
    ndarray
        Of shape (num,).

    Examples
    --------
    >>> print(nd.linspace(0, 1, 5))
    [0.   0.25 0.5  0.75 1.  ]
    >>> print(nd.linspace(0, 1, 4, endpoint=False))
    [0.   0.25 0.5  0.75]
    """
    return put_on(np.linspace(start, stop, num, endpoint, dtype=dtype), ctx)


def eye(N, M=0, k=0, ctx=None, dtype=np.float32):
    """A matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    N : int
        Its rows.
    M : int
        Its columns. 0, the default: as many as rows.
    k : int
        Which diagonal: above the main one, or below if negative. Default 0.
    ctx : Device, optional
        Where the array is. None: the current one.
    dtype : dtype
        Default float32.

    Returns
    -------
    ndarray
        Of shape (N, M).

    Examples
    --------
    >>> print(nd.eye(2))
    [[1. 0.]
     [0. 1.]]
    >>> print(nd.eye(2, 3, k=1))
    [[0. 1. 0.]
     [0. 0. 1.]]
    """
    return put_on(np.eye(N, M or None, k, dtype=dtype or np.float32), ctx)


def cast(data, dtype, out=None):
    """A copy of another dtype.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    dtype : dtype
        Of the copy.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of data's shape.

    Examples
    --------
    >>> print(nd.cast(nd.array([1.5, -2.7]), "int32"))
    [ 1 -2]
    """
    return given_to(as_array(data).astype(dtype), out)


Cast = cast


def identity(data, out=None):
    """A copy. MakeLoss() is this, too: what to call backward() of.

    Parameters
    ----------
    data : ndarray
        Of any shape and dtype.
    out : ndarray, optional
        Where the result goes, which is then what the call returns.

    Returns
    -------
    ndarray
        Of data's shape and dtype.

    Examples
    --------
    >>> x = nd.array([1, 2])
    >>> y = nd.identity(x)
    >>> y[0] = 5
    >>> print(x, y)
    [1. 2.] [5. 2.]
    """
    return given_to(as_array(data).copy(), out)


make_loss = MakeLoss = identity


def fill_element_0index(lhs, mhs, rhs):
    """A copy of a matrix with another element in each row.

    Parameters
    ----------
    lhs : ndarray
        Of shape (rows, columns).
    mhs : ndarray
        The new elements, of shape (rows,).
    rhs : ndarray
        The column of each, of shape (rows,); indices may be of a floating point dtype.

    Returns
    -------
    ndarray
        Of the shape and dtype of lhs.

    Examples
    --------
    >>> print(nd.fill_element_0index(nd.zeros((2, 3)), nd.array([7, 8]), nd.array([0, 2])))
    [[7. 0. 0.]
     [0. 0. 8.]]
    """
    result = as_array(lhs).copy()
    result[np.arange(len(result)), as_array(rhs).astype(np.int64)] = mhs
    return result


def onehot_encode(indices, out):
    """Ones at indices, written into an array that is there: see one_hot().

    Parameters
    ----------
    indices : ndarray
        Of shape (rows,): the column of each row's one.
    out : ndarray
        Of shape (rows, columns); all of its elements are written.

    Returns
    -------
    ndarray
        `out`.

    Examples
    --------
    >>> print(nd.onehot_encode(nd.array([1, 0]), nd.zeros((2, 3))))
    [[0. 1. 0.]
     [1. 0. 0.]]
    """
    out[...] = npx.one_hot(indices, out.shape[1])
    return out


def reset_arrays(*data, num_arrays):
    """Fill arrays with zeros.

    Parameters
    ----------
    *data : ndarray
        Which; they are written to.
    num_arrays : int
        How many they are.

    Returns
    -------
    None

    Raises
    ------
    ValueError
        If there are not so many.

    Examples
    --------
    >>> x, y = nd.ones(2), nd.ones((1, 2))
    >>> nd.reset_arrays(x, y, num_arrays=2)
    >>> print(x, y)
    [0. 0.] [[0. 0.]]
    """
    if num_arrays != len(data):
        raise ValueError(f"num_arrays is {num_arrays}, and there are {len(data)}")
    for x in data:
        x[...] = 0


def save(fname, data):
    """Write arrays to a file. Waits for them.

    Parameters
    ----------
    fname : str, path or file
        Where: an existing file is replaced.
    data : ndarray, list or dict of ndarray
        One array is written as a list of it.

    Returns
    -------
    None

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> nd.save(file, {"weight": nd.array([1, 2]), "bias": nd.array([3])})
    >>> sorted(nd.load_frombuffer(file.getvalue()))
    ['bias', 'weight']
    """
    files.save(fname, data if isinstance(data, (list, tuple, dict)) else [data])


def load(fname):
    """The arrays in a file that save() wrote, or NumPy, or MXNet.

    Parameters
    ----------
    fname : str, path or file
        The file.

    Returns
    -------
    list or dict of ndarray
        As it was given to save(); a list of one array for a file of one.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        For a file of another kind, and for one that is damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nd.save(os.path.join(folder, "arrays"), [nd.array([1, 2]), nd.array([3])])
    ...     first, second = nd.load(os.path.join(folder, "arrays"))
    >>> print(first, second)
    [1. 2.] [3.]
    """
    found = files.load(fname)
    return [found] if is_array(found) else found


def load_frombuffer(buf):
    """The arrays in the bytes of a file: load() of what is in memory.

    Parameters
    ----------
    buf : bytes
        What save() wrote to the file.

    Returns
    -------
    list or dict of ndarray
        As it was given to save().

    Raises
    ------
    ValueError
        For the bytes of something else.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> nd.save(file, nd.array([1, 2]))
    >>> print(nd.load_frombuffer(file.getvalue())[0])
    [1. 2.]
    """
    return load(io.BytesIO(buf))
