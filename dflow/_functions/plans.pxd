"""Which loop a call of a ufunc takes, and in which types. `u` is NumPy's ufunc."""

from dflow._functions.fastpath cimport Plan

cdef int kind_of(object x) except -1            # type code of an ndarray, or the weak kind of a Python number
# failure: text of the LinAlgError that an invalid result means, or None
cdef Plan* make_plan(object u, object failure, tuple kinds, object signature, object casting) except NULL
cdef bint is_single() noexcept                  # functions of whole numbers are float32, where NumPy's are float64
cdef void be_single(bint on) noexcept
