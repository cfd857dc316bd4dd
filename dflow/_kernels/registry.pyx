"""Kernels by their keys; NumPy's inner loops looked up, and where one of ours does better, that."""

import numpy as np
cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromString
from cpython.object cimport PyObject
from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport (
    DATA_OPAQUE, ELEMENTWISE, HAS_EFFECTS, INVALID_FAILS, MAY_RAISE, REPORTS_FP, ROWS, rows_t, VALUES_FAIL)
from dflow._base.threads cimport sleep_ns
from dflow._kernels.dtypes cimport (
    BOOL, CDOUBLE, CLONGDOUBLE, DOUBLE, FLOAT, HALF, LONGDOUBLE, code_of_num, is_complex, is_integer, itemsizes)
from dflow._kernels.matmul cimport guard_blas, use_tiles
from dflow._kernels.native cimport ADD, DIVIDE, note_operation
from dflow._base.allocator cimport memory_zeros
from dflow._kernels.trig cimport use_sincos

cnp.import_array()
cnp.import_umath()

from numpy._core._exceptions import _UFuncInputCastingError
from numpy._core._multiarray_umath import __cpu_features__

cdef extern from "_kernels/c/rows.h" nogil:
    rows_t row_loops[4][2]              # of addition, subtraction, multiplication, division; of float32, float64

cdef extern from "_kernels/c/copy.h" nogil:
    void move_items(char* to, intp to_step, const char* source, intp from_step, intp n, int itemsize)

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
    if <size_t>k not in keys:
        keys.update({address: key for key, address in known.items()})
    key = keys.get(<size_t>k)
    if key is not None and key[0] in ("reduce", "masked", "accumulate", "at"):
        of = key_of(<Kernel*><size_t>key[1])
        return None if of is None else (key[0], of, *key[2:])
    return key

# ---- NumPy's loops ---------------------------------------------------------------------------------------------

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

# Of half precision NumPy has vectors for these where there is AVX-512: no dearer than an element of eight bytes.
HALVES_IN_VECTORS = frozenset("""sin cos tan exp exp2 expm1 log log2 log10 log1p cbrt arcsin arccos arctan sinh cosh
    arcsinh arccosh arctanh""".split() if __cpu_features__.get("AVX512_SKX") else ())

cdef float cost_of(str name, bint in_numpy, tuple codes):
    """Nanoseconds for one element. in_numpy: of a ufunc of NumPy's namespace; others are LAPACK's, or SciPy's."""
    cdef int widest = max([itemsizes[<int>code] for code in codes])
    cost = COSTS.get(name, 0.16 if in_numpy else 20)
    if codes[0] == HALF and name in HALVES_IN_VECTORS:
        return 1
    if any([code == LONGDOUBLE or code == CLONGDOUBLE or code == HALF for code in codes]):
        return cost * 4 + 1
    if is_complex(codes[0]):
        return cost * (widest // 4 if name in COSTS else 2)
    return cost * widest / 8

SILENT = frozenset("""equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
    logical_not bitwise_and bitwise_or bitwise_xor invert isnan isinf isfinite signbit copysign sign absolute fabs
    negative positive conjugate maximum minimum fmax fmin clip""".split())
INTEGERS_TOO = frozenset("floor_divide remainder fmod divmod divide power reciprocal".split())     # flags of integers,
ORDERS = frozenset("less less_equal greater greater_equal".split())     # and these for complex numbers

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
    if not in_numpy or name in INTEGERS_TOO or inexact and name not in SILENT or (
            name in ORDERS and is_complex(codes[0])):
        flags |= REPORTS_FP
    if not in_numpy:                    # LAPACK's loops find no memory for their work
        flags |= MAY_RAISE
    if name == "power" and not inexact:
        flags |= MAY_RAISE | VALUES_FAIL
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
    if i < 0 or u.functions == NULL:
        return NULL
    in_numpy = getattr(np._core.umath, ufunc.__name__, None) is ufunc      # where clip is the ufunc
    k = kernel_new(u.name, u.nin, u.nin + u.nout, <loop_t>(<void**>u.functions)[i],
                   NULL if u.data == NULL else (<void**>u.data)[i],
                   flags_of(ufunc, codes, in_numpy), cost_of(ufunc.__name__, in_numpy, codes))
    if in_numpy:
        note_operation(k, ufunc, codes)
    choose_loop(k, ufunc, codes)
    return remember(key, k)

cdef int choose_loop(Kernel* k, object ufunc, tuple codes) except -1:
    """Put a loop of ours around NumPy's, or in its place, where that is faster, or NumPy's errs."""
    cdef int itemsize = itemsizes[<int>codes[0]]
    if ufunc is np.matmul and FLOAT <= <int>codes[0] <= CDOUBLE and codes[0] != LONGDOUBLE:
        use_tiles(k, codes[0])
    guard_blas(k, ufunc, codes[0])
    if (ufunc is np.sin or ufunc is np.cos) and codes[0] == DOUBLE:
        use_sincos(k)
    if ufunc in FORGETFUL and not is_complex(codes[0]) and (itemsize == 4 or itemsize == 8):
        k.data = wrap(k, itemsizes[<int>codes[1]])
        k.loop = side_by_side_loop
    if ufunc in OF_BOOLS and codes == (BOOL, BOOL, BOOL):
        k.data = wrap(k, OF_BOOLS[ufunc])
        k.loop = bools_loop
    if ufunc in UNFOLDED and (codes[0] == FLOAT or codes[0] == DOUBLE):
        k.data = wrap(k, 1)
        k.loop = one_by_one_loop
    if ADD <= k.operation <= DIVIDE and (codes[0] == FLOAT or codes[0] == DOUBLE):
        k.rows = row_loops[k.operation - <int>ADD][codes[0] == DOUBLE]
    return 0

cdef Kernel* failing_kernel(Kernel* k, bytes failure) except NULL:
    """k, but an invalid result is a LinAlgError: so NumPy's linalg loops tell of a singular matrix."""
    key = ("failing", <size_t>k, failure)
    cdef Kernel* f = recall(key)
    if f == NULL:
        f = kernel_new(k.name, k.nin, k.nops, k.loop, k.data, INVALID_FAILS | VALUES_FAIL | ROWS | k.flags & MAY_RAISE,
                       k.cost, k.tag)
        f.resources, f.cost_model, f.failure = k.resources, k.cost_model, failure
        remember(key, f)
    return f

# ---- loops around NumPy's: see choose_loop() -------------------------------------------------------------------

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

# What decides of bools, whatever is beside it.
cdef dict OF_BOOLS = {np.logical_and: 0, np.bitwise_and: 0, np.multiply: 0, np.minimum: 0,
                      np.logical_or: 1, np.bitwise_or: 1, np.add: 1, np.maximum: 1}

cdef void bools_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """One number beside many, in rows of outer products: NumPy's loop, or its buffers, go through them one by one."""
    cdef Wrapped* w = <Wrapped*>data
    cdef char* inner[3]
    cdef intp inner_steps[3]
    cdef int number = 0 if steps[0] == 0 else 1
    if dims[0] < 16 or steps[number] != 0 or steps[1 - number] != 1 or steps[2] != 1:
        w.loop(args, dims, steps, w.data)
    elif (args[number][0] != 0) == w.itemsize:
        memset(args[2], <int>w.itemsize, dims[0])
    else:
        inner[0] = inner[1] = args[1 - number]
        inner[2] = args[2]
        inner_steps[0] = inner_steps[1] = inner_steps[2] = 1
        w.loop(inner, dims, inner_steps, w.data)

cdef void side_by_side_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """One input, one output: the loop gets contiguous memory for its results, whatever their step."""
    cdef Wrapped* w = <Wrapped*>data
    cdef double[64] results
    cdef char* inner[2]
    cdef intp inner_steps[2]
    cdef intp count, start = 0, n = dims[0]
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
        move_items(args[1] + start * steps[1], steps[1], inner[1], w.itemsize, count, w.itemsize)
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

# ---- a kernel that sleeps --------------------------------------------------------------------------------------

cdef void sleep_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """in, seconds (double), out: copies bytes after a sleep."""
    sleep_ns(<long long>((<double*>args[1])[0] * 1e9))
    memcpy(args[2], args[0], dims[0])

sleep_kernel = kernel_new(b"sleep", 2, 3, sleep_loop, NULL, HAS_EFFECTS, 1e9)
