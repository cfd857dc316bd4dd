"""Making a find smaller: fewer statements, plainer expressions, smaller arrays, the engine as it is by default."""

import ast
import functools
import math
import re
import time
from dataclasses import fields, replace

import numpy

from tests.fuzz import programs, running

SIZES = re.compile(r"numpy\.arange\(\d+\)(?P<rest>[^\n]*?)\.reshape\(\((?P<shape>[\d, ]*)\)\)")
ERRORS = re.compile(r"^\d+: dflow: (\w+ ?error).*, NumPy: (\w+ ?error)", re.IGNORECASE | re.DOTALL)
ALIAS = re.compile(r"(v\d+) = (v\d+)")
NUMBER = re.compile(r"(?<![\w.'])\d+(?![\w.'])")


def kind_of(line):
    """What sort of difference a line tells of, so that a smaller program shows the same one."""
    errors = ERRORS.search(line)
    if errors:
        return f"{errors[1]}, not {errors[2]}"
    for sort in ("crash", "with other settings", "flags.writeable", "dflow has no", "reading", "nobody saw"):
        if sort in line:
            return sort
    return "value"


def differs(program, errors=None, times=2):
    """What differs when the program runs alone, tried some times, as it may depend on timing; or None.

    errors: how many statements NumPy may refuse.
    """
    numpys = running.reference(program)
    if numpys is None or errors is not None and sum(error is not None for error, _ in numpys.errors) > errors:
        return None
    for _ in range(times):
        line = running.different(program, numpys)
        if line:
            return line
    return None


def shrink(program, find=differs, seconds=20):
    """(A smaller program that differs in the same way, what differs)."""
    line = find(program)
    if line is None:
        return program, None
    if find is differs:
        allowed = sum(error is not None for error, _ in running.reference(program).errors)
        find = functools.partial(differs, errors=allowed)
    sort, until = kind_of(line), time.monotonic() + seconds
    changed = True
    while changed:
        changed = False
        for step in (fewer, settings, plainer, smaller):
            for candidate in step(program):
                if time.monotonic() > until:
                    return program, line
                try:
                    found = find(candidate)
                except SyntaxError:
                    continue
                if found and kind_of(found) == sort:
                    program, line, changed = candidate, found, True
                    break
            if changed:
                break
    return program, line


def fewer(program):
    n = len(program.statements)
    for size in (n // 2, n // 4, 1):
        for start in range(n - size, -1, -max(size, 1)) if size else ():
            yield replace(program, statements=program.statements[:start] + program.statements[start + size :])


def settings(program):
    default = programs.Settings()
    for field in fields(default):
        if getattr(program.settings, field.name) != getattr(default, field.name):
            yield replace(program, settings=replace(program.settings, **{field.name: getattr(default, field.name)}))
    for pair in program.settings.thresholds:
        rest = tuple(other for other in program.settings.thresholds if other != pair)
        yield replace(program, settings=replace(program.settings, thresholds=rest))


def plainer(program):
    """Statements whose expressions are parts of what they were, or the value itself."""
    numpys = running.reference(program)
    if numpys is None:
        return
    for position, statement in reversed(list(enumerate(program.statements))):
        target = programs.ASSIGNED.match(statement)
        alias = ALIAS.fullmatch(statement)
        if alias:
            rest = (re.sub(rf"\b{alias[1]}\b", alias[2], text) for text in program.without(position).statements)
            yield replace(program, statements=tuple(rest))
        if "= hold(" in statement:
            yield program.instead(position, re.sub(r"hold\((\w+)\)", r"\1", statement))
        value = numpys.variables.get(target[1]) if target else None
        if isinstance(value, numpy.ndarray) and value.dtype.char not in "gG":
            for text in (
                f"np.zeros({value.shape}, '{value.dtype.char}')",
                f"np.ones({value.shape}, '{value.dtype.char}')",
                f"np.array({' '.join(repr(value.tolist()).split())}, '{value.dtype.char}')",
            ):
                new = f"{target[1]} = {text}"
                if (
                    len(new) < len(statement)
                    and value.size < 40
                    or "np.array" not in text
                    and len(new) < len(statement)
                ):
                    yield program.instead(position, new)
        for text in parts(statement):
            yield program.instead(position, text)


def parts(statement):
    """Statements with one expression replaced by a part of it, one argument left out, or one constant simpler."""
    try:
        tree = ast.parse(statement)
    except SyntaxError:
        return
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.expr, ast.Call))]
    for node in nodes:
        for new in instead(node):
            text = ast.unparse(_Replaced(node, new).visit(ast.parse(statement)))
            if text != statement and len(text) <= len(statement):
                yield text


def instead(node):
    """What a node may be replaced by."""
    if isinstance(node, ast.Call):
        yield from node.args
        if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
            yield node.func.value
        for i in range(len(node.keywords)):
            yield ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1 :])
        for i in range(len(node.args)):
            if len(node.args) > 1:
                yield ast.Call(node.func, node.args[:i] + node.args[i + 1 :], node.keywords)
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Compare):
        yield node.left
    elif isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 1:
        for i in range(len(node.elts)):
            yield type(node)(node.elts[:i] + node.elts[i + 1 :], node.ctx)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value not in (0, 1):
        yield ast.Constant(0)
        yield ast.Constant(1)


class _Replaced(ast.NodeTransformer):
    """A tree in which the node at one place is another one."""

    def __init__(self, node, new):
        self.place = type(node), node.lineno, node.col_offset, node.end_col_offset
        self.new = new

    def generic_visit(self, node):
        node = super().generic_visit(node)
        if isinstance(node, ast.expr) and getattr(node, "lineno", None) is not None:
            if (type(node), node.lineno, node.col_offset, node.end_col_offset) == self.place:
                return self.new
        return node


def smaller(program):
    """The same with a number that is a length, everywhere, smaller."""
    text = "\n".join(program.statements)
    for n in sorted({int(x) for x in NUMBER.findall(text) if int(x) > 1}, reverse=True):
        for less in sorted({1, 2, n // 2, n - n // 4, n - 1}):
            if less < n:
                new = re.sub(rf"(?<![\w.']){n}(?![\w.'])", str(less), text)
                yield replace(program, statements=tuple(SIZES.sub(_fitted, new).split("\n")))


def _fitted(match):
    shape = [int(n) for n in match["shape"].replace(" ", "").split(",") if n]
    return f"numpy.arange({math.prod(shape)}){match['rest']}.reshape(({match['shape']}))"


def script(program, line):
    """A find as a program that runs by itself."""
    s, default = program.settings, programs.Settings()
    lines = [
        f"# python -m tests.fuzz --seed {program.seed}",
        "import time",
        "import dflow, numpy",
        "from numpy import inf, nan",
        "import dflow.numpy as np             # or: import numpy as np; hold = numpy.copy",
        "numpy.seterr(all='ignore')",
    ]
    if s.workers != default.workers:
        lines.append(f"dflow.engine.set_num_workers({s.workers})")
    for name in ("bulk", "inline_limit", "naive"):
        if getattr(s, name) != getattr(default, name):
            lines.append(f"dflow.engine.{name}({getattr(s, name)})")
    if s.thresholds:
        lines.append(f"from tests.fuzz.running import set_thresholds; set_thresholds({dict(s.thresholds)})")
    if any("hold(" in statement for statement in program.statements):
        lines.append(
            f"hold = lambda x: dflow.engine.sleep(x, {s.seconds})"
            if s.hold != "submit"
            else f"later = lambda x: (time.sleep({s.seconds}), x)[1]\n"
            "hold = lambda x: dflow.submit(later, x, shape=x.shape, dtype=x.dtype)"
        )
    at, _, rest = line.partition(": ")
    for i, statement in enumerate(program.statements):
        lines.append(statement + (f"     # {rest}" if str(i) == at else ""))
    if not at.isdigit() or int(at) >= len(program.statements):
        lines.append(f"# {rest}")
    names = sorted({programs.ASSIGNED.match(text)[1] for text in program.statements if programs.ASSIGNED.match(text)})
    lines.append(f"print({', '.join(names[-3:])})")
    return "\n".join(lines)
