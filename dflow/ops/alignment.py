"""The loss of sequences whose labels have no places in time: connectionist temporal classification (CTC).

The labels of a sequence make 2 * labels + 1 states: blank, a label, blank, a label, ..., blank. A path through them
stays where it is at each step, or goes to the next state, or from a label past a blank to another label. The loss is
minus the logarithm of the probability of all paths from the first two states to the last two (Graves et al., 2006).

It is one task of NumPy's functions, over all sequences and states at once, on logarithms, of float64.
"""

import numpy

from dflow._array.core import array as as_array
from dflow._tracing.tape import is_recording
from dflow.ops.fallback import stand_in, tasks
from dflow.ops.gathering import sequence_mask
from dflow.ops.nn import check_choice, check_shape, floating, log_softmax_along
from dflow.ops.recurrent import check_sequences
from dflow.ops.table import op, recorded

NEVER = -numpy.inf              # the logarithm of no probability


def _states(label, lengths, classes, blank):
    """Of each state its class, and logarithms: of going to the state after the next; of being an end."""
    n, most = label.shape
    wrong = label[(label < 0) | (label >= classes)]
    if wrong.size:
        raise IndexError(f"label {wrong[0]} is out of bounds for {classes} classes")
    states = numpy.full((n, 2 * most + 1), blank)
    states[:, 1::2] = label
    leaps = numpy.full((n, max(2 * most - 1, 0)), NEVER)
    leaps[:, 1::2] = numpy.where(label[:, 1:] == label[:, :-1], NEVER, 0)
    left = 2 * lengths - numpy.arange(2 * most + 1)
    return states, leaps, numpy.where((left == 0) | (left == 1), 0, NEVER)


def _sum(logs, axis):
    """The logarithm of the sum of what these are the logarithms of."""
    largest = numpy.maximum(logs.max(axis=axis, keepdims=True), numpy.finfo(float).min)
    logs = logs - largest
    return numpy.log(numpy.exp(logs, out=logs).sum(axis=axis)) + largest.squeeze(axis)


def _arriving(paths, leaps):
    """The paths at each state one step later."""
    ways = numpy.full((3, *paths.shape), NEVER)
    ways[0] = paths
    ways[1, :, 1:] = paths[:, :-1]
    ways[2, :, 2:] = paths[:, :-2] + leaps
    return _sum(ways, 0)


@numpy.errstate(all="ignore")
def _aligned(logs, label, data_lengths, label_lengths, blank_first, sloped):
    """The loss of each sequence, and if `sloped`, its gradient: less the share of paths with a class at a step."""
    (steps, n, classes), most, label = logs.shape, label.shape[1], label.astype(numpy.intp)
    if label_lengths is None:
        label_lengths = numpy.logical_and.accumulate(label != (0 if blank_first else -1), axis=1).sum(axis=1)
    lengths = label_lengths.astype(numpy.intp).clip(0, most)[:, None]
    label = numpy.where(numpy.arange(most) < lengths, label, 0)
    states, leaps, ends = _states(label, lengths, classes, 0 if blank_first else classes - 1)
    # Of each step and state, logarithms: its own; of the paths that lead there; `rest`, of those from there to an end.
    own = numpy.take_along_axis(logs, states[None], 2).astype(float)
    paths = own.copy()
    paths[0, :, 2:] = NEVER
    for before, now in zip(paths, paths[1:]):
        now += _arriving(before, leaps)
    last = numpy.full(n, steps) if data_lengths is None else data_lengths.astype(numpy.intp).clip(0, steps)
    total = _sum(numpy.take_along_axis(paths, last[None, :, None] - 1, 0)[0] + ends, 1)
    needed = lengths[:, 0] + ((label[:, 1:] == label[:, :-1]) & (numpy.arange(1, most) < lengths)).sum(axis=1)
    loss = numpy.where(last >= numpy.maximum(needed, 1), -total, 0).astype(logs.dtype)
    if not sloped:
        return [loss]
    total, rest = numpy.where(numpy.isfinite(total), total, 0)[:, None], numpy.full(ends.shape, NEVER)
    for t in reversed(range(steps)):
        rest = numpy.where((last == t + 1)[:, None], ends, _arriving(rest[:, ::-1], leaps[:, ::-1])[:, ::-1])
        paths[t] = numpy.exp(paths[t] + rest - total)
        rest += own[t]
    slopes = numpy.zeros(logs.shape, logs.dtype)
    for state in range(2 * most + 1):
        slopes[:, numpy.arange(n), states[:, state]] -= paths[:, :, state]
    return [loss, slopes]


@recorded
def aligned(logs, label, data_lengths, label_lengths, blank_first, sloped):
    like = [stand_in(logs, logs.shape[1:2]), stand_in(logs)][:1 + sloped]
    return tasks(_aligned, logs, label, data_lengths, label_lengths, blank_first, sloped, like=like)


def _of_lengths(name, lengths, used, n):
    """An array of so many lengths, or None where they are not used."""
    if used != (lengths is not None):
        raise ValueError(f"{name} is missing" if used else f"{name} is given, but use_{name} is False")
    if lengths is None:
        return None
    lengths = as_array(lengths)
    check_shape(name, lengths, (n,))
    return lengths


@op("a, y", "a, y * 0", "a, y, k[1:], use_data_lengths=True", "a, y, l + 2, l, True, True",
    "a, y - 1, blank_label='last'", "a, y - 1, None, l, use_label_lengths=True, blank_label='last'", "a[:3], y",
    "a, y[:, :0]", module="npx", kind="host")
def ctc_loss(data, label, data_lengths=None, label_lengths=None, use_data_lengths=False, use_label_lengths=False,
             blank_label="first"):
    """Connectionist temporal classification: minus the logarithm of the probability of each sequence's labels.

    data, before its softmax, of shape (time, batch, classes). label (batch, labels): classes, padded with 0, the blank,
    or with blank_label="last" with -1, where the last class is the blank. The lengths, of shape (batch,), say how many
    steps and labels are a sequence's. 0, without a gradient, of what is too short for its labels. It is a Python
    function, so no graph() of it is replayed.

    Parameters
    ----------
    data : ndarray
        Of shape (time, batch, classes).
    label : ndarray
        Of shape (batch, labels).
    data_lengths : ndarray, optional
        Of shape (batch,).
    label_lengths : ndarray, optional
        Of shape (batch,).
    use_data_lengths : bool
        Whether `data_lengths` counts.
    use_label_lengths : bool
        Whether `label_lengths` counts.
    blank_label : str
        "first" or "last": which class is the blank.

    Returns
    -------
    ndarray
        Of shape (batch,), and data's dtype.

    Examples
    --------
    >>> print(npx.ctc_loss(np.zeros((3, 1, 2)), np.array([[1]])))
    [0.28768207]
    """
    check_choice("blank_label", blank_label, ("first", "last"))
    x, label = floating(data), as_array(label)
    check_sequences(x)
    n = x.shape[1]
    if label.ndim != 2 or len(label) != n or label.shape[1] > len(x):
        raise ValueError(f"label must have the shape ({n}, labels), with at most {len(x)} labels, not {label.shape}")
    data_lengths = _of_lengths("data_lengths", data_lengths, use_data_lengths, n)
    label_lengths = _of_lengths("label_lengths", label_lengths, use_label_lengths, n)
    if data_lengths is not None:
        x = sequence_mask(x, data_lengths, True)        # what is behind the end may be no number
    logs = log_softmax_along(x, -1)
    return aligned(logs, label, data_lengths, label_lengths, blank_label == "first", is_recording())[0]
