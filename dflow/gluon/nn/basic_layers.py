"""Containers, dense layers, and what has no parameters."""

import math

from dflow import npx
from dflow import numpy as np
from dflow.gluon.block import Block, HybridBlock
from dflow.gluon.nn.activations import Activation

__all__ = ["Concatenate", "Dense", "Dropout", "Embedding", "Flatten", "HybridConcatenate", "HybridLambda",
           "HybridSequential", "Identity", "Lambda", "Sequential"]


def __dir__():
    return sorted(__all__)


class Sequential(Block):
    """Blocks one after the other, each with the output of the one before: add(*blocks), net[i], len(net).

    Parameters
    ----------
    *blocks
        The first blocks; add() adds more.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    *args
        What the first block takes.

    Outputs
    -------
    ndarray, or what the last block gives
        Without blocks, x itself. Where a block gives several arrays, the next one is called with all of them.

    Raises
    ------
    TypeError
        For what is no block.

    Examples
    --------
    >>> net = nn.Sequential(nn.Dense(3, activation="relu"), nn.Dense(1))
    >>> net.initialize()
    >>> net(np.ones((2, 4))).shape
    (2, 1)
    """

    def __init__(self, *blocks, **kwargs):
        super().__init__(**kwargs)
        self.add(*blocks)

    def add(self, *blocks):
        """Put blocks at the end.

        Parameters
        ----------
        *blocks
            Blocks, in the order in which they run.

        Raises
        ------
        TypeError
            For what is no block.

        Examples
        --------
        >>> net = nn.Sequential()
        >>> net.add(nn.Dense(3), nn.Dense(1))
        >>> len(net)
        2
        """
        for block in blocks:
            self.register_child(block)

    def forward(self, x, *args):
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, (list, tuple)):
                x, *args = x
        return (x, *args) if args else x

    def __getitem__(self, key):
        found = list(self._children.values())[key]
        return type(self)(*found) if isinstance(key, slice) else found

    def __len__(self):
        return len(self._children)

    def __iter__(self):
        return iter(self._children.values())


class HybridSequential(Sequential, HybridBlock):
    """A Sequential that is a HybridBlock: hybridize() lets it be noted once, and replayed.

    Parameters
    ----------
    *blocks
        The first blocks; add() adds more.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    *args
        What the first block takes.

    Outputs
    -------
    ndarray, or what the last block gives
        Without blocks, x itself. Where a block gives several arrays, the next one is called with all of them.

    Raises
    ------
    TypeError
        For what is no block.

    Examples
    --------
    >>> net = nn.HybridSequential(nn.Dense(3, activation="relu"), nn.Dense(1))
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(np.ones((2, 4))).shape
    (2, 1)
    """


class Concatenate(Sequential):
    """Blocks beside each other, with the same input; their outputs joined along an axis.

    Parameters
    ----------
    axis : int
        Along which outputs are joined.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        What each of the blocks takes.

    Outputs
    -------
    ndarray
        As long along the axis as all outputs together; they have one shape but for that.

    Examples
    --------
    >>> net = nn.Concatenate()
    >>> net.add(nn.Dense(3), nn.Dense(2))
    >>> net.initialize()
    >>> net(np.ones((2, 4))).shape
    (2, 5)
    """

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def forward(self, x):
        return np.concatenate([block(x) for block in self._children.values()], axis=self.axis)


class HybridConcatenate(Concatenate, HybridBlock):
    """A Concatenate that is a HybridBlock: hybridize() lets it be noted once, and replayed.

    Parameters
    ----------
    axis : int
        Along which outputs are joined.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        What each of the blocks takes.

    Outputs
    -------
    ndarray
        As long along the axis as all outputs together; they have one shape but for that.

    Examples
    --------
    >>> net = nn.HybridConcatenate()
    >>> net.add(nn.Dense(3), nn.Dense(2))
    >>> net.initialize()
    >>> net(np.ones((2, 4))).shape
    (2, 5)
    """


class Dense(HybridBlock):
    """activation(x @ weight.T + bias): each number of the result is a sum over all numbers that come in.

    The weight's shape is (units, in_units), the bias's (units,).

    Parameters
    ----------
    units : int
        How many numbers the result has, of each sample.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    flatten : bool
        All axes of the input but the first are one. False: the last axis is what is summed over, and all others
        stay.
    dtype : dtype
        Of the parameters: one of floating point.
    weight_initializer : str or Initializer, optional
        First values of the weight. None: those that initialize() is told.
    bias_initializer : str or Initializer
        First values of the bias.
    in_units : int
        How many numbers come in, of each sample; 0: as many as the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, ...), of in_units elements a sample; or with flatten=False (..., in_units).

    Outputs
    -------
    ndarray
        Of shape (batch, units), or (..., units); of x's and the weight's common dtype.

    Raises
    ------
    ValueError
        When it is called, for an input of another size than in_units, and for an unknown activation.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.Dense(3, activation="relu")
    >>> net.initialize()
    >>> net(np.ones((2, 4, 5))).shape, net.weight.shape
    ((2, 3), (3, 20))
    >>> net = nn.Dense(3, flatten=False)
    >>> net.initialize()
    >>> net(np.ones((2, 4, 5))).shape
    (2, 4, 3)
    """

    def __init__(self, units, activation=None, use_bias=True, flatten=True, dtype="float32", weight_initializer=None,
                 bias_initializer="zeros", in_units=0, **kwargs):
        super().__init__(**kwargs)
        self._units = units
        self._flatten = flatten
        self.weight = self.params.get("weight", shape=(units, in_units), dtype=dtype, init=weight_initializer,
                                      allow_deferred_init=True)
        self.bias = self.params.get("bias", shape=(units,), dtype=dtype, init=bias_initializer,
                                    allow_deferred_init=True) if use_bias else None
        self.act = None if activation is None else Activation(activation)

    def infer_shape(self, x):
        """Set the shapes of the parameters that depend on the input.

        Parameters
        ----------
        x : ndarray
            The first input.

        Raises
        ------
        ValueError
            Where they are known already, and others.
        """
        self.weight.shape = (self._units, math.prod(x.shape[1:]) if self._flatten else x.shape[-1])

    def forward(self, x):
        weight, bias = self.weight.data(), None if self.bias is None else self.bias.data()
        y = npx.fully_connected(x, weight, bias, self._units, bias is None, self._flatten)
        return y if self.act is None else self.act(y)

    def __repr__(self):
        return f"Dense({self.weight.shape[1]} -> {self._units}, {self.act or 'linear'})"


class Embedding(HybridBlock):
    """Of each index the row of a weight of shape (input_dim, output_dim), which is trained.

    An index out of bounds is the nearest one inside.

    Parameters
    ----------
    input_dim : int
        How many rows: indices are below it.
    output_dim : int
        How many numbers a row has.
    dtype : dtype
        Of the parameters.
    weight_initializer : str or Initializer, optional
        First values of the weight. None: those that initialize() is told.
    sparse_grad : bool
        MXNet's; it changes nothing: the gradient has all rows.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Indices, of any shape. Other dtypes than integers are converted to such.

    Outputs
    -------
    ndarray
        Of shape (*x.shape, output_dim), and the weight's dtype.

    Raises
    ------
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.Embedding(10, 4)
    >>> net.initialize()
    >>> net(np.array([[1, 2, 3], [4, 5, 6]])).shape
    (2, 3, 4)
    """

    def __init__(self, input_dim, output_dim, dtype="float32", weight_initializer=None, sparse_grad=False, **kwargs):
        super().__init__(**kwargs)
        self._dims = input_dim, output_dim
        self.weight = self.params.get("weight", shape=(input_dim, output_dim), dtype=dtype, init=weight_initializer,
                                      allow_deferred_init=True)

    def forward(self, x):
        return npx.embedding(x, self.weight.data(), *self._dims)

    def __repr__(self):
        return "Embedding({} -> {}, {})".format(*self._dims, self.weight.dtype)


class Dropout(HybridBlock):
    """In training, elements set to zero with probability `rate`, the others divided by 1 - rate.

    Training is what autograd.record() and autograd.train_mode() say; outside it x stays as it is.

    Parameters
    ----------
    rate : float
        The probability: at least 0, below 1.
    axes : tuple of int
        Along which one draw counts for all: the others' elements are dropped together.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of any shape. Integers become float64.

    Outputs
    -------
    ndarray
        Of x's shape, and its floating point dtype.

    Raises
    ------
    ValueError
        When it is called, for a rate of 1 or more.

    Examples
    --------
    >>> net = nn.Dropout(0.5)
    >>> print(net(np.ones(4)))
    [1. 1. 1. 1.]
    >>> with autograd.train_mode():
    ...     set(net(np.ones(100)).tolist()) == {0.0, 2.0}
    True
    """

    def __init__(self, rate, axes=(), **kwargs):
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise ValueError(f"Dropout: rate must be at least 0 and less than 1, not {rate}")
        self._rate = rate
        self._axes = axes

    def forward(self, x):
        return npx.dropout(x, self._rate, axes=self._axes) if self._rate > 0 else x

    def __repr__(self):
        return f"Dropout(p = {self._rate}, axes={self._axes})"


class Flatten(HybridBlock):
    """x as rows: all axes but the first are one.

    Parameters
    ----------
    prefix, params
        Of Block, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, ...).

    Outputs
    -------
    ndarray
        Of shape (batch, elements of a sample), and x's dtype.

    Examples
    --------
    >>> net = nn.Flatten()
    >>> net.initialize()
    >>> net(np.ones((2, 3, 4))).shape
    (2, 12)
    """

    def forward(self, x):
        return npx.batch_flatten(x)

    def __repr__(self):
        return "Flatten"


class Lambda(Block):
    """A function as a block: a function, or the name of one of np or npx.

    Parameters
    ----------
    function : callable or str
        A function of arrays, or the name of one in np or, if there is none, in npx.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    *args
        What the function takes.

    Outputs
    -------
    ndarray, or what the function gives

    Raises
    ------
    ValueError
        For a name that neither np nor npx has, and for what cannot be called.

    Examples
    --------
    >>> net = nn.Lambda(lambda x: x * 2)
    >>> print(net(np.array([0.0, 1.0])))
    [0. 2.]
    >>> print(nn.Lambda("tanh")(np.array([0.0, 1.0])))
    [0.         0.76159416]
    """

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        if isinstance(function, str):
            name, function = function, getattr(np, function, None) or getattr(npx, function, None)
            if function is None:
                raise ValueError(f"function must be a function, or the name of one in np or npx, not {name!r}")
        elif not callable(function):
            raise ValueError(f"function must be a function, or the name of one in np or npx, not {function!r}")
        self._function = function

    def forward(self, *args):
        return self._function(*args)

    def __repr__(self):
        return f"{type(self).__name__}({getattr(self._function, '__name__', self._function)})"


class HybridLambda(Lambda, HybridBlock):
    """A Lambda that is a HybridBlock: hybridize() lets it be noted once, and replayed.

    Parameters
    ----------
    function : callable or str
        A function of arrays, or the name of one in np or, if there is none, in npx.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    *args
        What the function takes.

    Outputs
    -------
    ndarray, or what the function gives

    Raises
    ------
    ValueError
        For a name that neither np nor npx has, and for what cannot be called.

    Examples
    --------
    >>> net = nn.HybridLambda("tanh")
    >>> net.initialize()
    >>> print(net(np.array([0.0, 1.0])))
    [0.         0.76159416]
    """


class Identity(HybridBlock):
    """What comes in, as it is.

    Parameters
    ----------
    prefix, params
        Of Block, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Anything.

    Outputs
    -------
    ndarray
        x itself.

    Examples
    --------
    >>> net = nn.Identity()
    >>> net.initialize()
    >>> print(net(np.array([1.0, 2.0])))
    [1. 2.]
    """

    def forward(self, x):
        return x
