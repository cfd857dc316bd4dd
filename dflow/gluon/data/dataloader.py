"""DataLoader: batches of a data set, loaded ahead by threads, as mxnet.gluon.data.dataloader."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy

import dflow.numpy as np
from dflow.gluon.data.batchify import Stack, stacked
from dflow.gluon.data.dataset import gather
from dflow.gluon.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from dflow.npx import _draws

__all__ = ["DataLoader", "default_batchify_fn"]


def __dir__():
    return sorted(__all__)


def default_batchify_fn(data):
    """Makes a batch of samples: arrays, lists and numbers stacked, tuples element by element.

    Parameters
    ----------
    data : list
        The samples, of one shape.

    Returns
    -------
    ndarray or list of ndarray
        The batch, or one for each element of the samples.

    Examples
    --------
    >>> gluon.data.dataloader.default_batchify_fn([(1, 2.0), (3, 4.0)])
    [array([1, 3]), array([2., 4.])]
    """
    if isinstance(data[0], tuple):
        return [default_batchify_fn(column) for column in zip(*data, strict=True)]
    return stacked(data)


class DataLoader:
    """Iterates over the batches of a data set; each iteration is an epoch.

    Batches come in their order, and are the same for any number of workers, random transforms of this package included;
    a function of yours that draws from np.random in a worker does so in the order that the workers come to it. What the
    data set or batchify_fn raises is raised where its batch would have come, with a note that names the sample, and
    ends the iteration. Workers end with the iteration, also when it is given up. len() is the number of batches.

    Parameters
    ----------
    dataset : Dataset
        A Dataset, an array, or anything with a length and elements.
    batch_size : int, optional
        How many samples are in a batch: needed, unless there is a batch_sampler.
    shuffle : bool
        Whether they are taken in random order, by RandomSampler.
    sampler : Sampler, optional
        Which are taken, in which order, in place of shuffle.
    last_batch : {'keep', 'discard', 'rollover'}, optional
        What becomes of a shorter batch at the end: see BatchSampler. 'keep' by default.
    batch_sampler : iterable, optional
        Lists of indices, in place of the four above.
    batchify_fn : callable, optional
        Makes a batch of a list of samples: batchify.Stack() by default, which keeps their dtype.
    num_workers : int
        How many threads load batches ahead; 0 loads each batch when it is asked for. They are threads and not
        processes, as MXNet's may be: kernels of dflow hold no GIL, nor do the decoders of images and most of NumPy, and
        nothing has to be pickled or copied.
    pin_memory, pin_device_id : optional
        MXNet's, without effect.
    prefetch : int, optional
        How many batches are loaded ahead at most: 2 * num_workers by default.
    thread_pool : bool
        MXNet's, without effect.
    timeout : float
        Seconds to wait for a batch of the workers.
    try_nopython : bool, optional
        MXNet's, without effect.

    Raises
    ------
    ValueError
        Without batch_size or batch_sampler, for batch_sampler with one of what it stands for, for shuffle with a
        sampler, or for a timeout that is not positive.
    TimeoutError
        By the iteration, for a batch that takes workers longer than `timeout`.

    Examples
    --------
    >>> data = gluon.data.ArrayDataset(np.arange(10.0).reshape(5, 2), np.arange(5))
    >>> for x, y in gluon.data.DataLoader(data, batch_size=2, num_workers=2):
    ...     print(x.shape, y)
    (2, 2) [0 1]
    (2, 2) [2 3]
    (1, 2) [4]
    >>> len(gluon.data.DataLoader(data, batch_size=2, last_batch="discard"))
    2
    """

    def __init__(self, dataset, batch_size=None, shuffle=False, sampler=None, last_batch=None, batch_sampler=None,
                 batchify_fn=None, num_workers=0, pin_memory=False, pin_device_id=0, prefetch=None,
                 thread_pool=False, timeout=120, try_nopython=None):
        if timeout <= 0:
            raise ValueError(f"timeout must be positive, given {timeout}")
        if batch_sampler is None:
            if batch_size is None:
                raise ValueError("batch_size must be specified unless batch_sampler is specified")
            if sampler is None:
                sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
            elif shuffle:
                raise ValueError("shuffle must not be specified if sampler is specified")
            batch_sampler = BatchSampler(sampler, batch_size, last_batch or "keep")
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError("batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is "
                             "specified.")
        self._dataset = dataset
        self._batch_sampler = batch_sampler
        self._batchify = Stack() if batchify_fn is None else batchify_fn
        self._num_workers = max(num_workers, 0)
        self._prefetch = 2 * self._num_workers if prefetch is None else max(int(prefetch), 0)
        self._timeout = timeout

    def __len__(self):
        return len(self._batch_sampler)

    def __iter__(self):
        seed = np.random.randint(2**31)
        jobs = ((indices, (int(seed), number)) for number, indices in enumerate(self._batch_sampler))
        if self._num_workers == 0:
            for job in jobs:
                yield self._load(*job)
            return
        workers = ThreadPoolExecutor(self._num_workers, "dflow-loader")
        try:
            loading = deque()
            for job in jobs:
                loading.append(workers.submit(self._load, *job))
                if len(loading) > self._prefetch:
                    yield self._result(loading.popleft())
            while loading:
                yield self._result(loading.popleft())
        finally:
            # Waiting for them might be for ever: this may run when the garbage is collected, in one of them.
            workers.shutdown(wait=False, cancel_futures=True)

    def _load(self, indices, seed):
        """The batch of these samples, whose random transforms draw from a stream of this seed."""
        if type(self._batchify) is Stack and all(isinstance(index, (int, numpy.integer)) for index in indices):
            try:
                batch = gather(self._dataset, list(indices))
            except Exception:
                batch = None            # it is raised below, where the sample is known
            if batch is not None:
                return batch
        with _draws.of_batch(*seed):
            return self._batchify([self._sample(index) for index in indices])

    def _sample(self, index):
        try:
            return self._dataset[index]
        except Exception as error:
            error.add_note(f"of the sample at index {index}")
            raise

    def _result(self, future):
        try:
            return future.result(self._timeout)
        except TimeoutError:
            if future.done():           # the data set's own
                raise
            raise TimeoutError(f"a batch took the DataLoader's workers more than {self._timeout} seconds; timeout= "
                               "allows for more") from None
