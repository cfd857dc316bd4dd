"""Host tasks: Python functions that run on a worker when their arrays are there."""

from types import GenericAlias

from dflow._array import core
from dflow._array.core import is_array
from dflow._functions.host_task import failure, host
from dflow.ops.defaults import described

__all__ = ["Future", "submit"]


class Future:
    """What a host task will return: result() waits for it, `await` too. submit() makes it.

    Examples
    --------
    >>> future = dflow.submit(sum, [1, 2, 3])
    >>> future.result(), future.done()
    (6, True)
    """

    def __init__(self, state):
        self._state = state
        self._value = None

    def done(self):
        """Whether the task has ended, well or badly."""
        return self._state.is_ready()

    def result(self):
        """The task's return value. Waits for it; raises what the task raised."""
        self._state.wait_to_read()
        return self._value

    def __await__(self):
        yield from wait_async(self._state).__await__()
        return self.result()

    __class_getitem__ = classmethod(GenericAlias)       # Future[int], in annotations

    def __repr__(self):
        error = failure(self._state)
        if error is not None:
            return f"<Future failed: {described(error)}>"
        return f"<Future {'done' if self.done() else 'pending'}>"


def submit(fn, *args, shape=None, dtype=None, **kwargs):
    """Run fn(*args, **kwargs) on a worker once its arrays are computed; returns at once.

    What fn raises is raised by whoever reads the result. fn may submit more work, not wait for any.

    Parameters
    ----------
    fn : callable
    *args, **kwargs
        Arrays among them, of any shape and dtype, reach fn as read-only NumPy arrays over the same memory: no copy.
    shape : int or tuple of int, optional
        The result is a pending array of that shape, which takes fn's return value.
    dtype : dtype, optional
        Of that array: float64 unless given.

    Returns
    -------
    Future or ndarray
        A Future, without `shape`.

    Raises
    ------
    TypeError
        Where fn cannot be called, and for a dtype without a shape.

    Examples
    --------
    >>> import numpy
    >>> x = np.arange(6.0)
    >>> y = dflow.submit(numpy.cumsum, x, shape=x.shape)
    >>> print(y + 1)
    [ 1.  2.  4.  7. 11. 16.]
    """
    if not callable(fn):
        raise TypeError(f"fn must be callable, not {fn!r}")
    if shape is None and dtype is not None:
        raise TypeError("dtype is given, but not shape: a task without a shape returns a Future")
    reads = [x for x in (*args, *kwargs.values()) if is_array(x)]
    out = core.empty((), bool) if shape is None else core.empty(shape, float if dtype is None else dtype)
    future = Future(out) if shape is None else None

    def task(_error):
        value = fn(*map(_unwrap, args), **{name: _unwrap(x) for name, x in kwargs.items()})
        if future is not None:
            future._value = value
        else:
            core.window(out, write=True)[...] = _unwrap(value)

    host(task, reads, [out])
    return out if future is None else future


def _unwrap(x):
    return core.window(x) if is_array(x) else x


async def wait_async(array):
    """Wait for an array without blocking the event loop: a host task wakes the loop up."""
    if not array.is_ready():
        import asyncio  # slow to load, and loaded already by whoever awaits

        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def wake(_error):
            try:
                loop.call_soon_threadsafe(_set, done)
            except RuntimeError:
                if not loop.is_closed():  # or nobody waits any more
                    raise

        host(wake, [array], [], always=True)
        await done
    array.wait_to_read()
    return array


def _set(future):
    if not future.done():
        future.set_result(None)
