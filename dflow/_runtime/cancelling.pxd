"""Cancelling: all that is pending, or what one array needs, and nothing else does."""

from dflow._runtime.graph cimport Storage
from dflow._runtime.region cimport Region

# GIL. How many tasks were pending
cdef long long cancel_everything() noexcept
# GIL. How many tasks: those that will write to the region (NULL: to all) of s and have not begun, and those of which
# these alone would have used the results.
cdef long cancel_needed(Storage* s, Region* r) except -1
