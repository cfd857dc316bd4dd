"""Memory for the engine: cells for headers and tiny arrays, blocks for data.

Cells are allocated with the GIL held only (tasks and storages are made by submitting threads) and freed by anyone:
a thread with the GIL returns a cell to the pool's own list, a worker pushes it on the pool's `remote` stack, which
the next allocation takes over whole. One consumer that takes everything needs no ABA protection.
"""

cdef void* memory_new(size_t n) noexcept nogil          # NULL: there is none
cdef void* memory_zeros(size_t n) noexcept nogil
cdef void* memory_grow(void* p, size_t n) noexcept nogil
cdef void memory_free(void* p) noexcept nogil           # NULL: nothing

cdef enum Pool:
    STORAGES = 0
    TASKS = 1

cdef void* cell_alloc(Pool pool, size_t n) noexcept
cdef void cell_free(Pool pool, void* p, size_t n) noexcept
cdef void cell_free_nogil(Pool pool, void* p, size_t n) noexcept nogil
cdef void trim_cells() noexcept

ctypedef void (*trimmer)() noexcept
cdef struct MemoryHooks:        # filled by _array/core.pyx; trim_cells() asks whether it has been
    trimmer before_trimming                             # gives back cells that are kept for later; GIL
cdef MemoryHooks memory_hooks

cdef char* block_alloc(size_t n) noexcept nogil
cdef char* block_zeros(size_t n) noexcept nogil         # large blocks only
cdef void block_free(char* p, size_t n) noexcept nogil
cdef void set_block_limit(long long n) noexcept         # of bytes taken from the system; kept blocks go first
cdef long long set_cached_limit(long long n) noexcept   # of bytes of kept blocks; what it was
cdef size_t block_pages(size_t n) noexcept nogil        # bytes of a block of n that are whole pages of its own; 0: none
cdef void block_moved(size_t n, bint away) noexcept nogil   # a block of n bytes takes memory no more, or again
cdef long long release_blocks() noexcept nogil          # those that are kept; how many bytes
cdef long long trim_blocks() noexcept nogil               # the same, and what else the C library can
cdef struct BlockBytes:
    long long held, cached, peak
cdef BlockBytes block_bytes() noexcept nogil
cdef void memory_after_fork() noexcept nogil
