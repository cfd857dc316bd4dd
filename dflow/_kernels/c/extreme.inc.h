/* The largest or smallest of contiguous numbers, included once for each type and set of instructions. The other file
   defines, and this one undefines

       REAL         the type of the elements
       EXT(name)    the name with a suffix for the type
       VEC, MASK    a vector of them, of LANES, and one of truths
       LOAD, FILL, MAX, MIN, UNORDERED, SAME (bits), OR, AND, BITS      instructions

   Of a NaN and a number, MAX and MIN give their second operand, here the result so far: numbers only, and what is NaN
   is noted beside it. Four results go side by side, as each operation waits for the one before it.

   The result is the same in whatever parts it is computed: of NaNs it is the first; which one of zeros of both signs it
   is, is not said here. */

#define LANES ((ptrdiff_t)(sizeof(VEC) / sizeof(REAL)))

static int EXT(any_same)(const REAL *p, ptrdiff_t n, REAL wanted)
{
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES)
        if (BITS(SAME(LOAD(p + i), FILL(wanted)))) return 1;
    for (; i < n; i++)
        if (memcmp(p + i, &wanted, sizeof wanted) == 0) return 1;
    return 0;
}

/* least: the smallest. numbers: a NaN counts only if there is nothing else. False: it is a zero, and both are there. */
static inline __attribute__((always_inline)) int EXT(extreme)(REAL *out, const REAL *p, ptrdiff_t n, int least,
                                                              int numbers)
{
    const REAL none = least ? (REAL)INFINITY : -(REAL)INFINITY;
    VEC a = FILL(none), b = a, c = a, d = a;
    MASK nans = numbers ? UNORDERED(FILL((REAL)NAN), a) : UNORDERED(a, a);
    REAL lanes[sizeof(VEC) / sizeof(REAL)], found = none;
    ptrdiff_t i = 0;
    int bits, all = (1 << LANES) - 1;
#define BEST(x, v) (least ? MIN(x, v) : MAX(x, v))
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        VEC w = LOAD(p + i), x = LOAD(p + i + LANES), y = LOAD(p + i + 2 * LANES), z = LOAD(p + i + 3 * LANES);
        a = BEST(w, a), b = BEST(x, b), c = BEST(y, c), d = BEST(z, d);
        if (numbers)
            nans = AND(AND(nans, AND(UNORDERED(w, w), UNORDERED(x, x))), AND(UNORDERED(y, y), UNORDERED(z, z)));
        else
            nans = OR(nans, OR(UNORDERED(w, x), UNORDERED(y, z)));
    }
    a = BEST(BEST(a, b), BEST(c, d));
#undef BEST
    memcpy(lanes, &a, sizeof lanes);
    bits = BITS(nans);
    for (ptrdiff_t k = 0; k < LANES; k++)
        found = least ? (lanes[k] < found ? lanes[k] : found) : lanes[k] > found ? lanes[k] : found;
    for (; i < n; i++)
        if (!__builtin_isunordered(p[i], p[i])) {
            found = least ? (p[i] < found ? p[i] : found) : p[i] > found ? p[i] : found;
            bits = numbers ? 0 : bits;
        }
        else if (!numbers)
            bits = 1;
    if (numbers ? bits == all : bits)
        for (i = 0; i < n; i++)
            if (__builtin_isunordered(p[i], p[i])) {
                *out = p[i];
                return 1;
            }
    if (found == 0) {
        found = 0;
        if (EXT(any_same)(p, n, -(REAL)0)) {
            if (EXT(any_same)(p, n, found)) return 0;
            found = -found;
        }
    }
    *out = found;
    return 1;
}

/* NumPy's loop tells nobody of comparisons with NaNs, and MAX and MIN do. */
#define EXTREME(name, least, numbers)                                                                                  \
    static int EXT(name)(void *out, const void *p, ptrdiff_t n, int fresh)                                             \
    {                                                                                                                  \
        unsigned before = _mm_getcsr();                                                                                \
        REAL pair[2];                                                                                                  \
        int known = EXT(extreme)(pair, (const REAL *)p, n, least, numbers);                                            \
        if (known && !fresh) {                                                                                         \
            pair[1] = pair[0], pair[0] = *(REAL *)out;                                                                 \
            known = EXT(extreme)(pair, pair, 2, least, numbers);                                                       \
        }                                                                                                              \
        if (known) *(REAL *)out = pair[0];                                                                             \
        if (_mm_getcsr() != before) _mm_setcsr(before);                                                                \
        return known;                                                                                                  \
    }

EXTREME(maximum, 0, 0)
EXTREME(minimum, 1, 0)
EXTREME(fmax, 0, 1)
EXTREME(fmin, 1, 1)

#undef EXTREME
#undef LANES
#undef REAL
#undef EXT
#undef VEC
#undef MASK
#undef LOAD
#undef FILL
#undef MAX
#undef MIN
#undef UNORDERED
#undef SAME
#undef OR
#undef AND
#undef BITS
