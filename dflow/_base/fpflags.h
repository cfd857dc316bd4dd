/* The floating point flags of this thread. */
#ifndef DFLOW_FPFLAGS_H
#define DFLOW_FPFLAGS_H

#include <Python.h>
#include <fenv.h>
#include "_base/atomics.h"

/* Numbered as NumPy numbers them. */
enum { FP_DIVIDE = 1, FP_OVER = 2, FP_UNDER = 4, FP_INVALID = 8 };

#if defined(__x86_64__)
static inline int fp_raw(void) {
    unsigned int csr = __builtin_ia32_stmxcsr();
    unsigned short x87;                    /* longdouble arithmetic, and glibc's feraiseexcept(FE_OVERFLOW) */
    __asm__ volatile("fnstsw %0" : "=am"(x87));
    return (csr | x87) & 0x1d;             /* invalid 1, divide 4, overflow 8, underflow 16 */
}
static inline int fp_flags(void) {
    int raw = fp_raw();
    if (__builtin_expect(raw == 0, 1)) return 0;
    return (raw & 4 ? FP_DIVIDE : 0) | (raw & 8 ? FP_OVER : 0) | (raw & 16 ? FP_UNDER : 0) | (raw & 1 ? FP_INVALID : 0);
}
static inline void fp_clear(void) {
    if (fp_raw()) feclearexcept(FE_ALL_EXCEPT);
}
#else
static inline int fp_flags(void) {
    int raw = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    if (raw == 0) return 0;
    return (raw & FE_DIVBYZERO ? FP_DIVIDE : 0) | (raw & FE_OVERFLOW ? FP_OVER : 0) |
           (raw & FE_UNDERFLOW ? FP_UNDER : 0) | (raw & FE_INVALID ? FP_INVALID : 0);
}
static inline void fp_clear(void) { feclearexcept(FE_ALL_EXCEPT); }
#endif

/* Moves the flags that are up into *all, which threads may share. */
static inline void fp_collect(int *all) {
    int flags = fp_flags();
    if (flags) {
        or_int(all, flags);
        feclearexcept(FE_ALL_EXCEPT);
    }
}

static inline void fp_raise(int flags) {
    int raw = (flags & FP_DIVIDE ? FE_DIVBYZERO : 0) | (flags & FP_OVER ? FE_OVERFLOW : 0) |
              (flags & FP_UNDER ? FE_UNDERFLOW : 0) | (flags & FP_INVALID ? FE_INVALID : 0);
    if (raw) feraiseexcept(raw);
}

#endif
