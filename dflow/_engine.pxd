"""The engine's contract: submit tasks, wait for storages. What tasks and storages are is in _runtime/graph.pxd.

Submission is one total order: only a thread that holds the GIL submits. Workers finish tasks without it.
Elementwise tasks join the open group instead of a queue: see _runtime/fusion.pxd.
"""

from dflow._runtime.region cimport Region
from dflow._kernels.kernel cimport intp
from dflow._runtime.graph cimport Storage, Task

cdef int submit(Task* t) except -1

# ---- running and waiting
cdef void nudge() noexcept                                           # somebody asks whether something is ready
# GIL; r NULL: all of it. Raises its poison. False: `once`, and other threads have submitted writes meanwhile.
cdef bint wait_storage(Storage* s, Region* r, bint write, bint once) except -1
cdef long long memory_budget                                        # changed with the GIL, read without
cdef void try_to_catch_up(Storage* s) noexcept                       # GIL; runs small work that s waits for, if it can
cdef double catch_up(Storage* s, double most) noexcept               # GIL; the same, of up to so many nanoseconds each, always
cdef bint would_join(intp elements, bint ready) noexcept             # GIL; whether the open group is large, and of such operations
cdef bint make_room(size_t nbytes) except -1
cdef bint region_ready(Storage* s, Region* r, bint write) noexcept nogil

cdef struct Settings:
    bint naive              # run every operation at its call
    float inline_cost       # nanoseconds up to which an operation on ready data runs in its caller,
    float tiny_cost         # or, when it may join a group, up to this; one would rather catch up with what it waits for, too
    long long inlined       # operations that did

cdef Settings settings
