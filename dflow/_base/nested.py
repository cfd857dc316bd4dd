"""Structures of arguments and results."""


def mapped(x, function):
    """A structure, with function(part) for each part that is no tuple, list, dictionary or slice."""
    if isinstance(x, (tuple, list)):
        parts = [mapped(part, function) for part in x]
        return type(x)(parts) if type(x) in (tuple, list) else tuple(parts)
    if isinstance(x, dict):
        return {key: mapped(part, function) for key, part in x.items()}
    if isinstance(x, slice):
        return slice(*(mapped(end, function) for end in (x.start, x.stop, x.step)))
    return function(x)
