"""Products of vectors, matrices and tensors: all of them matmul, over transposed and reshaped operands."""

import math
import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow._array import array as as_array
from dflow._array import ndarray
from dflow._ufunc import wrap_ufunc
from dflow._views import broadcast_to
from dflow.ops.reductions import add_reduce
from dflow.ops.selection import diagonal
from dflow.ops.table import TABLE, op

matmul = wrap_ufunc(numpy.matmul)
multiply = wrap_ufunc(numpy.multiply)
for _name in ("matmul", "vecdot", "matvec", "vecmat"):
    TABLE["numpy", _name].close = True
TABLE["numpy", "matmul"].samples = (
    "a, v", "a, a.T", "v, v", "v, a.T", "f, f.transpose(0, 2, 1)", "a, m", "i, i.T", "b, b.T", "c, v", "a, 2", "s, s",
    "h, h.T",
    "a, v, out=np.zeros(3)", "?a, a.T, out=np.zeros(3)", "e, np.zeros((3, 2))", "a, np.zeros((4, 0))", "i, v")
TABLE["numpy", "vecdot"].samples = ("a, v", "c, c", "v, v", "a, m", "a, a, axis=0")
TABLE["numpy", "matvec"].samples = ("a, v", "m, v")
TABLE["numpy", "vecmat"].samples = ("v[:3], a", "v, a")


def _give(out, result, name):
    """dot's and others' `out`, which must be of just the right kind."""
    if out is None:
        return result
    if not isinstance(out, ndarray):
        raise TypeError(f"{name}: out must be an array")
    if out.ndim == result.ndim and out.shape != result.shape:
        raise ValueError("output array has wrong dimensions")
    if out.shape != result.shape or out.dtype != result.dtype:
        raise ValueError("output array is not acceptable (must have the right datatype, number of dimensions, "
                         "and be a C-Array)")
    out[...] = result
    return out


def _aligned(a, b, i, j):
    """dot's words for sizes that differ."""
    if a.shape[i] != b.shape[j]:
        i, j = i % a.ndim, j % b.ndim
        shapes = " and ".join(str(x.shape).replace(" ", "") for x in (a, b))
        raise ValueError(f"shapes {shapes} not aligned: {a.shape[i]} (dim {i}) != {b.shape[j]} (dim {j})")


@op("v, v", "a, v", "a, a.T", "a, m", "v, v[:2]", "2, a", "a, 2", "s, s", "f, f.transpose(0, 2, 1)", "f, v", "i, i.T",
    "b, b.T", "c, v",
    "f, a.T", "v, a.T", "a, a.T, out=np.zeros((3, 3))", "a, a.T, out=np.zeros((3, 2))", "[1, 2], [3, 4]",
    "e, np.zeros((3, 2))", method=True, close=True)
def dot(a, b, out=None):
    """The sum over a's last axis and b's last but one (or only): for vectors and matrices, the matrix product."""
    if type(a) is not ndarray or type(b) is not ndarray:
        a, b = as_array(a), as_array(b)
    n, m = a.ndim, b.ndim
    if n == 0 or m == 0:
        return multiply(a, b) if out is None else _give(out, multiply(a, b), "dot")
    if n <= 2 and m <= 2:
        try:
            result = a @ b          # the operator is quicker than the ufunc
        except ValueError:
            _aligned(a, b, -1, 0)
            raise
    else:
        _aligned(a, b, -1, -2 if m > 1 else 0)
        result = tensordot(a, b, ((n - 1,), (m - 2 if m > 1 else 0,)))
    return result if out is None else _give(out, result, "dot")


@op("v, v", "c, c", "a, a", "a, v", "2, 3", "i, i", close=True)
def vdot(a, b, /):
    """The dot product of the flattened arrays, the first one conjugated."""
    a, b = as_array(a).ravel(), as_array(b).ravel()
    if a.size != b.size:
        raise ValueError(f"cannot reshape array of size {b.size} into shape ({a.size},)")
    return (a.conj() if a.dtype.kind == "c" else a) @ b


@op("v, v", "a, v", "a, a", "f, a", "a, m", "2, a", "s, s", "c, c", "i, j", close=True)
def inner(a, b, /):
    """The sum over the last axes of both."""
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return multiply(a, b)
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
    first = list(first) if hasattr(first, "__iter__") else [first]
    second = list(second) if hasattr(second, "__iter__") else [second]
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
    return add_reduce(diagonal(a, offset, axis1, axis2), -1, dtype, out)


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
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        if {a.shape[-1], b.shape[-1]} <= {2, 3}:
            return as_array(numpy.cross(a.asnumpy(), b.asnumpy(), axisc=axisc))
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return stack(parts, _named_axis(axisc, max(a.ndim, b.ndim), "axisc"))


def _named_axis(axis, ndim, name):
    try:
        return normalize_axis_index(axis, ndim)
    except numpy.exceptions.AxisError:
        raise numpy.exceptions.AxisError(axis, ndim, name) from None


# -- einsum ----------------------------------------------------------------------------------------

EINSUMS = (
    "'ij,jk', a, a.T", "'ij->ji', a", "'ij->', a", "'ii', a[:, :3]", "'ii->i', a[:, :3]", "'i,i', v, v",
    "'i,j->ij', v, j", "'ij,j->i', a, v",
    "'...j,j->...', f, v", "'bij,bjk->bik', f, f.transpose(0, 2, 1)", "'bij,bkj', f, f", "'ij,jk,kl->il', a, a.T, a",
    "'ij,ij->i', a, a",
    "'ij,ij', a, a", "'i...->...', f", "'ij,jk', a, a", "'ijj', a", "a, [0, 1], v, [1], [0]", "'ij,k->ijk', i, j",
    "'bi,bj->bij', a, a",
    "'ij,jk->ki', i, i.T", "'ij->i', a, dtype='f4'", "'ij->i', a, dtype='f4', casting='same_kind'", "'i,i', [1], v",
    "'ij,kj->ik', a, a, optimize=True", "'ij,jk', a, a.T, out=np.zeros((3, 3))",
    "'ij,jk,k', a, a.T, v[:3], optimize='greedy'", "'i.j', a", "'ij->ijk', a", "'ij', v", "'ij,jk->iik', a, a.T",
    "'i->', s", "",
    "'... , ...', a, v", "'...i,...i->...', f, f", "'ij...,jk...->ik...', f[0], f[0].T", "'abc,cd->abd', f, a.T",
    "'ij,ji->', a, a.T", "'ii,jj', m, m",
    "'i,i,i->i', v, v, v", "'iij->ij', m[:, :, None] * v", "'bij,bij->', f, f", "'i,ij,j', v[:3], a, v",
    "'b,b', b[0], b[0]", "'ij,jk', c, c.T")


@op(*EINSUMS, close=True)
def einsum(*operands, out=None, optimize=False, dtype=None, casting="safe", order="K"):
    """Sums of products by subscripts, as numpy.einsum. Operands are contracted two at a time, by matmul.

    The pairs follow numpy.einsum_path's greedy order, or the one that `optimize` gives.
    """
    if not operands:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand, "
                         "or at least one operand and its corresponding subscripts list")
    arrays, (terms, result, path) = _planned(operands, optimize)
    types = {x.dtype for x in arrays}
    wanted = numpy.dtype(dtype) if dtype is not None else types.pop() if len(types) == 1 else numpy.result_type(*types)
    for k, x in enumerate(arrays):
        if x.dtype != wanted and not numpy.can_cast(x.dtype, wanted, casting):
            raise TypeError(f"Iterator operand {k} dtype could not be cast from {x.dtype!r} to {wanted!r} "
                            f"according to the rule '{casting}'")
    parts = [_single(labels, x.astype(wanted, copy=False)) for labels, x in zip(terms, arrays)]
    for pair in path:
        chosen = [parts.pop(k) for k in sorted(pair, reverse=True)]
        while len(chosen) > 1:
            rest = set(result).union(*[labels for labels, _ in parts + chosen[:-2]])
            right, left = chosen.pop(-2), chosen.pop()
            chosen.append(_contract(*left, *right, rest))
        parts += chosen
    labels, x = parts[0]
    labels, x = _without(labels, x, [k for k in labels if k not in result])
    x = x.transpose([labels.index(k) for k in result])
    if out is None:
        return x
    out[...] = x
    return out


_plans = {}                 # (subscripts, shapes, optimize): what follows from them


def _planned(operands, optimize):
    """The operands as arrays; and labels of each, labels of the result, and which to contract, step by step."""
    if not isinstance(operands[0], str):
        arrays = [as_array(x) for x in operands[:len(operands) // 2 * 2:2]]
        call = [_shadow(arrays[k // 2]) if k % 2 == 0 and k // 2 < len(arrays) else x for k, x in enumerate(operands)]
        return arrays, _plan(call, arrays, optimize)
    arrays = [as_array(x) for x in operands[1:]]
    if not isinstance(optimize, (bool, str)):
        return arrays, _plan([operands[0], *map(_shadow, arrays)], arrays, optimize)
    key = (operands[0], optimize, *[x.shape for x in arrays])
    plan = _plans.get(key)
    if plan is None:
        plan = _plan([operands[0], *map(_shadow, arrays)], arrays, optimize)
        if len(_plans) < 1000:
            _plans[key] = plan
    return arrays, plan


def _plan(call, arrays, optimize):
    """See _planned. `call`: NumPy's arguments, for its errors."""
    try:
        terms, result, _ = numpy._core.einsumfunc._parse_einsum_input(call)
        terms = terms.split(",")
        _check(terms, result, arrays)
    except (ValueError, TypeError, KeyError, IndexError):
        numpy.einsum(*call)
        raise
    terms, result = [list(t) for t in terms], list(result)
    return terms, result, _path(terms, result, arrays, optimize)


def _shadow(x):
    """A NumPy array of the same shape and type, in a few bytes."""
    return numpy.broadcast_to(numpy.zeros((), x.dtype), x.shape)


def _check(terms, result, arrays):
    """Sizes agree or are 1, and the result's labels exist, once each."""
    sizes = {}
    for labels, x in zip(terms, arrays):
        if len(labels) != x.ndim:
            raise ValueError("einstein sum subscripts string contains too many subscripts for operand")
        own = {}
        for label, n in zip(labels, x.shape):
            if own.setdefault(label, n) != n or (sizes.setdefault(label, n) != n and n != 1 and sizes[label] != 1):
                raise ValueError("operands could not be broadcast together")
            sizes[label] = max(sizes[label], n) if sizes[label] != 0 else 0
    if len(terms) != len(arrays) or len(set(result)) != len(result) or not set(result) <= set(sizes):
        raise ValueError("einstein sum subscripts string is not valid")


def _path(terms, result, arrays, optimize):
    """Which operands to contract, one step after the other."""
    if len(arrays) < 2:
        return []
    if len(arrays) == 2:
        return [(0, 1)]
    subscripts = ",".join("".join(t) for t in terms) + "->" + "".join(result)
    return numpy.einsum_path(subscripts, *map(_shadow, arrays), optimize=optimize or "greedy")[0][1:]


def _single(labels, x):
    """An operand with each of its labels once: diagonals where it was repeated."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            x = diagonal(x, 0, i, j)
            labels = [k for n, k in enumerate(labels) if n not in (i, j)] + [label]
    return labels, x


def _without(labels, x, drop):
    """Summed over the labels in `drop`."""
    if drop:
        x = add_reduce(x, tuple(labels.index(k) for k in drop), x.dtype)
        labels = [k for k in labels if k not in drop]
    return labels, x


def _own(p, a, q, b, rest):
    """Labels to sum over in `a` alone: `b` has them not, or has more than a's one element to go with."""
    return [k for k in p if k not in rest and (k not in q or a.shape[p.index(k)] == 1 != b.shape[q.index(k)])]


def _contract(p, a, q, b, rest):
    """Two operands as one: labels and array. `rest`: the labels that are still needed afterwards."""
    p, a = _without(p, a, _own(p, a, q, b, rest))
    q, b = _without(q, b, _own(q, b, p, a, rest))
    size = dict(zip(p, a.shape))
    for k, n in zip(q, b.shape):
        size[k] = n if size.get(k, 1) == 1 else size[k]
    both = [k for k in p if k in q and k in rest]
    summed = [k for k in p if k in q and k not in rest]
    only_a, only_b = [k for k in p if k not in q], [k for k in q if k not in p]
    labels = both + only_a + only_b
    if not summed:
        left = _arranged(p, a, labels)
        return labels, multiply(left, _arranged(q, b, labels))
    left = _grouped(p, a, size, both, only_a, summed)
    right = _grouped(q, b, size, both, summed, only_b)
    return labels, (left @ right).reshape(tuple(size[k] for k in labels))


def _arranged(labels, x, wanted):
    """x with its axes in the order wanted, of length 1 where it has none."""
    present = [k for k in wanted if k in labels]
    x = x.transpose([labels.index(k) for k in present])
    return x[tuple(slice(None) if k in labels else None for k in wanted)] if wanted else x


def _grouped(labels, x, size, *groups):
    """x with its axes in groups, each joined into one."""
    x = _arranged(labels, x, [k for group in groups for k in group])
    shape = tuple(size[k] for group in groups for k in group)
    if x.shape != shape:
        x = broadcast_to(x, shape)
    lengths = [math.prod(size[k] for k in group) for group in groups]
    return x.reshape(lengths[1:] if not groups[0] else lengths)


