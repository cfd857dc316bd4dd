/* Atomics, a spin lock, floating point flags and version-dependent corners of CPython.
 *
 * Which order of memory an atomic has, its name says:
 *
 *     load, store, add, cas, swap      of ints and pointers: acquire and release. What was written before the store is seen
 *                                      after the load that finds it
 *     load_i64, store_i64, load_double, store_double, glance_int, hint_int
 *                                      relaxed: counts, estimates, and glances at what only a lock decides about. Who acts on
 *                                      one loses no more than time when it is old, or looks again under the lock
 *     publish_i64, add_i64; collect_i64    of counts that say that something is done: release; acquire
 *
 * A store that must come before a load of something else (I have pushed; does anybody sleep?) has full_fence() between the two,
 * or is a swap_int() before a load_int_after(). Such a fence orders; it publishes nothing. `make tsan` checks the rest.
 */
#ifndef DFLOW_SYNC_H
#define DFLOW_SYNC_H

#include <Python.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "_base/cython.h"

#ifndef DFLOW_DEBUG
#define DFLOW_DEBUG 0
#endif
#ifndef DFLOW_PLAIN_MALLOC        /* AddressSanitizer wants to see each allocation */
#define DFLOW_PLAIN_MALLOC 0
#endif

/* What ThreadSanitizer cannot see by itself: what NumPy's loops read and write; and that memory which a pool gets back is no
 * longer anybody's, so that a late reader races with who gave it back. */
#ifdef __SANITIZE_THREAD__
#define DFLOW_TSAN 1
void __tsan_read_range(void *, unsigned long);
void __tsan_write_range(void *, unsigned long);
#define told(p, n, write) ((write) ? __tsan_write_range((p), (n)) : __tsan_read_range((p), (n)))
#define given_back(p, n) __tsan_write_range((p), (n) < 1024 ? (n) : 1024)
#else
#define DFLOW_TSAN 0
#define told(p, n, write) ((void)0)
#define given_back(p, n) ((void)0)
#endif

/* What must hold, or the engine is broken: the debug build stops. */
#define invariant(condition, text) \
    do { if (DFLOW_DEBUG && !(condition)) { fprintf(stderr, "dflow invariant broken: %s\n", text); abort(); } } while (0)

#define load_int(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define load_int_after(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define store_int(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define glance_int(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define hint_int(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define add_int(p, v) __atomic_add_fetch((p), (v), __ATOMIC_ACQ_REL)
#define or_int(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define swap_int(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define load_ptr(p) ((void *)__atomic_load_n((void **)(p), __ATOMIC_ACQUIRE))
#define store_ptr(p, v) __atomic_store_n((void **)(p), (void *)(v), __ATOMIC_RELEASE)
#define swap_ptr(p, v) ((void *)__atomic_exchange_n((void **)(p), (void *)(v), __ATOMIC_ACQ_REL))
#define load_i64(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define store_i64(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define add_i64(p, v) __atomic_add_fetch((p), (v), __ATOMIC_RELEASE)
#define publish_i64(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define collect_i64(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define full_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)

static inline double load_double(double *p) { double v; __atomic_load(p, &v, __ATOMIC_RELAXED); return v; }
static inline void store_double(double *p, double v) { __atomic_store(p, &v, __ATOMIC_RELAXED); }

static inline int cas_int(int *p, int expected, int desired) {
    return __atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline int cas_ptr(void *p, void *expected, void *desired) {
    return __atomic_compare_exchange_n((void **)p, &expected, desired, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline void cpu_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A lock held for tens of nanoseconds and never across a call that can block. */
static inline void spin_lock(int *lock) {
    for (int n = 0; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); n++) {
        while (__atomic_load_n(lock, __ATOMIC_RELAXED)) {
            if (++n < 100) cpu_pause();
            else sched_yield();            /* its holder may have been preempted */
        }
    }
}

static inline int spin_trylock(int *lock) { return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); }
static inline void spin_unlock(int *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

/* Floating point flags, numbered as NumPy numbers them. */
enum { FP_DIVIDE = 1, FP_OVER = 2, FP_UNDER = 4, FP_INVALID = 8 };

#if defined(__x86_64__)
static inline int fp_raw(void) {
    unsigned int csr = __builtin_ia32_stmxcsr();
    unsigned short x87;                    /* longdouble arithmetic, and glibc's feraiseexcept(FE_OVERFLOW) */
    __asm__ volatile("fnstsw %0" : "=am"(x87));
    return (csr | x87) & 0x1d;             /* invalid 1, divide 4, overflow 8, underflow 16 */
}
static inline int fp_flags(void) {
    int raw = fp_raw();
    if (__builtin_expect(raw == 0, 1)) return 0;
    return (raw & 4 ? FP_DIVIDE : 0) | (raw & 8 ? FP_OVER : 0) | (raw & 16 ? FP_UNDER : 0) | (raw & 1 ? FP_INVALID : 0);
}
static inline void fp_clear(void) {
    if (fp_raw()) feclearexcept(FE_ALL_EXCEPT);
}
#else
static inline int fp_flags(void) {
    int raw = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    if (raw == 0) return 0;
    return (raw & FE_DIVBYZERO ? FP_DIVIDE : 0) | (raw & FE_OVERFLOW ? FP_OVER : 0) |
           (raw & FE_UNDERFLOW ? FP_UNDER : 0) | (raw & FE_INVALID ? FP_INVALID : 0);
}
static inline void fp_clear(void) { feclearexcept(FE_ALL_EXCEPT); }
#endif

static inline void fp_raise(int flags) {
    int raw = (flags & FP_DIVIDE ? FE_DIVBYZERO : 0) | (flags & FP_OVER ? FE_OVERFLOW : 0) |
              (flags & FP_UNDER ? FE_UNDERFLOW : 0) | (flags & FP_INVALID ? FE_INVALID : 0);
    if (raw) feraiseexcept(raw);
}

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

static inline void sleep_ns(int64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
}

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
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

/* Where threads run. The kernel may start a thread that it wakes on the waker's own core, behind the waker, while another
 * core idles: milliseconds are lost. So a worker is woken on cores where no other worker runs, nor its waker if it can be.
 */
#if defined(__linux__) && defined(__USE_GNU)
#include <sys/syscall.h>
typedef struct { cpu_set_t free; } Cores;
static inline int this_core(void) { return sched_getcpu(); }
static inline long this_thread(void) { return syscall(SYS_gettid); }
static cpu_set_t cores_allowed;                     /* to the process, when first asked; empty: the system does not say */
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
    Cores rest = *c;
    cores_without(&rest, waker);
    if (CPU_COUNT(&rest.free)) *c = rest;
    else if (!CPU_COUNT(&c->free)) cores_all(c);    /* more workers than cores */
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
static inline int cores_place(Cores *c, long thread, int waker, int core) { (void)c; (void)thread; (void)waker; return core; }
#endif

#include "_base/schedule.h"

#endif
