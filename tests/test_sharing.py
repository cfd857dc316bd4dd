"""Memory that code outside sees, as buffers and NumPy arrays: both sides read what the other wrote, in order."""

import array
import functools
import gc
import io
import threading

import numpy
import pytest
from engines import HANG, Gate, configured, in_threads, poll

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.core

TYPES = "?bBhHiIlLqQefdgFDG"


@pytest.fixture(params=["inline", "queued", "queued, no groups", "late", "naive"])
def engine(request):
    settings = {"queued": {"limit": 0}, "queued, no groups": {"limit": 0, "bulk": 0},
                "late": {"limit": 0, "workers": 3}, "naive": {"naive": True}}
    with configured(**settings.get(request.param, {})):
        dflow._engine.set_delays(5, 200 if request.param == "late" else 0)
        yield
        dflow._engine.set_delays(0, 0)


@pytest.mark.parametrize("dtype", TYPES)
def test_shared_not_copied(engine, dtype):
    x = np.ones((3, 4), dtype)
    pairs = [(view, numpy.asarray(view)) for view in (x, x[::2, 1:], x.T, x[::-1], x[:0])]
    pairs += [(x[1:], numpy.array(x[1:], copy=False)), (x, numpy.frombuffer(x, dtype).reshape(3, 4))]
    for view, seen in pairs:
        assert (seen.shape, seen.strides, seen.dtype) == (view.shape, view.strides, view.dtype)
        assert seen.size == 0 or numpy.shares_memory(seen, numpy.asarray(x))
        view[...] = 1
        seen[...] = 0
        assert not view.any()
        view += True
        assert seen.all()


def test_programs_of_both_sides(engine):
    """Against the same program with NumPy on both."""
    for seed in range(40):
        numpy.testing.assert_array_equal(program(np, seed), program(numpy, seed))


def program(np, seed):
    rng = numpy.random.default_rng(seed)
    ours = np.arange(2000.0)
    theirs, other = numpy.asarray(ours), np.ones(2000)
    for _ in range(60):
        start, stop = sorted(rng.integers(0, 2000, 2).tolist())
        part = slice(start, stop)
        match rng.integers(8):
            case 0:
                ours[part] = other[part] * 0.5
            case 1:
                theirs[part] += 1
            case 2:
                other = np.negative(ours) + other
            case 3:
                ours *= 0.75
                theirs[start] = -3
            case 4:
                other[part] += theirs[part]
            case 5:
                ours[part] = np.cumsum(ours[part])[::-1] * 1e-3
            case 6:
                other = np.sqrt(abs(other)) + float(theirs[start])
            case 7:
                ours[...] = np.where(ours > 1, ours - theirs[start], other)
    return numpy.array([ours, other])


def test_an_operation_on_what_is_seen_is_done_when_it_returns(engine):
    x = np.ones(100_000)
    seen = memoryview(x)
    x += 1
    assert seen[99_999] == 2
    y = np.sin(x)                   # it has read x
    seen[0] = 7.0
    assert y[0] == numpy.sin(2.0) and x[0] == 7


def test_export_waits_for_all_that_is_pending_on_the_memory():
    x = np.ones(4)
    with Gate() as gate:
        held = gate.hold(np.zeros(2))
        x[:2] += held                           # a write to another part,
        y = x[2:] * held                        # and a read
        opener = threading.Timer(0.05, gate.open)
        opener.start()
        seen = numpy.asarray(x[3:])
        assert gate.opened.is_set()
    seen[0] = 5
    assert x.tolist() == [1, 1, 1, 5] and y.tolist() == [0, 0]


def test_after_the_last_one_let_go_operations_return_at_once():
    x = np.ones(4)
    first, second = numpy.asarray(x), memoryview(x[1:])
    del first
    second.release()
    with Gate() as gate:
        x += gate.hold(np.zeros(4))
        assert not x.is_ready()
    assert x.tolist() == [1] * 4


def test_what_is_seen_outlives_the_array():
    seen = numpy.asarray(np.arange(1000.0) + 1)
    gc.collect()
    filled = [np.zeros(1000) for _ in range(50)]
    assert (seen == numpy.arange(1000) + 1).all() and not filled[0].any()


def test_errors_and_values():
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular"):
        numpy.asarray(np.linalg.inv(np.zeros((2, 2))))
    with pytest.raises(ValueError, match="avoid copy"):
        numpy.asarray(np.ones(2), "f", copy=False)
    x = np.arange(3.0)
    x.flags.writeable = False
    assert not numpy.asarray(x).flags.writeable and memoryview(x).readonly
    with pytest.raises(BufferError, match="not C-contiguous"):      # of arrays of NumPy: ValueError
        numpy.frombuffer(np.ones(9)[::3])
    one = x[1]                                  # a value, as NumPy's scalars are
    numpy.asarray(one)[...] = 9
    assert one == 1 and x[1] == 1
    copy = numpy.array(x)
    copy[0] = 9
    assert x[0] == 0
    with pytest.raises(ValueError, match="writeable|read-only"):
        x += 1


def test_what_takes_buffers():
    x = np.zeros(4, "i")
    assert io.BytesIO(numpy.arange(4, dtype="i").tobytes()).readinto(x) == 16 and x.tolist() == [0, 1, 2, 3]
    assert bytes(x) == x.tobytes() and array.array("i", bytes(x)).tolist() == x.tolist()
    assert memoryview(x).format == "i" and memoryview(np.ones((2, 3), "F")).format == "Zf"
    assert memoryview(x).tolist() == [0, 1, 2, 3]


def test_many_threads_share_and_let_go():
    x, turns = np.zeros(1000), 200
    with configured(limit=0, workers=3):
        def work(k):
            mine = x[k * 100:k * 100 + 100]
            for _ in range(turns):
                seen = numpy.asarray(mine)
                before = seen[0]
                mine += 1
                assert seen[0] == before + 1
                seen += 1
                del seen
                mine += 1
        in_threads(*(lambda k=k: work(k) for k in range(8)))
    assert x.tolist() == [3 * turns] * 800 + [0] * 200


def test_a_host_task_that_submits_on_shared_memory_does_not_wait():
    x = np.zeros(3)
    seen, done = numpy.asarray(x), threading.Event()

    def task():
        x.__iadd__(dflow.engine.sleep(np.ones(3), 0.01))
        done.set()

    dflow.submit(task)
    assert done.wait(HANG) and poll(lambda: seen[0] == 1)
    dflow.waitall()


PARTS = {"all": lambda x: x, "part": lambda x: x[1:, ::2], "other part": lambda x: x[:1],
         "beside": lambda x: x[1:, 1::2], "transpose": lambda x: x.T, "backwards": lambda x: x[::-1],
         "row": lambda x: x[2], "0-d": lambda x: x[2, 3, ...], "number": lambda x: x[2, 3],
         "nothing": lambda x: x[:0], "copy": lambda x: x.copy()}


class Other:
    """What has the address of an array alone."""

    def __init__(self, x):
        self.__array_interface__ = x.__array_interface__


SEEN = {"ours": lambda x: x, "numpy.asarray": numpy.asarray, "memoryview": memoryview,
        "numpy.frombuffer": lambda x: numpy.frombuffer(x, x.dtype) if x.flags.c_contiguous and x.size else x,
        "__array_interface__": lambda x: numpy.asarray(Other(x)),
        "DLPack": lambda x: numpy.from_dlpack(x) if hasattr(x, "asnumpy") else x}


@pytest.mark.parametrize("asked", [np, numpy], ids=["np", "numpy"])
@pytest.mark.parametrize("seen", SEEN)
def test_whether_memory_is_shared(seen, asked):
    """Others ask NumPy this before they write into what they have made: of arrays of ours the answers are the same."""
    array = numpy.arange(20.0).reshape(4, 5)
    for first in PARTS:
        for second in PARTS:
            answers = []
            for x in (np.array(array), array):
                given = PARTS[first](x)                 # kept: an address does not
                pair = SEEN[seen](given), PARTS[second](x)
                module = asked if x is not array else numpy
                answers.append([f(*pair[::step]) for f in (module.shares_memory, module.may_share_memory)
                                for step in (1, -1)])
            assert answers[0] == answers[1], (first, second)


@pytest.mark.parametrize("engine", [{}, {"limit": 0}, {"limit": 10 ** 12}])
def test_what_frombuffer_sees_stays(engine):
    """NumPy keeps the array alone, unless that wants its buffers back: those of a number are copies, which end."""
    with configured(**engine):
        x = np.arange(12.0)
        for k in range(200):
            seen = numpy.frombuffer(x[5], "d")
            others = [x[k % 12] + j for j in range(4)]
            assert seen[0] == 5 and not any(numpy.shares_memory(seen, other) for other in others)
        window = numpy.frombuffer(x, "d")
        for k in range(20):
            x += 1
            assert (window == numpy.arange(12.0) + k + 1).all(), "what is seen is done when its call returns"


def test_whether_pending_arrays_share_memory():
    """Which need not be there for it."""
    array = numpy.zeros((4, 5))
    with configured(limit=0), Gate() as gate:
        x = gate.hold(np.array(array)) + 1
        for first in PARTS.values():
            for second in PARTS.values():
                for name in ("shares_memory", "may_share_memory"):
                    answer = getattr(numpy, name)(first(array), second(array))
                    assert getattr(numpy, name)(first(x), second(x)) == answer
        assert not x.is_ready()


def test_a_number_whose_address_was_asked_for():
    """A number's memory is used again for the next one, of which nobody sees anything."""
    for ask in (lambda x: x.ctypes, lambda x: x.__array_interface__):
        x = np.ones(4)
        for _ in range(100):
            ask(x[1])
        with configured(limit=0), Gate() as gate:
            held = gate.hold(x)
            later = [held[0] + k for k in range(100)]
            assert not later[-1].is_ready()
        assert later[-1] == 100
        seen = numpy.asarray(Other(x[1]))
        others = [np.arange(8.0)[k] for k in range(8)]
        assert seen == 1 and len(others) == 8


@pytest.mark.filterwarnings("ignore:you are shuffling:UserWarning")         # see README: where it differs
@pytest.mark.parametrize("shape", [(10,), (6, 3), (1,), (0, 2), (40, 2, 2), (5, 1)])
@pytest.mark.parametrize("make", [numpy.random.default_rng, numpy.random.RandomState])
def test_numpys_generators_leave_what_they_permute(make, shape):
    array = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    x = np.array(array)
    assert (numpy.asarray(make(3).permutation(x)) == make(3).permutation(array)).all()
    assert (x == array).all()
    make(3).shuffle(numpy.asarray(x))
    make(3).shuffle(array)
    assert (x == array).all()
    for part in (slice(None), slice(None, None, -1), slice(1, None, 2)):        # views, the first of all of it
        make(3).shuffle(x[part])
        make(3).shuffle(array[part])
        assert (x == array).all()


@pytest.mark.filterwarnings("ignore:you are shuffling:UserWarning")
@pytest.mark.parametrize("engine", [{}, {"limit": 0}, {"limit": 0, "workers": 2}])
def test_numpys_shuffle_loses_no_row(engine):
    with configured(**engine):
        x, other = np.arange(60.0).reshape(30, 2) * 2, np.arange(40).reshape(10, 4)
        y, another = x.asnumpy(), other.asnumpy()
        for made, theirs in ((x, y), (other, another), (x, y)):
            for array in (made, theirs):
                numpy.random.seed(7)
                numpy.random.shuffle(array)
        assert (x == y).all() and (other == another).all()


@pytest.mark.filterwarnings("ignore:you are shuffling:UserWarning")
def test_numpys_shuffles_in_many_threads():
    def shuffle(seed):
        for k in range(20):
            x = np.arange(36).reshape(12, 3)
            numpy.random.default_rng(seed + k).shuffle(x)
            assert sorted(x.tolist()) == numpy.arange(36).reshape(12, 3).tolist()

    in_threads(*(functools.partial(shuffle, 100 * k) for k in range(4)))


def test_python_swaps_views_as_numpys():
    for module in (np, numpy):
        x = module.arange(6).reshape(3, 2)
        x[0], x[2] = x[2], x[0]
        assert x.tolist() == [[4, 5], [2, 3], [4, 5]]
        x[1] = x[0]
        x[0] = x[1]
        assert x.tolist() == [[4, 5]] * 3


@pytest.mark.parametrize("name", ["preprocessing.StandardScaler", "preprocessing.MinMaxScaler",
                                  "preprocessing.Normalizer", "cluster.KMeans", "decomposition.PCA",
                                  "linear_model.LinearRegression", "impute.SimpleImputer"])
def test_scikit_learn_leaves_its_input(name):
    module, name = name.split(".")
    estimator = getattr(pytest.importorskip(f"sklearn.{module}"), name)
    array = numpy.random.default_rng(0).normal(size=(40, 5)) + 3
    for order in "CF":
        x, y = np.array(array, order=order), np.array(array[:, 0])
        estimator().fit(x, y)
        assert (x == array).all() and (y == array[:, 0]).all()


def test_what_else_is_asked_of_memory():
    """Whose it is, whether it may be written to, where it is, and whether it was copied: of windows and of views."""
    array = numpy.arange(20.0).reshape(4, 5).copy()
    x = np.array(array)
    for part in PARTS.values():
        ours, theirs = part(x), part(array)
        for protected in (False, True):
            if protected and not isinstance(theirs, numpy.generic):
                ours.flags.writeable = theirs.flags.writeable = False
            if isinstance(theirs, numpy.generic):
                continue
            seen = numpy.asarray(ours)
            assert seen.flags.writeable == theirs.flags.writeable == ours.flags.writeable
            assert seen.__array_interface__["data"] == ours.__array_interface__["data"]
            assert ours.__array_interface__["data"][1] == theirs.__array_interface__["data"][1]
            assert (ours.base is None, ours.flags.owndata) == (theirs.base is None, theirs.flags.owndata)
            assert not seen.flags.owndata and seen.base is not None     # who owns nothing must not resize or keep
            for flag in ("c_contiguous", "f_contiguous", "aligned"):
                assert getattr(seen.flags, flag) == getattr(theirs.flags, flag)
            for copied in (numpy.array(ours), numpy.array(ours, copy=True), ours.__array__(copy=True)):
                assert copied.flags.writeable and not numpy.shares_memory(copied, ours)
            for same in (numpy.array(ours, copy=None), numpy.array(ours, copy=False), ours.__array__(copy=False)):
                assert same.size == 0 or numpy.shares_memory(same, ours)
            with pytest.raises(ValueError, match="[cC]opy"):
                ours.__array__("f4", copy=False)


def test_copies_of_flat_are_copies():
    """Those that NumPy makes of its own are not."""
    x = np.arange(6.0).reshape(2, 3)
    for flat in (x.flat, x.T.flat, x[0].flat, x[:, ::2].flat):
        for copied in (numpy.array(flat), numpy.array(flat, copy=True), flat.copy()):
            copied[0] = 9
            assert x[0, 0] == 0
    with pytest.raises(ValueError, match="copy"):
        x.T.flat.__array__(copy=False)
    numpy.asarray(x.flat)[0] = 9
    assert x[0, 0] == 9


def test_memory_that_comes_while_it_is_asked_about():
    """Where a view of pending memory lies is looked at once, for both."""
    with configured(workers=2, limit=200):
        for _ in range(1000):
            x = dflow.engine.sleep(np.zeros(258), 1e-5)
            assert np.may_share_memory(x, x[1:]) and np.shares_memory(x, x)
