"""Whether operations are recorded: see _recording.pxd."""

cdef extern from *:
    """
    static _Thread_local int thread_records;
    """
    bint thread_records

recorders = 0

cdef bint recording() noexcept:
    return thread_records

cdef bint set_recording(bint on) noexcept:
    global recorders, thread_records
    cdef bint before = thread_records
    recorders += on - before
    thread_records = on
    return before
