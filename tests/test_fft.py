"""Transforms, whose loops are SciPy's where they can be: NumPy's numbers, for every length, type and normalization."""

import subprocess
import sys
import warnings

import numpy
import pytest
from compare import outcome
from engines import HANG, clean_environment

import dflow.numpy as np
from dflow.ops import fft

NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
LENGTHS = (*range(1, 36), 97, 128, 255, 360, 1000, 1009, 4096, 4099)


@pytest.fixture(params=["SciPy's loops", "NumPy's loops"])
def source(request, monkeypatch):
    fft._plan.cache_clear()
    if request.param == "NumPy's loops":
        monkeypatch.setattr(fft, "_scipy_loops", lambda: None)
    else:
        assert fft._scipy_loops() is not None
    yield request.param
    fft._plan.cache_clear()


def numbers(shape, dtype):
    rng = numpy.random.default_rng(7)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def assert_same(result, expected):
    loops = fft._scipy_loops()
    if loops is not None and "duccfft" in loops.__name__:       # since SciPy 1.18
        finite = numpy.isfinite(expected)
        numpy.testing.assert_array_equal(numpy.isfinite(result), finite)
        close = 1e-14 * numpy.abs(expected[finite]).max(initial=0) * numpy.log2(expected.size + 1)
        numpy.testing.assert_allclose(result[finite], expected[finite], rtol=0, atol=close, strict=True)
    else:
        numpy.testing.assert_array_equal(result, expected, strict=True)


def same(name, x, **keywords):
    try:
        expected = getattr(numpy.fft, name)(x, **keywords)
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)) as ours:
            getattr(np.fft, name)(np.array(x), **keywords)
        assert str(ours.value) == str(error)
        return
    result = getattr(np.fft, name)(np.array(x), **keywords)
    assert result.dtype == expected.dtype and result.shape == expected.shape
    assert_same(result.asnumpy(), expected)


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("dtype", ["?", "i4", "e", "f", "d", "g", "F", "D", "G"])
@pytest.mark.parametrize("name", NAMES)
def test_numbers(source, name, dtype):
    for n in LENGTHS:
        for norm in (None, "ortho", "forward", "backward"):
            same(name, numbers(n, dtype), norm=norm)


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("name", NAMES)
def test_axes_lengths_and_strides(source, name):
    for dtype in "dD":
        x = numbers((6, 5, 8), dtype)
        for y in (x, x.T, x[::-2, :, ::3], numpy.asfortranarray(x), numpy.broadcast_to(x[:1], x.shape)):
            for axis in (-3, -1, 0, 1, 2):
                for n in (None, 1, 4, 5, 9):
                    same(name, y, n=n, axis=axis)


@pytest.mark.parametrize("rows", [1, 700])
@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "rfft"])
def test_floating_point_errors(source, name, rows):
    x = numbers((rows, 1000), "D")
    x = x.real.copy() if name == "rfft" else x
    x[0] = numpy.inf
    with pytest.warns(RuntimeWarning) as theirs:
        expected = getattr(numpy.fft, name)(x)
    with pytest.warns(RuntimeWarning) as ours:
        result = getattr(np.fft, name)(np.array(x)).asnumpy()
    assert {str(w.message) for w in ours} == {str(w.message) for w in theirs}
    assert {w.filename for w in ours} == {__file__}
    assert_same(result, expected)
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError) as error:
            getattr(numpy.fft, name)(x)
        with pytest.raises(FloatingPointError, match=str(error.value)):
            getattr(np.fft, name)(np.array(x)).wait_to_read()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(np.fft, name)(np.array(x)).wait_to_read()


def test_large_ones_run_as_tasks(source):
    x = numbers((700, 1024), "D")
    same("fft", x)
    same("ifft", x, axis=0)
    same("rfft", x.real)
    same("fft", x.real)


def test_the_package_takes_the_same_module():
    name = fft._scipy_loops().__name__
    assert sys.modules[name] is fft._scipy_loops()
    import scipy.fft
    assert sys.modules[name] is fft._scipy_loops()
    assert sys.modules[name.rpartition(".")[0] + ".basic"].pfft is fft._scipy_loops()
    x = numbers(10, "D")
    numpy.testing.assert_allclose(scipy.fft.ifft(scipy.fft.fft(x)), x)


def test_the_first_transform_imports_no_package_of_scipy():
    program = ("import sys, dflow.numpy as np\nnp.fft.fft(np.ones(8)).wait_to_read()\n"
               "assert 'scipy.fft' not in sys.modules and 'scipy' not in sys.modules\n")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=HANG, env=clean_environment())


def test_each_length_has_a_plan_of_its_own():
    for n in (4, 5, 4, 6, 5):
        same("fft", numbers(n, "D"))
        same("fft", numbers((2, n), "D"))
        same("fft", numbers((n, 2), "D"), axis=0, norm="ortho")


@pytest.mark.parametrize("name, keywords", [
    ("fftn", {"s": (2, 3)}), ("rfft2", {"s": (None, 3)}), ("irfftn", {"s": (3, None), "axes": (0, 1)}),
    ("fftn", {"axes": ()}), ("rfftn", {"axes": ()}), ("irfftn", {"axes": (5,)}), ("ifftn", {"s": (2,), "axes": (5,)}),
    ("fftn", {"s": (2, 2), "axes": (0,)}),
])
def test_shapes_and_axes_that_numpy_warns_of_or_refuses(name, keywords):
    def told(module, x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = outcome(lambda: getattr(module.fft, name)(x, **keywords))
        files = {w.filename for w in caught}
        shape_or_error = result[1].shape if result[0] == "value" else result
        return (shape_or_error, [(w.category, str(w.message)) for w in caught]), files

    x = numpy.arange(12.0).reshape(3, 4)
    expected, _ = told(numpy, x)
    actual, files = told(np, np.array(x))
    assert actual == expected
    assert files <= {__file__}


@pytest.mark.parametrize("name", ("fft", "ihfft", "irfft", "fftn", "rfftn", "irfftn"))
@pytest.mark.parametrize("out", ["", numpy.zeros((3, 4), complex), numpy.zeros(7, complex), numpy.zeros((3, 7), "c8"),
                                 numpy.zeros((3, 7)), numpy.zeros((3, 4)), numpy.zeros((3, 7), int)])
def test_outputs_have_to_fit(name, out):
    x = numpy.arange(12.0).reshape(3, 4)
    keywords = {"n": 7} if name.endswith("t") else {"s": (3, 7), "axes": (0, 1)}
    ours = np.array(out) if hasattr(out, "shape") else out
    expected = outcome(lambda: getattr(numpy.fft, name)(x, out=out, **keywords))
    actual = outcome(lambda: getattr(np.fft, name)(np.array(x), out=ours, **keywords))
    assert actual[0] == expected[0] and (actual[0] == "value" or actual == expected)
