"""Elements beside code that knows NumPy's scalars: what they are instances of, what they lack, how they are stored."""

import collections
import copy
import functools
import json
import numbers
import pickle
import sqlite3

import numpy
import pytest
from compare import assert_same, assert_same_outcome, outcome
from engines import Gate, configured

import dflow.numpy as np

pytestmark = pytest.mark.once

TYPES = "?bhilqBHILQefdgFDG"
KINDS = (numpy.generic, numpy.number, numpy.integer, numpy.signedinteger, numpy.unsignedinteger, numpy.inexact,
         numpy.floating, numpy.complexfloating, numpy.bool, numpy.int8, numpy.int64, numpy.float32, numpy.float64,
         numbers.Number, numbers.Complex, numbers.Real, numbers.Rational, numbers.Integral, bool, int, float, complex,
         str, bytes, list, tuple, collections.abc.Mapping, collections.abc.Sequence, numpy.ndarray)


@pytest.mark.parametrize("dtype", TYPES)
def test_what_elements_are_instances_of(dtype):
    ours, theirs = (module.ones(3, dtype)[1] for module in (np, numpy))
    for kind in KINDS:
        assert isinstance(ours, kind) == isinstance(theirs, kind), kind
    assert ours.__class__ is type(theirs) and not isinstance(ours, np.ndarray)
    total = np.ones(3, dtype).max()
    assert isinstance(total, numpy.generic) and np.issubdtype(type(total), np.number) == (dtype != "?")
    assert np.issubdtype(ours.dtype, np.floating) == numpy.issubdtype(theirs.dtype, numpy.floating)


def test_arrays_are_no_numbers():
    for x in (np.arange(3.0), np.array(2.0), np.ones((1, 1))):
        assert x.__class__ is np.ndarray and not isinstance(x, (numbers.Number, numpy.generic, float))
    with pytest.raises(TypeError):
        np.arange(3.0).__class__ = dict


def test_a_pending_element_is_not_waited_for():
    with configured(workers=1), Gate() as gate:
        x = gate.hold(np.arange(3.0))[1]
        assert isinstance(x, numbers.Real) and not hasattr(x, "__len__") and not x.is_ready()


def test_what_elements_lack():
    for name in ("__len__", "__iter__"):
        for dtype in TYPES:
            ours, theirs = (module.ones(3, dtype)[1] for module in (np, numpy))
            assert_same_outcome(*(outcome(functools.partial(getattr, x, name)) for x in (ours, theirs)))
        assert callable(getattr(np.arange(3), name)) and callable(getattr(np.ndarray, name))
    for function in (len, iter, list):
        with pytest.raises(TypeError):
            function(np.arange(3)[1])
    assert len(np.arange(3)) == 3 and np.arange(3).__len__() == 3 and [*np.arange(3).__iter__()] == [0, 1, 2]


def test_elements_of_subclasses():
    class Own(np.ndarray):
        pass

    x = Own((3,))
    x[:] = 7
    assert x.__class__ is Own and len(x) == 3 and [*x] == [7, 7, 7]


def test_copies_of_elements_are_elements():
    x = np.arange(3.0)[2]
    for again in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(again) is type(x) and again.shape == () and again == 2


def test_a_function_by_the_type_of_its_argument():
    @functools.singledispatch
    def kind(x):
        return "else"

    kind.register(float, lambda x: "float")
    kind.register(numbers.Integral, lambda x: "integer")
    for x in (np, numpy):
        assert [kind(x.ones(1, t)[0]) for t in "dli?"] == ["float", "integer", "integer", "else"]


def test_a_complex_element_as_float_warns():
    for module in (np, numpy):
        with pytest.warns(numpy.exceptions.ComplexWarning, match="discards the imaginary part"):
            assert float(module.array([1 + 2j])[0]) == 1


# -- a number of an element's type -----------------------------------------------------------------

@pytest.mark.parametrize("dtype", TYPES)
def test_the_type_of_an_element_is_as_numpys(dtype):
    """Of elements that came each way that elements come."""
    theirs = numpy.ones(1, dtype)[0]
    like = type(theirs)
    a = np.ones(3, dtype)
    for x in (a[1], a[np.array(2)], a.max(), np.ones((2, 2), dtype)[1, 1], next(iter(a)), a[1].copy(), a[1].T,
              np.array(1, dtype)[()], a.flat[1], np.squeeze(a[1]), a.take(1), a[:1].reshape(())[()]):
        kind = type(x)
        assert kind is type(a[0]) and hash(kind) == hash(like) and kind.__name__ == like.__name__
        if dtype not in "gG":
            assert kind == like and like == kind and not kind != like
            assert kind in (like, dict) and {like: 1}[kind] == 1
    assert kind.__mro__[1:] == like.__mro__ and repr(kind) == repr(like) and kind != numpy.ndarray != kind
    assert getattr(kind, "fromhex", None) == getattr(like, "fromhex", None) and not hasattr(kind, "__len__")
    assert type(kind(1)) is like and kind(1) == 1 and numpy.dtype(kind) == np.zeros(1, kind).dtype == theirs.dtype
    assert pickle.loads(pickle.dumps(kind)) is like and copy.copy(kind) is kind
    for abstract in KINDS[:-1]:
        if abstract.__module__ == "numpy":
            assert np.issubdtype(kind, abstract) == numpy.issubdtype(kind, abstract) == numpy.issubdtype(like, abstract)
        elif abstract.__module__ == "numbers":
            assert issubclass(kind, abstract) == issubclass(like, abstract), abstract
    assert issubclass(like, kind) and isinstance(theirs, kind) and not issubclass(kind, np.ndarray)
    for name in ("Iterable", "Sized", "Container", "Hashable"):
        abstract = getattr(collections.abc, name)
        assert issubclass(kind, abstract) == (name == "Hashable")       # first: what is known of one is known of both
        assert issubclass(like, abstract) == isinstance(x, abstract) == (name == "Hashable")


@pytest.mark.parametrize("dtype", TYPES)
def test_numpys_arrays_of_elements_have_their_bits(dtype):
    """NumPy has a table of types, by which a list of its numbers is read: no bit may be lost on that way."""
    source = numpy.array([0, 1, 3, 100, 7]).astype(dtype)
    if source.dtype.kind in "fc":
        source = source / 7
        source[1] += numpy.finfo(source.dtype).eps
        source[2:4] = numpy.nan, -numpy.inf
    elif dtype != "?":
        source[2], source[3] = numpy.iinfo(dtype).max, numpy.iinfo(dtype).min
    ours = np.array(source)
    lists = [(source, list(ours)), (source[:1], [ours[0]]),
             (source[:4].reshape(2, 2), [[ours[0], ours[1]], (ours[2], ours[3])])]
    for theirs, of in [(source[1], ours[1]), *lists]:
        assert_same(np.array(of).asnumpy(), theirs)
        if dtype not in "gG" or of is ours[1]:      # of lists of what it does not know it takes float()
            assert_same(numpy.array(of), theirs)
            assert_same(numpy.asarray(of), theirs)
    assert_same(numpy.array(ours[1]), source[1])


def test_what_makes_an_array_of_an_element_makes_its_type_an_arrays():
    x = np.arange(3.0)
    assert type(x[1][...]) is type(x[1][None]) is type(x[1].reshape(1)) is type(np.array(x[1])) is np.ndarray
    assert type(np.add(x[0], 1, out=...)) is np.ndarray
    y = np.array(2.0)
    assert type(y) is np.ndarray and {type(y + 1), type(y[()])} == {numpy.float64}
    y.dtype = "i8"
    assert type(y) is np.ndarray and {type(y[()])} == {numpy.int64}


def test_a_class_made_of_the_type_of_an_element_is_numpys():
    class Metres(type(np.arange(3.0)[0])):
        pass

    assert Metres.__mro__[1:] == numpy.float64.__mro__ and Metres(3) + 1 == 4


def test_an_element_is_an_array_to_mxnets_programs():
    from dflow import nd, npx
    x = np.arange(3.0)[1]
    npx.set_np()
    try:
        assert isinstance(x, np.ndarray) and isinstance(x, nd.NDArray) and issubclass(type(x), np.ndarray)
        assert [type(x)] == [np.ndarray] == [type(x)] and [type(x)] == [numpy.float64]
    finally:
        npx.reset_np()
    assert [type(x)] != [np.ndarray] and not isinstance(x, np.ndarray) and isinstance(np.arange(3), np.ndarray)


def test_who_names_ndarray_makes_an_array():
    ndarray = np.ndarray
    assert np.ndarray(3).shape == ndarray(3).shape == np.ndarray((3,)).shape == np.ndarray(shape=3).shape == (3,)
    assert np.ndarray(
        3,
    ).shape == type(np.arange(3))((2, 3)).shape[1:]
    assert np.ndarray(3, int).dtype == int and np.ndarray(numpy.int64(4)).shape == (4,)
    assert outcome(lambda: np.ndarray(2.5))[1] is outcome(lambda: numpy.ndarray(2.5))[1] is TypeError


# -- stores ----------------------------------------------------------------------------------------

def test_sqlite_stores_numbers():
    """Where NumPy's scalars are Python's, as those. NumPy's other ones go in as bytes: ours as numbers, too."""
    base = sqlite3.connect(":memory:")
    base.execute("create table t (x)")
    for dtype in "?bhilBHILefd":
        ours, theirs = (module.array([0, 1, 1.75]).astype(dtype)[2] for module in (np, numpy))
        kind = "real" if theirs.dtype.kind == "f" else "integer"
        assert base.execute("select ?, typeof(?)", (ours, ours)).fetchone() == (theirs.item(), kind)
    base.executemany("insert into t values (?)", [(x,) for x in np.arange(3.0)])
    assert base.execute("select sum(x), count(x) from t where x >= ?", (np.ones(4).mean(),)).fetchone() == (3, 2)
    array = np.arange(3.0)
    assert base.execute("select ?", (array,)).fetchone() == base.execute("select ?", (array.asnumpy(),)).fetchone()
    with pytest.raises(sqlite3.ProgrammingError, match="complex"):
        base.execute("select ?", (np.array([1j])[0],))


@pytest.mark.parametrize("how", [{}, {"indent": 1}, {"sort_keys": True}])
def test_json(how):
    x = np.arange(3.0)
    for value in (x[1], [x[1]], {"a": {"b": x.mean()}}):
        with pytest.raises(TypeError, match=r"element of a dflow array, whose number is its \.item\(\)"):
            json.dumps(value, **how)
        assert json.loads(json.dumps(value, default=lambda x: x.item(), **how)) == value
    assert json.dumps(x[1].item(), **how) == "1.0" and json.dumps(x.tolist()) == "[0.0, 1.0, 2.0]"
    with pytest.raises(TypeError, match="type ndarray is not"):
        json.dumps(x, **how)


# -- arrays as NumPy's -----------------------------------------------------------------------------

def test_to_numpy():
    x = np.arange(6.0).reshape(2, 3)
    seen = x.to_numpy()
    seen[0, 0] = 7
    assert x[0, 0] == 7 and numpy.shares_memory(seen, x.T.to_numpy()) and x.T.to_numpy().shape == (3, 2)
    for copied in (x.to_numpy(copy=True), x.to_numpy("f4"), x.to_numpy(dtype=int)):
        assert not numpy.shares_memory(copied, x) and (copied == x.asnumpy()).all()
    assert x.to_numpy("f4").dtype == "f4"
    assert_same(x[0, 0].to_numpy(), numpy.array(7.0))
    view = x[0]
    view.flags.writeable = False
    assert not view.to_numpy().flags.writeable and view.to_numpy(copy=True).flags.writeable
    for keywords in ({"na_value": 0}, {"na_value": None}, {"writable": True}):
        with pytest.raises(TypeError, match=f"takes dtype and copy alone: {[*keywords][0]}="):
            x.to_numpy(**keywords)
    with configured(workers=2, limit=0):
        pending = np.sin(np.arange(1e5)) + 1
        assert (pending.to_numpy() == numpy.sin(numpy.arange(1e5)) + 1).all()


# -- flat, compared --------------------------------------------------------------------------------

OTHERS = """1 | 2.0 | y | y.flat | x.flat | [0, 1, 2, 3, 4, 5] | x.ravel() | y.ravel()[2] | 'a' | [1, 2] | x | True
    numpy.arange(6) | None | x.T.flat | y[::-1].flat"""


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_flat_is_compared_by_its_elements(operator):
    for other in [text.strip() for line in OTHERS.splitlines() for text in line.split("|")]:
        for text in (f"x.flat {operator} {other}", f"{other} {operator} x.flat", f"x.T.flat {operator} {other}"):
            answers = []
            for module in (np, numpy):
                x = module.arange(6).reshape(2, 3)
                answers.append(outcome(functools.partial(eval, text, {"x": x, "y": 5 - x, "numpy": numpy})))
            if other in ("None", "'a'", "[1, 2]") and answers[1][0] == "error":
                assert answers[0][0] == "error" and issubclass(answers[0][1], (TypeError, ValueError)), text
            else:
                assert_same_outcome(*answers)
    with pytest.raises(TypeError, match="unhashable"):
        hash(np.arange(3).flat)


def test_flat_beside_functions():
    ones = np.ones((3, 4))
    assert np.all(ones.flat == 1) and not np.any(ones.flat != 1) and np.all(ones.T.flat >= 1)
    assert type(ones.flat == 1) is np.ndarray and (ones[0, 0].flat == 1).tolist() == [True]
    with configured(workers=1), Gate() as gate:
        assert not (gate.hold(ones).flat < 2).is_ready()


def test_an_element_is_an_array_where_dflow_asks(tmp_path):
    """Files, np.isin(), np.put() and choice() take one without being told that it is."""
    from dflow import npx
    x, k = np.arange(3.0), np.arange(3)
    npx.save(str(tmp_path / "x"), {"a": x.sum(), "b": x[1]})
    assert npx.load(str(tmp_path / "x"))["a"] == 3
    with configured(workers=1), Gate() as gate:
        late = gate.hold(x)[1]
        found = np.isin(x, late)
        np.put(x, [0], late)
        assert not found.is_ready() and not x.is_ready()
    assert found.tolist() == [False, True, False] and x.tolist() == [1, 1, 2]
    assert np.random.choice(k[2]) in (0, 1)


LONG_LONGS = [
    "x", "x[0]", "x[::-1]", "x + 1", "x + i", "i + x", "x / 2", "x ** 2", "x << 1", "abs(x)", "x.sum()", "x.max()",
    "x.cumprod()", "x @ x", "x @ i", "np.sort(x)", "np.unique(x)", "i[x - 1]", "np.take(i, x - 1)", "x.clip(1, 2)",
    "x.mean()", "np.nanmax(x)", "np.where(x > 1, x, i)", "np.where(x > 1, i, x)", "np.concatenate([x, i])",
    "np.concatenate([i, x])", "np.stack([i, x])", "np.array([i, x])", "np.array([x[0], x[1]])",
    "np.einsum('i,i->i', i, x)", "np.array([1, x[0]])", "np.full(3, x[0])", "np.zeros_like(x)",
    "np.zeros(3, x.dtype)", "np.arange(x[0])", "np.arange(i[0])", "np.arange(0, x[0], x[1])",
    "np.asarray(i, x.dtype)", "np.asarray(x, i.dtype)", "i.astype(x.dtype)", "i.astype(x.dtype, copy=False)",
    "i.view(x.dtype)", "x.view('l')", "np.frombuffer(i, x.dtype)", "np.add(i, i, dtype=i.dtype)",
    "np.add(i, i, dtype=x.dtype)", "np.add(i, i, signature=(x.dtype,) * 3)",
    "np.add(i, i, signature=(i.dtype,) * 3)", "i.sum(dtype=i.dtype)", "i.sum(dtype=x.dtype)",
    "i.sum(dtype=type(x.dtype))", "np.add.accumulate(i, dtype=x.dtype)",
    "np.add.reduce(i, out=np.zeros((), x.dtype))", "np.add.reduce(i, out=np.zeros((), int))",
    "np.result_type(i, x)", "np.dtype(type(x[0]))", "np.ones(3, np.ulonglong)", "np.ones(3, 'longlong')",
    "np.ones(3, np.dtypes.LongLongDType)", "copy.deepcopy(x)", "memoryview(x).format"
]


@pytest.mark.parametrize("text", LONG_LONGS)
@pytest.mark.parametrize("dtype", "lqLQ")
def test_long_long_is_a_type_of_its_own(text, dtype):
    """Though NumPy's dtypes of both are equal: in the second round, what the first has left is asked for the other."""
    def chars(module, x, i):
        result = eval(text, {"np": module, "copy": copy, "x": x, "i": i})
        return getattr(getattr(result, "dtype", result), "char", result), getattr(result, "tolist", str)()

    for _ in range(2):
        ours, theirs = ((module.array([3, 1, 2], dtype), module.array([4, 5, 6], "l" if dtype in "lq" else "L"))
                        for module in (np, numpy))
        assert chars(np, *ours) == chars(numpy, *theirs)


def test_an_equal_type_asked_for_is_no_copy():
    x = np.arange(3)
    assert x.astype(np.longlong, copy=False) is x
    for y in (np.asarray(x, np.longlong), np.array(x, np.longlong, copy=False)):
        y[0] = 7
        assert y.dtype.char == "q" and x[0] == 7
        x[0] = 0
    y = np.array(x, np.longlong)
    y[0] = 7
    assert x[0] == 0


def test_what_names_a_type_by_its_own():
    """Equal numbers of several types do, and each names its own."""
    for number in (numpy.longdouble(1.5), numpy.float16(1.5), numpy.complex64(1.5), numpy.float64(1.5)):
        assert np.ones(3).astype(number).dtype == numpy.ones(3).astype(number).dtype == number.dtype
