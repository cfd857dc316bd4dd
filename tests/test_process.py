"""What only a whole process shows: exit, signals, fork and the environment, each in a subprocess with work pending."""

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from engines import clean_environment

import dflow

TIMEOUT = 60            # seconds; a process that needs them hangs

# Ten thousand operations behind one that sleeps, so that all of them are pending when the process does what it does.
PENDING = """
    import dflow, sys
    import dflow.numpy as np

    def pile_up(seconds):
        x = dflow.engine.sleep(np.zeros(3), seconds)
        for _ in range(10_000):
            x = x + 1
        return x
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program in a fresh interpreter; returns its exit code, output and errors."""
    def run(program, *, before=PENDING, options=(), **environment):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(before) + textwrap.dedent(program))
        done = subprocess.run([sys.executable, *options, str(script)], capture_output=True, text=True, timeout=TIMEOUT,
                              env=clean_environment() | environment, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr
    return run


def line_of(program, text, before=PENDING):
    """The line of the script on which this text is."""
    lines = (textwrap.dedent(before) + textwrap.dedent(program)).splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


# -- exit ------------------------------------------------------------------------------------------

EXITS = {
    "at the end": "",
    "after waiting": "dflow.waitall()",
    "after reading": "assert x.tolist() == [10_000] * 3",
    "sys.exit": "sys.exit()",
    "sys.exit(0)": "sys.exit(0)",
    "without the handle": "del x",
    "in a function that keeps the handle": "def f(x=x): sys.exit()\nf()",
    "with a cycle": "cycle = [x]; cycle.append(cycle); del x",
    "through os._exit": "import os; os._exit(0)",
    "with a host task pending": "y = dflow.submit(lambda a: a, x, shape=(3,), dtype='float64')",
    "with a future pending": "y = dflow.submit(lambda a: a.sum(), x)",
    "with many workers": "dflow.engine.set_num_workers(16); x = pile_up(0.01)",
    "one worker": "dflow.engine.set_num_workers(1); x = pile_up(0.01)",
    "with an atexit that reads": "import atexit; atexit.register(lambda: x.tolist())",
    "with an atexit that submits": "import atexit; atexit.register(lambda: (x + 1).tolist())",
}


@pytest.mark.parametrize("how", EXITS)
def test_exit_with_work_pending(run, how):
    assert run("x = pile_up(0.05)\n" + EXITS[how]) == (0, "", "")


def test_exit_code_is_kept(run):
    assert run("x = pile_up(0.05)\nsys.exit(3)") == (3, "", "")


def test_exit_right_after_the_import(run):
    assert run("import dflow.numpy", before="") == (0, "", "")


def test_an_unhandled_exception_shows_its_traceback_alone(run):
    code, out, err = run("x = pile_up(0.05)\nraise KeyError('mine')\n")
    assert (code, out) == (1, "")
    lines = err.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "KeyError: 'mine'"
    assert len(lines) == 4                                  # and the file's name, and the line


def test_exit_with_work_of_another_thread_pending(run):
    assert run("""
        import threading
        kept = []
        thread = threading.Thread(target=lambda: kept.append(pile_up(0.05)))
        thread.start()
        thread.join()
    """) == (0, "", "")


def test_exit_while_another_thread_submits_and_waits(run):
    assert run("""
        import threading, time
        started = threading.Event()

        def forever():
            while True:
                x = pile_up(0.001)
                started.set()
                x.wait_to_read()

        for _ in range(3):
            threading.Thread(target=forever, daemon=True).start()
        started.wait()
    """) == (0, "", "")


def test_exit_while_a_daemon_thread_never_stops_submitting_host_tasks(run):
    """What it submits during the exit is not waited for, or there would be no end."""
    code, out, errors = run("""
        import threading, time

        def submit():
            while True:
                dflow.submit(time.sleep, 0.02)
                dflow.submit(time.sleep, 0.02)
                time.sleep(0.005)

        threading.Thread(target=submit, daemon=True).start()
        time.sleep(0.1)
    """)
    assert (code, out, errors) == (0, "", "")


def test_exit_runs_the_functions_that_are_pending_whatever_daemon_threads_submit(run):
    """What others submit meanwhile, and have done, does not count for what was promised before."""
    code, out, errors = run("""
        import threading, time

        def submit():
            y = np.ones(3)
            while True:
                for _ in range(100):
                    y = y + 1
                    dflow.submit(abs, -1)
                started.set()
                time.sleep(0.001)

        dflow.engine.set_num_workers(1)
        started = threading.Event()
        threading.Thread(target=submit, daemon=True).start()
        started.wait()
        x = dflow.engine.sleep(np.ones(2), 0.3)
        for i in range(20):
            x = dflow.engine.sleep(x, 0.001)
            dflow.submit(lambda a, i=i: print(f"{i} ", end="", flush=True), x)
    """)
    assert (code, sorted(map(int, out.split())), errors) == (0, [*range(20)], "")


@pytest.mark.once
def test_exit_waits_for_a_long_kernel_before_a_function(run):
    assert run("""
        x = dflow.engine.sleep(np.ones(2), 3.3)
        dflow.submit(lambda a: print(a.tolist()), x)
    """) == (0, "[1.0, 1.0]\n", "")


@pytest.mark.once
def test_exit_does_not_wait_for_a_function_that_never_ends(run):
    assert run("""
        import threading

        def submit():
            while True:
                dflow.submit(abs, -1)
                threading.Event().wait(0.01)

        dflow.engine.set_num_workers(2)
        threading.Thread(target=submit, daemon=True).start()
        dflow.submit(threading.Event().wait)
    """) == (0, "", "")


def test_exit_does_not_wait_for_each_of_many_kernels(run):
    assert run("""
        dflow.engine.set_num_workers(100)
        x = [dflow.engine.sleep(np.ones(3), 60) for _ in range(100)]
    """) == (0, "", "")


def test_sys_exit_in_a_thread_ends_that_thread_only(run):
    assert run("""
        import threading
        kept = []

        def work():
            kept.append(pile_up(0.01))
            sys.exit(5)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        print(kept[0].tolist())
    """) == (0, "[10000.0, 10000.0, 10000.0]\n", "")


def test_host_tasks_pending_at_exit_run(run):
    """They are there for what they do: write a file, print."""
    code, out, err = run("""
        x = dflow.engine.sleep(np.ones(2), 0.05)
        for i in range(3):
            dflow.submit(lambda a, i=i: sys.stdout.write(f"{i} {a.tolist()}\\n"), x)
    """)
    assert (code, sorted(out.splitlines()), err) == (0, ["0 [1.0, 1.0]", "1 [1.0, 1.0]", "2 [1.0, 1.0]"], "")


# -- Ctrl-C ----------------------------------------------------------------------------------------

INTERRUPT = PENDING + """
    import os, signal, threading

    gate, held = threading.Event(), threading.Event()

    def wait_at_gate():
        held.set()
        gate.wait()
        return 0

    def pile_up_behind_gate():
        '''As pile_up, but pending until the gate opens; returns once a worker is at the gate.'''
        x = dflow.submit(wait_at_gate, shape=(3,), dtype="float64")
        held.wait()
        for _ in range(10_000):
            x = x + 1
        return x

    def interrupt_once_waiting():
        waits = dflow.engine.statistics()["waits"]

        def interrupt():
            while dflow.engine.statistics()["waits"] == waits:
                threading.Event().wait(0.001)
            threading.Event().wait(0.05)            # well asleep by now
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
"""

WAITS = {"waitall": "dflow.waitall()", "wait_to_read": "x.wait_to_read()", "item": "x[0].item()",
         "tolist": "x.tolist()", "asarray": "np.asarray(x).asnumpy()", "result": "dflow.submit(list, x).result()"}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_interrupts_a_wait(run, wait):
    """KeyboardInterrupt comes while the work is still pending, and the engine works on."""
    assert run(f"""
        dflow.engine.set_num_workers(2)
        x = pile_up_behind_gate()
        interrupt_once_waiting()
        try:
            {WAITS[wait]}
        except KeyboardInterrupt:
            print("interrupted")
        print((np.ones(2) + 1).tolist(), x.is_ready())
        gate.set()
        dflow.waitall()
        print(x.tolist())
    """, before=INTERRUPT) == (0, "interrupted\n[2.0, 2.0] False\n[10000.0, 10000.0, 10000.0]\n", "")


def test_ctrl_c_while_a_kernel_runs(run):
    """Also while the kernel waited for is running, in a worker or in the waiting thread: it is over soon enough."""
    assert run("""
        x = pile_up(0.5)
        interrupt_once_waiting()
        try:
            dflow.waitall()
        except KeyboardInterrupt:
            print("interrupted")
        print(x.tolist())
    """, before=INTERRUPT) == (0, "interrupted\n[10000.0, 10000.0, 10000.0]\n", "")


def test_ctrl_c_while_submitting(run):
    assert run("""
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        x = dflow.engine.sleep(np.zeros(3), 1)
        submitted = 0
        try:
            while True:
                x += 1
                submitted += 1
        except KeyboardInterrupt:
            print("interrupted")
        dflow.waitall()
        print(x[0].item() - submitted in (0, 1))
    """, before=INTERRUPT) == (0, "interrupted\nTrue\n", "")


def test_ctrl_c_that_nobody_catches_ends_the_process(run):
    code, out, err = run("""
        x = pile_up(0.5)
        interrupt_once_waiting()
        dflow.waitall()
    """, before=INTERRUPT)
    assert code == -2 and out == ""
    assert err.startswith("Traceback") and err.rstrip().endswith("KeyboardInterrupt") and err.count("Traceback") == 1


def test_repeated_ctrl_c(run):
    assert run("""
        import time
        dflow.engine.set_num_workers(2)
        x = pile_up_behind_gate()
        caught = 0
        for turn in range(3):
            time.sleep(1.1 if turn else 0)          # twice within a second cancels: see test_cancel.py
            interrupt_once_waiting()
            try:
                dflow.waitall()
            except KeyboardInterrupt:
                caught += 1
        print(caught, x.is_ready())
        gate.set()
        print(x.tolist())
    """, before=INTERRUPT) == (0, "3 False\n[10000.0, 10000.0, 10000.0]\n", "")


@pytest.mark.parametrize("wait", ["dflow.waitall()", "tasks[1].result()"])
def test_ctrl_c_leaves_the_functions_alone(run, wait):
    """With one worker, which is inside the first, the second is run for the thread that waits, but not by it."""
    assert run(f"""
        dflow.engine.set_num_workers(1)
        stop, begun = threading.Event(), threading.Semaphore(0)

        def task():
            begun.release()
            while not stop.wait(0.01):
                pass
            return "done"

        def interrupt():
            for _ in range(2):
                print(begun.acquire(timeout=20))
            os.kill(os.getpid(), signal.SIGINT)

        tasks = [dflow.submit(task) for _ in range(2)]
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            {wait}
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted")
        stop.set()
        for future in tasks:
            print(future.result())
        dflow.waitall()
        print((np.ones(2) + 1).tolist())
    """, before=INTERRUPT) == (0, "True\nTrue\ninterrupted\ndone\ndone\n[2.0, 2.0]\n", "")


def test_an_interrupt_that_a_function_raises_is_its_own(run):
    """Who reads its result is told; no other wait is interrupted."""
    code, out, err = run("""
        def task():
            raise KeyboardInterrupt("mine")

        future = dflow.submit(task)
        x = dflow.engine.sleep(np.ones(2), 0.05)
        for wait in (x.tolist, x.tolist, future.result):
            try:
                print(wait())
            except KeyboardInterrupt as error:
                print(repr(error))
    """, before=INTERRUPT)
    assert (code, out, err) == (0, "[1.0, 1.0]\n[1.0, 1.0]\nKeyboardInterrupt('mine')\n", "")


HANDLER = INTERRUPT + """
    def handle(*args):      # waits in every way, whatever the thread that is interrupted is at
        two = (np.ones(2) + 1).tolist()
        handled.append((two, dflow.submit(len, [1, 2]).result()))   # at once: on a slow machine it is interrupted, too
        dflow.engine.sleep(np.ones(2), 0.01).wait_to_read()

    handled = []
    signal.signal(signal.SIGALRM, handle)
"""


@pytest.mark.parametrize("wait", ["dflow.waitall()", "last.result()"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_handler_waits_within_a_wait(run, wait, workers):
    """No function is told that it must not wait, as nobody runs one within the wait that is interrupted."""
    assert run(f"""
        dflow.engine.set_num_workers({workers})
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.1)
        tasks = [dflow.submit(threading.Event().wait, 0.02) for _ in range(20)]
        last = dflow.submit(threading.Event().wait, 0.5)
        {wait}
        signal.setitimer(signal.ITIMER_REAL, 0)
        print([task.result() for task in tasks] == [False] * 20, last.result())
        print(len(handled) >= 1, handled == [([2, 2], 2)] * len(handled))
    """, before=HANDLER) == (0, "True False\nTrue True\n", "")


# -- fork ------------------------------------------------------------------------------------------

# Newer Pythons warn at any fork with threads; that dflow's threads are safe there is what is tested.
FORK_OPTIONS = ["-W", "ignore::DeprecationWarning"]

FORK = PENDING + """
    import contextlib, os, threading, traceback

    def in_child(work):
        '''Fork, run work() in the child, which ends with os._exit; its exit code.'''
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                work()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def raises(error, function):
        try:
            function()
        except error:
            return True
        return False

    @contextlib.contextmanager
    def busy_threads(count):
        '''So many threads submit and wait, over and over, until the block ends.'''
        stop = threading.Event()

        def work():
            while not stop.is_set():
                x = np.zeros(3)
                for _ in range(20):
                    x = x + 1
                assert x.tolist() == [20] * 3

        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        yield
        stop.set()
        for thread in threads:
            thread.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["", "dflow.engine.inline_limit(0)", "dflow.engine.set_num_workers(8)",
                                     "dflow.engine.set_num_workers(1); dflow._engine.set_delays(7, 100)"])
def test_a_hundred_forks_with_work_pending(run, setting):
    """At every moment of the workers' lives: the delay before the fork grows, and work runs and ends meanwhile.

    In every other fork a gate keeps an array pending for sure, and with it one worker busy.
    """
    assert run(f"""
        import time
        {setting}
        ready = np.arange(4) * 2
        ready.wait_to_read()

        def wait_at(gate, values):
            gate.wait()
            return values + 1

        def child(held, asleep, moving):
            assert ready.tolist() == [0, 2, 4, 6]
            fresh = ready + 1
            for _ in range(100):
                fresh = fresh * 2 - fresh
            assert fresh.tolist() == [1, 3, 5, 7]
            assert dflow.submit(lambda a: a.tolist(), ready).result() == [0, 2, 4, 6]
            for pending in (held, held + 1, held[:2]) if held is not None else ():
                assert raises(RuntimeError, pending.tolist)
            for perhaps, value in ((asleep, [1, 3, 5, 7]), (moving, [50] * 3)):
                if not raises(RuntimeError, perhaps.tolist):
                    assert perhaps.tolist() == value        # it had become ready before the fork
            ready[:] = 5
            large = np.ones(200_000) + ready[0]
            assert large.sum().item() == 6 * 200_000
            dflow.waitall()

        for turn in range(100):
            gate, held = threading.Event(), None
            if turn % 3 == 0:                               # fresh workers, that make their Python thread states now
                dflow.engine.set_num_workers(dflow.engine.num_workers())
            if turn % 2:
                held = dflow.submit(wait_at, gate, ready, shape=(4,), dtype="int64")
            asleep = dflow.engine.sleep(ready, 0.005) + 1
            moving = np.zeros(3)
            for _ in range(50):
                moving = moving + 1
            time.sleep(turn * 1e-5)
            code = in_child(lambda: child(held, asleep, moving))
            gate.set()
            assert code == 0, (turn, code)
            assert moving.tolist() == [50] * 3 and ready.tolist() == [0, 2, 4, 6]
            assert asleep.tolist() == [1, 3, 5, 7] and (held is None or held.tolist() == [1, 3, 5, 7])
        print("done")
    """, before=FORK, options=FORK_OPTIONS) == (0, "done\n", "")


def test_fork_with_ten_thousand_pending(run):
    assert run("""
        gate = threading.Event()
        x = dflow.submit(lambda: gate.wait() and 0, shape=(3,), dtype="float64")
        for _ in range(10_000):
            x = x + 1
        views = [x[:1], x.T, x + 1]

        def child():
            assert all(raises(RuntimeError, pending.tolist) for pending in (x, *views))
            x[:] = 3                                        # a full overwrite makes it good again
            assert x.tolist() == [3] * 3
            dflow.waitall()

        print(in_child(child))
        gate.set()
        print(x.tolist())
    """, before=FORK, options=FORK_OPTIONS) == (0, "0\n[10000.0, 10000.0, 10000.0]\n", "")


def test_a_forked_child_may_fork_and_end_normally(run):
    """Exit handlers run in the child too; it must neither hang nor complain about what only the parent computes."""
    assert run("""
        x = pile_up(0.2)
        y = np.ones(2)
        y.wait_to_read()
        pid = os.fork()
        if pid == 0:
            print("child", (y + 1).tolist(), flush=True)
            print("grandchild", in_child(lambda: (y + 2).wait_to_read()), flush=True)
            z = pile_up(0.01)
            sys.exit(4)
        print("code", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        print(x.tolist())
    """, before=FORK, options=FORK_OPTIONS) == (
        0, "child [2.0, 2.0]\ngrandchild 0\ncode 4\n[10000.0, 10000.0, 10000.0]\n", "")


def test_fork_while_other_threads_submit_and_wait(run):
    assert run("""
        def child():
            y = np.zeros(3)
            for _ in range(20):
                y += 1
            assert y.tolist() == [20] * 3
            dflow.waitall()

        with busy_threads(4):
            codes = {in_child(child) for _ in range(30)}
        print(codes)
    """, before=FORK, options=FORK_OPTIONS) == (0, "{0}\n", "")


@pytest.mark.slow
def test_a_fork_loses_no_task_that_a_worker_has_just_taken(run):
    """What is pending in the child ends with an error, whichever moment of a worker's life the fork meets."""
    assert run("""
        import time
        dflow.engine.inline_limit(0)
        dflow.engine.set_num_workers(4)
        ready = np.arange(4)

        def child(arrays):
            for x in arrays:
                raises(RuntimeError, x.tolist)

        for turn in range(500):
            x, arrays = np.zeros(3), []
            for _ in range(turn % 40):
                x = x + 1
            for _ in range(3):
                arrays.append(dflow.submit(lambda a: a + 1, ready, shape=(4,), dtype="int64"))
            arrays.append(x)
            time.sleep(turn % 17 * 1e-5)
            assert in_child(lambda: child(arrays)) == 0
        print("done")
    """, before=FORK, options=FORK_OPTIONS) == (0, "done\n", "")


BUSY_BLAS = FORK + """
    import signal, time
    import numpy

    dflow.engine.set_num_workers(2)
    matrix = numpy.random.default_rng(1).random((520, 520)) + 20 * numpy.eye(520)
    large, vector = np.array(matrix), np.ones(100)          # its inverse has all threads of BLAS

    def use_blas():
        signal.alarm(30)                                    # a child that hangs ends so
        assert numpy.allclose(large[:100, :100] @ vector, matrix[:100, :100].sum(1))
        assert numpy.allclose(large @ np.linalg.inv(large), numpy.eye(520))
        assert (np.linalg.svd(large[:120])[1] > 0).all()
        dflow.waitall()
"""


def test_fork_while_another_thread_waits_for_numpys_blas(run):
    """Neither who is inside nor who waits, to have it for himself or with the GIL dropped, is in the child."""
    assert run("""
        def multiply():
            with np.errstate(invalid="raise"):
                assert numpy.allclose(large[:100, :100] @ vector, matrix[:100, :100].sum(1))

        def child():
            use_blas()
            if not raises(RuntimeError, inside.tolist) or not raises(RuntimeError, waiting.tolist):
                os._exit(2)                                 # they had ended before the fork

        expected, codes = numpy.linalg.svd(matrix[:400, :400])[1], []
        while {*codes} <= {2} and len(codes) < 20:
            inside = np.linalg.svd(np.array(matrix[:400, :400]))[1]
            time.sleep(0.01)
            waiting = np.linalg.inv(large)
            thread = threading.Thread(target=multiply)
            thread.start()
            time.sleep(0.01)
            codes.append(in_child(child))
            thread.join()
            assert numpy.allclose(inside, expected) and numpy.allclose(large @ waiting, numpy.eye(520))
        print({*codes} - {2})
    """, before=BUSY_BLAS, options=FORK_OPTIONS) == (0, "{0}\n", "")


def test_forks_while_numpys_blas_uses_all_its_threads(run):
    """OpenBLAS ends them at a fork, and would wait in the parent for what they had not done."""
    assert run("""
        for turn in range(12):
            inverse = np.linalg.inv(large)
            time.sleep(turn * 2e-4)
            assert in_child(use_blas if turn % 4 == 0 else list) == 0
            assert numpy.allclose(large @ inverse, numpy.eye(520))
        signal.alarm(0)
        print("done")
    """, before=BUSY_BLAS + "    signal.alarm(30)\n", options=FORK_OPTIONS) == (0, "done\n", "")


def test_forks_while_kept_blocks_come_and_go(run):
    """A child that finds a stack of them in the middle of a change drops that, and gives no block to two arrays."""
    assert run("""
        import signal
        dflow.engine.inline_limit(0)                        # workers allocate, without the GIL
        sizes = 9_000, 18_000, 36_000
        stop = threading.Event()

        def come_and_go():
            while not stop.is_set():
                for n in sizes:
                    arrays = [np.ones(n) + 1 for _ in range(3)]
                    del arrays

        def child():
            signal.alarm(30)                                # a child that hangs, at a lock left behind, ends so
            kept = [(np.zeros(n) + k, k) for k in range(2) for n in sizes]
            for x, k in kept:
                x += k
            assert all((x == 2 * k).all() for x, k in kept)
            dflow.waitall()

        thread = threading.Thread(target=come_and_go)
        thread.start()
        good = all(in_child(child) == 0 for _ in range(20))
        stop.set()
        thread.join()
        print(good)
    """, before=FORK, options=FORK_OPTIONS) == (0, "True\n", "")


HOOK = """
    import os, time
    os.register_at_fork(before=lambda: time.sleep(0.002), after_in_parent=lambda: time.sleep(0.002))
"""


def test_other_fork_hooks_let_other_threads_run(run):
    """Hooks registered before dflow's run between its own and the fork; threads that need the engine may come then."""
    assert run("""
        dflow.engine.inline_limit(0)
        with busy_threads(2):
            codes = {in_child(lambda: (np.ones(2) + 1).wait_to_read()) for _ in range(20)}
        print(codes)
    """, before=HOOK + FORK, options=FORK_OPTIONS) == (0, "{0}\n", "")


ENDS = {"return a + 1": 0, "sys.exit(3)": 3, "sys.exit()": 0, "os._exit(4)": 4,
        "raise ValueError(os.getpid() == parent)": 1}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("where", ["a worker", "a deputy"])
def test_a_function_that_was_submitted_may_fork(run, where, end):
    """Its thread goes on in the child, alone, and with the function the child ends; the parent has its result."""
    code, out, err = run(f"""
        dflow.engine.set_num_workers(1)
        gate, held, parent, pids = threading.Event(), threading.Event(), os.getpid(), []

        def fork(a):
            pid = os.fork()
            if pid == 0:
                y = np.ones(2) + 1
                print("child", a.tolist(), y.tolist(), flush='_exit' in '{end}')
                {end}
            pids.append(pid)
            return a + 1

        if {where == "a deputy"}:
            dflow.submit(lambda: (held.set(), gate.wait()))
            held.wait()
        y = dflow.submit(fork, np.ones(2), shape=(2,))
        print(y.tolist(), os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]))
        gate.set()
        dflow.waitall()
    """, before=FORK, options=FORK_OPTIONS)
    assert (code, out) == (0, f"child [1.0, 1.0] [2.0, 2.0]\n[2.0, 2.0] {ENDS[end]}\n")
    assert "ValueError: False" in err if "raise" in end else err == ""


def test_a_child_of_a_signal_handler_waits(run):
    """The handler interrupts a wait that a function keeps going; its child may read what it computes."""
    assert run("""
        import signal
        dflow.engine.set_num_workers(1)
        pids, gate = [], threading.Event()

        def fork(*args):
            pids.append(in_child(lambda: print((np.ones(2) + 1).tolist(), dflow.submit(len, "ab").result(),
                                               flush=True)))
            gate.set()

        signal.signal(signal.SIGALRM, fork)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        tasks = [dflow.submit(gate.wait) for _ in range(3)]
        print([task.result() for task in tasks], pids)
    """, before=FORK, options=FORK_OPTIONS) == (0, "[2.0, 2.0] 2\n[True, True, True] [0]\n", "")


@pytest.mark.parametrize("wait", ["dflow.waitall()", "x.wait_to_read()"])
def test_a_signal_handler_within_a_wait_may_fork(run, wait):
    """The child goes on with the wait that the handler interrupted, for nothing, and nobody waits any more after it."""
    assert run(f"""
        import signal
        pids = []
        signal.signal(signal.SIGALRM, lambda *args: pids.append(os.fork()))
        x = dflow.engine.sleep(np.ones(3), 0.5)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            {wait}
        except RuntimeError as error:
            assert pids[0] == 0 and "forked" in str(error), error
        if pids[0] == 0:
            code = (np.ones(3) + 1).tolist() != [2] * 3
            dflow.waitall()
            dflow._engine.check_idle()
            os._exit(code)
        print(x.tolist(), os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]))
    """, before=FORK, options=FORK_OPTIONS) == (0, "[1.0, 1.0, 1.0] 0\n", "")


def test_multiprocessing_with_fork(run):
    assert run("""
        import multiprocessing

        def double(values):
            return (np.array(values) * 2).tolist()

        x = pile_up(0.1)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(double, [[1], [2, 3], [4]]))
        print(x.tolist())
    """, before=FORK, options=FORK_OPTIONS) == (0, "[[2], [4, 6], [8]]\n[10000.0, 10000.0, 10000.0]\n", "")


# -- the environment -------------------------------------------------------------------------------

def test_dflow_engine_naive(run):
    """Every operation has run when its call returns."""
    assert run("""
        x = dflow.engine.sleep(np.zeros(3), 0.01)
        print(x.is_ready(), (np.ones((500, 500)) @ np.ones((500, 500))).is_ready(), dflow.engine.naive(True))
        print(pile_up(0).tolist(), dflow.engine.statistics()["pending"])
    """, DFLOW_ENGINE="naive") == (0, "True True True\n[10000.0, 10000.0, 10000.0] 0\n", "")


def test_dflow_num_workers(run):
    assert run("print(dflow.engine.num_workers())", DFLOW_NUM_WORKERS="3") == (0, "3\n", "")


@pytest.mark.parametrize("name, value", [("DFLOW_NUM_WORKERS", "many"), ("DFLOW_NUM_WORKERS", "0"),
                                         ("DFLOW_ENGINE", "nonsense")])
def test_a_setting_that_makes_no_sense_is_named(run, name, value):
    code, out, err = run("", **{name: value})
    assert code == 1 and name in err and value in err


def test_the_first_products_of_two_threads(run):
    """One imports SciPy's BLAS, which takes a while; the other must not meet half of it."""
    assert run("""
        import threading, time, numpy
        values = numpy.random.default_rng(0).random((300, 200, 200))
        a, b = np.array(values), np.ones((300, 300))
        dflow.waitall()
        threads = [threading.Thread(target=lambda: (b @ b).wait_to_read())]
        threads += [threading.Thread(target=lambda pause=pause: (time.sleep(pause), results.append((a @ a).asnumpy())))
                    for pause in (0.03, 0.06, 0.1)]
        results = []
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        expected = values @ values
        assert all(numpy.allclose(result, expected) for result in results) and len(results) == 3
    """) == (0, "", "")


def test_importing_dflow_starts_no_thread_and_little_else(run):
    assert run("""
        import os, sys, numpy
        there = {*sys.modules}
        import dflow.numpy
        few_need = {"asyncio", "copy", "importlib.util", "numpy.fft", "dflow._gpu.cuda", "dflow._functions.arrow"}
        print(len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1,
              *few_need & ({*sys.modules} - there))
    """, before="", OPENBLAS_NUM_THREADS="1") == (0, "1\n", "")


def test_a_module_loaded_later_leaves_another_s_names_alone(run):
    assert run("""
        import dflow.numpy as np
        np.zeros = 3
        np.random.seed(1)
        print(np.zeros)
    """, before="") == (0, "3\n", "")


# -- errors that nobody saw ------------------------------------------------------------------------

UNSEEN = {
    "kept": "bad = np.array([2, 3]) ** negative",
    "kept by dependents": "bad = np.array([2, 3]) ** negative\nmore = bad + 1\nless = more[:1]",
    "dropped": "bad = np.array([2, 3]) ** negative\ndel bad",
    "a host task's": "bad = dflow.submit(lambda a: 2 ** a, negative)",
    "copied to another device": "bad = np.asarray([2], device=dflow.cpu(1)) ** negative\ny = bad.copyto(dflow.cpu(2))",
}


@pytest.mark.parametrize("how", UNSEEN)
def test_an_unseen_error_is_reported_once_at_exit(run, how):
    program = f"dflow.engine.inline_limit(0)\nnegative = np.array([-1, -1])\nnegative.wait_to_read()\n{UNSEEN[how]}\n"
    program += "while dflow.engine.statistics()['pending']: pass\n"      # no sync: those would raise it
    code, out, err = run(program)
    assert (code, out) == (0, "")
    assert err.count("Integers to negative integer powers are not allowed.") == 1
    where = line_of(program, "bad =")
    assert len(re.findall(r"submitted at .*program\.py:(\d+)", err)) == 1
    assert f"program.py:{where} " in err


def test_an_error_seen_before_exit_is_not_reported_again(run):
    assert run("""
        dflow.engine.inline_limit(0)
        bad = np.array([2]) ** np.array([-1])
        also = dflow.submit(lambda: 1 / 0, shape=(1,), dtype="float64")
        for x in (bad, also + 1):
            try:
                x.tolist()
            except (ValueError, ZeroDivisionError):
                print("seen")
    """) == (0, "seen\nseen\n", "")


def test_an_unseen_error_does_not_hide_the_exit_code(run):
    code, out, err = run("""
        bad = dflow.submit(lambda: 1 / 0, shape=(1,), dtype="float64")
        sys.exit(7)
    """)
    assert code == 7 and err.count("ZeroDivisionError") == 1


def test_an_unhandled_read_of_a_poisoned_array_names_the_line(run):
    program = """
        dflow.engine.inline_limit(0)
        bad = dflow.engine.sleep(np.array([2]), 0.01) ** np.array([-1])
        more = bad + 1
        print(more)
    """
    code, out, err = run(program)
    assert (code, out) == (1, "")
    assert err.count("Traceback") == 1 and f"program.py:{line_of(program, 'bad =')} " in err


# -- devices ---------------------------------------------------------------------------------------

DEVICES = PENDING + """
    from dflow import cpu, gpu

    def refused(make):
        try:
            make().wait_to_read()
        except (ValueError, MemoryError) as error:
            return str(error).partition(": it takes CuPy")[0].partition(": CUDA finds")[0]
"""


def test_an_error_comes_along_to_another_device(run):
    program = """
        x = np.asarray([2, 3], device=cpu(1))
        dflow.engine.inline_limit(0)
        bad = dflow.engine.sleep(x, 0.01) ** np.array([-1, -1])
        there = bad.as_in_ctx(cpu(0))
        written = np.zeros(2, "int64", device=cpu(0))
        bad.copyto(written)
        print({refused(lambda: y) for y in (there, there + 1, written, written[:1], there.as_in_ctx(cpu(1)), bad)})
        written[...] = 5
        print(written, (x + 1).ctx, x + 1, x.as_in_ctx(cpu(0)))
        print(there)
    """
    code, out, err = run(program, before=DEVICES)
    assert (code, out) == (1, "{'Integers to negative integer powers are not allowed.'}\n[5 5] cpu(1) [3 4] [2 3]\n")
    assert err.count("Traceback") == 1
    assert re.findall(r"submitted at .*program\.py:(\d+)", err) == [str(line_of(program, "bad =", DEVICES))]


def test_no_memory_on_another_device(run):
    """As on the first; what was there stays, and there is room again when some of it goes."""
    code, out, err = run("""
        x, far = np.ones((2, 40_000)), np.ones(80_000, device=cpu(3))
        dflow.engine.set_memory_budget(dflow.engine.memory_stats()["live"] + 500_000)
        texts = []
        for device in (cpu(0), cpu(1)):
            there = np.ones((2, 1), device=device)
            texts.append([refused(lambda: np.ones(80_000, device=device)),
                          refused(lambda: np.broadcast_to(there, (2, 40_000)) + 1),
                          refused(lambda: np.concatenate([there, x], axis=1)),
                          refused(lambda: far.as_in_ctx(device)), refused(lambda: far.copyto(device))])
            assert (there + 1).tolist() == [[2], [2]] and (there + 1).ctx == device
        assert texts[0] == texts[1] and all("of a budget of" in text for text in texts[0])
        x = None
        near = far.as_in_ctx(cpu(1))
        print(near.ctx, near.sum(), far.sum())
        far.as_in_ctx(cpu(1))
    """, before=DEVICES)
    assert (code, out) == (1, "cpu(1) 80000.0 80000.0\n")
    assert re.fullmatch(r"MemoryError: Unable to allocate 640000 bytes for an array with shape \(80000,\).*",
                        err.splitlines()[-1])


def test_a_device_that_is_not_there_leaves_nothing_behind(run):
    assert run("""
        x = np.ones(2, device=cpu(1))
        before = dflow._engine.live(), dflow.engine.memory_stats()["live"]
        for device in (gpu(0), cpu(99)):
            print({refused(lambda: np.ones(100_000, device=device)), refused(lambda: x.as_in_ctx(device)),
                   refused(lambda: x.to_device(device)), refused(lambda: x.copyto(device)), refused(device.__enter__)})
        dflow.waitall()
        print((dflow._engine.live(), dflow.engine.memory_stats()["live"]) == before, np.ones(2).device, x.ctx, x + 1)
    """, before=DEVICES) == (0, """\
{'gpu(0) does not exist: there are cpu(0) to cpu(15), and no GPU'}
{'cpu(99) does not exist: there are cpu(0) to cpu(15), and no GPU'}
True cpu(0) cpu(1) [2. 2.]
""", "")


def test_an_unhandled_use_of_a_device_that_is_not_there(run):
    code, out, err = run("x = np.ones(2, device=gpu(0))", before=DEVICES)
    assert (code, out, err.count("Traceback")) == (1, "", 1)
    assert re.fullmatch(r"ValueError: gpu\(0\) does not exist: there are cpu\(0\) to cpu\(15\), and no GPU: "
                        r"(it takes CuPy \(pip install \"dflow\[cuda\]\"\)|CUDA finds no device.*)",
                        err.splitlines()[-1])


def test_extensions_that_are_not_built(run, tmp_path):
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(Path(dflow.__file__).parent, tmp_path / "dflow", ignore=ignored)
    code, _, errors = run("import dflow", before="", PYTHONPATH=str(tmp_path))
    assert code == 1 and "ImportError" in errors and "`make build` does it" in errors


@pytest.mark.once
def test_code_that_is_evaluated_is_let_go(run):
    """What is evaluated over and over, as cells of a notebook are, is not kept by the lines that operations name."""
    assert run("""
        import weakref
        class Constant: pass
        x, constants, cell = np.ones(2), weakref.WeakSet(), compile("x + 1", "<cell>", "eval")
        for _ in range(5000):
            constant = Constant()
            constants.add(constant)
            eval(cell.replace(co_consts=(*cell.co_consts, constant)), {"x": x})
        print(len(constants) < 1000)
    """) == (0, "True\n", "")
