"""Recurrent networks: layers of simple units, LSTM or GRU over sequences, along the first axis.

Each direction of a layer is two operations: the product of the input with its weights, for all steps at once, and the
steps. These are recorded as one; its gradient (dflow/gradients/recurrent.py) computes the gates anew, so what is kept
of a sequence is what went into them, and the states.
"""

import math

import numpy

from dflow._array.core import array as as_array
from dflow._functions.advanced_indexing import take, where
from dflow._functions.joining import concatenate, stack
from dflow._functions.ufunc import wrap_ufunc
from dflow.ops.creation import arange
from dflow.ops.gathering import sequence_mask
from dflow.ops.linear import matmul
from dflow.ops.nn import check_choice, check_shape, dropout, floating, fully_connected, relu
from dflow.ops.table import op, recorded

tanh = wrap_ufunc(numpy.tanh)

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}     # each of state_size rows of the weights, by mode

# -- one step --------------------------------------------------------------------------------------
#
# z is what the input gives to the gates, of shape (batch, gates * size), and h the state.


def gate(z):
    """1 / (1 + exp(-z)), in few passes."""
    return tanh(z * 0.5) * 0.5 + 0.5


def gates_of(z, n):
    """n arrays of equal size, along the last axis."""
    size = z.shape[-1] // n
    return [z[..., k * size:(k + 1) * size] for k in range(n)]


def lstm_gates(z):
    """Input, forget and output gate, and what is let in, in the order of the weights: i, f, g, o."""
    i, f, _, o = gates_of(gate(z), 4)
    return i, f, tanh(gates_of(z, 4)[2]), o


def lstm_step(z, c, projection=None):
    """z has the state's part added: the next h and c."""
    i, f, g, o = lstm_gates(z)
    c = f * c + i * g
    h = o * tanh(c)
    return h if projection is None else matmul(h, projection.T), c


def gru_gates(z, hidden):
    """Reset and update gate, and the candidate; `hidden` is what the state gives."""
    size = z.shape[-1] // 3
    r, u = gates_of(gate(z[..., :2 * size] + hidden[..., :2 * size]), 2)
    return r, u, tanh(z[..., 2 * size:] + r * hidden[..., 2 * size:])


def gru_step(z, h, hidden):
    """The next h."""
    _, u, n = gru_gates(z, hidden)
    return n + u * (h - n)


# -- all steps -------------------------------------------------------------------------------------

@recorded
def rnn_steps(z, h, weight, activation):
    """The states after each step."""
    weight, function, hs = weight.T, {"rnn_relu": relu, "rnn_tanh": tanh}[activation], []
    for part in z:
        h = function(part + matmul(h, weight))
        hs.append(h)
    return stack(hs)


@recorded
def lstm_steps(z, h, c, weight, projection):
    """Of both states those after each step."""
    weight, hs, cs = weight.T, [], []
    for part in z:
        h, c = lstm_step(part + matmul(h, weight), c, projection)
        hs.append(h)
        cs.append(c)
    return stack(hs), stack(cs)


@recorded
def gru_steps(z, h, weight, bias):
    """The states after each step."""
    weight, hs = weight.T, []
    for part in z:
        h = gru_step(part, h, matmul(h, weight) + bias)
        hs.append(h)
    return stack(hs)


def steps(mode, x, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias, h2r_weight=None):
    """Of each state, an array of those after each step."""
    inner = i2h_bias if mode == "gru" else i2h_bias + h2h_bias
    z = fully_connected(x, i2h_weight, inner, no_bias=False, flatten=False)
    if mode == "lstm":
        return lstm_steps(z, *states, h2h_weight, h2r_weight)
    if mode == "gru":
        return (gru_steps(z, *states, h2h_weight, h2h_bias),)
    return (rnn_steps(z, *states, h2h_weight, mode),)


# -- layers ----------------------------------------------------------------------------------------

def at(x, t):
    """Of each sequence the element of a step, without waiting for t."""
    batch = x.shape[1]
    return take(x.reshape(-1, x.shape[2]), t * batch + arange(batch), 0, mode="clip")


def turned(x, length):
    """Sequences from their ends to their beginnings."""
    if length is None:
        return x[::-1]
    t = arange(x.shape[0]).reshape(-1, 1)
    return at(x, where(t < length, length - 1 - t, t))


def check_sequences(x):
    """ValueError for what is no array of sequences."""
    if x.ndim != 3 or not x.shape[0]:
        raise ValueError(f"data must have three axes, of time, batch and size, and one step at least, not {x.shape}")


def lengths_of(length, batch):
    """How many steps each sequence has, as indices; None is all."""
    if length is None:
        return None
    length = as_array(length)
    check_shape("sequence_length", length, (batch,))
    return length.astype(numpy.intp, copy=False)


def last(begin, states, length):
    """The state after the last step of each sequence."""
    if length is None:
        return states[-1]
    return at(concatenate([begin[None], states]), length)


def layers(mode, x, weights, states, directions=1, p=0.0, length=None):
    """x of shape (time, batch, size) through layers: the output, and the last states of each layer and direction.

    weights: of each layer, for one or two directions, those that steps() takes. p: what dropout() takes between
    layers. length: of each sequence, of integers; the output is 0 beyond it.
    """
    ends = []
    for place, own in enumerate(weights):
        if place % directions == 0:
            x, outputs = dropout(x, p) if place and p else x, []
        backwards, begin = place % directions == 1, [s[place] for s in states]
        after = steps(mode, turned(x, length) if backwards else x, begin, *own)
        outputs.append(turned(after[0], length) if backwards else after[0])
        ends.append([last(first, s, length) for first, s in zip(begin, after)])
        if len(outputs) == directions:
            x = concatenate(outputs, -1) if directions > 1 else outputs[0]
    x = x if length is None else sequence_mask(x, length, True)
    return x, [stack(parts) for parts in zip(*ends)]


def weight_shapes(mode, size, inputs, place, directions=1, projection=None):
    """What one direction of a layer has, in the order that steps() takes them."""
    rows, shown = GATES[mode] * size, projection or size
    shapes = {"i2h_weight": (rows, inputs if place < directions else shown * directions), "h2h_weight": (rows, shown),
              "i2h_bias": (rows,), "h2h_bias": (rows,)}
    return {**shapes, "h2r_weight": (projection, size)} if projection else shapes


def parted(vector, shapes):
    """Weights of all layers, then biases of all layers, which follow each other in a vector."""
    names = [(k, name) for kind in ("weight", "bias") for k, own in enumerate(shapes) for name in own if kind in name]
    check_shape("parameters", vector, (sum(math.prod(shapes[k][name]) for k, name in names),))
    found, start = [dict.fromkeys(own) for own in shapes], 0
    for k, name in names:
        shape = shapes[k][name]
        found[k][name] = vector[start:start + math.prod(shape)].reshape(shape)
        start += math.prod(shape)
    return [list(own.values()) for own in found]


@op("t2, q[:14], s[:1], mode='rnn_tanh', state_size=2, num_layers=1",
    "t2, q[:28], s[:2], mode='rnn_relu', state_size=2, num_layers=1, bidirectional=True, state_outputs=True",
    "t2, q[:104], s[:2], s[2:], mode='lstm', state_size=2, num_layers=2, state_outputs=True",
    "t2, q[:50], s[:1, :, :1], s[1:2], mode='lstm', state_size=2, num_layers=1, projection_size=1, state_outputs=True",
    "t2, q, s, None, j[:2], 'gru', 2, 2, True, True, use_sequence_length=True", module="npx")
def rnn(data, parameters, state, state_cell=None, sequence_length=None, mode=None, state_size=None, num_layers=None,
        bidirectional=False, state_outputs=False, p=0.0, use_sequence_length=False, projection_size=None):
    """Layers of a recurrent network over data of shape (time, batch, size): (time, batch, directions * state_size).

    mode: "rnn_relu", "rnn_tanh", "lstm" (gates in the order i, f, g, o) or "gru" (r, z, n). state, and state_cell of an
    LSTM: (num_layers * directions, batch, state_size). parameters: a vector of the weights of the input and of the
    state, of each direction of each layer, and then their biases. p: what dropout sets to zero between layers, in
    training. use_sequence_length: sequences end after sequence_length steps; beyond, the output is 0. projection_size:
    an LSTM shows its state as so many numbers; the matrix for it follows the other two weights.

    state_outputs: a list of the output, the last state and, of an LSTM, the last state of cells.

    Parameters
    ----------
    data : ndarray
        Of shape (time, batch, size).
    parameters : ndarray
        Of one axis.
    state : ndarray
        The first state.
    state_cell : ndarray, optional
        The first state of an LSTM's cells.
    sequence_length : ndarray, optional
        Of shape (batch,).
    mode : str
        Which network.
    state_size : int
        Numbers of a state.
    num_layers : int
        How many layers.
    bidirectional : bool
        Two directions a layer.
    state_outputs : bool
        Return a list, see above.
    p : float
        The probability of dropout.
    use_sequence_length : bool
        Whether `sequence_length` counts.
    projection_size : int, optional
        Numbers that an LSTM shows of its state.

    Returns
    -------
    ndarray or list of ndarray
        Of data's dtype.

    Raises
    ------
    ValueError
        For another mode, and for parameters of another length.

    Examples
    --------
    >>> state, parameters = np.zeros((1, 1, 2)), np.zeros(2 * (3 + 2 + 2))
    >>> npx.rnn(np.ones((4, 1, 3)), parameters, state, mode="rnn_tanh", state_size=2, num_layers=1).shape
    (4, 1, 2)
    """
    check_choice("mode", mode, GATES)
    if (state_cell is None) == (mode == "lstm"):
        raise ValueError(f"state_cell is {'missing' if mode == 'lstm' else 'given'}, and mode is {mode!r}")
    if projection_size and mode != "lstm":
        raise ValueError(f"projection_size is for mode 'lstm', not {mode!r}")
    if use_sequence_length != (sequence_length is not None):
        raise ValueError("sequence_length is " + ("missing" if use_sequence_length else "given, and not used"))
    x, directions = floating(data), 2 if bidirectional else 1
    check_sequences(x)
    places = range(num_layers * directions)
    shapes = [weight_shapes(mode, state_size, x.shape[2], k, directions, projection_size) for k in places]
    states = [as_array(s) for s in (state, state_cell) if s is not None]
    for name, s, size in zip(("state", "state_cell"), states, (projection_size or state_size, state_size)):
        check_shape(name, s, (len(places), x.shape[1], size))
    y, states = layers(mode, x, parted(as_array(parameters), shapes), states, directions, p,
                       lengths_of(sequence_length, x.shape[1]))
    return [y, *states] if state_outputs else y
