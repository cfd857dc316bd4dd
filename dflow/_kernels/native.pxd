"""Native loops: machine code for a list of steps, written at the second sight of the list, and kept.

    sights      one hash a place: of a list that was seen once
    loops       by hash: the steps, which lie in the arena before the code, and the code
    arena       bounded; what is in it stays as it is, and where it is, for good: so it is run without a lock

A forked child goes on with the loops that are there. It writes its own to an arena of its own, as the pages of the
first are its parent's, too.
"""

from libc.stdint cimport uint8_t
from dflow._kernels.kernel cimport intp, Kernel

cdef extern from "_kernels/c/assembler.h" nogil:
    ctypedef struct Step:
        uint8_t op
        uint8_t to
        uint8_t a
        uint8_t b
    cdef enum:
        STEP_SPREAD, STEP_LITERAL, STEP_LOAD, STEP_STORE
        STEP_ADD, STEP_SUBTRACT, STEP_MULTIPLY, STEP_DIVIDE, STEP_SQRT, STEP_AND, STEP_XOR, STEP_OR
        STEP_RINT, STEP_FLOOR, STEP_CEIL, STEP_TRUNC
        STEP_MAXIMUM, STEP_MINIMUM
        LITERAL_SIGN, LITERAL_ALL_BUT_SIGN, LITERAL_ONE, LITERALS
        NO_VECTORS, AVX2, AVX512

ctypedef void (*native_t)(char** at, intp n) noexcept nogil

cdef enum Operation:            # of a kernel, whose operands all have one type
    NO_OPERATION                # the assembler knows none
    ADD
    SUBTRACT
    MULTIPLY
    DIVIDE
    NEGATIVE
    ABSOLUTE
    SQUARE
    SQRT
    RECIPROCAL
    MAXIMUM
    MINIMUM
    COPYSIGN
    RINT
    FLOOR
    CEIL
    TRUNC

cdef enum:
    MAX_VECTORS = 32            # registers of the processor
    MAX_STEPS = 256

# The set of instructions that loops are written for; NO_VECTORS: no group is to have one. GIL: to set; any: to read.
cdef int native_set
cdef inline int vectors_of(int set) noexcept nogil:
    return 32 if set == AVX512 else 14
cdef native_t find_loop(Step* steps, int n, int itemsize, int set) noexcept nogil      # NULL: not now
cdef int note_operation(Kernel* k, object ufunc, tuple codes) except -1
