"""Past launch(), for what is small, ready and in C order: it runs in its caller.

By itself, since who cimports a .pxd looks up all its variables at import, and those of what that cimports.
"""

from dflow._kernels.kernel cimport call_loop, intp, Kernel
from dflow._engine cimport saves_little, settings
from dflow._runtime.fp_errors cimport fp_event
from dflow._runtime.open_group cimport would_join
from dflow._runtime.tuning cimport LEAST_JOIN_NS

cdef inline int run_now(Kernel* k, char** args, intp* n, intp* steps) except -1:
    """Run a kernel in its caller, and warn of the floating point flags that it raises."""
    settings.inlined += 1
    return fp_event(call_loop(k, args, n, steps), k)

cdef inline int run_unary(Kernel* k, char* x, intp size, char* out, intp out_size, intp n) except -1:
    cdef char* args[2]
    cdef intp steps[2]
    args[0], args[1] = x, out
    steps[0], steps[1] = size, out_size
    return run_now(k, args, &n, steps)

cdef inline bint joins(intp n, Kernel* k, bint ready) noexcept:
    """Whether an elementwise operation is large enough to join a group, or not too small for the one that is open."""
    cdef float cost = n * k.cost
    if cost > settings.tiny_cost and not (ready and saves_little(k, cost)):
        return True
    return cost > LEAST_JOIN_NS and would_join(n, ready)
