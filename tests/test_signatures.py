"""What NumPy's functions and methods can be called with, dflow's can: the same parameters, in the same places.

Compared by inspect.signature, where both have one. Parameters of our own may follow; a default may say the same in
another way (NumPy's `<no value>` for keepdims is our False).
"""

import functools
import importlib
import inspect

import numpy
import pytest
from dflow._functions.numpy_inline import or_else, small_first

import dflow
import dflow.numpy as np

MODULES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.random")
CLASSES = [(numpy.ndarray, dflow.ndarray), (numpy.random.Generator, np.random.Generator),
           (numpy.random.RandomState, np.random.RandomState)]
PLAIN = (bool, int, float, str)             # types of defaults that mean the same everywhere

# Deprecated parameters that some versions of NumPy still have, and dflow has not; and choose()'s, which takes others.
LEFT_OUT = {("choose", "choices"), ("choose", "out"), ("choose", "mode"),
            ("reshape", "newshape"), ("corrcoef", "bias"), ("corrcoef", "ddof"), *(
    (name, "interpolation") for name in ("percentile", "quantile", "nanpercentile", "nanquantile"))}


def parameters(function):
    """The parameters of a signature; None if there is none, or one that says nothing."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    kinds = [p.kind for p in found if p.name != "self"]
    return found if kinds != [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD] else None


def places(params):
    """Name: place, of those that can be given by position."""
    return {p.name: i for i, p in enumerate(params) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)}


def differences(theirs, ours):
    """A line for each way in which a call of NumPy's function may fail here, or mean something else."""
    kinds = {p.kind for p in ours}
    named = {p.name: p for p in ours if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if len(places(theirs)) > len(places(ours)) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        yield "too few places"
    for p in theirs:
        own = named.get(p.name)
        if p.kind is p.VAR_POSITIONAL and p.kind not in kinds:
            yield f"no {p}"
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            continue
        if own is None and p.VAR_KEYWORD not in kinds:
            yield f"no {p.name}"
        elif own is not None:
            if p.name in places(theirs) and places(ours).get(p.name) != places(theirs)[p.name]:
                yield f"{p.name} in another place"
            if type(p.default) in PLAIN and type(own.default) in PLAIN and p.default != own.default:
                yield f"{p.name} is {own.default!r}, not {p.default!r}"


def compare(pairs):
    """Name: differences, of those functions that have any."""
    found = {}
    for name, theirs, ours in pairs:
        theirs, ours = parameters(theirs), parameters(ours)
        if theirs is not None and ours is not None:
            kept = [p for p in theirs if (name, p.name) not in LEFT_OUT]
            if lines := list(differences(kept, ours)):
                found[name] = lines
    return found


@pytest.mark.parametrize("path", MODULES)
def test_parameters_of_functions(path):
    theirs, ours = importlib.import_module(path), importlib.import_module(f"dflow.{path}")
    names = [name for name in theirs.__all__ if callable(getattr(theirs, name)) and name in vars(ours)]
    assert len(names) > 15
    assert compare((name, getattr(theirs, name), getattr(ours, name)) for name in names) == {}


@pytest.mark.parametrize("theirs, ours", CLASSES, ids=lambda cls: cls.__module__)
def test_parameters_of_methods(theirs, ours):
    names = [name for name in dir(theirs) if name[0] != "_" and callable(getattr(theirs, name)) and hasattr(ours, name)]
    assert len(names) > 40
    assert compare((name, getattr(theirs, name), getattr(ours, name)) for name in names) == {}


def test_self_is_given_by_place():
    seen = 0
    for name in dir(numpy.ndarray):
        theirs = getattr(numpy.ndarray, name)
        if isinstance(getattr(theirs, "__self__", None), type):     # __class_getitem__ is the class's
            continue
        if parameters(theirs) and (ours := parameters(getattr(dflow.ndarray, name, None))):
            assert (ours[0].name, ours[0].kind) == ("self", inspect.Parameter.POSITIONAL_ONLY), name
            seen += 1
    assert seen > 60 or numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0"      # before that, most have no signature


def test_a_method_is_called_as_the_function_is():
    x = np.array([[3.0, 1.0], [2.0, 5.0]])
    for text in ("sum(axis=1)", "max(0, None, True)", "round(decimals=1)", "take(indices=[0])",
                 "argmax(0, keepdims=True)", "repeat(repeats=2)", "trace(offset=1)"):
        name, rest = text.split("(", 1)
        method = getattr(np.ndarray, name)
        assert str(eval(f"x.{text}")) == str(eval(f"np.{name}(x, {rest}"))
        assert method.__name__ == name and method.__doc__
        with pytest.raises(TypeError):
            method(self=x)


def test_differences_are_found():
    def theirs(a, /, b, c=1, *args, d="x", e=None): ...

    for text, found in (("a, b, c=1, *args, d='x', e=2, f=3", []),
                        ("x, b, *args, c, **rest", ["c in another place"]),
                        ("x, b, c=2, d=1, e=1", ["c is 2, not 1", "no *args", "d is 1, not 'x'"]),
                        ("a, c=1, *args, e=1, f=2", ["no b", "c in another place", "no d"]),
                        ("a, b, *, c=1, d='x', **rest", ["too few places", "c in another place", "no *args"])):
        ours = parameters(eval(f"lambda {text}: None"))
        assert list(differences(parameters(theirs), ours)) == found, text


def test_star_imports():
    for path in MODULES:
        names = {}
        exec(f"from dflow.{path} import *", names)
        assert {name for name in importlib.import_module(path).__all__ if name[0] != "_"} <= set(names)
        assert not {"importlib", "types", "ops", "dflow"} & set(names)


@pytest.mark.parametrize("name", ["where", "dot", "copyto", "may_share_memory", "is_busday"])
def test_functions_that_ask_others_have_a_signature(name):
    ours = getattr(np, name)
    assert hasattr(getattr(numpy, name), "__signature__") and ours.__signature__ == inspect.signature(ours)


@pytest.mark.parametrize("name", ["frombuffer", "fromiter", "from_dlpack", "nested_iters"])
def test_functions_that_ask_nobody_have_the_text_of_one(name):
    ours = getattr(np, name)
    assert not hasattr(ours, "__signature__") and ours.__text_signature__ == str(inspect.signature(ours))


def test_functions_that_ask_others_are_the_namespace_s_own():
    asking = [name for name in numpy.__all__ if hasattr(getattr(numpy, name), "_implementation")]
    assert len(asking) > 200 and not [name for name in asking if getattr(np, name).__module__ != "dflow.numpy"]


@pytest.mark.parametrize("wrap", [lambda f: small_first(f, None, 0), lambda f: or_else(None, "function", f, None, ())])
def test_what_wraps_a_function_looks_like_it(wrap):
    def function(a: int) -> str:
        """Of a."""

    function.more = [1]
    ours, python_s = wrap(function), functools.update_wrapper(lambda: None, function)
    assert vars(ours) == {name: getattr(python_s, name) for name in functools.WRAPPER_ASSIGNMENTS} | vars(python_s)
    ours.more = None                    # its own from now on
    assert function.more == [1] and ours.__wrapped__ is function


def test_putmask_takes_its_array_by_place():
    for module in (numpy, np):
        with pytest.raises(TypeError):
            module.putmask(a=module.arange(2), mask=[0, 1], values=[5])
