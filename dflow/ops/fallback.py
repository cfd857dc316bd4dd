"""NumPy functions that have no row: called on copies, once their arguments are there."""

import numpy

from dflow._array import array as as_array
from dflow._array import ndarray


def unwrap(x):
    """Our arrays, also inside lists and the like, as NumPy's. Waits."""
    if isinstance(x, ndarray):
        return x.asnumpy()
    if type(x) in (list, tuple):
        return type(x)(map(unwrap, x))
    if type(x) is dict:
        return {key: unwrap(value) for key, value in x.items()}
    return x


def wrap(x):
    """NumPy's numeric arrays and scalars, also inside tuples and the like, as ours; anything else as it is."""
    if isinstance(x, (numpy.ndarray, numpy.generic)):
        return as_array(x) if x.dtype.kind in "biufc" else x
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(wrap, x))
    if type(x) in (list, tuple):
        return type(x)(map(wrap, x))
    return x


def call(function, args, keywords):
    """function on NumPy's copies; what it wrote into `out` is copied back."""
    out = keywords.get("out")
    plain = unwrap(keywords)
    result = function(*unwrap(args), **plain)
    if not isinstance(out, ndarray):
        return wrap(result)
    out[...] = plain["out"]
    return out


def blocking(function):
    """A function over our arrays that waits for them and calls NumPy's."""

    def wrapper(*args, **keywords):
        return call(function, args, keywords)

    wrapper.__name__ = wrapper.__qualname__ = function.__name__
    wrapper.__doc__ = f"Blocking: waits for its arguments, calls numpy.{function.__name__} on copies.\n\n{function.__doc__ or ''}"
    wrapper.__wrapped__ = function
    return wrapper
