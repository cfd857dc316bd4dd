"""numpy.lib; but views made by stride_tricks, and files opened by format, are arrays of ours."""

import importlib as _importlib

from numpy import lib as _lib
from numpy.lib import __all__  # noqa: F401


def __getattr__(name):
    if name in ("format", "stride_tricks"):
        return _importlib.import_module(f"dflow.numpy.lib.{name}")
    return getattr(_lib, name)


def __dir__():
    return dir(_lib)
