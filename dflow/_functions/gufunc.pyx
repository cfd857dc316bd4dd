"""Generalized ufuncs: the core dimensions of their operands, by name.

A parsed signature (`core`, see _array/signature.pyx) has the names that each input and each output might have; `groups`
the ones that each really has, as some are optional.
"""

import numpy as np
from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport intp, Kernel, MAXDIMS
from dflow._runtime.graph cimport WRITE
from dflow._array.dispatch cimport Core, launch, Operand, UNTRACKED_READ
from dflow._kernels.dtypes cimport CDOUBLE, CFLOAT, DOUBLE, DTYPES, FLOAT
from dflow._array.core cimport *, be_element, is_ours
from dflow._functions.fastpath cimport Plan, queue_matmul, quick_matmul, quick_vecdot, same_shape
from dflow._functions.numpy_inline import LATER, SMALL, at_once
from dflow._functions.out cimport cast_error, fill_alike
from dflow._functions.views cimport without_axis
from dflow._array.signature import computed_size
from dflow._functions.out import check_out

cdef object vecdot = np.vecdot

cdef int outer_axes(object u, list arrays, list operands, list groups, intp* shape) except -1:
    """Fill shape with what is looped over; how many axes. NumPy's error where operands do not fit each other."""
    cdef ndarray a
    cdef int i, ndim = 0
    for i, a in enumerate(operands):
        if a is not None:
            ndim = max(ndim, a.ndim - <int>len(groups[i]))
    for i in range(ndim):
        shape[i] = 1
    for i, a in enumerate(operands):
        if a is not None and not broadcast_front(shape, ndim, a, <int>len(groups[i])):
            out = [None if x is None else np.empty(x.shape, x.dtype) for x in operands[len(arrays):]]
            u(*[np.broadcast_to(np.zeros((), x.dtype), x.shape) for x in arrays], out=tuple(out))
            raise ValueError("operands could not be broadcast together")
    return ndim

cdef int launch_core(object core, Kernel* k, list inputs, list results, list groups, dict sizes, set missing,
                     intp* shape, int ndim) except -1:
    """Inputs and results are looped over, all but the core dimensions of each, by broadcasting."""
    cdef Core filled
    cdef Operand ops[33]
    cdef list arrays = inputs + results
    cdef ndarray a
    cdef int i
    fill_core(&filled, core, arrays, groups, sizes, missing)
    for i, a in enumerate(arrays):
        fill_outer(&ops[i], a, <int>len(groups[i]), ndim, shape, i >= len(inputs))
    return launch(k, ops, <int>len(arrays), ndim, shape, &filled)

cdef int fill_outer(Operand* o, ndarray a, int ncore, int ndim, intp* shape, bint write) noexcept:
    """All of a, which is looped over by all but its last ncore axes, broadcast to a shape that they fit."""
    cdef int i, outer = a.ndim - ncore, skip = ndim - outer
    fill_operand(o, a, a.ndim, a.shape, write)
    for i in range(skip):
        o.strides[i] = 0
    for i in range(outer):
        o.strides[skip + i] = 0 if a.shape[i] == 1 and shape[skip + i] != 1 else strides_of(a)[i]
    return 0

cdef ndarray product(Plan* p, ndarray x, ndarray y):
    """Of vectors and matrices, or stacks of these, now or as a task; None when the long way must be gone."""
    cdef Plan same
    cdef ndarray out
    if x.ndim == 0 or y.ndim == 0:
        return None
    if not p.direct:
        same = p[0]
        same.direct = True
        p = &same
        x, y = cast(x, p.codes[0]), cast(y, p.codes[1])
    if x.ndim > 2 or y.ndim > 2:
        return product_of_stacks(p, x, y)
    out = quick_matmul(p, x, y)
    return out if out is not None else queue_matmul(p, x, y)

cdef ndarray product_of_stacks(Plan* p, ndarray x, ndarray y):
    cdef Core core
    cdef Operand ops[3]
    cdef intp shape[MAXDIMS]
    cdef intp result[MAXDIMS]
    cdef int of_x = min(x.ndim, 2), of_y = min(y.ndim, 2), outer = max(x.ndim - of_x, y.ndim - of_y), ndim = outer
    cdef ndarray out
    if p.nargs != 3 or x.size == 0 or y.size == 0 or x.shape[x.ndim - 1] != y.shape[y.ndim - of_y]:
        return None
    for i in range(outer):
        shape[i] = 1
    if not broadcast_front(shape, outer, x, of_x) or not broadcast_front(shape, outer, y, of_y):
        return None
    memcpy(result, shape, outer * sizeof(intp))
    memset(core.steps, 0, 6 * sizeof(intp))         # of axes that a vector does not have
    core.ndim, core.nsteps = 3, 6
    core.dims[0] = core.dims[2] = 1
    core.dims[1] = x.shape[x.ndim - 1]
    core.steps[1], core.steps[2] = strides_of(x)[x.ndim - 1], strides_of(y)[y.ndim - of_y]
    if of_x == 2:
        core.dims[0] = result[ndim] = x.shape[x.ndim - 2]
        core.steps[0] = strides_of(x)[x.ndim - 2]
        ndim += 1
    if of_y == 2:
        core.dims[2] = result[ndim] = y.shape[y.ndim - 1]
        core.steps[3] = strides_of(y)[y.ndim - 1]
        ndim += 1
    out = new_array(p.codes[2], ndim, result, True)
    if of_x == 2:
        core.steps[4] = strides_of(out)[outer]
    if of_y == 2:
        core.steps[5] = strides_of(out)[ndim - 1]
    fill_outer(&ops[0], x, of_x, outer, shape, False)
    fill_outer(&ops[1], y, of_y, outer, shape, False)
    fill_outer(&ops[2], out, ndim - outer, outer, shape, True)
    launch(p.kernel, ops, 3, outer, shape, &core)
    return out

cdef inline bint broadcast_front(intp* shape, int ndim, ndarray a, int ncore) noexcept:
    """shape, of ndim axes, beside all but the last axes of a. False: it does not fit."""
    cdef int i, skip = ndim - (a.ndim - ncore)
    for i in range(a.ndim - ncore):
        if shape[skip + i] == 1:
            shape[skip + i] = a.shape[i]
        elif a.shape[i] != 1 and a.shape[i] != shape[skip + i]:
            return False
    return True

cdef ndarray product_into(Plan* p, ndarray x, ndarray y, ndarray out):
    """A small product, which is copied to where it is to be; else None."""
    cdef ndarray made
    if (p == NULL or p.codes[2] != out.code or x.size + y.size > SMALL or out.flags & (READONLY | SCALAR)
            or not is_near(x) or not is_near(y) or records(out, None)):
        return None
    made = product(p, x, y)
    return out if fill_alike(out, made) else None

cdef object small_product(Plan* p, object u, tuple inputs):
    """vecdot, matvec or vecmat of few elements that are there: by NumPy's loop, or NumPy's own; else None."""
    if u is vecdot and is_ours(inputs[0]) and is_ours(inputs[1]):
        quick = quick_vecdot(p, <ndarray>inputs[0], <ndarray>inputs[1])
        if quick is not None:
            return quick
    quick = at_once(u, inputs, None, SMALL)
    return None if quick is LATER else quick

def alike(tuple operands, int axes, intp few, intp longer):
    """Whether two operands, after the subscripts, are ours, of one shape, of so many axes; if these are several, of a
    type that BLAS has, too, and with few elements or longer rows."""
    cdef ndarray x, y
    if len(operands) != 3 or not is_ours(operands[1]) or not is_ours(operands[2]):
        return False
    x, y = <ndarray>operands[1], <ndarray>operands[2]
    if x.ndim != axes or not same_shape(x, y):
        return False
    return axes == 1 or (x.code == y.code and x.code in (FLOAT, DOUBLE, CFLOAT, CDOUBLE)
                         and (x.size <= few or x.shape[axes - 1] > longer))

cdef list core_names(object core, int i, ndarray a, set missing):
    """The core dimensions that input i has; optional ones that it has no axes for go into `missing`."""
    cdef list names = list(core[0][i])
    for name in [name for name in names if name.endswith("?")][:max(len(names) - a.ndim, 0)]:
        names.remove(name)
        missing.add(name)
    return names                            # if they are still too many, core_sizes() says so

cdef str operand_text(object u, int i):
    return f"{u.__name__}: Input operand {i}" if i < u.nin else f"{u.__name__}: Output operand {i - u.nin}"

cdef dict core_sizes(object u, list operands, list groups):
    """Name of a core dimension: its length. A name that is a number is that length.
    None stands for an output to be made."""
    cdef dict sizes = {}
    cdef ndarray a
    cdef int i, k
    for i, names in enumerate(groups):
        if operands[i] is None:
            continue
        if i >= u.nin:
            check_out(operands[i])
        a = <ndarray>operands[i]
        if len(names) > a.ndim:
            raise ValueError(f"{operand_text(u, i)} does not have enough dimensions (has {a.ndim}, gufunc core with "
                             f"signature {u.signature} requires {len(names)})")
        for k, name in enumerate(names):
            size = a.shape[a.ndim - <int>len(names) + k]
            if name.isdigit() and size != int(name) or sizes.setdefault(name, size) != size:
                wanted = sizes.get(name, name)
                raise ValueError(f"{operand_text(u, i)} has a mismatch in its core dimension {k}, with gufunc "
                                 f"signature {u.signature} (size {size} is different from {wanted})")
    return sizes

cdef list core_results(object u, object core, Plan* p, list arrays, tuple out, object casting, int ndim, intp* outer,
                       dict sizes, list groups):
    """An array for each output: the one of `out` where the loop can write to it. Adds to sizes.

    outer: the shape of the ndim axes that the loop goes over.
    """
    cdef intp shape[MAXDIMS]
    cdef int i, k, nin = <int>len(arrays)
    cdef ndarray o
    cdef list results = []
    memcpy(shape, outer, ndim * sizeof(intp))
    for i, names in enumerate(groups):
        if ndim + len(names) > MAXDIMS:
            raise ValueError(f"maximum supported dimension for an ndarray is currently {MAXDIMS}, found "
                             f"{ndim + len(names)}")
        for k, name in enumerate(names):
            if name not in sizes:
                sizes[name] = int(name) if name.isdigit() else computed_size(u, core, name, sizes)
            shape[ndim + k] = sizes[name]
        o = None if out is None else out[i]
        if o is not None and not core_output_fits(u, p.codes[nin + i], o,
                                                  tuple([shape[k] for k in range(ndim + len(names))]), casting, arrays):
            o = None
        if o is None:
            o = new_array(p.codes[nin + i], ndim + <int>len(names), shape)
            if o.ndim == 0:
                be_element(o)
        results.append(o)
    return results

cdef bint core_output_fits(object u, int code, ndarray o, tuple shape, object casting, list arrays) except -1:
    """Whether the loop can write to o. Raises what NumPy does where the result cannot be assigned to it either."""
    if o.flags & READONLY:
        raise ValueError("output array is read-only")
    o.st.version += 1
    if shape_tuple(o) != shape:
        raise ValueError(f"non-broadcastable output operand with shape {shape_text(o)} doesn't match the broadcast "
                         "shape "
                         + str(shape).replace(" ", ""))
    if o.code == code and not any([may_overlap(o, x) for x in arrays]):
        return True
    if not np.can_cast(DTYPES[code], DTYPES[o.code], casting):
        raise cast_error(u, code, o.code, casting)
    return False

cdef int fill_core(Core* filled, object core, list arrays, list groups, dict sizes, set missing) except -1:
    """Core dimensions in the order in which the signature names them; then each operand's strides along its own."""
    cdef int i, k
    cdef ndarray a
    filled.ndim = filled.nsteps = 0
    for name in core[2]:
        filled.dims[filled.ndim] = 1 if name in missing else int(name) if name.isdigit() else sizes[name]
        filled.ndim += 1
    for i, names in enumerate([*core[0], *core[1]]):
        a = <ndarray>arrays[i]
        present = groups[i]
        k = a.ndim - <int>len(present)      # the axis of the next name; an operand may name one twice, as (m,m)
        for name in names:
            if name in missing and name not in present:
                filled.steps[filled.nsteps] = 0
            else:
                filled.steps[filled.nsteps] = strides_of(a)[k]
                k += 1
            filled.nsteps += 1
    return 0

cdef int access_whole(Operand* o, ndarray a) except -1:
    """The operand accesses all of a, though its loop dimensions are but some of a's."""
    cdef Operand whole
    fill_operand(&whole, a, a.ndim, a.shape, o.flags & WRITE != 0)
    o.flags = whole.flags
    o.region = whole.region
    return 0

cdef int along_axis(Kernel* kernel, ndarray a, ndarray b, ndarray out, int axis) except -1:
    """Launch a kernel whose core is one axis of a, all of b (1-d, or None) and the same axis of out."""
    cdef Core core
    cdef Operand ops[3]
    cdef intp shape[MAXDIMS]
    cdef int n = 1
    cdef ndarray rows = without_axis(a, axis), rows_out = without_axis(out, axis) if out.ndim == a.ndim else out
    core.ndim = 1
    core.dims[0] = a.shape[axis]
    core.steps[0] = strides_of(a)[axis]
    core.nsteps = 1
    memcpy(shape, rows.shape, rows.ndim * sizeof(intp))
    fill_operand(&ops[0], rows, rows.ndim, shape, False)
    access_whole(&ops[0], a)
    if b is not None:
        fill_operand(&ops[1], b, b.ndim, b.shape, False)
        memset(ops[1].strides, 0, sizeof(ops[1].strides))
        core.dims[1] = b.shape[0]
        core.steps[1] = strides_of(b)[0]
        core.ndim = core.nsteps = n = 2
    fill_operand(&ops[n], rows_out, rows.ndim, shape, True)
    access_whole(&ops[n], out)
    if same_elements(a, out):
        ops[0].flags |= UNTRACKED_READ
    if out.ndim == a.ndim:
        core.steps[core.nsteps] = strides_of(out)[axis]
        core.nsteps += 1
    return launch(kernel, ops, n + 1, rows.ndim, shape, &core)
