"""Kernels: NumPy's own loops looked up, and a few of ours with the same signature.

A type code is NumPy's type number, 0 to 16, and 17 for half: the eighteen numeric types.
"""

from libc.stdint cimport int64_t
from dflow._kernels.kernel cimport DataTag, intp, Kernel, loop_t
from dflow._kernels.reduce cimport Fold

cdef enum Code:
    BOOL = 0
    LONG = 7
    ULONG = 8
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
cdef list DTYPES                                            # by code
cdef object INTP                                            # dtype of an index

cdef int code_of(object dtype) except -1                    # TypeError for a dtype that is not numeric
cdef object descr_of(object dtype)                          # np.dtype(), also of NumPy's own types
cpdef object native(object dtype)                           # NumPy's dtype, or None; TypeError for another byte order
cdef object with_numpy_arrays(object x)     # what __array__ gives of x, or of what is in a list, as NumPy's
cdef object numpy_array(object x, object dtype)     # np.asarray; also where __array__ gives an array of ours
cdef int code_of_num(int typenum) noexcept                  # -1 when not numeric
cdef inline bint is_complex(int code) noexcept nogil:
    return CFLOAT <= code <= CLONGDOUBLE
cdef inline bint is_integer(int code) noexcept nogil:
    return code <= 10
cdef inline int real_code(int code) noexcept nogil:
    return code - 3 if is_complex(code) else code

cdef Kernel* kernel_new(const char* name, int nin, int nops, loop_t loop, void* data, int flags, float cost,
                        DataTag tag=*) except NULL
cdef Kernel* recall(object key) except? NULL                 # what remember() was given; NULL: nothing yet
cdef Kernel* remember(object key, Kernel* k) except NULL     # k
cpdef int name_kernel(object key, size_t k) except -1
cdef object key_of(Kernel* k)
cdef Kernel* cast_kernel(int source, int target) noexcept
cdef int write_number(int source, char* p, int target, char* q) except -1   # of a scalar, for an integer type
cdef Kernel* number_kernel(int source, int target) except NULL
cdef object loop_types(object u, int nin, tuple arguments, object casting, dict keywords)     # resolve_dtypes()
cdef Kernel* ufunc_kernel(object ufunc, tuple codes) except? NULL           # NULL: no such loop
cdef Kernel* failing_kernel(Kernel* k, bytes failure) except NULL           # an invalid result is a LinAlgError
cdef Kernel* masked_kernel(Kernel* k) except NULL                           # one more input after its inputs: the mask
cdef int fill_fold(Fold* w, Kernel* k, int code, bint blocked) except -1     # all but its axes, of a zeroed one
cdef Kernel* reduce_kernel(Kernel* k, int code, int naxes, bint initial, bint blocked) except NULL
cdef Kernel* accumulate_kernel(Kernel* k, int code) except NULL
cdef Kernel* reduceat_kernel(Kernel* k, int code) except NULL
cdef Kernel* at_kernel(Kernel* k, int nin, int code) except NULL
cdef Kernel* sleep_kernel
cdef int write_scalar(object value, int code, char* p) except -1            # OverflowError for an int that does not fit
cdef object read_scalar(int code, char* p)                                  # a Python scalar
