"""Errors of operations, and the lines that submitted them.

A task that fails poisons what it was to write; who reads that raises a copy of the error. An error that nobody has seen
when its last reference goes is reported, as Python reports what cannot be caught.
"""

from cpython.object cimport PyObject

cdef extern from "_runtime/site.h":
    ctypedef struct Site:
        PyObject* file
        PyObject* name
        int line
        int internal
        long waits
        Site* caller

cdef struct Poison:         # an error, shared by the storages it reached
    int refs                # atomic
    int seen                # GIL
    PyObject* error         # GIL
    Poison* next            # GIL: list of all
    Poison* prev
    Poison* grave           # of one without references: the next of these

# ---- sites
cdef Site* here() noexcept
cdef str describe(Site* site)
cpdef bint in_try() noexcept                                            # GIL, as the next
cpdef bint in_record() noexcept

# ---- poison
cdef Poison* poison_new(object error, Site* site, const char* name) noexcept    # GIL; a reference
cdef Poison* poison_raised(Site* site, const char* name) noexcept with gil      # this thread's: see MAY_RAISE
cdef object take_raised()                                               # what the indicator has, which is clear then
cdef void poison_unref(Poison* p) noexcept nogil
cdef bint dead_poisons() noexcept nogil                                 # some wait for their end,
cdef void end_poisons() noexcept                                        # which needs the GIL
cdef int raise_poison(Poison* p) except -1
cdef list unseen_errors()                                               # oldest first; they are seen now
cpdef void report_unseen(object error) noexcept
