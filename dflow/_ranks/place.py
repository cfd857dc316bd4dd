"""Which rank of which group this is: a group has a rank, a size, and sum(key, x, whole, priority)."""

import threading

_here = threading.local()
_groups = []            # that of the process: MPI's


def enter(group):
    """This thread is a rank of a group from here on, or of none: None."""
    _here.group = group


def begin_process(group):
    """All threads of this process are, unless they have entered another."""
    _groups[:] = [group]


def group():
    """The group, or None."""
    return getattr(_here, "group", None) or (_groups[0] if _groups else None)


def place():
    """The rank and the size; (0, 1) where there is no group."""
    there = group()
    return (0, 1) if there is None else (there.rank, there.size)
