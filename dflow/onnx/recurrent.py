"""What ONNX has for recurrent layers: a node a layer, of one direction or both, with the rows of gates in its order."""

import numpy

from dflow.onnx.forms import form, whole
from dflow.ops.recurrent import parted, weight_shapes

# By mode: ONNX's operation, the gates in its order, as ours are numbered, and attributes for each direction, for all.
OPERATIONS = {"lstm": ("LSTM", (0, 3, 1, 2), {}, {}), "gru": ("GRU", (1, 0, 2), {}, {"linear_before_reset": 1}),
              "rnn_tanh": ("RNN", (0,), {"activations": "Tanh"}, {}),
              "rnn_relu": ("RNN", (0,), {"activations": "Relu"}, {})}


class Vector:
    """An array of one axis in a model, of which parted() takes parts and reshapes them."""

    def __init__(self, m, name, shape):
        self.m, self.name, self.shape = m, name, shape

    def __getitem__(self, key):
        part = self.m.node("Slice", self.name, *(self.m.number(whole(n)) for n in (key.start, key.stop, 0)))
        return Vector(self.m, part, (key.stop - key.start,))

    def reshape(self, shape):
        return Vector(self.m, self.m.node("Reshape", self.name, self.m.number(whole(*shape))), shape)


def _ordered(m, weight, gates):
    """A weight or bias with its gates in another order, and a first axis for directions."""
    count, rest = len(gates), weight.shape[1:]
    parts = m.node("Reshape", weight.name, m.number(whole(count, weight.shape[0] // count, *rest)))
    parts = m.node("Gather", parts, m.number(whole(*gates)), axis=0)
    return m.node("Reshape", parts, m.number(whole(1, weight.shape[0], *rest)))


def _joined(m, names, axis):
    return names[0] if len(names) == 1 else m.node("Concat", *names, axis=axis)


def _layer_states(m, name, layer, directions):
    return m.node("Slice", name, *(m.number(whole(n)) for n in (layer * directions, (layer + 1) * directions, 0)))


@form("npx.rnn")
def _rnn(m, to, result, given):
    if given["projection_size"]:
        raise ValueError(f"npx.rnn with projection_size={given['projection_size']} has no form in ONNX, "
                         "whose LSTM has no projection")
    y = result[0] if given["state_outputs"] else result
    operation, gates, each, attributes = OPERATIONS[given["mode"]]
    size, layers, directions = given["state_size"], given["num_layers"], 2 if given["bidirectional"] else 1
    attributes = {"hidden_size": size, "direction": "bidirectional" if directions == 2 else "forward", **attributes,
                  **{key: [value] * directions for key, value in each.items()}}
    shapes = [weight_shapes(given["mode"], size, m.value(given["data"]).shape[2], k, directions)
              for k in range(layers * directions)]
    vector = Vector(m, m.name(given["parameters"], y.dtype), m.value(given["parameters"]).shape)
    weights = [[_ordered(m, weight, gates) for weight in own] for own in parted(vector, shapes)]
    lengths = m.name(given["sequence_length"], numpy.int32) if given["use_sequence_length"] else ""
    states = [m.name(given[key], y.dtype) for key in ("state", "state_cell") if given[key] is not None]
    x, ends = m.name(given["data"], y.dtype), []
    for layer in range(layers):
        w, v, b, d = (_joined(m, names, 0) for names in zip(*weights[layer * directions:][:directions]))
        begin = [_layer_states(m, name, layer, directions) for name in states]
        names = [f"{to[0] if given['state_outputs'] else to} {layer} {k}" for k in range(1 + len(states))]
        m.node(operation, x, w, v, m.node("Concat", b, d, axis=1), lengths, *begin, to=names, **attributes)
        x = m.node("Transpose", names[0], perm=[0, 2, 1, 3])                # from directions, batch, size
        x = m.node("Reshape", x, m.number(whole(*y.shape[:2], directions * size)))
        ends.append(names[1:])
    outputs = [x, *(_joined(m, list(found), 0) for found in zip(*ends))]
    for name, target in zip(outputs, to) if given["state_outputs"] else ((x, to),):
        m.node("Identity", name, to=target)
