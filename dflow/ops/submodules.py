"""Submodules of NumPy's that dflow has not, by their names below dflow.numpy: `import dflow.numpy.ma as ma`.

They are NumPy's own modules, loaded when they are asked for. Those that show NumPy's functions once more, numpy.core
above all, are modules of ours here, which have this namespace's functions under the same names.
"""

import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from dflow.ops import assertions

PACKAGE = "dflow.numpy."
SHOWS = frozenset(("core", "_core", "linalg", "fft"))


class Finder:
    """Asked first: a module of NumPy's has a folder, whose modules would be loaded a second time by their new names."""

    def find_spec(self, name, path=None, target=None):
        if name == assertions.HOME:
            spec = PathFinder.find_spec(name, path)
            assertions.when_run(spec.loader)
            return spec
        if not name.startswith(PACKAGE):
            return None
        parent = sys.modules[name.rpartition(".")[0]]
        if parent.__name__.startswith("dflow") and PathFinder.find_spec(name, path) is not None:
            return None
        from importlib.util import find_spec  # slow to load

        theirs = find_spec(numpys(name))
        return theirs and ModuleSpec(name, self, is_package=theirs.submodule_search_locations is not None)

    def create_module(self, spec):
        return None                     # as usual

    def exec_module(self, module):
        name = module.__name__
        theirs = importlib.import_module(numpys(name))
        if SHOWS.isdisjoint(theirs.__name__.split(".")[1:2]):
            sys.modules[name] = theirs
            return
        module.__doc__ = theirs.__doc__
        module.__getattr__ = lambda attribute: shown(getattr(theirs, attribute), attribute, name)
        module.__dir__ = lambda: dir(theirs)


def numpys(name):
    return name.removeprefix("dflow.")


def shown(value, attribute, name):
    """What a module of NumPy's has by that name: ours, where it is what our namespace has by it, too."""
    if isinstance(value, ModuleType):
        inner = f"{name}.{attribute}"
        return importlib.import_module(inner) if value.__name__ == numpys(inner) else value
    for home in ("numpy", getattr(value, "__module__", None)):
        if home in ("numpy", "numpy.linalg", "numpy.fft") and getattr(sys.modules[home], attribute, None) is value:
            return getattr(importlib.import_module(f"dflow.{home}"), attribute)
    return value


def install():
    sys.meta_path.insert(0, Finder())
    assertions.install()
