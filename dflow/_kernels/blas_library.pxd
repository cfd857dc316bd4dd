"""NumPy's and SciPy's BLAS, of which each is a library of its own, with threads and buffers of its own.

SciPy's is loaded, at the first product that needs it, with the kernels that suit the CPU best: OpenBLAS passes over
AVX-512 on some CPUs that have it. OpenBLAS would use threads beside the workers, and lets one threaded product run at a
time: so its callers have one thread each, and who was inside last restores their number. It ends the process where it
finds no memory for a buffer: so each call begins with begin_call(), in which it gets those that it needs.

A child of fork() would wait for ever for a lock of the library that another thread held, the parent for what the
library's threads, which it ends at a fork, had not done. So a fork waits until no thread is inside, and those that
come wait outside until it is done. A thread that holds the GIL all the while comes and goes: it is not there when the
fork takes place. Nobody inside waits for another thread.
"""

from dflow._base.atomics cimport add_int, load_int, load_int_after
from dflow._base.threads cimport Bell, out_of_memory

ctypedef void (*gemm_t)(char*, char*, int*, int*, int*, void*, void*, int*, void*, int*, void*, void*,
                        int*) noexcept nogil
ctypedef void (*gemv_t)(char*, int*, int*, void*, void*, int*, void*, int*, void*, void*, int*) noexcept nogil
ctypedef void (*syrk_t)(char*, char*, int*, int*, void*, void*, int*, void*, void*, int*) noexcept nogil
# Of LAPACK, whose integers have 4 bytes or 8: those of one number are read from 8, which begin with the lower 4.
ctypedef void (*getrf_t)(long long*, long long*, void*, long long*, long long*, long long*) noexcept nogil
ctypedef void (*getrs_t)(char*, long long*, long long*, void*, long long*, long long*, void*, long long*, long long*,
                         size_t) noexcept nogil
ctypedef int (*get_t)() noexcept nogil
ctypedef void (*set_t)(int) noexcept nogil
ctypedef void* (*take_t)(int) noexcept nogil
ctypedef void (*give_t)(void*) noexcept nogil

cdef enum:
    SPARE = 4 << 20             # bytes that OpenBLAS asks for besides its buffers, with all its threads,
    MATRICES = 8                # and NumPy for LAPACK: so many of the operand's size, about

cdef struct Routines:           # of single and double precision, of both complex ones
    gemm_t gemm[4]
    gemv_t gemv[4]
    syrk_t syrk[4]

cdef struct Lapack:             # of double precision, real and complex; NULL: not found
    getrf_t getrf[2]
    getrs_t getrs[2]

cdef struct Library:            # a copy of OpenBLAS; zeros: it is another BLAS
    get_t get_threads
    set_t set_threads
    Bell lock                   # a mutex, as OpenBLAS starts threads and allocates under it; over:
    int callers                 # threads inside, that are to have one thread each
    int threads_before          # what is to be restored when the last of them leaves
    take_t take_buffer          # a caller has one meanwhile; NULL: the library does not show how
    give_t give_buffer
    int inside                  # atomic: callers, by come_in()
    int buffers                 # lock, atomic: that are there, at least, for callers
    bint forked                 # lock: its threads, which it ends before a fork, are to start again

cdef Routines scipy_routines    # NULL before load_blas()
cdef Library scipy_blas, numpy_blas
cdef Lapack numpy_lapack
cdef int forks                  # atomic: threads that are about to fork: with the GIL it stays what it is
cdef int tiles_wanted           # of a product, at least, if it is large enough; also taken for threads of a library

cdef bint blas_loaded() noexcept
cdef int load_blas() except -1                                          # GIL; before the first product worth it runs
cdef int find_numpy_blas() except -1                                    # GIL; for a kernel with BLAS
cdef void use_one_thread(Library* b) noexcept nogil                     # from here on,
cdef void restore_threads(Library* b) noexcept nogil                    # until as many calls of this
cdef void one_thread_each() noexcept nogil                              # the same for NumPy's
cdef void threads_again() noexcept nogil
cdef bint any_room(size_t size) noexcept nogil                          # whether the process may have so much memory
cdef bint reserve(Library* b, int callers, size_t size) noexcept nogil
cdef int wait_outside(int* inside) noexcept nogil                       # for forks; come_in()
cdef void blas_before_fork() noexcept                                   # GIL, which it gives away while it waits
cdef void blas_after_fork() noexcept                                    # in the child
cdef void blas_after_fork_in_parent() noexcept                          # GIL; its threads are to start again

cdef inline int come_in(int* inside) noexcept nogil:
    """Count the thread as one that is inside; so many are. Not while it is."""
    cdef int count = add_int(inside, 1)
    return wait_outside(inside) if load_int_after(&forks) else count

cdef inline bint begin_call(Library* b, size_t size) noexcept nogil:
    """Before each call, in a loop that MAY_RAISE. False, and a MemoryError, when there is no buffer for one more
    caller, or not so much memory: OpenBLAS would end the process."""
    cdef int callers = come_in(&b.inside)
    if b.set_threads == NULL:
        return True
    if (callers <= load_int(&b.buffers) or reserve(b, callers, size)) and (size == 0 or any_room(size + SPARE)):
        return True
    add_int(&b.inside, -1)
    out_of_memory()
    return False

cdef inline void end_call(Library* b) noexcept nogil:
    add_int(&b.inside, -1)
