"""Arithmetic of single numbers in C: elements that are there, beside each other, Python's numbers and NumPy's scalars.

All as NumPy's scalars have it: bits, types, warnings. For what is not here the result is None, and ufuncs have it.
"""

import numpy as np
from cpython.complex cimport PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.object cimport PyObject
from libc.float cimport DBL_MIN, FLT_MIN
from libc.math cimport copysign, fabs, floor, fmod, hypot, hypotf, pow, powf, signbit
from libc.stdint cimport uint16_t, uint64_t
from libc.string cimport memcpy, memset
from dflow._base.fpflags cimport FP_DIVIDE, FP_INVALID, FP_OVER, FP_UNDER, fp_clear, fp_flags
from dflow._engine cimport settings
from dflow._runtime.fp_errors cimport fp_event, fp_strict, fp_warn, read_fp_policy
from dflow._kernels.casts cimport cast_kernel
from dflow._kernels.kernel cimport INVALID_FAILS, intp, Kernel, MAY_RAISE
from dflow._kernels.dtypes cimport (
    BOOL, CDOUBLE, CFLOAT, CLONGDOUBLE, DOUBLE, DTYPES, FLOAT, HALF, LONGDOUBLE, NCODES, Scalar, half_of,
    half_value, in_range, int128, integer_at, is_complex, is_integer, itemsizes, real_code, scalar_code,
    scalar_data, settle, uint128, write_scalar)
from dflow._array.core cimport (
    ADD, SUBTRACT, MULTIPLY, TRUE_DIVIDE, FLOOR_DIVIDE, REMAINDER, POWER, LSHIFT, RSHIFT, AND, OR, XOR, LESS,
    LESS_EQUAL, EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, NEGATIVE, ABSOLUTE, INVERT, SCALAR, data_of, is_here,
    is_ours, mxnet_rules, ndarray, new_scalar)
from dflow._array.in_caller cimport run_now, run_unary
from dflow._functions.elements cimport new_bool
from dflow._functions.fastpath cimport NKINDS, Plan, WEAK_COMPLEX, WEAK_FLOAT, WEAK_INT

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef extern from *:
    """
    /* By way of memory: GCC 12 makes a vector of two such roundings, and then nothing at all. */
    static inline double as_float(double x) { volatile float rounded = (float)x; return rounded; }
    """
    double as_float(double) nogil

cdef extern from "_kernels/c/elements.h" nogil:
    ctypedef int (*two_numbers)(int op, const void* p, const void* q, void* r)
    two_numbers of_two_numbers[18]
    uint64_t raised(uint64_t x, uint64_t y)
    int OP_ADD, OP_XOR, OP_LESS, OP_GREATER_EQUAL, OP_INVERT
    int TRUE_OUTCOME, NUMBER, WRAPPED

ctypedef fused real:
    float
    double

ctypedef fused one:
    int128
    float
    double

cdef struct Pair:           # of two numbers, what they are, and what is computed with them
    PyObject* a
    PyObject* b
    int kind
    int other
    int code

cdef union Number:
    int128 i                # of integers and bools
    double parts[2]         # real and imaginary, of all others

# As NumPy's warnings name operators, by Op.
cdef list names = ("add subtract multiply divide floor_divide remainder power left_shift right_shift bitwise_and "
                   "bitwise_or bitwise_xor less less_equal equal not_equal greater greater_equal divmod matmul "
                   "negative positive absolute invert").split()

# ---- types -----------------------------------------------------------------------------------------------------------

# Of two numbers, by kind, the type of what is computed with them; -1: another one.
cdef signed char common[NKINDS][NKINDS]

cdef int _fill_common() except -1:
    cdef int a, b
    samples = [np.zeros((), DTYPES[code])[()] for code in range(NCODES)] + [0, 0.0, 0j]
    for a in range(NKINDS):
        for b in range(NKINDS):
            if a >= NCODES and b >= NCODES:
                common[a][b] = -1
                continue
            both = np.result_type(samples[a], samples[b])
            common[a][b] = -1 if both.char in "gG" else HALF if both.char == "e" else both.num
    return 0

_fill_common()

# ---- reading and making numbers --------------------------------------------------------------------------------------

cdef char truths[2]
truths[0], truths[1] = 0, 1

cdef int number_kind(object x, char** p) noexcept:
    """As quick_kind(), of a number that is there, NumPy's scalars too, and where it is, if it has a type; else -1."""
    cdef int code
    if is_ours(x):
        if (<ndarray>x).ndim or not is_here(<ndarray>x):
            return -1
        p[0] = data_of(<ndarray>x)
        return (<ndarray>x).code
    if type(x) is float:
        return WEAK_FLOAT
    if type(x) is int:
        return WEAK_INT
    if type(x) is bool:
        p[0] = &truths[x is True]
        return BOOL
    if type(x) is complex:
        return WEAK_COMPLEX
    code = scalar_code(x)
    if code >= 0:
        p[0] = scalar_data(x)
    return code

cdef inline double real_part(int code, char* p) noexcept nogil:
    """Of floats, complex or not."""
    return ((<double*>p)[0] if code == DOUBLE or code == CDOUBLE else
            (<float*>p)[0] if code == FLOAT or code == CFLOAT else half_value((<uint16_t*>p)[0]))

cdef inline double imaginary_part(int code, char* p) noexcept nogil:
    return (<double*>p)[1] if code == CDOUBLE else (<float*>p)[1] if code == CFLOAT else 0

cdef inline double as_double(int128 i) noexcept nogil:
    return <double><uint64_t>i if i >= 0 else <double><long long>i

cdef inline bint read_number(object x, int kind, char* p, int code, Number* n):
    """The number as that type holds it, which is the one of the two. False: a weak one that it does not hold."""
    cdef int overflow
    if kind == DOUBLE:
        n.parts[0], n.parts[1] = (<double*>p)[0], 0
        return True
    if kind == WEAK_INT:
        n.i = PyLong_AsLongLongAndOverflow(x, &overflow)
        if is_integer(code):
            if overflow == 1 and x < 1 << 64:
                n.i = <uint64_t>x
                overflow = 0
            return overflow == 0 and in_range(n.i, code)
        return overflow == 0 and hold(<double><long long>n.i, 0, code, n)
    if kind == WEAK_FLOAT:
        return hold(<double>x, 0, code, n)
    if kind == WEAK_COMPLEX:
        return hold(PyComplex_RealAsDouble(x), PyComplex_ImagAsDouble(x), code, n)
    if is_integer(kind):
        n.i = integer_at(kind, p)
        if kind == BOOL:
            n.i = n.i != 0
        if not is_integer(code):
            n.parts[0], n.parts[1] = as_double(n.i), 0
        return True
    n.parts[0], n.parts[1] = real_part(kind, p), imaginary_part(kind, p)
    return True

cdef inline bint hold(double re, double im, int code, Number* n) noexcept nogil:
    """A weak number as floats hold it. False: it is too large."""
    cdef int flags = 0
    if code == HALF:
        n.parts[0], n.parts[1] = half_value(half_of(re, &flags)), 0
        return flags & FP_OVER == 0
    if code == FLOAT or code == CFLOAT:
        n.parts[0], n.parts[1] = as_float(re), as_float(im)
        return (re - re != 0 or n.parts[0] - n.parts[0] == 0) and (im - im != 0 or n.parts[1] - n.parts[1] == 0)
    n.parts[0], n.parts[1] = re, im
    return True

cdef inline ndarray new_number(int code):
    settings.inlined += 1
    return new_scalar(code)

cdef inline ndarray new_integer(int code, int128 value):
    cdef ndarray out = new_number(code)
    memcpy(out.st.data, &value, itemsizes[code])
    return out

cdef inline ndarray new_float(int code, Number* z, int* flags):
    cdef ndarray out = new_number(code)
    cdef char* p = out.st.data
    if code == DOUBLE or code == CDOUBLE:
        (<double*>p)[0] = z.parts[0]
        if code == CDOUBLE:
            (<double*>p)[1] = z.parts[1]
    elif code == HALF:
        (<uint16_t*>p)[0] = half_of(z.parts[0], flags)
    else:
        (<float*>p)[0] = <float>z.parts[0]
        if code == CFLOAT:
            (<float*>p)[1] = <float>z.parts[1]
    return out

cdef int tell(int flags, int op, bint scalars) except -1:
    """Warn, as NumPy's scalars do of what they compute, and its ufuncs of what they do."""
    cdef Kernel k
    if not is_told(flags):
        return 0
    memset(&k, 0, sizeof(Kernel))
    name = f"{'scalar ' if scalars else ''}{names[op]}".encode()
    k.name = name
    return fp_event(flags, &k)

cdef inline bint is_told(int flags) except -1:
    read_fp_policy()
    return flags & (fp_warn | fp_strict) != 0

# ---- two numbers of one type, which programs have most ---------------------------------------------------------------

if [ADD, XOR, LESS, GREATER_EQUAL, INVERT] != [OP_ADD, OP_XOR, OP_LESS, OP_GREATER_EQUAL, OP_INVERT]:
    raise ImportError("_kernels/c/elements.h numbers the operators otherwise than _array/core.pxd")

cdef ndarray quick_arithmetic(int op, int code, char* p, char* q, bint scalars):
    """*p op *q, when there is nothing to tell; None for the rest. scalars: NumPy's scalars would have them."""
    cdef two_numbers compute = of_two_numbers[code]
    cdef ndarray out
    cdef int how
    if compute == NULL:
        return None
    if op >= LESS or code == BOOL:
        how = compute(op, p, q, NULL)
        return new_bool(how) if how <= TRUE_OUTCOME else None
    if code >= FLOAT:
        if op == FLOOR_DIVIDE or op == REMAINDER:
            return (quick_quotient(op, code, (<double*>p)[0], (<double*>q)[0]) if code == DOUBLE else
                    quick_quotient(op, code, (<float*>p)[0], (<float*>q)[0]) if code == FLOAT else None)
        if (op == MULTIPLY and is_complex(code) or op == POWER) and not scalars:        # NumPy's arrays round otherwise
            return None
    elif op == TRUE_DIVIDE:
        return None
    out = new_scalar(code)
    how = compute(op, p, q, out.st.data)
    if how == NUMBER or how == WRAPPED and not is_told(FP_OVER):
        settings.inlined += 1
        return out
    return None

cdef inline bint hold_weak(object x, int code, Scalar* room):
    """A number of Python's as an element of that type. False: where it is not sure to be one, or to be held."""
    cdef int overflow = 0
    cdef long long n = 0
    cdef double* parts = <double*>room
    cdef float* few = <float*>room
    cdef Number number
    if type(x) is float and code == DOUBLE:
        parts[0] = <double>x
        return True
    if type(x) is int:
        n = PyLong_AsLongLongAndOverflow(x, &overflow)
        if is_integer(code) or overflow:
            (<long long*>room)[0] = n
            return overflow == 0 and code != BOOL and surely_holds(code, n)
        if not hold(<double>n, 0, code, &number):
            return False
    elif type(x) is float:
        if is_integer(code) or not hold(<double>x, 0, code, &number):
            return False
    elif type(x) is not complex or not is_complex(code) or not (
            hold(PyComplex_RealAsDouble(x), PyComplex_ImagAsDouble(x), code, &number)):
        return False
    if code == DOUBLE or code == CDOUBLE:
        parts[0], parts[1] = number.parts[0], number.parts[1]
    elif code == FLOAT or code == CFLOAT:
        few[0], few[1] = <float>number.parts[0], <float>number.parts[1]
    return code == DOUBLE or code == FLOAT or code == CDOUBLE or code == CFLOAT

cdef inline bint surely_holds(int code, long long n) noexcept nogil:
    """For sure: of unsigned integers of 64 bits the lower half."""
    cdef int bits = 8 * itemsizes[code] - code % 2
    cdef long long above = n >> min(bits, 63)
    return above == 0 or above == -1 and code % 2

cdef inline ndarray quick_quotient(int op, int code, real x, real y):
    cdef ndarray out
    cdef double rounded
    if y == 0:
        return None
    real_arithmetic(x, op, x, y, &rounded)
    if rounded - rounded != 0 or rounded == 0 and op == FLOOR_DIVIDE:       # of which NumPy's quotient may underflow
        return None
    out = new_number(code)
    (<real*>out.st.data)[0] = <real>rounded
    return out

cdef inline int128 of_bits(int op, int128 x, int128 y) noexcept nogil:
    return x & y if op == AND else x | y if op == OR else x ^ y

cdef inline bint ordered(int op, one x, one y) noexcept nogil:
    return (x < y if op == LESS else x <= y if op == LESS_EQUAL else x == y if op == EQUAL else
            x != y if op == NOT_EQUAL else x > y if op == GREATER else x >= y)

# ---- two numbers -----------------------------------------------------------------------------------------------------

cdef object scalar_arithmetic(int op, object a, object b, bint quietly=False):
    """a op b for two numbers, one of them an element."""
    cdef ndarray quick = None
    cdef Scalar room
    cdef bint left = is_ours(a), right = is_ours(b)
    if left and ((<ndarray>a).ndim or not is_here(<ndarray>a)) or (
            right and ((<ndarray>b).ndim or not is_here(<ndarray>b)) or settings.inline_cost <= 0):
        return None
    if not left:
        if hold_weak(a, (<ndarray>b).code, &room):
            quick = quick_arithmetic(op, (<ndarray>b).code, <char*>&room, data_of(<ndarray>b),
                                     (<ndarray>b).flags & SCALAR != 0)
        elif scalar_code(a) == (<ndarray>b).code:
            quick = quick_arithmetic(op, (<ndarray>b).code, scalar_data(a), data_of(<ndarray>b),
                                     (<ndarray>b).flags & SCALAR != 0)
    elif not right:
        if hold_weak(b, (<ndarray>a).code, &room):
            quick = quick_arithmetic(op, (<ndarray>a).code, data_of(<ndarray>a), <char*>&room,
                                     (<ndarray>a).flags & SCALAR != 0)
        elif scalar_code(b) == (<ndarray>a).code:
            quick = quick_arithmetic(op, (<ndarray>a).code, data_of(<ndarray>a), scalar_data(b),
                                     (<ndarray>a).flags & SCALAR != 0)
    elif (<ndarray>a).code == (<ndarray>b).code:
        quick = quick_arithmetic(op, (<ndarray>a).code, data_of(<ndarray>a), data_of(<ndarray>b),
                                 (<ndarray>a).flags & (<ndarray>b).flags & SCALAR != 0)
    return any_arithmetic(op, a, b, quietly) if quick is None else quick

cdef object any_arithmetic(int op, object a, object b, bint quietly):
    cdef char* p = NULL
    cdef char* q = NULL
    cdef Pair pair
    cdef Number x, y
    pair.kind = number_kind(a, &p)
    pair.other = number_kind(b, &q)
    if pair.kind < 0 or pair.other < 0:
        return None
    if pair.kind == pair.other and not (is_ours(a) and is_ours(b)):
        quick = quick_arithmetic(op, pair.kind, p, q, is_scalar(a) and is_scalar(b))
        if quick is not None:
            return quick
    pair.code = common[pair.kind][pair.other]
    pair.a, pair.b = <PyObject*>a, <PyObject*>b
    if pair.code < 0 or mxnet_rules and pair.kind != pair.other and not is_integer(pair.code) and (
            pair.code != pair.kind or pair.other < NCODES) and (pair.code != pair.other or pair.kind < NCODES):
        return None
    if op == TRUE_DIVIDE and is_integer(pair.code):
        return quotient_of_integers(a, p, b, q, &pair)
    if not read_number(a, pair.kind, p, pair.code, &x) or not read_number(b, pair.other, q, pair.code, &y):
        return None
    if LESS <= op <= GREATER_EQUAL:
        if is_complex(pair.code) and op != EQUAL and op != NOT_EQUAL and not of_scalars(&pair):
            return None
        return new_bool(compared(op, pair.code, &x, &y))
    if is_integer(pair.code):
        return integer_arithmetic(op, &pair, x.i, y.i, quietly)
    if is_complex(pair.code) and (op == FLOOR_DIVIDE or op == REMAINDER):       # which NumPy's bools take on
        return NotImplemented if of_scalars(&pair) and (pair.other != BOOL or type(b) is bool) else None
    return float_arithmetic(op, &pair, &x, &y, quietly)

cdef bint of_scalars(Pair* pair) noexcept:
    """Whether it is NumPy's scalars that compute it: not its arrays without axes, nor its ufuncs, which have what is
    computed as a third type, and where a bool is asked first."""
    return ((pair.code == pair.kind or pair.code == pair.other) and is_scalar(<object>pair.a)
            and is_scalar(<object>pair.b) and (pair.kind != BOOL or type(<object>pair.a) is bool))

cdef inline bint is_scalar(object x) noexcept:
    return not is_ours(x) or (<ndarray>x).flags & SCALAR != 0

cdef object quotient_of_integers(object a, char* p, object b, char* q, Pair* pair):
    cdef Number x, y
    if mxnet_rules or (pair.kind == WEAK_INT or pair.other == WEAK_INT) and not of_scalars(pair):
        return None
    if not read_number(a, pair.kind, p, DOUBLE, &x) or not read_number(b, pair.other, q, DOUBLE, &y):
        return None
    return float_arithmetic(TRUE_DIVIDE, pair, &x, &y, False)

cdef inline bint compared(int op, int code, Number* x, Number* y) noexcept nogil:
    if is_integer(code):
        return ordered(op, x.i, y.i)
    if is_complex(code) and x.parts[0] == y.parts[0]:
        return ordered(op, x.parts[1], y.parts[1])
    return ordered(op, x.parts[0], y.parts[0])

# ---- floats ----------------------------------------------------------------------------------------------------------

cdef ndarray float_arithmetic(int op, Pair* pair, Number* x, Number* y, bint quietly):
    cdef Number z, rest
    cdef int flags = 0, code = DOUBLE if is_integer(pair.code) else pair.code
    if op > POWER or op == MULTIPLY and is_complex(code) and not of_scalars(pair):
        return None
    if op == POWER:
        if not (y.parts[0] == 2 and y.parts[1] == 0) and (is_complex(code) or not of_scalars(pair)):
            return None
        if not of_scalars(pair):
            if is_complex(code):
                return None
            op, y = MULTIPLY, x             # as simple_power()
    z.parts[0] = z.parts[1] = 0
    compute(op, code, x, y, &z)
    if not is_plain(op, code, x, y, &z) and is_told(FP_DIVIDE | FP_OVER | FP_UNDER | FP_INVALID):
        flags = computed_with_flags(op, code, x, y, &z)
    if code == HALF and (op == REMAINDER or op == FLOOR_DIVIDE and y.parts[0] == 0 and signbit(y.parts[0])) and (
            of_scalars(pair)):
        flags |= computed_with_flags(FLOOR_DIVIDE + REMAINDER - op, code, x, y, &rest)      # its scalars compute both
        half_of(rest.parts[0], &flags)
    out = new_float(code, &z, &flags)
    if flags:
        if quietly:
            return None
        tell(flags, op, of_scalars(pair))
    return out

cdef inline void compute(int op, int code, Number* x, Number* y, Number* z) noexcept nogil:
    if code == DOUBLE:
        real_arithmetic(<double>0, op, x.parts[0], y.parts[0], z.parts)
    elif code == CDOUBLE:
        complex_arithmetic(<double>0, op, x.parts, y.parts, z.parts)
    elif code == CFLOAT:
        complex_arithmetic(<float>0, op, x.parts, y.parts, z.parts)
    else:                                   # halfs are computed as floats
        real_arithmetic(<float>0, op, <float>x.parts[0], <float>y.parts[0], z.parts)

cdef int computed_with_flags(int op, int code, Number* x, Number* y, Number* z) noexcept nogil:
    """The flags that it raises."""
    cdef int i
    fp_clear()
    for i in range(2):
        settle(&x.parts[i])
        settle(&y.parts[i])
    compute(op, code, x, y, z)
    for i in range(2):
        settle(&z.parts[i])
    return fp_flags()

cdef inline bint is_plain(int op, int code, Number* x, Number* y, Number* z) noexcept nogil:
    """Whether it is sure that it raises no flag but inexact."""
    cdef double least, most
    if z.parts[0] - z.parts[0] != 0:        # infinite, or not a number
        return False
    if is_complex(code):
        if z.parts[1] - z.parts[1] != 0:
            return False
        if op == ADD or op == SUBTRACT:
            return True
        if op == TRUE_DIVIDE:               # a part is at least the fourth power of the least, and its last bit
            most = 2. ** 240 if code == CDOUBLE else 2. ** 25
        else:
            most = 2. ** 480 if code == CDOUBLE else 2. ** 50
        least = 1 / most
        return (within(x.parts[0], least, most) and within(x.parts[1], least, most)
                and within(y.parts[0], least, most) and within(y.parts[1], least, most))
    if op == ADD or op == SUBTRACT:
        return True
    if op == FLOOR_DIVIDE or op == REMAINDER:
        return y.parts[0] != 0 and (z.parts[0] != 0 or op == REMAINDER)
    return fabs(z.parts[0]) >= (DBL_MIN if code == DOUBLE else FLT_MIN) or op != POWER and x.parts[0] == 0 or (
        op == MULTIPLY and y.parts[0] == 0)

cdef inline bint within(double value, double least, double most) noexcept nogil:
    return value == 0 or least <= fabs(value) <= most

cdef inline void real_arithmetic(real like, int op, real x, real y, double* z) noexcept nogil:
    cdef real rest, whole
    if op == ADD:
        z[0] = x + y
    elif op == SUBTRACT:
        z[0] = x - y
    elif op == MULTIPLY:
        z[0] = x * y
    elif op == TRUE_DIVIDE or op == FLOOR_DIVIDE and y == 0:
        z[0] = x / y
    elif op == POWER:
        if real is float:
            z[0] = powf(x, y)
        else:
            z[0] = pow(x, y)
    else:
        rest = <real>fmod(x, y)
        whole = (x - rest) / y
        if rest == 0:
            rest = <real>copysign(0, y)
        elif rest == rest and (rest < 0) != (y < 0):    # what is no number is not compared: that raises a flag
            rest += y
            whole -= 1
        if op == REMAINDER or rest != rest:
            z[0] = rest
        elif whole == 0:
            z[0] = copysign(0, <real>(x / y))
        else:
            z[0] = floor(whole)
            if whole - z[0] > 0.5:
                z[0] += 1

cdef inline void complex_arithmetic(real like, int op, double* x, double* y, double* z) noexcept nogil:
    cdef real a = <real>x[0], b = <real>x[1], c = <real>y[0], d = <real>y[1], ratio, scale
    if op == ADD:
        z[0], z[1] = a + c, b + d
    elif op == SUBTRACT:
        z[0], z[1] = a - c, b - d
    elif op == MULTIPLY:
        z[0], z[1] = <real>(a * c) - <real>(b * d), <real>(a * d) + <real>(b * c)
    elif op == POWER:                       # squares
        if a == 0 and b == 0:
            z[0] = z[1] = 0
        else:
            z[0], z[1] = <real>(a * a) - <real>(b * b), <real>(a * b) + <real>(b * a)
    elif c == 0 and d == 0:
        z[0], z[1] = a / <real>fabs(c), b / <real>fabs(c)
    elif fabs(c) >= fabs(d):
        ratio = d / c
        scale = 1 / (c + d * ratio)
        z[0], z[1] = (a + b * ratio) * scale, (b - a * ratio) * scale
    else:
        ratio = c / d
        scale = 1 / (d + c * ratio)
        z[0], z[1] = (a * ratio + b) * scale, (b * ratio - a) * scale

# ---- integers, bools -------------------------------------------------------------------------------------------------

cdef ndarray integer_arithmetic(int op, Pair* pair, int128 x, int128 y, bint quietly):
    cdef int128 z
    cdef int code = pair.code
    if code == BOOL:
        return new_bool(x & y if op == MULTIPLY else x | y) if op == MULTIPLY or op == ADD else None
    if op == ADD:
        z = x + y
    elif op == SUBTRACT:
        z = x - y
    elif op == MULTIPLY:
        z = <int128>(<uint128>x * <uint128>y)   # that of two uint64 is negative, or right
    elif AND <= op <= XOR:
        z = of_bits(op, x, y)
    elif op == LSHIFT or op == RSHIFT:
        if not 0 <= y < 8 * itemsizes[code]:
            return None
        return new_integer(code, <int128>(<uint128>x << y) if op == LSHIFT else x >> y)     # of its last bits
    elif op == POWER:
        return None if y < 0 or pair.kind == BOOL or pair.other == BOOL else (
            new_integer(code, raised(<uint64_t>x, <uint64_t>y)))
    elif y == 0:
        if quietly:
            return None
        tell(FP_DIVIDE, op, of_scalars(pair))
        return new_integer(code, 0)
    elif op == FLOOR_DIVIDE:
        z = x / y - (x % y != 0 and (x < 0) != (y < 0))
    else:
        z = x % y
        if z != 0 and (z < 0) != (y < 0):
            z += y
    if in_range(z, code):
        return new_integer(code, z)
    return None if quietly else wrapped_round(op, code, z, of_scalars(pair))

cdef ndarray wrapped_round(int op, int code, int128 value, bint scalars):
    """Of what is beyond the range of integers, the last bits, which NumPy's scalars tell of."""
    if scalars or op == FLOOR_DIVIDE:
        tell(FP_OVER, op, scalars)
    return new_integer(code, value)

# ---- one number ------------------------------------------------------------------------------------------------------

cdef ndarray scalar_unary(int op, ndarray a):
    """op a for one number, but for what elements.h has."""
    if a.ndim or settings.inline_cost <= 0 or not is_here(a):
        return None
    return of_number(op, a.code, data_of(a), a.flags & SCALAR != 0)

cdef ndarray of_number(int op, int code, char* p, bint scalar):
    cdef Number z
    cdef int128 n
    cdef int flags = 0
    if code == LONGDOUBLE or code == CLONGDOUBLE:
        return None
    if not is_integer(code):
        z.parts[0], z.parts[1] = real_part(code, p), imaginary_part(code, p)
        if op == NEGATIVE:
            z.parts[0], z.parts[1] = -z.parts[0], -z.parts[1]
        elif op == ABSOLUTE and is_complex(code):
            if not scalar:
                return None
            z.parts[0] = (hypot(z.parts[0], z.parts[1]) if code == CDOUBLE else
                          hypotf(<float>z.parts[0], <float>z.parts[1]))
            code = real_code(code)
        elif op == ABSOLUTE:
            z.parts[0] = fabs(z.parts[0])
        elif op == INVERT:
            return None
        return new_float(code, &z, &flags)
    n = integer_at(code, p)
    if code == BOOL:
        return new_bool((n != 0) != (op == INVERT)) if op == INVERT or op == ABSOLUTE else None
    if op == INVERT:
        return new_integer(code, ~n)
    if op == NEGATIVE or op == ABSOLUTE and n < 0:
        n = -n
    return new_integer(code, n) if in_range(n, code) else wrapped_round(op, code, n, scalar)

# ---- functions -------------------------------------------------------------------------------------------------------

cdef ndarray function_of_numbers(Plan* p, PyObject** args, int* kinds, char** at):
    """What p makes of one number or two, of these kinds; those that have a type are at these places."""
    cdef Kernel* k = p.kernel
    cdef Scalar room[2]
    cdef char* places[3]
    cdef intp steps[3]
    cdef intp n = 1
    cdef int i, nin = p.nargs - 1
    cdef ndarray out
    if k.flags & (MAY_RAISE | INVALID_FAILS):
        return None
    for i in range(nin):
        places[i] = <char*>&room[i]
        steps[i] = itemsizes[p.codes[i]] if kinds[i] < NCODES else 0    # they choose NumPy's loop
        if kinds[i] == p.codes[i]:
            places[i] = at[i]
        elif kinds[i] < NCODES:
            run_unary(cast_kernel(kinds[i], p.codes[i]), at[i], itemsizes[kinds[i]], places[i], steps[i], 1)
        elif kinds[i] == WEAK_FLOAT and p.codes[i] == DOUBLE:
            (<double*>places[i])[0] = <double><object>args[i]
        elif p.codes[i] == BOOL:        # integers of any size
            return None
        else:
            write_scalar(<object>args[i], p.codes[i], places[i])
    out = new_scalar(p.codes[nin])
    places[nin] = out.st.data
    steps[nin] = itemsizes[p.codes[nin]]
    run_now(k, places, &n, steps)
    return out
