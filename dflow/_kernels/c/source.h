/* The bits of one element of a draw, for distributions that need several words of them, or reject some. A file that
   begins elements with more than one word defines SOURCE_WORDS before. */
#ifndef DFLOW_SOURCE_H
#define DFLOW_SOURCE_H

#include "_kernels/c/philox.h"

#ifndef SOURCE_WORDS
#define SOURCE_WORDS 1
#endif
#define MORE (1ull << 63)           /* in the positions of an element's own */

typedef struct {                    /* what it has, and then its own positions */
    const Stream *stream;
    u64 element, attempt, words[SOURCE_WORDS];
    int left;                       /* words */
} Source;

HELPER Source source(const Stream *stream, u64 element)
{
    Source s = {stream, element, 0, {0}, 0};
    return s;
}

RARE u64 refill(Source *s)
{
    u32 x[4];
    philox_at(s->stream, MORE | (s->attempt++ & 0x7fff) << 48 | s->element, x);
    s->words[0] = x[2] | (u64)x[3] << 32;
    s->left = 1;
    return x[0] | (u64)x[1] << 32;
}

HELPER u64 more(Source *s)
{
    if (s->left == 0)
        return refill(s);
    s->left--;
    return s->words[SOURCE_WORDS > 1 ? s->left : 0];    /* one word can be a register */
}

/* The product of `bits` and a range below 2^32, of others instead while its lower half is below the threshold, 2^32 mod
   range: its upper half is a number below the range, each as likely (Lemire 2019). */
HELPER u64 bounded_product(Source *s, u32 bits, u32 range, u32 threshold)
{
    u64 product = (u64)bits * range;
    while ((u32)product < threshold)
        product = (more(s) >> 32) * range;
    return product;
}

#endif
