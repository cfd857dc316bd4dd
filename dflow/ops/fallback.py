"""NumPy's own functions on our arrays: as tasks, where the result's shape is known, or waiting for the arguments."""

from types import FunctionType

import numpy

from dflow._array import array as as_array
from dflow._array import ndarray, window
from dflow.ops.host import submit

SMALL = 4096                # elements that a NumPy function may get at once, in the caller


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
    text = f"Blocking: waits for its arguments, calls numpy.{function.__name__} on copies."
    wrapper.__doc__ = f"{text}\n\n{function.__doc__ or ''}"
    wrapper.__wrapped__ = function
    return wrapper


def task(function, *arrays, shape, dtype, **keywords):
    """function(*arrays, **keywords), of that shape and type: a host task, unless the arrays are there and small.

    `dtype` may be a lambda, which is called when the type must be known beforehand.
    """
    asked = type(dtype) is FunctionType
    for x in (*arrays, *keywords.values()):
        if type(x) is ndarray and (x.size > SMALL or not x.is_ready()):
            break
    else:
        try:
            for x in arrays:
                x.wait_to_read()
            result = function(*map(window, arrays), **{name: _seen(x) for name, x in keywords.items()})
            return as_array(result if asked else numpy.asarray(result, dtype))
        except Exception:
            pass                # let the result carry the error, as it would if the arrays were pending
    return submit(function, *arrays, shape=shape, dtype=dtype() if asked else dtype, **keywords)


def _seen(x):
    if type(x) is not ndarray:
        return x
    x.wait_to_read()
    return window(x)
