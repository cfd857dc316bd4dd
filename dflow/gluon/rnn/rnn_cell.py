"""Cells: one step of a recurrent network, which unroll() makes for each element of sequences."""

from dflow import npx
from dflow import numpy as np
from dflow._tracing.trace import refuse_to_replay
from dflow.gluon.block import HybridBlock
from dflow.gluon.nn.activations import Activation
from dflow.gluon.rnn.rnn_layer import LAYOUTS, begin
from dflow.ops import recurrent
from dflow.ops.nn import check_choice

__all__ = ["BidirectionalCell", "DropoutCell", "GRUCell", "HybridRecurrentCell", "HybridSequentialRNNCell", "LSTMCell",
           "LSTMPCell", "ModifierCell", "RNNCell", "RecurrentCell", "ResidualCell", "SequentialRNNCell",
           "VariationalDropoutCell", "ZoneoutCell", "dynamic_unroll"]


def __dir__():
    return sorted(__all__)


def _parts(length, inputs, layout):
    """What each of the steps gets."""
    check_choice("layout", layout, LAYOUTS)
    parts = list(inputs if isinstance(inputs, (list, tuple)) else inputs.swapaxes(0, layout.index("T")))
    if length not in (None, len(parts)) or not parts:
        raise ValueError(f"inputs: {len(parts)} steps, where length is {length}")
    return parts


def _joined(outputs, layout, merge, length):
    """Outputs of steps, a list of them or an array: as a list, or an array, with 0 beyond the sequences' lengths."""
    if not merge and length is None:
        return list(outputs)
    axis = layout.index("T")
    y = np.stack(outputs, axis) if isinstance(outputs, (list, tuple)) else outputs.swapaxes(0, axis)
    y = y if length is None else npx.sequence_mask(y, length, True, axis=axis)
    return list(y.swapaxes(0, axis)) if merge is False else y


def dynamic_unroll(cell, inputs, begin_state, drop_inputs=0, drop_outputs=0, layout="TNC", valid_length=None):
    """cell.unroll() of an array, with elements of inputs and outputs set to zero in training, the same in each step.

    Parameters
    ----------
    cell : RecurrentCell
        What runs.
    inputs : ndarray
        Of shape (time, batch, size), or as the layout says.
    begin_state : list of ndarray
        The first states.
    drop_inputs : float
        The probability, of inputs.
    drop_outputs : float
        The probability, of outputs.
    layout : str, optional
        As "NCW", "NCHW" or "NCDHW", which are the defaults.
    valid_length : ndarray, optional
        Of shape (batch,): steps that count.

    Examples
    --------
    >>> cell = rnn.RNNCell(4)
    >>> cell.initialize()
    >>> output, states = rnn.rnn_cell.dynamic_unroll(cell, np.ones((5, 2, 3)), cell.begin_state(2))
    >>> output.shape
    (5, 2, 4)
    """
    axis = layout.index("T")
    inputs = npx.dropout(inputs, drop_inputs, axes=(axis,)) if drop_inputs else inputs
    outputs, states = cell.unroll(inputs.shape[axis], inputs, begin_state, layout, True, valid_length)
    return npx.dropout(outputs, drop_outputs, axes=(axis,)) if drop_outputs else outputs, states


class RecurrentCell(HybridBlock):
    """Base class: cell(input, states) gives the output of one step, and a list of the next states.

    Inputs have the shape (batch, size). A subclass writes forward() and state_info().

    Examples
    --------
    >>> isinstance(rnn.RNNCell(3), rnn.RecurrentCell)
    True
    """

    def reset(self):
        """Forget what is left of earlier steps; unroll() does it."""
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def infer_shape(self, i, x, is_bidirect):
        """Set the shapes of parameters that depend on the input: x, if this is the first cell (i = 0) of several.

        Others find out from their first input.
        """
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.infer_shape(i, x, is_bidirect)

    def _infer(self, inputs, states):
        self.infer_shape(0, inputs, False)

    def state_info(self, batch_size=0):
        """Of each state the shape, the meaning of its axes, and the type."""
        raise NotImplementedError(f"{type(self).__name__} needs a state_info()")

    def begin_state(self, batch_size=0, func=np.zeros, ctx=None, **kwargs):
        """The states before the first step: zeros, or what func(shape=..., dtype=..., **kwargs) makes."""
        infos = [{"dtype": np.dtype("float32"), **info} for info in self.state_info(batch_size)]
        return begin(infos, func, ctx, kwargs)

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """All steps: the outputs, and the last states.

        inputs: an array of the layout "NTC" or "TNC", or a list with one of shape (batch, size) for each step; outputs
        are such a list, or with merge_outputs an array. valid_length: of each sequence, of shape (batch,): the last
        states are those then, and outputs beyond are 0.
        """
        self.reset()
        parts = _parts(length, inputs, layout)
        first = self.begin_state(len(parts[0])) if begin_state is None else begin_state
        valid, states, outputs, history = recurrent.lengths_of(valid_length, len(parts[0])), first, [], []
        for x in parts:
            y, states = self(x, states)
            outputs.append(y)
            history.append(states)
        if valid is not None:
            states = [recurrent.last(s, np.stack(after), valid) for s, after in zip(first, zip(*history))]
        return _joined(outputs, layout, merge_outputs, valid), states


class HybridRecurrentCell(RecurrentCell):
    """A RecurrentCell, which is a HybridBlock here.

    Examples
    --------
    >>> isinstance(rnn.RNNCell(3), rnn.HybridRecurrentCell)
    True
    """


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
        if i == 0:
            self.i2h_weight.shape = self.i2h_weight.shape[0], x.shape[-1]

    def state_info(self, batch_size=0):
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC", "dtype": self.i2h_weight.dtype}
                ] * self.states

    def _given(self, inputs, h):
        """What the input and the state give to the gates."""
        return (npx.fully_connected(inputs, self.i2h_weight.data(), self.i2h_bias.data(), no_bias=False),
                npx.fully_connected(h, self.h2h_weight.data(), self.h2h_bias.data(), no_bias=False))

    def __repr__(self):
        return f"{type(self).__name__}({self.i2h_weight.shape[1]} -> {self.i2h_weight.shape[0]})"


class RNNCell(_Cell):
    """One step of RNN, with any activation.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state.
    activation : str, optional
        A function by its name, as of Activation.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    input_size : int
        Numbers of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
    """One step of LSTM; the states are h and c.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    input_size : int
        Numbers of the input; 0: what the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    recurrent_activation : str
        Of the gates.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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

    Parameters
    ----------
    hidden_size : int
        Numbers of the state.
    projection_size : int, optional
        Numbers that it shows of its state.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights.
    h2r_weight_initializer : str or Initializer, optional
        First values of the projection.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    input_size : int
        Numbers of the input; 0: what the first input has.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
        h, c = super().state_info(batch_size)
        return [{**h, "shape": (batch_size, self._projection_size)}, c]

    def forward(self, inputs, states):
        h, (_, c) = super().forward(inputs, states)
        r = npx.fully_connected(h, self.h2r_weight.data())
        return r, [r, c]


class GRUCell(_Cell):
    """One step of GRU.

    Parameters
    ----------
    hidden_size : int
        Numbers of the state.
    i2h_weight_initializer : str or Initializer, optional
        First values of the input's weights.
    h2h_weight_initializer : str or Initializer, optional
        First values of the state's weights.
    i2h_bias_initializer : str or Initializer
        First values of the input's biases.
    h2h_bias_initializer : str or Initializer
        First values of the state's biases.
    input_size : int
        Numbers of the input; 0: what the first input has.
    activation : str, optional
        A function by its name, as of Activation.
    recurrent_activation : str
        Of the gates.
    dtype : dtype
        Of the parameters.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, batch_size=0, func=np.zeros, ctx=None, **kwargs):
        return [s for cell in self._children.values() for s in cell.begin_state(batch_size, func, ctx, **kwargs)]

    def _with_states(self, states):
        """Each cell, and its states."""
        states = iter(states)
        for cell in self._children.values():
            yield cell, [next(states) for _ in cell.state_info()]


class SequentialRNNCell(_Cells):
    """Cells on top of each other: add(cell), net[i], len(net).

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
        """Put a cell on top."""
        self.register_child(cell)

    def infer_shape(self, i, x, is_bidirect):
        for k, cell in enumerate(self._children.values(), i):
            cell.infer_shape(k, x, is_bidirect)

    def forward(self, inputs, states):
        after = []
        for cell, own in self._with_states(states):
            inputs, own = cell(inputs, own)
            after += own
        return inputs, after

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        outputs, after = _parts(length, inputs, layout), []
        states = self.begin_state(len(outputs[0])) if begin_state is None else begin_state
        for cell, own in self._with_states(states):
            outputs, own = cell.unroll(length, outputs, own, layout, False, valid_length)
            after += own
        return _joined(outputs, layout, merge_outputs, valid_length), after

    def __getitem__(self, key):
        return list(self._children.values())[key]

    def __len__(self):
        return len(self._children)


class HybridSequentialRNNCell(SequentialRNNCell):
    """A SequentialRNNCell, which is a HybridBlock here.

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
    """Two cells, one from the first step to the last and one back, whose outputs are joined; unroll() only.

    Parameters
    ----------
    l_cell : RecurrentCell
        From the first step on.
    r_cell : RecurrentCell
        From the last step on.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
        parts = np.stack(_parts(length, inputs, layout))
        valid = recurrent.lengths_of(valid_length, parts.shape[1])
        states = self.begin_state(parts.shape[1]) if begin_state is None else begin_state
        (l_cell, l_states), (r_cell, r_states) = self._with_states(states)
        ahead, l_states = l_cell.unroll(length, parts, l_states, "TNC", True, valid_length)
        back, r_states = r_cell.unroll(length, recurrent.turned(parts, valid), r_states, "TNC", True, valid_length)
        outputs = np.concatenate([ahead, recurrent.turned(back, valid)], axis=-1)
        return _joined(outputs, layout, merge_outputs, valid), l_states + r_states


class DropoutCell(HybridRecurrentCell):
    """In training, elements of the input set to zero with probability `rate`; see nn.Dropout. It has no states.

    Parameters
    ----------
    rate : float
        The probability.
    axes : tuple of int
        Along which one draw counts for all.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
        return []

    def forward(self, inputs, states):
        return npx.dropout(inputs, self._rate, axes=self._axes) if self._rate > 0 else inputs, states

    def __repr__(self):
        return f"DropoutCell(rate={self._rate}, axes={self._axes})"


class ModifierCell(HybridRecurrentCell):
    """Base class of cells that do something to what another cell, base_cell, gives.

    Parameters
    ----------
    base_cell : RecurrentCell
        The other cell.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> isinstance(rnn.ResidualCell(rnn.RNNCell(3)), rnn.ModifierCell)
    True
    """

    def __init__(self, base_cell, **kwargs):
        super().__init__(**kwargs)
        self.base_cell = base_cell

    def state_info(self, batch_size=0):
        return self.base_cell.state_info(batch_size)

    def begin_state(self, batch_size=0, func=np.zeros, ctx=None, **kwargs):
        return self.base_cell.begin_state(batch_size, func, ctx, **kwargs)


class ZoneoutCell(ModifierCell):
    """In training, elements of the outputs and of the states stay as they were before the step, by chance.

    Parameters
    ----------
    base_cell : RecurrentCell
        The other cell.
    zoneout_outputs : float
        The probability, of outputs.
    zoneout_states : float
        The probability, of states.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
    """The output plus the input.

    Parameters
    ----------
    base_cell : RecurrentCell
        The other cell.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Examples
    --------
    >>> cell = rnn.ResidualCell(rnn.RNNCell(3))
    >>> cell.initialize()
    >>> output, states = cell(np.ones((2, 3)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 3), [(2, 3)])
    """

    def forward(self, inputs, states):
        y, states = self.base_cell(inputs, states)
        return y + inputs, states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        parts = _parts(length, inputs, layout)
        ys, states = self.base_cell.unroll(length, parts, begin_state, layout, False, valid_length)
        return _joined([y + x for y, x in zip(ys, parts)], layout, merge_outputs,
                       recurrent.lengths_of(valid_length, len(parts[0]))), states


class VariationalDropoutCell(ModifierCell):
    """In training, elements of inputs, outputs and the first state set to zero: the same ones in each step of unroll().

    drop_inputs, drop_states, drop_outputs: how many, as shares. reset() draws others.

    Parameters
    ----------
    base_cell : RecurrentCell
        The other cell.
    drop_inputs : float
        The probability, of inputs.
    drop_states : float
        The probability, of states.
    drop_outputs : float
        The probability, of outputs.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

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
