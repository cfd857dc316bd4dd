"""The table of speed and memory to reach: each row is measured against its limit."""
import os
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy

import dflow
import dflow.numpy

from .registry import Row, experiment, row_of
from .timing import Side, interleaved, spread

NS = 1e9


@experiment("increment", "y = x + 1 on shape (1, 2), submitted and finished, per op", limit="0.35 x NumPy")
def increment(run):
    yield run.against_numpy("y = x + 1, (1, 2)", "y = x + 1", {"x": numpy.ones((1, 2))}, limit=0.35)


@experiment("small", "(x + 1).item(), x.sum(), x[i, :j] @ x[:j, i]", limit="0.5 x NumPy")
def small(run):
    square = numpy.random.default_rng(0).normal(size=(50, 50))
    for label, stmt, x in (
            ("(x + 1).item(), (1,)", "(x + 1).item()", numpy.ones(1)),
            ("x.sum(), (1, 2)", "x.sum()", numpy.ones((1, 2))),
            ("x.sum(), (50, 50)", "x.sum()", square),
            ("x[i, :j] @ x[:j, i], (50, 50)", "x[i, :j] @ x[:j, i]", square)):
        yield run.against_numpy(label, stmt, {"x": x, "i": 25, "j": 30}, limit=0.5)


@experiment("views", "x[i, j], x[i], x[i, :j], x.T, x.reshape(25, 100) on (50, 50)", limit="1.1 x NumPy")
def views(run):
    for stmt in ("x[i, j]", "x[i]", "x[i, :j]", "x.T", "x.reshape(25, 100)"):
        yield run.against_numpy(stmt, stmt, {"x": numpy.ones((50, 50)), "i": 25, "j": 30}, limit=1.1)


@experiment("chain", "1,000 dependent y = y * 0.5 + x", limit="0.5 x NumPy", sizes=(16,), size_is="elements")
def chain(run):
    for size in run.sizes:
        yield run.against_numpy(f"y = y * 0.5 + x, dependent, ({size},)", "y = y * 0.5 + x",
                                {"x": numpy.ones(size)}, before="y = x", finish="y.wait_to_read()", number=1000,
                                limit=0.5 if size == 16 else None, size=size, note="1,000 of them, per statement")


class Gate:
    """`array(shape)` is pending until `open()`, so whatever reads it must be queued."""

    # An engine whose budget fills up behind the gate waits for it: then the gate opens by itself.
    TIMEOUT = 60

    def array(self, shape):
        self._open = threading.Event()
        started = threading.Event()
        opened = self._open

        def wait():
            started.set()
            opened.wait(self.TIMEOUT)
            return numpy.ones(shape)

        pending = dflow.submit(wait, shape=shape, dtype="float64")
        # A task that has not started would take the GIL from the submitting loop.
        started.wait(self.TIMEOUT)
        return pending

    def open(self):
        self._open.set()


def _queued(stmt, shape):
    gate = Gate()
    return Side(stmt, "is_pending = not y.is_ready()\ngate.open()\nwaitall()\nassert is_pending",
                before="x = gate.array(shape)\ny = x", np=dflow.numpy, gate=gate, shape=shape, waitall=dflow.waitall)


@experiment("submit", "an op on pending input, in the calling thread", limit="500 ns",
            sizes=(10_000,), size_is="statements")
def submit(run):
    statements = (("y = x + 1, x pending", "y = x + 1", (1, 2), 1),
                  ("y = y * 0.5 + x, y pending", "y = y * 0.5 + x", (1, 2), 2),
                  ("y = np.dot(x, x), x pending", "y = np.dot(x, x)", (2, 2), 1),
                  ("x += 1, x pending", "x += 1", (1, 2), 1))
    for size in run.sizes:
        sides = {label: _queued(stmt, shape) for label, stmt, shape, _ in statements}
        timings = interleaved(sides, run.repeat(9), size)
        for label, _, _, ops in statements:
            yield _per_op(label, timings[label], ops, limit=500, size=size)


def _per_op(label, timing, ops, **more):
    """The row of a Timing whose statements hold `ops` operations: what their submission costs each, in ns."""
    cost = spread([NS * seconds / ops for seconds in timing.submits])
    return Row(label, cost.median, "ns", low=cost.low, high=cost.high, dflow=timing.total / ops,
               submit=timing.submit / ops, wait=timing.wait / ops, **more)


@experiment("pending", "n ops pending at once: cost of an op, and its growth with n (--full: 10 million)",
            limit="500 ns, 1.5 x as n grows", sizes=(100_000, 1_000_000), size_is="pending ops")
def pending(run):
    sizes = run.sizes + ((10_000_000,) if run.full else ())
    costs = {}
    for size in sizes:
        repeat = max(1, min(5, 2_000_000 // size))
        timing = interleaved({"pending": _queued("y = y * 0.5 + x", (1, 2))}, run.repeat(repeat), size // 2)["pending"]
        row = _per_op(f"{size:,} pending ops", timing, 2, limit=500, size=size)
        costs[size] = row.measured
        yield row
    for small, large in pairwise(sizes):
        yield Row(f"cost of an op, {large:,} to {small:,} pending", costs[large] / costs[small], limit=1.5,
                  note="linear is 1", size=large)


_PROBE = """\
import dflow
from bench.limits import Gate
from bench.memory import resident
from dflow._runtime.graph import storage_header_bytes
gate = Gate()
x = gate.array((1, 2))
y = x * 0.5 + x
live, memory = dflow._engine.live(), resident()
for _ in range({statements}):
    y = y * 0.5 + x
used, now = resident() - memory, dflow._engine.live()
print(used, *(now[count] - live[count] for count in ("storages", "tasks", "bytes")), storage_header_bytes())
gate.open()
dflow.waitall()
"""


@experiment("task_memory", "memory of a pending op, less the header of its storage", limit="200 bytes",
            sizes=(1_000_000,), size_is="pending ops")
def task_memory(run):
    for size in run.sizes:
        # A process of its own: here, memory that earlier experiments left in the pool would be used unseen.
        used, storages, tasks, data, header = map(int, fresh(_PROBE.format(statements=size // 2)).split())
        yield Row(f"memory of a pending op ({size:,} pending)", (used - storages * header) / size, "bytes", limit=200,
                  note=f"with headers {used / size:.0f}; an op has {tasks / size:.2f} tasks, {storages / size:.2f} "
                       f"headers of {header} bytes, {data / size:.0f} bytes of array data", size=size)


@contextmanager
def workers(count, others=None):
    """The engine has `count` workers inside the block; `others`: devices with workers of their own, and how many."""
    before = dflow.engine.num_workers()
    others = others or {}
    try:
        dflow.engine.set_num_workers(count)
        for device, number in others.items():
            dflow.engine.set_num_workers(number, device)
        yield
    finally:
        for device in others:
            dflow.engine.set_num_workers(0, device)
        dflow.engine.set_num_workers(before)
        dflow.waitall()


@experiment("host_tasks", "two host tasks that release the GIL on 2 workers, against one of them", limit="1.1 x one")
def host_tasks(run):
    def together(count):
        futures = [dflow.submit(lambda: time.sleep(0.3)) for _ in range(count)]
        for future in futures:
            future.result()

    with workers(2):
        sides = {name: Side("together(count)", together=together, count=count) for name, count in
                 (("one", 1), ("two", 2))}
        timings = interleaved(sides, run.repeat(3), 1)
    yield row_of("two host tasks of 0.3 s on 2 workers", timings["two"], timings["one"], limit=1.1, note="base: one")


@experiment("sleepers", "16 sleeping kernels of 5 ms on 16 workers, against one of them", limit="1.5 x one")
def sleepers(run):
    stmt = "ys = [sleep(x, 0.005) for x in xs]"
    xs = [dflow.numpy.ones(1) for _ in range(16)]
    with workers(16):
        sides = {name: Side(stmt, "waitall()", xs=some, sleep=dflow.engine.sleep, waitall=dflow.waitall)
                 for name, some in (("one", xs[:1]), ("sixteen", xs))}
        timings = interleaved(sides, run.repeat(25), 1)
    yield row_of("16 sleeping kernels of 5 ms on 16 workers", timings["sixteen"], timings["one"], limit=1.5,
                 note="base: one")


def fresh(code):
    """What `code` prints in a new interpreter."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], env=environment, text=True,
                          stdout=subprocess.PIPE, timeout=300)
    if done.returncode:
        raise RuntimeError(f"a fresh process ended with code {done.returncode}")
    return done.stdout


@experiment("import", "import dflow.numpy in a fresh process, against import numpy", limit="1.3 x NumPy")
def import_time(run):
    code = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    modules = ("numpy", "dflow.numpy")
    times = {module: [] for module in modules}
    for module in modules:
        fresh(code.format(module))
    for _ in range(run.repeat(9)):
        for module in modules:
            times[module].append(float(fresh(code.format(module))))
    measured = spread([mine / other for mine, other in zip(times["dflow.numpy"], times["numpy"], strict=True)])
    yield Row("import dflow.numpy", measured.median, limit=1.3, low=measured.low, high=measured.high,
              base=statistics.median(times["numpy"]), dflow=statistics.median(times["dflow.numpy"]))
