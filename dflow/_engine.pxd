"""The engine's contract: submit tasks. What they are is in _runtime/graph.pxd, waiting for them in
_runtime/waiting.pxd.

Submission is one total order: only a thread that holds the GIL submits. Workers finish tasks without it.
"""

from dflow._kernels.kernel cimport Kernel
from dflow._runtime.graph cimport handed, Task

cdef int submit(Task* t) except -1      # GIL. The engine frees t when it is done, or when this raises

cdef struct Settings:
    bint naive              # run every operation at its call
    float inline_cost       # nanoseconds up to which an operation on ready data runs in its caller,
    float tiny_cost         # or, when it may join a group, up to this; it then catches up with what it waits for, too
    long long inlined       # operations that did

cdef Settings settings

cdef inline bint saves_little(Kernel* k, double cost) noexcept:
    """Whether an elementwise operation whose operands are there gains less from a group than it costs to join one: it
    is small, and either there is no code for it, or the last groups were waited for when they had done as little."""
    if cost > settings.inline_cost or k.operation != 0 and handed.brief == 0:
        return False
    handed.brief = max(handed.brief - 1, 0)
    return True
