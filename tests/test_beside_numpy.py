"""NumPy's arrays beside ours, as programs have them that get data from other libraries: results are ours, what is
written to NumPy's arrays is theirs, with NumPy's values; and what is done to NumPy's arrays later changes no result.
"""

import warnings

import numpy
import pytest
from compare import same_bits
from engines import configured
from test_at_once import ENGINES, TYPES, drawn, length

import dflow.numpy as np
from dflow import autograd
from dflow._array.core import is_array

pytestmark = pytest.mark.core

OPERATORS = "+ - * / // % ** & | ^ << >> < <= == != > >= @".split()
VIEWS = ("{0}", "{0}", "{0}", "{0}[::-1]", "{0}[:, ::2]", "{0}[0]", "{0}[:, :1]", "{0}.T", "{0}[-1, -1]", "{0}[:0]",
         "{0}[0, 0:1]", "{0}[0, 0, ...]", "{0}[1::2]")
ROWS = ("N[0]", "N[0]", "N[-1]", "N[:1]", "N", "a[0]", "[1] * N.shape[1]", "N[0, :1]", "N[:, 0]", "N[0].astype('f4')",
        "N[0, 0]", "N[0][::-1]")
UFUNCS = "add multiply subtract maximum less hypot power logical_and arctan2".split()


def misaligned(x):
    made = numpy.zeros(x.nbytes + 1, "u1")[1:].view(x.dtype).reshape(x.shape)
    made[...] = x
    return made


def seldom_so(random, x):
    """One of NumPy's arrays, at times not aligned, or in the other byte order."""
    way = random.random()
    return misaligned(x) if way < 0.07 else x.astype(x.dtype.newbyteorder()) if way < 0.14 else x


def ran(module, arrays, text):
    """What `text` leaves of the arrays, those named by capitals NumPy's, its result, error and warnings."""
    names = {name: module.array(x) if name.islower() else x.copy() if x.flags.aligned else misaligned(x)
             for name, x in arrays.items()}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            exec(text, {"np": module, "numpy": numpy}, names)
        except Exception as e:
            return {}, None, ValueError if isinstance(e, numpy.exceptions.AxisError) else type(e), []
        for name, x in names.items():
            if name.isupper():                              # what comes now comes too late
                x[...] = 1
        result = names.pop("r", None)
        left = {name: numpy.asarray(x) for name, x in names.items() if not name.isupper()}
        if result is not None:
            left["r"] = numpy.asarray(result)
            left["r"] = left["r"].astype(left["r"].dtype.newbyteorder("="))     # ours has no other
        return left, result, None, sorted({str(w.message).partition(" in ")[0] for w in told})


def check(arrays, text, engine, ours=True, told=True):
    """ours: whether the result is. told: whether warnings are compared, too."""
    theirs, _, refused, expected = ran(numpy, arrays, text)
    with configured(**ENGINES[engine]):
        found, result, error, heard = ran(np, arrays, text)
    case = f"{text}: " + ", ".join(f"{name} {x.dtype} {x.shape}" + " misaligned" * (not x.flags.aligned)
                                   for name, x in arrays.items())
    assert error == refused, (case, error, refused)
    if result is not None and isinstance(result, numpy.ndarray):
        assert is_array(result) == (ours and result.dtype.isnative), (case, type(result))
    for name, x in theirs.items():
        assert found[name].dtype == x.dtype and found[name].shape == x.shape, (case, name, found[name].dtype)
        assert same_bits(found[name], x), f"{case}: {name} is {found[name]!r}, NumPy's {x!r}"
    if told and engine == "default":                        # of pending elements nothing is told
        assert heard == expected, (case, heard, expected)


def operand(random, names):
    return str(random.choice(VIEWS)).format(random.choice(list(names)))


def two_types(random):
    one, other = random.choice(TYPES, 2)
    return one, other if random.random() < 0.4 else one


def pair(random):
    """One of ours and one of NumPy's, of one shape; from some size on NumPy's memory is not copied."""
    one, other = two_types(random)
    most = 2.4 if random.random() < 0.15 else 1.6
    shape = length(random, most), length(random, most)
    return {"a": drawn(random, one, shape), "N": seldom_so(random, drawn(random, other, shape))}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(30))
def test_operators(seed, engine):
    random = numpy.random.default_rng([seed, 11])
    for _ in range(25):
        arrays = pair(random)
        operands = [operand(random, "a"), operand(random, "N")]
        random.shuffle(operands)
        operator = random.choice(OPERATORS)
        if operator in ("**", "<<", ">>"):                  # by what is small, and not negative
            arrays = {name: abs(x) % 5 if x.dtype.kind in "iuf" else x for name, x in arrays.items()}
        check(arrays, f"r = {operands[0]} {operator} {operands[1]}", engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_operators_in_place(seed, engine):
    random = numpy.random.default_rng([seed, 12])
    for _ in range(25):
        arrays = {name: abs(x) for name, x in pair(random).items()}
        arrays["N"] = seldom_so(random, arrays["N"])
        operator = random.choice("+ - * / // % & | ^".split())
        if random.random() < 0.5:
            check(arrays, f"a {operator}= {operand(random, 'N')}", engine)
        else:
            check(arrays, f"N {operator}= {operand(random, 'a')}\nr = N.copy()", engine, ours=False)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_functions(seed, engine):
    """Ours of NumPy's arrays, NumPy's of ours, and both of both."""
    random = numpy.random.default_rng([seed, 13])
    for _ in range(25):
        arrays = pair(random)
        if random.random() < 0.3:
            module, x = [("np", operand(random, "N")), ("numpy", operand(random, "a"))][random.integers(2)]
            name = random.choice("negative exp sqrt absolute isfinite square".split())
            check(arrays, f"r = {module}.{name}({x})", engine)
        else:
            operands = [operand(random, "a"), operand(random, "N")]
            random.shuffle(operands)
            module, name = random.choice(["np", "numpy"]), random.choice(UFUNCS)
            check(arrays, f"r = {module}.{name}({operands[0]}, {operands[1]})", engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(10))
def test_reductions(seed, engine):
    """Of whole numbers, whose sums are the same in any order."""
    random = numpy.random.default_rng([seed, 16])
    for _ in range(25):
        arrays = {"N": drawn(random, random.choice(["i8", "i4", "u1", "?"]), pair(random)["N"].shape)}
        arrays["N"] = seldom_so(random, arrays["N"])
        name = random.choice("sum max min any all argmax argmin mean average prod std median sort unique".split())
        axis = random.choice(["", ", axis=0", ", axis=1", ", axis=-1"]) if name != "unique" else ""
        rounded = ".round(9)" * (name in ("mean", "average", "std"))
        check(arrays, f"r = np.{name}({operand(random, 'N')}{axis}){rounded}", engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(10))
def test_products(seed, engine):
    """Of whole numbers, whose sums are the same in any order; from some size on NumPy's memory is not copied."""
    random = numpy.random.default_rng([seed, 15])
    for _ in range(15):
        dtype, other = (random.choice(["f8", "f4", "i8", "i4", "f2"]) for _ in range(2))
        m, n = length(random, 2.6), length(random, 2.6)
        arrays = {name: random.choice([-3, -2, -1, 1, 2, 3], (m, n)).astype(kind)
                  for name, kind in {"a": dtype, "N": dtype if random.random() < 0.7 else other}.items()}
        arrays["N"] = seldom_so(random, arrays["N"])
        text = random.choice(["N @ a.T", "a @ N.T", "N @ a[0]", "a[0] @ N.T", "N.T @ a[:, 0]", "a[:, 0] @ N",
                              "N[:, ::2] @ a[0, ::2]", "np.dot(N, a[0])", "np.dot(a[:, 0], N)", "np.dot(N, N[0])",
                              "np.dot(N, N.T)", "np.dot(N[0], a[0])", "N @ a[0, 0]", "np.dot(a, N)",
                              "np.matmul(N, a[0])", "np.inner(N, a)", "(a + a)[0] @ N.T", "np.dot(N[0, 0], a)",
                              "np.dot(N.astype(object)[:2, :2], a[0, :2])", "np.dot(N, [1] * N.shape[1])",
                              "N.dot(a[0])", "N.T.dot(a)", "N[0].dot(a[0])", "N.dot(a)", "N[:, ::2].dot(a[0, ::2])"])
        check(arrays, f"r = {text}", engine, ours="object" not in text)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_subscripts(seed, engine):
    """NumPy's arrays and integers as places, as masks, and as what is stored."""
    random = numpy.random.default_rng([seed, 14])
    for _ in range(25):
        one, other = two_types(random)
        shape = (length(random, 1.2), length(random, 1.2))[:random.integers(1, 3)]
        n = shape[0]
        count = length(random, 1)
        places = random.integers(-n, n + (random.random() < 0.05), count, random.choice(["i8", "i4", "i1"]))
        arrays = {"a": drawn(random, one, shape), "N": seldom_so(random, drawn(random, other, shape)),
                  "K": seldom_so(random, places),
                  "M": drawn(random, "?", shape), "B": drawn(random, "?", n + (random.random() < 0.05))}
        key, value = random.choice([("K", "N[K]"), ("K", "N[:1]"), ("M", "N[M]"), ("B", "N[B]"), ("K[0]", "N[0]"), (
            "slice(1, None)", "N[1:]"), ("numpy.int64(0)", "N[0]"), ("...", "N"), ("K", "3"), ("M", "0.5"), (
            "K", "N[0]"), ("M", "N[:1]"), ("K, ...", "N[K]"), ("K.reshape(-1, 1)", "N[:1]")])
        check(arrays, f"r = a[{key}]" if random.random() < 0.5 else f"a[{key}] = {value}", engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_subscripts_of_numpys_arrays(seed, engine):
    """By places and masks of ours, and what is stored there of ours: they stay NumPy's."""
    random = numpy.random.default_rng([seed, 17])
    for _ in range(25):
        one, other = two_types(random)
        shape = (length(random, 1.5), length(random, 1.2))[:random.integers(1, 3)]
        n, count = shape[0], length(random, 1)
        arrays = {"a": drawn(random, one, shape), "N": seldom_so(random, drawn(random, other, shape)),
                  "k": random.integers(-n, n + (random.random() < 0.05), count, random.choice(["i8", "i4"])),
                  "m": drawn(random, "?", shape), "b": drawn(random, "?", n + (random.random() < 0.05))}
        key, value = random.choice([("k", "a[k]"), ("k", "a[:1]"), ("m", "a[m]"), ("b", "a[b]"), ("k[0]", "a[0]"), (
            "slice(1, None)", "a[1:]"), ("0", "a[-1]"), ("...", "a"), ("k", "3"), ("m", "0.5"), ("m", "a[m][0]"), (
            "m", "a[:1]"), ("k, ...", "a[k]"), ("k.reshape(-1, 1)", "a[:1]"), ("0", "a[..., 0]"), (":", "a[::-1]")])
        if random.random() < 0.4:
            check(arrays, f"r = numpy.array(N[{key}])", engine, ours=False)
        else:
            check(arrays, f"N[{key}] = {value}\nr = N.copy()", engine, ours=False)


ROW_PLACES = ("i", "I", "m", "M", "i[0]", "I[0]", "-1", ":", ":", "1:", "::-1", "[0, -1]", "i[:2]", "i.reshape(-1, 1)",
              "m & M", "m & ~m", "i[:0]", "numpy.array(I)", "[]", "i % 2", "...", "None", "m[::-1]", "i.tolist()",
              "True", "(m,)", "(I,)")
COLUMN_PLACES = ("j", "j", "J", "J", "c", "C", "0", "0", "-1", ":", "[0]", "[0, -1]", "j[0]", "J[0]", "1:", "j[:1]",
                 "c & ~c", "J[:, None]", "...", "numpy.int64(0)")
STORED = ("1", "2.5", "True", "1j", "numpy.float32(1.5)", "numpy.int64(-3)", "numpy.uint8(200)",
          "numpy.float64('nan')", "numpy.complex64(2)", "a[0, 0]", "a[0]", "a", "B", "B[0]", "a[:, :1]", "[1, 2]",
          "numpy.bool_(True)", "1 << 40")


def places(random):
    """Of rows, or of rows and columns."""
    row = random.choice(ROW_PLACES)
    return row if random.random() < 0.4 else f"{row}, {random.choice(COLUMN_PLACES)}"


def arrays_and_places(random, most):
    one, other = two_types(random)
    rows, columns = length(random, most), length(random, 1.2)

    def indices(n, count, types="i8 i8 i4 i2 u2 u1"):
        fitting = [kind for kind in types.split() if n < numpy.iinfo(kind).max]
        kind = random.choice(fitting)
        return random.integers(0 if kind[0] == "u" else -n, n + (random.random() < 0.02), count, kind)

    return {"a": drawn(random, one, (rows, columns)), "B": seldom_so(random, drawn(random, other, (rows, columns))),
            "i": indices(rows, rows), "I": seldom_so(random, indices(rows, rows, "i8 i8 i4")),
            "m": drawn(random, "?", rows), "M": drawn(random, "?", rows + (random.random() < 0.02)),
            "j": indices(columns, rows), "J": seldom_so(random, indices(columns, rows, "i8 i8 u1")),
            "c": drawn(random, "?", columns), "C": drawn(random, "?", columns)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("most", [1, 2, 3.5])
@pytest.mark.parametrize("seed", range(12))
def test_places(seed, most, engine):
    """Rows and columns by integers, arrays, masks and lists, ours and NumPy's beside each other; of either's arrays."""
    random = numpy.random.default_rng([seed, int(most * 2), 19])
    for _ in range(25):
        arrays, key = arrays_and_places(random, most), places(random)
        x = str(random.choice(["a", "a", "a.T", "a[::-1]", "a[:, ::-1]", "B", "B", "B.T"]))
        value = str(random.choice([*STORED, f"a[{key}]", f"B[{key}]"]))
        way = random.random()
        if way < 0.45:
            text = f"r = {x}[{key}]"
        elif way < 0.85:
            text = f"{x}[{key}] = {value}\nr = {x}.copy()"
        else:
            text = f"{x}[{key}] {random.choice(['+=', '*='])} {value}\nr = {x}.copy()"
        check(arrays, text, engine, ours=x[0] == "a", told=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("most", [1, 2, 3.5])
@pytest.mark.parametrize("seed", range(6))
def test_ufuncs_at_places(seed, most, engine):
    random = numpy.random.default_rng([seed, int(most * 2), 20])
    for _ in range(25):
        arrays, key = arrays_and_places(random, most), places(random)
        name = random.choice("add add subtract multiply maximum minimum logical_or divide negative".split())
        x = str(random.choice(["a", "a", "a.T", "a[::-1]", "B"]))
        values = [value for value in STORED if value not in ("a", "B", "a[:, :1]")]     # of which NumPy takes some
        value = str(random.choice([*values, f"a[{key}]", f"B[{key}]", "numpy.array(a[0])"]))
        value = "" if name == "negative" else f", {value}"
        check(arrays, f"np.{name}.at({x}, numpy.s_[{key}]{value})\nr = {x}.copy()", engine, x[0] == "a", told=False)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_joins(seed, engine):
    """Of both kinds, of several types, along either axis; few and many."""
    random = numpy.random.default_rng([seed, 21])
    for _ in range(15):
        one, other = two_types(random)
        rows, columns = length(random, 3.5), length(random, 1.5)
        arrays = {"a": drawn(random, one, (rows, columns)), "S": drawn(random, one, (rows, columns)),
                  "N": seldom_so(random, drawn(random, other, (rows, columns)))}
        parts = [str(random.choice(["a", "N", "N", "S", "N[::-1]", "S[:1]", "a[:, :1]", "N[:0]", "N[0]", "S.T", "a.T",
                                    "N.astype('>i4')", "3", "numpy.asfortranarray(N)"]))
                 for _ in range(1 + random.integers(4))]
        parts = parts[:1] * len(parts) if random.random() < 0.5 else parts
        call = random.choice([
            "concatenate([{}])", "concatenate([{}], 1)", "concatenate(({},), axis=None)", "hstack([{}])",
            "vstack([{}])", "stack([{}])", "stack([{}], -1)", "column_stack([{}])", "dstack([{}])",
            "concatenate([{}], dtype='f8', casting='unsafe')", "concatenate([{}], -1)", "concatenate([{}], 2)"])
        check(arrays, f"r = np.{call.format(', '.join(parts))}", engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(10))
def test_lists_of_numpys_arrays(seed, engine):
    random = numpy.random.default_rng([seed, 18])
    for _ in range(25):
        arrays = pair(random)
        items = [str(random.choice(ROWS)) for _ in range(length(random, 0.7))]
        if random.random() < 0.6:
            items = items[:1] * len(items)
        text = f"[{', '.join(items)}]"
        text = f"[{text}, {text}]" if random.random() < 0.2 else text
        check(arrays, f"r = np.array({text}{random.choice(['', '', ', float', ', N.dtype'])})", engine)


@pytest.mark.parametrize("n", [5, 600, 4_000, 50_000])
def test_memory_that_is_ours_too(n):
    """What NumPy's array shows may be an array's of ours, which either side writes to."""
    N = numpy.arange(float(n))
    w = np.asarray(N, copy=False)
    w += N[::-1]
    assert N.tolist() == w.tolist() == [n - 1] * n
    N *= w
    assert w.tolist() == [(n - 1) ** 2] * n
    w[:] = numpy.arange(n)
    w[1:] = N[:-1]
    assert N.tolist() == [0, *range(n - 1)]
    w[numpy.arange(n)] = N[::-1].copy()
    seen = numpy.asarray(w + 1)
    seen += w
    w[:2] = seen[-2:]
    assert N[:3].tolist() == [*seen[-2:].tolist(), n - 4]


@pytest.mark.parametrize("place", [3, -4, 1 << 62, (1 << 63) - 1, -1 << 63])
def test_places_out_of_bounds(place):
    a, K = np.arange(3.0), numpy.array([0, place])
    with pytest.raises(IndexError):
        a[K]
    with pytest.raises(IndexError):
        a[K] = 5
    assert a.tolist() == [0, 1, 2]


def test_what_numpys_errstate_raises_has_been_written():
    x, a = numpy.array([1e308, 1.0]), np.array([1e308, 2.0])
    with numpy.errstate(over="raise"), pytest.raises(FloatingPointError):
        x += a
    assert x.tolist() == [numpy.inf, 3]


def test_what_numpy_writes_of_what_is_pending():
    a = np.arange(6.0)
    with configured(limit=0):
        x = numpy.ones(6)
        x += (a * 2)[1]
        x *= a + 1
        x[2:] -= a[:4]
    assert type(x) is numpy.ndarray and x.tolist() == [3, 6, 9, 11, 13, 15]


def test_gradients_beside_numpys_arrays():
    """Of ours; what is NumPy's is constant."""
    w, x = np.array([1.0, 2.0]), numpy.array([3.0, 4.0])
    w.attach_grad()
    with autograd.record():
        y = (x * w + w * x + x[0] * w + w[numpy.array([1, 1])] + (x - w) @ x).sum()
    y.backward()
    assert w.grad.tolist() == [2 * 3 + 3 - 2 * 3, 2 * 4 + 3 + 2 - 2 * 4]


def test_arrays_of_subclasses_have_their_own_operators():
    class Named(numpy.ndarray):
        def __array_finalize__(self, other):
            self.name = getattr(other, "name", "none")

    a, x = np.arange(3.0), numpy.arange(3.0).view(Named)
    assert type(x + a) is type(x) and type(a + x) is type(x) and (x + a).tolist() == [0, 2, 4]
    assert type(numpy.matrix([[1, 2]]) * np.array([[1], [1]])) is numpy.matrix
    assert type(numpy.ma.array([1, 2]) + np.array([1, 2])) is numpy.ma.MaskedArray
    words = numpy.array(["a", "b", "c"])
    assert (words == a).tolist() == [False] * 3
    assert (numpy.array([1, "b", None], object) == np.arange(3)).tolist() == [False] * 3


def test_other_libraries_are_asked_with_numpys_arrays():
    """Not with copies that are ours, where none of ours is among the operands."""
    class Other:
        def __array_ufunc__(self, ufunc, how, *inputs, **keywords):
            return [type(x) for x in inputs if x is not self]

    x = numpy.arange(3.0)
    assert np.add(x, Other()) == np.add(Other(), x) == [numpy.ndarray]
    assert np.add(Other(), [1, 2]) == [list]
    assert np.add(np.arange(3.0), Other()) == [type(np.arange(3.0))]
