"""Which Python functions ran meanwhile: by sys.monitoring from Python 3.12 on, else by sys.setprofile."""

import os
import sys
import threading
import time

MOST = 1 << 20                      # calls that are kept: the first ones
OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Functions:
    """Calls of Python functions outside dflow, from __enter__ to __exit__, of all threads that begin meanwhile and,
    with sys.monitoring, of those that ran before."""

    def __init__(self):
        self.calls = []             # (code, thread, start, stop), in nanoseconds of time.monotonic_ns()
        self._open = threading.local()

    def __enter__(self):
        if hasattr(sys, "monitoring"):
            monitoring, kinds = sys.monitoring, sys.monitoring.events
            monitoring.use_tool_id(monitoring.PROFILER_ID, "dflow")       # ValueError: another profiler is on
            for kind, call in ((kinds.PY_START, self._start), (kinds.PY_RESUME, self._start),
                               (kinds.PY_RETURN, self._stop), (kinds.PY_YIELD, self._stop),
                               (kinds.PY_UNWIND, self._stop)):
                monitoring.register_callback(monitoring.PROFILER_ID, kind, call)
            monitoring.set_events(monitoring.PROFILER_ID, kinds.PY_START | kinds.PY_RESUME | kinds.PY_RETURN
                                  | kinds.PY_YIELD | kinds.PY_UNWIND)
        else:
            if sys.getprofile() is not None:
                raise ValueError("another profiler is on: sys.getprofile() has one")
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)
        return self

    def __exit__(self, *error):
        if hasattr(sys, "monitoring"):
            sys.monitoring.set_events(sys.monitoring.PROFILER_ID, 0)
            sys.monitoring.free_tool_id(sys.monitoring.PROFILER_ID)
        else:
            sys.setprofile(None)
            threading.setprofile(None)

    def _profile(self, frame, event, argument):
        if event == "call":
            self._start(frame.f_code)
        elif event == "return":
            self._stop(frame.f_code)

    def _start(self, code, *rest):
        if not code.co_filename.startswith(OURS):
            self._stack().append((code, time.monotonic_ns()))

    def _stop(self, code, *rest):
        stack = self._stack()
        if stack and stack[-1][0] is code:          # else it began before
            if len(self.calls) < MOST:
                self.calls.append((code, threading.get_native_id(), stack[-1][1], time.monotonic_ns()))
            stack.pop()

    def _stack(self):
        try:
            return self._open.stack
        except AttributeError:
            self._open.stack = []
            return self._open.stack

    def rows(self, since, thread_row):
        """As events of a trace, on the rows of their threads."""
        pid = os.getpid()
        for code, thread, start, stop in self.calls:
            yield {"ph": "X", "name": code.co_qualname if hasattr(code, "co_qualname") else code.co_name,
                   "cat": "python", "ts": (start - since) / 1e3, "dur": (stop - start) / 1e3, "pid": pid,
                   "tid": thread_row(thread), "args": {"line": f"{code.co_filename}:{code.co_firstlineno}"}}
