"""Ufuncs over dflow arrays: NumPy's, and any third party's, through their own loops."""

from dflow._kernels.kernel cimport intp, Kernel
from dflow._functions.fastpath cimport Plan, Reduction
from dflow._array.core cimport ndarray
from dflow._functions.by_vector cimport vectorcallfunc

cdef class ufunc:
    cdef vectorcallfunc vectorcall
    cdef readonly object numpy  # NumPy's ufunc object
    cdef readonly int nin
    cdef readonly int nout
    cdef object name
    cdef float cost             # nanoseconds for one element, roughly
    cdef bint reorderable       # it may be reduced along several axes
    cdef object core            # parsed signature of a gufunc, or None
    cdef dict plans             # tuple of kinds: address of a Plan
    cdef dict others            # the same, while npx.set_np() is otherwise
    cdef Plan* binary[21 * 21]  # the same for two inputs
    cdef Plan* unary[18]        # and for one
    cdef void* reductions[2][18]    # Reduction*, by whether `out` is of the same type, and type code
    cdef public object failure  # text of the LinAlgError that an invalid result means; empty: a MemoryError

    cdef Plan* plan(self, tuple kinds) except NULL

cdef ufunc wrap(object numpy_ufunc)
cdef object call(ufunc u, tuple inputs, tuple out, object where, object dtype, object casting, object signature)
cdef ndarray reduce(ufunc u, ndarray a, object axis, object dtype, object out, bint keepdims, object initial,
                    object where)
cdef int broadcast_shape(tuple inputs, intp* shape, int ndim) except -1
