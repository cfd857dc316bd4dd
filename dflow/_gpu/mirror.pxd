"""Storages on a GPU: memory of the host and memory of the device, their twin, of which one at least is current.

A user of one brings it up to date first, while the engine's order keeps writers away; a writer of one makes the other
stale. So every kernel runs on every array: one that the GPU has no translation of runs on the host. All of this needs
the GIL.

Invariants:
    a storage has HOST_STALE only where it has a twin;
    it never has both flags, but while its one writer holds it;
    accesses to it are of all of it, whichever part they touch (submit() sees to that): of two tasks that write
    different parts, one might write on the host, and the other on the device.
"""

from dflow._runtime.graph cimport Storage

cdef enum Stale:
    HOST_STALE = 1
    TWIN_STALE = 2

cdef int gpus                                               # GIL: 1 from when on an array may be on a GPU
cdef object gpu_of(Storage* s)                              # a dflow._gpu.cuda.Gpu
cdef int bring_here(Storage* s, bint read, bint write) except -1        # MemoryError, or what the device has to say
cdef int wait_there(Storage* s) except -1
cdef bint done_there(Storage* s) except -1
cdef int finish_gpus(int device=*) except -1
cdef int make_twin(Storage* s, bint from_host) except -1                # which it must not have
cdef object bring_there(Storage* s, bint read, bint write)              # its twin. read: what is in it is wanted
