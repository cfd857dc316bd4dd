/* Sums of products of a vector with each window of a longer one, in the vector's order. */
#ifndef DFLOW_SLIDE_H
#define DFLOW_SLIDE_H

#include <string.h>
#include <numpy/npy_common.h>
#include "_kernels/c/simd.h"

/* Windows (n, m) that begin one element after the other, vector (m), out (n). As many sums are made together as fill
 * half of the vector registers. */
#define SLIDE(name, T, MANY) \
    static void name(char **args, npy_intp const *dims, npy_intp const *steps, void *data) { \
        npy_intp n = dims[0], m = dims[1], i = 0; \
        T const *a = (T const *)args[0]; \
        (void)data; \
        for (; i + MANY <= n; i += MANY) { \
            T sums[MANY] = {0}; \
            for (npy_intp k = 0; k < m; k++) { \
                T const factor = *(T const *)(args[1] + k * steps[4]); \
                for (int j = 0; j < MANY; j++) \
                    sums[j] += a[i + k + j] * factor; \
            } \
            if (steps[2] == sizeof(T)) \
                memcpy(args[2] + i * sizeof(T), sums, sizeof(sums)); \
            else \
                for (int j = 0; j < MANY; j++) \
                    *(T *)(args[2] + (i + j) * steps[2]) = sums[j]; \
        } \
        for (; i < n; i++) { \
            T sum = 0; \
            for (npy_intp k = 0; k < m; k++) \
                sum += a[i + k] * *(T const *)(args[1] + k * steps[4]); \
            *(T *)(args[2] + i * steps[2]) = sum; \
        } \
    }

SLIDE(slide_float_plain, float, 32)
SLIDE(slide_double_plain, double, 16)

#ifdef TARGET
TARGET("avx2")
SLIDE(slide_float_avx2, float, 64)
SLIDE(slide_double_avx2, double, 32)
END_TARGET
static void slide_float(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (__builtin_cpu_supports("avx2") ? slide_float_avx2 : slide_float_plain)(args, dims, steps, data);
}
static void slide_double(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (__builtin_cpu_supports("avx2") ? slide_double_avx2 : slide_double_plain)(args, dims, steps, data);
}
#else
#define slide_float slide_float_plain
#define slide_double slide_double_plain
#endif

#undef SLIDE
#endif
