"""Programs: what _tracing/cuda_graph.pyx sees of them."""

from libc.stdint cimport uint8_t
from dflow._runtime.region cimport Region
from dflow._kernels.kernel cimport intp, Kernel
from dflow._array.core cimport ndarray
from dflow._runtime.errors cimport Site
from dflow._runtime.graph cimport Storage
from dflow._array.dispatch cimport Core, Operand

cdef enum Kind:
    INPUT                   # the storage of an argument
    OUTER                   # of an array from outside the function: always the same
    FRESH                   # made by the function, and so at each replay anew
    GIVEN                   # a slot of the program that this one is the way back of

cdef struct Slot:           # a storage, by the part that it plays
    Kind kind
    int which               # of the arguments, or of the earlier program's slots
    Storage* s              # as it was noted; owned by the program while that notes, and if OUTER
    Storage* before         # FRESH: what it held before the first step that uses it; owned, or NULL
    size_t nbytes
    int last                # the step that uses it last
    int next                # another slot that this step uses last; -1: none
    bint written
    bint depends            # on arguments, arrays from outside or random numbers
    bint kept               # beyond the last step
    uint8_t device          # FRESH: where it was in the end, and is made at each replay

cdef struct Place:          # an operand
    int slot                # -1: a constant
    intp offset
    Region region

cdef struct Step:           # a launch
    Kernel* k
    Site* site
    double cost
    intp elements
    int nops
    int ndim
    int ends                # the first slot that it uses last; -1: none
    int drawn               # the operand that is a draw, from
    void* source            # this Counter: owned
    Place* places
    Operand* ops
    intp* shape
    Core* core

cdef struct Input:          # an argument
    Storage* s              # as it is compared
    int first               # the first argument of the same storage
    bint whole              # covers that

cdef struct Held:           # a slot during a replay
    Storage* s              # owned if FRESH or INPUT, and in a Run
    intp shift              # of its operands' offsets, in bytes
    unsigned int version    # of the storage, after the replay

cdef class Run:
    cdef Held* held
    cdef int n
    cdef bint pending(self) noexcept
    cdef bint kept_elsewhere(self, int known) noexcept

cdef class Program:
    cdef Slot* slots
    cdef int nslots, room_slots
    cdef Step* steps
    cdef int nsteps, room_steps
    cdef dict by_storage            # while it notes: numbers of slots
    cdef Program earlier            # while it notes: what this is the way back of
    cdef list inputs                # arrays like the arguments, of no storage
    cdef Input* arguments
    cdef Storage** outer            # those from outside that steps write to
    cdef int nouter
    cdef list outputs               # arrays like the results, of no storage; None
    cdef list places                # of each: its slot, or -1 - the number of the argument that it is
    cdef list leaves                # whose gradients are written
    cdef Held* held                 # during a replay
    cdef bint draws                 # random numbers
    cdef double cost                # of all steps, in nanoseconds, roughly
    cdef int behind                 # replays in a row that found something pending, up to MOST_BEHIND
    cdef bint busy                  # GIL: in a replay, whose operands these are
    cdef unsigned long thread       # which replays
    # what a GPU runs in place of the steps (_tracing/cuda_graph.pyx); False: nothing; None: not tried yet
    cdef object captured
    cdef int replays                # before it is tried
    cdef void end_step(self, Step* step) noexcept
    cdef int slot_of(self, Storage* s, int access) except -1
    cdef bint knows(self, Storage* s)
    cdef Step* new_step(self, Kernel* k, int nops, int ndim) except NULL
    cdef int note(self, Kernel* k, Operand* ops, int nops, int ndim, intp* shape, Core* core, double cost,
                  intp elements) except -1
    cdef int begin(self, list arrays, Program earlier) except -1
    cdef bint end(self) noexcept
    cdef Run suspects(self, list outputs)
    cdef int finish(self, list outputs, list arrays) except -1
    cdef int set_beginnings(self) except -1
    cdef int copy_before(self, int i) except -1
    cdef int move_to_front(self, int n) except -1
    cdef bint fits(self, list arrays, int flags)
    cdef list replay(self, list arrays, Run given, Run kept)
    cdef int hold(self, list arrays, Run given) except -1
    cdef list results(self, list arrays)
    cdef void drop(self) noexcept
    cdef int keep(self, Run run) except -1
    cdef int make(self, int i) except -1
    cdef bint late(self) noexcept nogil
    cdef int let_workers_catch_up(self) except -1
    cdef int fill_operands(self, Step* step) except -1
    cdef int end_slots(self, Step* step) noexcept
    cdef int dispatch_step(self, Step* step) except -1

cdef ndarray over(ndarray template, Storage* s, intp shift)

ctypedef list (*captured_replay)(Program program, list arrays)
cdef struct CaptureHooks:       # filled by _tracing/cuda_graph.pyx, which is there where there are GPUs
    captured_replay replay_captured     # the results, or None where the steps are to be launched one by one
cdef CaptureHooks capture_hooks

