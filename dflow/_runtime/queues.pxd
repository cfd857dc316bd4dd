"""Lanes: what is ready waits in their queues, for their workers.

A lane's workers run its tasks and no others. There is one, that of cpu(0), until a device gets workers of its own: then
it has a lane, and another one for copies to it. A thread that waits may help while no device has its own, and a worker
sleeps; else only lanes whose workers are in Python code, which may wait for that very thread.

A task is of the lane of what it writes; a group is of one lane.
"""

from cpython.pystate cimport PyThreadState
from dflow._base.threads cimport Bell, Cores
from dflow._runtime.graph cimport Task
from dflow._base.thread_state cimport CPUS, DEVICES

cdef extern from "<pthread.h>" nogil:
    ctypedef unsigned long pthread_t

cdef enum:
    MAX_WORKERS = 256       # of a lane
    COPIES_TO = DEVICES     # a device's lane has its number; this and the number: the lane of copies to it
    DISK_LANE = 2 * DEVICES
    MAX_LANES = 2 * DEVICES + 1
    LAST = -32768           # priority of results that no array refers to

cdef struct Runner:         # a worker, or a thread that helps while it waits
    int inside              # 1 while it touches shared structures: fork() waits for 0
    Lane* lane              # whose worker it is; NULL: a thread that helps,
    int index               # and which one, from 1 on; 0
    unsigned int turn       # which inboxes it looks at next
    Task* current           # what it runs, or has taken to run: set while inside, so that a fork finds it
    PyThreadState* tstate   # its saved thread state: made before anybody waits for the worker, so that loops find it
    int begun               # atomic; of a worker: 1 once it has that; -1: there was no memory
    bint holds              # the GIL: a worker between two tasks of a GPU's
    Runner* next            # list of all: changed with the GIL and runners_lock
    Runner* outer           # the Runner this thread was before: a signal handler may wait within a wait
    bint helping            # it is counted in Shared.helping while it is awake,
    int* waiting            # and in this count of threads that wait; NULL: in none
    long long done          # written by its owner, read by all: a thread that finds nothing pending sees what was done
    long long stolen        # written by its owner, read by all
    unsigned long long random
    pthread_t thread
    long number             # of the thread, to the system
    int core                # where it ran last: written by its owner, or under idle_bell while it is asleep; glanced at
    bint placed             # it may run on some cores only
    bint called             # idle_bell: it is one of those that are coming
    int dismissed           # atomic: whether a worker is to leave; see _runtime/threads.pxd
    Runner* deputy          # the last that a waiter has sent; NULL: none
    int released            # atomic: of a deputy, or a worker, and who sent it: one is through with the other
    bint stays              # a deputy that looks for more to do until then
    bint asleep             # idle_bell: it waits for its own bell, and is
    Runner* below           # in the list of sleepers
    Bell bell               # idle_bell's mutex with a condition of its own

cdef struct Parking:        # what a lane's workers do: changed by the verbs of _runtime/parking.pyx, read by all
    int sleeping            # atomic: workers that are asleep, and
    Runner* sleepers        # which: idle_bell
    int searching           # atomic: workers awake that look for work
    int coming              # atomic: workers that were woken, and have not run yet
    long long relied        # atomic: since when a push relies on one of both; 0: none does
    int hosting             # atomic: runners inside its host tasks
    int engaged             # atomic: workers inside something that takes long
    long long unshared      # atomic: cost of the last split kernels in a row that nobody helped with, in ns,
    long long unshared_at   # and when the last of them ended

cdef struct Queue:          # by priority, then first in, first out; linked through Task.next
    int lock
    unsigned int first      # the head's order, and
    int rank                # its priority: changed under the lock, glanced at without
    Task* head              # NULL test without the lock
    Task* tail
    Task* last              # inserted before the tail, and still there: others of its priority follow it
    char pad[24]            # a cache line each

# Tasks that are ready at their submission are dealt out among the inboxes, one for each worker, so that the workers
# share no lock; a task that becomes ready when a worker finishes another lies in that worker's own queue, its operands
# in that core's cache. Any worker of the lane takes from any of them.
cdef struct Lane:
    int number
    int nworkers            # wanted; changed with the GIL, read without
    int widest              # the most workers wanted so far; the same. Their inboxes and queues are still searched
    int started             # atomic: how many there are in `workers`
    Parking parking
    long long submitted     # changed with the GIL, read without; while there are several lanes,
    long long ended         # and how many of these are finished; atomic
    bint bound              # its workers run on
    Cores cores             # and nowhere else
    Queue inboxes[257]      # from 1 on, as workers are numbered
    Queue queues[257]
    Runner* workers[257]    # some may be NULL: GIL and idle_bell

cdef struct Shared:
    int nlanes              # that there have been; GIL, atomic
    int apart               # devices other than cpu(0) that have workers of their own; GIL, atomic
    int forking             # atomic: threads between before_fork() and after_fork_in_parent()
    Runner* runners         # all of them: runners_lock
    int runners_lock
    Bell idle_bell
    Bell done_bell
    int helping             # atomic: threads that wait, and are not asleep
    long long seen          # atomic: what `submitted` was when a worker last looked, and
    long long seen_at       # when that had changed
    int asleep              # done_bell: threads that wait, asleep, not rung for since;
    int rung                # atomic: that were, and have not run yet
    int opening             # atomic: kernels that will be split in a moment, or are: who waits stays awake for them
    int rings               # of done_bell, under it: a waiter that saw an older count must look again
    int waiting_all         # atomic: threads that wait for everything
    int waiting_room        # atomic: threads that wait for memory
    long long submitted     # changed with the GIL, read without
    long long retired       # atomic: tasks finished by runners that are gone
    long long host_tasks    # atomic: host tasks not yet finished, of those submitted before the exit began
    int closing             # atomic: it has begun,
    unsigned int last       # after this task;
    long long early         # atomic: how many tasks from before have ended since
    long long never_run     # atomic: tasks whose results nobody could see any more
    long long groups        # atomic: that ran,
    long long grouped       # their members,
    long long native        # runs of members that native loops computed,
    long long bytes_never_stored    # and what they kept in registers
    unsigned long long delay_seed
    int delay_us            # for tests: random sleeps before tasks; atomic

cdef Shared shared
cdef Lane lanes[MAX_LANES]
cdef Lane* used[MAX_LANES]              # those that there have been, that of cpu(0) first

# ---- which lane. All need the GIL.
cdef bint choices                       # whether there is one to be made, for submit(): several lanes, or a priority
# atomic: whether any priority but 0 has been asked for. A worker that reads an older value, or of an inbox an older
# rank, runs one more task before what is urgent: priorities are no dependencies.
cdef int prioritized
cdef Lane* lane_of(int device) noexcept
cdef Lane* lane_to(int device) noexcept                                 # of copies to it; NULL: there were none
cpdef str lane_name(int number)                                         # "cpu(0)", "to cpu(1)"
cdef void give_lane(int device, bint own) noexcept                      # of its own, or cpu(0)'s. No runner is inside
cdef void use_disk_lane() noexcept                                      # from now on. No runner is inside
cdef void choose_lane(Task* t) noexcept

cdef inline bint of_gpu(Lane* lane) noexcept nogil:                     # of what it computes
    return CPUS <= lane.number < DEVICES

# ---- queues
cdef void enqueue(Queue* q, Task* t) noexcept nogil
cdef void push(Task* t) noexcept nogil                                  # what no worker made ready
cdef bint take(Task* t) noexcept nogil                                  # whether its queue entry's holder is to run it
cdef Task* pop_taken(Queue* q) noexcept nogil                           # the first that is not claimed, to be run
cdef Task* find(Runner* me) noexcept nogil
cdef Task* take_any() noexcept nogil                                    # in no order
cdef bint sweep() noexcept nogil                                        # whether the inboxes are empty
cdef bint any_queued(Lane* lane) noexcept nogil
cdef bint outranked(Lane* lane, int rank) noexcept nogil                # whether an inbox has a higher priority
cdef bint core_free(Lane* lane) noexcept nogil                          # whether a thread that waits may run its tasks
cdef bint looked_at(Lane* lane) noexcept nogil                          # whether a worker searches, or can be woken
cdef bint any_engaged() noexcept nogil                                  # whether a worker is inside a long loop
