"""What MXNet has and dflow has not: an AttributeError that says so."""


def missing(module, names):
    """A module's __getattr__; `names`: those that MXNet's module of this name has besides, in a string."""
    known = frozenset(names.split())

    def __getattr__(name):
        text = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(f"{text}: MXNet has it, dflow not yet" if name in known else text)

    return __getattr__
