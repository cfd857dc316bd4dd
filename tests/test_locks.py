"""The rules of spin locks (_base/locks.pxd): the debug build stops where one is broken, and names the locks."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from engines import HANG, clean_environment

from dflow._base import allocator

pytestmark = [pytest.mark.core,
              pytest.mark.skipif(allocator.refuse(0) is None, reason="the debug build alone checks who holds a lock")]

TESTS = Path(__file__).resolve().parent
NAMES = re.findall(r"^    (\w+_LOCK)\b", (TESTS.parent / "dflow/_base/locks.pxd").read_text(), re.MULTILINE)

BEGIN = f"""
import resource, sys, threading
sys.path.insert(0, {str(TESTS)!r})
import dflow
import dflow.numpy as np
from dflow._engine import give_lock as give, take_lock as take
from engines import Gate

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
{", ".join(NAMES)} = range(1, {len(NAMES) + 1})
"""


def run(program):
    return subprocess.run([sys.executable, "-c", BEGIN + program], capture_output=True, text=True, timeout=HANG,
                          env=clean_environment())


def assert_stops(program, text):
    """That the process stops at its last step, and that this is the last thing it says."""
    before, _, last = program.strip().rpartition("\n")
    done = run(f"{before}\nprint('so far')\nsys.stdout.flush()\n{last}\nprint('and on')\n")
    assert done.stdout == "so far\n", done.stderr
    assert done.returncode == -signal.SIGABRT
    assert done.stderr.strip().split("\n")[-1] == f"dflow invariant broken: {text}"


def test_locks_in_order():
    """Given back last first; one that is tried may have a lower rank than others."""
    steps = [f"take({name})" for name in NAMES] + [f"give({name})" for name in NAMES[::-1]]
    steps += ["take(QUEUE_LOCK)", "take(STORAGE_LOCK, True)", "give(STORAGE_LOCK)", "give(QUEUE_LOCK)",
              "print(np.ones(3).sum())"]
    done = run("\n".join(steps))
    assert (done.returncode, done.stdout, done.stderr) == (0, "3.0\n", "")


ORDER = "a thread takes locks in the order of their ranks; it holds"


@pytest.mark.parametrize("lower, higher", list(zip(NAMES, NAMES[1:])))
def test_a_lock_of_a_lower_rank(lower, higher):
    assert_stops(f"take({higher})\ntake({lower})", f"{ORDER} {higher}, and would take {lower}")


def test_a_second_lock_of_one_rank():
    assert_stops("take(QUEUE_LOCK)\ntake(QUEUE_LOCK)", f"{ORDER} QUEUE_LOCK, and would take QUEUE_LOCK")


def test_a_lock_that_was_tried_hides_none_of_a_higher_rank():
    assert_stops("take(RUNNERS_LOCK)\ntake(STORAGE_LOCK, True)\ntake(QUEUE_LOCK)",
                 f"{ORDER} RUNNERS_LOCK, STORAGE_LOCK, and would take QUEUE_LOCK")


@pytest.mark.parametrize("taken, given, held", [
    ([], "GATE_LOCK", "none"),
    (["GATE_LOCK"], "QUEUE_LOCK", "GATE_LOCK"),
    (["GATE_LOCK", "QUEUE_LOCK"], "GATE_LOCK", "GATE_LOCK, QUEUE_LOCK"),
], ids=["none", "another", "not the last"])
def test_giving_back_what_was_not_taken_last(taken, given, held):
    assert_stops("\n".join(["pass", *[f"take({name})" for name in taken], f"give({given})"]),
                 f"a thread gives back the lock that it took last; it holds {held}")


# What is not done under a lock. A lock of the lowest rank: what else is taken on the way is in order.
FORBIDDEN = {
    "nothing is allocated under a spin lock": """
take(GROUP_LOCK)
np.zeros(3)
""",
    "nothing is given back to the system under a spin lock": """
x = np.ones((1,) * 12)      # so many lengths lie in memory of their own
take(GROUP_LOCK)
del x
""",
    "nothing ends under a spin lock": """
dflow.engine.inline_limit(0)
x = np.array([2]) ** np.array([-1])
try:
    x.tolist()
except ValueError:
    pass
take(GROUP_LOCK)
del x                       # and with it, its error
""",
    "no kernel runs under a spin lock": """
dflow.engine.set_num_workers(1)
dflow.engine.inline_limit(0)
held = Gate().hold()        # the worker is held: this thread runs what it reads
x = np.sort(np.ones(30))
take(GROUP_LOCK)
x.wait_to_read()
""",
    "nobody waits for the GIL under a spin lock": """
gate = Gate()
held = gate.hold()
threading.Timer(0.2, gate.open).start()
take(GROUP_LOCK)
held.wait_to_read()
""",
}


@pytest.mark.parametrize("rule", FORBIDDEN)
def test_what_is_not_done_under_a_lock(rule):
    assert_stops(FORBIDDEN[rule], f"{rule}; it holds GROUP_LOCK")
