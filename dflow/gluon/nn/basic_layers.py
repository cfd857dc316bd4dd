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
        """Put blocks at the end."""
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
    """A Sequential that is a HybridBlock.

    Parameters
    ----------
    *blocks
        The first blocks; add() adds more.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.HybridSequential(nn.Dense(3, activation="relu"), nn.Dense(1))
    >>> net.initialize()
    >>> net(np.ones((2, 4))).shape
    (2, 1)
    """


class Concatenate(Sequential):
    """Blocks beside each other, with the same input; their outputs joined along an axis.

    Parameters
    ----------
    axis : int
        Along which.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
    """A Concatenate that is a HybridBlock.

    Parameters
    ----------
    axis : int
        Along which.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.HybridConcatenate()
    >>> net.add(nn.Dense(3), nn.Dense(2))
    >>> net.initialize()
    >>> net(np.ones((2, 4))).shape
    (2, 5)
    """


class Dense(HybridBlock):
    """activation(x @ weight.T + bias), of so many units; `flatten`: over all axes but the first, else the last one.

    in_units: how many elements come in; 0 is found out from the first input. The weight's shape is (units, in_units).

    Parameters
    ----------
    units : int
        Numbers of the result.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    flatten : bool
        All axes of the input but the first are one.
    dtype : dtype
        Of the parameters.
    weight_initializer : str or Initializer, optional
        First values of the weight.
    bias_initializer : str or Initializer
        First values of the bias.
    in_units : int
        Numbers of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Dense(3)
    >>> net.initialize()
    >>> net(np.ones((2, 4))).shape
    (2, 3)
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
        self.weight.shape = (self._units, math.prod(x.shape[1:]) if self._flatten else x.shape[-1])

    def forward(self, x):
        weight, bias = self.weight.data(), None if self.bias is None else self.bias.data()
        y = npx.fully_connected(x, weight, bias, self._units, bias is None, self._flatten)
        return y if self.act is None else self.act(y)

    def __repr__(self):
        return f"Dense({self.weight.shape[1]} -> {self._units}, {self.act or 'linear'})"


class Embedding(HybridBlock):
    """Of each index the row of a weight of shape (input_dim, output_dim).

    Parameters
    ----------
    input_dim : int
        How many rows.
    output_dim : int
        Numbers in a row.
    dtype : dtype
        Of the parameters.
    weight_initializer : str or Initializer, optional
        First values of the weight.
    sparse_grad : bool
        MXNet's; it changes nothing.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Embedding(10, 4)
    >>> net.initialize()
    >>> net(np.ones((2, 3))).shape
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

    Parameters
    ----------
    rate : float
        The probability.
    axes : tuple of int
        Along which one draw counts for all.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Dropout(0.5)
    >>> net.initialize()
    >>> print(net(np.array([1.0, 2.0])))
    [1. 2.]
    """

    def __init__(self, rate, axes=(), **kwargs):
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def forward(self, x):
        return npx.dropout(x, self._rate, axes=self._axes) if self._rate > 0 else x

    def __repr__(self):
        return f"Dropout(p = {self._rate}, axes={self._axes})"


class Flatten(HybridBlock):
    """x as rows: (samples, all the rest).

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
        Of arrays, or its name in np or npx.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Lambda("tanh")
    >>> net.initialize()
    >>> print(net(np.array([0.0, 1.0])))
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
    """A Lambda that is a HybridBlock.

    Parameters
    ----------
    function : callable or str
        Of arrays, or its name in np or npx.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.HybridLambda("tanh")
    >>> net.initialize()
    >>> print(net(np.array([0.0, 1.0])))
    [0.         0.76159416]
    """


class Identity(HybridBlock):
    """What comes in.

    Examples
    --------
    >>> net = nn.Identity()
    >>> net.initialize()
    >>> print(net(np.array([1.0, 2.0])))
    [1. 2.]
    """

    def forward(self, x):
        return x
