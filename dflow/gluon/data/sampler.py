"""Samplers: the order in which a loader takes the samples of a data set, as mxnet.gluon.data.sampler."""

import operator

import dflow.numpy as np
from dflow._ranks.place import place

__all__ = ["BatchSampler", "FilterSampler", "IntervalSampler", "RandomSampler", "Sampler", "SequentialSampler",
           "SplitSampler"]


def __dir__():
    return sorted(__all__)


class Sampler:
    """Base class of samplers: an iterable of indices, with a length. Each iteration is an epoch.

    A subclass writes `__iter__` and `__len__`.

    Raises
    ------
    NotImplementedError
        By iter() and len(), of a class that has them not.

    Examples
    --------
    >>> class Backwards(gluon.data.Sampler):
    ...     def __init__(self, length):
    ...         self.length = length
    ...     def __iter__(self):
    ...         return iter(range(self.length)[::-1])
    ...     def __len__(self):
    ...         return self.length
    >>> [x.tolist() for x in gluon.data.DataLoader(np.arange(5), 2, sampler=Backwards(5))]
    [[4, 3], [2, 1], [0]]
    """

    def __iter__(self):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError


class SequentialSampler(Sampler):
    """Indices one after the other.

    Parameters
    ----------
    length : int
        How many.
    start : int
        The first of them.

    Examples
    --------
    >>> list(gluon.data.SequentialSampler(3, start=4))
    [4, 5, 6]
    """

    def __init__(self, length, start=0):
        self._length = length
        self._start = start

    def __iter__(self):
        return iter(range(self._start, self._start + self._length))

    def __len__(self):
        return self._length


class RandomSampler(Sampler):
    """Indices in random order, another one in each epoch; `np.random.seed` decides it.

    Beginning an epoch waits for the permutation.

    Parameters
    ----------
    length : int
        How many: those from 0 to length - 1.

    Examples
    --------
    >>> sampler = gluon.data.RandomSampler(5)
    >>> sorted(sampler)
    [0, 1, 2, 3, 4]
    >>> np.random.seed(1)
    >>> first = list(sampler)
    >>> np.random.seed(1)
    >>> list(sampler) == first
    True
    """

    def __init__(self, length):
        self._length = length

    def __iter__(self):
        return iter(np.random.permutation(self._length).tolist())

    def __len__(self):
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples for which a function is true.

    Each sample is read once, when the sampler is made.

    Parameters
    ----------
    fn : callable
        fn(sample) says whether the sample is taken.
    dataset : Dataset
        The samples: anything with a length and elements.

    Examples
    --------
    >>> list(gluon.data.FilterSampler(lambda x: x > 1, [0, 3, 1, 2]))
    [1, 3]
    """

    def __init__(self, fn, dataset):
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self):
        return iter(self._indices)

    def __len__(self):
        return len(self._indices)


class IntervalSampler(Sampler):
    """Every so many-th index; then those that were left out, likewise.

    Parameters
    ----------
    length : int
        The indices are those below it.
    interval : int
        How far apart: 1 to `length`.
    rollover : bool
        Whether those left out follow; else there is but one pass.

    Raises
    ------
    ValueError
        For an interval out of range.

    Examples
    --------
    >>> list(gluon.data.IntervalSampler(7, 3))
    [0, 3, 6, 1, 4, 2, 5]
    >>> list(gluon.data.IntervalSampler(7, 3, rollover=False))
    [0, 3, 6]
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


class SplitSampler(Sampler):
    """The indices of one of several equal parts: for the loader of each rank of a group, or of any processes.

    In each epoch all parts are cut from one order, a new permutation or that of the indices, as cards are dealt: part i
    has what lies at the places i, i + num_parts, ... So the k-th batches of all parts make up the k-th batch of one
    process, of num_parts times the size, with the same seed. Beginning an epoch waits for the permutation.

    All parts have equally many indices, so that ranks which sum gradients at each batch have equally many of these.

    Parameters
    ----------
    length : int
        The indices are those below it: of all parts together.
    num_parts, part_index : int, optional
        How many parts, and which one, from 0 on. Without both: as many as there are ranks, and that of this rank, in a
        function that dflow.distributed.run() has run, in the thread that makes the sampler; elsewhere the only one.
    shuffle : bool
        Whether each epoch has a permutation of its own.
    seed : int
        Decides the permutations, and must be the same for all parts. np.random.seed has no part in it.
    drop_last : bool
        What if num_parts does not divide length: False, the first ones of the order are dealt once more; True, the last
        ones are left out.

    Raises
    ------
    TypeError
        For a number that is no integer, or only one of num_parts and part_index.
    ValueError
        For a length or seed below 0, less than 1 part, or a part_index out of range.

    Examples
    --------
    >>> [list(gluon.data.SplitSampler(7, 2, part, shuffle=False)) for part in range(2)]
    [[0, 2, 4, 6], [1, 3, 5, 0]]
    >>> [list(gluon.data.SplitSampler(7, 2, part, shuffle=False, drop_last=True)) for part in range(2)]
    [[0, 2, 4], [1, 3, 5]]
    >>> first, second = gluon.data.SplitSampler(6, 2, 0), gluon.data.SplitSampler(6, 2, 1)
    >>> [sorted([*first, *second]) for epoch in range(3)]
    [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]

    The part of each rank, of 32 samples a batch:

    >>> data = gluon.data.ArrayDataset(np.zeros((640, 3)), np.zeros(640))
    >>> batches = gluon.data.DataLoader(data, 32, sampler=gluon.data.SplitSampler(len(data)))
    """

    def __init__(self, length, num_parts=None, part_index=None, shuffle=True, seed=0, drop_last=False):
        if (num_parts is None) != (part_index is None):
            raise TypeError("num_parts and part_index must be given together, or neither: not "
                            f"num_parts={num_parts!r}, part_index={part_index!r}")
        if num_parts is None:
            part_index, num_parts = place()
        self._length = _integer("length", length)
        self._parts = _integer("num_parts", num_parts, least=1)
        self._part = _integer("part_index", part_index)
        if self._part >= self._parts:
            raise ValueError(f"part_index must be between 0 and {self._parts - 1}, for {self._parts} parts, "
                             f"not {self._part}")
        self._shuffle = shuffle
        self._seed = _integer("seed", seed)
        self._each = (self._length + (0 if drop_last else self._parts - 1)) // self._parts
        self._epoch = 0

    def set_epoch(self, epoch):
        """Which epoch comes next, from 0 on; after it the following ones: all parts must be in the same.

        Parameters
        ----------
        epoch : int
            How many have been, as where a program goes on from what it has saved.

        Raises
        ------
        TypeError, ValueError
            For what is no integer, or below 0.

        Examples
        --------
        >>> sampler = gluon.data.SplitSampler(100, 4, 1)
        >>> first, second = list(sampler), list(sampler)
        >>> sampler.set_epoch(1)
        >>> list(sampler) == second != first
        True
        """
        self._epoch = _integer("epoch", epoch)

    def __iter__(self):
        epoch, self._epoch = self._epoch, self._epoch + 1
        places = np.arange(self._part, self._each * self._parts, self._parts, dtype=np.int64)
        if self._each == 0 or not self._shuffle:
            return iter((places % max(self._length, 1)).tolist())
        order = np.random.default_rng([self._seed, epoch]).permutation(self._length)
        return iter(order.take(places, mode="wrap").tolist())

    def __len__(self):
        return self._each


def _integer(name, value, least=0):
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return value


class BatchSampler(Sampler):
    """Lists of indices, those of another sampler.

    Parameters
    ----------
    sampler : Sampler
        Gives the indices: anything iterable with a length.
    batch_size : int
        How many are in a list.
    last_batch : {'keep', 'discard', 'rollover'}
        What becomes of a shorter list at the end: it is given, is dropped, or is put at the beginning of the next
        epoch.

    Raises
    ------
    ValueError
        For a batch_size of less than 1, or another last_batch.

    Examples
    --------
    >>> batches = gluon.data.BatchSampler(gluon.data.SequentialSampler(5), 2, "rollover")
    >>> list(batches)
    [[0, 1], [2, 3]]
    >>> list(batches)
    [[4, 0], [1, 2], [3, 4]]
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
