/* Masks: bytes that are 0 or 1, looked at eight at a time. */
#ifndef DFLOW_MASKS_H
#define DFLOW_MASKS_H

#include <string.h>
#include <numpy/npy_common.h>

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

/* Of each byte its bits, as bytes; big: the highest first. Needs the GIL, or another way to be alone at first. */
static inline void unpack_bits(unsigned char *to, unsigned char const *p, npy_intp n, int big) {
    static npy_uint64 tables[2][256];
    npy_uint64 *bits = tables[big];
    if (!bits[255])
        for (int k = 0; k < 256; k++)
            for (int j = 0; j < 8; j++) bits[k] |= (npy_uint64)(k >> (big ? 7 - j : j) & 1) << 8 * j;
    for (npy_intp i = 0; i < n; i++)
        memcpy(to + 8 * i, &bits[p[i]], 8);
}

#endif
