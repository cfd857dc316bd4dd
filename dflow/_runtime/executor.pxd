"""Running tasks: queueing, splitting, waking. The threads that do so are in threads.pyx, and those that wait in _engine.pyx.

A runner is a thread that runs tasks: a worker, or a thread that helps while it waits. It is `inside` while it touches
shared structures, and outside while it runs a kernel, sleeps, or waits for the GIL; fork() waits until nobody is inside.
"""

from dflow._kernels.kernel cimport intp, Kernel
from dflow._runtime.graph cimport Poison, Task
from dflow._runtime.fusion cimport Space, Waits
from dflow._runtime.queues cimport Lane, Runner

cdef enum:
    SPIN_NS = 20000         # how long a waiting thread looks around before it sleeps
    WATCH_NS = 200000       # and one idle worker: to wake it costs the submitter 20 to 100 us
    CALL_NS = 60000         # estimated cost from which a worker is woken for an open group, or for a piece of a kernel,
    LONG_NS = 300000        # and from which it is woken though as many threads are at work as there are workers
    LULL_NS = 50000         # a thread that has submitted nothing for so long may be gone from its core

cdef struct Opening:        # the group that tasks may join; see _runtime/fusion.pxd
    int lock                # over all of this. Members are added under it and the GIL; anyone may close
    Task* leader            # atomic; NULL: none is open. While it is, the leader counts it as one more predecessor
    Task* last
    int members             # glanced at by workers, as is `cost`: written under the lock and the GIL
    int operands
    int loose               # results that no member has read yet, roughly
    bint called             # a worker was woken for it
    double cost             # nanoseconds
    intp elements           # of the iteration space
    intp row                # that a reduction among them brings to one; 0: there is none
    Space space
    Waits waits

cdef Opening opening

# ---- queues
cdef void give_back(Task* t) noexcept nogil
cdef void purge() noexcept nogil
cdef bint any_ready(Lane* lane) noexcept nogil
cdef void wake_worker(Lane* lane, bint surely) noexcept nogil
cdef bint join_wide(Runner* me) noexcept nogil
cdef void look_back(Lane* lane) noexcept nogil                          # before a runner turns to something long

# ---- the open group
cdef double cost_of(Task* t) noexcept nogil                             # in nanoseconds, roughly
cdef double cost_of_all(Task* t) noexcept nogil
cdef int members_of(Task* t) noexcept nogil
cdef Task* close_group() noexcept nogil                                 # needs its lock; the leader, if it can run
cdef Lane* group_waits() noexcept nogil                                 # for whose workers the open group does, if for nothing else
cdef void start_group() noexcept nogil                                  # close it, if there is one, and queue it
cdef void run_plan(Task* leader, void* plan) noexcept nogil
cdef bint run_alone(Task* t) noexcept nogil

# ---- running
cdef void enter(Runner* me) noexcept nogil
cdef void leave(Runner* me) noexcept nogil
cdef void take_gil(Runner* me) noexcept nogil
cdef void drop_gil(Runner* me) noexcept nogil
cdef void let_gil_go(Runner* me) noexcept nogil
cdef void keep_gil(Runner* me) noexcept nogil                           # in place of drop_gil, for a worker whose next task may need it
cdef void run_one(Runner* me, Task* t) noexcept nogil                    # not its group, unless what it reads is poisoned
cdef void run_at_gate(Runner* me, Task* t) noexcept nogil                # the same, once it may enter NumPy's BLAS
cdef void resume_parked(Runner* me) noexcept nogil                       # queue what may go on at the gate; NULL: by no worker
ctypedef void (*runner_t)(Runner* me, Task* t) noexcept nogil
cdef struct RunningHooks:                                               # filled by _gpu/executor.pyx, which opens each GPU
    runner_t run_abroad                                                 # a task, and its group, that is ABROAD
cdef RunningHooks running_hooks
cdef Task* execute(Runner* me, Task* t) noexcept nogil
cdef Task* retire(int index, Task* t, long long* done) noexcept nogil    # index: of the worker who ran it; 0: another thread did
cdef void ring_done() noexcept nogil
cdef bint inside_host_task() noexcept nogil
cdef object invalid_error(Kernel* k)

# ---- workers
cdef void register(Runner* me) noexcept nogil
cdef void unregister(Runner* me) noexcept nogil
cdef long long pending() noexcept nogil
cdef Runner* this_runner() noexcept nogil                               # NULL: this thread is none
cdef void set_runner(Runner* me) noexcept nogil
cdef void reset_workers() noexcept                                      # in a forked child
cdef void hold_runners() noexcept                                       # GIL: outside, until let_runners_go()
cdef void let_runners_go() noexcept nogil
cdef void rouse(Lane* lane) noexcept nogil                              # a sleeper. Needs idle_bell
