"""exp() of float32 in native loops: NumPy's bits, of every kind of number, and its warnings."""

import warnings

import numpy
import pytest
from compare import same_bits
from engines import ran, written_for

import dflow.numpy as np
from dflow import engine

pytestmark = [pytest.mark.core, pytest.mark.skipif(not engine.native(), reason="this processor has no AVX2")]

EDGES = [-0.0, 1e-45, 88.72283, 88.722839, 88.72284, 89, 3e38, -87.4, -103.2789, -103.97208, -103.97209, -104, -3e38]


@pytest.mark.parametrize("native_set", ["AVX2", "AVX-512"])
def test_exponentials_of_floats(native_set):
    """All exponents and signs, a number in some thousands of each, what is special, and its neighbours; alone, too."""
    x = numpy.arange(0, 1 << 32, 4093, dtype=numpy.uint64).astype(numpy.uint32).view(numpy.float32)
    near = numpy.float32([*EDGES, numpy.inf, -numpy.inf, numpy.nan])
    bits = (near.view(numpy.uint32)[:, None] + numpy.arange(-20, 21, dtype=numpy.int32)).astype(numpy.uint32)
    x = numpy.concatenate([x, bits.reshape(-1).view(numpy.float32)])
    with written_for(native_set), numpy.errstate(all="ignore"):
        for n in (x.size, x.size - 3):
            ours = np.array(x[:n])
            assert np.exp(ours).asnumpy().tobytes() == numpy.exp(x[:n]).tobytes()
            for _ in range(50):
                loops, actual = ran(lambda x: 1 / (1 + np.exp(-x)), ours)
                assert same_bits(actual, 1 / (1 + numpy.exp(-x[:n])))
                if loops:
                    break
            assert loops


def test_exponentials_warn_as_numpys():
    for value, heard in ((89.0, ["overflow encountered in exp"]), (numpy.inf, []), (-numpy.inf, []), (numpy.nan, []),
                         (-200.0, ["underflow encountered in exp"])):
        theirs = numpy.linspace(-3, 3, 5000, dtype=numpy.float32)
        theirs[777] = value
        with warnings.catch_warnings(record=True) as told, numpy.errstate(all="warn"):
            warnings.simplefilter("always")
            result = (np.exp(np.array(theirs)) * 0.5).asnumpy()
        with numpy.errstate(all="ignore"):
            assert same_bits(result, numpy.exp(theirs) * numpy.float32(0.5))
        assert [str(w.message) for w in told] == heard
