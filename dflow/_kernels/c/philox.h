/* Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
   1, 2, 3" (SC 2011): a bijection of 128-bit counters, chosen by a 64-bit key. There is no state: which counter an element
   has, the top of _kernels/c/distributions.c says. */
#ifndef DFLOW_PHILOX_H
#define DFLOW_PHILOX_H

#include <stdint.h>

#define PHILOX_M0 0xD2511F53u       /* multipliers, and the increments of the key (Weyl sequences) */
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define PHILOX_ROUNDS 10

typedef struct {                    /* one call of a distribution: a constant operand of at most 64 bytes */
    uint32_t key[2];                /* of the stream */
    uint64_t draw;                  /* the upper half of the counter: how many draws the stream gave before */
    union {
        double p[5];
        struct { uint64_t low, range, threshold; } i;       /* integers: see bounded */
    } u;
} Draw;

static inline void philox4x32(const uint32_t c[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x0 = c[0], x1 = c[1], x2 = c[2], x3 = c[3], k0 = key[0], k1 = key[1];
    for (int r = 0; r < PHILOX_ROUNDS; r++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * x0, p1 = (uint64_t)PHILOX_M1 * x2;
        x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)p1;
        x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = x0; out[1] = x1; out[2] = x2; out[3] = x3;
}

/* The output at a position (the lower half of the counter) of a draw. */
static inline void philox_at(const Draw *d, uint64_t position, uint32_t out[4])
{
    const uint32_t c[4] = {(uint32_t)position, (uint32_t)(position >> 32), (uint32_t)d->draw, (uint32_t)(d->draw >> 32)};
    philox4x32(c, d->key, out);
}

#endif
