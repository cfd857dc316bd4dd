"""Reductions in blocks of a fixed size: see _kernels/reduce.pxd."""

from libc.string cimport memcpy, memset
from dflow._base.fpflags cimport fp_clear, fp_collect, fp_flags, fp_raise
from dflow._base.allocator cimport memory_free, memory_new

cdef extern from "_kernels/c/copy.h" nogil:
    void move_items(char* to, intp to_step, const char* source, intp from_step, intp n, int itemsize)

cdef void fold_one(Fold* w, char* out, char* p, intp n, intp step, bint fresh, bint near) noexcept nogil:
    cdef char* args[3]
    cdef intp steps[3]
    cdef char block[FOLD_BYTES]
    if w.total != NULL and step != w.itemsize and n <= fold_block(w):      # the loop would begin with the second one
        move_items(block, w.itemsize, p, step, n, w.itemsize)
        p = block
        step = w.itemsize
        near = True
    if w.total != NULL and step == w.itemsize:
        w.total(out, p, n, fresh, near)
        return
    if w.extreme != NULL and step == w.itemsize and w.extreme(out, p, n, fresh):
        return
    if fresh:
        memcpy(out, p, w.itemsize)
        # An idempotent one takes all of the block, whole vectors: a rest is slow, among NaNs most of all.
        if not w.idempotent:
            p += step
            n -= 1
    if n == 0:
        return
    args[0] = args[2] = out
    args[1] = p
    steps[0] = steps[2] = 0
    steps[1] = step
    w.loop(args, &n, steps, w.data)

cdef void fold(Fold* w, char* out, char* p, intp n, intp step, bint fresh, bint near) noexcept nogil:
    cdef char partial[FOLD_BYTES]
    cdef intp i = 0, block = fold_block(w), span = block
    if not w.blocked or n <= block:
        fold_one(w, out, p, n, step, fresh, near)
        return
    if w.extreme != NULL and step == w.itemsize and w.extreme(out, p, n, fresh):
        return
    while span * block < n:
        span *= block
    while i * span < n:
        fold(w, partial + i * w.itemsize, p + i * span * step, min(span, n - i * span), step, True, near)
        i += 1
    fold_one(w, out, partial, i, w.itemsize, fresh, True)

cdef void fold_rows(Fold* w, char* out, intp out_step, char* p, intp row_step, intp rows, intp n, intp step,
                    bint fresh) noexcept nogil:
    cdef char* args[3]
    cdef intp steps[3]
    cdef intp i, rest = n - 1
    if n == 1 and fresh:
        move_items(out, out_step, p, row_step, rows, w.itemsize)
    elif n == 1 or n == 2 and fresh:        # one operation each
        if fresh:
            move_items(out, out_step, p, row_step, rows, w.itemsize)
            p += step
        args[0] = args[2] = out
        args[1] = p
        steps[0] = steps[2] = out_step
        steps[1] = row_step
        w.loop(args, &rows, steps, w.data)
    elif w.totals != NULL and step == w.itemsize and n <= fold_block(w):
        w.totals(out, out_step, p, row_step, rows, n, fresh)
    elif w.total != NULL or w.idempotent or n > fold_block(w) or not fresh:
        for i in range(rows):
            fold(w, out + i * out_step, p + i * row_step, n, step, fresh, False)
    else:
        steps[0] = steps[2] = 0
        steps[1] = step
        move_items(out, out_step, p, row_step, rows, w.itemsize)
        for i in range(rows):
            args[0] = args[2] = out + i * out_step
            args[1] = p + i * row_step + step
            w.loop(args, &rest, steps, w.data)

cdef inline intp magnitude(intp x) noexcept nogil:
    return -x if x < 0 else x

cdef inline bint advance(char** p, intp* counter, intp* dims, intp* steps, int naxes) noexcept nogil:
    """To the next place in C order; False after the last one, and back at the first."""
    cdef int d = naxes - 1
    while d >= 0:
        counter[d] -= 1
        if counter[d]:
            p[0] += steps[d]
            return True
        counter[d] = dims[d]
        p[0] -= steps[d] * (dims[d] - 1)
        d -= 1
    return False

cdef enum:
    LEVELS = 8              # of blocks of results of blocks; of 128 elements at least

cdef struct Levels:         # elements, results of blocks of them, results of blocks of these, ...
    char room[LEVELS][FOLD_BYTES]
    intp filled[LEVELS]

cdef void carry_up(Fold* w, Levels* x, int level) noexcept nogil:
    """All of a level becomes one result in the next."""
    if x.filled[level + 1] == fold_block(w):
        carry_up(w, x, level + 1)
    fold_one(w, x.room[level + 1] + x.filled[level + 1] * w.itemsize, x.room[level], x.filled[level], w.itemsize, True,
             True)
    x.filled[level + 1] += 1
    x.filled[level] = 0

cdef void fold_axes(Fold* w, char* out, char* p, intp* dims, intp* steps, bint fresh) noexcept nogil:
    """Over several axes, one run along the last after the other; where the order may be changed, in blocks."""
    cdef Levels x
    cdef intp counter[64]
    cdef intp n, left, room = fold_block(w)
    cdef int d, last = w.naxes - 1
    cdef char* q
    for d in range(w.naxes):
        counter[d] = dims[d]
    while not w.blocked:
        fold_one(w, out, p, dims[last], steps[last], fresh, False)
        fresh = False
        if not advance(&p, counter, dims, steps, last):
            return
    memset(x.filled, 0, sizeof(x.filled))
    while True:
        q = p
        left = dims[last]
        while left:
            if x.filled[0] == room:
                carry_up(w, &x, 0)
            n = min(left, room - x.filled[0])
            move_items(x.room[0] + x.filled[0] * w.itemsize, w.itemsize, q, steps[last], n, w.itemsize)
            q += n * steps[last]
            left -= n
            x.filled[0] += n
        if not advance(&p, counter, dims, steps, last):
            break
    d = 0
    for last in range(1, LEVELS):
        if x.filled[last]:
            while d < last:
                if x.filled[d]:
                    carry_up(w, &x, d)
                d += 1
    fold_one(w, out, x.room[d], x.filled[d], w.itemsize, fresh, True)

cdef inline void cast_block(Fold* w, char* to, intp to_step, char* p, intp step, intp n) noexcept nogil:
    cdef char* args[2]
    cdef intp steps[2]
    args[0], args[1] = p, to
    steps[0], steps[1] = step, to_step
    w.cast(args, &n, steps, w.cast_data)

cdef enum:
    LEAST_ROWS = 16         # of a band; and from which outputs are brought together
    FEW = 128               # outputs whose rows are added up column by column: longer ones are vectors of NumPy's loop

cdef void casts_down(Fold* w, char* out, char* p, intp n, intp out_step, intp step, intp rows, intp leap,
                     bint fresh) noexcept nogil:
    """Rows of few elements that are cast, added to those of n outputs: as many at a time as a block holds."""
    cdef char block[FOLD_BYTES]
    cdef char* args[3]
    cdef intp steps[3]
    cdef intp i, k, row = n * w.itemsize
    steps[0] = steps[2] = out_step
    steps[1] = w.itemsize
    while rows:
        k = min(rows, fold_block(w) // n)
        if leap == n * step:
            cast_block(w, block, w.itemsize, p, step, k * n)
        else:
            for i in range(k):
                cast_block(w, block + i * row, w.itemsize, p + i * leap, step, n)
        if fresh:
            move_items(out, out_step, block, w.itemsize, n, w.itemsize)
        if w.down != NULL and out_step == w.itemsize:
            w.down(out, block + fresh * row, row, k - fresh, n)
        else:
            for i in range(fresh, k):
                args[0] = args[2] = out
                args[1] = block + i * row
                w.loop(args, &n, steps, w.data)
        fresh = False
        p += k * leap
        rows -= k

cdef void fold_across(Fold* w, char* out, char* p, intp n, intp out_step, intp step, intp* dims, intp* steps,
                      bint fresh) noexcept nogil:
    """n outputs beside each other, whose elements are closer in memory than those of one output: row after row. Of what
    is cast, no more outputs than a block holds."""
    cdef char block[FOLD_BYTES]
    cdef char room[FOLD_BYTES]          # of few outputs: what other threads write may lie in the same lines
    cdef intp counter[64]
    cdef char* args[3]
    cdef intp inner[3]
    cdef char* result = out
    cdef intp result_step = out_step
    cdef intp rows = dims[w.naxes - 1], leap = steps[w.naxes - 1]
    cdef bint apart = n <= fold_block(w) and dims[w.naxes - 1] >= LEAST_ROWS
    cdef bint cast_together = w.cast != NULL and 2 * n <= fold_block(w)
    cdef bint added_together
    cdef int d, naxes = w.naxes
    if apart:
        out = room
        out_step = w.itemsize
        if not fresh or w.cast == NULL:
            move_items(out, out_step, result, result_step, n, w.itemsize)
    added_together = w.down != NULL and w.cast == NULL and out_step == step == w.itemsize and n <= FEW
    if cast_together or added_together:         # all rows of the last axis
        naxes -= 1
    inner[0] = inner[2] = out_step
    inner[1] = step if w.cast == NULL else w.itemsize
    for d in range(w.naxes):
        counter[d] = dims[d]
    while True:
        if cast_together:
            casts_down(w, out, p, n, out_step, step, rows, leap, fresh)
        elif added_together:            # column by column
            w.down(out, p + fresh * leap, leap, rows - fresh, n)
        else:
            if w.cast != NULL:
                cast_block(w, out if fresh else block, out_step if fresh else w.itemsize, p, step, n)
            if not fresh:               # the first row is in `out` already
                args[0] = args[2] = out
                args[1] = p if w.cast == NULL else block
                w.loop(args, &n, inner, w.data)
        fresh = False
        if not advance(&p, counter, dims, steps, naxes):
            break
    if apart:
        move_items(result, result_step, out, out_step, n, w.itemsize)

cdef enum:
    BAND = 1 << 16          # elements of a band, about

cdef bint plan_bands(Fold* w, char** args, intp* dims, intp* steps, BandPlan* a) noexcept nogil:
    cdef int last = 2 if w.initial else 1
    a.w = w
    a.n = dims[0]
    a.rows = dims[1]
    a.step = steps[0]
    a.row_step = steps[last + 1]
    if not w.blocked or w.naxes != 1 or a.n * a.rows <= BAND or w.cast != NULL and not w.exact:
        return False
    if a.step == 0 or magnitude(a.step) >= magnitude(a.row_step):
        return False
    a.band = BAND // a.n if BAND // a.n > LEAST_ROWS else LEAST_ROWS
    a.bands = (a.rows + a.band - 1) // a.band
    if a.bands == 1:
        return False
    a.partial = <char*>memory_new(a.bands * a.n * w.itemsize)
    a.p = args[0]
    a.initial = args[1] if w.initial else NULL
    a.initial_step = steps[1] if w.initial else 0
    a.out = args[last]
    a.out_step = steps[last]
    a.flags = 0
    return a.partial != NULL

cdef void run_bands(void* plan, intp start, intp stop) noexcept nogil:
    cdef BandPlan* a = <BandPlan*>plan
    cdef intp k, rows, first, most = a.n if a.w.cast == NULL else fold_block(a.w)
    cdef char* p
    cdef char* out
    fp_clear()
    for k in range(start, stop):
        p = a.p + k * a.band * a.row_step
        out = a.partial + k * a.n * a.w.itemsize
        rows = a.rows - k * a.band
        if rows > a.band:
            rows = a.band
        if a.w.cast == NULL:
            move_items(out, a.w.itemsize, p, a.step, a.n, a.w.itemsize)
        first = 0
        while first < a.n:
            fold_across(a.w, out + first * a.w.itemsize, p + first * a.step, min(most, a.n - first), a.w.itemsize,
                        a.step, &rows, &a.row_step, True)
            first += most
    fp_collect(&a.flags)

cdef void end_bands(BandPlan* a) noexcept nogil:
    cdef intp row_step = a.n * a.w.itemsize
    cdef Fold w = a.w[0]
    w.cast = NULL                       # has been done
    if a.initial != NULL:
        move_items(a.out, a.out_step, a.initial, a.initial_step, a.n, w.itemsize)
    else:
        move_items(a.out, a.out_step, a.partial, w.itemsize, a.n, w.itemsize)
    fp_clear()
    fold_across(&w, a.out, a.partial, a.n, a.out_step, a.w.itemsize, &a.bands, &row_step, a.initial == NULL)
    fp_collect(&a.flags)
    memory_free(a.partial)

cdef void reduce(Fold* w, char* p, char* initial, char* out, intp* dims, intp step, intp initial_step, intp out_step,
                 intp* core) noexcept nogil:
    cdef intp n = dims[0], i
    cdef int d, m = w.naxes
    cdef bint empty = False, across = step != 0 and magnitude(step) < magnitude(core[m - 1])
    for d in range(m):
        empty = empty or dims[d + 1] == 0
    if initial != NULL:
        move_items(out, out_step, initial, initial_step, n, w.itemsize)
    elif across:
        move_items(out, out_step, p, step, n, w.itemsize)
    if empty or n == 0:
        return
    if across:
        fold_across(w, out, p, n, out_step, step, dims + 1, core, initial == NULL)
        return
    if m == 1:
        fold_rows(w, out, out_step, p, step, n, dims[1], core[0], initial == NULL)
        return
    for i in range(n):
        fold_axes(w, out + i * out_step, p + i * step, dims + 1, core, initial == NULL)

cdef bint in_bands(Fold* w, char** args, intp* dims, intp* steps) noexcept nogil:
    """False: the reduction is none in bands. Floating point flags are added to those that are up."""
    cdef BandPlan a
    cdef int flags = fp_flags()
    if not plan_bands(w, args, dims, steps, &a):
        return False
    run_bands(&a, 0, a.bands)
    end_bands(&a)
    fp_raise(a.flags | flags)
    return True

cdef void reduce_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    if in_bands(<Fold*>data, args, dims, steps):
        return
    reduce(<Fold*>data, args[0], NULL, args[1], dims, steps[0], 0, steps[1], steps + 2)

cdef void reduce_initial_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    if in_bands(<Fold*>data, args, dims, steps):
        return
    reduce(<Fold*>data, args[0], args[1], args[2], dims, steps[0], steps[1], steps[2], steps + 3)

# ---- of what is cast -------------------------------------------------------------------------------------------------

cdef void casts_along(Fold* w, char* out, char* p, intp* dims, intp* steps, bint fresh) noexcept nogil:
    """One output: one run along the last axis after the other, in blocks."""
    cdef char block[FOLD_BYTES]
    cdef intp counter[64]
    cdef intp n, left
    cdef int d, last = w.naxes - 1
    cdef char* q
    for d in range(last):
        counter[d] = dims[d]
    while True:
        q = p
        left = dims[last]
        while left:
            n = min(left, fold_block(w))
            cast_block(w, block, w.itemsize, q, steps[last], n)
            if w.totals != NULL:
                w.totals(out, w.itemsize, block, 0, 1, n, fresh)
            else:
                fold_one(w, out, block, n, w.itemsize, fresh, True)
            fresh = False
            q += n * steps[last]
            left -= n
        if not advance(&p, counter, dims, steps, last):
            return

cdef void fold_cast(Fold* w, char* out, char* p, intp n, intp step, bint fresh) noexcept nogil:
    """fold() of what is cast."""
    cdef char block[FOLD_BYTES]
    cdef intp i = 0, most = fold_block(w), span = most
    if n <= most:
        cast_block(w, block, w.itemsize, p, step, n)
        fold_one(w, out, block, n, w.itemsize, fresh, True)
        return
    while span * most < n:
        span *= most
    while i * span < n:                 # `block` holds results
        fold_cast(w, block + i * w.itemsize, p + i * span * step, min(span, n - i * span), step, True)
        i += 1
    fold_one(w, out, block, i, w.itemsize, fresh, True)

cdef void fold_rows_cast(Fold* w, char* out, intp out_step, char* p, intp row_step, intp rows, intp n, intp step,
                         bint fresh) noexcept nogil:
    """fold_rows() of what is cast: as many rows at a time as a block holds."""
    cdef char block[FOLD_BYTES]
    cdef intp i = 0, k, j, most = fold_block(w) // n
    while i < rows:
        k = min(most, rows - i)
        if most == 0:
            k = 1
            fold_cast(w, out, p, n, step, fresh)
        else:
            if row_step == n * step:
                cast_block(w, block, w.itemsize, p, step, k * n)
            else:
                for j in range(k):
                    cast_block(w, block + j * n * w.itemsize, w.itemsize, p + j * row_step, step, n)
            fold_rows(w, out, out_step, block, n * w.itemsize, k, n, w.itemsize, fresh)
        out += k * out_step
        p += k * row_step
        i += k

cdef void reduce_cast(Fold* w, char* p, char* initial, char* out, intp* dims, intp step, intp initial_step,
                      intp out_step, intp* core) noexcept nogil:
    cdef intp n = dims[0], i = 0
    cdef int d, last = w.naxes - 1
    if initial != NULL:
        move_items(out, out_step, initial, initial_step, n, w.itemsize)
    for d in range(w.naxes):
        if dims[d + 1] == 0:
            return
    if step != 0 and magnitude(step) < magnitude(core[last]):
        while i < n:
            fold_across(w, out + i * out_step, p + i * step, min(fold_block(w), n - i), out_step, step, dims + 1, core,
                        initial == NULL)
            i += fold_block(w)
        return
    if last == 0 and w.blocked:
        fold_rows_cast(w, out, out_step, p, step, n, dims[1], core[0], initial == NULL)
        return
    for i in range(n):
        casts_along(w, out + i * out_step, p + i * step, dims + 1, core, initial == NULL)

cdef void reduce_cast_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    reduce_cast(<Fold*>data, args[0], NULL, args[1], dims, steps[0], 0, steps[1], steps + 2)

cdef void reduce_cast_initial_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    reduce_cast(<Fold*>data, args[0], args[1], args[2], dims, steps[0], steps[1], steps[2], steps + 3)
