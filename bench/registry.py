"""Experiments, the rows they give, and what a running experiment is handed.

An experiment is one generator function that takes a `Run` and yields `Row`s, under the decorator `experiment`.
"""
from dataclasses import dataclass, field

import numpy

import dflow
import dflow.numpy

from .timing import Side, calibrate, interleaved, ratio

EXPERIMENTS = {}


@dataclass(frozen=True)
class Experiment:
    name: str
    about: str
    limit: str
    sizes: tuple
    size_is: str
    measure: object
    parts: tuple = ()
    beside: tuple = ()


@dataclass
class Beside:
    """What one column of a row says about another way than NumPy: its name and its seconds, and dflow's ratio to it."""

    column: str
    name: str
    base: float
    measured: float
    limit: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self):
        return _verdict(self)


def _verdict(one):
    if one.limit is None:
        return ""
    return "ok" if one.measured <= one.limit else "over"


@dataclass
class Row:
    """One line of the table. Times are in seconds for one statement, `measured` and `limit` in `unit`."""

    label: str
    measured: float | None = None
    unit: str = "x"
    limit: float | None = None
    base: float | None = None
    dflow: float | None = None
    submit: float | None = None
    wait: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    experiment: str = ""
    size: int | None = None
    error: str = ""
    beside: list = field(default_factory=list)
    events: list = field(default_factory=list)      # what ran on which lane in one run, for its picture

    @property
    def verdict(self):
        return "ERROR" if self.error else _verdict(self)


def experiment(name, about, limit="", sizes=(), size_is="", parts=(), beside=()):
    """Registers the function under `name`. `limit` and `size_is` are words for --list, `sizes` the default sizes.

    `parts` are names among which --only chooses, `beside` the columns in which its rows have something `Beside`.
    """
    def register(measure):
        EXPERIMENTS[name] = Experiment(name, about, limit, tuple(sizes), size_is, measure, tuple(parts), tuple(beside))
        return measure
    return register


def on_both(**values):
    """The names of a statement, for NumPy and for dflow: `np` is each one's module; dflow gets its own arrays."""
    theirs = {"np": numpy, **values}
    ours = {"np": dflow.numpy, "waitall": dflow.waitall}
    for name, value in values.items():
        ours[name] = dflow.numpy.array(value) if isinstance(value, numpy.ndarray) else value
    return theirs, ours


def row_of(label, timing, base, **more):
    """A row for the ratio of one side's Timing to another's."""
    measured = ratio(timing, base)
    return Row(label, measured.median, low=measured.low, high=measured.high, base=base.total, dflow=timing.total,
               submit=timing.submit, wait=timing.wait, **more)


class Run:
    """What an experiment is handed: its sizes, its parts if not all, how often to repeat, whether to measure long.

    `quick`: only what matters most, of the namespace; `instructions`: counted instead of seconds, there and by parity.
    `seed`, `seconds`: the first of random programs, and for how long; None: as they are. For parity.
    `wait`: for each result, of the namespace.
    """

    def __init__(self, sizes=(), repeat=None, full=False, only=(), quick=False, instructions=False, seed=None,
                 seconds=None, wait=False):
        self.sizes = sizes
        self.only = only
        self.full = full
        self.quick = quick
        self.instructions = instructions
        self.seed = seed
        self.seconds = seconds
        self.wait = wait
        self._repeat = repeat

    def repeat(self, default):
        return self._repeat or default

    def against_numpy(self, label, stmt, values, *, finish="waitall()", before="pass", limit=None, number=None,
                      repeat=25, settle=0.0, **more):
        """The row of one statement run on both, `finish` (dflow's side only) included in its time."""
        theirs, ours = on_both(**values)
        sides = {"numpy": Side(stmt, before=before, **theirs), "dflow": Side(stmt, finish, before, **ours)}
        number = number or calibrate(sides["numpy"])
        timings = interleaved(sides, self.repeat(repeat), number, settle)
        return row_of(label, timings["dflow"], timings["numpy"], limit=limit, **more)
