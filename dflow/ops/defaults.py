"""The type of numbers that are made without one: NumPy's, or after MXNet's `npx.set_np()` float32."""

import contextlib
import functools
import inspect
import math
import numbers

import numpy

from dflow._array.core import array as as_array
from dflow._array.core import is_array, set_mxnet_rules, window
from dflow._functions.host_task import failure
from dflow._functions.mapped import memmap
from dflow._functions.numpy_inline import divert, own_way
from dflow._functions.placement import device_number, put_on, set_current
from dflow._functions.ufunc import set_single
from dflow._functions.views import is_scalar

# What makes such numbers. The first are told the type; results of the others are cast, which fuses, where no type was
# asked for: DATA says which argument may have given one.
TOLD = "empty zeros ones eye identity tri".split()
CAST = "array asarray full arange linspace logspace geomspace".split()
DATA = {"array": 0, "asarray": 0, "full": 1}
DRAWN = """beta chisquare exponential f gamma gumbel laplace logistic lognormal multivariate_normal normal pareto power
    rand randn random random_sample rayleigh standard_exponential standard_gamma standard_normal uniform
    weibull""".split()
LIKE = "empty_like zeros_like ones_like full_like".split()                      # their types are NumPy's, as of these
COUNTED = "randint choice permutation".split()
MADE, RANDOM = (*TOLD, *CAST, *LIKE), (*DRAWN, *COUNTED)    # what two modules have: np.power() is no draw
# A module's dictionary, a name, NumPy's way of it; how MXNet's is made, and put in its place; once asked for, MXNet's.
_switched = []
_state = {"shape": False, "array": False, "dtype": True}


def follow(names, which, make=None, put=divert):
    """These functions in a module's dictionary follow the switch from now on: outside it that costs nothing.

    make(name, function): MXNet's way of one; without, the types of what it makes are MXNet's.
    """
    for name in which:
        if name in names:
            _switched.append([names, name, names[name], make or _single, put, None])
    _switch()


def _switch():
    single = _state["array"] and not _state["dtype"]
    set_single(single)
    for row in _switched:
        names, name, function, make, put, mxnets = row
        on = single if make is _single else _state["array"]
        if mxnets is None:
            if not on:
                continue
            mxnets = row[-1] = make(name, own_way(function))
        if not put(function, mxnets if on else None) and names[name] in (function, mxnets):
            # A plain function, as asarray: only as the module has it.
            names[name] = mxnets if on else function


def _single(name, function):
    """A function that makes float32 where no type is asked for, on a device that `ctx` or `device` may name."""
    parameters = list(inspect.signature(function).parameters)
    place = parameters.index("dtype") if "dtype" in parameters and name not in DRAWN else math.inf
    data = DATA.get(name, math.inf)

    @functools.wraps(function)
    def wrapper(*args, ctx=None, device=None, **keywords):
        if ctx is not None or device is not None:
            where = device if ctx is None else ctx
            before = set_current(device_number(where))       # so that its workers make it
            try:
                made = wrapper(*args, **keywords)
            finally:
                set_current(before)
            return made.to_device(where) if name == "asarray" else put_on(made, where)
        if name in COUNTED:
            return _drawn(function(*args, **keywords))
        if name in LIKE or len(args) > place:
            return function(*args, **keywords)
        dtype = keywords.pop("dtype", None)
        if dtype is None and name in DATA and args and _is_objects(args[0]):
            args = (args[0].astype(numpy.float32), *args[1:])
        if dtype is None and name in TOLD:
            dtype = numpy.float32
        if dtype is not None and "dtype" in parameters:
            return _drawn(function(*args, dtype=dtype, **keywords))
        result = function(*args, **keywords)
        if len(args) > data and _is_typed(args[data]):
            return result
        if type(result) is tuple:                           # of linspace: the step stays as it is
            return _cast(result[0]), *result[1:]
        return _cast(_drawn(result), dtype)

    return wrapper


def _drawn(x):
    """A single number that was drawn is an array, as in MXNet."""
    return as_array(x) if isinstance(x, numbers.Number) else x


def _is_objects(x):
    """Whether it is NumPy's array of Python's numbers."""
    return (isinstance(x, numpy.ndarray) and x.dtype == object
            and all(isinstance(item, numbers.Real) for item in x.flat))


def _is_typed(x):
    """Whether it has a type that stays: NumPy's float64 does not."""
    return is_array(x) or isinstance(x, (numpy.ndarray, numpy.generic)) and x.dtype != float


def _cast(x, dtype=None):
    """An array as float32, or of a type; complex ones, and Python's numbers, as they are."""
    if not is_array(x) or dtype is None and x.dtype.kind == "c":
        return x
    return x.astype(numpy.float32 if dtype is None else dtype, copy=False)


def described(error):
    """Its kind, and what it says, if it does."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def shown(a):
    """repr() of an array, or of a scalar. In MXNet's all are arrays, and float64 needs mention, not float32.

    Of one that failed it says so: what prints a list of arguments, or a traceback, is not to fail itself.
    """
    try:
        a.wait_to_read()
    except BaseException as error:          # a task may have raised any
        if failure(a) is None and not any(note.startswith("submitted at") for note in getattr(error, "__notes__", ())):
            raise                           # Ctrl-C, say; what else is to be done with its memory may be pending yet
        return f"<failed array, shape={a.shape}, dtype={a.dtype}: {described(error)}>"
    x = window(a)
    if _state["dtype"] or not _state["array"]:
        if is_scalar(a):
            return repr(x[()])
        return repr(x.view(numpy.memmap) if isinstance(a, memmap) else x)
    if isinstance(a, memmap):
        x = x.view(numpy.memmap)
    text = repr(x)
    if x.dtype == numpy.float32:
        return text[:text.rindex(",")] + ")"
    return f"{text[:-1]}, dtype=float64)" if x.dtype == float and "dtype=" not in text else text


def set_np(shape=True, array=True, dtype=False):
    """MXNet's float32 for what dflow.numpy makes without a type, `ctx=` for where; with dtype=True NumPy's types.

    So are functions of whole numbers that NumPy computes in float64, as i / j. Axes may be lists then; float(x), int(x)
    and x[0] = y take an array of one element, as older NumPy's did; whole numbers of floating point types are indices;
    whole numbers have gradients, of their type, and do not widen those of floating point beside them in a ufunc. repr()
    names float64 but not float32. sort() and argsort() take descending=, as NumPy's from 2.5 on do; what other
    functions take, and names of NumPy 1, are in mxnet_forms.py.
    The switch holds for the functions of dflow.numpy and dflow.numpy.random wherever they have been imported to.
    isinstance(x[0], np.ndarray) is True, as in MXNet.

    Parameters
    ----------
    shape : bool
        What is_np_shape() says; it must be True where array is.
    array : bool
        MXNet's rules hold from now on. False: NumPy's, as reset_np() has it.
    dtype : bool
        NumPy's types for what is made without one, not float32.

    Raises
    ------
    ValueError
        For array without shape.

    Examples
    --------
    >>> npx.set_np()
    >>> np.ones(3).dtype
    dtype('float32')
    >>> npx.reset_np()
    """
    if array and not shape:
        raise ValueError("shape must be True where array is: NumPy's arrays may have no axes, or no elements")
    _set(shape, array, dtype, bool(array))


def _set(shape, array, dtype, rules):
    """Returns whether MXNet's rules held before."""
    _state.update(shape=bool(shape), array=bool(array), dtype=bool(dtype))
    before = set_mxnet_rules(rules)
    _switch()
    return before


def reset_np():
    """NumPy's types again.

    Examples
    --------
    >>> npx.set_np()
    >>> npx.reset_np()
    >>> np.ones(3).dtype
    dtype('float64')
    """
    set_np(False, False, True)


def is_np_shape():
    """Whether set_np() asked for NumPy's shapes, which are all that there is.

    Returns
    -------
    bool

    Examples
    --------
    >>> npx.is_np_shape()
    False
    """
    return _state["shape"]


def is_np_array():
    """Whether set_np() asked for NumPy's arrays, which are all that there is.

    Returns
    -------
    bool

    Examples
    --------
    >>> npx.is_np_array()
    False
    """
    return _state["array"]


def is_np_default_dtype():
    """Whether what is made without a type has NumPy's, not float32.

    Returns
    -------
    bool

    Examples
    --------
    >>> npx.is_np_default_dtype()
    True
    """
    return _state["dtype"]


def set_np_shape(active):
    """What is_np_shape() says from now on: shapes themselves are NumPy's always.

    Parameters
    ----------
    active : bool
        What it says.

    Returns
    -------
    bool
        What it said before.

    Raises
    ------
    ValueError
        For False while set_np() holds: reset_np() ends both.

    Examples
    --------
    >>> before = dflow.util.set_np_shape(True)
    >>> dflow.util.is_np_shape()
    True
    >>> dflow.util.set_np_shape(before)
    True
    """
    before = _state["shape"]
    if _state["array"] and not active:
        raise ValueError("NumPy's shapes cannot end where its arrays hold: npx.reset_np() ends both")
    _state["shape"] = bool(active)
    return before


def set_np_default_dtype(is_np_default_dtype=True):
    """NumPy's types for what is made without one, or float32, where set_np() holds; returns is_np_default_dtype().

    Parameters
    ----------
    is_np_default_dtype : bool
        NumPy's types from now on.

    Returns
    -------
    bool

    Examples
    --------
    >>> before = npx.set_np_default_dtype(True)
    >>> npx.set_np_default_dtype(before)
    True
    """
    before = _state["dtype"]
    if before != bool(is_np_default_dtype):
        _state["dtype"] = not before
        _switch()
    return before


@contextlib.contextmanager
def np_shape(active=True):
    """A context, in which is_np_shape() says so; then as before. It is for all threads.

    Parameters
    ----------
    active : bool
        What it says.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError
        For False while set_np() holds.

    Examples
    --------
    >>> with dflow.util.np_shape():
    ...     dflow.util.is_np_shape()
    True
    >>> dflow.util.is_np_shape()
    False
    """
    before = set_np_shape(active)
    try:
        yield
    finally:
        _state["shape"] = before


@contextlib.contextmanager
def np_array(active=True):
    """A context, which is as after set_np(), or reset_np(); then as before.

    Where that is so already, it does nothing. It is for all threads.

    Parameters
    ----------
    active : bool
        As after set_np(). False: as after reset_np().

    Returns
    -------
    context manager

    Examples
    --------
    >>> with dflow.util.np_array():
    ...     np.ones(2).dtype
    dtype('float32')
    >>> np.ones(2).dtype
    dtype('float64')
    """
    if _state["array"] == bool(active):
        yield
        return
    before = dict(_state)
    rules = _set(active or before["shape"], active, not active, bool(active))
    try:
        yield
    finally:
        _set(**before, rules=rules)


@contextlib.contextmanager
def np_default_dtype(active=True):
    """A context, in which set_np_default_dtype() holds; then as before. It is for all threads.

    Parameters
    ----------
    active : bool
        NumPy's types for what is made without one. False: float32, where set_np() holds.

    Returns
    -------
    context manager

    Examples
    --------
    >>> npx.set_np()
    >>> with dflow.util.np_default_dtype():
    ...     np.ones(2).dtype
    dtype('float64')
    >>> np.ones(2).dtype
    dtype('float32')
    >>> npx.reset_np()
    """
    before = set_np_default_dtype(active)
    try:
        yield
    finally:
        set_np_default_dtype(before)


USE = """Decorates a function, or the functions of a class: they run `with {scope}()`.

Parameters
----------
func : callable or type
    A function, or a class, whose methods and properties are changed.

Returns
-------
callable or type
    Another function, or the class itself.

Raises
------
TypeError
    For what is neither.

Examples
--------
{before}>>> @dflow.util.{name}
... def said():
...     return {said}
>>> said(), {said}
(True, False)
{after}"""


def _user(scope, name, said, before="", after=""):
    def use(func):
        if isinstance(func, type):
            for attribute, x in list(vars(func).items()):
                if inspect.isfunction(x):
                    setattr(func, attribute, use(x))
                elif isinstance(x, (staticmethod, classmethod)):
                    setattr(func, attribute, type(x)(use(x.__func__)))
                elif isinstance(x, property):
                    parts = (part and use(part) for part in (x.fget, x.fset, x.fdel))
                    setattr(func, attribute, property(*parts, x.__doc__))
            return func
        if not callable(func):
            raise TypeError(f"{name}() decorates classes and functions, not {type(func).__name__}")

        @functools.wraps(func)
        def wrapper(*args, **keywords):
            with scope():
                return func(*args, **keywords)

        return wrapper

    use.__name__ = use.__qualname__ = name
    use.__doc__ = USE.format(scope=scope.__name__, name=name, said=said, before=before, after=after)
    return use


use_np_shape = _user(np_shape, "use_np_shape", "npx.is_np_shape()")
use_np_array = use_np = _user(np_array, "use_np", "npx.is_np_array()")       # arrays bring their shapes
use_np_default_dtype = _user(np_default_dtype, "use_np_default_dtype", "npx.is_np_default_dtype()",
                             ">>> npx.set_np()\n", ">>> npx.reset_np()\n")
