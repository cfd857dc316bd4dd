"""How long a program would take with other numbers of workers: what was noted, played again.

Each thread of the program goes on as it did: as long between its submissions and waits, and a wait ends when that comes
to pass for which it waited. Tasks take as long as they did, in the order in which they are ready; one that was split,
the time of all its parts together, over all workers that are free. What is not known is how tasks would be split that a
single worker ran whole, nor that memory is shared, nor that Python functions keep each other waiting.
"""

import heapq
from collections import Counter, defaultdict, deque

from dflow._profile.record import PART, RAN

MOST = 200_000                  # tasks: of more, it would take too long to say


class Forecast:
    """Of a record. ran_with: the workers that it had, as far as they did anything."""

    def __init__(self, record):
        self._record = record
        self._leaders = {m: leader for leader, members in record.members.items() for m in members}
        self._length, self._parts, self._lane, work, seen = Counter(), Counter(), {}, Counter(), Counter()
        self._ended = {}
        for run in record.of(RAN, PART):
            number, lane = int(run["task"]), int(run["lane"])
            span = int(run["stop"] - run["start"]) / 1e9
            self._length[number] += span
            self._parts[number] += 1
            self._lane[number] = lane
            work[lane] += span
            seen[lane] = max(seen[lane], int(run["worker"]))
            self._ended[number] = max(self._ended.get(number, 0), int(run["stop"]))
        self._main = max(work, key=work.get, default=0)
        self._workers = {lane: max(n, 1) for lane, n in seen.items()}
        self.ran_with = self._workers.get(self._main, 1)
        self._before = defaultdict(set)
        for task, others in record.before.items():
            self._before[self._leader(task)].update(map(self._leader, others))
        self._scripts = self._write_scripts()
        self._known = {}

    def _leader(self, number):
        return self._leaders.get(number, number)

    def _write_scripts(self):
        """For each thread: (seconds of its own before that, tasks that it submits or None, those it waits for)."""
        last = {self._leader(int(e["task"])): i for i, e in enumerate(self._record.submitted)}
        submitted = [(int(e["start"]), int(e["task"])) for e in self._record.submitted]
        happened = defaultdict(list)
        for i, e in enumerate(self._record.submitted):
            number = self._leader(int(e["task"]))
            if last[number] == i:               # a group is there when its last member is
                happened[int(e["thread"])].append((int(e["start"]), int(e["start"]), number, None))
        for e in self._record.waited:
            wanted = self._waited_for(e, submitted)
            happened[int(e["thread"])].append((int(e["start"]), int(e["stop"]), None, wanted))
        scripts = []
        for events in happened.values():
            script, end = [], 0
            for start, stop, number, wanted in sorted(events, key=lambda event: event[:2]):
                script.append((max(start - end, 0) / 1e9, number, wanted))
                end = max(end, stop)
            scripts.append((script, end / 1e9))
        rest = self._record.seconds - max((end for _, end in scripts), default=0.0)
        return [([*script, (max(rest, 0.0) if end == max(e for _, e in scripts) else 0.0, None, ())])
                for script, end in scripts]

    def _waited_for(self, wait, submitted):
        """The tasks; where it is not noted for which: all, if these were done then, else the last that was."""
        if wait["task"]:
            return [self._leader(int(wait["task"]))]
        start, stop = int(wait["start"]), int(wait["stop"])
        numbers = {self._leader(number) for time, number in submitted if time <= start}
        ended = {n for n in numbers if start <= self._ended.get(n, 0) <= stop}
        if any(self._ended.get(n, 0) > stop for n in numbers):
            return sorted(ended, key=self._ended.get)[-1:]
        return sorted(ended)

    def seconds(self, workers):
        """About how long the program takes with so many workers, on as many cores; None: it is too long to be said."""
        if len(self._record.tasks) > MOST:
            return None
        real = self._play(self.ran_with)
        return self._record.seconds * self._play(workers) / real if real else self._record.seconds

    def _play(self, workers):
        if workers not in self._known:
            self._known[workers] = Play(self._scripts, self._length, self._parts, self._lane, self._before,
                                        {**self._workers, self._main: workers}).seconds
        return self._known[workers]


class Play:
    """One run, from event to event."""

    def __init__(self, scripts, length, parts, lane, before, workers):
        self.length, self.parts, self.lane, self.free = length, parts, lane, dict(workers)
        self.missing, self.after, self.done = {}, defaultdict(list), set()
        self.before, self.ready, self.waiting = before, defaultdict(deque), defaultdict(list)
        self.known = {number for script in scripts for _, number, _ in script if number is not None}
        self.scripts, self.at, self.wants = scripts, [0] * len(scripts), {}
        self.heap, self.count, self.seconds = [], 0, 0.0
        for thread, script in enumerate(scripts):
            self.push(script[0][0], thread, None, 0)
        while self.heap:
            self.seconds, _, thread, number, taken = heapq.heappop(self.heap)
            if thread is None:
                self.end(number, taken)
            else:
                self.go_on(thread)

    def push(self, time, thread, number, taken):
        self.count += 1
        heapq.heappush(self.heap, (time, self.count, thread, number, taken))

    def go_on(self, thread):
        """The thread comes to what its script has next."""
        _, number, wanted = self.scripts[thread][self.at[thread]]
        if number is not None:
            self.submit(number)
        left = {n for n in wanted or () if n in self.known and n not in self.done}
        if left:
            self.wants[thread] = left
            for n in left:
                self.waiting[n].append(thread)
        else:
            self.step(thread)

    def step(self, thread):
        self.at[thread] += 1
        if self.at[thread] < len(self.scripts[thread]):
            self.push(self.seconds + self.scripts[thread][self.at[thread]][0], thread, None, 0)

    def submit(self, number):
        before = {n for n in self.before.get(number, ()) if n in self.known and n not in self.done and n != number}
        self.missing[number] = len(before)
        for n in before:
            self.after[n].append(number)
        if not before:
            self.queue(number)

    def queue(self, number):
        lane = self.lane.get(number)
        if lane is None:                # it ran nowhere
            self.push(self.seconds, None, number, 0)
        else:
            self.ready[lane].append(number)
            self.start(lane)

    def start(self, lane):
        ready = self.ready[lane]
        while ready and self.free[lane] > 0:
            number = ready.popleft()
            taken = self.free[lane] if self.parts[number] > 1 else 1
            self.free[lane] -= taken
            self.push(self.seconds + self.length[number] / taken, None, number, taken)

    def end(self, number, taken):
        self.done.add(number)
        for other in self.after.pop(number, ()):
            self.missing[other] -= 1
            if not self.missing[other]:
                self.queue(other)
        if taken:
            self.free[self.lane[number]] += taken
            self.start(self.lane[number])
        for thread in self.waiting.pop(number, ()):
            self.wants[thread].discard(number)
            if not self.wants[thread]:
                del self.wants[thread]
                self.step(thread)
