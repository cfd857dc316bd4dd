"""Dask's arrays over chunks of ours: the same numbers, of ours wherever CuPy's chunks give CuPy's."""

import doctest
import importlib
import pickle
import subprocess
import sys

import numpy
import pytest
from engines import clean_environment

import dflow.numpy as np

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.once

NUMBERS = numpy.random.default_rng(3).random((30, 24)) + 0.1
OPERATIONS = """
    x + 1; x @ x.T; x.T; x[3:17, ::2]; x[x > 0.5]; x[[4, 1, 9]]; x.reshape(720); x.ravel()
    da.exp(x); da.sqrt(x) ** 2 - x; da.where(x > 0.5, x, -x); da.clip(x, 0.2, 0.7); x.astype('f4')
    x.sum(); x.sum(axis=0); x.mean(axis=1, keepdims=True); x.std(axis=0); x.var(); x.min(axis=1); x.max()
    x.prod(axis=0)
    (x > 0.5).any(axis=0); (x > 0.5).all(); x.argmin(axis=0); x.argmax(); da.nanargmax(x, axis=1); x.moment(3)
    x.cumsum(axis=0); x.cumprod(axis=1); da.nansum(x); da.nanmean(x, axis=0); da.nanmin(x); da.median(x, axis=1)
    da.concatenate([x, x]); da.stack([x, 2 * x]); da.block([[x, x], [x, x]]); da.tile(x, 2); da.repeat(x, 2, axis=1)
    da.pad(x, 2, mode='constant'); da.roll(x, 5, axis=0); da.flip(x, 0); da.diff(x, axis=1); da.tril(x); da.diagonal(x)
    da.diagonal(x, offset=40); da.diag(x[:, 0]); da.take(x, [3, 5], axis=1); da.compress([True, False] * 15, x, axis=0)
    da.tensordot(x, x, axes=((0,), (0,)))
    da.einsum('ij,kj->ik', x, x); da.dot(x, x.T); da.outer(x[0], x[1])
    da.histogram(x, bins=5, range=(0, 2))[0]; da.bincount((9 * x).astype(int).ravel())
    da.digitize(x, np.linspace(0, 1, 4))
    da.unique((9 * x).astype(int)); da.isin((9 * x).astype(int), [1, 5])
    da.searchsorted(x[:, 0].cumsum(axis=0), x[0]); da.percentile(x.ravel().rechunk(720), [25, 50])
    da.fft.fft(x.rechunk((10, 24))).real; da.linalg.norm(x); da.linalg.svd(x.rechunk((10, 24)))[1]
    da.linalg.lstsq(x.rechunk((10, 24)), x[:, 0].rechunk(10))[0]
    da.linalg.inv((x[:20, :20] + 9 * da.eye(20, chunks=10)).rechunk(10))
    da.linalg.cholesky((x[:20, :20] @ x[:20, :20].T + da.eye(20, chunks=10)).rechunk(10), lower=True)
    da.ones_like(x); da.full_like(x, 7); da.map_blocks(lambda c: c * 2, x)
    x.map_overlap(lambda c: c + 1, depth=1, boundary=0)
    da.apply_along_axis(lambda r: r.sum(), 1, x, dtype=float, shape=()); da.corrcoef(x); da.cov(x)
    da.topk(x, 3, axis=1)
    x.rechunk((7, 11)); x.vindex[[0, 1], [5, 2]]; da.gradient(x, axis=0); x[0]
    da.broadcast_to(x[0], (3, 24)); da.swapaxes(x, 0, 1); da.round(x, 1); da.frexp(x)[0]; da.hypot(x, 1 - x)
"""
# Of these Dask says that results are NumPy's whatever the chunks are: it does not ask, or asks with arrays of its own.
UNASKED = ("x[x > 0.5]", "da.histogram", "da.fft.fft", "da.apply_along_axis", "da.gradient")
OPERATIONS = [text.strip() for line in OPERATIONS.split("\n") for text in line.split(";") if text.strip()]


def computed(text, numbers, chunks=(10, 12)):
    pending = eval(text, {"da": da, "np": np, "x": da.from_array(numbers, chunks=chunks, asarray=False)})
    return pending, pending.compute(scheduler="sync")


@pytest.mark.parametrize("text", OPERATIONS)
def test_operations(text):
    _, want = computed(text, NUMBERS)
    pending, got = computed(text, np.array(NUMBERS))
    assert got.dtype == want.dtype and got.shape == want.shape
    assert type(got) is np.ndarray or not got.shape
    assert type(pending._meta) is (numpy.ndarray if text.startswith(UNASKED) else np.ndarray)
    numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scheduler", ["sync", "threads", "processes"])
def test_schedulers(scheduler):
    x = da.from_array(np.array(NUMBERS), chunks=(10, 12), asarray=False)
    got = ((x - x.mean()) / x.std()).sum(axis=0).compute(scheduler=scheduler)
    assert type(got) is np.ndarray
    numpy.testing.assert_allclose(got.asnumpy(), ((NUMBERS - NUMBERS.mean()) / NUMBERS.std()).sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("text", ["da.ones((4, 6), chunks=3)", "da.zeros(5, chunks=2, dtype='f4')",
                                  "da.full((2, 3), 7)", "da.arange(2, 11, 3, chunks=2)", "da.empty((2, 2)) * 0",
                                  "da.ones_like(da.arange(3.0))", "da.full_like(da.ones(3), 2, dtype='f4')",
                                  "da.ones(3, name='q')", "da.full((2, 3), 7, chunks=2, name='r')",
                                  "da.tril(da.ones((4, 4), chunks=2))", "da.pad(da.ones(3), 2, mode='empty') * 0",
                                  "da.overlap.overlap(da.arange(6, chunks=3), depth=1, boundary=0)"])
def test_what_the_backend_makes(text):
    want = eval(text, {"da": da}).compute()
    with dask.config.set({"array.backend": "dflow"}):
        made = eval(text, {"da": da})
    got = made.compute()
    assert type(made._meta) is type(got) is np.ndarray and got.dtype == want.dtype
    assert got.tolist() == want.tolist()


def test_names_are_those_of_what_is_made():
    """Two times the same, whatever was in memory: so it is computed once."""
    for text in "da.ones((4, 6), chunks=2)", "da.full(5, 2.0)", "da.arange(5)", "da.zeros(5) + 1":
        with dask.config.set({"array.backend": "dflow"}):
            names = {(eval(text, {"da": da}).name, np.array(float(i)).item())[0] for i in range(30)}
        assert len(names) == 1, text


def test_between_backends():
    x = da.from_array(NUMBERS, chunks=(10, 12))
    y = x.to_backend("dflow")
    assert type(y._meta) is type(y.compute()) is np.ndarray
    z = y.to_backend("numpy")
    assert type(z._meta) is type(z.compute()) is numpy.ndarray and (z.compute() == NUMBERS).all()
    assert y.to_backend("dflow") is y


def test_random_numbers():
    """Of the backend, of a generator and of a source of ours; the same for the same seed, whoever computes them."""
    with dask.config.set({"array.backend": "dflow"}):
        x = da.random.default_rng(5).normal(size=(6, 4), chunks=2)
        same = da.random.default_rng(5).normal(size=(6, 4), chunks=2)
        order = da.random.default_rng(5).permutation(da.arange(12, chunks=3)).compute()
        assert type(da.random.RandomState(5).normal(size=5, chunks=2).compute()) is np.ndarray
    assert type(x._meta) is np.ndarray and sorted(order.tolist()) == [*range(12)]
    assert x.name == same.name and x.compute().tolist() == same.compute(scheduler="processes").tolist()
    for source in np.random.default_rng(5), np.random.default_rng(5).bit_generator:
        y = da.random.default_rng(source).normal(size=(6, 4), chunks=2)
        assert type(y._meta) is np.ndarray and y.compute().tolist() == x.compute().tolist()
    assert type(da.random.default_rng(numpy.random.default_rng(5)).normal(size=3).compute()) is numpy.ndarray
    assert sorted(da.random.RandomState(5).choice(5, size=5, replace=False, chunks=5).compute().tolist()) == [*range(5)]
    assert da.random.choice(5, size=6, chunks=2).compute().shape == (6,)


def test_methods_hand_over():
    x, y = np.array(NUMBERS), da.from_array(NUMBERS, chunks=(10, 12))
    for z in x.dot(y.T), np.dot(x, y.T), x @ y.T, y.dot(x.T):
        assert type(z) is da.Array
        numpy.testing.assert_allclose(z.compute(), NUMBERS @ NUMBERS.T)


def test_parts_of_a_factorization_are_of_one_kind():
    x = da.from_array(np.array(NUMBERS[:20, :20]), chunks=10, asarray=False)
    for part in da.linalg.lu(x):
        assert type(part._meta) is type(part.compute()) is np.ndarray


def test_sources_of_random_numbers():
    """As NumPy's bit generators: made of a seed, pickled, spawned from."""
    kind = type(np.random.get_bit_generator())
    seeds = numpy.random.SeedSequence(7).spawn(2)
    first, second = map(kind, seeds)
    assert first._seed_seq is first.seed_seq is seeds[0]
    numbers = np.random.default_rng(first).random(3).tolist()
    assert numbers == np.random.default_rng(seeds[0]).random(3).tolist()
    assert numbers != np.random.default_rng(second).random(3).tolist()
    again = pickle.loads(pickle.dumps(kind(7)))
    assert np.random.default_rng(again).random(3).tolist() == np.random.default_rng(7).random(3).tolist()


def test_tokens_and_sizes():
    from dask.base import tokenize
    from dask.sizeof import sizeof
    x = np.array(NUMBERS)
    assert tokenize(x) == tokenize(x + 0) != tokenize(x + 1)
    assert tokenize(x) not in (tokenize(NUMBERS), tokenize(x.T), tokenize(x.astype("f4")))
    assert sizeof(x) == x.nbytes and sizeof(x[::2]) == x.nbytes // 2
    assert sizeof(np.broadcast_to(x[0], (1000, 24))) == x[0].nbytes


def test_fields_are_refused_to_dask_alone():
    assert numpy.empty_like(np.ones(3), dtype=[("a", int)]).shape == (3,)
    ask = {"numpy": numpy, "x": np.ones(3), "__name__": "dask.array.reductions"}
    with pytest.raises(TypeError, match="dflow's arrays have no fields"):
        exec("numpy.empty_like(x, dtype=[('a', int)])", ask)
    with pytest.raises(ValueError, match="array types that don't support structured arrays"):
        da.unique(da.from_array(np.array([1, 2, 2]), asarray=False), return_counts=True)


@pytest.mark.parametrize("program", [
    "import sys, dflow.numpy; assert 'dask' not in sys.modules",
    "import dask, dask.array as da; dask.config.set({'array.backend': 'dflow'})\n"
    "x = da.ones(4, chunks=2).compute(); assert type(x).__module__ == 'dflow', type(x)",
    "import dask.array as da, dflow.numpy as np\n"
    "assert type((da.from_array(np.ones(4), asarray=False) + 1).compute()) is np.ndarray",
], ids=["not imported", "asked for", "imported before"])
def test_imports(program):
    done = subprocess.run([sys.executable, "-c", program], env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_examples():
    assert doctest.testmod(importlib.import_module("dflow.dask")) == (0, 3)


def test_other_versions_of_dask():
    """One without a function that is adapted is left as it is."""
    put = importlib.import_module("dflow.dask")._put
    put("a_function_of_tomorrow", lambda given: given)
    assert not hasattr(da, "a_function_of_tomorrow")
