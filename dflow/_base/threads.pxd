"""Threads: their errors and states, as CPython has them; time; sleeping; where they run."""

from cpython.pystate cimport PyThreadState

cdef extern from "_base/threads.h" nogil:
    void out_of_memory()                            # a loop that MAY_RAISE says so
    bint this_thread_raised()                       # its error indicator is set; needs no GIL
    PyThreadState* begin_thread_state()
    void end_thread_state()
    void restore_thread(PyThreadState*, void (*)(void*) noexcept nogil, void*)
    void sleep_ns(long long)
    int sched_yield()
    long long now_ns()
    ctypedef struct Bell:
        pass
    void bell_init(Bell*)
    void bell_lock(Bell*)
    void bell_unlock(Bell*)
    void bell_wait(Bell*)
    void bell_wait_ns(Bell*, long long)
    void bell_wait_on(Bell*, Bell*)
    void bell_ring_one(Bell*)
    void bell_ring_all(Bell*)
    ctypedef struct Cores:
        pass
    int this_core()
    long this_thread()
    void name_thread(const char*, int, int)
    void cores_all(Cores*)
    void cores_none(Cores*)
    void cores_with(Cores*, int)
    void cores_without(Cores*, int)
    int cores_place(Cores*, long, int, int)
    void cores_keep(Cores*, long)
    void cores_release(long)
