"""Waiting: a thread that reads a value, or wants room, runs what it can meanwhile, and else sleeps.

What it waits for is a Wait, of one of the kinds below; finished() says whether it is over. In order, who waits
    1.  runs what is small and needed, with the GIL (catch_up);
    2.  claims what is needed out of turn, while a core is free for it, without;
    3.  becomes a runner, and helps: with what it needs, with split kernels, with anything else; a Python function it
        has run by a deputy (_runtime/threads.pxd);
    4.  looks around for SPIN_NS, or WATCH_NS if no worker wants for its core, then sleeps until something is done, and
        looks at signals every SLICE_NS.
"""

from dflow._kernels.kernel cimport intp
from dflow._runtime.graph cimport Storage, Task
from dflow._runtime.queues cimport Lane
from dflow._runtime.region cimport Region

cdef enum WaitKind:
    FOR_STORAGE             # no pending access is in the way of reading, or writing, a region of s
    FOR_ALL                 # nothing is pending,
    FOR_LANE                # or not in this lane,
    FOR_FEWER               # or at most `limit` tasks
    FOR_ENDED               # so many tasks have ended since the process started as `limit`
    FOR_ROOM                # as many bytes as `limit` fit into the budget, with room to spare until `patience` is over

cdef struct Wait:
    WaitKind kind
    long long limit
    long long patience      # FOR_ROOM: a time
    Lane* lane              # FOR_LANE
    Storage* s              # FOR_STORAGE: this,
    Region* r               # here; NULL: all of it,
    bint write
    bint once               # or that others have submitted writes to it
    unsigned int order      # since this task
    bint late               # it has waited long enough to share a core with a worker
    bint joined             # it has just taken part in a split kernel

# All need the GIL.
cdef Wait wait_for(WaitKind kind, long long limit=*) noexcept
cdef bint finished(Wait* w) noexcept nogil
cdef int block(Wait* w, bint once=*) except -1         # `once`: for one slice of time at most. Ctrl-C interrupts
cdef int settle(bint once=*) except -1                 # until nothing is pending
# In the budget. False: they never will fit. In a host task: True. back: to memory, where the program needs them: others
# leave as far as they can, and none is waited for that may itself wait for room.
cdef bint make_room(size_t nbytes, bint back) except -1
# r NULL: all of it. Raises its poison. False: `once`, and other threads have submitted writes meanwhile.
cdef bint wait_storage(Storage* s, Region* r, bint write, bint once) except -1
# To read, until `deadline`, of now_ns(); it raises no poison. False: it is late. r: of s, NULL: all; s NULL: FOR_ALL
cdef long long deadline_of(object timeout) except -1        # in so many seconds; ValueError, TypeError
cdef bint wait_until(Storage* s, Region* r, long long deadline) except -1
cdef bint region_ready(Storage* s, Region* r, bint write) noexcept nogil
cdef void nudge() noexcept                                  # somebody asks whether something is ready: let it become so
cdef void run_or_queue(Task* t, double cost) noexcept       # a small group that is complete and ready, and needed
cdef void try_to_catch_up(Storage* s) noexcept              # runs small work that s waits for, if it can
cdef double catch_up(Storage* s, double most) noexcept      # the same, of up to so many nanoseconds each, always

cdef void stand_by(Storage* s, double most) noexcept        # while others are at what s waits for, if it is as small

cdef long long memory_budget                                        # bytes; changed with the GIL, read without
cdef long long waits                                                # that blocked,
cdef long long memory_waits                                         # and submissions that did, for room
