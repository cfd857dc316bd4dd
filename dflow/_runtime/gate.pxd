"""The gate of NumPy's BLAS: which threads may be inside, and which tasks wait for it.

NumPy's loops call an OpenBLAS with threads of its own. Two callers of these at once keep each other waiting for
milliseconds, so a call has all of them and is in there alone, or shares the library with others that have one thread
each. Its kernel and its sizes decide which (blas_use() in _kernels/matmul.pyx), as the last bits depend on the threads.

For a tiny matrix OpenBLAS does little but take its locks, and two threads with stacks of such wait for each other most
of their time, three times as long as one after the other. Their tasks go by turns, beside whatever else is inside.

No thread blocks at the gate. A task that may not enter is held back, and its worker goes on with something else; a
thread that holds the GIL makes its operation a task. A thread that leaves lets those held back go on, by turns: all
that share, or one that is alone. So a small matrix waits for one large one, however many are queued, and a large one
for those inside.

Who cannot step aside, as an operation inside a Python function on a worker, tries again and again, and so keeps that
worker. It passes those that wait to be alone: one of them may lie in the queue of that very worker, let go on, and
would never come. With tiny matrices it passes at once.

Invariants, under `lock`:
    G1  no thread is inside beside one that is alone;
    G2  while tasks are held back, somebody is inside (with tiny matrices, of those that go by turns), has left and is
        about to call release_held_back(), or was let go on and will enter.
"""

from dflow._runtime.graph cimport Task
from dflow._runtime.queues cimport Queue

cdef struct Gate:
    int lock                # over all of this
    int inside              # callers that have one thread each; also read without the lock, for a guess
    int alone               # 1: a caller has all threads; also read without the lock
    int tiny                # callers with tiny matrices: a task, and who cannot step aside; also read without the lock
    int welcome             # callers held back and let go on, who pass those that wait to be alone; fewer may come
    Queue sharing           # tasks held back, IDLE as in any queue: waiting threads may claim them
    Queue lonely
    Queue turns

cdef Gate gate
cdef int use_of(Task* t) noexcept nogil                     # how t uses NumPy's BLAS: a BlasUse
cdef bint gate_closed(int use) noexcept nogil               # at a glance
cdef bint enter_gate(int use, bint yields) noexcept nogil   # False: it may not, is outside. yields: it can step aside
cdef void leave_gate(int use) noexcept nogil                # then release_held_back(), inside or with the GIL
cdef bint hold_back(Task* t, int use) noexcept nogil        # False: it may enter now. Needs a runner that is inside
cdef Task* release_held_back() noexcept nogil               # tasks to be queued, linked through next
cdef Task* take_held_back() noexcept nogil                  # any; for when there are no runners
cdef void gate_after_fork() noexcept                        # in the child no thread is inside
