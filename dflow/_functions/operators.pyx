"""The operators of ndarray, and NumPy's rules that hold for them alone."""

import operator

import numpy as np
cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.string cimport memcpy
from dflow._base.atomics cimport load_ptr
from dflow._kernels.dtypes cimport (
    BOOL, CDOUBLE, CFLOAT, DOUBLE, DTYPES, EXACT, FLOAT, HALF, LONG, NCODES, Scalar, is_integer, itemsizes, scalar_code,
    scalar_data, write_scalar)
from dflow._array.array_type cimport asking, elements_compare_by
from dflow._array.core cimport *, is_ours, be_element, truths
from dflow._base.thread_state cimport many_devices, near, recorders, set_recording
from dflow._engine cimport settings
from dflow._runtime.fp_errors cimport warnings_wait
from dflow._functions.interop cimport ask, foreign
from dflow._functions.views cimport *
from dflow._functions.fastpath cimport *
from dflow._functions.gufunc cimport product
from dflow._functions.numpy_inline import LATER
from dflow._tracing.tape cimport check_place, earlier, gradients_kept, record, recorded, stand_for
from dflow._functions.numbers cimport holds_no_numbers
from dflow._functions.sequences cimport is_sequence, lent, numbers_of
from dflow._functions.scalars cimport scalar_arithmetic, scalar_unary
from dflow._functions.out cimport cast_error
from dflow._functions.ufunc cimport ufunc, wrap, call

cdef extern from "Python.h":
    double PyFloat_AS_DOUBLE(object)
    long long PyLong_AsLongLongAndOverflow(object, int*)

cdef extern from "_kernels/c/elements.h" nogil:
    ctypedef int (*one_number)(int op, const void* p, void* r)
    ctypedef int (*two_numbers)(int op, const void* p, const void* q, void* r)
    one_number of_one_number[18]
    two_numbers of_two_numbers[18]
    int TRUE_OUTCOME, NUMBER, NOTHING

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

cdef object held(object x, int code):
    """A number of NumPy's as Python's, if that has the same result beside an array of a type, or as an element; None
    for anything else."""
    cdef ndarray out
    cdef int its
    if type(x) is float64 and 0 <= code < NCODES and code != HALF and code != FLOAT and code != CFLOAT:
        return <double>x
    if type(x) is int64 and (code == LONG or code == DOUBLE or code == CDOUBLE):
        return int(x)
    its = scalar_code(x)
    if its < 0:
        return None
    out = new_scalar(its)
    memcpy(out.st.data, scalar_data(x), itemsizes[its])
    return out

cdef object binary_operator(int op, object a, object b):
    if records(a, b):
        return record_operator(op, a, b)
    if op > GREATER_EQUAL:
        return array_operator(op, a, b)
    result = scalar_arithmetic(op, a, b)
    return array_operator(op, a, b) if result is None else result

cdef PyObject* compare_elements(PyObject* a, PyObject* b, int how) except? NULL:
    cdef int outcome = NOTHING
    cdef PyObject* truth
    if recorders == 0 and settings.inline_cost > 0:
        outcome = (elements_compared(LESS + how, <ndarray>a, <ndarray>b) if a.ob_type == b.ob_type else
                   number_compared(LESS + how, <ndarray>a, b))
    if outcome <= TRUE_OUTCOME and not gradients_kept():
        settings.inlined += 1
        truth = truths[outcome]
        Py_INCREF(<object>truth)
        return truth
    result = binary_operator(LESS + how, <object>a, <object>b)
    Py_INCREF(result)
    return <PyObject*>result

cdef inline int number_compared(int op, ndarray a, PyObject* b) noexcept:
    """The same of a float64 or int64 and a number of Python's that is one, too."""
    cdef long long n
    cdef double d
    cdef int overflow = 0
    if a.ndim or a.code != DOUBLE and a.code != LONG or not is_here(a):
        return NOTHING
    if type(<object>b) is float:
        d = PyFloat_AS_DOUBLE(<object>b)
        return of_two_numbers[<int>DOUBLE](op, data_of(a), &d, NULL) if a.code == DOUBLE else NOTHING
    if type(<object>b) is not int:
        return NOTHING
    n = PyLong_AsLongLongAndOverflow(<object>b, &overflow)
    if overflow or a.code == DOUBLE and not -EXACT <= n <= EXACT:
        return NOTHING
    d = n
    return of_two_numbers[a.code](op, data_of(a), <void*>&d if a.code == DOUBLE else <void*>&n, NULL)

cdef asking other_truth = NULL

cdef int truth_of(PyObject* x) except -1:
    """Of an element of bools: most often one of two that comparisons give."""
    if (x == truths[0] or x == truths[1]) and not warnings_wait():
        return x == truths[1]
    return other_truth(x)

other_truth = elements_compare_by(compare_elements, truth_of)

cdef inline int elements_compared(int op, ndarray a, ndarray b) noexcept:
    """An outcome: of two elements of one type, which lists compare one after the other. NOTHING: the long way knows."""
    cdef two_numbers compute = of_two_numbers[a.code]
    if a.ndim or b.ndim or compute == NULL or not (is_here(a) and is_here(b)):
        return NOTHING
    return compute(op, data_of(a), data_of(b), NULL)

cdef object array_operator(int op, object a, object b):
    cdef ufunc u
    cdef int i, j
    cdef Plan* p
    cdef ndarray out
    if op == DIVMOD:
        result = scalar_arithmetic(FLOOR_DIVIDE, a, b, True)
        rest = None if result is None else scalar_arithmetic(REMAINDER, a, b, True)
        if rest is not None:
            return result if result is NotImplemented else (result, rest)
    u = <ufunc>(<list>operator_list)[op]
    i = quick_kind(a)
    j = quick_kind(b)
    if i < 0 or j < 0:
        if i >= 0 and is_ours(a) and (type(b) is cnp.ndarray or is_sequence(b) and may_be_numbers(op, a)):
            made = operand_of(op, b, a)
            if made is not None:
                return binary_operator(op, a, made)
        if j >= 0 and is_ours(b) and (type(a) is cnp.ndarray or is_sequence(a) and may_be_numbers(op, b)):
            made = operand_of(op, a, b)
            if made is not None:
                return binary_operator(op, made, b)
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
    if op == MATMUL and is_scalar(a) and is_scalar(b):
        return NotImplemented
    return long_operator(op, u, a, b, i >= 0 and j >= 0)

cdef inline bint is_scalar(object x) noexcept:
    return (<ndarray>x).flags & SCALAR if is_ours(x) else isinstance(x, (int, float, complex, np.generic))

cdef inline bint is_matrix(object x) noexcept:
    """Whether it is an array, ours or NumPy's, of one axis or two."""
    return 0 < ((<ndarray>x).ndim if is_ours(x) else cnp.PyArray_NDIM(x) if type(x) is cnp.ndarray else 0) < 3

def product_of_matrices(a, b):
    """a @ b, of matrices or vectors, one of which is ours; None: it is something else, or their shapes do not fit."""
    if not is_matrix(a) or not is_matrix(b) or not is_ours(a) and not is_ours(b):
        return None
    try:
        return array_operator(MATMUL, a, b) if not records(a, b) else record_operator(MATMUL, a, b)
    except ValueError:
        return None

cdef object operand_of(int op, object x, object beside):
    """NumPy's array, or a sequence, as an array of ours."""
    cdef ndarray made = None
    if type(x) is cnp.ndarray and is_near(<ndarray>beside):
        made = lent(x, (<ufunc>(<list>operator_list)[op]).cost)
    return numbers_of(x) if made is None else made

cdef inline bint may_be_numbers(int op, object beside) noexcept:
    """Whether a sequence is an array beside this: an element may repeat it."""
    return not (op == MULTIPLY and (<ndarray>beside).flags & SCALAR)

cdef object long_operator(int op, ufunc u, object a, object b, bint numbers):
    """a op b where there is no fast path. numbers: both are arrays, or numbers of Python's."""
    if numbers:
        return call(u, (a, b), None, True, None, "same_kind", None)
    if op == MULTIPLY and (type(a) in SEQUENCES or type(b) in SEQUENCES):
        number = b if is_ours(b) else a
        if repeats(number):
            return b * int(a) if is_ours(a) else a * int(b)
        if is_ours(number) and (<ndarray>number).flags & SCALAR:
            raise TypeError(f"can't multiply sequence by non-int of type 'numpy.{number.dtype}'")
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
    if not is_ours(result):
        check_place(result)
    return (recorded((<ufunc>(<list>operator_list)[op]).numpy, (a, b), result) if is_ours(result)
            or type(result) is tuple else result)

cdef object record_inplace(int op, ndarray a, object b):
    """a op= b: the result is computed apart, and written to a, which stands for it from then on."""
    cdef ndarray old = earlier(a), value
    result = binary_operator(op, old, old if b is a else b)
    if not is_ours(result):
        check_place(result)
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

cdef enum:
    SEEN = 24000                # bytes of an array that NumPy rather looks at, for its own operators;
    FEW_BYTES = 4096            # and of NumPy's that are computed apart, and copied there

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
    if j < 0 and (type(b) is cnp.ndarray or is_sequence(b)):
        made = operand_of(op, b, x)
        if made is not None:
            b = made
            j = quick_kind(b)
    if j < 0:
        number = held(b, x.code)
        if number is not None and op != POWER:
            b = number
            j = quick_kind(b)
    check_writable(x)
    if j >= 0 and op < MATMUL and op != POWER:
        p = u.binary[x.code * NKINDS + j]
        if p != NULL and (p.codes[2] != x.code or is_ours(b) and (
                (<ndarray>b).st == x.st and not same_elements(x, <ndarray>b))):
            if u.nout == 1 and binary_into(p, x, b, x) is not None:
                return x
        elif p != NULL:
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

cdef PyObject* seen_at_once(PyObject* x) except? NULL:
    """A small array that is there as NumPy sees it, a new reference; NULL: it is none. It stays in memory (see
    engine.spill), though NumPy may give the GIL away."""
    cdef ndarray a = <ndarray>x
    if a.size * a.itemsize > SEEN or not is_near(a) or records(a, None):
        return NULL
    window = numpys(a) if a.flags & SCALAR else numpy_window(a)
    Py_INCREF(window)
    return <PyObject*>window

cdef int brought_into(int op, PyObject* theirs, PyObject* x) except -1:
    """NumPy's array op= one of ours, computed here; False: NumPy is to look at that, or to ask it."""
    cdef object target = <object>theirs
    cdef intp nbytes = cnp.PyArray_NBYTES(target)
    cdef bint seen = (<ndarray>x).size * (<ndarray>x).itemsize <= SEEN and is_near(<ndarray>x)
    if records(<object>x, None) or near < 0 or many_devices or not cnp.PyArray_ISWRITEABLE(target) or (
            nbytes > FEW_BYTES and seen) or not cnp.PyArray_ISNOTSWAPPED(target):
        return False
    made = (numbers_of(target) if nbytes <= FEW_BYTES and cnp.PyArray_ISCARRAY(target) else
            array_hooks.memory_borrow(target))
    if not is_ours(made) or (<ndarray>made).flags & READONLY:
        return False
    try:
        inplace_operator(op, made, <object>x)
    finally:                                            # what np.errstate raises has been written, too
        if not (<ndarray>made).st.foreign:
            memcpy(cnp.PyArray_DATA(target), data_of(wait_read(<ndarray>made)), nbytes)
    return True

cdef object unary_operator(int op, object a):
    cdef one_number compute = of_one_number[(<ndarray>a).code]
    cdef ndarray out
    if compute != NULL and (<ndarray>a).ndim == 0 and recorders == 0 and settings.inline_cost > 0 and (
            is_here(<ndarray>a)):
        out = new_scalar((<ndarray>a).code)
        if compute(op, data_of(<ndarray>a), out.st.data) == NUMBER:
            settings.inlined += 1
            return out
    return long_way(op, a)

cdef object other_unary(int op, object a):
    if records(a, None):
        return record((<ufunc>(<list>operator_list)[op]).numpy, (a,), (<list>operator_list)[op], (a,), {})
    out = scalar_unary(op, <ndarray>a)
    return unary(<ufunc>(<list>operator_list)[op], <ndarray>a) if out is None else out

cdef unary_hook long_way = other_unary      # by a pointer: written into unary_operator(), it costs that six registers
