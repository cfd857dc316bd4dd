"""Pooling: the largest or the mean of windows, along one to three axes of space."""

from dflow import npx
from dflow.gluon.block import HybridBlock

__all__ = ["AvgPool1D", "AvgPool2D", "AvgPool3D", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D",
           "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D", "MaxPool1D", "MaxPool2D", "MaxPool3D"]


def __dir__():
    return sorted(__all__)


def numbers(value, n):
    """One number for each of n axes; one alone is for all."""
    return (value,) * n if isinstance(value, int) else tuple(value)


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
        kernel = numbers(pool_size, self.ndim)
        self._arguments = {
            "kernel": kernel, "stride": kernel if strides is None else numbers(strides, self.ndim),
            "pad": numbers(padding, self.ndim), "pooling_convention": "full" if ceil_mode else "valid",
            "count_include_pad": count_include_pad, "layout": layout or self.layout}

    def forward(self, x):
        return npx.pooling(x, pool_type=self.pool_type, **self._arguments)

    def __repr__(self):
        found = self._arguments
        return (f"{type(self).__name__}(size={found['kernel']}, stride={found['stride']}, padding={found['pad']}, "
                f"ceil_mode={found['pooling_convention'] == 'full'}, pool_type={self.pool_type})")


class MaxPool1D(_Pooling):
    """The largest element of each window of sequences, of each channel.

    Parameters
    ----------
    pool_size : int or tuple of int
        The length of a window.
    strides : int or tuple of int, optional
        Steps between windows. None: the pool_size.
    padding : int or tuple of int
        Elements at both ends of each axis, which are below any other.
    layout : str, optional
        "NCW", the default, or "NWC", with channels last.
    ceil_mode : bool
        A last window may reach beyond the padding: the result's length is rounded up.
    count_include_pad : bool
        For AvgPool1D; it changes nothing here.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, w2), or as the layout says, with w2 = (w + 2 * padding - pool_size) //
        strides + 1. Of x's dtype.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes, padding that is not below
        pool_size, and a window that is longer than the padded input.

    Examples
    --------
    >>> print(nn.MaxPool1D(3, strides=2)(np.array([[[1.0, 3.0, 2.0, 0.0, 4.0]]])))
    [[[3. 4.]]]
    """

    ndim, layout = 1, "NCW"


class MaxPool2D(_Pooling):
    """The largest element of each window of images, of each channel.

    Parameters
    ----------
    pool_size : int or tuple of int
        The length of a window. One number, or two: one for each axis of space.
    strides : int or tuple of int, optional
        Steps between windows. None: the pool_size. One number, or two: one for each axis of space.
    padding : int or tuple of int
        Elements at both ends of each axis, which are below any other. One number, or two: one for each axis of
        space.
    layout : str, optional
        "NCHW", the default, or "NHWC", with channels last.
    ceil_mode : bool
        A last window may reach beyond the padding: the result's length is rounded up.
    count_include_pad : bool
        For AvgPool2D; it changes nothing here.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, h2, w2), or as the layout says, with w2 = (w + 2 * padding - pool_size) //
        strides + 1, and the other axes likewise. Of x's dtype.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes, padding that is not below
        pool_size, and a window that is longer than the padded input.

    Examples
    --------
    >>> net = nn.MaxPool2D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """


class MaxPool3D(_Pooling):
    """The largest element of each window of volumes, of each channel.

    Parameters
    ----------
    pool_size : int or tuple of int
        The length of a window. One number, or three: one for each axis of space.
    strides : int or tuple of int, optional
        Steps between windows. None: the pool_size. One number, or three: one for each axis of space.
    padding : int or tuple of int
        Elements at both ends of each axis, which are below any other. One number, or three: one for each axis
        of space.
    layout : str, optional
        "NCDHW", the default, or "NDHWC", with channels last.
    ceil_mode : bool
        A last window may reach beyond the padding: the result's length is rounded up.
    count_include_pad : bool
        For AvgPool3D; it changes nothing here.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, d, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, d2, h2, w2), or as the layout says, with w2 = (w + 2 * padding - pool_size)
        // strides + 1, and the other axes likewise. Of x's dtype.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes, padding that is not below
        pool_size, and a window that is longer than the padded input.

    Examples
    --------
    >>> net = nn.MaxPool3D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    ndim, layout = 3, "NCDHW"


class AvgPool1D(MaxPool1D):
    """The mean of each window of sequences, of each channel.

    Parameters
    ----------
    pool_size : int or tuple of int
        The length of a window.
    strides : int or tuple of int, optional
        Steps between windows. None: the pool_size.
    padding : int or tuple of int
        Elements at both ends of each axis, which are zeros.
    layout : str, optional
        "NCW", the default, or "NWC", with channels last.
    ceil_mode : bool
        A last window may reach beyond the padding: the result's length is rounded up.
    count_include_pad : bool
        Padding counts for the mean, too.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, w2), or as the layout says, with w2 = (w + 2 * padding - pool_size) //
        strides + 1. Of x's dtype, or float64 for integers.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes, padding that is not below
        pool_size, and a window that is longer than the padded input.

    Examples
    --------
    >>> x = np.array([[[1.0, 3.0, 2.0, 0.0]]])
    >>> print(nn.AvgPool1D()(x))
    [[[2. 1.]]]
    >>> print(nn.AvgPool1D(padding=1)(x))
    [[[0.5 2.5 0. ]]]
    >>> print(nn.AvgPool1D(padding=1, count_include_pad=False)(x))
    [[[1.  2.5 0. ]]]
    """

    pool_type = "avg"


class AvgPool2D(MaxPool2D):
    """The mean of each window of images, of each channel.

    Parameters
    ----------
    pool_size : int or tuple of int
        The length of a window. One number, or two: one for each axis of space.
    strides : int or tuple of int, optional
        Steps between windows. None: the pool_size. One number, or two: one for each axis of space.
    padding : int or tuple of int
        Elements at both ends of each axis, which are zeros. One number, or two: one for each axis of space.
    layout : str, optional
        "NCHW", the default, or "NHWC", with channels last.
    ceil_mode : bool
        A last window may reach beyond the padding: the result's length is rounded up.
    count_include_pad : bool
        Padding counts for the mean, too.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, h2, w2), or as the layout says, with w2 = (w + 2 * padding - pool_size) //
        strides + 1, and the other axes likewise. Of x's dtype, or float64 for integers.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes, padding that is not below
        pool_size, and a window that is longer than the padded input.

    Examples
    --------
    >>> net = nn.AvgPool2D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

    pool_type = "avg"


class AvgPool3D(MaxPool3D):
    """The mean of each window of volumes, of each channel.

    Parameters
    ----------
    pool_size : int or tuple of int
        The length of a window. One number, or three: one for each axis of space.
    strides : int or tuple of int, optional
        Steps between windows. None: the pool_size. One number, or three: one for each axis of space.
    padding : int or tuple of int
        Elements at both ends of each axis, which are zeros. One number, or three: one for each axis of space.
    layout : str, optional
        "NCDHW", the default, or "NDHWC", with channels last.
    ceil_mode : bool
        A last window may reach beyond the padding: the result's length is rounded up.
    count_include_pad : bool
        Padding counts for the mean, too.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, d, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, d2, h2, w2), or as the layout says, with w2 = (w + 2 * padding - pool_size)
        // strides + 1, and the other axes likewise. Of x's dtype, or float64 for integers.

    Raises
    ------
    ValueError
        When it is called: for another layout, an input of another number of axes, padding that is not below
        pool_size, and a window that is longer than the padded input.

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
    """The largest element of each channel of sequences.

    Parameters
    ----------
    layout : str, optional
        "NCW", the default, or "NWC", with channels last.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, 1), or as the layout says.

    Raises
    ------
    ValueError
        When it is called: for another layout, and an input of another number of axes.

    Examples
    --------
    >>> net = nn.GlobalMaxPool1D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8))).shape
    (1, 3, 1)
    """

    layout = "NCW"


class GlobalMaxPool2D(_GlobalPooling):
    """The largest element of each channel of images.

    Parameters
    ----------
    layout : str, optional
        "NCHW", the default, or "NHWC", with channels last.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, 1, 1), or as the layout says.

    Raises
    ------
    ValueError
        When it is called: for another layout, and an input of another number of axes.

    Examples
    --------
    >>> net = nn.GlobalMaxPool2D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8))).shape
    (1, 3, 1, 1)
    """


class GlobalMaxPool3D(_GlobalPooling):
    """The largest element of each channel of volumes.

    Parameters
    ----------
    layout : str, optional
        "NCDHW", the default, or "NDHWC", with channels last.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, d, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, 1, 1, 1), or as the layout says.

    Raises
    ------
    ValueError
        When it is called: for another layout, and an input of another number of axes.

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
        "NCW", the default, or "NWC", with channels last.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, 1), or as the layout says. Of x's dtype, or float64 for integers.

    Raises
    ------
    ValueError
        When it is called: for another layout, and an input of another number of axes.

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
        "NCHW", the default, or "NHWC", with channels last.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, 1, 1), or as the layout says. Of x's dtype, or float64 for integers.

    Raises
    ------
    ValueError
        When it is called: for another layout, and an input of another number of axes.

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
        "NCDHW", the default, or "NDHWC", with channels last.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x : ndarray
        Of shape (batch, channels, d, h, w), or as the layout says.

    Outputs
    -------
    ndarray
        Of shape (batch, channels, 1, 1, 1), or as the layout says. Of x's dtype, or float64 for integers.

    Raises
    ------
    ValueError
        When it is called: for another layout, and an input of another number of axes.

    Examples
    --------
    >>> net = nn.GlobalAvgPool3D()
    >>> net.initialize()
    >>> net(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 1, 1, 1)
    """

    pool_type = "avg"
