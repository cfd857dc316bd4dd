/* exp(x) for x <= 0, and log(x) for 0 < x <= 1, of additions, multiplications and divisions: tables and tails of random
   numbers have the same bits on every machine, GPUs among them. The errors are a few units of the last place. Products
   must not be contracted with sums. */
#ifndef DFLOW_EXPLOG_H
#define DFLOW_EXPLOG_H

#include "_kernels/c/portable.h"

#define LN2_HIGH 6.93147180369123816490e-01         /* its last 32 bits are 0 */
#define LN2_LOW 1.90821492927058770002e-10

HELPER double portable_exp(double x)
{
    double k = floor(x * 1.4426950408889634 + 0.5), r = (x - k * LN2_HIGH) - k * LN2_LOW, r2 = r * r;
    double even = 1 + r2 * (1 / 2. + r2 * (1 / 24. + r2 * (1 / 720. + r2 * (1 / 40320. + r2 * (1 / 3628800.
        + r2 * (1 / 479001600.))))));
    double odd = 1 + r2 * (1 / 6. + r2 * (1 / 120. + r2 * (1 / 5040. + r2 * (1 / 362880. + r2 * (1 / 39916800.
        + r2 * (1 / 6227020800.))))));
    union { u64 i; double d; } power;
    power.i = (u64)(1023 + (long long)k) << 52;
    return k < -1000 ? 0 : (even + r * odd) * power.d;
}

HELPER double portable_log(double x)
{
    int e;
    double m = frexp(x, &e), s, sum = 0;
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    s = (m - 1) / (m + 1);
    for (int i = 23; i > 0; i -= 2)
        sum = sum * (s * s) + 1.0 / i;
    return e * LN2_HIGH + (e * LN2_LOW + 2 * s * sum);
}

#endif
