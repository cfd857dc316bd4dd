"""Why something is not there yet: the tasks that it waits for, as a tree. For users, and for debugging the engine."""

from dflow._runtime.graph cimport Storage
from dflow._runtime.region cimport Region

# All need the GIL. r NULL: all of s; s NULL: all that is pending.
cdef str story_of(Storage* s, Region* r)
cdef bint tell_late(Storage* s, Region* r, long long start) except -1   # as a warning, if a wait since then is long
