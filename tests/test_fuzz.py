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
SECONDS = 6
AGREED = 8_000_000_000      # the first of a million seeds whose programs have no find


@pytest.fixture
def engine():
    """The engine's settings are put back, whatever a program sets."""
    with configured():
        yield
        running.set_thresholds({})


def fuzzed(capsys, first, *limit):
    """The end of a run of the fuzzer, which is printed."""
    command = [sys.executable, "-m", "tests.fuzz", "--first", str(first), *map(str, limit)]
    environment = clean_environment()
    environment["PYTHONPATH"] += f":{ROOT}"
    # Making many finds smaller takes time.
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    with capsys.disabled():
        print(f"\n{' '.join(command[1:])}\n{done.stdout if done.returncode else done.stdout.strip()}")
    return done


@pytest.mark.once
def test_programs_that_agreed(capsys):
    """Seeds without a find: what differs now was broken since, or NumPy is another."""
    done = fuzzed(capsys, AGREED, "--count", 800)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


@pytest.mark.once
def test_programs_of_today(capsys):
    """Other ones each day: the first seed is the date's. A find prints its seed, which repeats it.

    One of some hundred thousand programs still has one: so it is no failure, but an expected one, and printed.
    """
    done = fuzzed(capsys, datetime.date.today().toordinal() * 1_000_000, "--seconds", SECONDS)
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
