"""Split kernels: one that takes long is run by several runners, piece by piece.

    free ── claim ──> taken, open ── end ──> closed, helpers leave ──> free

A fixed number of places. The owner takes a free one, fills it, opens it, takes pieces like everybody, closes it, and
waits for the last helper. There is no queue of pieces: who takes part claims the next ones from a counter.

Invariants:
    S1  while a place is taken, its owner alone changes what is not atomic, and only while it is not open;
    S2  `helpers` goes up only under the lock and while the place is open; the owner closes it under the lock. So who
        has joined finds all of it in place until it leaves.
"""

from dflow._kernels.kernel cimport intp
from dflow._runtime.queues cimport Lane, Runner

ctypedef void (*pieces_t)(void* plan, intp start, intp stop) noexcept nogil

cdef struct Split:
    int lock
    int taken               # atomic
    int open                # atomic
    int lasting             # it takes long: who joins will not look at the queues soon
    int helpers             # atomic: runners in it besides its owner
    int lane                # whose workers, and who helps them, may join; glanced at without the lock, as is `total`
    const char* name
    pieces_t run
    void* plan
    long long next          # atomic: first piece that nobody took
    long long total
    long long grain         # pieces taken at once

# NULL: all are taken
cdef Split* claim_split(Lane* lane, const char* name, pieces_t run, void* plan, bint lasting) noexcept nogil
cdef void open_split(Split* s, intp total, intp grain) noexcept nogil
cdef void end_split(Split* s) noexcept nogil                        # when its pieces are taken; waits for the helpers
cdef bint work_once(Split* s) noexcept nogil                        # take and run some pieces. False: there were none
cdef void work(Split* s) noexcept nogil                             # until there are none
cdef intp shares_left(Split* s) noexcept nogil                      # how often work_once() will find some, about
cdef bint any_split(Lane* lane) noexcept nogil                      # whether a runner of the lane could join one
# the first at `place` or after it that `me` may join, and has
cdef Split* join_split(Runner* me, int* place) noexcept nogil
cdef void leave_split(Split* s) noexcept nogil
cdef void splits_after_fork() noexcept
