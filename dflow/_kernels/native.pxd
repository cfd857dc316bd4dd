"""Native loops: machine code for a list of steps, written at the second sight of the list, or the first, and kept.

    sights      one hash a place: of a list that was seen once
    arena       so many bytes; by hash the steps, which lie in it before the code, and the code
    arenas      two. Loops are found in the current one, and added to it; when it is full, the other one is emptied and
                becomes that

Who is given a loop holds its arena until it lets it go, and runs the loop without a lock: an arena of which anything is
held is not emptied. So what is in it stays as it is, and where it is, while anybody may run it.

A forked child has no loops, and makes arenas of its own: the pages of its parent's are still written by that.
"""

from libc.stdint cimport uint8_t, uint64_t
from dflow._kernels.kernel cimport intp, Kernel

cdef extern from "_kernels/c/steps.h" nogil:
    ctypedef struct Step:
        uint8_t op
        uint8_t to
        uint8_t a
        uint8_t b
    cdef enum:
        STEP_SPREAD, STEP_LITERAL, STEP_COPIES, STEP_LOAD, STEP_STORE, STEP_LOAD_MASK, STEP_STORE_MASK, STEP_LOAD_NARROW
        STEP_STORE_NARROW, STEP_LOAD_ONE, STEP_PUT_OFF, STEP_TAKE_BACK
        STEP_ADD, STEP_SUBTRACT, STEP_MULTIPLY, STEP_DIVIDE, STEP_SQRT, STEP_AND, STEP_XOR, STEP_OR, STEP_BUT
        STEP_RINT, STEP_FLOOR, STEP_CEIL, STEP_TRUNC
        STEP_MAXIMUM, STEP_MINIMUM, STEP_FMAX, STEP_FMIN, STEP_PAIR_MULTIPLY, STEP_EXP, STEP_ROUND
        STEP_TO_FLOATS, STEP_TO_INTEGERS, STEP_UNSIGNED_TO_FLOATS
        STEP_HALVE_FLOATS, STEP_HALVE_TO_INTEGERS, STEP_HALVE_TO_FLOATS, STEP_HALVE_UNSIGNED_TO_FLOATS
        STEP_INT_ADD, STEP_INT_SUBTRACT, STEP_INT_MULTIPLY, STEP_INT_MAXIMUM, STEP_INT_MINIMUM
        STEP_SHIFT_LEFT, STEP_SHIFT_RIGHT, STEP_SHIFT_SIGNED
        STEP_LESS, STEP_LESS_EQUAL, STEP_EQUAL, STEP_NOT_EQUAL
        STEP_INT_LESS, STEP_INT_LESS_EQUAL, STEP_INT_EQUAL, STEP_INT_NOT_EQUAL
        NARROW_FLOATS, NARROW_SIGNED, NARROW_UNSIGNED, NARROW_TO_FLOATS, NARROW_TO_PAIRS, LOAD_HALVES
        HALVED, STORE_HALVES
        LITERAL_SIGN, LITERAL_ALL_BUT_SIGN, LITERAL_ONE, LITERAL_INFINITY, LITERAL_ALL, LITERAL_ZERO, LITERAL_INT_ONE
        LITERAL_HALF, LITERAL_LOW, LITERAL_2_52, LITERAL_2_84_63, LITERAL_ALL_THREE, LITERAL_2_84, LITERAL_2_84_52
        LITERAL_2_63, LITERAL_CONJUGATE, LITERALS
        PAIRED
        NO_VECTORS, AVX2, AVX512, NEON

ctypedef void (*native_t)(char** at, intp n, intp rows, const intp* steps) noexcept nogil

cdef enum Numbers:              # of 4 or 8 bytes; narrower ones are FLOATS of 4, or integers
    FLOATS
    SIGNED
    UNSIGNED
    COMPLEX                     # pairs of floats, of kernel.width bytes each
    HALVES                      # floats of 2 bytes; where they are computed, of 4, which is kernel.width

cdef enum Operation:            # of a kernel: its numbers are kernel.numbers, of kernel.width bytes
    NO_OPERATION                # the assembler knows none
    COPY                        # of any type; of integers to others of as many bytes
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
    FMAX
    FMIN
    CLIP
    CLIP_KEEPS                  # the same; what equals the limits, if these are one number each, stays: zeros differ
    SIGN
    CONJUGATE
    COPYSIGN
    RINT
    FLOOR
    CEIL
    TRUNC
    EXP                         # of floats of 4 bytes
    # of integers
    BITS_AND
    BITS_OR
    BITS_XOR
    BITS_NOT
    LEFT_SHIFT
    RIGHT_SHIFT
    TRUE_DIVIDE                 # of 8 bytes: to floats
    # casts between numbers of as many bytes, and from those of kernel.narrow bytes: to floats or integers; to floats;
    # from floats to complex numbers
    TO_FLOATS
    TO_INTEGERS
    TO_UNSIGNED                 # from floats
    WIDEN
    WIDEN_TO_FLOATS
    WIDEN_TO_PAIRS
    TO_HALVES                   # from floats of 4 bytes,
    FROM_HALVES                 # and back
    # to those of kernel.narrow bytes: of floats or integers; from floats to integers; from integers to floats
    SHORTEN
    SHORTEN_TO_INTEGERS
    SHORTEN_FROM_INTEGERS
    # of numbers, to bools
    LESS
    LESS_EQUAL
    EQUAL
    NOT_EQUAL
    GREATER
    GREATER_EQUAL
    ISNAN
    ISINF
    ISFINITE
    NOT_ZERO
    IS_ZERO
    SIGNBIT
    BOTH                        # of two numbers: whether they are not zero
    EITHER
    ONE_OF
    # of bools
    AND
    OR
    XOR
    NOT
    # of a bool: to 1 or 0, of a byte, too; with two numbers of any type: to one of these
    ONE_IF
    BYTE_IF
    WHERE

cdef inline bint reads_mask(int operation, int i) noexcept nogil:      # whether its operand i is of bools
    return operation >= AND and i == 0 or AND <= operation <= NOT
cdef inline bint gives_mask(int operation) noexcept nogil:
    return LESS <= operation <= NOT
cdef inline bint shortens(int operation) noexcept nogil:     # whether kernel.narrow is of what it gives
    return SHORTEN <= operation <= SHORTEN_FROM_INTEGERS or operation == BYTE_IF

cdef inline bint is_half(Kernel* k, int i) noexcept nogil:             # whether its operand i is of halves
    if i < k.nin:
        return k.numbers == HALVES and not reads_mask(k.operation, i)
    return k.operation == TO_HALVES or k.numbers == HALVES and not gives_mask(k.operation) and (
        k.operation != FROM_HALVES)

cdef inline bint is_of_halves(Kernel* k) noexcept nogil:
    return k.operation != NO_OPERATION and (k.numbers == HALVES or k.operation == TO_HALVES)

cdef inline bint gains_alone(Kernel* k) noexcept nogil:     # whether a loop of it alone is better than NumPy's
    return k.operation == EXP or is_of_halves(k)

cdef inline int result_bytes(Kernel* k) noexcept nogil:     # of an element that it gives
    if is_half(k, k.nin):
        return 2
    return 1 if gives_mask(k.operation) or not k.width else k.narrow if shortens(k.operation) else (
        2 * k.width if k.numbers == COMPLEX else k.width)

cdef enum:
    MAX_VECTORS = 31            # registers of the processor, at most
    MAX_STEPS = 1024
    ARENAS = 2
    MAX_ROOMS = 128             # on the stack, of a vector each
    OF_EXP = 3                  # vectors that an exponential has for itself

# The set of instructions that loops are written for; NO_VECTORS: no group is to have one. GIL: to set; any: to read.
cdef int native_set
cdef inline int vectors_of(int set, bint paired) noexcept nogil:
    return 31 - paired if set == AVX512 else 22 if set == NEON else 14
cdef inline int bytes_of_vector(int set) noexcept nogil:
    return 64 if set == AVX512 else 16 if set == NEON else 32

cdef enum State:                # of a loop, atomic
    UNPROVED                    # nobody has compared it with NumPy's loops yet
    PROVED
    BROKEN                      # it computes something else: nobody is to use it

cdef struct Loop:               # stays where it is while it is held
    uint64_t hash               # of what follows; 0: no loop is here
    const uint8_t* steps
    int nsteps
    int itemsize
    int set
    int state
    void* code

# The loop of these steps, of elements of itemsize bytes, or of pairs (PAIRED). NULL: not now: at their first sight,
# unless it is to be written at once. `held`: of each arena, how many loops are held.
cdef Loop* find_loop(Step* steps, int n, int itemsize, int set, bint at_once, int* held) noexcept nogil
# Who holds a loop has compared it. True: nobody has been told yet that loops may be wrong.
cdef bint judge_loop(Loop* loop, bint right) noexcept nogil
cdef void let_loops_go(int* held) noexcept nogil
cdef void loops_after_fork() noexcept                   # in the child
cdef int note_operation(Kernel* k, object ufunc, tuple codes) except -1
cdef void note_cast(Kernel* k, int source, int target) noexcept                # from one type, by code, to another
cdef void note_where(Kernel* k, int itemsize, bint halves) noexcept
