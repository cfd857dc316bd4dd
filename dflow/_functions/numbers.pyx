"""What stands beside arrays in a call: Python's numbers, and things that hold none, as NumPy takes them."""

import numpy as np
from dflow._kernels.kernel cimport intp
from dflow._array.core cimport (
    ndarray, array_hooks, as_array, be_element, broadcast_same, check_array, check_writable, contains_arrays,
    hooks, new_array, part)
from dflow._kernels.dtypes cimport BOOL, DTYPES, is_complex, is_integer, write_scalar
from dflow._kernels.registry import COMPARISONS

cdef object NO_VALUE = np._NoValue

# ---- Python's numbers --------------------------------------------------------------------------------------------

cdef bint compares_by_range(str name, tuple inputs):
    """Whether a ufunc of that name compares integers with a Python number: it may be one beyond their type."""
    if name not in COMPARISONS:
        return False
    for x in inputs:
        if isinstance(x, ndarray):
            return is_integer((<ndarray>x).code) and (<ndarray>x).code != BOOL
    return False

cdef ndarray compared_by_range(str name, tuple inputs, int ndim, intp* shape):
    """The comparison with a Python integer beyond the range of the array's type: one answer for all elements."""
    cdef bint swapped = not isinstance(inputs[0], ndarray)
    cdef bint above = (inputs[0 if swapped else 1] > 0) != swapped      # the right operand is the larger
    cdef ndarray out = new_array(BOOL, ndim, shape)
    array_hooks.index_set(out, Ellipsis, {"less": above, "less_equal": above, "equal": False,
                                          "not_equal": True}.get(name, not above))
    if ndim == 0:
        be_element(out)
    return out

cpdef ndarray numbers_for(object x, object dtype, object casting="unsafe"):
    """What NumPy's copyto() takes x for, into an array of that type: an array of ours as it is, all else cast."""
    if isinstance(x, ndarray):
        return x
    if isinstance(x, (list, tuple)) and contains_arrays(x):
        return as_array(x)
    numbers = np.empty(np.shape(x), dtype)
    np.copyto(numbers, x, casting)
    return as_array(numbers)

cpdef int cast_into(ndarray a, ndarray numbers) except -1:
    """a[...] = numbers by casts, whatever fits: a scalar, too, which is else refused if it does not."""
    return array_hooks.index_set(a, Ellipsis, broadcast_same(numbers))

cdef bint parts_are_stored = np.lib.NumpyVersion(np.__version__) >= "2.5.0"     # as elements are; before, cast

def set_part(ndarray a, int which, value):
    """Set the real (0) or imaginary part: by a cast of what the value is by itself, or as elements, as NumPy does."""
    cdef str name = "imag" if which else "real"
    check_array(a, name)
    if which and not is_complex(a.code):
        np.empty(1).imag = value            # its version's error
    cdef ndarray target = part(a, which) if is_complex(a.code) else a
    check_writable(target)
    if target.size == 0:
        hooks.unwrap(target).real = hooks.unwrap(value)       # there is nothing to refuse
        return
    if parts_are_stored:
        array_hooks.index_set(target, Ellipsis, value)
        return
    if not isinstance(value, (ndarray, list, tuple)) or not isinstance(value, ndarray) and not contains_arrays(value):
        numbers = np.empty(np.shape(value), DTYPES[target.code])
        numbers.real = value
        value = numbers
    cast_into(target, as_array(value))


def _wraps():
    """Whether NumPy's where lets Python numbers wrap round that an integer type cannot hold: it did before 2.5."""
    try:
        np.where(False, np.int8(0), 300)
    except OverflowError:
        return False
    return True

cdef bint wraps = _wraps()

cdef int write_wrapped(object number, int code, char* p) except -1:
    """A Python number as NumPy's where takes it."""
    try:
        write_scalar(number, code, p)
    except OverflowError:
        if not wraps:
            raise
        write_scalar(np.asarray(number).astype(DTYPES[code]).item(), code, p)
    return 0

# ---- what reductions start from ------------------------------------------------------------------------------------

cdef object identity_of(object function, int code):
    """A ufunc's, in which -1 stands for all bits, also of an unsigned type."""
    identity = function.identity
    return np.array(-1).astype(DTYPES[code]).item() if type(identity) is int and identity == -1 else identity

cdef object neutral_of(object function, int code):
    return complex(-0.0, -0.0) if is_complex(code) and function is np.add else (
        -0.0 if function is np.add and not is_integer(code) and code != BOOL else identity_of(function, code))

cdef object start_of(object function, object initial, int code, intp total, bint masked):
    """What a reduction of `total` elements starts from, as that type holds it; None: from the first of them."""
    if initial is NO_VALUE:
        initial = identity_of(function, code)
    elif initial is not None:
        initial = number_as(hooks.unwrap(initial), DTYPES[code])
    if masked and initial is None:
        raise ValueError(f"reduction operation '{function.__name__}' does not have an identity, so to use a where mask "
                         "one has to specify 'initial'")
    if total == 0 and initial is None:
        raise ValueError(f"zero-size array to reduction operation {function.__name__} which has no identity")
    return initial

cdef object number_as(object x, object dtype):
    """A scalar of NumPy's: what it stores for x in an array of that type."""
    place = np.empty((), dtype)
    place[()] = x
    return place[()]

# ---- what holds no numbers ---------------------------------------------------------------------------------------

cdef bint holds_no_numbers(object x):
    """Whether NumPy's array of x is one of texts, dates, records or objects: so are integers beyond 64 bits."""
    if isinstance(x, (ndarray, float, complex)):
        return False
    if isinstance(x, (list, tuple)) and contains_arrays(x):
        return any([holds_no_numbers(item) for item in x])
    return np.asarray(x).dtype.kind not in "biufc"

cdef object numpys_answer(object function, tuple args, dict keywords, object error):
    """What NumPy's function makes of what it holds, and copies of our arrays; numbers are ours again."""
    if error.made is not None:
        args = tuple([error.made if x is error.of else x for x in args])
    return hooks.call_numpys(function, args, keywords)
