"""The open group: elementwise tasks join it as they are submitted. Who may join is in _runtime/fusion_rules.pxd.

    none ─ offer() ─> open ─ offer(), offer_last() ─> open ─ close, or a task that may not join ─> closed

Members are added by a thread with the GIL, under the lock. Anyone may close the group, under the lock alone: an idle
worker, a thread that waits. While the group is open, its leader has one predecessor more than it waits for, which
closing takes away. So nothing of it runs, and nobody outside can wait for it, before it is complete.

The lock comes before those of storages: offers connect tasks under it. Who holds a storage's lock never takes it.
"""

from dflow._kernels.kernel cimport intp
from dflow._runtime.fusion_rules cimport Waits
from dflow._runtime.fusion_space cimport Space
from dflow._runtime.graph cimport Storage, Task
from dflow._runtime.queues cimport Lane

cdef struct Closed:         # a group that was closed
    Task* leader            # for the caller to queue; NULL: there was none, or it still waits for something
    double cost             # nanoseconds, of all members
    bint needed             # the group that follows waits for something that is not done: this one, if that is all

cdef struct Ripeness:       # what an idle worker saw of the open group,
    Task* leader
    int members
    long long since         # and when it last saw it grow

cdef int longest_group                                           # GIL; most members of a group; below 2: there are none

# ---- GIL
cdef bint offer(Task* t, Closed* closed) noexcept        # joins, or opens another. Whether it has become worth a worker
cdef bint offer_last(Task* t, Closed* closed) noexcept   # joins and closes it. False: it may not join
cdef bint would_join(intp elements, bint ready) noexcept                # whether it is large, and of such operations
cdef bint small_group(double most) noexcept              # whether it waits for nothing, and is no work for others

# ---- any thread
cdef Task* open_leader() noexcept nogil                                 # of the open group; NULL: none is open
cdef Closed close_group() noexcept nogil
cdef Lane* group_waits() noexcept nogil                                 # for whose workers it does, if for nothing else
cdef bint ripe(Ripeness* seen, long long now) noexcept nogil            # whether nobody has joined it for long
cdef void open_group_after_fork() noexcept                              # in the child: no lock is held
