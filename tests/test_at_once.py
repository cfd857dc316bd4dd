"""What is small and ready is computed at once, by ways of its own: NumPy's results, types, warnings and errors, with
operands of all kinds that lie anyhow; and the same where nothing is computed at once."""

import warnings

import numpy
import pytest
from compare import assert_same, same_bits
from engines import configured

import dflow.numpy as np

pytestmark = pytest.mark.core

TYPES = "? i1 u1 i4 i8 u8 f2 f4 f8 F D".split()
VIEWS = ("{0}/{0}[1:]/{0}[:-1]/{0}[::-1]/{0}[::2]/{0}[1::2]/{0}[:, 0]/{0}[0]/{0}[:, ::-1]/{0}[:, 1:]/{0}.T/{0}[:1]"
         ).split("/")
UNARY = "negative square sqrt absolute exp logical_not isfinite sign floor".split()
BINARY = "add multiply subtract true_divide maximum less logical_and bitwise_or hypot".split()
ENGINES = {"default": {}, "queued": {"limit": 0}}


def drawn(random, dtype, shape):
    a = random.normal(size=shape) * 30
    if numpy.dtype(dtype).kind in "fFD" and a.size and random.random() < 0.2:
        a.flat[random.integers(a.size)] = random.choice([numpy.nan, numpy.inf, -0.0])
    with numpy.errstate(all="ignore"):
        return a.astype(dtype) if dtype != "?" else a > 0


def length(random, most=2.2):
    return int(10 ** random.uniform(0, most))


def view(random, name):
    return VIEWS[random.integers(len(VIEWS))].format(name)


def ran(module, arrays, text):
    """The arrays after the statement and its result `r`, the type of its error, and what was told."""
    names = {name: module.array(x) if isinstance(x, numpy.ndarray) else x for name, x in arrays.items()}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            exec(text, {"np": module}, names)
            found = {name: numpy.asarray(x) for name, x in names.items()}
            return found, None, sorted({str(w.message).partition(" in ")[0] for w in told})    # casts have many names
        except Exception as e:
            return {}, type(e), []


def check(arrays, text, engine):
    theirs, refused, told = ran(numpy, arrays, text)
    with configured(**ENGINES[engine]):
        ours, error, heard = ran(np, arrays, text)
    case = f"{text}: " + ", ".join(f"{name} {x.dtype} {x.shape}" for name, x in arrays.items()
                                   if isinstance(x, numpy.ndarray))
    assert error == refused, case
    for name, x in theirs.items():
        assert ours[name].dtype == x.dtype and ours[name].shape == x.shape, (case, name, ours[name].dtype)
        assert same_bits(ours[name], x), f"{case}: {name} is {ours[name]!r}, NumPy's {x!r}"
    if engine == "default":                                 # of pending elements nothing is told
        assert heard == told, (case, heard, told)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(40))
def test_outputs(seed, engine):
    """By name or place; that lie as they like, overlap the operands, and are of another type."""
    random = numpy.random.default_rng([seed, 1])
    for _ in range(25):
        shape = length(random, 1.3), length(random, 1.3)
        one, other = random.choice(TYPES, 2)
        arrays = {name: drawn(random, random.choice([one, one, one, other]), shape) for name in "abc"}
        same = view(random, "{0}")                          # most often views of one shape
        operands = [(same if random.random() < 0.7 else view(random, "{0}")).format(random.choice(list("abc")))
                    for _ in range(3)]
        if random.random() < 0.5:
            given, name = operands[:1], random.choice(UNARY)
        else:
            given, name = operands[:2], random.choice(BINARY)
            if random.random() < 0.2:
                given[random.integers(2)] = str(random.choice(["2", "0.5", "True", "a[0, 0]"]))
        out = operands[2] if name == "maximum" or random.random() < 0.5 else None
        text = f"r = np.{name}({', '.join(given)}, " + (f"out={out})" if out else f"{operands[2]})")
        if random.random() < 0.1:
            text = f"r = np.{name}(out={operands[2]})"      # nothing to compute with
        check(arrays, text, engine)


@pytest.mark.parametrize("n", [1, 3, 200])
@pytest.mark.parametrize("text, told", [
    ("np.exp(a, b)", "overflow encountered in exp"), ("np.square(a, out=b)", "overflow encountered in square"),
    ("np.add(a, a, b)", "overflow encountered in add"), ("np.negative(a[:0], b[:0])", None), ("np.sqrt(a, b)", None),
    ("np.reciprocal(a - a, b)", "divide by zero encountered in reciprocal")])
def test_what_is_told_of_results_that_are_cast(text, told, n):
    """It is of the operation, whether it was computed or cast, and has been written, also where it is raised."""
    left = {}
    for module in (numpy, np):
        for policy in ("ignore", "warn", "raise"):          # first of all, plans are made
            names = {"a": module.full(n, 200.0 if "exp" in text else 1e39), "b": module.ones(n, "f4")}
            with module.errstate(all=policy), warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                try:
                    exec(text, {"np": module}, names)
                except FloatingPointError as error:
                    heard = [error]
                said = [str(getattr(one, "message", one)) for one in heard]
            left.setdefault(policy, []).append((numpy.asarray(names["b"]), said))
    for policy, ((theirs, expected), (ours, said)) in left.items():
        assert same_bits(ours, theirs), (ours, theirs)
        assert said == expected == ([told] if told and policy != "ignore" else [])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_reductions_along_axes(seed, engine):
    random = numpy.random.default_rng([seed, 2])
    for _ in range(25):
        ndim = int(random.integers(1, 4))
        a = drawn(random, random.choice(TYPES), tuple(length(random, 1.5) for _ in range(ndim)))
        names = ["a", "a.T", "a[::-1]", "a[..., ::2]", "a.swapaxes(0, -1)[1:]"]
        axis = int(random.integers(-ndim, ndim + (random.random() < 0.05)))
        name = random.choice("sum max min prod any all mean cumsum".split())
        keep = f", keepdims={random.random() < 0.5}" if name != "cumsum" and random.random() < 0.5 else ""
        check({"a": a}, f"r = {random.choice(names)}.{name}(axis={axis}{keep})", engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(10))
def test_reductions_into_an_array(seed, engine):
    random = numpy.random.default_rng([seed, 3])
    for _ in range(25):
        kind = random.choice(TYPES)
        a, axis = drawn(random, kind, (length(random, 1.3), length(random, 1.3))), int(random.integers(2))
        into = numpy.zeros(a.shape[1 - axis], random.choice([kind, "f8", "i8"]))
        name = random.choice("sum max any mean".split())
        check({"a": a, "w": into}, f"r = a.{name}(axis={axis}, out=w)", engine)
        check({"a": a[0], "w": numpy.zeros((), into.dtype)}, f"r = a.{name}(out=w)", engine)
        check({"a": a[:, 0], "w": numpy.zeros(len(a), into.dtype)}, "r = np.cumsum(a, out=w)", engine)


@pytest.mark.parametrize("seed", range(10))
def test_sums_along_axes_are_those_of_tasks(seed):
    """Of any length, along any axes, of views: the same bits, and few elements' are NumPy's."""
    random = numpy.random.default_rng([seed, 4])
    for _ in range(25):
        ndim = int(random.integers(1, 5))
        a = random.normal(size=[length(random, 4.5 / ndim) for _ in range(ndim)])
        a = a.astype(random.choice(["f4", "f8", "F"]))
        axes = random.permutation(ndim)[:random.integers(1, ndim + 1)].tolist()
        axis = random.choice([None, 0]) and axes[0] if random.random() < 0.5 else tuple(axes)
        order, steps = random.permutation(ndim), tuple(slice(None, None, int(random.choice([1, 1, 1, -1, 2])))
                                                       for _ in range(ndim))

        def total(x, axis=axis, order=order, steps=steps):
            return x.transpose(order)[steps].sum(axis=axis)

        quick = numpy.asarray(total(np.array(a)))
        with configured(limit=0):
            assert_same(total(np.array(a)), quick)
        assert quick.shape == total(a).shape
        assert numpy.allclose(quick, total(a.astype("D")), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_stores_under_masks(seed, engine):
    random = numpy.random.default_rng([seed, 5])
    for _ in range(15):
        n, share = length(random, 3.7), random.choice([0, 0.01, 0.5, 0.5, 0.99, 1])
        a, b = (drawn(random, random.choice(TYPES), n) for _ in range(2))
        arrays = {"a": a, "b": b, "m": random.random(n) < share}
        for text in ("a[m] = 1", "a[m] = a[m]", "a[m] = b[m]", "a[m] = b[0]", "r = a[m]", "a[m] += 1",
                     "a[:n // 3 * 3].reshape(-1, 3)[m[:n // 3]] = 1", "a[m] = b[::-1][m]",
                     "a[::2][m[:len(a[::2])]] = 1"):
            check(arrays | {"n": n}, text, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_stores_at_places(seed, engine):
    """Values of the array itself, with steps, of another type; out of bounds nothing is written."""
    random = numpy.random.default_rng([seed, 6])
    for _ in range(15):
        n = length(random, 3)
        arrays = {"a": drawn(random, random.choice(TYPES), n), "b": drawn(random, random.choice(TYPES), 2 * n),
                  "k": random.integers(-n, n + (random.random() < 0.1), n)}
        for text in ("a[k] = a", "a[k] = a[::-1]", "a[k] = b[:len(a)]", "a[k] = b[::2]", "a[k] = b[0]", "a[k] = b"):
            check(arrays, text, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES)
def test_elements_into_elements(dtype, engine):
    """Of any other type: what does not fit is refused as by NumPy."""
    random = numpy.random.default_rng(7)
    for other in TYPES:
        for value in (0, 1, 3, 200, -1, 2.5, 70000, 2 ** 40, 1e300, numpy.nan, numpy.inf, 2 + 1j):
            try:
                with numpy.errstate(all="ignore"):
                    element = numpy.array([value]).astype(other)
            except (ValueError, OverflowError):
                continue
            arrays = {"a": drawn(random, dtype, (2, 3)), "b": element}
            for text in ("a[1, 2] = b[0]", "a[1] = b[0]", "a[0, 0] -= b[0]", "a[...] = b[0]"):
                check(arrays, text, engine)


@pytest.mark.parametrize("dtype", [*TYPES, "longdouble"])
def test_copies_with_steps(dtype):
    random = numpy.random.default_rng(8)
    for _ in range(40):
        a, step = drawn(random, dtype, length(random, 3.5)), int(random.choice([-3, -2, -1, -1, 2, 3, 5]))
        x = np.array(a)
        assert_same(x[::step].copy(), a[::step])
        assert_same(np.flip(x) + x[:1], numpy.flip(a) + a[:1])
        x[::-step] = x[::step]
        a[::-step] = a[::step].copy()
        assert_same(x, a)


@pytest.mark.parametrize("engine", ENGINES)
def test_sequences_with_elements(engine):
    random = numpy.random.default_rng(90)
    sequences = ("[a[0], a[1]]", "(a[1], 2)", "[2.5, a[0]]", "[True, a[0]]", "[a[0], b[1]]", "[a[0], None]",
                 "[a[0], 'x']", "[a[0], 2 ** 70]", "[a[0], [1, 2]]", "[[a[0], 1], [b[0], 2]]", "[a[0], 300]",
                 "[a[0], -1]", "[b[0], a[:1]]")
    for dtype in TYPES:
        arrays = {"a": numpy.arange(1, 5).astype(dtype), "b": numpy.arange(4).astype(random.choice(TYPES))}
        for sequence in sequences:
            for text in ("r = {} + a[:2]", "r = a[:2] * {}", "r = a[:2] == {}", "a[:2] += {}"):
                check(arrays, text.format(sequence), engine)


@pytest.mark.parametrize("dtype", ["f4", "f8", "F", "D"])
def test_products_of_short_vectors(dtype):
    """In tiles where the result is large: of one to twenty elements, so many that one core is not enough, and fewer."""
    random = numpy.random.default_rng(10)
    for _ in range(20):
        n = length(random, 1.3)
        area = 10 ** random.uniform(4, 6.3) / n
        m = max(int(10 ** random.uniform(0, numpy.log10(area))), 1)
        a, b = ((drawn(random, "i1", shape) + 1).astype(dtype) for shape in ((m, n), (n, max(int(area / m), 1))))
        assert_same(np.array(a) @ np.array(b), a @ b)       # of small integers, exactly
        assert_same(np.array(a.T.copy()).T @ np.array(b), a @ b)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_ufuncs_at_places(seed, engine):
    """Repeated, from the end, by indices of any type and shape, of views, or out of bounds: then nothing is written."""
    random = numpy.random.default_rng([seed, 11])
    for _ in range(15):
        n, m = length(random, 3.7), length(random, 3.7)
        kind = random.choice(["i8", "i8", "i4", "u1"])
        most = min(n, 256) if kind == "u1" else n + (random.random() < 0.05)
        arrays = {"a": drawn(random, random.choice(TYPES), n), "b": drawn(random, random.choice(TYPES), 2 * m),
                  "k": random.integers(0 if kind == "u1" else -n, most, m, dtype=kind)}
        arrays["same"] = drawn(random, arrays["a"].dtype, m)
        name = random.choice("add subtract multiply maximum minimum divide negative".split())
        values = random.choice(["same", "same", "same[::-1]", "same[0]", "2", "b[:len(k)]", "b[::2]", "a[k % len(a)]"])
        given = "" if name == "negative" else f", {values}"
        place = random.choice(["a, k", "a, k", "a[::-1], k", "a[::2], k // 2", "a, k[None]", "a, (k,)",
                               "a[:len(a) // 3 * 3].reshape(-1, 3), (k // 3, 1)", "a, k[::-1]"])
        check(arrays, f"np.{name}.at({place}{given})", engine)
    assert numpy.add.at is not np.add.at


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_rows_and_columns_by_arrays(seed, engine):
    """Few long ones and many short ones, with a slice of the others, by values and by one value."""
    random = numpy.random.default_rng([seed, 12])
    for _ in range(15):
        area = 10 ** random.uniform(0, 4)
        rows = max(int(10 ** random.uniform(0, numpy.log10(area) + 0.01)), 1)
        shape = rows, max(int(area / rows), 1)
        kind = random.choice(TYPES)
        a, b = drawn(random, kind, shape), drawn(random, kind, shape)
        count = length(random, 1.5)
        i, j = (random.integers(-n, n + (random.random() < 0.03), count) for n in shape)
        arrays = {"a": a, "b": b, "i": i, "j": j[:9], "m": drawn(random, "?", rows)}
        from_, to = random.integers(-3, shape[1] + 2, 2).tolist()
        key = random.choice([f"i, {from_}:", f"i, {from_}:{to}", f"i, ::{to or 1}", "i, ::-1", "i, :", "[0, -1], 1:",
                             "i[0], i, 1:", "m, 1:", "i[:, None], 1:", ":, j", ":, j", "m", "m", "i"])
        name = random.choice(["a", "a", "a", "a.T[...].T", "a[::-1]", "a[:, ::-1]"])
        value = random.choice(["3", "b[0, 0]", "2.5", f"b[{key}]", f"b[{key}]", "b[:1, :1]", "a[0, 0]"])
        check(arrays, f"x = {name}\n" + random.choice([f"r = x[{key}]", f"x[{key}] = {value}", f"x[{key}] += 1"]),
              engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_what_lies_in_columns(seed, engine):
    """Transposed, or in Fortran's order, beside rows and NumPy's own: results lie as NumPy's."""
    random = numpy.random.default_rng([seed, 13])
    for _ in range(25):
        shape = tuple(length(random, 1.2) for _ in range(random.integers(2, 4)))
        one, other = random.choice(TYPES, 2)
        arrays = {"a": drawn(random, one, shape), "b": drawn(random, random.choice([one, other]), shape),
                  "f": numpy.asfortranarray(drawn(random, random.choice([one, other]), shape))}
        x, y = random.choice(["a.T", "b.T", "f.T", "numpy.asarray(f).T", "2", "0.5", "a.T[:1]"], 2)
        x = "a.T" if x[0] in "20" else x
        op = random.choice(["+", "*", "-", "/", ">", "=="])
        form = random.choice([f"r = {x} {op} {y}", f"r = {x} {op} {y}", f"r = np.maximum({x}, {y})",
                              f"a.T[...] = {x} {op} {y}", f"np.add({x}, {y}, out=a.T)", f"w = a.T\nw += {y}"])
        lies = "\ns = numpy.array(r.strides)[numpy.array(r.shape) > 1]" if form[0] == "r" else ""
        check(arrays | {"numpy": numpy}, form + lies, engine)


@pytest.mark.parametrize("dtype", [*TYPES, "longdouble", "u2", "u8"])
def test_lists_of_numbers(dtype):
    """What tolist() and item() give is Python's own, of any order and every bit pattern."""
    random = numpy.random.default_rng(14)
    for _ in range(60):
        shape = tuple(length(random, 1.2) - 1 for _ in range(random.integers(0, 4)))
        a = numpy.frombuffer(random.bytes(numpy.prod(shape, dtype=int) * numpy.dtype(dtype).itemsize), dtype) if (
            dtype not in ("?", "longdouble")) else drawn(random, dtype, numpy.prod(shape, dtype=int))
        a = a.reshape(shape)
        x = np.array(a)
        turns = random.permutation(len(shape))
        steps = tuple(slice(None, None, int(random.choice([-1, 1, 2]))) for _ in shape)
        a, x = a.transpose(turns)[steps], x.transpose(turns)[steps]
        assert repr(x.tolist()) == repr(a.tolist())
        for _ in range(6 if a.size else 0):
            place = tuple(int(random.integers(-n, n)) for n in a.shape)
            flat = int(random.integers(-a.size, a.size))
            assert repr(x.item(*place) if place else x.item()) == repr(a.item(*place))
            assert repr((x.item(place), x.item(flat))) == repr((a.item(place), a.item(flat)))
            for beyond in ((a.size,), (-a.size - 1,), (*place, 0, 0), (*place[:-1], a.shape[-1] if place else 1),
                           (10 ** 30,), (*place[:-1], -10 ** 30)):
                with pytest.raises((IndexError, ValueError, OverflowError)) as theirs:
                    a.item(*beyond)
                with pytest.raises(theirs.type):
                    x.item(*beyond)
