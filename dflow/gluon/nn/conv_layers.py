"""Convolutions and pooling, along one to three axes of space."""

from dflow import npx
from dflow import numpy as np
from dflow.gluon.block import HybridBlock
from dflow.gluon.nn.activations import Activation

__all__ = ["AvgPool1D", "AvgPool2D", "AvgPool3D", "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D",
           "Conv3DTranspose", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D",
           "GlobalMaxPool2D", "GlobalMaxPool3D", "MaxPool1D", "MaxPool2D", "MaxPool3D", "PixelShuffle1D",
           "PixelShuffle2D", "PixelShuffle3D", "ReflectionPad2D"]


def __dir__():
    return sorted(__all__)


def _numbers(value, n):
    """One number for each of n axes; one alone is for all."""
    return (value,) * n if isinstance(value, int) else tuple(value)


class _Conv(HybridBlock):
    """A convolution of `channels` filters; `layout`: with channels on axis 1 ("NCHW"), or last ("NHWC").

    in_channels: 0 is found out from the first input. The weight's shape is (channels, in_channels / groups, *kernel);
    in a layout with C last (channels, *kernel, in_channels / groups).
    """

    ndim = 2
    layout = "NCHW"

    def __init__(self, channels, kernel_size, strides=1, padding=0, dilation=1, groups=1, layout=None, in_channels=0,
                 activation=None, use_bias=True, weight_initializer=None, bias_initializer="zeros", **kwargs):
        super().__init__(**kwargs)
        self._channels = channels
        self._in_channels = in_channels
        self._arguments = {
            "kernel": _numbers(kernel_size, self.ndim), "stride": _numbers(strides, self.ndim),
            "dilate": _numbers(dilation, self.ndim), "pad": _numbers(padding, self.ndim), "num_filter": channels,
            "num_group": groups, "no_bias": not use_bias, "layout": layout or self.layout}
        self.weight = self.params.get("weight", shape=self._weight_shape(in_channels), init=weight_initializer,
                                      allow_deferred_init=True)
        self.bias = self.params.get("bias", shape=(channels,), init=bias_initializer,
                                    allow_deferred_init=True) if use_bias else None
        self.act = None if activation is None else Activation(activation)

    def _filters(self, in_channels):
        """The first two axes of the weight."""
        return self._channels, in_channels // self._arguments["num_group"]

    def _weight_shape(self, in_channels):
        first, second = self._filters(in_channels)
        kernel = self._arguments["kernel"]
        return (first, *kernel, second) if self._arguments["layout"][-1] == "C" else (first, second, *kernel)

    def infer_shape(self, x):
        self._in_channels = x.shape[self._arguments["layout"].index("C")]
        self.weight.shape = self._weight_shape(self._in_channels)

    def _function(self, x, weight, bias):
        return npx.convolution(x, weight, bias, **self._arguments)

    def forward(self, x):
        y = self._function(x, self.weight.data(), None if self.bias is None else self.bias.data())
        return y if self.act is None else self.act(y)

    def __repr__(self):
        found = self._arguments
        text = f"{self._in_channels or -1} -> {self._channels}, kernel_size={found['kernel']}"
        text += f", stride={found['stride']}"
        for name, argument, usual in (("padding", "pad", 0), ("dilation", "dilate", 1)):
            if set(found[argument]) != {usual}:
                text += f", {name}={found[argument]}"
        text += f", groups={found['num_group']}" if found["num_group"] != 1 else ""
        text += "" if self.bias is not None else ", bias=False"
        return f"{type(self).__name__}({text}{f', {self.act}' if self.act else ''})"


class Conv1D(_Conv):
    """A convolution of sequences.

    Parameters
    ----------
    channels : int
        Channels of the result.
    kernel_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    dilation : int or tuple of int
        Steps between elements of a window.
    groups : int
        How many groups of channels are apart.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    in_channels : int
        Channels of the input; 0: what the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Conv1D(4, 3, padding=1)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8))).shape
    (1, 4, 8)
    """

    ndim, layout = 1, "NCW"


class Conv2D(_Conv):
    """A convolution of images.

    Parameters
    ----------
    channels : int
        Channels of the result.
    kernel_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    dilation : int or tuple of int
        Steps between elements of a window.
    groups : int
        How many groups of channels are apart.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    in_channels : int
        Channels of the input; 0: what the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Conv2D(4, 3, padding=1)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 4, 8, 8)
    """


class Conv3D(_Conv):
    """A convolution of volumes.

    Parameters
    ----------
    channels : int
        Channels of the result.
    kernel_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    dilation : int or tuple of int
        Steps between elements of a window.
    groups : int
        How many groups of channels are apart.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    in_channels : int
        Channels of the input; 0: what the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Conv3D(4, 3, padding=1)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8, 8))).shape
    (1, 4, 8, 8, 8)
    """

    ndim, layout = 3, "NCDHW"


class _ConvTranspose(_Conv):
    """A transposed convolution; output_padding: how many elements less are cut off behind. See _Conv for the others.

    The weight has the shape (in_channels, channels / groups, *kernel).
    """

    def __init__(self, channels, kernel_size, strides=1, padding=0, output_padding=0, dilation=1, groups=1, layout=None,
                 in_channels=0, activation=None, use_bias=True, weight_initializer=None, bias_initializer="zeros",
                 **kwargs):
        super().__init__(channels, kernel_size, strides, padding, dilation, groups, layout, in_channels, activation,
                         use_bias, weight_initializer, bias_initializer, **kwargs)
        self._arguments["adj"] = _numbers(output_padding, self.ndim)

    def _filters(self, in_channels):
        return in_channels, self._channels // self._arguments["num_group"]

    def _function(self, x, weight, bias):
        return npx.deconvolution(x, weight, bias, **self._arguments)


class Conv1DTranspose(_ConvTranspose):
    """A transposed convolution of sequences.

    Parameters
    ----------
    channels : int
        Channels of the result.
    kernel_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    output_padding : int or tuple of int
        Elements more at the end of each axis.
    dilation : int or tuple of int
        Steps between elements of a window.
    groups : int
        How many groups of channels are apart.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    in_channels : int
        Channels of the input; 0: what the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Conv1DTranspose(4, 2, strides=2)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8))).shape
    (1, 4, 16)
    """

    ndim, layout = 1, "NCW"


class Conv2DTranspose(_ConvTranspose):
    """A transposed convolution of images.

    Parameters
    ----------
    channels : int
        Channels of the result.
    kernel_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    output_padding : int or tuple of int
        Elements more at the end of each axis.
    dilation : int or tuple of int
        Steps between elements of a window.
    groups : int
        How many groups of channels are apart.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    in_channels : int
        Channels of the input; 0: what the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Conv2DTranspose(4, 2, strides=2)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 4, 16, 16)
    """


class Conv3DTranspose(_ConvTranspose):
    """A transposed convolution of volumes.

    Parameters
    ----------
    channels : int
        Channels of the result.
    kernel_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    output_padding : int or tuple of int
        Elements more at the end of each axis.
    dilation : int or tuple of int
        Steps between elements of a window.
    groups : int
        How many groups of channels are apart.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    in_channels : int
        Channels of the input; 0: what the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.Conv3DTranspose(4, 2, strides=2)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8, 8))).shape
    (1, 4, 16, 16, 16)
    """

    ndim, layout = 3, "NCDHW"


class _Pooling(HybridBlock):
    """The largest or the mean of the elements in each window; strides: None is the pool_size.

    ceil_mode: a last window may reach beyond the padding. count_include_pad: padding counts for the mean.
    """

    ndim = 2
    layout = "NCHW"
    pool_type = "max"

    def __init__(self, pool_size=2, strides=None, padding=0, layout=None, ceil_mode=False, count_include_pad=True,
                 **kwargs):
        super().__init__(**kwargs)
        kernel = _numbers(pool_size, self.ndim)
        self._arguments = {
            "kernel": kernel, "stride": kernel if strides is None else _numbers(strides, self.ndim),
            "pad": _numbers(padding, self.ndim), "pooling_convention": "full" if ceil_mode else "valid",
            "count_include_pad": count_include_pad, "layout": layout or self.layout}

    def forward(self, x):
        return npx.pooling(x, pool_type=self.pool_type, **self._arguments)

    def __repr__(self):
        found = self._arguments
        return (f"{type(self).__name__}(size={found['kernel']}, stride={found['stride']}, padding={found['pad']}, "
                f"ceil_mode={found['pooling_convention'] == 'full'}, pool_type={self.pool_type})")


class MaxPool1D(_Pooling):
    """The largest of each window of sequences.

    Parameters
    ----------
    pool_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    ceil_mode : bool
        A last window may reach beyond the padding.
    count_include_pad : bool
        Padding counts for the mean.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.MaxPool1D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    ndim, layout = 1, "NCW"


class MaxPool2D(_Pooling):
    """The largest of each window of images.

    Parameters
    ----------
    pool_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    ceil_mode : bool
        A last window may reach beyond the padding.
    count_include_pad : bool
        Padding counts for the mean.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.MaxPool2D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """


class MaxPool3D(_Pooling):
    """The largest of each window of volumes.

    Parameters
    ----------
    pool_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    ceil_mode : bool
        A last window may reach beyond the padding.
    count_include_pad : bool
        Padding counts for the mean.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.MaxPool3D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    ndim, layout = 3, "NCDHW"


class AvgPool1D(MaxPool1D):
    """The mean of each window of sequences.

    Parameters
    ----------
    pool_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    ceil_mode : bool
        A last window may reach beyond the padding.
    count_include_pad : bool
        Padding counts for the mean.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.AvgPool1D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    pool_type = "avg"


class AvgPool2D(MaxPool2D):
    """The mean of each window of images.

    Parameters
    ----------
    pool_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    ceil_mode : bool
        A last window may reach beyond the padding.
    count_include_pad : bool
        Padding counts for the mean.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.AvgPool2D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

    pool_type = "avg"


class AvgPool3D(MaxPool3D):
    """The mean of each window of volumes.

    Parameters
    ----------
    pool_size : int or tuple of int
        The lengths of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    ceil_mode : bool
        A last window may reach beyond the padding.
    count_include_pad : bool
        Padding counts for the mean.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.AvgPool3D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    pool_type = "avg"


class _GlobalPooling(HybridBlock):
    """The largest or the mean of all elements of each channel, as axes of length 1."""

    layout = "NCHW"
    pool_type = "max"

    def __init__(self, layout=None, **kwargs):
        super().__init__(**kwargs)
        self._layout = layout or self.layout

    def forward(self, x):
        return npx.pooling(x, pool_type=self.pool_type, global_pool=True, layout=self._layout)

    def __repr__(self):
        return f"{type(self).__name__}(pool_type={self.pool_type}, layout={self._layout})"


class GlobalMaxPool1D(_GlobalPooling):
    """The largest of each channel of sequences.

    Parameters
    ----------
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.GlobalMaxPool1D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8))).shape
    (1, 3, 1)
    """

    layout = "NCW"


class GlobalMaxPool2D(_GlobalPooling):
    """The largest of each channel of images.

    Parameters
    ----------
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.GlobalMaxPool2D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 3, 1, 1)
    """


class GlobalMaxPool3D(_GlobalPooling):
    """The largest of each channel of volumes.

    Parameters
    ----------
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.GlobalMaxPool3D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 1, 1, 1)
    """

    layout = "NCDHW"


class GlobalAvgPool1D(GlobalMaxPool1D):
    """The mean of each channel of sequences.

    Parameters
    ----------
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.GlobalAvgPool1D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8))).shape
    (1, 3, 1)
    """

    pool_type = "avg"


class GlobalAvgPool2D(GlobalMaxPool2D):
    """The mean of each channel of images.

    Parameters
    ----------
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.GlobalAvgPool2D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 3, 1, 1)
    """

    pool_type = "avg"


class GlobalAvgPool3D(GlobalMaxPool3D):
    """The mean of each channel of volumes.

    Parameters
    ----------
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.GlobalAvgPool3D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 1, 1, 1)
    """

    pool_type = "avg"


class _PixelShuffle(HybridBlock):
    """The parameter `factor`: one number, or one for each axis of space."""

    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self._factors = (factor,) * self.ndim if isinstance(factor, int) else tuple(factor)
        if len(self._factors) != self.ndim:
            raise ValueError(f"factor must be {self.ndim} numbers, not {factor}")

    def forward(self, x):
        n = self.ndim
        x = x.reshape(len(x), -1, *self._factors, *x.shape[2:])
        order = [k for axis in range(n) for k in (2 + n + axis, 2 + axis)]
        sizes = [k * size for k, size in zip(self._factors, x.shape[2 + n:])]
        return x.transpose(0, 1, *order).reshape(len(x), -1, *sizes)

    def __repr__(self):
        return f"{type(self).__name__}({self._factors if self.ndim > 1 else self._factors[0]})"


class PixelShuffle1D(_PixelShuffle):
    """(n, factor * channels, w) as (n, channels, factor * w).

    Parameters
    ----------
    factor : int or tuple of int
        How many times as long each spatial axis becomes.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.PixelShuffle1D(2)
    >>> net.initialize()
    >>> net(np.ones((1, 6, 8))).shape
    (1, 3, 16)
    """

    ndim = 1


class PixelShuffle2D(_PixelShuffle):
    """(n, factors * channels, h, w) as (n, channels, factor * h, factor * w).

    Parameters
    ----------
    factor : int or tuple of int
        How many times as long each spatial axis becomes.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.PixelShuffle2D(2)
    >>> net.initialize()
    >>> net(np.ones((1, 12, 8, 8))).shape
    (1, 3, 16, 16)
    """

    ndim = 2


class PixelShuffle3D(_PixelShuffle):
    """(n, factors * channels, d, h, w) as (n, channels, factor * d, factor * h, factor * w).

    Parameters
    ----------
    factor : int or tuple of int
        How many times as long each spatial axis becomes.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.PixelShuffle3D(2)
    >>> net.initialize()
    >>> net(np.ones((1, 24, 8, 8, 8))).shape
    (1, 3, 16, 16, 16)
    """

    ndim = 3


class ReflectionPad2D(HybridBlock):
    """Images with their mirror images around them: a number, or eight, the last four of which count.

    Parameters
    ----------
    padding : int or tuple of int
        Zeros at both ends of each axis.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> net = nn.ReflectionPad2D(1)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 3, 10, 10)
    """

    def __init__(self, padding=0, **kwargs):
        super().__init__(**kwargs)
        self._padding = (padding,) * 4 if isinstance(padding, int) else tuple(padding)[-4:]

    def forward(self, x):
        top, bottom, left, right = self._padding
        return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), mode="reflect")
