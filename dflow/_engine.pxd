"""The engine's contract: submit tasks, wait for storages. What tasks and storages are is in _graph.pxd.

Submission is one total order: only a thread that holds the GIL submits. Workers finish tasks without it.

A runner is a thread that runs tasks: a worker, or a thread that helps while it waits. It is `inside` while it touches
shared structures, and outside while it runs a kernel, sleeps, or waits for the GIL; fork() waits until nobody is inside.
"""

from dflow._graph cimport Storage, Region, Task, Kernel, Site, intp

cdef extern from "_sync.h" nogil:
    int fp_flags()
    void fp_clear()
    int FP_DIVIDE, FP_OVER, FP_UNDER, FP_INVALID

cdef int submit(Task* t) except -1

# ---- running and waiting
cdef int run_kernel(Kernel* k, char** args, int nops, int ndim, intp* dims, intp* strides) noexcept nogil
cdef int wait_storage(Storage* s, Region* r, bint write) except -1   # GIL; r NULL: all of it. Raises its poison
cdef int wait_all() except -1
cdef bint region_ready(Storage* s, Region* r, bint write) noexcept nogil
cdef int report_fp(int flags, Site* site, Kernel* kernel) except -1
cdef bint in_host_task() noexcept nogil

cdef struct Settings:
    bint naive              # run every operation at its call
    float inline_cost       # nanoseconds up to which an operation runs in its caller
    long long inlined       # operations that did

cdef Settings settings
