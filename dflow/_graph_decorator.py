"""dflow.graph(): functions that are noted at their first call, and launched without Python from then on."""

import dflow.numpy as np
from dflow._tracing import trace
from dflow._tracing.trace import Graph

__all__ = ["graph"]


def graph(function):
    """Replay a function of arrays: its first call with arrays of some shapes is noted, and later ones launch the same.

    `function` takes arrays, in lists, tuples and dictionaries too, and Python values, and returns arrays likewise. No
    Python code runs from the second call on; results are the same numbers, pending as always, with gradients while
    autograd.record() is on. Other shapes, types or strides, other Python values, recording or training mode make it be
    noted anew.

    What is not among the arguments is taken as it was: a Python number, an attribute, which branch was taken. Arrays
    from outside are read and written where they are, so `w -= w.grad` counts; a name that is another array now does
    not. Random numbers are drawn anew. A function that reads a value (`float(x)`, `if x > 0`, `print(x)`, x[mask]),
    runs Python code on workers, or keeps an array elsewhere cannot be replayed: it runs as written from then on, with
    one RuntimeWarning that says why and where. The same under DFLOW_ENGINE=naive and np.errstate(all="raise"), without.

    Parameters
    ----------
    function : callable

    Returns
    -------
    callable

    Raises
    ------
    TypeError
        Where `function` cannot be called.

    Examples
    --------
    >>> @dflow.graph
    ... def step(x):
    ...     return np.tanh(x) * 2
    >>> x = np.zeros(3)
    >>> print(step(x), step(x + 1))
    [0. 0. 0.] [1.52318831 1.52318831 1.52318831]
    """
    if not callable(function):
        raise TypeError(f"function must be callable, not {function!r}")
    return Graph(function)


graph.__module__ = "dflow"                  # where programs have it from


def _fresh(make):
    return lambda like: make(like.shape, like.dtype)


replay_hooks = trace.table()
replay_hooks.ones = _fresh(np.ones)
replay_hooks.zeros = _fresh(np.zeros)
trace.check_table()
