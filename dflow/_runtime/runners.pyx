"""Runners: see _runtime/runners.pxd."""

from cpython.pystate cimport PyThreadState
from dflow._base.thread_state cimport must_hold_none
from dflow._base.atomics cimport (
    DFLOW_DEBUG, add_i64, add_int, collect_i64, full_fence, load_i64, load_int, load_int_after, store_int,
    swap_int)
from dflow._base.locks cimport lock, RUNNERS_LOCK, unlock
from dflow._base.threads cimport restore_thread, sleep_ns
from dflow._runtime.queues cimport Runner, shared

cdef extern from "Python.h" nogil:
    PyThreadState* PyEval_SaveThread()

cdef extern from *:
    """
    static __thread void *tls_runner;        /* the Runner this thread is, if any */
    """
    void* tls_runner

cdef Runner* this_runner() noexcept nogil:
    return <Runner*>tls_runner

cdef void set_runner(Runner* me) noexcept nogil:
    global tls_runner
    tls_runner = me

cdef void enter(Runner* me) noexcept nogil:
    swap_int(&me.inside, 1)         # a full barrier: before the look at `forking`
    while load_int_after(&shared.forking):
        store_int(&me.inside, 0)
        let_gil_go(me)              # who forks needs it
        sleep_ns(50000)
        swap_int(&me.inside, 1)

cdef void leave(Runner* me) noexcept nogil:
    store_int(&me.inside, 0)

cdef void take_gil(Runner* me) noexcept nogil:
    if DFLOW_DEBUG:
        must_hold_none(b"nobody waits for the GIL under a spin lock")
    if me.holds:
        me.holds = False
    else:
        restore_thread(me.tstate, forget, me)

cdef void forget(void* runner) noexcept nogil:
    """The thread ends, and runners that lie on its stack with it: others go through the list of them."""
    cdef Runner* me = <Runner*>runner
    while me != NULL:
        unregister(me)
        me = me.outer

cdef void drop_gil(Runner* me) noexcept nogil:
    me.tstate = PyEval_SaveThread()

cdef void keep_gil(Runner* me) noexcept nogil:
    """A worker goes on with the GIL, which its next task needs, too: to ask for it again, while others run Python
    code, takes as long as they may keep it."""
    if me.index:
        me.holds = True
    else:
        drop_gil(me)

cdef void let_gil_go(Runner* me) noexcept nogil:
    if me.holds:
        me.holds = False
        drop_gil(me)

cdef void register(Runner* me) noexcept nogil:
    lock(&shared.runners_lock, RUNNERS_LOCK)
    me.next = shared.runners
    shared.runners = me
    unlock(&shared.runners_lock)

cdef void unregister(Runner* me) noexcept nogil:
    cdef Runner** p = &shared.runners
    lock(&shared.runners_lock, RUNNERS_LOCK)
    while p[0] != me:
        p = &p[0].next
    p[0] = me.next
    add_i64(&shared.retired, me.done)
    unlock(&shared.runners_lock)

cdef long long pending() noexcept nogil:
    cdef long long n = load_i64(&shared.submitted)
    cdef Runner* r
    lock(&shared.runners_lock, RUNNERS_LOCK)
    n -= collect_i64(&shared.retired)
    r = shared.runners
    while r != NULL:
        n -= collect_i64(&r.done)
        r = r.next
    unlock(&shared.runners_lock)
    return n

cdef void hold_runners() noexcept:
    """Bring every runner to a point where it holds no lock, and keep it there. Kernels run on. Needs the GIL."""
    cdef Runner* r
    add_int(&shared.forking, 1)
    full_fence()                    # pairs with enter()
    while True:
        r = shared.runners
        while r != NULL and not load_int(&r.inside):
            r = r.next
        if r == NULL:
            return
        with nogil:                 # who is inside may want the GIL
            sleep_ns(1000)

cdef void let_runners_go() noexcept nogil:
    add_int(&shared.forking, -1)
