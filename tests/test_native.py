"""Native loops: what a group computes by one has the bits, and the warnings, that it has by NumPy's loops."""

import contextlib
import os
import re
import subprocess
import sys

import numpy
import pytest
from compare import same_bits
from engines import clean_environment, configured, in_threads, ran, ran_native, written_for

import dflow
import dflow.numpy as np
from dflow import engine
from dflow._kernels import native
from tests.native_programs import (
    INTEGERS,
    SETS,
    check,
    check_many,
    complex_program,
    integer_program,
    program,
    settings,
    told,
    typed,
    values,
)

pytestmark = [pytest.mark.core, pytest.mark.skipif(not engine.native(), reason="this processor has no AVX2")]


@pytest.mark.parametrize("store", ["f[x > 1] = 0", "np.copyto(f, 0, where=x > 1)", "np.add(x, x, out=f, where=x > 1)",
                                   "f[x > 1] = x[x > 1]"])
def test_what_a_mask_leaves_as_it_was(store):
    """It comes from the loop before the masked store, and goes into the one behind it."""
    text = f"f = 1 - x * x\n{store}\nf = f * 2 + f"
    x = numpy.random.default_rng(0).random(5000) * 3
    def result(module):
        names = {"np": module, "x": module.array(x)}
        exec(text, names)
        return names["f"]
    expected = result(numpy)
    for _ in range(3):
        assert same_bits(numpy.asarray(result(np)), expected)


@pytest.mark.parametrize("seed", range(400))
def test_random_programs(seed):
    check_one(program, seed)


@pytest.mark.parametrize("seed", range(400))
def test_random_programs_of_integers(seed):
    check_one(integer_program, seed)


@pytest.mark.parametrize("seed", range(200))
def test_random_programs_of_complex_numbers(seed):
    check_one(complex_program, seed)


@pytest.mark.once
@pytest.mark.parametrize("seed", range(15))
def test_many_small_random_programs(seed):
    check_many(seed, 60)


def check_one(draw, seed):
    random = numpy.random.default_rng(seed)
    with written_for(SETS[seed % len(SETS)]), configured(**settings(random)):
        check(random, draw)


def pending(x):
    """A copy of x that is there a moment later: what follows is one group."""
    return engine.sleep(x, 0.002)


CHAINS = [lambda np, x: x * 2 + x / 3 - 1, lambda np, x: (x[1:-1, 2:] + x[1:-1, :-2] - x[1:-1, 1:-1]) * 0.25,
          lambda np, x: np.exp(x * 0.001 - 1) * 2 + x, lambda np, x: np.sqrt(abs(-x)) * np.reciprocal(x + 1),
          lambda np, x: np.where((x > 9) & ~(x >= 40) | np.isnan(x), x * 2, -x) * (x != 7)]


@pytest.mark.parametrize("chain, loops", [*zip(CHAINS, (1, 1, 2, 1, 1))],
                         ids=["chain", "stencil", "around exp", "unary", "masks"])
def test_they_run(chain, loops):
    theirs = numpy.arange(5000.0).reshape(50, 100)
    x = np.array(theirs)
    with configured(limit=0):
        for _ in range(2):                      # seen, written
            ran(lambda: chain(np, pending(x)))
        found, result = ran(lambda: chain(np, pending(x)))
        assert found == loops and same_bits(result, chain(numpy, theirs))
        engine.native(False)
        try:
            found, result = ran(lambda: chain(np, pending(x)))
        finally:
            engine.native(True)
        assert found == 0 and same_bits(result, chain(numpy, theirs))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("size", [4, 8])
def test_every_length_of_a_last_vector(name, size):
    random = numpy.random.default_rng(size)
    integer, real, narrow = f"i{size}", f"f{size}", f"u{size // 4}"

    def chain(np, i, j, x, n):
        k = np.where((i > j) & (x < 9), i * j - n, ~j >> 3)
        return k + (i.astype(real) * x).astype(integer) + (k != 0)

    with written_for(name), configured(limit=0):
        loops = 0
        for length in range(300, 317):
            theirs = [values(random, length, dtype, 0.1) for dtype in (integer, integer, real, narrow)]
            with numpy.errstate(all="ignore"):
                expected = chain(numpy, *theirs)
                i, *others = map(np.array, theirs)
                for _ in range(3):
                    found, result = ran(lambda i=i, others=others: chain(np, pending(i), *others))
                    assert same_bits(result, expected), length
                    loops += found
        assert loops


@pytest.mark.once
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("size", [4, 8])
def test_each_operation_of_integers_is_in_a_loop(name, size):
    random = numpy.random.default_rng(size)
    types = {kind: f"{kind}{size}" for kind in "iuf"} | {"m": "?", "h": "f4", "n": "i2" if size == 4 else "u4"}
    theirs = {kind: values(random, 1000, dtype, 0.2) for kind, dtype in types.items()}
    ours = {kind: np.array(x) for kind, x in theirs.items()}
    left_out = [".view", "(~{m})", "({m} | {m})"] + ["{f}.astype(I)"] * (name == "AVX2" and size == 8)
    with written_for(name), configured(limit=0), numpy.errstate(all="ignore"):
        for kind, text in [(k, text) for k in "iufm" for text in INTEGERS[k]]:
            first = re.search(r"{(\w)}", text)[1]               # the only one that they wait for: they are one group
            text = f"({text}) {'|' if kind == 'm' else '+'} {{{kind}}}"
            code = typed(re.sub(r"[{}]", "", text), types)
            expected = eval(code, theirs | {"np": numpy})
            known = not any(part in text for part in left_out)
            for i in range(30):                     # a worker may close the group before the second operation is there
                names = ours | {"np": np, first: pending(ours[first])}
                found, result = ran(lambda code=code, names=names: eval(code, names))
                assert same_bits(result, expected), text
                if i >= 2 and found == known:
                    break
            assert found == known, text


def tried(text, theirs, types):
    """Whether it runs in a loop, with NumPy's bits. Its first operand is waited for, so that it is one group."""
    code = typed(text, types)
    with numpy.errstate(all="ignore"):
        expected = eval(code, theirs | {"np": numpy})
        ours = {name: np.array(x) for name, x in theirs.items()}
        first, loops = re.search(r"\b[xyz]\b", text)[0], 0
        for i in range(30):                     # a worker may close the group before the second operation is there
            names = ours | {"np": np, first: pending(ours[first])}
            found, result = ran(lambda names=names: eval(code, names))
            assert result.dtype == expected.dtype and same_bits(result, expected), text
            loops = max(loops, found)
            if i >= 2 and loops:
                break
    return loops > 0


LENGTHS = 300, 301, 302, 303, 305, 308, 311, 315, 316


@pytest.mark.once
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u4", "u8"])
def test_casts_to_narrower_ones(name, dtype):
    """And to floats, and back: every cast that a loop has, at every length of a last vector."""
    random = numpy.random.default_rng(7)
    size, kind = int(dtype[1]), dtype[0]
    targets = {f"{k}{n}" for k in "iu" for n in (1, 2, 4, 8) if n <= size} | {f"f{n}" for n in (4, 8) if n <= size}
    targets -= {dtype} | ({"u4"} if kind == "f" else set())
    if name == "AVX2":
        targets -= {"i8", "u8"} if kind == "f" else {"f4"} if size == 8 else set()
    if name == "NEON" and kind == "f":
        targets -= {t for t in targets if t[0] == "u" or t[0] == "i" and size == 8 and t != "i8"}
    with written_for(name), configured(limit=0):
        for target in sorted(targets):
            for length in LENGTHS:
                x = values(random, length, dtype, 0.3)
                if kind == "f":
                    limits = [2.0 ** 31, -(2.0 ** 31), 2.0 ** 63, 2.0 ** 64, 255.5, 32768, 1e38, -0.5, 1e-46]
                    x[::7] = random.choice(limits, x[::7].shape)
                assert tried(f"np.positive(x + x).astype({target!r})", {"x": x}, {}), (target, length)


@pytest.mark.parametrize("name", SETS)
def test_bools_as_bytes(name):
    random = numpy.random.default_rng(7)
    with written_for(name), configured(limit=0):
        for dtype in ("f4", "f8", "i4", "u8"):
            for target in ("u1", "i1"):
                for length in LENGTHS:
                    theirs = {n: values(random, length, dtype, 0.3) for n in "xy"}
                    assert tried(f"((x > y) & (x < 40)).astype({target!r})", theirs, {})


@pytest.mark.once
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_zeros_and_limits(name, dtype):
    """Which zero of two: as NumPy's loops of whole vectors, which differ with limits that are one number each; but for
    fmax and fmin, whose last, half empty vector may have the other one."""
    zeros = numpy.array([0.0, -0.0, 1.0, -1.0, numpy.nan, numpy.inf, -numpy.inf, 5e-324], dtype)
    theirs = {name: numpy.resize(numpy.repeat(zeros, 8 ** i), 512) for i, name in enumerate("xyz")}
    with written_for(name), configured(limit=0):
        for text in ("np.clip(x, y, z)", "(np.fmax(x, y) + 0)", "(np.fmin(x, y) + 0)", "np.sign(x)",
                     "np.maximum(x, y)"):
            assert tried(f"np.square({text}) * 0 + 1 / {text}", theirs, {}), text
        for low in zeros:
            for high in zeros:
                theirs |= {"low": low, "high": high}
                assert tried("1 / np.clip(x, low, high) + x", theirs, {})
                theirs |= {"low": numpy.array(low), "high": numpy.array(high)}
                assert tried("1 / np.clip(x, low, high) + x", theirs, {})


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_quotients_of_integers(name, dtype):
    random = numpy.random.default_rng(7)
    with written_for(name), configured(limit=0):
        for length in LENGTHS:
            theirs = {n: values(random, length, dtype, 0.3) for n in "xy"}
            assert tried("x / y * 2", theirs, {}) and tried("x / 3 + y", theirs, {})


@pytest.mark.once
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_each_operation_of_complex_numbers_is_in_a_loop(name, dtype):
    random = numpy.random.default_rng(7)
    with written_for(name), configured(limit=0):
        for text in ("x + y", "x - y", "x * y", "-x", "np.conjugate(x)", "np.square(x)", "x * (2 - 1j)", "0.5 * x",
                     "x + z[1]", "z[2] * x", "+x", "x * r", "r - x"):
            for length in LENGTHS:
                theirs = {n: values(random, (length,), dtype, 0.1) for n in "xyz"}
                theirs["r"] = values(random, length, f"f{int(dtype[1:]) // 2}", 0.1)
                assert tried(f"({text}) * x - y", theirs, {}), text


def test_warnings_of_casts_to_narrower_ones():
    x = numpy.resize(numpy.array([0.5, 2.0, 1e300, 3.0]), 1000)
    small = numpy.resize(numpy.array([1.0, 1e-42]), 1000)

    def chain(x, target):
        y = pending(x)
        y = y * 1
        return y.astype(target)

    with configured(limit=0):
        for theirs, target, texts in ((x, "f4", {"overflow encountered in cast"}),
                                      (x, "i2", {"invalid value encountered in cast"}), (small, "f4", set())):
            for _ in range(3):
                before = engine.statistics()["native"]
                result, heard = told(chain, np.array(theirs), target)
                with numpy.errstate(all="ignore"):
                    assert same_bits(numpy.asarray(result), theirs.astype(target))
                assert {text for text, _ in heard} == texts
                assert {line for _, line in heard} <= {chain.__code__.co_firstlineno + 3}
            assert engine.statistics()["native"] > before
        with np.errstate(under="warn"):
            result, heard = told(chain, np.array(numpy.full(1000, 1e-42 / 3)), "f4")
        assert {text for text, _ in heard} == {"underflow encountered in cast"}


# ---- loops that are wrong ----------------------------------------------------------------------------------------

@contextlib.contextmanager
def mistaken(step, other):
    """With loops in which a step is another one."""
    native.mistake(step, other)
    try:
        yield
    finally:
        native.mistake()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("step, other, text", [
    ("add", "sub", "(x * 3 + y) * 0.5 - x * {}"), ("max", "min", "np.maximum(x, y) + x * {}"),
    ("lt", "le", "np.where(x < y, x, x * 2) - x * {}"), ("store", "store_narrow", "(x + y) * {}"),
    ("halve_floats", "halve_to_ints", "(x * {}).astype('f4')")])
def test_a_wrong_loop_is_found_and_left(name, step, other, text):
    """In its first block, whose results are NumPy's; told once, in words, and counted."""
    program = f"""if True:
        import warnings, numpy, dflow, dflow.numpy as np
        from dflow import engine
        from dflow._kernels import native
        native.choose({name!r})
        engine.inline_limit(0)
        native.mistake({step!r}, {other!r})
        theirs = {{"x": numpy.arange(5000.0), "y": numpy.arange(5000.0)[::-1].copy()}}
        theirs["y"][::3] = theirs["x"][::3]
        ours = {{name: np.array(x) for name, x in theirs.items()}}
        heard = []
        warnings.showwarning = lambda message, category, *args: heard.append((category, str(message)))
        for k in ("0.25", "0.5"):                   # the loop is the same
            for _ in range(4):
                text = {text!r}.format(k)
                result = eval(text, {{"np": np, "x": engine.sleep(ours["x"], 0.002), "y": ours["y"]}})
                assert (result.asnumpy() == eval(text, {{"np": numpy}} | theirs)).all(), text
        dflow.waitall()
        found = engine.config()["native"]["broken"]
        assert found == engine.statistics()["native_broken"]
        native.mistake()
        result = eval({text!r}.format("x"), {{"np": np, "x": engine.sleep(ours["x"], 0.002), "y": ours["y"]}})
        assert (result.asnumpy() == eval({text!r}.format("x"), {{"np": numpy}} | theirs)).all()
        print(found > 0, [category.__name__ for category, _ in heard], "Please report it" in heard[0][1])
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=clean_environment())
    assert (done.stdout, done.stderr) == ("True ['RuntimeWarning'] True\n", "")


@pytest.mark.parametrize("policy", ["ignore", "warn"])
def test_a_wrong_loop_that_overwrites_what_it_read(policy):
    """It has run before it is found wrong: NumPy's loops then read what was there before."""
    program = f"""if True:
        import warnings, numpy, dflow, dflow.numpy as np
        from dflow import engine
        from dflow._kernels import native
        warnings.simplefilter("ignore")
        engine.inline_limit(0)
        native.mistake("add", "sub")
        theirs, before = numpy.arange(5000.0), engine.statistics()["native"]
        with np.errstate(all={policy!r}):
            for dtype in ("f8", "f4", "c8", "c16"):
                for _ in range(5):
                    x, y = np.array(theirs.astype(dtype)), np.ones(5000, dtype)
                    z = engine.sleep(y, 0.002)
                    x *= z
                    x += y
                    x += x * 2
                    expected = theirs.astype(dtype) + 1
                    assert (x.asnumpy() == expected + expected * 2).all(), dtype
        dflow.waitall()
        print(engine.statistics()["native_broken"] > 2, engine.statistics()["native"] > before)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=clean_environment())
    assert (done.stdout, done.stderr) == ("True True\n", "")


def test_right_loops_are_not_doubted():
    """What has run so far, in this process."""
    assert engine.config()["native"]["broken"] == 0


def test_wrong_parts_of_a_long_loop_are_found():
    """Its parts are written when it raises flags: each is compared as well."""
    theirs = numpy.arange(3000.0) + 1
    theirs[17] = 0

    def chain(x):
        y = x + 1
        for i in range(20):
            y = y * 0.5 + i
        return y / x

    with configured(limit=0, bulk=64):
        x = np.array(theirs)
        for _ in range(3):
            told(lambda: chain(pending(x)).asnumpy())
        with numpy.errstate(all="ignore"):
            expected = chain(theirs)
        found, heard = told(lambda: chain(pending(x)).asnumpy())
        assert same_bits(found, expected) and {text for text, _ in heard} == {"divide by zero encountered in divide"}


def test_names_for_perf(tmp_path):
    program = """if True:
        import os, dflow, dflow.numpy as np
        from dflow import engine
        engine.inline_limit(0)
        x = np.arange(5000.0)
        for _ in range(3):
            y = engine.sleep(x, 0.002) * 2 + x
            y.asnumpy()
        path = f"/tmp/perf-{os.getpid()}.map"
        lines = open(path).read().splitlines()
        os.unlink(path)
        maps = [line.split() for line in open("/proc/self/maps")]
        for line in lines:
            start, size, name = line.split()
            place = [m for m in maps if int(m[0].split("-")[0], 16) <= int(start, 16) < int(m[0].split("-")[1], 16)]
            assert place[0][1] == "r-xs" and place[0][5] == "/dev/zero", place
        print(len(lines) == engine.config()["native"]["loops"] > 0, lines[-1].split()[2].split("_", 3)[3])
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=clean_environment() | {"DFLOW_NATIVE_PERF": "1"})
    assert (done.stdout, done.stderr) == ("True mul_add\n", "")


def test_warnings_of_casts():
    i = np.array(numpy.resize(numpy.array([0.5, 2.0, -1e30, numpy.nan]), 1000).astype("f4"))
    whole = np.array(numpy.resize(numpy.array([3.0, -1.0]), 1000).astype("f4"))

    def chain(x):
        y = pending(x)
        y = y * 2
        return (y.astype("i4") + 1) * 3

    with configured(limit=0):
        for x, texts in ((i, {"invalid value encountered in cast"}), (whole, set())):
            with numpy.errstate(all="ignore"):
                expected = (x.asnumpy() * 2).astype("i4")
            for _ in range(3):
                before = engine.statistics()["native"]
                result, heard = told(chain, x)
                assert same_bits(numpy.asarray(result), (expected + 1) * 3)
                assert {text for text, _ in heard} == texts
                assert {line for _, line in heard} <= {chain.__code__.co_firstlineno + 3}
            assert engine.statistics()["native"] > before


def test_warnings_name_their_operations():
    x = np.array([0.0] + [1.0] * 999)

    def chain():
        y = pending(x)
        y = (y + 1) / y * 2 - np.sqrt(y - 1)
        return y.asnumpy()

    with configured(limit=0):
        for _ in range(3):
            before = engine.statistics()["native"]
            result, heard = told(chain)
            assert result[0] != result[0] and (result[1:] == 4).all()
            assert {text for text, _ in heard} == {"divide by zero encountered in divide",
                                                   "invalid value encountered in sqrt"}
            assert {line for _, line in heard} == {chain.__code__.co_firstlineno + 2}
        assert engine.statistics()["native"] == before + 1


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("rows", [None, "[:, 2:-1]"], ids=["flat", "rows"])
def test_what_is_overwritten_is_there_once_more_where_members_run_again(name, rows):
    """In place, and what was read before is read later, too: more than there are vectors for."""
    random = numpy.random.default_rng(5)
    theirs = random.normal(size=(90, 53))
    lines = [f"u = x{rows or ''}", "old = u.copy()", "w = 1 - u"]
    lines += [f"v{i} = old * {i} - w" for i in range(40)]
    lines += ["u *= w", "u -= 0.5", "w[...] = np.sqrt(u)", "u /= w", "u[...] = np.where(u > 0, u, old)"]
    lines += ["u += " + " + ".join(f"v{i}" for i in range(39, -1, -1)) + " + old"]

    def result(np, x):
        names = {"np": np, "x": x}
        exec(compile("\n".join(lines), "<program>", "exec"), names)
        return names["x"], names["w"], names["old"]

    expected, heard = told(result, numpy, theirs.copy())
    assert ("invalid value encountered in sqrt", 46) in heard
    with written_for(name), configured(limit=0, workers=2, bulk=512):
        for _ in range(3):
            before = engine.statistics()
            found, also_heard = told(lambda: result(np, pending(np.array(theirs))))
            after = engine.statistics()
            assert all(same_bits(x.asnumpy(), y) for x, y in zip(found, expected)) and also_heard == heard
            assert after["native"] > before["native"] and after["groups"] - before["groups"] <= 2


MUCH = ([f"z{i} = y * {i}" for i in range(24)] + [f"w{i} = z{i} - 1" for i in range(24)]
        + ["r = old + " + " + ".join(f"z{i} * w{i}" for i in range(24)) + " + old"])


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("lines", [
    pytest.param(["x[...] = y", "r = old + 1"], id="not read before"),
    pytest.param(["s = y - old", "x[...] = y * 2", *MUCH, "r = r + s"], id="no vector for it meanwhile")])
def test_what_is_read_of_an_array_after_it_was_overwritten(name, lines):
    theirs = numpy.random.default_rng(6).normal(size=(90, 53)) * 3

    def result(np, pending):
        names = {"np": np, "pending": pending}
        exec("\n".join(["x, y = np.modf(pending)", "old = x.copy()", *lines, "del old"]), names)
        return [names[name] for name in "rxy"]

    expected = result(numpy, theirs)
    with written_for(name), configured(limit=0, workers=2, bulk=512):
        for _ in range(3):
            before = engine.statistics()
            found = result(np, engine.sleep(np.array(theirs), 0.02))
            dflow.waitall()
            after = engine.statistics()
            assert all(same_bits(x.asnumpy(), y) for x, y in zip(found, expected))
            assert (after["native"] - before["native"], after["groups"] - before["groups"]) == (1, 1)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_any_byte_but_0_is_true(name, dtype):
    theirs = numpy.resize(numpy.arange(256, dtype="u1"), 1003)
    numbers = numpy.arange(1003, dtype=dtype)

    def chain(np, x, m, k):
        return np.where((x > 500) & m, np.where(m | k, x, -x), 2.0)

    with written_for(name), configured(limit=0):
        x, m = np.array(numbers), np.array(theirs)
        expected = chain(numpy, numbers, theirs.view(bool), theirs[::-1].copy().view(bool))
        found, result = ran_native(lambda: chain(np, pending(x), m.view(bool), m[::-1].copy().view(bool)))
        assert found and same_bits(result, expected.astype(result.dtype))


@pytest.mark.parametrize("name", SETS)
def test_bools_that_are_constants(name):
    theirs = numpy.arange(1003.0)

    def chain(np, x, yes, no):
        return np.where((x > 5) & yes, np.where(x < 40, x, yes), np.where((x > 2) | no, 2.0, -x)) + 1

    with written_for(name), configured(limit=0):
        x = np.array(theirs)
        for bools in ((True, False), (False, True)):
            found, result = ran_native(lambda bools=bools: chain(np, pending(x), *bools))
            assert found and same_bits(result, chain(numpy, theirs, *bools))


@pytest.mark.parametrize("name", SETS)
def test_bytes_that_are_numbers_and_bools(name):
    theirs = numpy.resize(numpy.array([0, 1, 1, 0, 1], dtype="u1"), 1003)

    def chain(np, x, other):
        return x.astype("f4") * 2 - np.where(x.view(bool) & (other < 9), x.astype("f4"), other)

    with written_for(name), configured(limit=0):
        x, other = np.array(theirs), np.array(numpy.arange(1003, dtype="f4"))
        found, result = ran_native(lambda: chain(np, x, pending(other)))
        assert same_bits(result, chain(numpy, theirs, numpy.arange(1003, dtype="f4")))
        found, result = ran_native(lambda: chain(np, pending(x), other))
        assert found and same_bits(result, chain(numpy, theirs, numpy.arange(1003, dtype="f4")))


SAME_PLACE = {
    "short rows": lambda np, x: x[:, :3] * 2 + x.view("i4")[:, :6:2] + x[:, :3] * x.view("i4")[:, :6:2].astype("f8"),
    "short rows, the other way round": lambda np, x: (x.view("i4")[:, :6:2].astype("i8") + 1) * 3 - x[:, :3],
    "written rows": lambda np, x: [x[1000:].__setitem__(..., x[:1000] * 3 + 1), x.view("i4")[1000:, 6:18] * 2.5 + 1][1],
    "written": lambda np, x: [x[0, :6000].__setitem__(..., x[1, :6000] * 3 + 1), x.view("i4")[0, :6000] * 2.5 + 1][1],
    "bools": lambda np, x: (x[0] > 9).view("u1").astype("i8") * 3 + x[1],
    "kept bools": lambda np, x: np.stack([m := x[0] > 9, m.view("u1").astype("i8") * 3 + x[1]]),
    "read": lambda np, x: [x.view("i4")[0, :6000] * 2.5 + x[1, 6000:], x[0, :6000].__iadd__(x[1, :6000])][0]}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("chain", SAME_PLACE)
def test_one_place_of_two_types(name, chain):
    theirs = (numpy.arange(24_000) * 0x1_0000_0003).reshape((2000, 12) if "row" in chain else (2, 12_000))
    with written_for(name), configured(limit=0):
        expected = SAME_PLACE[chain](numpy, theirs.copy())
        for _ in range(3):
            _, result = ran(lambda: SAME_PLACE[chain](np, pending(np.array(theirs))))
            assert same_bits(result, expected)


def test_more_values_than_registers():
    arrays = [np.arange(1000.0) + i for i in range(50)]
    with configured(limit=0, bulk=64):
        for _ in range(3):
            squares = [x * x for x in arrays]
            products = [x + y for x, y in zip(squares, reversed(squares))]
            del squares
            for i, x in enumerate(products):
                assert x[7] == (7 + i) ** 2 + (56 - i) ** 2


def long_program(random, members):
    """The text of a function with many values that are read much later, of rows that a short one is spread over."""
    lines = ["v0 = x * 2", "v1 = x - p", "v2 = p + 1"]
    for i in range(3, members):
        near, far = f"v{i - 1 - int(random.integers(min(i, 3)))}", f"v{int(random.integers(i))}"
        other = random.choice([far, far, "x", "p", "k", str(random.choice(["0.5", "1.25", "-3.0"]))])
        lines.append(f"v{i} = " + random.choice([
            f"{near} + {other}", f"{near} * 0.5 - {other}", f"np.maximum({near}, {other})", f"({near} - {other}) / 4",
            f"np.where({near} > {other}, {near}, 1 - {near})", f"np.sqrt(abs({near})) + {other}",
            f"np.fmod({near}, 7) + {other}" if random.random() < 0.2 else f"-{near}"]))
    return "\n".join(lines) + "\nresult = " + " + ".join(f"v{i}" for i in range(members - 1, 0, -17))


@pytest.mark.parametrize("seed", range(24))
def test_long_groups(seed):
    """Hundreds of members are one group: what does not fit the processor lies on the stack, and short rows are brought
    together."""
    random = numpy.random.default_rng(seed)
    dtype = random.choice(["f8", "f4"])
    columns = int(2 ** random.uniform(0, 10))
    rows = int(2 ** random.uniform(11, 13.5)) // columns + 1
    arrays = {"x": random.normal(size=(rows, columns)), "p": random.normal(size=columns),
              "k": random.normal(size=(rows, 1))}
    members = int(random.integers(60, 300))
    text = long_program(random, members)

    def result(np, waits=lambda x: x):
        names = {name: np.array(x.astype(dtype)) for name, x in arrays.items()} | {"np": np}
        names["x"] = waits(names["x"])
        exec(compile(text, "<program>", "exec"), names)
        return names["result"]

    with numpy.errstate(all="ignore"):
        expected = result(numpy)
    with written_for(SETS[seed % len(SETS)]), configured(limit=0, workers=2, bulk=512):
        for _ in range(3):
            before = engine.statistics()
            found = result(np, lambda x: engine.sleep(x, 0.05)).asnumpy()
            dflow.waitall()
            after = engine.statistics()
            assert same_bits(found, expected), text
        assert after["native"] > before["native"] and after["groups"] - before["groups"] < members / 4


CHAINS = {
    "f": ("{0} * 0.5 + {1}", "{1} - {0} / 3", "np.maximum({0}, {1}) - 1", "np.where({0} > {1}, {0}, {1} * 0.25)",
          "np.sqrt(abs({0})) + y", "({0} - y) * 0.75", "abs({0}) - {m}", "np.fmin({0}, {1}) * 1.5",
          "np.sign({0}) + {1}", "({0} + b) * 0.5", "{0} + n"),
    "i": ("{0} * 3 + {1}", "{1} - {0}", "np.maximum({0}, {1}) - 1", "np.where({0} > {1}, {0}, {1} >> 2)",
          "({0} ^ y) & 255", "abs({0}) << 1", "~{0} | {1}", "{0} * {m}", "({0} + y) >> 1",
          "np.clip({0}, -50, 1000) + {1}", "{0} + n"),
    "c": ("{0} * 0.5 + {1}", "{0} * {1} - y", "{1} - {0}", "np.conjugate({0}) + b", "-{0} + y", "({0} - 1j) * 0.25")}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "c16", "c8"])
@pytest.mark.parametrize("seed", range(8))
def test_long_chains(seed, dtype):
    """Each member waits for the last ones: a turn of their loop is several vectors. What is equal is computed once."""
    random = numpy.random.default_rng(seed)
    n = int(2 ** random.uniform(8, 14))
    sources = {"x": dtype, "y": dtype, "b": dtype, "m": "?",
               "n": {"f8": "f4", "i8": "i2", "i4": "i1", "f4": "f4"}.get(dtype, dtype)}
    arrays = {name: values(random, (n,), dtype, 0.02 if dtype[0] != "c" else 0) for name, dtype in sources.items()}
    arrays["b"] = arrays["b"][0]
    forms = [str(form) for form in random.choice(CHAINS[dtype[0]], 3)]      # few, so that they need few vectors
    lines, names = ["v = x + y", "w = x - y"], ["v", "w"]
    for _ in range(int(random.integers(25, 140))):
        text = forms[random.integers(3)].format(*random.permutation(names), m="m")
        lines.append(f"{names[random.integers(2)]} = {text}")
    lines.append("v = v + w")

    def result(np, waits=lambda x: x):
        given = {name: np.array(x) for name, x in arrays.items()} | {"np": np}
        given["x"] = waits(given["x"])
        exec(compile("\n".join(lines), "<program>", "exec"), given)
        return given["v"]

    with numpy.errstate(all="ignore"):
        expected = result(numpy)
    with written_for(SETS[seed % len(SETS)]), configured(limit=0, workers=2, bulk=512), numpy.errstate(all="ignore"):
        before, broken = engine.statistics()["native"], native.broken()
        for _ in range(3):
            assert same_bits(result(np, lambda x: engine.sleep(x, 0.02)).asnumpy(), expected), "\n".join(lines)
        dflow.waitall()
        assert engine.statistics()["native"] > before and native.broken() == broken


def test_equal_operations_are_one():
    """The code of a loop is as long as what differs."""
    x = np.arange(5000.0)

    def length(text):
        before = native.config()["bytes"]
        with configured(limit=0, bulk=64):
            for _ in range(2):
                given = {"x": pending(x), "np": np}
                exec(compile(text, "<program>", "exec"), given)
                assert given["r"].asnumpy()[7] == eval(text[4:], {"x": 7.0, "np": numpy})
        return native.config()["bytes"] - before

    thrice = length("r = " + " + ".join(["np.sqrt(x / 3 + 1.5)"] * 3))
    once = length("r = np.sqrt(x / 3 + 1.5) + x + x")
    others = length("r = np.sqrt(x / 3 + 1.5) + np.sqrt(x / 5 + 1.25) + np.sqrt(x / 7 + 0.5)")
    assert 0 < thrice <= once + 64 < others


def test_warnings_of_a_long_group_name_their_operations():
    """It runs again in parts, and the members of a part that raises flags one by one."""
    lines = ["y = x + 1"]
    for i in range(90):
        raising = {30: "y = y / x", 31: "y = np.minimum(y, 9)", 60: "z = np.sqrt(x - 0.5)"}
        lines.append(raising.get(i, "y = y * 0.75 + 1"))
    text = "\n".join(lines)
    theirs = numpy.resize([0.0] + [1.0] * 700, 20_000)

    def result(np, x):
        names = {"np": np, "x": x}
        exec(compile(text, "<program>", "exec"), names)
        return names["y"]

    expected, heard = told(result, numpy, theirs)
    assert heard == {("divide by zero encountered in divide", 32), ("invalid value encountered in sqrt", 62)}
    with configured(limit=0, workers=2, bulk=512):
        x = np.array(theirs)
        for _ in range(3):
            found, also_heard = told(lambda: result(np, pending(x)).asnumpy())
            assert also_heard == heard and same_bits(found, expected)


def test_masks_of_short_rows():
    """They are brought together as bytes."""
    theirs, flags = numpy.arange(6000.0).reshape(2000, 3), numpy.array([True, False, True])

    def chain(np, x, m):
        return np.where(m & (x > 7), x * 2, -x) + np.where(m, 1.0, x)

    with configured(limit=0):
        x, m = np.array(theirs), np.array(flags)
        found, result = ran_native(lambda: chain(np, pending(x), m))
        assert found == 1 and same_bits(result, chain(numpy, theirs, flags))


def chained(x, n):
    for _ in range(n):
        x = x * 0.5 + 1
    return x


def test_a_child_goes_on_with_loops_of_its_own():
    theirs = numpy.arange(1000.0)
    x = np.array(theirs)

    def runs(n):
        found, result = ran(lambda: chained(pending(x), n))
        assert same_bits(result, chained(theirs, n))
        return found

    with configured(limit=0):
        assert [runs(5) for _ in range(3)][-1] == 1
        child = os.fork()
        if not child:
            try:
                os._exit(0 if [runs(n) for n in (5, 6, 6, 6, 7, 7, 7, 5)] == [1, 0, 1, 1, 0, 1, 1, 1] else 1)
            finally:
                os._exit(2)
        assert [runs(n) for n in (8, 8, 8, 6, 6, 6, 5)] == [0, 1, 1, 0, 1, 1, 1]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [runs(n) for n in (5, 6, 8)] == [1, 1, 1]


def test_threads_that_write_the_same_loops_at_once():
    theirs = numpy.arange(3000.0)
    x = np.array(theirs)

    def thread():
        for n in range(20, 50):                 # lengths that no other test has: each is seen, written and run here
            for _ in range(3):
                assert same_bits(chained(pending(x), n).asnumpy(), chained(theirs, n))

    with configured(limit=0, workers=4):
        in_threads(*[thread] * 4)


def test_the_arenas_are_bounded():
    """What is full is emptied for new loops once nobody runs what is there; other threads run old and new ones."""
    program = """if True:
        import dflow, dflow.numpy as np, numpy, random, threading
        from dflow import engine
        engine.inline_limit(0)
        x, theirs = np.arange(300.0), numpy.arange(300.0)
        ends = []

        def thread(seed):
            draw = random.Random(seed)
            n = 0
            while engine.config()["native"]["turns"] < 3 and n < 5000:
                n += 1
                text = "x" + "".join(draw.choice(["+x", "-x", "*2", "/3"]) for _ in range(draw.randrange(2, 200)))
                code = compile(text, "", "eval")
                expected = eval(code, {"x": theirs})
                for _ in range(3):
                    y = eval(code, {"x": engine.sleep(x, 1e-5)})
                    assert (y.asnumpy() == expected).all(), text
            ends.append(n)

        threads = [threading.Thread(target=thread, args=(seed,)) for seed in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        held = engine.config()["native"]
        assert held["bytes"] <= 2 << 20 and held["turns"] >= 3, held
        print(len(ends) == 3 and sum(ends) > 500)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=clean_environment())
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.parametrize("value, on", [("0", "False"), ("1", "True"), ("AVX2", "True"), ("AVX-512", "True")])
def test_the_environment_switches_them(value, on):
    done = subprocess.run([sys.executable, "-c", "import dflow; print(dflow.engine.native())"], capture_output=True,
                          text=True, env=clean_environment() | {"DFLOW_NATIVE": value})
    assert (done.stdout, done.stderr) == (f"{on}\n", "")


def test_the_environment_names_a_set():
    program = "import dflow; print(dflow.engine.config()['native']['instructions'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=clean_environment() | {"DFLOW_NATIVE": "AVX2"})
    assert (done.stdout, done.stderr) == ("AVX2\n", "")
    done = subprocess.run([sys.executable, "-c", "import dflow"], capture_output=True, text=True,
                          env=clean_environment() | {"DFLOW_NATIVE": "SSE"})
    assert done.stderr.endswith("ValueError: DFLOW_NATIVE must be 0, 1 or one of AVX2, AVX-512, NEON, not 'SSE'\n")
