"""Functions of each element."""

from dflow import npx
from dflow.gluon.block import HybridBlock
from dflow.init import Constant

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "SiLU", "Swish"]


def __dir__():
    return sorted(__all__)


class Activation(HybridBlock):
    """A function by its name: relu, sigmoid, log_sigmoid, mish, tanh, softrelu or softsign.

    Parameters
    ----------
    activation : str
        "relu", "sigmoid", "log_sigmoid", "mish", "tanh", "softrelu" or "softsign".
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
        When it is called, for another name.

    Examples
    --------
    >>> net = nn.Activation("relu")
    >>> net.initialize()
    >>> print(net(np.array([-1.0, 2.0])))
    [0. 2.]
    """

    def __init__(self, activation, **kwargs):
        super().__init__(**kwargs)
        self._kind = activation

    def forward(self, x):
        return npx.activation(x, self._kind)

    def __repr__(self):
        return f"Activation({self._kind})"


class LeakyReLU(HybridBlock):
    """x where it is positive, else alpha * x.

    Parameters
    ----------
    alpha : float
        The slope where x is negative; not below 0.
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
        For a negative alpha.

    Examples
    --------
    >>> net = nn.LeakyReLU(0.1)
    >>> net.initialize()
    >>> print(net(np.array([-1.0, 2.0])))
    [-0.1  2. ]
    """

    def __init__(self, alpha, **kwargs):
        if alpha < 0:
            raise ValueError(f"alpha must not be negative: {alpha!r}")
        super().__init__(**kwargs)
        self._alpha = alpha

    def forward(self, x):
        return npx.leaky_relu(x, act_type="leaky", slope=self._alpha)

    def __repr__(self):
        return f"LeakyReLU({self._alpha})"


class PReLU(HybridBlock):
    """x where it is positive, else a slope times it, which is trained: one, or one for each channel.

    The parameter is called alpha, and has the shape (in_channels,).

    Parameters
    ----------
    alpha_initializer : str or Initializer
        First values of the slopes.
    in_channels : int
        How many slopes: 1 for all elements, or as many as there are channels, on axis 1. It must be known:
        unlike other layers, it does not ask the first input.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of any shape; of (batch, in_channels, ...) where there are several slopes.

    Outputs
    -------
    ndarray
        Of x's shape, and its floating point dtype.

    Raises
    ------
    ValueError
        By initialize(), for in_channels=0.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.PReLU()
    >>> net.initialize()
    >>> print(net(np.array([[-1.0], [2.0]])))
    [[-0.25]
     [ 2.  ]]
    """

    def __init__(self, alpha_initializer=Constant(0.25), in_channels=1, **kwargs):  # noqa: B008
        super().__init__(**kwargs)
        self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def forward(self, x):
        return npx.leaky_relu(x, self.alpha.data(), "prelu")


class ELU(HybridBlock):
    """x where it is positive, else alpha * (exp(x) - 1).

    Parameters
    ----------
    alpha : float
        The result tends to -alpha where x is very negative.
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

    Examples
    --------
    >>> net = nn.ELU()
    >>> net.initialize()
    >>> print(net(np.array([-1.0, 2.0])))
    [-0.63212056  2.        ]
    """

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha

    def forward(self, x):
        return npx.leaky_relu(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """ELU with a scale that keeps mean 0 and variance 1: 1.0507 * (x, or 1.6733 * (exp(x) - 1) where x is negative).

    Parameters
    ----------
    prefix, params
        Of Block, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of any shape. Integers become float64.

    Outputs
    -------
    ndarray
        Of x's shape, and its floating point dtype.

    Examples
    --------
    >>> net = nn.SELU()
    >>> net.initialize()
    >>> print(net(np.array([-1.0, 2.0])))
    [-1.11133074  2.10140197]
    """

    def forward(self, x):
        return npx.leaky_relu(x, act_type="selu")


class GELU(HybridBlock):
    """x times the probability that a standard normal number is below it; approximation "tanh": nearly so.

    Parameters
    ----------
    approximation : str
        "erf", or "tanh", which needs no error function and is nearly the same.
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
        For another approximation.

    Examples
    --------
    >>> net = nn.GELU()
    >>> net.initialize()
    >>> print(net(np.array([-1.0, 2.0])))
    [-0.15865525  1.95449974]
    """

    def __init__(self, approximation="erf", **kwargs):
        if approximation not in ("erf", "tanh"):
            raise ValueError(f"approximation must be 'erf' or 'tanh', not {approximation!r}")
        super().__init__(**kwargs)
        self._approximation = approximation

    def forward(self, x):
        return npx.gelu(x, self._approximation)


class Swish(HybridBlock):
    """x * sigmoid(beta * x).

    Parameters
    ----------
    beta : float
        What x is multiplied by inside of the sigmoid.
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

    Examples
    --------
    >>> net = nn.Swish()
    >>> net.initialize()
    >>> print(net(np.array([-1.0, 2.0])))
    [-0.26894142  1.76159416]
    """

    def __init__(self, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self._beta = beta

    def forward(self, x):
        return x * npx.sigmoid(x if self._beta == 1 else self._beta * x)


class SiLU(Swish):
    """x * sigmoid(x): Swish with a beta of 1.

    Parameters
    ----------
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

    Examples
    --------
    >>> net = nn.SiLU()
    >>> net.initialize()
    >>> print(net(np.array([-1.0, 2.0])))
    [-0.26894142  1.76159416]
    """

    def __init__(self, **kwargs):
        super().__init__(1.0, **kwargs)
