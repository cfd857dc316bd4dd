/* Pairwise summation, included once for each type. The including file defines

       REAL         the type of the elements
       SUM(name)    the name with a suffix for the type
       WIDTH        bytes of a vector

   The tree is NumPy's, and so is every bit: runs of at most 128 elements are added into eight sums, these and what is left of
   the run to one; longer runs are halved, at a multiple of eight. NumPy adds one run after the other, and waits for each
   addition into the eight sums; here four runs are under way at once. */

typedef REAL SUM(vec) __attribute__((vector_size(WIDTH), aligned(sizeof(REAL)), may_alias));

#define RUN 128
#define LANES (WIDTH / (int)sizeof(REAL))
#define PARTS (8 / LANES)

static inline REAL SUM(finish)(const REAL *r, const REAL *p, ptrdiff_t n)
{
    REAL sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (ptrdiff_t i = n & ~(ptrdiff_t)7; i < n; i++)
        sum += p[i];
    return sum;
}

/* Runs of n[k] elements each, from 8 to RUN, of `count` a compile-time constant. */
static inline __attribute__((always_inline)) void SUM(runs)(const REAL **p, const ptrdiff_t *n, REAL *sum, int count)
{
    SUM(vec) r[4][PARTS];
    ptrdiff_t least = n[0];
    for (int k = 0; k < count; k++) {
        least = n[k] < least ? n[k] : least;
        for (int j = 0; j < PARTS; j++)
            r[k][j] = *(const SUM(vec) *)(p[k] + j * LANES);
    }
    least &= ~(ptrdiff_t)7;
    for (ptrdiff_t i = 8; i < least; i += 8)
        for (int k = 0; k < count; k++)
            for (int j = 0; j < PARTS; j++)
                r[k][j] += *(const SUM(vec) *)(p[k] + i + j * LANES);
    for (int k = 0; k < count; k++) {
        for (ptrdiff_t i = least; i + 8 <= n[k]; i += 8)
            for (int j = 0; j < PARTS; j++)
                r[k][j] += *(const SUM(vec) *)(p[k] + i + j * LANES);
        sum[k] = SUM(finish)((const REAL *)r[k], p[k], n[k]);
    }
}

static inline ptrdiff_t SUM(half)(ptrdiff_t n)
{
    return n / 2 & ~(ptrdiff_t)7;
}

static REAL SUM(pairwise)(const REAL *p, ptrdiff_t n)
{
    REAL sum[4];
    ptrdiff_t left = SUM(half)(n), right = n - left;
    if (n < 8) {
        sum[0] = (REAL)-0.0;                /* what keeps the sign of a sum of negative zeros */
        for (ptrdiff_t i = 0; i < n; i++)
            sum[0] += p[i];
        return sum[0];
    }
    if (n <= RUN) {
        SUM(runs)(&p, &n, sum, 1);
        return sum[0];
    }
    if (right <= RUN) {
        SUM(runs)((const REAL *[]){p, p + left}, (ptrdiff_t[]){left, right}, sum, 2);
        return sum[0] + sum[1];
    }
    ptrdiff_t a = SUM(half)(left), b = left - a, c = SUM(half)(right), d = right - c;
    if (left > RUN && b <= RUN && d <= RUN) {
        SUM(runs)((const REAL *[]){p, p + a, p + left, p + left + c}, (ptrdiff_t[]){a, b, c, d}, sum, 4);
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    return SUM(pairwise)(p, left) + SUM(pairwise)(p + left, right);
}

/* out = the sum of p, or out + it. */
static void SUM(total)(void *out, const void *p, ptrdiff_t n, int fresh)
{
    REAL sum = SUM(pairwise)((const REAL *)p, n);
    *(REAL *)out = fresh ? sum : *(REAL *)out + sum;
}

#undef RUN
#undef LANES
#undef PARTS
