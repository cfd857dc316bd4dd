"""Storages on the disk: see _runtime/disk.pxd."""

import os
import sys

from cpython.object cimport PyObject
from libc.errno cimport EINTR, EIO, ENOSPC, errno
from libc.string cimport memmove, memset
from dflow._base.allocator cimport block_moved, block_pages, memory_grow
from dflow._base.atomics cimport add_i64, load_i64, load_int, load_ptr, store_int
from dflow._base.hooks cimport check_hooks
from dflow._base.locks cimport lock, RECENCY_LOCK, unlock
from dflow._base.threads cimport Bell, bell_init, bell_lock, bell_unlock
from dflow._kernels.kernel cimport FENCE, HAS_EFFECTS, intp, Kernel, MAY_RAISE, ON_DISK
from dflow._runtime.errors cimport Poison
from dflow._runtime.graph cimport *

cdef extern from "<sys/mman.h>" nogil:
    void* mmap(void*, size_t, int, int, int, long long)
    int munmap(void*, size_t)
    int PROT_READ, PROT_WRITE, MAP_PRIVATE, MAP_SHARED, MAP_ANONYMOUS, MAP_FIXED
    void* MAP_FAILED

cdef extern from "<unistd.h>" nogil:
    ssize_t pread(int, void*, size_t, long long)
    ssize_t pwrite(int, const void*, size_t, long long)
    int ftruncate(int, long long)
    long long lseek(int, long long, int)
    int SEEK_END
    long sysconf(int)
    int _SC_PAGESIZE

cdef extern from "<fcntl.h>" nogil:
    int posix_fallocate(int, long long, long long)

cdef extern from *:
    """
    #ifdef __linux__
    /* What lies at p goes to `to`, in the place of what is there, at once. */
    static int move_pages_to(void *p, size_t n, void *to) {
        return mremap(p, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED ? -1 : 0;
    }
    #else
    static int move_pages_to(void *p, size_t n, void *to) { (void)p; (void)n; (void)to; errno = ENOSYS; return -1; }
    #endif
    /* An OSError of what the C library said, for a loop that may raise. */
    static void disk_raises(int number) {
        PyGILState_STATE before = PyGILState_Ensure();
        errno = number;
        PyErr_SetFromErrno(PyExc_OSError);
        PyGILState_Release(before);
    }
    """
    int move_pages_to(void* p, size_t n, void* to) nogil
    void disk_raises(int number) nogil

cdef enum:
    MOST_AT_ONCE = 64           # storages that one call writes
    FULL_UP = -1                # in the place of an error's number: the limit

cdef long long NO_LIMIT = <long long>1 << 62

# ---- the file --------------------------------------------------------------------------------------------------------

cdef struct Extent:
    long long start, end

cdef struct File:               # `mutex` over all but what says otherwise
    Bell mutex
    int fd                      # GIL, and while nothing is in it; -1: none
    long long end               # of what has been taken of it
    long long used
    long long limit
    Extent* free                # sorted, apart; in what has been taken
    int nfree, capacity

cdef File file
file.fd = -1
bell_init(&file.mutex)
_directory = None
cdef int last_error = 0         # atomic; errno
cdef long long leaving = 0      # atomic: bytes of which the writing was submitted

cdef long long take_extent(long long n, int* error) noexcept nogil:
    """n bytes of the file, which the disk has; or -1."""
    cdef long long place = -1
    cdef int i
    bell_lock(&file.mutex)
    if file.used + n > file.limit:
        error[0] = FULL_UP
    else:
        for i in range(file.nfree):
            if file.free[i].end - file.free[i].start >= n:
                place = file.free[i].start
                file.free[i].start += n
                if file.free[i].start == file.free[i].end:
                    drop_extent(i)
                break
        if place < 0:
            error[0] = posix_fallocate(file.fd, file.end, n)
            if error[0] == 0:
                place = file.end
                file.end += n
        if place >= 0:
            file.used += n
    bell_unlock(&file.mutex)
    return place

cdef void drop_extent(int i) noexcept nogil:
    file.nfree -= 1
    memmove(file.free + i, file.free + i + 1, (file.nfree - i) * sizeof(Extent))

cdef inline void cut() noexcept nogil:
    """Nothing lies after its end. Where somebody has cut it, it is not made longer: what is missing is an error."""
    if lseek(file.fd, 0, SEEK_END) > file.end:
        ftruncate(file.fd, file.end)

cdef void give_extent(long long start, long long n) noexcept nogil:
    cdef int i = 0
    cdef Extent* grown
    bell_lock(&file.mutex)
    file.used -= n
    while i < file.nfree and file.free[i].end < start:
        i += 1
    if i < file.nfree and file.free[i].start <= start + n:      # it touches this one, and maybe the next
        file.free[i].start = min(file.free[i].start, start)
        file.free[i].end = max(file.free[i].end, start + n)
        if i + 1 < file.nfree and file.free[i + 1].start == file.free[i].end:
            file.free[i].end = file.free[i + 1].end
            drop_extent(i + 1)
    else:
        if file.nfree == file.capacity:
            grown = <Extent*>memory_grow(file.free, 2 * (file.capacity + 8) * sizeof(Extent))
            if grown != NULL:
                file.free = grown
                file.capacity = 2 * (file.capacity + 8)
        if file.nfree < file.capacity:                          # else it is lost to the file until that is empty
            memmove(file.free + i + 1, file.free + i, (file.nfree - i) * sizeof(Extent))
            file.free[i].start, file.free[i].end = start, start + n
            file.nfree += 1
    if file.used == 0:
        file.end = file.nfree = 0
        cut()
    elif file.nfree and file.free[file.nfree - 1].end == file.end:
        file.nfree -= 1
        file.end = file.free[file.nfree].start
        cut()
    bell_unlock(&file.mutex)

# ---- the tasks -------------------------------------------------------------------------------------------------------

cdef int transfer(char* p, size_t n, long long place, bint writes) noexcept nogil:
    """To the file, or from it. 0, or an error's number."""
    cdef ssize_t done
    while n:
        done = pwrite(file.fd, p, n, place) if writes else pread(file.fd, p, n, place)
        if done < 0 and errno != EINTR:
            return errno
        if done == 0:                   # to read: somebody has cut the file
            return ENOSPC if writes else EIO
        if done > 0:
            p += done
            n -= done
            place += done
    return 0

cdef void write_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """The storage itself is the constant: (<Large**>args[1])[0]."""
    cdef Large* s = (<Large**>args[1])[0]
    cdef char* memory = args[0]
    cdef size_t n = block_pages(s.storage.nbytes)
    cdef int error = 0
    cdef long long place = take_extent(n, &error)
    if place >= 0:
        error = transfer(memory, n, place, True)
        s.place = place
        store_int(&s.away, 1)
        if error == 0 and mmap(memory, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.fd, place) == MAP_FAILED:
            error = errno
        if error:
            store_int(&s.away, 0)
            give_extent(place, n)
    if error == 0:
        block_moved(s.storage.nbytes, True)
        count_spilled(s.storage.nbytes)
    else:
        store_int(&last_error, error)
        add_i64(&failures, 1)
    add_i64(&leaving, -<long long>s.storage.nbytes)

cdef void read_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    cdef Large* s = (<Large**>args[1])[0]
    cdef size_t n = block_pages(s.storage.nbytes)
    cdef char* p
    cdef int error
    if not s.away:                      # it could not be written
        count_spilled(s.storage.nbytes)
        return
    p = <char*>mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    if p == MAP_FAILED:                 # no memory: the system reads its pages, as it needs them
        return
    error = transfer(p, n, s.place, False)
    if error:                           # what has this error is other memory from here on, for whoever writes to it
        memset(p, 0, n)
    if move_pages_to(p, n, s.storage.data):
        munmap(p, n)
    else:
        at_home(s)
    if error:
        disk_raises(error)

cdef void at_home(Large* s) noexcept nogil:
    """Its pages are its own again."""
    store_int(&s.away, 0)
    if s.place >= 0:
        give_extent(s.place, block_pages(s.storage.nbytes))
    block_moved(s.storage.nbytes, False)

cdef void forget(Large* s) noexcept nogil:
    """At its end. Fresh pages in the place of the file's: the block is to be used again."""
    if not own_pages(s):
        s.place = -1                    # it keeps the file's, and so its place there
    at_home(s)
    if s.storage.spilled:
        count_spilled(-<long long>s.storage.nbytes)

cdef inline bint own_pages(Large* s) noexcept nogil:
    """Zeros in the place of the file's. False: the system has none."""
    return mmap(s.storage.data, block_pages(s.storage.nbytes), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED

storage_hooks.forget_spilled = forget

def check():
    check_hooks("_runtime.graph", &storage_hooks, sizeof(StorageHooks), "forget_spilled")

check()

cdef Kernel WRITES, READS
WRITES.name, WRITES.loop = b"write to disk", write_loop
READS.name, READS.loop = b"read from disk", read_loop
WRITES.flags = READS.flags = FENCE | ON_DISK | MAY_RAISE | HAS_EFFECTS         # which are counted
WRITES.nops = READS.nops = 2
WRITES.cost = READS.cost = 0.5          # a byte, of a disk of 2 GB/s

cdef int submit_for(Storage* s, Kernel* k) except -1:
    cdef Task* t = task_new(k, 2, 1, 0, 0, 0, FLAT)
    task_operand(t, 0, s, 0, WRITE | FULL | TRACKED)
    (<Storage**>task_constant(t, 1, 8, 0))[0] = s
    task_dims(t)[0] = s.nbytes
    return disk_hooks.submit(t)

# ---- who submits them ------------------------------------------------------------------------------------------------

cdef extern from *:
    "static __thread int tls_busy;       /* of those, for this thread */"
    int tls_busy

cdef int busy = 0                   # GIL; arrays that are filled by no task, and tasks for which arrays are read back

cdef inline void note_busy(int by) noexcept:
    global busy, tls_busy
    busy += by
    tls_busy += by

cdef bint others_go_on() noexcept:
    return busy != tls_busy

cdef void note_filling(Storage* s, int by) noexcept:
    s.pins += by
    note_busy(by)

cdef int fetch_operands(Task* t) except -1:
    cdef Access* a = accesses(t)
    cdef int i, n = 0
    for i in range(t.nops):             # all of them first: room for one is not to be that of another
        if spilling and a[i].storage != NULL and is_large(a[i].storage):
            touch(<Large*>a[i].storage)
    try:
        for i in range(t.nops):
            if a[i].storage != NULL and a[i].storage.spilled:
                if n == 0:
                    note_busy(1)
                n += 1
                fetch(a[i].storage)
    finally:
        if n:
            note_busy(-1)
    return 0

cdef int fetch(Storage* s) except -1:
    disk_hooks.make_room(s.nbytes, True)        # lets others go on; if there is none, it takes more than the budget
    if not s.spilled:
        return 0
    s.spilled = 0
    count_spilled(-<long long>s.nbytes)
    if (<Large*>s).unused:
        (<Large*>s).unused = 0
        return 0
    try:
        return submit_for(s, &READS)
    except BaseException:
        s.spilled = 1
        count_spilled(s.nbytes)
        raise

cdef bint may_leave(Storage* s) noexcept:
    """Whether it is in memory, or unused, and nothing pending needs it, nor anybody who sees its memory."""
    cdef Large* large = <Large*>s
    return ((load_ptr(&s.data) != NULL or large.unused) and not load_int(&large.away) and not s.spilled and s.pins == 0
            and not abroad(s) and s.twin == NULL and load_ptr(&s.poison) == NULL and writable(s))

cdef bint evict(long long nbytes) except -1:
    cdef Large* leavers[MOST_AT_ONCE]
    cdef Large* s
    cdef int i, n = 0
    cdef bint any = False
    cdef long long wanted = nbytes - load_i64(&leaving)
    if not spilling:
        return False
    lock(&recency.lock, RECENCY_LOCK)
    s = recency.oldest
    while s != NULL and wanted > 0 and n < MOST_AT_ONCE:
        if may_leave(&s.storage) and storage_revive(&s.storage):
            leavers[n] = s
            n += 1
            wanted -= s.storage.nbytes
        s = s.newer
    unlock(&recency.lock)
    try:
        for i in range(n):
            if not may_leave(&leavers[i].storage):
                continue                # to submit the last one may have let others go on
            any = True
            leavers[i].storage.spilled = 1
            leavers[i].unused = load_ptr(&leavers[i].storage.data) == NULL
            if leavers[i].unused:
                count_spilled(leavers[i].storage.nbytes)
                continue
            add_i64(&leaving, leavers[i].storage.nbytes)
            submit_for(&leavers[i].storage, &WRITES)
    except BaseException:
        add_i64(&leaving, -<long long>leavers[i].storage.nbytes)
        leavers[i].storage.spilled = 0
        raise
    finally:
        for i in range(n):
            storage_unref(&leavers[i].storage)
    return any

cdef str disk_error():
    cdef int error = load_int(&last_error)
    if error == 0:
        return ""
    if error == FULL_UP:
        return f"the limit of {file.limit} bytes in {_directory} is reached (dflow.engine.spill)"
    return f"writing to {_directory}: {os.strerror(error)} (dflow.engine.spill)"

# ---- settings --------------------------------------------------------------------------------------------------------

AVAILABLE = sys.platform.startswith("linux") and sysconf(_SC_PAGESIZE) == 4096 and block_pages(LARGE) > 0

def settings():
    """The directory and the limit, as spill() takes them."""
    return (_directory, None if file.limit == NO_LIMIT else file.limit) if spilling else (None, None)

def open_file(directory, limit):
    """spill(), once the lane is there."""
    global spilling, _directory
    if directory is None:
        spilling = False
        return
    if not AVAILABLE:
        raise NotImplementedError("arrays go to the disk under Linux, with pages of 4 kB, alone")
    if directory != _directory:
        bell_lock(&file.mutex)
        used = file.used
        bell_unlock(&file.mutex)
        if used:
            raise RuntimeError(f"directory: {used} bytes of arrays are in {_directory} still, which is used until "
                               "they are read, or dropped")
        fd = os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)     # without a name: it never stays
        if file.fd >= 0:
            os.close(file.fd)
        file.fd = fd
        _directory = directory
    file.limit = NO_LIMIT if limit is None else limit
    store_int(&last_error, 0)
    spilling = True

# ---- forks -----------------------------------------------------------------------------------------------------------

_forked = RuntimeError("this array was on the disk of the process that forked, and is no part of its child")
cdef Poison forked_poison
forked_poison.error = <PyObject*>_forked
forked_poison.refs = 1 << 30
forked_poison.seen = 1

cdef void disk_after_fork() noexcept:
    """The file is the parent's, who goes on to change it."""
    global spilling, leaving, _directory
    cdef Large* s
    bell_init(&file.mutex)
    recency.lock = 0
    s = recency.oldest
    while s != NULL:
        if s.away:
            if not own_pages(s):        # else what is written here would be the parent's
                s.storage.data = NULL
            s.away = 0
            s.place = -1
            if s.storage.poison == NULL:
                s.storage.poison = &forked_poison
        s.storage.spilled = 0
        s = s.newer
    count_spilled(-bytes_spilled())
    if file.fd >= 0:
        os.close(file.fd)
    file.fd = -1
    file.free = NULL                    # it may have been changing
    file.end = file.used = file.nfree = file.capacity = 0
    leaving = 0
    spilling = False
    _directory = None
