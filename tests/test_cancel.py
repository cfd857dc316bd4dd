"""Waits with a deadline; cancelled tasks: what is poisoned, what is not, and the engine afterwards."""

import ctypes
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError

import numpy
import pytest
from engines import HANG, Gate, clean_environment, configured, in_threads, poll

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.core

cancel, cancel_all = dflow.engine.cancel, dflow.engine.cancel_all


def is_cancelled(x):
    try:
        x.wait_to_read()
    except CancelledError:
        return True
    return False


# ---- deadlines -------------------------------------------------------------------------------------------------------

def test_a_wait_that_is_late_says_for_what():
    with configured(workers=1, limit=0), Gate() as gate:
        held = gate.hold()
        x = dflow.engine.sleep(np.ones(3), 0.3)
        start = time.perf_counter()
        with pytest.raises(TimeoutError, match=r"(?s)not there after 0\.01 seconds; pending: 1 task.*sleep, submitted"):
            x.wait_to_read(timeout=0.01)
        with pytest.raises(TimeoutError, match=r"(?s)not done after 0\.01 seconds; .*test_cancel"):
            dflow.waitall(timeout=0.01)
        assert time.perf_counter() - start < HANG / 2 and not held.is_ready()
        gate.open()
        x.wait_to_read(timeout=HANG)
        dflow.waitall(timeout=HANG)
        assert x.is_ready()


def test_a_wait_in_time_raises_what_a_wait_raises():
    with configured(limit=0):
        np.arange(5).wait_to_read(timeout=0)
        bad = np.linalg.inv(np.zeros((300, 300)))
        with pytest.raises(np.linalg.LinAlgError):
            bad.wait_to_read(timeout=HANG)
        x = np.ones(100_000)
        (x[:10] * 2).wait_to_read(timeout=HANG)
        bad = np.linalg.inv(np.zeros((300, 300)))
        with pytest.raises(np.linalg.LinAlgError):
            dflow.waitall(timeout=HANG)
        del bad
        dflow.waitall(timeout=float("inf"))


@pytest.mark.parametrize("wait", [dflow.waitall, np.ones(3).wait_to_read], ids=["waitall", "wait_to_read"])
def test_timeouts_that_are_none(wait):
    with pytest.raises(ValueError, match="timeout must be at least 0 seconds, not -1"):
        wait(timeout=-1)
    with pytest.raises(ValueError, match="timeout must be at least 0 seconds, not nan"):
        wait(timeout=float("nan"))
    with pytest.raises(TypeError, match="timeout must be a number of seconds or None, not 'soon'"):
        wait(timeout="soon")
    wait(timeout=None)


def test_a_wait_with_a_deadline_in_a_task():
    seen = []

    def task(x):
        for wait in (np.ones(3).wait_to_read, dflow.waitall):
            try:
                wait(timeout=1)
            except RuntimeError as error:
                seen.append(str(error))

    with configured(limit=0):
        dflow.submit(task, np.ones(3)).result()
    assert len(seen) == 2 and all("a task would wait" in text for text in seen)


# ---- cancel_all ------------------------------------------------------------------------------------------------------

def test_cancel_all():
    with configured(workers=2, limit=0), Gate() as gate:
        x = np.ones((500, 500))
        x.wait_to_read()                        # or it would be cancelled, too
        gate.hold()
        slow = dflow.engine.sleep(np.ones(3), 0.05), dflow.engine.sleep(np.ones(3), 0.05)
        products = [x @ x for _ in range(10_000)]
        start = time.perf_counter()
        assert cancel_all() >= 9000
        gate.open()
        dflow.waitall()
        took = time.perf_counter() - start
        assert sum(map(is_cancelled, products)) >= 9_900 and took < HANG
        after = x @ x
        assert after[0, 0].item() == 500
        assert all(is_cancelled(y) or float(y[0]) == 1 for y in slow)
        with pytest.raises(CancelledError, match="cancelled before it was computed"):
            print(products[-1] + 1)
        products[-1][...] = 2           # all of it is written again
        assert products[-1].sum().item() == 500_000


def test_nothing_to_cancel():
    dflow.waitall()
    x = np.ones(3)
    assert cancel_all() == 0 and cancel(x) == 0
    assert ((x + 1) * 2).tolist() == [4, 4, 4]
    with pytest.raises(TypeError, match="x must be an array of dflow's, not list"):
        cancel([1])


def test_a_kernel_that_is_split_ends_early():
    with configured(workers=2, limit=0):
        x = np.array(numpy.random.default_rng(1).random((3000, 3000)))
        x.wait_to_read()
        whole = time.perf_counter()
        (x @ x).wait_to_read()
        whole = time.perf_counter() - whole
        y = np.exp(np.sin(x) + np.cos(x)) ** 1.7
        z = np.sort(y, axis=1)
        time.sleep(whole / 20)
        start = time.perf_counter()
        cancel_all()
        dflow.waitall()
        assert is_cancelled(z) and time.perf_counter() - start < HANG
        assert numpy.array_equal(np.sort(x[:5], axis=1).asnumpy(), numpy.sort(x[:5].asnumpy(), axis=1))


def test_a_kernel_is_cut_between_two_pieces():
    """What is computed when it ends are whole shares, each of its elements right; the rest is as it was."""
    n = 4_000_000
    numbers = numpy.random.default_rng(1).random(n) + 0.5
    want = numbers ** 1.7
    with configured(workers=2, limit=0):
        x, finished = np.array(numbers), n
        for _ in range(50):                     # until this thread is soon enough
            out = np.zeros(n)
            address = numpy.asarray(out).ctypes.data        # of what nobody has a view of when it is written to
            seen = numpy.ctypeslib.as_array((ctypes.c_double * n).from_address(address))
            np.power(x, 1.7, out=out)
            assert poll(seen[::n // 2].any)
            cancel_all()
            dflow.waitall()
            done = seen != 0
            finished = numpy.count_nonzero(done)
            numpy.testing.assert_allclose(seen[done], want[done], rtol=1e-15)
            assert is_cancelled(out) == (finished < n)
            if finished < n:
                break
        assert finished < n
        edges = numpy.flatnonzero(numpy.diff(done)) + 1
        assert len(edges) <= 4 and not (edges % 64).any()   # of two ranges, each from its start, another's from the end


def test_python_functions_and_futures():
    ran = []
    with configured(workers=1, limit=0), Gate() as gate:
        x = gate.hold(np.ones(3))
        futures = [dflow.submit(ran.append, x) for _ in range(5)]
        cancel_all()
        gate.open()
        for future in futures:
            with pytest.raises(CancelledError):
                future.result()
    assert ran == []


class Value:
    """An array, NumPy's and ours; the writes to it, and all that its elements derive from."""

    numbers = itertools.count()

    def __init__(self, numpys, ours, *operands):
        self.numpys, self.ours, self.doubtful = numpys, ours, any(o.doubtful for o in operands)
        self.writes = {next(self.numbers)}
        self.origins = self.writes.union(*(o.origins for o in operands))

    def write(self, operand):
        token = next(self.numbers)
        self.writes.add(token)
        self.origins |= {token} | operand.origins
        self.doubtful |= operand.doubtful


def test_oracle_with_cancels_at_random():
    """What raises CancelledError derives from something cancelled; all else is NumPy's."""
    cancelled = 0
    for seed in range(60):
        rng = random.Random(seed)
        made = [numpy.random.default_rng(seed + i).random(rng.choice([10, 1000, 40_000])) for i in range(3)]
        with configured(workers=rng.randint(1, 3), limit=rng.choice([0, 2000]), bulk=rng.choice([0, 4, 512])):
            values = [Value(v.copy(), np.array(v)) for v in made]
            for _ in range(rng.randint(5, 60)):
                i, j = rng.randrange(3), rng.randrange(3)
                x, y = values[i], values[j]
                n = min(x.numpys.size, y.numpys.size)
                match rng.randrange(7):
                    case 0:
                        values[i] = Value(x.numpys[:n] + y.numpys[:n], x.ours[:n] + y.ours[:n], x, y)
                    case 1:
                        values[i] = Value(x.numpys * 2 - 1, x.ours * 2 - 1, x)
                    case 2:
                        values[i] = Value(numpy.sort(y.numpys), np.sort(y.ours), y)
                    case 3:
                        x.numpys[: n // 2], x.ours[: n // 2] = y.numpys[: n // 2].copy(), y.ours[: n // 2].copy()
                        x.write(y)
                    case 4:
                        x.numpys[...], x.ours[...] = 3, 3
                        x.writes, x.doubtful = {next(Value.numbers)}, False
                        x.origins = set(x.writes)
                    case 5 if rng.random() < 0.3:
                        cancel_all()
                        for z in values:
                            z.doubtful = True
                    case 6:
                        cancel(x.ours)
                        for z in values:
                            z.doubtful |= bool(z.origins & x.writes)
            dflow.waitall()
            for x in values:
                if x.doubtful and is_cancelled(x.ours):
                    cancelled += 1
                else:
                    assert numpy.array_equal(x.ours.asnumpy(), x.numpys), (seed, x.doubtful)
    assert cancelled > 10


def test_threads_that_cancel_beside_others():
    stop = threading.Event()

    def work():
        rng = numpy.random.default_rng()
        while not stop.is_set():
            v = rng.random(2000)
            x = np.array(v)
            for _ in range(20):
                x = x * 2 - x / 3
            y = np.sort(x)
            if rng.random() < 0.3:
                cancel(y)
            try:
                assert numpy.array_equal(y.asnumpy(), numpy.sort(expected(v)))
            except CancelledError:
                pass

    def expected(v):
        for _ in range(20):
            v = v * 2 - v / 3
        return v

    def disturb():
        for _ in range(200):
            cancel_all()
            time.sleep(0.002)
        stop.set()

    with configured(workers=2, limit=0):
        in_threads(work, work, disturb)
        dflow.waitall()
        x = np.arange(100_000.0)
        assert (x * 2).sum().item() == 99_999 * 100_000


# ---- cancel ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("bulk", [0, 512])
def test_cancel_takes_what_only_x_needs(bulk):
    with configured(workers=1, limit=0, bulk=bulk), Gate() as gate:
        shared = np.sort(gate.hold(np.ones(200_000)))
        kept = np.sort(-shared)
        lost = np.sort(np.sort(shared * 2) * 3)
        other = lost[:5] + 1
        n = cancel(lost)
        assert n >= 3
        gate.open()
        assert is_cancelled(lost) and is_cancelled(other)
        assert kept.sum().item() == -200_000 and shared.sum().item() == 200_000
        assert cancel(lost) == 0
        again = np.sort(shared * 2)
        assert again[0].item() == 2


def test_cancel_of_a_part():
    with configured(workers=1, limit=0, bulk=0), Gate() as gate:
        x = np.zeros(1000)
        x.wait_to_read()
        held = gate.hold(np.ones(1000))
        x[:500] = np.sort(held[:500])
        x[500:] = np.sort(held[500:]) * 2
        assert cancel(x[500:]) >= 1
        gate.open()
        assert is_cancelled(x)                          # an array has one error
        x[...] = 5
        assert x.sum().item() == 5000


def test_members_of_an_open_group():
    """Some are cancelled, others not; more join it afterwards."""
    with configured(workers=1, limit=0, bulk=512), Gate() as gate:
        x = gate.hold(np.ones(1000))
        kept = x + 1
        lost = kept * 2 - x
        also = x - 3
        assert cancel(lost) >= 1
        after = also * kept
        late = lost + 1
        gate.open()
        assert is_cancelled(lost) and is_cancelled(late)
        assert kept.sum().item() == 2000 and also.sum().item() == -2000 and after.sum().item() == -4000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
def test_forks_while_others_cancel():
    text = """if True:
        import os, threading
        import dflow, dflow.numpy as np
        from concurrent.futures import CancelledError
        dflow.engine.inline_limit(0)
        stop = threading.Event()

        def cancel():
            while not stop.is_set():
                dflow.engine.cancel_all()

        def work():
            while not stop.is_set():
                try:
                    assert np.sort(np.arange(3000.0)[::-1] * 2)[1].item() == 2
                except CancelledError:
                    pass

        threads = [threading.Thread(target=f, daemon=True) for f in (cancel, work)]
        for thread in threads:
            thread.start()
        for _ in range(60):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    x = np.arange(100_000.0)
                    status = int((np.sort(x[::-1]) + 1).sum().item() != 100_000 * 100_001 / 2)
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        stop.set()
        for thread in threads:
            thread.join()
        dflow.waitall()
        print("done")
        """
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=HANG * 2,
                          env=clean_environment())
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_what_has_begun_goes_on():
    with configured(workers=1, limit=0):
        x = dflow.engine.sleep(np.ones(3), 1)
        time.sleep(0.5)
        assert cancel(x) == 0 and x.tolist() == [1, 1, 1]


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no signals")
def test_ctrl_c_twice_cancels():
    text = """if True:
        import os, signal, threading, time
        import dflow, dflow.numpy as np
        from concurrent.futures import CancelledError
        dflow.engine.set_num_workers(1)
        def interrupt():
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)
        slow = [np.ones(3)]
        for _ in range(300):
            slow.append(dflow.engine.sleep(slow[-1], 0.1))
        for turn in range(2):
            threading.Thread(target=interrupt).start()
            try:
                slow[-1].wait_to_read()
            except KeyboardInterrupt:
                print("interrupted", turn, flush=True)
        start = time.perf_counter()
        try:
            slow[-1].wait_to_read()
        except CancelledError:
            print("cancelled", time.perf_counter() - start < 10)
        x = np.arange(10)
        print(int((x + 1).sum()))
    """
    done = subprocess.run([sys.executable, "-c", text], env=clean_environment(), capture_output=True, text=True,
                          timeout=HANG)
    assert done.stdout == "interrupted 0\ninterrupted 1\ncancelled True\n55\n", (done.stdout, done.stderr)
    assert "dflow: interrupted twice within a second: " in done.stderr and "cancelled" in done.stderr


def test_one_ctrl_c_cancels_nothing():
    with configured(workers=1, limit=0), Gate() as gate:
        x = gate.hold() + 1
        timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            x.wait_to_read()
        timer.join()
        time.sleep(1.1)
        gate.open()
        assert x.tolist() == [1, 1]
