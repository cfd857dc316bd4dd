"""Split kernels: one that takes long is run by several runners, piece by piece.

    free ── claim ──> taken, open ── end ──> closed, helpers leave ──> free

A fixed number of places. The owner takes a free one, fills it, opens it, takes pieces like everybody, closes it, and
waits for the last helper. There is no queue of pieces: they are dealt into ranges, one for each worker, and who takes
part claims from the front of its own, then from the back of others'. So a runner computes, kernel after kernel, the
same part of arrays, which its core's cache holds: what another core has written last is three times as slow to read.

Invariants:
    S1  while a place is taken, its owner alone changes what is not atomic, and only while it is not open;
    S2  `helpers` goes up only under the lock and while the place is open; the owner closes it under the lock. So who
        has joined finds all of it in place until it leaves;
    S3  each unit is in one range until it is claimed, by who changes that range's `left`; in none after that.
"""

from dflow._kernels.kernel cimport intp
from dflow._runtime.queues cimport Lane, Runner

ctypedef void (*pieces_t)(void* plan, intp start, intp stop) noexcept nogil

cdef enum:
    MOST_RANGES = 16

cdef struct Range:          # of units
    long long left          # atomic: the first that nobody took << 32 | one past the last
    int held                # whether somebody takes from its front; a hint
    char pad[116]           # no two in one cache line, wherever the first begins

cdef struct Split:
    int lock
    int taken               # atomic
    int open                # atomic
    int helpers             # atomic: runners in it besides its owner
    int joined              # atomic: how many have been
    # glanced at without the lock:
    int lasting             # it takes long: who joins will not look at the queues soon
    int lane                # whose workers, and who helps them, may join
    int grain               # units taken at once: a share
    int kept                # units of a range that others leave to who works there
    int cut                 # it was cancelled: what is claimed no longer runs
    int nranges
    # not atomic:
    unsigned int task       # that it is, by its order
    pieces_t run
    void* plan
    intp total              # pieces
    intp unit               # pieces that count as one, as there are too many: 1
    int owner               # the number of its range
    Range ranges[MOST_RANGES]

# NULL: all are taken
cdef Split* claim_split(Lane* lane, unsigned int task, pieces_t run, void* plan, bint lasting) noexcept nogil
# me: may be NULL. cached: other cores read its operands more slowly than they are computed with
cdef void open_split(Split* s, Runner* me, intp total, intp grain, bint cached) noexcept nogil
# when its pieces are taken; waits for the helpers. Whether all have run
cdef bint end_split(Split* s) noexcept nogil
cdef bint work_once(Split* s, int mine) noexcept nogil              # a share, if it can of this range. False: none
cdef void work(Split* s, int mine) noexcept nogil                   # until there is none
cdef intp shares_left(Split* s) noexcept nogil                      # that others may take, about
cdef int range_of(Split* s, Runner* me) noexcept nogil              # that of a helper
cdef bint any_split(Lane* lane) noexcept nogil                      # whether a runner of the lane could join one
# the first at `place` or after it that `me` may join, and has
cdef Split* join_split(Runner* me, int* place) noexcept nogil
cdef void leave_split(Split* s) noexcept nogil
cdef void splits_after_fork() noexcept
