"""Programs run in child processes: one that crashes or hangs ends its child, and is found by its seed."""

import faulthandler
import json
import os
import pickle
import re
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dflow
from tests.fuzz import rules, running, shrinking

ROOT = Path(__file__).resolve().parent.parent.parent
BATCH = 64  # seeds that have the same number of workers
HANG = 120  # seconds without the next program
MEMORY = 2 << 30  # bytes of address space
LIFE = 50_000  # programs of a child: what a process keeps of its memory grows, as NumPy's blocks are of all sizes
REPEATS = 2  # finds by a statement of the same names that a child makes smaller


# -- the child -------------------------------------------------------------------------------------


def limit_memory():
    """What asks for more fails, so that a generator need not foresee how large results are."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def child(progress, only):
    """Runs the seeds that the lines of its input name, and tells what differs, a line of JSON each."""
    faulthandler.enable()
    limit_memory()
    dflow.engine.set_memory_budget(MEMORY // 4)  # also bounds the blocks that are kept, which NumPy cannot use
    seen = {}
    descriptor = os.open(progress, os.O_WRONLY)
    for order in sys.stdin:
        first, count = map(int, order.split())
        skipped = 0
        for seed in range(first, first + count):
            os.pwrite(descriptor, b"%20d" % seed, 0)
            try:
                find = examine(seed, only, seen)
            except MemoryError:  # of the fuzzer itself
                skipped += 1
                continue
            if find:
                print(json.dumps(find), flush=True)
        os.pwrite(descriptor, b"%20d" % -1, 0)
        print(json.dumps({"done": count - skipped}), flush=True)


def examine(seed, only, seen):
    """What differs in the program of a seed, made smaller unless alike was seen often; or None."""
    program, numpys = running.generate(seed, only)
    line = running.different(program, numpys)
    if line is None:
        return None
    names = signature(program, line)
    seen[names] = seen.get(names, 0) + 1
    find = {"seed": seed, "line": line, "signature": names}
    if seen[names] <= REPEATS:
        small, what = shrinking.shrink(program)
        what = what or f"{line} (not when it is run again)"
        find |= {"script": shrinking.script(small, what), "signature": signature(small, what)}
    return find


def signature(program, line):
    """By what finds are counted as one: the sort of difference, and what the statement calls."""
    at = line.partition(":")[0]
    text = program.statements[int(at)] if at.isdigit() and int(at) < len(program.statements) else ""
    names = sorted(rules.called(text)) or [re.sub(r"\w+", "x", text.partition(" = ")[2] or text)[:40]]
    return f"{shrinking.kind_of(line)}: {' '.join(names)}"


def generate(path, seed, only):
    """Write the program of a seed to a file: for a parent that NumPy, which runs it meanwhile, must not end."""
    limit_memory()
    Path(path).write_bytes(pickle.dumps(running.generate(seed, only)[0]))


def replay(path):
    """Run the program that a file holds: for a parent that expects it to end this process."""
    faulthandler.enable()
    limit_memory()
    program = pickle.loads(Path(path).read_bytes())
    for _ in range(2):
        print(running.different(program, running.reference(program, strict=False)))


# -- the parent ------------------------------------------------------------------------------------


def command(*arguments):
    return [sys.executable, "-m", "tests.fuzz", *map(str, arguments)]


def families(only):
    return ["--only", ",".join(only)] if only else []


class Child:
    def __init__(self, only):
        self.progress = tempfile.NamedTemporaryFile(prefix="fuzz")
        self.progress.write(b"%20d" % -1)
        self.progress.flush()
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command("--child", self.progress.name, *families(only)),
            cwd=ROOT,
            env={**os.environ, "MALLOC_ARENA_MAX": "4"},  # of which each takes 64 MB of addresses
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            bufsize=1,
        )
        self.moved = time.monotonic()
        self.last = None
        self.order, self.given = None, 0
        self.hung = False

    def give(self, first, count):
        self.order, self.moved = (first, count), time.monotonic()
        self.given += count
        self.process.stdin.write(f"{first} {count}\n")
        self.process.stdin.flush()

    def seed(self):
        return int(os.pread(self.progress.fileno(), 20, 0))

    def hangs(self):
        seed = self.seed()
        if seed != self.last:
            self.last, self.moved = seed, time.monotonic()
        self.hung = time.monotonic() - self.moved > HANG
        return self.hung

    def end(self):
        """How it ended: "signal 11", with its stacks."""
        self.process.stdin.close()
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            code = self.process.wait()
        self.errors.seek(0)
        how = "hangs" if self.hung else f"signal {-code}" if code < 0 else f"exit {code}"
        return how, self.errors.read().decode(errors="replace")[-3000:]


def fuzz(first, count, seconds, jobs, only, report):
    """Run programs in `jobs` processes until their count or the seconds are spent. Returns how many ran."""
    until = time.monotonic() + seconds if seconds else None
    children, selector, ran, given = [], selectors.DefaultSelector(), 0, 0

    def start():
        made = Child(only)
        children.append(made)
        selector.register(made.process.stdout, selectors.EVENT_READ, made)
        order(made)

    def order(a_child):
        nonlocal given
        n = min(BATCH, count - given) if count else BATCH
        if n <= 0 or until and time.monotonic() > until:
            finish(a_child)
            return
        if a_child.given >= LIFE:
            finish(a_child)
            start()
            return
        a_child.give(first + given, n)
        given += n

    def finish(a_child):
        selector.unregister(a_child.process.stdout)
        children.remove(a_child)
        return a_child.end()

    for _ in range(jobs):
        start()
    while children:
        for key, _ in selector.select(1):
            a_child = key.data
            text = a_child.process.stdout.readline()
            if not text:
                seed = a_child.seed()
                how, errors = finish(a_child)
                report(crash(seed, a_child.order, how, errors, only))
                start()
                continue
            message = json.loads(text)
            if "done" in message:
                ran += message["done"]
                order(a_child)
            else:
                report(message)
        for a_child in [one for one in children if one.hangs()]:
            a_child.process.send_signal(signal.SIGABRT)
        if until and time.monotonic() > until + HANG:
            for a_child in children:
                a_child.process.kill()
    return ran


def crash(seed, order, how, errors, only):
    """A find that ended its process, made smaller by running candidates in processes of their own."""
    find = {"seed": seed, "line": how, "signature": how}
    if seed < 0:
        return find | {"script": f"at the end of seeds from {order[0]}: {how}\n{errors}"}
    if how == "hangs":  # so may NumPy, and then this process
        return find | {"script": f"seed {seed}: {how}\n{errors}"}
    program = generated(seed, only)
    if program is None:
        return find | {"script": f"seed {seed}, by NumPy: {how}\n{errors}", "signature": f"NumPy: {how}"}

    def ends(candidate):
        if running.reference(candidate) is None:
            return None
        for _ in range(2):
            what = ending(candidate)
            if what:
                return what
        return None

    small, line = shrinking.shrink(program, ends, 90)
    if line is None:
        return find | {"script": f"seed {seed}, not by itself, after the seeds from {order[0]}: {how}\n{errors}"}
    names = sorted(rules.called("\n".join(small.statements)))
    return find | {"script": shrinking.script(small, line), "signature": f"{how}: {' '.join(names)}"}


def generated(seed, only):
    """The program of a seed; None: NumPy ends the process that makes it."""
    with tempfile.NamedTemporaryFile(prefix="fuzz") as file:
        done = subprocess.run(command("--generate", file.name, "--seed", seed, *families(only)), cwd=ROOT, timeout=HANG)
        return pickle.loads(file.read()) if done.returncode == 0 else None


def ending(program):
    """How a process that runs the program ends, unless it ends well."""
    with tempfile.NamedTemporaryFile(prefix="fuzz") as file:
        file.write(pickle.dumps(program))
        file.flush()
        try:
            done = subprocess.run(command("--replay", file.name), cwd=ROOT, capture_output=True, timeout=HANG)
        except subprocess.TimeoutExpired:
            return "crash: hangs"
    return f"crash: signal {-done.returncode}" if done.returncode < 0 else None
