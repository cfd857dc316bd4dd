"""The gate of NumPy's BLAS: see _runtime/gate.pxd."""

from dflow._kernels.kernel cimport BLAS
from dflow._base.atomics cimport invariant, load_int, load_ptr, store_int
from dflow._base.locks cimport GATE_LOCK, lock, unlock
from dflow._kernels.blas_library cimport one_thread_each, threads_again
from dflow._kernels.matmul cimport ALONE, BY_TURNS, SHARED, UNUSED, blas_use
from dflow._runtime.graph cimport *
from dflow._runtime.queues cimport Queue, enqueue, pop_taken

cdef int use_of(Task* t) noexcept nogil:
    cdef int last = t.ndim - 1
    if not t.kernel.resources & BLAS or t.flags & FLAT:
        return UNUSED
    return blas_use(t.kernel, task_dims(t) + last, task_strides(t) + last * t.nops)

cdef bint gate_closed(int use) noexcept nogil:
    if use == UNUSED:
        return False
    if use == BY_TURNS:
        return load_int(&gate.tiny) != 0
    if use == ALONE:
        return load_int(&gate.alone) or load_int(&gate.inside)
    return load_int(&gate.alone) or (load_ptr(&gate.lonely.head) != NULL and load_int(&gate.welcome) == 0)

cdef bint enter_gate(int use, bint yields) noexcept nogil:
    cdef bint may
    if use == UNUSED:
        return True
    lock(&gate.lock, GATE_LOCK)
    if use == BY_TURNS:
        may = gate.tiny == 0 or not yields
    else:
        may = not gate_closed(use) if yields else not gate.alone and (use == SHARED or gate.inside == 0)
    if may and use == BY_TURNS:
        store_int(&gate.tiny, gate.tiny + 1)
    elif may and use == ALONE:
        store_int(&gate.alone, 1)
    elif may:
        store_int(&gate.inside, gate.inside + 1)
        if yields and gate.welcome:
            store_int(&gate.welcome, gate.welcome - 1)
    invariant(not (gate.alone and gate.inside), b"G1: nobody is inside beside one who is alone")
    unlock(&gate.lock)
    if may and use == SHARED:
        one_thread_each()
    return may

cdef void leave_gate(int use) noexcept nogil:
    if use == UNUSED:
        return
    if use == SHARED:
        threads_again()
    lock(&gate.lock, GATE_LOCK)
    if use == BY_TURNS:
        store_int(&gate.tiny, gate.tiny - 1)
    elif use == ALONE:
        store_int(&gate.alone, 0)
    else:
        store_int(&gate.inside, gate.inside - 1)
    invariant(gate.inside >= 0 and gate.tiny >= 0, b"who leaves the gate has entered it")
    unlock(&gate.lock)

cdef bint hold_back(Task* t, int use) noexcept nogil:
    lock(&gate.lock, GATE_LOCK)
    cdef bint closed = gate_closed(use)
    if closed:
        store_int(&t.state, IDLE)
        enqueue(&gate.turns if use == BY_TURNS else &gate.lonely if use == ALONE else &gate.sharing, t)
    unlock(&gate.lock)
    return closed

cdef Task* release_held_back() noexcept nogil:
    cdef Task* released = NULL
    cdef Task* t
    # Who held a task back while the caller was inside did so under the lock, before the caller left: it is seen.
    if load_ptr(&gate.sharing.head) == load_ptr(&gate.lonely.head) == load_ptr(&gate.turns.head) == NULL:
        return NULL
    lock(&gate.lock, GATE_LOCK)
    if not gate.alone:
        t = pop_taken(&gate.sharing)
        while t != NULL:
            t.next = released
            released = t
            store_int(&gate.welcome, gate.welcome + 1)
            t = pop_taken(&gate.sharing)
        if released == NULL and gate.inside == 0:
            store_int(&gate.welcome, 0)
            released = pop_taken(&gate.lonely)
            if released != NULL:
                released.next = NULL
    if gate.tiny == 0:
        t = pop_taken(&gate.turns)
        if t != NULL:
            t.next = released
            released = t
    unlock(&gate.lock)
    return released

cdef Task* take_held_back() noexcept nogil:
    cdef Task* t = pop_taken(&gate.sharing)
    if t == NULL:
        t = pop_taken(&gate.lonely)
    return t if t != NULL else pop_taken(&gate.turns)

cdef void gate_after_fork() noexcept:
    gate.lock = gate.inside = gate.alone = gate.tiny = gate.welcome = 0
    gate.sharing.lock = gate.lonely.lock = gate.turns.lock = 0
