"""What ran where, and when: a list."""

from typing import NamedTuple

from dflow import _engine
from dflow._profile import record as _record
from dflow._runtime import errors, events
from dflow._runtime.queues import lane_name


class Event(NamedTuple):
    """What a thread did for a while, in seconds since the timeline began.

    Examples
    --------
    >>> engine.Event("cpu(0)", 1, "matmul", 0.25, 0.5).name
    'matmul'
    """

    lane: str               # "cpu(0)"; "to cpu(1)": of copies
    worker: int             # from 1 on; 0: a thread that waited
    name: str               # of the operation; of a group: its first, and how many more there are
    start: float
    stop: float


class Timeline(list):
    """A list of an Event for each task that ran, and each part of one that was split. Filled at the end of its `with`.

    engine.timeline() and engine.profile() make it, and say what the parameters mean. `record`: all that was noted, or
    None before the end.

    Examples
    --------
    >>> with engine.Timeline() as events:
    ...     y = np.ones((300, 300)) @ np.ones((300, 300))
    >>> all(event.stop >= event.start for event in events)
    True
    """

    def __init__(self, file=None, functions=False, stacks=False):
        super().__init__()
        self.record = None
        self._file = file
        self._stacks = stacks
        self._functions = None
        if functions:
            from dflow._profile.functions import Functions

            self._functions = Functions()

    def __enter__(self):
        _engine.waitall()
        self._before, self._since = events.watch()
        try:
            if self._functions is not None:
                self._functions.__enter__()
        except BaseException:               # another profiler is on
            events.unwatch(self._before)
            raise
        self._had_stacks = errors.stacks(self._stacks or None)
        return self

    def __exit__(self, kind, error, traceback):
        try:
            if kind is None:
                _engine.waitall()
        finally:
            errors.stacks(self._had_stacks)
            if self._functions is not None:
                self._functions.__exit__()
            until = events.now()
            self.record = _record.Record(events.unwatch(self._before), self._since, until)
            self[:] = self._events()
            if self._file is not None:
                self.save(self._file)

    def _events(self):
        names = {int(e["task"]): e["kernel"] for e in self.record.submitted}
        made = []
        for e in self.record.of(_record.RAN, _record.PART):
            kernel = e["kernel"] or names.get(int(e["task"]), 0)
            name = self.record.kernel(kernel)[0] if kernel else "part of a task"
            more = int(e["members"]) - 1
            made.append(Event(lane_name(int(e["lane"])), int(e["worker"]), f"{name} and {more} more" if more else name,
                              int(e["start"]) / 1e9, int(e["stop"]) / 1e9))
        return made

    def save(self, file):
        """Write a trace for https://ui.perfetto.dev or chrome://tracing, as JSON, to a path or an open text file."""
        from dflow._profile import trace

        record = self._done()
        functions = self._functions.rows(self._since, trace.thread_row) if self._functions is not None else ()
        trace.write(record, file, functions)

    def plot(self, axes=None):
        """Draw it with matplotlib, on `axes` or on new ones: a row a worker, and one a thread that waited. The axes."""
        from dflow._profile import pictures

        return pictures.plot(self._done(), axes)

    def _repr_svg_(self):
        """In a notebook, a picture."""
        from dflow._profile import pictures

        return None if self.record is None else pictures.timeline_svg(self.record)

    def summary(self, rows=10):
        """What took how long, by operation and by line; where threads waited; what would be gained by more workers;
        which lines hold most memory: as text, with so many rows a table."""
        from dflow._profile.summary import Summary

        return Summary(self._done()).text(rows)

    def _done(self):
        if self.record is None:
            raise RuntimeError("the timeline has not ended: use it after its `with`")
        return self.record
