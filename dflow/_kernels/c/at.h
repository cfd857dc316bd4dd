/* Elements at places that become op(element, value), one after the other: a repeated one each time. */
#ifndef DFLOW_AT_H
#define DFLOW_AT_H

#include <math.h>
#include <numpy/npy_common.h>

enum AtOp { AT_ADD, AT_SUBTRACT, AT_MULTIPLY, AT_MAXIMUM, AT_MINIMUM, AT_OPS };

/* Of two equal ones the second, as NumPy's vectors have it: of zeros the sign tells. NaNs win. */
#define ABOVE(x, y) (x > y ? x : y)
#define BELOW(x, y) (x < y ? x : y)
#define REAL_ABOVE(x, y) (isgreater(x, y) || x != x ? x : y)
#define REAL_BELOW(x, y) (isless(x, y) || x != x ? x : y)

/* Negative places count from the end. */
static inline char *at_place(char *target, char const *place, npy_intp stride, npy_intp length) {
    npy_intp const j = *(npy_intp const *)place;
    return target + (j < 0 ? j + length : j) * stride;
}

#define EACH(T, value) \
    for (npy_intp i = 0; i < dims[0]; i++) { \
        T *to = (T *)at_place(args[2], args[0] + i * steps[0], stride, length); \
        T const x = *to, y = *(T const *)(args[1] + i * steps[1]); \
        *to = (T)(value); \
    } \
    break;

/* As a kernel: places in the target, values, target. Core steps: the bytes between places, and how many there are.
 * data: which of AtOp. W: in which it wraps. */
#define LOOPS(name, T, W, above, below) \
    static void at_##name(char **args, npy_intp const *dims, npy_intp const *steps, void *data) { \
        npy_intp const stride = steps[3], length = steps[4]; \
        switch ((npy_intp)data) { \
        case AT_ADD: EACH(T, (W)x + (W)y) \
        case AT_SUBTRACT: EACH(T, (W)x - (W)y) \
        case AT_MULTIPLY: EACH(T, (W)x * (W)y) \
        case AT_MAXIMUM: EACH(T, above(x, y)) \
        case AT_MINIMUM: EACH(T, below(x, y)) \
        } \
    }
#define INTEGER_LOOPS(name, T) LOOPS(name, T, npy_uint64, ABOVE, BELOW)
INTEGER_LOOPS(i1, npy_int8) INTEGER_LOOPS(u1, npy_uint8) INTEGER_LOOPS(i2, npy_int16) INTEGER_LOOPS(u2, npy_uint16)
INTEGER_LOOPS(i4, npy_int32) INTEGER_LOOPS(u4, npy_uint32) INTEGER_LOOPS(i8, npy_int64) INTEGER_LOOPS(u8, npy_uint64)
LOOPS(f4, float, float, REAL_ABOVE, REAL_BELOW)
LOOPS(f8, double, double, REAL_ABOVE, REAL_BELOW)

/* Of complex numbers, whose products are rounded by how many NumPy multiplies at once: sums only. */
#define COMPLEX_LOOPS(name, T) \
    static void at_##name(char **args, npy_intp const *dims, npy_intp const *steps, void *data) { \
        npy_intp const stride = steps[3], length = steps[4]; \
        T const sign = (npy_intp)data == AT_SUBTRACT ? -1 : 1; \
        for (npy_intp i = 0; i < dims[0]; i++) { \
            T *to = (T *)at_place(args[2], args[0] + i * steps[0], stride, length); \
            T const *y = (T const *)(args[1] + i * steps[1]); \
            T const re = to[0] + sign * y[0], im = to[1] + sign * y[1]; \
            to[0] = re; \
            to[1] = im; \
        } \
    }
COMPLEX_LOOPS(c8, float)
COMPLEX_LOOPS(c16, double)

typedef void (*at_loop_t)(char **, npy_intp const *, npy_intp const *, void *);

/* NULL: there is none for the type. */
static inline at_loop_t at_loop_of(enum AtOp op, char kind, int size) {
    static const at_loop_t integers[2][9] = {[0] = {[1] = at_i1, [2] = at_i2, [4] = at_i4, [8] = at_i8},
                                             [1] = {[1] = at_u1, [2] = at_u2, [4] = at_u4, [8] = at_u8}};
    if (kind == 'f')
        return size == 4 ? at_f4 : size == 8 ? at_f8 : NULL;
    if (kind == 'c')
        return op > AT_SUBTRACT ? NULL : size == 8 ? at_c8 : size == 16 ? at_c16 : NULL;
    return kind == 'i' || kind == 'u' ? integers[kind == 'u'][size] : NULL;
}

#undef ABOVE
#undef BELOW
#undef REAL_ABOVE
#undef REAL_BELOW
#undef EACH
#undef LOOPS
#undef COMPLEX_LOOPS
#undef INTEGER_LOOPS
#endif
