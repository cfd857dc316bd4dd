"""First values of parameters, as mxnet.init: `net.initialize(init.Xavier())`.

An initializer fills an array in place: `_init_weight(name, data)`, which a class of your own overrides. It may be named
by a text ('xavier'). Random numbers come from the stream of dflow.numpy.random.
"""

import math
import re

import numpy

from dflow import numpy as np
from dflow._base.missing import missing

__all__ = ["Bilinear", "Constant", "Initializer", "LSTMBias", "MSRAPrelu", "Mixed", "Normal", "One", "Orthogonal",
           "TruncNorm", "Uniform", "Xavier", "Zero", "create", "register"]

__getattr__ = missing(__name__, "FusedRNN InitDesc Load RNNFused")


def __dir__():
    return sorted(__all__)


_registry: dict[str, type] = {}


def register(kind):
    """Makes a class of initializers known to create(), by its name in small letters: a decorator.

    Parameters
    ----------
    kind : type
        The class, an Initializer. One that had the name before is replaced, without a warning.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> @init.register
    ... class Sevens(init.Initializer):
    ...     def _init_weight(self, name, data):
    ...         data[...] = 7
    >>> weight = gluon.Parameter("weight", shape=(2,), init="sevens")
    >>> weight.initialize()
    >>> print(weight.data())
    [7. 7.]
    """
    _registry[kind.__name__.lower()] = kind
    return kind


def create(init, *args, **kwargs):
    """Makes the initializer of a name; of a number Constant; an initializer is what it returns.

    Parameters
    ----------
    init : str, float or Initializer
        A name is in capital or small letters: "xavier", "zeros", "ones".
    *args
        Arguments of the class that has the name.
    **kwargs
        The same, by name.

    Returns
    -------
    Initializer

    Raises
    ------
    ValueError
        For another name; it says which there are.
    TypeError
        For what is none of these: an initializer has a method _init_weight().

    Examples
    --------
    >>> init.create("normal", sigma=0.1), init.create(0.5)
    (Normal(sigma=0.1), Constant(value=0.5))
    """
    if isinstance(init, str):
        if init.lower() not in _registry:
            raise ValueError(f"no initializer is called {init!r}; there are {', '.join(sorted(_registry))}")
        return _registry[init.lower()](*args, **kwargs)
    if isinstance(init, (int, float)):
        return Constant(init)
    if not hasattr(init, "_init_weight"):
        raise TypeError(f"init must be an initializer or the name of one, not {init!r}")
    return init


class Initializer:
    """Base class: called with a name and an array, it fills the array, as the end of the name says.

    Names that end in gamma, running_var or moving_var: ones; in bias, beta, running_mean or moving_mean: zeros. All
    others are what _init_weight(name, data) of the subclass does, in place; so is, in gluon, whatever a parameter is
    called, as layers say themselves what their biases begin with. Nothing waits, unless a class says so. Two of one
    class and of the same arguments are equal.

    Parameters
    ----------
    **kwargs
        The arguments that make it what it is: repr() shows them.

    Raises
    ------
    NotImplementedError
        When it is called, of a class without _init_weight().

    Examples
    --------
    >>> class Rows(init.Initializer):
    ...     def _init_weight(self, name, data):
    ...         data[...] = np.arange(len(data))[:, None]
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize(Rows())
    >>> print(net.weight.data(), net.bias.data())
    [[0. 0. 0.]
     [1. 1. 1.]] [0. 0.]
    """

    def __init__(self, **kwargs):
        self._kwargs = kwargs

    def __call__(self, name, data):
        if name.endswith(("gamma", "running_var", "moving_var")):
            data[...] = 1
        elif name.endswith(("bias", "beta", "running_mean", "moving_mean")):
            data[...] = 0
        else:
            self._init_weight(name, data)

    def _init_weight(self, name, data):
        raise NotImplementedError(f"{type(self).__name__} needs an _init_weight()")

    def __eq__(self, other):
        if not isinstance(other, Initializer):
            return NotImplemented
        mine, theirs = self._kwargs, other._kwargs
        return type(self) is type(other) and mine.keys() == theirs.keys() and all(
            numpy.array_equal(x, theirs[name]) if numpy.ndim(x) else x == theirs[name] for name, x in mine.items())

    def __hash__(self):
        return hash(type(self))

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._kwargs.items())})"


@register
class Zero(Initializer):
    """Zeros; "zeros" is its name, too.

    Parameters
    ----------
    **kwargs
        Of Initializer; there are none that it needs.

    Examples
    --------
    >>> data = np.empty(3)
    >>> init.Zero()("weight", data)
    >>> print(data)
    [0. 0. 0.]
    """

    def _init_weight(self, name, data):
        data[...] = 0


@register
class One(Initializer):
    """Ones; "ones" is its name, too.

    Parameters
    ----------
    **kwargs
        Of Initializer; there are none that it needs.

    Examples
    --------
    >>> data = np.empty(3)
    >>> init.One()("weight", data)
    >>> print(data)
    [1. 1. 1.]
    """

    def _init_weight(self, name, data):
        data[...] = 1


_registry.update(zeros=Zero, ones=One)


@register
class Constant(Initializer):
    """A number, or an array of the parameter's shape.

    Parameters
    ----------
    value : float or array_like
        What fills the parameter, or broadcasts to its shape.

    Examples
    --------
    >>> data = np.empty((2, 2))
    >>> init.Constant([1.0, 2.0])("weight", data)
    >>> print(data)
    [[1. 2.]
     [1. 2.]]
    """

    def __init__(self, value=0):
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name, data):
        data[...] = np.asarray(self.value)


@register
class Uniform(Initializer):
    """Uniform numbers in [-scale, scale): what Block.initialize() takes unless it is told.

    Parameters
    ----------
    scale : float
        The bound.

    Examples
    --------
    >>> data = np.empty(10000)
    >>> init.Uniform(0.5)("weight", data)
    >>> print(data.min().round(2), data.max().round(2))
    -0.5 0.5
    """

    def __init__(self, scale=0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name, data):
        data[...] = np.random.uniform(-self.scale, self.scale, data.shape)


@register
class Normal(Initializer):
    """Normal numbers of mean 0.

    Parameters
    ----------
    sigma : float
        Their standard deviation.

    Examples
    --------
    >>> data = np.empty(10000)
    >>> init.Normal(0.5)("weight", data)
    >>> print(data.std().round(2))
    0.5
    """

    def __init__(self, sigma=0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name, data):
        data[...] = np.random.normal(0, self.sigma, data.shape)


@register
class TruncNorm(Initializer):
    """Normal numbers; what lies more than two deviations from the mean is drawn anew. It waits for what it draws.

    Parameters
    ----------
    mean : float
        Their mean, before any is drawn anew, and after that.
    stdev : float
        Their standard deviation, before any is drawn anew; after that it is 0.88 times as large.

    Examples
    --------
    >>> data = np.empty(10000)
    >>> init.TruncNorm(stdev=0.5)("weight", data)
    >>> print(np.abs(data).max().round(2))
    1.0
    """

    def __init__(self, mean=0, stdev=0.01):
        super().__init__(mean=mean, stdev=stdev)
        self.mean = mean
        self.stdev = stdev

    def _init_weight(self, name, data):
        z = np.random.normal(size=data.shape)
        while (far := np.abs(z) > 2).any():
            z = np.where(far, np.random.normal(size=data.shape), z)
        data[...] = self.mean + self.stdev * z


@register
class Orthogonal(Initializer):
    """A multiple of an orthogonal matrix, of the first axis and all others together.

    It is made of random numbers, by a singular value decomposition. Rows are orthogonal; columns, where there are more
    rows than columns.

    Parameters
    ----------
    scale : float
        What the matrix is multiplied by.
    rand_type : str
        "uniform", between -1 and 1, or "normal": which random numbers.

    Raises
    ------
    ValueError
        For another rand_type.

    Examples
    --------
    >>> data = np.empty((2, 3))
    >>> init.Orthogonal(scale=2)("weight", data)
    >>> print(np.abs(data @ data.T).round(8))
    [[4. 0.]
     [0. 4.]]
    """

    def __init__(self, scale=1.414, rand_type="uniform"):
        if rand_type not in ("uniform", "normal"):
            raise ValueError(f"rand_type must be 'uniform' or 'normal', not {rand_type!r}")
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name, data):
        shape = data.shape[0], math.prod(data.shape[1:])
        drawn = np.random.uniform(-1, 1, shape) if self.rand_type == "uniform" else np.random.normal(size=shape)
        u, _, v = np.linalg.svd(drawn, full_matrices=False)
        data[...] = self.scale * (u if u.shape == shape else v).reshape(data.shape)


@register
class Xavier(Initializer):
    """Random numbers that keep the deviation of values from layer to layer: smaller ones for more elements.

    They are uniform between -s and s, or normal of the deviation s, where s = sqrt(magnitude / factor).

    Parameters
    ----------
    rnd_type : str
        "uniform" or "gaussian".
    factor_type : str
        The factor: "in", how many elements an output is computed from, shape[1] times the size of a kernel; "out", the
        same of shape[0]; "avg", their mean.
    magnitude : float
        See above.

    Raises
    ------
    ValueError
        For other types, and, when it is called, for an array of less than two axes.

    Examples
    --------
    >>> data = np.empty((200, 100))
    >>> init.Xavier(factor_type="in")("weight", data)       # sqrt(3 / 100)
    >>> print(np.abs(data).max().round(3))
    0.173
    """

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3):
        for argument, value, choices in (("rnd_type", rnd_type, ("uniform", "gaussian")),
                                         ("factor_type", factor_type, ("avg", "in", "out"))):
            if value not in choices:
                raise ValueError(f"{argument} must be one of {', '.join(map(repr, choices))}, not {value!r}")
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name, data):
        if data.ndim < 2:
            raise ValueError(f"{type(self).__name__} cannot initialize {name} of shape {data.shape}: it needs two axes")
        place = math.prod(data.shape[2:])
        fan_in, fan_out = data.shape[1] * place, data.shape[0] * place
        factor = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor)
        draw = np.random.uniform(-scale, scale, data.shape) if self.rnd_type == "uniform" else (
            np.random.normal(0, scale, data.shape))
        data[...] = draw


@register
class MSRAPrelu(Xavier):
    """Normal numbers of variance 2 / (1 + slope^2) / factor, for layers before PReLU of that slope (He et al., 2015).

    Parameters
    ----------
    factor_type : str
        "in", "out" or "avg", as of Xavier.
    slope : float
        Of what is negative; 0 for ReLU.

    Raises
    ------
    ValueError
        For another factor_type, and, when it is called, for an array of less than two axes.

    Examples
    --------
    >>> data = np.empty((200, 100))
    >>> init.MSRAPrelu("in", slope=0)("weight", data)       # sqrt(2 / 100)
    >>> print(data.std().round(2))
    0.14
    """

    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """The kernel of bilinear interpolation, for transposed convolutions that enlarge images.

    It depends on the last two axes; all along the others are the same.

    Parameters
    ----------
    **kwargs
        Of Initializer; there are none that it needs.

    Examples
    --------
    >>> data = np.empty((1, 1, 4, 4))
    >>> init.Bilinear()("weight", data)
    >>> print(data[0, 0] * 16)
    [[1. 3. 3. 1.]
     [3. 9. 9. 3.]
     [3. 9. 9. 3.]
     [1. 3. 3. 1.]]
    """

    def _init_weight(self, name, data):
        size = data.shape[-1]
        half = math.ceil(size / 2)
        centre = (2 * half - 1 - half % 2) / (2 * half)
        rows, columns = (1 - np.abs(np.arange(n) / half - centre) for n in data.shape[-2:])
        data[...] = rows.reshape(-1, 1) * columns


@register
class LSTMBias(Initializer):
    """Zeros, but for the forget gate's, the second quarter: an LSTM forgets little at first.

    It is given as the initializer of the bias itself: called with a name that ends in bias, it would fill it with
    zeros.

    Parameters
    ----------
    forget_bias : float
        What the second quarter is.

    Examples
    --------
    >>> bias = gluon.Parameter("bias", shape=(8,), init=init.LSTMBias(2.0))
    >>> bias.initialize()
    >>> print(bias.data())
    [0. 0. 2. 2. 0. 0. 0. 0.]
    """

    def __init__(self, forget_bias=1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name, data):
        data[...] = 0
        quarter = data.shape[0] // 4
        data[quarter:2 * quarter] = self.forget_bias


class Mixed(Initializer):
    """Of several initializers the first whose pattern the parameter's name begins with.

    In gluon that is the parameter's own name, such as "weight", without those of blocks.

    Parameters
    ----------
    patterns : list of str
        Regular expressions; ".*" as the last one matches all.
    initializers : list of Initializer
        One for each pattern; names and numbers as create() takes them, too.

    Raises
    ------
    ValueError
        For lists of different lengths; when it is called, for a name that no pattern matches.

    Examples
    --------
    >>> mixed = init.Mixed(["embed", ".*"], [init.One(), init.Constant(0.5)])
    >>> one, other = np.empty(2), np.empty(2)
    >>> mixed("embedding_weight", one)
    >>> mixed("dense_weight", other)
    >>> print(one, other)
    [1. 1.] [0.5 0.5]
    """

    def __init__(self, patterns, initializers):
        if len(patterns) != len(initializers):
            raise ValueError(f"patterns: {len(patterns)} for {len(initializers)} initializers")
        super().__init__(patterns=patterns, initializers=initializers)
        self.map = list(zip(map(re.compile, patterns), map(create, initializers)))

    def _init_weight(self, name, data):
        for pattern, initializer in self.map:
            if pattern.match(name):
                return initializer._init_weight(name, data)
        raise ValueError(f"no pattern matches the name {name!r}; '.*' as the last one matches all")
