/* Rings of events: see _runtime/events.pxd.
 *
 * Each thread that has something to note has a ring, which it alone writes, and gives it back as it ends. A ring grows
 * by pieces up to EVENTS; then each event takes the place of the oldest. Readers need no lock and stop nobody: they
 * copy, and leave out what was overwritten meanwhile. So all words are atomic, and `written` is published.
 */
#ifndef DFLOW_EVENTS_H
#define DFLOW_EVENTS_H

#include <stdint.h>
#include <stdlib.h>
#include "_base/atomics.h"

enum { EVENT_WORDS = 16, PIECE_EVENTS = 1 << 12, PIECES = 1 << 6, EVENTS = PIECE_EVENTS * PIECES };

typedef struct Ring {
    long long written;              /* atomic: events so far; the next one's place is this modulo EVENTS */
    int used;                       /* atomic: it is a thread's */
    int number;                     /* of the ring; fixed */
    struct Ring *next;              /* list of all, for ever: fixed before others see it */
    uint64_t *pieces[PIECES];       /* atomic; NULL: not yet needed. Never freed */
} Ring;

static Ring *rings;                 /* atomic */
static long long events_lost;       /* atomic: for want of memory */
static int number_of_rings;         /* atomic */
static __thread Ring *tls_ring;
static pthread_key_t ring_key;      /* its destructor gives the ring of a thread back */
static pthread_once_t ring_once = PTHREAD_ONCE_INIT;

static void ring_give(void *ring) {
    tls_ring = NULL;
    store_int(&((Ring *)ring)->used, 0);
}
static void ring_make_key(void) { pthread_key_create(&ring_key, ring_give); }

/* This thread's, or NULL where there is no memory. */
static inline Ring *ring_here(void) {
    Ring *r = tls_ring;
    if (r) return r;
    pthread_once(&ring_once, ring_make_key);
    for (r = load_ptr(&rings); r && !cas_int(&r->used, 0, 1); r = r->next) {}
    if (!r) {
        if (!(r = calloc(1, sizeof *r))) return NULL;
        r->used = 1;
        r->number = add_int(&number_of_rings, 1);
        do r->next = load_ptr(&rings);
        while (!cas_ptr(&rings, r->next, r));
    }
    pthread_setspecific(ring_key, r);
    return tls_ring = r;
}

/* In a child of fork(), whose only thread this is. */
static void rings_after_fork(void) {
    for (Ring *r = rings; r; r = r->next)
        if (r != tls_ring) r->used = 0;
}

/* Make room for what this thread notes next. Where it holds no lock: it may allocate. */
static inline void ring_reserve(void) {
    Ring *r = ring_here();
    int i, n;
    if (!r) return;
    i = (int)(load_i64(&r->written) % EVENTS / PIECE_EVENTS);
    for (n = 0; n < 2; n++, i = (i + 1) % PIECES)
        if (!load_ptr(&r->pieces[i])) store_ptr(&r->pieces[i], malloc(PIECE_EVENTS * EVENT_WORDS * sizeof(uint64_t)));
}

/* The first words of an event. Without room for it, it is lost. */
static inline void ring_put(void const *event, int words) {
    Ring *r = tls_ring;
    uint64_t const *from = event;
    uint64_t *piece;
    long long at;
    int i;
    if (!r) return;
    at = load_i64(&r->written);
    if (!(piece = load_ptr(&r->pieces[at % EVENTS / PIECE_EVENTS]))) {
        add_i64(&events_lost, 1);
        return;
    }
    piece += at % PIECE_EVENTS * EVENT_WORDS;
    __atomic_thread_fence(__ATOMIC_RELEASE);        /* who sees a word of this one sees, below, that it was begun */
    for (i = 0; i < words; i++) __atomic_store_n(&piece[i], from[i], __ATOMIC_RELAXED);
    publish_i64(&r->written, at + 1);
}

/* Copies the events from `first` on, at most `most`, to `room`. Returns how many; *lost is how many there were before
 * these, and are gone. */
static long long ring_copy(Ring *r, long long first, long long most, void *room, long long *lost) {
    uint64_t *to = room;
    long long end = collect_i64(&r->written), from = first, kept;
    if (end - from > EVENTS) from = end - EVENTS;
    if (end - from > most) end = from + most;       /* what came since the reader made room is for its next look */
    for (long long at = from; at < end; at++) {
        uint64_t *piece = load_ptr(&r->pieces[at % EVENTS / PIECE_EVENTS]);
        piece += at % PIECE_EVENTS * EVENT_WORDS;
        for (int i = 0; i < EVENT_WORDS; i++, to++) *to = __atomic_load_n(&piece[i], __ATOMIC_RELAXED);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    kept = load_i64(&r->written) + 1 - EVENTS;      /* the first that nobody can have begun to overwrite */
    if (kept > from) {
        if (kept > end) kept = end;
        memmove(room, (uint64_t *)room + (kept - from) * EVENT_WORDS, (size_t)(end - kept) * EVENT_WORDS * sizeof *to);
        from = kept;
    }
    *lost = from - first;
    return end - from;
}

#endif
