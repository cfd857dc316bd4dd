"""Sums of contiguous floats and complex numbers have a loop of their own: the bits must be those of NumPy's."""

import numpy
import pytest
from compare import same_bits

import dflow.numpy as np
from dflow import engine

# As many elements as a block has: longer sums are added up block by block, in another order than NumPy's.
BLOCK = {"float32": 1024, "float64": 512, "complex64": 512, "complex128": 256}


def numbers(n, dtype, seed):
    """Of magnitudes so different that another order would show."""
    random = numpy.random.default_rng(seed)
    shape = 2, *numpy.atleast_1d(n)
    parts = random.standard_normal(shape) * 10.0 ** random.integers(-6, 7, shape)
    return (parts[0] + parts[1] * 1j if dtype.startswith("complex") else parts[0]).astype(dtype)


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
    values = numbers(BLOCK[dtype] * 9 // 10, dtype, 2)
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
        assert numpy.isnan(values.sum().item())


@pytest.mark.parametrize("dtype", BLOCK)
def test_long_sums_are_as_exact(dtype):
    """An error bound that adding one number after the other would miss by far."""
    values = numpy.random.default_rng(3).random(3_000_001).astype(dtype)
    exact = values.real.astype(numpy.longdouble).sum()
    assert abs(np.array(values).sum().asnumpy() - exact) <= 32 * numpy.finfo(dtype).eps * exact


REDUCED = [(name, dtype) for name in ("add", "multiply", "maximum", "logical_or")
           for dtype in "? i2 i8 u8 f2 f4 f8 F D".split()]


@pytest.mark.once
@pytest.mark.parametrize("name, dtype", REDUCED)
def test_short_rows(name, dtype):
    """Several at a time, by themselves, and after an operation in a group."""
    random = numpy.random.default_rng(5)
    reduce, ours = getattr(numpy, name).reduce, getattr(np, name).reduce
    for n in (1, 2, 3, 4, 7, 8, 9, 30, 127, 128):
        for rows in random.choice((1, 3, 40, 2000 // n + 1), 2, replace=False):
            x = (random.normal(size=(rows, n + 1)) * 10.0 ** random.integers(-3, 4, (rows, n + 1))).astype(dtype)
            a = np.array(x)
            parts = [lambda x, n=n: x[:, :n].copy(), lambda x: x[::2, 1:], lambda x, n=n: x[:, :n, None]]
            if dtype in "? i2 i8 u8".split():           # of floats the order would show
                parts += [lambda x: x[:, ::-1], lambda x: x.T.copy().T, lambda x: x[::-1, 1:]]
            for part in parts:
                for keywords in ({}, {"initial": 1}, {"keepdims": True}):
                    with numpy.errstate(all="ignore"):
                        expected = reduce(part(x), axis=1, **keywords)
                        found = ours(part(a), axis=1, **keywords).asnumpy()
                    assert found.dtype == expected.dtype and same_bits(found, expected), (n, rows, keywords)
                with numpy.errstate(all="ignore"):
                    late = ours(part(engine.sleep(a, 0.0001)), axis=1, **keywords).asnumpy()
                assert same_bits(late, expected), (n, rows, keywords)


@pytest.mark.parametrize("name", ["max", "min", "any", "all", "argmax", "argmin"])
@pytest.mark.parametrize("place", [None, 0, 31, 32, 4095, 4096, 9999])
@pytest.mark.parametrize("dtype", ["?", "i4", "f2", "f8", "D"])
def test_one_element_decides(name, place, dtype):
    for most in (0, 1):
        x = numpy.full(10_000, 1 - most, dtype)
        if place is not None:
            x[place] = most
        for view in ("x", "x[::2]", "x[::-1]", "x.reshape(100, 100)[1:, 1:]", "x.reshape(100, 100).T", "x[:0:-3]"):
            result, expected = (getattr(eval(view, {"x": module.array(x)}), name)() for module in (np, numpy))
            assert result.dtype == expected.dtype and result.item() == expected.item(), view
