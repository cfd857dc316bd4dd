"""Every row of the table of operations against NumPy: value, type, shape, and the error of what fails.

A sample is an argument list as text (see dflow/ops/table.py). It may name the arrays in SOURCES and `np`. After the
call the arrays that it names are compared too, so what works in place is tested the same way. An error must have
NumPy's type and text, or the same type only where the sample begins with "?".
"""

import importlib
import re
import warnings

import numpy
import pytest
from compare import same_bits

import dflow
import dflow.numpy as np
from dflow.ops.table import KINDS, TABLE

for _name in ("linalg", "fft", "random"):       # their rows are made when they are first used
    importlib.import_module(f"dflow.numpy.{_name}")

_GRID = (numpy.arange(12) * 7 % 11 - 4.5).reshape(3, 4)
SOURCES = {
    "a": _GRID,
    "b": _GRID > 0,
    "c": _GRID + 1j * _GRID[::-1],
    "c64": (_GRID - 2j).astype("c8"),
    "e": numpy.zeros((0, 3)),
    "f": (numpy.arange(24) * 5 % 17 / 4 - 1).reshape(2, 3, 4).astype("f4"),
    "h": _GRID.astype("f2"),
    "i": (numpy.arange(12) * 5 % 12).reshape(3, 4),
    "j": numpy.array([0, 2, 1, 3]),
    "m": numpy.array([[4.0, 1, 0.5], [1, 3, -1], [0.5, -1, 5]]),
    "n": numpy.array([[1, numpy.nan, 3, -2], [numpy.nan, 0.5, numpy.inf, 1], [2, 2, -numpy.inf, 4]]),
    "s": numpy.array(2.5),
    "v": numpy.array([0.5, -1.0, 2.0, 3.25]),
}
CASES = [(row, sample) for row in TABLE.values() for sample in row.samples]


def evaluate(text, module):
    """("value", the result, the arrays afterwards) or ("error", its type, its text)."""
    used = {name: source.copy() for name, source in SOURCES.items() if re.search(rf"\b{name}\b", text)}
    if module is np:
        used = {name: np.array(source) for name, source in used.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = plain(eval(text, {"np": module, **used}))
            return "value", result, {name: plain(x) for name, x in used.items()}
    except Exception as error:
        return "error", type(error), str(error)


def plain(x):
    """Results with NumPy's arrays for ours, and 0-d arrays for NumPy's scalars."""
    if isinstance(x, dflow.ndarray):
        return x.asnumpy()
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    return numpy.asarray(x) if isinstance(x, numpy.generic) else x


def assert_same(actual, expected, close):
    if isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected)
        for x, y in zip(actual, expected):
            assert_same(x, y, close)
    elif isinstance(expected, numpy.ndarray):
        assert isinstance(actual, numpy.ndarray), actual
        both = f"\ndflow: {actual!r}\nNumPy: {expected!r}"
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), both
        if close and expected.dtype.kind in "fc":
            eps = float(numpy.finfo(expected.dtype).eps)
            numpy.testing.assert_allclose(actual, expected, rtol=40 * eps, atol=40 * eps)
        else:
            assert same_bits(actual, expected), both
    else:
        assert type(actual) is type(expected), f"dflow: {actual!r}, NumPy: {expected!r}"
        assert actual == expected or actual != actual


def compare(text, close, any_text=False):
    expected = evaluate(text, numpy)
    actual = evaluate(text, np)
    assert actual[0] == expected[0], f"dflow: {actual}, NumPy: {expected}"
    if actual[0] == "error":
        same = actual[1] is expected[1] and (any_text or actual[2] == expected[2])
        assert same, f"dflow: {actual}, NumPy: {expected}"
    else:
        assert_same(actual[1], expected[1], close)
        for name in expected[2]:
            assert_same(actual[2][name], expected[2][name], close)


def call_of(row, sample):
    path = row.module.replace("numpy", "np", 1)
    return f"{path}.{row.name}({sample.lstrip('?')})"


@pytest.mark.parametrize("row, sample", CASES, ids=[call_of(*case) for case in CASES])
def test_as_numpy(row, sample):
    compare(call_of(row, sample), row.close, sample.startswith("?"))


METHODS = [(row, *match.groups()) for row, sample in CASES if row.method and (match := re.match(r"(\w+)(?:, (.*))?$",
    sample))
           and match[1] in SOURCES and "correction" not in sample]        # NumPy's methods do not know `correction`


@pytest.mark.parametrize("row, array, rest", METHODS,
                         ids=[f"{array}.{row.name}({rest or ''})" for row, array, rest in METHODS])
def test_method_as_numpy(row, array, rest):
    compare(f"{array}.{row.name}({rest or ''})", row.close)


@pytest.mark.parametrize("text", [
    "np.array('abc')", "np.array([1], object)", "np.array([None])", "np.asarray('abc')", "np.empty(3, object)",
    "np.zeros(3, 'S4')",
    "np.zeros(3, 'U')", "np.zeros(3, 'M8[s]')", "np.ones(3, 'm8[s]')", "np.zeros(3, [('a', int)])",
    "np.arange(3).astype(str)",
    "np.full(3, 'a')", "np.zeros(3) + 'a'", "np.add(np.zeros(3), 'a')", "np.zeros(3).sum(dtype=object)"])
def test_what_holds_no_numbers_is_a_type_error(text):
    with pytest.raises(TypeError):
        eval(text, {"np": np})


def test_rows_are_complete():
    for row in TABLE.values():
        assert row.kind in KINDS and row.function.__doc__, row
