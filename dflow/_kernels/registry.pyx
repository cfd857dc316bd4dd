"""NumPy's inner loops looked up and kept as kernels; loops of ours that wrap one; casts."""

import numpy as np
cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromString
from cpython.object cimport PyObject
from libc.string cimport memcpy, memset
from libc.stdint cimport uint64_t
from dflow._kernels.kernel cimport (
    BLAS, COPIES, DATA_BYTES, DATA_FOLD, DATA_OPAQUE, DATA_PRODUCT, ELEMENTWISE, INVALID_FAILS, MAY_RAISE, PARTIAL,
    PRODUCT, REDUCES, REPORTS_FP, ROWS)
from dflow._base.threads cimport sleep_ns
from dflow._kernels.dtypes cimport (
    BOOL, CDOUBLE, CFLOAT, CLONGDOUBLE, DOUBLE, FLOAT, HALF, LONG, LONGDOUBLE, Scalar, code_of_num, is_complex,
    is_integer, itemsizes, write_number)
from dflow._kernels.matmul cimport (
    Product, find_numpy_blas, guard_blas, product_loop, product_piece, product_pieces)
from dflow._base.allocator cimport memory_zeros
from dflow._kernels.reduce cimport Fold, total_t, reduce_loop, reduce_initial_loop
from dflow._kernels.trig cimport use_sincos

cnp.import_array()
cnp.import_umath()

from numpy._core._exceptions import _UFuncInputCastingError

cdef extern from "_kernels/c/sum.h" nogil:
    void total_float(void*, const void*, intp, int)
    void total_double(void*, const void*, intp, int)

cdef extern from "_kernels/c/casts.h":
    ctypedef void (*cast_loop)(char**, intp*, intp*, void*) noexcept nogil
    cast_loop cast_loops[18][18]
    void copy_loop(char**, intp*, intp*, void*) noexcept nogil

cdef extern from "Python.h":
    void PyErr_SetObject(object, object)

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct UfuncObject "PyUFuncObject":        # fields, not the attributes that NumPy's .pxd may make of them
        int nin
        int nout
        int ntypes
        void** functions
        void** data
        char* name
        char* types

# ---- kernels ---------------------------------------------------------------------------------------------------

cdef dict names = {}                    # keeps kernel names alive
cdef dict known = {}                    # key: address of a kernel

cdef Kernel* kernel_new(const char* name, int nin, int nops, loop_t loop, void* data, int flags, float cost,
                        DataTag tag=DATA_OPAQUE) except NULL:
    cdef Kernel* k = <Kernel*>memory_zeros(sizeof(Kernel))
    if k == NULL:
        raise MemoryError("no memory for a kernel")
    text = names.setdefault(name, PyBytes_FromString(name))
    k.name = <const char*><char*>text
    k.loop = loop
    k.data = data
    k.tag = tag
    k.nin = nin
    k.nops = nops
    k.flags = flags
    k.cost = cost
    return k

cdef Kernel* recall(object key) except? NULL:
    return <Kernel*><size_t>known.get(key, 0)

cdef Kernel* remember(object key, Kernel* k) except NULL:
    known[key] = <size_t>k
    return k

cpdef int name_kernel(object key, size_t k) except -1:
    """The key of a kernel that was not made here, for key_of()."""
    known[key] = k
    return 0

cdef dict keys = {}                     # of kernels, by address

cdef object key_of(Kernel* k):
    """What k is: a ufunc and type codes, or a name and what else there is to know, kernels by their keys; or None."""
    cdef size_t first = <size_t>&casts[0][0]
    if first <= <size_t>k < first + sizeof(casts):
        return "cast", ((<size_t>k - first) // sizeof(Kernel) // 18, (<size_t>k - first) // sizeof(Kernel) % 18)
    if <size_t>k not in keys:
        keys.update({address: key for key, address in known.items()})
    key = keys.get(<size_t>k)
    if key is not None and key[0] in ("reduce", "masked", "accumulate", "at"):
        of = key_of(<Kernel*><size_t>key[1])
        return None if of is None else (key[0], of, *key[2:])
    return key

# Nanoseconds for one element of eight bytes, when all is in the first-level cache (measured on a Zen 4); what is not
# listed costs about as much as an addition. Only the order of magnitude counts.
COSTS = {name: cost for cost, group in (
    (0.04, "matmul vecdot matvec vecmat"),                 # for one multiplication
    (0.3, "divide true_divide"),
    (0.5, "sign copysign heaviside"),
    (1, "exp exp2 expm1 log log2 log10 log1p sqrt cbrt tan tanh sinh cosh arctan arctanh reciprocal"),
    (2, "power float_power arctan2 arcsin arccos arcsinh arccosh"),
    (4, "floor_divide remainder fmod divmod hypot gcd lcm modf frexp ldexp nextafter"),
    (8, "sin cos logaddexp logaddexp2"),
    # CUBIC: for one multiplication.
    (0.07, "det slogdet solve1 cholesky_lo cholesky_up"),
    (0.2, "inv solve qr_reduced qr_complete qr_r"),
    (1.5, "eigh_lo eigh_up eigvalsh_lo eigvalsh_up"),
    (3, "svd svd_f svd_s svd_m svd_n svd_m_f svd_n_f svd_m_s svd_n_s lstsq eig eigvals"),
) for name in group.split()}

cdef float cost_of(str name, bint in_numpy, tuple codes):
    """Nanoseconds for one element. in_numpy: of a ufunc of NumPy's namespace; others are LAPACK's, or SciPy's."""
    cdef int widest = max([itemsizes[<int>code] for code in codes])
    cost = COSTS.get(name, 0.16 if in_numpy else 20)
    if any([code == LONGDOUBLE or code == CLONGDOUBLE or code == HALF for code in codes]):
        return cost * 4 + 1
    if is_complex(codes[0]):
        return cost * (widest // 4 if name in COSTS else 2)
    return cost * widest / 8

SILENT = frozenset("""equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
    logical_not bitwise_and bitwise_or bitwise_xor invert isnan isinf isfinite signbit copysign sign absolute fabs
    negative positive conjugate maximum minimum fmax fmin""".split())
INTEGERS_TOO = frozenset("floor_divide remainder fmod divmod divide power".split())    # report flags for integers

FORGETFUL = np.isnan, np.isinf, np.isfinite, np.signbit, np.negative    # their AVX-512 loops err for results with gaps
UNFOLDED = np.power, np.arctan2     # and these take a result that stays for one that moves: their reduce() is wrong

KINDS_ABOVE = {int: "iufc", float: "fc", complex: "c"}      # which a Python number is cast to

COMPARISONS = frozenset("less less_equal equal not_equal greater greater_equal".split())

cdef object loop_types(object u, int nin, tuple arguments, object casting, dict keywords):
    """resolve_dtypes(), which in NumPy 2.4 kills the process where a cast is not "equiv" beside a Python number.

    Logical functions take any type, and comparisons of integers any Python integer, without a cast.
    """
    if casting != "equiv" or u.__name__.startswith("logical_"):
        return u.resolve_dtypes(arguments, casting=casting, **keywords)
    resolved = u.resolve_dtypes(arguments, casting="unsafe", **keywords)
    pairs = list(zip(arguments[:nin], resolved))
    if u.__name__ in COMPARISONS and resolved[0].kind in "iu":
        pairs = [(wanted if given is int else given, wanted) for given, wanted in pairs]
    for given, wanted in pairs:
        if isinstance(given, type) and np.dtype(given) != wanted and wanted.kind in KINDS_ABOVE[given]:
            raise TypeError(f"cannot cast Python {given.__name__} to {wanted} under the casting rule 'equiv'")
    for i, (given, wanted) in enumerate(pairs):
        if not np.can_cast(given, wanted, casting):
            raise _UFuncInputCastingError(u, casting, np.dtype(given), wanted, i)
    return resolved

cdef int loop_number(UfuncObject* u, tuple codes) except -2:
    """Which loop is for exactly these type codes; -1: none."""
    cdef int i, j, nargs = u.nin + u.nout
    for i in range(u.ntypes):
        for j in range(nargs):
            if code_of_num(u.types[i * nargs + j]) != <int>codes[j]:
                break
        else:
            return i
    return -1

cdef int flags_of(object ufunc, tuple codes, bint in_numpy) except -1:
    cdef int flags = 0
    name = ufunc.__name__
    inexact = any([not is_integer(code) for code in codes])
    if not in_numpy or name in INTEGERS_TOO or (inexact and name not in SILENT):
        flags |= REPORTS_FP
    if not in_numpy or (name == "power" and not inexact):       # LAPACK's loops find no memory for their work
        flags |= MAY_RAISE
    if ufunc.signature is None and not flags & MAY_RAISE:
        flags |= ELEMENTWISE
    elif ufunc.signature is not None:
        flags |= ROWS
    return flags

cdef Kernel* ufunc_kernel(object ufunc, tuple codes) except? NULL:
    """The loop of a ufunc or gufunc for exactly these type codes, inputs then outputs; NULL when it has none."""
    cdef UfuncObject* u = <UfuncObject*><PyObject*>ufunc
    cdef int i
    cdef bint in_numpy
    key = (ufunc, codes)
    cdef Kernel* k = recall(key)
    if k != NULL:
        return k
    i = loop_number(u, codes)
    if i < 0:
        return NULL
    in_numpy = getattr(np, ufunc.__name__, None) is ufunc
    k = kernel_new(u.name, u.nin, u.nin + u.nout, <loop_t>(<void**>u.functions)[i], (<void**>u.data)[i],
                   flags_of(ufunc, codes, in_numpy), cost_of(ufunc.__name__, in_numpy, codes))
    choose_loop(k, ufunc, codes)
    return remember(key, k)

cdef int choose_loop(Kernel* k, object ufunc, tuple codes) except -1:
    """Put a loop of ours around NumPy's, or in its place, where that is faster, or NumPy's errs."""
    cdef int itemsize = itemsizes[<int>codes[0]]
    if ufunc is np.matmul and FLOAT <= <int>codes[0] <= CDOUBLE and codes[0] != LONGDOUBLE:
        use_blas(k, codes[0])
    guard_blas(k, ufunc, itemsize)
    if (ufunc is np.sin or ufunc is np.cos) and codes[0] == DOUBLE:
        use_sincos(k)
    if ufunc in FORGETFUL and not is_complex(codes[0]) and (itemsize == 4 or itemsize == 8):
        k.data = wrap(k, itemsizes[<int>codes[1]])
        k.loop = side_by_side_loop
    if ufunc in UNFOLDED and (codes[0] == FLOAT or codes[0] == DOUBLE):
        k.data = wrap(k, 1)
        k.loop = one_by_one_loop
    return 0

cdef int use_blas(Kernel* k, int code) except -1:
    cdef Product* w = <Product*>memory_zeros(sizeof(Product))
    if w == NULL:
        raise MemoryError("no memory for a kernel")
    find_numpy_blas()
    w.loop = k.loop
    w.data = k.data
    w.code = {FLOAT: 0, DOUBLE: 1, CFLOAT: 2, CDOUBLE: 3}[code]
    w.itemsize = itemsizes[code]
    k.loop, k.data, k.tag = product_loop, w, DATA_PRODUCT
    k.flags |= PRODUCT | MAY_RAISE
    k.resources |= BLAS
    k.pieces = product_pieces
    k.piece = product_piece
    return 0

cdef Kernel* failing_kernel(Kernel* k, bytes failure) except NULL:
    """k, but an invalid result is a LinAlgError: so NumPy's linalg loops tell of a singular matrix."""
    key = ("failing", <size_t>k, failure)
    cdef Kernel* f = recall(key)
    if f == NULL:
        f = kernel_new(k.name, k.nin, k.nops, k.loop, k.data, INVALID_FAILS | ROWS | k.flags & MAY_RAISE, k.cost, k.tag)
        f.resources, f.cost_model, f.failure = k.resources, k.cost_model, failure
        remember(key, f)
    return f

cdef Kernel casts[18][18]

cdef void nonzero_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """A cast to bool: NumPy's not_equal, which has vector code, to nothing but zeros."""
    cdef Kernel* k = <Kernel*>data
    cdef Scalar zero
    cdef char* inner[3]
    cdef intp inner_steps[3]
    memset(&zero, 0, sizeof(zero))
    inner[0] = args[0]
    inner[1] = <char*>&zero
    inner[2] = args[1]
    inner_steps[0] = steps[0]
    inner_steps[1] = 0
    inner_steps[2] = steps[1]
    k.loop(inner, dims, inner_steps, k.data)

def _fill_casts():
    cdef int i, j
    cdef Kernel* k
    for i in range(18):
        for j in range(18):
            k = &casts[i][j]
            k.name = b"cast" if i != j else b"copy"
            k.nin = 1
            k.nops = 2
            k.loop = <loop_t>copy_loop if i == j else <loop_t>cast_loops[i][j]
            k.data, k.tag = <void*><size_t>itemsizes[i], DATA_BYTES
            k.cost = 3 if (i == HALF) != (j == HALF) else 0.02 * max(itemsizes[i], itemsizes[j])
            k.flags = ELEMENTWISE if i != j else ELEMENTWISE | COPIES
            if j == BOOL != i:
                k.loop, k.data, k.tag = nonzero_loop, ufunc_kernel(np.not_equal, (i, i, BOOL)), DATA_OPAQUE
            if i != j and j != BOOL and (not is_integer(i) or j == HALF):   # of the integers, halfs overflow alone
                k.flags |= REPORTS_FP

_fill_casts()

cdef Kernel* cast_kernel(int source, int target) noexcept:
    return &casts[source][target]

cdef void number_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    with gil:
        try:
            write_number(<int>(<size_t>data >> 8), args[0], <int>(<size_t>data & 255), args[1])
        except Exception as error:
            PyErr_SetObject(type(error), error)

cdef Kernel* number_kernel(int source, int target) except NULL:
    """write_number() of one element."""
    cdef Kernel* k = recall(("number", source, target))
    if k != NULL:
        return k
    k = kernel_new(b"copy", 1, 2, number_loop, <void*><size_t>(source << 8 | target), MAY_RAISE, 100)
    return remember(("number", source, target), k)

# ---- loops that wrap a loop ------------------------------------------------------------------------------------

cdef struct Wrapped:
    loop_t loop
    void* data
    int nin
    int nout
    int itemsize

cdef Wrapped* wrap(Kernel* k, int itemsize) except NULL:
    cdef Wrapped* w = <Wrapped*>memory_zeros(sizeof(Wrapped))
    if w == NULL:
        raise MemoryError("no memory for a kernel")
    w.loop = k.loop
    w.data = k.data
    w.nin = k.nin
    w.nout = k.nops - k.nin
    w.itemsize = itemsize
    return w

cdef void side_by_side_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """One input, one output: the loop gets contiguous memory for its results, whatever their step."""
    cdef Wrapped* w = <Wrapped*>data
    cdef double[64] results
    cdef char* inner[2]
    cdef char* target = args[1]
    cdef intp inner_steps[2]
    cdef intp i, count, start = 0, n = dims[0]
    if steps[1] == w.itemsize:
        w.loop(args, dims, steps, w.data)
        return
    inner_steps[0] = steps[0]
    inner_steps[1] = w.itemsize
    inner[1] = <char*>results
    while start < n:
        count = min(n - start, <intp>sizeof(results) // w.itemsize)
        inner[0] = args[0] + start * steps[0]
        w.loop(inner, &count, inner_steps, w.data)
        for i in range(count):
            memcpy(target, inner[1] + i * w.itemsize, w.itemsize)
            target += steps[1]
        start += count

cdef void one_by_one_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """Two inputs, one output: into one that stays, element after element."""
    cdef Wrapped* w = <Wrapped*>data
    cdef char* inner[3]
    cdef intp i, one = 1
    if steps[2] != 0:
        w.loop(args, dims, steps, w.data)
        return
    for i in range(dims[0]):
        inner[0] = args[0] + i * steps[0]
        inner[1] = args[1] + i * steps[1]
        inner[2] = args[2]
        w.loop(inner, &one, steps, w.data)

cdef void masked_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """Inputs, mask, outputs: call the loop for each run of True."""
    cdef Wrapped* w = <Wrapped*>data
    cdef char* inner[64]
    cdef intp inner_steps[64]
    cdef char* mask = args[w.nin]
    cdef intp step = steps[w.nin]
    cdef intp i = 0, n = dims[0], count
    cdef int j, k, nops = w.nin + w.nout
    for j in range(nops):
        inner_steps[j] = steps[j if j < w.nin else j + 1]
    while i < n:
        while i < n and not mask[i * step]:
            i += 1
        count = 0
        while i + count < n and mask[(i + count) * step]:
            count += 1
        if count:
            for j in range(nops):
                k = j if j < w.nin else j + 1
                inner[j] = args[k] + i * steps[k]
            w.loop(inner, &count, inner_steps, w.data)
            i += count

cdef Kernel* masked_kernel(Kernel* k) except NULL:
    key = ("masked", <size_t>k)
    cdef Kernel* m = recall(key)
    if m == NULL:
        m = remember(key, kernel_new(k.name, k.nin + 1, k.nops + 1, masked_loop, wrap(k, 0),
                                      k.flags & ~COPIES | PARTIAL, k.cost + 1))
    return m

cdef inline void call_binary(Wrapped* w, char* out, char* p, intp n, intp out_step, intp step) noexcept nogil:
    """out = out op p, n times."""
    cdef char* args[3]
    cdef intp steps[3]
    args[0] = args[2] = out
    args[1] = p
    steps[0] = steps[2] = out_step
    steps[1] = step
    w.loop(args, &n, steps, w.data)

cdef set IDEMPOTENT = {
    b"maximum", b"minimum", b"fmax", b"fmin", b"logical_and", b"logical_or", b"bitwise_and", b"bitwise_or"}

cdef int fill_fold(Fold* w, Kernel* k, int code, bint blocked) except -1:
    w.loop = k.loop
    w.data = k.data
    w.itemsize = itemsizes[code]
    w.blocked = blocked
    w.idempotent = <bytes>k.name in IDEMPOTENT
    w.exact = is_integer(code)
    if (code == FLOAT or code == DOUBLE) and k == ufunc_kernel(np.add, (code, code, code)):
        w.total = <total_t>total_float if code == FLOAT else <total_t>total_double
    return 0

cdef struct Recent:             # GIL
    Kernel* k
    int naxes
    bint initial
    Kernel* made

cdef Recent recent[64]

cdef Kernel* reduce_kernel(Kernel* k, int code, int naxes, bint initial, bint blocked) except NULL:
    cdef Recent* last = &recent[(<size_t>k // sizeof(Kernel) + 2 * naxes + initial) % 64]
    cdef Kernel* r
    cdef Fold* w
    if last.k == k and last.naxes == naxes and last.initial == initial:
        return last.made
    key = ("reduce", <size_t>k, naxes, initial)
    r = recall(key)
    if r == NULL:
        w = <Fold*>memory_zeros(sizeof(Fold))
        if w == NULL:
            raise MemoryError("no memory for a kernel")
        fill_fold(w, k, code, blocked)
        w.naxes = naxes
        w.initial = initial
        r = remember(key, kernel_new(b"reduce", 2 if initial else 1, 3 if initial else 2,
                                     <loop_t>reduce_initial_loop if initial else <loop_t>reduce_loop, w,
                                     k.flags & ~ELEMENTWISE | REDUCES | ROWS, k.cost, DATA_FOLD))
    last.k, last.naxes, last.initial, last.made = k, naxes, initial, r
    return r

cdef void accumulate_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """in (r), out (r)."""
    cdef Wrapped* w = <Wrapped*>data
    cdef intp i, r = dims[1], n
    cdef char* inner[3]
    cdef intp inner_steps[3]
    if r == 0:
        return
    inner_steps[0] = inner_steps[2] = steps[3]
    inner_steps[1] = steps[2]
    for i in range(dims[0]):
        inner[0] = args[1] + i * steps[1]
        inner[1] = args[0] + i * steps[0]
        memcpy(inner[0], inner[1], w.itemsize)
        inner[1] += steps[2]
        inner[2] = inner[0] + steps[3]
        n = r - 1
        if n:
            w.loop(inner, &n, inner_steps, w.data)

cdef Kernel* accumulate_kernel(Kernel* k, int code) except NULL:
    key = ("accumulate", <size_t>k)
    cdef Kernel* r = recall(key)
    if r == NULL:
        r = remember(key, kernel_new(b"accumulate", 1, 2, accumulate_loop, wrap(k, itemsizes[code]),
                                     k.flags & ~ELEMENTWISE | ROWS, k.cost + 1))
    return r

cdef void reduceat_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """in (r), indices (k), out (k). Indices are checked."""
    cdef Wrapped* w = <Wrapped*>data
    cdef intp i, j, r = dims[1], k = dims[2], start, stop
    cdef char* p
    cdef char* out
    for i in range(dims[0]):
        for j in range(k):
            start = (<intp*>(args[1] + i * steps[1] + j * steps[4]))[0]
            stop = (<intp*>(args[1] + i * steps[1] + (j + 1) * steps[4]))[0] if j + 1 < k else r
            p = args[0] + i * steps[0] + start * steps[3]
            out = args[2] + i * steps[2] + j * steps[5]
            memcpy(out, p, w.itemsize)
            if stop > start + 1:
                call_binary(w, out, p + steps[3], stop - start - 1, 0, steps[3])

cdef Kernel* reduceat_kernel(Kernel* k, int code) except NULL:
    key = ("reduceat", <size_t>k)
    cdef Kernel* r = recall(key)
    if r == NULL:
        r = remember(key, kernel_new(b"reduceat", 2, 3, reduceat_loop, wrap(k, itemsizes[code]),
                                     k.flags & ~ELEMENTWISE | ROWS, k.cost))
    return r

cdef void at_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """Byte offsets into the target, then the other operand if there is one, then the target: one element at a time."""
    cdef Wrapped* w = <Wrapped*>data
    cdef char* inner[3]
    cdef intp inner_steps[3]
    cdef intp i, one = 1
    inner_steps[0] = inner_steps[1] = inner_steps[2] = w.itemsize
    for i in range(dims[0]):
        inner[0] = args[w.nin] + (<intp*>(args[0] + i * steps[0]))[0]
        if w.nin == 2:
            inner[1] = args[1] + i * steps[1]
            inner[2] = inner[0]
        else:
            inner[1] = inner[0]
        w.loop(inner, &one, inner_steps, w.data)

ctypedef fused added:           # types that are mostly added so: of histograms, gradients
    float
    double
    uint64_t                    # it wraps

cdef void add_each(char** args, intp* dims, intp* steps, added* target) noexcept nogil:
    cdef intp i
    for i in range(dims[0]):
        (<added*>(<char*>target + (<intp*>(args[0] + i * steps[0]))[0]))[0] += (<added*>(args[1] + i * steps[1]))[0]

cdef void add_at_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """at_loop for additions, without a call for each."""
    cdef intp code = <intp>data
    if code == FLOAT:
        add_each(args, dims, steps, <float*>args[2])
    elif code == DOUBLE:
        add_each(args, dims, steps, <double*>args[2])
    else:
        add_each(args, dims, steps, <uint64_t*>args[2])

cdef Kernel* at_kernel(Kernel* k, int nin, int code) except NULL:
    key = ("at", <size_t>k)
    cdef Kernel* r = recall(key)
    if r == NULL and (code == FLOAT or code == DOUBLE or code == LONG and sizeof(long) == 8) and (
            k == ufunc_kernel(np.add, (code, code, code))):
        r = remember(key, kernel_new(k.name, nin, nin + 1, add_at_loop, <void*><intp>code, k.flags & ~ELEMENTWISE, 1))
    if r == NULL:
        r = remember(key, kernel_new(k.name, nin, nin + 1, at_loop, wrap(k, itemsizes[code]), k.flags & ~ELEMENTWISE,
                                     k.cost + 5))
    return r

# ---- a kernel that sleeps --------------------------------------------------------------------------------------

cdef void sleep_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """in, seconds (double), out: copies bytes after a sleep."""
    sleep_ns(<long long>((<double*>args[1])[0] * 1e9))
    memcpy(args[2], args[0], dims[0])

sleep_kernel = kernel_new(b"sleep", 2, 3, sleep_loop, NULL, 0, 1e9)
