/* Merging sorted runs. The output can be cut anywhere: where the parts of it come from is found by bisection.
 *
 * Equal elements keep their order; NaN comes last, as NumPy has it. */
#ifndef DFLOW_MERGE_H
#define DFLOW_MERGE_H

#include <stdint.h>
#include <string.h>

typedef void (*merge_t)(const char *a, intptr_t m, const char *b, intptr_t n, char *out, intptr_t start, intptr_t stop);

#define BELOW(x, y) ((x) < (y))
#define BELOW_NAN(x, y) ((x) < (y) || ((y) != (y) && (x) == (x)))

/* merge_T: elements [start, stop) of what a (m elements) and b (n) are together. */
#define DEFINE_MERGE(T, LESS)                                                                                          \
    static intptr_t taken_##T(const T *a, intptr_t m, const T *b, intptr_t n, intptr_t k) {                            \
        intptr_t low = k > n ? k - n : 0, high = k < m ? k : m;             /* of a, among the first k */              \
        while (low < high) {                                                                                           \
            intptr_t i = low + (high - low) / 2;                                                                       \
            if (LESS(b[k - i - 1], a[i])) high = i;                                                                    \
            else low = i + 1;                                                                                          \
        }                                                                                                              \
        return low;                                                                                                    \
    }                                                                                                                  \
    static void merge_##T(const char *a_, intptr_t m, const char *b_, intptr_t n, char *out, intptr_t start,           \
                          intptr_t stop) {                                                                             \
        const T *a = (const T *)a_, *b = (const T *)b_;                                                                \
        intptr_t i = taken_##T(a, m, b, n, start), i_end = taken_##T(a, m, b, n, stop);                                \
        intptr_t j = start - i, j_end = stop - i_end;                                                                  \
        T *o = (T *)out + start;                                                                                       \
        while (i < i_end && j < j_end) {                                                                               \
            T x = a[i], y = b[j];                                                                                      \
            int other = LESS(y, x);                                                                                    \
            *o++ = other ? y : x;                                                                                      \
            i += !other;                                                                                               \
            j += other;                                                                                                \
        }                                                                                                              \
        memcpy(o, a + i, (i_end - i) * sizeof(T));                                                                     \
        memcpy(o + (i_end - i), b + j, (j_end - j) * sizeof(T));                                                       \
    }

DEFINE_MERGE(int8_t, BELOW)
DEFINE_MERGE(uint8_t, BELOW)
DEFINE_MERGE(int16_t, BELOW)
DEFINE_MERGE(uint16_t, BELOW)
DEFINE_MERGE(int32_t, BELOW)
DEFINE_MERGE(uint32_t, BELOW)
DEFINE_MERGE(int64_t, BELOW)
DEFINE_MERGE(uint64_t, BELOW)
DEFINE_MERGE(float, BELOW_NAN)
DEFINE_MERGE(double, BELOW_NAN)

/* For numbers of this kind (NumPy's letter) and size; NULL: there is none. */
static merge_t merge_of(char kind, int itemsize) {
    static const merge_t integers[2][4] = {{merge_int8_t, merge_int16_t, merge_int32_t, merge_int64_t},
                                           {merge_uint8_t, merge_uint16_t, merge_uint32_t, merge_uint64_t}};
    int size = itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : -1;
    if (size < 0) return NULL;
    if (kind == 'i') return integers[0][size];
    if (kind == 'u' || kind == 'b') return integers[1][size];
    if (kind == 'f') return itemsize == 4 ? merge_float : itemsize == 8 ? merge_double : NULL;
    return NULL;
}

#endif
