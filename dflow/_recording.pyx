"""Whether operations are recorded, or noted: see _recording.pxd."""

cdef extern from *:
    """
    static _Thread_local int thread_records;
    static _Thread_local int thread_captures;
    """
    bint thread_records
    bint thread_captures

recorders = 0
captures = 0

cdef bint recording() noexcept:
    return thread_records

cdef bint set_recording(bint on) noexcept:
    global recorders, thread_records
    cdef bint before = thread_records
    recorders += on - before
    thread_records = on
    return before

cdef bint capturing() noexcept:
    return captures != 0 and thread_captures

cdef void recording_after_fork() noexcept:
    global recorders, captures
    recorders = thread_records
    captures = thread_captures

cdef void set_capturing(bint on) noexcept:
    global captures, obstacle, thread_captures
    captures = on
    thread_captures = on
    if on:
        obstacle = NULL

cdef void cannot_replay(const char* why, void* site) noexcept:
    global obstacle, obstacle_site
    if capturing() and obstacle == NULL:
        obstacle = why
        obstacle_site = site
