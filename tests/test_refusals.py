"""What NumPy refuses to do, in its words."""

import contextlib
import warnings
from functools import partial

import numpy
import pytest
from compare import assert_same_outcome, outcome

import dflow.numpy as np
from dflow import autograd

AXES = """x.sum(axis=t)  x.max(axis=t)  x.mean(axis=t)  x.std(axis=t)  x.all(axis=t)  np.sum(x, axis=(t,))
    x.argmax(axis=t)
    x.argmin(axis=t)  x.cumsum(axis=t)  np.cumprod(x, axis=t)  np.sort(x, axis=t)  np.argsort(x, axis=t)
    x.take([0], axis=t)
    x.repeat(2, axis=t)  np.add.reduce(x, axis=t)  np.add.accumulate(x, axis=t)  np.concatenate([x], axis=t)
    np.stack([x], axis=t)  np.swapaxes(x, False, t)  x.transpose(t, False)  x.transpose((t, False))
    np.squeeze(x, axis=t)
    np.squeeze(x, axis=(t,))  np.expand_dims(x, t)  np.median(x, axis=t)  np.moveaxis(x, False, t)
    np.roll(x, 1, axis=t)
    np.flip(x, axis=t)  np.diff(x, axis=t)  np.nansum(x, axis=t)  np.count_nonzero(x, axis=t)  np.average(x, axis=t)
    np.partition(x, 0, axis=t)  np.trace(x, 0, False, t)  np.append(x, x, axis=t)  np.delete(x, 0, axis=t)"""


@pytest.mark.parametrize("text", [text.strip() for text in AXES.split("  ") if text.strip()])
@pytest.mark.parametrize("t", [True, False])
def test_booleans_as_axes(text, t):
    """NumPy's C code takes none; its Python code takes them for 0 and 1."""
    assert_same_outcome(*(outcome(lambda module=module: eval(text, {"np": module, "x": module.ones((2, 1)), "t": t}))
                          for module in (np, numpy)))


OUTPUTS = """np.dot(x, x, out=z.T)  np.dot(x, x, out=z[::2, ::2])  np.dot(x, x, out=z[:2, :2].copy())
    np.sum(x, 0, out=3)
    np.linalg.multi_dot([x, x], out=z[::2, ::2])  np.mean(x, out=3)  np.std(x, out=3)  np.argmax(x, 0, out=3)
    np.argmax(x, 0, out=z[0, :2])  np.argmin(x, 0, out=np.zeros(2, "i4"))  np.concatenate([x, x], out=3)
    np.concatenate([x, x + 1j], out=np.zeros(3, "i4"))  np.concatenate([x, x], out=z)  np.nansum(x, out=3)"""


@pytest.mark.parametrize("text", [text.strip() for text in OUTPUTS.split("  ") if text.strip()])
def test_outputs(text):
    results = []
    for module in (np, numpy):
        names = {"np": module, "x": module.arange(4.0).reshape(2, 2), "z": module.zeros((4, 4))}
        results += [outcome(lambda names=names: eval(text, names)), outcome(lambda names=names: names["z"])]
    for k in range(2):
        assert_same_outcome(results[k], results[k + 2])


@pytest.mark.parametrize("out", [[1, 2], 3, (None, 3), "read only"], ids=repr)
@pytest.mark.parametrize("name", ["add", "exp", "matmul"])
def test_outputs_while_it_is_recorded(out, name):
    """What is no array to write to is refused before anything looks into it."""
    x = np.ones(3)
    x.attach_grad()
    if out == "read only":
        out = np.ones(3)
        out.flags.writeable = False
    results = []
    for recording in (False, True):
        with autograd.record() if recording else contextlib.nullcontext():
            y = x * 2
            results.append(outcome(lambda y=y: getattr(np, name)(*[y, y][:1 if name == "exp" else 2], out=out)))
    assert results[0][0] == "error"
    assert_same_outcome(*results)


@pytest.mark.parametrize("text", ["x.view(type=np.ndarray)", "x.view(np.ndarray)", "x.view(int, np.ndarray)",
                                  "x.view(dtype=int, type=np.ndarray)", "x.view(type=int)", "x.view(type='a')",
                                  "x[(None,) * 65]", "x[(None,) * 70 + (0,)]",
                                  "x[(None,) * 66 + (..., 0)]"])
def test_views(text):
    assert_same_outcome(*(outcome(lambda module=module: eval(text, {"np": module, "x": module.ones((2, 3))}))
                          for module in (np, numpy)))


def test_a_state_counts_the_draws_of_numpy_s_generators():
    """Those made in tasks, too: with parameters that are arrays, shuffles."""
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state["counter"][-1]
    rng.permuted(np.eye(3), axis=1)
    state = rng.bit_generator.state
    assert state["counter"][-1] == before + 1
    first = [rng.permuted(np.eye(3), axis=1).tolist() for _ in range(3)]
    rng.bit_generator.state = state
    assert [rng.permuted(np.eye(3), axis=1).tolist() for _ in range(3)] == first and first[0] != first[1]


@pytest.mark.parametrize("text", ["x.sum(where=np.ones((2, 2, 2), bool))", "x[:1].max(0, initial=1, where=x > 0)",
                                  "np.sum(x[:, :1], 1, where=[[True, False]])", "x.sum(where=[True, False])"])
def test_masks_of_reductions(text):
    assert_same_outcome(*(outcome(lambda module=module: eval(text, {"np": module, "x": module.arange(4).reshape(2, 2)}))
                          for module in (np, numpy)))


@pytest.mark.parametrize("mode", ["edge", "mean", "reflect", "wrap"])
def test_an_empty_axis_is_not_padded(mode):
    """At the call: nobody reads what it would give."""
    for x in (np.zeros((3, 0)), np.zeros(0)):
        with pytest.raises(ValueError, match="can't extend empty axis"):
            np.pad(x, 1, mode)
    assert np.pad(np.zeros((3, 0)), ((1, 1), (0, 0)), mode).shape == (5, 0)


@pytest.mark.parametrize("values", ["np.ones(3, 'c8')", "np.ones(3)", "np.ones(1)", "np.array(2.0)",
    "np.ones(3)[0]", "2.5", "[2.5]",
                                    "np.ones(3, 'i1')", "[1 << 200]"])
@pytest.mark.parametrize("name", ["putmask", "place"])
def test_values_that_must_be_cast_safely(values, name):
    """Into float32: lists and numbers are no arrays."""
    results = []
    for module in (np, numpy):
        x = module.zeros(3, "f4")
        results += [outcome(lambda x=x, np=module: getattr(np, name)(x, [True, False, True], eval(values, {"np": np}))),
                    outcome(lambda x=x: x)]
    assert results[0][0] == results[2][0] and (results[0][0] == "value" or results[0] == results[2])
    assert_same_outcome(results[1], results[3])


def test_the_one_element_of_an_array_without_axes_repeated():
    for module in (np, numpy):
        x = module.array(3)
        assert module.repeat(x, 2, 0).tolist() == module.repeat(x, 2, -1).tolist() == [3, 3]
        with pytest.raises(numpy.exceptions.AxisError):
            module.repeat(x, 2, 1)


@pytest.mark.parametrize("dtype", ["int64", "int32", "complex128", "c8", float, None])
@pytest.mark.parametrize("text", ["np.arange(4.0)", "np.arange(8.0).reshape(2, 4)[:, ::2]", "np.ones((2, 3)).T"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")       # NumPy's, of doing this
def test_the_dtype_is_set_in_place(text, dtype):
    """As a view of the same bytes would have it; the array it is a view of stays as it is."""

    def change(module):
        x = eval(text, {"np": module})
        y = x[...]
        y.dtype = dtype
        assert x.dtype == float
        assert (y.dtype, y.shape) == ((z := x.view(np.dtype(dtype))).dtype, z.shape)
        y[...] = 0
        return x

    assert_same_outcome(outcome(lambda: change(np)), outcome(lambda: change(numpy)))


WORDS = """np.add(1, 2, ...)  np.negative(1, out=(...,))  np.divmod(1, 2, out=(np.empty(()), ...))
    np.add.reduce(1, out=(...,))
    np.add.accumulate([1, 2], out=...)  np.add.reduceat([1, 2], [0, 1], out=...)  np.matmul([1, 2], [3, 4], out=(...,))
    np.zeros(2**64)  np.zeros((2**63,))  np.arange(3).reshape(2**64)  np.arange(3).item(True)  np.ones(()).item(True)
    np.ones(1).item(0, 0)  np.ones(2).item(())  np.ones(2).item(None)
    np.ones(3).dot(2**70)  np.ones(3).dot(None)  np.ones(3).dot('a')  np.ones(3).dot(2**70, np.ones(3))
    np.size(memoryview(b'abc'))  np.size(memoryview(b'abc'), 0)
    np.ones((2, 3, 3)) @ np.ones((3, 3, 2))  np.matmul(np.ones((2, 3, 3)), np.ones((2, 3, 3, 2)))
    np.vecdot(np.ones((2, 3)), np.ones((4, 3)))  np.matmul(np.ones((2, 3)), np.ones((7, 3, 2)), out=np.ones((5, 2, 2)))
    np.array(5).squeeze((0, -1))  np.array(5).squeeze((0,))  np.array(5).squeeze(0)  np.squeeze(np.array(5), (0, 1))
    np.ix_(np.array([], dtype=np.float32))[0]  np.unravel_index([], (10, 3, 5))  np.unravel_index((), (10, 3))
    np.unravel_index(np.array([]), (10, 3))  np.r_[np.arange(5, dtype=np.int8), 255]
    np.r_[np.arange(5, dtype=np.int8), 25]
    np.c_[np.arange(2, dtype=np.int8), [[3], [4]]]  np.bitwise_and.reduce(np.array([], np.uint8))
    np.bitwise_and.reduce(np.arange(3, 6, dtype=np.uint8))  np.bitwise_and.reduce(np.arange(3, 6, dtype=np.uint8), None)
    np.bitwise_and.reduce(np.array([], bool))  np.bitwise_and.reduce(np.ones((1, 0), np.uint32), axis=1)
    np.bitwise_and.reduce(np.arange(3, 6, dtype=np.uint8), where=np.array([True, False, True]))
    np.ndarray(-1)  np.ndarray.__new__(np.ndarray, (0, 3), "i4")  np.ndarray((1,), "i4", b"12345678", 4)
    np.arange(start=4)  np.arange(start=4, step=2)  np.arange(0, start=4)  np.arange(start=1, stop=4)  np.arange(stop=4)
    np.array(np.ones((2, 3)).T, copy=False, order="C")  np.array(np.ones((2, 3)), copy=np.False_, order="F")
    np.asarray(np.ones((2, 3)), copy=False, order="F")  np.asarray(np.ones((2, 3)), copy=copy.NEVER, order="F")
    np.array(np.ones(3), copy=copy.IF_NEEDED)  np.array([1], copy=copy.IF_NEEDED)  np.array([1], copy=copy.NEVER)
    np.array([1], copy=copy.ALWAYS)  np.asarray([1], copy=copy.IF_NEEDED)  np.ones(3).astype("f4", copy=copy.NEVER)
    np.ravel_multi_index(([], []), (3, 4))  np.ravel_multi_index((np.array([]), [1]), (3, 4))
    np.ones((1,) * 64)[([0],) * 64]  np.ones((1,) * 64)[([0],) * 63].shape  np.ones(1)[(True,) * 63].shape
    np.ones(1)[(True,) * 64]  np.ones(1)[(True,) * 65]  np.ones(2, int).choose([0] + [2] * 63)
    np.array([0, 0, 1]).choose(np.arange(3), np.arange(3) + 10)  np.array([0, 3]).choose(1, 2, mode="wrap")
    np.array([0, 1]).choose(1, 2, out=np.zeros(2, int))  np.array([0, 1]).choose([1, 2])
    np.arange(10, dtype="i4")[::2][:, None].view("i2")  np.arange(10, dtype="i4")[::2].view("i2")
    np.arange(3).__array_function__(sum, (), 5, {})  np.arange(3).__array_function__(sum, (), (), 5)
    np.zeros((10, 0), int)[...].resize((0, 100))  np.zeros((2, 3))[...].resize((0, 100))
    np.array([np.ones((1,) * 64)])  np.stack([np.ones((1,) * 64)])  np.ones((1,) * 64)[None]
    np.ones((3,) * 5)[np.ix_(*[np.zeros(7132, int)] * 5)]
    np.zeros(2, np.dtypes.Float32DType)  np.arange(2).astype(np.dtypes.Int8DType)
    np.array([1, 2], np.dtypes.Complex64DType)  np.subtract(np.ones(2), 1, dtype=np.dtypes.Float32DType)
    np.add.reduce(np.ones(2), dtype=np.dtypes.Float32DType)  np.array([1], np.dtype)  np.ones(2).astype(np.dtype)
    np.random.default_rng(1).integers(1, size=2, dtype=np.dtypes.Int8DType)"""


@pytest.mark.parametrize("text", [text.strip() for text in WORDS.replace("\n", "  ").split("  ") if text.strip()])
def test_calls(text):
    names = {"copy": numpy._CopyMode}
    assert_same_outcome(*(outcome(lambda module=module: eval(text, {"np": module, **names})) for module in (np, numpy)))


@pytest.mark.parametrize("text", ["del x.shape", "del x.strides", "del x.dtype", "del x.real", "del x.imag",
                                  "del x.flat[0]", "x = np.ones(2, int); x.flat[0] = np.array([np.nan])[0]",
                                  "x = np.ones(2, 'i1'); x.flat[0] = np.array([300])[0]",
                                  "x @= np.ones(3)", "x @= [1.0, 2.0, 3.0]", "x @= x", "x @= 3.0", "x[0] @= np.ones(3)",
                                  "y = x[0]; y @= x", "y = x[0]; y @= y", "y = np.array(1.0); y @= x", "x.resize((9,))",
                                  "y = x[...]; y.resize((9,)); y[4] = 7", "y = x[...]; y.resize((10,))",
                                  "x[(True,) * 64] = 1", "x[(True,) * 65] = 1",
                                  "x = np.ones(3, 'i1'); x[:2] = [np.array([300])[0], np.array([1])[0]]",
                                  "x = np.ones(3, 'i1'); x[[0, 2]] = [np.array([1.5])[0], np.array([np.nan])[0]]",
                                  "x = np.ones(3, 'i1'); x[:2] = [np.array([1])[0], 300]",
                                  "y = np.zeros((), 'i2'); np.add.reduce(np.full(4, 20000, 'i2'), out=y); x[0, 0] = y",
                                  "x = np.ones(3, 'i1'); x[x > 0] = [np.array([1])[0], np.array([2.5])[0], 3]"])
def test_statements(text):
    def run(module):
        x = module.arange(9.0).reshape(3, 3)
        names = {"np": module, "x": x}
        exec(text, names)
        return names["x"]

    assert_same_outcome(outcome(lambda: run(np)), outcome(lambda: run(numpy)))


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (1, 2), (2, 1), (2, 2)])
@pytest.mark.parametrize("x", ["np.arange(3.0)", "np.arange(4.0).reshape(2, 2)"])
def test_values_under_a_mask(x, shape):
    """Of two axes they are refused where the mask has all of the array's; one row of them was taken."""

    def change(module):
        a = eval(x, {"np": module})
        a[a > 1] = module.full(shape, 7.0)
        return a

    assert_same_outcome(outcome(lambda: change(np)), outcome(lambda: change(numpy)))


def test_arrays_are_whole_however_they_are_made():
    for wrong in (np.ndarray, lambda: np.ndarray.__new__(np.ndarray), lambda: np.ndarray(3, unknown=1)):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("make, strides", [
    ("x", "(-8,)"), ("x[::2]", "8"), ("x[::2]", "(8,)"), ("x", "(8, 8)"), ("x[:3]", "(16,)"), ("x[:3]", "(24,)"),
    ("x", "'a'"), ("x[2:4]", "(-16,)"), ("x.reshape(2, 3)", "(8, 16)"), ("x.reshape(2, 3)[:, :2]", "(0, 8)"),
    ("x[:0]", "(80,)")])
def test_strides_are_set_as_in_numpy(make, strides):
    results = []
    for module in (np, numpy):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = eval(make, {"x": module.arange(6.0)})
            results.append(outcome(lambda x=x: setattr(x, "strides", eval(strides)) or x.copy()))
        results.append([(str(w.message), w.filename) for w in caught])
    assert_same_outcome(results[0], results[2])
    assert results[1] == results[3]


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_an_output_by_place_of_extremes_is_deprecated(name):
    caught = {}
    for module in (np, numpy):
        with warnings.catch_warnings(record=True) as caught[module]:
            warnings.simplefilter("always")
            assert getattr(module, name)(module.ones(2), 1, module.zeros(2)).tolist() == [1, 1]
    texts = [[(str(w.message), w.filename) for w in caught[module]] for module in (np, numpy)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("shape", ["1 << 65", "(2, 1 << 65)", "-1 << 65", "[10 ** 30]"])
def test_lengths_that_no_index_reaches(shape):
    assert_same_outcome(*(outcome(lambda module=module: module.zeros(eval(shape))) for module in (np, numpy)))


def test_a_deprecated_name_warns_whenever_it_is_used(monkeypatch):
    def made_when_asked(name):
        warnings.warn(f"numpy.{name} is deprecated", DeprecationWarning, stacklevel=3)
        return numpy.matrix

    monkeypatch.setattr(numpy, "__getattr__", made_when_asked)
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match="old_matrix"):
            assert np.old_matrix is numpy.matrix


@pytest.mark.parametrize("refcheck", ["hi", None, 1.0, 0, True])
def test_resize_takes_no_text_for_a_truth_value(refcheck):
    ours, theirs = (outcome(partial(module.eye(3).resize, (2, 2), refcheck=refcheck))[:2] for module in (np, numpy))
    assert ours[0] == theirs[0] and (ours[0] == "value" or ours[1] is theirs[1])
