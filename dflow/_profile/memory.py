"""Which lines hold memory: what is noted of arrays, for as long as they live."""

import math
import os
import threading
from collections import defaultdict
from typing import NamedTuple

import numpy

from dflow import _engine
from dflow._profile.record import FREED, MADE, PROMISED, SUBMITTED, Record, Watch, leaders_of
from dflow._profile.summary import line, size_text

NOTED_BYTES = 1024          # of arrays; smaller ones are not noted
LOOK = 0.25                 # seconds, in which a thread notes fewer events, mostly, than it keeps
UNTOUCHED = 1 << 16         # arrays that were made and have no memory yet, of which the newest are known


class Block(NamedTuple):
    """Memory of an array, and of its views.

    site: file, line and function that made it, or None. shape, dtype: None where they are not known, as of arrays made
    at their call. promised: it has no memory yet, and will have.
    """

    bytes: int
    site: tuple | None
    shape: tuple | None
    dtype: numpy.dtype | None
    promised: bool


class Row(NamedTuple):
    """What is named, how many arrays it has, and their bytes; of a comparison: how many more of both."""

    name: str
    arrays: int
    bytes: int


class Snapshot:
    """Which arrays there are.

    blocks: a Block for each of a kilobyte or more that was made since track_memory(True). stats: memory_stats() of that
    moment. lost: how many events could not be kept, so that some blocks may be wrong. tracked: whether arrays were
    tracked; if not, there are no blocks.
    """

    def __init__(self, blocks, stats, lost, tracked=True):
        self.blocks, self.stats, self.lost, self.tracked = blocks, stats, lost, tracked

    def by_line(self):
        """A Row for each line that made some, that of most bytes first."""
        return self._rows(lambda block: line(block.site))

    def by_array(self):
        """The same for each dtype and shape."""
        return self._rows(lambda block: "?" if block.dtype is None else f"{block.dtype} {block.shape}")

    def compare_to(self, older):
        """Rows by line of what is there more than in an older Snapshot, or less: what has changed most first."""
        if not isinstance(older, Snapshot):
            raise TypeError(f"older must be a Snapshot, not {older!r}")
        count, nbytes = defaultdict(int), defaultdict(int)
        for sign, rows in (1, self.by_line()), (-1, older.by_line()):
            for row in rows:
                count[row.name] += sign * row.arrays
                nbytes[row.name] += sign * row.bytes
        rows = [Row(name, count[name], nbytes[name]) for name in count if count[name] or nbytes[name]]
        return sorted(rows, key=lambda row: (-abs(row.bytes), row.name))

    def _rows(self, name_of):
        count, nbytes = defaultdict(int), defaultdict(int)
        for block in self.blocks:
            name = name_of(block)
            count[name] += 1
            nbytes[name] += block.bytes
        return sorted((Row(name, count[name], nbytes[name]) for name in count), key=lambda row: (-row.bytes, row.name))

    def text(self, rows=10):
        """As memory_report() has it."""
        there = sum(block.bytes for block in self.blocks if not block.promised)
        promised = sum(block.bytes for block in self.blocks if block.promised)
        stats = self.stats
        known = (f", of which {size_text(there)} are there, and {size_text(promised)} promised to tasks, of known "
                 "lines; the rest was not touched, or made before, or is smaller than 1 KB" if self.tracked else
                 "; engine.track_memory(True), or DFLOW_TRACK_MEMORY=1, tells which lines made them")
        lines = [f"{size_text(stats['live'])} of arrays{known}",
                 f"{size_text(stats['held'])} are taken from the system, of which {size_text(stats['cached'])} are "
                 f"kept for arrays to come; {size_text(stats['peak'])} at most so far",
                 *table("by line", self.by_line(), rows), *table("by dtype and shape", self.by_array(), rows)]
        if self.lost:
            lines += ["", f"{self.lost:,} events could not be kept: some of this may be wrong"]
        return "\n".join(lines)

    __str__ = text

    def __repr__(self):
        return f"<Snapshot of {len(self.blocks):,} arrays, {size_text(sum(block.bytes for block in self.blocks))}>"


def table(title, rows, most):
    if not rows:
        return []
    lines = ["", f"{'bytes':>10} {'arrays':>8}  {title}"]
    lines += [f"{size_text(row.bytes):>10} {row.arrays:>8,}  {row.name}" for row in rows[:most]]
    rest = rows[most:]
    if rest:
        lines.append(f"{size_text(sum(row.bytes for row in rest)):>10} {sum(row.arrays for row in rest):>8,}  "
                     f"{len(rest):,} more")
    return lines


class Tracker:
    """Keeps what is noted of arrays that live: a thread of its own looks at it, before it is lost."""

    FIELDS = ["what", "task", "storage", "bytes", "site", "kernel", "ndim", "ncore", "dims"]

    def __init__(self):
        self._lock = threading.Lock()
        self._made, self._asked = {}, {}        # by storage: what a Block is made of; that, of what has no memory yet
        self._lost = 0
        self._watch = Watch()
        self._process = os.getpid()
        self._ended = threading.Event()
        threading.Thread(target=self._look_often, name="dflow memory", daemon=True).start()

    def stop(self):
        self._ended.set()
        with self._lock:
            self._watch.stop()

    def abandon(self):
        """In a child of fork(), which has no such thread."""
        self._watch.abandon()

    def snapshot(self):
        with self._lock:
            self._look()
            blocks = [block(self._record, *known, False) for known in self._made.values()]
            blocks += [block(self._record, *known, True) for storage, known in self._asked.items()
                       if storage not in self._made and known[0]]
            return Snapshot(blocks, _engine.memory_stats(), self._lost)

    def _look_often(self):
        while not self._ended.wait(LOOK):
            with self._lock:
                if not self._ended.is_set():
                    self._look()

    def _look(self):
        noted, until = self._watch.read()
        self._record = record = Record(noted, self._watch.since, until)
        self._lost += record.lost
        table = record.of(SUBMITTED, PROMISED, MADE, FREED)
        table = table[(table["bytes"] >= NOTED_BYTES) & (table["storage"] != 0)]
        leaders = numpy.where(table["what"] == SUBMITTED, leaders_of(table), 0).tolist()
        made, asked = self._made, self._asked
        for leader, (what, _, storage, nbytes, *rest) in zip(leaders, table[self.FIELDS].tolist()):
            if what == MADE:
                made[storage] = asked.pop(storage, None) or (0, nbytes, 0, 0, 0, 0, ())
            elif what == FREED:
                made.pop(storage, None)
            else:
                asked[storage] = leader, nbytes, *rest
        # What a group keeps in registers has no memory when the group has run.
        ran = set(record.ran["task"].tolist())
        self._asked = {storage: known for storage, known in asked.items() if known[0] not in ran}
        untouched = [storage for storage, known in self._asked.items() if not known[0]]
        for storage in untouched[:-UNTOUCHED]:
            del self._asked[storage]


def block(record, leader, nbytes, site, kernel, ndim, ncore, dims, promised):
    types = record.kernel(kernel)[1] if kernel else ""
    result = types.rpartition("->")[2][:1]
    dtype = numpy.dtype(result) if result else None
    shape = None if dtype is None else shape_of([int(n) for n in dims[:max(ndim, 0)]], ncore, nbytes // dtype.itemsize)
    return Block(nbytes, record.site(site) if site else None, shape, dtype if shape is not None else None, promised)


def shape_of(dims, ncore, count):
    """Of a result of so many elements, from what its operation goes over: of a product (m, n, p), of a reduction the
    inner axes too. None: it is not that of all of the array."""
    outer = dims[:len(dims) - ncore] if ncore else dims
    for shape in dims, outer, (*outer, *dims[-3:-2], *dims[-1:]), (*outer, *dims[-3:-1]):
        if math.prod(shape) == count:
            return tuple(shape)
    return None


_tracker = None
_lock = threading.Lock()


def track(on=None):
    """Whether arrays are tracked; `on`: from now on. What it was."""
    global _tracker
    with _lock:
        before = _tracker is not None
        if on is not None and bool(on) != before:
            if on:
                _tracker = Tracker()
            else:
                _tracker.stop()
                _tracker = None
        return before


def snapshot():
    with _lock:
        return Snapshot([], _engine.memory_stats(), 0, False) if _tracker is None else _tracker.snapshot()


def _forget():
    """A child of fork() tracks its own arrays from the fork on."""
    global _tracker, _lock
    _lock = threading.Lock()
    if _tracker is not None:
        _tracker.abandon()
        _tracker = Tracker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
