"""Whether operations are recorded, or noted, and where: see _base/thread_state.pxd."""

cdef extern from *:
    """
    static _Thread_local int thread_records;
    static _Thread_local int thread_trains;
    static _Thread_local int thread_captures;
    static _Thread_local int thread_device;
    static _Thread_local int thread_crosses;
    """
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
    # Where there are many devices, launch() sees to it that results are where their arguments were put, or the thread is.
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
