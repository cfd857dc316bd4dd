"""Scalars are kept when they end, and used again: what the next one must not inherit, and what must not be kept."""

import itertools
import operator
import subprocess
import sys
import warnings
import weakref

import numpy
import pytest
from compare import assert_as_given, assert_same_outcome, given, outcome
from engines import configured

import dflow
import dflow.numpy as np
from dflow import _engine

pytestmark = pytest.mark.once

def numbers():
    return np.arange(5.0)


def test_scalars_that_live_are_never_used_again():
    x = numbers()
    kept = [x[i] for i in range(5)]
    for _ in range(3):
        gone = [x[4 - i] * 10 for i in range(5)]
        del gone
        assert [float(s) for s in kept] == [0, 1, 2, 3, 4]
    assert len({id(s) for s in kept}) == 5


def test_more_than_are_kept():
    x = numbers()
    for _ in range(3):
        many = [x[i % 5] + i for i in range(1000)]
        assert [float(s) for s in many] == [i % 5 + i for i in range(1000)]
        del many



@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "f2", "i4", "f4", "i8", "f8", "g", "F", "D", "G"])
def test_types_do_not_mix(dtype):
    y = np.array([0, 1, 1], dtype)
    for _ in range(3):
        scalars = [y[1], np.arange(3.0)[2], y[2]]
        assert [s.dtype for s in scalars] == [numpy.dtype(dtype), numpy.dtype("f8"), numpy.dtype(dtype)]
        assert [complex(s) for s in scalars] == [1, 2, 1]
        del scalars


def test_a_weak_reference_dies_with_its_scalar():
    x = numbers()
    ended = []
    s = x[1]
    reference = weakref.ref(s, ended.append)
    del s
    assert ended == [reference] and reference() is None
    s = x[2]
    assert reference() is None and float(s) == 2


def test_a_view_keeps_its_scalar_from_use():
    x = numbers()
    s = x[3]
    view = s.T
    del s
    others = [x[i] for i in range(5)]
    assert float(view) == 3 and len(others) == 5


def test_what_a_pending_operation_reads_is_not_used_again():
    x = numbers()
    expected = [i + 2.0 for i in range(5)]
    results = []
    for i in range(5):
        slow = dflow.submit(lambda a: a + 1, x[i], shape=(), dtype="float64")
        s = x[i] + 1
        results.append(slow * 0 + s + 1)
        del s, slow
        for _ in range(70):
            x[0] - 1
    assert [float(r) for r in results] == expected


def test_an_exception_passes_where_a_scalar_ends():
    x = numbers()
    def fail():
        s = x[1] * 2
        raise ValueError(f"{float(s)}")

    for _ in range(3):
        with pytest.raises(ValueError, match="2.0"):
            fail()


def test_an_error_is_not_inherited():
    x = numbers()
    def fail(a):
        raise ValueError("none of the next one's")

    for _ in range(3):
        bad = dflow.submit(fail, x, shape=(2,), dtype="float64")
        s = x[1] + bad.sum()
        with pytest.raises(ValueError, match="none of"):
            float(s)
        del s, bad
        assert float(x[1] + 1) == 2


def test_counts_know_nothing_of_spares():
    x = numbers()
    before = _engine.live()
    s = x[1] * 2 + x[3]
    assert _engine.live()["storages"] == before["storages"] + 1
    assert _engine.live()["bytes"] == before["bytes"] + 8
    del s
    assert _engine.live() == before


def test_memory_goes_back_after_a_burst():
    x = numbers()
    spare = [x[i % 5] for i in range(100)]
    burst = [x[i % 5] for i in range(900_000)]      # 72 MB of cells, more than are kept
    assert float(burst[-1]) == 4
    del burst, spare
    dflow.waitall()                                 # gives slabs back
    again = [x[i % 5] * 2 for i in range(1000)]
    assert [float(s) for s in again] == [i % 5 * 2 for i in range(1000)]


@pytest.mark.filterwarnings("ignore:.*encountered in cast:RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("store", ["x[0] = s", "x[1:] = s", "x[...] = s", "x.fill(s)", "x[[0, 2]] = s", "x[x == 0] = s",
                                   "x[:] = s[...]", "np.copyto(x, s, 'unsafe')", "x[:] = np.array(s, x.dtype)",
                                   "x[:2] = np.array([s, 1], x.dtype)", "x[1] = np.array([[1, s]], x.dtype)[0, 1]"])
@pytest.mark.parametrize("dtype", ["i1", "i8", "f2", "?"])
@pytest.mark.parametrize("pending", [False, True])
def test_a_signed_integer_is_what_int_makes_of_a_scalar(store, dtype, pending):
    """Or the error of that: others are cast. Of a scalar that is pending it comes on reading."""
    for value in ("nan", "-7.9", "300.5", "1e300", "-inf", "f4:2.5", "i8:300", "i4:-9", "u8:18446744073709551615",
                  "c16:3", "?:1"):
        results = []
        for module in (np, numpy):
            kind, _, number = value.rpartition(":")
            s = module.array([complex(number) if kind == "c16" else int(number) if kind[:1] in ("i", "u", "?") and kind
                              else float(number)], kind or float)
            s = (dflow.engine.sleep(s, 1e-3) if pending and module is np else s)[0]
            x = module.zeros(3, dtype)
            results.append(outcome(lambda: exec(store, {"x": x, "s": s, "np": module}) or x))      # noqa: B023
        assert_same_outcome(*results)


@pytest.mark.parametrize("index", [1 << 63, 1 << 100, -1 << 100])
def test_an_index_that_no_integer_of_the_machine_holds(index):
    x = numbers()
    rows = x.reshape(1, 5)
    for read in (lambda: x[index], lambda: x[index, ...], lambda: rows[0, index], lambda: rows[index]):
        with pytest.raises((IndexError, OverflowError)):
            read()
    with pytest.raises((IndexError, OverflowError)):
        x[index] = 1.0
    with pytest.raises((IndexError, OverflowError)):
        x[index] = x[0]


VALUES = """median(x) | percentile(x, 50) | nanmedian(x) | quantile(x, 0.5) | nanpercentile(x, 50) | interp(2.5, x, x)
    searchsorted(x, 3) | digitize(2.0, x) | linalg.cond(m) | median(m, axis=(0, 1)) | nan_to_num(1.0)
    choose(1, [3, 4]) | nanargmax(x) | nanvar(x) | real(1j) | imag(1j)
    unravel_index(3, (2, 3))[0] | ravel_multi_index((1, 1), (2, 3))"""


@pytest.mark.parametrize("text", [text.strip() for line in VALUES.splitlines() for text in line.split("|")])
@pytest.mark.parametrize("n", [6, 6000])
def test_results_without_axes_are_values(text, n):
    """So that `b = a = np.median(x); b += 1` leaves a alone."""
    names = {"x": numpy.arange(n) * 1.0, "m": numpy.eye(2) + 1}
    expected = eval(f"np.{text}", {"np": numpy, **names})
    other = result = eval(f"np.{text}", {"np": np, **{name: np.array(x) for name, x in names.items()}})
    assert np.isscalar(result) and numpy.isscalar(expected)
    other += 1
    assert result == expected and other == expected + 1


METHODS = """x[0].astype('f4') | x[0].astype(float, copy=False) | x.sum().view() | x.sum().view(int) | x[0].copy()
    x.max().T | x[0].transpose() | x[0].reshape(()) | x[0].astype(int, 'F') | x[0].squeeze() | x[0].round()"""


@pytest.mark.parametrize("text", [text.strip() for line in METHODS.splitlines() for text in line.split("|")])
def test_methods_of_values_give_values(text):
    """So that `b = a = x.sum().astype(int); b += 1` leaves a alone."""
    expected = eval(text, {"x": numpy.arange(3.0)})
    other = result = eval(text, {"x": np.arange(3.0)})
    assert np.isscalar(result) and numpy.isscalar(expected) and result.dtype == expected.dtype
    other += 1
    assert result == expected and other == expected + 1


ARRAYS = """s.reshape(1) | s.ravel() | s.flatten() | s[None] | s[...] | s[..., None] | np.atleast_1d(s) | np.ravel(s)
    np.expand_dims(s, 0) | np.asarray(s) | np.asarray(s, float) | np.asarray(s, order="F") | np.asanyarray(s)
    np.ascontiguousarray(s) | np.asfortranarray(s) | np.array(s, copy=None) | np.array(s, copy=None, ndmin=2)"""


@pytest.mark.parametrize("text", [text.strip() for line in ARRAYS.splitlines() for text in line.split("|")])
@pytest.mark.parametrize("pending", [False, True])
def test_arrays_made_of_values_are_their_own(text, pending):
    """So that `a = np.atleast_1d(s); a += 1` leaves s alone."""
    results = []
    for module in (numpy, np):
        x = module.arange(3.0)
        s = (dflow.engine.sleep(x, 0.01) if pending and module is np else x).sum()
        a = eval(text, {"np": module, "s": s})
        a[...] = 7
        results.append((float(s), a.tolist(), a.flags.owndata, a.flags.writeable))
    assert results[0] == results[1]


@pytest.mark.parametrize("text", ["s.dtype = 'i1'", "s.shape = (1,)", "s.strides = (8,)", "s.flags.writeable = True",
                                  "s.setflags(write=True)", "s.setflags(write=False)", "s.resize((3,))",
                                  "s.__setstate__((1, (2,), numpy.dtype(bool), False, b'01'))"])
@pytest.mark.filterwarnings("ignore:Setting the (shape|strides):DeprecationWarning")
@pytest.mark.parametrize("value", ["x[1]", "x[0] < x[1]"])
def test_values_stay_as_they_are(text, value):
    ends = []
    for module in (numpy, np):
        s = eval(value, {"x": module.arange(3.0)})
        kind = outcome(lambda: exec(text, {"s": s, "numpy": numpy}))[:2]    # noqa: B023
        ends.append((kind, s.item(), s.dtype, s.shape, s.flags.writeable))
    assert ends[0] == ends[1]


WRITES = """numpy.logical_and.at(T, (), False) | np.logical_not.at(T, ()) | np.add.at(T, None, 5)
    np.nditer(T, op_flags=[["readwrite"]]).operands[0][...] = False | np.nditer(T).operands[0][...] = False
    np.nested_iters(T, [[], []], op_flags=[["readwrite"]])[0].operands[0][...] = False
    q = np.broadcast_to(T, ()); q.flags.writeable = True; q[...] = False
    q = np.broadcast_to(T, (2,)).T; q.setflags(write=True); q[0] = False
    q = np.broadcast_arrays(T, x)[0]; q.flags.writeable = True; q[0] = False
    np.asarray(T)[...] = False | T.reshape(1)[0] = False | T.view("i1")[...] = 0 | memoryview(T)[()] = False
    np.lib.stride_tricks.as_strided(T, (1,), (1,))[0] = False | numpy.asarray(T)[...] = False | T.fill(False)
    np.logical_not(T, out=T) | T[...] = False | T.flat[0] = False | np.copyto(T, False) | np.put(T, 0, False)"""


def test_true_and_false_are_two_values_until_there_are_gradients():
    """In a process of its own: others have had gradients."""
    program = f"""if True:
        import numpy, dflow, dflow.numpy as np
        x, truth = np.arange(3.0), np.array([True, False])
        T = x[0] < x[1]
        assert T is (x[1] < x[2]) is (2 >= x[0]) is (truth[0] | truth[1]) and bool(T)
        assert (x[0] > x[1]) is (x[1] == x[2]) is ~truth[0] is not T and not x[0] > x[1]
        for write in {[text.strip() for line in WRITES.splitlines() for text in line.split("|")]}:
            try:
                exec(write)
            except (TypeError, ValueError, AttributeError):
                pass
            dflow.waitall()
            assert bool(x[1] < x[2]) and not x[2] < x[1], write
        try:
            T.attach_grad()
        except ValueError as error:
            assert "share" in str(error)
        else:
            assert False
        own = T.copy()
        own.attach_grad()
        assert own.grad is not None and (x[0] < x[1]) is not (x[0] < x[1])
        x.attach_grad()
        with dflow.autograd.record():
            told, real = x[0] < x[1], np.isreal(x[0])
            y = np.where(told, x[2] * 2, 0.0)
        y.backward()
        assert x.grad.tolist() == [0, 0, 2]
        with dflow.autograd.record():
            np.add.at(np.zeros(3), [0], truth[0] & T)           # it is not recorded, and need not be
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("code", "?bBhHiIlLqQefdgFDG")
def test_lists_of_values_are_searched_and_sorted(code):
    """By comparisons of two, which are true or false at once, or wait."""
    numbers, want = numpy.random.default_rng(3).integers(0, 9, 40).astype(code), None
    for np_, limit in (numpy, None), (np, None), (np, 0):
        with configured(limit=limit):
            x = np_.array(numbers)
            some, others = list(x), list(x[::-1] + x)
            got = [t in some for t in others], [others.index(t) if t in others else -1 for t in some], some == others
            got += [some.count(t) for t in others], [bool(s == t) for s, t in zip(some, others)]
            if not numpy.iscomplexobj(numbers):
                got += [int(t) for t in sorted(others)], int(max(some)), [some[0] < t for t in others]
        want = want or got
        assert got == want


def test_values_are_no_arrays_that_need_no_copy():
    for module in (numpy, np):
        for function in (module.array, module.asarray):
            with pytest.raises(ValueError, match="Unable to avoid copy"):
                function(module.arange(3).sum(), copy=False)
            with pytest.raises(ValueError, match="Unable to avoid copy"):
                function(1j, dtype=int, copy=False)             # before any error of a conversion


@pytest.mark.parametrize("mode", ["constant", "edge", "mean", "wrap"])
def test_padding_keeps_the_order_of_memory(mode):
    for order in "CF":
        a = np.pad(np.ones((4, 5, 6), order=order), 2, mode)
        assert a.flags.f_contiguous == (order == "F") and a.flags.c_contiguous == (order == "C")


def test_arrays_leave_and_come_back_in_the_order_of_their_memory(tmp_path):
    np.savez(tmp_path / "a.npz", np.ones((3, 4)), np.ones((3, 4), order="F"))
    loaded = np.load(tmp_path / "a.npz")
    for name, fortran in (("arr_0", False), ("arr_1", True)):
        assert loaded[name].flags.fnc == np.array(loaded[name]).flags.fnc == fortran
    x = np.arange(12.0).reshape(3, 4).T
    assert x.asnumpy().flags.fnc and numpy.asarray(x).flags.fnc and (x.asnumpy() == x).all()
    assert not x[::2].asnumpy().flags.fnc and x[1:2].asnumpy().flags.c_contiguous


@pytest.mark.parametrize("make", ["x", "x.T", "x.transpose(1, 0, 2)", "x.transpose(2, 0, 1)[::2]", "x[:, ::-1]",
                                  "x[0, ::2].T"])
def test_copies_of_numpy_s_arrays_have_the_order_of_theirs(make):
    x = eval(make, {"x": numpy.arange(24.0).reshape(2, 3, 4)})
    for dtype in (None, "i2"):
        y = np.array(x, dtype)
        assert y.strides == numpy.array(x, dtype).strides
        numpy.testing.assert_array_equal(y.asnumpy(), x)
    for subscripts in ("ij,k->ijk", "ij,k->kij", "ij,kl->ijkl", "ij,ij->ij"):
        a = numpy.asfortranarray(numpy.ones((2, 3)))
        b = (a[0] if "k" in subscripts and "l" not in subscripts else a)
        assert np.einsum(subscripts, np.array(a), np.array(b)).strides == numpy.einsum(subscripts, a, b).strides


@pytest.mark.once
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", """add subtract multiply divide fmax minimum bitwise_and left_shift floor_divide
                                 remainder power logical_or less hypot copysign ldexp""".split())
def test_at_with_python_numbers(name):
    """No number is weak there: one beyond the type, or between its numbers, counts as what it is."""
    numbers = (-129, 300, -1, 3, True, 2 ** 31, 2 ** 63, -2 ** 63, 2 ** 64, 2 ** 70, 1.5, 0.1, 1e300, 1j, [1, 300],
               [-1, 2])
    for turn, dtype in enumerate("?bBhHiIlLefdgFD"):
        source = numpy.array([1, 0, 1, 2, 3]).astype(dtype)
        for k, (index, number) in enumerate(itertools.product(([0, 1], [0, 0], [], 0, slice(0, 2)), numbers)):
            if isinstance(number, list) and index not in ([0, 1], [0, 0]) or (k + turn) % 2:    # half of them a type
                continue
            results = []
            for module in np, numpy:
                x = module.array(source)
                pending = module is np and k % 3 == 0           # of the 16 numbers each, with one index or another
                with configured(limit=0 if pending else None, workers=2):
                    x = dflow.engine.sleep(x, 1e-5) if pending else x
                    results.append(outcome(lambda: getattr(module, name).at(x, index, number) or x))    # noqa: B023
            assert_same_outcome(*results)


UNASKED = "dump", "dumps", "fromhex", "tofile"
NAMES = [name for name in dir(numpy.float64) if not name.startswith("__") and name not in UNASKED]


@pytest.mark.parametrize("code", "dDlB?eg")
@pytest.mark.parametrize("name", NAMES)
def test_what_scalars_give(code, name):
    """Attributes and methods of scalars give scalars where NumPy's do, and none of these shows in the scalar itself."""
    for arguments in ((), (0,), ("d",), ([0],), (1,)):
        theirs, ours = numpy.ones((), code)[()], np.ones((), code)[...].max()
        before = ours.item()
        ends = []
        for module, scalar in ((numpy, theirs), (np, ours)):
            try:
                result = getattr(scalar, name)
                result = result(*arguments) if callable(result) else result
            except Exception:
                ends.append(None)
            else:
                ends.append(module.isscalar(result) if hasattr(result, "dtype") else None)
        if ends[0]:
            assert ends[1], (code, name, arguments)
            result += 1
        assert ours.item() == before and np.isscalar(ours)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", ["float64", "int64", "float32", "uint8", "bool_", "complex128", "longdouble",
                                    "int32"])
@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "g", "F", "D"])
def test_numpys_numbers_beside_elements_and_arrays(number, dtype):
    """The same types and values as NumPy's, on both sides and in place; the same errors, too."""
    theirs = numpy.arange(1, 13).astype(dtype)
    ours = np.array(theirs)
    names = ("add sub mul truediv floordiv mod pow lshift and_ lt eq ge iadd imul isub").split()

    def heard(function, *operands):
        try:
            result = numpy.asarray(function(*operands))
        except (TypeError, ValueError) as e:
            return type(e)
        return result.dtype, result.shape, repr(result.tolist())

    for value in (3, 0):
        x = getattr(numpy, number)(value)
        for name in names:
            function = getattr(operator, name)
            for of in (lambda a: a[4], lambda a: a[::3].copy(), lambda a: a[::-3], lambda a: a[7:8].reshape(())):
                assert heard(function, of(ours), x) == heard(function, of(theirs.copy()), x), (name, value)
                ours[:] = theirs
                assert heard(function, x, of(ours)) == heard(function, x, of(theirs)), (name, value)


@pytest.mark.parametrize("seed", range(200))
def test_operators_of_what_lies_in_steps(seed):
    """Rows, columns, elements and reversed views, small enough to run where they are called, or not."""
    random = numpy.random.default_rng(seed)
    n = int(2 ** random.uniform(0, 13))
    dtype = random.choice(["f8", "f4", "i8", "i4", "u1", "D"])
    theirs = [(random.normal(size=(n, 3)) * 40).astype(dtype) for _ in range(2)]
    ours = [np.array(x) for x in theirs]

    def view(k, kind):
        return (lambda x: x[k][:, 1], lambda x: x[k][::-1, 2], lambda x: x[k][0, 1], lambda x: x[k][n // 2, 1, ...],
                lambda x: x[k].reshape(-1)[:n], lambda x: x[k].T[0])[kind]

    for _ in range(12):
        a, b = (view(int(random.integers(2)), int(random.integers(6))) for _ in range(2))
        function = getattr(operator, str(random.choice(["add", "sub", "mul", "lt", "eq", "iadd", "isub", "imul"])))
        in_place = function.__name__[0] == "i"
        if in_place and (numpy.ndim(a(theirs)) < numpy.ndim(b(theirs)) or not isinstance(a(theirs), numpy.ndarray)):
            continue
        with numpy.errstate(all="ignore"):
            expected, found = function(a(theirs), b(theirs)), function(a(ours), b(ours))
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert numpy.asarray(found).tobytes() == expected.tobytes()
        for x, y in zip(ours, theirs):
            assert x.asnumpy().tobytes() == y.tobytes()


BINARY = "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor lt le eq ne gt ge divmod".split()
UNARY = "neg pos abs invert".split()


SPECIAL = {"e": [6e-8, 1e-5, 6.1e-5, 65504.0, 300.0], "f": [1e-40, 2e-38, 3.4e38, 1e30], "d": [1e-310, 1e300],
           "F": [1e-40, 1e-20, 3.4e38, 1e19], "D": [1e-310, 1e-160, 1e300, 1e154], "g": [1e300]}
COMMON = [0.0, -0.0, numpy.inf, numpy.nan, 0.1, -3.0, 2.0]


def some_number(random, dtype):
    """At a type's limits, or between them."""
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return bool(random.random() < 0.5)
    if kind == "c":
        parts = [some_number(random, dtype.lower() if random.random() < 0.8 else "?") for _ in range(2)]
        return complex(*parts)
    if kind == "f":
        if random.random() < 0.4:
            return random.choice(COMMON + SPECIAL.get(dtype, SPECIAL.get(dtype.upper())))
        return random.normal() * 2.0 ** (random.integers(-20, 16) if dtype == "e" else random.integers(-40, 60))
    limits = numpy.iinfo(dtype)
    if random.random() < 0.4:
        return (limits.min, limits.max, 0, 1, 2)[random.integers(5)]
    number = int(2 ** random.uniform(0, limits.bits)) * (1, -1)[random.integers(2)]
    return min(max(number, limits.min), limits.max)


def told_by(function):
    """How it ends, and what is warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        end = outcome(function)
        dflow.waitall()
    return end, sorted({str(w.message) for w in told})


@pytest.mark.parametrize("types", ["bBhHiIlLqddfff?", "DDFFddfl?", "eeefdbl?", "?????bdD", "gGdDel?"])
@pytest.mark.parametrize("seed", range(40))
def test_arithmetic_of_elements(seed, types):
    """Of each type, at its limits and between them, beside elements and numbers: values, types, errors, warnings."""
    random = numpy.random.default_rng(seed)

    def draw(dtype):
        return some_number(random, dtype)

    for _ in range(150):
        one, other = (str(random.choice(list(types))) for _ in range(2))
        if random.random() < 0.6:
            other = one
        with numpy.errstate(all="ignore"):
            theirs = [numpy.array([draw(dtype)], dtype)[0] for dtype in (one, other)]
        ours = [np.array([x])[0] for x in theirs]
        bare = random.random() < 0.1        # arrays without axes tell of nothing
        if bare:
            theirs[0], ours[0] = numpy.array(theirs[0]), np.array(theirs[0])
        partner = int(random.integers(12))
        if partner < 8:
            with numpy.errstate(all="ignore"):
                number = (theirs[1], int(random.integers(-3, 9)), draw("l"), draw("d"), draw("?"), draw("D"), 2,
                          numpy.array([draw(other)], other)[0])[partner]
            theirs[1], ours[1] = number, ours[1] if partner == 0 else number
        if random.random() < 0.5:
            theirs, ours = theirs[::-1], ours[::-1]
        name = str(random.choice(BINARY + UNARY))
        operands = slice(0, 2 if name in BINARY else 1)
        results = [told_by(lambda: getattr(operator, name)(*numbers[operands])) for numbers in (ours, theirs)]  # noqa: B023
        made, texts = results[1][0][1], results[1][1]
        if results[1][0][0] == "value" and not computed_as_scalars(name, made, bare, *theirs[operands]):
            continue
        ends = [end[:2] if end[:2] in (("error", OverflowError), ("error", TypeError)) else end for end, _ in results]
        assert_same_outcome(*ends)          # their words depend on the way there
        if any("in cast" in text for text in texts):
            continue                        # of a number beside an element
        if "g" in types or not any("scalar" in text for text in texts):
            results = [(end, sorted({text.split()[0] for text in told})) for end, told in results]
        assert results[0][1] == results[1][1], (name, theirs)


UFUNCS = sorted(name for name, u in vars(numpy).items() if isinstance(u, numpy.ufunc) and u.signature is None
                and u.nin < 3 and u.nout == 1 and hasattr(np, name)
                and name not in ("fmax", "fmin"))   # of zeros NumPy gives either


@pytest.mark.parametrize("types", ["bBhHiIlLqddfff?", "DDFFddfl?", "eeefdbl?", "?????bdD"])
@pytest.mark.parametrize("seed", range(20))
def test_functions_of_numbers(seed, types):
    """Of one or two: Python's, NumPy's scalars, elements, some of them pending; twice, as the first call plans."""
    random = numpy.random.default_rng(seed)
    held = np.zeros(1)
    for _ in range(200):
        u = getattr(numpy, str(random.choice(UFUNCS)))
        theirs, ours = [], []
        for _ in range(u.nin):
            dtype = str(random.choice(list(types)))
            with numpy.errstate(all="ignore"):
                number = numpy.array([some_number(random, dtype)], dtype)[0]
            if random.random() < 0.4:
                number = number.item() if random.random() < 0.7 else int(random.integers(-3, 9))
            theirs.append(number)
            if isinstance(number, numpy.generic) and random.random() < 0.6:
                one = np.array([number])
                number = (one if random.random() < 0.8 else np.where(held == 0, one, one))[0]
            ours.append(number)
        if any(type(x) is int and not -1 << 63 <= x < 1 << 63 for x in theirs):
            continue
        expected, expected_words = told_by(lambda: u(*theirs))      # noqa: B023
        for _ in range(2):
            actual, words = told_by(lambda: getattr(np, u.__name__)(*ours))     # noqa: B023
            if expected[0] == "error":
                assert actual[0] == "error" and issubclass(actual[1], TypeError) == issubclass(expected[1], TypeError)
                break
            if u is not numpy.power or expected[1].dtype != "f4":       # whose last bit depends on how many there are
                assert_same_outcome(actual, expected)
            assert words == expected_words or any("cast" in word for word in words + expected_words), (u, theirs)


@pytest.mark.parametrize("dtype, bits", [("f4", "u4"), ("f8", "u8")])
def test_what_is_infinite_or_no_number_stays_so(dtype, bits):
    """Bits, those of NaNs too, where one operand has them; and no warning but of what is invalid, or too large."""
    info = numpy.finfo(dtype)
    quiet = numpy.array([numpy.nan, -numpy.nan], dtype).view(bits)
    signals = (quiet ^ (1 << info.nmant - 1) ^ 1)[:dtype == "f8"]       # of float32 they are read as float64, and quiet
    values = [*numpy.concatenate([quiet, quiet + 5, signals]).astype(bits).view(dtype)]
    nans = len(values)
    values += [*numpy.array([numpy.inf, -numpy.inf, 0, -0.0, 2, info.max, info.tiny], dtype)]
    theirs, ours = values, [*np.array(numpy.array(values))]
    for name in ("add", "sub", "mul", "truediv", "pow"):
        for i, j in itertools.product(range(len(values)), repeat=2):
            (kind, one, *_), told = told_by(lambda: getattr(operator, name)(theirs[i], theirs[j]))      # noqa: B023
            (_, other, *_), told_ours = told_by(lambda: getattr(operator, name)(ours[i], ours[j]))      # noqa: B023
            if i < nans and j < nans:       # of two nobody promises which it is
                assert numpy.isnan(other) == numpy.isnan(one)
            else:
                assert kind == "value" and told_ours == told, (name, theirs[i], theirs[j])
                assert numpy.asarray(other).view(bits) == one.view(bits), (name, theirs[i], theirs[j])


def computed_as_scalars(name, made, bare, *operands):
    """Whether dflow has NumPy's arithmetic of scalars for these; False: where its ufuncs have another last bit, or
    compare complex numbers otherwise."""
    dtype = numpy.result_type(*operands)
    alike = not bare and dtype.char not in "gG" and dtype in [getattr(x, "dtype", None) for x in operands]
    if name == "pow" and made.dtype.kind in "fc":
        return alike and (dtype.kind == "f" or operands[1] == 2)
    if dtype.kind == "c" and name in ("lt", "le", "gt", "ge") and "b" in [numpy.result_type(x).kind for x in operands]:
        return False                        # NumPy's bools compare by ufuncs, if they are asked first
    return alike or dtype.kind != "c" or name not in ("mul", "truediv", "abs", "lt", "le", "gt", "ge")


@pytest.mark.parametrize("dtype", ["D", "F"])
def test_squares_of_complex_zeros(dtype):
    """Have no signs; those of numbers that underflow to zero have."""
    for re in (0.0, -0.0, 1e-300, -1e-30):
        for im in (0.0, -0.0, 1e-300, -1e-30):
            theirs = numpy.array([complex(re, im)], dtype)
            with numpy.errstate(all="ignore"):
                assert (np.array(theirs)[0] ** 2).asnumpy().tobytes() == (theirs[0] ** 2).tobytes(), (re, im)


NUMBERS = [True, False, 3, -1, 255, 256, 2**31, 2**53 + 1, 2**63, 2**64 - 1, 10**40, 0.0, -0.0, 1.5, 1e300,
           3.4028235e38, 3.4028236e38, -1e39, 1e-40, 1e-50, numpy.nan, numpy.inf, 65520.0, 1j, numpy.float64(2.5),
           numpy.float64(1e300), numpy.float32(0.1), numpy.float16(2), numpy.int64(-5), numpy.int64(300),
           numpy.uint8(7), numpy.bool_(True), numpy.int32(2**31 - 1), numpy.uint64(2**64 - 1), numpy.complex64(1 + 2j)]


@pytest.mark.parametrize("dtype", list("?bBhHiIlLqQefdFD"))
@pytest.mark.parametrize("store", ["x[1] = v", "x[-1] = v", "A[1, 2] = v", "A[0][1] = v", "x[...] = v", "x[1:3] = v",
                                   "x[5] = v", "A[3, 0] = v"])
def test_numbers_stored_in_elements(dtype, store):
    """Of Python's and NumPy's, in and out of a type's range: bytes, errors, warnings."""
    for number in NUMBERS:
        results = []
        for library in (numpy, np):
            x, A = library.zeros(4, dtype), library.zeros((3, 4), dtype)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                end = outcome(lambda: exec(store, {"x": x, "A": A, "v": number}))      # noqa: B023, S102
                dflow.waitall()
            results.append((end[:2], numpy.asarray(x).tobytes(), numpy.asarray(A).tobytes(),
                            sorted({str(w.message) for w in told})))
        assert results[0] == results[1], number


@pytest.mark.parametrize("policy", ["ignore", "warn", "raise"])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_that_wrap_round(dtype, policy):
    """Elements, Python's numbers and NumPy's: the last bits, and what a policy does of them."""
    limits = numpy.iinfo(dtype)
    values = numpy.array([0, 1, 7, limits.min, limits.min + 1, limits.max, limits.max - 1, limits.max // 2 + 1], dtype)
    for text in ("x[i] + x[j]", "x[i] - x[j]", "x[i] * x[j]", "-x[i]", "abs(x[i])", "x[i] - 7", "7 - x[i]", "x[i] * 5",
                 "x[i] + t(3)", "t(3) - x[i]"):
        for i in range(values.size):
            for j in range(values.size):
                def result(module, text=text, i=i, j=j):
                    with numpy.errstate(all=policy):
                        names = {"x": module.array(values), "t": values.dtype.type, "i": i, "j": j}
                        return numpy.asarray(eval(text, names))
                assert_as_given(given(result, np), given(result, numpy), (text, values[i], values[j]))
