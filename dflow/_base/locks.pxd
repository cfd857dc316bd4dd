"""The engine's spin locks, by rank: held for tens of nanoseconds, and never across a kernel, an allocation, a call of
another library, the end of a Python object, or a wait for the GIL.

A thread that holds some takes only such of a higher rank than all of these, so no two threads wait for each other. The
debug build knows which locks each thread holds: it checks the order, that the lock given back is the last one taken,
that a thread which allocates, ends something, runs a kernel or waits for the GIL holds none (must_hold_none()), and
that a change is made under the lock for it (holds()). tests/test_locks.py breaks these rules. A library that keeps a
lock for longer, or sleeps under it, has a mutex: Bell in _base/threads.
"""

from dflow._base.atomics cimport DFLOW_DEBUG, spin_lock, spin_trylock, spin_unlock
from dflow._base.thread_state cimport note_given, note_taken

cdef enum LockRank:
    GROUP_LOCK = 1          # of the open group: tasks are connected under it, which takes those of storages
    GATE_LOCK               # of the gate of NumPy's BLAS: tasks are held back under it, which takes that of a queue
    SPLIT_LOCK              # of a split kernel
    STORAGE_LOCK            # over a storage's frontier, poison and memory. Of several, the later ones by try_lock()
    QUEUE_LOCK              # of a queue
    RECENCY_LOCK            # over the order in which large storages were used
    RUNNERS_LOCK            # over the list of runners
    LOOPS_LOCK              # over the native loops
    BIN_LOCK                # over the kept blocks of one size

cdef inline void lock(int* place, LockRank rank) noexcept nogil:
    if DFLOW_DEBUG:
        note_taken(place, rank, False)
    spin_lock(place)

cdef inline bint try_lock(int* place, LockRank rank) noexcept nogil:
    if not spin_trylock(place):
        return False
    if DFLOW_DEBUG:
        note_taken(place, rank, True)
    return True

cdef inline void unlock(int* place) noexcept nogil:
    if DFLOW_DEBUG:
        note_given(place)
    spin_unlock(place)
