"""NumPy's and SciPy's BLAS: loading, threads, buffers, forks. See _kernels/blas_library.pxd."""

import ctypes
import os
import sys
import threading

from dflow._kernels.kernel cimport raise_current
from dflow._base.allocator cimport release_blocks
from dflow._base.atomics cimport full_fence, store_int
from dflow._base.threads cimport bell_init, bell_lock, bell_unlock, sleep_ns
from dflow._kernels import openblas
from dflow._kernels.openblas import environment
from dflow._kernels.scipy_loader import extension, linked

import numpy as np           # in the environment of openblas

cdef extern from "Python.h":
    void* PyCapsule_GetPointer(object, const char*) except? NULL
    const char* PyCapsule_GetName(object) except? NULL
    int PyGILState_Check() nogil

cdef extern from *:
    """
    static __thread int tls_calling;        /* this thread is inside, by Caller */
    #include <sys/resource.h>
    #include <unistd.h>
    /* The first thread's stack grows as it is used, or the process dies. OpenBLAS puts half a megabyte on it. */
    static void __attribute__((noinline)) grow_stack(void) {
        struct rlimit r;
        if (this_thread() == getpid() && getrlimit(RLIMIT_STACK, &r) == 0 && r.rlim_cur >= (8 << 20)) {
            volatile char deep[2 << 20];
            deep[0] = 0;
            (void)deep;
        }
    }
    """
    int tls_calling
    void grow_stack()

cdef extern from "<sys/mman.h>" nogil:
    void* mmap(void*, size_t, int, int, int, long)
    int munmap(void*, size_t)
    int PROT_READ, PROT_WRITE, MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE
    void* MAP_FAILED

cdef extern from "<dlfcn.h>" nogil:
    ctypedef struct Dl_info:
        const char* dli_fname
    int dladdr(const void*, Dl_info*)

cdef enum:
    BUFFER = 32 << 20           # bytes of one of OpenBLAS's buffers, which it keeps, in NumPy's and SciPy's wheels
    OF_THREAD = 2 * BUFFER      # of one of its threads, with a buffer of its own
    LIBRARY = 2 * BUFFER        # of the library itself, at most about so many
    OTHERS = 128 << 20          # that other threads may take after a look: glibc as many, for a moment, for a new one
    LOOK_NS = 50_000            # between two looks of who waits for a fork, or for those inside
    OPENMP = 2                  # what OpenBLAS's get_parallel() says when it is built on OpenMP

cdef Bell looking               # a mutex: what one look takes for a moment, another would miss. After Library.lock

bell_init(&scipy_blas.lock)
bell_init(&numpy_blas.lock)
bell_init(&looking)
grow_stack()
tiles_wanted = <int>os.cpu_count()
if tiles_wanted & (tiles_wanted - 1):
    tiles_wanted *= 2                   # several for each worker: with one or two, some would wait for others

cdef int settling = 0           # atomic: threads that set a library's threads before a call, or after it; come_in()
cdef bint loaded = False
cdef bint forked = False        # the process was, or is a child
_config = {}                    # of the library

# ---- loading ---------------------------------------------------------------------------------------------------------

def _wanted_coretype():
    """The value of OPENBLAS_CORETYPE to load with, or None: as the library decides, or the user."""
    own = os.environ.get("DFLOW_BLAS_CORETYPE")
    if own is not None:
        return own or None
    features = getattr(np._core._multiarray_umath, "__cpu_features__", {})
    return "SKYLAKEX" if "OPENBLAS_CORETYPE" not in os.environ and features.get("AVX512_SKX") else None

cdef bint blas_loaded() noexcept:
    return loaded

cdef int load_blas() except -1:
    if not loaded:
        # A library that finds no memory for its threads ends the process.
        if not any_room(OTHERS + LIBRARY + <size_t>OF_THREAD * tiles_wanted):
            raise MemoryError("no memory to load SciPy's BLAS")
        with _loading:              # another thread may be importing SciPy; no product is submitted before it is there
            _load()
    return 0

_loading = threading.RLock()
_early = {"scipy.linalg._fblas", "scipy.linalg.cython_blas"}

cdef int _load() except -1:
    global loaded
    table = None
    if loaded:
        return 0
    early = not _early.isdisjoint(sys.modules)              # then the library has chosen its kernels already
    with environment(None if early else _wanted_coretype()):
        library = linked("linalg.cython_blas")
        if not hasattr(library, "scipy_dgemm_"):            # not one of SciPy's wheels
            table = extension("linalg.cython_blas").__pyx_capi__
    for i, letter in enumerate("sdcz"):
        if table is None:
            scipy_routines.gemm[i] = <gemm_t>_address(library, f"scipy_{letter}gemm_")
            scipy_routines.gemv[i] = <gemv_t>_address(library, f"scipy_{letter}gemv_")
            scipy_routines.syrk[i] = <syrk_t>_address(library, f"scipy_{letter}syrk_")
        else:
            scipy_routines.gemm[i] = <gemm_t>_capsule(table[f"{letter}gemm"])
            scipy_routines.gemv[i] = <gemv_t>_capsule(table[f"{letter}gemv"])
            scipy_routines.syrk[i] = <syrk_t>_capsule(table[f"{letter}syrk"])
    name = _find_threads(&scipy_blas, library)
    if name is not None:
        _describe(library, name)
    loaded = True
    return 0

cdef void* _capsule(capsule) except NULL:
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))

cdef void* _address(library, str name) except? NULL:
    """Of a function; NULL when the library has none of this name."""
    cdef size_t address = 0
    function = getattr(library, name, None)
    if function is not None:
        address = ctypes.cast(function, ctypes.c_void_p).value
    return <void*>address

cdef object _naming(library):
    """The pattern of its names if it is OpenBLAS, else None.

    One that is built on OpenMP has other counts in each thread, and is left alone.
    """
    for name in ("scipy_openblas_{}", "scipy_openblas_{}64_", "openblas_{}", "openblas_{}64_"):
        found = hasattr(library, name.format("set_num_threads"))
        if found and getattr(library, name.format("get_parallel"))() != OPENMP:
            return name
    return None

cdef object _find_threads(Library* b, library):
    """The pattern of its names if it has functions for threads, which are then in b; else None."""
    name = _naming(library)
    if name is not None:
        b.get_threads = <get_t>_address(library, name.format("get_num_threads"))
        b.take_buffer = <take_t>_address(library, "blas_memory_alloc")
        b.give_buffer = <give_t>_address(library, "blas_memory_free")
        b.forked = forked
        b.set_threads = <set_t>_address(library, name.format("set_num_threads"))    # last: with it the rest is used
    return name

cdef int _describe(library, name) except -1:
    cdef Dl_info where
    describe = getattr(library, name.format("get_config")), getattr(library, name.format("get_corename"))
    for function in describe:
        function.restype = ctypes.c_char_p
    version, kernels = (function().decode() for function in describe)
    dladdr(<void*>scipy_blas.get_threads, &where)
    _config.update(library=os.path.realpath(os.fsdecode(where.dli_fname)), version=version.split()[1], kernels=kernels)
    return 0

cdef int _settle(library) except -1:
    """Start the threads of a copy that was loaded before dflow again, in environment(), as OpenBLAS does at a fork. Not
    where another thread may be using them."""
    name = _naming(library)
    read, stop = (getattr(library, name, None) for name in ("openblas_read_env", "blas_thread_shutdown_"))
    if name is not None and read is not None and stop is not None and threading.active_count() == 1:
        with environment():
            read()
        stop()
        getattr(library, name.format("set_num_threads"))(getattr(library, name.format("get_num_threads"))())
    return 0

# ---- threads ---------------------------------------------------------------------------------------------------------

cdef void use_one_thread(Library* b) noexcept nogil:
    """From here on it uses one thread."""
    if b.set_threads == NULL:
        return
    bell_lock(&b.lock)
    if b.callers == 0:
        b.threads_before = b.get_threads() if has_threads(b) else 1
        if b.threads_before != 1:
            b.set_threads(1)
    b.callers += 1
    bell_unlock(&b.lock)

cdef void restore_threads(Library* b) noexcept nogil:
    if b.set_threads == NULL:
        return
    bell_lock(&b.lock)
    b.callers -= 1
    if b.callers == 0 and b.threads_before != 1 and b.get_threads() == 1:
        b.set_threads(b.threads_before)
    bell_unlock(&b.lock)

cdef bint has_threads(Library* b) noexcept nogil:
    """Whether its threads are there; after a fork they start as soon as there is memory for them. Needs the lock."""
    if b.forked:
        bell_lock(&looking)
        if _any_room(<size_t>OF_THREAD * tiles_wanted + OTHERS):
            b.forked = False
            b.set_threads(b.get_threads())
        bell_unlock(&looking)
    return not b.forked

cdef bint any_room(size_t size) noexcept nogil:
    cdef bint found
    bell_lock(&looking)
    found = _any_room(size)
    bell_unlock(&looking)
    return found

cdef bint _any_room(size_t size) noexcept nogil:
    cdef void* p = reserved(size)
    if p == MAP_FAILED and release_blocks():
        p = reserved(size)
    return p != MAP_FAILED and munmap(p, size) == 0

cdef inline void* reserved(size_t size) noexcept nogil:
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)

cdef class Caller:
    """A context in which NumPy itself may call LAPACK, for a matrix of so many elements at most. No array is waited for
    in there."""
    cdef size_t size

    def __init__(self, size):
        find_numpy_blas()
        self.size = MATRICES * 16 * <size_t>size

    def __enter__(self):
        global tls_calling
        while load_int(&forks) and not tls_calling:     # NumPy gives the GIL away
            with nogil:
                sleep_ns(LOOK_NS)
        if not begin_call(&numpy_blas, self.size):
            raise_current()
        tls_calling += 1

    def __exit__(self, *error):
        global tls_calling
        tls_calling -= 1
        end_call(&numpy_blas)

cdef bint reserve(Library* b, int callers, size_t size) noexcept nogil:
    """Let OpenBLAS make as many buffers as there are callers, once it is sure that there is memory.

    One that does not show how to (NumPy 2.5's) makes this caller's in the call that is to come: for sure if that needs
    memory besides (size). Between this look and what follows no other look takes memory, and other threads may take a
    little (OTHERS); one that takes more, just then, lets OpenBLAS end the process.
    """
    cdef void* taken[64]
    cdef int i, most = min(callers, 64)
    cdef bint shows = b.take_buffer != NULL and b.give_buffer != NULL
    cdef bint found
    bell_lock(&b.lock)
    found = has_threads(b)
    bell_lock(&looking)
    if not shows:
        found = found and _any_room(BUFFER + OTHERS + size)
        if size == 0:
            callers = b.buffers
    else:
        # All at once: while these are taken, the callers that are inside already may have to make theirs anew.
        found = found and _any_room(<size_t>BUFFER * most + OTHERS)
        if found:
            for i in range(most):
                taken[i] = b.take_buffer(0)
            for i in range(most):
                b.give_buffer(taken[i])
    bell_unlock(&looking)
    if found:
        store_int(&b.buffers, callers)
    bell_unlock(&b.lock)
    return found

cdef int find_numpy_blas() except -1:
    if numpy_blas.set_threads == NULL:
        library = ctypes.CDLL(np.linalg._umath_linalg.__file__)
        name = _naming(library)
        if name is not None:
            prefix, ending = name[:name.index("openblas")], "_64_" if name.endswith("64_") else "_"
            for i, letter in enumerate("dz"):
                numpy_lapack.getrf[i] = <getrf_t>_address(library, f"{prefix}{letter}getrf{ending}")
                numpy_lapack.getrs[i] = <getrs_t>_address(library, f"{prefix}{letter}getrs{ending}")
        _find_threads(&numpy_blas, library)     # last: another thread that sees these looks for no more
    return 0

cdef void one_thread_each() noexcept nogil:
    come_in(&settling)
    use_one_thread(&numpy_blas)
    add_int(&settling, -1)

cdef void threads_again() noexcept nogil:
    come_in(&settling)
    restore_threads(&numpy_blas)
    add_int(&settling, -1)

# ---- forks -----------------------------------------------------------------------------------------------------------

cdef int wait_outside(int* inside) noexcept nogil:
    cdef int count
    while not PyGILState_Check():
        add_int(inside, -1)
        while load_int(&forks):
            sleep_ns(LOOK_NS)
        count = add_int(inside, 1)
        if not load_int_after(&forks):
            return count
    return load_int(inside)

cdef void blas_before_fork() noexcept:
    add_int(&forks, 1)
    full_fence()                    # pairs with come_in()
    # This thread itself is inside when a signal's handler forks there.
    while load_int(&scipy_blas.inside) + load_int(&numpy_blas.inside) + load_int(&settling) > tls_calling:
        with nogil:
            sleep_ns(LOOK_NS)

cdef void blas_after_fork() noexcept:
    """In the child no call is inside, but the one in which this thread forked."""
    global forked, forks, settling
    forked = True
    forks = settling = 0
    bell_init(&looking)
    reset_library(&scipy_blas)
    reset_library(&numpy_blas)

cdef void blas_after_fork_in_parent() noexcept:
    global forked
    forked = True
    restart_threads(&scipy_blas)
    restart_threads(&numpy_blas)
    add_int(&forks, -1)

cdef void restart_threads(Library* b) noexcept:
    bell_lock(&b.lock)
    b.forked = b.set_threads != NULL
    store_int(&b.buffers, 0)
    bell_unlock(&b.lock)

cdef void reset_library(Library* b) noexcept:
    bell_init(&b.lock)
    b.inside = tls_calling if b == &numpy_blas else 0
    b.buffers = 0
    b.forked = b.set_threads != NULL
    if b.callers:
        b.callers = 1
        restore_threads(b)

if "OPENBLAS_THREAD_TIMEOUT" not in os.environ:
    for module in openblas.early:
        _settle(ctypes.CDLL(sys.modules[module].__file__))

def config():
    """Which BLAS large matrix products use: its file, its version, and the CPU that its kernels are for. Loads it."""
    load_blas()
    return dict(_config)
