/* sin and cos of vectors; included once for each set of instructions. The including file defines

       SET(name)            the name with a suffix for the set
       LANES                doubles of a vector
       SHORTER(name)        what does less than a vector
       MASK                 the type of what LESS and ODD give
       FMA(a, b, c)         a * b + c, rounded once
       LESS(a, b)           where a < b
       ODD(n)               where integers are odd
       PICK(m, a, b)        a where m, else b
       OUTSIDE(x)           whether any x is to be left to NumPy's loop
       LOOKUP(rows, s0, s1, c0, c1)     four columns of rows of the table */

typedef double SET(vec) __attribute__((vector_size(8 * LANES)));
typedef int64_t SET(ints) __attribute__((vector_size(8 * LANES)));

#define ALL(value) ((SET(vec)){0} + (value))
#define BITS(v) ((SET(ints))(v))
#define REAL(v) ((SET(vec))(v))

/* quarter: 0 for sin, 1 for cos. Of |x|: the sign comes last. */
static inline __attribute__((always_inline)) SET(vec) SET(sincos)(SET(vec) x, int quarter)
{
    const SET(ints) sign = (SET(ints)){0} + INT64_MIN;
    SET(vec) size = REAL(BITS(x) & ~sign);

    /* size = n * pi/2 + a + d, d what a lacks. */
    MASK near = LESS(size, ALL(NEAR)), middle = LESS(size, ALL(MIDDLE));
    SET(vec) t = FMA(size, ALL(TWO_OVER_PI), ALL(ROUNDER));
    t = PICK(middle, PICK(near, ALL(ROUNDER), ALL(ROUNDER + 1)), t);
    SET(vec) k = t - ROUNDER;
    SET(vec) y = FMA(-k, ALL(PI_1), size);
    y = FMA(-k, ALL(PI_2), y);
    SET(vec) z = FMA(-k, ALL(PI_3), y);
    SET(vec) a = FMA(-k, ALL(PI_4), z);
    SET(vec) d = FMA(-k, ALL(PI_3), y - z) + FMA(-k, ALL(PI_4), z - a);
    /* In the middle n is 1, and pi/2 has two parts only. */
    SET(vec) from = size - HALF_PI, high = quarter ? from - HALF_PI_LOW : from;
    SET(vec) low = quarter ? (from - high) - HALF_PI_LOW : ALL(-HALF_PI_LOW);
    a = PICK(middle, PICK(near, size, high), a);
    d = PICK(middle, PICK(near, ALL(0.0), low), d);

    /* |a| = row/128 + r. An odd n takes the cosine of a, whose rows are 128 further down. */
    SET(ints) n = BITS(t) + quarter, negative = BITS(a) & sign;
    MASK odd = ODD(n);
    a = REAL(BITS(a) ^ negative);
    d = REAL(BITS(d) ^ negative);
    SET(vec) nearest = a + SPACING, r = a - (nearest - SPACING);
    SET(vec) s0, s1, c0, c1;
    LOOKUP((BITS(nearest) & 127) | (n << 7 & 128), s0, s1, c0, c1);
    r = PICK(odd, r + d, r);
    SET(vec) rest = PICK(odd, ALL(0.0), d);
    SET(vec) rr = r * r;
    SET(vec) s = FMA(r * rr, FMA(rr, ALL(SIN_5), ALL(SIN_3)), PICK(odd, r, rest));
    s = PICK(odd, s, r + s);
    SET(vec) c = FMA(r, rest, rr * FMA(rr, FMA(rr, ALL(COS_6), ALL(COS_4)), ALL(COS_2)));
    SET(vec) result = s0 + FMA(c0, s, FMA(-s0, c, FMA(c1, s, s1)));

    /* The sine of what is small, by its series. */
    SET(vec) aa = a * a;
    SET(vec) p = FMA(aa, FMA(aa, ALL(TAYLOR_11), ALL(TAYLOR_9)), ALL(TAYLOR_7));
    p = FMA(aa, FMA(aa, p, ALL(TAYLOR_5)), ALL(TAYLOR_3));
    SET(vec) series = a + FMA(aa, FMA(p, a, d * -0.5), d);
    result = PICK(odd, result, PICK(LESS(a, ALL(SMALL)), series, result));

    SET(ints) sine = BITS(PICK(odd, ALL(0.0), REAL(negative)));
    SET(ints) flip = sine ^ (n << 62 & sign);
    return REAL(BITS(result) ^ (quarter ? flip : flip ^ (BITS(x) & sign)));
}

/* Of n contiguous numbers. The last vector overlaps the one before it, and is read before a result may overwrite it. */
#define RUN(name, quarter) \
static void SET(name##_one)(SET(vec) x, double *out, const Theirs *theirs) \
{ \
    if (__builtin_expect(OUTSIDE(x), 0)) \
        ask((const double *)&x, out, LANES, theirs); \
    else { \
        x = SET(sincos)(x, quarter); \
        memcpy(out, &x, sizeof x); \
    } \
} \
static void SET(name)(const double *x, double *out, ptrdiff_t n, const Theirs *theirs) \
{ \
    SET(vec) next, last; \
    if (n < LANES) { \
        SHORTER(name)(x, out, n, theirs); \
        return; \
    } \
    memcpy(&last, x + n - LANES, sizeof last); \
    for (ptrdiff_t i = 0; i < n - LANES; i += LANES) { \
        memcpy(&next, x + i, sizeof next); \
        SET(name##_one)(next, out + i, theirs); \
    } \
    SET(name##_one)(last, out + n - LANES, theirs); \
}
RUN(sin, 0)
RUN(cos, 1)
#undef RUN

#undef ALL
#undef BITS
#undef REAL
#undef SET
#undef LANES
#undef MASK
#undef FMA
#undef LESS
#undef ODD
#undef PICK
#undef OUTSIDE
#undef LOOKUP
#undef SHORTER
