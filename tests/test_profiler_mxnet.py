"""MXNet's profiler: what it is told to note, its pauses, its files and tables, and what a program tells it."""

import contextlib
import io
import json
import os
import random
import subprocess
import sys
import threading
import time
import warnings

import numpy
import pytest
from engines import HANG, Gate, clean_environment, configured, in_threads, poll
from test_record import check_trace

import dflow as mx
import dflow.numpy as np
from dflow import autograd, gluon, profiler
from dflow._profile import record, session, trace
from dflow._profile.totals import Totals
from dflow._runtime import events

N = 300


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Files are written to a folder of the test's, and the next one finds a profiler that has seen nothing."""
    monkeypatch.chdir(tmp_path)
    profiler.set_config()               # totals of others end
    with configured(workers=2, limit=0):
        yield
        profiler.set_state("stop")
        with contextlib.suppress(RuntimeError):
            profiler.dump()
        profiler.set_config()
        assert profiler.dumps() == ""
    assert not any(t.name == "dflow profiler" and not t.ended.is_set() for t in threading.enumerate())


def run(**config):
    profiler.set_config(**{"aggregate_stats": True, **config})
    profiler.set_state("run")


def work(times=1):
    """A sort, and as many products."""
    x = np.array(numpy.eye(N))
    for _ in range(times):
        x = x @ x
    np.sort(x).wait_to_read()
    mx.waitall()


def told(**arguments):
    return json.loads(profiler.dumps(format="json", **arguments))


def counts(section="operator"):
    return {name: row["Count"] for name, row in told()["Time"].get(section, {}).items()}


def saved(name="profile.json"):
    with open(name) as file:
        made = json.load(file)
    check_trace(made)
    return made["traceEvents"]


def of(made, ph, **fields):
    return [e for e in made if e["ph"] == ph and all(e.get(name) == value for name, value in fields.items())]


# ---- states ----------------------------------------------------------------------------------------------------------

def test_what_runs_is_counted_and_in_the_trace():
    work()
    run()
    work(3)
    profiler.set_state("stop")
    work(2)
    assert counts()["matmul"] == 3 and counts()["sort"] == 1
    profiler.dump()
    made = saved()
    assert len([e for e in of(made, "X", cat="task") if e["name"].startswith("matmul")]) == 3
    assert of(made, "C", name="memory") and of(made, "X", cat="wait")
    row = told()["Time"]["operator"]["matmul"]
    assert 0 < row["Min"] <= row["Avg"] <= row["Max"] <= row["Total"] == pytest.approx(3 * row["Avg"])


def test_start_and_stop_are_states():
    profiler.set_config(aggregate_stats=True)
    profiler.start()
    work()
    profiler.stop()
    work()
    assert counts()["matmul"] == 1
    profiler.set_state("run")
    work()
    profiler.set_state()
    assert counts()["matmul"] == 2


def test_a_pause_is_not_in_it():
    domain = profiler.Domain("mine")
    task, counter, marker = domain.new_task("task"), domain.new_counter("counter"), domain.new_marker("marker")
    run()

    def all_of_it(times):
        with task:
            work(times)
        counter.increment()
        marker.mark()

    for times in (1, 2, 4):
        all_of_it(times)
        profiler.pause()
        all_of_it(10)
        profiler.resume()
    profiler.pause()
    profiler.set_state("run")           # which ends a pause
    all_of_it(1)
    profiler.set_state("stop")
    profiler.resume()                   # which begins nothing
    all_of_it(10)
    assert counts()["matmul"] == 8 and counts("mine") == {"task": 4, "counter": 4}
    row = told()["Time"]["mine"]["counter"]
    assert (row["Min"], row["Max"], row["Total"], row["Avg"]) == (1, 7, 7, 4)
    profiler.dump()
    made = saved()
    assert len([e for e in of(made, "X", cat="task") if e["name"].startswith("matmul")]) == 8
    assert len(of(made, "b", cat="mine", name="task")) == 4 and len(of(made, "i", name="marker")) == 4
    assert [e["args"]["counter"] for e in of(made, "C", cat="mine")] == [1, 3, 5, 7]


def test_a_group_that_is_held_over_a_pause_has_its_names():
    run()
    x = np.ones(N)
    with Gate() as gate:
        y = np.sqrt(gate.hold(x) * 2 + 1)
        profiler.pause()
        profiler.resume()
        z = y.sum()
        gate.open()
        z.wait_to_read()
    assert {"multiply": 1, "add": 1, "sqrt": 1, "add.reduce": 1}.items() <= counts().items()


def test_what_ends_meanwhile_is_not_in_it():
    run()
    with Gate() as gate:
        y = gate.hold(np.ones(N))
        z = np.sort(y)
        profiler.pause()
        gate.open()
        z.wait_to_read()
        mx.waitall()
    profiler.resume()
    assert "sort" not in counts()
    with Gate() as gate:
        z = np.argsort(gate.hold(np.ones(N)))
        profiler.pause()
        profiler.resume()
        gate.open()
        z.wait_to_read()
    assert counts()["argsort"] == 1


def test_another_watcher_sees_the_pause():
    run()
    profiler.pause()
    with mx.engine.timeline() as timeline:
        work()
    profiler.resume()
    work()
    assert counts()["matmul"] == 1 and [e.name for e in timeline].count("matmul") >= 1


# ---- files -----------------------------------------------------------------------------------------------------------

def test_dumps_append_until_one_is_the_last():
    run(filename="run.json")
    domain = profiler.Domain("mine")
    sizes = []
    for i in range(4):
        domain.new_marker(f"step {i}").mark()
        work()
        profiler.dump(finished=False)
        sizes.append(os.path.getsize("run.json"))
        made = saved("run.json")
        assert [e["name"] for e in of(made, "i", s="p")] == [f"step {k}" for k in range(i + 1)]
        assert len(of(made, "M", name="process_name")) == 1
        names = [(e["name"], e["tid"]) for e in of(made, "M")]
        assert len(names) == len(set(names))
    assert sizes == sorted(set(sizes))
    profiler.dump(finished=False)
    assert os.path.getsize("run.json") == sizes[-1]
    profiler.dump()
    work()
    with pytest.raises(RuntimeError, match=r"nothing was profiled since the last dump: set_state\('run'\) comes"):
        profiler.dump()
    profiler.set_state("run")
    domain.new_marker("again").mark()
    profiler.dump(True)
    assert [e["name"] for e in of(saved("run.json"), "i", s="p")] == ["again"]


def test_a_file_that_somebody_took_away_begins_anew():
    run()
    profiler.dump(finished=False)
    os.remove("profile.json")
    work()
    profiler.dump(finished=False)
    assert of(saved(), "X", cat="task") and of(saved(), "M", name="process_name")


def test_another_file_has_what_comes_next():
    run(filename="first.json")
    profiler.Domain("mine").new_marker("first").mark()
    profiler.dump(finished=False)
    profiler.set_config(filename="second.json", aggregate_stats=True)
    profiler.Domain("mine").new_marker("second").mark()
    work()
    profiler.dump()
    assert [e["name"] for e in of(saved("first.json"), "i", s="p")] == ["first"]
    assert [e["name"] for e in of(saved("second.json"), "i", s="p")] == ["second"] and counts()["matmul"] == 1


def test_a_file_is_where_the_program_was(tmp_path, monkeypatch):
    run()
    profiler.dump(finished=False)
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    profiler.dump()
    assert os.listdir() == [] and (tmp_path / "profile.json").exists()


def test_a_file_that_cannot_be_written_loses_nothing(tmp_path):
    run(filename="none/run.json")
    work()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            profiler.dump(finished=False)
    (tmp_path / "none").mkdir()
    profiler.dump()
    assert of(saved("none/run.json"), "X", cat="task")


def test_a_continuous_dump_writes_by_itself():
    run(continuous_dump=True, dump_period=0.01)
    event = profiler.Event("once")
    with event:
        work()
    assert poll(lambda: os.path.exists("profile.json") and any(e["name"] == "once" for e in whole("profile.json")))
    for _ in range(20):
        work()
        time.sleep(0.003)
    profiler.set_state("stop")
    made = saved()
    assert counts()["matmul"] == 21 and counts("event") == {"once": 1}
    assert len([e for e in of(made, "X", cat="task") if e["name"].startswith("matmul")]) == 21
    ids = [e["id"] for e in of(made, "s")]
    assert len(ids) == len(set(ids))


def whole(path):
    """Its events, or none while it is being written."""
    try:
        with open(path) as file:
            return json.load(file)["traceEvents"]
    except ValueError:
        return []


def test_a_continuous_dump_that_fails_says_so():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(filename="none/run.json", continuous_dump=True, dump_period=0.01)
        assert poll(lambda: any("is not written any more" in str(w.message) for w in caught))
        with pytest.raises(FileNotFoundError):
            profiler.set_state("stop")
    profiler.set_config(filename="run.json")


# ---- totals ----------------------------------------------------------------------------------------------------------

def test_the_table_looks_like_mxnets():
    run(profile_api=False)
    with profiler.Domain("mine").new_task("a task whose name is longer than its column"):
        work(2)
    text = profiler.dumps()
    assert text.startswith("\nProfile Statistics:\n\tNote the difference in units for different entries.\n"
                           "Device Storage\n=================\n")
    lines = text.splitlines()
    sections = [line for line, rule in zip(lines, lines[1:], strict=False) if rule == "================="]
    assert sections == ["Device Storage", "mine", "operator"]
    heads = [line.split("  ") for line in lines if line.startswith("Name")]
    assert [[head.strip() for head in row if head.strip()] for row in heads] == [
        ["Name", "Total Count", "Min Use", "(kB)", "Max Use", "(kB)", "Avg Use", "(kB)"],
        *[["Name", "Total Count", "Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)"]] * 2]
    (row,) = [line for line in lines if line.startswith("matmul ")]
    row = row.split()
    assert row[1] == "2" and float(row[3]) <= float(row[5]) <= float(row[4]) <= float(row[2])
    assert any(line.startswith("a task whose name is longer than its column ") for line in lines)


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("by", ["total", "avg", "min", "max", "count"])
def test_rows_are_sorted(by, ascending):
    totals, rng = Totals(), random.Random(28)
    for i in range(20):
        for _ in range(rng.randrange(1, 9)):
            totals.add_one("operator", f"o{i}", rng.random())
            totals.add_one("Device Storage", f"m{i}", rng.random())
    key = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}[by]
    made = json.loads(totals.json(by, ascending))
    assert made["Unit"] == {"Time": "ms", "Memory": "kB"} and made["Time"].keys() == {"operator"}
    values = [row[key] for row in made["Time"]["operator"].values()]
    assert len(values) == 20 and values == sorted(values, reverse=not ascending)
    memory = made["Memory"]["Device Storage"].values()
    assert all(row.keys() == {"Count", "Min", "Max", "Avg"} for row in memory)
    values = [row["Max" if by == "total" else key] for row in memory]
    assert values == sorted(values, reverse=not ascending)
    names = [line.split()[0] for line in totals.table(by, ascending).splitlines() if line[:1] == "o" and line[1] != "p"]
    assert names == list(made["Time"]["operator"])


def test_arguments_of_dumps_arrive():
    run()
    work(5)
    assert next(iter(told(sort_by="count")["Time"]["operator"])) == "matmul"
    assert list(told(sort_by="count", ascending=True)["Time"]["operator"])[-1] == "matmul"
    assert "matmul" in profiler.dumps(True) and counts() == {}
    work()
    assert counts()["matmul"] == 1
    profiler.set_config()
    assert profiler.dumps() == ""
    profiler.set_config(aggregate_stats=True)
    assert counts() == {}


def test_memory_is_what_arrays_hold():
    before = mx.engine.memory_stats()["live"]
    run()
    x = np.ones(1_000_000)
    x.wait_to_read()
    del x
    mx.waitall()
    row = told()["Memory"]["Device Storage"]["Memory: cpu/0"]
    assert row["Count"] >= 2 and row["Min"] == pytest.approx(before / 1e3, abs=100)
    assert row["Max"] == pytest.approx((before + 8e6) / 1e3, abs=100) and row["Min"] < row["Avg"] < row["Max"]


@pytest.mark.parametrize("config, sections, kinds", [
    ({"profile_memory": False}, {"operator", "API"}, {"task", "wait", "pending tasks"}),
    ({"profile_api": "false"}, {"operator", "Device Storage"}, {"task", "memory", "pending tasks"}),
    ({"profile_symbolic": 0}, {"operator", "API", "Device Storage"}, {"task", "wait", "memory", "pending tasks"}),
    ({"profile_symbolic": 0, "profile_imperative": False}, {"API", "Device Storage"}, {"wait", "memory"}),
    ({"profile_symbolic": 0, "profile_imperative": 0, "profile_memory": 0, "profile_api": 0}, set(), set()),
    ({"profile_symbolic": 0, "profile_imperative": 0, "profile_memory": 0, "profile_api": 0, "profile_all": True},
     {"operator", "API", "Device Storage"}, {"task", "wait", "memory", "pending tasks"}),
])
def test_what_is_not_asked_for_is_not_there(config, sections, kinds):
    run(**config)
    mx.engine.sleep(np.ones(N), 0.02).wait_to_read()
    made = told()
    assert made["Time"].keys() | made["Memory"].keys() == sections
    profiler.dump()
    seen = {e.get("cat", e["name"]) for e in saved() if e["ph"] in "XC"}
    assert seen == kinds


# ---- what a program tells --------------------------------------------------------------------------------------------

def test_what_a_program_tells_is_told():
    run()
    domain = profiler.Domain("mine")
    task, frame, event = domain.new_task("task"), domain.new_frame("frame"), profiler.Event("event")
    task.start()
    for _ in range(3):
        with frame:
            event.start()
            time.sleep(0.01)
            event.stop()
    task.stop()
    with profiler.scope("outer") as outer, profiler.Scope("inner:") as inner, profiler.scope("alone", False) as alone:
        pass
    assert (outer, inner, alone) == ("outer:", "outer:inner:", "alone:")
    scope = profiler.Scope()
    scope.start()
    scope.stop()
    assert counts("mine") == {"task": 1} and counts("mine,frame") == {"frame": 3} and counts("event") == {"event": 3}
    assert counts("scope") == {"outer:": 1, "outer:inner:": 1, "alone:": 1, "<unk>:": 1}
    rows = told()["Time"]
    inner, outer = rows["event"]["event"], rows["mine"]["task"]
    assert 30 <= inner["Total"] <= rows["mine,frame"]["frame"]["Total"] <= outer["Total"]
    assert 10 <= inner["Min"] <= inner["Max"] < HANG * 1e3
    profiler.dump()
    made = saved()
    (start,), (stop,) = of(made, "b", name="task"), of(made, "e", name="task")
    here = trace.thread_row(threading.get_native_id())
    assert (start["cat"], start["pid"], start["tid"]) == ("mine", os.getpid(), here)
    assert stop["ts"] - start["ts"] == pytest.approx(outer["Total"] * 1e3)
    assert len(of(made, "b", cat="mine,frame")) == len(of(made, "e", cat="event")) == 3
    assert list(map(str, (domain, task, frame, event))) == ["mine", "task", "frame", "event"]


def test_counters():
    domain = profiler.Domain("mine")
    early = domain.new_counter("early", 7)          # nobody looks yet
    run()
    counter = profiler.Counter(domain, "counter", 5)
    counter.increment()
    counter += 3
    counter.decrement(2)
    counter -= 1
    counter.set_value("4")
    counter.set_value(2.7)
    counter.increment(np.ones(1, dtype=int)[0])
    early += 1
    assert str(counter) == "counter" and isinstance(counter, profiler.Counter)
    row = told()["Time"]["mine"]["counter"]
    assert row == {"Count": 8, "Total": 3, "Min": 2, "Max": 9, "Avg": (5 + 6 + 9 + 7 + 6 + 4 + 2 + 3) / 8}
    assert told()["Time"]["mine"]["early"]["Total"] == 8
    profiler.dump()
    assert [e["args"] for e in of(saved(), "C", name="counter")] == [{"counter": v} for v in (5, 6, 9, 7, 6, 4, 2, 3)]


def test_markers_have_scopes():
    run()
    marker = profiler.Domain("mine").new_marker("here")
    marker.mark()
    for scope in ("global", "process", "thread", "task", "marker"):
        marker.mark(scope)
    assert told()["Time"]["mine,instant_marker"] == {} and "mine,instant_marker" in profiler.dumps()
    profiler.dump()
    assert [e["s"] for e in of(saved(), "i", name="here", cat="mine,instant_marker")] == list("pgptpp")


def test_several_threads_tell_at_a_time():
    run(continuous_dump=True, dump_period=0.003)
    counter, task = profiler.Domain("mine").new_counter("counter"), profiler.Domain("mine").new_task("shared")

    def tell():
        x = np.ones(N)
        for i in range(300):
            counter.increment()
            with profiler.Event("event"), task:
                x += 1
            if i % 100 == 0:
                profiler.dumps()
        x.wait_to_read()

    in_threads(*[tell] * 4)
    mx.waitall()
    assert counts("event") == {"event": 1200} and told()["Time"]["mine"]["counter"]["Total"] == 1200
    assert counts("mine")["shared"] == 1200
    profiler.dump()
    made = saved()
    assert sorted(e["args"]["counter"] for e in of(made, "C", name="counter")) == list(range(1, 1201))
    assert len(of(made, "b", cat="event")) == 1200 and len({e["tid"] for e in of(made, "b", cat="event")}) >= 1


def test_memory_of_the_profiler_is_bounded(monkeypatch):
    monkeypatch.setattr(session, "KEPT", 2000)
    monkeypatch.setattr(session, "OWN", 100)
    run()
    counter = profiler.Domain("mine").new_counter("counter")
    for _ in range(50):
        x = np.ones(N)
        for _ in range(50):
            x += 1
            counter.increment()
        x.wait_to_read()
        mx.waitall()
        profiler.dumps()
    assert counts()["add"] == 2500 and counts("mine") == {"counter": 2500}
    profiler.dump()
    made = saved()
    assert [e["args"]["counter"] for e in of(made, "C", name="counter")] == list(range(2401, 2501))
    with open("profile.json") as file:
        assert json.load(file)["otherData"]["lost events"] > 2400 + 500
    assert 0 < len(of(made, "X", cat="task")) < 2500


# ---- errors ----------------------------------------------------------------------------------------------------------

DOMAIN = profiler.Domain("mine")


@pytest.mark.parametrize("call, error, text", [
    (lambda: profiler.set_config(nonsense=1), ValueError, "no argument 'nonsense': there are filename, "),
    (lambda: profiler.set_config(profile_all=3), ValueError, "profile_all must be True or False, not 3"),
    (lambda: profiler.set_config(aggregate_stats=None), ValueError, "aggregate_stats must be True or False, not None"),
    (lambda: profiler.set_config(filename=3), TypeError, "filename must be a path, not int"),
    (lambda: profiler.set_config(filename=""), ValueError, "filename must not be ''"),
    (lambda: profiler.set_config(gpu_memory_profile_filename_prefix=3), TypeError, "prefix must be a string, not int"),
    (lambda: profiler.set_config(dump_period="x"), ValueError, "dump_period must be a number of seconds, not 'x'"),
    (lambda: profiler.set_config(dump_period=-1, continuous_dump=True), ValueError, "more than 0 seconds, not -1.0"),
    (lambda: profiler.set_config(dump_period=float("nan"), continuous_dump=True), ValueError, "0 seconds, not nan"),
    (lambda: profiler.set_config(profile_process="server"), ValueError, "'server': dflow's key-value stores have no"),
    (lambda: profiler.set_config(profile_process="x"), ValueError, "must be 'worker' or 'server', not 'x'"),
    (lambda: profiler.set_state("x"), ValueError, "state must be 'run' or 'stop', not 'x'"),
    (lambda: profiler.set_state(1), ValueError, "state must be 'run' or 'stop', not 1"),
    (lambda: profiler.set_state("run", "server"), ValueError, "profile_process must be 'worker', not 'server'"),
    (lambda: profiler.start("server"), ValueError, "profile_process must be 'worker', not 'server'"),
    (lambda: profiler.stop("server"), ValueError, "profile_process must be 'worker', not 'server'"),
    (lambda: profiler.pause("server"), ValueError, "profile_process must be 'worker', not 'server'"),
    (lambda: profiler.resume(profile_process="x"), ValueError, "profile_process must be 'worker' or 'server', not 'x'"),
    (lambda: profiler.dump(False, "server"), ValueError, "profile_process must be 'worker', not 'server'"),
    (lambda: profiler.dump(7), ValueError, "finished must be True or False, not 7"),
    (lambda: profiler.dump(), RuntimeError, "nothing was profiled"),
    (lambda: profiler.dumps(reset="x"), ValueError, "reset must be True or False, not 'x'"),
    (lambda: profiler.dumps(format="xml"), ValueError, "format must be 'table' or 'json', not 'xml'"),
    (lambda: profiler.dumps(sort_by="x"), ValueError, "sort_by must be 'total', 'avg', 'min', 'max' or 'count', not"),
    (lambda: profiler.dumps(ascending=2), ValueError, "ascending must be True or False, not 2"),
    (lambda: profiler.Domain(""), ValueError, "name must not be ''"),
    (lambda: profiler.Domain(3), TypeError, "name must be a string, not int"),
    (lambda: profiler.Task("mine", "x"), TypeError, "domain must be a Domain, not str"),
    (lambda: profiler.Frame(None, "x"), TypeError, "domain must be a Domain, not NoneType"),
    (lambda: profiler.Marker("mine", "x"), TypeError, "domain must be a Domain, not str"),
    (lambda: profiler.Counter(DOMAIN, ""), ValueError, "name must not be ''"),
    (lambda: profiler.Counter(DOMAIN, "x", "many"), ValueError, "value must be a whole number, not 'many'"),
    (lambda: profiler.Counter(DOMAIN, "x").increment([]), TypeError, r"delta must be a whole number, not \[\]"),
    (lambda: DOMAIN.new_task("x").stop(), RuntimeError, "Task 'x' was stopped before it was started"),
    (lambda: profiler.Event("x").stop(), RuntimeError, "Event 'x' was stopped before it was started"),
    (lambda: DOMAIN.new_marker("x").mark("here"), ValueError, "scope must be 'global', .* or 'marker', not 'here'"),
    (lambda: profiler.scope(3), TypeError, "name must be a string, not int"),
    (lambda: profiler.scope("x", 3), ValueError, "append_mode must be True or False, not 3"),
    (lambda: profiler.profiler_set_config("x"), ValueError, "mode must be 'symbolic', .* or 'all', not 'x'"),
])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_errors_name_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_refused_configuration_changes_nothing():
    run()
    with pytest.raises(ValueError, match="dump_period"):
        profiler.set_config(filename="other.json", dump_period=0, continuous_dump=True)
    work()
    profiler.dump()
    assert os.listdir() == ["profile.json"] and counts()["matmul"] == 1


def test_older_names():
    with pytest.warns(DeprecationWarning, match=r"profiler_set_config\(\) is deprecated: profiler.set_config\(\)"):
        profiler.profiler_set_config(mode="all", filename="old.json")
    with pytest.warns(DeprecationWarning, match="profiler_set_state"):
        profiler.profiler_set_state("run")
    work()
    with pytest.warns(DeprecationWarning, match="profiler_set_state"):
        profiler.profiler_set_state()
    with pytest.warns(DeprecationWarning, match="dump_profile"):
        profiler.dump_profile()
    assert of(saved("old.json"), "X", cat="task")
    profiler.set_kvstore_handle(None)
    with pytest.raises(AttributeError, match="not yet"):
        profiler.profiler_kvstore_handle  # noqa: B018


# ---- programs --------------------------------------------------------------------------------------------------------

def test_the_tutorials_program():
    """As MXNet's documentation has it, with pictures of its own."""
    profiler.set_config(profile_all=True, aggregate_stats=True, filename="profile_output.json")
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(channels=20, kernel_size=5, activation="relu"))
    net.add(gluon.nn.MaxPool2D(pool_size=2, strides=2))
    net.add(gluon.nn.Conv2D(channels=50, kernel_size=5, activation="relu"))
    net.add(gluon.nn.MaxPool2D(pool_size=2, strides=2))
    net.add(gluon.nn.Flatten())
    net.add(gluon.nn.Dense(512, activation="relu"))
    net.add(gluon.nn.Dense(10))
    rng = numpy.random.default_rng(28)
    dataset = gluon.data.ArrayDataset(rng.normal(size=(96, 1, 28, 28)).astype("f4"), rng.integers(0, 10, 96))
    dataloader = gluon.data.DataLoader(dataset, batch_size=16, shuffle=True)
    ctx = mx.cpu()
    net.collect_params().initialize(mx.init.Xavier(), ctx=ctx)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    softmax_cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()

    def run_training_iteration(data, label):
        data = data.as_in_context(ctx)
        label = label.as_in_context(ctx)
        with autograd.record():
            output = net(data)
            loss = softmax_cross_entropy(output, label)
        loss.backward()
        trainer.step(data.shape[0])

    itr = iter(dataloader)
    run_training_iteration(*next(itr))
    mx.nd.waitall()
    profiler.set_state("run")
    run_training_iteration(*next(itr))
    mx.nd.waitall()
    profiler.set_state("stop")
    once = counts()
    assert sum(name.startswith("conv") for name in once) and "matmul" in once and sum(once.values()) > 20
    profiler.set_state("run")
    profiler.pause()
    run_training_iteration(*next(itr))
    mx.nd.waitall()
    profiler.resume()
    assert counts() == once
    run_training_iteration(*next(itr))
    mx.nd.waitall()
    profiler.set_state("stop")
    both = counts()
    for name in ("convolution", "matmul", "maximum"):
        assert both[name] == 2 * once[name], name
    profiler.dump()
    assert "Profile Statistics:" in profiler.dumps() and len(of(saved("profile_output.json"), "X", cat="task")) > 20


def python(program, **environment):
    done = subprocess.run([sys.executable, "-c", program], env=clean_environment() | environment, capture_output=True,
                          text=True, timeout=HANG)
    return done.returncode, done.stdout, done.stderr


SORTS = "import dflow, dflow.numpy as np\nnp.sort(np.arange(100000)[::-1]).wait_to_read()\n"


def test_a_program_is_profiled_from_its_start():
    assert python(SORTS, MXNET_PROFILER_AUTOSTART="1") == (0, "", "")
    assert any(e["name"].startswith("sort") for e in of(saved(), "X", cat="task"))
    os.remove("profile.json")
    for text in ("0", "", "false"):
        assert python(SORTS, MXNET_PROFILER_AUTOSTART=text) == (0, "", "") and os.listdir() == []
    status, _, said = python(SORTS, MXNET_PROFILER_AUTOSTART="maybe")
    assert status == 1 and "MXNET_PROFILER_AUTOSTART must be True or False, not 'maybe'" in said


def test_what_was_not_dumped_is_at_the_end():
    program = "from dflow import profiler\nprofiler.set_state('run')\n" + SORTS
    assert python(program) == (0, "", "")
    assert of(saved(), "X", cat="task")
    os.remove("profile.json")
    assert python(f"{program}profiler.dump()\nimport os\nos.remove('profile.json')\n") == (0, "", "")
    assert os.listdir() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
def test_a_child_has_a_profile_of_its_own():
    program = f"""if True:
        import os, sys, warnings
        warnings.simplefilter("ignore")
        from dflow import profiler
        profiler.set_config(aggregate_stats=True, continuous_dump=True, dump_period=0.01)
        profiler.set_state("run")
        exec({SORTS!r})
        child = os.fork()
        if not child:
            exec({SORTS!r})
            assert "sort" not in profiler.dumps()
            profiler.set_config(filename="child.json", aggregate_stats=True)
            profiler.set_state("run")
            exec({SORTS!r})
            assert "sort" in profiler.dumps()
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    """
    assert python(program) == (0, "", "")
    assert [len([e for e in of(saved(name), "X", cat="task") if e["name"].startswith("sort")])
            for name in ("profile.json", "child.json")] == [1, 1]


# ---- the record in pieces --------------------------------------------------------------------------------------------

def test_each_event_is_in_one_piece():
    """While threads submit, and workers run: pieces have all that a whole record has, and no more."""
    done = threading.Event()
    submitted = []

    def submit():
        x = np.ones(1)
        for n in range(3000):
            x += 1
            if n % 100 == 0:
                x.wait_to_read()
        submitted.append(x)

    def look():
        while not done.is_set():
            pieces.extend(watch.read()[0])

    before = mx.engine.statistics()["queued"]
    watch, pieces = record.Watch(), []
    looker = threading.Thread(target=look)
    looker.start()
    with configured(bulk=0):
        in_threads(submit, submit)
    mx.waitall()
    done.set()
    looker.join(HANG)
    pieces.extend(watch.stop()[0])
    table, lost = numpy.concatenate([piece for piece, _ in pieces]), sum(lost for _, lost in pieces)
    numbers, all_of_them = table[table["what"] == record.SUBMITTED]["task"], mx.engine.statistics()["queued"] - before
    assert len(set(numbers.tolist())) == len(numbers) and all_of_them - lost <= len(numbers) <= all_of_them
    ran = table[table["what"] == record.RAN]["task"]
    assert len(set(ran.tolist())) == len(ran)
    assert len(pieces) > 2 and len(submitted) == 2


def test_events_that_two_pieces_have_are_in_the_first(monkeypatch):
    watch = record.Watch()
    late = numpy.zeros(3, record.EVENT)
    late["start"], late["stop"] = (1, 2, 3), events.now()
    late["what"] = record.RAN
    watch._seen, watch._until = late[:2], int(late["stop"][0])
    real = events.unwatch
    monkeypatch.setattr(events, "unwatch", lambda before: [*real(before), (late.tobytes(), 5)])
    ((table, lost),), _ = watch.stop()
    assert 3 in table["start"] and 1 not in table["start"] and lost == 5


def test_shares_of_a_group():
    with mx.engine.timeline() as timeline, Gate() as gate:
        y = gate.hold(np.ones(N)) * 2 + 1
        gate.open()
        y.wait_to_read()
    made = timeline.record
    kernels, seconds = made.durations()
    assert len(kernels) == len(made.tasks)
    assert seconds.sum() == pytest.approx(((made.ran["stop"] - made.ran["start"]) / 1e9).sum())
    assert len(made.left()) == 0
    file = io.StringIO()
    timeline.save(file)
    check_trace(json.loads(file.getvalue()))
