"""Memory of others: arrays over buffers, NumPy arrays and DLPack's, seen and written to from both sides, in order."""

import array
import ctypes
import gc
import mmap
import multiprocessing
import pickle
import threading
import warnings
from multiprocessing import shared_memory

import numpy
import pytest
from engines import configured, queueing

import dflow
import dflow.numpy as np
from dflow.engine import memory_stats

pytestmark = pytest.mark.core

N = 600


def make(kind):
    """Something with room for N float64, and NumPy's way to see it."""
    if kind == "mmap":
        made = mmap.mmap(-1, 8 * N)
    elif kind == "array":
        made = array.array("d", [0.0] * N)
    elif kind == "ctypes":
        made = (ctypes.c_double * N)()
    elif kind == "multiprocessing":
        made = multiprocessing.RawArray("d", N)
    elif kind == "with a lock":
        made = multiprocessing.Array("d", N).get_obj()
    else:
        made = {"bytearray": bytearray, "numpy": lambda n: numpy.zeros(n // 8)}[kind](8 * N)
    return made, numpy.frombuffer(made)


KINDS = ("bytearray", "mmap", "array", "ctypes", "multiprocessing", "with a lock", "numpy")


@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_see_what_is_written(kind):
    """Operations of all kinds, now and as tasks, between writes from outside: each is done when its call returns."""
    memory, theirs = make(kind)
    x = np.frombuffer(memory)
    expected = numpy.zeros(N)
    big = np.ones((400, 400))
    with queueing():
        for step in range(40):
            theirs[step] = expected[step] = step
            x += 1
            expected += 1
            x[3:40] *= x[2:39]
            expected[3:40] *= expected[2:39]
            numpy.testing.assert_array_equal(theirs, expected)
            y = (x - 1) * 2 + (big @ big)[0, 0]
            theirs[5] = -1.0                                    # y has what was there before
            numpy.testing.assert_array_equal(y.asnumpy(), (expected - 1) * 2 + 400)
            expected[5] = -1.0
            x.sort()
            expected.sort()
            numpy.testing.assert_array_equal(theirs, expected)
            expected %= 7
            x %= 7
        x[:] = dflow.submit(numpy.arange, N, shape=N, dtype=float)
        numpy.testing.assert_array_equal(theirs, numpy.arange(N))


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_looked_at_cannot_go(kind):
    memory, _ = make(kind)
    x = np.frombuffer(memory, count=4)[1:]
    x[:] = [1, 2, 3]
    del memory, _
    gc.collect()
    assert x.tolist() == [1, 2, 3] and not x.flags.owndata and x.base is not None and x.base.base is not None


@pytest.mark.parametrize("kind, change", [("bytearray", lambda m: m.extend(b"1")), ("array", lambda m: m.append(1.0)),
                                          ("mmap", lambda m: m.close())])
def test_a_buffer_in_use_is_not_resized(kind, change):
    memory = make(kind)[0]
    x = np.frombuffer(memory)
    y = x[2:] * 2
    with pytest.raises(BufferError):
        change(memory)
    x = y = None                # noqa: F841
    gc.collect()
    change(memory)


WAYS_IN = {
    "frombuffer": lambda m: np.frombuffer(m),
    "asarray": lambda m: np.asarray(memoryview(m).cast("B").cast("d"), copy=False),
    "ndarray": lambda m: np.ndarray(len(memoryview(m).cast("B")) // 8, buffer=m),
    "from_dlpack": lambda m: np.from_dlpack(numpy.frombuffer(m)),
}


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("kind", ["bytearray", "mmap", "array", "multiprocessing", "with a lock", "shared memory"])
def test_each_way_in(kind, way):
    """Operations see that memory, and write to it; it is neither resized nor closed while it is used, and is after.
    But by np.ndarray(buffer=...), as by NumPy's: the manual of Python closes shared memory so."""
    room = None
    if kind == "shared memory":
        room = shared_memory.SharedMemory(create=True, size=8 * N)
        memory, theirs = room.buf, numpy.ndarray(N, buffer=room.buf)
    else:
        memory, theirs = make(kind)
    change = {"bytearray": lambda: memory.extend(b"1"), "array": lambda: memory.append(1.0),
              "mmap": lambda: memory.close(), "shared memory": lambda: room.close()}.get(kind)
    try:
        with queueing():
            x = WAYS_IN[way](memory[:8 * N] if kind == "shared memory" else memory)
            assert type(x) is np.ndarray and x.dtype == float and x.flags.writeable
            theirs[:] = 2
            y = x * 3
            x += 1
            assert theirs[5] == 3 and y[5] == 6
        x = np.sqrt(x, out=x)[::2]
        assert theirs[N - 1] == 3 ** .5
        del theirs
        if change is not None and way != "ndarray":
            with pytest.raises(BufferError):
                change()
        y = x + 1
        x = None
        gc.collect()
        if change is not None:
            if kind == "shared memory":
                del memory
            change()
        assert y[3] == 3 ** .5 + 1
    finally:
        if room is not None:
            room.unlink()


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_pickles_with_buffers(kind):
    """An array that is read has memory of its own, to write to, and is asynchronous, whatever the buffers are; NumPy's
    lies in them. They are read once, and then let go."""
    for x in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(10)[::3]):
        buffers = []
        data = pickle.dumps([x, x[0]], 5, buffer_callback=buffers.append)
        assert len(buffers) == 2 and len(data) < 500
        given = [kind(b.raw()) for b in buffers]
        (y, z) = pickle.loads(data, buffers=given)
        assert y.tolist() == x.tolist() and z.tolist() == x[0].tolist() and y.flags.writeable
        assert y.flags.f_contiguous == x.flags.f_contiguous or x.ndim == 1
        w = dflow.engine.sleep(y, 0.05) + 1
        y += w
        assert not y.is_ready() and y.tolist() == (x * 2 + 1).tolist()
        if kind is bytearray:
            assert given[0] == buffers[0].raw()                     # not written to
            given[0].extend(b"1")                                   # nor held


def test_a_pickle_is_of_the_time_of_its_making():
    x = np.zeros(N)
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    x += 1
    assert pickle.loads(data, buffers=buffers)[0] == 0


def test_shared_memory():
    room = shared_memory.SharedMemory(create=True, size=8 * N)
    try:
        x = np.ndarray((N // 2, 2), buffer=room.buf)
        x[...] = np.arange(2).reshape(1, 2)
        assert numpy.ndarray(N, buffer=room.buf).sum() == N // 2
        assert x.flags.c_contiguous and x.strides == (16, 8)
        del x
        gc.collect()
        dflow.waitall()
    finally:
        room.close()
        room.unlink()


@pytest.mark.parametrize("text", [
    "np.asarray(m)", "np.array(m, copy=None)", "np.array(m, copy=False)", "np.asarray(m, copy=False)",
    "np.frombuffer(m)", "np.ndarray(9, float, m)", "np.ndarray(shape=9, buffer=m)", "np.asarray(memoryview(m))",
    "np.asanyarray(memoryview(m))",
    "np.array(memoryview(m), copy=False, order='F')", "np.ascontiguousarray(memoryview(m))", "np.asarray(m, 'f8')",
    "np.require(memoryview(m))", "np.frombuffer(m, 'f8', 9)", "np.frombuffer(memoryview(m))"])
def test_what_shares_memory_in_numpy_does(text):
    for module in (numpy, np):
        m = array.array("d", range(9))
        x = eval(text, {"np": module, "m": m})
        assert x.dtype == "f8" and x.shape == (9,) and x.base is not None, module
        m[2] = -5.0
        assert x[2] == -5, module
        x[3] = 7.5
        assert m[3] == 7.5, module


@pytest.mark.parametrize("text", ["np.array(m)", "np.array(memoryview(m), copy=True)", "np.asarray(m, 'f4')",
                                  "np.asarray(m, copy=True)", "np.array(m, 'i8', copy=None)"])
def test_what_is_a_copy_in_numpy_is_one(text):
    for module in (numpy, np):
        m = array.array("d", range(9))
        x = eval(text, {"np": module, "m": m})
        m[2] = -5.0
        assert x[2] == 2, module


def test_without_a_copy_or_not_at_all():
    m = array.array("d", range(9))
    for text in ("np.array(m, 'f4', copy=False)", "np.asarray(t, 'i4', copy=False)", "np.array([1, 2], copy=False)",
                 "np.array(t.T, copy=False, order='C')"):
        for module in (numpy, np):
            with pytest.raises(ValueError, match="Unable to avoid copy"):
                eval(text, {"np": module, "m": m, "t": numpy.arange(6.0).reshape(2, 3)})
    theirs = numpy.arange(6.0).reshape(2, 3)
    ours = np.asarray(theirs[:, ::-1], copy=False)
    ours[0] = 9
    assert theirs[0].tolist() == [9, 9, 9] and ours.strides == (24, -8)
    assert np.may_share_memory(ours, theirs) and numpy.shares_memory(ours, theirs)


def test_views_of_a_numpy_array_of_any_order_are_of_one_memory():
    for order in "CF":
        theirs = numpy.arange(60.0).reshape(3, 4, 5).copy(order)
        part = np.asarray(theirs[:, 1:3, ::-2], copy=False)
        whole = np.asarray(theirs.T, copy=False)
        assert np.shares_memory(part, whole)
        np.add(whole[:-1], 1, out=whole[1:])
        expected = numpy.arange(60.0).reshape(3, 4, 5).copy(order).T
        numpy.add(expected[:-1], 1, out=expected[1:])
        assert whole.tolist() == expected.tolist() == theirs.T.tolist()
    twice = numpy.lib.stride_tricks.as_strided(theirs, (3, 2), (8, 8))
    assert not np.asarray(twice, copy=False).flags.writeable


def test_bytes_are_read_only_and_nobody_waits_for_them():
    data = numpy.arange(200000.0).tobytes()
    x = np.frombuffer(data)
    assert x.base is data and not x.flags.writeable
    for write in (lambda: x.setflags(write=True), lambda: x[1:].setflags(write=True), lambda: x.__setitem__(0, 1)):
        with pytest.raises(ValueError):
            write()
    y = dflow.engine.sleep(x, 0.2) * 2 + 1
    assert not y.is_ready() and y[7] == 15
    locked = np.frombuffer(memoryview(bytearray(8)).toreadonly())
    with pytest.raises(ValueError):
        locked.flags.writeable = True
    free = np.frombuffer(bytearray(8))
    free.flags.writeable = False
    free.flags.writeable = True
    free[0] = 3


def test_two_views_of_one_buffer_overlap():
    """However they were made: what is written from one to the other is as if there was a copy between."""
    for module in (numpy, np):
        m = bytearray(80)
        x = module.frombuffer(m)
        x[:] = range(10)
        tail, part, wide = module.frombuffer(m, offset=8), module.frombuffer(memoryview(m)[16:]), module.asarray(m)
        module.add(x[:-1], 1, out=tail)
        assert x.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        part[:] = x[:8]
        assert x.tolist() == [0, 1, 0, 1, 2, 3, 4, 5, 6, 7]
        tail[1:] = part[::-1]
        assert x.tolist() == [0, 1, 7, 6, 5, 4, 3, 2, 1, 0]
        assert wide.size == 80 and wide[:8].tolist() == [0] * 8 and wide[8:16].any()
        x[...] = module.frombuffer(m)[::-1]
        assert x.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 1, 0]


WAYS = {
    "memoryview": lambda x: np.asarray(memoryview(x)),
    "ndarray": lambda x: np.ndarray(12, buffer=x),
    "asarray": lambda x: np.asarray(numpy.asarray(x), copy=False),
    "dlpack": lambda x: np.from_dlpack(numpy.from_dlpack(x)),
    "dlpack of a view": lambda x: np.from_dlpack(numpy.asarray(x)[:]),
}


@pytest.mark.parametrize("way", WAYS)
def test_memory_of_ours_is_found_again(way):
    x = np.arange(12.0)
    back = WAYS[way](x)
    np.add(x[:-1], 1, out=back[1:])
    assert x.tolist() == list(range(12)) and back.tolist() == list(range(12))
    back[:-1] = x[1:]
    assert x.tolist() == [*range(1, 12), 11]
    held = memory_stats()["live"]
    del x
    gc.collect()
    assert memory_stats()["live"] == held and back[0] == 1


def test_memoryview_names_its_array():
    x = np.arange(6.0).reshape(2, 3)
    assert memoryview(x).obj is x and memoryview(x[0, 1]).obj == x[0, 1]
    m = memoryview(x.T)
    assert m.obj.strides == (8, 24) and m.format == "d" and m.shape == (3, 2) and m.tolist() == x.T.tolist()
    m.release()


def unaligned():
    return numpy.frombuffer(bytearray(17), offset=1)


def test_what_cannot_be_ours_is_numpys():
    assert type(np.frombuffer(bytearray(17), offset=1)) is numpy.ndarray
    assert type(np.ndarray(2, "S4", bytearray(8))) is numpy.ndarray
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(unaligned(), copy=False)
    whole = numpy.zeros(16)
    capsules = [numpy.from_dlpack(whole[2:9]), numpy.from_dlpack(whole)]        # nothing says that they are of one
    small, large = map(np.from_dlpack, capsules)
    small[0] = 4
    assert whole[2] == 4 and type(small) is np.ndarray
    large[3] = 5
    assert whole[3] == (5 if type(large) is np.ndarray and np.shares_memory(large, small) else 0)


def test_gradients_of_what_is_adopted():
    x = np.frombuffer(bytearray(numpy.arange(4.0).tobytes()))
    x.attach_grad()
    with dflow.autograd.record():
        y = (x[1:] * x[:-1]).sum() + x.reshape(2, 2)[0].sum()
    y.backward()
    assert x.grad.tolist() == [2, 3, 4, 2]
    numpy.frombuffer(x.base)[0] = 10
    with dflow.autograd.record():
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [20, 2, 4, 6]


def test_memory_of_others_is_not_counted():
    before = memory_stats()["live"]
    kept = [np.frombuffer(bytearray(1 << 16)) for _ in range(50)]
    assert memory_stats()["live"] - before < 1 << 14
    del kept
    for _ in range(20000):
        np.frombuffer(bytearray(16))[1:]
    dflow.waitall()
    gc.collect()
    assert memory_stats()["live"] - before < 1 << 14


def test_many_threads_adopt_one_buffer():
    """Owners end in one thread, or a worker, while another finds them."""
    m = bytearray(8 * 64)
    wrong = []

    def work(k):
        for i in range(400):
            x = np.frombuffer(m, offset=64 * k, count=8)
            x += 1
            y = np.frombuffer(memoryview(m)[64 * k:64 * k + 64])
            if x[3] != i + 1 or not np.shares_memory(x, y) or (y * 2)[0] != 2 * i + 2:
                wrong.append((k, i))
            del x, y

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and numpy.frombuffer(m).tolist() == [400.0] * 64


def test_random_views_of_random_buffers():
    """A program over views of a few buffers, made in all ways, beside the same over NumPy's."""
    rng = numpy.random.default_rng(11)
    for _ in range(60):
        sizes = [int(2 ** rng.uniform(3, 13)) for _ in range(3)]
        mine, theirs = [[bytearray(8 * n) for n in sizes] for _ in range(2)]
        for k, n in enumerate(sizes):
            mine[k][:] = theirs[k][:] = rng.integers(-8, 8, n).astype(float).tobytes()
        with configured(limit=int(rng.choice([0, 200, 4096])), bulk=int(rng.choice([0, 3, 15]))):
            for _ in range(25):
                k, j = rng.integers(0, 3, 2)
                n = int(rng.integers(1, min(sizes[k], sizes[j]) + 1))
                i, h = int(rng.integers(0, sizes[k] - n + 1)), int(rng.integers(0, sizes[j] - n + 1))
                step = int(rng.choice([-1, 1]))
                for module, memory in ((np, mine), (numpy, theirs)):
                    a = module.frombuffer(memoryview(memory[k])[8 * i:8 * (i + n)])[::step]
                    b = module.ndarray((n,), buffer=memory[j], offset=8 * h)
                    op = step + int(n % 3)
                    if op == 0:
                        module.subtract(a, b, out=b)
                    elif op == 1:
                        a[...] = b + 1
                    elif op == 2:
                        a += b[::-1]
                        a %= 16
                    else:
                        b[:n // 2] = a[n - n // 2:]
                    if op == 1 and n % 2:
                        memory[k][:8] = memory[j][-8:]
            assert mine == theirs


@pytest.mark.parametrize("limit", [None, 0])
def test_what_is_read_where_warnings_are_recorded(limit):
    """There a call waits for its warnings, too, which are not all that it has to wait for."""
    theirs = numpy.arange(60_000.0).reshape(300, 200) % 7
    expected = theirs @ theirs[0]
    ours, row = np.asarray(theirs, copy=False), np.array(theirs[0])
    with configured(limit=limit), warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        found = ours @ row
        theirs[...] = 1
    assert (found == expected).all()
