"""The whole namespace beside NumPy's, from 1 to 10^7 elements, worst first: what a call costs, and what the work."""
import re
import warnings
from functools import cache

import numpy

from . import counting
from .registry import Row, experiment, on_both, row_of
from .statements import MOST, OTHERS, statements, values
from .timing import Side, calibrate, interleaved

SIZES = tuple(10 ** power for power in range(8))
LIMIT = 1.1             # of NumPy's time, for what programs use most
SECONDS = 0.15          # about, for one statement at one size
SETTLE = 0.0005         # NumPy's BLAS threads still spin after their last product, on a core that dflow would use

TABLE = dict(statements(OTHERS)) | dict(statements(MOST))
FREQUENT = frozenset(dict(statements(MOST)))


def name_of(stmt):
    """What --only calls a statement: linalg.inv, rng.choice, sum (of x.sum() too); or operators."""
    called = re.match(r"(?:bool\(|float\(|len\()?(?:np\.)?((?:rng\.|[a-z]+\.)*\w+)\(", stmt)
    return re.sub(r"^[a-z]\d?\.", "", called[1]) if called else "operators"


@cache
def _names(size):
    """For NumPy and for dflow; a generator too, as to make one takes long."""
    both = on_both(**values(size))
    for names in both:
        names["rng"] = names["np"].random.default_rng(0)
    return both


def sides_of(stmt, size, wait=False):
    """The statement over that many elements, for NumPy and for dflow. wait: for each one's results."""
    theirs, ours = _names(int(size))
    if wait:
        theirs, stmt = theirs | {"waitall": ours["waitall"]}, f"{stmt}\nwaitall()"       # for NumPy, too, for its time
    return {"numpy": Side(stmt, **theirs), "dflow": Side(stmt, "waitall()", **ours)}


@experiment("namespace", "NumPy's functions and methods, worst first; --quick: the most used, at three sizes",
            limit="1.1 x NumPy, for the most used", sizes=SIZES, size_is="elements",
            parts=sorted({name_of(stmt) for stmt in TABLE}))
def namespace(run):
    chosen = [stmt for stmt in TABLE if (name_of(stmt) in run.only if run.only else stmt in FREQUENT or not run.quick)]
    sizes = (1, 1000, 100_000) if run.quick and run.sizes == SIZES else run.sizes
    rows = []
    for size in sizes:
        usable = [stmt for stmt in chosen if size <= TABLE[stmt]]
        rows += _counted(usable, size) if run.instructions else (_timed(run, stmt, size) for stmt in usable)
        _names.cache_clear()
    yield from sorted(filter(None, rows), key=lambda row: -(row.measured or numpy.inf))


def _timed(run, stmt, size):
    """Its row: one with the error if only dflow fails, none if NumPy does."""
    label, sides = f"{stmt}, {size:,}", sides_of(stmt, size, run.wait)
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            number = calibrate(sides["numpy"], 0.002)
        except Exception:
            return None
        try:
            took = max(sum(side.run(number)) for side in sides.values())
            repeat = run.repeat(max(3, min(9, round(SECONDS / (2 * took)))))
            timings = interleaved(sides, repeat, number, settle=SETTLE if size >= 10 ** 5 else 0)
        except Exception as error:
            return Row(label, error=f"{type(error).__name__}: {error}".splitlines()[0], size=size)
    return row_of(label, timings["dflow"], timings["numpy"], limit=LIMIT if stmt in FREQUENT else None, size=size)


def _counted(chosen, size):
    counts = counting.count(chosen, "namespace:sides_of", size)
    for stmt in chosen:
        mine, base = (counts.get((name, stmt)) for name in ("dflow", "numpy"))
        if mine is not None and base:
            yield Row(f"{stmt}, {size:,}", mine / base, limit=LIMIT if stmt in FREQUENT else None, size=size,
                      note=f"{base:,.0f} and {mine:,.0f} instructions")
