"""How the functions of nd are made from those of np and npx: a table of names and arguments."""

import ast
import functools
import inspect

from dflow import npx
from dflow import numpy as np
from dflow.nd._texts import text_of

_MODULES = {"np": np, "npx": npx}


def given_to(result, out):
    """A result, or the array that it shall go to, with it."""
    if out is None:
        return result
    out[...] = result
    return out


def function_of(called, path, given, cast=None, home="nd"):
    """A function of MXNet 1 that calls another one, of a path as "npx.softmax".

    given: its parameters in order, those before the | handed on by place, the others by name: `a`, or `a:b`, which is b
    there, or `a=2`, which is 2 unless given; `-a` is ignored. cast: the type of its result, if it has another.
    """
    module, _, attribute = path.partition(".")
    target = getattr(_MODULES[module], attribute)
    first, names, defaults = parameters(given)
    order = (*first, *names)

    def function(*args, out=None, name=None, **keywords):
        if len(args) > len(order):
            raise TypeError(f"nd.{called}() takes at most {len(order)} arguments, not {len(args)}")
        values = dict(zip(order, args))
        for key, x in keywords.items():
            if key not in order or key in values:
                problem = "is given twice" if key in values else f"is none of {', '.join(order)}"
                raise TypeError(f"nd.{called}(): the argument {key} {problem}")
            values[key] = x
        places = [values.pop(key, None) for key in first]
        while places and places[-1] is None:
            del places[-1]
        named = {names[key]: x for key, x in values.items() if names[key] is not None}
        result = target(*places, **(defaults | named))
        if cast is not None:
            result = result.astype(cast)
        return given_to(result, out)

    function.__name__ = function.__qualname__ = called
    function.__module__ = "dflow.nd"
    function.__doc__ = text_of(f"{home}.{called}", path, target, order, names, defaults, cast)
    function.__signature__ = signature_of(target, first, names, defaults)
    return function


def parameters(given):
    """Those handed on by place, those by name with their names there (None: ignored), and the defaults of these."""
    first, _, rest = given.partition("|")
    names, defaults = {}, {}
    for part in rest.split():
        part, _, default = part.partition("=")
        part, _, theirs = part.partition(":")
        names[part.lstrip("-")] = None if part.startswith("-") else theirs or part
        if default:
            defaults[theirs or part] = ast.literal_eval(default)
    return first.split(), names, defaults


def signature_of(target, first, names, defaults):
    """The signature of a function of MXNet 1's: the parameters by name have their defaults, or the target's."""
    theirs = inspect.signature(target).parameters if names or len(first) > 2 else {}
    places, empty, made = list(theirs), inspect.Parameter.empty, {}
    for k, name in enumerate((*first, *names)):
        known = names[name] if name in names else name if name in theirs else places[k] if theirs else name
        default = defaults.get(known, theirs[known].default if known in theirs else empty)
        if name in first and target.__module__ == "dflow.numpy":
            default = empty
        elif known is None or default is empty and any(x is not empty for x in made.values()):
            default = None
        made[name] = default
    return _signature(*made.items())


@functools.cache
def _signature(*defaults):
    """One of parameters and their defaults, and of `out` and `name`: many functions share it."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    made = [inspect.Parameter(name, kinds[0], default=default) for name, default in defaults]
    return inspect.Signature([*made, *(inspect.Parameter(name, kinds[1], default=None) for name in ("out", "name"))])


def read(text, cast=None, home="nd"):
    """The functions of a table, by name: lines of names, a function ({}: of that name) and parameters.

    home: where examples find them.
    """
    made = {}
    for line in text.strip().splitlines():
        names, target, given = line.split(None, 2)
        for name in names.split("/"):
            made[name] = function_of(name, target.format(name), given, cast, home)
    return made
