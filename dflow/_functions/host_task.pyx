"""Host tasks, Python functions that run on a worker; and why something is not there yet."""

import numpy as np
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from dflow._runtime.tuning cimport HOST_NS
from dflow._runtime.region cimport Region
from dflow._runtime.parking cimport announce
from dflow._runtime.waiting cimport catch_up, deadline_of, stand_by, wait_until
from dflow._gpu.mirror cimport done_there
from dflow._kernels.kernel cimport HOST, Kernel
from dflow._array.core cimport ndarray, check_writable, fill_operand, wait_read
from dflow._engine cimport settings, submit
from dflow._base.atomics cimport load_int
from dflow._base.threads cimport now_ns, sleep_ns
from dflow._runtime.errors cimport here
from dflow._runtime.events cimport shape_next, watched
from dflow._runtime.graph cimport (
    ALWAYS, FULL, HAS_REGIONS, readable, Task, task_constants, task_dims, task_new, TRACKED)
from dflow._runtime.cancelling cimport cancel_needed
from dflow._runtime.story cimport story_of
from dflow._kernels.registry cimport kernel_new
from dflow._array.dispatch cimport fill_access, Operand
from dflow._base.thread_state cimport cannot_replay, captures
from dflow._tracing.tape cimport any_records, recorded
from dflow._array.core import window
from dflow._runtime.fp_errors import modes
from dflow._runtime.fp_errors cimport finite_checked
from dflow._functions.placement import follow

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object)

cdef Kernel* HOST_KERNEL = kernel_new(b"host task", 0, 0, NULL, NULL, HOST, 0)

def host(payload, list reads, list writes, bint always=False, bint looks=False):
    """Call payload(error) on a worker once the arrays in `reads` are there and those in `writes` are free.

    error is None, or with `always` the exception that an input carries. looks: nothing is written, but who reads
    `writes` waits. In naive mode, at once.
    """
    cdef Operand o
    cdef int i = 0, nops = <int>(len(reads) + len(writes))
    cdef ndarray a
    cdef Task* t
    if captures:
        cannot_replay(b"a Python function runs on a worker", here())
    follow(reads, writes)
    if not looks:
        for a in writes:
            check_writable(a)
    if not looks and any_records(PySequence_Fast_ITEMS(reads), len(reads)):
        for a in writes:
            recorded("a Python function on a worker", (reads,), a)
    if finite_checked and not looks:
        payload = checked(payload, reads, writes)
    if settings.naive:
        error = None
        for a in reads:
            try:
                wait_read(a)
            except Exception as failed:
                if not always:
                    raise
                error = error or failed
        payload(error)
        return
    t = task_new(HOST_KERNEL, nops, 1, 0, 0, sizeof(PyObject*), HAS_REGIONS | (ALWAYS if always else 0))
    for a in reads + writes:
        fill_operand(&o, a, a.ndim, a.shape, i >= len(reads))
        fill_access(t, i, o.s, o.offset, 1, o.flags | TRACKED, &o.region)
        i += 1
    task_dims(t)[0] = 1
    Py_INCREF(payload)
    (<PyObject**>task_constants(t))[0] = <PyObject*>payload
    if load_int(&watched):
        shape_next(0, NULL)
    submit(t)

cdef object checked(payload, list reads, list writes):
    """payload(error) under engine.check_finite(): what it is given is finite, and what it has written is not? An error.
    Whether a library tells by floating point flags, nobody knows."""
    def run(error):
        known = all(map(all_finite, reads))
        with np.errstate(**modes()):
            payload(error)
        if known and error is None and not all(map(all_finite, writes)):
            raise FloatingPointError("a nan or an infinity, of finite values, by a Python function on a worker")
    return run

cdef object all_finite(ndarray a):
    seen = window(a)
    return seen.dtype.kind not in "fc" or np.isfinite(seen).all()

def at_hand(ndarray a):
    """Whether the elements are there, for what else would be a host task: less work than that is done here first."""
    if not readable(a.st):
        catch_up(a.st, HOST_NS)
        stand_by(a.st, HOST_NS)
    return readable(a.st) and a.st.poison == NULL

def failure(ndarray a):
    """The error that reading an array which is there would raise, or None."""
    return <object>a.st.poison.error if readable(a.st) and a.st.poison != NULL else None

cdef Region* region_read(Operand* o, ndarray a) noexcept:
    """What reading a waits for, in room of o's: of its storage; NULL: all of it."""
    fill_operand(o, a, a.ndim, a.shape, False)
    return NULL if o.flags & FULL else &o.region

def wait_for_seconds(ndarray a, timeout):
    """Until its elements are computed. TimeoutError: they are not, after so many seconds."""
    cdef Operand o
    cdef long long deadline = deadline_of(timeout)
    cdef Region* r = region_read(&o, a)
    while not wait_until(a.st, r, deadline) or not done_there(a.st):
        if now_ns() >= deadline:
            raise TimeoutError(f"not there after {timeout:g} seconds; {story_of(a.st, r)}")
        with nogil:
            sleep_ns(100000)            # until the GPU has it

def cancel(x):
    """What is pending of x: see dflow.engine.cancel()."""
    cdef Operand o
    if not isinstance(x, ndarray):
        raise TypeError(f"x must be an array of dflow's, not {type(x).__name__}")
    return cancel_needed((<ndarray>x).st, region_read(&o, <ndarray>x))

def explain(x):
    """What x waits for, or everything (None): see dflow.engine.explain()."""
    cdef Operand o
    cdef ndarray a
    announce(False)             # who asks again and again is to see it run
    if x is None:
        return story_of(NULL, NULL)
    if not isinstance(x, ndarray):
        raise TypeError(f"x must be an array of dflow's, not {type(x).__name__}")
    a = x
    if a.st.poison != NULL and readable(a.st):
        return f"ready: reading raises {(<object>a.st.poison.error)!r}"
    return story_of(a.st, region_read(&o, a))
