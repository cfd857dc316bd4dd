"""Statements by family: each function makes the text of one, with the generator's arrays."""

import numpy

from tests.fuzz import table, values

UFUNCS = {
    name: f
    for name in sorted(vars(numpy))
    if isinstance(f := getattr(numpy, name), numpy.ufunc) and f.signature is None and name not in ("isnat",)
}
ONE = [name for name, f in UFUNCS.items() if f.nin == 1]
TWO = [name for name, f in UFUNCS.items() if f.nin == 2]
FOLDS = [name for name in TWO if UFUNCS[name].nout == 1]
USUAL = [
    "add",
    "multiply",
    "maximum",
    "minimum",
    "logical_or",
    "logical_and",
    "bitwise_or",
    "subtract",
    "fmax",
    "bitwise_xor",
]
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", ">=", "==", "!=", ">", "<=", "&", "|", "^", "<<", ">>")
REDUCTIONS = (
    "sum",
    "max",
    "min",
    "any",
    "all",
    "prod",
    "mean",
    "std",
    "var",
    "argmax",
    "argmin",
    "cumsum",
    "cumprod",
    "ptp",
    "count_nonzero",
    "nansum",
    "nanmax",
    "nanmin",
    "nanmean",
    "median",
    "nanargmax",
    "average",
)


def options(g, shape, names, out=False):
    """Keyword arguments, each now and then. out: `where` asks for it."""
    text = ""
    for name in names:
        if g.random.random() < 0.12:
            value = (
                g.operand(shape, "b")
                if name == "where"
                else (g.array("x", shape, owned=True) if name == "out" else table.KEYWORDS[name](g))
            )
            text += f", {name}={value}"
    if out and "where=" in text and "out=" not in text:
        text += f", out={g.array('x', shape, owned=True)}"
    return text


def ufunc(g):
    """A ufunc with all its options."""
    shape = g.world.shape()
    name = g.random.choice(ONE if g.random.random() < 0.35 else TWO if g.random.random() < 0.7 else USUAL)
    f = UFUNCS[name]
    kind = "i" if "ii" in "".join(f.types) and "dd" not in "".join(f.types) and g.random.random() < 0.7 else "x"
    first = g.view(g.array(kind, shape))
    operands = [first, *(g.operand(shape, kind) for _ in range(f.nin - 1))]
    if g.random.random() < 0.3:
        operands.reverse()
    text = ", ".join(operands) + (
        options(g, shape, ("where", "out", "dtype", "casting", "order"), out=True) if f.nout == 1 else ""
    )
    return f"{g.target()} = np.{name}({text})"


def methods_of_ufuncs(g):
    """reduce, accumulate, reduceat, outer and at."""
    rng = g.random
    name = rng.choice(FOLDS if rng.random() < 0.5 else USUAL)
    form = rng.choice(("reduce", "reduce", "accumulate", "reduceat", "outer", "at", "at"))
    if form == "outer":
        return f"{g.target()} = np.{name}.outer({g.array('x', small(g))}, {g.array('x', rng.choice(((), small(g))))})"
    shape = g.world.shape()
    x = g.array("x", shape)
    ndim, n = len(shape), shape[0] if shape else 1
    if form == "reduce":
        text = f"np.{name}.reduce({g.view(x)}, axis={values.axis(rng, ndim)}{reduced(g, shape)})"
        return f"{g.target()} = {text}"
    axis = rng.randrange(-ndim, ndim) if ndim else 0
    if form == "accumulate":
        return f"{g.target()} = np.{name}.accumulate({g.view(x)}, axis={axis}{options(g, shape, ('dtype', 'out'))})"
    if form == "reduceat":
        limit = shape[axis] if ndim else 1
        picks = [rng.randrange(limit) for _ in range(rng.choice((1, 2, 3, 5)))] if limit else [0]
        return f"{g.target()} = np.{name}.reduceat({g.view(x)}, {picks}, axis={axis}{options(g, shape, ('dtype',))})"
    x = g.array("x", shape, owned=True)
    picks = [rng.randrange(-n, n) for _ in range(rng.choice((1, 2, 3, 5)))] if n else []
    key = rng.choice(
        (str(picks), f"np.array({picks}, int)", "(...,)", "0", f"np.arange({n}) % 2 == 0", "slice(None, None, 2)")
    )
    if rng.random() < 0.15:
        return f"np.{rng.choice(ONE)}.at({x}, {key})"
    other = rng.choice((*values.SCALARS, "1", "1", "2", g.array("x", ()), g.array("x", shape[1:])))
    return f"np.{name}.at({x}, {key}, {other})"


def small(g):
    shape = g.world.shape()
    return shape if numpy.prod(shape, dtype=float) < 600 else (min(g.world.dims[1], 500),)


def reduced(g, shape):
    text = options(g, shape, ("dtype", "keepdims", "initial", "where"))
    return text + (f", out={g.array('x', owned=True)}" if g.random.random() < 0.05 else "")


def reduction(g):
    """A reduction, as a function or a method, of an array or the end of a chain."""
    rng, shape = g.random, g.world.shape()
    name = rng.choice(REDUCTIONS[:6] if rng.random() < 0.6 else REDUCTIONS)
    x = g.array("x", shape)
    chain = rng.choice(
        (
            "{0}",
            "{0}",
            "{0}",
            "({0} + {1})",
            "({0} * {1})",
            "({0} > {1})",
            "({0} == {1})",
            "(-{0})",
            "({0} * {1} + {0})",
            "({0} != {1})",
            "abs({0})",
        )
    )
    x = chain.format(x, g.operand(shape))
    axis = values.axis(rng, len(shape), not name.startswith(("arg", "cum", "nanarg")))
    text = f"axis={axis}"
    if not name.startswith(("arg", "cum", "median", "nanarg", "count", "ptp", "average")):
        text += reduced(g, shape)
    elif rng.random() < 0.2 and not name.startswith("cum"):
        text += ", keepdims=True"
    if rng.random() < 0.5 and hasattr(numpy.ndarray, name):
        return f"{g.target()} = {x}.{name}({text})"
    return f"{g.target()} = np.{name}({x}, {text})"


def operator(g):
    shape = g.world.shape()
    left, right = g.view(g.array("x", shape)), g.operand(shape)
    if g.random.random() < 0.3:
        left, right = right, left
    return f"{g.target()} = {left} {g.random.choice(OPERATORS)} {right}"


def unary(g):
    x = g.array()
    return f"{g.target()} = " + g.random.choice(
        (
            "-{}",
            "abs({})",
            "~{}",
            "+{}",
            "divmod({}, 3)",
            "{} ** 2",
            "{} ** 0.5",
            "{} ** -1",
            "2 ** {}",
            "{} % 0",
            "{} // 0",
            "1 / {}",
        )
    ).format(x)


def chain(g):
    """Several operations whose temporaries have no name: fused."""
    shape = g.world.shape()
    text = g.view(g.array("x", shape))
    for _ in range(g.random.randint(1, 5)):
        other = g.operand(shape)
        form = g.random.choice(
            (
                "({0} + {1})",
                "({0} * {1})",
                "({1} - {0})",
                "({0} > {1})",
                "np.maximum({0}, {1})",
                "abs({0})",
                "np.where({0}, {0}, {1})",
                "np.sqrt({0})",
                "({0} / {1})",
                "({0} & {1})",
                "({0} == {1})",
                "np.exp({0})",
                "{0}.astype('f')",
                "(-{0})",
                "np.isnan({0})",
                "np.floor({0})",
                "np.minimum({0}, {1})",
            )
        )
        text = form.format(text, other)
    return f"{g.target()} = {text}"


def inplace(g):
    """`x op= y`, of a part or of all."""
    rng, shape = g.random, g.world.shape()
    x = g.array("x", shape, owned=True)
    place = x
    if rng.random() < 0.4 and shape:
        place = f"{x}[{values.index(rng, shape, 'basic')}]"
        try:
            shape = numpy.shape(eval(place, dict(g.variables)))
        except Exception:
            return None
    return f"{place} {rng.choice(OPERATORS[:7] + OPERATORS[13:])}= {g.operand(shape)}"


def get(g):
    shape = g.world.shape()
    x = g.array("x", shape)
    return f"{g.target()} = {x}[{key(g, x, shape)}]"


def key(g, x, shape):
    form = g.random.random()
    if form < 0.1:
        return f"{x} {g.random.choice(('>', '==', '!=', '<='))} {g.random.choice(values.SCALARS[:9])}"
    if form < 0.18:
        return g.array("b", shape if g.random.random() < 0.8 else shape[:1])
    if form < 0.24 and shape:
        return g.array("i", g.random.choice(((3,), (), (2, 2))))
    return values.index(g.random, shape, "basic" if form < 0.6 else "any")


def put(g):
    """`x[...] = y` and `x[...] op= y`."""
    rng, shape = g.random, g.world.shape()
    x = g.array("x", shape, owned=True)
    place = f"{x}[{key(g, x, shape)}]"
    try:
        inner = numpy.shape(eval(place, dict(g.variables)))
    except Exception:
        inner = ()
    return f"{place} {rng.choice(('', '', '', '+', '*', '-', '|', '/'))}= {g.operand(inner)}"


def view(g):
    shape = g.world.shape()
    x = g.array("x", shape)
    n = int(numpy.prod(shape, dtype=object))
    p = next((k for k in (2, 3, 5, 7) if n % k == 0), 1)
    form = g.random.choice(
        (
            "{0}.T",
            "{0}.reshape(-1)",
            "{0}.ravel()",
            "{0}.reshape({1}, -1)",
            "{0}.swapaxes(0, -1)",
            "{0}.real",
            "{0}.imag",
            "{0}[...]",
            "{0}[None]",
            "{0}[..., ::-1]",
            "{0}[::2]",
            "{0}.squeeze()",
            "{0}.view()",
            "{0}.view('u1')",
            "{0}.view('i4')",
            "{0}.transpose()",
            "{0}.reshape(-1, order='F')",
            "{0}.flat[::2]",
            "{0}.diagonal()",
            "np.diagonal({0})",
            "np.broadcast_to({0}, (2,) + {0}.shape)",
            "{0}[..., None]",
            "np.atleast_2d({0})",
            "np.moveaxis({0}, 0, -1)",
            "np.asarray({0})",
            "np.flip({0})",
            "{0}.mT",
            "np.expand_dims({0}, 0)",
            "np.ravel({0}, 'K')",
            "{0}.conj()",
            "{0}.copy('K')",
            "np.require({0}, None, 'C')",
        )
    )
    return f"{g.target()} = " + form.format(x, p)


OVERLAPS = (
    "{0}[1:] += {0}[:-1]",
    "{0}[:-1] += {0}[1:]",
    "{0}[:] = {0}[::-1]",
    "{0}[1:] = {0}[:-1]",
    "{0}[:-1] = {0}[1:]",
    "{0} += {0}[::-1]",
    "{0}[...] = {0}[0]",
    "{0} -= {0}[-1]",
    "{0}.T[...] = {0}.T[::-1]",
    "np.add({0}[:-1], {0}[1:], out={0}[1:])",
    "np.multiply({0}, {0}[::-1], out={0})",
    "{0}[[0, -1]] = {0}[[-1, 0]]",
    "{0}[{0} > 0] = {0}[{0} > 0][::-1]",
    "{0}[::-1][1:] -= {0}[:-1]",
    "np.cumsum({0}, axis=0, out={0})",
    "np.maximum.accumulate({0}[::-1], out={0})",
    "{0}[1:] = {0}[:-1] * 2 + {0}[1:]",
    "{0}[..., 1:] += {0}[..., :-1]",
    "np.add({0}, 1, out={0}, where={0}[::-1] > 0)",
    "{0}[:1] = {0}.max(axis=0)",
    "np.copyto({0}[1:], {0}[:-1])",
    "np.minimum({0}, {0}[:1], out={0}[:1])",
    "{0}[..., ::-1] *= {0}",
    "np.add.at({0}, [0, 0], {0}[0])",
    "np.putmask({0}, {0} > 1, {0}[::-1])",
    "np.take({0}, [0], axis=0, out={0}[:1])",
    "{0}[:, ...] = {0}[0]",
    "np.copyto({0}, {0}[::-1], where={0} != 0)",
    "{0}.reshape(-1)[1:] -= {0}.reshape(-1)[:-1]",
    "{0}.flat[1:] = {0}.flat[:-1]",
    "np.negative({0}[::-1], out={0})",
    "np.concatenate([{0}[1:], {0}[:1]], out={0})",
    "np.sort({0}[::-1], out={0})",
    "np.max({0}, axis=0, out={0}[0])",
    "np.clip({0}[::-1], 0, 3, out={0})",
    "np.divmod({0}, 2, out=({0}, {0}.copy()))",
)


def overlap(g):
    """Writes whose source overlaps their target."""
    return g.random.choice(OVERLAPS).format(g.array("x", owned=True))


EFFECTS = (
    "{0}.fill({1})",
    "{0}.sort()",
    "{0}.sort(axis=0)",
    "{0}.sort(kind='stable')",
    "{0}.partition(0)",
    "{0}.put([0, -1], {1})",
    "np.put({0}, [0, 1], {1}, mode='wrap')",
    "np.place({0}, {0} > 1, [{1}, 2])",
    "np.putmask({0}, {0} > 1, {1})",
    "np.copyto({0}, {1})",
    "np.copyto({0}, {1}, casting='unsafe')",
    "np.copyto({0}, {1}, where={0} > 0)",
    "np.fill_diagonal({0}, {1})",
    "{0}.flat[0] = {1}",
    "{0}.flat[1:] = {1}",
    "{0}.real = {1}",
    "{0}.imag = {1}",
    "{0}[()] = {1}",
    "{0}[...] = [{1}]",
    "{0}.itemset",
    "{0}.flags.writeable = False",
    "{0}.setflags(write=False)",
    "{0}.byteswap(inplace=True)",
    "{0}.resize({2}, refcheck=False)",
    "{0}.shape = -1",
    "{0}.shape = {0}.shape[::-1]",
    "np.put_along_axis({0}, {0}.argmax(0)[None], {1}, 0)",
    "{0}[{1}] = 1",
    "np.nan_to_num({0}, copy=False)",
    "{0}.__setitem__(0, {1})",
    "{0}.partition({2})",
    "{0}.round(1, out={0})",
    "for v99 in {0}[:3]: v99 += 1",
    "for v99 in {0}[:3]: v99[...] = {1}",
    "np.einsum('i...->...i', {0})[...] = {1}",
)


def effect(g):
    """What writes to an array, with a number or an array."""
    rng, shape = g.random, g.world.shape()
    other = rng.choice(values.SCALARS) if rng.random() < 0.7 else g.operand(shape)
    return rng.choice(EFFECTS).format(g.array("x", shape, owned=True), other, rng.choice((0, 1, 3)))


READS = (
    "{0}.tolist()",
    "{0}.item(0)",
    "{0}.item()",
    "float({0})",
    "int({0})",
    "bool({0})",
    "len({0})",
    "{0}.shape",
    "{0}.size",
    "{0}.nbytes",
    "{0}.dtype",
    "list({0}[:2])",
    "{0}.flags.c_contiguous",
    "{0}.flags.f_contiguous",
    "1 in {0}",
    "{0}.any().item()",
    "{0}.tobytes()",
    "repr({0}[:2])",
    "{0}.flags.writeable",
    "{0}.ndim",
    "complex({0})",
    "[w.dtype for w in {0}[:2]]",
    "np.result_type({0}, {1})",
    "{0}.flags.owndata",
    "np.array_equal({0}, {1})",
    "np.allclose({0}, {1})",
    "np.shares_memory({0}, {1})",
    "np.may_share_memory({0}, {1})",
    "hash({0}.shape)",
    "str({0}[:1])",
    "np.ndim({0})",
    "{0}.base is None",
    "np.can_cast({0}.dtype, {1}.dtype)",
    "np.isscalar({0})",
    "{0}.__index__()",
    "{0} is {1}",
    "np.broadcast_shapes({0}.shape, {1}.shape)",
    "np.size({0}, 0)",
    "np.iscomplexobj({0})",
    "np.array_equiv({0}, {1})",
    "np.min_scalar_type({0})",
    "next(iter({0}))",
    "[*map(float, {0}[:2])]",
    "sorted({0}[:3].tolist(), key=str)",
    "np.shape({0})",
    "{0}.flat[0]",
    "{0}[0].item()",
)


def read(g):
    """What waits, and gives an object of Python's."""
    rng = g.random
    name = g.array(shape=() if rng.random() < 0.3 else None)
    return f"{g.target()} = " + rng.choice(READS).format(name, g.array())


MAKES = (
    "np.array({0})",
    "np.array({0}, '{1}')",
    "np.array({0}, copy=False)",
    "np.asarray({0}, '{1}')",
    "{0}.astype('{1}')",
    "{0}.astype('{1}', copy=False)",
    "{0}.astype('{1}', casting='safe')",
    "np.full({2}, {3})",
    "np.full({2}, {3}, '{1}')",
    "np.full_like({0}, {3})",
    "np.zeros_like({0})",
    "np.ones_like({0}, '{1}')",
    "np.arange({3})",
    "np.array([{3}, {3}])",
    "np.array([{3}], '{1}')",
    "np.linspace(0, {3}, 5)",
    "np.array([{0}, {0}])",
    "np.concatenate([{0}, {4}])",
    "np.stack([{0}, {4}])",
    "np.vstack([{0}, {4}])",
    "np.hstack([{0}, {4}])",
    "np.where({0}, {4}, {3})",
    "np.where({0} > 1, {3}, {4})",
    "np.append({0}, {4})",
    "np.concatenate([{0}, {4}], axis=-1)",
    "np.concatenate([{0}, {4}], axis=None, dtype='{1}', casting='unsafe')",
    "np.asfortranarray({0})",
    "np.array({0}, order='F')",
    "np.array({0}, ndmin=3)",
    "np.copy({0})",
    "np.ascontiguousarray({0})",
    "{0}.copy(order='F')",
    "np.array({0}.tolist())",
    "np.select([{0} > 1, {4} < 0], [{0}, {4}], {3})",
    "np.choose({0} % 2, [{0}, {4}])",
    "np.clip({0}, {3}, {4})",
    "np.unique({0})",
    "np.nonzero({0})",
    "np.argwhere({0})",
    "np.flatnonzero({0})",
    "np.sort({0}, axis=None)",
    "np.argsort({0}, kind='stable')",
    "np.searchsorted(np.sort({0}, None), {4})",
    "np.searchsorted(np.sort({0}, None), {3})",
    "np.repeat({0}, 2, axis=0)",
    "np.tile({0}, 2)",
    "np.take({0}, [0, -1], axis=-1)",
    "np.take_along_axis({0}, {0}.argsort(0, kind='stable'), 0)",
    "np.isin({0}, {4})",
    "np.diff({0})",
    "np.roll({0}, 3)",
    "np.pad({0}, 1)",
    "np.insert({0}, 0, {3})",
    "np.delete({0}, 0, 0)",
    "np.partition({0}, 1)",
    "np.cumsum({0}, axis=0)",
    "np.isclose({0}, {4})",
    "np.round({0}, 2)",
    "np.digitize({0}, [0, 2])",
    "np.bincount(np.ravel({0}))",
    "np.packbits({0})",
    "np.unravel_index({0}, {2})",
    "np.interp({0}, [0, 1, 4], [0, 2, 3])",
    "np.histogram({0}, 5)",
    "np.angle({0})",
    "np.nan_to_num({0}, nan={3})",
    "np.ediff1d({0})",
    "np.compress({4}, {0})",
    "np.extract({4}, {0})",
    "np.lexsort(({0}, {4}))",
    "np.trim_zeros({0})",
    "np.real_if_close({0})",
    "np.meshgrid({0}.ravel()[:9], {4}.ravel()[:9], copy=False)",
)


def make(g):
    rng, shape = g.random, g.world.shape()
    x, other = g.array("x", shape), g.array("x", shape)
    return f"{g.target()} = " + rng.choice(MAKES).format(x, values.dtype(rng), shape, rng.choice(values.SCALARS), other)


def product(g):
    """Products of matrices, of integers mostly: exact. `+ 0`: the sign of a zero depends on the order."""
    rng = g.random
    n, k, m = (values.logarithmic(rng, 1, min(max(g.world.size // 64, 8), 256)) for _ in range(3))
    left = rng.choice(((n, k), (n, k), (k,), (2, n, k)))
    right = rng.choice(((k, m), (k, m), (k,), (2, k, m)))
    kind = rng.choice(("f", "i", "x", "x"))
    x, y = g.array(kind, left), g.array(kind, right)
    if rng.random() < 0.2:
        x, y = f"{g.array(kind, left[::-1])}.T", y
    form = rng.choice(
        (
            "{0} @ {1} + 0",
            "{0} @ {1} + 0",
            "np.dot({0}, {1}) + 0",
            "np.matmul({0}, {1}) + 0",
            "np.inner({0}, {1}.T) + 0",
            "{0}.dot({1}) + 0",
            "np.tensordot({0}, {1}, 1) + 0",
            "np.einsum('...j,jk->...k', {0}, {1}) + 0",
            "np.vecdot({0}, {1}.T) + 0",
            "np.matvec({0}, {1}) + 0",
            "({0} + 1) @ {1} + 0",
            "np.matmul({0}, {1}) * 2",
        )
    )
    return f"{g.target()} = " + form.format(x, y)


FAMILIES = {
    "row": (table.row, 30),
    "method": (table.method, 8),
    "ufunc": (ufunc, 12),
    "ufunc-method": (methods_of_ufuncs, 8),
    "reduction": (reduction, 12),
    "operator": (operator, 9),
    "unary": (unary, 3),
    "chain": (chain, 7),
    "inplace": (inplace, 7),
    "get": (get, 8),
    "put": (put, 8),
    "view": (view, 6),
    "overlap": (overlap, 5),
    "effect": (effect, 6),
    "read": (read, 4),
    "make": (make, 9),
    "product": (product, 3),
}
