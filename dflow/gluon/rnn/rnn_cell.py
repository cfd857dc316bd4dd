"""Cells: one step of a recurrent network, with gates; cells of cells, and what modifies another one."""

from dflow import npx
from dflow import numpy as np
from dflow._tracing.trace import refuse_to_replay
from dflow.gluon.nn.activations import Activation
from dflow.gluon.rnn.base_cell import HybridRecurrentCell, RecurrentCell, dynamic_unroll, joined, parts_of
from dflow.ops import recurrent

__all__ = ["BidirectionalCell", "DropoutCell", "GRUCell", "HybridRecurrentCell", "HybridSequentialRNNCell", "LSTMCell",
           "LSTMPCell", "ModifierCell", "RNNCell", "RecurrentCell", "ResidualCell", "SequentialRNNCell",
           "VariationalDropoutCell", "ZoneoutCell", "dynamic_unroll"]


def __dir__():
    return sorted(__all__)


class _Cell(HybridRecurrentCell):
    """A cell with gates: i2h_weight and i2h_bias for the input, h2h_weight and h2h_bias for the state.

    input_size: 0 is found out from the first input. Each parameter has hidden_size rows for each gate.
    """

    gates = states = 1
    _split_axis = -1            # of the gates
    _projection_size = None     # of the first state, where it is not hidden_size

    def __init__(self, hidden_size, i2h_weight_initializer=None, h2h_weight_initializer=None,
                 i2h_bias_initializer="zeros", h2h_bias_initializer="zeros", input_size=0, activation="tanh",
                 recurrent_activation="sigmoid", dtype="float32", **kwargs):
        super().__init__(**kwargs)
        self._hidden_size = hidden_size
        self._activate(activation, recurrent_activation)
        rows = self.gates * hidden_size
        self.i2h_weight = self._made("i2h_weight", (rows, input_size), dtype, i2h_weight_initializer)
        shown = self._projection_size or hidden_size
        self.h2h_weight = self._made("h2h_weight", (rows, shown), dtype, h2h_weight_initializer)
        self.i2h_bias = self._made("i2h_bias", (rows,), dtype, i2h_bias_initializer)
        self.h2h_bias = self._made("h2h_bias", (rows,), dtype, h2h_bias_initializer)

    def _activate(self, activation, recurrent_activation):
        self._activation = Activation(activation) if isinstance(activation, str) else activation
        self._recurrent_activation = Activation(recurrent_activation)

    def _made(self, name, shape, dtype, initializer):
        return self.params.get(name, shape=shape, dtype=dtype, init=initializer, allow_deferred_init=True)

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
            self.i2h_weight.shape = self.i2h_weight.shape[0], x.shape[-1]

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
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC", "dtype": self.i2h_weight.dtype}
                ] * self.states

    def _given(self, inputs, h):
        """What the input and the state give to the gates."""
        return (npx.fully_connected(inputs, self.i2h_weight.data(), self.i2h_bias.data(), no_bias=False),
                npx.fully_connected(h, self.h2h_weight.data(), self.h2h_bias.data(), no_bias=False))

    def __repr__(self):
        return f"{type(self).__name__}({self.i2h_weight.shape[1]} -> {self.i2h_weight.shape[0]})"


class RNNCell(_Cell):
    """One step of RNN: h' = activation(W x + b + V h + d), with any activation.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state, and of the output.
    activation : str or callable
        A function by its name, as of nn.Activation, or one of arrays.
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
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, input_size).
    states : list of ndarray
        [h], of shape (batch, hidden_size).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_size): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        When it is called, for inputs or states of other sizes, and for an unknown activation.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.RNNCell(4)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 4), [(2, 4)])
    """

    def __init__(self, hidden_size, activation="tanh", i2h_weight_initializer=None, h2h_weight_initializer=None,
                 i2h_bias_initializer="zeros", h2h_bias_initializer="zeros", input_size=0, **kwargs):
        super().__init__(hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
                         h2h_bias_initializer, input_size, activation, **kwargs)

    def forward(self, inputs, states):
        i2h, h2h = self._given(inputs, states[0])
        h = self._activation(i2h + h2h)
        return h, [h]


class LSTMCell(_Cell):
    """One step of LSTM: c' = f * c + i * g and h' = o * tanh(c'); see rnn.LSTM for the gates.

    The states are h and c.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state, and of the output.
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
    activation : str or callable
        In place of tanh: a function by its name, as of nn.Activation, or one of arrays.
    recurrent_activation : str
        That of the gates, by its name, as of nn.Activation.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, input_size).
    states : list of ndarray
        [h, c], each of shape (batch, hidden_size).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_size): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        When it is called, for inputs or states of other sizes, and for an unknown activation.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.LSTMCell(4)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 4), [(2, 4), (2, 4)])
    """

    gates, states = 4, 2

    def forward(self, inputs, states):
        h, c = states
        i2h, h2h = self._given(inputs, h)
        i, f, g, o = np.split(i2h + h2h, 4, axis=self._split_axis)
        sigmoid, tanh = self._recurrent_activation, self._activation
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        return h, [h, c]


class LSTMPCell(LSTMCell):
    """One step of LSTM whose state h, and output, is a projection of projection_size: h2r_weight times LSTM's.

    The states are h, of projection_size, and c, of hidden_size.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state c.
    projection_size : int
        Numbers of the state h, and of the output.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights. None: those that initialize() is told.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights. None: those that initialize() is told.
    h2r_weight_initializer : str or Initializer, optional
        First values of the projection. None: those that initialize() is told.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    input_size : int
        Numbers of the input; 0: as many as the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, input_size).
    states : list of ndarray
        [h, c], of shape (batch, projection_size) and (batch, hidden_size).

    Outputs
    -------
    output : ndarray
        Of shape (batch, projection_size): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        When it is called, for inputs or states of other sizes.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.LSTMPCell(4, 2)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 2), [(2, 2), (2, 4)])
    """

    def __init__(self, hidden_size, projection_size, i2h_weight_initializer=None, h2h_weight_initializer=None,
                 h2r_weight_initializer=None, i2h_bias_initializer="zeros", h2h_bias_initializer="zeros", input_size=0,
                 **kwargs):
        self._projection_size = projection_size
        super().__init__(hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
                         h2h_bias_initializer, input_size, **kwargs)
        self.h2r_weight = self._made("h2r_weight", (projection_size, hidden_size), self.i2h_weight.dtype,
                                     h2r_weight_initializer)

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
        h, c = super().state_info(batch_size)
        return [{**h, "shape": (batch_size, self._projection_size)}, c]

    def forward(self, inputs, states):
        h, (_, c) = super().forward(inputs, states)
        r = npx.fully_connected(h, self.h2r_weight.data())
        return r, [r, c]


class GRUCell(_Cell):
    """One step of GRU: h' = (1 - z) * n + z * h; see rnn.GRU for the gates.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state, and of the output.
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
    activation : str or callable
        In place of tanh: a function by its name, as of nn.Activation, or one of arrays.
    recurrent_activation : str
        That of the gates, by its name, as of nn.Activation.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, input_size).
    states : list of ndarray
        [h], of shape (batch, hidden_size).

    Outputs
    -------
    output : ndarray
        Of shape (batch, hidden_size): the next h.
    states : list of ndarray
        The next states, of the shapes of those before.

    Raises
    ------
    ValueError
        When it is called, for inputs or states of other sizes, and for an unknown activation.
    RuntimeError
        When it is called before initialize().

    Examples
    --------
    >>> cell = rnn.GRUCell(4)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 4), [(2, 4)])
    """

    gates = 3

    def forward(self, inputs, states):
        h, = states
        (x_r, x_z, x_n), (h_r, h_z, h_n) = (
            np.split(part, 3, axis=self._split_axis) for part in self._given(inputs, h))
        z = self._recurrent_activation(x_z + h_z)
        n = self._activation(x_n + self._recurrent_activation(x_r + h_r) * h_n)
        h = (1 - z) * n + z * h
        return h, [h]


class _Cells(HybridRecurrentCell):
    """Several cells, with the states of one after those of the other."""

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
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

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
        return [s for cell in self._children.values() for s in cell.begin_state(batch_size, func, ctx, **kwargs)]

    def _with_states(self, states):
        """Each cell, and its states."""
        states = iter(states)
        for cell in self._children.values():
            yield cell, [next(states) for _ in cell.state_info()]


class SequentialRNNCell(_Cells):
    """Cells on top of each other, each with the output of the one below: add(cell), net[i], len(net).

    Parameters
    ----------
    prefix, params
        Of Block, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        What the first cell takes.
    states : list of ndarray
        Those of the first cell, then those of the next, and so on.

    Outputs
    -------
    output : ndarray
        That of the last cell.
    states : list of ndarray
        The next states, in the same order.

    Examples
    --------
    >>> cell = rnn.SequentialRNNCell()
    >>> cell.add(rnn.RNNCell(4))
    >>> cell.add(rnn.GRUCell(2))
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 2), 2)
    """

    def add(self, cell):
        """Put a cell on top.

        Parameters
        ----------
        cell : RecurrentCell
            The cell.

        Raises
        ------
        TypeError
            For what is no block.
        """
        self.register_child(cell)

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
        for k, cell in enumerate(self._children.values(), i):
            cell.infer_shape(k, x, is_bidirect)

    def forward(self, inputs, states):
        after = []
        for cell, own in self._with_states(states):
            inputs, own = cell(inputs, own)
            after += own
        return inputs, after

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """All steps: the outputs, and the last states; see RecurrentCell.unroll().

        Parameters
        ----------
        length, inputs, begin_state, layout, merge_outputs, valid_length
            As of RecurrentCell.unroll().

        Returns
        -------
        tuple
            The outputs, an array or a list, and the list of the last states.

        Raises
        ------
        ValueError
            For another layout, a length that is not that of the inputs, none at all, or a valid_length of another
            shape.
        """
        outputs, after = parts_of(length, inputs, layout), []
        states = self.begin_state(len(outputs[0])) if begin_state is None else begin_state
        for cell, own in self._with_states(states):
            outputs, own = cell.unroll(length, outputs, own, layout, False, valid_length)
            after += own
        return joined(outputs, layout, merge_outputs, valid_length), after

    def __getitem__(self, key):
        return list(self._children.values())[key]

    def __len__(self):
        return len(self._children)


class HybridSequentialRNNCell(SequentialRNNCell):
    """A SequentialRNNCell, which is a HybridBlock here: both are the same.

    Parameters
    ----------
    prefix, params
        Of Block, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        What the first cell takes.
    states : list of ndarray
        Those of the first cell, then those of the next, and so on.

    Outputs
    -------
    output : ndarray
        That of the last cell.
    states : list of ndarray
        The next states, in the same order.

    Examples
    --------
    >>> cell = rnn.HybridSequentialRNNCell()
    >>> cell.add(rnn.RNNCell(4))
    >>> cell.add(rnn.GRUCell(2))
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 2), 2)
    """


class BidirectionalCell(_Cells):
    """Two cells, one from the first step to the last and one back, whose outputs are joined; call its unroll().

    Parameters
    ----------
    l_cell : RecurrentCell
        From the first step on.
    r_cell : RecurrentCell
        From the last step on.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    length, inputs, begin_state, layout, merge_outputs, valid_length
        Of unroll(): see RecurrentCell.

    Outputs
    -------
    outputs : ndarray or list of ndarray
        Of unroll(): for each step those of both cells, along the last axis.
    states : list of ndarray
        The last states of l_cell, then those of r_cell.

    Raises
    ------
    NotImplementedError
        When it is called for one step.

    Examples
    --------
    >>> cell = rnn.BidirectionalCell(rnn.RNNCell(4), rnn.RNNCell(4))
    >>> cell.initialize()
    >>> output, states = cell.unroll(5, np.ones((2, 5, 3)), merge_outputs=True)
    >>> output.shape
    (2, 5, 8)
    """

    def __init__(self, l_cell, r_cell, **kwargs):
        super().__init__(**kwargs)
        self.l_cell = l_cell
        self.r_cell = r_cell

    def forward(self, inputs, states):
        raise NotImplementedError("a BidirectionalCell needs the whole sequence: call its unroll()")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """All steps: the outputs, and the last states; see RecurrentCell.unroll().

        Parameters
        ----------
        length, inputs, begin_state, layout, merge_outputs, valid_length
            As of RecurrentCell.unroll().

        Returns
        -------
        tuple
            The outputs, an array or a list, and the list of the last states.

        Raises
        ------
        ValueError
            For another layout, a length that is not that of the inputs, none at all, or a valid_length of another
            shape.
        """
        parts = np.stack(parts_of(length, inputs, layout))
        valid = recurrent.lengths_of(valid_length, parts.shape[1])
        states = self.begin_state(parts.shape[1]) if begin_state is None else begin_state
        (l_cell, l_states), (r_cell, r_states) = self._with_states(states)
        ahead, l_states = l_cell.unroll(length, parts, l_states, "TNC", True, valid_length)
        back, r_states = r_cell.unroll(length, recurrent.turned(parts, valid), r_states, "TNC", True, valid_length)
        outputs = np.concatenate([ahead, recurrent.turned(back, valid)], axis=-1)
        return joined(outputs, layout, merge_outputs, valid), l_states + r_states


class DropoutCell(HybridRecurrentCell):
    """In training, elements of the input set to zero by chance, the others divided by 1 - rate.

    It has no states of its own.

    Parameters
    ----------
    rate : float
        The probability: at least 0, below 1.
    axes : tuple of int
        Along which one draw counts for all.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of any shape.
    states : list
        Whatever there is.

    Outputs
    -------
    output : ndarray
        Of the shape of the inputs.
    states : list
        Those given.

    Raises
    ------
    ValueError
        When it is called, for a rate of 1 or more.

    Examples
    --------
    >>> cell = rnn.DropoutCell(0.5)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 3), [])
    """

    def __init__(self, rate, axes=(), **kwargs):
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def state_info(self, batch_size=0):
        """None: it has no states.

        Parameters
        ----------
        batch_size : int
            How many sequences there are.

        Returns
        -------
        list
            An empty one.
        """
        return []

    def forward(self, inputs, states):
        return npx.dropout(inputs, self._rate, axes=self._axes) if self._rate > 0 else inputs, states

    def __repr__(self):
        return f"DropoutCell(rate={self._rate}, axes={self._axes})"


class ModifierCell(HybridRecurrentCell):
    """Base class of cells that do something to what another cell, base_cell, gives: a subclass writes forward().

    Parameters
    ----------
    base_cell : RecurrentCell
        The other cell.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        What base_cell takes.
    states : list of ndarray
        Those of base_cell.

    Outputs
    -------
    output : ndarray
        What the subclass makes of that of base_cell.
    states : list of ndarray
        The next states.

    Examples
    --------
    >>> class Double(rnn.ModifierCell):
    ...     def forward(self, inputs, states):
    ...         output, states = self.base_cell(inputs, states)
    ...         return 2 * output, states
    >>> cell = Double(rnn.RNNCell(3))
    >>> cell.initialize("zeros")
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, len(states)
    ((2, 3), 1)
    """

    def __init__(self, base_cell, **kwargs):
        super().__init__(**kwargs)
        self.base_cell = base_cell

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
        return self.base_cell.state_info(batch_size)

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
        return self.base_cell.begin_state(batch_size, func, ctx, **kwargs)


class ZoneoutCell(ModifierCell):
    """In training, elements of the outputs and of the states stay as they were before the step, by chance.

    It keeps its output for the next step, so it is never replayed, even after hybridize(); reset() forgets it.

    Parameters
    ----------
    base_cell : RecurrentCell
        The other cell.
    zoneout_outputs : float
        The probability, of outputs; below 1.
    zoneout_states : float
        The probability, of states; below 1.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        What base_cell takes.
    states : list of ndarray
        Those of base_cell.

    Outputs
    -------
    output : ndarray
        Of the shape that base_cell gives.
    states : list of ndarray
        The next states.

    Raises
    ------
    ValueError
        For a BidirectionalCell; when it is called, for a probability of 1 or more.

    Examples
    --------
    >>> cell = rnn.ZoneoutCell(rnn.RNNCell(3))
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 3), [(2, 3)])
    """

    def __init__(self, base_cell, zoneout_outputs=0.0, zoneout_states=0.0, **kwargs):
        if isinstance(base_cell, BidirectionalCell):
            raise ValueError("a BidirectionalCell has no steps: modify its cells")
        super().__init__(base_cell, **kwargs)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self.reset()

    def reset(self):
        super().reset()
        self._output = 0                        # of the step before

    def forward(self, inputs, states):
        refuse_to_replay("a ZoneoutCell keeps its output for the next step")
        y, after = self.base_cell(inputs, states)
        self._output = y = self._mixed(self.zoneout_outputs, y, self._output)
        return y, [self._mixed(self.zoneout_states, new, old) for new, old in zip(after, states)]

    def _mixed(self, p, new, old):
        return np.where(npx.dropout(np.ones_like(new), p) != 0, new, old) if p else new


class ResidualCell(ModifierCell):
    """The output of another cell plus its input, which has the same shape.

    Parameters
    ----------
    base_cell : RecurrentCell
        The other cell.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        What base_cell takes.
    states : list of ndarray
        Those of base_cell.

    Outputs
    -------
    output : ndarray
        Of the shape of the inputs.
    states : list of ndarray
        The next states.

    Examples
    --------
    >>> cell = rnn.ResidualCell(rnn.RNNCell(3))
    >>> cell.initialize("zeros")
    >>> output, states = cell(np.ones((1, 3)), cell.begin_state(1))
    >>> print(output)
    [[1. 1. 1.]]
    """

    def forward(self, inputs, states):
        y, states = self.base_cell(inputs, states)
        return y + inputs, states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """All steps: the outputs, and the last states; see RecurrentCell.unroll().

        Parameters
        ----------
        length, inputs, begin_state, layout, merge_outputs, valid_length
            As of RecurrentCell.unroll().

        Returns
        -------
        tuple
            The outputs, an array or a list, and the list of the last states.

        Raises
        ------
        ValueError
            For another layout, a length that is not that of the inputs, none at all, or a valid_length of another
            shape.
        """
        parts = parts_of(length, inputs, layout)
        ys, states = self.base_cell.unroll(length, parts, begin_state, layout, False, valid_length)
        return joined([y + x for y, x in zip(ys, parts)], layout, merge_outputs,
                       recurrent.lengths_of(valid_length, len(parts[0]))), states


class VariationalDropoutCell(ModifierCell):
    """In training, elements of inputs, outputs and the first state set to zero: the same ones in each step.

    It keeps what it drops for the next step, so it is never replayed, even after hybridize(); reset(), which
    unroll() calls, has others drawn.

    Parameters
    ----------
    base_cell : RecurrentCell
        The other cell.
    drop_inputs : float
        The probability, of inputs; below 1.
    drop_states : float
        The probability, of the first state; below 1.
    drop_outputs : float
        The probability, of outputs; below 1.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        What base_cell takes.
    states : list of ndarray
        Those of base_cell.

    Outputs
    -------
    output : ndarray
        Of the shape that base_cell gives.
    states : list of ndarray
        The next states.

    Raises
    ------
    ValueError
        For drop_states of a BidirectionalCell; when it is called, for a probability of 1 or more.

    Examples
    --------
    >>> cell = rnn.VariationalDropoutCell(rnn.RNNCell(3))
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 3), [(2, 3)])
    """

    def __init__(self, base_cell, drop_inputs=0.0, drop_states=0.0, drop_outputs=0.0, **kwargs):
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise ValueError("a BidirectionalCell has no steps: modify its cells")
        super().__init__(base_cell, **kwargs)
        self.drop_inputs, self.drop_states, self.drop_outputs = drop_inputs, drop_states, drop_outputs
        self.reset()

    def reset(self):
        super().reset()
        self._masks = {}

    def _dropped(self, name, p, x):
        if p and name not in self._masks:
            self._masks[name] = npx.dropout(np.ones_like(x), p)
        return x * self._masks[name] if p else x

    def forward(self, inputs, states):
        refuse_to_replay("a VariationalDropoutCell keeps what it drops for the next step")
        states = [self._dropped("states", self.drop_states, states[0]), *states[1:]]
        y, states = self.base_cell(self._dropped("inputs", self.drop_inputs, inputs), states)
        return self._dropped("outputs", self.drop_outputs, y), states

    def __repr__(self):
        return f"VariationalDropoutCell(p_out = {self.drop_outputs}, p_state = {self.drop_states})"
