"""Layers over whole sequences."""

import math

from dflow import npx
from dflow import numpy as np
from dflow._array.core import is_array
from dflow.gluon.block import HybridBlock
from dflow.gluon.parameter import Packed
from dflow.ops import recurrent
from dflow.ops.nn import check_choice

__all__ = ["GRU", "LSTM", "RNN"]


def __dir__():
    return sorted(__all__)


LAYOUTS = "TNC", "NTC"


def begin(infos, func, ctx, keywords):
    """The states that these are, made by a function of `shape` and `dtype`."""
    keywords = {name: value for name, value in keywords.items() if value is not None}
    states = [func(**{"shape": info["shape"], "dtype": info["dtype"], **keywords}) for info in infos]
    return states if ctx is None else [state.as_in_ctx(ctx) for state in states]


class _RNNLayer(HybridBlock):
    """Layers of so many units (hidden_size), on top of each other; see RNN, LSTM and GRU.

    layout: "TNC", inputs of shape (time, batch, size), or "NTC". dropout: the share of elements that are set to zero
    between layers, in training. bidirectional: each layer goes through time both ways, and has twice the outputs.
    input_size: 0 is found out from the first input. use_sequence_length: sequences have lengths of their own.

    Called with inputs, it gives the outputs of the last layer; with states, too, which begin_state() makes, an array
    of shape (num_layers * directions, batch, hidden_size) or a list of them, also a list of the last states. A third
    argument has the lengths; outputs beyond are 0. ValueError where shapes do not fit.

    Parameters are called l0_i2h_weight (of the input), l0_h2h_weight (of the state), l0_i2h_bias, l0_h2h_bias, then
    l1_...; of the way back r0_... Each has the rows of all gates. All as one, as MXNet 2 has them: rnn_param.
    """

    def __init__(self, mode, hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers, dtype,
                 use_sequence_length, projection_size=None, **kwargs):
        super().__init__(**kwargs)
        check_choice("layout", layout, LAYOUTS)
        self._mode = mode
        self._hidden_size = hidden_size
        self._num_layers = num_layers
        self._layout = layout
        self._dropout = dropout
        self._directions = 2 if bidirectional else 1
        self._projection_size = projection_size
        self._use_sequence_length = use_sequence_length
        self._dtype = np.dtype(dtype)
        self._names = []
        for place in range(num_layers * self._directions):
            shapes = recurrent.weight_shapes(mode, hidden_size, input_size, place, self._directions, projection_size)
            start = f"{'lr'[place % self._directions]}{place // self._directions}_"
            for (name, shape), initializer in zip(shapes.items(), initializers):
                setattr(self, start + name, self.params.get(start + name, shape=shape, dtype=dtype, init=initializer,
                                                            allow_deferred_init=True))
            self._names.append([start + name for name in shapes])

    _packed = ("rnn_param",)

    @property
    def rnn_param(self):
        """All parameters as the one vector that MXNet 2 has.

        Weights of all layers, then biases, in the order of their names.

        Returns
        -------
        Packed
            Its data(), grad() and set_data() are those of the vector.
        """
        return Packed({name: getattr(self, name) for kind in ("weight", "bias") for names in self._names
                       for name in names if kind in name}, self._apart)

    def _apart(self, vector):
        def shapes_of(inputs):
            return [recurrent.weight_shapes(self._mode, self._hidden_size, inputs, place, self._directions,
                                            self._projection_size) for place in range(len(self._names))]

        others, rows = (sum(math.prod(shape) for own in shapes_of(n) for shape in own.values()) for n in (0, 1))
        parts = recurrent.parted(vector, shapes_of((vector.size - others) // (rows - others)))
        return {name: x for names, found in zip(self._names, parts) for name, x in zip(names, found)}

    def infer_shape(self, inputs, *args):
        """Set the shapes of the parameters that depend on the input.

        Parameters
        ----------
        inputs : ndarray
            The first input, as forward() has it.
        *args
            Of forward(); they do not matter.
        """
        for names in self._names[:self._directions]:
            weight = getattr(self, names[0])
            weight.shape = weight.shape[0], inputs.shape[2]

    def cast(self, dtype):
        """Change the type of the parameters, and of the states that begin_state() makes.

        Parameters
        ----------
        dtype : dtype
            The new type.
        """
        super().cast(dtype)
        self._dtype = np.dtype(dtype)

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
        sizes = [self._projection_size or self._hidden_size] + [self._hidden_size] * (self._mode == "lstm")
        return [{"shape": (len(self._names), batch_size, size), "__layout__": "LNC", "dtype": self._dtype}
                for size in sizes]

    def begin_state(self, batch_size=0, func=np.zeros, ctx=None, **kwargs):
        """The states before the first step: zeros, or what a function makes.

        Parameters
        ----------
        batch_size : int
            How many sequences there are.
        func : callable
            Called with shape, dtype and kwargs by name, for each state.
        ctx : Device, optional
            Where they go. None: where func makes them.
        **kwargs
            Further arguments of func; those that are None are left out.

        Returns
        -------
        list of ndarray
        """
        return begin(self.state_info(batch_size), func, ctx, kwargs)

    def forward(self, inputs, states=None, sequence_length=None):
        if not is_array(inputs):
            return self._by_name(inputs, states, sequence_length)
        recurrent.check_sequences(inputs)
        if self._use_sequence_length != (sequence_length is not None):
            raise ValueError(f"sequence_length is {'missing' if sequence_length is None else 'given'}, and "
                             f"use_sequence_length is {self._use_sequence_length}")
        x = inputs.swapaxes(0, 1) if self._layout == "NTC" else inputs
        first = self.begin_state(x.shape[1]) if states is None else [states] if is_array(states) else states
        wanted, found = [info["shape"] for info in self.state_info(x.shape[1])], [state.shape for state in first]
        if found != wanted:
            raise ValueError(f"states must have the shapes {wanted}, not {found}")
        weights = [[getattr(self, name).data() for name in names] for names in self._names]
        y, last = recurrent.layers(self._mode, x, weights, first, self._directions, self._dropout,
                                   recurrent.lengths_of(sequence_length, x.shape[1]))
        y = y.swapaxes(0, 1) if self._layout == "NTC" else y
        return y if states is None else (y, last)

    def _by_name(self, inputs, states, sequence_length):
        """forward() by a function of npx, as export() needs it, for batches of any size."""
        x = inputs.swapaxes(0, 1) if self._layout == "NTC" else inputs
        if states is None:
            ones = np.zeros_like(x[:1, :, :1])
            first = [np.tile(ones, (info["shape"][0], 1, info["shape"][2])) for info in self.state_info()]
        else:
            first = states if isinstance(states, (list, tuple)) else [states]
        y, *last = npx.rnn(x, self.rnn_param.joined(), *first, sequence_length=sequence_length, mode=self._mode,
                           state_size=self._hidden_size, num_layers=self._num_layers, state_outputs=True,
                           bidirectional=self._directions == 2, p=self._dropout, projection_size=self._projection_size,
                           use_sequence_length=self._use_sequence_length)
        y = y.swapaxes(0, 1) if self._layout == "NTC" else y
        return y if states is None else (y, last)

    def __repr__(self):
        text = f"{self.l0_i2h_weight.shape[1]} -> {self._hidden_size}, {self._layout}"
        text += f", num_layers={self._num_layers}" if self._num_layers != 1 else ""
        text += f", dropout={self._dropout}" if self._dropout else ""
        return f"{type(self).__name__}({text}{', bidirectional' if self._directions == 2 else ''})"


class RNN(_RNNLayer):
    """Layers of simple units over sequences: h' = activation(W x + b + V h + d).

    Parameters are called l0_i2h_weight (of the input), l0_h2h_weight (of the state), l0_i2h_bias, l0_h2h_bias,
    then l1_...; of the way back r0_... Each has hidden_size rows for each gate. rnn_param is all of them as one
    vector.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state.
    num_layers : int
        How many layers are on top of each other.
    activation : str
        "relu" or "tanh".
    layout : str
        Of inputs and outputs: "TNC", (time, batch, size), or "NTC".
    dropout : float
        The probability with which elements between layers are set to zero, in training; below 1.
    bidirectional : bool
        Each layer goes through time both ways, and has twice the outputs.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    input_size : int
        Numbers of the input; 0: as many as the first input has.
    dtype : dtype
        Of the parameters and of states.
    use_sequence_length : bool
        Sequences have lengths of their own, with which it is called.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (time, batch, input_size), or as the layout says; at least one step.
    states : ndarray or list of ndarray, optional
        The states before the first step, as begin_state() makes them, each of shape (num_layers * directions,
        batch, hidden_size). None: zeros.
    sequence_length : ndarray, optional
        Of shape (batch,): how many steps each sequence has; with use_sequence_length.

    Outputs
    -------
    output : ndarray
        Of shape (time, batch, directions * hidden_size), or as the layout says. It is 0 beyond the lengths of
        sequences.
    states : list of ndarray
        The states after the last step, only where states are given: [h].

    Raises
    ------
    ValueError
        For another layout or activation; when it is called, for inputs of other than three axes, states of
        other shapes, and lengths that are missing, or given without use_sequence_length.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = rnn.RNN(4, num_layers=2)
    >>> net.initialize()
    >>> net(np.ones((5, 2, 3))).shape
    (5, 2, 4)
    >>> output, states = net(np.ones((5, 2, 3)), net.begin_state(2))
    >>> states[0].shape
    (2, 2, 4)
    """

    def __init__(self, hidden_size, num_layers=1, activation="relu", layout="TNC", dropout=0, bidirectional=False,
                 i2h_weight_initializer=None, h2h_weight_initializer=None, i2h_bias_initializer="zeros",
                 h2h_bias_initializer="zeros", input_size=0, dtype="float32", use_sequence_length=False, **kwargs):
        check_choice("activation", activation, ("relu", "tanh"))
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(f"rnn_{activation}", hidden_size, num_layers, layout, dropout, bidirectional, input_size,
                         initializers, dtype, use_sequence_length, **kwargs)


class LSTM(_RNNLayer):
    """Layers of long short-term memory over sequences: c' = f * c + i * g and h' = o * tanh(c').

    Four gates of W x + b + V h + d: i, f, g and o, in this order in the rows of the weights. i, f and o are
    sigmoids, g is a tanh. The states are h and c. With a projection_size h' is P (o * tanh(c')), with P called
    h2r_weight.

    Parameters are called l0_i2h_weight (of the input), l0_h2h_weight (of the state), l0_i2h_bias, l0_h2h_bias,
    then l1_...; of the way back r0_... Each has hidden_size rows for each gate. rnn_param is all of them as one
    vector.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state.
    num_layers : int
        How many layers are on top of each other.
    layout : str
        Of inputs and outputs: "TNC", (time, batch, size), or "NTC".
    dropout : float
        The probability with which elements between layers are set to zero, in training; below 1.
    bidirectional : bool
        Each layer goes through time both ways, and has twice the outputs.
    input_size : int
        Numbers of the input; 0: as many as the first input has.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    projection_size : int, optional
        Numbers that it shows of its state. None: all.
    h2r_weight_initializer : str or Initializer, optional
        First values of the projection. None: those that initialize() is told.
    dtype : dtype
        Of the parameters and of states.
    use_sequence_length : bool
        Sequences have lengths of their own, with which it is called.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (time, batch, input_size), or as the layout says; at least one step.
    states : list of ndarray, optional
        The states before the first step, as begin_state() makes them, each of shape (num_layers * directions,
        batch, hidden_size), h with a projection_size in place of hidden_size. None: zeros.
    sequence_length : ndarray, optional
        Of shape (batch,): how many steps each sequence has; with use_sequence_length.

    Outputs
    -------
    output : ndarray
        Of shape (time, batch, directions * hidden_size), or as the layout says; with a projection_size that is
        in place of hidden_size. It is 0 beyond the lengths of sequences.
    states : list of ndarray
        The states after the last step, only where states are given: [h, c].

    Raises
    ------
    ValueError
        For another layout; when it is called, for inputs of other than three axes, states of other shapes, and
        lengths that are missing, or given without use_sequence_length.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = rnn.LSTM(4, num_layers=2, bidirectional=True)
    >>> net.initialize()
    >>> output, (h, c) = net(np.ones((5, 2, 3)), net.begin_state(2))
    >>> output.shape, h.shape, c.shape
    ((5, 2, 8), (4, 2, 4), (4, 2, 4))
    """

    def __init__(self, hidden_size, num_layers=1, layout="TNC", dropout=0, bidirectional=False, input_size=0,
                 i2h_weight_initializer=None, h2h_weight_initializer=None, i2h_bias_initializer="zeros",
                 h2h_bias_initializer="zeros", projection_size=None, h2r_weight_initializer=None, dtype="float32",
                 use_sequence_length=False, **kwargs):
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
                        h2r_weight_initializer)
        super().__init__("lstm", hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers,
                         dtype, use_sequence_length, projection_size, **kwargs)


class GRU(_RNNLayer):
    """Layers of gated recurrent units over sequences: h' = (1 - z) * n + z * h.

    n = tanh(W x + b + r * (V h + d)); r and z are sigmoids of W x + b + V h + d. The rows of the weights are
    those of r, z and n, in this order.

    Parameters are called l0_i2h_weight (of the input), l0_h2h_weight (of the state), l0_i2h_bias, l0_h2h_bias,
    then l1_...; of the way back r0_... Each has hidden_size rows for each gate. rnn_param is all of them as one
    vector.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state.
    num_layers : int
        How many layers are on top of each other.
    layout : str
        Of inputs and outputs: "TNC", (time, batch, size), or "NTC".
    dropout : float
        The probability with which elements between layers are set to zero, in training; below 1.
    bidirectional : bool
        Each layer goes through time both ways, and has twice the outputs.
    input_size : int
        Numbers of the input; 0: as many as the first input has.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    dtype : dtype
        Of the parameters and of states.
    use_sequence_length : bool
        Sequences have lengths of their own, with which it is called.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (time, batch, input_size), or as the layout says; at least one step.
    states : ndarray or list of ndarray, optional
        The states before the first step, as begin_state() makes them, each of shape (num_layers * directions,
        batch, hidden_size). None: zeros.
    sequence_length : ndarray, optional
        Of shape (batch,): how many steps each sequence has; with use_sequence_length.

    Outputs
    -------
    output : ndarray
        Of shape (time, batch, directions * hidden_size), or as the layout says. It is 0 beyond the lengths of
        sequences.
    states : list of ndarray
        The states after the last step, only where states are given: [h].

    Raises
    ------
    ValueError
        For another layout; when it is called, for inputs of other than three axes, states of other shapes, and
        lengths that are missing, or given without use_sequence_length.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> net = rnn.GRU(4, layout="NTC", use_sequence_length=True)
    >>> net.initialize()
    >>> output = net(np.ones((2, 5, 3)), None, np.array([5, 1]))
    >>> output.shape, bool((output[1, 1:] == 0).all())
    ((2, 5, 4), True)
    """

    def __init__(self, hidden_size, num_layers=1, layout="TNC", dropout=0, bidirectional=False, input_size=0,
                 i2h_weight_initializer=None, h2h_weight_initializer=None, i2h_bias_initializer="zeros",
                 h2h_bias_initializer="zeros", dtype="float32", use_sequence_length=False, **kwargs):
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__("gru", hidden_size, num_layers, layout, dropout, bidirectional, input_size, initializers,
                         dtype, use_sequence_length, **kwargs)
