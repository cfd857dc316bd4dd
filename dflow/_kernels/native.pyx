"""Native loops: see _kernels/native.pxd."""

import os

import numpy as np
from libc.stdint cimport uint8_t, uint64_t
from libc.stddef cimport size_t
from libc.string cimport memcmp, memcpy, memset
from dflow._base.atomics cimport DFLOW_DEBUG, invariant
from dflow._base.locks cimport lock, LOOPS_LOCK, unlock
from dflow._kernels.dtypes cimport BOOL, DOUBLE, FLOAT, is_integer, itemsizes

cdef extern from "_kernels/c/assembler.h" nogil:
    size_t assemble(uint8_t* code, size_t room, const Step* steps, int n, int itemsize, int set)

cdef extern from "_kernels/c/executable.h" nogil:
    int vector_set()
    bint map_twice(size_t size, uint8_t** writable, uint8_t** runnable)

cdef enum:
    ARENA = 1 << 20             # bytes of one
    LOOPS = 2048                # places in one; a power of two. At most three quarters are taken
    SIGHTS = 4096               # as well
    MOST_CODE = 1 << 15         # bytes of a loop

cdef struct Loop:
    uint64_t hash               # of what follows; 0: no loop is here
    const uint8_t* steps
    int nsteps
    int itemsize
    int set
    void* code

cdef struct Arena:
    uint8_t* writable           # NULL: there is none yet
    uint8_t* runnable
    size_t used
    int nloops
    int held                    # how often its loops are held
    Loop loops[LOOPS]

# All under the lock.
cdef int loops_lock = 0
cdef Arena arenas[ARENAS]
cdef int current = 0            # the one that loops are found in, and added to
cdef bint forbidden = False     # the system gives no memory for machine code
cdef int turns = 0              # how often an arena was begun anew
cdef uint64_t sights[SIGHTS]

cdef dict SETS = {"AVX2": AVX2, "AVX-512": AVX512}
cdef int best_set = vector_set()
cdef int usual_set = best_set       # what is switched on

cdef int read_environment() except -1:
    global usual_set, native_set
    wish = os.environ.get("DFLOW_NATIVE", "1")
    if wish not in ("0", "1", *SETS):
        raise ValueError(f"DFLOW_NATIVE must be 0, 1 or one of {', '.join(SETS)}, not {wish!r}")
    usual_set = min(SETS.get(wish, best_set), best_set)
    native_set = NO_VECTORS if wish == "0" else usual_set
    return 0

read_environment()

# ---- what kernels are --------------------------------------------------------------------------------------------

cdef dict OPERATIONS = {np.add: ADD, np.subtract: SUBTRACT, np.multiply: MULTIPLY, np.divide: DIVIDE,
                        np.negative: NEGATIVE, np.absolute: ABSOLUTE, np.fabs: ABSOLUTE, np.square: SQUARE,
                        np.sqrt: SQRT, np.reciprocal: RECIPROCAL, np.maximum: MAXIMUM, np.minimum: MINIMUM,
                        np.copysign: COPYSIGN, np.rint: RINT, np.floor: FLOOR, np.ceil: CEIL, np.trunc: TRUNC,
                        np.positive: COPY}
cdef dict OF_INTEGERS = {np.add: ADD, np.subtract: SUBTRACT, np.multiply: MULTIPLY, np.negative: NEGATIVE,
                         np.absolute: ABSOLUTE, np.square: SQUARE, np.maximum: MAXIMUM, np.minimum: MINIMUM,
                         np.bitwise_and: BITS_AND, np.bitwise_or: BITS_OR, np.bitwise_xor: BITS_XOR,
                         np.invert: BITS_NOT, np.left_shift: LEFT_SHIFT, np.right_shift: RIGHT_SHIFT,
                         np.positive: COPY}
cdef dict TO_BOOLS = {np.less: LESS, np.less_equal: LESS_EQUAL, np.equal: EQUAL, np.not_equal: NOT_EQUAL,
                      np.greater: GREATER, np.greater_equal: GREATER_EQUAL, np.isnan: ISNAN, np.isinf: ISINF,
                      np.isfinite: ISFINITE}
cdef dict COMPARISONS = {ufunc: operation for ufunc, operation in TO_BOOLS.items() if operation <= GREATER_EQUAL}
cdef dict OF_BOOLS = {np.logical_and: AND, np.logical_or: OR, np.logical_xor: XOR, np.logical_not: NOT,
                      np.bitwise_and: AND, np.bitwise_or: OR, np.bitwise_xor: XOR, np.invert: NOT}

cdef int note_operation(Kernel* k, object ufunc, tuple codes) except -1:
    """Note in a kernel of NumPy's ufunc what it computes, if the assembler knows that, of these types."""
    cdef int first = codes[0], last = codes[len(codes) - 1]
    cdef int numbers = numbers_of(first)
    known = {}
    if first == BOOL:
        known = OF_BOOLS
    elif numbers >= 0 and is_wide(itemsizes[first]):
        k.width, k.numbers = itemsizes[first], numbers
        if last == first:
            known = OPERATIONS if numbers == FLOATS else OF_INTEGERS
        elif last == BOOL:
            known = TO_BOOLS if numbers == FLOATS else COMPARISONS
    if len(set(codes[:len(codes) - 1])) == 1:
        k.operation = known.get(ufunc, NO_OPERATION)
    return 0

cdef inline int numbers_of(int code) noexcept:
    """-1: others."""
    if code == FLOAT or code == DOUBLE:
        return FLOATS
    if code != BOOL and is_integer(code):
        return SIGNED if code % 2 else UNSIGNED
    return -1

cdef inline bint is_wide(int itemsize) noexcept:
    return itemsize == 4 or itemsize == 8

cdef void note_cast(Kernel* k, int source, int target) noexcept:
    cdef int ours = numbers_of(source), theirs = numbers_of(target), size = itemsizes[source]
    k.width = itemsizes[target] if target != BOOL else size
    k.numbers = ours
    if source == BOOL or not is_wide(k.width):
        if source == BOOL and theirs >= 0 and is_wide(k.width):
            k.operation, k.numbers = ONE_IF, theirs
    elif source == target:
        k.operation = COPY
    elif target == BOOL:
        k.operation = NOT_ZERO if ours >= 0 else NO_OPERATION
    elif ours >= 0 and theirs >= 0:
        k.operation = same_width(ours, theirs) if size == k.width else widened(ours, theirs) if size < k.width \
                      else NO_OPERATION
        k.narrow = size if size < k.width else 0

cdef inline int same_width(int source, int target) noexcept:
    if source == SIGNED and target == FLOATS:
        return TO_FLOATS
    if source == FLOATS and target == SIGNED:
        return TO_INTEGERS
    return COPY if source != FLOATS and target != FLOATS else NO_OPERATION

cdef inline int widened(int source, int target) noexcept:
    if source != FLOATS and target == FLOATS:
        return WIDEN_TO_FLOATS
    return WIDEN if (source == FLOATS) == (target == FLOATS) else NO_OPERATION

cdef void note_where(Kernel* k, int itemsize) noexcept:
    if is_wide(itemsize):
        k.operation = WHERE
        k.width = itemsize

# ---- loops -------------------------------------------------------------------------------------------------------

cdef inline uint64_t hash_of(const Step* steps, int n, int itemsize, int set) noexcept nogil:
    """Never 0."""
    cdef const unsigned int* words = <const unsigned int*>steps
    cdef uint64_t h = <uint64_t>(itemsize + 16 * set)
    cdef int i
    for i in range(n):
        h = (h ^ words[i]) * <uint64_t>0x9E3779B97F4A7C15
        h ^= h >> 29
    return h | 1

cdef Loop* place_of(Arena* arena, uint64_t h, const Step* steps, int n, int itemsize, int set) noexcept nogil:
    """The loop's place: its own, or the free one for it."""
    cdef size_t i = h >> 40
    cdef Loop* found
    while True:
        found = &arena.loops[i & (LOOPS - 1)]
        if found.hash == 0 or (found.hash == h and found.nsteps == n and found.itemsize == itemsize
                               and found.set == set and memcmp(found.steps, steps, n * sizeof(Step)) == 0):
            return found
        i += 1

cdef native_t find_loop(Step* steps, int n, int itemsize, int set, bint at_once, int* held) noexcept nogil:
    cdef uint64_t h = hash_of(steps, n, itemsize, set)
    cdef Loop* found
    cdef uint64_t* sight = &sights[(h >> 20) & (SIGHTS - 1)]
    cdef void* code = NULL
    cdef bint write = False
    cdef uint8_t text[MOST_CODE]
    cdef size_t size
    lock(&loops_lock, LOOPS_LOCK)
    found = place_of(&arenas[current], h, steps, n, itemsize, set)
    if found.hash:
        code = hold(found, held)
    elif not forbidden:
        write = at_once or sight[0] == h
        sight[0] = h
    unlock(&loops_lock)
    if not write:
        return <native_t>code
    size = assemble(text, MOST_CODE, steps, n, itemsize, set)
    if not size or not make_arenas():
        return NULL
    lock(&loops_lock, LOOPS_LOCK)
    found = place_of(&arenas[current], h, steps, n, itemsize, set)
    if found.hash == 0:                         # no other thread has written it meanwhile
        found = keep(found, h, steps, n, itemsize, set, text, size)
    if found != NULL:
        code = hold(found, held)
    unlock(&loops_lock)
    return <native_t>code

cdef inline void* hold(Loop* loop, int* held) noexcept nogil:
    """Under the lock: a loop of the current arena, which stays until it is let go."""
    arenas[current].held += 1
    held[current] += 1
    return loop.code

cdef void let_loops_go(int* held) noexcept nogil:
    cdef int i
    lock(&loops_lock, LOOPS_LOCK)
    for i in range(ARENAS):
        arenas[i].held -= held[i]
        if DFLOW_DEBUG:
            invariant(arenas[i].held >= 0, b"who lets a loop go has held it")
    unlock(&loops_lock)

cdef bint make_arenas() noexcept nogil:
    """See that there are some. False: the system does not allow it."""
    global forbidden
    cdef uint8_t* writable
    cdef uint8_t* runnable
    cdef bint able
    cdef int i
    lock(&loops_lock, LOOPS_LOCK)
    able = arenas[0].writable != NULL
    unlock(&loops_lock)
    if able:
        return True
    able = map_twice(ARENAS * ARENA, &writable, &runnable)
    lock(&loops_lock, LOOPS_LOCK)
    if not able:
        forbidden = True
    elif arenas[0].writable == NULL:            # of two threads that make them, one has them
        for i in range(ARENAS):
            arenas[i].writable = writable + i * ARENA
            arenas[i].runnable = runnable + i * ARENA
    unlock(&loops_lock)
    return able

cdef Loop* keep(Loop* place, uint64_t h, Step* steps, int n, int itemsize, int set, uint8_t* text,
                size_t size) noexcept nogil:
    """Under the lock: put a loop into the current arena, or where that is full into the other one. NULL: loops of that
    are still held."""
    global current, turns
    cdef Arena* arena = &arenas[current]
    cdef size_t key = n * sizeof(Step)
    cdef size_t start = (arena.used + key + 63) & ~<size_t>63
    if start + size > ARENA or arena.nloops >= LOOPS // 4 * 3:
        arena = &arenas[1 - current]
        if arena.held:
            return NULL
        current = 1 - current
        turns += arena.nloops > 0
        arena.used = arena.nloops = 0
        memset(arena.loops, 0, sizeof(arena.loops))
        place = place_of(arena, h, steps, n, itemsize, set)
        start = (key + 63) & ~<size_t>63
    memcpy(arena.writable + arena.used, steps, key)
    memcpy(arena.writable + start, text, size)
    place.steps = arena.runnable + arena.used
    place.nsteps = n
    place.itemsize = itemsize
    place.set = set
    place.code = arena.runnable + start
    place.hash = h
    arena.used = start + size
    arena.nloops += 1
    return place

cdef void loops_after_fork() noexcept:
    global loops_lock, current
    loops_lock = current = 0
    memset(arenas, 0, sizeof(arenas))

# ---- for engine ----------------------------------------------------------------------------------------------------

def is_on():
    return native_set != NO_VECTORS

def switch(on):
    """Let groups use native loops or not, where the processor can. What it was."""
    global native_set
    before = is_on()
    native_set = usual_set if on else NO_VECTORS
    return before

def choose(str name):
    """Have loops written for a set of instructions, if the processor has it. The one before, of SETS' names."""
    global native_set, usual_set
    before = set_name()
    if SETS[name] <= best_set:
        usual_set = SETS[name]
        native_set = usual_set if native_set else NO_VECTORS
    return before

cdef str set_name():
    return next((name for name, which in SETS.items() if which == usual_set), None)

def config():
    """How many loops there are, their bytes, and how often those of an arena made room for others; or why there are
    none."""
    cdef (bint, int, size_t, int) found
    if best_set == NO_VECTORS:
        return "off: not x86-64 under Linux with AVX2"
    if not is_on():
        return "off: DFLOW_NATIVE=0, or engine.native(False)"
    lock(&loops_lock, LOOPS_LOCK)
    found = forbidden, arenas[0].nloops + arenas[1].nloops, arenas[0].used + arenas[1].used, turns
    unlock(&loops_lock)
    if found[0]:
        return "off: the system gives no memory for machine code"
    return {"instructions": set_name(), "loops": found[1], "bytes": found[2], "turns": found[3]}

def assembled(list wanted, int itemsize, str name):
    """The bytes of the loop of these steps, (op, to, a, b) each, for a set of instructions: for tests."""
    cdef uint8_t text[MOST_CODE]
    cdef Step steps[MAX_STEPS]
    cdef int i
    for i in range(len(wanted)):
        steps[i].op, steps[i].to, steps[i].a, steps[i].b = wanted[i]
    return text[:assemble(text, MOST_CODE, steps, len(wanted), itemsize, SETS[name])]
