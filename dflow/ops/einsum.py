"""einsum: sums of products by subscripts, two operands at a time, by matmul over transposed and reshaped operands.

Everything but the numbers follows from the subscripts and the shapes. So a plan is made once for them, a list of steps
with the axes to sum over, permutations and shapes filled in, and kept.
"""

import functools
import math

import numpy

from dflow._array.core import array as as_array
from dflow._array.core import ndarray
from dflow._functions.constructors import in_order
from dflow._functions.gufunc import alike
from dflow._functions.numpy_inline import LATER, SMALL, at_once, bare
from dflow._functions.views import broadcast_to, diagonal_of, known_order
from dflow._kernels.dtypes import native
from dflow.ops.linear import multiply, vecdot
from dflow.ops.reductions import add_reduce
from dflow.ops.table import op

ONCE = 160 << 10        # bytes of an operand of which each element is used once: the same
FEW = 256               # elements of an operand: NumPy's loop over all labels is quicker on fewer
SHORT = 32              # elements of a vector whose product takes less than a call of BLAS
_c_einsum = bare(numpy.einsum).__globals__["c_einsum"]      # what numpy.einsum is without `optimize`

EINSUMS = (
    "'ij,jk', a, a.T", "'ij->ji', a", "'ij->', a", "'ii', a[:, :3]", "'ii->i', a[:, :3]", "'i,i', v, v",
    "'i,j->ij', v, j", "'ij,j->i', a, v",
    "'...j,j->...', f, v", "'bij,bjk->bik', f, f.transpose(0, 2, 1)", "'bij,bkj', f, f", "'ij,jk,kl->il', a, a.T, a",
    "'ij,ij->i', a, a", "'abc,abc->ab', f, f", "'ij,ij->i', a + 1j, a - 1j", "'ij,ij->i', m, m",
    "'ij,ij', a, a", "'i...->...', f", "'ij,jk', a, a", "'ijj', a", "a, [0, 1], v, [1], [0]", "'ij,k->ijk', i, j",
    "'bi,bj->bij', a, a",
    "'ij,jk->ki', i, i.T", "'ij->i', a, dtype='f4'", "'ij->i', a, dtype='f4', casting='same_kind'", "'i,i', [1], v",
    "'ij,kj->ik', a, a, optimize=True", "'ij,jk', a, a.T, out=np.zeros((3, 3))",
    "'ij,jk,k', a, a.T, v[:3], optimize='greedy'", "'i.j', a", "'ij->ijk', a", "'ij', v", "'ij,jk->iik', a, a.T",
    "'i->', s", "",
    "'... , ...', a, v", "'...i,...i->...', f, f", "'ij...,jk...->ik...', f[0], f[0].T", "'abc,cd->abd', f, a.T",
    "'...j->j', a", "'...j->j', v", "'ij,ji->', a, a.T", "'ii,jj', m, m",
    "'i,i,i->i', v, v, v", "'iij->ij', m[:, :, None] * v", "'bij,bij->', f, f", "'i,ij,j', v[:3], a, v",
    "'b,b', b[0], b[0]", "'ij,jk', c, c.T", "'ij->i', a, casting='x'",
    "a, [0, -1], v, [-1], [0]")


@op(*EINSUMS, close=True)
def einsum(*operands, out=None, optimize=False, dtype=None, casting="safe", order="K"):
    """Sums of products by subscripts, as numpy.einsum. Operands are contracted two at a time, by matmul.

    The pairs follow numpy.einsum_path's greedy order, or the one that `optimize` gives.
    """
    if not operands:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand, "
                         "or at least one operand and its corresponding subscripts list")
    if order != "K":
        order = known_order(order)
    plain = out is None and dtype is None and order == "K" and casting == "safe" and not optimize
    if plain and type(operands[0]) is str and len(operands) > 1:
        axes, few = _form(operands[0], getattr(operands[1], "itemsize", 8))
        if axes and alike(operands, axes, FEW, SHORT):
            _, x, y = operands
            return x @ y if axes == 1 else vecdot(x if x.dtype.kind == "f" else x.conj(), y)
        result = at_once(_c_einsum, operands, small=few)
        if result is not LATER:
            return result
    if not plain:
        numpy.can_cast(float, float, casting)           # its own error for a rule that there is not
        native(dtype)
    arrays, plan = _planned(operands, optimize)
    count = len(arrays)
    arrays = _cast(arrays, dtype, casting)
    if order == "A":
        order = "F" if all(x.flags.fnc or x.ndim < 2 for x in arrays) and any(x.flags.fnc for x in arrays) else "C"
    diagonals, steps, last = plan
    for k, i, j in diagonals:
        arrays[k] = diagonal_of(arrays[k], 0, i, j)
    for i, j, prepare_left, prepare_right, sums, shape in steps:
        right, left = arrays.pop(j), arrays.pop(i)
        left = left if prepare_left is None else _prepared(left, prepare_left)
        right = right if prepare_right is None else _prepared(right, prepare_right)
        product = _products(left, right) if sums else multiply(left, right)
        arrays.append(product if shape is None else product.reshape(shape))
    result = arrays[0] if last is None else _prepared(arrays[0], last)
    if out is None:
        return in_order(result.view() if any(result is x for x in operands) else result, order)
    _check_output(result, out, casting, count)
    out[...] = result
    return out


def _products(left, right):
    """left @ right; of many vectors as sums of rows, where these take less than a call for each: of short ones, and of
    integers, for whose products there is no BLAS."""
    n = left.shape[-1]
    if left.ndim == 3 and left.shape[1] == right.shape[2] == 1 and (
            left.dtype.kind in "iub" or n <= SHORT and left.dtype.char in "fdFD"):
        rows = len(left), n
        return add_reduce(multiply(left.reshape(rows), right.reshape(rows)), -1, left.dtype)
    return left @ right


@functools.lru_cache(1000)
def _form(subscripts, itemsize):
    """Of how many axes both operands are, where the last of two alike is summed over, else 0; and how many elements of
    an operand NumPy's loop is to take. No lone one, of which the result may be a view."""
    left, arrow, right = subscripts.partition("->")
    first, comma, second = left.partition(",")
    if not comma:
        return 0, 4 * SMALL if arrow and left.isalpha() and len(right) < len(set(left)) else -1
    if first != second:
        return 0, FEW
    vectors = first.isalpha() and first.isascii() and len(set(first)) == len(first) and right == first[:-1]
    return len(first) if vectors else 0, ONCE // max(itemsize, 4)


def _check_output(result, out, casting, operand):
    """What NumPy says of an `out` that the result does not fit in."""
    if not isinstance(out, (ndarray, numpy.ndarray)):
        raise TypeError("keyword parameter out must be an array for einsum")
    if out.ndim != result.ndim:
        raise ValueError("out parameter does not have the correct number of dimensions, "
                         f"has {out.ndim} but should have {result.ndim}")
    if not out.flags.writeable:
        raise ValueError("operand array with iterator write flag set is read-only")
    if not numpy.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(f"Iterator requested dtype could not be cast from {result.dtype!r} to {out.dtype!r}, "
                        f"the operand {operand} dtype, according to the rule '{casting}'")


def _cast(arrays, dtype, casting):
    """All of one type: the one given, or the one they promote to."""
    types = {x.dtype.num: x.dtype for x in arrays}
    if dtype is None and len(types) == 1:
        return arrays
    wanted = numpy.result_type(*types.values()) if dtype is None else numpy.dtype(dtype)
    if types.keys() == {wanted.num}:
        return arrays
    for k, x in enumerate(arrays):
        if not numpy.can_cast(x.dtype, wanted, casting):
            raise TypeError(f"Iterator operand {k} dtype could not be cast from {x.dtype!r} to {wanted!r} "
                            f"according to the rule '{casting}'")
    return [x.astype(wanted, copy=False) for x in arrays]


def _prepared(x, how):
    axes, order, spread, shape = how
    if axes:
        x = add_reduce(x, axes, x.dtype)
    if order:
        x = x.transpose(order)
    if spread:
        x = broadcast_to(x, spread)
    return x if shape is None else x.reshape(shape)


# -- planning --------------------------------------------------------------------------------------
#
# A plan has diagonals to take, (operand, axis, axis); steps, (i, j, left, right, sums, shape): operands i and j are
# taken out, prepared, and their product put last; and how what is left is prepared. To prepare an operand, (axes,
# order, spread, shape): sum, transpose, broadcast, reshape, None what is not needed; None where nothing is.

_plans = {}                 # (subscripts, optimize, shapes): plan


def _planned(operands, optimize):
    """The operands as a list of arrays, and their plan."""
    if not isinstance(operands[0], str):
        arrays = [as_array(x) for x in operands[:len(operands) // 2 * 2:2]]
        call = [_shadow(arrays[k // 2]) if k % 2 == 0 and k // 2 < len(arrays) else x for k, x in enumerate(operands)]
        if any(type(label) is int and label < 0 for labels in call[1::2] for label in labels):
            numpy.einsum(*call, optimize=optimize)      # an error, but for some that NumPy optimizes
        return arrays, _plan(call, arrays, optimize)
    arrays = [as_array(x) for x in operands[1:]]
    key = (operands[0], optimize if type(optimize) is bool else str(optimize), *[x.shape for x in arrays])
    plan = _plans.get(key)
    if plan is None:
        plan = _plan([operands[0], *map(_shadow, arrays)], arrays, optimize)
        if len(_plans) < 1000:
            _plans[key] = plan
    return arrays, plan


def _shadow(x):
    """A NumPy array of the same shape and type, in a few bytes."""
    return numpy.broadcast_to(numpy.zeros((), x.dtype), x.shape)


def _plan(call, arrays, optimize):
    """`call`: NumPy's arguments, which also give its errors."""
    try:
        terms, result, _ = numpy._core.einsumfunc._parse_einsum_input(call)
        terms = terms.split(",")
        _check(terms, result, arrays)
    except (ValueError, TypeError, KeyError, IndexError):
        numpy.einsum(*call)
        raise
    if not optimize and _forgets_axes(call[0], terms):
        numpy.einsum(*call)
    diagonals, parts, steps = [], [], []
    for labels, x in zip(terms, arrays):
        pairs, labels, shape = _without_repeats(labels, x.shape)
        diagonals += [(len(parts), i, j) for i, j in pairs]
        parts.append((labels, shape))
    for i, j in _pairs(_path(terms, result, arrays, optimize), len(parts)):
        right, left = parts.pop(j), parts.pop(i)
        needed = set(result).union(*[labels for labels, _ in parts])
        part, step = _contraction(*left, *right, needed)
        parts.append(part)
        steps.append((i, j, *step))
    labels, shape = parts[0]
    return diagonals, steps, _preparation(labels, shape, [k for k in labels if k not in result], result)


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
            sizes[label] = n if sizes[label] == 1 else sizes[label]
    if len(terms) != len(arrays) or len(set(result)) != len(result) or not set(result) <= set(sizes):
        raise ValueError("einstein sum subscripts string is not valid")


def _forgets_axes(subscripts, terms):
    """Whether there are axes behind an ellipsis, and the result has none: an error, unless NumPy optimizes."""
    left, arrow, right = subscripts.partition("->") if isinstance(subscripts, str) else ("", "", "")
    return arrow and "..." not in right and len("".join(terms)) > sum(map(str.isalpha, left))


def _without_repeats(labels, shape):
    """The diagonals to take so that each label stands once, and the labels and shape afterwards."""
    labels, shape, pairs = list(labels), list(shape), []
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            pairs.append((i, j))
            n = shape[i]
            labels = [k for m, k in enumerate(labels) if m not in (i, j)] + [label]
            shape = [k for m, k in enumerate(shape) if m not in (i, j)] + [n]
    return pairs, labels, tuple(shape)


def _path(terms, result, arrays, optimize):
    """Which operands to contract, one step after the other."""
    if len(arrays) < 2:
        return []
    if len(arrays) == 2:
        return [(0, 1)]
    subscripts = ",".join(terms) + "->" + result
    return numpy.einsum_path(subscripts, *map(_shadow, arrays), optimize=optimize or "greedy")[0][1:]


def _pairs(path, n):
    """The path as pairs i < j of n operands; what comes of a pair goes to the end."""
    for chosen in path:
        chosen = sorted(chosen)
        while len(chosen) > 1:
            yield chosen[0], chosen[1]
            chosen = [k - 2 for k in chosen[2:]] + [n - 2]
            n -= 1
    while n > 1:                # a path that the caller gave may stop early
        yield 0, 1
        n -= 1


def _own(p, a, q, b, needed):
    """Labels to sum over in the first operand alone: the second has them not, or more than its one element for them."""
    return [k for k in p if k not in needed and (k not in q or a[p.index(k)] == 1 != b[q.index(k)])]


def _contraction(p, a, q, b, needed):
    """Labels p and q, shapes a and b: the labels and shape that come of them; and the step, but for its operands."""
    drop_p = _own(p, a, q, b, needed)
    left = {k: n for k, n in zip(p, a) if k not in drop_p}
    drop_q = _own(q, b, list(left), list(left.values()), needed)
    right = {k: n for k, n in zip(q, b) if k not in drop_q}
    size = {**left, **{k: n for k, n in right.items() if left.get(k, 1) == 1}}
    shared = [k for k in left if k in right and k in needed]
    summed = [k for k in left if k in right and k not in needed]
    only_p, only_q = [k for k in left if k not in right], [k for k in right if k not in left]
    labels = shared + only_p + only_q
    shape = tuple(size[k] for k in labels)
    if not summed:
        return (labels, shape), (_preparation(p, a, drop_p, labels), _preparation(q, b, drop_q, labels), False, None)
    product = [math.prod(size[k] for k in group) for group in (shared, only_p, only_q) if shared or group]
    return (labels, shape), (_preparation(p, a, drop_p, shared + only_p + summed, size, (shared, only_p, summed)),
                             _preparation(q, b, drop_q, shared + summed + only_q, size, (shared, summed, only_q)),
                             True, None if tuple(product) == shape else shape)


def _preparation(labels, shape, drop, wanted, size=None, groups=()):
    """Sum over `drop`; then axes in the order wanted: of length 1 for missing labels, or joined into one a group."""
    axes = tuple(labels.index(k) for k in drop) or None
    kept = {k: n for k, n in zip(labels, shape) if k not in drop}
    present = [k for k in wanted if k in kept]
    order = [list(kept).index(k) for k in present]
    before = tuple(kept[k] for k in present)
    spread = None
    after = tuple(kept.get(k, 1) for k in wanted)
    if groups:
        spread = tuple(size[k] for k in wanted)
        after = tuple(math.prod(size[k] for k in group) for group in groups if groups[0] or group)
        before, spread = spread, spread if spread != before else None
    prepare = axes, None if order == sorted(order) else order, spread, None if after == before else after
    return prepare if prepare != (None,) * 4 else None
