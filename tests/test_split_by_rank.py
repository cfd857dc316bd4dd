"""Each rank's part of the data: samplers that deal the indices, arrays that are cut, and networks that learn from these
what they learn from the whole."""

import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
from engines import HANG, Gate, clean_environment

import dflow
import dflow.numpy as np
from dflow import autograd, gluon
from dflow._ranks.place import enter
from dflow.gluon.data import BatchSampler, DataLoader, SplitSampler
from dflow.gluon.utils import split_and_load, split_by_rank

pytestmark = [pytest.mark.once,
              pytest.mark.filterwarnings("ignore::ResourceWarning"),        # of distributed's own sockets
              pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

ROOT = Path(__file__).resolve().parent.parent


def cases(count, seed):
    """(length, parts, generator): sizes even in their logarithm, zero too."""
    rng = numpy.random.default_rng(seed)
    return [(int(2 ** rng.uniform(0, 13)) - 1, int(2 ** rng.uniform(0, 5)), rng) for _ in range(count)]


def as_rank(rank, size):
    """As in a function that dflow.distributed.run() has run, where distributed need not be."""
    enter(SimpleNamespace(rank=rank, size=size))


@pytest.fixture(autouse=True)
def no_rank():
    yield
    enter(None)


# ---- samplers --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("drop_last", [True, False])
def test_parts(shuffle, drop_last):
    for length, parts, rng in cases(60, 1):
        seed = int(rng.integers(2**40))
        samplers = [SplitSampler(length, parts, i, shuffle, seed, drop_last) for i in range(parts)]
        whole = SplitSampler(length, 1, 0, shuffle, seed)
        for _ in range(3):
            dealt = [list(sampler) for sampler in samplers]
            each = length // parts if drop_last else -(-length // parts)
            assert [len(part) for part in dealt] == [len(sampler) for sampler in samplers] == [each] * parts
            order = list(whole)
            assert sorted(order) == list(range(length)) and (shuffle or order == list(range(length)))
            turn = [i for each in zip(*dealt) for i in each]            # as they were dealt
            assert turn == [order[k % length] for k in range(each * parts)]
            assert {type(i) for i in turn} <= {int}
            if not drop_last:
                assert set(turn) == set(range(length))


def test_batches_of_parts_make_up_those_of_one_process():
    for length, parts, rng in cases(40, 2):
        own = int(rng.integers(1, 20))
        loaders = [BatchSampler(SplitSampler(length, parts, i), own) for i in range(parts)]
        whole = BatchSampler(SplitSampler(length, 1, 0), own * parts)
        for _ in range(2):
            together = [sum(each, []) for each in zip(*loaders, strict=True)]
            for batch, want in zip(together, whole, strict=True):
                assert set(batch) >= set(want) if len(batch) > len(want) else sorted(batch) == sorted(want)


def test_epochs():
    sampler = SplitSampler(1000, 3, 1)
    np.random.seed(1)
    epochs = [list(sampler) for _ in range(4)]
    assert len({tuple(epoch) for epoch in epochs}) == 4
    again = SplitSampler(1000, 3, 1)
    np.random.seed(2)                                       # which has no part in it
    assert [list(again) for _ in range(2)] == epochs[:2]
    assert list(pickle.loads(pickle.dumps(again))) == epochs[2]
    again.set_epoch(3)
    assert list(again) == epochs[3]
    again.set_epoch(0)
    assert list(again) == epochs[0]
    assert list(SplitSampler(1000, 3, 1, seed=1)) not in epochs
    plain = SplitSampler(10, 3, 1, shuffle=False)
    assert list(plain) == list(plain) == [1, 4, 7, 0]


def test_mxnets_default_types():
    dflow.npx.set_np()                      # arange() makes floats
    try:
        for shuffle in True, False:
            assert {type(i) for i in SplitSampler(9, 2, 1, shuffle)} == {int}
    finally:
        dflow.npx.reset_np()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("last_batch", ["keep", "discard", "rollover"])
def test_loaders(workers, last_batch):
    """Equally many batches on all ranks, of equally many samples, in every epoch."""
    for length, parts, rng in cases(8, 3):
        length, parts, batch = length % 300, min(parts, 5), int(rng.integers(1, 9))
        data = gluon.data.ArrayDataset(np.arange(length) * 2, np.arange(length))
        loaders = [DataLoader(data, batch, sampler=SplitSampler(length, parts, i), last_batch=last_batch,
                              num_workers=workers) for i in range(parts)]
        orders = [SplitSampler(length, parts, i) for i in range(parts)]
        seen = [[] for _ in range(parts)]
        for epoch in range(3):
            assert len({len(loader) for loader in loaders}) == 1
            batches = [list(loader) for loader in loaders]
            assert len({tuple(len(x) for x, _ in each) for each in batches}) == 1
            for mine, each, order in zip(seen, batches, orders):
                assert all((x == 2 * y).all() for x, y in each)
                mine += [i for _, y in each for i in y.tolist()]
                if last_batch == "keep":
                    assert mine[epoch * len(order):] == list(order)
        if last_batch == "rollover":
            for mine, order in zip(seen, orders):
                assert mine == [i for _ in range(3) for i in order][:len(mine)]


@pytest.mark.parametrize("args, keywords, error, text", [
    ((-1,), {}, ValueError, "length must be at least 0, not -1"),
    ((2.0,), {}, TypeError, "length must be an integer, not float"),
    ((range(3),), {}, TypeError, "length must be an integer, not range"),
    ((5, 0, 0), {}, ValueError, "num_parts must be at least 1, not 0"),
    ((5, 2, 2), {}, ValueError, "part_index must be between 0 and 1, for 2 parts, not 2"),
    ((5, 2, -1), {}, ValueError, "part_index must be at least 0, not -1"),
    ((5, 2, "0"), {}, TypeError, "part_index must be an integer, not str"),
    ((5, 2), {}, TypeError, "given together, or neither: not num_parts=2, part_index=None"),
    ((5,), {"part_index": 0}, TypeError, "given together, or neither: not num_parts=None, part_index=0"),
    ((5,), {"seed": -1}, ValueError, "seed must be at least 0, not -1"),
    ((5,), {"seed": None}, TypeError, "seed must be an integer, not NoneType"),
])
def test_refused(args, keywords, error, text):
    with pytest.raises(error, match=re.escape(text)):
        SplitSampler(*args, **keywords)


def test_epochs_that_are_refused():
    for epoch, error in (-1, ValueError), (0.5, TypeError):
        with pytest.raises(error, match="epoch must be"):
            SplitSampler(5).set_epoch(epoch)


# ---- arrays ----------------------------------------------------------------------------------------------------------

def test_arrays_are_cut():
    for length, size, _ in cases(40, 4):
        for x, axis in (np.arange(length), 0), (np.arange(3 * length).reshape(3, length), -1):
            parts = []
            for rank in range(size):
                as_rank(rank, size)
                if length < size and size > 1:
                    with pytest.raises(ValueError, match=f"cannot be cut into {size} parts along axis {axis}"):
                        split_by_rank(x, axis, even_split=False)
                    continue
                if length % size:
                    with pytest.raises(ValueError, match=f"cannot be cut into {size} equal parts along axis {axis}"):
                        split_by_rank(x, axis)
                parts.append(split_by_rank(x, axis, even_split=length % size == 0))
            if parts:
                assert np.concatenate(parts, axis).tolist() == x.tolist()
                assert max(part.shape[axis] for part in parts) - min(part.shape[axis] for part in parts) <= 1


def test_what_is_cut_is_a_view_and_waits_for_nothing():
    as_rank(1, 2)
    with Gate() as gate:
        x = gate.hold(np.arange(6.0))
        part = split_by_rank(x)
        assert not part.is_ready()
        gate.open()
    assert part.tolist() == [3, 4, 5]
    part[:] = 0
    assert x.tolist() == [0, 1, 2, 0, 0, 0]
    assert split_by_rank(numpy.arange(4)).tolist() == split_by_rank([0, 1, 2, 3]).tolist() == [2, 3]
    devices = [dflow.cpu(), dflow.cpu()]
    assert [y.tolist() for y in split_and_load(split_by_rank(np.arange(8)), devices)] == [[4, 5], [6, 7]]
    assert [y.tolist() for y in split_and_load(np.arange(4), devices)] == [[0, 1], [2, 3]]      # of no rank's


def test_one_process():
    x = np.arange(5)
    assert split_by_rank(x) is x and split_by_rank(np.zeros((3, 0)), 1).shape == (3, 0)
    assert sorted(SplitSampler(5)) == [0, 1, 2, 3, 4]


def test_gluon_needs_no_dask():
    program = ("import sys, dflow.numpy as np; from dflow import gluon\n"
               "print(len(gluon.data.SplitSampler(5)), gluon.utils.split_by_rank(np.arange(3)))\n"
               "print({'dask', 'distributed', 'dflow.distributed'} & {*sys.modules})")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG,
                          env=clean_environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "5 [0 1 2]\nset()\n", "")


# ---- groups ----------------------------------------------------------------------------------------------------------

def own_data():
    """What a rank's loader gives, what it cuts; and what a thread of its own, which runs for no group, would cut."""
    data = gluon.data.ArrayDataset(np.arange(11))
    batches = DataLoader(data, 2, sampler=SplitSampler(11), num_workers=2)
    cut, found = split_by_rank(np.arange(6)).tolist(), []
    thread = threading.Thread(target=lambda: found.append(split_by_rank(np.arange(6)).tolist()))
    thread.start()
    thread.join()
    with pytest.raises(ValueError, match="cannot be cut into 2 equal parts"):
        split_by_rank(np.arange(5))
    uneven = split_by_rank(np.arange(5), even_split=False).tolist()
    return [[x.tolist() for x in batches] for _ in range(2)], cut, uneven, found[0]


def learned(kvstore=None, steps=8):
    """The parameters after batches of 7, which no two ranks can share evenly."""
    rng = numpy.random.default_rng(3)
    dflow.npx.random.seed(1)
    net, loss = gluon.nn.Sequential(), gluon.loss.L2Loss()
    net.add(gluon.nn.Dense(8, activation="tanh", dtype="float64"), gluon.nn.Dense(1, dtype="float64"))
    net.initialize(dflow.init.Normal(0.5))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore=kvstore)
    for _ in range(steps):
        batch = np.array(rng.random((7, 5)))
        part = split_by_rank(batch, even_split=False)
        with autograd.record():
            error = loss(net(part), np.sin(part.sum(axis=1, keepdims=True)))
        error.backward()
        trainer.step(len(batch))
    return [p.data().asnumpy() for p in net.collect_params().values()]


def test_ranks():
    distributed = pytest.importorskip("distributed")
    with (distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
                                   memory_limit="1GB") as cluster,
          distributed.Client(cluster) as client):
        dflow.distributed.setup(client)
        data = dflow.distributed.run(client, own_data)
        ranks = dflow.distributed.run(client, learned, "dist_sync")
    assert [rest for _, *rest in data] == [[[0, 1, 2], [0, 1, 2], [0, 1, 2, 3, 4, 5]],
                                           [[3, 4, 5], [3, 4], [0, 1, 2, 3, 4, 5]]]
    for rank, (batches, *_) in enumerate(data):
        order = SplitSampler(11, 2, rank)
        assert batches == [list(BatchSampler(order, 2)) for _ in range(2)]
    assert [x.tobytes() for x in ranks[0]] == [x.tobytes() for x in ranks[1]]
    for x, want in zip(ranks[0], learned(), strict=True):
        numpy.testing.assert_allclose(x, want, rtol=1e-11, atol=1e-13)


def test_the_example():
    pytest.importorskip("distributed")
    pytest.importorskip("scipy")
    done = subprocess.run([sys.executable, "-m", "examples", "digits_on_ranks", "--small"], cwd=ROOT, text=True,
                          env=clean_environment(), capture_output=True, timeout=2 * HANG)
    assert done.returncode == 0, done.stderr
    first, second, alone, bits, apart = done.stdout.splitlines()
    assert first.removeprefix("rank 0") == second.removeprefix("rank 1") == alone.removeprefix("one process")
    assert bits == "the ranks' parameters have the same bits"
    # Dask's, where one was due as the cluster closed.
    assert done.stderr == "" or "Failed to communicate with scheduler during heartbeat" in done.stderr.splitlines()[0]
    assert 0 < float(re.search(r"by (\S+) of", apart)[1]) < 1e-11


def test_the_example_where_distributed_is_not():
    pytest.importorskip("scipy")
    program = ("import runpy, sys; sys.modules['distributed'] = None; sys.argv[1:] = ['digits_on_ranks', '--small']; "
               "runpy.run_module('examples', run_name='__main__')")
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, text=True, env=clean_environment(),
                          capture_output=True, timeout=HANG)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "digits_on_ranks needs Dask's distributed: pip install 'dflow[distributed]'\n"
