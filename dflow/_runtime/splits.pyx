"""Split kernels: see _runtime/splits.pxd."""

from libc.string cimport memset
from dflow._base.atomics cimport (
    add_int, cas_i64, cas_int, cpu_pause_or_yield, glance_int, hint_int, invariant, load_i64, load_int,
    store_i64, store_int)
from dflow._base.locks cimport lock, SPLIT_LOCK, unlock
from dflow._runtime.cancel cimport from_before
from dflow._runtime.queues cimport Lane, Runner, core_free, lanes

cdef enum:
    PLACES = 8              # kernels that are split at a time
    KEPT = 2                # shares of the least size that are left to who works in a range

cdef Split splits[PLACES]

# ---- the owner -------------------------------------------------------------------------------------------------------

cdef Split* claim_split(Lane* lane, unsigned int task, pieces_t run, void* plan, bint lasting) noexcept nogil:
    cdef Split* s
    cdef int i
    for i in range(PLACES):
        s = &splits[i]
        if cas_int(&s.taken, 0, 1):
            invariant(s.helpers == 0 and not s.open, b"a free place has no helpers")
            s.run = run
            s.plan = plan
            s.task = task
            hint_int(&s.lasting, lasting)
            hint_int(&s.lane, lane.number)
            return s
    return NULL

cdef inline long long pack(long long first, long long end) noexcept nogil:
    return first << 32 | end

cdef inline long long first_of(long long left) noexcept nogil:
    return left >> 32

cdef inline long long end_of(long long left) noexcept nogil:
    return <int>left

cdef inline int place_of(Runner* me, int n) noexcept nogil:
    return me.index % n if me != NULL else 0

cdef void open_split(Split* s, Runner* me, intp total, intp grain, bint cached) noexcept nogil:
    cdef long long units
    cdef int i, n
    s.total = total
    s.unit = 1 + (total >> 30)
    units = (total + s.unit - 1) // s.unit
    hint_int(&s.grain, <int>min((grain + s.unit - 1) // s.unit, units))
    hint_int(&s.kept, KEPT * ((s.grain + 3) // 4) if cached else 0)
    n = <int>min(min(load_int(&lanes[glance_int(&s.lane)].nworkers), MOST_RANGES), units)
    s.owner = place_of(me, n)
    store_int(&s.joined, 0)
    hint_int(&s.cut, 0)
    for i in range(n):
        store_i64(&s.ranges[i].left, pack(units * i // n, units * (i + 1) // n))
        hint_int(&s.ranges[i].held, 0)
    hint_int(&s.nranges, n)
    store_int(&s.open, 1)

cdef bint end_split(Split* s) noexcept nogil:
    cdef int turn = 0
    cdef bint whole
    lock(&s.lock, SPLIT_LOCK)
    store_int(&s.open, 0)
    unlock(&s.lock)
    while load_int(&s.helpers):         # the rest of a piece
        turn += 1
        cpu_pause_or_yield(turn)
    whole = not glance_int(&s.cut)
    store_int(&s.taken, 0)
    return whole

cdef inline long long share_of(Split* s, long long n) noexcept nogil:
    """How many of a range's last n units are taken at once: fewer towards its end, where others may be through."""
    cdef int grain = glance_int(&s.grain)
    return min(max(min(n // 2, grain), (grain + 3) // 4), n)

cdef inline long long on_offer(Split* s, Range* r, long long left) noexcept nogil:
    """Units of a range that others may take: not what is done, by who works there, before they have its operands."""
    return end_of(left) - first_of(left) - (glance_int(&s.kept) if glance_int(&r.held) else 0)

cdef intp shares_left(Split* s) noexcept nogil:
    cdef int i, grain = glance_int(&s.grain)
    cdef intp n = 0
    for i in range(glance_int(&s.nranges)):
        n += (max(on_offer(s, &s.ranges[i], load_i64(&s.ranges[i].left)), 0) + grain - 1) // grain
    return n

# ---- everybody -------------------------------------------------------------------------------------------------------

cdef inline bint claim(Split* s, Range* r, bint own, long long* start, long long* stop) noexcept nogil:
    """Take a share of a range: the first of one's own, of another's the last."""
    cdef long long left = load_i64(&r.left), first, end, n
    while True:
        first, end = first_of(left), end_of(left)
        n = end - first if own else on_offer(s, r, left)        # looked at once: `held` may change
        if n <= 0:
            return False
        n = min(n, share_of(s, end - first))
        start[0] = first if own else end - n
        stop[0] = start[0] + n
        invariant(first <= start[0] and start[0] < stop[0] and stop[0] <= end, b"a share lies in its range")
        if cas_i64(&r.left, left, pack(stop[0], end) if own else pack(first, start[0])):
            break
        left = load_i64(&r.left)
    if own:
        hint_int(&r.held, 1)
    return True

cdef int range_of(Split* s, Runner* me) noexcept nogil:
    cdef int mine = place_of(me, s.nranges)
    return mine if mine != s.owner or s.nranges == 1 else (mine + 1) % s.nranges

cdef bint work_once(Split* s, int mine) noexcept nogil:
    cdef long long start = 0, stop = 0
    cdef int i = 0
    while i < s.nranges and not claim(s, &s.ranges[(mine + i) % s.nranges], i == 0, &start, &stop):
        i += 1
    if i == s.nranges:
        return False
    if from_before(s.task):
        hint_int(&s.cut, 1)             # its owner sees it, after the helpers have left
    else:
        s.run(s.plan, start * s.unit, min(stop * s.unit, s.total))
    return True

cdef void work(Split* s, int mine) noexcept nogil:
    while work_once(s, mine):
        pass

cdef inline bint joinable(Split* s) noexcept nogil:
    return load_int(&s.open) and (
        load_int(&s.helpers) < load_int(&lanes[glance_int(&s.lane)].nworkers) - 1) and shares_left(s) > 0

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
            add_int(&s.joined, 1)
        unlock(&s.lock)
        if joined:
            return s
    return NULL

cdef void leave_split(Split* s) noexcept nogil:
    add_int(&s.helpers, -1)

cdef void splits_after_fork() noexcept:
    memset(splits, 0, sizeof(splits))
