"""Which steps of a loop are done: of each, all tasks that were submitted in it, by whichever thread.

Tasks end in another order than they were submitted in, so counting them tells nothing of a step. What is noted of them
(_runtime/events.pxd) does: each task's submission has a time and its group, and so has what ran. It is read ten times a
second, and dropped; what the loop itself does for it is to look at a clock.
"""

import numpy

from dflow import _engine
from dflow._profile.record import EVENT, RAN, SUBMITTED
from dflow._runtime import events

STEP_BITS = 31                          # of a key: the leader of a group, and a step that waits for it
MANY = 1 << 15            # events of one thread, of the 262,144 that it keeps: look again sooner


class Steps:
    """Steps that follow each other, each with a weight. Only who looks needs a lock."""

    def __init__(self):
        self.ended = 0                  # steps, as of the last look,
        self.done = 0                   # the weights of those of them that are done,
        self.held = 0                   # and how many are not
        self.quiet = False              # nothing was submitted between the last two looks
        self.many = False               # so much happened that it is time for the next
        self._times = []                # at which steps ended, after the last look
        self._sum = 0                   # of all weights
        self._weights = {}              # by step, where it is not 1
        self._keys = numpy.zeros(0, "i8")       # what steps wait for
        self._unsure = numpy.zeros(0, "i8")     # steps of whose tasks something may be lost
        self._before, self._since = events.watch()

    def begin(self):
        """The first step begins now."""
        self._since = events.now()

    def end(self, weight=1):
        """A step ends: what was submitted since the last one is its work."""
        if weight != 1:
            self._weights[self.ended + len(self._times)] = weight
        self._times.append(events.now())

    def look(self):
        """Bring `done` and its like up to date."""
        first, idle = self.ended, _engine.live()["tasks"] == 0
        ended = first + len(self._times)                # whatever they submitted is noted before the next line
        before, _ = events.watch()                      # what is noted between these two is read twice: so it may be
        noted = events.unwatch(self._before)
        self._before = before
        times = numpy.array(self._times, "i8")
        del self._times[:ended - first]
        lost = sum(lost for _, lost in noted)
        self.many = max(len(data) for data, _ in noted) > MANY * EVENT.itemsize
        table = [numpy.frombuffer(data, EVENT) for data, _ in noted]
        submitted = numpy.concatenate([some[some["what"] == SUBMITTED] for some in table])
        submitted = submitted[submitted["start"] >= self._since]
        self.quiet = not len(submitted)
        steps = first + numpy.searchsorted(times, submitted["start"])
        leaders = numpy.where(submitted["other"], submitted["other"], submitted["task"]).astype("i8")
        ran = numpy.concatenate([some["task"][some["what"] == RAN] for some in table])
        if lost:
            self._unsure = numpy.union1d(self._waiting(), range(first, first + len(times) + 1))
        keys = numpy.union1d(self._keys, leaders << STEP_BITS | steps)
        self._keys = keys[~numpy.isin(keys >> STEP_BITS, ran)]
        if idle:
            self._keys = self._keys[self._steps() >= ended]
            self._unsure = self._unsure[self._unsure >= ended]
        self._count(first, ended)

    def _steps(self):
        return self._keys & (1 << STEP_BITS) - 1

    def _waiting(self):
        """Steps with something pending, each once, perhaps some that have not ended."""
        return numpy.union1d(self._steps(), self._unsure)

    def _count(self, first, ended):
        waiting = self._waiting()
        waiting = waiting[waiting < ended].tolist()
        if self._weights:
            self._sum += sum(self._weights.get(step, 1) for step in range(first, ended))
            self.done = self._sum - sum(self._weights.get(step, 1) for step in waiting)
            kept = set(waiting)
            for step in [step for step in list(self._weights) if step < ended and step not in kept]:
                del self._weights[step]
        else:
            self._sum += ended - first
            self.done = self._sum - len(waiting)
        self.ended, self.held = ended, len(waiting)

    def close(self):
        """Look no more."""
        events.unwatch(self._before)
