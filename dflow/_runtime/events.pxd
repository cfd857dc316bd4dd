"""What happens, noted while a program watches: what is submitted, what it waits for, what runs where and when, who
waits.

Each thread has a ring of the last 262,144 events that it noted (_runtime/events.h). One watcher or many read them
without stopping anybody; each has what was noted since it came. dflow/_profile/record.py reads the bytes.

    SUBMITTED   `task` by `thread`, at `start`: its kernel, the line, the shape that it goes over, the bytes that it
                writes. It joins the group of `other`, or 0. Bytes that are allocated or promised: `live`
    AFTER       `task`, or its group, waits for `other`, or its group
    RAN         `task` and its group, `members` tasks, of which `natives` by machine code (-1: one has failed; -2: none
                has run, as nobody could have seen what they write), from start to stop
    PART        a part of `task`, which is split; by another thread than the one that RAN it
    WAITED      a Python thread, at `site`, for `task`; 0: for all, for room, or for what was not found
    WOKE        a worker is woken
    PROMISED    of NOTED_BYTES or more, `storage` is of the line `site`; so is what a task writes first, SUBMITTED,
    MADE        it has its memory, of `bytes`,
    FREED       and gives it back
    STOLEN      `worker` takes `task` from the queue of worker `other` of its lane
    COPIED      `bytes` of `storage`, from the host to `lane`, a GPU's, or, where `other` is 1, from there; by `thread`

A task is named by its order of submission, which wraps around.
"""

from dflow._kernels.kernel cimport intp, Kernel
from dflow._runtime.errors cimport Site

cdef enum What:
    SUBMITTED = 1
    AFTER
    RAN
    PART
    WAITED
    WOKE
    PROMISED
    MADE
    FREED
    STOLEN
    COPIED

cdef enum:
    EVENT_DIMS = 5
    NOTED_BYTES = 1024

cdef struct Event:              # EVENT_WORDS words
    long long start             # nanoseconds
    long long stop
    unsigned int task
    unsigned int other
    short what
    short lane
    short worker                # from 1 on; 0: a thread that waits, or submits
    short ndim                  # -1: not told
    short ncore                 # how many of its axes a kernel has to itself, the last ones
    short members
    int natives
    Kernel* kernel
    Site* site
    long long bytes
    long long live
    long long thread            # as Python's get_native_id()
    void* storage               # an address: SUBMITTED, and has had no memory before; NULL: it has had
    intp dims[EVENT_DIMS]       # of more axes, the first ones

cdef int watched                                # atomic: how many do; changed with the GIL

# Where a thread holds no lock, as these may allocate:
cdef void reserve_events() noexcept nogil       # room for those below
cdef void note_ran(unsigned int task, int members, Kernel* k, int lane, int worker, long long start,
                   long long live) noexcept nogil                               # it has just ended
cdef void note_part(unsigned int task, int lane, int worker, long long start) noexcept nogil       # the same
cdef void note_waited(unsigned int task, Site* site, long long start, long long live) noexcept nogil
# Anywhere; lost, where a thread has no room:
cdef void note_submitted(unsigned int task, unsigned int leader, Kernel* k, Site* site, int lane, void* storage,
                         long long nbytes, long long live, int ndim, int ncore, intp* dims) noexcept    # GIL
cdef void note_after(unsigned int task, unsigned int before) noexcept nogil
cdef void note_woke(int lane, int worker) noexcept nogil
cdef void note_stolen(unsigned int task, int lane, int worker, int victim) noexcept nogil
cdef void note_copied(void* storage, long long nbytes, int lane, bint here, long long start) noexcept nogil
cdef void note_memory(What what, void* storage, long long nbytes, Site* site) noexcept nogil
cdef void note_natives(int n) noexcept nogil    # of what this thread runs now
cdef void note_failed() noexcept nogil          # that does
cdef void note_never_run() noexcept nogil       # it has not
cdef void events_after_fork() noexcept

# GIL; of what is submitted next: the shape that a program would name, where its loops are fewer and longer
cdef void shape_next(int ndim, intp* shape) noexcept
