/* The largest and the smallest of contiguous floating-point numbers, among NaNs as fast as without; whether all or any
   of contiguous bools are true, which one of them decides. */

#ifndef DFLOW_EXTREME_H
#define DFLOW_EXTREME_H

#include <math.h>
#include <stddef.h>
#include <string.h>
#include "_kernels/c/simd.h"

/* out = the extreme of p, or of it and out. 0: that is one of zeros of both signs, and a matter of their order. */
typedef int (*extreme_of)(void *out, const void *p, ptrdiff_t n, int fresh);

#if defined(__x86_64__)
TARGET("avx2")
#define REAL float
#define EXT(name) name##_float_avx2
#define VEC __m256
#define MASK __m256
#define LOAD _mm256_loadu_ps
#define FILL _mm256_set1_ps
#define MAX _mm256_max_ps
#define MIN _mm256_min_ps
#define UNORDERED(a, b) _mm256_cmp_ps(a, b, _CMP_UNORD_Q)
#define SAME(a, b) _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)))
#define OR _mm256_or_ps
#define AND _mm256_and_ps
#define BITS _mm256_movemask_ps
#include "_kernels/c/extreme.inc.h"
#define REAL double
#define EXT(name) name##_double_avx2
#define VEC __m256d
#define MASK __m256d
#define LOAD _mm256_loadu_pd
#define FILL _mm256_set1_pd
#define MAX _mm256_max_pd
#define MIN _mm256_min_pd
#define UNORDERED(a, b) _mm256_cmp_pd(a, b, _CMP_UNORD_Q)
#define SAME(a, b) _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_castpd_si256(a), _mm256_castpd_si256(b)))
#define OR _mm256_or_pd
#define AND _mm256_and_pd
#define BITS _mm256_movemask_pd
#include "_kernels/c/extreme.inc.h"
END_TARGET
TARGET("avx512f")
#define REAL float
#define EXT(name) name##_float_avx512
#define VEC __m512
#define MASK __mmask16
#define LOAD _mm512_loadu_ps
#define FILL _mm512_set1_ps
#define MAX _mm512_max_ps
#define MIN _mm512_min_ps
#define UNORDERED(a, b) _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)
#define SAME(a, b) _mm512_cmpeq_epi32_mask(_mm512_castps_si512(a), _mm512_castps_si512(b))
#define OR(a, b) (__mmask16)((a) | (b))
#define AND(a, b) (__mmask16)((a) & (b))
#define BITS(a) (int)(a)
#include "_kernels/c/extreme.inc.h"
#define REAL double
#define EXT(name) name##_double_avx512
#define VEC __m512d
#define MASK __mmask8
#define LOAD _mm512_loadu_pd
#define FILL _mm512_set1_pd
#define MAX _mm512_max_pd
#define MIN _mm512_min_pd
#define UNORDERED(a, b) _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q)
#define SAME(a, b) _mm512_cmpeq_epi64_mask(_mm512_castpd_si512(a), _mm512_castpd_si512(b))
#define OR(a, b) (__mmask8)((a) | (b))
#define AND(a, b) (__mmask8)((a) & (b))
#define BITS(a) (int)(a)
#include "_kernels/c/extreme.inc.h"
END_TARGET
#define ALL_FOUR(set) {maximum_##set, minimum_##set, fmax_##set, fmin_##set}
#endif

/* NumPy's maximum, minimum, fmax and fmin, in this order, of floats or doubles; NULL: its loop is to be taken. */
static inline extreme_of best_extreme(int which, int wide)
{
#if defined(__x86_64__)
    static const extreme_of extremes[2][2][4] = {{ALL_FOUR(float_avx2), ALL_FOUR(double_avx2)},
                                               {ALL_FOUR(float_avx512), ALL_FOUR(double_avx512)}};
    if (__builtin_cpu_supports("avx512f")) return extremes[1][wide != 0][which];
    if (__builtin_cpu_supports("avx2")) return extremes[0][wide != 0][which];
#endif
    return NULL;
}

static inline int all_true(void *out, const void *p, ptrdiff_t n, int fresh)
{
    unsigned char *all = out;
    *all = (fresh || *all) && memchr(p, 0, (size_t)n) == NULL;
    return 1;
}

static inline int any_true(void *out, const void *p, ptrdiff_t n, int fresh)
{
    static const unsigned char zeros[1024];
    unsigned char *any = out;
    const unsigned char *q = p;
    int found = !fresh && *any;
    for (; !found && n > 0; q += sizeof zeros, n -= sizeof zeros)
        found = memcmp(q, zeros, n < (ptrdiff_t)sizeof zeros ? (size_t)n : sizeof zeros) != 0;
    *any = (unsigned char)found;
    return 1;
}

#endif
