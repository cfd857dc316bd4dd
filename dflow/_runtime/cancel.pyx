"""Cancelled tasks: see _runtime/cancel.pxd."""

from concurrent.futures import CancelledError

from cpython.object cimport PyObject
from dflow._base.atomics cimport hint_int, store_int
from dflow._runtime.queues cimport shared

cdef enum:
    LONG_AGO = 1 << 30      # submissions: then their order would soon compare as earlier

_error = CancelledError("cancelled before it was computed, by dflow.engine.cancel() or cancel_all()")
cancelled_poison.error = <PyObject*>_error
cancelled_poison.refs = 1 << 30
cancelled_poison.seen = 1

cdef bint any_cancelled(Task* t) noexcept nogil:
    while t != NULL and not is_cancelled(t):
        t = next_member(t)
    return t != NULL

cdef bint all_cancelled(Task* t) noexcept nogil:
    while t != NULL and is_cancelled(t):
        t = next_member(t)
    return t == NULL

cdef void cancel_all_pending() noexcept:
    hint_int(&cancels.to, <int><unsigned int>shared.submitted)
    store_int(&cancels.all, 1)
    note_cancel()

cdef void note_cancel() noexcept:
    cancels.at = shared.submitted
    store_int(&cancels.any, 1)

cdef void forget_cancels(bint idle) noexcept:
    if cancels.any and (idle or shared.submitted - cancels.at > LONG_AGO):
        store_int(&cancels.all, 0)
        store_int(&cancels.any, 0)
