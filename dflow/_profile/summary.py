"""What a record says: what took how long, by operation and by line; who waited where; what bounds the program."""

from collections import Counter, defaultdict
from functools import cached_property
from typing import NamedTuple

from dflow._profile.forecast import Forecast
from dflow._profile.record import FAILED, PART, RAN, STOLEN
from dflow._runtime.queues import lane_name

OFTEN = 50                  # waits of one line that are worth a word,
MUCH = 0.05                 # and of the time, from which anything is
GAIN = 0.2                  # of the time, that more workers save at least, to be worth a word
SMALL = 5e-6                # seconds: a task that takes less is small, next to what it costs to submit one
CORES = 1, 2, 4, 8, 16, 1 << 20


class Row(NamedTuple):
    """Of a table: what is named, how often it ran, the seconds of workers that it took, the bytes that it wrote."""

    name: str
    count: int
    seconds: float
    bytes: int


class Wait(NamedTuple):
    """Of a line: how often threads waited there, how long in all and at most, and for which operation mostly."""

    name: str
    count: int
    seconds: float
    longest: float
    reason: str


class Worker(NamedTuple):
    """How many tasks it ran, how many of them from other workers' queues, and how long that took."""

    name: str
    tasks: int
    stolen: int
    seconds: float


def line(site):
    return "?" if site is None else f"{site[0]}:{site[1]}"


def size_text(nbytes):
    """1536 is 1.5 KB."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1024
    return f"{nbytes:.3g} TB"


def times(count):
    return "once" if count == 1 else f"{count:,} times"


class Summary:
    """Of a record. Times are seconds."""

    def __init__(self, record):
        self.record = record
        self.seconds = record.seconds
        self._spent = self._spend()

    def _spend(self):
        """The seconds of workers that each task took: of a group, shared among its members by what they write."""
        busy = Counter()
        for run in self.record.of(RAN, PART):
            busy[int(run["task"])] += int(run["stop"] - run["start"]) / 1e9
        spent = {number: busy[leader] * share for number, leader, share in
                 zip(*(column.tolist() for column in self.record.shares), strict=True) if leader in busy}
        self._busy = busy
        return spent

    def _rows(self, name_of):
        counts, seconds, written = Counter(), Counter(), Counter()
        for number, task in self.record.tasks.items():
            name = name_of(task)
            counts[name] += 1
            seconds[name] += self._spent.get(number, 0.0)
            written[name] += task.bytes
        return [Row(name, counts[name], seconds[name], written[name])
                for name in sorted(counts, key=lambda name: -seconds[name])]

    @cached_property
    def operations(self):
        """A Row for each operation, what took longest first."""
        return self._rows(lambda task: f"{task.name} {task.types}".rstrip())

    @cached_property
    def lines(self):
        """A Row for each line of the program that submitted any."""
        return self._rows(lambda task: line(task.site))

    @cached_property
    def waits(self):
        """A Wait for each line at which threads waited."""
        times, reasons = defaultdict(list), defaultdict(Counter)
        for wait in self.record.waited:
            place = line(self.record.site(wait["site"]))
            times[place].append(int(wait["stop"] - wait["start"]) / 1e9)
            task = self.record.tasks.get(int(wait["task"]))
            reasons[place]["everything" if task is None else f"{task.name}, line {line(task.site)}"] += times[place][-1]
        made = [Wait(place, len(spans), sum(spans), max(spans), reasons[place].most_common(1)[0][0])
                for place, spans in times.items()]
        return sorted(made, key=lambda wait: -wait.seconds)

    @cached_property
    def workers(self):
        """A Worker for each that did anything, and one for the threads that helped while they waited."""
        counts, stolen, seconds = Counter(), Counter(), Counter()
        for run in self.record.of(RAN, PART, STOLEN):
            name = (f"{lane_name(int(run['lane']))} worker {run['worker']}" if run["worker"] else
                    "threads that waited")
            if run["what"] == STOLEN:
                stolen[name] += 1
                continue
            counts[name] += 1
            seconds[name] += int(run["stop"] - run["start"]) / 1e9
        return [Worker(name, counts[name], stolen[name], seconds[name]) for name in sorted(counts)]

    @cached_property
    def critical_path(self):
        """The chain of tasks of which each waited for the one before that took longest: their numbers, leaders' of
        groups."""
        best, came_from = {}, {}
        for run in sorted(self.record.ran, key=lambda run: int(run["stop"])):
            number = int(run["task"])
            before = [p for p in self.record.before.get(number, ()) if p in best]
            last = max(before, key=best.get, default=None)
            best[number] = int(run["stop"] - run["start"]) / 1e9 + (0 if last is None else best[last])
            came_from[number] = last
        chain, number = [], max(best, key=best.get, default=None)
        while number is not None:
            chain.append(number)
            number = came_from[number]
        return chain[::-1]

    def run_seconds(self, number):
        return self._run_lengths.get(number, 0.0)

    @cached_property
    def _run_lengths(self):
        return {int(run["task"]): int(run["stop"] - run["start"]) / 1e9 for run in self.record.ran}

    @cached_property
    def critical_seconds(self):
        return sum(map(self.run_seconds, self.critical_path))

    @cached_property
    def work(self):
        """Seconds that all workers were at work, together."""
        return sum(worker.seconds for worker in self.workers)

    @cached_property
    def submitting(self):
        """Seconds in which no thread of the program waited."""
        waited, end = 0, 0
        for wait in self.record.waited:
            start, stop = max(int(wait["start"]), end), int(wait["stop"])
            if stop > start:
                waited, end = waited + stop - start, stop
        return max(self.seconds - waited / 1e9, 0.0)

    def bound(self, workers):
        """Seconds that the program takes at least with so many workers: for what it submits, for the longest chain of
        tasks, and for its work."""
        return max(self.submitting, self.critical_seconds, self.work / workers)

    @cached_property
    def _forecast(self):
        return Forecast(self.record)

    @property
    def ran_with(self):
        """Workers of the device that did most, as far as they did anything."""
        return self._forecast.ran_with

    def forecast(self, workers):
        """About how many seconds it would take with so many workers, on as many cores, or None: see
        _profile/forecast.py."""
        return self._forecast.seconds(workers)

    @cached_property
    def peak(self):
        """When most memory was held by arrays made meanwhile, in seconds; how much; and a Counter of it by line."""
        held, total, most = Counter(), 0, (0.0, 0, Counter())
        changes = self.record.held()
        for i, (time, nbytes, site) in enumerate(changes):
            held[line(site)] += nbytes
            total += nbytes
            last = i + 1 == len(changes) or changes[i + 1][1] < 0
            if nbytes > 0 and last and total > most[1]:
                most = time / 1e9, total, +held
        return most

    @cached_property
    def advice(self):
        """What is worth a change, in words."""
        said = []
        for wait in self.waits:
            if wait.count >= OFTEN and wait.seconds > MUCH * self.seconds:
                said.append(f"{wait.name} waits {wait.count:,} times, {wait.seconds:.2f} s in all: read every tenth "
                            "value only, or keep them and read them at the end.")
        hosts = [task for task in self.record.tasks.values() if task.name == "host task"]
        for place, count in Counter(line(task.site) for task in hosts).most_common(3):
            said.append(f"{place} runs as a Python function on a worker, {times(count)}: it needs the GIL there.")
        for row in self.lines[:20]:
            if row.count > 1000 and row.seconds / row.count < SMALL and row.seconds > MUCH * self.work:
                said.append(f"{row.name} submits {row.count:,} tasks of {1e6 * row.seconds / row.count:.1f} us: larger "
                            "arrays, or dflow.graph(), cost less for each.")
        said += self._gain()
        if self.submitting > 0.8 * self.seconds and self.record.tasks:
            said.append("Most of the time the program itself ran, and waited for nothing: its Python code bounds it. "
                        "--functions shows which.")
        failed = Counter(f"{record_name} at {line(site)}" for record_name, site in (
            (self.record.kernel(run["kernel"])[0], self._site(int(run["task"])))
            for run in self.record.ran if run["natives"] == FAILED))
        said += [f"{what} failed {times(count)}." for what, count in failed.most_common(5)]
        if self.record.lost:
            said.append(f"{self.record.lost:,} events are lost: each thread keeps the last 262,144.")
        return said

    def _gain(self):
        """What more workers would do, if that is worth a word."""
        if not self.record.tasks:
            return
        more = 2 * self.ran_with
        then = self.forecast(more)
        if then is not None and then < (1 - GAIN) * self.seconds:
            yield (f"With {more} workers, on as many cores, it would take about {then:.3g} s, not "
                   f"{self.seconds:.3g} s: {self.seconds / max(then, 1e-9):.1f} times as fast.")
        elif self.critical_seconds > 0.8 * self.seconds:
            split = ", unless its tasks are so large that several workers share one" if self.ran_with == 1 else ""
            yield ("Nearly all of the time is one chain of tasks, each waiting for the one before: more workers would "
                   f"not help{split}.")

    def _site(self, number):
        task = self.record.tasks.get(number)
        return None if task is None else task.site

    def text(self, rows=10):
        """The summary as text, tables of so many rows."""
        gain = ", ".join(f"{'any number' if n == CORES[-1] else n}: {self.bound(n):.3g} s" for n in CORES)
        about = ", ".join(f"{n}: {self.forecast(n):.3g} s" for n in CORES[:-1] if self.forecast(n) is not None)
        parts = [f"{self.seconds:.3f} s, {len(self.record.tasks):,} tasks, {self.work:.3f} s of work; "
                 f"the longest chain of tasks {self.critical_seconds:.3f} s; no thread waited for "
                 f"{self.submitting:.3f} s", f"at least, with so many workers: {gain}",
                 f"about, with so many workers: {about or 'it is too long to be said'}", ""]
        parts += [f"{worker.name}: {worker.seconds / self.seconds:.0%} busy, {worker.tasks:,} tasks, "
                  f"{worker.stolen:,} of others' queues" for worker in self.workers]
        for title, table in (("operation", self.operations), ("line", self.lines)):
            parts += ["", f"{'seconds':>10} {'count':>9} {'MB':>10}  {title}"]
            parts += [f"{row.seconds:10.4f} {row.count:9,} {row.bytes / 1e6:10.1f}  {row.name}" for row in table[:rows]]
        parts += ["", f"{'seconds':>10} {'count':>9} {'longest':>10}  waits at, for"]
        parts += [f"{wait.seconds:10.4f} {wait.count:9,} {wait.longest:10.4f}  {wait.name}, for {wait.reason}"
                  for wait in self.waits[:rows]]
        when, most, lines = self.peak
        parts += ["", f"most memory: {most / 1e6:.1f} MB after {when:.3f} s"]
        parts += [f"{nbytes / 1e6:10.1f} MB  {name}" for name, nbytes in lines.most_common(5)]
        if self.advice:
            parts += ["", *self.advice]
        return "\n".join(parts)
