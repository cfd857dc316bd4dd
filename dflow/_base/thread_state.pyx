"""Whether operations are recorded, or noted, and where: see _base/thread_state.pxd."""

from libc.stdio cimport fprintf, stderr
from libc.stdlib cimport abort, malloc

cdef enum:
    MOST_LOCKS = 160            # that a thread holds at a time: a search by claim_needed() holds those on its path

cdef extern from *:
    """
    static _Thread_local int thread_records;
    static _Thread_local int thread_trains;
    static _Thread_local int thread_captures;
    static _Thread_local int thread_device;
    static _Thread_local int thread_crosses;
    typedef struct { int *place; int rank; } HeldLock;
    static _Thread_local HeldLock *thread_locks;        /* MOST_LOCKS; not in place: thread-locals have little room */
    static _Thread_local int thread_nlocks;
    static const char *const lock_names[] = {           /* by LockRank of locks.pxd */
        "", "GROUP_LOCK", "GATE_LOCK", "SPLIT_LOCK", "STORAGE_LOCK", "QUEUE_LOCK", "RECENCY_LOCK",
        "RUNNERS_LOCK", "LOOPS_LOCK", "BIN_LOCK"};
    """
    ctypedef struct HeldLock:
        int* place
        int rank
    HeldLock* thread_locks
    int thread_nlocks
    const char* lock_names[]
    bint thread_records
    bint thread_trains
    bint thread_captures
    int thread_device
    bint thread_crosses

recorders = 0
captures = 0
many_devices = 0
direct = FIXED
near = NEAR
cdef int away = 0                                # GIL: threads whose current device is not cpu(0)

# ---- spin locks: the debug build only -------------------------------------------------------------------------------

cdef void note_taken(int* place, int rank, bint tried) noexcept nogil:
    global thread_locks, thread_nlocks
    cdef int n = thread_nlocks
    if thread_locks == NULL:
        thread_locks = <HeldLock*>malloc(MOST_LOCKS * sizeof(HeldLock))
    if not tried and rank <= highest_rank():
        stop(b"a thread takes locks in the order of their ranks", rank)
    if n == MOST_LOCKS:
        stop(b"nobody holds so many locks", rank)
    thread_locks[n].place = place
    thread_locks[n].rank = rank
    thread_nlocks = n + 1

cdef void note_given(int* place) noexcept nogil:
    global thread_nlocks
    if thread_nlocks == 0 or thread_locks[thread_nlocks - 1].place != place:
        stop(b"a thread gives back the lock that it took last", 0)
    thread_nlocks -= 1

cdef bint holds(int* place) noexcept nogil:
    cdef int i
    for i in range(thread_nlocks):
        if thread_locks[i].place == place:
            return True
    return False

cdef void must_hold_none(const char* rule) noexcept nogil:
    if thread_nlocks:
        stop(rule, 0)

cdef int highest_rank() noexcept nogil:
    """Of the locks that this thread holds. The last need not have it, if it was tried."""
    cdef int i, highest = 0
    for i in range(thread_nlocks):
        highest = max(highest, thread_locks[i].rank)
    return highest

cdef void stop(const char* rule, int taken) noexcept nogil:
    """As a broken invariant() does, with the names of the locks; taken: the rank of one to be taken, or 0."""
    cdef int i
    fprintf(stderr, b"dflow invariant broken: %s; it holds%s", rule, <const char*>(b"" if thread_nlocks else b" none"))
    for i in range(thread_nlocks):
        fprintf(stderr, b"%s %s", <const char*>(b"," if i else b""), lock_names[thread_locks[i].rank])
    if taken:
        fprintf(stderr, b", and would take %s", lock_names[taken])
    fprintf(stderr, b"\n")
    abort()

# ---- what a thread's operations are for -----------------------------------------------------------------------------

cdef bint recording() noexcept:
    return thread_records

cdef bint set_recording(bint on) noexcept:
    global recorders, thread_records
    cdef bint before = thread_records
    recorders += on - before
    thread_records = on
    return before

cdef bint training() noexcept:
    return thread_trains

cdef bint set_training(bint on) noexcept:
    global thread_trains
    cdef bint before = thread_trains
    thread_trains = on
    return before

cdef bint capturing() noexcept:
    return captures != 0 and thread_captures

cdef void recording_after_fork() noexcept:
    global recorders, away
    recorders = thread_records
    away = thread_device != 0
    tell_captures(thread_captures)

cdef void tell_captures(bint on) noexcept:
    global captures, direct, near
    captures = on
    # Where there are many devices, launch() puts results where their arguments were put, or where the thread is.
    direct = -1 if on or away else 0 if many_devices else FIXED
    near = -1 if on or away else NEAR

cdef void set_capturing(bint on) noexcept:
    global obstacle, thread_captures
    tell_captures(on)
    thread_captures = on
    if on:
        obstacle = NULL

cdef void cannot_replay(const char* why, void* site) noexcept:
    global obstacle, obstacle_site
    if capturing() and obstacle == NULL:
        obstacle = why
        obstacle_site = site

cdef void use_devices() noexcept:
    global many_devices
    many_devices = 1
    tell_captures(captures)

cdef int current_device() noexcept:
    return thread_device

cdef int set_current_device(int device) noexcept:
    global thread_device, away
    cdef int before = thread_device
    away += (device != 0) - (before != 0)
    thread_device = device
    if device or before:
        use_devices()
    return before

cdef bint crossing() noexcept:
    return thread_crosses

cdef void set_crossing(bint on) noexcept:
    global thread_crosses
    thread_crosses = on
