"""pandas takes for a number what is one to C. Where it infers types, it is shown elements of ours as NumPy's numbers.

Two functions of pandas are wrapped when it is imported: the one that looks at the objects of a list, a dict, a column,
and the one that looks at a single one. Nothing else of pandas changes, and nothing where no element of ours is given.
"""

import functools
import sys

import numpy

from dflow._functions.elements import as_number, with_numbers

OBJECTS = numpy.dtype(object)


def _of_objects(theirs):
    """pandas' lib.maybe_convert_objects: what stays an array of objects is looked at again, with numbers in it."""

    @functools.wraps(theirs)
    def maybe_convert_objects(objects, *args, **keywords):
        result = theirs(objects, *args, **keywords)
        if getattr(result, "dtype", None) is not OBJECTS or not isinstance(objects, numpy.ndarray):
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


def teach(module):
    """Wrap the function of a module that was imported: in it, and wherever else it was imported to."""
    name, wrap = WRAPPED[module.__name__]
    theirs = getattr(module, name, None)
    if theirs is None or hasattr(theirs, "__wrapped__"):
        return
    ours = wrap(theirs)
    for place, other in [*sys.modules.items()]:
        if place.startswith("pandas.") and vars(other).get(name) is theirs:
            setattr(other, name, ours)
