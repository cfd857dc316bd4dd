"""What the stubs say of results, and that the results are it: mypy checks assert_type, and the program runs."""

from typing import Any, Literal, assert_type

import numpy

import dflow
import dflow.numpy as np
import dflow.numpy.typing as npt

x = np.array([[1.5, 2, 3], [4, 5, 6]], np.float32)
n = np.arange(6)


def check(array: object, dtype: npt.DTypeLike) -> None:
    assert isinstance(array, (np.ndarray, np.generic)) and array.dtype == dtype, (array, dtype)


# The type of the elements is known where the call names it, and stays where it does not change.
check(assert_type(np.zeros(3), npt.NDArray[np.float64]), float)
check(assert_type(np.ones((2, 2), np.int8), npt.NDArray[np.int8]), "i1")
check(assert_type(np.full(2, 1j, np.complex64), npt.NDArray[np.complex64]), "c8")
check(assert_type(np.asarray([1], dtype=np.dtype(np.uint8)), npt.NDArray[np.uint8]), "u1")
check(assert_type(n.astype(np.float16), np.ndarray[tuple[Any, ...], np.dtype[np.float16]]), "f2")
check(assert_type(x.view(np.int32), npt.NDArray[np.int32]), "i4")
check(assert_type(x, npt.NDArray[np.float32]), "f4")
for part in (x[0], x[0, 1:], x[..., np.newaxis], x[[0, 1]], x[x > 2], x.T, x.reshape(3, 2), x.copy(), x.max(), -x):
    check(assert_type(part, npt.NDArray[np.float32]), "f4")
check(assert_type(next(iter(x)), npt.NDArray[np.float32]), "f4")
check(assert_type(x + 1, np.ndarray), "f4")
check(assert_type(np.sin(x), np.ndarray), "f4")
check(assert_type(x.sum(axis=0), np.ndarray), "f4")
for mask in (x > 1, x == 1, np.isnan(x), np.less(x, 2), x.all(), np.any(x, axis=0), np.isclose(x, 1)):
    check(assert_type(mask, npt.NDArray[np.bool]), bool)
for index in (x.argmax(), np.argsort(x), np.searchsorted(n, 3), np.nonzero(x)[0], np.where(x > 1)[1]):
    check(assert_type(index, npt.NDArray[np.intp]), int)

# Attributes, and what is no array
assert_type(x.dtype, np.dtype[np.float32])
assert_type(x.ndim, int)
assert_type(x.flags.c_contiguous, bool)
assert_type(float(x[0, 0]), float)
assert_type(np.shape(x), tuple[int, ...])
assert_type(np.allclose(x, x), bool)
numpy_array = assert_type(x.asnumpy(), numpy.ndarray[tuple[Any, ...], np.dtype[np.float32]])
assert type(numpy_array) is numpy.ndarray and np.float32 is numpy.float32

# Results that depend on arguments
check(assert_type(np.unique(n), np.ndarray), int)
values, counts = assert_type(np.unique(n, return_counts=True), tuple[np.ndarray, ...])
points, step = assert_type(np.linspace(0, 1, 5, retstep=True), tuple[np.ndarray, np.ndarray])
quotient, rest = assert_type(np.divmod(n, 4), tuple[np.ndarray, np.ndarray])
quotient, rest = assert_type(divmod(n, 4), tuple[np.ndarray, np.ndarray])
mean, weight = assert_type(np.average(x, axis=0, returned=True), tuple[np.ndarray, np.ndarray])
check(assert_type(np.where(x > 2, x, 0), np.ndarray), "f4")
check(assert_type(np.linalg.svd(x, compute_uv=False), np.ndarray), "f4")
check(np.linalg.svd(x).Vh, "f4")
check(np.linalg.qr(x).R, "f4")
check(np.linalg.eigh(np.eye(2)).eigenvectors, float)
check(np.linalg.slogdet(np.eye(2)).logabsdet, float)
check(assert_type(np.linalg.qr(x, mode="r"), np.ndarray), "f4")
rows = assert_type(np.split(x, 2), list[np.ndarray])
grid = assert_type(np.meshgrid(n, n), tuple[np.ndarray, ...])
assert len(values) == 6 and counts.sum() == 6 and len(rows) == len(grid) == 2 and isinstance(grid, tuple)
assert step == 0.25 and len(points) == 5 and rest.sum() == 7 and mean.shape == weight.shape

# Universal functions know how many inputs they have
assert_type(np.add.nin, Literal[2])
assert_type(np.sin.nin, Literal[1])
check(assert_type(np.add.reduce(x), np.ndarray), "f4")
check(assert_type(np.multiply.outer(n, n), np.ndarray), int)
check(assert_type(np.add(x, 1, out=np.empty((2, 3))), np.ndarray), float)
assert np.add.identity == 0 and np.add.ntypes == len(np.add.types) and np.matmul.signature is not None

# Random numbers: of numbers, without a size, Python's own, as NumPy's
rng = np.random.default_rng(1)
for number in (rng.random(), rng.normal(0, 1), rng.beta(1, 2), np.random.rand(), np.random.uniform(1, 2)):
    assert type(assert_type(number, float)) is float
for count in (rng.poisson(4), np.random.randint(0, 9)):
    assert type(assert_type(count, int)) is int
assert type(assert_type(rng.integers(3), numpy.int64)) is numpy.int64
for draw in (rng.random(3), rng.normal(size=3), rng.gamma([1.0, 2.0]), np.random.standard_normal((1, 2))):
    check(assert_type(draw, npt.NDArray[np.float64]), float)
check(assert_type(rng.binomial(5, 0.5, size=4), npt.NDArray[np.intp]), int)
check(rng.random(3, dtype=np.float32), "f4")
older = np.random.RandomState(1)
for number in (older.rand(), older.normal(), older.random_sample(), older.vonmises(0, 1)):
    assert type(assert_type(number, float)) is float
check(assert_type(older.standard_normal(3), npt.NDArray[np.float64]), float)
check(assert_type(older.tomaxint(3), npt.NDArray[np.intp]), int)

# Work of one's own
future = assert_type(dflow.submit(len, [1, 2]), dflow.Future[int])
assert assert_type(future.result(), int) == 2
check(assert_type(dflow.submit(numpy.cumsum, x, shape=6, dtype="f4"), np.ndarray), "f4")
