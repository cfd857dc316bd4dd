/* Two numbers of one type: NumPy's bits, where it is sure that there is nothing to tell. */
#ifndef DFLOW_ELEMENTS_H
#define DFLOW_ELEMENTS_H

#include "_kernels/c/scalars.h"

/* The operators, as Op in _array/core.pxd numbers them. */
enum Operator { OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_TRUE_DIVIDE, OP_FLOOR_DIVIDE, OP_REMAINDER, OP_POWER, OP_LSHIFT,
                OP_RSHIFT, OP_AND, OP_OR, OP_XOR, OP_LESS, OP_LESS_EQUAL, OP_EQUAL, OP_NOT_EQUAL, OP_GREATER,
                OP_GREATER_EQUAL, OP_DIVMOD, OP_MATMUL, OP_NEGATIVE, OP_POSITIVE, OP_ABSOLUTE, OP_INVERT };

/* What became of it: the truth of a comparison, or of an operation of bools; a number, at r; its last bits, as it is
 * beyond the type's range; or nothing: the long way knows what to do. */
enum Outcome { FALSE_OUTCOME, TRUE_OUTCOME, NUMBER, WRAPPED, NOTHING };

typedef int (*two_numbers)(int op, void const *p, void const *q, void *r);
typedef int (*one_number)(int op, void const *p, void *r);

#define COMPARISONS(x, y)                                                                                              \
    case OP_LESS: return x < y;                                                                                        \
    case OP_LESS_EQUAL: return x <= y;                                                                                 \
    case OP_EQUAL: return x == y;                                                                                      \
    case OP_NOT_EQUAL: return x != y;                                                                                  \
    case OP_GREATER: return x > y;                                                                                     \
    case OP_GREATER_EQUAL: return x >= y;

/* x to the power y, its last bits. */
static inline unsigned long long raised(unsigned long long x, unsigned long long y) {
    unsigned long long result = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1) result *= x;
    return result;
}

#define INTEGERS(name, T, U)                                                                                           \
    static int two_##name(int op, void const *p, void const *q, void *r) {                                             \
        T x = *(T const *)p, y = *(T const *)q, z;                                                                     \
        int over = 0;                                                                                                  \
        switch (op) {                                                                                                  \
            COMPARISONS(x, y)                                                                                          \
            case OP_ADD: over = __builtin_add_overflow(x, y, &z); break;                                               \
            case OP_SUBTRACT: over = __builtin_sub_overflow(x, y, &z); break;                                          \
            case OP_MULTIPLY: over = __builtin_mul_overflow(x, y, &z); break;                                          \
            case OP_AND: z = x & y; break;                                                                             \
            case OP_OR: z = x | y; break;                                                                              \
            case OP_XOR: z = x ^ y; break;                                                                             \
            case OP_LSHIFT: case OP_RSHIFT:                                                                            \
                if ((U)y >= 8 * sizeof(T)) return NOTHING;                                                             \
                z = op == OP_LSHIFT ? (T)((U)x << y) : (T)(x >> y);                                                    \
                break;                                                                                                 \
            case OP_FLOOR_DIVIDE: case OP_REMAINDER:                                                                   \
                if (y <= 0) return NOTHING;                                                                            \
                z = x % y;                                                                                             \
                z = op == OP_REMAINDER ? (T)(z < 0 ? z + y : z) : (T)(x / y - (z < 0));                                \
                break;                                                                                                 \
            case OP_POWER:                                                                                             \
                if (y < 0) return NOTHING;                                                                             \
                z = (T)raised((unsigned long long)x, (unsigned long long)y);                                           \
                break;                                                                                                 \
            default: return NOTHING;                                                                                   \
        }                                                                                                              \
        *(T *)r = z;                                                                                                   \
        return over ? WRAPPED : NUMBER;                                                                                \
    }                                                                                                                  \
    static int one_##name(int op, void const *p, void *r) {                                                            \
        T x = *(T const *)p, z = x;                                                                                    \
        if (op == OP_INVERT) z = (T)~x;                                                                                \
        else if ((op == OP_NEGATIVE || (op == OP_ABSOLUTE && x < 0)) && __builtin_sub_overflow((T)0, x, &z))           \
            return NOTHING;                                                                                            \
        *(T *)r = z;                                                                                                   \
        return NUMBER;                                                                                                 \
    }
INTEGERS(byte, signed char, unsigned char)
INTEGERS(ubyte, unsigned char, unsigned char)
INTEGERS(short, short, unsigned short)
INTEGERS(ushort, unsigned short, unsigned short)
INTEGERS(int, int, unsigned int)
INTEGERS(uint, unsigned int, unsigned int)
INTEGERS(long, long, unsigned long)
INTEGERS(ulong, unsigned long, unsigned long)
INTEGERS(longlong, long long, unsigned long long)
INTEGERS(ulonglong, unsigned long long, unsigned long long)
#undef INTEGERS

static int two_bool(int op, void const *p, void const *q, void *r) {
    int x = *(char const *)p != 0, y = *(char const *)q != 0;
    (void)r;
    switch (op) {
        COMPARISONS(x, y)
        case OP_AND: return x & y;
        case OP_OR: return x | y;
        case OP_XOR: return x ^ y;
        default: return NOTHING;
    }
}

/* What may raise a flag is left: what becomes infinite, or no number, or so small that bits are lost. Who was infinite
 * before, or alone was no number, and a quiet one, stays so without a flag. */
#define REALS(name, T, LEAST, MOST, POWER)                                                                             \
    static inline int quiet_##name(T x, T y, T z) {                                                                    \
        if (z == z) return x - x != 0 || y - y != 0;                                                                   \
        return (x != x) != (y != y) && memcmp(&z, x != x ? &x : &y, sizeof z) == 0;                                    \
    }                                                                                                                  \
    static int two_##name(int op, void const *p, void const *q, void *r) {                                             \
        T x = *(T const *)p, y = *(T const *)q, z;                                                                     \
        switch (op) {                                                                                                  \
            COMPARISONS(x, y)                                                                                          \
            case OP_ADD: z = x + y; break;                                                                             \
            case OP_SUBTRACT: z = x - y; break;                                                                        \
            case OP_MULTIPLY:                                                                                          \
                z = x * y;                                                                                             \
                if (fabs(z) < LEAST && x != 0 && y != 0) return NOTHING;                                               \
                break;                                                                                                 \
            case OP_TRUE_DIVIDE:                                                                                       \
                z = x / y;                                                                                             \
                if (fabs(z) < LEAST && x != 0) return NOTHING;                                                         \
                break;                                                                                                 \
            case OP_POWER:                                                                                             \
                z = POWER(x, y);                                                                                       \
                if ((fabs(z) < LEAST && !(x == 0 && y > 0)) || z - z != 0) return NOTHING;                             \
                break;                                                                                                 \
            default: return NOTHING;                                                                                   \
        }                                                                                                              \
        if (z - z != 0 && !quiet_##name(x, y, z)) return NOTHING;                                                      \
        *(T *)r = z;                                                                                                   \
        return NUMBER;                                                                                                 \
    }                                                                                                                  \
    static int one_##name(int op, void const *p, void *r) {                                                            \
        T x = *(T const *)p;                                                                                           \
        if (op == OP_INVERT) return NOTHING;                                                                           \
        *(T *)r = op == OP_NEGATIVE ? -x : op == OP_ABSOLUTE ? (T)fabs(x) : x;                                         \
        return NUMBER;                                                                                                 \
    }                                                                                                                  \
    static inline int tame_##name(T x) { return x == 0 || (fabs(x) >= 1 / MOST && fabs(x) <= MOST); }                  \
    static int two_c##name(int op, void const *p, void const *q, void *r) {                                            \
        T const *x = p, *y = q;                                                                                        \
        T re, im;                                                                                                      \
        switch (op) {                                                                                                  \
            case OP_EQUAL: return (x[0] == y[0]) & (x[1] == y[1]);                                                     \
            case OP_NOT_EQUAL: return (x[0] != y[0]) | (x[1] != y[1]);                                                 \
            case OP_ADD: re = x[0] + y[0]; im = x[1] + y[1]; break;                                                    \
            case OP_SUBTRACT: re = x[0] - y[0]; im = x[1] - y[1]; break;                                               \
            case OP_MULTIPLY:                                                                                          \
                if (!(tame_##name(x[0]) && tame_##name(x[1]) && tame_##name(y[0]) && tame_##name(y[1])))               \
                    return NOTHING;                                                                                    \
                re = x[0] * y[0] - x[1] * y[1];                                                                        \
                im = x[0] * y[1] + x[1] * y[0];                                                                        \
                break;                                                                                                 \
            case OP_POWER:                                                                                             \
                if (y[0] != 2 || y[1] != 0 || !(tame_##name(x[0]) && tame_##name(x[1]))) return NOTHING;               \
                re = x[0] * x[0] - x[1] * x[1];                                                                        \
                im = x[0] == 0 && x[1] == 0 ? 0 : x[0] * x[1] + x[1] * x[0];                                           \
                break;                                                                                                 \
            default: return NOTHING;                                                                                   \
        }                                                                                                              \
        if (re - re != 0 || im - im != 0) return NOTHING;                                                              \
        ((T *)r)[0] = re, ((T *)r)[1] = im;                                                                            \
        return NUMBER;                                                                                                 \
    }                                                                                                                  \
    static int one_c##name(int op, void const *p, void *r) {                                                           \
        if (op != OP_NEGATIVE) return NOTHING;                                                                         \
        ((T *)r)[0] = -((T const *)p)[0], ((T *)r)[1] = -((T const *)p)[1];                                            \
        return NUMBER;                                                                                                 \
    }
REALS(float, float, FLT_MIN, 0x1p50f, powf)
REALS(double, double, DBL_MIN, 0x1p480, pow)
#undef REALS

static int two_half(int op, void const *p, void const *q, void *r) {
    float x = (float)half_value(*(uint16_t const *)p), y = (float)half_value(*(uint16_t const *)q), z;
    int flags = 0;
    switch (op) {
        COMPARISONS(x, y)
        case OP_ADD: z = x + y; break;
        case OP_SUBTRACT: z = x - y; break;
        case OP_MULTIPLY: z = x * y; break;
        case OP_TRUE_DIVIDE: z = x / y; break;
        default: return NOTHING;
    }
    *(uint16_t *)r = half_of(z, &flags);
    return flags || (z - z != 0 && (z != z || !(x - x != 0 || y - y != 0))) ? NOTHING : NUMBER;
}
#undef COMPARISONS

static int one_half(int op, void const *p, void *r) {
    uint16_t x = *(uint16_t const *)p;
    if (op == OP_INVERT) return NOTHING;
    *(uint16_t *)r = op == OP_NEGATIVE ? x ^ 0x8000 : op == OP_ABSOLUTE ? x & 0x7fff : x;
    return NUMBER;
}

/* By code; NULL: the long way. */
static two_numbers const of_two_numbers[18] = {
    two_bool, two_byte, two_ubyte, two_short, two_ushort, two_int, two_uint, two_long, two_ulong, two_longlong,
    two_ulonglong, two_float, two_double, NULL, two_cfloat, two_cdouble, NULL, two_half };

/* Negative, positive, absolute, inverted: without a flag. */
static one_number const of_one_number[18] = {
    NULL, one_byte, one_ubyte, one_short, one_ushort, one_int, one_uint, one_long, one_ulong, one_longlong,
    one_ulonglong, one_float, one_double, NULL, one_cfloat, one_cdouble, NULL, one_half };

#endif
