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

/* n bytes, of which 16 and more are moved by vectors; the last one overlaps the one before it. */
static inline void move_short(char *to, char const *from, size_t n) {
    if (n >= 16) {
        for (size_t i = 0; i < n - 16; i += 16)
            memcpy(to + i, from + i, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    }
    else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    }
    else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    }
    else
        for (; n > 0; n--)
            *to++ = *from++;
}

/* Rows of n bytes each, which do not overlap others: of short ones a call takes longer than the copy. */
static inline void move_rows(char *to, ptrdiff_t to_step, char const *from, ptrdiff_t from_step, ptrdiff_t rows,
                             size_t n) {
    if (n > 256)
        for (; rows > 0; rows--, to += to_step, from += from_step)
            move_bytes(to, from, n);
    else
        for (; rows > 0; rows--, to += to_step, from += from_step)
            move_short(to, from, n);
}

typedef uint16_t __attribute__((may_alias, aligned(1))) any16;
typedef uint32_t __attribute__((may_alias, aligned(1))) any32;
typedef uint64_t __attribute__((may_alias, aligned(1))) any64;
typedef struct { any64 parts[2]; } any128;

#define MOVE_ITEMS(T)                                                                      \
    case sizeof(T):                                                                        \
        for (; n >= 4; n -= 4, to += 4 * to_step, from += 4 * from_step) {                 \
            *(T *)to = *(T const *)from;                                                   \
            *(T *)(to + to_step) = *(T const *)(from + from_step);                         \
            *(T *)(to + 2 * to_step) = *(T const *)(from + 2 * from_step);                 \
            *(T *)(to + 3 * to_step) = *(T const *)(from + 3 * from_step);                 \
        }                                                                                  \
        for (; n > 0; n--, to += to_step, from += from_step)                               \
            *(T *)to = *(T const *)from;                                                   \
        break;

#define EVERY(step, T)                                                                     \
    case sizeof(T):                                                                        \
        for (ptrdiff_t i = 0; i < n; i++)                                                  \
            ((T *)to)[i] = ((T const *)from)[(step) * i];                                  \
        return;

/* n items, each so many bytes after the one before it. */
static inline void move_items(char *to, ptrdiff_t to_step, char const *from, ptrdiff_t from_step, ptrdiff_t n,
                              int itemsize) {
    if (to_step == itemsize && from_step == itemsize) {
        move_bytes(to, from, n * itemsize);
        return;
    }
    if (to_step == itemsize && from_step == 2 * itemsize)       /* real or imaginary parts: loops that compilers see */
        switch (itemsize) {
            EVERY(2, uint8_t)
            EVERY(2, any16)
            EVERY(2, any32)
            EVERY(2, any64)
        }
    if (to_step == itemsize && from_step == -itemsize)          /* backwards: the same */
        switch (itemsize) {
            EVERY(-1, uint8_t)
            EVERY(-1, any16)
            EVERY(-1, any32)
            EVERY(-1, any64)
        }
    switch (itemsize) {         /* of a known size a copy is two instructions, not a call */
        MOVE_ITEMS(uint8_t)
        MOVE_ITEMS(any16)
        MOVE_ITEMS(any32)
        MOVE_ITEMS(any64)
        MOVE_ITEMS(any128)
    default:
        for (; n > 0; n--, to += to_step, from += from_step)
            move_bytes(to, from, itemsize);
    }
}

typedef uint64_t __attribute__((vector_size(16), aligned(8), may_alias)) pair64;

/* Four items of eight bytes, of which two lie beside each other here and there. */
static inline void turn_pairs(char *to, ptrdiff_t to_row, char const *from, ptrdiff_t from_column) {
    pair64 a = *(pair64 const *)from, b = *(pair64 const *)(from + from_column);
    *(pair64 *)to = (pair64){a[0], b[0]};
    *(pair64 *)(to + to_row) = (pair64){a[1], b[1]};
}

#define TURN(T)                                                                            \
    case sizeof(T):                                                                        \
        for (ptrdiff_t i = 0; i < rows; i++)                                               \
            for (ptrdiff_t j = 0; j < columns; j++)                                        \
                *(T *)(to + i * to_row + j * (ptrdiff_t)sizeof(T)) =                       \
                    *(T const *)(from + i * (ptrdiff_t)sizeof(T) + j * from_column);       \
        break;

/* A matrix whose columns lie beside each other in `from`, and whose rows do in `to`: in rectangles whose lines, few of
   which may lie a power of two apart, stay in the first cache. */
static inline void move_turned(char *to, ptrdiff_t to_row, char const *from, ptrdiff_t from_column, ptrdiff_t all_rows,
                               ptrdiff_t all_columns, int itemsize) {
    ptrdiff_t const high = itemsize < 64 ? 64 / itemsize : 1, wide = 8;
    char *const to_start = to;
    char const *const from_start = from;
    for (ptrdiff_t top = 0; top < all_rows; top += high)
        for (ptrdiff_t left = 0; left < all_columns; left += wide) {
            ptrdiff_t rows = all_rows - top < high ? all_rows - top : high;
            ptrdiff_t columns = all_columns - left < wide ? all_columns - left : wide;
            to = to_start + top * to_row + left * itemsize;
            from = from_start + top * itemsize + left * from_column;
            if (itemsize == 8 && rows == high && columns == wide)
                for (ptrdiff_t i = 0; i < 8; i += 2)
                    for (ptrdiff_t j = 0; j < 8; j += 2)
                        turn_pairs(to + i * to_row + j * 8, to_row, from + i * 8 + j * from_column, from_column);
            else
                switch (itemsize) {
                    TURN(uint8_t)
                    TURN(any16)
                    TURN(any32)
                    TURN(any64)
                    TURN(any128)
                default:
                    for (ptrdiff_t i = 0; i < rows; i++)
                        for (ptrdiff_t j = 0; j < columns; j++)
                            memcpy(to + i * to_row + j * itemsize, from + i * itemsize + j * from_column, itemsize);
                }
        }
}

#define SPREAD_ROWS(T, n)                                                                  \
    for (; rows > 0; rows--, to += to_row, from += from_row) {                             \
        T const item = *(T const *)from;                                                   \
        for (ptrdiff_t j = 0; j < (n); j++)                                                \
            ((T *)to)[j] = item;                                                           \
    }

#define SPREAD(T)                                                                          \
    case sizeof(T):                                                                        \
        if (columns == 2)                                                                  \
            SPREAD_ROWS(T, 2)                                                              \
        else if (columns == 3)                                                             \
            SPREAD_ROWS(T, 3)                                                              \
        else if (columns == 4)                                                             \
            SPREAD_ROWS(T, 4)                                                              \
        else                                                                               \
            SPREAD_ROWS(T, columns)                                                        \
        break;

/* Rows of one item each, so many times. */
static inline void move_spread(char *to, ptrdiff_t to_row, char const *from, ptrdiff_t from_row, ptrdiff_t rows,
                               ptrdiff_t columns, int itemsize) {
    switch (itemsize) {
        SPREAD(uint8_t)
        SPREAD(any16)
        SPREAD(any32)
        SPREAD(any64)
        SPREAD(any128)
    default:
        for (; rows > 0; rows--, to += to_row, from += from_row)
            for (ptrdiff_t j = 0; j < columns; j++)
                memcpy(to + j * itemsize, from, itemsize);
    }
}

/* n items of so many bytes, each so many times. */
static inline void repeat_items(char *to, char const *from, ptrdiff_t n, ptrdiff_t times, ptrdiff_t size) {
    if (size <= 16)
        move_spread(to, times * size, from, size, n, times, (int)size);
    else
        for (; n > 0; n--, from += size)
            for (ptrdiff_t i = 0; i < times; i++, to += size)
                move_bytes(to, from, size);
}

#endif
