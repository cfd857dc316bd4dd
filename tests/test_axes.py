"""Functions that take an axis, on arrays without axes, of one element, of none: NumPy's result, or its error.

Samples of the table, with other arrays in place of theirs, and their functions with other axes. A length that is asked
of an axis that there is not would be read past the end of a shape, or be divided by.
"""

import functools
import inspect
import operator
import re
import sys

import numpy
import pytest
from engines import configured
from test_namespace import CASES, SOURCES, assert_same, call_of, plain

import dflow.numpy as np

pytestmark = pytest.mark.once

SHAPES = {"0-d": lambda x: x.reshape(-1)[:1].reshape(()), "one": lambda x: x.reshape(-1)[:1],
          "none": lambda x: x.reshape(-1)[:0], "1-d": lambda x: x.reshape(-1),
          "1 x 0": lambda x: x.reshape(1, -1)[:, :0]}
AXES = (0, -1, 1, -2, None)
NAMES = ("axis", "axes", "axis1")

# NumPy refuses these with an IndexError or a ValueError of its own making, or by chance; here an AxisError is both.
ANY_ERROR = {"trapezoid", "take", "partition", "argpartition", "sort", "percentile", "nanpercentile"}
LEFT = {
    **dict.fromkeys(("fftshift", "ifftshift"), "NumPy cannot shift what has no axes"),
    **dict.fromkeys(("cumsum", "cumprod"), "NumPy looks at `out` only if there is something to write"),
    **dict.fromkeys(("matmul", "matvec", "vecdot", "vecmat"), "axis=None is no axis; NumPy refuses it"),
    "average": "NumPy divides by the number of averages",
}
GARBAGE = {"unpackbits", "irfft2", "irfftn"}    # of what is empty NumPy returns what was in the memory


@functools.cache
def parameters(row):
    try:
        return inspect.signature(getattr(sys.modules[row.module], row.name)).parameters
    except ValueError:
        return {}


ROWS = {}                           # name: (row, samples)
for _row, _sample in CASES:
    if any(name in parameters(_row) for name in NAMES):
        ROWS.setdefault(f"{_row.module}.{_row.name}", (_row, []))[1].append(_sample)


def calls(row, samples):
    """Samples as they are, and the first ones with other axes: text, and the axis in a tuple, or ()."""
    for k, sample in enumerate(samples):
        yield sample, ()
        if "axis" in parameters(row) and k < 2:
            for axis in AXES:
                yield sample, (axis,)


def called(row, sample, module, sources, axis):
    """What the call gives or raises, and the arrays afterwards."""
    make = numpy.copy if module is numpy else np.array
    used = {name: make(x) for name, x in sources.items() if re.search(rf"\b{name}\b", sample)}
    names = {"np": module, **used, "arguments": lambda *args, **keywords: (args, keywords)}
    try:
        args, keywords = eval(f"arguments({sample.lstrip('?')})", names)
        if axis:
            bound = inspect.signature(getattr(sys.modules[row.module], row.name)).bind(*args, **keywords)
            bound.arguments["axis"] = axis[0]
            args, keywords = bound.args, bound.kwargs
        function = operator.attrgetter(f"{row.module}.{row.name}".removeprefix("numpy."))(module)
        return "value", plain(function(*args, **keywords)), {name: plain(x) for name, x in used.items()}
    except Exception as error:
        return "error", type(error), str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROWS)
def test_arrays_of_few_axes_as_numpy(name):
    row, samples = ROWS[name]
    for turn, (shape, change) in enumerate(SHAPES.items()):
        sources = {key: x if x.size == 0 else change(x) for key, x in SOURCES.items()}
        for k, (sample, axis) in enumerate(calls(row, samples)):
            if (k + turn) % 2:              # each call with every other shape
                continue
            expected = called(row, sample, numpy, sources, axis)
            with configured(limit=None if k // 2 % 2 else 0):
                actual = called(row, sample, np, sources, axis)
            what = f"{call_of(row, sample)}, axis {axis}, arrays {shape}: dflow {actual}, NumPy {expected}"
            if row.name not in LEFT:
                assert actual[0] == expected[0], what
            if actual[0] == expected[0] == "value" and not (row.name in GARBAGE and shape in ("none", "1 x 0")):
                assert_same(actual[1], expected[1], row.close)
                for key, x in expected[2].items():
                    assert_same(actual[2][key], x, row.close)
            elif expected[0] == "error" and not axis and row.name not in ANY_ERROR | {*LEFT}:   # else there are two
                assert issubclass(actual[1], expected[1]), what
