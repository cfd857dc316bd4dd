"""The table of mutants is true: what each of them changes is there, once. `python -m tools.mutate` runs them."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from tools.mutants import MUTANTS  # noqa: E402

pytestmark = pytest.mark.once


def test_names_are_unique():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_is_changed_is_there_once(mutant):
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1 and mutant.new != mutant.old
