"""Type codes, dtypes by them, and scalars: see _kernels/dtypes.pxd."""

import numpy as np
cimport numpy as cnp
from cpython.complex cimport PyComplex_FromDoubles, PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.object cimport Py_TYPE, PyTypeObject
from libc.float cimport FLT_MAX
from libc.math cimport fabs
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memcpy
from dflow._base.fpflags cimport FP_OVER

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void*, cnp.dtype, object)

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

EXACT = 1 << 53
cdef object float64 = np.float64, complex128 = np.complex128

# ---- type codes ------------------------------------------------------------------------------------------------

cdef dict code_by_dtype = {}        # every dtype, type object and name seen so far; of dtypes that are equal, TWINS
cdef int TWINS = NCODES
cdef PyTypeObject* scalar_types[NCODES]                           # NumPy's, by code

def _fill_types():
    cdef int code, first
    cdef object dtype
    for code in range(18):
        dtype = cnp.PyArray_DescrFromType(23 if code == HALF else code)
        DTYPES.append(dtype)
        itemsizes[code] = dtype.itemsize
        first = code_by_dtype.setdefault(dtype, code)
        twin_of[code], twin_of[first] = first, code
        if first != code:
            code_by_dtype[dtype] = TWINS
        code_by_dtype[dtype.type] = code_by_dtype[type(dtype)] = code
        scalar_types[code] = <PyTypeObject*>dtype.type

DTYPES = []
_fill_types()
INTP = np.dtype(np.intp)
code_by_dtype.update({bool: 0, int: code_of_num(np.dtype(int).num), float: DOUBLE, complex: CDOUBLE})
dtypes = tuple(DTYPES)              # for Python: the supported dtypes, by type code

cdef int code_of_num(int typenum) noexcept:
    return typenum if 0 <= typenum <= 16 else HALF if typenum == 23 else -1

class NotHeld(TypeError):
    """Of what dflow's arrays do not hold, but NumPy's do: functions that meet it are NumPy's then.

    `made` is NumPy's array of the argument `of`, where it was made before that was found.
    """
    of = made = None

cdef int code_of(object dtype) except -1:
    """Type code of anything that NumPy takes for a dtype. NotHeld for what is no number, or of another byte order."""
    cdef int code
    try:
        code = <int>code_by_dtype[dtype]
        return code if code != TWINS else code_of_num((<cnp.dtype?>dtype).num)
    except (KeyError, TypeError):
        pass
    descr = native(dtype) or np.dtype(None)         # which stands for floats
    code = code_of_num(descr.num)
    if code < 0:
        raise NotHeld(f"dflow arrays hold numbers: dtype {descr} is not supported")
    if len(code_by_dtype) < 1000 and (
            isinstance(dtype, (type, np.dtype)) or type(dtype) is str):         # others may equal what has another type
        code_by_dtype[dtype] = code
    return code

cdef object descr_of(object dtype):
    """NumPy's dtype of anything that it takes for one. Of a type like np.dtypes.Int8DType, np.dtype() says object."""
    return np.empty(0, dtype).dtype if isinstance(dtype, type(np.dtype)) else np.dtype(dtype)

cpdef object native(object dtype):
    """NumPy's dtype, or None. NotHeld for another byte order than the machine's: it would be lost."""
    descr = None if dtype is None else descr_of(dtype)
    if isinstance(dtype, type(np.dtype)) and descr.kind in "SUV":
        raise NotHeld(f"dflow arrays hold numbers: {dtype} is not supported")       # of a length to be found out
    if descr is not None and not descr.isnative:
        raise NotHeld(f"dflow arrays have the machine's byte order: dtype {descr.str!r} is not supported, but by "
                        f"NumPy's arrays, as x.asnumpy().astype({descr.str!r}) gives")
    return descr

cdef class Whole:
    """What is an element of an array of objects, though it has an __array__."""
    cdef object item

cdef object numpy_array(object x, object dtype):
    """np.asarray(x, dtype), also where the __array__ of something in x gives an array of ours; that of x as it is."""
    try:
        return np.asarray(x, dtype)
    except ValueError as error:
        if "__array__ method not producing an array" not in str(error):
            raise
        if not hasattr(type(x), "__array__"):
            return of_items(x, dtype)
        made = x.__array__()
        if not hasattr(made, "asnumpy"):
            raise
    return made if dtype is None else np.asarray(made.asnumpy(), dtype)

cdef object with_numpy_arrays(object x):
    if isinstance(x, (list, tuple)):
        return [with_numpy_arrays(item) for item in x]
    array = x.__array__() if hasattr(type(x), "__array__") else x
    return array.asnumpy() if hasattr(array, "asnumpy") else array

cdef object of_items(object x, object dtype):
    """np.asarray of a list with such things in it."""
    cdef bint objects = dtype is not None and descr_of(dtype).hasobject
    array = np.asarray(with_items(x, objects), dtype)
    if objects:
        for place, item in np.ndenumerate(array):
            if isinstance(item, Whole):
                array[place] = (<Whole>item).item
    return array

cdef object with_items(object x, bint objects):
    """As with_numpy_arrays(), but what has no axes is an element, as to NumPy: itself, or the number it says it is."""
    cdef Whole whole
    if isinstance(x, (list, tuple)):
        return [with_items(item, objects) for item in x]
    array = x.__array__() if hasattr(type(x), "__array__") else x
    if not hasattr(array, "asnumpy"):
        return array
    array = array.asnumpy()
    if array.ndim or hasattr(type(x), "asnumpy"):
        return array
    if objects:
        whole = Whole()
        whole.item = x
        return whole
    return array.dtype.type(type(array.item())(x))

# ---- scalars ---------------------------------------------------------------------------------------------------

cdef int scalar_code(object x) noexcept:
    cdef int code
    if scalar_types[<int>DOUBLE] == Py_TYPE(x):         # most are
        return DOUBLE
    for code in range(NCODES):
        if scalar_types[code] == Py_TYPE(x):
            return code
    return -1

cdef extern from "Python.h":
    double PyLong_AsDouble(object) except? -1.0
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

cdef int out_of_bounds(object value, int code) except -1:
    raise OverflowError(f"Python integer {value} out of bounds for {DTYPES[code].name}")

cdef int too_large() except -1:
    raise OverflowError("Python int too large to convert to C long")

cdef int write_integer(object value, int code, char* p) except -1:
    cdef int overflow
    cdef long long v = PyLong_AsLongLongAndOverflow(value, &overflow)
    cdef uint64_t u = 0
    cdef int size = itemsizes[code]
    if code == 2 or code == 4 or code == 6 or code == 8 or code == 10:
        if overflow > 0 and size >= 4:          # NumPy reads these as unsigned long, smaller ones as long
            try:
                u = <uint64_t>value
            except OverflowError:
                too_large()
            if size == 4:
                out_of_bounds(value, code)
            (<uint64_t*>p)[0] = u
            return 0
        if overflow:
            too_large()
        if v < 0 or (size < 8 and v >> (8 * size)):
            out_of_bounds(value, code)
    elif overflow:
        too_large()
    elif size < 8 and (v >= 1LL << (8 * size - 1) or v < -(1LL << (8 * size - 1))):
        out_of_bounds(value, code)
    if size == 8:
        (<int64_t*>p)[0] = v
    elif size == 4:
        (<int32_t*>p)[0] = <int32_t>v
    elif size == 2:
        (<int16_t*>p)[0] = <int16_t>v
    else:
        (<int8_t*>p)[0] = <int8_t>v
    return 0

cdef bint write_parts(double re, double im, int code, char* p) noexcept:
    """Store a number as floats or complex ones. False: it is too large, or the type is another one."""
    cdef int flags = 0
    cdef uint16_t half
    if code == DOUBLE or code == CDOUBLE:
        (<double*>p)[0] = re
        if code == CDOUBLE:
            (<double*>p)[1] = im
        return True
    if code == FLOAT or code == CFLOAT:
        if not (fabs(re) < FLT_MAX or re - re != 0) or not (fabs(im) < FLT_MAX or im - im != 0):
            return False
        (<float*>p)[0] = <float>re
        if code == CFLOAT:
            (<float*>p)[1] = <float>im
        return True
    if code == HALF:
        half = half_of(re, &flags)
        if not flags & FP_OVER:
            (<uint16_t*>p)[0] = half
            return True
    return False

cdef bint write_whole(double x, int code, char* p) noexcept:
    """Store a number as an integer, towards zero, or a bool. False: it is too large."""
    cdef long long n
    if code == BOOL:
        p[0] = x != 0
        return True
    if not fabs(x) < EXACT:
        return False
    n = <long long>x
    if not in_range(n, code):
        return False
    memcpy(p, &n, itemsizes[code])
    return True

cdef int write_scalar(object value, int code, char* p) except -1:
    """Store a Python or NumPy scalar as the type `code`."""
    cdef long long n
    cdef int overflow
    if type(value) is int:
        if code == DOUBLE:
            (<double*>p)[0] = PyLong_AsDouble(value)
            return 0
        if code != BOOL and is_integer(code):
            return write_integer(value, code, p)
        n = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow == 0 and -EXACT <= n <= EXACT and write_parts(<double>n, 0, code, p):
            return 0
    elif type(value) is float or type(value) is float64:
        if write_parts(value, 0, code, p) or is_integer(code) and write_whole(value, code, p):
            return 0
    elif type(value) is complex or type(value) is complex128:
        if is_complex(code) and write_parts(PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value), code, p):
            return 0
    elif type(value) is bool:
        if code == BOOL:
            p[0] = <char>(value is True)
            return 0
        return write_scalar(1 if value is True else 0, code, p)
    # The rare types: let NumPy convert.
    array = np.empty((), DTYPES[code])
    array[()] = value
    memcpy(p, cnp.PyArray_DATA(array), itemsizes[code])
    return 0

cdef object read_scalar(int code, char* p):
    """A Python scalar; NumPy's own for longdouble, as there is no Python type."""
    if code == DOUBLE:
        return (<double*>p)[0]
    if code == BOOL:
        return p[0] != 0
    if is_integer(code):
        if code % 2:
            return <int64_t>integer_at(code, p)
        return <uint64_t>integer_at(code, p)
    if code == FLOAT:
        return <double>(<float*>p)[0]
    if code == CDOUBLE:
        return PyComplex_FromDoubles((<double*>p)[0], (<double*>p)[1])
    if code == CFLOAT:
        return PyComplex_FromDoubles((<float*>p)[0], (<float*>p)[1])
    if code == HALF:
        return half_value((<uint16_t*>p)[0])
    return read_numpy_scalar(code, p).item()

cdef object read_complex(int code, char* p):
    """A Python complex."""
    if is_integer(code):
        return PyComplex_FromDoubles(<double><int64_t>integer_at(code, p) if code % 2 else
                                     <double><uint64_t>integer_at(code, p), 0)
    if code == DOUBLE or code == CDOUBLE:
        return PyComplex_FromDoubles((<double*>p)[0], (<double*>p)[1] if code == CDOUBLE else 0)
    if code == FLOAT or code == CFLOAT:
        return PyComplex_FromDoubles((<float*>p)[0], (<float*>p)[1] if code == CFLOAT else 0)
    if code == HALF:
        return PyComplex_FromDoubles(half_value((<uint16_t*>p)[0]), 0)
    return complex(read_scalar(code, p))

cdef object read_numpy_scalar(int code, char* p):
    return PyArray_Scalar(p, <cnp.dtype>DTYPES[code], None)

cdef int write_number(int source, char* p, int target, char* q) except -1:
    """int() of a scalar, as NumPy stores it in an integer: OverflowError where it does not fit, ValueError for NaN."""
    number = read_scalar(source, p)
    return write_scalar(int(number.real if is_complex(source) else number), target, q)
