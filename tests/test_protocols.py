"""The protocols by which other libraries use our arrays, and the Array API standard: as NumPy keeps them."""

import ctypes
import gc
import importlib
import math
import threading
import weakref
from functools import partial

import numpy
import pytest
from compare import assert_same, assert_same_outcome, outcome
from engines import Gate, configured, in_threads

import dflow
import dflow.numpy as np

NUMBERS = "?bhilqBHILQefdFD"           # the types that DLPack knows


def layouts(dtype):
    """NumPy arrays in all sorts of memory order."""
    grid = (numpy.arange(24) % 5).reshape(2, 3, 4).astype(dtype)
    yield from (grid, grid.T, grid[:, ::2, 1], grid[:, ::-1], grid[:0], numpy.array(grid[1, 1, 1]))
    yield numpy.broadcast_to(grid[0], (3, 3, 4))


def both(text):
    """What the text gives for an array of NumPy's and one of ours, which it calls x."""
    names = {"numpy": numpy, "math": math}
    worlds = [{**names, "np": module, "x": module.arange(12.0).reshape(3, 4)} for module in (np, numpy)]
    return [outcome(partial(eval, text, world)) for world in worlds]


# -- the Array API standard ------------------------------------------------------------------------

# What the standard's edition 2024.12 names, but for what is Python's own in it.
STANDARD = {
    "numpy": """e inf nan newaxis pi bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64
        complex64 complex128 __array_namespace_info__ arange asarray empty empty_like eye from_dlpack full full_like
        linspace meshgrid ones ones_like tril triu zeros zeros_like astype can_cast finfo iinfo isdtype result_type
        abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
        bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide
        greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp
        logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive
        pow real reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc
        take take_along_axis matmul matrix_transpose tensordot vecdot broadcast_arrays broadcast_to concat expand_dims
        flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack argmax argmin count_nonzero nonzero
        searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort cumulative_prod
        cumulative_sum max mean min prod std sum var all any diff""",
    "numpy.linalg": """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
        matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm""",
    "numpy.fft": """fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift""",
}


def test_what_the_standard_names():
    for module, names in STANDARD.items():
        ours = getattr(np, module.removeprefix("numpy."), np)
        assert [name for name in names.split() if not hasattr(ours, name)] == []
    assert np.__array_api_version__ == numpy.__array_api_version__
    info = np.__array_namespace_info__()
    assert list(info.devices()) == ["cpu"] and info.default_device() == np.zeros(2).device == "cpu"
    assert info.default_dtypes()["real floating"] == np.zeros(2).dtype
    assert info.default_dtypes()["integral"] == np.asarray([2]).dtype
    assert set(info.dtypes()) == {*"bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split(),
                                  *"float32 float64 complex64 complex128".split()}
    most = info.capabilities()["max dimensions"]
    assert np.zeros((1,) * most).ndim == most
    with pytest.raises(ValueError):
        np.zeros((1,) * (most + 1))


def test_array_namespace():
    x = np.arange(3)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is np
    for version in ("'1999.12'", "'2021.12'", "3", "''"):
        ours, theirs = both(f"x.__array_namespace__(api_version={version}).__array_api_version__")
        assert_same_outcome(ours, theirs)


@pytest.mark.parametrize("text", [
    "x.device == 'cpu'", "x.to_device('cpu')", "x.to_device('gpu')", "x.to_device(1)", "x.to_device('cpu', stream=1)",
    "x.to_device('cpu', stream=None)"])
def test_devices(text):
    assert_same_outcome(*both(text))


# -- DLPack ----------------------------------------------------------------------------------------

class Exporter:
    """An array as it looks to a library that knows DLPack up to some version only."""

    def __init__(self, array, version):
        self.array, self.version = array, version

    def __dlpack__(self, **_keywords):
        return self.array.__dlpack__(max_version=self.version)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_dlpack_both_ways(dtype, limit):
    with configured(limit=limit):
        for source in layouts(dtype):
            ours = np.array(source)
            for version in (None, (0, 8), (1, 0), (2, 0)):
                theirs = numpy.from_dlpack(Exporter(ours, version))
                assert_same(theirs, source)
                assert numpy.shares_memory(theirs, numpy.asarray(ours)) or theirs.size == 0
            back = np.from_dlpack(source)
            assert type(back) is np.ndarray
            assert_same(back, source)


def test_dlpack_waits_and_shares():
    with Gate() as gate:
        x = gate.hold(np.arange(1000.0))
        opener = threading.Timer(0.02, gate.open)
        opener.start()
        taken = numpy.from_dlpack(x)
        opener.join()
        x += 1
    assert_same(taken, numpy.arange(1000.0) + 1)
    mine = numpy.from_dlpack(x, copy=True)
    mine[0] = 7
    assert x[0] == 1


def test_what_dlpack_cannot_do():
    with pytest.raises(BufferError, match="Unable to avoid copy"):
        np.from_dlpack(numpy.frombuffer(bytearray(17), offset=1), copy=False)
    for text in ("x.__dlpack__(stream=1)", "x.__dlpack__(max_version=1)", "x.__dlpack__(max_version=(1,))",
                 "x.__dlpack__(dl_device=(2, 0))", "x.__dlpack__(dl_device=1)", "x.astype('g').__dlpack__()",
                 "x.__dlpack_device__()", "np.from_dlpack(x, device='gpu')", "np.from_dlpack([1])"):
        assert_same_outcome(*both(text))
    with pytest.raises(ZeroDivisionError):
        numpy.from_dlpack(dflow.submit(lambda: 1 / 0, shape=3))


def test_from_dlpack_of_ours():
    x = np.arange(6.0).reshape(2, 3)
    view, same, copy = np.from_dlpack(x), np.from_dlpack(x, copy=False), np.from_dlpack(x, copy=True)
    x[0] = 9
    assert (view == x).all() and (same == x).all() and copy[0].tolist() == [0, 1, 2]
    assert not np.from_dlpack(np.broadcast_to(x, (2, 2, 3))).flags.writeable


def test_what_dlpack_exported_ends_in_any_thread():
    """With a consumer, and without one: the capsule's own end; beside threads that submit."""
    taken = [numpy.from_dlpack(np.arange(2000.0) + i) for i in range(40)]
    taken += [(np.arange(2000.0) + i).__dlpack__(max_version=(1, 0)) for i in range(40)]
    taken += [(np.arange(2000.0) + i).__dlpack__() for i in range(40)]

    def end():
        while taken:
            try:
                taken.pop()
            except IndexError:
                return

    def work():
        x = np.zeros(3000)
        for _ in range(200):
            x += 1
        assert x.sum() == 600_000

    in_threads(end, work, end)
    gc.collect()


# -- NumPy's protocols -----------------------------------------------------------------------------

def test_addresses():
    x = dflow.engine.sleep(np.arange(6.0).reshape(2, 3), 1e-2)
    data, fortran = x.data, x.T.data
    assert data.format == "d" and data.strides == (24, 8) and fortran.strides == (8, 24) and fortran.f_contiguous
    data[0, 0] = 5
    assert x[0, 0] == 5 and bytes(x) == x.tobytes() == bytes(x.data) and bytes(x[:, ::2]) == x[:, ::2].tobytes()
    del data, fortran
    ctypes.memset(x.ctypes.data, 0, 24)
    assert x.tolist() == [[0, 0, 0], [3, 4, 5]]
    x += 1                                  # seen for good: done when it returns
    address = x.__array_interface__["data"][0]
    assert ctypes.c_double.from_address(address + 40).value == 6
    assert x.__array_interface__ | {"data": 0} == x.asnumpy().__array_interface__ | {"data": 0}


@pytest.mark.parametrize("give", [lambda c: c.data_as(ctypes.POINTER(ctypes.c_double)), lambda c: c._as_parameter_])
def test_a_pointer_keeps_the_array(give):
    x = np.arange(3.0)
    seen = weakref.ref(x)
    pointer = give(x.ctypes)
    del x
    assert seen() is not None
    seen().resize(1 << 16)                  # elsewhere; what is pointed to stays
    assert ctypes.cast(pointer, ctypes.POINTER(ctypes.c_double))[2] == 2
    del pointer
    gc.collect()                            # a cast is part of a cycle
    assert seen() is None


class OfStruct:
    def __init__(self, array):
        self.__array_struct__ = array.__array_struct__


def test_array_struct():
    x = np.arange(3.0)
    seen = numpy.asarray(OfStruct(x))
    seen[1] = 7
    assert x.tolist() == [0, 7, 2]


@pytest.mark.parametrize("text", [
    "x.__array_wrap__(x * 2)", "x.__array_wrap__(numpy.arange(3))", "x.__array_wrap__(numpy.array(3), None, True)",
    "x.__array_wrap__(numpy.array(3), None, False)", "x.__array_wrap__(3)",
    "x.getfield('f4')", "x.getfield('f4', 4)", "x[::2].T.getfield('i2', 6)", "x.getfield(float)",
    "x.getfield('u1', offset=7)", "x[:0].getfield('i4')", "x.getfield('f4', 5)", "x.getfield('c16')",
    "x.getfield('f4', -1)", "x.getfield('f4', 1.5)",
    "x.setfield(1, 'i4')", "[x.setfield(1, 'f4', 4), x][1]", "x.setfield([1, 2], 'f4')", "x.setfield(1, 'c16')",
    "[x[1:, ::2].setfield([[3], [4]], 'u1', 6), x][1]", "np.broadcast_to(x, (2, 3, 4)).setfield(1, 'i4')",
    "x[0, 0].setfield(1, 'i4')", "x[0, 0].getfield('u1', 7)"])
def test_fields_and_wraps_as_numpy(text):
    assert_same_outcome(*both(text))


def test_fields_are_views():
    x = np.arange(4) + 1j
    x.getfield("f8", 8)[1:3] = 5
    assert x.tolist() == [1j, 1 + 5j, 2 + 5j, 3 + 1j]
    assert type(x.__array_wrap__(numpy.arange(3))) is np.ndarray


@pytest.mark.parametrize("text", ["x.getfield('f8', 4)", "x.getfield('V4', 4)", "x.getfield('>f8', 8)",
                                  "x.view('f4')[1:-1].view('f8')", "x.view('f4').reshape(4, 4)[:, 1:3].view('f8')"])
def test_fields_that_are_not_aligned_are_numpys_views(text):
    results = []
    for module in (np, numpy):
        x = module.arange(4) + 1j
        field = eval(text, {"x": x})
        assert type(field) is numpy.ndarray
        field[1] = numpy.zeros((), field.dtype)
        results += [field.tobytes(), x.tobytes()]
    assert results[:2] == results[2:]


def test_a_field_that_is_not_aligned_is_set():
    results = []
    for module in (np, numpy):
        x = module.arange(4) + 1j
        x.setfield(module.arange(4) * 3, "f4", 2)
        x.setfield(7, ">i4", 8)
        results.append(x.tobytes())
    assert results[0] == results[1]


# -- elements --------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", [
    "x[1, 2].as_integer_ratio()", "(x / 4)[1, 2].is_integer()", "x[1, 2].hex()", "x.astype('f4')[1, 2].hex()",
    "x.astype(int)[1, 2].bit_count()", "x[1, 2].bit_count()", "math.trunc(x[1, 2] + 0.5)", "x.max().is_integer()",
    "x.is_integer()", "np.array(3.0).is_integer()", "hasattr(x, 'hex')", "'ab' * x.astype(int)[0, 0]",
    "'ab' * x.astype(int)[0, 3]", "x.astype(int)[0, 3] * b'ab'", "[1] * x.astype('u1')[0, 3]"])
def test_elements_as_numpys_scalars(text):
    assert_same_outcome(*both(text))


# -- indices that the standard's own tests found -----------------------------------------------------

@pytest.mark.parametrize("shape", [(1,), (3,), (1, 1), (0, 3), (2, 3), (1, 0), (2, 1, 0)])
@pytest.mark.parametrize("mask", [(0,), (1, 0), (0, 1), (0, 3), (0, 0), (2, 0), (2, 1, 0)])
def test_masks_with_axes_of_length_0(shape, mask):
    results = []
    for module in (np, numpy):
        x, index = module.zeros(shape), module.zeros(mask, bool)
        results += outcome(lambda: x[index]), outcome(lambda: x.__setitem__(index, 1) or x)      # noqa: B023
    assert_same_outcome(results[0], results[2])
    assert_same_outcome(results[1], results[3])


def test_memory_that_may_be_shared():
    """By its bounds, or looked at byte by byte."""
    for module in (np, numpy):
        x = module.arange(6)
        assert module.may_share_memory(x[::2], x[1::2]) and not module.shares_memory(x[::2], x[1::2])
        assert not module.may_share_memory(x, x.copy()) and module.shares_memory(x, x[3:])


@pytest.mark.parametrize("call", ["np.unique(a)", "np.intersect1d(a, a)", "np.union1d(a, [5])", "np.setdiff1d(a, [1])",
                                  "np.apply_along_axis(sum, 0, a)", "np.sort(a)", "np.median(a)", "np.arange(5)[a]",
                                  "np.eye(3)[:, a]", "np.eye(3)[a, a]", "np.take(np.arange(5), a)", "np.bincount(a)",
                                  "np.bincount([0, 1, 1], a)", "np.array(np.may_share_memory(a, np.arange(3)))",
                                  "np.array(np.shares_memory(a, np.arange(3)))"])
def test_an_object_may_give_an_array_of_ours(call):
    results = []
    for module in (np, numpy):
        class Like:
            def __array__(self, dtype=None, copy=None, module=module):
                return module.array([1, 2, 2])

        results.append(eval(call, {"np": module, "a": Like()}))
    numpy.testing.assert_array_equal(results[0].asnumpy(), results[1], strict=True)


def test_assertions_about_an_object_that_gives_an_array_of_ours():
    class Like:
        def __array__(self, dtype=None, copy=None):
            return np.array([1, 2, 2])

    for name in ("equal", "almost_equal", "array_equal", "array_almost_equal"):
        getattr(np.testing, f"assert_{name}")(Like(), [1, 2, 2])
    np.testing.assert_allclose(np.array([1, 2, 2]), Like())
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 3"):
        np.testing.assert_array_equal(Like(), [1, 2, 3])


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize("call", ["np.array(a)", "np.array(a, copy=True)", "np.array(a, float)",
                                  "np.array(a, copy=None)", "np.asarray(a)", "np.asarray(a, copy=True)",
                                  "np.asarray(a, copy=None)", "np.array([a])", "np.array(a, ndmin=2)",
                                  "np.asarray(a, float)"])
def test_what_an_object_gives_is_copied_where_numpy_copies(call):
    results = []
    for module in (np, numpy):
        class Like:
            def __init__(self, x):
                self.x = x

            def __array__(self, dtype=None):
                return self.x if dtype is None else self.x.astype(dtype)

        x = module.array([1, 2, 2])
        made = eval(call, {"np": module, "a": Like(x)})
        made[...] = 0
        results += [x.tolist(), made.dtype, made.shape]
    assert results[:3] == results[3:]


@pytest.mark.parametrize("call", ["np.array([q, q], dtype=object)", "np.asarray([[q, None], [1, q]], object)",
                                  "np.array((q, 'a'), dtype=object)", "np.array([a, a], dtype=object)",
                                  "np.array([q, q])", "np.array([q, 2.5])", "np.array([n, n])"])
def test_an_object_whose_array_has_no_axes_is_an_element(call):
    """A quantity with a unit: an object in arrays of objects, and a number where it says that it is one."""
    results = []
    for module in (np, numpy):
        class Like:
            def __init__(self, x):
                self.x = x

            def __array__(self, dtype=None, copy=None):
                return self.x

            def __getattr__(self, name):
                return getattr(self.x, name)

            def __repr__(self):
                return "Like"

        class Number(Like):
            def __int__(self):
                return 7

        names = {"np": module, "q": Like(module.array(2)), "a": Like(module.arange(2)), "n": Number(module.array(2))}
        try:
            made = eval(call, names)
            results.append((made.dtype, made.shape, repr(made.tolist())))
        except Exception as error:
            results.append(type(error))
    assert results[0] == results[1]


def test_an_array_that_an_object_gives_needs_no_copy():
    class Like:
        def __array__(self, dtype=None, copy=None):
            return x

    x = np.arange(3)
    assert np.array(Like(), copy=False) is x and np.asarray(Like(), copy=False) is x
    with pytest.raises(ValueError, match="^Unable to avoid copy"):
        np.array(Like(), float, copy=False)


@pytest.mark.parametrize("name, out", [("rfft_n_even", np.zeros(5, complex)), ("fft", np.zeros(8, complex))])
def test_ufuncs_whose_loops_have_no_data(name, out):
    theirs = getattr(importlib.import_module("numpy.fft._pocketfft_umath"), name)
    x = numpy.arange(8.0)
    assert theirs(np.array(x), 1.0, out=out) is out
    assert_same(out, theirs(x, 1.0, out=numpy.zeros(out.shape, complex)))


@pytest.mark.parametrize("dtype", "?bBhHiIlLqQefdgFDG")
def test_functions_of_numpys_take_elements_of_all_types(dtype):
    x = np.ones(3, dtype)
    assert numpy.shape(x[0]) == () and numpy.ndim(x[1]) == 0 and numpy.size(x[2]) == 1
    assert numpy.atleast_1d(x[0]).dtype == dtype
