/* Masks: bytes that are 0 or 1, looked at eight at a time. */
#ifndef DFLOW_MASKS_H
#define DFLOW_MASKS_H

#include <string.h>
#include <numpy/npy_common.h>
#include "_kernels/c/simd.h"

#define ALL_TRUE 0x0101010101010101u

static inline npy_uint64 eight_at(char const *mask) {
    npy_uint64 eight;
    memcpy(&eight, mask, 8);
    return eight;
}

/* out: the places of what is true, of which there are `count`. Where the mask has no pattern a branch would be
 * mispredicted: each place is written, and the next over it unless it counts. */
static inline void true_places(npy_intp *out, char const *mask, npy_intp n, npy_intp count) {
    npy_intp i = 0, k = 0;
    for (; i + 8 <= n && k + 8 <= count; i += 8) {
        if (eight_at(mask + i) == 0)
            continue;
        for (int j = 0; j < 8; j++) {
            out[k] = i + j;
            k += mask[i + j] != 0;
        }
    }
    for (; k < count && i < n; i++) {
        if (i + 8 <= n && eight_at(mask + i) == 0) {
            i += 7;
            continue;
        }
        out[k] = i;
        k += mask[i] != 0;
    }
}

/* Of each byte its bits, as bytes; big: the highest first. */
static inline void unpack_each(unsigned char *to, unsigned char const *p, npy_intp n, int big) {
    npy_uint64 const seven = 0x7f * ALL_TRUE;
    npy_uint64 which = 0;                                       /* a bit in each byte, in the order of memory */
    for (int j = 0; j < 8; j++) ((unsigned char *)&which)[j] = (unsigned char)(1 << (big ? 7 - j : j));
    for (npy_intp i = 0; i < n; i++) {
        npy_uint64 eight = (((p[i] * ALL_TRUE & which) + seven) >> 7) & ALL_TRUE;
        memcpy(to + 8 * i, &eight, 8);
    }
}

#if defined(__x86_64__)
TARGET("avx2")
static inline void unpack_four(unsigned char *to, unsigned char const *p, npy_intp n, int big) {
    __m256i const each = _mm256_setr_epi64x(0, ALL_TRUE, 2 * ALL_TRUE, 3 * ALL_TRUE), one = _mm256_set1_epi8(1);
    __m256i const which = _mm256_set1_epi64x(big ? 0x0102040810204080 : (npy_int64)0x8040201008040201);
    npy_intp i = 0;
    for (; i + 4 <= n; i += 4) {
        int four;
        memcpy(&four, p + i, 4);
        __m256i bits = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(four), each), which);
        _mm256_storeu_si256((__m256i *)(to + 8 * i), _mm256_min_epu8(bits, one));
    }
    unpack_each(to + 8 * i, p + i, n - i, big);
}
END_TARGET
#endif

static inline void unpack_bits(unsigned char *to, unsigned char const *p, npy_intp n, int big) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        unpack_four(to, p, n, big);
        return;
    }
#endif
    unpack_each(to, p, n, big);
}

#endif
