"""dflow.engine.explain(): what an array waits for, in each state of a task; and long waits, which tell it."""

import os
import re
import threading
import warnings

import numpy
import pytest
from engines import Gate, configured, poll, queueing

import dflow
import dflow.numpy as np
from dflow._runtime import story

HERE = os.path.basename(__file__)
explain = dflow.engine.explain

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def one_worker():
    with configured(workers=1):
        yield


@pytest.fixture
def gate():
    """Keeps the only worker in a Python function until it is opened."""
    gate = Gate()
    try:
        yield gate
    finally:
        gate.open()
        dflow.waitall()


def words(text):
    """The lines without where they were submitted, which must be in this file, or in that of the gate."""
    for place in re.findall(r"submitted at (.*?):\d+ in", text):
        assert os.path.basename(place) in (HERE, "engines.py")
    return [re.sub(r", submitted at .*?:\d+ in \w+", "", line) for line in text.split("\n")]


def test_ready():
    assert explain(np.ones(3)) == explain(np.ones(())) == explain(np.ones(0)) == "ready"
    assert explain() == "nothing is pending"


@pytest.mark.parametrize("x", [None, 3, numpy.ones(2), [1.0]], ids=repr)
def test_what_is_no_array(x):
    if x is None:
        assert explain(x) == "nothing is pending"
    else:
        with pytest.raises(TypeError, match=f"x must be an array of dflow's, not {type(x).__name__}"):
            explain(x)


@pytest.mark.leaves_errors
def test_an_error_that_reading_raises():
    with queueing():
        x = np.linalg.inv(np.zeros((2, 2)))
    with pytest.raises(numpy.linalg.LinAlgError):
        dflow.waitall()
    assert explain(x) == explain(x + 1) or explain(x) == "ready: reading raises LinAlgError('Singular matrix')"


def test_running_queued_and_waiting(gate):
    held = gate.hold(np.ones((3, 3)))
    product = held @ held
    other = np.linalg.inv(np.eye(40) * 2)
    assert words(explain(held)) == [
        "pending: 1 task will write to it", "host task: running on worker 1 of cpu(0)"]
    assert words(explain(product)) == [
        "pending: 1 task will write to it", "matmul: waits for", "    host task: running on worker 1 of cpu(0)"]
    assert words(explain(other))[1] == "inv: queued for cpu(0)"
    assert words(explain())[0] == "3 tasks are pending; those that wait for no other:"
    assert sorted(words(explain())[1:]) == ["host task: running on worker 1 of cpu(0)", "inv: queued for cpu(0)"]
    gate.open()
    assert product.tolist() == numpy.full((3, 3), 3.0).tolist() and explain(product) == "ready"


def test_the_open_group_and_its_members(gate):
    held = gate.hold(np.ones(100_000))
    x = held + 1
    y = x * x
    text = words(explain(y))
    assert text[1:] == ["multiply, with 1 other in a group: in the open group, which others may join",
                        "    host task: running on worker 1 of cpu(0)"]
    z = np.sort(y)                          # closes the group
    assert words(explain(z))[1:] == ["sort: waits for", "    add, multiply: waits for",
                                     "        host task: running on worker 1 of cpu(0)"]
    del x, y, z


def test_parts_of_an_array_wait_for_their_own_writers(gate):
    held = gate.hold(np.ones(4))
    x = np.zeros(8)
    x.wait_to_read()
    x[:4] = held
    assert words(explain(x[:4]))[0] == "pending: 1 task will write to it" and explain(x[4:]) == "ready"


def test_a_thread_that_waits_runs_what_it_needs(gate):
    """What it has taken is said to run there."""
    gate.hold(np.ones(3))
    seen = []
    x = dflow.engine.sleep(np.ones(3), 0.3)
    thread = threading.Thread(target=x.wait_to_read)
    thread.start()
    while thread.is_alive() and not seen:
        seen = [line for line in words(explain(x)) if "running on a thread that waits of cpu(0)" in line]
    thread.join()
    assert seen == ["sleep: running on a thread that waits of cpu(0)"]


def test_what_was_met_before_is_not_told_twice(gate):
    held = gate.hold(np.ones((3, 3)))
    product = held @ held
    both = np.linalg.qr(product)[0] @ np.linalg.qr(product)[1]
    text = words(explain(both))
    assert sum("matmul: as above" in line for line in text) == 1
    assert sum("host task: running" in line for line in text) == 1
    del both


def test_a_long_story_is_cut(gate):
    """Also one of writes that cover each other, of which the storage knows the last alone."""
    held = gate.hold(np.ones((3, 3)))
    x = np.eye(3)
    for _ in range(30):
        np.matmul(x.copy(), held, out=x)
    text = words(explain(x))
    assert len(text) == 22 and text[-1].startswith("... and ") and text[-1].endswith(" more")
    assert explain(x) == explain(x[0]) or "pending" in text[0]


@pytest.mark.parametrize("wait", ["read", "all"])
def test_long_waits_tell_what_they_wait_for(wait):
    gate = Gate()
    x = gate.hold(np.ones(3))
    before = story.set_patience(0.1)
    opener = threading.Timer(0.5, gate.open)
    opener.start()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if wait == "read":
                x.wait_to_read()
            else:
                dflow.waitall()
    finally:
        story.set_patience(before)
        opener.join()
    assert [w.category for w in caught] == [RuntimeWarning] and os.path.basename(caught[0].filename) == HERE
    text = str(caught[0].message)
    assert text.startswith("a wait has lasted 0.1 seconds; ") and "host task" in text and "running on worker 1" in text


def test_a_warning_that_raises_ends_the_wait_alone():
    gate = Gate()
    x = gate.hold(np.ones(3))
    before = story.set_patience(0.1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="a wait has lasted"):
                x.wait_to_read()
    finally:
        story.set_patience(before)
        gate.open()
    assert x.tolist() == [1, 1, 1]


def test_at_the_gate_of_blas():
    """The second of two that need all threads of NumPy's BLAS is held back while the first one runs."""
    large = [np.array(numpy.random.default_rng(seed).normal(size=(900, 900))) for seed in range(3)]
    with configured(workers=2, limit=0):
        results = [np.linalg.svd(a, compute_uv=False) for a in large]
        stories = []
        while not all(x.is_ready() for x in results):
            stories.append([words(explain(x)) for x in results])
    lines = [line for story in stories for told in story for line in told]
    assert any(re.fullmatch("svd.*: waits for others to leave NumPy's BLAS", line) for line in lines), lines[-6:]
    assert any(re.fullmatch(r"svd.*: running on worker [12] of cpu\(0\)", line) for line in lines), lines[-6:]


def test_devices_with_workers_of_their_own(gate):
    """A lane is named by its device, one for copies by where they go."""
    there = dflow.cpu(1)
    with configured(workers=1, pools=[1]):
        held = gate.hold(np.ones((3, 3)))                   # on cpu(0)'s only worker
        moved = held.to_device(there)
        product = moved @ moved
        assert words(explain(product))[1:] == [
            "matmul: waits for", "    copy: waits for", "        host task: running on worker 1 of cpu(0)"]
        with Gate() as beside:
            kept = beside.hold(np.ones((3, 3)).to_device(there))
            late = np.linalg.inv(np.array(numpy.eye(40) * 2).to_device(there))
            assert words(explain(kept))[1:] == ["host task: running on worker 1 of cpu(1)"]
            assert poll(lambda: words(explain(late))[1:] == ["inv: queued for cpu(1)"])     # once it is copied there
        gate.open()
        dflow.waitall()
        assert explain(product) == explain(late) == "ready"


def test_while_others_submit_and_run():
    """Whatever is seen is told, while tasks come and go: nothing is read that has ended."""
    stop, failed = threading.Event(), []

    def submit():
        try:
            x = np.ones((4, 4))
            while not stop.is_set():
                for _ in range(20):
                    x = (x @ x) / 4
                x[:2] = np.sort(x[2:], 0)
                float(x[0, 0])
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=submit) for _ in range(3)]
    with configured(workers=3):
        for thread in threads:
            thread.start()
        y = np.ones((50, 50))
        for _ in range(300):
            y = y @ y / 50
            text = explain(y) + explain()
            assert "ready" in text or "pending" in text
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed and y[0, 0] == 1
