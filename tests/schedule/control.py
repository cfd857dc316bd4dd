"""What preload.c offers and tells: how a run ended, and its last points, in memory shared with the process that ran."""

import ctypes
import mmap
import os
import re

MAX_THREADS = 512
POINTS = ("read", "write", "change", "fence", "pause", "lock", "unlock", "call", "wait", "wake", "sleep", "switch to",
          "signal", "jump", "STALL", "stale")
STATES = ("runnable", "blocked", "done")
NEVER = 2 ** 63 - 1
RUNNING, DEADLOCK, ENDLESS, ENDED = range(4)

_library = ctypes.PyDLL(None)      # the calls keep the GIL: whoever had it after the end would never run again
_memory = os.open("/proc/self/mem", os.O_RDONLY)

results = mmap.mmap(-1, 4096)           # shared: of a program that ends its process
# It is never ended: that gives the GIL away, and at a process's end CPython 3.11 has daemon threads that take it then
# read the interpreter's state, which is gone.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(results))


class At(ctypes.Structure):
    _fields_ = [("state", ctypes.c_int32), ("kind", ctypes.c_int32), ("where", ctypes.c_void_p),
                ("on", ctypes.c_void_p), ("until", ctypes.c_int64)]


class Event(ctypes.Structure):
    _fields_ = [("step", ctypes.c_uint32), ("thread", ctypes.c_uint16), ("kind", ctypes.c_uint16),
                ("where", ctypes.c_void_p), ("p", ctypes.c_void_p)]


class Report(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_uint64)
                  for name in ("hash", "steps", "switches", "jumps", "stalls", "stale", "signals")),
                ("now", ctypes.c_int64),
                *((name, ctypes.c_int32) for name in ("state", "threads", "pct", "weak", "period", "tick")),
                ("size", ctypes.c_uint64), ("events", ctypes.c_uint64), ("at", At * MAX_THREADS)]

    def clear(self):
        size = self.size
        ctypes.memset(ctypes.addressof(self), 0, ctypes.sizeof(self))
        self.size = size

    def describe(self):
        """The run in a line."""
        policy = "PCT" if self.pct else "walk"
        return (f"{policy}, a change about every {self.period} points of {self.tick} ns"
                f"{', stale loads' * bool(self.weak)}: {self.steps} points, {self.switches} switches, "
                f"{self.jumps} jumps, {self.stale} stale, {self.stalls} stalls, hash {self.hash:016x}")

    def where_threads_are(self):
        """Each thread's last point, as lines: of a deadlock, or of the first stall."""
        for i, at in enumerate(self.at[:self.threads]):
            if at.state < 2:
                until = "" if at.until == NEVER else f", until {at.until}"
                yield f"  thread {i} {STATES[at.state]} in {name(at.where)}, on {at.on or 0:#x}{until}"

    def trace(self, last):
        """The last points, as lines."""
        ring = (Event * self.size).from_address(ctypes.addressof(self) + ctypes.sizeof(Report))
        for i in range(max(self.events - min(last, self.size), 0), self.events):
            event = ring[i % self.size]
            yield f"  {event.step:7} {event.thread:3} {POINTS[event.kind]:9} {name(event.where)} {event.p or 0:x}"


def name(where):
    """The function of a point. Cython's have lengths between their parts."""
    try:
        text = os.pread(_memory, 100, where or 0).partition(b"\0")[0].decode()
    except OSError:                     # of a module that only the run has loaded
        return "?"
    return re.sub(r"^__pyx_\w+?_5dflow_\d+_", "", text)


def shared_report(size):
    """A report with a ring of so many points, in memory that forked processes share."""
    memory = mmap.mmap(-1, ctypes.sizeof(Report) + size * ctypes.sizeof(Event))
    report = Report.from_buffer(memory)
    report.size = size
    return report


def begin(seed, policy, report, of_forks):
    """From here on the seed decides. The process has one thread."""
    for memory in report, of_forks:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))        # points come until the very end of the process
    _library.schedule_begin(ctypes.c_uint64(seed), policy, ctypes.byref(report), ctypes.byref(of_forks))


def end():
    _library.schedule_end()


def signals(number, times, points):
    """Raise a signal so often from now on, about every so many points."""
    _library.schedule_signals(number, ctypes.c_uint64(times), ctypes.c_uint64(points))
