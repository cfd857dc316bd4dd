"""Floating point flags: np.errstate's policy, and the warnings that workers leave for the next sync."""

from dflow._runtime.errors cimport Site
from dflow._kernels.kernel cimport Kernel, REPORTS_FP, TELLS_FP

cdef inline int fp_event(int flags, Kernel* k) except -1:   # flags that a kernel raised in the caller, if any:
    return follow_policy(flags, k) if flags else 0
cdef int follow_policy(int flags, Kernel* k) except -1      # warn, raise, call
cdef int warn_user(str message, object category) except -1   # at the user's line
cdef int read_fp_policy() except -1                         # np.errstate, into:
cdef int fp_warn                                            # flags to warn of
cdef int fp_strict                                          # flags that raise or call: their operations run at once
cdef bint finite_checked                                    # GIL; whether all but underflows raise, whatever that says
cdef enum:
    LOOP_DIFFERS = 256          # no flag: a native loop did not compute what NumPy's loops do
cdef inline bint is_strict(Kernel* k) noexcept:             # after read_fp_policy(): whether k is to run at its call
    return fp_strict != 0 and (k.flags & REPORTS_FP or finite_checked and k.flags & TELLS_FP)
cdef void warn_later(int flags, Site* site, Kernel* k) noexcept nogil           # of flags, or of that
cdef Given warnings_go() noexcept                           # GIL

cdef enum Given:            # what becomes of a warning now:
    SHOWN
    IGNORED
    RECORDED                # it may be that the program looks at it
    RAISED                  # a filter makes an error of it
cdef bint warnings_wait() noexcept nogil                    # whether any were left
cdef int give_warnings() except -1
