"""The programs of examples/, at their small size: dflow gives what NumPy gives, and each runs as a script.

Those that train networks have nothing to be compared with: they must have learned.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from engines import clean_environment

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
from bench import programs  # noqa: E402
from examples import __main__ as examples  # noqa: E402

pytestmark = pytest.mark.once

pytest.importorskip("matplotlib")       # has the files that they read, and writes their pictures


@pytest.mark.parametrize("name", examples.NAMES)
def test_same_results(name):
    theirs, ours = (programs.load(name, library, examples.FOLDER) for library in examples.LIBRARIES)
    expected, actual = theirs.main(theirs.SMALL), ours.main(ours.SMALL)
    for values in expected.values():
        assert numpy.isfinite(values).all() and numpy.any(values)
    assert any(hasattr(values, "is_ready") for values in actual.values())
    plain = [{name: numpy.asarray(x) for name, x in results.items()} for results in (actual, expected)]
    assert examples.difference(*plain) == ""


def script(name, folder, imports=""):
    """What a program prints, and the pictures that it leaves, at its small size."""
    source = (examples.FOLDER / f"{name}.py").read_text()
    assert source.count(programs.IMPORT) == bool(imports) and source.count("main(FULL)") == 1
    source = source.replace(programs.IMPORT, imports).replace("main(FULL)", "main(SMALL)")
    folder.mkdir()
    done = subprocess.run([sys.executable, "-"], input=source, cwd=folder, env=clean_environment(), text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr, {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", examples.NAMES)
def test_as_scripts(name, tmp_path):
    """The same text, the same pictures, and no warning that NumPy does not give."""
    theirs, ours = (script(name, tmp_path / library, f"import {library} as np\n") for library in examples.LIBRARIES)
    assert ours[0] == theirs[0] and ours[1] == theirs[1] == ""
    assert ours[2] == theirs[2] and (theirs[0] or theirs[2])


def test_a_network_learns_verse(tmp_path):
    printed, warned, _ = script("char_rnn", tmp_path / "network")
    perplexity = [float(text) for text in re.findall(r"perplexity (\S+)", printed)]
    assert perplexity[0] > 3 and perplexity[-1] < 1.5 and warned == ""
    assert "\nTyger Tyger, burning " in printed


def numbers(printed):
    return [float(text) for text in re.findall(r"-?\d\S*\d", printed)]


def test_weights_are_found_behind_noise(tmp_path):
    printed, warned, _ = script("linear_regression", tmp_path / "network")
    losses, errors = ([numbers(line) for line in printed.splitlines() if word in line] for word in ("loss", "errors"))
    assert [len(each) for each in losses + errors] == [3, 3, 4, 4] and warned == ""
    assert all(each[-1] < 1e-4 for each in losses)              # the noise alone gives 5e-5
    assert all(abs(e) < 0.01 for each in errors for e in each)


def test_networks_read_digits(tmp_path):
    printed, warned, _ = script("digits", tmp_path / "network")
    linear, perceptron, convolutional = (max(numbers(line)) for line in printed.splitlines())
    assert 0.5 < linear < perceptron - 0.05 and perceptron > 0.75 and convolutional > 0.9 and warned == ""


def test_a_training_step_learns_the_same_as_a_graph(tmp_path):
    printed, warned, _ = script("training_graph", tmp_path / "network")
    right = [float(text) for text in re.findall(r"(\S+)% right", printed)]
    assert len(right) == 3 and min(right) > 95
    assert printed.endswith("all losses are equal\n") and warned == ""


def test_differences_are_found():
    x = numpy.ones(3)
    assert examples.difference({"x": x}, {"y": x}) == "['x'], NumPy gives ['y']"
    assert examples.difference({"x": x}, {"x": x + 1}) == "x: result 0 is off by 1, of magnitudes up to 2"
