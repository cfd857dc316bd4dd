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
    """A class of initializers that create() knows by its name, in small letters."""
    _registry[kind.__name__.lower()] = kind
    return kind


def create(init, *args, **kwargs):
    """The initializer itself, or the one of a name, to which further arguments are given; of a number Constant."""
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
    """Base class. Called with a name and an array, it sees by the end of the name what the array is to begin as."""

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
    """Zeros."""

    def _init_weight(self, name, data):
        data[...] = 0


@register
class One(Initializer):
    """Ones."""

    def _init_weight(self, name, data):
        data[...] = 1


_registry.update(zeros=Zero, ones=One)


@register
class Constant(Initializer):
    """A number, or an array of the parameter's shape."""

    def __init__(self, value=0):
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name, data):
        data[...] = np.asarray(self.value)


@register
class Uniform(Initializer):
    """Uniform numbers in [-scale, scale)."""

    def __init__(self, scale=0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name, data):
        data[...] = np.random.uniform(-self.scale, self.scale, data.shape)


@register
class Normal(Initializer):
    """Normal numbers of mean 0 and standard deviation sigma."""

    def __init__(self, sigma=0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name, data):
        data[...] = np.random.normal(0, self.sigma, data.shape)


@register
class TruncNorm(Initializer):
    """Normal numbers; what lies more than two deviations from the mean is drawn anew."""

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
    """scale times an orthogonal matrix of the first axis and all others; of random numbers 'uniform' or 'normal'."""

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

    rnd_type: 'uniform' between -s and s, or 'gaussian' of the deviation s = sqrt(magnitude / factor). factor_type:
    the factor is 'in', how many elements an output is computed from, 'out', or their mean, 'avg'.
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
    """Normal numbers of variance 2 / (1 + slope^2) / factor, for layers before PReLU of that slope."""

    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """The kernel of bilinear interpolation, for transposed convolutions that enlarge images."""

    def _init_weight(self, name, data):
        size = data.shape[-1]
        half = math.ceil(size / 2)
        centre = (2 * half - 1 - half % 2) / (2 * half)
        rows, columns = (1 - np.abs(np.arange(n) / half - centre) for n in data.shape[-2:])
        data[...] = rows.reshape(-1, 1) * columns


@register
class LSTMBias(Initializer):
    """Zeros, but for the forget gate, the second quarter."""

    def __init__(self, forget_bias=1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name, data):
        data[...] = 0
        quarter = data.shape[0] // 4
        data[quarter:2 * quarter] = self.forget_bias


class Mixed(Initializer):
    """Of several initializers the first whose pattern, a regular expression, the parameter's name begins with."""

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
