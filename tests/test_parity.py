"""The random programs of `bench parity`: what they write is NumPy's, and they can be drawn again, made smaller, run."""

import sys
import warnings
from pathlib import Path

import numpy
import pytest
from engines import configured

import dflow
import dflow.numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
from bench import grammar, parity, programs  # noqa: E402

pytestmark = pytest.mark.once


def outcome(p, library):
    """What the program leaves in the names that it has or makes; or the type of its error."""
    names = {"np": library} | {
        name: value if not isinstance(value, numpy.ndarray) else value.copy() if name in grammar.NUMPYS else
        library.array(value) for name, value in grammar.values(p).items()}
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(p.statement, names)
            dflow.waitall()
        except Exception as error:
            return type(error)
    return {name: numpy.asarray(value) for name, value in names.items() if name != "np" and name[:2] != "__"
            and not callable(value)}


@pytest.mark.parametrize("first", range(0, 600, 50))
def test_random_programs(first):
    with configured(limit=0 if first % 100 else None, workers=2):
        for seed in range(first, first + 50):
            p = grammar.program(seed)
            if p.size > 10 ** 5:
                continue
            expected, found = outcome(p, numpy), outcome(p, np)
            if isinstance(expected, type):
                assert found is expected, p
                continue
            assert not isinstance(found, type), (p, found)
            assert found.keys() == expected.keys(), p
            for name, value in expected.items():
                assert programs.difference([found[name]], [value]) == "", (name, p)


def test_a_seed_is_one_program():
    assert grammar.program(7) == grammar.program(7) != grammar.program(8)
    assert {grammar.program(seed).kind for seed in range(400)} == set(grammar.CLASSES)


def test_smaller_programs_run():
    """Those that are programs of NumPy's still."""
    p = next(p for p in map(grammar.program, range(100)) if p.kind == "several statements" and p.size > 100)
    smaller = list(parity.smaller(p))
    assert any(q.size < p.size for q in smaller) and any(len(q.statement) < len(p.statement) for q in smaller)
    assert parity.measure(smaller[0], 1)[0] > 0
