"""What NumPy's functions take, and give, in MXNet's programs: after npx.set_np(), and not before.

A form is called where NumPy's function raises one of its errors and the arguments are the form's; one for no errors is
called in any case. It gets the function as NumPy has it first. NAMES are those that NumPy 2 has no more.
"""

import functools
import inspect

from dflow._array.core import array as as_array
from dflow._functions.numpy_inline import divert, otherwise
from dflow.ops.defaults import follow

FORMS = {}                      # (module, name): the form, its errors
NAMES = {"alltrue": "all", "product": "prod", "round_": "round", "sometrue": "any", "trapz": "trapezoid"}


def form(*errors, module="numpy", names=()):
    """Decorates the form of the function of its name, or of several."""

    def add(function):
        for name in names or (function.__name__,):
            FORMS[module, name] = function, errors
        return function

    return add


def install(names, module):
    """The functions of a module's dictionary have their forms wherever the switch is on, from now on."""
    for put, which in ((divert, []), (otherwise, [])):
        which += [name for home, name in FORMS if home == module and name in names
                  and (put is otherwise) == bool(FORMS[home, name][1])]
        if which:
            follow(names, which, functools.partial(_made, module), put)


def _made(module, name, function):
    """What is called in place of a function, or with its error, positional arguments and keywords."""
    mxnets, errors = FORMS[module, name]
    if not errors:
        return functools.wraps(function)(functools.partial(mxnets, function))
    bind = inspect.signature(mxnets).bind

    def answer(error, args, keywords):
        found = NotImplemented
        if isinstance(error, errors):
            try:
                bind(function, *args, **keywords)
            except TypeError:
                raise error from None
            found = mxnets(function, *args, **keywords)
        if found is NotImplemented:
            raise error
        return found

    return answer


def old_name(name, namespace):
    """A function of NumPy 1 that MXNet has, too, or None."""
    if name in NAMES:
        return namespace[NAMES[name]]
    if name == "in1d":
        return lambda ar1, ar2, assume_unique=False, invert=False: namespace["isin"](
            as_array(ar1).reshape(-1), ar2, assume_unique, invert)
    return functools.partial(namespace["sort"], axis=0) if name == "msort" else None


# -- arguments that NumPy has not --------------------------------------------------------------------

@form(TypeError, names=("sort", "argsort"))
def sort(function, a, axis=-1, descending=False, stable=True):
    """MXNet's third argument by place."""
    return function(a, axis, descending=descending) if isinstance(descending, bool) else NotImplemented


@form(TypeError, names=("quantile", "percentile", "nanquantile", "nanpercentile"))
def quantile(function, a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
    """`interpolation`, as NumPy's `method` was called."""
    return function(a, q, axis, out, bool(overwrite_input), interpolation, keepdims)


@form(ValueError)
def nonzero(function, a):
    """An array without axes as one of a single element."""
    a = as_array(a)
    return NotImplemented if a.ndim else function(a.reshape(1))


@form(TypeError, AttributeError, module="numpy.linalg", names=("eigh", "eigvalsh"))
def eigh(function, a, upper=False):
    """`upper`: the triangle that is read."""
    return NotImplemented if isinstance(upper, str) else function(a, "U" if upper else "L")


@form(TypeError, module="numpy.linalg")
def matrix_norm(function, x, ord="fro", axis=(-2, -1), keepdims=False):
    """Of the matrices in any two axes."""
    axis = tuple(axis) if isinstance(axis, list) else axis
    if not isinstance(axis, tuple) or len(axis) != 2:
        raise ValueError(f"axis must be a tuple of two, not {axis!r}")
    from dflow.ops.linalg import norm
    return norm(x, ord, axis, keepdims)


@form(TypeError, module="numpy.linalg")
def lstsq(function, a, b, rcond="warn"):
    """"warn": the precision of the numbers, as old NumPy's had it."""
    return function(a, b, -1) if isinstance(rcond, str) and rcond == "warn" else NotImplemented


# -- results that differ -----------------------------------------------------------------------------

@form(module="numpy.linalg")
def svd(function, a, full_matrices=False, compute_uv=True, hermitian=False):
    """Without the vectors that belong to no singular value."""
    return function(a, full_matrices, compute_uv, hermitian)


@form(module="numpy.linalg")
def matrix_rank(function, A, tol=None, hermitian=False, *, rtol=None):
    """An array, of a vector, too."""
    return as_array(function(A, tol, hermitian, rtol=rtol))


@form()
def unique_values(function, x):
    """In order, as NumPy's were before 2.3."""
    from dflow._functions import sorting
    return sorting.sort(function(x))
