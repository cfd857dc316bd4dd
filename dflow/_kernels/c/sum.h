/* Sums of contiguous floating-point numbers: NumPy's bits, in less time. */

#ifndef DFLOW_SUMS_H
#define DFLOW_SUMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "_kernels/c/simd.h"

typedef void (*total_of)(void *out, const void *p, ptrdiff_t n, int fresh, int near);
typedef void (*totals_of)(char *out, ptrdiff_t out_step, const char *p, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t n,
                          int fresh);

#define WIDTH 16                            /* bytes of a vector that every machine has */
#define REAL float
#define SUM(name) name##_float
#include "_kernels/c/pairwise.inc.h"
#undef REAL
#undef SUM
#define REAL double
#define SUM(name) name##_double
#include "_kernels/c/pairwise.inc.h"
#undef REAL
#undef SUM
#undef WIDTH

#if defined(__x86_64__)
TARGET("avx2")
#define WIDTH 32
#define REAL float
#define SUM(name) name##_float_avx2
#include "_kernels/c/pairwise.inc.h"
#undef REAL
#undef SUM
#define REAL double
#define SUM(name) name##_double_avx2
#include "_kernels/c/pairwise.inc.h"
#undef REAL
#undef SUM
#undef WIDTH
END_TARGET
#endif

/* The one for floats, or doubles, that is best here; `pairs`: for complex numbers of such. */
static inline total_of best_total(int wide, int pairs)
{
#if defined(__x86_64__)
    static const total_of fast[2][2] = {
        {total_float_avx2, total_double_avx2}, {pair_total_float_avx2, pair_total_double_avx2}};
    if (__builtin_cpu_supports("avx2")) return fast[pairs][wide];
#endif
    static const total_of all[2][2] = {{total_float, total_double}, {pair_total_float, pair_total_double}};
    return all[pairs][wide];
}

static inline totals_of best_totals(int wide, int pairs)
{
#if defined(__x86_64__)
    static const totals_of fast[2][2] = {
        {totals_float_avx2, totals_double_avx2}, {pair_totals_float_avx2, pair_totals_double_avx2}};
    if (__builtin_cpu_supports("avx2")) return fast[pairs][wide];
#endif
    static const totals_of all[2][2] = {{totals_float, totals_double}, {pair_totals_float, pair_totals_double}};
    return all[pairs][wide];
}

/* Sums of rows of integers of 8 bytes, of which no order matters. */
static void totals_integer(char *out, ptrdiff_t out_step, const char *p, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t n,
                           int fresh)
{
    for (; rows > 0; rows--, out += out_step, p += step) {
        uint64_t sum = fresh ? 0 : *(uint64_t *)out;
        for (ptrdiff_t i = 0; i < n; i++)
            sum += ((const uint64_t *)p)[i];
        *(uint64_t *)out = sum;
    }
}

#endif
