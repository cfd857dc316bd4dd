"""Arrays over files: np.memmap, np.load(mmap_mode=...): pending like others, not counted, in order with flush()."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest
from engines import Gate, clean_environment, configured, queueing

import dflow
import dflow.numpy as np
from dflow.engine import memory_stats

pytestmark = pytest.mark.core

N = 4000


@pytest.fixture
def path(tmp_path):
    """A file of N float64, 0, 1, 2 ..."""
    numpy.arange(float(N)).tofile(tmp_path / "numbers")
    return tmp_path / "numbers"


def on_disk(path):
    return numpy.fromfile(path)


# -- what it is ------------------------------------------------------------------------------------

def test_it_is_numpys_to_look_at(path):
    for keywords in ({}, {"mode": "r"}, {"mode": "readonly", "dtype": "i2"},
                     {"offset": 16, "shape": (2, 3), "dtype": float}, {"offset": 8192, "dtype": "c16"},
                     {"mode": "c", "dtype": "f4", "shape": 6, "order": "F"},
                     {"shape": [4, 5], "order": "F", "dtype": "u1"}):
        ours, theirs = np.memmap(path, **keywords), numpy.memmap(path, **keywords)
        assert type(ours) is np.memmap and isinstance(ours, np.ndarray) and isinstance(ours, dflow.ndarray)
        for name in ("shape", "strides", "dtype", "filename", "offset", "mode", "nbytes", "__array_priority__"):
            assert getattr(ours, name) == getattr(theirs, name), name
        for flag in ("writeable", "owndata", "c_contiguous", "f_contiguous"):
            assert ours.flags[flag.upper()] == theirs.flags[flag.upper()], flag
        assert ours.tolist() == theirs.tolist() and repr(ours) == repr(theirs)
    assert isinstance(theirs, np.memmap) and not isinstance(np.ones(3), np.memmap)
    assert issubclass(numpy.memmap, np.memmap) and issubclass(np.memmap, np.ndarray) and np.memmap.__name__ == "memmap"
    assert pickle.loads(pickle.dumps(np.memmap)) is np.memmap


def test_views_are_maps_and_results_are_not(path):
    x = np.memmap(path, float, shape=(40, 100))
    for view in (x[3], x[2:5], x[:, 1], x.T, x.reshape(-1), x[::2, ::-1], x.ravel(), x.view("i8"), x[..., None],
                 x[1:][2]):
        assert type(view) is np.memmap and view.filename == x.filename and view.mode == "r+", view.shape
        view.flush()
    for result in (x + 1, x.sum(0), x.copy(), x.astype("f4"), x[[1, 2]], x[x > 3], np.sort(x), x.view(np.ndarray),
                   copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), np.concatenate([x, x]), np.array(x)):
        assert type(result) is np.ndarray
    assert x[1, 1] == 101 and not isinstance(x[1, 1], np.memmap) and isinstance(x.sum(), numpy.floating)
    x.shape = (100, 40)
    assert type(x) is np.memmap and x.offset == 0
    x += 1
    assert type(x) is np.memmap
    y = np.add(x, 1, out=x)
    assert y is x and x[0, 0] == 2


def test_a_subclass_is_one_of_numpys(path):
    class Mine(np.memmap):
        pass

    x = Mine(path, float, "r")
    assert type(x) is Mine and isinstance(x, numpy.memmap) and isinstance(x, np.memmap) and x[3] == 3


@pytest.mark.parametrize("dtype, offset", [(">f8", 0), ("S8", 0), ([("a", "i4"), ("b", "f4")], 0), (float, 1)])
def test_what_dflow_does_not_hold_is_numpys(path, dtype, offset):
    x = np.memmap(path, dtype, "r", offset, shape=3)
    assert type(x) is numpy.memmap and isinstance(x, np.memmap)


def test_open_files_and_files_without_a_name(path, tmp_path):
    import tempfile

    with open(path, "r+b") as file:
        x = np.memmap(file, float, "r+")
    x[0] = 7
    x.flush()
    assert x.filename == str(path) and on_disk(path)[0] == 7
    with tempfile.TemporaryFile(dir=tmp_path) as file:
        x = np.memmap(file, "i4", "w+", shape=(3, 3))
        x[1] = 5
        x.flush()
        file.seek(0)
        assert x.filename is None and numpy.frombuffer(file.read(), "i4").sum() == 15
    assert x.sum() == 15
    empty = np.memmap(tmp_path / "empty", float, "w+", shape=0)
    assert empty.shape == (0,) and (empty + 1).sum() == 0 and type(empty) is np.memmap
    assert np.memmap(tmp_path / "one", float, "w+", shape=())[()] == 0


# -- what is read and written ----------------------------------------------------------------------

def test_operations_are_pending(path):
    x = np.memmap(path, float, "r+")
    with Gate() as gate:
        x[:] = gate.hold(x) + 1
        y = x * 2 + 1
        x[:10] = 0
        assert not x.is_ready() and not y.is_ready()
        gate.open()
        assert y[5] == 13 and x[5] == 0 and x[10] == 11
    x.flush()
    assert on_disk(path).tolist() == [0] * 10 + list(range(11, N + 1))


def test_a_chain_over_a_map_is_fused(path):
    x = np.memmap(path, float, "r")
    with configured(limit=0), Gate() as gate:
        k = gate.hold(np.ones(1))
        stored = dflow.engine.statistics()["bytes_never_stored"]
        y = (x * k + 1) / 3
        gate.open()
        numpy.testing.assert_array_equal(y.asnumpy(), (numpy.arange(float(N)) + 1) / 3)
        assert dflow.engine.statistics()["bytes_never_stored"] - stored == 2 * 8 * N


def test_writes_of_a_group_are_stored_though_nobody_has_the_map(path):
    """Its last view ends in a host task, which does not wait."""
    with configured(limit=0), Gate() as gate:
        kept = [np.memmap(path, float, "r+")]
        kept[0][:] = (gate.hold(kept[0]) + 1) * 2
        kept[0] += 1                                        # of the same group
        done = dflow.submit(lambda: kept.clear(), shape=(), dtype=float)
        gate.open()
        dflow.waitall()
        del done
    gc.collect()
    assert on_disk(path)[:3].tolist() == [3, 5, 7]


def test_the_last_reference_waits_for_the_writes(path):
    for how in (lambda x: x, lambda x: x[5:], lambda x: x.T[::-1]):
        with Gate() as gate:
            x = np.memmap(path, float, "r+")
            view = how(x)
            x[:] = gate.hold(np.ones(N)) * 3
            del x                                           # view is left
            timer = threading.Timer(0.05, gate.open)
            timer.start()
            del view
            assert (on_disk(path) == 3).all()
            timer.join()
        numpy.arange(float(N)).tofile(path)


def test_flush_raises_what_failed_before_it(path):
    x = np.memmap(path, float, "r+", shape=4)
    with configured(limit=0):
        x[:] = np.linalg.inv(np.zeros((2, 2))).ravel()
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            x.flush()


def test_nothing_is_lost_at_exit(path):
    program = """
        import sys, dflow.numpy as np, dflow
        x = np.memmap(sys.argv[1], float, "r+")
        x += dflow.engine.sleep(np.ones(len(x)), 0.2)
        y = np.memmap(sys.argv[1] + "2", float, "w+", shape=3)
        def late():
            y[:] = dflow.engine.sleep(np.ones(3), 0.2)
        late()
        sys.kept = y
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), path], env=clean_environment(), check=True,
                          capture_output=True, text=True)
    assert done.stderr == ""
    assert on_disk(path).tolist() == list(range(1, N + 1)) and on_disk(f"{path}2").tolist() == [1, 1, 1]


def test_to_read_only(path):
    x = np.memmap(path, float, "r")
    for write in (lambda: x.__setitem__(0, 1), lambda: x.__iadd__(1), lambda: np.add(x, 1, out=x), lambda: x.sort(),
                  lambda: x.setflags(write=True), lambda: x[1:].fill(3)):
        with pytest.raises(ValueError, match="read-only|WRITEABLE"):
            write()
    x.flush()


def test_copy_on_write(path):
    x = np.memmap(path, float, "c")
    x *= 2
    x.flush()
    assert x[3] == 6
    del x
    assert on_disk(path)[3] == 3


def test_a_new_file_and_a_longer_one(path):
    x = np.memmap(path, "i4", "w+", shape=(3, 2), order="F")
    x[:] = np.arange(6).reshape(3, 2)
    del x
    assert numpy.fromfile(path, "i4").tolist() == [0, 2, 4, 1, 3, 5]
    x = np.memmap(path, "i4", "r+", shape=8)
    assert x.tolist() == [0, 2, 4, 1, 3, 5, 0, 0]


def test_numpy_sees_it_and_then_it_is_pinned(path):
    x = np.memmap(path, float, "r+")
    with queueing():
        x[:] = np.full(N, 2.0) + 1
        seen = numpy.asarray(x)
        assert seen[5] == 3
        x += 1
        assert seen[5] == 4
        seen[6] = -1
        assert (x * 2)[6] == -2
    assert numpy.shares_memory(x, seen) and memoryview(x)[6] == -1


def test_an_open_map_is_not_closed(path):
    """NumPy's may be, and ends the process when it is looked at."""
    x = np.memmap(path, float, "r+")
    memory = x._mmap
    with pytest.raises(BufferError):
        memory.close()
    del x
    gc.collect()
    memory.close()


# -- two maps --------------------------------------------------------------------------------------

def test_two_maps_of_one_file(path):
    """What one writes the other sees, though they are of different memory."""
    with queueing():
        x = np.memmap(path, float, "r+")
        with Gate() as gate:
            x[:] = gate.hold(x) + 1
            threading.Timer(0.05, gate.open).start()
            y = np.memmap(path, float, "r", offset=8)
        for k in range(20):
            assert y[5] == x[6] == 7 + k
            x += 1
        other = np.memmap(path, float, "r+", shape=3)
        other[:] = -1
        assert x[:3].tolist() == [-1] * 3


def test_a_file_that_is_read_is_not_cut_under_it(path):
    with Gate() as gate:
        y = gate.hold(np.memmap(path, float, "r")) + 1          # pending, and the map is gone but for it
        threading.Timer(0.05, gate.open).start()
        np.memmap(path, float, "w+", shape=2)[:] = 5
    assert y[N - 1] == N and on_disk(path).tolist() == [5, 5]


def test_a_map_after_another_one_is_asynchronous(path):
    """Though the last write to that ends in this very moment."""
    for k in range(50):
        with configured(limit=0):
            x = np.memmap(path, float, "r+")
            x[:] = np.full(N, k) + 1
            del x
            y = np.memmap(path, float, "r+")
            with Gate() as gate:
                z = gate.hold(np.ones(N)) + y
                assert not z.is_ready()
                gate.open()
                assert z[5] == k + 2
            del y, z


def test_two_maps_to_read_are_asynchronous(path):
    x, y = np.memmap(path, float, "r"), np.memmap(path, float, "r")
    with Gate() as gate:
        z = gate.hold(x + y) + x
        assert not z.is_ready()
        gate.open()
        assert z[2] == 6


def test_many_threads_open_one_file(path):
    """Maps come and go in each, while others write elsewhere in the file."""
    wrong, n = [], N // 8

    def work(k):
        for i in range(60):
            x = np.memmap(path, float, "r+", offset=8 * n * k, shape=n)
            x += 1
            if i % 3 == 0:
                del x
                x = np.memmap(path, float, "r", offset=8 * n * k, shape=n)
            if (x - numpy.arange(n * k, n * k + n)).tolist() != [i + 1] * n:
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and on_disk(path).tolist() == list(range(60, N + 60))


@pytest.mark.parametrize("settings", [{"naive": True}, {"limit": 0}, {"bulk": 0}, {"workers": 1}])
def test_settings(path, settings):
    with configured(**settings):
        x = np.memmap(path, float, "r+")
        x *= 2
        x[1:] -= x[:-1]
        x.wait_to_read()                # who opens a file waits for what is to be written to it, as no task may
        opened = dflow.submit(lambda: np.memmap(path, float, "c", shape=2).asnumpy(), shape=(2,), dtype=float)
        assert opened.tolist() == [0, 2]
        x.sort()
        del x
    assert on_disk(path)[:3].tolist() == [0, 2, 2]


# -- files of arrays -------------------------------------------------------------------------------

def test_load_maps_a_file(tmp_path):
    path = tmp_path / "a.npy"
    for order in "CF":
        given = numpy.arange(12.0).reshape(3, 4).copy(order)
        numpy.save(path, given)
        for mode in ("r", "r+", "c"):
            x = np.load(path, mmap_mode=mode)
            assert type(x) is np.memmap and x.mode == mode and x.tolist() == given.tolist()
            assert x.strides == given.strides and x.flags.writeable == (mode != "r") and x.filename == str(path)
    x = np.load(str(path), "r+")
    x[0] = -1
    x.flush()
    assert numpy.load(path)[0].tolist() == [-1] * 4
    numpy.save(path, numpy.array(["a"]))
    assert type(np.load(path, mmap_mode="r")) is numpy.memmap
    np.savez(tmp_path / "b.npz", a=given)
    with np.load(tmp_path / "b.npz", mmap_mode="r") as archive:             # NumPy's are not mapped, either
        assert type(archive["a"]) is np.ndarray


def test_open_memmap(tmp_path):
    import dflow.numpy.lib.format as format

    path = tmp_path / "a.npy"
    x = np.lib.format.open_memmap(path, "w+", "f4", (2, 3), fortran_order=True)
    assert format.open_memmap is np.lib.format.open_memmap and format.magic(1, 0) == numpy.lib.format.magic(1, 0)
    x[:] = np.arange(6).reshape(2, 3)
    del x
    assert numpy.load(path).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert type(format.open_memmap(path)) is np.memmap


@pytest.mark.parametrize("call, error, text", [
    (lambda np, p: np.memmap(p, mode="x"), ValueError, "mode must be one of"),
    (lambda np, p: np.memmap(p + "no", mode="r"), FileNotFoundError, "numbersno"),
    (lambda np, p: np.memmap(p, mode="w+"), ValueError, "shape must be given"),
    (lambda np, p: np.memmap(p, float, "r", shape=N + 1), ValueError, "mmap length is greater than file size"),
    (lambda np, p: np.memmap(p, "f8", "r", offset=3), ValueError, "not a multiple of the data-type size"),
    (lambda np, p: np.memmap(p, "f8", "r", shape=-3), OverflowError, "must be positive"),
    (lambda np, p: np.memmap(p, "nonsense"), TypeError, "nonsense"),
    (lambda np, p: np.memmap(p, shape="a"), TypeError, None),
    (lambda np, p: np.memmap(), TypeError, None),
    (lambda np, p: np.memmap(p, nonsense=3), TypeError, "nonsense")])
def test_errors_are_numpys(path, call, error, text):
    for module in (numpy, np):
        with pytest.raises(error, match=text) as raised:
            call(module, str(path))
        if module is np and error is not TypeError:
            assert str(path) in str(raised.value)


# -- the budget ------------------------------------------------------------------------------------

@pytest.fixture
def budget():
    before = memory_stats()["budget"]
    dflow.waitall()
    yield lambda nbytes: dflow.engine.set_memory_budget(memory_stats()["live"] + nbytes)
    dflow.engine.set_memory_budget(before)


def test_a_map_is_not_counted(path):
    live = memory_stats()["live"]
    x = np.memmap(path, float, "r+")
    assert memory_stats()["live"] - live < 1024
    del x
    assert memory_stats()["live"] == live


BUDGET = 4 << 20


@pytest.fixture
def large(tmp_path):
    """A file of four times the budget, and its numbers."""
    values = numpy.random.default_rng(3).normal(3, 2, BUDGET // 2)
    values.tofile(tmp_path / "large")
    return tmp_path / "large", values


def test_a_program_over_a_file_larger_than_the_budget(budget, large):
    path, values = large
    for settings in ({}, {"workers": 1}, {"workers": 4}, {"limit": 0}):
        with configured(**settings):
            x = np.memmap(path, float, "r")
            dflow.engine.trim()
            budget(BUDGET)
            before = memory_stats()["held"]
            total = ((x - x.mean()) / x.std()).sum()
            rows = x.reshape(-1, 1024)
            most = (rows * 2 - rows.mean(axis=0)).max(axis=1)
            assert abs(total.item()) < 1e-6
            expected = values.reshape(-1, 1024)
            expected = (expected * 2 - expected.mean(axis=0)).max(axis=1)
            numpy.testing.assert_allclose(most.asnumpy(), expected)
            assert memory_stats()["held"] - before <= BUDGET, settings
            del x, rows, most, total


def test_results_without_room_lie_beside_the_file(budget, large):
    path, values = large
    x = np.memmap(path, float, "r")
    budget(BUDGET)
    y = np.sort(x)                                          # no temporary of a chain: it has to be somewhere
    z = y[::-1] + 1
    del x
    z[:5] = 0
    numpy.testing.assert_array_equal((z * 2).asnumpy(), numpy.append([0] * 5, numpy.sort(values)[::-1][5:] + 1) * 2)
    assert os.listdir(path.parent) == [path.name] and memory_stats()["live"] < memory_stats()["budget"]
    del y, z
    gc.collect()
    with pytest.raises(MemoryError, match="budget"):
        np.zeros(len(values))
    mapped = np.memmap(path, float, "r")
    with pytest.raises(MemoryError, match="Unable to allocate"):
        np.zeros(1 << 50)                                   # nor has the disk
    with pytest.raises(MemoryError, match="Unable to allocate"):
        np.zeros((1 << 40, 100), "f8")
    del mapped


def test_a_result_in_a_map(budget, large, tmp_path):
    path, values = large
    x = np.memmap(path, float, "r")
    budget(BUDGET)
    y = np.memmap(tmp_path / "out", float, "w+", shape=len(x))
    np.multiply(x, 2, out=y)
    y += 1
    del y
    numpy.testing.assert_array_equal(on_disk(tmp_path / "out"), values * 2 + 1)
