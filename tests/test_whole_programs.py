"""The programs of bench/programs, at their small size: dflow gives what NumPy gives."""

import sys
from pathlib import Path

import numpy
import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent))
from bench import programs  # noqa: E402


@pytest.mark.parametrize("name", programs.NAMES)
def test_same_results(name):
    theirs, ours = programs.load(name), programs.load(name, "dflow.numpy")
    expected = programs.collect(theirs.main(theirs.SMALL))
    assert all(numpy.isfinite(x).any() for x in expected)
    assert programs.difference(programs.collect(ours.main(ours.SMALL)), expected) == ""


@pytest.mark.parametrize("ours, theirs, words", [
    ([1.0], [1.0, 2.0], "1 results, NumPy gives 2"),
    ([1.0], [1], "result 0 is float64(), NumPy's int64()"),
    ([[1, 2]], [[1, 3]], "result 0 differs in 1 of 2 elements"),
    ([[1.0, 1e3]], [[1.0 + 2e-6, 1e3]], "result 0 is off by 2e-06, of magnitudes up to 1e+03"),
    ([[1.0, 1e3]], [[1.0 + 5e-7, 1e3]], ""),
    ([[numpy.nan, numpy.inf]], [[numpy.nan, numpy.inf]], ""),
    ([numpy.float32([1, 2])], [numpy.float32([1, 2.001])], "result 0 is off by 0.001, of magnitudes up to 2"),
])
def test_differences_are_found(ours, theirs, words):
    assert programs.difference(programs.collect(ours), programs.collect(theirs)) == words
