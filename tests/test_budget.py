"""The memory budget: a submitter waits for room, and is told when there will be none."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest
from engines import HANG, Gate, clean_environment, configured, in_threads, poll

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.core

MB = 1 << 20
N = MB // 8                                     # elements of an array of a megabyte


def live():
    return dflow.engine.memory_stats()["live"]


def waits():
    return dflow.engine.memory_stats()["waits"]


@pytest.fixture
def budget():
    """Sets the budget to so many bytes more than what is alive; at the end it is as before."""
    before = dflow.engine.memory_stats()["budget"]
    dflow.waitall()
    yield lambda nbytes: dflow.engine.set_memory_budget(live() + int(nbytes))
    dflow.engine.set_memory_budget(before)


# -- waiting for room ------------------------------------------------------------------------------

@pytest.mark.parametrize("workers", [1, 2, 8])
def test_a_blocked_submitter_is_woken_when_there_is_room(budget, workers):
    with configured(workers=workers, limit=0), Gate() as gate:
        x = np.ones(N)
        x.wait_to_read()
        budget(2.5 * MB)
        t = gate.hold(np.ones(2))[0] + x                # a megabyte, promised
        total = t.sum()
        u = t * 2                                       # another
        del t
        before, done = waits(), threading.Event()

        def submit():
            y = x + 1
            done.set()
            assert (y.asnumpy() == 2).all()

        def look():
            assert poll(lambda: waits() > before)
            assert not done.wait(0.05)
            gate.open()
            assert done.wait(HANG)

        in_threads(submit, look)
        assert total.item() == 2 * N and (u.asnumpy() == 4).all()


def test_the_thread_that_waits_for_room_runs_what_gives_it(budget):
    """The only worker is busy with a task that ends late: who waits for room computes."""
    with configured(workers=1, limit=0), Gate() as gate:
        x = np.ones(N)
        gate.hold()
        budget(3.2 * MB)
        y = x
        for _ in range(20):
            y = y + 1
        assert (y.asnumpy() == 21).all()
        gate.open()


@pytest.mark.parametrize("settings", [{}, {"limit": 0}, {"limit": 0, "bulk": 0}, {"limit": 0, "bulk": 64},
                                      {"limit": 0, "workers": 1},
                                      {"limit": 0, "workers": 8}, {"naive": True}])
def test_the_budget_is_never_exceeded(budget, settings):
    with configured(**settings):
        x = np.ones(N // 4)
        x.wait_to_read()
        budget(2 * MB)
        limit = dflow.engine.memory_stats()["budget"]
        began, stop, most = threading.Event(), threading.Event(), 0

        def sample():
            nonlocal most
            most = live()
            began.set()
            while not stop.is_set():
                most = max(most, live())
                time.sleep(0.0001)

        def work():
            assert began.wait(HANG)
            try:
                for k in range(150):
                    y = (x + k) * 2 - x
                    z = np.sort(y[::-1]) + 1
                    y += z
                    total = (y * 2).sum()
                    if k % 50 == 0:
                        assert total.item() == 2 * (N // 4) * (4 * k + 3)
            finally:
                stop.set()

        in_threads(work, sample)
        dflow.waitall()
        assert 0 < most <= limit + 1024                 # scalars and other small arrays are let through


def test_programs_of_many_steps_give_the_same_under_a_tight_budget(budget):
    start = numpy.random.default_rng(0).normal(size=20_000)

    def program(np, x):
        kept = []
        for k in range(60):
            x = x * 0.5 + x[::-1] * 0.25 - k
            t = np.where(x > 0, x, -x)
            x[1:] += t[:-1] * 0.125
            if k % 20 == 0:
                kept.append(x[:5] + t.max())
        return [x, *kept]

    expected = program(numpy, start.copy())
    for settings in ({"limit": 0}, {"limit": 0, "workers": 1}, {"limit": 0, "bulk": 0},
                     {"limit": 0, "workers": 6, "bulk": 64}):
        with configured(**settings):
            x = np.array(start)
            budget(6.2 * 160_000)
            for actual, value in zip(program(np, x), expected):
                assert actual.asnumpy().tobytes() == value.tobytes()
            del x, actual


def test_many_threads_under_a_small_budget(budget):
    with configured(limit=0, workers=3):
        x = np.ones(N // 8)
        x.wait_to_read()
        budget(2.5 * MB)                                # 20 arrays; each of 6 threads needs at most 3

        def work(k):
            for step in range(60):
                y = (x + k) * 2
                if step % 10 == k:
                    assert (y.asnumpy() == 2 * (1 + k)).all()

        in_threads(*(lambda k=k: work(k) for k in range(6)))


def test_threads_that_wait_for_room_and_threads_that_wait_for_values(budget):
    with configured(limit=0, workers=2):
        x = np.ones(N // 8)
        budget(3 * MB)
        y = np.zeros(N // 8)

        def add():
            for _ in range(100):
                y[...] = y + x

        def read():
            last = 0
            while last < 100:
                now = y.asnumpy()
                assert (now == now[0]).all() and now[0] >= last
                last = now[0]

        in_threads(add, read, read)


@pytest.mark.parametrize("limit", [None, 10 ** 12])
@pytest.mark.parametrize("kind", ["i8", "i4", "?"])
def test_places_that_change_while_their_result_waits_for_room(budget, kind, limit):
    """Each result is that of the places before or after, and none of what is beyond."""
    rows, columns, count = 64, 300, 40
    x = np.array(numpy.arange(rows)[:, None] * numpy.ones(columns))
    turns = [numpy.roll(numpy.arange(rows), turn)[:count] for turn in range(rows)]
    if kind == "?":
        turns = [numpy.isin(numpy.arange(rows), turn) for turn in turns]
    allowed = {tuple(numpy.arange(rows)[turn].tolist()) for turn in turns}
    turns = [turn.astype(kind) for turn in turns]
    places, stored, before = np.array(turns[0]), np.zeros(x.shape), waits()
    with configured(limit=limit, workers=2):
        budget(1.5 * MB)

        def fill():
            for _ in range(200):
                dflow.engine.sleep(np.ones(N // 3), 3e-4)

        def turn():
            for k in range(3000):
                places[:] = turns[k % rows]

        def take():
            for k in range(500):
                found = (x[places], x.take(places, 0), x[places, :])[k % 3] if kind != "?" else x[places]
                assert tuple(found[:, -1].asnumpy().astype(int).tolist()) in allowed
                stored[places] = found

        in_threads(fill, turn, take, take)
        assert {*stored[:, -1].tolist()} <= {*range(rows)} and waits() > before


def test_host_tasks_under_a_budget(budget):
    """They may go over it, as they could not wait; who submits them waits."""
    with configured(limit=0, workers=2):
        x = np.ones(N // 4)
        x.wait_to_read()
        budget(1.5 * MB)

        def double(a):
            t = np.array(a) * 2
            return (t + 0).asnumpy() if t.is_ready() else numpy.asarray(a) * 2

        total = 0
        for _ in range(40):
            y = dflow.submit(double, x, shape=(N // 4,), dtype="float64")
            total = total + y[0].item() + (y + 1).max().item()
        assert total == 40 * 5


def test_results_of_host_tasks_count(budget):
    with configured(limit=0, workers=2), Gate() as gate:
        x = gate.hold()
        budget(1.5 * MB)
        first = dflow.submit(lambda a: a[0], x, shape=(N,), dtype="float64")
        before, done = waits(), threading.Event()
        opener = threading.Thread(target=lambda: (poll(lambda: waits() > before), done.set(), gate.open()))
        opener.start()
        with pytest.raises(MemoryError):                # when `first` is done, it is the user's
            dflow.submit(lambda a: a[0], x, shape=(N,), dtype="float64")
        opener.join(HANG)
        assert done.is_set() and not first.asnumpy().any()


def whole(x):
    x += 1


def first(x):               # after many of these comes a fence, a task as well
    x[:1] += 1


@pytest.mark.parametrize("bulk", [0, 32])
@pytest.mark.parametrize("write", [whole, first])
@pytest.mark.parametrize("phase", [0, 1, 40])
def test_who_only_writes_in_place_is_bounded_too(budget, bulk, write, phase):
    """It allocates nothing, but each of its pending tasks takes 200 bytes: they may take half of the budget."""
    turns, ended = 40_960, threading.Event()

    def submit():
        for _ in range(turns):
            write(x)
        ended.set()

    with configured(bulk=bulk, limit=0), Gate() as gate:
        other = np.zeros(2)
        for _ in range(phase):
            other += 1
        x = gate.hold(np.zeros(2))
        budget(4 * MB)
        before = waits()
        thread = threading.Thread(target=submit)
        thread.start()
        assert poll(lambda: waits() > before)
        assert 10_000 < dflow._engine.live()["tasks"] < 16_000 and not ended.is_set()
    thread.join()
    assert x[0] == turns


def test_what_is_interrupted_while_it_waits_for_others_to_end_is_not_done():
    x, done = np.zeros(2), 0

    def handler(*args):
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with configured(budget=4 * MB), Gate() as gate:
            x = gate.hold(x)
            signal.setitimer(signal.ITIMER_REAL, 1)
            with pytest.raises(InterruptedError):
                while True:
                    x += 1
                    done += 1
            assert dflow._engine.live()["tasks"] == done + 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert x.tolist() == [done, done]


# -- no room to come -------------------------------------------------------------------------------

@pytest.mark.parametrize("settings", [{}, {"limit": 0}, {"naive": True}])
def test_what_is_larger_than_the_budget_raises_at_once(budget, settings):
    with configured(workers=2, **settings), Gate() as gate:
        if not settings.get("naive"):
            gate.hold()                                 # what is pending does not matter
        x = np.ones((1, 1000), dtype="float32")
        budget(MB)
        for make in (lambda: x + np.ones((1000, 1), dtype="float32"), lambda: np.zeros((1000, 1000), dtype="float32"),
                     lambda: np.empty((1000, 1000), dtype="float32"), lambda: np.broadcast_to(x, (1000, 1000)).copy()):
            with pytest.raises(MemoryError) as caught:
                make()
            text = str(caught.value)
            for part in ("(1000, 1000)", "float32", "4000000 bytes", "set_memory_budget"):
                assert part in text
        assert (x + 1).tolist() == [[2] * 1000]


def test_a_budget_that_is_full_of_the_users_own_arrays(budget):
    with configured(limit=0, workers=2):
        budget(4.5 * MB)
        kept = [np.full(N, k) for k in range(4)]
        for _ in range(3):
            with pytest.raises(MemoryError, match=re.escape(f"({N},)")):
                kept[0] + kept[1]
        assert [a[5].item() for a in kept] == [0, 1, 2, 3]
        del kept[3]
        assert ((kept[0] + kept[2]).asnumpy() == 2).all()


def test_a_failed_operation_leaves_its_operands_as_they_were(budget):
    with configured(limit=0):
        x, y = np.ones(N), np.full(N, 2.0)
        budget(0.5 * MB)
        with pytest.raises(MemoryError):
            np.divmod(x, y)
        with pytest.raises(MemoryError):
            x[1:] += x[:-1] * 2
        with pytest.raises(MemoryError):
            np.sort(x)
        x += y                                          # needs no room
        assert (x.asnumpy() == 3).all() and (y.asnumpy() == 2).all()


def test_a_budget_below_what_is_alive(budget):
    with configured(limit=0):
        x = np.ones(N)
        y = x + 1
        budget(-MB)
        with pytest.raises(MemoryError):
            x + 1
        assert (y.asnumpy() == 2).all() and x[:3].tolist() == [1] * 3
        budget(8 * MB)
        assert ((x + y).asnumpy() == 3).all()


def test_small_arrays_need_no_room(budget):
    x = np.ones(3)
    budget(-1)
    assert (x + 1).tolist() == [2] * 3 and np.zeros(10).sum().item() == 0


# -- room beside other pending work ----------------------------------------------------------------

def in_time(function, gate):
    """The function, in a thread; False when it hangs. The gate opens then, so that everything ends."""
    errors = []

    def guarded():
        try:
            function()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    thread.join(3)
    hangs = thread.is_alive()
    gate.open()
    thread.join(HANG)
    assert not errors, errors
    return not hangs


def test_room_is_used_while_something_else_is_pending(budget):
    """Nothing that the submitter waits for has to do with the gate."""
    with configured(limit=0, workers=2), Gate() as gate:
        x = np.ones(N)
        x.wait_to_read()
        gate.hold()
        budget(3.5 * MB)                                # y of the last turn, and two of this one

        def work():
            for k in range(20):
                y = (x + k) * 2
            assert (y.asnumpy() == 40).all()

        assert in_time(work, gate)


def test_one_large_result_is_let_in_while_something_else_is_pending(budget):
    """Of a budget of 8 MB, seven and a half: there is room as soon as the others are gone."""
    with configured(limit=0, workers=2), Gate() as gate:
        dflow.waitall()
        gate.hold()
        budget(8 * MB)

        def work():
            total = (dflow.engine.sleep(np.ones(N), 0.05) + 1).sum()
            y = np.zeros(15 * N // 2)
            assert total.item() == 2 * N and not y[:5].asnumpy().any()

        assert in_time(work, gate)


def test_a_budget_nearly_full_of_live_arrays_while_something_else_is_pending(budget):
    """The last hundredth of the budget is enough for those that are small."""
    with configured(limit=0, workers=2), Gate() as gate:
        kept = np.ones(10 * N)
        kept.wait_to_read()
        x = np.ones(N // 8)
        x.wait_to_read()
        gate.hold()
        dflow.engine.set_memory_budget(live() + MB // 2)

        def work():
            y = x
            for _ in range(30):
                y = np.sort(y + 1)
            assert (y.asnumpy() == 31).all()

        assert in_time(work, gate)
        del kept


# -- Ctrl-C ----------------------------------------------------------------------------------------

def test_ctrl_c_while_waiting_for_room():
    program = textwrap.dedent("""
        import dflow, time
        import dflow.numpy as np
        dflow.engine.set_num_workers(2)
        x = np.ones(100_000)
        x.wait_to_read()
        y = dflow.engine.sleep(x, 1.5)
        dflow.engine.set_memory_budget(dflow.engine.memory_stats()["live"] + 100_000)
        print("blocks", flush=True)
        start = time.monotonic()
        try:
            x + 1
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - start < 1.2, flush=True)
        dflow.engine.set_memory_budget(1 << 40)
        print((x + 1).sum().item(), y.sum().item())
    """)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=clean_environment())
    try:
        assert process.stdout.readline() == "blocks\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, "interrupted True\n200000.0 100000.0\n", "")


# -- controls --------------------------------------------------------------------------------------

@pytest.mark.parametrize("join", [lambda x: np.roll(x, 1), lambda x: np.append(x, 1.0), lambda x: np.append([1.0], x)])
def test_fresh_memory_is_not_taken_long_before_the_work(join):
    """Else each of many results that are let go has memory of its own, where they could take turns."""
    x = np.arange(float(N))
    with configured(workers=1), Gate() as gate:
        held = gate.hold()
        before = dflow.engine.statistics()["inline"]
        joined = join(x)
        assert dflow.engine.statistics()["inline"] == before
        gate.open()
        numpy.testing.assert_array_equal(joined.asnumpy(), join(x.asnumpy()))
        held.wait_to_read()


def test_the_default_comes_from_the_machines_memory():
    program = "import dflow; print(dflow.engine.memory_stats()['budget'], dflow.engine.config()['memory_budget'])"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                         env=clean_environment(), timeout=HANG).stdout
    default, configured_ = map(int, out.split())
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [total]
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(name) as file:
                limits.append(int(file.read()))
        except (OSError, ValueError):
            pass
    assert default == configured_ == min(limits) // 5 * 4 and 0 < default < total


def test_set_memory_budget_returns_what_was(budget):
    before = dflow.engine.memory_stats()["budget"]
    assert dflow.engine.set_memory_budget(5 * MB) == before
    assert dflow.engine.set_memory_budget(10 ** 40) == 5 * MB
    assert dflow.engine.memory_stats()["budget"] >= 1 << 60


@pytest.mark.parametrize("bad", [0, -1, 1.5, 2.0, "1 GB", None, [1], True, numpy.float64(3)])
def test_budgets_that_are_none(bad):
    before = dflow.engine.memory_stats()["budget"]
    try:
        with pytest.raises((ValueError, TypeError), match="nbytes must be a positive int"):
            dflow.engine.set_memory_budget(bad)
        assert dflow.engine.memory_stats()["budget"] == before
    finally:
        dflow.engine.set_memory_budget(before)


@pytest.mark.parametrize("bad", [-1, 513, 10 ** 30, 2.5, "2", [1]])
def test_bulks_that_are_none(bad):
    before = dflow.engine.bulk()
    try:
        with pytest.raises((ValueError, TypeError)):
            dflow.engine.bulk(bad)
        assert dflow.engine.bulk() == before
    finally:
        dflow.engine.bulk(before)


def test_bulk_returns_what_was():
    before = dflow.engine.bulk()
    try:
        assert dflow.engine.bulk(5) == before
        assert dflow.engine.bulk() == dflow.engine.config()["bulk"] == 5
        assert dflow.engine.bulk(0) == 5
        assert dflow.engine.bulk(64) == 0
    finally:
        dflow.engine.bulk(before)


def test_bulk_closes_the_open_group():
    with configured(limit=0, workers=1), Gate() as gate:
        gate.hold()
        x = np.ones(4) + 1
        dflow.engine.bulk(2)
        y = x * 3 + 1
        gate.open()
        assert y.tolist() == [7] * 4 and x.tolist() == [2] * 4


def test_memory_stats_add_up():
    dflow.waitall()
    before = dflow.engine.memory_stats()
    assert set(before) == {"budget", "live", "held", "cached", "peak", "waits", "spilled"}
    x = np.ones(N)
    x.wait_to_read()
    stats = dflow.engine.memory_stats()
    assert stats["live"] == before["live"] + MB
    assert 0 <= stats["cached"] <= stats["held"] <= stats["peak"]
    del x
    assert live() == before["live"]


def test_kept_blocks_go_when_the_budget_is_lowered(budget):
    x = np.ones(20 * N)
    x.wait_to_read()
    del x
    dflow.waitall()
    budget(3 * MB)
    for n in (N, N // 2, N // 3, N // 4):
        np.ones(n).wait_to_read()
    stats = dflow.engine.memory_stats()
    assert stats["held"] <= max(stats["budget"], stats["held"] - stats["cached"]) + 3 * MB


@pytest.mark.parametrize("text", ["x.sort(axis=0)", "r = x.argmax(0)", "r = x.argmin(0)"])
def test_rows_for_whose_copies_there_is_no_memory(text):
    program = f"""
import resource, dflow, dflow.numpy as np
x = np.ones((1 << 23, 2))       # 64 MB a column: more than a thread's arena may have reserved
np.sort(np.ones((9, 3)), 0), np.ones((9, 3)).argmax(0)
dflow.waitall()
used = 4096 * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20),) * 2)
try:
    {text}
    dflow.waitall()
except MemoryError:
    print("no memory")
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                         env=clean_environment(), timeout=HANG)
    assert out.stderr == "", "both pieces fail, and that is one error"
    assert out.stdout == "no memory\n", out.stderr


def test_bulk_as_a_context():
    """The limit holds from the call on, and the one before comes back, also after an error or in one another."""
    before = dflow.engine.bulk()
    with dflow.engine.bulk(10) as old:
        assert old == before and dflow.engine.bulk() == 10
        with pytest.raises(ZeroDivisionError), dflow.engine.bulk(3):
            assert dflow.engine.bulk() == 3
            raise ZeroDivisionError
        assert dflow.engine.bulk() == 10
        x = np.ones(10)
        for _ in range(100):
            x += 1
    assert dflow.engine.bulk() == before and x.tolist() == [101] * 10
    assert dflow.engine.set_bulk_size(5) == before and dflow.engine.set_bulk_size(before) == 5
    with pytest.raises(ValueError, match="n must be between 0 and"):
        dflow.engine.bulk(-1)
