"""Breaks the engine on purpose, one place at a time, and says which test sees it: what none sees needs a test.

    python -m tools.mutate                      every mutant of tools/mutants.py; half an hour, or more
    python -m tools.mutate --only NAME,NAME     some of them
    python -m tools.mutate --only NAME --tests "tests/test_threads.py -k split" --tests "schedule splits 0:50"
    python -m tools.mutate --list

A mutant is applied in a copy of the tree, which is built in place: but for the module concerned, all is as it is here,
so build first. Then come the tests that its row names, and those of COMMON, until one fails, crashes or hangs. Exit
status: how many no test saw.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.mutants import MUTANTS

ROOT = Path(__file__).resolve().parent.parent
# Of tests/schedule; not `interrupts`, whose handlers may raise in a task that the waiting thread runs.
PROGRAMS = ("oracle,updates,readers,parts,waits,splits,errors,waking,meetings,workers,budget,spills,loops,replays,"
            "linear,forks")
COMMON = ("tests/test_errors.py", "tests/test_outputs.py", "tests/test_views.py", "tests/test_gate.py",
          "tests/test_budget.py", "tests/test_reductions.py", "tests/test_waking.py", "tests/test_threads.py",
          "tests/test_groups.py", "tests/test_oracle.py -k 'queued or long'", "tests/test_lanes.py",
          f"schedule {PROGRAMS} 0:1000")
HANGS = 100         # seconds after which a test file hangs; each takes less than half of it


class Copy:
    """The tree with a mutant in it, in a folder thrown away."""

    def __init__(self, mutant):
        self.kept = tempfile.TemporaryDirectory(prefix="mutant-")
        self.path, self.debug = Path(self.kept.name) / "tree", False
        leave = shutil.ignore_patterns(".git", ".venv*", "results", "asan", "tsan", ".hypothesis")
        shutil.copytree(ROOT, self.path, ignore=leave, symlinks=True)
        if mutant is not None:
            file = self.path / mutant.file
            text = file.read_text()
            if text.count(mutant.old) != 1:
                raise SystemExit(f"{mutant.name}: its text is {text.count(mutant.old)} times in {mutant.file}")
            file.write_text(text.replace(mutant.old, mutant.new))
        self.build("build_ext", "--inplace")

    def build(self, *command, **variables):
        done, out = self.run(["setup.py", "-q", *command], 900, **variables)
        if done:
            raise SystemExit(f"it does not compile:\n{out}")

    def run(self, command, limit, **variables):
        """The exit status, None after so many seconds; and the output."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("DFLOW_")} | variables
        env |= {"PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"}
        if "CC" not in env and shutil.which("ccache"):
            env["CC"] = "ccache gcc"
        with tempfile.TemporaryFile("w+") as out:
            process = subprocess.Popen([sys.executable, *command], cwd=self.path, env=env, stdout=out, stderr=out,
                                       start_new_session=True)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)      # what it has started, too
                except ProcessLookupError:
                    pass
                process.wait()
            out.seek(0)
            return status, out.read()

    def test(self, test, limit):
        """What `test` says of the mutant, in words, and its output; None: it sees nothing."""
        kind, *options = shlex.split(test)
        if kind == "schedule":
            if not self.debug:
                self.build("build", DFLOW_DEBUG="1")
                self.debug = True
            command = ["-m", "tests.schedule", "--seeds", options[1], "--last", "5"]
            command += ["--programs", options[0]] if options[0] != "-" else []
        elif kind == "fuzz":
            command = ["-m", "tests.fuzz", "--seconds", options[0], "--jobs", "1"]
        else:
            command = ["-m", "pytest", "-x", "-v", "-p", "no:cacheprovider", "--hypothesis-seed=0", kind, *options]
        status, out = self.run(command, limit)
        if status == 0:
            return None, out
        if kind in ("schedule", "fuzz"):
            found = re.search(r"^\w+, seed \d+: .*|(?<=={99}\n).*", out, re.M)
            return found and f"{test}: {found[0]}", out         # who is late has found nothing: both know what hangs
        came = re.findall(r"^(?:FAILED |ERROR )?(tests/\S+::.*?)(?: - .*| (?:PASSED|FAILED|ERROR).*)?$", out, re.M)
        how = "hangs" if status is None else "fails" if status == 1 else f"crashes ({status})"
        return f"{came[-1] if came else test} {how}", out


def judge(mutant, tests, limit, verbose):
    """Who sees it, in words, or None."""
    copy, began = Copy(mutant), time.monotonic()
    try:
        for test in tests or dict.fromkeys((*mutant.tests, *COMMON)):
            left = limit - (time.monotonic() - began)
            if left < 10:
                break
            seen, out = copy.test(test, min(left, HANGS))
            if seen and seen.endswith("hangs") and left < HANGS:
                break                                           # it was only late
            if verbose:
                print(*out.splitlines()[-40:], sep="\n", flush=True)
            if seen:
                return seen
    finally:
        copy.kept.cleanup()
    return None


def main():
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", type=lambda text: text.split(","), help="names; `none` is the engine as it is")
    parser.add_argument("--tests", action="append", help="instead of the usual ones: pytest's arguments, `schedule "
                                                         "NAME FIRST:LAST` or `fuzz SECONDS`")
    parser.add_argument("--limit", type=float, default=240, help="seconds for each")
    parser.add_argument("--list", action="store_true", help="print the mutants")
    parser.add_argument("--verbose", action="store_true", help="print what the tests print")
    options = parser.parse_args()
    table = {mutant.name: mutant for mutant in MUTANTS}
    chosen = [table.get(name) if name == "none" else table[name] for name in options.only or table]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name} ({mutant.file}): {mutant.why}")
        return 0
    survived = 0
    for mutant in chosen:
        began = time.monotonic()
        seen = judge(mutant, options.tests, options.limit, options.verbose)
        survived += seen is None
        name, took = mutant.name if mutant else "none", time.monotonic() - began
        print(f"{name}: {seen or 'SURVIVED'} ({took:.0f} s)", flush=True)
    return survived


if __name__ == "__main__":
    sys.exit(main())
