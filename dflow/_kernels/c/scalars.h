/* Single numbers: of half precision, and in NumPy's scalars. */
#ifndef DFLOW_SCALARS_H
#define DFLOW_SCALARS_H

#include <Python.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <numpy/ndarraytypes.h>
#include <numpy/arrayscalars.h>
#include "_base/fpflags.h"

#ifndef __cplusplus
_Static_assert(offsetof(PyBoolScalarObject, obval) == sizeof(PyObject) &&
               offsetof(PyCLongDoubleScalarObject, obval) == sizeof(PyObject), "NumPy's scalars have no other fields");
#endif

/* The number in one of NumPy's scalars. */
static inline char *scalar_data(PyObject *scalar) { return (char *)(scalar + 1); }

/* A half's number, exactly: its bits as a float's, whose exponent is then put right. */
static inline double half_value(uint16_t half) {
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float value;
    if ((half & 0x7c00) == 0x7c00) bits |= 0x7f800000;
    memcpy(&value, &bits, 4);
    if ((half & 0x7c00) != 0x7c00) value *= 0x1p112f;
    return half & 0x8000 ? -(double)value : value;
}

/* A number as a half, rounded to the nearest, halfway ones to even. The flags are those that npy_double_to_half()
 * raises: FP_OVER, and FP_UNDER for what is below the normal numbers and not exact. */
static inline uint16_t half_of(double value, int *flags) {
    uint64_t bits;
    double units, rounded;
    memcpy(&bits, &value, 8);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    double size = fabs(value);
    if (size >= 0x1p-14 && size < 65520) {              /* the 42 bits that a half has not are rounded off */
        bits += ((uint64_t)1 << 41) - 1 + (bits >> 42 & 1);
        return (uint16_t)(sign | ((bits >> 42 & 0x1fffff) - ((uint64_t)(1023 - 15) << 10)));
    }
    if (size < 0x1p-14) {
        units = size * 0x1p24;
        rounded = (units + 0x1p52) - 0x1p52;
        if (rounded != units) *flags |= FP_UNDER;
        return (uint16_t)(sign | (uint16_t)rounded);
    }
    if (size != size) {
        uint16_t payload = (uint16_t)(bits >> 42 & 0x3ff);
        return (uint16_t)(sign | 0x7c00 | (payload ? payload : 1));
    }
    if (size <= DBL_MAX) *flags |= FP_OVER;
    return (uint16_t)(sign | 0x7c00);
}

/* In place, past what a compiler knows: what it has computed before is not computed later, nor the reverse. */
static inline void settle(double *number) { *(volatile double *)number = *(volatile double *)number; }

#endif
