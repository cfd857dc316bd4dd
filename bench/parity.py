"""Random programs (bench/grammar.py) with NumPy and with dflow: never slower is a claim about what nobody listed.

    python -m bench parity                              the corpus: a thousand seeds, a line a class
    python -m bench parity --seed 5000 --seconds 600    others, for as long; what is slower is made smaller, and told
    python -m bench parity --instructions               of those on few elements, nearly the same on a busy machine

A program counts as slower where a process of its own says so, too. Every tenth is measured with NumPy on both sides as
well: what share of these is within 1.05 is what the measurement, and the machine, can tell. Instructions are those of
the calling thread: what workers do, and caches, is not in them.
"""
import ast
import re
import time
import warnings
from dataclasses import replace

import numpy

import dflow

from . import counting, grammar
from .grammar import NUMPYS, program, solid_of, values
from .limits import fresh
from .registry import Row, experiment, on_both
from .timing import Side, calibrate, interleaved, ratio

CORPUS = 1000
SLOWER = 1.25               # of NumPy's time, from which a program is a find
EQUAL = 1.05
ROUND = 0.001               # seconds of NumPy's, about, for a round
ROUNDS = 7
MOST_SECONDS = 1.0          # of one run of a program: longer ones are left out
TRIES = 60                  # at making a find smaller
MOST_FINDS = 20             # that are told, of the worst
FEW = 1000                  # elements up to which instructions are counted
NOISE = 10                  # programs, of which one is measured with NumPy on both sides, too

_CONFIRM = """
from bench import parity
from bench.grammar import Program
print(parity.measure({program!r}, {rounds})[0])
"""


def see(result):
    """What a program reads of its result: a number of it."""
    return result.item(0) if getattr(result, "size", 0) and hasattr(result, "item") else result


def written(statement):
    """The name that a program writes last, or reads first."""
    last = re.search(r"\b[vwxyABCTUhtNQ]\b", statement)[0]
    for node in ast.walk(ast.parse(statement)):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets if not isinstance(node, ast.For) else ():
            while isinstance(target, ast.Subscript | ast.Attribute):
                target = target.value
            if isinstance(target, ast.Name):
                last = target.id
    return last


def names_of(p):
    """The names of a program, for NumPy and for dflow, each with arrays of its own."""
    theirs, ours = on_both(**values(p), see=see)
    return theirs, ours | {name: theirs[name].copy() for name in NUMPYS if name in theirs}


def sides_of(p, alike=False):
    """The program for NumPy and for dflow; alike: for NumPy twice."""
    theirs, ours = names_of(p)
    text = f"{p.statement}\nsee({written(p.statement)})" if p.reads else p.statement
    if alike:
        return {"numpy": Side(text, **theirs), "dflow": Side(text, "waitall()", **on_both(**values(p), see=see)[0],
                                                             waitall=dflow.waitall)}
    return {"numpy": Side(text, **theirs), "dflow": Side(text, "waitall()", **ours)}


def sides_of_seed(seed):
    return sides_of(program(int(seed)))


def measure(p, rounds=ROUNDS, alike=False):
    """The ratio to NumPy's time and both Timings; None where NumPy does not run it so often, or takes too long."""
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sides = sides_of(p, alike)
            if sum(sides["numpy"].run(1)) > MOST_SECONDS:
                return None
            number = calibrate(sides["numpy"], ROUND)
        except Exception:
            return None
        try:
            timings = interleaved(sides, rounds, number)
        except OverflowError:               # what grows each time
            return None
    return ratio(timings["dflow"], timings["numpy"]).median, timings


def confirmed(p):
    """The same ratio in a process of its own; None where it fails there."""
    try:
        return float(fresh(_CONFIRM.format(program=p, rounds=3 * ROUNDS)))
    except (RuntimeError, ValueError):
        return None


# ---- smaller ---------------------------------------------------------------------------------------------------------

def smaller(p):
    """Programs with less in them: fewer elements, a statement less, an operand in place of an operation."""
    if p.size >= 40:
        size = p.size // 10
        rows = max(min(p.shape[0], size), 1)
        yield replace(p, size=size, shape=(rows, max(size // rows, 1)), solid=solid_of(size))
    if p.reads:
        yield replace(p, reads=False)
    for target in ast.walk(ast.parse(p.statement)):
        parts = ((target.left, target.right) if isinstance(target, ast.BinOp) else (target.operand,)
                 if isinstance(target, ast.UnaryOp) else target.args if isinstance(target, ast.Call) else
                 (None,) if isinstance(target, ast.stmt) else ())
        for part in parts:
            tree = _Put(target, part).visit(ast.parse(p.statement))
            try:
                yield replace(p, statement=ast.unparse(tree))
            except ValueError:                  # a loop without a body
                continue


class _Put(ast.NodeTransformer):
    """One node of a tree in place of another, found by where it stands."""

    def __init__(self, old, new):
        self.old, self.new = _place(old), new

    def visit(self, node):
        return self.new if _place(node) == self.old else self.generic_visit(node)


def _place(node):
    return type(node), *(getattr(node, name, None) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))


def shrink(p):
    """The smallest program found that is still slower."""
    tries = 0
    found = True
    while found:
        found = False
        for candidate in smaller(p):
            tries += 1
            if tries > TRIES:
                return p
            try:
                measured = measure(candidate)
            except Exception:
                continue
            if measured is not None and measured[0] > SLOWER:
                p, found = candidate, True
                break
    return p


# ---- the experiment --------------------------------------------------------------------------------------------------

@experiment("parity", "random statements and short programs: the share within 1.05 of NumPy's time, a line a class",
            limit="1.25 x NumPy each", parts=tuple(grammar.CLASSES))
def parity(run):
    if run.instructions:
        yield from _counted(run)
        return
    start, searching = time.perf_counter(), run.seconds is not None or run.seed is not None
    seed, end = run.seed or 0, None if run.seconds else (run.seed or 0) + CORPUS
    results, noise = {}, []
    while seed != end and (end is not None or time.perf_counter() - start < run.seconds):
        p = program(seed)
        seed += 1
        if run.only and p.kind not in run.only:
            continue
        try:
            measured = measure(p)
        except Exception as error:
            yield Row(str(p), error=f"{type(error).__name__}: {error}".splitlines()[0], size=p.size)
            continue
        if measured is not None:
            results.setdefault(p.kind, []).append((measured[0], p))
            if p.seed % NOISE == 0 and (alike := measure(p, alike=True)):
                noise.append((alike[0], p))
    yield from _by_class(results)
    if noise:
        yield _class("NumPy beside itself", noise)
    if searching:
        yield from _finds(sorted((one for some in results.values() for one in some), key=lambda one: -one[0]))


def _counted(run):
    """The same of instructions; then the worst."""
    chosen = map(program, range(run.seed or 0, (run.seed or 0) + CORPUS))
    programs = {str(p.seed): p for p in chosen if p.size <= FEW and (not run.only or p.kind in run.only)}
    counts = counting.count(programs, "parity:sides_of_seed", calls=20)
    results = {}
    for seed, p in programs.items():
        mine, base = (counts.get((side, seed)) for side in ("dflow", "numpy"))
        if mine is not None and base is not None:
            results.setdefault(p.kind, []).append((mine / base, p))
    yield from _by_class(results)
    for measured, p in sorted((one for some in results.values() for one in some), key=lambda one: -one[0])[:MOST_FINDS]:
        yield Row(f"{p.kind}, seed {p.seed}", measured, limit=SLOWER, size=p.size,
                  note=f"{p}: {counts['numpy', str(p.seed)]:,.0f} instructions, NumPy's")


def _by_class(results):
    for kind in grammar.CLASSES:
        if kind in results:
            yield _class(kind, results[kind])
    everything = [one for some in results.values() for one in some]
    if everything:
        yield _class("all", everything)


def _class(kind, some):
    ratios = sorted(measured for measured, _ in some)
    equal, near = (sum(r <= most for r in ratios) / len(ratios) for most in (EQUAL, SLOWER))
    worst = max(some, key=lambda one: one[0])
    note = f"{equal:.1%} within {EQUAL}, {near:.1%} within {SLOWER}; worst {worst[0]:.2f}: seed {worst[1].seed}"
    return Row(f"{kind}: {len(ratios)} programs", ratios[len(ratios) // 2], low=ratios[len(ratios) // 4],
               high=ratios[3 * len(ratios) // 4], note=note)


def _finds(worst):
    """Rows of the worst programs that are slower in a process of their own, too, made smaller; how dflow ran them."""
    told = 0
    for measured, p in worst:
        if measured <= SLOWER or told == MOST_FINDS:
            return
        again = confirmed(p)
        if again is None or again <= SLOWER:
            continue
        told += 1
        small = shrink(p)
        again, timings = measure(small, 3 * ROUNDS)
        before = dflow.engine.statistics()
        sides_of(small)["dflow"].run(1)
        after = dflow.engine.statistics()
        how = ", ".join(f"{after[name] - before[name]} {name}" for name in ("inline", "queued", "groups", "waits")
                        if after[name] != before[name])
        yield Row(f"{small.kind}, seed {small.seed}", again, limit=SLOWER, base=timings["numpy"].total,
                  dflow=timings["dflow"].total, submit=timings["dflow"].submit, wait=timings["dflow"].wait,
                  size=small.size, note=f"{small}: {how}")
