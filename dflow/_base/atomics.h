/* Atomics and a spin lock.
 *
 * Which order of memory an atomic has, its name says:
 *
 *     load, store, add, cas, swap      of ints and pointers: acquire and release. What was written before the store is
 *                                      seen after the load that finds it
 *     load_i64, store_i64, load_double, store_double, glance_int, hint_int
 *                                      relaxed: counts, estimates, and glances at what only a lock decides about. Who
 *                                      acts on one loses no more than time when it is old, or looks again under the
 *                                      lock
 *     publish_i64, add_i64; collect_i64    of counts that say that something is done: release; acquire
 *
 * A store that must come before a load of something else (I have pushed; does anybody sleep?) has full_fence() between
 * the two, or is a swap_int() before a load_int_after(). Such a fence orders; it publishes nothing. `make tsan` checks
 * the rest.
 */
#ifndef DFLOW_ATOMICS_H
#define DFLOW_ATOMICS_H

#include <Python.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "_base/cython.h"

#ifndef DFLOW_DEBUG
#define DFLOW_DEBUG 0
#endif
#ifndef DFLOW_PLAIN_MALLOC        /* AddressSanitizer wants to see each allocation */
#define DFLOW_PLAIN_MALLOC 0
#endif

/* What ThreadSanitizer cannot see by itself: what NumPy's loops read and write; and that memory which a pool gets back
 * is no longer anybody's, so that a late reader races with who gave it back. */
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
    do { \
        if (DFLOW_DEBUG && !(condition)) { fprintf(stderr, "dflow invariant broken: %s\n", text); abort(); } \
    } while (0)

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

static inline int cas_i64(long long *p, long long expected, long long desired) {
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

/* A turn of a loop that waits for another thread, which may have been preempted: the nth. */
static inline void cpu_pause_or_yield(int n) {
    if (n < 100) cpu_pause();
    else sched_yield();
}

/* See _base/locks.pxd, by which the engine takes them. */
static inline void spin_lock(int *lock) {
    for (int n = 0; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); n++) {
        while (__atomic_load_n(lock, __ATOMIC_RELAXED)) cpu_pause_or_yield(++n);
    }
}

static inline int spin_trylock(int *lock) { return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); }
static inline void spin_unlock(int *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

#include "_base/schedule.h"

#endif
