"""No work is left lying while a worker sleeps: submitters that go away, workers held in kernels and in Python code.

What is done is seen through events and engine counters, for whoever asks an array whether it is ready wakes a worker.
"""

import signal
import subprocess
import sys
import threading
from time import sleep

import numpy
import pytest
from compare import assert_same
from engines import HANG, Gate, configured, in_threads, poll

import dflow
import dflow.numpy as np
from dflow._profile.record import WOKE

pytestmark = pytest.mark.core

LONG = 4.0      # seconds of a kernel that everything else overtakes

engines = pytest.mark.parametrize("engine", [(2, 0), (2, 200), (3, 0), (3, 200)], indirect=True,
                                  ids=["two", "two, delays", "three", "three, delays"])
two_workers = pytest.mark.parametrize("engine", [(2, 0), (2, 200)], indirect=True, ids=["two", "two, delays"])


@pytest.fixture
def engine(request):      # (workers, the microseconds by which tasks begin late at most)
    workers, delay = request.param
    with configured(workers=workers):
        dflow._engine.set_delays(7, delay)
        yield workers
        dflow._engine.set_delays(0, 0)


def arrays():
    """A small one, and one of which the sines are worth a worker."""
    return np.ones(100), np.array(numpy.linspace(0, 1, 60_000))


# Each ends with something that is worth waking a worker for: less than that is left to whoever reads it.
WORK = {"a group": lambda x: np.sin(np.sin(x)),
        "groups": lambda x: [np.sin(x[k:]) for k in range(6)],
        "tasks": lambda x: [*(np.cumsum(x) for k in range(6)), np.sin(x)],
        "a chain": lambda x: np.sin(np.cumsum(np.sin(np.cumsum(x)))),
        "a split kernel": lambda x: np.sin(np.tile(x, 20)),
        "a product": lambda x: x.reshape(200, 300) @ x.reshape(300, 200)}


def all_but(held):      # wakes nobody
    return poll(lambda: dflow._engine.live()["tasks"] <= held)


def do_each(x, held, pause=0):
    """Do each kind of work, while so many tasks are held, and wait without dflow's help."""
    for name, work in WORK.items():
        kept = work(x)
        assert all_but(held), name
        del kept
        sleep(pause)


def told(result):
    """An event that comes when the result is there."""
    event = threading.Event()
    dflow.submit(lambda value: event.set(), result)
    return event


@engines
def test_work_is_done_though_its_submitter_sleeps(engine):
    medium = arrays()[1]
    for pause in (0, 0, 0.00003, 0.0001, 0.0003, 0.002):
        do_each(medium, 0, pause)


@engines
def test_work_behind_python_code_that_blocks_is_done(engine):
    """All workers but one are held."""
    medium = arrays()[1]
    with Gate() as gate:
        held = [gate.hold() for _ in range(engine - 1)]
        for _ in range(3):
            do_each(medium, len(held))


@pytest.mark.parametrize("engine", [(2, 200)], indirect=True, ids=["two, delays"])
@pytest.mark.parametrize("pause", [0, 0.01])
def test_work_behind_a_long_kernel_is_done(engine, pause):
    small, medium = arrays()
    long = dflow.engine.sleep(small, LONG)
    sleep(pause)
    kept = [work(medium) for work in WORK.values()]
    assert all_but(1) and not long.is_ready()
    assert told(np.cumsum(small)).wait(HANG) and not long.is_ready()
    assert poll((np.cumsum(small) + small[0]).is_ready) and not long.is_ready()
    del kept


def wait_for_another(between, later, waits_first):
    event, came = threading.Event(), []
    bodies = [lambda value: came.append(event.wait(HANG)), lambda value: event.set()]
    for body in bodies if waits_first else reversed(bodies):
        dflow.submit(body, between)
        kept = later()
    assert event.wait(HANG) and all_but(0) and came == [True]
    del kept


@engines
@pytest.mark.parametrize("waits_first", [True, False])
def test_one_task_waits_for_another(engine, waits_first):
    small, medium = arrays()
    for _ in range(3):
        for between in small, np.cumsum(small), np.cumsum(np.sin(np.cumsum(medium))):
            wait_for_another(between, lambda: [np.cumsum(medium), np.sin(medium)], waits_first)


@engines
def test_as_many_tasks_as_workers_meet(engine):
    small, medium = arrays()
    meeting, left = threading.Barrier(engine), threading.Semaphore(0)
    for _ in range(10):
        for value in (small, np.cumsum(np.sin(medium)), np.cumsum(medium))[:engine]:
            dflow.submit(lambda value: (meeting.wait(HANG), left.release()), value)
        assert all(left.acquire(timeout=HANG) for _ in range(engine))


@engines
@pytest.mark.parametrize("pause", [0, 0.0001, 0.01])
def test_a_task_opens_what_threads_wait_for(engine, pause):
    """Who waits counts as at work for a moment, but leaves Python code to the workers."""
    medium = arrays()[1]
    with Gate() as gate:
        held = gate.hold()

        def let_go():
            sleep(pause)
            dflow.submit(lambda value: gate.open(), np.cumsum(np.sin(medium)))
            assert gate.opened.wait(HANG / 4)

        in_threads(held.wait_to_read, held.wait_to_read, let_go)


@engines
@pytest.mark.parametrize("held", [0, 1])
def test_each_of_several_submitters_hears_of_its_work(engine, held):
    medium = arrays()[1]

    def work(k):
        for turn in range(12):
            result = WORK[list(WORK)[(turn + k) % 5]](medium)
            assert told(result[0] if isinstance(result, list) else result).wait(HANG)

    with Gate() as gate:
        if held:
            gate.hold()
        in_threads(*(lambda k=k: work(k) for k in range(4)))


@two_workers
def test_work_is_done_while_another_thread_submits_small_things(engine):
    medium = arrays()[1]

    def chatter():
        x = np.zeros(100)
        while not gate.opened.is_set():
            x += 1
            sleep(0.00002)

    def work():
        assert all(told(np.cumsum(np.sin(medium))).wait(HANG / 4) for _ in range(20))
        gate.open()

    with Gate() as gate:
        gate.hold()
        in_threads(chatter, work)


@two_workers
def test_work_is_done_after_waits_that_were_interrupted(engine):
    """A wait within a wait's signal handler, left by an exception: who waited no longer counts as at work."""
    small, medium = arrays()

    def handler(*args):
        assert (np.sin(medium) + np.cumsum(medium)).tolist()[0] == 0
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with Gate() as gate:
            held = gate.hold(small)
            for _ in range(10):
                with pytest.raises(InterruptedError):
                    signal.setitimer(signal.ITIMER_REAL, 0.001)
                    held.wait_to_read()
                    sleep(HANG)
            do_each(medium, 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_what_is_needed_at_once_is_not_handed_over():
    """Operations of a few microseconds: of those that somebody waits for, one of 32 is; of the others each."""
    x = np.arange(2500.0)
    expected = numpy.cumsum(numpy.arange(2500.0))

    def inlined(step):
        before = dflow.engine.statistics()["inline"]
        results = [step() for _ in range(64)]
        found = dflow.engine.statistics()["inline"] - before
        assert all((result.asnumpy() == expected).all() for result in results)
        return found

    def wait():
        result = np.cumsum(x)
        result.wait_to_read()
        return result

    with configured(workers=2):
        dflow._engine.set_delays(7, 200)
        try:
            assert inlined(wait) >= 62
            for _ in range(32):                 # what is left of that
                np.cumsum(x)
            dflow.waitall()
            assert inlined(lambda: np.cumsum(x)) == 0
            with configured(limit=0):
                assert inlined(wait) == 0
        finally:
            dflow._engine.set_delays(0, 0)


def test_a_product_that_is_read_at_once_is_computed_at_once():
    """A dot product of what is pending and small: where it is read at once, no worker has it, but one time in 32."""
    x, y = np.arange(5000.0), np.ones(5000)
    dflow.waitall()
    expected = float(numpy.arange(5000.0) @ numpy.ones(5000)) + 5000
    with configured(workers=2):
        for _ in range(40):
            assert float((x + 1) @ y) == expected
        before = dflow.engine.statistics()["inline"]
        for _ in range(320):
            assert float((x + 1) @ y) == expected
        assert dflow.engine.statistics()["inline"] - before >= 300


@pytest.mark.parametrize("read", [lambda x: x[7].item(), lambda x: x.wait_to_read() or 8, lambda x: x.asnumpy()[7]],
                         ids=["an element", "all", "NumPy's"])
def test_what_is_elementwise_and_read_at_once_is_no_group(read):
    """Operations that could join one: where each is read at once, one of 32 is a task; unread ones are groups again."""
    x = np.arange(5000.0)
    dflow.waitall()
    with configured(workers=2):
        for _ in range(40):
            assert read(x + 1) == 8
        before = dflow.engine.statistics()
        for _ in range(320):
            assert read(x + 1) == 8
        found = dflow.engine.statistics()
        assert found["queued"] - before["queued"] <= 20
        y = x
        for _ in range(132):
            y = y + 1
        assert dflow.engine.statistics()["queued"] - found["queued"] >= 100
        assert y[7].item() == 139


STEPS = ("v[1:-1] = x[:-2] + x[2:]\nx[1:-1] = v[:-2] - v[2:]",
         "v[1:-1] = (x[:-2] + x[2:] + x[1:-1]) * 2\nx[1:-1] = v[:-2] - v[2:]",
         "w = v.copy()\nw[3:-3] = x[3:-3] * 3 + v[3:-3]\nv = w - x\nx[...] = w",
         "v[2:] = v[:-2] + x[2:]\nx = x + v",
         "x[1:] -= x[:-1]\nv = (x != v).any() + x\nx[:-1] += v[1:]",
         "t = (x - v).max()\nv[1:] = x[1:] - x[:-1] + t\nx = v + t")


@pytest.mark.parametrize("dtype", ["f8", "i4", "u1"])
@pytest.mark.parametrize("steps", STEPS)
def test_steps_that_depend_on_each_other(steps, dtype):
    """Small groups, each of which waits for the one before, are run where they are submitted; large ones by workers:
    what they compute is the same, in several threads too, and with something else pending."""
    random = numpy.random.default_rng(7)
    code = compile(steps, "<steps>", "exec")
    for _ in range(6):
        n = int(10 ** random.uniform(2, 4.7))
        source = [random.integers(0, 9, n).astype(dtype) for _ in range(2)]
        expected = dict(zip("xv", map(numpy.array, source)))
        for _ in range(12):
            exec(code, expected)

        def run(source=source, expected=expected):
            names = dict(zip("xv", map(np.array, source)))
            for _ in range(12):
                exec(code, names)
            for name in "xv":
                assert_same(names[name], expected[name])

        with configured(workers=int(random.integers(1, 4))):
            run()
            if random.random() < 0.4:
                in_threads(run, run, run)
            with Gate() as gate:
                held = gate.hold()
                run()
                gate.open()
                assert_same(held, numpy.zeros(2))


def test_small_steps_run_where_they_are_submitted():
    with configured(workers=2):
        x, v = np.ones(6000), np.zeros(6000)
        dflow.waitall()
        with dflow.engine.timeline() as events:
            for _ in range(200):
                v[1:-1] = x[:-2] + x[2:]
                x[1:-1] = v[:-2] * 0.5
            dflow.waitall()
    ran = [event.worker for event in events]
    assert ran.count(0) > len(ran) // 4, ran            # a worker takes those that nobody joins for a while


def test_an_open_group_is_run_while_another_thread_is_at_something_long():
    """One worker, and a thread that runs what it waits for: who submits does nothing more, and asks nothing."""
    with configured(workers=1), dflow.engine.timeline() as events:
        x = np.ones((1000, 1000))
        x.wait_to_read()
        with Gate() as gate:
            held = gate.hold()                              # so the thread takes it, not the worker
            slept = dflow.engine.sleep(np.ones(2), 1)
            thread = threading.Thread(target=slept.wait_to_read)
            thread.start()
            sleep(0.2)
            gate.open()
            held.wait_to_read()
        kept = x + 1.0
        more = kept * 2.0
        sleep(0.5)                                          # without a look, which would run it
        thread.join(HANG)
        assert more[0, 0].item() == 4
    [long] = [event for event in events if event.name == "sleep"]
    assert long.worker == 0 and max(event.stop for event in events if event.name.startswith("add")) < long.stop


def test_none_is_woken_for_what_is_waited_for_at_once():
    """Determinants of some 70 us: the waiting thread has run one before a worker would come for it."""
    with configured(workers=2):
        x = np.array(numpy.random.default_rng(0).random((100, 100)))
        np.linalg.det(x).wait_to_read()

        def woken():
            with dflow.engine.timeline() as events:
                for _ in range(320):
                    np.linalg.det(x).wait_to_read()
            return len(events.record.of(WOKE))

        counts = []                                         # on a busy machine workers are late, and so is the habit
        assert any(counts.append(woken()) or counts[-1] < 160 for _ in range(10)), counts
        for habit in (0, 0.01):                             # what is not waited for is done all the same
            for _ in range(20):
                np.linalg.det(x).wait_to_read()
            sleep(habit)
            kept = np.linalg.det(x) if habit else [np.linalg.det(x), np.linalg.det(x)]
            assert all_but(0)
            del kept


INVERSES = """
import sys
from time import sleep
import numpy
import dflow
import dflow.numpy as np
from dflow._profile.record import WOKE
dflow.engine.set_num_workers(2)
x = np.array(numpy.random.default_rng(0).random((300, 300)))
np.linalg.inv(x).wait_to_read()
with dflow.engine.timeline() as events:
    for _ in range(20):
        sleep(0.002)                # they are asleep
        np.linalg.inv(x).wait_to_read()
print(len(events.record.of(WOKE)))
"""


def test_who_is_woken_for_what_is_waited_for_stays_awake_for_its_parts():
    """Who waits for an inverse begins it, and makes its factors alone, before the worker comes that is to share it. In
    a process of its own: where devices have workers of theirs, who waits begins nothing."""
    counts = []
    while not counts or counts[-1] >= 30:           # on a busy machine workers are late, and others are woken
        done = subprocess.run([sys.executable, "-c", INVERSES], capture_output=True, text=True, timeout=HANG,
                              check=True)
        counts.append(int(done.stdout))
        assert len(counts) < 10, counts
