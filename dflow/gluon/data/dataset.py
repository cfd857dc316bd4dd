"""Data sets: what has a length and samples, as mxnet.gluon.data.dataset."""

import numpy

from dflow._array.core import is_array
from dflow.gluon._missing import missing
from dflow.gluon.data.batchify import as_array
from dflow.gluon.data.sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "Dataset", "SimpleDataset"]

__getattr__ = missing(__name__, "RecordFileDataset")


def __dir__():
    return sorted(__all__)


def gather(data, indices):
    """The batch that Stack makes of these samples, by one operation on each array; None where that cannot be."""
    if is_array(data):
        return data[indices]
    if isinstance(data, numpy.ndarray):
        return as_array(data[indices]) if data.dtype.kind in "biufc" else None
    return data._gather(indices) if isinstance(data, Dataset) else None


def takes_batches(fn):
    """Whether fn of an array of stacked images is what it makes of each, stacked: its class, not a base, says so."""
    method = vars(type(fn)).get("of_batches")
    return method is not None and method(fn)


class Dataset:
    """Base class of data sets: `__getitem__(index)` gives a sample, often a tuple, `__len__()` says how many there are.

    Its methods make other data sets of it: filter, shard, take, sample, transform and transform_first. A loader takes
    anything with the two methods above, an array too.

    Raises
    ------
    NotImplementedError
        By indexing and len(), of a class that has them not.

    Examples
    --------
    >>> class Squares(gluon.data.Dataset):
    ...     def __len__(self):
    ...         return 6
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> list(Squares().filter(lambda x: x % 2 == 0).transform(lambda x: x / 2))
    [0.0, 2.0, 8.0]
    >>> list(Squares().shard(num_shards=4, index=0)), list(Squares().take(3))
    ([0, 1], [0, 1, 4])
    """

    def __getitem__(self, idx):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def _gather(self, indices):
        return None

    def filter(self, fn):
        """The samples for which fn(sample) is true. Each is read once, now."""
        return self.sample(FilterSampler(fn, self))

    def shard(self, num_shards, index):
        """Part `index` of `num_shards` of the samples, in their order; the first parts may have one more."""
        if not 0 <= index < num_shards:
            raise ValueError(f"shard index out of bounds: {index} of {num_shards}")
        size, more = divmod(len(self), num_shards)
        return self.sample(SequentialSampler(size + (index < more), size * index + min(index, more)))

    def take(self, count):
        """The first `count` samples, or as many as there are; all of them if it is None."""
        length = len(self)
        return self.sample(SequentialSampler(length if count is None else min(count, length)))

    def sample(self, sampler):
        """The samples in the order of a Sampler, which is asked once, now."""
        if not isinstance(sampler, Sampler):
            raise TypeError(f"a gluon.data.Sampler is expected, not {type(sampler)}")
        return _Sampled(self, sampler)

    def transform(self, fn, lazy=True):
        """fn(sample) for each sample, fn(*sample) where it is a tuple.

        Made when a sample is asked for, so random functions differ from epoch to epoch; at once if not `lazy`.
        """
        transformed = _Transformed(self, fn)
        return transformed if lazy else SimpleDataset([transformed[i] for i in range(len(self))])

    def transform_first(self, fn, lazy=True):
        """As transform, of the first element of each sample: the others, labels mostly, stay as they are."""
        return self.transform(_First(fn), lazy)


class _Sampled(Dataset):
    def __init__(self, dataset, sampler):
        self._dataset = dataset
        self._indices = list(sampler)

    def __len__(self):
        return len(self._indices)

    def __getitem__(self, idx):
        return self._dataset[self._indices[idx]]

    def _gather(self, indices):
        return gather(self._dataset, [self._indices[i] for i in indices])


class _Transformed(Dataset):
    def __init__(self, dataset, fn):
        self._dataset = dataset
        self._fn = fn

    def __len__(self):
        return len(self._dataset)

    def __getitem__(self, idx):
        sample = self._dataset[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)

    def _gather(self, indices):
        batch = gather(self._dataset, indices) if takes_batches(self._fn) else None
        columns = batch if isinstance(batch, list) else [batch]
        if getattr(columns[0], "ndim", None) != 4:
            return None
        made = self._fn(*columns)
        return list(made) if isinstance(made, tuple) else made


class _First:
    """A function of a sample that changes its first element; a class, so that it can be pickled."""

    def __init__(self, fn):
        self._fn = fn

    def __call__(self, first, *others):
        return (self._fn(first), *others) if others else self._fn(first)

    def of_batches(self):
        return takes_batches(self._fn)


class SimpleDataset(Dataset):
    """A list, an array, or anything else with a length and elements, as a data set.

    Parameters
    ----------
    data : sequence
        The samples.

    Examples
    --------
    >>> words = gluon.data.SimpleDataset(["one", "two", "three"])
    >>> len(words), words[2]
    (3, 'three')
    >>> list(words.transform(len))
    [3, 3, 5]
    """

    def __init__(self, data):
        self._data = data

    def __len__(self):
        return len(self._data)

    def __getitem__(self, idx):
        return self._data[idx]

    def _gather(self, indices):
        return gather(self._data, indices)


class ArrayDataset(Dataset):
    """Samples (a[i], b[i], ...) of arrays, lists or data sets of one length; a[i], if there is but one.

    Parameters
    ----------
    *args : sequence
        What has elements and a length. One at least.

    Raises
    ------
    ValueError
        For none, or for different lengths.

    Examples
    --------
    >>> data = gluon.data.ArrayDataset(np.arange(6).reshape(3, 2), ["a", "b", "c"])
    >>> len(data), data[1]
    (3, (array([2, 3]), 'b'))
    >>> data.transform_first(lambda x: x * 10)[2]
    (array([40, 50]), 'c')
    """

    def __init__(self, *args):
        if not args:
            raise ValueError("ArrayDataset needs at least one array")
        self._length = len(args[0])
        for i, data in enumerate(args):
            if len(data) != self._length:
                raise ValueError(f"all arrays must have the same length: array[0] has {self._length}, "
                                 f"array[{i}] has {len(data)}")
        self._data = args

    def __len__(self):
        return self._length

    def __getitem__(self, idx):
        sample = tuple(data[idx] for data in self._data)
        return sample if len(sample) > 1 else sample[0]

    def _gather(self, indices):
        batch = [gather(data, indices) for data in self._data]
        if any(array is None for array in batch):
            return None
        return batch if len(batch) > 1 else batch[0]
