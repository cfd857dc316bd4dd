"""Automatic differentiation: `with autograd.record(): ...`, then `loss.backward()` puts gradients into `x.grad`.

As MXNet's module of this name. What is computed from arrays with gradients (`x.attach_grad()`) while recording is on,
in this thread, is recorded; backward() carries gradients back. It only submits: gradients are pending, as results are.
"""

import dflow.gradients  # noqa: F401  (makes the rules)
from dflow import numpy as np
from dflow._array.core import is_array
from dflow._tracing import tape

__all__ = ["record", "pause", "train_mode", "predict_mode", "is_recording", "is_training", "set_recording",
           "set_training", "backward", "grad", "mark_variables", "Function"]


def is_recording():
    """Whether this thread records operations."""
    return tape.is_recording()


def is_training():
    """Whether this thread is in training mode, which dropout and batch normalization ask."""
    return tape.is_training()


def set_recording(is_record):
    """Record in this thread, or not; returns whether it did."""
    return tape.switch_recording(bool(is_record))


def set_training(train_mode):
    """Switch this thread's training mode; returns what it was."""
    return tape.switch_training(bool(train_mode))


class _State:
    """Recording and training mode within a `with` statement; None leaves one as it is."""

    def __init__(self, recording, training):
        self._wanted = recording, training
        self._before = []

    def __enter__(self):
        recording, training = self._wanted
        self._before.append((None if recording is None else tape.switch_recording(recording),
                             None if training is None else set_training(training)))

    def __exit__(self, *error):
        recording, training = self._before.pop()
        if recording is not None:
            tape.switch_recording(recording)
        if training is not None:
            set_training(training)


def record(train_mode=True):
    """A context in which operations are recorded, in training mode unless told otherwise."""
    return _State(True, train_mode)


def pause(train_mode=False):
    """A context in which they are not, by default outside training mode."""
    return _State(False, train_mode)


def train_mode():
    """A context in training mode; what is recorded does not change."""
    return _State(None, True)


def predict_mode():
    """A context outside training mode."""
    return _State(None, False)


def _listed(name, x):
    """One array, or a list of them, as a list."""
    arrays = [x] if is_array(x) else list(x)
    for array in arrays:
        if not is_array(array):
            raise TypeError(f"{name} must be arrays of dflow, not {type(array).__name__}")
    return arrays


def _head_gradients(heads, head_grads):
    if head_grads is None:
        return [None] * len(heads)
    found = [head_grads] if is_array(head_grads) else list(head_grads)
    if len(found) != len(heads):
        raise ValueError(f"head_grads: {len(found)} for {len(heads)} heads")
    for g, head in zip(found, heads):
        if g is not None and g.shape != head.shape:
            raise ValueError(f"head_grads: one has the shape {g.shape}, its head {head.shape}")
    return found


def backward(heads, head_grads=None, retain_graph=False, train_mode=True):
    """Compute the gradients of heads, an array or several, and put them into the arrays that have one attached.

    `head_grads` are the gradients of the heads themselves; None stands for ones. What was recorded is freed, unless
    `retain_graph`. ValueError for a head that was not recorded, and where an array that is needed was written to since.
    """
    heads = _listed("heads", heads)
    before = set_training(train_mode)
    try:
        tape.backward(heads, _head_gradients(heads, head_grads), retain_graph)
    finally:
        set_training(before)


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph=False, train_mode=True):
    """A list of the gradients of heads by `variables`, an array or a list: returned, not put anywhere.

    It is a list of one for one array, too, as in MXNet, whose programs write `grad(y, x)[0]`.
    `create_graph`: they are recorded, so that there are gradients of them; `retain_graph` is that, unless given.
    """
    heads, wanted = _listed("heads", heads), _listed("variables", variables)
    before = set_training(train_mode)
    try:
        retain = create_graph if retain_graph is None else retain_graph
        found = tape.backward(heads, _head_gradients(heads, head_grads), retain, create_graph, wanted)
    finally:
        set_training(before)
    for x, g in zip(wanted, found):
        if g is None:
            raise ValueError(f"the heads do not depend on one of the variables, of shape {x.shape}")
    return found


REQUESTS = ("write", "add", "null")


def mark_variables(variables, gradients, grad_reqs="write"):
    """Let arrays have gradients, kept in these. `grad_reqs`, one or a list: "write", "add" or "null" (none)."""
    variables, gradients = _listed("variables", variables), _listed("gradients", gradients)
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    for x, g, request in zip(variables, gradients, requests, strict=True):
        if request not in REQUESTS:
            raise ValueError(f"grad_req must be one of {', '.join(map(repr, REQUESTS))}, not {request!r}")
        if g.shape != x.shape or g.dtype != x.dtype:
            raise ValueError(f"a gradient of shape {g.shape} and dtype {g.dtype} "
                             f"for an array of shape {x.shape} and dtype {x.dtype}")
        tape.attach_leaf(x, g, request)


class Function:
    """A function with a gradient of your own: write forward(self, *arrays) and backward(self, *output_gradients).

    Call an instance. Neither is recorded; backward() returns a gradient for each argument of forward(), or None.
    """

    def __init__(self):
        self._saved = ()

    def save_for_backward(self, *arrays):
        """Keep arrays for backward(), where they are `self.saved_tensors`."""
        self._saved = arrays

    @property
    def saved_tensors(self):
        return self._saved

    def forward(self, *inputs):
        raise NotImplementedError("forward()")

    def backward(self, *output_grads):
        raise NotImplementedError("backward()")

    def __call__(self, *inputs):
        with pause(is_training()):
            outputs = self.forward(*inputs)
        if not is_recording():
            return outputs
        several = isinstance(outputs, (list, tuple))

        def joint(g, ans):
            if several:
                g = [np.zeros_like(x) if part is None else part for part, x in zip(g, ans)]
            found = self.backward(*g) if several else self.backward(g)
            found = list(found) if isinstance(found, (list, tuple)) else [found]
            if len(found) != len(inputs):
                raise ValueError(f"{type(self).__name__}.backward() returned {len(found)} gradients, "
                                 f"forward() took {len(inputs)} arguments")
            return found

        slots = [f"argument {i}" for i in range(len(inputs))]
        rule = tape.Rule(type(self).__name__, slots, (), joint, (), "own")
        return tape.record_custom(tuple(outputs) if several else outputs, inputs, rule)
