"""The command line of the fuzzer: see `python -m tests.fuzz --help`."""

import argparse
import collections
import os
import sys
import time

from tests.fuzz import processes, running, shrinking, statements


def options():
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Random programs, run by NumPy and by dflow."
    )
    parser.add_argument("--seed", type=int, help="the program of this seed alone, as it is and made smaller")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, help="so many programs")
    parser.add_argument("--seconds", type=float, help="for so long")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--only", type=lambda text: text.split(","), help="families: " + ", ".join(statements.FAMILIES))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--generate", help=argparse.SUPPRESS)
    parser.add_argument("--replay", help=argparse.SUPPRESS)
    return parser.parse_args()


def one(seed, only):
    """Print a program, and what differs; returns whether something does."""
    program, numpys = running.generate(seed, only)
    print(shrinking.script(program, "-"), flush=True)
    line = running.different(program, numpys)
    print(f"\n{line or 'no difference'}", flush=True)
    if line:
        small, what = shrinking.shrink(program)
        print(shrinking.script(small, what or line))
    return line is not None


class Report:
    """Prints each find that is the first of its kind; counts the others."""

    def __init__(self):
        self.counts, self.printed = collections.Counter(), collections.Counter()

    def __call__(self, find):
        names = find["signature"]
        self.counts[names] += 1
        if "script" in find and not self.printed[names]:
            self.printed[names] += 1
            print(f"\n{'=' * 100}\n{names}\n{find['script']}", flush=True)

    def summary(self):
        for names, count in self.counts.most_common():
            print(f"{count:6}  {names}")


def main():
    given = options()
    if given.child:
        return processes.child(given.child, given.only)
    if given.generate:
        return processes.generate(given.generate, given.seed, given.only)
    if given.replay:
        return processes.replay(given.replay)
    processes.limit_memory()
    if given.seed is not None:
        return one(given.seed, given.only)
    report, start = Report(), time.monotonic()
    count = given.count or (None if given.seconds else 1000)
    ran = processes.fuzz(given.first, count, given.seconds, given.jobs, given.only, report)
    print(
        f"\n{ran} programs from seed {given.first}, {ran / (time.monotonic() - start):.0f} a second: "
        f"{sum(report.counts.values())} finds of {len(report.counts)} kinds"
    )
    report.summary()
    return bool(report.counts)


if __name__ == "__main__":
    sys.exit(main())
