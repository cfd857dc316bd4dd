"""The programs: each takes a random generator, and raises where something is wrong. Small ones; what varies is when.

Python's threads, locks and sleeps are under the scheduler, too. Time is virtual, so a long sleep costs nothing.
"""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import threading
from concurrent.futures import CancelledError
from time import monotonic, sleep

import numpy
import programs
from engines import HANG, Gate, in_threads, poll

import dflow
import dflow.numpy as np
from dflow import cpu
from schedule import control

SCENARIOS = {}
LARGE = 20_000          # elements of which some work is worth splitting,
HUGE = 400_000          # and of which an addition is
WORTHY = 60_000         # of which the sines are worth waking a worker


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def set_up(draw, workers=(1, 2, 2, 3, 4)):
    """An engine, by chance. How many workers."""
    n = draw.choice(workers)
    dflow.engine.set_num_workers(n)
    dflow.engine.inline_limit(draw.choice((0, 0, 2000)))
    dflow.engine.bulk(draw.choice((0, 2, 32, 32)))
    return n


def run_threads(draw, *functions):
    """Some of them in threads of their own, and the last in this one at times."""
    if draw.random() < 0.5:
        return in_threads(*functions)
    threads = [threading.Thread(target=in_threads, args=(function,)) for function in functions[:-1]]
    for thread in threads:
        thread.start()
    functions[-1]()
    for thread in threads:
        thread.join()


# ---- values ----

@scenario
def oracle(draw):
    """A random program gives NumPy's results, bit for bit."""
    set_up(draw)
    pools = draw.choice(((), (), (1, 1), (2, 1)))
    for number, n in enumerate(pools, 1):
        dflow.engine.set_num_workers(n, cpu(number))
    run_program(draw, 3 if pools or draw.random() < 0.3 else 0)


def run_program(draw, devices):
    program = programs.generate(draw.randrange(10_000), devices)
    hold = draw.choice((0, 0, 3e-5, 3e-4))
    variables = programs.execute(program, np, (lambda x: dflow.engine.sleep(x, hold)) if hold else None)
    different = programs.differences(program, variables, lambda x: x.asnumpy())
    assert not different, "\n".join([*different, program.script()])


@scenario
def updates(draw):
    """x += y, y += x, ... in several threads: whatever the order, the determinant stays 1 (modulo 2**64)."""
    set_up(draw)
    size = draw.choice((1, 3, 600))
    x, y, z = (np.array(numpy.repeat(row[:, None], size, 1)) for row in numpy.eye(3, dtype="int64"))
    arrays = [x, y, z]

    def work(a, b, times):
        for _ in range(times):
            a += b
            if times % 3 == 0:
                b[:1].wait_to_read()

    pairs = [draw.sample(arrays, 2) for _ in range(draw.randint(2, 4))]
    run_threads(draw, *(lambda a=a, b=b: work(a, b, draw.randint(3, 12)) for a, b in pairs))
    rows = [[[int(v) for v in row] for row in zip(*array.tolist())] for array in arrays]
    for (a, b, c), (d, e, f), (g, h, i) in zip(*rows):
        assert (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)) % 2 ** 64 == 1


@scenario
def readers(draw):
    """One thread counts all elements up, others read: never a step back, never elements of different steps."""
    set_up(draw)
    x, steps = np.zeros(draw.choice((2, 300, 5000)), dtype="int64"), draw.randint(3, 15)
    ways = (lambda: x.asnumpy(), lambda: numpy.array(x.tolist()), lambda: (x + 0).asnumpy(),
            lambda: numpy.array(x[::-1]))

    def write():
        for _ in range(steps):
            x.__iadd__(1)

    def read():
        last = 0
        for _ in range(100):
            now = draw.choice(ways)()
            assert (now == now[0]).all() and now[0] >= last, (now, last)
            last = now[0]
            if last == steps:
                break
        assert last >= 0

    run_threads(draw, write, *[read] * draw.randint(1, 2))
    assert x.tolist() == [steps] * x.size


@scenario
def parts(draw):
    """Writers of disjoint parts of an array: the first of them gives it its memory, or takes it from the disk."""
    set_up(draw)
    rows, columns = draw.randint(2, 5), draw.choice((1, 40, LARGE))
    values = [np.arange(float(columns)) + k for k in range(rows)]

    def write():
        x = np.empty((rows, columns))
        for k in draw.sample(range(rows), rows):
            if draw.random() < 0.5:
                np.add(values[k], 1, out=x[k])
            else:
                x[k] = dflow.engine.sleep(values[k], draw.choice((0, 3e-5))) + 1
        for k, row in enumerate(x.asnumpy()):
            assert row[0] == k + 1 and row[-1] == k + columns, (k, row)

    run_threads(draw, *[lambda: [write() for _ in range(draw.randint(1, 4))]] * draw.randint(1, 2))


@scenario
def waits(draw):
    """Threads that submit, and wait in every way."""
    set_up(draw)
    shared = np.arange(64)

    def work(k):
        total = np.zeros(64, dtype="int64")
        for step in range(6):
            total += shared * k
            way = draw.randrange(6)
            if way == 0:
                assert total[-1].item() == 63 * k * (step + 1)
            elif way == 1:
                dflow.waitall()
            elif way == 2:
                dflow.synchronize()
            elif way == 3:
                assert dflow.submit(lambda a: a.sum(), total).result() == k * (step + 1) * 63 * 32
            elif way == 4:
                total.is_ready(), dflow.engine.statistics()
            elif way == 5:                  # until those who read it have done so
                reader = np.cumsum(total)
                assert memoryview(total)[63] == 63 * k * (step + 1) == reader[63].item() // 32
        assert total.tolist() == [6 * k * i for i in range(64)]

    run_threads(draw, *(lambda k=k: work(k) for k in range(draw.randint(1, 3))))


@scenario
def followers(draw):
    """What is no member of a group, but waits for the open one, which a worker, a reader or nobody closes before it."""
    set_up(draw)
    n = draw.choice((3, 60, 600, 6000))
    whole = np.arange(n)

    def work():
        for k in range(1, 6):
            x = whole * k + 1
            if draw.random() < 0.2:
                x = dflow.engine.sleep(x, 3e-5)
            y = x - whole                                   # k - 1 as many times as the place says, and 1
            way = draw.randrange(5)
            if way == 0:
                assert np.cumsum(y)[-1].item() == n + (k - 1) * n * (n - 1) // 2
            elif way == 1:
                x[y[::-1] // (k * n)] += y[0] - 1           # 0 at place 0
                assert x[0].item() == 1
            elif way == 2:
                assert np.sort(y[::-1])[-1].item() == 1 + (k - 1) * (n - 1)
            elif way == 3:
                dflow.engine.sleep(y, 3e-6)
                assert (y @ y.T).item() == sum((1 + (k - 1) * i) ** 2 for i in range(n))
            else:
                whole.wait_to_read()
            assert y[-1].item() == 1 + (k - 1) * (n - 1)

    run_threads(draw, *[work] * draw.randint(1, 3))


@scenario
def splits(draw):
    """What several runners are in at once."""
    set_up(draw, (1, 2, 2, 3, 4))
    draw.choice((mixed, in_place, shared))(draw)


def mixed(draw):
    """Kernels that are run in pieces, tasks in between, and several threads that do so."""
    base = numpy.arange(LARGE, dtype="float64") % 97
    x = np.array(base)
    kinds = (lambda v: v * 2 + 1, lambda v: v.reshape(100, -1).sum(axis=1), lambda v: v.max(), lambda v: v[::-1].copy(),
             lambda v: v.cumsum(), lambda v: v.reshape(200, 100).T + 1, lambda v: (v > 3).reshape(40, -1).any(axis=1),
             lambda v: v[1:] - v[:-1], lambda v: v.sum())
    expected = [kind(base) for kind in kinds]

    def work(k):
        chosen = [draw.randrange(len(kinds)) for _ in range(4)]
        results = [kinds[i](x + 0) for i in chosen]
        for i, result in zip(chosen, results):
            assert (numpy.asarray(result) == expected[i]).all(), i

    run_threads(draw, *(lambda k=k: work(k) for k in range(draw.randint(1, 3))))


def in_place(draw):
    """In place, so that a piece shows which is run twice, or late. Flags are noted within a piece: a point."""

    def work():
        x, y, z = np.ones(HUGE), np.full(HUGE, 10.0), np.ones(HUGE)
        for _ in range(3):
            x += 1
            z[:draw.randint(HUGE // 4, HUGE)] += 1
        with numpy.errstate(over="ignore"):
            y *= 1e308
        assert (x.asnumpy() == 4).all() and (z.asnumpy()[:HUGE // 4] == 4).all()
        assert numpy.isinf(y.asnumpy()).all()

    before = dflow._runtime.executor.set_split(40_000, draw.choice((20_000, 20_000, 2000)))
    run_threads(draw, *[work] * draw.randint(1, 2))
    dflow.waitall()
    dflow._runtime.executor.set_split(*before)


def shared(draw):
    """Tasks that read an array which nobody else has, or write parts of one result: they end, and begin, at once."""
    n = draw.choice((12, 600, 3000))
    for k in range(1, 6):
        x = np.full(n, float(k))
        sums = [np.cumsum(x) for _ in range(draw.randint(2, 4))]
        del x
        joined = np.concatenate([total[i:] for i, total in enumerate(sums)])
        del sums
        assert joined[-1].item() == k * n and joined[0].item() == k
        assert (joined.asnumpy() % k == 0).all() and (joined.asnumpy() > 0).all()


# Called from another package than what runs the scenario, which would catch the error: then it would be raised at once.
power = eval("lambda x, y: x ** y", {"__name__": "another"})


@scenario
def errors(draw):
    """An error reaches all that depends on it, and nothing else; a write over everything clears it."""
    set_up(draw)
    dflow.engine.inline_limit(0)            # what runs in its caller raises there
    negative = dflow.engine.sleep(np.array([-1, 2, 3]), draw.choice((0, 1e-5)))

    def work(k):
        bad = power(np.array([2, 3, 4]), negative)
        worse, good = bad + k, np.arange(3) + k
        part = np.zeros(6, "int64")
        part[:3] = worse
        part[3:] += good
        if draw.random() < 0.5:
            dflow.submit(lambda a: a, good).result()
        for x in draw.sample((bad, worse, worse[:1], part), 4):
            try:
                x.tolist()
                raise AssertionError("an error was lost")
            except ValueError as error:
                assert "negative integer powers" in str(error)
        bad[...] = 5
        assert (bad + good).tolist() == [5 + k, 6 + k, 7 + k] and good.tolist() == [k, k + 1, k + 2]

    run_threads(draw, *(lambda k=k: work(k) for k in range(draw.randint(1, 3))))


# ---- who wakes whom ----

WORK = {"group": lambda x: np.sin(np.sin(x)),
        "groups": lambda x: [np.sin(x[k:]) for k in range(4)],
        "tasks": lambda x: [*(np.cumsum(x) for k in range(4)), np.sin(x)],
        "chain": lambda x: np.sin(np.cumsum(np.sin(np.cumsum(x)))),
        "split": lambda x: np.sin(np.tile(x, 8))}


@scenario
def waking(draw):
    """What is worth a worker is done though nobody waits, and though others are held in Python code."""
    n = set_up(draw, (2, 2, 3))
    x = np.array(numpy.linspace(0, 1, WORTHY))
    with Gate() as gate:
        held = [gate.hold() for _ in range(draw.randrange(n))]
        for _ in range(4):
            name = draw.choice([*WORK])
            kept = WORK[name](x)
            assert poll(lambda: dflow._engine.live()["tasks"] <= len(held)), name
            del kept
            sleep(draw.choice((0, 1e-5, 1e-4, 1e-3)))
        gate.open()


@scenario
def stories(draw):
    """explain() beside threads that submit, and workers that run: it sees tasks that are there, and disturbs nobody."""
    set_up(draw)
    size = draw.choice((3, 600, LARGE))

    def work():
        x = np.ones(size)
        for _ in range(draw.choice((3, 8))):
            x = np.sort(x + 1) if draw.random() < 0.3 else x * 2 - x + 1
            x[:1] = x[-1:]
        assert numpy.unique(x.asnumpy()).size == 1

    def look():
        x = np.zeros(size)
        for _ in range(6):
            x += dflow.engine.sleep(x, draw.choice((0, 1e-5, 1e-3)))
            for text in dflow.engine.explain(x), dflow.engine.explain(), dflow.engine.explain(x[:1]):
                lines = text.split("\n")
                assert len(lines) < 24 and (len(lines) > 1 or lines[0] in ("ready", "nothing is pending")), text
                assert "not looked at" not in text, text
        assert not x.asnumpy().any()

    run_threads(draw, *draw.sample((work, work, look), 3))


@scenario
def meetings(draw):
    """Host tasks that wait for each other, as many as there are workers; submitted by one thread or several."""
    n = set_up(draw, (2, 2, 3))
    x = np.array(numpy.linspace(0, 1, WORTHY))

    def together():
        meeting, left = threading.Barrier(n), threading.Semaphore(0)
        for value in draw.sample((np.ones(3), np.cumsum(x), np.sin(x)), n):
            dflow.submit(lambda value: (meeting.wait(HANG), left.release()), value)
        assert all(left.acquire(timeout=HANG) for _ in range(n))

    def told(value):
        event = threading.Event()
        dflow.submit(lambda value: event.set(), value)
        assert event.wait(HANG / 4)

    for _ in range(2):
        together()
    if draw.random() < 0.5:
        run_threads(draw, *(lambda: told(np.cumsum(np.sin(x))) for _ in range(draw.randint(1, 3))))


@scenario
def workers(draw):
    """Their number changes while others submit; nothing is left behind."""
    set_up(draw)

    def work():
        for _ in range(3):
            x = np.zeros(3)
            results = [(x := x + 1) * k for _ in range(3) for k in range(3)]
            assert poll(lambda results=results: all([result.is_ready() for result in results]))

    def change():
        for _ in range(3):
            dflow.engine.set_num_workers(draw.randint(1, 4))

    run_threads(draw, work, work, change)


# ---- room, devices ----

@scenario
def budget(draw):
    """Threads that wait for room, and for values, beside host tasks."""
    set_up(draw)
    n = 1 << 14
    x = np.ones(n)
    x.wait_to_read()
    stats = dflow.engine.memory_stats()
    dflow.engine.set_memory_budget(stats["live"] + int(draw.choice((3.2, 5, 8)) * 8 * n))

    def work(k):
        y = x
        for _ in range(5):
            y = y + k if draw.random() < 0.8 else np.sort(y)
        assert (y.asnumpy()[:3] >= 1).all()

    def host():
        assert dflow.submit(lambda a: a.sum(), x).result() == n

    try:
        work(1)
        if draw.random() < 0.5:
            run_threads(draw, lambda: work(2), host)
        dflow.waitall()
    finally:
        dflow.engine.set_memory_budget(stats["budget"])


@scenario
def spills(draw):
    """Threads that compute with more arrays than the budget holds: the others are on the disk."""
    set_up(draw)
    n, threads = draw.choice((1 << 13, 1 << 14)), draw.randint(1, 2)
    dflow.waitall()
    stats = dflow.engine.memory_stats()
    room = draw.choice((4.2, 6, 9)) if threads == 1 else draw.choice((7.2, 9))      # an operation of each has room
    dflow.engine.set_memory_budget(stats["live"] + int(room * 8 * n))

    def work(first):
        xs = [np.full(n, float(first + k)) for k in range(draw.randint(3, 6))]
        expected, source = [float(first + k) for k in range(len(xs))], numpy.full((8, n // 4), 8.0)
        outs = [np.empty(n) for _ in range(draw.randint(0, 9))]
        for _ in range(draw.randint(3, 10)):
            i, j = draw.randrange(len(xs)), draw.randrange(len(xs))
            what = draw.randrange(8)
            if what == 0:
                xs[i] = xs[i] + xs[j]
                expected[i] += expected[j]
            elif what == 5:
                assert (np.concatenate([xs[i][:n // 2], xs[i][:n // 2]])[::n // 8] == expected[i]).all()
            elif what == 6:
                xs[j], expected[j] = np.array(source[:, ::2]).ravel(), 8.0
            elif what == 7 and outs:
                xs[j], expected[j] = np.add(xs[i], 1, out=outs.pop()), expected[i] + 1
            elif what == 1:
                xs[i][:n // 2] += 1
                xs[i][n // 2:] += 1
                expected[i] += 1
            elif what == 2:
                assert xs[i][n - 1] == expected[i]
            elif what == 3:
                xs[j], expected[j] = np.full(n, 7.0), 7.0
            else:
                assert (xs[i].asnumpy()[::n // 8] == expected[i]).all()
        for x, value in zip(xs, expected):
            assert (x.asnumpy()[::n // 8] == value).all(), (x, value)

    with tempfile.TemporaryDirectory() as directory:
        dflow.engine.spill(directory)
        try:
            run_threads(draw, *(lambda k=k: work(10 * k) for k in range(threads)))
            dflow.waitall()
        finally:
            dflow.engine.spill(None)
            dflow.engine.set_memory_budget(stats["budget"])


@scenario
def devices(draw):
    """A ring of devices with workers of their own: values go round it, changed at each."""
    set_up(draw)
    ring = [cpu(i) for i in range(draw.randint(2, 3))]
    for device in ring[1:]:
        dflow.engine.set_num_workers(draw.randint(1, 2), device)

    def go_round(k):
        x = np.full(draw.choice((4, LARGE)), float(k), device=ring[k % len(ring)])
        with dflow.engine.priority(draw.choice((0, 0, 5))):
            for step in range(6):
                x += 1
                if step % 2 == 0:
                    x = x.to_device(draw.choice(ring))
                if draw.random() < 0.2:
                    dflow.synchronize(draw.choice(ring))
        assert x[-1].item() == x[0].item() == k + 6

    def change():
        dflow.engine.set_num_workers(draw.randint(0, 2), ring[-1])

    run_threads(draw, *(lambda k=k: go_round(k) for k in range(draw.randint(1, 3))), *[change] * draw.randrange(2))
    dflow.waitall()


@scenario
def gpus(draw):
    """A random program over the CPU and two GPUs of the stand-in, whose streams are threads and run late."""
    import cupy
    set_up(draw)
    before, programs.cpu = programs.cpu, lambda i: dflow.gpu(i - 1) if i else cpu(0)
    run_program(draw, 3)
    programs.cpu = before
    assert not cupy.faults


@scenario
def adopted(draw):
    """Threads make arrays over the same buffers, and let go of them while tasks still read: each sees what is there."""
    set_up(draw)
    kept, changed = numpy.arange(64.0).tobytes(), bytearray(8 * 64)
    expected = numpy.arange(64.0)

    def thread(k):
        for _ in range(draw.choice((2, 4))):
            x = np.frombuffer(kept, offset=8 * k)
            y = x * 2 + x[::-1]
            if k % 2:
                del x
            z = np.frombuffer(changed, offset=64 * k, count=8)
            z += 1
            del z
            assert (y.asnumpy() == expected[k:] * 2 + expected[k:][::-1]).all()

    run_threads(draw, *[lambda k=k: thread(k) for k in range(draw.choice((2, 3)))])
    dflow.waitall()
    assert numpy.frombuffer(changed)[:8].min() >= 2
    changed.extend(b"1")                # nobody looks at it any more


@scenario
def loops(draw):
    """Coroutines that await arrays while others run."""
    set_up(draw)

    async def go_on(k):
        x = dflow.engine.sleep(np.full(2, k), draw.choice((0, 1e-5, 1e-3))) * 2
        await asyncio.sleep(draw.choice((0, 1e-4)))
        assert (await x).tolist() == [2 * k, 2 * k]
        return (await (x + np.cumsum(x))).tolist()

    async def main():
        return await asyncio.gather(*map(go_on, range(draw.randint(1, 5))))

    assert all(b == [4 * k, 6 * k] for k, b in enumerate(asyncio.run(main())))


@scenario
def replays(draw):
    """Functions noted and launched again, by several threads, unless somebody keeps an array of the noted call."""
    set_up(draw)
    keeps = draw.random() < 0.5

    kept = []

    @dflow.graph
    def f(x, y):
        z = x * y + 1
        if keeps and not kept:
            kept.append(z)
        return z.sum(axis=0), np.maximum(z, x)

    def work(k):
        for step in range(4):
            a, b = numpy.full((3, 4), float(k)), numpy.full((3, 4), float(step))
            if step == 2:
                kept.clear()
            total, most = f(np.array(a), np.array(b))
            z = a * b + 1
            assert total.tolist() == z.sum(axis=0).tolist() and most.tolist() == numpy.maximum(z, a).tolist()

    run_threads(draw, *(lambda k=k: work(k) for k in range(draw.randint(1, 3))))


@scenario
def linear(draw):
    """Products, and NumPy's linear algebra, which one thread at a time may be in: here and in tasks."""
    set_up(draw)
    a = numpy.eye(24) * 3 + numpy.arange(576).reshape(24, 24) % 5
    expected = numpy.linalg.inv(a), a @ a, numpy.linalg.eigvalsh(a + a.T)
    alone, larger = draw.random() < 0.3, np.array(numpy.eye(256) * 2)

    def work():
        x, halves = np.array(a) + 0, np.linalg.inv(larger) if alone else None
        for i in draw.sample(range(3), 2):
            actual = np.linalg.inv(x) if i == 0 else x @ x if i == 1 else np.linalg.eigvalsh(x + x.T)
            assert numpy.allclose(actual.asnumpy(), expected[i])
        assert halves is None or halves[3, 3].item() == 0.5

    run_threads(draw, *[work] * draw.randint(1, 3))


# ---- what is cancelled, and what nobody can see ----

@scenario
def cancels(draw):
    """Values of chains that others cancel, all or in part: NumPy's, or CancelledError; and an engine that works, in a
    child that is forked meanwhile, too."""
    set_up(draw)
    size = draw.choice((2, 300, LARGE))
    given = numpy.linspace(0, 1, size)
    made, done = [], threading.Event()

    def work():
        for _ in range(draw.randint(1, 4)):
            x, expected = np.array(given), given
            for _ in range(draw.randint(1, 4)):
                way = draw.randrange(3)
                if way == 0:
                    x, expected = x * 2 - 1, expected * 2 - 1
                elif way == 1:
                    x, expected = np.sort(x), numpy.sort(expected)
                else:
                    x, expected = dflow.engine.sleep(x, 1e-5) + x, expected + expected
            made.append((x, expected))
            check(x, expected)

    def check(x, expected):
        with contextlib.suppress(CancelledError):
            assert numpy.array_equal(x.asnumpy(), expected)

    def cancel():
        for _ in range(10):
            if done.is_set():
                break
            if made and draw.random() < 0.5:
                assert dflow.engine.cancel(draw.choice(made)[0]) >= 0
            else:
                dflow.engine.cancel_all()
            sleep(draw.choice((0, 1e-6, 1e-5)))
            if draw.random() < 0.1:
                assert in_child(afterwards)

    def afterwards():
        x = np.array(given)
        assert numpy.array_equal(np.sort(x * 2 - 1).asnumpy(), numpy.sort(given * 2 - 1))

    run_threads(draw, *[work] * draw.randint(1, 2), cancel)
    done.set()
    dflow.waitall()
    for x, expected in made:
        check(x, expected)
    afterwards()
    dflow.waitall()
    dflow._engine.check_idle()


@scenario
def dropped(draw):
    """Results that are dropped at any moment, of work that is passed over then: what is kept is right."""
    set_up(draw)
    given = numpy.linspace(0, 1, HUGE)
    kept = [(np.array(given), given)]

    def work():
        x, expected = kept[0]
        for _ in range(draw.randint(2, 5)):
            y = np.sort(x)[::-1]
            z = np.sin(y) * 2
            if draw.random() < 0.5:
                del z
            if draw.random() < 0.3:
                x, expected = y, numpy.sort(expected)[::-1]
            sleep(draw.choice((0, 1e-6, 1e-5)))
        kept.append((x, expected))

    run_threads(draw, *[work] * draw.randint(1, 2))
    before = dflow.engine.statistics()["never_run"]
    dflow.waitall()
    for x, expected in kept:
        assert numpy.array_equal(x.asnumpy(), expected)
    assert dflow.engine.statistics()["never_run"] >= before
    dflow.waitall()
    dflow._engine.check_idle()


# ---- fork, signals, exit ----

def in_child(work):
    """Fork, run work() in the child; whether it succeeded."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@scenario
def forks(draw):
    """At any moment; the child has what was done, errors in place of what was pending, and an engine that works."""
    set_up(draw)
    ready = np.arange(4) * 2
    ready.wait_to_read()
    large = np.array(numpy.linspace(0, 1, LARGE))
    stop = threading.Event()

    def chatter():
        for _ in range(20):
            x = np.zeros(3)
            for _ in range(3):
                x = x + 1
            if stop.is_set() or draw.random() < 0.2:
                assert x.tolist() == [3] * 3

    def child():
        assert ready.tolist() == [0, 2, 4, 6]
        assert (ready + 1 + ready).tolist() == [1, 5, 9, 13]
        assert dflow.submit(lambda a: a.tolist(), ready).result() == [0, 2, 4, 6]
        for x in pending:
            with contextlib.suppress(RuntimeError):         # it was pending
                x.tolist()
        assert abs(np.sin(large).sum().item() - numpy.sin(numpy.linspace(0, 1, LARGE)).sum()) < 1e-9
        dflow.waitall()
        dflow._engine.check_idle()

    def fork():
        pending.extend((np.sin(large), np.cumsum(ready + 1), dflow.engine.sleep(ready, 1e-4) + 1))
        if draw.random() < 0.3:
            dflow.submit(lambda a: sleep(1e-5), ready)
        sleep(draw.choice((0, 1e-6, 1e-5, 1e-4)))
        assert in_child(child)

    pending = []
    run_threads(draw, *[chatter] * draw.randrange(3), fork)
    stop.set()
    assert pending[1].tolist() == [1, 4, 9, 16] and pending[2].tolist() == [1, 3, 5, 7]


class Interrupted(Exception):
    pass


@scenario
def interrupts(draw):
    """Signals at any point, whose handler raises in waits, or waits itself; all work is done in the end."""
    set_up(draw)
    armed, deep, large = [False], [False], np.array(numpy.linspace(0, 1, LARGE))
    handlers_wait = draw.random() < 0.5

    def handler(*args):
        if handlers_wait and not deep[0]:
            deep[0] = True
            assert (np.ones(3) + 1).tolist() == [2, 2, 2]
            assert np.sin(large)[0].item() == 0
            deep[0] = False
        if armed[0]:
            armed[0] = False
            raise Interrupted

    def attempt(function):
        try:
            armed[0] = True
            function()
            armed[0] = False
        except Interrupted:
            pass

    before = signal.signal(signal.SIGALRM, handler)
    control.signals(signal.SIGALRM, draw.randint(1, 6), draw.choice((30, 100, 400)))
    x, others = np.zeros(3), []
    for _ in range(draw.randrange(2)):
        others.append(threading.Thread(target=lambda: [(np.ones(3) + k).tolist() for k in range(5)]))
        others[-1].start()
    for k in range(8):
        x += 1
        y = np.cumsum(np.sin(large))
        done = dflow.submit(lambda a: a.sum(), x)
        attempt(draw.choice((x.wait_to_read, y.wait_to_read, dflow.waitall, done.result, (x + 1).tolist)))
        assert done.result() == 3 * (k + 1)
    armed[0] = False
    control.signals(signal.SIGALRM, 0, 1)
    signal.signal(signal.SIGALRM, before)
    for thread in others:
        thread.join()
    assert x.tolist() == [8] * 3


@scenario
def exits(draw):
    """The process ends with work pending: host tasks run, the rest is dropped, daemon threads go on meanwhile."""
    set_up(draw)
    x = dflow.engine.sleep(np.zeros(3), draw.choice((0, 1e-5, 1e-3)))
    for _ in range(20):
        x = x + 1
    if draw.random() < 0.3:
        dflow.engine.set_num_workers(1, cpu(1))
        np.sin(np.ones(LARGE, device=cpu(1)))
    promised, kept = draw.randrange(4), [np.sin(np.ones(LARGE))]
    control.results[0] = promised
    control.results[1] = 0

    def task(value):
        sleep(draw.choice((0, 1e-6, 1e-4)))
        control.results[1] += 1

    for _ in range(promised):
        dflow.submit(task, x)

    def forever():
        y = np.ones(3)
        while True:
            monotonic()                 # a point: in the release build what runs at once passes no other
            y = y + 1
            kept[0] = np.sin(np.cumsum(y))
            if draw.random() < 0.3:
                y.wait_to_read()
            if hosts:
                dflow.submit(lambda a: a, y)
                sleep(1e-5)

    hosts = draw.random() < 0.2
    for _ in range(draw.randrange(3)):
        threading.Thread(target=forever, daemon=True).start()
    sleep(draw.choice((0, 1e-6, 1e-4)))
    raise SystemExit


# ---- what is wrong on purpose, for the test of the scheduler ----

WRONG = {}


def wrong(function):
    WRONG[function.__name__] = function
    return function


@wrong
def lost_update(draw):
    """Reading and writing back are two steps."""
    count, lock = [0], threading.Lock()

    def add():
        with lock:
            before = count[0]
        with lock:
            count[0] = before + 1

    in_threads(add, add)
    assert count[0] == 2, "a step was lost"


@wrong
def two_locks(draw):
    first, second = threading.Lock(), threading.Lock()

    def take(a, b):
        a.acquire()
        b.acquire()
        b.release()
        a.release()

    thread = threading.Thread(target=take, args=(first, second))
    thread.start()
    take(second, first)
    thread.join()


@wrong
def order_of_threads(draw):
    came = []
    in_threads(lambda: came.append(1), lambda: came.append(2))
    assert came == [1, 2], "the second came first"
