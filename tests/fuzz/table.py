"""Statements from the table of operations: each sample of each row is a pattern, whose arrays and numbers are drawn."""

import ast
import importlib
import inspect
import re
from functools import cache

import numpy

from dflow.ops.table import TABLE
from tests.fuzz import values

for _name in ("linalg", "fft", "random"):  # their rows are made when they are first used
    importlib.import_module(f"dflow.numpy.{_name}")

ROLES = set(values.ROLES)
# Results as large as the product of their operands' sizes.
SQUARE = {
    "outer",
    "kron",
    "meshgrid",
    "ix_",
    "tensordot",
    "einsum",
    "convolve",
    "correlate",
    "vander",
    "tri",
    "diag",
    "diagflat",
    "cov",
    "corrcoef",
    "indices",
    "inner",
    "dot",
    "matmul",
    "vdot",
    "cross",
    "polyfit",
    "poly",
    "roots",
    "histogram2d",
    "histogramdd",
    "tile",
    "repeat",
    "pad",
    "identity",
    "eye",
    "broadcast_to",
    "lexsort",
    "interp",
    "isin",
    "in1d",
    "setdiff1d",
    "piecewise",
    "select",
    "apply_along_axis",
    "apply_over_axes",
    "unwrap",
    "tensorinv",
    "tensorsolve",
    "multi_dot",
    "matrix_power",
    "svd",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "pinv",
    "det",
    "slogdet",
    "qr",
    "cholesky",
    "solve",
    "lstsq",
    "cond",
    "matrix_rank",
    "norm",
    "matrix_norm",
    "svdvals",
}


@cache
def pattern(sample):
    """The text of a sample in parts: strings as they are, names of arrays and numbers as tuples of one."""
    text = f"f({sample})"
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    bound = {arg.arg for node in ast.walk(tree) if isinstance(node, ast.Lambda) for arg in node.args.args}
    marks = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ROLES - bound:
            marks.append((node.col_offset, node.end_col_offset, node.id))
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            marks.append((node.col_offset, node.end_col_offset, node.value))
    parts, at = [], 2
    for start, stop, what in sorted(marks, key=lambda mark: mark[:2]):
        if start < at:
            return None
        parts += [text[at:start], (what,)]
        at = stop
    return (*parts, text[at:-1])


@cache
def theirs(path):
    module = numpy
    for name in path.split(".")[1:]:
        module = getattr(module, name, None)
    return module


@cache
def keywords(path):
    """The names of optional arguments of NumPy's function that `keyword` draws."""
    function = theirs(path)
    if isinstance(function, numpy.ufunc):
        return ("where", "out", "dtype", "casting", "order")
    try:
        return tuple(name for name in inspect.signature(function).parameters if name in KEYWORDS)
    except (TypeError, ValueError):
        return ()


def _dtype(g):
    return (
        f"'{values.dtype(g.random)}'"
        if g.random.random() < 0.8
        else g.random.choice(("int", "float", "bool", "complex"))
    )


KEYWORDS = {
    "axis": lambda g: values.axis(g.random, g.random.choice((1, 2, 2, 3))),
    "keepdims": lambda g: g.random.choice(("True", "True", "False")),
    "dtype": _dtype,
    "out": lambda g: g.array("x", owned=True),
    "where": lambda g: g.operand(g.world.shapes["a"], "b"),
    "initial": lambda g: g.random.choice(values.SCALARS),
    "casting": lambda g: g.random.choice(("'unsafe'", "'same_kind'", "'safe'", "'no'", "'equiv'")),
    "order": lambda g: g.random.choice(("'C'", "'F'", "'K'", "'A'")),
    "kind": lambda g: g.random.choice(("'stable'", "'quicksort'", "'heapsort'")),
    "mode": lambda g: g.random.choice(("'wrap'", "'clip'", "'raise'")),
    "side": lambda g: g.random.choice(("'left'", "'right'")),
    "ddof": lambda g: g.random.choice(("0", "1", "2", "0.5")),
    "k": lambda g: g.random.choice(("0", "1", "-1", "2", "-3")),
    "offset": lambda g: g.random.choice(("0", "1", "-1", "2")),
    "decimals": lambda g: g.random.choice(("0", "1", "2", "-1", "5", "-3")),
    "return_index": lambda g: "True",
    "return_inverse": lambda g: "True",
    "return_counts": lambda g: "True",
    "equal_nan": lambda g: g.random.choice(("True", "False")),
    "assume_unique": lambda g: "False",
    "invert": lambda g: "True",
    "axis1": lambda g: g.random.choice(("0", "1", "-1")),
    "axis2": lambda g: g.random.choice(("0", "1", "-1")),
    "n": lambda g: g.random.choice(("0", "1", "2", "3")),
    "nan": lambda g: g.random.choice(values.SCALARS),
    "copy": lambda g: g.random.choice(("True", "False")),
    "prepend": lambda g: g.random.choice(("0", "1.5")),
    "append": lambda g: g.random.choice(("0", "1.5")),
}


def arguments(g, sample, path=""):
    """A sample with the program's arrays for its own, and some other numbers; None where that is not possible."""
    parts = pattern(sample)
    if parts is None:
        return None
    rng, layers, (p, q) = g.random, g.world.dims[0], g.world.dims[1:]
    scale = {2: layers, 3: p, 4: q} if rng.random() < 0.4 else {}
    other = rng.random() < 0.2
    small = path.rpartition(".")[2] in SQUARE
    texts, chosen = [], {}
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part[0], str):
            role = part[0]
            if role not in chosen:
                chosen[role] = g.view(array(g, role, other, small))
            texts.append(chosen[role])
        else:
            n = part[0]
            n = scale.get(n, n)
            if rng.random() < 0.08:
                n = rng.choice((0, 1, 2, 3, 5, 10, 100))
            texts.append(str(n))
    text = "".join(texts)
    for name in keywords(path) if path else ():
        if rng.random() < 0.15 and not re.search(rf"\b{name}=", text):
            text += f"{', ' if text else ''}{name}={KEYWORDS[name](g)}"
    return text


def array(g, role, other, small):
    kind, shape = values.ROLES[role], g.world.shapes[role]
    if other or kind == "f" and g.random.random() < 0.4:
        kind = "x"
    if small:
        p, q = min(g.world.dims[1], 24), min(g.world.dims[2], 30)
        shape = {2: (p, q), 1: (q,), 3: (2, min(p, 5), q), 0: ()}[len(shape)] if role not in "me" else shape
    return g.array(kind, shape)


def paths():
    """(path, samples) of each row, as a program names it."""
    for row in TABLE.values():
        if row.module.startswith("numpy") and row.samples:
            yield f"{row.module.replace('numpy', 'np', 1)}.{row.name}", row.samples


ROWS = list(paths())
METHODS = [
    (row.name, match[1], match[2] or "")
    for row in TABLE.values()
    if row.method
    for sample in row.samples
    if (match := re.match(r"(\w+)(?:, (.*))?$", sample)) and match[1] in ROLES and "correction" not in sample
]
SIGNATURES = {
    name: tuple(k for k in keys if k in KEYWORDS)
    for name, keys in {
        "sum": ("axis", "dtype", "out", "keepdims", "initial", "where"),
        "prod": ("axis", "dtype", "keepdims", "initial", "where"),
        "max": ("axis", "out", "keepdims", "initial", "where"),
        "min": ("axis", "out", "keepdims", "initial", "where"),
        "any": ("axis", "out", "keepdims", "where"),
        "all": ("axis", "out", "keepdims", "where"),
        "mean": ("axis", "dtype", "keepdims", "where"),
        "std": ("axis", "dtype", "ddof", "keepdims", "where"),
        "var": ("axis", "dtype", "ddof", "keepdims", "where"),
        "cumsum": ("axis", "dtype", "out"),
        "cumprod": ("axis", "dtype", "out"),
        "argmax": ("axis", "keepdims"),
        "argmin": ("axis", "keepdims"),
        "round": ("decimals", "out"),
        "take": ("axis", "mode"),
        "argsort": ("axis", "kind"),
        "trace": ("offset", "dtype"),
        "diagonal": ("offset",),
        "clip": ("out",),
        "repeat": ("axis",),
    }.items()
}


def row(g):
    """A call of a row of the table."""
    path, samples = g.random.choice(ROWS)
    text = arguments(g, g.random.choice(samples).lstrip("?"), path)
    return text and f"{g.target()} = {path}({text})"


def method(g):
    """The same as a method."""
    name, role, sample = g.random.choice(METHODS)
    text = arguments(g, sample)
    if text is None:
        return None
    for key in SIGNATURES.get(name, ()):
        if g.random.random() < 0.2 and not re.search(rf"\b{key}=", text):
            text += f"{', ' if text else ''}{key}={KEYWORDS[key](g)}"
    x = array(g, role, g.random.random() < 0.5, name in SQUARE)
    return f"{g.target()} = {x}.{name}({text})"
