"""Products of vectors, matrices and tensors: all of them matmul, over transposed and reshaped operands."""

import math
import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow._array.array_type import numpys_dot
from dflow._array.core import array as as_array
from dflow._array.core import is_array, ndarray
from dflow._functions.interop import foreign
from dflow._functions.operators import product_of_matrices
from dflow._functions.out import check_out, in_order_alike
from dflow._functions.ufunc import wrap_ufunc
from dflow._functions.views import diagonal
from dflow._kernels.dtypes import NotHeld
from dflow.ops.elementwise import multiply
from dflow.ops.fallback import call, items
from dflow.ops.reductions import add_reduce, machine_order
from dflow.ops.table import TABLE, op

BLOCK = 1 << 15         # elements of long vectors that are multiplied at a time
FEW = 256               # and of arrays that are multiplied as stacks, row by row, not as one matrix

matmul = wrap_ufunc(numpy.matmul)
vecdot = wrap_ufunc(numpy.vecdot)
for _name, _samples in {
        "matmul": ("a, v", "a, a.T", "v, v", "v, a.T", "f, f.transpose(0, 2, 1)", "a, m", "i, i.T", "b, b.T", "c, v",
                   "a, 2", "s, s", "h, h.T", "a, v, out=np.zeros(3)", "?a, a.T, out=np.zeros(3)",
                   "e, np.zeros((3, 2))", "a, np.zeros((4, 0))", "i, v"),
        "vecdot": ("a, v", "c, c", "v, v", "a, m", "a, a, axis=0"),
        "matvec": ("a, v", "m, v"),
        "vecmat": ("v[:3], a", "v, a")}.items():
    if ("numpy", _name) in TABLE:           # matvec and vecmat came with NumPy 2.2
        TABLE["numpy", _name].close, TABLE["numpy", _name].samples = True, _samples


def give(out, result):
    """dot's and others' `out`, which must be of just the right kind."""
    if out is None:
        return result
    if in_order_alike(out, result):
        return out
    if not isinstance(out, (ndarray, numpy.ndarray)):
        raise TypeError("'out' must be an array")
    if out.ndim != result.ndim or out.dtype != result.dtype or not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("output array is not acceptable (must have the right datatype, number of dimensions, "
                         "and be a C-Array)")
    if out.shape != result.shape:
        raise ValueError("output array has wrong dimensions")
    out[...] = result
    return out


def _aligned(a, b, i, j):
    """dot's words for sizes that differ."""
    if a.shape[i] != b.shape[j]:
        i, j = i % a.ndim, j % b.ndim
        shapes = " and ".join(str(x.shape).replace(" ", "") for x in (a, b))
        raise ValueError(f"shapes {shapes} not aligned: {a.shape[i]} (dim {i}) != {b.shape[j]} (dim {j})")


def _dot(self, /, b, out=None):
    """As the function, which asks another library's array first, and NumPy where b holds no numbers."""
    if type(b) is not ndarray and foreign(b):
        return numpy.dot(self, b) if out is None else numpy.dot(self, b, out)
    try:
        return dot(self, b, out)
    except NotHeld:
        return call(numpy.dot, (self, b) if out is None else (self, b, out), {})


def _beside(a, b):
    """Arrays of ours; one may stay NumPy's beside one of ours, whose operators know what to do with it."""
    if type(a) is not numpy.ndarray or type(b) is numpy.ndarray and a.size < b.size:
        a = as_array(a)
    return (a, b) if type(b) is numpy.ndarray and is_array(a) else (a, as_array(b))


@op("v, v", "a, v", "a, a.T", "a, m", "v, v[:2]", "2, a", "a, 2", "s, s", "f, f.transpose(0, 2, 1)", "f, v", "i, i.T",
    "b, b.T", "c, v",
    "f, a.T", "v, a.T", "a, a.T, out=np.zeros((3, 3))", "a, a.T, out=np.zeros((3, 2))", "[1, 2], [3, 4]",
    "e, np.zeros((3, 2))", method=_dot, close=True)
def dot(a, b, out=None):
    """The sum over a's last axis and b's last but one (or only): for vectors and matrices, the matrix product."""
    result = product_of_matrices(a, b)
    if result is not None:
        return result if out is None else give(out, result)
    if type(a) is not ndarray or type(b) is not ndarray:
        a, b = _beside(a, b)
    n, m = a.ndim, b.ndim
    if n == 0 or m == 0:
        return multiply(a, b) if out is None else give(out, multiply(a, b))
    if n <= 2 and m <= 2:
        try:
            result = a @ b          # the operator is quicker than the ufunc
        except ValueError:
            _aligned(a, b, -1, 0)
            raise
    elif (m <= 2 or n == 1) and a.size + b.size < FEW and a.shape[-1] == b.shape[-2 if m > 1 else 0]:
        result = a @ b
    else:
        _aligned(a, b, -1, -2 if m > 1 else 0)
        result = tensordot(a, b, ((n - 1,), (m - 2 if m > 1 else 0,)))
    return result if out is None else give(out, result)


numpys_dot(dot)


@op("v, v", "c, c", "a, a", "a, v", "2, 3", "i, i", close=True)
def vdot(a, b, /):
    """The dot product of the flattened arrays, the first one conjugated."""
    if type(a) is not ndarray or type(b) is not ndarray:
        a, b = as_array(a), as_array(b)
    if a.ndim != 1 or b.ndim != 1:
        a, b = a.ravel(), b.ravel()
    if a.size != b.size:
        raise ValueError(f"cannot reshape array of size {b.size} into shape ({a.size},)")
    if a.dtype.kind != "c":
        return a @ b
    rows = a.size // BLOCK
    if rows < 4:
        return vecdot(a, b)
    end = a.size - a.size % rows
    total = add_reduce(vecdot(a[:end].reshape(rows, -1), b[:end].reshape(rows, -1)))
    return total if end == a.size else total + vecdot(a[end:], b[end:])


@op("v, v", "a, v", "a, a", "f, a", "a, m", "2, a", "s, s", "c, c", "i, j", close=True)
def inner(a, b, /):
    """The sum over the last axes of both."""
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
    if a.ndim <= 2 and b.ndim <= 2 and a.shape[-1] == b.shape[-1]:
        return a @ b.T
    _aligned(a, b.swapaxes(-1, -2) if b.ndim > 1 else b, -1, -2 if b.ndim > 1 else 0)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@op("v, v", "a, [1, 2]", "2, v", "c, i", "v, v, np.zeros((4, 4))", "i, 2.5")
def outer(a, b, out=None):
    """The products of each element of one flattened array with each of the other."""
    return multiply(as_array(a).reshape(-1, 1), as_array(b).reshape(1, -1), out=out)


@op("a, a.T, 1", "f, f", "a, a, 2", "f, f, ((0, 2), (0, 2))", "a, a, 1", "a, v, (1, 0)", "v, v, 0", "f, a, (2, 1)",
    "i, i, 2", "f, f, ((0, 1), (0,))",
    "a, a, ((0, 5), (0, 1))", "f, f, ([-1], [2])", "a, a, 3", close=True)
def tensordot(a, b, axes=2):
    """The sum over pairs of axes: the last ones of `a` with the first of `b`, or those named."""
    a, b = as_array(a), as_array(b)
    if type(axes) is int and 0 < axes <= a.ndim and a.shape[a.ndim - axes:] == b.shape[:axes]:
        left, right, n = a.shape[:-axes], b.shape[axes:], math.prod(b.shape[:axes])
        return (a.reshape(math.prod(left), n) @ b.reshape(n, math.prod(right))).reshape(left + right)
    first, second = _pairs(a, b, axes)
    if len(first) != len(second) or any(a.shape[i] != b.shape[j] for i, j in zip(first, second)):
        raise ValueError("shape-mismatch for sum")
    first, second = [i % a.ndim for i in first], [j % b.ndim for j in second]
    kept_a = [k for k in range(a.ndim) if k not in first]
    kept_b = [k for k in range(b.ndim) if k not in second]
    n = math.prod(a.shape[k] for k in first)
    left = a.transpose(kept_a + first).reshape(math.prod(a.shape[k] for k in kept_a), n)
    right = b.transpose(second + kept_b).reshape(n, math.prod(b.shape[k] for k in kept_b))
    return (left @ right).reshape(tuple(a.shape[k] for k in kept_a) + tuple(b.shape[k] for k in kept_b))


def _pairs(a, b, axes):
    try:
        first, second = axes
    except TypeError:
        n = operator.index(axes)
        first, second = range(-n, 0), range(n)
    first, second = list(items(first)), list(items(second))
    if len(first) == len(second):
        for i, j in zip(first, second):
            a.shape[i], b.shape[j]                  # IndexError, as NumPy
    return first, second


@op("a, a", "v, [1, 2]", "2, v", "f, a", "a, [[1], [2]]", close=True)
def kron(a, b):
    """The Kronecker product: each element of a times all of b."""
    a, b = as_array(a), as_array(b)
    n = max(a.ndim, b.ndim)
    shape_a, shape_b = ((1,) * (n - x.ndim) + x.shape for x in (a, b))
    left = a.reshape(tuple(x for d in shape_a for x in (d, 1)))
    right = b.reshape(tuple(x for d in shape_b for x in (1, d)))
    return multiply(left, right).reshape(tuple(p * q for p, q in zip(shape_a, shape_b)))


@op("a", "a, 1", "f, 0, 1, 2", "i", "v", "a, dtype='f4'", "i.astype('i1')", "a, -1", close=True, method=True)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum along a diagonal of two axes."""
    if out is not None:
        check_out(out, "output must be an array")
    return add_reduce(diagonal(a, offset, axis1, axis2), -1, machine_order(dtype), out)


@op("v[:3], v[1:]", "a[:, :3], v[:3]", "[1, 2], [3, 4, 5]", "v, v", "a[:, :3], a[:, 1:]", "v[:3], v[:3], axis=0",
    "i[:, :3], a[:, 1:]")
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of length 3."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_array(a), as_array(b)
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    axisa, axisb = _named_axis(axisa, a.ndim, "axisa"), _named_axis(axisb, b.ndim, "axisb")
    from dflow.ops.shape import moveaxis, stack
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    lengths = a.shape[-1], b.shape[-1]
    if lengths != (3, 3):
        numpy.cross(*map(numpy.zeros, lengths))         # its version's warning, or error
        flat = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        if lengths == (2, 2):
            return flat
        sides = [a[..., 1] * b[..., 2], -(a[..., 0] * b[..., 2])] if lengths == (2, 3) else [
            -(a[..., 2] * b[..., 1]), a[..., 2] * b[..., 0]]
        return stack([*sides, flat], _named_axis(axisc, max(a.ndim, b.ndim), "axisc"))
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return stack(parts, _named_axis(axisc, max(a.ndim, b.ndim), "axisc"))


def _named_axis(axis, ndim, name):
    try:
        return normalize_axis_index(axis, ndim)
    except numpy.exceptions.AxisError:
        raise numpy.exceptions.AxisError(axis, ndim, name) from None
