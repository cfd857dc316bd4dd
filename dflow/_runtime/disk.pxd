"""Storages on the disk: what programs have beyond their budget of memory.

Large storages (_runtime/graph.pxd: Large) are kept in the order of their last use. Where there is no room, those that
were used least recently, and that nothing pending needs, are written to a file by tasks of a lane of its own, and their
memory goes. What is submitted on one of them, or reads it, first submits the task that reads it back.

    in memory -- evict(): a task --> written, its pages are those of the file -- fetch(): a task --> in memory

The addresses stay. While a storage is on the disk its pages are those of the file, which the system reads as somebody
looks at them: code that is not told that a storage is on the disk is slower, not wrong, and a few elements are read, or
written to, where they are. Only who writes without the GIL and is no task has to pin the storage (pins) meanwhile.

Invariants:
    D1  the tasks that write and read back are writes to all of the storage, so nothing runs beside them; they are
        fences: not cancelled, and no reason to wait where the memory is seen from outside;
    D2  `spilled` is set when the first is submitted, and cleared when the second is, with the GIL: so in the order of
        submissions each first one is followed by a second one before any use;
    D3  what is `unused` leaves while it has no memory, and comes back, without a task: its room is somebody else's;
    D4  `away` is set while pages of the storage may be the file's, from before they are until after, and changed by
        those two tasks, by the storage's end, and in a child of fork() alone: there such a storage is an error.

An error of the disk in the first leaves the storage where it is; the next call that finds no room tells of it. One in
the second is the storage's error, for whoever reads it.
"""

from dflow._runtime.graph cimport Storage, Task

ctypedef int (*submit_t)(Task* t) except -1
ctypedef bint (*room_t)(size_t nbytes, bint back) except -1

cdef struct DiskHooks:          # filled by _engine.pyx
    submit_t submit
    room_t make_room
cdef DiskHooks disk_hooks

cdef int spilling               # GIL; whether evict() may write
# Other threads are filling an array by no task, or are to submit a task for which arrays are read back now: what they
# have, or have made for it, can leave soon.
cdef bint others_go_on() noexcept                           # GIL
cdef void note_filling(Storage* s, int by) noexcept         # GIL; from here on (1), or no more (-1): s stays in memory
cdef long long failures         # atomic: of writing

# All need the GIL; the first three may give it away.
cdef int fetch_operands(Task* t) except -1                  # those are used now; what is on the disk is read, before t
cdef int fetch(Storage* s) except -1                        # or will be: `spilled` is set. Who calls has a reference
cdef bint evict(long long nbytes) except -1                 # so many, if there are as many. Whether any
cdef str disk_error()                                       # what the last failure was, or ""
cdef void disk_after_fork() noexcept                        # in the child: what is on the disk is its parent's
