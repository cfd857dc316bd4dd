"""Instructions of a call, counted by valgrind: nearly the same whatever else the machine does meanwhile."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from importlib import import_module
from pathlib import Path

import numpy

import dflow

from .native import compiled
from .timing import Side

_CLIENT = """
#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void stop(const char *label) { CALLGRIND_DUMP_STATS_AT(label); }
"""
_FLAGS = ["-O1", "-shared", "-fPIC"]


def count(labels, sides, *arguments, calls=50):
    """(side, label): instructions of one run of it, of "numpy" and "dflow". `sides`: "module:function" of bench, which
    gives the Sides of a label and the arguments, all of them texts.

    Those of the calling thread; the loop around it does not count. What fails on a side is missing. RuntimeError
    without valgrind and its headers.
    """
    if shutil.which("valgrind") is None:
        raise RuntimeError("instructions are counted by valgrind, which is not installed")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        source, client = folder / "client.c", folder / "client.so"
        source.write_text(_CLIENT)
        if compiled(source, client, _FLAGS) is None:
            raise RuntimeError("the headers of valgrind, or a compiler, are not installed")
        # One thread of BLAS: others spin while they wait.
        done = subprocess.run(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
                               f"--callgrind-out-file={folder / 'out'}", sys.executable, "-m", "bench.counting", client,
                               sides, str(calls), *map(str, arguments)],
                              input="\n".join(map(str, labels)), text=True, capture_output=True,
                              env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        if done.returncode:
            raise RuntimeError((done.stderr.strip() or "valgrind failed").splitlines()[-1])
        counts = dict(filter(None, map(_read, folder.glob("out.*-01"))))
    return {key: max(n - counts[key[0], "pass"], 1) / calls for key, n in counts.items() if key[1] != "pass"}


def _read(path):
    """((side, label), instructions) of a profile."""
    text = path.read_text()
    label = re.search(r"Client Request: (\w+) (.*)", text)
    return (label.groups(), int(re.search(r"^summary: (\d+)", text, re.MULTILINE)[1])) if label else None


def main(library, sides, calls, *arguments):
    """Under valgrind: runs what comes in, a label a line."""
    module, name = sides.split(":")
    sides_of = getattr(import_module(f"bench.{module}"), name)
    client = ctypes.CDLL(library)
    start, stop = client.start, client.stop
    start()
    stop(b"warm")                # a first call is longer
    numpy.seterr(all="ignore")
    warnings.simplefilter("ignore")
    nothing = {"numpy": Side("pass"), "dflow": Side("pass", "waitall()", waitall=dflow.waitall)}
    for label in ["pass", *sys.stdin.read().splitlines()]:
        for name, side in (nothing if label == "pass" else sides_of(label, *arguments)).items():
            try:
                side.run(20)
                start()
                side.run(int(calls))
            except Exception:
                continue
            stop(f"{name} {label}".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
