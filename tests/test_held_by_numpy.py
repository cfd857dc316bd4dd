"""What NumPy holds and dflow does not: texts, dates, records, objects, other byte orders, masked arrays.

Such arrays are NumPy's own, and functions that meet one are NumPy's.
"""

import datetime
from functools import partial

import numpy
import numpy.lib.recfunctions
import pytest
from compare import assert_same_outcome, outcome

import dflow.numpy as np

pytestmark = pytest.mark.once            # see pyproject.toml

CALLS = """
np.array([None]*3)
np.array(["a","b"])
np.array(["a","b"]) == "a"
np.empty(3, dtype=object)
np.empty((2,2), object)
np.zeros(3, "U5")
np.zeros(3, "M8[s]")
np.ones(3, object)
np.full(3, "a")
np.full(3, None)
np.full((2,2), "x", dtype=object)
np.full(3, 7, dtype=object)
np.array([1,2], dtype=object)
np.array([1,2], dtype=str)
np.array(["string", None, 1.25], dtype=np.dtypes.StrDType)
np.asarray(np.array([1.5, "text"], object), np.dtypes.BytesDType)
np.array([x, x * 100], np.dtypes.StrDType)
x.astype(np.dtypes.StrDType)
np.array([1,2], dtype=">f4")
np.array(x, dtype=object)
np.array([[1, 2], [3, 4]], dtype=object, ndmax=1)
np.array([1, 2], ndmax=0, dtype=object)
np.divmod(np.ones(3, "m8[s]"), np.full(3, 2, "m8[s]"))[1]
np.divmod(np.array([7, 8], object), np.array([2, 3], object))
np.modf(np.ones(3, object))
np.asarray(x, dtype=object)
np.asarray(["a"])
np.asanyarray(numpy.array(["a"]))
np.array([1.5, "a"])
np.array([x, None], dtype=object)
np.array([2**70])
np.array([datetime.datetime(2020,1,1)])
np.array(["2020-01-01"], dtype="M8[D]")
np.arange("2020-01", "2020-03", dtype="M8[M]")
np.array([(1,2.)], dtype=[("a",int),("b",float)])
np.zeros(3, dtype=[("a",int),("b",float)])
x.astype(object)
x.astype(str)
x.astype("S4")
x.astype(">f8")
x.astype("M8[s]")
np.astype(x, object)
np.r_[x, None]
np.c_[x, [None] * len(x)]
np.r_[x, len, 1]
np.r_[1, np.array([None]), x]
np.concatenate([x, ["a"]])
np.concatenate([np.array(["a"]), np.array(["b"])])
np.append(["a"], ["b"])
np.hstack([["a"], x])
np.unique(["b","a","b"])
np.sort(["b","a"])
np.argsort(["b","a"])
np.where(x > 2, "a", "b")
np.where(x > 2, None, x)
np.isin(["a"], ["a","b"])
np.tile(["a"], 2)
np.repeat(["a","b"], 2)
np.stack([["a"],["b"]])
np.reshape(["a","b"], (2,1))
np.ravel([["a"]])
np.shape(["a","b"])
np.ndim(["a"])
np.size(["a"])
np.char.upper(["a"])
np.array_equal(["a"],["a"])
np.array_equal(np.array(["a"]), x)
np.equal(["a"],["a"])
np.add(np.array([1,2],dtype=object), x[:2])
np.array([1,2],dtype=object) + x[:2]
x[:2] + np.array([1,2],dtype=object)
x[:2] * numpy.array([1,2],dtype=object)
x == "a"
x != None
x == None
x[0] == "a"
np.sum(np.array([1,2],dtype=object))
np.mean(np.array([1,2],dtype=object))
np.dot(np.array([1,2],dtype=object), np.array([1,2],dtype=object))
np.nonzero(["a",""])
np.argwhere(np.array(["a",""]))
np.array(["a","b"])[x[:2] > 0]
np.array(["a","b"])[np.array([0,1,1])]
np.take(["a","b"], np.array([0,1]))
np.take_along_axis(np.array(["a","b"]), np.array([1]), 0)
np.ma.masked_array(x, x > 2)
np.matrix([[1,2]])
np.asmatrix(x)
np.array(np.ma.masked_array([1,2.],[0,1]))
np.array(np.ma.masked_array([1,2.],[0,1]), subok=True)
np.array(numpy.matrix([[1]]), subok=True)
np.array(3, dtype=(float, 2))
np.zeros(3, dtype=(int, 2))
np.frompyfunc(lambda a: str(a), 1, 1)(x)
np.vectorize(lambda a: str(a))(x)
np.fromiter(["a","b"], dtype="U1")
np.array_split(["a","b","c"], 2)
np.split(np.array(["a","b"]), 2)
np.expand_dims(["a"], 0)
np.squeeze([["a"]])
np.transpose([["a","b"]])
np.atleast_2d(["a"])
np.broadcast_to("a", 3)
np.empty_like(np.array(["a"]))
np.zeros_like(np.array(["a"]))
np.zeros_like(x, dtype=object)
np.ones_like(x, dtype="U3")
np.full_like(x, None, dtype=object)
np.copy(["a"])
np.flip(["a","b"])
np.roll(["a","b"],1)
np.lexsort((["b","a"],))
np.searchsorted(["a","b"], "b")
np.count_nonzero(["a",""])
np.any(["a"])
np.all(np.array([None,1],dtype=object))
np.max(np.array([1,2],dtype=object))
np.min(np.array(["2020-01-01"], dtype="M8[D]"))
np.diff(np.array(["2020-01-01","2020-01-03"], dtype="M8[D]"))
np.linspace(0,1,3,dtype=object)
np.eye(2,dtype=object)
np.identity(2,dtype=object)
np.arange(3,dtype=object)
np.loadtxt(["a b"], dtype=str)
np.genfromtxt(["a,b"], dtype=None, delimiter=",")
np.meshgrid(["a"],["b"])
np.insert(["a"],0,"b")
np.delete(["a","b"],0)
np.rot90([["a","b"]])
np.isnat(np.array(["NaT"],dtype="M8[D]"))
np.cumsum(np.array([1,2],dtype=object))
np.outer(np.array([1,2],dtype=object),x)
np.select([x>2],[np.array(["a"]*6)], "b")
np.choose([0,1],[["a","b"],["c","d"]])
np.put_along_axis(np.array(["a","b"]),np.array([0]),"c",0)
np.copyto(np.empty(6,object), x)
np.array2string(np.array(["a"]))
np.result_type("U1", "U3")
np.promote_types("U1","U3")
np.ndarray((2,), dtype=object)
np.ndarray((2,), "U3").dtype
np.array(["a"]).tolist()
isinstance(np.array(["a"]), np.ndarray)
x.tolist()
np.rec.array([(1,2.)])
np.iscomplexobj(np.array(["a"]))
np.busday_count("2020-01-01","2020-02-01")
np.histogram(np.array([1,2],dtype=object))
np.quantile(np.array([1,2],dtype=object), .5)
np.fromstring("1 2", sep=" ")
np.frombuffer(b"ab", dtype="S1")
np.testing.assert_array_equal(np.array(["a"]), ["a"])
np.apply_along_axis(lambda a: "x", 0, np.ones((2,2)))
np.block([["a","b"]])
np.dstack([["a"]])
np.column_stack([["a"],["b"]])
np.ediff1d(np.array([1,2],dtype=object))
np.bincount([0,1])
np.can_cast("U1","U2")
np.ascontiguousarray(["a"])
np.require(["a"])
np.unique(np.array([3,1],dtype=object))
np.union1d(["a"],["b"])
np.intersect1d(["a"],["a"])
np.logical_or(np.array([None,1],dtype=object), x[:2])
np.maximum(np.array([1,2],dtype=object), x[:2])
np.einsum("i,i", np.array([1,2],dtype=object), x[:2])
np.isclose(np.array([1,2],dtype=object), [1,2])
np.around(np.array([1.5],dtype=object))
np.abs(np.array([-1],dtype=object))
np.clip(np.array([1,5],dtype=object),2,3)
np.sin(np.array([1.0],dtype=object))
np.swapaxes([["a"]],0,1)
np.moveaxis(np.array([["a"]]),0,1)
np.resize(["a"],3)
np.pad(["a"],1)
np.trim_zeros(np.array([0,1],dtype=object))
np.nan_to_num(np.array([1],dtype=object))
np.nanmin(np.array([[1,2],[3,numpy.nan]],object))
np.nanmax(np.array([[1,2],[3,numpy.nan]],object), axis=1)
np.nanmax(np.array(3,object))
np.fill_diagonal(np.empty((2,2),object), None)
np.extract([True],["a"])
np.compress([True],["a"])
np.partition(["b","a"],1)
np.digitize([1],[0,2])
np.interp(np.array([1],dtype=object),[0,2],[0,2])
np.cross(np.array([1,2,3],dtype=object),[1,2,3])
np.kron(np.array([1],dtype=object),[1])
np.trace(np.eye(2,dtype=object))
np.diag(np.array([1,2],dtype=object))
np.tril(np.eye(2,dtype=object))
np.matmul(np.eye(3).astype(object), x[:3])
np.eye(3).astype(object) @ np.eye(3)
np.matvec(np.eye(3).astype(object), x[:3])
np.vecmat(x[:3], np.eye(3, dtype=object))
np.vecdot(np.ones((3,2)).astype(object), np.ones((3,2)), axis=-2)
np.matmul(np.eye(3).astype(object), np.eye(3), axes=[(1,0),(0,1),(1,0)])
np.add(np.eye(3).astype(object), 1, order="F").strides
np.equal(1, [1], signature=(None,None,"O"))
np.add([1], [2], signature="OO->O")
np.logical_or(np.array([None,1],dtype=object), [1,2], signature=(None,None,object))
np.multiply(np.array([2],object), [3.0], out=numpy.zeros(1))
np.vecdot(np.ones((3,2)).astype(object), np.ones((3,2)), out=np.empty(3,object))
np.add(1, 2, out=np.empty((),object))
np.add.reduce(np.array([1,2],object), out=np.empty((),object))
np.add.reduce(np.array([1,2],object), keepdims=True, where=[True,False])
np.add.reduce(np.array([1.5,2]), out=np.empty((),object))
np.add.accumulate(np.array([1,2],object), out=np.empty(2,object))
np.add.accumulate(np.array([1,2]), out=np.zeros(2,object))
np.add.reduceat(np.array([1,2,3],object), [0,1])
np.add.reduceat(np.array([1,2,3],object), [0,2], out=np.empty(2,object))
np.add(np.array([1,2],object), 1, out=x[:2])
np.add(np.array(["a","b"]), "c", out=x[:2])
np.divmod(np.array([7],object), 4, out=(np.zeros(1,int), None))
np.divmod(np.array([7],object), 4, out=(None, numpy.zeros(1,object)))
np.add.reduce(np.array([1,2],object), out=np.zeros(1), keepdims=True)
np.add.reduce(np.array([1,"a"],object), out=np.zeros(()))
np.add.accumulate(np.array([1,2],object), out=np.zeros(2,int))
np.add.reduceat(np.array([1,2,3],object), [0,1], out=np.zeros(2))
np.logical_or(np.array(b"1", "V3"), np.array([1.,2]), out=np.zeros(2,np.int32))
np.logical_or.reduce(np.array([b"1"], "V3"), out=np.zeros(1,np.int32), keepdims=True)
""".strip().splitlines()


def plain(x):
    """Results with NumPy's arrays for ours, and its scalars for those."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(plain, x))
    return x.asnumpy()[() if not x.ndim else ...] if hasattr(x, "asnumpy") else x


def evaluate(text, module):
    return eval(text, {"np": module, "numpy": numpy, "datetime": datetime, "x": module.arange(6.0)})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", CALLS)
def test_as_numpy(text):
    try:
        expected = evaluate(text, numpy)
    except Exception as error:
        with pytest.raises(type(error)):
            evaluate(text, np)
        return
    actual = plain(evaluate(text, np))
    assert repr(actual).replace("dflow", "numpy") == repr(expected)


def test_numbers_are_ours_again():
    labels = np.array(["b", "a", "b"])
    assert type(labels) is numpy.ndarray and isinstance(labels, np.ndarray)
    values, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    assert type(values) is numpy.ndarray and type(places) is type(counts) is np.ndarray
    assert counts.tolist() == [1, 2] and places.tolist() == [1, 0, 1]
    for numbers in (np.argsort(labels), np.searchsorted(["a", "b"], labels), np.nonzero(labels == "b")[0],
                    np.add(np.array([1, 2], object), 1).astype(int) + np.arange(2)):
        assert type(numbers) is np.ndarray


@pytest.mark.parametrize("make", [np.array, np.asarray, np.asanyarray])
def test_our_arrays_are_objects_in_lists(make):
    x, y, z = np.arange(3.0), np.arange(2), np.array(7)
    held = make([None, x, y, z, x[1], numpy.float64(2)], dtype=object)
    assert type(held) is numpy.ndarray and held[1] is x and held[2] is y and held[3] is z
    assert type(held[4]) is numpy.float64 and held[4] == 1 and type(held[5]) is numpy.float64
    held[1][0] = 5
    assert x.tolist() == [5, 1, 2]
    assert make(((x, y), (y, x)), dtype="O")[0, 1] is y
    pair, itself = [1, 2], []
    itself.append(itself)
    assert make([pair, None], dtype=object)[0] is pair and make([itself, itself], dtype=object).shape[0] == 2
    numbers = make([x, x + 1], dtype=object)
    assert numbers.tolist() == [[5, 1, 2], [6, 2, 3]] and type(numbers[0, 0]) is float


def test_numpys_functions_that_are_none_of_ours_write_to_our_arrays():
    target = np.arange(2)
    numpy.lib.recfunctions.assign_fields_by_name(target, np.array([7, 8]))
    assert target.tolist() == [7, 8]


def test_an_array_of_ours_does_not_become_one_of_records():
    x = np.arange(4, dtype=np.float32)
    for dtype in ([("a", "i4")], "V4", ">f4"):
        with pytest.raises(TypeError, match="dflow arrays"):
            x.dtype = dtype
    assert x.dtype == np.float32 and x.tolist() == [0, 1, 2, 3]


def test_our_arrays_choose_from_numpys():
    labels, x = np.array(["b", "a", "c"]), np.arange(3.0)
    assert labels[x > 0].tolist() == ["a", "c"] and labels[np.argmax(x)] == "c"
    assert labels[np.array([2, 0])].tolist() == ["c", "b"]
    assert x[labels == "a"].tolist() == [1] and x[np.array([True, None, False], bool)].tolist() == [0]
    x[labels == "a"] = 7
    x[:2] = np.array([3, 4], object)
    assert x.tolist() == [3, 4, 2]


@pytest.mark.parametrize("generator", ["default_rng(3)", "RandomState(3)"])
def test_draws_of_labels(generator):
    labels = ["a", "b", "c"]
    draw = eval(f"np.random.{generator}")
    assert set(draw.choice(labels, 50)) == set(labels) and draw.choice(labels) in labels
    assert sorted(draw.choice(labels, 3, replace=False)) == labels
    assert sorted(draw.permutation(labels)) == labels and type(draw.permutation(labels)) is numpy.ndarray
    held = np.array(labels)
    draw.shuffle(held)
    assert sorted(held) == labels
    assert draw.choice(labels, p=np.array([0, 1, 0])) == labels[1]
    assert draw.choice([None, len], p=np.array([0, 1])) is len
    two = draw.choice([["a", "b"], ["c", "d"]], 1) if "rng" in generator else draw.permutation([["a", "b"], ["c", "d"]])
    assert two[0].tolist() in (["a", "b"], ["c", "d"])


def test_draws_of_labels_by_the_module():
    np.random.seed(0)
    labels = np.array(["a", "b"])
    assert np.random.choice(labels, 5).dtype == "<U1" and sorted(np.random.permutation(labels)) == ["a", "b"]


def test_what_is_pending_is_waited_for():
    import dflow
    x = dflow.engine.sleep(np.arange(3.0), 0.01)
    assert x.astype(str).tolist() == ["0.0", "1.0", "2.0"]
    assert np.where(dflow.engine.sleep(np.arange(3.0), 0.01) > 1, "many", "few").tolist() == ["few", "few", "many"]
    assert (dflow.engine.sleep(np.arange(2), 0.01) + np.array([1, 2], object)).tolist() == [1, 3]


def test_writing_into_ours_is_no_matter_of_copies():
    x = np.zeros(3)
    with pytest.raises((TypeError, ValueError)):
        np.copyto(x, np.array(["a", "b", "c"]))
    with pytest.raises((TypeError, ValueError)):
        np.add(x, np.array(["a"] * 3), out=x)
    assert x.tolist() == [0, 0, 0]
    y = numpy.empty(3, object)
    np.add(np.array([1, None, 2], object), 1, out=y, where=np.array([True, False, True]))
    assert y[0] == 2 and y[2] == 3

WRITES = """
np.copyto(x, v, casting="unsafe")
np.copyto(x, v, "unsafe", where=x == 0)
np.copyto(where=w, dst=x, src=v, casting="unsafe")
np.put(x, [0, 1, 2], v)
x.put([0, 1, 2], v)
np.place(x, w, v)
np.putmask(x, w, v)
np.put_along_axis(x, k, v, 0)
np.add.at(x, k, v)
np.fill_diagonal(y, v)
np.cumsum(v, out=x)
np.cumsum(v, 0, None, x)
np.sum([v, v], axis=0, out=x)
np.maximum.reduce([v, v], 0, None, x)
np.take(v, k, out=x)
np.choose([0, 0, 0], [v], out=(x))
np.concatenate([v], out=x)
np.compress([1, 1, 1], v, out=x)
np.clip(v, 1, 2, x)
np.modf(v, out=(x, y[0]))
np.divmod(v, 2, x, y[0])
np.divmod(v, 2, out=(None, x))
"""

VALUES = {
    "masked": lambda: numpy.ma.masked_array([1.5, 2.5, 3.5], [False, True, False]),
    "objects": lambda: numpy.array([1.5, 2.0, 3], object),
    "another byte order": lambda: numpy.array([1.5, 2.5, 3.5], ">f8"),
    "a matrix": lambda: numpy.matrix([1.5, 2.5, 3.5]),
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("text", [line for line in WRITES.splitlines() if line])
def test_what_numpys_functions_write_is_in_the_array(text, values):
    """They are given copies of it: what they wrote to these must not be lost."""
    found = []
    for module in (np, numpy):
        x, y = module.zeros(3), module.zeros((3, 3))
        names = {"np": module, "v": VALUES[values](), "x": x, "y": y, "k": module.arange(3), "w": module.arange(3) != 1}
        try:
            result = eval(text, names)
            found.append((x.tolist(), y.tolist(), numpy.shape(result)))
        except Exception as error:
            found.append([base for base in type(error).__mro__ if base.__module__ == "builtins"])
    assert found[0] == found[1]


def test_what_is_read_only_is_not_written_to():
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(ValueError):
        np.copyto(x, VALUES["masked"]())
    assert x.tolist() == [0, 0, 0]


def test_objects_stay_the_same_ones():
    """Also lists and dictionaries, which NumPy's functions get without our arrays."""
    item, pair = {"a": 1}, [1, 2]
    objects = numpy.empty(2, object)
    objects[:] = [pair, item]
    for text in ("np.array([[item, item], [item, item]], order='F')[0, 1] is item",
                 "np.asarray([item], object)[0] is item", "np.take(objects, 0) is pair",
                 "np.full(2, item, object)[1] is item", "np.append(objects, item)[-1] is item",
                 "np.array([pair, [1, 2, 3]], object)[0] is pair", "np.concatenate([objects, objects])[2] is pair"):
        for module in (np, numpy):
            assert eval(text, {"np": module, "item": item, "pair": pair, "objects": objects}), text


@pytest.mark.parametrize("name", ["array", "asarray", "asanyarray", "ascontiguousarray"])
def test_axes_of_a_type_are_given_once(name):
    for dtype in (("O", (2, 3)), ("S2", 3), "2i"):
        ours, theirs = (getattr(module, name)([1, 2, 3], numpy.dtype(dtype)) for module in (np, numpy))
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype


@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "ones_like"])
def test_another_byte_order_is_kept(name):
    x = numpy.ones((2, 3), ">i4")
    for text in ("x", "x, shape=(2,)", "x, 'i4'", "x, '>f8'", "x.T"):
        ours, theirs = (eval(f"np.{name}({text})", {"np": module, "x": x}) for module in (np, numpy))
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.strides == theirs.strides


@pytest.mark.parametrize("casting", ["no", "equiv"])
def test_another_byte_order_is_a_cast(casting):
    x = numpy.arange(3.0).astype(">f8")
    for text in ("np.add(x, x, casting=casting)", "np.add(x[:2], [1.0, 2.0], casting=casting)",
                 "np.sqrt(x, casting=casting)"):
        ours, theirs = (outcome(partial(eval, text, {"np": module, "x": x, "casting": casting}))
                        for module in (np, numpy))
        assert_same_outcome(ours, theirs)
