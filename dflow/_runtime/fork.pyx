"""Forks: the parent goes on, and the child has what was done, and errors in place of what was pending."""

from dflow._runtime.runners cimport hold_runners, let_runners_go, this_runner
from dflow._runtime.disk cimport disk_after_fork
from dflow._runtime.gate cimport gate_after_fork, take_held_back
from dflow._runtime.errors cimport Poison, poison_new, poison_unref
from dflow._runtime.graph cimport *
from dflow._runtime.queues cimport *
from dflow._base.allocator cimport *
from dflow._kernels.blas_library cimport blas_after_fork, blas_after_fork_in_parent, blas_before_fork
from dflow._kernels.native cimport loops_after_fork
from dflow._base.thread_state cimport recording_after_fork
from dflow._runtime.events cimport events_after_fork
from dflow._runtime.threads cimport threads_after_fork
from dflow._runtime.executor cimport reset_workers, retire
from dflow._runtime.parking cimport start_group

def before_fork():
    """Let no runner hold a lock, and no thread be in a library of BLAS. Other kernels run on.

    Holds no lock that a thread waits for with the GIL: other hooks, and so other threads, may run before the fork and
    after it.
    """
    blas_before_fork()
    hold_runners()

def after_fork_in_parent():
    blas_after_fork_in_parent()
    let_runners_go()

def after_fork_in_child():
    """No worker has survived. What was pending is poisoned, what was ready stays."""
    cdef Runner* runners = shared.runners
    cdef Runner* r
    cdef Task* t
    cdef Poison* p = NULL
    reset_workers()
    threads_after_fork()
    memory_after_fork()
    disk_after_fork()
    gate_after_fork()
    blas_after_fork()
    recording_after_fork()
    loops_after_fork()
    events_after_fork()
    start_group()                   # it lies in a queue now, or waits for what ends below
    if pending_after_fork(runners):
        p = poison_new(RuntimeError("this array was pending when the process forked: only the parent computes it"),
                       NULL, b"fork")
        p.seen = 1
    r = runners
    while r != NULL:                # a runner may hold the lock of an operand, to look for poison or to allocate
        if r.current != NULL and not mine(r):
            unlock_operands(r.current)
        r = r.next
    r = runners
    while r != NULL:
        if r.current != NULL and not mine(r):
            end_task(r.current, p)
        r = r.next
    t = take_any()
    while t != NULL:
        end_task(t, p)
        t = take_any()
    t = take_held_back()
    while t != NULL:
        end_task(t, p)
        t = take_held_back()
    if p != NULL:
        poison_unref(p)
    settle_after_fork()
    drain()

cdef bint pending_after_fork(Runner* r) noexcept:
    cdef long long n = shared.submitted - shared.retired
    while r != NULL:
        n -= r.done
        r = r.next
    return n != 0

cdef bint mine(Runner* r) noexcept:
    """Whether this thread is r."""
    cdef Runner* me = this_runner()
    while me != NULL and me != r:
        me = me.outer
    return me != NULL

cdef void settle_after_fork() noexcept:
    """Count nothing as pending, but what this thread has taken: the task that forked, if one did."""
    cdef Runner* me = this_runner()
    cdef Task* t
    cdef int i
    shared.retired = shared.submitted
    for i in range(shared.nlanes):
        used[i].ended = used[i].submitted
    while me != NULL:
        me.next = shared.runners
        me.done = 0
        me.deputy = NULL                    # its thread has not come along
        shared.runners = me
        shared.helping += me.helping        # it forked in a signal handler, and will wait on
        if me.waiting != NULL:
            me.waiting[0] += 1
        t = me.current
        while t != NULL:
            shared.retired -= 1
            lanes[t.lane].ended -= shared.nlanes > 1
            t = next_member(t)
        me = me.outer

cdef void unlock_operands(Task* t) noexcept nogil:
    cdef int i
    while t != NULL:
        for i in range(t.nops):
            if accesses(t)[i].storage != NULL:
                accesses(t)[i].storage.lock = 0
        t = next_member(t)

cdef void end_task(Task* t, Poison* p) noexcept nogil:
    """Finish t without running it, and all that depends on it."""
    cdef long long done = 0
    cdef Task* m
    while t != NULL:
        m = t
        while m != NULL:
            mark(m, p)
            m = next_member(m)
        t = retire(0, t, &done)
