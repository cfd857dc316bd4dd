"""What other libraries' functions are given: NumPy's arrays and numbers, where a program gives ours.

A function of Cython's has no frame: the warnings of the library still name the line of the program.
"""

import functools
from types import FunctionType, MethodType

import numpy as np
from dflow._array.core cimport ndarray, SCALAR, is_ours

cdef frozenset PLAIN = frozenset((int, float, str, bool, type(None)))

cdef enum:
    FEW = 64                    # items of a list that may hold numbers and arrays; a longer one is as its first item

cpdef object numpys(object x):
    """x, where it is of ours: NumPy's array over the same memory, or its number. Other things as they are.

    Also in lists, tuples, dictionaries and slices, and what functions return. Waits for all that is pending on it.
    """
    kind = type(x)
    if kind in PLAIN:
        return x
    if is_ours(x):
        return np.asarray(x)[()] if (<ndarray>x).flags & SCALAR else np.asarray(x)
    if kind is list or kind is tuple:
        return items_of(x, kind)
    if kind is dict:
        return pairs_of(x)
    if kind is slice:
        return slice(numpys(x.start), numpys(x.stop), numpys(x.step))
    return returning(x) if kind is FunctionType or kind is MethodType else x

cdef object items_of(object x, object kind):
    """The same object, where nothing in it changes."""
    cdef bint changed = False
    cdef list found
    if len(x) > FEW and type(x[0]) in PLAIN:
        return x
    found = []
    for item in x:
        new = numpys(item)
        changed = changed or new is not item
        found.append(new)
    return kind(found) if changed else x

cdef object pairs_of(dict x):
    cdef bint changed = False
    cdef dict found = {}
    for key, item in x.items():
        new = numpys(item)
        name = numpys(key)
        changed = changed or new is not item or name is not key
        found[name] = new
    return found if changed else x

cdef object returning(function):
    def called(*args, **keywords):
        return numpys(function(*args, **keywords))

    try:
        return functools.wraps(function)(called)
    except AttributeError:          # a method's are read-only
        return called

def given_numpys(function):
    """The function, given NumPy's arrays and numbers for ours. What a compiler shall take apart stays as it is."""
    def wrapper(*args, **keywords):
        if keywords.get("engine") == "numba":
            return function(*args, **keywords)
        return function(*numpys(args), **numpys(keywords))

    wrapper.__given__ = True
    return functools.wraps(function)(wrapper)
