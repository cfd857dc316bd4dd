"""Running tasks: from what a runner has taken to what becomes ready when it is done.

The threads that do so are in threads.pyx, and those that wait in waiting.pyx.
"""

from dflow._kernels.kernel cimport Kernel
from dflow._runtime.graph cimport Task
from dflow._runtime.queues cimport Runner

cdef Task* execute(Runner* me, Task* t) noexcept nogil
# index: of the worker who ran it; 0: another thread did
cdef Task* retire(int index, Task* t, long long* done) noexcept nogil
cdef void end_cut(Task* t) noexcept nogil                   # it has run; if it was cancelled meanwhile, in part
cdef void give_back(Task* t) noexcept nogil                 # queue what was taken, or claimed, and not run
cdef void purge() noexcept nogil                            # stale entries of queues, when nothing is pending
cdef bint join_splits(Runner* me) noexcept nogil            # take part in kernels that are split. Whether there was one
cdef void ring_done() noexcept nogil                        # to threads that wait: something is done

# ---- kinds of tasks
cdef void run_one(Runner* me, Task* t) noexcept nogil        # not its group, unless what it reads is poisoned
cdef void run_at_gate(Runner* me, Task* t) noexcept nogil    # the same, once it may enter NumPy's BLAS
cdef bint run_alone(Task* t) noexcept nogil
cdef bint run_together(Task* leader) noexcept nogil         # False: its members must run one by one
ctypedef void (*runner_t)(Runner* me, Task* t) noexcept nogil
cdef struct RunningHooks:           # filled by _gpu/executor.pyx, which opens each GPU
    runner_t run_abroad             # a task, and its group, that is ABROAD
cdef RunningHooks running_hooks

cdef void resume_held_back(Runner* me) noexcept nogil             # queue what may go on at the gate; NULL: by no worker
cdef bint inside_host_task() noexcept nogil
cdef object invalid_error(Kernel* k)
cdef void reset_workers() noexcept                                # in a forked child
