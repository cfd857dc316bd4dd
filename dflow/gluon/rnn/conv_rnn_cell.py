"""Cells whose inputs and states are images, with convolutions in place of matrix products."""

from dflow import npx
from dflow.gluon.rnn.rnn_cell import GRUCell, HybridRecurrentCell, LSTMCell, RNNCell

__all__ = ["Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell", "Conv2DLSTMCell", "Conv2DRNNCell",
           "Conv3DGRUCell", "Conv3DLSTMCell", "Conv3DRNNCell"]


def __dir__():
    return sorted(__all__)


LAYOUTS = "NCW", "NCHW", "NCDHW"


def _each(x, n, name):
    """A number for each of n axes, of one for all or of as many."""
    found = (x,) * n if isinstance(x, int) else tuple(x)
    if len(found) != n:
        raise ValueError(f"{name} must be one number or {n}, not {x!r}")
    return found


class _Convolving:
    """What the cells below have in place of hidden_size and matrices, with one to three spatial axes (_dims).

    input_shape: of an input without the batch; its channels may be 0 or -1: they are found out from the first input.
    The state has hidden_channels and the shape of the convolved input; h2h_kernel is odd, so that it keeps that.
    conv_layout: with C first or last, as in nn.Conv2D.
    """

    _dims = 0

    def __init__(self, input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad=0, i2h_dilate=1, h2h_dilate=1,
                 i2h_weight_initializer=None, h2h_weight_initializer=None, i2h_bias_initializer="zeros",
                 h2h_bias_initializer="zeros", conv_layout=None, activation="tanh", dtype="float32", **kwargs):
        HybridRecurrentCell.__init__(self, **kwargs)
        n = self._dims
        i2h, h2h = _each(i2h_kernel, n, "i2h_kernel"), _each(h2h_kernel, n, "h2h_kernel")
        dilate, own_dilate = _each(i2h_dilate, n, "i2h_dilate"), _each(h2h_dilate, n, "h2h_dilate")
        pad = _each(i2h_pad, n, "i2h_pad")
        if not all(k % 2 for k in h2h):
            raise ValueError(f"h2h_kernel must be odd, not {h2h_kernel!r}")
        self._layout = LAYOUTS[n - 1] if conv_layout is None else conv_layout
        self._last = self._layout[-1] == "C"
        self._split_axis = -1 if self._last else 1
        *space, channels = input_shape if self._last else (*input_shape[1:], input_shape[0])
        self._space = tuple(x + 2 * p - d * (k - 1) for x, k, p, d in zip(space, i2h, pad, dilate, strict=True))
        self._hidden_size = hidden_channels
        self._i2h = {"kernel": i2h, "pad": pad, "dilate": dilate}
        self._h2h = {"kernel": h2h, "pad": tuple(d * (k // 2) for k, d in zip(h2h, own_dilate)), "dilate": own_dilate}
        self._activate(activation, "sigmoid")
        rows = self.gates * hidden_channels
        self.i2h_weight = self._made("i2h_weight", self._shaped(rows, i2h, max(channels, 0)), dtype,
                                     i2h_weight_initializer)
        self.h2h_weight = self._made("h2h_weight", self._shaped(rows, h2h, hidden_channels), dtype,
                                     h2h_weight_initializer)
        self.i2h_bias = self._made("i2h_bias", (rows,), dtype, i2h_bias_initializer)
        self.h2h_bias = self._made("h2h_bias", (rows,), dtype, h2h_bias_initializer)

    def _shaped(self, first, space, channels):
        return (first, *space, channels) if self._last else (first, channels, *space)

    def infer_shape(self, i, x, is_bidirect):
        """Set the shapes of parameters that depend on the input, as the first call does.

        Parameters
        ----------
        i : int
            The place of the cell among several on top of each other; others than the first find out from their
            first input.
        x : ndarray
            The first input.
        is_bidirect : bool
            MXNet's; it changes nothing.
        """
        if i == 0:
            channels = x.shape[-1 if self._last else -1 - self._dims]
            self.i2h_weight.shape = self._shaped(self.i2h_weight.shape[0], self._i2h["kernel"], channels)

    def state_info(self, batch_size=0):
        """Of each state the shape, the meaning of its axes, and the type.

        Parameters
        ----------
        batch_size : int
            How many sequences there are.

        Returns
        -------
        list of dict
            With "shape", "dtype" and "__layout__", letters for the axes.
        """
        info = {"shape": self._shaped(batch_size, self._space, self._hidden_size), "__layout__": self._layout,
                "dtype": self.i2h_weight.dtype}
        return [info] * self.states

    def _given(self, inputs, h):
        return [npx.convolution(x, weight.data(), bias.data(), num_filter=weight.shape[0], layout=self._layout, **how)
                for x, weight, bias, how in ((inputs, self.i2h_weight, self.i2h_bias, self._i2h),
                                             (h, self.h2h_weight, self.h2h_bias, self._h2h))]


class Conv1DRNNCell(_Convolving, RNNCell):
    """One step of RNN whose inputs and states are sequences, with convolutions in place of products.

    h' = activation(W x + b + V h + d). The state has hidden_channels, and the size that a convolution of the
    input gives: w2 = w + 2 * i2h_pad - i2h_dilate * (i2h_kernel - 1). The state's own convolution keeps it.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, w) of the input, or with channels last (w, channels). Channels of 0: as many as the first
        input has.
    hidden_channels : int
        Channels of the state, and of the output.
    i2h_kernel : int or tuple of int
        The length of the input's window.
    h2h_kernel : int or tuple of int
        The length of the state's window: odd.
    i2h_pad : int or tuple of int
        Zeros at both ends of the input.
    i2h_dilate : int or tuple of int
        Steps within the input's window.
    h2h_dilate : int or tuple of int
        Steps within the state's window.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    conv_layout : str, optional
        "NCW", the default, or "NWC", with channels last.
    activation : str or callable
        A function by its name, as of nn.Activation, or one of arrays.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, channels, w), or as the layout says.
    states : list of ndarray
        [h], of shape (batch, hidden_channels, w2).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_channels, w2): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        For kernels, pads and dilations that are not as many as the axes of space, and an h2h_kernel that is
        even; when it is called, for inputs or states of other shapes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.Conv1DRNNCell((3, 8), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3, 8)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 8)
    """

    _dims = 1


class Conv2DRNNCell(_Convolving, RNNCell):
    """One step of RNN whose inputs and states are images, with convolutions in place of products.

    h' = activation(W x + b + V h + d). The state has hidden_channels, and the size that a convolution of the
    input gives: w2 = w + 2 * i2h_pad - i2h_dilate * (i2h_kernel - 1), and the other axes likewise. The state's
    own convolution keeps it.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, h, w) of the input, or with channels last (h, w, channels). Channels of 0: as many as the
        first input has.
    hidden_channels : int
        Channels of the state, and of the output.
    i2h_kernel : int or tuple of int
        The length of the input's window. One number, or two.
    h2h_kernel : int or tuple of int
        The length of the state's window: odd. One number, or two.
    i2h_pad : int or tuple of int
        Zeros at both ends of the input. One number, or two.
    i2h_dilate : int or tuple of int
        Steps within the input's window. One number, or two.
    h2h_dilate : int or tuple of int
        Steps within the state's window. One number, or two.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    conv_layout : str, optional
        "NCHW", the default, or "NHWC", with channels last.
    activation : str or callable
        A function by its name, as of nn.Activation, or one of arrays.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, channels, h, w), or as the layout says.
    states : list of ndarray
        [h], of shape (batch, hidden_channels, h2, w2).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_channels, h2, w2): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        For kernels, pads and dilations that are not as many as the axes of space, and an h2h_kernel that is
        even; when it is called, for inputs or states of other shapes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.Conv2DRNNCell((3, 8, 8), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3, 8, 8)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 8, 8)
    """

    _dims = 2


class Conv3DRNNCell(_Convolving, RNNCell):
    """One step of RNN whose inputs and states are volumes, with convolutions in place of products.

    h' = activation(W x + b + V h + d). The state has hidden_channels, and the size that a convolution of the
    input gives: w2 = w + 2 * i2h_pad - i2h_dilate * (i2h_kernel - 1), and the other axes likewise. The state's
    own convolution keeps it.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, d, h, w) of the input, or with channels last (d, h, w, channels). Channels of 0: as many as
        the first input has.
    hidden_channels : int
        Channels of the state, and of the output.
    i2h_kernel : int or tuple of int
        The length of the input's window. One number, or three.
    h2h_kernel : int or tuple of int
        The length of the state's window: odd. One number, or three.
    i2h_pad : int or tuple of int
        Zeros at both ends of the input. One number, or three.
    i2h_dilate : int or tuple of int
        Steps within the input's window. One number, or three.
    h2h_dilate : int or tuple of int
        Steps within the state's window. One number, or three.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    conv_layout : str, optional
        "NCDHW", the default, or "NDHWC", with channels last.
    activation : str or callable
        A function by its name, as of nn.Activation, or one of arrays.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, channels, d, h, w), or as the layout says.
    states : list of ndarray
        [h], of shape (batch, hidden_channels, d2, h2, w2).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_channels, d2, h2, w2): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        For kernels, pads and dilations that are not as many as the axes of space, and an h2h_kernel that is
        even; when it is called, for inputs or states of other shapes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.Conv3DRNNCell((3, 8, 8, 8), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3, 8, 8, 8)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 8, 8, 8)
    """

    _dims = 3


class Conv1DLSTMCell(_Convolving, LSTMCell):
    """One step of LSTM whose inputs and states are sequences, with convolutions in place of products.

    c' = f * c + i * g and h' = o * tanh(c'). See rnn.LSTM for the gates. The state has hidden_channels, and the
    size that a convolution of the input gives: w2 = w + 2 * i2h_pad - i2h_dilate * (i2h_kernel - 1). The state's
    own convolution keeps it.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, w) of the input, or with channels last (w, channels). Channels of 0: as many as the first
        input has.
    hidden_channels : int
        Channels of the state, and of the output.
    i2h_kernel : int or tuple of int
        The length of the input's window.
    h2h_kernel : int or tuple of int
        The length of the state's window: odd.
    i2h_pad : int or tuple of int
        Zeros at both ends of the input.
    i2h_dilate : int or tuple of int
        Steps within the input's window.
    h2h_dilate : int or tuple of int
        Steps within the state's window.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    conv_layout : str, optional
        "NCW", the default, or "NWC", with channels last.
    activation : str or callable
        In place of tanh: a function by its name, as of nn.Activation, or one of arrays.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, channels, w), or as the layout says.
    states : list of ndarray
        [h, c], each of shape (batch, hidden_channels, w2).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_channels, w2): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        For kernels, pads and dilations that are not as many as the axes of space, and an h2h_kernel that is
        even; when it is called, for inputs or states of other shapes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.Conv1DLSTMCell((3, 8), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3, 8)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 8)
    """

    _dims = 1


class Conv2DLSTMCell(_Convolving, LSTMCell):
    """One step of LSTM whose inputs and states are images, with convolutions in place of products.

    c' = f * c + i * g and h' = o * tanh(c'). See rnn.LSTM for the gates. The state has hidden_channels, and the
    size that a convolution of the input gives: w2 = w + 2 * i2h_pad - i2h_dilate * (i2h_kernel - 1), and the
    other axes likewise. The state's own convolution keeps it.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, h, w) of the input, or with channels last (h, w, channels). Channels of 0: as many as the
        first input has.
    hidden_channels : int
        Channels of the state, and of the output.
    i2h_kernel : int or tuple of int
        The length of the input's window. One number, or two.
    h2h_kernel : int or tuple of int
        The length of the state's window: odd. One number, or two.
    i2h_pad : int or tuple of int
        Zeros at both ends of the input. One number, or two.
    i2h_dilate : int or tuple of int
        Steps within the input's window. One number, or two.
    h2h_dilate : int or tuple of int
        Steps within the state's window. One number, or two.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    conv_layout : str, optional
        "NCHW", the default, or "NHWC", with channels last.
    activation : str or callable
        In place of tanh: a function by its name, as of nn.Activation, or one of arrays.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, channels, h, w), or as the layout says.
    states : list of ndarray
        [h, c], each of shape (batch, hidden_channels, h2, w2).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_channels, h2, w2): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        For kernels, pads and dilations that are not as many as the axes of space, and an h2h_kernel that is
        even; when it is called, for inputs or states of other shapes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.Conv2DLSTMCell((3, 8, 8), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3, 8, 8)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 8, 8)
    """

    _dims = 2


class Conv3DLSTMCell(_Convolving, LSTMCell):
    """One step of LSTM whose inputs and states are volumes, with convolutions in place of products.

    c' = f * c + i * g and h' = o * tanh(c'). See rnn.LSTM for the gates. The state has hidden_channels, and the
    size that a convolution of the input gives: w2 = w + 2 * i2h_pad - i2h_dilate * (i2h_kernel - 1), and the
    other axes likewise. The state's own convolution keeps it.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, d, h, w) of the input, or with channels last (d, h, w, channels). Channels of 0: as many as
        the first input has.
    hidden_channels : int
        Channels of the state, and of the output.
    i2h_kernel : int or tuple of int
        The length of the input's window. One number, or three.
    h2h_kernel : int or tuple of int
        The length of the state's window: odd. One number, or three.
    i2h_pad : int or tuple of int
        Zeros at both ends of the input. One number, or three.
    i2h_dilate : int or tuple of int
        Steps within the input's window. One number, or three.
    h2h_dilate : int or tuple of int
        Steps within the state's window. One number, or three.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    conv_layout : str, optional
        "NCDHW", the default, or "NDHWC", with channels last.
    activation : str or callable
        In place of tanh: a function by its name, as of nn.Activation, or one of arrays.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, channels, d, h, w), or as the layout says.
    states : list of ndarray
        [h, c], each of shape (batch, hidden_channels, d2, h2, w2).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_channels, d2, h2, w2): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        For kernels, pads and dilations that are not as many as the axes of space, and an h2h_kernel that is
        even; when it is called, for inputs or states of other shapes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.Conv3DLSTMCell((3, 8, 8, 8), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3, 8, 8, 8)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 8, 8, 8)
    """

    _dims = 3


class Conv1DGRUCell(_Convolving, GRUCell):
    """One step of GRU whose inputs and states are sequences, with convolutions in place of products.

    h' = (1 - z) * n + z * h. See rnn.GRU for the gates. The state has hidden_channels, and the size that a
    convolution of the input gives: w2 = w + 2 * i2h_pad - i2h_dilate * (i2h_kernel - 1). The state's own
    convolution keeps it.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, w) of the input, or with channels last (w, channels). Channels of 0: as many as the first
        input has.
    hidden_channels : int
        Channels of the state, and of the output.
    i2h_kernel : int or tuple of int
        The length of the input's window.
    h2h_kernel : int or tuple of int
        The length of the state's window: odd.
    i2h_pad : int or tuple of int
        Zeros at both ends of the input.
    i2h_dilate : int or tuple of int
        Steps within the input's window.
    h2h_dilate : int or tuple of int
        Steps within the state's window.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    conv_layout : str, optional
        "NCW", the default, or "NWC", with channels last.
    activation : str or callable
        In place of tanh: a function by its name, as of nn.Activation, or one of arrays.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, channels, w), or as the layout says.
    states : list of ndarray
        [h], of shape (batch, hidden_channels, w2).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_channels, w2): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        For kernels, pads and dilations that are not as many as the axes of space, and an h2h_kernel that is
        even; when it is called, for inputs or states of other shapes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.Conv1DGRUCell((3, 8), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3, 8)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 8)
    """

    _dims = 1


class Conv2DGRUCell(_Convolving, GRUCell):
    """One step of GRU whose inputs and states are images, with convolutions in place of products.

    h' = (1 - z) * n + z * h. See rnn.GRU for the gates. The state has hidden_channels, and the size that a
    convolution of the input gives: w2 = w + 2 * i2h_pad - i2h_dilate * (i2h_kernel - 1), and the other axes
    likewise. The state's own convolution keeps it.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, h, w) of the input, or with channels last (h, w, channels). Channels of 0: as many as the
        first input has.
    hidden_channels : int
        Channels of the state, and of the output.
    i2h_kernel : int or tuple of int
        The length of the input's window. One number, or two.
    h2h_kernel : int or tuple of int
        The length of the state's window: odd. One number, or two.
    i2h_pad : int or tuple of int
        Zeros at both ends of the input. One number, or two.
    i2h_dilate : int or tuple of int
        Steps within the input's window. One number, or two.
    h2h_dilate : int or tuple of int
        Steps within the state's window. One number, or two.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    conv_layout : str, optional
        "NCHW", the default, or "NHWC", with channels last.
    activation : str or callable
        In place of tanh: a function by its name, as of nn.Activation, or one of arrays.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, channels, h, w), or as the layout says.
    states : list of ndarray
        [h], of shape (batch, hidden_channels, h2, w2).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_channels, h2, w2): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        For kernels, pads and dilations that are not as many as the axes of space, and an h2h_kernel that is
        even; when it is called, for inputs or states of other shapes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.Conv2DGRUCell((3, 8, 8), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3, 8, 8)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 8, 8)
    """

    _dims = 2


class Conv3DGRUCell(_Convolving, GRUCell):
    """One step of GRU whose inputs and states are volumes, with convolutions in place of products.

    h' = (1 - z) * n + z * h. See rnn.GRU for the gates. The state has hidden_channels, and the size that a
    convolution of the input gives: w2 = w + 2 * i2h_pad - i2h_dilate * (i2h_kernel - 1), and the other axes
    likewise. The state's own convolution keeps it.

    Parameters
    ----------
    input_shape : tuple of int
        (channels, d, h, w) of the input, or with channels last (d, h, w, channels). Channels of 0: as many as
        the first input has.
    hidden_channels : int
        Channels of the state, and of the output.
    i2h_kernel : int or tuple of int
        The length of the input's window. One number, or three.
    h2h_kernel : int or tuple of int
        The length of the state's window: odd. One number, or three.
    i2h_pad : int or tuple of int
        Zeros at both ends of the input. One number, or three.
    i2h_dilate : int or tuple of int
        Steps within the input's window. One number, or three.
    h2h_dilate : int or tuple of int
        Steps within the state's window. One number, or three.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    conv_layout : str, optional
        "NCDHW", the default, or "NDHWC", with channels last.
    activation : str or callable
        In place of tanh: a function by its name, as of nn.Activation, or one of arrays.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, channels, d, h, w), or as the layout says.
    states : list of ndarray
        [h], of shape (batch, hidden_channels, d2, h2, w2).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_channels, d2, h2, w2): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        For kernels, pads and dilations that are not as many as the axes of space, and an h2h_kernel that is
        even; when it is called, for inputs or states of other shapes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.Conv3DGRUCell((3, 8, 8, 8), 4, 3, 3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3, 8, 8, 8)), cell.begin_state(2))
    >>> output.shape
    (2, 4, 8, 8, 8)
    """

    _dims = 3
