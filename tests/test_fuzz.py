"""The fuzzer: programs of today's seeds, what it found before, and that it notices what is wrong."""

import datetime
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from engines import clean_environment, configured

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
import dflow.numpy as np  # noqa: E402
from tests.fuzz import found, known, processes, programs, running, shrinking  # noqa: E402

pytestmark = pytest.mark.slow
SECONDS = 60


@pytest.fixture
def engine():
    """The engine's settings are put back, whatever a program sets."""
    with configured():
        yield
        running.set_thresholds({})


@pytest.mark.once
def test_programs_of_today(capsys):
    """Other ones each day: the first seed is the date's. A find prints its seed, which repeats it.

    The fuzzer still finds what it has not found before: so a find is no failure yet, but an expected one, and printed.
    """
    first = datetime.date.today().toordinal() * 1_000_000
    command = [sys.executable, "-m", "tests.fuzz", "--first", str(first), "--seconds", str(SECONDS)]
    environment = clean_environment()
    environment["PYTHONPATH"] += f":{ROOT}"
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3 * SECONDS)
    except subprocess.TimeoutExpired:       # making many finds smaller takes time
        pytest.xfail(f"not at its end after {3 * SECONDS} s: {' '.join(command[1:])}")
    with capsys.disabled():
        print(f"\n{' '.join(command[1:])}\n{done.stdout if done.returncode else done.stdout.strip()}")
    if done.returncode:
        pytest.xfail(done.stdout.strip().splitlines()[-1] if done.stdout else done.stderr)


def program_of(text, settings=None):
    return programs.Program(0, settings or programs.Settings(), tuple(text.split("\n")))


def difference(program):
    return running.different(program, running.reference(program, strict=False))


@pytest.mark.parametrize("settings, text", found.FOUND, ids=[text.split("\n")[-1] for _, text in found.FOUND])
def test_what_was_found(engine, settings, text):
    assert difference(program_of(text, settings)) is None


@pytest.mark.leaves_errors
def test_known_finds_still_differ(engine):
    """One that no longer does is mended: its entry leaves known.py, and its program joins found.py."""
    for find in known.KNOWN:
        program = program_of(find.program)
        assert (processes.ending(program) if find.crashes else difference(program)) is not None, find.reason


def test_seeds_repeat():
    for seed in (1, 200, 3000):
        assert running.generate(seed)[0] == running.generate(seed)[0]


def test_what_is_wrong_is_noticed_and_made_smaller(engine, monkeypatch):
    """An operation that is broken on purpose is found, and the program that is left is a short one."""
    right = np.sqrt

    def wrong(x):
        y = right(x)
        return y + (numpy.size(y) > 2)

    monkeypatch.setattr(np, "sqrt", wrong)
    text = "v0 = np.array(numpy.arange(7.0))\nv1 = hold(v0)\nv2 = v1 + 1\nv3 = np.sqrt(v2[::-1])\nv4 = np.sort(v2)"
    small, line = shrinking.shrink(program_of(text))
    assert line is not None and len(small.statements) <= 2 and "sqrt" in small.statements[-1]
