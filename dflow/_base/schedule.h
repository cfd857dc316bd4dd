/* Marked points, for the seeded scheduler of tests/schedule: debug builds on Linux only, nothing elsewhere.
 *
 * Under it one thread of the process runs at a time: the one that has the token. Wherever another one might run, now or
 * with an effect that matters, the owner of the token comes to a point, and one random generator decides who goes on;
 * so one seed is one interleaving. There are two kinds of points:
 *
 *   - what blocks, wakes, sleeps, or asks for the time. All of it, Python's and NumPy's too, goes through a dozen
 *     functions of the C library: tests/schedule/preload.c, loaded before it, has them;
 *   - the engine's atomics and spin locks, which this file wraps. It comes last in _base/atomics.h, and keeps each
 *     operation as it is.
 *
 * Without that library loaded, schedule_point is NULL.
 *
 * A thread is RUNNABLE (the owner of the token is one of these), BLOCKED on an address, until a time, or both, or DONE.
 * What must hold:
 *   S1  only the owner runs code of the program; only it changes the table of threads, the clock and the generator;
 *   S2  the token is handed on by its owner only, at a point: before it waits, when it ends, or as the generator
 *       chooses;
 *   S3  what a BLOCKED thread waits for is retried when it runs again, and whoever makes it come true makes it
 *       RUNNABLE;
 *   S4  time is a count: it grows at points, and jumps to the next deadline where nobody is RUNNABLE. Without a
 *       deadline that is a deadlock.
 *
 * Interleaving alone shows no missing fence: each load would see the latest store. So a load may be given what its
 * operand held earlier (schedule_stale), if its thread has stored something since its last fence or locked operation:
 * as if that store were still in the thread's store buffer. That is what x86 allows, and it is among what C allows.
 */
#ifndef DFLOW_SCHEDULE_H
#define DFLOW_SCHEDULE_H

enum { POINT_READ, POINT_WRITE, POINT_CHANGE, POINT_FENCE, POINT_PAUSE, POINT_LOCK, POINT_UNLOCK, POINT_CALL };

#if DFLOW_DEBUG && defined(__linux__)

extern void schedule_point(int kind, const void *p, int size, const char *where) __attribute__((weak));
extern void schedule_stale(const void *p, int size, void *value) __attribute__((weak));
extern void schedule_block(const void *p, const char *where) __attribute__((weak));       /* until the next line */
extern void schedule_wake(const void *p) __attribute__((weak));

#define AT(kind, p, where) do { if (schedule_point) schedule_point(kind, p, sizeof *(p), where); } while (0)

#define SCHEDULED(type, suffix)                                                     \
    static inline type at_load_##suffix(type *p, const char *where) {               \
        AT(POINT_READ, p, where);                                                   \
        type value = load_##suffix(p);                                              \
        if (schedule_stale) schedule_stale(p, sizeof value, &value);                \
        return value;                                                               \
    }                                                                               \
    static inline void at_store_##suffix(type *p, type value, const char *where) {  \
        AT(POINT_WRITE, p, where);                                                  \
        store_##suffix(p, value);                                                   \
    }
SCHEDULED(int, int)
SCHEDULED(long long, i64)
typedef void *address_t;
SCHEDULED(address_t, ptr)
#undef SCHEDULED

static inline int at_add_int(int *p, int v, const char *where) { AT(POINT_CHANGE, p, where); return add_int(p, v); }
static inline int at_or_int(int *p, int v, const char *where) { AT(POINT_CHANGE, p, where); return or_int(p, v); }
static inline int at_swap_int(int *p, int v, const char *where) { AT(POINT_CHANGE, p, where); return swap_int(p, v); }
static inline int at_cas_int(int *p, int old, int v, const char *where) {
    AT(POINT_CHANGE, p, where);
    return cas_int(p, old, v);
}
static inline int at_cas_i64(long long *p, long long old, long long v, const char *where) {
    AT(POINT_CHANGE, p, where);
    return cas_i64(p, old, v);
}
static inline long long at_add_i64(long long *p, long long v, const char *where) {
    AT(POINT_CHANGE, p, where);
    return add_i64(p, v);
}
static inline void *at_swap_ptr(void *p, void *v, const char *where) {
    AT(POINT_CHANGE, (void **)p, where);
    return swap_ptr(p, v);
}
static inline int at_cas_ptr(void *p, void *old, void *v, const char *where) {
    AT(POINT_CHANGE, (void **)p, where);
    return cas_ptr(p, old, v);
}
static inline void at_full_fence(const char *where) {
    AT(POINT_FENCE, &where, where);
    full_fence();
}
static inline void at_cpu_pause(const char *where) {
    AT(POINT_PAUSE, &where, where);
    cpu_pause();
}
static inline void at_cpu_pause_or_yield(int n, const char *where) {
    AT(POINT_PAUSE, &where, where);
    cpu_pause_or_yield(n);
}
static inline int at_spin_trylock(int *lock, const char *where) {
    AT(POINT_LOCK, lock, where);
    return spin_trylock(lock);
}
static inline void at_spin_lock(int *lock, const char *where) {
    if (schedule_block) {
        AT(POINT_LOCK, lock, where);
        while (!spin_trylock(lock)) schedule_block(lock, where);
    } else {
        spin_lock(lock);
    }
}
static inline void at_spin_unlock(int *lock, const char *where) {
    AT(POINT_UNLOCK, lock, where);
    spin_unlock(lock);
    if (schedule_wake) schedule_wake(lock);
}

#undef load_int
#undef load_i64
#undef load_ptr
#undef store_int
#undef store_i64
#undef store_ptr
#undef add_int
#undef or_int
#undef swap_int
#undef add_i64
#undef swap_ptr
#undef full_fence
#define load_int(p) at_load_int((int *)(p), __func__)
#define load_i64(p) at_load_i64((long long *)(p), __func__)
#define load_ptr(p) at_load_ptr((void **)(p), __func__)
#define store_int(p, v) at_store_int((int *)(p), v, __func__)
#define store_i64(p, v) at_store_i64((long long *)(p), v, __func__)
#define store_ptr(p, v) at_store_ptr((void **)(p), (void *)(v), __func__)
#define add_int(p, v) at_add_int((int *)(p), v, __func__)
#define or_int(p, v) at_or_int((int *)(p), v, __func__)
#define swap_int(p, v) at_swap_int((int *)(p), v, __func__)
#define add_i64(p, v) at_add_i64((long long *)(p), v, __func__)
#define swap_ptr(p, v) at_swap_ptr(p, (void *)(v), __func__)
#define full_fence() at_full_fence(__func__)
#define cas_int(p, old, v) at_cas_int((int *)(p), old, v, __func__)
#define cas_i64(p, old, v) at_cas_i64((long long *)(p), old, v, __func__)
#define cas_ptr(p, old, v) at_cas_ptr(p, old, v, __func__)
#define cpu_pause() at_cpu_pause(__func__)
#define cpu_pause_or_yield(n) at_cpu_pause_or_yield(n, __func__)
#define spin_lock(lock) at_spin_lock(lock, __func__)
#define spin_trylock(lock) at_spin_trylock(lock, __func__)
#define spin_unlock(lock) at_spin_unlock(lock, __func__)

#endif
#endif
