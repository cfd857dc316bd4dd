"""Dask's workers with arrays of dflow's: a task is done when its arrays are there; the wire carries their memory.

In force in a process where `distributed` and dflow are both imported; setup() prepares the workers of a cluster. dflow
never imports distributed.

run() has a function run by several workers at once, the ranks of a *group*, which sum arrays: a store "dist_sync"; what
ranks send each other is in _ranks/exchange, and goes by the workers' own connections. A task hands the numbers to the
worker's event loop as soon as they are there; others, of a lane of its own, wait for what comes back.

No deadlock: ranks submit their sums in one order, and each waits for them in that. Of the sums that ranks wait for let
one be the first in the order. All before it has come to all ranks, so what each hands over for it is computed by lanes
that wait for nothing else, and it comes, too.
"""

import asyncio
import functools
import time
import uuid
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from types import FunctionType, ModuleType

import distributed.worker
import numpy
from dask.system import CPU_COUNT
from distributed import SchedulerPlugin, WorkerPlugin
from distributed.protocol import to_serialize
from distributed.protocol.numpy import deserialize_numpy_ndarray, serialize_numpy_ndarray
from distributed.protocol.serialize import dask_deserialize, dask_serialize
from tornado.ioloop import PeriodicCallback

import dflow.numpy as np
from dflow import engine
from dflow._array.core import is_array, window
from dflow._functions.buffers import adopt
from dflow._functions.host_task import host
from dflow._profile import trace
from dflow._ranks.exchange import Exchange, WorkerLost, portable
from dflow._ranks.model import hosts_of
from dflow._ranks.place import enter, group
from dflow._ranks.store import LANE, start_lane
from dflow._ranks.sums import first, summed
from dflow._remote import answer, devices
from dflow._runtime.errors import duplicate
from dflow.numpy import ndarray

__all__ = ["WorkerLost", "cluster", "profile", "rank", "run", "setup", "size"]


def __dir__():
    return sorted(__all__)


TRIM_MS = 200
BEGIN = 10              # seconds between the opening of a group and the first of its tasks, at most
READ = 30               # seconds for a result that is there; then its worker is looked for
CLOSE = 10              # seconds for workers to hear that a group has ended; who does not is stopped, or gone
VERSION = "__import__('dflow').__version__"     # where dflow is missing, a function of its own could not be loaded


# ---- the cluster -----------------------------------------------------------------------------------------------------

def setup(client, threads=None, memory=0.6):
    """Prepare the workers of a cluster, and those that join later, for arrays of dflow's.

    Each worker process waits for the arrays in a task's result before it says that the task is done: their time is the
    task's, and so are their errors. One process a machine with all of its cores, and few threads of Dask's, is best.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    threads : int, optional
        Threads that compute in each worker process. None: its part of the machine's cores, or as many as it has of
        Dask's, if these are more.
    memory : float
        How much of a worker's memory limit what is pending there may take, above 0, at most 1.

    Returns
    -------
    dict
        For each worker's address the number of its threads and its budget in bytes, or None: it has no memory limit.

    Raises
    ------
    TypeError
        For what is no client, or an asynchronous one.
    ValueError
        For `memory` and `threads` out of range.
    RuntimeError
        Where a worker or the scheduler has no dflow, or another version: it names them. For an unknown version of
        distributed.

    Examples
    --------
    >>> from distributed import Client                                  # doctest: +SKIP
    >>> client = Client(processes=True)                                 # doctest: +SKIP
    >>> dflow.distributed.setup(client)                                 # doctest: +SKIP
    {'tcp://127.0.0.1:40331': (2, 2576980377)}
    """
    _check_client(client)
    if not 0 < memory <= 1:
        raise ValueError(f"memory must be above 0, at most 1, not {memory!r}")
    if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= 256):
        raise ValueError(f"threads must be between 1 and 256, not {threads!r}")
    _check_versions(client)
    if not waits:
        raise RuntimeError(f"distributed {distributed.__version__} is none that dflow knows: 2025.1 or newer, please")
    hosts = hosts_of(sorted(client.nthreads()))         # those of a machine are neighbours then
    client.register_plugin(Setup(threads, memory, max(map(len, hosts), default=1)))
    return client.run(_settings)


def _check_client(client):
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client, not {type(client).__name__}")
    if client.asynchronous:
        raise TypeError("client must not be asynchronous, as Client(asynchronous=True) is: setup() and run() wait")


def _check_versions(client):
    own = eval(VERSION)
    found = client.run(eval, VERSION, on_error="return")
    try:
        found["the scheduler"] = client.run_on_scheduler(eval, VERSION)
    except Exception as error:
        found["the scheduler"] = error
    wrong = [f"{where} has {'no dflow' if isinstance(has, Exception) else f'dflow {has}'}"
             for where, has in found.items() if has != own]
    if wrong:
        raise RuntimeError(f"this process has dflow {own}, but {', '.join(wrong)}")


class Setup(WorkerPlugin):
    """What setup() does in each worker's process."""

    name = "dflow"

    def __init__(self, threads, memory, together):
        """together: how many workers a machine has."""
        self.threads, self.memory, self.together, self.version = threads, memory, together, eval(VERSION)

    def setup(self, worker):
        if self.version != eval(VERSION):       # one that comes later: it does not start
            raise RuntimeError(f"{worker.address} has dflow {eval(VERSION)}, but the client of this cluster "
                               f"{self.version}")
        manager = worker.memory_manager
        limit = manager.memory_limit
        budget = int(self.memory * limit) if limit else None
        threads = self.threads or min(max(worker.state.nthreads, CPU_COUNT // self.together), 256)
        worker.dflow = threads, budget
        engine.set_num_workers(threads)
        if budget:
            engine.set_memory_budget(budget)
            engine.set_cache_limit(limit // 10)
            if "dflow" not in worker.periodic_callbacks:
                timer = worker.periodic_callbacks["dflow"] = PeriodicCallback(functools.partial(_trim, worker), TRIM_MS)
                timer.start()


def _trim(worker):
    """What is kept for arrays to come goes first, before Dask writes chunks to the disk for its sake, or pauses."""
    manager = worker.memory_manager
    most = manager.memory_limit * (manager.memory_target_fraction or manager.memory_spill_fraction or 0.6)
    if worker.monitor.get_process_memory() > most and engine.memory_stats()["cached"]:
        engine.trim()


async def _spill(worker):
    """Write all chunks to the disk, where Dask has one for them. How many it could not write."""
    data = worker.data
    while getattr(data, "fast", None):
        if data.evict() <= 0:
            return len(data.fast)
        await asyncio.sleep(0)
    return 0


def _make_room():
    """For a task that found no memory. How many chunks stay in memory, as the disk does not take them."""
    worker = distributed.get_worker()
    left = asyncio.run_coroutine_threadsafe(_spill(worker), worker.loop.asyncio_loop).result()
    engine.trim()
    return left


def _settings(dask_worker):
    return dask_worker.dflow


def cluster(client):
    """The workers of a cluster as devices, on which arrays may be; dflow.cluster, too.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster: every worker has this version of dflow.

    Returns
    -------
    list of WorkerDevice
        One a worker, by their addresses.

    Raises
    ------
    TypeError
        For what is no client, or an asynchronous one.
    RuntimeError
        Where a worker or the scheduler has no dflow, or another version.

    Examples
    --------
    >>> here, there = dflow.cluster(client)                             # doctest: +SKIP
    >>> x = np.ones(1000, device=here)                                  # doctest: +SKIP
    >>> y = np.sin(x).copyto(there) + 1                                 # doctest: +SKIP
    >>> y.sum().item()                                                  # doctest: +SKIP
    1841.4709848078965
    """
    _check_client(client)
    _check_versions(client)
    name = uuid.uuid4().hex
    client.register_plugin(Tables())
    client.run_on_scheduler(_watch, client.id, name)
    return devices(client, name)


class Tables(WorkerPlugin):
    """Lets workers answer, those that come in the place of others, too."""

    name = "dflow tables"

    def setup(self, worker):
        answer(worker)


class Watch(SchedulerPlugin):
    """Sees a client go, closed or lost, whose arrays on workers nobody can have any more."""

    def __init__(self, client, table):
        self.client, self.table = client, table

    def remove_client(self, scheduler, client):
        if client == self.client:
            scheduler.loop.add_callback(self._drop, scheduler)

    async def _drop(self, scheduler):
        await scheduler.broadcast(msg={"op": "dflow_drop", "name": self.table}, on_error="ignore")
        scheduler.plugins.pop(_name_of(self.table), None)


def _name_of(table):
    return f"dflow {table}"


def _watch(client, table, dask_scheduler):
    dask_scheduler.add_plugin(Watch(client, table), name=_name_of(table))


# ---- what workers do -------------------------------------------------------------------------------------------------

class profile:
    """What the workers of a cluster do within a `with`: a trace of all, for https://ui.perfetto.dev.

    Clocks are the workers' own: those of hosts differ as they are set.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    file : path or open text file, optional
        Where the trace is written at the end, as by dflow.profile(): a process for each worker.
    workers : list of str, optional
        Addresses. None: all workers that are there at the beginning.

    Attributes
    ----------
    workers : dict
        At the end, for each worker's address the list of its engine.Event, in seconds since the first began.

    Raises
    ------
    TypeError
        For what is no client, or an asynchronous one.
    RuntimeError
        At the beginning: a worker is being profiled already.

    Examples
    --------
    >>> with dflow.distributed.profile(client, "trace.json"):           # doctest: +SKIP
    ...     dflow.distributed.run(client, train)
    """

    def __init__(self, client, file=None, workers=None):
        _check_client(client)
        self._client, self._file, self._chosen = client, file, workers
        self.workers = {}

    def __enter__(self):
        begun = self._client.run(_begin_profile, workers=self._chosen, on_error="return")
        self._there = [address for address, error in begun.items() if error is None]
        if len(self._there) < len(begun):
            self._ended()
            raise next(error for error in begun.values() if error is not None)
        return self

    def _ended(self):
        left = self._client.nthreads()
        there = [address for address in self._there if address in left]
        ended = self._client.run(_end_profile, workers=there, on_error="return") if there else {}
        return {address: found for address, found in ended.items() if isinstance(found, tuple)}

    def __exit__(self, kind, error, traceback):
        ended = self._ended()
        first = min((began for began, *_ in ended.values()), default=0)
        for address, (began, events, *_) in ended.items():
            shift = (began - first) / 1e9
            self.workers[address] = [e._replace(start=e.start + shift, stop=e.stop + shift) for e in events]
        if self._file is not None:
            trace.write_merged([((began - first) / 1e3, f"dflow at {address}", made, lost)
                                for address, (began, _, made, lost) in ended.items()], self._file)


async def _begin_profile(dask_worker):
    if getattr(dask_worker, "dflow_profile", None) is not None:
        raise RuntimeError(f"{dask_worker.address} is being profiled already")
    timeline = engine.timeline()
    dask_worker.dflow_profile = 0, timeline

    def begin():
        timeline.__enter__()
        return time.time_ns()

    dask_worker.dflow_profile = await asyncio.to_thread(begin), timeline


async def _end_profile(dask_worker):
    """When it began, by the clock of the day; what happened; that as a trace has it, and how much was lost of it."""
    began, timeline = dask_worker.dflow_profile
    dask_worker.dflow_profile = None
    await asyncio.to_thread(timeline.__exit__, None, None, None)
    return began, list(timeline), list(trace.events(timeline.record)), timeline.record.lost


# ---- results ---------------------------------------------------------------------------------------------------------

PLAIN = {int, float, complex, bool, str, bytes, type(None), type, FunctionType, ModuleType, numpy.ndarray}


def _settled(x):
    """x, when the arrays in it are there: in lists and the like, and in attributes of objects that are pickled by
    these. Raises the error of one that failed."""
    seen, left = set(), [x]
    while left:
        y = left.pop()
        if type(y) in PLAIN or id(y) in seen:
            continue
        if is_array(y):
            y.wait_to_read()
            continue
        seen.add(id(y))
        if isinstance(y, dict):
            left += y
            left += y.values()
        elif isinstance(y, (list, tuple, set, frozenset)):
            left += y
        left += _attributes(y)
    return x


def _attributes(x):
    """Of an object of a Python class that says nothing of how it is pickled."""
    kind = type(x)
    if kind.__reduce_ex__ is not object.__reduce_ex__ or kind.__reduce__ is not object.__reduce__:
        return ()
    slots = (name for each in kind.__mro__ for name in vars(each).get("__slots__", ()))
    return [*getattr(x, "__dict__", {}).values(), *(getattr(x, name, None) for name in slots)]


def _waiting(run):
    @functools.wraps(run)
    def waiting(task, data, *rest):
        def settled(data):
            try:
                return _settled(task(data))
            except MemoryError as error:
                if getattr(error, "once", False):
                    raise
                left = _make_room()
            try:
                return _settled(task(data))
            except MemoryError as error:
                if not left:
                    raise
                raise MemoryError(f"{error}; {left} results of tasks stay in memory, as this worker cannot write them "
                                  "to its disk: its log says why") from error
        return run(settled, data, *rest)
    return waiting


def _awaiting(run):
    @functools.wraps(run)
    async def waiting(task, data, *rest):
        async def settled(data):
            return await asyncio.to_thread(_settled, await task(data))
        return await run(settled, data, *rest)
    return waiting


# A version without these: setup() says so.
waits = hasattr(distributed.worker, "_run_task_simple") and hasattr(distributed.worker, "_run_task_async")
if waits:
    distributed.worker._run_task_simple = _waiting(distributed.worker._run_task_simple)
    distributed.worker._run_task_async = _awaiting(distributed.worker._run_task_async)


# ---- the wire --------------------------------------------------------------------------------------------------------

@dask_serialize.register(ndarray)
def _serialize(x, context=None):
    return serialize_numpy_ndarray(numpy.asarray(x), context)


@dask_deserialize.register(ndarray)
def _deserialize(header, frames):
    """Over the frame; where that is not aligned, over a copy of NumPy's: what arrives is not refused for a budget."""
    x = deserialize_numpy_ndarray(header, frames)
    return np.asarray(adopt(x if x.flags.aligned else x.copy("K"), alone=True))


# ---- groups ----------------------------------------------------------------------------------------------------------

def _group():
    there = group()
    if there is None:
        raise RuntimeError("this is no rank of a group: dflow.distributed.run() has a function run by the workers of a "
                           "cluster")
    return there


def rank():
    """The number of this rank: in a function that run() has run.

    Returns
    -------
    int
        From 0 on.

    Raises
    ------
    RuntimeError
        Elsewhere.

    Examples
    --------
    >>> dflow.distributed.run(client, dflow.distributed.rank)           # doctest: +SKIP
    [0, 1]
    """
    return _group().rank


def size():
    """How many ranks there are: in a function that run() has run.

    Returns
    -------
    int

    Raises
    ------
    RuntimeError
        Elsewhere.

    Examples
    --------
    >>> dflow.distributed.run(client, dflow.distributed.size)           # doctest: +SKIP
    [2, 2]
    """
    return _group().size


def _hand_on(task, came):
    try:
        came.set_result(task.result())
    except CancelledError:
        came.set_exception(RuntimeError("the worker has closed"))
    except BaseException as error:
        came.set_exception(error.with_traceback(None))      # where the loop was is nobody's concern


class Letters:
    """What is sent at once: pickled, with the arrays as they lie."""

    def __init__(self, letters):
        self.letters = letters


class Group:
    """A rank's view of its group."""

    def __init__(self, name, addresses, timeout, worker):
        self.name, self.addresses, self.worker = name, addresses, worker
        self.rank, self.size, self.hosts = addresses.index(worker.address), len(addresses), hosts_of(addresses)
        self.exchange = Exchange(self.rank, addresses, timeout, self._carry)
        self.turn = np.zeros(1, device=LANE)    # written by who waits: one sum after the other, as submitted
        self.opened = time.monotonic()
        self.counts = {}                # of the sums by key: ranks agree by these on what belongs together

    def is_left(self):
        """Whether the task is gone, or never came, in which this rank runs."""
        return time.monotonic() - self.opened > BEGIN and (
            _task_name(self.rank, self.name) not in self.worker.state.tasks)

    def sum(self, key, x, only_first=False, priority=0):
        """A pending array: the sum of the arrays of all ranks, or that of the first."""
        count = self.counts[key] = self.counts.get(key, -1) + 1
        came, out = Future(), np.empty(x.shape, x.dtype, device=LANE)
        given, room = x.copy(), np.empty(x.size, x.dtype)       # of memory that is kept: the system's is slower

        def send(error):
            try:
                hand_over(window(given) if error is None else self._handed_over(key, given, error))
            except BaseException as failed:         # else the others, and this lane, would wait for ever
                came.set_exception(failed)
                self.worker.loop.add_callback(self.exchange.fail, portable(failed))

        def hand_over(given):
            sums = None if isinstance(given, BaseException) else window(room, write=True)
            task = asyncio.run_coroutine_threadsafe(self._sum(key, count, given, sums, only_first, priority),
                                                    self.worker.loop.asyncio_loop)
            task.add_done_callback(lambda task: _hand_on(task, came))

        kept = [given, room]            # until what is sent of them has been taken

        def wait(_error):
            came.exception()
            if self.exchange.lost is not None:      # an error of all that follows: told once
                raise duplicate(self.exchange.lost)     # which gets notes; itself it may yet be sent

        def take(_error):
            if came.exception() is not None:
                raise duplicate(came.exception())
            window(out, write=True)[...] = came.result()
            kept.clear()

        host(send, [given], [], always=True)
        host(wait, [self.turn], [self.turn])
        host(take, [self.turn], [out])
        return out

    def _handed_over(self, key, given, error):
        """An array's error, as all ranks are to raise it."""
        try:
            given.wait_to_read()                # it is there: so its error counts as read
        except Exception as raised:
            error = raised                      # a copy
        error.add_note(f"handed over by rank {self.rank} at {self.addresses[self.rank]} for the sum of {key!r}")
        return error

    async def _sum(self, key, count, x, sums, only_first, priority):
        failed = isinstance(x, BaseException)
        about = x if failed else (x.shape, x.dtype.str)

        async def body(s):
            if failed:
                raise x
            await (first if only_first else summed)(s, x.reshape(-1), sums, self.hosts)
            return sums.reshape(x.shape)

        return await self.exchange.sum(key, count, about, body, priority)

    async def _carry(self, rank, letters):
        there = self.worker.rpc(self.addresses[rank])
        await there.dflow_deliver(group=self.name, letters=to_serialize(Letters(letters)))


_open_here = {}         # the address of the worker of this process that is a rank, by the group's name


async def _open(name, addresses, timeout, dask_worker):
    groups = dask_worker.__dict__.setdefault("dflow_groups", {})
    for old in [old for old, there in groups.items() if there.is_left()]:       # whose client is gone
        await _close(old, dask_worker)
    if groups:
        raise RuntimeError(f"{dask_worker.address} is a rank of another group, which has not ended")
    if _open_here:
        raise RuntimeError(f"{dask_worker.address} is in one process with {', '.join(_open_here.values())}: ranks need "
                           "processes of their own, as of LocalCluster(processes=True)")
    groups[name] = Group(name, addresses, timeout, dask_worker)
    _open_here[name] = dask_worker.address

    async def deliver(group, letters):
        """What another rank sends; of a group that has ended nothing is kept."""
        if group in groups:
            groups[group].exchange.arrived(letters.letters)

    dask_worker.handlers.setdefault("dflow_deliver", deliver)


async def _close(name, dask_worker, error=None):
    group = dask_worker.__dict__.get("dflow_groups", {}).pop(name, None)
    if group is not None:
        _open_here.pop(name, None)
        group.exchange.fail(error or RuntimeError("the group has ended"))


def _as_rank(name, rank, fn, args):
    worker = distributed.get_worker()
    there = worker.__dict__.get("dflow_groups", {}).get(name)
    if there is None:                           # another process, at the same address; or nobody listens any more
        raise WorkerLost(rank, worker.address)
    start_lane()
    enter(there)
    try:
        return _settled(fn(*args))
    except MemoryError as error:
        error.once = True               # what it has summed cannot be summed again
        raise
    finally:
        enter(None)


def run(client, fn, *args, workers=None, timeout=300):
    """Have workers of a cluster run a function at once, as the ranks of a group, which may sum arrays.

    In the function rank() and size() tell who it is, and kvstore.create("dist_sync") makes a store that sums over all
    ranks, for gluon.Trainer(kvstore="dist_sync"), too. Ranks must hand over the same keys in the same order. Waits.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster, which setup() has prepared.
    fn : callable
        What each rank calls, fn(*args).
    *args
        Its arguments.
    workers : list of str, optional
        Addresses, in the order of the ranks. None: all workers.
    timeout : float
        Seconds that a rank waits for another one at a sum.

    Returns
    -------
    list
        What the function returned, by rank.

    Raises
    ------
    TypeError
        For what is no client, or an asynchronous one.
    ValueError
        For no workers, and such as are not there; for a timeout that is not above 0.
    RuntimeError
        Where a worker is a rank already.
    WorkerLost
        Where a worker is gone: it names it, and is raised by all other ranks at their sums.
    Exception
        What a rank raises; the others are cancelled.

    Examples
    --------
    >>> def total():                                                    # doctest: +SKIP
    ...     x = np.full(2, dflow.distributed.rank() + 1.0)
    ...     dflow.kvstore.create("dist_sync").pushpull("x", x)
    ...     return x
    >>> dflow.distributed.run(client, total)                            # doctest: +SKIP
    [array([3., 3.]), array([3., 3.])]
    """
    _check_client(client)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be a number, not {timeout!r}")
    if not timeout > 0:
        raise ValueError(f"timeout must be above 0, not {timeout!r}")
    there = sorted(client.nthreads())
    addresses = there if workers is None else list(workers)
    if len(set(addresses)) < len(addresses):
        raise ValueError(f"workers must be different ones, not {addresses}: a worker is one rank")
    missing = [repr(address) for address in addresses if address not in there]
    if missing or not addresses:
        raise ValueError(f"workers must be addresses of workers of the cluster, not {', '.join(missing) or 'none'}")
    name, futures, error = uuid.uuid4().hex, [], None
    try:
        client.run(_open, name, addresses, timeout, workers=addresses)
        futures += [client.submit(_as_rank, name, i, fn, args, workers=[address], allow_other_workers=False, pure=False,
                                  retries=0, key=_task_name(i, name)) for i, address in enumerate(addresses)]
        results, error = _watched(client, futures, addresses)
        if error is not None:
            raise error
        return results
    finally:
        with suppress(OSError):                     # the scheduler is gone: the workers close; or one does not answer
            client.cancel(futures, force=True)
            there = client.nthreads()               # scheduler_info() may have none, while the client renews it
            left = [address for address in addresses if address in there]
            if left:
                client.sync(client._run, _close, name, workers=left, error=error, callback_timeout=CLOSE)


def _task_name(rank, name):
    return f"dflow-rank-{rank}-{name}"


def _watched(client, futures, addresses):
    """What all ranks return, and None; or None, and the error of the first that fails, or is lost, or of the scheduler.
    """
    gone = ConnectionError(f"the scheduler at {client.scheduler.address} is gone")
    results = {}
    try:
        while len(results) < len(futures):
            there = client.nthreads()
            for i in set(range(len(futures))) - results.keys():
                if addresses[i] not in there:
                    return None, WorkerLost(i, addresses[i])
            waiting = [future for i, future in enumerate(futures) if i not in results]
            with suppress(TimeoutError):
                distributed.wait(waiting, timeout=0.2, return_when="FIRST_COMPLETED")
            for i, future in enumerate(futures):
                if i in results or not future.done():
                    continue
                if future.status != "finished":
                    return None, future.exception()
                with suppress(TimeoutError):            # its worker may be gone by now
                    results[i] = future.result(READ)
    except (OSError, CancelledError) as error:
        return None, error if isinstance(error, CancelledError) and client.status == "running" else gone
    return [results[i] for i in range(len(futures))], None
