"""Whole programs: each file of bench/programs, with NumPy and with dflow in its place."""
from statistics import geometric_mean

import dflow

from . import programs
from .registry import Row, experiment, row_of
from .seed import SETTLE
from .timing import Side, interleaved


@experiment("programs", "whole programs (bench/programs), unmodified but for the import; the worst first",
            limit="1 / 0.95 x NumPy each, 0.5 in the geometric mean", parts=programs.NAMES)
def whole(run):
    rows = [_measure(run, name) for name in run.only or programs.NAMES]
    rows.sort(key=lambda row: (not row.error, -(row.measured or 0)))
    yield from rows
    ratios = [row.measured for row in rows if not row.error]
    if ratios:
        yield Row(f"geometric mean of {len(ratios)} programs", geometric_mean(ratios), limit=0.5,
                  note=_speed(geometric_mean(ratios)))


def _speed(ratio):
    return f"{1 / ratio:.2f} x as fast"


def _measure(run, name):
    """The row of one program. Its time ends when all that it returned is there, as NumPy's arrays."""
    theirs, ours = programs.load(name), programs.load(name, "dflow.numpy")
    size = theirs.BENCH
    try:
        wrong = programs.difference(programs.collect(ours.main(size)), programs.collect(theirs.main(size)))
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    if wrong:
        return Row(name, error=wrong.splitlines()[0], size=size)
    stmt = "collect(main(size))"
    names = {"collect": programs.collect, "size": size}
    sides = {"numpy": Side(stmt, main=theirs.main, **names),
             "dflow": Side(stmt, "waitall()", main=ours.main, waitall=dflow.waitall, **names)}
    timings = interleaved(sides, run.repeat(3), 1, SETTLE)
    row = row_of(name, timings["dflow"], timings["numpy"], limit=1 / 0.95, size=size)
    row.note = _speed(row.measured)
    return row
