"""Cancelled tasks. One goes the way of a task whose input is poisoned: when its turn comes it leaves its error in what
it was to write, and nothing runs. So queues, frontiers and waiters know nothing of it.

Cancelled are the tasks that were submitted up to `cancelled_to` (cancel_all()), and those with CANCELLED among their
flags (cancel()). Who sets either has the GIL and has stopped all runners; a task that has begun gets no flag. A kernel
that runs in pieces, of a task from before, begins no further one (Split.cut).

Invariants:
    C1  flags of a task change after its submission only while runners are held, and it is no runner's;
    C2  of a group that runs in one go no member is cancelled as it begins: else each runs on its own. All have been
        submitted by then, so a kernel that is cut short is that of cancelled tasks alone.
"""

from dflow._base.atomics cimport glance_int, load_int
from dflow._runtime.errors cimport Poison
from dflow._runtime.graph cimport CANCELLED, next_member, Task

cdef struct Cancels:
    int any                 # atomic: tasks that were cancelled may be pending
    int all                 # atomic: all up to this one are:
    int to                  # atomic, written before `all`
    long long at            # GIL; of submissions, when that was

cdef Cancels cancels
cdef Poison cancelled_poison    # for ever; nobody need be told of it

cdef inline bint from_before(unsigned int order) noexcept nogil:
    return load_int(&cancels.all) != 0 and <int>(order - <unsigned int>glance_int(&cancels.to)) <= 0
cdef inline bint is_cancelled(Task* t) noexcept nogil:          # t alone, of its group
    return load_int(&cancels.any) != 0 and (t.flags & CANCELLED or from_before(t.order))
cdef bint any_cancelled(Task* t) noexcept nogil                 # t, or a member of its group,
cdef bint all_cancelled(Task* t) noexcept nogil                 # and all of them

# All need the GIL.
cdef void cancel_all_pending() noexcept         # that has not begun
cdef void note_cancel() noexcept                # some tasks have got the flag
cdef void forget_cancels(bint idle) noexcept    # if nothing is pending, or it is long ago
