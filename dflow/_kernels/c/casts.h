/* Casts between the numeric types, as NumPy does them: plain C conversions. One loop a pair, any strides. A step of 0
 * is a constant, which is converted once. */
#ifndef DFLOW_CASTS_H
#define DFLOW_CASTS_H

#include <string.h>
#include <numpy/npy_common.h>
#include <numpy/halffloat.h>
#include "_kernels/c/copy.h"

typedef struct { npy_float re, im; } c_float;
typedef struct { npy_double re, im; } c_double;
typedef struct { npy_longdouble re, im; } c_longdouble;

typedef struct { npy_uint64 half[2]; } two_words;

#define FILL(TO) { \
        TO y; \
        memcpy(&y, value, sizeof(TO)); \
        if (step == sizeof(TO)) \
            for (npy_intp i = 0; i < n; i++) ((TO *)to)[i] = y; \
        else \
            for (npy_intp i = 0; i < n; i++) *(TO *)(to + i * step) = y; \
        return; }

/* n elements of one value, each `step` bytes after the one before. */
static void fill_elements(char *to, npy_intp step, npy_intp n, char const *value, npy_intp size) {
    npy_intp zeros = 0;
    while (zeros < size && value[zeros] == 0)
        zeros++;
    if (step == size && (size == 1 || zeros == size)) {
        memset(to, value[0], n * size);
        return;
    }
    switch (size) {
    case 1: FILL(npy_uint8)
    case 2: FILL(npy_uint16)
    case 4: FILL(npy_uint32)
    case 8: FILL(npy_uint64)
    case 16: FILL(two_words)
    }
    for (npy_intp i = 0; i < n; i++)
        memcpy(to + i * step, value, size);
}

/* The same type: bytes are moved. data is the size of an element. */
static void copy_loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    npy_intp n = dims[0], size = (npy_intp)data;
    if (steps[0] == 0 && n > 1)
        fill_elements(args[1], steps[1], n, args[0], size);
    else
        move_items(args[1], steps[1], args[0], steps[0], n, (int)size);
}

#define LOOP(from, to, FROM, TO, STATEMENT)                                                                            \
    static void cast_##from##_##to(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {             \
        char *ip = args[0], *op = args[1];                                                                             \
        npy_intp n = dims[0], is = steps[0], os = steps[1];                                                            \
        (void)data;                                                                                                    \
        if (is == sizeof(FROM) && os == sizeof(TO))                                                                    \
            for (npy_intp i = 0; i < n; i++) { FROM x = ((FROM *)ip)[i]; TO y; STATEMENT; ((TO *)op)[i] = y; }         \
        else if (is == 0 && n > 1) {                                                                                   \
            FROM x = *(FROM *)ip; TO y; STATEMENT;                                                                     \
            fill_elements(op, os, n, (char *)&y, sizeof(TO));                                                          \
        }                                                                                                              \
        else                                                                                                           \
            for (npy_intp i = 0; i < n; i++, ip += is, op += os) {                                                     \
                FROM x = *(FROM *)ip; TO y; STATEMENT;                                                                 \
                *(TO *)op = y;                                                                                         \
            }                                                                                                          \
    }

/* All casts from one type: its real part, its imaginary part, whether it is not zero, and its half. */
#define CASTS(from, FROM, RE, IM, NONZERO, HALF) \
    LOOP(from, bool, FROM, npy_bool, y = (NONZERO)) \
    LOOP(from, byte, FROM, npy_byte, y = (npy_byte)(RE)) \
    LOOP(from, ubyte, FROM, npy_ubyte, y = (npy_ubyte)(RE)) \
    LOOP(from, short, FROM, npy_short, y = (npy_short)(RE)) \
    LOOP(from, ushort, FROM, npy_ushort, y = (npy_ushort)(RE)) \
    LOOP(from, int, FROM, npy_int, y = (npy_int)(RE)) \
    LOOP(from, uint, FROM, npy_uint, y = (npy_uint)(RE)) \
    LOOP(from, long, FROM, npy_long, y = (npy_long)(RE)) \
    LOOP(from, ulong, FROM, npy_ulong, y = (npy_ulong)(RE)) \
    LOOP(from, longlong, FROM, npy_longlong, y = (npy_longlong)(RE)) \
    LOOP(from, ulonglong, FROM, npy_ulonglong, y = (npy_ulonglong)(RE)) \
    LOOP(from, float, FROM, npy_float, y = (npy_float)(RE)) \
    LOOP(from, double, FROM, npy_double, y = (npy_double)(RE)) \
    LOOP(from, longdouble, FROM, npy_longdouble, y = (npy_longdouble)(RE)) \
    LOOP(from, cfloat, FROM, c_float, y.re = (npy_float)(RE); y.im = (npy_float)(IM)) \
    LOOP(from, cdouble, FROM, c_double, y.re = (npy_double)(RE); y.im = (npy_double)(IM)) \
    LOOP(from, clongdouble, FROM, c_longdouble, y.re = (npy_longdouble)(RE); y.im = (npy_longdouble)(IM)) \
    LOOP(from, half, FROM, npy_half, y = (HALF))

#define REAL(from, FROM) CASTS(from, FROM, x, 0, x != 0, npy_double_to_half((npy_double)x))
#define COMPLEX(from, FROM, NONZERO) CASTS(from, FROM, x.re, x.im, NONZERO, npy_double_to_half((npy_double)x.re))

/* By their bits, all but the signs: compilers make vectors of that. */
static inline npy_bool any_cfloat(c_float x) {
    npy_uint32 parts[2];
    memcpy(parts, &x, sizeof parts);
    return ((parts[0] | parts[1]) << 1) != 0;
}
static inline npy_bool any_cdouble(c_double x) {
    npy_uint64 parts[2];
    memcpy(parts, &x, sizeof parts);
    return ((parts[0] | parts[1]) << 1) != 0;
}

CASTS(bool, npy_bool, x != 0, 0, x != 0, npy_float_to_half(x != 0))
REAL(byte, npy_byte) REAL(ubyte, npy_ubyte) REAL(short, npy_short) REAL(ushort, npy_ushort)
REAL(int, npy_int) REAL(uint, npy_uint) REAL(long, npy_long) REAL(ulong, npy_ulong)
REAL(longlong, npy_longlong) REAL(ulonglong, npy_ulonglong)
REAL(float, npy_float) REAL(double, npy_double)
CASTS(longdouble, npy_longdouble, x, 0, x != 0, npy_float_to_half((npy_float)x))        /* rounded twice, as NumPy's */
COMPLEX(cfloat, c_float, any_cfloat(x)) COMPLEX(cdouble, c_double, any_cdouble(x))
CASTS(clongdouble, c_longdouble, x.re, x.im, (x.re != 0) | (x.im != 0), npy_float_to_half((npy_float)x.re))
CASTS(half, npy_half, npy_half_to_float(x), 0, !npy_half_iszero(x), x)

typedef void (*cast_loop)(char **, npy_intp const *, npy_intp const *, void *);
#define ROW(from) \
    {cast_##from##_bool, cast_##from##_byte, cast_##from##_ubyte, cast_##from##_short, cast_##from##_ushort, \
     cast_##from##_int, cast_##from##_uint, cast_##from##_long, cast_##from##_ulong, cast_##from##_longlong, \
     cast_##from##_ulonglong, cast_##from##_float, cast_##from##_double, cast_##from##_longdouble, \
     cast_##from##_cfloat, cast_##from##_cdouble, cast_##from##_clongdouble, cast_##from##_half}

/* cast_loops[from][to], by type code: NumPy's type number, and 17 for half. */
static const cast_loop cast_loops[18][18] = {
    ROW(bool), ROW(byte), ROW(ubyte), ROW(short), ROW(ushort), ROW(int), ROW(uint), ROW(long), ROW(ulong),
    ROW(longlong), ROW(ulonglong), ROW(float), ROW(double), ROW(longdouble), ROW(cfloat), ROW(cdouble),
    ROW(clongdouble), ROW(half)};

#undef FILL
#undef LOOP
#undef CASTS
#undef REAL
#undef COMPLEX
#undef ROW
#endif
