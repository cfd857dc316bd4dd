/* Normals and exponentials by the ziggurat, an element of its bits. _kernels/c/distributions.c makes the tables.

   Marsaglia and Tsang, "The ziggurat method for generating random variables" (2000), with bits of the position within a
   layer that are not those which choose the layer (Doornik 2005). The area under the density is covered by layers of
   equal area v: layer i reaches to x[i], and what lies below x[i + 1] is under the density for certain. Layer 0 is the
   rectangle to r = x[1] with the tail, and counts as v / f(r) wide. */
#ifndef DFLOW_ZIGGURAT_H
#define DFLOW_ZIGGURAT_H

#include "_kernels/c/explog.h"
#include "_kernels/c/source.h"

#define LAYERS64 1024
#define LAYERS32 256

typedef struct { u64 inside; double width; } Layer64;       /* in units of 2^-53 of the layer */
typedef struct { u32 inside; float width; } Layer32;        /* of 2^-23, and of exponentials 2^-24 */
typedef struct { const Layer64 *layers; const double *densities; double r; } Ziggurat64;
typedef struct { const Layer32 *layers; const double *densities; double r; } Ziggurat32;

HELPER double signed_by(double x, u64 bit)
{
    union { double d; u64 i; } u = {x};
    u.i |= bit << 63;
    return u.d;
}

HELPER float signed_by32(float x, u32 bit)
{
    union { float f; u32 i; } u = {x};
    u.i |= bit << 31;
    return u.f;
}

/* Of 64 bits: ten choose the layer, one is the sign, 53 the position. */
#define LAYER(bits) ((bits) & (LAYERS64 - 1))
#define SIGN(bits) ((bits) >> 10 & 1)
#define POSITION(bits) ((bits) >> 11)
/* Of 32: eight, one and 23; the exponential has no sign, and 24. */
#define LAYER32(bits) ((bits) & (LAYERS32 - 1))
#define SIGN32(bits) ((bits) >> 8 & 1)
#define POSITION23(bits) ((bits) >> 9)
#define POSITION24(bits) ((bits) >> 8)

/* Where in its layer l the bits put a number. */
HELPER double normal_at(u64 bits, const Layer64 *l)
{
    return signed_by((double)(long long)POSITION(bits) * l->width, SIGN(bits));
}

HELPER float normal_at32(u32 bits, const Layer32 *l)
{
    return signed_by32((float)(int)POSITION23(bits) * l->width, SIGN32(bits));
}

HELPER double exponential_at(u64 bits, const Layer64 *l)
{
    return (double)(long long)POSITION(bits) * l->width;
}

HELPER float exponential_at32(u32 bits, const Layer32 *l)
{
    return (float)(int)POSITION24(bits) * l->width;
}

/* Of a normal beyond r (Marsaglia 1964). */
HELPER double normal_tail(Source *s, double r)
{
    double x, y;
    do {
        x = -portable_log(open52(more(s))) / r;
        y = -portable_log(open52(more(s)));
    } while (y + y < x * x);
    return r + x;
}

/* Whether a point at x of layer i that is not inside for certain lies under the density. */
HELPER int under(const double *densities, int i, Source *s, double density_at_x)
{
    return densities[i] + unit53(more(s)) * (densities[i + 1] - densities[i]) < density_at_x;
}

/* An element that begins with `bits`, and goes on with those of s. */
HELPER double ziggurat_normal64(Source *s, u64 bits, Ziggurat64 z)
{
    for (;; bits = more(s)) {
        int i = (int)LAYER(bits);
        const Layer64 *l = &z.layers[i];
        double x = normal_at(bits, l);
        if (POSITION(bits) < l->inside)
            return x;
        if (i == 0)
            return signed_by(normal_tail(s, z.r), SIGN(bits));
        if (under(z.densities, i, s, portable_exp(-0.5 * x * x)))
            return x;
    }
}

HELPER float ziggurat_normal32(Source *s, u32 bits, Ziggurat32 z)
{
    for (;; bits = (u32)(more(s) >> 32)) {
        int i = (int)LAYER32(bits);
        const Layer32 *l = &z.layers[i];
        float x = normal_at32(bits, l);
        if (POSITION23(bits) < l->inside)
            return x;
        if (i == 0)
            return signed_by32((float)normal_tail(s, z.r), SIGN32(bits));
        if (under(z.densities, i, s, portable_exp(-0.5 * (double)x * (double)x)))
            return x;
    }
}

/* In the first layer, beyond r lies the same density again. */
HELPER double ziggurat_exponential64(Source *s, u64 bits, Ziggurat64 z)
{
    double beyond = 0;
    for (;; bits = more(s)) {
        int i = (int)LAYER(bits);
        const Layer64 *l = &z.layers[i];
        double x = exponential_at(bits, l);
        if (POSITION(bits) < l->inside)
            return beyond + x;
        if (i == 0)
            beyond += z.r;
        else if (under(z.densities, i, s, portable_exp(-x)))
            return beyond + x;
    }
}

HELPER float ziggurat_exponential32(Source *s, u32 bits, Ziggurat32 z)
{
    double beyond = 0;
    for (;; bits = (u32)(more(s) >> 32)) {
        int i = (int)LAYER32(bits);
        const Layer32 *l = &z.layers[i];
        float x = exponential_at32(bits, l);
        if (POSITION24(bits) < l->inside)
            return (float)(beyond + (double)x);
        if (i == 0)
            beyond += z.r;
        else if (under(z.densities, i, s, portable_exp(-(double)x)))
            return (float)(beyond + (double)x);
    }
}

#endif
