"""Random statements and short programs of NumPy's, as people write them: what `parity` measures.

A program is drawn by its seed alone: a class, a size, a type, and lines over the names that `values()` gives. Nothing
here knows what is fast: the search for what is slow is the machine's.
"""
import math
from dataclasses import dataclass, field

import numpy

LARGEST = 7                 # a power of ten: sizes are spread evenly in logarithm up to it
MOST_TURNS = 60             # of a loop in Python
TYPES = ("f8", "f8", "f8", "f8", "f4", "f4", "i8", "i4", "u1", "?", "c16", "i2", "u8", "c8", "f2")
CLASSES = {}                # by name: (function that draws lines, largest size as a power of ten)


@dataclass(frozen=True)
class Program:
    """Lines over names, and what these are: `shape` of the matrices, `solid` of the arrays with three axes."""

    seed: int
    kind: str
    dtype: str
    size: int
    shape: tuple
    solid: tuple
    lines: tuple
    reads: bool             # the last result is read, as a program would that prints it
    names: tuple = field(default=())

    @property
    def statement(self):
        return "\n".join(self.lines)

    def __str__(self):
        return f"{'; '.join(self.lines)}  [{self.dtype}, {self.size:,}{', read' if self.reads else ''}]"


class Draw:
    """The choices of one program."""

    def __init__(self, seed, size, dtype):
        self.rng = numpy.random.default_rng(seed)
        self.n, self.dtype = size, dtype
        rows = int(round(10 ** self.rng.uniform(0, math.log10(max(size, 1)))))
        self.shape = max(rows, 1), max(size // max(rows, 1), 1)
        side = max(int(round(size ** (1 / 3))), 1)
        self.solid = (side, side, max(size // side ** 2, 1))
        self.kind = "b" if dtype == "?" else dtype[0]

    def one(self, *some):
        """One of these, texts or lists of lines; a text of several, parted by two spaces, counts as these."""
        some = [each for given in some for each in (given.split("  ") if isinstance(given, str) else [given])]
        return some[self.rng.integers(len(some))]

    def chance(self, p):
        return self.rng.random() < p

    def below(self, n):
        return int(self.rng.integers(max(n, 1)))

    # ---- what stands beside an operator

    def number(self):
        """Python's, or NumPy's of the type or of another."""
        if self.kind in "fc":
            return self.one("2.0  0.5  3  1.5  -1  s  s  np.float64(0.75)  np.float32(1.5)  np.int64(2)  True")
        if self.kind == "b":
            return self.one("True  False  s  np.bool_(True)")
        return self.one("2  3  1  7  s  s  np.int64(3)  np.uint8(5)  True")

    def element(self):
        i, j = self.below(self.n), self.below(self.shape[1])
        return self.one(f"x[{i}]  y[{i}]  x[i0]  A[{self.below(self.shape[0])}, {j}]  A[i0, j0]  x[-1]  A[i0][j0]  x[k[0]]")

    def scalar(self):
        return self.element() if self.chance(0.75) else self.number()

    def binary(self):
        if self.kind == "b":
            return self.one("&  |  ^  ==  !=")
        if self.kind in "iu":
            return self.one("+  -  *  +  -  *  //  %  &  |  ^  >>  <  <=  ==  /")
        if self.kind == "c":
            return self.one("+  -  *  *  /  ==")
        return self.one("+  -  *  +  -  *  /  <  >  <=  ==  **")

    def arithmetic(self):
        return self.one("&  |  ^") if self.kind == "b" else self.one("+  -  *")

    def unary(self):
        if self.kind == "b":
            return self.one("~{}  np.logical_not({})")
        if self.kind in "iu":
            return self.one("-{}  abs({})  ~{}  np.square({})  np.sign({})")
        if self.kind == "c":
            return self.one("-{}  abs({})  {}.conj()  {}.real  {}.imag  np.exp({})")
        return self.one("-{}  abs({})  np.sqrt(abs({}))  np.exp(-abs({}))  np.sin({})  np.tanh({})  np.floor({})",
                        "np.square({})  np.log(abs({}) + 1)  np.isnan({})  np.sign({})  np.maximum({}, 0)  np.round({})")

    # ---- views of the same shape

    def views(self, count):
        """Texts of so many views of one shape."""
        r, c = self.shape
        a, b = sorted(self.rng.integers(0, self.n + 1, 2).tolist())
        i, j = self.below(r), self.below(c)
        families = [
            ["x", "y", "v", "w"],
            [f"x[{a}:{b}]", f"y[{a}:{b}]", f"v[{self.n - (b - a)}:]", f"w[:{b - a}]"],
            ["x[1:]", "x[:-1]", "y[1:]", "y[:-1]"],
            ["x[2:]", "x[1:-1]", "x[:-2]", "y[1:-1]"],
            ["x[::2]", "y[::2]", "v[::2]", "w[::2]"],
            ["x[::-1]", "y", "v[::-1]", "w"],
            ["x[1::2]", f"y[:{self.n // 2}]", f"v[{self.n - self.n // 2}:]", "w[1::2]"],
            ["A", "B", "C", "A"],
            [f"A[{i}]", f"B[{i}]", f"C[{self.below(r)}]", f"A[{self.below(r)}]"],
            [f"A[:, {j}]", f"B[:, {j}]", f"C[:, {self.below(c)}]", f"B[:, {self.below(c)}]"],
            ["A.T", "B.T", "C.T", "A.T"],
            ["A[1:-1, 1:-1]", "A[:-2, 1:-1]", "A[2:, 1:-1]", "A[1:-1, 2:]"],
            ["A[1:]", "A[:-1]", "B[1:]", "B[:-1]"],
            ["A[:, 1:]", "A[:, :-1]", "B[:, 1:]", "B[:, :-1]"],
            ["A[:, ::2]", "B[:, ::2]", "C[:, ::2]", "A[:, ::2]"],
            ["T", "U", "T", "U"],
            ["T[1:-1, 1:-1, 1:-1]", "T[2:, 1:-1, 1:-1]", "T[1:-1, :-2, 1:-1]", "T[1:-1, 1:-1, 2:]"],
            ["A", "A[0]", "B", f"A[:, {j}:{j + 1}]"],
            ["A", "A[:, :1]", "B", "B[:1]"],
        ]
        family = families[self.below(len(families))]
        order = self.rng.permutation(4).tolist()
        return [family[k] for k in (order * 2)[:count]]

    def chain(self, views, operations):
        """An expression of so many operations."""
        text = views[0]
        for _ in range(operations):
            other = self.one(*views) if self.chance(0.7) else self.number() if self.chance(0.8) else self.element()
            if self.chance(0.25):
                text = self.unary().format(f"({text})")
                if not text.isidentifier() and text.startswith(("abs", "np.isnan")) and self.kind == "c":
                    return text
            else:
                left, right = (text, other) if self.chance(0.8) else (other, text)
                text = f"({left} {self.arithmetic()} {right})"
        return text


def drawn(name, largest=LARGEST):
    def register(function):
        CLASSES[name] = function, largest
        return function
    return register


@drawn("numbers", 3)
def _(d):
    """Elements beside each other, and beside numbers."""
    p, q = d.element(), d.scalar()
    if d.chance(0.3):
        p, q = d.scalar(), d.element()
    if d.kind == "c":
        return [d.one(f"r = {p} {d.one('+  -  *')} {q}", f"r = abs({p})", f"r = {p}.real", f"r = complex({p})", f"r = {p} == {q}")]
    return [d.one(f"r = {p} {d.binary()} {q}", f"r = {p} {d.binary()} {q}", f"r = {p} {d.arithmetic()} {q} {d.arithmetic()} {d.scalar()}",
                  f"r = float({p})", f"r = int({p})", f"r = bool({p})", f"r = max({p}, {q})", f"r = min({p}, {q})",
                  f"r = 1 if {p} > {q} else 0", f"r = abs({p})", f"r = -{p}" if d.kind != "b" else f"r = not {p}",
                  f"r = {p} == {q} or {q} != {p}", f"r = round(float({p}), 2)", f"r = str({p})", f"r = x[int({p}) % 1]")]


@drawn("stores", 3)
def _(d):
    """Elements written."""
    i, j = d.below(d.n), d.below(d.shape[1])
    place = d.one(f"w[{i}]", "w[i0]", f"C[i0, {j}]", "C[i0, j0]", f"C[i0][{j}]")
    return [d.one(f"{place} = {d.scalar()}", f"{place} = {d.scalar()}", f"{place} {d.arithmetic()}= {d.scalar()}",
                  f"{place} = {d.element()} {d.arithmetic()} {d.scalar()}",
                  f"{place} = max({place}, {d.element()})" if d.kind != "c" else f"{place} = {d.element()}")]


@drawn("loops over elements", 3)
def _(d):
    turns = min(MOST_TURNS, d.n - 1)
    head = f"for i in range(1, {turns + 1}):"
    op = d.arithmetic()
    if d.kind in "cb":
        return [head, f"    w[i] = w[i - 1] {op} x[i]"]
    return d.one(
        [f"t = {d.number()}", head, f"    t = t {op} x[i]"], [head, f"    w[i] = w[i - 1] {op} x[i]"],
        [head, f"    w[i] {op}= x[i] {d.arithmetic()} y[i - 1]"], ["t = 0", head, "    if x[i] > y[i]:", "        t += 1"],
        [head, "    if x[i] < x[i - 1]:", "        w[i] = x[i - 1]", "    else:", "        w[i] = x[i]"],
        [f"t = x[0]", head, "    t = max(t, x[i])"], [f"for t in x[:{turns}]:", f"    r = t {op} {d.number()}"],
        [head, f"    w[k[i]] {op}= {d.number()}"])


@drawn("loops over rows", 6)
def _(d):
    rows, columns = min(MOST_TURNS, d.shape[0]), min(MOST_TURNS, d.shape[1])
    a = d.element() if d.chance(0.5) else "A[i, j0]"
    op = d.arithmetic()
    return d.one(
        [f"for i in range({rows}):", f"    C[i] {op}= {a} * B[i]" if d.kind != "b" else f"    C[i] {op}= B[i]"],
        [f"for i in range({rows}):", f"    C[i] = A[i] {op} B[i]"],
        [f"for j in range({columns}):", f"    C[:, j] {op}= A[:, j]"],
        [f"for i in range({min(rows, columns)}):", f"    C[i, :i + 1] {op}= A[i, :i + 1]"],
        [f"for i in range({min(rows, columns)}):", f"    C[:i, i] {op}= {a} * B[:i, i]" if d.kind != "b" else f"    C[:i, i] {op}= B[:i, i]"],
        [f"for i in range({rows}):", f"    w[i] = A[i].{d.one('sum  max  min  any')}()"],
        [f"for i in range({rows - 1}):", f"    C[i + 1] = C[i] {op} A[i]"],
        [f"for row in A[:{rows}]:", f"    r = row {op} B[0]"],
        [f"for i in range({rows}):", "    w[i] = np.dot(A[i], B[i])" if d.kind in "fc" else "    w[i] = A[i, 0]"])


@drawn("views")
def _(d):
    a, b, c = d.views(3)
    op = d.binary()
    return [d.one(f"r = {a} {op} {b}", f"r = {a} {op} {d.scalar()}", f"r = {d.scalar()} {op} {a}", f"r = {d.unary().format(a)}",
                  f"r = ({a} {d.arithmetic()} {b}) {d.arithmetic()} {c}", f"r = {a}.copy()", f"r = {a}.{d.one('sum()  max()  min()  any()')}")]


@drawn("in place")
def _(d):
    a, b, c = d.views(3)
    op = d.arithmetic()
    return [d.one(f"{a} {op}= {b}", f"{a} {op}= {d.number() if d.kind in 'fc' else 1}", f"{a}[...] = {b}", f"{a}[...] = {b} {op} {c}",
                  f"{a}[...] = {d.number()}", f"np.add({b}, {c}, out={a})" if d.kind != "b" else f"np.logical_or({b}, {c}, out={a})")]


@drawn("chains")
def _(d):
    views = d.views(4)
    return [f"r = {d.chain(views, 2 + d.below(7))}"]


@drawn("several statements")
def _(d):
    views, lines = d.views(4), []
    for name in ("p", "q", "r")[: 2 + d.below(2)]:
        lines.append(f"{name} = {d.chain(views, 1 + d.below(4))}")
        views = [*views[:2], name, name]
    return lines


@drawn("reductions")
def _(d):
    name = d.one("sum  sum  mean  max  min  any  all  prod  std  var  argmax  argmin  cumsum") if d.kind != "c" else d.one("sum  mean  prod  cumsum")
    if d.chance(0.4):
        return [f"r = {d.one('x', *d.views(1))}.{name}()"]
    axis = d.one("axis=0  axis=1  axis=-1") + d.one("", "", ", keepdims=True" if name in "sum mean max min std" else "")
    return [d.one(f"r = A.{name}({axis})", f"r = np.{name}(B, {axis})", f"r = T.{name}(axis={d.below(3)})", f"r = np.abs(x - y).{name}()"
                  if d.kind in "if" else f"r = A.{name}()", f"r = (A * B).{name}(axis=-1)" if d.kind != "b" else f"r = (A & B).{name}(axis=-1)")]


@drawn("products", 6)
def _(d):
    if d.kind not in "fc" or d.dtype == "f2":
        return [d.one("r = np.dot(x, y)", "r = np.outer(x[:100], y[:100])", "r = x @ y", "r = A @ A[0]")]
    return [d.one("r = np.dot(x, y)", "r = x @ y", "r = np.inner(x, y)", "r = np.vdot(x, y)", "r = A @ A[0]", "r = A.T @ A[:, 0]", "r = A[:, 0] @ A",
                  "r = A[:40] @ B[:40].T", "r = A[:, :30].T @ B", "r = np.outer(x[:300], y[:300])", "r = np.einsum('ij,ij->i', A, B)",
                  "r = np.linalg.norm(x)", "r = np.linalg.norm(A, axis=1)", "r = np.dot(A[0], A[-1])", "r = A[0] @ B[:, :].T")]


@drawn("functions", 6)
def _(d):
    real = d.kind != "c"
    return [d.one("r = np.where(m, x, y)", "r = x[m]", "r = x[k]", "r = np.take(x, k)", "w[k] = x", "w[m] = 0", "r = np.concatenate([x, y])",
                  "r = np.stack([x, y])", "r = np.roll(x, 1)", "r = np.roll(A, 1, axis=1)", "r = np.repeat(x, 2)", "r = np.tile(x, 2)",
                  "r = np.pad(x, 1)", "r = np.flip(x)", "r = np.cumsum(x)", "r = np.zeros_like(x)", "r = np.ones(len(x))", "r = x.astype('f4')",
                  "r = x.astype(int)" if real else "r = x.real", "r = x.reshape(-1, 1)", "r = A.ravel()", "r = A.T.copy()", "r = np.array([x[0], y[0]])",
                  "r = np.arange(len(x))", "r = np.linspace(0, 1, len(x))", "r = np.nonzero(m)[0]", "r = np.count_nonzero(m)", "r = np.diag(A)",
                  "r = np.sort(x)" if real else "r = np.angle(x)", "r = np.argsort(x)" if real else "r = abs(x)", "r = np.unique(k)", "r = np.bincount(k)",
                  "r = np.clip(x, y, 3)" if d.kind == "f" else "r = x == y", "r = np.diff(x)" if d.kind != "b" else "r = ~x",
                  "r = np.searchsorted(k, 3)", "r = np.meshgrid(x[:50], y[:50])[0]", "r = np.maximum(x, y)" if real else "r = x * y",
                  "r = np.interp(x, [0, 1, 2], [1, 2, 0])" if d.dtype == "f8" else "r = x + y", "r = np.median(x)" if d.kind == "f" else "r = x.any()",
                  "r = np.array_equal(x, y)", "r = np.allclose(x, y)" if d.kind == "f" else "r = (x == y).all()", "r = len(x)", "r = x.shape[0]",
                  "r = np.broadcast_to(x, (3, len(x))) + 1" if d.kind != "b" else "r = x | y", "r = np.split(x[:len(x) // 2 * 2], 2)[0]")]


@drawn("time steps", 6)
def _(d):
    """Each from the last, in two arrays by turns or in place."""
    steps = 2 + d.below(10)
    head = f"for _ in range({steps}):"
    if d.kind not in "fc":
        return [head, "    v[1:-1] = x[:-2] | x[2:]", "    x[1:-1] = v[:-2] & v[2:]"]
    return d.one(
        [head, "    v[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3", "    x[1:-1] = (v[:-2] + v[1:-1] + v[2:]) / 3"],
        [head, "    C[1:-1, 1:-1] = (A[1:-1, 1:-1] + A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:]) * 0.2", "    A, C = C, A"],
        [head, "    A[1:-1, 1:-1] += 0.1 * (A[:-2, 1:-1] + A[2:, 1:-1] - 2 * A[1:-1, 1:-1])"],
        [head, "    U[1:-1, 1:-1, 1:-1] = (T[2:, 1:-1, 1:-1] - 2 * T[1:-1, 1:-1, 1:-1] + T[:-2, 1:-1, 1:-1]) / 3 + T[1:-1, 1:-1, 1:-1]", "    T, U = U, T"],
        [head, "    v = 0.5 * x + 0.5 * y", "    x = v - 0.01 * (x - y)"], [head, "    x = x * 0.99 + y * 0.01"],
        [head, "    p = A * B", "    A += 0.01 * p - 0.005 * A", "    B -= 0.01 * p"])


@drawn("until it converges", 5)
def _(d):
    if d.kind != "f":
        return ["t = 0", "while t < 5 and (x == y).any():", "    t += 1"]
    return d.one(
        ["t = 0", "p = x.copy()", "while t < 8:", "    q = 0.5 * (p + y)", "    if abs(q - p).max() < 1e-3:", "        break", "    p = q", "    t += 1"],
        ["t = 0", "p = x.copy()", "while np.linalg.norm(p - y) > 1e-3 and t < 8:", "    p += 0.4 * (y - p)", "    t += 1"],
        ["t = 0", "e = 1.0", "p = x.copy()", "while e > 1e-2 and t < 8:", "    p = 0.7 * p + 0.3 * y", "    e = float(((p - y) ** 2).mean())", "    t += 1"])


@drawn("tables", 4)
def _(d):
    """Dynamic programming."""
    rows, columns = min(8, d.shape[0] - 1), min(8, d.shape[1] - 1)
    head = [f"for i in range(1, {rows + 1}):", f"    for j in range(1, {columns + 1}):"]
    if d.kind in "cb":
        return [*head, "        C[i, j] = C[i - 1, j]"]
    return [*head, "        " + d.one("C[i, j] = max(C[i - 1, j], C[i, j - 1])", "C[i][j] = C[i - 1][j] + A[i][j]",
                                       "C[i, j] = min(C[i - 1, j], C[i, j - 1], C[i - 1, j - 1]) + 1",
                                       "C[i, j] = C[i - 1, j - 1] + (A[i, j] == B[i, j])",
                                       "C[i, j] = C[i - 1, j] if A[i, j] > B[i, j] else C[i, j - 1]")]


@drawn("bits", 4)
def _(d):
    turns = min(MOST_TURNS // 4, d.n)
    return d.one(
        ["t = 0xFFFF", f"for b in h[:{turns}]:", "    t ^= int(b)", "    for _ in range(4):", "        t = (t >> 1) ^ 0xA001 if t & 1 else t >> 1"],
        ["t = 0xFFFF", f"for b in h[:{turns}]:", "    for _ in range(4):", "        t = (t >> 1) ^ 0xA001 if (t & 1) ^ (b & 1) else t >> 1", "        b >>= 1"],
        ["r = (h >> 4) | ((h & 15) << 4)"], ["r = h ^ (h << 1)", "r = r & (r >> 2)"], ["r = np.unpackbits(h)"], ["r = (h & 1).sum()"],
        [f"for i in range({turns}):", "    h[i] ^= h[i - 1] & 0x0F"])


@drawn("sparse rows", 5)
def _(d):
    rows = min(MOST_TURNS // 2, d.n)
    part = "x[ends[i]:ends[i + 1]]"
    return [f"for i in range({rows}):",
            "    " + d.one(f"w[i] = {part}.sum()", f"w[i] = {part} @ y[k[ends[i]:ends[i + 1]]]", f"r = {part} * 2",
                           f"w[k[ends[i]:ends[i + 1]]] += {part}")]


# ---- programs --------------------------------------------------------------------------------------------------------

def program(seed):
    """The program of a seed."""
    rng = numpy.random.default_rng([seed, 1])
    kind = list(CLASSES)[rng.integers(len(CLASSES))]
    function, largest = CLASSES[kind]
    dtype = TYPES[rng.integers(len(TYPES))]
    size = max(int(round(10 ** rng.uniform(0, largest))), 4)
    d = Draw([seed, 2], size, dtype)
    return Program(seed, kind, dtype, size, d.shape, d.solid, tuple(function(d)), bool(rng.random() < 0.3))


def values(p):
    """What the names of a program are, of NumPy's."""
    rng = numpy.random.default_rng([p.seed, 3])
    some = rng.random(4001)

    def array(shape):
        count = int(numpy.prod(shape))
        a = numpy.resize(numpy.roll(some, int(rng.integers(4001))), count).reshape(shape)
        if p.dtype in ("?",):
            return a > 0.5
        if p.dtype[0] in "iu":
            return (a * 9).astype(p.dtype)
        if p.dtype[0] == "c":
            return (a + 1j * a[::-1]).astype(p.dtype)
        return (a + 0.5).astype(p.dtype)

    n = p.size
    places = rng.integers(0, n, min(n, 5000)) if n else numpy.zeros(0, int)
    ends = numpy.sort(rng.integers(0, n + 1, min(n, 5000) + 1))
    names = {"x": array(n), "y": array(n), "v": array(n), "w": array(n), "A": array(p.shape), "B": array(p.shape), "C": array(p.shape),
             "T": array(p.solid), "U": array(p.solid), "k": numpy.resize(places, n), "ends": ends, "h": (array(n).real * 100).astype("u1"),
             "m": numpy.resize(some > 0.5, n), "s": array(1)[0], "i0": int(rng.integers(p.shape[0])), "j0": int(rng.integers(p.shape[1]))}
    text = p.statement
    return {name: value for name, value in names.items() if name in text}
