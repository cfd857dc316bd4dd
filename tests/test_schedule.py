"""The seeded scheduler (tests/schedule): some seeds of each of its programs, and that it finds what is wrong, twice.

`make schedule` runs thousands of seeds. In the release build only blocking calls are points, in the debug build the
engine's atomics, too.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dflow

ROOT = Path(__file__).resolve().parent.parent

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="it replaces functions of glibc")]


def schedule(*options):
    """The exit code and the output."""
    build = os.path.dirname(os.path.dirname(dflow.__file__))
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    done = subprocess.run([sys.executable, "-m", "tests.schedule", "--build", build, *options], cwd=ROOT, text=True,
                          capture_output=True, timeout=280, env=environment)
    assert not done.stderr
    return done.returncode, done.stdout


def test_programs_under_seeds():
    """Each twice: with the same seed the same points are passed in the same order."""
    code, out = schedule("--seeds", "0:52", "--twice", "--all")
    assert code == 0, out


WRONG = {"lost_update": "a step was lost", "two_locks": "deadlock",
         "order_of_threads": "the second came first"}


@pytest.mark.parametrize("name", WRONG)
def test_it_finds_what_is_wrong(name):
    """Within some seeds; and the seed that it names shows the same again, in another process."""
    code, out = schedule("--programs", name, "--seeds", "0:200", "--last", "5")
    assert code == 1 and WRONG[name] in out
    again = re.search(r"python -m tests.schedule (.*)", out)[1].split()
    assert schedule(*again)[1].splitlines()[:2] == out.splitlines()[:2]         # the hash of all points among them
