"""A soak: for a given time, random programs in several threads, under all that may happen to them in one process.

    python -m tests.soak --minutes 60

Each round, of some seconds, has one of the oracle's configurations. Its threads run random programs, operations that
fail, Python functions, arrays that pass the memory budget, training steps, and forks whose children compute; meanwhile
the main thread's waits are interrupted, and the number of workers and the budget change. After each round, when nothing
is pending, a line says what the process holds. The end is a verdict: every result right, nothing held for longer than
it should be, memory flat, the last rounds as fast as the first. It exits with 1 if there is something to complain of.

`--quick` takes some seconds, and leaves out of the verdict what takes minutes to tell. Each soak is to be a process of
its own: other libraries start threads when it pleases them.

`--seed` repeats the choices, not their timing; `--without fork,interrupt` leaves out what a find does not need.
"""

import argparse
import contextlib
import faulthandler
import gc
import os
import random
import signal
import statistics
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy

sys.path.append(str(Path(__file__).resolve().parent))      # as pytest does
import programs  # noqa: E402
from engines import HANG, configured, poll  # noqa: E402
from test_oracle import CONFIGURATIONS, run  # noqa: E402

import dflow  # noqa: E402
import dflow.numpy as np  # noqa: E402
from dflow import _engine, autograd  # noqa: E402

THREADS = 3             # beside the main thread
POOL = 300              # programs to choose from: new ones all the time would be new code all the time, which is kept
MB = 2 ** 20
BUDGETS = (64 * MB, 256 * MB)
WARM = 1 / 4            # of the rounds, in which blocks, threads' arenas and caches grow to their size
GROWTH = 0.25           # MB a minute that memory may seem to grow, by regression: what allocators do in an hour
SLOWER = 0.85           # of the first third's programs a second, which the last third must reach


ERRORS = np.linalg.LinAlgError, LookupError      # made on purpose


class Interrupted(BaseException):
    """What the timer's signal raises in the main thread, as Ctrl-C does."""


@dataclass
class Sample:
    """What the process held after a round, when nothing was pending."""

    seconds: float          # since the soak began
    setting: str
    rate: float             # programs a second
    rss: float              # MB
    descriptors: int
    threads: int
    storages: int
    tasks: int
    bytes: int

    def __str__(self):
        return (f"{self.seconds:7.0f} s  {self.rss:7.1f} MB  {self.descriptors:3} descriptors  "
                f"{self.threads:2} threads  {self.storages:5} storages  {self.tasks} tasks  {self.bytes:8} bytes  "
                f"{self.rate:6.0f} programs/s  {self.setting}")


def threads(usual=0):
    """How many there are, once those that are about to leave have left: at least until there are no more than usual, if
    that comes to be, for on a machine with other work a worker that was asked to leave may not run for a while."""
    poll(lambda: len(os.listdir("/proc/self/task")) <= usual, HANG / 4 if usual else 0.1)
    return len(os.listdir("/proc/self/task"))


def sample(seconds, setting, rate, usual_threads=0):
    gc.collect()
    live = _engine.live()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Sample(seconds, setting, rate, pages * os.sysconf("SC_PAGE_SIZE") / MB, len(os.listdir("/proc/self/fd")),
                  threads(usual_threads), live["storages"], live["tasks"], live["bytes"])


def thirds(samples):
    """The first third of the samples, and the last."""
    third = (len(samples) + 2) // 3
    return samples[:third], samples[-third:]


def growth(samples):
    """The slope of memory, MB a minute, behind the warm-up."""
    late = samples[int(len(samples) * WARM):]
    if len({s.seconds for s in late}) < 2:
        return 0.0
    return 60 * statistics.linear_regression([s.seconds for s in late], [s.rss for s in late]).slope


def speed(samples):
    """How fast the last third was, of the first: the median over the settings that both have, each at its median."""
    first, last = thirds(samples)
    ratios = []
    for setting in {s.setting for s in first} & {s.setting for s in last}:
        before, after = (statistics.median(s.rate for s in part if s.setting == setting) for part in (first, last))
        if before > 0:
            ratios.append(after / before)
    return statistics.median(ratios) if ratios else 1.0


def verdict(samples, finds=(), timed=True):
    """What is to complain of, as lines of text. timed: also what takes minutes to tell, speed and memory."""
    lines = [f"{len(finds)} finds"] if finds else []
    for name in ("descriptors", "threads", "storages", "tasks", "bytes"):
        first, last = (max(getattr(s, name) for s in part) for part in thirds(samples))
        if last > first:
            lines.append(f"{name} grow: at most {first} in the first third, {last} in the last")
    if timed and growth(samples) > GROWTH:
        lines.append(f"memory grows by {growth(samples):.2f} MB a minute, more than {GROWTH}")
    if timed and speed(samples) < SLOWER:
        lines.append(f"the last third has {speed(samples):.2f} of the first third's speed, less than {SLOWER}")
    return lines


# -- what threads do: each activity raises an AssertionError, or anything, if it finds something ---------------------

def program(soak, choose):
    setting = soak.setting
    chosen = choose.choice(soak.programs[setting.devices])
    lines = run(chosen, setting)
    assert not lines, "\n".join([f"program {chosen.seed}:", *lines, setting.script(chosen)])
    soak.count()


def error(soak, choose):
    """A task that fails poisons what depends on it, and nothing else; a full write heals."""
    def failing(x):
        raise LookupError("on purpose")

    good = np.arange(6.0)
    try:
        bad = choose.choice((lambda: np.linalg.inv(np.zeros((2, 2)) * good[0]),
                             lambda: dflow.submit(failing, good, shape=(2, 2), dtype=float)))()
    except ERRORS:
        return                              # in the naive mode it comes at the call
    after = bad + 1
    for x in (after, bad):
        try:
            x.wait_to_read()
        except ERRORS:
            continue
        raise AssertionError("no error")
    after[...] = 3
    assert after.tolist() == [[3, 3]] * 2 and (good + 1).tolist() == [1, 2, 3, 4, 5, 6]


def host(soak, choose):
    """Python functions on workers, one after the other and beside each other, with kernels between."""
    x = np.zeros(choose.randint(1, 50))
    for _ in range(choose.randint(1, 5)):
        x = dflow.submit(lambda a: a + 1, x, shape=x.shape, dtype=x.dtype) * 1
    futures = [dflow.submit(lambda a, k=k: float(a[0]) + k, x) for k in range(3)]
    assert [f.result() - x[0].item() for f in futures] == [0, 1, 2]


def large(soak, choose):
    """More than the budget, in arrays that are let go one after the other."""
    x = np.arange(2 ** 18) * 1.0
    for _ in range(60):
        x = np.roll(x, 1)
    assert x[60].item() == 0 and x[0].item() == 2 ** 18 - 60


def train(soak, choose):
    """Gradients, and the steps that they make."""
    w = np.ones((4, 3))
    w.attach_grad()
    for _ in range(5):
        with autograd.record():
            loss = (np.tanh(w) * w).sum() + (w[1:] ** 2).sum()
        loss.backward()
        w -= 0 * w.grad
    expected = numpy.tanh(1) + 1 - numpy.tanh(1) ** 2 + numpy.array([0, 2, 2, 2])[:, None] * numpy.ones(3)
    assert numpy.allclose(w.grad.asnumpy(), expected)


def fork(soak, choose):
    """A child ends what is pending with an error, and computes."""
    pending = dflow.engine.sleep(np.arange(3), 0.002) + 1
    chosen, setting = choose.choice(soak.programs[0]), CONFIGURATIONS["default"]
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(HANG)
            with contextlib.suppress(RuntimeError):                     # what says that it was pending at the fork
                assert pending.tolist() == [1, 2, 3]
            lines = run(chosen, setting)
            assert not lines, "\n".join(lines)
            code = 0
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"a forked child ended with {status}, running program {chosen.seed}"
    assert pending.tolist() == [1, 2, 3]


ACTIVITIES = {program: 400, error: 10, host: 10, large: 1, train: 5, fork: 2}


# -- what the main thread does -----------------------------------------------------------------------------------------

def interrupted(x, choose, wait):
    """A wait is interrupted, and `x`, which was waited for, is there afterwards."""
    try:
        signal.setitimer(signal.ITIMER_REAL, choose.uniform(1e-4, 0.03))
        wait()
        poll(lambda: False, HANG / 10)      # until the signal, if it has not come yet; another thread may be given it
        raise AssertionError("an interrupt was lost")
    except Interrupted:
        pass
    assert x.tolist() == [1, 2, 3]


def interrupt(soak, choose):
    x = dflow.engine.sleep(np.arange(3), choose.uniform(0, 0.02)) + 1
    interrupted(x, choose, choose.choice((x.wait_to_read, x.tolist, lambda: x.sum().item())))


def interrupt_all(soak, choose):
    """waitall() may raise the errors that other threads are about to read."""
    def wait():
        try:
            dflow.waitall()
        except* ERRORS:             # one, or several in a group
            pass

    interrupted(dflow.engine.sleep(np.arange(3), choose.uniform(0, 0.02)) + 1, choose, wait)


def workers(soak, choose):
    """Another number of workers, while others submit."""
    dflow.engine.set_num_workers(choose.randint(1, 8))


def budget(soak, choose):
    """Another budget, which others' arrays pass."""
    dflow.engine.set_memory_budget(choose.choice(BUDGETS))
    large(soak, choose)


DISTURBANCES = {interrupt: 20, interrupt_all: 20, budget: 8, workers: 5}


# -- the soak ----------------------------------------------------------------------------------------------------------

@dataclass
class Soak:
    seed: int
    without: frozenset = frozenset()
    pool: int = POOL
    setting: object = CONFIGURATIONS["default"]
    finds: list = field(default_factory=list)
    samples: list = field(default_factory=list)
    done: int = 0           # programs of this round; its lock is `lock`

    def __post_init__(self):
        self.lock = threading.Lock()
        self.start = time.monotonic()
        self.programs = {devices: [programs.generate(seed, devices) for seed in range(1, self.pool + 1)]
                         for devices in (0, 3)}

    def count(self):
        with self.lock:
            self.done += 1

    def found(self, activity):
        """Note the exception that is being handled."""
        text = f"{activity.__name__}, setting {self.setting}:\n{traceback.format_exc()}"
        self.finds.append(text)
        print(f"FOUND {text}", file=sys.stderr, flush=True)

    def act(self, activities, choose, until):
        """Activities by their weights, until that time."""
        chosen = {a: weight for a, weight in activities.items() if a.__name__ not in self.without}
        while chosen and time.monotonic() < until:
            activity, = choose.choices(list(chosen), list(chosen.values()))
            try:
                activity(self, choose)
            except (Exception, Interrupted):
                self.found(activity)

    def round(self, number, name, seconds):
        """One round, of one setting; then nothing is pending, and a sample is taken."""
        faulthandler.dump_traceback_later(seconds + 5 * HANG, exit=True)    # a deadlock ends the soak and shows where
        self.setting, self.done = CONFIGURATIONS[name], 0
        begin = time.monotonic()
        with configured(self.setting.naive, self.setting.workers, self.setting.limit, self.setting.bulk, BUDGETS[-1],
                        self.setting.pools):
            threads = [threading.Thread(target=self.act, args=(
                ACTIVITIES, random.Random(f"{self.seed} {number} {k}"), begin + seconds)) for k in range(THREADS)]
            for thread in threads:
                thread.start()
            self.act(DISTURBANCES, random.Random(f"{self.seed} {number}"), begin + seconds)
            for thread in threads:
                thread.join()
            _engine.set_delays(0, 0)
        self.settle()
        seconds = time.monotonic() - begin
        most = max((s.threads for s in self.samples), default=0)
        self.samples.append(sample(time.monotonic() - self.start, name, self.done / seconds, most))

    def settle(self):
        """Nothing is pending, no error is left that nobody saw, and the threads are there that are needed for work."""
        try:
            ones = numpy.ones((500, 500))
            numpy.matmul(ones, ones)            # a fork ends the threads of both BLASes until the next large product
            (np.array(ones) @ ones).wait_to_read()
            dflow.waitall()
            gc.collect()
            _engine.check_idle()
        except Exception:
            self.found(self.settle)

    def run(self, minutes, seconds, every, ahead=()):
        """Rounds of so many seconds, until the time is over; a sample is printed after `every` seconds. ahead: settings
        that have a round first, of which no sample is kept."""
        names, printed = list(CONFIGURATIONS), -every
        before = signal.signal(signal.SIGALRM, _interrupted)
        try:
            for name in ahead:
                self.round(0, name, seconds)
            self.samples.clear()
            while not self.samples or time.monotonic() - self.start < 60 * minutes:
                self.round(len(self.samples), names[len(self.samples) % len(names)], seconds)
                if self.samples[-1].seconds - printed >= every:
                    printed = self.samples[-1].seconds
                    print(self.samples[-1], flush=True)
        finally:
            faulthandler.cancel_dump_traceback_later()
            signal.signal(signal.SIGALRM, before)


def quick(seed, without):
    """Some rounds. An OpenBLAS's threads, which end before a fork, start again with its next product: both have them
    before the first look; and the workers of pools, which stay."""
    x = np.ones((400, 400))
    (x @ x).wait_to_read()
    numpy.matmul(x.asnumpy(), x.asnumpy())
    soak = Soak(seed, without, pool=20)
    soak.run(0.2, 0.3, 1, ahead=("pools-queued", "pools-held-delays"))
    return soak


def _interrupted(number, frame):
    raise Interrupted


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=3, help="of a round")
    parser.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")))
    parser.add_argument("--without", default="", help=", ".join(a.__name__ for a in (*ACTIVITIES, *DISTURBANCES)))
    parser.add_argument("--quick", action="store_true", help="some seconds")
    parser.add_argument("--every", type=float, default=30, help="seconds between the lines that are printed")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    without = frozenset(arguments.without.split(","))
    if arguments.quick:
        soak = quick(arguments.seed, without)
    else:
        soak = Soak(arguments.seed, without)
        soak.run(arguments.minutes, arguments.seconds, arguments.every)
    lines = verdict(soak.samples, soak.finds, timed=not arguments.quick)
    print(soak.samples[-1])
    print(f"{len(soak.samples)} rounds; memory {growth(soak.samples):+.2f} MB a minute (at most {GROWTH}); "
          f"the last third {speed(soak.samples):.2f} times as fast as the first (at least {SLOWER})")
    print(*(lines or ["all is well"]), sep="\n")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
