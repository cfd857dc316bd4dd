"""Arrays. Pickles name array(), element() and ndarray by this package, in which they were one module once."""


def __getattr__(name):
    if name in ("array", "element", "ndarray"):
        from dflow._array import core

        return getattr(core, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
