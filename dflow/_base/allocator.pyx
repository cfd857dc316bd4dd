"""Cells and blocks: see _base/allocator.pxd for who may call what."""

from libc.stdlib cimport calloc, malloc, realloc, free, getenv, atoll
from libc.stddef cimport size_t
from libc.string cimport memcpy
from dflow._base.atomics cimport (
    DFLOW_DEBUG, DFLOW_PLAIN_MALLOC, add_i64, cas_ptr, collect_i64, given_back, load_i64, load_int, load_ptr,
    store_i64, store_int, swap_ptr)
from dflow._base.locks cimport BIN_LOCK, lock, unlock
from dflow._base.thread_state cimport must_hold_none

cdef extern from "<stdlib.h>" nogil:
    void* aligned_alloc(size_t, size_t)

cdef extern from "<malloc.h>" nogil:
    int malloc_trim(size_t)

cdef extern from "<sys/mman.h>" nogil:
    int madvise(void*, size_t, int)
    int MADV_HUGEPAGE, MADV_DONTNEED

# ---- requests --------------------------------------------------------------------------------------------------------
#
# All memory of the engine comes by here, or as cells and blocks. The debug build can refuse one request, as a system
# without memory would: the n-th, by DFLOW_FAIL_ALLOC or refuse().

cdef long long refuse_after = 0         # atomic: requests until the one that is refused; 0 or less: none is any more
cdef long long requests_live = 0        # atomic: counted in the debug build

if DFLOW_DEBUG and getenv(b"DFLOW_FAIL_ALLOC") != NULL:
    refuse_after = atoll(getenv(b"DFLOW_FAIL_ALLOC"))

def refuse(long long n):
    """Refuse the n-th request from now on; 0: none. Whether the last refusal has happened; None in a build without."""
    before = load_i64(&refuse_after)
    store_i64(&refuse_after, n)
    return before < 0 if DFLOW_DEBUG else None

def requested():
    """How many requests, besides cells and blocks, are not given back; 0 but in the debug build."""
    return load_i64(&requests_live)

cdef bint refused() noexcept nogil:
    """Whether this request is the one."""
    must_hold_none(b"nothing is allocated under a spin lock")
    if load_i64(&refuse_after) <= 0 or add_i64(&refuse_after, -1) != 0:
        return False
    store_i64(&refuse_after, -1)
    return True

cdef inline void* counted(void* p) noexcept nogil:
    if DFLOW_DEBUG and p != NULL:
        add_i64(&requests_live, 1)
    return p

cdef void* memory_new(size_t n) noexcept nogil:
    return NULL if DFLOW_DEBUG and refused() else counted(small_new(n))

cdef void* small_new(size_t n) noexcept nogil:
    """malloc(), after which what is kept goes."""
    cdef void* p = malloc(n if n else 1)
    return p if p != NULL or release_blocks() == 0 else malloc(n if n else 1)

cdef void* memory_zeros(size_t n) noexcept nogil:
    cdef void* p
    if DFLOW_DEBUG and refused():
        return NULL
    p = calloc(1, n if n else 1)
    if p == NULL and release_blocks():
        p = calloc(1, n if n else 1)
    return counted(p)

cdef void* memory_grow(void* p, size_t n) noexcept nogil:
    cdef void* grown
    if DFLOW_DEBUG and refused():
        return NULL
    grown = realloc(p, n)
    if grown == NULL and n and release_blocks():
        grown = realloc(p, n)
    return grown if p != NULL else counted(grown)

cdef void memory_free(void* p) noexcept nogil:
    if DFLOW_DEBUG and p != NULL:
        must_hold_none(b"nothing is given back to the system under a spin lock")
        add_i64(&requests_live, -1)
    free(p)

# ---- cells -----------------------------------------------------------------------------------------------------

cdef enum:
    UNIT = 8                    # sizes are counted in units
    CLASSES = 161               # cells of 1 to 160 units; larger ones come from malloc
    SLAB = 1 << 16              # the first slabs of a pool; from GROWN bytes on they are huge pages
    GROWN = 1 << 20
    TRIM = 64 << 20             # slabs kept for good

cdef struct Cell:
    Cell* next

cdef struct SlabHead:
    SlabHead* next
    size_t size                 # (with it, cells stay 16-byte aligned)

cdef struct CellPool:
    Cell* ready                 # GIL
    Cell* remote                # pushed by workers, taken whole under the GIL
    SlabHead* slabs             # GIL
    size_t bytes                # of slabs; GIL
    char* fresh                 # the part of the newest slab that is not yet cells; GIL
    char* fresh_end
    long long allocated         # GIL
    long long freed             # GIL
    long long freed_remote      # atomic: counted when the cell is on the stack

cdef CellPool pools[2][CLASSES]
cdef size_t slab_bytes = 0

cdef Cell* refill(CellPool* pool, size_t size) noexcept:
    """Cells freed by workers, or else a new slab."""
    cdef Cell* cell = <Cell*>swap_ptr(&pool.remote, NULL)
    cdef SlabHead* slab
    cdef char* p
    cdef char* end
    if cell != NULL:
        return cell
    if pool.fresh == NULL or pool.fresh + size > pool.fresh_end:
        slab = new_slab(pool)
        if slab == NULL and release_blocks():
            slab = new_slab(pool)
        if slab == NULL:
            return NULL
        slab.size = SLAB if pool.bytes < GROWN else HUGE
        slab.next = pool.slabs
        pool.slabs = slab
        pool.bytes += slab.size
        slab_bytes_add(slab.size)
        pool.fresh = <char*>(slab + 1)
        pool.fresh_end = <char*>slab + slab.size
    p = pool.fresh                  # a page's worth at a time: untouched pages cost nothing
    end = p + 4096 if p + 4096 < pool.fresh_end else pool.fresh_end
    while p + size <= end:
        (<Cell*>p).next = cell
        cell = <Cell*>p
        p += size
    pool.fresh = p
    if cell == NULL:                # the rest of the slab is smaller than a cell
        pool.fresh = NULL
        return refill(pool, size)
    return cell

cdef inline SlabHead* new_slab(CellPool* pool) noexcept:
    return <SlabHead*>malloc(SLAB) if pool.bytes < GROWN else <SlabHead*>fresh_block(HUGE)

cdef void slab_bytes_add(size_t n) noexcept:
    global slab_bytes
    slab_bytes += n

cdef void* cell_alloc(Pool kind, size_t n) noexcept:
    """A cell of n bytes, or NULL; aligned to 16 bytes if n is a multiple of 16, else to 8. Needs the GIL."""
    cdef size_t units = (n + UNIT - 1) // UNIT
    cdef CellPool* pool
    cdef Cell* cell
    if DFLOW_DEBUG and refused():
        return NULL
    if DFLOW_PLAIN_MALLOC or units >= CLASSES:
        return small_new(n)
    pool = &pools[<int>kind][units]
    cell = pool.ready
    if cell == NULL:
        cell = refill(pool, units * UNIT)
        if cell == NULL:
            return NULL
    pool.ready = cell.next
    pool.allocated += 1
    return cell

cdef void cell_free(Pool kind, void* p, size_t n) noexcept:
    """Needs the GIL."""
    cdef size_t units = (n + UNIT - 1) // UNIT
    cdef CellPool* pool
    if DFLOW_PLAIN_MALLOC or units >= CLASSES:
        free(p)
        return
    pool = &pools[<int>kind][units]
    given_back(p, n)
    (<Cell*>p).next = pool.ready
    pool.ready = <Cell*>p
    pool.freed += 1

cdef void cell_free_nogil(Pool kind, void* p, size_t n) noexcept nogil:
    cdef size_t units = (n + UNIT - 1) // UNIT
    cdef CellPool* pool
    cdef Cell* head
    if DFLOW_PLAIN_MALLOC or units >= CLASSES:
        free(p)
        return
    pool = &pools[<int>kind][units]
    given_back(p, n)
    while True:
        head = <Cell*>load_ptr(&pool.remote)
        (<Cell*>p).next = head
        if cas_ptr(&pool.remote, head, p):
            break
    add_i64(&pool.freed_remote, 1)

cdef void trim_cells() noexcept:
    """Give slabs of unused cells back after a burst of millions of tasks. Needs the GIL and an idle engine."""
    cdef CellPool* pool
    cdef SlabHead* slab
    cdef int kind, i
    if slab_bytes < TRIM:
        return
    if memory_hooks.before_trimming != NULL:
        memory_hooks.before_trimming()
    for kind in range(2):
        for i in range(CLASSES):
            pool = &pools[kind][i]
            if pool.allocated != pool.freed + collect_i64(&pool.freed_remote):
                continue
            swap_ptr(&pool.remote, NULL)
            pool.ready = NULL
            pool.fresh = NULL
            pool.bytes = 0
            while pool.slabs != NULL:
                slab = pool.slabs
                pool.slabs = slab.next
                slab_bytes_add(-slab.size)
                free(slab)

# ---- blocks ----------------------------------------------------------------------------------------------------
#
# Fresh pages cost more than the arithmetic that fills them, so freed blocks are kept, by size class, for the next
# array of about that size. Classes are four to an octave: a block wastes at most a quarter. What is kept lies in a
# stack beside the blocks: a link inside would touch a page, which costs 50 us where the block is zeros of the system.

cdef enum:
    SMALL = 1 << 13             # up to here malloc is fast; of more it gives pages back, and takes them anew
    PAGED = 1 << 16             # from here on blocks begin with a page, below with a line of the caches
    HUGE = 2 << 20              # from here on 2 MB pages
    LAZY = 32 << 20             # from here on, more than caches hold, zeros are left to the first touch
    BINS = 256

cdef struct Bin:
    int lock
    int count                   # written under the lock, read without
    int capacity                # lock
    char** blocks               # lock

cdef Bin bins[BINS]
cdef long long held = 0                 # atomic: bytes of blocks from the system
cdef long long cached = 0               # atomic: of these, bytes that no array uses
cdef long long peak = 0                 # atomic: of held; nearly exact
cdef long long held_limit = 1 << 62     # atomic: from which nothing is kept,
cdef long long cached_limit = 1 << 62   # atomic: and of cached, the same

cdef int bin_of(size_t n, size_t* size) noexcept nogil:
    """Index of the class that holds n bytes, and its block size."""
    cdef int octave = 0
    cdef size_t base = SMALL
    cdef size_t quarter
    while base * 2 < n:
        base *= 2
        octave += 1
    quarter = base // 4
    cdef size_t k = (n - base + quarter - 1) // quarter        # 1..4
    size[0] = base + k * quarter
    return octave * 4 + <int>k

cdef size_t size_of_bin(int i) noexcept nogil:
    """The inverse of bin_of: classes 1..4 lie in the first octave."""
    cdef size_t base = <size_t>SMALL << ((i - 1) // 4)
    return base + base // 4 * ((i - 1) % 4 + 1)

cdef char* pop_block(Bin* bin) noexcept nogil:
    """A block that is kept, or NULL."""
    cdef char* p = NULL
    if load_int(&bin.count) == 0:
        return NULL
    lock(&bin.lock, BIN_LOCK)
    if bin.count > 0:
        store_int(&bin.count, bin.count - 1)
        p = bin.blocks[bin.count]
    unlock(&bin.lock)
    return p

cdef bint push_block(Bin* bin, char* p) noexcept nogil:
    """Keep a block; False: there is no memory for its place."""
    cdef char** room = NULL
    cdef int more
    lock(&bin.lock, BIN_LOCK)
    while bin.count == bin.capacity:
        more = 2 * (bin.capacity + 4)
        unlock(&bin.lock)               # to allocate; meanwhile another thread may have made room
        memory_free(room)
        room = <char**>memory_new(more * sizeof(char*))
        if room == NULL:
            return False
        lock(&bin.lock, BIN_LOCK)
        if bin.capacity < more:
            memcpy(room, bin.blocks, bin.count * sizeof(char*))
            bin.blocks, room = room, bin.blocks
            bin.capacity = more
    bin.blocks[bin.count] = p
    store_int(&bin.count, bin.count + 1)
    unlock(&bin.lock)
    memory_free(room)
    return True

cdef char* block_alloc(size_t n) noexcept nogil:
    """n bytes for array data, 64-byte aligned (16 up to SMALL), or NULL."""
    cdef size_t size
    cdef int i
    cdef char* p
    if DFLOW_DEBUG and refused():
        return NULL
    if n <= SMALL or DFLOW_PLAIN_MALLOC:
        return <char*>small_new(n)
    if n > <size_t>1 << 62:
        return NULL
    i = bin_of(n, &size)
    p = pop_block(&bins[i])
    if p != NULL:
        add_i64(&cached, -<long long>size)
        return p
    if load_i64(&held) + <long long>size > load_i64(&held_limit):
        release_blocks()
    p = fresh_block(size)
    if p == NULL:
        release_blocks()
        p = fresh_block(size)
    if p != NULL and add_i64(&held, size) > load_i64(&peak):
        store_i64(&peak, load_i64(&held))
    return p

cdef char* fresh_block(size_t size) noexcept nogil:
    cdef size_t align = HUGE if size >= <size_t>HUGE else 4096 if size >= <size_t>PAGED else 64
    cdef char* p = <char*>aligned_alloc(align, (size + align - 1) // align * align)
    if p != NULL and align == HUGE:
        madvise(p, size, MADV_HUGEPAGE)
    return p

cdef char* block_zeros(size_t n) noexcept nogil:
    """block_alloc, of zeros; or NULL: then fill a block. A page that the system takes away comes back as zeros."""
    cdef size_t size
    cdef char* p
    if n < LAZY or DFLOW_PLAIN_MALLOC:
        return NULL
    p = block_alloc(n)
    bin_of(n, &size)
    if p != NULL and madvise(p, size, MADV_DONTNEED):
        block_free(p, n)
        p = NULL
    return p

cdef void block_free(char* p, size_t n) noexcept nogil:
    """Give back what block_alloc(n) returned."""
    cdef size_t size
    cdef int i
    if n <= SMALL or DFLOW_PLAIN_MALLOC:
        free(p)
        return
    given_back(p, n)
    i = bin_of(n, &size)
    if (add_i64(&cached, size) > load_i64(&cached_limit) or load_i64(&held) > load_i64(&held_limit)
            or not push_block(&bins[i], p)):
        add_i64(&cached, -<long long>size)
        add_i64(&held, -<long long>size)
        free(p)

cdef size_t block_pages(size_t n) noexcept nogil:
    return 0 if n < <size_t>PAGED or DFLOW_PLAIN_MALLOC else (n + 4095) & ~<size_t>4095

cdef void block_moved(size_t n, bint away) noexcept nogil:
    cdef size_t size
    bin_of(n, &size)
    if add_i64(&held, -<long long>size if away else <long long>size) > load_i64(&peak):
        store_i64(&peak, load_i64(&held))

cdef long long release_blocks() noexcept nogil:
    """Return every cached block to the system: how many bytes."""
    cdef int i
    cdef char* p
    cdef long long released = 0
    for i in range(BINS):
        p = pop_block(&bins[i])
        while p != NULL:
            free(p)
            add_i64(&cached, -<long long>size_of_bin(i))
            add_i64(&held, -<long long>size_of_bin(i))
            released += size_of_bin(i)
            p = pop_block(&bins[i])
    return released

cdef void set_block_limit(long long n) noexcept:
    store_i64(&held_limit, n)
    if load_i64(&held) > n:
        release_blocks()

cdef long long set_cached_limit(long long n) noexcept:
    cdef long long before = load_i64(&cached_limit)
    store_i64(&cached_limit, n)
    if load_i64(&cached) > n:
        release_blocks()
    return before

cdef long long trim_blocks() noexcept nogil:
    cdef long long released = release_blocks()
    malloc_trim(0)
    return released

cdef BlockBytes block_bytes() noexcept nogil:
    cdef BlockBytes b
    b.held = load_i64(&held)
    b.cached = load_i64(&cached)
    b.peak = load_i64(&peak)
    return b

cdef void memory_after_fork() noexcept nogil:
    """In the child: no other thread exists, so no lock is held. A bin that was being changed loses what it kept."""
    cdef int i
    for i in range(BINS):
        if bins[i].lock:
            bins[i] = Bin(0, 0, 0, NULL)
