"""The eighteen numeric types, by code, and scalars. A type code is NumPy's type number, 0 to 16, and 17 for half."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "_kernels/c/scalars.h" nogil:
    char* scalar_data(object)                               # where the number is in a scalar of NumPy's
    double half_value(uint16_t)
    uint16_t half_of(double, int* flags)                    # adds FP_OVER, FP_UNDER
    void settle(double*)                                    # computes what is before it before what is after it

cdef extern from *:
    ctypedef long long int128 "__int128"        # holds all integers
    ctypedef unsigned long long uint128 "unsigned __int128"

cdef enum Code:
    BOOL = 0
    LONG = 7
    ULONG = 8
    MOST_INTEGER = 10
    FLOAT = 11
    DOUBLE = 12
    LONGDOUBLE = 13
    CFLOAT = 14
    CDOUBLE = 15
    CLONGDOUBLE = 16
    HALF = 17
    NCODES = 18

cdef struct Scalar:          # room for one element of any type, aligned
    long double parts[2]

cdef int itemsizes[18]
cdef long long EXACT                                        # integers up to here are doubles
cdef int twin_of[18]                                        # whose dtype is equal, and hashes alike, as those of long
                                                            # and long long of 64 bits; the code itself
cdef list DTYPES                                            # by code
cdef object INTP                                            # dtype of an index

cdef int code_of(object dtype) except -1                    # TypeError for a dtype that is not numeric
cdef int code_of_num(int typenum) noexcept                  # -1 when not numeric
cdef object descr_of(object dtype)                          # np.dtype(), also of NumPy's own types
cpdef object native(object dtype)                           # NumPy's dtype, or None; TypeError for another byte order
cdef object with_numpy_arrays(object x)     # what __array__ gives of x, or of what is in a list, as NumPy's
cdef object numpy_array(object x, object dtype)     # np.asarray; also where __array__ gives an array of ours
cdef bint write_parts(double re, double im, int code, char* p) noexcept     # False: of another kind, or too large
cdef inline bint is_complex(int code) noexcept nogil:
    return CFLOAT <= code <= CLONGDOUBLE
cdef inline bint is_integer(int code) noexcept nogil:
    return code <= 10
cdef inline int128 integer_at(int code, char* p) noexcept nogil:
    cdef int size = itemsizes[code]
    if code % 2:                            # signed
        return (<int64_t*>p)[0] if size == 8 else (<int32_t*>p)[0] if size == 4 else (
            <int16_t*>p)[0] if size == 2 else (<int8_t*>p)[0]
    return (<uint64_t*>p)[0] if size == 8 else (<uint32_t*>p)[0] if size == 4 else (
        <uint16_t*>p)[0] if size == 2 else (<uint8_t*>p)[0]
cdef inline bint in_range(int128 value, int code) noexcept nogil:       # of integers
    cdef int bits = 8 * itemsizes[code]
    return -(<int128>1 << bits - 1) <= value < <int128>1 << bits - 1 if code % 2 else 0 <= value < <int128>1 << bits
cdef inline bint is_true(int code, char* p) noexcept nogil:
    if is_integer(code):
        return integer_at(code, p) != 0
    if code == DOUBLE or code == CDOUBLE:
        return (<double*>p)[0] != 0 or code == CDOUBLE and (<double*>p)[1] != 0
    if code == FLOAT or code == CFLOAT:
        return (<float*>p)[0] != 0 or code == CFLOAT and (<float*>p)[1] != 0
    if code == HALF:
        return (<uint16_t*>p)[0] & 0x7fff
    return (<long double*>p)[0] != 0 or code == CLONGDOUBLE and (<long double*>p)[1] != 0
cdef inline int real_code(int code) noexcept nogil:
    return code - 3 if is_complex(code) else code

cdef int scalar_code(object) noexcept                                       # of a scalar of NumPy's; -1: it is none
cdef int write_scalar(object value, int code, char* p) except -1            # OverflowError for an int that does not fit
cdef object read_scalar(int code, char* p)                                  # a Python scalar
cdef object read_complex(int code, char* p)                                 # a Python complex
cdef object read_numpy_scalar(int code, char* p)                            # one of NumPy's
cdef int write_number(int source, char* p, int target, char* q) except -1   # of a scalar, for an integer type
