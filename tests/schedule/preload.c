/* The seeded scheduler: see dflow/_base/schedule.h for what it promises. Loaded before the C library, whose blocking
 * functions it replaces; it does nothing until schedule_begin(), which is called while the process has one thread.
 *
 * Two policies, drawn from the seed. A walk hands the token on at each point with some probability, to anybody. PCT
 * (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", 2010) gives threads
 * random priorities, and always runs the highest; at a few random points the running one becomes the lowest. Who waits
 * in a loop becomes the lowest, too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "../../dflow/_base/schedule.h"

#define EXPORT __attribute__((visibility("default")))
#define REAL(name) ({ static __typeof__(name) *real; if (!real) real = find(#name); real; })
#define MONOTONIC_BASE 1000000000000LL          /* what the clocks say at the beginning */
#define REALTIME_BASE 1700000000000000000LL
#define NEVER INT64_MAX
#define SLICE 20000000LL                        /* who sleeps on a bell for longer than that hoped to be woken */
#define PATIENCE 10000000LL                     /* a thread is kept from its core for as long at most: longer than the
                                                   GIL is kept */
#define GLANCE 20000LL                          /* between looks at descriptors */
#define LATE 16                                 /* one store of so many comes late: its thread is preempted before it */
#define DESTRUCTIONS 4                          /* rounds that a thread's destructors get */
#define MOST 20000000                           /* points of a run: a hundred times what one needs */
#define TURN 200000                             /* points after which a thread gives way, whatever its priority */

enum { MAX_THREADS = 512, WRITES = 256 };
enum { RUNNABLE, BLOCKED, DONE };
enum { WAIT = POINT_CALL + 1, WAKE, SLEEP, SWITCH, SIGNAL, JUMP, STALL, STALE };     /* in the trace */
enum { RUNNING, DEADLOCK, ENDLESS, ENDED };

typedef struct {
    int state, woken;               /* woken: 0, ETIMEDOUT or EINTR */
    int kind;                       /* SLEEP: by its own wish; WAIT: for something; POINT_CALL: for that, on a bell */
    int go;                         /* futex: it has been handed the token */
    const void *on;                 /* what it waits for */
    const char *where;              /* its last point */
    int64_t since, until;
    int64_t priority;
    uint64_t floor, stored;         /* points: its loads may not be from before; of its last store */
    pthread_t handle;
    void *(*start)(void *);
    void *arg;
    int rounds;                     /* of destructors */
} Thread;

typedef struct { uint32_t step; uint16_t thread; uint16_t kind; const char *where; const void *p; } Event;

typedef struct {                    /* shared with the process that reads it: tests/schedule/token.py */
    uint64_t hash, steps, switches, jumps, stalls, stale, signals;
    int64_t now;
    int32_t state, threads, policy, weak, period, tick;
    uint64_t size, events;          /* of the ring */
    struct { int32_t state, kind; const char *where; const void *on; int64_t until; } at[MAX_THREADS];
    Event ring[];
} Report;

typedef struct { uint64_t step, value; const void *p; int thread, size; } Write;

static int on;
static __thread int self;           /* number in `threads`, plus one; 0: not ours */
static Thread threads[MAX_THREADS];
static int nthreads;
static Report *report, *of_children;
static uint64_t state;              /* of the generator */
static int pct, weak, period, tick, dirty, turn;
static int64_t now, next_deadline, lowest;
static int signal_number;
static uint64_t signal_period, signals_left;
static pthread_key_t ending;
static pid_t leaving;               /* has handed the token on for good, and still gives its memory back */
static Write writes[WRITES];
static uint64_t nwrites;

static void *find(const char *name) {
    void *p = strncmp(name, "pthread_cond", 12) ? NULL : dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return p ? p : dlsym(RTLD_NEXT, name);
}

static inline int here(void) { return on && self; }

static inline uint64_t draw(void) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return state * 2685821657736338717ULL;
}

static void log_event(int thread, int kind, const char *where, const void *p) {
    Report *r = report;
    r->hash = (r->hash ^ (uint64_t)(thread << 8 | kind)) * 1099511628211ULL;
    r->ring[r->events++ % r->size] = (Event){(uint32_t)r->steps, (uint16_t)thread, (uint16_t)kind, where, p};
}

/* ---- the token ---- */

static void show_threads(void) {
    report->now = now;
    report->threads = nthreads;
    for (int i = 0; i < nthreads; i++) {
        Thread *t = &threads[i];
        report->at[i].state = t->state, report->at[i].kind = t->kind, report->at[i].where = t->where;
        report->at[i].on = t->on, report->at[i].until = t->until;
    }
}

static void give_up(int why) {
    report->state = why;
    show_threads();
    on = 0;
    abort();
}

static void wake(Thread *t, int why) {
    t->state = RUNNABLE;
    t->woken = why;
    if (pct) t->priority = (int64_t)(draw() >> 2);
    dirty = 1;
}

/* Those whose time has come; when the next one's comes. */
static void pass_deadlines(void) {
    next_deadline = NEVER;
    for (int i = 0; i < nthreads; i++) {
        Thread *t = &threads[i];
        if (t->state != BLOCKED) continue;
        if (t->until <= now) wake(t, ETIMEDOUT);
        else if (t->until < next_deadline) next_deadline = t->until;
    }
}

/* Nobody is runnable: time passes. If all hoped to be woken, that is where a wake-up may have been lost. */
static void jump(void) {
    int sleeps = 0, slice = 0;
    for (int i = 0; i < nthreads; i++) {
        Thread *t = &threads[i];
        if (t->state != BLOCKED) continue;
        sleeps |= t->kind == SLEEP;
        slice |= t->until == next_deadline && t->kind == POINT_CALL && t->until - t->since > SLICE;
    }
    if (next_deadline == NEVER) give_up(DEADLOCK);
    if (slice && !sleeps) {
        if (!report->stalls++) show_threads();
        log_event(0, STALL, "nobody was woken", NULL);
    }
    report->jumps++;
    now = next_deadline;
    pass_deadlines();
}

/* Who goes on. me: who asks, of whom kind is the point. */
static int pick(int me, int kind) {
    int choice[MAX_THREADS], n = 0, best = -1;
    if (now >= next_deadline) pass_deadlines();
    for (;;) {
        for (int i = n = 0; i < nthreads; i++)
            if (threads[i].state == RUNNABLE) choice[n++] = i;
        if (n) break;
        jump();
    }
    dirty = 0;
    if (pct) {
        for (int i = 0; i < n; i++)
            if (best < 0 || threads[choice[i]].priority > threads[best].priority) best = choice[i];
        return best;
    }
    do best = choice[draw() % n];
    while (best == me && kind == POINT_PAUSE && n > 1);
    return best;
}

static void hand_to(int next) {
    Thread *t = &threads[next];
    report->switches++;
    turn = 0;
    log_event(next, SWITCH, "", NULL);
    __atomic_store_n(&t->go, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &t->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await_token(Thread *t) {
    while (!__atomic_load_n(&t->go, __ATOMIC_ACQUIRE)) syscall(SYS_futex, &t->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    t->go = 0;
    int before = errno;     // readdir(), for one, tells its end from an error by it alone
    while (leaving && syscall(SYS_tgkill, getpid(), leaving, 0) == 0) REAL(sched_yield)();
    errno = before;
    leaving = 0;
}

static void go_on(int kind) {
    int me = self - 1, next = pick(me, kind);
    if (next != me) {
        hand_to(next);
        await_token(&threads[me]);
    }
}

static void deliver(void) {
    signals_left--;
    report->signals++;
    log_event(self - 1, SIGNAL, "", NULL);
    raise(signal_number);
    if (threads[0].state == BLOCKED && threads[0].kind != POINT_CALL) wake(&threads[0], EINTR);
}

static void step(int kind, const void *p, const char *where) {
    Thread *t = &threads[self - 1];
    uint64_t r = draw();
    if (++report->steps > MOST) give_up(ENDLESS);
    now += kind == POINT_PAUSE ? 8 * tick : tick;
    t->where = where;
    log_event(self - 1, kind, where, p);
    if (signals_left && (r >> 20) % signal_period == 0) deliver();
    int change = (uint32_t)r % (uint32_t)period == 0 || (weak && kind == POINT_WRITE && (r >> 16) % LATE == 0);
    if (change || (r >> 52) == 0) {                                    /* the system keeps it from its core for long, */
        if (r >> 32 & 1) now += 1LL << (6 + (r >> 40) % 18);
        else if (r >> 33 & 1 && next_deadline < now + PATIENCE) now = next_deadline;    /* or until a deadline */
    }
    if (now >= next_deadline) pass_deadlines();
    change |= kind == POINT_PAUSE || ++turn > TURN;
    if (change && pct) t->priority = --lowest;
    if (change || (pct && dirty)) go_on(turn > TURN ? POINT_PAUSE : kind);
}

/* Until someone wakes those who wait for p, or a time: why it was woken. */
static int block(const void *p, int64_t until, int kind, const char *where) {
    Thread *t = &threads[self - 1];
    log_event(self - 1, kind == SLEEP ? SLEEP : WAIT, where, p);
    t->state = BLOCKED, t->on = p, t->until = until, t->since = now, t->kind = kind, t->where = where;
    if (until < next_deadline) next_deadline = until;
    go_on(WAIT);
    t->on = NULL, t->until = NEVER;
    t->floor = report->steps;
    return t->woken;
}

static void wake_all(const void *p) {
    for (int i = 0; i < nthreads; i++)
        if (threads[i].state == BLOCKED && threads[i].on == p) wake(&threads[i], 0);
}

static void wake_one(const void *p) {
    int choice[MAX_THREADS], n = 0;
    for (int i = 0; i < nthreads; i++)
        if (threads[i].state == BLOCKED && threads[i].on == p) choice[n++] = i;
    if (n) wake(&threads[choice[draw() % n]], 0);
}

/* ---- marked points ---- */

static uint64_t value_at(const void *p, int size) {
    return size == 8 ? *(const uint64_t *)p : size == 4 ? *(const uint32_t *)p : 0;
}

EXPORT void schedule_point(int kind, const void *p, int size, const char *where) {
    if (!here()) return;
    step(kind, p, where);
    Thread *t = &threads[self - 1];
    if (kind == POINT_WRITE || kind == POINT_CHANGE || kind == POINT_UNLOCK || kind == POINT_LOCK)
        writes[nwrites++ % WRITES] = (Write){report->steps, value_at(p, size), p, self, size};
    if (kind == POINT_WRITE || kind == POINT_UNLOCK) t->stored = report->steps;
    if (kind == POINT_CHANGE || kind == POINT_FENCE || kind == POINT_LOCK) t->floor = report->steps;
}

/* Perhaps replaces what was loaded from p by what it was before another thread's later write: see _base/schedule.h. */
EXPORT void schedule_stale(const void *p, int size, void *value) {
    Write *found[WRITES];
    int n = 0;
    if (!here() || !weak) return;
    Thread *t = &threads[self - 1];
    if (t->stored <= t->floor) return;
    for (uint64_t i = nwrites; i-- > 0 && nwrites - i <= WRITES;) {
        Write *w = &writes[i % WRITES];
        if (w->step <= t->floor) break;
        if (w->p != p) continue;
        if (w->thread == self || w->size != size) break;
        found[n++] = w;                             /* the latest first */
    }
    if (!n) return;
    uint64_t choice = draw() % (2 * n);
    if (choice >= (uint64_t)n) {                    /* what it is now: later loads are not from before */
        t->floor = found[0]->step;
        return;
    }
    if (choice + 1 < (uint64_t)n) t->floor = found[choice + 1]->step;
    memcpy(value, &found[choice]->value, size);
    report->stale++;
    log_event(self - 1, STALE, t->where, p);
}

EXPORT void schedule_block(const void *p, const char *where) {
    if (here()) block(p, NEVER, WAIT, where);
    else REAL(sched_yield)();
}

EXPORT void schedule_wake(const void *p) {
    if (here()) wake_all(p);
}

/* ---- for the runner ---- */

static void start_thread(int i) {
    threads[i] = (Thread){.state = RUNNABLE, .until = NEVER, .priority = (int64_t)(draw() >> 2)};
}

/* policy: 0: as the seed says; 1: walk; 2: PCT. */
EXPORT void schedule_begin(uint64_t seed, int policy, Report *shared, Report *of_forks) {
    static const int ticks[] = {20, 100, 400, 2000};
    report = shared, of_children = of_forks;
    state = (seed + 1) * 0x9E3779B97F4A7C15ULL;
    for (int i = 0; i < 8; i++) draw();
    pct = policy ? policy == 2 : draw() % 3 > 0;
    weak = draw() % 2;
    period = 1 << (pct ? 2 + draw() % 11 : draw() % 8);
    tick = ticks[draw() % 4];
    now = lowest = 0, nthreads = 1, nwrites = 0;
    next_deadline = NEVER;
    report->state = RUNNING, report->hash = 14695981039346656037ULL;
    report->policy = pct, report->weak = weak, report->period = period, report->tick = tick;
    start_thread(0);
    self = on = 1;
}

EXPORT void schedule_end(void) {
    report->state = ENDED;
    show_threads();
    on = 0;
}

/* Raise a signal so many times, about every so many points. */
EXPORT void schedule_signals(int number, uint64_t times, uint64_t points) {
    signal_number = number, signal_period = points, signals_left = times;
}

EXPORT uint64_t schedule_draw(void) { return draw(); }

/* ---- threads ---- */

static void end_thread(void *arg) {
    Thread *t = arg;
    if (!here()) return;
    if (++t->rounds < DESTRUCTIONS) {      /* after all others */
        pthread_setspecific(ending, t);
        return;
    }
    t->state = DONE;
    wake_all(t);
    leaving = (pid_t)syscall(SYS_gettid);
    hand_to(pick(-1, POINT_CALL));
    self = 0;
}

static void *run_thread(void *arg) {
    Thread *t = arg;
    self = (int)(t - threads) + 1;
    await_token(t);
    pthread_setspecific(ending, t);
    return t->start(t->arg);
}

EXPORT int pthread_create(pthread_t *handle, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
    if (!here()) return REAL(pthread_create)(handle, attr, start, arg);
    if (!ending) pthread_key_create(&ending, end_thread);
    int i = nthreads;
    if (i == MAX_THREADS) return EAGAIN;
    start_thread(i);
    threads[i].start = start, threads[i].arg = arg, threads[i].where = "start";
    int failed = REAL(pthread_create)(handle, attr, run_thread, &threads[i]);
    if (failed) return failed;
    for (int k = 0; k < nthreads; k++)
        if (threads[k].handle == *handle) threads[k].handle = 0;            /* one that is gone */
    threads[i].handle = *handle;
    nthreads++;
    dirty = 1;
    step(POINT_CALL, NULL, "pthread_create");
    return 0;
}

static int64_t deadline(const struct timespec *t) {
    int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
    return ns - (ns > REALTIME_BASE / 2 ? REALTIME_BASE : MONOTONIC_BASE);
}

static int join(pthread_t handle, void **result, int64_t until, const char *where) {
    Thread *t = NULL;
    step(POINT_CALL, NULL, where);
    for (int i = 0; i < nthreads; i++)
        if (threads[i].handle == handle) t = &threads[i];
    if (t == NULL) return ESRCH;
    while (t->state != DONE)
        if (block(t, until, WAIT, where) == ETIMEDOUT) return ETIMEDOUT;
    t->handle = 0;
    return REAL(pthread_join)(handle, result);
}

EXPORT int pthread_join(pthread_t handle, void **result) {
    return here() ? join(handle, result, NEVER, "pthread_join") : REAL(pthread_join)(handle, result);
}

EXPORT int pthread_timedjoin_np(pthread_t handle, void **result, const struct timespec *t) {
    return here() ? join(handle, result, deadline(t), "pthread_timedjoin")
        : REAL(pthread_timedjoin_np)(handle, result, t);
}

/* A child has the thread that forked, and a report and an interleaving of its own. */
EXPORT pid_t fork(void) {
    if (here()) step(POINT_CALL, NULL, "fork");
    pid_t child = REAL(fork)();
    if (child == 0 && here()) {
        for (int i = 0; i < nthreads; i++)
            if (i != self - 1) threads[i].state = DONE;
        report = of_children;
        report->hash = state += 0x9E3779B97F4A7C15ULL;
        report->state = RUNNING;
        threads[self - 1].stored = threads[self - 1].floor = report->steps; /* a fork is a fence; steps are others */
        nwrites = 0;
        next_deadline = NEVER;
        signals_left = 0;
    }
    return child;
}

/* ---- locks: the real ones, which never block, as their holders are asked before ---- */

#define LOCKING(name, type, attempt)                                                        \
    EXPORT int name(type *lock) {                                                           \
        if (!here()) return REAL(name)(lock);                                               \
        step(POINT_LOCK, lock, #name);                                                      \
        int failed;                                                                         \
        while ((failed = REAL(attempt)(lock)) == EBUSY) block(lock, NEVER, WAIT, #name);    \
        threads[self - 1].floor = report->steps;                                            \
        return failed;                                                                      \
    }
#define TRYING(name, type)                          \
    EXPORT int name(type *lock) {                   \
        if (here()) step(POINT_LOCK, lock, #name);  \
        return REAL(name)(lock);                    \
    }
#define UNLOCKING(name, type)                   \
    EXPORT int name(type *lock) {               \
        int failed = REAL(name)(lock);          \
        if (here()) {                           \
            wake_all(lock);                     \
            step(POINT_UNLOCK, lock, #name);    \
        }                                       \
        return failed;                          \
    }

LOCKING(pthread_mutex_lock, pthread_mutex_t, pthread_mutex_trylock)
TRYING(pthread_mutex_trylock, pthread_mutex_t)
UNLOCKING(pthread_mutex_unlock, pthread_mutex_t)
LOCKING(pthread_rwlock_rdlock, pthread_rwlock_t, pthread_rwlock_tryrdlock)
LOCKING(pthread_rwlock_wrlock, pthread_rwlock_t, pthread_rwlock_trywrlock)
TRYING(pthread_rwlock_tryrdlock, pthread_rwlock_t)
TRYING(pthread_rwlock_trywrlock, pthread_rwlock_t)
UNLOCKING(pthread_rwlock_unlock, pthread_rwlock_t)

/* ---- conditions, which are but addresses ---- */

static int wait_on(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until) {
    REAL(pthread_mutex_unlock)(mutex);
    wake_all(mutex);
    int why = block(cond, until, POINT_CALL, "pthread_cond_wait");
    while (REAL(pthread_mutex_trylock)(mutex) == EBUSY) block(mutex, NEVER, WAIT, "pthread_cond_wait");
    return why;
}

EXPORT int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    return here() ? wait_on(cond, mutex, NEVER) : REAL(pthread_cond_wait)(cond, mutex);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *t) {
    return here() ? wait_on(cond, mutex, deadline(t)) : REAL(pthread_cond_timedwait)(cond, mutex, t);
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond) {
    if (!here()) return REAL(pthread_cond_signal)(cond);
    wake_one(cond);
    step(POINT_CALL, cond, "pthread_cond_signal");
    return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond) {
    if (!here()) return REAL(pthread_cond_broadcast)(cond);
    wake_all(cond);
    step(POINT_CALL, cond, "pthread_cond_broadcast");
    return 0;
}

/* ---- semaphores: Python's locks ---- */

static int take_semaphore(sem_t *sem, int64_t until) {
    step(POINT_LOCK, sem, "sem_wait");
    while (REAL(sem_trywait)(sem)) {
        int why = block(sem, until, WAIT, "sem_wait");
        if (why == ETIMEDOUT && REAL(sem_trywait)(sem) == 0) break;
        if (why) {
            errno = why;
            return -1;
        }
    }
    threads[self - 1].floor = report->steps;
    return 0;
}

EXPORT int sem_wait(sem_t *sem) { return here() ? take_semaphore(sem, NEVER) : REAL(sem_wait)(sem); }

EXPORT int sem_timedwait(sem_t *sem, const struct timespec *t) {
    return here() ? take_semaphore(sem, deadline(t)) : REAL(sem_timedwait)(sem, t);
}

EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *t) {
    return here() ? take_semaphore(sem, deadline(t)) : REAL(sem_clockwait)(sem, clock, t);
}

TRYING(sem_trywait, sem_t)
UNLOCKING(sem_post, sem_t)

/* ---- time ---- */

static int sleep_until(int64_t until, const char *where) {
    if (until <= now) {
        step(POINT_PAUSE, NULL, where);
        return 0;
    }
    return block(NULL, until, SLEEP, where) == EINTR ? EINTR : 0;
}

EXPORT int sched_yield(void) {
    if (!here()) return REAL(sched_yield)();
    step(POINT_PAUSE, NULL, "sched_yield");
    return 0;
}

EXPORT int nanosleep(const struct timespec *t, struct timespec *left) {
    if (!here()) return REAL(nanosleep)(t, left);
    if (left) *left = *t;
    errno = sleep_until(now + (int64_t)t->tv_sec * 1000000000 + t->tv_nsec, "nanosleep");
    return errno ? -1 : 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left) {
    if (!here()) return REAL(clock_nanosleep)(clock, flags, t, left);
    if (left) *left = *t;
    return sleep_until(flags & TIMER_ABSTIME ? deadline(t) : now + (int64_t)t->tv_sec * 1000000000 + t->tv_nsec,
                       "sleep");
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t) {
    if (!here() || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
        return REAL(clock_gettime)(clock, t);
    step(POINT_READ, NULL, "clock_gettime");
    int64_t ns = now + (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? REALTIME_BASE : MONOTONIC_BASE);
    *t = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

/* What waits for descriptors looks at them now and then: who writes to one may be a thread. */
EXPORT int epoll_wait(int epoll, struct epoll_event *events, int most, int ms) {
    int64_t until = ms < 0 ? NEVER : now + ms * 1000000LL;
    if (!here()) return REAL(epoll_wait)(epoll, events, most, ms);
    step(POINT_CALL, NULL, "epoll_wait");
    for (;;) {
        int found = REAL(epoll_wait)(epoll, events, most, 0);
        if (found || now >= until) return found;
        block(NULL, until - now < GLANCE ? until : now + GLANCE, SLEEP, "epoll_wait");
    }
}

/* ---- cores: any of them is as good ---- */

EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cores) {
    return here() ? 0 : REAL(sched_setaffinity)(pid, size, cores);
}

EXPORT int sched_getcpu(void) { return here() ? 0 : REAL(sched_getcpu)(); }
