"""What the tests of exported programs export."""

import numpy

import dflow.numpy as np
from dflow import gluon


class Function(gluon.HybridBlock):
    """A function of arrays as a block."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Unrolled(gluon.HybridBlock):
    """All steps of a recurrent cell."""

    def __init__(self, cell, length):
        super().__init__()
        self.cell, self.length = cell, length

    def forward(self, x):
        return self.cell.unroll(self.length, x, merge_outputs=True)[0]


def numbers(*shape):
    return np.array(numpy.random.default_rng(3).standard_normal(shape), dtype="float32")
