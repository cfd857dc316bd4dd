"""Modules that were elsewhere once: pickles that name a function of theirs still find it."""

import importlib
import sys
from importlib.machinery import ModuleSpec

# Where the names of a module of dflow's are now.
RENAMED = {
    "_blas": "_kernels.matmul _kernels.blas_library",
    "_convolve": "_functions.convolve",
    "_device": "_functions.placement",
    "_host": "_functions.host_task",
    "_index": "_functions.advanced_indexing",
    "_lapack": "_kernels.qr",
    "_make": "_functions.constructors",
    "_order": "_functions.joining _functions.sorting _functions.counting _functions.interp _functions.convolve",
    "_out": "_functions.out",
    "_program": "_tracing.trace",
    "_random": "_functions.random",
    "_share": "_functions.buffers",
    "_small": "_functions.numpy_inline",
    "_tape": "_tracing.tape",
    "_ufunc": "_functions.ufunc",
    "_views": "_functions.views",
}


class Finder:
    """Asked last, for what nobody has: so it costs nothing elsewhere."""

    def find_spec(self, name, path=None, target=None):
        package, _, module = name.partition(".")
        return ModuleSpec(name, self) if package == "dflow" and module in RENAMED else None

    def create_module(self, spec):
        return None                     # as usual

    def exec_module(self, module):
        homes = RENAMED[module.__name__.partition(".")[2]].split()

        def __getattr__(name):
            for home in homes:
                found = importlib.import_module(f"dflow.{home}")
                if hasattr(found, name):
                    return getattr(found, name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__getattr__ = __getattr__


def install():
    sys.meta_path.append(Finder())
