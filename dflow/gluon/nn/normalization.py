"""Layers that normalize: x less its mean, divided by its deviation, times gamma, plus beta."""

from dflow import npx
from dflow.gluon.block import HybridBlock
from dflow.ops.nn import check_one_device

__all__ = ["BatchNorm", "BatchNormReLU", "GroupNorm", "InstanceNorm", "LayerNorm", "SyncBatchNorm"]


def __dir__():
    return sorted(__all__)


class _Normalization(HybridBlock):
    """center: beta is trained, else it is 0; scale: gamma is trained, else it is 1. `axis` is that of channels."""

    def __init__(self, axis, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs):
        super().__init__(**kwargs)
        self._axis = axis
        self._epsilon = epsilon
        self._scale = scale
        self.gamma = self._vector("gamma", gamma_initializer, in_channels, scale)
        self.beta = self._vector("beta", beta_initializer, in_channels, center)

    def _vector(self, name, initializer, in_channels, trained):
        return self.params.get(name, grad_req="write" if trained else "null", shape=(in_channels,), init=initializer,
                               allow_deferred_init=True, differentiable=trained)

    def infer_shape(self, x):
        for p in self.params.values():
            p.shape = (x.shape[self._axis],)

    def __repr__(self):
        return f"{type(self).__name__}(axis={self._axis}, eps={self._epsilon}, in_channels={self.gamma.shape[0]})"


class BatchNorm(_Normalization):
    """Mean and variance of each channel: in training those of the batch, which running ones follow; else these.

    use_global_stats: the running ones always.

    Parameters
    ----------
    axis : int
        Along which.
    momentum : float
        The weight of the running values.
    epsilon : float
        What keeps the divisor from zero.
    center : bool
        Add beta.
    scale : bool
        Multiply by gamma.
    use_global_stats : bool
        Use the running values in training, too.
    beta_initializer : str or Initializer
        First values of beta.
    gamma_initializer : str or Initializer
        First values of gamma.
    running_mean_initializer : str or Initializer
        First values of the running means.
    running_variance_initializer : str or Initializer
        First values of the running variances.
    in_channels : int
        Channels of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.BatchNorm()
    >>> net.initialize()
    >>> net(np.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def __init__(self, axis=1, momentum=0.9, epsilon=1e-5, center=True, scale=True, use_global_stats=False,
                 beta_initializer="zeros", gamma_initializer="ones", running_mean_initializer="zeros",
                 running_variance_initializer="ones", in_channels=0, **kwargs):
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs)
        self._momentum = momentum
        self._use_global_stats = use_global_stats
        self.running_mean = self._vector("running_mean", running_mean_initializer, in_channels, False)
        self.running_var = self._vector("running_var", running_variance_initializer, in_channels, False)

    def cast(self, dtype):
        """Change the type of the parameters; those of float16 would be too coarse, and become float32."""
        super().cast("float32" if dtype in ("float16", "half") else dtype)

    def forward(self, x):
        return npx.batch_norm(
            x, self.gamma.data(), self.beta.data(), self.running_mean.data(), self.running_var.data(),
            eps=self._epsilon, momentum=self._momentum, fix_gamma=not self._scale,
            use_global_stats=self._use_global_stats, axis=self._axis)


class BatchNormReLU(BatchNorm):
    """BatchNorm, then max(x, 0).

    Parameters
    ----------
    axis : int
        Along which.
    momentum : float
        The weight of the running values.
    epsilon : float
        What keeps the divisor from zero.
    center : bool
        Add beta.
    scale : bool
        Multiply by gamma.
    use_global_stats : bool
        Use the running values in training, too.
    beta_initializer : str or Initializer
        First values of beta.
    gamma_initializer : str or Initializer
        First values of gamma.
    running_mean_initializer : str or Initializer
        First values of the running means.
    running_variance_initializer : str or Initializer
        First values of the running variances.
    in_channels : int
        Channels of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.BatchNormReLU()
    >>> net.initialize()
    >>> net(np.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def forward(self, x):
        return npx.relu(super().forward(x))


class SyncBatchNorm(BatchNorm):
    """BatchNorm, whose statistics MXNet takes over all devices: here they are those of one, and more are an error.

    num_devices: how many there are; None: those that its parameters are on.

    Parameters
    ----------
    in_channels : int
        Channels of the input; 0: what the first input has.
    num_devices : int, optional
        1, or None.
    momentum : float
        The weight of the running values.
    epsilon : float
        What keeps the divisor from zero.
    center : bool
        Add beta.
    scale : bool
        Multiply by gamma.
    use_global_stats : bool
        Use the running values in training, too.
    beta_initializer : str or Initializer
        First values of beta.
    gamma_initializer : str or Initializer
        First values of gamma.
    running_mean_initializer : str or Initializer
        First values of the running means.
    running_variance_initializer : str or Initializer
        First values of the running variances.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.SyncBatchNorm()
    >>> net.initialize()
    >>> net(np.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def __init__(self, in_channels=0, num_devices=None, momentum=0.9, epsilon=1e-5, center=True, scale=True,
                 use_global_stats=False, beta_initializer="zeros", gamma_initializer="ones",
                 running_mean_initializer="zeros", running_variance_initializer="ones", **kwargs):
        super().__init__(1, momentum, epsilon, center, scale, use_global_stats, beta_initializer, gamma_initializer,
                         running_mean_initializer, running_variance_initializer, in_channels, **kwargs)
        check_one_device(1 if num_devices is None else num_devices)

    def forward(self, x):
        check_one_device(len(self.running_mean.list_data()))
        return super().forward(x)


class LayerNorm(_Normalization):
    """Mean and variance along an axis, of each of the others' elements.

    Parameters
    ----------
    axis : int
        Along which.
    epsilon : float
        What keeps the divisor from zero.
    center : bool
        Add beta.
    scale : bool
        Multiply by gamma.
    beta_initializer : str or Initializer
        First values of beta.
    gamma_initializer : str or Initializer
        First values of gamma.
    in_channels : int
        Channels of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.LayerNorm()
    >>> net.initialize()
    >>> net(np.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def __init__(self, axis=-1, epsilon=1e-5, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones", in_channels=0, **kwargs):
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs)

    def forward(self, x):
        return npx.layer_norm(x, self.gamma.data(), self.beta.data(), self._axis, self._epsilon)


class GroupNorm(_Normalization):
    """Mean and variance over each group of channels, of each sample.

    Parameters
    ----------
    num_groups : int
        How many groups the channels are in.
    epsilon : float
        What keeps the divisor from zero.
    center : bool
        Add beta.
    scale : bool
        Multiply by gamma.
    beta_initializer : str or Initializer
        First values of beta.
    gamma_initializer : str or Initializer
        First values of gamma.
    in_channels : int
        Channels of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.GroupNorm()
    >>> net.initialize()
    >>> net(np.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def __init__(self, num_groups=1, epsilon=1e-5, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones", in_channels=0, **kwargs):
        super().__init__(1, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs)
        self._num_groups = num_groups

    def forward(self, x):
        return npx.group_norm(x, self.gamma.data(), self.beta.data(), self._num_groups, self._epsilon)


class InstanceNorm(_Normalization):
    """Mean and variance of each channel of each sample.

    Parameters
    ----------
    axis : int
        Along which.
    epsilon : float
        What keeps the divisor from zero.
    center : bool
        Add beta.
    scale : bool
        Multiply by gamma.
    beta_initializer : str or Initializer
        First values of beta.
    gamma_initializer : str or Initializer
        First values of gamma.
    in_channels : int
        Channels of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.InstanceNorm()
    >>> net.initialize()
    >>> net(np.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def __init__(self, axis=1, epsilon=1e-5, center=True, scale=False, beta_initializer="zeros",
                 gamma_initializer="ones", in_channels=0, **kwargs):
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs)

    def forward(self, x):
        x = x.swapaxes(1, self._axis)
        return npx.instance_norm(x, self.gamma.data(), self.beta.data(), self._epsilon).swapaxes(1, self._axis)
