"""Where random transforms draw from: numpy.random, or a stream of the batch that the thread is loading.

The order in which workers load batches depends on timing. So each batch has a stream of its own, of a seed that
numpy.random gave to the epoch: the numbers are the same for any number of workers.
"""

import threading
from contextlib import contextmanager

import dflow.numpy as np


class _Local(threading.local):
    seed = None             # (of the epoch, number of the batch), of the batch that this thread is loading
    generator = None        # made when the batch draws first


_local = _Local()


@contextmanager
def of_batch(*seed):
    """This thread's draws come from a stream of this seed."""
    outside = _local.seed, _local.generator
    _local.seed, _local.generator = seed, None
    try:
        yield
    finally:
        _local.seed, _local.generator = outside


def stream():
    """What to draw from, here and now."""
    if _local.seed is None:
        return np.random
    if _local.generator is None:
        _local.generator = np.random.default_rng(_local.seed)
    return _local.generator


def uniform(low=0.0, high=1.0):
    """A number in [low, high)."""
    return float(stream().uniform(low, high))
