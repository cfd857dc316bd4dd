"""Whole programs: each file of bench/programs, with NumPy and with dflow in its place."""
from statistics import geometric_mean

from . import programs
from .limits import fresh
from .registry import Row, experiment, row_of
from .timing import Timing

# Each run is a process of its own, as a user's would be: what other programs leave of an allocator's state can make the
# page faults of NumPy's temporaries come and go, and its time with them, threefold. The small size is run before.
_TIME = """
import {library}
import time
from bench import programs
program = programs.load({name!r}, {library!r})
programs.collect(program.main(program.SMALL))
start = time.perf_counter()
results = program.main(program.BENCH)
submitted = time.perf_counter()
programs.collect(results)
if {library!r} != "numpy":
    import dflow
    dflow.waitall()
print(submitted - start, time.perf_counter() - submitted)
"""

_CHECK = """
from bench import programs
theirs, ours = programs.load({name!r}), programs.load({name!r}, "dflow.numpy")
print(programs.difference(programs.collect(ours.main(ours.BENCH)), programs.collect(theirs.main(theirs.BENCH))))
"""


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
    size = programs.load(name).BENCH
    timings = {library: Timing(1) for library in ("numpy", "dflow.numpy")}
    order = list(timings)
    try:
        wrong = fresh(_CHECK.format(name=name)).strip()
        for _ in range(run.repeat(5)):
            for library in order:
                timings[library].add(*map(float, fresh(_TIME.format(name=name, library=library)).split()))
            order.reverse()
    except RuntimeError as error:
        wrong = str(error)
    if wrong:
        return Row(name, error=wrong.splitlines()[0], size=size)
    row = row_of(name, timings["dflow.numpy"], timings["numpy"], limit=1 / 0.95, size=size)
    row.note = _speed(row.measured)
    return row
