"""All that is pending, looked at: for who tells of it, or cancels some.

A task knows its waiters, not its predecessors. So all that is pending is visited forwards, from what could run now:
what runs, what is queued or held back, and the open group. Meanwhile this thread holds the GIL, and all runners
(hold_runners), so nothing changes. Nothing is allocated then, as that could run Python code: what is seen is noted in
memory that was there before. Kernels and sites are immortal.
"""

from dflow._runtime.errors cimport Site
from dflow._runtime.graph cimport Task

cdef enum:
    NAMES = 3                   # of a group's members

cdef enum State:
    WAITING                     # for its predecessors
    OPEN                        # more may join it
    QUEUED
    HELD_BACK                   # at the gate of NumPy's BLAS
    RUNNING

cdef struct Node:
    Task* task                  # a head. An address, once the runners have gone on: the task may have ended
    State state
    int lane
    int worker                  # RUNNING: 0 for a thread that waits
    int members
    Site* site
    const char* names[NAMES]

cdef struct Pair:               # nodes
    int before
    int after

cdef struct Survey:
    Node* nodes
    int n, most
    int* table                  # by hash of the task: 1 + its node; 0: free
    unsigned int mask
    Pair* pairs
    long npairs, most_pairs
    bint cut                    # not everything found room

# All need the GIL.
cdef bint make_room(Survey* v) noexcept         # for what is pending. False: no memory; end_survey() in any case
cdef void look(Survey* v) noexcept              # runners are held
cdef int node_of(Survey* v, Task* head) noexcept        # -1: it was not seen
cdef void end_survey(Survey* v) noexcept
