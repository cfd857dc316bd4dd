"""Runs a group, block by block: see _runtime/fusion_run.pxd."""

from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy
from dflow._base.allocator cimport memory_free, memory_new
from dflow._base.atomics cimport glance_int, hint_int, load_int
from dflow._base.fpflags cimport fp_clear, fp_collect, fp_flags
from dflow._kernels.kernel cimport COPIES, intp, item_bytes, Kernel, REDUCES
from dflow._kernels.native cimport COMPLEX, FMAX, FMIN, is_half, judge_loop, native_t, PROVED, result_bytes, UNPROVED
from dflow._kernels.outer_loop cimport NARROW, run_rows
from dflow._kernels.reduce cimport Fold, FOLD_BYTES, fold, fold_of, fold_one, fold_rows
from dflow._runtime.fusion_plan cimport (
    BLOCK, GroupPlan, INNER, INNER_BYTES, MAX_SLOTS, NativeRun, PART, runs_of, STACK_BYTES)
from dflow._runtime.fusion_native cimport find_parts
from dflow._runtime.fp_errors cimport LOOP_DIFFERS, warn_later
from dflow._runtime.fusion_rules cimport MAX_ARGUMENTS, MAX_OPERANDS

cdef enum:
    PROOF = 251                 # elements that a new loop is compared on: whole vectors, and a part of one
    MAX_ELEMENT = 16            # bytes
    SHORT_ROW = 128             # elements, of which rows are summed by one call

cdef extern from "_kernels/c/copy.h" nogil:
    void move_rows(char* to, intp to_step, const char* source, intp from_step, intp rows, size_t n)
    void move_spread(char* to, intp to_row, const char* source, intp from_row, intp rows, intp columns, int itemsize)
    void move_turned(char* to, intp to_row, const char* source, intp from_column, intp rows, intp columns, int itemsize)
    void move_items(char* to, intp to_step, const char* source, intp from_step, intp n, int itemsize)

cdef void run_blocks(void* plan, intp start, intp stop) noexcept nogil:
    """Run all members over one block after the other."""
    cdef GroupPlan* g = <GroupPlan*>plan
    cdef char registers[STACK_BYTES + 64]
    cdef char* room = <char*>((<size_t>registers + 63) & ~<size_t>63)
    cdef char* rooms = room + g.nregisters * <intp>g.register_bytes * g.block
    cdef char* at[MAX_OPERANDS]
    cdef intp n, f
    cdef int i, j
    if g.by_rows:
        start *= g.per_row
        stop *= g.per_row
    for i in range(g.nops):
        at[i] = room + <size_t>g.base[i] * (<size_t>g.block * g.register_bytes) if g.register[i] == BLOCK else g.base[i]
    fp_clear()
    while start < stop:
        n = block_bounds(g, start, &f)
        for i in range(g.nmoving):
            j = g.moving[i]
            at[j] = g.base[j] + f * g.steps[j]
        j = i = 0
        while j < g.runs:
            if i < g.natives and g.native[i].first == j:
                run_native(g, &g.native[i], at, rooms, f, n)
                j = g.native[i].end
                i += 1
                continue
            run_member(g, j, at, f, n)
            fp_collect(&g.flags[j])
            j += 1
        if g.tail != NULL:
            run_tail(g, at[g.tail_input], f, n, start)
        start += 1

cdef inline intp block_bounds(GroupPlan* g, intp block, intp* first) noexcept nogil:
    """Its first element, and how many it has."""
    cdef intp n, within
    if g.per_row > 1:
        within = block % g.per_row * g.block
        first[0] = block // g.per_row * g.length + within
        n = g.length - within
    else:
        first[0] = block * g.block
        n = g.total - first[0]
    return n if n < g.block else g.block

cdef inline void run_member(GroupPlan* g, int j, char** at, intp f, intp n) noexcept nogil:
    """Over the elements [f, f + n)."""
    cdef Kernel* k = g.kernels[j]
    cdef char* args[MAX_ARGUMENTS]
    cdef int i, first = g.first[j]
    if k.flags & REDUCES:
        reduce_rows(g, j, at, f, n)
    elif g.segmented[j]:
        run_segments(g, j, at, f, n)
    else:
        for i in range(g.first[j + 1] - first):
            args[i] = at[first + i]
        k.loop(args, &n, g.steps + first, k.data)

cdef struct Walk:                   # over the rows of memory that a block touches
    intp column                     # where in a row it is
    intp counter[8]

cdef inline void start_walk(GroupPlan* g, Walk* w, intp f) noexcept nogil:
    cdef int d
    w.column = f % g.dims[g.ndim - 1]
    f //= g.dims[g.ndim - 1]
    for d in range(g.ndim - 2, -1, -1):
        w.counter[d] = f % g.dims[d]
        f //= g.dims[d]

cdef inline char* row_start(GroupPlan* g, Walk* w, int i) noexcept nogil:
    cdef char* p = g.base[i]
    cdef int d
    for d in range(g.ndim - 1):
        p += w.counter[d] * g.strides[d][i]
    return p

cdef inline void next_row(GroupPlan* g, Walk* w, char** row, int first, int nops) noexcept nogil:
    """Advance to the next row: `row` are the starts of operands first.. ; those of registers do not count."""
    cdef int d = g.ndim - 2, i
    cdef intp shift
    w.column = 0
    while d >= 0:
        w.counter[d] += 1
        shift = 1
        if w.counter[d] == g.dims[d]:
            w.counter[d] = 0
            shift = 1 - g.dims[d]
        for i in range(nops):
            row[i] += shift * g.strides[d][first + i]
        if shift == 1:
            return
        d -= 1

cdef void run_native(GroupPlan* g, NativeRun* r, char** at, char* rooms, intp f, intp n) noexcept nogil:
    """Its members over the elements [f, f + n). Where flags are to be told of they run again, for whose those are. A
    loop that nobody has run yet is compared with them first."""
    if load_int(&r.loop.state) != PROVED:
        run_again(g, r, at, rooms, f, n, True)
    elif glance_int(&r.raised) or raises(g, r, at, rooms, f, n):
        hint_int(&r.raised, run_again(g, r, at, rooms, f, n, False))

cdef bint raises(GroupPlan* g, NativeRun* r, char** at, char* rooms, intp f, intp n) noexcept nogil:
    """Run a native loop: whether it raises flags that are to be told of. Then what it read is in its place again."""
    cdef int i, k, flags
    for i in range(r.nsaved):
        k = r.saved[i]
        if r.saved_slot[i] < 0:
            move_block(g, saved_room(g, r, rooms, i), k, r.saved_bytes[i], f, n, False)
    run_loop(g, r, at, rooms, f, n)
    flags = fp_flags()
    if flags:
        fp_clear()
    if not flags & g.wanted:
        return False
    for i in range(r.nsaved):
        k = r.saved[i]
        move_block(g, saved_room(g, r, rooms, i), k, r.saved_bytes[i], f, n, True)
    return True

cdef inline char* saved_room(GroupPlan* g, NativeRun* r, char* rooms, int i) noexcept nogil:
    return rooms + 8 * (r.ngathered + i) * g.block

cdef void run_loop(GroupPlan* g, NativeRun* r, char** at, char* rooms, intp f, intp n) noexcept nogil:
    cdef char* args[MAX_SLOTS + 8]
    cdef int i
    for i in range(r.ngathered):
        if not r.gives[i]:
            gather_block(g, rooms + 8 * i * g.block, r.slot[r.gathered[i]], r.gathered_bytes[i], f, n)
    if r.segmented:
        run_native_rows(g, r, at, rooms, f, n)
    else:
        for i in range(r.slots):
            args[i] = at[r.slot[i]]
        for i in range(r.ngathered):
            args[r.gathered[i]] = rooms + 8 * i * g.block
        for i in range(r.nsaved):
            if r.saved_slot[i] >= 0:
                args[r.saved_slot[i]] = saved_room(g, r, rooms, i)
        (<native_t>r.loop.code)(args, n, 1, NULL)
    for i in range(r.ngathered):
        if r.gives[i]:
            move_block(g, rooms + 8 * i * g.block, r.slot[r.gathered[i]], r.gathered_bytes[i], f, n, True)

cdef bint run_again(GroupPlan* g, NativeRun* r, char** at, char* rooms, intp f, intp n, bint whole) noexcept nogil:
    """The members of a native loop, over as many elements at a time as their inner registers have: in parts, or, whole,
    as one, and those of a part that raises flags, or is not to be trusted, one by one. Whether a part did: the next
    block is then likely to, and is run in parts without a try."""
    cdef char registers[INNER_BYTES + 64]
    cdef char* room = <char*>((<size_t>registers + 63) & ~<size_t>63)
    cdef char* here[MAX_OPERANDS]
    cdef NativeRun* part
    cdef NativeRun* last
    cdef intp m, done = 0
    cdef int i, j, end, state
    cdef bint raised = False
    if not whole and r.end - r.first > PART:
        find_parts(g)
    while done < n:
        part = last = NULL
        if whole:
            part, last = r, r + 1
        elif load_int(&g.parts_state) == 2:
            part, last = runs_of(g.parts), runs_of(g.parts) + g.parts.n
        m = min(n - done, g.inner_block)
        for i in range(last - part):
            if part[i].first < r.end and part[i].end > r.first and load_int(&part[i].loop.state) == UNPROVED:
                m = min(m, PROOF)
        for i in range(g.first[r.first], g.first[r.end]):
            if g.register[i] == INNER:
                here[i] = room + <size_t>g.base[i] * (<size_t>g.inner_block * g.register_bytes)
            elif g.register[i]:
                here[i] = at[i] + done * g.steps[i]
            else:
                here[i] = g.base[i] + (f + done) * g.steps[i]       # where it is flat; else it is walked over
        j = r.first
        while j < r.end:
            while part != last and part.first < j:
                part += 1
            end = j + 1
            if part != last and part.first == j:
                end = part.end
                state = load_int(&part.loop.state)
                if state == UNPROVED:
                    prove(g, part, here, rooms, f + done, m)
                    j = end
                elif state == PROVED:
                    if raises(g, part, here, rooms, f + done, m):
                        raised = True
                    else:
                        j = end
            run_members(g, j, end, here, f + done, m)
            j = end
        done += m
    return raised

cdef void run_members(GroupPlan* g, int j, int end, char** at, intp f, intp n) noexcept nogil:
    """One by one, by NumPy's loops."""
    while j < end:
        run_member(g, j, at, f, n)
        fp_collect(&g.flags[j])
        j += 1

# ---- is a loop right? ------------------------------------------------------------------------------------------------

cdef void prove(GroupPlan* g, NativeRun* r, char** at, char* rooms, intp f, intp n) noexcept nogil:
    """Run a loop, then its members by NumPy's, whose results stay, and compare."""
    cdef intp size = r.slots * MAX_ELEMENT * n
    cdef char* before = <char*>memory_new(2 * size + MAX_ELEMENT * n)       # what it overwrites,
    cdef char* found = before + size                                        # what it computes,
    cdef char* room = found + size                                          # and what they do
    cdef bint right = True
    cdef Kernel* k
    cdef int i
    if before == NULL:
        run_members(g, r.first, r.end, at, f, n)
        return
    copy_results(g, r, at, before, f, n, False)
    run_loop(g, r, at, rooms, f, n)
    fp_clear()
    copy_results(g, r, at, found, f, n, False)
    copy_results(g, r, at, before, f, n, True)
    run_members(g, r.first, r.end, at, f, n)
    for i in range(r.slots):
        k = writer_of(g, r, r.slot[i])
        if k != NULL:
            copy_result(g, at, r.slot[i], k, room, f, n, False)
            right = right and same_values(found + i * MAX_ELEMENT * n, room, result_bytes(k) * n,
                                          k.width if k.numbers == COMPLEX else
                                          result_bytes(k) if result_bytes(k) >= 4 or is_half(k, k.nin) else 1)
    for i in range(r.nsaved):
        if r.saved_slot[i] >= 0:
            right = right and memcmp(saved_room(g, r, rooms, i), before + r.saved_slot[i] * MAX_ELEMENT * n,
                                     r.saved_bytes[i] * n) == 0
    memory_free(before)
    for i in range(r.first, r.end):             # of two zeros these give either, by where they stand in the array
        if not right and (g.kernels[i].operation == FMAX or g.kernels[i].operation == FMIN):
            return
    if judge_loop(r.loop, right):
        warn_later(LOOP_DIFFERS, NULL, g.kernels[r.first])

cdef void copy_results(GroupPlan* g, NativeRun* r, char** at, char* room, intp f, intp n, bint back) noexcept nogil:
    """What lies where a loop writes, to a room, or back."""
    cdef Kernel* k
    cdef int i
    for i in range(r.slots):
        k = writer_of(g, r, r.slot[i])
        if k != NULL:
            copy_result(g, at, r.slot[i], k, room + i * MAX_ELEMENT * n, f, n, back)

cdef inline void copy_result(GroupPlan* g, char** at, int operand, Kernel* k, char* room, intp f, intp n,
                             bint back) noexcept nogil:
    cdef char* p = at[operand]
    if g.register[operand]:
        memcpy(p if back else room, room if back else p, result_bytes(k) * n)
    else:
        move_block(g, room, operand, result_bytes(k), f, n, back)

cdef Kernel* writer_of(GroupPlan* g, NativeRun* r, int operand) noexcept nogil:
    """The kernel of the member that writes an operand; NULL: none does."""
    cdef int j
    for j in range(r.first, r.end):
        if g.first[j + 1] - 1 == operand:
            return g.kernels[j]
    return NULL

cdef bint same_values(const char* a, const char* b, intp n, int size) noexcept nogil:
    """Bit by bit, but for the bits of NaNs, which nobody promises. n: bytes; size: of a number; 1: of what is none."""
    cdef uint64_t x, y, least = <uint64_t>0x7ff << 52 if size == 8 else 0xff << 23 if size == 4 else 0x1f << 10
    cdef uint64_t signless = <uint64_t>-1 >> (65 - 8 * size)
    cdef intp i = 0
    if memcmp(a, b, n) == 0:
        return True
    while size > 1 and i < n:
        x = y = 0
        memcpy(&x, a + i, size)
        memcpy(&y, b + i, size)
        if x != y and (x & signless <= least or y & signless <= least):
            return False
        i += size
    return size > 1

cdef void run_native_rows(GroupPlan* g, NativeRun* r, char** at, char* rooms, intp f, intp n) noexcept nogil:
    """The same over rows of memory: as many whole ones at once as follow each other at the same distance."""
    cdef char* row[MAX_SLOTS]
    cdef char* together[MAX_SLOTS]      # where its block begins, if it lies in the order of iteration
    cdef intp bytes[MAX_SLOTS]          # and of an element
    cdef unsigned char moving[MAX_SLOTS]        # all but the constants
    cdef char* args[MAX_SLOTS + 8]
    cdef intp steps[MAX_SLOTS + 8]
    cdef intp inner = g.dims[g.ndim - 1], m, rows, done = 0
    cdef int down = g.ndim - 2, n_moving = 0, i, j, k
    cdef native_t code = <native_t>r.loop.code
    cdef bint anew = True
    cdef Walk w
    start_walk(g, &w, f)
    for i in range(r.slots):
        k = r.slot[i]
        args[i] = at[k]
        steps[i] = 0
        if g.storage[k] >= 0:
            moving[n_moving] = <unsigned char>i
            n_moving += 1
            together[i] = at[k] if g.register[k] else NULL
            bytes[i] = g.steps[k]
            steps[i] = inner * g.steps[k] if g.register[k] else g.strides[down][k]
    for i in range(r.ngathered):
        k = r.gathered[i]
        together[k], bytes[k] = rooms + 8 * i * g.block, r.gathered_bytes[i]
        steps[k] = inner * bytes[k]
    for i in range(r.nsaved):
        if r.saved_slot[i] >= 0:
            k = r.saved_slot[i]
            together[k], bytes[k] = saved_room(g, r, rooms, i), r.saved_bytes[i]
            steps[k] = inner * bytes[k]
    for i in range(r.slots, r.slots + 8):
        args[i] = NULL
        steps[i] = 0
    while True:
        m = min(inner - w.column, n - done)
        rows = 1 if m < inner else min(g.dims[down] - w.counter[down], (n - done) // inner)
        for j in range(n_moving):
            i = moving[j]
            if together[i] != NULL:
                args[i] = together[i] + done * bytes[i]
                continue
            k = r.slot[i]
            if anew:
                row[i] = row_start(g, &w, k)
            args[i] = row[i] + w.column * g.steps[k]
            row[i] = row[i] + rows * steps[i]
        code(args, m, rows, steps)
        done += rows * m
        if done == n:
            return
        w.counter[down] += rows - 1
        next_row(g, &w, NULL, 0, 0)
        anew = w.counter[down] == 0

cdef void run_segments(GroupPlan* g, int j, char** at, intp f, intp n) noexcept nogil:
    """Run member j over [f, f + n), row by row of memory: as many of them as follow each other at the same distance."""
    cdef Kernel* k = g.kernels[j]
    cdef int first = g.first[j], nops = g.first[j + 1] - first, down = g.ndim - 2, i
    cdef char* row[MAX_ARGUMENTS]
    cdef char* args[MAX_ARGUMENTS]
    cdef char* room[MAX_ARGUMENTS]
    cdef intp leaps[MAX_ARGUMENTS]
    cdef intp inner = g.dims[g.ndim - 1], m, rows, done = 0
    cdef bint spread, turned
    cdef Walk w
    start_walk(g, &w, f)
    for i in range(nops):
        row[i] = row_start(g, &w, first + i) if not g.register[first + i] else at[first + i]
    if k.flags & COPIES and g.steps[first] == g.steps[first + 1] == item_bytes(k) and w.column == 0 and n % inner == 0:
        run_copies(g, j, at, n // inner, &w, row)
        return
    spread = k.flags & COPIES and g.steps[first] == 0 and g.steps[first + 1] == item_bytes(k)
    if not spread and inner < NARROW and g.dims[g.ndim - 2] > inner and w.column == 0 and n % inner == 0:
        run_columns(g, j, at, n // inner, &w, row)
        return
    for i in range(nops):
        leaps[i] = inner * g.steps[first + i] if g.register[first + i] else g.strides[down][first + i]
    turned = k.flags & COPIES and leaps[0] == g.steps[first + 1] == item_bytes(k)
    while True:
        m = min(inner - w.column, n - done)
        rows = 1 if m < inner else min(g.dims[down] - w.counter[down], (n - done) // inner)
        for i in range(nops):
            args[i] = at[first + i] + done * g.steps[first + i] if g.register[first + i] else (
                row[i] + w.column * g.steps[first + i])
        if spread:
            move_spread(args[1], leaps[1], args[0], leaps[0], rows, m, item_bytes(k))
        elif turned and rows > 1:
            move_turned(args[1], leaps[1], args[0], g.steps[first], rows, m, item_bytes(k))
        else:
            run_rows(k, args, leaps, nops, rows, &m, g.steps + first, room)
        done += rows * m
        if done == n:
            return
        w.counter[down] += rows - 1
        for i in range(nops):
            row[i] += (rows - 1) * g.strides[down][first + i]
        next_row(g, &w, row, first, nops)

cdef void run_copies(GroupPlan* g, int j, char** at, intp rows, Walk* w, char** row) noexcept nogil:
    """The same for a copy of whole rows without gaps: as many at once as follow each other."""
    cdef int first = g.first[j], down = g.ndim - 2, i
    cdef intp steps[2]
    cdef intp inner = g.dims[g.ndim - 1], size = inner * <intp>g.kernels[j].data, m, done = 0
    for i in range(2):
        steps[i] = size if g.register[first + i] else g.strides[down][first + i]
    while True:
        m = g.dims[down] - w.counter[down]
        if m > rows - done:
            m = rows - done
        for i in range(2):
            if g.register[first + i]:
                row[i] = at[first + i] + done * size
        move_rows(row[1], steps[1], row[0], steps[0], m, size)
        done += m
        if done == rows:
            return
        w.counter[down] += m - 1
        for i in range(2):
            row[i] += (m - 1) * g.strides[down][first + i]
        next_row(g, w, row, first, 2)

cdef void run_columns(GroupPlan* g, int j, char** at, intp rows, Walk* w, char** row) noexcept nogil:
    """The same where rows are short: down their columns, in longer loops."""
    cdef Kernel* k = g.kernels[j]
    cdef int first = g.first[j], nops = g.first[j + 1] - first, i, down = g.ndim - 2
    cdef char* args[MAX_ARGUMENTS]
    cdef intp steps[MAX_ARGUMENTS]
    cdef intp inner = g.dims[g.ndim - 1], c, m, done = 0
    for i in range(nops):
        steps[i] = inner * g.steps[first + i] if g.register[first + i] else g.strides[down][first + i]
    while True:
        m = g.dims[down] - w.counter[down]
        if m > rows - done:
            m = rows - done
        for c in range(inner):
            for i in range(nops):
                if g.register[first + i]:
                    args[i] = at[first + i] + (done * inner + c) * g.steps[first + i]
                else:
                    args[i] = row[i] + c * g.steps[first + i]
            k.loop(args, &m, steps, k.data)
        done += m
        if done == rows:
            return
        w.counter[down] += m - 1
        for i in range(nops):
            row[i] += (m - 1) * g.strides[down][first + i]
        next_row(g, w, row, first, nops)

cdef inline char* gather_block(GroupPlan* g, char* room, int operand, int size, intp f, intp n) noexcept nogil:
    """Bring what is scattered in memory together, in the order of iteration."""
    move_block(g, room, operand, size, f, n, False)
    return room

cdef void move_block(GroupPlan* g, char* room, int operand, int size, intp f, intp n, bint back) noexcept nogil:
    """Elements of an operand in memory to a room, where they lie in the order of iteration, or back."""
    cdef intp inner = g.dims[g.ndim - 1], step = g.steps[operand], m, rows, down, done = 0
    cdef char* row
    cdef char* p
    cdef char* q
    cdef Walk w
    if g.flat[operand] and step == size:
        p = g.base[operand] + f * step
        memcpy(p if back else room, room if back else p, n * size)
        return
    start_walk(g, &w, f)
    row = row_start(g, &w, operand)
    down = g.strides[g.ndim - 2][operand] if g.ndim > 1 else 0
    while True:
        m = inner - w.column
        if m > n - done:
            m = n - done
        p, q = row + w.column * step, room + done * size
        if down == size and not back and m == inner and step != 0:
            rows = min(g.dims[g.ndim - 2] - w.counter[g.ndim - 2], (n - done) // inner)
            move_turned(q, m * size, p, step, rows, m, size)
            w.counter[g.ndim - 2] += rows - 1
            row += (rows - 1) * down
            m *= rows
        elif step == size:
            move_rows(p if back else q, 0, q if back else p, 0, 1, m * size)
        else:
            move_items(p if back else q, step if back else size, q if back else p, size if back else step, m, size)
        done += m
        if done == n:
            return
        next_row(g, &w, &row, operand, 1)

cdef inline char* begin_output(GroupPlan* g, int operand, intp row, char* initial, int size) noexcept nogil:
    """Where the reduction of a row goes, with what it starts from."""
    cdef char* p = g.base[operand]
    cdef int d
    for d in range(g.outer - 1, 0, -1):
        p += row % g.dims[d] * g.strides[d][operand]
        row //= g.dims[d]
    if g.outer:
        p += row * g.strides[0][operand]
    if initial != NULL:
        memcpy(p, initial, size)
    return p

cdef void reduce_rows(GroupPlan* g, int j, char** at, intp f, intp n) noexcept nogil:
    """Run member j, a reduction, over the rows that make up [f, f + n)."""
    cdef char room[FOLD_BYTES]
    cdef Fold* w = fold_of(g.kernels[j])
    cdef int operand = g.first[j], output = g.first[j + 1] - 1
    cdef char* initial = g.base[output - 1] if w.initial else NULL
    cdef char* p = at[operand]
    cdef char* out
    cdef intp step = g.steps[operand], row = f // g.row, i
    cdef bint scattered = not g.flat[operand] and not g.register[operand]
    if g.row < SHORT_ROW and g.outer == 1 and not scattered:
        out = begin_output(g, output, row, NULL, w.itemsize)
        if initial != NULL:
            move_items(out, g.strides[0][output], initial, 0, n // g.row, w.itemsize)
        fold_rows(w, out, g.strides[0][output], p, g.row * step, n // g.row, g.row, step, initial == NULL)
        return
    for i in range(n // g.row):
        out = begin_output(g, output, row + i, initial, w.itemsize)
        if scattered:
            gather_block(g, room, operand, w.itemsize, f + i * g.row, g.row)
            fold_one(w, out, room, g.row, w.itemsize, initial == NULL, True)
        else:
            fold_one(w, out, p + i * g.row * step, g.row, step, initial == NULL, g.register[operand] != 0)

cdef void run_tail(GroupPlan* g, char* p, intp f, intp n, intp block) noexcept nogil:
    """Reduce [f, f + n), a part of a row, which lies at p unless it is scattered in memory."""
    cdef char room[FOLD_BYTES]
    cdef Fold* w = g.tail
    cdef intp step = g.steps[g.tail_input]
    if not g.flat[g.tail_input] and not g.register[g.tail_input]:
        p = gather_block(g, room, g.tail_input, w.itemsize, f, n)
        step = w.itemsize
    fold_one(w, g.partials + block * w.itemsize, p, n, step, True, g.register[g.tail_input] != 0)
    if g.by_rows and (block + 1) % g.per_row == 0:
        end_row(g, f // g.length)
    fp_collect(&g.flags[g.runs])

cdef void end_row(GroupPlan* g, intp row) noexcept nogil:
    cdef Fold* w = g.tail
    cdef char* out = begin_output(g, g.tail_output, row, g.initial, w.itemsize)
    fold(w, out, g.partials + row * g.per_row * w.itemsize, g.per_row, w.itemsize, g.initial == NULL, True)

cdef void end_blocks(GroupPlan* g) noexcept nogil:
    cdef intp row
    if g.partials == NULL:
        return
    if not g.by_rows:
        fp_clear()
        for row in range(g.total // g.length):
            end_row(g, row)
        fp_collect(&g.flags[g.runs])
    memory_free(g.partials)
    g.partials = NULL
