"""Uses of other libraries, a line each, with NumPy's arrays and with ours: the same result."""

import re
import warnings

import numpy

import dflow.numpy as np


def plain(result):
    """A result as what can be compared: arrays, ours and NumPy's alike, by type and values, else by what it shows."""
    if isinstance(result, dict):
        return {str(plain(key)): plain(item) for key, item in result.items()}
    if isinstance(result, (list, tuple)):
        return [plain(item) for item in result]
    if isinstance(result, (np.ndarray, numpy.generic)):
        if result.ndim == 0:
            return result.item()
        return result.dtype.newbyteorder("="), result.tolist()
    return result if isinstance(result, (int, float, str)) else re.sub("0x[0-9A-Fa-f]+", "", repr(result))


def found(module, line, setup):
    """What a line gives: `first; then; result`, after `setup`, in which `np` is the module."""
    names = {"np": module, "numpy": numpy}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(setup, names)
        names["np"] = module
        *before, last = line.split("; ")
        try:
            for statement in before:
                exec(statement, names)
            return plain(eval(last, names))
        except Exception as error:
            return type(error)


def lines(text):
    """The lines of a text, without its empty ones."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def assert_same(line, setup):
    """The line gives with our arrays what it gives with NumPy's, which is no error."""
    expected = found(numpy, line, setup)
    assert not isinstance(expected, type), f"NumPy's arrays raise {expected}"
    assert str(found(np, line, setup)) == str(expected)
