"""Kernels in CUDA's language: which functions of _gpu/elementwise.cuh, or of CuPy, they are.

A kernel is known by its key (key_of() of the registry): a ufunc and the type codes of its operands, a cast, a reduction
of another, and so on. What has no row here runs on the CPU.
"""

import functools
import re

import numpy

HALF, LONGDOUBLE, CLONGDOUBLE, BOOL = 17, 13, 16, 0
REALS = (11, 12, HALF)
COMPLEX = (14, 15)
TYPES = {0: "bool", 1: "signed char", 2: "unsigned char", 3: "short", 4: "unsigned short", 5: "int", 6: "unsigned int",
         7: "long long", 8: "unsigned long long", 9: "long long", 10: "unsigned long long", 11: "float", 12: "double",
         14: "complex<float>", 15: "complex<double>", HALF: "float16"}
PLAIN = {1: 2, 2: 4, 4: 6, 8: 8, 16: 15}        # a type for so many bytes, whatever they mean
NAMES = {0: "bool", 1: "int8", 2: "uint8", 3: "int16", 4: "uint16", 5: "int32", 6: "uint32", 7: "int64", 8: "uint64",
         9: "int64", 10: "uint64", 11: "float32", 12: "float64", 14: "complex64", 15: "complex128", HALF: "float16"}

TYPE_OF = {NAMES[code]: kind for code, kind in TYPES.items()}

# Functions of _gpu/elementwise.cuh, by the kinds of their first argument.
EVERY = """add subtract multiply negative positive square conjugate equal not_equal logical_and logical_or logical_xor
    logical_not"""
NUMBERS = "absolute isnan isinf isfinite"
ORDERED = "less less_equal greater greater_equal maximum minimum fmax fmin sign"
INTEGERS = """bitwise_and bitwise_or bitwise_xor invert left_shift right_shift remainder floor_divide fmod floor ceil
    trunc rint"""
FLOATING = """divide fabs reciprocal signbit exp log sqrt sin cos tan sinh cosh tanh exp2 expm1 log2 log10 log1p cbrt
    arcsin arccos arctan arcsinh arccosh arctanh floor ceil trunc rint radians deg2rad degrees rad2deg erf erfc expit
    power float_power arctan2 hypot copysign heaviside logaddexp logaddexp2 remainder floor_divide fmod"""
ANALYTIC = "divide exp log sqrt sin cos tan sinh cosh tanh power"
KNOWN = {"integer": frozenset(f"{EVERY} {NUMBERS} {ORDERED} {INTEGERS}".split()),
         "real": frozenset(f"{EVERY} {NUMBERS} {ORDERED} {FLOATING}".split()),
         "complex": frozenset(f"{EVERY} {NUMBERS} {ANALYTIC}".split())}

REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin", "logical_and": "all",
              "logical_or": "any"}
IDENTITY = {"sum": 0, "prod": 1}
PRODUCTS = {"matmul": ((0, 1), (1, 2), (0, 2)), "matvec": ((0, 1), (1,), (0,)), "vecmat": ((0,), (0, 1), (1,)),
            "vecdot": ((0,), (0,), ())}
ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod"}


class Recipe:
    """What a kernel is on a GPU.

    codes: of its operands; None: anything of that size. function: of _gpu/elementwise.cuh; None: `call` takes CuPy and
    arrays of the loop's axes and then the core axes that `signature` lists for each operand; or it is the name of a
    function of _gpu/executor.pyx.
    partial: the operand before the output says where it is written.
    """

    __slots__ = ("call", "codes", "function", "partial", "signature")

    def __init__(self, codes, function=None, call=None, signature=None, partial=False):
        self.codes, self.function, self.call, self.signature, self.partial = codes, function, call, signature, partial


def recipe(key):
    """For a kernel of this key, or None."""
    first = key[0]
    codes = key[1] if len(key) > 1 and isinstance(key[1], tuple) else ()
    if LONGDOUBLE in codes or CLONGDOUBLE in codes:
        return None
    if isinstance(first, numpy.ufunc):
        return ufunc(first, codes)
    make = {"cast": cast, "where": where, "assign": assign, "masked": masked, "reduce": reduction,
            "accumulate": accumulation, "argmax": extreme, "argmin": extreme, "sort": sort, "argsort": sort,
            "take": take, "at": add_at,
            "draw": draw}.get(first)
    return make and make(*key)


def ufunc(function, codes):
    name = function.__name__
    if function.signature is not None:
        signature = PRODUCTS.get(name) if getattr(numpy, name, None) is function else None
        if signature is None or codes[0] in (BOOL, HALF) and name != "matmul":
            return None
        return Recipe(codes, call=functools.partial(product, name), signature=signature)
    kind = "complex" if codes[0] in COMPLEX else "real" if codes[0] in REALS else "integer"
    ours = getattr(numpy, name, None) is function or name in ("erf", "erfc", "expit")
    if not ours or function.nout != 1 or name not in KNOWN[kind] and not (
            name in ("divide", "absolute") and kind == "integer"):
        return None
    if kind == "integer" and name in ("floor", "ceil", "trunc", "rint"):
        name = "copy"
    return Recipe(codes, name)


def cast(_, codes):
    return Recipe(codes, "cast" if codes[0] != codes[1] else "copy")


def where(_, size, halves=False):
    return Recipe((BOOL, None, None, None), "where") if size in PLAIN else None


def assign(_, size):
    return Recipe((None, BOOL, None), "copy", partial=True) if size in PLAIN else None


def masked(_, key):
    of = recipe(key)
    if of is None or of.function is None or of.partial:
        return None
    return Recipe((*of.codes[:-1], BOOL, of.codes[-1]), of.function, partial=True)


def reduction(_, key, naxes, initial):
    of = recipe(key)
    name = of and REDUCTIONS.get(of.function)
    if name is None or of.codes[0] in COMPLEX and name in ("amax", "amin") or len(set(of.codes)) > 1:
        return None
    code = of.codes[0]
    axes = tuple(range(naxes))
    return Recipe((code,) * (3 if initial else 2), call=functools.partial(reduce, name, of.function, naxes),
                  signature=(axes, (), ()) if initial else (axes, ()))


def reduce(name, combine, naxes, cupy, x, *rest):
    axes = tuple(range(x.ndim - naxes, x.ndim))
    out = rest[-1]
    if len(rest) == 2 and rest[0] != IDENTITY.get(name):
        made = getattr(cupy, name)(x, axis=axes)
        cupy.copyto(out, getattr(cupy, combine)(rest[0], made), casting="unsafe")
    elif name not in ("sum", "prod"):
        cupy.copyto(out, getattr(cupy, name)(x, axis=axes))
    elif x.dtype.char == "e":           # added as floats, as NumPy does
        cupy.copyto(out, getattr(cupy, name)(x, axis=axes, dtype="f4"), casting="unsafe")
    else:
        getattr(cupy, name)(x, axis=axes, dtype=x.dtype, out=out)


def product(name, cupy, a, b, out):
    if name == "matvec":
        b, out = b[..., None], out[..., None]
    elif name == "vecmat":
        a, out = a[..., None, :], out[..., None, :]
        a = a.conj() if a.dtype.kind == "c" else a
    elif name == "vecdot":
        a, b, out = a[..., None, :], b[..., None], out[..., None, None]
        a = a.conj() if a.dtype.kind == "c" else a
    half = out.dtype.char == "e"
    if out.ndim == 2 and out.flags.c_contiguous and (out.dtype.char in "fdFD" or half and out.size > 1):
        cupy.dot(a, b, out=out)
        return
    if out.ndim == 2 and half:                  # a stack: for one number, dot() would round what it adds up
        a, b, out = a[None], b[None], out[None]
    # What is the same for all of a stack is read once: CuPy would copy it for each.
    a, b = (x[tuple([slice(0, 1) if stride == 0 else slice(None) for stride in x.strides[:-2]])] for x in (a, b))
    cupy.copyto(out, cupy.matmul(a, b))


def accumulation(_, key):
    of = recipe(key)
    name = of and ACCUMULATIONS.get(of.function)
    if name is None or of.codes[0] in (BOOL, HALF):
        return None
    return Recipe(of.codes[:2], call=functools.partial(accumulate, name), signature=((0,), (0,)))


def accumulate(name, cupy, x, out):
    cupy.copyto(out, getattr(cupy, name)(x, axis=-1, dtype=x.dtype))


def extreme(name, code, kind):
    if code in COMPLEX or code in (BOOL, HALF, LONGDOUBLE, CLONGDOUBLE):
        return None
    return Recipe((code, 7), call=functools.partial(arg_extreme, name), signature=((0,), ()))


def arg_extreme(name, cupy, x, out):
    cupy.copyto(out, getattr(cupy, name)(x, axis=-1))


def sort(name, code, kind):
    if code in COMPLEX or code in (BOOL, HALF, LONGDOUBLE, CLONGDOUBLE) or isinstance(kind, tuple):
        return None
    return Recipe((code, code if name == "sort" else 7), call=functools.partial(sort_rows, name),
                  signature=((0,), (0,)))


def sort_rows(name, cupy, x, out):
    cupy.copyto(out, getattr(cupy, name)(x, axis=-1))


def take(_, size, kind):
    return Recipe((None, (1, 3, 5, 7, 2, 4, 6, 8)[kind], None), call="take") if size in PLAIN else None


def add_at(_, key):
    of = recipe(key)
    known = of is not None and of.function == "add" and of.codes[0] in (HALF, 11, 12)
    return Recipe((7, *of.codes[1:]), call="add_at") if known else None


# An element i of a product of matrices. Halves are added up as floats.
PRODUCT = """wide<TYPE>::type sum = 0;
for (long long k = 0; k < depth; k++)
    sum += W(a[i / columns * depth + k]) * W(b[k * columns + i % columns]);
y = sum;"""

# Of _gpu/random.cuh: by name and item size, the function, the type of what it gives, and the tables that it needs.
DRAWS = {
    ("random", 4): ("uniform32", "float32", None), ("random", 8): ("uniform64", "float64", None),
    ("standard_normal", 4): ("normal32", "float32", (True, 32)),
    ("standard_normal", 8): ("normal64", "float64", (True, 64)),
    ("standard_exponential", 4): ("exponential32", "float32", (False, 32)),
    ("standard_exponential", 8): ("exponential64", "float64", (False, 64)),
    ("laplace", 8): ("laplace", "float64", (False, 64)),
    ("integers8", 1): ("bounded", "uint8", None), ("integers16", 2): ("bounded", "uint16", None),
    ("integers32", 4): ("bounded", "uint32", None), ("integers64", 8): ("bounded", "uint64", None),
    ("integers", 8): ("bounded_wide", "uint64", None)}


def draw(_, name, size, tables_of):
    row = DRAWS.get((name, size))
    return row and Recipe((None, None, row[1]), call="draw", signature=(*row, tables_of))


def draw_code(function, dtype, tables):
    """The parameters, after those of the stream, and the body of a kernel that draws."""
    whole = function.startswith("bounded")
    params = "uint64 a, uint64 b, uint64 c" if whole else "float64 a, float64 b, float64 c"
    name = f"{function}<{TYPE_OF[dtype]}>" if function == "bounded" else function
    arguments = "s, i, a, b, c" if whole else "s, i, a, b"
    lines = ["const Stream s = {key0, key1, draw};"]
    if tables:
        bits = tables[1]
        params += ", raw uint64 layers, raw float64 densities, float64 r"
        lines.append(f"const Ziggurat{bits} z = {{(const Layer{bits} *)&layers[0], &densities[0], r}};")
        arguments += ", z"
    return f"uint32 key0, uint32 key1, uint64 draw, {params}", "\n".join([*lines, f"y = random_{name}({arguments});"])


# ---- code ------------------------------------------------------------------------------------------------------------

def functions(path="_gpu/elementwise.cuh"):
    """What the code calls, with the headers that are C's, too, in it: a compiler for GPUs looks for none of ours."""
    from importlib import resources  # and with it ten modules that nothing else needs

    text = resources.files("dflow").joinpath(path).read_text()
    return re.sub(r'^#include "(.+)"$', lambda line: functions(line[1]), text, flags=re.MULTILINE)


def code(members, params, outputs, packs=None):
    """The parameters and the body of an elementwise kernel.

    members: a recipe and its arguments for each result: n for parameter n, ~n for result n; of a partial one, the mask
    and the old value at the end. params: type codes of the inputs; outputs: numbers of the results that are stored.
    packs: None, or how many elements a thread has, and what each input is: PACKED, SINGLE or NUMBER.
    """
    lines, kinds = [], []

    def typed(argument):
        return kinds[~argument] if argument < 0 else params[argument]

    def term(argument, wanted):
        name = f"v{~argument}" if argument < 0 else f"x{argument}"
        return name if TYPES[typed(argument)] == TYPES[wanted] else f"op_bits<{TYPES[wanted]}>({name})"

    for n, (of, arguments) in enumerate(members):
        plain = next((typed(a) for a in arguments if typed(a) != BOOL), BOOL)     # where only the size is known
        codes = [plain if c is None else c for c in of.codes]
        target = codes[-1]
        inputs = arguments[:len(codes) - (2 if of.partial else 1)]
        terms = [term(a, c) for a, c in zip(inputs, codes)]
        made = f"op_{of.function}<{TYPES[target]}>({', '.join(terms)})" if of.function != "copy" else terms[0]
        if of.partial:
            mask, old = arguments[-2:]
            made = f"op_where<{TYPES[target]}>({term(mask, BOOL)}, {made}, {term(old, target)})"
        lines.append(f"const {TYPES[target]} v{n} = {made};")
        kinds.append(target)
    for i, n in enumerate(outputs):
        lines.append(f"y{i} = v{n};")
    stored = [kinds[n] for n in outputs]
    each, hows = packs or (0, [NUMBER] * len(params))
    if packs:
        lines = packed(lines, params, stored, each, hows)
    marks = ["" if how == NUMBER else "raw " for how in hows]
    return (", ".join(f"{mark}{NAMES[c]} x{i}" for i, (mark, c) in enumerate(zip(marks, params))),
            ", ".join(f"{'raw ' if packs else ''}{NAMES[c]} y{i}" for i, c in enumerate(stored)),
            "\n".join(lines), stored)


PACKED, SINGLE, NUMBER = range(3)       # an array with an element for each; with one for all; no array


def packed(lines, params, stored, each, hows):
    """The lines for elements `each` * i and those after it. A thread that moves 16 bytes at once moves more in all."""
    before, inside, after = [], [], []
    for n, (code, how) in enumerate(zip(params, hows)):
        kind = TYPES[code]
        if how == PACKED:
            before.append(f"const Pack<{kind}, {each}> p{n} = ((const Pack<{kind}, {each}> *)&x{n}[0])[i];")
            inside.append(f"const {kind} x{n} = p{n}.of[k];")
        elif how == SINGLE:
            before.append(f"const {kind} p{n} = x{n}[0];")
            inside.append(f"const {kind} x{n} = p{n};")
    for n, code in enumerate(stored):
        before.append(f"Pack<{TYPES[code]}, {each}> q{n};")
        inside.append(f"{TYPES[code]} &y{n} = q{n}.of[k];")
        after.append(f"((Pack<{TYPES[code]}, {each}> *)&y{n}[0])[i] = q{n};")
    return [*before, "#pragma unroll", f"for (int k = 0; k < {each}; k++) {{", *inside, *lines, "}", *after]
