"""numpy.lib; but views made by stride_tricks are of our arrays."""

import importlib as _importlib

from numpy import lib as _lib
from numpy.lib import __all__  # noqa: F401


def __getattr__(name):
    if name == "stride_tricks":
        return _importlib.import_module("dflow.numpy.lib.stride_tricks")
    return getattr(_lib, name)


def __dir__():
    return dir(_lib)
