"""Graphs of kernels that only sleep, on 1 to 64 workers: the time they take beside the time that no scheduler can beat.

As they need no core, there may be more workers than cores. bench/results/scheduling.png has the picture.
"""
import random
import statistics
import time
from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush

import dflow
import dflow.numpy

from .limits import workers
from .registry import Row, experiment
from .timing import spread

LENGTHS = (5e-6, 50e-6, 500e-6, 5e-3)
COUNTS = (1, 2, 4, 8, 16, 32, 64)

SECONDS = 0.12      # about, for one graph on one worker


@dataclass
class Graph:
    """Tasks in an order in which they may be submitted: the tasks that each waits for, and how long it sleeps."""

    needs: list
    seconds: list

    def bound(self, count, overhead):
        """The least time on `count` workers: the critical path, or all the work shared out."""
        lasts = [seconds + overhead for seconds in self.seconds]
        ends = []
        for needs, length in zip(self.needs, lasts, strict=True):
            ends.append(length + max((ends[i] for i in needs), default=0))
        return max(max(ends), sum(lasts) / count)

    def greedy(self, count, overhead):
        """The time of `count` workers that always take the task that has been ready for longest, at no cost."""
        waiters = [[] for _ in self.needs]
        left = [len(needs) for needs in self.needs]
        for task, needs in enumerate(self.needs):
            for other in needs:
                waiters[other].append(task)
        ready, running, now = deque(task for task, number in enumerate(left) if not number), [], 0.0
        while ready or running:
            while ready and len(running) < count:
                task = ready.popleft()
                heappush(running, (now + self.seconds[task] + overhead, task))
            now, task = heappop(running)
            for other in waiters[task]:
                left[other] -= 1
                if not left[other]:
                    ready.append(other)
        return now

    def submit(self, x):
        sleep, done = dflow.engine.sleep, []
        for needs, seconds in zip(self.needs, self.seconds, strict=True):
            # Adding what it waits for makes one input of several: tasks of some nanoseconds.
            source = x
            for i, other in enumerate(needs):
                source = done[other] if i == 0 else source + done[other]
            done.append(sleep(source, seconds))
        return done


def layered(n, draw):
    """Layers of 1 to 128 tasks; each waits for up to three of the layer before."""
    needs, before = [], []
    while len(needs) < n:
        layer = range(len(needs), min(n, len(needs) + draw.randint(1, 128)))
        needs += [draw.sample(before, min(len(before), draw.randint(1, 3))) for _ in layer]
        before = list(layer)
    return needs


def fans(n, draw):
    """One task, 2 to 100 that wait for it, one that waits for all of these, and so on."""
    needs = [[]]
    while len(needs) < n:
        first = len(needs) - 1
        middle = range(first + 1, first + 1 + draw.randint(2, 100))
        needs += [[first] for _ in middle] + [list(middle)]
    return needs


def chains(n, draw):
    """64 chains, submitted in turns at random."""
    last, needs = [None] * 64, []
    for i in range(n):
        k = draw.randrange(64)
        needs.append([] if last[k] is None else [last[k]])
        last[k] = i
    return needs


SHAPES = {"layered": layered, "fans": fans, "chains": chains}


@experiment("scheduling", "random graphs of sleeping kernels on 1 to 64 workers, against the least time possible",
            sizes=COUNTS, size_is="workers", parts=SHAPES)
def scheduling(run):
    x = dflow.numpy.ones(1)
    for name in run.only or SHAPES:
        for length in LENGTHS:
            yield from _measure(run, name, length, x)


def _measure(run, name, length, x):
    draw = random.Random(0)
    overhead = _overhead(length)
    n = max(128, min(4000, round(SECONDS / (length + overhead))))
    needs = SHAPES[name](n, draw)
    graph = Graph(needs, [length * draw.uniform(0.5, 1.5) for _ in needs])
    words = f"{length * 1e6:g} us" if length < 1e-3 else f"{length * 1e3:g} ms"
    for count in run.sizes:
        with workers(count):
            _run(graph, x)
            times = [_run(graph, x) for _ in range(run.repeat(3))]
        least, serial = graph.bound(count, overhead), graph.bound(1, overhead)
        measured = spread([took / least for took in times])
        middle = statistics.median(times)
        yield Row(f"{name}, {words}, {count} workers", measured.median, low=measured.low, high=measured.high,
                  base=least, dflow=middle, size=count,
                  note=f"base: the least possible; {len(needs)} tasks, {serial / middle:.1f} x as fast as one after "
                       f"another, of {serial / least:.1f} x: efficiency {100 / measured.median:.0f} %, "
                       f"{100 * graph.greedy(count, overhead) / middle:.0f} % of a greedy schedule")


def _run(graph, x):
    dflow.waitall()
    start = time.perf_counter()
    kept = graph.submit(x)
    dflow.waitall()
    took = time.perf_counter() - start
    del kept
    return took


def _overhead(length):
    """How much longer than asked for a sleep of this length lasts, in seconds: the median. Often it is some 60 us."""
    def one():
        start = time.perf_counter()
        time.sleep(length)
        return time.perf_counter() - start
    return statistics.median(one() for _ in range(max(5, min(200, round(0.05 / length))))) - length
