"""The soak, for some seconds: its machinery, and that nothing is left. `python -m tests.soak` is the long one."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import soak
from engines import HANG, clean_environment

ROOT = Path(__file__).resolve().parent.parent

pytestmark = [pytest.mark.slow, pytest.mark.once]


def test_a_short_soak_finds_nothing():
    done = subprocess.run([sys.executable, "-m", "tests.soak", "--quick", "--seed", "1"], cwd=ROOT, text=True,
                          capture_output=True, timeout=5 * HANG, env=clean_environment())
    assert done.returncode == 0 and done.stdout.endswith("all is well\n"), done.stdout + done.stderr
    assert int(re.search(r"(\d+) rounds", done.stdout)[1]) > 1


def samples(change):
    """Sixty rounds of a soak in which nothing grows but what `change`, of the number of a round, says."""
    usual = {"rss": 80.0, "rate": 500.0, "descriptors": 6, "threads": 5, "storages": 9, "tasks": 0, "bytes": 100}
    return [soak.Sample(seconds=10.0 * k, setting=f"setting {k % 5}", **{**usual, **change(k)}) for k in range(60)]


@pytest.mark.parametrize("change, text", [
    (lambda k: {}, None),
    (lambda k: {"rss": 80 + min(k, 14)}, None),                         # what warms up
    (lambda k: {"rss": 80 + k % 3}, None),
    (lambda k: {"rss": 80 + k / 10}, "memory grows by 0.60 MB a minute"),
    (lambda k: {"rate": 500 + 300 * (k % 5)}, None),                    # settings are compared with themselves
    (lambda k: {"rate": 500 - 3 * k}, r"the last third has 0.7\d of the first third's speed"),
    (lambda k: {"descriptors": 6 + k // 30}, "descriptors grow: at most 6 in the first third, 7 in the last"),
    (lambda k: {"threads": 5 + k % 2}, None),
    (lambda k: {"threads": 5 + (k > 50)}, "threads grow"),
    (lambda k: {"storages": 9 + k}, "storages grow"),
    (lambda k: {"bytes": 100 + k}, "bytes grow"),
])
def test_the_verdict(change, text):
    lines = soak.verdict(samples(change))
    assert (lines == []) if text is None else (len(lines) == 1 and re.match(text, lines[0])), lines


def test_what_an_activity_raises_is_a_find(capsys):
    def wrong(soak, choose):
        raise AssertionError("wrong result")

    made = soak.Soak(1, pool=2)
    made.act({wrong: 1}, random.Random(0), soak.time.monotonic() + 0.01)
    assert made.finds and "wrong result" in made.finds[0] and "wrong, setting" in capsys.readouterr().err
    assert soak.verdict(samples(lambda k: {}), made.finds)[0].endswith("finds")
