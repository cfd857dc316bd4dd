/* Copies of memory at the speed that it has. */
#ifndef DFLOW_MOVE_H
#define DFLOW_MOVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* memmove(). glibc hands 4 KB and more to `rep movsb`, which some CPUs (Zen 3, Zen 4) run at a tenth of its speed where
 * the target lies up to a cache line behind the source within their pages: as when rows are shifted by one element from
 * one array to another, for arrays of ours all start at a page. Shorter copies do without that instruction. */
static inline void move_bytes(char *to, char const *from, size_t n) {
    size_t ahead = ((uintptr_t)to - (uintptr_t)from) & 4095;
    if (n > 1024 && ahead - 1 < 63 && (uintptr_t)to - (uintptr_t)from >= n)      /* not into what is still to be read */
        for (; n > 512; n -= 512, to += 512, from += 512)
            memmove(to, from, 512);
    memmove(to, from, n);
}

#define MOVE_ITEMS(size)                                                                   \
    case size:                                                                             \
        for (; n > 0; n--, to += to_step, from += from_step)                               \
            memcpy(to, from, size);                                                        \
        break;

/* n items, each so many bytes after the one before it. */
static inline void move_items(char *to, ptrdiff_t to_step, char const *from, ptrdiff_t from_step, ptrdiff_t n, int itemsize) {
    if (to_step == itemsize && from_step == itemsize) {
        move_bytes(to, from, n * itemsize);
        return;
    }
    switch (itemsize) {         /* of a known size a copy is two instructions, not a call */
        MOVE_ITEMS(1)
        MOVE_ITEMS(2)
        MOVE_ITEMS(4)
        MOVE_ITEMS(8)
        MOVE_ITEMS(16)
    default:
        for (; n > 0; n--, to += to_step, from += from_step)
            move_bytes(to, from, itemsize);
    }
}

#endif
