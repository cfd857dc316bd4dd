"""The programs of examples/seeds: what the book says of them, by what is pending when, not by the clock."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from engines import HANG, Gate, clean_environment, configured, poll

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
import dflow  # noqa: E402
from dflow import np, npx  # noqa: E402
from examples.seeds import async_computation, async_computation_nd, auto_parallelism  # noqa: E402

# The book's learning rate is too large for batches as small as here.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")


@pytest.fixture(autouse=True)
def as_in_the_book():
    npx.set_np()
    yield
    dflow.waitall()
    npx.reset_np()


@pytest.fixture
def gate():
    with configured(workers=2, limit=0), Gate() as gate:
        yield gate


def ended(function, *args):
    """A thread that runs a function, and the list that gets its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*args)), daemon=True)
    thread.start()
    return thread, results


TIME = r"\d+\.\d{4,6}"
PRINTED = {
    async_computation: r"""numpy: T sec
dflow\.np: T sec
Done: T sec
array\(\[\[3\., 3\.\]\]\)
waitall: T sec
wait_to_read: T sec
numpy conversion: T sec
scalar conversion: T sec
synchronous: T sec
asynchronous: T sec
batch 2, time T sec
batch 4, time T sec
batch 6, time T sec
time per epoch: T sec
increased memory: -?T MB
batch 2, time T sec
batch 4, time T sec
batch 6, time T sec
time per epoch: T sec
increased memory: -?T MB
""",
    async_computation_nd: r"""\[\[3\. 3\.\]\]
Workloads are queued\. time: T sec
sum = [\d.e+]+
Workloads are finished\. time: T sec
time: T sec
time: T sec
time: T sec
time: T sec
synchronous\. time: T sec
asynchronous\. time: T sec
batch 3, time T sec
batch 6, time T sec
increased memory: -?T MB
batch 3, time T sec
batch 6, time T sec
increased memory: -?T MB
""",
    auto_parallelism: r"""CPU time: T sec
GPU time: T sec
CPU & GPU: T sec
Run on GPU: T sec
Copy to CPU: T sec
Run on GPU and copy to CPU: T sec
"""}
SMALL = {async_computation: (50, 20, 6, 16), async_computation_nd: (50, 20, 6, 16), auto_parallelism: (50, 60)}


@pytest.mark.parametrize("program", PRINTED, ids=lambda program: program.__name__.rpartition(".")[2])
def test_printed(program, capsys, monkeypatch):
    monkeypatch.setattr(program, "get_mem", lambda: 1.0, raising=False)         # asks `ps`, which may not be there
    program.main(*SMALL[program])
    assert re.fullmatch(PRINTED[program].replace("T", TIME), capsys.readouterr().out)


def test_as_a_program():
    done = subprocess.run([sys.executable, "-m", "examples.seeds.auto_parallelism", "20", "30"], cwd=ROOT, text=True,
                          env=clean_environment(), capture_output=True)
    assert done.returncode == 0 and done.stdout.startswith("CPU time: ") and done.stderr == ""


def test_submission_returns_before_the_work_is_done():
    """All of it is pending while the only worker is held up."""
    with configured(workers=1, limit=0), Gate() as gate:
        gate.hold()
        b = async_computation.with_dflow(50)
        assert dflow.engine.statistics()["pending"] >= 10 and not b.is_ready()
        gate.open()
        assert b.asnumpy().shape == (50, 50)


def test_printing_waits(gate):
    x = gate.hold(np.ones((1, 2)))
    z = async_computation.dependencies(x, np.ones((1, 2)))
    order = []
    thread, _ = ended(lambda: order.append(repr(z)))
    assert not poll_briefly(thread) and not z.is_ready()
    order.append("opened")
    gate.open()
    thread.join(HANG)
    assert order == ["opened", "array([[3., 3.]])"]


def poll_briefly(thread):
    """Whether a thread ends within some milliseconds."""
    thread.join(0.02)
    return not thread.is_alive()


@pytest.mark.parametrize("read", [np.ndarray.wait_to_read, np.ndarray.asnumpy, lambda z: z.sum().item(),
                                  lambda z: npx.waitall(), lambda z: z.norm().asscalar()])
def test_what_waits(gate, read):
    """Each of the book's barriers and blockers."""
    z = gate.hold(np.ones((2, 2))) + 1
    order = []
    thread, _ = ended(lambda: (read(z), order.append("read")))
    assert not poll_briefly(thread)
    order.append("opened")
    gate.open()
    thread.join(HANG)
    assert order == ["opened", "read"]


def test_a_loop_runs_ahead_unless_it_waits(gate):
    x = gate.hold(np.ones((1, 2)))
    y = async_computation.asynchronous(x, 1000)
    assert not y.is_ready()
    thread, results = ended(async_computation.synchronous, x, 1000)
    assert not poll_briefly(thread)
    gate.open()
    thread.join(HANG)
    assert y.tolist() == results[0].tolist() == [[2, 2]]


def held_up(gate, barrier, batches, submitted):
    """The training loop, with weights that are not there yet; counts the batches that it is given."""
    net, trainer, loss = async_computation.network()
    X, y = next(async_computation.data_iter(1, 16))
    loss(y, net(X)).wait_to_read()
    weight = net[2].weight.data()
    weight[...] = gate.hold(weight)

    def counted():
        for batch in async_computation.data_iter(batches, 16):
            submitted.append(batch[0].nbytes)
            yield batch

    return async_computation.train(net, trainer, loss, counted(), barrier)


def test_memory_without_a_barrier(gate, capsys):
    """All batches are submitted before the first is done, and what they need is held all at once."""
    submitted, before = [], dflow.engine.memory_stats()["live"]
    loss = held_up(gate, False, 12, submitted)
    assert len(submitted) == 12 and not loss.is_ready()
    assert dflow.engine.memory_stats()["live"] - before > sum(submitted)
    gate.open()
    assert loss.asnumpy().shape == (16,)


def test_memory_with_a_barrier(gate, capsys):
    """No batch is made before the one before it is done."""
    submitted = []
    thread, results = ended(held_up, gate, True, 12, submitted)
    assert poll(lambda: submitted) and not poll_briefly(thread) and len(submitted) == 1
    gate.open()
    thread.join(HANG)
    assert len(submitted) == 12 and results[0].is_ready()


def test_what_is_independent_runs_meanwhile(gate):
    """One device's products end while the other's wait; what is computed is copied while the rest is not."""
    slow, fast = gate.hold(np.ones((50, 50))), np.ones((60, 60))
    ys, zs = auto_parallelism.run(slow), auto_parallelism.run(fast)
    copies = auto_parallelism.copy_to_cpu([*zs, *ys])
    assert poll(lambda: all(x.is_ready() for x in copies[:10]))
    assert not any(x.is_ready() for x in (*ys, *copies[10:]))
    gate.open()
    assert (copies[0] == 60).all() and (copies[-1] == 50).all()
