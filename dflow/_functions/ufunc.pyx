"""ufunc: elementwise calls, generalized ufuncs, and the methods reduce, accumulate, reduceat, outer, at."""

import numpy as np
cimport numpy as cnp
from cpython.object cimport PyObject
from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport MAXDIMS
from dflow._runtime.graph cimport readable
from dflow._array.dispatch cimport Operand, Core, UNTRACKED_READ, fill_constant, launch
from dflow._kernels.dtypes cimport (
    Scalar, BOOL, LONG, ULONG, DOUBLE, CDOUBLE, DTYPES, INTP, NCODES, itemsizes, code_of, descr_of, is_complex,
    is_integer, native, write_scalar)
from dflow._kernels.wrapped cimport (
    masked_kernel, fill_fold, reduce_kernel, accumulate_kernel, reduceat_kernel, at_kernel)
from dflow._kernels.registry cimport ufunc_kernel
from dflow._array.signature cimport parse_signature
from dflow._array.core cimport *, is_ours, be_element
from dflow._tracing.tape cimport any_records, earlier, record, recorders
from dflow._functions.by_vector cimport (
    PySequence_Fast_ITEMS, PyVectorcall_NARGS, Type, called_by_vector, vectorcallfunc)
from dflow._functions.interop cimport override, overridden
from dflow._functions.views cimport *
from dflow._functions.fastpath cimport *
from dflow._functions.numbers cimport (
    compared_by_range, compares_by_range, identity_of, neutral_of, numpys_answer, start_of)
from dflow._kernels.dtypes import NotHeld
from dflow._kernels.registry import COMPARISONS, COSTS, UNFOLDED
from dflow._functions.numpy_inline import LATER, SMALL, at_once
from dflow._functions.points cimport launch_at, run_at
from dflow._functions.scalars cimport function_of_numbers, number_kind
from dflow._functions.sequences cimport as_operand, COPYING, to_read, with_arrays
from dflow._functions.gufunc cimport (
    access_whole, along_axis, core_names, core_results, core_sizes, launch_core, outer_axes, product,
    product_into, small_product)
from dflow._functions.plans cimport be_single, is_single, kind_of, make_plan
from dflow._functions.out cimport (
    as_mask, assign_where, cast_error, check_mask, check_reduced, check_request, clear_of, find_outputs,
    in_memory_order, Request, wishes)
from dflow._base.allocator cimport memory_zeros
from dflow._base.documents import of_ufunc
from dflow._array.signature import try_sizes
from dflow._functions.out import (
    CALL, NO_VALUE, REDUCE, as_weak, check_out, fill_numpy, give, give_reduced, give_slices, last_axes, no_scalars,
    numpys_reduction, only_output, to_end)
from dflow._functions.views import open_window
from numpy._core._exceptions import _UFuncCastingError

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

LOGICAL = frozenset(("logical_and", "logical_or", "logical_xor"))

# ---- plans -----------------------------------------------------------------------------------------------------

cdef object matmul = np.matmul
cdef set PRODUCTS = {getattr(np, name, None) for name in ("vecdot", "matvec", "vecmat")}
cdef dict wrapped = {}          # NumPy's ufunc: ours

cdef ufunc wrap(object numpy_ufunc):
    cdef ufunc u = wrapped.get(numpy_ufunc)
    if u is None:
        u = wrapped[numpy_ufunc] = ufunc(numpy_ufunc)
    return u

def set_single(bint on):
    """The types of functions of whole numbers, and others beside them, are MXNet's from now on, or NumPy's."""
    cdef ufunc u
    if on == is_single():
        return
    be_single(on)
    for u in wrapped.values():
        u.plans, u.others = u.others, u.plans
        memset(u.binary, 0, sizeof(u.binary))           # plan() fills them again
        memset(u.unary, 0, sizeof(u.unary))

cdef Plan* plan_for(ufunc u, tuple kinds, tuple inputs, object dtype, object casting, object signature) except NULL:
    """The plan of a call with these options, which is kept."""
    cdef Scalar room[32]
    cdef Plan* p
    if dtype is None and signature is None and casting == "same_kind":
        return u.plan(kinds)
    # Keys have the types, too: dtypes of different ones may be equal, see `twin_of` in _kernels/dtypes.
    if signature is None:
        wanted = None if dtype is None else descr_of(dtype)             # of the outputs
        key = (kinds, wanted, type(wanted), casting)
    else:
        key = (kinds, signature, tuple(map(type, signature)) if type(signature) is tuple else None, casting)
    address = u.plans.get(key)
    if address is not None:
        return <Plan*><size_t>address
    if signature is None and wanted is not None:
        signature = (None,) * u.nin + (wanted,) * u.nout
    try:
        p = make_plan(u.numpy, u.failure, kinds, signature, casting)
    except _UFuncCastingError:
        if int in map(type, inputs) and u.name not in COMPARISONS:      # that its type does not hold it is found first
            write_numbers(make_plan(u.numpy, u.failure, kinds, signature, "unsafe"), inputs, room)
        raise
    u.plans[key] = <size_t>p
    return p

# ---- elementwise calls -----------------------------------------------------------------------------------------

cdef tuple prepare(tuple inputs):
    """Arrays and Python scalars, an array among them; all else becomes one."""
    cdef list out = []
    cdef bint weak = True
    for x in inputs:
        if not isinstance(x, ndarray) and type(x) not in (int, float, complex, bool):
            x = as_operand(x)
        weak = weak and not isinstance(x, ndarray)
        out.append(x)
    if weak:
        out[0] = as_array(out[0])
    return tuple(out)

cdef int broadcast_shape(tuple inputs, intp* shape, int ndim) except -1:
    """Fold the shapes of the arrays among inputs into shape[:ndim], right-aligned; the new ndim."""
    cdef ndarray a
    cdef int i, k
    cdef intp n
    for x in inputs:
        if not isinstance(x, ndarray):
            continue
        a = <ndarray>x
        if a.ndim > ndim:
            for i in reversed(range(ndim)):
                shape[i + a.ndim - ndim] = shape[i]
            for i in range(a.ndim - ndim):
                shape[i] = 1
            ndim = a.ndim
        for i in range(a.ndim):
            k = ndim - a.ndim + i
            n = a.shape[i]
            if n != shape[k]:
                if shape[k] == 1:
                    shape[k] = n
                elif n != 1:
                    shapes = " ".join([shape_text(<ndarray>x) if isinstance(x, ndarray) else "()"
                                       for x in inputs if x is not None])
                    raise ValueError(f"operands could not be broadcast together with shapes {shapes} ")
    return ndim

cdef object call(ufunc u, tuple inputs, tuple out, object where, object dtype, object casting, object signature):
    """u(*inputs): a new array, a tuple of them, or what `out` gives."""
    if recorders and any_records(PySequence_Fast_ITEMS(inputs), u.nin):
        return call_and_record(u, prepare(inputs), out, where, dtype, casting, signature)
    cdef Plan* p
    cdef tuple kinds
    cdef Scalar constants[32]
    cdef intp shape[MAXDIMS]
    cdef int ndim, i
    cdef bint by_range = False
    if u.core is not None:
        return call_core(u, inputs, out, dtype, casting, signature)
    check_writables(out)
    where = where if where is True else as_mask(where)
    inputs = prepare(inputs)
    kinds = tuple([kind_of(x) for x in inputs])
    p = plan_for(u, kinds, inputs, dtype, casting, signature)
    try:
        write_numbers(p, inputs, constants)
    except OverflowError:
        if not compares_by_range(u.name, inputs):
            raise
        by_range = True
    if out is not None:
        check_casts(u, p, out, casting)
    ndim = broadcast_shape(inputs if out is None else inputs + out, shape, 0)
    if where is not True:
        ndim = broadcast_shape((where,), shape, ndim)
    if out is not None:
        check_outputs(u, out, shape, ndim)
    if by_range:
        result = compared_by_range(u.name, inputs, ndim, shape)
        if out is not None:
            assign_where(<ndarray>out[0], result, where)
        return result if out is None else out[0]
    return launch_elementwise(u, p, inputs, constants, out, where, shape, ndim)

cdef int check_writables(tuple out) except -1:
    """Each is None, or an array to write to."""
    for o in out or ():
        if o is not None and (not isinstance(o, ndarray) or (<ndarray>o).flags & (READONLY | SCALAR)):
            check_out(o)                    # raises
    return 0

cdef object call_and_record(ufunc u, tuple inputs, tuple out, object where, object dtype, object casting,
                            object signature):
    """The same, recorded: the results are computed apart, and written to `out` by assignments, recorded too."""
    check_writables(out)
    if out is not None:                     # what it writes over is kept for the way back
        written = {<size_t>(<ndarray>o).st for o in out if o is not None}
        inputs = tuple([earlier(x) if tracked(x) and <size_t>(<ndarray>x).st in written else x for x in inputs])
    results = record(u.numpy, inputs, call_again, (u, inputs, dtype, casting, signature), {})
    if out is None and where is True:
        return results
    found = []
    for i, result in enumerate(results if u.nout > 1 else (results,)):
        target = None if out is None else out[i]
        if where is not True:
            result = hooks.where(where, result, 0 if target is None else target)
        if target is not None and not np.can_cast(result.dtype, target.dtype, casting):
            raise cast_error(u.numpy, code_of(result.dtype), code_of(target.dtype), casting, u.nin + i)
        if target is not None:
            target[...] = result
        found.append(result if target is None else target)
    return tuple(found) if u.nout > 1 else found[0]

def call_again(ufunc u, inputs, dtype, casting, signature):
    return call(u, inputs, None, True, dtype, casting, signature)

cdef int check_casts(ufunc u, Plan* p, tuple out, object casting) except -1:
    """Whether outputs take the results."""
    cdef ndarray o
    cdef int k
    for k in range(u.nout):
        o = <ndarray>out[k]
        if (o is not None and o.code != p.codes[u.nin + k]
                and not np.can_cast(DTYPES[p.codes[u.nin + k]], DTYPES[o.code], casting)):
            raise cast_error(u.numpy, p.codes[u.nin + k], o.code, casting, u.nin + k)
    return 0

cdef int check_outputs(ufunc u, tuple out, intp* shape, int ndim) except -1:
    """Outputs take part in broadcasting, but are not broadcast themselves. They are about to be written to."""
    cdef ndarray o
    cdef int i, k
    for k in range(u.nout):
        if out[k] is None:
            continue
        o = <ndarray>out[k]
        o.st.version += 1
        bad = o.ndim != ndim
        for i in range(o.ndim):
            bad = bad or o.shape[i] != shape[ndim - o.ndim + i]
        if bad:
            target = str(tuple([shape[i] for i in range(ndim)])).replace(" ", "")
            raise ValueError(f"non-broadcastable output operand with shape {shape_text(o)} doesn't match the broadcast "
                             f"shape {target}")
    return 0

cdef object launch_elementwise(ufunc u, Plan* p, tuple inputs, Scalar* constants, tuple out, object where, intp* shape,
                               int ndim):
    """Broadcast, cast, guard against overlap, launch."""
    cdef Operand ops[33]
    cdef intp space[MAXDIMS]
    cdef list arrays, results       # keep casts and copies alive until they are launched
    cdef ndarray mask, o
    cdef Kernel* k = p.kernel
    cdef int i, n = u.nin
    arrays = [cast(<ndarray>x, p.codes[i]) if isinstance(x, ndarray) else None for i, x in enumerate(inputs)]
    results = loop_outputs(u, p, arrays, out, shape, ndim)
    fill_inputs(ops, p, arrays, constants, results, out is not None, shape, ndim)
    if where is not True:
        k = masked_kernel(k)
        mask = <ndarray>where
        for o in results:
            if mask.st == o.st and may_overlap(mask, o):
                mask = copy_of(mask)
        fill_operand(&ops[n], mask, ndim, shape, False)
        n += 1
    for o in results:
        fill_operand(&ops[n], o, ndim, shape, True)
        if where is not True:
            not_full(&ops[n], o)
        n += 1
    memcpy(space, shape, ndim * sizeof(intp))
    launch(k, ops, n, ndim, space, NULL)
    if out is not None:
        for i in range(u.nout):
            if out[i] is not None:
                if results[i] is not out[i]:
                    assign_where(<ndarray>out[i], <ndarray>results[i], where)
                results[i] = out[i]
    return results[0] if u.nout == 1 else tuple(results)

cdef int fill_inputs(Operand* ops, Plan* p, list arrays, Scalar* constants, list results, bint given, intp* shape,
                     int ndim) except -1:
    """The inputs as operands; None among the arrays stands for a constant.
    given: some of the results are, and may be inputs, too."""
    cdef ndarray a
    cdef int i
    for i in range(len(arrays)):
        if arrays[i] is None:
            fill_constant(&ops[i], <char*>&constants[i], itemsizes[p.codes[i]])
            continue
        a = <ndarray>arrays[i]
        if given:
            a = arrays[i] = clear_of(results, a)
        fill_operand(&ops[i], a, ndim, shape, False)
        if given and same_elements(a, <ndarray>results[0]):
            ops[i].flags |= UNTRACKED_READ
    return 0

cdef int write_numbers(Plan* p, tuple inputs, Scalar* constants) except -1:
    """The numbers among the inputs, in the types of the loop.
    OverflowError for an integer that its type does not hold."""
    cdef Scalar room
    cdef int i
    for i, x in enumerate(inputs):
        if not isinstance(x, ndarray):
            if p.codes[i] == BOOL and type(x) is int:
                write_scalar(x, LONG, <char*>&room)         # which a truth value is made of
            elif type(x) is complex and not is_complex(p.codes[i]) or type(x) is float and is_integer(p.codes[i]):
                x = np.asarray(x).astype(DTYPES[p.codes[i]])[()]        # by casting="unsafe"
            write_scalar(x, p.codes[i], <char*>&constants[i])
    return 0

cdef list loop_outputs(ufunc u, Plan* p, list arrays, tuple out, intp* shape, int ndim):
    """An array for each output: the one in `out` if it has the type of the loop, else a new one."""
    cdef list results = []
    cdef bint pending = False, ordered = True
    cdef ndarray a, o
    cdef int i, code
    for a in arrays:
        if a is not None:
            pending = pending or not readable(a.st)
            ordered = ordered and a.flags & C_CONTIGUOUS
    for i in range(u.nout):
        code = p.codes[u.nin + i]
        o = out[i] if out is not None else None
        if o is None:
            o = (new_array(code, ndim, shape, pending) if ordered else
                 new_like([x for x in arrays if x is not None], code, ndim, shape, pending))
            if ndim == 0:
                be_element(o)
        elif o.code != code:
            o = new_array(code, ndim, shape)
        results.append(o)
    return results

# ---- generalized ufuncs ----------------------------------------------------------------------------------------

cdef object call_core(ufunc u, tuple inputs, tuple out, object dtype, object casting, object signature):
    """A generalized ufunc: its loop works on the last axes of its operands, and over the others by broadcasting.

    The names of core dimensions in u.core are the signature's; `groups` has those that each operand really has.
    """
    cdef intp shape[MAXDIMS]
    cdef int ndim, i
    cdef ndarray a
    cdef Plan* p
    cdef dict sizes
    cdef list arrays, results, groups = []
    cdef set missing = set()            # optional dimensions that some input does not have
    arrays = [as_array(x) for x in inputs]
    p = plan_for(u, tuple([(<ndarray>x).code for x in arrays]), inputs, dtype, casting, signature)
    if u.numpy is matmul and out is dtype is signature is None:         # no fast path had it
        if (quick := product(p, <ndarray>arrays[0], <ndarray>arrays[1])) is not None:
            return quick
    for i in range(u.nin):
        a = arrays[i] = cast(<ndarray>arrays[i], p.codes[i])
        groups.append(core_names(u.core, i, a, missing))
    groups += [[name for name in names if name not in missing] for names in u.core[1]]
    operands = arrays + list((None,) * u.nout if out is None else out)
    sizes = core_sizes(u.numpy, operands, groups)
    if out is not None:
        try_sizes(u.numpy, u.core, sizes)
    ndim = outer_axes(u.numpy, arrays, operands, groups, shape)
    results = core_results(u.numpy, u.core, p, arrays, out, casting, ndim, shape, sizes, groups[u.nin:])
    launch_core(u.core, p.kernel, arrays, results, groups, sizes, missing, shape, ndim)
    for i in range(u.nout):
        if out is not None and out[i] is not None and out[i] is not results[i]:
            assign(<ndarray>out[i], <ndarray>results[i])
            results[i] = out[i]
    return results[0] if u.nout == 1 else tuple(results)

# ---- reductions ------------------------------------------------------------------------------------------------

cdef object reduction_dtype(ufunc u, int code):
    """Sums and products of small integers are taken in the platform's integer."""
    if u.name in ("add", "multiply") and code < LONG:
        return DTYPES[ULONG] if code in (2, 4, 6) else DTYPES[LONG]
    return None

cdef Plan* reduction_plan(ufunc u, int code, object dtype, str how="reduce", object out=None) except NULL:
    """In which types it computes: in `dtype`, else in what those of the array and of `out` decide."""
    cdef Plan* p
    cdef int given = (<ndarray>out).code if dtype is None and out is not None else -1
    key = (how, code, dtype, -2 - (<cnp.dtype>dtype).num if isinstance(dtype, cnp.dtype) else given)    # as plan_for()
    if key in u.plans:
        return <Plan*><size_t>u.plans[key]
    if u.core is not None:
        raise RuntimeError("Reduction not defined on ufunc with signature")
    if u.nin != 2 or u.nout != 1:
        raise ValueError(f"{how} only supported for "
                         f"{'binary functions' if u.nin != 2 else 'functions returning a single value'}")
    wanted = descr_of(dtype) if dtype is not None else reduction_dtype(u, code) if given < 0 else None
    if u.name in LOGICAL and dtype is None:
        resolved = (np.dtype(bool),) * 3
    else:
        keywords = {} if wanted is None else {"signature": (wanted, wanted, None)}
        start = None if given < 0 else DTYPES[given]
        resolved = u.numpy.resolve_dtypes((start, DTYPES[code], None), reduction=True, casting="unsafe", **keywords)
    p = <Plan*>memory_zeros(sizeof(Plan))
    if p == NULL:
        raise MemoryError("no memory for a ufunc")
    for i, d in enumerate(resolved):
        p.codes[i] = code_of(d)
    p.kernel = ufunc_kernel(u.numpy, (p.codes[0], p.codes[1], p.codes[2]))
    if p.kernel == NULL or p.codes[0] != p.codes[2] or p.codes[0] != p.codes[1] and how != "reduce":
        raise TypeError(f"ufunc {u.name!r} cannot reduce an array of {DTYPES[code]}")
    u.plans[key] = <size_t>p
    return p

cdef inline Reduction* reduction_of(ufunc u, int code, str how, object out=None) except NULL:
    cdef bint same = out is not None and (<ndarray>out).code == code
    cdef Reduction* r = <Reduction*>u.reductions[same][code]
    return r if r != NULL else make_reduction(u, code, how, out if same else None)

cdef dict DECIDING = {"logical_and": 0, "minimum": 0, "logical_or": 1, "maximum": 1}     # all, whatever the others are

cdef Reduction* make_reduction(ufunc u, int code, str how, object out) except NULL:
    cdef Reduction* r = <Reduction*>memory_zeros(sizeof(Reduction))
    if r == NULL:
        raise MemoryError("no memory for a ufunc")
    r.plan = reduction_plan(u, code, None, how, out)
    r.has_initial = u.numpy.identity is not None
    if r.has_initial:
        write_scalar(identity_of(u.numpy, r.plan.codes[0]), r.plan.codes[0], <char*>&r.initial)
    fill_fold(&r.fold, r.plan.kernel, r.plan.codes[0], any_order(u, r.plan.codes[0]))
    r.deciding = DECIDING.get(u.name, -1) if code == BOOL or u.name.startswith("logical") else -1
    u.reductions[out is not None][code] = r
    return r

cdef object quick_reduction(ufunc u, ndarray a, object axis, object out, object keepdims):
    """A reduction without other options of few elements, here and now; else None."""
    cdef bint whole = keepdims is False and (axis is None and (u.reorderable or a.ndim < 2)
                                             or type(axis) is int and a.ndim == 1 and -1 <= axis <= 0)
    cdef Reduction* r
    cdef unsigned long axes = axes_named(axis, a.ndim) if u.reorderable and type(keepdims) is bool else 0
    if not whole and axes == 0:
        return None
    r = reduction_of(u, a.code, "reduce", out)
    if out is not None and (<ndarray>out).code != r.plan.codes[2]:
        return None                             # it decides in which type is computed
    quick = quick_reduce(r, a) if whole else None
    if quick is None and a.ndim > 1:
        quick = quick_reduce_axes(r, a, axes, keepdims)
    return quick if quick is None or out is None else give_reduced(u.name, quick, out)

cdef ndarray reduce(ufunc u, ndarray a, object axis, object dtype, object out, bint keepdims, object initial,
                    object where):
    """u.reduce: along axes, in a fixed order that depends on the shape alone.

    1. What there is no loop for is left to NumPy.
    2. The reduced axes become the core dimensions of a kernel; what is masked out is replaced by what does not count.
    """
    cdef Plan* p
    cdef Core core
    cdef ndarray result, kept
    cdef bint masked = where is not True
    cdef intp total = 1
    where = as_mask(where) if masked else True
    axes = axis_set(axis, a.ndim)
    p = plan_to_reduce(u, a.code, <int>len(axes), dtype, out, initial, masked)
    if p == NULL:
        return numpys_reduction(u.numpy, a, axis, dtype, out, keepdims, initial, where)
    a = a if not masked and casts_itself(a, p.codes[1], axes) else cast(a, p.codes[1])
    if masked:
        check_mask(<ndarray>where, a)
    kept = split_core(a, axes, &core)
    if out is not None:
        check_reduced(u.name, kept.shape, kept.ndim, out, axes if keepdims else [])
    for i in axes:
        total *= a.shape[i]
    initial = beginning(u, p, initial, total, masked, out)
    if masked:
        identity = neutral_of(u.numpy, p.codes[0])
        a = hooks.where(where, a, as_array_code(initial if identity is None else identity, a.code))
        kept = split_core(a, axes, &core)
    result = new_like([kept], p.codes[2], kept.ndim, kept.shape)
    if total == 1 and initial is None:
        copy_elements(result, kept)         # also what no operation keeps, the sign of a NaN
    else:
        launch_reduction(u, p, a, kept, &core, initial, result)
    if keepdims and a.ndim:
        result = own(with_ones(result, axes, a.ndim))
    elif result.ndim == 0:
        be_element(result)
    return result if out is None else give_reduced(u.name, result, out)

cdef bint through_out(Plan* p, object out) noexcept:
    """Whether NumPy makes what it starts from of another type: that of `out`."""
    return out is not None and (<ndarray>out).code != p.codes[0]

cdef Plan* plan_to_reduce(ufunc u, int code, int naxes, object dtype, object out, object initial,
                          bint masked) except? NULL:
    """In which types; NULL for what NumPy is to do: casts at each step, masks without a value for them, refusals."""
    cdef Plan* p
    try:
        p = (reduction_of(u, code, "reduce").plan if dtype is None and out is None
             else reduction_plan(u, code, dtype, "reduce", out))
    except TypeError:
        if dtype is not None:
            code_of(descr_of(dtype).newbyteorder("="))          # raises where it is of no numbers
        return NULL
    if naxes > 1 and not u.reorderable:
        raise ValueError(f"reduction operation '{u.name}' is not reorderable, so at most one axis may be specified")
    if p.codes[0] != p.codes[1] or masked and not masked_by_value(u, p.codes[0], initial) or (
            through_out(p, out) and (not u.reorderable or u.numpy.identity is None)):
        return NULL
    return p

cdef object beginning(ufunc u, Plan* p, object initial, intp total, bint masked, object out):
    """What a reduction of so many elements starts from; None: the first of them."""
    initial = start_of(u.numpy, initial, p.codes[0], total, masked)
    if through_out(p, out) and initial is not None:
        initial = np.asarray(initial, DTYPES[p.codes[0]]).astype(out.dtype).astype(DTYPES[p.codes[0]])[()]
    return initial

cdef int launch_reduction(ufunc u, Plan* p, ndarray a, ndarray kept, Core* core, object initial,
                          ndarray result) except -1:
    """kept: a without the axes that are reduced, which are the core."""
    cdef Operand ops[3]
    cdef Scalar constant
    cdef intp shape[MAXDIMS]
    cdef int n = 1, code = p.codes[0]
    cdef Kernel* k = reduce_kernel(p.kernel, code, a.code, core.ndim, initial is not None, any_order(u, code))
    memcpy(shape, kept.shape, kept.ndim * sizeof(intp))
    fill_operand(&ops[0], kept, kept.ndim, shape, False)
    access_whole(&ops[0], a)
    if initial is not None:
        write_scalar(initial, code, <char*>&constant)
        fill_constant(&ops[1], <char*>&constant, itemsizes[code])
        n = 2
    fill_operand(&ops[n], result, kept.ndim, shape, True)
    if result.size and a.size == 0:
        core.dims[0] = 0                    # any axis of length 0 will do
    return launch(k, ops, n + 1, kept.ndim, shape, core)

REORDERABLE = frozenset("add multiply maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and "
                        "bitwise_or bitwise_xor logaddexp logaddexp2 gcd hypot".split())

# with their identity, these lose the sign of a number, or of a zero
UNSIGNED = frozenset("hypot gcd logaddexp logaddexp2".split())
ANY_ORDER = REORDERABLE - frozenset(("multiply", "logaddexp", "logaddexp2", "hypot"))

cdef bint any_order(ufunc u, int code):
    """Whether elements may be reduced in blocks: where the order is of no consequence, and in sums."""
    return u.name in ANY_ORDER or (u.name == "multiply" and (is_integer(code) or code == BOOL))

cdef bint masked_by_value(ufunc u, int code, object initial):
    """Whether a reduction may see its identity, or once more its `initial`, in place of what is masked out."""
    return (u.name in REORDERABLE
            and (initial is NO_VALUE if u.name in UNSIGNED else not (u.name == "multiply" and is_complex(code))))

cdef object accumulate(ufunc u, ndarray a, object axis, object dtype, object out):
    cdef int k = one_axis(a, axis, "accumulate")
    cdef Plan* p = reduction_plan(u, a.code, dtype, "accumulate", out)
    cdef ndarray result
    a = cast(a, p.codes[1])
    if out is not None and shape_tuple(out) != shape_tuple(a):
        raise ValueError("provided out is the wrong size for the accumulation.")
    if out is not None:
        (<ndarray>out).st.version += 1
    result = out if out is not None and (<ndarray>out).code == p.codes[2] else None
    if result is None:
        result = new_like([a], p.codes[2], a.ndim, a.shape)
    elif may_overlap(a, result) and not same_elements(a, result):
        a = copy_of(a)
    along_axis(accumulate_kernel(p.kernel, p.codes[0]), a, None, result, k)
    if out is not None and result is not out:
        assign(<ndarray>out, result)
        return out
    return result

cdef inline object quick_call(ufunc u, PyObject** inputs, object out):
    """A call without options, of u.nin inputs, when it can run here and now; else None."""
    cdef Plan* p
    cdef int i, j
    if recorders and any_records(inputs, u.nin):
        return None
    x = <object>inputs[0]
    if u.nin == 1:
        if u.nout != 1 or out is not None and not (is_ours(out) and is_ours(x)):
            return None
        if out is not None:
            p = u.unary[(<ndarray>x).code]
            return None if p == NULL or u.core is not None else unary_into(p, <ndarray>x, <ndarray>out)
        quick = None if is_ours(x) and (<ndarray>x).ndim or u.core is not None else of_numbers(u, inputs)
        if quick is not None or not is_ours(x):
            return quick
        p = u.unary[(<ndarray>x).code]
        return None if p == NULL else direct_unary(p, <ndarray>x)
    if u.nin != 2 or u.nout != 1 or out is not None and not is_ours(out):
        return None
    y = <object>inputs[1]
    if u.core is not None and out is not None:
        if u.numpy is not matmul or not is_ours(x) or not is_ours(y):
            return None
        p = u.binary[(<ndarray>x).code * NKINDS + (<ndarray>y).code]
        return product_into(p, <ndarray>x, <ndarray>y, <ndarray>out)
    if u.core is None and out is None and not (is_ours(x) and (<ndarray>x).ndim or is_ours(y) and (<ndarray>y).ndim):
        quick = of_numbers(u, inputs)
        if quick is not None:
            return quick
    i = quick_kind(x)
    j = quick_kind(y)
    if i < 0 or j < 0 or not is_ours(x) and not is_ours(y):
        return None
    p = u.binary[i * NKINDS + j]
    if p == NULL:
        return None
    if u.numpy is matmul:
        return product(p, <ndarray>x, <ndarray>y) if is_ours(x) and is_ours(y) else None
    if u.core is not None and out is None and u.numpy in PRODUCTS:
        return small_product(p, u.numpy, (x, y))
    if u.core is not None:
        return None
    try:
        return direct_binary(p, x, y) if out is None else binary_into(p, x, y, <ndarray>out)
    except OverflowError:
        return None                         # a comparison beyond the range: the long way knows the answer

cdef object of_numbers(ufunc u, PyObject** inputs):
    """Of one number or two, each an element that is there, Python's, or a NumPy scalar; else None."""
    cdef char* at[2]
    cdef int kinds[2]
    cdef int i, first, second, overflow
    cdef Plan* p
    cdef tuple both
    kinds[0] = -1
    for i in range(u.nin):
        kinds[i] = number_kind(<object>inputs[i], &at[i])
        if kinds[i] < 0:
            return None
    first, second = kinds[0], kinds[u.nin - 1]
    if first >= NCODES and second >= NCODES:            # Python's alone have their own types
        for i in range(u.nin):
            if kinds[i] == WEAK_INT:
                PyLong_AsLongLongAndOverflow(<object>inputs[i], &overflow)
                if overflow:
                    return None
        first, second = strong(first), strong(second)
    p = u.unary[first] if u.nin == 1 else u.binary[first * NKINDS + second]
    try:
        if p == NULL:
            both = (first, second)
            p = u.plan(both[:u.nin])
        return function_of_numbers(p, inputs, kinds, at)
    except (OverflowError, TypeError):                  # the long way says what is wrong
        return None

cdef inline int strong(int weak) noexcept:
    return LONG if weak == WEAK_INT else DOUBLE if weak == WEAK_FLOAT else CDOUBLE

cdef tuple OUT = ("out",)

cdef object call_by_vector(ufunc u, PyObject** args, size_t flags, PyObject* names):
    cdef Py_ssize_t i, nargs = PyVectorcall_NARGS(flags)
    quick = None
    if names == NULL and nargs == u.nin:
        quick = quick_call(u, args, None)
    elif (nargs == u.nin and <object>names == OUT if names != NULL else
          nargs == u.nin + 1 and u.numpy is not np.maximum and u.numpy is not np.minimum      # which are to name it
          ) and is_ours(<object>args[u.nin]):
        quick = quick_call(u, args, <object>args[u.nin])
    given = with_arrays(args, nargs, u.cost, False) if quick is None and names == NULL and nargs == u.nin else None
    if given is not None:
        quick = quick_call(u, PySequence_Fast_ITEMS(given), None)
    if quick is not None:
        return quick
    given = tuple([<object>args[i] for i in range(nargs)]) if given is None else given
    if names == NULL:
        return (<Type*>ufunc).tp_call(u, given, NULL)
    keywords = {name: <object>args[nargs + i] for i, name in enumerate(<tuple><object>names)}
    return (<Type*>ufunc).tp_call(u, given, <PyObject*>keywords)

cdef object reduce_slices(ufunc u, ndarray a, object indices, object axis, object dtype, object out):
    """reduceat(), of an array of ours."""
    cdef intp shape[MAXDIMS]
    cdef ndarray index = contiguous(as_array_code(indices, code_of(INTP))), result
    if index.ndim != 1:
        raise ValueError(f"object {'too deep' if index.ndim else 'of too small depth'} for desired array")
    cdef int k = one_axis(a, axis, "reduceat")
    for i in index.tolist():
        if not 0 <= i < a.shape[k]:
            raise IndexError(f"index {i} out-of-bounds in {u.name}.reduceat [0, {a.shape[k]})")
    cdef Plan* p = reduction_plan(u, a.code, dtype, "reduceat", out)
    a = cast(a, p.codes[1])
    memcpy(shape, a.shape, a.ndim * sizeof(intp))
    shape[k] = index.shape[0]
    result = new_array(p.codes[2], a.ndim, shape)
    along_axis(reduceat_kernel(p.kernel, p.codes[0]), a, index, result, k)
    return give_slices(result, out)

# ---- the class -------------------------------------------------------------------------------------------------

cdef object serve(ufunc u, Request r):
    """The results."""
    try:
        if r.out is not None and any([isinstance(o, np.ndarray) for o in r.out]):
            return fill_numpy(u, r.out, *r.inputs, **wishes(r))
        if r.axes is not None or r.axis is not None or r.keepdims is not NO_VALUE:
            return u.call_with_axes(r.inputs, r.out, r.axes, r.axis, r.keepdims, r.dtype, r.casting, r.signature)
        if r.casting == "no":
            for x in r.inputs:          # in another byte order, which would be converted
                native(x.dtype if isinstance(x, np.ndarray) else None)
        result = call(u, r.inputs, r.out, r.where, r.dtype, r.casting, r.signature)
    except NotHeld as error:
        return numpys_answer(u.numpy, r.inputs, wishes(r) if r.out is None else {"out": r.out, **wishes(r)}, error)
    return result if r.order == "K" or r.order is None or r.out is not None else in_memory_order(result, r.order)

cdef class ufunc:
    """A universal function over dflow arrays. Made by wrapping NumPy's object, whose loops it runs."""

    def __init__(self, numpy_ufunc):
        self.vectorcall = <vectorcallfunc>call_by_vector
        self.numpy = numpy_ufunc
        self.nin = numpy_ufunc.nin
        self.nout = numpy_ufunc.nout
        self.name = numpy_ufunc.__name__
        self.core = parse_signature(numpy_ufunc.signature)
        self.cost = COSTS.get(self.name, COPYING if hasattr(np, self.name) else 20)
        self.reorderable = numpy_ufunc.identity is not None or self.name in REORDERABLE
        self.plans, self.others = {}, {}

    cdef Plan* plan(self, tuple kinds) except NULL:
        cdef Plan* p
        address = self.plans.get(kinds)
        p = make_plan(self.numpy, self.failure, kinds, None, "same_kind") if address is None else <Plan*><size_t>address
        self.plans[kinds] = <size_t>p
        if self.nin == 2:
            self.binary[<int>kinds[0] * NKINDS + <int>kinds[1]] = p
        elif self.nin == 1 and self.nout == 1 and self.core is None and <int>kinds[0] < NCODES:
            self.unary[<int>kinds[0]] = p
        return p

    def __call__(self, *inputs, out=NO_VALUE, where=True, dtype=None, casting="same_kind", order="K", subok=True,
                 signature=None, sig=None, axes=None, axis=None, keepdims=NO_VALUE, **unknown):
        """Results are new arrays, or those of `out`, by place or by name.

        1. Small and ready arrays, and numbers beside them, without options: at once.
        2. Arguments that contradict each other are refused; other libraries' objects are asked.
        3. What is left is put into a form of its own, a Request, and served.
        """
        cdef Request r
        cdef bint bare = out is NO_VALUE
        if bare:
            out = None
        if sig is not None:
            if signature is not None:
                raise TypeError("cannot specify both 'sig' and 'signature'")
            signature = sig
        if (where is True and dtype is None and casting == "same_kind" and order == "K" and signature is None
                and axes is None and axis is None and keepdims is NO_VALUE and not unknown and len(inputs) == self.nin):
            if not overridden(inputs, None, True):
                inputs = with_arrays(PySequence_Fast_ITEMS(inputs), self.nin, self.cost, True) or inputs
            quick = quick_call(self, PySequence_Fast_ITEMS(inputs), out)
            if quick is not None:
                return quick
        r = Request.__new__(Request)
        r.ufunc, r.nin, r.nout = self.numpy, self.nin, self.nout
        r.inputs, r.out, r.where, r.dtype, r.casting, r.order = inputs, out, where, dtype, casting, order
        r.signature, r.axes, r.axis, r.keepdims = signature, axes, axis, keepdims
        check_request(r, bare, unknown)
        if overridden(inputs, out, where):
            if out is None and not bare:                # a wish: of where= without it NumPy warns
                out = (None,) * self.nout
            if isinstance(where, ndarray):              # else ours would be asked, too, who is not told of it
                where = np.asarray(where)
            return override(self.numpy, inputs, CALL,
                            [out, where, dtype, casting, order, subok, signature, axes, axis, keepdims])
        if out is Ellipsis:
            return no_scalars(self(*inputs, where=where, dtype=dtype, casting=casting, order=order, signature=signature,
                                   axes=axes, axis=axis, keepdims=keepdims, out=(None,) * self.nout))
        find_outputs(r, bare)
        return serve(self, r)

    def call_with_axes(self, inputs, out, axes, axis, keepdims, dtype, casting, signature):
        """Bring the core axes to the end, call, bring those of the results where they were asked for."""
        cdef dict given = {name: x for name, x in (("axes", axes), ("axis", axis)) if x is not None}
        given |= {} if keepdims is NO_VALUE else {"keepdims": keepdims}
        if self.core is None:
            raise TypeError(f"{self.name}() got an unexpected keyword argument '{next(iter(given))}'")
        cdef list arrays = [as_array(x) for x in inputs], outs = list(out or (None,) * self.nout)
        if not any([name.isdigit() for name in self.core[2]]):
            self.numpy(*[np.zeros((1,) * x.ndim, x.dtype) for x in arrays], **given)        # its errors
        keepdims = bool(given.get("keepdims"))
        if out is None and dtype is None and signature is None and casting == "same_kind":
            made = at_once(self.numpy, tuple(arrays), given)
            if made is not LATER:
                return made
        places = self.core_axes(arrays, axes, axis, keepdims)
        moved = [to_end(x, place, False) for x, place in zip(arrays, places)]
        targets = tuple([None if x is None else to_end(x, place, keepdims)
                         for x, place in zip(outs, places[self.nin:])])
        made = call(self, tuple(moved), out and targets, True, dtype, casting, signature)
        for i, result in enumerate(made if isinstance(made, tuple) else (made,)):
            place = places[self.nin + i]
            if outs[i] is None:
                outs[i] = (hooks.expand_dims(result, place) if keepdims
                           else hooks.moveaxis(result, last_axes(place), place))
        return outs[0] if self.nout == 1 else tuple(outs)

    def core_axes(self, list arrays, axes, axis, keepdims):
        """For each operand a tuple of axes: what its core dimensions are, or are to become. The arguments are valid."""
        cdef set missing = set()
        cdef list groups = [core_names(self.core, i, x, missing) for i, x in enumerate(arrays)], places = []
        for names in groups + [groups[0] if keepdims else [name for name in names if name not in missing]
                               for names in self.core[1]]:
            if axes is not None and len(places) < len(axes):
                place = axes[len(places)]
                places.append(place if isinstance(place, tuple) else (place,))
            else:
                places.append(last_axes(names) if axis is None else (axis,) * len(names))
        return places

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False, initial=NO_VALUE, where=True):
        """The elements along an axis (several: a tuple; all: None) brought together; ValueError for none of them."""
        if records(array, None):
            given = (array, axis, dtype, None, keepdims, initial, where)
            return give_reduced(self.name, record((self.numpy, "reduce"), given, self.reduce, given, {}),
                                only_output(out))
        if is_ours(array) and dtype is None and initial is NO_VALUE and where is True and (
                out is None or is_ours(out)):
            quick = quick_reduction(self, <ndarray>array, axis, out, keepdims)
            if quick is not None:
                return quick
        if (not is_ours(array) or out is not None or where is not True) and overridden((array,), out, where):
            return override(self.numpy.reduce, (array,), REDUCE, [axis, dtype, out, keepdims, initial, where])
        if out is Ellipsis:
            return no_scalars(self.reduce(array, axis, dtype, None, keepdims, initial, where))
        out = only_output(out)
        try:
            if isinstance(out, np.ndarray):
                return fill_numpy(self.reduce, out, array, axis, dtype, keepdims=keepdims, initial=initial, where=where)
            return reduce(self, to_read(array), axis, dtype, out, keepdims, initial, where)
        except NotHeld as error:
            return numpys_answer(self.numpy.reduce, (array, axis, dtype, out, keepdims, initial, where), {}, error)

    def accumulate(self, array, axis=0, dtype=None, out=None):
        """What reduce() would give up to each element along an axis."""
        if records(array, None):
            result = record((self.numpy, "accumulate"), (array, axis, dtype), self.accumulate, (array, axis, dtype), {})
            return give(result, only_output(out), "provided out is the wrong size for the accumulation.")
        if (is_ours(array) and (<ndarray>array).ndim == 1 and type(axis) is int and -1 <= axis <= 0
                and dtype is None and (out is None or is_ours(out) and same_shape(<ndarray>out, <ndarray>array)
                                       and (<ndarray>out).code == (<ndarray>array).code)):
            quick = quick_accumulate(reduction_of(self, (<ndarray>array).code, "accumulate", out), <ndarray>array)
            if quick is not None:
                return give(quick, out, "")
        if overridden((array,), out, True):
            return override(self.numpy.accumulate, (array,), REDUCE, [axis, dtype, out])
        out = only_output(out)
        try:
            if isinstance(out, np.ndarray):
                return fill_numpy(self.accumulate, out, array, axis, dtype)
            return accumulate(self, as_array(array), axis, dtype, out)
        except NotHeld as error:
            return numpys_answer(self.numpy.accumulate, (array, axis, dtype, out), {}, error)

    def reduceat(self, array, indices, axis=0, dtype=None, out=None):
        """reduce() of the slices from each index to the next, or of one element where that is not larger.
        Waits for indices."""
        if records(array, None):
            given = (array, indices, axis, dtype)
            return give_slices(record((self.numpy, "reduceat"), given, self.reduceat, given, {}), only_output(out))
        if out is None and is_ours(array) and self.numpy not in UNFOLDED:
            quick = at_once(self.numpy.reduceat, (array, indices, axis, dtype), final=True)
            if quick is not LATER:
                return quick
        if overridden((array, indices), out, True):
            return override(self.numpy.reduceat, (array, indices), REDUCE, [axis, dtype, out])
        out = only_output(out)
        try:
            if isinstance(out, np.ndarray):
                return fill_numpy(self.reduceat, out, array, indices, axis, dtype)
            return reduce_slices(self, as_array(array), indices, axis, dtype, out)
        except NotHeld as error:
            return numpys_answer(self.numpy.reduceat, (array, indices, axis, dtype, out), {}, error)

    def outer(self, a, b, **keywords):
        """Each element of a with each of b: of shape a.shape + b.shape."""
        cdef ndarray x, y
        cdef int n
        if self.core is not None:
            raise TypeError("method outer is not allowed in ufunc with non-trivial signature")
        if overridden((a, b), keywords.get("out"), keywords.get("where")):
            return override(self.numpy.outer, (a, b), dict.fromkeys(keywords), list(keywords.values()))
        if self.nin != 2:
            raise ValueError("outer product only supported for binary functions")
        try:
            x = as_array(a)
            y = as_array(b)
        except NotHeld as error:
            return numpys_answer(self.numpy.outer, (a, b), keywords, error)
        n = x.ndim + y.ndim
        if n > MAXDIMS:
            raise ValueError(f"maximum supported dimension for an ndarray is {MAXDIMS}, but `{self.__name__}.outer()` "
                             f"result would have {n}.")
        return self(with_ones(x, list(range(x.ndim, n)), n), y, **keywords)

    def at(self, a, indices, b=None):
        """Apply to a at the indices, in place and unbuffered: repeated indices count each time. Waits for indices."""
        cdef ndarray target, values = None
        cdef Plan* p
        cdef Kernel* k
        cdef int code
        if self.core is not None:
            raise TypeError(f"{self.name}.at does not support ufunc with non-trivial signature: {self.name} has "
                            f"signature {self.numpy.signature}.")
        if overridden((a, b), None, True):
            return self.numpy.at(a, indices, *(() if b is None else (b,)))
        if self.nout != 1:
            raise ValueError("Only single output ufuncs supported at this time")
        if isinstance(a, np.ndarray):
            return self.at_with_casts(a, indices, b)
        if not isinstance(a, ndarray):
            raise TypeError("first operand must be array")
        target = a
        if target.flags & SCALAR:
            raise TypeError("first operand must be array")
        if records(a, b):
            raise NotImplementedError(f"{self.name}.at() is not recorded")
        check_writable(target)
        if (b is not None) != (self.nin == 2):
            raise ValueError("second operand needed for ufunc" if b is None
                             else "second operand provided when ufunc is unary")
        code = code_at(target, b) if self.nin == 2 else -1
        if code >= 0:
            p = self.plan((target.code, code))
            if p.codes[0] == p.codes[1] == p.codes[2] == target.code and run_at(
                    at_kernel(p.kernel, 2, target.code), target, indices, as_array_code(b, target.code)):
                return
        most = SMALL if isinstance(indices, tuple) else 4 * SMALL       # which takes NumPy ten times as long
        if at_once(self.numpy.at, (a, indices) if b is None else (a, indices, b), None, most, True) is not LATER:
            return
        if b is None:
            p = self.plan((target.code,))
        elif type(b) is int and not -1 << 63 <= b < 1 << 64:
            return self.at_with_casts(target, indices, b)       # by NumPy's loop over objects
        else:
            values = as_array(b)
            p = self.plan((target.code, kind_of(b) if type(b) in (int, float) and as_weak(self.name, target, b)
                           else values.code))
        if p.codes[0] != target.code or p.codes[self.nin] != target.code:       # a cast at each step: NumPy does it
            return self.at_with_casts(target, indices, b if type(b) in (int, float, complex) else values)
        k = at_kernel(p.kernel, self.nin, target.code)
        launch_at(k, target, hooks.places(target, indices), values, p.codes[1])

    def at_bytes(self, ndarray target, ndarray offsets, ndarray values):
        """at() of a fresh array, of one type with the values, at so many bytes from its first element;
        waits for nothing."""
        cdef Plan* p = self.plan((target.code, values.code))
        launch_at(at_kernel(p.kernel, 2, target.code), target, (offsets, 0, 1, 0), values, p.codes[1])

    def at_with_casts(self, target, indices, b):
        """at() where the loop has other types than the target, or that is an array of NumPy's. Waits for everything."""
        items = indices if isinstance(indices, tuple) else (indices,)
        items = tuple([x.asnumpy() if isinstance(x, ndarray) else x for x in items])
        b = () if b is None else (b.asnumpy() if isinstance(b, ndarray) else b,)
        self.numpy.at(open_window(target) if isinstance(target, ndarray) else target, items, *b)

    @property
    def nargs(self):
        return self.nin + self.nout

    @property
    def __name__(self):
        return self.name

    @property
    def __doc__(self):
        return of_ufunc(self.numpy)

    def __getattr__(self, name):
        return getattr(self.numpy, name)    # identity, types, ntypes, signature, resolve_dtypes

    def __repr__(self):
        return f"<ufunc {self.name!r}>"

    def __reduce__(self):
        return wrap_ufunc, (self.numpy,)

    def __eq__(self, other):                # a table by ufuncs has NumPy's, or ours: see __array_ufunc__
        return True if self is other else self.numpy is other or NotImplemented

    def __hash__(self):
        return hash(self.numpy)

cdef int code_at(ndarray target, object b):
    """The type of what is applied to few elements: the target's, or that which NumPy gives a number here, where none is
    weak; -1 for others."""
    if is_ours(b):
        return target.code if (<ndarray>b).code == target.code else -1
    if target.code != LONG and target.code != DOUBLE:
        return -1
    return DOUBLE if type(b) is float else LONG if type(b) is int and 0 <= b < 128 else -1

cdef void set_up() noexcept:
    cdef ufunc first = ufunc.__new__(ufunc)
    called_by_vector(ufunc, <char*>&first.vectorcall - <char*><PyObject*>first, False)

set_up()

def wrap_ufunc(numpy_ufunc):
    """dflow's ufunc for NumPy's, or any other library's."""
    return wrap(numpy_ufunc)
