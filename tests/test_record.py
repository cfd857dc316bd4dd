"""What is noted while a program watches: tasks, groups, what waits for what, waits; rings that overflow; traces."""

import io
import itertools
import json
import os
import subprocess
import sys
import threading

import numpy
import pytest
from engines import HANG, Gate, clean_environment, configured, in_threads

import dflow
import dflow.numpy as np
from dflow._profile import record as _record
from dflow._profile import trace
from dflow._runtime import events

pytestmark = pytest.mark.core

N = 200_000
RINGS = 1 << 18             # events that a ring has


def line():
    return sys._getframe(1).f_lineno


def named(record, name):
    return [task for task in record.tasks.values() if task.name == name]


def check(record):
    """What holds of every record whose program was waited for."""
    assert record.lost == 0
    tasks = record.tasks
    for number, task in tasks.items():
        assert task.number == number and task.started is not None, (number, task.name)
        assert 0 <= task.submitted <= task.ready <= task.ended and task.started < task.ended
        assert task.site is not None and task.lane and task.worker >= 0
        for before in task.predecessors:
            assert tasks[before].ended <= task.started, (number, before)
    for leader, members in record.members.items():
        assert all(tasks[m].started == tasks[leader].started for m in members)
    assert sum(int(run["members"]) for run in record.ran) == len(tasks)
    waits = record.waited
    assert (waits["start"] < waits["stop"]).all()


def test_what_is_noted_of_a_program():
    a = np.array(numpy.linspace(1, 2, N).reshape(500, 400))
    m = np.array(numpy.eye(400))
    a.wait_to_read()
    with configured(workers=2, limit=0), dflow.engine.timeline() as timeline, Gate() as gate:
        held = gate.hold(a)             # nobody takes a group before it is complete
        product = held @ m
        where = line() - 1
        chain = (product * 2 + 1) / 3
        total = chain.sum(axis=0)
        half = total.astype("f4")
        gate.open()
        value = half[3].item()
        waits = line() - 1
    record = timeline.record
    check(record)
    assert value == pytest.approx(numpy.float32(((numpy.linspace(1, 2, N).reshape(500, 400) * 2 + 1) / 3).sum(0)[3]))
    (product,) = named(record, "matmul")
    assert (product.shape, product.types, product.bytes) == ((500, 400, 400), "dd->d", 8 * N)
    assert product.site == (__file__, where, "test_what_is_noted_of_a_program")
    (task,) = named(record, "host task")
    assert product.predecessors == [task.number] and product.lane == "cpu(0)" and not product.failed
    (times,), (plus,), (over,) = named(record, "multiply"), named(record, "add"), named(record, "divide")
    assert times.leader == plus.leader == over.leader and product.number in times.predecessors
    assert (times.shape, times.types) == ((500, 400), "dd->d") and times.site[1] == where + 2
    (folded,) = named(record, "add.reduce")
    assert folded.bytes == 8 * 400 and folded.leader in (folded.number, times.leader)
    (cast,) = [task for task in record.tasks.values() if task.types == "d->f"]
    assert cast.shape == (400,) and folded.leader in (cast.leader, *cast.predecessors)
    assert record.site(record.waited[-1]["site"])[1] in (waits, waits + 1)
    assert {record.site(wait["site"])[:2] for wait in record.waited} >= {(__file__, waits)}


def test_groups_by_machine_code_and_failures_are_told():
    x = np.array(numpy.linspace(0, 1, N))
    with configured(workers=1), dflow.engine.timeline() as timeline:
        for _ in range(3):
            with Gate() as gate:
                y = gate.hold(x) * 2 + 1
            y.wait_to_read()
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.inv(np.zeros((300, 300))).wait_to_read()
    runs = timeline.record.ran
    if dflow.engine.native():
        assert 2 in runs["natives"]
    failed = [task.name for task in timeline.record.tasks.values() if task.failed]
    assert failed == ["inv"]


def test_a_wait_names_what_it_waits_for():
    with configured(workers=1, limit=0), dflow.engine.timeline() as timeline:
        slept = dflow.engine.sleep(np.ones(3), 0.02)
        slept.wait_to_read()
    record = timeline.record
    (task,) = named(record, "sleep")
    (wait,) = [wait for wait in record.waited if wait["task"] == task.number]
    assert wait["thread"] == threading.get_native_id() == task.thread
    assert 1.5e7 < wait["stop"] - wait["start"] < HANG * 1e9 and wait["stop"] >= task.ended


def test_random_programs_are_told_as_they_are():
    """The tasks that a random program submits, and their order, whoever ran them."""
    rng = numpy.random.default_rng(28)
    for _ in range(15):
        arrays = [np.array(rng.normal(size=rng.integers(1, 5000))[:n]) for n in [1000] * 3]
        with configured(workers=int(rng.integers(1, 4)), limit=0, bulk=int(rng.choice([0, 3, 512]))):
            before = dflow.engine.statistics()["queued"]
            with dflow.engine.timeline() as timeline:
                for _ in range(rng.integers(1, 60)):
                    a, b = (arrays[i] for i in rng.integers(0, 3, 2))
                    n = int(min(a.size, b.size))
                    match rng.integers(0, 4):
                        case 0:
                            a[:n] += b[:n]
                        case 1:
                            arrays[rng.integers(0, 3)] = a[:n] * 2 - b[:n]
                        case 2:
                            a[: n // 2] = np.sort(b)[: n // 2]
                        case 3:
                            b[-1] = a.sum()
            submitted = dflow.engine.statistics()["queued"] - before
        check(timeline.record)
        assert len(timeline.record.submitted) == submitted


def test_a_ring_that_is_full_keeps_the_newest():
    many = 2 * RINGS
    x = np.ones(1)
    with configured(limit=0, workers=1, bulk=0), dflow.engine.timeline() as timeline:
        for _ in range(many // 2):
            x += 1
    record = timeline.record
    assert record.lost > 0
    assert int(x[0]) == many // 2 + 1
    numbers = record.submitted["task"]
    here = int((record.ran["worker"] == 0).sum())       # what this thread ran while it waited is in its ring, too
    assert (numpy.diff(numbers.astype("i8")) == 1).all() and len(numbers) >= (RINGS - here) // 3


def test_readers_stop_nobody_and_see_whole_events():
    """Beside threads that submit and workers that run; an event that is being overwritten is left out."""
    done = threading.Event()

    def submit():
        x = np.ones(1)
        while not done.is_set():
            for _ in range(2000):
                x += 1
            x.wait_to_read()

    def look():
        looks, seen = events.watch(), 0
        try:
            while seen < 300_000:               # those of before again and again
                for data, _ in events.read(looks[0]):
                    table = numpy.frombuffer(data, _record.EVENT)
                    seen += len(table)
                    assert ((table["what"] >= 1) & (table["what"] <= 9)).all()
                    submitted = table[table["what"] == _record.SUBMITTED]
                    assert (submitted["start"] > 0).all() and (submitted["kernel"] != 0).all()
                    assert len(set(submitted["thread"].tolist())) <= 2      # one that ended, and who has its ring
        finally:
            events.unwatch(looks[0])
            done.set()

    with configured(limit=0, workers=2, bulk=0):
        in_threads(submit, submit, look)


def test_threads_that_end_give_their_rings_back():
    def once():
        x = np.ones(100)
        x += 1
        x.wait_to_read()

    with configured(limit=0), dflow.engine.timeline():
        for _ in range(200):
            in_threads(once)
        rings = len(events.read({}))
    assert rings < 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
def test_a_child_notes_what_it_does():
    text = """if True:
        import os
        import dflow, dflow.numpy as np
        dflow.engine.inline_limit(0)
        with dflow.engine.timeline() as outer:
            np.sort(np.arange(100)).wait_to_read()
            child = os.fork()
            if child == 0:
                with dflow.engine.timeline() as inner:
                    np.argsort(np.arange(100)).wait_to_read()
                assert [e.name for e in inner if "sort" in e.name] == ["argsort"], inner
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert [e.name for e in outer if "sort" in e.name] == ["sort"], outer
    """
    done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", text], env=clean_environment(),
                          capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stderr


# ---- traces ----------------------------------------------------------------------------------------------------------

def saved(timeline):
    file = io.StringIO()
    timeline.save(file)
    return json.loads(file.getvalue())


def check_trace(made):
    """The format's rules, and those of Perfetto's importer: slices of a row lie within each other or beside."""
    rows, flows, spans, names = {}, {}, {}, set()
    for e in made["traceEvents"]:
        assert isinstance(e["pid"], int) and isinstance(e["tid"], int) and isinstance(e["name"], str), e
        match e["ph"]:
            case "X":
                assert e["ts"] >= 0 and e["dur"] >= 0 and isinstance(e["args"], dict)
                rows.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"]))
            case "s" | "f":
                flows.setdefault(e["id"], []).append(e)
            case "b" | "e":
                assert e["ts"] >= 0
                spans.setdefault((e["cat"], e["name"], e["id"]), []).append(e)
            case "C":
                assert all(isinstance(value, (int, float)) and value >= 0 for value in e["args"].values())
            case "M":
                if e["name"] == "thread_name":
                    assert e["args"]["name"]
                    names.add(e["tid"])
            case "i":
                assert e["s"] in "gpt"
            case other:
                raise AssertionError(other)
    assert rows.keys() <= names
    for start, stop in spans.values():
        assert (start["ph"], stop["ph"]) == ("b", "e") and start["ts"] <= stop["ts"]
    for slices in rows.values():
        slices.sort(key=lambda times: (times[0], -times[1]))
        ends = []
        for start, stop in slices:
            while ends and ends[-1] <= start + 1e-6:
                ends.pop()
            assert not ends or stop <= ends[-1] + 1e-6, "two slices of a row overlap"
            ends.append(stop)
    for pair in flows.values():
        source, target = sorted(pair, key=lambda e: e["ph"], reverse=True)
        assert (source["ph"], target["ph"], target["bp"]) == ("s", "f", "e") and source["ts"] <= target["ts"]
        for e in pair:
            assert any(start <= e["ts"] <= stop for start, stop in rows[e["tid"]]), "an arrow ends nowhere"


def test_a_trace_follows_the_rules_of_its_format():
    with configured(workers=2, limit=0):
        dflow.engine.set_num_workers(1, dflow.cpu(1))
        try:
            with dflow.engine.timeline() as timeline:
                x = np.random.normal(size=(300, 300))
                for _ in range(5):
                    x = x @ x / 20
                    y = (x * 2 + 1).to_device(dflow.cpu(1))
                    print(float(y.sum()))
                dflow.submit(len, x).result()
                bad = np.linalg.cholesky(x - x)
                with pytest.raises(np.linalg.LinAlgError):
                    bad.wait_to_read()
                np.sort(np.random.normal(size=300_000)).wait_to_read()
        finally:
            dflow.engine.set_num_workers(0, dflow.cpu(1))
    made = saved(timeline)
    check_trace(made)
    record = timeline.record
    slices = [e for e in made["traceEvents"] if e["ph"] == "X"]
    assert sum(e["cat"] == "task" for e in slices) == len(record.ran)
    assert sum(e["cat"] == "wait" for e in slices) == len(record.waited)
    assert sum(e["ph"] == "s" for e in made["traceEvents"]) == sum(
        len([b for b in before if b in record.tasks]) for before in record.before.values())
    rows = {e["args"]["name"] for e in made["traceEvents"] if e["name"] == "thread_name"}
    assert {"cpu(0) worker 1", "cpu(1) worker 1", threading.current_thread().name} <= rows
    assert any(e["args"].get("failed") for e in slices)
    assert any(f"{__file__}:" in str(e["args"].get("line")) for e in slices)


def test_profile_writes_a_file(tmp_path):
    with dflow.profile(tmp_path / "run.json") as timeline:
        np.sort(np.arange(N)[::-1]).wait_to_read()
    made = json.loads((tmp_path / "run.json").read_text())
    check_trace(made)
    assert {e.name for e in timeline} & {"sort", "copy"}
    with pytest.raises(RuntimeError, match="not ended"), dflow.engine.timeline() as open_one:
        open_one.save(tmp_path / "none.json")


def worked(n):
    return helped(n) + helped(n)


def helped(n):
    return np.ones(n).sum()


def test_functions_of_python_are_in_a_trace(tmp_path):
    with dflow.profile(tmp_path / "run.json", functions=True):
        worked(N).item()
        in_threads(lambda: helped(N).item())
    made = json.loads((tmp_path / "run.json").read_text())
    check_trace(made)
    calls = [e for e in made["traceEvents"] if e.get("cat") == "python"]
    assert sum(e["name"] == "helped" for e in calls) == 3 and sum(e["name"] == "worked" for e in calls) == 1
    assert not any(e["args"]["line"].startswith(os.path.dirname(dflow.__file__) + os.sep) for e in calls)
    assert len({e["tid"] for e in calls if e["name"] == "helped"}) == 2
    if not hasattr(sys, "monitoring"):
        sys.setprofile(lambda *event: None)
        try:
            with pytest.raises(ValueError, match="another profiler is on"), dflow.profile(functions=True):
                pass
        finally:
            sys.setprofile(None)


def test_a_thread_that_waits_has_its_own_row():
    with configured(workers=1, limit=0), dflow.engine.timeline() as timeline, Gate() as gate:
        held = [np.sort(np.ones(3)) for _ in range(2)]
        threads = [threading.Thread(target=x.wait_to_read, name=f"reader {i}") for i, x in enumerate(held)]
        for thread in threads:
            thread.start()
        gate.open()
        for thread in threads:
            thread.join(HANG)
    waits = timeline.record.waited
    assert all(wait["thread"] for wait in waits)
    made = saved(timeline)
    check_trace(made)


def test_types_of_kernels():
    key = _record.types_of, _record.name_of
    assert key[0]((numpy.add, (11, 11, 11))) and key[1]((numpy.add, (11, 11, 11))) is None
    made = ("reduce", (numpy.add, tuple(itertools.repeat(12, 3))), 1, False)
    assert key[1](made) == "add.reduce" and key[0](made) == "dd->d"
    assert key[0](None) == "" and key[1](None) is None
    assert trace.place(None) is None
