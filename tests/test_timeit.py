"""dflow.timeit(), and its magic in IPython: asynchronous work is in the time."""

import re
import sys

import pytest
from engines import configured, queueing

import dflow
import dflow.numpy as np
from dflow._profile import timing

TIME = r"[\d.e+]+ (s|ms|μs|us|ns)"
PATTERN = TIME + r" (±|\+-) " + TIME + r" per loop \(mean (±|\+-) std. dev. of {} runs, {} loops? each\)"


@pytest.mark.parametrize("how", ["function", "expression", "variable", "statements"])
def test_work_is_waited_for(how):
    x = np.ones(3)
    names = {"x": x, "sleep": dflow.engine.sleep}
    f, args = {"function": (dflow.engine.sleep, (x, 0.01)), "expression": ("sleep(x, 0.01)", ()),
               "variable": ("y = sleep(x, 0.01)", ()), "statements": ("z = sleep(x, 0.01)\nz", ())}[how]
    with configured(workers=1), queueing():
        result = dflow.timeit(f, *args, number=3, repeat=2, globals=None if args else names)
    assert result.best >= 0.005                 # submitting one takes microseconds; who waits may run one, too
    assert (result.loops, result.repeat, len(result.all_runs)) == (3, 2, 2)
    assert result.timings == [seconds / 3 for seconds in result.all_runs]
    assert result.best <= result.average <= result.worst and result.stdev >= 0
    assert re.fullmatch(PATTERN.format(2, 3), str(result)) and repr(result) == f"<TimeitResult : {result}>"


def test_what_is_dropped_is_computed():
    """Nobody could read it, and a group would leave it out."""
    ran = []
    with configured(workers=2):
        dflow.timeit(lambda: dflow.submit(ran.append, 1), number=70, repeat=2)
    assert len(ran) == 140


def test_setup_and_variables():
    assert dflow.timeit("a += 1; b = a", setup="a = 1", number=3, repeat=1).loops == 3
    seen = []
    dflow.timeit("seen.append(a)", setup="a = 5", globals={"seen": seen}, number=2, repeat=3)
    assert seen == [5] * 6
    dflow.timeit("c = 1\ndel c", number=1, repeat=1)
    dflow.timeit("for i in range(2): pass", number=1, repeat=1)


def test_the_number_is_found():
    result = dflow.timeit(lambda: dflow.engine.sleep(np.ones(1), 0.02).wait_to_read(), repeat=1)
    assert result.loops in (1, 2, 5, 10, 20)


def test_errors_are_raised():
    with queueing(), pytest.raises(np.linalg.LinAlgError):
        dflow.timeit(np.linalg.inv, np.zeros((3, 3)), number=1, repeat=1)
    with pytest.raises(ZeroDivisionError):
        dflow.timeit("1 // 0")
    for arguments, error, text in [
            ((3,), TypeError, "f must be callable or a statement, not 3"), (("x", 1), TypeError, "args are those"),
            (("",), ValueError, "f must be a statement, not ''")]:
        with pytest.raises(error, match=text):
            dflow.timeit(*arguments)
    with pytest.raises(ValueError, match="number must be at least 1, not 0"):
        dflow.timeit(int, number=0)
    with pytest.raises(ValueError, match="repeat must be at least 1, not -1"):
        dflow.timeit(int, repeat=-1)


def test_durations():
    assert [timing.duration(s).replace("μ", "u") for s in (0, 7.24e-5, 1.5e-9, 0.25, 3, 61, 90061)] == [
        "0 ns", "72.4 us", "1.5 ns", "250 ms", "3 s", "1min 1s", "1d 1h 1min 1s"]


@pytest.fixture
def shell(tmp_path, monkeypatch):
    pytest.importorskip("IPython")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])       # which IPython replaces
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell.instance()
    made.history_manager.enabled = False
    made.colors = "nocolor"
    yield made
    made.reset()
    made.displayhook.flush()
    InteractiveShell.clear_instance()


def run(shell, cell):
    done = shell.run_cell(cell)
    done.raise_error()
    return done.result


@pytest.mark.once
def test_the_magic(shell, capsys):
    run(shell, "%load_ext dflow")
    run(shell, "import dflow, dflow.numpy as np; x = np.ones(3)")
    capsys.readouterr()
    result = run(shell, "%dtimeit -o -n 4 -r 2 -p 5 x + 1")
    assert (result.loops, result.repeat) == (4, 2)
    assert re.search(PATTERN.format(2, 4), capsys.readouterr().out)
    assert run(shell, "%dtimeit -q -n 1 -r 1 x + 1") is None and capsys.readouterr().out == ""
    result = run(shell, "%%dtimeit -q -o -n 2 -r 2 y = x * 2\nz = y + 1\nz.sum()\n")
    assert result.loops == 2
    assert not shell.run_cell("%dtimeit -n often x").success
    assert not shell.run_cell("%dtimeit").success


@pytest.mark.once
def test_arrays_in_a_notebook(shell, capsys):
    run(shell, "import dflow, dflow.numpy as np; before = dflow.engine.inline_limit(0)")
    try:
        assert "text/html" not in shell.display_formatter.format(run(shell, "np.arange(3) + 1"))[0]
        assert "array([1, 2, 3])" in capsys.readouterr().out
        run(shell, "x = np.linalg.inv(np.zeros((300, 300)))")
        failed = "<failed array, shape=(300, 300), dtype=float64: LinAlgError: Singular matrix>"
        for cell in ("x", "[x, 1]", "{'k': (x, np.ones(2))}", "x + 1", "x.T"):
            run(shell, cell)
            assert failed in capsys.readouterr().out
        for cell in ("str(x)", "print(x)", "f'{x}'"):
            assert not shell.run_cell(cell).success
        run(shell, "f = dflow.submit(lambda: 1 / 0)")
        with pytest.raises(ZeroDivisionError):          # not in a cell: the shell keeps what it raised
            shell.user_ns["f"].result()
        capsys.readouterr()
        run(shell, "f")
        assert "<Future failed: ZeroDivisionError: division by zero>" in capsys.readouterr().out
    finally:
        run(shell, "dflow.engine.inline_limit(before)")
        shell.run_cell("del x, f")
