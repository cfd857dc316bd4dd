"""The record of what was computed from arrays that have gradients, and the way back through it."""

from cpython.object cimport PyObject
from dflow._array.core cimport ndarray
from dflow._base.thread_state cimport recorders

cdef bint any_records(PyObject** args, Py_ssize_t n) noexcept           # records(), also of what is in lists
cdef object record(object key, tuple slots, function, tuple args, dict keywords)
cdef object recorded(object key, tuple slots, object result)  # the result of a function of these, with its node
cdef int check_place(object result) except -1                          # a result of these that is not ours: may it be?
cdef object record_row(function, PyObject** args, Py_ssize_t nargs, PyObject* names)    # of a function in the table
cdef tuple before_write(ndarray a, tuple slots)                         # the parents of what a will be
cdef int after_write(object key, tuple slots, tuple parents, ndarray a) except -1
cdef int confirm_inplace(ndarray a, object part, ndarray value) except -1
cdef ndarray earlier(ndarray a)                                         # a copy that stands for the value of a
cdef int stand_for(ndarray a, ndarray value) except -1  # a was written to, and stands for what value does

cdef class Rule:
    cdef readonly str name
    cdef readonly tuple slots
    cdef readonly tuple defaults
    cdef tuple functions        # by slot: (function, the slots that it takes), or None
    cdef tuple joint            # the same, or None
    cdef bint over_complex, conjugates
    cdef object rest(self, Py_ssize_t given)
    cdef tuple function(self, int slot)

cdef bint gradients_kept() noexcept                                     # whether an array has ever had one

# ---- for programs
cdef int set_noted_leaves(list leaves) except -1
cdef long long newest_node() noexcept
cdef long long leaves_replaced() noexcept
cdef ndarray stand_in(ndarray a)
cdef int return_to(ndarray a, ndarray v) except -1
cdef dict back_to(list heads, list gradients, long long floor, bint again)
cdef bint is_leaf(object n) noexcept
cdef bint is_constant(object n) noexcept
cdef object node_at(ndarray a)  # of a recorded array; ValueError if it was written to since
cdef int record_heads(Rule rule, object held, tuple parents, list heads) except -1
