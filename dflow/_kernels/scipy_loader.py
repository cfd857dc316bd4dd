"""SciPy's extension modules, without the packages around them, whose import takes a tenth of a second."""

import ctypes
import importlib
import os
import sys
from importlib.machinery import PathFinder


def find(name):
    """The spec of the extension module scipy.<name>, or None where SciPy is installed in some other way."""
    from importlib.util import find_spec  # slow to load

    package, _, short = name.rpartition(".")
    scipy = find_spec("scipy")
    if scipy is None:
        raise ImportError("dflow needs SciPy, which is not installed")
    folders = [os.path.join(folder, *package.split(".")) for folder in scipy.submodule_search_locations]
    return PathFinder.find_spec(f"scipy.{name}", folders)


def extension(name):
    """The extension module scipy.<name>; scipy's own packages will find it loaded. ImportError when there is none."""
    from importlib.util import module_from_spec

    full = f"scipy.{name}"
    if full not in sys.modules:
        spec = find(name)
        if spec is None:
            return importlib.import_module(full)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules.setdefault(full, module)
    return sys.modules[full]


def linked(name):
    """What the extension module scipy.<name> is linked with, its functions as attributes; none of its Python code runs.
    None where that cannot be had."""
    spec = find(name)
    try:
        return None if spec is None else ctypes.CDLL(spec.origin)
    except OSError:
        return None
