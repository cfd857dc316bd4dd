"""How other libraries come to be given NumPy's arrays, and what of NumPy's our random streams say they are."""

import subprocess
import sys
import types

import numpy
import pytest
from dflow._functions.given import given_numpys, numpys
from engines import Gate, clean_environment, configured

import dflow.numpy as np
from dflow import _libraries

pytestmark = pytest.mark.once


def test_only_what_is_ours_changes():
    x, others = np.arange(3.0), [object(), 1, "a", numpy.ones(2), (1, [2]), {"a": {"b": 1}}, range(3)]
    for thing in others:
        assert numpys(thing) is thing
    given = numpys([x, (x[1], {"a": x}), slice(x[0], x[1])])
    assert type(given[0]) is type(given[1][1]["a"]) is numpy.ndarray
    assert type(given[1][0]) is type(given[2].start) is numpy.float64
    given[0][0] = 7
    assert x[0] == 7                                        # the same memory


def test_what_functions_return_is_numpys():
    x = np.arange(3.0)

    class Bound:
        def method(self, i):
            return x[i]

    def named(i):
        """Its text."""
        return x[i]

    given = numpys(named)
    assert type(given(1)) is type(numpys(Bound().method)(1)) is numpy.float64
    assert (given.__name__, given.__doc__) == ("named", "Its text.")


def test_a_function_without_a_frame():
    def caller():
        return sys._getframe(1).f_code.co_name

    assert given_numpys(caller)() == "test_a_function_without_a_frame"


def test_a_long_list_of_numbers_is_not_looked_through():
    many = [0.0] * 100
    assert numpys(many) is many


def test_it_waits_and_raises():
    @given_numpys
    def values(x):
        return x.tolist()

    with configured(workers=2), Gate() as gate:
        held = gate.hold(np.ones(2))
        gate.open()
        assert values(held + 1) == [2, 2]
    with pytest.raises(np.linalg.LinAlgError):
        values(np.linalg.inv(np.zeros((40, 40))))


def test_methods_of_all_kinds(monkeypatch):
    class Table:
        def rows(self, x):
            return type(x)

        @classmethod
        def of(cls, x):
            return type(x)

        @staticmethod
        def free(x):
            return type(x)

        def _inner(self, x):
            return type(x)

        def __getitem__(self, x):
            return type(x)

        length = 3

    library = types.ModuleType("a_library")
    library.Table = Table
    Table.__module__ = "a_library.tables"
    monkeypatch.setitem(_libraries.GIVEN, "a_library", {"Table": "* __getitem__", "Gone": "*"})
    _libraries._adapt(library)
    _libraries._adapt(library)                              # what is done is not done again
    x, table = np.ones(2), Table()
    assert {table.rows(x), Table.of(x), Table.free(x), table[x]} == {numpy.ndarray}
    assert table._inner(x) is type(x) and table.length == 3


PROGRAMS = ["import pandas, dflow.numpy as np", "import dflow.numpy as np, pandas"]


@pytest.mark.parametrize("imports", PROGRAMS)
def test_in_either_order(imports):
    pytest.importorskip("pandas")
    program = f"{imports}\nprint(pandas.Series([1, 2, 3])[np.array([True, False, True])].tolist())"
    done = subprocess.run([sys.executable, "-c", program], env=clean_environment(), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[1, 3]\n", "")


def test_no_library_is_imported():
    names = {name.partition(".")[0] for name in _libraries.ARRIVED}
    program = f"import dflow.numpy, sys; print(sorted({names!r} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], env=clean_environment(), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_warnings_name_the_line_of_the_program():
    pandas = pytest.importorskip("pandas")
    with pytest.warns(UserWarning) as caught:
        pandas.to_datetime(["13-01-2020"], dayfirst=False)
    assert caught[0].filename == __file__


def test_random_streams_are_numpys_to_who_asks():
    state, stream = np.random.RandomState(0), np.random.default_rng(0)
    assert isinstance(state, numpy.random.RandomState) and isinstance(state, np.random.RandomState)
    assert isinstance(stream, numpy.random.Generator) and isinstance(stream, np.random.Generator)
    theirs = numpy.random.default_rng(stream)
    assert type(theirs) is numpy.random.Generator
    assert theirs.random() != numpy.random.default_rng(np.random.default_rng(0)).random(2)[1]
    assert theirs.random() != theirs.random()


@pytest.mark.parametrize("dtype", [float, complex])
def test_matrices_are_linear_operators(dtype):
    a = np.arange(6.0).reshape(2, 3).astype(dtype) * (1 + 1j if dtype is complex else 1)
    x = np.arange(3.0)
    assert a.matvec(x).tolist() == (a @ x).tolist()
    assert a.rmatvec(x[:2]).tolist() == a.rmatmat(x[:2]).tolist() == (a.conj().T @ x[:2]).tolist()
    assert not hasattr(x, "matvec") and not hasattr(x.reshape(1, 1, 3), "rmatvec")


def test_conversions_of_numpys_give_numpys():
    x = np.arange(3.0)
    for convert in (numpy.atleast_1d, numpy.atleast_2d, numpy.atleast_3d):
        assert type(convert(x)) is numpy.ndarray and numpy.shares_memory(convert(x), x)
    one, two = numpy.atleast_1d(x, 5)
    assert type(one) is numpy.ndarray and two.tolist() == [5]
    assert type(np.atleast_2d(x)) is type(x)
