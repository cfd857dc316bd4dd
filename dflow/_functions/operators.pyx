"""The operators of ndarray, and NumPy's rules that hold for them alone."""

import operator

import numpy as np
cimport numpy as cnp
from libc.float cimport DBL_MIN, FLT_MIN
from libc.math cimport copysign, fabs, floor, fmod
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset
from dflow._base.atomics cimport load_ptr
from dflow._base.fpflags cimport FP_OVER
from dflow._engine cimport settings
from dflow._runtime.fp_errors cimport fp_event
from dflow._kernels.kernel cimport Kernel
from dflow._kernels.dtypes cimport (
    BOOL, CDOUBLE, CFLOAT, DOUBLE, DTYPES, FLOAT, HALF, LONG, MOST_INTEGER, NCODES, Scalar, int128, integer_at,
    is_integer, itemsizes, uint128, write_scalar)
from dflow._array.core cimport *, is_ours, be_element
from dflow._base.thread_state cimport set_recording
from dflow._functions.interop cimport ask, foreign
from dflow._functions.views cimport *
from dflow._functions.fastpath cimport *
from dflow._functions.numpy_inline import LATER
from dflow._tracing.tape cimport earlier, record, recorded, stand_for
from dflow._functions.numbers cimport holds_no_numbers
from dflow._functions.out cimport cast_error
from dflow._functions.ufunc cimport ufunc, wrap, call

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef long long EXACT = 1 << 53      # integers up to here are doubles

# In the order of Op.
operator_names = ("add subtract multiply true_divide floor_divide remainder power left_shift right_shift bitwise_and "
                  "bitwise_or bitwise_xor less less_equal equal not_equal greater greater_equal divmod matmul "
                  "negative positive absolute invert").split()
cdef list operator_list = [wrap(getattr(np, name)) for name in operator_names]

cdef list python_operators = [getattr(operator, name) for name in (
    "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor lt le eq ne gt ge").split()] + [
    divmod, operator.matmul]

cdef ufunc square = wrap(np.square), sqrt = wrap(np.sqrt)
cdef ufunc reciprocal = wrap(np.reciprocal), positive = wrap(np.positive)

cdef object float64 = np.float64, int64 = np.int64
cdef dict codes = {DTYPES[code].type: code for code in range(NCODES)}

cdef object held(object x, int code):
    """A number of NumPy's as Python's, if that has the same result beside an array of a type, or as an element; None
    for anything else."""
    cdef ndarray out
    if type(x) is float64 and 0 <= code < NCODES and code != HALF and code != FLOAT and code != CFLOAT:
        return <double>x
    if type(x) is int64 and (code == LONG or code == DOUBLE or code == CDOUBLE):
        return int(x)
    its = codes.get(type(x))
    if its is None:
        return None
    out = new_scalar(its)
    cnp.PyArray_ScalarAsCtype(x, out.st.data)
    return out

cdef union Number:
    double d
    int128 i

cdef inline bint is_double(object x, double* value):
    """Whether a number of Python's is one that a double holds exactly."""
    cdef long long n
    cdef int overflow
    if type(x) is float or type(x) is float64:
        value[0] = <double>x
        return True
    if type(x) is bool:
        value[0] = x is True
        return True
    if type(x) is int:
        n = PyLong_AsLongLongAndOverflow(x, &overflow)
        value[0] = <double>n
        return overflow == 0 and -EXACT <= n <= EXACT
    return False

cdef inline bint is_single(object x, double* value):
    """Whether one is a float, once it is rounded to it, and neither too large nor too small."""
    cdef float rounded
    if type(x) is float64 or not is_double(x, value):
        return False
    rounded = <float>value[0]
    if rounded - rounded != 0 or fabs(rounded) < FLT_MIN and value[0] != 0:
        return False
    value[0] = rounded
    return True

cdef inline bint in_range(int128 value, int code) noexcept nogil:
    cdef int bits = 8 * itemsizes[code]
    return -(<int128>1 << bits - 1) <= value < <int128>1 << bits - 1 if code % 2 else 0 <= value < <int128>1 << bits

cdef inline bint beside(object x, int code, Number* number):
    """Whether x is an element that is there, of floats or of integers as the code is, or a number of Python's that is
    of this type: then its value."""
    cdef int overflow
    cdef int128 integer
    if is_ours(x):
        if (<ndarray>x).ndim or not is_here(<ndarray>x):
            return False
        if (<ndarray>x).code == DOUBLE:
            number.d = (<double*>data_of(<ndarray>x))[0]
        elif (<ndarray>x).code == FLOAT:
            number.d = (<float*>data_of(<ndarray>x))[0]
        else:
            integer = integer_at((<ndarray>x).code, data_of(<ndarray>x))
            if (<ndarray>x).code == BOOL:
                integer = integer != 0
            if code == DOUBLE or code == FLOAT:
                number.d = <double>integer
            else:
                number.i = integer
        return True
    if code == DOUBLE:
        return is_double(x, &number.d)
    if code == FLOAT:
        return is_single(x, &number.d)
    if type(x) is not int and type(x) is not bool:
        return False
    number.i = PyLong_AsLongLongAndOverflow(x, &overflow)
    if overflow == 1 and x < 1 << 64:
        number.i = <uint64_t>x
        overflow = 0
    return overflow == 0 and in_range(number.i, code)

# Of elements of two types, integers, floats or doubles, the type of what is computed with them; 0: another one. Two
# bools have rules of their own.
cdef char common[NCODES][NCODES]

cdef int _fill_common() except -1:
    cdef int a, b
    numbers = [code for code in range(NCODES) if code <= MOST_INTEGER or code == FLOAT or code == DOUBLE]
    for a in numbers:
        for b in numbers:
            both = np.promote_types(DTYPES[a], DTYPES[b])
            common[a][b] = 0 if both.kind == "f" and a <= MOST_INTEGER and b <= MOST_INTEGER else both.num
    return 0

_fill_common()

cdef inline bint tells_of_wraps(object a, object b):
    """Whether NumPy's scalars do: not arrays without axes, and not where a bool is asked first."""
    return (not is_ours(a) or (<ndarray>a).flags & SCALAR and (<ndarray>a).code != BOOL) and (
        not is_ours(b) or (<ndarray>b).flags & SCALAR != 0)

cdef ndarray scalar_arithmetic(int op, object a, object b):
    """a op b for two numbers, one of them an element of floats, doubles or integers, where that raises no floating
    point flag (but inexact); else None."""
    cdef int code = (<ndarray>a).code if is_ours(a) else (<ndarray>b).code
    cdef int other = (<ndarray>b).code if is_ours(b) else code
    cdef Number x, y
    x.i = y.i = 0
    if mxnet_rules and code != other and (code == FLOAT or other == FLOAT):
        return None
    code = common[code][other]
    if code == 0 or code == HALF:
        return None
    if settings.inline_cost <= 0 or not beside(a, code, &x) or not beside(b, code, &y):
        return None
    if code <= MOST_INTEGER:
        out = integer_arithmetic(op, code, x.i, y.i, tells_of_wraps(a, b))
    elif op == POWER and y.d == 2 and not is_ours(b):       # as simple_power()
        out = float_arithmetic(MULTIPLY, code, x.d, x.d)
    else:
        out = float_arithmetic(op, code, x.d, y.d)
    settings.inlined += out is not None
    return out

cdef inline ndarray new_bool(bint value):
    cdef ndarray out = new_scalar(BOOL)
    out.st.data[0] = value
    return out

cdef inline ndarray new_float(int code, double value):
    cdef ndarray out = new_scalar(code)
    if code == DOUBLE:
        (<double*>out.st.data)[0] = value
    else:
        (<float*>out.st.data)[0] = <float>value
    return out

cdef inline ndarray float_arithmetic(int op, int code, double x, double y):
    """Floats are computed as doubles, which have more than twice their digits: rounded once more they are the same."""
    cdef double z
    if op == FLOOR_DIVIDE or op == REMAINDER:
        return quotient(op, x, y) if code == DOUBLE else None
    if op <= TRUE_DIVIDE:
        if op == ADD:
            z = x + y
        elif op == SUBTRACT:
            z = x - y
        elif op == MULTIPLY:
            z = x * y
        elif y != 0:
            z = x / y
        else:
            return None
        if code == FLOAT:
            z = <float>z
        if z - z != 0 or (op >= MULTIPLY and fabs(z) < (DBL_MIN if code == DOUBLE else FLT_MIN)
                          and x != 0 and (y != 0 or op == TRUE_DIVIDE)):
            return None                     # infinite, not a number, or too small
        return new_float(code, z)
    if op < LESS or x != x or y != y:
        return None
    return new_bool(x < y if op == LESS else x <= y if op == LESS_EQUAL else x == y if op == EQUAL else
                    x != y if op == NOT_EQUAL else x > y if op == GREATER else x >= y)

cdef ndarray quotient(int op, double x, double y):
    """x // y, or x % y, as NumPy computes it."""
    cdef double rest, whole, z
    if y == 0 or x - x != 0 or y - y != 0:
        return None
    rest = fmod(x, y)
    whole = (x - rest) / y
    if rest != 0 and (rest < 0) != (y < 0):
        rest += y
        whole -= 1
    elif rest == 0:
        rest = copysign(0, y)
    if op == REMAINDER:
        return new_float(DOUBLE, rest)
    z = floor(whole)
    if whole - z > 0.5:
        z += 1
    return new_float(DOUBLE, z) if z != 0 and z - z == 0 else None

cdef ndarray integer_arithmetic(int op, int code, int128 x, int128 y, bint tells):
    cdef int128 z
    if LESS <= op <= GREATER_EQUAL:
        return new_bool(x < y if op == LESS else x <= y if op == LESS_EQUAL else x == y if op == EQUAL else
                        x != y if op == NOT_EQUAL else x > y if op == GREATER else x >= y)
    if op == ADD:
        z = x + y
    elif op == SUBTRACT:
        z = x - y
    elif op == MULTIPLY:
        z = <int128>(<uint128>x * <uint128>y)   # that of two uint64 is negative, or right
    elif op == AND:
        z = x & y
    elif op == OR:
        z = x | y
    elif op == XOR:
        z = x ^ y
    elif op == LSHIFT or op == RSHIFT:
        if not 0 <= y < 8 * itemsizes[code]:
            return None
        return new_integer(code, <int128>(<uint128>x << y) if op == LSHIFT else x >> y)     # of its last bits
    elif op == POWER:
        return new_integer(code, raised(x, y)) if y >= 0 else None
    elif y == 0:
        return None
    elif op == FLOOR_DIVIDE:
        z = x / y - (x % y != 0 and (x < 0) != (y < 0))
    elif op == REMAINDER:
        z = x % y
        if z != 0 and (z < 0) != (y < 0):
            z += y
    elif op == TRUE_DIVIDE and itemsizes[code] >= 4 and not mxnet_rules:    # else it may be no double
        return new_float(DOUBLE, <double>x / <double>y)
    else:
        return None
    return in_its_range(op, code, z, tells)

cdef inline uint64_t raised(int128 x, int128 y) noexcept nogil:
    """x to the power y, wrapped round."""
    cdef uint64_t base = <uint64_t>x, result = 1
    while y > 0:
        if y & 1:
            result *= base
        base *= base
        y >>= 1
    return result

cdef inline ndarray new_integer(int code, int128 value):
    cdef ndarray out = new_scalar(code)
    memcpy(out.st.data, &value, itemsizes[code])
    return out

cdef ndarray in_its_range(int op, int code, int128 value, bint tells):
    """An element of integers; one that is beyond their range wraps round, which NumPy's scalars tell of."""
    cdef Kernel k
    if (tells or op == FLOOR_DIVIDE) and not in_range(value, code):
        memset(&k, 0, sizeof(Kernel))
        name = f"{'scalar ' if tells else ''}{operator_names[op]}".encode()
        k.name = name
        fp_event(FP_OVER, &k)
    return new_integer(code, value)

cdef object binary_operator(int op, object a, object b):
    if records(a, b):
        return record_operator(op, a, b)
    cdef ufunc u
    cdef int i, j
    cdef Plan* p
    cdef ndarray out
    if op <= GREATER_EQUAL:
        out = scalar_arithmetic(op, a, b)
        if out is not None:
            return out
    elif op == DIVMOD:
        out = scalar_arithmetic(FLOOR_DIVIDE, a, b)
        rest = None if out is None else scalar_arithmetic(REMAINDER, a, b)
        if rest is not None:
            return out, rest
    u = <ufunc>(<list>operator_list)[op]
    i = quick_kind(a)
    j = quick_kind(b)
    if i < 0 or j < 0:
        number = held(a if i < 0 else b, j if i < 0 else i)
        if number is not None and op != POWER:
            return binary_operator(op, number if i < 0 else a, b if i < 0 else number)
    if i >= 0 and j >= 0 and op != MATMUL:
        if op == POWER and j >= NCODES:
            fast = simple_power(a, b)
            if fast is not None:
                return fast
        p = u.binary[i * NKINDS + j]
        if p != NULL and u.nout == 1:
            try:
                out = direct_binary(p, a, b)
            except OverflowError:           # a comparison beyond the range: call() knows the answer
                out = None
            if out is not None:
                return out
    elif op == MATMUL and is_ours(a) and is_ours(b):
        p = u.binary[i * NKINDS + j]
        if p != NULL:
            out = product(p, <ndarray>a, <ndarray>b)
            if out is not None:
                return out
    return long_operator(op, u, a, b, i >= 0 and j >= 0)

cdef object long_operator(int op, ufunc u, object a, object b, bint numbers):
    """a op b where there is no fast path. numbers: both are arrays, or numbers of Python's."""
    if numbers:
        return call(u, (a, b), None, True, None, "same_kind", None)
    if op == MULTIPLY and (type(a) in SEQUENCES or type(b) in SEQUENCES) and repeats(b if is_ours(b) else a):
        return b * int(a) if is_ours(a) else a * int(b)
    if foreign(b if isinstance(a, ndarray) else a):
        return with_foreign(op, u, a, b)
    if unlike(b if isinstance(a, ndarray) else a):
        return compare_unlike(op, a, b) if op == EQUAL or op == NOT_EQUAL else refuse(u, a, b, None)
    try:
        return call(u, (a, b), None, True, None, "same_kind", None)
    except TypeError:
        if not holds_no_numbers(a) and not holds_no_numbers(b):
            raise
        return with_no_numbers(op, u, a, b)

cdef bint unlike(object x):
    """Whether x is nothing that NumPy has numbers for, without a look at those of an array beside it."""
    return x is None or isinstance(x, (str, bytes, dict, set, frozenset))

cdef object with_no_numbers(int op, ufunc u, object a, object b):
    """NumPy's result, of its arrays: ours if it is numbers."""
    if (op == EQUAL or op == NOT_EQUAL) and type(b if isinstance(a, ndarray) else a).__eq__ is object.__eq__:
        return compare_unlike(op, a, b)
    a, b = [x.asnumpy() if isinstance(x, ndarray) else x for x in (a, b)]
    return hooks.wrap(a == b if op == EQUAL else a != b if op == NOT_EQUAL else u.numpy(a, b))

cdef object record_operator(int op, object a, object b):
    cdef bint before = set_recording(False)
    try:
        result = binary_operator(op, a, b)
    finally:
        set_recording(before)
    return (recorded((<ufunc>(<list>operator_list)[op]).numpy, (a, b), result) if is_ours(result)
            or type(result) is tuple else result)

cdef object record_inplace(int op, ndarray a, object b):
    """a op= b: the result is computed apart, and written to a, which stands for it from then on."""
    cdef ndarray old = earlier(a), value
    result = binary_operator(op, old, old if b is a else b)
    if not is_ours(result):
        return result
    value = <ndarray>result
    if not np.can_cast(DTYPES[value.code], DTYPES[a.code], "same_kind"):
        raise cast_error((<ufunc>(<list>operator_list)[op]).numpy, value.code, a.code, "same_kind")
    value = cast(value, a.code)
    cdef bint before = set_recording(False)
    try:
        assign(a, value)
    finally:
        set_recording(before)
    stand_for(a, value)
    return a

cdef tuple SEQUENCES = (list, tuple, str, bytes)

cdef bint repeats(object x):
    """Whether a sequence times x is a longer one: NumPy's scalars of integers do that, its arrays do not."""
    return (is_ours(x) and (<ndarray>x).flags & SCALAR and is_integer((<ndarray>x).code)
            and (<ndarray>x).code != BOOL)

cdef object way_with_ufuncs(object x):
    """The __array_ufunc__ of a foreign object; LATER for none, or NumPy's, of a subclass."""
    return LATER if isinstance(x, np.ndarray) else getattr(type(x), "__array_ufunc__", LATER)

cdef object with_foreign(int op, ufunc u, object a, object b):
    """With another library's object: NumPy's ufunc, which asks it, or NumPy's operator, where an operand is asked."""
    other = b if isinstance(a, ndarray) else a
    way = way_with_ufuncs(other)
    if way is None and other is b:
        return NotImplemented
    if way is not LATER:
        return u(a, b)
    a, b = [x.asnumpy() if isinstance(x, ndarray) else x for x in (a, b)]
    return ask((<list>python_operators)[op], (a, b), {})

cdef object inplace_with_foreign(ufunc u, ndarray a, object b):
    """The same of a op= b. What has a higher priority is asked by a op b."""
    if way_with_ufuncs(b) is LATER and not isinstance(b, np.ndarray) and getattr(b, "__array_priority__", 0) > 0:
        return NotImplemented
    return u(a, b, out=a)

cdef object compare_unlike(int op, object a, object b):
    """With None or another thing that is no number, and has no way to compare: never equal."""
    cdef ndarray x = a if isinstance(a, ndarray) else b
    out = new_array(BOOL, x.ndim, x.shape)
    out[...] = op == NOT_EQUAL
    if x.ndim == 0:
        be_element(<ndarray>out)
    return out

cdef object refuse(ufunc u, object a, object b, object out):
    """NumPy's error for what holds no numbers, of one element; what gives none may know what to do with an array."""
    a, b, out = [np.ones((1,) * (<ndarray>x).ndim, x.dtype) if isinstance(x, ndarray) else x for x in (a, b, out)]
    u.numpy(a, b, **({} if out is None else {"out": out}))
    return NotImplemented

cdef object simple_power(object a, object exponent):
    """NumPy's shortcuts for x ** 2 and the like, which also fix the last bits; None when there is none."""
    cdef ndarray x
    cdef Scalar room
    cdef double e
    if not isinstance(a, ndarray) or isinstance(exponent, complex):
        return None
    x = <ndarray>a
    if is_integer(x.code):
        if type(exponent) is int:
            if exponent < 0 and x.code != BOOL:
                write_scalar(exponent, x.code, <char*>&room)        # unless they cannot hold it
                if x.size == 0:
                    return None
                raise ValueError("Integers to negative integer powers are not allowed.")
            if exponent == 2 and not (x.code == BOOL and x.flags & SCALAR):
                return unary(square, x)
        return None
    if type(exponent) is int and not -2 < exponent < 3:
        return None                         # among them those that no float holds
    e = exponent
    if e == 2:
        return unary(square, x)
    if e == 0.5 and not x.flags & SCALAR:   # the C library's power, which NumPy's scalars have, takes -inf and -0.0
        return unary(sqrt, x)
    if e == 1:
        return unary(positive, x)
    if e == -1:
        return unary(reciprocal, x)
    return None

cdef object unary(ufunc u, ndarray x):
    """u(x)."""
    cdef Plan* p = u.unary[x.code]
    out = None if p == NULL else direct_unary(p, x)
    return call(u, (x,), None, True, None, "same_kind", None) if out is None else out

cdef object inplace_operator(int op, object a, object b):
    cdef ufunc u = <ufunc>(<list>operator_list)[op]
    cdef ndarray x = <ndarray>a
    cdef int j
    cdef Plan* p
    if x.flags & SCALAR:
        return binary_operator(op, a, b)
    if records(a, b):
        return record_inplace(op, x, b)
    j = quick_kind(b)
    if j < 0:
        number = held(b, x.code)
        if number is not None and op != POWER:
            b = number
            j = quick_kind(b)
    check_writable(x)
    if j >= 0 and op < MATMUL and op != POWER:
        p = u.binary[x.code * NKINDS + j]
        if p != NULL and p.codes[2] == x.code and (
                not is_ours(b) or (<ndarray>b).st != x.st or same_elements(x, <ndarray>b)):
            if load_ptr(&x.st.reads) == NULL and (quick_binary(p, x, b, x) is not None
                                                  or x.flags & C_CONTIGUOUS and queue_binary(p, x, b, x) is not None):
                return x
            if launch_direct(p, x, b, x) is not None:
                return x
    elif foreign(b):
        return inplace_with_foreign(u, x, b)
    elif unlike(b):
        return refuse(u, a, b, a)
    if op == MATMUL and x.ndim and as_array(b).ndim == 1:
        raise ValueError("inplace matrix multiplication requires the first operand to have at least one and the second "
                         "at least two dimensions.")
    if op == POWER and j >= NCODES:
        fast = simple_power(x, b)
        if fast is not None:
            if (<ndarray>fast).code != x.code:
                raise cast_error(u.numpy, (<ndarray>fast).code, x.code, "same_kind")
            assign(x, <ndarray>fast)
            return x
    try:
        call(u, (a, b), (x,), True, None, "same_kind", None)
    except TypeError:
        if j >= 0 or not holds_no_numbers(b):
            raise
        return refuse(u, a, b, a)
    return x

cdef object unary_operator(int op, object a):
    if records(a, None):
        return record((<ufunc>(<list>operator_list)[op]).numpy, (a,), (<list>operator_list)[op], (a,), {})
    if (<ndarray>a).ndim == 0 and settings.inline_cost > 0 and is_here(<ndarray>a):
        out = of_number(op, (<ndarray>a).code, data_of(<ndarray>a), (<ndarray>a).flags & SCALAR)
        if out is not None:
            settings.inlined += 1
            return out
    return unary(<ufunc>(<list>operator_list)[op], <ndarray>a)

cdef ndarray of_number(int op, int code, char* p, bint tells):
    """The same of one number of floats, doubles or integers, where it raises no flag; else None."""
    cdef double d
    cdef int128 n
    if (code == DOUBLE or code == FLOAT) and op != INVERT:
        d = (<double*>p)[0] if code == DOUBLE else (<float*>p)[0]
        return new_float(code, -d if op == NEGATIVE else fabs(d) if op == ABSOLUTE else d)
    if not BOOL < code <= MOST_INTEGER:
        return None
    n = integer_at(code, p)
    if op == INVERT:
        return new_integer(code, ~n)
    return in_its_range(op, code, -n if op == NEGATIVE or op == ABSOLUTE and n < 0 else n, tells)
