"""NumPy's generators, which take longer to make than to draw a few numbers: kept, and put where they are to go on."""

import functools
import threading

import numpy

_mine = threading.local()


def of_block(key, index):
    """A Generator at the begin of a block of numbers: this thread's, until it asks for the next one."""
    found = _mine.__dict__.get("found")
    if found is None:
        from numpy.random import Generator, Philox
        state = Philox(0).state                         # with nothing in its buffer
        state["state"]["counter"] = numpy.zeros(4, numpy.uint64)
        found = _mine.found = Generator(Philox(0)), state
    generator, state = found
    state["state"]["counter"][2] = index
    state["state"]["key"] = key
    generator.bit_generator.state = state
    return generator


@functools.cache
def older():
    """A RandomState, for the errors of seeds."""
    return numpy.random.RandomState(0)
