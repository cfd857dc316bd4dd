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
        if not -x.ndim <= self._axis < x.ndim:
            raise ValueError(f"{type(self).__name__}: x has no axis {self._axis} for channels: its shape is {x.shape}")
        for p in self.params.values():
            p.shape = (x.shape[self._axis],)

    def __repr__(self):
        return f"{type(self).__name__}(axis={self._axis}, eps={self._epsilon}, in_channels={self.gamma.shape[0]})"


class BatchNorm(_Normalization):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each channel.

    In training (autograd.record(), autograd.train_mode()) they are those of the batch, and the running ones,
    running_mean and running_var, follow; otherwise they are the running ones. All four parameters have the shape
    (channels,).

    Parameters
    ----------
    axis : int
        The axis of channels.
    momentum : float
        The running values become momentum times themselves plus 1 - momentum times those of the batch.
    epsilon : float
        What is added to the variance, so that nothing is divided by zero.
    center : bool
        Add beta, which is trained; else it stays 0.
    scale : bool
        Multiply by gamma, which is trained; else it stays 1.
    use_global_stats : bool
        Use the running values in training, too; they stay as they are.
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

    Inputs
    ------
    x : ndarray
        Of floating point, its channels along `axis`.

    Outputs
    -------
    ndarray
        Of x's shape and dtype.

    Raises
    ------
    ValueError
        When it is called, for another number of channels than the parameters have.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.BatchNorm(epsilon=0)
    >>> net.initialize()
    >>> x = np.array([[1.0, 2.0], [3.0, 6.0]])
    >>> with autograd.train_mode():
    ...     print(net(x))
    [[-1. -1.]
     [ 1.  1.]]
    >>> print(net.running_mean.data())
    [0.2 0.4]
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
        """Change the type of the parameters; those of float16 would be too coarse, and become float32.

        Parameters
        ----------
        dtype : dtype
            The new type.
        """
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
        The axis of channels.
    momentum : float
        The running values become momentum times themselves plus 1 - momentum times those of the batch.
    epsilon : float
        What is added to the variance, so that nothing is divided by zero.
    center : bool
        Add beta, which is trained; else it stays 0.
    scale : bool
        Multiply by gamma, which is trained; else it stays 1.
    use_global_stats : bool
        Use the running values in training, too; they stay as they are.
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

    Inputs
    ------
    x : ndarray
        Of floating point, its channels along `axis`.

    Outputs
    -------
    ndarray
        Of x's shape and dtype.

    Raises
    ------
    ValueError
        When it is called, for another number of channels than the parameters have.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.BatchNormReLU(epsilon=0)
    >>> net.initialize()
    >>> with autograd.train_mode():
    ...     print(net(np.array([[1.0, 2.0], [3.0, 6.0]])))
    [[0. 0.]
     [1. 1.]]
    """

    def forward(self, x):
        return npx.relu(super().forward(x))


class SyncBatchNorm(BatchNorm):
    """BatchNorm along axis 1, whose statistics MXNet takes over all devices.

    Here they are those of one device, and more are an error.

    Parameters
    ----------
    in_channels : int
        Channels of the input; 0: what the first input has.
    num_devices : int, optional
        How many devices there are: 1. None: those that its parameters are on.
    momentum : float
        The running values become momentum times themselves plus 1 - momentum times those of the batch.
    epsilon : float
        What is added to the variance, so that nothing is divided by zero.
    center : bool
        Add beta, which is trained; else it stays 0.
    scale : bool
        Multiply by gamma, which is trained; else it stays 1.
    use_global_stats : bool
        Use the running values in training, too; they stay as they are.
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

    Inputs
    ------
    x : ndarray
        Of floating point, and of shape (batch, channels, ...).

    Outputs
    -------
    ndarray
        Of x's shape and dtype.

    Raises
    ------
    ValueError
        For more than one device: at once, or when it is called with parameters on several; and for another
        number of channels than the parameters have.
    RuntimeError
        When it is called before initialize().

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
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance along an axis, as of each sample.

    gamma and beta have the length of that axis.

    Parameters
    ----------
    axis : int
        Along which mean and variance are taken.
    epsilon : float
        What is added to the variance, so that nothing is divided by zero.
    center : bool
        Add beta, which is trained; else it stays 0.
    scale : bool
        Multiply by gamma, which is trained; else it stays 1.
    beta_initializer : str or Initializer
        First values of beta.
    gamma_initializer : str or Initializer
        First values of gamma.
    in_channels : int
        The length of that axis; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of any shape, and of floating point.

    Outputs
    -------
    ndarray
        Of x's shape.

    Raises
    ------
    ValueError
        When it is called, for an axis of another length than the parameters'.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.LayerNorm(epsilon=0)
    >>> net.initialize()
    >>> print(net(np.array([[1.0, 2.0], [3.0, 6.0]])))
    [[-1.  1.]
     [-1.  1.]]
    """

    def __init__(self, axis=-1, epsilon=1e-5, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones", in_channels=0, **kwargs):
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs)

    def forward(self, x):
        return npx.layer_norm(x, self.gamma.data(), self.beta.data(), self._axis, self._epsilon)


class GroupNorm(_Normalization):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, of each group of channels of each sample.

    gamma and beta have the shape (channels,).

    Parameters
    ----------
    num_groups : int
        How many groups the channels are in; it divides their number.
    epsilon : float
        What is added to the variance, so that nothing is divided by zero.
    center : bool
        Add beta, which is trained; else it stays 0.
    scale : bool
        Multiply by gamma, which is trained; else it stays 1.
    beta_initializer : str or Initializer
        First values of beta.
    gamma_initializer : str or Initializer
        First values of gamma.
    in_channels : int
        Channels of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of floating point, and of shape (batch, channels, ...).

    Outputs
    -------
    ndarray
        Of x's shape.

    Raises
    ------
    ValueError
        When it is called, for a number of channels that num_groups does not divide, or another than the
        parameters have.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.GroupNorm(2, epsilon=0)
    >>> net.initialize()
    >>> print(net(np.array([[1.0, 2.0, 3.0, 6.0]])))
    [[-1.  1. -1.  1.]]
    """

    def __init__(self, num_groups=1, epsilon=1e-5, center=True, scale=True, beta_initializer="zeros",
                 gamma_initializer="ones", in_channels=0, **kwargs):
        super().__init__(1, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs)
        self._num_groups = num_groups

    def forward(self, x):
        return npx.group_norm(x, self.gamma.data(), self.beta.data(), self._num_groups, self._epsilon)


class InstanceNorm(_Normalization):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, of each channel of each sample.

    gamma and beta have the shape (channels,). Unlike that of BatchNorm, gamma is not trained unless asked for.

    Parameters
    ----------
    axis : int
        The axis of channels.
    epsilon : float
        What is added to the variance, so that nothing is divided by zero.
    center : bool
        Add beta, which is trained; else it stays 0.
    scale : bool
        Multiply by gamma, which is trained; else it stays 1.
    beta_initializer : str or Initializer
        First values of beta.
    gamma_initializer : str or Initializer
        First values of gamma.
    in_channels : int
        Channels of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of floating point, and three axes or more: (batch, channels, ...), or channels along `axis`.

    Outputs
    -------
    ndarray
        Of x's shape.

    Raises
    ------
    ValueError
        When it is called, for another number of channels than the parameters have, and for an input of fewer
        axes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.InstanceNorm(epsilon=0)
    >>> net.initialize()
    >>> print(net(np.array([[[1.0, 2.0], [3.0, 6.0]]])))
    [[[-1.  1.]
      [-1.  1.]]]
    """

    def __init__(self, axis=1, epsilon=1e-5, center=True, scale=False, beta_initializer="zeros",
                 gamma_initializer="ones", in_channels=0, **kwargs):
        super().__init__(axis, epsilon, center, scale, beta_initializer, gamma_initializer, in_channels, **kwargs)

    def forward(self, x):
        x = x.swapaxes(1, self._axis)
        return npx.instance_norm(x, self.gamma.data(), self.beta.data(), self._epsilon).swapaxes(1, self._axis)
