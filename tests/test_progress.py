"""Bars of progress: a step counts when its work is done, whatever Python has submitted since."""

import gc
import io
import re
import subprocess
import sys
import threading
import time
import weakref

import pytest
from engines import HANG, Gate, clean_environment, configured, queueing

import dflow
import dflow.numpy as np
from dflow._profile import progress as bars
from dflow._profile.steps import Steps


@pytest.fixture(params=["tqdm", "line"])
def bar_kind(request, monkeypatch):
    """With tqdm, and where there is none."""
    if request.param == "tqdm":
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setattr(bars, "kind_of_bar", lambda: bars.Line)


def until(condition):
    end = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def drop(work):
    """A task of what is pending, whose result nobody keeps."""
    np.sort(work)


# ---- which steps are done ------------------------------------------------------------------------

@pytest.fixture
def steps():
    made = Steps()
    yield made
    made.close()


def test_a_step_is_done_when_its_tasks_are_and_not_when_as_many_are(steps):
    with configured(workers=2), queueing(), Gate() as gate:
        held = gate.hold()
        steps.begin()
        slow = held + 1
        steps.end()
        for _ in range(5):
            np.sort(np.arange(3000)).wait_to_read()
            steps.end()
        until(lambda: steps.look() or steps.done == 5)
        assert (steps.ended, steps.held) == (6, 1)      # five of six are done, the first is not
        gate.open()
        slow.wait_to_read()
        until(lambda: steps.look() or steps.done == 6)
        assert steps.held == 0


def test_members_of_a_group_hold_the_steps_that_submitted_them(steps):
    with configured(workers=2), queueing(), Gate() as gate:
        x = gate.hold(np.ones(100))
        steps.begin()
        kept = []
        for _ in range(4):
            x = x + 1
            kept.append(x)
            steps.end()
        steps.end()                                     # which submits nothing
        until(lambda: steps.look() or steps.done == 1)
        assert steps.held == 4
        gate.open()
        dflow.waitall()
        steps.look()
        assert (steps.done, steps.held) == (5, 0)


def test_what_was_pending_before_holds_no_step(steps):
    with configured(workers=2), queueing(), Gate() as gate:
        before = gate.hold() + 1
        steps.begin()
        np.sort(np.arange(3000)).wait_to_read()
        steps.end()
        until(lambda: steps.look() or steps.done == 1)
        assert not before.is_ready()


def test_steps_with_weights(steps):
    with configured(workers=2), queueing(), Gate() as gate:
        x = gate.hold()
        steps.end(3)
        y = x + 1
        steps.end(5)
        steps.end(0.5)
        until(lambda: steps.look() or steps.done == 0.5)
        gate.open()
        y.wait_to_read()
        until(lambda: steps.look() or steps.done == 8.5)
        steps.end()
        until(lambda: steps.look() or steps.done == 9.5)


def test_many_looks_while_others_submit(steps):
    """Each look reads what was noted since the last, once or twice: nothing is lost, nothing stays."""
    stop = threading.Event()

    def others():
        with queueing():
            x = np.ones(50)
            while not stop.is_set():
                x = x * 1.0
            x.wait_to_read()

    thread = threading.Thread(target=others)
    with configured(workers=2):
        thread.start()
        try:
            done = 0
            for _ in range(300):
                np.sort(np.arange(1000))
                steps.end()
                steps.look()
                assert done <= steps.done <= steps.ended and steps.held == steps.ended - steps.done
                done = steps.done
        finally:
            stop.set()
            thread.join()
        dflow.waitall()
        steps.look()
        assert (steps.done, steps.held) == (300, 0)


def test_events_that_are_lost_hold_steps_until_nothing_is_pending(steps, monkeypatch):
    from dflow._runtime import events

    real = events.unwatch
    with configured(workers=2), queueing(), Gate() as gate:
        kept = gate.hold() + 1
        steps.end()
        with monkeypatch.context() as patch:
            patch.setattr(bars.Steps.look.__globals__["events"], "unwatch",
                          lambda before: [(b"", lost + 1) for _, lost in real(before)])
            steps.look()
        assert steps.held == 1
        np.sort(np.arange(3000)).wait_to_read()         # in the step in which they were lost
        steps.end()
        np.sort(np.arange(3000)).wait_to_read()
        steps.end()
        until(lambda: steps.look() or steps.done == 1)
        assert steps.held == 2
        gate.open()
        kept.wait_to_read()
        until(lambda: steps.look() or steps.done == 3)


def test_nothing_is_noted_any_more_at_the_end():
    from dflow._runtime import events

    with queueing():
        for _ in dflow.trange(3, file=io.StringIO()):
            np.ones(3) + 1
        gc.collect()
        before, _ = events.watch()
        events.unwatch(before)
        (np.ones(3) + 1).wait_to_read()
        assert not any(data for data, _ in events.read(before))


# ---- bars of loops -------------------------------------------------------------------------------

def test_a_loop(bar_kind):
    file = io.StringIO()
    with configured(workers=2), queueing(), Gate() as gate:
        held = gate.hold()
        bar = dflow.progress(range(5), desc="steps", file=file, mininterval=0)
        assert (len(bar), bar.total, bar.n) == (5, 5, 0)
        seen = []
        for i in bar:
            seen.append(i)
            if i < 2:
                drop(held)
            if i == 4:
                until(lambda: bar.n == 2)               # 2 and 3
                gate.open()
        assert seen == [0, 1, 2, 3, 4] and bar.n == 5   # it has waited
        assert dflow._engine.live()["tasks"] == 0
    text = file.getvalue()
    assert "steps" in text and "2/5" in text and "100%" in text.rpartition("\r")[2]


def test_the_loop_is_not_held_up_and_the_end_need_not_wait(bar_kind):
    with configured(workers=2), queueing(), Gate() as gate:
        held = gate.hold()
        file = io.StringIO()
        for _ in dflow.progress(range(4), file=file, wait=False):
            drop(held)
        assert not held.is_ready() and "4/4" not in file.getvalue()
        (bar,) = bars._unfinished
        gate.open()
        until(lambda: not bars._unfinished)
        assert bar.n == 4 and "4/4" in file.getvalue()
        del bar


def test_a_break_and_an_error_close_the_bar_at_once(bar_kind):
    with configured(workers=2), queueing(), Gate() as gate:
        held = gate.hold()
        bar = dflow.progress(range(4), file=io.StringIO())
        for i in bar:
            drop(held)
            if i == 2:
                break
        assert bar.n == 0 and bar._steps is None and bar.disable
        bar = dflow.progress((1 // (2 - i) for i in range(4)), total=4, file=io.StringIO())
        with pytest.raises(ZeroDivisionError):
            for _ in bar:
                drop(held)
        assert bar.n == 0 and bar._steps is None and bar.disable


def test_without_a_length_and_of_arrays(bar_kind):
    bar = dflow.progress((i for i in range(3)), file=io.StringIO())
    assert bar.total is None and bool(bar) and list(bar) == [0, 1, 2] and bar.n == 3
    x = np.arange(6.0).reshape(2, 3)
    bar = dflow.progress(x, file=io.StringIO())
    assert len(bar) == 2 and [row.tolist() for row in bar] == x.tolist()
    assert list(dflow.progress([], file=io.StringIO())) == []
    assert not dflow.progress([], file=io.StringIO())
    assert list(dflow.progress([1, 2], disable=True)) == [1, 2]
    assert list(dflow.trange(1, 7, 2, file=io.StringIO())) == [1, 3, 5]


def test_failed_tasks_do_not_stop_the_bar(bar_kind):
    failed = []
    with configured(workers=2), queueing():
        bar = dflow.progress(range(3), file=io.StringIO())
        for _ in bar:
            failed.append(np.linalg.inv(np.zeros((30, 30))))
        assert bar.n == 3
        for x in failed:
            with pytest.raises(np.linalg.LinAlgError):      # that of the loop is still there to be read
                x.wait_to_read()


def test_nested(bar_kind):
    with configured(workers=2), queueing():
        outer = dflow.progress(range(3), file=(file := io.StringIO()), desc="outer")
        for _ in outer:
            inner = dflow.progress(range(4), file=file, desc="inner", leave=False)
            for _ in inner:
                np.ones(10) + 1
            assert inner.n == 4
        assert outer.n == 3 and "outer" in file.getvalue() and "inner" in file.getvalue()


def test_by_hand(bar_kind):
    with configured(workers=2), queueing(), Gate() as gate:
        held = gate.hold()
        with dflow.progress(total=10, file=(file := io.StringIO()), mininterval=0) as bar:
            drop(held)
            bar.update(7)
            bar.update()
            until(lambda: bar.n == 1)
            gate.open()
            bar.update(2)
        assert bar.n == 10 and "10/10" in file.getvalue()
        bar.close()                                     # again: nothing
        with pytest.raises(KeyError), dflow.progress(total=10, file=io.StringIO()) as bar:
            raise KeyError
        assert bar._steps is None


def test_what_programs_do_with_a_bar(bar_kind, capsys):
    file = io.StringIO()
    bar = dflow.progress(range(3), file=file)
    for i in bar:
        bar.set_description(f"step {i}")
        bar.set_postfix(loss=0.12345, epoch=i)
        bar.write("a line")
        dflow.progress.write("another")
    assert capsys.readouterr().out == "a line\nanother\n" * 3
    text = file.getvalue()
    assert "step 2" in text and "loss=0.123, epoch=2" in text
    bar.set_postfix_str("after the end")
    bar.total = 7
    bar.n += 1
    bar.refresh()
    assert (bar.n, bar.total, bar.desc.strip(": ")) == (4, 7, "step 2")


def test_values_beside_the_bar_are_not_waited_for(bar_kind):
    file = io.StringIO()
    with configured(workers=2), queueing(), Gate() as gate:
        held, failed = gate.hold(np.full((), 2.5)), np.linalg.inv(np.zeros((1, 1)))
        bar = dflow.progress(range(200), file=file, mininterval=0)
        for i in bar:
            bar.set_postfix(loss=held * 2, failed=failed[0, 0], step=i)
            assert not held.is_ready() or i == 199
            if i == 199:
                gate.open()
    assert "loss=5, failed=failed, step=199" in file.getvalue().rpartition("\r")[2]


@pytest.mark.parametrize("arguments, error, text", [
    ((5,), TypeError, "iterable must be iterable, not 5"),
    (([], "epoch"), TypeError, "total must be a number or None, not 'epoch'"),
])
def test_bad_arguments(arguments, error, text):
    with pytest.raises(error, match=re.escape(text)):
        dflow.progress(*arguments)


def test_a_bar_without_an_iterable_is_not_iterated(bar_kind):
    bar = dflow.progress(total=3, file=io.StringIO())
    with pytest.raises(TypeError, match="no iterable"):
        list(bar)
    bar.close()


def test_a_bar_that_nobody_keeps_is_closed(bar_kind):
    bar = dflow.progress(total=3, file=io.StringIO())
    stop, alive = bar._stop, weakref.ref(bar)
    del bar
    until(lambda: alive() is None)
    assert stop.is_set()


def test_in_a_host_task_nothing_is_waited_for(bar_kind):
    def loop():
        return sum(dflow.progress([1, 2, 3], file=io.StringIO()))

    with configured(workers=1):
        assert dflow.submit(loop).result() == 6
    assert not bars.inside_host_task()


def test_naive_mode(bar_kind):
    with configured(naive=True):
        bar = dflow.progress(range(3), file=io.StringIO())
        for _ in bar:
            np.ones(3) + 1
        assert bar.n == 3


def test_a_child_of_fork_leaves_the_bar_alone(bar_kind):
    file = io.StringIO()
    bar = dflow.progress(total=2, file=file)
    bar._process -= 1                                   # as it is there
    text = file.getvalue()
    bar._close()
    bar.close()
    assert file.getvalue() == text and bar._steps is not None
    bar._process += 1
    bar.close()


# ---- bars of tasks -------------------------------------------------------------------------------

def test_all_tasks(bar_kind):
    file = io.StringIO()
    with configured(workers=2), queueing(), Gate() as gate:
        held = gate.hold(np.ones(1000))
        with dflow.engine.progress("work", file=file, mininterval=0.01) as bar:
            kept = [np.sort(held) for _ in range(5)]
            until(lambda: bar.submitted == 6)           # what was pending counts, too
            bar.write("a line")
            bar.set_description("more work")
            assert bar.done == 0
            gate.open()
        assert (bar.done, bar.submitted) == (6, 6) and all(x.is_ready() for x in kept)
    text = file.getvalue()
    assert "0/6" in text and (" bytes held" in text or "KB held" in text)
    assert re.search("more work: 100%.*6/6", text.rpartition("\r")[2])


def test_all_tasks_with_errors(bar_kind):
    with queueing():
        with pytest.raises(np.linalg.LinAlgError), dflow.engine.progress(file=io.StringIO()) as bar:
            np.linalg.inv(np.zeros((3, 3)))
        assert bar.done == bar.submitted >= 1
        with configured(workers=2), Gate() as gate:
            held = gate.hold()
            file = io.StringIO()
            with pytest.raises(KeyError), dflow.engine.progress(file=file):
                y = held + 1
                raise KeyError
            assert not y.is_ready() and file.getvalue().endswith("\n")
        with dflow.engine.progress(disable=True):
            y = np.ones(3) + 1
        assert y.is_ready()
    with pytest.raises(TypeError, match="mininterval must be a number of seconds, not 'often'"):
        dflow.engine.progress(mininterval="often")


def test_sizes():
    texts = [bars.size_text(n) for n in (0, 999, 1536, 5 << 20, 3 << 30, 2 << 40, 900 << 40)]
    assert texts == ["0 bytes", "999 bytes", "1.5 KB", "5 MB", "3 GB", "2 TB", "900 TB"]


# ---- our own line --------------------------------------------------------------------------------

def test_the_line_by_itself():
    file = io.StringIO()
    line = bars.Line(total=4, desc="x", file=file, mininterval=0, postfix={"a": 1.0}, colour="red")
    line.update(3)
    assert re.fullmatch(r"x:  75% 3/4 it \[[\d.]+ s, .*/s, a=1\]", file.getvalue().rpartition("\r")[2].strip())
    line.set_description_str()
    line.reset(8)
    assert str(line).startswith("  0% 0/8 it [")
    line.clear()
    line.close()
    line.close()
    assert file.getvalue().endswith("\n") and bars.Line.open == []
    gone = bars.Line(file=(file := io.StringIO()), leave=False)
    gone.close()
    assert "0 it" in file.getvalue() and file.getvalue().endswith("\r")
    assert bars.Line(disable=None, file=file).disable


@pytest.mark.once
def test_a_program_without_tqdm_on_standard_error(tmp_path):
    program = ("import sys; sys.modules['tqdm'] = None\nimport dflow\n"
               "for i in dflow.trange(3, desc='steps'): dflow.engine.sleep([1.0], 0.01)\n"
               "print('then')\n")
    done = subprocess.run([sys.executable, "-c", program], env=clean_environment(), capture_output=True, text=True,
                          timeout=HANG)
    assert (done.returncode, done.stdout) == (0, "then\n")
    assert done.stderr.splitlines()[-1].startswith("steps: 100% 3/3 it [")     # text=True: \r is a line's end, too


