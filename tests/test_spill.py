"""Arrays on the disk, where there is no room in the budget: engine.spill()."""

import errno
import gc
import os
import random
import subprocess
import sys
import threading

import numpy
import pytest
from engines import HANG, Gate, clean_environment, configured, in_threads

import dflow
import dflow.numpy as np
from dflow import _engine, engine
from dflow._runtime import disk

pytestmark = [pytest.mark.core, pytest.mark.skipif(not disk.AVAILABLE, reason="Linux alone, and blocks of whole pages")]

MB = 1 << 20
N = MB // 8             # float64 of a megabyte


@pytest.fixture
def spilling(tmp_path):
    """The directory; what the tests before it left in memory does not count, but as much is live."""
    dflow.waitall()
    gc.collect()
    engine.trim()
    before = engine.set_memory_budget(engine.memory_stats()["live"] + 16 * MB)
    engine.spill(tmp_path)
    yield tmp_path
    engine.spill(None)
    engine.set_memory_budget(before)
    gc.collect()
    dflow.waitall()
    assert engine.memory_stats()["spilled"] == 0, "nothing of it is left"


def spilled():
    return engine.memory_stats()["spilled"]


def arrays(n, size=N):
    return [np.full(size, float(i)) for i in range(n)]


def test_more_than_the_budget(spilling):
    peak = engine.memory_stats()["budget"]
    xs = arrays(60)
    assert spilled() >= 40 * MB
    for _ in range(2):
        for i, x in enumerate(xs):
            assert float((x + 1).sum()) == N * (i + 1)
    for x in xs:
        x += 1
    for i, x in enumerate(xs):
        assert x[0] == i + 1 and x[-1] == i + 1
        numpy.testing.assert_array_equal(x[::1000], i + 1)
    dflow.waitall()
    assert engine.memory_stats()["live"] <= peak
    assert not os.listdir(spilling), "the file has no name"


@pytest.mark.parametrize("seed", range(6))
def test_programs_give_the_same_bits(spilling, seed):
    """Random programs over more arrays than fit: in place, views, slices, elements, copies, arrays that go."""
    draw = random.Random(seed)
    kind = numpy.dtype(draw.choice("fdDilq"))
    size = int(2 ** draw.uniform(16.2, 21)) // kind.itemsize      # what is smaller stays in memory
    count = 24 * MB // (size * kind.itemsize) + 3
    theirs = [numpy.random.default_rng(i).normal(0, 99, size).astype(kind) for i in range(count)]
    with configured(workers=draw.choice([1, 2, 4]), limit=draw.choice([0, 2000])):
        ours = [np.array(x) for x in theirs]
        for _ in range(150):
            i, j, k = (draw.randrange(count) for _ in range(3))
            at = draw.randrange(size)
            what = draw.randrange(9)
            for xs in ours, theirs:
                if what == 0:
                    xs[i] = (xs[j] * 0.5 + xs[k]).astype(kind)
                elif what == 1:
                    xs[i] += xs[j]
                elif what == 2:
                    xs[i][at:] = xs[j][:size - at]
                elif what == 3:
                    xs[i][at] = 3.5
                elif what == 4:
                    xs[i] = xs[j][::-1].copy()
                elif what == 5:
                    xs[i][:] = 0
                elif what == 6:
                    xs[i] = xs[j]               # what was there may go
                elif what == 7:
                    xs[i] = xs[i].reshape(1, -1)[0]
                else:
                    xs[i] -= xs[j].real.max().astype(kind)
            if what == 8 and draw.random() < 0.3:
                assert ours[i][at] == theirs[i][at]
        assert spilled() > 0
        for x, y in zip(ours, theirs, strict=True):
            numpy.testing.assert_array_equal(x, y)


def reads(xs):
    """How many of them are read from the disk."""
    with engine.timeline() as events:
        for x in xs:
            float(x.sum())
        dflow.waitall()
    return sum(event.name == "read from disk" for event in events)


def test_least_recently_used_first(spilling):
    xs = arrays(12)
    for x in xs[:4] + xs[8:]:
        (x + 0).wait_to_read()
    more = arrays(6)
    dflow.waitall()
    assert 2 * MB <= spilled() <= 8 * MB
    assert reads(more + xs[8:]) == 0 and reads(xs[4:6]) == 2


def test_what_is_pending_is_needed(spilling):
    """It leaves memory when its work is done, while the program waits for room."""
    with Gate() as gate:
        xs = arrays(4)
        pending = gate.hold(np.ones(1))
        held = [x + pending for x in xs]
        opener = threading.Timer(0.2, gate.open)
        opener.start()
        more = arrays(20)
        opener.join()
    for i, (x, y, z) in enumerate(zip(xs, held, more[:4], strict=True)):
        assert x[7] == i and z[7] == i and y[7] == i + 1


def test_arrays_that_go_while_they_are_written(spilling):
    for n in range(12, 32):
        xs = [np.full(N, float(n)) for _ in range(n)]
        del xs
    xs = arrays(40)
    assert [x[0] for x in xs] == list(range(40))


def test_memory_that_others_see_stays(spilling):
    x = np.arange(float(N))
    window = numpy.asarray(x)
    more = arrays(30)
    x[3] = -1
    assert window[3] == -1 and window[5] == 5
    window[4] = -2
    assert x[4] == -2
    del more
    y = np.arange(float(N))
    rest = arrays(30)
    assert spilled()
    window = numpy.asarray(y)                   # of what is on the disk
    window[9] = 4
    assert y[9] == 4 and y[10] == 10
    del rest


def test_cancelling_loses_nothing(spilling):
    xs = arrays(40)
    dflow.waitall()                     # what is pending of them would be cancelled, too
    for _ in range(5):
        pending = [x * 2 for x in xs[:8]]
        engine.cancel_all()
        del pending
        dflow.waitall()
    for i, x in enumerate(xs):
        assert x[1] == i and float(x.sum()) == N * i


def test_the_limit(spilling):
    engine.spill(spilling, 8 * MB)
    xs = []
    with pytest.raises(MemoryError, match=f"the limit of {8 * MB} bytes in {spilling}"):
        for i in range(100):
            xs.append(np.full(N, float(i)))
    assert 20 <= len(xs) <= 25 and 7 * MB <= spilled() <= 8 * MB
    for i, x in enumerate(xs):
        assert x[2] == i, "nothing is lost"
    del xs[::2]
    dflow.waitall()
    again = [np.full(N, 5.0) for _ in range(4)]
    assert all(float(x[2]) == 5 for x in again)
    assert [x[2] for x in xs] == list(range(1, 2 * len(xs), 2))


FULL_DISK = """
import resource, signal, sys
import dflow, dflow.numpy as np
from dflow import engine
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
engine.set_memory_budget(16 << 20)
engine.spill(sys.argv[1])
xs = [np.full(1 << 17, float(i)) for i in range(20)]
dflow.waitall()
resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, -1))
try:
    xs += [np.full(1 << 17, float(i)) for i in range(20, 60)]
except MemoryError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
assert all(x[9] == i for i, x in enumerate(xs)), "nothing is lost"
xs += [np.full(1 << 17, float(i)) for i in range(len(xs), 60)]
assert all(float(x.sum()) == i * (1 << 17) for i, x in enumerate(xs))
print("right", len(xs))
"""


def test_a_disk_that_is_full(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True,
                          timeout=HANG, env=clean_environment())
    assert done.returncode == 0, done.stderr
    assert os.strerror(errno.EFBIG) in done.stdout and str(tmp_path) in done.stdout
    assert done.stdout.endswith("right 60\n")


@pytest.mark.parametrize("dtype", ["?", "u1", "f2", "i4", "f4", "c8", "c16"])
def test_types_and_odd_sizes(spilling, dtype):
    """Also what is no whole number of pages."""
    rng = numpy.random.default_rng(0)
    sizes = MB // numpy.dtype(dtype).itemsize + rng.integers(1, 999, 40)
    wants = [(rng.random(n) * 200).astype(dtype) for n in sizes]
    xs = [np.array(want) for want in wants]
    dflow.waitall()
    assert spilled() > 10 * MB
    for x, want in zip(xs, wants, strict=True):
        assert x.dtype == dtype and x.asnumpy().tobytes() == want.tobytes()


def file_of(directory):
    """The descriptor of the file without a name."""
    for fd in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith(str(directory)):
                return int(fd)
        except OSError:
            pass
    raise AssertionError("there is no file")


@pytest.mark.parametrize("step", [1, -1])
def test_what_cannot_be_read_is_an_error_of_that(spilling, step):
    """In whichever order it is read, and its place in the file given up."""
    xs = arrays(60)
    dflow.waitall()
    engine.spill(None)                  # nothing makes it longer again
    engine.set_memory_budget(1 << 30)
    fd = file_of(spilling)
    os.ftruncate(fd, os.fstat(fd).st_size // 2)
    right = wrong = 0
    for i, x in [*enumerate(xs)][::step]:
        try:
            assert float(x.sum()) == N * i
            right += 1
        except OSError as error:
            assert error.errno == errno.EIO
            with pytest.raises(OSError):
                (x + 1).wait_to_read()
            x[:] = 7                    # what is written has no error
            assert float(x.sum()) == 7 * N
            wrong += 1
    assert right > 20 and wrong > 10


def test_a_child_of_fork_has_none_of_it(spilling):
    xs = arrays(40)
    dflow.waitall()
    there, back = os.pipe()
    child = os.fork()
    if not child:
        said = []
        for x in xs[0], xs[-1]:
            try:
                said.append(str(float(x[4])))
            except RuntimeError as error:
                said.append(str(error))
        del x, xs
        ys = [np.full(N, 3.0) for _ in range(5)]
        said.append(str([float(y[4]) for y in ys]))
        os.write(back, "\n".join(said).encode())
        os._exit(0)
    os.close(back)
    with os.fdopen(there) as pipe:
        said = pipe.read().split("\n")
    os.waitpid(child, 0)
    assert "on the disk of the process that forked" in said[0] and said[1:] == ["39.0", str([3.0] * 5)]
    for i, x in enumerate(xs):
        assert x[4] == i and float(x.sum()) == N * i


def test_threads_that_share_arrays(spilling):
    """Each adds to all of them; random delays."""
    xs = arrays(30)

    def work():
        draw = random.Random()
        for _ in range(60):
            xs[draw.randrange(30)] += 0
        for x in xs:
            x += 1
            assert float(x[draw.randrange(N)]) >= 0

    with configured(workers=2):
        _engine.set_delays(11, 200)
        try:
            in_threads(work, work, work)
        finally:
            _engine.set_delays(0, 0)
    for i, x in enumerate(xs):
        numpy.testing.assert_array_equal(x, i + 3)


def test_settings(spilling, tmp_path_factory):
    assert engine.spill(spilling, 3) == (str(spilling), None)
    assert engine.spill(None) == (str(spilling), 3)
    assert engine.spill(str(spilling)) == (None, None)
    for limit in 0, -1, 1.5, True, "1":
        with pytest.raises(ValueError, match=f"limit must be a positive int, not {limit!r}"):
            engine.spill(spilling, limit)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        engine.spill(spilling / "nowhere")
    with pytest.raises(TypeError):
        engine.spill(3)
    xs = arrays(40)
    other = tmp_path_factory.mktemp("other")
    with pytest.raises(RuntimeError, match=f"bytes of arrays are in {spilling} still"):
        engine.spill(other)
    engine.spill(None)
    assert [x[0] for x in xs[:8]] == list(range(8)), "without room they take more than the budget"
    del xs
    dflow.waitall()
    engine.spill(other)


def test_an_operation_of_more_than_the_budget(spilling):
    """It is done, as its operands are there: what the budget bounds is new arrays."""
    xs = arrays(14)
    total = xs[0] + 0
    many = np.stack(xs[:7])
    assert float(many.sum()) == N * 21 and float(total.sum()) == 0


SMALL = {       # what is computed in its caller, of a large array: for its result that very array may leave memory
    "index": lambda np, a: a[np.arange(1000) * 3],
    "mask": lambda np, a: a[:4000][a[:4000] % 5 == 0],
    "nonzero": lambda np, a: np.nonzero(a[:6000] > 3000)[0],
    "bincount": lambda np, a: np.bincount(np.arange(6000) % 700, a[:6000]),
    "cumsum": lambda np, a: np.cumsum(a[:700]),
    "stack": lambda np, a: np.stack([a[:1000], a[1000:2000]]),
    "repeat": lambda np, a: np.repeat(a[:600], 2),
    "copy": lambda np, a: a[:1200:2].copy(),
    "sort": lambda np, a: np.sort(a[:600]),
    "sum": lambda np, a: a[:900] + a[900:1800],
    "elements": lambda np, a: np.array([a[i] for i in range(0, 900, 7)] + [0.0] * 600),
}


@pytest.mark.parametrize("name", SMALL)
def test_an_operand_leaves_as_its_result_gets_memory(spilling, name):
    a, theirs = np.arange(float(N)), numpy.arange(float(N))
    a += 0
    expected = SMALL[name](numpy, theirs)
    dflow.waitall()
    kept, large = [], arrays(10)
    for k in range(2000):
        kept.append(SMALL[name](np, a))
        if k % 50 == 0:
            large[k // 50 % 10] += 1            # the others are older now, and a is the oldest
        if sum(x.nbytes for x in kept) > 8 * MB:
            kept.clear()
    for x in kept[::20]:
        numpy.testing.assert_array_equal(x, expected)
    numpy.testing.assert_array_equal(a, theirs)


@pytest.mark.parametrize("make", [np.empty, lambda size: np.empty_like(np.zeros(1), shape=(size, 1)).T[0]])
def test_empty_arrays_have_no_room_until_they_are_used(spilling, make):
    """Neither do they take any of the disk."""
    engine.spill(spilling, limit=4 * MB)
    before = engine.memory_stats()["live"]
    xs = [make(N) for _ in range(40)]
    assert spilled() > 20 * MB and engine.memory_stats()["live"] - before <= 16 * MB
    del xs[::2]
    assert 10 * MB < spilled() <= 20 * MB
    for i, x in enumerate(xs[:10]):
        x[...] = i
        x[1:2] = x[:1] + x[2:3]
    np.add(xs[1], 1, out=xs[10])
    assert [x[:3].tolist() for x in xs[:10]] == [[i, 2 * i, i] for i in range(10)] and xs[10].sum() == 2 * N + 1
    kept, xs = xs[1], []
    gc.collect()
    assert spilled() == 0 and kept[0] == 1


def test_outputs_made_before_all_else(spilling):
    """As many programs do: more of them than the budget, one filled after the other, by several threads."""
    def work():
        outs = [np.empty(N) for _ in range(15)]
        x = np.arange(N, dtype=float)
        for i, out in enumerate(outs):
            np.multiply(x, i, out=out)
        for i, out in enumerate(outs):
            assert float(out.sum()) == i * N * (N - 1) / 2
            out[5] = -1
        assert [float(out[5]) for out in outs] == [-1.0] * 15

    in_threads(work, work, work)


def test_an_array_larger_than_the_budget_comes_back(spilling):
    """Where the budget has shrunk: all else leaves."""
    x, others = np.arange(12 * N, dtype=float), arrays(4)
    filler = arrays(12)
    dflow.waitall()
    del filler
    before = engine.set_memory_budget(engine.memory_stats()["live"] + 2 * MB)
    try:
        assert float(x.sum()) == 6 * N * (12 * N - 1)
        assert float(others[3][0]) == 3
    finally:
        engine.set_memory_budget(before)


def test_what_numpy_sorts_stays_meanwhile(spilling):
    """Small views of large arrays, by NumPy's own functions, without the GIL."""
    lost = []

    def write():
        rng = numpy.random.default_rng(1)
        xs = arrays(10)
        for i in range(600):
            view, new = xs[i % 10][:4000], rng.random(4000)
            view[...] = new
            view.sort()
            lost.extend([i] * (view.tolist() != sorted(new)))
            (xs[i % 7] + 1).sum()

    def make():
        for _ in range(60):
            arrays(4)

    in_threads(write, make)
    assert not lost


@pytest.mark.parametrize("source", [
    lambda: numpy.arange(20 * N, dtype="f8").reshape(512, -1)[:, ::2], lambda: numpy.arange(10 * N, dtype="f4"),
    lambda: numpy.arange(10 * N, dtype=">f8")], ids=["strided", "cast", "swapped"])
def test_what_numpy_fills_stays_meanwhile(spilling, source):
    """Without the GIL: another thread that finds no room looks for what can leave."""
    source = source()
    wanted = source.astype("f8").tobytes()
    wrong = []

    def work():
        for _ in range(60):
            x = np.array(source, dtype="f8")
            wrong.extend([1] * (x.tobytes() != wanted))

    in_threads(work, work)
    assert not wrong


def test_a_child_writes_to_its_own(spilling):
    xs = arrays(40)
    dflow.waitall()
    assert spilled() > 10 * MB
    child = os.fork()
    if not child:
        try:
            for x in xs:
                x[:] = 777.0
            right = all(float(x[5]) == 777.0 and float(x[-1]) == 777.0 for x in xs)
        finally:
            os._exit(not right)
    assert os.waitpid(child, 0)[1] == 0
    for k, x in enumerate(xs):
        assert float(x[5]) == k and float(x.sum()) == k * N
