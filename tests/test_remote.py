"""Arrays on the workers of a cluster: what is done with them is what is done with arrays of ours here."""

import asyncio
import functools
import gc
import operator
import os
import random
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy
import pytest
from compare import assert_same
from engines import HANG, Gate, clean_environment, in_threads, poll

import dflow
import dflow.numpy as np
from dflow import autograd, gluon

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

pytestmark = [pytest.mark.once,
              pytest.mark.filterwarnings("ignore::ResourceWarning"),        # of distributed's own sockets
              pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0",
                                  memory_limit="1GB") as made, distributed.Client(made) as client:
        yield client


@pytest.fixture(scope="module")
def devices(client):
    return dflow.cluster(client)


def test_devices(client, devices):
    assert [device.address for device in devices] == sorted(client.nthreads())
    assert [repr(device) for device in devices] == ["worker(0)", "worker(1)"]
    with pytest.raises(TypeError, match="client must be a distributed.Client, not int"):
        dflow.cluster(3)


MADE = {
    "ones": lambda d: np.ones((2, 3), device=d), "zeros": lambda d: np.zeros(4, "f4", device=d),
    "empty": lambda d: np.empty((0, 3), device=d), "full": lambda d: np.full((2, 2), 7, device=d),
    "array": lambda d: np.asarray([[1, 2], [3, 4]], device=d),
    "asanyarray": lambda d: np.asanyarray([1.5, 2], device=d),
    "arange": lambda d: np.arange(2, 9, 3, device=d), "linspace": lambda d: np.linspace(0, 1, 7, device=d),
    "eye": lambda d: np.eye(3, k=1, device=d), "moved": lambda d: np.arange(5.0).to_device(d),
    "copied": lambda d: np.arange(5.0).copyto(d), "MXNet's": lambda d: np.arange(5.0).as_in_ctx(d),
    "NumPy's": lambda d: np.asarray(numpy.arange(6).reshape(2, 3), device=d),
    "pending": lambda d: (dflow.engine.sleep(np.arange(4.0), 0.05) + 1).copyto(d),
}


@pytest.mark.parametrize("name", MADE)
def test_what_makes_arrays(devices, name):
    there, here = MADE[name](devices[0]), MADE[name](dflow.cpu(0))
    assert there.device is devices[0] and type(there.read()) is np.ndarray
    assert_same(there.read(), here)
    assert (there.shape, there.dtype, there.ndim, there.size, there.nbytes) == (
        here.shape, here.dtype, here.ndim, here.size, here.nbytes)


WORK = [
    lambda x: x + 1, lambda x: 2 * x - x, lambda x: x.astype("f4") / 3, lambda x: np.sin(x), lambda x: x[1:] * 2,
    lambda x: x[::-1], lambda x: x.sum(), lambda x: np.sum(x, axis=0), lambda x: x.reshape(-1), lambda x: x.T + 0,
    lambda x: np.where(x > 0, x, -x), lambda x: np.concatenate([x, x]), lambda x: x @ x.T if x.ndim == 2 else x @ x,
    lambda x: np.sort(x, axis=-1), lambda x: x.mean(axis=-1, keepdims=True) + x, lambda x: np.cumsum(x),
    lambda x: numpy.exp(-abs(x)), lambda x: x[x > 0], lambda x: np.stack([x, x * 2])[1], lambda x: np.maximum(x, 0.5),
    lambda x: np.add.reduce(x), lambda x: x[np.argsort(x[..., 0])] if x.ndim == 2 else x[np.argsort(x)],
    lambda x: np.divmod(x, 3)[0], lambda x: sum(list(x)), lambda x: np.linalg.norm(x) + x,
    lambda x: np.split(x, 2)[1], lambda x: x + numpy.ones(x.shape[-1]), lambda x: np.arange(x.shape[-1]) - x,
]


def changed(x):
    """In place, through views, by masks, from arrays of here and there."""
    y = x[1:]
    y += 3
    x[0] = x[1] * 2
    x[x > 5] = -1
    x[..., :1] = np.full(1, 4.0)
    x *= x
    return x


@pytest.mark.parametrize("shape", [(6,), (4, 5), (2, 50)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_what_is_done_there(devices, shape, dtype):
    numbers = (numpy.random.default_rng(1).random(shape) * 20 - 10).astype(dtype)
    for work in [*WORK, changed]:
        here, there = np.array(numbers), np.asarray(numbers, device=devices[1])
        result = work(there)
        assert result.device is devices[1]
        assert_same(result.read(), work(here))
        assert_same(there.read(), here)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(devices, seed):
    """Steps on several arrays of both workers, which copy to each other; read now and then."""
    rng, numbers = random.Random(seed), numpy.random.default_rng(seed)
    here = [np.array(numbers.random((4, 4))) for _ in range(4)]
    there = [x.copyto(devices[i % 2]) for i, x in enumerate(here)]
    for _ in range(120):
        i, j = rng.randrange(4), rng.randrange(4)
        kind = rng.randrange(6)
        if kind == 0:
            here[i], there[i] = here[j].copy(), there[j].copyto(devices[i % 2])
        elif kind == 1:
            here[i] += 1
            there[i] += 1
        elif kind == 2:
            here[i][rng.randrange(4)] = (value := rng.random())
            there[i][...] = here[i]
            there[i][...] = there[i] + value - value
            here[i] = here[i] + value - value
        elif kind == 3 and i % 2 == j % 2:
            here[i], there[i] = np.sin(here[i] @ here[j]), np.sin(there[i] @ there[j])
        elif kind == 4:
            here[i], there[i] = here[i] * 0.5 + here[j], there[i] * 0.5 + there[j].to_device(devices[i % 2])
        elif rng.random() < 0.2:
            assert_same(there[i].read(), here[i])
    for x, y in zip(here, there):
        assert_same(y.read(), x)


def test_nothing_waits_and_much_goes_at_once(devices):
    with Gate() as gate:
        x = gate.hold().copyto(devices[0])
        for _ in range(500):
            x = x + 1
        y = x.copyto(devices[1]) * 2
        gate.open()
        assert y.tolist() == [1000.0, 1000.0]


def test_reading(devices):
    x = np.arange(6.0, device=devices[0]).reshape(2, 3)
    assert repr(x) == f"{np.arange(6.0).reshape(2, 3)!r} on worker(0)" and str(x) == str(x.read())
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and len(x) == 2 and [row.sum().item() for row in x] == [3, 12]
    assert (float(x[1, 2]), int(x[1, 2]), bool(x[0, 0]), complex(x[0, 1])) == (5.0, 5, False, 1 + 0j)
    assert type(x.asnumpy()) is numpy.ndarray and numpy.asarray(x, "f4").dtype == "f4"
    out = np.zeros((2, 3))
    assert x.copyto(out) is out and out.tolist() == x.tolist()
    assert type(x.as_in_ctx(dflow.cpu(0))) is np.ndarray
    assert type(np.array(x)) is np.ndarray and x.to_device(devices[0]) is x
    q, r = np.linalg.qr(x.T @ x)
    numpy.testing.assert_allclose((q @ r).asnumpy(), (x.T @ x).asnumpy(), atol=1e-12)
    assert devices[0].call(dflow.npx.relu, x - 3).tolist() == [[0, 0, 0], [0, 1, 2]]
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_what_is_sent_is_as_it_was(devices):
    """Who writes to an array that was handed over changes nothing there."""
    x, y = np.ones(1000), numpy.ones(1000)
    a, b = x.copyto(devices[0]), np.zeros(1000, device=devices[0]) + y
    x += 5
    y += 5
    assert a.sum().item() == b.sum().item() == 1000


def test_errors(devices):
    """Of what cannot be asked, of what fails there, of what is made of it, on another worker, too: with the line."""
    x = np.ones((200, 200), device=devices[0])
    wrong = x.reshape(3, 3)                                     # this line
    with pytest.raises(ValueError, match="cannot reshape array of size 40000") as caught:
        (wrong + 1).read()
    assert any("test_remote.py" in note and "in test_errors" in note for note in caught.value.__notes__)
    singular = np.linalg.inv(x * 0) + 1
    for of in singular, singular.copyto(devices[1]) * 2, singular.sum():
        with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix") as caught:
            of.read()
        assert any("test_remote.py" in note for note in caught.value.__notes__)
    assert (x + 1).sum().item() == 80_000
    with pytest.raises(ValueError, match=r"arrays are on several devices, worker\(0\) and worker\(1\): copy them"):
        x + np.ones((200, 200), device=devices[1])
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        x.nonsense()
    failed = np.linalg.inv(dflow.engine.sleep(np.zeros((3, 3)), 0.02))
    with pytest.raises(numpy.linalg.LinAlgError):
        (failed.copyto(devices[0]) + 1).read()
    with pytest.raises(TypeError, match=r"worker\(0\) belongs to a client: it cannot be pickled"):
        devices[0].__reduce__()


def test_await(devices):
    """The event loop goes on; errors are raised."""
    async def awaited(x):
        return await x

    async def both():
        x = dflow.engine.sleep(np.zeros(3), 0.2).copyto(devices[0]) + 1
        turns, waiting = 0, asyncio.ensure_future(awaited(x))
        while not waiting.done():
            await asyncio.sleep(0.01)
            turns += 1
        with pytest.raises(ValueError, match="cannot reshape"):
            await x.reshape(2, 2)
        return turns, await waiting, await (x * 2)

    turns, x, y = asyncio.run(both())
    assert turns > 3 and type(x) is np.ndarray and (x.tolist(), y.tolist()) == ([1, 1, 1], [2, 2, 2])


def listen():
    """From here on, what this process reports that nobody has read. Without gc: nothing of it is in a cycle."""
    gc.collect()
    gc.disable()
    sys.reported = []
    sys.unraisablehook = lambda report: sys.reported.append((repr(report.exc_value),
                                                             *getattr(report.exc_value, "__notes__", ())))


def heard():
    return sys.reported


def stop_listening():
    sys.unraisablehook = sys.__unraisablehook__
    gc.enable()


def test_errors_that_nobody_reads(client, devices):
    """The worker reports them, once; not those that somebody has read, here or on another worker."""
    client.run(listen)
    try:
        x = np.ones(10, device=devices[0])
        read = x.reshape(2, 2)
        for of in read, read + 1, (read * 2).copyto(devices[1]):
            with pytest.raises(ValueError, match="cannot reshape"):
                of.read()
        del read, of
        unread = x.reshape(3, 3)
        sent = unread + 1
        del unread, sent
        failed = np.linalg.inv(dflow.engine.sleep(np.zeros((3, 3)), 0.02)).copyto(devices[0])
        there = x.reshape(4, 4).copyto(devices[1])
        del failed, there
        gc.collect()

        def reported():
            for device in devices:
                device.call(int).read()                         # what has ended goes along
            told = [client.run(heard, workers=[device.address])[device.address] for device in devices]
            return [[report for report in reports if any("test_errors_that_nobody_reads" in note for note in report)]
                    for reports in told]                        # without those of other tests, which may end now

        assert poll(lambda: [*map(len, reported())] == [2, 1]), reported()
        first, second = reported()
        assert sorted(report[0] for report in first) == [
            "LinAlgError('Singular matrix')", "ValueError('cannot reshape array of size 10 into shape (3,3)')"]
        assert [report[0] for report in second] == ["ValueError('cannot reshape array of size 10 into shape (4,4)')"]
        for report in *first, *second:
            assert any(re.search(r"test_remote.py:\d+ in test_errors_that_nobody_reads", note) for note in report[1:])
    finally:
        client.run(stop_listening)


def test_gradients_are_refused(devices):
    """What is recorded here knows nothing of what is done there."""
    w, x = np.ones(3), np.ones(3, device=devices[0])
    w.attach_grad()
    with autograd.record():
        for meet in (lambda: w * x, lambda: x - w, lambda: np.maximum(w, x), lambda: w @ x,
                     lambda: np.hypot(x, w * 2), lambda: w.copyto(devices[0]), lambda: x.__iadd__(w),
                     lambda: operator.iadd(w * 2, x), lambda: (w * 2).dot(x)):
            with pytest.raises(NotImplementedError, match="an array with a gradient meets Remote: gradients"):
                meet()
        assert (w.detach() * x).tolist() == [1, 1, 1]
        y = (w * x.read()).sum() + np.where(x > 0, w, x).sum()      # which asks for the numbers
    y.backward()
    assert w.grad.tolist() == [2, 2, 2] and (w * x).tolist() == [1, 1, 1]
    for name in "attach_grad", "backward", "grad":
        with pytest.raises(AttributeError, match=f"an array on a worker has no '{name}': gradients are computed where"):
            getattr(x, name)
    with pytest.raises(AttributeError, match="has no 'attach_grad': gradients"):
        gluon.nn.Dense(2, in_units=3).initialize(ctx=devices[0])


def test_numbers_in_texts(devices):
    x = np.full(3, 1 / 3, device=devices[0]).sum()
    assert f"{x:.2f}" == "1.00" and round(x / 3, 2) == 0.33


IN_PLACE = {
    "subscript": lambda x: x.__setitem__(7, 5), "slice": lambda x: x.__setitem__(slice(2), np.ones(3)),
    "operator": lambda x: x.__iadd__(numpy.ones(4)), "out": lambda x: np.add(x, numpy.ones(4), out=x),
    "two outs": lambda x: np.divmod(x, numpy.ones(4), out=(x, x)), "at": lambda x: numpy.add.at(x, 9, 1),
    "method": lambda x: x.put(17, 1), "function": lambda x: np.copyto(x, numpy.ones(9)),
    "what failed": lambda x: x.__setitem__(slice(2), x.reshape(7)[:2]),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_error_in_place_is_that_of_what_was_to_be_written(devices, name):
    x, y = np.ones(3, device=devices[0]), np.ones(3, device=devices[0])
    IN_PLACE[name](x)
    for of in x, x + 1, x.copyto(devices[1]):
        with pytest.raises((IndexError, ValueError)):
            of.read()
    assert y.tolist() == [1, 1, 1]


def test_methods_in_place(devices):
    x = np.asarray([3.0, 1, 2], device=devices[1])
    assert x.sort() is None and x.tolist() == [1, 2, 3]
    assert x.fill(4) is None and x.tolist() == [4, 4, 4]


class Stubborn:
    def __reduce__(self):
        raise TypeError("not I")


class Left:
    """It cannot be read where it comes to."""

    def __reduce__(self):
        return int, ("x",)


def test_what_cannot_be_sent(devices):
    """Fails alone: an argument, a function, a result, to this process or to another worker."""
    x = np.ones(3, device=devices[0])
    for wrong in devices[0].call(len, Stubborn()), devices[0].call(len, Left()):
        for of in wrong, wrong.copyto(devices[1]):
            with pytest.raises((TypeError, ValueError)):
                of.read()
    there = devices[0].call(Stubborn)
    for of in there, there.copyto(devices[1]):
        with pytest.raises(TypeError, match="not I"):
            of.read()
    assert devices[0].call(lambda y: y * 2, x).tolist() == [2, 2, 2] and (x + 1).copyto(devices[1]).tolist() == [2] * 3


def test_a_read_that_is_given_up(devices):
    x = np.ones(3, device=devices[0])
    with Gate() as gate:
        y = x + gate.hold(np.ones(3))
        loop = devices[0]._client.loop.asyncio_loop
        reading = asyncio.run_coroutine_threadsafe(devices[0]._get(y.number, "value"), loop)
        time.sleep(0.2)
        reading.cancel()
        gate.open()
    assert x.tolist() == [1, 1, 1] and y.shape == (3,)


def test_what_ends_while_something_is_noted(devices):
    """Python may find that in the very thread that has the lock."""
    x = [np.ones(3, device=devices[0])]
    with devices[0]._lock:
        x.clear()
    assert (np.ones(3, device=devices[0]) + 1).tolist() == [2, 2, 2]


def test_what_failed_keeps_no_arguments(client, devices):
    """Nor does what is made of it."""
    wrong = np.ones(3, device=devices[0]).reshape(7)
    address, used = devices[0].address, []
    for _ in range(4):
        for _ in range(5):
            np.ones(1_000_000, device=devices[0]) + wrong
        devices[0].call(abs, 1).read()
        assert poll(lambda: client.run(held)[address] < 20)
        used.append(client.run(live, workers=[address])[address])
    assert max(used) < 40_000_000


def live():
    dflow.waitall()
    gc.collect()
    return dflow.engine.memory_stats()["live"]


def held(dask_worker):
    return sum(len(table.values) for table in dask_worker.dflow_tables.values())


def test_what_nobody_refers_to_is_freed(client, devices):
    before = client.run(held)
    kept = [np.ones(10, device=device) + k for device in devices for k in range(20)]
    kept = kept[:1]
    assert poll(lambda: sum(client.run(held).values()) <= sum(before.values()) + 1)
    assert kept[0].tolist() == [1] * 10


def test_threads(devices):
    made = [None] * 4

    def work(k):
        x = np.full(100, k, device=devices[k % 2])
        for _ in range(50):
            x = x + 1
        made[k] = x.sum().item()

    in_threads(*(functools.partial(work, k) for k in range(4)))
    assert made == [100 * (k + 50) for k in range(4)]


def test_a_client_that_is_closed():
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0",
                                  memory_limit="1GB") as made:
        client = distributed.Client(made)
        device, = dflow.cluster(client)
        x = np.ones(3, device=device)
        assert x.tolist() == [1, 1, 1]
        client.close()
        y = x + 1
        with pytest.raises(Exception, match="(?i)clos|running"):
            y.read()
        with warnings.catch_warnings(action="error"):
            del x, y
            gc.collect()


def test_a_worker_that_came_in_the_place_of_another(client):
    """At the same address, and so it answers; but it has nothing of what was there."""
    device = dflow.cluster(client)[0]
    x = np.ones(3, device=device)
    x.wait_to_read()
    client.run(lambda dask_worker: dask_worker.dflow_tables.clear(), workers=[device.address])
    for what in x.read, (x + 1).read, x.asnumpy:
        with pytest.raises(dflow.distributed.WorkerLost, match=f"rank 0 at {device.address} is lost"):
            what()
    assert np.ones(2, device=dflow.cluster(client)[0]).tolist() == [1, 1]


def has_table(name, dask_worker):
    return name in dask_worker.dflow_tables


def has_plugin(name, dask_scheduler):
    return f"dflow {name}" in dask_scheduler.plugins


CLIENT = """
import os, sys
import distributed
import dflow, dflow.numpy as np
client = distributed.Client(sys.argv[1])
devices = dflow.cluster(client)
x = np.ones(3, device=devices[0])
assert x.tolist() == [1, 1, 1]
print(devices[0]._name, flush=True)
sys.stdin.read()
client.close() if sys.argv[2] == "closes" else os._exit(0)
"""


@pytest.mark.parametrize("end", ["closes", "dies"])
def test_what_a_client_leaves_on_workers_goes(client, end):
    other = subprocess.Popen([sys.executable, "-c", CLIENT, client.scheduler.address, end], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment())
    with other:
        name = other.stdout.readline().strip()
        assert all(client.run(has_table, name).values()) and client.run_on_scheduler(has_plugin, name)
        other.communicate(timeout=HANG)
    assert other.returncode == 0
    assert poll(lambda: not any(client.run(has_table, name).values()) and not client.run_on_scheduler(has_plugin, name))


def test_a_worker_that_is_killed():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
                                  memory_limit="1GB") as made, distributed.Client(made) as client:
        here, there = dflow.cluster(client)
        x, y = np.ones(3, device=here), np.ones(3, device=there)
        x.wait_to_read()
        os.kill(client.run(os.getpid, workers=[here.address])[here.address], signal.SIGKILL)
        with pytest.raises(dflow.distributed.WorkerLost, match=f"rank 0 at {here.address} is lost"):
            for _ in range(1000):
                (x + 1).read()
        assert y.tolist() == [1, 1, 1]
        for of in (x + 1).copyto(there), x.copyto(there):           # nobody waits long for what cannot come
            with pytest.raises(dflow.distributed.WorkerLost):
                of.read()
        assert (y + 1).tolist() == [2, 2, 2]
