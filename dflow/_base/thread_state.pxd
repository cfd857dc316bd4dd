"""Whether operations are recorded, for gradients, or noted, to be replayed; where a thread makes arrays; its locks.

Most programs do neither: the first test is one of a number.
"""

from dflow._base.atomics cimport load_int
from dflow._base.threads cimport this_thread_raised

cdef int recorders                              # GIL: threads that record now
cdef bint recording() noexcept                  # whether this thread does
cdef bint set_recording(bint on) noexcept       # whether it did before
cdef bint training() noexcept                   # whether this thread is in training mode
cdef bint set_training(bint on) noexcept        # whether it was before

cdef void recording_after_fork() noexcept       # in the child, which has this thread only

# One thread at a time notes what it launches (_tracing/trace.pyx). Meanwhile nothing takes a way past launch():
# is_here() and is_free() say no, as `direct` is -1.
cdef int captures                               # GIL: 1 while one does
cdef bint capturing() noexcept                  # whether it is this thread
cdef void set_capturing(bint on) noexcept
cdef const char* obstacle                       # GIL: why what was noted cannot be replayed; NULL: it can
cdef void* obstacle_site                        # a Site*: where that was
cdef void* source                               # GIL: a Counter of _functions/random.pyx: the next launch's
cdef void cannot_replay(const char* why, void* site) noexcept       # if this thread notes what it does
ctypedef void (*reader)(void* storage, void* site) noexcept
cdef struct NotingHooks:                        # filled by _tracing/trace.pyx, without which nobody captures
    reader value_read                           # if captures: where the thread waits for the values of a Storage
cdef NotingHooks noting_hooks
ctypedef void (*redrawer)(void* counter, char* draw) noexcept
cdef struct DrawHooks:                          # filled by _functions/random.pyx, which makes each Counter
    redrawer redraw                             # makes a draw that was launched before the next one
cdef DrawHooks draw_hooks

# Devices have numbers; a storage keeps twice that of its own, and FIXED if somebody has put it there. What nobody
# has put somewhere goes along with what is.
cdef enum:
    CPUS = 16                                   # cpu(i) has number i,
    DEVICES = 32                                # gpu(i) has CPUS + i
    FIXED = 1
    NEAR = 2 * CPUS - 1                         # those that are more are on a GPU
cdef int direct                                 # GIL: storages whose device is more are for launch() alone; see above
cdef int near                                   # GIL: the same for code that puts its result where its operands are
cdef int many_devices                           # GIL: 1 from when on there may be arrays on another device than cpu(0)
cdef void use_devices() noexcept
cdef int current_device() noexcept              # its number: where this thread makes what nothing else decides about
cdef int set_current_device(int device) noexcept    # the one before
cdef bint crossing() noexcept                   # whether this thread launches what brings values to another device
cdef void set_crossing(bint on) noexcept

# At the end of the process the interpreter frees the states of other threads, those also of daemon threads that run a
# loop meanwhile, without the GIL: these look at no error any more.
cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()
cdef int process_ends                           # atomic: it has begun to, in
cdef unsigned long last_thread                  # this one, which goes on
cdef inline bint loop_raised() noexcept nogil:  # whether a loop has set an error in this thread
    return (not load_int(&process_ends) or PyThread_get_thread_ident() == last_thread) and this_thread_raised()

# The debug build only: see _base/locks.pxd.
cdef void note_taken(int* place, int rank, bint tried) noexcept nogil
cdef void note_given(int* place) noexcept nogil
cdef bint holds(int* place) noexcept nogil          # whether this thread does
cdef void must_hold_none(const char* rule) noexcept nogil       # or the process stops, and tells the rule and the locks
