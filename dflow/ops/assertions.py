"""numpy.testing's comparisons, which ask for NumPy's arrays by their class: arrays of ours as these.

Tests that compare what a program with another import made have NumPy's own assertions in their hands. So those two that
ask for the class take ours, once dflow.numpy is loaded.
"""

import sys
from functools import wraps

from dflow.ops import fallback

HOME = "numpy.testing._private.utils"
ASKING = ("assert_equal", "assert_almost_equal")


def comparing(function, seen=fallback.unwrap):
    """The assertion, of what seen() makes of its first two arguments."""
    @wraps(function)
    def wrapper(actual, desired, *args, **keywords):
        __tracebackhide__ = True
        return function(seen(actual), seen(desired), *args, **keywords)

    return wrapper


def take_ours(module):
    """Let the assertions of a module of NumPy's take arrays of ours."""
    for name in ASKING:
        function = getattr(module, name)
        if function.__module__ == HOME and not hasattr(function, "__wrapped__"):
            setattr(module, name, comparing(function))


def when_run(loader):
    """Do so as soon as that loader has run the module."""
    run = loader.exec_module

    def exec_module(module):
        run(module)
        take_ours(module)

    loader.exec_module = exec_module


def install():
    """Where NumPy's module is loaded already; the finder of submodules sees to what comes."""
    for name in (HOME, "numpy.testing"):
        if name in sys.modules:
            take_ours(sys.modules[name])
