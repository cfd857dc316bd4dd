"""SciPy's extension modules, without the packages around them, whose import takes a tenth of a second."""

import importlib
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def extension(name):
    """The extension module scipy.<name>; scipy's own packages will find it loaded. ImportError when there is none."""
    package, _, short = name.rpartition(".")
    full = f"scipy.{name}"
    if full not in sys.modules:
        import scipy  # 15 ms: not before it is needed

        folders = [os.path.join(folder, *package.split(".")) for folder in scipy.__path__]
        spec = PathFinder.find_spec(full, folders)
        if spec is None:                    # installed in some other way
            return importlib.import_module(full)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules.setdefault(full, module)
    return sys.modules[full]
