"""Random programs of elementwise operations, of which native loops compute what they can: with NumPy's bits, or not.

    python -m tests.native_programs --seconds 3600 --jobs 2         as many as there is time for
"""
import argparse
import contextlib
import multiprocessing
import re
import time
import warnings

import numpy

import dflow
import dflow.numpy as np
from dflow import engine
from tests.compare import same_bits
from tests.engines import configured, has, written_for

SETS = [name for name in ("AVX2", "AVX-512", "NEON") if has(name)]
SPECIAL = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, -numpy.nan, 1e-310, -1e-310, 1e-42, 1e308, 3e38, 1.0, -1.0,
           6.1e-5, -6e-8, 3e-6, 65504]
LAYOUTS = ("C", "C", "C", "F", "inner", "row", "column", "reversed", "stepped", "number", "element")
UNARY = ("-{}", "abs({})", "np.sqrt({})", "np.square({})", "np.reciprocal({})", "np.fabs({})", "np.negative({})",
         "np.trunc({})", "np.floor({})", "np.ceil({})", "np.rint({})", "np.sign({})", "np.conjugate({})")
BINARY = ("{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} + {}", "{} * {}", "np.maximum({}, {})", "np.minimum({}, {})",
          "np.fmax({0}, np.where({1} == 0, 1.5, {1}))", "np.fmin({0}, np.where({1} == 0, -1.5, {1}))",
          "np.clip({}, -0.5, 1.5)", "np.clip({0}, abs({1}) + 0.5, 2.0)",
          "np.copysign({0}, np.where({1} != {1}, 1.5, {1}))")           # a NaN's sign is nobody's promise
HALVES = ("{}.astype('f4')", "({}.astype('f4') * 1.1).astype('f2')", "(-{}).astype('f4').astype('f2') * {}",
          "({}.astype('f4') * {} + {}).astype('f2')", "np.where({m}, {1}, {0}.astype('f4'))", "{}.astype(bool) * {}")
# Some are no native loops. NumPy's exp() of doubles is not here: where they lie apart, it may round otherwise.
OTHERS = ("np.exp2({} * 1e-3)", "np.fmod({}, {})", "np.where({} > 0, {}, 1.5)", "np.spacing({})",
          "np.where({} < {}, {}, 0.5)", "({} >= {}) * {}", "np.where({m} | ({} == {}), {}, -1.0)",
          "np.where({m}, {}, {})", "{} * {m}", "np.where(~{m} & {m}, {}, {})", "np.where(np.isnan({}), 0.25, {})",
          "np.where(np.isfinite({}) ^ {m}, {}, {})", "np.where(np.isinf({}), {m}, {})", "np.positive({})")
MASKS = ("{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "{} == {}", "{} != {}", "np.isnan({})", "np.isinf({})",
         "np.isfinite({})", "~{m}", "{m} & {m}", "{m} | ({} > {})", "{m} ^ {m}", "np.logical_and({m}, {} < {})",
         "np.logical_or({m}, {m})", "np.logical_not({m})", "np.logical_xor({m}, {m})", "{} > 0.25", "0 >= {}",
         "np.logical_and({}, {})", "np.logical_or({}, {})", "np.logical_xor({}, {})", "np.logical_not({})",
         "np.signbit(np.where({0} != {0}, 1.0, {0}))")


# Of integers and what goes with them, by the kind of the result: i, u signed and unsigned, f floats of as many bytes
# m bools, n integers and h floats of fewer bytes (I, U, F, N, H: their types).
INTEGERS = {
    "i": ("{i} + {i}", "{i} - {i}", "{i} * {i}", "{i} * 3", "{i} + 1", "-{i}", "abs({i})", "np.square({i})",
          "{i} & {i}", "{i} | {i}", "{i} ^ {i}", "~{i}", "{i} << {i}", "{i} >> {i}", "{i} << 3", "{i} >> ({i} & 31)",
          "+{i}", "np.maximum({i}, {i})", "np.minimum({i}, {i})", "np.where({m}, {i}, {i})", "{m}.astype(I)",
          "np.where({i} < {i}, {i}, 7)", "{i} * {m}", "{f}.astype(I)", "{u}.astype(I)", "{i} + {n}", "{n}.astype(I)",
          "np.clip({i}, -3, 100)", "np.clip({i}, {i}, {i})", "np.sign({i})", "np.fmax({i}, {i})", "np.conjugate({i})"),
    "u": ("{u} + {u}", "{u} - {u}", "{u} * {u}", "{u} * 3", "{u} + 1", "-{u}", "abs({u})", "np.square({u})",
          "{u} & {u}", "{u} | {u}", "{u} ^ {u}", "~{u}", "{u} << {u}", "{u} >> {u}", "{u} >> 3", "np.maximum({u}, {u})",
          "np.minimum({u}, {u})", "np.where({m}, {u}, {u})", "{m}.astype(U)", "{u} * {m}", "{i}.astype(U)",
          "{n}.astype(U)", "{i}.view(U)", "np.clip({u}, 3, 100)", "np.clip({u}, {u}, {u})", "np.sign({u})",
          "np.fmin({u}, {u})"),
    "f": ("{f} + {f}", "{f} * {f}", "{f} - 0.5", "{i}.astype(F)", "{i}.astype(F) * {f}", "{i}.astype(F) + {f}",
          "np.sqrt({f})", "np.where({m}, {f}, {f})", "{u}.astype(F)", "{n}.astype(F)", "{n} * {f}", "{h}.astype(F)",
          "{h} + {f}", "np.maximum({f}, {f})", "np.fmin({f}, 0.5)", "np.sign({f})", "np.clip({f}, -1, 2)"),
    "m": ("{i} < {i}", "{i} <= {i}", "{i} > {i}", "{i} >= {i}", "{i} == {i}", "{i} != {i}", "({i} > 0) & ({i} < {i})",
          "{i} != 0", "{i}.astype(bool)", "{u} < {u}", "{u} <= {u}", "{u} >= {u}", "{u} > 3", "{u} == {u}", "{u} != 0",
          "{f} > {f}", "{f}.astype(bool)", "~{m}", "{m} | {m}", "({i} == 1) ^ {m}", "np.logical_and({i}, {i})",
          "np.logical_or({u}, {u})", "np.logical_xor({i}, {i})", "np.logical_not({i})"),
    "n": ("{n} + {n}", "-{n}", "{n} * 3", "np.maximum({n}, {n})", "np.where({m}, {n}, {n})", "{i}.astype(N)",
          "({i} + {i}).astype(N)", "{u}.astype(N)", "({i} > {i}).astype(N)"),
    "h": ("{h} + {h}", "{h} * 0.5", "np.where({m}, {h}, {h})", "{f}.astype(H)", "({f} * {f}).astype(H)",
          "{i}.astype(H)", "{u}.astype(H)")}


def typed(text, types):
    return re.sub(r"\b[IUFNH]\b", lambda match: repr(types[match[0].lower()]), text)


def values(random, shape, dtype, special):
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return random.random(shape) < 0.5
    if kind in "iu":
        return integers(random, shape, dtype, special)
    if kind == "c":
        parts = f"f{numpy.dtype(dtype).itemsize // 2}"
        return values(random, (*shape, 2), parts, special).view(dtype)[..., 0]
    x = numpy.array(random.normal(size=shape) * 10.0 ** random.integers(-3, 4))
    chosen = random.random(shape) < special
    x[chosen] = random.choice(SPECIAL, size=chosen.sum())
    with numpy.errstate(all="ignore"):
        return x.astype(dtype)


def integers(random, shape, dtype, special):
    limits = numpy.iinfo(dtype)
    bits = random.integers(0, limits.bits, shape)       # small ones and large ones
    x = random.integers(limits.min, limits.max, shape, dtype, endpoint=True) >> bits.astype(dtype)
    chosen = random.random(shape) < special
    extremes = numpy.array([0, 1, limits.max, limits.min, limits.bits, limits.bits - 1, limits.max // 2 + 1], dtype)
    return numpy.where(chosen, random.choice(numpy.append(extremes, ~extremes), size=shape), x)


def source(random, layout, rows, columns, dtype, special):
    """An array of numpy's, whole, and the subscript by which a program sees it."""
    shape = {"inner": (rows + 2, columns + 3), "row": (1, columns), "column": (rows, 1), "stepped": (rows, 2 * columns),
             "F": (columns, rows), "number": (), "element": (3,)}.get(layout, (rows, columns))
    view = {"F": ".T", "inner": "[1:-1, 2:-1]", "reversed": "[::-1]", "stepped": "[:, ::2]", "element": "[1]",
            "number": ""}.get(layout, "")
    return values(random, shape, dtype, special), view


def pick(random, options):
    """As random.choice(), which takes twenty times as long."""
    return options[random.integers(len(options))]


def program(random, most=15, dtypes=("f8", "f4")):
    """(arrays by name, the text of a function's body, names of results), of up to 2 ** most elements an array."""
    n = int(2 ** random.uniform(8, most))
    columns = int(2 ** random.uniform(0, numpy.log2(n)))
    rows = max(n // columns, 1)
    dtype = pick(random, dtypes)
    special = pick(random, [0, 0, 0.01, 0.3])
    arrays, views, parts = {}, [], []
    for i in range(random.integers(1, 6)):
        layout = "C" if i == 0 else pick(random, LAYOUTS)
        arrays[f"a{i}"], view = source(random, layout, rows, columns, dtype, special)
        views.append(f"a{i}{view}")
        if layout in ("F", "inner", "reversed", "stepped"):
            parts.append(views[-1])
    lines, names, whole = [], list(views), views[:1]
    masks = [f"({views[0]} * 0 + {views[-1]} > 0.5)", "bytes"]
    arrays["bytes"] = random.integers(0, 2, (rows, columns)).astype(bool)
    often = [[0.8, 0.15, 0.05, 0], [0.4, 0.1, 0.2, 0.3]][random.integers(2)]
    in_place = pick(random, [0.08, 0.5])
    for _ in range(random.integers(2, pick(random, [5, 20, 60]))):
        kind = random.choice(4, p=often)
        unary = UNARY if dtype == "f8" else (*UNARY, "np.exp({})", "np.exp({})") if dtype == "f4" else (
            *UNARY, *HALVES)                    # NumPy's exp() of doubles: see OTHERS
        text = pick(random, (BINARY, unary, OTHERS, MASKS)[kind])
        while "{m}" in text:                    # each one by itself
            text = text.replace("{m}", pick(random, masks), 1)
        operands = [pick(random, names[-6:]) if random.random() < 0.7 else pick(random, names) for _ in range(3)]
        if random.random() < 0.1:
            operands[1] = str(pick(random, ["2", "0.5", "-3.25"]))
        how = random.random()
        if how < in_place and len(whole) > 1:
            sign = pick(random, ["+=", "-=", "*="])
            lines.append(pick(random, [f"{pick(random, whole[1:])} {sign} {operands[0]}",
                                        f"{pick(random, whole[1:])}[...] = {text.format(*operands)}"])
                         if kind != 3 else f"{pick(random, whole[1:])} {sign} {operands[0]}")
        elif how < in_place + 0.04:
            lines.append(f"a0[...] = {text.format(*operands)}")
        elif how < in_place + 0.15 and parts:
            lines.append(f"{pick(random, parts)}[...] {pick(random, ['=', '=', '+=', '*='])} {text.format(*operands)}"
                         if kind != 3 else f"{pick(random, parts)}[...] = {text.format(*operands)}")
        elif how < in_place + 0.23 and len(whole) > 1:
            mask, target = f"{views[0]} * 0 + {operands[0]} > 0.5", pick(random, whole[1:])
            lines.append(pick(random, [f"{target}[{mask}] = 1.5",
                                        f"np.negative({operands[1]}, out={target}, where={mask})"]))
        elif kind == 3:
            name = f"m{random.integers(0, 6)}"
            lines.append(f"{name} = ({views[0]} * 0 + {operands[0]} < 0.5) | ({text.format(*operands)})")
            masks.append(name)
        else:
            name = f"t{random.integers(0, 12)}"                     # often one that has a value, which is dropped
            lines.append(f"{name} = {views[0]} * 0 + ({text.format(*operands)})" if name not in whole
                         else f"{name} = {text.format(*operands)} - {views[0]}")
            names.append(name)
            if name not in whole:
                whole.append(name)
    results = [name for name in whole if random.random() < 0.4] or whole[-1:]
    return arrays, "\n".join(lines), results


def half_program(random, most=13):
    """The same, of floats of 2 bytes, some of which become such of 4."""
    return program(random, most, ["f2"])


def integer_program(random, most=14):
    """The same, of INTEGERS."""
    n = int(2 ** random.uniform(8, most))
    columns = int(2 ** random.uniform(0, numpy.log2(n)))
    size = int(pick(random, [4, 8]))
    types = {kind: f"{kind}{size}" for kind in "iuf"} | {"m": "?", "h": "f4"}
    types["n"] = str(pick(random, ["i1", "u1", "i2", "u2"] + ["i4", "i4", "i4", "u4"] * (size == 8)))
    special = pick(random, [0, 0, 0.01, 0.3])
    arrays, whole, parts, views, lines, made = {}, {}, {}, {}, [], []
    for kind in "iufmnh":
        whole[kind], parts[kind], views[kind] = [], [], []
        for i in range(random.integers(1, 4)):
            layout = "C" if i == 0 else pick(random, LAYOUTS)
            name = f"{kind}{i}" if arrays else "a0"
            arrays[name], view = source(random, layout, max(n // columns, 1), columns, types[kind], special)
            (parts if layout in ("row", "column", "number", "element") else whole)[kind].append(name + view)
            if view and layout in ("F", "inner", "reversed", "stepped"):
                views[kind].append(name + view)

    def filled(text):
        first = []                              # the first one has the whole shape, so the result has

        def operand(match):
            names = whole[match[1]] if not first else whole[match[1]] + parts[match[1]]
            first.append(names[0])
            return str(pick(random, names[-4:] if random.random() < 0.6 else names))

        text = re.sub(r"\{(\w)\}", operand, text)
        return typed(text, types)

    in_place = pick(random, [0.1, 0.4])
    for _ in range(random.integers(2, pick(random, [5, 20, 50]))):
        kind = str(pick(random, [*"iiiiiuuffmmnh"]))
        text = filled(pick(random, INTEGERS[kind]))
        how = random.random()
        targets = [name for name in made if name[0] == kind]
        if how < in_place and targets:
            sign = "&|^"[random.integers(3)] if kind in "iunm" else "+*-"[random.integers(3)]
            lines.append(f"{pick(random, targets)} {sign}= {filled(f'{{{kind}}}')}")
        elif how < in_place + 0.05 and kind == "i":
            lines.append(f"a0[...] = {text}")
        elif how < in_place + 0.15 and views[kind]:
            lines.append(f"{pick(random, views[kind])}[...] = {text}")
        elif how < in_place + 0.2 and targets and kind != "m":
            lines.append(f"np.positive({filled(f'{{{kind}}}')}, out={pick(random, targets)}, where={filled('{m}')})")
        else:
            name = f"{kind}t{random.integers(0, 5)}"
            lines.append(f"{name} = {text}")
            if name not in made:
                made.append(name)
            if name not in whole[kind]:
                whole[kind].append(name)
    results = [name for name in made if random.random() < 0.4] or made[-1:]
    return arrays, "\n".join(lines), results


COMPLEX = ("{} + {}", "{} - {}", "{} * {}", "{} * {}", "-{}", "np.conjugate({})", "np.square({})", "{} * (0.5 - 2j)",
           "{} + 1j", "2 * {}", "+{}", "{} * r", "r - {}", "{} + r", "{}.conj() * {}", "np.exp({} * 1e-3)",
           "abs({}) + {}")


def complex_program(random, most=14):
    """The same, of complex numbers that lie one after the other: NumPy's products of others are rounded otherwise."""
    columns = int(2 ** random.uniform(4, most - 3))
    rows = int(2 ** random.uniform(8, most)) // columns + 1
    dtype, special = str(pick(random, ["c8", "c16"])), pick(random, [0, 0, 0.01, 0.3])
    arrays, names, made, lines = {"r": values(random, (rows, columns), f"f{int(dtype[1:]) // 2}", special)}, [], [], []
    for i in range(random.integers(1, 5)):
        layout = "C" if i == 0 else pick(random, ["C", "C", "inner", "row", "number", "element"])
        arrays[f"a{i}"], view = source(random, layout, rows, columns, dtype, special)
        names.append(f"a{i}{view}")
    for _ in range(random.integers(2, pick(random, [5, 20, 60]))):
        first = pick(random, [*made, "a0"][-5:])           # it has the whole shape
        others = [pick(random, names[-6:]) for _ in range(2)]
        text = pick(random, COMPLEX).format(first, *others)
        if random.random() < 0.1 and made:
            lines.append(f"{pick(random, made)} {'+-*'[random.integers(3)]}= {others[0]}")
        else:
            name = f"t{random.integers(0, 6)}"
            lines.append(f"{name} = {text}")
            if name not in made:
                made.append(name)
                names.append(name)
    results = [name for name in made if random.random() < 0.4] or made[-1:]
    return arrays, "\n".join(lines), results


def run(arrays, code, results, module):
    names = {name: module.array(x) for name, x in arrays.items()} | {"np": module}
    exec(code, names)
    kept = [names[name] for name in (*results, *arrays)]
    names.clear()
    return [numpy.array(x) for x in kept]


def told(function, *args):
    """What it gives, and what it is told: (text, line)."""
    with contextlib.ExitStack() as stack:           # in a `with` of the recorder's, operations would wait to warn
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        found = function(*args)
        dflow.waitall()
    return found, {(str(w.message), w.lineno) for w in caught}


PROGRAMS = program, integer_program, complex_program, half_program


def settings(random):
    return {"limit": 0, "workers": int(random.integers(1, 4)), "bulk": int(random.choice([4, 64, 512]))}


def check(random, draw, *most):
    """Draw a program, and run it with NumPy, with NumPy's loops, with native ones. AssertionError where they differ."""
    arrays, text, results = draw(random, *most)
    code = compile(text, "<program>", "exec")
    with numpy.errstate(all="ignore"):
        expected = run(arrays, code, results, numpy)
    try:
        engine.native(False)
        plain, heard = told(run, arrays, code, results, np)
    finally:
        engine.native(True)
    for _ in range(3):                      # seen, written, run
        found, also_heard = told(run, arrays, code, results, np)
        for name, x, y, z in zip([*results, *arrays], expected, plain, found):
            assert x.dtype == z.dtype and same_bits(y, z), f"{name} of\n{text}"
            assert same_bits(x, z), f"{name} of\n{text}"
        assert also_heard == heard, text


def check_many(seed, count):
    """Small programs, one after the other, on one engine: a few milliseconds each."""
    random = numpy.random.default_rng(seed)
    draw = PROGRAMS[seed % len(PROGRAMS)]
    with written_for(SETS[seed // len(PROGRAMS) % len(SETS)]), configured(**settings(random)):
        for _ in range(count):
            check(random, draw, 10)


# ---- as many as there is time for ------------------------------------------------------------------------------------

BATCH = 100


def batch(seed):
    """(seed, native loops that ran, what differs, if anything does)."""
    before = engine.statistics()["native"]
    try:
        check_many(seed, BATCH)
        error = None
    except Exception as found:
        error = f"{type(found).__name__}: {found}"
    return seed, engine.statistics()["native"] - before, error


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.native_programs", description=__doc__.split("\n")[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed, of a hundred programs")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    end, batches, loops, finds = time.monotonic() + given.seconds, 0, 0, 0
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        while time.monotonic() < end:
            first = given.first + batches
            for seed, n, error in pool.imap_unordered(batch, range(first, first + 8 * given.jobs)):
                batches, loops, finds = batches + 1, loops + n, finds + (error is not None)
                if error:
                    print(f"seed {seed}: {error}", flush=True)
    print(f"{batches * BATCH} programs from seed {given.first} on, {loops} native loops, {finds} finds")


if __name__ == "__main__":
    main()
