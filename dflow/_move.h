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

#endif
