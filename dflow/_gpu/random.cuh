/* Random numbers on a GPU, with the bits of _kernels/c/distributions.c: see there. Products must not be contracted with sums.
 *
 * It is C++ that CUDA's compiler takes, and any other, once there is __device__. An element is computed by itself, from
 * its number within the draw. */
typedef unsigned int u32;
typedef unsigned long long u64;
#ifndef HELPER
#define HELPER __device__ static inline
#endif

struct Stream { u32 key0, key1; u64 draw; };        /* as a Draw begins */

HELPER void philox_at(Stream s, u64 position, u32 *x) {
    u32 x0 = (u32)position, x1 = (u32)(position >> 32), x2 = (u32)s.draw, x3 = (u32)(s.draw >> 32), k0 = s.key0, k1 = s.key1;
    for (int r = 0; r < 10; r++) {
        u64 p0 = (u64)0xD2511F53u * x0, p1 = (u64)0xCD9E8D57u * x2;
        x0 = (u32)(p1 >> 32) ^ x1 ^ k0;
        x1 = (u32)p1;
        x2 = (u32)(p0 >> 32) ^ x3 ^ k1;
        x3 = (u32)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    x[0] = x0; x[1] = x1; x[2] = x2; x[3] = x3;
}

HELPER u32 word_at(Stream s, u64 position, int word) {
    u32 x[4];
    philox_at(s, position, x);
    return word == 0 ? x[0] : word == 1 ? x[1] : word == 2 ? x[2] : x[3];
}

/* Sixteen positions hold 64 elements of 32 bits, or 32 of 64: the first words of all positions, then the second ones. */
HELPER u32 bits32(Stream s, u64 element) {
    return word_at(s, element / 64 * 16 + element % 16, (int)(element / 16 % 4));
}
HELPER u64 bits64(Stream s, u64 element) {
    u64 position = element / 32 * 16 + element * 2 % 16;
    int word = (int)(element / 8 % 4);
    return word_at(s, position, word) | (u64)word_at(s, position + 1, word) << 32;
}

struct Source {                                     /* of the bits of an element, after those */
    Stream s;
    u64 element, attempt, kept;
    bool left;
};
HELPER Source source(Stream s, u64 element) {
    Source made = {s, element, 0, 0, false};
    return made;
}
HELPER u64 more(Source *s) {
    u32 x[4];
    if (s->left) {
        s->left = false;
        return s->kept;
    }
    philox_at(s->s, 1ull << 63 | (s->attempt++ & 0x7fff) << 48 | s->element, x);
    s->kept = x[2] | (u64)x[3] << 32;
    s->left = true;
    return x[0] | (u64)x[1] << 32;
}

HELPER double unit53(u64 x) { return (double)(long long)(x >> 11) * (1.0 / 9007199254740992.0); }
HELPER double open52(u64 x) { return ((double)(long long)(x >> 12) + 0.5) * (1.0 / 4503599627370496.0); }

HELPER float random_uniform32(Stream s, u64 i, double offset, double scale) {
    return (float)(int)(bits32(s, i) >> 8) * (1.0f / 16777216.0f) * (float)scale + (float)offset;
}
HELPER double random_uniform64(Stream s, u64 i, double offset, double scale) {
    return unit53(bits64(s, i)) * scale + offset;
}

template <class T> HELPER T random_bounded(Stream s, u64 i, u64 low, u64 range, u64 threshold) {
    u32 bits = bits32(s, i), r = (u32)range;
    if (r == 0)
        return (T)((T)low + (T)bits);
    u64 product = (u64)bits * r;
    Source from = source(s, i);
    while ((u32)product < (u32)threshold)
        product = (more(&from) >> 32) * r;
    return (T)((T)low + (T)(product >> 32));
}

HELPER u64 high_half(u64 a, u64 b) {
    u64 a0 = (u32)a, a1 = a >> 32, b0 = (u32)b, b1 = b >> 32, middle = a1 * b0 + (a0 * b0 >> 32);
    return a1 * b1 + (middle >> 32) + ((a0 * b1 + (u32)middle) >> 32);
}
HELPER u64 random_bounded_wide(Stream s, u64 i, u64 low, u64 range, u64 threshold) {
    u64 bits = bits64(s, i);
    Source from = source(s, i);
    if (range == 0)
        return low + bits;
    while (bits * range < threshold)
        bits = more(&from);
    return low + high_half(bits, range);
}

/* ---- the ziggurat, its tables as of random_tables() ------------------------------------------------------------------ */

struct Layers { const u64 *inside; const double *width, *density; double r; };

HELPER double portable_exp(double x) {
    double k = floor(x * 1.4426950408889634 + 0.5), r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double r2 = r * r;
    double even = 1 + r2 * (1 / 2. + r2 * (1 / 24. + r2 * (1 / 720. + r2 * (1 / 40320. + r2 * (1 / 3628800.
        + r2 * (1 / 479001600.))))));
    double odd = 1 + r2 * (1 / 6. + r2 * (1 / 120. + r2 * (1 / 5040. + r2 * (1 / 362880. + r2 * (1 / 39916800.
        + r2 * (1 / 6227020800.))))));
    union { u64 i; double d; } power;
    power.i = (u64)(1023 + (long long)k) << 52;
    return k < -1000 ? 0 : (even + r * odd) * power.d;
}
HELPER double portable_log(double x) {
    int e;
    double m = frexp(x, &e), s, sum = 0;
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    s = (m - 1) / (m + 1);
    for (int i = 23; i > 0; i -= 2)
        sum = sum * (s * s) + 1.0 / i;
    return e * 6.93147180369123816490e-01 + (e * 1.90821492927058770002e-10 + 2 * s * sum);
}
HELPER bool under(Layers l, int i, Source *s, double density) {
    return l.density[i] + unit53(more(s)) * (l.density[i + 1] - l.density[i]) < density;
}
HELPER double normal_tail(Source *s, double r) {
    double x, y;
    do {
        x = -portable_log(open52(more(s))) / r;
        y = -portable_log(open52(more(s)));
    } while (y + y < x * x);
    return r + x;
}

HELPER double random_normal64(Stream s, u64 element, double offset, double scale, Layers l) {
    u64 bits = bits64(s, element);
    Source from = source(s, element);
    double x;
    for (;; bits = more(&from)) {
        int i = (int)(bits & 1023);
        x = (double)(long long)(bits >> 11) * l.width[i];
        if (bits >> 11 < l.inside[i])
            break;
        if (i == 0) {
            x = normal_tail(&from, l.r);
            break;
        }
        if (under(l, i, &from, portable_exp(-0.5 * x * x)))
            break;
    }
    x = bits >> 10 & 1 ? -x : x;
    return offset != 0 || scale != 1 ? x * scale + offset : x;
}
HELPER float random_normal32(Stream s, u64 element, double offset, double scale, Layers l) {
    u32 bits = bits32(s, element);
    Source from = source(s, element);
    float x;
    for (;; bits = (u32)(more(&from) >> 32)) {
        int i = (int)(bits & 255);
        x = (float)(int)(bits >> 9) * (float)l.width[i];
        if (bits >> 9 < l.inside[i])
            break;
        if (i == 0) {
            x = (float)normal_tail(&from, l.r);
            break;
        }
        if (under(l, i, &from, portable_exp(-0.5 * (double)x * (double)x)))
            break;
    }
    x = bits >> 8 & 1 ? -x : x;
    return (float)offset != 0 || (float)scale != 1 ? x * (float)scale + (float)offset : x;
}

HELPER double exponential64(Stream s, u64 element, u64 bits, Layers l) {
    Source from = source(s, element);
    double beyond = 0;
    for (;; bits = more(&from)) {
        int i = (int)(bits & 1023);
        double x = (double)(long long)(bits >> 11) * l.width[i];
        if (bits >> 11 < l.inside[i])
            return beyond + x;
        if (i == 0)
            beyond += l.r;
        else if (under(l, i, &from, portable_exp(-x)))
            return beyond + x;
    }
}
HELPER double random_exponential64(Stream s, u64 element, double offset, double scale, Layers l) {
    double x = exponential64(s, element, bits64(s, element), l);
    return offset != 0 || scale != 1 ? x * scale + offset : x;
}
HELPER double random_laplace(Stream s, u64 element, double offset, double scale, Layers l) {
    u64 bits = bits64(s, element);
    double x = exponential64(s, element, bits, l);
    x = bits >> 10 & 1 ? -x : x;
    return offset != 0 || scale != 1 ? x * scale + offset : x;
}
HELPER float random_exponential32(Stream s, u64 element, double offset, double scale, Layers l) {
    u32 bits = bits32(s, element);
    Source from = source(s, element);
    double beyond = 0;
    float x;
    for (;; bits = (u32)(more(&from) >> 32)) {
        int i = (int)(bits & 255);
        x = (float)(int)(bits >> 8) * (float)l.width[i];
        if (bits >> 8 < l.inside[i]) {
            x = (float)(beyond + x);
            break;
        }
        if (i == 0)
            beyond += l.r;
        else if (under(l, i, &from, portable_exp(-(double)x))) {
            x = (float)(beyond + (double)x);
            break;
        }
    }
    return (float)offset != 0 || (float)scale != 1 ? x * (float)scale + (float)offset : x;
}
