"""Small work by NumPy's own functions, at once: where all that a call needs is there, a task would cost more than it."""

from functools import update_wrapper

import numpy as np
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from dflow._array cimport ndarray, READONLY, SCALAR, as_array, is_here, numpy_window
from dflow._graph cimport intp, writable

cdef extern from "Python.h":
    object PyObject_Call(object, tuple, PyObject*)

SMALL = 4096                    # elements of an array
cdef intp small_size = SMALL
cdef enum:
    FEW = 64                    # items of a list, or arguments

LATER = object()                # in place of what is not there, or not small
cdef tuple PLAIN = (int, float, complex, bool, str, type(None), np.generic, np.dtype, type, type(np._NoValue))

cpdef ndarray as_scalar(ndarray a):
    """A fresh array, as a value from now on if it has no axes: for what is a scalar in NumPy."""
    if a.ndim == 0:
        a.flags |= SCALAR
    return a

cpdef object call_now(function, tuple arrays, dict keywords, dtype):
    """What a NumPy function makes of arrays that are there and small, as one of ours.

    None when they are not, or when the function fails: a task shall, so that its result carries the error.
    """
    cdef ndarray a
    for a in arrays:
        if a.size > small_size or not is_here(a):
            return None
    for value in keywords.values():
        if isinstance(value, ndarray):
            return None
    try:
        # Writeable, though nobody writes: some functions copy what they could not write to.
        result = function(*[numpy_window(a) for a in arrays], **keywords)
        return as_scalar(as_array(result if dtype is None else np.asarray(result, dtype)))
    except (FloatingPointError, Warning):       # np.errstate's, and the filters', wish
        raise
    except Exception:
        return None

cdef object seen(object x, intp small, bint inner=False):
    """x as NumPy is to see it, arrays as windows; LATER if it cannot be given at once."""
    cdef list items
    if type(x) is ndarray:
        if (<ndarray>x).size > small or not is_here(<ndarray>x):
            return LATER
        return numpy_window(<ndarray>x)[()] if (<ndarray>x).flags & SCALAR else numpy_window(<ndarray>x)
    if type(x) is int or type(x) is float or type(x) is str or x is None:
        return x
    if (type(x) is list or type(x) is tuple) and not inner and len(x) <= FEW:
        items = [seen(item, small, True) for item in x]
        for item in items:
            if item is LATER:
                return LATER
        return items if type(x) is list else tuple(items)
    if type(x) is cnp.ndarray:
        return x if cnp.PyArray_SIZE(x) <= small else LATER
    return x if isinstance(x, PLAIN) else LATER

cdef object ours(object x):
    """What NumPy returned, as arrays of ours; TypeError for an array of something else than numbers."""
    if isinstance(x, cnp.generic):
        return as_scalar(as_array(x))
    if isinstance(x, cnp.ndarray):
        if type(x) is not cnp.ndarray:
            raise TypeError("a matrix is to stay one")
        return as_array(x)
    if isinstance(x, tuple):
        return type(x)(*map(ours, x)) if hasattr(x, "_fields") else tuple(map(ours, x))
    return list(map(ours, x)) if type(x) is list else x

cdef bint free(object x) noexcept:
    """Whether nobody reads or writes an array, and the caller may."""
    return type(x) is ndarray and not (<ndarray>x).flags & (READONLY | SCALAR) and writable((<ndarray>x).st)

cdef int before_out(object function):
    """How many arguments may be given by place before one is `out`."""
    code = getattr(function, "__code__", None)
    names = code.co_varnames[:code.co_argcount] if code is not None else ()
    return names.index("out") if "out" in names else FEW

def bare(function):
    """A function of NumPy's without its look for other libraries' arrays."""
    return getattr(function, "_implementation", function)

def small_first(function, theirs, intp small=SMALL, bint writes=False):
    """A function like `function`, but NumPy's `theirs`, at once, on arrays that are there, of up to `small` elements.

    writes: into its first argument. Where NumPy's fails, `function` is called, and raises.
    """
    theirs = bare(theirs)
    cdef int most = min(before_out(function), before_out(theirs))

    def wrapper(*args, **keywords):
        if len(args) <= most and (not writes or args and free(args[0])):
            result = at_once(theirs, args, keywords, small)
            if result is not LATER:
                return result
        return function(*args, **keywords)

    return update_wrapper(wrapper, function)

cpdef object at_once(object theirs, tuple args, dict keywords, intp small):
    """What NumPy's function returns, if all arguments are there and small, and one is ours; else, or if it fails, LATER."""
    cdef tuple values = PyTuple_New(len(args))
    cdef dict named = None
    cdef bint any_of_ours = False
    cdef Py_ssize_t i
    for i in range(len(args)):
        x = args[i]
        value = seen(x, small)
        if value is LATER:
            return LATER
        any_of_ours |= value is not x
        Py_INCREF(value)
        PyTuple_SET_ITEM(values, i, value)
    if keywords:
        named = {}
        for name, x in keywords.items():
            value = seen(x, small)
            if value is LATER or name == "out" and x is not None:
                return LATER
            any_of_ours |= value is not x
            named[name] = value
    if not any_of_ours:
        return LATER
    try:
        return ours(PyObject_Call(theirs, values, <PyObject*>named if named is not None else NULL))
    except (FloatingPointError, Warning):       # np.errstate's, and the filters', wish
        raise
    except Exception:
        return LATER
