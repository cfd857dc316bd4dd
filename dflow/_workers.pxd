"""Workers: queues, running, splitting, sleeping. What runs tasks; who submits them and who waits for them is in _engine.

A runner is a thread that runs tasks: a worker, or a thread that helps while it waits. It is `inside` while it touches
shared structures, and outside while it runs a kernel, sleeps, or waits for the GIL; fork() waits until nobody is inside.
"""

from cpython.pystate cimport PyThreadState
from dflow._graph cimport Kernel, Task, Poison, intp
from dflow._group cimport Space, Waits

cdef extern from "_sync.h" nogil:
    ctypedef struct Bell:
        pass
    void bell_init(Bell*)
    void bell_lock(Bell*)
    void bell_unlock(Bell*)
    void bell_wait(Bell*)
    void bell_wait_ns(Bell*, long long)
    void bell_wait_on(Bell*, Bell*)
    void bell_ring_one(Bell*)
    void bell_ring_all(Bell*)
    void sleep_ns(long long)
    long long now_ns()

cdef extern from "<pthread.h>" nogil:
    ctypedef unsigned long pthread_t

cdef enum:
    MAX_WORKERS = 256
    SPIN_NS = 20000         # how long a waiting thread looks around before it sleeps
    WATCH_NS = 200000       # and one idle worker: to wake it costs the submitter 20 to 100 us
    CALL_NS = 60000         # estimated cost from which a worker is woken for an open group, or for a piece of a kernel,
    LONG_NS = 300000        # and from which it is woken though as many threads are at work as there are workers
    LULL_NS = 50000         # a thread that has submitted nothing for so long may be gone from its core

cdef struct Runner:         # a worker, or a thread that helps while it waits
    int inside              # 1 while it touches shared structures: fork() waits for 0
    int index               # of its queue: 1.. for workers, 0 for others, who have none
    unsigned int turn       # which inboxes it looks at next
    Task* current           # what it runs, or has taken to run: set while inside, so that a fork finds it
    PyThreadState* tstate   # its saved thread state, when it has one
    Runner* next            # list of all: changed with the GIL and runners_lock
    Runner* outer           # the Runner this thread was before: a signal handler may wait within a wait
    bint helping            # it is counted in Shared.helping while it is awake,
    int* waiting            # and in this count of threads that wait; NULL: in none
    long long done          # written by its owner
    long long stolen
    unsigned long long random
    pthread_t thread
    long number             # of the thread, to the system
    int core                # where it ran last
    bint placed             # it may run on some cores only
    bint called             # idle_bell: it is one of those that are coming
    bint asleep             # idle_bell: it waits for its own bell, and is
    Runner* below           # in the list of sleepers
    Bell bell               # idle_bell's mutex with a condition of its own

cdef struct Opening:        # the group that tasks may join; see _group.pxd
    int lock                # over all of this. Members are added under it and the GIL; anyone may close
    Task* leader            # NULL: none is open. While it is, the leader counts it as one more predecessor
    Task* last
    int members
    int operands
    int loose               # results that no member has read yet, roughly
    bint called             # a worker was woken for it
    double cost             # nanoseconds
    intp elements           # of the iteration space
    intp row                # that a reduction among them brings to one; 0: there is none
    Space space
    Waits waits

cdef struct Shared:
    int nworkers            # wanted; GIL
    int inboxes             # the most workers wanted so far; GIL. What was dealt out among more than there are now is still found
    int started             # running; GIL
    int stopping            # atomic
    int forking             # atomic: threads between before_fork() and after_fork_in_parent()
    Runner* runners         # all of them: runners_lock
    int runners_lock
    Bell idle_bell
    Bell done_bell
    int sleeping            # how many workers are asleep, and
    Runner* sleepers        # which; idle_bell
    int searching           # atomic: workers awake that look for work
    int coming              # atomic: workers that were woken, and have not run yet
    long long relied        # atomic: since when a push relies on one of both; 0: none does
    int hosting             # atomic: runners inside host tasks
    int engaged             # atomic: workers inside something that takes long
    int helping             # atomic: threads that wait, and are not asleep
    long long seen          # atomic: what `submitted` was when a worker last looked, and
    long long seen_at       # when that had changed
    int rings               # of done_bell, under it: who saw an older count must look again
    int waiting_all         # atomic: threads that wait for everything
    int waiting_room        # atomic: threads that wait for memory
    long long submitted     # GIL
    long long retired       # atomic: tasks finished by runners that are gone
    long long host_tasks    # atomic: host tasks not yet finished
    long long groups        # atomic: that ran,
    long long grouped       # their members,
    long long bytes_never_stored    # and what they kept in registers
    unsigned long long delay_seed
    int delay_us            # for tests: random sleeps before tasks

cdef Shared shared
cdef Opening opening

# ---- queues
cdef void push(Task* t) noexcept nogil
cdef bint take(Task* t) noexcept nogil
cdef Task* find(Runner* me) noexcept nogil
cdef void give_back(Task* t) noexcept nogil
cdef void purge() noexcept nogil
cdef Task* take_any() noexcept nogil
cdef bint sweep() noexcept nogil                                        # whether the inboxes are empty
cdef bint any_ready() noexcept nogil
cdef void wake_worker(bint surely) noexcept nogil
cdef bint join_wide(Runner* me) noexcept nogil

# ---- the open group
cdef double cost_of(Task* t) noexcept nogil                             # in nanoseconds, roughly
cdef double cost_of_all(Task* t) noexcept nogil
cdef Task* close_group() noexcept nogil                                 # needs its lock; the leader, if it can run
cdef void start_group() noexcept nogil                                  # close it, if there is one, and queue it
cdef void run_plan(Task* leader, void* plan) noexcept nogil
cdef bint run_alone(Task* t) noexcept nogil

# ---- running
cdef void enter(Runner* me) noexcept nogil
cdef void leave(Runner* me) noexcept nogil
cdef void take_gil(Runner* me) noexcept nogil
cdef void drop_gil(Runner* me) noexcept nogil
cdef Task* execute(Runner* me, Task* t) noexcept nogil
cdef Task* retire(int index, Task* t, long long* done) noexcept nogil
cdef void ring_done() noexcept nogil
cdef bint inside_host_task() noexcept nogil
cdef object invalid_error(Kernel* k)

# ---- workers
cdef void register(Runner* me) noexcept nogil
cdef void unregister(Runner* me) noexcept nogil
cdef long long pending() noexcept nogil
cdef Runner* this_runner() noexcept nogil                               # NULL: this thread is none
cdef void set_runner(Runner* me) noexcept nogil
cdef int start_workers() except -1
cdef void stop_workers(bint leaving) noexcept
cdef void reset_workers() noexcept                                      # in a forked child
