"""GPUs among the devices: what moves, what fails, and what is left behind."""

import os
import subprocess
import sys
import threading
import time

import numpy
import pytest
from engines import HANG, in_threads

import dflow
import dflow.numpy as np
from dflow import autograd, cpu, gluon, gpu, init, npx
from dflow.gluon import nn

GPU = gpu(0)
LAST = gpu(dflow.num_gpus() - 1)


def test_names():
    x = np.ones(3, device=GPU)
    assert x.ctx == x.device == x.context == GPU and repr(x.ctx) == "gpu(0)" and (x + 1).ctx == GPU
    with GPU:
        assert dflow.current_device() == GPU and np.zeros(2).ctx == GPU == np.random.uniform(size=3).ctx
    assert np.zeros(2).ctx == cpu() and dflow.num_gpus() >= 1
    with pytest.raises(ValueError, match=r"gpu\(99\) does not exist: there are cpu\(0\) to cpu\(15\), and gpu\(0\)"):
        np.ones(3, device=gpu(99))
    with pytest.raises(ValueError, match=r"add: its arrays are on gpu\(0\) and cpu\(1\); as_in_ctx\(\) brings"):
        x + np.ones(3, device=cpu(1))
    assert (x + np.ones(3)).ctx == GPU                  # from nowhere


def test_moves():
    given = numpy.random.default_rng(1).random((300, 400))
    x = np.asarray(given)
    there = x.as_in_ctx(GPU)
    x += 1                                              # later
    assert (there.asnumpy() == given).all() and (there.as_in_ctx(cpu(1)).asnumpy() == given).all()
    further = (there * 2).as_in_ctx(LAST).T
    assert further.ctx == LAST and (further.asnumpy() == given.T * 2).all()
    assert (further[::2].copyto(cpu()).asnumpy() == given.T[::2] * 2).all()
    y = np.zeros((300, 400), device=GPU)
    x.copyto(y)
    y[:10] = 0
    assert (y[10:].asnumpy() == given[10:] + 1).all() and y[:10].sum() == 0
    assert there.to_device("cpu").device == "cpu"


def test_from_one_to_another(standin):
    """Without the host, once what is copied is all of an array."""
    x = np.asarray(numpy.arange(600_000.0), device=GPU) + 1
    there = np.zeros(600_000, device=LAST)
    (there + 1).wait_to_read()
    dflow.waitall()
    before = standin.launches["memcpy"]
    x.copyto(there)
    x += 1                                              # later
    there.wait_to_read()
    assert standin.launches["memcpy"] - before == (LAST != GPU)
    assert (there.asnumpy() == numpy.arange(600_000.0) + 1).all() and there.ctx == LAST


def test_memory_that_is_left():
    free, total = npx.gpu_memory_info(0)
    assert 0 < free <= total
    with pytest.raises(ValueError, match=r"gpu\(99\) does not exist"):
        npx.gpu_memory_info(99)


def test_memory_that_others_see_is_a_copy():
    x = np.arange(4.0).as_in_ctx(GPU)
    seen = numpy.asarray(x)
    seen[0] = 9
    assert x.tolist() == [0, 1, 2, 3] and memoryview(x).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="on a GPU has no address here"):
        print(x.ctypes)


def test_numpy_arrays_over_memory_that_goes_there_see_nothing():
    """What is seen outside stays where it is seen."""
    x = np.arange(4.0)
    seen = numpy.asarray(x)
    with GPU:
        x += np.ones(4)
    assert seen.tolist() == [1, 2, 3, 4] == x.tolist()


def test_errors_come_along():
    bad = np.asarray([2, 3], device=GPU) ** np.asarray([-1, -1], device=GPU)
    with pytest.raises(ValueError, match="negative integer powers") as error:
        (bad + 1).as_in_ctx(cpu()).asnumpy()
    assert any("check_devices.py" in note for note in error.value.__notes__)
    bad[...] = 5
    assert bad.tolist() == [5, 5]


def test_no_memory(standin, monkeypatch):
    """What is free is given back first; then that result has the error, and others do not."""
    x = np.ones(1000, device=GPU)
    x.wait_to_read()
    np.ones(100_000, device=GPU).wait_to_read()         # kept by the pool, for one of this size
    dflow.waitall()
    monkeypatch.setattr(standin, "LIMIT", standin.pool.kept[0] + 100_000)
    before = standin.pool.freed_all
    y = np.ones(60_000, device=GPU) + 1
    assert y.sum() == 120_000 and standin.pool.freed_all > before
    bad = np.ones(10_000_000, device=GPU)
    with pytest.raises(MemoryError, match=r"Unable to allocate 80000000 bytes on gpu\(0\)"):
        (bad + 1).sum().item()
    assert (x + 1).sum() == 2000


def test_no_memory_for_cublas(standin, monkeypatch):
    """Which takes some for itself: what the pool keeps is given back first, here too."""
    x = np.eye(8, device=GPU)
    x.wait_to_read()
    np.ones(1_000_000, device=GPU).wait_to_read()       # kept by the pool
    dflow.waitall()
    standin.handles.clear()
    monkeypatch.setattr(standin, "LIMIT", standin.pool.kept[0])
    before = standin.pool.freed_all
    assert (x @ x).sum() == 8 and standin.pool.freed_all > before
    standin.handles.clear()
    monkeypatch.setattr(standin, "LIMIT", standin.pool.kept[0] // 2)
    bad = x @ x
    with pytest.raises(MemoryError, match=r"Unable to allocate temporary memory on gpu\(0\)"):
        bad.wait_to_read()


def test_no_memory_of_a_real_device(real):
    """Of one array that is too large, and of many that are not. Nothing else may use the device meanwhile."""
    _, total = npx.gpu_memory_info(0)
    before = dflow.engine.set_memory_budget(4 * total)
    try:
        x = np.ones(1000, device=GPU)
        with pytest.raises(MemoryError, match=r"Unable to allocate \d+ bytes on gpu\(0\)"):
            np.ones(total // 4, device=GPU).wait_to_read()
        kept = []
        with pytest.raises(MemoryError, match=r"Unable to allocate \d+ bytes on gpu\(0\)"):
            for k in range(20):
                kept.append(np.full(total // 80, k, device=GPU))
                kept[-1].wait_to_read()
        assert len(kept) > 5 and (x + 1).sum() == 2000
        assert [y[7].item() for y in kept[:-1]] == list(range(len(kept) - 1))
    finally:
        dflow.engine.set_memory_budget(before)


ILLEGAL = """
import cupy, numpy, dflow
import dflow.numpy as np

gpu = dflow.gpu(0)
x = np.ones(1000, device=gpu)
(x + 1).wait_to_read()
kernel = cupy.RawKernel('extern "C" __global__ void f(float *p) { *p = 1; }', "f")
with dflow._gpu.mirror.open_gpus[0].compute as stream:
    kernel((1,), (1,), (numpy.uint64(64),))
y = x * 3
for read in (y.tolist, lambda: dflow.synchronize(gpu), lambda: (np.ones(3) + 1).tolist()):
    try:
        print(read())
    except RuntimeError as error:
        print(type(error).__name__, error, *getattr(error, "__notes__", ())[:1])
"""


def in_a_process(program, folder):
    """What a program of its own leaves behind: with this CuPy, and this build."""
    (folder / "program.py").write_text(program)
    return subprocess.run([sys.executable, str(folder / "program.py")], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})


def test_an_illegal_address(real, tmp_path):
    """Who waits learns of it, with a line from which on nothing is sure; and there is still the CPU."""
    done = in_a_process(ILLEGAL, tmp_path)
    first, second, third = done.stdout.splitlines()
    assert "illegal memory access" in first and "program.py:11 in <module>: multiply" in first
    assert "illegal memory access" in second and third == "[2.0, 2.0, 2.0]" and done.returncode == 0


NETWORK = """
import dflow
import dflow.numpy as np
from dflow.gluon import nn

net = nn.Dense(4)
net.initialize(ctx=dflow.gpu(0))
net(np.ones((3, 5), device=dflow.gpu(0))).wait_to_read()
"""


def test_what_lives_until_the_exit_ends_quietly(tmp_path):
    """After the names of modules."""
    done = in_a_process(NETWORK, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_results_that_die_unread_and_long_chains():
    x = np.ones(10, device=GPU)
    for _ in range(300):
        x = x * 1.0 + 1
        np.sqrt(x)
    assert x.tolist() == [301.0] * 10


def test_threads():
    results = {}

    def work(k):
        x = np.full((50, 50), k, device=GPU, dtype=float)
        for _ in range(20):
            x = (x @ np.eye(50, device=GPU)) * 2 - x
            if x[0, 0] != k:
                return
        results[k] = x.sum().item()

    in_threads(*(lambda k=k: work(k) for k in range(4)))
    assert results == {k: 2500.0 * k for k in range(4)}


def test_what_is_written_while_it_is_read_is_not_lost():
    x = np.zeros(1_000_000, device=GPU)
    for k in range(12):
        reader = threading.Thread(target=x.asnumpy)
        reader.start()
        time.sleep(3e-4 * k)
        x += 1
        x.wait_to_read()
        reader.join()
        assert (x.asnumpy() == k + 1).all() and ((x + 0).asnumpy() == k + 1).all()


def test_a_python_function_that_waits_for_its_reader_holds_nobody_up():
    x, opened = np.ones(3, device=GPU), threading.Event()
    task = dflow.submit(lambda a: opened.wait(HANG), x)
    assert (x + 1).tolist() == [2, 2, 2]
    opened.set()
    assert task.result()


def test_a_graph_is_made_while_what_it_reads_is_written():
    w, x = np.asarray(numpy.random.default_rng(1).random(200_000), device=GPU), np.zeros(200_000, device=GPU)
    graph = dflow.graph(lambda x: x * 2 + w)
    for _ in range(3):
        graph(x).wait_to_read()
    w.partition(5)                                      # on the host
    assert (graph(x).asnumpy() == w.asnumpy()).all() and ((w + 0).asnumpy() == w.asnumpy()).all()


def test_host_tasks():
    x = np.arange(4.0).as_in_ctx(GPU)
    y = dflow.submit(numpy.cbrt, x * 1, shape=(4,))
    assert numpy.allclose((y + x).asnumpy(), numpy.cbrt(numpy.arange(4.0)) + numpy.arange(4.0))

    def inside(a):
        return (np.asarray(a, device=GPU) * 2 + 1).asnumpy()

    assert dflow.submit(inside, np.arange(3.0), shape=(3,)).tolist() == [1, 3, 5]


def test_what_other_threads_write_to_stays_where_it_is():
    """A thread makes arrays on the CPU, and writes, by Python functions and graphs, to those that are on a GPU."""
    with GPU:
        x = np.arange(12.0)
    graph = dflow.graph(lambda x: x + x.sum(axis=0))
    seen = []

    def use():
        x[::-1].sort()
        np.random.shuffle(x)
        x.partition(3)
        seen.extend(graph(x).asnumpy() for _ in range(6))

    in_threads(use)
    assert x.ctx == GPU and sorted(x.tolist()) == list(range(12))
    assert all((y == x.asnumpy() + 66).all() for y in seen)


def test_a_child_process_has_no_gpu():
    z = np.ones(3, device=GPU) * 2 + 1
    dflow.waitall()
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                z.asnumpy()
                text = "nothing was raised"
            except RuntimeError as error:
                text = str(error)
            dflow.waitall()
            os.write(writes, f"{(np.ones(3) + 1).tolist()}; {text}".encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    assert text == ("[2.0, 2.0, 2.0]; what is on gpu(0) stays with the process that brought it there: "
                    "this one was forked")
    assert z.tolist() == [3, 3, 3]


def test_synchronize_and_the_timeline():
    x = np.random.uniform(size=(200, 200)).as_in_ctx(GPU)
    with dflow.engine.timeline() as events:
        y = x
        for _ in range(3):
            y = (y @ x) * 0.01
        there = y.as_in_ctx(cpu())
        dflow.synchronize(GPU)
        dflow.synchronize()
    lanes = {event.lane for event in events}
    assert {"gpu(0)", "to cpu(0)"} <= lanes
    assert there.shape == (200, 200)


def test_naive_mode():
    before = dflow.engine.naive(True)
    try:
        x = np.arange(3.0).as_in_ctx(GPU)
        y = x * 2 + 1
        assert y.is_ready() and y.tolist() == [1, 3, 5]
    finally:
        dflow.engine.naive(before)


def trained(devices, seed=3):
    npx.seed(seed) if hasattr(npx, "seed") else None
    np.random.seed(seed)
    data = numpy.random.default_rng(seed)
    inputs, labels = data.random((32, 6)), data.integers(0, 3, 32)
    net = nn.Sequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(3))
    net.initialize(init.Constant(0.1), ctx=devices)
    net(np.zeros((1, 6), device=devices[0]))
    for k, parameter in enumerate(net.collect_params().values()):
        parameter.set_data(np.asarray(numpy.random.default_rng(k).random(parameter.shape) - 0.5))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(5):
        parts = [gluon.utils.split_and_load(np.asarray(x), devices) for x in (inputs, labels)]
        with autograd.record():
            losses = [loss_of(net(x), y) for x, y in zip(*parts)]
        autograd.backward(losses)
        trainer.step(32)
    return [p.list_data()[0].asnumpy() for p in net.collect_params().values()]


def test_training_ends_with_the_cpus_parameters():
    expected = trained([cpu()])
    for devices in ([GPU], sorted({GPU, LAST}, key=str), [cpu(), GPU]):
        for one, other in zip(expected, trained(devices), strict=True):
            assert numpy.allclose(one, other, 1e-6, 1e-8)


def test_copies_overlap_computation(standin):
    """While one result comes down, the next is computed: the stand-in's streams show when each was at work."""
    done = threading.Event()
    x = np.ones((64, 64), device=GPU)
    y = x @ x
    y.wait_to_read()
    stream = next(s for s in standin.Device.all_streams[0] if s.ptr == dflow._gpu.mirror.open_gpus[0].compute.ptr)
    stream.tell(done.wait)                              # the device computes for ever
    z = y + 1
    try:
        assert y.as_in_ctx(cpu()).sum() == 64 ** 3      # and what it computed before comes down meanwhile
        assert (np.zeros(3).as_in_ctx(GPU)).asnumpy().tolist() == [0, 0, 0]
    finally:
        done.set()
    assert z[0, 0] == 65
