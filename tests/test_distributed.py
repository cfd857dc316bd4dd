"""Dask's workers with arrays of ours, on clusters of processes: tasks that end when their arrays are there, errors,
arrays over the wire, workers that die, workers without dflow; groups of workers that sum, and train."""

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest
from engines import HANG, poll

import dflow
import dflow.numpy as np
from dflow import autograd, gluon, kvstore
from dflow._ranks import place

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")      # which distributed needs
to_serialize = pytest.importorskip("distributed.protocol").to_serialize

pytestmark = [pytest.mark.once,
              pytest.mark.filterwarnings("ignore::ResourceWarning"),        # of distributed's own sockets
              pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


def cluster(**keywords):
    """Three processes of two threads each."""
    return distributed.LocalCluster(**{"n_workers": 3, "threads_per_worker": 2, "processes": True,
                                       "dashboard_address": ":0", "memory_limit": "1GB", **keywords})


@pytest.fixture(scope="module")
def client():
    with cluster() as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        yield client


def addresses(client):
    return list(client.nthreads())


# ---- setup -----------------------------------------------------------------------------------------------------------

def test_setup(client):
    cores = max(2, dask.system.CPU_COUNT // 3)          # of each worker: the machine has three
    for threads, memory, want in (3, 0.5, (3, 500_000_000)), (None, 0.6, (cores, 600_000_000)):
        assert dflow.distributed.setup(client, threads, memory) == dict.fromkeys(addresses(client), want)
        assert {*client.run(dflow.engine.num_workers).values()} == {want[0]}
        assert {budget["memory_budget"] for budget in client.run(dflow.engine.config).values()} == {want[1]}


def test_workers_that_share_a_machine(client, monkeypatch):
    """In whichever order they are told."""
    plugins = []
    monkeypatch.setattr(client, "nthreads", lambda: dict.fromkeys(
        ["tcp://10.0.0.1:5", "tcp://10.0.0.10:1", "tcp://10.0.0.1:4", "tcp://10.0.0.11:2", "tcp://10.0.0.1:30"], 1))
    monkeypatch.setattr(client, "register_plugin", plugins.append)
    dflow.distributed.setup(client)
    assert [plugin.together for plugin in plugins] == [3]


@pytest.mark.parametrize("args, error, text", [
    ((None,), TypeError, "client must be a distributed.Client, not NoneType"),
    ((0, 0.5), ValueError, "threads must be between 1 and 256, not 0"),
    ((None, 0), ValueError, "memory must be above 0, at most 1, not 0"),
    ((None, 1.5), ValueError, "memory must be above 0, at most 1, not 1.5"),
    ((1.5, 0.5), ValueError, "threads must be between 1 and 256, not 1.5"),
    (("2", 0.5), ValueError, "threads must be between 1 and 256, not '2'"),
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


def test_a_worker_of_another_version_that_comes_later():
    """It does not begin; nor does one that was there before its kind."""
    setup = dflow.distributed.Setup(2, 0.5, 1)
    setup.version = "9.9"
    with cluster(n_workers=1) as made, distributed.Client(made) as client:
        with pytest.raises(RuntimeError, match=r"has dflow 0\..*, but the client of this cluster 9\.9"):
            client.register_plugin(setup)


def test_another_version_of_distributed(client, monkeypatch):
    monkeypatch.setattr(dflow.distributed, "waits", False)
    with pytest.raises(RuntimeError, match="is none that dflow knows: 2025.1 or newer, please"):
        dflow.distributed.setup(client)


def test_a_worker_without_dflow():
    with cluster(n_workers=1, preload="import sys; sys.modules['dflow'] = None") as made:
        with distributed.Client(made) as client:
            where, = addresses(client)
            with pytest.raises(RuntimeError, match=f", but {where} has no dflow$"):
                dflow.distributed.setup(client)


@pytest.mark.cluster
def test_a_scheduler_without_dflow(tmp_path):
    found = tmp_path / "scheduler.json"
    scheduler = program("dask_scheduler", "--port", "0", "--scheduler-file", str(found),
                        "--preload", "import sys; sys.modules['dflow'] = None")
    try:
        assert poll(found.exists)
        with distributed.Client(scheduler_file=str(found), timeout=10) as client:
            with pytest.raises(RuntimeError, match="but the scheduler has no dflow$"):
                dflow.distributed.setup(client)
    finally:
        scheduler.kill()
        scheduler.wait(HANG)


# ---- results ---------------------------------------------------------------------------------------------------------

class Kept:
    """Pickled by its attributes: x, and y."""

    __slots__ = ("__dict__", "y")

    def __init__(self, x, y):
        self.x, self.y, self.itself = x, y, [self]

    def __repr__(self):
        return f"{self.x} {self.y}"


def slow(seconds, wrap=None):
    x = dflow.engine.sleep(np.ones(3), seconds) + 1
    return x if wrap is None else [0, {"a": (x,)}] if wrap == "list" else Kept(x, 1) if wrap == "x" else [Kept(1, [x])]


async def slow_coroutine(seconds):
    return slow(seconds)


def spans_of(key, dask_worker):
    """What a worker did for a task, and when."""
    task = dask_worker.state.tasks.get(key)
    return [] if task is None else list(task.startstops)


@pytest.mark.parametrize("function, args", [(slow, (0.5,)), (slow, (0.5, "list")), (slow, (0.5, "x")),
                                            (slow, (0.5, "y")), (slow_coroutine, (0.5,))],
                         ids=["array", "nested", "attribute", "slot", "coroutine"])
def test_a_task_is_done_when_its_arrays_are(client, function, args):
    future = client.submit(function, *args, pure=False)
    result = future.result(HANG)
    assert "2." in str(result) and "pending" not in str(result)
    spans = [span for found in client.run(spans_of, future.key).values() for span in found]
    assert [span["stop"] - span["start"] > 0.45 for span in spans if span["action"] == "compute"] == [True]


def cycle():
    x = [np.ones(3)]
    x.append(x)
    return x


def test_what_holds_itself(client):
    made = client.submit(cycle, pure=False)
    assert client.submit(lambda x: x[1] is x and x[0].tolist(), made, pure=False).result(HANG) == [1, 1, 1]


def fails(wrap):
    x = np.linalg.inv(dflow.engine.sleep(np.zeros((200, 200)), 0.1))
    return Kept(0, x) if wrap else x


@pytest.mark.parametrize("wrap", [False, True])
def test_an_error_is_the_tasks(client, wrap):
    first = client.submit(fails, wrap, pure=False)
    second = client.submit(lambda x: x.y if wrap else x + 1, first)
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix") as caught:
        second.result(HANG)
    assert any("inv" in note and "test_distributed.py" in note for note in caught.value.__notes__)
    assert first.status == second.status == "error"


# ---- profiles --------------------------------------------------------------------------------------------------------

def test_a_profile_of_all(client, tmp_path):
    """What each worker ran, at one time by one clock; the trace has a process for each."""
    path = tmp_path / "trace.json"
    with dflow.distributed.profile(client, path) as made:
        with pytest.raises(RuntimeError, match="is being profiled already"), dflow.distributed.profile(client):
            pass
        dflow.distributed.run(client, sums, [1000, 100_000], "f4")
    assert sorted(made.workers) == sorted(addresses(client))
    spans = [(min(event.start for event in events), max(event.stop for event in events))
             for events in made.workers.values()]
    assert max(start for start, _ in spans) < min(stop for _, stop in spans)
    trace = json.loads(path.read_text())
    names = {event["pid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
    assert names == {pid: f"dflow at {address}" for pid, address in enumerate(made.workers)}
    tasks = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {event["pid"] for event in tasks} == {0, 1, 2} and all(event["ts"] >= 0 for event in tasks)


# ---- the wire --------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "C order": lambda x: x, "F order": lambda x: x.T, "strided": lambda x: x[::2, ::3], "backwards": lambda x: x[::-1],
    "nothing": lambda x: x[:0], "one": lambda x: x[:1, :1], "no axes": lambda x: np.array(x[0, 0]),
    "repeated": lambda x: np.broadcast_to(x[0], (50, x.shape[1])), "pending": lambda x: x + dflow.engine.sleep(x, 0.05),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "i8", "u1", "?"])
def test_arrays_over_the_wire(client, dtype):
    """There and back, and from one worker to the other: the same elements, of the same type, and nothing is shared."""
    here, there, _ = addresses(client)
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


def pending(x):
    y = dflow.engine.sleep(x, 0.2) + 1
    return type(x) is np.ndarray and not y.is_ready() and float(y.sum())


def test_what_arrives_is_pending_like_others(client):
    here, there, _ = addresses(client)
    made = client.submit(lambda: np.ones(4_000_000), workers=[here])
    assert client.submit(pending, made, workers=[there]).result(HANG) == 8_000_000


def test_large_arrays(client):
    here, there, _ = addresses(client)
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
    with cluster(n_workers=2) as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        total = client.submit(sum, client.map(chunk, range(60)))
        victim = next(iter(client.run(os.getpid).values()))
        time.sleep(0.3)
        os.kill(victim, signal.SIGKILL)
        assert total.result(HANG).tolist() == [2 * sum(range(60))] * 1000


def hungry(tries):
    """The first time there is no memory; then all chunks have been written out, and what was kept has gone."""
    worker = distributed.get_worker()
    worker.hungry = getattr(worker, "hungry", 0) + 1
    if worker.hungry <= tries:
        raise MemoryError("not yet")
    cached = dflow.engine.memory_stats()["cached"]
    return worker.hungry, len(worker.data.fast), len(worker.data.slow), cached < 10_000_000


@pytest.mark.parametrize("tries", [1, 2])
def test_a_task_that_finds_no_memory_is_run_again(tries):
    with cluster(n_workers=1) as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        chunks = client.map(lambda k: np.full(1_000_000, k), range(5))
        distributed.wait(chunks)
        client.submit(lambda: float((np.ones(3_000_000) + 1).sum()), pure=False).result(HANG)
        future = client.submit(hungry, tries)
        if tries == 1:
            assert future.result(HANG) == (2, 0, 5, True)
        else:
            with pytest.raises(MemoryError, match="not yet"):
                future.result(HANG)
        assert [float(chunk.result(HANG)[0]) for chunk in chunks] == [0, 1, 2, 3, 4]


def let_files_grow(to):
    """A disk that is full for what is longer."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (to, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def large_chunk(k):
    return np.full(1_000_000, float(k)) + 1


def test_a_disk_that_is_full():
    """Tasks for which there is no memory then say so; what was there stays, and all goes on once there is room."""
    with cluster(n_workers=1, memory_limit="500MB") as made, distributed.Client(made) as client:
        dflow.distributed.setup(client, memory=0.3)
        client.run(let_files_grow, 100_000)
        chunks = client.map(large_chunk, range(30))
        distributed.wait(chunks, HANG)
        kept = [k for k, chunk in enumerate(chunks) if chunk.status == "finished"]
        lost = [chunk for chunk in chunks if chunk.status == "error"]
        assert len(kept) >= 10 and len(kept) + len(lost) == 30 and lost
        for chunk in lost:
            assert isinstance(chunk.exception(), MemoryError)
            assert "of a budget of 150000000" in str(chunk.exception())
            assert re.search("[0-9]+ results of tasks stay in memory, as this worker cannot write them to its disk",
                             str(chunk.exception()))
        firsts = [client.submit(lambda x: float(x[-1]), chunks[k], pure=False) for k in kept]
        assert client.gather(firsts) == [k + 1 for k in kept]
        client.run(let_files_grow, resource.RLIM_INFINITY)
        for chunk in lost:
            chunk.retry()
        firsts = [client.submit(lambda x: float(x[-1]), chunk, pure=False) for chunk in chunks]
        assert client.gather(firsts) == list(range(1, 31))


@pytest.mark.cluster
def test_more_than_memory():
    """1.28 GB of chunks on a worker that may have 700 MB: what is freed goes back, and Dask writes the rest out."""
    with cluster(n_workers=1, memory_limit="700MB") as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        with dask.config.set({"array.backend": "dflow"}):
            x = da.ones((20, 8_000_000), chunks=(1, 8_000_000))
        x = (x * 2 + 1).persist()
        for i in range(20):
            assert float(x[i].sum().compute()) == 3 * 8_000_000


def program(name, *args):
    """A process of distributed's own programs, which finds what this one does."""
    path = [os.path.dirname(__file__), *sys.path]
    return subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *args, "--no-dashboard"],
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def goes_on():
    while True:
        kvstore.create("dist_sync").pushpull("x", x := np.ones(10))
        x.wait_to_read()


@pytest.mark.cluster
def test_a_scheduler_that_is_killed(tmp_path):
    """Who called run() is told; the workers end, though their ranks go on."""
    found = tmp_path / "scheduler.json"
    ours = ["--scheduler-file", str(found)]
    processes = [program("dask_scheduler", "--port", "0", *ours)]
    try:
        processes += [program("dask_worker", "--no-nanny", "--nthreads", "1", *ours) for _ in range(2)]
        assert poll(found.exists)
        with distributed.Client(scheduler_file=str(found), timeout=10) as client:
            client.wait_for_workers(2, timeout=HANG)
            dflow.distributed.setup(client)
            killer = threading.Timer(1, processes[0].kill)
            killer.start()
            with pytest.raises(ConnectionError, match=f"the scheduler at {client.scheduler.address} is gone"):
                dflow.distributed.run(client, goes_on)
        for worker in processes[1:]:
            assert worker.wait(HANG) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait(HANG)


# ---- groups ----------------------------------------------------------------------------------------------------------

def numbers_of(rank, n, dtype):
    return (numpy.random.default_rng(rank).random(n) * 100 - 50).astype(dtype)


def sums(sizes, dtype):
    """In an order of each rank's own, which may be as none needs another: keys tell what belongs together."""
    rank, store, made = dflow.distributed.rank(), kvstore.create("dist_sync"), {}
    for n in sizes if rank % 2 else reversed(sizes):
        x = np.array(numbers_of(rank, n, dtype)) * 1
        store.pushpull(n, x, priority=n)
        made[n] = x * 1
    assert (store.type, store.rank, store.num_workers) == ("dist_sync", rank, dflow.distributed.size())
    return made


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8"])
def test_sums(client, dtype):
    sizes = [0, 1, 2, 3, 100, 4097, 100_000]
    results = dflow.distributed.run(client, sums, sizes, dtype)
    for n in sizes:
        first, second, third = (numbers_of(rank, n, dtype) for rank in range(3))
        for made in results:
            assert made[n].dtype == dtype and made[n].asnumpy().tobytes() == (first + second + third).tobytes()


def who():
    return dflow.distributed.rank(), dflow.distributed.size()


def test_ranks(client):
    a, b, _ = addresses(client)
    assert dflow.distributed.run(client, who) == [(0, 3), (1, 3), (2, 3)]
    assert dflow.distributed.run(client, os.getpid, workers=[b, a]) == [
        client.run(os.getpid, workers=[worker])[worker] for worker in (b, a)]
    with pytest.raises(ValueError, match="workers must be different ones, not .*: a worker is one rank"):
        dflow.distributed.run(client, who, workers=addresses(client)[:1] * 2)
    with pytest.raises(TypeError, match="timeout must be a number, not None"):
        dflow.distributed.run(client, who, timeout=None)
    with pytest.raises(ValueError, match="workers must be addresses of workers of the cluster, not 'tcp://nowhere:1'"):
        dflow.distributed.run(client, who, workers=["tcp://nowhere:1"])
    with pytest.raises(ValueError, match="not none"):
        dflow.distributed.run(client, who, workers=[])


def test_no_rank():
    for what in dflow.distributed.rank, dflow.distributed.size:
        with pytest.raises(RuntimeError, match="this is no rank of a group"):
            what()
    for name in "dist_sync", "dist_async", "dist":
        with pytest.raises(ValueError, match=f"store is called '{name}'; there are 'local', .*; 'dist_sync' is one in"):
            kvstore.create(name)


def stored():
    """The first values are those of rank 0; pushes are gradients, which an optimizer of each rank's takes."""
    rank, store, out = dflow.distributed.rank(), kvstore.create("dist_device_sync"), np.empty(2)
    store.init("w", np.full(2, 5.0 + rank))
    store.pull("w", out=out)
    first = out.tolist()
    store.set_optimizer(dflow.optimizer.SGD(learning_rate=0.5))
    store.push("w", np.array([1.0, rank]))
    store.pull("w", out=out)
    return first, out.tolist()


def test_what_is_stored(client):
    assert dflow.distributed.run(client, stored) == [([5.0, 5.0], [3.5, 3.5])] * 3


def network():
    dflow.npx.random.seed(1)
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(16, activation="tanh"), gluon.nn.Dense(1))
    net.initialize(dflow.init.Normal(0.5))
    return net


def trained(rank, size, store, steps=12, batch=24):
    """The parameters, after steps over a rank's part of each batch."""
    rng = numpy.random.default_rng(7)
    net, loss = network(), gluon.loss.L2Loss()
    net(np.zeros((1, 5)))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}, kvstore=store)
    for _ in range(steps):
        x = rng.random((batch, 5))
        part = np.array(x[rank::size])
        with autograd.record():
            error = loss(net(part), np.sin(part.sum(axis=1, keepdims=True)))
        error.backward()
        trainer.step(batch)
    return [p.data().asnumpy() for p in net.collect_params().values()]


def as_rank():
    return trained(*who(), "dist_sync")


def test_training(client):
    """All ranks have the same bits; and what one process makes of the whole batches, but for the order of sums."""
    ranks = dflow.distributed.run(client, as_rank)
    alone = trained(0, 1, None)
    for others in ranks[1:]:
        assert [x.tobytes() for x in others] == [x.tobytes() for x in ranks[0]]
    for x, want in zip(ranks[0], alone, strict=True):
        numpy.testing.assert_allclose(x, want, rtol=1e-4, atol=1e-5)


def summed(make):
    """What a rank's sum says, or raises."""
    x = make(dflow.distributed.rank())
    kvstore.create("dist_sync").pushpull("x", x, out := np.empty(x.shape, x.dtype))
    try:
        return out.tolist()
    except Exception as error:
        return type(error).__name__, str(error)


def singular(rank):
    return np.linalg.inv(dflow.engine.sleep(np.zeros((3, 3)) if rank == 1 else np.eye(3), 0.02)).sum(axis=0)


class Stubborn(Exception):
    """It cannot be pickled, nor made by its text."""

    def __init__(self, lock, text):
        super().__init__("no")
        self.lock = lock


def stubborn(rank):
    def fail():
        raise Stubborn(threading.Lock(), "no")
    return dflow.submit(fail, shape=3) if rank == 2 else np.ones(3)


DIFFER = "the arrays of 'x' differ: rank 0 has one of shape (3,) and type float64, rank {} one of shape {} and type {}"


@pytest.mark.parametrize("make, want", [
    (singular, ("LinAlgError", "Singular matrix")),
    (stubborn, ("RuntimeError", "Stubborn('no')")),
    (lambda rank: np.ones(3 + rank // 2), ("ValueError", DIFFER.format(2, "(4,)", "float64"))),
    (lambda rank: np.ones(3, "f4" if rank == 1 else "f8"), ("ValueError", DIFFER.format(1, "(3,)", "float32"))),
], ids=["an error", "no pickle", "shapes", "types"])
def test_an_error_is_everybodys(client, make, want):
    assert dflow.distributed.run(client, summed, make) == [want] * 3
    assert dflow.distributed.run(client, summed, lambda rank: np.full(3, rank)) == [[3, 3, 3]] * 3


def listen():
    """From here on, what this process reports that nobody has read."""
    sys.reported = []
    sys.unraisablehook = lambda report: sys.reported.append(repr(report.exc_value))


def heard():
    sys.unraisablehook = sys.__unraisablehook__
    return sys.reported


def told():
    """The same, and by waitall(): frames of what was raised may still hold an array."""
    try:
        dflow.waitall()
    except ZeroDivisionError as error:
        sys.reported.append(repr(error))
    return heard()


def notes_of(make):
    """What an error tells beside its text; and whether anybody calls it unread."""
    listen()
    x = make(dflow.distributed.rank())
    kvstore.create("dist_sync").pushpull("x", x)
    with pytest.raises(Exception) as caught:
        x.wait_to_read()
    x = None
    dflow.waitall()
    return caught.value.__notes__, heard()


def singular_and_slow(rank):
    """What is sent from here is sent late: when the sum has failed here."""
    exchange = place.group().exchange
    at_once = exchange._carry

    async def late(*args):
        await asyncio.sleep(0.05)
        await at_once(*args)
    exchange._carry = late
    return singular(rank)


@pytest.mark.parametrize("make", [singular, singular_and_slow])
def test_an_error_has_its_lines(client, make):
    """Those of the program: where it was made, by whom it was handed over, and where it was to be summed."""
    second = sorted(addresses(client))[1]
    for notes, reported in dflow.distributed.run(client, notes_of, make):
        assert len(notes) == 3, notes
        made, rank, summed = notes
        assert re.fullmatch(r"submitted at .*test_distributed.py:\d+ in singular: inv", made)
        assert rank == f"handed over by rank 1 at {second} for the sum of 'x'"
        assert re.fullmatch(r"submitted at .*test_distributed.py:\d+ in notes_of: host task", summed)
        assert reported == []


def test_an_error_of_shapes_has_its_line(client):
    for (summed,), reported in dflow.distributed.run(client, notes_of, lambda rank: np.ones(3 + rank // 2)):
        assert re.fullmatch(r"submitted at .*test_distributed.py:\d+ in notes_of: host task", summed)
        assert reported == []


def test_what_is_noted_on_a_copy_is_not_on_the_next():
    """tblib, which Dask loads, has copies of an error share its attributes."""
    error = ZeroDivisionError("of a task")

    def fail():
        raise error

    x = dflow.submit(fail, shape=2)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            x.wait_to_read()
        assert not hasattr(caught.value, "mine") and "mine" not in caught.value.__notes__
        caught.value.mine = True
        caught.value.add_note("mine")
    assert not hasattr(error, "mine")


def fails_later():
    """Rank 1 does; the others wait for the first of many sums."""
    store = kvstore.create("dist_sync")
    pending = [np.ones(100) for _ in range(50)]
    for i, x in enumerate(pending[:25] if dflow.distributed.rank() == 1 else pending):
        store.pushpull(i, x)
    if dflow.distributed.rank() == 1:
        pending[0].wait_to_read()
        raise ZeroDivisionError("of rank 1")
    pending[-1].wait_to_read()


def test_what_a_rank_raises(client):
    """run() raises it; the sums of the others end, and tell that once."""
    client.run(listen)
    with pytest.raises(ZeroDivisionError, match="of rank 1"):
        dflow.distributed.run(client, fails_later)
    assert poll(lambda: not any(live["tasks"] for live in client.run(dflow._engine.live).values()))
    for reported in client.run(told).values():
        assert reported in ([], ["ZeroDivisionError('of rank 1')"])


def test_a_naive_engine(client):
    """Sums are waited for at their call, and what fails raises there: run() raises it."""
    client.run(dflow.engine.naive, True)
    try:
        assert dflow.distributed.run(client, summed, lambda rank: np.full(3, rank)) == [[3, 3, 3]] * 3
        with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
            dflow.distributed.run(client, summed, singular)
        with pytest.raises(ValueError, match=re.escape(DIFFER.format(2, "(4,)", "float64"))):
            dflow.distributed.run(client, summed, lambda rank: np.ones(3 + rank // 2))
    finally:
        client.run(dflow.engine.naive, False)
    assert dflow.distributed.run(client, summed, lambda rank: np.full(3, rank)) == [[3, 3, 3]] * 3


def short_of_memory():
    """In the middle of its sums."""
    store, rank = kvstore.create("dist_sync"), dflow.distributed.rank()
    for step in range(4):
        store.pushpull("x", x := np.full(2, 10.0 ** step + rank))
        x.wait_to_read()
        if step == 1 and rank == 1:
            raise MemoryError("of rank 1")


def test_a_rank_is_not_run_again(client):
    """What it has summed would be summed with what others sum later."""
    with pytest.raises(MemoryError, match="of rank 1"):
        dflow.distributed.run(client, short_of_memory)
    assert dflow.distributed.run(client, summed, lambda rank: np.full(3, rank)) == [[3, 3, 3]] * 3


def busy(seconds):
    time.sleep(seconds)


def test_a_group_that_cannot_begin(client):
    """One worker is busy: the others are free again."""
    a, b, _ = sorted(addresses(client))
    other = threading.Thread(target=lambda: dflow.distributed.run(client, busy, 3, workers=[a]))
    other.start()
    assert poll(lambda: any(client.run(lambda dask_worker: bool(dask_worker.__dict__.get("dflow_groups"))).values()))
    with pytest.raises(RuntimeError, match=f"{a} is a rank of another group, which has not ended"):
        dflow.distributed.run(client, who, workers=[b, a])
    assert dflow.distributed.run(client, who, workers=[b]) == [(0, 1)]
    other.join()


def test_ranks_of_one_process():
    # No limit: this process, which has the memory of all tests before, would be held up by it.
    with cluster(n_workers=2, processes=False, memory_limit=0) as made, distributed.Client(made) as client:
        with pytest.raises(RuntimeError, match="ranks need processes of their own"):
            dflow.distributed.run(client, who)
        assert dflow.distributed.run(client, who, workers=addresses(client)[:1]) == [(0, 1)]


def dies_when_it_is_done():
    """Rank 0 returns at once, and its process ends a second later."""
    if dflow.distributed.rank() == 0:
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return np.ones(2_000_000)
    time.sleep(3)
    return None


def test_a_worker_that_dies_when_its_rank_is_done():
    """What it returned has been read by then, or it is lost: run() ends."""
    with cluster(n_workers=2) as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        results = dflow.distributed.run(client, dies_when_it_is_done)
        assert results[0].shape == (2_000_000,) and results[1] is None


def late(seconds):
    rank = dflow.distributed.rank()
    time.sleep(seconds if rank == 1 else 0)
    return summed(lambda rank: np.ones(3))


def test_a_rank_that_is_late(client):
    assert dflow.distributed.run(client, late, 1) == [[3, 3, 3]] * 3
    results = dflow.distributed.run(client, late, 2, timeout=0.5)
    where = sorted(addresses(client))[1]
    assert results[0] == results[2] == (
        "TimeoutError", f"rank 1 at {where} has not come to the sum of 'x' in 0.5 seconds")


def stops(told):
    """Rank 1 is stopped by the system: it takes nothing and sends nothing, but its connections are there."""
    if dflow.distributed.rank() == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    result = summed(lambda rank: np.ones(3))
    told.touch()
    return result


def test_a_rank_that_is_stopped(tmp_path):
    with cluster(n_workers=2) as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        second = sorted(addresses(client))[1]
        process = psutil.Process(client.run(os.getpid, workers=[second])[second])
        ended = threading.Event()

        def wake():
            while not ended.wait(0.05):
                if (tmp_path / "told").exists():
                    process.resume()

        waker = threading.Thread(target=wake)
        waker.start()
        try:
            first, _ = dflow.distributed.run(client, stops, tmp_path / "told", timeout=1)
        finally:
            ended.set()
            waker.join()
        assert first == ("TimeoutError", f"rank 1 at {second} has not come to the sum of 'x' in 1 seconds")


def dies(after):
    store = kvstore.create("dist_sync")
    for step in range(50):
        if step == after and dflow.distributed.rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        x = np.ones(1000)
        store.pushpull("x", x)
        x.wait_to_read()
    return "done"


def test_a_rank_that_is_killed():
    with cluster(n_workers=3) as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        victim = sorted(addresses(client))[1]
        with pytest.raises(dflow.distributed.WorkerLost, match=f"rank 1 at {victim} is lost") as caught:
            dflow.distributed.run(client, dies, 20)
        assert (caught.value.rank, caught.value.address) == (1, victim)
        client.wait_for_workers(3, timeout=HANG)
        assert dflow.distributed.run(client, dies, 100) == ["done"] * 3


def outlives(told):
    """What a rank raises, in a file: nobody is there to whom it could return it."""
    rank = dflow.distributed.rank()
    try:
        return dies(5)
    except BaseException as error:
        (told / f"{rank}.part").write_text(f"{type(error).__name__}: {error}")
        (told / f"{rank}.part").rename(told / f"{rank}.error")
        raise


def test_what_the_others_raise(tmp_path):
    """Those that are there when a rank is lost."""
    with cluster(n_workers=3) as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        victim = sorted(addresses(client))[1]
        with pytest.raises(dflow.distributed.WorkerLost):
            dflow.distributed.run(client, outlives, tmp_path)
        assert poll(lambda: len([*tmp_path.glob("*.error")]) == 2)
        for rank in 0, 2:
            assert (tmp_path / f"{rank}.error").read_text() == f"WorkerLost: rank 1 at {victim} is lost"


def sums_waiting(started, go_on):
    """A sum, when others have sent letters of another group."""
    store = kvstore.create("dist_sync")
    (started / str(dflow.distributed.rank())).touch()
    assert poll(go_on.exists)
    store.pushpull("x", x := np.ones(100))
    return x.tolist()


def name_of_group(dask_worker):
    return [*dask_worker.dflow_groups]


async def sends_late(group, to, dask_worker):
    """What a rank of a group that has ended sent, for a sum as there are in any group."""
    part = (("x", 0), (((100,), "<f8"), (0, "part")), 0, (numpy.full(50, 7.0),))
    letters = [part, (("x", 0), "verdict", 0, KeyError())]
    await dask_worker.rpc(to).dflow_deliver(group=group, letters=to_serialize(dflow.distributed.Letters(letters)))


def test_letters_that_come_late(client, tmp_path):
    """From a group that has ended, to workers that are ranks of another, or of none."""
    first, second = sorted(addresses(client))[:2]
    old, = dflow.distributed.run(client, lambda: name_of_group(distributed.get_worker()), workers=[first])
    client.run(sends_late, old[0], second, workers=[first])
    started, go_on, results = tmp_path / "started", tmp_path / "go on", []
    started.mkdir()
    running = threading.Thread(target=lambda: results.extend(dflow.distributed.run(
        client, sums_waiting, started, go_on)))
    running.start()
    assert poll(lambda: len([*started.iterdir()]) == 3)
    for group in old[0], "nobody's":
        client.run(sends_late, group, second, workers=[first])
    go_on.touch()
    running.join(HANG)
    assert results == [[3.0] * 100] * 3


async def sums_with_nobody(dask_worker):
    """As rank 0, rank 1 being at a port at which nobody listens."""
    group = dflow.distributed.Group("nobody's", [dask_worker.address, "tcp://127.0.0.1:1"], 5, dask_worker)
    with dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):
        try:
            return await group._sum("x", 0, numpy.ones(3), numpy.empty(3), False, 0)
        except ConnectionError as error:
            return type(error).__name__, str(error)


def test_a_rank_that_refuses_connections(client):
    found, = client.run(sums_with_nobody, workers=addresses(client)[:1]).values()
    assert found == ("WorkerLost", "rank 1 at tcp://127.0.0.1:1 is lost")


def test_a_rank_whose_worker_is_another_one(client):
    """In the place of the one that was to be the rank, at its address."""
    address = addresses(client)[0]
    future = client.submit(dflow.distributed._as_rank, "nobody's", 2, who, (), workers=[address], pure=False)
    with pytest.raises(dflow.distributed.WorkerLost, match=f"rank 2 at {address} is lost"):
        future.result(timeout=HANG)


def resumed(folder, dies_at=None, steps=10, batch=12):
    """The parameters after all steps, from those on that are saved in the folder, as rank 0 does after each."""
    rank, size = who()
    net, loss = network(), gluon.loss.L2Loss()
    net(np.zeros((1, 5)))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}, kvstore="dist_sync")
    saved = sorted(folder.glob("*.states"))         # the last file of a step
    done = int(saved[-1].stem) if saved else 0
    if done:
        net.load_parameters(str(folder / f"{done:02}.params"))
        trainer.load_states(str(saved[-1]))
    for step in range(done, steps):
        x = numpy.random.default_rng(step).random((batch, 5))
        part = np.array(x[rank::size])
        with autograd.record():
            error = loss(net(part), np.sin(part.sum(axis=1, keepdims=True)))
        error.backward()
        trainer.step(batch)
        if rank == 0:
            net.save_parameters(str(folder / f"{step + 1:02}.params"))
            trainer.save_states(str(folder / "states"))
            (folder / "states").rename(folder / f"{step + 1:02}.states")
        if step == dies_at and rank == 1:
            dflow.waitall()                         # it is steps ahead of what it has computed
            os.kill(os.getpid(), signal.SIGKILL)
    return done, [p.data().asnumpy().tobytes() for p in net.collect_params().values()]


def test_training_goes_on_from_what_was_saved(tmp_path):
    """A rank is killed; the next run has the bits of one that nothing has happened to."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    with cluster(n_workers=2) as made, distributed.Client(made) as client:
        dflow.distributed.setup(client)
        expected = dflow.distributed.run(client, resumed, whole)
        with pytest.raises(dflow.distributed.WorkerLost):
            dflow.distributed.run(client, resumed, parts, 5)
        client.wait_for_workers(2, timeout=HANG)
        again = dflow.distributed.run(client, resumed, parts)
    assert again[0][0] >= 5 and again[0][1] == again[1][1] == expected[0][1] == expected[1][1]
