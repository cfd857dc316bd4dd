"""pandas takes for a number what is one by its memory in C. Where it infers types, it is shown elements as NumPy's numbers.

Two functions of pandas are wrapped, when it is imported: the one that looks at objects in a list, a dict or a column, and
the one that looks at one object. Nothing else of pandas changes, and nothing where no element of ours is given.
"""

import functools
import sys

import numpy

from dflow._functions.elements import as_number, with_numbers


def _of_objects(theirs):
    """pandas' lib.maybe_convert_objects: what stays an array of objects is looked at again, with numbers in it."""

    @functools.wraps(theirs)
    def maybe_convert_objects(objects, *args, **keywords):
        result = theirs(objects, *args, **keywords)
        if getattr(result, "dtype", None) != object or type(objects) is not numpy.ndarray:
            return result
        numbers = with_numbers(objects)
        return result if numbers is objects else theirs(numbers, *args, **keywords)

    return maybe_convert_objects


def _of_one(theirs):
    """pandas' infer_dtype_from_scalar."""

    @functools.wraps(theirs)
    def infer_dtype_from_scalar(val):
        return theirs(as_number(val))

    return infer_dtype_from_scalar


WRAPPED = {"pandas._libs.lib": ("maybe_convert_objects", _of_objects),
           "pandas.core.dtypes.cast": ("infer_dtype_from_scalar", _of_one)}


def _teach(module):
    """Wrap the function of a module that was just imported, or before: then wherever it was imported to."""
    name, wrap = WRAPPED[module.__name__]
    theirs = getattr(module, name, None)
    if theirs is None or hasattr(theirs, "__wrapped__"):
        return
    ours = wrap(theirs)
    for place, other in [*sys.modules.items()]:
        if place.startswith("pandas.") and vars(other).get(name) is theirs:
            setattr(other, name, ours)


class _Loader:
    """A module's loader, after which the module is taught."""

    def __init__(self, theirs):
        self._theirs = theirs

    def __getattr__(self, name):
        return getattr(self._theirs, name)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._theirs
        self._theirs.exec_module(module)
        _teach(module)


class _Finder:
    """Among what importlib asks for modules: finds those of pandas as the others do, and has them taught."""

    def find_spec(self, name, path=None, target=None):
        if name not in WRAPPED:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not self else None
            if spec is not None:
                spec.loader = _Loader(spec.loader)
                return spec
        return None


def start():
    """Teach the pandas that is here, or that will be."""
    for name in WRAPPED.keys() & sys.modules.keys():
        _teach(sys.modules[name])
    if not WRAPPED.keys() <= sys.modules.keys():
        sys.meta_path.insert(0, _Finder())


start()
