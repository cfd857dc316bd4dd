/* Threads: their errors and states, as CPython has them; time; sleeping; where they run. */
#ifndef DFLOW_THREADS_H
#define DFLOW_THREADS_H

#include <Python.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "_base/cython.h"

/* Whether a loop has set an error in this thread, which may read its own indicator without the GIL. */
static inline int this_thread_raised(void) {
    PyThreadState *ts = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX >= 0x030C0000
    return ts && ts->current_exception;
#else
    return ts && ts->curexc_type;
#endif
}

/* For a loop: a MemoryError, which needs no memory, as NumPy's own loops set one. */
static inline void out_of_memory(void) {
    PyGILState_STATE before = PyGILState_Ensure();
    PyErr_NoMemory();
    PyGILState_Release(before);
}

/* The state of a thread that is not Python's, which loops find as their own; NULL: no memory. Needs no GIL. */
static inline PyThreadState *begin_thread_state(void) { return PyThreadState_New(PyInterpreterState_Main()); }
/* Needs the GIL, and gives it away. */
static inline void end_thread_state(void) {
    PyThreadState_Clear(PyThreadState_Get());
    PyThreadState_DeleteCurrent();
}

/* PyEval_RestoreThread(), which at the end of the process ends a daemon thread, and with it what lies on its stack:
 * then lost(arg) is called first. */
static inline void restore_thread(PyThreadState *ts, void (*lost)(void *), void *arg) {
    pthread_cleanup_push(lost, arg);
    PyEval_RestoreThread(ts);
    pthread_cleanup_pop(0);
}

static inline void sleep_ns(int64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
}

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* As top, perf and gdb show this thread: 15 letters at most. */
static inline void name_thread(const char *kind, int number, int worker) {
    char name[16];
    if (worker) snprintf(name, sizeof name, "dflow %s%d.%d", kind, number, worker);
    else snprintf(name, sizeof name, "dflow %s%d", kind, number);
#if defined(__APPLE__)
    pthread_setname_np(name);
#elif defined(__linux__) && defined(__USE_GNU)
    pthread_setname_np(pthread_self(), name);
#endif
}

/* A mutex and condition in one: what idle workers and blocked readers sleep on. */
typedef struct { pthread_mutex_t mutex; pthread_cond_t cond; } Bell;

static inline void bell_init(Bell *b) {
    pthread_condattr_t attr;
    pthread_mutex_init(&b->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&b->cond, &attr);
    pthread_condattr_destroy(&attr);
}
static inline void bell_lock(Bell *b) { pthread_mutex_lock(&b->mutex); }
static inline void bell_unlock(Bell *b) { pthread_mutex_unlock(&b->mutex); }
static inline void bell_wait(Bell *b) { pthread_cond_wait(&b->cond, &b->mutex); }
static inline void bell_wait_on(Bell *b, Bell *own) { pthread_cond_wait(&own->cond, &b->mutex); }
static inline void bell_ring_one(Bell *b) { pthread_cond_signal(&b->cond); }
static inline void bell_ring_all(Bell *b) { pthread_cond_broadcast(&b->cond); }
static inline void bell_wait_ns(Bell *b, int64_t ns) {
    int64_t until = now_ns() + ns;
    struct timespec t = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    pthread_cond_timedwait(&b->cond, &b->mutex, &t);
}

/* Where threads run. The kernel may start a thread that it wakes on the waker's own core, behind the waker, while
 * another core idles: milliseconds are lost. So a worker is woken on cores where no other worker runs, nor its waker if
 * it can be.
 */
#if defined(__linux__) && defined(__USE_GNU)
#include <sys/syscall.h>
typedef struct { cpu_set_t free; } Cores;
static inline int this_core(void) { return sched_getcpu(); }
static inline long this_thread(void) { return syscall(SYS_gettid); }
static cpu_set_t cores_allowed;                 /* to the process, when first asked; empty: the system does not say */
static inline void cores_ask(void) {
    if (sched_getaffinity(getpid(), sizeof cores_allowed, &cores_allowed)) CPU_ZERO(&cores_allowed);
}
static inline void cores_all(Cores *c) {
    static pthread_once_t asked = PTHREAD_ONCE_INIT;
    pthread_once(&asked, cores_ask);
    c->free = cores_allowed;
}
static inline void cores_without(Cores *c, int core) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(core, &c->free);
}
/* The core that the thread will run on, or the one it ran on when it has a choice. */
static inline int cores_place(Cores *c, long thread, int waker, int core) {
    cores_without(c, waker);
    if (!CPU_COUNT(&c->free)) cores_all(c);         /* the waker's would be taken, too, until that sleeps */
    if (CPU_COUNT(&c->free)) sched_setaffinity((pid_t)thread, sizeof c->free, &c->free);
    for (int i = 0; CPU_COUNT(&c->free) == 1 && i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &c->free)) return i;
    return core;
}
/* Anywhere again: what the thread starts, processes too, inherits where it may run. */
static inline void cores_release(long thread) {
    Cores c;
    cores_all(&c);
    if (CPU_COUNT(&c.free)) sched_setaffinity((pid_t)thread, sizeof c.free, &c.free);
}
static inline void cores_none(Cores *c) { CPU_ZERO(&c->free); }
static inline void cores_with(Cores *c, int core) { CPU_SET(core, &c->free); }
static inline void cores_keep(Cores *c, long thread) { sched_setaffinity((pid_t)thread, sizeof c->free, &c->free); }
#else
typedef struct { int unused; } Cores;
static inline void cores_none(Cores *c) { (void)c; }
static inline void cores_with(Cores *c, int core) { (void)c; (void)core; }
static inline void cores_keep(Cores *c, long thread) { (void)c; (void)thread; }
static inline void cores_release(long thread) { (void)thread; }
static inline int this_core(void) { return -1; }
static inline long this_thread(void) { return 0; }
static inline void cores_all(Cores *c) { (void)c; }
static inline void cores_without(Cores *c, int core) { (void)c; (void)core; }
static inline int cores_place(Cores *c, long thread, int waker, int core) {
    (void)c; (void)thread; (void)waker;
    return core;
}
#endif

#endif
