"""How the functions of nd are made from those of np and npx: a table of names and arguments."""

import ast

from dflow import npx
from dflow import numpy as np

_MODULES = {"np": np, "npx": npx}


def function_of(called, target, given, cast=None):
    """A function of MXNet 1 that calls another one.

    given: its parameters in order, those before the | handed on by place, the others by name: `a`, or `a:b`, which is b
    there, or `a=2`, which is 2 unless given; `-a` is ignored. cast: the type of its result, if it has another.
    """
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
        if out is None:
            return result
        out[...] = result
        return out

    function.__name__ = function.__qualname__ = called
    function.__module__ = "dflow.nd"
    function.__doc__ = f"{called}({', '.join(order)}): {target.__name__}() with MXNet's arguments."
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


def read(text, cast=None):
    """The functions of a table, by name: lines of names, a function ({}: of that name) and parameters."""
    made = {}
    for line in text.strip().splitlines():
        names, target, given = line.split(None, 2)
        module, _, attribute = target.partition(".")
        for name in names.split("/"):
            made[name] = function_of(name, getattr(_MODULES[module], attribute.format(name)), given, cast)
    return made
