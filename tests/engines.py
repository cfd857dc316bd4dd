"""Setting the engine up for a test, holding work back until the test says so, and waiting for what happens."""

import contextlib
import os
import threading
import time

import dflow
import dflow.numpy as np
from dflow._kernels import native

# Seconds after which a test takes what it waits for as hung; never reached when all is well. More under a sanitizer.
HANG = int(os.environ.get("DFLOW_TEST_HANG", "60"))


@contextlib.contextmanager
def configured(naive=False, workers=None, limit=None, bulk=None, budget=None, pools=()):
    """The engine set up so, then put back; what is None stays as it is.

    limit: the inline limit in ns, 0 queues everything; bulk: members of a group, 0 turns fusion off; budget: bytes;
    pools: workers of cpu(1), cpu(2), ... of their own.
    """
    before_workers = dflow.engine.num_workers()
    before_naive = dflow.engine.naive(naive)
    before_limit = dflow.engine.inline_limit()
    before_bulk = dflow.engine.bulk()
    before_budget = dflow.engine.memory_stats()["budget"]
    if limit is not None:
        dflow.engine.inline_limit(limit)
    if bulk is not None:
        dflow.engine.bulk(bulk)
    if workers is not None:
        dflow.engine.set_num_workers(workers)
    for number, n in enumerate(pools, 1):
        dflow.engine.set_num_workers(n, dflow.cpu(number))
    if budget is not None:
        dflow.engine.set_memory_budget(budget)
    try:
        yield
    finally:
        dflow.engine.set_memory_budget(before_budget)
        dflow.engine.bulk(before_bulk)
        dflow.engine.inline_limit(before_limit)
        for number in range(1, len(pools) + 1):
            dflow.engine.set_num_workers(0, dflow.cpu(number))
        dflow.engine.set_num_workers(before_workers)
        dflow.engine.naive(before_naive)


@contextlib.contextmanager
def queueing():
    """Every operation is a task: what runs in its caller raises there. Waits for nothing, unlike configured()."""
    before = dflow.engine.inline_limit()
    dflow.engine.inline_limit(0)
    try:
        yield
    finally:
        dflow.engine.inline_limit(before)


class Gate:
    """Host tasks that run until the gate opens; at the end of its `with` block it opens by itself."""

    def __init__(self):
        self.started, self.opened = threading.Event(), threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.opened.set()

    def open(self):
        self.opened.set()

    def hold(self, x=None):
        """A copy of x (of two zeros without one) that stays pending until the gate opens. Returns once it runs."""
        x = np.zeros(2) if x is None else x
        held = dflow.submit(self._wait, x, shape=x.shape, dtype=x.dtype)
        assert self.started.wait(HANG)
        return held

    def _wait(self, x):
        self.started.set()
        if not self.opened.wait(HANG):
            raise TimeoutError("nobody opened the gate")
        return x


def in_threads(*functions):
    """Run the functions, each in a thread of its own; raises what they raised, and when one hangs."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def poll(ready, seconds=HANG / 4):
    """Whether ready() comes true by itself, in time."""
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            return False
        time.sleep(0.0005)
    return True


def clean_environment():
    """The environment for another process: without settings of dflow, and the build that is tested is found."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DFLOW_")}
    env["PYTHONPATH"] = os.path.dirname(os.path.dirname(os.path.abspath(dflow.__file__)))
    return env


@contextlib.contextmanager
def written_for(name):
    """With loops for a set of instructions, or the best that there is."""
    before = native.choose(name)
    try:
        yield
    finally:
        native.choose(before)


def has(name):
    """Whether loops can be written for a set of instructions."""
    if not dflow.engine.native():
        return False
    with written_for(name):
        return native.choose(name) == name


def ran(function, *args):
    """The native loops that ran, and what the function gave."""
    before = dflow.engine.statistics()["native"]
    result = function(*args).asnumpy()
    dflow.waitall()
    return dflow.engine.statistics()["native"] - before, result


def ran_native(function):
    """The same, until native loops run: one is written at the second sight, and a worker may close a group early."""
    for i in range(30):
        found, result = ran(function)
        if i >= 2 and found:
            break
    return found, result
