"""NumPy's own functions on our arrays: as tasks, where the result's shape is known, or waiting for the arguments."""

from functools import partial, wraps
from operator import is_
from types import FunctionType

import numpy

from dflow._array.core import array as as_array
from dflow._array.core import empty, is_array, ndarray, window
from dflow._base.documents import composed
from dflow._functions.host_task import at_hand, host
from dflow._functions.numpy_inline import LATER, SMALL, as_scalar, at_once, public, signature_of, small_first
from dflow._functions.placement import follow
from dflow._functions.views import is_scalar, open_window, seen_by
from dflow._runtime.errors import in_try
from dflow._tracing.tape import note_lost
from dflow.ops.host import submit
from dflow.ops.warn import called, told

AS_IT_IS = frozenset((int, float, bool, str, type(None)))


def unwrap(x, read=ndarray.asnumpy):
    """Our arrays, also inside lists and the like, as NumPy's arrays or scalars; what holds none is itself. Waits."""
    if type(x) in AS_IT_IS:
        return x
    if is_array(x):
        return read(x)[()] if is_scalar(x) else read(x)
    if holds_items(x):
        return of_items(x, [unwrap(item, read) for item in x])
    if type(x) is slice:
        return slice(unwrap(x.start, read), unwrap(x.stop, read), unwrap(x.step, read))
    if type(x) is dict:
        values = [unwrap(value, read) for value in x.values()]
        return x if all(map(is_, values, x.values())) else dict(zip(x, values))
    return plain(given(x))


def holds_items(x):
    """Whether x is a list or a tuple, also one with names."""
    return type(x) in (list, tuple) or isinstance(x, tuple) and hasattr(x, "_fields")


def of_items(x, items):
    """x itself, which an array of objects may have as an element, where these are its items; else one like it."""
    if all(map(is_, items, x)):
        return x
    return type(x)._make(items) if hasattr(x, "_fields") else type(x)(items)


def given(x):
    """The array of ours that the __array__ of an object gives, which NumPy would not take; anything else as it is."""
    if hasattr(type(x), "__array__") and not isinstance(x, (ndarray, numpy.ndarray, numpy.generic)):
        made = x.__array__()
        return made if is_array(made) else x
    return x


def plain(x):
    """An array of ours as NumPy's, which waits; anything else as it is."""
    return x.asnumpy() if is_array(x) else x


def items(x):
    """What a count, a shape or a list of axes consists of, as a tuple: a number, or an array without axes, of itself.

    Elements of ours are NumPy's numbers in it. Waits for them.
    """
    if type(x) is int:
        return (x,)
    x = unwrap(x)
    return tuple(x) if numpy.iterable(x) else (x,)


def opened(x):
    """Our arrays, also inside lists and the like, as NumPy arrays over the same memory. Waits for all work on it."""
    return seen(x, open_window)


def wrap(x):
    """NumPy's numeric arrays and scalars, also inside tuples and the like, as ours; what it alone holds as it is.

    So are subclasses: a matrix multiplies in another way, what is written to a memmap shall reach its file.
    """
    if type(x) is numpy.ndarray:
        return as_array(x) if x.dtype.kind in "biufc" and x.dtype.isnative else x
    if isinstance(x, numpy.generic):
        return as_scalar(as_array(x)) if x.dtype.kind in "biufc" else x
    return of_items(x, [wrap(item) for item in x]) if holds_items(x) else x


READ_ONLY = frozenset((                     # they neither write nor return what they are given
    numpy.unique, numpy.unique_values, numpy.unique_counts, numpy.unique_inverse, numpy.unique_all, numpy.union1d,
    numpy.intersect1d, numpy.setdiff1d, numpy.setxor1d))
VIEWING = frozenset((numpy.trim_zeros, numpy.real_if_close, numpy.asarray_chkfinite))    # return it, or a view of it
READERS = (numpy.load, numpy.fromfile)      # convert other byte orders


FIRST = "dst", "a", "arr"                   # names of the argument that is written to, where nothing is returned


def call(function, args, keywords):
    """function on NumPy's copies; what it wrote to these is copied back."""
    read = window_of if function in READ_ONLY | VIEWING else ndarray.asnumpy
    copies, named = unwrap(args, read), unwrap(keywords, read)
    result = called(function, copies, named)
    if type(result) is numpy.ndarray and function in READERS and result.dtype.kind in "biufc":
        result = as_array(result)
    view = seen_by(result) if function in VIEWING and type(result) is numpy.ndarray else None
    if view is not None:
        return view
    if result is None:
        first = args[:1] or [keywords[name] for name in FIRST if name in keywords]
        _copy_back(first, copies[:1] or [named[name] for name in FIRST if name in named])
        return None
    out = keywords.get("out")
    outs, written = (out, named["out"]) if type(out) is tuple else ((out,), (named.get("out"),))
    _copy_back(outs, written)
    for x, copy in zip(args, copies):
        if copy is result and is_array(x) and x.flags.writeable:        # an `out` without its name
            _copy_back([x], [copy])
            return x
    results = result if type(result) is tuple else (result,)
    if len(outs) != len(results) or not any(isinstance(x, (ndarray, numpy.ndarray)) for x in outs):
        return _of([*args, *keywords.values()], function, wrap(result))
    found = tuple(x if isinstance(x, (ndarray, numpy.ndarray)) else wrap(y) for x, y in zip(outs, results))
    return found if type(result) is tuple else found[0]


def _copy_back(arrays, copies):
    """Into arrays of ours what was written to their copies."""
    for x, copy in zip(arrays, copies):
        if is_array(x):
            x[...] = copy


def or_numpys(function, theirs):
    """A function like `function`, but NumPy's `theirs` where no argument is an array of ours."""

    @wraps(function)
    def wrapper(*args, **keywords):
        if any_of_ours(args, list(keywords.values())):
            return function(*args, **keywords)
        return call(theirs, args, keywords)

    return wrapper


def into_numpys(function, theirs):
    """A function like `function`, writing into its first argument; NumPy's `theirs` where that is NumPy's array."""

    @wraps(function)
    def wrapper(*args, **keywords):
        if args and isinstance(args[0], numpy.ndarray):
            return call(theirs, args, keywords)
        return function(*args, **keywords)

    return wrapper


def blocking(function):
    """A function over our arrays that waits for them and calls NumPy's."""

    def wrapper(*args, **keywords):
        return call(function, args, keywords)

    wrapper.__name__ = wrapper.__qualname__ = function.__name__
    wrapper.__doc__ = composed("", "copies", function.__doc__, f"numpy.{function.__name__}")
    wrapper.__wrapped__ = function
    if function is numpy.fromstring:            # the only one that tells none
        wrapper.__signature__ = signature_of(lambda string, dtype=float, count=-1, *, sep, like=None: None)
    return public(small_first(wrapper, function, -1 if function in VIEWING else SMALL), function, "dflow.numpy")


def task(function, *arrays, shape, dtype, **keywords):
    """function(*arrays, **keywords), of that shape and type: a host task, unless the arrays are there and small.

    `shape` and `dtype` may be lambdas, which are called when they must be known beforehand.
    """
    asked, theirs, function = isinstance(dtype, FunctionType), function, told(function)
    result = at_once(function, arrays, keywords, final=True)
    if result is not LATER:
        result = as_array(result)
        result = as_scalar(result if asked else result.astype(dtype, copy=False))
    else:
        shape = shape() if isinstance(shape, FunctionType) else shape
        result = as_scalar(submit(function, *arrays, shape=shape, dtype=dtype() if asked else dtype, **keywords))
        raised(result)
    return _of(arrays, theirs, result)


def raised(*results):
    """Raise the error of a task now, where the program would catch it; else its reader gets it."""
    if results and in_try():
        results[0].wait_to_read()


def tasks(function, *args, like, flat=tuple, **keywords):
    """function(*args, **keywords), of whose result flat() makes several arrays, of `like`'s shapes and types.

    Arrays may be anywhere in the arguments, in lists too. A host task, unless they are there, and all is small.
    """
    theirs, function = function, told(function)
    result = at_once(function, args, keywords, final=True) if all(x.size <= SMALL for x in like) else LATER
    if result is not LATER:
        return _of(args, theirs, list(flat(result)))
    outputs = [as_scalar(empty(x.shape, x.dtype)) for x in like]

    def run(_error):
        results = flat(function(*seen(args), **{key: seen(x) for key, x in keywords.items()}))
        for out, result in zip(outputs, results, strict=True):
            window(out, write=True)[...] = result

    host(run, arrays_in((args, list(keywords.values()))), outputs)
    raised(*outputs[:1])
    return _of(args, theirs, outputs)


def _of(args, function, result):
    """What NumPy's function made of arguments: where they are, and without a gradient."""
    return follow(args, note_lost(function, args, result), function)


def seen(x, to=window):
    """What `to` makes of our arrays, also inside lists and the like; anything else as it is."""
    if is_array(x):
        return to(x)
    return type(x)(seen(item, to) for item in x) if type(x) in (list, tuple) else x


def stand_in(x, shape=None):
    """Ones of the type and shape of our arrays, or of another shape, without memory; anything else as it is.

    NumPy's answer to them has the shape and type of its answer to the arrays, or is the error of these.
    """
    return seen(x, lambda x: numpy.broadcast_to(numpy.ones((), x.dtype), x.shape if shape is None else shape))


def arrays_in(x):
    """Our arrays in an argument: itself, or what is in a list."""
    if is_array(x):
        return [x]
    return [array for item in x for array in arrays_in(item)] if type(x) in (list, tuple) else []


def any_of_ours(*args):
    """Whether some argument is an array of ours, or a list with one."""
    for x in args:
        if is_array(x) or type(x) in (list, tuple) and any_of_ours(*x):
            return True
    return False


@partial(small_first, theirs=None, small=0)         # so that it may have a gradient
def checked(check, x):
    """An array of which check() approves: asked at once if its values are there, else by a task, for x's reader.

    check() returns its argument, or raises an error.
    """
    if is_array(x) and not at_hand(x):
        return task(check, x, shape=x.shape, dtype=x.dtype)
    check(plain(x))
    return x


def same_value(x, cast):
    """`cast`, of x to another type. ValueError where that has not the same value: for the reader, unless x is there."""

    def check(_error=None):
        values = window(x)
        if values.dtype.kind == "c" and cast.dtype.kind not in "cb" and not values.imag.any():
            values = values.real                    # without a warning: who casts has given one
        values.astype(cast.dtype, casting="same_value")

    if at_hand(x):
        check()
    else:
        host(check, [x], [cast])
        raised(cast)
    return cast


def window_of(x):
    """A NumPy array over the memory of an array of ours, once that is there; anything else as it is."""
    x = given(x)
    if not is_array(x):
        return x
    x.wait_to_read()
    return window(x)
