"""Errors: at the call what NumPy rejects there; from a worker, at every read, with the line that submitted the work."""

import inspect
import os
import re
import warnings

import numpy
import pytest
from compare import assert_same_outcome, outcome
from engines import Gate, configured, poll, queueing

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.core

NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


@pytest.fixture(params=[None, 0], ids=["default", "queued"])
def queued(request):
    """Errors must not depend on whether an operation ran in its caller or on a worker."""
    with configured(limit=request.param):
        yield


@pytest.fixture
def tasks():
    with queueing():
        yield


def failing():
    """An array whose computation fails in a worker: its inputs are pending when it is submitted, as a rule."""
    with queueing():
        return dflow.engine.sleep(np.array([2, 3]), 0.02) ** np.array([-1, -1])


def error_of(x):
    """The exception that reading x raises."""
    with pytest.raises(Exception) as caught:
        x.asnumpy()
    return caught.value


def site(error):
    """(file's name, line, function) of the one note that names the submitting line."""
    notes = [re.match(r"submitted at (.+):(\d+) in ([^:\s]+)", note) for note in error.__notes__]
    notes = [note for note in notes if note]
    assert len(notes) == 1, error.__notes__
    file, line, function = notes[0].groups()
    return os.path.basename(file), int(line), function


def line():
    """The line of the caller."""
    return inspect.currentframe().f_back.f_lineno


HERE = os.path.basename(__file__)


# -- poison ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("function", [lambda x: np.divmod(x, 3), lambda x: np.frexp(x * 0.5)], ids=["divmod", "frexp"])
def test_each_of_several_results_has_the_error(queued, function):
    for result in function(failing()):
        assert NEGATIVE_POWER in str(error_of(result))


@pytest.mark.parametrize("bulk", [0, 32])
def test_an_error_among_many_parts_stays(bulk):
    """Where many parts are pending, the engine puts a fence between: it writes nothing, so it clears no error."""
    with configured(workers=2, limit=0, bulk=bulk), Gate() as gate:
        x, held = np.zeros((200, 2), "int64"), gate.hold(np.array([-1, 2]))
        for k in range(200):
            x[k] = np.array([2, 3]) ** (held if k == 3 else -held * held + 5)
        gate.open()
        with pytest.raises(ValueError, match=NEGATIVE_POWER):
            x.tolist()


def test_a_failure_does_not_raise_at_the_call_but_at_the_read():
    x = failing()
    error = error_of(x)
    assert type(error) is ValueError and str(error) == NEGATIVE_POWER


def test_every_way_of_reading_raises():
    x = failing()
    reads = [lambda: x.asnumpy(), lambda: x.tolist(), lambda: x.wait_to_read(), lambda: numpy.asarray(x),
             lambda: f"{x}", lambda: str(x), lambda: x[0].item(), lambda: float(x[0]), lambda: bool(x[0]),
             lambda: int(x[1]), lambda: list(x)[0].item(), lambda: x.sum().item(), lambda: x.T.tolist()]
    for read in reads:
        with pytest.raises(ValueError, match=NEGATIVE_POWER):
            read()


def test_each_read_raises_the_same_error_with_one_note():
    x = failing()
    errors = [error_of(x) for _ in range(3)] + [error_of(x + 1)]
    assert len({(type(e), str(e), tuple(e.__notes__)) for e in errors}) == 1
    assert len(errors[0].__notes__) == 1


def test_poison_goes_through_chains(queued):
    x = failing()
    y = (x + 1) * 2
    z = np.concatenate([y[:1], np.zeros(3)]).sum()
    w = np.zeros(4) @ np.stack([x, x, x, x])
    for poisoned in (y, z, w, x[::-1], x.astype("float64"), np.sort(x), np.where(x > 0, 1, 0)):
        error = error_of(poisoned)
        assert type(error) is ValueError and str(error) == NEGATIVE_POWER


def test_poison_goes_into_what_is_updated_in_place(queued):
    x, y, z, w = failing(), np.ones(2), np.ones(2), np.ones(4)
    y += x
    np.add(x, 1, out=z)
    w[1:3] = x
    for poisoned in (y, z, w, w + 1, y * z):
        assert str(error_of(poisoned)) == NEGATIVE_POWER


def test_an_operation_that_fails_in_place_poisons_its_array(tasks):
    x = np.array([2, 3])
    x **= np.array([-1, 2])
    assert str(error_of(x)) == NEGATIVE_POWER


def test_unrelated_work_finishes(queued):
    bad, good = failing(), dflow.engine.sleep(np.ones(3), 0.02)
    for _ in range(100):
        bad, good = bad + 1, good + 1
    assert good.tolist() == [101] * 3
    assert str(error_of(bad)) == NEGATIVE_POWER


def test_an_array_read_by_the_failing_operation_stays_good(tasks):
    x, powers = np.array([2, 3]), np.array([-1, -1])
    bad = x ** powers
    assert str(error_of(bad)) == NEGATIVE_POWER
    assert x.tolist() == [2, 3] and powers.tolist() == [-1, -1]


@pytest.mark.parametrize("overwrite", ["x[:] = 5", "x[...] = np.full(2, 5)", "x.fill(5)", "np.copyto(x, 5)",
                                       "np.add(2, 3, out=x)", "x[::-1] = 5", "x.reshape(1, 2)[...] = 5"])
def test_a_full_overwrite_clears(overwrite):
    x = failing()
    dependent = x + 1
    exec(overwrite, {"x": x, "np": np})
    assert x.tolist() == [5, 5]
    assert (x + 1).tolist() == [6, 6]
    assert str(error_of(dependent)) == NEGATIVE_POWER       # it was computed from the old value


@pytest.mark.parametrize("write", ["x[0] = 5", "x[1:] = 5", "x += 1", "x *= 0", "x[:] = x", "np.add(x, 1, out=x)",
                                   "x[[0]] = 5", "x[np.array([True, False])] = 5", "x[x == 2] = 5",
                                   "np.copyto(x, 5, where=[True, False])"])
def test_a_partial_write_or_one_that_reads_does_not_clear(write):
    x = failing()
    exec(write, {"x": x, "np": np})
    assert str(error_of(x)) == NEGATIVE_POWER


def test_copies_of_poison_stay_poisoned_when_the_original_is_cleared():
    x = failing()
    copy = x.copy()
    x[:] = 1
    assert x.tolist() == [1, 1]
    assert str(error_of(copy)) == NEGATIVE_POWER


def test_singular_matrices(tasks):
    good = np.array([[2.0, 0.0], [0.0, 4.0]])
    zeros = np.zeros((2, 2))
    for bad in (np.linalg.inv(zeros), np.linalg.solve(zeros, np.ones(2)),
                np.linalg.inv(np.linalg.inv(np.ones((2, 2))))):
        error = error_of(bad)
        assert type(error) is numpy.linalg.LinAlgError and str(error) == "Singular matrix"
    assert np.linalg.inv(good).tolist() == [[0.5, 0], [0, 0.25]]


def test_no_memory_poisons_that_output_only():
    x = np.ones(2)
    try:
        big = np.empty((1 << 28, 1 << 28), dtype="uint8") + 1                   # 64 PiB: no machine has them
    except MemoryError:
        big = None                                                              # found out at the call: as good
    if big is not None:
        assert type(error_of(big)) is MemoryError
    assert (x + 1).tolist() == [2, 2]


# -- the submitting line ---------------------------------------------------------------------------

def test_the_note_names_the_line_of_an_operator(tasks):
    x, powers = np.array([2, 3]), np.array([-1, -1])
    bad, where = x ** powers, line()
    assert site(error_of(bad)) == (HERE, where, "test_the_note_names_the_line_of_an_operator")


def test_the_note_names_the_failing_operation_and_not_what_depends_on_it(tasks):
    bad, where = np.array([2]) ** np.array([-1]), line()
    later = bad + 1
    later *= 2
    assert site(error_of(later))[1] == where


def test_the_note_names_the_users_line_behind_functions_written_in_python(tasks):
    zeros, two = np.zeros((2, 2)), np.array([2])
    inverse, first = np.linalg.inv(zeros), line()
    solution, second = np.linalg.solve(zeros, np.ones(2)), line()
    power, third = np.power(two, np.array([-1])), line()
    for bad, where in ((inverse, first), (solution, second), (power, third)):
        assert site(error_of(bad))[:2] == (HERE, where)


def raise_lookup(*arrays):
    raise LookupError("from the task")


def test_the_note_names_the_line_of_a_submit():
    bad, where = dflow.submit(raise_lookup, shape=(2,), dtype="float64"), line()
    error = error_of(bad + 1)
    assert type(error) is LookupError and str(error) == "from the task"
    assert site(error)[:2] == (HERE, where)


def test_the_note_names_the_line_inside_a_call_over_several(tasks):
    first = line()
    bad = np.power(
        np.array([2]),
        np.array([-1]),
    )
    assert first < site(error_of(bad))[1] <= first + 4


# -- waitall ---------------------------------------------------------------------------------------

def test_waitall_raises_the_only_error_itself_and_once():
    bad = failing()                                         # noqa: F841 (it stays alive: the error is not yet lost)
    with pytest.raises(ValueError, match=NEGATIVE_POWER):
        dflow.waitall()
    dflow.waitall()


def test_waitall_raises_several_as_a_group(tasks):
    bad = [failing(), dflow.submit(raise_lookup, shape=(2,), dtype="float64"),
           np.linalg.inv(np.zeros((2, 2)))]
    dependents = [x + 1 for x in bad]                       # carry the same errors, so they add none
    with pytest.raises(ExceptionGroup) as caught:
        dflow.waitall()
    assert {type(e) for e in caught.value.exceptions} == {ValueError, LookupError, numpy.linalg.LinAlgError}
    assert len(caught.value.exceptions) == 3
    assert all(site(e)[0] == HERE for e in caught.value.exceptions)
    dflow.waitall()
    assert str(error_of(dependents[0])) == NEGATIVE_POWER   # reads raise all the same


def test_waitall_leaves_out_what_was_seen():
    bad, other = failing(), dflow.submit(raise_lookup, shape=(2,), dtype="float64")
    error_of(bad + 1)
    with pytest.raises(LookupError):
        dflow.waitall()
    del other
    dflow.waitall()


@pytest.mark.leaves_errors
@pytest.mark.parametrize("lose", ["del x", "x[:] = 1", "x = x + 1; del x"])
def test_an_error_that_no_read_can_meet_any_more_is_reported_once(lose, monkeypatch):
    """Either waitall raises it, or it goes to sys.unraisablehook when its last array does."""
    reported = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: reported.append(unraisable.exc_value))
    variables = {"x": failing(), "np": np}
    exec(lose, variables)
    for _ in range(2):
        try:
            dflow.waitall()
        except ValueError as error:
            reported.append(error)
    variables.clear()
    dflow.waitall()
    assert [str(error) for error in reported] == [NEGATIVE_POWER]
    assert site(reported[0])[::2] == (HERE, "failing")


# -- host tasks ------------------------------------------------------------------------------------

def test_a_host_tasks_error_reaches_its_future():
    future, where = dflow.submit(raise_lookup), line()
    for _ in range(2):
        with pytest.raises(LookupError, match="from the task") as caught:
            future.result()
        assert site(caught.value)[:2] == (HERE, where)
    assert future.done()


def test_a_host_task_with_a_poisoned_input_never_runs():
    ran = []
    x = failing()
    future = dflow.submit(ran.append, x)
    y = dflow.submit(lambda a: ran.append(a) or a, x, shape=(2,), dtype="int64")
    with pytest.raises(ValueError, match=NEGATIVE_POWER):
        future.result()
    assert str(error_of(y)) == NEGATIVE_POWER
    assert str(error_of(y + 1)) == NEGATIVE_POWER
    assert ran == []


def test_a_wait_inside_a_host_task_raises():
    with configured(workers=2), Gate() as gate:
        pending = gate.hold()
        waits = [dflow.submit(wait) for wait in (pending.wait_to_read, pending.asnumpy, lambda: float(pending[0]),
                                                 lambda: repr(pending), dflow.waitall)]
        waits.append(dflow.submit(lambda: dflow.submit(lambda: 1).result()))
        for future in waits[:-1]:
            with pytest.raises(RuntimeError):
                future.result()
        gate.open()
        try:
            waits[-1].result()              # the inner task may be over by the time it is asked for
        except RuntimeError:
            pass
        assert pending.tolist() == [0, 0]


def test_a_read_of_ready_data_inside_a_host_task_is_fine():
    x = np.ones(3)
    x.wait_to_read()
    assert dflow.submit(lambda: x.tolist() + [x.sum().item()]).result() == [1, 1, 1, 3]


def test_a_result_that_does_not_fit_its_shape():
    bad, where = dflow.submit(lambda: [1, 2, 3], shape=(2,), dtype="float64"), line()
    error = error_of(bad)
    assert type(error) is ValueError and "(3,)" in str(error) and "(2,)" in str(error)
    assert site(error)[:2] == (HERE, where)


def test_base_exceptions_of_host_tasks_are_kept_too():
    def leave():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        dflow.submit(leave).result()


# -- naive mode ------------------------------------------------------------------------------------

def test_naive_mode_fails_no_later_than_the_read():
    with configured(naive=True):
        with pytest.raises(ValueError, match=NEGATIVE_POWER):
            failing().wait_to_read()
        with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
            np.linalg.inv(np.zeros((2, 2))).wait_to_read()


# -- floating point warnings -----------------------------------------------------------------------

FLOATING = {
    "divide by zero encountered in divide": lambda np: np.ones(3) / np.zeros(3),
    "invalid value encountered in divide": lambda np: np.zeros(3) / np.zeros(3),
    "invalid value encountered in sqrt": lambda np: np.sqrt(-np.ones(3)),
    "overflow encountered in multiply": lambda np: np.full(3, 1e300) * np.full(3, 1e300),
    "divide by zero encountered in log": lambda np: np.log(np.zeros(3)),
    "overflow encountered in exp": lambda np: np.exp(np.full(3, 1e5)),
    "overflow encountered in reduce": lambda np: np.add.reduce(np.full(200_000, 1e304)),
    "overflow encountered in cast": lambda np: np.full(3, 100000).astype("f2"),
}


@pytest.mark.parametrize("text", FLOATING)
def test_floating_point_warnings_name_the_users_line(queued, text):
    expected, = recorded(lambda: FLOATING[text](numpy))
    actual, = recorded(lambda: FLOATING[text](np).wait_to_read())
    assert str(expected.message) == text
    assert (actual.category, str(actual.message)) == (RuntimeWarning, text)
    assert (actual.filename, actual.lineno) == (expected.filename, expected.lineno)


PIECES = {"rows": lambda np, x: np.cumprod(x, axis=1), "blocks": lambda np, x: x * x + 1,
          "reduction": lambda np, x: np.prod(x, axis=1), "columns": lambda np, x: np.prod(x, axis=0),
          "all": lambda np, x: np.prod(x)}


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("row", [0, 1000, 1998])
def test_of_a_kernel_in_pieces_each_may_warn(queued, name, row):
    def call(module):
        x = module.ones((2000, 600))
        x[row:row + 2] = 1e200
        PIECES[name](module, x).tolist()

    expected, actual = recorded(lambda: call(numpy)), recorded(lambda: call(np))
    assert {str(w.message) for w in actual} == {str(w.message) for w in expected} != set()


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_warnings_inside_functions_written_in_python_name_the_users_line(name, queued):
    def call(module):
        repr(getattr(module, name)(module.zeros((2, 0)), axis=1))
        dflow.waitall()         # for the mean, too: there are no deviations from it, so what is read waits not for it

    for module in (numpy, np):
        caught = recorded(lambda module=module: call(module))
        assert "invalid value encountered in divide" in [str(w.message) for w in caught]
        where = __file__, call.__code__.co_firstlineno + 1
        assert {(w.filename, w.lineno) for w in caught if module is np} <= {where}


def test_the_truth_of_what_is_there_gives_warnings_that_wait():
    with configured(limit=0):
        x = np.log(np.zeros(3)) < 0
        same = x[0]
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
            assert poll(same.is_ready)
            assert bool(same)


def test_a_mask_without_out_warns_as_in_numpy():
    def call(module, options):
        x = module.arange(3.0)
        return recorded(lambda: module.add(x, 1, where=x > 0, **options(x)))

    for options in (lambda x: {}, lambda x: {"out": None}, lambda x: {"out": x}):
        expected, actual = [[(w.category, str(w.message), w.filename, w.lineno) for w in call(module, options)]
                            for module in (numpy, np)]
        assert actual == expected


def recorded(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return caught


def test_errstate_counts_as_it_was_at_submission(queued):
    def divide():
        with numpy.errstate(all="ignore"):
            x = np.ones(2) / np.zeros(2)
        return x.tolist()

    assert recorded(divide) == []


ROWS = numpy.array([[numpy.nan] * 3, [1, 2, numpy.nan]])
EMPTY_SLICES = {
    "nanmin": lambda np: np.nanmin(np.array(ROWS), axis=1),
    "nanmax": lambda np: np.nanmax(np.array(ROWS)[0]),
    "nanmean": lambda np: np.nanmean(np.array(ROWS), 1),
    "nanstd": lambda np: np.nanstd(np.array(ROWS), 1),
    "nanvar": lambda np: np.nanvar(np.array(ROWS), 0, ddof=1),
    "nanmedian": lambda np: np.nanmedian(np.array(ROWS), 1),
    "nanquantile": lambda np: np.nanquantile(np.array(ROWS), 0.5, 1),
    "mean": lambda np: np.mean(np.array(ROWS), 1, where=np.array(ROWS) > 0),
    "var": lambda np: np.var(np.array(ROWS), 1, where=np.array(ROWS) > 0),
}


@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize("name", EMPTY_SLICES)
def test_slices_of_nothing_warn_as_in_numpy(name, limit):
    expected = recorded(lambda: EMPTY_SLICES[name](numpy))
    with configured(**({} if limit is None else {"limit": limit})):
        actual = recorded(lambda: EMPTY_SLICES[name](np).asnumpy())
    texts = [sorted(str(w.message) for w in some) for some in (actual, expected)]
    assert texts[0] == texts[1] and {w.category for w in actual} == {RuntimeWarning}
    if name in ("nanmin", "nanmax", "nanmean", "nanstd", "nanvar"):
        code = EMPTY_SLICES[name].__code__
        assert (actual[0].filename, actual[0].lineno) == (code.co_filename, code.co_firstlineno)


IN_TASKS = {
    "All-NaN slice encountered": lambda np, x: np.nanmedian(x * np.nan),
    "Degrees of freedom <= 0 for slice": lambda np, x: np.cov(x, fweights=x.astype(int), ddof=9),
    "Polyfit may be poorly conditioned": lambda np, x: np.polyfit(x, x, 2),
    "invalid value encountered in subtract": lambda np, x: np.percentile(x * np.inf, [30, 40]),
}


@pytest.mark.parametrize("text", IN_TASKS)
def test_what_numpys_functions_warn_of_in_tasks_names_the_users_line(text):
    """Of what their ufuncs warn NumPy names a line of its own; dflow, as always, the user's."""
    function = IN_TASKS[text]
    expected = recorded(lambda: function(numpy, numpy.array([1.0, 2.0])))
    with Gate() as gate:
        result = function(np, gate.hold(np.array([1.0, 2.0])))
        assert not result.is_ready()
        gate.open()
        actual = recorded(result.wait_to_read)
    assert [(w.category, str(w.message)) for w in actual] == [(w.category, str(w.message)) for w in expected]
    assert text in [str(w.message) for w in actual]
    code = function.__code__
    assert {(w.filename, w.lineno) for w in actual} == {(code.co_filename, code.co_firstlineno)}


@pytest.mark.parametrize("mode", ["ignore", "raise", "call", "log", "print"])
def test_errstate_counts_in_tasks_as_it_was_at_submission(mode, capfd):
    heard = []
    listener = type("Log", (), {"write": lambda _, text: heard.append(text),
                                "__call__": lambda _, kind, flag: heard.append(kind)})()
    answers = []
    for module in (numpy, np):
        with Gate() as gate:
            x = numpy.full(3, numpy.inf) if module is numpy else gate.hold(np.full(3, numpy.inf))
            with numpy.errstate(invalid=mode, call=listener):
                def call(x=x, module=module):
                    answers.append(outcome(lambda: module.percentile(x, [30, 40])) if module is numpy else
                                   module.percentile(x, [30, 40]))

                caught = recorded(call)
            gate.open()
        if module is np:
            caught = recorded(lambda: answers.append(outcome(answers.pop().asnumpy)))
        answers.append((caught, list(heard), capfd.readouterr().err))
        heard.clear()
    assert_same_outcome(answers[2], answers[0])
    assert answers[3] == answers[1]
    assert mode == "ignore" or answers[1][1:] != ([], "") or answers[0][1] is FloatingPointError


@pytest.mark.parametrize("rtol, atol", [(numpy.inf, 0.1), (0.1, numpy.nan), (0.1, 0.1)])
@pytest.mark.parametrize("mode", ["warn", "raise", "ignore"])
def test_tolerances_that_are_no_finite_numbers(rtol, atol, mode, queued):
    def told(module, number):
        with warnings.catch_warnings(record=True) as caught, module.errstate(invalid=mode):
            warnings.simplefilter("always")
            try:
                module.isclose(module.arange(3), 1.0, number(rtol), number(atol)).tolist()
            except FloatingPointError as error:
                return str(error)
        return [(type(warning.message), str(warning.message), os.path.basename(warning.filename)) for warning in caught]

    for number in (float, lambda x: np.array([x])[0], lambda x: dflow.engine.sleep(np.array([x]), 0.02)[0]):
        assert told(np, number) == told(numpy, float)


def test_a_filter_makes_the_warning_of_an_empty_slice_an_error(queued):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="All-NaN slice encountered"):
            np.nanmax(dflow.engine.sleep(np.array(ROWS), 0.02), 1).wait_to_read()


def test_all_nan_has_no_argmin():
    for module in (numpy, np):
        with pytest.raises(ValueError, match="All-NaN slice encountered"):
            module.nanargmin(module.array(ROWS), 1)


# -- rejected at the call --------------------------------------------------------------------------

REJECTED = {
    "broadcast": lambda np: np.zeros((2, 3)) + np.zeros(4),
    "broadcast three": lambda np: np.where(np.zeros(2) > 0, np.zeros(3), np.zeros(2)),
    "broadcast in place": lambda np: np.zeros(3).__iadd__(np.zeros((2, 3))),
    "broadcast_to": lambda np: np.broadcast_to(np.zeros(3), (2, 2)),
    "out shape": lambda np: np.add(np.zeros(3), 1, out=np.zeros(2)),
    "out casting": lambda np: np.add(np.zeros(3), 1.5, out=np.zeros(3, dtype=int)),
    "in-place casting": lambda np: np.arange(3).__iadd__(1.5),
    "in-place casting of arrays": lambda np: np.arange(3).__itruediv__(np.ones(3)),
    "assignment": lambda np: np.zeros(3).__setitem__(slice(None), np.zeros(4)),
    "assignment to rows": lambda np: np.zeros((3, 2)).__setitem__([0, 1], np.zeros(3)),
    "assignment of a list": lambda np: np.zeros(3).__setitem__(slice(None), [1, 2]),
    "assignment to a mask": lambda np: np.zeros(3).__setitem__(np.array([True, True, False]), np.zeros(3)),
    "bool subtract": lambda np: np.zeros(2, dtype=bool) - np.zeros(2, dtype=bool),
    "bool negative": lambda np: -np.zeros(2, dtype=bool),
    "float and": lambda np: np.zeros(2) & np.zeros(2),
    "float invert": lambda np: ~np.zeros(2),
    "complex floor": lambda np: np.floor(np.zeros(2, dtype=complex)),
    "complex remainder": lambda np: np.zeros(2, dtype=complex) % 2,
    "weak integer": lambda np: np.zeros(2, dtype="uint8") + 300,
    "weak negative": lambda np: np.zeros(2, dtype="uint8") + -1,
    "integer to a negative Python power": lambda np: np.arange(3) ** -1,
    "index": lambda np: np.zeros(3)[5],
    "negative index": lambda np: np.zeros((3, 4))[0, -5],
    "too many indices": lambda np: np.zeros(3)[0, 0],
    "float index": lambda np: np.zeros(3)[1.0],
    "text index": lambda np: np.zeros(3)["a"],
    "two ellipses": lambda np: np.zeros(3)[..., ...],
    "list index": lambda np: np.zeros(3)[[0, 7]],
    "float list index": lambda np: np.zeros(3)[[0.5]],
    "mask length": lambda np: np.zeros(3)[np.array([True, False])],
    "index arrays": lambda np: np.zeros((3, 3))[[0, 1], [0, 1, 2]],
    "slice step zero": lambda np: np.zeros(3)[::0],
    "slice of floats": lambda np: np.zeros(3)[0.5:],
    "set index": lambda np: np.zeros(3).__setitem__(9, 1),
    "set too many": lambda np: np.zeros(3).__setitem__((0, 0), 1),
    "index a scalar": lambda np: np.zeros(())[0],
    "take": lambda np: np.take(np.zeros(3), [5]),
    "sum axis": lambda np: np.zeros((2, 3)).sum(axis=2),
    "sum negative axis": lambda np: np.zeros((2, 3)).sum(axis=-3),
    "sum axes": lambda np: np.zeros((2, 3)).sum(axis=(0, 5)),
    "sum duplicate axes": lambda np: np.zeros((2, 3)).sum(axis=(0, 0)),
    "sum float axis": lambda np: np.zeros((2, 3)).sum(axis=0.5),
    "max of nothing": lambda np: np.zeros(0).max(),
    "min of nothing on an axis": lambda np: np.zeros((2, 0)).min(axis=1),
    "argmax of nothing": lambda np: np.zeros(0).argmax(),
    "argmax axis": lambda np: np.zeros(3).argmax(axis=1),
    "cumsum axis": lambda np: np.cumsum(np.zeros(3), axis=1),
    "sort axis": lambda np: np.sort(np.zeros(3), axis=1),
    "reshape": lambda np: np.zeros(6).reshape(4, 2),
    "reshape unknown": lambda np: np.zeros(6).reshape(-1, 4),
    "reshape two unknown": lambda np: np.zeros(6).reshape(-1, -1),
    "transpose": lambda np: np.zeros((2, 3)).transpose(0, 0),
    "transpose length": lambda np: np.zeros((2, 3)).transpose((0,)),
    "transpose axis": lambda np: np.zeros((2, 3)).transpose(0, 2),
    "swapaxes": lambda np: np.swapaxes(np.zeros((2, 3)), 0, 2),
    "squeeze": lambda np: np.squeeze(np.zeros((2, 3)), axis=0),
    "expand_dims": lambda np: np.expand_dims(np.zeros(3), 5),
    "moveaxis": lambda np: np.moveaxis(np.zeros((2, 3)), 0, 4),
    "concatenate": lambda np: np.concatenate([np.zeros((2, 3)), np.zeros((2, 4))]),
    "concatenate dimensions": lambda np: np.concatenate([np.zeros((2, 3)), np.zeros(3)]),
    "concatenate nothing": lambda np: np.concatenate([]),
    "concatenate scalars": lambda np: np.concatenate([np.zeros(()), np.zeros(())]),
    "concatenate axis": lambda np: np.concatenate([np.zeros(3), np.zeros(3)], axis=1),
    "stack": lambda np: np.stack([np.zeros(2), np.zeros(3)]),
    "stack nothing": lambda np: np.stack([]),
    "split": lambda np: np.split(np.zeros(5), 2),
    "matmul": lambda np: np.zeros((2, 3)) @ np.zeros((2, 3)),
    "matmul of a vector": lambda np: np.zeros((2, 3)) @ np.zeros(2),
    "matmul of a scalar": lambda np: np.zeros((2, 3)) @ 2,
    "dot": lambda np: np.dot(np.zeros((2, 3)), np.zeros((2, 3))),
    "inner": lambda np: np.inner(np.zeros((2, 3)), np.zeros((2, 4))),
    "vdot": lambda np: np.vdot(np.zeros(2), np.zeros(3)),
    "tensordot": lambda np: np.tensordot(np.zeros((2, 3)), np.zeros((2, 3)), axes=1),
    "einsum": lambda np: np.einsum("ij,jk", np.zeros((2, 3)), np.zeros((2, 3))),
    "inv of a rectangle": lambda np: np.linalg.inv(np.zeros((2, 3))),
    "inv of a vector": lambda np: np.linalg.inv(np.zeros(3)),
    "solve": lambda np: np.linalg.solve(np.eye(3), np.zeros(2)),
    "clip without limits": lambda np: np.clip(np.zeros((2, 3)), np.zeros(2), None),
    "negative dimension": lambda np: np.zeros(-1),
    "shape of floats": lambda np: np.zeros(2.5),
    "full": lambda np: np.full((2, 2), [1, 2, 3]),
    "arange without end": lambda np: np.arange(),
    "arange step zero": lambda np: np.arange(0, 3, 0),
    "linspace": lambda np: np.linspace(0, 1, -1),
    "eye": lambda np: np.eye(-1),
    "ragged": lambda np: np.array([[1, 2], [3]]),
    "dtype name": lambda np: np.zeros(2, dtype="nonsense"),
    "astype casting": lambda np: np.zeros(2).astype("int64", casting="safe"),
    "casting name": lambda np: np.add(np.zeros(2), 1, casting="nonsense"),
    "unknown option": lambda np: np.add(np.zeros(2), 1, nonsense=1),
    "missing operand": lambda np: np.add(np.zeros(2)),
    "where dtype": lambda np: np.add(np.zeros(2), 1, out=np.zeros(2), where=np.ones(2)),
    "reduce of one operand": lambda np: np.negative.reduce(np.zeros(2)),
    "at": lambda np: np.add.at(np.zeros(2), [5], 1),
    "float of several": lambda np: float(np.zeros(2)),
    "int of several": lambda np: int(np.zeros((2, 1))),
    "complex of several": lambda np: complex(np.zeros(2)),
    "bool of several": lambda np: bool(np.zeros(2)),
    "bool of none": lambda np: bool(np.zeros(0)),
    "item of several": lambda np: np.zeros(2).item(),
    "item index": lambda np: np.zeros(2).item(7),
    "index of a float": lambda np: [1, 2][np.ones(())],
    "index of several": lambda np: range(np.zeros(2, dtype=int)),
    "len of a scalar": lambda np: len(np.zeros(())),
    "iteration over a scalar": lambda np: iter(np.zeros(())),
    "hash": lambda np: {np.zeros(2)},
    "write to a broadcast": lambda np: np.broadcast_to(np.zeros(3), (2, 3)).__setitem__(0, 1),
    "shape assignment": lambda np: setattr(np.zeros(3), "shape", (2,)),
    "a list as an element": lambda np: np.zeros(2).__setitem__(0, [1]),
    "lists as an element": lambda np: np.zeros((2, 2)).__setitem__((0, 1), [[1, 2]]),
    "a list as an integer": lambda np: np.arange(2).__setitem__(0, [1]),
    "a list as a complex element": lambda np: np.zeros(2, complex).__setitem__(0, [1]),
    "an array as an element": lambda np: np.zeros(2).__setitem__(0, np.array([1])),
    "an array as an integer": lambda np: np.arange(2).__setitem__(-1, np.array([1, 2])),
    "a list as all there is": lambda np: np.zeros(()).__setitem__(Ellipsis, [1]),
    "fill with a list": lambda np: np.zeros(2).fill([1]),
    "fill with an array": lambda np: np.zeros(2).fill(np.array([1, 2])),
    "no shape": lambda np: np.zeros(None),
    "einsum order": lambda np: np.einsum("i->i", np.zeros(2), order="W"),
    "copy order": lambda np: np.zeros(2).copy("W"),
    "plus None": lambda np: np.zeros(2) + None,
    "None minus": lambda np: None - np.arange(2),
    "less than None": lambda np: np.zeros(2) < None,
    "plus a text": lambda np: np.zeros(2) + "a",
    "a text plus": lambda np: "a" + np.arange(2),
    "divmod of a text": lambda np: divmod(np.zeros(2), "a"),
    "in-place None": lambda np: np.zeros(2).__iadd__(None),
    "in-place text": lambda np: np.arange(2).__imul__("a"),
    "resize of a view": lambda np: np.zeros(6)[:4].resize(3),
    "resize of columns": lambda np: np.zeros((3, 4))[:, 1:].resize(3),
    "resize to less than nothing": lambda np: np.zeros(6).resize(-1),
    "byteswap": lambda np: np.broadcast_to(np.zeros(3), (2, 3)).byteswap(True),
    "choice of nothing": lambda np: np.random.choice([], 1),
    "choice of zero": lambda np: np.random.choice(0, 1),
    "choice of too few": lambda np: np.random.choice(3, 5, replace=False),
    "choice of a float": lambda np: np.random.choice(2.5),
    "choice of rows": lambda np: np.random.choice([[1, 2]]),
    "choice by wrong chances": lambda np: np.random.choice(3, p=[0.1, 0.2, 0.3]),
    "a generator's choice of nothing": lambda np: np.random.default_rng(0).choice([], 1),
    "uniform": lambda np: np.random.default_rng(0).integers(5, 2),
    "element of a list": lambda np: np.zeros(3).__setitem__(0, [1, 2]),
    "integer of a list": lambda np: np.arange(3).__setitem__(0, [1, 2]),
    "element of a list of one": lambda np: np.zeros((2, 3)).__setitem__((0, 1), [1]),
    "element of nothing": lambda np: np.zeros(3).__setitem__(-1, []),
    "element of an array": lambda np: np.zeros(3).__setitem__(0, np.zeros(2)),
    "element of NumPy's array": lambda np: np.zeros(3).__setitem__(0, numpy.zeros(2)),
    "a scalar's list": lambda np: np.zeros(()).__setitem__((), (1, 2)),
    "add None": lambda np: np.arange(3) + None,
    "None first": lambda np: None - np.zeros((2, 3), dtype="f4"),
    "None to a scalar": lambda np: np.arange(3)[0] * None,
    "compare None": lambda np: np.arange(3) < None,
    "None in place": lambda np: np.arange(3).__iadd__(None),
    "matmul of None": lambda np: np.zeros(3) @ None,
    "divmod of None": lambda np: divmod(np.zeros(3), None),
    "add text": lambda np: np.arange(3) + "a",
    "text in place": lambda np: np.arange(3).__imul__("a"),
    "compare text": lambda np: np.arange(3) >= "a",
    "choice of no numbers": lambda np: np.random.choice(0, 1),
    "choice of too many": lambda np: np.random.choice(3, 5, replace=False),
    "choice of too many of an array": lambda np: np.random.choice(np.zeros(3), 5000, replace=False),
    "choice with other probabilities": lambda np: np.random.choice(3, 2, p=[0.5, 0.5]),
    "choice with large probabilities": lambda np: np.random.choice(2, 5000, p=[1, 1]),
    "a generator's choice of too many": lambda np: np.random.default_rng(0).choice(3, 5, replace=False),
    "choice of scale": lambda np: np.random.default_rng(0).normal(0, -1, 3),
    "a number out of bounds": lambda np: np.unravel_index(np.array([1, 12]), (3, 4)),
    "an index out of bounds": lambda np: np.ravel_multi_index((np.array([1, 3]), [1, 2]), (3, 4)),
    "edges that fall": lambda np: np.histogram(np.ones(3), np.array([1, 3, 2])),
    "a span of nothing": lambda np: np.histogram(np.array([1.0, np.nan])),
    "negative weights": lambda np: np.quantile(np.ones(3), 0.5, weights=np.array([1, -1, 1]), method="inverted_cdf"),
    "fractions for frequencies": lambda np: np.cov(np.ones((2, 3)), fweights=np.array([1, 0.5, 1])),
    "a space around zero": lambda np: np.geomspace(np.array([0.0, 1.0]), 3.0),
}


@pytest.mark.parametrize("name", REJECTED)
def test_rejected_at_the_call_as_in_numpy(name):
    with pytest.raises(Exception) as expected:
        REJECTED[name](numpy)
    with pytest.raises(Exception) as actual:
        REJECTED[name](np)
    text = str(expected.value).replace("'numpy.ndarray'", "'ndarray'")      # the class has its name, not its module
    assert (type(actual.value), str(actual.value)) == (type(expected.value), text)


def test_a_rejected_call_changes_nothing():
    x = np.arange(3)
    for call in (lambda: x.__setitem__(slice(None), np.zeros(4)), lambda: x.__iadd__(1.5), lambda: x.__setitem__(5, 1)):
        with pytest.raises((ValueError, TypeError, IndexError)):
            call()
    assert x.tolist() == [0, 1, 2]


# How NumPy writes the dtype, or its name; and the call.
FOREIGN = {
    "object": ("object", lambda np: np.zeros(2, dtype=object)),
    "objects": ("object", lambda np: np.array([None, 1])),
    "one object": ("object", lambda np: np.array(object())),
    "astype object": ("object", lambda np: np.zeros(2).astype(object)),
    "an operand of objects": ("object", lambda np: np.zeros(2) + numpy.array([None, None])),
    "a ufunc on objects": ("object", lambda np: np.add(np.ones(2), 1, dtype=object)),
    "a task's objects": ("object", lambda np: dflow.submit(lambda: 1, shape=(2,), dtype=object)),
    "string": ("<U3|str", lambda np: np.zeros(2, dtype="U3")),
    "strings": ("<U2|str", lambda np: np.array(["a", "bc"])),
    "strings from NumPy": ("<U1|str", lambda np: np.asarray(numpy.array(["x"]))),
    "full of strings": ("<U1|str", lambda np: np.full(2, "a")),
    "astype string": ("<U|str", lambda np: np.zeros(2).astype("U")),
    "bytes": ("S2|bytes", lambda np: np.array([b"ab"])),
    "datetimes": ("datetime64", lambda np: np.array(["2020-01-01"], dtype="datetime64[D]")),
    "empty datetimes": ("datetime64", lambda np: np.empty(1, dtype="M8[s]")),
    "timedeltas": ("timedelta64", lambda np: np.ones(2, dtype="timedelta64[s]")),
    "records": ("'a'.*'b'|void|record", lambda np: np.zeros(2, dtype=[("a", "i4"), ("b", "f8")])),
    "void": ("V5|void", lambda np: np.zeros(2, dtype="V5")),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_dtypes_that_are_not_numeric_are_numpys_own(name):
    pattern, call = FOREIGN[name]
    expected = outcome(lambda: call(numpy))
    if "task" in name or expected[0] == "error":
        with pytest.raises(TypeError, match=pattern if "task" in name else ""):
            call(np)
    else:
        made = call(np)
        assert type(made) is numpy.ndarray and re.search(pattern, str(made.dtype))


def test_copying_an_error_may_end_others():
    """waitall() raises copies; making one runs Python code, which may drop the last array that carries an error."""
    class Odd(Exception):
        def __copy__(self):
            failed.clear()
            dflow.engine.statistics()
            junk.extend(bytearray(b"A" * 47) for _ in range(2000))
            return Odd(*self.args)

    def fail():
        raise Odd("odd")

    junk = []
    failed = [dflow.submit(fail, shape=(3,)) for _ in range(50)]
    while not all(x.is_ready() for x in failed):
        pass
    with pytest.raises(ExceptionGroup) as raised:
        dflow.waitall()
    assert [type(error) for error in raised.value.exceptions] == [Odd] * 50


# -- options are not lost on the fast paths of calls ------------------------------------------------

@pytest.mark.parametrize("options", [{"axis": 0}, {"axes": [(0,), (0,), (0,)]}, {"keepdims": False}])
def test_an_elementwise_ufunc_has_no_core_axes(options):
    x = np.ones(3) + np.ones(3)                 # so that add knows the types
    with pytest.raises(TypeError, match=f"add\\(\\) got an unexpected keyword argument '{next(iter(options))}'"):
        np.add(x, x, **options)
    with pytest.raises(TypeError, match=r"sqrt\(\) got an unexpected keyword argument"):
        np.sqrt(np.sqrt(x), **options)
    with pytest.raises(TypeError, match="'out' must be a tuple of arrays"):
        np.modf(x, out=None)


@pytest.mark.parametrize("name", ["sig", "signature"])
def test_the_types_of_a_loop_can_be_named(name):
    x = np.ones(3)
    assert (x + x).dtype == "float64" and np.sqrt(x).dtype == "float64"
    assert np.add(x, x, **{name: ("f", "f", "f")}).dtype == "float32"
    assert np.sqrt(x, **{name: ("f", "f")}).dtype == "float32"


def test_a_generalized_ufunc_does_not_write_to_a_read_only_array():
    x, out = np.ones((3, 3)), np.zeros((3, 3))
    out.setflags(write=False)
    with pytest.raises(ValueError, match="output array is read-only"):
        np.matmul(x, x, out=out)
    assert not out.asnumpy().any()


def test_an_error_names_the_line_of_code_that_is_gone():
    x = dflow.engine.sleep(np.array([1, 2]), 0.01)
    y = eval(compile("\n\nx ** z", "a cell", "eval"), {"x": x, "z": np.array([-1, -1])})
    assert site(error_of(y)) == ("a cell", 3, "<module>")


# -- which of two errors -----------------------------------------------------------------------------

TARGETS = {
    "empty": lambda module: module.zeros(0, "B"),
    "bytes": lambda module: module.zeros(3, "B"),
    "read-only": lambda module: module.broadcast_to(module.zeros(1, "B"), (3,)),
    "empty, read-only": lambda module: module.broadcast_to(module.zeros(0, "B"), (0,)),
    "no axes": lambda module: module.zeros((), "B"),
    "no axes, read-only": lambda module: module.broadcast_to(module.zeros((), "B"), ()),
    "matrix": lambda module: module.zeros((2, 2)),
    "matrix, read-only": lambda module: module.broadcast_to(module.zeros((1, 2), "D"), (2, 2)),
}
WRITES = [
    "x.put([1], 256)",
    "x.put([], 256)",
    "x.put([7], 256)",
    "x.put([1], 1j)",
    "x.put([1.5], 256)",
    "x.put([1], 1, mode='none')",
    "x.put([1], 1, mode=2)",
    "x.put([1], 1, mode='CLIP')",
    "x.put([1], [], mode='wrap')",
    "x.put('a', 1)",
    "x.put(1, 'a')",
    "x.fill([1, 2])",
    "x.fill('a')",
    "np.place(x, [1, 1], [])",
    "np.putmask(x, [1, 1, 1], [])",
    "np.copyto(x, [1, 2, 3, 4])",
    "np.copyto(x, 'a')",
    "np.copyto(x, 1, where='a')",
    "x.sort(axis=7)",
    "x.sort(kind='w')",
    "x.partition(9)",
    "x.partition(0, axis=8)",
    "x.__setitem__(7, 'a')",
    "x.__setitem__('a', 'a')",
    "x.__setitem__(slice(None), [1, 2, 3, 4])",
    "x.flat.__setitem__(9, 'a')",
    "x.flat.__setitem__(9, 1)",
    "setattr(x, 'real', 'a')",
    "setattr(x, 'real', [1, 2, 3, 4])",
    "setattr(x, 'imag', 1)",
    "setattr(x, 'flat', [1])",
    "x.byteswap(inplace=True)",
    "x.__iadd__([1, 2, 3, 4])",
    "x.__iadd__(1j)",
    "np.add(x, 1j, out=x)",
    "np.sum(x, axis=4, out=x)",
    "np.take(x, [9], out=x)",
    "np.take(x, [9], mode=2)",
    "np.take(x, [9], mode=None)",
    "np.choose([9], [x], out=x)",
    "np.choose([[9]], [x], mode=1)",
]


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("pending", [False, True], ids=["ready", "pending"])
def test_which_of_two_errors(kind, write, pending):
    """Writes that are wrong in two ways raise what NumPy raises, and write as little."""
    ends = []
    for module in (numpy, np):
        x = TARGETS[kind](module)
        if pending and module is np and x.flags.writeable:
            x = dflow.engine.sleep(x, 3e-4)
        try:
            eval(write, {"np": module, "x": x})
            ends.append(None)
        except Exception as error:
            ends.append(type(error))
        ends.append(numpy.asarray(x).tolist())
    assert ends[:2] == ends[2:]
