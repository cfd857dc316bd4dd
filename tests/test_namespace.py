"""Every row of the table of operations against NumPy: value, type, shape, and the error of what fails.

A sample is an argument list as text (see dflow/ops/table.py). It may name the arrays in SOURCES and `np`. After the
call the arrays that it names are compared too, so what works in place is tested the same way. An error must have
NumPy's type and text, or the same type only where the sample begins with "?".
"""

import copy
import importlib
import inspect
import operator
import pickle
import re
import sys
import warnings
from functools import partial

import numpy
import pytest
from compare import assert_same_outcome, outcome, same_bits
from engines import Gate, configured

import dflow
import dflow.numpy as np
from dflow.ops.table import KINDS, TABLE

for _name in ("linalg", "fft", "random"):       # their rows are made when they are first used
    importlib.import_module(f"dflow.numpy.{_name}")

_GRID = (numpy.arange(12) * 7 % 11 - 4.5).reshape(3, 4)
SOURCES = {
    "a": _GRID,
    "b": _GRID > 0,
    "c": _GRID + 1j * _GRID[::-1],
    "c64": (_GRID - 2j).astype("c8"),
    "e": numpy.zeros((0, 3)),
    "f": (numpy.arange(24) * 5 % 17 / 4 - 1).reshape(2, 3, 4).astype("f4"),
    "h": _GRID.astype("f2"),
    "i": (numpy.arange(12) * 5 % 12).reshape(3, 4),
    "j": numpy.array([0, 2, 1, 3]),
    "m": numpy.array([[4.0, 1, 0.5], [1, 3, -1], [0.5, -1, 5]]),
    "n": numpy.array([[1, numpy.nan, 3, -2], [numpy.nan, 0.5, numpy.inf, 1], [2, 2, -numpy.inf, 4]]),
    "s": numpy.array(2.5),
    "v": numpy.array([0.5, -1.0, 2.0, 3.25]),
}
CASES = [(row, sample) for row in TABLE.values() if row.module != "npx" for sample in row.samples]


def evaluate(text, module, theirs=""):
    """("value", the result, the arrays afterwards) or ("error", its type, its text). theirs: which are NumPy's."""
    used = {name: source.copy() for name, source in SOURCES.items() if re.search(rf"\b{name}\b", text)}
    if module is np:
        used = {name: source if name in theirs else np.array(source) for name, source in used.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = plain(eval(text, {"np": module, **used}))
            return "value", result, {name: plain(x) for name, x in used.items()}
    except Exception as error:
        return "error", type(error), str(error)


def plain(x):
    """Results with NumPy's arrays for ours, and 0-d arrays for NumPy's scalars."""
    if hasattr(x, "asnumpy"):
        return x.asnumpy()
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    return numpy.asarray(x) if isinstance(x, numpy.generic) else x


def assert_same(actual, expected, close):
    if isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected)
        for x, y in zip(actual, expected):
            assert_same(x, y, close)
    elif isinstance(expected, numpy.ndarray):
        assert isinstance(actual, numpy.ndarray), actual
        both = f"\ndflow: {actual!r}\nNumPy: {expected!r}"
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), both
        if close and expected.dtype.kind in "fc":
            eps = float(numpy.finfo(expected.dtype).eps)
            unit = numpy.abs(expected).max(initial=1) if close == "largest" else 1  # each element is a sum of all
            numpy.testing.assert_allclose(actual, expected, rtol=40 * eps, atol=40 * eps * unit)
        else:
            assert same_bits(actual, expected), both
    else:
        assert type(actual) is type(expected), f"dflow: {actual!r}, NumPy: {expected!r}"
        assert actual == expected or actual != actual


def compare(text, close, any_text=False, theirs=""):
    expected = evaluate(text, numpy)
    actual = evaluate(text, np, theirs)
    assert actual[0] == expected[0], f"dflow: {actual}, NumPy: {expected}"
    if actual[0] == "error":
        same = actual[1] is expected[1] and (any_text or actual[2] == expected[2])
        assert same, f"dflow: {actual}, NumPy: {expected}"
    else:
        assert_same(actual[1], expected[1], close)
        for name in expected[2]:
            assert_same(actual[2][name], expected[2][name], close)


def call_of(row, sample):
    path = row.module.replace("numpy", "np", 1)
    return f"{path}.{row.name}({sample.lstrip('?')})"


@pytest.mark.once
@pytest.mark.parametrize("row, sample", CASES, ids=[call_of(*case) for case in CASES])
def test_as_numpy(row, sample):
    compare(call_of(row, sample), row.close, sample.startswith("?"))


@pytest.mark.once
@pytest.mark.parametrize("row", TABLE.values(), ids=[row.name for row in TABLE.values()])
def test_arrays_of_numpy(row):
    """As from code that was not swapped: all, and some, of the arrays. What comes out is ours."""
    for sample in row.samples if row.module != "npx" else ():
        text = call_of(row, sample)
        names = [name for name in SOURCES if re.search(rf"\b{name}\b", text)]
        for theirs in {tuple(names), tuple(names[::2]), tuple(names[1::2])} - {()}:
            compare(text, row.close, sample.startswith("?"), theirs)
            if row.name not in ("frexp", "modf") or "a, a, a" not in sample:
                assert kinds(text, theirs) == kinds(text, ()), text


def kinds(text, theirs):
    """The type of a result, of each of several, or of the error."""
    used = {name: source.copy() if name in theirs else np.array(source) for name, source in SOURCES.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(text, {"np": np, **used})
            plain(result)
            return [type(x) for x in result] if isinstance(result, (tuple, list)) else type(result)
    except Exception as error:
        return type(error)


METHODS = [(row, *match.groups()) for row, sample in CASES if row.method and (match := re.match(r"(\w+)(?:, (.*))?$",
    sample))
           and match[1] in SOURCES and "correction" not in sample]        # NumPy's methods do not know `correction`


@pytest.mark.parametrize("row, array, rest", METHODS,
                         ids=[f"{array}.{row.name}({rest or ''})" for row, array, rest in METHODS])
def test_method_as_numpy(row, array, rest):
    compare(f"{array}.{row.name}({rest or ''})", row.close)


@pytest.mark.parametrize("text", ["np.zeros(3) + 'a'", "np.add(np.zeros(3), 'a')", "np.sqrt(np.array([None]))"])
def test_what_holds_no_numbers_is_a_type_error(text):
    """Where NumPy has no answer either; else it is NumPy's: tests/test_held_by_numpy.py."""
    with pytest.raises(TypeError):
        eval(text, {"np": np})


def test_rows_are_complete():
    for row in TABLE.values():
        assert row.kind in KINDS and row.function.__doc__, row


# -- the rest of NumPy's names, and NumPy's own functions on our arrays --------------------------------

def test_other_names_of_numpy():
    """A blocking call on copies; types and constants are NumPy's."""
    a = np.array(SOURCES["a"])
    assert type(np.trim_zeros(a[0])) is np.ndarray and "Runs: waits for its arg" in np.trim_zeros.__doc__
    values, counts = np.unique(np.array([3, 1, 3]), return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([1, 3], [1, 2])
    assert np.float32 is numpy.float32 and np.pi is numpy.pi and np.errstate is numpy.errstate
    for name, result in (("SVD", np.linalg.svd(a)), ("QR", np.linalg.qr(a)), ("Eigh", np.linalg.eigh(a @ a.T)),
                         ("Eig", np.linalg.eig(a @ a.T)), ("Slogdet", np.linalg.slogdet(a @ a.T))):
        assert type(result) is getattr(numpy.linalg._linalg, name + "Result")
    assert np.linalg._linalg is numpy.linalg._linalg
    assert np._NoValue is numpy._NoValue and a.sum(where=np._NoValue) == a.sum()        # libraries ask for it
    assert np.apply_along_axis(lambda row: row.max(), 1, a).tolist() == SOURCES["a"].max(1).tolist()
    assert np.result_type(a, 1j) == "c16" and np.can_cast(a, "f8")
    with pytest.raises(AttributeError, match="module 'dflow.numpy' has no attribute 'nonsense'"):
        np.nonsense  # noqa: B018


def test_all_public_names_of_numpy_are_there():
    for module in ("", "linalg", "fft"):
        theirs = getattr(numpy, module) if module else numpy
        ours = getattr(np, module) if module else np
        assert [name for name in theirs.__all__ if name[:1] != "_" and not hasattr(ours, name)] == []


def test_index_tricks():
    assert np.mgrid[:2, :3].shape == (2, 2, 3) and type(np.r_[1:3, 5]) is np.ndarray
    assert np.c_[np.arange(2), np.arange(2)].tolist() == [[0, 0], [1, 1]]
    assert np.arange(12).reshape(3, 4)[np.ix_([0, 2], [1, 3])].tolist() == [[1, 3], [9, 11]]


def test_numpy_functions_on_our_arrays():
    a, plain = np.array(SOURCES["a"]), SOURCES["a"]
    for result in (numpy.sin(a), numpy.add.reduce(a), numpy.concatenate([a, plain]), numpy.linalg.norm(a),
                   numpy.fft.fft(a), numpy.unique(a), plain + a, plain @ a.T, numpy.float64(2) * a,
                   numpy.multiply.outer(plain, a)):
        assert hasattr(result, "asnumpy")
    numpy.testing.assert_array_equal(numpy.sin(a), numpy.sin(plain))


def test_numpy_functions_on_our_arrays_and_others():
    """Called by its own name, NumPy may return what no array of ours can hold."""
    x, others = np.arange(3.0), numpy.array([1, None, 2], object)
    assert [part.tolist() for part in numpy.broadcast_arrays(x, others)] == [[0, 1, 2], [1, None, 2]]
    assert numpy.concatenate([x, others]).tolist() == [0, 1, 2, 1, None, 2]
    assert numpy.add(x, numpy.array([1, 2, 3], object)).tolist() == [1, 3, 5]
    assert np.concatenate([x, others]).tolist() == [0, 1, 2, 1, None, 2]


def test_numpy_arrays_are_filled_after_waiting():
    a = dflow.engine.sleep(np.array(SOURCES["a"]), 1e-2)
    out = numpy.zeros((3, 4))
    assert numpy.sin(a, out=out) is out and (out == numpy.sin(SOURCES["a"])).all()
    out += a
    assert (out == numpy.sin(SOURCES["a"]) + SOURCES["a"]).all()
    out = numpy.zeros(4)
    assert numpy.sum(a, axis=0, out=out) is out and (out == SOURCES["a"].sum(0)).all()
    numpy.copyto(out, a[0])
    assert (out == SOURCES["a"][0]).all()


FILLED = [f"np.{call}, out=out)" for call in (
    "add(v, a[0]", "sum(a, 0", "mean(a, 0", "std(a, 0", "max(a, 0", "any(a, 0", "ptp(a, 0", "cumsum(a[0]",
    "add.reduce(a", "add.accumulate(v", "add.reduceat(v, [0, 1, 2, 3]",
    "clip(v, 0, 1", "round(v", "take(v, [0, 1, 2, 3]",
    "concatenate([v[:2], v[2:]]", "stack([v[0], v[1], v[2], v[3]]", "dot(v[:3], a", "matmul(a.T, v[:3]",
    "median(a, 0", "nanmax(a, 0", "choose(j, [v, v, v, v]", "compress([1, 1, 1, 1], v", "einsum('ij->j', a",
    "argmax(a, 0", "fft.fft(v", "linalg.multi_dot([v[:3], a]", "trace(f", "add(v, v, where=v > 0")] + [
    "v.cumsum(out=out)", "a.sum(0, out=out)", "v.clip(0, 1, out=out)", "a.mean(0, out=out)", "v[:3].dot(a, out=out)",
    "np.divmod(v, 2, out=(out, None))[0]", "np.add(v, 1, out)"]


@pytest.mark.parametrize("call", FILLED)
def test_numpy_arrays_as_out(call):
    """They are filled, after waiting, and returned."""
    dtype, shape = (int if "argmax" in call else complex if "fft" in call else float), 4
    outs = []
    for module, used in ((numpy, SOURCES), (np, {name: np.array(x) for name, x in SOURCES.items()})):
        outs.append(numpy.full(shape, 7, dtype))
        assert eval(call, {"np": module, **used, "out": outs[-1]}) is outs[-1]
    assert_same(outs[1], outs[0], True)


@pytest.mark.parametrize("call", ["np.add(v, 1, out=out)", "np.sum(a, 0, out=out)", "np.cumsum(v, out=out)",
                                  "np.concatenate([v], out=out)"])
def test_numpy_arrays_that_do_not_fit_as_out(call):
    readonly = numpy.zeros(4)
    readonly.flags.writeable = False
    for out in (numpy.zeros(3), readonly):
        errors = []
        for module, used in ((numpy, SOURCES), (np, {name: np.array(x) for name, x in SOURCES.items()})):
            with pytest.raises(ValueError) as caught:
                eval(call, {"np": module, **used, "out": out})
            errors.append(caught.type)
        assert errors[0] is errors[1] and not out.any()


NUMBERS = [True, 0, 3, 300, -1, 1 << 40, 1 << 63, 1 << 64, -(1 << 63), -(1 << 64), 1.5, 1e300, 1e-320, numpy.nan, 2j,
           1e300j]


@pytest.mark.parametrize("dtype", "?bBhHiIlLefdgFDG")
def test_where_with_python_numbers(dtype):
    for number in NUMBERS:
        for text in ("np.ones(2, t), number", "number, np.zeros(2, t)", "number, 3"):
            results = []
            for module in (np, numpy):
                names = {"np": module, "t": dtype, "number": number}
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results.append(outcome(partial(eval, f"np.where(np.array([True, False]), {text})", names)))
            assert_same_outcome(*results)


@pytest.mark.parametrize("mode", ["warn", "raise", "ignore"])
def test_tolerances_that_are_not_finite(mode):
    for tolerances in ((numpy.inf, 0.1), (0.1, numpy.nan)):
        answers = []
        for module in (np, numpy):
            with numpy.errstate(invalid=mode), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                answers.append(outcome(lambda module=module: module.isclose(module.ones(3), 1.5, *tolerances)))  # noqa: B023
            answers.append([(str(w.message), w.category, w.filename) for w in caught])
        assert_same_outcome(answers[0], answers[2])
        assert answers[1] == answers[3]


def test_comparisons_beyond_the_range_of_many():
    """Where the comparison is queued, as where it is run at once."""
    for number in (1 << 40, -1 << 40, 1 << 200, -1 << 200):
        x = np.arange(10000).astype("i4")
        assert (x < number).all() == (number > 0) and (number <= x).all() == (number < 0)
        assert not (x == number).any() and (number != x).all()


@pytest.mark.parametrize("text", ["x == words", "x != words", "words == x", "x * day", "day * x", "today + x",
                                  "x - things", "things - x", "x[0] == word", "x + words", "x < words",
                                  "x == things", "x / day"])
def test_operators_with_arrays_of_no_numbers(text):
    """They are NumPy's, and so is the result."""
    names = {"words": numpy.array(["0", "b", "c"]), "word": numpy.array("0"), "day": numpy.timedelta64(1, "D"),
             "today": numpy.datetime64("2020-02-28"), "things": numpy.array([0, 2.5, 3], object)}
    results = [outcome(partial(eval, text, names | {"x": module.arange(3)})) for module in (np, numpy)]
    if results[0][0] == "error":
        assert results[0] == results[1]
    else:
        assert results[0][1].dtype == results[1][1].dtype and results[0][1].tolist() == results[1][1].tolist()


class _Wrapped:
    """Its __array__ gives an array of the namespace that the program uses."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


@pytest.mark.parametrize("text", ["np.array(w)", "np.sin(w)", "np.ones(3) + w", "w + np.ones(3)", "np.array([w, w])",
                                  "np.array(w, 'f4')",
                                  "np.concatenate([w, [1]])", "np.asarray([w, [1, 2, 3]], int)", "np.array([w, [1]])"])
def test_what_gives_an_array_of_ours_is_one(text):
    results = []
    for module in (np, numpy):
        names = {"np": module, "w": _Wrapped(module.arange(3))}
        results.append(outcome(partial(eval, text, names)))
    if results[0][0] == "error":
        assert results[0][:2] == results[1][:2]
    else:
        assert_same_outcome(*results)


@pytest.mark.parametrize("text", ["np.concatenate([np.float32(1), 1.0], axis=None)",
                                  "np.concatenate([np.int8(1), 300], None)",
                                  "np.concatenate([np.int8(1), 2, 3.5], axis=None)",
                                  "np.concatenate([1, 2.0], axis=None)",
                                  "np.add.reduceat([1, 2], [0], axis=None)",
                                  "np.add.reduceat(np.arange(3.0), np.zeros((1, 1), int))",
                                  "np.add.reduceat([[1, 2]], [0], axis=None)"])
def test_weak_numbers_and_no_axis(text):
    compare(text, False)


def test_memory_that_may_be_shared():
    for module in (np, numpy):
        x = module.zeros((13, 21, 8))
        assert module.may_share_memory(x[:, 0], x[:, 1]) and not module.shares_memory(x[:, 0], x[:, 1])
        assert not module.may_share_memory(x[:, 0], x[:, 1], max_work=10000) and not module.may_share_memory(x[0], x[1])
        with pytest.raises(numpy.exceptions.TooHardError):
            module.shares_memory(x.ravel()[::7], x.ravel()[3::5], max_work=0)


def test_nested_iterators_write_to_the_array():
    for module in (np, numpy):
        x = module.arange(6.0).reshape(2, 3)
        outer, inner = module.nested_iters(x, [[0], [1]], op_flags=["readwrite"])
        for _ in outer:
            for y in inner:
                y[...] = 2 * y
        assert x.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_axes_in_arrays():
    for module in (np, numpy):
        x = module.ones((2, 3, 4))
        for axes in (module.array([2, 0, 1]), [2, 0, 1], (2, 0, 1), range(2, -1, -1)):
            assert x.transpose(axes).shape == module.transpose(x, axes).shape == tuple(x.shape[k] for k in axes)
        assert module.ones(3).transpose(module.array(0)).shape == (3,)


class LikeNumbas:
    """As what @numba.vectorize makes: no ufunc itself, but with one, whose loops are made when types call for them."""

    ufunc = numpy.hypot

    def __init__(self):
        self.compiled = set()

    def __call__(self, *args):
        for x in args:
            if hasattr(x, "asnumpy"):
                return x.__array_ufunc__(self, "__call__", *args)
        self.compiled.add(tuple(numpy.asarray(x).dtype.char for x in args))
        return self.ufunc(*args)


def test_ufuncs_that_numba_compiles():
    x, function = SOURCES["a"].astype("f4"), LikeNumbas()
    with configured(workers=2, limit=0), Gate() as gate:
        held = gate.hold(np.array(x))
        result = function(function(held, np.array(x)), 2.0)
        assert function.compiled == {("f", "f"), ("f", "d")} and not result.is_ready()
    assert (result.asnumpy() == numpy.hypot(numpy.hypot(x, x), 2.0)).all() and result.dtype == x.dtype


def test_third_party_ufuncs():
    special = pytest.importorskip("scipy.special")
    a = np.array(SOURCES["a"])
    assert type(special.erf(a)) is np.ndarray
    assert (special.erf(a).asnumpy() == special.erf(SOURCES["a"])).all()


def test_arrays_that_share_memory():
    for module in (numpy, np):
        x = module.arange(6)
        pairs = (x, x), (x[::2], x[1::2]), (x[:3], x[3:])
        assert [module.shares_memory(*pair) for pair in pairs] == [True, False, False]
        assert [module.may_share_memory(*pair) for pair in pairs] == [True, True, False]      # their bounds overlap
        assert not module.may_share_memory(*pairs[1], max_work=1000)


def test_put_by_keywords():
    for module in (numpy, np):
        x = module.arange(3)
        x.put(indices=[0, 4], values=7, mode="clip")
        assert x.tolist() == [7, 1, 7]


def test_ufuncs_are_ufuncs():
    assert isinstance(np.add, np.ufunc) and not isinstance(np.sum, np.ufunc)
    for add in (np.add, numpy.add):
        assert np.ufunc.reduce(add, [1, 2]) == np.ufunc.__call__(add, 1, 2) == np.ufunc.outer(add, 1, 2) == 3


@pytest.mark.parametrize("call", ["x.sort(descending=True)", "x.T.sort(0, descending=True, stable=True)"])
def test_descending_in_place(call):
    """A TypeError before NumPy 2.5."""
    results = []
    for module in (numpy, np):
        x = module.array(SOURCES["n"])
        try:
            eval(call, {"x": x})
            results.append(plain(x))
        except TypeError as error:
            results.append(type(error))
    assert results[0] is results[1] or same_bits(*results)


def test_depth_of_nested_sequences():
    if "ndmax" in str(inspect.signature(numpy.array)):
        for call in ("[[1, 2]], ndmax=2", "[[1, 2]], float, ndmax=1", "a, ndmax=1", "1, ndmin=2, ndmax=1"):
            compare(f"np.array({call})", False)


@pytest.mark.parametrize("text", ["a", "a.T", "a[::-1]", "a[:, ::2]", "a[0, ::2]", "a[:, :1]", "a[:1, ::-1]"])
@pytest.mark.parametrize("order", "CFAK")
def test_ravel_views_what_numpys_does(text, order):
    ours, theirs = (eval(text, {"a": module.array(SOURCES["a"])}).ravel(order) for module in (np, numpy))
    assert same_bits(ours.asnumpy(), theirs) and ours.flags.owndata == theirs.flags.owndata


def test_size_in_memory():
    x = np.ones(1000)
    assert 8000 < sys.getsizeof(x) < 8200 and sys.getsizeof(x[1:]) < 200 and sys.getsizeof(x[1:].copy()) > 7992


def test_flat_and_flags():
    x, plain = np.array(SOURCES["a"]), SOURCES["a"].copy()
    for y in (x, plain):
        y.flat[3] = 7
        y.T.flat[[1, 2]] = 9, 8
        y.flat[:2] = 5
    assert x.tolist() == plain.tolist() and [v.item() for v in x.flat] == plain.ravel().tolist()
    assert x.T.flat[1:3].tolist() == plain.T.flat[1:3].tolist() and len(x.flat) == 12
    for y in (x, x.T, x[::2, ::2]):
        theirs = y.asnumpy() if y.flags.forc else plain[::2, ::2]
        assert y.flat.__array__().flags.writeable == theirs.flat.__array__().flags.writeable == y.flags.c_contiguous
        assert y.flat.__array__().tolist() == theirs.ravel().tolist()
    assert x.flags.c_contiguous and x.T.flags["F"] and x.flags.writeable
    assert not np.broadcast_to(x, (2, 3, 4)).flags.writeable


FLAGS = ("x.num", "x.carray", "x.fortran", "x['FORTRAN']", "x['B']", "x['CA']", "x['FNC']", "x['c']",
         "x[3]", "x.__setitem__('C', True)", "x == x", "x != np.ones(3).flags", "x == 3", "hash(x)")


@pytest.mark.parametrize("array", ["np.zeros((2, 3))", "np.zeros((2, 3)).T", "np.zeros((2, 3))[::2, ::2]",
                                   "np.zeros(3)", "np.broadcast_to(np.zeros(3), (2, 3))"])
@pytest.mark.parametrize("text", FLAGS)
def test_flags_as_numpy(array, text):
    results = [outcome(partial(eval, text, {"np": module, "x": eval(array, {"np": module}).flags}))
               for module in (np, numpy)]
    assert results[0][:2] == results[1][:2]


FLAT_KEYS = ("2", "-1", "9", "slice(0, 3)", "slice(None, None, 4)", "...", "()", "(1,)", "((1, 2),)", "(slice(2), 1)",
             "None", "'a'", "[True] * 9", "np.array([True] * 8 + [False])", "np.array([True])", "[1.0, 2.0]", "1.0",
             "[]",
             "np.array([[0, 1]])", "np.array([1, 12])", "np.array([1.0])", "2 ** 70")


CONVERSIONS = ("np.array([1], copy='a')", "np.asarray([1], copy='always')", "np.array([1], ndmin=70)",
               "np.array([1], order=1)", "np.zeros(3, order=None)", "np.full((2, 3), 1, None, None)", "np.ones(3, 'c')",
               "np.ones((2, 2), order='f')", "np.eye(3, order=None)", "np.ones(3, order='K')", "np.zeros(3, order=3)",
               "np.array([[1, 2]], ndmax=1)", "np.array([[1, 2]], ndmax=2)", "np.array([1, 2], ndmin=3, ndmax=2)",
               "np.array([1], ndmax=-1)", "np.array(a, ndmax=1)", "np.array(2, ndmax=0)", "a.reshape((True, -1))",
               "np.zeros((True, 2))",
               "a.astype('i4', casting='x')", "a.astype('i4', casting='same_value')",
               "i.astype('i1', casting='same_value')",
               "(i * 100).astype('i1', casting='same_value')", "a.astype('i4', casting='safe')",
               "s.astype('i4', casting='safe')",
               "a.astype('f4', order='Z')")


@pytest.mark.parametrize("text", CONVERSIONS)
def test_conversions_as_numpy(text):
    compare(text, False)


@pytest.mark.parametrize("order", "CFAKcfak")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("array", ["f", "f.T", "f.swapaxes(0, 1)", "f[:, 1]", "f[0, 0]", "f[..., :1]"])
def test_memory_order_of_astype(array, dtype, order):
    results = []
    for module in (np, numpy):
        x = eval(array, {"f": module.array(SOURCES["f"])})
        y, same = x.astype(dtype, order=order), x.astype(dtype, order, copy=False)
        results.append((y.strides, same.strides, same is x, y.tolist(), same.tolist(), y.dtype))
    assert results[0] == results[1]


@pytest.mark.filterwarnings("ignore:Invalid non-array indices:DeprecationWarning")
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("key", FLAT_KEYS)
def test_keys_and_values_of_flat(key, order):
    """Values are used again and again; what NumPy's iterator does not take, or warns of, is its own."""
    for value in (None, 77, [1, 2], [[1, 2]], [[[5]]]):
        results = []
        for module in (numpy, np):
            x = module.array(SOURCES["i"][:3, :3], order=order)

            def use(x=x, module=module, value=value):
                place = eval(key, {"np": module})
                if value is None:
                    return x.flat[place]
                x.flat[place] = value
                return x

            results.append(outcome(use))
        assert_same_outcome(*results)


def test_flat_is_an_iterator():
    for module in (numpy, np):
        x = module.arange(6).reshape(2, 3).T
        flat = x.flat
        assert (flat.index, flat.coords, flat.base is x, iter(flat) is flat) == (0, (0, 0), True, True)
        assert [next(flat).item(), next(flat).item()] == [0, 3] and (flat.index, flat.coords) == (2, (1, 0))
        x[2, 1] = 9                         # seen, though the iterator is on its way
        assert [element.item() for element in flat] == [1, 4, 2, 9] and (flat.index, flat.coords) == (6, (3, 0))
        assert next(flat, None) is None and next(module.array(2.5).flat).item() == 2.5


RESIZES = ("np.arange(6)", "np.arange(2)", "np.ones((2, 3))", "np.array(numpy.asfortranarray(a))", "np.zeros(0)",
           "np.array(5)")


@pytest.mark.parametrize("shape", ["4, ", "(2, 3), ", "3, 2, ", "(), ", "0, ", "None, ", ""])
@pytest.mark.parametrize("array", RESIZES)
def test_resize_as_numpy(array, shape):
    results = []
    for module in (numpy, np):
        names = {"np": module, "numpy": numpy, "a": SOURCES["a"]}
        x = eval(array, names)
        eval(f"x.resize({shape}refcheck=False)", {"x": x})
        results.append((plain(x), x.ndim > 0 and x.flags.f_contiguous))
    assert results[0][1] == results[1][1] and results[0][0].shape == results[1][0].shape
    assert same_bits(results[1][0], results[0][0])


def test_views_keep_what_they_see_when_their_base_is_resized():
    x = np.arange(3)
    y = x[1:]
    x.resize(5)
    x += 1
    assert x.tolist() == [1, 2, 3, 1, 1] and y.tolist() == [1, 2]


@pytest.mark.parametrize("text", ["i", "c", "h", "b", "f.T", "i[:, 1:]", "s"])
def test_byteswap_as_numpy(text):
    compare(f"{text}.byteswap().view('u1') if {text}.ndim else {text}.byteswap()", False)
    for module in (numpy, np):
        x = module.array(SOURCES["i"])
        y = x[:, 1:]
        assert y.byteswap(inplace=True) is y and x[0, 1].item() == 5 << 56 and x[0, 0].item() == 0


def test_pickles_and_copies_keep_the_order_of_memory(tmp_path):
    for array in (np.array(SOURCES["f"]), np.array(SOURCES["f"]).T, np.array(SOURCES["a"])[:, 1:]):
        array[:1].dump(tmp_path / "array")
        with open(tmp_path / "array", "rb") as file:
            assert same_bits(pickle.load(file).asnumpy(), array[:1].asnumpy())
        for again in (pickle.loads(pickle.dumps(array)), pickle.loads(array.dumps()), copy.copy(array),
                      copy.deepcopy(array)):
            assert same_bits(again.asnumpy(), array.asnumpy()) and not np.shares_memory(again, array)
            assert again.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize("other", [None, "a", b"a", {}, set(), object(), type, Ellipsis])
def test_nothing_equals_what_is_no_number(other):
    for name in ("v", "i", "s"):
        x = SOURCES[name]
        for left, right in ((x == other, np.array(x) == other), (other != x, other != np.array(x))):
            assert_same(plain(right), plain(left), False)


MEMORY = ("f", "f.T", "f.swapaxes(0, 1)", "f.transpose(1, 2, 0)", "f[::-1]", "f[:, ::-1].T", "f[:, 1:]", "f[:, ::2].T",
          "f[:1]", "np.broadcast_to(f[0, 0], (2, 3, 4)).T", "a", "v", "s")


@pytest.mark.parametrize("array", MEMORY)
@pytest.mark.parametrize("call", ["ravel('K')", "ravel('A')", "ravel('F')", "ravel(None)", "flatten('K')",
                                  "flatten('f')",
                                  "ravel('x')", "flatten('x')", "ravel(5)", "reshape(-1, order='K')",
                                  "reshape(-1, order='x')", "reshape(-1, order='A')"])
def test_order_of_memory(array, call):
    compare(f"{array}.{call}", False)


def test_ravel_is_a_view_where_it_can_be():
    for module in (numpy, np):
        f = module.array(SOURCES["f"])
        g = f.transpose(1, 2, 0)
        assert module.shares_memory(g.ravel("K"), f) and not module.shares_memory(g.ravel(), f)
        assert not module.shares_memory(g.flatten("K"), f)


TOO_BIG = ("np.empty((1 << 40, 1 << 40))", "np.ones((1 << 32, 1 << 32, 1 << 32))", "np.eye(1 << 32)",
           "np.ones(10).reshape(2, 13, 419, 691, 823, 2977518503)", "np.broadcast_to(v, (1 << 62, 4))",
           "np.broadcast_to(v[:1], (1 << 32, 1)) + np.broadcast_to(v[:1], (1, 1 << 32))", "np.repeat(v[:3], 1 << 62)")


@pytest.mark.parametrize("text", TOO_BIG)
def test_sizes_beyond_integers(text):
    """Their products wrap round to small numbers, which must not become arrays."""
    for module, used in ((numpy, SOURCES), (np, {"v": np.array(SOURCES["v"])})):
        with pytest.raises(ValueError):
            eval(text, {"np": module, "v": used["v"]})


def test_a_list_in_itself():
    endless = []
    endless.append(endless)
    for module in (numpy, np):
        with pytest.raises(ValueError, match="maximum number of dimension"):
            module.array(endless)


UFUNCS = ("add(i, i, sig='dd->d')", "add(a, a, signature='dd->d', dtype=float)",
          "add(a, 1, sig='dd->d', signature='dd->d')",
          "add(a, 1, order='F').flags.f_contiguous", "add(a.T, 1, order='C').flags.c_contiguous",
          "add(a, 1, order='x')", "add(a.T, 1, order=None).flags.c_contiguous", "sqrt(f, order='F').strides",
          "divmod(a, 2, order='F')[1].strides",
          "add(a, 1, where=[1, 0, 1, 0], out=a)", "add(a, 1, where=i, out=a)", "matmul.reduce(f)",
          "matmul.accumulate(f)",
          "matmul.reduceat(f, [0])", "vecdot.outer(v, v)", "matmul.at(f, [0], v)", "divmod.reduce(v)",
          "sin.reduce(v)",
          "sin.accumulate(v)", "modf.at(v, [0])", "divmod.reduceat(v, [0])", "add.accumulate(v, None)",
          "add.accumulate(a, None)", "matmul(a, a.T, keepdims=True)", "vecdot(a, a, keepdims=True)",
          # Of other types than the loop's: cast back after each step.
          "multiply.at(i, [0, 0], 2.5)", "add.at(i, ([1, 1], [2, 2]), np.array([0.5, 1.5]))", "less.at(i, [0, 0], 3)",
          "add.at(i[0], i[0] % 3, i[0] * 0.5)", "logical_and.at(i, 0, 2)", "sqrt.at(h, np.array([0, 0]))",
          "add.at(i, [3], 0.5)", "add.at(i[0], [0, 1], [0.5, 1, 2])",
          "add(a, 4.0, dtype='f4', casting='equiv')", "add(i, 2.5, dtype=int, casting='equiv')",
          "add(f, 3.0, casting='equiv')",
          "add(a, f, casting='equiv')", "add(a, 4, casting='x')", "add(a, 4, casting='equiv')",
          "add(a, 4.0, dtype='f4', casting='no')")


@pytest.mark.parametrize("text", UFUNCS)
def test_options_and_methods_of_ufuncs(text):
    compare(f"np.{text}", False)


def test_nditer_reads_and_writes_the_array():
    for module in (numpy, np):
        x = module.arange(6).reshape(2, 3)
        y = x * 2
        with module.nditer([x, y], op_flags=[["readwrite"], ["readonly"]]) as pairs:
            for left, right in pairs:
                left[...] = left + right
        assert x.tolist() == [[0, 3, 6], [9, 12, 15]]
        x.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            module.nditer(x, op_flags=["readwrite"])


def test_sliding_windows_are_views():
    for module in (numpy, np):
        x = module.arange(6)
        windows = module.lib.stride_tricks.sliding_window_view(x, 3)
        x[2] = 9
        assert windows.tolist() == [[0, 1, 9], [1, 9, 3], [9, 3, 4], [3, 4, 5]] and not windows.flags.writeable


def test_assertions_of_numpy_testing():
    x = np.arange(3.0)
    for compare in (np.testing.assert_equal, np.testing.assert_almost_equal, np.testing.assert_allclose):
        compare(x, numpy.arange(3.0))
        compare(x.sum(), 3.0)
        with pytest.raises(AssertionError):
            compare(x, x + 1)
    np.testing.assert_equal({"x": [x, x]}, {"x": [x, x]})
    np.testing.assert_equal(np.linalg.slogdet(np.eye(2, dtype="c8")), (1, 0))


def test_elements_as_numpy_scalars():
    for module in (numpy, np):
        x = module.array([3, 1])
        assert [0] * x[0] == [0, 0, 0] and x[0] * (1, 2) == (1, 2) * 3
        assert (module.array(3) * [0]).tolist() == [0]
        assert (module.isscalar(x[0]), module.isscalar(x.sum()), module.isscalar(x), module.isscalar(2)) == (
            True, True, False, True)
        assert module.isscalar("a")
        for convert in (int, float, complex):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                results = [outcome(partial(convert, y[:1])) for y in (x, numpy.array([3, 1]))]
            assert_same_outcome(*results)
    assert np.ndarray[tuple[int, int], np.dtype[np.float64]].__origin__ is np.ndarray


VIEWS = ("x", "x[1:]", "x.T", "x[1:].T[::2]", "x.reshape(-1)", "x.diagonal()", "x.T.diagonal(1)", "x[None]", "x.real",
         "x[::2, ::-1].diagonal(-1)", "np.diag(x)", "x[...]", "x.view()", "np.broadcast_to(x, (2, 3, 4))",
         "np.expand_dims(x, 1)")


@pytest.mark.parametrize("view", VIEWS)
def test_base_and_writeable(view):
    answers = []
    for module in (numpy, np):
        x = module.array(SOURCES["a"])
        y = eval(view, {"np": module, "x": x})
        before = y.base is x, y.base is None, y.flags.owndata, y.flags.writeable, module.shares_memory(x, y)
        if not view.startswith("np.broadcast_to"):      # NumPy lets nobody make those writeable
            y.setflags(write=True)
            y[...] = 5
        y.flags.writeable = False
        assert not y.flags["W"]
        with pytest.raises(ValueError, match="read-only"):
            y[...] = 6
        answers.append((*before, x.tolist(), y.tolist(), y[:1].flags.writeable, x.flags.writeable))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("copy", [
    "np.array(x, order='F')", "np.zeros((3, 4), order='F')", "np.full((3, 4), 2., order='F')", "x.copy('F')",
    "x.astype('f4', order='F')", "x.flatten('F')", "x.ravel('F')", "x.T.ravel()", "x[:, ::2].ravel()",
    "np.asfortranarray(x)",
    "np.eye(3, order='F')", "np.asarray(x, order='F')", "np.nan_to_num(x.T.copy('K'))", "x.T.copy('K')", "x.T.copy()"])
def test_a_copy_has_no_base_in_any_order(copy):
    answers = []
    for module in (numpy, np):
        y = eval(copy, {"np": module, "x": module.array(SOURCES["a"])})
        answers.append((y.base is None, y.flags.owndata, y.flags.f_contiguous, y.flags.c_contiguous, y.strides))
    assert answers[0] == answers[1]


def test_a_view_becomes_writeable_only_if_its_base_is():
    for module in (numpy, np):
        x = module.zeros(3)
        x.flags["WRITEABLE"] = False
        y = x[:2]
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True of this array"):
            y.flags.writeable = True
        with pytest.raises(ValueError, match="read-only"):
            x += 1
        x.setflags(write=True)
        y.setflags(write=True)
        y += 1
        assert x.tolist() == [1, 1, 0]


def test_a_base_lives_as_long_as_its_views():
    x = np.arange(4)[1:]
    assert x.base.tolist() == [0, 1, 2, 3] and x[1:].base is x.base


@pytest.mark.parametrize("order", ["C", "F", "A", "c", "f", "a"])
def test_order_of_the_results_of_einsum(order):
    for inputs in (("C", "C"), ("F", "F"), ("F", "C")):
        results = []
        for module in (np, numpy):
            x, y = (module.ones(shape, order=inner) for shape, inner in zip([(2, 3, 5), (4, 3)], inputs))
            flags = module.einsum("...ft,mf->...mt", x, y, order=order).flags
            results.append((flags.c_contiguous, flags.f_contiguous))
        assert results[0] == results[1]


def test_einsum_gives_a_diagonal_to_write_to():
    for module in (numpy, np):
        x = module.zeros((2, 2))
        module.einsum("ii->i", x)[...] = 1
        assert x.tolist() == [[1, 0], [0, 1]]


SUBSCRIPTS = (
    "a[k]", "a[k[::-1]]", "a[:, 1][k]", "a[k - 3]", "a[[2, 0, -1]]", "a[[True, False, True]]",
    "a[k.reshape(1, 3)]", "a[k[:0]]", "a[k + 1]", "a[k - 4]", "a[a > 0]", "a.T[a.T > 0]", "a[b[:2]]",
    "a[:, 0][b[:, 0]]", "v[k]", "v[::-1][k]", "v[k.reshape(3, 1)]", "np.take(a, k, 1)",
    "np.take(a[:, :, None], k, 1)", "np.take(a[:, None], [0, 0], 1)", "np.take(a.T, k, 0)", "np.take(a, 5)",
    "v.take([1, 1])", "v.take(-1)", "np.take(e, k[:0], 1)", "np.stack([a, a], 2)", "np.stack([v, v, v], -1)",
    "np.stack([i, a])", "np.concatenate([a, a], -1)", "np.concatenate([a[:, :0], a], 1)",
    "np.concatenate([a.T, a.T])", "np.concatenate([b, i, a])", "np.argmax(a[:, None], 2)", "np.argmax(a[::2], 1)",
    "np.sort(a[:, None], 1)", "np.argsort(a[::-1])", "np.sort(a.T, 0)")
STORES = (
    "np.add(v[:-1], v[1:], out=v[1:])", "np.add(v, 1, out=v)", "np.multiply(v, v[::-1], out=v)",
    "np.add(v, 1, out=v[:2])", "np.add(a[0], v, out=a[0])", "np.add(i, 1, out=i)", "np.add(i, 1.5, out=a)",
    "np.add(a, 1, out=i)", "np.add(a, a.T[:3, :3], out=a)", "np.add(a, v, out=np.broadcast_to(a, (2, 3, 4))[0])",
    "a[k] = 1", "v[k] = 1.5", "v[k] = v[1:]", "v[k] = a[0, :3]", "v[k - 3] = [7, 8, 9]",
    "v[[1, 1, 1]] = np.array([1.0, 2, 3])", "v[k] = i[0, :3]", "v[k + 2] = 1", "v[k] = v", "v[::-2][k[:2]] = 5",
    "i[0][k] = 300", "v[k] = 2j", "v[v > 0] = 0", "a[a > 0] = -1", "a[b[0]] = 1", "a.T[b.T] = 1", "i[0][:] = 3",
    "v[0] = v[1]", "v[0] = i[0, 0]", "v[-1] += 2", "v[4] = v[0]", "v[0] = a", "a[0] = v", "a[0, 0] = v[1]",
    "v.sort()", "a.sort()", "a.sort(0)", "a[:, ::-1].sort()", "a.T.sort()", "i.sort(kind='stable')",
    "a.sort(axis=2)", "s.sort()", "np.broadcast_to(v, (2, 4)).sort()", "v[1:].sort()", "v[np.argsort(v)] = v",
    "a[0] = ['1', '2.5', '3', '4']", "a[0] = None", "a[0] = 'x'", "i[0] = [1.5, np.inf, 2, 3]",
    "a[0, 0] = None", "a[0, 0] = '7'", "i[0, 0] = np.float32(2.5)", "v[1, ...] = np.array([5.0])", "v.fill(a[0, 0])",
    "v.fill(None)", "i.fill(np.array(7.5))", "v = np.full((), [3.0])",
    "np.multiply.at(i, ([0, 0], [1, 1]), 2.5)", "np.add.at(i[0], [0, 0, 1], 0.5)", "np.equal.at(v, [0, 1], 0.5)",
    "np.sqrt.at(i[:, ::2], [0])", "np.true_divide.at(i, (0, 1), v[:1])", "np.add.at(i, (k, k), a[0, :3])",
    "np.add.at(i, [5], 1.5)", "np.add.at(s.astype(int), (), 1.5)",
    "a.view('i8')[...] = a", "a[...] = a.view('i8')",
    # Indices in the memory that is written: they are read first, or some would come to lie outside.
    "i[0, 2:][i[0, :2] % 2] = 99", "i[1:][i[:2, 0] % 2] = 1 << 40", "i[0][None, :][0, i[0] % 4] = 1 << 40")


@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize("text", SUBSCRIPTS + STORES)
def test_subscripts_as_numpy(text, limit):
    """Small and ready, or queued: the same."""
    results = []
    with configured(**({} if limit is None else {"limit": limit})):
        for module in (numpy, np):
            names = {name: module.array(x) for name, x in SOURCES.items()}
            names |= {"np": module, "k": module.array([2, 0, 1])}
            try:
                exec(text if text in STORES else f"result = {text}", names)
                results.append([plain(names[name]) for name in ("a", "v", "i", "result") if name in names])
            except Exception as error:
                results.append([type(error)])
    expected, actual = results
    assert len(actual) == len(expected)
    for x, y in zip(actual, expected):
        assert (x is y) if isinstance(y, type) else (x.dtype, x.shape) == (y.dtype, y.shape) and same_bits(x, y)


def test_large_zeros_in_used_memory():
    """Their pages are taken from the system again; what was written to the same block is gone."""
    for shape in ((5_000_000,), (5_000_001,), (2500, 2000)):
        for fill in (lambda x: np.zeros(x.shape), np.zeros_like, lambda x: np.full(x.shape, -0.0)):
            x = np.ones(shape)
            dflow.waitall()
            y = fill(x)
            del x
            x = fill(y)
            x[1:3] = 1
            assert x.any() and not y.any() and x.sum() == x[1:3].size
            assert np.signbit(y).all() == np.signbit(y[-1]).all()


@pytest.mark.parametrize("exponent", [2, 2.0, 0.5, 1, -1, 0, 3, -2, 1 << 70, 1.5])
@pytest.mark.parametrize("name", ["a", "a[1, 1]", "a.astype('f4')", "i", "i[0, 1]", "b", "b[0, 0]", "c", "c[0]", "h"])
def test_powers_as_numpy(name, exponent):
    results = []
    for module in (numpy, np):
        x = eval(name, {key: module.array(value) for key, value in SOURCES.items()})
        with numpy.errstate(all="ignore"):
            for power in (operator.pow, operator.ipow):
                try:
                    results.append(plain(power(x, exponent)))
                except Exception as error:
                    results.append(type(error))
    for expected, actual in zip(results[:2], results[2:]):
        if isinstance(expected, type):
            assert isinstance(actual, type)
        else:
            assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape) and same_bits(actual, expected)


SELECTIONS = (
    "r = z[m]", "r = z.astype('?')[m]", "r = z.astype('f4')[m]", "r = z.astype('g')[m]", "r = z.astype('D')[m]",
    "r = z.astype('G')[m]", "r = z[m[:, 0]]", "r = z[m & False]", "r = z[m | True]", "r = z.T[m.T]",
    "r = z[:, 3:][m[:, 3:]]",
    "z[m] = z[m] ** 2", "z[m] += 1", "z[m] = np.array(7)", "z[m[:, 1]] = z[m[:, 1]] + 1", "z[m[:, 1]] = 2.5",
    "z[::-1][m[::-1]] = np.arange(int(m.sum()))", "z[~m] = z[~m][::-1]", "z[m] = [1, 2]", "z[m[0]] = 1",
    "r = z[:, m[0]]",
    "z[:, m[0]] = z[1:, m[0]][:1]", "r = f[:, m[:60]]", "f[:, m[:60]] = f[::-1, m[:60]]", "r = f[1, m[:60]]",
    "r = f.swapaxes(1, 2)[:, m[:60].T]", "r = f.T[m[:60].T]", "f.T[m[:60].T, 1] = 5", "r = f[m[:4, :60]]",
    "m[m] = False", "r = m[m]", "m[:, 0][m[:, 1]] = m[:, 2][m[:, 1]]",
    *(f"r = v[p.astype('{t}')]" for t in "bhilBHIL"), "r = v[-1 - p]", "r = v[p.reshape(2, -1)]", "r = v[::-1][p]",
    "r = z[p]", "r = z[:, p]", "r = z[p, p + 1]", "r = z[p[:, None], p[:9]]", "r = z[p, 1]", "r = f[p % 3, :, p]",
    "r = f[:, p % 60, p - 7]", "r = f[p % 3, None, p % 60]", "r = z[::2, ::3][p % 50]", "r = z.T[p]", "r = z[p, p[:7]]",
    "r = z[m[:, 0], p[:1]]", "r = z[m[:90], p[:1]]", "r = v[p + 80]", "r = z[p, p - 400]", "r = v[p.astype(float)]",
    "v[p] = p", "v[p] = 1", "v[p] = p[::-1] * 0.5", "z[p] = v[0]", "z[p] = np.arange(400.0)", "z[p, p] = p",
    "z[:, p] = 3",
    "z[p[:, None], p[:9]] = -p[:9]", "f[:, p % 60] = 1", "z.T[p] = 4", "z[p.reshape(2, -1)] = 2",
    "r = z[p]; p[...] = 0", "r = z[m]; m[...] = False", "r = v[p]; v[...] = 0")


@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize("text", SELECTIONS)
def test_selections_of_many(text, limit):
    """Masks of several parts, indices of all integer types, in and out of order."""
    names = {"z": numpy.arange(80000.0).reshape(200, 400), "f": numpy.arange(72000).reshape(3, 60, 400),
             "v": numpy.arange(90.0), "p": numpy.arange(2000) * 7919 % 89}
    names["m"] = names["z"] * 0.37 % 1 < numpy.linspace(0, 1, 200)[:, None]
    results = []
    with configured(**({} if limit is None else {"limit": limit})):
        for module in (numpy, np):
            ours = {name: module.array(x) for name, x in names.items()} | {"np": module}
            try:
                exec(text, ours)
                results.append([plain(ours[name]) for name in "zfvpmr" if name in ours])
            except Exception as error:
                results.append([type(error), str(error)])
    expected, actual = results
    assert len(actual) == len(expected)
    for x, y in zip(actual, expected):
        assert x == y if isinstance(y, (type, str)) else (x.dtype, x.shape) == (y.dtype, y.shape) and same_bits(x, y)


@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize("dtype", "?bBhHiIlLqQefdgFDG")
def test_fills(dtype, limit):
    """A constant of each type, zero or not, as a run of memory or with steps; converted from another type."""
    with configured(**({} if limit is None else {"limit": limit})):
        results = []
        for module in (numpy, np):
            x = module.zeros((7, 9), dtype)
            x[1:3] = 1
            x[3:, ::2] = module.array(5, "i4")
            x[3:, 1::3] = 0
            y = module.full((5, 3), 3, dtype)
            y[::2] = module.array([[2.0]])
            results.append((plain(x).tolist(), plain(y).tolist()))
    assert results[0] == results[1]


def test_iteration_sees_what_is_assigned_on_the_way():
    for module in (numpy, np):
        x, seen = module.arange(3), []
        for element in x:
            x[2] = 9
            seen.append(element.item())
        assert seen == [0, 1, 9]


def test_queued_as_numpy():
    """A sample of the table with nothing run in the caller."""
    with configured(limit=0):
        for row, sample in CASES[::7]:
            compare(call_of(row, sample), row.close, sample.startswith("?"))


@pytest.mark.parametrize("dtype", ["float64", "longdouble", "clongdouble"])
def test_small_arrays_are_aligned_for_their_type(dtype):
    """Their data lies behind the header of the storage."""
    alignment = numpy.dtype(dtype).alignment
    arrays = [np.zeros(n, dtype=dtype) + 1 for n in range(1, 20)]
    assert all(dflow.submit(lambda a: a.ctypes.data % alignment, a).result() == 0 for a in arrays)


def test_subclasses_of_numpys_arrays_stay_what_they_are(tmp_path):
    """A matrix multiplies in its own way; what is written to a map of a file is in the file."""
    with pytest.warns(PendingDeprecationWarning):
        m = np.asmatrix(np.array([[1.0, 2], [3, 4]]))
        assert type(m) is numpy.matrix and (m * m == [[7, 10], [15, 22]]).all()
        a = np.array([[1.0, 2]])
        assert np.bmat("a; m").tolist() == np.r_["a; m"].tolist() == [[1, 2], [1, 2], [3, 4]]
        np.asmatrix(a)[0, 1] = 7
        assert a.tolist() == [[1, 7]]
    path = tmp_path / "a.npy"
    np.save(path, np.arange(4))
    mapped = np.load(path, mmap_mode="r+")
    mapped[1] = 7
    mapped.flush()
    assert np.load(path).tolist() == [0, 7, 2, 3]


@pytest.mark.filterwarnings("ignore:The:DeprecationWarning")
@pytest.mark.parametrize("text", ["linalg.qr(a, 'full')", "linalg.qr(a, 'economic')", "linalg.qr(a, 'raw')",
                                  "linalg.multi_dot([a, a.T], out=np.ones((3, 3), 'f4'))"])
def test_ways_of_linalg(text):
    compare(f"np.{text}", True)


def test_conditions_without_axes_reach_numpy_as_scalars():
    assert np.piecewise(np.array(3), np.array(3) > 3, [4, 0]) == 0
