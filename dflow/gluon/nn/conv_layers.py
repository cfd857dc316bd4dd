"""Convolutions along one to three axes of space, and what shuffles or pads these; pooling, as MXNet has it here."""

from dflow import npx
from dflow import numpy as np
from dflow.gluon.block import HybridBlock
from dflow.gluon.nn.activations import Activation
from dflow.gluon.nn.pool_layers import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    numbers,
)

__all__ = ["AvgPool1D", "AvgPool2D", "AvgPool3D", "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D",
           "Conv3DTranspose", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D",
           "GlobalMaxPool2D", "GlobalMaxPool3D", "MaxPool1D", "MaxPool2D", "MaxPool3D", "PixelShuffle1D",
           "PixelShuffle2D", "PixelShuffle3D", "ReflectionPad2D"]


def __dir__():
    return sorted(__all__)


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
            "kernel": numbers(kernel_size, self.ndim), "stride": numbers(strides, self.ndim),
            "dilate": numbers(dilation, self.ndim), "pad": numbers(padding, self.ndim), "num_filter": channels,
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
    """A convolution of sequences: each filter's sum of products with each window, plus a bias; then an activation.

    The weight's shape is (channels, in_channels / groups, kernel_size...), or with channels last (channels,
    kernel_size..., in_channels / groups); the bias's (channels,).

    Parameters
    ----------
    channels : int
        Channels of the result: how many filters there are.
    kernel_size : int or tuple of int
        The length of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Zeros at both ends of each axis.
    dilation : int or tuple of int
        Steps between elements of a window.
    groups : int
        How many groups of channels are apart: each group of filters sees its own; it divides both numbers of
        channels.
    layout : str, optional
        "NCW", the default, or "NWC", with channels last.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight. None: those that initialize() is told.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, w2), or as the layout says, with w2 = (w + 2 * padding - dilation *
        (kernel_size - 1) - 1) // strides + 1.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes or channels, groups that do
        not divide the channels, and a window that is longer than the padded input.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.Conv1D(4, 3, padding=1)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8))).shape
    (1, 4, 8)
    """

    ndim, layout = 1, "NCW"


class Conv2D(_Conv):
    """A convolution of images: each filter's sum of products with each window, plus a bias; then an activation.

    The weight's shape is (channels, in_channels / groups, kernel_size...), or with channels last (channels,
    kernel_size..., in_channels / groups); the bias's (channels,).

    Parameters
    ----------
    channels : int
        Channels of the result: how many filters there are.
    kernel_size : int or tuple of int
        The length of a window. One number, or two: one for each axis of space.
    strides : int or tuple of int
        Steps between windows. One number, or two: one for each axis of space.
    padding : int or tuple of int
        Zeros at both ends of each axis. One number, or two: one for each axis of space.
    dilation : int or tuple of int
        Steps between elements of a window. One number, or two: one for each axis of space.
    groups : int
        How many groups of channels are apart: each group of filters sees its own; it divides both numbers of
        channels.
    layout : str, optional
        "NCHW", the default, or "NHWC", with channels last.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight. None: those that initialize() is told.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, h2, w2), or as the layout says, with w2 = (w + 2 * padding - dilation *
        (kernel_size - 1) - 1) // strides + 1, and the other axes likewise.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes or channels, groups that do
        not divide the channels, and a window that is longer than the padded input.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.Conv2D(4, 3, padding=1)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 4, 8, 8)
    """


class Conv3D(_Conv):
    """A convolution of volumes: each filter's sum of products with each window, plus a bias; then an activation.

    The weight's shape is (channels, in_channels / groups, kernel_size...), or with channels last (channels,
    kernel_size..., in_channels / groups); the bias's (channels,).

    Parameters
    ----------
    channels : int
        Channels of the result: how many filters there are.
    kernel_size : int or tuple of int
        The length of a window. One number, or three: one for each axis of space.
    strides : int or tuple of int
        Steps between windows. One number, or three: one for each axis of space.
    padding : int or tuple of int
        Zeros at both ends of each axis. One number, or three: one for each axis of space.
    dilation : int or tuple of int
        Steps between elements of a window. One number, or three: one for each axis of space.
    groups : int
        How many groups of channels are apart: each group of filters sees its own; it divides both numbers of
        channels.
    layout : str, optional
        "NCDHW", the default, or "NDHWC", with channels last.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight. None: those that initialize() is told.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, d, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, d2, h2, w2), or as the layout says, with w2 = (w + 2 * padding - dilation *
        (kernel_size - 1) - 1) // strides + 1, and the other axes likewise.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes or channels, groups that do
        not divide the channels, and a window that is longer than the padded input.
    RuntimeError
        When it is called before initialize().

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
        self._arguments["adj"] = numbers(output_padding, self.ndim)

    def _filters(self, in_channels):
        return in_channels, self._channels // self._arguments["num_group"]

    def _function(self, x, weight, bias):
        return npx.deconvolution(x, weight, bias, **self._arguments)


class Conv1DTranspose(_ConvTranspose):
    """A transposed convolution of sequences: each element adds its multiple of a filter to the result; plus a bias.

    The weight's shape is (in_channels, channels / groups, kernel_size...), or with channels last (in_channels,
    kernel_size..., channels / groups); the bias's (channels,).

    Parameters
    ----------
    channels : int
        Channels of the result: how many filters there are.
    kernel_size : int or tuple of int
        The length of a window.
    strides : int or tuple of int
        Steps between windows.
    padding : int or tuple of int
        Elements that are cut off at both ends of each axis.
    output_padding : int or tuple of int
        Elements more at the end of each axis: below strides or dilation.
    dilation : int or tuple of int
        Steps between elements of a window.
    groups : int
        How many groups of channels are apart: each group of filters sees its own; it divides both numbers of
        channels.
    layout : str, optional
        "NCW", the default, or "NWC", with channels last.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight. None: those that initialize() is told.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, w2), or as the layout says, with w2 = (w - 1) * strides - 2 * padding +
        dilation * (kernel_size - 1) + 1 + output_padding.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes or channels, groups that do
        not divide the channels, output_padding that is too large, and where nothing is left.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.Conv1DTranspose(4, 2, strides=2)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8))).shape
    (1, 4, 16)
    """

    ndim, layout = 1, "NCW"


class Conv2DTranspose(_ConvTranspose):
    """A transposed convolution of images: each element adds its multiple of a filter to the result; plus a bias.

    The weight's shape is (in_channels, channels / groups, kernel_size...), or with channels last (in_channels,
    kernel_size..., channels / groups); the bias's (channels,).

    Parameters
    ----------
    channels : int
        Channels of the result: how many filters there are.
    kernel_size : int or tuple of int
        The length of a window. One number, or two: one for each axis of space.
    strides : int or tuple of int
        Steps between windows. One number, or two: one for each axis of space.
    padding : int or tuple of int
        Elements that are cut off at both ends of each axis. One number, or two: one for each axis of space.
    output_padding : int or tuple of int
        Elements more at the end of each axis: below strides or dilation. One number, or two: one for each axis
        of space.
    dilation : int or tuple of int
        Steps between elements of a window. One number, or two: one for each axis of space.
    groups : int
        How many groups of channels are apart: each group of filters sees its own; it divides both numbers of
        channels.
    layout : str, optional
        "NCHW", the default, or "NHWC", with channels last.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight. None: those that initialize() is told.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, h2, w2), or as the layout says, with w2 = (w - 1) * strides - 2 * padding +
        dilation * (kernel_size - 1) + 1 + output_padding, and the other axes likewise.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes or channels, groups that do
        not divide the channels, output_padding that is too large, and where nothing is left.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.Conv2DTranspose(4, 2, strides=2)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 4, 16, 16)
    """


class Conv3DTranspose(_ConvTranspose):
    """A transposed convolution of volumes: each element adds its multiple of a filter to the result; plus a bias.

    The weight's shape is (in_channels, channels / groups, kernel_size...), or with channels last (in_channels,
    kernel_size..., channels / groups); the bias's (channels,).

    Parameters
    ----------
    channels : int
        Channels of the result: how many filters there are.
    kernel_size : int or tuple of int
        The length of a window. One number, or three: one for each axis of space.
    strides : int or tuple of int
        Steps between windows. One number, or three: one for each axis of space.
    padding : int or tuple of int
        Elements that are cut off at both ends of each axis. One number, or three: one for each axis of space.
    output_padding : int or tuple of int
        Elements more at the end of each axis: below strides or dilation. One number, or three: one for each
        axis of space.
    dilation : int or tuple of int
        Steps between elements of a window. One number, or three: one for each axis of space.
    groups : int
        How many groups of channels are apart: each group of filters sees its own; it divides both numbers of
        channels.
    layout : str, optional
        "NCDHW", the default, or "NDHWC", with channels last.
    in_channels : int
        Channels of the input; 0: as many as the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    use_bias : bool
        Add a bias.
    weight_initializer : str or Initializer, optional
        First values of the weight. None: those that initialize() is told.
    bias_initializer : str or Initializer
        First values of the bias.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, in_channels, d, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, d2, h2, w2), or as the layout says, with w2 = (w - 1) * strides - 2 * padding
        + dilation * (kernel_size - 1) + 1 + output_padding, and the other axes likewise.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes or channels, groups that do
        not divide the channels, output_padding that is too large, and where nothing is left.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = nn.Conv3DTranspose(4, 2, strides=2)
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8, 8))).shape
    (1, 4, 16, 16, 16)
    """

    ndim, layout = 3, "NCDHW"


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
    """Channels become space: of each group of factor channels one, of sequences that are larger by the factor.

    Parameters
    ----------
    factor : int or tuple of int
        How many times as long an axis becomes.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, factor * channels, w).

    Outputs
    -------
    ndarray
        Of shape (batch, channels, factor * w), and x's dtype.

    Raises
    ------
    ValueError
        For a tuple of another length than 1; and when it is called, for channels that do not make up groups.

    Examples
    --------
    >>> x = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> print(nn.PixelShuffle1D(2)(x))
    [[[1. 3. 2. 4.]]]
    """

    ndim = 1


class PixelShuffle2D(_PixelShuffle):
    """Channels become space: of each group of factor ** 2 channels one, of images that are larger by the factor.

    Parameters
    ----------
    factor : int or tuple of int
        How many times as long an axis becomes. One number, or two: one for each axis of space.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, factor ** 2 * channels, h, w).

    Outputs
    -------
    ndarray
        Of shape (batch, channels, factor * h, factor * w), and x's dtype.

    Raises
    ------
    ValueError
        For a tuple of another length than 2; and when it is called, for channels that do not make up groups.

    Examples
    --------
    >>> net = nn.PixelShuffle2D(2)
    >>> net.initialize()
    >>> net(np.ones((1, 12, 8, 8))).shape
    (1, 3, 16, 16)
    """

    ndim = 2


class PixelShuffle3D(_PixelShuffle):
    """Channels become space: of each group of factor ** 3 channels one, of volumes that are larger by the factor.

    Parameters
    ----------
    factor : int or tuple of int
        How many times as long an axis becomes. One number, or three: one for each axis of space.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, factor ** 3 * channels, d, h, w).

    Outputs
    -------
    ndarray
        Of shape (batch, channels, factor * d, factor * h, factor * w), and x's dtype.

    Raises
    ------
    ValueError
        For a tuple of another length than 3; and when it is called, for channels that do not make up groups.

    Examples
    --------
    >>> net = nn.PixelShuffle3D(2)
    >>> net.initialize()
    >>> net(np.ones((1, 24, 8, 8, 8))).shape
    (1, 3, 16, 16, 16)
    """

    ndim = 3


class ReflectionPad2D(HybridBlock):
    """Images with their mirror images around them; the elements at the edge occur once.

    Parameters
    ----------
    padding : int or tuple of int
        How many elements at each edge: a number, or eight, as MXNet has them, the last four of which count:
        top, bottom, left and right.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, h, w).

    Outputs
    -------
    ndarray
        Of shape (batch, channels, h + top + bottom, w + left + right), and x's dtype.

    Raises
    ------
    ValueError
        For x of other than four axes.

    Examples
    --------
    >>> print(nn.ReflectionPad2D((0, 0, 0, 0, 0, 0, 1, 2))(np.arange(4.0).reshape(1, 1, 1, 4)))
    [[[[1. 0. 1. 2. 3. 2. 1.]]]]
    """

    def __init__(self, padding=0, **kwargs):
        super().__init__(**kwargs)
        self._padding = (padding,) * 4 if isinstance(padding, int) else tuple(padding)[-4:]

    def forward(self, x):
        top, bottom, left, right = self._padding
        return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), mode="reflect")
