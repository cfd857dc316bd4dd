"""What it costs to be seen: the record of events on and off, and what a cancel takes."""
import resource
import statistics
import time
from contextlib import contextmanager, nullcontext

import numpy

import dflow
import dflow.numpy
from dflow import autograd, gluon, npx
from dflow._runtime import events

from .limits import workers
from .registry import Row, experiment
from .timing import spread

ROUNDS = 15


@contextmanager
def recorded():
    """The engine's record alone: what timeline() makes of it afterwards is not of the program."""
    before, _ = events.watch()
    try:
        yield
    finally:
        events.unwatch(before)


def both(work, rounds):
    """The seconds of work() without the record and with it, by turns, those of each round side by side."""
    found = {False: [], True: []}
    work()
    for turn in range(rounds):
        for on in (turn % 2 == 0, turn % 2 == 1):
            with recorded() if on else nullcontext():
                start = time.perf_counter()
                work()
                found[on].append(time.perf_counter() - start)
    return found[False], found[True]


def added(label, work, count, rounds, limit):
    """Nanoseconds that the record adds to one of `count`."""
    off, on = both(work, rounds)
    seen = spread([(b - a) / count * 1e9 for a, b in zip(off, on)])
    return Row(label, seen.median, "ns", limit, statistics.median(off) / count, statistics.median(on) / count,
               low=seen.low, high=seen.high, note="more for each, with the record on; the base is without it")


def slower(label, work, count, rounds, limit=None):
    off, on = both(work, rounds)
    seen = spread([b / a for a, b in zip(off, on)])
    return Row(label, seen.median, "x", limit, statistics.median(off) / count, statistics.median(on) / count,
               low=seen.low, high=seen.high, note="with the record on, against without it")


@contextmanager
def queued(bulk):
    """Every task goes to a queue: in groups, or each by itself."""
    limit, before = dflow.engine.inline_limit(0), dflow.engine.bulk(bulk)
    try:
        yield
    finally:
        dflow.engine.bulk(before)
        dflow.engine.inline_limit(limit)


@experiment("observing", "the record of events on and off; 10,000 products cancelled",
            limit="100 ns a task, 1.03 of a training step, 50 ms", parts=("tasks", "programs", "memory", "cancel"))
def observing(run):
    for part in run.only or PARTS:
        yield from PARTS[part](run)


def tasks(run):
    np, rounds = dflow.numpy, run.repeat(ROUNDS)
    x, y = np.ones(2), np.ones(1)

    def here():
        for _ in range(100_000):
            x + 1

    def chain():
        z = y
        for _ in range(20_000):
            z = z + 1
        dflow.waitall()

    yield added("x + 1 of 2, where it is called", here, 100_000, rounds, 100)
    with queued(512):
        yield added("task of 1 element, in groups", chain, 20_000, rounds, 100)
    with queued(0):
        yield added("task of 1 element, each alone", chain, 20_000, rounds, 100)


def programs(run):
    np, rounds = dflow.numpy, run.repeat(ROUNDS)
    a = np.ones(100_000)

    def chain():
        for _ in range(200):
            a * 2 + a / 3 - a
        dflow.waitall()

    yield slower("a * 2 + a / 3 - a of 10^5", chain, 200, rounds)
    with npx_arrays():
        net = gluon.nn.Sequential()
        net.add(gluon.nn.Dense(256, activation="relu"), gluon.nn.Dense(256, activation="relu"), gluon.nn.Dense(10))
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        loss, draw = gluon.loss.L2Loss(), np.random.default_rng(0)
        x, y = draw.normal(size=(128, 784)).astype("f4"), draw.normal(size=(128, 10)).astype("f4")

        def steps():
            for _ in range(20):
                with autograd.record():
                    error = loss(net(x), y)
                error.backward()
                trainer.step(128)
            dflow.waitall()

        yield slower("training step, 784-256-256-10, batch 128", steps, 20, rounds, 1.03)


@contextmanager
def npx_arrays():
    npx.set_np()
    try:
        yield
    finally:
        npx.reset_np()


def memory(run):
    """The record's rings are as large as they were made, however many tasks run."""
    np = dflow.numpy
    count, x = 1_000_000, np.ones(1)
    with queued(0):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with recorded():
            for i in range(count):
                x + 1
                if i % 10_000 == 0:
                    dflow.waitall()
            dflow.waitall()
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield Row("10^6 tasks recorded", (after - before) / 1024, "MiB", 256, note="more at the peak than before")


def cancel(run):
    np, found = dflow.numpy, []
    x = np.array(numpy.random.default_rng(0).normal(size=(500, 500)))
    with workers(2):
        for _ in range(run.repeat(ROUNDS)):
            pending = [x @ x for _ in range(10_000)]
            start = time.perf_counter()
            dflow.engine.cancel_all()
            dflow.waitall()
            found.append((time.perf_counter() - start) * 1e3)
            assert float(((x @ x) - (x @ x)).sum()) == 0
            del pending
    seen = spread(found)
    yield Row("10,000 pending products of 500 x 500, cancelled", seen.median, "ms", 50, low=seen.low, high=seen.high,
              note="until nothing is pending")


PARTS = {"tasks": tasks, "programs": programs, "memory": memory, "cancel": cancel}
