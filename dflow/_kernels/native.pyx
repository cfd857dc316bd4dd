"""Native loops: see _kernels/native.pxd."""

import os

import numpy as np
from libc.stdint cimport uint8_t, uint64_t
from libc.stddef cimport size_t
from libc.string cimport memcmp, memcpy, memset
from dflow._base.atomics cimport cas_int, DFLOW_DEBUG, invariant, load_int, store_int
from dflow._base.locks cimport lock, LOOPS_LOCK, unlock
from dflow._kernels.dtypes cimport BOOL, CDOUBLE, CFLOAT, DOUBLE, FLOAT, HALF, is_complex, is_integer, itemsizes

cdef extern from "_kernels/c/assembler.h" nogil:
    size_t assemble(uint8_t* code, size_t room, const Step* steps, int n, int itemsize, int set)

cdef extern from "_kernels/c/steps.h" nogil:
    const char* step_name(int op)

cdef extern from "_kernels/c/executable.h" nogil:
    int vector_set()
    void make_coherent(uint8_t* writable, uint8_t* runnable, size_t size)
    bint map_twice(size_t size, bint named, uint8_t** writable, uint8_t** runnable)
    void tell_perf(const void* code, size_t size, uint64_t hash, const Step* steps, int n)

cdef enum:
    ARENA = 1 << 20             # bytes of one
    LOOPS = 2048                # places in one; a power of two. At most three quarters are taken
    SIGHTS = 4096               # as well
    MOST_CODE = 1 << 15         # bytes of a loop

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
cdef int nbroken = 0            # loops that computed something else than NumPy's

cdef int mistaken = 0           # a step that is written as another one: for tests
cdef int instead = 0

cdef dict SETS = {"AVX2": AVX2, "AVX-512": AVX512, "NEON": NEON}
cdef int best_set = vector_set()
cdef int usual_set = best_set       # what is switched on
cdef bint perf_map = False          # loops have names in a file that perf reads

cdef inline bint has_set(int set) noexcept:
    """Whether the processor has these instructions."""
    return set == best_set or set == AVX2 and best_set == AVX512

cdef int read_environment() except -1:
    global usual_set, native_set, perf_map
    wish = os.environ.get("DFLOW_NATIVE", "0" if best_set == NEON else "1")      # of these only emulators ran loops
    if wish not in ("0", "1", *SETS):
        raise ValueError(f"DFLOW_NATIVE must be 0, 1 or one of {', '.join(SETS)}, not {wish!r}")
    usual_set = SETS.get(wish, best_set)
    if not has_set(usual_set):
        usual_set = best_set
    native_set = NO_VECTORS if wish == "0" else usual_set
    perf_map = os.environ.get("DFLOW_NATIVE_PERF", "0") == "1"
    return 0

read_environment()

# ---- what kernels are --------------------------------------------------------------------------------------------

cdef object CLIP_UFUNC = np._core.umath.clip
cdef dict OPERATIONS = {np.add: ADD, np.subtract: SUBTRACT, np.multiply: MULTIPLY, np.divide: DIVIDE,
                        np.negative: NEGATIVE, np.absolute: ABSOLUTE, np.fabs: ABSOLUTE, np.square: SQUARE,
                        np.sqrt: SQRT, np.reciprocal: RECIPROCAL, np.maximum: MAXIMUM, np.minimum: MINIMUM,
                        np.fmax: FMAX, np.fmin: FMIN, CLIP_UFUNC: CLIP, np.sign: SIGN, np.copysign: COPYSIGN,
                        np.rint: RINT, np.floor: FLOOR, np.ceil: CEIL, np.trunc: TRUNC, np.exp: EXP,
                        np.positive: COPY, np.conjugate: COPY}
cdef dict OF_INTEGERS = {np.add: ADD, np.subtract: SUBTRACT, np.multiply: MULTIPLY, np.negative: NEGATIVE,
                         np.absolute: ABSOLUTE, np.square: SQUARE, np.maximum: MAXIMUM, np.minimum: MINIMUM,
                         np.fmax: MAXIMUM, np.fmin: MINIMUM, CLIP_UFUNC: CLIP, np.sign: SIGN,
                         np.bitwise_and: BITS_AND, np.bitwise_or: BITS_OR, np.bitwise_xor: BITS_XOR,
                         np.invert: BITS_NOT, np.left_shift: LEFT_SHIFT, np.right_shift: RIGHT_SHIFT,
                         np.positive: COPY, np.conjugate: COPY, np.floor: COPY, np.ceil: COPY, np.trunc: COPY}
cdef dict OF_PAIRS = {np.add: ADD, np.subtract: SUBTRACT, np.negative: NEGATIVE, np.positive: COPY,
                      np.conjugate: CONJUGATE}
cdef dict TO_BOOLS = {np.less: LESS, np.less_equal: LESS_EQUAL, np.equal: EQUAL, np.not_equal: NOT_EQUAL,
                      np.greater: GREATER, np.greater_equal: GREATER_EQUAL, np.isnan: ISNAN, np.isinf: ISINF,
                      np.isfinite: ISFINITE, np.signbit: SIGNBIT, np.logical_not: IS_ZERO, np.logical_and: BOTH,
                      np.logical_or: EITHER, np.logical_xor: ONE_OF}
cdef dict COMPARISONS = {ufunc: operation for ufunc, operation in TO_BOOLS.items()
                         if operation <= GREATER_EQUAL or operation == IS_ZERO or operation >= BOTH}
cdef dict OF_BOOLS = {np.logical_and: AND, np.logical_or: OR, np.logical_xor: XOR, np.logical_not: NOT,
                      np.bitwise_and: AND, np.bitwise_or: OR, np.bitwise_xor: XOR, np.invert: NOT}

cdef int note_operation(Kernel* k, object ufunc, tuple codes) except -1:
    """Note in a kernel of NumPy's ufunc what it computes, if the assembler knows that, of these types."""
    cdef int first = codes[0], last = codes[len(codes) - 1]
    cdef int numbers = numbers_of(first)
    known = {}
    if first == BOOL:
        known = OF_BOOLS
    elif first == last and (first == CFLOAT or first == CDOUBLE):
        k.width, k.numbers = itemsizes[first] // 2, COMPLEX
        known = OF_PAIRS if ufunc not in PAIR_PRODUCTS or not numpy_fuses(first) else PAIR_PRODUCTS
    elif first == HALF:
        k.width, k.numbers = 4, HALVES
        known = OPERATIONS if last == HALF else TO_BOOLS if last == BOOL else {}
    elif numbers >= 0 and is_wide(itemsizes[first]):
        k.width, k.numbers = itemsizes[first], numbers
        if last == first:
            known = OPERATIONS if numbers == FLOATS else OF_INTEGERS
        elif last == BOOL:
            known = TO_BOOLS if numbers == FLOATS else COMPARISONS
        elif last == DOUBLE and itemsizes[first] == 8:
            known = {np.divide: TRUE_DIVIDE}
    if len(set(codes[:len(codes) - 1])) == 1:
        k.operation = known.get(ufunc, NO_OPERATION)
        if k.operation == CLIP and (numbers == FLOATS or first == HALF) and numpy_keeps(first):
            k.operation = CLIP_KEEPS
        if k.operation == EXP and (first != FLOAT or not numpy_divides_polynomials()):
            k.operation = NO_OPERATION
    return 0

cdef bint numpy_keeps(int code) except -1:
    """Whether NumPy's clip() leaves a zero as it is between zeros of the other sign. It depends on its version."""
    zero = np.dtype("f" if code == FLOAT else "e" if code == HALF else "d").type(0)
    return np.signbit(CLIP_UFUNC(np.full(8, -zero), zero, zero)).all()

cdef bint numpy_divides_polynomials() except -1:
    """Whether NumPy's exp() of floats is STEP_EXP's: for these it is two or three units from what is nearest."""
    hard = np.array([0xc2781e37, 0x428cc9b0, 0x41710333, 0xc22200b0] * 16, np.uint32).view(np.float32)
    return (np.exp(hard)[:4].view(np.uint32) == [0x12b65236, 0x723c4f2e, 0x4a548f26, 0x223e00e4]).all()

cdef dict PAIR_PRODUCTS = {np.multiply: MULTIPLY, np.square: SQUARE}

cdef bint numpy_fuses(int code) except -1:
    """Whether NumPy's products of complex numbers have one rounding where two would give another result."""
    kind = np.dtype("F" if code == CFLOAT else "D")
    near = kind.type(1 + np.finfo(kind).eps)
    return np.square(np.full(8, near + near * 1j, kind)).real.all()

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
    cdef int ours = numbers_of(source), theirs = numbers_of(target), size = itemsizes[source], given = itemsizes[target]
    cdef int wide = max(size, given)
    k.width = wide
    k.numbers = ours
    if source == BOOL:
        k.numbers = theirs
        if theirs >= 0 and is_wide(given):
            k.operation, k.width = ONE_IF, given
        elif theirs >= 0 and given == 1:
            k.operation, k.width, k.narrow = BYTE_IF, 0, 1
        elif target == HALF:
            k.operation, k.width, k.numbers = ONE_IF, 4, HALVES
    elif source == HALF and (target == FLOAT or target == BOOL):
        k.operation, k.width, k.numbers = FROM_HALVES if target == FLOAT else NOT_ZERO, 4, HALVES
    elif source == FLOAT and target == HALF:
        k.operation = TO_HALVES
    elif source == target and is_complex(source):
        k.numbers, k.width = COMPLEX, size // 2
        k.operation = COPY if is_wide(k.width) else NO_OPERATION
    elif (source, target) == (FLOAT, CFLOAT) or (source, target) == (DOUBLE, CDOUBLE):
        k.operation, k.numbers, k.width, k.narrow = WIDEN_TO_PAIRS, COMPLEX, size, size
    elif not is_wide(wide):
        k.operation = NO_OPERATION
    elif source == target:
        k.operation = COPY
    elif target == BOOL:
        k.operation = NOT_ZERO if ours >= 0 else NO_OPERATION
    elif ours >= 0 and theirs >= 0:
        k.operation = same_width(ours, theirs, size) if size == given else widened(ours, theirs) if size < given \
                      else shortened(ours, theirs, given)
        k.narrow = min(size, given) if size != given else 0

cdef inline int same_width(int source, int target, int size) noexcept:
    if source != FLOATS:
        return TO_FLOATS if target == FLOATS else COPY
    # To unsigned ones of 4 bytes what does not fit is by where it stands: compilers have two ways.
    return TO_INTEGERS if target == SIGNED else TO_UNSIGNED if size == 8 else NO_OPERATION

cdef inline int widened(int source, int target) noexcept:
    if source != FLOATS and target == FLOATS:
        return WIDEN_TO_FLOATS
    return WIDEN if (source == FLOATS) == (target == FLOATS) else NO_OPERATION

cdef inline int shortened(int source, int target, int given) noexcept:
    if source != FLOATS and target == FLOATS:
        return SHORTEN_FROM_INTEGERS
    if (source == FLOATS) == (target == FLOATS):
        return SHORTEN
    # As in same_width(); those for AArch64 have two ways to all unsigned ones.
    return SHORTEN_TO_INTEGERS if target == SIGNED or given < 4 and best_set != NEON else NO_OPERATION

cdef void note_where(Kernel* k, int itemsize, bint halves) noexcept:
    if halves:
        k.operation, k.width, k.numbers = WHERE, 4, HALVES
    elif is_wide(itemsize):
        k.operation, k.width = WHERE, itemsize

# ---- loops -------------------------------------------------------------------------------------------------------

cdef inline uint64_t hash_of(const Step* steps, int n, int itemsize, int set) noexcept nogil:
    """Never 0."""
    cdef const unsigned int* words = <const unsigned int*>steps
    cdef uint64_t h = <uint64_t>(itemsize + 64 * set)
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

cdef Loop* find_loop(Step* steps, int n, int itemsize, int set, bint at_once, int* held) noexcept nogil:
    cdef uint64_t h = hash_of(steps, n, itemsize, set)
    cdef Loop* found
    cdef Loop* loop = NULL
    cdef uint64_t* sight = &sights[(h >> 20) & (SIGHTS - 1)]
    cdef bint write = False, written = False
    cdef uint8_t text[MOST_CODE]
    cdef size_t size
    lock(&loops_lock, LOOPS_LOCK)
    found = place_of(&arenas[current], h, steps, n, itemsize, set)
    if found.hash:
        loop = hold(found, held)
    elif not forbidden:
        write = at_once or sight[0] == h
        sight[0] = h
    unlock(&loops_lock)
    if not write:
        return loop
    size = write_text(text, steps, n, itemsize, set)
    if not size or not make_arenas():
        return NULL
    lock(&loops_lock, LOOPS_LOCK)
    found = place_of(&arenas[current], h, steps, n, itemsize, set)
    if found.hash == 0:                         # no other thread has written it meanwhile
        found = keep(found, h, steps, n, itemsize, set, text, size)
        written = found != NULL
    if found != NULL:
        loop = hold(found, held)
    unlock(&loops_lock)
    if written and perf_map:
        tell_perf(loop.code, size, h, steps, n)
    return loop

cdef inline size_t write_text(uint8_t* text, Step* steps, int n, int itemsize, int set) noexcept nogil:
    cdef Step wrong[MAX_STEPS]
    cdef int i
    if not mistaken:
        return assemble(text, MOST_CODE, steps, n, itemsize, set)
    memcpy(wrong, steps, n * sizeof(Step))
    for i in range(n):
        if wrong[i].op == mistaken:
            wrong[i].op = <uint8_t>instead
    return assemble(text, MOST_CODE, wrong, n, itemsize, set)

cdef inline Loop* hold(Loop* loop, int* held) noexcept nogil:
    """Under the lock: a loop of the current arena, which stays until it is let go."""
    arenas[current].held += 1
    held[current] += 1
    return loop

cdef bint judge_loop(Loop* loop, bint right) noexcept nogil:
    global nbroken
    cdef bint first = False
    if right:
        cas_int(&loop.state, UNPROVED, PROVED)
        return False
    lock(&loops_lock, LOOPS_LOCK)
    if load_int(&loop.state) != BROKEN:
        store_int(&loop.state, BROKEN)
        first = nbroken == 0
        nbroken += 1
    unlock(&loops_lock)
    return first

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
    able = map_twice(ARENAS * ARENA, perf_map, &writable, &runnable)
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
    make_coherent(arena.writable + start, arena.runnable + start, size)
    place.steps = arena.runnable + arena.used
    place.nsteps = n
    place.itemsize = itemsize
    place.set = set
    place.code = arena.runnable + start
    place.state = UNPROVED
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
    if has_set(SETS[name]):
        usual_set = SETS[name]
        native_set = usual_set if native_set else NO_VECTORS
    return before

cdef str set_name():
    return next((name for name, which in SETS.items() if which == usual_set), None)

def config():
    """How many loops there are, their bytes, how often those of an arena made room for others, and how many computed
    something else than NumPy's when they were compared; or why there are none."""
    cdef (bint, int, size_t, int, int) found
    if best_set == NO_VECTORS:
        return "off: not x86-64 with AVX2, or AArch64, under Linux"
    if not is_on():
        return "off: DFLOW_NATIVE=0, or engine.native(False)"
    lock(&loops_lock, LOOPS_LOCK)
    found = forbidden, arenas[0].nloops + arenas[1].nloops, arenas[0].used + arenas[1].used, turns, nbroken
    unlock(&loops_lock)
    if found[0]:
        return "off: the system gives no memory for machine code"
    return {"instructions": set_name(), "loops": found[1], "bytes": found[2], "turns": found[3], "broken": found[4]}

# ---- for tests ---------------------------------------------------------------------------------------------------

cdef int read_steps(list wanted, Step* steps) except -1:
    cdef int i
    for i in range(len(wanted)):
        steps[i].op, steps[i].to, steps[i].a, steps[i].b = wanted[i]
    return 0

def step_numbers():
    """Of steps, by name."""
    return {step_name(op).decode(): op for op in range(256) if step_name(op) != NULL}

def broken():
    """How many loops computed something else than NumPy's."""
    return nbroken

def assembled(list wanted, int itemsize, str name):
    """The bytes of the loop of these steps, (op, to, a, b) each, for a set of instructions."""
    cdef uint8_t text[MOST_CODE]
    cdef Step steps[MAX_STEPS]
    read_steps(wanted, steps)
    return text[:assemble(text, MOST_CODE, steps, len(wanted), itemsize, SETS[name])]

def run_assembled(list wanted, int itemsize, str name, list addresses, intp n, intp rows=1, list apart=[]):
    """Run the same over operands at these addresses, of which those of rows are so many bytes apart. False: it cannot
    be."""
    cdef Step steps[MAX_STEPS]
    cdef char* at[256]
    cdef intp going[256]
    cdef int held[ARENAS]
    cdef int i
    cdef Loop* loop
    memset(held, 0, sizeof(held))
    read_steps(wanted, steps)
    memset(going, 0, sizeof(going))
    for i in range(len(addresses)):
        at[i] = <char*><size_t>addresses[i]
    for i in range(len(apart)):
        going[i] = apart[i]
    if not has_set(SETS[name]):
        return False
    loop = find_loop(steps, len(wanted), itemsize, SETS[name], True, held)
    if loop == NULL:
        return False
    (<native_t>loop.code)(at, n, rows, going)
    let_loops_go(held)
    return True

def mistake(str step="", str other=""):
    """Have a step written as another one, from now on; without names: as it is."""
    global mistaken, instead
    numbers = step_numbers()
    mistaken, instead = numbers.get(step, 0), numbers.get(other, 0)
