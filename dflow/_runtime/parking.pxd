"""Parking: when a worker sleeps, and who wakes it. All that counts workers by what they do is changed here and
nowhere else.

               ┌────── finds something: begin_work() ──────┐
               v                                           │
    started ─> at work ─ finds nothing ─> searching, one a lane ─ WATCH_NS: end_search(), and it looks once more
               │            │               ^              │
               │            │ another does  │ it runs      │ finds nothing
               │            └────────────┐  │              v
               │                         └──┼───────────> asleep: park_worker()
               │                            └─ coming <─ wake_worker()
               └─ dismissed ─> gone, between two tasks, or after a search

A push may rely on one worker that searches, or is coming: it looks at the queues once more before it does something
else, and wakes the next if there is more than it takes. So at most one searches, and one is woken at a time, and a
burst of submissions costs one system call, not one each. What may go wrong with that:

    lost wake-ups   Who goes to sleep announces it (`sleeping`), then looks for work; who has work publishes it, then
                    looks at `sleeping`. Both have a full fence between the two, so one sees the other. The same holds
                    for `searching`, `hosting` and `engaged`: a worker that stops to be one that others rely on looks
                    again.
    a worker that does not come
                    The system may keep it waiting for the core of the very thread that relies on it: after WATCH_NS the
                    next push wakes another one (`relied`).
    too many        Nobody is woken while as many threads are at work as there are workers (crowded()), unless the
                    work is long or may block: one more would share a core.

Invariants:
    P1  `sleeping` is the length of the list of sleepers, plus the workers that have announced it and still look;
    P2  a worker in the list is `asleep`, and no other is; both change under idle_bell;
    P3  `coming` counts those that are `called`: woken, and not yet counted in `searching`. They go from the one to
        the other without a gap.
"""

from dflow._runtime.graph cimport Task
from dflow._runtime.queues cimport Lane, Runner

# ---- who has work
cdef void wake_worker(Lane* lane, bint surely) noexcept nogil         # after a push. surely: it is long, or Python code
# after a kernel was split
cdef void wake_for_pieces(Lane* lane, int there, long long pieces, double cost) noexcept nogil
cdef bint somebody_looks(Lane* lane, Runner* me) noexcept nogil         # who would come for a part at once
cdef void share_next(Lane* lane, double cost) noexcept nogil       # a kernel runs whole, as nobody looks around
cdef void note_split(Lane* lane, bint helped, double cost) noexcept nogil      # after it
cdef void queue(Task* t, double cost) noexcept                     # GIL; push, and wake a worker once that is worth it
cdef void note_claimed(Task* t) noexcept                           # GIL; who waits runs t, as no worker has come yet
cdef void announce(bint surely) noexcept                           # GIL; wake one for what was queued without
cdef void announced() noexcept                                     # GIL; nothing of that is left to be woken for
cdef bint unannounced() noexcept                                   # GIL; whether some is
cdef void start_group() noexcept nogil                             # close the open group, if there is one, and queue it

# ---- workers
cdef bint any_ready(Lane* lane) noexcept nogil                  # whether something is queued, or split
cdef bint work_for(Lane* lane) noexcept nogil                   # or the open group waits for nothing but a worker
cdef bint begin_search(Lane* lane) noexcept nogil               # False: another one searches
cdef void end_search(Lane* lane) noexcept nogil                 # then look once more: a push may have relied on it
cdef long long search_ends(Lane* lane) noexcept nogil           # the time up to which one that begins now looks around
cdef bint look_around(Runner* me, long long until) noexcept nogil       # until there is work (True), or that time
cdef bint park_worker(Runner* me) noexcept nogil                # unless there is work. True: it was woken, and searches
cdef void wake_all(Lane* lane) noexcept nogil                   # the sleepers, to see that they are dismissed
cdef void begin_work(Lane* lane) noexcept nogil                 # it has found something: is there more?
cdef void look_back(Lane* lane) noexcept nogil                  # the same, for who was not idle

# ---- what others cannot rely on: each looks back
cdef void begin_long(Lane* lane) noexcept nogil
cdef void end_long(Lane* lane) noexcept nogil
cdef void begin_host(Lane* lane) noexcept nogil
cdef void end_host(Lane* lane) noexcept nogil

cdef void parking_after_fork(Lane* lane) noexcept                       # no worker has survived
