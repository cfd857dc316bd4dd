"""Runners: the threads that run tasks, as the rest of the engine sees them. The struct is in _runtime/queues.pxd.

A runner is a worker, or a thread that helps while it waits. It is `inside` while it touches shared structures, and
outside while it runs a kernel, sleeps, or waits for the GIL; fork() waits until nobody is inside.
"""

from dflow._runtime.queues cimport Runner

cdef void register(Runner* me) noexcept nogil
cdef void unregister(Runner* me) noexcept nogil
cdef Runner* this_runner() noexcept nogil                               # NULL: this thread is none
cdef void set_runner(Runner* me) noexcept nogil
cdef long long pending() noexcept nogil                                 # tasks submitted and not finished

cdef void enter(Runner* me) noexcept nogil
cdef void leave(Runner* me) noexcept nogil
cdef void hold_runners() noexcept                                       # GIL: outside, until let_runners_go()
cdef void let_runners_go() noexcept nogil

cdef void take_gil(Runner* me) noexcept nogil
cdef void drop_gil(Runner* me) noexcept nogil
cdef void let_gil_go(Runner* me) noexcept nogil
cdef void keep_gil(Runner* me) noexcept nogil           # in place of drop_gil, for a worker whose next task may need it
