"""Comparing dflow's results with NumPy's: same value bit for bit, or same error."""

import warnings

import numpy


def outcome(function):
    """What the call gives: ("value", a NumPy array) or ("error", its type, its text)."""
    try:
        result = function()
        return "value", result.asnumpy() if hasattr(result, "asnumpy") else numpy.asarray(result)
    except Exception as error:
        return "error", type(error), str(error)


def assert_same_outcome(actual, expected):
    """Both values and the same, or both errors of one type and text."""
    if actual[0] == expected[0] == "value":
        assert_same(actual[1], expected[1])
    else:
        assert actual == expected, f"dflow: {actual}, NumPy: {expected}"


def assert_same(actual, expected):
    """Same dtype, shape and bits; any NaN equals any other, as its payload depends on the loop's instructions."""
    actual = actual.asnumpy() if hasattr(actual, "asnumpy") else actual
    expected = numpy.asarray(expected)
    assert type(actual) is numpy.ndarray
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    assert same_bits(actual, expected), f"dflow: {actual!r}\nNumPy: {expected!r}"


def given(f, *args):
    """What it gives and warns of, or the type of its error."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = f(*args)
        except Exception as error:
            return type(error), None
    return numpy.asarray(result), sorted({str(w.message) for w in told})


def assert_as_given(ours, theirs, text):
    (x, heard), (y, told) = ours, theirs
    if isinstance(y, type) or isinstance(x, type):
        assert x is y, (text, x, y)
        return
    assert x.dtype == y.dtype and x.shape == y.shape, (text, x, y)
    assert same_bits(x, y) if y.dtype != object else repr(x) == repr(y), (text, x, y)
    assert heard == told, (text, heard, told)


def same_bits(a, b):
    # Not the bytes: a long double has bytes that mean nothing.
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    if a.dtype.kind != "f":
        return bool((a == b).all())
    nan = numpy.isnan(a)
    equal = (a == b) & (numpy.signbit(a) == numpy.signbit(b))
    return bool((nan == numpy.isnan(b)).all() and (nan | equal).all())
