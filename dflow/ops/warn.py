"""Warnings that depend on values: given at the call when these are there, else no later than a read of the result."""

import os
import sys
import warnings

import numpy

from dflow import _array, _fp
from dflow._array import ndarray
from dflow._host import host

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def warn_where(condition, text, result):
    """RuntimeWarning(text), at the line that called dflow, if some element of `condition` is true.

    When these are pending a host task looks, which `result` then waits for: its read comes after the warning, as it
    does for floating point warnings; and raises it, if a filter makes it an error.
    """
    found = condition.any() if isinstance(condition, ndarray) else condition
    if not isinstance(found, ndarray) or found.is_ready() or not isinstance(result, ndarray):
        if found:
            _warn(text, _caller())
        return
    caller = _caller()

    def look(_error):
        if _array.window(found):
            _warn(text, caller)

    host(look, [found], [result])


def watched(name, function):
    """A function like `function` for a task: it tells of floating point errors as a ufunc of that name does.

    np.errstate's modes, and the line that called dflow, are those of this moment.
    """
    modes, caller = numpy.geterr(), _caller()
    return lambda *args: watch(name, function, *args, how=(modes, caller))


def watch(name, function, *args, how=None):
    """function(*args), which tells of floating point errors as a ufunc of that name does."""
    _fp.clear_flags()
    result = function(*args)
    flags = _fp.raised_flags()
    if flags:
        modes, caller = how or (numpy.geterr(), _caller())
        _fp.tell(flags, name, modes, lambda text: _warn(text, caller))
    return result


def _caller():
    """What warn_explicit wants to know of the innermost frame outside dflow."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return {"filename": frame.f_code.co_filename, "lineno": frame.f_lineno,
            "module": frame.f_globals.get("__name__", "<string>"),
            "registry": frame.f_globals.setdefault("__warningregistry__", {})}


def _warn(text, caller):
    warnings.warn_explicit(text, RuntimeWarning, **caller)
