"""The threads that run tasks, beside those that wait: workers, hired and dismissed one by one, and deputies.

A deputy runs Python functions (host tasks) for a thread that waits and could not go on without: all workers are at
something else. A waiting thread itself runs none. Signal handlers run between two steps of Python on the main thread:
an interrupt of the wait would end somebody's function, and a handler that waits would wait within it.

A worker leaves between two tasks, in its own time, so whoever changes their number waits for none of them.

Invariants:
    T1  `dismissed` goes STAYS -> ASKED and back under the GIL, ASKED -> GONE by the worker alone, without a task;
    T2  a worker is in its lane's `workers` from before it runs until it is gone; both ends under the GIL and idle_bell;
    T3  a deputy's Runner is registered, with the task, before its thread is there, so that a fork finds the task; the
        later of the deputy and the thread that sent it frees it.
"""

from dflow._runtime.graph cimport Task
from dflow._runtime.queues cimport Lane, Runner

cdef int hire(Lane* lane) except -1                  # as many workers as are wanted; may give the GIL away
cdef void dismiss(Lane* lane, int but) noexcept      # all after the first so many
cdef void bind_workers(Lane* lane) noexcept          # to lane.cores, or to none: after idle_bell and these have changed
cdef bint over() noexcept                            # the process ends: no worker will come
cdef void leave_process() noexcept                   # dismiss all for good; wait a second for them at most
cdef void threads_after_fork() noexcept              # in the child
cdef bint may_send(Runner* me) noexcept nogil        # whether the last deputy of who waits is back
cdef bint send_deputy(Runner* me, Task* t, bint stays) noexcept with gil    # False: no thread could be had
cdef void release_deputy(Runner* me) noexcept nogil  # who waits does so no more
