"""Storages on a GPU: see _gpu/mirror.pxd."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from dflow._base.atomics cimport add_int, load_int
from dflow._base.threads cimport now_ns
from dflow._runtime.events cimport note_copied, reserve_events, watched
from dflow._runtime.graph cimport abroad, drain, Storage, storage_allocate, storage_unref
from dflow._runtime.queues cimport give_lane
from dflow._base.thread_state cimport CPUS, DEVICES, use_devices

gpus = 0
open_gpus = [None] * (DEVICES - CPUS)

cdef object gpu_of(Storage* s):
    return open_gpus[(s.device >> 1) - CPUS]

cdef int bring_here(Storage* s, bint read, bint write) except -1:
    """Let the host's memory be there, of any storage, and, if it is to be read, current."""
    if not storage_allocate(s):
        raise MemoryError(f"Unable to allocate {s.nbytes} bytes")
    if s.twin == NULL:
        if write and abroad(s):
            s.stale = TWIN_STALE
        return 0
    add_int(&s.refs, 1)                             # another thread may give the array another storage meanwhile
    try:
        while not brought(s, <object>s.twin, read, write):
            pass
    finally:
        storage_unref(s)
    return 0

cdef bint brought(Storage* s, object twin, bint read, bint write) except -1:
    """Whether the device has not written to it meanwhile: a caller that is no task does not keep it from that."""
    cdef long long start
    if read and s.stale & HOST_STALE:
        twin.wait()                                 # before others who want to bring something wait for this one
    twin.gpu.check()
    with twin.gpu.downward:                         # of several readers, one copies it; and no writer comes meanwhile
        if s.stale & HOST_STALE and read:
            written = twin.written
            start = begun()
            twin.download(<size_t>s.data)
            end_copy(s, start, True)
            if twin.written is not written:
                return False
        s.stale &= ~HOST_STALE
        if write:
            s.stale = TWIN_STALE
        return True

cdef int make_twin(Storage* s, bint from_host) except -1:
    """Give s memory on its device, for what comes from the host or what is computed. MemoryError."""
    twin = gpu_of(s).twin(s.nbytes, from_host, drain_all)
    if s.twin == NULL:                              # another thread may have, meanwhile
        Py_INCREF(twin)
        s.twin = <PyObject*>twin
        s.stale = TWIN_STALE
    return 0

cdef object bring_there(Storage* s, bint read, bint write):
    """Let the device's memory be there and, if it is to be read, current. MemoryError."""
    cdef long long start
    if s.twin == NULL:
        make_twin(s, read and s.data != NULL)
    twin = <object>s.twin
    if s.stale & TWIN_STALE:
        if read and s.data != NULL:
            twin.gpu.check()
            with twin.gpu.upward:
                if s.stale & TWIN_STALE:
                    start = begun()
                    twin.upload(<size_t>s.data)
                    end_copy(s, start, False)
        s.stale &= ~TWIN_STALE
    if write:
        s.stale = HOST_STALE
    return twin

cdef inline long long begun() noexcept:
    """When a copy begins, if somebody watches."""
    return now_ns() if load_int(&watched) else 0

cdef inline void end_copy(Storage* s, long long start, bint here) noexcept:
    if start:
        reserve_events()
        note_copied(s, s.nbytes, s.device >> 1, here, start)

cdef int wait_there(Storage* s) except -1:
    """Until the device has computed what is in it. Raises its errors."""
    if s.twin != NULL and s.stale & HOST_STALE:
        (<object>s.twin).wait()
    return 0

cdef bint done_there(Storage* s) except -1:
    return s.twin == NULL or not s.stale & HOST_STALE or (<object>s.twin).done()

cdef int finish_gpus(int device=-1) except -1:
    """Until one of them, or -1: all, has done what it was told. Raises its errors."""
    for index, gpu in enumerate(open_gpus):
        if gpu is not None and (device < 0 and gpu.ours() or index == device - CPUS):
            gpu.synchronize()
    return 0

def drain_all():
    """End what workers could not."""
    drain()

def open_gpu(int index):
    """Have gpu(index) ready, with workers of its own. ValueError if there is none."""
    global gpus
    if open_gpus[index] is None:
        from dflow._gpu import cuda
        open_gpus[index] = cuda.Gpu(index)
        give_lane(CPUS + index, True)
        use_devices()
        gpus = 1
