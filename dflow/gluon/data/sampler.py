"""Samplers: the order in which a loader takes the samples of a data set, as mxnet.gluon.data.sampler."""

import dflow.numpy as np

__all__ = ["BatchSampler", "FilterSampler", "IntervalSampler", "RandomSampler", "Sampler", "SequentialSampler"]


def __dir__():
    return sorted(__all__)


class Sampler:
    """Base class: an iterable of indices, with a length. Each iteration is an epoch."""

    def __iter__(self):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError


class SequentialSampler(Sampler):
    """`length` indices from `start` on, one after the other."""

    def __init__(self, length, start=0):
        self._length = length
        self._start = start

    def __iter__(self):
        return iter(range(self._start, self._start + self._length))

    def __len__(self):
        return self._length


class RandomSampler(Sampler):
    """The indices below `length` in random order, another one in each epoch; `np.random.seed` decides it."""

    def __init__(self, length):
        self._length = length

    def __iter__(self):
        return iter(np.random.permutation(self._length).tolist())

    def __len__(self):
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples of `dataset` for which fn(sample) is true. Each sample is read once, at the making."""

    def __init__(self, fn, dataset):
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self):
        return iter(self._indices)

    def __len__(self):
        return len(self._indices)


class IntervalSampler(Sampler):
    """Every `interval`-th index below `length`; then, if `rollover`, those that were left out, likewise.

    >>> list(IntervalSampler(7, 3))
    [0, 3, 6, 1, 4, 2, 5]
    """

    def __init__(self, length, interval, rollover=True):
        if not 0 < interval <= length:
            raise ValueError(f"interval must be between 1 and the length {length}, not {interval}")
        self._length = length
        self._interval = interval
        self._starts = range(interval if rollover else 1)

    def __iter__(self):
        return (i for start in self._starts for i in range(start, self._length, self._interval))

    def __len__(self):
        return sum(len(range(start, self._length, self._interval)) for start in self._starts)


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler.

    last_batch says what becomes of a shorter one at the end: 'keep' gives it, 'discard' drops it, 'rollover' puts it
    at the beginning of the next epoch.
    """

    def __init__(self, sampler, batch_size, last_batch="keep"):
        if last_batch not in ("keep", "discard", "rollover"):
            raise ValueError(f"last_batch must be one of 'keep', 'discard', or 'rollover', but got {last_batch}")
        if batch_size < 1:
            raise ValueError(f"batch_size must be positive, not {batch_size}")
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._rest = []

    def __iter__(self):
        batch, self._rest = self._rest, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._rest = batch

    def __len__(self):
        short = self._batch_size - 1 if self._last_batch == "keep" else 0
        return (len(self._rest) + len(self._sampler) + short) // self._batch_size
