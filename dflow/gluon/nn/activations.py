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
    activation : str, optional
        A function by its name, as of Activation.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
        See above.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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

    Parameters
    ----------
    alpha_initializer : str or Initializer
        First values of the slopes.
    in_channels : int
        Channels of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
        See above.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
    """ELU whose scale keeps mean and variance.

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
        "erf" or "tanh".
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
        See above.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
    """x * sigmoid(x).

    Parameters
    ----------
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.SiLU()
    >>> net.initialize()
    >>> print(net(np.array([-1.0, 2.0])))
    [-0.26894142  1.76159416]
    """

    def __init__(self, **kwargs):
        super().__init__(1.0, **kwargs)
