"""Numba over our arrays: compiled functions take them, and `np` in them is NumPy."""

import subprocess
import sys

import numpy
import pytest
from engines import Gate, clean_environment, configured
from libraries import plain

import dflow.numpy as np

numba = pytest.importorskip("numba")

pytestmark = pytest.mark.once


@numba.njit
def total(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i]
    return s


@numba.njit
def fill(a):
    for i in range(a.size):
        a[i] = i


@numba.njit
def scaled(a, b):
    return a * b + 1


@numba.njit
def first(pair):
    return pair[0] + pair[1]


@numba.njit
def by_namespace(a):
    out = np.empty_like(a)
    out[:] = np.sin(a) + np.sqrt(np.abs(a)).sum() + np.linalg.norm(a) * np.pi
    return out, np.dot(a, a), np.zeros((2, 2)), np.where(a > 1)[0]


@numba.njit("f8[:](f8[:])")
def declared(a):
    return a * 3


@numba.njit(parallel=True)
def in_parallel(a):
    s = 0.0
    for i in numba.prange(a.size):
        s += a[i]
    return s


@numba.njit
def itself(a):
    return a


@numba.vectorize(["f8(f8)"])
def plus_one(a):
    return a + 1


@numba.guvectorize(["f8[:],f8,f8[:]"], "(n),()->(n)")
def shifted(a, b, out):
    for i in range(a.shape[0]):
        out[i] = a[i] + b


@numba.stencil
def neighbours(a):
    return a[-1] + a[1]


@numba.njit
def around(a):
    return neighbours(a)


sin, dot, zeros = np.sin, np.dot, np.zeros


@numba.njit
def by_names(a):
    return sin(a) + dot(a, a) + zeros(4)


CALLS = {
    "loop": lambda np, x: total(x),
    "view": lambda np, x: total(x[::2]),
    "columns": lambda np, x: scaled(x.reshape(2, 2).T, 2),
    "elements": lambda np, x: scaled(x, x[0]),
    "element": lambda np, x: scaled(x[1], 2),
    "sum": lambda np, x: scaled(x.sum(), 1),
    "integers": lambda np, x: scaled(np.arange(3), 2),
    "booleans": lambda np, x: first((x > 1, x > 2)),
    "complex": lambda np, x: scaled((x + 2j)[1], 1j),
    "single": lambda np, x: scaled(x.astype("f4"), np.float32(2)),
    "tuple": lambda np, x: first((x, x)),
    "list": lambda np, x: first([x, x]),
    "namespace": lambda np, x: by_namespace(x),
    "names": lambda np, x: by_names(x),
    "declared": lambda np, x: declared(x),
    "parallel": lambda np, x: in_parallel(x),
    "itself": lambda np, x: itself(x),
    "vectorize": lambda np, x: plus_one(x),
    "guvectorize": lambda np, x: shifted(x, x[0]),
    "stencil": lambda np, x: around(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_numpys(name):
    call = CALLS[name]
    assert plain(call(np, np.arange(4.0))) == plain(call(numpy, numpy.arange(4.0)))


def test_one_compiled_function_serves_both():
    scaled(numpy.arange(3.0), 2.0)
    before = len(scaled.signatures)
    scaled(np.arange(3.0), 2.0)
    assert len(scaled.signatures) == before


def test_what_is_written_is_in_the_array():
    x = np.zeros(5)
    fill(x)
    assert x.tolist() == [0, 1, 2, 3, 4]
    fill(x[1:3])
    assert x.tolist() == [0, 0, 1, 3, 4]
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    assert numba.typeof(x).mutable and not numba.typeof(read_only).mutable


def test_it_waits():
    with configured(workers=2), Gate() as gate:
        x = gate.hold(np.ones(3))
        gate.open()
        assert total(x + 1) == 6


def test_an_error_is_raised_at_the_call():
    with pytest.raises(np.linalg.LinAlgError):
        total(np.linalg.inv(np.zeros((40, 40)))[0])


def test_other_objects_are_refused_as_ever():
    with pytest.raises(TypeError, match="No matching definition"):
        declared([1.0, 2.0])
    with pytest.raises(TypeError, match="No matching definition"):
        declared(np.arange(3))
    assert scaled(2 + 1j, 1) == 3 + 1j                      # a complex number of Python's


@pytest.mark.parametrize("imports", ["import numba, dflow.numpy as np", "import dflow.numpy as np, numba"])
def test_in_either_order(imports):
    program = f"{imports}\nprint(numba.njit(lambda a: np.sin(a).sum())(np.zeros(3)))"
    done = subprocess.run([sys.executable, "-c", program], env=clean_environment(), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0.0\n", "")
