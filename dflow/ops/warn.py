"""Warnings that depend on values: given at the call when these are there, else no later than a read of the result."""

import builtins
import os
import sys
import warnings
from functools import lru_cache
from types import FunctionType

import numpy

from dflow._array import core
from dflow._array.core import is_array
from dflow._functions.host_task import at_hand, host
from dflow._runtime import fp_errors
from dflow._runtime.errors import in_try

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def warn_where(condition, text, result):
    """RuntimeWarning(text, or text()), at the line that called dflow, if some element of `condition` is true.

    When these are pending a host task looks, which `result` then waits for: its read comes after the warning, as it
    does for floating point warnings; and raises it, if a filter makes it an error.
    """

    def warning():
        caller = _caller()
        return lambda: _warn(text() if callable(text) else text, caller)

    _where(condition, warning, result)


def raise_where(condition, error, result):
    """The error, if some element of `condition` is true: raised here, or when `result` is read.

    Where the program would catch it, this waits.
    """
    if is_array(condition) and in_try():
        condition = bool(condition.any())

    def fail():
        raise error

    _where(condition, lambda: fail, result)


def _where(condition, prepare, result):
    """What prepare() returns is called if the condition holds somewhere: here if that is known, else before a read."""
    found = condition.any() if is_array(condition) else condition
    if not is_array(found) or not is_array(result) or at_hand(found):
        if found:
            prepare()()
        return
    act = prepare()

    def look(_error):
        if core.window(found):
            act()

    host(look, [found], [result], looks=True)


def reporting(name, function):
    """A function like `function` for a task: it tells of floating point errors as a ufunc of that name does.

    np.errstate's modes, and the line that called dflow, are those of this moment.
    """
    modes, caller = fp_errors.modes(), _caller()
    return lambda *args: call_reporting(name, function, *args, how=(modes, caller))


def call_reporting(name, function, *args, how=None):
    """function(*args), which tells of floating point errors as a ufunc of that name does."""
    fp_errors.clear_flags()
    result = function(*args)
    flags = fp_errors.raised_flags()
    if flags:
        modes, caller = how or (fp_errors.modes(), _caller())
        fp_errors.tell(flags, name, modes, lambda text: _warn(text, caller))
    return result


def told(function):
    """A function like `function`, Python code of NumPy's, for a task: its warnings name the line that called dflow.

    np.errstate counts as it is at this moment. What the code warns of itself names its caller: a frame that says it is
    that line. What its ufuncs find, they write to a log.
    """
    caller, modes = _caller(), fp_errors.modes()
    log, call = _Log(caller, modes, numpy.geterrcall()), _posing(caller)
    logged = {kind: "log" if mode == "warn" else mode for kind, mode in modes.items()}

    def run(*args, **keywords):
        with numpy.errstate(**logged, call=log):
            return call(function, args, keywords)

    return run


def called(function, args, keywords):
    """function(*args, **keywords), now: what it warns of itself names the line that called dflow."""
    if not fp_errors.check_finite():
        return _posing(_caller())(function, args, keywords)
    with numpy.errstate(**fp_errors.modes()):
        return function(*args, **keywords)


class _Log:
    """What np.errstate calls or writes to, instead of giving a warning."""

    KINDS = {"divide": "divide", "overflow": "over", "underflow": "under", "invalid": "invalid"}

    def __init__(self, caller, modes, theirs):
        self.caller, self.modes, self.theirs = caller, modes, theirs

    def write(self, message):
        text = message.removeprefix("Warning: ").rstrip("\n")
        if self.modes[self.KINDS[text.split()[0]]] == "warn":
            _warn(text, self.caller)
        else:
            self.theirs.write(message)

    def __call__(self, kind, flag):
        self.theirs(kind, flag)


_CALL = (lambda function, args, keywords: function(*args, **keywords)).__code__


@lru_cache(1024)
def _calling(filename, lineno):
    """The code of _CALL, as if it stood there: to make it takes longer than many a call."""
    return _CALL.replace(co_filename=filename, co_firstlineno=lineno, co_name="<submitted>")


def _posing(caller):
    """A function that calls another one, and says it is the caller's line."""
    code = _calling(caller["filename"], caller["lineno"])
    names = {"__name__": caller["module"], "__warningregistry__": caller["registry"], "__builtins__": builtins}
    return FunctionType(code, names)


def _caller():
    """What warn_explicit wants to know of the innermost frame outside dflow."""
    frame, depth = sys._getframe(1), 1
    try:
        while frame.f_code.co_filename.startswith(_HERE):
            depth += 1
            frame = sys._getframe(depth)    # f_back, without memory, is None in CPython 3.11, and an error is set
    except ValueError:
        pass                                # there is no other
    return {"filename": frame.f_code.co_filename, "lineno": frame.f_lineno,
            "module": frame.f_globals.get("__name__", "<string>"),
            "registry": frame.f_globals.setdefault("__warningregistry__", {})}


def _warn(text, caller):
    warnings.warn_explicit(text, RuntimeWarning, **caller)
