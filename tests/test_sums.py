"""Sums of contiguous floats have a loop of their own: the bits must be those of NumPy's."""

import numpy
import pytest

import dflow.numpy as np

# As many elements as a block has: longer sums are added up block by block, in another order than NumPy's.
BLOCK = {"float32": 1024, "float64": 512}


def numbers(n, dtype, seed):
    """Of magnitudes so different that another order would show."""
    random = numpy.random.default_rng(seed)
    return (random.standard_normal(n) * 10.0 ** random.integers(-6, 7, n)).astype(dtype)


@pytest.mark.parametrize("dtype", BLOCK)
def test_every_length(dtype):
    rows = numbers((3, BLOCK[dtype]), dtype, 1)
    for n in range(BLOCK[dtype] + 1):
        part = np.array(rows[:, :n].copy())
        assert part.sum(axis=1).asnumpy().tobytes() == rows[:, :n].copy().sum(axis=1).tobytes(), n
        assert part[1].sum().asnumpy().tobytes() == rows[1, :n].sum().tobytes(), n


@pytest.mark.parametrize("dtype", BLOCK)
def test_every_length_with_gaps(dtype):
    """The same tree: what lies in gaps is brought together, here or in a group, and its sum may not tell."""
    values = numbers(3 * BLOCK[dtype], dtype, 4)
    array = np.array(values)
    for n in range(0, BLOCK[dtype] + 1, 7):
        assert array[:3 * n:3].sum().asnumpy().tobytes() == values[:3 * n:3].sum().tobytes(), n


@pytest.mark.parametrize("dtype", BLOCK)
def test_every_start(dtype):
    """Where an array begins is no multiple of a vector's size."""
    values = numbers(300, dtype, 2)
    array = np.array(values)
    for start in range(17):
        assert array[start:].sum().asnumpy().tobytes() == values[start:].sum().tobytes()


@pytest.mark.parametrize("dtype", BLOCK)
@pytest.mark.parametrize("special", [[-0.0], [-0.0] * 20, [numpy.inf, 1.0] * 9, [numpy.nan] + [1.0] * 200])
def test_special_values(dtype, special):
    values = numpy.array(special, dtype)
    assert np.array(values).sum().asnumpy().tobytes() == values.sum().tobytes()
    assert np.add.reduce(np.array(values), initial=numpy.array(-0.0, dtype)).asnumpy().tobytes() == (
        numpy.add.reduce(values, initial=numpy.array(-0.0, dtype)).tobytes())


@pytest.mark.parametrize("dtype", BLOCK)
def test_infinities_that_cancel_warn(dtype):
    values = np.array([numpy.inf, -numpy.inf] * 40, dtype=dtype)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in reduce"):
        assert numpy.isnan(float(values.sum()))


@pytest.mark.parametrize("dtype", BLOCK)
def test_long_sums_are_as_exact(dtype):
    """An error bound that adding one number after the other would miss by far."""
    values = numpy.random.default_rng(3).random(3_000_001).astype(dtype)
    exact = values.astype(numpy.longdouble).sum()
    assert abs(np.array(values).sum().asnumpy() - exact) <= 32 * numpy.finfo(dtype).eps * exact
