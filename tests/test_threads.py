"""Many threads, deep graphs, disjoint views: what runs when, seen through values, events and is_ready()."""

import itertools
import os
import sys
import threading
import time

import numpy
import pytest
import scipy.special
from engines import HANG, Gate, configured, in_threads

import dflow
import dflow.numpy as np
from dflow._runtime import executor
from dflow._runtime import threads as _threads

pytestmark = pytest.mark.core

ENGINES = {"default": {}, "queued": {"limit": 0}, "one worker": {"workers": 1, "limit": 0},
           "eight workers": {"workers": 8, "limit": 0}, "naive": {"naive": True}}


@pytest.fixture(params=ENGINES)
def any_engine(request):
    with configured(**ENGINES[request.param]):
        yield


@pytest.fixture
def two_workers():
    """A worker for the task that a gate holds, and one for the rest."""
    with configured(workers=2):
        yield


# -- many threads ----------------------------------------------------------------------------------

def add_often(x, value, times):
    for _ in range(times):
        x += value


@pytest.mark.parametrize("size", [1, 3000])
def test_eight_threads_add_to_one_array(any_engine, size):
    x = np.zeros(size, dtype="int64")
    in_threads(*(lambda k=k: add_often(x, k, 500) for k in range(8)))
    assert (x.asnumpy() == 500 * sum(range(8))).all()


@pytest.mark.parametrize("size", [1, 1000])
def test_crossing_updates_are_serial(any_engine, size):
    """x += y against y += x: whatever the order, each step keeps x[0] * y[1] - x[1] * y[0] as it is (modulo 2**64).

    A deadlock hangs; a step that sees half of another breaks the invariant.
    """
    ones = numpy.ones(size, dtype="int64")
    x, y = np.array([ones, 0 * ones]), np.array([0 * ones, ones])
    in_threads(lambda: add_often(x, y, 400), lambda: add_often(y, x, 400), lambda: add_often(x, y, 200))
    first, second = x.tolist(), y.tolist()
    for a, b, c, d in zip(first[0], first[1], second[0], second[1]):
        assert (a * d - b * c) % 2 ** 64 == 1


def test_updates_round_a_ring_are_serial(any_engine):
    """x += y, y += z, z += x in three threads: each step keeps the determinant of the three."""
    x, y, z = (np.array(row) for row in numpy.eye(3, dtype="int64"))
    in_threads(lambda: add_often(x, y, 200), lambda: add_often(y, z, 200), lambda: add_often(z, x, 200))
    (a, b, c), (d, e, f), (g, h, i) = x.tolist(), y.tolist(), z.tolist()
    assert (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)) % 2 ** 64 == 1


def test_threads_that_submit_and_wait(any_engine):
    shared = np.arange(64)

    def work(k):
        total = np.zeros(64, dtype="int64")
        for step in range(50):
            total += shared * k
            if step % 7 == k % 7:
                assert total[-1].item() == 63 * k * (step + 1)
            if step % 11 == k:
                dflow.waitall()
        assert total.tolist() == [50 * k * i for i in range(64)]

    in_threads(*(lambda k=k: work(k) for k in range(8)))


READS = {"asnumpy": lambda x: x.asnumpy(), "tolist": lambda x: numpy.array(x.tolist()),
         "tobytes of a transpose": lambda x: numpy.frombuffer(x.reshape(10, -1).T.tobytes(), "int64")}


@pytest.mark.parametrize("way", READS)
@pytest.mark.parametrize("size", [300, 20_000])         # NumPy gives up the GIL in copies of the larger one
def test_a_reader_sees_a_writers_steps_in_order(any_engine, size, way):
    """One thread counts up all elements, another reads: never a step back, never two elements of different steps."""
    x = np.zeros(size, dtype="int64")

    def read():
        last = 0
        while last < 500:
            now = READS[way](x)
            assert (now == now[0]).all() and now[0] >= last
            last = now[0]

    in_threads(lambda: add_often(x, 1, 500), read, read)


def test_reads_end_though_another_thread_never_stops_writing(any_engine):
    x, done = np.zeros(1000), threading.Event()

    def write():
        while not done.is_set():
            add_often(x, 1, 100)
            while dflow.engine.statistics()["pending"] > 1000 and not done.is_set():
                time.sleep(0)                    # or the queue would only grow

    def read():
        try:
            for _ in range(30):
                now = x.asnumpy()
                assert (now == now[0]).all()
                assert x[1:3].tolist()[0] >= now[0]
                x.wait_to_read()
        finally:
            done.set()

    in_threads(write, write, read)


def test_many_threads_wait_for_one_array(two_workers):
    with Gate() as gate:
        x = gate.hold(np.ones(2))
        before = dflow.engine.statistics()["waits"]

        def open_when_all_wait():
            while dflow.engine.statistics()["waits"] < before + 4:
                threading.Event().wait(0.001)
            gate.open()

        in_threads(open_when_all_wait, *[lambda: x.wait_to_read()] * 4)
        assert x.tolist() == [1, 1]


def test_changing_the_number_of_workers_under_load():
    with configured(limit=0):
        x = np.zeros(10, dtype="int64")
        for n in (3, 1, 8, 2):
            for _ in range(200):
                x += 1
            dflow.engine.set_num_workers(n)
            assert dflow.engine.num_workers() == n
        assert x.tolist() == [800] * 10


@pytest.mark.slow
def test_changing_the_number_of_workers_while_others_submit():
    """What a worker queued before it went is not left behind."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            x = np.zeros(3)
            results = [(x := x + 1) * k for _ in range(20) for k in range(5)]
            for _ in range(HANG * 1000):
                if all(result.is_ready() for result in results):
                    break
                threading.Event().wait(0.001)
            else:
                raise AssertionError("a task was left behind")

    def change():
        try:
            for turn in range(1000):
                dflow.engine.set_num_workers((8, 1, 4, 2)[turn % 4])
                threading.Event().wait(0.002)
        finally:
            stop.set()

    with configured(limit=0):
        in_threads(change, work, work)


@pytest.mark.parametrize("device", [0, 1], ids=["cpu(0)", "workers of its own"])
def test_the_number_of_workers_changes_though_others_never_stop_submitting(device):
    """There may be no moment at which nothing is pending."""
    stop, done, begun = threading.Event(), [], threading.Event()

    def work():
        x = before = np.zeros(3, device=dflow.cpu(device))
        while not stop.is_set():
            before.wait_to_read()       # those that follow it are pending
            before = x
            for _ in range(20):
                x = dflow.engine.sleep(x, 1e-4) + 1
                dflow.submit(abs, -1)
            begun.set()
        done.append(x[0].item() > 0)

    def change():
        try:
            begun.wait()
            for n in (3, 1, 8, 2, 1 - device, 3):
                dflow.engine.set_num_workers(n, dflow.cpu(device))
                assert dflow.engine.num_workers(dflow.cpu(device)) == (n or dflow.engine.num_workers())
        finally:
            stop.set()

    with configured(limit=0, workers=2, pools=(1,) * device):
        in_threads(change, work, work)
        dflow.waitall()
    assert done == [True, True]


def test_a_worker_is_dismissed_in_the_middle_of_a_function():
    """It leaves at the end of that, or stays after all: nobody waits for it, which may wait for them."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            (dflow.engine.sleep(np.zeros(3), 1e-5) + 1).wait_to_read()

    def change():
        try:
            with Gate() as gate:
                held = gate.hold()
                for n in (1, 3, 2, 1, 8, 1):
                    dflow.engine.set_num_workers(n)
                assert not held.is_ready()
            assert held.tolist() == [0, 0]
        finally:
            stop.set()

    with configured(limit=0, workers=3):
        in_threads(change, work, work)


@pytest.mark.parametrize("refused", [0, 3, 10**6])
def test_no_thread_for_the_function_that_a_wait_needs(refused, monkeypatch):
    """The only worker is in a function: a thread runs what is waited for, as soon as it can be had, or the worker."""
    tried, begun, go, start = [], threading.Event(), threading.Event(), _threads.start_new_thread

    def refusing(*args):
        tried.append(args)
        if len(tried) <= refused:
            raise RuntimeError("can't start new thread")
        return start(*args)

    def first():
        begun.set()
        go.wait(0.5 if refused > 3 else HANG)
        return numpy.zeros(2)

    def second():
        go.set()
        return numpy.ones(2)

    with configured(workers=1, limit=0):
        held = dflow.submit(first, shape=(2,), dtype=float)
        assert begun.wait(HANG)
        monkeypatch.setattr(_threads, "start_new_thread", refusing)
        assert dflow.submit(second, shape=(2,), dtype=float).tolist() == [1, 1]
        assert held.tolist() == [0, 0]
    assert tried


def test_a_chain_without_an_end_leaves_a_worker_its_other_tasks():
    """One worker, and a thread that submits faster than it runs: a function that was submitted has its turn."""
    told = threading.Event()
    with configured(workers=1, limit=0):
        x, ahead, patience = np.zeros(3), 1000, time.monotonic() + 20
        for step in itertools.count():
            x = dflow.engine.sleep(x, 1e-4)
            if step == 100:
                dflow.submit(told.set)
            if step > ahead and step % 2 and told.wait(1e-4) or time.monotonic() > patience:
                break
        assert told.is_set(), "it waits for the end of the chain"


# -- copies ----------------------------------------------------------------------------------------

def test_the_source_may_change_right_after_the_call():
    """Also while every worker is busy: the copy is made in the call."""
    with configured(workers=1, limit=0), Gate() as gate:
        gate.hold()
        sources = [numpy.zeros(3), numpy.zeros(100_000), numpy.zeros((300, 400)).T[::2]]
        copies = [(np.array(source), np.asarray(source)) for source in sources]
        later = [copy + 1 for copy, also in copies]
        for source in sources:
            source[...] = 7
        gate.open()
        for (copy, also), plus_one in zip(copies, later):
            assert not copy.asnumpy().any() and not also.asnumpy().any()
            assert (plus_one.asnumpy() == 1).all()


def test_asnumpy_is_a_copy():
    x = np.zeros(3)
    x.asnumpy()[:] = 5
    numpy.array(x)[:] = 5
    assert x.tolist() == [0, 0, 0]


def test_an_array_copied_while_pending_keeps_that_value(two_workers):
    with Gate() as gate:
        x = gate.hold(np.zeros(4))
        copy = np.array(x)
        x += 1
        late = x.copy()
        x[:2] = 9
        assert not x.is_ready() and not copy.is_ready()
        gate.open()
        assert copy.tolist() == [0] * 4 and late.tolist() == [1] * 4 and x.tolist() == [9, 9, 1, 1]


# -- deep graphs -----------------------------------------------------------------------------------

DEEP = 1_000_000        # a recursion over it would overflow any stack


def test_a_million_deep_chain():
    with configured(limit=0):
        y = dflow.engine.sleep(np.zeros(2), 0.1)
        for _ in range(DEEP):
            y = y + 1
        assert y.tolist() == [DEEP, DEEP]


def test_a_million_deep_chain_in_place():
    with configured(limit=0):
        y = dflow.engine.sleep(np.zeros(2), 0.1)
        for _ in range(DEEP):
            y += 1
        assert y.tolist() == [DEEP, DEEP]


def test_a_million_deep_chain_that_nobody_reads():
    with configured(limit=0):
        y = dflow.engine.sleep(np.zeros(2), 0.1)
        for _ in range(DEEP):
            y = y + 1
        del y
        dflow.waitall()


def test_an_error_goes_down_a_million_deep_chain():
    with configured(limit=0):
        y = dflow.engine.sleep(np.full(2, 2), 0.1) ** np.array([-1, 1])
        for _ in range(DEEP):
            y = y + 1
        with pytest.raises(ValueError, match="negative integer powers"):
            y.wait_to_read()


def test_one_array_with_a_hundred_thousand_pending_readers(two_workers):
    with configured(limit=0), Gate() as gate:
        x = gate.hold(np.ones(3))
        readers = [x + 1 for _ in range(100_000)]
        x += 5                                          # waits for all of them
        gate.open()
        assert x.tolist() == [6, 6, 6]
        assert {tuple(r.tolist()) for r in readers} == {(2, 2, 2)}


def test_ten_thousand_rows_of_one_pending_array(two_workers):
    """Each row's write is another access in the same storage's frontier."""
    with configured(limit=0), Gate() as gate:
        x = gate.hold(np.zeros((10_000, 4)))
        for i in range(10_000):
            x[i] += i
        total = x.sum(axis=1)
        gate.open()
        assert total.tolist() == [4 * i for i in range(10_000)]


# -- disjoint views --------------------------------------------------------------------------------

DISJOINT = {
    "rows": (lambda a: a[:4], lambda a: a[4:]),
    "one row": (lambda a: a[2:3], lambda a: a[3:]),
    "columns": (lambda a: a[:, :4], lambda a: a[:, 4:]),
    "one column": (lambda a: a[:, 3:4], lambda a: a[:, 4:]),
    "tiles": (lambda a: a[:4, :4], lambda a: a[4:, 4:]),
    "tiles side by side": (lambda a: a[:4, :4], lambda a: a[:4, 4:]),
    "transposed": (lambda a: a.T[:, :4], lambda a: a[4:]),
    "even and odd rows": (lambda a: a[::2], lambda a: a[1::2]),
    "even and odd columns": (lambda a: a[:, ::2], lambda a: a[:, 1::2]),
    "even and odd elements": (lambda a: a.reshape(-1)[::2], lambda a: a.reshape(-1)[1::2]),
}


@pytest.fixture(params=DISJOINT)
def disjoint(request):
    return DISJOINT[request.param]


def test_a_pending_write_does_not_delay_a_disjoint_view(two_workers, disjoint):
    first, second = disjoint
    a, expected = np.ones((8, 8)), numpy.ones((8, 8))
    with Gate() as gate:
        held = gate.hold(np.zeros(first(a).shape))
        view = first(a)
        view[...] = held
        other = second(a)
        other += 1
        other *= other
        assert other.asnumpy().tolist() == numpy.full(other.shape, 4.0).tolist()    # hangs if it waits for the other
        assert other.is_ready() and second(a).is_ready()
        assert not view.is_ready() and not first(a).is_ready() and not a.is_ready()
        gate.open()
        first(expected)[...] = 0
        second(expected)[...] = 4
        assert a.tolist() == expected.tolist()


def test_a_pending_read_does_not_delay_a_write_elsewhere(two_workers, disjoint):
    first, second = disjoint
    a = np.ones((8, 8))
    with Gate() as gate:
        copy = gate.hold(first(a))
        view, other = first(a), second(a)
        other += 1
        assert (other.asnumpy() == 2).all()
        view += 1                                           # must wait for the reader, which sees the old values
        assert not view.is_ready() and other.is_ready()
        gate.open()
        assert (copy.asnumpy() == 1).all() and (view.asnumpy() == 2).all()


def test_overlapping_views_wait(two_workers):
    a = np.zeros((8, 8))
    with Gate() as gate:
        tile = a[2:5, 2:5]
        tile[...] = gate.hold(np.ones((3, 3)))
        for touching in (a[4:, 4:], a[2], a[:, 4], a[::2, ::2], a.T[3:4], a.reshape(-1)[18:19], a[4, 4]):
            assert not touching.is_ready()
        for apart in (a[5:, 5:], a[1], a[:, 5], a[:2], a[5:]):
            assert apart.is_ready()
        a[4:, 4:] += 1
        gate.open()
        expected = numpy.zeros((8, 8))
        expected[2:5, 2:5] = 1
        expected[4:, 4:] += 1
        assert a.tolist() == expected.tolist()


# -- scheduling ------------------------------------------------------------------------------------

def test_a_wait_runs_what_it_needs_and_not_what_may_block():
    """The only worker is held; the waiting thread computes what it waits for, not the queued task that blocks."""
    with configured(workers=1, limit=0), Gate() as gate:
        gate.hold()
        blocks = dflow.submit(lambda: gate.opened.wait(HANG))
        y = np.ones(3) + 1
        assert y.tolist() == [2, 2, 2]
        assert not blocks.done()
        gate.open()
        assert blocks.result() is True


def test_a_wait_does_not_run_python_code_that_follows_from_what_it_needs():
    """It may block until the very thread that waits goes on."""
    done = threading.Event()
    with configured(workers=1, limit=0):
        gate = dflow.submit(done.wait, HANG)            # the only worker is in Python code
        first = chain = np.cumsum(np.ones(5000))
        follower = dflow.submit(lambda x: done.wait(HANG), first)
        for _ in range(300):
            chain = np.cumsum(chain * 1e-6)
        assert chain[0].item() == pytest.approx(0, abs=1e-9)    # needs neither of the two
        done.set()
        gate.result()
        assert follower.result() is True


def test_a_wait_for_memory_does_not_run_python_code(two_workers):
    done, n = threading.Event(), 1_000_000
    before = dflow.engine.set_memory_budget(3 * 8 * n)
    try:
        x = np.ones(n)
        dflow.waitall()
        copy = dflow.engine.sleep(x, 0.1)               # gives back what x has, when it ends
        del x
        tasks = [dflow.submit(done.wait, HANG) for _ in range(3)]
        room = np.ones(2 * n - n // 4)
        done.set()
        assert room[0].item() == copy[0].item() == 1 and all(task.result() for task in tasks)
    finally:
        done.set()
        dflow.engine.set_memory_budget(before)


def test_a_wait_runs_what_it_needs_while_all_workers_are_at_work(two_workers):
    x = np.arange(1000)[::-1].copy()
    dflow.waitall()
    long = [dflow.engine.sleep(np.ones(3), 2.0) for _ in range(2)]
    assert np.sort(x)[0].item() == 0
    assert not any(a.is_ready() for a in long)


def test_a_group_is_taken_by_one_thread():
    """By the thread that closes it, or by one that helps and finds it first."""
    with configured(workers=2, limit=0):
        x, rest = np.zeros(110), []
        x[:10] = dflow.engine.sleep(np.ones(10), 1.0)
        helper = threading.Thread(target=x[:10].wait_to_read)
        helper.start()
        part, last = x[10:], x[100:101]
        for i in range(100_000):
            part += 1.0
            if last.item() != i + 1:
                rest.append((i, last.item()))
                break
        helper.join(HANG)
        assert not rest and not helper.is_alive()


def test_a_worker_comes_for_a_group_though_another_was_just_woken(two_workers):
    x, small = np.ones(100_000), np.ones(10)
    came = 0
    for _ in range(5):
        dflow.waitall()
        time.sleep(0.02)                                     # workers sleep too
        long = dflow.engine.sleep(small, 0.3)
        y = np.sqrt(np.exp(np.sin(x)) + 1)
        while not y.is_ready() and not long.is_ready():
            time.sleep(0.01)                                 # nobody asks for y
        came += not long.is_ready()                     # or the machine stood still
    assert came >= 3


def test_independent_host_tasks_run_at_once():
    """Two tasks on two workers, each of which ends only when the other has begun."""
    begun = threading.Barrier(2)
    with configured(workers=2):
        first, second = dflow.submit(begun.wait, HANG), dflow.submit(begun.wait, HANG)
        assert {first.result(), second.result()} == {0, 1}


def test_a_host_task_runs_after_its_inputs_and_before_later_writes(two_workers):
    x = np.zeros(3)
    with Gate() as gate:
        x += gate.hold(np.ones(3))
        seen = dflow.submit(lambda values: values.tolist(), x)
        x += 1
        gate.open()
        assert seen.result() == [1, 1, 1] and x.tolist() == [2, 2, 2]


def test_host_task_arguments(two_workers):
    x = np.arange(3)

    def look(a, number, text):
        return type(a), a.flags.writeable, a.tolist(), number, text

    assert dflow.submit(look, x, 5, "text").result() == (numpy.ndarray, False, [0, 1, 2], 5, "text")


def test_host_task_results_are_stored_and_broadcast_like_an_assignment(two_workers):
    x = dflow.submit(lambda: [1, 2, 3], shape=(2, 3), dtype="float32")
    assert x.shape == (2, 3) and x.dtype == "float32"
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_a_host_task_may_submit(two_workers):
    x = np.ones(3)
    y = dflow.submit(lambda values: np.array(values) + 1, x).result()
    assert (y * 2).tolist() == [4, 4, 4]
    assert dflow.submit(lambda: dflow.submit(lambda: 5)).result().result() == 5


def test_a_thousand_host_tasks_in_a_chain(two_workers):
    x = np.zeros(2)
    for _ in range(1000):
        x = dflow.submit(lambda values: values + 1, x, shape=(2,), dtype="float64")
    assert x.tolist() == [1000, 1000]


# -- statistics ------------------------------------------------------------------------------------

def test_statistics_count(two_workers):
    start = dflow.engine.statistics()
    assert {"pending", "inline", "queued", "stolen", "waits", "bytes"} <= set(start)
    assert start["pending"] == 0

    x = np.zeros(2)
    x = x + 1
    assert dflow.engine.statistics()["inline"] > start["inline"]

    with configured(workers=2, limit=0), Gate() as gate:
        held = gate.hold(x)
        queued = dflow.engine.statistics()["queued"]
        results = [held + i for i in range(100)]
        now = dflow.engine.statistics()
        assert now["pending"] >= 100 and now["queued"] >= queued + 100
        assert now["bytes"] >= start["bytes"] + 100 * 2 * 8
        waits = now["waits"]
        opener = threading.Thread(target=open_once_somebody_waits, args=(gate, waits))
        opener.start()
        assert results[99].tolist() == [100, 100]
        opener.join(HANG)
        assert dflow.engine.statistics()["waits"] > waits
    dflow.waitall()
    assert dflow.engine.statistics()["pending"] == 0


def open_once_somebody_waits(gate, waits):
    while dflow.engine.statistics()["waits"] <= waits:
        threading.Event().wait(0.001)
    gate.open()


def test_an_array_that_is_resized_while_a_call_waits_for_it(two_workers):
    """What np.errstate raises is raised at the call, which waits before a task keeps its operands' memory."""
    x, results = np.sort(np.array(numpy.arange(3_000_000.0)[::-1])), []
    waits = dflow.engine.statistics()["waits"]

    def wait_in_a_call():
        with np.errstate(all="raise"):
            results.append(np.sqrt(x))

    def resize_meanwhile():
        while dflow.engine.statistics()["waits"] <= waits and not x.is_ready():
            pass
        x.resize(2)

    in_threads(wait_in_a_call, resize_meanwhile)
    assert x.tolist() == [0, 1] and numpy.array_equal(results[0], numpy.sqrt(numpy.arange(results[0].size)))


@pytest.fixture
def hasty():
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("product", [
    lambda x, y: x @ y, np.vecdot, lambda x, y: (x * y).sum(), lambda x, y: np.add(x, y, out=y).sum() - y.size * 2],
    ids=["matmul", "vecdot", "sum", "out"])
def test_a_vector_that_is_resized_while_a_call_catches_up(two_workers, hasty, product):
    """What runs what an operand waits for may give up the GIL: the sizes are looked at afterwards."""
    n, over = 4000, threading.Event()
    x = np.ones(n)
    dflow.engine.set_memory_budget(dflow.engine.memory_stats()["live"] + 64_000_000)    # resize() runs ahead

    def multiply():
        try:
            for _ in range(10_000):
                y = np.ones(n) * 2              # pending, and small
                try:
                    assert 0 <= float(product(x, y)) <= 2 * n
                except ValueError:              # the sizes differ
                    pass
        finally:
            over.set()

    def resize():
        while not over.is_set():
            x.resize(n // 2)
            x.resize(n)
            x[...] = 1

    in_threads(multiply, resize)


def test_threads_that_catch_up_with_the_same(two_workers, hasty):
    n, held = 4000, [np.ones(4000)]

    def work():
        for _ in range(5000):
            held[0] = z = held[0] * 0.5 + 1
            first = z.item(3)
            assert z.max() == first and abs(z @ z - n * first ** 2) < 1e-6 and (z == first).all()

    in_threads(*[work] * 3)
    assert dflow.engine.statistics()["pending"] == 0


def test_what_a_host_task_uses_is_not_reshaped_before_it_ran(two_workers):
    with Gate() as gate:
        held = gate.hold(np.arange(6.0))
        seen = dflow.submit(numpy.shape, held)
        opener = threading.Thread(target=open_once_somebody_waits, args=(gate, dflow.engine.statistics()["waits"]))
        opener.start()
        held.shape = 2, 3
        opener.join(HANG)
        assert seen.result() == (6,) and held.tolist() == [[0, 1, 2], [3, 4, 5]]


LONG_WORK = {
    "sort": np.sort,
    "sum of sines": lambda x: np.sin(x).sum(),
    "normal": lambda x: np.random.normal(size=x.shape),
    "cumsum": lambda x: np.cumsum(np.cumsum(x)),
    "matmul": lambda x: x[:10 ** 6].reshape(1000, -1) @ x[:10 ** 6].reshape(1000, -1),
    "inv": lambda x: np.linalg.inv(x[:360_000].reshape(600, -1)),
    "svd": lambda x: np.linalg.svdvals(x[:40_000].reshape(200, -1)),
    "fft": lambda x: np.fft.fft(x.reshape(-1, 1000)),
    "erf": scipy.special.erf,
    "gather": lambda x: x[order],
    "qr, a host task": lambda x: np.linalg.qr(x[:160_000].reshape(400, -1))[0],
    "median, a host task": np.median}
order = numpy.random.default_rng(0).permutation(3_000_000)


@pytest.mark.parametrize("work", LONG_WORK)
def test_python_goes_on_while_workers_work(two_workers, work):
    """None holds the GIL, with which there would be a look or two. The system may pass this thread over in one turn."""
    x = np.array(numpy.random.default_rng(1).normal(size=3_000_000))

    def looks():
        result, count = LONG_WORK[work](x), 0
        while not result.is_ready():
            count += 1
        return count

    assert any(looks() > 100 for _ in range(5))


def test_printing_waits(two_workers):
    with Gate() as gate:
        x = gate.hold(np.full((1, 2), 3.0))
        opener = threading.Timer(0.05, gate.open)
        opener.start()
        assert repr(x) == "array([[3., 3.]])" and gate.opened.is_set()
    assert not hasattr(x, "_repr_html_")        # a notebook shows what NumPy's arrays show


def test_a_wait_for_ready_data_is_no_wait():
    x = np.zeros(2) + 1
    x.wait_to_read()
    waits = dflow.engine.statistics()["waits"]
    for _ in range(10):
        x.wait_to_read()
        x.tolist()
    assert x.is_ready() and dflow.engine.statistics()["waits"] == waits


# -- kernels that are split ------------------------------------------------------------------------

@pytest.mark.slow
def test_many_split_kernels_at_once():
    """Several threads own kernels that are split, and workers come and go between them: all pieces run, and once."""
    x = numpy.random.default_rng(3).random(200_000)
    expected = (numpy.sqrt(x) * 2 + 1, numpy.exp(x))

    def work():
        a = np.array(x)
        for turn in range(60):
            b, c = np.sqrt(a) * 2 + 1, np.exp(a)
            if turn % 3 == 0:
                b.wait_to_read()
            assert numpy.array_equal(b.asnumpy(), expected[0]) and numpy.array_equal(c.asnumpy(), expected[1])

    for workers in (2, 5):
        with configured(workers=workers):
            in_threads(*[work] * 4)


@pytest.mark.parametrize("workers", [2, 3, 16, 19])
def test_every_piece_runs_once(workers):
    """Pieces are dealt into ranges for 16 runners at most, and shares become smaller: in place, a piece that runs twice
    shows, and so does one that nobody runs. Several at a time, of any length, in shares of any length."""
    rng = numpy.random.default_rng(workers)
    before = executor.set_split(1, 1)
    try:
        with configured(workers=workers, limit=0):
            for _ in range(60):
                sizes = [int(10 ** exponent) for exponent in rng.uniform(0, 5.5, 4)]
                executor.set_split(1, 10 ** rng.uniform(0, 6))
                arrays = [np.zeros(n) for n in sizes]
                rows = [np.ones((n // 40 + 1, 40)) for n in sizes]
                for turn in range(3):
                    sums = [r.sum(axis=1) for r in rows]
                    for x, r in zip(arrays, rows, strict=True):
                        x += 1
                        r += turn
                for x in arrays:
                    assert (x.asnumpy() == 3).all()
                for s in sums:
                    assert (s.asnumpy() == 80).all()
    finally:
        dflow.waitall()
        executor.set_split(*before)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell where threads may run")
def test_host_tasks_may_run_anywhere():
    """Workers are placed on cores when they are woken; what a host task starts must not inherit that."""
    x = np.ones(500_000)
    for _ in range(20):
        (np.sin(x) * 2).wait_to_read()
    tasks = [dflow.submit(lambda: os.sched_getaffinity(0)) for _ in range(8)]
    assert {frozenset(task.result()) for task in tasks} == {frozenset(os.sched_getaffinity(0))}


# -- what is read while it ends --------------------------------------------------------------------

READERS = {
    "b": """x.argmax() x.argmin() x.any() x.all() np.count_nonzero(x) np.nonzero(x)[0] x.reshape(5,10).argmax(axis=1)
            x[mask] x.reshape(5,10).any(axis=0) np.where(x,1,2) np.packbits(x) x[3] ~x x&mask""",
    "d": """x.argmax() x.sum() x.max() x.mean() x.item(3) x[4] x[mask] x[at] x.tolist() np.sort(x) np.argsort(x)
            x.cumsum() np.concatenate([x,x]) x.copy() x.astype('f4') np.dot(x,x) x+1 x[1:]+x[:-1] x[3]*2 np.clip(x,0,1)
            x.reshape(5,10).sum(axis=0) np.take(x,at) np.searchsorted(x,1) np.histogram(x,3)[0] np.where(mask,x,2)
            x[at[0]]""",
}


@pytest.mark.parametrize("bulk", [0, 512])
@pytest.mark.parametrize("kind", READERS)
def test_what_becomes_ready_while_it_is_read(kind, bulk):
    """A reader that finds an array ready looks at its memory after that, not before: the debug build asserts it."""
    def names(np):
        return {"np": np, "mask": np.arange(50) % 2 == 0, "at": np.array([3, 1, 7]), "b": np.zeros(50, bool),
                "d": np.zeros(50)}

    make = "lambda: ~b" if kind == "b" else "lambda: d + 1"
    with configured(workers=4, limit=0, bulk=bulk):
        for text in READERS[kind].split():
            ours, theirs = names(np), names(numpy)
            pending, read = eval(make, ours), eval(f"lambda x: {text}", ours)
            expected = numpy.asarray(eval(f"lambda x: {text}", theirs)(eval(make, theirs)()))
            for turn in range(500):
                x = pending()
                for _ in range(turn % 13):
                    pass
                found = read(x)
                if turn % 50 == 0:
                    numpy.testing.assert_array_equal(numpy.asarray(found), expected)
