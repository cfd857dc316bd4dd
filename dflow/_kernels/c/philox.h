/* Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
   1, 2, 3" (SC 2011): a bijection of 128-bit counters, chosen by a 64-bit key. There is no state: the top of
   _kernels/c/distributions.c says which counter an element has. */
#ifndef DFLOW_PHILOX_H
#define DFLOW_PHILOX_H

#include "_kernels/c/portable.h"

#define PHILOX_M0 0xD2511F53u       /* multipliers, and the increments of the key (Weyl sequences) */
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define PHILOX_ROUNDS 10

typedef struct Stream {             /* of bits: of one call of a distribution */
    u32 key[2];
    u64 draw;                       /* the upper half of the counter: how many draws the key gave before */
} Stream;

HELPER void philox4x32(const u32 c[4], const u32 key[2], u32 out[4])
{
    u32 x0 = c[0], x1 = c[1], x2 = c[2], x3 = c[3], k0 = key[0], k1 = key[1];
    for (int r = 0; r < PHILOX_ROUNDS; r++) {
        u64 p0 = (u64)PHILOX_M0 * x0, p1 = (u64)PHILOX_M1 * x2;
        x0 = (u32)(p1 >> 32) ^ x1 ^ k0;
        x1 = (u32)p1;
        x2 = (u32)(p0 >> 32) ^ x3 ^ k1;
        x3 = (u32)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = x0; out[1] = x1; out[2] = x2; out[3] = x3;
}

/* The output at a position (the lower half of the counter). */
HELPER void philox_at(const Stream *s, u64 position, u32 out[4])
{
    const u32 c[4] = {(u32)position, (u32)(position >> 32), (u32)s->draw, (u32)(s->draw >> 32)};
    philox4x32(c, s->key, out);
}

/* The upper 24 bits as a float in [0, 1). */
HELPER float unit24(u32 x)
{
    return (float)(int)(x >> 8) * (1.0f / 16777216.0f);
}

/* The upper 53 bits as a double in [0, 1): the upper 32 in units of 2^-32 and the lower 21 in units of 2^-53 become
   doubles by an exponent in front of them. All steps are exact, and there are instructions for them everywhere. */
HELPER double unit53(u64 x)
{
    union { u64 i; double d; } high, low;
    high.i = (x >> 32) | 0x4130000000000000ull;                     /* 2^20 + */
    low.i = ((x & 0xffffffffu) >> 11) | 0x3FE0000000000000ull;      /* 0.5 + */
    return (high.d - 1048576.5) + low.d;
}

/* In (0, 1): for logarithms. */
HELPER double open52(u64 x)
{
    return ((double)(long long)(x >> 12) + 0.5) * (1.0 / 4503599627370496.0);
}

#endif
