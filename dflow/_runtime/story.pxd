"""Why something is not there yet: the tasks that it waits for, as a tree. For users, and for whoever debugs the engine."""

from dflow._runtime.graph cimport Storage
from dflow._runtime.region cimport Region

cdef str story_of(Storage* s, Region* r)        # GIL; of the elements in r, or NULL: of all of s. s NULL: of all that is pending
cdef bint tell_late(Storage* s, Region* r, long long start) except -1  # the same as a warning, if a wait since then is long
