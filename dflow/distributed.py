"""Dask's workers with arrays of dflow's: a task is done when its arrays are there; the wire carries their memory.

In force in a process where `distributed` and dflow are both imported; setup() prepares the workers of a cluster. dflow
never imports distributed.
"""

import asyncio
import functools

import distributed.worker
import numpy
from distributed import WorkerPlugin
from distributed.protocol.numpy import deserialize_numpy_ndarray, serialize_numpy_ndarray
from distributed.protocol.serialize import dask_deserialize, dask_serialize

import dflow.numpy as np
from dflow import engine
from dflow._array.core import is_array
from dflow._functions.buffers import adopt
from dflow.numpy import ndarray

__all__ = ["setup"]

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
        Threads that compute in each worker process. None: as many as the worker has of Dask's.
    memory : float
        How much of a worker's memory limit what is pending there may take, above 0, at most 1.

    Returns
    -------
    dict
        For each worker's address the number of its threads and its budget in bytes, or None: it has no memory limit.

    Raises
    ------
    TypeError
        For what is no client.
    ValueError
        For `memory` and `threads` out of range.
    RuntimeError
        Where a worker or the scheduler has no dflow, or another version: it names them.

    Examples
    --------
    >>> from distributed import Client                                  # doctest: +SKIP
    >>> client = Client(processes=True)                                 # doctest: +SKIP
    >>> dflow.distributed.setup(client)                                 # doctest: +SKIP
    {'tcp://127.0.0.1:40331': (2, 2576980377)}
    """
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client, not {type(client).__name__}")
    if not 0 < memory <= 1:
        raise ValueError(f"memory must be above 0, at most 1, not {memory!r}")
    if threads is not None and not 1 <= threads <= 256:
        raise ValueError(f"threads must be between 1 and 256, not {threads!r}")
    _check_versions(client)
    client.register_plugin(Setup(threads, memory))
    return client.run(_settings)


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

    def __init__(self, threads, memory):
        self.threads, self.memory = threads, memory

    def setup(self, worker):
        limit = worker.memory_manager.memory_limit
        budget = int(self.memory * limit) if limit else None
        worker.dflow = self.threads or worker.state.nthreads, budget
        engine.set_num_workers(worker.dflow[0])
        if budget:
            engine.set_memory_budget(budget)


def _settings(dask_worker):
    return dask_worker.dflow


# ---- results ---------------------------------------------------------------------------------------------------------

def _settled(x):
    """x, when the arrays in it are there. Raises the error of one that failed."""
    if is_array(x):
        x.wait_to_read()
    elif isinstance(x, dict):
        _settled([*x, *x.values()])
    elif isinstance(x, (list, tuple, set, frozenset)):
        for y in x:
            _settled(y)
    return x


def _waiting(run):
    @functools.wraps(run)
    def waiting(task, data, *rest):
        return run(lambda data: _settled(task(data)), data, *rest)
    return waiting


def _awaiting(run):
    @functools.wraps(run)
    async def waiting(task, data, *rest):
        async def settled(data):
            return await asyncio.to_thread(_settled, await task(data))
        return await run(settled, data, *rest)
    return waiting


distributed.worker._run_task_simple = _waiting(distributed.worker._run_task_simple)
distributed.worker._run_task_async = _awaiting(distributed.worker._run_task_async)


# ---- the wire --------------------------------------------------------------------------------------------------------

@dask_serialize.register(ndarray)
def _serialize(x, context=None):
    return serialize_numpy_ndarray(numpy.asarray(x), context)


@dask_deserialize.register(ndarray)
def _deserialize(header, frames):
    return np.asarray(adopt(deserialize_numpy_ndarray(header, frames)))     # a copy where a frame is not aligned
