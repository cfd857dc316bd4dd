"""What ran where and when: see _runtime/timeline.pxd."""

from dflow._base.atomics cimport add_i64, collect_i64, load_i64, publish_i64, store_i64, store_int
from dflow._base.threads cimport now_ns
from dflow._base.allocator cimport memory_zeros

cdef struct Event:
    const char* name            # of an immortal kernel
    int members                 # of its group
    int lane
    int worker                  # 0: a thread that waited
    long long start             # nanoseconds
    long long stop              # published last; 0: it is still being written

cdef enum:
    ROOM = 1 << 16

cdef Event* events = NULL       # kept once made: a runner may be about to write
cdef long long noted = 0        # atomic: how many there are, or would be if there were room

cdef void note(const char* name, int members, int lane, int worker, long long start) noexcept nogil:
    cdef long long i = add_i64(&noted, 1) - 1
    if i < ROOM:
        events[i].name = name
        events[i].members = members
        events[i].lane = lane
        events[i].worker = worker
        events[i].start = start
        publish_i64(&events[i].stop, now_ns())

def watch():
    """Note what runs from now on, once more: several may look at a time. What end() is to be told."""
    global events
    cdef int i
    if events == NULL:
        events = <Event*>memory_zeros(ROOM * sizeof(Event))
        if events == NULL:
            raise MemoryError("no memory for events")
    if not watched:
        for i in range(min(load_i64(&noted), ROOM)):
            store_i64(&events[i].stop, 0)
        store_i64(&noted, 0)
    store_int(&watched, watched + 1)
    return load_i64(&noted), now_ns()

def end(long long first, long long since):
    """Look no more. What was noted: (lane, worker, name, members, start, stop), in seconds since watch()."""
    cdef int i
    store_int(&watched, watched - 1)
    return [(events[i].lane, events[i].worker, events[i].name.decode(), events[i].members,
             1e-9 * (events[i].start - since), 1e-9 * (events[i].stop - since))
            for i in range(first, min(load_i64(&noted), ROOM))
            if collect_i64(&events[i].stop) and events[i].start >= since]
