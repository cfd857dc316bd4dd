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


def __dir__():
    return sorted(__all__)


def is_recording():
    """Whether this thread records operations.

    Returns
    -------
    bool

    Examples
    --------
    >>> autograd.is_recording()
    False
    """
    return tape.is_recording()


def is_training():
    """Whether this thread is in training mode, which dropout and batch normalization ask.

    Returns
    -------
    bool

    Examples
    --------
    >>> with autograd.train_mode():
    ...     autograd.is_training()
    True
    """
    return tape.is_training()


def set_recording(is_record):
    """Record in this thread, or not.

    Parameters
    ----------
    is_record : bool

    Returns
    -------
    bool
        Whether it did.

    Examples
    --------
    >>> autograd.set_recording(True)
    False
    >>> autograd.set_recording(False)
    True
    """
    return tape.switch_recording(bool(is_record))


def set_training(train_mode):
    """Switch this thread's training mode.

    Parameters
    ----------
    train_mode : bool

    Returns
    -------
    bool
        What it was.

    Examples
    --------
    >>> autograd.set_training(True)
    False
    >>> autograd.set_training(False)
    True
    """
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
    """A context in which this thread's operations on arrays with gradients are recorded.

    Parameters
    ----------
    train_mode : bool
        Whether it is in training mode meanwhile.

    Returns
    -------
    context manager

    Examples
    --------
    >>> x = np.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> print(x.grad)
    [2. 4.]
    """
    return _State(True, train_mode)


def pause(train_mode=False):
    """A context in which operations are not recorded, by default outside training mode.

    Parameters
    ----------
    train_mode : bool
        Whether it is in training mode meanwhile.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with autograd.record(), autograd.pause():
    ...     autograd.is_recording()
    False
    """
    return _State(False, train_mode)


def train_mode():
    """A context in training mode; what is recorded does not change.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with autograd.train_mode():
    ...     autograd.is_recording(), autograd.is_training()
    (False, True)
    """
    return _State(None, True)


def predict_mode():
    """A context outside training mode; what is recorded does not change.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with autograd.record(), autograd.predict_mode():
    ...     autograd.is_recording(), autograd.is_training()
    (True, False)
    """
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
    """Compute the gradients of heads, and put them into the arrays that have one attached. Returns at once.

    What was recorded is freed, unless `retain_graph`.

    Parameters
    ----------
    heads : ndarray or list of ndarray
        What was recorded, of any shapes and floating or complex dtypes.
    head_grads : ndarray or list, optional
        The gradients of the heads themselves, each of its head's shape; None, or a None in the list, stands for ones.
    retain_graph : bool
        Keep what was recorded, for another backward().
    train_mode : bool
        The mode in which gradients are computed.

    Raises
    ------
    TypeError
        For heads that are no arrays of dflow's.
    ValueError
        For a head that was not recorded, for gradients of other shapes, and where an array that is needed was written
        to since, with the line.

    Examples
    --------
    >>> x = np.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x ** 3
    >>> autograd.backward(y, np.array([1.0, 10.0]))
    >>> print(x.grad)
    [  3. 120.]
    """
    heads = _listed("heads", heads)
    before = set_training(train_mode)
    try:
        tape.backward(heads, _head_gradients(heads, head_grads), retain_graph)
    finally:
        set_training(before)


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph=False, train_mode=True):
    """The gradients of heads by `variables`: returned, not put anywhere. Returns at once.

    Parameters
    ----------
    heads : ndarray or list of ndarray
        What was recorded.
    variables : ndarray or list of ndarray
        Arrays that have gradients (`x.attach_grad()`).
    head_grads : ndarray or list, optional
        As in backward().
    retain_graph : bool, optional
        Keep what was recorded; `create_graph`, unless given.
    create_graph : bool
        The gradients are recorded, so that there are gradients of them.
    train_mode : bool
        The mode in which gradients are computed.

    Returns
    -------
    list of ndarray
        Each of its variable's shape and dtype; a list for one array, too, as in MXNet, whose programs write
        `grad(y, x)[0]`.

    Raises
    ------
    ValueError
        Where the heads do not depend on one of the variables, and as backward().

    Examples
    --------
    >>> x = np.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x ** 3
    ...     first = autograd.grad(y, x, create_graph=True)[0]
    >>> print(first, autograd.grad(first, x)[0])
    [ 3. 12.] [ 6. 12.]
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
    """Let arrays have gradients, kept in these.

    Parameters
    ----------
    variables : ndarray or list of ndarray
    gradients : ndarray or list of ndarray
        Each of its variable's shape and dtype.
    grad_reqs : str or list of str
        "write", "add" (to what is there) or "null" (none).

    Raises
    ------
    ValueError
        For another request, another shape or dtype, and lists of different lengths.

    Examples
    --------
    >>> x, g = np.array([1.0, 2.0]), np.zeros(2)
    >>> autograd.mark_variables(x, g)
    >>> with autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> print(g)
    [2. 4.]
    """
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

    Raises
    ------
    NotImplementedError
        By a call, without forward(); by the way back, without backward().
    ValueError
        By the way back, where backward() returns too few or too many gradients.

    Examples
    --------
    >>> class Clipped(autograd.Function):
    ...     def forward(self, x):
    ...         self.save_for_backward(x)
    ...         return np.clip(x, 0, 1)
    ...     def backward(self, gradient):
    ...         x, = self.saved_tensors
    ...         return gradient * (x > 0) * 2
    >>> x = np.array([-1.0, 3.0])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = Clipped()(x)
    >>> y.backward()
    >>> print(y, x.grad)
    [0. 1.] [0. 2.]
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
