"""Devices with workers of their own, who run what is theirs and nothing else; copies between them have a thread."""

import contextlib
import os
import random
import subprocess
import sys
import threading

import numpy
import pytest
from engines import HANG, Gate, clean_environment, configured, in_threads, poll

import dflow
from dflow import cpu, np

pytestmark = pytest.mark.core

HERE, THERE, SHARED = cpu(0), cpu(1), cpu(2)      # the last one shares the workers of the first
LARGE = 300_000


@contextlib.contextmanager
def workers(here, there, **settings):
    """So many on cpu(0) and on cpu(1)."""
    with configured(workers=here, **settings):
        dflow.engine.set_num_workers(there, THERE)
        try:
            yield
        finally:
            dflow.engine.set_num_workers(0, THERE)


def on(device, n=LARGE):
    return np.array(numpy.linspace(0, 1, n)).to_device(device) if device != HERE else np.array(numpy.linspace(0, 1, n))


def ready(*arrays):
    return poll(lambda: all(x.is_ready() for x in arrays))


def test_numbers_of_workers():
    with workers(2, 3):
        assert [dflow.engine.num_workers(device) for device in (None, HERE, THERE, SHARED, "cpu")] == [2, 2, 3, 2, 2]
        dflow.engine.set_num_workers(1, THERE)
        assert [dflow.engine.num_workers(device) for device in (HERE, THERE)] == [2, 1]
        dflow.engine.set_num_workers(0, THERE)
        assert dflow.engine.num_workers(THERE) == 2
        for n, device in ((0, None), (0, HERE), (-1, THERE), (257, THERE)):
            with pytest.raises(ValueError, match=f"n must be between [01] and 256, not {n}"):
                dflow.engine.set_num_workers(n, device)
        with pytest.raises(ValueError, match="gpu"):
            dflow.engine.set_num_workers(1, dflow.gpu(0))
        assert dflow.engine.num_workers(HERE) == 2 and dflow.engine.num_workers(THERE) == 2


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say where threads may run")
def test_cores():
    allowed = sorted(os.sched_getaffinity(0))
    with workers(2, 1):
        dflow.engine.set_num_workers(2, THERE, cores=allowed[-1:])
        seen = dflow.submit(lambda x: os.sched_getaffinity(0), on(THERE)).result()
        assert seen == set(allowed[-1:])
        assert dflow.submit(lambda x: os.sched_getaffinity(0), on(HERE)).result() == set(allowed)
        for cores in ([], [allowed[-1] + 1], [-1]):
            with pytest.raises(ValueError, match=r"cores must be some of"):
                dflow.engine.set_num_workers(2, THERE, cores=cores)
        dflow.engine.set_num_workers(2, THERE)
        assert dflow.submit(lambda x: os.sched_getaffinity(0), on(THERE)).result() == set(allowed)


WORK = {"elementwise": lambda x: np.sin(x) + 1,
        "chain": lambda x: np.sin(np.cumsum(np.sin(x))),
        "reduction": lambda x: (x * x).sum(),
        "product": lambda x: x.reshape(1000, 300) @ x.reshape(300, 1000),
        "sort": lambda x: np.sort(-x),
        "random numbers": lambda x: x + np.random.default_rng(1).random(LARGE),
        "host task": lambda x: dflow.submit(numpy.cbrt, x, shape=x.shape),
        "NumPy's function": lambda x: np.interp(x, x, x)}


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("device, other", [(HERE, THERE), (THERE, HERE), (THERE, SHARED)])
def test_devices_do_not_wait_for_each_other(name, device, other):
    """All workers of one are held in Python code; the other goes on."""
    with workers(1, 1), Gate() as gate:
        x, y = on(device), on(other)
        held = gate.hold(y)
        later = y + 1
        with device:                            # where random numbers are drawn
            result = WORK[name](x)
        assert ready(result) and not held.is_ready()
        numpy.testing.assert_allclose(result, WORK[name](numpy.linspace(0, 1, LARGE)) if name not in (
            "random numbers", "host task") else result)
        dflow.synchronize(device)
        assert not held.is_ready()
        gate.open()
        dflow.waitall()
        assert later[-1] == 2


def test_copies_have_a_thread_of_their_own():
    with workers(1, 1), Gate() as gate, Gate() as other:
        x, y = on(HERE), on(THERE)
        held = gate.hold(np.ones(3)), other.hold(np.ones(3, device=THERE))
        there, here = x.to_device(THERE), y.to_device(HERE)
        target = np.zeros(LARGE, device=THERE)
        x.copyto(target)
        assert ready(there, here) and not any(h.is_ready() for h in held)
        assert (there.ctx, here.ctx, target.ctx) == (THERE, HERE, THERE)
        gate.open(), other.open()
        for copy in (there, here, target):
            assert copy.asnumpy().tobytes() == x.asnumpy().tobytes()


def test_a_copy_waits_for_what_it_reads_and_what_reads_it():
    with workers(1, 1):
        for _ in range(20):
            x = on(HERE)
            y = np.sin(x)
            copy = y.to_device(THERE)
            y += 1                              # must not be seen by the copy
            z = copy * 2
            back = z.to_device(HERE)
            copy -= copy                        # nor this by its reader
            numpy.testing.assert_array_equal(back.asnumpy(), numpy.sin(numpy.linspace(0, 1, LARGE)) * 2)


def test_a_thread_that_waits_does_not_join_a_device_at_work():
    """Whose one worker is in a kernel: more than one thread would be more than was asked for."""
    def thread(x):
        seen.append(threading.get_ident())

    seen = []
    with workers(1, 1):
        x = np.ones(4, device=THERE)
        for _ in range(3):
            slow = dflow.engine.sleep(x, 0.2)
            task = dflow.submit(thread, x)
            dflow.waitall()
            assert slow.tolist() == [1] * 4 and task.result() is None
    assert threading.get_ident() not in seen


def run_long_kernels(between):
    """Three, one after the other, on cpu(0); between(): what this thread does meanwhile."""
    for _ in range(3):
        long = np.sin(on(HERE, 10 * LARGE))
        assert poll(lambda long=long: between() or long.is_ready())


def who_ran(events):
    return [event.worker for event in events if (event.lane, event.name) == ("cpu(0)", "sin")]


def test_a_device_at_work_gets_no_help_from_another():
    """One of its workers is held, and the other is alone, though cpu(1)'s comes by from task to task."""
    with workers(2, 1, limit=0), dflow.engine.timeline() as events, Gate() as gate:
        held, x = gate.hold(), np.zeros(4, device=THERE)
        run_long_kernels(lambda: np.cumsum(x).is_ready() and None)
        gate.open()
    assert len(who_ran(events)) == 3 and held.tolist() == [0, 0]


def test_the_timeline_knows_who_helped():
    with workers(2, 1), dflow.engine.timeline() as events:
        for _ in range(5):
            run_long_kernels(lambda: None)
    assert {*who_ran(events)} == {1, 2} and len(who_ran(events)) > 15


def test_priorities():
    def note(name):
        return lambda x: done.append(name)

    done, kept = [], []
    with workers(2, 1), Gate() as gate:
        x = np.ones(4, device=THERE)
        gate.hold(x)
        for level, name in ((0, "a"), (5, "b"), (0, "c"), (5, "d"), (-1, "e"), (7, "f"), (5, "g"), (-1, "h")):
            with dflow.engine.priority(level):
                kept.append(dflow.submit(note(name), x))
        kept.append(dflow.submit(note("i"), x))
        gate.open()
        assert poll(lambda: len(done) == 9)
        dflow.waitall()
    assert "".join(done) == "fbdgacieh"
    for level in (2**15, -2**15, 2**40):
        with pytest.raises(ValueError, match=f"between -32767 and 32767, not {level}"), dflow.engine.priority(level):
            pass


def test_a_queue_that_ran_empty_sorts_as_before():
    with workers(2, 1):
        x = np.ones(4, device=THERE)
        for _ in range(5):
            done = []
            with Gate() as gate:
                gate.hold(x)
                for level in (7, 0, 5, 5, 0, 5):
                    with dflow.engine.priority(level):
                        dflow.submit(lambda x, level=level, done=done: done.append(level), x)
                gate.open()
                assert poll(lambda done=done: len(done) == 6) and done == [7, 5, 5, 5, 0, 0]


def test_priorities_are_the_threads_own():
    with dflow.engine.priority(3):
        in_threads(lambda: (on(HERE) + 1).wait_to_read())
        with dflow.engine.priority(4):
            pass
        with pytest.raises(KeyError), dflow.engine.priority(4):
            raise KeyError
        assert dflow._runtime.queues.priority(3) == 3
    assert dflow._runtime.queues.priority(0) == 0


def test_groups_are_of_one_device():
    with workers(1, 1):
        x, y = on(HERE), on(THERE)
        before = dflow.engine.statistics()["groups"]
        for _ in range(4):
            x, y = np.sin(x) + 1, np.sin(y) + 1
        expected = numpy.linspace(0, 1, LARGE)
        for _ in range(4):
            expected = numpy.sin(expected) + 1
        numpy.testing.assert_allclose(x.asnumpy(), expected, rtol=1e-14)
        assert x.asnumpy().tobytes() == y.asnumpy().tobytes()
        assert dflow.engine.statistics()["groups"] > before


def test_errors_cross():
    with workers(1, 1):
        x = np.zeros((400, 400), device=THERE)
        inverse = np.linalg.inv(x)
        back = inverse.to_device(HERE) + 1
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            back.wait_to_read()
        assert (x + 1).sum() == 160_000


def test_synchronize_raises_errors():
    with workers(1, 1):
        failed = np.linalg.inv(np.zeros((400, 400), device=THERE))
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            dflow.synchronize(THERE)
        dflow.synchronize(HERE)
        dflow.synchronize()
        del failed
    with pytest.raises(ValueError, match="gpu"):
        dflow.synchronize(dflow.gpu(0))
    with pytest.raises(RuntimeError, match="a task would wait"):
        dflow.submit(lambda: dflow.synchronize(HERE)).result()


def test_workers_that_come_and_go():
    """While other threads submit to each device, and copy between them."""
    stop = threading.Event()
    expected = numpy.sin(numpy.linspace(0, 1, 60_000)).sum()

    def use(device, other):
        x = on(device, 60_000)
        while not stop.is_set():
            y = np.sin(x).to_device(other)
            assert abs(y.sum().item() - expected) < 1e-9 and y.ctx == other

    def change(seed):
        choice = random.Random(seed)
        for _ in range(60):
            dflow.engine.set_num_workers(choice.randint(0, 3), THERE)
            dflow.engine.set_num_workers(choice.randint(1, 3))

    def change_at_once():
        try:
            in_threads(lambda: change(3), lambda: change(4))
        finally:
            stop.set()

    with workers(2, 1):
        in_threads(change_at_once, lambda: use(HERE, THERE), lambda: use(THERE, HERE), lambda: use(SHARED, THERE))
        dflow.waitall()
        dflow._engine.check_idle()


@pytest.mark.parametrize("delay", [0, 200])
def test_many_threads_on_many_devices(delay):
    """A ring of devices with one worker each: values go round it, changed at each."""
    devices = [cpu(i) for i in range(4)]

    def go_round(k):
        x = np.full(50_000, float(k), device=devices[k % 4])
        for step in range(40):
            x = np.sqrt(x * x + 1)
            if step % 3 == 0:
                x = x.to_device(devices[(k + step) % 4])
            if step % 7 == 0:
                x += 0
        assert abs(x[-1].item() - (k * k + 40) ** 0.5) < 1e-9 and abs(x[0].item() - x[-1].item()) < 1e-12

    with configured(workers=1):
        for device in devices[1:]:
            dflow.engine.set_num_workers(1, device)
        dflow._engine.set_delays(5, delay)
        try:
            in_threads(*(lambda k=k: go_round(k) for k in range(6)))
            dflow.waitall()
            dflow._engine.check_idle()
        finally:
            dflow._engine.set_delays(0, 0)
            for device in devices[1:]:
                dflow.engine.set_num_workers(0, device)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("pending", [False, True])
def test_fork(pending):
    """The child starts workers of its own, for each device."""
    with workers(1, 2):
        x, y = on(HERE), on(THERE)
        kept = [dflow.engine.sleep(v, 0.3) for v in (x, y)] if pending else []
        dflow.synchronize() if not pending else None
        child = os.fork()
        if child == 0:
            status = 1
            try:
                total = (np.sin(on(THERE)).to_device(HERE) + np.sin(on(HERE))).sum().item()
                ok = abs(total - 2 * numpy.sin(numpy.linspace(0, 1, LARGE)).sum()) < 1e-6
                dflow.synchronize(THERE)
                dflow.waitall()
                status = 0 if ok and dflow.engine.num_workers(THERE) == 2 else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert all((v == numpy.linspace(0, 1, LARGE)).all() for v in kept)


def test_exit_runs_host_tasks_of_all_devices():
    text = """if True:
        import dflow, time
        from dflow import np, cpu
        dflow.engine.set_num_workers(2, cpu(1))
        x = np.ones(100_000, device=cpu(1))
        def late(x):
            time.sleep(0.1)
            print("written", x.sum())
        dflow.submit(late, np.sin(x) * 0 + 1)
        dflow.engine.sleep(x, 30)
    """
    done = subprocess.run([sys.executable, "-c", text], env=clean_environment(), capture_output=True, text=True,
                          timeout=HANG)
    assert (done.returncode, done.stdout) == (0, "written 100000.0\n"), done.stderr


def test_timeline():
    with workers(1, 1):
        x, y = on(HERE), on(THERE)
        with dflow.engine.timeline() as events:
            x = dflow.engine.sleep(x, 0.05)             # nobody takes a group that waits before it is complete
            kept = np.sin(np.sin(x)) * 2, np.sort(-y), np.argsort(x).to_device(THERE)
        assert all(0 <= e.start < e.stop for e in events) and {e.worker for e in events} <= {0, 1}
        seen = {(e.lane, e.name) for e in events}
        assert {("cpu(0)", "sin and 2 more"), ("cpu(1)", "sort"), ("cpu(0)", "argsort")} <= seen
        assert any(lane == "to cpu(1)" for lane, name in seen)
        kept[0].wait_to_read()
        with pytest.raises(KeyError), dflow.engine.timeline() as none:
            raise KeyError
        assert none == []


def test_several_timelines_at_a_time():
    """Each has what runs from its begin to its end, in seconds since its own begin."""
    with configured(workers=1, limit=0):
        with dflow.engine.timeline() as outer:
            np.sort(np.ones(3)).wait_to_read()
            with dflow.engine.timeline() as inner:
                np.argsort(np.ones(3)).wait_to_read()
            np.linalg.inv(np.eye(2)).wait_to_read()
        with dflow.engine.timeline() as later:
            pass
    named = [[e.name for e in events if e.name in ("sort", "argsort", "inv")] for events in (outer, inner, later)]
    assert named == [["sort", "argsort", "inv"], ["argsort"], []], named
    assert [e.start for e in inner if e.name == "argsort"][0] < [e.start for e in outer if e.name == "argsort"][0]


def test_timelines_of_several_threads():
    meeting = threading.Barrier(3)

    def note():
        for _ in range(20):
            meeting.wait(HANG)
            with dflow.engine.timeline() as events:
                x = dflow.engine.sleep(np.ones(3), 1e-4)
                np.sort(x).wait_to_read()
            assert "sort" in [e.name for e in events] and all(0 <= e.start < e.stop for e in events)

    with configured(limit=0):
        in_threads(note, note, note)


@pytest.mark.parametrize("kind", ["chain", "fan"])
def test_priorities_go_before_what_follows(kind):
    """Also before what a worker has made ready itself."""
    def note(name):
        return lambda x: done.append(name) or x

    done = []
    with workers(2, 1), Gate() as gate:
        last = held = gate.hold(np.ones(4, device=THERE))
        for name in "abcd":
            last = dflow.submit(note(name), last if kind == "chain" else held, shape=4)
        with dflow.engine.priority(1):
            urgent = dflow.submit(note("urgent"), np.ones(4, device=THERE))
        gate.open()
        assert poll(lambda: len(done) == 5)
        dflow.waitall()
        assert urgent.result() is not None
    assert done[0] == "urgent" and (kind == "fan" or done[1:] == [*"abcd"])


def test_many_of_a_priority_behind_few_of_another():
    with workers(1, 1), Gate() as gate:
        held = gate.hold(np.ones(2, device=THERE))
        done, x = [], np.ones(2, device=THERE)
        for level in (0, 1, 2, 1, 0, 2, 1, -1, 1, 2) * 30:
            with dflow.engine.priority(level):
                dflow.submit(lambda x, level=level: done.append(level), x)
        gate.open()
        assert poll(lambda: len(done) == 300)           # a thread that waits would help beside Python code
        dflow.waitall()
        assert held.tolist() == [1, 1]
    assert done == sorted(done, reverse=True) and len(done) == 300


@pytest.mark.parametrize("apart", [False, True])
def test_a_wait_finds_its_task_behind_python_code(apart):
    """All workers are in Python code that waits for this very thread, and more of it is queued first."""
    device = THERE if apart else HERE
    with workers(1, 1 if apart else 0), Gate() as gate, Gate() as other:
        gate.hold(np.ones(4))
        if apart:
            other.hold(np.ones(4, device=THERE))
        with dflow.engine.priority(0 if apart else 5):
            queued = [dflow.submit(lambda x: None, np.ones(4)) for _ in range(3)]
        y = np.array([3.0, 1, 2] * 100_000).to_device(device)
        for _ in range(4):
            y = np.sort(-y)
        assert y[0].item() == 1 and not any(task.done() for task in queued)


def test_a_wait_leaves_what_follows_to_its_workers():
    with workers(1, 1):
        source = dflow.engine.sleep(np.ones(64), 0.1)
        here = source.to_device(THERE)
        busy = dflow.engine.sleep(np.ones(4, device=THERE), 0.4)
        with dflow.engine.timeline() as events:
            dflow.engine.sleep(here + 1, 0.1).wait_to_read()
        assert busy.tolist() == [1] * 4
    assert all(event.worker for event in events if event.name == "sleep")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say where threads may run")
def test_workers_do_not_inherit_cores():
    def start(x):
        dflow.engine.sleep(np.ones(4, device=SHARED), 0)
        return x

    allowed = os.sched_getaffinity(0)
    with workers(1, 1):
        dflow.engine.set_num_workers(1, THERE, cores=[min(allowed)])
        dflow.engine.set_num_workers(1, SHARED)
        try:
            dflow.submit(start, np.ones(4, device=THERE)).result()
            assert dflow.submit(lambda x: os.sched_getaffinity(0), np.ones(4, device=SHARED)).result() == allowed
        finally:
            dflow.engine.set_num_workers(0, SHARED)


def test_exit_while_daemon_threads_submit():
    text = """if True:
        import dflow, threading, time
        from dflow import np, cpu
        for i in range(3):
            dflow.engine.set_num_workers(1, cpu(i))
        def go(k):
            x = np.ones(50_000, device=cpu(k % 3))
            while True:
                x = np.sort(np.sin(x)).to_device(cpu((k + 1) % 3)).to_device(cpu(k % 3))
                if k == 0:
                    dflow.submit(lambda a: a.sum(), x).result()
        for k in range(4):
            threading.Thread(target=go, args=(k,), daemon=True).start()
        time.sleep(0.2)
    """
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", text], env=clean_environment(), capture_output=True, text=True,
                              timeout=HANG)
        assert (done.returncode, done.stderr) == (0, "")
