"""What happens, noted while a program watches: see _runtime/events.pxd."""

from libc.string cimport memcpy, memset
from dflow._runtime.errors import cell_of
from dflow._base.atomics cimport load_i64, load_int, load_ptr, store_int
from dflow._base.threads cimport now_ns, this_thread
from dflow._kernels.registry cimport key_of
from dflow._kernels.kernel cimport FENCE

cdef extern from "_runtime/events.h" nogil:
    ctypedef struct Ring:
        long long written
        int number
        Ring* next
    Ring* rings
    int EVENTS, EVENT_WORDS
    long long events_lost
    void ring_reserve()
    void ring_put(const void* event, int words)
    long long ring_copy(Ring* r, long long first, long long most, void* room, long long* lost)
    void rings_after_fork()

cdef extern from *:
    """
    static __thread int tls_natives;         /* members that machine code has computed, of what this thread runs */
    static __thread int tls_failed;          /* whether that fails */
    static __thread long tls_thread;         /* its number, to the system; 0: not yet asked for */
    """
    int tls_natives
    bint tls_failed
    long tls_thread

if sizeof(Event) != 8 * EVENT_WORDS:
    raise ImportError("_runtime/events.h has events of another size")

cdef inline long thread_number() noexcept nogil:
    global tls_thread
    if tls_thread == 0:
        tls_thread = this_thread()
    return tls_thread

# ---- noting ----------------------------------------------------------------------------------------------------------

cdef inline void begin(Event* e, What what, unsigned int task) noexcept nogil:
    memset(e, 0, sizeof(Event))
    e.what = what
    e.task = task
    e.ndim = -1
    e.thread = thread_number()

cdef int next_ndim = -1                 # GIL, as the next: what shape_next() was told; -1: it was for an earlier one
cdef intp next_dims[EVENT_DIMS]
cdef double next_elements

cdef inline double elements_of(int ndim, intp* shape) noexcept nogil:
    cdef double n = 1
    cdef int i
    for i in range(ndim):
        n *= shape[i]
    return n

cdef void shape_next(int ndim, intp* shape) noexcept:
    global next_ndim, next_elements
    cdef int i
    next_ndim = ndim
    next_elements = elements_of(ndim, shape)
    for i in range(min(ndim, EVENT_DIMS)):      # none: shape may be NULL
        next_dims[i] = shape[i]

cdef void note_submitted(unsigned int task, unsigned int leader, Kernel* k, Site* site, int lane, void* storage,
                         long long nbytes, long long live, int ndim, int ncore, intp* dims) noexcept:
    global next_ndim
    cdef int i
    cdef Event e
    begin(&e, SUBMITTED, task)
    e.other = leader
    e.start = e.stop = now_ns()
    e.kernel = k
    e.site = site
    e.lane = <short>lane
    e.storage = storage
    e.bytes = nbytes
    e.live = live
    # else what was told ran at once
    if next_ndim >= 0 and not k.flags & FENCE and next_elements == elements_of(ndim, dims):
        memcpy(e.dims, next_dims, sizeof(next_dims))
        e.ndim = <short>next_ndim
        next_ndim = -1
    else:
        memcpy(e.dims, dims, min(ndim, EVENT_DIMS) * sizeof(intp))
        e.ndim = <short>ndim
    for i in range(ncore):
        if e.ndim < EVENT_DIMS:
            e.dims[e.ndim] = dims[ndim + i]
        e.ndim += 1
    e.ncore = <short>ncore
    ring_put(&e, EVENT_WORDS)

cdef void note_after(unsigned int task, unsigned int before) noexcept nogil:
    cdef Event e
    e.start = e.stop = 0
    e.task = task
    e.other = before
    e.what = AFTER
    ring_put(&e, 4)                 # words: up to ndim

cdef void note_natives(int n) noexcept nogil:
    global tls_natives
    tls_natives = n

cdef void note_failed() noexcept nogil:
    global tls_failed
    tls_failed = True

cdef void note_never_run() noexcept nogil:
    note_natives(-2)

cdef void note_ran(unsigned int task, int members, Kernel* k, int lane, int worker, long long start,
                   long long live) noexcept nogil:
    global tls_natives, tls_failed
    cdef Event e
    ring_reserve()
    begin(&e, RAN, task)
    e.start = start
    e.stop = now_ns()
    e.members = members
    e.natives = -1 if tls_failed else tls_natives
    e.kernel = k
    e.lane = <short>lane
    e.worker = <short>worker
    e.live = live
    tls_natives = 0
    tls_failed = False
    ring_put(&e, EVENT_WORDS)

cdef void note_part(unsigned int task, int lane, int worker, long long start) noexcept nogil:
    cdef Event e
    ring_reserve()
    begin(&e, PART, task)
    e.start = start
    e.stop = now_ns()
    e.members = 1
    e.lane = <short>lane
    e.worker = <short>worker
    ring_put(&e, EVENT_WORDS)

cdef void note_waited(unsigned int task, Site* site, long long start, long long live) noexcept nogil:
    cdef Event e
    ring_reserve()
    begin(&e, WAITED, task)
    e.start = start
    e.stop = now_ns()
    e.site = site
    e.live = live
    ring_put(&e, EVENT_WORDS)

cdef void note_woke(int lane, int worker) noexcept nogil:
    cdef Event e
    begin(&e, WOKE, 0)
    e.start = e.stop = now_ns()
    e.lane = <short>lane
    e.worker = <short>worker
    ring_put(&e, EVENT_WORDS)

cdef void note_stolen(unsigned int task, int lane, int worker, int victim) noexcept nogil:
    cdef Event e
    begin(&e, STOLEN, task)
    e.start = e.stop = now_ns()
    e.other = victim
    e.lane = <short>lane
    e.worker = <short>worker
    ring_put(&e, EVENT_WORDS)

cdef void note_copied(void* storage, long long nbytes, int lane, bint here, long long start) noexcept nogil:
    cdef Event e
    begin(&e, COPIED, 0)
    e.start = start
    e.stop = now_ns()
    e.other = here
    e.storage = storage
    e.bytes = nbytes
    e.lane = <short>lane
    ring_put(&e, EVENT_WORDS)

cdef void note_memory(What what, void* storage, long long nbytes, Site* site) noexcept nogil:
    cdef Event e
    begin(&e, what, 0)
    e.start = e.stop = now_ns()
    e.storage = storage
    e.bytes = nbytes
    e.site = site
    ring_put(&e, EVENT_WORDS)

cdef void reserve_events() noexcept nogil:
    ring_reserve()

cdef void events_after_fork() noexcept:
    global tls_thread
    tls_thread = 0
    rings_after_fork()

# ---- reading ---------------------------------------------------------------------------------------------------------

def watch():
    """Note what happens from now on, once more: several may look at a time. What unwatch() is to be told."""
    cdef Ring* r = <Ring*>load_ptr(&rings)
    before = {-1: load_i64(&events_lost)}
    reserve_events()
    store_int(&watched, watched + 1)
    while r != NULL:
        before[r.number] = load_i64(&r.written)
        r = r.next
    return before, now_ns()

def now():
    """Nanoseconds, as events have them."""
    return now_ns()

def watchers():
    """How many look."""
    return load_int(&watched)

def unwatch(dict before):
    """Look no more. For each ring the events that it has noted since, 128 bytes each, and how many more are lost."""
    events = read(before)
    store_int(&watched, watched - 1)
    return events

def latest(long long count):
    """The last so many events of each ring, as bytes."""
    cdef Ring* r = <Ring*>load_ptr(&rings)
    before = {}
    while r != NULL:
        before[r.number] = max(load_i64(&r.written) - count, 0)
        r = r.next
    return [data for data, _ in read(before)]

def read(dict before):
    """The same of who goes on looking."""
    cdef Ring* r = <Ring*>load_ptr(&rings)
    cdef long long first, most, lost, n
    events = [(b"", load_i64(&events_lost) - before.get(-1, 0))]
    while r != NULL:
        first = before.get(r.number, 0)
        most = min(load_i64(&r.written) - first, EVENTS)
        room = bytearray(max(most, 0) * sizeof(Event))
        if most > 0:
            n = ring_copy(r, first, most, <char*>room, &lost)
            events.append((bytes(memoryview(room)[:n * sizeof(Event)]), lost))
        r = r.next
    return events

def kernel_key(size_t kernel):
    """The name of a kernel that an event has, and its key in the registry, or None."""
    cdef Kernel* k = <Kernel*>kernel
    return k.name.decode(), key_of(k)

def site_of(size_t site):
    """File, line and function of a site that an event has; dflow's own, None."""
    cdef Site* s = <Site*>site
    if s == NULL:
        return None
    return cell_of(<object>s.file) or <object>s.file, s.line, <object>s.name

def callers_of(size_t site):
    """The same of each of its callers, the innermost first; none where stacks were not asked for."""
    cdef Site* s = <Site*>site
    callers = []
    while s != NULL and s.caller != NULL:
        s = s.caller
        callers.append(site_of(<size_t>s))
    return callers
