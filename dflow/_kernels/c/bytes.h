/* Sorting of numbers of one byte, by how many there are of each. */
#ifndef DFLOW_BYTES_H
#define DFLOW_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* n numbers in place; the smallest is `least`, and from it on each is one more, as bytes: 0 or, of signed ones, 128. */
static inline void sort_bytes(uint8_t *p, ptrdiff_t n, int least) {
    if (n < 24) {
        for (ptrdiff_t i = 1; i < n; i++) {
            uint8_t item = p[i];
            ptrdiff_t j = i;
            for (; j > 0 && (uint8_t)(p[j - 1] - least) > (uint8_t)(item - least); j--)
                p[j] = p[j - 1];
            p[j] = item;
        }
        return;
    }
    size_t counts[4][256];          /* several, as one of them would wait for itself where a number is repeated */
    ptrdiff_t i = 0;
    memset(counts, 0, sizeof counts);
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            counts[k][p[i + k]]++;
    for (; i < n; i++)
        counts[0][p[i]]++;
    for (int k = 0; k < 256; k++) {
        uint8_t item = (uint8_t)(least + k);
        size_t many = counts[0][item] + counts[1][item] + counts[2][item] + counts[3][item];
        if (many) memset(p, item, many);
        p += many;
    }
}

static int sort_unsigned_bytes(void *p, ptrdiff_t n, void *unused) {
    sort_bytes((uint8_t *)p, n, 0);
    return 0;
}

static int sort_signed_bytes(void *p, ptrdiff_t n, void *unused) {
    sort_bytes((uint8_t *)p, n, 128);
    return 0;
}

#endif
