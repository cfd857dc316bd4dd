"""Which loop a call of a ufunc takes, and in which types: see _functions/plans.pxd."""

from dflow._array.core cimport ndarray
from dflow._base.allocator cimport memory_zeros
from dflow._functions.fastpath cimport Plan, WEAK_COMPLEX, WEAK_FLOAT, WEAK_INT
from dflow._kernels.dtypes cimport BOOL, DOUBLE, DTYPES, NCODES, code_of, is_integer
from dflow._kernels.registry cimport failing_kernel, loop_types, ufunc_kernel

cdef bint single = False
cdef int SINGLE = code_of("f4")
cdef tuple FLOATS = tuple([code_of(name) for name in ("f2", "f4", "f8", "g")])

cdef bint is_single() noexcept:
    return single

cdef void be_single(bint on) noexcept:
    global single
    single = on

cdef int kind_of(object x) except -1:
    """Type code of an ndarray, or the weak kind of a Python scalar."""
    if isinstance(x, ndarray):
        return (<ndarray>x).code
    if isinstance(x, bool):
        return BOOL
    return WEAK_INT if isinstance(x, int) else WEAK_FLOAT if isinstance(x, float) else WEAK_COMPLEX

cdef object kind_type(int kind):
    """What resolve_dtypes takes for a kind."""
    return DTYPES[kind] if kind < NCODES else int if kind == WEAK_INT else float if kind == WEAK_FLOAT else complex

cdef Plan* make_plan(object u, object failure, tuple kinds, object signature, object casting) except NULL:
    """Ask NumPy for the types of the loop, and find it."""
    cdef Plan* p
    cdef int i, nin = u.nin
    cdef list codes = []
    arguments = tuple([kind_type(kind) for kind in kinds]) + (None,) * u.nout
    keywords = {} if signature is None else {"signature": signature}
    for dtype in loop_types(u, nin, arguments, casting, keywords):
        codes.append(code_of(dtype))
    if single and signature is None:
        codes = mxnets_codes(u, kinds, codes)
    p = <Plan*>memory_zeros(sizeof(Plan))
    if p == NULL:
        raise MemoryError("no memory for a ufunc")
    p.kernel = ufunc_kernel(u, tuple(codes))
    if p.kernel == NULL:
        raise TypeError(f"ufunc {u.__name__!r} has no loop for {', '.join(str(d) for d in arguments if d is not None)}")
    if failure is not None:
        p.kernel = failing_kernel(p.kernel, failure)
    p.nargs = nin + u.nout
    p.direct = True
    for i in range(p.nargs):
        p.codes[i] = codes[i]
        if i < nin:
            if kinds[i] < NCODES and kinds[i] != p.codes[i] or kinds[i] == WEAK_INT and p.codes[i] == BOOL:
                p.direct = False
    return p

cdef list mxnets_codes(object u, tuple kinds, list codes):
    """The types of MXNet's loop, if there is one, else these.

    Beside floating point arrays, whole numbers do not widen the result; of these alone it is float32, not float64.
    """
    cdef list floats = [FLOATS.index(kind) for kind in kinds if kind in FLOATS], found
    if floats:
        usual, wanted = FLOATS[max(floats) + 1:], FLOATS[max(floats)]
    else:
        usual, wanted = (DOUBLE,), SINGLE
        if not all([kind == WEAK_INT or kind < NCODES and is_integer(kind) for kind in kinds]):
            return codes
    if not all([code in usual for code in codes[u.nin:]]):
        return codes
    found = [wanted if code in usual else code for code in codes]
    return found if ufunc_kernel(u, tuple(found)) != NULL else codes
