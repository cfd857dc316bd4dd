"""Dask's workers with arrays of ours, on clusters of processes: tasks that end when their arrays are there, errors,
arrays over the wire, workers that die, workers without dflow."""

import os
import signal
import time

import numpy
import pytest
from engines import HANG

import dflow
import dflow.numpy as np

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.once,
              pytest.mark.filterwarnings("ignore::ResourceWarning"),        # of distributed's own sockets
              pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


def cluster(**keywords):
    """Two processes of two threads each."""
    return distributed.LocalCluster(**{"n_workers": 2, "threads_per_worker": 2, "processes": True,
                                       "dashboard_address": None, "memory_limit": "1GB", **keywords})


@pytest.fixture(scope="module")
def client():
    with cluster() as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        yield client


def addresses(client):
    return list(client.scheduler_info(n_workers=-1)["workers"])


# ---- setup -----------------------------------------------------------------------------------------------------------

def test_setup(client):
    for threads, memory, want in (3, 0.5, (3, 500_000_000)), (None, 0.6, (2, 600_000_000)):
        assert dflow.distributed.setup(client, threads, memory) == dict.fromkeys(addresses(client), want)
        assert {*client.run(dflow.engine.num_workers).values()} == {want[0]}
        assert {budget["memory_budget"] for budget in client.run(dflow.engine.config).values()} == {want[1]}


@pytest.mark.parametrize("args, error, text", [
    ((None,), TypeError, "client must be a distributed.Client, not NoneType"),
    ((0, 0.5), ValueError, "threads must be between 1 and 256, not 0"),
    ((None, 0), ValueError, "memory must be above 0, at most 1, not 0"),
    ((None, 1.5), ValueError, "memory must be above 0, at most 1, not 1.5"),
])
def test_setup_refuses(client, args, error, text):
    with pytest.raises(error, match=text):
        dflow.distributed.setup(*(args if error is TypeError else (client, *args)))


def test_another_version(client, monkeypatch):
    monkeypatch.setattr(dflow, "__version__", "9.9")
    with pytest.raises(RuntimeError, match="this process has dflow 9.9, but") as caught:
        dflow.distributed.setup(client)
    for where in addresses(client):                 # the scheduler is in this process
        assert f"{where} has dflow 0." in str(caught.value)


def test_a_worker_without_dflow():
    with cluster(n_workers=1, preload="import sys; sys.modules['dflow'] = None") as made:
        with distributed.Client(made) as client:
            where, = addresses(client)
            with pytest.raises(RuntimeError, match=f", but {where} has no dflow$"):
                dflow.distributed.setup(client)


# ---- results ---------------------------------------------------------------------------------------------------------

def slow(seconds, wrap=None):
    x = dflow.engine.sleep(np.ones(3), seconds) + 1
    return x if wrap is None else [0, {"a": (x,)}]


async def slow_coroutine(seconds):
    return slow(seconds)


def spans_of(key, dask_worker):
    """What a worker did for a task, and when."""
    task = dask_worker.state.tasks.get(key)
    return [] if task is None else list(task.startstops)


@pytest.mark.parametrize("function, args", [(slow, (0.5,)), (slow, (0.5, True)), (slow_coroutine, (0.5,))],
                         ids=["array", "nested", "coroutine"])
def test_a_task_is_done_when_its_arrays_are(client, function, args):
    future = client.submit(function, *args, pure=False)
    result = future.result(HANG)
    assert "2." in str(result) and "pending" not in str(result)
    spans = [span for found in client.run(spans_of, future.key).values() for span in found]
    assert [span["stop"] - span["start"] > 0.45 for span in spans if span["action"] == "compute"] == [True]


def fails():
    return np.linalg.inv(dflow.engine.sleep(np.zeros((200, 200)), 0.1))


def test_an_error_is_the_tasks(client):
    first = client.submit(fails, pure=False)
    second = client.submit(lambda x: x + 1, first)
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix") as caught:
        second.result(HANG)
    assert any("inv" in note and "test_distributed.py" in note for note in caught.value.__notes__)
    assert first.status == second.status == "error"


# ---- the wire --------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "C order": lambda x: x, "F order": lambda x: x.T, "strided": lambda x: x[::2, ::3], "backwards": lambda x: x[::-1],
    "nothing": lambda x: x[:0], "one": lambda x: x[:1, :1], "no axes": lambda x: np.array(x[0, 0]),
    "repeated": lambda x: np.broadcast_to(x[0], (50, x.shape[1])), "pending": lambda x: x + dflow.engine.sleep(x, 0.05),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "i8", "u1", "?"])
def test_arrays_over_the_wire(client, dtype):
    """There and back, and from one worker to the other: the same elements, of the same type, and nothing is shared."""
    here, there = addresses(client)
    numbers = numpy.random.default_rng(1).integers(0, 100, (41, 30)).astype(dtype)
    for name, of in LAYOUTS.items():
        x = of(np.array(numbers))
        want = x.asnumpy()
        sent = client.scatter(x, workers=[here], hash=False)
        passed = client.submit(lambda x: x, sent, workers=[there], pure=False)
        kind = client.submit(lambda x: type(x) is np.ndarray, passed, workers=[here], pure=False)
        got = passed.result(HANG)
        assert kind.result(HANG) and type(got) is np.ndarray, name
        assert got.dtype == dtype and numpy.array_equal(got.asnumpy(), want), name
        if name == "C order":
            got += got
            assert numpy.array_equal(sent.result(HANG).asnumpy(), want)


def test_large_arrays(client):
    here, there = addresses(client)
    made = client.submit(lambda: np.arange(4_000_000.0) * 2, workers=[here])
    total = client.submit(lambda x: (type(x) is np.ndarray, float(x.sum())), made, workers=[there])
    assert total.result(HANG) == (True, 4_000_000.0 * 3_999_999)


def test_an_array_of_dasks(client):
    with dask.config.set({"array.backend": "dflow"}):
        x = da.random.default_rng(0).random((600, 600), chunks=150)
    got = ((x - x.mean()) / x.std()).sum(axis=0).compute()
    want = x.compute(scheduler="sync").asnumpy()
    assert type(got) is np.ndarray
    numpy.testing.assert_allclose(got.asnumpy(), ((want - want.mean()) / want.std()).sum(axis=0), atol=1e-9)


# ---- faults ----------------------------------------------------------------------------------------------------------

def chunk(i):
    return dflow.engine.sleep(np.full(1000, i), 0.02) * 2


def test_a_worker_that_is_killed():
    """Dask computes what it had again, on the other, or the one that takes its place."""
    with cluster() as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        total = client.submit(sum, client.map(chunk, range(60)))
        victim = next(iter(client.run(os.getpid).values()))
        time.sleep(0.3)
        os.kill(victim, signal.SIGKILL)
        assert total.result(HANG).tolist() == [2 * sum(range(60))] * 1000
