"""Small work by NumPy's own functions, at once: where all that a call needs is there, a task would cost more than it."""

from functools import update_wrapper

import numpy as np
cimport numpy as cnp
from dflow._array cimport ndarray, READONLY, SCALAR, as_array, is_here, numpy_window
from dflow._graph cimport writable

cdef enum:
    SMALL = 4096                # elements of an array
    FEW = 64                    # items of a list

cdef object LATER = object()    # in place of an argument that is not there, or not small
cdef tuple PLAIN = (int, float, complex, bool, str, type(None), np.generic, np.dtype, type, type(np._NoValue))

cpdef object call_now(function, tuple arrays, dict keywords, dtype):
    """What a NumPy function makes of arrays that are there and small, as one of ours.

    None when they are not, or when the function fails: a task shall, so that its result carries the error.
    """
    cdef ndarray a
    for a in arrays:
        if a.size > SMALL or not is_here(a):
            return None
    for value in keywords.values():
        if isinstance(value, ndarray):
            return None
    try:
        # Writeable, though nobody writes: some functions copy what they could not write to.
        result = function(*[numpy_window(a) for a in arrays], **keywords)
        return as_array(result if dtype is None else np.asarray(result, dtype))
    except (FloatingPointError, Warning):       # np.errstate's, and the filters', wish
        raise
    except Exception:
        return None

cdef object seen(object x, bint inner=False):
    """x as NumPy is to see it, arrays as windows; LATER if it cannot be given at once."""
    cdef list items
    kind = type(x)
    if kind is ndarray:
        return numpy_window(<ndarray>x) if (<ndarray>x).size <= SMALL and is_here(<ndarray>x) else LATER
    if kind is int or kind is float or kind is str or x is None or isinstance(x, PLAIN):
        return x
    if kind is np.ndarray:
        return x if cnp.PyArray_SIZE(x) <= SMALL else LATER
    if (kind is not list and kind is not tuple) or inner or len(x) > FEW:
        return LATER
    items = [seen(item, True) for item in x]
    for item in items:
        if item is LATER:
            return LATER
    return items if kind is list else tuple(items)

cdef object ours(object x):
    """What NumPy returned, as arrays of ours; TypeError for an array of something else than numbers."""
    if isinstance(x, (np.ndarray, np.generic)):
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

def small_first(function, theirs, bint writes=False):
    """A function like `function`, but on arrays that are there and small it is NumPy's `theirs`, at once.

    writes: into its first argument. Where NumPy's fails, `function` is called, and raises.
    """
    theirs = getattr(theirs, "_implementation", theirs)     # without its look for other libraries' arrays
    cdef int most = min(before_out(function), before_out(theirs))

    def wrapper(*args, **keywords):
        cdef list values = []
        cdef dict named = {}
        cdef bint any_of_ours = False
        if len(args) > most or writes and not (args and free(args[0])):
            return function(*args, **keywords)
        for x in args:
            value = seen(x)
            if value is LATER:
                return function(*args, **keywords)
            any_of_ours |= value is not x
            values.append(value)
        for name, x in keywords.items():
            value = seen(x)
            if value is LATER or name == "out" and x is not None:
                return function(*args, **keywords)
            any_of_ours |= value is not x
            named[name] = value
        if not any_of_ours:
            return function(*args, **keywords)
        try:
            return ours(theirs(*values, **named))
        except (FloatingPointError, Warning):       # np.errstate's, and the filters', wish
            raise
        except Exception:
            pass
        return function(*args, **keywords)

    return update_wrapper(wrapper, function)
