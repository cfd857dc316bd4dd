"""Runs small concurrent programs under seeds that decide every choice of the system's scheduler (Linux only).

    python -m tests.schedule --seeds 0:10000                    all programs in turn; prints the seeds that fail
    python -m tests.schedule --programs forks --seed 17 --trace     one of them again, with its last points

Needs the debug build (`DFLOW_DEBUG=1 python setup.py build`), whose atomics are marked points: see _base/schedule.h.
Each run is a process of its own, forked from this one, in which time is virtual and addresses are always the same.
"""

import argparse
import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARY = ROOT / "build" / "schedule" / "preload.so"
ADDR_NO_RANDOMIZE = 0x0040000
LIMIT = 60              # seconds of real time: then a run is in a call that the scheduler does not know
SETTINGS = {"PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "1", "STANDIN_DELAY": "0.0003", "DFLOW_SCHEDULED": "1"}


def compile_library():
    sources = [HERE / "preload.c", ROOT / "dflow" / "_base/schedule.h"]
    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        LIBRARY.parent.mkdir(parents=True, exist_ok=True)
        flags = ["-O2", "-g", "-Wall", "-fPIC", "-shared", "-fvisibility=hidden"]
        subprocess.run([*os.environ.get("CC", "cc").split(), *flags, "-o", LIBRARY, sources[0], "-ldl"], check=True)


def start_again(build):
    """Become the same program with the library loaded, addresses that are always the same, and one core."""
    compile_library()
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    paths = [str(build), str(ROOT / "tests"), str(ROOT / "tests" / "standin")]
    environment = os.environ | SETTINGS | {"LD_PRELOAD": str(LIBRARY), "PYTHONPATH": os.pathsep.join(paths)}
    os.execve(sys.executable, [sys.executable, "-m", "schedule", *sys.argv[1:]], environment)


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.schedule", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", default="0:200", help="FIRST:LAST, the last not among them")
    parser.add_argument("--seed", type=int, help="one alone")
    parser.add_argument("--programs", help="names, separated by commas; seeds are dealt out among them")
    parser.add_argument("--policy", choices=("seed", "walk", "pct"), default="seed", help="not what the seed says")
    parser.add_argument("--trace", action="store_true", help="print the last points also where all is well")
    parser.add_argument("--last", type=int, default=60, help="how many points to print")
    parser.add_argument("--twice", action="store_true", help="run each seed twice and compare")
    parser.add_argument("--all", action="store_true", help="go on after a failure")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "debug" / "lib", help="the build that is tested")
    return parser.parse_args()


class Source:
    """A process that only forks others, one for each run, so that all of them begin with the same memory."""

    def __init__(self, ring):
        from schedule import control
        self.report, self.of_forks = control.shared_report(ring), control.shared_report(64)
        self.output = os.memfd_create("output")
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)      # or two answers are one
        if os.fork() == 0:
            self.socket.close()
            self.serve(other)
        other.close()

    def serve(self, commands):
        from schedule import worker
        while command := commands.recv(100):
            name, seed, policy = command.decode().split()
            child = os.fork()
            if child == 0:
                os.setpgid(0, 0)
                for descriptor in 1, 2:
                    os.dup2(self.output, descriptor)
                worker.work(name, int(seed), int(policy), self.report, self.of_forks)
            commands.send(b"%d" % child)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)        # what it has forked, and did not wait for
            commands.send(b"%d" % status)
        os._exit(0)

    def run(self, name, seed, policy):
        """The exit status, or None if it did not end."""
        self.report.clear()
        self.of_forks.clear()
        os.ftruncate(self.output, 0)
        os.lseek(self.output, 0, os.SEEK_SET)
        self.socket.send(f"{name} {seed} {policy}".encode())
        child = int(self.socket.recv(20))
        hangs = not select.select([self.socket], [], [], LIMIT)[0]
        if hangs:
            for sign in signal.SIGABRT, signal.SIGKILL:
                with contextlib.suppress(ProcessLookupError):       # it has just ended
                    os.kill(child, sign)
                if select.select([self.socket], [], [], 2)[0]:
                    break
        status = int(self.socket.recv(20))
        return None if hangs else status


class Run:
    """A program under a seed, and how it ended."""

    def __init__(self, source, name, seed, policy):
        self.name, self.seed, self.report, self.of_forks = name, seed, source.report, source.of_forks
        self.problem = self.problem_of(source.run(name, seed, policy))
        self.text = os.pread(source.output, 1 << 20, 0).decode(errors="replace")
        self.hash, self.points = self.report.hash, self.report.steps

    def problem_of(self, status):
        """What went wrong, or None."""
        from schedule import control
        if status is None:
            return f"did not end within {LIMIT} seconds"
        for report, where in (self.report, ""), (self.of_forks, " in a forked child"):
            if report.state in (control.DEADLOCK, control.ENDLESS):
                return ("deadlock" if report.state == control.DEADLOCK else "does not end") + where
        return f"ended with {status}" if status else self.judge()

    def judge(self):
        """What is wrong with a run that ended well."""
        from schedule import control, worker
        if self.report.stalls and self.name not in worker.MAY_STALL:
            return "nobody was woken, and all waited for a timeout"
        if self.name == "exits" and control.results[0] != control.results[1]:
            return f"{control.results[0]} host tasks were promised, {control.results[1]} ran"
        return None

    def show(self, last):
        print(f"{self.name}, seed {self.seed}: {self.problem or 'ok'}\n  {self.report.describe()}")
        if self.problem:
            print(*self.report.where_threads_are(), *self.of_forks.where_threads_are(), sep="\n")
        print(*self.report.trace(last), self.text, sep="\n", flush=True)


def main():
    options = arguments()
    if "DFLOW_SCHEDULED" not in os.environ:
        start_again(options.build)
    from schedule import worker
    names = options.programs.split(",") if options.programs else [*worker.SCENARIOS]
    policy = ("seed", "walk", "pct").index(options.policy)
    first, last = (options.seed, options.seed + 1) if options.seed is not None else map(int, options.seeds.split(":"))
    began, failed, points = time.monotonic(), 0, 0
    source = Source(1 << 16)
    for seed in range(first, last):
        run = Run(source, names[seed % len(names)], seed, policy)
        points += run.points
        if options.twice and run.problem is None and Run(source, run.name, seed, policy).hash != run.hash:
            run.problem = f"not the same the second time: the hash was {run.hash:016x}"
        if run.problem or options.trace:
            run.show(options.last)
        if run.problem:
            failed += 1
            print(f"again: python -m tests.schedule --programs {run.name} --seed {seed} --trace", flush=True)
            if not options.all:
                break
    print(f"{seed + 1 - first} seeds, {failed} failed, {points} points, {time.monotonic() - began:.1f} s")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
