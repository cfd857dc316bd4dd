"""Subclasses of ndarray, and views of types that arrays of ours do not hold: NumPy's, over the same memory."""

import copy
import gc
import pickle
from functools import partial

import numpy
import pytest
from compare import assert_same_outcome, outcome
from engines import Gate

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.once            # see pyproject.toml


class Tracked(np.ndarray):
    """As mesh libraries have it: a view that notes what is written to it."""

    written = 0

    def __new__(cls, x):
        return np.ascontiguousarray(x).view(cls)

    def __array_finalize__(self, other):
        if isinstance(other, type(self)):
            self.written = other.written

    def __setitem__(self, key, value):
        self.written += 1
        super().__setitem__(key, value)


def test_a_view_of_a_subclass_shows_the_same_memory():
    x = np.arange(6.0).reshape(2, 3)
    for view in (x.view(Tracked), x.view(type=Tracked), x.view("f8", Tracked), x.T.view(Tracked).T):
        assert type(view) is Tracked and numpy.shares_memory(view, numpy.asarray(x))
        view[0, 0] += 1
        assert view.written == 1
    assert x[0, 0] == 4
    x *= 2                                          # done when it returns, as somebody sees the memory
    assert view.tolist() == x.tolist() == [[8, 2, 4], [6, 8, 10]]


def test_a_view_keeps_the_memory():
    view = (np.arange(1e5) + 1).view(Tracked)
    gc.collect()
    junk = [np.zeros(10**5) for _ in range(20)]     # which would take it
    assert view.sum() == numpy.arange(1e5 + 1).sum() and not junk[3][0]


def test_a_view_waits_for_what_is_pending():
    with Gate() as gate:
        x = gate.hold(np.ones(5)) + 1
        gate.open()
        assert x.view(Tracked).tolist() == [2] * 5


def test_a_subclass_is_numpys():
    assert issubclass(Tracked, numpy.ndarray) and issubclass(Tracked, np.ndarray)
    x = Tracked([1.0, 2.0])
    assert isinstance(x, np.ndarray) and isinstance(x, Tracked) and not isinstance(np.ones(2), Tracked)
    assert type(x) is type(x + 1) is type(x[:1]) is type(np.ones(2) * x) is Tracked
    assert type(pickle.loads(pickle.dumps(x))) is type(copy.deepcopy(x)) is Tracked
    for plain in (x.view(np.ndarray), x.view(type=np.ndarray), x.view("f8", np.ndarray)):
        assert type(plain) is numpy.ndarray and isinstance(plain, np.ndarray) and numpy.shares_memory(plain, x)
    assert x.view("i8").dtype == int and type(np.add.reduce(x)) is type(numpy.add.reduce(x))


def test_a_subclass_with_parts_of_others():
    class Named:
        name = "a"

    class Both(Named, np.ndarray, **{}):
        def __new__(cls, shape, **keywords):
            self = np.ndarray.__new__(cls, shape, dtype="i4", order="F", **keywords)
            self.fill(7)
            return self

        def __init_subclass__(cls, mark=None, **keywords):
            super().__init_subclass__(**keywords)
            cls.mark = mark

        def __repr__(self):
            return f"{super().__repr__()} of {__class__.__name__}"

    class Last(Both, mark=5):
        pass

    last = Last((2, 3))
    assert type(last) is Last and last.tolist() == [[7] * 3] * 2 and last.flags.f_contiguous
    assert Last.mark == 5 and last.name == "a" and repr(last).endswith("of Both")
    assert Last((3,), buffer=numpy.zeros(3, "i4")).tolist() == [7, 7, 7]


VIEWS = ["x.view('V8')", "x.view('V24')", "x.view(np.dtype((np.void, 24)))", "x.view([('a', 'f8'), ('b', 'c16')])",
         "x.view([('a', 'i4'), ('b', 'f4')])", "x.view('>f8')", "x.view('S8')", "x.view('M8[s]')", "x.view('V7')",
         "x.T.view('V16')", "x[:, ::2].view('>i8')", "x[0, 0].view('V8')", "x[0, 0].view('M8[s]')", "x.view(object)",
         "x.view('nonsense')", "x[:0].view('V8')", "x.view('f4')[:, 1:].view('f8')", "x.view('i1')[:, 1:9].view('f8')",
         "x.view('i1')[:, 1:5].view('i4') + 1", "np.unique(x.view('V24'))",
         "np.unique(x.view('V24'), return_index=True)[1]",
         "x.view(np.dtype('V24')).ravel().tolist()"]


@pytest.mark.parametrize("text", VIEWS)
def test_views_of_what_dflow_does_not_hold(text):
    grid = (numpy.arange(12.0).reshape(4, 3) // 6).copy()
    assert_same_outcome(*(outcome(lambda module=module: eval(text, {"np": module, "x": module.array(grid)}))
                          for module in (np, numpy)))


def test_what_is_written_to_bytes_is_written_to_the_array():
    x = np.zeros((2, 2))
    x.view("V16")[1] = numpy.ones(2).view("V16")[0]
    x.view(">f8")[0, 0] = 1
    assert x.tolist() == [[numpy.array(1.0).byteswap().item(), 0], [1, 1]]
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x.view(">f8")[0, 0] = 2


def test_ndarray_is_made_as_before():
    assert type(np.ndarray((2, 3), "i4")) is type(np.ndarray.__new__(np.ndarray, (2, 3))) is dflow.ndarray
    x = np.ndarray.__new__(np.ndarray, shape=(3,), dtype="i4", buffer=numpy.arange(3, dtype="i4"))
    assert type(x) is dflow.ndarray and x.tolist() == [0, 1, 2]
    with pytest.raises(TypeError):
        np.ndarray.__new__(int, 3)


def test_an_array_of_ours_wraps_what_a_subclass_gives():
    x = np.arange(3.0)
    for given in (x.view(Tracked), numpy.arange(3.0).view(numpy.matrix), numpy.array(2.0).view(Tracked)):
        wrapped = x.__array_wrap__(given)
        assert type(wrapped) is dflow.ndarray and wrapped.tolist() == given.tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["np.add(x, 1, where=m, out=None).dtype", "np.add(x, 1, where=m, out=(None,)).dtype",
                                  "np.add(x, 1, where=m).dtype", "np.add(x, 1, where=m, out=x)", "np.add(x, 1, None)"])
def test_outputs_beside_a_subclass(text):
    results = []
    for module in (np, numpy):
        names = {"np": module, "x": module.arange(3).view(Tracked), "m": module.ones(3, bool)}
        results.append(outcome(partial(eval, text, names)))
    assert_same_outcome(*results)
