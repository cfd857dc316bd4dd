/* Linear interpolation between points, with the bits of numpy.interp. */
#ifndef DFLOW_INTERP_H
#define DFLOW_INTERP_H

#include <math.h>
#include <numpy/npy_common.h>

/* The last of n > 0 rising numbers that is not above x, -1 if there is none. Searched for around `guess`: what is asked
 * for often rises, too. */
static inline npy_intp last_below(double const *p, npy_intp n, double x, npy_intp guess) {
    npy_intp low = -1, high = n, step = 1;              /* p[low] <= x < p[high] */
    if (guess >= 0 && guess < n) {
        if (p[guess] <= x)
            for (low = guess; low + step < n && p[low + step] <= x; step *= 2)
                low += step;
        else
            for (high = guess; high - step >= 0 && p[high - step] > x; step *= 2)
                high -= step;
        if (low == -1 && high - step >= 0)
            low = high - step;
        if (high == n && low + step < n)
            high = low + step;
    }
    while (high - low > 1) {
        npy_intp middle = low + (high - low) / 2;
        if (p[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static inline double between(double x, double const *xp, double const *fp) {
    double slope = (fp[1] - fp[0]) / (xp[1] - xp[0]), y = slope * (x - xp[0]) + fp[0];
    if (isnan(y)) {                                     /* of an infinity, which the other side may not have */
        y = slope * (x - xp[1]) + fp[1];
        if (isnan(y) && fp[0] == fp[1])
            y = fp[0];
    }
    return y;
}

typedef struct { double left, right; npy_intp has_left, has_right; } Bounds;    /* none: fp's first and last */

/* x, xp (n), fp (n), Bounds, out. */
static void interp_loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    double const *xp = (double const *)args[1], *fp = (double const *)args[2];
    Bounds const *bounds = (Bounds const *)args[3];
    npy_intp n = dims[1], place = 0;
    double left = bounds->has_left ? bounds->left : fp[0], right = bounds->has_right ? bounds->right : fp[n - 1];
    (void)data;
    for (npy_intp i = 0; i < dims[0]; i++) {
        double x = *(double const *)(args[0] + i * steps[0]), y;
        if (isnan(x))
            y = n == 1 ? fp[0] : x;                     /* as NumPy has it */
        else if (x > xp[n - 1])
            y = right;
        else if (x < xp[0])
            y = left;
        else {
            place = last_below(xp, n, x, place);
            if (place < 0)                              /* of numbers that do not rise */
                place = 0;
            y = place == n - 1 || xp[place] == x ? fp[place] : between(x, xp + place, fp + place);
        }
        *(double *)(args[4] + i * steps[4]) = y;
    }
}

#endif
