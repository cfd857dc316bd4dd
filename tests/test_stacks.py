"""The lines that called the one that submitted, where they are asked for; notebooks' cells; the exit code of errors."""

import json
import os
import sys
import types

import pytest
from engines import Gate
from test_process import line_of, run  # noqa: F401  # the fixture

import dflow
import dflow.numpy as np
from dflow._runtime import errors

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture
def stacks():
    before = dflow.engine.stacks(True)
    yield
    dflow.engine.stacks(before)


def outer(x, depth=0):
    return outer(x, depth - 1) if depth else inner(x)


def inner(x):
    return np.linalg.inv(x)


def failed(call):
    with Gate() as gate:
        y = call(gate.hold(np.zeros((2, 2))))
        gate.open()
        with pytest.raises(np.linalg.LinAlgError) as caught:
            y.tolist()
    return caught.value.__notes__[0].split("\n    called at ")


def lines(stack):
    return [line.rpartition("test_stacks.py:")[2].rpartition(" in ")[2].partition(":")[0] for line in stack]


def test_the_line_alone():
    assert not dflow.engine.stacks()
    assert lines(failed(outer)) == ["inner"]


def test_callers_are_in_the_note(stacks):
    assert dflow.engine.stacks()
    stack = failed(outer)
    assert lines(stack)[:4] == ["inner", "outer", "failed", "test_callers_are_in_the_note"]
    assert stack[0].endswith("in inner: inv") and stack[0].startswith("submitted at ")
    first = outer.__code__.co_firstlineno
    assert f":{first + 1} in outer" in stack[1]


def test_as_many_as_there_are_up_to_64(stacks):
    assert lines(failed(lambda x: outer(x, 10)))[:13] == ["inner"] + ["outer"] * 11 + ["<lambda>"]
    assert lines(failed(lambda x: outer(x, 200))) == ["inner"] + ["outer"] * 63


def test_each_way_has_its_own(stacks):
    one, other = (lambda x: outer(x)), (lambda x: inner(x))
    for _ in range(2):
        assert lines(failed(one))[:3] == ["inner", "outer", "<lambda>"]
        assert lines(failed(other))[:2] == ["inner", "<lambda>"]
    dflow.engine.stacks(False)
    assert lines(failed(one)) == ["inner"]


def test_frames_of_ours_in_between_are_left_out(stacks):
    """What dflow calls back."""
    stack = failed(lambda x: np.fromfunction(lambda i, j: inner(x), (2, 2)))
    names = lines(stack)
    assert names[:2] == ["inner", "<lambda>"] and "<lambda>" in names[2:4]
    assert not any(os.path.dirname(dflow.__file__) + os.sep in line for line in stack)


def test_a_trace_has_them_within_and_not_without(tmp_path):
    file = tmp_path / "run.json"
    with dflow.profile(file, stacks=True) as timeline, Gate() as gate:
        assert dflow.engine.stacks()
        y = outer(gate.hold(np.eye(2)))
        gate.open()
    assert not dflow.engine.stacks() and y.shape == (2, 2)
    events = json.loads(file.read_text())["traceEvents"]
    inverse = next(e for e in events if e["ph"] == "X" and e["name"].startswith("inv"))
    assert inverse["args"]["line"].endswith("in inner")
    assert [line.rpartition(" in ")[2] for line in inverse["args"]["called from"][:2]] == [
        "outer", "test_a_trace_has_them_within_and_not_without"]
    with dflow.profile(file), Gate() as gate:
        y = outer(gate.hold(np.eye(2)))
        gate.open()
    assert "called from" not in file.read_text()
    assert timeline.record is not None


def test_a_cell_of_a_notebook_is_named(monkeypatch):
    """IPython keeps the code of a cell as a file's, and knows which."""
    names = {"/tmp/kernel/77.py": ("Cell", "In[4]")}
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=names.get))
    module = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython.core.getipython", module)
    for name, text in (("<module>", "submitted at Cell In[4], line 2: inv"), ("f", None)):
        code = "\ny = np.linalg.inv(x)" if name == "<module>" else "\ndef f():\n    return np.linalg.inv(x)\ny = f()"
        with Gate() as gate:
            space = {"np": np, "x": gate.hold(np.zeros((2, 2)))}
            exec(compile(code, "/tmp/kernel/77.py", "exec"), space)
            gate.open()
            with pytest.raises(np.linalg.LinAlgError) as caught:
                space["y"].tolist()
        assert caught.value.__notes__[0] == (text or "submitted at Cell In[4], line 3 in f: inv")
    assert errors.cell_of(__file__) is None
    module.get_ipython = lambda: None               # loaded, but no cell runs
    assert errors.cell_of("/tmp/kernel/77.py") is None


# ---- the environment

FAILS = """
    dflow.engine.inline_limit(0)

    def f(x):
        return np.linalg.inv(x)

    y = f(dflow.engine.sleep(np.zeros((2, 2)), 0.05))
"""


def test_dflow_stacks(run):                                                             # noqa: F811
    code, out, err = run(FAILS + "\n    y.tolist()", DFLOW_STACKS="1")
    assert code == 1 and not out
    assert f"program.py:{line_of(FAILS, 'return np')} in f: inv\n" in err
    assert "called at " in err and f"program.py:{line_of(FAILS, 'y = f(')} in <module>" in err


@pytest.mark.parametrize("then, setting, code", [
    ("", "1", 1), ("", "0", 0), ("", None, 0), ("del y", "1", 1),
    ("sys.exit(0)", "1", 1),
    ("try: y.tolist()\n    except np.linalg.LinAlgError: pass", "1", 0),
    ("y[:] = 0; y.tolist()", "1", 1),
    ("import atexit; atexit.register(lambda: y.tolist())", "1", 0),
])
def test_an_error_that_nobody_read_and_the_exit_code(run, then, setting, code):         # noqa: F811
    before = "\n    import atexit\n    atexit.register(print, 'first')\n"
    done = "while dflow.engine.statistics()['pending']: pass"         # at the exit what is pending is dropped
    program = f"{before}{FAILS}\n    {done}\n    {then}\n    print('last')"
    found, out, err = run(program, **({} if setting is None else {"DFLOW_EXIT_ON_ERROR": setting}))
    assert found == code, err
    assert "first" in out and ("last" in out or "exit" in then)
    if code:
        assert "nobody read its result" in err


@pytest.mark.parametrize("name", ["DFLOW_STACKS", "DFLOW_EXIT_ON_ERROR"])
def test_a_setting_that_makes_no_sense_is_named(run, name):                             # noqa: F811
    code, _, err = run("", **{name: "yes"})
    assert code == 1 and f"{name} must be unset, 0 or 1, not 'yes'" in err
