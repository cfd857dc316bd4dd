"""`out=` and `where=`: what may be written to, and how a result gets there."""

import numpy as np
from libc.string cimport memcpy
from dflow._kernels.kernel cimport intp, MAXDIMS
from dflow._array.dispatch cimport Operand, launch
from dflow._kernels.dtypes cimport BOOL, DTYPES
from dflow._kernels.casts cimport cast_kernel
from dflow._kernels.wrapped cimport masked_kernel
from dflow._array.core cimport *, be_array, be_element, is_ours
from dflow._functions.fastpath cimport same_shape
from dflow._functions.placement import follow

from numpy._core._exceptions import _UFuncOutputCastingError

NO_VALUE = np._NoValue          # stands for what was not given

cpdef int check_out(object out, str kind="return arrays must be of ArrayType") except -1:
    """TypeError for what is no array, ValueError for one that cannot be written to."""
    if out is Ellipsis:
        raise TypeError("must use `...` as `out=...` and not per-operand/in a tuple")
    if not isinstance(out, (ndarray, np.ndarray)) or isinstance(out, ndarray) and (<ndarray>out).flags & SCALAR:
        raise TypeError(kind)
    if not out.flags.writeable:
        raise ValueError("output array is read-only")
    return 0

cdef object cast_error(object u, int source, int target, casting, index=0):
    return _UFuncOutputCastingError(u, casting, DTYPES[source], DTYPES[target], index)

def give(result, out, str mismatch, error=ValueError, bint exchange=False):
    """result, or `out` with a copy of it. An error with the text `mismatch` where their shapes differ.

    exchange: TypeError where the type of `out` has values that the result's has not.
    """
    if out is None:
        return result
    if fill_alike(out, result):
        return out
    check_out(out, "output must be an array")
    if out.shape != result.shape:
        raise error(mismatch)
    if exchange and not np.can_cast(out.dtype, result.dtype, "safe"):
        raise TypeError(f"Cannot cast array data from {out.dtype!r} to {result.dtype!r} according to the rule 'safe'")
    out[...] = no_scalars(result)           # whose numbers would be checked, and not cast
    return out

cpdef bint fill_alike(object out, object result, int flags=0) except -1:
    """Copy a result to an array of its type and shape, that has these flags; False for others, and where a gradient is
    to know of it."""
    cdef ndarray o
    if not is_ours(out) or not is_ours(result) or records(out, result):
        return False
    o = <ndarray>out
    if o.code != (<ndarray>result).code or o.flags & (READONLY | SCALAR) or o.flags & flags != flags or not (
            same_shape(o, <ndarray>result)):
        return False
    o.st.version += 1
    assign(o, <ndarray>result)
    return True

def in_order_alike(out, result):
    """fill_alike() of an array in C order."""
    return fill_alike(out, result, C_CONTIGUOUS)

cdef ndarray clear_of(list results, ndarray a):
    """a, or a copy of it where a result might overwrite what is still to be read."""
    cdef ndarray o
    for o in results:
        if a.st == o.st and may_overlap(a, o) and not (len(results) == 1 and same_elements(a, o)):
            return copy_of(a)
    return a

# In ufunc.at() no number is weak: NumPy computes in the type of its array, and casts. These give the same in the
# target's type.
ROUND_ONCE = frozenset("add subtract multiply divide maximum minimum fmax fmin".split())

def as_weak(str name, ndarray target, number):
    """Whether a ufunc of that name, at() places of the target, may take a Python number as one of its type."""
    dtype, theirs = DTYPES[target.code], np.asarray(number)
    kinds = {"i": "i", "u": "iu", "f": "f"}.get(dtype.kind, "")         # uint64 and an integer are float64
    if name not in ROUND_ONCE or np.result_type(dtype, theirs.dtype).kind not in kinds:
        return False
    with np.errstate(all="ignore"):
        return bool(theirs.astype(dtype) == theirs)

def give_slices(result, out):
    """What reduceat() made, or `out` with a copy of it."""
    return give(result, out, "non-broadcastable output operand doesn't match the broadcast shape "
                             f"{shape_text(as_array(result))}")

def give_reduced(str name, result, out):
    """The result of a reduction by a ufunc of that name, or `out` with a copy of it."""
    if out is None:
        return result
    if fill_alike(out, result):
        return out
    check_out(out)
    check_reduced(name, (<ndarray?>result).shape, (<ndarray>result).ndim, as_array(out), [])
    out[...] = no_scalars(result)           # whose numbers would be checked, and not cast
    return out

cdef int check_reduced(str name, intp* shape, int ndim, ndarray out, list kept) except -1:
    """Whether `out` has the shape of what a reduction gives; kept: the axes that it has kept, of length 1."""
    cdef list wanted = [shape[i] for i in range(ndim)]
    for axis in sorted(kept):
        wanted.insert(axis, 1)
    if out.ndim != len(wanted):
        raise ValueError(f"output parameter for reduction operation {name} has the wrong number of dimensions: "
                         f"Found {out.ndim} but expected {len(wanted)}")
    if shape_tuple(out) != tuple(wanted):
        raise ValueError(f"output parameter for reduction operation {name} has shape {shape_text(out)}, expected "
                         + str(tuple(wanted)).replace(" ", ""))
    return 0

def numpys_reduction(function, ndarray a, axis, dtype, out, keepdims, initial, where):
    """The reduction of copies by NumPy, which waits: where no value stands for what is masked, or types are mixed."""
    into = None if out is None else out.asnumpy()
    given = hooks.unwrap((axis, dtype, into, keepdims, initial, where))
    cdef ndarray result = follow(a, as_array(function.reduce(a.asnumpy(), *given)), function)
    if out is None and result.ndim == 0:
        be_element(result)
    return result if out is None else give_reduced(function.__name__, result, out)

def no_scalars(result):
    """What out=... asks for: 0-d arrays where NumPy would have scalars."""
    for x in result if isinstance(result, tuple) else (result,):
        be_array(<ndarray?>x)
    return result

def last_axes(axes):
    """So many axes at the end."""
    return tuple(range(-len(axes), 0))

def to_end(x, tuple axes, bint drop):
    """x with axes moved to the end, or, where they are of length 1, without them."""
    return x.squeeze(axes) if drop else hooks.moveaxis(x, axes, last_axes(axes))

cpdef object only_output(object out):
    """The one array that `out` names, by itself or in a tuple, or None: for `...` too, which asks for an array."""
    if out is Ellipsis:
        return None
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        out = out[0]
    if out is not None:
        check_out(out)
    return out

cdef ndarray as_mask(object where):
    """What `where=` was given, as an array of truth values."""
    cdef ndarray mask = as_array(where) if isinstance(where, (ndarray, np.ndarray)) else as_array_code(where, BOOL)
    if mask.flags & SCALAR:
        return cast(mask, BOOL)
    if mask.code != BOOL:
        raise TypeError(f"Cannot cast array data from {DTYPES[mask.code]!r} to dtype('bool') according to the rule "
                        "'safe'")
    return mask

cdef int check_mask(ndarray mask, ndarray a) except -1:
    """A reduction's `where` must not have more elements than what is reduced."""
    cdef int i, skip = a.ndim - mask.ndim
    if skip < 0:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    for i in range(mask.ndim):
        if a.shape[skip + i] == 1 and mask.shape[i] != 1:
            target = np.broadcast_shapes(shape_tuple(a), shape_tuple(mask))
            raise ValueError(f"non-broadcastable operand with shape {shape_text(a)} doesn't match the broadcast shape "
                             + str(target).replace(" ", ""))
    return 0

def fill_numpy(function, out, *args, **keywords):
    """function(*args, out=out, **keywords) where `out`, or some of a tuple, are NumPy arrays.

    Arrays of ours take the results in their place; these are waited for, and copied.
    """
    outs = out if isinstance(out, tuple) else (out,)
    copies = {}                     # one array twice: who writes last is seen
    for x in outs:
        if isinstance(x, np.ndarray):
            check_out(x)
            copies[id(x)] = as_array(x)
    ours = [copies.get(id(x), x) for x in outs]
    results = function(*args, out=tuple(ours) if isinstance(out, tuple) else ours[0], **keywords)
    results = list(results) if isinstance(results, tuple) else [results]
    for i, x in enumerate(outs):
        if isinstance(x, np.ndarray):
            x[...] = ours[i].asnumpy()
            results[i] = x
    return results[0] if len(results) == 1 else tuple(results)

cdef int assign_where(ndarray target, ndarray source, object where) except -1:
    """Copy with a cast; where is True or a mask that broadcasts. The source is a fresh array of the target's shape."""
    cdef Operand ops[3]
    cdef intp shape[MAXDIMS]
    cdef ndarray mask
    if where is True:
        return assign(target, source)
    mask = <ndarray>where
    if mask.st == target.st and may_overlap(mask, target):
        mask = copy_of(mask)
    memcpy(shape, target.shape, target.ndim * sizeof(intp))
    fill_operand(&ops[0], source, target.ndim, shape, False)
    fill_operand(&ops[1], mask, target.ndim, shape, False)
    fill_operand(&ops[2], target, target.ndim, shape, True)
    not_full(&ops[2], target)
    return launch(masked_kernel(cast_kernel(source.code, target.code)), ops, 3, target.ndim, shape, NULL)

cdef object in_memory_order(object result, object order):
    """A ufunc's result, or several, laid out in the order C, F or A."""
    if isinstance(result, tuple):
        return tuple([in_memory_order(x, order) for x in result])
    if (<ndarray?>result).ndim < 2 and order in ("C", "F", "A"):
        return result
    return hooks.copy_order(result, order)

# ---- calls of ufuncs -----------------------------------------------------------------------------------------------

# What their methods may be given, and what is usual: an override is told of the rest.
CALL = dict(out=None, where=True, dtype=None, casting="same_kind", order="K", subok=True, signature=None, axes=None,
            axis=None, keepdims=NO_VALUE)
REDUCE = dict(axis=0, dtype=None, out=None, keepdims=False, initial=NO_VALUE, where=True)

cdef class Request:
    pass

cdef dict wishes(Request r):
    """What is asked for otherwise than usual, as a ufunc takes it."""
    given = dict(where=r.where, dtype=r.dtype, casting=r.casting, order=r.order, signature=r.signature, axes=r.axes,
                 axis=r.axis, keepdims=r.keepdims)
    return {name: x for name, x in given.items() if x is not CALL[name]}

cdef int check_request(Request r, bint bare, dict unknown) except -1:
    """NumPy's errors for arguments that cannot be together."""
    cdef int n = <int>len(r.inputs)
    if not r.nin <= n <= r.nin + r.nout:
        raise TypeError(f"{r.ufunc.__name__}() takes from {r.nin} to {r.nin + r.nout} positional arguments but "
                        f"{n} {'was' if n == 1 else 'were'} given")
    if unknown:
        raise TypeError(f"{r.ufunc.__name__}() got an unexpected keyword argument {next(iter(unknown))!r}")
    if r.signature is not None and r.dtype is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    if r.out is None and not bare and r.nout > 1:
        raise TypeError("'out' must be a tuple of arrays")
    return 0

cdef int find_outputs(Request r, bint bare) except -1:
    """`out` as a tuple, of what is given by place or by name; None for nothing."""
    if r.where is not True and bare and len(r.inputs) == r.nin:
        np.positive(0, where=False)             # NumPy warns of it, in the versions that do
    if len(r.inputs) > r.nin:
        if r.out is not None:
            raise TypeError("cannot specify 'out' as both a positional and keyword argument")
        if r.ufunc is np.maximum or r.ufunc is np.minimum:
            r.ufunc(0, 0, np.empty((), int))    # NumPy warns of it, in the versions that do
        r.out = r.inputs[r.nin:] + (None,) * (r.nin + r.nout - <int>len(r.inputs))
        if any([x is Ellipsis for x in r.out]):
            raise TypeError("out=... is only allowed as a keyword argument.")
        r.inputs = r.inputs[:r.nin]
    if r.out is None:
        return 0
    if not isinstance(r.out, tuple):
        if r.nout > 1:
            raise TypeError("'out' must be a tuple of arrays")
        r.out = (r.out,)
    if len(r.out) != r.nout:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    if all([o is None for o in r.out]):
        r.out = None
    return 0
