"""What the sync table measures: every public name has its line, and the rows and docstrings say the same."""

import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest
from engines import Gate, clean_environment, configured, poll

pytestmark = pytest.mark.once            # see pyproject.toml

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
import dflow  # noqa: E402
import dflow.numpy as np  # noqa: E402
from dflow.ops.table import TABLE  # noqa: E402
from tools import sync_table  # noqa: E402
from tools.sync_table import BLOCKING, BOTH, FUSED, HOST, INLINE, KERNEL, MISSING, OWN, TYPE_ERROR  # noqa: E402

MEASURE = """
import pickle, sys
sys.path.append(sys.argv[1])
from tools import sync_table
with open(sys.argv[2], "wb") as file:
    pickle.dump(sync_table.measure(), file)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Measured in a process of its own: in this one statistics() lists all lines of the other tests, at each look."""
    path = tmp_path_factory.mktemp("sync") / "table"
    subprocess.run([sys.executable, "-c", MEASURE, str(ROOT), str(path)], env=clean_environment(), check=True)
    return pickle.loads(path.read_bytes())


def kinds(outcomes):
    return {outcome.kind for outcome in outcomes}


def documented():
    """(section, name, docstring) of whatever is dflow's own."""
    for row in TABLE.values():
        yield row.module, row.name, row.text
    for name in sync_table.members(np.ndarray):
        yield "numpy.ndarray", name, getattr(np.ndarray, name).__doc__.partition("NumPy's documentation")[0]


@pytest.mark.parametrize("module", ["numpy", "numpy.linalg", "numpy.fft", "numpy.random"])
def test_every_public_name_has_its_line(table, module):
    theirs = eval(module, {"numpy": numpy})
    assert set(table[module]) >= {name for name in theirs.__all__ if name[0] != "_"}
    for name, outcomes in table[module].items():
        assert outcomes, name
        assert hasattr(eval(module, {"numpy": np}), name) != (kinds(outcomes) == {MISSING}), name


def test_every_method_and_attribute_has_its_line(table):
    assert set(table["numpy.ndarray"]) >= {name for name in dir(numpy.ndarray) if name[0] != "_"}
    for name, outcomes in table["numpy.ndarray"].items():
        assert hasattr(np.ndarray, name) != (kinds(outcomes) == {MISSING}), name


def test_what_waits_says_so(table):
    silent = [f"{module}.{name}" for module, name, doc in documented()
              if BLOCKING in kinds(table.get(module, {}).get(name, ())) and "wait" not in (doc or "").lower()]
    assert silent == []


def test_what_says_that_it_waits_does(table):
    """In one of its calls; the others need not. One speaks of what others wait for."""
    liars = {f"{module}.{name}" for module, name, doc in documented()
             if name in table.get(module, {}) and "wait" in (doc or "").lower()
             and BLOCKING not in kinds(table[module][name])}
    assert liars == {"numpy.ndarray.is_ready"}


def test_rows_run_as_their_kind_says(table):
    for row in TABLE.values():
        outcomes = table.get(row.module, {}).get(row.name, ())
        found = kinds(o for o in outcomes if "descending" not in o.text) - {TYPE_ERROR}     # NumPy's, where it has that
        if not found:
            continue
        if row.kind == "blocking":
            assert BLOCKING in found, row
        elif row.kind == "host":
            assert found & {HOST, BOTH}, (row, found)
        elif row.kind == "view":
            assert INLINE in found, (row, found)
        else:
            assert HOST not in found, (row, found)


KNOWN = [
    ("np.add(a, a)", FUSED, []),
    ("np.sum(a)", FUSED, []),
    ("np.sort(a)", KERNEL, []),
    ("np.linalg.inv(m)", KERNEL, []),
    ("np.random.normal(size=N)", FUSED, []),
    ("np.median(a)", HOST, []),
    ("np.nanmax(n)", BOTH, []),
    ("a.T", INLINE, []),
    ("a.shape", INLINE, []),
    ("np.unique(a)", BLOCKING, ["a"]),
    ("a[b]", BLOCKING, ["b"]),
    ("np.take(a, j, 1)", BLOCKING, ["j"]),
    ("float(s)", BLOCKING, ["s"]),
]


@pytest.mark.parametrize("call, kind, waits", KNOWN)
def test_known_calls(call, kind, waits):
    with sync_table.measuring():
        outcome, = sync_table.outcomes_of([call])
    assert (outcome.kind, outcome.waits) == (kind, waits)


@pytest.mark.parametrize("call, kind, waits", KNOWN)
def test_known_calls_in_a_users_thread(call, kind, waits):
    """What is said to wait returns when the gate has opened, which it does once somebody waits; the rest before."""
    with configured(limit=0, workers=2), Gate() as gate:
        start, arrays = gate.hold(), sync_table.copies(sync_table.arrays_of(call))
        arrays = {name: sync_table.behind(start, x) for name, x in arrays.items()}
        before = dflow.engine.statistics()["waits"]
        opener = threading.Thread(target=lambda: poll(
            lambda: done or dflow.engine.statistics()["waits"] > before) and gate.open())
        done = []
        opener.start()
        try:
            result = sync_table.evaluate(call, arrays)
            assert gate.opened.is_set() == (kind == BLOCKING)
        finally:
            done.append(True)
            opener.join()
        del start, arrays, result
        dflow.waitall()


def test_the_page_has_a_line_for_each_name(table):
    lines = sync_table.page(table).split("\n")
    for entries in table.values():
        for name in entries:
            escaped = name.replace("|", "\\|")
            assert any(line.startswith(f"| `{escaped}` |") for line in lines), name
    assert sync_table.kinds(table["numpy"]["float32"]) == [OWN]
    assert sync_table.kinds(table["numpy"]["isnat"]) == [TYPE_ERROR]
