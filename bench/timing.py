"""Timing two or more ways of doing one thing, in alternating rounds of one process.

A machine drifts (clock frequency, other processes) by more than the differences that matter here, so nothing is
timed alone: each round runs every side once, back to back, and a ratio is the median over rounds of the ratio
within a round. A side is a statement compiled into a loop with its names as local variables, as `timeit` does, so
that Python's own share (about 10 ns an iteration) is the same for each side. Nothing is subtracted.
"""
import gc
import statistics
import textwrap
import time
from dataclasses import dataclass, field

from dflow._runtime.executor import pass_over_unseen

_LOOP = """\
def loop(_it, _clock{names}):
{before}
    _start = _clock()
    for _ in _it:
{stmt}
    _submitted = _clock()
{finish}
    return _submitted - _start, _clock() - _submitted
"""


class Side:
    """One way of doing the thing: `stmt`, `number` times, then `finish` once; `before` runs unmeasured.

    The names given as keywords are local variables of all three.
    """

    def __init__(self, stmt, finish="pass", before="pass", **names):
        source = _LOOP.format(
            names="".join(f", {name}" for name in names),
            before=textwrap.indent(before, " " * 4),
            stmt=textwrap.indent(stmt, " " * 8),
            finish=textwrap.indent(finish, " " * 4))
        scope = {}
        exec(compile(source, "<bench>", "exec"), scope)
        self._loop = scope["loop"]
        self._names = list(names.values())

    def run(self, number):
        """The seconds that `number` statements took to return, and the seconds that `finish` took after them.

        All that they do is computed, though the next turn drops its result.
        """
        collecting, passes = gc.isenabled(), pass_over_unseen(False)
        gc.disable()
        try:
            return self._loop([None] * number, time.perf_counter, *self._names)
        finally:
            pass_over_unseen(passes)
            if collecting:
                gc.enable()


@dataclass
class Timing:
    """The rounds of one side, in seconds for one statement."""

    number: int
    submits: list = field(default_factory=list)
    waits: list = field(default_factory=list)

    def add(self, submit, wait):
        self.submits.append(submit / self.number)
        self.waits.append(wait / self.number)

    @property
    def totals(self):
        return [submit + wait for submit, wait in zip(self.submits, self.waits, strict=True)]

    @property
    def submit(self):
        return statistics.median(self.submits)

    @property
    def wait(self):
        return statistics.median(self.waits)

    @property
    def total(self):
        return statistics.median(self.totals)


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles."""

    median: float
    low: float
    high: float


def spread(values):
    if len(values) < 3:
        return Spread(statistics.median(values), min(values), max(values))
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(middle, low, high)


def ratio(timing, base):
    """The spread of timing / base, taken within each round."""
    return spread([mine / other for mine, other in zip(timing.totals, base.totals, strict=True)])


def calibrate(side, seconds=0.004):
    """How many statements make a round of about `seconds`."""
    number = 1
    while True:
        took = max(sum(side.run(number)), 1e-9)
        if took >= seconds:
            return number
        # Towards the goal, but no more than tenfold at once: the first runs are slow and say little.
        number = max(number + 1, min(number * 10, round(number * 1.1 * seconds / took)))


def interleaved(sides, repeat, number, settle=0.0):
    """Runs each of `sides` (a dict of Side) once unmeasured, then in `repeat` rounds; returns a dict of Timing.

    Every second round runs in the reverse order, so that no side always follows the same one. `settle` seconds of
    sleep go before each run: OpenBLAS's threads spin for some time after their last product and would be charged
    to whoever comes next.
    """
    timings = {name: Timing(number) for name in sides}
    for side in sides.values():
        side.run(number)
    order = list(sides)
    for _ in range(repeat):
        for name in order:
            if settle:
                time.sleep(settle)
            timings[name].add(*sides[name].run(number))
        order.reverse()
    return timings
