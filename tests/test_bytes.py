"""Bytes: the order of them in a number, files, and memory with strides of one's own."""

import io

import numpy
import pytest
from compare import assert_same, assert_same_outcome, outcome
from engines import Gate, configured

import dflow.numpy as np

OTHER = [numpy.dtype(t).newbyteorder("S") for t in ("i8", "i4", "u2", "f2", "f4", "f8", "c8", "c16")]


# -- byte order ------------------------------------------------------------------------------------

ASKED = """np.zeros(2, t)  np.ones(2, t)  np.empty(2, t)  np.full(2, 1, t)  np.array([1, 2], t)  np.asarray(x, t)
    np.array(numpy.arange(2), t)  np.array([x[0], x[1]], t)  np.asarray([1, 2], t)  np.ascontiguousarray([1], t)
    x.astype(t)  x.astype(t, copy=False)  np.astype(x, t)  x.view(t)  x.getfield(t)  np.zeros_like(x, t)
    np.full_like(x, 1, t)  np.arange(3, dtype=t)  np.arange(9000, dtype=t)  np.linspace(0, 1, 3, dtype=t)
    np.linspace(0, 1, 9000, dtype=t)  np.logspace(0, 1, 3, dtype=t)  np.geomspace(1, 2, 3, dtype=t)  np.eye(2, dtype=t)
    np.identity(2, t)  np.tri(2, dtype=t)  np.indices((2, 2), t)  np.fromiter([1, 2], t)  np.ndarray(2, t)
    np.concatenate([x, x], dtype=t, casting="unsafe")  np.vstack([[1], [2]], dtype=t, casting="unsafe")
    np.loadtxt(io.StringIO("1 2"), t)  np.fromstring("1 2", t, sep=" ")  np.require(x, t)
    np.einsum("i->i", x, dtype=t, casting="unsafe")""".split("  ")


@pytest.mark.parametrize("text", [text.strip() for text in ASKED if text.strip()])
def test_another_byte_order_is_numpys_own(text):
    """Silently made native, what is written to a file would have other bytes than the program asked for."""
    for dtype in OTHER[:6] if "arange" in text or "fromstring" in text else OTHER:
        if dtype.itemsize > 8 and "getfield" in text:
            continue
        for t in (dtype, dtype.str):
            made, expected = (eval(text, {"np": module, "numpy": numpy, "io": io, "x": module.arange(2.0), "t": t})
                              for module in (np, numpy))
            assert type(made) is (np if expected.dtype.isnative else numpy).ndarray
            assert made.dtype == expected.dtype and made.shape == expected.shape
            assert "empty" in text or "ndarray(" in text or made.tobytes() == expected.tobytes()
        assert type(eval(text, {"np": np, "numpy": numpy, "io": io, "x": np.arange(2.0), "t": "f8"})) is np.ndarray


@pytest.mark.parametrize("text", ["np.sum(x, dtype=t)", "np.add(x, 1, dtype=t)", "np.cumsum(x, dtype=t)",
                                  "np.mean(x, dtype=t)", "np.add.reduce(x, dtype=t)", "np.cumprod(x, dtype=t)",
                                  "np.multiply.accumulate(x, dtype=t)", "np.std(x, dtype=t)"])
@pytest.mark.parametrize("t", [">f8", "<f8", OTHER[5]])
def test_byte_orders_of_loops(text, t):
    """NumPy has ufuncs refuse them, and others take them for native."""
    assert_same_outcome(*(outcome(lambda module=module: eval(text, {"x": module.ones(3), "np": module, "t": t}))
                          for module in (np, numpy)))


@pytest.mark.parametrize("dtype", OTHER, ids=str)
def test_what_is_there_in_another_byte_order_is_converted(dtype, tmp_path):
    x = numpy.arange(1, 7).reshape(2, 3).astype(dtype)
    file = io.BytesIO()
    numpy.save(file, x)
    file.seek(0)
    x.tofile(tmp_path / "x")
    native = x.astype(dtype.newbyteorder("="))
    for y in (np.array(x), np.asarray(x.T).T, np.frombuffer(x.tobytes(), dtype).reshape(2, 3), np.load(file),
              np.fromfile(tmp_path / "x", dtype).reshape(2, 3), np.ndarray((2, 3), dtype, x.tobytes()), np.add(x, 0),
              np.zeros_like(x) + x, np.full((2, 3), x), np.concatenate([x[:1], np.array(native)[1:]]),
              np.array(native).byteswap().byteswap(), np.where(True, x, x)):
        assert_same(y, native)
        assert y.tobytes() == native.tobytes()
    y = np.zeros((2, 3))
    y[...] = x
    assert y.tolist() == x.tolist()
    assert np.array(native).byteswap().tobytes() == x.tobytes()


# -- archives --------------------------------------------------------------------------------------

@pytest.mark.parametrize("save", ["savez", "savez_compressed"])
def test_archives_hold_arrays_of_ours(save, tmp_path):
    """As numpy.lib.npyio.NpzFile in all else: they are read when they are asked for."""
    arrays = {"a": numpy.arange(6.0).reshape(2, 3).T, "b": numpy.array(True), "words": numpy.array(["x", "yz"])}
    getattr(np, save)(tmp_path / "x.npz", **{k: np.array(x) if k != "words" else x for k, x in arrays.items()})
    with np.load(tmp_path / "x.npz") as loaded, numpy.load(tmp_path / "x.npz") as theirs:
        assert isinstance(loaded, np.lib.npyio.NpzFile) and repr(loaded) == repr(theirs)
        assert loaded.files == theirs.files == list(loaded) == list(loaded.keys()) and len(loaded) == 3
        assert "a" in loaded and "a.npy" in loaded and "c" not in loaded
        for name in ("a", "b"):
            values = loaded[name], getattr(loaded.f, name), loaded.get(name), dict(loaded.items())[name]
            for x in (*values, loaded[f"{name}.npy"]):
                assert type(x) is np.ndarray
                assert_same(x, theirs[name])
        assert loaded["a"].flags.f_contiguous
        assert type(loaded["words"]) is numpy.ndarray and loaded["words"].tolist() == ["x", "yz"]
        assert [type(x) for x in loaded.values()] == [np.ndarray, np.ndarray, numpy.ndarray]
        errors = [outcome(lambda archive=archive: archive["c"]) for archive in (loaded, theirs)]
        assert errors[0] == errors[1] and errors[0][1] is KeyError
    errors = [outcome(lambda archive=archive: archive["a"]) for archive in (loaded, theirs)]
    assert errors[0] == errors[1] and errors[0][0] == "error"
    assert type(np.load(tmp_path / "x.npz", mmap_mode="r")["a"]) is np.ndarray


# -- strides ---------------------------------------------------------------------------------------

def test_strided_views_share_the_memory():
    for module in (numpy, np):
        strided = module.lib.stride_tricks.as_strided
        x = module.arange(12.0)
        every, table = strided(x[1:], (4,), (24,)), strided(x, (3, 4), (32, 8))
        windows, backwards = strided(x, (11, 2), (8, 8), writeable=False), strided(x[-1:], (12,), (-8,))
        every += 100
        table[0, 0] = -1
        x[5] = 7
        backwards[:2] *= 2
        assert x.tolist() == [-1, 101, 2, 3, 104, 7, 6, 107, 8, 9, 220, 22]
        assert windows.tolist() == [[x[i].item(), x[i + 1].item()] for i in range(11)]
        assert module.shares_memory(table, x) and not windows.flags.writeable and table.flags.writeable
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            windows[0] = 1
        x.flags.writeable = False
        assert not strided(x).flags.writeable


def test_strided_views_do_not_wait():
    with configured(workers=2, limit=0), Gate() as gate:
        x = gate.hold(np.arange(6.0))
        view = np.lib.stride_tricks.as_strided(x, (2, 2), (24, 16))
        view *= 10
        total, windows = x.sum(), np.lib.stride_tricks.as_strided(x, (5, 2), (8, 8)).sum(1)
        assert not total.is_ready()
    assert (total.item(), x.tolist()) == (105, [0, 1, 20, 30, 4, 50])
    assert windows.tolist() == [1, 21, 50, 34, 54]


def test_strided_views_stay_inside_and_do_not_write_twice():
    x = np.arange(6.0)
    strided = np.lib.stride_tricks.as_strided
    for part, shape, strides in ((x, (7,), (8,)), (x, (2,), (-8,)), (x[1:], (6,), (8,)), (x, (2, 2), (40, 8)),
                                 (x, (2,), (1 << 62,)), (x, (1 << 40,), (1 << 40,))):
        with pytest.raises(ValueError, match="would leave the memory|too big|maximum"):
            strided(part, shape, strides)
    with pytest.raises(ValueError, match="aligned"):
        strided(x, (2,), (4,))
    for shape, strides in (((2, 2), (8, 8)), ((3,), (0,)), ((2, 3), (16, 8))):
        view = strided(x, shape, strides)
        assert not view.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            view += 1
    assert strided(x, (2, 3), (8, 16)).flags.writeable and x.tolist() == [0, 1, 2, 3, 4, 5]


def test_numpy_s_own_strided_views_write_to_our_arrays():
    x = np.arange(6.0)
    view = numpy.lib.stride_tricks.as_strided(x, (3,), (16,))
    view += 1
    assert x.tolist() == [1, 1, 3, 3, 5, 5]
