"""Split kernels: see _runtime/splits.pxd."""

from libc.string cimport memset
from dflow._base.atomics cimport (
    add_i64, add_int, cas_int, cpu_pause_or_yield, glance_int, hint_int, invariant, load_i64, load_int,
    store_i64, store_int)
from dflow._base.locks cimport lock, SPLIT_LOCK, unlock
from dflow._runtime.queues cimport Lane, Runner, core_free, lanes

cdef enum:
    PLACES = 8              # kernels that are split at a time

cdef Split splits[PLACES]

# ---- the owner -------------------------------------------------------------------------------------------------------

cdef Split* claim_split(Lane* lane, const char* name, pieces_t run, void* plan, bint lasting) noexcept nogil:
    cdef Split* s
    cdef int i
    for i in range(PLACES):
        s = &splits[i]
        if cas_int(&s.taken, 0, 1):
            invariant(s.helpers == 0 and not s.open, b"a free place has no helpers")
            s.run = run
            s.plan = plan
            s.name = name
            s.lasting = lasting
            hint_int(&s.lane, lane.number)
            return s
    return NULL

cdef void open_split(Split* s, intp total, intp grain) noexcept nogil:
    s.grain = grain
    store_i64(&s.next, 0)
    store_i64(&s.total, total)
    store_int(&s.open, 1)

cdef void end_split(Split* s) noexcept nogil:
    cdef int turn = 0
    lock(&s.lock, SPLIT_LOCK)
    store_int(&s.open, 0)
    unlock(&s.lock)
    while load_int(&s.helpers):         # the rest of a piece
        turn += 1
        cpu_pause_or_yield(turn)
    store_int(&s.taken, 0)

cdef intp shares_left(Split* s) noexcept nogil:
    return <intp>((s.total - load_i64(&s.next) + s.grain - 1) // s.grain)

# ---- everybody -------------------------------------------------------------------------------------------------------

cdef bint work_once(Split* s) noexcept nogil:
    cdef long long stop = add_i64(&s.next, s.grain), start = stop - s.grain
    if start >= s.total:
        return False
    s.run(s.plan, start, stop if stop < s.total else s.total)
    return True

cdef void work(Split* s) noexcept nogil:
    while work_once(s):
        pass

cdef inline bint joinable(Split* s) noexcept nogil:
    return load_int(&s.open) and load_i64(&s.next) < load_i64(&s.total) and (
        load_int(&s.helpers) < load_int(&lanes[glance_int(&s.lane)].nworkers) - 1)

cdef bint any_split(Lane* lane) noexcept nogil:
    cdef int i
    for i in range(PLACES):
        if joinable(&splits[i]) and glance_int(&splits[i].lane) == lane.number:
            return True
    return False

cdef Split* join_split(Runner* me, int* place) noexcept nogil:
    cdef Split* s
    cdef Lane* lane
    cdef bint joined
    while place[0] < PLACES:
        s = &splits[place[0]]
        place[0] += 1
        if not joinable(s):
            continue
        lock(&s.lock, SPLIT_LOCK)
        lane = &lanes[glance_int(&s.lane)]      # if joinable, from here on that of who opened it
        joined = joinable(s) and (me.lane == lane if me.lane != NULL else core_free(lane))
        if joined:
            add_int(&s.helpers, 1)
        unlock(&s.lock)
        if joined:
            return s
    return NULL

cdef void leave_split(Split* s) noexcept nogil:
    add_int(&s.helpers, -1)

cdef void splits_after_fork() noexcept:
    memset(splits, 0, sizeof(splits))
