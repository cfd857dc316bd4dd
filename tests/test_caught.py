"""Errors where the program would catch them: an operation that may fail raises there, at its call, as NumPy's."""

import asyncio
import contextlib
import multiprocessing.pool
import textwrap
import unittest
import warnings

import numpy
import pytest
from dflow._runtime.errors import in_record, in_try
from engines import Gate, configured, queueing

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.core

CAUGHT = {
    "try: ask()\nexcept ValueError: pass": True,
    "try: ask()\nexcept: pass": True,
    "try: ask()\nexcept (KeyError, ValueError) as e: pass": True,
    "try: ask()\nexcept np.linalg.LinAlgError: pass": True,
    "try: ask()\nexcept* ValueError: pass": True,
    "try: ask()\nexcept KeyError: pass\nexcept ValueError: pass": True,
    "try: ask()\nexcept KeyboardInterrupt: raise\nexcept: pass": True,
    "try: ask()\nfinally: pass": False,
    "try: ask()\nfinally:\n    try: print(end='')\n    except ValueError: pass": False,
    "try:\n    try: ask()\n    finally: pass\nexcept ValueError: pass": True,
    "try: ask()\nexcept ImportError: pass": False,
    "try: ask()\nexcept KeyboardInterrupt: print(end='')\nexcept OSError as e: print(e)": False,
    "try: 1 / 0\nexcept ZeroDivisionError: ask()": False,
    "try:\n    try: 1 / 0\n    except ZeroDivisionError: ask()\nexcept ValueError: pass": True,
    "try: pass\nexcept ValueError: pass\nelse: ask()": False,
    "try: pass\nexcept ValueError: pass\nfinally: ask()": False,
    "with open('/dev/null'): ask()": False,
    "try:\n    with open('/dev/null'):\n        for _ in range(2): ask()\nexcept ValueError: pass": True,
    "with contextlib.suppress(ValueError): ask()": True,
    "with contextlib.suppress(ValueError):\n    with open('/dev/null'): ask()": True,
    "with pytest.raises(ValueError):\n    ask()\n    raise ValueError": True,
    "with case.assertRaises(ValueError):\n    ask()\n    raise ValueError": True,
    "with guarded(): ask()": True,
    "with nested(): ask()": True,
    "with unguarded(): ask()": False,
    "pytest.raises(ValueError, failing, ask)": True,
    "case.assertRaises(ValueError, failing, ask)": True,
    "numpy.testing.assert_raises(ValueError, failing, ask)": True,
    "try: [ask() for _ in range(2)]\nexcept ValueError: pass": True,
    "try: list(ask() for _ in range(2))\nexcept ValueError: pass": True,
    "try: caller(ask)\nexcept ValueError: pass": True,
    "try: caller(caller, ask)\nexcept ValueError: pass": True,
    "caller(ask)": False,
    "ask()": False,
}


RECORDED = {
    "with warnings.catch_warnings(record=True): ask()": True,
    "with warnings.catch_warnings(record=True):\n    try: ask()\n    except ValueError: pass": True,
    "try:\n    with warnings.catch_warnings(record=True): ask()\nexcept ValueError: pass": True,
    "with pytest.warns(UserWarning):\n    ask()\n    warnings.warn('')": True,
    "with case.assertWarns(UserWarning):\n    ask()\n    warnings.warn('')": True,
    "with recorded(): caller(ask)": True,
    "pytest.warns(UserWarning, warning, ask)": True,
    "case.assertWarns(UserWarning, warning, ask)": True,
    "with warnings.catch_warnings(): ask()": False,
    "with contextlib.suppress(ValueError): ask()": False,
    "try: ask()\nexcept ValueError: pass": False,
    "with open('/dev/null'): ask()": False,
    "ask()": False,
}


def names(**more):
    return {"__name__": __name__, "case": unittest.TestCase(), **globals(), **more}


def caller(function, *args):
    return function(*args)


def failing(function):
    function()
    raise ValueError


def warning(function):
    function()
    warnings.warn("", UserWarning, stacklevel=1)


@contextlib.contextmanager
def guarded():
    try:
        yield
    except ValueError:
        pass


@contextlib.contextmanager
def nested():
    with guarded():
        yield


@contextlib.contextmanager
def unguarded():
    try:
        yield
    finally:
        pass


@contextlib.contextmanager
def recorded():
    with warnings.catch_warnings(record=True):
        yield


@pytest.mark.parametrize("many", [0, 300], ids=["", "many names"])      # which make arguments of several bytes
@pytest.mark.parametrize("body", CAUGHT)
def test_where_an_error_would_be_caught(body, many):
    assert ask_often(in_try, body, many) == {CAUGHT[body]}


@pytest.mark.parametrize("body", RECORDED)
def test_where_the_program_looks_at_warnings(body):
    assert ask_often(in_record, body) == {RECORDED[body]}


def ask_often(question, body, many=0):
    answers = []
    text = "def f():\n" + textwrap.indent("".join(f"n{i} = g{i}\n" for i in range(many)) + body, "    ")
    scope = names(ask=lambda: answers.append(question()), **{f"g{i}": i for i in range(many)})
    exec(text, scope)
    for _ in range(30):             # the interpreter changes the code of what runs often
        scope["f"]()
    return set(answers)


def test_in_a_coroutine():
    answers = []

    async def main():
        try:
            await asyncio.sleep(0)
            answers.append(in_try())
        except ValueError:
            pass
        async with contextlib.AsyncExitStack():
            answers.append(in_try())

    asyncio.run(main())
    assert answers == [True, False]


def test_a_caller_of_another_package_does_not_count():
    answers = []
    scope = {"__name__": "another.module", "ask": lambda: answers.append(in_try())}
    exec("def f(g):\n    try: g()\n    except ValueError: pass", scope)
    scope["f"](lambda: caller(lambda: answers.append(in_try())))
    assert answers == [False]


# ---- what is decided by it -----------------------------------------------------------------------

def is_positive_definite(a):
    try:
        np.linalg.cholesky(a)
        return True
    except np.linalg.LinAlgError:
        return False


def inverse(a):
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(a)


def jitter(np, a):
    """The power of ten that makes a matrix positive definite."""
    for power in range(-10, 0):
        try:
            np.linalg.cholesky(a + np.eye(len(a)) * 10.0**power)
            return power
        except np.linalg.LinAlgError:
            continue
    return None


def indefinite(n):
    a = numpy.eye(n)
    a[n // 2, n // 2] = -1e-5
    return a


@pytest.mark.parametrize("n", [1, 2, 3, 30, 300])
@pytest.mark.parametrize("how", ["ready", "queued", "pending"])
def test_decisions(n, how):
    with queueing() if how == "queued" else contextlib.nullcontext():
        def given(x):
            return dflow.engine.sleep(np.array(x), 0.02) if how == "pending" else np.array(x)

        assert is_positive_definite(given(numpy.eye(n)))
        assert not is_positive_definite(given(indefinite(n)))
        assert not inverse(given(numpy.zeros((n, n)))).any()
        assert jitter(np, given(indefinite(n))) == jitter(numpy, indefinite(n)) == -4
        solved = numpy.zeros(n)
        with contextlib.suppress(np.linalg.LinAlgError):
            solved = np.linalg.solve(given(numpy.zeros((n, n))), np.ones(n))
        assert type(solved) is numpy.ndarray
        with pytest.raises(ValueError, match="negative integer powers"):
            given([2] * n) ** np.array([-1] * n)


def test_what_runs_in_its_caller_raises_in_its_caller():
    for call in (lambda: np.linalg.inv(np.zeros((2, 2))), lambda: np.linalg.cholesky(np.array([[1.0, 2], [2, 1]])),
                 lambda: np.array([2, 3]) ** np.array([-1, 2]), lambda: np.linalg.solve(np.zeros((1, 1)), np.ones(1))):
        error = None
        try:
            call()
        except ImportError:                 # the error passes: it is of no clause that a look at the code would find
            pass
        except ValueError as e:
            error = e
        assert error is not None
    x = np.array([2, 3])
    before = in_try()
    assert not before
    with pytest.raises(ValueError):
        x **= np.array([-1, 2])
    assert len(x.tolist()) == 2             # no failed one: its reader has nothing to hear of


def test_elsewhere_errors_stay_with_their_results():
    with queueing():
        x = np.linalg.inv(np.zeros((300, 300)))
        y = np.array([2, 3]) ** np.array([-1, 2])
    for failed in (x, y):
        with pytest.raises(ValueError):
            failed.tolist()


def test_what_cannot_fail_does_not_wait():
    with configured(workers=2), Gate() as gate:
        held = gate.hold(np.ones(3))
        try:
            y = np.sqrt(held + 1) @ np.ones(3)
            assert not y.is_ready()
        except ValueError:
            raise AssertionError from None


@pytest.mark.parametrize("find", ["nanargmin", "nanargmax"])
def test_what_looks_at_the_values_of_its_result_raises_there(find):
    with queueing():
        x = np.array([[1.0, numpy.nan], [2.0, numpy.nan]]) + 0
        try:
            getattr(np, find)(x, axis=0)
        except ValueError as error:
            assert str(error) == "All-NaN slice encountered"
        else:
            pytest.fail("nothing was raised there")
        later = getattr(np, find)(dflow.engine.sleep(x, 0.1), axis=0)
    with pytest.raises(ValueError, match="All-NaN"):
        later.tolist()


def test_host_tasks_of_numpys_functions_raise_there():
    bad = np.full((70, 70), np.nan)
    with queueing():
        try:
            np.linalg.eigvals(bad)
            raised = None
        except np.linalg.LinAlgError as e:
            raised = e
    assert raised is not None


# ---- warnings that are errors --------------------------------------------------------------------

@pytest.mark.parametrize("size", [10, 10**5, 10**6])
def test_a_warning_that_is_an_error_is_raised_there(size):
    zeros, caught = np.zeros(size), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (lambda: 1 / zeros, lambda: np.log(zeros + 0) + 1, lambda: np.divide(zeros, zeros, out=zeros + 1)):
            with queueing():
                try:
                    call()
                except RuntimeWarning as warning:
                    caught.append(str(warning))
        warnings.simplefilter("ignore")
        try:
            (1 / zeros).wait_to_read()
        except RuntimeWarning as warning:
            caught.append(str(warning))
    assert caught == ["divide by zero encountered in divide", "divide by zero encountered in log",
                      "invalid value encountered in divide"]


@pytest.mark.parametrize("size", [10, 10**5, 10**6])
def test_warnings_are_given_where_they_are_recorded(size):
    def pending():
        return dflow.engine.sleep(np.zeros(size), 0.02)

    zeros = np.zeros(size)
    calls = (lambda: 1 / pending(), lambda: np.log(pending() + 0) + 1, lambda: np.sqrt(pending() - 1).sum(),
             lambda: np.divide(zeros, zeros, out=pending()))
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
            assert len(caught) == 1 and caught[0].filename == __file__
        with pytest.warns(RuntimeWarning, match="encountered in"):
            call()
        pytest.warns(RuntimeWarning, call)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        y = 1 / pending()
        warnings.simplefilter("always")
        y.wait_to_read()
    assert not caught


def test_who_ignores_warnings_does_not_hear_of_them_later():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Gate() as gate:
            held = gate.hold(np.zeros(1000))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                y = 1 / held
            assert not y.is_ready()
        y.wait_to_read()
    assert not caught


# ---- text of what failed -------------------------------------------------------------------------

def failed():
    with queueing():
        return np.linalg.inv(np.zeros((300, 300)))


def test_repr_tells_of_the_failure_and_raises_nothing():
    x = failed()
    assert repr(x) == "<failed array, shape=(300, 300), dtype=float64: LinAlgError: Singular matrix>"
    assert repr([x, 1]) == f"[{x!r}, 1]" and "Singular matrix" in repr(x.sum())
    for read in (str, print, lambda x: f"{x}", lambda x: float(x[0, 0])):
        with pytest.raises(np.linalg.LinAlgError):
            read(x)


def test_repr_of_what_failed_in_a_part_of_memory_or_with_any_error():
    def leave():
        raise SystemExit(3)

    class Mute(Exception):
        def __str__(self):
            raise ValueError

    def mute():
        raise Mute

    with configured(workers=2), queueing(), Gate() as gate:
        x = np.zeros((2, 300, 300))
        x[0] = np.linalg.inv(x[0])
        x[1] = gate.hold(np.ones((300, 300)))
        assert repr(x[0]).endswith("LinAlgError: Singular matrix>") and not x.is_ready()
    for function, text in ((leave, "SystemExit: 3"), (mute, "Mute")):
        y, future = dflow.submit(function, shape=2), dflow.submit(function)
        assert repr(y) == f"<failed array, shape=(2,), dtype=float64: {text}>"
        with pytest.raises(BaseException):      # noqa: B017
            future.result()
        assert repr(future) == f"<Future failed: {text}>"


def test_a_pool_reports_a_result_that_failed():
    """A process that cannot send its result sends this in its place, or nothing, for which its pool waits for ever."""
    assert "Singular matrix" in str(multiprocessing.pool.MaybeEncodingError(ValueError("why"), failed()))
