"""What is noted over a longer time, which may be paused, in pieces: totals of it, and a trace that grows."""

import os
import threading
from collections import deque

import numpy

from dflow import _engine
from dflow._profile import trace
from dflow._profile.record import FREED, MADE, NONE, Record, Watch
from dflow._profile.totals import MEMORY
from dflow._runtime import events

KEPT = 1 << 19              # events of a trace that is not yet written: the newest
OWN = 1 << 18               # of a program's own: spans, counters, marks; likewise

# What a session may be about: events of traces, by their category or, of counters, their name.
OPERATIONS, USE, WAITS = "operations", "memory", "waits"
KINDS = {"task": OPERATIONS, "part": OPERATIONS, "dependency": OPERATIONS, "pending tasks": OPERATIONS,
         "copy": OPERATIONS, "steal": OPERATIONS, "memory": USE, "wait": WAITS, "wake": WAITS}


class Session:
    """It begins with its first start(), and may go on after stop().

    kinds: what it is about. totals: a Totals, or None. Not for several threads at a time: who has it has a lock.
    """

    def __init__(self, kinds, totals):
        self.kinds, self.totals = kinds, totals
        self._watch = self._since = None
        self._began = self._level = self._spans = self._arrows = self._lost = self._size = 0
        self._pending = NONE
        self._pieces = deque()      # arguments of Records
        self._own = deque()

    @property
    def running(self):
        return self._watch is not None

    def start(self):
        if self._watch is None:
            self._level = _engine.memory_stats()["live"]
            self._watch = Watch()
            self._began = self._watch.since
            self._since = self._began if self._since is None else self._since

    def stop(self):
        if self._watch is not None:
            watch, self._watch = self._watch, None
            self._take(*watch.stop())

    def abandon(self):
        """In a child of fork(): what was noted is the parent's."""
        if self._watch is not None:
            self._watch.abandon()

    def collect(self):
        """What was noted since the last time, before anything of it is lost."""
        if self._watch is not None:
            self._take(*self._watch.read())

    def write(self, file):
        """Append what is new to a trace, a File."""
        self.collect()
        file.append(self._events(), self._lost + sum(lost for piece in self._pieces for _, lost in piece[0]))
        self._lost = self._size = 0
        self._pieces.clear()
        self._own.clear()

    # ---- what the program itself tells ----------------------------------------------------------------------------

    def span(self, category, name, start, stop):
        """Something that took a while; times as events.now() has them. What was before the session is none of it."""
        if self._watch is not None:
            start = max(start, self._since)
            if self.totals is not None:
                self.totals.add_one(category, name, (stop - start) / 1e6)
            self._spans += 1
            where = self._where(category, name)
            self._keep({"ph": "b", "ts": self._time(start), "id": self._spans, **where},
                       {"ph": "e", "ts": self._time(stop), "id": self._spans, **where})

    def count(self, category, name, value):
        """A counter has another value."""
        if self._watch is not None:
            if self.totals is not None:
                self.totals.count(category, name, value)
            now = self._time(events.now())
            self._keep({"ph": "C", "ts": now, "args": {name: value}, **self._where(category, name)})

    def mark(self, category, name, scope):
        """A moment; scope: "g", "p" or "t", the trace, the process, the thread."""
        if self._watch is not None:
            if self.totals is not None:
                self.totals.category(category)
            self._keep({"ph": "i", "ts": self._time(events.now()), "s": scope, **self._where(category, name)})

    def _time(self, when):
        return (when - self._since) / 1e3

    def _where(self, category, name):
        return {"cat": category, "name": name, "pid": os.getpid(), "tid": trace.thread_row(threading.get_native_id())}

    def _keep(self, *made):
        self._own.append(made)
        if len(self._own) > OWN:
            self._own.popleft()
            self._lost += 1

    # ---- what was noted --------------------------------------------------------------------------------------------

    def _take(self, noted, until):
        piece = noted, self._since, until, self._began, self._pending
        record = Record(*piece)
        self._pending = record.left()
        if self.totals is not None:
            self._add(record)
        self._pieces.append(piece)
        self._size += len(noted[0][0])
        while self._size > KEPT and len(self._pieces) > 1:
            gone = self._pieces.popleft()[0]
            self._size -= len(gone[0][0])
            self._lost += len(gone[0][0]) + gone[0][1]

    def _add(self, record):
        """To the totals."""
        kernels, seconds = record.durations()
        if OPERATIONS in self.kinds and len(kernels):
            addresses, inverse = numpy.unique(kernels, return_inverse=True)
            order = numpy.argsort(inverse, kind="stable")
            ends = numpy.cumsum(numpy.bincount(inverse, minlength=len(addresses)))
            for address, some in zip(addresses, numpy.split(seconds[order], ends[:-1]), strict=True):
                self.totals.add("operator", record.kernel(address)[0] or "part of a task", some * 1e3)
        if WAITS in self.kinds:
            waits = record.waited
            for name, some in ("wait for all", waits[waits["task"] == 0]), ("wait to read", waits[waits["task"] != 0]):
                self.totals.add("API", name, (some["stop"] - some["start"]) / 1e6)
        if USE in self.kinds:
            changes = record.of(MADE, FREED)
            levels = self._level + numpy.cumsum(numpy.where(changes["what"] == MADE, 1, -1) * changes["bytes"])
            self.totals.add(MEMORY, "Memory: cpu/0", levels.clip(0) / 1e3)
            self._level = levels[-1] if len(levels) else self._level

    def _events(self):
        for piece in self._pieces:
            for event in trace.events(Record(*piece), self._arrows):
                self._arrows += event["ph"] == "s"
                if event["ph"] == "M" or KINDS[event.get("cat", event["name"])] in self.kinds:
                    yield event
        for made in self._own:
            yield from made
