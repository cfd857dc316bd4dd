/* Rows of few numbers: what a call of NumPy's loop for each would cost is more than the numbers. One rounding an
 * operation, as there; no lane but those of the rows, so that the floating point flags are theirs, too. */
#ifndef DFLOW_ROWS_H
#define DFLOW_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* out = a op b, of rows that begin `leaps` after the last: a, b, out. A step of 0: of one number for all of a row. */
#define ROWS_OF(name, real, op) \
static void name(char **row, const ptrdiff_t *leaps, ptrdiff_t rows, ptrdiff_t n, const ptrdiff_t *steps) \
{ \
    char *x = row[0], *y = row[1], *z = row[2]; \
    for (; rows > 0; rows--, x += leaps[0], y += leaps[1], z += leaps[2]) { \
        const real *a = (const real *)x, *b = (const real *)y; \
        real *out = (real *)z; \
        if (steps[0] == 0) { \
            const real first = *a; \
            _Pragma("GCC ivdep") \
            for (ptrdiff_t i = 0; i < n; i++) out[i] = first op b[i]; \
        } else if (steps[1] == 0) { \
            const real second = *b; \
            _Pragma("GCC ivdep") \
            for (ptrdiff_t i = 0; i < n; i++) out[i] = a[i] op second; \
        } else { \
            _Pragma("GCC ivdep") \
            for (ptrdiff_t i = 0; i < n; i++) out[i] = a[i] op b[i]; \
        } \
    } \
    row[0] = x, row[1] = y, row[2] = z; \
}

typedef void (*rows_of)(char **row, const ptrdiff_t *leaps, ptrdiff_t rows, ptrdiff_t n, const ptrdiff_t *steps);

ROWS_OF(rows_add_float, float, +)
ROWS_OF(rows_add_double, double, +)
ROWS_OF(rows_subtract_float, float, -)
ROWS_OF(rows_subtract_double, double, -)
ROWS_OF(rows_multiply_float, float, *)
ROWS_OF(rows_multiply_double, double, *)
ROWS_OF(rows_divide_float, float, /)
ROWS_OF(rows_divide_double, double, /)

static const rows_of row_loops[4][2] = {
    {rows_add_float, rows_add_double}, {rows_subtract_float, rows_subtract_double},
    {rows_multiply_float, rows_multiply_double}, {rows_divide_float, rows_divide_double}};

/* Columns of numbers beside each other, c of them: to[i] += those of each row, one row after the other. */
#define DOWN(real, c) do { \
    real sums[c]; \
    memcpy(sums, to, sizeof sums); \
    for (ptrdiff_t r = 0; r < rows; r++) { \
        const real *p = (const real *)(from + r * leap); \
        for (int i = 0; i < c; i++) sums[i] += p[i]; \
    } \
    memcpy(to, sums, sizeof sums); \
    to += c, n -= c, from += c * sizeof(real); \
} while (0)

#define DOWN_OF(name, real, most) \
static inline void name(void *out, const char *from, ptrdiff_t leap, ptrdiff_t rows, ptrdiff_t n) \
{ \
    real *to = out; \
    while (n >= most) DOWN(real, most); \
    if (n >= 8) DOWN(real, 8); \
    if (n >= 4) DOWN(real, 4); \
    switch (n) { \
    case 3: DOWN(real, 3); break; \
    case 2: DOWN(real, 2); break; \
    case 1: DOWN(real, 1); break; \
    } \
}

DOWN_OF(down_float, float, 16)
DOWN_OF(down_double, double, 8)
DOWN_OF(down_integer, uint64_t, 8)

#endif
